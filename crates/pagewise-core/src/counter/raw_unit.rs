//! How kernel files count: running totals and levels, in units of their own.

use crate::unit::Unit;

/// How a number moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A running total, unsigned 64 bits. Only growth between two samples means anything.
    Counter,
    /// A level, signed 64 bits.
    Gauge,
}

impl Kind {
    /// As the recording file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Kind> {
        [Kind::Counter, Kind::Gauge].into_iter().find(|kind| kind.word() == word)
    }
}

/// The unit a kernel file counts in. Numbers are kept as the file gives them; [`RawUnit::scale`] leads to the unit of
/// the rest of Pagewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawUnit {
    /// Events or things.
    Count,
    /// Base pages.
    Pages,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    KiB,
    /// Clock ticks of `USER_HZ`, a hundredth of a second on every architecture Linux supports today.
    Ticks,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻⁹ s.
    Nanoseconds,
    /// A hundredth of a whole, as other tools print shares.
    Percent,
    /// A hundredth of a percent: a share that was printed with two decimals.
    PercentHundredths,
    /// A hundredth of an event: a rate that was printed with two decimals.
    Hundredths,
    /// A hundredth of a base page: likewise.
    PageHundredths,
}

const RAW_UNITS: [RawUnit; 11] = [
    RawUnit::Count,
    RawUnit::Pages,
    RawUnit::Bytes,
    RawUnit::KiB,
    RawUnit::Ticks,
    RawUnit::Microseconds,
    RawUnit::Nanoseconds,
    RawUnit::Percent,
    RawUnit::PercentHundredths,
    RawUnit::Hundredths,
    RawUnit::PageHundredths,
];

impl RawUnit {
    /// As the recording file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RawUnit::Count => "count",
            RawUnit::Pages => "pages",
            RawUnit::Bytes => "bytes",
            RawUnit::KiB => "KiB",
            RawUnit::Ticks => "ticks",
            RawUnit::Microseconds => "us",
            RawUnit::Nanoseconds => "ns",
            RawUnit::Percent => "%",
            RawUnit::PercentHundredths => "0.01%",
            RawUnit::Hundredths => "0.01",
            RawUnit::PageHundredths => "0.01 pages",
        }
    }

    /// The unit of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<RawUnit> {
        RAW_UNITS.into_iter().find(|unit| unit.word() == word)
    }

    /// The unit to show it in, and what to multiply by to get there.
    #[must_use]
    pub const fn scale(self) -> (Unit, f64) {
        match self {
            RawUnit::Count => (Unit::Count, 1.0),
            RawUnit::Pages => (Unit::Pages, 1.0),
            RawUnit::Bytes => (Unit::Bytes, 1.0),
            RawUnit::KiB => (Unit::Bytes, 1024.0),
            RawUnit::Ticks => (Unit::Seconds, 1e-2),
            RawUnit::Microseconds => (Unit::Seconds, 1e-6),
            RawUnit::Nanoseconds => (Unit::Seconds, 1e-9),
            RawUnit::Percent => (Unit::Fraction, 1e-2),
            RawUnit::PercentHundredths => (Unit::Fraction, 1e-4),
            RawUnit::Hundredths => (Unit::Count, 1e-2),
            RawUnit::PageHundredths => (Unit::Pages, 1e-2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_the_file_come_back() {
        assert!(RAW_UNITS.iter().all(|unit| RawUnit::from_word(unit.word()) == Some(*unit)));
        assert_eq!(Kind::from_word("counter"), Some(Kind::Counter));
        assert_eq!(RawUnit::from_word("furlongs"), None);
    }
}
