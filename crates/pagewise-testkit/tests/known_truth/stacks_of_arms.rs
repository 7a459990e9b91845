//! The comparison of stacks is right as often as it says: what differs is found with its size, arms that are the same show
//! nothing beyond the declared rate, and a run with many samples is still one run.

use pagewise_core::experiment::order::{self, Order};
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::Point;
use pagewise_core::experiment::stacks::{StackContrast, compare};
use pagewise_testkit::scripted::{World, true_world, two_level_plan};
use pagewise_testkit::stacked::{Cpus, Way, kept};

fn trial(pairs: u32, seed: u64) -> (Plan, Order, Vec<Point>) {
    let mut plan = two_level_plan(pairs, seed);
    plan.recording.stacks = 99;
    let order = order::draw(&plan).unwrap();
    let points = true_world(&plan, &order, &World { seconds: 6.0, ..World::default() }, seed);
    (plan, order, points)
}

fn contrast(pairs: u32, cpus: &Cpus, seed: u64) -> StackContrast {
    let (plan, order, points) = trial(pairs, seed);
    let kept = kept(&plan, &order, &points, cpus, seed);
    let found = compare(&plan, &order, &points, &[], &kept).unwrap();
    found.into_iter().next().flatten().expect("two arms")
}

#[test]
fn compaction_that_only_one_arm_does_is_found_with_its_share() {
    let found = contrast(10, &Cpus::of_a_sort(), 7);
    assert_eq!((found.blocks, found.a.runs, found.b.runs), (10, 10, 10));
    assert!((found.a.busy - 1.6).abs() < 0.05 && (found.b.busy - 1.8).abs() < 0.05, "{:?} {:?}", found.a, found.b);
    let of = |name: &str| {
        let is_it = |names: &[String]| names.iter().any(|other| other == name);
        let all = || found.functions.iter();
        all()
            .find(|one| one.name == name || is_it(&one.also))
            .unwrap_or_else(|| panic!("{name}: {:?}", found.functions))
    };
    // Weights of 0.200 of 1.000 and 0.007 of 0.948.
    let truth = 0.007 / 0.948 - 0.2;
    let compaction = of("try_to_compact_pages");
    assert!(compaction.interval.low < truth && truth < compaction.interval.high, "{compaction:?}");
    assert!((compaction.difference - truth).abs() < 0.02, "{compaction:?}");
    let clearing = of("clear_page_erms");
    assert!(clearing.difference > 0.10 && clearing.interval.low > 0.0, "{clearing:?}");
    // Leaves do not differ but by what the others leave: of what is listed one in ten may be there by chance.
    let leaves: Vec<_> = found.functions.iter().filter(|one| one.name.starts_with("leaf_")).collect();
    assert!(leaves.len() * 10 <= found.functions.len(), "{} of {}: {leaves:?}", leaves.len(), found.functions.len());
}

/// Trials of the same policy twice, of which each lists a function or not.
fn false_alarms(trials: u64, cpus: &Cpus) -> (u32, u32) {
    let mut listing = 0;
    let mut compared = 0;
    for seed in 0..trials {
        let found = contrast(8, cpus, 1000 + seed);
        compared += found.functions_compared;
        listing += u32::from(!found.functions.is_empty());
    }
    (listing, compared)
}

#[test]
fn arms_that_are_the_same_show_nothing_beyond_the_declared_rate() {
    const TRIALS: u64 = 200;
    let (listing, compared) = false_alarms(TRIALS, &Cpus::without_difference(60, 0.3));
    assert!(compared > 40 * TRIALS as u32, "there is something to compare: {compared}");
    // If nothing differs at all, a list at a false-discovery rate of a tenth is empty nine times in ten. Three standard errors.
    let bound = 0.1 * TRIALS as f64 + 3.0 * (0.1 * 0.9 * TRIALS as f64).sqrt();
    assert!(f64::from(listing) <= bound, "{listing} of {TRIALS} trials list a function although nothing differs");
}

#[test]
fn samples_of_one_run_are_no_observations_of_their_own() {
    // Two functions that share a run's time as the run happens to: half and half on average, and far apart in each run.
    let ways = vec![Way::of("job!main job!left", 1.0, 1.0), Way::of("job!main job!right", 1.0, 1.0)];
    let cpus = Cpus { ways, busy: (1.0, 1.0), scatter: 0.7, hz: 99.0 };
    let mut pooled = 0;
    const TRIALS: u64 = 100;
    for seed in 0..TRIALS {
        let found = contrast(8, &cpus, 5000 + seed);
        // The same data with each sample for an observation: a difference of two proportions.
        let (plan, order, points) = trial(8, 5000 + seed);
        let all = kept(&plan, &order, &points, &cpus, 5000 + seed);
        let share = |cell: &str| {
            let runs: Vec<&Point> =
                points.iter().filter(|p| p.planned.cell == cell && p.planned.block.is_some()).collect();
            let mean = all.mean(&runs);
            let left = all.stacks().frames().iter().position(|frame| frame.name == "left");
            let node = (0..all.stacks().len() as u32)
                .map(pagewise_core::recording::StackId)
                .find(|id| all.stacks().node(*id).map(|(_, frame)| frame as usize) == left);
            node.map_or(0.0, |node| mean.own[node.0 as usize] / mean.own.iter().sum::<f64>())
        };
        let samples = (found.a.samples + found.b.samples) as f64 / 2.0;
        let z = (share("a") - share("b")) / (0.25 * 2.0 / samples).sqrt();
        pooled += u32::from(z.abs() > 1.96);
    }
    let (by_run, _) = false_alarms(TRIALS, &cpus);
    assert!(pooled > TRIALS as u32 / 2, "counting samples would call {pooled} of {TRIALS} different");
    assert!(by_run <= 19, "{by_run} of {TRIALS} trials list a function although nothing differs");
}
