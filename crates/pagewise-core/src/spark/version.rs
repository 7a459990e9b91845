//! Versions of Spark and of Java, and which go together.

use std::fmt;
use std::str::FromStr;

/// Three numbers; what is not written is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 4 of `4.1.3`; of Java 17 of `17.0.15`, and 8 of `1.8.0_402`.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

/// It is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no version; write it like 4.1.3, or 25.0.3 for a JDK")]
pub struct NoVersion(String);

impl Version {
    /// Of its numbers.
    #[must_use]
    pub const fn of(major: u32, minor: u32, patch: u32) -> Version {
        Version { major, minor, patch }
    }

    /// Java's own way of writing: `17.0.15 (Debian)`, `25`, `1.8.0_402`.
    ///
    /// # Errors
    /// [`NoVersion`] when it does not begin with a number.
    pub fn of_java(text: &str) -> Result<Version, NoVersion> {
        let version: Version = text.split_whitespace().next().unwrap_or_default().parse()?;
        match version {
            Version { major: 1, minor, patch } => Ok(Version::of(minor, 0, patch)),
            version => Ok(version),
        }
    }
}

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let wrong = || NoVersion(text.chars().take(60).collect());
        let mut numbers = [0_u32; 3];
        let parts = text.trim().split(['.', '-', '_', '+', ' ']).map_while(|part| part.parse().ok());
        let mut count = 0;
        for (place, number) in parts.take(3).enumerate() {
            numbers[place] = number;
            count += 1;
        }
        if count == 0 { Err(wrong()) } else { Ok(Version::of(numbers[0], numbers[1], numbers[2])) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why this Spark is not for that Java, with what is; `None` where they go together, or nothing is written about them. From
/// the release documents of Spark ("Spark runs on Java …"); 25.0.3 from SPARK-56815 and SPARK-56843.
#[must_use]
pub fn mismatch(spark: Version, java: Version) -> Option<String> {
    let said = |which: &str| Some(format!("Spark {spark} is for Java {which}, and this is {java}"));
    match (spark.major, spark.minor) {
        (3, 3..=5) if ![8, 11, 17].contains(&java.major) => said("8, 11 or 17"),
        (4, 0 | 1) if ![17, 21].contains(&java.major) => said("17 or 21"),
        (4, 2..) if ![17, 21, 25].contains(&java.major) => said("17, 21 or 25"),
        (4, 2..) if java.major == 25 && java < Version::of(25, 0, 3) => said("17, 21, or 25 from 25.0.3 on"),
        _ => None,
    }
}

/// Whether `-XX:+UseTransparentHugePages` does nothing for G1 in it: JDK-8366434, which came with 25 (JDK-8345655).
#[must_use]
pub fn has_broken_huge_pages(java: Version) -> bool {
    java == Version::of(25, 0, 0)
}

/// Whether native code needs a permission, or Java warns (JEP 472).
#[must_use]
pub fn wants_native_access(java: Version) -> bool {
    java.major >= 24
}

/// Whether Spark itself gives it (`JavaModuleOptions` of 4.1).
#[must_use]
pub fn gives_native_access(spark: Version) -> bool {
    spark >= Version::of(4, 1, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_read_as_they_are_written_anywhere() {
        assert_eq!(v("4.1.0-preview1"), Version::of(4, 1, 0));
        assert_eq!(v("3.5.6"), Version::of(3, 5, 6));
        assert_eq!(Version::of_java("17.0.15 (Debian)"), Ok(Version::of(17, 0, 15)));
        assert_eq!(Version::of_java("1.8.0_402"), Ok(Version::of(8, 0, 0)));
        assert_eq!(Version::of_java("25"), Ok(Version::of(25, 0, 0)));
        assert!("temurin".parse::<Version>().is_err() && Version::of_java("").is_err());
    }

    #[test]
    fn what_goes_together_is_what_the_releases_say() {
        for (spark, java, fits) in [
            ("3.5.6", "17.0.1", true),
            ("3.5.6", "21.0.1", false),
            ("4.0.1", "21.0.1", true),
            ("4.1.3", "25.0.3", false),
            ("4.0.1", "11.0.2", false),
            ("4.2.0", "25.0.2", false),
            ("4.2.0", "25.0.3", true),
            ("4.3.0", "17.0.15", true),
        ] {
            assert_eq!(mismatch(v(spark), v(java)).is_none(), fits, "{spark} on {java}");
        }
        assert!(has_broken_huge_pages(v("25")) && !has_broken_huge_pages(v("25.0.1")));
    }
}
