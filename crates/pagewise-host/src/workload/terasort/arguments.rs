//! The arguments of the workload: `rows=1_000_000,jobs=2,heap=512M` and Hadoop's own options by their names.

use super::super::{Argument, WorkloadError, java};
use super::scale::{self, Sizes};
use std::collections::BTreeMap;

/// Where the job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In one JVM per job on this host, with Hadoop's local job runner and the local file system.
    Local,
    /// As the user's own `hadoop` command is configured.
    Hadoop,
}

/// What was asked for, complete with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Where it runs.
    pub mode: Mode,
    /// Rows of 100 bytes every job sorts.
    pub rows: u64,
    /// Jobs at once.
    pub jobs: u32,
    /// Map tasks at once in a job; by default as many as there are CPUs for it.
    pub map_tasks: Option<u32>,
    /// Reduce tasks of a job, all at once; by default as many as map tasks.
    pub reduce_tasks: Option<u32>,
    /// Largest heap of a job, bytes; by default the report's ratio to the rows.
    pub heap: Option<u64>,
    /// Take the report's ratios for swap on.
    pub swap: bool,
    /// Hadoop options by name, over everything else.
    pub options: BTreeMap<String, String>,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments {
            mode: Mode::Local,
            rows: 1_000_000,
            jobs: 1,
            map_tasks: None,
            reduce_tasks: None,
            heap: None,
            swap: false,
            options: BTreeMap::new(),
        }
    }
}

/// Options that Pagewise needs for itself.
const RESERVED: [&str; 5] = [
    "hadoop.tmp.dir",
    "mapreduce.jobtracker.staging.root.dir",
    "fs.defaultFS",
    "fs.default.name",
    "mapreduce.framework.name",
];

const fn argument(name: &'static str, default: &'static str, about: &'static str) -> Argument {
    Argument { name, default, about }
}

/// For people who ask.
pub(super) const ARGUMENTS: &[Argument] = &[
    argument("rows", "1,000,000", "rows of 100 bytes that every job sorts"),
    argument("jobs", "1", "jobs at once"),
    argument("map_tasks", "CPUs / jobs", "map tasks at once in a job"),
    argument("reduce_tasks", "as map_tasks", "reduce tasks at once in a job, and how many there are"),
    argument("heap", "215 bytes a row, at least 128 MiB", "largest heap of a job, such as 512M or 20G"),
    argument("swap", "off", "on takes 236 bytes of heap a row, the ratio used with swap"),
    argument("mode", "local", "hadoop runs your own hadoop, on the cluster it is configured for"),
    argument("a name with a dot", "set by Pagewise", "a Hadoop option, such as mapreduce.task.io.sort.mb=50"),
];

const NAMES: &str = "rows, jobs, map_tasks, reduce_tasks, heap, swap, mode, or a Hadoop option by its name \
                     (mapreduce.task.io.sort.mb)";

impl Arguments {
    /// These arguments with `name` set to `value`.
    ///
    /// # Errors
    /// [`WorkloadError::Usage`] for an unknown name or a value that cannot be.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, WorkloadError> {
        match name {
            "mode" => {
                self.mode = match value {
                    "local" => Mode::Local,
                    "hadoop" => Mode::Hadoop,
                    _ => return Err(bad(name, value, "local or hadoop")),
                }
            }
            "rows" => self.rows = number(name, value, 1, 1_000_000_000_000)?,
            "jobs" => self.jobs = count(name, value)?,
            "map_tasks" => self.map_tasks = Some(count(name, value)?),
            "reduce_tasks" => self.reduce_tasks = Some(count(name, value)?),
            "heap" => self.heap = Some(heap(value)?),
            "swap" => {
                self.swap = match value {
                    "on" | "true" => true,
                    "off" | "false" => false,
                    _ => return Err(bad(name, value, "on or off")),
                }
            }
            reserved if RESERVED.contains(&reserved) => {
                return Err(WorkloadError::Usage(format!(
                    "terasort sets {reserved} itself, so that jobs keep apart and find their data; leave it out"
                )));
            }
            option if option.contains('.') => {
                self.options.insert(option.to_owned(), value.to_owned());
            }
            _ => return Err(WorkloadError::Usage(format!("terasort has no argument '{name}'; it has {NAMES}"))),
        }
        Ok(self)
    }

    /// The sizes of a run on a host of `cpus` CPUs.
    #[must_use]
    pub fn sizes(&self, cpus: u32) -> Sizes {
        let map_tasks = self.map_tasks.unwrap_or_else(|| (cpus / self.jobs).max(1));
        Sizes {
            rows: self.rows,
            jobs: self.jobs,
            map_tasks,
            reduce_tasks: self.reduce_tasks.unwrap_or(map_tasks),
            heap: self.heap.unwrap_or_else(|| scale::heap_for(self.rows, self.swap)),
        }
    }
}

fn bad(name: &str, value: &str, wanted: &str) -> WorkloadError {
    WorkloadError::Usage(format!("terasort cannot have {name}={value}; write {wanted}"))
}

fn number(name: &str, value: &str, least: u64, most: u64) -> Result<u64, WorkloadError> {
    let parsed = value.replace('_', "").parse::<u64>().ok();
    let wanted = || format!("a whole number from {least} to {most}");
    parsed.filter(|n| (least..=most).contains(n)).ok_or_else(|| bad(name, value, &wanted()))
}

fn count(name: &str, value: &str) -> Result<u32, WorkloadError> {
    Ok(u32::try_from(number(name, value, 1, 1024)?).unwrap_or(1024))
}

/// `512M`, `20G`, as Java writes a size.
fn heap(value: &str) -> Result<u64, WorkloadError> {
    let wanted = "a size such as 512M or 20G, at least 64M";
    java::bytes(value).filter(|bytes| *bytes >= 64 << 20).ok_or_else(|| bad("heap", value, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Arguments, WorkloadError> {
        pairs.iter().try_fold(Arguments::default(), |arguments, (name, value)| arguments.with(name, value))
    }

    #[test]
    fn what_is_not_said_follows_from_rows_jobs_and_cpus() {
        let sizes = parse(&[("rows", "2_000_000"), ("jobs", "2")]).unwrap().sizes(8);
        assert_eq!((sizes.map_tasks, sizes.reduce_tasks, sizes.heap), (4, 4, scale::heap_for(2_000_000, false)));
        assert_eq!(parse(&[("heap", "1G"), ("map_tasks", "3")]).unwrap().sizes(8).heap, 1 << 30);
    }

    #[test]
    fn a_value_that_cannot_be_is_refused_with_what_can() {
        for (name, value) in [
            ("rows", "0"),
            ("rows", "-1"),
            ("rows", "many"),
            ("jobs", "0"),
            ("heap", "1M"),
            ("heap", "G"),
            ("heap", "ä"),
            ("heap", "99999999999999G"),
            ("mode", "yarn"),
            ("colour", "red"),
            ("hadoop.tmp.dir", "/x"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert!(matches!(error, WorkloadError::Usage(_)), "{name}={value}: {error}");
        }
    }
}
