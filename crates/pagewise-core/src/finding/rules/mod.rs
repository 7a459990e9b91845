//! A file per thing that can be wrong, and the one list of them.
//!
//! `needs` and thresholds are declared in each file and shown in `docs/reference/findings.md`; tests hold each rule to
//! its table. The order is that in which they are asked: one that explains another comes before it.

use super::rule::Rule;

mod collections;
mod compaction_stalls;
mod compaction_storm;
mod cpus;
mod direct_reclaim_stalls;
mod dirty_throttling;
mod dying_cgroups;
mod fault_churn;
mod fork_cow_thp;
mod fragmentation;
mod groups;
mod guard;
mod hugetlb_waste;
mod job_thp;
mod kcompactd_burn;
mod kernel_memory_leak;
mod khugepaged_burn;
mod kswapd_saturation;
mod measurement_caveat;
mod memcg_limit_thrash;
mod mglru;
mod mmap_lock_contention;
mod mthp_misset;
mod numa_imbalance;
mod oom_risk;
mod page_cache_thrash;
mod room;
mod shmem_fill;
mod slab_bloat;
mod swap_thrash;
mod swappiness_misuse;
mod system_calls;
mod thp_bloat;
mod thp_fault_cost;
mod threads;
mod tlb_bound;
mod tlb_shootdowns;
mod unevictable_memory;
mod unexplained_memory_stalls;
mod unexplained_system_time;
mod watermark_boost;

/// What every rule uses.
mod prelude {
    pub(super) use super::super::answer::Answer;
    pub(super) use super::super::case::{Case, Clause, Draft, FEWEST_ROWS, Lasting, TierAnswer, Verdict, said};
    pub(super) use super::super::document::Quantity::{
        Bytes, BytesPerSecond, Fraction, Number, PagesPerSecond, PerSecond, Seconds,
    };
    pub(super) use super::super::document::{Confidence, Evidence, Participant, Severity, Tier};
    pub(super) use super::super::families::Family;
    pub(super) use super::super::observed::{Hits, Missing, Observed, Track};
    pub(super) use super::super::processes::RankedBy;
    pub(super) use super::super::rule::{Rule, THREE_WINDOWS, Threshold};
    pub(super) use super::super::signal;
    pub(super) use super::super::words;
    pub(super) use super::fragmentation;
    pub(super) use crate::recording::StallKind;
}

pub(super) use compaction_stalls::WAITS;
pub(super) use compaction_storm::says_for_what;
pub(super) use cpus::note as cpu_note;
pub(super) use dirty_throttling::WALKS;
pub(super) use fault_churn::note as growth_note;
pub(super) use fault_churn::{NOT as NOT_CHURN, TOUCHED, is_counted as is_given_back_counted};
pub(super) use fork_cow_thp::TABLES;
pub(super) use guard::note as stream_note;
pub(super) use mmap_lock_contention::{LISTS, NOT as NOT_OF_LISTS};
pub(super) use numa_imbalance::MOVED_PAGES;
pub(super) use slab_bloat::NAMES;
pub(super) use unexplained_system_time::{CHARGES, MAP_WORK, MEMORY_WORK};

/// Every rule, in the order in which they are asked.
pub const ALL: &[&Rule] = &[
    &compaction_storm::RULE,
    &compaction_stalls::RULE,
    &thp_fault_cost::RULE,
    &khugepaged_burn::RULE,
    &thp_bloat::RULE,
    &kswapd_saturation::RULE,
    &direct_reclaim_stalls::RULE,
    &memcg_limit_thrash::RULE,
    &swap_thrash::RULE,
    &fragmentation::RULE,
    &page_cache_thrash::RULE,
    &swappiness_misuse::RULE,
    &dirty_throttling::RULE,
    &slab_bloat::RULE,
    &numa_imbalance::RULE,
    &kcompactd_burn::RULE,
    &watermark_boost::RULE,
    &mthp_misset::RULE,
    &tlb_bound::RULE,
    &hugetlb_waste::RULE,
    &unevictable_memory::RULE,
    &oom_risk::RULE,
    &fork_cow_thp::RULE,
    &mmap_lock_contention::RULE,
    &fault_churn::RULE,
    &tlb_shootdowns::RULE,
    &shmem_fill::RULE,
    &kernel_memory_leak::RULE,
    &dying_cgroups::RULE,
    &measurement_caveat::RULE,
    &unexplained_memory_stalls::RULE,
    &unexplained_system_time::RULE,
];
