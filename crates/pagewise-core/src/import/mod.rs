//! What other tools wrote, as a recording: collectl, sar, nmon, atop, top, vmstat, perf script, perf top.
//!
//! The way of a line: a [`Parser`] of its kind puts numbers at instants into a [`Listing`]; [`merge`](merge::merge) lays
//! several listings on one time line and gives an [`Imported`], which is a recording like any other. What is not
//! understood is a gap or an error, never a number. Why so: `docs/design/0012-imports.md`; which column of which tool
//! becomes which series: `docs/reference/imports.md`.

mod atop;
mod collectl;
mod disks;
mod listing;
mod merge;
mod nmon;
mod perf_script;
mod perf_top;
mod sar;
mod shares;
mod threads;
mod times;
mod top;
mod vmstat;
mod words;

pub use listing::{Listing, ListingClock};
pub use merge::{Assumed, Imported, UnknownAssumption, merge};
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
    /// `vmstat`.
    Vmstat,
    /// `perf script`.
    PerfScript,
    /// `perf top`, or `perf report --stdio`.
    PerfTop,
    /// A folder of sos or sosreport, unpacked.
    Sosreport,
}

const KINDS: [(Kind, &str); 9] = [
    (Kind::Collectl, "collectl"),
    (Kind::Sar, "sar"),
    (Kind::Nmon, "nmon"),
    (Kind::Atop, "atop"),
    (Kind::Top, "top"),
    (Kind::Vmstat, "vmstat"),
    (Kind::PerfScript, "perf-script"),
    (Kind::PerfTop, "perf-top"),
    (Kind::Sosreport, "sosreport"),
];

impl Kind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.into_iter().map(|(kind, _)| kind)
    }

    /// As it is written on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        KINDS.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
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
            plain => plain,
        };
        let known = KINDS.into_iter().find(|(_, word)| *word == plain).map(|(kind, _)| kind);
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

/// The kind whose listings have such a header, or begin with such a line.
#[must_use]
pub fn headed(line: &str) -> Option<Kind> {
    type Recognises = fn(&str) -> bool;
    const OWN: [(Kind, Recognises); 5] = [
        (Kind::Nmon, nmon::recognises),
        (Kind::Atop, atop::recognises),
        (Kind::Top, top::recognises),
        (Kind::Collectl, collectl::recognises),
        (Kind::Sar, sar::recognises),
    ];
    OWN.into_iter().find(|(_, recognises)| recognises(line)).map(|(kind, _)| kind)
}

/// Takes a file line by line.
pub trait Parser {
    /// The next line, numbered from 1, without its end.
    ///
    /// # Errors
    /// When the file cannot be of this kind, or holds more than can be taken.
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem>;

    /// The file has ended.
    ///
    /// # Errors
    /// When nothing in it was understood.
    fn finish(self: Box<Self>) -> Result<Listing, Problem>;
}

/// The parser of a kind. `None` for a sosreport, which is a folder of kernel files.
#[must_use]
pub fn parser(kind: Kind, assumed: &Assumed) -> Option<Box<dyn Parser>> {
    Some(match kind {
        Kind::Collectl => Box::new(collectl::Collectl::new(assumed)),
        Kind::Sar => Box::new(sar::Sar::new(assumed)),
        Kind::Nmon => Box::new(nmon::Nmon::new()),
        Kind::Atop => Box::new(atop::Atop::new(assumed)),
        Kind::Top => Box::new(top::Top::new(assumed)),
        Kind::Vmstat => Box::new(vmstat::Vmstat::new(assumed)),
        Kind::PerfScript => Box::new(perf_script::PerfScript::new()),
        Kind::PerfTop => Box::new(perf_top::PerfTop::new()),
        Kind::Sosreport => return None,
    })
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
    let mut listing = parser.finish()?;
    if !rest.is_empty() {
        cut_line(&mut listing, lines + 1, rest);
    }
    Ok(listing)
}

/// The last line has no end. It may be half a line, and half a number would be a wrong one, so it was not read.
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
