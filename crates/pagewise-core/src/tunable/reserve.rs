//! How many huge pages are set aside: a number, or as many as leave an amount of memory to everything else.

use super::grammar::{Form, whole_number};
use crate::unit::Bytes;
use std::fmt;

/// The tunable's name.
pub const NAME: &str = "vm.nr_hugepages";

pub(super) static FORM: Form = Form {
    canonical: |text| parse(text).map(|reserve| reserve.to_string()),
    allowed: "0 or more, or all-but(SIZE) such as all-but(4G)",
};

/// A value of `vm.nr_hugepages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// So many pages of the default size.
    Pages(u64),
    /// All memory but this. Which number that is only the host can say.
    AllBut(Bytes),
}

impl Reserve {
    /// The number of pages of `page` bytes on a host of so much memory. Never leaves less than was asked for.
    #[must_use]
    pub fn pages(self, memory: Bytes, page: Bytes) -> u64 {
        match self {
            Reserve::Pages(pages) => pages,
            Reserve::AllBut(left) => memory.0.saturating_sub(left.0) / page.0.max(1),
        }
    }
}

impl fmt::Display for Reserve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reserve::Pages(pages) => write!(f, "{pages}"),
            Reserve::AllBut(left) => write!(f, "all-but({})", left.0),
        }
    }
}

/// Reads a value of `vm.nr_hugepages`.
///
/// # Errors
/// A sentence on what is wrong with it.
pub fn parse(text: &str) -> Result<Reserve, String> {
    let Some(left) = text.strip_prefix("all-but(").and_then(|rest| rest.strip_suffix(')')) else {
        let pages = whole_number(text).filter(|pages| i64::try_from(*pages).is_ok());
        return pages
            .map(Reserve::Pages)
            .ok_or_else(|| format!("'{text}' is neither a whole number nor all-but(SIZE)"));
    };
    match left.parse::<Bytes>() {
        Ok(Bytes(0)) => Err("something must be left to the host".to_owned()),
        Ok(left) => Ok(Reserve::AllBut(left)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_an_amount_is_a_number_of_pages_on_a_host() {
        let page = Bytes(2 << 20);
        let asked = parse("all-but(4G)").expect("a value");
        assert_eq!(asked.to_string(), "all-but(4294967296)");
        assert_eq!(asked.pages(Bytes(24 << 30), page), 10_240);
        assert_eq!(asked.pages(Bytes((24 << 30) + 1), page), 10_240, "what is left is never less than was asked for");
        assert_eq!(asked.pages(Bytes(1 << 30), page), 0, "a smaller host sets nothing aside");
        assert_eq!(parse("9640").map(|reserve| reserve.pages(Bytes(0), page)), Ok(9640));
        for wrong in ["all-but(0)", "all-but()", "all-but(4G", "most", "-1", "+1", "9223372036854775808"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
