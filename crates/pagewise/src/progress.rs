//! How far a long step is: a bar that is redrawn once a second on a terminal, a line per event elsewhere.

pub(crate) mod live;

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pagewise_core::experiment::analysis::unit_of;
use pagewise_core::experiment::point::{Outcome, PlannedPoint, Point};
use pagewise_core::report::with_unit;
use pagewise_core::unit::Seconds;
use pagewise_host::process::Interrupt;
use pagewise_host::progress::Progress;
use pagewise_host::record::{Closing, NAMES_AT_MOST, RecordError, Recorder, Summary};
use pagewise_host::trial::session::audience::Points;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

/// Frames a second on a terminal. More would cost CPU while the user's job is measured.
const FRAMES_PER_SECOND: u8 = 1;

fn new_bar(total: u64, template: &str) -> Option<ProgressBar> {
    if !output::is_watched() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(FRAMES_PER_SECOND));
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    Some(bar)
}

/// Says at once that Ctrl-C was heard: until the job has ended and everything is put back nothing else may move on the screen.
pub(crate) struct OnStop {
    is_over: Arc<AtomicBool>,
}

impl OnStop {
    /// Waits for the signal beside whatever runs, at no cost. `bar` is what is on the screen then.
    fn say(text: &'static str, interrupt: &Interrupt, bar: Option<ProgressBar>) -> OnStop {
        const ANY: Duration = Duration::from_secs(3600);
        let on_stop = OnStop { is_over: Arc::default() };
        let (is_over, interrupt) = (Arc::clone(&on_stop.is_over), interrupt.clone());
        let wait = move || {
            while !interrupt.is_set() {
                interrupt.wait(ANY);
            }
            if is_over.load(Ordering::SeqCst) {
                return;
            }
            match bar.filter(|bar| !bar.is_hidden()) {
                Some(bar) => bar.println(output::for_stderr(text)),
                None => output::note(text),
            }
        };
        // Without the thread only the word is missing.
        let _ = std::thread::Builder::new().name("stop".to_owned()).spawn(wait);
        on_stop
    }
}

impl Drop for OnStop {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// The bar of a step whose end can be told, such as generating input.
pub(crate) struct StepProgress {
    bar: Option<ProgressBar>,
    state: RefCell<Step>,
}

struct Step {
    what: String,
    since: Instant,
}

impl StepProgress {
    pub(crate) fn new() -> Self {
        let bar = new_bar(1000, "{bar:24} {wide_msg}");
        StepProgress { bar, state: RefCell::new(Step { what: String::new(), since: Instant::now() }) }
    }
}

impl Drop for StepProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for StepProgress {
    fn stage(&self, what: &str, done: Option<f64>) {
        let mut step = self.state.borrow_mut();
        let is_new = step.what != what;
        if is_new {
            *step = Step { what: what.to_owned(), since: Instant::now() };
        }
        let Some(bar) = &self.bar else {
            if is_new {
                output::note(&format!("{what} …"));
            }
            return;
        };
        let elapsed = step.since.elapsed().as_secs_f64();
        let to_come = done.filter(|done| *done > 0.02).map(|done| elapsed * (1.0 - done) / done);
        bar.set_position((done.unwrap_or(0.0) * 1000.0) as u64);
        bar.set_message(match to_come {
            Some(seconds) => format!("{what}{}", left(seconds)),
            None => format!("{what} · {}", Seconds(elapsed)),
        });
    }
}

/// Ends a recording, and says what that waits for once it takes longer than anybody expects.
pub(crate) fn finish(recorder: Recorder) -> Result<Summary, RecordError> {
    const SAID_AFTER: Duration = Duration::from_secs(1);
    let begun = Instant::now();
    let mut progress = None;
    recorder.finish_telling(&mut |closing| {
        let took = begun.elapsed();
        if took >= SAID_AFTER {
            let progress = progress.get_or_insert_with(StepProgress::new);
            match closing {
                Closing::Names => {
                    let most = format!("naming functions, for {} s at most", NAMES_AT_MOST.as_secs());
                    progress.stage(&most, Some((took.as_secs_f64() / NAMES_AT_MOST.as_secs_f64()).min(1.0)));
                }
                Closing::File => progress.stage("writing the end of the recording to disk", None),
            }
        }
    })
}

/// Columns of the bar of a trial.
const BAR: usize = 10;

/// The time left in words, or nothing when none is.
fn left(seconds: f64) -> String {
    match seconds.ceil() {
        seconds if seconds <= 0.0 => String::new(),
        seconds if seconds < 100.0 => format!(" · about {seconds} s left"),
        seconds => format!(" · about {} left", Seconds(seconds)),
    }
}

/// Both, or the first alone where both do not fit: half of a number is worse than none.
fn fitting(first: &str, second: &str, room: usize) -> String {
    if first.width() + second.width() <= room { format!("{first}{second}") } else { first.to_owned() }
}

/// The bar of a trial: which point runs, how long it has been running, how long the rest will take.
pub(crate) struct TrialProgress {
    bar: Option<ProgressBar>,
    /// What is compared.
    metric: String,
    state: RefCell<Running>,
    /// As long as it is there, Ctrl-C is answered at once.
    _on_stop: OnStop,
}

struct Running {
    /// `pair` or `block`.
    block_word: &'static str,
    label: String,
    /// What the run before came to.
    last: String,
    since: Instant,
    started: Instant,
    /// When the last run ended; the next one's wait for the host began then.
    ended: Instant,
    done_at_start: Option<usize>,
    done: usize,
    total: usize,
    last_drawn: Option<Instant>,
}

impl TrialProgress {
    pub(crate) fn new(block_word: &'static str, metric: &str, interrupt: &Interrupt) -> Self {
        let now = Instant::now();
        let running = Running {
            block_word,
            label: String::new(),
            last: String::new(),
            since: now,
            started: now,
            ended: now,
            done_at_start: None,
            done: 0,
            total: 0,
            last_drawn: None,
        };
        let bar = new_bar(0, &format!("{{bar:{BAR}}} {{pos}}/{{len}} {{wide_msg}}"));
        let said = "stopping: ending the job, then putting settings and data back …";
        let on_stop = OnStop::say(said, interrupt, bar.clone());
        TrialProgress { bar, metric: metric.to_owned(), state: RefCell::new(running), _on_stop: on_stop }
    }
}

impl Points for TrialProgress {
    fn tick(&self) {
        let Some(bar) = &self.bar else { return };
        let mut running = self.state.borrow_mut();
        if running.last_drawn.is_some_and(|drawn| drawn.elapsed().as_secs_f64() < 1.0) {
            return;
        }
        running.last_drawn = Some(Instant::now());
        let elapsed = Seconds(running.since.elapsed().as_secs_f64());
        let left = running.left().map(left).unwrap_or_default();
        // How many points there are is known only once the first of them starts.
        bar.set_length(running.total as u64);
        bar.set_position(running.done as u64);
        let counts = format!("{}/{}", running.done, running.total);
        let room = output::columns_of_stderr().saturating_sub(BAR + 2 + counts.width());
        bar.set_message(fitting(&format!("{} · {elapsed}{left}", running.label), &running.last, room));
    }

    fn over(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn starting(&self, planned: &PlannedPoint, attempt: u32, done: usize, total: usize) {
        let mut running = self.state.borrow_mut();
        running.done_at_start.get_or_insert(done);
        (running.done, running.total, running.since) = (done, total, Instant::now());
        let place = match planned.block {
            Some(block) => format!("{} {}", running.block_word, block + 1),
            None => "warm-up".to_owned(),
        };
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        running.label = format!("{place} · {}{again}", planned.cell);
        running.last_drawn = None;
        drop(running);
        self.tick();
    }

    fn ended(&self, point: &Point, done: usize, total: usize) {
        let wall = point.measures.get("wall").map(|wall| format!(" in {}", Seconds(*wall))).unwrap_or_default();
        let value = value_of(point, &self.metric).filter(|_| self.metric != "wall");
        let value = value.map(|value| format!(", {value}")).unwrap_or_default();
        let (label, to_come) = {
            let mut running = self.state.borrow_mut();
            running.done = done;
            (running.total, running.ended) = (total, Instant::now());
            let to_come = running.left();
            running.last = match point.outcome {
                Outcome::Ok => format!(" · last: {}{wall}{value}", point.planned.cell),
                _ => String::new(),
            };
            (running.label.clone(), to_come)
        };
        let line = match (&point.outcome, &point.reason) {
            (Outcome::Ok, _) => format!("{done}/{total} {label}: ok{wall}{value}"),
            (outcome, Some(reason)) => format!("{done}/{total} {label}: {}{wall}: {reason}", outcome.word()),
            (outcome, None) => format!("{done}/{total} {label}: {}{wall}", outcome.word()),
        };
        match &self.bar {
            Some(bar) if point.outcome != Outcome::Ok => bar.println(output::for_stderr(&line)),
            Some(_) => {}
            // A log has no bar that says it.
            None => output::note(&format!("{line}{}", to_come.map(left).unwrap_or_default())),
        }
        self.tick();
    }
}

/// A metric of a run, by name: `rate 12.5`, `anon_peak 1.2 GiB`; why there is none, where the run says so.
fn value_of(point: &Point, metric: &str) -> Option<String> {
    let Some(value) = point.measures.get(metric) else {
        return point.absent.get(metric).map(|why| format!("no {metric}: {why}"));
    };
    // As the report has it.
    Some(format!("{metric} {}", with_unit(*value, &unit_of(metric, std::iter::once(point)))))
}

impl Running {
    /// Seconds, from the mean of the points this session ran. What the one that runs has taken since is no longer to come.
    fn left(&self) -> Option<f64> {
        let ran = self.done.checked_sub(self.done_at_start?).filter(|ran| *ran > 0)?;
        let mean = self.ended.duration_since(self.started).as_secs_f64() / ran as f64;
        let to_come = self.total.saturating_sub(self.done);
        let behind = mean * to_come.saturating_sub(1) as f64;
        let this = if to_come == 0 { 0.0 } else { (mean - self.ended.elapsed().as_secs_f64()).max(0.0) };
        Some(behind + this)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_whole() {
        assert_eq!(fitting("pair 1 · 3.00 s", " · last: a in 4.00 s", 35), "pair 1 · 3.00 s · last: a in 4.00 s");
        assert_eq!(fitting("pair 1 · 3.00 s", " · last: a in 4.00 s", 34), "pair 1 · 3.00 s");
    }
}
