//! `trial status`: what is done, what is next, the time left, alpha spent, and verdicts where the rule allows an analysis.

use super::view;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::comparison::words::p_value;
use pagewise_core::experiment::boots::{ATTEMPTS, Boots, BootsEnd};
use pagewise_core::experiment::next::{Next, next};
use pagewise_core::experiment::plan::numbers;
use pagewise_core::experiment::plan::{Plan, StoppingRule};
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::experiment::stopping::{self, InterimAnalysis, InterimComparison};
use pagewise_host::store::bundle::{Bundle, PointState, State};
use pagewise_host::store::holder;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how far a trial is: done, next, time left, alpha spent
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// The bundle, such as terasort-thp.trial
    bundle: PathBuf,
    /// Fill the screen and follow the trial until q is pressed; reads the trial once a second
    #[arg(long)]
    watch: bool,
}

/// As many invalid attempts as are told one by one, the latest.
const MOST_INVALID: usize = 12;

/// Id of the document that `trial status --json` writes.
pub(super) const SCHEMA: &str = "pagewise.status/2";

/// How far a trial is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Status {
    /// `pagewise.status/2`.
    pub(super) schema: &'static str,
    /// The trial's name.
    pub(super) name: String,
    /// State to the number of points whose last attempt is in it.
    pub(super) states: BTreeMap<&'static str, u32>,
    /// Points in the order.
    pub(super) points: u32,
    /// Points with a result.
    pub(super) done: u32,
    /// Attempts that were invalid.
    pub(super) invalid: u32,
    /// Blocks complete one after the other from the first on.
    pub(super) blocks_complete: u32,
    /// Blocks of the plan; of an open-ended trial the most there can be.
    pub(super) blocks: u32,
    /// Which rule ends the trial.
    pub(super) rule: StoppingRule,
    /// Alpha of the whole trial, which analyses spend.
    pub(super) alpha: f64,
    /// Whether a process that this one can see runs the trial now. `None` when that cannot be read.
    pub(super) is_run: Option<bool>,
    /// The point that is under way, or comes next. `None` when the trial is complete.
    pub(super) next: Option<NextPoint>,
    /// Seconds from the start of one run to that of the next, the median. `None` before the first run has ended.
    pub(super) seconds_per_run: Option<f64>,
    /// Seconds that the runs without a result will take, the one under way whole; those of a trial that may end early are the
    /// most it will take. `None` before the first run has ended.
    pub(super) seconds_left: Option<f64>,
    /// After how many blocks the next analysis comes. `None` when the trial is complete.
    pub(super) next_analysis: Option<u32>,
    /// The analyses made.
    pub(super) interim_analyses: Vec<InterimAnalysis>,
    /// Every run in run order, as its last attempt left it.
    pub(super) runs: Vec<Run>,
    /// Every attempt that was invalid, in run order.
    pub(super) invalid_attempts: Vec<InvalidAttempt>,
    /// Numbers the plan asks for that no run had so far, in sentences.
    pub(super) missing: Vec<String>,
    /// The boots of this host that the trial asks for. `None` of a trial that asks for none.
    pub(super) boots: Option<Boots>,
}

/// A point that is under way, or comes next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct NextPoint {
    /// Place in the run order, from 0.
    pub(super) index: u32,
    /// The block, from 0. `None` for a warm-up run.
    pub(super) block: Option<u32>,
    /// The cell it runs under.
    pub(super) cell: String,
    /// Which attempt it is, from 1.
    pub(super) attempt: u32,
    /// The attempt's state: `planned` until it is made ready.
    pub(super) state: &'static str,
    /// What it waits for, such as a boot, or the host to come to rest.
    pub(super) reason: Option<String>,
    /// When making it ready began, RFC 3339 UTC. `None` before that.
    pub(super) started_at: Option<String>,
}

/// A run of the order and how it stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Run {
    /// Place in the run order, from 0.
    pub(super) index: u32,
    /// The block, from 0. `None` for a warm-up run.
    pub(super) block: Option<u32>,
    /// The cell it runs under.
    pub(super) cell: String,
    /// The last attempt, from 1.
    pub(super) attempt: u32,
    /// The last attempt's state: `planned`, `armed`, `booted`, `running`, `done`, `failed`, `invalid`.
    #[serde(serialize_with = "as_word")]
    #[schemars(with = "String")]
    pub(super) state: State,
}

/// An attempt that is no result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct InvalidAttempt {
    /// Place in the run order, from 0.
    pub(super) index: u32,
    /// Which attempt, from 1.
    pub(super) attempt: u32,
    /// Why it is no result.
    pub(super) reason: Option<String>,
}

fn as_word<S: serde::Serializer>(state: &State, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(state.word())
}

pub(super) fn run(args: &StatusArgs, global: &Global) -> Result<ExitCode, Failure> {
    if args.watch {
        if global.json {
            return Err(Failure::Usage(anyhow!(
                "--watch fills a screen and --json writes a document; give one of them"
            )));
        }
        return view::run(&args.bundle, global);
    }
    let status = status(&Bundle::open(&args.bundle)?)?;
    if global.json {
        output::json(&status);
    } else {
        let bundle = args.bundle.display().to_string();
        output::data(&output::wrapped(&in_words(&status, &bundle), output::columns(), 2));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status(bundle: &Bundle) -> Result<Status, Failure> {
    let (plan, order) = (bundle.plan(), &bundle.frozen().order);
    let points = bundle.points()?;
    let attempts = bundle.states()?;
    let analyses = bundle.interim_analyses()?;
    let mut last: BTreeMap<u32, &PointState> = BTreeMap::new();
    for attempt in &attempts {
        last.insert(attempt.index, attempt);
    }
    let runs: Vec<Run> = order
        .points
        .iter()
        .map(|planned| {
            let attempt = last.get(&planned.index);
            Run {
                index: planned.index,
                block: planned.block,
                cell: planned.cell.clone(),
                attempt: attempt.map_or(1, |attempt| attempt.attempt),
                state: attempt.map_or(State::Planned, |attempt| attempt.state),
            }
        })
        .collect();
    let mut states: BTreeMap<&'static str, u32> = BTreeMap::new();
    for run in &runs {
        *states.entry(run.state.word()).or_default() += 1;
    }
    let invalid: Vec<&PointState> = attempts.iter().filter(|attempt| attempt.state == State::Invalid).collect();
    let done = [State::Done, State::Failed].iter().filter_map(|state| states.get(state.word())).sum();
    let stopped = analyses.iter().any(|analysis| analysis.stop);
    let next = match next(order, &points) {
        Next::Run(planned, number) if !stopped => {
            // An invalid attempt is over: the next one has no row until it is made ready.
            let attempt = last.get(&planned.index).filter(|attempt| attempt.attempt == number);
            Some(NextPoint {
                index: planned.index,
                block: planned.block,
                cell: planned.cell,
                attempt: number,
                state: attempt.map_or(State::Planned, |attempt| attempt.state).word(),
                reason: attempt.and_then(|attempt| attempt.reason.clone()),
                started_at: attempt.and_then(|attempt| attempt.started_at.clone()),
            })
        }
        _ => None,
    };
    let open = if next.is_some() { order.points.len() as u32 - done } else { 0 };
    let seconds = per_point(plan, &points);
    let blocks_complete = stopping::complete_blocks(order, &points);
    let last_analysis = analyses.iter().map(|analysis| analysis.blocks).max().unwrap_or(0);
    let to_come =
        plan.stopping.interim_analyses(plan.design.blocks).into_iter().find(|analysis| *analysis > last_analysis);
    Ok(Status {
        schema: SCHEMA,
        name: plan.name.clone(),
        states,
        points: order.points.len() as u32,
        done,
        invalid: invalid.len() as u32,
        blocks_complete,
        blocks: plan.design.blocks,
        rule: plan.stopping.rule,
        alpha: plan.design.alpha,
        is_run: holder::is_held(bundle.path()),
        seconds_per_run: seconds,
        seconds_left: seconds.map(|seconds| seconds * f64::from(open)),
        next_analysis: to_come.filter(|_| next.is_some()),
        next,
        interim_analyses: analyses,
        runs,
        invalid_attempts: invalid
            .into_iter()
            .map(|attempt| InvalidAttempt {
                index: attempt.index,
                attempt: attempt.attempt,
                reason: attempt.reason.clone(),
            })
            .collect(),
        missing: numbers::missing(plan, &points),
        boots: bundle.boots()?,
    })
}

/// Seconds from the start of one point to that of the next, the median of those that followed each other without a pause. Before there is
/// one, a run says what a point takes, but not where each has a boot of its own.
fn per_point(plan: &Plan, points: &[Point]) -> Option<f64> {
    let mut gaps: Vec<f64> = gaps(points).into_iter().map(|(gap, _)| gap).collect();
    gaps.sort_by(f64::total_cmp);
    match gaps.len() {
        0 if plan.boots_each_point() => None,
        0 => points.iter().filter(|point| point.outcome != Outcome::Invalid).find_map(wall),
        count => Some(gaps[count / 2]),
    }
}

fn wall(point: &Point) -> Option<f64> {
    point.measures.get("wall").copied()
}

/// Of each run that another one followed, seconds from its start to that of the next, and how long it ran.
pub(super) fn gaps(points: &[Point]) -> Vec<(f64, f64)> {
    let starts: Vec<(u32, f64, f64)> = points
        .iter()
        .filter(|point| point.outcome != Outcome::Invalid)
        .filter_map(|point| {
            let at: jiff::Timestamp = point.started_at.parse().ok()?;
            Some((point.planned.index, at.as_second() as f64, wall(point)?))
        })
        .collect();
    let follows = |pair: &&[(u32, f64, f64)]| pair[1].0 == pair[0].0 + 1 && pair[1].1 >= pair[0].1;
    starts.windows(2).filter(follows).map(|pair| (pair[1].1 - pair[0].1, pair[0].2)).collect()
}

fn in_words(status: &Status, bundle: &str) -> String {
    let mut lines = Vec::new();
    let share = f64::from(status.done) / f64::from(status.points.max(1));
    lines.push(format!(
        "{}: {} of {} runs done ({:.0} %), {} of {} blocks",
        status.name,
        status.done,
        status.points,
        share * 100.0,
        status.blocks_complete,
        status.blocks
    ));
    let states: Vec<String> = State::ALL
        .iter()
        .filter_map(|state| Some(format!("{} {}", status.states.get(state.word())?, status.word_of(*state))))
        .collect();
    lines.push(format!("runs by state: {}", states.join(", ")));
    if status.invalid > 0 {
        let (attempts, they) = match status.invalid {
            1 => ("1 attempt was".to_owned(), "it is kept, and its run is run again"),
            count => (format!("{count} attempts were"), "they are kept, and their runs are run again"),
        };
        lines.push(format!("{attempts} invalid; {they}:"));
        let shown = &status.invalid_attempts[status.invalid_attempts.len().saturating_sub(MOST_INVALID)..];
        if shown.len() < status.invalid_attempts.len() {
            lines.push(format!("  … {} before these", status.invalid_attempts.len() - shown.len()));
        }
        lines.extend(shown.iter().map(|attempt| format!("  {}", attempt.in_words())));
    }
    lines.extend(status.missing.iter().cloned());
    lines.extend(status.boots.as_ref().and_then(boots_in_words));
    match &status.next {
        Some(next) => {
            let place = next.block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
            let is_cut_off = status.is_run == Some(false) && next.started_at.is_some();
            let state = match &next.reason {
                _ if is_cut_off => format!("cut off while {}", next.state),
                Some(reason) => format!("{}, waits for {reason}", next.state),
                None => next.state.to_owned(),
            };
            lines.push(format!("next: run {}, {place}, {} ({state})", next.index + 1, next.cell));
            if let Some(left) = status.seconds_left {
                let at_most = if status.rule == StoppingRule::OpenEnded { " at most" } else { "" };
                let runs = if status.is_run == Some(false) { " of runs" } else { "" };
                lines.push(format!("about {}{runs} left{at_most}", output::about(left)));
            }
            if status.is_run == Some(false) {
                let bundle = output::quoted(bundle);
                lines.push(format!("nobody runs it here; go on with:\n  pagewise trial resume {bundle}"));
            }
        }
        None => {
            let bundle = output::quoted(bundle);
            lines.push(format!("complete; what was found:\n  pagewise trial analyze {bundle}"));
        }
    }
    for analysis in told(status) {
        lines.push(analysis_in_words(analysis, status.alpha));
        for one in &analysis.comparisons {
            lines.push(format!("  {}: {} ({})", one.name, one.conclusion.word(), p_in_words(one)));
        }
    }
    if let Some(analysis) = status.next_analysis {
        lines.push(format!("the next interim analysis is after {analysis} blocks"));
    }
    lines.join("\n")
}

/// What a trial that boots its host has asked for, or why it asks no more.
fn boots_in_words(boots: &Boots) -> Option<String> {
    match (&boots.over, &boots.asked) {
        (Some(BootsEnd::Complete), _) | (None, None) => None,
        (Some(BootsEnd::Stopped(why)), _) => Some(format!(
            "it boots this host no more: {}; with --boot, trial resume begins again",
            why.trim_end_matches('.')
        )),
        (None, Some(asked)) => {
            let came = match &asked.came_up {
                None => "was asked for".to_owned(),
                Some(release) if *release == asked.release => "came up".to_owned(),
                Some(other) => format!("was asked for, and {other} came up"),
            };
            Some(format!(
                "it boots this host by itself: Linux {} {came} (try {} of {ATTEMPTS})",
                asked.release, asked.attempt
            ))
        }
    }
}

impl Status {
    /// The state of runs in a word or a few: what nobody runs is not running.
    fn word_of(&self, state: State) -> String {
        let is_cut_off = self.is_run == Some(false) && state == State::Running;
        if is_cut_off { "cut off while running".to_owned() } else { state.word().to_owned() }
    }
}

/// The analyses that are shown. An open-ended trial is analysed after every block, and the last analysis says all that the others did.
pub(super) fn told(status: &Status) -> &[InterimAnalysis] {
    match (status.rule, status.interim_analyses.len()) {
        (StoppingRule::OpenEnded, taken @ 1..) => &status.interim_analyses[taken - 1..],
        _ => &status.interim_analyses[..],
    }
}

/// What an analysis cost and decided, in a line.
pub(super) fn analysis_in_words(analysis: &InterimAnalysis, alpha: f64) -> String {
    let blocks = output::counted(analysis.blocks, "block");
    match analysis.spent {
        Some(spent) => {
            let spent = stopping::spent_in_words(spent, alpha);
            format!("analysis after {blocks}, alpha spent: {spent}; {}", analysis.because)
        }
        None => format!("analysed after every block, the last time after {}: {}", analysis.blocks, analysis.because),
    }
}

/// `p = 0.031, needs 0.0051`.
pub(super) fn p_in_words(one: &InterimComparison) -> String {
    let p = one.p.map(|p| format!("p = {}, needs {}", p_value(p), p_value(one.nominal_p)));
    p.unwrap_or_else(|| "no estimate".to_owned())
}

impl InvalidAttempt {
    /// `run 3, attempt 1: the hypervisor took 12 % of the CPU time (limit 10 %)`.
    pub(super) fn in_words(&self) -> String {
        let reason = self.reason.as_deref().unwrap_or("no reason was written down");
        format!("run {}, attempt {}: {reason}", self.index + 1, self.attempt)
    }
}
