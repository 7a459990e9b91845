//! A source as a table: a row per instant it was read, a column per series.

use super::Selection;
use crate::recording::{Recorded, Series};

/// A row: when, and one raw value per series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// CLOCK_BOOTTIME in nanoseconds.
    pub at: u64,
    /// Nanoseconds since 1970, by the wall clock of that moment.
    pub wall: i64,
    /// As the recording holds them.
    pub values: Vec<Option<u64>>,
}

/// All of one source.
#[derive(Clone, Debug)]
pub struct SourceTable {
    /// Its name.
    pub source: String,
    /// What the columns are.
    pub series: Vec<Series>,
    /// In order of time.
    pub rows: Vec<Row>,
}

/// A table per source that has a selected series.
///
/// # Errors
/// When the recording cannot be read.
pub fn source_tables<R: Recorded>(recorded: &R, selection: &Selection) -> Result<Vec<SourceTable>, R::Error> {
    let mut tables: Vec<SourceTable> = Vec::new();
    for series in recorded.series().iter().filter(|series| selection.takes(series)) {
        match tables.iter_mut().find(|table| table.source == series.source) {
            Some(table) => table.series.push(series.clone()),
            None => {
                let (source, series) = (series.source.clone(), vec![series.clone()]);
                tables.push(SourceTable { source, series, rows: Vec::new() });
            }
        }
    }
    for block in recorded.blocks() {
        let block = block?;
        for table in &mut tables {
            let Some(source) = block.sources.iter().find(|source| source.source == table.source) else { continue };
            let read = block.ticks.iter().zip(&source.data.took).filter(|(_, took)| took.is_some());
            for (reading, (tick, _)) in read.enumerate().filter(|(_, (tick, _))| selection.holds(tick.begin)) {
                let value = |series: &Series| source.data.columns.get(series.column as usize)?.at(reading);
                let wall = tick.wall_offset.saturating_add_unsigned(tick.begin);
                table.rows.push(Row { at: tick.begin, wall, values: table.series.iter().map(value).collect() });
            }
        }
    }
    Ok(tables)
}
