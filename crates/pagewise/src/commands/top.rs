//! `pagewise top [FILE.pgw]`: timelines, findings and the functions CPUs were in, filling a terminal; of this host now, or
//! of a recording, through whose time one travels.

mod cost;
mod findings;
mod functions;
mod picture;
mod source;
mod view;

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::screen::{Screen, WakeReason};
use anyhow::{Context, anyhow};
use clap::Args;
use cost::Cost;
use pagewise_core::report::Style as Wanted;
use pagewise_host::process::Interrupt;
use picture::Picture;
use ratatui::crossterm::style::force_color_output;
use source::Source;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use view::{Page, SeenTimelines, View, meaning};

/// Fill the screen with timelines, findings and the functions CPUs are in, of this host or of a recording
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TopArgs {
    /// Show this recording instead of the host
    #[arg(value_name = "FILE.pgw")]
    recording: Option<PathBuf>,
    /// Samples a second, 0.01 to 20
    #[arg(long, default_value_t = 1.0, value_name = "N", conflicts_with = "recording")]
    hz: f64,
    /// How often a second and CPU the function that runs is sampled, 1 to 1000; 0: not at all
    #[arg(long, default_value_t = 19, value_name = "HZ", conflicts_with = "recording")]
    stacks: u32,
    /// Do not trace what holds tasks up
    #[arg(long, conflicts_with = "recording")]
    no_stalls: bool,
}

const AFTER_HELP: &str = "Keys: q quit · ? help · d or Enter the findings in full · c caveats and what is not seen · \
                          left, right, PgUp, PgDn, Home, End through time · + - width of the time shown.\n\n\
                          Examples:\n  pagewise top\n  pagewise top --stacks 99\n  pagewise top job.pgw";

/// The longest the terminal is waited for.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The same while the rules read a recording.
const CHECK_SOON: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &TopArgs, global: &Global) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::Usage(anyhow!(
            "top fills a screen, and stdout is no terminal; 'pagewise watch' prints a line per sample"
        )));
    }
    // What is no recording, and a rate out of range, is said before the screen changes.
    let (source, seen) = match &args.recording {
        Some(file) => Source::of_recording(file)?,
        None => Source::of_host(args, global)?,
    };
    let interrupt = Interrupt::on_signals().context("cannot listen for signals").map_err(Failure::NotPossible)?;
    let wanted = output::style(&global.color);
    force_color_output(wanted.color);
    let mut screen = Screen::enter().context("cannot take over the terminal").map_err(Failure::NotPossible)?;
    match follow(&mut screen, seen, source, wanted, &interrupt).context("cannot use the terminal") {
        Err(_) if screen.is_gone() => Err(gone()),
        Err(error) => Err(Failure::NotPossible(error)),
        Ok(LeaveReason::ByKey) => Ok(ExitCode::SUCCESS),
        Ok(LeaveReason::Gone) => Err(gone()),
        Ok(LeaveReason::BySignal) => Err(Failure::Interrupted(anyhow!("ended by a signal; the terminal is as it was"))),
        Ok(LeaveReason::Broken(what)) => {
            Err(Failure::NotPossible(anyhow!("{what} ended unexpectedly, which is a defect of pagewise")))
        }
    }
}

fn gone() -> Failure {
    Failure::Interrupted(anyhow!("the terminal is gone, and top ended with it"))
}

/// Why the screen was left.
enum LeaveReason {
    ByKey,
    BySignal,
    /// The terminal was closed.
    Gone,
    /// A thread that helps is gone.
    Broken(&'static str),
}

fn follow(
    screen: &mut Screen,
    mut seen: SeenTimelines,
    mut source: Source,
    wanted: Wanted,
    interrupt: &Interrupt,
) -> io::Result<LeaveReason> {
    let zone = jiff::tz::TimeZone::system();
    let mut view = View::of(&seen);
    let mut cost = Cost::default();
    let mut is_new = true;
    let mut shown = None;
    loop {
        is_new |= source.step(&mut seen, &mut view);
        if let Some(what) = source.broken() {
            return Ok(LeaveReason::Broken(what));
        }
        if is_new {
            cost.note(Instant::now(), cost::own_cpu(), source.stacks_cpu());
            let size = screen.size()?;
            let traced = source.traced();
            if let Page::Text { of, from } = &mut view.page {
                let size = (size.width, size.height);
                *from = (*from).min(findings::last_line(*of, source.judged(), &traced.unseen, wanted, size));
            }
            let picture = Picture {
                seen: &seen,
                view: &view,
                traced,
                judged: source.judged(),
                is_judging: source.is_judging(),
                cost: cost.shares(),
                wanted,
                zone: &zone,
            };
            let page = picture::page(&picture, size.width, size.height);
            if shown.as_ref() != Some(&page) {
                screen.show(&page)?;
                shown = Some(page);
            }
            is_new = false;
        }
        let most = if source.is_judging() { CHECK_SOON } else { CHECK_EVERY };
        match screen.wait(interrupt, source.due_in().min(most))? {
            WakeReason::Key(key) => {
                let rows = screen.size()?.height;
                if meaning(key).is_some_and(|key| view.press(key, &seen, rows)) {
                    return Ok(LeaveReason::ByKey);
                }
                is_new = true;
            }
            WakeReason::Resized => (is_new, shown) = (true, None),
            WakeReason::Signal => return Ok(LeaveReason::BySignal),
            WakeReason::Gone => return Ok(LeaveReason::Gone),
            WakeReason::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests;
