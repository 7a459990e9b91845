//! How much huge pages can matter here: latency of dependent random accesses on small and on huge pages.
//!
//! Hosts without counters in the processor, most virtual machines among them, cannot say how long page walks take. But
//! an access whose address depends on the one before cannot overlap with it, so its latency shows the walk. Nothing of
//! the host's settings is touched: each memory area is advised to its page size, and what was really given is checked.

use super::kernel;
use crate::cgroup;
use crate::clock;
use crate::progress::Progress;
use crate::root::Root;
use crate::source::cpu;
use crate::sys::mapping::{Mapping, PageAdvice};
use pagewise_core::report::doctor::{FootprintCost, LARGEST_FOOTPRINT, Spread, WalkCost};
use pagewise_core::unit::Bytes;
use std::time::{Duration, Instant};

/// A huge page where the base page has 4 KiB (x86, arm64).
const HUGE_PAGE: usize = 2 << 20;

/// How thoroughly to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Footprints in MiB, powers of two, smallest first.
    pub footprints_mib: Vec<u64>,
    /// Rounds per footprint.
    pub rounds: u32,
    /// Timed accesses per round and page size.
    pub accesses: u32,
    /// Footprints are left out once this has passed.
    pub budget: Duration,
}

impl Effort {
    /// Below two seconds: what `doctor` does unasked.
    #[must_use]
    pub fn quick() -> Self {
        let budget = Duration::from_millis(1800);
        Effort { footprints_mib: vec![4, 64, 512], rounds: 9, accesses: 1 << 17, budget }
    }

    /// Up to a minute, footprints up to 2 GiB.
    #[must_use]
    pub fn full() -> Self {
        let budget = Duration::from_secs(60);
        let footprints_mib = vec![4, 16, 64, 256, 512, 1024, LARGEST_FOOTPRINT >> 20];
        Effort { footprints_mib, rounds: 15, accesses: 1 << 19, budget }
    }
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum WalkCostError {
    /// The tree is another host's.
    #[error("{}", super::ANOTHER_HOST)]
    AnotherHost,
    /// The pages that were to be compared could not be had.
    #[error("of {asked} advised to huge pages {given} are on huge pages; {reason}")]
    NoHugePages {
        /// How much was to be on huge pages.
        asked: Bytes,
        /// How much was.
        given: Bytes,
        /// The likely reason.
        reason: String,
    },
    /// Memory could not be had or read.
    #[error("{0}")]
    Memory(String),
    /// Less than the smallest footprint is free to take.
    #[error("a quarter of the memory that is available, {0}, is less than the smallest footprint")]
    TooLittleMemory(Bytes),
    /// Not even the smallest footprint was done in time.
    #[error("the host was too busy to measure in the time allowed; run: pagewise doctor --walk-cost")]
    TooSlow,
}

/// Measures by `effort`. A footprint is at most a quarter of what is available, so that no job is pushed out.
///
/// # Errors
/// When there is nothing to compare here; see [`WalkCostError`].
pub fn measure(root: &Root, effort: &Effort, progress: &dyn Progress) -> Result<WalkCost, WalkCostError> {
    if !root.is_live() {
        return Err(WalkCostError::AnotherHost);
    }
    let began = Instant::now();
    let deadline = began + effort.budget;
    let before = cpu::read(root).ok().zip(Some(own_cpu_time()));
    let allowed = allowed_bytes(root);
    let mut cost = WalkCost {
        small_page_bytes: rustix::param::page_size() as u64,
        huge_page_bytes: HUGE_PAGE as u64,
        footprints: Vec::new(),
        left_out: Vec::new(),
        others_cpus: None,
    };
    for (number, mib) in effort.footprints_mib.iter().enumerate() {
        let bytes = mib << 20;
        progress.stage(
            &format!("page walks over {}", Bytes(bytes)),
            Some(number as f64 / effort.footprints_mib.len() as f64),
        );
        if bytes > allowed {
            let why = format!("{} (more than a quarter of the available memory)", Bytes(bytes));
            cost.left_out.push(why);
            continue;
        }
        match measure_footprint(root, bytes, effort, deadline)? {
            Some(line) => cost.footprints.push(line),
            None => cost.left_out.push(format!("{} (no time; try --walk-cost)", Bytes(bytes))),
        }
    }
    if let Some((times, own)) = before {
        let own = own_cpu_time().saturating_sub(own).as_secs_f64() / began.elapsed().as_secs_f64();
        cost.others_cpus = cpu::read(root).ok().and_then(|now| {
            let since = now.since(times);
            let busy = since.busy_share()? + since.steal_share();
            Some((busy * cpu::online(root).len() as f64 - own).max(0.0))
        });
    }
    match (cost.footprints.is_empty(), allowed >> 20 < effort.footprints_mib.first().copied().unwrap_or(0)) {
        (true, true) => Err(WalkCostError::TooLittleMemory(Bytes(allowed))),
        (true, false) => Err(WalkCostError::TooSlow),
        (false, _) => Ok(cost),
    }
}

/// CPU time of this process so far.
fn own_cpu_time() -> Duration {
    Duration::from_nanos(clock::process_cpu())
}

/// A quarter of what is available on the host and left in our cgroup, whichever is less.
fn allowed_bytes(root: &Root) -> u64 {
    let meminfo = root.read("/proc/meminfo").unwrap_or_default();
    let available = kernel::meminfo_bytes(&meminfo, "MemAvailable")
        .or_else(|| kernel::meminfo_bytes(&meminfo, "MemFree"))
        .unwrap_or(0);
    available.min(cgroup::room(root).unwrap_or(u64::MAX)) / 4
}

/// Below this number of rounds there is no spread to speak of.
const FEWEST_ROUNDS: usize = 3;

/// `None` when there was no time for enough rounds.
fn measure_footprint(
    root: &Root,
    bytes: u64,
    effort: &Effort,
    deadline: Instant,
) -> Result<Option<FootprintCost>, WalkCostError> {
    let Some(mut small) = resident(bytes, PageAdvice::Base, deadline)? else { return Ok(None) };
    let Some(mut huge) = resident(bytes, PageAdvice::Huge, deadline)? else { return Ok(None) };
    check_huge(root, huge.bytes())?;
    let (mut on_small, mut on_huge) = (Vec::new(), Vec::new());
    let mut line = 0;
    for round in 0..effort.rounds {
        if Instant::now() > deadline {
            break;
        }
        // Both walk the same lines, one right after the other; who goes first alternates, so that what the first one
        // leaves in the caches favours neither.
        if round % 2 == 0 {
            on_small.push(nanoseconds(small.bytes(), line, effort.accesses));
            on_huge.push(nanoseconds(huge.bytes(), line, effort.accesses));
        } else {
            on_huge.push(nanoseconds(huge.bytes(), line, effort.accesses));
            on_small.push(nanoseconds(small.bytes(), line, effort.accesses));
        }
        line = line.wrapping_mul(31).wrapping_add(round as usize + 1);
    }
    if on_small.len() < FEWEST_ROUNDS {
        return Ok(None);
    }
    let saved: Vec<f64> = on_small.iter().zip(&on_huge).map(|(small, huge)| 1.0 - huge / small).collect();
    Ok(Spread::of(&on_small)
        .zip(Spread::of(&on_huge))
        .zip(Spread::of(&saved))
        .map(|((small, huge), saved)| FootprintCost { bytes, rounds: on_small.len() as u32, small, huge, saved }))
}

/// Memory with every page touched by a write, so that it is not the shared zero page. `None` when time ran out.
fn resident(bytes: u64, pages: PageAdvice, deadline: Instant) -> Result<Option<Mapping>, WalkCostError> {
    const SMALLEST_PAGE: usize = 4096;
    let memory = |e: std::io::Error| WalkCostError::Memory(format!("cannot map {}: {e}", Bytes(bytes)));
    let length = usize::try_from(bytes).map_err(|_| WalkCostError::TooLittleMemory(Bytes(bytes)))?;
    let mut mapping = Mapping::new(length, HUGE_PAGE, pages).map_err(memory)?;
    for huge_page in mapping.bytes().chunks_mut(HUGE_PAGE) {
        if Instant::now() > deadline {
            return Ok(None);
        }
        for byte in huge_page.iter_mut().step_by(SMALLEST_PAGE) {
            // Volatile in effect: the optimiser must not see that a zero is written over a zero.
            *byte = std::hint::black_box(0);
        }
    }
    Ok(Some(mapping))
}

/// Nine tenths: a page or two that could not be had does not spoil the median.
fn check_huge(root: &Root, memory: &[u8]) -> Result<(), WalkCostError> {
    let smaps = root.read("/proc/self/smaps").map_err(|e| WalkCostError::Memory(e.to_string()))?;
    let start = memory.as_ptr() as usize;
    let given = huge_bytes(&smaps, &(start..start + memory.len()));
    let asked = memory.len() as u64;
    if given >= asked / 10 * 9 {
        return Ok(());
    }
    let facts = kernel::host_facts(root, None);
    let reason = match facts.thp_enabled.as_deref() {
        None => "this kernel has none".to_owned(),
        Some("never") => "THP enabled is never; ask again with: pagewise set thp.enabled=madvise".to_owned(),
        Some(value) => format!("THP enabled is {value}: free memory is fragmented, or this process may have none"),
    };
    Err(WalkCostError::NoHugePages { asked: Bytes(asked), given: Bytes(given), reason })
}

/// Bytes on huge pages in areas that overlap `addresses` (`/proc/PID/smaps`, `man 5 proc`).
fn huge_bytes(smaps: &str, addresses: &std::ops::Range<usize>) -> u64 {
    let mut inside = false;
    let mut kib = 0;
    for line in smaps.lines() {
        if let Some(area) = area(line) {
            inside = area.start < addresses.end && addresses.start < area.end;
        } else if let Some(value) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            kib += value.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    kib * 1024
}

/// `START-END PERMISSIONS …`, which begins an area; the lines about it begin with a name and a colon.
fn area(line: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// Untimed accesses before the timed ones: they bring back what the other page size pushed out of caches and TLB.
const WARM_UP: u32 = 1 << 16;

fn nanoseconds(memory: &[u8], first_line: usize, accesses: u32) -> f64 {
    let warm = chase(memory, first_line, WARM_UP);
    let started = Instant::now();
    std::hint::black_box(chase(memory, warm, accesses));
    started.elapsed().as_secs_f64() * 1e9 / f64::from(accesses)
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Follows `accesses` steps of one cycle through all cache lines, each address depending on what the last one held.
///
/// The lines' order is a linear congruential sequence: with an odd increment and a multiplier of 1 modulo 4 it visits
/// every one of a power of two before it repeats (Hull and Dobell, SIAM Review 4, 1962). A shuffled list of pointers
/// would do the same but takes longer to build than to measure. The multiplier is Knuth's (MMIX); its products leave no
/// stride that a prefetcher could learn. All bytes are zero, so adding what was read changes nothing but makes the
/// next address wait for it.
fn chase(memory: &[u8], first_line: usize, accesses: u32) -> usize {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    const INCREMENT: u64 = 1_442_695_040_888_963_407;
    let lines = memory.len() / LINE;
    debug_assert!(lines.is_power_of_two());
    let mask = lines - 1;
    let mut line = first_line & mask;
    for _ in 0..accesses {
        let next =
            (line as u64).wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT).wrapping_add(u64::from(memory[line * LINE]));
        line = next as usize & mask;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;

    #[test]
    fn the_chase_visits_every_line_once_before_it_repeats() {
        let memory = vec![0; 4096 * LINE];
        let mut seen = vec![false; 4096];
        let mut line = 0;
        for _ in 0..4096 {
            assert!(!seen[line], "line {line} came twice");
            seen[line] = true;
            line = chase(&memory, line, 1);
        }
        assert_eq!(line, 0);
    }

    #[test]
    fn consecutive_accesses_are_on_other_pages() {
        let memory = vec![0; 16 << 20];
        let mut line = 0;
        let mut same_page = 0;
        for _ in 0..10_000 {
            let next = chase(&memory, line, 1);
            same_page += u32::from(next / 64 == line / 64);
            line = next;
        }
        assert!(same_page < 20, "{same_page} of 10000 stayed on their page");
    }

    #[test]
    fn huge_pages_are_counted_in_the_areas_asked_for_alone() {
        let smaps = "7f00000000-7f00400000 rw-p 00000000 00:00 0 \nSize: 4096 kB\nAnonHugePages:      4096 kB\n\
                     7f00800000-7f00c00000 rw-p 00000000 00:00 0 \nAnonHugePages:      2048 kB\n";
        assert_eq!(huge_bytes(smaps, &(0x7f_0000_0000..0x7f_0040_0000)), 4 << 20);
        assert_eq!(huge_bytes(smaps, &(0x7f_0080_0000..0x7f_00c0_0000)), 2 << 20);
        assert_eq!(huge_bytes(smaps, &(0x1000..0x2000)), 0);
    }

    #[test]
    fn memory_that_stayed_on_small_pages_is_not_taken_for_huge() {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut small = resident(4 << 20, PageAdvice::Base, deadline).expect("memory").expect("in time");
        let error = check_huge(&Root::live(), small.bytes()).expect_err("small pages");
        assert!(error.to_string().starts_with("of 4 MiB advised to huge pages 0 B are on huge pages; "), "{error}");
    }

    #[test]
    fn another_hosts_tree_is_not_measured() {
        let error = measure(&Root::at("/nowhere"), &Effort::quick(), &NoProgress).expect_err("no host to measure");
        assert!(error.to_string().contains("another host"), "{error}");
    }

    #[test]
    fn on_this_host_both_page_sizes_get_a_time_or_the_reason_is_told() {
        let effort = Effort { footprints_mib: vec![4], rounds: 3, accesses: 1 << 12, budget: Duration::from_secs(30) };
        match measure(&Root::live(), &effort, &NoProgress) {
            Ok(cost) => {
                assert_eq!(cost.footprints.len(), 1);
                let line = &cost.footprints[0];
                assert!(line.small.min > 0.1 && line.huge.min > 0.1, "{line:?}");
                assert!(line.small.min <= line.small.median && line.small.median <= line.small.max);
            }
            Err(error) => assert!(error.to_string().contains("huge pages"), "{error}"),
        }
    }
}
