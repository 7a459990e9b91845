//! Free memory lies in pieces too small for what is asked for.

use super::super::observed::label;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;
use crate::import::COSTLY;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "fragmentation",
    title: "Fragmented memory",
    meaning: "What is free lies in pieces too small for a huge page, so the kernel compacts or gives small pages instead. \
              It grows worse with uptime and with a full page cache.",
    thresholds: &[
        Threshold::above(INDEX, 0.5, Number)
            .documented("vm.extfrag_threshold, Documentation/admin-guide/sysctl/vm.rst"),
        Threshold::above("free memory unusable for a huge page", 0.90, Fraction).documented(
            "the mark of proactive compaction at its default of 20, mm/compaction.c (6.12), fragmentation_score_wmark",
        ),
        Threshold::at_least("huge pages refused at faults", 0.5, Fraction),
        Threshold::at_least("huge pages refused", 0.1, PerSecond),
        Threshold::at_least("free memory", 0.05, Fraction),
        Threshold::at_least("free memory, where memory's size is not known", PLENTY, Bytes),
        Threshold::below("of this, in blocks of 16 pages and more", 0.01, Fraction),
        Threshold::at_least("allocations of a large block that failed", 1.0, Number),
        Threshold::at_least("memory that could be had when they failed", 0.10, Fraction),
        Threshold::at_least("the same, of blocks that the kernel frees everything for", 3.0, Number),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::FREE_BLOCKS, &signal::THP_FAULT_FALLBACK],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["direct-reclaim-stalls", "oom-risk"],
    changes: &[
        Step::set(
            "vm.compaction_proactiveness",
            SettingTarget::Worked(more_proactive, "twice what it is, at most 60"),
            "kcompactd joins free memory earlier, in the background",
        ),
        Step::set(
            "vm.min_free_kbytes",
            SettingTarget::Worked(more_free, "a quarter more, at most 3 % of memory"),
            "more is kept free, so that fewer kinds of pages share a block",
        ),
        Step::set("vm.defrag_mode", SettingTarget::First(&["1"]), "the kernel defends free huge blocks (6.15)"),
        Step::advice("reserve huge pages at boot for programs that need them for certain (vm.nr_hugepages)"),
    ],
    counterindications: &[
        "Writing anything but 0 to vm.compaction_proactiveness starts a compaction of every node at once.",
        "Compacting by hand (compact_memory) relieves for a while and fixes nothing.",
    ],
    docs: &["Documentation/admin-guide/sysctl/vm.rst, compaction_proactiveness and extfrag_threshold"],
    judge,
};

/// The index with a word on how it is read.
pub(super) const INDEX: &str = "fragmentation index for a huge page (1: all in pieces; below 0: one was free)";

/// Order of a huge page on the architectures where pages have 4 KiB.
const HUGE: usize = 9;

fn more_proactive(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.compaction_proactiveness")?;
    (now < 60.0).then(|| format!("{:.0}", (now * 2.0).clamp(20.0, 60.0)))
}

fn more_free(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.min_free_kbytes")?;
    let most = observed.memory()? / 1024.0 * 0.03;
    let to = (now * 1.25).min(most);
    (to >= now * 1.1).then(|| format!("{to:.0}"))
}

/// Free blocks of a zone by order, window by window.
struct Zone {
    orders: Vec<Track>,
}

impl Zone {
    /// Free pages, free blocks, and free blocks of a huge page and more, counted in huge pages.
    fn at(&self, window: usize) -> Option<(f64, f64, f64)> {
        let (mut pages, mut blocks, mut huge) = (0.0, 0.0, 0.0);
        for (order, track) in self.orders.iter().enumerate() {
            let count = (*track.values().get(window)?)?;
            let size = (1u64 << order.min(40)) as f64;
            pages += count * size;
            blocks += count;
            if order >= HUGE {
                huge += count * size / (1u64 << HUGE) as f64;
            }
        }
        Some((pages, blocks, huge))
    }

    /// `fragmentation_index` of `mm/vmstat.c` (6.12): towards 1 for want of large blocks, towards 0 for want of memory,
    /// -1 where there is a block.
    fn index(&self, window: usize) -> Option<f64> {
        let (pages, blocks, huge) = self.at(window)?;
        if huge > 0.0 {
            Some(-1.0)
        } else if blocks <= 0.0 {
            Some(0.0)
        } else {
            Some(1.0 - (1.0 + pages / (1u64 << HUGE) as f64) / blocks)
        }
    }

    /// The part of free memory that lies in smaller blocks.
    fn unusable(&self, window: usize) -> Option<f64> {
        let (pages, _, huge) = self.at(window)?;
        Some(if pages > 0.0 { (pages - huge * (1u64 << HUGE) as f64) / pages } else { 0.0 })
    }
}

/// Zones that hold a tenth of the host's free pages at least, the small ones for old devices left out.
fn zones(observed: &Observed) -> Vec<Zone> {
    let mut by_zone: BTreeMap<(String, String), BTreeMap<usize, Track>> = BTreeMap::new();
    for (labels, track) in observed.each_level(&signal::FREE_BLOCKS) {
        let zone = (label(labels, "node").unwrap_or("").to_owned(), label(labels, "zone").unwrap_or("").to_owned());
        if let Some(order) = label(labels, "order").and_then(|order| order.parse().ok()) {
            by_zone.entry(zone).or_default().insert(order, track);
        }
    }
    let is_usual = |name: &str| name != "DMA" && name != "DMA32";
    let has_usual = by_zone.keys().any(|(_, zone)| is_usual(zone));
    let complete = by_zone.into_iter().filter(|(_, orders)| orders.keys().copied().eq(0..orders.len()));
    complete
        .filter(|((_, zone), _)| !has_usual || is_usual(zone))
        .map(|(_, orders)| Zone { orders: orders.into_values().collect() })
        .collect()
}

fn worst(observed: &Observed, of: impl Fn(&Zone, usize) -> Option<f64>) -> Track {
    let zones = zones(observed);
    if zones.is_empty() {
        return Track::unknown(observed.windows.count, observed.missing(&signal::FREE_BLOCKS));
    }
    // A program can take from any zone: the best one decides whether there is a block.
    let value = |window| zones.iter().map(|zone| of(zone, window)).collect::<Option<Vec<f64>>>();
    let least = |values: Vec<f64>| values.into_iter().reduce(f64::min);
    Track::new((0..observed.windows.count).map(|window| value(window).and_then(least)).collect(), None)
}

/// The fragmentation index for a huge page on average, in the zone that has it best. `None` where it is not known.
pub(super) fn huge_page_index(observed: &Observed) -> Option<f64> {
    worst(observed, Zone::index).mean_of_all(&observed.windows)
}

/// Allocations of more than a page that failed.
struct FailedBlocks {
    /// Of the kernel's log.
    source: &'static str,
    count: f64,
    /// The largest of them.
    order: u32,
}

impl FailedBlocks {
    /// Those that the kernel reported, or, where as much was free as single pages need, those that it killed a process for.
    fn of(observed: &Observed) -> Option<FailedBlocks> {
        let of = |source, signal: &signal::Quantity| {
            let orders = observed.each_growth(signal).into_iter();
            let known =
                orders.filter_map(|(labels, count)| Some((count, label(labels, "order")?.parse::<u32>().ok()?)));
            let all = known.filter(|(count, _)| *count > 0.0).reduce(|a, b| (a.0 + b.0, a.1.max(b.1)));
            all.map(|(count, order)| FailedBlocks { source, count, order })
        };
        let killed_for = || of("import killed_for_large", &signal::KILLED_FOR_LARGE);
        of("import failed_large", &signal::FAILED_LARGE)
            .or_else(|| killed_for().filter(|_| is_above_watermarks(observed)))
    }
}

/// Free blocks of at least an order, in all zones; `None`: they are not known.
fn blocks_from(observed: &Observed, order: u32) -> Option<f64> {
    let zones = zones(observed);
    let of = |zone: &Zone| {
        let large = zone.orders.iter().skip(order as usize);
        large.map(|track| track.mean_of_all(&observed.windows)).sum::<Option<f64>>()
    };
    (!zones.is_empty()).then(|| zones.iter().map(of).sum::<Option<f64>>())?
}

/// A log of the kernel tells which block was asked for and not there. Where memory was free, it was in smaller pieces; where that is
/// not known, a block that the kernel does not free everything for says it all the same.
fn by_failures(case: &Case<'_>, failed: &FailedBlocks, free: &Clause) -> Option<Verdict> {
    let FailedBlocks { source, count: failed, order } = *failed;
    let observed = case.observed;
    let windows = case.windows();
    let mean = free.track.mean_of_all(windows);
    // Page cache would have made room for a page, and does not make a block.
    let room = observed.share_of_memory(&observed.available()).mean_of_all(windows);
    let (has_room, room) = case.whole("memory that could be had when they failed", "meminfo", room);
    let (again, again_line) =
        case.whole("the same, of blocks that the kernel frees everything for", source, Some(failed));
    let bytes = observed.level(&signal::MEM_FREE).mean_of_all(windows);
    let is_above = is_above_watermarks(observed);
    let block = observed.page_size * (1u64 << order.min(40)) as f64;
    let is_free = match mean {
        _ if is_above => true,
        Some(_) => free.evidence(&Hits::default(), windows).holds? || has_room == Answer::Yes,
        // Without the size of memory: more than the reserves of any zone.
        None => match bytes {
            // The kernel frees next to nothing for a large block: so many of them would fit into what is free.
            Some(bytes) => bytes >= PLENTY || (order > COSTLY && bytes >= MANY * block),
            // One of the others may be due to a moment without free memory.
            None => order > COSTLY || again == Answer::Yes,
        },
    };
    if !is_free {
        return None;
    }
    let (fails, line) = case.whole("allocations of a large block that failed", source, Some(failed));
    let mut symptom = case.lasting_hits(Hits::always(fails, windows.count));
    symptom.evidence = vec![line, room];
    let is_open = mean.is_none() && bytes.is_none() && order <= COSTLY && !is_above;
    symptom.evidence.extend(is_open.then_some(again_line));
    if mean.is_none() {
        symptom.hits.missing.push(observed.missing(&signal::MEM_FREE));
    }
    let blocks = blocks_from(observed, order);
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.confidence = Some(Confidence::Low);
        draft.evidence.push(said(source, "largest order of them", Some(f64::from(order)), Number));
        match blocks {
            Some(blocks) => {
                draft.evidence.push(said("buddyinfo", "free blocks of that order and more", Some(blocks), Number))
            }
            None => draft.missing.push(observed.missing(&signal::FREE_BLOCKS)),
        }
        let size = words::bytes(observed.page_size * (1u64 << order.min(40)) as f64);
        let share =
            mean.map_or_else(String::new, |share| format!(", while {} of memory was free", words::percent(share)));
        let often =
            if failed == 1.0 { "An allocation".to_owned() } else { format!("{} allocations", words::number(failed)) };
        let why = if is_open {
            "what was free lay in smaller pieces, or next to nothing was free"
        } else {
            "what is free lies in smaller pieces"
        };
        draft.summary = format!("{often} of a block of {size} (order {order}) failed{share}: {why}.");
        if let Some((text, line)) = super::room::for_contiguous_blocks(observed) {
            draft.evidence.push(line);
            draft.summary.push_str(&text);
        }
    }))
}

/// Whether as much was free in the zone that has most as kswapd keeps there: with a page less than this an allocation of single pages still
/// succeeds, and one of a block fails for want of a block alone (`__zone_watermark_ok`, `mm/page_alloc.c`).
fn is_above_watermarks(observed: &Observed) -> bool {
    let means = |signal| -> BTreeMap<String, f64> {
        let of_zone = |(labels, track): (&str, Track)| Some((labels.to_owned(), track.mean_of_all(&observed.windows)?));
        observed.each_level(signal).into_iter().filter_map(of_zone).collect()
    };
    let (free, mut low) = (means(&signal::ZONE_FREE), means(&signal::ZONE_LOW));
    // The kernel's own data must not be there.
    low.retain(|labels, _| !["HighMem", "Movable"].contains(&label(labels, "zone").unwrap_or_default()));
    let largest = low.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, low)| *low > 0.0);
    largest.is_some_and(|(labels, low)| free.get(&labels).is_some_and(|free| *free >= low))
}

/// Blocks of that size that what is free would make. Ours.
const MANY: f64 = 16.0;

/// As much as the reserves of a large host. Ours.
const PLENTY: f64 = 256.0 * 1024.0 * 1024.0;

/// A table of free blocks alone: where it is all there is, somebody printed it for a reason, and nearly all of much free memory in the
/// smallest blocks is one. `None`: there is more to judge by, or it is not so.
fn by_blocks(case: &Case<'_>) -> Option<Verdict> {
    const MEDIUM: usize = 4;
    let observed = case.observed;
    let windows = case.windows();
    let zones = zones(observed);
    if !observed.is_import || observed.has(&signal::THP_FAULT_FALLBACK) || zones.is_empty() {
        return None;
    }
    let pages_from = |least: usize| {
        let of = |zone: &Zone| -> Option<f64> {
            let orders = zone.orders.iter().enumerate().skip(least);
            orders.map(|(order, track)| Some(track.mean_of_all(windows)? * (1u64 << order.min(40)) as f64)).sum()
        };
        zones.iter().map(of).sum::<Option<f64>>()
    };
    let (all, medium) = (pages_from(0)?, pages_from(MEDIUM)?);
    let (is_much, much) =
        case.whole("free memory, where memory's size is not known", "buddyinfo", Some(all * observed.page_size));
    let part = medium / all.max(1.0);
    let (are_few, few) = case.whole("of this, in blocks of 16 pages and more", "buddyinfo", Some(part));
    if is_much.and(are_few) != Answer::Yes {
        return None;
    }
    let mut symptom = case.lasting_hits(Hits::always(Answer::Yes, windows.count));
    symptom.evidence = vec![much, few];
    symptom.hits.missing.push(observed.missing(&signal::THP_FAULT_FALLBACK));
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.confidence = Some(Confidence::Low);
        draft.summary = format!(
            "{} was free, and {} of it in blocks of 16 pages and more. Whether anybody wants larger blocks the table does not say.",
            words::bytes(all * observed.page_size),
            words::percent(part),
        );
    }))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    if let Some(verdict) = by_blocks(case) {
        return verdict;
    }
    let index = case.clause(INDEX, "buddyinfo", worst(observed, Zone::index));
    let unusable = case.clause("free memory unusable for a huge page", "buddyinfo", worst(observed, Zone::unusable));
    let free = observed.share_of_memory(&observed.level(&signal::MEM_FREE));
    let free = case.clause("free memory", "meminfo MemFree", free);
    if let Some(failed) = FailedBlocks::of(observed)
        && let Some(verdict) = by_failures(case, &failed, &free)
    {
        return verdict;
    }
    let pieces = index.hits.or(&unusable.hits).and(&free.hits);
    let mut symptom = case.lasting_hits(pieces);
    symptom.evidence =
        [&index, &unusable, &free].map(|clause| clause.evidence(&symptom.hits, windows)).into_iter().collect();
    // Pieces alone harm nobody: somebody has to want a large block and not get it.
    let fallback = observed.rate(&signal::THP_FAULT_FALLBACK);
    let wanted = fallback.plus(&observed.rate(&signal::THP_FAULT_ALLOC));
    let refused = case.clause("huge pages refused at faults", "vmstat thp_fault_fallback", fallback.share_of(&wanted));
    let often = case.rate("huge pages refused", &signal::THP_FAULT_FALLBACK);
    let hits = symptom.hits.clone();
    let mechanism = case.counters(&[&refused, &often], &hits);
    case.decide(symptom, vec![mechanism]).found(|draft| {
        let share = refused.value(&hits, windows).unwrap_or(0.0);
        draft.summary = format!(
            "{} of the free memory was in pieces smaller than a huge page, and {} of the page faults that wanted one got \
             small pages ({} a second).",
            unusable.value(&hits, windows).map_or_else(|| "Most".to_owned(), words::percent),
            words::percent(share),
            words::number(often.value(&hits, windows).unwrap_or(0.0)),
        );
        draft.at_least = Some(Severity::Medium).filter(|_| share >= 0.9);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(blocks: &[f64]) -> Zone {
        Zone { orders: blocks.iter().map(|count| Track::constant(*count, 1)).collect() }
    }

    #[test]
    fn the_index_is_the_kernels_own() {
        let small = zone(&[5000.0, 1000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        // 7000 pages in 6000 blocks: 1 - (1 + 7000 / 512) / 6000.
        assert!((small.index(0).unwrap() - (1.0 - (1.0 + 7000.0 / 512.0) / 6000.0)).abs() < 1e-12);
        assert_eq!(small.unusable(0), Some(1.0));
        let large = zone(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1.0]);
        assert_eq!((large.index(0), large.unusable(0)), (Some(-1.0), Some(0.0)));
        assert_eq!(zone(&[0.0; 11]).index(0), Some(0.0));
    }
}
