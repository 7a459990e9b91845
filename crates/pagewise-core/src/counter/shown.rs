//! Where people see a quantity: the panel of a page, what it is called there, and the heading of its column in `watch`.

use serde::Serialize;

/// What a line counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineUnit {
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Base pages per second.
    PagesPerSecond,
    /// Events per second.
    PerSecond,
    /// A part of a whole, 1 being all of it. CPU time is a part of all CPU time.
    Share,
    /// Seconds per second: tasks that wait at once.
    SecondsPerSecond,
    /// Things.
    Count,
}

/// Lines that are drawn together, in one unit. In the order they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// CPU time.
    Cpu,
    /// Memory.
    Memory,
    /// Who waits for what.
    Pressure,
    /// Pages scanned and freed.
    Reclaim,
    /// Allocations that had to wait, counted.
    Stalls,
    /// The same, timed.
    Stalled,
    /// Pages scanned and moved.
    Compaction,
    /// Page faults.
    Faults,
    /// Huge pages.
    HugePages,
    /// Swap and disk.
    Disk,
    /// Dirty pages.
    Dirty,
    /// Tasks.
    Tasks,
    /// What recording cost.
    Own,
}

/// A column of `watch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// What stands above it.
    pub name: &'static str,
    /// Characters without the space before it.
    pub width: usize,
}

/// Where a quantity is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Stable, for programs.
    pub id: &'static str,
    /// For people.
    pub label: &'static str,
    /// With which others.
    pub panel: Panel,
    /// What it is shown in.
    pub unit: LineUnit,
    /// Whether it is drawn before anybody asks for it.
    pub at_first: bool,
    /// Its column in `watch`, where it has one.
    pub heading: Option<Heading>,
}
