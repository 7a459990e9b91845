//! `perf script` as text: a line per sample and, with call graphs, a line per function below it, the innermost first.
//!
//! Which fields are printed is the user's choice (`-F`); command, function and what of CPU, time, period and event there
//! is are recognised by their form. With a single number behind the command it is the thread's (perf-script(1)), and the
//! process is not known.

use super::events::{event_name, shows_cpu_time};
use super::kernel_names::{self, idle_pid};
use super::listing::{Listing, ListingClock};
use super::times::{SECOND, seconds};
use super::trace_events;
use super::{Kind, Parser, Problem, SOURCE};
use crate::recording::stack::KERNEL;
use crate::recording::{Frame, GapReason, Profile, SamplingEvent, StackId, StackSample, Stacks};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the output of `perf script` (or `perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso`)";

/// perf itself stops at 127 unless told otherwise.
const DEEPEST: usize = 2048;

/// No profile has more distinct stacks; a day of a busy host has some ten thousand.
const MOST_STACKS: usize = 1 << 22;

/// Samples are counted in slices of this.
const SLICE: i64 = SECOND;

#[derive(Debug, Default)]
struct Sample {
    comm: String,
    pid: Option<u32>,
    cpu: Option<u32>,
    time: Option<i64>,
    period: Option<u64>,
    event: Option<String>,
    frames: Vec<Frame>,
    /// Its one function stood on its own line.
    is_whole: bool,
}

/// Event, slice, CPU, process, command, stack.
type SampleKey = (usize, i64, Option<u32>, Option<u32>, String, StackId);

/// Nobody counts more events at once.
const MOST_EVENTS: usize = 100;

/// An event that was sampled.
#[derive(Debug)]
struct Event {
    /// `None`: its samples do not name it.
    name: Option<String>,
    samples: u64,
    /// The first few different ones.
    periods: BTreeSet<u64>,
    timed: u64,
}

#[derive(Debug)]
pub(super) struct PerfScript {
    listing: Listing,
    stacks: Stacks,
    seen: BTreeMap<SampleKey, u64>,
    current: Option<Sample>,
    /// A line that is a command alone, if a stack follows.
    comm: Option<(usize, String)>,
    events: Vec<Event>,
    /// Samples of still other events.
    other: u64,
    hz: Option<f64>,
}

impl PerfScript {
    pub(super) fn new() -> PerfScript {
        PerfScript {
            listing: Listing::new(Kind::PerfScript, ListingClock::Foreign),
            stacks: Stacks::default(),
            seen: BTreeMap::new(),
            current: None,
            comm: None,
            events: Vec::new(),
            other: 0,
            hz: None,
        }
    }

    /// Whether the line is a function of the sample's stack, or what of one did not fit into the line above.
    fn below(&mut self, text: &str) -> bool {
        let Some(current) = &mut self.current else { return false };
        if let Some(last) = current.frames.last_mut()
            && last.module.is_empty()
            && let Some(module) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'))
            && !module.contains(char::is_whitespace)
        {
            last.module = module_name(module, false);
            return true;
        }
        let Some(frame) = frame(text) else { return false };
        // `dd 9178 [001] 13.5: cpu-clock:` has an address in front, and blanks in its name.
        if frame.module.is_empty() && frame.name.contains(char::is_whitespace) && sample(text).is_some() {
            return false;
        }
        if current.frames.len() < DEEPEST {
            current.frames.push(frame);
        }
        true
    }

    fn flush(&mut self) -> Result<(), Problem> {
        let Some(mut sample) = self.current.take() else { return Ok(()) };
        if sample.frames.is_empty() {
            // perf could not walk the stack, and says so by printing nothing.
            sample.frames.push(Frame { name: "[unknown]".to_owned(), module: String::new() });
        }
        let name = sample.event.take();
        let event = match self.events.iter().position(|event| event.name == name) {
            Some(event) => event,
            None if self.events.len() >= MOST_EVENTS => {
                self.other += 1;
                return Ok(());
            }
            None => {
                self.events.push(Event { name, samples: 0, periods: BTreeSet::new(), timed: 0 });
                self.events.len() - 1
            }
        };
        // Without modules (`-F sym`) names alone say what is the kernel's.
        if sample.frames.iter().all(|frame| frame.module.is_empty()) {
            kernel_names::mark(&mut sample.frames, false);
        }
        let pid = idle_pid(&sample.comm, "", sample.pid);
        let stack = self.stacks.of(sample.frames.drain(..));
        if self.stacks.len() > MOST_STACKS {
            return Err(Problem::of_file(
                format!("it has more than {MOST_STACKS} different stacks"),
                "cut it into shorter stretches with `perf script --time`",
            ));
        }
        let Some(stack) = stack else { return Ok(()) };
        let seen = &mut self.events[event];
        seen.samples += 1;
        seen.timed += u64::from(sample.time.is_some());
        if let Some(period) = sample.period
            && seen.periods.len() < 8
        {
            seen.periods.insert(period);
        }
        let slice = sample.time.map_or(0, |time| time.div_euclid(SLICE));
        *self.seen.entry((event, slice, sample.cpu, pid, sample.comm, stack)).or_default() += 1;
        Ok(())
    }

    /// The event that shows where the time of CPUs went, else the first.
    fn chosen(&self) -> usize {
        let shows = |event: &Event| event.name.as_deref().is_some_and(shows_cpu_time);
        self.events.iter().position(shows).unwrap_or(0)
    }

    /// A timer's period is its length in nanoseconds.
    fn rate(&self, event: &Event) -> Option<f64> {
        let is_timer = event.name.as_deref().is_some_and(|name| matches!(name, "cpu-clock" | "task-clock"));
        let period = event.periods.first().filter(|period| is_timer && event.periods.len() == 1 && **period > 0);
        self.hz.or(period.map(|period| (SECOND as f64 / *period as f64 * 100.0).round() / 100.0))
    }

    /// What was left out, and what the samples taken are not.
    fn say(&mut self, chosen: usize) {
        let name = |event: &Event| event.name.clone().unwrap_or_else(|| "an event that is not named".to_owned());
        let Some(taken) = self.events.get(chosen) else { return };
        if let Some(event) = taken.name.as_deref().filter(|event| !shows_cpu_time(event)) {
            let detail = format!("its samples are of {event}, which does not say where the time of CPUs went");
            self.listing.gap(Some(SOURCE), GapReason::Other("other_event".to_owned()), detail);
        }
        let others = self.events.iter().enumerate().filter(|(at, _)| *at != chosen);
        let left: Vec<String> =
            others.take(5).map(|(_, event)| format!("{} ({} samples)", name(event), event.samples)).collect();
        if left.is_empty() {
            return;
        }
        let why = match taken.name.as_deref() {
            Some(event) if shows_cpu_time(event) => "it shows where the time of CPUs went",
            _ => "it is the first, and none shows where the time of CPUs went",
        };
        let note = format!("perf script: of {} events, {} is taken: {why}", self.events.len(), name(taken));
        let more = if self.events.len() > 6 || self.other > 0 { " and more" } else { "" };
        let detail =
            format!("not imported of perf script: {}{more}; samples of two events are never added", left.join(", "));
        self.listing.note(note);
        self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
    }
}

/// A comment of `--header`, which perf report has too. The rate of the first event, where it says it.
pub(super) fn header_comment(listing: &mut Listing, line: &str) -> Option<f64> {
    let (key, value) = line.trim_start_matches('#').split_once(':')?;
    let value = value.trim();
    match key.trim() {
        "os release" => listing.about("kernel", value),
        "nrcpus online" => listing.about("cpus", value),
        "event" => {
            // `{ sample_period, sample_freq } = 99`, also of the dummy event behind it.
            let rate = value.split("sample_freq } = ").nth(1).and_then(|rest| rest.split([',', ' ']).next());
            return rate.and_then(|rate| rate.parse().ok());
        }
        _ => {}
    }
    None
}

/// `comm pid/tid [cpu] time: period event: …`, without what was not asked for; `None` when the line is no such thing.
fn sample(line: &str) -> Option<Sample> {
    let words = words(line);
    let is_number = |word: &str| !word.is_empty() && word.len() <= 10 && word.bytes().all(|b| b.is_ascii_digit());
    let is_pid = |word: &str| is_number(word) || word == "-1";
    // A command may have words of digits: the first number that is followed by what may follow is the right one.
    for index in 1..words.len().min(20) {
        let (start, word) = words[index];
        let (pid, tid) = word.split_once('/').map_or((None, word), |(pid, tid)| (Some(pid), tid));
        if !is_pid(tid) || !pid.is_none_or(is_pid) {
            continue;
        }
        let sample = rest_of_sample(line, &words[index + 1..], true);
        if let Some(sample) = sample {
            let pid = pid.and_then(|pid| pid.parse().ok());
            return Some(Sample { comm: line[..start].trim().to_owned(), pid, ..sample });
        }
    }
    // `-F comm,cpu,time,event,…`: nothing but the command stands in front of a CPU or a time.
    let index = words.iter().take(20).position(|(_, word)| cpu(word).is_some() || time(word).is_some())?;
    let sample = rest_of_sample(line, &words[index..], false)?;
    Some(Sample { comm: line[..words[index].0].trim().to_owned(), ..sample })
}

/// `[cpu] time: period event: …`. `has_pid`: what stands before it is already something that a sample has.
fn rest_of_sample(line: &str, words: &[(usize, &str)], has_pid: bool) -> Option<Sample> {
    let mut rest = words.iter().copied().peekable();
    let cpu = rest.next_if(|(_, word)| cpu(word).is_some()).and_then(|(_, word)| cpu(word));
    let time = rest.next_if(|(_, word)| time(word).is_some()).and_then(|(_, word)| time(word));
    let period = rest.next_if(|(_, word)| word.bytes().all(|b| b.is_ascii_digit()));
    let event = rest.next_if(|(_, word)| word.len() > 1 && word.ends_with(':'));
    let behind = rest.peek().map(|(start, _)| line[*start..].trim_end());
    let says_something = if has_pid { cpu.is_some() || time.is_some() || event.is_some() } else { time.is_some() };
    if (behind.is_some() || period.is_some() || !has_pid) && !says_something {
        return None;
    }
    let frame = behind.and_then(frame);
    Some(Sample {
        comm: String::new(),
        pid: None,
        cpu,
        time,
        period: period.and_then(|(_, word)| word.parse().ok()),
        event: event.map(|(_, word)| event_name(word)),
        is_whole: frame.is_some(),
        frames: frame.into_iter().collect(),
    })
}

/// `ffffffff815ee25c f+0x1 ([kernel.kallsyms])`, which no other line is: where a paste has lost its blanks, it is known by
/// that.
fn is_frame(text: &str) -> bool {
    let Some((address, rest)) = text.split_once(char::is_whitespace) else { return false };
    let is_address = (1..=16).contains(&address.len()) && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    let rest = rest.trim().trim_end_matches("(inlined)").trim_end();
    let Some(inside) = rest.strip_suffix(')') else {
        // Its module did not fit into the line.
        return is_address && address.len() >= 12 && !rest.is_empty() && !rest.contains(char::is_whitespace);
    };
    let is_module = opening(inside).is_some_and(|(_, module)| module.starts_with(['/', '[']));
    is_address && (is_module || address.len() >= 6)
}

/// Words with where they begin.
fn words(line: &str) -> Vec<(usize, &str)> {
    let place = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    line.split_whitespace().take(40).map(|word| (place(word), word)).collect()
}

fn cpu(word: &str) -> Option<u32> {
    let inside = word.strip_prefix('[')?.strip_suffix(']')?;
    inside.parse().ok().filter(|_| inside.bytes().all(|byte| byte.is_ascii_digit()))
}

fn time(word: &str) -> Option<i64> {
    let digits = word.strip_suffix(':')?;
    seconds(digits).filter(|_| digits.contains('.'))
}

/// `ffffffff815ee25c __handle_mm_fault+0x7fc ([kernel.kallsyms])`, with or without address, offset and module.
fn frame(text: &str) -> Option<Frame> {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_address = first.len() <= 16 && !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    // A function may be called `add`: without anything behind it, it is one only if it cannot be an address of text.
    let (address, rest) = if is_address { (Some(first), rest.trim()) } else { (None, text) };
    let rest = rest.strip_suffix("(inlined)").unwrap_or(rest).trim();
    let (symbol, module) = match rest.strip_suffix(')').and_then(|inside| opening(inside)) {
        Some((symbol, module)) => (symbol.trim(), module),
        None => (rest, ""),
    };
    if address.is_none() && (symbol.is_empty() || module.is_empty() && symbol.contains(char::is_whitespace)) {
        return None;
    }
    let symbol = match symbol.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => symbol,
    };
    // Addresses of the kernel have their top bit set on every architecture perf samples with 64 bits.
    let is_kernel = address.is_some_and(|address| address.len() == 16 && address.as_bytes()[0] >= b'8');
    let name = match (symbol, address) {
        ("[unknown]" | "", Some(address)) => format!("0x{}", address.trim_start_matches('0')),
        ("[unknown]" | "", None) => "[unknown]".to_owned(),
        (symbol, _) => symbol.to_owned(),
    };
    Some(Frame { name, module: module_name(module, is_kernel) })
}

/// Where the bracket before `inside` opens: `sym (/memfd:x (deleted)` has two, and the module is the outer one.
fn opening(inside: &str) -> Option<(&str, &str)> {
    let at = inside.rfind(" (").or_else(|| inside.starts_with('(').then_some(0))?;
    let (symbol, module) = split_at_bracket(inside, at);
    if module.starts_with("deleted") {
        let inside = symbol;
        let at = inside.rfind(" (")?;
        return Some(split_at_bracket(inside, at));
    }
    Some((symbol, module))
}

fn split_at_bracket(text: &str, at: usize) -> (&str, &str) {
    let module = text[at..].trim_start().trim_start_matches('(');
    (&text[..at], module)
}

/// As our own profiles write it: the kernel, a kernel module as `[name.ko]`, generated code as `[jit]`, a file by its name.
pub(super) fn module_name(module: &str, is_kernel: bool) -> String {
    let module = module.trim();
    let inside = module.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let file = module.rsplit('/').next().unwrap_or(module);
    match inside {
        Some(inside) if inside.starts_with("kernel") || inside.starts_with("guest.kernel") => KERNEL.to_owned(),
        Some("unknown") | None if module.is_empty() || inside.is_some() => {
            if is_kernel {
                KERNEL.to_owned()
            } else {
                String::new()
            }
        }
        Some(inside) if is_kernel && !inside.ends_with(".ko") => format!("[{inside}.ko]"),
        Some(_) => module.to_owned(),
        None if module.starts_with("//anon") || (file.starts_with("perf-") && file.ends_with(".map")) => {
            "[jit]".to_owned()
        }
        None if is_kernel && file.ends_with(".ko") => format!("[{file}]"),
        None if file.contains("vmlinux") => KERNEL.to_owned(),
        None => file.to_owned(),
    }
}

/// Whether a line is the head of a sample with an event and a time or a CPU, or a function below one: address, name, module.
pub(super) fn recognises(line: &str) -> bool {
    if trace_events::recognises(line) {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_frame = line.starts_with(char::is_whitespace)
        && words.len() >= 3
        && (8..=16).contains(&words[0].len())
        && words[0].bytes().all(|byte| byte.is_ascii_hexdigit())
        && words.last().is_some_and(|word| word.ends_with(')') && (word.contains("(/") || word.contains("([")));
    let is_head = |sample: Sample| sample.event.is_some() && (sample.time.is_some() || sample.cpu.is_some());
    is_frame || sample(line).is_some_and(is_head)
}

impl Parser for PerfScript {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim_end();
        if text.trim_start().is_empty() {
            return self.flush();
        }
        if text.starts_with('#') {
            let hz = header_comment(&mut self.listing, text);
            self.hz = self.hz.or(hz);
            return Ok(());
        }
        let is_indented = text.starts_with(|c: char| c.is_whitespace());
        let bare = text.trim_start();
        let comm = self.comm.take();
        if let Some((place, line)) = comm.as_ref().filter(|_| !is_frame(bare)) {
            self.listing.reject(*place, line);
        }
        let is_open = self.current.as_ref().is_some_and(|current| !current.is_whole);
        if is_open && (is_indented || is_frame(bare)) && self.below(bare) {
            return Ok(());
        }
        if let Some(next) = sample(text) {
            self.flush()?;
            self.current = Some(next);
        } else if is_frame(bare) {
            // `-F ip,sym`: stacks alone, a blank line between two.
            self.flush()?;
            let comm = comm.map_or_else(String::new, |(_, comm)| comm.trim().to_owned());
            self.current = Some(Sample { comm, ..Sample::default() });
            self.below(bare);
        } else if self.current.is_none() && text.len() <= 16 {
            // The kernel's names of threads have no more letters (TASK_COMM_LEN).
            self.comm = Some((number, text.to_owned()));
        } else {
            self.listing.reject(number, line);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.flush()?;
        if let Some((place, line)) = self.comm.take() {
            self.listing.reject(place, &line);
        }
        if self.stacks.is_empty() || self.seen.is_empty() {
            return Err(self.listing.nothing("sample of perf script", REMEDY));
        }
        // Lines that merely look like samples: not one of them names a function.
        if self.stacks.frames().iter().all(|frame| frame.name == "[unknown]" && frame.module.is_empty()) {
            return Err(Problem::of_file("it holds samples without any function", REMEDY));
        }
        let chosen = self.chosen();
        self.say(chosen);
        let Some(event) = self.events.get(chosen) else {
            return Err(self.listing.nothing("sample of perf script", REMEDY));
        };
        let (samples, timed) = (event.samples, event.timed);
        let (name, hz) = (event.name.clone(), self.rate(event));
        let is_timed = timed > 0 && timed == samples;
        if timed > 0 && !is_timed {
            self.listing.note("perf script: some samples have no time; all are counted over the whole stretch");
        }
        self.listing.clock = if is_timed { ListingClock::Foreign } else { ListingClock::None };
        self.listing.about("import.samples", samples.to_string());
        let mut merged: BTreeMap<_, u64> = BTreeMap::new();
        for ((event, slice, cpu, pid, comm, stack), count) in std::mem::take(&mut self.seen) {
            if event == chosen {
                *merged.entry((if is_timed { slice } else { 0 }, cpu, pid, comm, stack)).or_default() += count;
            }
        }
        let bound = |slice: i64| slice.saturating_mul(SLICE).max(0).cast_unsigned();
        let samples = merged.into_iter().map(|((slice, cpu, pid, comm, stack), count)| StackSample {
            from: bound(slice),
            to: bound(slice.saturating_add(1)),
            cpu,
            pid,
            comm,
            stack,
            count,
        });
        let event = name.as_deref().map(SamplingEvent::from_word);
        self.listing.profile =
            Some(Profile { event, hz, samples: samples.collect(), stacks: std::mem::take(&mut self.stacks), lost: 0 });
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<(String, String)> {
        frame(text).map(|frame| (frame.name, frame.module))
    }

    fn pair(name: &str, module: &str) -> Option<(String, String)> {
        Some((name.to_owned(), module.to_owned()))
    }

    #[test]
    fn functions_with_spaces_brackets_and_deleted_files_keep_their_names() {
        assert_eq!(named("ffffffff815ee25c handle+0x7fc ([kernel.kallsyms])"), pair("handle", KERNEL));
        assert_eq!(
            named(" 7f20 (anonymous namespace)::run+0x1 (/usr/lib/a.so)"),
            pair("(anonymous namespace)::run", "a.so")
        );
        assert_eq!(named("7f20 work (/memfd:x (deleted))"), pair("work", "memfd:x"));
        assert_eq!(named("7f20 [unknown] ([unknown])"), pair("0x7f20", ""));
        assert_eq!(named("ffffffffc0123456 ext4_map+0x1 ([ext4])"), pair("ext4_map", "[ext4.ko]"));
        assert_eq!(named("ffffffffc0123456 [unknown] ([unknown])"), pair("0xffffffffc0123456", KERNEL));
        assert_eq!(named("7f20 Lorg/Foo;::run (/tmp/perf-77.map)"), pair("Lorg/Foo;::run", "[jit]"));
        assert_eq!(named("7f20 f+0x2 (inlined)"), pair("f", ""));
        assert_eq!(named("clear_page ([kernel.kallsyms])"), pair("clear_page", KERNEL));
        assert_eq!(named("clear_page"), pair("clear_page", ""));
        assert_eq!(named("two words"), None);
    }

    #[test]
    fn commands_may_hold_spaces_and_numbers() {
        let parsed = sample("opt 0j7 12  9085/9086 [001] 13753.536950:   10101010 cpu-clock:pppH: ").unwrap();
        assert_eq!((parsed.comm.as_str(), parsed.pid, parsed.cpu), ("opt 0j7 12", Some(9085), Some(1)));
        assert_eq!((parsed.time, parsed.period), (Some(13_753_536_950_000), Some(10_101_010)));
        assert_eq!(parsed.event.as_deref(), Some("cpu-clock"));
        assert_eq!(sample("dd  9178 ").unwrap().pid, None, "it is the thread's");
        assert!(sample("Warning: 12 things went wrong").is_none());
        assert_eq!(
            sample("a 1 [000] 1.5: sched:sched_switch: x=1").unwrap().event.as_deref(),
            Some("sched:sched_switch")
        );
    }
}
