//! Boots of the host that runs a trial: which is asked for, how often one is tried, and when it is given up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often a boot is tried for one point. Ours: a boot loader that was told in vain twice is not told a third time, and a kernel that
/// panicked twice will again.
pub const ATTEMPTS: u32 = 2;

/// How a trial stands that boots its host by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boots {
    /// The release that ran when it began, which the boot loader starts when it is told nothing.
    pub home: String,
    /// The boot that was asked for last. `None` before the first.
    #[serde(default)]
    pub asked: Option<RequestedBoot>,
    /// Why the trial boots nothing any more: it is complete, or was given up. `None` while it does.
    #[serde(default)]
    pub over: Option<BootsEnd>,
}

/// A boot that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedBoot {
    /// The point it is for: its place in the order, from 0.
    pub index: u32,
    /// What is to come up, as `uname -r` prints it.
    pub release: String,
    /// Which try for this point it is, from 1.
    pub attempt: u32,
    /// The boot in which it was asked for.
    pub from_boot: String,
    /// What came up instead, or that it came up: the release that ran in the boot after it. `None` until then.
    #[serde(default)]
    pub came_up: Option<String>,
}

/// How a trial's boots ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BootsEnd {
    /// Every point has its result.
    Complete,
    /// It was stopped, for this reason.
    Stopped(String),
}

/// What is to be done for a point that needs another boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextBoot {
    /// The boot is asked for.
    Ask(RequestedBoot),
    /// It was tried often enough.
    GiveUp(String),
}

impl Boots {
    /// What is to be done where point `index` needs a boot of `release` and `runs` is what runs in the boot `boot_id`.
    ///
    /// A boot that was asked for and did not take place yet is asked for again, and counts once.
    #[must_use]
    pub fn next(&self, index: u32, release: &str, boot_id: &str) -> NextBoot {
        let before = self.asked.as_ref().filter(|asked| asked.index == index && self.over.is_none());
        let attempt = match before {
            None => 1,
            Some(asked) if asked.from_boot == boot_id => asked.attempt,
            Some(asked) if asked.attempt < ATTEMPTS => asked.attempt + 1,
            Some(asked) => return NextBoot::GiveUp(asked.in_vain()),
        };
        let (release, from_boot) = (release.to_owned(), boot_id.to_owned());
        NextBoot::Ask(RequestedBoot { index, release, attempt, from_boot, came_up: None })
    }

    /// Writes down what runs in the boot after the one that was asked for. Gives whether that is news.
    pub fn saw(&mut self, runs: &str, boot_id: &str) -> bool {
        match &mut self.asked {
            Some(asked) if asked.came_up.is_none() && asked.from_boot != boot_id => {
                asked.came_up = Some(runs.to_owned());
                true
            }
            _ => false,
        }
    }
}

impl RequestedBoot {
    /// Why it is not asked for again.
    fn in_vain(&self) -> String {
        let point =
            format!("run {} needs Linux {}, which was booted {} times", self.index + 1, self.release, self.attempt);
        match &self.came_up {
            Some(other) if *other != self.release => format!("{point}; the last time {other} came up instead"),
            // It came up, and the host ended before the run did.
            _ => format!("{point}; the last time the host ended before the run did"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boots() -> Boots {
        Boots { home: "6.1".to_owned(), asked: None, over: None }
    }

    fn asked(boots: &mut Boots, index: u32, boot: &str) -> u32 {
        let NextBoot::Ask(asked) = boots.next(index, "6.12", boot) else { panic!("given up: {boots:?}") };
        boots.asked = Some(asked.clone());
        asked.attempt
    }

    #[test]
    fn a_boot_is_tried_so_often_and_then_given_up_with_what_came_up_instead() {
        let mut boots = boots();
        assert_eq!(asked(&mut boots, 0, "a"), 1);
        assert!(!boots.saw("6.1", "a"), "this boot is the one it was asked for in");
        assert_eq!(asked(&mut boots, 0, "a"), 1, "killed before the boot: it counts once");
        assert!(boots.saw("6.1", "b") && !boots.saw("6.1", "b"));
        assert_eq!(asked(&mut boots, 0, "b"), 2);
        assert!(boots.saw("6.1", "c"));
        let NextBoot::GiveUp(why) = boots.next(0, "6.12", "c") else { panic!("a third try") };
        assert_eq!(why, "run 1 needs Linux 6.12, which was booted 2 times; the last time 6.1 came up instead");
    }

    #[test]
    fn a_kernel_that_comes_up_and_dies_is_given_up_as_well_and_a_run_that_ended_begins_the_count_anew() {
        let mut boots = boots();
        assert_eq!(asked(&mut boots, 0, "a"), 1);
        boots.saw("6.12", "b");
        assert_eq!(asked(&mut boots, 4, "b"), 1, "points 0 to 3 ran");
        boots.saw("6.12", "c");
        assert_eq!(asked(&mut boots, 4, "d"), 2, "it died in the boot c");
        boots.saw("6.12", "e");
        let NextBoot::GiveUp(why) = boots.next(4, "6.12", "f") else { panic!("a third try") };
        assert!(why.contains("run 5") && why.contains("booted 2 times"), "{why}");
    }

    #[test]
    fn who_goes_on_with_a_trial_that_was_given_up_has_every_try_again() {
        let mut boots = boots();
        asked(&mut boots, 0, "a");
        asked(&mut boots, 0, "b");
        boots.over = Some(BootsEnd::Stopped("in vain".to_owned()));
        assert_eq!(asked(&mut boots, 0, "c"), 1);
    }
}
