//! The multi-generational LRU.

use super::descriptor::Descriptor;
use super::grammar::Grammar::{Integer, Mask};

pub(super) const ALL: &[Descriptor] = &[
    Descriptor::live(
        "mglru.enabled",
        &["/sys/kernel/mm/lru_gen/enabled"],
        Mask,
        "6.1; mm/vmscan.c enabled_store",
        "which parts of the multi-generational LRU are on: 1 itself, 2 and 4 the batched clearing of accessed bits",
    )
    .switched(5.0, 25.0, "every list of pages is moved from one LRU to the other, and pages must age again under it")
    .noting("a processor without a feature shows fewer bits than were written"),
    Descriptor::live(
        "mglru.min_ttl_ms",
        &["/sys/kernel/mm/lru_gen/min_ttl_ms"],
        Integer { min: 0, max: u32::MAX as u64, step: 1 },
        "6.1; mm/vmscan.c min_ttl_ms_store",
        "milliseconds for which the working set is protected; the OOM killer comes rather than evict it",
    )
    .switched(0.0, 10.0, "the next reclaim goes by it; pages pushed out before come back by refaults")
    .noting("a value above 0 makes OOM kills more likely instead of thrashing"),
];
