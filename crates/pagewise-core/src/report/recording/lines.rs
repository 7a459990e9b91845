//! What is drawn, printed and listed of a recording: each line with its panel and its unit.
//!
//! Lines are what the catalogue of counters shows, and the stalls that were traced. One list for the page, `watch` and
//! `top`, so that a name means the same everywhere.

use crate::counter::{self, Quantity};
pub use crate::counter::{Heading, LineUnit};
use crate::recording::StallKind;
use std::sync::LazyLock;

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    /// From what the kernel counts.
    Counted(&'static Quantity),
    /// Time that tasks were held up, per second, from stalls that were traced.
    Stalled(StallKind),
}

/// One line of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Stable, for programs.
    pub id: &'static str,
    /// For people.
    pub label: &'static str,
    /// What it counts in.
    pub unit: LineUnit,
    /// Where it comes from.
    pub reads: LineSource,
    /// Whether it is drawn before anybody asks for it.
    pub shown: bool,
    /// Its column in `watch`, where it has one.
    pub heading: Option<Heading>,
}

impl Line {
    /// The source of a recording it comes from; `None` for stalls, which stand beside the samples.
    #[must_use]
    pub fn source(&self) -> Option<&'static str> {
        match self.reads {
            LineSource::Counted(quantity) => Some(quantity.source),
            LineSource::Stalled(_) => None,
        }
    }
}

/// Lines that are drawn together, in one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Stable, for programs.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// What to look for in it.
    pub hint: &'static str,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A panel of the catalogue: id, title, and what to look for in it.
type Title = (counter::Panel, &'static str, &'static str, &'static str);

/// Every panel in the order it is drawn.
const TITLES: [Title; 13] = [
    (
        counter::Panel::Cpu,
        "cpu",
        "CPU time",
        "System time that grows while the job's own falls is what memory management costs.",
    ),
    (
        counter::Panel::Memory,
        "memory",
        "Memory",
        "Free memory that falls to the watermarks and stays there means reclaim.",
    ),
    (
        counter::Panel::Pressure,
        "pressure",
        "Pressure",
        "Part of the time in which some or all tasks waited for memory, disk or a CPU.",
    ),
    (
        counter::Panel::Reclaim,
        "reclaim",
        "Reclaim",
        "Direct scans are done by the tasks that allocate, while they wait.",
    ),
    (
        counter::Panel::Stalls,
        "stalls",
        "Stalls, counted",
        "Allocations that had to reclaim or compact memory themselves.",
    ),
    (
        counter::Panel::Stalled,
        "stalled",
        "Stalls, timed",
        "Seconds per second that tasks were held up: 2 is two tasks all the time.",
    ),
    (counter::Panel::Compaction, "compaction", "Compaction", "Pages scanned to make room for huge pages."),
    (
        counter::Panel::Faults,
        "faults",
        "Page faults",
        "A fault from disk waits for a page that had been thrown out, or was never read.",
    ),
    (
        counter::Panel::HugePages,
        "huge_pages",
        "Huge pages",
        "A huge-page fault that falls back found no free huge page.",
    ),
    (counter::Panel::Disk, "disk", "Swap and disk", "Swap in both directions at once is thrashing."),
    (counter::Panel::Dirty, "dirty", "Dirty pages", "Near the limit, writers are put to sleep."),
    (counter::Panel::Tasks, "tasks", "Tasks", "Blocked tasks wait for a disk or for memory."),
    (counter::Panel::Own, "own", "What recording cost", "Of one core."),
];

/// Stalls that are traced: id, label, and whether they are drawn at first.
const STALLED: [(StallKind, &str, &str, bool); 6] = [
    (StallKind::DirectReclaim, "stalled_reclaim", "direct reclaim", true),
    (StallKind::CgroupReclaim, "stalled_cgroup", "cgroup reclaim", true),
    (StallKind::Compaction, "stalled_compaction", "compaction", true),
    (StallKind::Throttled, "stalled_throttled", "throttled", true),
    (StallKind::DirtyBalance, "stalled_dirty", "dirty balancing", true),
    (StallKind::BackgroundCompaction, "background_compaction", "kcompactd at work", false),
];

static PANELS: LazyLock<Vec<Panel>> = LazyLock::new(|| {
    let panel = |(of, id, title, hint): Title| Panel { id, title, hint, lines: lines_of(of) };
    TITLES.map(panel).into_iter().filter(|panel| !panel.lines.is_empty()).collect()
});

fn lines_of(panel: counter::Panel) -> Vec<Line> {
    let stalled = STALLED.iter().filter(|_| panel == counter::Panel::Stalled);
    let stalled = stalled.map(|(kind, id, label, shown)| Line {
        id,
        label,
        unit: LineUnit::SecondsPerSecond,
        reads: LineSource::Stalled(*kind),
        shown: *shown,
        heading: None,
    });
    let counted = counter::ALL.iter().filter_map(|quantity| {
        let shown = quantity.shown.filter(|shown| shown.panel == panel)?;
        Some(Line {
            id: shown.id,
            label: shown.label,
            unit: shown.unit,
            reads: LineSource::Counted(quantity),
            shown: shown.at_first,
            heading: shown.heading,
        })
    });
    counted.chain(stalled).collect()
}

/// Most lines a page draws.
pub const MOST_LINES: usize = 60;

/// Every panel in the order it is drawn.
#[must_use]
pub fn panels() -> &'static [Panel] {
    &PANELS
}

/// Every line in order.
pub fn lines() -> impl Iterator<Item = &'static Line> {
    panels().iter().flat_map(|panel| &panel.lines)
}

/// The line of that id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Line> {
    lines().find(|line| line.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_at_most_sixty_lines_each_with_an_id_of_its_own_and_a_panel_has_one_unit() {
        assert!(lines().count() <= MOST_LINES, "{}", lines().count());
        let ids: HashSet<&str> = lines().map(|line| line.id).collect();
        assert_eq!(ids.len(), lines().count());
        let shown = counter::ALL.iter().filter(|quantity| quantity.shown.is_some()).count();
        assert_eq!(lines().count(), shown + STALLED.len(), "every panel has its title");
        for panel in panels() {
            assert!(panel.lines.iter().all(|line| line.unit == panel.lines[0].unit), "{}", panel.id);
        }
    }
}
