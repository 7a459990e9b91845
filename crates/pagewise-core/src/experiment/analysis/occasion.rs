//! Settings that nothing in any run gave an occasion to act: levels that differ in when to swap, and nothing was swapped. Such levels are
//! EQUIVALENT whatever the setting does where it matters.

use super::values::Values;
use super::{Declared, Warning};
use crate::comparison::doubts::warning;
use crate::experiment::plan::lint;
use crate::experiment::point::{Outcome, Point};
use crate::spelling::fits;
use std::collections::BTreeSet;

/// What has to happen for some tunables to have anything to act on.
struct Occasion {
    /// Names, as patterns ([`fits`]).
    tunables: &'static [&'static str],
    /// Lines of `/proc/vmstat` that count it, the same way.
    counters: &'static [&'static str],
    /// In words, after "in none of the 20 runs".
    did_not_happen: &'static str,
}

/// As mainline counts (`include/linux/vm_event_item.h`, 3.10 to 6.18). Reclaim at the limit of a control group is in none of `pgscan_*` and
/// has no watermarks; where limits may be the occasion (`mglru.*`) nothing is said. Huge pages of less than full size are counted elsewhere.
const OCCASIONS: [Occasion; 9] = [
    Occasion {
        tunables: &["vm.swappiness", "*.memory.swappiness", "*.memory.swap.max", "swap", "vm.page-cluster"],
        counters: &["pswpin", "pswpout", "zswpin", "zswpout"],
        did_not_happen: "was anything swapped",
    },
    Occasion {
        tunables: &["vm.watermark_scale_factor", "vm.watermark_boost_factor", "vm.min_free_kbytes"],
        counters: &["pgscan_kswapd*", "pgscan_direct*", "allocstall*", "pageoutrun", "compact_stall"],
        did_not_happen: "was memory short enough for the host to reclaim or compact any",
    },
    Occasion {
        tunables: &["vm.vfs_cache_pressure"],
        counters: &["slabs_scanned"],
        did_not_happen: "were dentries and inodes scanned to be reclaimed",
    },
    Occasion {
        tunables: &["vm.zone_reclaim_mode", "vm.min_unmapped_ratio", "vm.min_slab_ratio"],
        counters: &["zone_reclaim_success", "zone_reclaim_failed", "pgscan_zone_reclaim*"],
        did_not_happen: "was memory of one node reclaimed rather than that of another used",
    },
    Occasion {
        tunables: &["thp.enabled", "thp.use_zero_page"],
        counters: &["thp_fault_*", "thp_collapse_*", "thp_zero_page_*"],
        did_not_happen: "was a huge page of full size asked for",
    },
    Occasion {
        tunables: &["thp.defrag"],
        counters: &["thp_fault_*"],
        did_not_happen: "did a page fault ask for a huge page of full size",
    },
    Occasion {
        tunables: &["khugepaged.*"],
        counters: &["thp_collapse_*", "thp_scan_exceed_*"],
        did_not_happen: "did khugepaged find anything to put together",
    },
    Occasion {
        tunables: &[
            "vm.compaction_proactiveness",
            "vm.extfrag_threshold",
            "vm.compact_unevictable_allowed",
            "vm.defrag_mode",
        ],
        counters: &[
            "compact_stall",
            "compact_migrate_scanned",
            "compact_daemon_*",
            "compact_pages_moved",
            "compact_blocks_moved",
        ],
        did_not_happen: "was memory compacted",
    },
    Occasion {
        tunables: &["kernel.numa_balancing"],
        counters: &["numa_pte_updates", "numa_hint_faults"],
        did_not_happen: "did the kernel look where memory is used",
    },
];

/// Up to this share of the runs it may have happened in all the same: something else on the host asks for a page now and then. Ours.
const SELDOM: f64 = 0.1;

impl Occasion {
    /// Whether it happened in a run; `None` where the kernel counts none of it.
    fn happened(&self, run: &Point) -> Option<bool> {
        let is_counted = |name: &str| self.counters.iter().any(|pattern| fits(pattern, name));
        let mut counted = run.counters.iter().filter(|(name, _)| is_counted(name)).map(|(_, grown)| *grown).peekable();
        counted.peek()?;
        Some(counted.any(|grown| grown > 0))
    }
}

/// What cells differ in and had no occasion to act, one warning per occasion.
pub(super) fn nothing_to_act_on(declared: &Declared<'_>, values: &Values<'_>) -> Vec<Warning> {
    let cells = &declared.cells;
    let pairs = cells.iter().enumerate().flat_map(|(at, one)| cells[..at].iter().map(move |other| (other, one)));
    let differing: BTreeSet<String> =
        pairs.flat_map(|(one, other)| lint::differing(&one.policy, &other.policy)).collect();
    let runs: Vec<&Point> = values.in_run_order().into_iter().filter(|run| run.outcome == Outcome::Ok).collect();
    let told = |occasion: &Occasion| {
        let names: Vec<&str> = differing
            .iter()
            .map(String::as_str)
            .filter(|name| occasion.tunables.iter().any(|pattern| fits(pattern, name)))
            .collect();
        if names.is_empty() || runs.is_empty() {
            return None;
        }
        let happened: Option<Vec<bool>> = runs.iter().map(|run| occasion.happened(run)).collect();
        let times = happened?.into_iter().filter(|happened| *happened).count();
        let text = format!(
            "{} had next to nothing to act on: in {} of {} runs {}. The verdict holds for a host and a job like that, and says \
             nothing of one where it does happen.",
            names.join(", "),
            if times == 0 { "none".to_owned() } else { format!("only {times}") },
            runs.len(),
            occasion.did_not_happen
        );
        warning("nothing-to-act-on", text).filter(|_| times as f64 <= SELDOM * runs.len() as f64)
    };
    OCCASIONS.iter().filter_map(told).collect()
}
