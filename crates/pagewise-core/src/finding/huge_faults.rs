//! Which memory can make a page fault wait for a huge page, by the settings in force: what can be told of who asks for
//! huge pages. `/proc/PID/smaps` would say who asked by `madvise`, but reading it takes the lock of the process's map, so a
//! recording does not hold it.
//!
//! The kernel's rule, `vma_thp_gfp_mask` of `mm/huge_memory.c` (5.12 to 6.18; `alloc_hugepage_direct_gfpmask` from 4.6,
//! `alloc_hugepage_gfpmask` before): what a fault does when no huge page is free depends on `thp.defrag` and on whether the
//! area was marked with `madvise(MADV_HUGEPAGE)`; whether it tries at all depends on `thp.enabled` and, from 6.8, on the
//! switch of each size.

use super::families::{Family, ProfileSeen, Purposes};
use super::observed::{Hits, Observed};
use super::signal;
use crate::kernel_text::purpose::Purpose;
use crate::recording::StallKind;

/// What a page fault does when no huge page is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// It takes small pages.
    None,
    /// It wakes kswapd, and that kcompactd, and takes small pages.
    Background,
    /// It frees and compacts memory by itself, and the program waits.
    Direct,
}

/// By the value of `thp.defrag`; one that is not known may be any.
fn effort(defrag: Option<&str>, is_asked: bool) -> Effort {
    match (defrag, is_asked) {
        (None | Some("always"), _) | (Some("defer+madvise" | "madvise"), true) => Effort::Direct,
        (Some("defer+madvise"), false) | (Some("defer"), _) => Effort::Background,
        _ => Effort::None,
    }
}

/// Kinds of memory for which faults do something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Areas {
    /// Anonymous memory that its program asked huge pages for by `madvise`.
    pub(super) asked: bool,
    /// Anonymous memory that has them without.
    pub(super) others: bool,
    /// Shared memory.
    pub(super) shared: bool,
}

impl Areas {
    /// Whether there is any.
    pub(super) fn any(self) -> bool {
        self.asked || self.others || self.shared
    }

    fn and(self, other: Areas) -> Areas {
        Areas {
            asked: self.asked && other.asked,
            others: self.others && other.others,
            shared: self.shared && other.shared,
        }
    }
}

/// Values that were in force together; none: not known.
struct Values<'a> {
    observed: &'a Observed,
    over: Option<&'a Hits>,
}

impl<'a> Values<'a> {
    /// Each value a setting had; one `None` where it is not known.
    fn of(&self, name: &str) -> Vec<Option<&'a str>> {
        let settings = &self.observed.settings;
        let Some(over) = self.over else { return vec![settings.value(name)] };
        let values = settings.during(name, over, &self.observed.windows);
        if values.is_empty() { vec![None] } else { values.into_iter().map(Some).collect() }
    }

    /// The switches of all sizes, in which `inherit` stands for the global one. Before 6.8 there is only that.
    fn switches(&self, global: &str, each: &str) -> Vec<Option<&'a str>> {
        let global = self.of(global);
        let sizes = self.observed.settings.names("mthp[").filter(|name| name.ends_with(each));
        let mut switches: Vec<Option<&str>> = sizes.flat_map(|name| self.of(name)).collect();
        let is_inherited = |switch: &Option<&str>| *switch == Some("inherit");
        if switches.is_empty() {
            return global;
        }
        if switches.iter().any(is_inherited) {
            switches.retain(|switch| !is_inherited(switch));
            switches.extend(global);
        }
        switches
    }

    /// The memory that may get huge pages.
    fn huge(&self) -> Areas {
        let anonymous = self.switches("thp.enabled", "].enabled");
        let shared = self.switches("thp.shmem_enabled", "].shmem_enabled");
        let is_on = |switch: &Option<&str>| matches!(switch, Some("always" | "within_size" | "advise" | "force"));
        Areas {
            asked: anonymous.iter().any(|switch| *switch != Some("never")),
            others: anonymous.iter().any(|switch| matches!(switch, None | Some("always"))),
            shared: shared.iter().any(is_on),
        }
    }

    fn areas(&self, wanted: Effort) -> Areas {
        let huge = self.huge();
        let defrag = self.of("thp.defrag");
        let has = |is_asked: bool| defrag.iter().any(|defrag| effort(*defrag, is_asked) == wanted);
        let shared = if follows_defrag(self.observed) { has(true) || has(false) } else { wanted == Effort::Direct };
        Areas { asked: huge.asked && has(true), others: huge.others && has(false), shared: huge.shared && shared }
    }
}

/// Whether faults on shared memory go by `thp.defrag`, which they do from 5.12 (`mm/shmem.c`); before, they always waited.
pub(super) fn follows_defrag(observed: &Observed) -> bool {
    observed.settings.release().is_none_or(|release| release >= (5, 12, 0))
}

/// Memory on which a fault may have waited for a huge page, by the settings while the finding held.
pub(super) fn waited(observed: &Observed, hits: &Hits) -> Areas {
    Values { observed, over: Some(hits) }.areas(Effort::Direct)
}

/// Of that, what would still wait by the settings at the end of the recording: what a change can help.
pub(super) fn waits(observed: &Observed, hits: &Hits) -> Areas {
    waited(observed, hits).and(Values { observed, over: None }.areas(Effort::Direct))
}

/// Memory on which a fault wakes kcompactd, by the settings at the end of the recording. None where `thp.defrag` is not known.
pub(super) fn wakes_kcompactd(observed: &Observed) -> Areas {
    Values { observed, over: None }.areas(Effort::Background)
}

/// Memory that may get huge pages, by the settings at the end of the recording.
pub(super) fn huge(observed: &Observed) -> Areas {
    Values { observed, over: None }.huge()
}

/// Compaction that nobody waits for, and moves of pages that are none.
pub(super) const NOT_DIRECT: &[Family] = &[Family::Kcompactd, Family::Numa];

/// What memory was asked for where programs compacted, by the functions above them: of stacks, or else of tasks that were held up. `None`
/// where most say nothing of it.
pub(super) fn compacted_for(observed: &Observed, hits: &Hits) -> Option<Purposes> {
    let of_stacks = |profile: &ProfileSeen| profile.purposes(Family::Compaction, NOT_DIRECT, hits, &observed.windows);
    let of_stalls = || {
        let stalls = observed.stalls.as_ref()?.of_kind(StallKind::Compaction, hits, &observed.windows);
        Some(stalls.purposes).filter(|purposes| purposes.sum() > 0)
    };
    observed.profile.as_ref().and_then(of_stacks).or_else(of_stalls)
}

/// Whether most of compaction was for that.
pub(super) fn is_mostly_for(observed: &Observed, hits: &Hits, purpose: Purpose) -> bool {
    compacted_for(observed, hits).is_some_and(|purposes| purposes.share(purpose) >= 0.5)
}

/// Whether most of compaction was for what is no huge page: by who asked, where that is known, or else by the size of it.
pub(super) fn is_for_no_huge_page(observed: &Observed, hits: &Hits) -> bool {
    if let Some(purposes) = compacted_for(observed, hits) {
        return purposes.share(Purpose::HugePage) < 0.5;
    }
    if no_fault_wanted_one(observed, hits) {
        return true;
    }
    let stalls = observed.stalls.as_ref().map(|stalls| stalls.of_kind(StallKind::Compaction, hits, &observed.windows));
    let Some(order) = stalls.and_then(|stalled| stalled.order) else { return false };
    let mut sizes = sizes_on(observed, hits).peekable();
    if sizes.peek().is_none() {
        return order != PMD_ORDER;
    }
    let pages = 1u64.checked_shl(u32::from(order)).unwrap_or(u64::MAX);
    let kib = (pages as f64 * observed.page_size / 1024.0) as u64;
    !sizes.any(|size| size == kib)
}

/// Whether the kernel's counters say that page faults asked for hardly any huge page: for one in ten compactions at most was one given or refused.
/// They count those of one size and of anonymous memory alone: where other sizes or shared memory may have them, they say nothing. A listing
/// seldom has the switch of shared memory, which is off unless somebody set it.
fn no_fault_wanted_one(observed: &Observed, hits: &Hits) -> bool {
    let mean = |signal| observed.rate(signal).mean(hits, &observed.windows);
    let faults = mean(&signal::THP_FAULT_ALLOC).zip(mean(&signal::THP_FAULT_FALLBACK));
    let pmd_kib = ((1u64 << PMD_ORDER) as f64 * observed.page_size / 1024.0) as u64;
    let is_shared = |setting: Option<&str>| match setting {
        Some(setting) => !matches!(setting, "never" | "deny"),
        None => !observed.is_import,
    };
    let compactions = mean(&signal::COMPACT_STALL).unwrap_or(0.0);
    let values = Values { observed, over: Some(hits) };
    faults.is_some_and(|(given, refused)| given + refused <= compactions * 0.1)
        && sizes_on(observed, hits).all(|size| size == pmd_kib)
        && !values.of("thp.shmem_enabled").into_iter().any(is_shared)
}

/// Order of a huge page where pages have 4 KiB.
const PMD_ORDER: u8 = 9;

/// KiB of each size that memory of any kind could get; none where the kernel has no switch for each.
fn sizes_on<'a>(observed: &'a Observed, hits: &'a Hits) -> impl Iterator<Item = u64> + 'a {
    let values = Values { observed, over: Some(hits) };
    let is_on = |switch: Option<&str>| !matches!(switch, Some("never" | "deny"));
    let of_global = |name: &str| values.of(name).into_iter().any(is_on);
    let (anonymous, shared) = (of_global("thp.enabled"), of_global("thp.shmem_enabled"));
    observed.settings.names("mthp[").filter_map(move |name| {
        let (size, kind) = name.strip_prefix("mthp[")?.split_once("k].")?;
        let global = if kind == "enabled" { anonymous } else { shared };
        let has = |switch: Option<&str>| if switch == Some("inherit") { global } else { is_on(switch) };
        let size: u64 = size.parse().ok()?;
        values.of(name).into_iter().any(has).then_some(size)
    })
}

/// Whether `thp.enabled` decides about any size: before 6.8 it always does; from then on, where a size inherits it.
pub(super) fn follows_global(observed: &Observed) -> bool {
    let mut sizes = observed.settings.names("mthp[").filter(|name| name.ends_with("].enabled")).peekable();
    sizes.peek().is_none() || sizes.any(|name| observed.settings.value(name) == Some("inherit"))
}

/// Whether a job that is kept off huge pages stays so when it asks for them by `madvise`: `PR_SET_THP_DISABLE` marked new
/// areas before 4.13, and `madvise` took the mark away (kernel commit 1860033237d4).
pub(super) fn holds_against_madvise(observed: &Observed) -> bool {
    observed.settings.release().is_some_and(|release| release >= (4, 13, 0))
}

/// Whether a size is on, by its own switch or by the global one that it inherits. No where that is not known.
pub(super) fn is_on(observed: &Observed, size: &str) -> bool {
    let switch = match observed.settings.value(size) {
        Some("inherit") => observed.settings.value("thp.enabled"),
        switch => switch,
    };
    matches!(switch, Some("always" | "madvise"))
}

/// The switch of the size of 2 MiB, for a smaller one that is to go to the same memory.
pub(super) fn as_large(observed: &Observed) -> Option<String> {
    let size = "mthp[2048k].enabled";
    observed.settings.value(size).filter(|_| is_on(observed, size)).map(str::to_owned)
}
