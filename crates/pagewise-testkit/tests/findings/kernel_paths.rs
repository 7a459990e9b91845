//! What is proposed against a compaction storm changes what the kernel does in a page fault: under every kernel, every value
//! of `thp.enabled` and `thp.defrag`, and every switch of the largest size. The kernel stands here as a model of its own,
//! written down from `mm/huge_memory.c` of 4.4, 4.6, 4.13 and 6.12; nothing of the rules is in it.

use crate::asking::{must_find, steps};
use pagewise_core::finding::{Finding, Proposal};
use pagewise_core::recording::StallKind;
use pagewise_testkit::RecordingBuilder;

/// What a fault does that finds no huge page free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// It never wanted one.
    Small,
    /// It takes small pages.
    GivesUp,
    /// It wakes kswapd and takes small pages.
    Wakes,
    /// It reclaims and compacts, and the program waits.
    Waits,
}

#[derive(Clone, Debug)]
struct Host {
    kernel: (u32, u32, u32),
    enabled: String,
    defrag: String,
    /// `hugepages-2048kB/enabled`; kernels before 6.8 have none.
    size: Option<String>,
    /// The job runs with `PR_SET_THP_DISABLE`.
    is_off_for_job: bool,
}

impl Host {
    fn release(&self) -> String {
        let (major, minor, patch) = self.kernel;
        format!("{major}.{minor}.{patch}")
    }

    fn enabled_values(&self) -> &'static [&'static str] {
        if self.kernel < (2, 6, 38) { &["always", "never"] } else { &["always", "madvise", "never"] }
    }

    fn defrag_values(&self) -> &'static [&'static str] {
        match self.kernel {
            before if before < (2, 6, 38) => &["always", "never"],
            before if before < (4, 6, 0) => &["always", "madvise", "never"],
            before if before < (4, 11, 0) => &["always", "defer", "madvise", "never"],
            _ => &["always", "defer", "defer+madvise", "madvise", "never"],
        }
    }

    /// A fault on memory that was marked with `madvise(MADV_HUGEPAGE)`, or on other memory.
    fn path(&self, is_asked: bool) -> Path {
        let switch = match self.size.as_deref() {
            None | Some("inherit") => self.enabled.as_str(),
            Some(own) => own,
        };
        let may = match switch {
            "always" => true,
            "madvise" => is_asked,
            _ => false,
        };
        // Until 4.13 the prctl marked areas, and madvise unmarked them.
        let is_kept_off = self.is_off_for_job && (self.kernel >= (4, 13, 0) || !is_asked);
        if !may || is_kept_off {
            return Path::Small;
        }
        match self.defrag.as_str() {
            "always" => Path::Waits,
            "defer" => Path::Wakes,
            "defer+madvise" if is_asked => Path::Waits,
            "defer+madvise" => Path::Wakes,
            "madvise" if is_asked => Path::Waits,
            _ => Path::GivesUp,
        }
    }

    fn with(&self, proposal: &Proposal) -> Host {
        let mut host = self.clone();
        for setting in &proposal.settings {
            let to = setting.to.as_str();
            match setting.tunable.as_str() {
                "thp.enabled" => {
                    assert!(self.enabled_values().contains(&to), "{self:?} has no {to}");
                    to.clone_into(&mut host.enabled);
                }
                "thp.defrag" => {
                    assert!(self.defrag_values().contains(&to), "{self:?} has no {to}");
                    to.clone_into(&mut host.defrag);
                }
                "process.thp" => {
                    assert!(self.kernel >= (3, 15, 0), "{self:?} has no PR_SET_THP_DISABLE");
                    host.is_off_for_job = true;
                }
                other => panic!("{other} is nothing that a fault asks for a huge page by"),
            }
        }
        host
    }
}

fn hosts() -> Vec<Host> {
    const KERNELS: [(u32, u32, u32); 12] = [
        (2, 6, 32),
        (3, 10, 0),
        (3, 15, 0),
        (4, 4, 0),
        (4, 6, 0),
        (4, 11, 0),
        (4, 12, 0),
        (4, 13, 0),
        (5, 4, 0),
        (6, 6, 0),
        (6, 8, 0),
        (6, 18, 0),
    ];
    let mut hosts = Vec::new();
    for kernel in KERNELS {
        let (enabled, defrag) = (String::new(), String::new());
        let bare = Host { kernel, enabled, defrag, size: None, is_off_for_job: false };
        let sizes: &[Option<&str>] = if kernel >= (6, 8, 0) {
            &[Some("inherit"), Some("always"), Some("madvise"), Some("never")]
        } else {
            &[None]
        };
        for enabled in bare.enabled_values() {
            for defrag in bare.defrag_values() {
                hosts.extend(sizes.iter().map(|size| Host {
                    enabled: (*enabled).to_owned(),
                    defrag: (*defrag).to_owned(),
                    size: size.map(str::to_owned),
                    ..bare.clone()
                }));
            }
        }
    }
    hosts
}

fn storm() -> RecordingBuilder {
    RecordingBuilder::healthy(20)
        .cpu(4, 0.28, 0.60)
        .counter("vmstat", "compact_stall", "", |_| 40.0)
        .without_settings()
        .setting("vm.swappiness", "60")
}

fn storm_on(host: &Host) -> RecordingBuilder {
    let made = storm()
        .about("kernel", &host.release())
        .setting("thp.enabled", &host.enabled)
        .setting("thp.defrag", &host.defrag);
    match &host.size {
        Some(size) => made.setting("mthp[2048k].enabled", size).setting("mthp[64k].enabled", "never"),
        None => made,
    }
}

fn proposals(finding: &Finding) -> impl Iterator<Item = &Proposal> {
    finding.change.iter().chain(&finding.alternatives)
}

#[test]
fn each_step_changes_the_path_that_the_kernel_takes() {
    let mut seen = (0, 0);
    for host in hosts() {
        let finding = must_find(&storm_on(&host), "compaction-storm");
        // Who can have waited: memory that was asked for, other memory.
        let suspects: Vec<bool> = [true, false].into_iter().filter(|asked| host.path(*asked) == Path::Waits).collect();
        let settings: Vec<&Proposal> = proposals(&finding).filter(|step| !step.settings.is_empty()).collect();
        let first = finding.change.as_ref().unwrap_or_else(|| panic!("{host:?}: something is said"));
        let helps = |step: &Proposal, asked: bool| host.with(step).path(asked) != Path::Waits;
        for step in &settings {
            assert!(suspects.iter().any(|asked| helps(step, *asked)), "{host:?}: no fault changes by {step:#?}");
            for one in &step.settings {
                assert_ne!(one.from.as_ref(), Some(&one.to), "{host:?}: it is so already: {one:?}");
            }
        }
        if suspects.is_empty() {
            assert!(settings.is_empty(), "{host:?}: no fault waits, and nothing can be set: {settings:#?}");
            assert!(first.words.contains("no page fault waits"), "{host:?}: {}", first.words);
            seen.0 += 1;
            continue;
        }
        assert!(!first.settings.is_empty(), "{host:?}: {}", first.words);
        for asked in &suspects {
            assert!(settings.iter().any(|step| helps(step, *asked)), "{host:?}: nothing helps memory asked={asked}");
        }
        // What helps only one of two has to say which, and the other needs a step right after it.
        if !suspects.iter().all(|asked| helps(first, *asked)) {
            assert!(first.words.contains("those that ask by madvise"), "{host:?}: {}", first.words);
            assert!(suspects.iter().all(|asked| helps(settings[1], *asked)), "{host:?}: {:#?}", settings[1]);
        }
        seen.1 += 1;
    }
    assert!(seen.0 >= 50 && seen.1 >= 50, "the table holds both cases: {seen:?}");
}

#[test]
fn programs_that_asked_by_madvise_are_not_sent_to_a_value_that_changes_nothing_for_them() {
    let made = |enabled: &str, defrag: &str| storm().setting("thp.enabled", enabled).setting("thp.defrag", defrag);
    for (enabled, defrag) in
        [("madvise", "always"), ("madvise", "madvise"), ("always", "madvise"), ("always", "defer+madvise")]
    {
        let finding = must_find(&made(enabled, defrag), "compaction-storm");
        assert_eq!(steps(&finding)[0], "thp.defrag=defer", "{enabled}, {defrag}");
        let says = "only memory that a program asked huge pages for by madvise waits for one";
        assert!(finding.summary.contains(says), "{enabled}, {defrag}: {}", finding.summary);
    }
    let either = must_find(&made("always", "always"), "compaction-storm");
    assert_eq!(steps(&either)[..2], ["thp.defrag=defer+madvise", "thp.defrag=defer"]);
    assert!(either.summary.contains("whether its program asked for one by madvise or not"), "{}", either.summary);
}

#[test]
fn where_settings_are_not_known_both_cases_are_answered_with_what_every_kernel_has() {
    let import = |kernel: Option<&str>| {
        let made = storm().without_settings().about("kernel", kernel.unwrap_or_default());
        must_find(&made, "compaction-storm")
    };
    assert_eq!(steps(&import(None)), ["thp.defrag=never", "thp.enabled=never"]);
    assert_eq!(
        steps(&import(Some("6.12.0"))),
        [
            "thp.defrag=defer+madvise",
            "thp.defrag=defer",
            "thp.defrag=never",
            "process.thp=never",
            "thp.enabled=madvise",
            "thp.enabled=never"
        ]
    );
    let middle = import(Some("4.12.0"));
    let job = proposals(&middle)
        .find(|step| step.settings.iter().any(|one| one.tunable == "process.thp"))
        .expect("from 3.15 on");
    assert!(job.words.contains("unless it asks by madvise"), "{}", job.words);
}

#[test]
fn what_was_in_force_during_the_storm_counts_and_what_is_set_now_is_not_proposed() {
    let made = || storm().setting("thp.enabled", "always").setting("thp.defrag", "always");
    let calmed = made().changed("thp.defrag", 15.0, "defer");
    let finding = must_find(&calmed, "compaction-storm");
    assert_eq!(steps(&finding), Vec::<String>::new());
    assert!(finding.change.expect("advice").words.contains("changed since"));
    // Only memory that was asked for waited while it stormed, whatever is on now.
    let opened = RecordingBuilder::healthy(60)
        .cpu(4, 0.28, 0.60)
        .counter("stat", "system", "", |at| if at < 30.0 { 240.0 } else { 4.0 })
        .counter("vmstat", "compact_stall", "", |at| if at < 30.0 { 40.0 } else { 0.0 })
        .without_settings()
        .setting("thp.enabled", "madvise")
        .setting("thp.defrag", "always")
        .changed("thp.enabled", 55.0, "always");
    assert_eq!(steps(&must_find(&opened, "compaction-storm"))[0], "thp.defrag=defer");
}

#[test]
fn allocations_of_other_sizes_are_not_answered_with_huge_pages() {
    let of_order = |order: u8, size: &str| {
        storm()
            .setting("thp.enabled", "always")
            .setting("thp.defrag", "always")
            .setting("mthp[2048k].enabled", "inherit")
            .setting("mthp[64k].enabled", size)
            .stall(StallKind::Compaction, "ksoftirqd/0", 7, Some(order), 20.0, 600)
    };
    let network = must_find(&of_order(3, "never"), "compaction-storm");
    assert_eq!(steps(&network), Vec::<String>::new());
    assert!(network.change.expect("advice").words.contains("blocks of that size"));
    assert_eq!(steps(&must_find(&of_order(9, "never"), "compaction-storm"))[0], "thp.defrag=defer+madvise");
    assert_eq!(steps(&must_find(&of_order(4, "inherit"), "compaction-storm"))[0], "thp.defrag=defer+madvise");
    assert_eq!(steps(&must_find(&of_order(4, "never"), "compaction-storm")), Vec::<String>::new());
}

#[test]
fn shared_memory_goes_by_a_switch_of_its_own() {
    let shared = |kernel: &str| {
        storm()
            .about("kernel", kernel)
            .setting("thp.enabled", "never")
            .setting("thp.defrag", "always")
            .setting("thp.shmem_enabled", "always")
    };
    assert_eq!(
        steps(&must_find(&shared("6.6.0"), "compaction-storm")),
        ["thp.defrag=defer", "thp.defrag=never", "thp.shmem_enabled=never"]
    );
    assert_eq!(
        steps(&must_find(&shared("5.4.0"), "compaction-storm")),
        ["thp.shmem_enabled=never"],
        "before 5.12 faults on shared memory do not look at thp.defrag"
    );
}
