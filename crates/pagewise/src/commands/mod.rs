//! A file per verb: its arguments and one function that runs it.

pub(crate) mod analyze;
pub(crate) mod changes;
pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod hold;
pub(crate) mod import;
pub(crate) mod keep;
pub(crate) mod prove;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod revert;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod top;
pub(crate) mod trial;
pub(crate) mod watch;
pub(crate) mod watch_owner;
pub(crate) mod workload;
