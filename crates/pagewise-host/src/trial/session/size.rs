//! How many pairs fit into a budget of time, judged by the warm-up runs.

use super::audience::{Audience, Note};
use super::{Budget, MOST_PAIRS, SessionError};
use crate::trial::engine::{self, PointRunner, TrialError};
use crate::trial::runner::HostRunner;
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::PlannedPoint;
use pagewise_core::unit::Seconds;
use std::time::Instant;

/// Runs the warm-up first to learn what a pair costs, then fixes the number of pairs. Nothing that is analysed has been
/// seen when the size is chosen. Gives the note that says so.
pub(super) fn by_budget(
    host: &mut HostRunner<'_>,
    plan: &mut Plan,
    Budget { time: budget, most_pairs }: Budget,
    audience: &dyn Audience,
) -> Result<String, SessionError> {
    let contrast = plan.contrasts[0].clone();
    let started = Instant::now();
    let mut rounds = 0;
    while rounds < plan.design.warmup.max(1) {
        for (position, level) in [&contrast.a, &contrast.b].into_iter().enumerate() {
            audience.note(Note::SizingRun(level));
            let planned =
                PlannedPoint { index: 0, block: None, position: position as u32, boot: None, cell: level.clone() };
            let point = host.run_point(&planned, 1, &mut |_| Ok(()))?.point;
            if point.outcome.is_bad() {
                let reason = point.reason.unwrap_or_default();
                return Err(
                    TrialError::WarmupFailed { level: level.clone(), outcome: point.outcome.word(), reason }.into()
                );
            }
            engine::has_metric(&point, &plan.metric().name)?;
            if rounds == 0 {
                // One half alone may be too long for it.
                let half = started.elapsed().as_secs_f64();
                check_fits(budget, half, 2.0 * half / f64::from(position as u32 + 1))?;
            }
        }
        rounds += 1;
    }
    let pair = started.elapsed().as_secs_f64() / f64::from(rounds);
    check_fits(budget, pair, pair)?;
    let fitting = (budget.0 / pair) as u32;
    let pairs = fitting.min(most_pairs.unwrap_or(MOST_PAIRS)).min(MOST_PAIRS);
    plan.design.blocks = pairs;
    plan.design.warmup = 0;
    let no_more = if most_pairs == Some(pairs) && fitting > pairs { "; no more were asked for" } else { "" };
    Ok(format!("{pairs} pairs fit into the budget of {budget}, at {} a pair in the warm-up{no_more}", Seconds(pair)))
}

/// Whether the fewest pairs of a verdict fit into a budget where each takes `at_least` seconds; `pair` is what one is told to take.
fn check_fits(budget: Seconds, at_least: f64, pair: f64) -> Result<(), SessionError> {
    let fewest = order::FEWEST_PAIRS;
    if at_least * f64::from(fewest) <= budget.0 {
        return Ok(());
    }
    let needed = Seconds((pair * f64::from(fewest)).ceil());
    Err(SessionError::BudgetTooSmall { budget, pair: Seconds(pair), pairs: (budget.0 / pair) as u32, fewest, needed })
}
