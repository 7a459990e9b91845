//! `trial run` and `trial resume`.

use super::analyze;
use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::plans;
use crate::session::{Session, Verb};
use anyhow::anyhow;
use clap::Args;
use pagewise_core::experiment::plan::check::can_name_a_trial;
use pagewise_core::experiment::plan::lint;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a plan to its end; its bundle is NAME.trial in this folder
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// A plan file, or the name of a plan that ships with Pagewise
    plan: String,
    /// Name of the trial instead of the plan's
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Seed of the run order instead of the plan's [default: the plan's, else drawn from the clock, and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The data of a command that come back before every run
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Your own Hadoop instead of the fetched one
    #[arg(long, value_name = "DIR")]
    hadoop: Option<PathBuf>,
    /// Refuse a plan that has a weakness
    #[arg(long)]
    strict: bool,
    /// Say what would be run and changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Go on with a trial that was interrupted
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// The bundle, such as terasort-thp.trial
    bundle: PathBuf,
    /// The data of a command that come back before every run
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Your own Hadoop instead of the fetched one
    #[arg(long, value_name = "DIR")]
    hadoop: Option<PathBuf>,
}

pub(super) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, Failure> {
    let loaded = plans::load(&args.plan)?;
    let mut plan = loaded.plan;
    if let Some(name) = &args.name {
        if !can_name_a_trial(name) {
            return Err(Failure::Usage(anyhow!("--name '{}' cannot name a folder here", name.escape_debug())));
        }
        plan.name.clone_from(name);
    }
    match args.seed {
        Some(seed) => plan.design.seed = seed,
        None if !loaded.has_seed => plan.design.seed = crate::session::seed_from_clock(),
        None => {}
    }
    let session = Session::open(global, Verb::Trial, args.hadoop.clone())?.with_data(args.data.clone());
    let mut notes = session.check(&plan, false)?;
    let lints = lint::lints(&plan);
    if args.strict && !lints.is_empty() {
        let ids: Vec<&str> = lints.iter().map(|lint| lint.id.as_str()).collect();
        return Err(Failure::Usage(anyhow!("the plan has weaknesses: {}; see: pagewise trial check", ids.join(", "))));
    }
    notes.extend(lints.into_iter().map(|lint| format!("{}: {}", lint.id, lint.text)));
    notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    if args.dry_run {
        return session.describe(global, &plan, &notes);
    }
    let file = args.plan.clone();
    let name = plan.name.clone();
    let repeat = move |plan: &pagewise_core::experiment::plan::Plan| {
        let words = ["pagewise", "trial", "run", &file, "--name", &name, "--seed", &plan.design.seed.to_string()]
            .map(str::to_owned);
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
    };
    analyze::conclude(global, &session.start(plan, notes, None, repeat)?)
}

pub(super) fn resume(args: &ResumeArgs, global: &Global) -> Result<ExitCode, Failure> {
    let session = Session::open(global, Verb::Trial, args.hadoop.clone())?.with_data(args.data.clone());
    analyze::conclude(global, &session.resume(&args.bundle)?)
}
