//! `trial status`: what is done, what is next, the time left, alpha spent, and verdicts where the rule allows a look.

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use pagewise_core::experiment::next::{Next, next};
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::experiment::stopping::{self, Look};
use pagewise_core::unit::Seconds;
use pagewise_host::store::bundle::{Bundle, PointState, State};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how far a trial is: done, next, time left, alpha spent
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// The bundle, such as terasort-thp.trial
    bundle: PathBuf,
}

/// How far a trial is.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    schema: &'static str,
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
    /// Blocks complete one after the other, and all of them.
    pub(super) blocks_complete: u32,
    pub(super) blocks: u32,
    /// The point that is under way, or comes next.
    pub(super) next: Option<NextPoint>,
    /// Seconds left, by the wall time of the runs so far.
    pub(super) seconds_left: Option<f64>,
    /// After how many blocks the next look comes.
    pub(super) next_look: Option<u32>,
    /// The looks taken.
    pub(super) looks: Vec<Look>,
}

/// A point that is under way, or comes next.
#[derive(Debug, Serialize)]
pub(super) struct NextPoint {
    pub(super) index: u32,
    pub(super) block: Option<u32>,
    pub(super) cell: String,
    pub(super) state: &'static str,
    pub(super) reason: Option<String>,
}

pub(super) fn run(args: &StatusArgs, global: &Global) -> Result<ExitCode, Failure> {
    let status = status(&Bundle::open(&args.bundle)?)?;
    if global.json {
        output::json(&status);
    } else {
        output::data(&in_words(&status));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status(bundle: &Bundle) -> Result<Status, Failure> {
    let (plan, order) = (bundle.plan(), &bundle.frozen().order);
    let points = bundle.points()?;
    let attempts = bundle.states()?;
    let looks = bundle.looks()?;
    let mut last: BTreeMap<u32, &PointState> = BTreeMap::new();
    for attempt in &attempts {
        last.insert(attempt.index, attempt);
    }
    let mut states: BTreeMap<&'static str, u32> = BTreeMap::new();
    for planned in &order.points {
        let state = last.get(&planned.index).map_or(State::Planned, |attempt| attempt.state);
        *states.entry(state.word()).or_default() += 1;
    }
    let done = [State::Done, State::Failed].iter().filter_map(|state| states.get(state.word())).sum();
    let stopped = looks.iter().any(|look| look.stop);
    let next = match next(order, &points) {
        Next::Run(planned, _) if !stopped => {
            let attempt = last.get(&planned.index);
            Some(NextPoint {
                index: planned.index,
                block: planned.block,
                cell: planned.cell,
                state: attempt.map_or(State::Planned, |attempt| attempt.state).word(),
                reason: attempt.and_then(|attempt| attempt.reason.clone()),
            })
        }
        _ => None,
    };
    let open = if next.is_some() { order.points.len() as u32 - done } else { 0 };
    let blocks_complete = stopping::complete_blocks(order, &points);
    let last_look = looks.iter().map(|look| look.blocks).max().unwrap_or(0);
    let to_come = plan.stopping.looks(plan.design.blocks).into_iter().find(|look| *look > last_look);
    Ok(Status {
        schema: "pagewise.status/1",
        name: plan.name.clone(),
        states,
        points: order.points.len() as u32,
        done,
        invalid: attempts.iter().filter(|attempt| attempt.state == State::Invalid).count() as u32,
        blocks_complete,
        blocks: plan.design.blocks,
        seconds_left: per_point(&points).map(|seconds| seconds * f64::from(open)),
        next,
        next_look: to_come.filter(|_| !stopped),
        looks,
    })
}

/// Seconds from the start of one point to that of the next, the median of those that followed each other without a pause.
fn per_point(points: &[Point]) -> Option<f64> {
    let starts: Vec<(u32, f64, f64)> = points
        .iter()
        .filter(|point| point.outcome != Outcome::Invalid)
        .filter_map(|point| {
            let at: jiff::Timestamp = point.started_at.parse().ok()?;
            Some((point.planned.index, at.as_second() as f64, *point.measures.get("wall")?))
        })
        .collect();
    let mut gaps: Vec<f64> =
        starts.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1).map(|pair| pair[1].1 - pair[0].1).collect();
    gaps.retain(|gap| *gap >= 0.0);
    gaps.sort_by(f64::total_cmp);
    match gaps.len() {
        0 => starts.first().map(|(_, _, wall)| *wall),
        count => Some(gaps[count / 2]),
    }
}

fn in_words(status: &Status) -> String {
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
        .filter_map(|state| status.states.get(state.word()).map(|count| format!("{count} {}", state.word())))
        .collect();
    lines.push(format!("runs by state: {}", states.join(", ")));
    if status.invalid > 0 {
        lines.push(format!("{} attempts were invalid; they are kept, and run again", status.invalid));
    }
    match &status.next {
        Some(next) => {
            let place = next.block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
            let waiting = next.reason.as_ref().map(|reason| format!(", waits for {reason}")).unwrap_or_default();
            lines.push(format!("next: run {}, {place}, {} ({}{waiting})", next.index + 1, next.cell, next.state));
            if let Some(left) = status.seconds_left {
                lines.push(format!("about {} left", Seconds(left)));
            }
        }
        None => lines.push("complete: pagewise trial analyze says what was found".to_owned()),
    }
    for look in &status.looks {
        lines.push(format!(
            "look after {} blocks: {:.2} % of alpha spent; {}",
            look.blocks,
            look.spent * 100.0,
            look.because
        ));
        for one in &look.comparisons {
            let p = one.p.map_or("no estimate".to_owned(), |p| format!("p = {p:.2e}, needs {:.2e}", one.nominal_p));
            lines.push(format!("  {}: {} ({p})", one.name, one.conclusion.word()));
        }
    }
    if let Some(look) = status.next_look {
        lines.push(format!("the plan's rule allows the next look after {look} blocks"));
    }
    lines.join("\n")
}
