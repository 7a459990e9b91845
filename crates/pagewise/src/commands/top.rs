//! `pagewise top [FILE.pgw]`: timelines and the functions CPUs were in, filling a terminal; of this host now, or of a
//! recording, through whose time one travels.

mod picture;

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::screen::Screen;
use anyhow::{Context, anyhow};
use clap::Args;
use pagewise_core::recording::{Profile, Recorded};
use pagewise_core::report::recording::lines::{Line, find};
use pagewise_core::report::recording::meter::{Meter, each_tick};
use pagewise_host::process::Interrupt;
use pagewise_host::record::live::Live;
use pagewise_host::record::{FASTEST, SLOWEST};
use pagewise_host::store::recording::Recording;
use picture::{Picture, page};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::style::force_color_output;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Fill the screen with timelines, of this host or of a recording
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Show this recording instead of the host
    #[arg(value_name = "FILE.pgw")]
    recording: Option<PathBuf>,
    /// Samples a second, 0.01 to 20
    #[arg(long, default_value_t = 1.0, value_name = "N", conflicts_with = "recording")]
    hz: f64,
}

/// The rows from top to bottom; a small screen shows the first of them.
const ROWS: [&str; 16] = [
    "cpu_busy",
    "cpu_system",
    "free",
    "psi_memory_some",
    "scan_direct",
    "scan_kswapd",
    "allocstall",
    "compact_stall",
    "thp_fault",
    "thp_fallback",
    "major_faults",
    "swap_in",
    "swap_out",
    "anon",
    "cache",
    "dirty",
];

/// Samples of a host that are kept to go back to: an hour at 1 Hz.
const KEPT: usize = 3600;

/// Fewest samples on the screen.
const CLOSEST: usize = 10;

/// What was seen so far.
struct Seen {
    title: String,
    is_live: bool,
    lines: Vec<&'static Line>,
    /// CLOCK_BOOTTIME and wall clock in nanoseconds, for each sample.
    at: Vec<(u64, i128)>,
    /// For each sample the values of the lines.
    values: Vec<Vec<Option<f64>>>,
    profile: Option<Profile>,
}

/// Which samples are on the screen: the last of them, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    last: usize,
    span: usize,
}

impl Window {
    fn first(self) -> usize {
        (self.last + 1).saturating_sub(self.span)
    }

    /// Moved by so many samples, within `count` of them.
    fn moved(self, by: isize, count: usize) -> Window {
        let least = self.span.min(count).saturating_sub(1);
        let last = self.last.saturating_add_signed(by).clamp(least, count.saturating_sub(1).max(least));
        Window { last, ..self }
    }

    fn zoomed(self, closer: bool, count: usize) -> Window {
        let span = if closer { self.span / 2 } else { self.span.saturating_mul(2) };
        Window { span: span.clamp(CLOSEST.min(count.max(1)), count.max(1)), ..self }.moved(0, count)
    }
}

pub(crate) fn run(args: &TopArgs, global: &Global) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::Usage(anyhow!(
            "top fills a screen, and stdout is no terminal; 'pagewise watch' prints a line per sample"
        )));
    }
    if !(SLOWEST..=FASTEST).contains(&args.hz) {
        return Err(Failure::Usage(anyhow!(
            "{} samples a second cannot be taken; give a rate from {SLOWEST} to {FASTEST}",
            args.hz
        )));
    }
    // What is no recording is said before the screen changes.
    let mut seen = match &args.recording {
        Some(file) => of_recording(file)?,
        None => Seen {
            title: "this host".to_owned(),
            is_live: true,
            lines: lines(),
            at: Vec::new(),
            values: Vec::new(),
            profile: None,
        },
    };
    let interrupt = Interrupt::on_signals().context("cannot listen for signals").map_err(Failure::NotPossible)?;
    let wanted = output::style(&global.color);
    force_color_output(wanted.color);
    let live = seen.is_live.then(|| Live::open(&global.root(), &super::watch::sources(&seen.lines)));
    let screen = Screen::enter().context("cannot take over the terminal").map_err(Failure::NotPossible)?;
    let ended = follow(screen, &mut seen, live, args.hz, wanted, &interrupt);
    match ended.context("cannot use the terminal").map_err(Failure::NotPossible)? {
        Left::ByKey => Ok(ExitCode::SUCCESS),
        Left::BySignal => Err(Failure::Interrupted(anyhow!("ended by a signal; the terminal is as it was"))),
    }
}

enum Left {
    ByKey,
    BySignal,
}

fn lines() -> Vec<&'static Line> {
    ROWS.iter().filter_map(|id| find(id)).collect()
}

fn of_recording(file: &std::path::Path) -> Result<Seen, Failure> {
    let recording = Recording::open(file)?;
    let page_size = recording.about("page_size").and_then(|size| size.parse().ok()).unwrap_or(4096.0);
    let mut meter = Meter::new(lines(), recording.series(), page_size);
    let mut seen = Seen {
        title: file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned(),
        is_live: false,
        lines: lines(),
        at: Vec::new(),
        values: Vec::new(),
        profile: recording.profile()?,
    };
    for block in recording.blocks() {
        each_tick(&block?, &mut meter, |tick, values| {
            seen.at.push((tick.begin, i128::from(tick.begin) + i128::from(tick.wall_offset)));
            seen.values.push(values.clone());
        });
    }
    if seen.at.is_empty() {
        return Err(Failure::Partial(anyhow!("{} has no sample", file.display())));
    }
    Ok(seen)
}

fn follow(
    mut screen: Screen,
    seen: &mut Seen,
    mut live: Option<Live>,
    hz: f64,
    wanted: pagewise_core::report::Style,
    interrupt: &Interrupt,
) -> io::Result<Left> {
    let period = Duration::from_secs_f64(1.0 / hz);
    let page_size = rustix::param::page_size() as f64;
    let mut meter = live.as_ref().map(|live| Meter::new(seen.lines.clone(), live.series(), page_size));
    let count = seen.at.len();
    let mut window = Window { last: count.saturating_sub(1), span: if seen.is_live { 120 } else { count } };
    let mut is_following = seen.is_live;
    let mut help = false;
    let mut shown: Option<Vec<ratatui::text::Line>> = None;
    let mut due = Instant::now();
    loop {
        if let (Some(live), Some(meter)) = (&mut live, &mut meter)
            && Instant::now() >= due
        {
            sample(live, meter, page_size, seen);
            due = (due + period).max(Instant::now());
            // Samples that fell out at the far end move the ones that are looked at.
            if seen.at.len() > KEPT {
                seen.at.remove(0);
                seen.values.remove(0);
                window.last = window.last.saturating_sub(1);
            }
        }
        if is_following {
            window.last = seen.at.len().saturating_sub(1);
        }
        let size = screen.0.size()?;
        let picture = Picture { seen, window, is_following, help, wanted };
        let page = page(&picture, size.width, size.height);
        if shown.as_ref() != Some(&page) {
            screen.0.draw(|frame| {
                let area = frame.area();
                for (row, line) in area.rows().zip(&page) {
                    frame.render_widget(line, row);
                }
            })?;
            shown = Some(page);
        }
        let wait = if live.is_some() { due.saturating_duration_since(Instant::now()) } else { Duration::from_secs(1) };
        if event::poll(wait.min(Duration::from_secs(1)))? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let count = seen.at.len();
                    let step = (window.span / 10).max(1) as isize;
                    match meaning(key) {
                        Some(Key::Quit) => return Ok(Left::ByKey),
                        Some(Key::Help) => help = !help,
                        Some(Key::Earlier) => (window, is_following) = (window.moved(-step, count), false),
                        Some(Key::Later) => window = window.moved(step, count),
                        Some(Key::First) => (window, is_following) = (window.moved(isize::MIN, count), false),
                        Some(Key::Last) => (window, is_following) = (window.moved(isize::MAX, count), seen.is_live),
                        Some(Key::Closer) => window = window.zoomed(true, count),
                        Some(Key::Farther) => window = window.zoomed(false, count),
                        None => {}
                    }
                }
                Event::Resize(..) => shown = None,
                _ => {}
            }
        }
        if interrupt.is_set() {
            return Ok(Left::BySignal);
        }
    }
}

fn sample(live: &mut Live, meter: &mut Meter, page_size: f64, seen: &mut Seen) {
    let (at, is_new) = live.read();
    if is_new {
        // A number came up: growth is known again at the next sample.
        *meter = Meter::new(seen.lines.clone(), live.series(), page_size);
    }
    let values: Vec<Option<u64>> = meter.inputs().iter().map(|input| live.value(&input.source, input.column)).collect();
    let mut out = Vec::new();
    meter.take(at, &values, &mut out);
    seen.at.push((at, jiff::Timestamp::now().as_nanosecond()));
    seen.values.push(out);
    // Stacks of this host go here, once the sampler hands them out live.
}

enum Key {
    Quit,
    Help,
    Earlier,
    Later,
    First,
    Last,
    Closer,
    Farther,
}

/// Raw mode hands us Ctrl-C as a key.
fn meaning(key: KeyEvent) -> Option<Key> {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
        KeyCode::Char('?' | 'h') => Some(Key::Help),
        KeyCode::Left => Some(Key::Earlier),
        KeyCode::Right => Some(Key::Later),
        KeyCode::Home => Some(Key::First),
        KeyCode::End => Some(Key::Last),
        KeyCode::Char('+' | '=') | KeyCode::Up => Some(Key::Closer),
        KeyCode::Char('-') | KeyCode::Down => Some(Key::Farther),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
