//! What `--dry-run --json` writes: the plan with everything that was left out filled in, and the order it would run in.

use crate::output;
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::Plan;
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
