//! A control group at its limit, on a host that looks healthy.

use super::super::observed::label;
use super::super::propose::advice;
use super::super::rule::Step;
use super::groups;
use super::prelude::*;

const RAISE_V2: &str =
    "raise memory.high or memory.max of the group, or give the job in it less (a JVM: heap and off-heap)";
const RAISE_V1: &str =
    "raise memory.limit_in_bytes of the group, or give the job in it less (a JVM: heap and off-heap)";

pub(super) const RULE: Rule = Rule {
    id: "memcg-limit-thrash",
    title: "A control group at its memory limit",
    meaning: "A group of processes is at the memory limit of its control group, so each of its allocations frees memory or \
              is delayed, however much the host has.",
    thresholds: &[
        Threshold::above("times over memory.high or at memory.max", 1.0, PerSecond),
        Threshold::at_least("time in which the whole group waited", 0.05, Fraction),
        Threshold::at_least("samples in a group's limit", 0.05, Fraction),
        Threshold::at_least("time a process reclaims in its group", 0.05, Fraction),
        Threshold::at_least("processes killed at the limit of their group", 1.0, Number),
        Threshold::at_least("free on the host all the while, of memory", super::room::ROOM, Fraction),
        Threshold::at_least("allocations that the limit of their group refused", 1.0, Number),
        Threshold::at_least("in use, of the limit, in one reading", 0.97, Fraction),
        Threshold::below("page cache that could go, of the limit, in one reading", 0.10, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::CGROUP_HIGH, &signal::CGROUP_MAX, &signal::CGROUP_FAILCNT, &signal::CGROUP_FULL],
    tiers: &[Tier::Counters, Tier::Stacks, Tier::Stalls],
    rivals: &["direct-reclaim-stalls", "swap-thrash"],
    changes: &[
        Step::advice(
            "see in the kernel's log who was killed and in which group: dmesg | grep -i -e oom -e 'killed process'",
        )
        .when("where the log is not at hand", |observed, _| {
            observed.growth(&signal::OOM_KILL).is_some_and(|kills| kills > 0.0)
        }),
        Step::advice(RAISE_V2)
            .when("with version 2 of control groups, where groups are not counted", |observed, hits| {
                !counts_groups(observed) && groups::have_v2(observed, hits)
            }),
        Step::advice(RAISE_V1)
            .when("with version 1 of control groups, where groups are not counted", |observed, hits| {
                !counts_groups(observed) && groups::have_v1(observed, hits)
            }),
        Step::advice("protect it with memory.low where other groups take its memory")
            .when(groups::WHERE, groups::have_v2),
    ],
    counterindications: &[
        "Where there is memory.high (version 2) it delays a task by up to two seconds each time: it is meant to hurt the one that grows.",
    ],
    docs: &[
        "Documentation/admin-guide/cgroup-v2.rst, memory.high",
        "mm/memcontrol.c (6.12), mem_cgroup_handle_over_high",
    ],
    judge,
};

/// From here on version 1 means that there is no limit.
const NO_LIMIT: f64 = (1u64 << 60) as f64;

/// Title and meaning where somebody was killed, on a host that had room.
const KILLED: (&str, &str) = (
    "Killed at the memory limit of a control group",
    "The kernel killed a process for want of memory while the host had plenty: the control group it was in had reached its limit, and \
     nothing in it could be freed.",
);

fn judge(case: &Case<'_>) -> Verdict {
    let verdict = by_groups(case);
    if matches!(verdict, Verdict::Found(_)) {
        return verdict;
    }
    killed_beside_free_memory(case).unwrap_or(verdict)
}

/// The kernel counts all it kills in one number (`mm/oom_kill.c`, `__oom_kill_process`), whose limit was met or not. `None`: nobody was, or the
/// host may have been short itself.
fn killed_beside_free_memory(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let kills = observed.growth(&signal::OOM_KILL);
    let (dies, line) = case.whole("processes killed at the limit of their group", "vmstat oom_kill", kills);
    let least = observed.least(&signal::MEM_FREE);
    let room =
        case.clause("free on the host all the while, of memory", "meminfo MemFree", observed.share_of_memory(&least));
    let is_ample = !room.hits.answers.is_empty() && room.hits.answers.iter().all(|answer| *answer == Answer::Yes);
    // A killing at a group's limit prints no zones (`dump_header`, mm/oom_kill.c): those of a killing for want of the host's memory are there,
    // and one of them had none left, whatever is free in another.
    let is_of_the_host =
        !observed.each_level(&signal::ZONE_MIN).is_empty() && observed.tools.iter().any(|tool| tool == "kernel-log");
    if dies != Answer::Yes || !is_ample || is_of_the_host {
        return None;
    }
    let mut symptom = case.lasting_hits(Hits::always(Answer::Yes, case.windows().count));
    symptom.evidence = vec![line, room.evidence(&symptom.hits, case.windows())];
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.other = Some(KILLED);
        draft.at_least = Some(Severity::High);
        let free = least.values().iter().flatten().copied().fold(f64::INFINITY, f64::min);
        draft.summary = format!(
            "{} for want of memory, and the host never had less than {} free: the limit of a control group was met{}.",
            words::were_killed(kills.unwrap_or(0.0)),
            words::bytes(free),
            if observed.each_level(&signal::NODE_ANON).len() > 1 { ", or the nodes it may use were full" } else { "" },
        );
        draft.missing.push(observed.missing(&signal::CGROUP_OOM));
        raise_some_limit(observed, draft);
    }))
}

/// What stacks and stalls say of reclaim within groups.
fn measured(case: &Case<'_>, hits: &Hits) -> (TierAnswer, TierAnswer) {
    let stacks = case.stacks("samples in a group's limit", Family::CgroupReclaim, &[], hits);
    (stacks, case.stalls("time a process reclaims in its group", StallKind::CgroupReclaim, hits))
}

fn by_groups(case: &Case<'_>) -> Verdict {
    let most = most_often_at_its_limit(case);
    let verdict = most.as_ref().map(|(labels, clause)| of_group(case, labels, clause));
    let sees_all = sees_all(case.observed);
    if let Some(verdict) = verdict.filter(|verdict| sees_all || matches!(verdict, Verdict::Found(_))) {
        return verdict;
    }
    if most.is_none() && sees_all && case.observed.level(&signal::CGROUPS_LIMITED).most() == Some(0.0) {
        return case.absent("control groups with a limit", Some(0.0), Number);
    }
    if let Some(verdict) = by_reading(case) {
        return verdict;
    }
    without_counters(case, most.is_some())
}

/// Whether groups are counted by name: what is proposed then begins with the one that met its limit most often.
fn counts_groups(observed: &Observed) -> bool {
    let counted = [&signal::CGROUP_HIGH, &signal::CGROUP_MAX, &signal::CGROUP_FAILCNT];
    counted.into_iter().any(|signal| !observed.each_rate(signal).is_empty())
}

/// What the steps of the rule leave out where groups are counted, for a finding that names none of those.
fn raise_some_limit(observed: &Observed, draft: &mut Draft) {
    if counts_groups(observed) {
        let raise = if groups::have_v2(observed, &draft.hits) { RAISE_V2 } else { RAISE_V1 };
        draft.changes.push(advice(raise, false));
    }
}

/// Whether the counters of every group with a limit are there. A listing tells of the groups it is about.
fn sees_all(observed: &Observed) -> bool {
    observed.is_import || observed.level(&signal::CGROUPS_LEFT_OUT).most() == Some(0.0)
}

/// The group that met its limits most often, and how often.
fn most_often_at_its_limit<'a>(case: &Case<'a>) -> Option<(&'a str, Clause)> {
    let observed = case.observed;
    let highs = observed.each_rate(&signal::CGROUP_HIGH);
    let mut maxes = observed.each_rate(&signal::CGROUP_MAX);
    maxes.extend(observed.each_rate(&signal::CGROUP_FAILCNT));
    let over = |labels: &str| {
        let of = |tracks: &[(&str, Track)]| {
            tracks.iter().find(|(other, _)| *other == labels).map(|(_, track)| track.clone())
        };
        match (of(&highs), of(&maxes)) {
            (Some(high), Some(max)) => Some(high.plus(&max)),
            (one, other) => one.or(other),
        }
    };
    let groups = highs.iter().chain(&maxes).filter_map(|(labels, _)| {
        let track = over(labels)?;
        Some((*labels, case.clause("times over memory.high or at memory.max", "cgroup memory.events", track)))
    });
    let rate = |clause: &Clause| clause.track.mean_of_all(case.windows()).unwrap_or(-1.0);
    groups.max_by(|(_, a), (_, b)| rate(a).total_cmp(&rate(b)))
}

/// Stacks and stalls can still show it, and what others have counted. `are_some_seen`: there are counters of a group that do not show it.
fn without_counters(case: &Case<'_>, are_some_seen: bool) -> Verdict {
    let (observed, windows) = (case.observed, case.windows());
    let (stacks, stalls) = measured(case, &Hits::always(Answer::Yes, windows.count));
    let share = stacks.share;
    // A log of the kernel tells who was killed because nothing could be freed.
    let kills = observed.each_growth(&signal::CGROUP_OOM);
    let killed = (!kills.is_empty()).then(|| kills.iter().map(|(_, count)| count).sum::<f64>());
    let (dies, line) = case.whole("processes killed at the limit of their group", "cgroup memory.events", killed);
    // Or whom it gave nothing.
    let refused = observed.growth(&signal::FAILED_IN_GROUP);
    let name = "allocations that the limit of their group refused";
    let (refuses, refused_line) = case.whole(name, "import failed_in_group", refused);
    let told = |is_told: bool, answer: Answer| if is_told { answer } else { Answer::No };
    let shows = stacks.answer.or(stalls.answer).or(told(killed.is_some(), dies)).or(told(refused.is_some(), refuses));
    let mut symptom = case.lasting_hits(Hits::always(shows, windows.count));
    symptom.hits.missing.push(if are_some_seen {
        Missing {
            what: "how often other groups met their limit".to_owned(),
            why: "of the groups that have one not all were recorded".to_owned(),
        }
    } else {
        observed.missing(&signal::CGROUP_HIGH)
    });
    let logged = |answer, line| TierAnswer {
        tier: Tier::Counters,
        answer,
        evidence: vec![line],
        missing: Vec::new(),
        who: Vec::new(),
        share: None,
    };
    let mut mechanisms = vec![stacks, stalls];
    mechanisms.extend(killed.is_some().then(|| logged(dies, line)));
    mechanisms.extend(refused.is_some().then(|| logged(refuses, refused_line)));
    case.decide(symptom, mechanisms).found(|draft| {
        draft.cost.cpu_share = share;
        draft.summary = "Programs free memory within the limit of their control group.".to_owned();
        if let Some(refused) = refused.filter(|_| refuses == Answer::Yes) {
            draft.summary =
                format!("The limit of a control group refused {} allocations of the kernel.", words::number(refused));
        }
        if let Some(killed) = killed.filter(|_| dies == Answer::Yes) {
            draft.summary = format!("{} at the memory limit of a control group.", words::were_killed(killed));
            draft.at_least = Some(Severity::Medium);
            let known =
                kills.iter().filter_map(|(labels, _)| label(labels, "cgroup")).filter(|name| *name != "not told");
            draft.who.extend(known.take(3).map(|name| Participant {
                name: name.to_owned(),
                pid: None,
                share: None,
                of: "control group".to_owned(),
            }));
        }
        raise_some_limit(observed, draft);
        where_the_host_has_room(case, draft);
    })
}

fn name_of(labels: &str) -> &str {
    label(labels, "cgroup").or_else(|| label(labels, "path")).unwrap_or(labels)
}

fn of_group(case: &Case<'_>, labels: &str, clause: &Clause) -> Verdict {
    let (observed, windows) = (case.observed, case.windows());
    let group = name_of(labels).to_owned();
    let symptom = case.lasting(&[clause]);
    let hits = symptom.hits.clone();
    let full = observed.each_rate(&signal::CGROUP_FULL).into_iter().find(|(other, _)| *other == labels);
    let (stacks, stalls) = measured(case, &hits);
    let share = stacks.share;
    let mut mechanisms = vec![stacks, stalls];
    if let Some((_, full)) = full {
        let full = case.clause("time in which the whole group waited", "cgroup memory.pressure", full);
        mechanisms.insert(0, case.counters(&[&full], &hits));
    } else {
        mechanisms.insert(0, case.counters(&[], &hits));
    }
    case.decide(symptom, mechanisms).found(|draft| {
        draft.cost.cpu_share = share;
        draft.at_least = Some(Severity::Medium);
        draft
            .who
            .insert(0, Participant { name: group.clone(), pid: None, share: None, of: "control group".to_owned() });
        let limits =
            if groups::have_v2(observed, &hits) { "memory.high and memory.max" } else { "memory.limit_in_bytes" };
        let limit = observed.each_level(&signal::CGROUP_LIMIT).into_iter().find(|(other, _)| *other == labels);
        let limit = limit.and_then(|(_, track)| track.mean(&hits, windows)).filter(|limit| *limit < NO_LIMIT);
        let file = if groups::have_v2(observed, &hits) { "memory.max" } else { "memory.limit_in_bytes" };
        let how = limit.and_then(|limit| doubled(observed, &group, file, limit, &hits)).unwrap_or_default();
        let raise = format!("raise {limits} of {group}{how}, or give the job in it less memory");
        draft.changes.push(advice(&raise, false));
        draft.summary = format!(
            "The control group {group} met its memory limit{} {} times a second.",
            limit.map_or_else(String::new, |limit| format!(" of {}", words::bytes(limit))),
            words::number(clause.value(&hits, windows).unwrap_or(0.0)),
        );
        where_the_host_has_room(case, draft);
    })
}

/// The command that doubles a limit, where the host has so much to give. `None`: it has not, or the group has a name that a shell would read otherwise.
fn doubled(observed: &Observed, group: &str, file: &str, limit: f64, hits: &Hits) -> Option<String> {
    let is_plain = group.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.:@".contains(c)) && group.starts_with('/');
    let is_there = observed.available().mean(hits, &observed.windows).is_some_and(|available| available > limit);
    let mib = (limit / f64::from(1 << 20)) as u64 * 2;
    (is_plain && is_there && mib > 0).then(|| {
        format!(" (twice as much: pagewise set 'cgroup[{group}].{file}={mib}M'; pagewise revert puts it back)")
    })
}

/// One reading of a group's files has no rate: that it is full, and of what, is all they say. A group that is full of page cache is as it
/// should be; one that is full of what cannot be reclaimed is at its end. `None`: there is none such.
fn by_reading(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let of = |signal, labels: &str| {
        observed.each_level(signal).into_iter().find(|(other, _)| *other == labels).map(|(_, track)| track)
    };
    let full = |labels: &str, limit: &Track| {
        const USED: &str = "in use, of the limit, in one reading";
        // What docker prints has no page cache that was used once.
        if let Some(used) = of(&signal::CONTAINER_USED, labels) {
            return Some((case.clause(USED, "docker stats", used.share_of(limit)), None));
        }
        // A `memory.stat` alone has its parts.
        let of_parts = || Some(of(&signal::CGROUP_ANON, labels)?.plus(&of(&signal::CGROUP_FILE, labels)?));
        let used = of(&signal::CGROUP_USAGE, labels).or_else(of_parts)?;
        let used = case.clause(USED, "cgroup memory files", used.share_of(limit));
        let shared = of(&signal::CGROUP_SHARED, labels).unwrap_or_else(|| Track::constant(0.0, case.windows().count));
        let files = of(&signal::CGROUP_FILE, labels)?.with(&shared, |files, shared| Some((files - shared).max(0.0)));
        let files = case.clause(
            "page cache that could go, of the limit, in one reading",
            "cgroup memory.stat",
            files.share_of(limit),
        );
        Some((used, Some(files)))
    };
    let own = observed.each_level(&signal::CGROUP_LIMIT);
    let limits = own.into_iter().chain(observed.each_level(&signal::CGROUP_LEAST_LIMIT));
    let limited = limits
        .filter(|(_, limit)| observed.is_import && limit.most().is_some_and(|most| most > 0.0 && most < NO_LIMIT));
    let mut all = limited.filter_map(|(labels, limit)| Some((labels.to_owned(), full(labels, &limit)?)));
    let hits_of = |used: &Clause, files: Option<&Clause>| match files {
        Some(files) => used.hits.and(&files.hits),
        None => used.hits.clone(),
    };
    let (labels, (used, files)) =
        all.find(|(_, (used, files))| hits_of(used, files.as_ref()).answers.contains(&Answer::Yes))?;
    let clauses: Vec<&Clause> = std::iter::once(&used).chain(&files).collect();
    let symptom = case.lasting(&clauses);
    let hits = symptom.hits.clone();
    let name = label(&labels, "cgroup").unwrap_or("not told").to_owned();
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        let part = |clause: &Clause| clause.value(&hits, case.windows()).map_or_else(|| "much".to_owned(), words::percent);
        let cache = match &files {
            Some(files) => format!("and page cache that could go is {} of it", part(files)),
            None => "beside page cache that was used once".to_owned(),
        };
        draft.summary = format!(
            "A control group uses {} of its limit, {cache}: each of its allocations has to find something else to reclaim, or fails.",
            part(&used),
        );
        draft.missing.push(observed.missing(&signal::CGROUP_MAX));
        if name != "not told" {
            draft.who.push(Participant { name, pid: None, share: None, of: "control group".to_owned() });
        }
        where_the_host_has_room(case, draft);
    })
}

/// Then all waiting for memory is within the group.
fn where_the_host_has_room(case: &Case<'_>, draft: &mut Draft) {
    let observed = case.observed;
    let Some(free) = super::room::free(observed, &draft.hits) else { return };
    draft.evidence.push(said("meminfo MemFree", "free on the host", Some(free), Bytes));
    draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&draft.hits, case.windows());
    draft.summary.push_str(&format!(" The host itself has {} free.", words::bytes(free)));
}
