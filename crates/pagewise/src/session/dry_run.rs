//! What `--dry-run` says: the plan with everything that was left out filled in, and the order it would run in.

use super::Seed;
use crate::output;
use pagewise_core::experiment::live::{Live, WHATEVER_RUNS};
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::{Plan, forecast};
use pagewise_core::experiment::point::PlannedPoint;
use pagewise_host::trial::session::Preview;
use schemars::JsonSchema;
use serde::Serialize;

/// Id of the document. A plan by itself is a `pagewise.plan/1`, and only one field of this.
pub(crate) const SCHEMA: &str = "pagewise.dry-run/1";

/// What a trial would run. Nothing was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DryRun<'p> {
    /// `pagewise.dry-run/1`.
    schema: &'static str,
    /// The plan, everything that was left out filled in.
    plan: &'p Plan,
    /// The order that would be run.
    order: &'p Order,
    /// What is odd about it, but allowed.
    notes: &'p [String],
    /// How long it takes, in seconds; null where that depends on the job.
    seconds: Option<f64>,
}

/// Writes it to stdout.
pub(super) fn tell(plan: &Plan, order: &Order, notes: &[String], seconds: Option<f64>) {
    output::json(&DryRun { schema: SCHEMA, plan, order, notes, seconds });
}

/// The same in words.
pub(super) fn in_words(plan: &Plan, preview: &Preview, seed: Seed, notes: &[String]) -> String {
    let job = match (&plan.live, &preview.job) {
        (Some(live), _) => what_runs(plan, live),
        (None, job) => job.clone().unwrap_or_default(),
    };
    let mut lines = vec![format!("{}: {job}", plan.name)];
    for cell in &preview.cells {
        lines.push(format!("\nunder '{}'", cell.label));
        for setting in &cell.host {
            lines.push(format!("  {}: {} → {}", setting.tunable, setting.now, setting.value));
            if !setting.coupled.is_empty() {
                lines.push(format!("    held fixed beside it: {}", setting.coupled.join(", ")));
            }
        }
        lines.extend(cell.boot.iter().map(|(tunable, value)| format!("  boot: {tunable} {value}")));
        lines.extend(cell.job.iter().map(|(name, value)| format!("  of the job alone: {name}={value}")));
        if cell.host.is_empty() {
            lines.push("  this host's settings stay as they are".to_owned());
        }
    }
    let said_seed = seed.in_words(plan.design.seed);
    match &plan.live {
        Some(live) => {
            lines.push(format!(
                "\neach block: {} s to settle, {} s to wash out, {} s measured",
                live.settle_seconds, live.washout_seconds, live.block_seconds
            ));
            lines.extend(forecast::recorded(plan));
            let takes = live.takes(preview.order.points.len());
            lines.push(format!("order, {takes} in all, {said_seed}:"));
            lines.extend(timetable(&preview.order, live));
        }
        None => {
            let words: Vec<&str> = preview.order.points.iter().map(|point| point.cell.as_str()).collect();
            lines.extend(forecast::recorded(plan).map(|said| format!("\n{said}")));
            lines.push(format!("\norder, {said_seed}:\n  {}", words.join(" · ")));
        }
    }
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

fn what_runs(plan: &Plan, live: &Live) -> String {
    match live.pid {
        Some(pid) => format!("while process {pid} runs"),
        None if plan.workload.name == WHATEVER_RUNS => "whatever runs on this host".to_owned(),
        None => output::command_line(plan.workload.run.iter().map(String::as_str)),
    }
}

/// When each block is measured, from the start.
fn timetable(order: &Order, live: &Live) -> Vec<String> {
    let minutes = |seconds: f64| format!("{:>3}:{:02}", (seconds / 60.0) as u64, (seconds % 60.0) as u64);
    let line = |(index, point): (usize, &PlannedPoint)| {
        let end = live.takes(index + 1).0;
        let pair = point.block.map_or("warm-up".to_owned(), |pair| format!("pair {}", pair + 1));
        format!("  {} to {}  {pair:<8}  {}", minutes(end - live.block_seconds), minutes(end), point.cell)
    };
    order.points.iter().enumerate().map(line).collect()
}
