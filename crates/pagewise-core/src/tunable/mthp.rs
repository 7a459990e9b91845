//! Transparent huge pages of one size, each with settings of its own.

use super::descriptor::{Descriptor, Key};
use super::grammar::Grammar::Choice;

pub(super) const ALL: &[Descriptor] = &[
    Descriptor::live(
        "mthp[SIZE].enabled",
        &["/sys/kernel/mm/transparent_hugepage/hugepages-{key}kB/enabled"],
        Choice,
        "6.8; mm/huge_memory.c anon_enabled_store",
        "which anonymous memory may get huge pages of this size; inherit follows thp.enabled",
    )
    .one_of(&["always", "inherit", "madvise", "never"])
    .keyed(Key::PageSize)
    .coupled_with(&["vm.min_free_kbytes"])
    .switched_for_new(1.0, 9.0, "acts on memory mapped from now on, and huge pages that exist stay: a process that runs already keeps what it has")
    .noting(
        "overrides thp.enabled for this size unless it is inherit. The first size that is switched on starts \
         khugepaged and the last one stops it, which rewrites vm.min_free_kbytes",
    ),
    Descriptor::live(
        "mthp[SIZE].shmem_enabled",
        &["/sys/kernel/mm/transparent_hugepage/hugepages-{key}kB/shmem_enabled"],
        Choice,
        "6.11; mm/shmem.c",
        "which shared memory may get huge pages of this size; inherit follows thp.shmem_enabled",
    )
    .one_of(&["always", "inherit", "within_size", "advise", "never"])
    .keyed(Key::PageSize)
    .switched_for_new(0.0, 2.0, "acts on shared memory that is touched from now on, and huge pages that exist stay"),
];
