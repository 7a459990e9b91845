//! The tree of a page from runs made by hand.

use super::*;
use crate::experiment::plan::source;
use crate::experiment::point::{Outcome, PlannedPoint};
use crate::experiment::stacks::RunStacks;
use crate::recording::stack::KERNEL;
use crate::recording::{Frame, Profile, StackSample};
use std::collections::BTreeMap;

const PLAN: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
    [[factor]]\nname = 'thp'\nlevels.never = 'env.A=1'\nlevels.always = 'env.A=2'\n\
    [[factor]]\nname = 'load'\nlevels.low = 'env.L=1'\nlevels.high = 'env.L=2'\n\
    [[contrast]]\nfactor = 'thp'\na = 'never'\nb = 'always'\nprimary = true\n\
    [[contrast]]\nfactor = 'load'\na = 'low'\nb = 'high'\n\
    [[contrast]]\nfactor = 'thp'\na = 'never'\nb = 'always'\ninteraction = { factor = 'load', a = 'low', b = 'high' }\n";

fn point(index: u32, cell: &str) -> Point {
    Point {
        planned: PlannedPoint { index, block: Some(0), position: 0, boot: None, cell: cell.to_owned() },
        attempt: 1,
        outcome: Outcome::Ok,
        reason: None,
        started_at: String::new(),
        measures: BTreeMap::new(),
        absent: BTreeMap::new(),
        custom_units: BTreeMap::new(),
        counters: BTreeMap::new(),
        applied: Vec::new(),
        boot_id: String::new(),
        warnings: Vec::new(),
    }
}

fn profile(seen: &[(&[&str], u64)]) -> Profile {
    let mut profile = Profile { hz: Some(100.0), ..Profile::default() };
    for (frames, count) in seen {
        let mut stack = None;
        for name in *frames {
            let frame = profile.stacks.frame(Frame { name: (*name).to_owned(), module: KERNEL.to_owned() });
            stack = profile.stacks.push(stack, frame);
        }
        let (stack, count) = (stack.expect("a stack has a function"), *count);
        profile.samples.push(StackSample { from: 0, to: 1, cpu: None, pid: None, comm: String::new(), stack, count });
    }
    profile
}

/// Own CPUs of a cell by name of the function, in millionths.
fn own(flames: &Flames, cell: usize) -> BTreeMap<&str, u64> {
    let mut node = 0;
    let counts = flames.cells[cell].own.chunks(2).map(|pair| {
        node += pair[0] as usize;
        (flames.functions[flames.frames[node]].name.as_str(), pair[1])
    });
    counts.collect()
}

fn seen_for(seconds: f64, profile: &Profile) -> RunStacks<'_> {
    RunStacks { profile, stretch: None, seconds, recorder: None }
}

#[test]
fn a_claim_is_drawn_from_the_means_of_its_cells() {
    let plan = source::read(PLAN, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let points = ["never·low", "never·high", "always·low", "always·high"];
    let points: Vec<Point> = points.iter().zip(0..).map(|(cell, index)| point(index, cell)).collect();
    let mut kept = StacksOfRuns::default();
    for (point, sorts) in points.iter().zip([100, 200, 100, 100]) {
        let compacts = if point.planned.index > 1 { 50 } else { 0 };
        let profile = profile(&[(&["main", "sort"], sorts), (&["main", "compact"], compacts), (&["rare"], 0)]);
        kept.add(point, seen_for(1.0, &profile));
    }
    let counted: Vec<&Point> = points.iter().collect();
    let flames = flames(&plan, &kept, &counted).unwrap();
    let [one] = flames.comparisons.as_slice() else { panic!("one claim: {:?}", flames.comparisons) };
    assert_eq!((one.a.label.as_str(), one.a.cells.as_slice()), ("never", &[0, 1][..]));
    assert_eq!((one.b.label.as_str(), one.b.cells.as_slice()), ("always", &[2, 3][..]));
    assert_eq!(own(&flames, 1), BTreeMap::from([("sort", 2_000_000)]));
    assert_eq!(own(&flames, 2), BTreeMap::from([("compact", 500_000), ("sort", 1_000_000)]));
    assert_eq!((flames.folded, flames.cut), (0, 0.0));
    let json = serde_json::to_value(&flames).unwrap();
    assert!(json.get("folded").is_none() && json["parents"].as_array().unwrap().len() == 3, "{json}");
}

#[test]
fn stacks_below_the_bound_in_every_arm_end_at_their_caller_and_the_page_says_how_much_that_is() {
    let text = PLAN.split("[[contrast]]").take(2).collect::<Vec<_>>().join("[[contrast]]");
    let plan = source::read(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let points: Vec<Point> = [point(0, "never·low"), point(1, "always·low")].into();
    let mut kept = StacksOfRuns::default();
    let often: &[&str] = &["main", "often"];
    kept.add(&points[0], seen_for(100.0, &profile(&[(often, 9_992), (&["main", "here"], 4), (&["gone"], 4)])));
    kept.add(&points[1], seen_for(100.0, &profile(&[(often, 9_000), (&["main", "there"], 1_000)])));
    let counted: Vec<&Point> = points.iter().collect();
    let flames = flames(&plan, &kept, &counted).unwrap();
    let names: Vec<&str> = flames.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["main", "often", "there"]);
    assert_eq!(own(&flames, 0), BTreeMap::from([("main", 400), ("often", 999_200)]));
    assert_eq!((flames.cells[0].rest, flames.folded), (400, 2));
    assert!((flames.cut - 0.0008).abs() < 1e-12, "{}", flames.cut);
    let note = note(&flames);
    assert!(note.contains("end at their caller: 2, with at most 0.0800 %"), "{note}");
}

#[test]
fn without_stacks_on_both_sides_nothing_is_drawn() {
    let plan = source::read(PLAN, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = point(0, "never·low");
    let mut kept = StacksOfRuns::default();
    kept.add(&run, seen_for(1.0, &profile(&[(&["main"], 5)])));
    assert_eq!(flames(&plan, &kept, &[&run]), None);
    assert_eq!(flames(&plan, &StacksOfRuns::default(), &[]), None);
}

#[test]
fn a_trial_of_many_cells_and_many_stacks_stays_small() {
    let levels: String = (0..120).map(|level| format!("levels.l{level} = 'env.L={level}'\n")).collect();
    let contrasts: String = (1..120)
        .map(|level| format!("[[contrast]]\nfactor = 'load'\na = 'l0'\nb = 'l{level}'\nprimary = true\n"))
        .collect();
    let text = format!(
        "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[[factor]]\nname = 'load'\n{levels}{contrasts}"
    );
    let plan = source::read(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    // Two thousand functions of half a thousandth each, called through a chain.
    let names: Vec<String> = (0..1_900).map(|leaf| format!("leaf_{leaf}_{}", "x".repeat(60))).collect();
    let chains: Vec<[String; 3]> =
        (0..1_900).map(|leaf| [0, 1, 2].map(|layer| format!("layer_{layer}_{leaf}"))).collect();
    let mut paths: Vec<Vec<&str>> = Vec::new();
    for (name, chain) in names.iter().zip(&chains) {
        paths.push(chain.iter().map(String::as_str).chain([name.as_str()]).collect());
    }
    let seen: Vec<(&[&str], u64)> = paths.iter().map(|path| (path.as_slice(), 7)).collect();
    let profile = profile(&seen);
    let points: Vec<Point> = (0..120).map(|level| point(level, &format!("l{level}"))).collect();
    let mut kept = StacksOfRuns::default();
    points.iter().for_each(|point| kept.add(point, seen_for(100.0, &profile)));
    let counted: Vec<&Point> = points.iter().collect();
    let flames = flames(&plan, &kept, &counted).unwrap();
    assert_eq!(flames.comparisons.len(), 119);
    let json = serde_json::to_string(&flames).unwrap();
    assert!(json.len() < 15 << 20, "{} bytes", json.len());
    assert!(flames.parents.len() * flames.cells.len() <= MOST_COUNTS);
}
