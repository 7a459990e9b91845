//! `perf top`, `perf report`, `opreport -l`, `readprofile` and the profiles of the kernel test robot as text: a table of functions, with or
//! without the call graphs below them, and without a clock.
//!
//! perf top lists its largest functions only. So that shares stay what they are in the listing, what is not listed is a
//! function of its own, [`NOT_LISTED`]. Of several screens the last one counts, of several events the one that shows where
//! the time of CPUs goes.

use super::counted_stack::CountedStack;
use super::events::{event_name, shows_cpu_time};
use super::kernel_names::{self, idle_pid};
use super::listing::{Listing, ListingClock, count};
use super::perf_callers::{TableStacks, stacks_of};
use super::perf_graph::{Graph, without_edge};
use super::perf_lkp::{self, Lkp};
use super::perf_row::{self, Header, Row, at_privilege, is_module, row, without_sign};
use super::perf_script::header_comment;
use super::{Kind, Parser, Problem, SOURCE, words};
use crate::recording::stack::{CALLEES, ENOUGH_SAMPLES, KERNEL, NOT_LISTED};
use crate::recording::{Frame, GapReason, Profile, SamplingEvent, StackSample, Stacks};
use std::collections::HashSet;

const REMEDY: &str = "give a screen of `perf top --stdio`, or the output of `perf report --stdio --no-children`";

/// No table is longer; perf report of a busy host lists some ten thousand.
const MOST_ENTRIES: usize = 1 << 20;

/// Drawings of more lines are not read: their functions count without callers.
const MOST_DRAWN: usize = 1 << 21;

/// No file has more events.
const MOST_TABLES: usize = 1 << 12;

/// A row and what is drawn below it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) row: Row,
    pub(super) graph: Graph,
    number: usize,
}

/// A table: of one event, or one screen.
#[derive(Clone, Debug, Default)]
struct Table {
    /// `None`: it is not said.
    event: Option<String>,
    hz: Option<f64>,
    /// How many samples it was made of, where it says so.
    samples: Option<u64>,
    /// What perf top says above its screen.
    banner: Option<String>,
    /// A screen that was drawn again and again.
    is_live: bool,
    header: Option<Header>,
    entries: Vec<Entry>,
    /// With `--hierarchy`: the levels above, by their columns.
    levels: Vec<(usize, String)>,
    /// It is a part of a call graph, cut out below its row.
    is_part: bool,
}

#[derive(Debug)]
pub(super) struct PerfTop {
    listing: Listing,
    /// The last one is being read.
    tables: Vec<Table>,
    entries: usize,
    /// Lines of drawings.
    drawn: usize,
    /// A line that may go on in the next one, as mail programs break them.
    pending: Option<(usize, String)>,
    /// What is drawn belongs to the last row.
    is_drawing: bool,
    /// The last row was opened on a screen, and no blank line came since.
    is_opened: bool,
    /// A list to choose from is on the screen.
    is_menu: bool,
    /// Of the kernel test robot.
    lkp: Lkp,
}

impl PerfTop {
    pub(super) fn new() -> PerfTop {
        PerfTop {
            listing: Listing::new(Kind::PerfTop, ListingClock::None),
            tables: vec![Table::default()],
            entries: 0,
            drawn: 0,
            pending: None,
            is_drawing: false,
            is_opened: false,
            is_menu: false,
            lkp: Lkp::default(),
        }
    }

    fn table(&mut self) -> &mut Table {
        if self.tables.is_empty() {
            self.tables.push(Table::default());
        }
        let last = self.tables.len() - 1;
        &mut self.tables[last]
    }

    /// What comes belongs to another table, if there was one.
    fn next_table(&mut self) -> &mut Table {
        self.is_drawing = false;
        self.is_menu = false;
        let is_used = !self.table().entries.is_empty() || self.table().event.is_some() || self.table().banner.is_some();
        if is_used {
            let is_full = self.tables.len() >= MOST_TABLES;
            if is_full || self.table().entries.is_empty() {
                self.tables.pop();
            }
            self.tables.push(Table::default());
        }
        self.table()
    }

    /// `PerfTop:   16096 irqs/sec  kernel:92.6%  exact:  0.0% [1000Hz cycles],  (all, 16 CPUs)`.
    fn banner(&mut self, line: &str) {
        // The screen before is gone.
        if let [.., before] = self.tables.as_slice()
            && before.is_live
            && self.tables.len() > 64
        {
            self.entries = self.entries.saturating_sub(self.table().entries.len());
            self.tables.pop();
        }
        let table = self.next_table();
        table.is_live = true;
        self.rest_of_banner(line);
    }

    /// A mail breaks it anywhere: before `drop: 0/0 [4000Hz cycles],  (all, 12 CPUs)`, or inside of that.
    fn rest_of_banner(&mut self, line: &str) {
        let table = self.table();
        let banner = format!("{} {line}", table.banner.take().unwrap_or_default());
        let banner = banner.split_whitespace().collect::<Vec<_>>().join(" ");
        let inside = banner.rsplit_once('[').map(|(_, rest)| rest.split([']', '(']).next().unwrap_or(rest));
        for word in inside.unwrap_or_default().split_whitespace() {
            let word = word.trim_end_matches(',');
            match word.strip_suffix("Hz").and_then(|hz| hz.parse::<f64>().ok()) {
                Some(hz) => table.hz = (hz.is_finite() && hz > 0.0).then_some(hz),
                // `[100000 cycles]`: one sample for so many of them.
                None if word.bytes().all(|byte| byte.is_ascii_digit()) => {}
                None => table.event = Some(event_name(word)),
            }
        }
        let before_cpus = banner.rsplit_once(" CPU").map(|(before, _)| before);
        let cpus = before_cpus.and_then(|before| before.rsplit([' ', '(']).next()).map(str::to_owned);
        table.banner = Some(banner);
        if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty() && cpus.bytes().all(|byte| byte.is_ascii_digit())) {
            self.listing.about("cpus", cpus);
        }
    }

    /// Whether a line is what a mail broke off the banner.
    fn is_rest_of_banner(&self, text: &str) -> bool {
        let is_open = self.tables.last().is_some_and(|table| {
            let banner = table.banner.as_deref().unwrap_or("");
            table.entries.is_empty() && !banner.is_empty() && !banner.ends_with(')') && banner.len() < 300
        });
        is_open
            && text.ends_with([')', ']', ','])
            && (text.contains("CPU") || text.contains("Hz") || text.contains("(all"))
    }

    /// `Samples: 1K of event 'cpu-clock', 4000 Hz, …`, `Events: 1K cycles` of perf 3.0, or `Samples: 12345` of 2.6.32, which
    /// counts what its event counts.
    fn samples(&mut self, text: &str) -> bool {
        let Some((key, rest)) = text.split_once(':').filter(|(key, _)| matches!(*key, "Samples" | "Events")) else {
            return false;
        };
        let mut words = rest.split_whitespace();
        let Some(number) = words.next().and_then(|word| words::suffixed(word, 1000.0, 1.0)) else { return false };
        let quoted = rest.split_once('\'').map(|(_, rest)| rest.split('\'').next().unwrap_or(rest));
        let event = match quoted {
            // Of events that were counted together, the first is the one of the first column.
            Some(group) if group.contains('{') => {
                group.split(['{', ',', '}']).nth(1).map(str::trim).filter(|event| !event.is_empty())
            }
            Some(event) => Some(event),
            None => words.next().filter(|_| key == "Events"),
        };
        let is_live = rest.contains(" lost:") && rest.contains(" drop:");
        let hz =
            rest.split_once(" Hz").and_then(|(before, _)| before.split([' ', ',']).next_back()?.parse::<f64>().ok());
        let table = self.next_table();
        table.event = event.map(event_name);
        table.is_live = is_live;
        table.hz = hz.filter(|hz| hz.is_finite() && *hz > 0.0);
        table.samples = Some(number).filter(|number| event.is_some() && *number > 0 && *number <= 1 << 53);
        true
    }

    fn comment(&mut self, line: &str) {
        let text = line.trim_start_matches('#').trim();
        if self.samples(text) || self.header(text) {
            return;
        }
        if let Some(hz) = header_comment(&mut self.listing, line) {
            let table = self.table();
            table.hz = table.hz.or(Some(hz));
        }
    }

    fn header(&mut self, text: &str) -> bool {
        let Some(header) = Header::of(text) else { return false };
        let table = self.table();
        let table = if table.entries.is_empty() { table } else { self.next_table() };
        table.header = Some(header);
        true
    }

    /// The line that was held back is whole.
    fn flush(&mut self) -> Result<(), Problem> {
        let Some((number, line)) = self.pending.take() else { return Ok(()) };
        let is_hierarchy = self.table().header.as_ref().is_some_and(|header| header.is_hierarchy);
        if is_hierarchy && self.level(&line) {
            return Ok(());
        }
        let Some(mut row) = row(&line, self.table().header.as_ref()) else {
            if !self.draw(&line, true) {
                self.listing.reject(number, &line);
            }
            return Ok(());
        };
        if is_hierarchy {
            self.place(&mut row);
        }
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(Problem::of_file(format!("it lists more than {MOST_ENTRIES} functions"), REMEDY));
        }
        self.is_drawing = true;
        self.is_opened = line.trim_start().starts_with('-');
        self.table().entries.push(Entry { row, graph: Graph::default(), number });
        Ok(())
    }

    /// A line of `--hierarchy`: whether it is a command or a module, and no function.
    fn level(&mut self, line: &str) -> bool {
        // Shares are right-aligned at their level.
        let column = line.find('%').unwrap_or(0);
        let levels = &mut self.table().levels;
        levels.retain(|(above, _)| *above < column);
        if at_privilege(line).is_some() {
            return false;
        }
        let name = line.trim().split_once(char::is_whitespace).map_or("", |(_, name)| name.trim());
        levels.push((column, name.to_owned()));
        true
    }

    /// Gives a function the command and the module above it.
    fn place(&mut self, row: &mut Row) {
        let (comm, module) = match self.table().levels.as_slice() {
            [] => ("", ""),
            [(_, one)] if is_module(one) => ("", one.as_str()),
            [(_, one)] => (one.as_str(), ""),
            [(_, comm), .., (_, module)] => (comm.as_str(), module.as_str()),
        };
        comm.clone_into(&mut row.comm);
        if row.module.is_empty() {
            row.module = perf_row::module_of(module, false);
        }
    }

    /// A call graph of which only a part was pasted: its first line stands for the row that is above it on the screen.
    fn begin_part(&mut self, number: usize, line: &str) -> bool {
        let Some((share, name)) = opens(line.trim()) else { return false };
        let can_be = self.table().entries.is_empty() || self.table().is_part;
        let mut graph = Graph::default();
        if !can_be || self.entries >= MOST_ENTRIES || !graph.line(line, true) {
            return false;
        }
        let module = if kernel_names::is_kernel(name) { KERNEL } else { "" };
        let row = Row { share, name: name.to_owned(), module: module.to_owned(), is_sure: true, ..Row::default() };
        self.entries += 1;
        (self.is_drawing, self.is_opened) = (true, true);
        let table = self.table();
        table.is_part = true;
        table.entries.push(Entry { row, graph, number });
        true
    }

    /// Gives a line to the drawing below the last row.
    fn draw(&mut self, line: &str, is_open: bool) -> bool {
        let is_full = self.drawn >= MOST_DRAWN;
        let Some(entry) = self.tables.last_mut().and_then(|table| table.entries.last_mut()) else { return false };
        if !self.is_drawing || !entry.graph.line(line, is_open) {
            return false;
        }
        self.drawn += 1;
        if is_full {
            entry.graph = Graph::default();
        }
        true
    }

    /// `- function`, or `- 12.3% function`, below the row of that function: its drawing, on a screen that was copied without the sign of
    /// the row.
    fn opens_last(&self, text: &str) -> bool {
        let last = self.tables.last().and_then(|table| table.entries.last());
        let name = opens(text).map(|(_, name)| name);
        let name = name.or_else(|| without_edge(text).strip_prefix("- ").map(str::trim));
        self.is_drawing && last.is_some_and(|last| last.graph.is_empty() && name == Some(last.row.name.as_str()))
    }

    /// Whether a share and names are a path of `-g folded`: it holds the function of the row above.
    fn is_path(&self, path: &Row) -> bool {
        let last = self.tables.last().and_then(|table| table.entries.last()).map(|entry| &entry.row);
        self.is_drawing
            && last.is_some_and(|last| {
                let is_alone = last.is_sure && last.name == path.name;
                is_alone || path.name.contains(';') && path.name.split(';').any(|name| name == last.name)
            })
    }

    /// Whether the line goes on where the one before was broken.
    fn joins(&self, text: &str) -> bool {
        let Some((_, before)) = &self.pending else { return false };
        let before = before.trim_end();
        let first = text.split_whitespace().next().unwrap_or("");
        if perf_row::share(first).is_some() || text.starts_with(['|', '#', '-', '+']) {
            return false;
        }
        let (had_mark, has_mark) = (at_privilege(before).is_some(), at_privilege(text).is_some());
        let ends_in_mark = before.ends_with(']') && at_privilege(before).is_some_and(|(_, _, name)| name.is_empty());
        let had_module = before.split_whitespace().any(is_module);
        let is_lone_module = is_module(text) && !had_module && !had_mark;
        (has_mark && !had_mark) || is_lone_module || (ends_in_mark && perf_row::is_function(text))
    }
}

/// The same stacks with counts that are parts of `samples`, as they were parts of `total`.
fn scaled(mut stacks: Vec<CountedStack>, samples: u64, total: u64) -> Vec<CountedStack> {
    for stack in &mut stacks {
        stack.count = (stack.count as f64 * samples as f64 / total.max(1) as f64).round() as u64;
    }
    stacks
}

/// Takes away rows that stand there once more with their drawing.
fn without_doubles(entries: &mut Vec<Entry>) {
    let key = |row: &Row| (row.share, row.comm.clone(), row.module.clone(), row.name.clone());
    let drawn: HashSet<_> =
        entries.iter().filter(|entry| !entry.graph.is_empty()).map(|entry| key(&entry.row)).collect();
    if !drawn.is_empty() {
        entries.retain(|entry| !entry.row.is_sure || !entry.graph.is_empty() || !drawn.contains(&key(&entry.row)));
    }
}

/// Of a table whose functions are all of one file: where some are known as the kernel's, all of them are.
fn mark_one_file(table: &mut Table) {
    let known = || table.entries.iter().filter(|entry| entry.row.module == KERNEL).count();
    if table.header.as_ref().is_some_and(Header::is_of_one_file) && known() >= 2 {
        table.entries.iter_mut().for_each(|entry| KERNEL.clone_into(&mut entry.row.module));
    }
}

/// `- 48.19% function` of a screen on which the function was opened, or `|--48.19%-- function` of a drawing: its share, and its name.
fn opens(text: &str) -> Option<(u64, &str)> {
    let text = without_edge(text);
    let of_drawing =
        text.strip_prefix('|').map(str::trim_start).and_then(|text| text.strip_prefix("--")?.split_once("--"));
    let of_screen = || text.strip_prefix("- ")?.trim_start().split_once(char::is_whitespace);
    let (first, name) = of_drawing.or_else(of_screen)?;
    let name = name.trim();
    let is_one = perf_row::is_function(name) && !name.contains(char::is_whitespace);
    Some((perf_row::share(first)?, name)).filter(|_| is_one && first.ends_with('%'))
}

/// What perf says beside its tables.
fn is_chatter(text: &str) -> bool {
    const BEGINNINGS: [&str; 16] = [
        "Tip:",
        "(Tip:",
        "Press ",
        "For a higher level overview",
        "Cannot load tips",
        "no symbols found in",
        "Warning:",
        "Error:",
        "Failed to open",
        "Event count",
        "Percentage",
        "Kernel address maps",
        "[ perf record:",
        "Mapped keys:",
        "Annotate ",
        "no entry >=",
    ];
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// Whether a line is the head of a screen or a report, or names a function with its share.
pub(super) fn recognises(line: &str) -> bool {
    let text = without_bar(line).trim();
    let is_head = text.starts_with("Samples: ") && text.contains(" of event '");
    is_head
        || text.starts_with("PerfTop:")
        || opens(text).is_some()
        || row(line, None).is_some_and(|row| row.is_sure)
        || is_broken_before_function(text)
        || perf_row::is_of_kernel_alone(text)
        || Header::of_oprofile(text).is_some()
        || Header::of_row_of_oprofile(text).is_some()
        || perf_lkp::recognises(text)
}

/// Without the bar that an editor puts in front of each line of a screen: `|2992.00 26.4% tcp_poll`. A drawing has a branch behind its own.
fn without_bar(line: &str) -> &str {
    let behind = line
        .strip_prefix('|')
        .filter(|rest| Header::of(rest).is_some() || row(rest, None).is_some_and(|row| row.is_sure));
    behind.unwrap_or(line)
}

/// `62.70%  kswapd0  [i915]  [k]`: a row that a mail program broke before its function.
fn is_broken_before_function(text: &str) -> bool {
    let own = without_sign(text);
    let is_share = own.split_whitespace().next().is_some_and(|first| perf_row::share(first).is_some());
    is_share
        && at_privilege(own)
            .is_some_and(|(before, _, name)| name.is_empty() && before.split_whitespace().any(is_module))
}

impl Parser for PerfTop {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let line = without_bar(line);
        let text = line.trim();
        if self.joins(text) {
            if let Some((_, before)) = &mut self.pending {
                before.push_str("  ");
                before.push_str(text);
            }
            return Ok(());
        }
        self.flush()?;
        if text.is_empty() {
            self.is_opened = false;
            if let Some(entry) = self.table().entries.last_mut() {
                entry.graph.pause();
            }
            return Ok(());
        }
        if self.lkp.line(number, text) {
            return Ok(());
        }
        if text.starts_with("PerfTop:") {
            self.banner(text);
            return Ok(());
        }
        if text.starts_with('#') {
            self.comment(text);
            return Ok(());
        }
        if self.is_rest_of_banner(text) {
            self.rest_of_banner(text);
            return Ok(());
        }
        if self.samples(text) || self.header(text) {
            return Ok(());
        }
        if text == "Available samples" {
            self.is_menu = true;
            return Ok(());
        }
        let is_rule = text.chars().all(|c| matches!(c, '-' | '_' | ' ' | '.' | '=' | '~'));
        if is_rule || is_chatter(text) || self.is_menu {
            return Ok(());
        }
        if self.table().header.is_none()
            && let Some(header) = Header::of_row_of_oprofile(text)
        {
            // What stands above it is opreport's list of files.
            self.next_table().header = Some(header);
        }
        let own = without_sign(text);
        let mut words = own.split_whitespace();
        let (first, second) = (words.next().unwrap_or(""), words.next());
        let is_share = perf_row::share(first).is_some();
        let is_alone = is_share && second.is_none();
        let header = self.tables.last().and_then(|table| table.header.as_ref());
        let is_oprofile = header.is_some_and(|header| header.is_oprofile);
        let is_row = if is_share || is_oprofile || first.as_bytes().first().is_some_and(u8::is_ascii_hexdigit) {
            row(text, header)
        } else {
            None
        };
        self.is_opened |= self.opens_last(text);
        let is_opened = self.is_opened;
        match is_row {
            Some(row) if row.is_sure => self.pending = Some((number, line.to_owned())),
            // A function of a drawing on a screen, or a path of `-g folded`.
            Some(_) if is_opened && self.draw(line, true) => {}
            Some(row) if self.is_path(&row) && self.draw(line, true) => {}
            Some(_) if self.begin_part(number, line) => {}
            Some(_) => self.pending = Some((number, line.to_owned())),
            None if is_alone || (is_share && at_privilege(text).is_some()) => {
                self.pending = Some((number, line.to_owned()))
            }
            None if is_share && self.table().header.as_ref().is_some_and(|header| header.is_hierarchy) => {
                self.pending = Some((number, line.to_owned()));
            }
            None if self.draw(line, is_opened) => {}
            None if self.begin_part(number, line) => {}
            None => self.listing.reject(number, line),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.flush()?;
        self.take_lkp();
        let mut prose = Vec::new();
        for table in &mut self.tables {
            prose.append(&mut without_prose(&mut table.entries));
        }
        prose.into_iter().for_each(|(number, text)| self.listing.reject(number, &text));
        // What only calls others has no share of its own.
        let is_of_any = |row: &Row| row.share > 0 || row.samples.unwrap_or(0) > 0 || row.children.unwrap_or(0) > 0;
        let has_rows = |table: &Table| table.entries.iter().any(|entry| is_of_any(&entry.row));
        let missing = self.tables.iter().find_map(|table| table.header.as_ref()?.missing());
        let mut tables: Vec<Table> = std::mem::take(&mut self.tables).into_iter().filter(has_rows).collect();
        let Some(chosen) = choose(&tables) else {
            return Err(match missing {
                Some(missing) => {
                    Problem::of_file(missing, "give the output of `perf report --stdio --sort comm,dso,sym`")
                }
                None => self.listing.nothing("function of perf top with a share", REMEDY),
            });
        };
        let mut table = tables.swap_remove(chosen);
        if table.is_part {
            // What begins further left is above the first line, and beside it.
            table.entries.iter_mut().for_each(|entry| entry.row.share = entry.graph.whole());
            self.listing.note("perf: a part of a call graph, without the rows of its functions");
        }
        without_doubles(&mut table.entries);
        mark_one_file(&mut table);
        self.say(&table, chosen, &tables);
        let has_children_only = table.is_part || table.header.as_ref().is_some_and(Header::has_children_only);
        let seen = stacks_of(&table.entries, has_children_only);
        let has_own = |entry: &Entry| entry.row.share > 0 || entry.row.samples.unwrap_or(0) > 0;
        let is_empty = |seen: &TableStacks| seen.stacks.is_empty() && !table.entries.iter().any(has_own);
        let seen = match seen {
            Ok(seen) if is_empty(&seen) => Err("functions have no share of their own".to_owned()),
            seen => seen,
        };
        // Shares that overlap make no stacks, and say all the same how much was in a function and in all that it calls.
        let (seen, overlaps) = match seen {
            Ok(seen) => (seen, false),
            Err(why) if table.entries.iter().any(|entry| entry.row.frame().is_kernel()) => {
                (TableStacks::overlapping(why), true)
            }
            Err(what) => return Err(Problem::of_file(what, REMEDY)),
        };
        let TableStacks { stacks, total, is_of_samples, notes } = seen;
        notes.into_iter().for_each(|note| self.listing.note(note));
        if self.drawn > MOST_DRAWN {
            self.listing.note(format!("perf: call graphs beyond {MOST_DRAWN} lines are not read"));
        }
        self.keep_callees(&table, overlaps);
        let samples = table.samples.or(is_of_samples.then_some(total)).filter(|samples| *samples > 0);
        if let Some(samples) = samples {
            self.listing.about("import.samples", samples.to_string());
        }
        if !is_of_samples {
            self.listing.note("perf top: it lists shares only; a count of 100 stands for one percent");
        }
        // A handful of samples stays a handful.
        let (stacks, total) = match samples.filter(|samples| *samples < ENOUGH_SAMPLES && !is_of_samples) {
            Some(samples) => (scaled(stacks, samples, total), samples),
            None => (stacks, total),
        };
        let listed = stacks.iter().fold(0u64, |sum, stack| sum.saturating_add(stack.count));
        let mut tree = Stacks::default();
        let mut samples = Vec::with_capacity(stacks.len() + 1);
        let mut add = |frames: Vec<Frame>, comm: String, pid: Option<u32>, count: u64| {
            let pid = idle_pid(&comm, frames.first().map_or("", |frame| frame.name.as_str()), pid);
            if let Some(stack) = tree.of(frames.into_iter()).filter(|_| count > 0) {
                samples.push(StackSample { from: 0, to: 1, cpu: None, pid, comm, stack, count });
            }
        };
        let rest = Frame { name: NOT_LISTED.to_owned(), module: String::new() };
        for stack in stacks {
            add(stack.frames, stack.comm, stack.pid, stack.count);
        }
        add(vec![rest], String::new(), None, total.saturating_sub(listed));
        let event = table.event.as_deref().map(SamplingEvent::from_word);
        self.listing.profile = Some(Profile { event, hz: table.hz, stacks: tree, samples, lost: 0 });
        if let Some(banner) = &table.banner {
            self.listing.note(format!("perf top: {banner}"));
        }
        Ok(self.listing.close())
    }
}

impl PerfTop {
    /// The profile of the kernel test robot is a table beside the others.
    fn take_lkp(&mut self) {
        let (event, rows) = std::mem::take(&mut self.lkp).rows();
        if rows.is_empty() {
            return;
        }
        let entry = |(number, row)| Entry { row, graph: Graph::default(), number };
        let entries = rows.into_iter().map(entry).collect();
        self.tables.push(Table { event: event.as_deref().map(event_name), entries, ..Table::default() });
        self.listing.note("perf: shares under several kernels; those under the last one are taken");
    }

    /// Kernel functions with all that they call, where the table lists that.
    fn keep_callees(&mut self, table: &Table, overlaps: bool) {
        let line = |entry: &Entry| {
            let all = entry.row.children.or_else(|| overlaps.then_some(entry.row.share));
            let all = all.filter(|_| entry.row.frame().is_kernel())?;
            Some(format!("{all}\t{}\t{}", entry.row.name, entry.row.comm))
        };
        let lines: Vec<String> = table.entries.iter().filter_map(line).collect();
        if !lines.is_empty() {
            self.listing.about(CALLEES, lines.join("\n"));
        }
    }

    /// Which table was taken, and what was left out.
    fn say(&mut self, table: &Table, place: usize, others: &[Table]) {
        let name = |table: &Table| table.event.clone().unwrap_or_else(|| "an event that is not said".to_owned());
        if let Some(event) = table.event.as_deref().filter(|event| !shows_cpu_time(event)) {
            let detail = format!("its shares are of {event}, which does not say where the time of CPUs went");
            self.listing.gap(Some(SOURCE), GapReason::Other("other_event".to_owned()), detail);
        }
        // A screen that was drawn again is no other table.
        let is_again = |other: &Table| other.is_live && table.is_live && other.event == table.event;
        let others: Vec<&Table> = others.iter().filter(|other| !is_again(other)).collect();
        if others.is_empty() {
            return;
        }
        let same = others.iter().filter(|other| other.event == table.event).count();
        let why = match &table.event {
            _ if same == others.len() => "the first of its event",
            Some(event) if shows_cpu_time(event) => "it shows where the time of CPUs went",
            _ => "it is the first, and none shows where the time of CPUs went",
        };
        let mut left: Vec<String> = others
            .iter()
            .take(5)
            .map(|other| format!("{} ({})", name(other), count(other.entries.len(), "function")))
            .collect();
        if others.len() > left.len() {
            left.push(format!("{} more", others.len() - left.len()));
        }
        let what =
            format!("perf: of {} tables, number {} of {} is taken: {why}", others.len() + 1, place + 1, name(table));
        self.listing.note(what);
        let detail = format!("not imported of perf: {}; shares of two tables are never added", left.join(", "));
        self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
    }
}

/// The table to take: of an event that shows where the time of CPUs went, else of none that is named, else the first. Of screens
/// the last.
fn choose(tables: &[Table]) -> Option<usize> {
    let rank = |table: &Table| match &table.event {
        Some(event) if shows_cpu_time(event) => 2,
        None => 1,
        Some(_) => 0,
    };
    let best = tables.iter().map(rank).max()?;
    let first = tables.iter().position(|table| rank(table) == best)?;
    if !tables[first].is_live {
        return Some(first);
    }
    tables.iter().rposition(|table| table.is_live && table.event == tables[first].event)
}

/// A share and a word may be prose: `75% less`. It is a row when it stands in a list, or names what no prose names.
fn without_prose(entries: &mut Vec<Entry>) -> Vec<(usize, String)> {
    let numbers: Vec<usize> = entries.iter().map(|entry| entry.number).collect();
    let mut prose = Vec::new();
    let mut at = 0usize;
    entries.retain(|entry| {
        let is_near = |other: Option<&usize>| other.is_some_and(|other| other.abs_diff(entry.number) <= 2);
        let in_list = is_near(at.checked_sub(1).and_then(|before| numbers.get(before))) || is_near(numbers.get(at + 1));
        at += 1;
        let row = &entry.row;
        let is_name = row.name.contains(['_', ':', '(']) || !row.module.is_empty();
        let stays = row.is_sure || in_list || is_name || !entry.graph.is_empty();
        if !stays {
            prose.push((entry.number, format!("{}.{:02}% {}", row.share / 100, row.share % 100, row.name)));
        }
        stays
    });
    prose
}
