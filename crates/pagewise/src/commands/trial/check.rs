//! `trial check`: what a plan will run, what it costs, what it can find, and what is weak about it. Changes nothing.

use super::status;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::plans;
use crate::session::{Seed, Session, Verb};
use anyhow::anyhow;
use clap::Args;
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::forecast::{self, Forecast, KnownRuns};
use pagewise_core::experiment::plan::lint::{self, Lint};
use pagewise_core::experiment::plan::numbers;
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::stats::summary;
use pagewise_core::unit::{self, Fraction};
use pagewise_host::store::bundle::Bundle;
use pagewise_host::workload::{self, Places};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say what a plan will run, cost and find, and what is weak about it; changes nothing
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// A plan file, or the name of a plan that ships with Pagewise
    plan: String,
    /// Weaknesses are errors: exit 2 when there is any
    #[arg(long)]
    strict: bool,
    /// Scatter of a run, for power: its standard deviation as a share of its mean
    #[arg(long, value_name = "N%", value_parser = unit::share)]
    cv: Option<Fraction>,
    /// Take scatter and times from an earlier trial
    #[arg(long, value_name = "BUNDLE", conflicts_with = "cv")]
    pilot: Option<PathBuf>,
    /// The data of a command that come back before every run
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Do not look at this host: the plan is for another one
    #[arg(long)]
    elsewhere: bool,
}

/// Id of the document that `trial check --json` writes.
pub(super) const SCHEMA: &str = "pagewise.check/1";

/// What a plan will run, what it costs, what it can find, and what is weak about it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Checked<'p> {
    /// `pagewise.check/1`.
    schema: &'static str,
    /// The plan, everything that was left out filled in.
    plan: &'p Plan,
    /// The order that would be run.
    order: &'p order::Order,
    /// Whether that order is an example: the plan names no seed, and one is drawn when the trial begins.
    is_example: bool,
    /// What it takes, and what it can find.
    forecast: &'p Forecast,
    /// What is weak about it.
    lints: &'p [Lint],
}

pub(super) fn run(args: &CheckArgs, global: &Global) -> Result<ExitCode, Failure> {
    let loaded = plans::load(&args.plan)?;
    let session = Session::open(global, Verb::Trial, &Places::default())?.with_data(args.data.clone());
    loaded.hold_to(&session, !args.elsewhere)?;
    let seed = if loaded.has_seed { Seed::Given } else { Seed::Drawn };
    let plan = loaded.plan;
    let mut lints = lint::lints(&plan);
    let own = workload::measures_of(&plan.workload);
    lints.extend(if args.elsewhere { numbers::lints(&plan, own, None) } else { session.lints(&plan) });
    let mut known = KnownRuns::from_plan(&plan);
    if let Some(Fraction(cv)) = args.cv {
        (known.cv_otherwise, known.cv) = (Some(cv), BTreeMap::new());
    }
    if let Some(pilot) = &args.pilot {
        learn(&mut known, &plan, &Bundle::open(pilot)?.points()?);
    }
    let forecast = forecast::forecast(&plan, &known);
    let order = order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
    if global.json {
        let is_example = seed == Seed::Drawn;
        output::json(&Checked {
            schema: SCHEMA,
            plan: &plan,
            order: &order,
            is_example,
            forecast: &forecast,
            lints: &lints,
        });
    } else {
        output::data(&output::wrapped(&in_words(&plan, (&order, seed), &forecast, &lints), output::columns(), 2));
    }
    match lints.len() {
        count if args.strict && count > 0 => {
            let what = if count == 1 { "one weakness" } else { "weaknesses" };
            Err(Failure::Usage(anyhow!("the plan has {what}: {}", ids(&lints))))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn ids(lints: &[Lint]) -> String {
    let mut ids: Vec<&str> = lints.iter().map(|lint| lint.id.as_str()).collect();
    ids.dedup();
    ids.join(", ")
}

/// Scatter and length of a pilot's good runs.
fn learn(known: &mut KnownRuns, plan: &Plan, points: &[Point]) {
    let good: Vec<&Point> = points.iter().filter(|point| point.outcome == Outcome::Ok).collect();
    let of = |cell: Option<&str>, measure: &str| -> Vec<f64> {
        let of_cell = good.iter().filter(|point| cell.is_none_or(|cell| point.planned.cell == cell));
        of_cell.filter_map(|point| point.measures.get(measure).copied()).collect()
    };
    let cv = |values: &[f64]| Some(summary::standard_deviation(values)? / summary::mean(values)?);
    let metric = &plan.metric().name;
    for cell in cells(plan).unwrap_or_default() {
        if let Some(cv) = cv(&of(Some(&cell.label), metric)) {
            known.cv.insert(cell.label, cv);
        }
    }
    // What was seen beats what the plan supposes.
    let gaps = status::gaps(points);
    known.run = summary::mean(&of(None, "wall")).or(known.run);
    known.around = around(&gaps).or(known.around);
    if !known.cv.is_empty() {
        // A cell the pilot did not run is taken to scatter as those it did.
        let squares: Vec<f64> = known.cv.values().map(|cv| cv * cv).collect();
        known.cv_otherwise = summary::mean(&squares).map(f64::sqrt);
    }
}

/// What surrounds a run, from the seconds between starts and those that were run. A pause of the trial is no part of it: what is
/// much longer than most.
fn around(gaps: &[(f64, f64)]) -> Option<f64> {
    let mut around: Vec<f64> = gaps.iter().map(|(gap, wall)| (gap - wall).max(0.0)).collect();
    let most = 2.0 * summary::median(&around)? + 5.0;
    around.retain(|seconds| *seconds <= most);
    summary::mean(&around)
}

fn in_words(plan: &Plan, (order, seed): (&order::Order, Seed), forecast: &Forecast, lints: &[Lint]) -> String {
    let (stops, weak): (Vec<&Lint>, Vec<&Lint>) = lints.iter().partition(|lint| lint.id == "not-possible-here");
    let mut lines = Vec::new();
    if !stops.is_empty() {
        // Before anything else: what follows is of a trial that would not run.
        lines.push("as it is this plan cannot run on this host".to_owned());
        lines.extend(stops.iter().map(|lint| format!("  {}: {}", lint.id, lint.text)));
        lines.push(String::new());
    }
    let warmup = plan.design.warmup;
    let with_warmup = match warmup {
        0 => String::new(),
        _ => format!(" and {} of warm-up", forecast.cells * warmup),
    };
    lines.push(format!(
        "{}: {} × {}{with_warmup}, {}",
        plan.name,
        output::counted(forecast.cells, "cell"),
        output::counted(forecast.blocks, "block"),
        output::counted(forecast.runs, "run")
    ));
    lines.extend(forecast.ends.clone());
    match (&forecast.hours, &forecast.no_hours_because) {
        (Some(hours), because) => {
            let (about, around) = match forecast.is_least {
                true if forecast.boots > 0 => (
                    "at least",
                    Some(
                        "boots are not counted, and around each run only a second: give [cost] around, or --pilot BUNDLE",
                    ),
                ),
                true => (
                    "at least",
                    Some("around each run only a second is counted: give [cost] around, or --pilot BUNDLE"),
                ),
                false => ("about", None),
            };
            let notes: Vec<&str> = around.into_iter().chain(because.as_deref()).collect();
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            lines.push(format!("{about} {} in all{notes}", output::about(hours * 3600.0)));
        }
        (None, Some(because)) => lines.push(format!("how long: {because}")),
        (None, None) => {}
    }
    if forecast.boots > 0 {
        lines.push(output::counted(forecast.boots, "boot"));
    }
    lines.extend(forecast.recording.clone());
    lines.push("\ncells".to_owned());
    if let Some(everywhere) = &plan.everywhere {
        lines.push(format!("  everywhere: {everywhere}"));
    }
    let levels_alone = Plan { everywhere: None, ..plan.clone() };
    for cell in cells(&levels_alone).unwrap_or_default() {
        lines.push(format!("  {}: {}", cell.label, cell.policy));
    }
    lines.push(format!("\norder: {}, {}", order.kind.word(), seed.in_words(order.seed)));
    const SHOWN: u32 = 4;
    for block in 0..plan.design.blocks.min(SHOWN) {
        let cells: Vec<&str> =
            order.points.iter().filter(|p| p.block == Some(block)).map(|p| p.cell.as_str()).collect();
        lines.push(format!("  block {}: {}", block + 1, cells.join("  ")));
    }
    if plan.design.blocks > SHOWN {
        lines.push(format!("  … and {}", output::counted(plan.design.blocks - SHOWN, "more block")));
    }
    if !forecast.comparisons.is_empty() {
        lines.push(format!("\nwhat it finds four times in five, a power of 80 % ({})", plan.metric().name));
    }
    for one in &forecast.comparisons {
        let found = match one.difference {
            Some(difference) => format!("{:.1} % or more", difference * 100.0),
            None => "not known: give --cv 3% or --pilot BUNDLE".to_owned(),
        };
        lines.push(format!("  {}: {found}", one.name));
    }
    lines.push(match (weak.len(), stops.is_empty()) {
        (0, true) => "\nno weakness found".to_owned(),
        (0, false) => "\nno weakness found beside what stands above".to_owned(),
        (1, _) => "\none weakness".to_owned(),
        (count, _) => format!("\n{count} weaknesses"),
    });
    lines.extend(weak.iter().map(|lint| format!("  {}: {}", lint.id, lint.text)));
    lines.join("\n")
}
