//! A recording as analysis sees it: a block of ticks at a time, so that a day of them never has to fit into memory.

use super::gap::Gap;
use super::note::{Mark, Setting};
use super::process::Walk;
use super::segment::Segment;
use super::series::Series;
use super::stack::Profile;
use super::stall::StallRow;
use super::wall_clock::WallClock;

/// One instant at which sources were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Right before the first source was read, CLOCK_BOOTTIME in nanoseconds.
    pub begin: u64,
    /// How long after the planned instant that was, in µs.
    pub late: i64,
    /// CLOCK_REALTIME minus CLOCK_BOOTTIME at that instant, in nanoseconds. It steps when the wall clock is set.
    pub wall_offset: i64,
}

/// Consecutive ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the first tick; ticks are numbered as they were taken.
    pub first: u64,
    /// When.
    pub ticks: Vec<Tick>,
    /// What each source gave.
    pub sources: Vec<SourceBlock>,
}

/// What one source gave at the ticks of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceBlock {
    /// Its name.
    pub source: String,
    /// One entry per tick and, for each time it was read, one value per column.
    pub data: Segment,
}

impl Block {
    /// The values of a series with the tick they belong to, in order. Ticks without a value are left out; the recording's
    /// gaps say why.
    pub fn values<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (&'a Tick, u64)> {
        let source = self.sources.iter().find(|block| block.source == series.source);
        source.into_iter().flat_map(move |block| {
            let column = block.data.columns.get(series.column as usize);
            let read = self.ticks.iter().zip(&block.data.took).filter(|(_, took)| took.is_some());
            read.enumerate().filter_map(move |(reading, (tick, _))| Some((tick, column?.at(reading)?)))
        })
    }
}

/// Anything that holds a recording: a file, or what a test makes up.
pub trait Recorded {
    /// What goes wrong when it is read.
    type Error;

    /// Every series.
    fn series(&self) -> &[Series];

    /// Every gap, in order of its beginning.
    fn gaps(&self) -> &[Gap];

    /// The blocks in order of time.
    fn blocks(&self) -> impl Iterator<Item = Result<Block, Self::Error>>;

    /// The blocks that have ticks from `from` to `to`; others may be among them, where leaving them out would save nothing.
    fn blocks_between(&self, from: u64, to: u64) -> impl Iterator<Item = Result<Block, Self::Error>> {
        let _ = (from, to);
        self.blocks()
    }

    /// What is said about the whole under this key: `kernel`, `page_size`, `hz`, … `docs/reference/recording.md` has them.
    fn about(&self, key: &str) -> Option<&str>;

    /// What it tells of when it was.
    fn wall_clock(&self) -> WallClock {
        WallClock::of(|key| self.about(key))
    }

    /// Settings at the start and every change seen, in order.
    ///
    /// # Errors
    /// When they cannot be read.
    fn settings(&self) -> Result<Vec<Setting>, Self::Error>;

    /// Marks in order.
    ///
    /// # Errors
    /// When they cannot be read.
    fn marks(&self) -> Result<Vec<Mark>, Self::Error>;

    /// Where CPUs were. `None`: not recorded.
    ///
    /// # Errors
    /// When they cannot be read.
    fn profile(&self) -> Result<Option<Profile>, Self::Error>;

    /// What held tasks up, in order of time. `None`: not recorded.
    ///
    /// # Errors
    /// When they cannot be read.
    fn stalls(&self) -> Result<Option<Vec<StallRow>>, Self::Error>;

    /// Walks over all processes, in order of time. `None`: not recorded.
    ///
    /// # Errors
    /// When they cannot be read.
    fn walks(&self) -> Result<Option<Vec<Walk>>, Self::Error>;
}

#[cfg(test)]
mod tests {
    use super::super::segment;
    use super::super::series::{Kind, RawUnit};
    use super::super::tick::SourceRow;
    use super::*;

    #[test]
    fn a_series_skips_ticks_at_which_its_source_was_not_read() {
        let tick = |begin| Tick { begin, late: 0, wall_offset: 0 };
        let rows = [
            Some(SourceRow { took: 1, values: vec![Some(7)] }),
            None,
            Some(SourceRow { took: 1, values: vec![Some(9)] }),
        ];
        let data = segment::decode(&segment::encode(&rows)).unwrap();
        let block = Block {
            first: 0,
            ticks: vec![tick(10), tick(20), tick(30)],
            sources: vec![SourceBlock { source: "vmstat".into(), data }],
        };
        let series = Series {
            source: "vmstat".into(),
            column: 0,
            name: "pgfault".into(),
            labels: String::new(),
            unit: Some(RawUnit::Count),
            kind: Kind::Counter,
            first_seen: 10,
        };
        let values: Vec<(u64, u64)> = block.values(&series).map(|(tick, value)| (tick.begin, value)).collect();
        assert_eq!(values, [(10, 7), (30, 9)]);
        assert_eq!(block.values(&Series { column: 4, ..series }).count(), 0);
    }
}
