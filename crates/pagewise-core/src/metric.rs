//! What is measured of a run: its unit, what it is, and which direction is good.
//!
//! What is growth of something the kernel counts comes from the catalogue of counters ([`crate::counter`]).

use crate::counter::{self, Kind, Quantity};
pub use crate::unit::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::LazyLock;

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less is better: time, memory.
    #[default]
    Lower,
    /// More is better: throughput.
    Higher,
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lower" => Ok(Direction::Lower),
            "higher" => Ok(Direction::Higher),
            other => Err(format!("'{other}' is not a direction; write lower or higher")),
        }
    }
}

/// A measure that Pagewise takes of every run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name in plans, on the command line and in JSON.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better when it is the metric of a comparison.
    pub direction: Direction,
    /// What it is and where it comes from.
    pub meaning: &'static str,
}

const fn measure(name: &'static str, unit: Unit, meaning: &'static str) -> Measure {
    Measure { name, unit, direction: Direction::Lower, meaning }
}

/// The measure of what other programs did while a run went on.
pub const OTHERS_SHARE: &str = "others_share";

/// Those of a run that are not growth of something the kernel counts. The first is the default metric.
const OWN: &[Measure] = &[
    measure("wall", Unit::Seconds, "time from start to exit of the command, CLOCK_MONOTONIC"),
    measure("user", Unit::Seconds, "CPU time in user mode of the command and the children it waited for (wait4)"),
    measure("system", Unit::Seconds, "CPU time in the kernel of the command and the children it waited for (wait4)"),
    measure("system_share", Unit::Fraction, "system share of the host's busy CPU while it ran (/proc/stat)"),
    measure(
        "system_share_of_all",
        Unit::Fraction,
        "system share of all the host's CPU time, idle included, while it ran (/proc/stat)",
    ),
    measure(
        OTHERS_SHARE,
        Unit::Fraction,
        "share of all the host's CPU time in which programs other than the run's ran in user mode (/proc/stat less cpu.stat of its cgroup, or less \
         wait4); of runs of a second and longer",
    ),
    measure(
        "anon_peak",
        Unit::Bytes,
        "largest sum of RssAnon + RssShmem over the run's processes, sampled ten times a second, or as often as 0.07 % of a core allows",
    ),
    measure("anon_integral", Unit::ByteSeconds, "that sum integrated over the run"),
    measure(
        "cgroup_peak",
        Unit::Bytes,
        "most memory charged to the run's cgroup, page cache included (memory.max_usage_in_bytes or memory.peak)",
    ),
    measure("minor_faults", Unit::Count, "page faults without I/O (wait4)"),
    measure("major_faults", Unit::Count, "page faults with I/O (wait4)"),
    measure("voluntary_switches", Unit::Count, "times its processes gave a CPU up to wait (wait4)"),
    measure("involuntary_switches", Unit::Count, "times a CPU was taken from its processes (wait4)"),
    measure("disk_read", Unit::Bytes, "read from block devices by the whole host while it ran (/proc/diskstats)"),
    measure("disk_written", Unit::Bytes, "written to block devices by the whole host while it ran (/proc/diskstats)"),
    measure(
        "psi_memory_some",
        Unit::Seconds,
        "time in which at least one task of the host waited for memory (/proc/pressure/memory, some)",
    ),
    measure(
        "psi_memory_full",
        Unit::Seconds,
        "time in which every task of the host that could run waited for memory (/proc/pressure/memory, full)",
    ),
    measure(
        "psi_io_some",
        Unit::Seconds,
        "time in which at least one task of the host waited for I/O (/proc/pressure/io, some)",
    ),
    measure(
        "unusable_index_before",
        Unit::Fraction,
        "share of free memory in pieces too small for a huge page when it started (order 9, /proc/buddyinfo)",
    ),
    measure("unusable_index_after", Unit::Fraction, "that share when it had ended"),
];

/// Every measure of a run: the default metric first, then the others, then what the catalogue of counters has.
pub static MEASURES: LazyLock<Vec<Measure>> = LazyLock::new(|| {
    let counted = |(name, quantity): (_, &Quantity)| measure(name, quantity.unit.scale().0, quantity.meaning.trim());
    OWN.iter().copied().chain(counter::measured().map(counted)).collect()
});

/// Words of a name or unit of which people want more. Splitting at whatever is neither letter nor digit, lower case.
const WANTED: &[&str] = &[
    "bandwidth",
    "bps",
    "fps",
    "flops",
    "gflops",
    "iops",
    "mbps",
    "gbps",
    "mips",
    "mops",
    "ops",
    "qps",
    "rate",
    "rps",
    "score",
    "speed",
    "speedup",
    "tflops",
    "throughput",
    "tps",
];
/// Beside one of these a rate is of something nobody wants.
const UNWANTED: &[&str] = &[
    "abort", "aborts", "drop", "drops", "error", "errors", "fail", "fails", "failure", "failures", "fault", "faults",
    "loss", "miss", "misses", "scan", "scans", "stall", "stalls", "steal", "swap", "wait", "waits",
];

/// Whether name or unit are of something people want more of: a throughput, a rate, a score.
#[must_use]
pub fn is_wanted_high(name: &str, unit: &str) -> bool {
    let lower = format!("{name} {unit}").to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    // `12 rows/s`, `bytes_per_second`; and not `ms/step`.
    let slashed = lower.replace("per_", "/").replace("per ", "/");
    let is_second = |at: usize| {
        let behind = &slashed[at + 1..];
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
        matches!(&behind[..end], "s" | "sec" | "second" | "seconds")
    };
    let is_per_second = slashed.match_indices('/').any(|(at, _)| is_second(at));
    find(name).is_none() && (has(WANTED) || is_per_second) && !has(UNWANTED)
}

/// The measure of that name, when it is one that Pagewise takes itself.
#[must_use]
pub fn find(name: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.name == name)
}

/// Whether a `/proc/vmstat` line is a level rather than a running total.
#[must_use]
pub fn vmstat_is_level(name: &str) -> bool {
    counter::describe("vmstat", name, false).1 == Kind::Gauge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_is_found_by_its_name() {
        for measure in MEASURES.iter() {
            assert_eq!(find(measure.name).map(|m| m.name), Some(measure.name));
        }
        assert!(find("walll").is_none());
    }
}
