//! `trial run` and `trial resume`.

use super::analyze;
use crate::commands::prove::RestArgs;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::places::PlaceArgs;
use crate::plans;
use crate::session::{Ended, Seed, Session, Verb};
use anyhow::anyhow;
use clap::Args;
use pagewise_core::experiment::plan::check::can_name_a_trial;
use pagewise_core::experiment::plan::{Plan, lint};
use pagewise_core::unit::Seconds;
use pagewise_host::trial::session::{Start, bundle_path};
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
    #[command(flatten)]
    named: PlaceArgs,
    /// Refuse a plan that has a weakness
    #[arg(long)]
    strict: bool,
    /// When another run has this host, wait until it ends, or for this time at most
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    wait: Option<Option<Seconds>>,
    /// Boot this host by itself for every kernel that a point needs: root, systemd, and GRUB or systemd-boot
    #[arg(long)]
    boot: bool,
    /// Say what would be run and changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Go on with a trial that was interrupted
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// The bundle, such as terasort-thp.trial
    bundle: PathBuf,
    /// The data of a command that come back before every run [default: where they were when it began]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// When another run has this host, wait until it ends, or for this time at most
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    wait: Option<Option<Seconds>>,
    /// Boot this host by itself for every kernel that a point needs: root, systemd, and GRUB or systemd-boot
    #[arg(long)]
    boot: bool,
    #[command(flatten)]
    rest: RestArgs,
    #[command(flatten)]
    named: PlaceArgs,
}

pub(super) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, Failure> {
    let loaded = plans::load(&args.plan)?;
    let seed = if args.seed.is_some() || loaded.has_seed { Seed::Given } else { Seed::Drawn };
    let session =
        Session::open(global, Verb::Trial, &args.named.places)?.with_data(args.data.clone()).waiting(args.wait);
    loaded.hold_to(&session, true)?;
    let file = loaded.name();
    let mut plan = loaded.plan;
    if let Some(name) = &args.name {
        if !can_name_a_trial(name) {
            return Err(Failure::Usage(anyhow!("--name '{}' cannot name a folder here", name.escape_debug())));
        }
        plan.name.clone_from(name);
    }
    match args.seed {
        Some(seed) => plan.design.seed = seed,
        None if seed == Seed::Drawn => plan.design.seed = pagewise_host::trial::session::seed_from_clock(),
        None => {}
    }
    let lints = lint::lints(&plan);
    if args.strict && !lints.is_empty() {
        let ids: Vec<&str> = lints.iter().map(|lint| lint.id.as_str()).collect();
        let check = output::command_line(["pagewise", "trial", "check", &args.plan]);
        return Err(Failure::Usage(anyhow!("the plan has weaknesses: {}; see:\n  {check}", ids.join(", "))));
    }
    let weaknesses = || lints.iter().map(|lint| format!("{}: {}", lint.id, lint.text));
    if args.dry_run {
        let notes = session.check(&plan, false)?.into_iter().chain(weaknesses());
        let notes: Vec<String> = notes.chain(session.unknown_numbers(&plan)).collect();
        return session.describe(global, &plan, seed, &notes);
    }
    let booted = if args.boot { Some(session.booted_host(&plan, &bundle_path(&plan))?) } else { None };
    // First of all: on a host that another run is changing nothing below would be true.
    let held = session.hold_for(&plan)?;
    let mut notes = session.check(&plan, false)?;
    for note in notes.iter().cloned().chain(weaknesses()).chain(session.unknown_numbers(&plan)) {
        output::note(&format!("note: {note}"));
    }
    // The analysis of a matrix finds its plan's weaknesses again, and its report tells them once.
    if plan.is_two_arms() {
        notes.extend(weaknesses());
    }
    let name = plan.name.clone();
    let options = session.repeat_options();
    let repeat = move |plan: &Plan| {
        let seed = plan.design.seed.to_string();
        let words = ["pagewise", "trial", "run", &file, "--name", &name, "--seed", &seed].into_iter();
        output::command_line(words.chain(options.iter().map(String::as_str)))
    };
    let start = Start { notes, budget: None, repeat: &repeat };
    match booted {
        None => analyze::conclude(global, &session.start(held, plan, start)?),
        Some(host) => conclude(global, session.start_booting(held, plan, start, host)?),
    }
}

pub(super) fn resume(args: &ResumeArgs, global: &Global) -> Result<ExitCode, Failure> {
    let session = Session::open(global, Verb::Trial, &args.named.places)?.with_data(args.data.clone());
    let session = session.waiting(args.wait);
    let limits = args.rest.limits()?;
    if args.boot {
        return conclude(global, session.resume_booting(&args.bundle, limits)?);
    }
    analyze::conclude(global, &session.resume(&args.bundle, limits)?)
}

/// The report of a trial that boots this host, once it is complete; then the boot of the usual kernel.
fn conclude(global: &Global, ended: Ended) -> Result<ExitCode, Failure> {
    let Ended::Complete(bundle, home) = ended else { return Ok(ExitCode::SUCCESS) };
    let concluded = analyze::conclude(global, &bundle);
    drop(bundle);
    if let Some(home) = home {
        home.boot()?;
    }
    concluded
}
