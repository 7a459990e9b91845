//! From a bundle to its reports. Reads the bundle alone, so that the same bundle gives the same bytes anywhere.

use crate::failure::Failure;
use anyhow::anyhow;
use pagewise_core::experiment::analysis::analyze;
use pagewise_core::report::{self, Report, Style};
use pagewise_host::store::bundle::Bundle;
use std::path::PathBuf;

/// Analyses a bundle and gathers what its reports say.
pub(crate) fn report_of(bundle: &Bundle) -> Result<Report, Failure> {
    let points = bundle.points()?;
    let analysis = analyze(bundle.plan(), &points).map_err(|error| Failure::Usage(anyhow!(error)))?;
    let frozen = bundle.frozen().clone();
    let name = bundle.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Report {
        analysis,
        plan: bundle.plan().clone(),
        order_seed: frozen.order.seed,
        facts: frozen.facts,
        commands: frozen.repeat,
        notes: frozen.notes,
        bundle: name,
        created: frozen.created,
        pagewise: frozen.pagewise,
    })
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
}

/// The report in one format. The style is of the text.
pub(crate) fn render(report: &Report, format: Format, style: Style) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(report::text(report, style)),
        Format::Markdown => Ok(report::markdown(report)),
        Format::Html => report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error))),
        Format::Json => {
            let json = serde_json::to_string_pretty(&report.analysis);
            json.map(|json| json + "\n").map_err(|error| Failure::NotPossible(anyhow!(error)))
        }
    }
}

/// Writes `analysis.json`, `report.md` and `report.html` into the bundle. Gives the path of the last.
pub(crate) fn write_all(bundle: &Bundle, report: &Report) -> Result<PathBuf, Failure> {
    let write = |name: &str, format: Format| -> Result<PathBuf, Failure> {
        Ok(bundle.write_report(name, render(report, format, Style::default())?.as_bytes())?)
    };
    write("analysis.json", Format::Json)?;
    write("report.md", Format::Markdown)?;
    write("report.html", Format::Html)
}
