//! What a process maps, out of `/proc/PID/smaps` (`Documentation/filesystems/proc.rst`, `fs/proc/task_mmu.c`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A range of addresses of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// What it is, where the kernel or the process says: a file, `[heap]`, `[anon:name]`.
    pub name: String,
    /// Private, readable and writable, without a file behind it.
    pub is_anonymous: bool,
    /// A thread's stack, or one of the kernel's own pages in every process.
    pub is_special: bool,
    /// The process forbids huge pages here (`MADV_NOHUGEPAGE`).
    pub forbids_huge: bool,
    /// Bytes in memory.
    pub resident: u64,
    /// Of them, bytes of anonymous memory on huge pages.
    pub huge: u64,
}

/// Why no page of a mapping can be made huge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhyNotHuge {
    /// A file, shared memory, or memory that the process may not write.
    NotAnonymous,
    /// A stack, or a page of the kernel's.
    Special,
    /// `MADV_NOHUGEPAGE`.
    Forbidden,
    /// No huge page fits between its ends.
    TooSmall,
}

impl Mapping {
    /// Whether huge pages of that size can be made here; else why not.
    ///
    /// # Errors
    /// The first reason that holds.
    pub fn fits(&self, huge_size: u64) -> Result<(), WhyNotHuge> {
        if self.is_special {
            return Err(WhyNotHuge::Special);
        }
        if !self.is_anonymous {
            return Err(WhyNotHuge::NotAnonymous);
        }
        if self.forbids_huge {
            return Err(WhyNotHuge::Forbidden);
        }
        let first = self.start.next_multiple_of(huge_size);
        if first.saturating_add(huge_size) <= self.end { Ok(()) } else { Err(WhyNotHuge::TooSmall) }
    }
}

/// The mappings of the file, in its order. Lines that a newer kernel may have are passed over.
#[must_use]
pub fn of_smaps(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = head(line) {
            mappings.push(mapping);
        } else if let Some(last) = mappings.last_mut() {
            let kib = |rest: &str| rest.trim().strip_suffix("kB").and_then(|number| number.trim().parse::<u64>().ok());
            match line.split_once(':') {
                Some(("Rss", rest)) => last.resident = kib(rest).unwrap_or(0).saturating_mul(1024),
                Some(("AnonHugePages", rest)) => last.huge = kib(rest).unwrap_or(0).saturating_mul(1024),
                Some(("VmFlags", flags)) => {
                    last.forbids_huge = flags.split_ascii_whitespace().any(|flag| flag == "nh");
                }
                _ => {}
            }
        }
    }
    mappings
}

/// `55d1-55d2 rw-p 00000000 00:00 0   [heap]`
fn head(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let rights = words.next().filter(|rights| rights.len() == 4)?;
    let inode = words.nth(2)?;
    let name = words.collect::<Vec<_>>().join(" ");
    let is_special = ["[stack", "[v", "[uprobes]"].iter().any(|begin| name.starts_with(begin));
    let is_anonymous = rights == "rw-p" && inode == "0" && !name.starts_with('/') || rights == "rwxp" && inode == "0";
    (start < end).then(|| Mapping { start, end, name, is_anonymous, is_special, ..Mapping::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMAPS: &str = "\
7f0000200000-7f0000a00000 rw-p 00000000 00:00 0                          [anon:Java heap]
Size:               8192 kB
Rss:                6144 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd hg
7f0000a00000-7f0000c00000 rw-p 00000000 00:00 0
Rss:                   8 kB
VmFlags: rd wr mr mw me ac nh
7f0000c00000-7f0001000000 rw-s 00000000 00:01 4711                       /dev/shm/a file
Rss:                4096 kB
7f0001000000-7f0001400000 ---p 00000000 00:00 0
7ffc00000000-7ffc00400000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn mappings_are_read_with_what_makes_them_fit() {
        let read = of_smaps(SMAPS);
        assert_eq!(read.len(), 5);
        assert_eq!((read[0].resident, read[0].huge), (6 << 20, 2 << 20));
        assert_eq!(read[0].name, "[anon:Java heap]");
        let fits: Vec<_> = read.iter().map(|mapping| mapping.fits(2 << 20)).collect();
        assert_eq!(
            fits,
            [
                Ok(()),
                Err(WhyNotHuge::Forbidden),
                Err(WhyNotHuge::NotAnonymous),
                Err(WhyNotHuge::NotAnonymous),
                Err(WhyNotHuge::Special)
            ]
        );
        assert_eq!(Mapping { end: 0x60_0000, ..read[0].clone() }.fits(4 << 20), Err(WhyNotHuge::TooSmall));
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_read_without_a_panic(text in "[0-9a-f -]{0,40}(rw-p)?[ -~\n]{0,200}") {
            for mapping in of_smaps(&text) {
                prop_assert!(mapping.start < mapping.end);
                let _ = mapping.fits(2 << 20);
            }
        }
    }
}
