//! What a trial will cost and what it can find, before it is run.

use super::cells::{Cell, cells};
use super::check::{cost_of, has_boot_factor};
use super::{OrderKind, Plan};
use crate::experiment::analysis::{ContrastInCell, asked};
use crate::stats::confidence_sequence::ConfidenceSequence;
use crate::stats::power;
use crate::tunable::CostClass;
use crate::unit::{Fraction, Seconds};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Power at which detectable effects are stated.
pub const POWER: f64 = 0.8;

/// What surrounds a run at least, in seconds, where nobody knows it: before each the gate watches for so long whether the host is
/// at rest.
pub const LEAST_AROUND: f64 = 1.0;

/// What is known about the runs: from the plan's `[cost]`, from the command line, or from a pilot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownRuns {
    /// A run, in seconds.
    pub run: Option<f64>,
    /// What surrounds a run, in seconds.
    pub around: Option<f64>,
    /// A boot, in seconds.
    pub boot: Option<f64>,
    /// Scatter of a run as a share of its mean, by cell label.
    pub cv: BTreeMap<String, f64>,
    /// That of every other cell.
    pub cv_otherwise: Option<f64>,
}

impl KnownRuns {
    /// What the plan itself says.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> KnownRuns {
        let seconds = |text: &Option<String>| text.as_ref()?.parse::<Seconds>().ok().map(|seconds| seconds.0);
        KnownRuns {
            run: seconds(&plan.cost.run),
            around: seconds(&plan.cost.around),
            boot: seconds(&plan.cost.boot),
            cv: BTreeMap::new(),
            cv_otherwise: plan.cost.cv.as_ref().and_then(|text| text.parse::<Fraction>().ok()).map(|cv| cv.0),
        }
    }

    fn cv_of(&self, cell: &str) -> Option<f64> {
        self.cv.get(cell).copied().or(self.cv_otherwise)
    }
}

/// What a trial takes and finds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// Cells.
    pub cells: u32,
    /// Blocks; of a trial that may end early the most there can be.
    pub blocks: u32,
    /// Runs, warm-up included.
    pub runs: u32,
    /// Boots of the host.
    pub boots: u32,
    /// Hours in all; `None`, with `no_hours_because`, when the length of a run is not known.
    pub hours: Option<f64>,
    /// Whether `hours` count only what must surround a run: what does is not known, and it takes longer.
    pub is_least: bool,
    /// Why there are no hours.
    pub no_hours_because: Option<String>,
    /// When an open-ended trial ends. `None` by any other rule.
    pub ends: Option<String>,
    /// What is recorded beside the kernel's numbers, and what is known of what that takes from the runs.
    pub recording: Option<String>,
    /// What each comparison can find.
    pub comparisons: Vec<Detectable>,
}

/// What a comparison can find.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Detectable {
    /// What is compared: `swap: off → on, load low`.
    pub name: String,
    /// Level of its test: alpha, shared among the primary comparisons.
    pub alpha: f64,
    /// The difference, as a fraction, that it finds with a probability of 80 % in all blocks; `None` where no scatter is known.
    pub difference: Option<f64>,
}

/// The forecast of a plan.
#[must_use]
pub fn forecast(plan: &Plan, known: &KnownRuns) -> Forecast {
    let cells = cells(plan).unwrap_or_default();
    let runs = (cells.len() as u32).saturating_mul(plan.design.blocks.saturating_add(plan.design.warmup));
    let boots = boots(plan, &cells);
    let hours = known.run.map(|run| {
        let around = known.around.unwrap_or(LEAST_AROUND);
        (f64::from(runs) * (run + around) + f64::from(boots) * known.boot.unwrap_or(0.0)) / 3600.0
    });
    let is_least = hours.is_some() && known.around.is_none();
    let no_hours_because = match (hours, boots > 0 && known.boot.is_none()) {
        (None, _) => Some("the length of a run is not known: give [cost] run = \"20m\", or --pilot BUNDLE".to_owned()),
        (Some(_), true) => Some("boots are not counted in: give [cost] boot = \"3m\"".to_owned()),
        (Some(_), false) => None,
    };
    let comparisons = comparisons(plan, &cells, known);
    Forecast {
        cells: cells.len() as u32,
        blocks: plan.design.blocks,
        runs,
        boots,
        hours,
        is_least,
        no_hours_because,
        ends: ends(plan, cells.len()),
        recording: recorded(plan),
        comparisons,
    }
}

/// The earliest and the latest end of an open-ended trial.
fn ends(plan: &Plan, cells: usize) -> Option<String> {
    let sequence = plan.sequence()?;
    // Pairs estimate what running second costs, too.
    let is_pairs = cells == 2 && matches!(plan.design.order, OrderKind::Auto | OrderKind::Pairs);
    let first_analysis = plan.stopping.interim_analyses(plan.design.blocks).first().copied().unwrap_or_default();
    let earliest = sequence.fewest(if is_pairs { 2 } else { 1 }).max(first_analysis);
    Some(format!(
        "open-ended: ends as soon as every claim is decided, after {earliest} blocks at the earliest and {} at the latest; what \
         follows is of all of them",
        plan.design.blocks
    ))
}

/// What is recorded beside the kernel's numbers. What recording them costs depends on the host and on what runs, so only how to find it
/// out is told. It weighs on all cells alike.
#[must_use]
pub fn recorded(plan: &Plan) -> Option<String> {
    let recorded = plan.recording.beside_numbers();
    let takes_stacks = plan.recording.stacks > 0 || plan.recording.stalls;
    if plan.recording.hz == 0.0 || recorded.is_empty() {
        return None;
    }
    let mut said = format!("each run also records {}", recorded.join(", "));
    if takes_stacks {
        let stacks =
            if plan.recording.stacks > 0 { format!(" --stacks {}", plan.recording.stacks) } else { String::new() };
        let stalls = if plan.recording.stalls { " --stalls" } else { "" };
        said.push_str(&format!(
            "; what that takes from every cell alike is not measured here: pagewise record{stacks}{stalls} -o try.pgw -- JOB \
             says it"
        ));
    }
    Some(said)
}

fn boots(plan: &Plan, cells: &[Cell]) -> u32 {
    if plan.boots_each_point() {
        return (cells.len() as u32).saturating_mul(plan.design.blocks.saturating_add(plan.design.warmup));
    }
    if !has_boot_factor(plan) {
        return 0;
    }
    let boot_factors: Vec<&str> = plan
        .factors
        .iter()
        .filter(|factor| cost_of(factor) == CostClass::Boot)
        .map(|factor| factor.name.as_str())
        .collect();
    let key = |cell: &Cell| -> Vec<String> {
        boot_factors.iter().filter_map(|factor| cell.levels.get(*factor).cloned()).collect()
    };
    let whole_plots = cells.iter().map(key).collect::<std::collections::BTreeSet<_>>().len() as u32;
    if plan.design.order == OrderKind::Nested {
        whole_plots
    } else {
        whole_plots * (plan.design.blocks + plan.design.warmup)
    }
}

/// What each comparison can find, from what the analysis will compute: the same cells with the same weights.
fn comparisons(plan: &Plan, cells: &[Cell], known: &KnownRuns) -> Vec<Detectable> {
    let asked: Vec<ContrastInCell> = asked(plan, cells).into_iter().filter(|one| one.metric == 0).collect();
    let primaries = asked.iter().filter(|one| one.primary).count();
    let sequence = plan.sequence();
    let is_pairs = cells.len() == 2 && matches!(plan.design.order, OrderKind::Auto | OrderKind::Pairs);
    let detectable = |one: ContrastInCell| {
        let alpha = if one.primary { plan.design.alpha / primaries.max(1) as f64 } else { plan.design.alpha };
        let find = if is_pairs { power::detectable_in_pairs } else { power::detectable_in_blocks };
        // What an open-ended trial shows at its last block it shows at some block: a little more is found than is told.
        let level = sequence.map_or(alpha, |sequence| last_analysis(sequence, alpha, plan.design.blocks));
        let difference = variance(&one, known).and_then(|v| find(plan.design.blocks, v.sqrt(), level, POWER));
        Detectable { name: one.name, alpha, difference: difference.map(libm::expm1) }
    };
    asked.into_iter().map(detectable).collect()
}

/// Variance of a comparison inside one block: the sum of its squared coefficients, each times the variance of its cell. A cell
/// weighs one over the size of its group, so an average over two cells scatters less than a single cell, and an interaction of
/// single cells, which has four of them, scatters twice as much as a difference of two.
fn variance(asked: &ContrastInCell, known: &KnownRuns) -> Option<f64> {
    let of_group = |(_, cells): &(f64, Vec<String>)| -> Option<f64> {
        let weight = 1.0 / cells.len() as f64;
        let of_cell = |cell: &String| known.cv_of(cell).map(|cv| weight * weight * cv * cv);
        // Without a cell there is no weight, and nothing to compare.
        cells.iter().map(of_cell).sum::<Option<f64>>().filter(|_| !cells.is_empty())
    };
    asked.groups.iter().map(of_group).sum()
}

/// The level that a t test after the last block needs for the sequence's interval at 1 − alpha to exclude no difference.
fn last_analysis(sequence: ConfidenceSequence, alpha: f64, blocks: u32) -> f64 {
    let n = f64::from(blocks);
    ConfidenceSequence { alpha, ..sequence }.nominal_p(n - 1.0, n)
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;
    use crate::experiment::analysis::contrast_in;
    use crate::stats::blocked;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use std::cell::RefCell;

    #[test]
    fn what_is_recorded_is_told_and_its_cost_is_not_made_up() {
        let plan = |recording: &str| {
            let text = format!(
                "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\n\
                 levels.b = 'env.K=2'\n{recording}"
            );
            let plan = source::read(&text, "x.toml").unwrap();
            forecast(&plan, &KnownRuns::default()).recording
        };
        assert_eq!(plan(""), None);
        assert_eq!(plan("[recording]\nhz = 10\n"), None);
        let said = plan("[recording]\nstacks = 49\nstalls = true\n").unwrap();
        assert!(
            said.contains("stacks 49 times a second and CPU, stalls") && said.contains("not measured here"),
            "{said}"
        );
        assert_eq!(plan("[recording]\ncgroup = true\n").as_deref(), Some("each run also records the job's cgroup"));
    }

    #[test]
    fn the_seed_s_matrix_takes_its_forty_hours_and_finds_three_percent() {
        let text = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 10\nwarmup = 0\n\
            [[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\nlevels.b = 'env.K=2'\n\
            [[factor]]\nname = 'l'\nlevels.low = 'env.L=1'\nlevels.high = 'env.L=2'\n\
            [[contrast]]\nfactor = 'k'\na = 'a'\nb = 'b'\nby = ['l']\nprimary = true\n[cost]\nrun = '20m'\ncv = '2%'\n";
        let plan = source::read(text, "x.toml").unwrap();
        let found = forecast(&plan, &KnownRuns::from_plan(&plan));
        assert_eq!((found.cells, found.runs, found.boots), (4, 40, 0));
        // And the second before each run in which the gate watches.
        assert!((found.hours.unwrap() - (40.0 / 3.0 + 40.0 / 3600.0)).abs() < 1e-9);
        assert!(found.is_least);
        let around = KnownRuns { around: Some(90.0), ..KnownRuns::from_plan(&plan) };
        let with_around = forecast(&plan, &around);
        assert!((with_around.hours.unwrap() - (40.0 / 3.0 + 1.0)).abs() < 1e-9 && !with_around.is_least);
        assert_eq!(found.comparisons.len(), 2);
        assert_eq!(found.comparisons[1].name, "k: a → b, l high");
        // R: power.t.test(n = 10, power = 0.8, sd = 0.02 * sqrt(2), sig.level = 0.025, type = "paired")$delta = 0.0322.
        let difference = libm::log1p(found.comparisons[0].difference.unwrap());
        assert!((difference - 0.0322).abs() < 5e-4, "{difference}");
        // Open-ended, the same ten blocks show less: that is the price.
        let plan = source::read(&format!("{text}[stopping]\nrule = 'open-ended'\n"), "x.toml").unwrap();
        let open_ended = forecast(&plan, &KnownRuns::from_plan(&plan)).comparisons[0].difference.unwrap();
        assert!((1.3..2.0).contains(&(libm::log1p(open_ended) / difference)), "{open_ended}");
        let ends = forecast(&plan, &KnownRuns::from_plan(&plan)).ends.unwrap();
        assert!(ends.contains("after 4 blocks at the earliest and 10 at the latest"), "{ends}");
    }
    /// Two factors of two levels in six blocks: a difference of two cells, one of averages, and an interaction.
    const TWO_BY_TWO: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 6\nwarmup = 0\n\
        [[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\nlevels.b = 'env.K=2'\n\
        [[factor]]\nname = 'l'\nlevels.low = 'env.L=1'\nlevels.high = 'env.L=2'\n\
        [[contrast]]\nfactor = 'k'\na = 'a'\nb = 'b'\nby = ['l']\n\
        [[contrast]]\nfactor = 'k'\na = 'a'\nb = 'b'\n\
        [[contrast]]\nfactor = 'k'\na = 'a'\nb = 'b'\ninteraction = { factor = 'l', a = 'low', b = 'high' }\n\
        [cost]\ncv = '3%'\n";

    #[test]
    fn what_an_interaction_finds_comes_from_its_four_cells() {
        let plan = source::read(TWO_BY_TWO, "x.toml").unwrap();
        let found = forecast(&plan, &KnownRuns::from_plan(&plan)).comparisons;
        let log = |place: usize| libm::log1p(found[place].difference.unwrap());
        let [simple, _, average, interaction] = [0, 1, 2, 3].map(log);
        assert!(found[3].name.contains("l high against low"), "{}", found[3].name);
        assert!((interaction / simple - std::f64::consts::SQRT_2).abs() < 1e-9);
        assert!((interaction / average - 2.0).abs() < 1e-9);
        // R: power.t.test(n = 6, power = 0.8, sd = 0.03 * 2, type = "one.sample")$delta = 0.0865.
        assert!((interaction - 0.0865).abs() < 5e-4, "{interaction}");
    }

    #[test]
    fn each_comparison_finds_what_is_forecast_four_times_in_five_when_it_is_simulated() {
        let plan = source::read(TWO_BY_TWO, "x.toml").unwrap();
        let cells = cells(&plan).unwrap();
        let found = forecast(&plan, &KnownRuns::from_plan(&plan)).comparisons;
        let asked = asked(&plan, &cells);
        const TRIALS: u32 = 4000;
        let rng = RefCell::new(ChaCha20Rng::seed_from_u64(3));
        let noise = |_: u32, _: &str| Some(0.03 * normal(&mut rng.borrow_mut()));
        for (one, forecast) in asked.iter().zip(&found) {
            // The judged cells differ so that the comparison does by what is forecast.
            let effect = libm::log1p(forecast.difference.unwrap());
            let mut decided = 0;
            for _ in 0..TRIALS {
                let differences: Vec<f64> = (0..plan.design.blocks)
                    .map(|block| effect + contrast_in(block, &one.groups, noise).unwrap())
                    .collect();
                decided += u32::from(blocked::estimate(&differences).unwrap().p <= forecast.alpha);
            }
            let power = f64::from(decided) / f64::from(TRIALS);
            // Four standard errors of a share of 0.8 in 4,000.
            assert!((power - POWER).abs() < 0.026, "{}: {power}", one.name);
        }
    }

    /// Box and Muller.
    fn normal(rng: &mut ChaCha20Rng) -> f64 {
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (radius, angle) = ((-2.0 * libm::log(1.0 - uniform())).sqrt(), 2.0 * std::f64::consts::PI * uniform());
        radius * libm::cos(angle)
    }

    #[test]
    fn pairs_find_a_little_less_than_blocks_because_they_estimate_what_running_second_costs() {
        let text = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 10\n\
            [[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\nlevels.b = 'env.K=2'\n\
            [[contrast]]\nfactor = 'k'\na = 'a'\nb = 'b'\nprimary = true\n[cost]\ncv = '2%'\n";
        let plan = source::read(text, "x.toml").unwrap();
        let pairs = forecast(&plan, &KnownRuns::from_plan(&plan)).comparisons[0].difference.unwrap();
        let blocks = source::read(&text.replace("blocks = 10", "blocks = 10\norder = 'blocks'"), "x.toml").unwrap();
        let blocks = forecast(&blocks, &KnownRuns::from_plan(&blocks)).comparisons[0].difference.unwrap();
        assert!(blocks < pairs && pairs < 1.05 * blocks, "{blocks} {pairs}");
        let found = power::crossover_power(10, 0.02 * std::f64::consts::SQRT_2, libm::log1p(pairs), 0.05);
        assert!((found - POWER).abs() < 1e-6, "{found}");
    }
}
