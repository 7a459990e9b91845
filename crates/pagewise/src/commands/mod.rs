//! A file per verb: its arguments and one function that runs it.

pub(crate) mod doctor;
pub(crate) mod workload;
