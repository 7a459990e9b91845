//! Huge pages: given, made, split and set aside.

use super::prelude::*;

catalogue! {
    /// Huge pages given at a page fault (thp_fault_alloc).
    THP_FAULT_ALLOC = Quantity::total("vmstat", &[Is("thp_fault_alloc")], Count)
        .since("2.6.39 (mm/vmstat.c); Red Hat's 2.6.32")
        .line(Panel::HugePages, "thp_fault", "faults", PerSecond)
        .column("thp", 4)
        .measure("thp_faults");
    /// Page faults that got small pages for want of a huge one (thp_fault_fallback).
    THP_FAULT_FALLBACK = Quantity::total("vmstat", &[Is("thp_fault_fallback")], Count)
        .since("2.6.39 (mm/vmstat.c); Red Hat's 2.6.32")
        .line(Panel::HugePages, "thp_fallback", "faults that fell back", PerSecond)
        .column("fb", 3)
        .measure("thp_fallbacks");
    /// Huge pages khugepaged made.
    THP_COLLAPSE = Quantity::total("vmstat", &[Is("thp_collapse_alloc")], Count)
        .since("2.6.39 (mm/vmstat.c); Red Hat's 2.6.32")
        .line(Panel::HugePages, "thp_collapse", "collapsed by khugepaged", PerSecond)
        .column("coll", 4);
    /// Huge pages khugepaged could not get.
    THP_COLLAPSE_FAILED = Quantity::total("vmstat", &[Is("thp_collapse_alloc_failed")], Count)
        .since("2.6.39 (mm/vmstat.c); Red Hat's 2.6.32");
    /// Huge pages split into small ones.
    THP_SPLIT = Quantity::total("vmstat", &[Is("thp_split_page")], Count)
        .since("4.5 (include/linux/vm_event_item.h)")
        .formerly(&[Form {
            of: &[Is("thp_split")],
            less: &[],
            kernels: "2.6.39 to 4.4 (include/linux/vm_event_item.h); Red Hat's 2.6.32",
        }])
        .aside(Panel::HugePages, "thp_split", "split", PerSecond);
    /// Huge pages that were mapped as such and are mapped page by page since.
    THP_SPLIT_PMD = Quantity::total("vmstat", &[Is("thp_split_pmd")], Count)
        .since("4.5 (include/linux/vm_event_item.h)")
        .aside(Panel::HugePages, "thp_split_pmd", "mappings split", PerSecond);
    /// Huge pages split for being mostly zero.
    THP_UNDERUSED = Quantity::total("vmstat", &[Is("thp_underused_split_page")], Count)
        .since("6.12 (include/linux/vm_event_item.h)");
    /// Scans of all memory khugepaged finished.
    KHUGEPAGED_SCANS = Quantity::total("thp", &[Is("khugepaged_full_scans")], Count);
    /// Faults that got a folio of a size.
    MTHP_ALLOC = Quantity::total("thp", &[Is("anon_fault_alloc")], Count).each();
    /// Faults that wanted a folio of a size and did not get it.
    MTHP_FALLBACK = Quantity::total("thp", &[Is("anon_fault_fallback")], Count).each();
    /// Folios swapped out in pieces for want of room in one.
    MTHP_SWPOUT_FALLBACK = Quantity::total("thp", &[Is("swpout_fallback")], Count).each();
    /// Folios some pages of which are unmapped.
    MTHP_PARTIAL = Quantity::level("thp", &[Is("nr_anon_partially_mapped")], Count).each();
    /// Folios of a size in use.
    MTHP_ANON = Quantity::level("thp", &[Is("nr_anon")], Count).each();
    /// Huge pages set aside.
    HUGETLB_TOTAL = Quantity::level("meminfo", &[Is("HugePages_Total")], Count)
        .printed(&[PrintedSum::huge_pages(&[(IMPORT, "hugetlb_used"), (IMPORT, "hugetlb_free")])]);
    /// Huge pages set aside, in no use.
    HUGETLB_FREE = Quantity::level("meminfo", &[Is("HugePages_Free")], Count)
        .printed(&[PrintedSum::huge_pages(&[(IMPORT, "hugetlb_free")])]);
    /// Huge pages set aside, promised.
    HUGETLB_RESERVED = Quantity::level("meminfo", &[Is("HugePages_Rsvd")], Count)
        .printed(&[PrintedSum::huge_pages(&[(IMPORT, "hugetlb_reserved")])]);
    /// Size of a huge page.
    HUGEPAGE_SIZE = Quantity::level("meminfo", &[Is("Hugepagesize")], KiB);
    /// Huge pages that the pool could not get.
    HUGETLB_FAILED = Quantity::total("vmstat", &[Is("htlb_buddy_alloc_fail")], Count);
}
