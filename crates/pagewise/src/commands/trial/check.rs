//! `trial check`: what a plan will run, what it costs, what it can find, and what is weak about it. Changes nothing.

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::plans;
use crate::session::{Session, Verb};
use anyhow::anyhow;
use clap::Args;
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::forecast::{self, Forecast, Known};
use pagewise_core::experiment::plan::lint::{self, Lint};
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::stats::summary;
use pagewise_core::unit::{Fraction, Seconds};
use pagewise_host::store::bundle::Bundle;
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
    #[arg(long, value_name = "N%")]
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
    /// What it takes, and what it can find.
    forecast: &'p Forecast,
    /// What is weak about it.
    lints: &'p [Lint],
}

pub(super) fn run(args: &CheckArgs, global: &Global) -> Result<ExitCode, Failure> {
    let plan = plans::load(&args.plan)?.plan;
    let mut lints = lint::lints(&plan);
    if !args.elsewhere {
        lints.extend(Session::open(global, Verb::Trial, None)?.with_data(args.data.clone()).lints(&plan));
    }
    let mut known = Known::from_plan(&plan);
    if let Some(Fraction(cv)) = args.cv {
        (known.cv_otherwise, known.cv) = (Some(cv), BTreeMap::new());
    }
    if let Some(pilot) = &args.pilot {
        learn(&mut known, &plan, &Bundle::open(pilot)?.points()?);
    }
    let forecast = forecast::forecast(&plan, &known);
    let order = order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
    if global.json {
        output::json(&Checked { schema: SCHEMA, plan: &plan, order: &order, forecast: &forecast, lints: &lints });
    } else {
        output::data(&in_words(&plan, &order, &forecast, &lints));
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
fn learn(known: &mut Known, plan: &Plan, points: &[Point]) {
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
    known.run = known.run.or_else(|| summary::mean(&of(None, "wall")));
    if !known.cv.is_empty() {
        // A cell the pilot did not run is taken to scatter as those it did.
        let squares: Vec<f64> = known.cv.values().map(|cv| cv * cv).collect();
        known.cv_otherwise = summary::mean(&squares).map(f64::sqrt);
    }
}

fn in_words(plan: &Plan, order: &order::Order, forecast: &Forecast, lints: &[Lint]) -> String {
    let mut lines = Vec::new();
    let warmup = plan.design.warmup;
    let with_warmup = match warmup {
        0 => String::new(),
        _ => format!(" and {} of warm-up", forecast.cells * warmup),
    };
    lines.push(format!(
        "{}: {} cells × {} blocks{with_warmup}, {} runs",
        plan.name, forecast.cells, forecast.blocks, forecast.runs
    ));
    lines.extend(forecast.ends.as_ref().map(|said| wrapped(said, "")));
    match (&forecast.hours, &forecast.no_hours_because) {
        (Some(hours), because) => {
            let note = because.as_ref().map(|because| format!(" ({because})")).unwrap_or_default();
            lines.push(format!("about {} in all{note}", Seconds(hours * 3600.0)));
        }
        (None, Some(because)) => lines.push(format!("how long: {because}")),
        (None, None) => {}
    }
    if forecast.boots > 0 {
        lines.push(format!("{} boots", forecast.boots));
    }
    lines.extend(forecast.recording.as_ref().map(|said| wrapped(said, "")));
    lines.push("\ncells".to_owned());
    if let Some(everywhere) = &plan.everywhere {
        lines.push(wrapped(&format!("everywhere: {everywhere}"), "  "));
    }
    let levels_alone = Plan { everywhere: None, ..plan.clone() };
    for cell in cells(&levels_alone).unwrap_or_default() {
        lines.push(wrapped(&format!("{}: {}", cell.label, cell.policy), "  "));
    }
    lines.push(format!("\norder: {}, seed {}", order.kind.word(), order.seed));
    const SHOWN: u32 = 4;
    for block in 0..plan.design.blocks.min(SHOWN) {
        let cells: Vec<&str> =
            order.points.iter().filter(|p| p.block == Some(block)).map(|p| p.cell.as_str()).collect();
        lines.push(wrapped(&format!("block {}: {}", block + 1, cells.join("  ")), "  "));
    }
    if plan.design.blocks > SHOWN {
        lines.push(format!("  … and {} more blocks", plan.design.blocks - SHOWN));
    }
    if !forecast.comparisons.is_empty() {
        lines.push(format!("\nwhat it finds four times in five ({})", plan.metric().name));
    }
    for one in &forecast.comparisons {
        let found = match one.difference {
            Some(difference) => format!("{:.1} % or more", difference * 100.0),
            None => "not known: give --cv 3% or --pilot BUNDLE".to_owned(),
        };
        lines.push(wrapped(&format!("{}: {found}", one.name), "  "));
    }
    lines.push(match lints.len() {
        0 => "\nno weakness found".to_owned(),
        1 => "\none weakness".to_owned(),
        count => format!("\n{count} weaknesses"),
    });
    for lint in lints {
        lines.push(wrapped(&format!("{}: {}", lint.id, lint.text), "  "));
    }
    lines.join("\n")
}

/// At 80 columns, later lines set in by four.
fn wrapped(text: &str, indent: &str) -> String {
    const COLUMNS: usize = 80;
    let mut lines = vec![indent.to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let is_first = line.trim().is_empty();
        if !is_first && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(format!("    {word}"));
        } else {
            line.push_str(if is_first { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}
