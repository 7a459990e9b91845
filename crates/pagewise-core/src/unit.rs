//! Quantities that must not be confused: bytes with pages, seconds with fractions.
//!
//! Parsing accepts what a person types (`64M`, `10m`, `2%`); printing is what a person reads at 80 columns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of memory or storage, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of base pages. Their size belongs to the machine and is given when they are turned into [`Bytes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pages(pub u64);

impl Pages {
    /// The same amount in bytes, for pages of `page_size` bytes.
    #[must_use]
    pub fn to_bytes(self, page_size: Bytes) -> Bytes {
        Bytes(self.0 * page_size.0)
    }
}

/// A length of time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// A part of a whole: 0.02 is two percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Fraction(pub f64);

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes held for a time: the integral of memory over the run.
    ByteSeconds,
    /// Base pages.
    Pages,
    /// A count of events.
    Count,
    /// A part of a whole, 0 to 1.
    Fraction,
    /// The user's own metric, in the unit the user named.
    Custom,
}

/// What was typed is not the quantity that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not {wanted}; write it like {example}")]
pub struct UnitError {
    given: String,
    wanted: &'static str,
    example: &'static str,
}

/// The binary suffixes and how many bytes each stands for, as the kernel's own `memparse` reads them.
const BINARY_SUFFIXES: [(&str, u64); 5] = [("", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

impl Bytes {
    /// As a person types it: `200M`, with the largest suffix that leaves a whole number.
    #[must_use]
    pub fn as_typed(self) -> String {
        let Bytes(bytes) = self;
        let divides = |(_, factor): &&(&str, u64)| bytes >= *factor && bytes % factor == 0;
        let (suffix, factor) = BINARY_SUFFIXES.iter().rev().find(divides).unwrap_or(&BINARY_SUFFIXES[0]);
        format!("{}{suffix}", bytes / factor)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { given: text.to_owned(), wanted: "a size", example: "64M, 4G or 65536" };
        let trimmed = text.trim();
        let digits_end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(digits_end);
        let suffix = suffix.to_ascii_uppercase();
        let suffix = suffix.trim_end_matches("IB").trim_end_matches('B');
        let factor = BINARY_SUFFIXES.iter().find(|(s, _)| *s == suffix).ok_or_else(error)?.1;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Bytes).ok_or_else(error);
        }
        let fractional: f64 = number.parse().map_err(|_| error())?;
        let bytes = fractional * factor as f64;
        if bytes.is_finite() && bytes >= 0.0 && bytes < u64::MAX as f64 {
            Ok(Bytes(bytes as u64))
        } else {
            Err(error())
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (suffix, factor) =
            BINARY_SUFFIXES.iter().rev().find(|(_, factor)| self.0 >= *factor).unwrap_or(&BINARY_SUFFIXES[0]);
        match (suffix, self.0 % factor) {
            (&"", _) => write!(f, "{} B", self.0),
            (suffix, 0) => write!(f, "{} {suffix}iB", self.0 / factor),
            (suffix, _) => write!(f, "{:.1} {suffix}iB", self.0 as f64 / *factor as f64),
        }
    }
}

/// Nothing here takes a hundred years; what does is a slip, and its sum would leave the range of a clock.
const LONGEST: f64 = 100.0 * 365.25 * 86_400.0;

impl FromStr for Seconds {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            given: text.to_owned(),
            wanted: "a length of time with its unit",
            example: "90s, 4m30s or 1.5h",
        };
        // A bare number is refused: 20 may be meant as minutes, and a budget of seconds would be a surprise.
        let mut units = [("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 1e-3)].iter();
        let (mut seconds, mut rest) = (0.0, text.trim());
        loop {
            let (number, behind) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(error)?);
            let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
            // Each unit is smaller than the one before it.
            let (_, factor) = units.find(|(unit, _)| *unit == &behind[..end]).ok_or_else(error)?;
            let number: f64 = number.trim().parse().ok().filter(|number| *number >= 0.0).ok_or_else(error)?;
            seconds += number * factor;
            rest = behind[end..].trim_start();
            if rest.is_empty() {
                break;
            }
        }
        if (0.0..=LONGEST).contains(&seconds) { Ok(Seconds(seconds)) } else { Err(error()) }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0;
        if s < 0.0995 {
            write!(f, "{:.1} ms", s * 1e3)
        } else if s < 99.95 {
            write!(f, "{s:.2} s")
        } else if s < 3600.0 {
            write!(f, "{}m{:02}s", (s / 60.0) as u64, (s % 60.0) as u64)
        } else {
            write!(f, "{}h{:02}m", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64)
        }
    }
}

impl FromStr for Fraction {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { given: text.to_owned(), wanted: "a percentage", example: "2% or 0.02" };
        let trimmed = text.trim();
        let (number, divisor) = match trimmed.strip_suffix('%') {
            Some(number) => (number, 100.0),
            None => (trimmed, 1.0),
        };
        let number: f64 = number.trim().parse().map_err(|_| error())?;
        if number.is_finite() { Ok(Fraction(number / divisor)) } else { Err(error()) }
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        if percent == percent.trunc() { write!(f, "{percent:.0}%") } else { write!(f, "{percent:.1}%") }
    }
}

/// A share as people type it for an option: a percentage with its sign, from 0% to less than 100%. A bare number is refused: 3 may
/// be meant as three percent, and 0.5 as half of one.
///
/// # Errors
/// For anything else.
pub fn share(text: &str) -> Result<Fraction, String> {
    let wrong = |why: &str| Err(format!("'{}' {why}; write it like 3%", text.escape_debug()));
    match text.parse() {
        Err(_) => wrong("is not a percentage"),
        Ok(Fraction(_)) if !text.trim_end().ends_with('%') => wrong("has no percent sign"),
        Ok(Fraction(share)) if !(0.0..1.0).contains(&share) => wrong("is not between 0 % and 100 %"),
        Ok(share) => Ok(share),
    }
}

/// A level of significance as people type it: `0.05` or `5%`, above 0 and below a half.
///
/// # Errors
/// For anything else.
pub fn significance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(Fraction(alpha)) if alpha > 0.0 && alpha < 0.5 => Ok(alpha),
        _ => Err(format!("alpha is {}; write a number above 0 and below 0.5, like 0.05 or 5%", text.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_the_kernel_reads_them() {
        for (text, bytes) in
            [("64M", 64 << 20), ("4g", 4 << 30), ("512", 512), ("1.5K", 1536), ("64KiB", 65536), ("2GB", 2 << 30)]
        {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "M", "-1", "4X", "99999999999T", "1e400", "NaN"] {
            assert!(text.parse::<Bytes>().is_err(), "{text} is not a size");
        }
    }

    #[test]
    fn a_size_as_typed_is_the_same_size() {
        for (bytes, typed) in [(0, "0"), (4096, "4K"), (200 << 20, "200M"), (3 << 29, "1536M"), (4097, "4097")] {
            assert_eq!(Bytes(bytes).as_typed(), typed);
            assert_eq!(typed.parse(), Ok(Bytes(bytes)));
        }
    }

    #[test]
    fn sizes_print_short() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(64 << 20).to_string(), "64 MiB");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
    }

    #[test]
    fn lengths_of_time_read_and_print() {
        assert_eq!("10m".parse(), Ok(Seconds(600.0)));
        assert_eq!("250ms".parse(), Ok(Seconds(0.25)));
        for (text, seconds) in
            [("4m30s", 270.0), ("1h 5m", 3900.0), ("2h00m", 7200.0), ("1.5h", 5400.0), ("1s250ms", 1.25)]
        {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
        for (text, what) in
            [("7", "seven of what?"), ("", "nothing"), ("5m2", "of what?"), ("5s2m", "turned round"), ("2m2m", "twice")]
        {
            assert!(text.parse::<Seconds>().is_err(), "{text}: {what}");
        }
        assert!("1h-5m".parse::<Seconds>().is_err());
        assert!("soon".parse::<Seconds>().is_err());
        assert!("-3s".parse::<Seconds>().is_err());
        assert_eq!(Seconds(0.0123).to_string(), "12.3 ms");
        assert_eq!(Seconds(5.0).to_string(), "5.00 s");
        assert_eq!(Seconds(150.0).to_string(), "2m30s");
    }

    #[test]
    fn percentages_read_and_print() {
        assert_eq!("2%".parse(), Ok(Fraction(0.02)));
        assert_eq!("0.05".parse(), Ok(Fraction(0.05)));
        assert!("%".parse::<Fraction>().is_err());
        assert_eq!(Fraction(0.02).to_string(), "2%");
        assert_eq!(Fraction(0.0123).to_string(), "1.2%");
    }

    #[test]
    fn a_share_needs_its_sign_and_alpha_takes_either_way() {
        assert_eq!(
            (share("3%"), share(" 0.5 % "), share("0%")),
            (Ok(Fraction(0.03)), Ok(Fraction(0.005)), Ok(Fraction(0.0)))
        );
        for (text, why) in [
            ("3", "no percent sign; write it like 3%"),
            ("0.03", "no percent sign"),
            ("300%", "not between 0 % and 100 %"),
            ("-1%", "not between"),
            ("NaN%", "not a percentage"),
            ("two", "not a percentage"),
        ] {
            let told = share(text).expect_err(text);
            assert!(told.contains(why), "{told}");
        }
        assert_eq!((significance("0.05"), significance("5%")), (Ok(0.05), Ok(0.05)));
        for text in ["0", "0.7", "5", "50%", "NaN", "five"] {
            assert!(significance(text).is_err_and(|why| why.contains("alpha is")), "{text}");
        }
    }
}
