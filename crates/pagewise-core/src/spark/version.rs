//! Versions as Spark and Java write them.

use std::fmt;
use std::str::FromStr;

/// `4.3.0`, `17.0.15`, `25`; what is not said is 0. Java 8 is `1.8.0_402` or `8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let wrong = || format!("'{text}' is no version such as 4.3.0 or 25");
        // What follows the numbers, as in 17.0.15+6 or 4.0.0-preview1, is of no matter here.
        let numbers = text.split(['+', '-', '_']).next().unwrap_or_default();
        let parts: Vec<u32> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let at = |index: usize| parts.get(index).copied().unwrap_or(0);
        // Up to 8 Java began with 1.
        Ok(if at(0) == 1 && parts.len() > 1 { Version(at(1), at(2), 0) } else { Version(at(0), at(1), at(2)) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version(major, 0, 0) => write!(f, "{major}"),
            Version(major, minor, patch) => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_spark_and_java_write_them() {
        for (text, wanted) in [
            ("4.3.0", Version(4, 3, 0)),
            ("4.1", Version(4, 1, 0)),
            ("25", Version(25, 0, 0)),
            ("17.0.15+6", Version(17, 0, 15)),
            ("4.0.0-preview1", Version(4, 0, 0)),
            ("1.8.0_402", Version(8, 0, 0)),
        ] {
            assert_eq!(text.parse::<Version>().unwrap(), wanted, "{text}");
        }
        for text in ["", "four", "4.x", "4..1", "-1", "99999999999"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
