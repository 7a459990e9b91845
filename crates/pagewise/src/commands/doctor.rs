//! `pagewise doctor`: what can be measured and changed on this host, and for each "no" the reason and the remedy.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::settings::Settings;
use clap::Args;
use pagewise_core::report::doctor::{DoctorReport, SCHEMA, WalkCost, comparable};
use pagewise_host::facts::{self, kernel, walk_cost};
use pagewise_host::progress::Progress;
use pagewise_host::root::Root;
use pagewise_host::workload;
use std::process::ExitCode;

/// What can be measured and changed here, and for each "no" the reason and the remedy
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Measure the cost of page walks thoroughly: up to a minute, up to 2 GiB
    #[arg(long, conflicts_with = "no_walk_cost")]
    walk_cost: bool,
    /// Do not measure it at all (by default: less than two seconds)
    #[arg(long)]
    no_walk_cost: bool,
}

/// Nothing found wrong is a failure: the answer itself is what was asked for.
pub(crate) fn run(args: &DoctorArgs, global: &Global) -> Result<ExitCode, Failure> {
    if let Some(folder) = global.root.as_ref().filter(|folder| !folder.is_dir()) {
        let text = format!("--root {} is not a folder; give one that holds proc/ and sys/", folder.display());
        return Err(Failure::Usage(anyhow::anyhow!(text)));
    }
    super::changes::note_pending(global);
    let report = args.ask(&global.root(), global);
    if global.json {
        output::json(&report);
    } else {
        output::data(&report.text());
    }
    Ok(ExitCode::SUCCESS)
}

impl DoctorArgs {
    fn ask(&self, root: &Root, global: &Global) -> DoctorReport {
        // A host where no place for files can be found still has an answer to everything else.
        let settings = Settings::resolve(global).ok();
        let place = |name: &str| settings.as_ref().and_then(|settings| settings.places.path(name));
        let cache = settings.as_ref().map(|settings| settings.cache_dir.as_path());
        let capabilities = facts::capabilities(root, workload::capabilities(root, place, cache));
        let comparable = comparable(&capabilities);
        let (walk_cost, walk_cost_absent) = match self.measure(root) {
            Ok(cost) => (Some(cost), None),
            Err(reason) => (None, Some(reason)),
        };
        let here = std::env::current_dir().ok();
        DoctorReport {
            schema: SCHEMA.to_owned(),
            facts: kernel::host_facts(root, here.as_deref()),
            capabilities,
            walk_cost,
            walk_cost_absent,
            comparable,
        }
    }

    fn measure(&self, root: &Root) -> Result<WalkCost, String> {
        if self.no_walk_cost {
            return Err("left out by --no-walk-cost".to_owned());
        }
        let effort = if self.walk_cost { walk_cost::Effort::full() } else { walk_cost::Effort::quick() };
        let progress = Bar::new();
        let answer = walk_cost::measure(root, &effort, &progress).map_err(|error| error.to_string());
        progress.0.finish_and_clear();
        answer
    }
}

/// A bar on stderr while someone watches.
struct Bar(indicatif::ProgressBar);

impl Bar {
    fn new() -> Self {
        let target = if output::is_watched() {
            indicatif::ProgressDrawTarget::stderr()
        } else {
            indicatif::ProgressDrawTarget::hidden()
        };
        let bar = indicatif::ProgressBar::with_draw_target(Some(100), target);
        if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:20} {msg}, {eta} left") {
            bar.set_style(style);
        }
        Bar(bar)
    }
}

impl Progress for Bar {
    fn stage(&self, what: &str, done: Option<f64>) {
        self.0.set_position((done.unwrap_or(0.0) * 100.0) as u64);
        self.0.set_message(what.to_owned());
    }
}
