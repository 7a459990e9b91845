//! A scripted runner: points of a trial whose truth is known, so that a verdict can be held against it.
//!
//! It takes the place of the host and nothing else. Plan and order come from the code that real trials use, and what it
//! returns goes into the analysis that real trials use.

use indexmap::IndexMap;
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::{Contrast, Design, Factor, Plan, Workload};
use pagewise_core::experiment::point::{Outcome, PlannedPoint, Point};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;

/// How runs scatter around their expected logarithm, in units of [`World::sd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Standard normal.
    Normal,
    /// Student's t with 3 degrees of freedom, scaled to the same standard deviation: rare wild runs.
    HeavyTails,
}

/// What is true of the simulated host and job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    /// Wall time of level a, in seconds, at the middle of the trial.
    pub seconds: f64,
    /// True ratio of b to a.
    pub ratio: f64,
    /// Standard deviation of a run's ln(wall).
    pub sd: f64,
    /// Shape of that scatter.
    pub noise: Noise,
    /// Growth of ln(wall) from the first analysed run to the last, in units of `sd`.
    pub drift_in_sd: f64,
    /// Ratio of the second run of a pair to the first.
    pub period_ratio: f64,
    /// Probability that a run of a, of b is killed for lack of memory.
    pub oom: (f64, f64),
}

impl Default for World {
    fn default() -> Self {
        World {
            seconds: 10.0,
            ratio: 1.0,
            sd: 0.02,
            noise: Noise::Normal,
            drift_in_sd: 0.0,
            period_ratio: 1.0,
            oom: (0.0, 0.0),
        }
    }
}

/// A plan that compares the levels `a` and `b` by wall time.
#[must_use]
pub fn two_level_plan(pairs: u32, seed: u64) -> Plan {
    let level = |name: &str| (name.to_owned(), format!("env.LEVEL={name}"));
    Plan {
        factors: vec![Factor {
            name: "level".to_owned(),
            also: Vec::new(),
            levels: IndexMap::from([level("a"), level("b")]),
        }],
        design: Design { blocks: pairs, seed, ..Design::default() },
        contrasts: vec![Contrast {
            factor: "level".to_owned(),
            a: "a".to_owned(),
            b: "b".to_owned(),
            primary: true,
            ..Contrast::default()
        }],
        ..Plan::new("scripted", Workload::command(vec!["true".to_owned()]))
    }
}

/// Runs every point of an order in this world. `seed` is of the noise; the order has its own.
#[must_use]
pub fn true_world(plan: &Plan, order: &Order, world: &World, seed: u64) -> Vec<Point> {
    let mut chance = Chance(ChaCha20Rng::seed_from_u64(seed));
    let last = order.points.len().saturating_sub(1).max(1) as f64;
    order.points.iter().map(|planned| run(plan, planned, world, last, &mut chance)).collect()
}

fn run(plan: &Plan, planned: &PlannedPoint, world: &World, last: f64, chance: &mut Chance) -> Point {
    let is_b = plan.contrasts.first().is_some_and(|contrast| contrast.b == planned.cell);
    let noise = match world.noise {
        Noise::Normal => chance.normal(),
        Noise::HeavyTails => chance.t3() / 3.0_f64.sqrt(),
    };
    let killed = chance.uniform() < if is_b { world.oom.1 } else { world.oom.0 };
    let drift = world.drift_in_sd * world.sd * (f64::from(planned.index) / last - 0.5);
    let effect = if is_b { world.ratio.ln() } else { 0.0 };
    let period = if planned.position == 1 { world.period_ratio.ln() } else { 0.0 };
    let wall = (world.seconds.ln() + effect + period + drift + world.sd * noise).exp();
    point(planned, if killed { Outcome::Oom } else { Outcome::Ok }, wall)
}

/// A point with nothing but its outcome and wall time.
#[must_use]
pub fn point(planned: &PlannedPoint, outcome: Outcome, wall: f64) -> Point {
    Point {
        planned: planned.clone(),
        attempt: 1,
        outcome,
        reason: (outcome != Outcome::Ok).then(|| format!("scripted to end as {}", outcome.word())),
        started_at: format!("2026-01-01T00:{:02}:{:02}Z", planned.index / 60 % 60, planned.index % 60),
        measures: BTreeMap::from([("wall".to_owned(), wall)]),
        absent: BTreeMap::new(),
        custom_units: BTreeMap::new(),
        counters: BTreeMap::new(),
        applied: Vec::new(),
        boot_id: "scripted".to_owned(),
    }
}

/// Random numbers of the shapes a world needs.
struct Chance(ChaCha20Rng);

impl Chance {
    /// Between 0 and 1, neither of them.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Box and Muller's transform.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn t3(&mut self) -> f64 {
        let chi_square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (chi_square / 3.0).sqrt()
    }
}
