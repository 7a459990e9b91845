//! From the steps a rule declares to changes that this host can take: values it has, below every ceiling, each with the
//! commands that set it, undo it and decide whether it helps.

use super::answer::Answer;
use super::document::Proposal;
use super::look::Look;
use super::rule::{Rule, Step, To};
use crate::tunable::{CostClass, Scope, Switching, Tunable, find, same};

/// What else is known when changes are proposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether `pagewise prove --live` exists.
    pub live_proof: bool,
}

/// Since which kernel a job can be kept off huge pages: `PR_SET_THP_DISABLE`, 3.15.
const PROCESS_THP_SINCE: (u32, u32, u32) = (3, 15, 0);

/// The steps of a rule that this host can take, in order.
#[must_use]
pub(super) fn proposals(rule: &Rule, look: &Look, options: Options) -> Vec<Proposal> {
    rule.changes.iter().filter_map(|step| proposal(step, look, options)).collect()
}

fn proposal(step: &Step, look: &Look, options: Options) -> Option<Proposal> {
    if step.only_when.is_some_and(|such| !such(look)) {
        return None;
    }
    if matches!(step.to, To::Advice) {
        return Some(advice(step.why, step.restart));
    }
    let from = look.settings.value(step.tunable);
    let is_from = from.is_none_or(|from| step.only_from.is_empty() || step.only_from.contains(&from));
    if !is_from {
        return None;
    }
    let to = match step.to {
        To::First(values) => first(step.tunable, values, look)?,
        To::Times(factor, most) => {
            let now = look.settings.number(step.tunable)?;
            let to = (now * factor).round().min(most);
            (to > now || factor < 1.0).then(|| format!("{to:.0}"))?
        }
        To::Worked(of, _) => of(look)?,
        To::Advice => return None,
    };
    set(step.tunable, &to, step.why, step.restart, look, options)
}

/// The first value that the kernel certainly has.
fn first(tunable: &str, values: &[&str], look: &Look) -> Option<String> {
    values.iter().find(|value| look.settings.takes(tunable, value) == Answer::Yes).map(|value| (*value).to_owned())
}

/// Something to do that no command of ours does.
#[must_use]
pub(super) fn advice(words: &str, restart: bool) -> Proposal {
    Proposal {
        tunable: None,
        from: None,
        to: None,
        words: words.to_owned(),
        scope: "application".to_owned(),
        takes_effect: if restart { "with the next start of the job" } else { "at once" }.to_owned(),
        needs_restart: restart,
        coupled: Vec::new(),
        apply: None,
        undo: None,
        verify: Vec::new(),
    }
}

/// A tunable set to a value. `None` where the host lacks it, has the value already, does not take it, or a ceiling forbids
/// it.
#[must_use]
pub(super) fn set(
    tunable: &str,
    to: &str,
    why: &str,
    restart: bool,
    look: &Look,
    options: Options,
) -> Option<Proposal> {
    let found = find(tunable).ok()?;
    let to = found.canonical(to).ok()?;
    let is_for_job = found.is_for_job();
    let from = if is_for_job { None } else { look.settings.value(&found.name) };
    let is_there = is_for_job || look.settings.has(&found.name) != Answer::No;
    let is_known_to_kernel =
        found.name != "process.thp" || look.settings.release().is_none_or(|release| release >= PROCESS_THP_SINCE);
    let takes = look.settings.takes(&found.name, &to) != Answer::No;
    let differs = from.is_none_or(|from| !same(&found.name, from, &to));
    if !(is_there && is_known_to_kernel && takes && differs && is_below_ceiling(&found, &to, look)) {
        return None;
    }
    let policy = format!("{}={}", found.name, escaped_value(&to));
    let quoted = quoted(&policy);
    let is_live = found.descriptor.cost == CostClass::Live && !is_for_job;
    // What is made from now on alone meets the new value, whatever the rule says.
    let restart = restart || matches!(found.descriptor.switching, Switching::NewOnly(_));
    let is_switched = matches!(found.descriptor.switching, Switching::Live(_));
    let needs_restart = restart || !is_live;
    let takes_effect = match (is_live, restart) {
        (true, false) => "at once",
        (true, true) => "for memory mapped from now on: start the job anew",
        (false, _) => "with the next start of the job",
    };
    let mut verify = vec![format!("pagewise prove --a now --b {quoted} -- ./job")];
    if is_switched && !needs_restart && options.live_proof {
        verify.insert(0, format!("pagewise prove --live --a now --b {quoted}"));
    }
    Some(Proposal {
        tunable: Some(found.name.clone()),
        from: from.map(str::to_owned),
        to: Some(to),
        words: why.to_owned(),
        scope: if is_for_job || found.descriptor.scope == Scope::Job { "job" } else { "host" }.to_owned(),
        takes_effect: takes_effect.to_owned(),
        needs_restart,
        coupled: found.descriptor.coupled.iter().map(|name| (*name).to_owned()).collect(),
        apply: is_live.then(|| format!("pagewise set {quoted}")),
        undo: Some(if is_live { "pagewise revert" } else { "start the job without it" }.to_owned()),
        verify,
    })
}

/// A ceiling is a share of memory. Where the amount of memory is not known, nothing that has one is proposed.
fn is_below_ceiling(found: &Tunable, to: &str, look: &Look) -> bool {
    let Some(ceiling) = found.descriptor.ceiling else { return true };
    let Some(memory) = look.memory() else { return false };
    let Ok(number) = to.parse::<f64>() else { return false };
    let unit = match found.name.as_str() {
        name if name.ends_with("kbytes") => 1024.0,
        name if name.ends_with("hugepages") => {
            look.last(&super::signal::HUGEPAGE_SIZE).unwrap_or(2.0 * 1024.0 * 1024.0)
        }
        _ => 1.0,
    };
    number * unit <= ceiling.share_of_memory * memory
}

fn escaped_value(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,")
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._=+-/:%@".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_one_word_for_a_shell() {
        assert_eq!(quoted("thp.defrag=defer+madvise"), "thp.defrag=defer+madvise");
        assert_eq!(quoted("mthp[64k].enabled=inherit"), "'mthp[64k].enabled=inherit'");
        assert_eq!(quoted("cgroup[/it's].memory.high=1"), "'cgroup[/it'\\''s].memory.high=1'");
    }

    #[test]
    fn what_has_a_ceiling_is_not_proposed_where_it_cannot_be_checked() {
        let look = Look::default();
        assert_eq!(set("vm.min_free_kbytes", "65536", "", false, &look, Options::default()), None);
        assert!(set("vm.watermark_scale_factor", "50", "", false, &look, Options::default()).is_some());
    }

    #[test]
    fn a_proof_on_what_runs_is_offered_only_for_what_can_be_switched_under_it() {
        let options = Options { live_proof: true };
        for (name, value, is_live, effect) in [
            ("vm.swappiness", "10", true, "at once"),
            ("swap", "zram:4G", false, "at once"),
            ("thp.enabled", "madvise", false, "for memory mapped from now on: start the job anew"),
        ] {
            let change = set(name, value, "", false, &Look::default(), options).expect(name);
            assert_eq!(change.verify.iter().any(|line| line.contains("--live")), is_live, "{name}");
            assert!(change.verify.iter().any(|line| line.ends_with(" -- ./job")), "{name}");
            assert_eq!(change.takes_effect, effect, "{name}");
        }
    }
}
