//! `/proc/diskstats`: bytes moved by the disks of the host.

use super::{SourceError, format_error};
use crate::root::Root;

const PATH: &str = "/proc/diskstats";

/// Sectors in this file are 512 bytes whatever the disk's own size is (Documentation/admin-guide/iostats.rst).
const SECTOR: u64 = 512;

/// Bytes since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Read from disks.
    pub read: u64,
    /// Written to disks.
    pub written: u64,
}

/// Sums the real disks: whole devices that have hardware behind them, so that a partition, a loop device or a volume on
/// top of a disk is not counted again.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<Moved, SourceError> {
    let is_disk = |name: &str| root.exists(&format!("/sys/block/{}/device", name.replace('/', "!")));
    sum(&root.read(PATH)?, is_disk)
}

/// See [`read`].
///
/// # Errors
/// When a line has too few fields.
pub fn sum(text: &str, is_disk: impl Fn(&str) -> bool) -> Result<Moved, SourceError> {
    let mut moved = Moved::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| -> Result<u64, SourceError> {
            fields
                .get(index)
                .and_then(|field| field.parse().ok())
                .ok_or_else(|| format_error(PATH, format!("line '{line}' has no number in field {}", index + 1)))
        };
        if fields.get(2).is_some_and(|name| is_disk(name)) {
            // A number that no disk has must not end us.
            moved.read = moved.read.saturating_add(number(5)?.saturating_mul(SECTOR));
            moved.written = moved.written.saturating_add(number(9)?.saturating_mul(SECTOR));
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_not_counted_beside_its_disk() {
        let text = "254 0 vda 10 0 100 1 20 0 200 1 0 1 1\n254 1 vda1 10 0 100 1 20 0 200 1 0 1 1\n7 0 loop0 9 0 9 9 9 0 9 9 9 9 9\n";
        assert_eq!(sum(text, |name| name == "vda").unwrap(), Moved { read: 51_200, written: 102_400 });
        assert!(sum("254 0 vda 1", |_| true).is_err());
        let endless = "254 0 vda 1 0 18446744073709551615 1 2 0 18446744073709551615 1\n";
        assert_eq!(sum(endless, |_| true).unwrap(), Moved { read: u64::MAX, written: u64::MAX });
    }
}
