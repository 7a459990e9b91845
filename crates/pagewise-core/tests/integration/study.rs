//! A declared matrix with known values gives the numbers that follow from them.

use pagewise_core::comparison;
use pagewise_core::comparison::rule::Conclusion;
use pagewise_core::experiment::analysis::{Analysis, analyze};
use pagewise_core::experiment::order::{Order, draw};
use pagewise_core::experiment::plan::{Plan, source};
use pagewise_core::experiment::point::{AppliedSetting, Outcome, Point};
use pagewise_core::experiment::stopping;
use pagewise_core::stats::confidence_sequence::ConfidenceSequence;
use std::collections::BTreeMap;

const PLAN: &str = r#"
name = "x"
[workload]
name = "command"
run = ["true"]
[[metric]]
name = "wall"
[[metric]]
name = "system_share"
[[factor]]
name = "swap"
levels.off = "env.SWAP=off"
levels.on = "env.SWAP=on"
[[factor]]
name = "load"
levels.low = "env.LOAD=1"
levels.high = "env.LOAD=2"
[design]
blocks = 8
warmup = 1
seed = 5
[[contrast]]
factor = "swap"
a = "off"
b = "on"
by = ["load"]
primary = true
[[contrast]]
factor = "swap"
a = "off"
b = "on"
interaction = { factor = "load", a = "low", b = "high" }
"#;

fn plan() -> Plan {
    source::read(PLAN, "x.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// A trial whose wall times are 100 s, ten percent more with swap on under high load, scattered by `noise` of block and cell.
fn points(order: &Order, noise: impl Fn(u32, &str) -> f64) -> Vec<Point> {
    let point = |planned: &pagewise_core::experiment::point::PlannedPoint| {
        let slow = if planned.cell == "on·high" { 1.1 } else { 1.0 };
        let wall = 100.0 * slow * noise(planned.block.unwrap_or(0), &planned.cell);
        Point {
            planned: planned.clone(),
            attempt: 1,
            outcome: Outcome::Ok,
            reason: None,
            started_at: String::new(),
            measures: BTreeMap::from([
                ("wall".to_owned(), wall),
                ("system_share".to_owned(), 0.1),
                ("psi_memory_some".to_owned(), wall / 10.0),
            ]),
            absent: BTreeMap::new(),
            custom_units: BTreeMap::new(),
            counters: BTreeMap::from([("pgfault".to_owned(), (wall * 100.0) as i64)]),
            applied: Vec::new(),
            boot_id: "boot".to_owned(),
            warnings: Vec::new(),
        }
    };
    order.points.iter().map(point).collect()
}

fn scattered(block: u32, cell: &str) -> f64 {
    let seed = cell
        .bytes()
        .fold(u64::from(block) + 1, |sum, byte| sum.wrapping_mul(6_364_136_223_846_793_005) ^ u64::from(byte));
    // Blocks differ by five percent, runs inside a block by one.
    1.0 + 0.05 * f64::from(block % 3) + 0.01 * ((seed >> 33) % 1000) as f64 / 1000.0
}

fn study(points: &[Point]) -> Analysis {
    let plan = plan();
    analyze(&plan, &draw(&plan).unwrap(), points, &[]).unwrap()
}

#[test]
fn every_contrast_is_looked_at_in_every_combination_for_every_metric() {
    let plan = plan();
    let order = draw(&plan).unwrap();
    let study = study(&points(&order, scattered));
    let names: Vec<(&str, &str, bool)> =
        study.comparisons.iter().map(|one| (one.name.as_str(), one.metric.as_str(), one.primary)).collect();
    assert_eq!(
        names,
        [
            ("swap: off → on, load low", "wall", true),
            ("swap: off → on, load low", "system_share", false),
            ("swap: off → on, load high", "wall", true),
            ("swap: off → on, load high", "system_share", false),
            ("swap: off → on, load high against low", "wall", false),
            ("swap: off → on, load high against low", "system_share", false),
        ]
    );
    let high = &study.comparisons[2];
    assert_eq!(high.conclusion, Conclusion::Worse);
    assert!((high.effect.as_ref().unwrap().ratio - 1.1).abs() < 0.01);
    assert!(high.sentence.contains("`on` is worse than `off` with load high"), "{}", high.sentence);
    assert_eq!(study.comparisons[0].conclusion, Conclusion::Equivalent);
    let interaction = study.comparisons[4].effect.as_ref().unwrap();
    assert!((interaction.ratio - 1.1).abs() < 0.01);
    assert_eq!(high.counters[0].name, "pgfault");
    let stall = high.stall.as_ref().unwrap();
    assert!((stall.share.unwrap() - 0.1).abs() < 1e-9, "{stall:?}");
}

#[test]
fn values_that_do_not_vary_give_no_verdict_in_a_trial_and_in_a_table() {
    let plan = plan();
    let study = study(&points(&draw(&plan).unwrap(), scattered));
    for constant in study.comparisons.iter().filter(|one| one.metric == "system_share") {
        assert_eq!((constant.conclusion, constant.effect.is_none()), (Conclusion::Inconclusive, true));
        let wanted = "system_share is 0.1 in every run, and values that do not vary at all give no interval";
        assert!(constant.sentence.contains(wanted), "{}", constant.sentence);
    }
    let by_the_same = points(&draw(&plan).unwrap(), |_, cell| if cell.starts_with("on") { 2.0 } else { 1.0 });
    let off = &self::study(&by_the_same).comparisons[0];
    assert_eq!(off.conclusion, Conclusion::Inconclusive);
    assert!(off.sentence.contains("wall differs by the same each time"), "{}", off.sentence);

    let contrast = comparison::question::Contrast { factor: "k".into(), a: "a".into(), b: "b".into() };
    let question = comparison::question::Question::new("s", vec![contrast], vec![]);
    let table = "k,s\na,5\na,5\na,5\nb,5\nb,5\nb,5\n";
    let table = comparison::table::Table::read(table.as_bytes(), "x.csv", &question).unwrap();
    let found = comparison::analysis::analyze(&table, &question).unwrap();
    assert_eq!(found.comparisons[0].conclusion, Conclusion::Inconclusive);
}

#[test]
fn the_estimate_is_the_t_interval_over_block_differences() {
    let plan = plan();
    let order = draw(&plan).unwrap();
    let points = points(&order, scattered);
    let study = study(&points);
    let log = |block: u32, cell: &str| {
        let point = points.iter().find(|p| p.planned.block == Some(block) && p.planned.cell == cell).unwrap();
        libm::log(point.measures["wall"])
    };
    let differences: Vec<f64> = (0..8).map(|block| log(block, "on·high") - log(block, "off·high")).collect();
    let mean = differences.iter().sum::<f64>() / 8.0;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 7.0;
    let effect = study.comparisons[2].effect.as_ref().unwrap();
    assert!((effect.log_ratio - mean).abs() < 1e-12);
    assert!((effect.standard_error - (variance / 8.0).sqrt()).abs() < 1e-12);
    assert_eq!(effect.df, 7.0);
    assert_eq!(effect.smallest_randomisation_p, Some(2.0 / 256.0));
}

#[test]
fn the_order_of_the_points_and_the_warm_up_change_nothing() {
    let plan = plan();
    let order = draw(&plan).unwrap();
    let mut points = points(&order, scattered);
    let wanted = study(&points);
    points.reverse();
    assert_eq!(study(&points), wanted);
    for point in points.iter_mut().filter(|point| point.planned.is_warmup()) {
        point.measures.insert("wall".to_owned(), 1e6);
    }
    assert_eq!(study(&points).comparisons, wanted.comparisons);
}

#[test]
fn failures_are_compared_first_and_cost_their_block() {
    let plan = plan();
    let order = draw(&plan).unwrap();
    let mut points = points(&order, scattered);
    for point in points.iter_mut().filter(|p| p.planned.cell == "on·high" && p.planned.block.is_some_and(|b| b < 6)) {
        point.outcome = Outcome::Oom;
    }
    let study = study(&points);
    let high = &study.comparisons[2];
    assert_eq!((high.outcomes.b_bad, high.outcomes.b_total, high.blocks), (6, 8, 2));
    assert_eq!((high.conclusion, high.decided_by.as_str()), (Conclusion::Worse, "outcomes"));
}

#[test]
fn a_sequential_trial_stops_when_its_claims_are_decided_and_reports_that_analysis_s_interval() {
    let text = PLAN.replace("blocks = 8", "blocks = 10") + "[stopping]\nrule = \"obrien-fleming\"\n";
    let plan = source::read(&text, "x.toml").unwrap();
    let order = draw(&plan).unwrap();
    let points = points(&order, scattered);
    let until = |blocks: u32| -> Vec<Point> {
        points.iter().filter(|point| point.planned.block.is_none_or(|block| block < blocks)).cloned().collect()
    };
    assert_eq!(stopping::due(&plan, &order, &until(3), &[]), None);
    assert_eq!(stopping::due(&plan, &order, &until(4), &[]), Some(4));
    let first = stopping::interim_analysis(&plan, &order, &until(4), 4, &[]);
    assert!(first.comparisons[0].nominal_p < 0.01, "{first:?}");
    assert_eq!(stopping::due(&plan, &order, &until(5), std::slice::from_ref(&first)), None, "an analysis is made once");
    let second = stopping::interim_analysis(&plan, &order, &until(6), 6, std::slice::from_ref(&first));
    assert!(second.comparisons[0].nominal_p > first.comparisons[0].nominal_p);
    let analyses = [first, second.clone()];
    let study = analyze(&plan, &order, &until(7), &analyses).unwrap();
    assert_eq!(study.comparisons[0].level, second.comparisons[0].nominal_p);
    assert_eq!(study.comparisons[0].blocks, 6, "blocks after the last analysis do not count");
}

#[test]
fn failures_are_compared_at_every_analysis_whatever_they_leave_of_the_blocks() {
    let text = PLAN.replace("blocks = 8", "blocks = 10") + "[stopping]\nrule = \"obrien-fleming\"\n";
    let plan = source::read(&text, "x.toml").unwrap();
    let order = draw(&plan).unwrap();
    let whole = analyses_until_the_end(&plan, &order, &points(&order, scattered));
    // All of them, so that no block is left; and eight of ten, so that the estimate has two.
    for failing in [10, 8] {
        let mut points = points(&order, scattered);
        let fails = |p: &&mut Point| p.planned.cell.starts_with("on") && p.planned.block.is_some_and(|b| b < failing);
        points.iter_mut().filter(fails).for_each(|point| point.outcome = Outcome::Failed);
        let analyses = analyses_until_the_end(&plan, &order, &points);
        let last = analyses.last().unwrap();
        assert!(last.blocks < 10 && last.stop, "{failing}: {last:?}");
        assert!(
            last.comparisons.iter().all(|one| one.conclusion == Conclusion::Worse && one.nominal_p > 0.0),
            "{last:?}"
        );
        // They may spend what the effect may where every block is whole.
        for (here, there) in analyses.iter().zip(&whole) {
            assert_eq!(here.comparisons[0].nominal_p, there.comparisons[0].nominal_p, "{failing}: {here:?}");
        }
        let study = analyze(&plan, &order, &points, &analyses).unwrap();
        let low = &study.comparisons[0];
        assert_eq!((low.conclusion, low.decided_by.as_str()), (Conclusion::Worse, "outcomes"), "{failing}");
    }
    let study = analyze(&plan, &order, &points(&order, scattered), &whole).unwrap();
    assert!(study.comparisons.iter().all(|one| one.level_of_failures.is_none()));
}

/// The same matrix without a planned end.
fn open_ended() -> Plan {
    let text = PLAN.replace("blocks = 8", "blocks = 30") + "[stopping]\nrule = \"open-ended\"\nshortest_at = 10\n";
    source::read(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Every analysis that an engine makes until the trial ends, given all the points there would be.
fn analyses_until_the_end(plan: &Plan, order: &Order, points: &[Point]) -> Vec<stopping::InterimAnalysis> {
    let mut analyses: Vec<stopping::InterimAnalysis> = Vec::new();
    for blocks in 1..=plan.design.blocks {
        let so_far: Vec<Point> =
            points.iter().filter(|point| point.planned.block.is_none_or(|block| block < blocks)).cloned().collect();
        let Some(due) = stopping::due(plan, order, &so_far, &analyses) else { continue };
        analyses.push(stopping::interim_analysis(plan, order, &so_far, due, &analyses));
        if analyses.last().is_some_and(|analysis| analysis.stop) {
            break;
        }
    }
    analyses
}

#[test]
fn an_open_ended_trial_is_looked_at_after_every_block_and_ends_when_its_claims_are_decided() {
    let plan = open_ended();
    let order = draw(&plan).unwrap();
    let points = points(&order, scattered);
    let analyses = analyses_until_the_end(&plan, &order, &points);
    let (last, before) = analyses.split_last().unwrap();
    assert_eq!(
        analyses.iter().map(|analysis| analysis.blocks).collect::<Vec<_>>(),
        (4..=last.blocks).collect::<Vec<_>>()
    );
    assert!(last.stop && last.blocks < 30 && before.iter().all(|analysis| !analysis.stop), "{last:?}");
    assert_eq!(last.because, "every primary comparison is decided");
    for analysis in &analyses {
        assert_eq!(analysis.spent, None);
        for one in &analysis.comparisons {
            assert_eq!(one.nominal_p, 0.025, "two claims share alpha at every analysis");
            let excludes_no_change = matches!(one.conclusion, Conclusion::Better | Conclusion::Worse);
            assert!(!excludes_no_change || one.p.unwrap() <= one.nominal_p, "{one:?}");
        }
    }
    let study = analyze(&plan, &order, &points, &analyses).unwrap();
    let claims: Vec<_> = study.comparisons.iter().filter(|one| one.primary).collect();
    for (claim, comparison) in claims.iter().zip(&last.comparisons) {
        assert_eq!((claim.conclusion, claim.level), (comparison.conclusion, comparison.nominal_p));
        assert_eq!(claim.effect.as_ref().map(|effect| effect.p), comparison.p);
        assert_eq!(claim.blocks, last.blocks);
        assert!(claim.sentence.contains("confidence sequence"), "{}", claim.sentence);
    }
    assert_eq!(claims[0].conclusion, Conclusion::Equivalent);
    assert_eq!(claims[1].conclusion, Conclusion::Worse);
}

#[test]
fn its_intervals_are_those_of_the_sequence_that_its_plan_fixes() {
    let plan = open_ended();
    let order = draw(&plan).unwrap();
    let points = points(&order, scattered);
    let analyses = analyses_until_the_end(&plan, &order, &points);
    let blocks = analyses.last().unwrap().blocks;
    let study = analyze(&plan, &order, &points, &analyses).unwrap();
    let tuned = ConfidenceSequence::shortest_at(0.025, 10);
    let sequence = study.sequence.as_ref().unwrap();
    assert_eq!((sequence.shortest_at, sequence.effect_variance), (10, tuned.effect_variance));
    for (comparison, alpha) in study.comparisons.iter().zip([0.025, 0.05, 0.025, 0.05, 0.05, 0.05]) {
        assert_eq!(comparison.level, alpha, "{}", comparison.name);
        // The second metric has no scatter at all.
        if comparison.metric != "wall" {
            continue;
        }
        let differences: Vec<f64> = comparison.differences.iter().map(|one| one.difference).collect();
        assert_eq!(differences.len() as u32, blocks);
        let effect = comparison.effect.as_ref().unwrap();
        for (interval, alpha) in
            [(effect.interval, alpha), (effect.interval_equivalence, 2.0 * alpha), (effect.interval_alone, 0.05)]
        {
            let (low, high) = ConfidenceSequence { alpha, ..tuned }.interval(&differences).unwrap();
            assert!((libm::log(interval.low) - low).abs() < 1e-12 && (libm::log(interval.high) - high).abs() < 1e-12);
        }
        assert_eq!(effect.p, (1.0 / effect.evidence.unwrap()).min(1.0));
        assert_eq!((effect.randomisation_p, comparison.holm_p), (None, None));
    }
}

#[test]
fn a_pause_changes_neither_the_analyses_nor_the_end() {
    let plan = open_ended();
    let order = draw(&plan).unwrap();
    let points = points(&order, scattered);
    let whole = analyses_until_the_end(&plan, &order, &points);
    let end = whole.last().unwrap().blocks;
    let until = |blocks: u32| -> Vec<Point> {
        points.iter().filter(|point| point.planned.block.is_none_or(|block| block < blocks)).cloned().collect()
    };
    // Killed between the last run of a block and its analysis, and gone on with: that analysis is made up for, and no other is made again.
    for blocks in 4..=end {
        let taken = &whole[..(blocks - 4) as usize];
        assert_eq!(stopping::due(&plan, &order, &until(blocks), taken), Some(blocks));
        assert_eq!(
            stopping::interim_analysis(&plan, &order, &until(blocks), blocks, taken),
            whole[(blocks - 4) as usize]
        );
        let taken = &whole[..=(blocks - 4) as usize];
        assert_eq!(stopping::due(&plan, &order, &until(blocks), taken), None);
    }
}

#[test]
fn too_few_blocks_say_nothing_and_failures_end_a_trial_all_the_same() {
    let text = PLAN.replace("blocks = 8", "blocks = 60") + "[stopping]\nrule = \"open-ended\"\nshortest_at = 60\n";
    let plan = source::read(&text, "x.toml").unwrap();
    let order = draw(&plan).unwrap();
    let mut points = points(&order, scattered);
    let first = stopping::interim_analysis(&plan, &order, &points, 4, &[]);
    assert!(first.comparisons.iter().all(|one| one.p.is_none() && one.conclusion == Conclusion::Inconclusive));
    let study = analyze(&plan, &order, &points, std::slice::from_ref(&first)).unwrap();
    let why = study.comparisons[0].no_effect_because.as_deref().unwrap();
    assert!(why.contains("4 complete blocks are too few for its confidence sequence"), "{why}");
    let json = serde_json::to_string(&study).unwrap();
    assert!(serde_json::from_str::<Analysis>(&json).is_ok(), "an interval without bounds got into a document: {json}");

    for point in points.iter_mut().filter(|point| point.planned.cell.starts_with("on")) {
        point.outcome = Outcome::Oom;
    }
    let analyses = analyses_until_the_end(&plan, &order, &points);
    let last = analyses.last().unwrap();
    // Two claims share alpha: 8 of 8 against 0 of 8 is the first difference below 0.025 / (8 · 9).
    assert_eq!((last.blocks, last.stop), (8, true));
    assert!(last.comparisons.iter().all(|one| one.conclusion == Conclusion::Worse), "{last:?}");
}

#[test]
fn one_wild_run_is_told_with_its_cell_and_noise_is_not() {
    let plan = plan();
    let order = draw(&plan).unwrap();
    let mut points = points(&order, scattered);
    let told = |points: &[Point]| {
        let study = analyze(&plan, &order, points, &[]).unwrap();
        study.warnings.into_iter().find(|warning| warning.id == "outliers").map(|warning| warning.text)
    };
    assert_eq!(told(&points), None);
    let wild = points.iter_mut().find(|point| point.planned.block == Some(3) && point.planned.cell == "off·low");
    *wild.unwrap().measures.get_mut("wall").unwrap() *= 1.5;
    let text = told(&points).unwrap();
    assert!(text.contains("1 of 8 in 'off·low'") && text.contains("They are kept"), "{text}");
}

fn warned<'s>(study: &'s Analysis, id: &str) -> Option<&'s str> {
    study.warnings.iter().find(|warning| warning.id == id).map(|warning| warning.text.as_str())
}

#[test]
fn what_trials_of_two_levels_hear_matrices_hear_too() {
    let applied = |tunable: &str, before: &str, requested: Option<&str>, after: &str| {
        let [tunable, before, after] = [tunable, before, after].map(str::to_owned);
        AppliedSetting { tunable, before, requested: requested.map(str::to_owned), after }
    };
    let order = draw(&plan()).unwrap();
    let mut points = points(&order, scattered);
    for point in points.iter_mut().filter(|point| point.planned.cell.starts_with("on")) {
        let before = if point.planned.index < 20 { "60" } else { "1" };
        point.applied.push(applied("vm.swappiness", before, Some("10"), "10"));
        point.applied.push(applied("vm.min_free_kbytes", "8192", None, "67584"));
    }
    let found = study(&points);
    assert!(
        warned(&found, "host-changed").is_some_and(|text| text.contains("vm.swappiness (1 and 60 under `off·low`"))
    );
    let coupled = warned(&found, "levels-differ-in-more").unwrap();
    assert!(coupled.contains("vm.min_free_kbytes (8192 under `off`, 67584 under `on`)"), "{coupled}");

    // Half as long again now and then, where the margin is a fiftieth.
    let noisy = |index: u32, cell: &str| {
        let is_slow = (index + u32::from(cell.starts_with("on"))).is_multiple_of(3);
        scattered(index, cell) * if is_slow { 1.5 } else { 1.0 }
    };
    let found = study(&self::points(&order, noisy));
    let noise = warned(&found, "noise-against-margin").unwrap();
    assert!(noise.contains("for swap: off → on, load"), "{noise}");
}
