//! A stretch of a recording, as a recording: whatever is asked of the whole can be asked of a part.

use super::block::{Block, Recorded, SourceBlock};
use super::gap::Gap;
use super::note::{Mark, Setting};
use super::process::Walk;
use super::series::Series;
use super::stack::Profile;
use super::stall::StallRow;
use std::collections::BTreeMap;

/// What lies between two instants of a recording.
#[derive(Debug)]
pub struct Part<'a, R> {
    of: &'a R,
    from: u64,
    to: u64,
    gaps: Vec<Gap>,
    profile: Option<Profile>,
    has_stalls: bool,
}

impl<'a, R: Recorded> Part<'a, R> {
    /// The ticks from `from` to `to`, both with them, CLOCK_BOOTTIME in nanoseconds. Where CPUs were meanwhile
    /// ([`Profile::part`]) is handed in: whoever asks for one part after another reads it once.
    #[must_use]
    pub fn new(of: &'a R, from: u64, to: u64, profile: Option<Profile>) -> Part<'a, R> {
        let lies_in = |gap: &&Gap| gap.from <= to && gap.to.is_none_or(|end| end >= from);
        let gaps = of.gaps().iter().filter(lies_in).cloned().collect();
        Part { of, from, to, gaps, profile, has_stalls: true }
    }

    /// What held tasks up is not known of all of it: then it is not known at all, rather than too little.
    #[must_use]
    pub fn without_stalls(self) -> Part<'a, R> {
        Part { has_stalls: false, ..self }
    }

    fn cut(&self, block: Block) -> Option<Block> {
        let from = block.ticks.partition_point(|tick| tick.begin < self.from);
        let to = block.ticks.partition_point(|tick| tick.begin <= self.to);
        if from >= to || to - from == block.ticks.len() {
            return (from < to).then_some(block);
        }
        let part = |source: SourceBlock| SourceBlock { data: source.data.part(from..to), source: source.source };
        Some(Block {
            first: block.first + from as u64,
            ticks: block.ticks[from..to].to_vec(),
            sources: block.sources.into_iter().map(part).collect(),
        })
    }
}

impl<R: Recorded> Recorded for Part<'_, R> {
    type Error = R::Error;

    fn series(&self) -> &[Series] {
        self.of.series()
    }

    fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, R::Error>> {
        let blocks = self.of.blocks_between(self.from, self.to);
        blocks.filter_map(move |block| block.map(|block| self.cut(block)).transpose())
    }

    fn about(&self, key: &str) -> Option<&str> {
        self.of.about(key)
    }

    /// What was set when it begins stands at its beginning.
    fn settings(&self) -> Result<Vec<Setting>, R::Error> {
        let mut at_start: BTreeMap<String, Setting> = BTreeMap::new();
        let mut later = Vec::new();
        for setting in self.of.settings()? {
            if setting.ts <= self.from {
                let path = setting.path.clone();
                at_start.insert(path, Setting { ts: self.from, by: "start".to_owned(), ..setting });
            } else if setting.ts <= self.to {
                later.push(setting);
            }
        }
        Ok(at_start.into_values().chain(later).collect())
    }

    fn marks(&self) -> Result<Vec<Mark>, R::Error> {
        let mut marks = self.of.marks()?;
        marks.retain(|mark| (self.from..=self.to).contains(&mark.ts));
        Ok(marks)
    }

    fn profile(&self) -> Result<Option<Profile>, R::Error> {
        Ok(self.profile.clone())
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, R::Error> {
        if !self.has_stalls {
            return Ok(None);
        }
        let mut stalls = self.of.stalls()?;
        if let Some(rows) = &mut stalls {
            rows.retain(|row| row.from <= self.to && (row.to > self.from || row.from >= self.from));
        }
        Ok(stalls)
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, R::Error> {
        let mut walks = self.of.walks()?;
        if let Some(walks) = &mut walks {
            walks.retain(|walk| (self.from..=self.to).contains(&walk.from));
        }
        Ok(walks)
    }
}
