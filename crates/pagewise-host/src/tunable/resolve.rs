//! From a policy to what has to be written here, with everything that can be known beforehand checked.

use super::{TunableError, kind, location};
use crate::cgroup::Version;
use crate::root::{FileError, Root};
use crate::source::meminfo;
use crate::sys::child::ProcessThp;
use crate::workload::JobSettings;
use pagewise_core::tunable::policy::{Policy, Setting};
use pagewise_core::tunable::{Ceiling, CostClass, Grammar, JobSetting, JobThp, Tunable, ValueError, find};
use std::path::PathBuf;

/// Where what a value creates is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The state folder.
    pub state: PathBuf,
    /// The cache folder; swap files go into its `swap`.
    pub cache: PathBuf,
}

/// A policy as this host understands it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// What to write to the host, in the policy's order.
    pub host: Vec<HostSetting>,
    /// What must be booted: read and compared, never written.
    pub boot: Vec<HostSetting>,
    /// What to ask of the job.
    pub job: JobSettings,
}

/// One tunable of the host and the value it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSetting {
    /// The tunable.
    pub tunable: Tunable,
    /// The value, as canonical text.
    pub value: String,
    /// Tunables present here that the kernel may move by itself when this one is written.
    pub coupled: Vec<Tunable>,
}

impl HostSetting {
    /// A setting of this host, with what the kernel may move along.
    pub(super) fn new(root: &Root, tunable: &Tunable, value: String) -> HostSetting {
        let coupled = tunable.descriptor.coupled.iter().filter_map(|name| find(name).ok());
        let coupled = coupled.filter(|tunable| super::read(root, tunable).is_ok()).collect();
        HostSetting { tunable: tunable.clone(), value, coupled }
    }

    /// Whether the host has the value now.
    #[must_use]
    pub fn is_in_force(&self, root: &Root) -> bool {
        super::read(root, &self.tunable).is_ok_and(|now| self.tunable.same(&now, &self.value))
    }
}

/// Checks names, values, ceilings, conflicts, presence and rights. Changes nothing.
///
/// # Errors
/// The first setting that cannot be, with the reason.
pub fn resolve(root: &Root, places: &Places, policy: &Policy) -> Result<Resolved, TunableError> {
    let mut resolved = Resolved::default();
    let mut seen: Vec<(String, &Setting)> = Vec::new();
    for setting in &policy.settings {
        let tunable = &setting.tunable;
        let value = setting.checked().map_err(|error| TunableError::value(&setting.name, &setting.value, error))?;
        let identity = identity(root, tunable)?;
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == identity) {
            return Err(conflict(first, setting));
        }
        seen.push((identity, setting));
        if tunable.is_for_job() {
            add_to_job(root, &mut resolved.job, tunable, &value, &setting.value)?;
        } else if tunable.descriptor.cost == CostClass::Boot {
            resolved.boot.push(HostSetting { tunable: tunable.clone(), value, coupled: Vec::new() });
        } else {
            let found = host_setting(root, places, tunable, &value);
            resolved.host.push(found.map_err(|error| error.told_as_written(&setting.value))?);
        }
    }
    refuse_doubled_java_options(&resolved.job)?;
    Ok(resolved)
}

/// What two names have in common when they set the same thing: `memory.max` and `memory.limit_in_bytes` are one file
/// of a control group.
fn identity(root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
    match tunable.descriptor.grammar {
        Grammar::Limit if tunable.is_for_job() => Ok(format!("job {}", location::job_file(root, tunable)?.1)),
        Grammar::Limit => location::of(root, tunable),
        _ => Ok(tunable.name.clone()),
    }
}

fn conflict(first: &Setting, second: &Setting) -> TunableError {
    let text = |setting: &Setting| format!("{}={}", setting.name, setting.value);
    let why = if first.name == second.name {
        "a policy sets a tunable once".to_owned()
    } else {
        "they are two names for one limit, and the second would undo the first".to_owned()
    };
    TunableError::Conflict { first: text(first), second: text(second), why }
}

fn host_setting(root: &Root, places: &Places, tunable: &Tunable, value: &str) -> Result<HostSetting, TunableError> {
    let value = kind::of(tunable).resolve(root, places, tunable, value)?;
    is_below_ceiling(root, tunable, &value)?;
    Ok(HostSetting::new(root, tunable, value))
}

/// Holds a value to the tunable's limits and to its ceiling on this host. What the kernel's file lists is not asked for.
pub(super) fn is_fit(root: &Root, tunable: &Tunable, canonical: &str) -> Result<(), TunableError> {
    let checked = tunable.descriptor.grammar.check(canonical);
    checked.map_err(|error| TunableError::value(&tunable.name, canonical, error))?;
    is_below_ceiling(root, tunable, canonical)
}

/// Opens the file for writing and closes it again: the only answer that counts where mounts, namespaces and security
/// modules have their say.
pub(super) fn may_write(root: &Root, tunable: &Tunable, path: &str) -> Result<(), TunableError> {
    match root.open_to_write(path) {
        Ok(_) => Ok(()),
        Err(source) => {
            let error = FileError { action: "write".to_owned(), path: root.path(path), source };
            Err(TunableError::access(&tunable.name, "write", error))
        }
    }
}

fn is_below_ceiling(root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError> {
    tunable.descriptor.ceiling.map_or(Ok(()), |ceiling| is_below(root, tunable, value, ceiling))
}

fn is_below(root: &Root, tunable: &Tunable, value: &str, ceiling: Ceiling) -> Result<(), TunableError> {
    let unreadable = |why: String| TunableError::Missing { tunable: tunable.name.clone(), why };
    let memory = meminfo::read(root).map_err(|error| unreadable(error.to_string()))?;
    let get = |name: &str| {
        let why = || unreadable(format!("its ceiling is unknown without {name} in /proc/meminfo"));
        memory.get(name).copied().ok_or_else(why)
    };
    let unit = if tunable.name.ends_with("hugepages") { get("Hugepagesize")? } else { 1024 };
    let highest = (ceiling.of(get("MemTotal")? as f64) / unit.max(1) as f64) as u64;
    if value.parse::<u64>().is_ok_and(|value| value <= highest) {
        return Ok(());
    }
    let (tunable, value) = (tunable.name.clone(), value.to_owned());
    Err(TunableError::Ceiling { tunable, value, ceiling: highest, reason: ceiling.reason })
}

fn add_to_job(
    root: &Root,
    job: &mut JobSettings,
    tunable: &Tunable,
    value: &str,
    written: &str,
) -> Result<(), TunableError> {
    let wrong = |why: String| {
        let allowed = tunable.descriptor.grammar.allowed();
        TunableError::value(&tunable.name, written, ValueError { why, allowed })
    };
    match JobSetting::of(tunable, value).map_err(wrong)? {
        Some(JobSetting::Thp(mode)) => job.process_thp = Some(process_thp(mode)),
        Some(JobSetting::JavaOption(option)) => job.java_options.push(option),
        Some(JobSetting::Env(name, value)) => {
            job.env.insert(name, value);
        }
        Some(JobSetting::Argument(name, value)) => {
            job.workload_args.insert(name, value);
        }
        None => {
            let (version, file) = location::job_file(root, tunable)?;
            let value = if value == "max" && version == Version::V1 { "-1" } else { value };
            job.cgroup_limits.insert(file, value.to_owned());
        }
    }
    Ok(())
}

fn process_thp(mode: JobThp) -> ProcessThp {
    match mode {
        JobThp::Default => ProcessThp::Default,
        JobThp::Never => ProcessThp::Never,
        JobThp::ExceptAdvised => ProcessThp::ExceptAdvised,
    }
}

/// JVM options travel in that variable: one of the two would be lost.
fn refuse_doubled_java_options(job: &JobSettings) -> Result<(), TunableError> {
    const CARRIER: &str = "JAVA_TOOL_OPTIONS";
    match (job.env.get(CARRIER), job.java_options.first()) {
        (Some(value), Some(option)) => Err(TunableError::Conflict {
            first: format!("env.{CARRIER}={value}"),
            second: option.clone(),
            why: format!("options of the JVM are passed in {CARRIER}; write all of them as jvm.FLAG=VALUE"),
        }),
        _ => Ok(()),
    }
}
