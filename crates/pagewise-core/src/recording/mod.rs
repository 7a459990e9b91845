//! What was seen during a stretch of time: numbers by the kernel's own names, when each was read, and what was not seen.
//!
//! The way of a sample: the host reads kernel files into a row of numbers per source ([`series`] says what each number
//! is), [`tick`] turns the row into a few hundred bytes against the row before, [`segment`] packs 300 rows column by
//! column, and [`block`] is what analysis sees of either. [`stack`] and [`stall`] say where CPUs were and what held tasks
//! up, where that was recorded, too, [`process`] which processes used most, and [`cached`] which files
//! took the page cache; [`part`] is a stretch of it all. Whatever is
//! missing is a [`gap`] with its reason, never a zero.

pub mod block;
pub mod cached;
pub mod gap;
pub mod note;
pub mod part;
pub mod process;
pub mod segment;
pub mod series;
pub mod stack;
pub mod stall;
pub mod stall_events;
pub mod tick;
mod varint;
mod wall_clock;

pub use block::{Block, Recorded, SourceBlock};
pub use cached::{CACHED_FILES, CachedFile};
pub use gap::{Gap, GapReason};
pub use note::{FREE_PAGE_REPORTING, Mark, Setting};
pub use part::Part;
pub use process::{ProcessRow, ProcessSum, ProcessUsage, UsageGrowth, Walk};
pub use segment::Column;
pub use series::{Kind, RawUnit, Series};
pub use stack::{Frame, Profile, SamplingEvent, StackId, StackSample, Stacks};
pub use stall::{Durations, FIRST_UNNAMED, StallKind, StallRow};
pub use varint::CodecError;
pub use wall_clock::WallClock;
