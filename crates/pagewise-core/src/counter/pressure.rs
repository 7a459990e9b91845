//! Time in which tasks waited, as `/proc/pressure/*` counts it (since 4.20).

use super::prelude::*;

catalogue! {
    /// Time in which some task waited for memory.
    PSI_MEMORY_SOME = Quantity::total("psi_memory", &[Is("some_total")], Microseconds)
        .since("4.20 (kernel/sched/psi.c)")
        .printed(&[PrintedSum::sum(&[(IMPORT, "psi_memory_some_percent")])])
        .line(Panel::Pressure, "psi_memory_some", "memory, some", Share)
        .column("psi", 3);
    /// Time in which every task that could run waited for memory.
    PSI_MEMORY_FULL = Quantity::total("psi_memory", &[Is("full_total")], Microseconds)
        .since("4.20 (kernel/sched/psi.c)")
        .printed(&[PrintedSum::sum(&[(IMPORT, "psi_memory_full_percent")])])
        .line(Panel::Pressure, "psi_memory_full", "memory, all", Share)
        .column("psif", 4);
    /// The part of the last minute in which some task waited for memory, as one reading of the file has it.
    IMPORTED_PSI_SOME = Quantity::level(IMPORT, &[Is("psi_memory_some_avg60_percent")], PercentHundredths);
    /// The same of every task that could run.
    IMPORTED_PSI_FULL = Quantity::level(IMPORT, &[Is("psi_memory_full_avg60_percent")], PercentHundredths);
    /// Time in which some task waited for I/O.
    PSI_IO_SOME = Quantity::total("psi_io", &[Is("some_total")], Microseconds)
        .since("4.20 (kernel/sched/psi.c)")
        .printed(&[PrintedSum::sum(&[(IMPORT, "psi_io_some_percent")])])
        .line(Panel::Pressure, "psi_io_some", "disk, some", Share)
        .column("psio", 4);
    /// Time in which every task that could run waited for I/O.
    PSI_IO_FULL = Quantity::total("psi_io", &[Is("full_total")], Microseconds)
        .since("4.20 (kernel/sched/psi.c)")
        .printed(&[PrintedSum::sum(&[(IMPORT, "psi_io_full_percent")])])
        .aside(Panel::Pressure, "psi_io_full", "disk, all", Share);
    /// Time in which some task waited for a CPU.
    PSI_CPU_SOME = Quantity::total("psi_cpu", &[Is("some_total")], Microseconds)
        .since("4.20 (kernel/sched/psi.c)")
        .printed(&[PrintedSum::sum(&[(IMPORT, "psi_cpu_some_percent")])])
        .aside(Panel::Pressure, "psi_cpu_some", "CPU, some", Share);
}
