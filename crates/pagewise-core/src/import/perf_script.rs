//! `perf script` as text: a line per sample and, with call graphs, a line per function below it, the innermost first.
//!
//! Which fields are printed is the user's choice (`-F`); command, function and what of CPU, time, period and event there
//! is are recognised by their form. With a single number behind the command it is the thread's (perf-script(1)), and the
//! process is not known.

use super::listing::{Listing, ListingClock};
use super::times::{SECOND, seconds};
use super::{Kind, Parser, Problem};
use crate::recording::stack::KERNEL;
use crate::recording::{Frame, Profile, SamplingEvent, StackId, StackSample, Stacks};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the output of `perf script` (or `perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso`)";

/// perf itself stops at 127 unless told otherwise.
const DEEPEST: usize = 2048;

/// No profile has more distinct stacks; a day of a busy host has some ten thousand.
const MOST_STACKS: usize = 1 << 22;

/// Samples are counted in slices of this.
const SLICE: i64 = SECOND;

#[derive(Debug)]
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

/// Slice, CPU, process, command, stack.
type Seen = (i64, Option<u32>, Option<u32>, String, StackId);

#[derive(Debug)]
pub(super) struct PerfScript {
    listing: Listing,
    stacks: Stacks,
    seen: BTreeMap<Seen, u64>,
    current: Option<Sample>,
    event: Option<String>,
    other_events: BTreeMap<String, u64>,
    hz: Option<f64>,
    timed: u64,
    untimed: u64,
    periods: BTreeSet<u64>,
}

impl PerfScript {
    pub(super) fn new() -> PerfScript {
        PerfScript {
            listing: Listing::new(Kind::PerfScript, ListingClock::Foreign),
            stacks: Stacks::default(),
            seen: BTreeMap::new(),
            current: None,
            event: None,
            other_events: BTreeMap::new(),
            hz: None,
            timed: 0,
            untimed: 0,
            periods: BTreeSet::new(),
        }
    }

    /// Comments of `--header`.
    fn comment(&mut self, line: &str) {
        let Some((key, value)) = line.trim_start_matches('#').split_once(':') else { return };
        let value = value.trim();
        match key.trim() {
            "os release" => self.listing.about("kernel", value),
            "nrcpus online" => self.listing.about("cpus", value),
            "event" => {
                // `{ sample_period, sample_freq } = 99`, also of the dummy event behind it.
                let rate = value.split("sample_freq } = ").nth(1).and_then(|rest| rest.split([',', ' ']).next());
                self.hz = self.hz.or(rate.and_then(|rate| rate.parse().ok()));
            }
            _ => {}
        }
    }

    fn flush(&mut self) -> Result<(), Problem> {
        let Some(mut sample) = self.current.take() else { return Ok(()) };
        if sample.frames.is_empty() {
            // perf could not walk the stack, and says so by printing nothing.
            sample.frames.push(Frame { name: "[unknown]".to_owned(), module: String::new() });
        }
        let event = sample.event.take();
        if let (Some(event), Some(first)) = (&event, &self.event)
            && event != first
        {
            if self.other_events.len() < 100 || self.other_events.contains_key(event) {
                *self.other_events.entry(event.clone()).or_default() += 1;
            }
            return Ok(());
        }
        self.event = self.event.take().or(event);
        let mut stack = None;
        for frame in sample.frames.drain(..).rev() {
            let number = self.stacks.frame(frame);
            stack = self.stacks.push(stack, number);
        }
        if self.stacks.len() > MOST_STACKS {
            return Err(Problem::of_file(
                format!("it has more than {MOST_STACKS} different stacks"),
                "cut it into shorter stretches with `perf script --time`",
            ));
        }
        let Some(stack) = stack else { return Ok(()) };
        match sample.time {
            Some(_) => self.timed += 1,
            None => self.untimed += 1,
        }
        if let Some(period) = sample.period
            && self.periods.len() < 8
        {
            self.periods.insert(period);
        }
        let slice = sample.time.map_or(0, |time| time.div_euclid(SLICE));
        *self.seen.entry((slice, sample.cpu, sample.pid, sample.comm, stack)).or_default() += 1;
        Ok(())
    }

    /// A timer's period is its length in nanoseconds.
    fn rate(&self) -> Option<f64> {
        let is_timer = self.event.as_deref().is_some_and(|event| matches!(event, "cpu-clock" | "task-clock"));
        let period = self.periods.first().filter(|period| is_timer && self.periods.len() == 1 && **period > 0);
        self.hz.or(period.map(|period| (SECOND as f64 / *period as f64 * 100.0).round() / 100.0))
    }
}

/// `comm pid/tid [cpu] time: period event: …`; `None` when the line is no such thing.
fn sample(line: &str) -> Option<Sample> {
    let words = words(line);
    // A command may have words of digits: the first number that is followed by what may follow is the right one.
    for index in 1..words.len().min(20) {
        let (start, word) = words[index];
        let (pid, tid) = word.split_once('/').map_or((None, word), |(pid, tid)| (Some(pid), tid));
        let is_number = |word: &str| !word.is_empty() && word.len() <= 10 && word.bytes().all(|b| b.is_ascii_digit());
        let is_pid = |word: &str| is_number(word) || word == "-1";
        if !is_pid(tid) || !pid.is_none_or(is_pid) {
            continue;
        }
        let mut rest = words[index + 1..].iter().copied().peekable();
        let cpu = rest.next_if(|(_, word)| cpu(word).is_some()).and_then(|(_, word)| cpu(word));
        let time = rest.next_if(|(_, word)| time(word).is_some()).and_then(|(_, word)| time(word));
        let period = rest.next_if(|(_, word)| word.bytes().all(|b| b.is_ascii_digit()));
        let event = rest.next_if(|(_, word)| word.len() > 1 && word.ends_with(':'));
        let behind = rest.peek().map(|(start, _)| line[*start..].trim_end());
        let says_something = cpu.is_some() || time.is_some() || event.is_some();
        if (behind.is_some() || period.is_some()) && !says_something {
            continue;
        }
        let frame = behind.and_then(frame);
        return Some(Sample {
            comm: line[..start].trim().to_owned(),
            pid: pid.and_then(|pid| pid.parse().ok()),
            cpu,
            time,
            period: period.and_then(|(_, word)| word.parse().ok()),
            event: event.map(|(_, word)| event_name(word)),
            is_whole: frame.is_some(),
            frames: frame.into_iter().collect(),
        });
    }
    None
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

/// Without its modifiers: `cpu-clock:pppH:` is `cpu-clock`, `sched:sched_switch:` stays.
fn event_name(word: &str) -> String {
    let name = word.trim_end_matches(':');
    match name.rsplit_once(':') {
        Some((name, modifiers)) if modifiers.bytes().all(|byte| b"ukhGHpPSDWIeb".contains(&byte)) => name.to_owned(),
        _ => name.to_owned(),
    }
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
            self.comment(text);
            return Ok(());
        }
        let is_indented = text.starts_with(|c: char| c.is_whitespace());
        if let Some(current) = &mut self.current
            && !current.is_whole
            && is_indented
            && let Some(frame) = frame(text)
        {
            if current.frames.len() < DEEPEST {
                current.frames.push(frame);
            }
            return Ok(());
        }
        match sample(text) {
            Some(next) => {
                self.flush()?;
                self.current = Some(next);
            }
            None => self.listing.reject(number, line),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.flush()?;
        if self.stacks.is_empty() || self.seen.is_empty() {
            return Err(self.listing.nothing("sample of perf script", REMEDY));
        }
        // Lines that merely look like samples: not one of them names a function.
        if self.stacks.frames().iter().all(|frame| frame.name == "[unknown]" && frame.module.is_empty()) {
            return Err(Problem::of_file("it holds samples without any function", REMEDY));
        }
        let is_timed = self.timed > 0 && self.untimed == 0;
        if self.timed > 0 && self.untimed > 0 {
            self.listing.note("perf script: some samples have no time; all are counted over the whole stretch");
        }
        self.listing.clock = if is_timed { ListingClock::Foreign } else { ListingClock::None };
        for (event, count) in std::mem::take(&mut self.other_events) {
            self.listing.note(format!("perf script: {count} samples of another event, {event}, are left out"));
        }
        let hz = self.rate();
        let mut merged: BTreeMap<Seen, u64> = BTreeMap::new();
        for ((slice, cpu, pid, comm, stack), count) in std::mem::take(&mut self.seen) {
            *merged.entry((if is_timed { slice } else { 0 }, cpu, pid, comm, stack)).or_default() += count;
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
        let event = self.event.as_deref().map(SamplingEvent::from_word);
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
