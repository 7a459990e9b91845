//! One tick as bytes: what changed against the tick before.
//!
//! A row has a section per source, in the order of the sources, and ends with the last source that was read:
//!
//! ```text
//! section  = mark [took [width present] changed difference*]
//! mark     = 0 not read at this tick (nothing follows) · bit 0 read · bit 1 key · bit 2 width and presence follow
//! took     = how long reading took, in µs
//! width    = number of columns              present = a bit per column: whether the file had it
//! changed  = a bit per column               difference = to the value before, for each set bit, in column order
//! ```
//!
//! Numbers are LEB128, differences zig-zag folded and taken modulo 2^64. In a key section the values before are all
//! zero, so that reading can start there; every 60th row asks each source for one. A column that is absent is
//! remembered as zero. On an idle host most of the bytes are the two bitmaps: 107 of 1,006 columns change in a second.

use super::varint::{CodecError, VarintReader, put, put_bits, put_difference};

/// Every this many rows, each source starts anew.
pub const KEY_EVERY: u32 = 60;

const READ: u8 = 1;
const KEY: u8 = 2;
const SHAPE: u8 = 4;

/// What one source gave at one tick.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// How long reading it took, in µs.
    pub took: u32,
    /// Its columns. An absent one may hold anything.
    pub values: &'a [u64],
    /// Whether the file had each column.
    pub present: &'a [bool],
}

/// A decoded section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRow {
    /// How long reading it took, in µs.
    pub took: u32,
    /// Its columns; `None` where the file did not have one.
    pub values: Vec<Option<u64>>,
}

#[derive(Clone, Debug, Default)]
struct PreviousTick {
    values: Vec<u64>,
    present: Vec<bool>,
    /// Set when the next section must not build on this.
    needs_key: bool,
}

/// Whether decoding can start at this row: its first source, which is read at every tick, starts anew in it.
#[must_use]
pub fn is_key(row: &[u8]) -> bool {
    row.first().is_some_and(|mark| mark & KEY != 0)
}

/// Writes rows one after the other.
#[derive(Debug)]
pub struct TickEncoder {
    sources: Vec<PreviousTick>,
    next: usize,
    rows_since_key: u32,
}

impl TickEncoder {
    /// For so many sources. The first row is a key row.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        TickEncoder { sources: vec![PreviousTick::default(); sources], next: 0, rows_since_key: KEY_EVERY }
    }

    /// The next row must not build on the last one: it was lost on its way.
    pub fn restart(&mut self) {
        self.rows_since_key = KEY_EVERY;
    }

    /// Begins a row.
    pub fn begin(&mut self) {
        if self.rows_since_key >= KEY_EVERY {
            self.rows_since_key = 0;
            self.sources.iter_mut().for_each(|source| source.needs_key = true);
        }
        self.rows_since_key += 1;
        self.next = 0;
    }

    /// Appends the section of the next source; `None` when it was not read at this tick. Sections beyond the number of
    /// sources given at first are not written.
    pub fn section(&mut self, out: &mut Vec<u8>, reading: Option<Reading<'_>>) {
        let Some(before) = self.sources.get_mut(self.next) else { return };
        self.next += 1;
        let Some(reading) = reading else {
            out.push(0);
            return;
        };
        let width = reading.values.len().min(reading.present.len());
        let (values, present) = (&reading.values[..width], &reading.present[..width]);
        let is_key = before.needs_key;
        if is_key {
            before.values.clear();
            before.present.clear();
            before.needs_key = false;
        }
        let has_shape = is_key || before.present != present;
        out.push(READ | if is_key { KEY } else { 0 } | if has_shape { SHAPE } else { 0 });
        put(out, u64::from(reading.took));
        if has_shape {
            put(out, width as u64);
            put_bits(out, present.iter().copied());
            before.values.resize(width, 0);
            before.present.clear();
            before.present.extend_from_slice(present);
        }
        let now = |column: usize| if present[column] { values[column] } else { 0 };
        put_bits(out, (0..width).map(|column| now(column) != before.values[column]));
        for column in 0..width {
            let value = now(column);
            if value != before.values[column] {
                put_difference(out, before.values[column], value);
                before.values[column] = value;
            }
        }
    }
}

/// Reads rows one after the other.
#[derive(Debug, Default)]
pub struct TickDecoder {
    sources: Vec<Option<PreviousTick>>,
}

impl TickDecoder {
    /// Starts at a key row.
    #[must_use]
    pub fn new() -> Self {
        TickDecoder::default()
    }

    /// The sections of one row, `None` for a source that was not read.
    ///
    /// # Errors
    /// When these are not the bytes of a row, or the row it builds on was not decoded before. The decoder then needs a
    /// key row to go on.
    pub fn decode(&mut self, row: &[u8]) -> Result<Vec<Option<SourceRow>>, CodecError> {
        let decoded = self.decode_sections(row);
        if decoded.is_err() {
            self.sources.clear();
        }
        decoded
    }

    fn decode_sections(&mut self, row: &[u8]) -> Result<Vec<Option<SourceRow>>, CodecError> {
        let mut take = VarintReader(row);
        let mut sections = Vec::new();
        while !take.0.is_empty() {
            let index = sections.len();
            if self.sources.len() <= index {
                self.sources.resize(index + 1, None);
            }
            sections.push(section(&mut take, &mut self.sources[index])?);
        }
        Ok(sections)
    }
}

fn section(take: &mut VarintReader<'_>, before: &mut Option<PreviousTick>) -> Result<Option<SourceRow>, CodecError> {
    let mark = take.byte()?;
    if mark == 0 {
        return Ok(None);
    }
    if mark & READ == 0 || mark & !(READ | KEY | SHAPE) != 0 || (mark & KEY != 0 && mark & SHAPE == 0) {
        return Err(CodecError::UnknownMark(mark));
    }
    let took = u32::try_from(take.number()?).unwrap_or(u32::MAX);
    if mark & KEY != 0 {
        *before = Some(PreviousTick::default());
    }
    let before = before.as_mut().ok_or(CodecError::NoKey)?;
    if mark & SHAPE != 0 {
        let width = usize::try_from(take.number()?).map_err(|_| CodecError::CutShort)?;
        // The presence bits must be there before memory for the columns is taken: bytes bound what a claim may cost.
        let present = take.bits(width)?;
        before.values.resize(width, 0);
        before.present.clear();
        before.present.extend((0..width).map(|column| present.at(column)));
    }
    let changed = take.bits(before.values.len())?;
    for (column, value) in before.values.iter_mut().enumerate() {
        if changed.at(column) {
            *value = take.difference(*value)?;
        }
    }
    let values = before.values.iter().zip(&before.present).map(|(value, present)| present.then_some(*value)).collect();
    Ok(Some(SourceRow { took, values }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Row = Vec<Option<SourceRow>>;

    fn hostile_value() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![
            Just(None),
            Just(Some(0)),
            Just(Some(u64::MAX)),
            Just(Some(1 << 63)),
            (0..300u64).prop_map(Some),
            any::<u64>().prop_map(Some),
        ]
    }

    /// Columns appear, go away and come back; sources are read, left out, and change their width.
    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let source = prop::option::weighted(
            0.8,
            (any::<u32>(), prop::collection::vec(hostile_value(), 0..20))
                .prop_map(|(took, values)| SourceRow { took, values }),
        );
        prop::collection::vec(prop::collection::vec(source, 3..=3), 1..150)
    }

    fn encode(encoder: &mut TickEncoder, row: &Row) -> Vec<u8> {
        let mut out = Vec::new();
        encoder.begin();
        for section in row {
            let cells = section.as_ref().map(|section| {
                let values: Vec<u64> = section.values.iter().map(|value| value.unwrap_or(77)).collect();
                let present: Vec<bool> = section.values.iter().map(Option::is_some).collect();
                (section.took, values, present)
            });
            let reading = cells.as_ref().map(|(took, values, present)| Reading { took: *took, values, present });
            encoder.section(&mut out, reading);
        }
        out
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(rows in rows()) {
            let (mut encoder, mut decoder) = (TickEncoder::new(3), TickDecoder::new());
            for row in &rows {
                prop_assert_eq!(&decoder.decode(&encode(&mut encoder, row)).unwrap(), row);
            }
        }

        #[test]
        fn reading_can_start_at_every_key_row_and_after_a_restart(rows in rows(), restart in 0usize..150) {
            let mut encoder = TickEncoder::new(3);
            let mut encoded = Vec::new();
            for (index, row) in rows.iter().enumerate() {
                if index == restart {
                    encoder.restart();
                }
                encoded.push(encode(&mut encoder, row));
            }
            let start = restart.min(rows.len() - 1);
            let start = if start == restart { start } else { 0 };
            let mut decoder = TickDecoder::new();
            for (row, bytes) in rows.iter().zip(&encoded).skip(start) {
                prop_assert_eq!(&decoder.decode(bytes).unwrap(), row);
            }
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..5)) {
            let mut decoder = TickDecoder::new();
            for row in rows {
                let _ = decoder.decode(&row);
            }
        }

        #[test]
        fn neither_does_a_row_that_was_cut_or_bent(rows in rows(), cut in 0usize..100, at in 0usize..100, bit in 0u8..8) {
            let (mut encoder, mut decoder) = (TickEncoder::new(3), TickDecoder::new());
            for row in &rows {
                let mut bytes = encode(&mut encoder, row);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
                bytes.truncate(bytes.len().saturating_sub(cut % 7));
                let _ = decoder.decode(&bytes);
            }
        }
    }

    #[test]
    fn a_row_without_its_key_is_refused_rather_than_guessed() {
        let row = vec![Some(SourceRow { took: 1, values: vec![Some(5), Some(6)] })];
        let mut encoder = TickEncoder::new(1);
        let key = encode(&mut encoder, &row);
        let second = encode(&mut encoder, &row);
        assert_eq!(TickDecoder::new().decode(&second), Err(CodecError::NoKey));
        let mut decoder = TickDecoder::new();
        decoder.decode(&key).unwrap();
        assert!(decoder.decode(&key[..3]).is_err());
        assert_eq!(decoder.decode(&second), Err(CodecError::NoKey), "a damaged row must not be built on");
    }

    #[test]
    fn an_unchanged_row_is_two_bytes_and_a_bitmap() {
        let row = vec![Some(SourceRow { took: 9, values: vec![Some(123_456_789); 800] })];
        let mut encoder = TickEncoder::new(1);
        encode(&mut encoder, &row);
        assert_eq!(encode(&mut encoder, &row).len(), 2 + 100);
    }
}
