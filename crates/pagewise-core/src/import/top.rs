//! Screens of `top`: `top -b`, or one that was pasted; of procps 2 and 3, procps-ng 3 and 4, and BusyBox.
//!
//! CPU shares of the first screen are over the time since boot, and those of its processes over their lives (procps): they
//! are left out where other screens follow, and kept with a note where there is only one. Of processes only kernel threads
//! are taken, and how many wait in state D where the table is whole.

use super::listing::{Listing, ListingClock, count};
use super::merge::Assumed;
use super::shares::{self, Values};
use super::threads::Threads;
use super::times::{Running, SECOND, clock};
use super::words::{decimal, is_number, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Counts};
use crate::recording::GapReason;
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the output of `top -b -d 5 -n 12`";

/// The columns of a process table that are used.
#[derive(Clone, Copy, Debug)]
struct Table {
    pid: usize,
    user: Option<usize>,
    size: Option<usize>,
    resident: Option<usize>,
    state: Option<usize>,
    share: usize,
    command: usize,
    /// In BusyBox shares are of all CPUs, and this says which one a process ran on.
    cpu: Option<usize>,
    is_of_all: bool,
    /// In ps shares are over the life of a process.
    is_of_life: bool,
}

/// A row of BusyBox, until it is known how many CPUs there are.
#[derive(Debug)]
struct Row {
    command: String,
    share: f64,
    is_program: bool,
}

#[derive(Debug, Default)]
struct Screen {
    at: i64,
    shares: Values,
    /// Of single CPUs, where there is no line of all.
    single: BTreeMap<u32, Values>,
    levels: Values,
    tasks: Option<f64>,
    rows: usize,
    /// What each process has in memory, in KiB.
    resident: Vec<f64>,
    /// Rows of root, and of others.
    has_root: bool,
    has_others: bool,
    /// A thread of the kernel is among them, which no container shows.
    has_kernel_threads: bool,
    has_daemons: bool,
    waiting: usize,
    table: Option<Table>,
    /// Processes that were seen: one that comes again is of another screen.
    pids: BTreeSet<u32>,
    of_all: Vec<Row>,
    /// The highest number of a CPU that was seen.
    last_cpu: u32,
}

/// No host has fewer tasks; `top -p` shows fewer.
const LEAST_TASKS_OF_A_HOST: f64 = 80.0;

/// So many sizes in falling order are sorted by it: by chance one list in 40,000 is. Of equal ones, as threads of the kernel have them, nothing
/// is known.
const LEAST_SORTED_SIZES: usize = 8;

/// A container shows its own processes beside the memory of its host, and none of these.
const OF_A_HOST: [&str; 12] = [
    "systemd",
    "init",
    "sshd",
    "cron",
    "dbus-daemon",
    "rsyslogd",
    "udevd",
    "dockerd",
    "containerd",
    "kubelet",
    "auditd",
    "polkitd",
];

impl Screen {
    /// KiB that programs have in memory at most: of a table that is whole, or that is sorted by memory, so that none of the others has more
    /// than the last. `None`: neither is so, or it may be a container's.
    fn programs_at_most(&self) -> Option<f64> {
        let tasks = self.tasks.filter(|tasks| *tasks >= LEAST_TASKS_OF_A_HOST)?;
        // Of one user's rows, or of all but root's, it is not known what others have.
        let is_of_all = self.has_root && self.has_others;
        if self.resident.len() != self.rows || !is_of_all || !(self.has_kernel_threads || self.has_daemons) {
            return None;
        }
        let sum: f64 = self.resident.iter().sum();
        if self.rows as f64 >= tasks {
            return self.has_kernel_threads.then_some(sum);
        }
        let last = self.resident.last().copied().filter(|last| *last > 0.0)?;
        let is_sorted = self.resident.is_sorted_by(|one, next| one >= next);
        let falls = self.resident.windows(2).filter(|pair| pair[0] > pair[1]).count() + 1;
        (is_sorted && falls >= LEAST_SORTED_SIZES).then_some(sum + (tasks - self.rows as f64) * last)
    }
}

/// `9120`, `155m` and `1.5g` in KiB; a number without a unit has so many KiB.
fn in_kib(word: &str, unit: f64) -> Option<f64> {
    let has_unit = word.ends_with(|c: char| c.is_ascii_alphabetic());
    if has_unit { suffixed(word, 1024.0, 1.0).map(|bytes| bytes as f64 / 1024.0) } else { Some(decimal(word)? * unit) }
}

#[derive(Debug)]
pub(super) struct Top {
    listing: Listing,
    running: Running,
    interval: Option<i64>,
    screen: Option<Screen>,
    screens: i64,
    has_times: bool,
    /// The first screen, whose shares wait for another one.
    first: Option<Screen>,
    threads: Threads,
    /// Rows of processes, and of those the ones of programs with the name of a kernel thread.
    processes: usize,
    programs: usize,
    /// Rows of ps were read, whose shares are over the lives of processes.
    has_lives: bool,
    /// `CPU states:  cpu  user  nice …` of Red Hat's procps 2: headings, and the numbers in the line below.
    headings: Vec<String>,
}

/// What top prints by default.
const BY_DEFAULT: Table = Table {
    pid: 0,
    user: Some(1),
    size: Some(4),
    resident: Some(5),
    state: Some(7),
    share: 8,
    command: 11,
    cpu: None,
    is_of_all: false,
    is_of_life: false,
};

/// Headings of a process's share of a CPU, and of its command: of top, and of htop (1 to 3), which has the same table.
const SHARES: &[&str] = &["%CPU", "CPU%"];
const COMMANDS: &[&str] = &["COMMAND", "Command", "CMD", "BEFEHL", "COMANDO", "ORDEN", "COM."];

/// What procps prints of CPU time, of memory and of swap in this order, whatever the language of its words.
const IN_ORDER: [&str; 8] = ["us", "sy", "ni", "id", "wa", "hi", "si", "st"];
const OF_MEMORY: [&str; 4] = ["total", "free", "used", "buff/cache"];
const OF_SWAP: [&str; 4] = ["total", "free", "used", "avail"];

/// Without the arrow by which htop shows what it sorts by: `▽Command`.
fn heading(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && !"%+".contains(c))
}

/// A row as top prints it by default, whose headings were not pasted: `70 root  39  19  0  0  0 R 100.0  0.0 959:29.92 khugepaged`.
fn is_default_row(words: &[&str]) -> bool {
    let [pid, _user, priority, nice, mapped, resident, shared, state, cpu, memory, time, _command, ..] = words else {
        return false;
    };
    let is_whole = |word: &str| is_number(word.trim_start_matches(['-', '+']));
    let is_size = |word: &&str| decimal(word.trim_end_matches(['m', 'g', 't', 'p'])).is_some();
    let is_time = time.contains(':') && time.bytes().all(|byte| byte.is_ascii_digit() || b":.,".contains(&byte));
    is_number(pid)
        && (is_whole(priority) || *priority == "rt")
        && is_whole(nice)
        && [mapped, resident, shared].into_iter().all(is_size)
        && matches!(*state, "R" | "S" | "D" | "I" | "T" | "t" | "Z")
        && [cpu, memory].into_iter().all(|word| decimal(word).is_some())
        && is_time
}

/// What `ps aux` prints.
const OF_PS: Table = Table {
    pid: 1,
    user: Some(0),
    size: Some(4),
    resident: Some(5),
    state: Some(7),
    share: 2,
    command: 10,
    cpu: None,
    is_of_all: false,
    is_of_life: true,
};

/// Percent of a CPU over the life of a process below which a row of ps says nothing.
const MUCH_OF_A_LIFE: f64 = 10.0;

/// A row as `ps aux` prints it of a kernel thread, without its headings: `root  45 99.9  0.0  0  0 ?  R  Jan01 1234:56 [kswapd0]`.
fn is_row_of_ps(words: &[&str]) -> bool {
    let [_user, pid, cpu, memory, "0", "0", "?", state, _start, time, command] = words else { return false };
    is_number(pid)
        && [cpu, memory].into_iter().all(|word| decimal(word).is_some())
        && state.starts_with(['R', 'S', 'D', 'I'])
        && time.contains(':')
        && command.starts_with('[')
        && command.ends_with(']')
}

/// The table that a row without headings is of.
fn by_form(words: &[&str]) -> Option<Table> {
    match () {
        () if is_default_row(words) => Some(BY_DEFAULT),
        () if is_row_of_ps(words) => Some(OF_PS),
        () => None,
    }
}

/// Headings of a table of processes: of top, and of `ps aux`, which puts the user first.
fn is_heading(headings: &[&str]) -> bool {
    matches!(headings, ["PID", ..] | ["USER", "PID", ..])
}

/// Whether a line is one of the head of a screen, or a row of its table.
pub(super) fn recognises(line: &str) -> bool {
    let text = line.trim_start();
    let words: Vec<&str> = text.split_whitespace().collect();
    let headings: Vec<&str> = words.iter().map(|word| heading(word)).collect();
    let has = |names: &[&str]| headings.iter().any(|word| names.contains(word));
    is_heading(&headings) && has(SHARES) && has(COMMANDS)
        || by_form(&words).is_some()
        // The head of an old one is what `uptime` prints.
        || text.starts_with("top - ")
        || cpu_line(text).is_some_and(|(_, rest)| has_shares(rest))
        || is_memory(text)
}

/// `KiB Mem :  1030760 total, …` of procps-ng, which nothing else prints.
fn is_memory(text: &str) -> bool {
    text.split_once("iB Mem")
        .is_some_and(|(unit, rest)| matches!(unit, "K" | "M" | "G" | "T") && rest.contains(" total"))
}

/// Whether a line holds shares of CPU time by the words behind them: the kernel's log has lines that begin with a CPU, too.
fn has_shares(text: &str) -> bool {
    let pairs = numbers(text);
    let known = pairs.iter().filter(|(_, label)| tools::of_top("Cpu", label).is_some()).count();
    known >= 3 || pairs.len() == IN_ORDER.len()
}

/// `top - 14:03:21 up 3 days, …`, and ` 14:03:21  up 3 days, …, load average: …` before procps 3.
fn is_head(text: &str) -> bool {
    let is_old = || {
        let words: Vec<&str> = text.split_whitespace().take(4).collect();
        let up = clock(&words).and_then(|(_, used)| words.get(used));
        up == Some(&"up") && text.contains("load average")
    };
    text.starts_with("top - ") || is_old()
}

/// The CPU a line is about (`None`: all), and the rest of it.
fn cpu_line(text: &str) -> Option<(Option<u32>, &str)> {
    let (name, rest) = text.split_once(':')?;
    let name = name.trim().trim_start_matches('%').to_ascii_lowercase();
    let name = name.strip_suffix("states").unwrap_or(&name).trim();
    match name.strip_prefix("cpu")?.trim() {
        "" | "(s)" => Some((None, rest)),
        number => Some((Some(number.parse().ok()?), rest)),
    }
}

/// `1.3%us,  2.4 sy, 0.0% ni`: numbers and the labels behind them.
fn numbers(text: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut words = words(text).into_iter().peekable();
    while let Some(word) = words.next() {
        let end = word.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(word.len());
        let (number, rest) = word.split_at(end);
        if number.is_empty() {
            continue;
        }
        let attached = rest.trim_start_matches('%');
        let has_unit = matches!(attached, "k" | "K" | "M" | "m" | "G" | "g" | "T" | "t");
        let label = if attached.is_empty() || has_unit {
            words.next_if(|next| !next.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
        } else {
            attached
        };
        pairs.push((if has_unit { word } else { number }, label.trim_end_matches(['.', '%'])));
    }
    pairs
}

/// Words between blanks and commas. A comma between digits is a decimal one: `10,5 us,100,0 id`.
fn words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut words = Vec::new();
    let mut begin = 0;
    for (at, c) in text.char_indices() {
        let is_decimal = c == ',' && at > 0 && is_digit(at - 1) && is_digit(at + 1);
        if c.is_whitespace() || (c == ',' && !is_decimal) {
            words.push(&text[begin..at]);
            begin = at + c.len_utf8();
        }
    }
    words.push(&text[begin..]);
    words.retain(|word| !word.is_empty());
    words
}

/// `KiB Spch :  8054520 gesamt,  4054520 frei, …`: which line it is, told by what adds up to its first number. Its labels become those of
/// procps.
fn in_words_of_another_language(pairs: &mut [(&str, &str)]) -> Option<&'static str> {
    let sizes: Vec<f64> = pairs.iter().map(|(word, _)| decimal(word)).collect::<Option<_>>()?;
    let &[total, free, used, last] = sizes.as_slice() else { return None };
    let adds_up = |sum: f64| total > 0.0 && (sum - total).abs() <= total * 0.01;
    let (what, labels) = match () {
        () if adds_up(free + used) => ("Swap", OF_SWAP),
        () if adds_up(free + used + last) => ("Mem", OF_MEMORY),
        () => return None,
    };
    pairs.iter_mut().zip(labels).for_each(|(pair, label)| pair.1 = label);
    Some(what)
}

/// Numbers of a line of CPU shares.
fn of_cpu(text: &str) -> Values {
    let mut pairs = numbers(text);
    let is_foreign = pairs.iter().any(|(_, label)| tools::of_top("Cpu", label).is_none());
    if is_foreign && pairs.len() == IN_ORDER.len() {
        pairs.iter_mut().zip(IN_ORDER).for_each(|(pair, label)| pair.1 = label);
    }
    let known = pairs.iter().filter_map(|(word, label)| Some((tools::of_top("Cpu", label)?, decimal(word)?)));
    let mut values: Values = known.collect();
    // On hosts with several CPUs the top of 2.4 counts lowered priority twice.
    let of = |name: &str| values.iter().find(|(column, _)| column.name == name).map(|(_, value)| *value);
    let nice = of("cpu_nice_percent").unwrap_or(0.0);
    let total: f64 = values.iter().map(|(_, value)| value).sum();
    if total > 110.0 && nice > 10.0 {
        for (column, value) in &mut values {
            *value -= if column.name == "cpu_user_percent" { nice.min(*value) } else { 0.0 };
        }
    }
    values
}

impl Top {
    pub(super) fn new(assumed: &Assumed) -> Top {
        Top {
            listing: Listing::new(Kind::Top, ListingClock::Foreign),
            running: Running::default(),
            interval: assumed.interval,
            screen: None,
            screens: 0,
            has_times: false,
            first: None,
            threads: Threads::default(),
            processes: 0,
            programs: 0,
            has_lives: false,
            headings: Vec::new(),
        }
    }

    fn begin(&mut self, time: Option<i64>, number: usize) -> Result<(), Problem> {
        self.end()?;
        let at = match time {
            Some(time) => {
                self.has_times = true;
                self.listing.clock = ListingClock::TimeOfDay;
                self.listing.instant(&mut self.running, time, false, number)
            }
            None => {
                let raw = self.screens.saturating_mul(self.interval.unwrap_or(SECOND));
                self.listing.instant(&mut self.running, raw, true, number)
            }
        };
        self.screens += 1;
        self.screen = Some(Screen { at, ..Screen::default() });
        Ok(())
    }

    /// The screen a line belongs to: what was pasted may begin in the middle of one.
    fn screen(&mut self, number: usize, is_again: fn(&Screen) -> bool) -> Result<&mut Screen, Problem> {
        if self.screen.as_ref().is_none_or(is_again) {
            self.begin(None, number)?;
        }
        Ok(self.screen.get_or_insert_with(Screen::default))
    }

    /// `KiB Mem :  1030760 total, …`, `Mem:  1030760k av, …`, and the same of swap.
    fn memory(&mut self, line: &str, number: usize) -> Result<bool, Problem> {
        let Some((name, rest)) = line.split_once(':') else { return Ok(false) };
        let mut words = name.split_whitespace();
        let (unit, what) = match (words.next(), words.next()) {
            (Some(unit), Some(what)) => (unit, what),
            (Some(what), None) => ("KiB", what),
            _ => return Ok(false),
        };
        let scale = match unit {
            "KiB" => 1.0,
            "MiB" => 1024.0,
            "GiB" => 1_048_576.0,
            "TiB" => 1_073_741_824.0,
            _ => return Ok(false),
        };
        // procps-ng ends one list with a point: `0 used.  800000 avail Mem`.
        let rest = rest.replace("used.", "used,");
        let mut pairs = numbers(&rest);
        let what = match what {
            _ if words.next().is_some() => return Ok(false),
            "Mem" | "Swap" if pairs.iter().any(|(_, label)| tools::of_top(what, label).is_some()) => what,
            _ => match in_words_of_another_language(&mut pairs) {
                Some(what) => what,
                None => return Ok(false),
            },
        };
        let screen = self.screen(number, |_| false)?;
        for (word, label) in pairs {
            let Some(column) = tools::of_top(what, label).filter(|column| column.counts == Counts::Size) else {
                continue;
            };
            if let Some(kib) = in_kib(word, scale) {
                screen.levels.push((column, kib));
            }
        }
        Ok(true)
    }

    fn cpu(&mut self, cpu: Option<u32>, rest: &str, number: usize, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        if words.first() == Some(&"cpu") {
            self.headings = words.iter().skip(1).map(|word| (*word).to_owned()).collect();
            return Ok(());
        }
        let values = of_cpu(rest);
        if values.len() < 3 {
            self.listing.reject(number, line);
            return Ok(());
        }
        let screen = self.screen(number, |screen| screen.table.is_some())?;
        match cpu {
            None if screen.shares.is_empty() => screen.shares = values,
            None => {}
            Some(cpu) if screen.single.len() < 1 << 14 => {
                screen.single.insert(cpu, values);
                screen.last_cpu = screen.last_cpu.max(cpu);
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// `total   0.5%   0.0%   0.4% …` under the headings of Red Hat's procps 2.
    fn total(&mut self, words: &[&str], number: usize) -> Result<(), Problem> {
        let headings = self.headings.clone();
        let pairs = headings.iter().zip(&words[1..]);
        let known = pairs
            .filter_map(|(heading, word)| Some((tools::of_top("Cpu", heading)?, decimal(word.trim_end_matches('%'))?)));
        let values: Values = known.collect();
        self.screen(number, |_| false)?.shares = values;
        Ok(())
    }

    fn tasks(&mut self, text: &str, number: usize) -> Result<(), Problem> {
        let pairs: Vec<(f64, String)> =
            numbers(text).into_iter().filter_map(|(word, label)| Some((decimal(word)?, label.to_owned()))).collect();
        let screen = self.screen(number, |_| false)?;
        for (value, label) in pairs {
            // `116 processes:` before procps 3.
            let label = if label.starts_with("process") { "total" } else { label.as_str() };
            if label == "total" {
                screen.tasks = Some(value);
            }
            if let Some(column) = tools::of_top("Tasks", label) {
                screen.levels.push((column, value));
            }
        }
        Ok(())
    }

    fn table(&mut self, words: &[&str], number: usize) -> Result<(), Problem> {
        let place = |names: &[&str]| words.iter().position(|word| names.contains(&heading(word)));
        let (share, command) = (place(SHARES), place(COMMANDS));
        let (user, state) = (place(&["USER"]), place(&["S", "STAT", "STATE"]));
        let size = place(&["VIRT", "VSZ", "SIZE", "VSIZE"]);
        let is_of_all = place(&["%VSZ", "%MEM"]).is_some() && place(&["PPID"]).is_some() && place(&["VSZ"]).is_some();
        let cpu = place(&["CPU"]);
        let screen = self.screen(number, |_| false)?;
        screen.table = share.zip(command).filter(|(share, command)| share < command).map(|(share, command)| Table {
            pid: place(&["PID"]).unwrap_or(0),
            user,
            size,
            resident: place(&["RES", "RSS"]),
            state,
            share,
            command,
            cpu,
            is_of_all,
            is_of_life: user == Some(0),
        });
        Ok(())
    }

    fn process(&mut self, words: &[&str], number: usize) -> Result<bool, Problem> {
        let Some(table) = self.screen.as_ref().and_then(|screen| screen.table) else { return Ok(false) };
        let Some(pid) = words.get(table.pid).and_then(|word| word.parse().ok()) else { return Ok(false) };
        // `STAT` of procps 2 has a word of its own for a raised priority: `S <`.
        let is_split = table.state.is_some_and(|at| words.get(at + 1).is_some_and(|word| matches!(*word, "<" | "N")));
        let shift = usize::from(is_split);
        let share = words.get(table.share + shift).and_then(|word| decimal(word.trim_end_matches('%')));
        let (Some(share), Some(_)) = (share, words.get(table.command + shift)) else { return Ok(false) };
        let command = words[table.command + shift..].join(" ");
        if self.screen.as_ref().is_some_and(|screen| screen.pids.contains(&pid)) {
            self.begin(None, number)?;
        }
        let Some(screen) = &mut self.screen else { return Ok(false) };
        screen.table = Some(table);
        screen.pids.insert(pid);
        self.has_lives |= table.is_of_life;
        screen.rows += 1;
        self.processes += 1;
        let resident = table.resident.and_then(|at| words.get(at)).and_then(|word| in_kib(word, 1.0));
        screen.resident.extend(resident);
        screen.waiting += usize::from(table.state.is_some_and(|at| words[at].starts_with('D')));
        let is_root = table.user.is_none_or(|at| words[at] == "root");
        let has_memory = table.size.is_some_and(|at| decimal(words[at]).is_none_or(|size| size > 0.0));
        let is_program = !is_root || has_memory;
        screen.has_root |= is_root;
        screen.has_others |= !is_root;
        let name = command.rsplit('/').next().unwrap_or_default();
        screen.has_daemons |= OF_A_HOST.iter().any(|daemon| name.starts_with(daemon));
        let kernels = super::threads::kernel_thread(&command);
        screen.has_kernel_threads |= !is_program && kernels.is_some();
        if is_program && kernels.is_some_and(|name| name.starts_with('k')) {
            self.programs += 1;
        }
        // Over the life of a process much of a CPU is much; little of it may be all of an hour.
        if table.is_of_life && share < MUCH_OF_A_LIFE {
            return Ok(true);
        }
        if table.is_of_all {
            let cpu = table.cpu.and_then(|at| words.get(at + shift)?.parse().ok()).filter(|cpu| *cpu < 1 << 14);
            screen.last_cpu = screen.last_cpu.max(cpu.unwrap_or(0));
            screen.of_all.push(Row { command, share, is_program });
        } else {
            self.threads.row(screen.at, &command, share, is_program);
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(mut screen) = self.screen.take() else { return Ok(()) };
        self.listing.touch(screen.at);
        for row in std::mem::take(&mut screen.of_all) {
            let cpus = f64::from(screen.last_cpu + 1);
            self.threads.row(screen.at, &row.command, row.share * cpus, row.is_program);
        }
        let is_whole = screen.tasks.is_some_and(|tasks| tasks > 0.0 && screen.rows as f64 >= tasks);
        // ps has all of them unless somebody chose, and whoever chose those that wait has them all as well: so many there are at least.
        let is_of_ps = screen.table.is_some_and(|table| table.is_of_life) && screen.waiting > 0;
        if (is_whole || is_of_ps)
            && let Some(column) = tools::of_top("PID", "S D")
        {
            screen.levels.push((column, screen.waiting as f64));
        }
        if let (Some(most), Some(column)) = (screen.programs_at_most(), tools::of_top("PID", "RES")) {
            screen.levels.push((column, most));
        }
        for (column, value) in std::mem::take(&mut screen.levels) {
            self.listing.put_decimal(screen.at, column, "", value)?;
        }
        if self.screens == 1 {
            self.first = Some(screen);
            return Ok(());
        }
        self.rates(screen)
    }

    fn rates(&mut self, screen: Screen) -> Result<(), Problem> {
        let whole = if screen.shares.is_empty() { shares::of_all_cpus(screen.single, None) } else { None };
        let shares = whole.unwrap_or(screen.shares);
        shares::put(&mut self.listing, screen.at, &shares)
    }
}

impl Parser for Top {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        // What was pasted as code on a page may begin and end so.
        let text = line.trim().trim_matches('`');
        if text.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if is_head(text) {
            let time = clock(if words[0] == "top" { &words[2..] } else { &words });
            return self.begin(time.map(|(time, _)| time), number);
        }
        // A prompt with the command.
        if words.iter().any(|word| *word == "top" || word.ends_with("/top"))
            && !words[0].bytes().all(|byte| byte.is_ascii_digit())
        {
            return Ok(());
        }
        if let Some((cpu, rest)) = cpu_line(text) {
            return self.cpu(cpu, rest, number, line);
        }
        if words[0] == "total" && !self.headings.is_empty() && words.len() == self.headings.len() + 1 {
            return self.total(&words, number);
        }
        let is_single = words[0].starts_with("cpu") && !self.headings.is_empty();
        if is_single || words[0] == "Load" || text.contains("cached)") {
            return Ok(());
        }
        if matches!(words[0], "Tasks:" | "Threads:") || words.get(1).is_some_and(|word| word.starts_with("processes:"))
        {
            let text =
                text.trim_start_matches("Tasks:").trim_start_matches("Threads:").replace("processes:", "processes, ");
            return self.tasks(&text, number);
        }
        if self.memory(text, number)? {
            return Ok(());
        }
        let headings: Vec<&str> = words.iter().take(2).map(|word| heading(word)).collect();
        if is_heading(&headings) {
            return self.table(&words, number);
        }
        let has_headings = self.screen.as_ref().is_some_and(|screen| screen.table.is_some());
        if !has_headings && let Some(table) = by_form(&words) {
            self.screen(number, |_| false)?.table = Some(table);
        }
        // 2.4 has what is cached in a line of its own behind those of memory: `1230k active, 500k inactive`.
        let is_more_memory = words.iter().any(|word| matches!(*word, "actv," | "in_d," | "active,"));
        if !self.process(&words, number)? && !is_more_memory {
            self.listing.reject(number, line);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.end()?;
        if let Some(screen) = self.first.take() {
            let at = screen.at;
            let has_shares = !screen.shares.is_empty() || !screen.single.is_empty();
            if self.screens > 1 {
                self.threads.leave_out(at);
                self.listing.gap_between(
                    Some(at),
                    Some(at),
                    Some(SOURCE),
                    GapReason::Other("since_boot".to_owned()),
                    "CPU shares of the first screen of top are over the time since boot and were left out",
                );
            } else {
                if has_shares {
                    self.listing.note(
                        "top: there is one screen; if it is the first one that top printed, its CPU shares are over the time since boot"
                            .to_owned(),
                    );
                }
                self.rates(screen)?;
            }
        }
        std::mem::take(&mut self.threads).put(&mut self.listing)?;
        if self.listing.columns.is_empty() && self.processes > 0 {
            let rows = count(self.processes, "row");
            let what = format!(
                "{rows} of programs were read, and none of a thread of the kernel; the lines above the table, of CPUs and memory, are not there"
            );
            return Err(Problem::of_file(what, REMEDY));
        }
        if self.listing.columns.is_empty() {
            return Err(self.listing.nothing("screen of top", REMEDY));
        }
        if self.programs > 0 {
            self.listing.note(
                "top: a program has the name of a kernel thread; it has memory or is not root's, so it is none of the kernel's"
                    .to_owned(),
            );
        }
        if self.has_lives {
            self.listing.note("ps: shares are over the life of each process, and say nothing of a moment".to_owned());
        }
        if !self.has_times {
            let seconds = self.interval.unwrap_or(SECOND) as f64 / SECOND as f64;
            self.listing.note(format!(
                "top: its screens have no time and are drawn {seconds} s apart; --about interval=5s says another interval"
            ));
        }
        self.listing.resolution("top: shares with one decimal; of a process in percent of one CPU");
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests;
