//! A scripted runner: points of a trial whose truth is known, so that a verdict can be held against it.
//!
//! It takes the place of the host and nothing else. Plan and order come from the code that real trials use, and what it
//! returns goes into the analysis that real trials use.

use indexmap::IndexMap;
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::{Contrast, Design, Factor, Plan, Workload};
use pagewise_core::experiment::point::{Outcome, PlannedPoint, Point};
use pagewise_host::store::bundle::Frozen;
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

/// A host that is sometimes fast and sometimes slow, whatever it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// How far ln(wall) of the two modes lies apart, in units of [`World::sd`].
    pub gap_in_sd: f64,
    /// Probability that a run finds the host in the mode of the run before: ½ draws each run's mode afresh, 0.9 makes
    /// stretches of ten runs on average. The first mode is a fair coin.
    pub stay: f64,
}

/// What is true of the simulated host and job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    /// Wall time of level a, in seconds, at the middle of the trial.
    pub seconds: f64,
    /// True ratio of b to a: the judged level of the plan's first contrast to its base.
    pub ratio: f64,
    /// True ratio to a of cells that have neither level of that contrast.
    pub bystander_ratio: f64,
    /// Standard deviation of a run's ln(wall).
    pub sd: f64,
    /// Shape of that scatter.
    pub noise: Noise,
    /// Growth of ln(wall) from the first analysed run to the last, in units of `sd`.
    pub drift_in_sd: f64,
    /// Ratio of the second run of a pair to the first.
    pub period_ratio: f64,
    /// Share of the effect on ln(wall) of the run before's cell that reaches this run, too.
    pub carry_over: f64,
    /// The host's modes, where it has two.
    pub modes: Option<Modes>,
    /// Probability that a run of a, of b is killed for lack of memory.
    pub oom: (f64, f64),
}

impl Default for World {
    fn default() -> Self {
        World {
            seconds: 10.0,
            ratio: 1.0,
            bystander_ratio: 1.0,
            sd: 0.02,
            noise: Noise::Normal,
            drift_in_sd: 0.0,
            period_ratio: 1.0,
            carry_over: 0.0,
            modes: None,
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
///
/// # Panics
/// When a policy of the plan is malformed.
#[must_use]
pub fn true_world(plan: &Plan, order: &Order, world: &World, seed: u64) -> Vec<Point> {
    let mut host = Host {
        world,
        effects: effects(plan, world),
        last: order.points.len().saturating_sub(1).max(1) as f64,
        chance: Chance::new(seed),
        before: 0.0,
        is_slow: None,
    };
    order.points.iter().map(|planned| host.run(planned)).collect()
}

/// What each cell adds to ln(wall), and whether it is one of b.
fn effects(plan: &Plan, world: &World) -> BTreeMap<String, (f64, bool)> {
    let cells = cells(plan).expect("a scripted plan has policies that can be read");
    let effect = |cell: &pagewise_core::experiment::plan::cells::Cell| {
        let is = |level: fn(&Contrast) -> &str| {
            plan.contrasts.first().is_some_and(|contrast| cell.has(&contrast.factor, level(contrast)))
        };
        let (is_a, is_b) = (is(|contrast| &contrast.a), is(|contrast| &contrast.b));
        let ratio = match (is_a, is_b) {
            (_, true) => world.ratio,
            (true, false) => 1.0,
            (false, false) => world.bystander_ratio,
        };
        (cell.label.clone(), (ratio.ln(), is_b))
    };
    cells.iter().map(effect).collect()
}

/// The host while a trial runs: what one run leaves to the next.
struct Host<'w> {
    world: &'w World,
    effects: BTreeMap<String, (f64, bool)>,
    /// Index of the last point.
    last: f64,
    chance: Chance,
    /// Effect of the cell that ran before.
    before: f64,
    /// The mode of the run before, where the host has modes.
    is_slow: Option<bool>,
}

impl Host<'_> {
    fn run(&mut self, planned: &PlannedPoint) -> Point {
        let world = self.world;
        let (effect, is_b) = self.effects.get(&planned.cell).copied().unwrap_or((0.0, false));
        let noise = match world.noise {
            Noise::Normal => self.chance.normal(),
            Noise::HeavyTails => self.chance.t3() / 3.0_f64.sqrt(),
        };
        let killed = self.chance.uniform() < if is_b { world.oom.1 } else { world.oom.0 };
        let mode = world.modes.map_or(0.0, |modes| self.mode(modes));
        let drift = world.drift_in_sd * world.sd * (f64::from(planned.index) / self.last - 0.5);
        let period = if planned.position == 1 { world.period_ratio.ln() } else { 0.0 };
        let carried = world.carry_over * std::mem::replace(&mut self.before, effect);
        let wall = (world.seconds.ln() + effect + carried + period + drift + mode + world.sd * noise).exp();
        point(planned, if killed { Outcome::Oom } else { Outcome::Ok }, wall)
    }

    /// What the host's mode adds to ln(wall).
    fn mode(&mut self, modes: Modes) -> f64 {
        let drawn = self.chance.uniform();
        let is_slow = match self.is_slow {
            None => drawn < 0.5,
            Some(before) => (drawn < modes.stay) == before,
        };
        self.is_slow = Some(is_slow);
        if is_slow { modes.gap_in_sd * self.world.sd } else { 0.0 }
    }
}

/// What a bundle of such a trial begins with.
#[must_use]
pub fn frozen(order: Order) -> Frozen {
    Frozen {
        pagewise: "0".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        order,
        repeat: Vec::new(),
        notes: Vec::new(),
        data: None,
        data_folder: None,
        bundle: None,
    }
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
        warnings: Vec::new(),
    }
}

/// Random numbers of the shapes a world needs.
pub(crate) struct Chance(ChaCha20Rng);

impl Chance {
    /// The same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(ChaCha20Rng::seed_from_u64(seed))
    }

    /// Between 0 and 1, neither of them.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Box and Muller's transform.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn t3(&mut self) -> f64 {
        let chi_square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (chi_square / 3.0).sqrt()
    }
}
