//! `pagewise watch [FILE.pgw]`: a line per sample, of this host now or of a recording.
//!
//! What people paste into a mail: collectl's columns and those it lacks, each line complete in itself. Only the kernel
//! files that the columns need are read, and they stay open.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::recording::{Gap, Recorded};
use pagewise_core::report::printable::printable;
use pagewise_core::report::recording::columns::{self, Column};
use pagewise_core::report::recording::lines::{self, Line, LineSource};
use pagewise_core::report::recording::meter::{Meter, each_tick};
use pagewise_core::unit::Seconds;
use pagewise_host::following::Following;
use pagewise_host::process::Interrupt;
use pagewise_host::record::kept::Keeping;
use pagewise_host::store::recording::Recording;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Show a line per sample: CPU, memory, reclaim, compaction, huge pages, swap
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct WatchArgs {
    /// Show this recording instead of the host
    #[arg(value_name = "FILE.pgw")]
    recording: Option<PathBuf>,
    /// Samples a second, 0.01 to 20
    #[arg(long, default_value_t = 1.0, value_name = "N", conflicts_with = "recording")]
    hz: f64,
    /// End after so many lines
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<u64>,
    /// Columns in this order, such as cpu,sys,free; or 'wide' for all [default: those that fit]
    #[arg(long, value_name = "LIST")]
    columns: Option<String>,
    /// Write comma-separated values: every line of the page under its name, in its own unit
    #[arg(long, conflicts_with = "columns")]
    csv: bool,
}

const AFTER_HELP: &str = "Columns: cpu, sys, st in % of all CPU time (busy, in the kernel, stolen) · free, cach, anon, \
                          dirt: bytes of memory · maj: faults from disk/s · kswp, drct: pages scanned/s by kswapd and \
                          directly · cmp: compaction stalls/s · thp, fb: huge-page faults/s, and those that fell back · \
                          si, so: bytes swapped in and out/s · psi: % of time some task waited for memory. \
                          '-' is not known, which is not 0.\n\n\
                          Examples:\n  pagewise watch\n  pagewise watch --columns free,kswp,drct,cmp --hz 5\n  \
                          pagewise watch job.pgw --json | jq .cpu_system\n  pagewise watch --csv > host.csv";

/// The columns and rows of a terminal that does not tell its size, and the columns of a pipe.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// How often it is checked whether somebody still reads.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// What a sample is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Columns,
    Json,
    Csv,
}

/// How a sample is written.
struct Printer {
    columns: Vec<&'static Column>,
    /// Characters of the time.
    time: usize,
    /// The lines whose values are taken, in the order of the columns or, for programs, all.
    lines: Vec<&'static Line>,
    form: Form,
    /// Lines between two headings; `None`: one heading at the beginning.
    heading_every: Option<u64>,
    printed: u64,
    most: u64,
}

impl Printer {
    /// `hz`: samples a second.
    fn new(args: &WatchArgs, global: &Global, hz: f64) -> Result<Printer, Failure> {
        let form = match (global.json, args.csv) {
            (true, true) => {
                return Err(Failure::Usage(anyhow!("--json and --csv are two forms of the same: give one")));
            }
            (true, false) => Form::Json,
            (false, true) => Form::Csv,
            (false, false) => Form::Columns,
        };
        let size = io::stdout().is_terminal().then(size_of_terminal);
        // Lines of the same second are told apart.
        let time = if hz > 1.0 { columns::TENTHS } else { columns::TIME };
        let columns = match &args.columns {
            Some(list) => columns::named(list).map_err(|error| Failure::Usage(error.into()))?,
            None => columns::fitting(size.unwrap_or(USUAL_SIZE).0.into(), time),
        };
        let shown = columns.iter().map(|column| column.line);
        let recorded = lines::lines().filter(|line| !matches!(line.reads, LineSource::Stalled(_)));
        let lines = if form == Form::Columns { shown.collect() } else { recorded.collect() };
        let heading_every =
            size.filter(|_| form == Form::Columns).map(|(_, rows)| u64::from(rows).saturating_sub(1).max(2) - 1);
        Ok(Printer { columns, time, lines, form, heading_every, printed: 0, most: args.count.unwrap_or(u64::MAX) })
    }

    fn sample(&mut self, wall: i128, values: &[Option<f64>]) {
        let instant = jiff::Timestamp::from_nanosecond(wall).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        if self.printed == 0 || self.heading_every.is_some_and(|every| self.printed.is_multiple_of(every)) {
            self.heading();
        }
        match self.form {
            Form::Columns => {
                let form = if self.time == columns::TENTHS { "%H:%M:%S%.1f" } else { "%H:%M:%S" };
                let time = instant.to_zoned(jiff::tz::TimeZone::system()).strftime(form).to_string();
                output::data(&columns::row(&time, &self.columns, values));
            }
            Form::Json => {
                let mut object = serde_json::Map::new();
                object.insert("time".to_owned(), instant.to_string().into());
                let known = self.lines.iter().zip(values);
                object.extend(known.map(|(line, value)| (line.id.to_owned(), (*value).into())));
                output::data(&serde_json::Value::Object(object).to_string());
            }
            Form::Csv => {
                // What is not known is empty, which is not 0.
                let cells = values.iter().map(|value| value.map_or_else(String::new, |value| value.to_string()));
                let row: Vec<String> = std::iter::once(instant.to_string()).chain(cells).collect();
                output::data(&row.join(","));
            }
        }
        self.printed += 1;
    }

    fn heading(&self) {
        match self.form {
            Form::Columns => output::data(&columns::head(&self.columns, self.time)),
            Form::Json => {}
            Form::Csv => {
                let names: Vec<&str> = std::iter::once("time").chain(self.lines.iter().map(|line| line.id)).collect();
                output::data(&names.join(","));
            }
        }
    }

    fn is_done(&self) -> bool {
        self.printed >= self.most
    }
}

/// In columns and rows.
fn size_of_terminal() -> (u16, u16) {
    // One that does not know its size, such as a serial line, says 0.
    let known = |cells: u16, usual: u16| if cells > 0 { cells } else { usual };
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.map_or(USUAL_SIZE, |size| (known(size.ws_col, USUAL_SIZE.0), known(size.ws_row, USUAL_SIZE.1)))
}

pub(crate) fn run(args: &WatchArgs, global: &Global) -> Result<ExitCode, Failure> {
    let Some(file) = &args.recording else {
        return follow(args, global, Printer::new(args, global, args.hz)?);
    };
    let recording = Recording::open(file)?;
    let hz = recording.about("hz").and_then(|hz| hz.parse().ok()).unwrap_or(1.0);
    replay(file, &recording, Printer::new(args, global, hz)?)
}

/// This host, until Ctrl-C: which is how it is meant to end.
fn follow(args: &WatchArgs, global: &Global, mut printer: Printer) -> Result<ExitCode, Failure> {
    let sources: BTreeSet<&str> = printer.lines.iter().filter_map(|line| line.source()).collect();
    let only = Some(sources.clone());
    let keeping = Keeping { hz: args.hz, stacks: None, stalls: false, most: 1, wanted: |_| false, only };
    let mut following = Following::start(&global.root(), keeping, printer.lines.clone())?;
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    for why in sources.into_iter().filter_map(|source| following.kept().why_not(source)) {
        output::note(&format!("{why}; its columns show '-'"));
    }
    // Growth needs a sample before the first that is shown.
    following.newest();
    while !printer.is_done() && wait(following.due_in(), &interrupt) {
        if let Some(sample) = following.step() {
            printer.sample(sample.wall, &sample.values);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits; gives whether to go on. A signal ends it at once, and a reader that went away within a second.
fn wait(time: Duration, interrupt: &Interrupt) -> bool {
    let due = Instant::now() + time;
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if interrupt.is_set() || left.is_zero() {
            return !interrupt.is_set();
        }
        if !has_reader() {
            return false;
        }
        interrupt.wait(left.min(CHECK_EVERY));
    }
}

/// Whether stdout is still open at its other end. Without asking, only the next sample would tell.
fn has_reader() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let asked = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    asked.is_err() || !polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// A recording, tick by tick; what was not seen is said where it was not.
fn replay(file: &Path, recording: &Recording, mut printer: Printer) -> Result<ExitCode, Failure> {
    let page_size = recording.about("page_size").and_then(|size| size.parse().ok()).unwrap_or(4096.0);
    let mut meter = Meter::new(printer.lines.clone(), recording.series(), page_size);
    let mut gaps = recording.gaps().iter().filter(|gap| gap.source.is_none()).peekable();
    // Nothing has grown yet at the first; what another tool printed had.
    let mut is_first = recording.about("import.files").is_none();
    for block in recording.blocks() {
        each_tick(&block?, &mut meter, |tick, values| {
            if std::mem::take(&mut is_first) || printer.is_done() {
                return;
            }
            while let Some(gap) = gaps.next_if(|gap| gap.from < tick.begin) {
                if printer.form == Form::Columns {
                    output::data(&gap_line(gap));
                }
            }
            printer.sample(i128::from(tick.begin) + i128::from(tick.wall_offset), values);
        });
        if printer.is_done() {
            break;
        }
    }
    if printer.printed == 0 {
        return Err(Failure::Partial(anyhow!(
            "{} has fewer than two samples: nothing has grown in it",
            file.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// A comment, so that a program that reads the lines can leave it out.
fn gap_line(gap: &Gap) -> String {
    let length = gap.to.map_or_else(
        || "to the end".to_owned(),
        |to| format!("for {}", Seconds(to.saturating_sub(gap.from) as f64 * 1e-9)),
    );
    format!("# nothing was seen {length}: {}", printable(&gap.detail))
}
