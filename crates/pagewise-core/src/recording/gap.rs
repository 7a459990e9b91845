//! What was not seen, from when to when, and why.

/// A stretch without samples, of one source or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// From here, CLOCK_BOOTTIME in nanoseconds.
    pub from: u64,
    /// To here. `None`: to the end of the recording, as far as it is known.
    pub to: Option<u64>,
    /// Of this source; `None`: of all.
    pub source: Option<String>,
    /// Why.
    pub reason: GapReason,
    /// Ticks that should have been there, where that can be told.
    pub ticks: Option<u64>,
    /// What exactly: the file and what the kernel answered.
    pub detail: String,
}

/// Why there are no samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GapReason {
    /// The kernel has no such file, or we may not read it.
    Missing,
    /// Reading failed.
    Unreadable,
    /// It was read and does not look as this file looks.
    NotUnderstood,
    /// The sampler woke up so late that whole ticks had passed. They are not made up.
    Late,
    /// The machine was suspended.
    Suspended,
    /// The file took no more for so long that the ring between sampler and writer was full.
    WriterBehind,
    /// Removed to keep the file below its size cap.
    Evicted,
    /// The recording was stopped: a full disk, a file that failed.
    Stopped,
    /// The kernel lost some of what it should have told: there are samples, and fewer than there should be.
    Lost,
    /// There was so much that only one in several was kept: there are samples, each standing for several.
    Thinned,
    /// A flight recorder waits: it records stacks and stalls only once there is trouble.
    Waiting,
    /// A reason of a newer version, in its own word.
    Other(String),
}

const REASONS: [(GapReason, &str); 11] = [
    (GapReason::Missing, "missing"),
    (GapReason::Unreadable, "unreadable"),
    (GapReason::NotUnderstood, "not_understood"),
    (GapReason::Late, "late"),
    (GapReason::Suspended, "suspended"),
    (GapReason::WriterBehind, "writer_behind"),
    (GapReason::Evicted, "evicted"),
    (GapReason::Stopped, "stopped"),
    (GapReason::Lost, "lost"),
    (GapReason::Thinned, "thinned"),
    (GapReason::Waiting, "waiting"),
];

impl GapReason {
    /// As the recording file writes it.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            GapReason::Other(word) => word,
            known => REASONS.iter().find(|(reason, _)| reason == known).map_or("", |(_, word)| word),
        }
    }

    /// The reason of that word.
    #[must_use]
    pub fn from_word(word: &str) -> GapReason {
        let known = REASONS.iter().find(|(_, known)| *known == word);
        known.map_or_else(|| GapReason::Other(word.to_owned()), |(reason, _)| reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_a_newer_version_keeps_its_word() {
        assert!(REASONS.iter().all(|(reason, word)| reason.word() == *word && GapReason::from_word(word) == *reason));
        assert_eq!(GapReason::from_word("eclipse").word(), "eclipse");
    }
}
