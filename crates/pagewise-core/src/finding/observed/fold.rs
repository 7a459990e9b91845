//! From samples to windows: one pass over the blocks of a recording, for the series that are wanted.

use super::{MOST_WINDOWS, WINDOW, Windows};
use crate::counter::IMPORT;
use crate::import::HOLE;
use crate::recording::block::Tick;
use crate::recording::series::growth;
use crate::recording::{Block, Column, Kind, Series};
use crate::unit::Unit;

/// What a counter did in a window. `covered` is not a number when it was reset.
#[derive(Clone, Copy, Debug, Default)]
struct WindowGrowth {
    by: f32,
    /// Seconds.
    covered: f32,
}

/// What a level was in a window.
#[derive(Clone, Copy, Debug)]
struct Level {
    sum: f32,
    least: f32,
    most: f32,
    readings: u32,
}

impl Default for Level {
    fn default() -> Self {
        Level { sum: 0.0, least: f32::INFINITY, most: f32::NEG_INFINITY, readings: 0 }
    }
}

#[derive(Clone, Debug)]
enum Cells {
    Counter(Vec<WindowGrowth>),
    Level(Vec<Level>),
}

/// One series in windows.
#[derive(Clone, Debug)]
pub struct Folded {
    source: String,
    name: String,
    labels: String,
    unit: Option<Unit>,
    scale: f64,
    cells: Cells,
    /// When it was first read, and its value then.
    first: Option<(u64, u64)>,
    /// The same of the last time.
    last: Option<(u64, u64)>,
    total: f64,
    has_grown: bool,
    readings: u32,
    /// The shortest time between two of them, in nanoseconds.
    usual: Option<u64>,
}

impl Level {
    fn read(&mut self, value: f32) {
        *self = Level {
            sum: self.sum + value,
            least: self.least.min(value),
            most: self.most.max(value),
            readings: self.readings.saturating_add(1),
        };
    }
}

/// Whether a number of a listing is read so seldom: `between` two readings lies no hole, by the shortest time there was between two.
fn is_seldom(usual: &mut Option<u64>, between: u64, clock: &Clock) -> bool {
    let shortest = usual.map_or(between, |usual| usual.min(between));
    *usual = Some(shortest);
    clock.is_import && between <= shortest.saturating_mul(HOLE)
}

/// Windows between two readings of a level, from which on nothing is said of those between.
const BRIDGED: usize = 100;

/// The share of a window that has to be seen for its value to count.
const SEEN: f64 = 0.5;

impl Folded {
    fn of(series: &Series) -> Folded {
        let cells = match series.kind {
            Kind::Counter => Cells::Counter(Vec::new()),
            Kind::Gauge => Cells::Level(Vec::new()),
        };
        Folded {
            source: series.source.clone(),
            name: series.name.clone(),
            labels: series.labels.clone(),
            unit: series.unit.map(|unit| unit.scale().0),
            scale: series.unit.map_or(1.0, |unit| unit.scale().1),
            cells,
            first: None,
            last: None,
            total: 0.0,
            has_grown: false,
            readings: 0,
            usual: None,
        }
    }

    /// Source, name and labels.
    pub(super) fn name(&self) -> (&str, &str, &str) {
        (&self.source, &self.name, &self.labels)
    }

    /// Whether it is in bytes once it is scaled.
    pub(super) fn is_bytes(&self) -> bool {
        self.unit == Some(Unit::Bytes)
    }

    pub(super) fn labels(&self) -> &str {
        &self.labels
    }

    /// Growth per second.
    pub(super) fn rate(&self, window: usize, windows: &Windows) -> Option<f64> {
        let Cells::Counter(cells) = &self.cells else { return None };
        let cell = cells.get(window)?;
        let covered = f64::from(cell.covered);
        // Not a number when it was reset: then this does not hold, either.
        (covered > 0.0 && covered >= windows.length(window) * SEEN).then(|| f64::from(cell.by) * self.scale / covered)
    }

    pub(super) fn mean(&self, window: usize) -> Option<f64> {
        self.level(window).map(|level| f64::from(level.sum) / f64::from(level.readings) * self.scale)
    }

    pub(super) fn least(&self, window: usize) -> Option<f64> {
        self.level(window).map(|level| f64::from(level.least) * self.scale)
    }

    fn level(&self, window: usize) -> Option<&Level> {
        let Cells::Level(cells) = &self.cells else { return None };
        cells.get(window).filter(|level| level.readings > 0)
    }

    pub(super) fn growth(&self) -> Option<f64> {
        (matches!(self.cells, Cells::Counter(_)) && self.has_grown).then_some(self.total * self.scale)
    }

    /// What a counter that was read once stood at then: all of it since the host started.
    pub(super) fn since_boot(&self) -> Option<f64> {
        let is_once = matches!(self.cells, Cells::Counter(_)) && self.first == self.last;
        self.last.filter(|_| is_once).map(|(_, value)| value as f64 * self.scale)
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.ends().map(|(_, last)| last)
    }

    /// The first and the last reading of a level.
    pub(super) fn ends(&self) -> Option<(f64, f64)> {
        let ((_, first), (_, last)) = self.first.zip(self.last).filter(|_| matches!(self.cells, Cells::Level(_)))?;
        Some((first as i64 as f64 * self.scale, last as i64 as f64 * self.scale))
    }

    /// What a level rose by per second from the first reading to the last; below 0 when it fell.
    pub(super) fn slope(&self) -> Option<f64> {
        let ((from, first), (to, last)) = self.first.zip(self.last)?;
        let seconds = to.checked_sub(from).filter(|between| *between > 0)? as f64 * super::SECOND;
        let rose = (last as i64).wrapping_sub(first as i64) as f64 * self.scale;
        matches!(self.cells, Cells::Level(_)).then(|| rose / seconds)
    }

    /// How often it was read.
    pub(super) fn readings(&self) -> u32 {
        self.readings
    }

    /// One reading.
    fn read(&mut self, at: u64, value: u64, clock: &Clock) {
        self.readings = self.readings.saturating_add(1);
        match &mut self.cells {
            Cells::Counter(cells) => {
                if let Some((before_at, before)) = self.last {
                    let (Some(window), true) = (clock.window_ending(at), at > before_at) else {
                        self.last = Some((at, value));
                        return;
                    };
                    let grown = growth(before, value);
                    self.total += grown.unwrap_or(0) as f64;
                    self.has_grown |= grown.is_some();
                    let between = at - before_at;
                    // What grew during a hole cannot be laid into a window. What was read less often than the rest of a listing, as /proc
                    // beside vmstat, is laid evenly into all that lie between.
                    let is_seldom = is_seldom(&mut self.usual, between, clock);
                    let first = if between <= clock.width {
                        Some(window)
                    } else {
                        clock.window_of(before_at).filter(|_| is_seldom)
                    };
                    if let Some(first) = first {
                        if cells.len() <= window {
                            cells.resize(window + 1, WindowGrowth::default());
                        }
                        for (place, cell) in cells.iter_mut().enumerate().take(window + 1).skip(first) {
                            let inside = if first == window { between } else { clock.part_of(place, before_at, at) };
                            let covered = (inside as f64 * super::SECOND) as f32;
                            cell.by += (grown.unwrap_or(0) as f64 * inside as f64 / between as f64) as f32;
                            cell.covered += if grown.is_some() { covered } else { f32::NAN };
                        }
                    }
                }
            }
            Cells::Level(cells) => {
                // A mean over the time until then, as other tools write it, belongs to the window it ends.
                let window = if clock.is_import { clock.window_ending(at) } else { clock.window_of(at) };
                let Some(window) = window else { return };
                if cells.len() <= window {
                    cells.resize(window + 1, Level::default());
                }
                let now = value as i64 as f32;
                // Between two readings that are further apart than those of the rest of a listing, but not by hours, it went from one to the
                // other.
                if let Some((before_at, before)) = self.last.filter(|(before_at, _)| at > *before_at)
                    && let Some(first) = clock.window_ending(before_at)
                    && is_seldom(&mut self.usual, at - before_at, clock)
                    && window.saturating_sub(first) <= BRIDGED
                {
                    let before = before as i64 as f32;
                    let steps = window.saturating_sub(first) as f32;
                    for (place, cell) in cells.iter_mut().enumerate().take(window).skip(first + 1) {
                        if cell.readings == 0 {
                            cell.read(before + (now - before) * ((place - first) as f32 / steps));
                        }
                    }
                }
                cells[window].read(now);
            }
        }
        self.first = self.first.or(Some((at, value)));
        self.last = Some((at, value));
    }

    /// The short rest at the end belongs to the window before it.
    fn merge_from(&mut self, count: usize) {
        match &mut self.cells {
            Cells::Counter(cells) => {
                for rest in cells.split_off(count.min(cells.len())) {
                    if let Some(cell) = cells.last_mut().filter(|_| rest.covered != 0.0) {
                        *cell = WindowGrowth { by: cell.by + rest.by, covered: cell.covered + rest.covered };
                    }
                }
            }
            Cells::Level(cells) => {
                for rest in cells.split_off(count.min(cells.len())) {
                    if let Some(cell) = cells.last_mut() {
                        *cell = Level {
                            sum: cell.sum + rest.sum,
                            least: cell.least.min(rest.least),
                            most: cell.most.max(rest.most),
                            readings: cell.readings.saturating_add(rest.readings),
                        };
                    }
                }
            }
        }
    }
}

/// Which window an instant lies in.
#[derive(Clone, Copy, Debug)]
struct Clock {
    start: u64,
    width: u64,
    is_import: bool,
}

impl Clock {
    /// Of a reading.
    fn window_of(&self, at: u64) -> Option<usize> {
        Some((at.checked_sub(self.start)? / self.width).min(MOST_WINDOWS) as usize)
    }

    /// How much of a stretch lies in a window.
    fn part_of(&self, window: usize, from: u64, to: u64) -> u64 {
        let begins = self.start + self.width * window as u64;
        let ends = if window >= MOST_WINDOWS as usize { u64::MAX } else { begins + self.width };
        to.min(ends).saturating_sub(from.max(begins))
    }

    /// Of what grew until then: an instant on the border belongs to the window it ends.
    fn window_ending(&self, at: u64) -> Option<usize> {
        self.window_of(at.saturating_sub(1).max(self.start))
    }
}

/// What folding gave.
#[derive(Debug)]
pub(super) struct FoldedRecording {
    pub(super) windows: Windows,
    pub(super) ticks: u64,
    pub(super) late: u64,
    pub(super) wall_offset: i64,
    pub(super) is_import: bool,
    pub(super) folded: Vec<Folded>,
}

/// A fold that is under way.
#[derive(Debug)]
pub(super) struct Folding {
    /// With the source and the column to read it from.
    wanted: Vec<(Series, Folded)>,
    hz: Option<f64>,
    is_import: bool,
    /// Whether the first line speaks of the time before it, as those of tools do and a reading of the kernel's files does not.
    has_lines: bool,
    clock: Option<Clock>,
    end: u64,
    ticks: u64,
    late: u64,
    wall_offset: i64,
}

/// Ticks later than this are late, as the recorder marks them. In µs.
const LATE: i64 = 50_000;

impl Folding {
    /// For what the catalogue has a quantity for.
    pub(super) fn new(series: &[Series], hz: Option<f64>) -> Folding {
        let wanted = series
            .iter()
            .filter(|series| series.is_wanted())
            .map(|series| (series.clone(), Folded::of(series)))
            .collect();
        let is_import = series.iter().any(|series| series.source == IMPORT);
        // The averages of `/proc/pressure` are read with the rest of it.
        let is_line = |series: &Series| series.source == IMPORT && !series.name.starts_with("psi_memory_");
        let has_lines = series.iter().any(is_line);
        Folding { wanted, hz, is_import, has_lines, clock: None, end: 0, ticks: 0, late: 0, wall_offset: 0 }
    }

    pub(super) fn add(&mut self, block: &Block) {
        let (Some(first), Some(last)) = (block.ticks.first(), block.ticks.last()) else { return };
        if self.clock.is_none() {
            self.wall_offset = first.wall_offset;
            let period = self.period(&block.ticks);
            // The first line of a listing speaks of the time before it.
            let start = first.begin.saturating_sub(if self.has_lines { period } else { 0 });
            let width = WINDOW.max(period.saturating_mul(2));
            self.clock = Some(Clock { start, width, is_import: self.is_import });
        }
        let Some(clock) = self.clock else { return };
        self.end = self.end.max(last.begin);
        self.ticks += block.ticks.len() as u64;
        self.late += block.ticks.iter().filter(|tick| tick.late > LATE).count() as u64;
        for (series, folded) in &mut self.wanted {
            let Some(source) = block.sources.iter().find(|source| source.source == series.source) else { continue };
            let Some(column) = source.data.columns.get(series.column as usize) else { continue };
            if matches!(column, Column::Never) {
                continue;
            }
            let read = block.ticks.iter().zip(&source.data.took).filter(|(_, took)| took.is_some());
            for (reading, (tick, _)) in read.enumerate() {
                if let Some(value) = column.at(reading) {
                    folded.read(tick.begin, value, &clock);
                }
            }
        }
    }

    /// Time between two samples, in nanoseconds: as the recording says, or as its first ones are.
    fn period(&self, ticks: &[Tick]) -> u64 {
        let seen = ticks.first().zip(ticks.last()).map(|(first, last)| last.begin.saturating_sub(first.begin));
        let between = seen.filter(|_| ticks.len() > 1).map(|length| length / (ticks.len() as u64 - 1));
        let said = self.hz.map(|hz| (1e9 / hz).clamp(1.0, 1e15) as u64);
        said.or(between).unwrap_or(0)
    }

    pub(super) fn finish(mut self) -> FoldedRecording {
        let clock = self.clock.unwrap_or(Clock { start: 0, width: WINDOW, is_import: false });
        let end = self.end.max(clock.start);
        let length = end - clock.start;
        let count = (length.saturating_add(clock.width / 2) / clock.width).clamp(1, MOST_WINDOWS) as usize;
        let count = if self.ticks == 0 { 0 } else { count };
        for (_, folded) in &mut self.wanted {
            folded.merge_from(count);
        }
        FoldedRecording {
            windows: Windows { start: clock.start, end, width: clock.width, count },
            ticks: self.ticks,
            late: self.late,
            wall_offset: self.wall_offset,
            is_import: self.is_import,
            folded: self.wanted.into_iter().map(|(_, folded)| folded).collect(),
        }
    }
}
