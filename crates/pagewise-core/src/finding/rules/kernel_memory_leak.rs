//! Memory that is in none of the kernel's accounts.
//!
//! What drivers and file systems get straight from the page allocator is counted nowhere: all memory less all that has a name is what
//! they have. A rest is nothing wrong by itself, ZFS and graphics drivers keep much there; it is where a leak is seen.

use super::super::observed::label;
use super::super::rule::Step;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "kernel-memory-leak",
    title: "Memory that nobody accounts for",
    meaning: "Free memory, page cache, memory of programs, caches, tables and stacks of the kernel together are much less than all \
              memory. The rest was given to a driver, a file system or a hypervisor page by page; where it grows, it is a leak.",
    thresholds: &[
        Threshold::at_least("memory in no account", 0.10, Fraction),
        Threshold::at_least("memory in no account, bytes", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("memory in no account, where it is less than that", 0.30, Fraction),
        Threshold::at_least("memory in no account, of a listing that ends before the last of them", 0.20, Fraction),
        Threshold::at_least("memory beyond all that programs were promised", 0.25, Fraction),
        Threshold::at_least("memory that no program has", 0.25, Fraction),
        Threshold::at_least("memory on no list of pages, of a listing that lacks accounts", 0.50, Fraction),
        Threshold::at_least("pages of one place in the kernel's source, of all", 0.10, Fraction),
        Threshold::at_least("pages of one place in the kernel's source, bytes", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("memory in no account, growth per hour", 0.01, Fraction),
        Threshold::below("available memory", 0.10, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[
        &signal::MEM_TOTAL,
        &signal::MEM_FREE,
        &signal::BUFFERS,
        &signal::CACHED,
        &signal::SWAP_CACHED,
        &signal::ANON_PAGES,
        &signal::SLAB,
        &signal::PAGE_TABLES,
        &signal::KERNEL_STACK,
        &signal::VMALLOC_USED,
        &signal::HUGETLB_TOTAL,
    ],
    tiers: &[Tier::Counters],
    rivals: &["slab-bloat", "hugetlb-waste", "shmem-fill", "dying-cgroups"],
    changes: &[
        Step::advice(
            "read it again in an hour and compare (sort -g /proc/allocinfo | tail): a place that grows and gives nothing back is the leak; \
             whoever maintains its file or module is whom to tell, and another version of the module the cure",
        )
        .when("where /proc/allocinfo names who has it", |observed, _| names_a_place(observed)),
        Step::advice(
            "see which part of the kernel has it: grep -E 'Huge|Slab|Percpu|Vmalloc' /proc/meminfo, slabtop -o -s c, and with ZFS size in \
             /proc/spl/kstat/zfs/arcstats; huge pages that a database set aside are its own",
        )
        .when("where the kernel's accounts are not known", |observed, _| {
            observed.is_import && ![&signal::ANON_PAGES, &signal::ACTIVE, &signal::KERNEL_PAGES].iter().any(|one| observed.has(one))
        }),
        Step::advice(
            "see first whether a hypervisor took it: a balloon looks like this from inside a guest (lsmod for vmw_balloon, \
             virtio_balloon or hv_balloon; vmware-toolbox-cmd stat balloon)",
        )
        .when("where the kernel does not count balloons", |observed, _| {
            !observed.has(&signal::BALLOON) && !names_a_place(observed)
        }),
        Step::advice(
            "see who has it: page_owner=on at the next start and /sys/kernel/debug/page_owner (sorted by tools/mm/page_owner_sort), \
             /proc/allocinfo from 6.10 on, and until then /proc/vmallocinfo and slabtop for the parts that have a name; modules that \
             were loaded since it began are the first suspects (drivers of networks, graphics and storage, security agents)",
        )
        .when("where nobody is named", |observed, _| !names_a_place(observed)),
        Step::advice("start the host anew to get it back meanwhile, and watch how fast it comes again: nothing in user space frees it")
            .when("where it grows", |observed, _| growth(observed).is_some_and(|growth| growth >= 0.01)),
    ],
    counterindications: &[
        "ZFS keeps its cache there (size in /proc/spl/kstat/zfs/arcstats): that is memory at work, bounded by zfs_arc_max.",
        "Graphics drivers, XFS's buffers, zram (mm_stat of /sys/block/zram*) and large receive rings have memory there rightly.",
        "From 4.4 to 5.2 the kernel did not count vmalloc: there it is in the rest.",
        "Before 4.15 only huge pages of the default size are counted: those of 1 GiB are in the rest.",
    ],
    docs: &[
        "fs/proc/meminfo.c (6.12), meminfo_proc_show",
        "Documentation/mm/page_owner.rst",
        "Documentation/mm/allocation-profiling.rst (6.10)",
    ],
    judge,
};

/// A trend of less than this is not told from noise.
const LONG_ENOUGH: f64 = 1800.0;

/// What has a name, and whether every kernel has it: an account that is missing where it may not be leaves the rest unknown.
const ACCOUNTS: [(&signal::Quantity, &str, bool); 13] = [
    (&signal::MEM_FREE, "free", true),
    (&signal::CACHED, "page cache and shared", true),
    (&signal::BUFFERS, "blocks of devices", true),
    (&signal::SWAP_CACHED, "in swap, too", true),
    (&signal::ANON_PAGES, "anonymous", true),
    (&signal::SLAB, "slab", true),
    (&signal::PAGE_TABLES, "page tables", true),
    (&signal::KERNEL_STACK, "kernel stacks", true),
    (&signal::VMALLOC_USED, "vmalloc", true),
    (&signal::OTHER_PAGE_TABLES, "page tables of guests", false),
    (&signal::PERCPU, "per CPU", false),
    (&signal::ZSWAP_POOL, "zswap", false),
    (&signal::BALLOON, "balloon", false),
];

/// Whether it is known how much memory is set aside as huge pages.
fn knows_huge(observed: &Observed) -> bool {
    observed.has(&signal::HUGETLB_TOTAL) || observed.has(&signal::HUGETLB_MEMORY)
}

/// Memory set aside as huge pages, in bytes: of all sizes, or of the default one where that is all there is.
fn huge(observed: &Observed) -> Track {
    if observed.has(&signal::HUGETLB_MEMORY) {
        return observed.level(&signal::HUGETLB_MEMORY);
    }
    let size = observed.last(&signal::HUGEPAGE_SIZE).unwrap_or((2u64 << 20) as f64);
    observed.level(&signal::HUGETLB_TOTAL).map(|pages| pages * size)
}

/// All memory less all that has a name. Unknown where an account is missing.
fn rest(observed: &Observed) -> Track {
    let mut rest = observed.level(&signal::MEM_TOTAL);
    let less = |all: f64, part: f64| Some(all - part);
    let is_cut = is_cut_at_its_end(observed);
    for (account, _, is_everywhere) in ACCOUNTS {
        if observed.has(account) || (is_everywhere && !is_cut) {
            rest = rest.with(&observed.level(account), less);
        }
    }
    let huge = if is_cut { huge(observed).or_zero() } else { huge(observed) };
    rest.with(&huge, less).map(|bytes| bytes.max(0.0))
}

/// By how much of all memory the rest grows in an hour; `None`: the recording is too short, or it is not known.
fn growth(observed: &Observed) -> Option<f64> {
    let seconds = observed.windows.seconds();
    let (first, last) = observed.share_of_memory(&rest(observed)).ends()?;
    (seconds >= LONG_ENOUGH).then(|| (last - first) / seconds * 3600.0)
}

/// The accounts at the end of `/proc/meminfo`, where people cut it off: in a listing that has all others they are taken for nothing, and the
/// rest has to be larger for it.
fn is_cut_at_its_end(observed: &Observed) -> bool {
    let is_at_the_end = |signal: &signal::Quantity| signal.id == signal::VMALLOC_USED.id;
    let mut others = ACCOUNTS.iter().filter(|(account, _, is_everywhere)| *is_everywhere && !is_at_the_end(account));
    let lacks = !observed.has(&signal::VMALLOC_USED) || !knows_huge(observed);
    observed.tools.iter().any(|tool| tool == "proc") && lacks && others.all(|(account, ..)| observed.has(account))
}

/// What the head of `/proc/meminfo` says, which people post, where its accounts end before `Slab`: free pages and the lists of reclaim
/// are all that programs and files have. `None`: the accounts are there, or the rest is not most of memory.
fn by_lists(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let has = |signal: &signal::Quantity| observed.has(signal);
    if is_cut_at_its_end(observed) {
        return None;
    }
    let lacks_accounts = ACCOUNTS.iter().any(|(account, _, is_everywhere)| *is_everywhere && !has(account));
    let lists = [&signal::MEM_TOTAL, &signal::MEM_FREE, &signal::ACTIVE, &signal::INACTIVE];
    // Other tools print some of the accounts and never the rest; the kernel's log has the lists, and what slab and page tables take.
    let is_of_proc = observed.tools.iter().any(|tool| tool == "proc" || tool == "kernel-log");
    // Before 2.6 memory of programs was on no list.
    let has_lists = observed.settings.release().is_none_or(|release| release >= (2, 6, 0));
    if !is_of_proc || !lacks_accounts || !has_lists || !lists.into_iter().all(has) {
        return None;
    }
    let less = |all: f64, part: f64| Some((all - part).max(0.0));
    let on_lists = [
        &signal::MEM_FREE,
        &signal::ACTIVE,
        &signal::INACTIVE,
        &signal::UNEVICTABLE,
        &signal::SLAB,
        &signal::PAGE_TABLES,
    ];
    let known = on_lists.into_iter().filter(|signal| has(signal)).map(|signal| observed.level(signal));
    let mut rest = known.fold(observed.level(&signal::MEM_TOTAL), |rest, part| rest.with(&part, less));
    if knows_huge(observed) {
        rest = rest.with(&huge(observed), less);
    }
    let missing = ACCOUNTS.iter().filter(|(account, _, is_everywhere)| *is_everywhere && !has(account));
    told(
        case,
        "memory on no list of pages, of a listing that lacks accounts",
        rest,
        "is neither free nor on the lists of pages that programs and files have: the kernel holds it, in its caches, as huge pages set aside, or in \
         no account. What the listing has does not say which.",
        missing.map(|(account, ..)| observed.missing(account)).collect(),
    )
}

/// A rest of that threshold that is large in bytes as well, in the words that follow how much it is. `None`: it is not.
fn told(case: &Case<'_>, name: &'static str, rest: Track, what: &str, missing: Vec<Missing>) -> Option<Verdict> {
    let part = case.clause(name, "meminfo", case.observed.share_of_memory(&rest));
    let most = case.clause("memory in no account, where it is less than that", "meminfo", part.track.clone());
    let bytes = case.clause("memory in no account, bytes", "meminfo", rest);
    // A host may have little memory at all.
    let is_much = if bytes.hits.answers.contains(&Answer::Yes) { &bytes } else { &most };
    let symptom = case.standing(&[&part, is_much]);
    let hits = symptom.hits.clone();
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        draft.summary = format!(
            "{} of the memory ({}) {what}",
            words::percent(part.value(&hits, case.windows()).unwrap_or(0.0)),
            bytes.value(&hits, case.windows()).map_or_else(|| "much".to_owned(), words::bytes),
        );
        draft.missing.extend(missing);
    })
}

/// Where nothing says how much memory programs have, what they were promised is more than that: what is beyond it has no account. `None`:
/// that is told, or the rest is not much of memory.
fn by_promises(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let known = [&signal::MEM_TOTAL, &signal::MEM_FREE, &signal::CACHED, &signal::SLAB, &signal::COMMITTED];
    let has_lists = observed.has(&signal::ACTIVE) || observed.has(&signal::ANON_PAGES);
    // Huge pages that were set aside are promised to nobody.
    if !observed.is_import
        || has_lists
        || !knows_huge(observed)
        || !known.into_iter().all(|signal| observed.has(signal))
    {
        return None;
    }
    let less = |all: f64, part: f64| Some((all - part).max(0.0));
    let parts =
        known[1..].iter().map(|signal| observed.level(signal)).chain([observed.level(&signal::BUFFERS).or_zero()]);
    let rest = parts.fold(observed.level(&signal::MEM_TOTAL), |rest, part| rest.with(&part, less));
    let rest = rest.with(&huge(observed), less);
    told(
        case,
        "memory beyond all that programs were promised",
        rest,
        "is neither free, nor in page cache or slab, nor promised to programs, nor set aside as huge pages.",
        vec![observed.missing(&signal::ANON_PAGES)],
    )
}

/// Where a table of processes, or smem, says how much memory programs have at most, and nothing has the kernel's accounts: what is neither
/// theirs nor free nor page cache. `None`: that is told, or the rest is not much of memory.
fn by_programs(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let known = [&signal::MEM_TOTAL, &signal::MEM_FREE, &signal::BUFFERS_AND_CACHE, &signal::PROGRAMS_AT_MOST];
    let has_accounts = observed.has(&signal::ACTIVE) || observed.has(&signal::ANON_PAGES);
    // What old tools call cached is without the slab that can be reclaimed: nothing is wrong with that.
    let knows_slab =
        !observed.has(&signal::CACHED) || observed.has(&signal::SLAB) || observed.has(&signal::IMPORTED_SLAB);
    if has_accounts || !knows_slab || !known.into_iter().all(|signal| observed.is_known(signal)) {
        return None;
    }
    let slab = if observed.has(&signal::SLAB) { &signal::SLAB } else { &signal::IMPORTED_SLAB };
    let less = |all: f64, part: f64| Some((all - part).max(0.0));
    let parts = known[1..]
        .iter()
        .map(|signal| observed.level(signal))
        .chain([observed.level(slab).or_zero(), huge(observed).or_zero()]);
    let rest = parts.fold(observed.level(&signal::MEM_TOTAL), |rest, part| rest.with(&part, less));
    let unknown = [&signal::SLAB, &signal::HUGETLB_TOTAL].into_iter().filter(|signal| !observed.has(signal));
    told(
        case,
        "memory that no program has",
        rest,
        "is neither free, nor page cache, nor what the programs have together: the kernel holds it. Its caches, huge pages that were set aside, \
         the cache of ZFS, a balloon and a leak look like this, and the listing does not say which it is.",
        unknown.map(|signal| observed.missing(signal)).collect(),
    )
}

/// Title and meaning where it is known who has it.
const PLACE: (&str, &str) = (
    "A part of the kernel holds much memory",
    "One place in the kernel's source has much memory that it got page by page, apart from page cache and memory of programs. Where it grows and gives \
     nothing back, it is a leak.",
);

/// Whether `/proc/allocinfo` names a place in the kernel's source that has much.
fn names_a_place(observed: &Observed) -> bool {
    by_places(&Case { observed, rule: &RULE, found: &[] }).is_some()
}

/// What one place in the kernel's source has got page by page, where `/proc/allocinfo` says so, of all memory, or of all that was given out so where
/// that is not known. `None`: it is not known, or no place has much.
fn by_places(case: &Case<'_>) -> Option<Verdict> {
    const SOURCE: &str = "import allocinfo";
    let observed = case.observed;
    let places = observed.each_level(&signal::KERNEL_PAGES).into_iter();
    let (labels, bytes) =
        places.max_by(|(_, a), (_, b)| a.most().unwrap_or(0.0).total_cmp(&b.most().unwrap_or(0.0)))?;
    let all = if observed.has(&signal::MEM_TOTAL) { &signal::MEM_TOTAL } else { &signal::KERNEL_PAGES_ALL };
    let of_all =
        case.clause("pages of one place in the kernel's source, of all", SOURCE, bytes.share_of(&observed.level(all)));
    let much = case.clause("pages of one place in the kernel's source, bytes", SOURCE, bytes);
    let symptom = case.standing(&[&of_all, &much]);
    let hits = symptom.hits.clone();
    let named = |name: &str| label(labels, name).unwrap_or_default();
    let ends = observed.each_ends(&signal::KERNEL_PAGES).into_iter().find(|(one, ..)| *one == labels);
    let grown = ends.map(|(_, first, last)| last - first).filter(|grown| *grown > 0.0);
    case.where_it_holds(symptom, |draft| {
        draft.other = Some(PLACE);
        draft.confidence = Some(Confidence::Low);
        draft.summary = format!(
            "{} in {} has {} that it got page by page, {} of {}.",
            named("function"),
            named("file"),
            much.value(&hits, case.windows()).map_or_else(|| "much".to_owned(), words::bytes),
            words::percent(of_all.value(&hits, case.windows()).unwrap_or(0.0)),
            if observed.has(&signal::MEM_TOTAL) { "the memory" } else { "all pages that the table has" },
        );
        match grown {
            Some(grown) => {
                draft.summary.push_str(&format!(" It grew by {} between the readings.", words::bytes(grown)));
            }
            None => {
                let why = "that takes two readings some time apart to see".to_owned();
                draft.missing.push(Missing { what: "whether it grows".to_owned(), why });
            }
        }
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let by_part = by_places(case).or_else(|| by_promises(case)).or_else(|| by_lists(case));
    if let Some(verdict) = by_part.or_else(|| by_programs(case)) {
        return verdict;
    }
    let rest = rest(observed);
    let is_cut = is_cut_at_its_end(observed);
    let of_memory = observed.share_of_memory(&rest);
    let name = if is_cut {
        "memory in no account, of a listing that ends before the last of them"
    } else {
        "memory in no account"
    };
    let part = case.clause(name, "meminfo", of_memory.clone());
    let bytes = case.clause("memory in no account, bytes", "meminfo", rest);
    // A host may have little memory at all.
    let most = case.clause("memory in no account, where it is less than that", "meminfo", of_memory);
    let mut symptom = case.lasting_hits(part.hits.and(&bytes.hits.or(&most.hits)));
    let hits = symptom.hits.clone();
    symptom.evidence = [&part, &bytes, &most].map(|clause| clause.evidence(&hits, windows)).into_iter().collect();
    if is_cut && symptom.answer == Answer::No && part.track.most().is_some_and(|most| most >= 0.10) {
        // What is missing may be all of it, and may be none.
        symptom.answer = Answer::Unknown;
        symptom.hits.missing.push(observed.missing(&signal::HUGETLB_TOTAL));
    }
    case.decide(symptom, Vec::new()).found(|draft| {
        if is_cut {
            let last = [&signal::VMALLOC_USED, &signal::HUGETLB_TOTAL];
            draft
                .missing
                .extend(last.into_iter().filter(|signal| !observed.has(signal)).map(|signal| observed.missing(signal)));
            draft.confidence = Some(Confidence::Low);
        }
        let mean = |track: Track| track.mean(&hits, windows);
        for (account, name, _) in ACCOUNTS.iter().filter(|(account, ..)| observed.has(account)) {
            draft.evidence.push(said("meminfo", name, mean(observed.level(account)), Bytes));
        }
        draft.evidence.push(said("meminfo", "huge pages set aside", mean(huge(observed)), Bytes));
        let grown = growth(observed);
        let (grows, line) = case.whole("memory in no account, growth per hour", "meminfo", grown);
        draft.evidence.push(line);
        let (short, line) = case.whole(
            "available memory",
            "meminfo MemAvailable",
            mean(observed.share_of_memory(&observed.available())),
        );
        draft.evidence.push(line);
        let share = part.value(&hits, windows).unwrap_or(0.0);
        // What nobody lacks is no loss.
        draft.cost.memory_share = Some(share).filter(|_| short == Answer::Yes || grows == Answer::Yes);
        if grows != Answer::Yes {
            draft.confidence = Some(Confidence::Low);
        }
        draft.summary = format!(
            "{} of the memory ({}) is in none of the kernel's accounts{}.",
            words::percent(share),
            bytes.value(&hits, windows).map_or_else(|| "unknown".to_owned(), words::bytes),
            if is_cut { " that the listing has: vmalloc, or huge pages set aside, may be at its end" } else { "" },
        );
        match grown {
            Some(grown) if grows == Answer::Yes => {
                draft.summary.push_str(&format!(" It grows by {} of the memory in an hour.", words::percent(grown)));
            }
            Some(_) => draft.summary.push_str(" It does not grow: somebody keeps it, and that may be rightly so."),
            None => {
                let why = format!("that takes a recording of {} to see", words::seconds(LONG_ENOUGH));
                draft.missing.push(Missing { what: "whether it grows".to_owned(), why });
            }
        }
    })
}
