//! How broken up the host's free memory is when a job starts: as it is, or aged on purpose.

use super::descriptor::Descriptor;
use super::grammar::{Form, Grammar};
use std::fmt;

/// The tunable's name.
pub const NAME: &str = "memory_state";

static FORM: Form = Form {
    canonical: |text| parse(text).map(|state| state.to_string()),
    allowed: "fresh, or aged(N%) with a whole N from 1 to 99, such as aged(90%)",
};

/// A value of `memory_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryState {
    /// As the host is: nothing of ours breaks memory up.
    Fresh,
    /// This many percent of free memory, 1 to 99, lie in pieces that are too small for a huge page.
    Aged(u8),
}

impl MemoryState {
    /// The order-9 unusable free space index it promises, 0 to 1; 0 when it promises nothing.
    #[must_use]
    pub fn index(self) -> f64 {
        match self {
            MemoryState::Fresh => 0.0,
            MemoryState::Aged(percent) => f64::from(percent) / 100.0,
        }
    }
}

impl fmt::Display for MemoryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryState::Fresh => f.write_str("fresh"),
            MemoryState::Aged(percent) => write!(f, "aged({percent}%)"),
        }
    }
}

/// Reads a value of `memory_state`.
///
/// # Errors
/// A sentence on what is wrong with it.
pub fn parse(text: &str) -> Result<MemoryState, String> {
    if text == "fresh" {
        return Ok(MemoryState::Fresh);
    }
    let inside = text.strip_prefix("aged(").and_then(|rest| rest.strip_suffix("%)"));
    let digits = inside.filter(|inside| inside.len() <= 2 && inside.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(0) => Err("nothing is aged at 0 %; write fresh".to_owned()),
        Some(percent) => Ok(MemoryState::Aged(percent)),
        None => Err(format!("'{text}' is neither fresh nor aged(N%)")),
    }
}

pub(super) const ALL: &[Descriptor] = &[Descriptor::live(
    NAME,
    &["/proc/buddyinfo"],
    Grammar::Form(&FORM),
    "5.2 (fsopen), huge pages in tmpfs; mm/shmem.c, mm/vmstat.c unusable_free_index",
    "how broken up free memory is: as it is, or aged until the order-9 unusable index reaches the figure, as on a \
     host that has been up for weeks",
)
.held_as("fresh")
.never_switched("needs the page cache dropped and memory compacted, which what runs would feel for longer than a block")
.noting(
    "ageing drops the page cache and compacts first, then holds 4 to 64 KiB in every other free huge page, 3 % of memory \
     at most, in a process of its own (see docs/method/memory-state.md); fresh ends that process and compacts. To compare \
     fresh with aged, drop the page cache before every run (--drop-caches yes), or only one of them starts cold",
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::policy::Policy;

    #[test]
    fn every_figure_has_one_text() {
        for percent in 1..=99 {
            let state = MemoryState::Aged(percent);
            assert_eq!(parse(&state.to_string()), Ok(state));
        }
        assert_eq!(parse("aged(07%)").map(|state| state.to_string()), Ok("aged(7%)".to_owned()));
        assert_eq!(parse("fresh"), Ok(MemoryState::Fresh));
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for text in ["", "aged", "aged(90)", "aged(0%)", "aged(100%)", "aged(-1%)", "aged(9.5%)", "aged(+9%)", "Fresh"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_policy_carries_it_without_an_escape() {
        let text = "old:memory_state=aged(90%),thp.enabled=never";
        let policy: Policy = text.parse().expect("a policy");
        assert_eq!(policy.to_string(), text);
        let setting = &policy.settings[0];
        assert_eq!(setting.canonical().as_deref(), Ok("aged(90%)"));
        let file = Policy::from_toml("[settings]\nmemory_state = 'aged(90%)'\n", "p.toml").expect("a policy");
        assert_eq!(file.to_string(), "memory_state=aged(90%)");
    }
}
