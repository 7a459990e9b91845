//! Shares, the tree and the estimates, from stacks made by hand.

use super::*;
use crate::experiment::order::{Order, draw};
use crate::experiment::plan::{Plan, source};
use crate::experiment::point::{Outcome, PlannedPoint, Point};
use crate::recording::stack::KERNEL;
use crate::recording::{Frame, Profile, SamplingEvent, StackSample};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

/// Stacks with how often each was seen, and in which second.
fn profile(seen: &[(&[&str], u64, u64)]) -> Profile {
    let mut profile = Profile { event: Some(SamplingEvent::CpuClock), hz: Some(50.0), ..Profile::default() };
    for (frames, second, count) in seen {
        let mut stack = None;
        for name in *frames {
            let frame = profile.stacks.frame(Frame { name: (*name).to_owned(), module: KERNEL.to_owned() });
            stack = profile.stacks.push(stack, frame);
        }
        profile.samples.push(StackSample {
            from: second * SECOND,
            to: (second + 1) * SECOND,
            cpu: Some(0),
            pid: Some(1),
            comm: "job".to_owned(),
            stack: stack.expect("a stack has a function"),
            count: *count,
        });
    }
    profile
}

fn point(planned: PlannedPoint, outcome: Outcome) -> Point {
    Point {
        planned,
        attempt: 1,
        outcome,
        reason: None,
        started_at: String::new(),
        measures: BTreeMap::from([("wall".to_owned(), 1.0)]),
        absent: BTreeMap::new(),
        custom_units: BTreeMap::new(),
        counters: BTreeMap::new(),
        applied: Vec::new(),
        boot_id: String::new(),
        warnings: Vec::new(),
    }
}

fn alone(index: u32) -> Point {
    point(PlannedPoint { index, block: Some(0), position: 0, boot: None, cell: "a".to_owned() }, Outcome::Ok)
}

fn all_of(profile: &Profile, seconds: f64) -> RunStacks<'_> {
    RunStacks { profile, stretch: None, seconds, recorder: None }
}

/// How often a run was in a function, with all it called and itself.
fn count(kept: &StacksOfRuns, point: &Point, name: &str) -> (u64, u64) {
    let number = kept.stacks().frames().iter().position(|frame| frame.name == name).expect("a function of this name");
    let count = kept.run(point).expect("a run with stacks").count(number as u32);
    (count.all, count.own)
}

#[test]
fn a_function_that_calls_itself_is_in_a_stack_once() {
    let (run, mut kept) = (alone(0), StacksOfRuns::default());
    let seen =
        profile(&[(&["main", "walk", "walk", "walk"], 0, 4), (&["main", "walk"], 0, 1), (&["main", "read"], 0, 5)]);
    kept.add(&run, all_of(&seen, 1.0));
    assert_eq!(count(&kept, &run, "walk"), (5, 5));
    assert_eq!(count(&kept, &run, "main"), (10, 0));
}

#[test]
fn only_slices_that_lie_in_its_stretch_are_a_run_s() {
    let (run, mut kept) = (alone(0), StacksOfRuns::default());
    let seen = profile(&[(&["before"], 0, 9), (&["inside"], 1, 2), (&["inside"], 2, 3), (&["after"], 3, 9)]);
    kept.add(&run, RunStacks { stretch: Some((SECOND, 3 * SECOND)), ..all_of(&seen, 2.0) });
    assert_eq!(kept.run(&run).unwrap().samples, 5);
    assert_eq!(count(&kept, &run, "inside"), (5, 5));
    assert!(kept.stacks().frames().iter().all(|frame| frame.name == "inside"), "what is outside is not kept");
}

#[test]
fn each_run_weighs_the_same_however_long_it_is() {
    let (long, short) = (alone(0), alone(1));
    let mut kept = StacksOfRuns::default();
    kept.add(&long, all_of(&profile(&[(&["main", "sort"], 0, 500)]), 10.0));
    kept.add(&short, all_of(&profile(&[(&["main", "read"], 0, 50)]), 1.0));
    let mean = kept.mean(&[&long, &short]);
    // One CPU was busy in each: half of the time, on average over the runs, in each of the two.
    assert_eq!((mean.runs, mean.rest, mean.cut), (2, 0.0, 0.0));
    assert_eq!(mean.own, [0.0, 0.5, 0.5]);
}

#[test]
fn what_is_seen_too_seldom_ends_at_its_caller_and_is_told() {
    let (run, mut kept) = (alone(0), StacksOfRuns::default());
    kept.add(&run, all_of(&profile(&[(&["main"], 0, 79_996), (&["main", "rare"], 0, 3), (&["lost"], 0, 1)]), 1600.0));
    assert_eq!(count(&kept, &run, "rare"), (3, 3), "its share is exact all the same");
    let mean = kept.mean(&[&run]);
    assert_eq!(kept.stacks().len(), 1, "main alone is in the tree");
    assert!((mean.own[0] - 79_999.0 / 80_000.0).abs() < 1e-12 && (mean.rest - 1.0 / 80_000.0).abs() < 1e-12);
    assert!((mean.cut - 4.0 / 80_000.0).abs() < 1e-12, "{}", mean.cut);
}

const PLAN: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 6\nseed = 3\n\
    [[factor]]\nname = 'thp'\nlevels.a = 'env.A=1'\nlevels.b = 'env.A=2'\n\
    [[contrast]]\nfactor = 'thp'\na = 'a'\nb = 'b'\nprimary = true\n[recording]\nstacks = 50\n";

fn trial() -> (Plan, Order, Vec<Point>) {
    let plan = source::read(PLAN, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let order = draw(&plan).unwrap();
    let points = order.points.iter().cloned().map(|planned| point(planned, Outcome::Ok)).collect();
    (plan, order, points)
}

/// Compaction takes a tenth of a run under a and three tenths under b, give or take a hundredth by block and arm.
fn compacting(planned: &PlannedPoint) -> Profile {
    let wobble = [0, 10, 20, 5, 15, 8][planned.block.unwrap_or(0) as usize % 6];
    let compaction = if planned.cell == "b" { 300 + wobble } else { 100 + 20 - wobble };
    profile(&[
        (&["main", "fault", "alloc", "compact_zone"], 0, compaction),
        (&["main", "sort"], 0, 1000 - compaction - 200),
        (&["main", "fault", "clear"], 0, 200),
    ])
}

fn contrast(plan: &Plan, order: &Order, points: &[Point], kept: &StacksOfRuns) -> StackContrast {
    let found = compare(plan, order, points, &[], kept).unwrap();
    assert_eq!(found.len(), 1);
    found.into_iter().next().flatten().expect("the one contrast has two sides")
}

#[test]
fn functions_that_differ_are_listed_with_their_share_and_those_that_do_not_are_not() {
    let (plan, order, points) = trial();
    let mut kept = StacksOfRuns::default();
    counted(&plan, &order, &points, &[]).unwrap().into_iter().for_each(|point| {
        kept.add(point, all_of(&compacting(&point.planned), 10.0));
    });
    let found = contrast(&plan, &order, &points, &kept);
    assert_eq!((found.blocks, found.a.runs, found.b.samples, found.without), (6, 6, 6000, 0), "warm-up does not count");
    assert_eq!(found.a.busy, 2.0, "1000 samples of 50 a second in 10 s");
    let mut names: Vec<&str> = found.functions.iter().map(|function| function.name.as_str()).collect();
    names.sort_unstable();
    // `alloc` stands in the stacks of `compact_zone` and in no other; `main` stands in all of both arms; `clear` is the same.
    assert_eq!(names, ["compact_zone", "fault", "sort"]);
    assert_eq!(found.functions_compared, 5);
    let compaction = found.functions.iter().find(|function| function.name == "compact_zone").unwrap();
    assert_eq!(compaction.also, ["alloc"]);
    assert!((compaction.difference - 0.2).abs() < 0.02, "{compaction:?}");
    assert!(compaction.interval.low < compaction.difference && compaction.difference < compaction.interval.high);
    assert!((compaction.a_share - 0.110).abs() < 0.002 && (compaction.b_share - 0.310).abs() < 0.002);
    assert_eq!(compaction.a_share, compaction.a_own);
    assert!(found.functions.iter().all(|function| function.q <= 0.1 && function.p <= function.q));
}

#[test]
fn a_run_without_stacks_takes_its_block_out_and_says_why() {
    let (plan, order, mut points) = trial();
    let bad = points.iter().position(|point| point.planned.block == Some(1)).unwrap();
    points[bad].outcome = Outcome::Failed;
    let mut kept = StacksOfRuns::default();
    for point in counted(&plan, &order, &points, &[]).unwrap() {
        assert_eq!(point.outcome, Outcome::Ok);
        if point.planned.block == Some(4) && point.planned.cell == "b" {
            kept.miss(point, "not permitted");
        } else {
            kept.add(point, all_of(&compacting(&point.planned), 10.0));
        }
    }
    let found = contrast(&plan, &order, &points, &kept);
    assert_eq!((found.blocks, found.without, found.without_because.as_deref()), (4, 1, Some("not permitted")));
    assert_eq!(found.a.runs + found.b.runs, 10, "11 good runs, one without stacks");
    assert_eq!(found.no_functions_because, None);
}

#[test]
fn too_few_blocks_compare_nothing_and_nothing_seen_is_no_share() {
    let (plan, order, points) = trial();
    let mut kept = StacksOfRuns::default();
    for point in counted(&plan, &order, &points, &[]).unwrap() {
        let idle = point.planned.block > Some(0);
        let seen = if idle { profile(&[]) } else { compacting(&point.planned) };
        kept.add(point, all_of(&seen, 10.0));
    }
    let found = contrast(&plan, &order, &points, &kept);
    assert_eq!((found.blocks, found.without), (1, 10));
    assert!(found.without_because.unwrap().contains("no CPU was seen busy"));
    assert!(found.no_functions_because.unwrap().contains("too few pairs"));
    assert_eq!(found.functions, []);
}
