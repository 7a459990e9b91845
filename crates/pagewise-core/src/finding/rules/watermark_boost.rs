//! Reclaim that runs for fragmentation while memory is free.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "watermark-boost",
    title: "Watermarks boosted for fragmentation",
    meaning: "The kernel saw allocations mix up its blocks and raised its watermarks, so kswapd frees memory although \
              there is enough. File data is lost for it.",
    thresholds: &[
        Threshold::at_least("windows with a boost", 0.10, Fraction),
        Threshold::at_least("free memory, of the high watermark without its boost", 2.0, Number),
        Threshold::at_least("freed by kswapd", 100.0, PagesPerSecond),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::ZONE_BOOST, &signal::ZONE_FREE, &signal::ZONE_HIGH, &signal::STEAL_KSWAPD],
    tiers: &[Tier::Counters],
    rivals: &["kswapd-saturation", "direct-reclaim-stalls"],
    changes: &[Step::set("vm.watermark_boost_factor", SettingTarget::First(&["0"]), "watermarks stay where they are")],
    counterindications: &["Without the boost huge pages may become rarer over time."],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, watermark_boost_factor",
        "https://bugs.launchpad.net/bugs/1861359",
    ],
    judge,
};

/// The largest boost of a zone, in pages; and what is free there as a multiple of its high watermark without the boost, which
/// the kernel adds to what it prints (`high_wmark_pages`, `include/linux/mmzone.h`, 6.12).
fn boosted(observed: &Observed) -> (Track, Track) {
    let (free, high) = (observed.each_level(&signal::ZONE_FREE), observed.each_level(&signal::ZONE_HIGH));
    let boost = observed.each_level(&signal::ZONE_BOOST);
    let count = observed.windows.count;
    if boost.is_empty() {
        let unknown = Track::unknown(count, observed.missing(&signal::ZONE_BOOST));
        return (unknown.clone(), unknown);
    }
    let at = |tracks: &[(&str, Track)], labels: &str, window: usize| {
        let track = tracks.iter().find(|(other, _)| *other == labels).map(|(_, track)| track);
        track.and_then(|track| track.values().get(window).copied().flatten())
    };
    let mut boosts = Vec::with_capacity(count);
    let mut rooms = Vec::with_capacity(count);
    for window in 0..count {
        let zones = boost.iter().map(|(labels, track)| {
            let (boost, high) = (track.values().get(window).copied().flatten()?, at(&high, labels, window)?);
            Some((boost, at(&free, labels, window)? / (high - boost).max(1.0)))
        });
        let zones = zones.collect::<Option<Vec<(f64, f64)>>>();
        let most = zones.and_then(|zones| zones.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)));
        boosts.push(most.map(|(boost, _)| boost));
        rooms.push(most.map(|(_, room)| room));
    }
    (Track::new(boosts, None), Track::new(rooms, None))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let (boost, room) = boosted(observed);
    let known = boost.values().iter().flatten().count();
    let with = boost.values().iter().flatten().filter(|boost| **boost > 0.0).count();
    let part = (known > 0).then(|| with as f64 / known as f64);
    let (often, line) = case.whole("windows with a boost", "zoneinfo boost", part);
    let room =
        case.clause("free memory, of the high watermark without its boost", "zoneinfo free / (high - boost)", room);
    let freed = case.rate("freed by kswapd", &signal::STEAL_KSWAPD);
    let mut hits = boost.hits(|pages| pages > 0.0).and(&room.hits).and(&freed.hits);
    hits.missing.extend(boost.missing().iter().cloned());
    hits.missing.dedup();
    // A boost lasts until kswapd is done: it comes and goes, so a part of the windows is enough.
    let hit = hits.answers.iter().filter(|answer| **answer == Answer::Yes).count();
    let answer = match often {
        Answer::Yes if hit as f64 >= 0.10 * windows.count as f64 && hit > 0 => Answer::Yes,
        Answer::Unknown => Answer::Unknown,
        _ => Answer::No,
    };
    let mut symptom = case.lasting_hits(Hits::always(answer, windows.count));
    symptom.hits = hits.clone();
    symptom.evidence = vec![line];
    symptom.evidence.extend([&room, &freed].map(|clause| clause.evidence(&hits, windows)));
    case.decide(symptom, Vec::new()).found(|draft| {
        draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        draft.summary = format!(
            "Watermarks were raised in {} of the windows while {} times the high watermark (without what was added to it) was \
             free; kswapd freed {} a second.",
            words::percent(part.unwrap_or(0.0)),
            words::number(room.value(&hits, windows).unwrap_or(0.0)),
            words::bytes(freed.value(&hits, windows).unwrap_or(0.0) * observed.page_size),
        );
    })
}
