//! What freeing costs, and what filling costs once it was freed.
//!
//! The second cannot be seen where the guard works. On a virtual machine with free page reporting, or under a balloon, blocks of 2 MiB that
//! stay free for about two seconds go back to the host, and touching them again costs some 0.85 s of CPU per GiB instead of 0.2 (seen by hand on
//! Linux 6.18, `page_reporting_order` 9). A guard that frees early and much makes the job half as slow again, while kswapd sleeps and no
//! allocation stalls. What tells is the kernel time for each GiB that came in, with the guard's batches against without: that of the streams, kswapd and the
//! guard where the streams are known, else of the whole host.
//!
//! A stream that goes around reads a part of its file from memory, now more and now less, and that costs a fraction of what filling does. A GiB read is
//! therefore no measure: what is read from memory is taken out, at the cost that such stretches show by themselves.

use super::SECOND;

/// Weight of the newest slice.
const NEWEST: f64 = 0.3;

/// Nanoseconds of CPU for a byte freed, before anything is known: 300 ms/GiB, dear on purpose: the first slice is small, and tells.
const AT_FIRST: f64 = 0.3e9 / (1 << 30) as f64;

/// So many slices make a price. What a single one takes may be anything: the first of them finds its caches cold.
const MAKE_A_PRICE: u32 = 8;

/// A slice counts for no more than so many times what slices took before: a hypervisor that stops the CPU passes for work of the slice.
const MOST_AT_ONCE: f64 = 4.0;

/// From where on what is known is multiplied: a millisecond for a GiB, nanoseconds a byte.
const LEAST_KNOWN: f64 = 1e6 / (1 << 30) as f64;

/// A slice that took longer was held up by something else: a stop, a throttled cgroup, a neighbour.
const HELD_UP: u64 = SECOND / 4;

/// What freeing costs, in time and in CPU time: learnt from every slice that gave what was asked for, of the recent ones together. Of single slices the
/// short ones, which end a batch, are the dear ones: the mean of their prices is several times what a byte costs.
#[derive(Clone, Copy, Debug)]
pub struct Freeing {
    /// Of a recent slice on the average: bytes, and nanoseconds for them.
    freed: f64,
    took: f64,
    cpu: f64,
    /// Slices learnt from, since what was learnt was old.
    slices: u32,
}

impl Default for Freeing {
    fn default() -> Self {
        Freeing { freed: 1.0, took: AT_FIRST, cpu: AT_FIRST, slices: 0 }
    }
}

impl Freeing {
    /// A slice freed so much in so long, with so much CPU.
    pub fn learn(&mut self, freed: u64, took: u64, cpu: u64) {
        if freed == 0 || took > HELD_UP {
            return;
        }
        self.slices = self.slices.saturating_add(1);
        let weight = NEWEST.max(1.0 / f64::from(self.slices));
        // One slice of many was held up; where it costs that much from now on, the next few say so, too.
        let is_first = self.slices == 1;
        let most = |per_byte: f64| if is_first { f64::INFINITY } else { per_byte.max(LEAST_KNOWN) * MOST_AT_ONCE };
        let freed = freed as f64;
        let took = (took as f64).min(most(self.took / self.freed) * freed);
        let cpu = (cpu as f64).min(most(self.cpu / self.freed) * freed);
        self.freed += weight * (freed - self.freed);
        self.took += weight * (took - self.took);
        self.cpu += weight * (cpu - self.cpu);
    }

    /// Whether enough slices were learnt from lately.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.slices >= MAKE_A_PRICE
    }

    /// What was learnt is old: the next slices are believed as the first ones are.
    pub fn is_old(&mut self) {
        self.slices = 0;
    }

    /// CPU nanoseconds for a byte.
    #[must_use]
    pub fn cpu_per_byte(&self) -> f64 {
        self.cpu / self.freed
    }

    /// Bytes that can be freed in so many nanoseconds.
    #[must_use]
    pub fn within(&self, nanoseconds: u64) -> u64 {
        (nanoseconds as f64 / (self.took / self.freed).max(1e-3)) as u64
    }
}

/// Kernel time for each byte that came in, measured over so long at least: several batches of the guard, or as little as will do where the kernel is at
/// work, since that is what the guard is to spare the host.
const WINDOW: u64 = SECOND;
const WINDOW_WITHOUT: u64 = SECOND / 4;

/// And until so much came in: kernel time is counted in ticks of 10 ms.
const LEAST: u64 = 512 << 20;

/// What the kernel does is measured over so many of its own cycles: within one it works at first and rests then.
const CYCLES: u64 = 8;

/// A window in which it takes longer is none.
const LONGEST_WINDOW: u64 = 10 * SECOND;

/// With less than this part missing, a stretch shows what reading from memory costs; with more than that one, nothing of it was in memory, as far as
/// the counters of two files can tell.
const ALL_IN_MEMORY: f64 = 0.05;
const NONE_IN_MEMORY: f64 = 0.9;

/// At least this part of a window must have come in, before it is known what reading from memory costs, and after.
const LEAST_MISSING_AT_FIRST: f64 = 0.75;
const LEAST_MISSING: f64 = 0.25;

/// Dearer by this part with the guard than without: it harms.
const HARMS: f64 = 0.15;

/// In most of the last few windows, and on average over those and as many before them: single windows scatter by 15 % (seen by hand).
const LAST: usize = 3;
const AVERAGED: usize = 2 * LAST;

/// So many windows in which the kernel alone reclaimed tell what filling costs then, and so many where that is asked again.
const TELL_WITHOUT: u32 = 2;
const TELL_WITHOUT_AGAIN: u32 = 4;

/// Who reclaimed between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimedBy {
    /// The guard.
    pub guard: bool,
    /// kswapd or an application.
    pub kernel: bool,
}

/// Totals at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostTotals {
    /// Nanoseconds of kernel time.
    pub cpu: u64,
    /// Bytes that were read for it, from memory or not. Those that came in where nobody knows.
    pub read: u64,
    /// Bytes that came in.
    pub came: u64,
}

impl CostTotals {
    fn since(self, before: CostTotals) -> CostTotals {
        CostTotals {
            cpu: self.cpu.saturating_sub(before.cpu),
            read: self.read.saturating_sub(before.read),
            came: self.came.saturating_sub(before.came),
        }
    }

    /// Which part of what was read came in.
    fn missing(self) -> f64 {
        let part = self.came as f64 / self.read.max(1) as f64;
        if part > NONE_IN_MEMORY { 1.0 } else { part }
    }
}

/// What reading from memory costs, nanoseconds for a byte: learnt where a stretch of a stream finds all that it reads there.
#[derive(Clone, Copy, Debug, Default)]
struct Copying {
    began: Option<CostTotals>,
    cost: Option<f64>,
}

impl Copying {
    /// `true`: since the last such answer all that was read lay in memory.
    fn observe(&mut self, paid: CostTotals) -> bool {
        let since = paid.since(*self.began.get_or_insert(paid));
        if since.came as f64 > ALL_IN_MEMORY * LEAST as f64 {
            self.began = Some(paid);
        } else if since.read >= LEAST {
            let now = since.cpu as f64 / since.read as f64;
            self.cost = Some(self.cost.map_or(now, |before| before + NEWEST * (now - before)));
            self.began = Some(paid);
            return true;
        }
        false
    }

    /// Nanoseconds for each byte that came in, reading from memory left out. `None` where too little of what was read came in.
    fn left_out_of(&self, since: CostTotals) -> Option<f64> {
        let missing = since.missing();
        let least = if self.cost.is_some() { LEAST_MISSING } else { LEAST_MISSING_AT_FIRST };
        let came = missing * since.read as f64;
        let copied = since.read as f64 - came;
        let filling = since.cpu as f64 - self.cost.unwrap_or(0.0) * copied;
        (missing >= least).then(|| filling.max(0.0) / came.max(1.0))
    }
}

/// What windows of one kind cost, nanoseconds for each byte that came in.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    mean: f64,
    windows: u32,
    /// The newest ones.
    newest: [f64; AVERAGED],
}

impl Costs {
    fn learn(&mut self, now: f64) {
        self.newest[self.windows as usize % AVERAGED] = now;
        self.windows += 1;
        self.mean += NEWEST.max(1.0 / f64::from(self.windows)) * (now - self.mean);
    }

    /// Whether that is more than so much, and not by a single window.
    fn is_above(&self, most: f64) -> bool {
        let known = (self.windows as usize).min(AVERAGED);
        let last = (1..=LAST.min(known)).map(|back| self.newest[(self.windows as usize - back) % AVERAGED]);
        let above = last.filter(|cost| *cost > most).count();
        let averaged = self.newest[..known].iter().sum::<f64>() / known.max(1) as f64;
        known >= LAST && 2 * above > LAST && averaged > most
    }
}

/// What filling costs, with the guard and without. Whatever reclaims is in both: the guard's own time here, kswapd's there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filling {
    began: Option<(u64, CostTotals)>,
    copying: Copying,
    cycle: u64,
    by: ReclaimedBy,
    /// Who reclaimed last: a window in which nobody did lives on what was freed before it.
    last: ReclaimedBy,
    without: Costs,
    asked_again: bool,
    with: Costs,
}

impl Filling {
    /// Takes in totals of what was paid and for what, and who reclaimed since the last sample. `true`: for
    /// some time it has been dearer with the guard than without.
    pub fn observe(&mut self, at: u64, paid: CostTotals, by: ReclaimedBy) -> bool {
        let Some((began, before)) = self.began else {
            self.starts(at, paid);
            return false;
        };
        self.by = ReclaimedBy { guard: self.by.guard || by.guard, kernel: self.by.kernel || by.kernel };
        if self.copying.observe(paid) {
            self.starts(at, paid);
            return false;
        }
        let (passed, since) = (at.saturating_sub(began), paid.since(before));
        let by = if self.is_untouched() { self.last } else { self.by };
        let is_without = by.kernel && !by.guard;
        let long_enough = if is_without { WINDOW_WITHOUT } else { WINDOW };
        let least = if is_without { LEAST.max(CYCLES * self.cycle) } else { LEAST };
        if passed < long_enough || since.came < least && passed < LONGEST_WINDOW {
            return false;
        }
        self.starts(at, paid);
        self.last = by;
        let Some(now) = self.copying.left_out_of(since).filter(|_| since.came >= least) else {
            return false;
        };
        match by {
            ReclaimedBy { guard: true, kernel: false } => self.with.learn(now),
            ReclaimedBy { guard: false, kernel: true } => self.without.learn(now),
            _ => return false,
        }
        self.without().is_some_and(|without| self.with.is_above(without * (1.0 + HARMS)))
    }

    /// A window begins now, whatever was before.
    pub fn starts(&mut self, at: u64, paid: CostTotals) {
        self.began = Some((at, paid));
        self.by = ReclaimedBy::default();
    }

    /// kswapd frees so many bytes before it sleeps again: from the low watermarks to the high ones.
    pub fn cycles_of(&mut self, bytes: u64) {
        self.cycle = bytes;
    }

    /// Whether nobody reclaimed since the window began.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.by == ReclaimedBy::default()
    }

    fn without(&self) -> Option<f64> {
        let tell = if self.asked_again { TELL_WITHOUT_AGAIN } else { TELL_WITHOUT };
        (self.without.windows >= tell).then_some(self.without.mean)
    }

    /// Whether it is known what filling costs where the kernel reclaims.
    #[must_use]
    pub fn knows_without(&self) -> bool {
        self.without().is_some()
    }

    /// Nanoseconds of kernel time for a byte: with the guard, and without.
    #[must_use]
    pub fn known(&self) -> (Option<f64>, Option<f64>) {
        ((self.with.windows > 0).then_some(self.with.mean), self.without())
    }

    /// Forgets what was learnt with the guard, where it works otherwise from now on.
    pub fn starts_anew(&mut self) {
        self.with = Costs::default();
    }

    /// Forgets both, and what filling costs without is asked again, and more thoroughly: what reading from memory costs stays.
    pub fn asks_again(&mut self) {
        *self = Filling { copying: self.copying, cycle: self.cycle, asked_again: true, ..Filling::default() };
    }

    /// Forgets a window that was not sampled throughout.
    pub fn forget(&mut self) {
        (self.began, self.copying.began) = (None, None);
        self.last = ReclaimedBy::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: ReclaimedBy = ReclaimedBy { guard: true, kernel: false };
    const KERNEL: ReclaimedBy = ReclaimedBy { guard: false, kernel: true };

    #[test]
    fn freeing_is_learnt_from_slices_that_were_not_held_up() {
        let mut freeing = Freeing::default();
        freeing.learn(1 << 30, 6_000_000, 5_000_000);
        assert_eq!(freeing.within(3_000_000), 1 << 29);
        freeing.learn(0, 5, 5);
        freeing.learn(13 << 20, 10 * SECOND, 4_000_000);
        let per_gib = |freeing: &Freeing| freeing.cpu_per_byte() * f64::from(1 << 30);
        freeing.learn(1 << 30, 106_000_000, 105_000_000);
        assert!((per_gib(&freeing) - 12.5e6).abs() < 1.0, "one counts for four of those before at most");
        (0..12).for_each(|_| freeing.learn(1 << 30, 106_000_000, 105_000_000));
        assert!(per_gib(&freeing) > 90e6, "and all of them for what they are");
        let mut nothing = Freeing::default();
        nothing.learn(1 << 30, 0, 0);
        (0..20).for_each(|_| nothing.learn(1 << 30, 100_000_000, 100_000_000));
        assert!(per_gib(&nothing) > 50e6, "a first slice that took no time stands in nobody's way");
    }

    #[test]
    fn a_dear_first_slice_makes_no_price() {
        let mut freeing = Freeing::default();
        freeing.learn(14 << 20, 2_000_000, 2_000_000);
        assert!(!freeing.is_known());
        while !freeing.is_known() {
            freeing.learn(14 << 20, 60_000, 60_000);
        }
        let per_gib = freeing.cpu_per_byte() * f64::from(1 << 30);
        assert!(per_gib < 20e6, "{per_gib}: the others took 4 ms");
        freeing.is_old();
        assert!(!freeing.is_known());
    }

    #[test]
    fn a_byte_costs_what_all_bytes_cost_and_not_what_the_last_few_do() {
        // Each batch of 15 MiB ends with a slice of one MiB, and a call costs 0.2 ms whatever it frees.
        let mut freeing = Freeing::default();
        for slice in 0..40 {
            let mib = if slice % 2 == 0 { 14 } else { 1 };
            freeing.learn(mib << 20, 200_000 + mib * 5_000, 200_000 + mib * 5_000);
        }
        let per_gib = freeing.cpu_per_byte() * f64::from(1 << 30);
        assert!((25e6..50e6).contains(&per_gib), "{per_gib}: all together 32 ms, and the mean of single prices 115 ms");
    }

    /// A host whose windows cost so many nanoseconds a GiB.
    #[derive(Default)]
    struct Host {
        filling: Filling,
        at: u64,
        paid: CostTotals,
    }

    impl Host {
        fn window(&mut self, per_gib: u64, by: ReclaimedBy) -> bool {
            self.reads(1 << 30, 1 << 30, per_gib, by)
        }

        fn reads(&mut self, read: u64, came: u64, cpu: u64, by: ReclaimedBy) -> bool {
            let Host { filling, at, paid } = self;
            if *at == 0 {
                filling.observe(0, *paid, ReclaimedBy::default());
            }
            *at += WINDOW;
            *paid = CostTotals { cpu: paid.cpu + cpu, read: paid.read + read, came: paid.came + came };
            filling.observe(*at, *paid, by)
        }
    }

    #[test]
    fn filling_that_is_dearer_with_the_guard_is_told_in_most_of_three_windows() {
        let mut host = Host::default();
        assert!(!host.window(200_000_000, KERNEL) && !host.filling.knows_without());
        assert!(!host.window(200_000_000, KERNEL) && host.filling.knows_without());
        // As dear with the guard as without: for ever.
        assert!((0..10).all(|_| !host.window(210_000_000, GUARD)));
        let told: Vec<bool> = (0..3).map(|_| host.window(850_000_000, GUARD)).collect();
        assert_eq!(told, [false, true, true]);
    }

    #[test]
    fn windows_that_scatter_say_nothing_and_a_guard_that_works_every_other_second_is_held_against_both() {
        let mut host = Host::default();
        assert!((0..2).all(|_| !host.window(500_000_000, KERNEL)));
        // It frees for two windows in one: what the second costs is the guard's, too.
        for _ in 0..10 {
            assert!(!host.window(600_000_000, GUARD) && !host.window(300_000_000, ReclaimedBy::default()));
        }
        let with = host.filling.known().0.unwrap() * (1_u64 << 30) as f64;
        assert!((with - 450e6).abs() < 50e6, "{with}");
        for scatters in [580, 590, 430, 450, 600, 590, 420, 480, 590, 440] {
            assert!(!host.window(scatters * 1_000_000, GUARD), "{scatters}");
        }
        assert!((0..6).any(|_| host.window(640_000_000, GUARD)));
    }

    #[test]
    fn what_is_asked_again_is_asked_more_thoroughly() {
        let mut host = Host::default();
        assert!((0..2).all(|_| !host.window(500_000_000, KERNEL)) && host.filling.knows_without());
        host.filling.asks_again();
        let known: Vec<bool> = (0..5)
            .map(|_| {
                host.window(500_000_000, KERNEL);
                host.filling.knows_without()
            })
            .collect();
        assert_eq!(known, [false, false, false, false, true], "the first sample begins the first window");
    }

    #[test]
    fn one_window_is_none_and_one_in_which_both_reclaimed_says_nothing() {
        let mut host = Host::default();
        assert!((0..2).all(|_| !host.window(200_000_000, KERNEL)));
        assert!(!host.window(5_000_000_000, GUARD));
        assert!((0..5).all(|_| !host.window(200_000_000, GUARD)), "an outlier is over with its window");
        assert!((0..5).all(|_| !host.window(5_000_000_000, ReclaimedBy { guard: true, kernel: true })));
        // After such windows it still listens.
        assert!((0..3).any(|_| host.window(850_000_000, GUARD)));
    }

    #[test]
    fn half_a_second_of_the_kernel_is_enough() {
        let mut filling = Filling::default();
        filling.observe(0, CostTotals::default(), ReclaimedBy::default());
        let paid = |cpu: u64, came: u64| CostTotals { cpu, read: came, came };
        let quarter = SECOND / 4;
        for quarters in 1..=2 {
            assert!(!filling.knows_without());
            filling.observe(quarters * quarter, paid(quarters * 100_000_000, quarters << 30), KERNEL);
        }
        assert!(filling.knows_without());
        filling.starts(SECOND, CostTotals::default());
        filling.observe(SECOND + quarter, paid(100_000_000, 1 << 30), GUARD);
        assert_eq!(filling.known().0, None, "the guard's window holds several batches");
    }

    #[test]
    fn little_that_comes_in_is_waited_for() {
        let mut filling = Filling::default();
        filling.observe(0, CostTotals::default(), KERNEL);
        for second in 1..=20 {
            let came = second * (16 << 20);
            filling.observe(second * SECOND, CostTotals { cpu: second * 10_000_000, read: came, came }, KERNEL);
        }
        assert!(!filling.knows_without());
    }

    #[test]
    fn what_a_stream_reads_from_memory_is_no_cheap_filling() {
        // A GiB read from memory costs 80 ms, one that comes in 500 ms. The kernel leaves a quarter in memory, the guard a half, in turns.
        const G: u64 = 1 << 30;
        let mut host = Host::default();
        for _ in 0..8 {
            host.reads(G, 0, 80_000_000, ReclaimedBy::default());
            host.reads(G, 3 * G / 4, 395_000_000, KERNEL);
        }
        let without = host.filling.known().1.unwrap() * G as f64;
        assert!((without - 500e6).abs() < 5e6, "{without}");
        for _ in 0..20 {
            host.reads(G, 0, 80_000_000, ReclaimedBy::default());
            assert!(!host.reads(G, G, 500_000_000, GUARD), "all of it came in, and it costs the same");
        }
        let told: Vec<bool> = (0..3).map(|_| host.reads(G, G / 2, 400_000_000, GUARD)).collect();
        assert_eq!(told, [false, false, true], "720 ms for each GiB that came in");
    }

    #[test]
    fn before_reading_from_memory_has_a_price_a_window_with_much_of_it_says_nothing() {
        let mut host = Host::default();
        (0..10).for_each(|_| {
            host.reads(2 << 30, 1 << 30, 500_000_000, KERNEL);
        });
        assert!(!host.filling.knows_without());
    }
}
