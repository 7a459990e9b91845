//! Something to change, as data: what is set, what carries it out, and what would decide whether it helps. Whoever applies it
//! takes the policy as it stands here; lines for a shell are written by reports alone (`report/command_line.rs`).

use crate::tunable::policy::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// What is set, all of it together, because no part does anything alone. Empty for what is no setting.
    pub settings: Vec<ProposedSetting>,
    /// What to do, in words, and why.
    pub words: String,
    /// What it acts on.
    pub scope: ActsOn,
    /// When it takes effect.
    pub takes_effect: TakesEffect,
    /// Tunables the kernel moves along.
    pub coupled: Vec<String>,
    /// What carries it out on a host that runs; null where it comes with the next start of the job, or nothing of ours does it.
    pub apply: Option<Command>,
    /// What takes it back; null where it ends with the job.
    pub undo: Option<Command>,
    /// What would decide whether it helps, the cheapest first.
    pub verify: Vec<Command>,
}

/// One setting of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedSetting {
    /// The tunable.
    pub tunable: String,
    /// Its value now; null where it is not known.
    pub from: Option<String>,
    /// The value to try.
    pub to: String,
}

/// What a proposal acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActsOn {
    /// Everything on the host.
    Host,
    /// The job alone, when Pagewise starts it.
    Job,
    /// The program itself, or how it is run: no command of ours does it.
    Application,
}

/// When a proposal takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TakesEffect {
    /// What runs meets it.
    AtOnce,
    /// Only memory mapped from then on meets it, so the job has to be started anew.
    NewMemory,
    /// With the next start of the job.
    NextStart,
}

impl TakesEffect {
    /// As the end of a sentence that begins with "takes effect".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            TakesEffect::AtOnce => "at once",
            TakesEffect::NewMemory => "for memory mapped from now on: start the job anew",
            TakesEffect::NextStart => "with the next start of the job",
        }
    }
}

/// What Pagewise is asked to do: a verb with what it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Command {
    /// Set a policy, until it is taken back.
    Set {
        /// What is set.
        policy: Policy,
    },
    /// Take back what was set last.
    Revert,
    /// Decide by an experiment between two policies.
    Prove {
        /// The one.
        a: Policy,
        /// The other.
        b: Policy,
        /// On what runs, in blocks of time, instead of in runs of a job.
        live: bool,
        /// The job's command; empty where it is not known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        job: Vec<String>,
    },
    /// Put the memory of a process that runs on huge pages.
    HugePages,
    /// Keep page reclaim out of the way of what runs, until it is ended.
    Guard,
    /// Decide by an experiment on what runs whether that helps.
    GuardProve,
    /// Write a configuration of Spark into a folder.
    SparkConf {
        /// Which memory is to lie on huge pages.
        placement: String,
        /// The policy that it is held against.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        against: Option<String>,
        /// Where the plugin's jar lies, where the job had it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        jar: Option<String>,
        /// The version of Spark, where it is known.
        spark: Option<String>,
        /// The version of Java, where it is known.
        jdk: Option<String>,
        /// The heap of a JVM that computes, bytes.
        heap: u64,
        /// Whether it is for executors in JVMs of their own.
        executors: bool,
        /// The folder.
        into: String,
    },
}

impl Command {
    /// Whether a proposal helps against the host as it is.
    pub(super) fn prove(policy: &Policy, live: bool) -> Command {
        Command::Prove { a: Policy::default(), b: policy.clone(), live, job: Vec::new() }
    }
}
