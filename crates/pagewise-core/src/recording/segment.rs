//! Many ticks of one source as bytes, column by column.
//!
//! The same numbers packed by column are half as long again as packed by tick: most columns never change and cost two
//! bytes for the whole segment, and those that do change look like themselves. The host compresses the result.
//!
//! ```text
//! segment  = ticks width all-read [read] took* marks column-presence* firsts differences
//! ticks    = number of ticks                width    = number of columns
//! all-read = 1, or 0 and then a bit per tick: whether the source was read
//! took     = µs, for each tick it was read
//! marks    = a byte per column: 0 never there · 1 always there, one value · 2 always there · 3 there at times
//! column-presence = for each column marked 3: a bit per tick it was read
//! firsts   = for each column not marked 0: the first value, as a difference to zero
//! differences = column by column for those marked 2 and 3: each later value to the one before it in its column
//! ```
//!
//! Numbers and differences as in [`tick`](super::tick).

use super::tick::SourceRow;
use super::varint::{CodecError, VarintReader, put, put_bits, put_difference};
use std::ops::Range;

/// Ticks after which a segment is closed: five minutes at 1 Hz. From 60 ticks on, longer segments gain little.
pub const TICKS: usize = 300;

/// No recording has more numbers in one segment; 256 CPUs on 8 nodes have about 3 million.
const MOST_CELLS: u64 = 1 << 25;

const NEVER: u8 = 0;
const CONSTANT: u8 = 1;
const ALWAYS: u8 = 2;
const AT_TIMES: u8 = 3;

/// One series over the ticks of a segment at which its source was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// The file never had it.
    Never,
    /// It was there and did not change.
    Constant(u64),
    /// It was there each time.
    Always(Vec<u64>),
    /// It was there at times.
    AtTimes(Vec<Option<u64>>),
}

impl Column {
    /// The value at the `reading`-th time the source was read.
    #[must_use]
    pub fn at(&self, reading: usize) -> Option<u64> {
        match self {
            Column::Never => None,
            Column::Constant(value) => Some(*value),
            Column::Always(values) => values.get(reading).copied(),
            Column::AtTimes(values) => values.get(reading).copied().flatten(),
        }
    }
}

/// A decoded segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// For each tick, how long reading took in µs; `None` when the source was not read.
    pub took: Vec<Option<u32>>,
    /// Its columns. A reading's position among the ticks that were read is the index into them.
    pub columns: Vec<Column>,
}

/// Packs the rows of one source, one per tick. Rows may differ in width: a column that a row does not reach was not there.
#[must_use]
pub fn encode(rows: &[Option<SourceRow>]) -> Vec<u8> {
    let read: Vec<&SourceRow> = rows.iter().flatten().collect();
    let width = read.iter().map(|row| row.values.len()).max().unwrap_or(0);
    let mut out = Vec::with_capacity(read.len() * width / 4 + width * 4 + 64);
    put(&mut out, rows.len() as u64);
    put(&mut out, width as u64);
    out.push(u8::from(read.len() == rows.len()));
    if read.len() != rows.len() {
        put_bits(&mut out, rows.iter().map(Option::is_some));
    }
    read.iter().for_each(|row| put(&mut out, u64::from(row.took)));
    let cell = |reading: usize, column: usize| read[reading].values.get(column).copied().flatten();
    let column_of = |column: usize| (0..read.len()).map(move |reading| cell(reading, column));
    let marks: Vec<u8> = (0..width).map(|column| mark(column_of(column))).collect();
    out.extend_from_slice(&marks);
    for column in (0..width).filter(|column| marks[*column] == AT_TIMES) {
        put_bits(&mut out, column_of(column).map(|value| value.is_some()));
    }
    let first = |column: usize| column_of(column).flatten().next();
    (0..width).filter_map(first).for_each(|value| put_difference(&mut out, 0, value));
    for column in (0..width).filter(|column| marks[*column] >= ALWAYS) {
        let mut values = column_of(column).flatten();
        let mut before = values.next().unwrap_or(0);
        for value in values {
            put_difference(&mut out, before, value);
            before = value;
        }
    }
    out
}

fn mark(values: impl Iterator<Item = Option<u64>>) -> u8 {
    let (mut some, mut none, mut changed, mut last) = (false, false, false, None);
    for value in values {
        match value {
            None => none = true,
            Some(value) => {
                changed |= last.is_some_and(|last| last != value);
                (some, last) = (true, Some(value));
            }
        }
    }
    match (some, none, changed) {
        (false, _, _) => NEVER,
        (true, true, _) => AT_TIMES,
        (true, false, true) => ALWAYS,
        (true, false, false) => CONSTANT,
    }
}

/// Unpacks them.
///
/// # Errors
/// When these are not the bytes of a segment.
pub fn decode(bytes: &[u8]) -> Result<Segment, CodecError> {
    let mut take = VarintReader(bytes);
    let (ticks, columns) = (take.number()?, take.number()?);
    // Beside this, memory is taken only for what is seen to follow.
    if ticks.saturating_mul(columns.max(1)) > MOST_CELLS || columns > MOST_CELLS {
        return Err(CodecError::TooLarge { columns, ticks });
    }
    let (ticks, width) = (ticks as usize, columns as usize);
    let read: Vec<bool> = match take.byte()? {
        // Each tick that was read is followed by at least a byte.
        1 if take.0.len() < ticks => return Err(CodecError::CutShort),
        1 => vec![true; ticks],
        0 => {
            let bits = take.bits(ticks)?;
            (0..ticks).map(|tick| bits.at(tick)).collect()
        }
        other => return Err(CodecError::UnknownMark(other)),
    };
    let mut took = Vec::with_capacity(ticks);
    for read in &read {
        took.push(if *read { Some(u32::try_from(take.number()?).unwrap_or(u32::MAX)) } else { None });
    }
    let readings = read.iter().filter(|read| **read).count();
    let marks = take.bytes(width)?;
    let at_times = marks.iter().filter(|mark| **mark == AT_TIMES);
    let presences = at_times.map(|_| take.bits(readings)).collect::<Result<Vec<_>, _>>()?;
    let mut presences = presences.into_iter();
    let mut heads = Vec::with_capacity(width);
    for mark in marks {
        let presence = if *mark == AT_TIMES { presences.next() } else { None };
        let is_there = presence.is_none_or(|presence| (0..readings).any(|reading| presence.at(reading)));
        let first = match *mark {
            NEVER => 0,
            CONSTANT | ALWAYS | AT_TIMES if is_there && readings > 0 => take.difference(0)?,
            CONSTANT | ALWAYS | AT_TIMES => 0,
            other => return Err(CodecError::UnknownMark(other)),
        };
        heads.push((*mark, presence, first));
    }
    let mut columns = Vec::with_capacity(width);
    for (mark, presence, first) in heads {
        columns.push(match (mark, presence) {
            (CONSTANT, _) if readings > 0 => Column::Constant(first),
            (ALWAYS, _) => Column::Always(later_values(&mut take, readings, first)?),
            (_, Some(presence)) => {
                let there = (0..readings).filter(|reading| presence.at(*reading)).count();
                let mut values = later_values(&mut take, there, first)?.into_iter();
                let value = |reading| if presence.at(reading) { values.next() } else { None };
                Column::AtTimes((0..readings).map(value).collect())
            }
            _ => Column::Never,
        });
    }
    take.end()?;
    Ok(Segment { took, columns })
}

fn later_values(take: &mut VarintReader<'_>, count: usize, first: u64) -> Result<Vec<u64>, CodecError> {
    if take.0.len() < count.saturating_sub(1) {
        return Err(CodecError::CutShort);
    }
    let mut values = Vec::with_capacity(count);
    let mut value = first;
    for index in 0..count {
        if index > 0 {
            value = take.difference(value)?;
        }
        values.push(value);
    }
    Ok(values)
}

impl Segment {
    /// What was read at these ticks alone.
    #[must_use]
    pub fn part(&self, ticks: Range<usize>) -> Segment {
        let took = self.took.get(ticks.clone()).unwrap_or_default().to_vec();
        let before = self.took.iter().take(ticks.start).flatten().count();
        let readings = before..before + took.iter().flatten().count();
        let column = |column: &Column| match column {
            Column::Constant(value) if !readings.is_empty() => Column::Constant(*value),
            Column::Always(values) => Column::Always(values.get(readings.clone()).unwrap_or_default().to_vec()),
            Column::AtTimes(values) => Column::AtTimes(values.get(readings.clone()).unwrap_or_default().to_vec()),
            Column::Never | Column::Constant(_) => Column::Never,
        };
        let columns = self.columns.iter().map(column).collect();
        Segment { took, columns }
    }

    /// The same numbers as rows, one per tick.
    #[must_use]
    pub fn rows(&self) -> Vec<Option<SourceRow>> {
        let mut reading = 0;
        let row = |took: &Option<u32>| {
            let took = (*took)?;
            let values = self.columns.iter().map(|column| column.at(reading)).collect();
            reading += 1;
            Some(SourceRow { took, values })
        };
        self.took.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(readings: usize) -> impl Strategy<Value = Vec<Option<u64>>> {
        let value = prop_oneof![0..5u64, any::<u64>(), Just(u64::MAX), Just(0)];
        prop_oneof![
            Just(vec![None; readings]),
            any::<u64>().prop_map(move |value| vec![Some(value); readings]),
            prop::collection::vec(value.clone().prop_map(Some), readings),
            prop::collection::vec(prop::option::of(value), readings),
        ]
    }

    fn rows() -> impl Strategy<Value = Vec<Option<SourceRow>>> {
        (0usize..40, 0usize..12).prop_flat_map(|(ticks, width)| {
            let columns = prop::collection::vec(column(ticks), width);
            let took = prop::collection::vec(prop::option::weighted(0.8, any::<u32>()), ticks);
            (columns, took).prop_map(|(columns, took)| {
                let row = |(tick, took): (usize, Option<u32>)| {
                    let values = columns.iter().map(|column| column[tick]).collect();
                    took.map(|took| SourceRow { took, values })
                };
                took.into_iter().enumerate().map(row).collect()
            })
        })
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(rows in rows()) {
            let segment = decode(&encode(&rows)).unwrap();
            prop_assert_eq!(segment.took.len(), rows.len());
            prop_assert_eq!(segment.rows(), rows);
        }

        #[test]
        fn a_part_has_the_rows_of_its_ticks(rows in rows(), from in 0usize..45, length in 0usize..45) {
            let segment = decode(&encode(&rows)).unwrap();
            let ticks = from.min(rows.len())..(from + length).min(rows.len());
            prop_assert_eq!(segment.part(ticks.clone()).rows(), segment.rows()[ticks].to_vec());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn neither_does_a_segment_that_was_cut_or_bent(rows in rows(), cut in 0usize..50, at in 0usize..200, bit in 0u8..8) {
            let mut bytes = encode(&rows);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            bytes.truncate(bytes.len().saturating_sub(cut % 9));
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn a_column_that_appears_midway_is_absent_before_and_not_zero() {
        let row = |values: &[u64]| Some(SourceRow { took: 3, values: values.iter().copied().map(Some).collect() });
        let rows = [row(&[1]), row(&[1]), row(&[2, 50]), None, row(&[2, 60])];
        let segment = decode(&encode(&rows)).unwrap();
        assert_eq!(segment.columns[1], Column::AtTimes(vec![None, None, Some(50), Some(60)]));
        assert_eq!(segment.took[3], None);
        assert_eq!(segment.columns[1].at(0), None);
    }

    #[test]
    fn a_claim_of_more_than_memory_holds_is_refused() {
        let mut bytes = Vec::new();
        put(&mut bytes, 1 << 40);
        put(&mut bytes, 1 << 40);
        bytes.push(1);
        assert!(matches!(decode(&bytes), Err(CodecError::TooLarge { .. })));
    }

    #[test]
    fn a_source_that_never_changes_costs_three_bytes_a_column_for_a_whole_segment() {
        let rows = vec![Some(SourceRow { took: 9, values: vec![Some(40); 700] }); TICKS];
        assert!(encode(&rows).len() <= 700 * 3 + TICKS + 16);
    }
}
