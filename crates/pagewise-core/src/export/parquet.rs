//! Apache Parquet, written by hand: flat tables, one page per column and row group, plain encoding, no dictionary.
//!
//! The `parquet` crate was tried: twelve more dependencies and 1.3 MB of program, most of it for reading and nesting that is
//! not needed here. What a flat table needs is the page layout and thrift's compact protocol (parquet.thrift and
//! Encodings.md of apache/parquet-format 2.11). Names below are those of parquet.thrift.

use super::csv::unit_word;
use super::{Row, SourceTable};
use crate::metric::Unit;
use crate::recording::{Kind, RawUnit, Series};

/// How pages are compressed: by the caller, since core has no compressor. Must be zstd.
pub type Compress<'a> = &'a dyn Fn(&[u8]) -> std::io::Result<Vec<u8>>;

/// Rows of a row group.
const GROUP: usize = 1 << 16;

const MAGIC: &[u8; 4] = b"PAR1";
const ZSTD: i64 = 6;
const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// A table as one file: `ts` in microseconds UTC, then a column per series in base units: whole numbers where the unit is
/// whole (bytes, counts, pages), doubles where it is not (seconds, fractions). Absent values are null. The units stand in
/// the file's metadata as `pagewise.unit.COLUMN`.
///
/// # Errors
/// When compressing fails.
pub fn write(table: &SourceTable, about: &[(String, String)], compress: Compress<'_>) -> std::io::Result<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    let columns = columns(table);
    let mut groups = Vec::new();
    for rows in table.rows.chunks(GROUP) {
        let mut chunks = Vec::with_capacity(columns.len());
        for column in &columns {
            chunks.push(column.chunk(rows, &mut out, compress)?);
        }
        groups.push((chunks, rows.len()));
    }
    let mut about = about.to_vec();
    about.extend(columns.iter().filter_map(|column| {
        let (place, _) = column.series?;
        Some((format!("pagewise.unit.{}", column.name), unit_word(&table.series[place]).to_owned()))
    }));
    let footer = footer(&columns, &groups, table.rows.len(), &about);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&u32::try_from(footer.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(MAGIC);
    Ok(out)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Timestamp,
    Unsigned,
    Signed,
    Double,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: Type,
    /// `None`: the timestamp.
    series: Option<(usize, f64)>,
}

/// A written column of a row group.
struct Chunk {
    offset: usize,
    values: usize,
    plain_size: usize,
    size: usize,
}

fn columns(table: &SourceTable) -> Vec<Column> {
    let mut all = vec![Column { name: "ts".to_owned(), kind: Type::Timestamp, series: None }];
    for (place, series) in table.series.iter().enumerate() {
        let name = match series.labels.as_str() {
            "" => series.name.clone(),
            labels => format!("{}{{{labels}}}", series.name),
        };
        let name = if all.iter().any(|other| other.name == name) { format!("{name}#{place}") } else { name };
        let (_, scale) = series.unit.map_or((Unit::Count, 1.0), RawUnit::scale);
        let kind = kind_of(series, place, scale, &table.rows);
        all.push(Column { name, kind, series: Some((place, scale)) });
    }
    all
}

/// A column of which a value would not fit into 64 bits is one of doubles.
fn kind_of(series: &Series, place: usize, scale: f64, rows: &[Row]) -> Type {
    if scale != scale.trunc() {
        return Type::Double;
    }
    let kind = if series.kind == Kind::Counter { Type::Unsigned } else { Type::Signed };
    let fits = |value: u64| match kind {
        Type::Unsigned => value.checked_mul(scale as u64).is_some(),
        _ => value.cast_signed().checked_mul(scale as i64).is_some(),
    };
    if rows.iter().filter_map(|row| row.values[place]).all(fits) { kind } else { Type::Double }
}

impl Column {
    fn bytes_of(&self, value: u64, scale: f64, series_is_counter: bool) -> [u8; 8] {
        match self.kind {
            Type::Unsigned => value.wrapping_mul(scale as u64).to_le_bytes(),
            Type::Signed | Type::Timestamp => value.cast_signed().wrapping_mul(scale as i64).to_le_bytes(),
            Type::Double => {
                let value = if series_is_counter { value as f64 } else { value.cast_signed() as f64 };
                let scaled = if scale < 1.0 { value / (1.0 / scale).round() } else { value * scale };
                scaled.to_le_bytes()
            }
        }
    }

    /// One page: levels of presence (for columns that may be null), then the values.
    fn chunk(&self, rows: &[Row], out: &mut Vec<u8>, compress: Compress<'_>) -> std::io::Result<Chunk> {
        let mut page = Vec::new();
        match self.series {
            None => rows.iter().for_each(|row| page.extend_from_slice(&(row.wall.div_euclid(1000)).to_le_bytes())),
            Some((place, scale)) => {
                let levels = levels(rows.iter().map(|row| row.values[place].is_some()));
                page.extend_from_slice(&u32::try_from(levels.len()).unwrap_or(u32::MAX).to_le_bytes());
                page.extend_from_slice(&levels);
                let is_counter = self.kind == Type::Unsigned;
                let values = rows.iter().filter_map(|row| row.values[place]);
                values.for_each(|value| page.extend_from_slice(&self.bytes_of(value, scale, is_counter)));
            }
        }
        let packed = compress(&page)?;
        let mut header = Thrift::default();
        header.i32(1, 0);
        header.i32(2, page.len() as i64);
        header.i32(3, packed.len() as i64);
        header.open(5);
        header.i32(1, rows.len() as i64);
        header.i32(2, PLAIN);
        header.i32(3, RLE);
        header.i32(4, RLE);
        header.close();
        let header = header.end();
        let offset = out.len();
        out.extend_from_slice(&header);
        out.extend_from_slice(&packed);
        let (plain_size, size) = (header.len() + page.len(), header.len() + packed.len());
        Ok(Chunk { offset, values: rows.len(), plain_size, size })
    }
}

/// Runs of the RLE/bit-packing hybrid, one bit wide.
fn levels(present: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut run: Option<(bool, u64)> = None;
    let mut put = |(value, length): (bool, u64)| {
        varint(&mut out, length << 1);
        out.push(u8::from(value));
    };
    for value in present {
        run = match run {
            Some((same, length)) if same == value => Some((same, length + 1)),
            other => {
                other.into_iter().for_each(&mut put);
                Some((value, 1))
            }
        };
    }
    run.into_iter().for_each(&mut put);
    out
}

fn footer(columns: &[Column], groups: &[(Vec<Chunk>, usize)], rows: usize, about: &[(String, String)]) -> Vec<u8> {
    let mut meta = Thrift::default();
    meta.i32(1, 2);
    meta.list(2, STRUCT, columns.len() + 1);
    meta.element();
    meta.string(4, "recording");
    meta.i32(5, columns.len() as i64);
    meta.close();
    for column in columns {
        schema_element(&mut meta, column);
    }
    meta.i64(3, rows as i64);
    meta.list(4, STRUCT, groups.len());
    for (chunks, rows) in groups {
        meta.element();
        meta.list(1, STRUCT, chunks.len());
        for (column, chunk) in columns.iter().zip(chunks) {
            column_chunk(&mut meta, column, chunk);
        }
        meta.i64(2, chunks.iter().map(|chunk| chunk.plain_size as i64).sum());
        meta.i64(3, *rows as i64);
        meta.close();
    }
    meta.list(5, STRUCT, about.len());
    for (key, value) in about {
        meta.element();
        meta.string(1, key);
        meta.string(2, value);
        meta.close();
    }
    meta.string(6, "pagewise");
    meta.end()
}

fn schema_element(meta: &mut Thrift, column: &Column) {
    const INT64: i64 = 2;
    const DOUBLE: i64 = 5;
    const REQUIRED: i64 = 0;
    const OPTIONAL: i64 = 1;
    meta.element();
    meta.i32(1, if column.kind == Type::Double { DOUBLE } else { INT64 });
    meta.i32(3, if column.series.is_none() { REQUIRED } else { OPTIONAL });
    meta.string(4, &column.name);
    match column.kind {
        Type::Timestamp => {
            meta.i32(6, 10);
            meta.open(10);
            meta.open(8);
            meta.bool(1, true);
            meta.open(2);
            meta.open(2);
            meta.close();
            meta.close();
            meta.close();
            meta.close();
        }
        Type::Unsigned => {
            meta.i32(6, 14);
            meta.open(10);
            meta.open(10);
            meta.byte(1, 64);
            meta.bool(2, false);
            meta.close();
            meta.close();
        }
        Type::Signed | Type::Double => {}
    }
    meta.close();
}

fn column_chunk(meta: &mut Thrift, column: &Column, chunk: &Chunk) {
    meta.element();
    meta.i64(2, 0);
    meta.open(3);
    meta.i32(1, if column.kind == Type::Double { 5 } else { 2 });
    meta.list(2, I32, 2);
    meta.bare(PLAIN);
    meta.bare(RLE);
    meta.list(3, BINARY, 1);
    meta.bare_string(&column.name);
    meta.i32(4, ZSTD);
    meta.i64(5, chunk.values as i64);
    meta.i64(6, chunk.plain_size as i64);
    meta.i64(7, chunk.size as i64);
    meta.i64(9, chunk.offset as i64);
    meta.close();
    meta.close();
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Thrift's compact protocol: fields by their distance to the one before, numbers folded and in seven bits a byte.
#[derive(Default)]
struct Thrift {
    out: Vec<u8>,
    last: i16,
    outer: Vec<i16>,
}

impl Thrift {
    fn field(&mut self, id: i16, kind: u8) {
        // Ids of parquet.thrift grow by less than sixteen.
        self.out.push(((id - self.last) as u8) << 4 | kind);
        self.last = id;
    }

    fn bare(&mut self, value: i64) {
        varint(&mut self.out, ((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn bare_string(&mut self, text: &str) {
        varint(&mut self.out, text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    fn i32(&mut self, id: i16, value: i64) {
        self.field(id, I32);
        self.bare(value);
    }

    fn i64(&mut self, id: i16, value: i64) {
        self.field(id, I64);
        self.bare(value);
    }

    fn byte(&mut self, id: i16, value: u8) {
        self.field(id, 3);
        self.out.push(value);
    }

    fn bool(&mut self, id: i16, value: bool) {
        self.field(id, if value { 1 } else { 2 });
    }

    fn string(&mut self, id: i16, text: &str) {
        self.field(id, BINARY);
        self.bare_string(text);
    }

    fn list(&mut self, id: i16, of: u8, length: usize) {
        self.field(id, LIST);
        if length < 15 {
            self.out.push((length as u8) << 4 | of);
        } else {
            self.out.push(0xf0 | of);
            varint(&mut self.out, length as u64);
        }
    }

    /// A struct as a field.
    fn open(&mut self, id: i16) {
        self.field(id, STRUCT);
        self.element();
    }

    /// A struct as an element of a list.
    fn element(&mut self) {
        self.outer.push(std::mem::take(&mut self.last));
    }

    fn close(&mut self) {
        self.out.push(0);
        self.last = self.outer.pop().unwrap_or(0);
    }

    fn end(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
