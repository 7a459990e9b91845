//! Control groups that were removed and whose memory is still charged to them.
//!
//! A page of file data or of tmpfs that a group touched first stays its own, whoever uses it now; the group cannot go before its last
//! page does. Each that waits keeps memory for each CPU and caches of its own, and reclaim and statistics walk over all of them.

use super::super::observed::label;
use super::super::rule::Step;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "dying-cgroups",
    title: "Removed control groups pile up",
    meaning: "Control groups were removed, but pages they touched first still belong to them: the kernel keeps each until the last of \
              its pages is reclaimed. They hold memory for each CPU, and every walk over groups has to pass them.",
    thresholds: &[
        Threshold::at_least("removed groups that are kept", 2_000.0, Number),
        Threshold::at_least("removed groups that are kept, for each that lives", 2.0, Number),
        Threshold::at_least("memory groups beyond those of any other controller", 5_000.0, Number),
        Threshold::at_least("memory kept for each CPU", 0.02, Fraction),
        Threshold::at_least("memory of descriptors of object caches", (128u64 << 20) as f64, Bytes),
    ],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[&signal::CGROUPS_DYING, &signal::CGROUPS_LIVING],
    tiers: &[Tier::Counters],
    rivals: &["slab-bloat", "kernel-memory-leak"],
    changes: &[
        Step::advice(
            "see what makes and removes groups all the time (systemd timers and sessions, containers that start over and over, health \
             checks by exec), and let it reuse one group, or run without a memory controller of its own",
        ),
        Step::advice(
            "see whose pages keep them: files in tmpfs and on shared volumes that a short-lived group touched first; have a long-lived \
             parent touch or write them",
        ),
        Step::advice(
            "reclaim the group before it is removed, so that nothing is left to keep it: write a size to memory.reclaim (from 5.19), \
             or memory.force_empty with version 1",
        ),
        Step::advice("count the folders to be sure: find /sys/fs/cgroup/memory -type d | wc -l is how many live")
            .when("with version 1 of control groups", |observed, _| observed.last(&signal::CGROUPS_DYING).is_none()),
    ],
    counterindications: &[
        "Dropping caches (vm.drop_caches) lets many of them go at once and shows that it is this; it is no cure, and what is dropped has \
         to be read again.",
    ],
    docs: &[
        "Documentation/admin-guide/cgroup-v2.rst, cgroup.stat nr_dying_descendants",
        "mm/memcontrol.c (6.12), mem_cgroup_css_offline: kernel memory is handed to the parent, pages of files are not",
        "https://lwn.net/Articles/932070/",
    ],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let dying = observed.level(&signal::CGROUPS_DYING);
    if let Some(verdict) = by_caches(case) {
        return verdict;
    }
    if !observed.has(&signal::CGROUPS_DYING) && !of_v1(observed).is_empty() {
        return match by_controllers(case) {
            // Fewer groups are as costly where somebody reads the statistics of all of them again and again, and a profile shows that.
            Verdict::NotFound(_) if walks_over_all(case) => unknown(observed),
            verdict => verdict,
        };
    }
    let living = observed.level(&signal::CGROUPS_LIVING);
    let many = case.clause("removed groups that are kept", "cgroup.stat nr_dying_descendants", dying.clone());
    let most = case.clause(
        "removed groups that are kept, for each that lives",
        "cgroup.stat",
        dying.per(&living.map(|groups| groups.max(1.0))),
    );
    let symptom = case.lasting(&[&many, &most]);
    let hits = symptom.hits.clone();
    case.decide(symptom, Vec::new()).found(|draft| {
        costs(case, draft);
        let mean =
            |clause: &Clause| clause.value(&hits, case.windows()).map_or_else(|| "many".to_owned(), words::number);
        let live = living.mean(&hits, case.windows()).map_or_else(|| "the".to_owned(), words::number);
        draft.summary.insert_str(
            0,
            &format!("{} control groups were removed and are still kept, beside {live} that live.", mean(&many)),
        );
    })
}

/// From 3.8 to 5.8 each group of memory had object caches of its own (`mm/slab_common.c`, `memcg_create_kmem_cache`), and kept them when it was
/// removed: a table of caches then has a million descriptors where a host has some hundred. `None`: it has not, or groups are counted.
fn by_caches(case: &Case<'_>) -> Option<Verdict> {
    const SOURCE: &str = "import slab_cache";
    let observed = case.observed;
    if observed.has(&signal::CGROUPS_DYING) {
        return None;
    }
    let is_descriptors = |(labels, _): &(&str, Track)| label(labels, "cache") == Some("kmem_cache");
    let (_, held) = observed.each_level(&signal::SLAB_CACHES).into_iter().find(is_descriptors)?;
    let many = case.clause("memory of descriptors of object caches", SOURCE, held);
    let symptom = case.lasting(&[&many]);
    let hits = symptom.hits.clone();
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        let held = many.value(&hits, case.windows()).map_or_else(|| "much memory".to_owned(), words::bytes);
        draft.summary = format!(
            "Descriptors of object caches alone take {held}: on kernels before 5.9 each control group has caches of its own, and many \
             thousand groups live or were removed and are still kept."
        );
        draft.missing.push(observed.missing(&signal::CGROUPS_DYING));
    })
}

/// Controllers of version 1 and how many groups each has, living or not.
fn of_v1(observed: &Observed) -> Vec<(&str, Track)> {
    let all = observed.each_level(&signal::CGROUPS_OF_CONTROLLER);
    all.into_iter()
        .filter_map(|(labels, track)| Some((super::super::observed::label(labels, "controller")?, track)))
        .collect()
}

/// Whether a profile has much of going through all groups.
fn walks_over_all(case: &Case<'_>) -> bool {
    let everywhere = Hits::always(Answer::Yes, case.windows().count);
    let threshold = Threshold::at_least("going through all groups", 0.10, Fraction);
    case.stacks_against(threshold, Family::CgroupWalk, &[Family::Reclaim], &everywhere).answer == Answer::Yes
}

/// Not decided: how many died is not known.
fn unknown(observed: &Observed) -> Verdict {
    Verdict::NotDecided {
        missing: vec![observed.missing(&signal::CGROUPS_DYING)],
        needs_seconds: None,
        evidence: Vec::new(),
    }
}

/// Version 1 does not tell who died. But groups are mostly made in all hierarchies at once, and only those of memory are kept: many
/// more there than in any other are those that died.
fn by_controllers(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let all = of_v1(observed);
    let Some((_, memory)) = all.iter().find(|(controller, _)| *controller == "memory") else {
        return unknown(observed);
    };
    let none = Track::constant(0.0, case.windows().count);
    let others = all.iter().filter(|(controller, _)| *controller != "memory");
    let most = others.fold(none, |most, (_, groups)| most.with(groups, |a, b| Some(a.max(b))));
    let beyond = memory.with(&most, |memory, others| Some((memory - others).max(0.0)));
    let many = case.clause("memory groups beyond those of any other controller", "/proc/cgroups", beyond);
    let symptom = case.lasting(&[&many]);
    let hits = symptom.hits.clone();
    case.decide(symptom, Vec::new()).found(|draft| {
        costs(case, draft);
        draft.confidence = Some(Confidence::Low);
        let mean = |track: &Track| track.mean(&hits, case.windows()).map_or_else(|| "many".to_owned(), words::number);
        draft.summary.insert_str(
            0,
            &format!(
                "The memory controller has {} groups, any other {} at most: most of them were probably removed and are still kept.",
                mean(memory),
                mean(&most),
            ),
        );
        let why = "version 1 of control groups does not count those that died";
        draft.missing.push(Missing { what: "removed groups".to_owned(), why: why.to_owned() });
    })
}

/// What they hold, as far as it is told from what others hold: memory for each CPU is mostly theirs where there is much of it.
fn costs(case: &Case<'_>, draft: &mut Draft) {
    let observed = case.observed;
    let mean = |track: Track| track.mean(&draft.hits, case.windows());
    let percpu = mean(observed.share_of_memory(&observed.level(&signal::PERCPU)));
    let slab = mean(observed.share_of_memory(&observed.level(&signal::SLAB_UNRECLAIMABLE)));
    let (much, line) = case.whole("memory kept for each CPU", "meminfo Percpu", percpu);
    draft.evidence.push(line);
    draft.evidence.push(said("meminfo SUnreclaim", "unreclaimable slab", slab, Fraction));
    draft.cost.memory_share = percpu.filter(|_| much == Answer::Yes);
    if let Some(percpu) = percpu.filter(|_| much == Answer::Yes) {
        draft.summary = format!(" {} of the memory is kept for each CPU, much of it for them.", words::percent(percpu));
    }
}
