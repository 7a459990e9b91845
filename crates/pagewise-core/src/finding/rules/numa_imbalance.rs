//! Memory on the wrong node, or moved between nodes all the time.

use super::super::observed::label;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "numa-imbalance",
    title: "Memory on the wrong node",
    meaning: "Programs use memory of another NUMA node than their own, or the kernel moves it back and forth, or one node \
              is full while another has room. Each access then costs more.",
    thresholds: &[
        Threshold::at_least("allocations that missed their node", 0.05, Fraction),
        Threshold::at_least("allocations in all", 10e6, Number),
        Threshold::at_least("of these, those that missed their node", 0.05, Fraction),
        Threshold::below("hint faults on the own node", 0.80, Fraction),
        Threshold::at_least("hint faults", 100.0, PerSecond),
        Threshold::at_least("memory moved between nodes", 100e6, BytesPerSecond),
        Threshold::at_least("reclaim of the own node", 1.0, PerSecond),
        Threshold::at_least("free on another node while one is short", 0.20, Fraction),
        Threshold::at_least("samples in NUMA balancing", 0.05, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::NUMA_HIT, &signal::NUMA_MISS, &signal::NUMA_HINT_FAULTS, &signal::ZONE_FREE],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["direct-reclaim-stalls"],
    changes: &[
        Step::set(
            "vm.zone_reclaim_mode",
            SettingTarget::First(&["0"]),
            "a node takes memory of another before it reclaims its own",
        )
        .when("where it is known to be on", |observed, _| observed.settings.number("vm.zone_reclaim_mode").is_some()),
        Step::advice("bind the job to a node, or interleave its memory (numactl)"),
        Step::set(
            "kernel.numa_balancing",
            SettingTarget::First(&["0"]),
            "the kernel moves no pages between nodes by itself",
        )
        .from(&["1", "2", "3"])
        .when("where it moves pages or samples where they are used", |observed, hits| {
            let mean = |signal| observed.rate(signal).mean(hits, &observed.windows).unwrap_or(0.0);
            mean(&signal::NUMA_HINT_FAULTS) + mean(&signal::NUMA_MIGRATED) > 0.0
        }),
    ],
    counterindications: &[
        "Advice on kernel.numa_balancing contradicts itself, and rightly: it depends on the job. Prove it.",
    ],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, zone_reclaim_mode",
        "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
    ],
    judge,
};

/// Title and meaning where threads wait for pages that somebody moves, and it was not seen who.
pub(in super::super) const MOVED_PAGES: (&str, &str) = (
    "Page faults wait for pages that are being moved",
    "Whoever touches a page while the kernel moves it waits until it has arrived. NUMA balancing moves pages that are in use, and a page \
     that many threads use holds all of them up; compaction moves pages, too.",
);

/// What `numactl -H` and its like print of nodes, one above the other. Low watermarks are not printed: kswapd is woken on a node before
/// a hundredth of it is free (ours).
fn lopsided_as_printed(observed: &Observed) -> Track {
    const SHORT: f64 = 0.01;
    let total = observed.each_level(&signal::IMPORTED_NODE_TOTAL);
    let parts: Vec<Track> = observed
        .each_level(&signal::IMPORTED_NODE_FREE)
        .iter()
        .filter_map(|(labels, free)| Some(free.share_of(&total.iter().find(|(other, _)| other == labels)?.1)))
        .collect();
    let value = |window: usize| {
        let free =
            parts.iter().map(|part| part.values().get(window).copied().flatten()).collect::<Option<Vec<f64>>>()?;
        let is_short = free.iter().any(|part| *part < SHORT);
        Some(if is_short { free.into_iter().fold(0.0, f64::max) } else { 0.0 })
    };
    Track::new((0..observed.windows.count).map(value).collect(), None)
}

/// Of the windows: free memory of the node that has most, where another is below its low watermark.
fn lopsided(observed: &Observed) -> Track {
    if observed.has(&signal::IMPORTED_NODE_FREE) && !observed.has(&signal::ZONE_FREE) {
        return lopsided_as_printed(observed);
    }
    let by_node = |signal: &signal::Quantity| {
        let mut nodes: BTreeMap<String, Track> = BTreeMap::new();
        for (labels, track) in observed.each_level(signal) {
            let node = label(labels, "node").unwrap_or("").to_owned();
            let sum = nodes.get(&node).map_or_else(|| track.clone(), |sum| sum.plus(&track));
            nodes.insert(node, sum);
        }
        nodes
    };
    let (free, low, size) = (by_node(&signal::ZONE_FREE), by_node(&signal::ZONE_LOW), by_node(&signal::ZONE_MANAGED));
    if free.is_empty() {
        return Track::unknown(observed.windows.count, observed.missing(&signal::ZONE_FREE));
    }
    let at = |nodes: &BTreeMap<String, Track>, node: &String, window: usize| {
        nodes.get(node).and_then(|track| track.values().get(window).copied().flatten())
    };
    let value = |window: usize| {
        let mut is_short = false;
        let mut most = 0.0f64;
        for node in free.keys() {
            let (free, low, size) = (at(&free, node, window)?, at(&low, node, window)?, at(&size, node, window)?);
            is_short |= free < low;
            most = most.max(if size > 0.0 { free / size } else { 0.0 });
        }
        Some(if is_short { most } else { 0.0 })
    };
    Track::new((0..observed.windows.count).map(value).collect(), None)
}

/// `None` where no zone is recorded.
fn nodes(observed: &Observed) -> Option<usize> {
    let printed = observed.each_level(&signal::IMPORTED_NODE_TOTAL);
    let zones = observed.each_level(&signal::ZONE_FREE).into_iter().chain(printed).collect::<Vec<_>>();
    let mut nodes: Vec<&str> = zones.iter().filter_map(|(labels, _)| label(labels, "node")).collect();
    nodes.sort_unstable();
    nodes.dedup();
    (!nodes.is_empty()).then_some(nodes.len())
}

/// Of one reading of the kernel's counters, or of `numastat`.
fn by_totals(case: &Case<'_>) -> Option<Verdict> {
    let (hit, miss) = (case.observed.since_boot(&signal::NUMA_HIT)?, case.observed.since_boot(&signal::NUMA_MISS)?);
    let all = hit + miss;
    let values =
        [("allocations in all", Some(all)), ("of these, those that missed their node", Some(miss / all.max(1.0)))];
    case.since_boot("vmstat numa_hit, numa_miss", values, |[_, part]| {
        format!("{} of all allocations got memory of another node than they wanted", words::percent(part))
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    if let Some(verdict) = by_totals(case) {
        return verdict;
    }
    if nodes(observed) == Some(1) {
        return case.absent("NUMA nodes", Some(1.0), Number);
    }
    let (hit, miss) = (observed.rate(&signal::NUMA_HIT), observed.rate(&signal::NUMA_MISS));
    let misses = case.clause("allocations that missed their node", "vmstat numa_miss", miss.share_of(&hit.plus(&miss)));
    let faults = observed.rate(&signal::NUMA_HINT_FAULTS);
    let often = case.rate("hint faults", &signal::NUMA_HINT_FAULTS);
    let local = observed.rate(&signal::NUMA_HINT_LOCAL).per(&faults);
    let local = case.clause("hint faults on the own node", "vmstat numa_hint_faults_local", local);
    let page = observed.page_size;
    let moved = observed.rate(&signal::NUMA_MIGRATED).map(|pages| pages * page);
    let moved = case.clause("memory moved between nodes", "vmstat numa_pages_migrated", moved);
    let own = observed.rate(&signal::ZONE_RECLAIM_SUCCESS).plus(&observed.rate(&signal::ZONE_RECLAIM_FAILED));
    let own = case.clause("reclaim of the own node", "vmstat zone_reclaim_*", own);
    let uneven = case.clause("free on another node while one is short", "zoneinfo", lopsided(observed));
    let balancing = often.hits.and(&local.hits);
    let all = [&misses.hits, &balancing, &moved.hits, &own.hits, &uneven.hits];
    let none = Hits::always(Answer::No, windows.count);
    // Kernels built without a part of it lack its counters: what is not there does not leave the rest open.
    let is_known = |hits: &Hits| hits.answers.iter().any(|answer| *answer != Answer::Unknown);
    let mut any = all.iter().filter(|hits| is_known(hits)).fold(none, |sum, hits| sum.or(hits));
    if !all.iter().any(|hits| is_known(hits)) {
        any = misses.hits.clone();
    } else if observed.is_import && !is_known(&misses.hits) {
        // What each node has free says nothing of who reads what another one has.
        any = any.or(&misses.hits);
    }
    let mut symptom = case.lasting_hits(any);
    let hits = symptom.hits.clone();
    symptom.evidence = [&misses, &local, &often, &moved, &own, &uneven]
        .map(|clause| clause.evidence(&hits, windows))
        .into_iter()
        .collect();
    let counters = case.counters(&[], &hits);
    let stacks = case.stacks("samples in NUMA balancing", Family::Numa, &[], &hits);
    let share = stacks.share;
    // Wrong placement costs memory accesses, which stacks do not show: their silence speaks against nothing.
    let mechanisms = if stacks.answer == Answer::Yes { vec![counters, stacks] } else { vec![counters] };
    case.decide(symptom, mechanisms).found(|draft| {
        draft.cost.cpu_share = share;
        let lasts = |clause: &&Clause| case.lasting(&[clause]).answer == Answer::Yes;
        let says = [
            (&misses, "allocations got memory of another node"),
            (&moved, "memory is moved between nodes"),
            (&own, "nodes reclaim their own memory while others have room"),
            (&uneven, "one node is short of memory while another has room"),
        ];
        let mut text: Vec<&str> = says.iter().filter(|(clause, _)| lasts(clause)).map(|(_, text)| *text).collect();
        if case.lasting_hits(often.hits.and(&local.hits)).answer == Answer::Yes {
            text.push("programs use memory of another node");
        }
        draft.summary = format!("On {} nodes: {}.", nodes(observed).unwrap_or(0), text.join("; "));
    })
}
