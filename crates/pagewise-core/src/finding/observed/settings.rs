//! What was set while the recording was made, and which values the kernel would take.

use super::{Hits, Windows};
use crate::finding::answer::Answer;
use crate::recording::note::Setting;
use crate::tunable::{Grammar, find, is_for_job, listed};
use std::collections::BTreeMap;

/// Settings and their changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// By name, in order of time.
    seen: BTreeMap<String, Vec<(u64, Option<String>)>>,
    /// Values the kernel lists, where the recording says so.
    allowed: BTreeMap<String, Vec<String>>,
    release: Option<(u32, u32, u32)>,
}

/// Choices whose values a recording may list under `allowed.NAME`.
const CHOICES: [&str; 3] = ["thp.enabled", "thp.defrag", "thp.shmem_enabled"];

/// A value that not every kernel has, and since which one. Mainline's releases: `mm/huge_memory.c` of 2.6.38, 4.6 and 4.11.
const SINCE: [(&str, &str, (u32, u32, u32)); 4] = [
    ("thp.enabled", "madvise", (2, 6, 38)),
    ("thp.defrag", "madvise", (2, 6, 38)),
    ("thp.defrag", "defer", (4, 6, 0)),
    ("thp.defrag", "defer+madvise", (4, 11, 0)),
];

/// Red Hat 6, the oldest kernel that listings come from: what it has, every kernel has.
const OLDEST: (u32, u32, u32) = (2, 6, 32);

/// A recording reads settings so often: what is seen later by less than that may have been so already. Nanoseconds.
const READ_EVERY: u64 = 10_000_000_000;

impl Settings {
    pub(super) fn of(
        settings: Vec<Setting>,
        kernel: Option<&str>,
        is_before_2_6_33: bool,
        allowed: impl Fn(&str) -> Option<String>,
    ) -> Settings {
        let mut seen: BTreeMap<String, Vec<(u64, Option<String>)>> = BTreeMap::new();
        for setting in settings {
            seen.entry(setting.path).or_default().push((setting.ts, setting.value));
        }
        let words = |text: String| match listed(&text) {
            Some(choice) => choice.values.into_iter().map(str::to_owned).collect(),
            None => text.split_whitespace().map(str::to_owned).collect::<Vec<String>>(),
        };
        let listed = |name: &str| Some((name.to_owned(), words(allowed(name)?)));
        let release = kernel.and_then(release).or(is_before_2_6_33.then_some((2, 6, 32)));
        Settings { seen, allowed: CHOICES.into_iter().filter_map(listed).collect(), release }
    }

    /// Whether anything is known about the host's settings. Those of a program (`jvm.Xmx`) say nothing of them.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.seen.keys().any(|name| !is_for_job(name))
    }

    /// The value it had last; `None` where it is not known.
    #[must_use]
    pub fn value(&self, tunable: &str) -> Option<&str> {
        self.seen.get(tunable)?.last()?.1.as_deref()
    }

    /// The values it had in the windows that hit; in all of the recording where none does. Empty where that is not known.
    #[must_use]
    pub fn during(&self, tunable: &str, over: &Hits, windows: &Windows) -> Vec<&str> {
        let Some(seen) = self.seen.get(tunable) else { return Vec::new() };
        let is_hit = |window: usize| over.answers.get(window) == Some(&Answer::Yes);
        let hit: Vec<usize> = (0..windows.count).filter(|window| is_hit(*window)).collect();
        let takes = |from: u64, to: u64| {
            hit.is_empty() || hit.iter().any(|window| from < windows.to(*window) && windows.from(*window) < to)
        };
        let mut values: Vec<&str> = Vec::new();
        for (place, (since, value)) in seen.iter().enumerate() {
            // What is there at the start was there before it.
            let from = if place == 0 { 0 } else { since.saturating_sub(READ_EVERY) };
            let to = seen.get(place + 1).map_or(u64::MAX, |(next, _)| *next);
            if !takes(from, to) {
                continue;
            }
            let Some(value) = value.as_deref() else { return Vec::new() };
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// The same as a number.
    #[must_use]
    pub fn number(&self, tunable: &str) -> Option<f64> {
        self.value(tunable)?.parse().ok()
    }

    /// Settings that changed: name, when, and what it became.
    pub fn changes(&self) -> impl Iterator<Item = (&str, u64, Option<&str>)> {
        self.seen
            .iter()
            .flat_map(|(name, values)| values.iter().skip(1).map(|(at, value)| (name.as_str(), *at, value.as_deref())))
    }

    /// Names of the settings that begin so.
    pub fn names<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        self.seen.keys().map(String::as_str).filter(move |name| name.starts_with(start))
    }

    /// The release of the kernel as numbers, where it is known.
    #[must_use]
    pub fn release(&self) -> Option<(u32, u32, u32)> {
        self.release
    }

    /// Whether this host has the tunable: by what was recorded, or else by the kernel's release. What the job alone is given
    /// is in no recording.
    #[must_use]
    pub fn has(&self, tunable: &str) -> Answer {
        let Ok(found) = find(tunable) else { return Answer::No };
        if self.are_known() && !found.is_for_job() {
            return Answer::of(Some(self.value(&found.name).is_some()));
        }
        match (found.descriptor.since(), self.release) {
            (Some(since), Some(release)) => Answer::of(Some(release >= since)),
            (Some(since), None) if since > OLDEST => Answer::Unknown,
            _ => Answer::Yes,
        }
    }

    /// Whether this kernel takes the value: by its own list, by the value it has, by its release.
    #[must_use]
    pub fn takes(&self, tunable: &str, value: &str) -> Answer {
        let Ok(found) = find(tunable) else { return Answer::No };
        let in_grammar = found.canonical(value).and_then(|value| found.descriptor.grammar.check(&value)).is_ok();
        if found.descriptor.grammar != Grammar::Choice {
            return Answer::of(Some(in_grammar));
        }
        if let Some(allowed) = self.allowed.get(tunable) {
            return Answer::of(Some(allowed.iter().any(|word| word == value)));
        }
        let Some((.., since)) = SINCE.iter().find(|(name, word, _)| *name == tunable && *word == value) else {
            return Answer::Yes;
        };
        Answer::of(self.release.map(|release| release >= *since))
    }
}

/// `6.12.0-1-amd64` as numbers.
fn release(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((major, minor, numbers.next().and_then(Result::ok).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kernel: Option<&str>, ancient: bool, allowed: Option<&str>) -> Settings {
        Settings::of(Vec::new(), kernel, ancient, |name| allowed.filter(|_| name == "thp.defrag").map(str::to_owned))
    }

    #[test]
    fn a_value_is_proposed_only_where_the_kernel_has_it() {
        let takes = |settings: &Settings, value| settings.takes("thp.defrag", value);
        let old = of(Some("2.6.32-220.7.1.el6.x86_64"), false, None);
        assert_eq!((takes(&old, "defer+madvise"), takes(&old, "madvise")), (Answer::No, Answer::No));
        assert_eq!(takes(&old, "never"), Answer::Yes);
        assert_eq!(takes(&of(Some("4.11.0"), false, None), "defer+madvise"), Answer::Yes);
        assert_eq!(takes(&of(None, false, None), "defer+madvise"), Answer::Unknown);
        assert_eq!(takes(&of(None, true, None), "defer+madvise"), Answer::No, "a name of 2.6.32 was in the profile");
        let listed = of(Some("2.6.32"), false, Some("always [defer+madvise] never"));
        assert_eq!(takes(&listed, "defer+madvise"), Answer::Yes, "the kernel's own list wins");
        assert_eq!(takes(&listed, "madvise"), Answer::No);
    }

    #[test]
    fn what_a_host_has_is_known_by_name_or_else_by_its_kernel() {
        let recorded =
            |path: &str| Setting { ts: 0, path: path.to_owned(), value: Some("10".to_owned()), by: "start".to_owned() };
        let here = Settings::of(vec![recorded("vm.swappiness")], Some("6.12"), false, |_| None);
        assert_eq!(here.has("vm.swappiness"), Answer::Yes);
        assert_eq!(here.has("mglru.enabled"), Answer::No, "6.12 can be built without");
        assert_eq!(here.has("process.thp"), Answer::Yes, "no recording holds what a job is given");
        let has = |kernel: Option<&str>, name: &str| of(kernel, false, None).has(name);
        assert_eq!((has(Some("4.5"), "mglru.enabled"), has(Some("6.1"), "mglru.enabled")), (Answer::No, Answer::Yes));
        assert_eq!((has(None, "mglru.enabled"), has(None, "vm.swappiness")), (Answer::Unknown, Answer::Yes));
        assert_eq!((has(None, "thp.defrag"), has(None, "process.thp")), (Answer::Yes, Answer::Unknown));
        assert_eq!(has(Some("6.12"), "no.such.thing"), Answer::No);
    }

    #[test]
    fn the_values_of_a_time_are_those_that_were_in_force_in_it() {
        const SECOND: u64 = 1_000_000_000;
        let at = |second: u64, value: Option<&str>| Setting {
            ts: second * SECOND,
            path: "thp.enabled".to_owned(),
            value: value.map(str::to_owned),
            by: "seen".to_owned(),
        };
        let windows = Windows { start: 100 * SECOND, end: 160 * SECOND, width: 10 * SECOND, count: 6 };
        let hits = |which: &[usize]| {
            let answer = |window| Answer::of(Some(which.contains(&window)));
            Hits { answers: (0..6).map(answer).collect(), ..Hits::default() }
        };
        let changes = vec![at(100, Some("always")), at(135, Some("madvise")), at(155, None)];
        let settings = Settings::of(changes, None, false, |_| None);
        let during = |which: &[usize]| settings.during("thp.enabled", &hits(which), &windows);
        assert_eq!(during(&[0, 1]), ["always"]);
        assert_eq!(during(&[2]), ["always", "madvise"], "it may have been so for ten seconds when it is seen");
        assert_eq!(during(&[4]), Vec::<&str>::new(), "and then it was gone, or already");
        assert_eq!(during(&[]), Vec::<&str>::new(), "all of the recording, of which a part is not known");
        assert_eq!(settings.during("thp.defrag", &hits(&[0]), &windows), Vec::<&str>::new());
    }

    #[test]
    fn a_number_outside_of_what_the_kernel_takes_is_not_taken() {
        let settings = of(Some("6.12"), false, None);
        assert_eq!(settings.takes("vm.watermark_scale_factor", "200"), Answer::Yes);
        assert_eq!(settings.takes("vm.watermark_scale_factor", "5000"), Answer::No);
        assert_eq!(settings.takes("vm.no_such_thing", "1"), Answer::No);
    }
}
