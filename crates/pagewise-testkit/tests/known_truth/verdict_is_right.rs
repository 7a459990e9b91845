//! The verdict against known truth: thousands of scripted trials, from plan and drawn order to the analysis.
//!
//! Every figure is printed, and written as JSON into `$PAGEWISE_RECORD_DIR/verdict` when that is set. Seeds are fixed: a
//! failure is a change in the code, never bad luck. `PAGEWISE_LONG` runs five times as many trials.

use pagewise_core::experiment::analysis::{Comparison, Conclusion, analyze};
use pagewise_core::experiment::order;
use pagewise_core::stats::{power, student_t};
use pagewise_testkit::scripted::{Noise, World, true_world, two_level_plan};
use std::path::Path;

const PAIRS: u32 = 10;
const ALPHA: f64 = 0.05;

/// Trials of a scenario.
fn count() -> u32 {
    if std::env::var_os("PAGEWISE_LONG").is_some() { 20_000 } else { 4000 }
}

fn trials(world: &World, first_seed: u64) -> Vec<Comparison> {
    trials_of(PAIRS, world, first_seed)
}

fn trials_of(pairs: u32, world: &World, first_seed: u64) -> Vec<Comparison> {
    let one = |trial: u64| {
        let plan = two_level_plan(pairs, first_seed + trial);
        let order = order::draw(&plan).unwrap();
        let points = true_world(&plan, &order, world, first_seed + 1_000_000 + trial);
        analyze(&plan, &order, &points, &[]).unwrap().comparisons.remove(0)
    };
    (0..u64::from(count())).map(one).collect()
}

fn share(analyses: &[Comparison], holds: impl Fn(&Comparison) -> bool) -> f64 {
    analyses.iter().filter(|analysis| holds(analysis)).count() as f64 / analyses.len() as f64
}

fn concludes(analyses: &[Comparison], word: Conclusion) -> f64 {
    share(analyses, |analysis| analysis.conclusion == word)
}

/// Rejections of a true null by the t test and by the randomisation test.
fn rejections(analyses: &[Comparison]) -> (f64, f64) {
    let t = share(analyses, |a| a.effect.as_ref().is_some_and(|effect| effect.p <= ALPHA));
    let randomisation =
        share(analyses, |a| a.effect.as_ref().is_some_and(|effect| effect.randomisation_p.is_some_and(|p| p <= ALPHA)));
    (t, randomisation)
}

fn coverage(analyses: &[Comparison], truth: f64) -> f64 {
    share(analyses, |a| {
        a.effect.as_ref().is_some_and(|effect| effect.interval.low <= truth && truth <= effect.interval.high)
    })
}

/// What a method that rejects in exactly 5 % of trials stays below with probability 0.999.
fn binomial_bound() -> f64 {
    ALPHA + 3.09 * (ALPHA * (1.0 - ALPHA) / f64::from(count())).sqrt()
}

/// Prints the figures of one scenario and keeps them where a record is made.
#[expect(clippy::print_stdout, reason = "the figures are what this file is run for")]
fn record(scenario: &str, figures: &[(&str, f64)]) {
    let listed: Vec<String> = figures.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    println!("{scenario}: {} ({} trials)", listed.join(", "), count());
    let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") else { return };
    let values: serde_json::Map<String, serde_json::Value> =
        figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let json = serde_json::json!({
        "scenario": scenario, "trials": count(), "alpha": ALPHA,
        "figures": values,
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join("verdict");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.json", scenario.replace(' ', "-")));
    std::fs::write(file, format!("{json:#}\n")).unwrap();
}

fn false_alarms_stay_within_the_bound(scenario: &str, world: &World, seed: u64) -> Vec<Comparison> {
    let analyses = trials(world, seed);
    assert_few_false_alarms(scenario, &analyses);
    analyses
}

fn assert_few_false_alarms(scenario: &str, analyses: &[Comparison]) {
    let (t, randomisation) = rejections(analyses);
    let decided = concludes(analyses, Conclusion::Better) + concludes(analyses, Conclusion::Worse);
    let bound = binomial_bound();
    let figures = [
        ("type I of the t test", t),
        ("type I of the randomisation test", randomisation),
        ("called better or worse", decided),
        ("coverage", coverage(analyses, 1.0)),
        ("bound of type I", bound),
    ];
    record(scenario, &figures);
    assert!(t <= bound, "t test rejects {t}");
    assert!(randomisation <= bound, "randomisation test rejects {randomisation}");
    assert!(decided <= bound, "better or worse in {decided}");
}

fn assert_covers(analyses: &[Comparison], truth: f64) {
    let covered = coverage(analyses, truth);
    assert!((0.935..=0.965).contains(&covered), "coverage {covered}");
}

#[test]
fn no_effect_is_called_a_difference_in_five_percent_of_trials() {
    let world = World { sd: 0.05, ..World::default() };
    let analyses = false_alarms_stay_within_the_bound("no effect", &world, 1);
    let (t, _) = rejections(&analyses);
    assert!(t >= 2.0 * ALPHA - binomial_bound(), "an honest 5 % test rejects about 5 %, not {t}");
    assert_covers(&analyses, 1.0);
}

#[test]
fn drift_over_the_trial_makes_no_false_alarms() {
    let world = World { sd: 0.05, drift_in_sd: 2.0, ..World::default() };
    let analyses = false_alarms_stay_within_the_bound("no effect with drift of 2 SD", &world, 10_000_000);
    assert_covers(&analyses, 1.0);
}

#[test]
fn heavy_tails_make_no_false_alarms() {
    let world = World { sd: 0.05, noise: Noise::HeavyTails, ..World::default() };
    false_alarms_stay_within_the_bound("no effect with heavy tails", &world, 20_000_000);
}

#[test]
fn being_second_is_not_taken_for_an_effect() {
    let world = World { sd: 0.05, period_ratio: 1.2, ..World::default() };
    let analyses = false_alarms_stay_within_the_bound("no effect but a period effect", &world, 30_000_000);
    let logs: f64 =
        analyses.iter().filter_map(|a| a.effect.as_ref()).map(|effect| effect.period_ratio.unwrap().ln()).sum();
    let period = (logs / analyses.len() as f64).exp();
    assert!((period - 1.2).abs() < 0.005, "period ratio {period}");
}

#[test]
fn an_odd_number_of_pairs_makes_no_false_alarms() {
    let world = World { sd: 0.05, drift_in_sd: 2.0, period_ratio: 1.1, ..World::default() };
    let analyses = trials_of(7, &world, 80_000_000);
    assert_few_false_alarms("no effect in 7 pairs", &analyses);
    assert_covers(&analyses, 1.0);
}

#[test]
fn pairs_that_are_lost_by_chance_make_no_false_alarms() {
    let world = World { sd: 0.05, drift_in_sd: 2.0, oom: (0.1, 0.1), ..World::default() };
    false_alarms_stay_within_the_bound("no effect and lost pairs", &world, 90_000_000);
}

#[test]
fn a_true_effect_is_detected_as_often_as_the_design_promises_and_covered() {
    let sd = 0.02;
    let pair_sd = sd * 2.0_f64.sqrt();
    let effect = effect_with_power(0.9, pair_sd);
    let world = World { sd, ratio: effect.exp(), drift_in_sd: 2.0, period_ratio: 0.97, ..World::default() };
    let analyses = trials(&world, 40_000_000);
    // At this noise a real effect may also be shown to lie below the margin; that is a detection, too.
    let detected = share(&analyses, |a| a.conclusion == Conclusion::Worse || a.real_but_below_margin);
    let theory = student_t::critical_value(ALPHA, f64::from(PAIRS) - 2.0) * pair_sd / f64::from(PAIRS).sqrt();
    let half_width = median_half_width(&analyses) / theory;
    let figures = [
        ("detected", detected),
        ("coverage", coverage(&analyses, world.ratio)),
        ("median half-width over theory", half_width),
    ];
    record("effect with power 0.9", &figures);
    assert!(detected >= 0.85, "detected {detected}");
    assert_eq!(concludes(&analyses, Conclusion::Better), 0.0, "the direction is never wrong");
    assert_covers(&analyses, world.ratio);
    assert!(half_width <= 1.2, "median half-width is {half_width} of theory");
}

/// The log ratio that a trial of [`PAIRS`] pairs detects with this power.
fn effect_with_power(wanted: f64, pair_sd: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0 * pair_sd);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if power::crossover_power(PAIRS, pair_sd, middle, ALPHA) < wanted { low = middle } else { high = middle }
    }
    high
}

fn median_half_width(analyses: &[Comparison]) -> f64 {
    let mut widths: Vec<f64> = analyses
        .iter()
        .filter_map(|analysis| analysis.effect.as_ref())
        .map(|effect| (effect.interval.high / effect.interval.low).ln() / 2.0)
        .collect();
    widths.sort_by(f64::total_cmp);
    widths[widths.len() / 2]
}

#[test]
fn no_effect_is_called_equivalent_where_the_noise_allows_it() {
    let world = World { sd: 0.008, ..World::default() };
    let analyses = trials(&world, 50_000_000);
    let equivalent = concludes(&analyses, Conclusion::Equivalent);
    record("equivalence at low noise", &[("equivalent", equivalent)]);
    assert!(equivalent >= 0.95, "equivalent in {equivalent}");
}

#[test]
fn an_effect_of_the_margin_is_called_equivalent_in_at_most_five_percent() {
    let world = World { sd: 0.008, ratio: 1.02, ..World::default() };
    let analyses = trials(&world, 60_000_000);
    let equivalent = concludes(&analyses, Conclusion::Equivalent);
    record("effect of the margin", &[("equivalent", equivalent)]);
    assert!(equivalent <= binomial_bound(), "equivalent in {equivalent}");
}

#[test]
fn an_arm_that_is_killed_more_often_never_wins() {
    // b is much faster when it survives.
    let world = World { sd: 0.02, ratio: 0.8, oom: (0.02, 0.3), ..World::default() };
    let analyses = trials(&world, 70_000_000);
    let b_has_more = |analysis: &&Comparison| analysis.outcomes.b_bad > analysis.outcomes.a_bad;
    let judged: Vec<&Comparison> = analyses.iter().filter(b_has_more).collect();
    let won = |a: &&&Comparison| matches!(a.conclusion, Conclusion::Better | Conclusion::Equivalent);
    let wins = judged.iter().filter(won).count();
    let figures = [
        ("trials in which b was killed more often", judged.len() as f64),
        ("of these won by b", wins as f64),
        ("b called worse", concludes(&analyses, Conclusion::Worse)),
    ];
    record("killed more often", &figures);
    assert!(judged.len() > analyses.len() * 3 / 4, "the scenario must occur: {}", judged.len());
    assert_eq!(wins, 0);
}
