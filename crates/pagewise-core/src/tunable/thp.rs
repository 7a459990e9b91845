//! Transparent huge pages of the whole host.

use super::descriptor::Descriptor;
use super::grammar::Grammar::{self, Choice, Switch};

/// A file in the THP folder. Red Hat's 2.6.32 has the folder under a name of its own.
macro_rules! thp {
    ($file:literal, $grammar:expr, $source:literal, $summary:literal) => {
        Descriptor::live(
            concat!("thp.", $file),
            &[
                concat!("/sys/kernel/mm/transparent_hugepage/", $file),
                concat!("/sys/kernel/mm/redhat_transparent_hugepage/", $file),
            ],
            $grammar as Grammar,
            $source,
            $summary,
        )
    };
}

pub(super) const ALL: &[Descriptor] = &[
    thp!(
        "enabled",
        Choice,
        "2.6.32 of Red Hat, 2.6.38; mm/huge_memory.c enabled_store",
        "which anonymous memory may get huge pages when it is first touched or collapsed"
    )
    .one_of(&["always", "madvise", "never"])
    .coupled_with(&["vm.min_free_kbytes"])
    .switched_for_new(1.0, 9.0, "acts on memory mapped from now on, and huge pages that exist stay: a process that runs already keeps what it has")
    .noting(
        "acts on memory mapped from now on: huge pages that exist stay, so restart the job. \
         Switching between never and the others rewrites vm.min_free_kbytes",
    ),
    thp!(
        "defrag",
        Choice,
        "2.6.32 of Red Hat, 2.6.38, five values since 4.11; mm/huge_memory.c defrag_store",
        "how hard a page fault tries to get a huge page: reclaim and compact at once, later, or not"
    )
    .one_of(&["always", "defer", "defer+madvise", "madvise", "never"])
    .switched(
        1.0,
        4.0,
        "the next page fault goes by it; faults that compact already come to their end, and so does kcompactd that they woke",
    )
    .noting("acts on the next page fault; the smallest change to try first against stalls"),
    thp!(
        "use_zero_page",
        Switch,
        "3.8; mm/huge_memory.c",
        "whether reading untouched memory maps the shared huge zero page"
    )
    .switched(0.0, 2.0, "the next fault that reads goes by it; zero pages that are mapped stay until they are written to"),
    thp!("shmem_enabled", Choice, "4.8; mm/shmem.c", "which shared memory and tmpfs files may get huge pages")
        .one_of(&["always", "within_size", "advise", "never", "deny", "force"])
        .switched_for_new(0.0, 2.0, "acts on shared memory that is touched from now on, and huge pages that exist stay"),
    thp!(
        "shrink_underused",
        Switch,
        "6.12; mm/huge_memory.c",
        "whether huge pages that are mostly zero are split when memory is short"
    )
    .switched(0.0, 10.0, "the next reclaim goes by it; huge pages that were split stay split"),
];
