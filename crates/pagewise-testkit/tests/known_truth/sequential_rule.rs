//! What analysing early costs and saves, on a fixed mix of trials with known truth: half without an effect, a quarter
//! with one standard deviation, a quarter with two; at most ten blocks.
//!
//! One standard deviation is that of a block's difference, the unit the paired t test works in; the record has the same
//! effects in standard deviations of a single run beside it. Every trial is judged twice, with interim analyses and without, so
//! that a difference in power is a difference on the same data. Figures are printed, and written as JSON into
//! `$PAGEWISE_RECORD_DIR/sequential` when that is set. `PAGEWISE_LONG` runs 25 times as many trials.

use pagewise_core::stats::spending::{self, Boundary, Progress, Rule, Spending};
use pagewise_core::stats::{blocked, normal};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::path::Path;

const BLOCKS: usize = 10;
const ALPHA: f64 = 0.05;

/// Trials of each effect.
fn count() -> u32 {
    if std::env::var_os("PAGEWISE_LONG").is_some() { 500_000 } else { 20_000 }
}

#[derive(Clone, Copy)]
enum Noise {
    Normal,
    /// Student's t with 3 degrees of freedom: a wild run now and then.
    HeavyTails,
}

struct Draw(ChaCha20Rng);

impl Draw {
    fn normal(&mut self) -> f64 {
        normal::quantile(((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64)
    }

    fn of(&mut self, noise: Noise) -> f64 {
        let z = self.normal();
        match noise {
            Noise::Normal => z,
            Noise::HeavyTails => {
                let squares: f64 = (0..3).map(|_| self.normal()).map(|z| z * z).sum();
                z / (squares / 3.0).sqrt()
            }
        }
    }
}

/// A stopping rule with its boundaries, computed once.
struct Sequential {
    blocks: Vec<usize>,
    boundaries: Vec<Boundary>,
}

fn progress(blocks: &[usize]) -> Vec<Progress> {
    blocks.iter().map(|blocks| Progress::after_blocks(*blocks as u32, BLOCKS as u32)).collect()
}

fn sequential(rule: Rule, blocks: &[usize]) -> Sequential {
    let boundaries = Spending { rule, alpha: ALPHA }.boundaries(&progress(blocks)).unwrap();
    Sequential { blocks: blocks.to_vec(), boundaries }
}

/// Shares of trials, and of points.
#[derive(Clone, Copy)]
struct Figures {
    /// Trials that show an effect, with interim analyses.
    shown: f64,
    /// Trials that show an effect in all blocks at 5 %.
    shown_in_full: f64,
    /// Points that were not run.
    saved: f64,
    /// Trials whose last repeated interval covers the truth.
    covered: f64,
}

impl Figures {
    fn lost(&self) -> f64 {
        self.shown_in_full - self.shown
    }
}

fn run(rule: &Sequential, effect: f64, noise: Noise, seed: u64) -> Figures {
    let mut draw = Draw(ChaCha20Rng::seed_from_u64(seed));
    let (mut shown, mut in_full, mut used, mut covered) = (0u32, 0u32, 0usize, 0u32);
    for _ in 0..count() {
        let differences: Vec<f64> = (0..BLOCKS).map(|_| effect + draw.of(noise)).collect();
        in_full += u32::from(blocked::estimate(&differences).unwrap().p <= ALPHA);
        for (blocks, boundary) in rule.blocks.iter().zip(&rule.boundaries) {
            let found = blocked::estimate(&differences[..*blocks]).unwrap();
            let stops = boundary.stops(found.p);
            if stops || *blocks == BLOCKS {
                shown += u32::from(stops);
                used += blocks;
                let (low, high) = boundary.interval(found.estimate, found.standard_error);
                covered += u32::from(low <= effect && effect <= high);
                break;
            }
        }
    }
    let share = |trials: u32| f64::from(trials) / f64::from(count());
    Figures {
        shown: share(shown),
        shown_in_full: share(in_full),
        saved: 1.0 - used as f64 / (f64::from(count()) * BLOCKS as f64),
        covered: share(covered),
    }
}

/// What a rule that spends exactly 5 % stays below with probability 0.999.
fn binomial_bound() -> f64 {
    ALPHA + 3.09 * (ALPHA * (1.0 - ALPHA) / f64::from(count())).sqrt()
}

/// The mix, and the same effects counted in standard deviations of a run, √2 of which make one of a difference.
struct Mix {
    none: Figures,
    one: Figures,
    two: Figures,
}

fn mix(name: &str, rule: &Sequential, seed: u64) -> Mix {
    let run_of = |effect: f64, stream: u64| run(rule, effect, Noise::Normal, seed + stream);
    let mix = Mix { none: run_of(0.0, 0), one: run_of(1.0, 1), two: run_of(2.0, 2) };
    let (one_run, two_runs) = (run_of(0.5_f64.sqrt(), 3), run_of(2.0_f64.sqrt(), 4));
    let exact: f64 = spending::first_crossings(
        &progress(&rule.blocks),
        &rule.boundaries.iter().map(|boundary| boundary.nominal_p).collect::<Vec<_>>(),
    )
    .unwrap()
    .iter()
    .sum();
    let mut figures =
        vec![("type I by integration".to_owned(), exact), ("bound of type I".to_owned(), binomial_bound())];
    for (effect, of) in [
        ("no effect", &mix.none),
        ("1 SD", &mix.one),
        ("2 SD", &mix.two),
        ("1 SD of a run", &one_run),
        ("2 SD of a run", &two_runs),
    ] {
        figures.push((format!("{effect}: effect shown"), of.shown));
        figures.push((format!("{effect}: effect shown by all blocks"), of.shown_in_full));
        figures.push((format!("{effect}: points saved"), of.saved));
        figures.push((format!("{effect}: coverage after the stop"), of.covered));
    }
    figures.push(("mix: power lost".to_owned(), mix.power_lost()));
    figures.push(("mix: points saved".to_owned(), mix.saved()));
    record(name, rule, &figures);
    mix
}

impl Mix {
    /// Power over the trials of the mix that have an effect.
    fn power_lost(&self) -> f64 {
        f64::midpoint(self.one.lost(), self.two.lost())
    }

    fn saved(&self) -> f64 {
        self.none.saved / 2.0 + self.one.saved / 4.0 + self.two.saved / 4.0
    }
}

/// Prints the figures of one rule and keeps them where a record is made.
#[expect(clippy::print_stdout, reason = "the figures are what this file is run for")]
fn record(name: &str, rule: &Sequential, figures: &[(String, f64)]) {
    let listed: Vec<String> = figures.iter().map(|(name, value)| format!("  {name} {value:.4}")).collect();
    println!("{name} ({} trials an effect)\n{}", count(), listed.join("\n"));
    let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") else { return };
    let values: serde_json::Map<String, serde_json::Value> =
        figures.iter().map(|(name, value)| (name.clone(), (*value).into())).collect();
    let json = serde_json::json!({
        "rule": name, "trials": count(), "alpha": ALPHA, "blocks": BLOCKS, "analyses after": rule.blocks,
        "nominal p": rule.boundaries.iter().map(|boundary| boundary.nominal_p).collect::<Vec<_>>(),
        "figures": values,
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join("sequential");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{}.json", name.replace(' ', "-"))), format!("{json:#}\n")).unwrap();
}

#[test]
fn obrien_fleming_saves_a_third_at_two_sd_and_loses_less_than_two_points_of_power_over_the_mix() {
    let mix = mix("obrien-fleming after 4 6 8 10", &sequential(Rule::ObrienFleming, &[4, 6, 8, 10]), 1);
    assert!(mix.none.shown <= binomial_bound(), "type I {}", mix.none.shown);
    assert!(mix.power_lost() <= 0.02, "lost {}", mix.power_lost());
    assert!(mix.two.saved >= 1.0 / 3.0, "saved {}", mix.two.saved);
    for figures in [mix.none, mix.one, mix.two] {
        assert!(figures.covered >= 1.0 - binomial_bound());
    }
}

#[test]
fn interim_analyses_lose_less_than_two_points_at_either_effect_and_save_more_than_a_third() {
    let rule = sequential(Rule::Power { exponent: 4.0 }, &[5, 6, 7, 10]);
    let mix = mix("power 4 after 5 6 7 10", &rule, 100);
    assert!(mix.none.shown <= binomial_bound(), "type I {}", mix.none.shown);
    assert!(mix.one.lost() <= 0.02 && mix.two.lost() <= 0.02, "lost {} {}", mix.one.lost(), mix.two.lost());
    assert!(mix.two.saved >= 1.0 / 3.0, "saved {}", mix.two.saved);
}

#[test]
fn pocock_saves_most_and_pays_with_power() {
    let pocock = mix("pocock after 4 6 8 10", &sequential(Rule::Pocock, &[4, 6, 8, 10]), 200);
    assert!(pocock.none.shown <= binomial_bound(), "type I {}", pocock.none.shown);
    assert!(pocock.two.saved > 0.4, "saved {}", pocock.two.saved);
    assert!(pocock.one.lost() > 0.1, "the price is real: lost {}", pocock.one.lost());
}

#[test]
fn heavy_tails_make_no_false_alarms() {
    let rule = sequential(Rule::ObrienFleming, &[4, 6, 8, 10]);
    let found = run(&rule, 0.0, Noise::HeavyTails, 300);
    record("obrien-fleming with heavy tails", &rule, &[("type I".to_owned(), found.shown)]);
    assert!(found.shown <= binomial_bound(), "type I {}", found.shown);
}

#[test]
fn textbook_boundaries_would_make_more_false_alarms_than_they_promise() {
    let blocks = [4, 6, 8, 10];
    let known: Vec<Progress> = progress(&blocks).into_iter().map(Progress::with_known_variance).collect();
    let boundaries = Spending { rule: Rule::ObrienFleming, alpha: ALPHA }.boundaries(&known).unwrap();
    let rule = Sequential { blocks: blocks.to_vec(), boundaries };
    let found = run(&rule, 0.0, Noise::Normal, 400);
    record("obrien-fleming of known variance", &rule, &[("type I".to_owned(), found.shown)]);
    assert!(found.shown > ALPHA, "type I {}", found.shown);
    assert!((found.shown - 0.0545).abs() < 4.0 * (0.0545 * 0.9455 / f64::from(count())).sqrt());
}
