//! From a bundle to its reports. Reads the bundle alone, recordings included where they hold stacks, so that the same bundle
//! gives the same bytes anywhere.

use crate::failure::Failure;
use anyhow::anyhow;
use pagewise_core::experiment::analysis::{AnalysisError, Comparison, Conclusion, analyze_ended};
use pagewise_core::experiment::plan::lint;
use pagewise_core::experiment::point::Point;
use pagewise_core::experiment::stacks::{self, StackContrast};
use pagewise_core::experiment::stopping::InterimAnalysis;
use pagewise_core::report::arms::{self, Flames};
use pagewise_core::report::{self, Report, Style, study};
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial;
use std::path::PathBuf;

/// Whether no block holds a comparison and failures decide nothing either. A level that fails every time is an answer, although no
/// block has a ratio.
pub(crate) fn is_empty(report: &Report) -> bool {
    let comparisons = &report.analysis.comparisons;
    let is_empty = |one: &Comparison| one.blocks == 0 && one.conclusion == Conclusion::Inconclusive;
    !comparisons.is_empty() && comparisons.iter().all(is_empty)
}

/// Analyses a bundle and gathers what its reports say.
pub(crate) fn found(bundle: &Bundle) -> Result<Report, Failure> {
    let points = bundle.points()?;
    let mut frozen = bundle.frozen().clone();
    let plan = bundle.plan();
    let analyses = bundle.interim_analyses()?;
    let unusable = |error: AnalysisError| Failure::Usage(anyhow!(error));
    let cpus = Cpus::of(bundle, &points, &analyses).map_err(unusable)?;
    let ended = bundle.ended()?;
    let mut analysis = analyze_ended(plan, &frozen.order, &points, &analyses, ended.as_ref()).map_err(unusable)?;
    for (comparison, contrast) in analysis.comparisons.iter_mut().zip(cpus.contrasts) {
        comparison.stacks = contrast;
    }
    // The notes of a plan of two levels have its weaknesses; an analysis finds them itself.
    let told: Vec<String> = lint::lints(plan).into_iter().map(|lint| format!("{}: {}", lint.id, lint.text)).collect();
    frozen.notes.retain(|note| !told.contains(note));
    Ok(Report {
        analysis,
        flames: cpus.flames,
        plan: plan.clone(),
        hosts: bundle.hosts()?,
        commands: frozen.repeat,
        notes: frozen.notes,
        bundle: bundle.name(),
        created: frozen.created,
        pagewise: frozen.pagewise,
    })
}

/// Where CPUs were in the runs that count, from their recordings. Nothing where the plan asked for no stacks.
#[derive(Clone, Default)]
struct Cpus {
    /// In the order in which the plan asks.
    contrasts: Vec<Option<StackContrast>>,
    flames: Option<Flames>,
}

impl Cpus {
    fn of(bundle: &Bundle, points: &[Point], analyses: &[InterimAnalysis]) -> Result<Cpus, AnalysisError> {
        let (plan, order) = (bundle.plan(), &bundle.frozen().order);
        if !plan.recording.keeps_stacks() {
            return Ok(Cpus::default());
        }
        let counted = stacks::counted(plan, order, points, analyses)?;
        let kept = trial::stacks::kept(bundle, &counted);
        let contrasts = stacks::compare(plan, order, points, analyses, &kept)?;
        Ok(Cpus { contrasts, flames: arms::flames(plan, &kept, &counted) })
    }
}

/// What a report can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For the terminal
    Text,
    /// For a pull request or a mail
    Markdown,
    /// One file with figures, for a browser
    Html,
    /// Every number, for programs
    Json,
    /// A trial as tables for a paper
    Latex,
    /// A trial as a mail of 72 columns
    Text72,
    /// A trial as an R script, data included, that computes every number again
    R,
    /// A trial as a table with a row per run, as `pagewise analyze` reads it
    Csv,
}

/// The report in one format. The style is of the text.
pub(crate) fn render(report: &Report, format: Format, style: Style) -> Result<String, Failure> {
    // Its blocks are stretches of time, not runs that a table or a script could have.
    if report.plan.live.is_some() && is_of_runs(format) {
        return Err(Failure::Usage(anyhow!("a live proof has no such rendition; write text, markdown, html or json")));
    }
    Ok(match format {
        Format::Text => report::text(report, style),
        Format::Markdown => report::markdown(report),
        Format::Html => report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error)))?,
        Format::Json => {
            serde_json::to_string_pretty(&report.analysis).map_err(|error| Failure::NotPossible(anyhow!(error)))? + "\n"
        }
        Format::Latex => study::latex(report),
        Format::Text72 => study::text72(report),
        Format::R => study::r_script(report),
        Format::Csv => study::csv(report),
    })
}

fn is_of_runs(format: Format) -> bool {
    matches!(format, Format::Latex | Format::Text72 | Format::R | Format::Csv)
}

/// The reports that lie in a bundle: file name and format.
pub(crate) fn files(report: &Report) -> &'static [(&'static str, Format)] {
    const ALL: &[(&str, Format)] = &[
        ("analysis.json", Format::Json),
        ("report.md", Format::Markdown),
        ("report.html", Format::Html),
        ("points.csv", Format::Csv),
        ("analysis.R", Format::R),
    ];
    if report.plan.live.is_some() { &ALL[..3] } else { ALL }
}

/// Writes the reports into the bundle. Gives the path of the page for a browser.
pub(crate) fn write_all(bundle: &Bundle, report: &Report) -> Result<PathBuf, Failure> {
    let mut html = bundle.path().to_owned();
    for (name, format) in files(report) {
        let path = bundle.write_report(name, render(report, *format, Style::default())?.as_bytes())?;
        if *format == Format::Html {
            html = path;
        }
    }
    Ok(html)
}
