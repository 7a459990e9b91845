//! Why a trial was not begun, or stopped before its end.

use crate::process::{Interrupted, ProcessError};
use crate::restore::RestoreError;
use crate::store::bundle::BundleError;
use crate::trial::engine::TrialError;
use crate::tunable::change::ChangeError;
use crate::tunable::journal::JournalError;
use crate::tunable::lock::LockError;
use crate::tunable::watcher::WatcherError;
use crate::tunable::{LoadError, TunableError};
use crate::workload::WorkloadError;
use pagewise_core::experiment::data::Restore;
use pagewise_core::experiment::live::metric::MetricError;
use pagewise_core::experiment::live::switching::SwitchError;
use pagewise_core::experiment::number_pattern::PatternError;
use pagewise_core::experiment::order::OrderError;
use pagewise_core::tunable::policy::PolicyError;
use pagewise_core::unit::Seconds;
use std::path::PathBuf;

/// Why a trial was not begun, or stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A level's policy is malformed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A policy cannot be had from where it is.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No order can be drawn.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The metric of a live proof is none.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The policies cannot be switched under a running job.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A number or text of the plan's table `[live]`.
    #[error("live.{key} of the plan: {why}")]
    Live {
        /// Its key.
        key: &'static str,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A metric's pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Data are to come back, and nobody said which.
    #[error("data.restore is \"{restore}\", but there is nothing to put back: name the folder with {option}")]
    NoData {
        /// How they were to come back.
        restore: Restore,
        /// How the caller lets a folder be named.
        option: &'static str,
    },
    /// The policies change this host, and the job runs on others.
    #[error(
        "'{cell}' changes this host, but {reason}. A comparison here would prove nothing. Run Pagewise on the hosts that do the \
         work, or use job-scope policies (jvm.*, env.*)"
    )]
    Elsewhere {
        /// The first that does.
        cell: String,
        /// What says that the job runs elsewhere.
        reason: String,
    },
    /// The same of a live proof, which always changes the host.
    #[error(
        "a live proof switches this host, but {reason}. A comparison here would prove nothing. Run Pagewise on the hosts that do \
         the work"
    )]
    LiveElsewhere {
        /// What says that the job runs elsewhere.
        reason: String,
    },
    /// Another run has the host, and nobody asked to wait.
    #[error("{0}")]
    Held(LockError),
    /// Another run had the host as long as it was waited for.
    #[error("{0}")]
    HeldOn(LockError),
    /// The bundle was begun elsewhere.
    #[error(
        "{} was begun on another host ({there} there, {here} here), and a comparison of two arms must not mix hosts; \
         start a new trial here", bundle.display()
    )]
    OtherHost {
        /// The bundle.
        bundle: PathBuf,
        /// What it has that is not here.
        there: String,
        /// What is here in its place.
        here: String,
    },
    /// The data are others than those the bundle was begun with.
    #[error(
        "the data are not those that {} was begun with (their manifest was {then}, and is {now}); put them back, or start a new \
         trial", bundle.display()
    )]
    OtherData {
        /// The bundle.
        bundle: PathBuf,
        /// The hash then.
        then: String,
        /// The hash now.
        now: String,
    },
    /// Too few pairs fit into the budget.
    #[error(
        "a pair takes about {pair}, so {budget} is room for {pairs}; a verdict needs at least {fewest} pairs: give a budget of {needed} \
         or more"
    )]
    BudgetTooSmall {
        /// What was given.
        budget: Seconds,
        /// What a pair takes.
        pair: Seconds,
        /// The pairs that fit.
        pairs: u32,
        /// The fewest that reach a verdict.
        fewest: u32,
        /// What they take.
        needed: Seconds,
    },
    /// A warm-up run says how long a pair takes, and in guests every boot is one.
    #[error("points run in guests, and how many fit into a time is not known before: give the number of pairs instead")]
    NoBudgetInGuests,
    /// Blocks of a live proof follow each other whatever the host does.
    #[error("a live proof waits for no host at rest: leave --pressure-limit and --memory-drift-limit out")]
    NoRestOfLive,
    /// The folder for the runs' scratch files.
    #[error("cannot make the scratch folder {}: {source}", path.display())]
    Scratch {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Everything else that stops a trial.
    #[error(transparent)]
    Trial(TrialError),
}

/// What stops a trial whether it is being begun or runs.
macro_rules! of_a_trial {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for SessionError {
            fn from(error: $error) -> Self {
                SessionError::Trial(error.into())
            }
        }
    )*};
}

of_a_trial!(TrialError, BundleError, WorkloadError, ProcessError, TunableError, ChangeError, RestoreError, Interrupted,);

/// What the journal refuses is a change that was not made.
macro_rules! of_a_change {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for SessionError {
            fn from(error: $error) -> Self {
                ChangeError::from(error).into()
            }
        }
    )*};
}

of_a_change!(JournalError, LockError, WatcherError);
