//! The kernel's object caches as `slabtop` and `vmstat -m` print them and `/proc/slabinfo` has them (versions 1.1 to 2.1): all of it,
//! and the largest ones by name.

use super::listing::{Listing, MOST_KIB};
use super::merge::Assumed;
use super::snapshots::{KernelNumber, Snapshots};
use super::times::Stamp;
use super::words::{is_label, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::RawUnit;

const REMEDY: &str = "give what `slabtop -o` or `cat /proc/slabinfo` prints";

/// So many caches keep their names.
const MOST: usize = 20;

/// No table has more rows.
const MOST_ROWS: usize = 10_000;

/// No row is longer.
const LONGEST_ROW: usize = 400;

/// KiB of a page: slabinfo counts pages and does not say their size.
const PAGE: u64 = 4;

pub(super) fn recognises(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    is_head(line)
        || is_head_of_vmstat(&words)
        || total_size(line).is_some()
        || of_slabtop(&words).is_some()
        || of_slabinfo(&words).is_some()
        || begins_row(&words) && words.get(6..8) == Some(&[":", "tunables"])
}

/// `slabinfo - version: 2.1`.
fn is_head(line: &str) -> bool {
    line.trim_start().starts_with("slabinfo - version:")
}

/// `Cache                       Num  Total   Size  Pages`, of `vmstat -m`.
fn is_head_of_vmstat(words: &[&str]) -> bool {
    words == ["Cache", "Num", "Total", "Size", "Pages"]
}

/// `dentry  8245651 30399520  192  21` below that: objects in use, all of them, bytes of each, and how many a slab has.
fn of_vmstat<'l>(words: &[&'l str]) -> Option<Cache<&'l str>> {
    let [name, active, objects, size, _] = words else { return None };
    let (active, objects, size) = (number(active)?, number(objects)?, number(size)?);
    Some(Cache::of(name, objects.checked_mul(size)? / 1024, active, objects)).filter(|_| number(name).is_none())
}

/// ` Active / Total Size (% used)       : 47121380.33K / 47376581.93K (99.5%)`: KiB in use, and all.
fn total_size(line: &str) -> Option<(u64, u64)> {
    let (name, sizes) = line.split_once(':')?;
    if !name.trim().starts_with("Active / Total Size") {
        return None;
    }
    let words: Vec<&str> = sizes.split_whitespace().collect();
    let [active, "/", total, ..] = words.as_slice() else { return None };
    Some((kib(active)?, kib(total)?))
}

/// procps prints KiB, and from 4.0 on with other suffixes where asked.
fn kib(word: &str) -> Option<u64> {
    word.ends_with(|c: char| c.is_ascii_alphabetic()).then(|| suffixed(word, 1024.0, 1.0 / 1024.0))?
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cache<N> {
    name: N,
    kib: u64,
    /// Of that, room for objects that are not in use.
    unused_kib: u64,
}

impl<'l> Cache<&'l str> {
    fn of(name: &'l str, kib: u64, active: u64, objects: u64) -> Cache<&'l str> {
        let unused = u128::from(kib) * u128::from(objects.saturating_sub(active)) / u128::from(objects.max(1));
        Cache { name, kib, unused_kib: u64::try_from(unused).unwrap_or(0) }
    }
}

/// `734506368 734506368 100%    0.06K 11476662       64  45906648K ebitmap_node`.
fn of_slabtop<'l>(words: &[&'l str]) -> Option<Cache<&'l str>> {
    let [objects, active, used, size, slabs, each, cache, name @ ..] = words else { return None };
    let are_numbers = [objects, active, slabs, each].iter().all(|word| number(word).is_some());
    if !are_numbers || !used.ends_with('%') || !size.ends_with('K') {
        return None;
    }
    Some(Cache::of(name.first()?, kib(cache)?, number(active)?, number(objects)?))
}

/// `dentry 8245651 30399520 192 20 1 : tunables 120 60 8 : slabdata 1519976 1519976 19`, and in 2.4
/// `dentry_cache 12345 23456 128 500 700 1 : 252 126`.
fn of_slabinfo<'l>(words: &[&'l str]) -> Option<Cache<&'l str>> {
    let numbers = |words: &[&str]| words.iter().map(|word| number(word)).collect::<Option<Vec<u64>>>();
    let (name, counts, pages, slabs) = match words {
        [name, rest @ ..] if rest.contains(&"slabdata") => {
            let at = rest.iter().position(|word| *word == "slabdata")?;
            let counts = numbers(rest.get(..5)?)?;
            let pages = counts[4];
            (name, counts, pages, number(rest.get(at + 2)?)?)
        }
        // Five more columns where statistics are on.
        [name, rest @ ..] if rest.len() >= 9 && rest[6] == ":" => {
            let counts = numbers(&rest[..6])?;
            numbers(&rest[7..9])?;
            let (slabs, pages) = (counts[4], counts[5]);
            (name, counts, pages, slabs)
        }
        _ => return None,
    };
    let kib = slabs.checked_mul(pages)?.checked_mul(PAGE)?;
    let cache = Cache::of(name, kib, counts[0], counts[1]);
    (!name.starts_with('#') && number(name).is_none()).then_some(cache)
}

/// `dnotify cache  0  0  20  0  0  1` of version 1.1 on a kernel for one CPU: objects in use, all of them, bytes of each, slabs in use, all of
/// them, pages of each. Blanks in names are left out.
fn of_first_slabinfo(words: &[&str]) -> Option<Cache<String>> {
    let (name, counts) = words.split_at(words.len().checked_sub(6).filter(|at| *at > 0)?);
    let counts: Vec<u64> = counts.iter().map(|word| number(word)).collect::<Option<_>>()?;
    let kib = counts[4].checked_mul(counts[5])?.checked_mul(PAGE)?;
    let Cache { kib, unused_kib, .. } = Cache::of("", kib, counts[0], counts[1]);
    let is_name = number(name[0]).is_none() && !name.contains(&":");
    is_name.then(|| Cache { name: name.join("_"), kib, unused_kib })
}

fn number(word: &str) -> Option<u64> {
    word.parse().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))
}

#[derive(Debug)]
pub(super) struct Slab {
    snapshots: Snapshots,
    /// Caches of the table that is being read.
    caches: Vec<Cache<String>>,
    /// Whether the table of slabinfo begins with its head, so that it is all.
    is_whole: bool,
    /// What follows is a table of `vmstat -m`, whose rows look like many others.
    is_of_vmstat: bool,
    /// Or one of slabinfo 1.1, whose rows do.
    is_of_first_version: bool,
    /// The beginning of a row of slabinfo that a mailer broke.
    broken: Option<String>,
    last: usize,
}

/// Whether a line is the beginning of a row of slabinfo, up to somewhere behind its first numbers.
fn begins_row(words: &[&str]) -> bool {
    let [name, active, objects, size, each, pages, ..] = words else { return false };
    let are_numbers = [active, objects, size, each, pages].into_iter().all(|word| number(word).is_some());
    let is_rest = |word: &&str| number(word).is_some() || matches!(*word, ":" | "tunables" | "slabdata");
    are_numbers && number(name).is_none() && !words.contains(&"slabdata") && words[6..].iter().all(is_rest)
}

/// Whether it is the rest of one.
fn ends_row(words: &[&str]) -> bool {
    let is_rest = |word: &&str| number(word).is_some() || matches!(*word, ":" | "tunables" | "slabdata");
    !words.is_empty() && words.iter().all(is_rest)
}

impl Slab {
    pub(super) fn new(assumed: &Assumed) -> Slab {
        let snapshots = Snapshots::new(Kind::Slab, assumed.interval);
        Slab {
            snapshots,
            caches: Vec::new(),
            is_whole: false,
            is_of_vmstat: false,
            is_of_first_version: false,
            broken: None,
            last: 0,
        }
    }

    fn put(&mut self, name: &str, labels: &str, kib: u64) -> Result<(), Problem> {
        if kib > MOST_KIB {
            return Ok(());
        }
        let taken = KernelNumber { source: SOURCE, name, labels, unit: RawUnit::KiB, moves: Moves::Gauge, value: kib };
        self.snapshots.put(&taken, None, self.last)
    }

    fn close_table(&mut self) -> Result<(), Problem> {
        let mut caches = std::mem::take(&mut self.caches);
        if std::mem::take(&mut self.is_whole) && !caches.is_empty() {
            let total = caches.iter().fold(0u64, |sum, cache| sum.saturating_add(cache.kib));
            self.put("slab_total", "", total)?;
        }
        caches.sort_by(|a, b| b.kib.cmp(&a.kib).then(a.name.cmp(&b.name)));
        caches.dedup_by(|a, b| a.name == b.name);
        for Cache { name, kib, unused_kib } in caches.into_iter().filter(|cache| cache.kib > 0).take(MOST) {
            if is_label(&name) {
                let labels = format!("cache={name}");
                self.put("slab_cache", &labels, kib)?;
                self.put("slab_cache_unused", &labels, unused_kib)?;
            }
        }
        Ok(())
    }
}

impl Parser for Slab {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(begun) = self.broken.take().filter(|begun| ends_row(&words) && begun.len() < LONGEST_ROW) {
            return self.line(number, &format!("{begun} {line}"));
        }
        let of_first = of_first_slabinfo(&words).filter(|_| self.is_of_first_version);
        if of_first.is_none() && begins_row(&words) && of_slabinfo(&words).is_none() {
            self.broken = Some(line.trim_end().to_owned());
            return Ok(());
        }
        self.last = number;
        let of_vmstat = || of_vmstat(&words).filter(|_| self.is_of_vmstat);
        let row = of_slabtop(&words).or_else(|| of_slabinfo(&words)).or_else(of_vmstat);
        let owned = |row: Cache<&str>| Cache { name: row.name.to_owned(), kib: row.kib, unused_kib: row.unused_kib };
        let row = row.map(owned).or(of_first);
        if is_head(line) || is_head_of_vmstat(&words) {
            self.close_table()?;
            (self.is_whole, self.is_of_vmstat) = (true, !is_head(line));
            self.is_of_first_version = is_head(line) && line.trim_end().ends_with("version: 1.1");
        } else if let Some((active, total)) = total_size(line) {
            self.close_table()?;
            self.put("slab_total", "", total)?;
            self.put("slab_active", "", active.min(total))?;
        } else if let Some(Cache { name, kib, unused_kib }) = row {
            // The same name again: the next table, where nothing stands between.
            if self.caches.first().is_some_and(|first| first.name == name) {
                self.close_table()?;
            }
            if self.caches.len() < MOST_ROWS {
                self.caches.push(Cache { name, kib, unused_kib });
            }
        } else if let Some((stamp, _)) = Stamp::of_line(line) {
            self.close_table()?;
            self.snapshots.stamp(stamp);
        } else if !words.is_empty() && !line.trim_start().starts_with(['#', 'A', 'M']) && words[0] != "OBJS" {
            self.snapshots.pause(line);
        }
        Ok(())
    }

    /// A name may be cut.
    fn is_whole(&self, line: &str, _: &str) -> bool {
        of_slabinfo(&line.split_whitespace().collect::<Vec<&str>>()).is_some()
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.close_table()?;
        let nothing = self.snapshots.listing.nothing("size of an object cache", REMEDY);
        self.snapshots.finish()?.ok_or(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{recording, timed, values};
    use super::*;

    #[test]
    fn slabtop_says_how_much_it_is_and_which_are_the_largest() {
        let imported = recording(&[(
            Kind::Slab,
            " Active / Total Objects (% used)    : 739390584 / 740008326 (99.9%)\n Active / Total Size (% used)       : 47121380.33K / 47376581.93K (99.5%)\n\
             \n  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME                   \n734506368 734506368 100%    0.06K 11476662       64  45906648K ebitmap_node           \n\
             328160  80830  24%    0.50K  10255       32    164080K kmalloc-512            \n",
        )]);
        assert_eq!(values(&imported, SOURCE, "slab_total"), [47_376_582.0 * 1024.0]);
        assert_eq!(timed(&imported, SOURCE, "slab_cache", "cache=ebitmap_node")[0].1, 45_906_648.0 * 1024.0);
    }

    #[test]
    fn slabinfo_is_read_of_every_version_and_summed_where_it_is_whole() {
        const ROW: &str = "dentry            8245651 30399520    192   20    1 : tunables  120   60    8 : slabdata 1519976 1519976     19\n";
        let part = recording(&[(Kind::Slab, ROW)]);
        assert_eq!(timed(&part, SOURCE, "slab_cache", "cache=dentry")[0].1, 1_519_976.0 * 4096.0);
        // 22,153,869 of 30,399,520 objects are free.
        assert_eq!(timed(&part, SOURCE, "slab_cache_unused", "cache=dentry")[0].1, 4_430_773.0 * 1024.0);
        assert!(values(&part, SOURCE, "slab_total").is_empty());
        let whole = recording(&[(Kind::Slab, &format!("slabinfo - version: 2.1\n# name <active_objs>\n{ROW}"))]);
        assert_eq!(values(&whole, SOURCE, "slab_total"), [1_519_976.0 * 4096.0]);
        let old = recording(&[(
            Kind::Slab,
            "slabinfo - version: 1.1\ndentry_cache       3000   4000    128  100  134    1 :  252  126\n",
        )]);
        assert_eq!(values(&old, SOURCE, "slab_total"), [134.0 * 4096.0]);
        let of_one_cpu = recording(&[(
            Kind::Slab,
            "slabinfo - version: 1.1\ndnotify cache  0  0  20  1  2  1\ninode_cache  300042 300050  768 30005 30005  1\n",
        )]);
        assert_eq!(values(&of_one_cpu, SOURCE, "slab_total"), [30_007.0 * 4096.0]);
        assert_eq!(timed(&of_one_cpu, SOURCE, "slab_cache", "cache=inode_cache")[0].1, 30_005.0 * 4096.0);
        let of_vmstat = "$ vmstat -m\nCache                       Num  Total   Size  Pages\ndentry  1024 4096 256 16\n";
        let printed = recording(&[(Kind::Slab, of_vmstat)]);
        assert_eq!(values(&printed, SOURCE, "slab_total"), [1024.0 * 1024.0]);
        assert_eq!(timed(&printed, SOURCE, "slab_cache_unused", "cache=dentry")[0].1, 768.0 * 1024.0);
    }

    #[test]
    fn rows_that_a_mailer_broke_are_put_together() {
        let text = "slabinfo - version: 2.1\n\
                    xfs_inode         8245651 30399520  1024    4    1 : tunables   54   27    8\n\
                    : slabdata 7599880 7599880      0\n\
                    dentry            8245651 30399520    192   20    1 : tunables  120   60    8 :\n\
                    slabdata 1519976 1519976      0\n";
        assert!(recognises(text.lines().nth(1).unwrap()) && !recognises(text.lines().nth(2).unwrap()));
        let imported = recording(&[(Kind::Slab, text)]);
        assert_eq!(timed(&imported, SOURCE, "slab_cache", "cache=dentry")[0].1, 1_519_976.0 * 4096.0);
        assert_eq!(values(&imported, SOURCE, "slab_total"), [(1_519_976.0 + 7_599_880.0) * 4096.0]);
    }
}
