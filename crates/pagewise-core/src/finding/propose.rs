//! From the steps a rule declares to changes that this host can take: values it has, below every ceiling, each with the
//! commands that set it, undo it and decide whether it helps.

use super::answer::Answer;
use super::observed::{Hits, Missing, Observed};
use super::proposal::{ActsOn, Command, Proposal, ProposedSetting, TakesEffect};
use super::rule::{Rule, SettingTarget, Step};
use crate::tunable::policy::{Policy, Setting};
use crate::tunable::{CostClass, Scope, Switching, Tunable, find};

/// The steps of a rule that this host can take and that change something, in order. `hits`: where the rule's finding holds.
#[must_use]
pub(super) fn proposals(rule: &Rule, observed: &Observed, hits: &Hits) -> Vec<Proposal> {
    rule.changes.iter().filter_map(|step| proposal(step, observed, hits)).collect()
}

fn proposal(step: &Step, observed: &Observed, hits: &Hits) -> Option<Proposal> {
    if step.only_when.is_some_and(|when| !(when.holds)(observed, hits)) {
        return None;
    }
    let told = advice(step.why, step.restart);
    match step.to {
        SettingTarget::Advice => return Some(told),
        SettingTarget::HugePages => return Some(Proposal { apply: Some(Command::HugePages), ..told }),
        SettingTarget::Guard => {
            let (apply, verify) = (Some(Command::Guard), vec![Command::GuardProve]);
            return Some(Proposal { scope: ActsOn::Host, apply, verify, ..told });
        }
        SettingTarget::First(_) | SettingTarget::Worked(..) => {}
    }
    let from = observed.settings.value(step.tunable);
    if from.is_some_and(|from| !step.only_from.is_empty() && !step.only_from.contains(&from)) {
        return None;
    }
    let mut settings = vec![(step.tunable, value(step.tunable, step.to, observed)?)];
    for (tunable, to) in step.with {
        settings.push((tunable, value(tunable, *to, observed)?));
    }
    change(&settings, step.why, step.restart, observed)
}

/// The value that is meant, on this host.
fn value(tunable: &str, to: SettingTarget, observed: &Observed) -> Option<String> {
    match to {
        SettingTarget::First(values) => first(tunable, values, observed),
        SettingTarget::Worked(of, _) => of(observed),
        SettingTarget::HugePages | SettingTarget::Guard | SettingTarget::Advice => None,
    }
}

/// The first value that the kernel certainly has.
fn first(tunable: &str, values: &[&str], observed: &Observed) -> Option<String> {
    values.iter().find(|value| observed.settings.takes(tunable, value) == Answer::Yes).map(|value| (*value).to_owned())
}

/// What is proposed to be set and no file said the value of: it may have the proposed one already. Of listings alone, which can be added to.
pub(super) fn settings_not_told(changes: &[Proposal], observed: &Observed) -> Option<Missing> {
    let proposed = changes.iter().filter(|change| change.scope == ActsOn::Host).flat_map(|change| &change.settings);
    let mut names: Vec<&str> = Vec::new();
    for ProposedSetting { tunable, from, .. } in proposed {
        if from.is_none() && !names.contains(&tunable.as_str()) {
            names.push(tunable);
        }
    }
    let first = *names.first().filter(|_| observed.is_import)?;
    let file = |name: &&str| find(name).ok()?.descriptor.paths.first().filter(|path| !path.contains('{')).copied();
    let files: Vec<&str> = names.iter().filter_map(file).collect();
    let print =
        if files.is_empty() { String::new() } else { format!("what `grep -H . {}` prints, or ", files.join(" ")) };
    Some(Missing {
        what: format!("{} as it is now", names.join(", ")),
        why: format!("no file says it: hand in {print}--setting {first}=VALUE"),
    })
}

/// Settings whose larger values keep more memory free.
const KEEP_FREE: [&str; 2] = ["vm.watermark_scale_factor", "vm.min_free_kbytes"];

/// What to watch where more is to be kept free and a hypervisor takes back what is free: whoever touches that again waits for it
/// (`mm/page_reporting.c`, 6.12, reports free blocks every two seconds).
pub(super) fn keeps_more_free<'a>(mut changes: impl Iterator<Item = &'a Proposal>) -> Option<String> {
    let keeps_free = |change: &Proposal| {
        let sets = change.settings.iter().any(|setting| KEEP_FREE.contains(&setting.tunable.as_str()));
        sets || change.apply == Some(Command::Guard)
    };
    changes.any(keeps_free).then(|| {
        "Free memory goes back to the hypervisor here (free page reporting), and whoever touches it again waits until it is there. The more is \
         kept free, the longer the longest of these waits become, though the job as a whole may gain; a guard keeps little more than the \
         kernel does. Compare the job's slowest steps as well as its time."
            .to_owned()
    })
}

/// Something to do that no command of ours does.
#[must_use]
pub(super) fn advice(words: &str, restart: bool) -> Proposal {
    Proposal {
        settings: Vec::new(),
        words: words.to_owned(),
        scope: ActsOn::Application,
        takes_effect: if restart { TakesEffect::NextStart } else { TakesEffect::AtOnce },
        coupled: Vec::new(),
        apply: None,
        undo: None,
        verify: Vec::new(),
    }
}

/// A tunable set to a value. `None` where the host lacks it, has the value already, does not take it, or a ceiling forbids
/// it.
#[must_use]
pub(super) fn set(tunable: &str, to: &str, why: &str, restart: bool, observed: &Observed) -> Option<Proposal> {
    change(&[(tunable, to.to_owned())], why, restart, observed)
}

/// A setting that this host can take and does not have yet.
struct Checked {
    found: Tunable,
    from: Option<String>,
    to: String,
}

impl Checked {
    fn proposed(self) -> ProposedSetting {
        ProposedSetting { tunable: self.found.name, from: self.from, to: self.to }
    }
}

fn checked(tunable: &str, to: &str, observed: &Observed) -> Option<Checked> {
    let found = find(tunable).ok()?;
    let to = found.canonical(to).ok()?;
    let from = if found.is_for_job() { None } else { observed.settings.value(&found.name).map(str::to_owned) };
    let is_there = observed.settings.has(&found.name) == Answer::Yes;
    let takes = observed.settings.takes(&found.name, &to) != Answer::No;
    let differs = from.as_deref().is_none_or(|from| !found.same(from, &to));
    let is_possible = is_there && takes && differs && is_below_ceiling(&found, &to, observed);
    is_possible.then_some(Checked { found, from, to })
}

/// Settings that change together: all of them, or none.
fn change(settings: &[(&str, String)], why: &str, restart: bool, observed: &Observed) -> Option<Proposal> {
    let all = settings.iter().map(|(tunable, to)| checked(tunable, to, observed)).collect::<Option<Vec<Checked>>>()?;
    if all.is_empty() {
        return None;
    }
    let setting =
        |one: &Checked| Setting { tunable: one.found.clone(), name: one.found.name.clone(), value: one.to.clone() };
    let policy = Policy { name: None, settings: all.iter().map(setting).collect() };
    let is_live = all.iter().all(|one| one.found.descriptor.cost == CostClass::Live && !one.found.is_for_job());
    let is_for_job = |one: &Checked| one.found.is_for_job() || one.found.descriptor.scope == Scope::Job;
    let switching = |one: &Checked| one.found.descriptor.switching;
    // What is made from now on alone meets the new value, whatever the rule says.
    let restart = restart || all.iter().any(|one| matches!(switching(one), Switching::NewOnly(_)));
    let takes_effect = match (is_live, restart) {
        (true, false) => TakesEffect::AtOnce,
        (true, true) => TakesEffect::NewMemory,
        (false, _) => TakesEffect::NextStart,
    };
    let is_switched = all.iter().all(|one| matches!(switching(one), Switching::Live(_)));
    let on_what_runs = is_switched && takes_effect == TakesEffect::AtOnce;
    let mut coupled: Vec<String> = Vec::new();
    for name in all.iter().flat_map(|one| one.found.descriptor.coupled) {
        if !coupled.iter().any(|other| other == name) {
            coupled.push((*name).to_owned());
        }
    }
    Some(Proposal {
        words: why.to_owned(),
        scope: if all.iter().all(is_for_job) { ActsOn::Job } else { ActsOn::Host },
        takes_effect,
        coupled,
        verify: on_what_runs
            .then_some(true)
            .into_iter()
            .chain([false])
            .map(|live| Command::prove(&policy, live))
            .collect(),
        apply: is_live.then_some(Command::Set { policy }),
        undo: is_live.then_some(Command::Revert),
        settings: all.into_iter().map(Checked::proposed).collect(),
    })
}

/// A ceiling is a share of memory. Where the amount of memory is not known, nothing that has one is proposed.
fn is_below_ceiling(found: &Tunable, to: &str, observed: &Observed) -> bool {
    let Some(ceiling) = found.descriptor.ceiling else { return true };
    let Some(memory) = observed.memory() else { return false };
    let Ok(number) = to.parse::<f64>() else { return false };
    let unit = match found.name.as_str() {
        name if name.ends_with("kbytes") => 1024.0,
        name if name.ends_with("hugepages") => {
            observed.last(&super::signal::HUGEPAGE_SIZE).unwrap_or(2.0 * 1024.0 * 1024.0)
        }
        _ => 1.0,
    };
    number * unit <= ceiling.of(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_ceiling_is_not_proposed_where_it_cannot_be_checked() {
        let observed = Observed::default();
        assert_eq!(set("vm.min_free_kbytes", "65536", "", false, &observed), None);
        assert!(set("vm.swappiness", "50", "", false, &observed).is_some());
    }

    #[test]
    fn what_not_every_kernel_has_is_not_proposed_for_one_that_is_not_known() {
        let observed = Observed::default();
        for (name, value) in [("vm.watermark_scale_factor", "50"), ("mglru.enabled", "y"), ("process.thp", "never")] {
            assert_eq!(set(name, value, "", false, &observed), None, "{name}");
        }
    }

    #[test]
    fn what_keeps_more_memory_free_is_told() {
        let swappiness = set("vm.swappiness", "50", "", false, &Observed::default()).expect("every kernel has it");
        let mut more_free = swappiness.clone();
        more_free.settings[0].tunable = "vm.min_free_kbytes".to_owned();
        let guard = Proposal { apply: Some(Command::Guard), ..advice("", false) };
        for (change, keeps) in [(swappiness, false), (more_free, true), (guard, true)] {
            assert_eq!(keeps_more_free([&change].into_iter()).is_some(), keeps, "{change:?}");
        }
    }

    #[test]
    fn what_changes_together_is_one_policy_and_what_is_there_already_is_none() {
        let settings = |values: &[(&str, &str)]| -> Vec<(&'static str, String)> {
            let name = |name: &str| if name == "a" { "vm.swappiness" } else { "vm.vfs_cache_pressure" };
            values.iter().map(|(which, value)| (name(which), (*value).to_owned())).collect()
        };
        let both = change(&settings(&[("a", "10"), ("b", "200")]), "why", false, &Observed::default());
        let both = both.expect("every kernel has them");
        let set: Vec<(&str, &str)> = both.settings.iter().map(|one| (one.tunable.as_str(), one.to.as_str())).collect();
        assert_eq!(set, [("vm.swappiness", "10"), ("vm.vfs_cache_pressure", "200")]);
        let Some(Command::Set { policy }) = &both.apply else { panic!("{:?}", both.apply) };
        assert_eq!(policy.to_string(), "vm.swappiness=10,vm.vfs_cache_pressure=200");
        assert_eq!(both.undo, Some(Command::Revert));
        let refused = change(&settings(&[("a", "10"), ("b", "much")]), "", false, &Observed::default());
        assert_eq!(refused, None, "neither without the other");
    }

    #[test]
    fn a_proof_on_what_runs_is_offered_only_for_what_can_be_switched_under_it() {
        for (name, value, is_live, effect) in [
            ("vm.swappiness", "10", true, TakesEffect::AtOnce),
            ("swap", "zram:4G", false, TakesEffect::AtOnce),
            ("thp.enabled", "madvise", false, TakesEffect::NewMemory),
        ] {
            let change = set(name, value, "", false, &Observed::default()).expect(name);
            let kinds: Vec<bool> =
                change.verify.iter().map(|proof| matches!(proof, Command::Prove { live: true, .. })).collect();
            assert_eq!(kinds, if is_live { vec![true, false] } else { vec![false] }, "{name}");
            assert_eq!(change.takes_effect, effect, "{name}");
        }
    }
}
