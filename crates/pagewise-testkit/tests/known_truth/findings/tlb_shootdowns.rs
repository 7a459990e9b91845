//! CPUs that make each other forget translations, and what they do it for.

use super::asking::{must_find, must_not_decide, must_not_find, steps};
use pagewise_core::finding::{Confidence, Tier};
use pagewise_testkit::RecordingBuilder;

const SENDS: [&str; 3] = ["flush_tlb_mm_range", "smp_call_function_many_cond", "on_each_cpu_cond_mask"];

fn busy() -> RecordingBuilder {
    RecordingBuilder::healthy(60).cpu(16, 0.5, 0.3)
}

/// CPUs shoot translations down under that call.
fn under(call: &[&str]) -> RecordingBuilder {
    let frames = [call, &SENDS].concat();
    busy().stack("java", Some(9), &frames, 300).stack("java", Some(9), &["java!work"], 700)
}

#[test]
fn shootdowns_are_found_by_stacks_and_by_counters() {
    let by_stacks = under(&["__x64_sys_munmap", "__vm_munmap"]);
    let finding = must_find(&by_stacks, "tlb-shootdowns");
    assert_eq!(finding.who[0].pid, Some(9));
    assert!(finding.summary.contains("30 %") && finding.summary.contains("munmap"), "{}", finding.summary);
    let counted = busy().counter("vmstat", "nr_tlb_remote_flush_received", "", |_| 800_000.0);
    assert_eq!(must_find(&counted, "tlb-shootdowns").tiers, [Tier::Counters]);
    let both = by_stacks.counter("vmstat", "nr_tlb_remote_flush_received", "", |_| 800_000.0);
    assert_eq!(must_find(&both, "tlb-shootdowns").confidence, Confidence::High);
}

#[test]
fn the_step_is_for_what_asks_for_them() {
    let numa =
        under(&["do_numa_page", "migrate_misplaced_folio", "migrate_pages"]).setting("kernel.numa_balancing", "1");
    assert_eq!(steps(&must_find(&numa, "tlb-shootdowns")), ["kernel.numa_balancing=0"]);
    let calls = under(&["__x64_sys_madvise", "do_madvise"]).setting("kernel.numa_balancing", "1");
    let finding = must_find(&calls, "tlb-shootdowns");
    assert_eq!(steps(&finding), Vec::<String>::new());
    assert!(finding.change.expect("advice").words.contains("allocator"));
    let moves = must_find(&under(&["kcompactd", "migrate_pages", "try_to_migrate"]), "tlb-shootdowns");
    assert!(moves.change.expect("advice").words.contains("pages are moved"));
}

#[test]
fn a_calm_host_has_none_and_a_kernel_that_does_not_count_them_leaves_it_open() {
    must_not_find(&RecordingBuilder::healthy(60), "tlb-shootdowns");
    must_not_find(&busy().stack("java", Some(9), &["java!work"], 1000), "tlb-shootdowns");
    let uncounted = busy().without("vmstat", "nr_tlb_remote_flush_received", "");
    let open = must_not_decide(&uncounted, "tlb-shootdowns");
    assert!(open.missing.iter().any(|missing| missing.what == "stacks"), "{open:?}");
    let calm = RecordingBuilder::healthy(60).without("vmstat", "nr_tlb_remote_flush_received", "");
    must_not_find(&calm, "tlb-shootdowns");
}
