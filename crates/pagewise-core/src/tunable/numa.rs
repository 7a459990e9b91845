//! Placement of memory on nodes.

use super::descriptor::Descriptor;
use super::grammar::Grammar::Integer;

pub(super) const ALL: &[Descriptor] = &[Descriptor::live(
    "kernel.numa_balancing",
    &["/proc/sys/kernel/numa_balancing"],
    Integer { min: 0, max: 3, step: 1 },
    "3.13, bit 2 since 5.18; kernel/sched/fair.c",
    "whether pages move to the node that uses them: 1 on, 2 between memory tiers",
)
.switched(
    5.0,
    25.0,
    "scanning of page tables starts or stops with its next period; pages that were moved stay where they are",
)];
