//! What a rule declares about itself: the one table behind verdicts, the reference page and alert rules.

use super::case::{Case, Verdict};
use super::document::{Compare, OriginView, Quantity, Tier};
use super::observed::{Hits, Observed};
use super::signal;

/// Where a threshold comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Written down there.
    Documented(&'static str),
    /// Proposed here, to be calibrated.
    Ours,
}

impl Origin {
    /// For the document.
    #[must_use]
    pub fn view(self) -> OriginView {
        match self {
            Origin::Documented(place) => OriginView::Documented(place.to_owned()),
            Origin::Ours => OriginView::Ours,
        }
    }
}

/// A number something is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// What is held against it.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Quantity,
    /// How.
    pub compare: Compare,
    /// Where it comes from.
    pub origin: Origin,
}

impl Threshold {
    /// It holds from here on.
    #[must_use]
    pub const fn at_least(name: &'static str, value: f64, unit: Quantity) -> Threshold {
        Threshold { name, value, unit, compare: Compare::AtLeast, origin: Origin::Ours }
    }

    /// It holds above this.
    #[must_use]
    pub const fn above(name: &'static str, value: f64, unit: Quantity) -> Threshold {
        Threshold { name, value, unit, compare: Compare::Above, origin: Origin::Ours }
    }

    /// It holds below this.
    #[must_use]
    pub const fn below(name: &'static str, value: f64, unit: Quantity) -> Threshold {
        Threshold { name, value, unit, compare: Compare::Below, origin: Origin::Ours }
    }

    /// And it is written down there.
    #[must_use]
    pub const fn documented(self, place: &'static str) -> Threshold {
        Threshold { origin: Origin::Documented(place), ..self }
    }

    /// Whether a value holds against it.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        match self.compare {
            Compare::AtLeast => value >= self.value,
            Compare::Above => value > self.value,
            Compare::Below => value < self.value,
        }
    }
}

/// What a change sets.
#[derive(Clone, Copy, Debug)]
pub enum SettingTarget {
    /// The first of these values that the kernel has.
    First(&'static [&'static str]),
    /// What is worked out from the recording, and what that is in words. `None`: nothing to propose.
    Worked(fn(&Observed) -> Option<String>, &'static str),
    /// Huge pages for the memory of a process that runs.
    HugePages,
    /// A guard beside what runs.
    Guard,
    /// Nothing that can be set.
    Advice,
}

/// A condition of a step: a kernel or another setting under which alone it changes anything.
#[derive(Clone, Copy, Debug)]
pub struct StepCondition {
    /// In words that follow "only".
    pub words: &'static str,
    /// Of a recording, and where in it the finding holds.
    pub holds: fn(&Observed, &Hits) -> bool,
}

/// A change, in the order of what it can break.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The tunable; empty for advice.
    pub tunable: &'static str,
    /// What to set.
    pub to: SettingTarget,
    /// Only while it has one of these values; empty: whatever it is.
    pub only_from: &'static [&'static str],
    /// Only then.
    pub only_when: Option<StepCondition>,
    /// What is set together with it, because neither does anything alone.
    pub with: &'static [(&'static str, SettingTarget)],
    /// What it does, or the advice itself. A sentence without a full stop.
    pub why: &'static str,
    /// Whether the job must be started anew for it, beyond what the tunable's class says.
    pub restart: bool,
}

impl Step {
    /// Sets a tunable.
    #[must_use]
    pub const fn set(tunable: &'static str, to: SettingTarget, why: &'static str) -> Step {
        Step { tunable, to, only_from: &[], only_when: None, with: &[], why, restart: false }
    }

    /// Puts the memory of a process that runs on huge pages.
    #[must_use]
    pub const fn huge_pages(why: &'static str) -> Step {
        Step::set("", SettingTarget::HugePages, why)
    }

    /// Runs a guard beside what runs.
    #[must_use]
    pub const fn guard(why: &'static str) -> Step {
        Step::set("", SettingTarget::Guard, why)
    }

    /// Something to do that is no setting.
    #[must_use]
    pub const fn advice(why: &'static str) -> Step {
        Step::set("", SettingTarget::Advice, why)
    }

    /// Only from these values.
    #[must_use]
    pub const fn from(self, values: &'static [&'static str]) -> Step {
        Step { only_from: values, ..self }
    }

    /// Only where it changes something. The words follow "only".
    #[must_use]
    pub const fn when(self, words: &'static str, holds: fn(&Observed, &Hits) -> bool) -> Step {
        Step { only_when: Some(StepCondition { words, holds }), ..self }
    }

    /// Together with these.
    #[must_use]
    pub const fn with(self, others: &'static [(&'static str, SettingTarget)]) -> Step {
        Step { with: others, ..self }
    }

    /// And the job has to be started anew.
    #[must_use]
    pub const fn after_restart(self) -> Step {
        Step { restart: true, ..self }
    }
}

/// One thing that can be wrong.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable id.
    pub id: &'static str,
    /// A title of a few words.
    pub title: &'static str,
    /// What it means, in two sentences.
    pub meaning: &'static str,
    /// Its thresholds.
    pub thresholds: &'static [Threshold],
    /// How long it has to last, in seconds.
    pub lasts: f64,
    /// Whether all of a recording shorter than that, but of a window at least, is enough.
    pub may_be_shorter: bool,
    /// Signals without which it cannot be decided.
    pub needs: &'static [&'static signal::Quantity],
    /// Kinds of evidence that can show it.
    pub tiers: &'static [Tier],
    /// Rules that explain the same symptom.
    pub rivals: &'static [&'static str],
    /// Changes in the order of what they can break.
    pub changes: &'static [Step],
    /// When not to, and what to watch.
    pub counterindications: &'static [&'static str],
    /// Where it is written down.
    pub docs: &'static [&'static str],
    /// Reads the recording.
    pub judge: fn(&Case<'_>) -> Verdict,
}

/// What must be the same in most rules.
pub(super) const THREE_WINDOWS: f64 = 30.0;
