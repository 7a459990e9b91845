//! Scripted trials written down as tables: `analyze` has to find in them what a trial of the same runs finds, and its intervals
//! have to cover the truth as often as they say.
//!
//! Every figure is printed. Seeds are fixed: a failure is a change in the code, never bad luck. `PAGEWISE_LONG` reads three times
//! as many tables.

use pagewise_core::comparison::analysis;
use pagewise_core::comparison::estimate::Design;
use pagewise_core::comparison::found::{Comparison, Effect, Warning};
use pagewise_core::comparison::question::{Blocks, Question};
use pagewise_core::comparison::rule::Conclusion;
use pagewise_core::comparison::table::Table;
use pagewise_core::experiment::order;
use pagewise_core::experiment::point::Point;
use pagewise_testkit::scripted::{Modes, Noise, World, true_world, two_level_plan};
use std::collections::BTreeSet;

const PAIRS: u32 = 10;

/// Ten pairs on a host that drifts by four standard deviations of a run, without an effect. In this noise ten pairs can tell
/// that there is none, as long as the drift is gone from them.
const DRIFTING: World = World {
    seconds: 10.0,
    ratio: 1.0,
    bystander_ratio: 1.0,
    sd: 0.015,
    noise: Noise::Normal,
    drift_in_sd: 4.0,
    period_ratio: 1.0,
    carry_over: 0.0,
    modes: None,
    oom: (0.0, 0.0),
};

/// Tables of a scenario.
fn count() -> u64 {
    if std::env::var_os("PAGEWISE_LONG").is_some() { 600 } else { 200 }
}

/// The runs as anyone would write them down, with the pair as the block and the place in time.
fn csv(points: &[Point]) -> String {
    let row = |point: &Point| {
        let (planned, wall) = (&point.planned, point.measures["wall"]);
        planned.block.map(|block| format!("{},{wall},{block},{}\n", planned.cell, planned.index))
    };
    "level,wall,block,order\n".to_owned() + &points.iter().filter_map(row).collect::<String>()
}

fn analyzed(text: &str, blocks: Blocks) -> Comparison {
    let contrast = "level=a,b".parse().unwrap();
    answered(text, &Question { blocks, ..Question::new("wall", vec![contrast], Vec::new()) })
}

fn answered(text: &str, question: &Question) -> Comparison {
    let table = Table::read(text.as_bytes(), "runs.csv", question).unwrap();
    analysis::analyze(&table, question).unwrap().comparisons.remove(0)
}

struct OperatingCharacteristics {
    covered: f64,
    decided: f64,
    method: Design,
}

/// The same tables, with their blocks or without.
fn found(blocks: Blocks) -> OperatingCharacteristics {
    let one = |trial: u64| {
        let plan = two_level_plan(PAIRS, 500_000_000 + trial);
        let order = order::draw(&plan).unwrap();
        analyzed(&csv(&true_world(&plan, &order, &DRIFTING, 600_000_000 + trial)), blocks.clone())
    };
    let all: Vec<Comparison> = (0..count()).map(one).collect();
    let share =
        |holds: &dyn Fn(&Comparison) -> bool| all.iter().filter(|one| holds(one)).count() as f64 / all.len() as f64;
    let covers = |one: &Comparison| {
        one.effect.as_ref().is_some_and(|effect| effect.interval.low <= 1.0 && effect.interval.high >= 1.0)
    };
    let method = all[0].method;
    assert!(all.iter().all(|one| one.method == method));
    let decided = share(&|one| one.conclusion != Conclusion::Inconclusive);
    OperatingCharacteristics { covered: share(&covers), decided, method }
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are what this test is run for")]
fn pairs_on_a_host_that_drifts_are_covered_as_promised_and_mostly_decided() {
    let (pairs, values) = (found(Blocks::Recognised), found(Blocks::None));
    println!(
        "{} tables of {PAIRS} pairs: covered {:.4}, decided {:.4}; without blocks covered {:.4}, decided {:.4}",
        count(),
        pairs.covered,
        pairs.decided,
        values.covered,
        values.decided
    );
    assert_eq!((pairs.method, values.method), (Design::Pairs, Design::Independent));
    // Three standard errors of a share of 95 % among so many.
    let slack = 3.0 * (0.95 * 0.05 / count() as f64).sqrt();
    assert!((pairs.covered - 0.95).abs() <= slack, "covered {}", pairs.covered);
    assert!(pairs.decided >= 0.6, "decided {}", pairs.decided);
    // The drift stays in what knows of no pairs: honest, and nearly blind.
    assert!(values.covered >= 0.98, "covered {}", values.covered);
    assert!(values.decided <= pairs.decided / 2.0, "decided {} and {}", values.decided, pairs.decided);
}

#[test]
fn a_table_says_of_its_pairs_what_the_trial_says_of_its_runs() {
    for seed in 0..20 {
        let plan = two_level_plan(PAIRS, 700_000_000 + seed);
        let order = order::draw(&plan).unwrap();
        let world = World { ratio: 1.03, period_ratio: 1.01, ..DRIFTING };
        let points = true_world(&plan, &order, &world, 800_000_000 + seed);
        let trial =
            pagewise_core::experiment::analysis::analyze(&plan, &order, &points, &[]).unwrap().comparisons.remove(0);
        let table = analyzed(&csv(&points), Blocks::Recognised);
        let (of_trial, of_table) = (trial.effect.unwrap(), table.effect.unwrap());
        // How a table's order was drawn is not known: it has no randomisation test.
        let of_trial =
            Effect { randomisation_p: None, smallest_randomisation_p: None, randomisation_exact: None, ..of_trial };
        assert_eq!(of_trial, of_table, "seed {seed}");
        assert_eq!(trial.differences, table.differences, "seed {seed}");
        assert_eq!((trial.conclusion, trial.method, trial.blocks), (table.conclusion, table.method, table.blocks));
    }
}

/// What both may be told, in the same words. Outliers are named by their lines in a table and counted by cell in a trial.
const TOLD_ALIKE: [&str; 5] = ["drift", "change-point", "autocorrelation", "bimodal", "few-sequences"];

#[test]
fn a_table_is_told_of_its_runs_what_the_trial_is_told_in_the_same_words() {
    let modes = Modes { gap_in_sd: 12.0, stay: 0.9 };
    let worlds = [
        (PAIRS, DRIFTING),
        (4, DRIFTING),
        (20, World { drift_in_sd: 0.0, modes: Some(modes), ..DRIFTING }),
        (20, World { drift_in_sd: 0.0, modes: Some(Modes { stay: 0.5, ..modes }), ..DRIFTING }),
    ];
    let mut seen = BTreeSet::new();
    for (pairs, world) in worlds {
        for seed in 0..10 {
            let plan = two_level_plan(pairs, 900_000_000 + seed);
            let order = order::draw(&plan).unwrap();
            let points = true_world(&plan, &order, &world, 950_000_000 + seed);
            let trial = pagewise_core::experiment::analysis::analyze(&plan, &order, &points, &[]).unwrap();
            let contrast = "level=a,b".parse().unwrap();
            let question = Question { seed: plan.design.seed, ..Question::new("wall", vec![contrast], Vec::new()) };
            let table = answered(&csv(&points), &question);
            let told = |warnings: &[Warning]| -> Vec<Warning> {
                warnings.iter().filter(|warning| TOLD_ALIKE.contains(&warning.id.as_str())).cloned().collect()
            };
            assert_eq!(told(&trial.warnings), told(&table.warnings), "{pairs} pairs, seed {seed}");
            seen.extend(told(&table.warnings).into_iter().map(|warning| warning.id));
        }
    }
    assert_eq!(seen.len(), TOLD_ALIKE.len(), "{seen:?}");
}
