//! `pagewise import [KIND:]FILE… -o FILE.pgw`: what other tools wrote, as a recording that every other verb reads.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::import::{Assumed, Imported};
use pagewise_core::recording::Recorded;
use pagewise_core::tunable;
use pagewise_host::import::{self, KindFile};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make a recording of what other tools wrote
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ImportArgs {
    /// A file, or a folder of them; KIND: in front says what wrote it, else it is found. Several become one recording
    #[arg(required = true, value_name = "[KIND:]FILE")]
    files: Vec<KindFile>,
    /// The recording; never overwritten
    #[arg(short, long = "output", value_name = "FILE.pgw")]
    output: PathBuf,
    #[command(flatten)]
    known: StatedFacts,
}

const AFTER_HELP: &str = "Kinds: collectl, sar (also mpstat, iostat, pidstat, sadf -d), nmon, atop, top, dstat, vmstat, perf-script, perf-top (also perf report, opreport, readprofile, LKP), \
                          perf-stat, folded (also a flame graph's SVG), proc (text of /proc/vmstat, meminfo, pressure, …), node-exporter, kernel-log (also dmesg), free, \
                          slab (slabtop), gc-log (of a JVM), trace-events (ftrace, trace-cmd, drsnoop), sosreport (a folder). Without a kind, or with auto:, it is found; \
                          of a folder every text file is taken; - is standard input. What cannot be read is left out, with the reason.\n\n\
                          Examples:\n  pagewise import collectl:listing.txt perf-top:top.txt -o 2012.pgw \\\n      \
                          --about kernel=2.6.32-220 --setting thp.enabled=always\n  \
                          pagewise import sar:sar.txt sosreport:sosreport-host/ -o host.pgw\n  \
                          pagewise import thread.txt oswbb/archive/ -o host.pgw";

/// What the caller knows and the files do not say. Every verb that takes `--import` takes these.
#[derive(Args, Debug, Default)]
pub(crate) struct StatedFacts {
    /// A setting the host had, such as thp.enabled=always
    #[arg(long = "setting", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Something about the host or the files: kernel=, date=2012-06-18, utc_offset=+02:00, interval=5s, vmstat_unit=M, …
    #[arg(long = "about", value_name = "KEY=VALUE")]
    about: Vec<String>,
}

impl StatedFacts {
    /// As the importers take it.
    pub(crate) fn assumed(&self) -> Result<Assumed, Failure> {
        let mut assumed = Assumed::default();
        for text in &self.settings {
            let (name, value) = pair("--setting", text)?;
            tunable::find(name).map_err(|error| Failure::Usage(anyhow!("--setting {text}: {error}")))?;
            assumed.setting(name, value);
        }
        for text in &self.about {
            let (key, value) = pair("--about", text)?;
            assumed.about(key, value).map_err(|error| Failure::Usage(error.into()))?;
        }
        Ok(assumed)
    }
}

/// Files that were not read, on stderr.
pub(crate) fn note_left_out(imported: &Imported) {
    const MOST: usize = 20;
    for why in imported.left_out().take(MOST) {
        output::note(&format!("left out: {why}"));
    }
    let more = imported.left_out().count().saturating_sub(MOST);
    if more > 0 {
        output::note(&format!("left out: {more} more"));
    }
}

fn pair<'t>(option: &str, text: &'t str) -> Result<(&'t str, &'t str), Failure> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    pair.ok_or_else(|| Failure::Usage(anyhow!("{option} {text}: write it as NAME=VALUE")))
}

/// What `--json` prints.
#[derive(Serialize)]
struct ImportReport<'a> {
    schema: &'static str,
    file: &'a Path,
    samples: usize,
    series: usize,
    stacks: u64,
    settings: usize,
    gaps: usize,
    bytes: u64,
}

pub(crate) fn run(args: &ImportArgs, global: &Global) -> Result<ExitCode, Failure> {
    let imported = import::open(&args.files, &args.known.assumed()?)?;
    let bytes = import::write(&imported, &args.output).map_err(import::ImportError::Recording)?;
    let (Ok(profile), Ok(settings), Ok(marks)) = (imported.profile(), imported.settings(), imported.marks());
    let stacks = profile.map_or(0, |profile| profile.samples.iter().map(|sample| sample.count).sum());
    let (samples, series, gaps) = (imported.ticks(), imported.series().len(), imported.gaps().len());
    if global.json {
        note_left_out(&imported);
        let schema = "pagewise.import/1";
        let settings = settings.len();
        output::json(&ImportReport { schema, file: &args.output, samples, series, stacks, settings, gaps, bytes });
        return Ok(ExitCode::SUCCESS);
    }
    note_left_out(&imported);
    for mark in marks.iter().take(20) {
        output::note(&mark.text);
    }
    let is_told = |detail: &str| imported.left_out().any(|told| told == detail);
    let gaps_to_tell = imported.gaps().iter().filter(|gap| gap.source.as_deref() != Some("settings"));
    for gap in gaps_to_tell.filter(|gap| !is_told(&gap.detail)).take(20) {
        output::note(&format!("not there ({}): {}", gap.reason.word(), gap.detail));
    }
    output::note(&format!(
        "{samples} samples of {series} series, {stacks} stack samples, {} settings, {gaps} gaps to {} ({bytes} bytes)",
        settings.len(),
        args.output.display(),
    ));
    Ok(ExitCode::SUCCESS)
}
