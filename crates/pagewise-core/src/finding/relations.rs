//! Which finding follows from which: when two explain the same time, one is the cause and the other what it comes to.
//!
//! The table says how the kernel works, not what was measured: that one thing can bring about the other, and by what. It
//! holds for a recording when both were found and the cause was there for at least half of the time of the other.

use super::answer::Answer;
use super::case::Verdict;
use super::document::{Finding, Link};
use super::observed::Hits;
use super::rule::Rule;

/// What follows, from what, and how: a clause that begins small and has no full stop.
const FOLLOWS: &[(&str, &str, &str)] = &[
    (
        "compaction-storm",
        "fragmentation",
        "free memory lies in pieces, so a huge page has to be made before it can be given",
    ),
    ("mthp-misset", "fragmentation", "free memory lies in pieces, so larger sizes are refused"),
    ("kcompactd-burn", "fragmentation", "there are pieces to join"),
    ("kswapd-saturation", "watermark-boost", "raised watermarks keep it at work although memory is free"),
    ("kswapd-saturation", "swap-thrash", "what it frees comes straight back from swap"),
    ("kswapd-saturation", "page-cache-thrash", "what it drops is read again soon"),
    ("direct-reclaim-stalls", "kswapd-saturation", "kswapd cannot keep up, so programs free memory themselves"),
    (
        "direct-reclaim-stalls",
        "swap-thrash",
        "what comes back from swap needs room, and something has to be freed for it",
    ),
    (
        "direct-reclaim-stalls",
        "page-cache-thrash",
        "what is read again needs room, and something has to be freed for it",
    ),
    ("page-cache-thrash", "watermark-boost", "file data is dropped for watermarks that were raised for fragmentation"),
    ("page-cache-thrash", "swappiness-misuse", "at 0 file data is dropped before anything is swapped"),
    ("page-cache-thrash", "unevictable-memory", "locked memory leaves the page cache too little"),
    ("page-cache-thrash", "hugetlb-waste", "idle huge pages leave the page cache too little"),
    ("page-cache-thrash", "slab-bloat", "the kernel's caches leave the page cache too little"),
    ("page-cache-thrash", "thp-bloat", "memory that huge pages hold in vain is missing in the page cache"),
    ("swap-thrash", "memcg-limit-thrash", "a group at its limit swaps however much the host has free"),
    ("swap-thrash", "swappiness-misuse", "above 100 the kernel swaps before it drops file data"),
    ("swap-thrash", "unevictable-memory", "locked memory leaves the rest too little"),
    ("swap-thrash", "hugetlb-waste", "idle huge pages leave the rest too little"),
    ("swap-thrash", "slab-bloat", "the kernel's caches leave the rest too little"),
    ("swap-thrash", "thp-bloat", "memory that huge pages hold in vain is missing elsewhere"),
    ("oom-risk", "unevictable-memory", "locked memory cannot be reclaimed when it is needed"),
    ("oom-risk", "hugetlb-waste", "idle huge pages cannot be reclaimed when memory is needed"),
    ("oom-risk", "slab-bloat", "the kernel's caches hold what is needed"),
    ("oom-risk", "thp-bloat", "huge pages hold in vain what is needed"),
    ("mmap-lock-contention", "fault-churn", "each mapping that is made and taken down holds the lock"),
    ("tlb-shootdowns", "fault-churn", "what is given back has to be forgotten by the other CPUs"),
    (
        "tlb-shootdowns",
        "numa-imbalance",
        "pages that NUMA balancing takes away or moves have to be forgotten by the other CPUs",
    ),
    ("oom-risk", "shmem-fill", "shared memory and tmpfs hold what is needed"),
    ("swap-thrash", "shmem-fill", "shared memory and tmpfs leave the rest too little"),
    ("page-cache-thrash", "shmem-fill", "shared memory and tmpfs leave the page cache too little"),
    ("oom-risk", "kernel-memory-leak", "what nobody accounts for is missing where it is needed"),
    ("swap-thrash", "kernel-memory-leak", "what nobody accounts for is missing elsewhere"),
    ("slab-bloat", "dying-cgroups", "each group that died keeps objects of its own"),
];

/// The cause has to be there for so much of the time of what follows. Ours.
const MOST_OF_THE_TIME: f64 = 0.5;

/// Says of each finding what it follows from and what it leads to, and puts causes before what follows where both are
/// equally severe.
pub(super) fn relate(findings: &mut Vec<Finding>, judged: &[(&'static Rule, Verdict)]) {
    let hits = |id: &str| {
        judged.iter().find_map(|(rule, verdict)| match verdict {
            Verdict::Found(draft) if rule.id == id => Some(&draft.hits),
            _ => None,
        })
    };
    for (effect, cause, why) in FOLLOWS {
        let (Some(of_effect), Some(of_cause)) = (hits(effect), hits(cause)) else { continue };
        if overlap(of_effect, of_cause) < MOST_OF_THE_TIME {
            continue;
        }
        let title = |id: &str| findings.iter().find(|finding| finding.id == id).map(|finding| finding.title.clone());
        let (Some(effect_title), Some(cause_title)) = (title(effect), title(cause)) else { continue };
        let link = |id: &str, title: String| Link { id: id.to_owned(), title, why: (*why).to_owned() };
        for finding in findings.iter_mut() {
            if finding.id == *effect {
                finding.follows_from.push(link(cause, cause_title.clone()));
            } else if finding.id == *cause {
                finding.leads_to.push(link(effect, effect_title.clone()));
            }
        }
    }
    causes_first(findings);
}

/// The part of the windows of one in which the other holds, too.
fn overlap(effect: &Hits, cause: &Hits) -> f64 {
    let is_hit = |hits: &Hits, window: usize| hits.answers.get(window) == Some(&Answer::Yes);
    let windows: Vec<usize> = (0..effect.answers.len()).filter(|window| is_hit(effect, *window)).collect();
    let both = windows.iter().filter(|window| is_hit(cause, **window)).count();
    if windows.is_empty() { 0.0 } else { both as f64 / windows.len() as f64 }
}

/// The table has no rings, so each round finds one that waits for nobody.
fn causes_first(findings: &mut Vec<Finding>) {
    let mut left = std::mem::take(findings);
    while !left.is_empty() {
        let waits = |finding: &Finding| {
            let is_cause = |other: &&Finding| finding.follows_from.iter().any(|link| link.id == other.id);
            left.iter().filter(|other| other.severity == finding.severity).any(|other| is_cause(&other))
        };
        let most = left[0].severity;
        let next = left.iter().position(|finding| finding.severity == most && !waits(finding)).unwrap_or(0);
        let next = left.remove(next);
        findings.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_names_rules_and_leads_nowhere_back() {
        let known = |id: &str| rules::ALL.iter().any(|rule| rule.id == id);
        let mut seen = BTreeSet::new();
        for (effect, cause, why) in FOLLOWS {
            assert!(known(effect) && known(cause), "{effect} from {cause}");
            assert!(seen.insert((effect, cause)), "{effect} from {cause} stands twice");
            assert!(!why.ends_with('.'), "{why}");
        }
        // Whatever follows from something is taken away as long as anything can be: a ring would stay.
        let mut left: Vec<(&str, &str)> = FOLLOWS.iter().map(|(effect, cause, _)| (*effect, *cause)).collect();
        while !left.is_empty() {
            let before = left.len();
            let effects: BTreeSet<&str> = left.iter().map(|(effect, _)| *effect).collect();
            left.retain(|(_, cause)| effects.contains(cause));
            assert!(left.len() < before, "a ring: {left:?}");
        }
    }

    #[test]
    fn what_happened_at_other_times_is_no_cause() {
        let hits = |windows: &[bool]| Hits {
            answers: windows.iter().map(|hit| Answer::of(Some(*hit))).collect(),
            ..Hits::default()
        };
        assert!((overlap(&hits(&[true, true, false]), &hits(&[true, false, true])) - 0.5).abs() < 1e-12);
        assert_eq!(overlap(&hits(&[false, false]), &hits(&[true, true])), 0.0);
        assert_eq!(overlap(&hits(&[true]), &hits(&[])), 0.0);
    }
}
