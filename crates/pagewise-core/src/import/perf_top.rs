//! `perf top` and `perf report --stdio` as text: a table of functions, without stacks and without a clock.
//!
//! perf top lists its largest functions only. So that shares stay what they are in the listing, what is not listed is a
//! function of its own, [`NOT_LISTED`]. Of several screens the last one counts.

use super::listing::{Listing, ListingClock};
use super::perf_script::module_name;
use super::words;
use super::{Kind, Parser, Problem};
use crate::recording::stack::KERNEL;
use crate::recording::{Frame, Profile, SamplingEvent, StackSample, Stacks};

/// The name under which samples of functions that are not listed are counted.
const NOT_LISTED: &str = "[not listed]";

const REMEDY: &str = "give a screen of `perf top --stdio`, or the output of `perf report --stdio -g none`";

#[derive(Debug)]
struct Entry {
    /// Hundredths of a percent.
    share: u64,
    /// Samples, where they are listed.
    samples: Option<u64>,
    comm: String,
    frame: Frame,
}

#[derive(Debug)]
pub(super) struct PerfTop {
    listing: Listing,
    entries: Vec<Entry>,
    /// The screen before, kept until the next one has a row.
    banner: Option<String>,
    next_is_new: bool,
    event: Option<String>,
    hz: Option<f64>,
}

/// No table is longer; perf report of a busy host lists some ten thousand.
const MOST_ENTRIES: usize = 1 << 20;

impl PerfTop {
    pub(super) fn new() -> PerfTop {
        PerfTop {
            listing: Listing::new(Kind::PerfTop, ListingClock::None),
            entries: Vec::new(),
            banner: None,
            next_is_new: false,
            event: None,
            hz: None,
        }
    }

    /// `PerfTop:   16096 irqs/sec  kernel:92.6%  exact:  0.0% [1000Hz cycles],  (all, 16 CPUs)`.
    fn banner(&mut self, line: &str) {
        self.next_is_new = true;
        self.banner = Some(line.split_whitespace().collect::<Vec<_>>().join(" "));
        let inside = line.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
        for word in inside.unwrap_or_default().split_whitespace() {
            match word.strip_suffix("Hz").and_then(|hz| hz.parse::<f64>().ok()) {
                Some(hz) => self.hz = (hz.is_finite() && hz > 0.0).then_some(hz),
                None => self.event = Some(word.split(':').next().unwrap_or(word).to_owned()),
            }
        }
        let before_cpus = line.rsplit_once(" CPU").map(|(before, _)| before);
        if let Some(cpus) = before_cpus.and_then(|before| before.rsplit([' ', '(']).next())
            && cpus.bytes().all(|byte| byte.is_ascii_digit())
            && !cpus.is_empty()
        {
            self.listing.about("cpus", cpus);
        }
    }

    /// `# Samples: 1K of event 'cpu-clock'`.
    fn comment(&mut self, line: &str) {
        if let Some((_, rest)) = line.split_once("of event '")
            && let Some((event, _)) = rest.split_once('\'')
        {
            self.event = Some(event.split(':').next().unwrap_or(event).to_owned());
        }
    }
}

/// Counts and shares are never negative.
fn scaled(word: &str, scale: f64) -> Option<u64> {
    words::scaled(word, scale).filter(|value| *value <= 1 << 53)
}

/// `223182.00 93.8% _spin_lock_irq [kernel.kallsyms]`: perf before 3.4.
fn with_samples(words: &[&str]) -> Option<Entry> {
    let [samples, share, function @ .., module] = words else { return None };
    let share = scaled(share.strip_suffix('%')?, 100.0)?;
    let samples = scaled(samples, 1.0)?;
    if function.is_empty() {
        return None;
    }
    let frame = Frame { name: function.join(" "), module: module_of(module) };
    Some(Entry { share, samples: Some(samples), comm: String::new(), frame })
}

/// `12.34%  [kernel]  [k] clear_page_erms`, `45.00% 40.00% 120 java libjvm.so [.] f`: share of itself and its callees, of
/// itself, samples, command, module, privilege, function.
fn with_privilege(words: &[&str]) -> Option<Entry> {
    let at = words.iter().position(|word| matches!(*word, "[k]" | "[.]" | "[g]" | "[u]" | "[H]"))?;
    let (before, name) = (&words[..at], words[at + 1..].join(" "));
    let shares: Vec<&str> = before.iter().map_while(|word| word.strip_suffix('%')).collect();
    let share = scaled(shares.last()?, 100.0)?;
    let rest = &before[shares.len()..];
    let samples = rest.first().and_then(|word| scaled(word, 1.0)).filter(|_| rest.len() > 1);
    let rest = if samples.is_some() { &rest[1..] } else { rest };
    let (module, comm) = rest.split_last()?;
    if name.is_empty() {
        return None;
    }
    let module = if words[at] == "[k]" && *module == "[unknown]" { KERNEL.to_owned() } else { module_of(module) };
    Some(Entry { share, samples, comm: comm.join(" "), frame: Frame { name, module } })
}

fn module_of(word: &str) -> String {
    let is_kernel_module = word.starts_with('[')
        && !matches!(word, "[unknown]" | "[vdso]" | "[vsyscall]" | "[heap]" | "[stack]" | "[jit]" | "[anon]");
    module_name(word, is_kernel_module)
}

/// Screens are told apart by codes for the terminal.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // CSI: up to its final letter.
            let _ = chars.by_ref().find(|c| c.is_ascii_alphabetic());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Whether a line is the head of a screen or a report, or names a function with its share.
pub(super) fn recognises(line: &str) -> bool {
    let plain = without_escapes(line);
    let words: Vec<&str> = plain.split_whitespace().collect();
    plain.trim_start().starts_with("PerfTop:") || with_privilege(&words).is_some()
}

impl Parser for PerfTop {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let plain = without_escapes(line);
        let text = plain.trim();
        let is_rule = text.chars().all(|c| matches!(c, '-' | '_' | ' ' | '.' | '|' | '='));
        if text.starts_with("PerfTop:") {
            self.banner(text);
            return Ok(());
        }
        if text.starts_with('#') {
            self.comment(text);
            return Ok(());
        }
        // Branches of a call graph belong to the function above them, whose own share is what counts.
        let is_branch = text.starts_with(['|', '-']) || text.contains("--");
        let words: Vec<&str> = text.split_whitespace().collect();
        if is_rule || words.first() == Some(&"samples") || words.first() == Some(&"Overhead") {
            return Ok(());
        }
        let Some(entry) = with_privilege(&words).or_else(|| with_samples(&words)) else {
            if !is_branch {
                self.listing.reject(number, line);
            }
            return Ok(());
        };
        if std::mem::take(&mut self.next_is_new) {
            self.entries.clear();
        }
        if self.entries.len() >= MOST_ENTRIES {
            return Err(Problem::of_file(format!("it lists more than {MOST_ENTRIES} functions"), REMEDY));
        }
        self.entries.push(entry);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if self.entries.iter().all(|entry| entry.share == 0 && entry.samples.unwrap_or(0) == 0) {
            return Err(self.listing.nothing("function of perf top with a share", REMEDY));
        }
        let has_samples = self.entries.iter().all(|entry| entry.samples.is_some());
        let count = |entry: &Entry| if has_samples { entry.samples.unwrap_or(0) } else { entry.share };
        let listed = self.entries.iter().fold(0u64, |sum, entry| sum.saturating_add(count(entry)));
        // The largest share is printed with the smallest relative error.
        let total = match self.entries.iter().max_by_key(|entry| entry.share) {
            Some(largest) if has_samples && largest.share > 0 => {
                (count(largest) as f64 * 10_000.0 / largest.share as f64).round() as u64
            }
            _ => 10_000,
        };
        if !has_samples {
            self.listing.note("perf top: it lists shares only; a count of 100 stands for one percent");
        }
        let mut stacks = Stacks::default();
        let mut samples = Vec::with_capacity(self.entries.len() + 1);
        let mut add = |frame: Frame, comm: String, count: u64| {
            let frame = stacks.frame(frame);
            if let Some(stack) = stacks.push(None, frame).filter(|_| count > 0) {
                samples.push(StackSample { from: 0, to: 1, cpu: None, pid: None, comm, stack, count });
            }
        };
        for entry in std::mem::take(&mut self.entries) {
            let count = if has_samples { entry.samples.unwrap_or(0) } else { entry.share };
            add(entry.frame, entry.comm, count);
        }
        let frame = Frame { name: NOT_LISTED.to_owned(), module: String::new() };
        add(frame, String::new(), total.saturating_sub(listed));
        let event = self.event.as_deref().map(SamplingEvent::from_word);
        self.listing.profile = Some(Profile { event, hz: self.hz, stacks, samples, lost: 0 });
        if let Some(banner) = self.banner.take() {
            self.listing.note(format!("perf top: {banner}"));
        }
        Ok(self.listing.close())
    }
}
