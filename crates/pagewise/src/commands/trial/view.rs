//! `trial status --watch`: the same facts as the text form, filling a terminal and followed until `q`.
//!
//! The one who watches must not disturb what is measured: this wakes once a second, reads twelve bytes of the database's
//! header, opens the bundle only when they changed, and writes to the terminal only cells that changed. It never takes the
//! bundle's lock.

use super::status::{NextPoint, Run, Status, analysis_in_words, p_in_words, status, told};
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::screen::{Pen, Screen, WakeReason};
use anyhow::{Context, anyhow};
use pagewise_core::experiment::plan::StoppingRule;
use pagewise_core::experiment::stopping::InterimAnalysis;
use pagewise_core::report::Style as Wanted;
use pagewise_host::process::Interrupt;
use pagewise_host::store::bundle::{Bundle, State};
use pagewise_host::store::holder;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::crossterm::style::force_color_output;
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

/// How often the bundle is read.
const PERIOD: Duration = Duration::from_secs(1);

/// Everything the picture is a function of.
struct Picture<'a> {
    status: &'a Status,
    /// The bundle as a shell wants it.
    bundle: &'a str,
    now: &'a jiff::Zoned,
    /// Why the bundle cannot be read now.
    notice: Option<&'a str>,
    help: bool,
    wanted: Wanted,
}

pub(super) fn run(path: &Path, global: &Global) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::Usage(anyhow!(
            "--watch fills a screen, and stdout is no terminal; leave --watch out for the text, or use --json"
        )));
    }
    // What is no bundle is said before the screen changes.
    let mut watched = Watched { path, seen: stamp(path), status: status(&Bundle::open(path)?)?, trouble: None };
    let interrupt = Interrupt::on_signals().context("cannot listen for signals").map_err(Failure::NotPossible)?;
    let wanted = output::style(&global.color);
    force_color_output(wanted.color);
    let bundle = output::quoted(&path.to_string_lossy());
    let mut screen = Screen::enter().context("cannot take over the terminal").map_err(Failure::NotPossible)?;
    let gone = || Failure::Interrupted(anyhow!("the terminal is gone; the trial is not touched by that"));
    match follow(&mut screen, &mut watched, &bundle, wanted, &interrupt).context("cannot use the terminal") {
        Err(_) if screen.is_gone() => Err(gone()),
        Err(error) => Err(Failure::NotPossible(error)),
        Ok(LeaveReason::ByKey) => Ok(ExitCode::SUCCESS),
        Ok(LeaveReason::Gone) => Err(gone()),
        Ok(LeaveReason::BySignal) => {
            Err(Failure::Interrupted(anyhow!("ended by a signal; the trial is not touched by that")))
        }
    }
}

/// Why the view was left.
enum LeaveReason {
    ByKey,
    BySignal,
    /// The terminal was closed.
    Gone,
}

/// A bundle that another process writes.
struct Watched<'a> {
    path: &'a Path,
    seen: Option<[u8; 12]>,
    status: Status,
    trouble: Option<String>,
}

impl Watched<'_> {
    /// Reads again what changed. What cannot be read now leaves the last status, and says so.
    fn refresh(&mut self, now: &jiff::Zoned) {
        let stamp = stamp(self.path);
        if stamp.is_some() && stamp == self.seen && self.trouble.is_none() {
            self.status.is_run = holder::is_held(self.path);
            return;
        }
        match Bundle::open(self.path).map_err(Failure::from).and_then(|bundle| status(&bundle)) {
            Ok(status) => (self.status, self.seen, self.trouble) = (status, stamp, None),
            // The instant stays that of the first failure: it says how old the picture is.
            Err(failure) => {
                let since = now.strftime("%H:%M:%S").to_string();
                self.trouble
                    .get_or_insert_with(|| format!("as of {since}; it cannot be read now: {:#}", failure.cause()));
            }
        }
    }
}

/// The file change counter and the size in pages, bytes 24 to 31 of an SQLite database's header, behind four bytes of the
/// file's inode: every commit changes the counter, also within one tick of the clock that stamps files.
/// <https://www.sqlite.org/fileformat.html>, section 1.3.
fn stamp(bundle: &Path) -> Option<[u8; 12]> {
    use std::os::unix::fs::MetadataExt;
    let path = bundle.join("points.sqlite");
    // A pipe would be waited for without end.
    let mut file = path.is_file().then(|| std::fs::File::open(path).ok())??;
    let mut header = [0; 32];
    file.read_exact(&mut header).ok()?;
    let mut stamp = [0; 12];
    stamp[..4].copy_from_slice(&(file.metadata().ok()?.ino() as u32).to_le_bytes());
    stamp[4..].copy_from_slice(&header[24..]);
    Some(stamp)
}

fn follow(
    screen: &mut Screen,
    watched: &mut Watched<'_>,
    bundle: &str,
    wanted: Wanted,
    interrupt: &Interrupt,
) -> io::Result<LeaveReason> {
    let mut help = false;
    let mut shown: Option<Vec<Line>> = None;
    let mut due = Instant::now() + PERIOD;
    loop {
        let now = jiff::Zoned::now();
        let size = screen.size()?;
        let notice = watched.trouble.as_deref();
        let picture = Picture { status: &watched.status, bundle, now: &now, notice, help, wanted };
        let page = page(&picture, size.width, size.height);
        if shown.as_ref() != Some(&page) {
            screen.show(&page)?;
            shown = Some(page);
        }
        match screen.wait(interrupt, due.saturating_duration_since(Instant::now()))? {
            WakeReason::Key(key) => match meaning(key) {
                Some(Key::Quit) => return Ok(LeaveReason::ByKey),
                Some(Key::Help) => help = !help,
                None => {}
            },
            WakeReason::Resized => shown = None,
            WakeReason::Signal => return Ok(LeaveReason::BySignal),
            WakeReason::Gone => return Ok(LeaveReason::Gone),
            WakeReason::Nothing => {}
        }
        if Instant::now() >= due {
            due = Instant::now() + PERIOD;
            watched.refresh(&now);
        }
    }
}

enum Key {
    Quit,
    Help,
}

/// Raw mode hands us Ctrl-C as a key.
fn meaning(key: KeyEvent) -> Option<Key> {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
        KeyCode::Char('?' | 'h') => Some(Key::Help),
        _ => None,
    }
}

/// The whole screen, a line for each row.
fn page(picture: &Picture, width: u16, height: u16) -> Vec<Line<'static>> {
    let pen = Pen { wanted: picture.wanted, width: usize::from(width) };
    let height = usize::from(height);
    let mut lines = if picture.help { pen.help() } else { trial(picture, &pen, height.saturating_sub(1)) };
    lines.truncate(height.saturating_sub(1));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(pen.faint(if picture.help { "q quit   ? back" } else { "q quit   ? help" }));
    lines
}

/// Head, what is under way, all runs, and with the room that is left analyses and invalid attempts.
fn trial(picture: &Picture, pen: &Pen, height: usize) -> Vec<Line<'static>> {
    let status = picture.status;
    let airy = height >= 19;
    let gap = |lines: &mut Vec<Line<'static>>| {
        if airy {
            lines.push(Line::default());
        }
    };
    let mut lines = head(picture, pen);
    gap(&mut lines);
    lines.extend(under_way(picture, pen));
    lines.extend(picture.notice.map(|notice| pen.warn(notice)));
    gap(&mut lines);
    let below = analyses(status, pen);
    let invalid = invalid(status, pen);
    let wanted_below = below.len() + invalid.len();
    let room = height.saturating_sub(lines.len() + 1 + usize::from(airy && wanted_below > 0));
    let room_below = wanted_below.min(room.div_ceil(2));
    lines.extend(strip(status, pen, room - room_below));
    lines.push(pen.legend(status));
    gap(&mut lines);
    let left = height.saturating_sub(lines.len());
    let for_analyses = below.len().min(left.saturating_sub(invalid.len().min(left / 2)));
    lines.extend(latest(below, for_analyses, pen));
    let left = height.saturating_sub(lines.len());
    lines.extend(latest(invalid, left, pen));
    lines
}

fn head(picture: &Picture, pen: &Pen) -> Vec<Line<'static>> {
    let status = picture.status;
    let word = standing(status);
    let name = pen.cut(&status.name, pen.width.saturating_sub(word.width() + 2));
    let space = " ".repeat(pen.width.saturating_sub(name.width() + word.width()));
    let title = Line::from(vec![pen.bold(name), Span::raw(space), pen.tinted(word.to_owned(), standing_color(word))]);

    let share = f64::from(status.done) / f64::from(status.points.max(1));
    let numbers = format!("  {}/{} runs ({:.0} %)", status.done, status.points, (share * 100.0).floor());
    let bar = pen.width.saturating_sub(numbers.width()).min(60);
    let full = (bar as f64 * share) as usize;
    let (on, off) = if pen.wanted.unicode { ("█", "░") } else { ("#", "-") };
    let bar = Line::from(vec![
        pen.tinted(on.repeat(full), Color::Green),
        Span::raw(off.repeat(bar - full)),
        Span::raw(numbers),
    ]);

    let mut facts = format!("{}/{} blocks", status.blocks_complete, status.blocks);
    if let (Some(next), Some(left)) = (&status.next, status.seconds_left) {
        let gone = match (elapsed(next, picture.now), status.is_run) {
            (Some(gone), Some(true)) => gone.min(status.seconds_per_run.unwrap_or(0.0)),
            _ => 0.0,
        };
        let left = (left - gone).max(0.0);
        let may_end_early = status.rule == StoppingRule::OpenEnded;
        facts.push_str(&format!(" · {} left{}", span(left), if may_end_early { " at most" } else { "" }));
        if status.is_run == Some(true) {
            let by = if may_end_early { "by " } else { "" };
            facts.push_str(&clock(picture.now, left).map(|end| format!(" · ends {by}{end}")).unwrap_or_default());
        }
    }
    vec![title, bar, pen.line(&facts)]
}

/// The trial in a word or two.
fn standing(status: &Status) -> &'static str {
    match (&status.next, status.is_run) {
        (None, _) if status.done < status.points => "complete, stopped early",
        (None, _) => "complete",
        (Some(next), Some(false)) if next.started_at.is_some() => "interrupted",
        (Some(next), _) if next.reason.is_some() => "waiting",
        (Some(_), Some(true)) => "running",
        (Some(_), Some(false)) => "interrupted",
        (Some(_), None) => "",
    }
}

fn standing_color(word: &str) -> Color {
    match word {
        "running" => Color::Cyan,
        "interrupted" | "waiting" => Color::Yellow,
        _ => Color::Green,
    }
}

fn under_way(picture: &Picture, pen: &Pen) -> Vec<Line<'static>> {
    let status = picture.status;
    let Some(next) = &status.next else {
        return vec![
            pen.line("the trial has ended; what was found:"),
            pen.line(&format!("  pagewise trial analyze {}", picture.bundle)),
        ];
    };
    let place = next.block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
    let again = if next.attempt > 1 { format!(", attempt {}", next.attempt) } else { String::new() };
    let started = next.started_at.is_some();
    let since = elapsed(next, picture.now).map(|gone| format!(" for {}", span(gone))).unwrap_or_default();
    let state = match (&next.reason, status.is_run, started) {
        (_, Some(false), true) => format!("cut off while {}", next.state),
        (Some(reason), ..) => format!("waits for {reason}"),
        (None, _, true) => format!("{}{since}", next.state),
        (None, _, false) => next.state.to_owned(),
    };
    let word = if started { "now " } else { "next" };
    let mut lines = vec![
        pen.line(&format!("{word}  run {}, {place}{again}: {state}", next.index + 1)),
        pen.line(&format!("      {}", next.cell)),
    ];
    if status.is_run == Some(false) {
        lines.push(pen.warn(&format!("nobody runs it here: pagewise trial resume {}", picture.bundle)));
    }
    lines
}

/// Seconds since an attempt began. `None` before that, and when the clock was put back.
fn elapsed(next: &NextPoint, now: &jiff::Zoned) -> Option<f64> {
    let since: jiff::Timestamp = next.started_at.as_ref()?.parse().ok()?;
    let gone = (now.timestamp().as_second() - since.as_second()) as f64;
    (gone >= 0.0).then_some(gone)
}

/// A time as it is told while it passes: what is not over yet is not counted.
fn span(seconds: f64) -> String {
    output::about(seconds.floor())
}

/// The clock so many seconds from now; with the day when that is another one. `None` beyond the calendar.
fn clock(now: &jiff::Zoned, seconds: f64) -> Option<String> {
    let end = now.checked_add(jiff::SignedDuration::try_from_secs_f64(seconds).ok()?).ok()?;
    let days = (end.timestamp().as_second() - now.timestamp().as_second()) / 86_400;
    let format = match days {
        0 if end.date() == now.date() => "%H:%M",
        0..6 => "%a %H:%M",
        _ => "%Y-%m-%d %H:%M",
    };
    Some(end.strftime(format).to_string())
}

/// A stretch of the run order in one block.
struct Stretch<'a> {
    block: Option<u32>,
    runs: Vec<&'a Run>,
}

/// All runs in run order, in at most so many rows: a row for each block; else blocks beside each other; else letters alone,
/// those around the run that is under way.
fn strip(status: &Status, pen: &Pen, rows: usize) -> Vec<Line<'static>> {
    if rows == 0 {
        return Vec::new();
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    for run in &status.runs {
        match stretches.last_mut() {
            Some(last) if last.block == run.block => last.runs.push(run),
            _ => stretches.push(Stretch { block: run.block, runs: vec![run] }),
        }
    }
    let letters = |runs: &[&Run]| runs.iter().map(|run| pen.letter(run.state)).collect::<Vec<_>>();
    // In a complete or nested order blocks do not run one after the other, and say nothing here.
    let by_block = stretches.len() <= status.blocks as usize + 1;
    let longest = stretches.iter().map(|stretch| stretch.runs.len()).max().unwrap_or(0);
    if by_block && stretches.len() <= rows && longest + 12 <= pen.width {
        let row = |stretch: &Stretch| {
            let label = stretch.block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
            let mut spans = vec![Span::raw(format!("{label:<12}"))];
            spans.extend(letters(&stretch.runs));
            Line::from(spans)
        };
        return stretches.iter().map(row).collect();
    }
    let digits = status.blocks.to_string().len();
    let cell = digits + 1 + longest + 2;
    let columns = (pen.width + 2) / cell;
    if by_block && columns > 0 && stretches.len().div_ceil(columns) <= rows {
        let row = |row: &[Stretch]| {
            let mut spans = Vec::new();
            for (column, stretch) in row.iter().enumerate() {
                let label = stretch.block.map_or("w".to_owned(), |block| (block + 1).to_string());
                spans.push(Span::raw(format!("{label:>digits$} ")));
                spans.extend(letters(&stretch.runs));
                let space = if column + 1 < row.len() { longest - stretch.runs.len() + 2 } else { 0 };
                spans.push(Span::raw(" ".repeat(space)));
            }
            Line::from(spans)
        };
        return stretches.chunks(columns).map(row).collect();
    }
    let all: Vec<&Run> = status.runs.iter().collect();
    let label = status.runs.len().to_string().len();
    let wide = pen.width.saturating_sub(label + 1).max(1);
    let current = status.next.as_ref().map_or(0, |next| next.index as usize) / wide;
    let count = all.len().div_ceil(wide);
    let first = current.saturating_sub(rows / 2).min(count.saturating_sub(rows));
    let window = all.chunks(wide).enumerate().skip(first).take(rows);
    window
        .map(|(row, runs)| {
            let mut spans = vec![Span::raw(format!("{:>label$} ", row * wide + 1))];
            spans.extend(letters(runs));
            Line::from(spans)
        })
        .collect()
}

fn analyses(status: &Status, pen: &Pen) -> Vec<Line<'static>> {
    let mut lines: Vec<Line> =
        told(status).iter().flat_map(|analysis| one_analysis(analysis, status.alpha, pen)).collect();
    if let Some(blocks) = status.next_analysis {
        lines.push(pen.line(&format!("next analysis after {blocks} blocks ({} now)", status.blocks_complete)));
    }
    lines
}

fn one_analysis(analysis: &InterimAnalysis, alpha: f64, pen: &Pen) -> Vec<Line<'static>> {
    let mut lines = vec![pen.line(&analysis_in_words(analysis, alpha))];
    lines.extend(analysis.comparisons.iter().map(|one| {
        // The verdict stands before the name: a long name must not push it off the screen.
        pen.line(&format!("  {} ({}): {}", one.conclusion.word(), p_in_words(one), one.name))
    }));
    lines
}

fn invalid(status: &Status, pen: &Pen) -> Vec<Line<'static>> {
    let missing = status.missing.iter().map(|text| pen.warn(text));
    missing.chain(status.invalid_attempts.iter().map(|one| pen.line(&format!("invalid: {}", one.in_words())))).collect()
}

/// The last so many lines; says how many there were before.
fn latest(mut lines: Vec<Line<'static>>, room: usize, pen: &Pen) -> Vec<Line<'static>> {
    if lines.len() <= room {
        return lines;
    }
    let mut kept = lines.split_off(lines.len() - room);
    if let Some(first) = kept.first_mut() {
        *first = pen.faint(&format!("… {} lines before", lines.len() + 1));
    }
    kept
}

impl Pen {
    /// Colour says nothing that the letter does not.
    fn letter(&self, state: State) -> Span<'static> {
        let (rich, plain, color) = match state {
            State::Planned => ("·", ".", Color::Reset),
            State::Armed => ("a", "a", Color::Yellow),
            State::Booted => ("b", "b", Color::Yellow),
            State::Running => (">", ">", Color::Cyan),
            State::Done => ("✓", "+", Color::Green),
            State::Failed => ("✗", "x", Color::Red),
            State::Invalid => ("!", "!", Color::Magenta),
        };
        self.tinted((if self.wanted.unicode { rich } else { plain }).to_owned(), color)
    }

    /// The letters that occur, with how many; those that ask for attention first.
    fn legend(&self, status: &Status) -> Line<'static> {
        use State::{Armed, Booted, Done, Failed, Invalid, Planned, Running};
        let mut spans = Vec::new();
        for state in [Running, Armed, Booted, Failed, Invalid, Done, Planned] {
            if let Some(count) = status.states.get(state.word()) {
                spans.push(self.letter(state));
                spans.push(Span::raw(format!(" {} {count}   ", state.word())));
            }
        }
        Line::from(spans)
    }

    fn help(&self) -> Vec<Line<'static>> {
        let mut lines = vec![
            self.line("q, Esc, Ctrl-C   leave; the trial goes on"),
            self.line("?, h             this page, and back"),
            Line::default(),
            self.line("One letter for each run, in run order:"),
        ];
        for state in State::ALL {
            let says = match state {
                State::Planned => "planned: it will run",
                State::Armed => "armed: it is made ready, or waits",
                State::Booted => "booted: the boot it needs is there",
                State::Running => "running: its job runs",
                State::Done => "done: it gave a result",
                State::Failed => "failed: a result that counts against",
                State::Invalid => "invalid: no result, it runs again",
            };
            lines.push(Line::from(vec![self.letter(state), Span::raw(format!(" {says}"))]));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
