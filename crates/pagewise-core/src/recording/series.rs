//! One recorded number: where it comes from, its unit, and how far it grew.

use crate::counter;
pub use crate::counter::{Kind, RawUnit};
use std::fmt;

/// One recorded number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The source it comes from, such as `vmstat`.
    pub source: String,
    /// Its column within the source. Columns are numbered as they appear and never change or go away.
    pub column: u32,
    /// The kernel's name for it.
    pub name: String,
    /// What tells it from others of its name: `node=0,zone=DMA`. Empty when nothing does.
    pub labels: String,
    /// `None` for a unit of a newer version.
    pub unit: Option<RawUnit>,
    /// Whether it only grows.
    pub kind: Kind,
    /// When it was first read, CLOCK_BOOTTIME in nanoseconds.
    pub first_seen: u64,
}

impl Series {
    /// Whether the catalogue has a quantity that it is a part of: what watches and judges needs no other.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        counter::is_wanted(&self.source, &self.name, &self.labels)
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.labels.as_str() {
            "" => write!(f, "{}.{}", self.source, self.name),
            labels => write!(f, "{}.{}{{{labels}}}", self.source, self.name),
        }
    }
}

/// What a running total grew by. `None` when it fell: it was reset, or is another thing of the same name by now, and how
/// far it grew since nobody knows. A total that passed 2^64 went on from zero.
#[must_use]
pub fn growth(before: u64, now: u64) -> Option<u64> {
    const HALF: u64 = 1 << 63;
    let grown = now.wrapping_sub(before);
    (now >= before || (before >= HALF && grown < HALF)).then_some(grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_was_reset_has_no_growth_and_one_that_wrapped_has() {
        assert_eq!(growth(5, 9), Some(4));
        assert_eq!(growth(5, 5), Some(0));
        assert_eq!(growth(1000, 3), None);
        assert_eq!(growth(u64::MAX - 1, 2), Some(4));
    }
}
