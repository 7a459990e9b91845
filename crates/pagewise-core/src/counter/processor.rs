//! What looking up translations costs, by counters of the processor, and shootdowns of translations.

use super::prelude::*;

catalogue! {
    /// Cycles of CPUs that were not idle, while the processor's counters ran.
    PMU_CYCLES = Quantity::total("pmu", &[Is("cycles")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "cpu_cycles_per_second")])]);
    /// Cycles with a page walk for a load under way.
    PMU_LOAD_WALKS = Quantity::total("pmu", &[Is("load_walk_cycles")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "load_walk_cycles_per_second")])]);
    /// Cycles with a page walk for a store under way.
    PMU_STORE_WALKS = Quantity::total("pmu", &[Is("store_walk_cycles")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "store_walk_cycles_per_second")])]);
    /// Translations that were in no TLB, on processors that tell no more.
    PMU_MISSES = Quantity::total("pmu", &[Is("load_misses"), Is("store_misses")], Count).printed(&[
        PrintedSum::sum(&[(IMPORT, "load_misses_per_second"), (IMPORT, "store_misses_per_second")]),
        PrintedSum::sum(&[(IMPORT, "load_misses_per_second")]),
    ]);
    /// Shootdowns of translations received from other CPUs.
    TLB_REMOTE_RECEIVED = Quantity::total("vmstat", &[Is("nr_tlb_remote_flush_received")], Count)
        .since("3.12 (include/linux/vm_event_item.h), with CONFIG_DEBUG_TLBFLUSH");
    /// Shootdowns of translations sent to other CPUs.
    TLB_REMOTE_SENT = Quantity::total("vmstat", &[Is("nr_tlb_remote_flush")], Count)
        .since("3.12 (include/linux/vm_event_item.h), with CONFIG_DEBUG_TLBFLUSH");
}
