//! `trial verify`: the analysis again from the bundle, and its bytes held against the reports that lie in it.

use super::analyze::may_analyze;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::rendering;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::experiment::analysis::{SCHEMA as SCHEMA_OF_ANALYSIS, VERSION};
use pagewise_host::store::bundle::Bundle;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Analyse a bundle again and compare the bytes with the reports in it
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The bundle, such as terasort-thp.trial
    bundle: PathBuf,
}

/// Id of the document that `trial verify --json` writes.
pub(super) const SCHEMA: &str = "pagewise.verify/1";

/// How the reports in a bundle compare with those its analysis gives now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Verified {
    /// `pagewise.verify/1`.
    schema: &'static str,
    /// Files that come out again byte for byte.
    same: Vec<&'static str>,
    /// A sentence for each file that does not, or cannot be read.
    different: Vec<String>,
}

pub(super) fn run(args: &VerifyArgs, global: &Global) -> Result<ExitCode, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    may_analyze(&bundle)?;
    let found = rendering::found(&bundle)?;
    let mut same = Vec::new();
    let mut different = Vec::new();
    let older = written_before(&bundle);
    for (name, format) in rendering::files(&found) {
        let path = bundle.path().join(name);
        let wanted = rendering::render(&found, *format, pagewise_core::report::Style::default())?;
        match read_file(&path) {
            Ok(bytes) if bytes == wanted.as_bytes() => same.push(*name),
            Ok(_) => different.push(format!("{name} is not what the analysis gives")),
            Err(error) => different.push(format!("{name} cannot be read: {error}")),
        }
    }
    if global.json {
        output::json(&Verified { schema: SCHEMA, same: same.clone(), different: different.clone() });
    } else if different.is_empty() {
        let said = format!(
            "{}: the plan is the frozen one, and {} come out again byte for byte",
            bundle.path().display(),
            same.join(", ")
        );
        output::data(&output::wrapped(&said, output::columns(), 2));
    }
    if different.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(older) = older {
        return Err(Failure::Change(anyhow!(
            "{}: {}. They were written by an older version of the analysis ({older}; this one is {SCHEMA_OF_ANALYSIS}, version \
             {VERSION}), so that nothing can be held against them. Its points are whole: 'pagewise report' and 'pagewise trial \
             analyze' analyse them as this version does",
            bundle.path().display(),
            different.join("; ")
        )));
    }
    Err(Failure::Change(anyhow!(
        "{}: {}. It was edited, or another version of Pagewise wrote it ({})",
        bundle.path().display(),
        different.join("; "),
        bundle.frozen().pagewise
    )))
}

/// Id and version of the analysis that lies in the bundle, when that is an older one.
fn written_before(bundle: &Bundle) -> Option<String> {
    let bytes = read_file(&bundle.path().join("analysis.json")).ok()?;
    let written: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let (schema, version) = (written["schema"].as_str()?, written["version"].as_u64()?);
    (version < u64::from(VERSION)).then(|| format!("{}, version {version}", schema.escape_debug()))
}

/// A pipe in the place of a file would be waited for without end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() { fs::read(path) } else { Err(io::Error::other("it is no regular file")) }
}
