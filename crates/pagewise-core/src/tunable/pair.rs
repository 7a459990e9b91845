//! Limits the kernel keeps in two files, a percentage and an amount, of which one is in force and the other reads 0.
//!
//! They are one tunable here. Taken as two, writing the second undoes the first, and a restore that writes back the 0
//! of the idle file fails with EINVAL or sets the limit to nothing.

use super::descriptor::Descriptor;
use super::grammar::Grammar;
use crate::unit::Bytes;

/// The two files of a limit.
#[derive(Debug, PartialEq)]
pub struct Pair {
    /// The sysctl that takes a percentage.
    pub percent: &'static str,
    /// The sysctl that takes an amount.
    pub amount: &'static str,
    /// Bytes per unit of the amount's file.
    pub unit: u64,
    /// Smallest amount the kernel takes, in bytes.
    pub smallest: u64,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    /// The percentage.
    Percent,
    /// The amount.
    Amount,
}

/// What is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This many percent of the memory that counts.
    Percent(u64),
    /// This many bytes.
    Bytes(u64),
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Amount::Percent(percent) => write!(f, "{percent}%"),
            Amount::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl Pair {
    /// Reads `20%`, `64M` or `67108864`.
    ///
    /// # Errors
    /// A sentence on what is wrong with it.
    pub fn parse(&self, text: &str) -> Result<Amount, String> {
        let Some(percent) = text.strip_suffix('%') else {
            let bytes = text.parse::<Bytes>().map_err(|error| error.to_string())?.0;
            if bytes == 0 {
                return Err(format!("0 bytes is how {} says that the percentage is in force", self.amount));
            }
            if !bytes.is_multiple_of(self.unit) {
                return Err(format!("{bytes} bytes are not a multiple of {}", self.unit));
            }
            return Ok(Amount::Bytes(bytes));
        };
        let percent = percent.trim();
        if percent.starts_with('+') {
            return Err(format!("'{text}' is not a whole percentage"));
        }
        percent.parse().map(Amount::Percent).map_err(|_| format!("'{text}' is not a whole percentage"))
    }

    /// The one text for a value.
    pub(super) fn canonical(&self, text: &str) -> Result<String, String> {
        self.parse(text).map(|amount| amount.to_string())
    }

    /// The value of the pair from a value of one of its files: `vm.dirty_ratio=20` is `vm.dirty=20%`.
    pub(super) fn of_face(&self, face: Member, text: &str) -> Result<String, String> {
        let text = match face {
            // What a read gave has the sign already.
            Member::Percent => format!("{}%", text.trim_end_matches('%')),
            Member::Amount if text.ends_with('%') => text.to_owned(),
            Member::Amount if self.unit == 1 => text.to_owned(),
            Member::Amount => {
                let number: u64 = text.parse().map_err(|_| format!("'{text}' is not a whole number"))?;
                number.checked_mul(self.unit).map(|bytes| bytes.to_string()).ok_or("too large")?
            }
        };
        self.canonical(&text)
    }

    pub(super) fn check(&self, canonical: &str) -> Result<(), String> {
        match self.parse(canonical)? {
            Amount::Percent(percent) if percent > 100 => Err(format!("{percent}% is more than all")),
            Amount::Bytes(bytes) if bytes < self.smallest => {
                Err(format!("{bytes} bytes are less than the kernel takes"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn allowed(&self) -> String {
        format!("0% to 100%, or {} bytes and more, such as 64M", self.smallest)
    }

    pub(super) fn face_allowed(&self, face: Member) -> String {
        match face {
            Member::Percent => "0 to 100".to_owned(),
            Member::Amount => {
                format!("{} and more; for a percentage write {}", self.smallest / self.unit, self.percent)
            }
        }
    }

    pub(super) fn face_named(&self, name: &str) -> Option<Member> {
        match name {
            name if name == self.percent => Some(Member::Percent),
            name if name == self.amount => Some(Member::Amount),
            _ => None,
        }
    }
}

/// `dirty_bytes_min` is two pages (`mm/page-writeback.c`, 6.12).
static DIRTY: Pair = Pair { percent: "vm.dirty_ratio", amount: "vm.dirty_bytes", unit: 1, smallest: 8192 };

static DIRTY_BACKGROUND: Pair =
    Pair { percent: "vm.dirty_background_ratio", amount: "vm.dirty_background_bytes", unit: 1, smallest: 1 };

/// Each of the two handlers zeroes the other's value, also when it writes 0 (`mm/util.c`, 6.12).
static OVERCOMMIT: Pair =
    Pair { percent: "vm.overcommit_ratio", amount: "vm.overcommit_kbytes", unit: 1024, smallest: 1024 };

const fn pair(
    name: &'static str,
    paths: &'static [&'static str],
    pair: &'static Pair,
    source: &'static str,
    summary: &'static str,
) -> Descriptor {
    Descriptor::live(name, paths, Grammar::Pair(pair), source, summary)
}

const DIRTY_SWITCHING: &str = "a writer goes by it at its next write, the flushers within 5 s; what was dirtied under the old \
    limit must be on disk first. Its two files are one setting and are switched as one";

pub(super) const ALL: &[Descriptor] = &[
    pair(
        "vm.dirty",
        &["/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"],
        &DIRTY,
        "always, bytes since 2.6.29; mm/page-writeback.c",
        "dirty data at which a writer has to wait, as a share of available memory or in bytes",
    )
    .switched(5.0, 15.0, DIRTY_SWITCHING)
    .noting("vm.dirty_ratio and vm.dirty_bytes are its two files: writing one takes the other out of force"),
    pair(
        "vm.dirty_background",
        &["/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes"],
        &DIRTY_BACKGROUND,
        "always, bytes since 2.6.29; mm/page-writeback.c",
        "dirty data at which writing begins in the background, as a share of available memory or in bytes",
    )
    .switched(5.0, 15.0, DIRTY_SWITCHING)
    .noting("vm.dirty_background_ratio and vm.dirty_background_bytes are its two files"),
    pair(
        "vm.overcommit_limit",
        &["/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes"],
        &OVERCOMMIT,
        "always, amount since 3.14; mm/util.c",
        "how much may be promised beyond swap when vm.overcommit_memory is 2, as a share of memory or in bytes",
    )
    .switched(0.0, 1.0, "the next allocation is judged by it; what was granted stays")
    .noting("vm.overcommit_ratio and vm.overcommit_kbytes are its two files"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_text_per_value() {
        assert_eq!(DIRTY.canonical("20%").as_deref(), Ok("20%"));
        assert_eq!(DIRTY.canonical("64M").as_deref(), Ok("67108864"));
        assert_eq!(DIRTY.of_face(Member::Percent, "20").as_deref(), Ok("20%"));
        assert_eq!(DIRTY.of_face(Member::Amount, "64M").as_deref(), Ok("67108864"));
        assert_eq!(OVERCOMMIT.of_face(Member::Amount, "64").as_deref(), Ok("65536"));
    }

    #[test]
    fn zero_bytes_is_not_a_value_and_zero_percent_is_one() {
        assert!(DIRTY.of_face(Member::Amount, "0").is_err_and(|why| why.contains("percentage is in force")));
        assert_eq!(DIRTY.canonical("0%").as_deref(), Ok("0%"));
    }

    #[test]
    fn what_the_kernel_would_refuse_or_ignore_is_refused_first() {
        assert!(DIRTY.check("4096").is_err());
        assert!(DIRTY.check("101%").is_err());
        assert!(DIRTY.check("8192").is_ok());
        assert!(OVERCOMMIT.canonical("1000").is_err(), "not whole KiB");
    }
}
