//! What tools print of each disk, and what it is for all of them: traffic added up, the busiest one and how long it takes.

use super::Problem;
use super::listing::Listing;
use super::words::{is_label, is_number};
use crate::counter::tools;

/// No more disks have series of their own.
const MOST: usize = 64;

/// A disk over an interval, as far as it was printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Disk {
    pub(super) name: String,
    /// KiB per second.
    pub(super) read: Option<f64>,
    pub(super) written: Option<f64>,
    /// Percent of the time in which it had something to do.
    pub(super) busy: Option<f64>,
    /// Milliseconds that a request took, with its time in the queue.
    pub(super) wait: Option<f64>,
}

/// Disks by name, over a file: the first ones keep series of their own.
#[derive(Debug, Default)]
pub(super) struct Disks {
    names: Vec<String>,
}

impl Disks {
    /// What is known of the disks of an instant.
    ///
    /// # Errors
    /// When there are more numbers than can be taken.
    pub(super) fn put(&mut self, listing: &mut Listing, at: i64, disks: &[Disk]) -> Result<(), Problem> {
        for disk in disks {
            if !self.names.contains(&disk.name) {
                if self.names.len() >= MOST || !is_label(&disk.name) || disk.name.is_empty() {
                    continue;
                }
                self.names.push(disk.name.clone());
            }
            let labels = format!("disk={}", disk.name);
            put(listing, at, "disk_busy_percent", &labels, disk.busy)?;
            put(listing, at, "disk_wait", &labels, disk.wait)?;
        }
        let whole: Vec<&Disk> = disks.iter().filter(|disk| is_whole(disk, disks)).collect();
        let sum = |of: fn(&Disk) -> Option<f64>| whole.iter().filter_map(|disk| of(disk)).reduce(|a, b| a + b);
        put(listing, at, "disk_read_per_second", "", sum(|disk| disk.read))?;
        put(listing, at, "disk_written_per_second", "", sum(|disk| disk.written))?;
        let busy = |disk: &&&Disk| disk.busy.map_or(0, |busy| (busy.clamp(0.0, 1e6) * 100.0) as u64);
        if let Some(busiest) = whole.iter().filter(|disk| disk.busy.is_some()).max_by_key(busy) {
            // What a disk does in parallel can be counted as more than all of the time.
            put(listing, at, "disk_busiest_percent", "", busiest.busy.map(|busy| busy.min(100.0)))?;
            put(listing, at, "disk_busiest_wait", "", busiest.wait)?;
        }
        Ok(())
    }
}

fn put(listing: &mut Listing, at: i64, name: &str, labels: &str, value: Option<f64>) -> Result<(), Problem> {
    match (tools::find(name), value) {
        (Some(column), Some(value)) => listing.put_decimal(at, column, labels, value),
        _ => Ok(()),
    }
}

/// Whether it is a disk by itself: no partition of another one in the list, nothing that is made of others in it, and nothing
/// that lies in memory.
fn is_whole(disk: &Disk, all: &[Disk]) -> bool {
    const IN_MEMORY: [&str; 4] = ["loop", "ram", "zram", "fd"];
    let name = disk.name.as_str();
    let numbered = |begin: &str| name.strip_prefix(begin).is_some_and(is_number);
    if IN_MEMORY.into_iter().any(numbered) {
        return false;
    }
    let is_made = |name: &str| {
        // sar without -p: device mapper and software RAID by their usual majors (Documentation/admin-guide/devices.txt).
        ["dm-", "md", "dev253-", "dev252-", "dev254-", "dev9-", "VolGroup", "drbd"]
            .iter()
            .any(|begin| name.starts_with(begin))
            || name.contains("mapper/")
    };
    let is_plain = |other: &Disk| {
        ["sd", "hd", "nvme", "xvd", "vd", "cciss", "dev8-", "dev65-", "dev259-", "dev3-"]
            .iter()
            .any(|begin| other.name.starts_with(begin))
    };
    if (is_made(name) || !is_plain(disk)) && all.iter().any(is_plain) {
        return false;
    }
    let is_part_of = |other: &Disk| {
        let rest = name.strip_prefix(other.name.as_str()).filter(|rest| !rest.is_empty());
        rest.is_some_and(|rest| is_number(rest) || rest.strip_prefix('p').is_some_and(is_number))
    };
    // `dev8-1` is no part of `dev8-`, and `nvme0n1p1` is one of `nvme0n1`.
    !all.iter().any(is_part_of) || name.starts_with("dev")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_and_what_is_made_of_disks_are_not_counted_twice() {
        let disk = |name: &str| Disk { name: name.to_owned(), ..Disk::default() };
        let whole = |names: &[&str]| -> Vec<String> {
            let all: Vec<Disk> = names.iter().map(|name| disk(name)).collect();
            all.iter().filter(|one| is_whole(one, &all)).map(|one| one.name.clone()).collect()
        };
        assert_eq!(whole(&["sda", "sda1", "sda12", "sdb", "dm-0", "loop0", "zram0"]), ["sda", "sdb"]);
        assert_eq!(whole(&["nvme0n1", "nvme0n1p1", "md127"]), ["nvme0n1"]);
        assert_eq!(whole(&["dev8-0", "dev8-16", "dev253-0"]), ["dev8-0", "dev8-16"]);
        assert_eq!(whole(&["dm-0", "dm-1"]), ["dm-0", "dm-1"], "nothing else is known");
    }
}
