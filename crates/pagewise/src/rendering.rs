//! From a bundle to its reports. Reads the bundle alone, recordings included where they hold stacks, so that the same bundle
//! gives the same bytes anywhere.

use crate::failure::Failure;
use anyhow::anyhow;
use pagewise_core::experiment::analysis::{AnalysisError, analyze_ended};
use pagewise_core::experiment::point::Point;
use pagewise_core::experiment::stacks::{self, StackContrast};
use pagewise_core::experiment::stopping::Look;
use pagewise_core::experiment::study;
use pagewise_core::report::arms::{self, Flames};
use pagewise_core::report::study::{self as study_report, StudyReport};
use pagewise_core::report::{self, Report, Style};
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial;
use std::path::PathBuf;

/// What a bundle holds, analysed.
pub(crate) enum Found {
    /// Two policies on one job, as `prove` compares them.
    TwoArms(Box<Report>),
    /// A declared matrix.
    Matrix(Box<StudyReport>),
}

/// Analyses a bundle and gathers what its reports say.
pub(crate) fn found(bundle: &Bundle) -> Result<Found, Failure> {
    let points = bundle.points()?;
    let frozen = bundle.frozen().clone();
    let name = bundle.name();
    let plan = bundle.plan();
    let looks = bundle.looks()?;
    let unusable = |error: AnalysisError| Failure::Usage(anyhow!(error));
    let cpus = Cpus::of(bundle, &points, &looks).map_err(unusable)?;
    if plan.is_two_arms() {
        let mut analysis = analyze_ended(plan, &points, bundle.ended()?.as_ref()).map_err(unusable)?;
        analysis.stacks = cpus.contrasts.into_iter().next().flatten();
        return Ok(Found::TwoArms(Box::new(Report {
            analysis,
            flames: cpus.flames,
            plan: plan.clone(),
            order_seed: frozen.order.seed,
            facts: frozen.facts,
            commands: frozen.repeat,
            notes: frozen.notes,
            bundle: name,
            created: frozen.created,
            pagewise: frozen.pagewise,
        })));
    }
    let mut study = study::analyze(plan, &frozen.order, &points, &looks).map_err(unusable)?;
    for (comparison, contrast) in study.comparisons.iter_mut().zip(cpus.contrasts) {
        comparison.stacks = contrast;
    }
    Ok(Found::Matrix(Box::new(StudyReport {
        study,
        flames: cpus.flames,
        plan: plan.clone(),
        facts: frozen.facts,
        commands: frozen.repeat,
        notes: frozen.notes,
        bundle: name,
        created: frozen.created,
        pagewise: frozen.pagewise,
    })))
}

/// Where CPUs were in the runs that count, from their recordings. Nothing where the plan asked for no stacks.
#[derive(Default)]
struct Cpus {
    /// In the order in which the plan asks.
    contrasts: Vec<Option<StackContrast>>,
    flames: Option<Flames>,
}

impl Cpus {
    fn of(bundle: &Bundle, points: &[Point], looks: &[Look]) -> Result<Cpus, AnalysisError> {
        let (plan, order) = (bundle.plan(), &bundle.frozen().order);
        if !plan.recording.keeps_stacks() {
            return Ok(Cpus::default());
        }
        let counted = stacks::counted(plan, order, points, looks)?;
        let kept = trial::stacks::kept(bundle, &counted);
        let contrasts = stacks::compare(plan, order, points, looks, &kept)?;
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
    /// A trial of a matrix as tables for a paper
    Latex,
    /// A trial of a matrix as a mail of 72 columns
    Text72,
    /// A trial of a matrix as an R script, data included, that computes every number again
    R,
    /// A trial of a matrix as a table with a row per run, as `pagewise analyze` reads it
    Csv,
}

/// The report in one format. The style is of the text.
pub(crate) fn render(found: &Found, format: Format, style: Style) -> Result<String, Failure> {
    let not_written = |error: serde_json::Error| Failure::NotPossible(anyhow!(error));
    match (found, format) {
        (Found::TwoArms(report), Format::Text) => Ok(report::text(report, style)),
        (Found::TwoArms(report), Format::Markdown) => Ok(report::markdown(report)),
        (Found::TwoArms(report), Format::Html) => {
            report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error)))
        }
        (Found::TwoArms(report), Format::Json) => {
            serde_json::to_string_pretty(&report.analysis).map(|json| json + "\n").map_err(not_written)
        }
        (Found::Matrix(report), Format::Json) => {
            serde_json::to_string_pretty(&report.study).map(|json| json + "\n").map_err(not_written)
        }
        (Found::Matrix(report), Format::Text) => Ok(study_report::text(report, style)),
        (Found::Matrix(report), Format::Markdown) => Ok(study_report::markdown(report)),
        (Found::Matrix(report), Format::Html) => {
            study_report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error)))
        }
        (Found::Matrix(report), Format::Latex) => Ok(study_report::latex(report)),
        (Found::Matrix(report), Format::Text72) => Ok(study_report::text72(report)),
        (Found::Matrix(report), Format::R) => Ok(study_report::r_script(report)),
        (Found::Matrix(report), Format::Csv) => Ok(study_report::csv(report)),
        (Found::TwoArms(_), Format::Latex | Format::Text72 | Format::R | Format::Csv) => Err(Failure::Usage(anyhow!(
            "a comparison of two policies has no such rendition; write text, markdown, html or json"
        ))),
    }
}

/// The reports that lie in a bundle: file name and format.
pub(crate) fn files(found: &Found) -> &'static [(&'static str, Format)] {
    match found {
        Found::TwoArms(_) => {
            &[("analysis.json", Format::Json), ("report.md", Format::Markdown), ("report.html", Format::Html)]
        }
        Found::Matrix(_) => &[
            ("analysis.json", Format::Json),
            ("report.md", Format::Markdown),
            ("report.html", Format::Html),
            ("points.csv", Format::Csv),
            ("analysis.R", Format::R),
        ],
    }
}

/// Writes the reports into the bundle. Gives the path of the page for a browser.
pub(crate) fn write_all(bundle: &Bundle, found: &Found) -> Result<PathBuf, Failure> {
    let mut html = bundle.path().to_owned();
    for (name, format) in files(found) {
        let path = bundle.write_report(name, render(found, *format, Style::default())?.as_bytes())?;
        if *format == Format::Html {
            html = path;
        }
    }
    Ok(html)
}
