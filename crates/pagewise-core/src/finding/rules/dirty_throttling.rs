//! Writers put to sleep because too much is waiting to be written.

use super::super::rule::{SettingTarget, Step};
use super::groups;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "dirty-throttling",
    title: "Writers are held back",
    meaning: "More data waits to be written than is allowed, so the kernel puts writers to sleep until the disk catches up. \
              Limits far above what the disk writes in a few seconds make the sleeps long; limits far below make writers sleep \
              for nothing.",
    thresholds: &[
        Threshold::at_least("dirty pages, of where writers are held back", 0.95, Fraction),
        Threshold::at_least("dirty memory, of where writers are held back by default", 0.95, Fraction),
        Threshold::at_least("time in which some task waited for I/O", 0.05, Fraction),
        Threshold::at_least("time a writer is held back", 0.05, Fraction),
        Threshold::at_least("samples holding writers back", 0.01, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[
        &signal::DIRTY,
        &signal::WRITEBACK,
        &signal::DIRTY_BACKGROUND,
        &signal::DIRTY_THRESHOLD,
        &signal::PAGE_OUT,
        &signal::PSI_IO_SOME,
    ],
    tiers: &[Tier::Counters, Tier::Stacks, Tier::Stalls],
    rivals: &["page-cache-thrash", "swap-thrash", "direct-reclaim-stalls"],
    changes: &[
        Step::set(
            "vm.dirty_background",
            SettingTarget::Worked(|observed| one_second(observed).map(mebibytes), "what the disk wrote in a second"),
            "writing begins earlier, so that less piles up",
        )
        .when("where writing begins later than that", |observed, _| {
            !is_by_another_limit(observed) && one_second(observed).zip(background(observed)).is_some_and(|(to, now)| to < now * SHOWS)
        }),
        Step::set(
            "vm.dirty",
            SettingTarget::Worked(|observed| eight_seconds(observed).map(mebibytes), "what the disk wrote in eight seconds"),
            "no more is let in than the disk writes in some seconds",
        )
        .when("where more is let in", |observed, _| {
            !is_by_another_limit(observed) && eight_seconds(observed).zip(limit(observed)).is_some_and(|(to, now)| to < now * SHOWS)
        }),
        Step::set(
            "vm.dirty",
            SettingTarget::Worked(
                |observed| eight_seconds(observed).map(mebibytes),
                "what the disk wrote in eight seconds, at most a fifth of memory",
            ),
            "the disk always has something to write: the limit is less than it writes in a second",
        )
        .when("where less is let in than the disk writes in a second", |observed, _| {
            !is_by_another_limit(observed) && is_too_low(observed)
        }),
        Step::advice(
            "give the group of the writer more memory (memory.max, memory.high): how much dirty data it may have is vm.dirty_ratio of what it may \
             still use, or as much less as vm.dirty_bytes is of all memory",
        )
        .when("with version 2 of control groups, where the host is far below its limits", |observed, hits| {
            is_by_another_limit(observed) && groups::have_v2(observed, hits)
        }),
        Step::advice("see what it writes to: cat /sys/class/bdi/*/max_ratio; FUSE has 1, and may have strict_limit")
            .when("where the host is far below its limits", |observed, _| is_by_another_limit(observed)),
        Step::advice("write less at once, or to a faster disk"),
    ],
    counterindications: &[
        "Limits that are too small make writers wait always, and the kernel ignores the smallest silently.",
        "Bytes and percent are one setting: setting one clears the other.",
    ],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, dirty_background_bytes and dirty_bytes",
        "mm/page-writeback.c (6.12), dirty_freerun_ceiling",
    ],
    judge,
};

/// Title and meaning where nobody was seen to be held back.
pub(in super::super) const WALKS: (&str, &str) = (
    "The kernel looks for dirty pages all the time",
    "What writes back goes through the page cache of a file for the pages that are marked dirty. Where it finds the same ones over and over, \
     or a few among very many, that alone takes a CPU, and whoever waits for the data to be written waits for it. Large files that are \
     mapped and written, and many calls of fsync or sync_file_range on one of them, do that.",
);

/// The same where the host as a whole is far from holding anybody back.
const BY_ANOTHER_LIMIT: (&str, &str) = (
    "Writers are held back by a limit of their own",
    "The kernel puts writers to sleep although the host has far less dirty data than it allows: with version 2 of control groups a group \
     has limits of its own, which follow from the memory it may use, and a FUSE or network file system may have one of its own, too.",
);

/// Below this part of where the host holds writers back, all the while, it is not the host that does. Ours.
const FAR_BELOW: f64 = 0.5;

/// Dirty pages, of where writers are held back: they run freely up to half-way between both limits (`dirty_freerun_ceiling`), and from there
/// on they are slowed so that the limit itself is never met. A rule that waits for it sees no throttling at all.
fn fullness(observed: &Observed) -> Track {
    let held_from =
        observed.level(&signal::DIRTY_THRESHOLD).plus(&observed.level(&signal::DIRTY_BACKGROUND)).map(|sum| sum / 2.0);
    waiting(observed).share_of(&held_from)
}

/// Pages that are dirty or under way to the disk.
fn waiting(observed: &Observed) -> Track {
    observed.level(&signal::DIRTY).plus(&observed.level(&signal::WRITEBACK))
}

/// Whether somebody else than the host as a whole holds writers back (`balance_dirty_pages` with `mdtc_stor`, `bdi->max_ratio` and
/// `BDI_CAP_STRICTLIMIT`, `mm/page-writeback.c`, 6.12).
fn is_by_another_limit(observed: &Observed) -> bool {
    fullness(observed).most().is_some_and(|most| most < FAR_BELOW)
}

/// Bytes written per second where it is held back.
fn disk(observed: &Observed) -> Option<f64> {
    let most = observed.rate(&signal::PAGE_OUT).most()?;
    (most >= 8.0 * MIB).then_some(most)
}

const MIB: f64 = 1024.0 * 1024.0;

/// A limit has to change by so much to be worth a change. Ours.
const SHOWS: f64 = 0.8;

/// What the disk writes in that time, in bytes: from 16 MiB to 16 GiB, and a fifth of memory at most, which is what the
/// kernel itself allows where nothing is set (`vm_dirty_ratio` of `mm/page-writeback.c`, 6.12).
fn written_in(observed: &Observed, seconds: f64) -> Option<f64> {
    let most = observed.memory().map_or(16_384.0 * MIB, |memory| (memory / 5.0).min(16_384.0 * MIB));
    Some((disk(observed)? * seconds).clamp(16.0 * MIB, most.max(16.0 * MIB)))
}

fn one_second(observed: &Observed) -> Option<f64> {
    written_in(observed, 1.0)
}

fn eight_seconds(observed: &Observed) -> Option<f64> {
    written_in(observed, 8.0)
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.0}M", bytes / MIB)
}

/// Bytes from which on writing begins, as the kernel counts it. It follows from free memory, and so it moves.
fn background(observed: &Observed) -> Option<f64> {
    observed.level(&signal::DIRTY_BACKGROUND).mean_of_all(&observed.windows).map(|pages| pages * observed.page_size)
}

/// Bytes that are never exceeded.
fn limit(observed: &Observed) -> Option<f64> {
    observed.level(&signal::DIRTY_THRESHOLD).mean_of_all(&observed.windows).map(|pages| pages * observed.page_size)
}

/// Whether less is let in than the disk writes in a second. The kernel holds writing in the background to half of the limit
/// (`domain_dirty_limits`), so raising where it begins would change nothing then.
fn is_too_low(observed: &Observed) -> bool {
    one_second(observed).zip(limit(observed)).is_some_and(|(to, now)| now < to)
}

/// From which part of the memory that may be dirty on writers are held back where nobody set the limits (`mm/page-writeback.c`): since 2.6.36 half-way between
/// `dirty_background_ratio` and `vm_dirty_ratio`, 10 and 20; before that at the latter, which was 10 from 2.6.22 to 2.6.29, and 40 before.
fn held_from_by_default(release: Option<(u32, u32, u32)>) -> f64 {
    match release {
        Some(release) if release < (2, 6, 22) => 0.40,
        Some(release) if release < (2, 6, 30) => 0.10,
        Some(release) if release < (2, 6, 36) => 0.20,
        _ => 0.15,
    }
}

/// Other tools print how much is dirty, and not the limits. What may be dirty is free memory and the page cache (`global_dirtyable_memory`). `None`: they do
/// not print it, or it is not so.
fn by_default_limits(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let are_known = observed.has(&signal::DIRTY_THRESHOLD) || observed.settings.value("vm.dirty").is_some();
    // One reading may be a moment in which somebody writes hard.
    if !observed.is_import || are_known || observed.ticks < FEWEST_ROWS || !observed.has(&signal::DIRTY_MEMORY) {
        return None;
    }
    let part = held_from_by_default(observed.settings.release());
    let dirty = observed.level(&signal::DIRTY_MEMORY).plus(&observed.level(&signal::WRITEBACK_MEMORY).or_zero());
    let shared = observed.level(&signal::SHMEM).or_zero();
    let may_be = observed
        .level(&signal::MEM_FREE)
        .plus(&observed.level(&signal::PAGE_CACHE))
        .with(&shared, |all, shared| Some(all - shared));
    let held_from = may_be.map(|bytes| bytes * part);
    let full = case.clause(
        "dirty memory, of where writers are held back by default",
        "meminfo Dirty, MemFree, Cached",
        dirty.share_of(&held_from),
    );
    let symptom = case.lasting(&[&full]);
    if symptom.answer != Answer::Yes {
        return None;
    }
    let hits = symptom.hits.clone();
    let windows = case.windows();
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        draft.missing.push(observed.missing(&signal::DIRTY_THRESHOLD));
        draft.summary = format!(
            "{} waited to be written, {} of what may be: from {} on writers are held back, if the limits are the kernel's own.",
            words::bytes(dirty.mean(&hits, windows).unwrap_or(0.0)),
            dirty.share_of(&may_be).mean(&hits, windows).map_or_else(|| "much".to_owned(), words::percent),
            words::percent(part),
        );
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(verdict) = by_default_limits(case) {
        return verdict;
    }
    let observed = case.observed;
    let windows = case.windows();
    let full = case.clause(
        "dirty pages, of where writers are held back",
        "vmstat nr_dirty, nr_dirty_threshold, nr_dirty_background_threshold",
        fullness(observed),
    );
    // How full it is is seen once a second only; how long writers were held up is measured.
    let always = Hits::always(Answer::Yes, windows.count);
    let held = case.stalls("time a writer is held back", StallKind::DirtyBalance, &always);
    let by_level = case.lasting(&[&full]);
    let symptom = match (by_level.answer, held.answer) {
        (Answer::No, Answer::Yes) => Lasting { evidence: by_level.evidence, ..case.lasting_hits(always) },
        _ => by_level,
    };
    let hits = symptom.hits.clone();
    let io = case.rate("time in which some task waited for I/O", &signal::PSI_IO_SOME);
    let counters = case.counters(&[&io], &hits);
    let stacks = case.stacks("samples holding writers back", Family::DirtyBalance, &[], &hits);
    let stalls = case.stalls("time a writer is held back", StallKind::DirtyBalance, &hits);
    case.decide(symptom, vec![counters, stacks, stalls]).found(|draft| {
        draft.cost.stalled_share = io.value(&hits, windows);
        let written = observed.rate(&signal::PAGE_OUT).mean(&hits, windows);
        draft.summary = format!(
            "{} waited to be written, {} of where writers are held back, while the disk wrote {} a second.",
            words::bytes(waiting(observed).mean(&hits, windows).unwrap_or(0.0) * observed.page_size),
            full.value(&hits, windows).map_or_else(|| "most".to_owned(), words::percent),
            words::bytes(written.unwrap_or(0.0)),
        );
        if is_by_another_limit(observed) {
            draft.other = Some(BY_ANOTHER_LIMIT);
            return;
        }
        if let (Some(limit), Some(disk)) = (limit(observed), disk(observed)) {
            let said = if is_too_low(observed) {
                "less than the disk writes in a second, so writers sleep although it could take more".to_owned()
            } else {
                format!("as much as the disk writes in {}", words::seconds(limit / disk))
            };
            draft.summary.push_str(&format!(" At most {} may wait, {said}.", words::bytes(limit)));
        }
    })
}
