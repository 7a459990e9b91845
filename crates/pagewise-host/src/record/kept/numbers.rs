//! The ticks of the last while: blocks of sixty, column by column, and the rows that are no block yet.

use pagewise_core::recording::block::{SourceBlock, Tick};
use pagewise_core::recording::segment;
use pagewise_core::recording::tick::SourceRow;
use pagewise_core::recording::{Block, Column};
use std::collections::VecDeque;

/// Ticks of a block. What is forgotten is forgotten by the block.
pub(super) const BLOCK: usize = 60;

type Row = Option<SourceRow>;

/// What the sources gave, tick by tick.
#[derive(Debug)]
pub(super) struct Numbers {
    sources: Vec<String>,
    /// By source and column: whether it is kept.
    kept: Vec<Vec<bool>>,
    /// The newest row of each source, with all columns.
    newest: Vec<Row>,
    sealed: VecDeque<Block>,
    /// Of the rows that are no block yet.
    ticks: Vec<Tick>,
    /// By source.
    rows: Vec<Vec<Row>>,
    /// Ticks ever taken.
    taken: u64,
}

impl Numbers {
    /// For these sources, in the order of the sections of a row behind the clock's.
    pub(super) fn new(sources: Vec<String>) -> Numbers {
        let count = sources.len();
        Numbers {
            sources,
            kept: vec![Vec::new(); count],
            newest: vec![None; count],
            sealed: VecDeque::new(),
            ticks: Vec::with_capacity(BLOCK),
            rows: vec![Vec::new(); count],
            taken: 0,
        }
    }

    fn source(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source == name)
    }

    /// This column is kept from now on.
    pub(super) fn keep(&mut self, source: &str, column: u32) {
        let Some(source) = self.source(source) else { return };
        let (kept, column) = (&mut self.kept[source], column as usize);
        if kept.len() <= column {
            kept.resize(column + 1, false);
        }
        kept[column] = true;
    }

    /// Adds a tick with what each source gave.
    pub(super) fn add(&mut self, tick: Tick, rows: Vec<Row>) {
        let mut rows = rows.into_iter();
        for (source, of_source) in self.rows.iter_mut().enumerate() {
            let row = rows.next().flatten();
            let kept = &self.kept[source];
            let value = |(column, value): (usize, &Option<u64>)| value.filter(|_| kept.get(column) == Some(&true));
            of_source.push(
                row.as_ref().map(|row| SourceRow {
                    took: row.took,
                    values: row.values.iter().enumerate().map(value).collect(),
                }),
            );
            self.newest[source] = row;
        }
        self.ticks.push(tick);
        self.taken += 1;
        if self.ticks.len() >= BLOCK {
            let block = self.open();
            self.sealed.push_back(block);
            self.ticks.clear();
            self.rows.iter_mut().for_each(Vec::clear);
        }
    }

    /// The rows that are no block yet, as one.
    fn open(&self) -> Block {
        let source = |(source, rows): (&String, &Vec<Row>)| {
            // The one place that knows how rows become columns. What it has packed it can unpack.
            let mut data = segment::decode(&segment::encode(rows)).ok()?;
            // Columns behind the last one that is kept need no room.
            let used = data.columns.iter().rposition(|column| *column != Column::Never).map_or(0, |last| last + 1);
            data.columns.truncate(used);
            data.columns.shrink_to_fit();
            Some(SourceBlock { source: source.clone(), data })
        };
        Block {
            first: self.taken - self.ticks.len() as u64,
            ticks: self.ticks.clone(),
            sources: self.sources.iter().zip(&self.rows).filter_map(source).collect(),
        }
    }

    pub(super) fn newest(&self) -> Option<Tick> {
        self.ticks.last().or_else(|| self.sealed.back()?.ticks.last()).copied()
    }

    /// What a column had at the newest tick.
    pub(super) fn value(&self, source: &str, column: u32) -> Option<u64> {
        let row = self.newest.get(self.source(source)?)?.as_ref()?;
        row.values.get(column as usize).copied().flatten()
    }

    /// The blocks with ticks between these instants, and the rows that are none yet.
    pub(super) fn blocks(&self, from: u64, to: u64) -> impl Iterator<Item = Block> {
        let lies_in = move |block: &&Block| {
            let ends = block.ticks.first().zip(block.ticks.last());
            ends.is_some_and(|(first, last)| first.begin <= to && last.begin >= from)
        };
        let open = (!self.ticks.is_empty()).then(|| self.open());
        self.sealed.iter().filter(lies_in).cloned().chain(open)
    }

    /// Forgets the oldest blocks as long as so many ticks are left. Gives the oldest instant when some were forgotten.
    pub(super) fn forget(&mut self, most: usize) -> Option<u64> {
        let before = self.sealed.len();
        while self.sealed.len() > 1 && (self.sealed.len() - 1) * BLOCK + self.ticks.len() >= most {
            self.sealed.pop_front();
        }
        let oldest = self.sealed.front()?.ticks.first()?.begin;
        (self.sealed.len() < before).then_some(oldest)
    }
}
