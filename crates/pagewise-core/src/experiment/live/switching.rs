//! What two policies take to be switched under a running job: whether it can be done at all, and how long to wait.

use crate::tunable::policy::Policy;
use crate::tunable::{Switching, Wait};

/// One tunable of the two policies.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchedTunable {
    /// Its name.
    pub tunable: String,
    /// How long to wait after a switch, and why.
    pub wait: Wait,
    /// Only what is made after a switch meets the new value.
    pub new_only: bool,
}

/// Why two policies cannot be compared under a running job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SwitchError {
    /// It cannot be switched while anything runs.
    #[error(
        "{tunable} cannot be switched while a job runs: it {reason}. Compare it without --live: prove then starts the job \
         anew for every run"
    )]
    Never {
        /// The tunable.
        tunable: String,
        /// Why.
        reason: &'static str,
    },
    /// Only what is made later meets the new value.
    #[error(
        "{tunable} cannot be switched under a job that runs: it {reason}. Compare it without --live: prove then starts the \
         job anew for every run. If what runs here is made of processes that end within a block, add --short-lived"
    )]
    NewOnly {
        /// The tunable.
        tunable: String,
        /// Why.
        reason: &'static str,
    },
}

/// Every tunable that one of the policies sets, once each.
///
/// # Errors
/// The first one that cannot be switched, with its reason.
pub fn tunables<'p>(
    policies: impl IntoIterator<Item = &'p Policy>,
    short_lived: bool,
) -> Result<Vec<SwitchedTunable>, SwitchError> {
    let mut found: Vec<SwitchedTunable> = Vec::new();
    for setting in policies.into_iter().flat_map(|policy| &policy.settings) {
        let tunable = &setting.tunable;
        let name = tunable.name.clone();
        if found.iter().any(|switched| switched.tunable == name) {
            continue;
        }
        if tunable.is_for_job() {
            let reason = "is read when the job starts, so it takes a restart of the job";
            return Err(SwitchError::Never { tunable: name, reason });
        }
        let (wait, new_only) = match tunable.descriptor.switching {
            Switching::Never(reason) => return Err(SwitchError::Never { tunable: name, reason }),
            Switching::NewOnly(wait) if !short_lived => {
                return Err(SwitchError::NewOnly { tunable: name, reason: wait.reason });
            }
            Switching::NewOnly(wait) => (wait, true),
            Switching::Live(wait) => (wait, false),
        };
        found.push(SwitchedTunable { tunable: name, wait, new_only });
    }
    Ok(found)
}

/// Seconds to settle and to wash out: the longest of all. Both 0 when nothing is switched.
#[must_use]
pub fn longest(switched: &[SwitchedTunable]) -> (f64, f64) {
    let most = |of: fn(&Wait) -> f64| switched.iter().map(|one| of(&one.wait)).fold(0.0, f64::max);
    (most(|wait| wait.settle), most(|wait| wait.washout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(a: &str, b: &str, short_lived: bool) -> Result<Vec<SwitchedTunable>, SwitchError> {
        tunables([&a.parse().unwrap(), &b.parse().unwrap()], short_lived)
    }

    #[test]
    fn the_longest_wait_of_all_that_is_switched_counts() {
        let found = of("now", "thp.defrag=madvise,vm.dirty=10%", false).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(longest(&found), (5.0, 15.0));
        assert_eq!(longest(&of("now", "now", false).unwrap()), (0.0, 0.0));
    }

    #[test]
    fn the_two_files_of_a_limit_are_one_tunable() {
        let found = of("vm.dirty_ratio=10", "vm.dirty_bytes=67108864", false).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn what_a_running_job_would_not_notice_is_refused_with_the_reason() {
        for (policy, wanted) in [
            ("jvm.UseTransparentHugePages=true", "takes a restart of the job"),
            ("process.thp=never", "takes a restart of the job"),
            ("cgroup[job].memory.max=1G", "takes a restart of the job"),
            ("kernel=6.12", "takes a boot"),
            ("swap=off", "switched off"),
            ("thp.enabled=never", "huge pages that exist stay"),
            ("mthp[64k].enabled=never", "--short-lived"),
        ] {
            let error = of("now", policy, false).expect_err(policy).to_string();
            assert!(error.contains(wanted), "{policy}: {error}");
        }
        assert!(of("now", "thp.enabled=never", true).unwrap()[0].new_only);
        assert!(of("now", "kernel=6.12", true).is_err(), "short-lived processes do not boot");
    }
}
