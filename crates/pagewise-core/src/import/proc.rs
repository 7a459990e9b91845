//! Text of files below `/proc`, as people paste it and as collectors keep it: `vmstat`, `meminfo`, `stat`, `zoneinfo`, `buddyinfo`, `cgroups`,
//! `allocinfo` and `pressure/*`, once or several times, with commands, file names and dates between.
//!
//! Which file a line is of is known from the line above that names it, or else from its form, where no other file has such
//! lines. What a line means is known to [`kernel_text`](crate::kernel_text), which reads the live files, too.

mod allocations;
mod files;
mod nodes;
mod page_types;
mod retold;
mod zones;

use self::allocations::Allocations;
use self::files::{
    CGROUPS, FILES, GROUP_FILES, GROUP_NUMBER, KernelFile, ZONEINFO, file_of, group_file, is_buddies, is_number,
    is_pressure, of_series, paths, with_path,
};
use self::nodes::of_nodes;
use self::page_types::{PageTypes, of_page_types};
use self::retold::{SUMMARY_OF_CPU, of_summary, side_by_side};
use self::zones::{OfZones, Zones};
use super::listing::{ListedSeries, Listing, MOST_KIB};
use super::merge::Assumed;
use super::snapshots::{KernelNumber, Snapshots};
use super::times::Stamp;
use super::words::is_label;
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::{Kind as Moves, describe, tools};
use crate::kernel_text::visit::{Each, Number};
use crate::recording::{GapReason, RawUnit};
use std::collections::{BTreeSet, VecDeque};

const ALLOCINFO: &str = "/proc/allocinfo";

const REMEDY: &str = "give the text of /proc/vmstat, /proc/meminfo, /proc/stat, /proc/buddyinfo or /proc/pressure/*, best \
                      twice with `date` in front of each";

/// Within a container some of meminfo may be the container's and the rest the host's: lxcfs puts in what the group may use and uses
/// (`proc_meminfo_read`, src/proc_fuse.c, 3.0). Such a file shows more memory in use than there is; a share of one in the other means nothing.
fn leave_out_container(listing: &mut Listing) {
    const OF_CONTAINER: [&str; 10] = [
        "MemTotal",
        "MemFree",
        "MemAvailable",
        "Buffers",
        "Cached",
        "SwapCached",
        "SwapTotal",
        "SwapFree",
        "Slab",
        "SReclaimable",
    ];
    let number_of = |name: &str| {
        let is_it =
            |column: &ListedSeries| column.source == "meminfo" && column.name == name && column.labels.is_empty();
        listing.columns.iter().position(is_it).map(|at| at as u32)
    };
    let (Some(total), Some(active), Some(inactive)) =
        (number_of("MemTotal"), number_of("Active"), number_of("Inactive"))
    else {
        return;
    };
    let is_of_both = |row: &Vec<(u32, u64)>| {
        let value = |column: u32| row.iter().find(|(other, _)| *other == column).map(|(_, value)| *value);
        let used = value(active).zip(value(inactive)).map(|(active, inactive)| active.saturating_add(inactive));
        used.zip(value(total)).is_some_and(|(used, total)| used > total.saturating_add(total / 50))
    };
    if listing.rows.values().any(is_of_both) {
        let columns: Vec<u32> = OF_CONTAINER.iter().filter_map(|name| number_of(name)).collect();
        listing.leave_out(&columns);
        listing.note(
            "meminfo: more memory is in use than there is: MemTotal and others are a container's (lxcfs), the rest is the host's; \
             the container's are left out",
        );
    }
}

/// Which file the next lines are of.
#[derive(Clone, Copy, Debug)]
enum Section {
    /// What their form says.
    ByForm,
    /// This one: it was named.
    Named(&'static KernelFile),
    /// This one by the form of the line before.
    Like(&'static KernelFile),
    /// One that is not imported.
    Other,
}

#[derive(Debug)]
pub(super) struct Proc {
    snapshots: Snapshots,
    section: Section,
    /// Pressure files whose lines are still to come, after a command that names several.
    pressures: VecDeque<&'static KernelFile>,
    has_some: bool,
    /// The control group whose files follow.
    group: String,
    zones: Zones,
    /// Parts of all CPU time that were printed below each other.
    ticks: Vec<u64>,
    page_types: PageTypes,
    allocations: Allocations,
    files_left: BTreeSet<String>,
}

impl Proc {
    pub(super) fn new(assumed: &Assumed) -> Proc {
        Proc {
            snapshots: Snapshots::new(Kind::Proc, assumed.interval),
            section: Section::ByForm,
            pressures: VecDeque::new(),
            has_some: false,
            group: String::new(),
            zones: Zones::default(),
            ticks: Vec::new(),
            page_types: PageTypes::default(),
            allocations: Allocations::default(),
            files_left: BTreeSet::new(),
        }
    }

    /// A part of all CPU time, as `vmstat -s` prints them below each other; whether the line was one.
    fn ticks(&mut self, text: &str, number: usize) -> Result<bool, Problem> {
        let of_cpu = of_summary(text, &SUMMARY_OF_CPU);
        if let Some((value, _)) = of_cpu.filter(|(_, place)| *place == self.ticks.len()) {
            self.ticks.push(value);
        }
        let is_whole = self.ticks.len() == SUMMARY_OF_CPU.len() || (of_cpu.is_none() && self.ticks.len() >= 4);
        if let Some(stat) = file_of("/proc/stat").filter(|_| is_whole) {
            let words: Vec<String> = std::mem::take(&mut self.ticks).iter().map(u64::to_string).collect();
            self.take(stat, &format!("cpu {}", words.join(" ")), number, text)?;
        }
        if of_cpu.is_none() {
            self.ticks.clear();
        }
        Ok(of_cpu.is_some())
    }

    /// A line of a tool that prints what these files have; whether it was one.
    fn retold(&mut self, text: &str, words: &[&str], number: usize) -> Result<bool, Problem> {
        let Some(lines) = retold::as_in_files(text, words) else { return Ok(false) };
        for (path, line) in lines {
            if let Some(file) = file_of(path) {
                self.take(file, &line, number, text)?;
            }
        }
        Ok(true)
    }

    /// A row of `/proc/pagetypeinfo`; whether it was one.
    fn page_types(&mut self, words: &[&str], number: usize) -> Result<bool, Problem> {
        let Some((zone, counts)) = of_page_types(words) else {
            self.close_page_types()?;
            return Ok(false);
        };
        if self.page_types.is_another(&zone, &counts) {
            self.close_page_types()?;
        }
        self.page_types.add(zone, &counts, number);
        Ok(true)
    }

    fn close_page_types(&mut self) -> Result<(), Problem> {
        match self.page_types.close().zip(file_of("/proc/buddyinfo")) {
            Some(((number, line), file)) => self.take(file, &line, number, &line),
            None => Ok(()),
        }
    }

    /// A line of `/proc/allocinfo`; whether it was one.
    fn of_places(&mut self, text: &str, number: usize) -> Result<bool, Problem> {
        let is_command = || is_prompt(text) && text.contains(ALLOCINFO);
        if allocations::is_head(text) || is_command() {
            self.snapshots.pause(text);
            return self.close_allocations().map(|()| true);
        }
        let Some(row) = self.allocations.read(text) else { return Ok(false) };
        if let Some(row) = row {
            if self.allocations.begins_anew(&row) {
                self.close_allocations()?;
            }
            self.allocations.add(row, number);
        }
        Ok(true)
    }

    fn close_allocations(&mut self) -> Result<(), Problem> {
        let Some(table) = self.allocations.close() else { return Ok(()) };
        let places = table.largest.iter().map(|(labels, kib)| ("kernel_pages", labels.as_str(), *kib));
        for (name, labels, kib) in [("kernel_pages_all", "", table.all)].into_iter().chain(places) {
            if kib <= MOST_KIB {
                let taken =
                    KernelNumber { source: SOURCE, name, labels, unit: RawUnit::KiB, moves: Moves::Gauge, value: kib };
                self.snapshots.put(&taken, None, table.line)?;
            }
        }
        Ok(())
    }

    /// What tools print of nodes; whether the line does.
    fn nodes(&mut self, words: &[&str], number: usize) -> Result<bool, Problem> {
        let nodes = of_nodes(words);
        for (node, name, value) in nodes.iter().copied().filter(|(.., kib)| *kib <= MOST_KIB) {
            let labels = format!("node={node}");
            let (unit, moves) = (RawUnit::KiB, Moves::Gauge);
            self.snapshots.put(
                &KernelNumber { source: SOURCE, name, labels: &labels, unit, moves, value },
                None,
                number,
            )?;
        }
        Ok(!nodes.is_empty())
    }

    /// A line of zones; whether it was one.
    fn zone(&mut self, text: &str, words: &[&str], number: usize) -> Result<bool, Problem> {
        let is_named = matches!(self.section, Section::Named(file) if file.path == ZONEINFO);
        let Some(of) = OfZones::of(text, words) else { return Ok(false) };
        if matches!(self.section, Section::Other) || (!self.zones.is_open && of != OfZones::Head) {
            return Ok(is_named && self.zones.is_open);
        }
        if self.zones.begins_anew(of, text) {
            self.close_zones()?;
        }
        self.zones.add(of, text, number);
        Ok(true)
    }

    /// What was gathered of zones.
    fn close_zones(&mut self) -> Result<(), Problem> {
        match self.zones.close().zip(file_of(ZONEINFO)) {
            Some(((from, text), file)) => self.take(file, &text, from, text.lines().next().unwrap_or("")),
            None => Ok(()),
        }
    }

    /// `$ grep nr_ /proc/vmstat`, `==> /proc/meminfo <==`: which files follow.
    fn names(&mut self, line: &str) {
        self.snapshots.pause(line);
        let paths_in = paths(line);
        if let [path] = paths_in.as_slice()
            && let Some((file, group)) = group_file(path)
        {
            group.clone_into(&mut self.group);
            self.section = Section::Named(file);
            return;
        }
        let named: Vec<&'static KernelFile> = paths_in.iter().filter_map(|path| file_of(path)).collect();
        let pressures: VecDeque<&'static KernelFile> =
            named.iter().copied().filter(|file| file.source.starts_with("psi_")).collect();
        self.has_some = false;
        self.section = match named.as_slice() {
            [] => Section::Other,
            [one] => Section::Named(one),
            _ => Section::ByForm,
        };
        self.pressures = if named.len() > 1 { pressures } else { VecDeque::new() };
        if named.is_empty() {
            self.leave_out(paths_in.first().map_or("", String::as_str));
        }
    }

    /// A line behind the path of its file, as grep prints it of several.
    fn with_path(&mut self, path: &str, behind: &str, number: usize, line: &str) -> Result<(), Problem> {
        // Two lines of pressure in one.
        if let Some((some, full)) = behind.split_once(" full avg").filter(|_| behind.starts_with("some avg")) {
            self.line(number, &format!("{path}:{}", some.trim_end()))?;
            return self.line(number, &format!("{path}:full avg{full}"));
        }
        let words: Vec<&str> = behind.split_whitespace().collect();
        let of_group = group_file(path);
        if let Some((_, group)) = of_group {
            group.clone_into(&mut self.group);
        }
        match file_of(path).or(of_group.map(|(file, _)| file)) {
            Some(file) if (file.fits)(&words) => return self.take(file, behind, number, line),
            Some(_) => self.snapshots.listing.reject(number, line),
            None => self.leave_out(path),
        }
        Ok(())
    }

    /// A file that is not imported.
    fn leave_out(&mut self, path: &str) {
        if self.files_left.len() < 200 {
            self.files_left.insert(super::words::quoted(path));
        }
    }

    /// A command at a prompt, such as `cat memory.stat` in the folder of a group.
    fn command(&mut self, text: &str, words: &[&str]) {
        self.snapshots.pause(text);
        let here = words.iter().filter(|word| !word.contains('/')).find_map(|word| group_file(word));
        self.section = here.map_or(Section::ByForm, |(file, _)| Section::Named(file));
        if here.is_some() {
            self.group.clear();
        }
    }

    /// The file a line is of.
    fn file(&mut self, words: &[&str]) -> Option<&'static KernelFile> {
        let by_form = || FILES.iter().find(|file| (file.is_only)(words));
        match self.section {
            Section::Named(file) | Section::Like(file) if (file.fits)(words) => return Some(file),
            Section::Other => return None,
            _ => {}
        }
        if is_pressure(words) {
            if words[0] == "some" && !std::mem::replace(&mut self.has_some, true) {
                return self.pressures.front().copied();
            }
            if words[0] == "some" {
                self.pressures.pop_front();
                return self.pressures.front().copied();
            }
            // A second `full` below one `some` is of a resource that has no `some`: of interrupts.
            return self.pressures.front().copied().filter(|_| self.has_some);
        }
        by_form()
    }

    fn take(&mut self, file: &'static KernelFile, text: &str, number: usize, line: &str) -> Result<(), Problem> {
        self.take_at(None, file, text, number, line)
    }

    /// The same, where it is known when the file was written.
    fn take_at(
        &mut self,
        at: Option<i64>,
        file: &'static KernelFile,
        text: &str,
        number: usize,
        line: &str,
    ) -> Result<(), Problem> {
        // Where it was pasted, blanks stand for its tabs.
        let tabbed = (file.path == CGROUPS).then(|| text.split_whitespace().collect::<Vec<&str>>().join("\t") + "\n");
        let text = tabbed.as_deref().unwrap_or(text);
        let mut taken = Vec::new();
        let mut each = Each(|read: Number<'_, '_>| {
            let labels: Vec<String> = read.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            taken.push((read.name.to_owned(), labels.join(","), read.value, read.says_kib));
        });
        let name = file.path.strip_prefix("memory.").unwrap_or(file.path);
        let one = (file.source == GROUP_NUMBER).then(|| format!("{name} {}\n", text.trim()));
        if (file.parse)(one.as_deref().unwrap_or(text), &mut each).is_err() {
            self.snapshots.listing.reject(number, line);
            return Ok(());
        }
        if file.source == "psi_memory" {
            self.averages(text, number)?;
        }
        let group = if is_label(&self.group) && !self.group.is_empty() { self.group.as_str() } else { "not told" };
        for (name, labels, value, says_kib) in taken {
            let labels = if file.source.starts_with("cgroup_") { format!("cgroup={group}") } else { labels };
            let (unit, moves) = describe(file.source, &name, says_kib);
            let taken = KernelNumber { source: file.source, name: &name, labels: &labels, unit, moves, value };
            self.snapshots.put(&taken, at, number)?;
        }
        Ok(())
    }

    /// The averages of a line of pressure on memory: of one reading they are all that tells a rate.
    fn averages(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        let mut words = line.split_whitespace();
        let Some(who @ ("some" | "full")) = words.next() else { return Ok(()) };
        for (length, percent) in words.filter_map(|word| word.strip_prefix("avg")?.split_once('=')) {
            let name = format!("psi_memory_{who}_avg{length}_percent");
            let hundredths = super::words::scaled(percent, 100.0).filter(|value| *value <= 10_000);
            let Some((column, value)) = tools::find(&name).zip(hundredths) else { continue };
            let unit = RawUnit::PercentHundredths;
            let taken =
                KernelNumber { source: column.source, name: column.name, labels: "", unit, moves: Moves::Gauge, value };
            self.snapshots.put(&taken, None, number)?;
        }
        Ok(())
    }
}

/// A prompt of a shell with a command behind it.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    let is_bare = line.starts_with("$ ") || line.starts_with("# ");
    is_bare || ["]# ", "]$ ", ":~# ", ":~$ "].iter().any(|prompt| line.contains(prompt))
}

/// A comment of an exporter, which says of which file a number is.
fn is_comment(line: &str) -> bool {
    ["# HELP ", "# TYPE ", "# UNIT "].iter().any(|beginning| line.starts_with(beginning))
}

/// The command that prints a text, where only the name of the file that it was kept in says of which of the kernel's files it is: pressure in
/// `memory.txt`, a group's numbers in `memory.stat`. `None`: the text says it, or neither does.
pub(super) fn command_of(file_name: &str, text: &str) -> Option<String> {
    let name = file_name.to_ascii_lowercase();
    let has_word = |word: &str| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word);
    let is_pressure_of =
        |file: &&KernelFile| file.source.starts_with("psi_") && file.path.rsplit('/').next().is_some_and(has_word);
    let of_group = GROUP_FILES.iter().find(|file| name.contains(file.path));
    let file = of_group.or_else(|| FILES.iter().find(is_pressure_of))?;
    let fits = |line: &str| (file.fits)(&line.split_whitespace().collect::<Vec<&str>>());
    let is_of_it = text.lines().any(fits) && text.lines().all(|line| paths(line).is_empty() && !is_prompt(line));
    is_of_it.then(|| format!("$ cat {}", file.path))
}

/// Whether a line is of such a file, or names one.
pub(super) fn recognises(line: &str) -> bool {
    if is_comment(line) {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_here = is_prompt(line) && words.iter().any(|word| !word.contains('/') && group_file(word).is_some());
    let is_named = is_here || paths(line).iter().any(|path| file_of(path).is_some() || group_file(path).is_some());
    is_named
        || FILES.iter().any(|file| (file.is_only)(&words))
        || retold::as_in_files(line, &words).is_some()
        || !of_nodes(&words).is_empty()
        || OfZones::of(line.trim(), &words) == Some(OfZones::Head)
        || of_page_types(&words).is_some()
        || side_by_side(&words).is_some()
        || with_path(line).is_some_and(|(_, rest)| recognises(rest))
        || of_series(line).is_some()
        || allocations::is_row(line)
}

impl Parser for Proc {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        // A comment in a program.
        let text = text.strip_prefix("* ").map_or(text, str::trim);
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(cells) = side_by_side(&words) {
            return cells.iter().try_for_each(|cell| self.line(number, cell));
        }
        if words.is_empty() {
            if !matches!(self.section, Section::Named(_)) {
                self.section = Section::ByForm;
            }
            return Ok(());
        }
        if self.of_places(text, number)? {
            return Ok(());
        }
        if page_types::is_heading(text) {
            self.page_types.are_there = true;
            return self.close_page_types();
        }
        let is_named = matches!(self.section, Section::Named(file) if file.path == "/proc/buddyinfo");
        if self.page_types.are_there && is_buddies(&words) && !is_named {
            return self.close_page_types();
        }
        if self.zone(text, &words, number)? {
            return Ok(());
        }
        self.close_zones()?;
        if self.page_types(&words, number)? || self.ticks(text, number)? {
            return Ok(());
        }
        if self.retold(text, &words, number)? || self.nodes(&words, number)? {
            return Ok(());
        }
        if is_comment(text) {
            self.section = Section::Other;
            self.snapshots.listing.reject(number, line);
            return Ok(());
        }
        if let Some((file, at, behind)) = of_series(text) {
            return self.take_at(Some(at), file, behind, number, line);
        }
        if let Some((path, behind)) = with_path(text) {
            return self.with_path(path, behind, number, line);
        }
        if !paths(text).is_empty() {
            self.names(text);
            return Ok(());
        }
        // A size reads like seconds since 1970.
        if let Section::Named(file) = self.section
            && file.source == GROUP_NUMBER
            && (file.fits)(&words)
        {
            self.section = Section::ByForm;
            return self.take(file, text, number, line);
        }
        if let Some((stamp, _)) = Stamp::of_line(text) {
            self.close_allocations()?;
            self.snapshots.stamp(stamp);
            self.section = Section::ByForm;
            return Ok(());
        }
        if is_prompt(text) {
            self.command(text, &words);
            return Ok(());
        }
        // `Linux host 2.6.32-220.el6.x86_64 #1 SMP …`, `Linux version 2.6.32-…`.
        if let ["Linux", _, release, ..] = words.as_slice()
            && release.starts_with(|c: char| c.is_ascii_digit())
            && release.contains('.')
        {
            self.snapshots.listing.about("kernel", *release);
            return Ok(());
        }
        if let Some(file) = self.file(&words) {
            // Lines of pressure take turns.
            if !matches!(self.section, Section::Named(_)) && !is_pressure(&words) {
                self.section = Section::Like(file);
            }
            return self.take(file, text, number, line);
        }
        // Groups have some of vmstat's names in memory.stat, which begins with one of these.
        let is_group = matches!(words.as_slice(), ["cache" | "rss" | "anon" | "file", number] if is_number(number));
        let begins_a_group =
            is_group && matches!(words[0], "cache" | "anon") && matches!(self.section, Section::ByForm);
        if begins_a_group && let Some((file, _)) = group_file("memory.stat") {
            self.section = Section::Like(file);
            self.group.clear();
            return self.take(file, text, number, line);
        }
        match self.section {
            Section::Other => {}
            _ if is_group => {
                self.files_left.insert("memory.stat".to_owned());
                self.section = Section::Other;
            }
            Section::Named(_) => self.snapshots.listing.reject(number, line),
            Section::ByForm | Section::Like(_) => {
                self.section = Section::ByForm;
                self.snapshots.listing.reject(number, line);
            }
        }
        Ok(())
    }

    /// Only a unit behind the number tells that it is whole.
    fn is_whole(&self, line: &str, _: &str) -> bool {
        line.trim_end().ends_with(" kB")
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.close_zones()?;
        self.close_page_types()?;
        self.close_allocations()?;
        let nothing = self.snapshots.listing.nothing("number of a kernel file below /proc", REMEDY);
        let left = super::words::left_out(Kind::Proc, &self.files_left, &BTreeSet::new());
        let mut listing = self.snapshots.finish()?.ok_or(nothing)?;
        leave_out_container(&mut listing);
        if let Some(detail) = left {
            listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests;
