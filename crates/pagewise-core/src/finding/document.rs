//! What `diagnose` says, as one document: findings, what is not there, and what could not be decided.

use super::answer::Answer;
use super::proposal::Proposal;
use crate::recording::CachedFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies it in JSON.
pub const SCHEMA: &str = "pagewise.findings/3";

/// The finding about the measuring itself.
pub const CAVEAT: &str = "measurement-caveat";

/// A diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was observed.
    pub observed: ObservedView,
    /// What was found, the costliest first; of what costs the same, causes before what follows from them.
    pub findings: Vec<Finding>,
    /// What is not there.
    pub not_found: Vec<NotFound>,
    /// What could not be decided.
    pub not_decided: Vec<NotDecided>,
    /// What is to be kept in mind when the rest is read, and is nobody's fault.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedView {
    /// The file or files, or the command.
    pub subject: String,
    /// First sample, RFC 3339 UTC. Null when there is none.
    pub from: Option<String>,
    /// Last sample.
    pub to: Option<String>,
    /// Length in seconds.
    pub seconds: f64,
    /// Samples.
    pub samples: u64,
    /// Samples of the profile, where there is one that says how many.
    #[serde(default)]
    pub profile_samples: Option<u64>,
    /// Length of a window in seconds.
    pub window_seconds: f64,
    /// Tools whose output it was made of, such as `vmstat`; empty where it was recorded.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Release of the kernel; null where it is not known.
    pub kernel: Option<String>,
    /// CPUs; null where it cannot be told.
    pub cpus: Option<f64>,
    /// Memory in bytes; null where it is not known.
    pub memory_bytes: Option<f64>,
    /// What was recorded, by kind of evidence.
    pub tiers: Vec<TierView>,
    /// What the host did meanwhile, whatever was found.
    #[serde(default, skip_serializing_if = "Activity::is_empty")]
    pub activity: Activity,
    /// The command that was observed, where it was one, and the children it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandRan>,
}

/// What the kernel says of a command that ended (`wait4`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRan {
    /// How it ended: `exit status 0`.
    pub status: String,
    /// Whether that is success.
    pub succeeded: bool,
    /// Seconds from its start to its end.
    pub seconds: f64,
    /// Seconds of CPU time that its programs had.
    pub user_seconds: f64,
    /// Seconds of CPU time that the kernel had for them.
    pub system_seconds: f64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
}

/// What a host did over the whole recording: means, and nothing that is held against it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The part of all CPU time that was used, 0 to 1.
    pub busy_share: Option<f64>,
    /// The kernel's part of that.
    pub kernel_share: Option<f64>,
    /// The part of all CPU time in which a CPU was idle and waited for a disk.
    pub iowait_share: Option<f64>,
    /// What the kernel did, as parts of all samples on a busy CPU, the most first; empty without stacks.
    pub kernel_work: Vec<Work>,
    /// Who used most CPU time, three at most.
    pub programs: Vec<Participant>,
    /// Free memory in bytes.
    pub free_bytes: Option<f64>,
    /// Memory that holds files, in bytes.
    pub page_cache_bytes: Option<f64>,
    /// Open files that took most of the page cache at the end, the largest first; empty where they were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cached_files: Vec<CachedFile>,
    /// Pages a second that were scanned to free memory.
    pub scanned_pages: Option<f64>,
}

impl Activity {
    /// Nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Activity::default()
    }
}

/// Something that the kernel did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// In words: `reading and writing files`.
    pub what: String,
    /// Its part, 0 to 1.
    pub share: f64,
}

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Counters and levels of the kernel, and settings (T0).
    Counters,
    /// Where CPUs were (T1).
    Stacks,
    /// What held tasks up, and for how long (T2).
    Stalls,
    /// Counters of the processor (T3).
    Hardware,
    /// How a program was started and what it was told.
    Configuration,
    /// What a program wrote of itself.
    Log,
}

impl Tier {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Tier::Counters => "counters",
            Tier::Stacks => "stacks",
            Tier::Stalls => "stalls",
            Tier::Hardware => "hardware",
            Tier::Configuration => "configuration",
            Tier::Log => "log",
        }
    }
}

/// Whether a kind of evidence was there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierView {
    /// Which.
    pub tier: Tier,
    /// Whether it was.
    pub recorded: bool,
    /// What it was, or why it was not.
    pub words: String,
}

/// How much is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Less than a twentieth.
    Low,
    /// A twentieth to a quarter.
    Medium,
    /// A quarter and more.
    High,
}

impl Severity {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Evidence is missing, or speaks against it.
    Low,
    /// One kind of evidence shows it.
    Medium,
    /// Two kinds show it, each by itself, and none speaks against it.
    High,
}

impl Confidence {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// What it costs. Null: not known, or not of that kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Part of all CPU time, 0 to 1.
    pub cpu_share: Option<f64>,
    /// Part of the time in which some task waited, 0 to 1.
    pub stalled_share: Option<f64>,
    /// Part of the host's memory, 0 to 1.
    pub memory_share: Option<f64>,
}

/// The unit of a number in evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A part of a whole, 0 to 1.
    Fraction,
    /// Events or things per second.
    PerSecond,
    /// Pages per second.
    PagesPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A plain number.
    Number,
}

/// How a value is held against a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// It holds from the threshold on.
    AtLeast,
    /// It holds above it.
    Above,
    /// It holds below it.
    Below,
}

/// Where a threshold comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OriginView {
    /// It is written down there.
    Documented(String),
    /// Ours: proposed here, to be calibrated.
    Ours,
}

/// A number that was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Where it comes from: a counter's name, a setting, stacks, stalls.
    pub source: String,
    /// What it is.
    pub name: String,
    /// Its value; null where it is not known.
    pub value: Option<f64>,
    /// The unit of value and threshold.
    pub unit: Quantity,
    /// What it is held against; null for what is only said.
    pub threshold: Option<f64>,
    /// How.
    pub compare: Option<Compare>,
    /// Where the threshold comes from.
    pub origin: Option<OriginView>,
    /// Whether it holds. Null where it is not known, or is only said.
    pub holds: Option<bool>,
}

/// Evidence that was not to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingView {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// A process that takes part. Names are of the programs' authors: not safe to print as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Participant {
    /// Name of the process, or of the thread of it that has most, or what stands for a group.
    pub name: String,
    /// Process id; null where it is not known.
    pub pid: Option<u32>,
    /// Its part, 0 to 1; null where it is not known.
    pub share: Option<f64>,
    /// Of what.
    pub of: String,
}

/// An explanation that was considered and does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    /// The rule's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What speaks against it.
    pub because: Vec<Evidence>,
}

/// Another finding that has to do with one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// By what the one brings about the other.
    pub why: String,
}

/// A stretch of the recording in which a finding held, to the precision of its windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Its beginning, RFC 3339 UTC, or the time of day where the recording has no date; null where there is no clock.
    pub from: Option<String>,
    /// Its end.
    pub to: Option<String>,
    /// Its beginning in seconds after that of the recording.
    pub from_seconds: f64,
    /// Its end in seconds after the beginning of the recording.
    pub to_seconds: f64,
}

/// When a finding held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occurrence {
    /// The stretches in order of time: the first, the last, and the longest between them.
    pub stretches: Vec<Stretch>,
    /// How many more there are.
    pub more_stretches: u64,
    /// Whether it held at the end of the recording; unknown where what came after the last stretch was not seen.
    pub at_end: Answer,
    /// From the end of the last stretch to the end of the recording, in seconds; null when it held then.
    pub ended_seconds_ago: Option<f64>,
}

/// A named cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable id of the rule.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What was seen, in a sentence or two.
    pub summary: String,
    /// The same in a word or two for each thing, of a caveat of the measurement.
    #[serde(default)]
    pub marks: Vec<String>,
    /// What it means.
    pub meaning: String,
    /// How much is lost.
    pub severity: Severity,
    /// What it costs.
    pub cost: Cost,
    /// How sure it is.
    pub confidence: Confidence,
    /// The kinds of evidence that show it.
    pub tiers: Vec<Tier>,
    /// The beginning of its longest stretch, RFC 3339 UTC, or the time of day where the recording has no date; null where
    /// there is no clock, or where it was judged for the recording as a whole.
    pub since: Option<String>,
    /// When it held; null where it was judged for the recording as a whole.
    #[serde(default)]
    pub held: Option<Occurrence>,
    /// Seconds of the recording in which it held.
    pub seconds: f64,
    /// Length of the recording in seconds.
    pub of_seconds: f64,
    /// Who takes part.
    pub who: Vec<Participant>,
    /// Other findings of the same time that this one is a consequence of.
    #[serde(default)]
    pub follows_from: Vec<Link>,
    /// Other findings of the same time that are consequences of this one.
    #[serde(default)]
    pub leads_to: Vec<Link>,
    /// Of a listing that leaves it open: the command that would decide it, on that kernel.
    #[serde(default)]
    pub decide: Option<String>,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// Evidence that would have helped.
    pub missing: Vec<MissingView>,
    /// What else was considered and does not hold.
    pub ruled_out: Vec<RuledOut>,
    /// The change to try first; null where there is nothing to set.
    pub change: Option<Proposal>,
    /// What to try if that is not enough, in order.
    pub alternatives: Vec<Proposal>,
    /// When not to, and what to watch.
    pub counterindications: Vec<String>,
    /// Where it is written down.
    pub docs: Vec<String>,
}

impl Finding {
    /// Whether it is about the measuring and not about the host.
    #[must_use]
    pub fn is_caveat(&self) -> bool {
        self.id == CAVEAT
    }
}

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotFound {
    /// The rule's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What speaks against it.
    pub because: Vec<Evidence>,
}

/// Something that could not be decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotDecided {
    /// The rule's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What was missing.
    pub missing: Vec<MissingView>,
    /// How long a recording it needs, where this one was too short.
    pub needs_seconds: Option<f64>,
    /// What was seen of it.
    pub evidence: Vec<Evidence>,
}
