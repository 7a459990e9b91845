//! Writers put to sleep because too much is waiting to be written.

use super::super::rule::{Step, To};
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
            To::Worked(|look| one_second(look).map(mebibytes), "what the disk wrote in a second"),
            "writing begins earlier, so that less piles up",
        )
        .when("where writing begins later than that", |look, _| {
            !is_by_another_limit(look) && one_second(look).zip(background(look)).is_some_and(|(to, now)| to < now * SHOWS)
        }),
        Step::set(
            "vm.dirty",
            To::Worked(|look| eight_seconds(look).map(mebibytes), "what the disk wrote in eight seconds"),
            "no more is let in than the disk writes in some seconds",
        )
        .when("where more is let in", |look, _| {
            !is_by_another_limit(look) && eight_seconds(look).zip(limit(look)).is_some_and(|(to, now)| to < now * SHOWS)
        }),
        Step::set(
            "vm.dirty",
            To::Worked(
                |look| eight_seconds(look).map(mebibytes),
                "what the disk wrote in eight seconds, at most a fifth of memory",
            ),
            "the disk always has something to write: the limit is less than it writes in a second",
        )
        .when("where less is let in than the disk writes in a second", |look, _| {
            !is_by_another_limit(look) && is_too_low(look)
        }),
        Step::advice(
            "give the group of the writer more memory (memory.max, memory.high): how much dirty data it may have is vm.dirty_ratio of what it may \
             still use, or as much less as vm.dirty_bytes is of all memory",
        )
        .when("with version 2 of control groups, where the host is far below its limits", |look, hits| {
            is_by_another_limit(look) && groups::have_v2(look, hits)
        }),
        Step::advice("see what it writes to: cat /sys/class/bdi/*/max_ratio; FUSE has 1, and may have strict_limit")
            .when("where the host is far below its limits", |look, _| is_by_another_limit(look)),
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
fn fullness(look: &Look) -> Track {
    let held_from =
        look.level(&signal::DIRTY_THRESHOLD).plus(&look.level(&signal::DIRTY_BACKGROUND)).map(|sum| sum / 2.0);
    waiting(look).share_of(&held_from)
}

/// Pages that are dirty or under way to the disk.
fn waiting(look: &Look) -> Track {
    look.level(&signal::DIRTY).plus(&look.level(&signal::WRITEBACK))
}

/// Whether somebody else than the host as a whole holds writers back (`balance_dirty_pages` with `mdtc_stor`, `bdi->max_ratio` and
/// `BDI_CAP_STRICTLIMIT`, `mm/page-writeback.c`, 6.12).
fn is_by_another_limit(look: &Look) -> bool {
    fullness(look).most().is_some_and(|most| most < FAR_BELOW)
}

/// Bytes written per second where it is held back.
fn disk(look: &Look) -> Option<f64> {
    let most = look.rate(&signal::PAGE_OUT).most()?;
    (most >= 8.0 * MIB).then_some(most)
}

const MIB: f64 = 1024.0 * 1024.0;

/// A limit has to change by so much to be worth a change. Ours.
const SHOWS: f64 = 0.8;

/// What the disk writes in that time, in bytes: from 16 MiB to 16 GiB, and a fifth of memory at most, which is what the
/// kernel itself allows where nothing is set (`vm_dirty_ratio` of `mm/page-writeback.c`, 6.12).
fn written_in(look: &Look, seconds: f64) -> Option<f64> {
    let most = look.memory().map_or(16_384.0 * MIB, |memory| (memory / 5.0).min(16_384.0 * MIB));
    Some((disk(look)? * seconds).clamp(16.0 * MIB, most.max(16.0 * MIB)))
}

fn one_second(look: &Look) -> Option<f64> {
    written_in(look, 1.0)
}

fn eight_seconds(look: &Look) -> Option<f64> {
    written_in(look, 8.0)
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.0}M", bytes / MIB)
}

/// Bytes from which on writing begins, as the kernel counts it. It follows from free memory, and so it moves.
fn background(look: &Look) -> Option<f64> {
    look.level(&signal::DIRTY_BACKGROUND).mean_of_all(&look.windows).map(|pages| pages * look.page_size)
}

/// Bytes that are never exceeded.
fn limit(look: &Look) -> Option<f64> {
    look.level(&signal::DIRTY_THRESHOLD).mean_of_all(&look.windows).map(|pages| pages * look.page_size)
}

/// Whether less is let in than the disk writes in a second. The kernel holds writing in the background to half of the limit
/// (`domain_dirty_limits`), so raising where it begins would change nothing then.
fn is_too_low(look: &Look) -> bool {
    one_second(look).zip(limit(look)).is_some_and(|(to, now)| now < to)
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
    let look = case.look;
    let are_known = look.has(&signal::DIRTY_THRESHOLD) || look.settings.value("vm.dirty").is_some();
    // One reading may be a moment in which somebody writes hard.
    if !look.is_import || are_known || look.ticks < FEWEST_ROWS || !look.has(&signal::DIRTY_MEMORY) {
        return None;
    }
    let part = held_from_by_default(look.settings.release());
    let dirty = look.level(&signal::DIRTY_MEMORY).plus(&look.level(&signal::WRITEBACK_MEMORY).or_zero());
    let shared = look.level(&signal::SHMEM).or_zero();
    let may_be = look
        .level(&signal::MEM_FREE)
        .plus(&look.level(&signal::PAGE_CACHE))
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
        draft.missing.push(look.missing(&signal::DIRTY_THRESHOLD));
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
    let look = case.look;
    let windows = case.windows();
    let full = case.clause(
        "dirty pages, of where writers are held back",
        "vmstat nr_dirty, nr_dirty_threshold, nr_dirty_background_threshold",
        fullness(look),
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
        let written = look.rate(&signal::PAGE_OUT).mean(&hits, windows);
        draft.summary = format!(
            "{} waited to be written, {} of where writers are held back, while the disk wrote {} a second.",
            words::bytes(waiting(look).mean(&hits, windows).unwrap_or(0.0) * look.page_size),
            full.value(&hits, windows).map_or_else(|| "most".to_owned(), words::percent),
            words::bytes(written.unwrap_or(0.0)),
        );
        if is_by_another_limit(look) {
            draft.other = Some(BY_ANOTHER_LIMIT);
            return;
        }
        if let (Some(limit), Some(disk)) = (limit(look), disk(look)) {
            let said = if is_too_low(look) {
                "less than the disk writes in a second, so writers sleep although it could take more".to_owned()
            } else {
                format!("as much as the disk writes in {}", words::seconds(limit / disk))
            };
            draft.summary.push_str(&format!(" At most {} may wait, {said}.", words::bytes(limit)));
        }
    })
}
