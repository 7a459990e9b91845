//! Page faults of the whole host, and pages that were given back.

use super::prelude::*;

catalogue! {
    /// Page faults.
    FAULTS = Quantity::total("vmstat", &[Is("pgfault")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "pgfault_per_second")])])
        .line(Panel::Faults, "faults", "all", PerSecond)
        .column("flt", 4);
    /// Page faults of the whole host without I/O (pgfault less pgmajfault).
    MINOR_FAULTS = Quantity::total("vmstat", &[Is("pgfault")], Count)
        .less(&[Is("pgmajfault")])
        .measure("host_minor_faults");
    /// Page faults of the whole host with I/O (pgmajfault).
    MAJOR_FAULTS = Quantity::total("vmstat", &[Is("pgmajfault")], Count)
        .printed(&[PrintedSum::sum(&[(IMPORT, "pgmajfault_per_second")])])
        .line(Panel::Faults, "major_faults", "from disk", PerSecond)
        .column("maj", 3)
        .measure("host_major_faults");
    /// Pages that went back to the kernel's free lists, whoever had them.
    FREED = Quantity::total("vmstat", &[Is("pgfree")], Pages)
        .printed(&[PrintedSum::sum(&[(IMPORT, "pgfree_per_second")])]);
    /// CPU time of the command that another tool watched, in parts of one CPU.
    COMMAND_CPU = Quantity::level(IMPORT, &[Is("command_cpu_percent")], PercentHundredths);
    /// Page faults of that command.
    COMMAND_FAULTS = Quantity::level(IMPORT, &[Is("command_faults_per_second")], Hundredths);
    /// All of them, where it was watched from its beginning to its end.
    COMMAND_FAULTS_IN_ALL = Quantity::level(IMPORT, &[Is("command_faults")], Count);
}
