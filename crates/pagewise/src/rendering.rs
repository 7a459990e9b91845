//! From a bundle to its reports. Reads the bundle alone, so that the same bundle gives the same bytes anywhere.

use crate::failure::Failure;
use anyhow::anyhow;
use pagewise_core::experiment::analysis::analyze;
use pagewise_core::report::{self, Report};
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

/// Writes `analysis.json`, `report.md` and `report.html` into the bundle. Gives the path of the last.
pub(crate) fn write_all(bundle: &Bundle, report: &Report) -> Result<PathBuf, Failure> {
    let html = report::html(report).map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let mut json =
        serde_json::to_string_pretty(&report.analysis).map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    json.push('\n');
    bundle.write_report("analysis.json", json.as_bytes())?;
    bundle.write_report("report.md", report::markdown(report).as_bytes())?;
    Ok(bundle.write_report("report.html", html.as_bytes())?)
}
