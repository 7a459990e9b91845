//! Swap, disks, and dirty pages on their way there.

use super::prelude::*;

catalogue! {
    /// Pages read from swap.
    SWAP_IN = Quantity::total("vmstat", &[Is("pswpin")], Pages)
        .printed(&[
            PrintedSum::sum(&[(IMPORT, "pswpin_per_second")]),
            PrintedSum::sum(&[(IMPORT, "swap_in_per_second")]),
        ])
        .line(Panel::Disk, "swap_in", "swapped in", BytesPerSecond)
        .column("si", 4)
        .measure("pages_swapped_in");
    /// Pages written to swap.
    SWAP_OUT = Quantity::total("vmstat", &[Is("pswpout")], Pages)
        .printed(&[
            PrintedSum::sum(&[(IMPORT, "pswpout_per_second")]),
            PrintedSum::sum(&[(IMPORT, "swap_out_per_second")]),
        ])
        .line(Panel::Disk, "swap_out", "swapped out", BytesPerSecond)
        .column("so", 4)
        .measure("pages_swapped_out");
    /// What was read from disks.
    PAGE_IN = Quantity::total("vmstat", &[Is("pgpgin")], KiB)
        .printed(&[
            PrintedSum::sum(&[(IMPORT, "pgpgin_per_second")]),
            PrintedSum::sum(&[(IMPORT, "disk_read_per_second")]),
        ])
        .line(Panel::Disk, "disk_read", "read", BytesPerSecond)
        .column("read", 4);
    /// What was written to disks.
    PAGE_OUT = Quantity::total("vmstat", &[Is("pgpgout")], KiB)
        .printed(&[
            PrintedSum::sum(&[(IMPORT, "pgpgout_per_second")]),
            PrintedSum::sum(&[(IMPORT, "disk_written_per_second")]),
        ])
        .line(Panel::Disk, "disk_written", "written", BytesPerSecond)
        .column("writ", 4);
    /// The part of the time in which the busiest disk had something to do, as another tool wrote it down.
    IMPORTED_DISK_BUSY = Quantity::level(IMPORT, &[Is("disk_busiest_percent")], PercentHundredths);
    /// What a request to the busiest disk took, with its time in the queue, as another tool wrote it down.
    IMPORTED_DISK_WAIT = Quantity::level(IMPORT, &[Is("disk_busiest_wait")], Microseconds);
    /// Memory changed and not yet written.
    DIRTY_MEMORY = Quantity::level("meminfo", &[Is("Dirty")], KiB)
        .line(Panel::Dirty, "dirty", "dirty", Bytes)
        .column("dirt", 4);
    /// Memory being written.
    WRITEBACK_MEMORY = Quantity::level("meminfo", &[Is("Writeback")], KiB)
        .line(Panel::Dirty, "writeback", "being written", Bytes)
        .column("wrbk", 4);
    /// Pages changed and not yet written, as their thresholds are counted.
    DIRTY = Quantity::level("vmstat", &[Is("nr_dirty")], Pages);
    /// Pages being written.
    WRITEBACK = Quantity::level("vmstat", &[Is("nr_writeback")], Pages);
    /// Dirty pages from which on they are written in the background.
    DIRTY_BACKGROUND = Quantity::level("vmstat", &[Is("nr_dirty_background_threshold")], Pages);
    /// Dirty pages that are never exceeded.
    DIRTY_THRESHOLD = Quantity::level("vmstat", &[Is("nr_dirty_threshold")], Pages);
}
