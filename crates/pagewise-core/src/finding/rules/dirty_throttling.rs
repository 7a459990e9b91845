//! Writers put to sleep because too much is waiting to be written.

use super::super::rule::{Step, To};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "dirty-throttling",
    title: "Writers are held back",
    meaning: "More data waits to be written than is allowed, so the kernel puts writers to sleep until the disk catches up. \
              Long sleeps come from limits that are far above what the disk writes in a few seconds.",
    thresholds: &[
        Threshold::at_least("dirty pages, of where writers are held back", 0.95, Fraction),
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
            To::Worked(one_second, "what the disk wrote in a second"),
            "writing begins earlier, so that less piles up",
        ),
        Step::set(
            "vm.dirty",
            To::Worked(eight_seconds, "what the disk wrote in eight seconds"),
            "no more is let in than the disk writes in some seconds",
        ),
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

/// What is written per second where it is held back, in whole MiB.
fn disk(look: &Look) -> Option<f64> {
    let most = look.rate(&signal::PAGE_OUT).most()?;
    (most >= 8.0 * 1024.0 * 1024.0).then_some(most)
}

fn mebibytes(look: &Look, seconds: f64) -> Option<String> {
    Some(format!("{:.0}M", (disk(look)? * seconds / (1024.0 * 1024.0)).clamp(16.0, 16_384.0)))
}

fn one_second(look: &Look) -> Option<String> {
    mebibytes(look, 1.0)
}

fn eight_seconds(look: &Look) -> Option<String> {
    mebibytes(look, 8.0)
}

fn judge(case: &Case<'_>) -> Verdict {
    let look = case.look;
    let windows = case.windows();
    let waiting = look.level(&signal::DIRTY).plus(&look.level(&signal::WRITEBACK));
    // Writers run freely up to half-way between both limits (`dirty_freerun_ceiling`), and from there on they are slowed so
    // that the limit itself is never met: a rule that waits for it sees no throttling at all.
    let held_from =
        look.level(&signal::DIRTY_THRESHOLD).plus(&look.level(&signal::DIRTY_BACKGROUND)).map(|sum| sum / 2.0);
    let full = waiting.share_of(&held_from);
    let full = case.clause(
        "dirty pages, of where writers are held back",
        "vmstat nr_dirty, nr_dirty_threshold, nr_dirty_background_threshold",
        full,
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
            words::bytes(waiting.mean(&hits, windows).unwrap_or(0.0) * look.page_size),
            full.value(&hits, windows).map_or_else(|| "most".to_owned(), words::percent),
            words::bytes(written.unwrap_or(0.0)),
        );
    })
}
