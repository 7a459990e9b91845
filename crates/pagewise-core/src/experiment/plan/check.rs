//! What no trial can be run with: names that mean nothing, policies that contradict each other, designs that give no
//! interval. Everything that can be known without a host.

use super::cells::{self, SEPARATOR};
use super::lab::KERNEL;
use super::source::{Place, Step};
use super::{Contrast, Factor, OrderKind, Plan, StoppingRule};
use crate::experiment::data::Restore;
use crate::experiment::live::metric::LiveMetric;
use crate::experiment::live::switching;
use crate::experiment::order::{FEWEST_PAIRS, williams_rows};
use crate::recording::stack::RATES;
use crate::spelling::{did_you_mean, is_unsafe};
use crate::tunable::policy::Policy;
use crate::tunable::{self, CostClass, Tunable};
use crate::unit::{Bytes, Fraction, Seconds};
use std::collections::BTreeSet;

/// Something is wrong at a place of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub why: String,
}

/// More cells than this are a slip.
const MOST_CELLS: u128 = 1_000;
/// More points than this are a slip: at a second each they take more than a day.
pub const MOST_POINTS: u64 = 200_000;
/// More analyses than this are a slip: each spends of alpha, and no rule is tested beyond it.
const MOST_ANALYSES: usize = 50;
/// A coefficient of variation below this is a slip; no clock is that good.
const SMALLEST_CV: f64 = 1e-6;
/// File systems take 255 bytes for a name (`NAME_MAX`), and `.trial` is put behind it.
const LONGEST_NAME: usize = 200;

/// Everything that is wrong, in the order of the plan. An empty list: it can be run.
#[must_use]
pub fn problems(plan: &Plan) -> Vec<Problem> {
    let mut found = Problems(Vec::new());
    found.name(plan);
    found.workload(plan);
    found.metrics(plan);
    found.factors(plan);
    found.zip(plan);
    found.excludes(plan);
    if found.0.is_empty() {
        // Cells can be made only of factors that are right.
        found.cells(plan);
    }
    found.design(plan);
    found.contrasts(plan);
    found.stopping(plan);
    found.rest(plan);
    found.live(plan);
    found.lab(plan);
    found.0
}

/// Whether a text can name a trial, and so a folder.
#[must_use]
pub fn can_name_a_trial(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.starts_with('-')
        && !name.contains(|c: char| c == '/' || is_unsafe(c))
        && name.len() <= LONGEST_NAME
}

struct Problems(Vec<Problem>);

impl Problems {
    fn add<const N: usize>(&mut self, steps: [Step; N], why: impl Into<String>) {
        self.0.push(Problem { place: Place::of(steps), why: why.into() });
    }

    fn name(&mut self, plan: &Plan) {
        if !can_name_a_trial(&plan.name) {
            let shown = plan.name.escape_debug();
            self.add(["name".into()], format!("'{shown}' cannot name a folder; write a word such as \"terasort-thp\""));
        }
    }

    /// Of a built-in workload only the host crate knows the arguments.
    fn workload(&mut self, plan: &Plan) {
        let workload = &plan.workload;
        if workload.name != "command" {
            return;
        }
        for name in workload.args.keys() {
            let why = format!(
                "a command has no argument '{}'{}; only built-in workloads have. Pass it in `run`, or as a variable with \
                 env.NAME=VALUE",
                name.escape_debug(),
                did_you_mean(name, ["run", "prepare", "verify", "clean"])
            );
            self.add(["workload".into(), name.as_str().into()], why);
        }
        if workload.run.first().is_none_or(|program| program.trim().is_empty()) && plan.live.is_none() {
            self.add(
                ["workload".into(), "run".into()],
                "there is no command to time; write run = [\"./job\", \"--fast\"]",
            );
        }
    }

    fn metrics(&mut self, plan: &Plan) {
        let mut seen = BTreeSet::new();
        for (index, metric) in plan.metrics.iter().enumerate() {
            let place = |key: &str| [Step::from("metric"), index.into(), key.into()];
            if metric.name.is_empty() || metric.name.contains(char::is_control) {
                self.add(place("name"), "a metric needs a name, such as \"wall\"");
            }
            if let Some((key, why)) = metric.problem(plan.live.is_some()) {
                self.add(place(key), why);
            }
            if !seen.insert(&metric.name) {
                self.add(place("name"), format!("the metric '{}' is declared twice", metric.name));
            }
            let margin: Result<Fraction, _> = metric.smallest_effect.parse();
            match margin {
                Ok(Fraction(margin)) if margin > 0.0 && margin < 1.0 && metric.smallest_effect.contains('%') => {}
                _ => self.add(
                    place("smallest_effect"),
                    format!("'{}' is not between 0% and 100%; write it like \"2%\"", metric.smallest_effect),
                ),
            }
        }
    }

    fn factors(&mut self, plan: &Plan) {
        if let Some(why) = plan.everywhere.as_deref().and_then(unfit_policy) {
            self.add(["everywhere".into()], why);
        }
        if plan.factors.is_empty() {
            self.add(["factor".into()], "nothing differs between points: declare at least one [[factor]]");
        }
        let mut seen = BTreeSet::new();
        for (index, factor) in plan.factors.iter().enumerate() {
            let place = |key: &str| [Step::from("factor"), index.into(), key.into()];
            if let Some(why) = unfit_name(&factor.name) {
                self.add(place("name"), format!("a factor's name {why}"));
            }
            if !seen.insert(&factor.name) {
                self.add(place("name"), format!("the factor '{}' is declared twice", factor.name));
            }
            if factor.levels.is_empty() {
                self.add(place("levels"), format!("the factor '{}' has no levels", factor.name));
            }
            for (name, text) in &factor.levels {
                let place = [Step::from("factor"), index.into(), "levels".into(), name.as_str().into()];
                if let Some(why) = unfit_name(name) {
                    self.add(place.clone(), format!("a level's name {why}"));
                }
                if let Some(why) = unfit_policy(text) {
                    self.add(place, why);
                }
            }
            for (at, name) in factor.also.iter().enumerate() {
                if let Err(error) = tunable::find(name) {
                    self.add([Step::from("factor"), index.into(), "also".into(), at.into()], error.to_string());
                }
            }
        }
    }

    fn zip(&mut self, plan: &Plan) {
        let mut seen = BTreeSet::new();
        for (index, group) in plan.zip.iter().enumerate() {
            let place = [Step::from("zip"), index.into()];
            if group.len() < 2 {
                self.add(place.clone(), "a group of zipped factors needs two names or more");
            }
            let mut first: Option<&Factor> = None;
            for (at, name) in group.iter().enumerate() {
                let place = [Step::from("zip"), index.into(), at.into()];
                if !seen.insert(name) {
                    self.add(place.clone(), format!("'{name}' is zipped twice"));
                }
                let Some(factor) = plan.factor(name) else {
                    self.add(place, unknown("factor", name, plan.factors.iter().map(|factor| &factor.name)));
                    continue;
                };
                let first = first.get_or_insert(factor);
                let names = |factor: &Factor| factor.levels.keys().cloned().collect::<BTreeSet<String>>();
                if names(first) != names(factor) {
                    let why = format!(
                        "'{}' has the levels {}, and '{}' has {}: zipped factors need the same names",
                        first.name,
                        list(first.levels.keys()),
                        factor.name,
                        list(factor.levels.keys())
                    );
                    self.add(place, why);
                }
            }
        }
    }

    fn excludes(&mut self, plan: &Plan) {
        for (index, exclude) in plan.excludes.iter().enumerate() {
            let place = |factor: &str| [Step::from("exclude"), index.into(), "where".into(), factor.into()];
            if exclude.conditions.is_empty() {
                self.add([Step::from("exclude"), index.into()], "it excludes nothing; write where.FACTOR = \"LEVEL\"");
            }
            for (name, levels) in &exclude.conditions {
                let Some(factor) = plan.factor(name) else {
                    self.add(place(name), unknown("factor", name, plan.factors.iter().map(|factor| &factor.name)));
                    continue;
                };
                for level in levels.names().filter(|level| !factor.levels.contains_key(*level)) {
                    self.add(place(name), unknown("level", level, factor.levels.keys()));
                }
            }
        }
    }

    fn cells(&mut self, plan: &Plan) {
        let count = cells::combinations(plan);
        if count > MOST_CELLS {
            self.add(["factor".into()], format!("{count} combinations are more than can be run; {MOST_CELLS} at most"));
            return;
        }
        let points = u64::from(plan.design.blocks).saturating_add(u64::from(plan.design.warmup));
        if points.saturating_mul(count as u64) > MOST_POINTS {
            let why = format!("{count} cells × {points} are more than {MOST_POINTS} runs; declare fewer blocks");
            self.add(["design".into(), "blocks".into()], why);
        }
        let cells = match cells::cells(plan) {
            Ok(cells) => cells,
            // A policy that is malformed has been told above.
            Err(_) => return,
        };
        if cells.is_empty() {
            self.add(["exclude".into()], "every combination is excluded, so nothing runs");
        }
        for cell in &cells {
            let mut set_by: Vec<(&Tunable, &str)> = Vec::new();
            for (factor, level) in &cell.levels {
                let text = plan.factor(factor).and_then(|factor| factor.levels.get(level));
                let policy: Policy = text.and_then(|text| text.parse().ok()).unwrap_or_default();
                for setting in cell.policy.settings.iter().filter(|setting| policy.settings.contains(setting)) {
                    match set_by.iter().find(|(tunable, by)| **tunable == setting.tunable && by != factor) {
                        Some((tunable, other)) => {
                            let index = plan.factors.iter().position(|one| one.name == *factor).unwrap_or(0);
                            let place = [Step::from("factor"), index.into(), "levels".into(), level.as_str().into()];
                            let why = format!("'{tunable}' is set by the factors '{other}' and '{factor}' at once");
                            if !self.0.iter().any(|problem| problem.why == why) {
                                self.add(place, why);
                            }
                        }
                        None => set_by.push((&setting.tunable, factor)),
                    }
                }
            }
        }
    }

    fn design(&mut self, plan: &Plan) {
        let design = &plan.design;
        let place = |key: &str| [Step::from("design"), key.into()];
        if !(design.alpha > 0.0 && design.alpha < 0.5) {
            self.add(place("alpha"), format!("{} is not between 0 and 0.5; write it like 0.05", design.alpha));
        }
        if !(design.steal_limit > 0.0 && design.steal_limit <= 1.0) {
            let why = format!("{} is no share of the CPU time above 0; write it like 0.3", design.steal_limit);
            self.add(place("steal_limit"), why);
        }
        if !(design.pressure_limit > 0.0 && design.pressure_limit <= 1.0) {
            let why = format!("{} is no share of a second above 0; write it like 0.05", design.pressure_limit);
            self.add(place("pressure_limit"), why);
        }
        if !(design.memory_drift_limit > 0.0 && design.memory_drift_limit <= 1.0) {
            let why = format!("{} is no share of memory above 0; write it like 0.1", design.memory_drift_limit);
            self.add(place("memory_drift_limit"), why);
        }
        if !(design.timeout_seconds > 0.0 && design.timeout_seconds.is_finite()) {
            self.add(place("timeout_seconds"), format!("{} leaves a run no time", design.timeout_seconds));
        }
        let cells = if self.0.is_empty() { cells::cells(plan).map(|cells| cells.len()).unwrap_or(0) } else { return };
        let is_pairs = design.order == OrderKind::Pairs || (design.order == OrderKind::Auto && cells == 2);
        let (blocks, rows) = (design.blocks, williams_rows(cells as u32));
        match design.order {
            OrderKind::Pairs if cells != 2 => {
                self.add(place("order"), format!("pairs need two cells, and there are {cells}; write \"blocks\""));
            }
            OrderKind::Williams if cells < 2 || !blocks.is_multiple_of(rows) => {
                let why =
                    format!("a Williams square of {cells} cells has {rows} rows: blocks must be a multiple of {rows}");
                self.add(place("blocks"), why);
            }
            OrderKind::Williams if has_boot_factor(plan) && !plan.boots_each_point() => {
                self.add(place("order"), "a Williams square would boot before every run; write \"blocks\"");
            }
            _ if is_pairs && blocks < FEWEST_PAIRS => {
                let why = format!(
                    "{blocks} pair{} cannot reach a verdict: both orders must occur twice; use {FEWEST_PAIRS} or more",
                    if blocks == 1 { "" } else { "s" }
                );
                self.add(place("blocks"), why);
            }
            _ if blocks < FEWEST_BLOCKS => {
                let too_few = if blocks == 1 { "1 block gives".to_owned() } else { format!("{blocks} blocks give") };
                let why = format!("{too_few} no interval; use {FEWEST_BLOCKS} or more");
                self.add(place("blocks"), why);
            }
            _ => {}
        }
    }

    fn contrasts(&mut self, plan: &Plan) {
        let factors = || plan.factors.iter().map(|factor| &factor.name);
        for (index, contrast) in plan.contrasts.iter().enumerate() {
            let place = |key: &str| [Step::from("contrast"), index.into(), key.into()];
            if plan.contrasts[..index].iter().any(|earlier| asks_the_same(earlier, contrast)) {
                let why = "this comparison is declared twice, and would share alpha with itself; declare it once";
                self.add(place("factor"), why);
            }
            let Some(factor) = plan.factor(&contrast.factor) else {
                self.add(place("factor"), unknown("factor", &contrast.factor, factors()));
                continue;
            };
            for (key, level) in [("a", &contrast.a), ("b", &contrast.b)] {
                if !factor.levels.contains_key(level) {
                    self.add(place(key), unknown("level", level, factor.levels.keys()));
                }
            }
            if contrast.a == contrast.b {
                self.add(place("b"), format!("'{}' is compared with itself", contrast.a));
            }
            for (at, name) in contrast.by.iter().enumerate() {
                let place = [Step::from("contrast"), index.into(), "by".into(), at.into()];
                if plan.factor(name).is_none() {
                    self.add(place, unknown("factor", name, factors()));
                } else if *name == contrast.factor || moves_with(plan, name, &contrast.factor) {
                    self.add(place, format!("'{name}' moves with '{}' and cannot stay fixed", contrast.factor));
                }
            }
            let Some(interaction) = &contrast.interaction else { continue };
            let place = |key: &str| [Step::from("contrast"), index.into(), "interaction".into(), key.into()];
            let Some(other) = plan.factor(&interaction.factor) else {
                self.add(place("factor"), unknown("factor", &interaction.factor, factors()));
                continue;
            };
            for (key, level) in [("a", &interaction.a), ("b", &interaction.b)] {
                if !other.levels.contains_key(level) {
                    self.add(place(key), unknown("level", level, other.levels.keys()));
                }
            }
            let itself = other.name == contrast.factor || contrast.by.contains(&other.name);
            if interaction.a == interaction.b || itself {
                self.add(
                    place("factor"),
                    "an interaction needs two levels of a factor that is neither compared nor in 'by'",
                );
            }
        }
    }

    fn stopping(&mut self, plan: &Plan) {
        let (stopping, blocks) = (&plan.stopping, plan.design.blocks);
        let place = || [Step::from("stopping"), "interim_analyses".into()];
        if stopping.rule != StoppingRule::OpenEnded && stopping.shortest_at.is_some() {
            let why = "shortest_at is of rule = \"open-ended\"; leave it out, or name that rule";
            self.add(["stopping".into(), "shortest_at".into()], why);
        }
        if stopping.rule == StoppingRule::Fixed {
            if !stopping.interim_analyses.is_empty() || stopping.futility {
                self.add(
                    place(),
                    "rule = \"fixed\" analyses once, at the end; name a spending rule such as \"obrien-fleming\"",
                );
            }
            return;
        }
        if stopping.interim_analyses.len() > MOST_ANALYSES {
            let why = format!(
                "{} interim analyses are more than {MOST_ANALYSES}; plan fewer",
                stopping.interim_analyses.len()
            );
            self.add(place(), why);
        }
        if matches!(plan.design.order, OrderKind::Complete | OrderKind::Nested) {
            let why = "an analysis needs complete blocks; write order = \"blocks\" or \"pairs\"";
            self.add(["design".into(), "order".into()], why);
        }
        if stopping.rule == StoppingRule::OpenEnded {
            self.open_ended(plan);
            return;
        }
        let rises = stopping.interim_analyses.windows(2).all(|pair| pair[0] < pair[1]);
        let ends = stopping.interim_analyses.last().is_none_or(|last| *last == blocks);
        if !rises || !ends || stopping.interim_analyses.first().is_some_and(|first| *first < FEWEST_BLOCKS) {
            let why =
                format!("interim_analyses must rise from {FEWEST_BLOCKS} or more to the {blocks} blocks of the design");
            self.add(place(), why);
        }
    }

    fn open_ended(&mut self, plan: &Plan) {
        let (stopping, blocks) = (&plan.stopping, plan.design.blocks);
        let place = |key: &str| [Step::from("stopping"), key.into()];
        if !stopping.interim_analyses.is_empty() {
            self.add(
                place("interim_analyses"),
                "an open-ended comparison is analysed after every block; leave interim_analyses out",
            );
        }
        if stopping.futility {
            let why = "futility asks what the planned end can still show, and an open-ended comparison plans none; leave it \
                       out";
            self.add(place("futility"), why);
        }
        if !(FEWEST_BLOCKS..=blocks).contains(&plan.shortest_at()) {
            let why = format!(
                "intervals cannot be shortest at {} blocks; write {FEWEST_BLOCKS} to the {blocks} of the design",
                plan.shortest_at()
            );
            self.add(place("shortest_at"), why);
        }
        if plan.claims() == 0 {
            let why = "no [[contrast]] is primary, so nothing would end the trial before its last block";
            self.add(place("rule"), why);
        }
    }

    fn rest(&mut self, plan: &Plan) {
        for (index, rule) in plan.invalidations.iter().enumerate() {
            if rule.above.is_none() && rule.below.is_none() {
                let why = format!("nothing would ever be invalid: give above or below for '{}'", rule.number);
                self.add([Step::from("invalidate"), index.into()], why);
            }
            for (key, limit) in [("above", rule.above), ("below", rule.below)] {
                if limit.is_some_and(|limit| !limit.is_finite()) {
                    self.add([Step::from("invalidate"), index.into(), key.into()], "a limit is a finite number");
                }
            }
            if let (Some(above), Some(below)) = (rule.above, rule.below)
                && above < below
            {
                let why = format!(
                    "every run would be invalid: each '{}' is above {above} or below {below}; to allow what lies between them \
                     write above = {below}, below = {above}",
                    rule.number
                );
                self.add([Step::from("invalidate"), index.into()], why);
            }
        }
        let cost = &plan.cost;
        for (key, text) in [("run", &cost.run), ("around", &cost.around), ("boot", &cost.boot)] {
            if let Some(Err(error)) = text.as_ref().map(|text| text.parse::<Seconds>()) {
                self.add([Step::from("cost"), key.into()], error.to_string());
            }
        }
        let sizes = [
            ("cost", "disk", &cost.disk),
            ("cost", "memory", &cost.memory),
            ("design", "warm_memory", &plan.design.warm_memory),
        ];
        for (table, key, text) in sizes {
            if let Some(Err(error)) = text.as_ref().map(|text| text.parse::<Bytes>()) {
                self.add([Step::from(table), key.into()], error.to_string());
            }
        }
        match cost.cv.as_ref().map(|text| text.parse::<Fraction>()) {
            Some(Err(error)) => self.add([Step::from("cost"), "cv".into()], error.to_string()),
            Some(Ok(Fraction(cv))) if !(SMALLEST_CV..1.0).contains(&cv) => {
                self.add([Step::from("cost"), "cv".into()], "cv is not between 0% and 100%; write it like \"3%\"");
            }
            _ => {}
        }
        // Whether there is room for the data is known only when they are.
        if let (Some(_), Err(error)) = (&plan.data.size, plan.data.image_bytes(0, 0)) {
            self.add(["data".into(), "size".into()], error.to_string());
        }
        self.recording(plan);
    }

    fn recording(&mut self, plan: &Plan) {
        let recording = &plan.recording;
        let place = |key: &str| [Step::from("recording"), key.into()];
        if !(0.0..=20.0).contains(&recording.hz) {
            let why = format!("{} samples a second cannot be recorded; write 0 to 20", recording.hz);
            self.add(place("hz"), why);
        }
        if recording.stacks > 0 && !RATES.contains(&recording.stacks) {
            let (first, last) = (RATES.start(), RATES.end());
            let why = format!(
                "stacks cannot be taken {} times a second; write {first} to {last}, or 0 for none",
                recording.stacks
            );
            self.add(place("stacks"), why);
        }
        if recording.hz == 0.0 && !recording.beside_numbers().is_empty() {
            let why = "hz = 0 records nothing, and so no stacks, stalls or cgroup; write hz = 1, or leave them out";
            self.add(place("hz"), why);
        }
        if recording.cgroup && plan.live.is_some() && plan.workload.run.is_empty() {
            let why = "a live proof without a command has no control group of its own; leave cgroup out";
            self.add(place("cgroup"), why);
        }
    }
}

impl Problems {
    fn live(&mut self, plan: &Plan) {
        let Some(live) = &plan.live else { return };
        for (key, why) in live.problems() {
            self.add(["live".into(), key.into()], why);
        }
        if !plan.is_two_arms() {
            let why = "a live proof compares two policies on one metric in pairs; run anything larger without [live]";
            self.add(["live".into()], why);
        }
        for (index, metric) in plan.metrics.iter().enumerate() {
            if let Err(error) = LiveMetric::parse(metric.place()) {
                let key = if metric.from.is_some() { "from" } else { "name" };
                self.add([Step::from("metric"), index.into(), key.into()], error.to_string());
            }
        }
        let policies: Vec<Policy> = plan
            .factors
            .iter()
            .flat_map(|factor| factor.levels.values())
            .chain(&plan.everywhere)
            .filter_map(|text| text.parse().ok())
            .collect();
        if let Err(error) = switching::tunables(&policies, live.short_lived) {
            self.add(["factor".into()], error.to_string());
        }
    }
}

impl Problems {
    fn lab(&mut self, plan: &Plan) {
        if let Some(lab) = &plan.lab {
            for (key, why) in lab.problems() {
                self.add(["lab".into(), key.into()], why);
            }
        }
        if plan.guests().is_none() {
            return;
        }
        if plan.live.is_some() {
            self.add(
                ["live".into()],
                "a live proof switches this host under what runs on it; leave [live] or the guests' kernels out",
            );
        }
        if plan.data.restore != Restore::None {
            let why = "in a guest every boot begins with the same disk, so nothing has to be restored; leave it out";
            self.add(["data".into(), "restore".into()], why);
        }
        let lacks_kernel = |cell: &cells::Cell| {
            cells::boot_settings(&cell.policy).iter().all(|setting| setting.tunable.name != KERNEL)
        };
        if cells::cells(plan).unwrap_or_default().iter().any(lacks_kernel) {
            let why = "points run in guests, and not every level says which kernel; write everywhere = \"kernel=debian:6.12\", or a \
                       factor whose levels set kernel";
            self.add(["lab".into()], why);
        }
    }
}

/// With fewer blocks a difference has no spread that could be told from anything.
pub const FEWEST_BLOCKS: u32 = 3;

/// Whether some factor can be switched only by a boot.
#[must_use]
pub fn has_boot_factor(plan: &Plan) -> bool {
    plan.factors.iter().any(|factor| cost_of(factor) == CostClass::Boot)
}

/// What switching a factor takes: the dearest of what its levels set.
#[must_use]
pub fn cost_of(factor: &Factor) -> CostClass {
    let policies = factor.levels.values().filter_map(|text| text.parse::<Policy>().ok());
    let costs = policies.flat_map(|policy| policy.settings).map(|setting| setting.tunable.descriptor.cost);
    costs.max().unwrap_or(CostClass::Job)
}

/// Whether two contrasts are one question, whichever of them is called primary.
fn asks_the_same(one: &Contrast, other: &Contrast) -> bool {
    Contrast { primary: other.primary, ..one.clone() } == *other
}

fn moves_with(plan: &Plan, one: &str, other: &str) -> bool {
    let both = |group: &Vec<String>| group.iter().any(|name| name == one) && group.iter().any(|name| name == other);
    plan.zip.iter().any(both)
}

fn unfit_name(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        return Some("is empty");
    }
    if name.contains(char::is_control) || name.contains(SEPARATOR) {
        return Some("has a control character or a '·' in it");
    }
    (name.len() > LONGEST_NAME).then_some("is longer than 200 bytes")
}

/// A policy file (`@…`) is opened by the host crate, which checks the plan again with its contents.
fn unfit_policy(text: &str) -> Option<String> {
    if text.starts_with('@') {
        return None;
    }
    let policy: Policy = match text.parse() {
        Ok(policy) => policy,
        Err(error) => return Some(error.to_string()),
    };
    policy
        .settings
        .iter()
        .find_map(|setting| setting.checked().err().map(|error| format!("{}={}: {error}", setting.name, setting.value)))
}

/// Words that no kernel known to this version lists, with what would set them. The kernel that runs may be newer: whoever can
/// ask it asks it first.
#[must_use]
pub fn unheard_of(plan: &Plan) -> Vec<(Policy, Problem)> {
    let everywhere = plan.everywhere.iter().map(|text| (Place::of(["everywhere".into()]), text));
    let levels = plan.factors.iter().enumerate().flat_map(|(index, factor)| {
        let place = move |level: &str| Place::of(["factor".into(), index.into(), "levels".into(), level.into()]);
        factor.levels.iter().map(move |(level, text)| (place(level), text))
    });
    let mut found = Vec::new();
    for (place, text) in everywhere.chain(levels) {
        for setting in text.parse::<Policy>().unwrap_or_default().settings {
            let (words, value) = (setting.tunable.descriptor.words, setting.canonical().unwrap_or_default());
            if words.is_empty() || words.contains(&value.as_str()) {
                continue;
            }
            let why = format!(
                "{}={}: no kernel up to 6.18 has this word{} (there are: {})",
                setting.name,
                setting.value,
                did_you_mean(&value, words.iter().copied()),
                words.join(", ")
            );
            found.push((Policy { name: None, settings: vec![setting] }, Problem { place: place.clone(), why }));
        }
    }
    found
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n String>) -> String {
    let known: Vec<&String> = known.collect();
    let meant = did_you_mean(name, known.iter().map(|known| known.as_str()));
    let (shown, list) = (name.escape_debug(), list(known.into_iter()));
    if meant.is_empty() {
        format!("there is no {what} '{shown}'; there are: {list}")
    } else {
        format!("there is no {what} '{shown}'{meant} (there are: {list})")
    }
}

fn list<'n>(names: impl Iterator<Item = &'n String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::source;

    const HEAD: &str = "name = 'x'\n";
    const BODY: &str = "[workload]\nname = 'command'\nrun = ['true']\n\
        [[factor]]\nname = 'swap'\nlevels.off = 'env.SWAP=off'\nlevels.on = 'env.SWAP=on'\n\
        [[factor]]\nname = 'load'\nlevels.low = 'env.LOAD=1'\nlevels.mid = 'env.LOAD=2'\nlevels.high = 'env.LOAD=3'\n";

    #[test]
    fn what_cannot_be_run_is_told_with_its_remedy() {
        for (head, tail, wanted) in [
            ("name = '../x'\n", "", "cannot name a folder"),
            ("name = 'x'\nzip = [['swap', 'load']]\n", "", "need the same names"),
            ("name = 'x'\nzip = [['swap', 'lod']]\n", "", "there is no factor 'lod'"),
            (
                HEAD,
                "[[exclude]]\nwhere.swap = 'of'\n",
                "there is no level 'of'; did you mean off? (there are: off, on)",
            ),
            (HEAD, "[[exclude]]\nwhere.swap = ['off', 'on']\n", "every combination is excluded"),
            (HEAD, "[design]\nblocks = 2\n", "give no interval"),
            (HEAD, "[design]\norder = 'pairs'\n", "pairs need two cells"),
            (HEAD, "[design]\norder = 'williams'\nblocks = 10\n", "multiple of 6"),
            (HEAD, "[design]\nalpha = 0.7\n", "between 0 and 0.5"),
            (HEAD, "[design]\nblocks = 40000\n", "declare fewer blocks"),
            (HEAD, "[[contrast]]\nfactor = 'swap'\na = 'off'\nb = 'on'\nby = ['swap']\n", "cannot stay fixed"),
            (HEAD, "[[contrast]]\nfactor = 'swap'\na = 'off'\nb = 'off'\n", "compared with itself"),
            (
                HEAD,
                "[[contrast]]\nfactor = 'swap'\na = 'off'\nb = 'on'\ninteraction = { factor = 'load', a = 'low', b = 'lo' }\n",
                "there is no level 'lo'",
            ),
            (HEAD, "[stopping]\ninterim_analyses = [4, 10]\n", "analyses once, at the end"),
            (HEAD, "[stopping]\nrule = 'pocock'\ninterim_analyses = [4, 9]\n", "must rise"),
            (HEAD, "[stopping]\nrule = 'pocock'\nshortest_at = 9\n", "is of rule = \"open-ended\""),
            (HEAD, "[stopping]\nrule = 'open-ended'\nlooks = [4, 10]\n", "after every block"),
            (HEAD, "[stopping]\nrule = 'open-ended'\nfutility = true\n", "plans none"),
            (HEAD, "[stopping]\nrule = 'open-ended'\nshortest_at = 11\n", "write 3 to the 10"),
            (HEAD, "[stopping]\nrule = 'open-ended'\n", "no [[contrast]] is primary"),
            (HEAD, "[design]\norder = 'complete'\n[stopping]\nrule = 'open-ended'\n", "needs complete blocks"),
            (HEAD, "[[factor]]\nname = 'again'\nlevels.a = 'env.LOAD=9'\n", "'load' and 'again' at once"),
            (HEAD, "[[factor]]\nname = 'bad'\nlevels.a = 'thp.enabeld=never'\n", "did you mean"),
            (HEAD, "[[factor]]\nname = 'bad'\nlevels.a = 'vm.swappiness=lots'\n", "vm.swappiness=lots"),
            (HEAD, "[[invalidate]]\nnumber = 'steal'\nbecause = 'x'\n", "give above or below"),
            (HEAD, "[[invalidate]]\nnumber = 'wall'\nbecause = 'x'\nabove = nan\n", "a finite number"),
            (HEAD, "[[invalidate]]\nnumber = 'wall'\nbecause = 'x'\nbelow = -inf\n", "a finite number"),
            (HEAD, "[[invalidate]]\nnumber = 'wall'\nbecause = 'x'\nabove = 5\nbelow = 10\n", "every run would be"),
            (HEAD, "[cost]\nrun = '20'\n", "90s, 4m30s or 1.5h"),
            (HEAD, "[cost]\naround = '1e300s'\n", "90s, 4m30s or 1.5h"),
            (HEAD, "[cost]\ncv = '1e-200%'\n", "like \"3%\""),
            (HEAD, "[design]\nwarm_memory = 'much'\n", "64M, 4G or 65536"),
            (
                HEAD,
                "[[contrast]]\nfactor = 'swap'\na = 'off'\nb = 'on'\nprimary = true\n\
                 [[contrast]]\nfactor = 'swap'\na = 'off'\nb = 'on'\n",
                "declared twice",
            ),
            (HEAD, "[recording]\nhz = 100\n", "0 to 20"),
            (HEAD, "[recording]\nstacks = 5000\n", "1 to 1000, or 0 for none"),
            (HEAD, "[recording]\nstacks = -1\n", "a whole number, 0 or more, such as 49"),
            (HEAD, "[data]\nsize = 'big'\nrestore = 'image'\n", "is no size"),
            (HEAD, "[data]\nsize = '20G'\nrestore = 'copy'\n", "for restore = \"image\" alone"),
            (HEAD, "[recording]\nhz = 0\nstalls = true\n", "hz = 0 records nothing"),
            (HEAD, "[[metric]]\nname = 'wall'\n[[metric]]\nname = 'wall'\n", "declared twice"),
            (HEAD, "[metric]\nsmallest_effect = '2'\n", "like \"2%\""),
            (HEAD, "[metric]\nname = 'wall'\nfrom = 'regex:a=(1)'\n", "'wall' is a measure of every run"),
            (HEAD, "[metric]\nname = 'score'\nfrom = 'rate:./job'\n", "like \"regex:score=([0-9.]+)\""),
            (HEAD, "[metric]\nname = 'score'\nfrom = 'regex:('\n", "no regular expression"),
        ] {
            let error = source::read(&format!("{head}{BODY}{tail}"), "x.toml").expect_err(tail);
            assert!(error.why.contains(wanted), "{tail}: {error}");
            assert!(error.line > 1 || head != HEAD, "{tail}: {error}");
        }
        assert!(source::read(&format!("{HEAD}{BODY}"), "x.toml").is_ok());
    }

    #[test]
    fn a_command_that_is_missing_or_misspelt_is_told_where_it_should_stand() {
        let plan = |run: &str| format!("{HEAD}{BODY}").replace("run = ['true']", run);
        let missing = source::read(&plan(""), "x.toml").expect_err("no command");
        assert!(missing.line == 2 && missing.why.contains("no command to time"), "{missing}");
        let misspelt = source::read(&plan("rnu = ['true']"), "x.toml").expect_err("no command");
        assert!((misspelt.line, misspelt.column) == (4, 7) && misspelt.why.contains("did you mean run?"), "{misspelt}");
    }

    #[test]
    fn a_word_that_no_kernel_has_is_told_and_those_of_any_kernel_are_not() {
        let plan = |level: &str| {
            let more = format!("[[factor]]\nname = 'thp'\nlevels.a = '{level}'\nlevels.b = 'vm.swappiness=1'\n");
            source::read(&format!("{HEAD}{BODY}{more}"), "x.toml").unwrap_or_else(|error| panic!("{error}"))
        };
        let found = super::unheard_of(&plan("vm.swappiness=2,thp.enabled=nevr"));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].0.to_string(), found[0].1.place.to_string()),
            ("thp.enabled=nevr".into(), "factor[3].levels.a".into())
        );
        assert!(
            found[0].1.why.contains("did you mean never? (there are: always, madvise, never)"),
            "{}",
            found[0].1.why
        );
        for fine in ["thp.defrag=defer+madvise", "mthp[64k].enabled=inherit", "env.X=nevr", "thp.use_zero_page=1"] {
            assert_eq!(super::unheard_of(&plan(fine)), vec![], "{fine}");
        }
    }
}
