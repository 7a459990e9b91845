//! `free` (procps 2 to procps-ng 4, BusyBox) and `smem -w`: what memory and swap there is, and how much of it is in use. `cachestat` (bcc,
//! perf-tools): how much page cache there is. `docker stats` and `podman stats`: what containers use of their limits.
//!
//! The layout is told by its headings. Sizes without a unit are KiB unless a command above says another one, or they cannot be
//! KiB: the kernel counts pages, which are multiples of four of them.

use super::listing::{Listing, MOST_KIB};
use super::merge::Assumed;
use super::snapshots::{KernelNumber, Snapshots};
use super::times::Stamp;
use super::words::{decimal, quoted};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::{GapReason, RawUnit};
use std::collections::BTreeMap;

const REMEDY: &str = "give what `free` prints, with its line of headings; `cat /proc/meminfo` says more";

/// Headings of every version.
const HEADINGS: [&str; 9] =
    ["total", "used", "free", "shared", "buffers", "cached", "buff/cache", "cache", "available"];

/// The headings since procps-ng 3.3.10, in this order in every language.
const FOREIGN: [&str; 6] = ["total", "used", "free", "shared", "buff/cache", "available"];

/// Below so many MiB a total without a unit may be GiB as well.
const LEAST_MIB: f64 = 200.0;

pub(super) fn recognises(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    headings(&words).is_some()
        || is_corrected(&words)
        || is_row(&words)
        || is_foreign_row(&words)
        || area(&words).is_some()
        || cache_headings(&words).is_some()
        || is_of_containers(&words)
}

/// `HITS MISSES DIRTIES HITRATIO BUFFERS_MB CACHED_MB` and what older versions have in between, the last two in MiB
/// (`tools/cachestat.py` of bcc, `fs/cachestat` of perf-tools): how many columns.
fn cache_headings(words: &[&str]) -> Option<usize> {
    let is_it = words.contains(&"MISSES") && words.contains(&"DIRTIES");
    matches!(words, [.., "BUFFERS_MB", "CACHED_MB" | "CACHE_MB"]).then_some(words.len()).filter(|_| is_it)
}

/// `CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %   …`, and podman's `ID   NAME   CPU %   MEM USAGE / LIMIT   …`.
fn is_of_containers(words: &[&str]) -> bool {
    words.windows(4).any(|four| four == ["MEM", "USAGE", "/", "LIMIT"])
}

/// A row below these: the container, what it uses and its limit, in KiB. docker takes the page cache that was used once
/// (`inactive_file`) off what it prints as used since 20.10; what a limit of 0 stands for nobody knows.
fn container<'l>(words: &[&'l str], has_id: bool) -> Option<(&'l str, f64, f64)> {
    let slash = words.iter().position(|word| *word == "/")?;
    let kib = |word: &str| size(word.trim_end_matches('B')).map(|(size, unit)| size * unit.unwrap_or(1.0 / 1024.0));
    let (used, limit) = (kib(words.get(slash.checked_sub(1)?)?)?, kib(words.get(slash + 1)?)?);
    let name = words.get(usize::from(has_id && slash > 3))?;
    words.get(slash + 2)?.strip_suffix('%').and_then(decimal)?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    (is_name && limit > 0.0 && used <= limit * 1.01).then_some((name, used, limit))
}

/// Areas of `smem -w`, in the order in which it prints them, each with what is used, and of that cache and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Area {
    Kernel,
    Programs,
    Free,
}

/// `kernel dynamic memory   22.6G   1.7G   21.0G`: the area, and its three sizes in KiB.
fn area(words: &[&str]) -> Option<(Area, [f64; 3])> {
    let (name, sizes) = words.split_at_checked(words.len().checked_sub(3)?)?;
    let area = match name {
        ["kernel", "dynamic", "memory"] => Area::Kernel,
        ["userspace", "memory"] => Area::Programs,
        ["free", "memory"] => Area::Free,
        _ => return None,
    };
    let kib: Option<Vec<f64>> =
        sizes.iter().map(|word| size(word).map(|(size, unit)| size * unit.unwrap_or(1.0))).collect();
    Some((area, kib?.try_into().ok()?))
}

/// `total used free shared buffers cached`, and the unit in KiB where it is known: `total: used: free: …`, the head of /proc/meminfo up to
/// 2.6, is in bytes.
fn headings<'l>(words: &[&'l str]) -> Option<(Vec<&'l str>, Option<f64>)> {
    let without_colons: Option<Vec<&str>> = words.iter().map(|word| word.strip_suffix(':')).collect();
    let unit = without_colons.is_some().then_some(1.0 / 1024.0);
    let names = without_colons.unwrap_or_else(|| words.to_vec());
    let is_one = names.len() >= 3 && names[..3] == HEADINGS[..3] && names.iter().all(|word| HEADINGS.contains(word));
    is_one.then_some((names, unit))
}

/// `-/+ buffers/cache:`, which only the old layout has.
fn is_corrected(words: &[&str]) -> bool {
    matches!(words, ["-/+", "buffers/cache:" | "buffers:", rest @ ..] if rest.len() == 2)
}

/// `Mem: 25598 2670 861 1 22065 22601`.
fn is_row(words: &[&str]) -> bool {
    matches!(words, ["Mem:", sizes @ ..] if (3..=7).contains(&sizes.len()) && sizes.iter().all(|word| size(word).is_some()))
}

/// `Speicher: 16305456 4823412 812344 345672 10669700 11012936`: the layout since procps-ng 3.3.10 in whatever language, told by what adds
/// up to its first number: what is used, free, and in buffers and caches; or, since 4.0, what is used and available.
fn is_foreign_row(words: &[&str]) -> bool {
    let [name, sizes @ ..] = words else { return false };
    let kib: Option<Vec<f64>> =
        sizes.iter().map(|word| size(word).map(|(size, unit)| size * unit.unwrap_or(1.0))).collect();
    let Some(&[total, used, free, _, cached, available]) = kib.as_deref() else { return false };
    let adds_up = |sum: f64| (sum - total).abs() <= total * 0.01;
    let is_name = name.ends_with(':') && name.chars().next().is_some_and(char::is_alphabetic) && *name != "Mem:";
    is_name && total > 0.0 && (adds_up(used + free + cached) || adds_up(used + available))
}

/// A number, and its unit in KiB where it has one. procps writes `3.8G` or `3.8Gi` for powers of 1024.
fn size(word: &str) -> Option<(f64, Option<f64>)> {
    let end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    let kib = match unit.trim_end_matches('i') {
        "" if unit.is_empty() => None,
        "B" => Some(1.0 / 1024.0),
        "K" => Some(1.0),
        "M" => Some(1024.0),
        "G" => Some(1024.0 * 1024.0),
        "T" => Some(1024.0 * 1024.0 * 1024.0),
        "P" => Some(1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => return None,
    };
    Some((decimal(digits)?, kib))
}

/// The unit in KiB that a command asks for: `free -m`, `free -g -t`, `free --mebi`.
fn asked(line: &str) -> Option<Option<f64>> {
    let mut words = line
        .split(|c: char| c.is_whitespace() || ";|&`".contains(c))
        .skip_while(|word| *word != "free" && !word.ends_with("/free"));
    words.next()?;
    let mut unit = Some(1.0);
    for word in words.take_while(|word| word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit())) {
        match word {
            "-m" | "--mebi" => unit = Some(1024.0),
            "-g" | "--gibi" => unit = Some(1024.0 * 1024.0),
            "-b" | "--bytes" => unit = Some(1.0 / 1024.0),
            "--mega" => unit = Some(1e6 / 1024.0),
            "--giga" => unit = Some(1e9 / 1024.0),
            "--kilo" => unit = Some(1e3 / 1024.0),
            "-h" | "--human" | "--si" => unit = None,
            // Several letters in one: `-mt`, `-ht`.
            _ if word.starts_with("--") || word.len() < 3 => {}
            _ if word.contains('m') => unit = Some(1024.0),
            _ if word.contains('g') => unit = Some(1024.0 * 1024.0),
            _ if word.contains('b') => unit = Some(1.0 / 1024.0),
            _ => {}
        }
    }
    Some(unit)
}

#[derive(Debug)]
pub(super) struct Free {
    snapshots: Snapshots,
    headings: Vec<String>,
    /// What a command asked for.
    asked: Option<f64>,
    /// KiB of a number without a unit, once it is known.
    unit: Option<f64>,
    /// The row above was one of memory in another language.
    is_foreign: bool,
    /// Columns of cachestat, below its headings.
    cache_columns: Option<usize>,
    /// Below headings of containers: whether their ids stand in front of their names.
    containers: Option<bool>,
    /// Of `smem -w`, until all of them are there.
    areas: BTreeMap<Area, [f64; 3]>,
    left_out: usize,
}

impl Free {
    pub(super) fn new(assumed: &Assumed) -> Free {
        let snapshots = Snapshots::new(Kind::Free, assumed.interval);
        Free {
            snapshots,
            headings: Vec::new(),
            asked: None,
            unit: None,
            is_foreign: false,
            cache_columns: None,
            containers: None,
            areas: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// The unit of a row of numbers without one. `None`: it cannot be told.
    fn unit_of(&mut self, sizes: &[f64]) -> Option<f64> {
        if let Some(unit) = self.asked.or(self.unit) {
            return Some(unit);
        }
        let total = sizes.first().copied().unwrap_or(0.0);
        let is_pages = sizes.iter().all(|size| *size % 4.0 == 0.0);
        let unit = match () {
            () if is_pages && total >= 32_768.0 => Some(1.0),
            () if (LEAST_MIB..32_768.0 * 1024.0).contains(&total) => Some(1024.0),
            () => None,
        };
        self.unit = unit;
        unit
    }

    fn leave_out(&mut self, reason: &str, detail: String) {
        self.left_out += 1;
        if self.left_out <= 10 {
            self.snapshots.listing.gap(Some("meminfo"), GapReason::Other(reason.to_owned()), detail);
        }
    }

    fn row(&mut self, number: usize, is_swap: bool, words: &[&str], line: &str) -> Result<(), Problem> {
        let sizes: Option<Vec<(f64, Option<f64>)>> = words.iter().map(|word| size(word)).collect();
        let Some(sizes) = sizes.filter(|sizes| (3..=7).contains(&sizes.len())) else {
            self.snapshots.listing.reject(number, line);
            return Ok(());
        };
        let bare: Vec<f64> = sizes.iter().filter(|(_, unit)| unit.is_none()).map(|(size, _)| *size).collect();
        let unit = match bare.as_slice() {
            [] => Some(1.0),
            // In a row with units only nothing has none.
            bare if bare.len() < sizes.len() => bare.iter().all(|size| *size == 0.0).then_some(1.0),
            bare if is_swap && self.asked.or(self.unit).is_none() => (bare[0] == 0.0).then_some(1.0),
            bare => self.unit_of(bare),
        };
        let Some(unit) = unit else {
            let detail = format!(
                "line {number}: the unit of its sizes cannot be told, and they were left out; the command above it would say it: '{}'",
                quoted(line)
            );
            self.leave_out("unit_unknown", detail);
            return Ok(());
        };
        let kib: Vec<f64> = sizes.iter().map(|(size, own)| size * own.unwrap_or(unit)).collect();
        let total = kib[0];
        let of_headings: Vec<&'static str> = if self.headings.is_empty() {
            HEADINGS[..3].to_vec()
        } else {
            self.headings.iter().filter_map(|own| HEADINGS.iter().copied().find(|known| known == own)).collect()
        };
        // A size is printed to two or three digits.
        let is_within = |size: f64| (0.0..=total * 1.01 + 1.0).contains(&size);
        let shared = of_headings.iter().position(|heading| *heading == "shared");
        let is_possible = total <= MOST_KIB as f64
            && kib.iter().enumerate().all(|(place, size)| Some(place) == shared || is_within(*size));
        if !is_possible {
            let detail = format!(
                "line {number}: sizes that no host has were left out, as containers with a wrong account show them: '{}'",
                quoted(line)
            );
            self.leave_out("impossible", detail);
            return Ok(());
        }
        let is_new = of_headings.contains(&"available") || of_headings.contains(&"buff/cache");
        for (heading, kib) in of_headings.into_iter().zip(kib) {
            let (source, name) = match (is_swap, heading) {
                (true, "total") => ("meminfo", "SwapTotal"),
                (true, "free") => ("meminfo", "SwapFree"),
                (true, "used") => (SOURCE, "swap_used"),
                (false, "total") => ("meminfo", "MemTotal"),
                (false, "free") => ("meminfo", "MemFree"),
                // Kernels before 2.6.32 do not count it, which reads as 0. In a container it can be that of its host (LXCFS).
                (false, "shared") if (is_new || kib > 0.0) && is_within(kib) => ("meminfo", "Shmem"),
                (false, "buffers") => ("meminfo", "Buffers"),
                (false, "cached") => ("meminfo", "Cached"),
                // With reclaimable slab.
                (false, "cache") => (SOURCE, "page_cache"),
                (false, "buff/cache") => (SOURCE, "buffers_and_cache"),
                (false, "available") => ("meminfo", "MemAvailable"),
                _ => continue,
            };
            self.put(source, name, kib, number)?;
        }
        Ok(())
    }

    fn put(&mut self, source: &'static str, name: &'static str, kib: f64, number: usize) -> Result<(), Problem> {
        let taken = KernelNumber {
            source,
            name,
            labels: "",
            unit: RawUnit::KiB,
            moves: Moves::Gauge,
            value: kib.round() as u64,
        };
        self.snapshots.put(&taken, None, number)
    }

    /// A row of cachestat. `None`: it is none.
    fn cache(&mut self, words: &[&str], number: usize) -> Option<Result<(), Problem>> {
        let columns = self.cache_columns?;
        let words = match words {
            // `-T` puts the time of day in front.
            [time, rest @ ..] if rest.len() + 1 == columns && time.contains(':') => {
                self.snapshots.stamp(Stamp::of(&[*time])?);
                rest
            }
            words if words.len() == columns => words,
            _ => return None,
        };
        let numbers: Option<Vec<f64>> = words.iter().map(|word| decimal(word.trim_end_matches('%'))).collect();
        let &[.., buffers, cached] = numbers?.as_slice() else { return None };
        let is_possible = |mib: f64| (0.0..=MOST_KIB as f64 / 1024.0).contains(&mib);
        if !is_possible(buffers) || !is_possible(cached) {
            return None;
        }
        let both = [("Buffers", buffers), ("Cached", cached)];
        Some(both.into_iter().try_for_each(|(name, mib)| self.put("meminfo", name, mib * 1024.0, number)))
    }

    /// A row of containers. `None`: it is none.
    fn container(&mut self, words: &[&str], number: usize) -> Option<Result<(), Problem>> {
        let (name, used, limit) = container(words, self.containers?)?;
        if limit > MOST_KIB as f64 {
            return None;
        }
        let labels = format!("cgroup={name}");
        let mut put = |source, name, kib: f64| {
            let value = (kib * 1024.0).round() as u64;
            let taken =
                KernelNumber { source, name, labels: &labels, unit: RawUnit::Bytes, moves: Moves::Gauge, value };
            self.snapshots.put(&taken, None, number)
        };
        Some(put(SOURCE, "container_used", used).and_then(|()| put("cgroup_memory", "max", limit)))
    }

    /// A row of `smem -w`. Its areas are worked out from one reading of /proc/meminfo, and told when all of them are there.
    fn area(&mut self, area: Area, sizes: [f64; 3], number: usize) -> Result<(), Problem> {
        self.areas.insert(area, sizes);
        let all = [Area::Kernel, Area::Programs, Area::Free].map(|area| self.areas.get(&area).copied());
        let [Some([kernel, kernel_cache, _]), Some([programs, mapped, own]), Some([free, ..])] = all else {
            return Ok(());
        };
        self.areas.clear();
        let total = kernel + programs + free;
        if total > MOST_KIB as f64 {
            return Ok(());
        }
        for (source, name, kib) in [
            ("meminfo", "MemTotal", total),
            ("meminfo", "MemFree", free),
            (SOURCE, "buffers_and_cache", kernel_cache + mapped),
            (SOURCE, "programs_at_most", own),
        ] {
            self.put(source, name, kib, number)?;
        }
        Ok(())
    }
}

impl Parser for Free {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(columns) = cache_headings(&words) {
            self.cache_columns = Some(columns);
            return Ok(());
        }
        if is_of_containers(&words) {
            self.containers =
                Some(words.first().is_some_and(|word| matches!(*word, "CONTAINER" | "ID")) && words.contains(&"NAME"));
            return Ok(());
        }
        if let Some(taken) = self.cache(&words, number) {
            return taken;
        }
        if let Some(taken) = self.container(&words, number) {
            return taken;
        }
        if let Some((headings, unit)) = headings(&words) {
            self.headings = headings.into_iter().map(str::to_owned).collect();
            self.unit = unit;
            return Ok(());
        }
        if let Some((area, sizes)) = area(&words) {
            return self.area(area, sizes, number);
        }
        if is_foreign_row(&words) {
            self.headings = FOREIGN.iter().map(|heading| (*heading).to_owned()).collect();
            self.is_foreign = true;
            return self.row(number, false, &words[1..], line);
        }
        let was_foreign = std::mem::take(&mut self.is_foreign);
        if was_foreign && words.len() == 4 && words[0].ends_with(':') {
            return self.row(number, true, &words[1..], line);
        }
        match words.as_slice() {
            [] => Ok(()),
            ["Mem:", sizes @ ..] => self.row(number, false, sizes, line),
            ["Swap:", sizes @ ..] => self.row(number, true, sizes, line),
            ["-/+" | "Low:" | "High:" | "Total:" | "Comm:", ..] => Ok(()),
            _ => {
                if let Some((stamp, _)) = Stamp::of_line(line) {
                    self.snapshots.stamp(stamp);
                } else if let Some(unit) = asked(line) {
                    self.snapshots.pause(line);
                    (self.asked, self.unit) = (unit, None);
                }
                Ok(())
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<Listing, Problem> {
        let nothing = self.snapshots.listing.nothing("size of memory as free prints it", REMEDY);
        self.snapshots.finish()?.ok_or(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{recording, values};
    use super::super::{Imported, parse};
    use super::*;
    use crate::recording::Recorded;

    fn read(text: &str) -> Imported {
        recording(&[(Kind::Free, text)])
    }

    fn gib(imported: &Imported, name: &str) -> Vec<f64> {
        values(imported, "meminfo", name)
            .iter()
            .map(|bytes| (bytes / (1u64 << 30) as f64 * 100.0).round() / 100.0)
            .collect()
    }

    #[test]
    fn both_layouts_are_told_by_their_headings() {
        let old = read(
            "             total       used       free     shared    buffers     cached\nMem:      16433308   16149456     283852       7240     132936    1425464\n\
             -/+ buffers/cache:   14591056    1842252\nSwap:            0          0          0\n",
        );
        assert_eq!(
            (gib(&old, "MemTotal"), gib(&old, "MemFree"), gib(&old, "Cached")),
            (vec![15.67], vec![0.27], vec![1.36])
        );
        assert_eq!((gib(&old, "SwapTotal"), gib(&old, "MemAvailable").len()), (vec![0.0], 0));
        let new = read(
            "               total        used        free      shared  buff/cache   available\nMem:           125Gi       109Gi        15Gi        30Mi       716Mi        14Gi\nSwap:          127Gi        69Gi        58Gi\n",
        );
        assert_eq!(
            (gib(&new, "MemTotal"), gib(&new, "MemAvailable"), gib(&new, "SwapFree")),
            (vec![125.0], vec![14.0], vec![58.0])
        );
        let wide = read(
            "total used free shared buffers cache available\nMem: 8000000 1000000 2000000 0 4000 3000000 6000000\n",
        );
        assert_eq!(
            (gib(&wide, "Buffers").len(), values(&wide, SOURCE, "page_cache").len(), gib(&wide, "Cached").len()),
            (1, 1, 0)
        );
    }

    #[test]
    fn the_unit_is_told_by_the_command_or_by_what_cannot_be() {
        const TABLE: &str = "              total        used        free      shared  buff/cache   available\nMem:          25598        2670         861           1       22065       22601\nSwap:          7168           0        7168\n";
        assert_eq!(gib(&read(&format!("$ free -m\n{TABLE}")), "MemTotal"), [25.0]);
        assert_eq!(gib(&read(TABLE), "MemTotal"), [25.0]);
        assert!(parse(Kind::Free, "total used free\nMem: 126 100 26\n", &Assumed::default()).is_err());
        assert_eq!(gib(&read("# free -gt\ntotal used free\nMem: 126 100 26\n"), "MemTotal"), [126.0]);
    }

    #[test]
    fn sizes_that_no_host_has_are_left_out() {
        let imported = read(
            "root@blah:~# free -m\n             total       used       free     shared    buffers     cached\nMem:         11912         58      11853         31          0         49\nSwap:   8796093010295          0 8796093010295\n",
        );
        assert_eq!((gib(&imported, "MemTotal").len(), gib(&imported, "SwapTotal").len()), (1, 0));
        assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "impossible"), "{:?}", imported.gaps());
        // A container may be shown what its host shares.
        let container = "              total        used        free      shared  buff/cache   available\n\
                         Mem:           8.0G        7.5G        485M         32G        2.6M        485M\nSwap:            0B          0B          0B\n";
        let container = read(container);
        assert_eq!((gib(&container, "MemTotal"), gib(&container, "Shmem").len()), (vec![8.0], 0));
        let problem = parse(Kind::Free, "total used free\nMem: 1000 2000 4000\n", &Assumed::default()).unwrap_err();
        assert!(problem.to_string().contains("no size of memory"));
    }

    #[test]
    fn what_smem_says_of_the_kernel_and_of_programs() {
        let rows = "$ smem -wk\nArea                           Used      Cache   Noncache\n\
                    firmware/hardware                 0          0          0\nkernel image                      0          0          0\n\
                    kernel dynamic memory         22.0G       1.5G      20.5G\nuserspace memory               4.0G       0.5G       3.5G\n\
                    free memory                    5.0G       5.0G          0\n";
        let imported = read(rows);
        assert_eq!((gib(&imported, "MemTotal"), gib(&imported, "MemFree")), (vec![31.0], vec![5.0]));
        let of_tool = |name| values(&imported, SOURCE, name)[0] / f64::from(1 << 30);
        assert_eq!((of_tool("buffers_and_cache"), of_tool("programs_at_most")), (2.0, 3.5));
        assert!(
            recognises("kernel dynamic memory   1280848    1036960     243888") && !recognises("free memory is low")
        );
        assert!(parse(Kind::Free, "userspace memory 4.0G 0.5G 3.5G\n", &Assumed::default()).is_err(), "a part of it");
    }

    #[test]
    fn what_cachestat_says_of_the_page_cache() {
        let mib = |imported: &Imported, name: &str| -> Vec<f64> {
            values(imported, "meminfo", name).iter().map(|bytes| bytes / f64::from(1 << 20)).collect()
        };
        let table = "    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB\n\
                     6458       18       27   99.72%          391       4871\n     110        0        7  100.00%          391       4870\n^C\n";
        let read_table = read(table);
        assert_eq!(
            (mib(&read_table, "Buffers"), mib(&read_table, "Cached")),
            (vec![391.0, 391.0], vec![4871.0, 4870.0])
        );
        let timed = "TIME         HITS   MISSES  DIRTIES    RATIO   BUFFERS_MB   CACHE_MB\n\
                     16:12:01      210        7       16    96.8%            1      3231\n16:12:02      211        0        0   100.0%            1      3232\n";
        assert_eq!(mib(&read(timed), "Cached"), [3231.0, 3232.0]);
        assert_eq!(super::super::kinds_in(table), [Kind::Free]);
        assert!(!recognises("HITS   MISSES  DIRTIES") && !recognises("hits misses dirties buffers_mb cached_mb"));
    }

    #[test]
    fn what_containers_use_of_their_limits() {
        let text = "CONTAINER ID   NAME     CPU %   MEM USAGE / LIMIT   MEM %    NET I/O         BLOCK I/O     PIDS\n\
                    f033623a8254   bark     3.97%   9.71MiB / 10MiB     97.10%   193kB / 170kB   177MB / 0B    59\n\
                    ecfaa87667a3   idle     0.00%   0B / 0B             0.00%    4.3kB / 4.04kB  0B / 0B       2\n";
        let imported = read(text);
        assert_eq!(super::super::kinds_in(text), [Kind::Free]);
        let of = |source, name| super::super::tests::timed(&imported, source, name, "cgroup=bark");
        let only = |source, name| of(source, name).into_iter().map(|(_, value)| value).collect::<Vec<f64>>();
        assert_eq!(only("cgroup_memory", "max"), [f64::from(10 << 20)]);
        assert_eq!(only(SOURCE, "container_used"), [(9.71 * f64::from(1 << 20)).round()]);
        // Without ids, in decimal units, and what is none.
        let short = ["NAME", "CPU", "%", "MEM", "USAGE", "/", "LIMIT"];
        assert!(is_of_containers(&short) && !is_of_containers(&["MEM", "USAGE", "LIMIT"]));
        let row = |line: &str| {
            container(&line.split_whitespace().collect::<Vec<_>>(), false).map(|(name, ..)| name.to_owned())
        };
        assert_eq!(row("bark 0.03% 6.2MiB / 10MiB 62.2%").as_deref(), Some("bark"));
        for line in [
            "bark 0.03% 12MiB / 10MiB 120%",
            "bark 0.03% x / 10MiB 62%",
            "/",
            "a / b",
            "10MiB / 10MiB",
            "bark 1% 1MiB / 2MiB",
        ] {
            assert_eq!(row(line), None, "{line}");
        }
    }

    #[test]
    fn screens_of_top_are_none() {
        for line in [
            "Mem:   1029356K total,  1023836K used",
            "MiB Mem :    914.2 total,    233.6 free",
            "Mem: 12K used, 4K free",
            "total 12",
        ] {
            assert!(!recognises(line), "{line}");
        }
        assert!(recognises("total        used        free      shared  buff/cache   available"));
    }
}
