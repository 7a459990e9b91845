//! What the host has set beside what a trial compares. No policy names it, and every run may rest on it all the same: a policy of
//! `jvm.*` alone is compared under whatever the host does with huge pages, and somebody may switch that meanwhile. A guard that somebody
//! starts is such a setting, too, though no file has it.

use crate::guard::status;
use crate::record::settings::{Changed, EVERY, Settings};
use crate::root::Root;
use crate::tunable::held;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// So many of what changed are named.
const NAMED: usize = 3;

type Values = BTreeMap<String, Option<String>>;

/// What a guard is called that a process holds for somebody's setting: the tunable's name.
const KEPT_GUARD: &str = "guard";

/// And one that was started by hand, or by a service.
const STARTED_GUARD: &str = "what guards this host";

/// Every tunable of the host and the guards that run, read before, during and after each run, or block of a live proof.
#[derive(Debug)]
pub struct OtherSettings {
    root: Root,
    settings: Settings,
    /// The guards that run, as of the last reading.
    guards: Values,
    checked: Instant,
    /// As each level found them when it was first measured, with its policy in force.
    at_first: BTreeMap<String, Values>,
    /// What changed while the run went on.
    meanwhile: Vec<Changed>,
}

impl OtherSettings {
    /// Those of the host as it is now.
    #[must_use]
    pub fn new(root: &Root) -> OtherSettings {
        OtherSettings {
            root: root.clone(),
            settings: Settings::open(root),
            guards: guards(root),
            checked: Instant::now(),
            at_first: BTreeMap::new(),
            meanwhile: Vec::new(),
        }
    }

    /// Right before a run or a block, its policy in force. Gives what is not as when its level was first measured, in words.
    pub fn begin(&mut self, level: &str) -> Option<String> {
        self.check();
        self.meanwhile.clear();
        let mut now: Values = self.settings.snapshot().into_iter().collect();
        now.extend(self.guards.clone());
        let first = self.at_first.entry(level.to_owned()).or_insert_with(|| now.clone());
        let differs = first.iter().filter_map(|(name, before)| Some((name, before, now.get(name)?)));
        let changes: Vec<String> = differs
            .filter(|(_, before, now)| before != now)
            .map(|(name, before, now)| change(name, before.as_deref(), now.as_deref()))
            .collect();
        (!changes.is_empty())
            .then(|| format!("the host was not as when its level was first measured: {}", listed(&changes)))
    }

    /// While it runs; what changes and changes back within ten seconds may be missed.
    pub fn tick(&mut self) {
        if self.checked.elapsed() >= Duration::from_nanos(EVERY) {
            self.check();
        }
    }

    /// When it has ended, before its policy is undone. `is_of_policy`: the tunables that a change of makes the run invalid anyway. Gives
    /// what changed while it ran, in words.
    pub fn end(&mut self, is_of_policy: impl Fn(&str) -> bool) -> Option<String> {
        self.check();
        let changes: Vec<String> = std::mem::take(&mut self.meanwhile)
            .iter()
            .filter(|changed| !is_of_policy(&changed.name))
            .map(|Changed { name, before, now }| change(name, before.as_deref(), now.as_deref()))
            .collect();
        (!changes.is_empty())
            .then(|| format!("while it ran, something else than this trial changed the host: {}", listed(&changes)))
    }

    fn check(&mut self) {
        self.checked = Instant::now();
        self.meanwhile.extend(self.settings.changes());
        let before = std::mem::replace(&mut self.guards, guards(&self.root));
        let changed = before.into_iter().zip(self.guards.values()).filter(|((_, before), now)| before != *now);
        self.meanwhile.extend(changed.map(|((name, before), now)| Changed { name, before, now: now.clone() }));
    }
}

/// The guards that run and act, by who started them. A process that takes another's place is no change.
fn guards(root: &Root) -> Values {
    let running = status::running(root);
    let (kept, started): (Vec<_>, Vec<_>) =
        running.iter().filter(|guard| guard.acts()).partition(|guard| held::is_kept_by(&guard.command));
    let value = |guards: Vec<&status::Running>| {
        let mut commands: Vec<&str> = guards.iter().map(|guard| guard.command.as_str()).collect();
        commands.sort_unstable();
        Some(if commands.is_empty() { "nothing".to_owned() } else { format!("'{}'", commands.join("' and '")) })
    };
    BTreeMap::from([(KEPT_GUARD.to_owned(), value(kept)), (STARTED_GUARD.to_owned(), value(started))])
}

fn change(name: &str, before: Option<&str>, now: Option<&str>) -> String {
    const NONE: &str = "unreadable";
    format!("{name} went from {} to {}", before.unwrap_or(NONE), now.unwrap_or(NONE))
}

fn listed(changes: &[String]) -> String {
    let more = changes.len().saturating_sub(NAMED);
    let named = changes[..changes.len().min(NAMED)].join(", ");
    if more == 0 { named } else { format!("{named}, and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

    #[test]
    fn a_guard_that_starts_meanwhile_is_told_and_one_that_only_advises_or_is_the_policys_own_is_not() {
        let fake = FakeHost::modern();
        let mut around = OtherSettings::new(&Root::at(fake.path()));
        assert_eq!(around.begin("a"), None);
        let process = |pid: u32, thread: &str, command: &str| {
            fake.write(&format!("/proc/{pid}/comm"), "pagewise\n");
            fake.write(&format!("/proc/{pid}/cmdline"), &command.replace(' ', "\0"));
            fake.write(&format!("/proc/{pid}/task/{pid}/comm"), "pagewise\n");
            fake.write(&format!("/proc/{pid}/task/{}/comm", pid + 1), &format!("{thread}\n"));
        };
        process(60, "pagewise-tick", "pagewise record");
        around.check();
        assert_eq!(around.end(|_| false), None, "a recorder guards nothing");
        process(70, "pagewise-guard", "pagewise guard run");
        around.check();
        let told = around.end(|_| false).expect("a guard started");
        assert!(told.contains("what guards this host went from nothing to 'pagewise guard run'"), "{told}");
        let told = around.begin("a").expect("the first run was without");
        assert!(told.contains("'pagewise guard run'"), "{told}");
        process(80, "pagewise-guard", "pagewise __keep guard on");
        around.check();
        assert_eq!(around.end(|name| name == "guard"), None, "the policy's own");
        process(80, "pagewise-guard", "pagewise __keep guard off");
        around.check();
        assert!(around.end(|_| false).expect("another trial's").contains("guard went from"), "not ours");
    }

    #[test]
    fn what_others_change_is_told_and_what_the_policy_sets_is_not() {
        let fake = FakeHost::modern().file(THP, "always [madvise] never\n").file("/proc/sys/vm/swappiness", "60\n");
        let mut around = OtherSettings::new(&Root::at(fake.path()));
        fake.write("/proc/sys/vm/swappiness", "1\n");
        assert_eq!(around.begin("low"), None, "the policy is in force");
        fake.write(THP, "[always] madvise never\n");
        around.check();
        fake.write(THP, "always [madvise] never\n");
        let told = around.end(|_| false).expect("two changes");
        assert!(told.contains("thp.enabled went from madvise to always"), "{told}");
        assert!(told.contains("thp.enabled went from always to madvise"), "{told}");
        fake.write("/proc/sys/vm/swappiness", "60\n");
        assert_eq!(around.begin("high"), None, "another level is as it is");
        fake.write("/proc/sys/vm/swappiness", "10\n");
        assert_eq!(around.end(|name| name == "vm.swappiness"), None, "that makes the run invalid");
        fake.write("/proc/sys/vm/swappiness", "1\n");
        fake.write(THP, "always madvise [never]\n");
        let told = around.begin("low").expect("not as the first run had it");
        assert_eq!(
            told,
            "the host was not as when its level was first measured: thp.enabled went from madvise to never"
        );
        assert_eq!(around.end(|_| false), None);
    }
}
