//! Which texts are values of a tunable, and the one text that stands for each value.
//!
//! Reading is lenient: whatever a kernel shows is a value and can be written back. [`Grammar::check`] is strict: it
//! holds what a user asks for.

use super::job;
use super::pair::Pair;
use super::swap;
use crate::unit::Bytes;

/// The shape of a tunable's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grammar {
    /// One word of those the kernel's file lists.
    Choice,
    /// `0` or `1`. Old kernels show `[yes] no`, module parameters `Y` or `N`.
    Switch,
    /// A whole number.
    Integer {
        /// Smallest that is accepted.
        min: u64,
        /// Largest that is accepted.
        max: u64,
        /// It must be a multiple of this.
        step: u64,
    },
    /// A whole number, or 0 for "the kernel chooses".
    ZeroOr {
        /// Smallest that is accepted beside 0.
        min: u64,
    },
    /// Bits, shown in hexadecimal. `y` stands for all the kernel has, `n` for none.
    Mask,
    /// Bytes in whole pages, or `max` for no limit.
    Limit,
    /// A percentage or an amount, kept by the kernel in two files of which one is in force.
    Pair(&'static Pair),
    /// The host's swap areas.
    Swap,
    /// A form that the file of its kind defines.
    Form(&'static Form),
    /// Any text.
    Text,
}

/// Values that one kind of tunable alone has.
#[derive(Debug)]
pub struct Form {
    /// The one text for a value, from a text without white space around it; or a sentence on what is wrong with it.
    pub canonical: fn(&str) -> Result<String, String>,
    /// What may be written, for people.
    pub allowed: &'static str,
}

impl PartialEq for Form {
    /// Each stands for itself: addresses of functions say nothing.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A text is not a value of the tunable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; allowed: {allowed}")]
pub struct ValueError {
    /// What is wrong.
    pub why: String,
    /// What would be right.
    pub allowed: String,
}

/// A kernel file that lists its values: `always [madvise] never`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The one in force.
    pub selected: &'a str,
    /// All, in the kernel's order.
    pub values: Vec<&'a str>,
}

/// Reads a kernel file's list of values; `None` when no word stands in brackets.
#[must_use]
pub fn listed(text: &str) -> Option<Choice<'_>> {
    let unbracketed = |word: &'_ str| word.len() > 2 && word.starts_with('[') && word.ends_with(']');
    let selected = text.split_whitespace().find(|word| unbracketed(word))?;
    let bare = |word: &'_ str| if unbracketed(word) { 1..word.len() - 1 } else { 0..word.len() };
    Some(Choice {
        selected: &selected[bare(selected)],
        values: text.split_whitespace().map(|word| &word[bare(word)]).collect(),
    })
}

/// The page size the rules on whole pages assume. On hosts with larger pages the kernel rounds, and the read-back shows
/// it.
const PAGE: u64 = 4096;

/// No limit, as cgroup v1 shows it: `PAGE_COUNTER_MAX` in bytes (`include/linux/page_counter.h`, 6.12). Anything this
/// large is no limit, whatever the page size.
const V1_UNLIMITED: u64 = 1 << 62;

impl Grammar {
    /// The one text for this value, from what the kernel shows or a user writes.
    ///
    /// # Errors
    /// When it is no value of this shape.
    pub fn canonical(self, text: &str) -> Result<String, ValueError> {
        let trimmed = text.trim();
        match self {
            Grammar::Choice => self.choice(trimmed),
            Grammar::Switch => self.switch(trimmed),
            Grammar::Integer { .. } | Grammar::ZeroOr { .. } => self.integer(trimmed),
            Grammar::Mask => self.mask(trimmed),
            Grammar::Limit => self.limit(trimmed),
            Grammar::Pair(pair) => pair.canonical(trimmed).map_err(|why| self.error(why)),
            Grammar::Swap => swap::canonical(trimmed).map_err(|why| self.error(why)),
            Grammar::Form(form) => (form.canonical)(trimmed).map_err(|why| self.error(why)),
            Grammar::Text => job::text(text).map_err(|why| self.error(why)),
        }
    }

    /// Holds a canonical text to the limits that a user's value has to keep.
    ///
    /// # Errors
    /// When it is outside.
    pub fn check(self, canonical: &str) -> Result<(), ValueError> {
        match self {
            Grammar::Integer { min, max, step } => {
                let inside = canonical.parse().is_ok_and(|n: u64| (min..=max).contains(&n) && n.is_multiple_of(step));
                if inside { Ok(()) } else { Err(self.error(format!("{canonical} is outside"))) }
            }
            Grammar::ZeroOr { min } if !canonical.parse().is_ok_and(|n: u64| n == 0 || n >= min) => {
                Err(self.error(format!("{canonical} is outside")))
            }
            Grammar::Limit if canonical != "max" && !canonical.parse().is_ok_and(|n: u64| n.is_multiple_of(PAGE)) => {
                Err(self.error(format!("{canonical} bytes are not whole pages")))
            }
            Grammar::Pair(pair) => pair.check(canonical).map_err(|why| self.error(why)),
            Grammar::Choice
            | Grammar::Switch
            | Grammar::ZeroOr { .. }
            | Grammar::Mask
            | Grammar::Limit
            | Grammar::Swap
            | Grammar::Form(_)
            | Grammar::Text => Ok(()),
        }
    }

    /// What may be written, for people. A [`Grammar::Choice`] is known only to the host.
    #[must_use]
    pub fn allowed(self) -> String {
        match self {
            Grammar::Choice => "what the kernel's file lists".to_owned(),
            Grammar::Switch => "0 or 1".to_owned(),
            Grammar::Integer { min, max, step } => range(min, max, step),
            Grammar::ZeroOr { min } => format!("0, or {min} and more"),
            Grammar::Mask => "y, n, or bits such as 0x0007".to_owned(),
            Grammar::Limit => "bytes in whole pages of 4096, such as 4G, or max".to_owned(),
            Grammar::Pair(pair) => pair.allowed(),
            Grammar::Swap => swap::ALLOWED.to_owned(),
            Grammar::Form(form) => form.allowed.to_owned(),
            Grammar::Text => "any text".to_owned(),
        }
    }

    fn error(self, why: String) -> ValueError {
        ValueError { why, allowed: self.allowed() }
    }

    fn choice(self, text: &str) -> Result<String, ValueError> {
        let chosen = listed(text).map(|choice| choice.selected.to_owned());
        let text = chosen.as_deref().unwrap_or(text);
        let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "+_-".contains(c));
        if is_word { Ok(text.to_owned()) } else { Err(self.error(format!("'{text}' is not one word"))) }
    }

    fn switch(self, text: &str) -> Result<String, ValueError> {
        let word = listed(text).map_or(text, |choice| choice.selected).to_ascii_lowercase();
        match word.as_str() {
            "1" | "y" | "yes" | "on" | "true" | "always" => Ok("1".to_owned()),
            "0" | "n" | "no" | "off" | "false" | "never" => Ok("0".to_owned()),
            _ => Err(self.error(format!("'{text}' is neither on nor off"))),
        }
    }

    fn integer(self, text: &str) -> Result<String, ValueError> {
        whole_number(text)
            .map(|number| number.to_string())
            .ok_or_else(|| self.error(format!("'{text}' is not a whole number")))
    }

    fn mask(self, text: &str) -> Result<String, ValueError> {
        let bits = match text.to_ascii_lowercase().as_str() {
            "y" => Some(ALL_OF_MGLRU),
            "n" => Some(0),
            lower => match lower.strip_prefix("0x") {
                Some(hex) if !hex.starts_with('+') => u32::from_str_radix(hex, 16).ok(),
                Some(_) => None,
                None => whole_number(lower).and_then(|number| u32::try_from(number).ok()),
            },
        };
        bits.map(|bits| format!("{bits:#06x}")).ok_or_else(|| self.error(format!("'{text}' is not a set of bits")))
    }

    fn limit(self, text: &str) -> Result<String, ValueError> {
        if text == "max" || text == "-1" {
            return Ok("max".to_owned());
        }
        let bytes = text.parse::<Bytes>().map_err(|error| self.error(error.to_string()))?;
        Ok(if bytes.0 >= V1_UNLIMITED { "max".to_owned() } else { bytes.0.to_string() })
    }
}

/// What `y` switches on: `NR_LRU_GEN_CAPS` bits (`include/linux/mmzone.h`, 6.12). A processor without one of the
/// features shows fewer.
const ALL_OF_MGLRU: u32 = 0x0007;

/// Digits alone: `u64::from_str` would also take a plus sign.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

fn range(min: u64, max: u64, step: u64) -> String {
    // The kernel's own widths: `int`, and `unsigned long` where nothing smaller bounds it.
    let bounds = if max >= u64::from(u32::MAX >> 1) { format!("{min} or more") } else { format!("{min} to {max}") };
    if step > 1 { format!("{bounds}, in steps of {step}") } else { bounds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERCENT: Grammar = Grammar::Integer { min: 0, max: 100, step: 1 };

    #[test]
    fn the_kernels_list_gives_the_choice_in_force_and_all_others() {
        let choice = listed("always defer defer+madvise [madvise] never\n").expect("a list");
        assert_eq!(choice.selected, "madvise");
        assert_eq!(choice.values, ["always", "defer", "defer+madvise", "madvise", "never"]);
        assert_eq!(listed("always madvise never"), None);
        assert_eq!(listed("[] x"), None);
    }

    #[test]
    fn a_switch_is_the_same_on_old_and_new_kernels() {
        for (text, canonical) in [("[yes] no\n", "1"), ("yes [no]", "0"), ("1\n", "1"), ("Y", "1"), ("off", "0")] {
            assert_eq!(Grammar::Switch.canonical(text).as_deref(), Ok(canonical), "{text}");
        }
        assert!(Grammar::Switch.canonical("2").is_err());
    }

    #[test]
    fn what_a_kernel_shows_is_read_even_where_a_user_may_not_ask_for_it() {
        assert_eq!(PERCENT.canonical("1000").as_deref(), Ok("1000"));
        assert!(PERCENT.check("1000").is_err());
        assert!(PERCENT.check("100").is_ok());
    }

    #[test]
    fn an_error_says_what_is_allowed() {
        let error = PERCENT.canonical("many").expect_err("not a number");
        assert_eq!(error.to_string(), "'many' is not a whole number; allowed: 0 to 100");
    }

    #[test]
    fn no_limit_has_one_text_whatever_the_cgroup_version() {
        for text in ["max", "-1", "9223372036854771712", "9223372036854775807"] {
            assert_eq!(Grammar::Limit.canonical(text).as_deref(), Ok("max"), "{text}");
        }
        assert_eq!(Grammar::Limit.canonical("1G").as_deref(), Ok("1073741824"));
        assert!(Grammar::Limit.check("1000").is_err());
    }

    #[test]
    fn bits_have_one_text() {
        for text in ["7", "0x7", "0x0007", "y", "Y"] {
            assert_eq!(Grammar::Mask.canonical(text).as_deref(), Ok("0x0007"), "{text}");
        }
        assert_eq!(Grammar::Mask.canonical("n").as_deref(), Ok("0x0000"));
        assert!(Grammar::Mask.canonical("0x+7").is_err());
    }

    proptest! {
        #[test]
        fn a_canonical_text_stands_for_itself(text in "\\PC{0,40}") {
            for descriptor in crate::tunable::all() {
                if let Ok(once) = descriptor.grammar.canonical(&text) {
                    prop_assert_eq!(descriptor.grammar.canonical(&once), Ok(once), "{}", descriptor.name);
                }
            }
        }

        #[test]
        fn numbers_survive_however_they_are_padded(number in any::<u64>(), spaces in "[ \n\t]{0,3}") {
            let canonical = PERCENT.canonical(&format!("{spaces}{number}{spaces}"));
            prop_assert_eq!(canonical, Ok(number.to_string()));
        }
    }
}
