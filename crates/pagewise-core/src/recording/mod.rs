//! What was seen during a stretch of time: numbers by the kernel's own names, when each was read, and what was not seen.
//!
//! The way of a sample: the host reads kernel files into a row of numbers per source ([`series`] says what each number
//! is), [`tick`] turns the row into a few hundred bytes against the row before, [`segment`] packs 300 rows column by
//! column, and [`block`] is what analysis sees of either. Whatever is missing is a [`gap`] with its reason, never a zero.

pub mod block;
pub mod gap;
pub mod segment;
pub mod series;
pub mod tick;
mod varint;

pub use block::{Block, Recorded, SourceBlock};
pub use gap::{Gap, GapReason};
pub use segment::Column;
pub use series::{Kind, RawUnit, Series};
pub use varint::CodecError;
