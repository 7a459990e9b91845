//! The kernel's own object caches hold much of the memory.

mod caches_alone;

use super::super::observed::label;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "slab-bloat",
    title: "Kernel caches hold much memory",
    meaning: "The kernel's caches of small objects take memory that programs and file data lack. Many names of files that \
              were looked up and do not exist are a common reason; objects that cannot be reclaimed may be a leak.",
    thresholds: &[
        Threshold::at_least("unreclaimable slab", 0.10, Fraction),
        Threshold::at_least("unreclaimable slab, growth per hour", 0.01, Fraction),
        Threshold::at_least("reclaimable slab", 0.25, Fraction),
        Threshold::below("available memory beside reclaimable slab, in a listing", 0.25, Fraction),
        Threshold::at_least("slab of either kind", 0.25, Fraction),
        Threshold::at_least(
            "a cache that nothing reclaims, where memory's size is not known",
            (4u64 << 30) as f64,
            Bytes,
        ),
        Threshold::at_least(
            "caches that nothing reclaims, where memory's size is not known",
            (8u64 << 30) as f64,
            Bytes,
        ),
        Threshold::at_least("of all caches, those that nothing reclaims", 0.60, Fraction),
        Threshold::at_least(
            "a cache of one kind of object that nothing reclaims, where it is most of a table",
            (256u64 << 20) as f64,
            Bytes,
        ),
        Threshold::at_least("of all caches, the largest of one kind of object that nothing reclaims", 0.60, Fraction),
        Threshold::above("general caches of the kernel, where memory's size is not known", (2u64 << 30) as f64, Bytes),
        Threshold::at_least("a cache that nothing reclaims, times what it was at first", 10.0, Number),
        Threshold::at_least("what it grew by meanwhile", (16u64 << 20) as f64, Bytes),
        Threshold::at_least("all caches, where memory's size is not known", (32u64 << 30) as f64, Bytes),
        Threshold::at_least(
            "in caches, room of objects that are gone, where memory's size is not known",
            (1u64 << 30) as f64,
            Bytes,
        ),
        Threshold::at_least("of all caches, room of objects that are gone", 0.40, Fraction),
        Threshold::at_least(
            "in caches, room of objects that are gone, where they are nearly all",
            (128u64 << 20) as f64,
            Bytes,
        ),
        Threshold::at_least("of all caches, room of objects that are gone, where they are nearly all", 0.80, Fraction),
        Threshold::at_least("reclaimable slab, while such names pile up", 0.10, Fraction),
        Threshold::at_least("of all names of files, those of files that do not exist", 0.50, Fraction),
        Threshold::at_least("names of files that do not exist, more each second", 1_000.0, PerSecond),
        Threshold::below("available memory", 0.10, Fraction),
        Threshold::at_least("time in which some task waited for memory", 0.01, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[
        &signal::SLAB_UNRECLAIMABLE,
        &signal::SLAB_RECLAIMABLE,
        &signal::MEM_TOTAL,
        &signal::DENTRIES,
        &signal::DENTRIES_NEGATIVE,
    ],
    tiers: &[Tier::Counters],
    rivals: &["thp-bloat", "unevictable-memory", "hugetlb-waste"],
    changes: &[
        Step::advice(
            "find the cache that grows (slabtop) and the program behind it: most often one that looks up files that do not exist",
        ),
        Step::set(
            "vm.vfs_cache_pressure",
            SettingTarget::Worked(more_pressure, "150"),
            "names of files and inodes are reclaimed sooner",
        )
        .when("where the larger part is reclaimable: it does not touch the rest", |observed, hits| {
            let mean = |signal| observed.level(signal).mean(hits, &observed.windows);
            let parts = mean(&signal::SLAB_RECLAIMABLE).zip(mean(&signal::SLAB_UNRECLAIMABLE));
            parts.is_some_and(|(soft, hard)| soft > hard)
        }),
    ],
    counterindications: &[
        "Large values of vm.vfs_cache_pressure cost CPU time in looking for something to free.",
        "Dropping caches by hand only confirms the finding; it is no cure.",
    ],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, vfs_cache_pressure",
        "Documentation/admin-guide/sysctl/fs.rst, dentry-state",
        "https://github.com/apache/druid/issues/7508",
    ],
    judge,
};

/// Title and meaning where a profile shows what so many names cost.
pub(in super::super) const NAMES: (&str, &str) = (
    "Names of files are looked up in long rows",
    "The kernel keeps the names of files in a table, and looking one up goes through all names of its row. That takes CPU time where very many are \
     kept that nobody uses any more: of files that were looked up and do not exist, or of containers that are gone (below /proc/sys above all). \
     Nothing frees them as long as memory is not short.",
);

fn more_pressure(observed: &Observed) -> Option<String> {
    (observed.settings.number("vm.vfs_cache_pressure")? < 150.0).then(|| "150".to_owned())
}

/// A trend of less than this is not told from noise.
const LONG_ENOUGH: f64 = 1800.0;

/// Bytes of a name in the kernel's cache (`struct dentry` of 64 bits, `include/linux/dcache.h`, 6.12). A name of more than 39
/// characters takes more.
const DENTRY: f64 = 192.0;

/// Names of files that do not exist. What they show is a reason for the bloat and no part of it: a host may keep millions of
/// them in memory that nobody else wants.
struct Names {
    /// How many.
    count: Track,
    /// Of all names.
    part: Clause,
}

impl Names {
    /// `Err`: what is missing. Kernels before 5.0 tell none, which reads as 0.
    fn of(case: &Case<'_>) -> Result<Names, Missing> {
        let observed = case.observed;
        let count = observed.level(&signal::DENTRIES_NEGATIVE);
        match count.most() {
            None => Err(observed.missing(&signal::DENTRIES_NEGATIVE)),
            Some(most) if most < 1.0 => {
                let why = "this kernel does not count them: it has done so since 5.0".to_owned();
                Err(Missing { what: signal::DENTRIES_NEGATIVE.label(), why })
            }
            Some(_) => {
                let part = count.share_of(&observed.level(&signal::DENTRIES));
                let name = "of all names of files, those of files that do not exist";
                Ok(Names { part: case.clause(name, "dentries nr_negative", part), count })
            }
        }
    }

    /// Whether they grow fast from one end of the recording to the other.
    fn growth(&self, case: &Case<'_>) -> (Answer, Evidence) {
        let growth = case.observed.slope(&signal::DENTRIES_NEGATIVE);
        case.whole("names of files that do not exist, more each second", "dentries nr_negative", growth)
    }

    /// Whether there are more of them in each window than in the one before. `None`: there are too few windows to tell a habit
    /// from a burst, such as a build or a search over a tree.
    fn keep_growing(&self) -> Option<bool> {
        let known: Vec<f64> = self.count.values().iter().flatten().copied().collect();
        (known.len() >= 3).then(|| known.windows(2).all(|pair| pair[1] > pair[0]))
    }

    fn tell(&self, case: &Case<'_>, draft: &mut Draft) {
        const SOURCE: &str = "dentries nr_negative";
        let (hits, windows) = (draft.hits.clone(), case.windows());
        let mean = self.count.mean(&hits, windows);
        draft.evidence.push(self.part.evidence(&hits, windows));
        draft.evidence.push(said(SOURCE, "names of files that do not exist", mean, Number));
        let memory = mean.zip(case.observed.memory()).map(|(names, memory)| names * DENTRY / memory);
        draft.evidence.push(said(SOURCE, "memory they take, at least", memory, Fraction));
        draft.evidence.push(self.growth(case).1);
        let most = self.part.value(&hits, windows).zip(mean);
        if let Some((part, names)) = most.filter(|_| self.part.evidence(&hits, windows).holds == Some(true)) {
            draft.summary.push_str(&format!(
                " {} of all names of files in them, {}, are of files that do not exist: a program looks such files up over and \
                 over.",
                words::percent(part),
                words::number(names),
            ));
        }
    }
}

/// What no pressure on memory gives back, in bytes; where a listing has the sum and the rest, their difference.
fn unreclaimable(observed: &Observed) -> Track {
    let is_told = observed.has(&signal::SLAB_UNRECLAIMABLE);
    if is_told || !observed.has(&signal::SLAB) || !observed.has(&signal::SLAB_RECLAIMABLE) {
        return observed.level(&signal::SLAB_UNRECLAIMABLE);
    }
    let soft = observed.level(&signal::SLAB_RECLAIMABLE);
    observed.level(&signal::SLAB).with(&soft, |all, soft| Some((all - soft).max(0.0)))
}

/// Where all caches together are not told: what those that are named have of it, which is at least so much.
fn unreclaimable_at_least(observed: &Observed) -> Option<Track> {
    let is_told =
        [&signal::SLAB, &signal::SLAB_UNRECLAIMABLE, &signal::IMPORTED_SLAB].into_iter().any(|one| observed.has(one));
    let each = observed.each_level(&signal::SLAB_CACHES).into_iter();
    let kept = each.filter(|(labels, _)| label(labels, "cache").is_some_and(|name| !is_reclaimed(name)));
    kept.map(|(_, bytes)| bytes).filter(|_| !is_told).reduce(|sum, bytes| sum.plus(&bytes))
}

/// Whether the kernel gives objects of a cache back when it wants memory: names of files, inodes, blocks, and what file systems keep
/// of files. A cache of another kind that is as large as this rule asks for is a leak, or something that a program asks for.
fn is_reclaimed(cache: &str) -> bool {
    const BEGINNINGS: [&str; 22] = [
        "dentry",
        "radix_tree_node",
        "xa_node",
        "maple_node",
        "buffer_head",
        "xfs_",
        "nfs_",
        "ext4_",
        "ext3_",
        "ext2_",
        "btrfs_",
        "zio_",
        "dnode_t",
        "dmu_buf",
        "arc_buf",
        "zfs_",
        "ceph_",
        "kernfs_node",
        "kmalloc-rcl",
        "extent_map",
        "extent_state",
        "kvm_mmu_page_header",
    ];
    cache.contains("inode") || BEGINNINGS.iter().any(|beginning| cache.starts_with(beginning))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    if let Some(verdict) = caches_alone::judge(case) {
        return verdict;
    }
    let hard = observed.share_of_memory(&unreclaimable(observed));
    let soft = observed.share_of_memory(&observed.level(&signal::SLAB_RECLAIMABLE));
    let large = case.clause("unreclaimable slab", "meminfo SUnreclaim", hard.clone());
    let named = unreclaimable_at_least(observed).map(|bytes| observed.share_of_memory(&bytes));
    let named = named.map(|share| case.clause("unreclaimable slab", "import slab_cache", share));
    // That it is less than much says nothing of the rest.
    let large = named.filter(|named| named.hits.answers.contains(&Answer::Yes)).unwrap_or(large);
    let mut cached = case.clause("reclaimable slab", "meminfo SReclaimable", soft.clone());
    if observed.is_import {
        // Nobody may have wanted that memory: where much is to be had, what can be reclaimed is a use of it like another.
        let name = "available memory beside reclaimable slab, in a listing";
        let less = case.clause(name, "meminfo MemAvailable", observed.share_of_memory(&observed.available()));
        let is_wanted = less.hits.answers.iter().any(|answer| *answer != Answer::No);
        let is_wanted = Hits::always(if is_wanted { Answer::Yes } else { Answer::No }, windows.count);
        cached.hits = cached.hits.and(&is_wanted);
    }
    // slabtop adds both kinds up; where its head was cut off, they are at least what the caches have that are listed.
    let (both, source) = match () {
        () if observed.has(&signal::SLAB) => (observed.level(&signal::SLAB), "meminfo Slab"),
        () if observed.has(&signal::IMPORTED_SLAB) => (observed.level(&signal::IMPORTED_SLAB), "import slab_total"),
        () => {
            let each = observed.each_level(&signal::SLAB_CACHES).into_iter().map(|(_, bytes)| bytes);
            let sum = each.reduce(|sum, bytes| sum.plus(&bytes));
            (sum.unwrap_or_else(|| observed.level(&signal::SLAB)), "import slab_cache")
        }
    };
    let both = case.clause("slab of either kind", source, observed.share_of_memory(&both));
    let is_split = observed.has(&signal::SLAB_UNRECLAIMABLE) || observed.has(&signal::SLAB_RECLAIMABLE);
    // That some caches are small says nothing of the others.
    let is_told =
        observed.has(&signal::SLAB) || observed.has(&signal::IMPORTED_SLAB) || both.hits.answers.contains(&Answer::Yes);
    let is_sum = observed.is_import && !is_split && is_told;
    let names = Names::of(case);
    let (filled, piles) = piles_up(case, names.as_ref().ok(), soft);
    let growth = hard.ends().filter(|_| windows.seconds() >= LONG_ENOUGH);
    let growth = growth.map(|(first, last)| (last - first) / windows.seconds() * 3600.0);
    let (grows, growing) = case.whole("unreclaimable slab, growth per hour", "meminfo SUnreclaim", growth);
    // A recording that is too short for a trend does not leave the rest open.
    let grows = Hits::always(if grows == Answer::Yes { Answer::Yes } else { Answer::No }, windows.count);
    let hits = if is_sum { both.hits.clone() } else { large.hits.or(&cached.hits).or(&grows).or(&piles) };
    let mut symptom = case.standing_hits(hits);
    let hits = symptom.hits.clone();
    symptom.evidence = [&large, &cached].map(|clause| clause.evidence(&hits, windows)).into_iter().collect();
    symptom.evidence.push(growing);
    if is_sum {
        symptom.evidence = vec![both.evidence(&hits, windows)];
    }
    let by_names = piles.answers.contains(&Answer::Yes);
    symptom.evidence.extend(by_names.then(|| filled.evidence(&hits, windows)));
    case.decide(symptom, Vec::new()).found(|draft| {
        let (hard, soft) = (large.value(&hits, windows).unwrap_or(0.0), cached.value(&hits, windows).unwrap_or(0.0));
        let of_both = both.value(&hits, windows).filter(|_| is_sum);
        draft.cost.memory_share = Some(of_both.unwrap_or(hard + soft)).filter(|_| is_missed(case, draft));
        draft.summary = format!(
            "The kernel's caches hold {} of the memory; {} of it cannot be reclaimed.",
            words::percent(hard + soft),
            words::percent(hard),
        );
        if let Some(share) = of_both {
            draft.summary = format!("The kernel's caches hold {} of the memory.", words::percent(share));
        }
        let caches = largest(observed, &hits);
        if let Some((name, bytes)) = caches.first() {
            draft.summary.push_str(&format!(" The largest is {name}, {}.", words::bytes(*bytes)));
        }
        let line =
            |(name, bytes): &(String, f64)| said("import slab_cache", &format!("cache {name}"), Some(*bytes), Bytes);
        draft.evidence.extend(caches.iter().map(line));
        if let Some(growth) = growth.filter(|growth| *growth >= 0.01) {
            draft
                .summary
                .push_str(&format!(" That part grows by {} of the memory in an hour.", words::percent(growth)));
        }
        match names {
            Ok(names) => names.tell(case, draft),
            Err(missing) if draft.missing.contains(&missing) => {}
            Err(missing) => draft.missing.push(missing),
        }
        if draft.cost.memory_share.is_none() {
            let free = super::room::free(observed, &hits).map(words::bytes);
            let free = free.map_or_else(|| "Nobody".to_owned(), |free| format!("{free} is free, and nobody"));
            draft.summary.push_str(&format!(" {free} waits for memory: nothing is lost by it now."));
        }
        if caches.is_empty() {
            draft.missing.push(Missing {
                what: "names of the caches".to_owned(),
                why: "/proc/slabinfo is not polled: reading it takes locks".to_owned(),
            });
        }
    })
}

/// The three largest caches that a listing names, in bytes.
fn largest(observed: &Observed, hits: &Hits) -> Vec<(String, f64)> {
    let all = observed.each_level(&signal::SLAB_CACHES).into_iter();
    let named = all
        .filter_map(|(labels, track)| Some((label(labels, "cache")?.to_owned(), track.mean(hits, &observed.windows)?)));
    let mut caches: Vec<(String, f64)> = named.collect();
    caches.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    caches.truncate(3);
    caches
}

/// Where names of files that do not exist are most of all names, grow fast all the while, and fill a part of memory already: the
/// rest of it is only a matter of time. Where they were not counted nothing is left open: the caches are told by their size.
fn piles_up(case: &Case<'_>, names: Option<&Names>, soft: Track) -> (Clause, Hits) {
    let count = case.windows().count;
    let filled = case.clause("reclaimable slab, while such names pile up", "meminfo SReclaimable", soft);
    let hits = match names {
        Some(names) if names.growth(case).0 == Answer::Yes => {
            let piling = match names.keep_growing() {
                Some(keep) => Hits::always(Answer::of(Some(keep)), count),
                None => {
                    let why = format!("whether they go on growing takes {} s to see", case.rule.lasts);
                    let mut short = Hits::always(Answer::Unknown, count);
                    short.missing.push(Missing { what: "names of files that do not exist".to_owned(), why });
                    short
                }
            };
            filled.hits.and(&names.part.hits).and(&piling)
        }
        Some(_) | None => Hits::always(Answer::No, count),
    };
    (filled, hits)
}

/// Whether anybody lacks what the caches hold: little is to be had, or somebody waits for memory. What a recording does not know does not
/// make it harmless.
fn is_missed(case: &Case<'_>, draft: &mut Draft) -> bool {
    let observed = case.observed;
    let mean = |track: Track| track.mean(&draft.hits, case.windows());
    let available = mean(observed.share_of_memory(&observed.available()));
    let waited = mean(observed.rate(&signal::PSI_MEMORY_SOME));
    let (short, short_line) = case.whole("available memory", "meminfo MemAvailable", available);
    let source = observed.source_of(&signal::PSI_MEMORY_SOME);
    let (waits, waits_line) = case.whole("time in which some task waited for memory", &source, waited);
    draft.evidence.extend([short_line, waits_line]);
    // Of a listing that says nothing of that: where much of it is in no use nobody lacks any.
    let is_ample = observed.is_import && short == Answer::No && super::room::free(observed, &draft.hits).is_some();
    short.or(waits) != Answer::No && !(is_ample && waits == Answer::Unknown)
}
