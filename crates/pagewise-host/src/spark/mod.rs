//! What of Spark lies on this machine: logs of finished jobs, and JVMs that run.

pub mod event_log;
pub mod process;
