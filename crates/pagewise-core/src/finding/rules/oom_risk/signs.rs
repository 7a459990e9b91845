//! The signs by which it is known that memory runs out, or did: what happened, and what is as good as used up.

use super::super::super::observed::Windows;
use super::super::prelude::*;
use super::swap_beyond_a_token;

/// One way in which memory ran out or is about to.
pub(super) struct Sign {
    /// Whether it is so.
    pub answer: Answer,
    /// Whether it did happen: what is only nearly used up may stay so.
    pub has_happened: bool,
    pub evidence: Vec<Evidence>,
    /// What is to be said of it, where it is so.
    pub says: Vec<String>,
}

impl Sign {
    /// Nobody could know of it here.
    fn absent() -> Sign {
        Sign { answer: Answer::No, has_happened: false, evidence: Vec::new(), says: Vec::new() }
    }

    fn of_an_event(answer: Answer, evidence: Evidence, says: impl FnOnce() -> String) -> Sign {
        let has_happened = answer == Answer::Yes;
        let says = has_happened.then(says).into_iter().collect();
        Sign { answer, has_happened, evidence: vec![evidence], says }
    }

    fn of_a_state(answer: Answer, evidence: Vec<Evidence>, says: impl FnOnce() -> String) -> Sign {
        let says = (answer == Answer::Yes).then(says).into_iter().collect();
        Sign { answer, has_happened: false, evidence, says }
    }
}

pub(super) fn killings(case: &Case<'_>) -> Sign {
    let kills = case.observed.growth(&signal::OOM_KILL);
    let (killed, line) = case.whole("processes killed", "vmstat oom_kill", kills);
    let says = || format!("{} for want of memory", words::were_killed(kills.unwrap_or(1.0)));
    Sign::of_an_event(killed, line, says)
}

/// Before it gives none the kernel frees what it can. Only a log of the kernel tells of it.
pub(super) fn failed_allocations(case: &Case<'_>) -> Sign {
    let Some(failed) = case.observed.growth(&signal::FAILED_SMALL) else { return Sign::absent() };
    let name = "allocations of a page that failed although they could wait";
    let (fails, line) = case.whole(name, "import failed_small", Some(failed));
    let allocations = if failed == 1.0 { "allocation" } else { "allocations" };
    Sign::of_an_event(fails, line, || format!("{} {allocations} of a single page failed", words::number(failed)))
}

pub(super) fn empty_zones(case: &Case<'_>) -> Sign {
    let Some(zones) = zones_used_up(case.observed) else { return Sign::absent() };
    let name = "zones with neither free pages nor page cache left";
    let (empty, line) = case.whole(name, "zoneinfo free, low, min", Some(zones));
    let which = if zones == 1.0 { "a zone".to_owned() } else { format!("{} zones", words::number(zones)) };
    Sign::of_an_event(empty, line, || format!("{which} of memory had neither free pages nor page cache left"))
}

/// Zones whose free memory is below the watermark at which kswapd is woken, and whose page cache is less than the lowest one. The kernel
/// writes it down when an allocation failed or somebody was killed; elsewhere a zone may be so for a moment. `None`: no log of the kernel
/// says.
fn zones_used_up(observed: &Observed) -> Option<f64> {
    if !observed.tools.iter().any(|tool| tool == "kernel-log") {
        return None;
    }
    let (free, files) = (observed.each_level(&signal::ZONE_FREE), observed.each_level(&signal::ZONE_FILE));
    let in_window = |tracks: &[(&str, Track)], labels: &str, window: usize| -> Option<f64> {
        let of_zone = tracks.iter().filter(|(other, _)| *other == labels);
        of_zone.map(|(_, track)| track.values().get(window).copied().flatten()).reduce(|a, b| Some(a? + b?))?
    };
    let (lowest, low) = (observed.each_level(&signal::ZONE_MIN), observed.each_level(&signal::ZONE_LOW));
    let is_empty = |labels: &str, min: &Track| {
        min.values().iter().enumerate().any(|(window, min)| {
            let Some(min) = min.filter(|min| *min > 0.0) else { return false };
            let is_less = |tracks, than: f64| in_window(tracks, labels, window).is_some_and(|pages| pages < than);
            // A line that was cut may lack it.
            let wakes = in_window(&low, labels, window).unwrap_or(min);
            is_less(&free, wakes) && is_less(&files, min)
        })
    };
    (!lowest.is_empty()).then(|| lowest.iter().filter(|(labels, min)| is_empty(labels, min)).count() as f64)
}

/// The kernel's own reports say that it has nothing left to free.
pub(super) fn given_up(case: &Case<'_>) -> Sign {
    let Some(share) = case.observed.level(&signal::NOTHING_TO_FREE).mean_of_all(case.windows()) else {
        return Sign::absent();
    };
    let name = "of the kernel's reports, those with nothing left to free";
    let (gave_up, line) = case.whole(name, "import nothing_to_free", Some(share));
    if gave_up != Answer::Yes {
        return Sign::absent();
    }
    Sign::of_an_event(gave_up, line, || {
        "the kernel had scanned all memory again and again and found nothing to free".to_owned()
    })
}

/// The last row of a listing has next to nothing left of memory and swap, or of page cache: the programs that run have no more of their own text in
/// memory then, whatever swap is left.
pub(super) fn at_the_end(case: &Case<'_>) -> Sign {
    let observed = case.observed;
    let name = "memory and swap that the last row of a listing has left";
    let rest = left_at_the_end(observed);
    let (ended, line) = case.whole(name, "meminfo MemFree, Cached, Buffers, SwapFree", rest);
    let (mut evidence, mut says) = (Vec::new(), Vec::new());
    if let Some(share) = rest.filter(|_| ended == Answer::Yes) {
        evidence.push(line);
        says.push(format!("in the end {} of memory and swap was left", words::percent(share)));
    }
    // A container's account of its cache may be small, while memory is free.
    let left = observed.last(&signal::MEM_AVAILABLE).or_else(|| observed.last(&signal::MEM_FREE));
    let left = left.zip(observed.memory()).map(|(left, memory)| left / memory);
    let (is_short, _) = case.whole("memory and swap to be had", "meminfo MemAvailable", left);
    let is_asked = observed.is_import && observed.ticks > 1 && is_short == Answer::Yes;
    let cache = observed.last(&signal::PAGE_CACHE).filter(|_| is_asked);
    let name = "page cache that the last row of a listing has left";
    let (tiny, tiny_line) = case.whole(name, "meminfo Cached, Buffers", cache);
    let part = cache.zip(observed.memory()).map(|(cache, memory)| cache / memory);
    let name = "of memory, page cache that the last row of a listing has left";
    let (no_part, part_line) = case.whole(name, "meminfo Cached, MemTotal", part);
    if let Some(cache) = cache.filter(|_| tiny.and(no_part) == Answer::Yes) {
        evidence.extend([tiny_line, part_line]);
        says.push(format!("in the end {} of page cache was left", words::bytes(cache)));
    }
    Sign { answer: Answer::of(Some(!says.is_empty())), has_happened: false, evidence, says }
}

/// What is left in the last row of a listing, of memory and swap: it may end where the host did, however its rows before were. Page cache
/// counts as a whole, so that it is not less than this.
fn left_at_the_end(observed: &Observed) -> Option<f64> {
    if !observed.is_import || observed.ticks < 2 {
        return None;
    }
    let (swap, _) = observed.swap()?;
    // What a tool prints in place of the kernel's own numbers is known by window only.
    let cache = observed.last(&signal::PAGE_CACHE).or_else(|| Some(observed.least(&signal::PAGE_CACHE).ends()?.1));
    let slab = observed.last(&signal::SLAB_RECLAIMABLE).unwrap_or(0.0);
    let unheld = observed.last(&signal::MEM_FREE)? + cache? + slab;
    let available = observed.last(&signal::MEM_AVAILABLE).unwrap_or(0.0);
    Some((unheld.max(available) + observed.last(&signal::SWAP_FREE)?) / (observed.memory()? + swap))
}

/// Little of memory and swap is to be had, and it falls.
pub(super) struct Scarcity {
    little: Clause,
    pub lasting: Lasting,
    /// Seconds until nothing is left.
    seconds: Option<f64>,
    soon: Answer,
    soon_line: Evidence,
    /// A listing of one reading shows a state: whether it falls nobody can say.
    pub is_state: bool,
}

impl Scarcity {
    pub(super) fn of(case: &Case<'_>) -> Scarcity {
        let observed = case.observed;
        let left = observed.available().plus(&observed.level(&signal::SWAP_FREE));
        let whole = observed.memory().zip(observed.swap()).map(|(memory, (swap, _))| memory + swap);
        let share = match whole {
            Some(whole) => left.map(|bytes| bytes / whole),
            None => observed.share_of_memory(&left),
        };
        // Without swap there is nothing to give way to what is wanted next but the page cache, and that is in what is left.
        let is_bare = observed.is_import && observed.swap().is_some_and(|(swap, _)| swap <= 0.0);
        let name =
            if is_bare { "memory to be had, in a listing of a host without swap" } else { "memory and swap to be had" };
        let little = case.clause(name, "meminfo MemAvailable, SwapFree", share);
        let lasting = case.lasting(&[&little]);
        let seconds = time_left(observed, &left);
        let (soon, soon_line) = case.whole("time until nothing is left", "meminfo MemAvailable, SwapFree", seconds);
        let is_state = observed.is_import && observed.ticks == 1;
        let soon = match soon {
            _ if is_state => Answer::Yes,
            // What does not fall has no end.
            Answer::Unknown if left.ends().is_some() => Answer::No,
            soon => soon,
        };
        Scarcity { little, lasting, seconds, soon, soon_line, is_state }
    }

    /// Whether little is to be had, falling or not.
    pub(super) fn is_there(&self) -> bool {
        self.lasting.answer == Answer::Yes
    }

    pub(super) fn answer(&self) -> Answer {
        self.lasting.answer.and(self.soon)
    }

    pub(super) fn sign(&self, hits: &Hits, windows: &Windows) -> Sign {
        let mut says = Vec::new();
        if self.is_there() {
            says.push(format!("{} of memory and swap were to be had", share_or_little(&self.little, hits, windows)));
        }
        if let Some(seconds) = self.seconds.filter(|_| self.soon == Answer::Yes) {
            says.push(format!("at this pace nothing is left in {}", words::seconds(seconds)));
        }
        let evidence = vec![self.little.evidence(hits, windows), self.soon_line.clone()];
        Sign { answer: self.answer(), has_happened: false, evidence, says }
    }
}

/// Seconds until nothing is left if it goes on as it did, by the first and the last window.
fn time_left(observed: &Observed, left: &Track) -> Option<f64> {
    let (first, last) = left.ends()?;
    let windows = &observed.windows;
    // From the middle of the first window to that of the last.
    let between = windows.seconds() - windows.width as f64 * 1e-9;
    let per_second = (first - last) / between;
    (between > 0.0 && per_second > 0.0).then(|| last / per_second)
}

fn share_or_little(clause: &Clause, hits: &Hits, windows: &Windows) -> String {
    clause.value(hits, windows).map_or_else(|| "little".to_owned(), words::percent)
}

/// Swap is used up, and little memory is to be had beside it.
pub(super) struct SwapUsedUp {
    left: Clause,
    short: Clause,
    pub lasting: Lasting,
}

impl SwapUsedUp {
    /// `None`: there is no swap but a token.
    pub(super) fn of(case: &Case<'_>) -> Option<SwapUsedUp> {
        let observed = case.observed;
        let swap = swap_beyond_a_token(observed)?;
        let left = observed.level(&signal::SWAP_FREE).map(|bytes| bytes / swap);
        let left = case.clause("swap that is left", "meminfo SwapFree / SwapTotal", left);
        let available = observed.share_of_memory(&observed.available());
        let short = case.clause("memory to be had, where swap is used up", "meminfo MemAvailable", available);
        let lasting = case.lasting(&[&left, &short]);
        Some(SwapUsedUp { left, short, lasting })
    }

    pub(super) fn sign(&self, hits: &Hits, windows: &Windows) -> Sign {
        let evidence = [&self.left, &self.short].map(|clause| clause.evidence(hits, windows)).into();
        Sign::of_a_state(self.lasting.answer, evidence, || {
            let share = share_or_little(&self.short, hits, windows);
            format!("swap is used up, and {share} of memory were to be had beside it")
        })
    }
}

/// More is promised than there is, and next to nothing is left, as a listing prints it: programs need what they were promised. However short, it
/// is a host at its end.
pub(super) struct Overdrawn {
    pub left: Clause,
}

impl Overdrawn {
    /// `None`: it is not so, or nobody knows.
    pub(super) fn of(case: &Case<'_>) -> Option<Overdrawn> {
        let observed = case.observed;
        if !observed.has(&signal::IMPORTED_COMMIT) {
            return None;
        }
        let promised = observed.level(&signal::IMPORTED_COMMIT);
        let promised = case.clause("promised, of memory and swap", "import commit_percent", promised);
        // At the worst row of a window: a mean of two hides the one in which nothing was left.
        let free = observed.level(&signal::MEM_FREE);
        let rest = observed.available().with(&free, |all, free| Some((all - free).max(0.0)));
        let available = observed.share_of_memory(&rest.plus(&observed.least(&signal::MEM_FREE)));
        let name = "memory to be had, where more is promised than there is";
        let mut left = case.clause(name, "meminfo MemAvailable", available);
        left.hits = left.hits.and(&promised.hits);
        left.hits.answers.contains(&Answer::Yes).then_some(Overdrawn { left })
    }

    pub(super) fn sign(&self, hits: &Hits, windows: &Windows) -> Sign {
        Sign::of_a_state(Answer::Yes, vec![self.left.evidence(hits, windows)], || {
            let share = share_or_little(&self.left, hits, windows);
            format!("more is promised than there is, and {share} of memory were to be had")
        })
    }
}

/// What is promised of what may be, where the kernel refuses more.
pub(super) struct Promises {
    pub share: Clause,
    pub answer: Answer,
    is_limited: bool,
}

impl Promises {
    pub(super) fn of(case: &Case<'_>) -> Promises {
        let observed = case.observed;
        let share = observed.level(&signal::COMMITTED).share_of(&observed.level(&signal::COMMIT_LIMIT));
        let share = case.clause("promised, of the limit", "meminfo Committed_AS / CommitLimit", share);
        let is_limited = observed.settings.value("vm.overcommit_memory") == Some("2");
        let answer = if is_limited { case.lasting(&[&share]).answer } else { Answer::No };
        Promises { share, answer, is_limited }
    }

    /// `None`: this host refuses nothing for what is promised.
    pub(super) fn sign(&self, hits: &Hits, windows: &Windows) -> Option<Sign> {
        let evidence = vec![self.share.evidence(hits, windows)];
        let says = || "nearly all that may be promised is promised".to_owned();
        self.is_limited.then(|| Sign::of_a_state(self.answer, evidence, says))
    }
}
