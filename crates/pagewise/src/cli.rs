//! The command line: the list of verbs. Each verb's own arguments stand in its file, those of all in `global.rs`.

use crate::commands;
use crate::failure::Failure;
use crate::global::Global;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Find what Linux memory management costs a data job, fix it, and prove the fix.
#[derive(Parser, Debug)]
#[command(name = "pagewise", version, max_term_width = 80, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit status: 0 done · 1 a verdict or finding you asked to fail on · 2 usage: the command line, \
or a file it names, is wrong · 3 not permitted or not possible here · 4 a change was refused or not verified · 5 partial \
data · 130 Ctrl-C";

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Doctor(commands::doctor::DoctorArgs),
    Show(commands::show::ShowArgs),
    Set(commands::set::SetArgs),
    Changes(commands::changes::ChangesArgs),
    Revert(commands::revert::RevertArgs),
    Prove(Box<commands::prove::ProveArgs>),
    Trial(commands::trial::TrialArgs),
    Record(commands::record::RecordArgs),
    Snapshot(commands::snapshot::SnapshotArgs),
    Diagnose(commands::diagnose::DiagnoseArgs),
    Import(commands::import::ImportArgs),
    Export(commands::export::ExportArgs),
    Watch(commands::watch::WatchArgs),
    Top(commands::top::TopArgs),
    Report(commands::report::ReportArgs),
    Analyze(Box<commands::analyze::AnalyzeArgs>),
    Workload(commands::workload::WorkloadArgs),
    #[command(name = "__watch", hide = true)]
    WatchOwner(commands::watch_owner::WatchArgs),
    #[command(name = "__hold", hide = true)]
    Hold(commands::hold::HoldArgs),
    #[command(name = "__age", hide = true)]
    Age(commands::age::AgeArgs),
}

impl Verb {
    pub(crate) fn run(self, global: &Global) -> Result<ExitCode, Failure> {
        match self {
            Verb::Doctor(args) => commands::doctor::run(&args, global),
            Verb::Show(args) => commands::show::run(&args, global),
            Verb::Set(args) => commands::set::run(&args, global),
            Verb::Changes(args) => commands::changes::run(&args, global),
            Verb::Revert(args) => commands::revert::run(&args, global),
            Verb::Prove(args) => commands::prove::run(&args, global),
            Verb::Trial(args) => commands::trial::run(&args, global),
            Verb::Record(args) => commands::record::run(&args, global),
            Verb::Snapshot(args) => commands::snapshot::run(&args, global),
            Verb::Diagnose(args) => commands::diagnose::run(&args, global),
            Verb::Import(args) => commands::import::run(&args, global),
            Verb::Export(args) => commands::export::run(&args, global),
            Verb::Watch(args) => commands::watch::run(&args, global),
            Verb::Top(args) => commands::top::run(&args, global),
            Verb::Report(args) => commands::report::run(&args, global),
            Verb::Analyze(args) => commands::analyze::run(&args, global),
            Verb::Workload(args) => commands::workload::run(&args, global),
            Verb::WatchOwner(args) => commands::watch_owner::run(&args, global),
            Verb::Hold(args) => commands::hold::run(&args, global),
            Verb::Age(args) => Ok(commands::age::run(&args)),
        }
    }
}
