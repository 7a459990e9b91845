//! `trial analyze`: what a trial found, from its bundle alone. Refused before the plan's rule allows an analysis.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::rendering::{self, Format};
use anyhow::anyhow;
use clap::Args;
use pagewise_host::store::bundle::Bundle;
use pagewise_host::store::holder;
use pagewise_host::test_pause;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say what a trial found, from its bundle alone
#[derive(Args, Debug)]
pub(crate) struct AnalyzeArgs {
    /// The bundle, such as terasort-thp.trial
    bundle: PathBuf,
    /// How to write it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(args: &AnalyzeArgs, global: &Global) -> Result<ExitCode, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    may_analyze(&bundle)?;
    let found = rendering::found(&bundle)?;
    let format = if global.json { Format::Json } else { args.format };
    output::data(&rendering::render(&found, format, output::style(&global.color))?);
    Ok(ExitCode::SUCCESS)
}

/// An analysis outside the declared rule is what makes a false alarm likely.
pub(crate) fn may_analyze(bundle: &Bundle) -> Result<(), Failure> {
    let (plan, order) = (bundle.plan(), &bundle.frozen().order);
    let complete = pagewise_core::experiment::stopping::complete_blocks(order, &bundle.points()?);
    if complete >= plan.design.blocks || !bundle.interim_analyses()?.is_empty() || bundle.ended()?.is_some() {
        return Ok(());
    }
    let go_on = match holder::is_held(bundle.path()) {
        Some(true) => format!("It is being run now; how far it is says:\n  {}", status_line(bundle)),
        Some(false) | None => format!("Go on with:\n  {}", resume_line(bundle)),
    };
    let next = plan.stopping.interim_analyses(plan.design.blocks).into_iter().find(|analysis| *analysis > complete);
    Err(Failure::NotPossible(anyhow!(
        "{complete} of {} blocks are complete, and the plan's next analysis is {} (stopping.rule = \"{}\"); going on after \
         an earlier one would make false alarms likely. {go_on}",
        plan.design.blocks,
        next.map_or_else(|| "at the end".to_owned(), |analysis| format!("after {analysis}")),
        plan.stopping.rule.word()
    )))
}

/// The command that goes on with a bundle.
pub(crate) fn resume_line(bundle: &Bundle) -> String {
    line_about("resume", bundle)
}

fn status_line(bundle: &Bundle) -> String {
    line_about("status", bundle)
}

fn line_about(verb: &str, bundle: &Bundle) -> String {
    format!("pagewise trial {verb} {}", output::quoted(&bundle.path().display().to_string()))
}

/// Analyses a complete trial, writes its reports, says what was found.
pub(super) fn conclude(global: &Global, bundle: &Bundle) -> Result<ExitCode, Failure> {
    let found = rendering::found(bundle)?;
    test_pause::reached(test_pause::ANALYSED);
    let html = rendering::write_all(bundle, &found)?;
    if global.json {
        output::data(&rendering::render(&found, Format::Json, output::style(&global.color))?);
    } else {
        output::data(&rendering::render(&found, Format::Text, output::style(&global.color))?);
        let html = std::path::absolute(&html).unwrap_or(html);
        output::note(&format!("\nthe whole report: {}", html.display()));
    }
    if rendering::is_empty(&found) {
        return Err(Failure::NotPossible(anyhow!(
            "no block of runs is complete, so there is nothing to compare; the outcomes above say why"
        )));
    }
    Ok(ExitCode::SUCCESS)
}
