//! `dstat` as text (0.6 to 0.7.4, and `pcp dstat`): groups of columns under titles, with `|` between them.
//!
//! The first row holds averages since boot: its rates are left out. Sizes have a suffix of 1024 (`B`, `k`, `M`, `G`), counts one of
//! 1000. What `used` is changed with its versions (0.7.4 leaves reclaimable slab out, and counts shared memory), so no total is made of
//! it. Of single interfaces only the group of all is taken; single disks count where there is no group of all, and single CPUs are averaged
//! where all of them are there and no group of all is.

use super::disks::{Disk, Disks};
use super::listing::{Listing, ListingClock, count};
use super::merge::Assumed;
use super::shares::{self, Values};
use super::times::{Running, SECOND, clock, day};
use super::words::{decimal, quoted};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts};
use crate::recording::GapReason;
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the output of `dstat -tcmsgdpy 5`, with the two lines of headings above it";

/// A group of columns: its title and its headings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    title: String,
    headings: Vec<String>,
}

impl Group {
    /// A clock stands in it, in one word or two.
    fn is_clock(&self) -> bool {
        matches!(self.headings.as_slice(), [word] if matches!(word.as_str(), "time" | "date/time" | "epoch"))
            || matches!(self.headings.as_slice(), [date, time] if date == "date" && time == "time")
    }

    /// Whether anything of it is taken.
    fn is_used(&self) -> bool {
        self.headings.iter().any(|heading| known(self, heading).is_some())
    }

    /// The single disk it is about: `dsk/sda`.
    fn disk(&self) -> Option<&str> {
        self.title.strip_prefix("dsk/").filter(|disk| *disk != "total" && !disk.is_empty())
    }

    /// The single CPU it is about: `cpu3-usage`.
    fn cpu(&self) -> Option<u32> {
        self.title.strip_prefix("cpu")?.strip_suffix("-usage")?.parse().ok()
    }
}

#[derive(Debug)]
pub(super) struct Dstat {
    listing: Listing,
    running: Running,
    interval: Option<i64>,
    /// The titles of the line before, which wait for their headings, and that line.
    titles: Option<(Vec<String>, String)>,
    groups: Vec<Group>,
    /// How many groups stand between two `|`: those of single CPUs and disks have `:` between them. Names of processes have it, too.
    together: Vec<usize>,
    /// No row since the program began.
    is_first: bool,
    rows: i64,
    has_times: bool,
    disks: Disks,
    /// How many single CPUs stood for all.
    cpus: usize,
    /// Of single CPUs not all were there.
    is_without_a_cpu: bool,
    groups_left: BTreeSet<String>,
    columns_left: BTreeSet<String>,
}

/// Whether a line is one of titles, or of headings.
pub(super) fn recognises(line: &str) -> bool {
    let is_of_disks = |title: &String| title.split('-').any(is_known);
    titles(line).is_some_and(|titles| titles.iter().any(|title| is_known(title) || is_of_disks(title)))
}

/// A group that no other tool has under such a title.
fn is_known(title: &str) -> bool {
    let is_of_disk = title.strip_prefix("dsk/").is_some_and(|disk| !disk.is_empty());
    is_of_disk
        || matches!(
            title,
            "total-cpu-usage" | "total-usage" | "net/total" | "memory-usage" | "paging" | "virtual-memory" | "io/total"
        )
}

/// `----total-cpu-usage---- -dsk/total- ---paging--`. A title as long as its columns, such as the name of a disk, has no dashes. Those of
/// single CPUs and disks have no blank between them: `---cpu0-usage------cpu1-usage---`.
fn titles(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_dashed = |word: &&str| word.starts_with('-') && word.ends_with('-') && word.trim_matches('-').len() > 1;
    // At the right edge of a screen the last title may be cut down to its dashes.
    let is_cut = words.len() > 1 && words.last().is_some_and(|word| word.bytes().all(|byte| byte == b'-'));
    let words = &words[..words.len() - usize::from(is_cut)];
    let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte));
    let are_dashed = !words.is_empty() && words.iter().all(is_dashed);
    // Names of disks as long as their columns have no dashes but those between them: `dsk/nvme0n1-dsk/nvme1n1`.
    let is_of_disks =
        |word: &&str| word.contains('-') && word.split('-').any(|name| name.starts_with("dsk/") && name.len() > 4);
    let is_told = |word: &&str| (is_dashed(word) && titles_of(word).any(is_known)) || is_of_disks(word);
    let are_known = words.iter().any(is_told);
    let are_titles = are_dashed || (are_known && words.iter().all(|word| is_dashed(word) || is_plain(word)));
    are_titles.then(|| words.iter().flat_map(|word| titles_of(word)).map(str::to_owned).collect())
}

/// Titles between which only dashes stand.
fn titles_of(word: &str) -> impl Iterator<Item = &str> {
    word.split("--").map(|title| title.trim_matches('-')).filter(|title| !title.is_empty())
}

/// The titles above the groups of a line of headings, by where they stand: a title as long as its columns has no dashes of its own
/// (`--dsk/sdb---dsk/nvme0n1-dsk/bcache0`).
fn titles_above(title_line: &str, headings: &str) -> Vec<String> {
    let above: Vec<char> = title_line.chars().collect();
    let mut titles = Vec::new();
    let mut from = 0;
    for part in headings.split_inclusive(['|', ':']) {
        let length = part.chars().count();
        let is_open = part.ends_with(['|', ':']);
        let to = (from + length - usize::from(is_open)).min(above.len());
        let title: String = above.get(from..to).unwrap_or_default().iter().collect();
        if !part.trim_end_matches(['|', ':']).trim().is_empty() {
            titles.push(title.trim_matches([' ', '-']).to_owned());
        }
        from += length;
    }
    titles
}

/// The parts of a line that `|` stands between, without those that are blank.
fn parts_of(line: &str) -> impl Iterator<Item = &str> {
    line.split('|').filter(|part| !part.trim().is_empty())
}

/// The words of each group, where so many groups stand together in each part, with `:` between them; one, where it is not known.
fn words_of_groups<'l>(parts: impl Iterator<Item = &'l str>, together: &[usize]) -> Vec<Vec<&'l str>> {
    let together = together.iter().chain(std::iter::repeat(&1));
    let groups = parts.zip(together).flat_map(|(part, together)| part.splitn(*together, ':'));
    groups.map(|group| group.split_whitespace().collect()).collect()
}

/// What a heading in a group counts.
fn known(group: &Group, heading: &str) -> Option<&'static Column> {
    // The title of the whole has been written in three ways; those of single CPUs are put together later.
    let title = match group.title.as_str() {
        _ if group.cpu().is_some() => "cpu",
        _ if group.disk().is_some() => "dsk/total",
        "total-cpu-usage" | "total-usage" | "cpu-usage" => "cpu",
        "memory-usage" | "memory" => "memory",
        title => title,
    };
    tools::of_dstat(title, heading)
}

/// `1.2M`, `340k`, `12B`, `0`: in the units that [`Listing::put_decimal`] takes.
fn number(word: &str, column: &Column) -> Option<f64> {
    let is_size = matches!(column.counts, Counts::Size | Counts::SizePerSecond);
    let thousand: f64 = if is_size { 1024.0 } else { 1000.0 };
    let (digits, power) = match word.as_bytes().last()? {
        b'B' | b'b' => (&word[..word.len() - 1], 0),
        b'k' | b'K' => (&word[..word.len() - 1], 1),
        b'm' | b'M' => (&word[..word.len() - 1], 2),
        b'g' | b'G' => (&word[..word.len() - 1], 3),
        b't' | b'T' => (&word[..word.len() - 1], 4),
        _ => (word, 0),
    };
    let value = (0..power).fold(decimal(digits)?, |value, _| value * thousand);
    Some(if is_size { value / 1024.0 } else { value })
}

impl Dstat {
    pub(super) fn new(assumed: &Assumed) -> Dstat {
        Dstat {
            listing: Listing::new(Kind::Dstat, ListingClock::Foreign),
            running: Running::default(),
            interval: assumed.interval,
            titles: None,
            groups: Vec::new(),
            together: Vec::new(),
            is_first: true,
            rows: 0,
            has_times: false,
            disks: Disks::default(),
            cpus: 0,
            is_without_a_cpu: false,
            groups_left: BTreeSet::new(),
            columns_left: BTreeSet::new(),
        }
    }

    /// `$ dstat -tcm 5 12`: five seconds between two rows.
    fn command(&mut self, line: &str) -> bool {
        let mut words = line.split(|c: char| c.is_whitespace() || "`'\"$#".contains(c)).filter(|word| !word.is_empty());
        let is_program = |word: &str| word == "dstat" || word.ends_with("/dstat");
        if !words.by_ref().any(is_program) {
            return false;
        }
        let seconds = words.find_map(|word| word.parse::<i64>().ok().filter(|seconds| (1..=86_400).contains(seconds)));
        self.interval = seconds.map(|seconds| seconds * SECOND).or(self.interval);
        self.is_first = true;
        true
    }

    /// The line below the titles.
    fn headings(&mut self, (mut titles, title_line): (Vec<String>, String), line: &str) -> bool {
        let together: Vec<usize> = parts_of(line).map(|part| part.split(':').count()).collect();
        let words = words_of_groups(parts_of(line), &together);
        if words.len() != titles.len() {
            titles = titles_above(&title_line, line);
        }
        if words.len() != titles.len() {
            return false;
        }
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        let groups: Vec<Group> =
            titles.into_iter().zip(words).map(|(title, words)| Group { title, headings: owned(words) }).collect();
        // The same again stands above each screen; others are of another call.
        self.is_first |= groups != self.groups;
        for group in groups.iter().filter(|group| !group.is_clock()) {
            let is_used = |heading: &String| known(group, heading).is_some();
            if !group.is_used() {
                if self.groups_left.len() < 200 {
                    self.groups_left.insert(quoted(&group.title));
                }
                continue;
            }
            for heading in group.headings.iter().filter(|heading| !is_used(heading) && heading.as_str() != "used") {
                if self.columns_left.len() < 200 {
                    self.columns_left.insert(format!("{} {}", quoted(&group.title), quoted(heading)));
                }
            }
        }
        self.groups = groups;
        self.together = together;
        true
    }

    /// The instant of a row, by its clock or by how often rows come.
    fn instant(&mut self, clocks: &[&str], number: usize) -> i64 {
        let read = match clocks {
            [epoch] if decimal(epoch).is_some_and(|seconds| seconds > 1e8) => {
                decimal(epoch).map(|seconds| ((seconds * SECOND as f64) as i64, true, ListingClock::Utc))
            }
            // `24-11 21:59:12` has no year, and so no date.
            [date, time] => clock(&[time]).map(|(at, _)| match day(date) {
                Some(day) => (day.midnight + at, true, ListingClock::Local),
                None => (at, false, ListingClock::TimeOfDay),
            }),
            [time] => clock(&[time]).map(|(at, _)| (at, false, ListingClock::TimeOfDay)),
            _ => None,
        };
        match read {
            Some((at, has_date, clock)) => {
                self.has_times = true;
                self.listing.clock = clock;
                self.listing.instant(&mut self.running, at, has_date, number)
            }
            None => self.rows * self.interval.unwrap_or(SECOND),
        }
    }

    /// A row, when it has as many words in each group as there are headings.
    fn row(&mut self, line: &str, number_of_line: usize) -> Result<bool, Problem> {
        let parts = words_of_groups(line.split('|'), &self.together);
        let parts =
            if parts.len() == self.groups.len() { parts } else { words_of_groups(parts_of(line), &self.together) };
        if self.groups.is_empty() || parts.len() != self.groups.len() {
            return Ok(false);
        }
        // Who did most is a name and numbers, or nobody.
        let fits = |(group, part): (&Group, &Vec<&str>)| {
            group.is_clock() || group.headings.len() == part.len() || !group.is_used()
        };
        if !self.groups.iter().zip(&parts).all(fits) {
            return Ok(false);
        }
        let mut values: Values = Vec::new();
        let mut single: BTreeMap<u32, Values> = BTreeMap::new();
        let mut disks: Vec<Disk> = Vec::new();
        let mut disk_of = None;
        let mut clocks: Vec<&str> = Vec::new();
        for (at, (group, part)) in self.groups.iter().zip(&parts).enumerate() {
            if group.is_clock() {
                clocks.clone_from(part);
                continue;
            }
            for (heading, word) in group.headings.iter().zip(part) {
                if let Some(column) = known(group, heading) {
                    let Some(value) = number(word, column) else { return Ok(false) };
                    if let Some(name) = group.disk() {
                        // Two names may have been cut to the same.
                        if disk_of != Some(at) {
                            disk_of = Some(at);
                            let is_taken = disks.iter().any(|disk| disk.name == name);
                            let name = if is_taken { format!("{name}-{at}") } else { name.to_owned() };
                            disks.push(Disk { name, ..Disk::default() });
                        }
                        let Some(disk) = disks.last_mut() else { continue };
                        match column.name {
                            "disk_read_per_second" => disk.read = Some(value),
                            _ => disk.written = Some(value),
                        }
                        continue;
                    }
                    let row = group.cpu().map_or(&mut values, |cpu| single.entry(cpu).or_default());
                    row.push((column, value));
                }
            }
        }
        let has_whole = values.iter().any(|(column, _)| column.counts == Counts::Share);
        if !single.is_empty() && !has_whole {
            let count = single.len();
            match shares::of_all_cpus(single, None) {
                Some(whole) => {
                    self.cpus = count;
                    values.extend(whole);
                }
                None => self.is_without_a_cpu = true,
            }
        }
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first {
            values.retain(|(column, _)| !column.is_rate());
        }
        let at = self.instant(&clocks, number_of_line);
        self.listing.touch(at);
        shares::put(&mut self.listing, at, &values)?;
        let has_total = values.iter().any(|(column, _)| column.name.starts_with("disk_"));
        if !is_first && !has_total {
            self.disks.put(&mut self.listing, at, &disks)?;
        }
        self.rows += 1;
        Ok(true)
    }
}

impl Parser for Dstat {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let plain = line.trim();
        if plain.is_empty() {
            return Ok(());
        }
        if let Some(titles) = self.titles.take()
            && self.headings(titles, line.trim_end())
        {
            return Ok(());
        }
        if let Some(found) = titles(plain) {
            self.titles = Some((found, line.trim_end().to_owned()));
            return Ok(());
        }
        if self.row(plain, number)? || self.command(plain) || plain.starts_with("You did not select any stats") {
            return Ok(());
        }
        self.listing.reject(number, line);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if self.rows == 0 {
            return Err(self.listing.nothing("row of dstat", REMEDY));
        }
        if !self.has_times && self.interval.is_none() && self.rows > 1 {
            self.listing.note(format!(
                "dstat: {} have no clock; taken to be a second apart (--about interval=5s says otherwise)",
                count(self.rows as usize, "row")
            ));
        }
        if let Some(text) = super::words::left_out(Kind::Dstat, &self.groups_left, &self.columns_left) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), text);
        }
        if self.cpus > 0 {
            let last = self.cpus - 1;
            self.listing.note(format!(
                "dstat: there is no group of all CPUs; the mean of CPU 0 to {last} is taken for it, and there may be more of them"
            ));
        }
        if self.is_without_a_cpu {
            self.listing.note(
                "dstat: single CPUs without the group of all, and not all of them: they do not speak for the host"
                    .to_owned(),
            );
        }
        self.listing.resolution("dstat prints whole percents and three or four characters of sizes");
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge::{Imported, merge};
    use super::super::parse;
    use super::*;
    use crate::recording::Recorded;

    fn read(text: &str) -> Imported {
        let listing = parse(Kind::Dstat, text, &Assumed::default()).unwrap_or_else(|problem| panic!("{problem}"));
        merge(vec![("dstat.txt".to_owned(), listing)], &Assumed::default())
    }

    #[track_caller]
    fn values(imported: &Imported, source: &str, name: &str) -> Vec<f64> {
        super::super::tests::values(imported, source, name)
    }

    const USUAL: &str = "You did not select any stats, using -cdngy by default.\n\
        ----total-cpu-usage---- -dsk/total- -net/total- ---paging-- ---system--\n\
        usr sys idl wai hiq siq| read  writ| recv  send|  in   out | int   csw \n\
         18   5  76   1   0   0|  58k   61k|   0     0 |   0     0 | 425   830 \n\
          2  71   7  18   1   1|1.5M   12M| 120B  240B| 340k 1024k|1200    3k\n";

    #[test]
    fn rates_of_the_first_row_are_since_boot_and_suffixes_are_of_what_is_counted() {
        let read = read(USUAL);
        assert_eq!(values(&read, "import", "cpu_user_percent"), [0.02]);
        assert_eq!(values(&read, "import", "cpu_system_percent"), [0.73], "with interrupts");
        assert_eq!(values(&read, "import", "swap_in_per_second"), [340.0 * 1024.0]);
        assert_eq!(values(&read, "import", "swap_out_per_second"), [1024.0 * 1024.0]);
        assert_eq!(values(&read, "import", "disk_read_per_second"), [1.5 * 1024.0 * 1024.0]);
        assert_eq!(values(&read, "import", "context_switches_per_second"), [3000.0]);
        assert!(read.gaps().iter().any(|gap| gap.detail.contains("net/total")), "{:?}", read.gaps());
    }

    #[test]
    fn memory_has_no_total_and_rows_have_their_clock() {
        let text = "$ dstat -tms 5\n----system---- ------memory-usage----- ----swap---\n\
             time     | used  buff  cach  free| used  free\n\
            24-11 21:59:12|1000M  100M 2000M  900M|   0  2048M\n\
            24-11 21:59:17|1100M  100M 2000M  800M|   0  2048M\n";
        // One word of heading, two of clock.
        let read = read(text);
        assert!(values(&read, "meminfo", "MemTotal").is_empty());
        assert_eq!(values(&read, "meminfo", "MemFree"), [900.0 * 1048576.0, 800.0 * 1048576.0]);
        assert_eq!(values(&read, "meminfo", "SwapFree").len(), 2);
        let timed = super::super::tests::timed(&read, "meminfo", "MemFree", "");
        assert_eq!(timed[1].0 - timed[0].0, 5_000_000_000);
    }

    #[test]
    fn single_disks_count_where_there_is_no_group_of_all() {
        let text = "--dsk/sdb---dsk/nvme0n1-dsk/bcache0 ---io/sdb----io/nvme0n1--io/bcache0 -net/total-\n \
                     read  writ: read  writ: read  writ| read  writ: read  writ: read  writ| recv  send\n \
                     332B  181k: 167k  937k:  20B  303k|0.01  11.2 :11.9  42.1 :0.00  5.98 |   0     0\n   \
                       0     2k:  64k  5632B:   0     0|   0     0 :   0  4.00 :   0  3.00 |2200B 2506B\n";
        let read = read(text);
        assert_eq!(values(&read, "import", "disk_read_per_second"), [64.0 * 1024.0], "the first row is since boot");
        assert_eq!(values(&read, "import", "disk_written_per_second"), [2048.0 + 5632.0]);
    }

    #[test]
    fn who_did_most_may_be_nobody_or_a_name_of_several_words() {
        let text = "----system---- ----total-cpu-usage---- ---most-expensive--- ---paging--\n     \
                    time     |usr sys idl wai hiq siq|  block i/o process   |  in   out \n\
                    07-10 03:52:21| 35  11  51   1   0   1|                    |   0     0\n\
                    07-10 03:52:22| 35  12  51   1   0   1|Web Content   0 16k |   0     0\n\
                    07-10 03:52:23| 33  13  52   2   0   1|                    |   0     0\n";
        assert_eq!(values(&read(text), "import", "cpu_system_percent"), [0.13, 0.14]);
        let last = "----total-cpu-usage---- ---most-expensive---\nusr sys idl wai hiq siq|  block i/o process\n \
                    35  11  51   1   0   1|\n 35  12  51   1   0   1|\n";
        assert_eq!(values(&read(last), "import", "cpu_system_percent"), [0.13]);
    }

    #[test]
    fn single_cpus_stand_for_the_host_where_all_of_them_are_there() {
        let of = |titles: &str, row: &str| {
            let text = format!(
                "------memory-usage----- {titles} ----system---- --\n used  buff  cach  free|usr sys idl wai:usr sys idl wai|     time     \n\
                 1811M  283M  880M  979M|{row}|24-11 18:08:29\n1811M  283M  880M  979M|{row}|24-11 18:08:30\n"
            );
            read(&text)
        };
        let both = of("---cpu0-usage-----cpu1-usage---", " 10  20  70   0: 20  40  40   0");
        assert_eq!(values(&both, "import", "cpu_system_percent"), [0.3]);
        assert_eq!(values(&both, "meminfo", "MemFree").len(), 2);
        let others = of("---cpu2-usage-----cpu3-usage---", " 10  20  70   0: 20  40  40   0");
        assert!(values(&others, "import", "cpu_system_percent").is_empty());
        assert!(others.marks().unwrap().iter().any(|mark| mark.text.contains("not all of them")));
    }

    #[test]
    fn a_name_with_a_colon_is_one() {
        let text = "------memory-usage----- ---most-expensive---\n used  buff  cach  free|  cpu process   \n\
                    1811M  283M  880M  979M|kworker/0:1   5\n1811M  283M  880M  979M|postgres: x 7\n1811M  283M  880M  900M|java  9\n";
        let free = values(&read(text), "meminfo", "MemFree");
        assert_eq!(free.first(), Some(&(979.0 * 1048576.0)), "{free:?}");
        assert_eq!(free.last(), Some(&(900.0 * 1048576.0)), "{free:?}");
    }

    #[test]
    fn a_table_of_dashes_is_no_dstat() {
        for line in ["---- -------- ----", "-total- -x-", "procs -----------memory---------- ---swap--", "- - -", "--"]
        {
            assert!(!recognises(line), "{line}");
        }
        assert!(recognises("--total-cpu-usage-- -dsk/total-"));
        assert!(parse(Kind::Dstat, "-a- -b-\n1 2\n", &Assumed::default()).is_err());
    }
}
