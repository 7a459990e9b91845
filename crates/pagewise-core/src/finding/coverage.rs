//! For how long stacks or stalls were recorded. What was not recorded, lost or thinned denies nothing.

use super::answer::Answer;
use super::observed::{Hits, Windows};
use crate::recording::{Gap, GapReason};

/// How much of a stretch of time was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Seconds in which it was recorded.
    pub seconds: f64,
    /// Seconds in which something can have been there unseen: it was not recorded, some was lost, or only a part was kept.
    pub unseen: f64,
    /// Seconds in which the machine was awake.
    pub awake: f64,
    /// Why not all was seen.
    pub why: Option<String>,
}

/// From when to when, in nanoseconds.
type Stretch = (u64, u64);

impl Coverage {
    /// In the windows that hit, or in all of them where none does, by the gaps of these sources.
    #[must_use]
    pub fn at(sources: &[&str], gaps: &[Gap], over: &Hits, windows: &Windows) -> Coverage {
        let whole = !over.answers.contains(&Answer::Yes);
        let is_hit = |window: &usize| whole || over.answers.get(*window) == Some(&Answer::Yes);
        let hit = (0..windows.count).filter(is_hit).map(|window| (windows.from(window), windows.to(window)));
        let stretches = joined(hit.filter(|(from, to)| from < to));
        // A day has thousands of windows and may have as many gaps.
        let inside = |gap: &Gap| -> Vec<Stretch> {
            let to = gap.to.unwrap_or(u64::MAX);
            let first = stretches.partition_point(|(_, end)| *end <= gap.from);
            let touched = stretches[first..].iter().take_while(|(begin, _)| *begin < to);
            touched.map(|(begin, end)| (gap.from.max(*begin), to.min(*end))).filter(|(from, to)| from < to).collect()
        };
        let (mut asleep, mut blind, mut partly, mut why) = (Vec::new(), Vec::new(), Vec::new(), None);
        for gap in gaps {
            let parts = inside(gap);
            let is_ours = gap.source.as_deref().is_some_and(|source| sources.contains(&source));
            match gap.reason {
                _ if parts.is_empty() => continue,
                GapReason::Suspended => asleep.extend(parts),
                _ if !is_ours => continue,
                GapReason::Lost | GapReason::Thinned => partly.extend(parts),
                _ => blind.extend(parts),
            }
            if is_ours && why.is_none() {
                why =
                    Some(if gap.detail.is_empty() { gap.reason.word().replace('_', " ") } else { gap.detail.clone() });
            }
        }
        let slept = length(asleep.clone());
        blind.extend(asleep);
        let not_recorded = length(blind.clone());
        partly.extend(blind);
        let unseen = length(partly);
        let all: u64 = stretches.iter().map(|(from, to)| to - from).sum();
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        Coverage {
            seconds: seconds(all.saturating_sub(not_recorded)),
            unseen: seconds(unseen.saturating_sub(slept)),
            awake: seconds(all.saturating_sub(slept)),
            why,
        }
    }

    /// Whether it was recorded for so long, or all the while where that is shorter.
    #[must_use]
    pub fn lasts_for(&self, seconds: f64) -> bool {
        self.seconds > 0.0 && self.seconds >= seconds.min(self.awake)
    }

    /// Why not all was seen, in words.
    #[must_use]
    pub fn why_not_all(&self) -> &str {
        self.why.as_deref().unwrap_or("not all of the time was recorded")
    }

    /// The part of the time in which something can have been there unseen, 0 to 1.
    #[must_use]
    pub fn unseen_part(&self) -> f64 {
        if self.awake > 0.0 { (self.unseen / self.awake).min(1.0) } else { 0.0 }
    }
}

/// Windows that follow each other, as one.
fn joined(windows: impl Iterator<Item = Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
    for (from, to) in windows {
        match joined.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// The gaps of a source, of its kinds, and of the whole machine.
#[must_use]
pub fn gaps_of(source: &str, gaps: &[Gap]) -> Vec<Gap> {
    let is_ours = |gap: &&Gap| {
        let is_of = |of: &str| of.strip_prefix(source).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        gap.reason == GapReason::Suspended || gap.source.as_deref().is_some_and(is_of)
    };
    gaps.iter().filter(is_ours).cloned().collect()
}

/// How long stretches are together; where they lie over each other once.
fn length(mut stretches: Vec<Stretch>) -> u64 {
    stretches.sort_unstable();
    let (mut sum, mut until) = (0u64, 0u64);
    for (from, to) in stretches {
        sum = sum.saturating_add(to.saturating_sub(from.max(until)));
        until = until.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn gap(source: Option<&str>, reason: GapReason, from: u64, to: Option<u64>) -> Gap {
        let source = source.map(str::to_owned);
        let to = to.map(|to| to * SECOND);
        Gap { from: from * SECOND, to, source, reason, ticks: None, detail: String::new() }
    }

    fn covered(gaps: &[Gap], answers: &[Answer]) -> (f64, f64, f64) {
        let windows = Windows { start: 100 * SECOND, end: 160 * SECOND, width: 10 * SECOND, count: 6 };
        let hits = Hits { answers: answers.to_vec(), ..Hits::default() };
        let coverage = Coverage::at(&["stalls", "stalls.compaction"], gaps, &hits, &windows);
        (coverage.seconds, coverage.unseen, coverage.awake)
    }

    #[test]
    fn gaps_that_lie_over_each_other_or_outside_are_not_counted_twice() {
        let gaps = [
            gap(Some("stalls"), GapReason::Waiting, 0, Some(110)),
            gap(Some("stalls.compaction"), GapReason::Missing, 105, Some(120)),
            gap(Some("stalls.throttled"), GapReason::Missing, 100, None),
            gap(Some("stacks"), GapReason::Waiting, 0, None),
            gap(Some("stalls"), GapReason::WriterBehind, 155, None),
        ];
        assert_eq!(covered(&gaps, &[]), (35.0, 25.0, 60.0));
        let [yes, no] = [Answer::Yes, Answer::No];
        assert_eq!(covered(&gaps, &[no, yes, yes, no, no, no]), (10.0, 10.0, 20.0), "of the windows that hit");
        assert_eq!(covered(&gaps, &[no, no, yes, no, no, no]), (10.0, 0.0, 10.0));
    }

    #[test]
    fn what_was_lost_or_thinned_was_looked_at_in_part_and_sleep_is_no_time_at_all() {
        let gaps = [
            gap(Some("stalls"), GapReason::Lost, 100, Some(101)),
            gap(Some("stalls"), GapReason::Thinned, 101, Some(105)),
            gap(None, GapReason::Suspended, 110, Some(150)),
            gap(None, GapReason::Late, 150, Some(155)),
            gap(Some("stalls"), GapReason::Waiting, 140, Some(152)),
        ];
        assert_eq!(covered(&gaps, &[]), (18.0, 7.0, 20.0));
    }
}
