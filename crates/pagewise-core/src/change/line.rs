//! The lines of a change set's journal, one JSON object each.

use crate::tunable::Tunable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies the file format in its first line.
pub const SCHEMA: &str = "pagewise.change-set/2";

/// The format before it, which had nothing that is written often. It is read as this one, so that a change that an older version
/// made is undone by this one.
pub const BEFORE: &str = "pagewise.change-set/1";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// Everything that is known before the first write.
    Begin(Box<Begin>),
    /// This setting is about to be written.
    Writing {
        /// Index into [`Begin::writes`].
        write: usize,
    },
    /// It was written and read back.
    Written {
        /// Index into [`Begin::writes`].
        write: usize,
        /// The value the kernel holds.
        read_back: String,
        /// The coupled tunables, after what the kernel moved was put back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coupled: Vec<CoupledReading>,
    },
    /// Every setting is written: from here on the lease decides how long it stays.
    Applied,
    /// A change that waited for confirmation stays.
    Confirmed,
    /// This setting is about to be restored.
    Restoring {
        /// Index into [`Begin::writes`].
        write: usize,
        /// What the coupled tunables must be afterwards. Decided before the restoring write, because that write moves
        /// them and then ours cannot be told from a colleague's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coupled: Vec<Value>,
    },
    /// What became of this setting.
    Restored {
        /// Index into [`Begin::writes`].
        write: usize,
        /// Its end.
        outcome: Outcome,
        /// The end of the coupled tunables that were not simply as before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coupled: Vec<CoupledOutcome>,
    },
    /// Nothing of this change set is ours any more.
    Closed {
        /// Why.
        how: CloseReason,
    },
}

/// What is on disk before the first write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// [`SCHEMA`].
    pub schema: String,
    /// The change set's number on this host; higher is later.
    pub id: u64,
    /// When it began, RFC 3339 UTC.
    pub created: String,
    /// The boot whose values these are.
    pub boot_id: String,
    /// Kernel release.
    pub kernel: String,
    /// The version of Pagewise that wrote it.
    pub version: String,
    /// The process that made it.
    pub owner: Owner,
    /// How long it stays.
    pub lease: Lease,
    /// The policy as written by the user.
    pub policy: String,
    /// The settings in the order they are written.
    pub writes: Vec<Write>,
}

/// A process, told from a later one with the same pid by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks from boot to its start.
    pub start_time: u64,
}

/// How long a change stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lease {
    /// Until it is reverted.
    None,
    /// As long as its owner lives.
    Owner,
    /// Until this instant, unless it is confirmed before.
    Deadline {
        /// For people: RFC 3339 UTC.
        at: String,
        /// What decides: milliseconds of `CLOCK_BOOTTIME`, which no clock change moves and which
        /// goes on while the host sleeps.
        boottime_ms: u64,
    },
}

/// One setting: the value it replaces and the one it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// The tunable.
    pub tunable: Tunable,
    /// Its value before.
    pub before: String,
    /// The value asked for.
    pub target: String,
    /// Tunables the kernel may move by itself when this one is written, with their values before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coupled: Vec<Value>,
    /// Files this value creates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artefacts: Vec<String>,
    /// It is written again and again while the change is in force: how far that has got stands in the notes beside the journal
    /// ([`super::note`]), and the target is the value before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub often: bool,
}

/// A tunable and a value of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The tunable.
    pub tunable: Tunable,
    /// The value, as canonical text.
    pub value: String,
}

impl Value {
    /// Whether the tunable, which now reads `now`, has this value.
    #[must_use]
    pub fn is(&self, now: &str) -> bool {
        self.tunable.same(&self.value, now)
    }
}

/// A coupled tunable after a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoupledReading {
    /// The tunable.
    pub tunable: Tunable,
    /// Where the kernel moved it, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Its value once it was put back, or left because the policy sets it too.
    pub read_back: String,
}

/// How the undo of one setting ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The value before was written and read back.
    Restored,
    /// It was as before already.
    Already,
    /// Someone else changed it since; left as it is.
    Foreign {
        /// What was found.
        found: String,
    },
    /// It could not be restored and is tried again by the next verb that writes.
    Failed {
        /// Why.
        why: String,
    },
    /// The tunable does not exist any more.
    Gone,
    /// It was never written.
    NeverWritten,
}

/// How the undo of a coupled tunable ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoupledOutcome {
    /// The tunable.
    pub tunable: Tunable,
    /// Its end.
    pub outcome: Outcome,
}

/// Why a change set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CloseReason {
    /// Every setting was restored, or left because it is someone else's now.
    Undone,
    /// The host has booted since: its values went with the boot.
    OtherBoot,
    /// The user gave up the way back and keeps the values.
    Forgotten,
}
