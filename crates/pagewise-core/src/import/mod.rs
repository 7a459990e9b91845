//! What other tools wrote, as a recording: collectl, sar, nmon, atop, top, dstat, vmstat, perf script, perf top, perf stat, collapsed
//! stacks, text of /proc, node_exporter, the kernel's log, free, slabtop, the log of a JVM's collections.
//!
//! The way of a line: a [`Parser`] of its kind puts numbers at instants into a [`Listing`]; [`merge`](merge::merge) lays
//! several listings on one time line and gives an [`Imported`], which is a recording like any other. What is not
//! understood is a gap or an error, never a number. Why so: `docs/design/0012-imports.md`; which column of which tool
//! becomes which series: `docs/reference/imports.md`.

mod atop;
mod atopsar;
mod collectl;
mod counted_stack;
mod disks;
mod dstat;
mod events;
mod flame_graph;
mod folded;
mod free;
mod gc_log;
mod held_up;
mod kernel_line;
mod kernel_log;
mod kernel_names;
mod listing;
mod mem_info;
mod merge;
mod nmon;
mod node_exporter;
mod pasted;
mod perf_callers;
mod perf_graph;
mod perf_lkp;
mod perf_row;
mod perf_script;
mod perf_stat;
mod perf_top;
mod proc;
mod readings;
mod sar;
mod settings;
mod shares;
mod slab;
mod snapshots;
mod snoop;
mod stack_blocks;
mod threads;
mod times;
mod top;
mod trace_events;
mod vmstat;
mod words;

pub use flame_graph::dividable_at;
pub(crate) use held_up::{ON_CPU, SEEN};
pub(crate) use kernel_log::COSTLY;
pub use listing::{Listing, ListingClock};
pub(crate) use merge::HOLE;
pub use merge::{Assumed, Imported, UnknownAssumption, merge};
pub use settings::of_sysctl;
pub(crate) use snapshots::NO_TIME;
pub use times::utc_instant;

use std::fmt;
use std::str::FromStr;

pub use crate::counter::IMPORT as SOURCE;

/// What wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `collectl`, brief, verbose or plot format.
    Collectl,
    /// `sar`, `mpstat` or `iostat` as text (sysstat 5 to 12).
    Sar,
    /// A file of `nmon -f`.
    Nmon,
    /// `atop` as text.
    Atop,
    /// `top -b`, or a screen of it.
    Top,
    /// `dstat`.
    Dstat,
    /// `vmstat`.
    Vmstat,
    /// `perf script`.
    PerfScript,
    /// `perf top` or `perf report`, with or without call graphs.
    PerfTop,
    /// `perf stat`.
    PerfStat,
    /// Text of files below `/proc`, once or several times.
    Proc,
    /// Prometheus text of `node_exporter`.
    NodeExporter,
    /// Collapsed stacks, as flame graphs are made of.
    Folded,
    /// The kernel's log: dmesg, `journalctl -k`, `/var/log/messages`.
    KernelLog,
    /// `free`.
    Free,
    /// `slabtop`, or text of `/proc/slabinfo`.
    Slab,
    /// What a JVM logs of its collections.
    GcLog,
    /// Tracepoints of reclaim and compaction: ftrace, trace-cmd, `perf script`; `drsnoop` and `compactsnoop` of bcc.
    TraceEvents,
    /// A folder of sos or sosreport, unpacked.
    Sosreport,
}

const KINDS: &[(Kind, &str)] = &[
    (Kind::Collectl, "collectl"),
    (Kind::Sar, "sar"),
    (Kind::Nmon, "nmon"),
    (Kind::Atop, "atop"),
    (Kind::Top, "top"),
    (Kind::Dstat, "dstat"),
    (Kind::Vmstat, "vmstat"),
    (Kind::PerfScript, "perf-script"),
    (Kind::PerfTop, "perf-top"),
    (Kind::PerfStat, "perf-stat"),
    (Kind::Proc, "proc"),
    (Kind::NodeExporter, "node-exporter"),
    (Kind::Folded, "folded"),
    (Kind::KernelLog, "kernel-log"),
    (Kind::Free, "free"),
    (Kind::Slab, "slab"),
    (Kind::GcLog, "gc-log"),
    (Kind::TraceEvents, "trace-events"),
    (Kind::Sosreport, "sosreport"),
];

/// Whether a line is of a kind's text and of no other.
type Recognises = fn(&str) -> bool;

/// How the text of a kind is told, from any one of its lines.
const RECOGNISED: &[(Kind, Recognises)] = &[
    (Kind::Collectl, collectl::recognises),
    (Kind::Sar, sar::recognises),
    (Kind::Nmon, nmon::recognises),
    (Kind::Atop, atop::recognises),
    (Kind::Top, top::recognises),
    (Kind::Dstat, dstat::recognises),
    (Kind::Vmstat, vmstat::recognises),
    (Kind::PerfScript, perf_script::recognises),
    (Kind::PerfTop, perf_top::recognises),
    (Kind::PerfStat, perf_stat::recognises),
    (Kind::Proc, proc::recognises),
    (Kind::NodeExporter, node_exporter::recognises),
    (Kind::Folded, folded::recognises),
    (Kind::KernelLog, kernel_log::recognises),
    (Kind::Free, free::recognises),
    (Kind::Slab, slab::recognises),
    (Kind::GcLog, gc_log::recognises),
    (Kind::TraceEvents, trace_events::recognises),
];

/// What a text holds: a thread that somebody pasted has the listings of several tools.
#[must_use]
pub fn kinds_in(text: &str) -> Vec<Kind> {
    let mut left: Vec<(Kind, Recognises)> = RECOGNISED.to_vec();
    let mut found = Vec::new();
    for line in pasted::lines(text) {
        left.retain(|(kind, recognises)| {
            let is_it = recognises(&line);
            if is_it {
                found.push(*kind);
            }
            !is_it
        });
        if left.is_empty() {
            break;
        }
    }
    found
}

/// The command that prints the text of one of the kernel's files, as a line above it, where only the name of the file that it was kept in
/// says of which: pressure in `memory.txt`. `None`: the text says it, or neither does.
#[must_use]
pub fn command_of(file_name: &str, text: &str) -> Option<String> {
    proc::command_of(file_name, text)
}

impl Kind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().copied().map(|(kind, _)| kind)
    }

    /// As it is written on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        KINDS.iter().copied().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        // People write the names of the tools as they type them.
        let plain = text.to_ascii_lowercase().replace([' ', '_'], "-");
        let plain = match plain.as_str() {
            "sos" => "sosreport",
            // The same headings, read by the same code.
            "mpstat" | "iostat" | "pidstat" => "sar",
            "dmesg" => "kernel-log",
            "slabtop" | "slabinfo" => "slab",
            "gc" | "gclog" => "gc-log",
            "ftrace" | "trace" | "trace-cmd" | "drsnoop" | "compactsnoop" => "trace-events",
            plain => plain,
        };
        let known = KINDS.iter().copied().find(|(_, word)| *word == plain).map(|(kind, _)| kind);
        known.ok_or_else(|| {
            let all: Vec<&str> = KINDS.iter().map(|(_, word)| *word).collect();
            format!("'{text}' is no kind of file that can be imported; write one of {}", all.join(", "))
        })
    }
}

/// A file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}; {remedy}", place(*line))]
pub struct Problem {
    /// The line, from 1. `None`: the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

fn place(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

impl Problem {
    pub(crate) fn of_file(what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem { line: None, what: what.into(), remedy: remedy.into() }
    }
}

/// Takes a file line by line.
pub trait Parser {
    /// The next line, numbered from 1, without its end.
    ///
    /// # Errors
    /// When the file cannot be of this kind, or holds more than can be taken.
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem>;

    /// Whether a last line without an end is certainly a whole one: half a number would be a wrong one. `before` is the line
    /// above it.
    fn is_whole(&self, line: &str, before: &str) -> bool {
        words::is_as_long(line, before) || words::is_whole_function(line)
    }

    /// The file has ended.
    ///
    /// # Errors
    /// When nothing in it was understood.
    fn finish(self: Box<Self>) -> Result<Listing, Problem>;
}

/// The parser of a kind. `None` for a sosreport, which is a folder of kernel files.
#[must_use]
pub fn parser(kind: Kind, assumed: &Assumed) -> Option<Box<dyn Parser>> {
    let parser: Box<dyn Parser> = match kind {
        Kind::Collectl => Box::new(collectl::Collectl::new(assumed)),
        Kind::Sar => Box::new(sar::Sar::new(assumed)),
        Kind::Nmon => Box::new(nmon::Nmon::new()),
        Kind::Atop => Box::new(atop::Atop::new(assumed)),
        Kind::Top => Box::new(top::Top::new(assumed)),
        Kind::Dstat => Box::new(dstat::Dstat::new(assumed)),
        Kind::Vmstat => Box::new(vmstat::Vmstat::new(assumed)),
        Kind::PerfScript => Box::new(perf_script::PerfScript::new()),
        Kind::PerfTop => Box::new(perf_top::PerfTop::new()),
        Kind::PerfStat => Box::new(perf_stat::PerfStat::new()),
        Kind::Proc => Box::new(proc::Proc::new(assumed)),
        Kind::NodeExporter => Box::new(node_exporter::NodeExporter::new(assumed)),
        Kind::Folded => Box::new(folded::Folded::new()),
        Kind::KernelLog => Box::new(kernel_log::KernelLog::new()),
        Kind::Free => Box::new(free::Free::new(assumed)),
        Kind::Slab => Box::new(slab::Slab::new(assumed)),
        Kind::GcLog => Box::new(gc_log::GcLog::new()),
        Kind::TraceEvents => Box::new(trace_events::TraceEvents::new()),
        Kind::Sosreport => return None,
    };
    // What people gave was often pasted somewhere before.
    Some(Box::new(pasted::Pasted::new(parser)))
}

/// A whole text at once.
///
/// # Errors
/// As [`Parser`] has them.
pub fn parse(kind: Kind, text: &str, assumed: &Assumed) -> Result<Listing, Problem> {
    let Some(mut parser) = parser(kind, assumed) else {
        return Err(Problem::of_file("a sosreport is a folder, not a text", "give the unpacked folder"));
    };
    let (whole, rest) = text.rsplit_once('\n').map_or(("", text), |(whole, rest)| (whole, rest));
    let lines = whole.lines().count();
    for (index, line) in whole.lines().enumerate() {
        parser.line(index + 1, line)?;
    }
    let is_whole = parser.is_whole(rest, whole.lines().next_back().unwrap_or(""));
    if is_whole {
        parser.line(lines + 1, rest)?;
    }
    let mut listing = parser.finish()?;
    if !rest.is_empty() && !is_whole {
        cut_line(&mut listing, lines + 1, rest);
    }
    Ok(listing)
}

/// The last line has no end and is not certainly whole: half a number would be a wrong one, so it was not read.
pub fn cut_line(listing: &mut Listing, number: usize, line: &str) {
    let text = words::quoted(line);
    listing.gap(
        Some(SOURCE),
        crate::recording::GapReason::Other("cut".to_owned()),
        format!("line {number}, the last, has no end and may be cut; it was left out: '{text}'"),
    );
}

#[cfg(test)]
mod tests;
