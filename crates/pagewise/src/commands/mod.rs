//! A file per verb: its arguments and one function that runs it; and the one list of them.

pub(crate) mod analyze;
pub(crate) mod changes;
pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod guard;
pub(crate) mod guest;
pub(crate) mod hold;
pub(crate) mod hugepages;
pub(crate) mod import;
pub(crate) mod jitter;
pub(crate) mod keep;
pub(crate) mod lab;
pub(crate) mod prove;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod revert;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod spark;
pub(crate) mod top;
pub(crate) mod trial;
pub(crate) mod watch;
pub(crate) mod watch_owner;
pub(crate) mod workload;

use crate::failure::Failure;
use crate::global::Global;
use clap::Subcommand;
use std::process::ExitCode;

/// A verb is a line: its module, the type of its arguments, and under which name it runs where that is not the module's.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $module:ident: $verb:ident($arguments:ty)),* $(,)?) => {
        /// The verbs.
        #[derive(Subcommand, Debug)]
        pub(crate) enum Verb {
            $($(#[$attribute])* $verb($arguments),)*
        }

        impl Verb {
            pub(crate) fn run(self, global: &Global) -> Result<ExitCode, Failure> {
                match self {
                    $(Verb::$verb(arguments) => $module::run(&arguments, global),)*
                }
            }
        }
    };
}

verbs! {
    doctor: Doctor(doctor::DoctorArgs),
    show: Show(show::ShowArgs),
    set: Set(set::SetArgs),
    changes: Changes(changes::ChangesArgs),
    revert: Revert(revert::RevertArgs),
    prove: Prove(Box<prove::ProveArgs>),
    trial: Trial(trial::TrialArgs),
    record: Record(record::RecordArgs),
    snapshot: Snapshot(snapshot::SnapshotArgs),
    diagnose: Diagnose(diagnose::DiagnoseArgs),
    import: Import(import::ImportArgs),
    export: Export(export::ExportArgs),
    watch: Watch(watch::WatchArgs),
    top: Top(top::TopArgs),
    report: Report(report::ReportArgs),
    analyze: Analyze(Box<analyze::AnalyzeArgs>),
    /// Keep page reclaim out of the application's way
    guard: Guard(guard::GuardArgs),
    hugepages: Hugepages(hugepages::HugepagesArgs),
    spark: Spark(spark::SparkArgs),
    lab: Lab(lab::LabArgs),
    workload: Workload(workload::WorkloadArgs),
    #[command(name = "__watch", hide = true)]
    watch_owner: WatchOwner(watch_owner::WatchArgs),
    #[command(name = "__hold", hide = true)]
    hold: Hold(hold::HoldArgs),
    #[command(name = "__keep", hide = true)]
    keep: Keep(keep::KeepArgs),
    #[command(name = "__guest", hide = true)]
    guest: Guest(guest::GuestArgs),
    #[command(name = "__jitter", hide = true)]
    jitter: Jitter(jitter::JitterArgs),
}
