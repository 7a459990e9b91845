//! From a bundle to its reports. Reads the bundle alone, recordings included where they hold stacks, so that the same bundle
//! gives the same bytes anywhere.

use crate::failure::Failure;
use anyhow::anyhow;
use pagewise_core::comparison::rule::Conclusion;
use pagewise_core::experiment::analysis::{AnalysisError, analyze_ended};
use pagewise_core::experiment::plan::{Contrast, Plan, lint};
use pagewise_core::experiment::point::Point;
use pagewise_core::experiment::stacks::{self, StackContrast};
use pagewise_core::experiment::stopping::Look;
use pagewise_core::experiment::study::{self, Comparison};
use pagewise_core::report::arms::{self, Flames};
use pagewise_core::report::study::{self as study_report, StudyReport};
use pagewise_core::report::{self, Report, Style};
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial;
use std::path::PathBuf;

/// What a bundle holds, analysed.
pub(crate) enum Found {
    /// Two policies on one job, as `prove` compares them.
    TwoArms {
        /// What its reports say.
        report: Box<Report>,
        /// The same runs as a matrix of two cells, for the renditions that only a matrix has. `None` of a live proof: its blocks
        /// are stretches of time, not runs.
        as_matrix: Option<Box<StudyReport>>,
    },
    /// A declared matrix.
    Matrix(Box<StudyReport>),
}

impl Found {
    /// Whether no block holds a comparison and failures decide nothing either. A level that fails every time is an answer, although
    /// no block has a ratio.
    pub(crate) fn is_empty(&self) -> bool {
        let open = |conclusion: Conclusion| conclusion == Conclusion::Inconclusive;
        match self {
            Found::TwoArms { report, .. } => {
                report.analysis.pairs_complete == 0 && open(report.analysis.verdict.conclusion)
            }
            Found::Matrix(report) => {
                let comparisons = &report.study.comparisons;
                let is_empty = |one: &Comparison| one.blocks == 0 && open(one.conclusion);
                !comparisons.is_empty() && comparisons.iter().all(is_empty)
            }
        }
    }
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
        analysis.stacks = cpus.contrasts.first().cloned().flatten();
        let as_matrix = match &plan.live {
            Some(_) => None,
            None => Some(Box::new(matrix(bundle, &as_a_claim(plan), &points, &looks, cpus.clone()).map_err(unusable)?)),
        };
        let report = Box::new(Report {
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
        });
        return Ok(Found::TwoArms { report, as_matrix });
    }
    Ok(Found::Matrix(Box::new(matrix(bundle, plan, &points, &looks, cpus).map_err(unusable)?)))
}

/// A plan of two levels is for its one contrast, whether or not that says `primary`.
fn as_a_claim(plan: &Plan) -> Plan {
    let claim = |contrast: &Contrast| Contrast { primary: true, ..contrast.clone() };
    Plan { contrasts: plan.contrasts.iter().map(claim).collect(), ..plan.clone() }
}

fn matrix(
    bundle: &Bundle,
    plan: &Plan,
    points: &[Point],
    looks: &[Look],
    cpus: Cpus,
) -> Result<StudyReport, AnalysisError> {
    let mut frozen = bundle.frozen().clone();
    let mut study = study::analyze(plan, &frozen.order, points, looks)?;
    for (comparison, contrast) in study.comparisons.iter_mut().zip(cpus.contrasts) {
        comparison.stacks = contrast;
    }
    // The notes of a plan of two levels have its weaknesses; a study finds them itself.
    let told: Vec<String> = lint::lints(plan).into_iter().map(|lint| format!("{}: {}", lint.id, lint.text)).collect();
    frozen.notes.retain(|note| !told.contains(note));
    Ok(StudyReport {
        study,
        flames: cpus.flames,
        plan: plan.clone(),
        facts: frozen.facts,
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
pub(crate) fn render(found: &Found, format: Format, style: Style) -> Result<String, Failure> {
    let not_written = |error: serde_json::Error| Failure::NotPossible(anyhow!(error));
    match found {
        Found::TwoArms { report, as_matrix } => match (format, as_matrix) {
            (Format::Text, _) => Ok(report::text(report, style)),
            (Format::Markdown, _) => Ok(report::markdown(report)),
            (Format::Html, _) => report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error))),
            (Format::Json, _) => {
                serde_json::to_string_pretty(&report.analysis).map(|json| json + "\n").map_err(not_written)
            }
            (Format::Latex | Format::Text72 | Format::R | Format::Csv, Some(matrix)) => {
                render_matrix(matrix, format, style)
            }
            (Format::Latex | Format::Text72 | Format::R | Format::Csv, None) => {
                Err(Failure::Usage(anyhow!("a live proof has no such rendition; write text, markdown, html or json")))
            }
        },
        Found::Matrix(report) => render_matrix(report, format, style),
    }
}

fn render_matrix(report: &StudyReport, format: Format, style: Style) -> Result<String, Failure> {
    Ok(match format {
        Format::Text => study_report::text(report, style),
        Format::Markdown => study_report::markdown(report),
        Format::Html => study_report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error)))?,
        Format::Json => {
            serde_json::to_string_pretty(&report.study).map_err(|error| Failure::NotPossible(anyhow!(error)))? + "\n"
        }
        Format::Latex => study_report::latex(report),
        Format::Text72 => study_report::text72(report),
        Format::R => study_report::r_script(report),
        Format::Csv => study_report::csv(report),
    })
}

/// The reports that lie in a bundle: file name and format.
pub(crate) fn files(found: &Found) -> &'static [(&'static str, Format)] {
    const ALL: &[(&str, Format)] = &[
        ("analysis.json", Format::Json),
        ("report.md", Format::Markdown),
        ("report.html", Format::Html),
        ("points.csv", Format::Csv),
        ("analysis.R", Format::R),
    ];
    match found {
        Found::TwoArms { as_matrix: None, .. } => &ALL[..3],
        Found::TwoArms { .. } | Found::Matrix(_) => ALL,
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
