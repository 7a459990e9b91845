//! Why a run is no result although its job may have ended well. `docs/guide/trial.md` has a row for each.

use super::gate::PATIENCE;
use std::fmt;
use std::time::Duration;

/// Why a run is invalid. What a plan's own `[[invalidate]]` says is not among these.
#[derive(Clone, Debug, PartialEq)]
pub enum Invalid {
    /// The hypervisor took more of the CPU time than the limit.
    Stolen {
        /// This share.
        share: f64,
        /// The limit of the plan.
        limit: f64,
    },
    /// Somebody else changed what the policy sets: what, in words.
    Changed(String),
    /// The state gate gave the host up, last because of this.
    NotAtRest(String),
    /// The end of the job was noticed so many seconds late.
    NoticedLate(f64),
    /// Pagewise ended while the run was made ready, or while it ran.
    CutOff {
        /// Whether its job had been started.
        had_started: bool,
    },
    /// The other half of its pair was run after a pause.
    PairCut,
    /// The guest it was to run in did not come up, or ended: why.
    GuestLost(String),
}

impl Invalid {
    /// One of each.
    pub const ALL: [Invalid; 7] = [
        Invalid::Stolen { share: 0.0, limit: 0.0 },
        Invalid::Changed(String::new()),
        Invalid::NotAtRest(String::new()),
        Invalid::NoticedLate(0.0),
        Invalid::CutOff { had_started: true },
        Invalid::PairCut,
        Invalid::GuestLost(String::new()),
    ];

    /// How the row of the guide begins that is about it.
    #[must_use]
    pub fn in_guide(&self) -> &'static str {
        match self {
            Invalid::Stolen { .. } => "the hypervisor took more than 10 % of the CPU time",
            Invalid::Changed(_) => "a tunable of the policy was changed meanwhile",
            Invalid::NotAtRest(_) => "the host did not come to rest within 60 s before it",
            Invalid::NoticedLate(_) => "Pagewise itself was stopped or got no CPU when the job ended",
            Invalid::CutOff { .. } => "Pagewise ended while it ran",
            Invalid::PairCut => "its pair was cut by a pause",
            Invalid::GuestLost(_) => "its guest did not come up, or ended",
        }
    }

    /// What may help a trial whose points are invalid for this again and again.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Invalid::Stolen { .. } => Some(
                "Others on its machine want this host's CPUs: go on at a quieter hour, or let such runs count with --steal-limit \
                 (steal_limit in a plan), where pairs and blocks still even out what they can",
            ),
            Invalid::Changed(_) => Some(
                "Some service of this host sets it, too (tuned, a cron job, a configuration agent): stop that for as long as the trial runs",
            ),
            Invalid::NotAtRest(_) => Some(
                "pagewise top shows who is at work here, and what a hypervisor takes. Where some of that never ends and the job has no need of a disk, \
                 a --pressure-limit above that share (pressure_limit in a plan) lets runs begin beside it; where others take and give back memory, \
                 --memory-drift-limit 10% (memory_drift_limit) does; settings of the host can be compared while it works, \
                 with pagewise prove --live",
            ),
            Invalid::NoticedLate(_) => Some("pagewise top shows who takes the CPUs"),
            Invalid::CutOff { .. } | Invalid::PairCut | Invalid::GuestLost(_) => None,
        }
    }
}

impl Invalid {
    /// How long to wait before a further attempt, the more often the longer: who takes the CPUs for a moment spoils a short job three
    /// times within a second.
    #[must_use]
    pub fn pause(&self, attempt: u32) -> Duration {
        const EACH: Duration = Duration::from_secs(2);
        match self {
            Invalid::Stolen { .. } | Invalid::NoticedLate(_) => EACH * attempt.saturating_sub(1),
            // These wait by themselves, or have nothing to wait for.
            Invalid::Changed(_)
            | Invalid::NotAtRest(_)
            | Invalid::CutOff { .. }
            | Invalid::PairCut
            | Invalid::GuestLost(_) => Duration::ZERO,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Stolen { share, limit } => {
                let percent = |share: &f64| share * 100.0;
                write!(f, "the hypervisor took {:.0} % of the CPU time (limit {:.0} %)", percent(share), percent(limit))
            }
            Invalid::Changed(what) => write!(f, "changed by someone else while it ran: {what}"),
            Invalid::NotAtRest(why) => {
                write!(f, "the host did not come to rest within {} s (the state gate): {why}", PATIENCE.as_secs())
            }
            Invalid::NoticedLate(seconds) => write!(
                f,
                "pagewise itself was stopped or got no CPU when the job ended: its time may be {seconds:.2} s too long"
            ),
            Invalid::CutOff { had_started: true } => f.write_str("Pagewise ended while it ran"),
            Invalid::CutOff { had_started: false } => f.write_str("Pagewise ended while it was being made ready"),
            Invalid::PairCut => f.write_str("its pair was cut by a pause; both points are run again"),
            Invalid::GuestLost(why) => write!(f, "it was lost with its guest: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_lost_the_cpus_waits_and_longer_each_time() {
        let waits = |invalid: &Invalid| [1, 2, 3].map(|attempt| invalid.pause(attempt).as_secs());
        for invalid in Invalid::ALL {
            let lost_the_cpus = matches!(invalid, Invalid::Stolen { .. } | Invalid::NoticedLate(_));
            assert_eq!(waits(&invalid), if lost_the_cpus { [0, 2, 4] } else { [0; 3] }, "{invalid}");
        }
    }
}
