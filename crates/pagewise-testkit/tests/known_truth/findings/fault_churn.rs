//! Memory that is given back and taken again is trouble; memory that is taken and kept is a job that starts.

use super::asking::{ask, found, must_find, must_not_decide, must_not_find, steps};
use pagewise_core::finding::{Confidence, Diagnosis, Severity, Tier};
use pagewise_core::import::{Assumed, Imported, Kind, merge, parse};
use pagewise_testkit::RecordingBuilder;
use pagewise_testkit::recordings::EachSecond;

const TOUCH: [&str; 4] = ["asm_exc_page_fault", "__handle_mm_fault", "do_anonymous_page", "clear_page_erms"];
const UNMAP: [&str; 4] = ["__x64_sys_munmap", "__vm_munmap", "unmap_vmas", "zap_pte_range"];
const DONTNEED: [&str; 4] = ["__x64_sys_madvise", "do_madvise", "madvise_dontneed_single_vma", "zap_page_range_single"];
const END: [&str; 4] = ["do_group_exit", "mmput", "exit_mmap", "unmap_vmas"];

/// The kernel is busy with so many page faults a second and as many pages that are freed.
fn faults(a_second: f64) -> RecordingBuilder {
    let made = RecordingBuilder::healthy(60).cpu(4, 0.1, 0.5);
    made.counter("vmstat", "pgfault", "", move |_| a_second).counter("vmstat", "pgfree", "", move |_| a_second)
}

/// Where CPUs were: taking, giving back, and the program itself.
fn seen(made: RecordingBuilder, gives_back: &[&str]) -> RecordingBuilder {
    let made = made.stack("worker", Some(70), &TOUCH, 500).stack("worker", Some(70), gives_back, 200);
    made.stack("worker", Some(70), &["worker!work"], 300)
}

/// What is touched stays.
fn growing(made: RecordingBuilder, a_second: f64) -> RecordingBuilder {
    let made = made.level("meminfo", "AnonPages", "", move |at| 1048576.0 + at * a_second * 4.0);
    made.counter("vmstat", "pgfree", "", |_| 500.0)
}

fn notes(diagnosis: &Diagnosis) -> String {
    diagnosis.notes.join(" ")
}

#[test]
fn what_is_given_back_and_taken_again_is_found_and_who_does_it() {
    let both = seen(faults(200_000.0), &UNMAP);
    let finding = must_find(&both, "fault-churn");
    assert_eq!((finding.severity, finding.tiers.as_slice()), (Severity::High, &[Tier::Stacks][..]));
    assert_eq!((finding.who[0].name.as_str(), finding.who[0].pid), ("worker", Some(70)));
    assert!(finding.summary.contains("70 %") && finding.summary.contains("munmap"), "{}", finding.summary);
    assert!(found(&ask(&both), "unexplained-system-time").is_none());
}

#[test]
fn the_advice_is_for_the_way_it_is_given_back() {
    let first = |way: &[&str]| {
        let finding = must_find(&seen(faults(200_000.0), way), "fault-churn");
        let all = finding.change.iter().chain(&finding.alternatives).map(|step| step.words.clone());
        (all.collect::<Vec<String>>().join(" "), steps(&finding))
    };
    let (madvise, settings) = first(&DONTNEED);
    assert!(madvise.contains("dirty_decay_ms") && !madvise.contains("MALLOC_TRIM_THRESHOLD_"), "{madvise}");
    assert_eq!(settings, ["mthp[64k].enabled=always"], "the kernel has that size, and nobody gets it without asking");
    let (unmap, _) = first(&UNMAP);
    assert!(unmap.contains("MALLOC_TRIM_THRESHOLD_") && !unmap.contains("dirty_decay_ms"), "{unmap}");
}

#[test]
fn without_stacks_many_faults_of_a_process_that_goes_on_are_enough() {
    let each = EachSecond { minor_faults: 480_000, ..EachSecond::default() };
    let many = faults(500_000.0).process("churner", 71, 1 << 28, each);
    let finding = must_find(&many, "fault-churn");
    assert_eq!(finding.tiers, [Tier::Counters]);
    assert_eq!((finding.who[0].pid, finding.who[0].of.as_str()), (Some(71), "page faults that needed no disk"));
    // As a build does it, in processes that nobody sees twice: counters say no, and stacks would have the last word.
    let few = EachSecond { minor_faults: 5_000, ..EachSecond::default() };
    let built = must_not_decide(&faults(500_000.0).process("make", 72, 1 << 28, few), "fault-churn");
    assert!(built.evidence.iter().any(|line| line.holds == Some(false)), "{built:?}");
    // Not recorded.
    let open = must_not_decide(&faults(500_000.0), "fault-churn");
    assert!(open.missing.iter().any(|missing| missing.what.contains("by process")), "{open:?}");
    let slow = must_not_decide(&faults(100_000.0), "fault-churn");
    assert!(slow.missing.iter().any(|missing| missing.why.contains("microseconds")), "{slow:?}");
    must_not_find(&faults(9_000.0), "fault-churn");
}

#[test]
fn memory_that_is_touched_and_kept_is_a_note_and_no_finding() {
    let starts = growing(seen(faults(100_000.0), &[]), 100_000.0);
    must_not_find(&starts, "fault-churn");
    must_not_find(&starts, "unexplained-system-time");
    let diagnosis = ask(&starts);
    assert!(notes(&diagnosis).contains("for the first time and kept"), "{:?}", diagnosis.notes);
    assert!(!notes(&ask(&seen(faults(200_000.0), &UNMAP))).contains("kept"));
    assert!(!notes(&ask(&RecordingBuilder::healthy(60))).contains("kept"));
    // Growth beside another reason for the kernel's time explains nothing.
    let beside = growing(faults(5_000.0), 5_000.0).stack("x", Some(3), &["some_storm"], 1000);
    must_find(&beside, "unexplained-system-time");
}

#[test]
fn processes_that_end_give_back_their_memory_once() {
    must_not_find(&seen(faults(200_000.0), &END), "fault-churn");
}

#[test]
fn huge_pages_and_a_calm_host_are_something_else() {
    must_not_find(&RecordingBuilder::healthy(60), "fault-churn");
    let huge = ["asm_exc_page_fault", "do_huge_pmd_anonymous_page", "clear_huge_page", "clear_page_erms"];
    let made = faults(2_000.0).stack("java", Some(9), &huge, 800).stack("java", Some(9), &["java!work"], 200);
    must_not_find(&made, "fault-churn");
}

#[test]
fn without_what_counts_faults_stacks_alone_show_it_at_low_confidence() {
    let stripped = seen(faults(200_000.0), &UNMAP).without("vmstat", "pgfault", "").without("vmstat", "pgfree", "");
    let finding = must_find(&stripped, "fault-churn");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.missing.iter().any(|missing| missing.what.contains("pgfault")), "{:?}", finding.missing);
    assert!(finding.summary.contains("not in this"), "{}", finding.summary);
    assert_eq!(finding.title, "Page faults on new memory take the CPU");
    // On a profile without callers, too, whatever zeroes and frees by itself.
    let leaves = ["clear_page_erms", "get_page_from_freelist", "zap_pte_range", "release_pages"];
    let flat = faults(200_000.0).without("vmstat", "pgfault", "").without("vmstat", "pgfree", "");
    let flat = leaves.iter().fold(flat, |made, leaf| made.stack("app", None, &[leaf], 200));
    let finding = must_find(&flat, "fault-churn");
    assert_eq!(finding.confidence, Confidence::Low);
}

#[test]
fn sar_tells_of_it_in_part() {
    let mut text = "Linux 5.14.0-427.el9.x86_64 (host) \t2026-11-21 \t_x86_64_\t(16 CPU)\n".to_owned();
    for (header, values) in [
        ("CPU %user %nice %system %iowait %steal %idle", "all 20.00 0.00 60.00 0.00 0.00 20.00"),
        (
            "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff",
            "0.00 0.00 900000.00 0.00 950000.00 0.00 0.00 0.00 0.00",
        ),
    ] {
        text.push_str(&format!("\n12:00:00 {header}\n"));
        for row in 1..30 {
            text.push_str(&format!("12:{:02}:{:02} {values}\n", row * 10 / 60, row * 10 % 60));
        }
    }
    let assumed = Assumed::default();
    let listing = parse(Kind::Sar, &text, &assumed).expect("a listing");
    let imported: Imported = merge(vec![("sar.txt".to_owned(), listing)], &assumed);
    let open = must_not_decide(&imported, "fault-churn");
    assert!(open.evidence.iter().any(|line| line.name == "pages freed per page fault"), "{open:?}");
}
