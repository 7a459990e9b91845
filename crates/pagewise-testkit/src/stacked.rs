//! Stacks of scripted runs whose truth is known: what the recording of each run would hold.

use crate::recordings::pushed;
use crate::scripted::Chance;
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::experiment::stacks::{RunStacks, StacksOfRuns, counted};
use pagewise_core::recording::{Profile, SamplingEvent, StackSample};

/// A stack, and how much of a run's CPU time is spent in it.
#[derive(Clone, Debug)]
pub struct Way {
    /// Functions, the outermost first; those of programs are written `module!name`.
    pub frames: Vec<String>,
    /// Weight under every level but the judged one.
    pub a: f64,
    /// Weight under the level that the plan's first contrast judges.
    pub b: f64,
}

impl Way {
    /// Of functions with blanks between them.
    #[must_use]
    pub fn of(frames: &str, a: f64, b: f64) -> Way {
        Way { frames: frames.split(' ').map(str::to_owned).collect(), a, b }
    }
}

/// What is true of the CPUs of a scripted host.
#[derive(Clone, Debug)]
pub struct Cpus {
    /// Where they are.
    pub ways: Vec<Way>,
    /// How many are busy under the base, and under the judged level.
    pub busy: (f64, f64),
    /// Standard deviation of the logarithm of a stack's weight from run to run: runs differ by more than their samples.
    pub scatter: f64,
    /// Samples a second and CPU.
    pub hz: f64,
}

impl Cpus {
    /// A sort that compacts memory under the base, and clears more small pages under the judged level.
    #[must_use]
    pub fn of_a_sort() -> Cpus {
        let fault = "java!start libjvm.so!run asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault";
        let compact = "do_huge_pmd_anonymous_page __alloc_pages_slowpath try_to_compact_pages compact_zone";
        let mut ways = vec![
            Way::of("java!start libjvm.so!run [jit]!QuickSort.sortInternal", 0.46, 0.50),
            Way::of("java!start libjvm.so!run [jit]!IFile.append libc.so.6!memcpy", 0.20, 0.22),
            Way::of(&format!("{fault} {compact} isolate_migratepages_block"), 0.12, 0.004),
            Way::of(&format!("{fault} {compact} _raw_spin_unlock_irqrestore"), 0.08, 0.003),
            Way::of(&format!("{fault} do_huge_pmd_anonymous_page clear_huge_page"), 0.05, 0.0),
            Way::of(&format!("{fault} do_anonymous_page clear_page_erms"), 0.01, 0.16),
            Way::of("ret_from_fork kthread kcompactd compact_zone", 0.02, 0.001),
        ];
        ways.extend((0..120).map(|number| {
            let weight = 0.06 / 120.0;
            Way::of(
                &format!("java!start libjvm.so!run libjvm.so!stub_{} libjvm.so!leaf_{number}", number % 9),
                weight,
                weight,
            )
        }));
        Cpus { ways, busy: (1.6, 1.8), scatter: 0.08, hz: 49.0 }
    }

    /// So many functions without a difference, in a few layers.
    #[must_use]
    pub fn without_difference(functions: u32, scatter: f64) -> Cpus {
        let way = |number: u32| {
            let frames = format!("job!main job!stage_{} job!step_{} job!leaf_{number}", number % 5, number % 23);
            Way::of(&frames, 1.0 + f64::from(number % 7), 1.0 + f64::from(number % 7))
        };
        Cpus { ways: (0..functions).map(way).collect(), busy: (1.0, 1.0), scatter, hz: 99.0 }
    }
}

/// The recordings of every run that counts. A run lasts as long as its wall time says.
///
/// # Panics
/// When the plan's numbers cannot be used.
#[must_use]
pub fn kept(plan: &Plan, order: &Order, points: &[Point], cpus: &Cpus, seed: u64) -> StacksOfRuns {
    let mut chance = Chance::new(seed);
    let mut kept = StacksOfRuns::default();
    let judged = &plan.contrasts[0];
    for point in counted(plan, order, points, &[]).expect("the plan's numbers can be used") {
        assert_eq!(point.outcome, Outcome::Ok);
        let is_b = point.planned.cell.split('·').any(|level| level == judged.b);
        let seconds = point.measures.get("wall").copied().unwrap_or(10.0);
        let profile = profile(cpus, is_b, seconds, &mut chance);
        kept.add(point, RunStacks { profile: &profile, stretch: None, seconds, recorder: Some(0.012) });
    }
    kept
}

fn profile(cpus: &Cpus, is_b: bool, seconds: f64, chance: &mut Chance) -> Profile {
    let mut profile = Profile { event: Some(SamplingEvent::CpuClock), hz: Some(cpus.hz), ..Profile::default() };
    let weights: Vec<f64> = cpus
        .ways
        .iter()
        .map(|way| {
            let weight = if is_b { way.b } else { way.a };
            weight * (cpus.scatter * chance.normal()).exp()
        })
        .collect();
    let all: f64 = weights.iter().sum();
    let busy = if is_b { cpus.busy.1 } else { cpus.busy.0 };
    let mut counts = vec![0u64; weights.len()];
    for _ in 0..(busy * cpus.hz * seconds).round() as u64 {
        let mut left = chance.uniform() * all;
        let way = weights.iter().position(|weight| {
            left -= weight;
            left <= 0.0
        });
        counts[way.unwrap_or(weights.len() - 1)] += 1;
    }
    for (way, count) in cpus.ways.iter().zip(counts).filter(|(_, count)| *count > 0) {
        let frames: Vec<&str> = way.frames.iter().map(String::as_str).collect();
        let stack = pushed(&mut profile.stacks, &frames).expect("a stack has a function");
        let (pid, comm) = (Some(1), "java".to_owned());
        profile.samples.push(StackSample { from: 0, to: 1_000_000_000, cpu: Some(0), pid, comm, stack, count });
    }
    profile
}
