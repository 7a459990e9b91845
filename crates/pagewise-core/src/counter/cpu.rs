//! CPU time, as `/proc/stat` counts it, and tasks.

use super::prelude::*;

catalogue! {
    /// CPU time in programs of usual priority.
    CPU_USER = Quantity::total("stat", &[Is("user")], Ticks);
    /// CPU time in programs with lowered priority.
    CPU_NICE = Quantity::total("stat", &[Is("nice")], Ticks);
    /// CPU time in programs of any priority.
    CPU_PROGRAMS = Quantity::total("stat", &[Is("user"), Is("nice")], Ticks)
        .printed(&[
            PrintedSum::sum(&[(IMPORT, "cpu_user_percent"), (IMPORT, "cpu_nice_percent")]),
            PrintedSum::sum(&[(IMPORT, "cpu_user_percent")]),
        ])
        .line(Panel::Cpu, "cpu_user", "user", Share);
    /// CPU time in the kernel, on behalf of programs and in kernel threads.
    CPU_SYSTEM = Quantity::total("stat", &[Is("system")], Ticks)
        .printed(&[PrintedSum::sum(&[(IMPORT, "cpu_system_percent")])])
        .line(Panel::Cpu, "cpu_system", "system", Share)
        .column("sys", 3);
    /// CPU time in programs, in the kernel and in interrupts.
    CPU_BUSY = Quantity::total("stat", &[Is("user"), Is("nice"), Is("system"), Is("irq"), Is("softirq")], Ticks)
        .printed(&[PrintedSum::sum(&[(IMPORT, "cpu_busy_percent")])])
        .aside(Panel::Cpu, "cpu_busy", "all but idle", Share)
        .column("cpu", 3);
    /// CPU time in nothing.
    CPU_IDLE = Quantity::total("stat", &[Is("idle")], Ticks);
    /// CPU time in interrupts.
    CPU_IRQ = Quantity::total("stat", &[Is("irq")], Ticks);
    /// CPU time in what interrupts left to do.
    CPU_SOFTIRQ = Quantity::total("stat", &[Is("softirq")], Ticks);
    /// CPU time in interrupts and in what they left to do.
    CPU_INTERRUPTS = Quantity::total("stat", &[Is("irq"), Is("softirq")], Ticks)
        .printed(&[PrintedSum::sum(&[(IMPORT, "cpu_irq_percent"), (IMPORT, "cpu_softirq_percent")])])
        .aside(Panel::Cpu, "cpu_interrupts", "interrupts", Share);
    /// CPU time in nothing, with I/O under way.
    CPU_IOWAIT = Quantity::total("stat", &[Is("iowait")], Ticks)
        .printed(&[PrintedSum::sum(&[(IMPORT, "cpu_iowait_percent")])])
        .aside(Panel::Cpu, "cpu_iowait", "waiting for I/O", Share)
        .column("wait", 4);
    /// CPU time taken by the hypervisor.
    CPU_STEAL = Quantity::total("stat", &[Is("steal")], Ticks)
        .printed(&[PrintedSum::sum(&[(IMPORT, "cpu_steal_percent")])])
        .line(Panel::Cpu, "cpu_steal", "stolen", Share)
        .column("st", 2);
    /// CPU time that collections of garbage took in a program, as a JVM logs it.
    COLLECTION_USER = Quantity::total(IMPORT, &[Is("collection_user")], Microseconds);
    /// CPU time in the kernel meanwhile.
    COLLECTION_SYSTEM = Quantity::total(IMPORT, &[Is("collection_system")], Microseconds);
    /// How long they took.
    COLLECTION_ELAPSED = Quantity::total(IMPORT, &[Is("collection_elapsed")], Microseconds);
    /// Memory that the heap of a program has from the kernel, as a JVM logs it at each collection; touched or not.
    HEAP = Quantity::level(IMPORT, &[Is("heap")], KiB);
    /// CPU time in nothing, per CPU; tells how many there are.
    CPU_EACH_IDLE = Quantity::total("stat", &[Is("idle")], Ticks).each();
    /// Switches between tasks.
    CONTEXT_SWITCHES = Quantity::total("stat", &[Is("ctxt")], Count);
    /// Tasks that run or could.
    RUNNING = Quantity::level("stat", &[Is("procs_running")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "procs_running")])])
        .line(Panel::Tasks, "running", "running", LineUnit::Count)
        .column("run", 3);
    /// Tasks that wait for a disk or for memory.
    BLOCKED = Quantity::level("stat", &[Is("procs_blocked")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "procs_blocked")])])
        .line(Panel::Tasks, "blocked", "blocked", LineUnit::Count)
        .column("blk", 3);
    /// The part of all CPU time that was busy, as another tool wrote it down.
    IMPORTED_BUSY = Quantity::level(IMPORT, &[Is("cpu_busy_percent")], PercentHundredths);
    /// The part of all CPU time that was spent in the kernel, as another tool wrote it down.
    IMPORTED_SYSTEM = Quantity::level(IMPORT, &[Is("cpu_system_percent")], PercentHundredths);
}
