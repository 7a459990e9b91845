//! What a careful reader must know before believing a trial. A warning never changes a verdict. It names what was seen, with
//! numbers, and what it means.
//!
//! One list of rules for every kind of trial: each says by itself where its question makes no sense.

use super::compare::Estimated;
use super::values::Values;
use super::{CarryOver, Conclusion, Declared, Design, Warning, carry_over, live, occasion, read_back};
use crate::comparison::doubts::{self, warning};
use crate::comparison::estimate::{self, Estimate};
use crate::comparison::host_change;
use crate::comparison::rule::Reason;
use crate::experiment::plan::{Plan, StoppingRule, lint, numbers};
use crate::experiment::point::{Outcome, Point};
use crate::metric::OTHERS_SHARE;
use crate::stats::leave_one_out::each_left_out;
use crate::stats::summary;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};

/// As many comparisons as a warning names.
const MOST_NAMED: usize = 4;

/// Id of the warning that one block decides a verdict.
pub const ONE_POINT_DECIDES: &str = "one-point-decides";

/// All that apply, in a fixed order: what was run, then what the runs show, then how far the verdicts carry.
pub(super) fn all(
    declared: &Declared<'_>,
    values: &Values<'_>,
    comparisons: &[Estimated],
    carried: Option<&CarryOver>,
) -> Vec<Warning> {
    let trial = Trial { declared, values, comparisons };
    let placed = residuals(declared, values);
    let residuals: Vec<f64> = placed.iter().map(|(_, residual)| *residual).collect();
    let mut found = Vec::new();
    found.extend(live::ended_early(declared, comparisons));
    found.extend(trial.not_positive());
    found.extend(
        declared
            .metrics
            .iter()
            .filter_map(|judged| doubts::direction(&judged.metric.name, &judged.metric.unit, judged.metric.direction)),
    );
    found.extend(trial.incomplete());
    found.extend(told_of_runs(declared, values));
    found.extend(replaced(values));
    found.extend(cut_blocks(declared.plan, values));
    // That a trial makes no claim is what its report begins with.
    for one in lint::lints(declared.plan).into_iter().filter(|one| one.id != "no-primary") {
        found.push(Warning { id: one.id, text: one.text + "." });
    }
    found.extend(numbers::warning(declared.plan, values.points.iter().copied()));
    found.extend(read_back::policy_changes_nothing(declared, values));
    found.extend(occasion::nothing_to_act_on(declared, values));
    found.extend(read_back::levels_differ_in_more(declared, values, comparisons));
    found.extend(read_back::host_changed(declared, values));
    found.extend(others_at_work(declared, values));
    found.extend(trial.claims().filter_map(|one| live::still_changing(declared, values, one)));
    // By the number of the run: a trial knows no better time.
    let in_time: Vec<(f64, f64)> = residuals.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
    found.extend(doubts::drift(&in_time, true, declared.design()));
    found.extend(host_change::told(&residuals, declared.plan.design.seed));
    found.extend(doubts::goes_together(&residuals, declared.design()));
    found.extend(carried.and_then(carry_over::told).and_then(|text| warning("carry-over", text)));
    found.extend(outliers(declared, &placed, &residuals));
    found.extend(bimodal(declared, values));
    if let Some(few) = trial.few_sequences() {
        // The same of the runs that there are, where its lint knew only the plan.
        found.retain(|warning| warning.id != "cannot-reach-alpha");
        found.push(few);
    }
    found.extend(trial.tests_disagree());
    found.extend(trial.noise_against_margin());
    found.extend(trial.one_point_decides());
    found
}

/// So many different texts of one warning are told.
const MOST_TEXTS: usize = 3;

/// What whoever ran the points had to say of them: each thing once, with the runs it is about.
fn told_of_runs(declared: &Declared<'_>, values: &Values<'_>) -> Vec<Warning> {
    let what = if declared.plan.live.is_some() { "block" } else { "run" };
    let mut told: IndexMap<&str, ByText<'_>> = IndexMap::new();
    for point in &values.points {
        for Warning { id, text } in &point.warnings {
            let runs = told.entry(id).or_default().entry(text).or_default();
            let run = point.planned.index + 1;
            if runs.last() != Some(&run) {
                runs.push(run);
            }
        }
    }
    told.into_iter().map(|(id, texts)| Warning { id: id.to_owned(), text: of_runs(what, &texts) }).collect()
}

/// What was said, and of which runs, by their numbers from 1.
type ByText<'p> = IndexMap<&'p str, Vec<u32>>;

fn of_runs(what: &str, texts: &ByText<'_>) -> String {
    let sentence = |(text, runs): (&&str, &Vec<u32>)| {
        let numbers: Vec<String> = runs.iter().take(MOST_NAMED).map(u32::to_string).collect();
        match (numbers.as_slice(), runs.len().saturating_sub(MOST_NAMED)) {
            ([one], _) => format!("Of {what} {one}: {text}"),
            ([some @ .., last], 0) => format!("Of {what}s {} and {last}: {text}", some.join(", ")),
            (some, more) => format!("Of {what}s {} and {more} more: {text}", some.join(", ")),
        }
    };
    let mut told: Vec<String> = texts.iter().take(MOST_TEXTS).map(sentence).collect();
    let others: BTreeSet<u32> = texts.values().skip(MOST_TEXTS).flatten().copied().collect();
    match others.len() {
        0 => {}
        1 => told.push(format!("Of one more {what} something like it.")),
        count => told.push(format!("Of {count} more {what}s something like it.")),
    }
    told.join(" ")
}

/// A trial as the rules look at it.
struct Trial<'a, 'p> {
    declared: &'a Declared<'a>,
    values: &'a Values<'p>,
    comparisons: &'a [Estimated],
}

impl<'a> Trial<'a, '_> {
    /// Comparisons that carry a claim: only of those is it told how far their verdict carries, or a matrix would drown in it.
    fn claims(&self) -> impl Iterator<Item = &'a Estimated> {
        self.comparisons.iter().filter(|one| one.asked.primary)
    }

    fn metric(&self, one: &Estimated) -> &'a str {
        &self.declared.metrics[one.asked.metric].metric.name
    }

    fn margin(&self, one: &Estimated) -> f64 {
        self.declared.metrics[one.asked.metric].margin
    }

    /// " for swap: off → on (wall)", or nothing where a trial has one comparison.
    fn named(&self, told: &[&Estimated]) -> String {
        if self.comparisons.len() == 1 {
            return String::new();
        }
        let name = |one: &&Estimated| format!("{} ({})", one.asked.name, self.metric(one));
        let mut names: Vec<String> = told.iter().take(MOST_NAMED).map(name).collect();
        if told.len() > MOST_NAMED {
            names.push(format!("{} more", told.len() - MOST_NAMED));
        }
        format!(" for {}", names.join("; "))
    }

    /// Whether blocks are pairs, and go by that name.
    fn is_pairs(&self) -> bool {
        self.declared.design() == Design::Pairs
    }

    fn not_positive(&self) -> Option<Warning> {
        let not_positive = |metric: &str| {
            let cells = self.declared.cells.iter();
            cells.flat_map(|cell| self.values.of_cell(&cell.label, metric)).filter(|value| *value <= 0.0).count()
        };
        let metrics = self.declared.metrics.iter().map(|metric| metric.metric.name.as_str());
        doubts::not_positive(&metrics.map(|metric| (not_positive(metric), format!(" of {metric}"))).collect::<Vec<_>>())
    }

    /// Blocks that have not run to their end; of pairs those, too, whose runs did not both end well.
    fn incomplete(&self) -> Option<Warning> {
        let planned = self.values.blocks().len() as u32;
        if self.is_pairs() {
            let complete = self.comparisons.first()?.complete.len() as u32;
            let missing = planned.saturating_sub(complete);
            let metric = self.metric(self.comparisons.first()?);
            let is_good =
                |block: u32| self.declared.cells.iter().all(|cell| self.values.good(block, &cell.label).is_some());
            let lacks = |block: u32| {
                self.declared.cells.iter().any(|cell| self.values.value(block, &cell.label, metric).is_none())
            };
            let without_metric = match self.values.blocks().filter(|block| is_good(*block) && lacks(*block)).count() {
                0 => String::new(),
                count => format!(" In {count} of them {metric} was not measured."),
            };
            let text = format!(
                "{missing} of {planned} pairs have no two good runs to compare and are left out of the \
                 estimate.{without_metric}"
            );
            return warning("incomplete-pairs", text).filter(|_| missing > 0);
        }
        let complete = self.values.complete_blocks();
        let text = format!(
            "{} of {planned} blocks have not run to their end; comparisons use the blocks in which every run they need is \
             good.",
            planned.saturating_sub(complete)
        );
        warning("incomplete-blocks", text).filter(|_| complete < planned)
    }

    /// Claims with a randomisation test that cannot reach their level.
    fn few_sequences(&self) -> Option<Warning> {
        let cannot = |one: &&Estimated| {
            one.estimate.is_ok() && one.randomisation.is_some_and(|found| found.smallest_p > one.level)
        };
        let told: Vec<&Estimated> = self.claims().filter(cannot).collect();
        let first = told.first()?;
        doubts::few_sequences(first.design, first.randomisation?.smallest_p, first.level, &self.named(&told))
    }

    /// Where the t test and the randomisation test fall on different sides of the level.
    fn tests_disagree(&self) -> Option<Warning> {
        let tests = |one: &Estimated| {
            let (estimate, randomised) = (one.estimate.as_ref().ok()?, one.randomisation?);
            let can_reach = randomised.smallest_p <= one.level;
            can_reach.then(|| [("The t test", one.p_of(estimate)), ("the randomisation test", randomised.p)])
        };
        let disagrees = |one: &&Estimated| tests(one).is_some_and(|both| doubts::disagree(both, one.level));
        let told: Vec<&Estimated> = self.comparisons.iter().filter(disagrees).collect();
        if let [one] = told.as_slice() {
            return doubts::tests_disagree(tests(one)?, one.level, &self.named(&told));
        }
        let text = format!(
            "The t test and the randomisation test fall on different sides of their level{}: take the verdict as a close call.",
            self.named(&told)
        );
        warning("tests-disagree", text).filter(|_| !told.is_empty())
    }

    /// An interval so wide that a difference of the margin is lost in it.
    fn noise_against_margin(&self) -> Option<Warning> {
        let too_wide = |one: &Estimated| {
            let (low, high) = one.interval(one.estimate.as_ref().ok()?, one.level);
            // Where the interval excludes no difference the noise did not stand in the way.
            let is_lost = (high - low) / 2.0 > libm::log1p(self.margin(one)) && low <= 0.0 && high >= 0.0;
            is_lost.then_some((low, high))
        };
        let told: Vec<&Estimated> = self.claims().filter(|one| too_wide(one).is_some()).collect();
        let first = told.first()?;
        let (low, high) = too_wide(first)?;
        let text = format!(
            "The interval{} goes from {:.1} % less to {:.1} % more, and your margin is {}: in this noise a difference of that size can hardly be \
             told from none.",
            self.named(&told),
            -libm::expm1(low) * 100.0,
            libm::expm1(high) * 100.0,
            crate::comparison::words::percent(self.margin(first))
        );
        warning("noise-against-margin", text)
    }

    /// Claims whose verdict is another one without one of their blocks. A trial that ends as soon as it is decided always has such
    /// a block, its last.
    fn one_point_decides(&self) -> Option<Warning> {
        if self.declared.plan.stopping.rule != StoppingRule::Fixed {
            return None;
        }
        let deciding = |one: &'a Estimated| -> Option<(&'a Estimated, u32, Conclusion, usize)> {
            let concluded = one.concluded(self.declared);
            // Of a mixed model no single block can be left out: its runs hang together by boots.
            let can_tell = matches!(concluded.reason, Reason::Effect | Reason::NotDecided);
            if !can_tell || one.design == Design::MixedModel {
                return None;
            }
            let word = |estimate: &Estimate| one.by_effect(self.declared, estimate).word;
            let without_one = each_left_out(&one.differences).filter_map(|(left_out, others)| {
                let word = word(&estimate::within(one.design, &others).ok()?);
                (word != concluded.word).then_some((left_out, word))
            });
            let without_one: Vec<(usize, Conclusion)> = without_one.collect();
            let (first, word) = *without_one.first()?;
            Some((one, one.differences.get(first)?.block + 1, word, without_one.len()))
        };
        let told: Vec<_> = self.claims().filter_map(deciding).collect();
        let (what, several) = if self.is_pairs() { ("pair", "pairs") } else { ("block", "blocks") };
        let sentence = |(one, block, word, count): &(&Estimated, u32, Conclusion, usize)| {
            let others = match count {
                1 => String::new(),
                2 => format!(" The same holds for one other {what}."),
                count => format!(" The same holds for {} other {several}.", count - 1),
            };
            format!("Without {what} {block} the verdict{} would be {}.{others}", self.named(&[*one]), word.word())
        };
        let mut text: Vec<String> = told.iter().take(MOST_NAMED).map(sentence).collect();
        if told.len() > MOST_NAMED {
            text.push(format!("So it is with {} more comparisons.", told.len() - MOST_NAMED));
        }
        warning(ONE_POINT_DECIDES, text.join(" ")).filter(|_| !told.is_empty())
    }
}

fn replaced(values: &Values<'_>) -> Option<Warning> {
    let is_replaced = |point: &&&Point| !point.planned.is_warmup() && point.outcome == Outcome::Invalid;
    let invalid: Vec<&&Point> = values.points.iter().filter(is_replaced).collect();
    let reason = invalid.first()?.reason.as_deref().unwrap_or("no reason recorded");
    let text = match invalid.len() {
        1 => format!("One run was invalid and does not count: {reason}."),
        count => format!("{count} runs were invalid and do not count; the first: {reason}."),
    };
    warning("attempts-replaced", text)
}

/// A block that holds runs of two boots, or in which Pagewise ended, is less of a block than it should be.
fn cut_blocks(plan: &Plan, values: &Values<'_>) -> Option<Warning> {
    let boots_each_point = plan.boots_each_point();
    let mut boots: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    let mut cut: BTreeSet<u32> = BTreeSet::new();
    for point in &values.points {
        let Some(block) = point.planned.block else { continue };
        if point.planned.boot.is_none() && !boots_each_point && point.outcome != Outcome::Invalid {
            boots.entry(block).or_default().insert(&point.boot_id);
        }
        // As the engine words a kill, and Ctrl-C.
        let ended = |reason: &str| reason.starts_with("Pagewise ended") || reason == "interrupted";
        if point.reason.as_deref().is_some_and(ended) {
            cut.insert(block);
        }
    }
    cut.extend(boots.iter().filter(|(_, ids)| ids.len() > 1).map(|(block, _)| *block));
    if cut.is_empty() {
        return None;
    }
    let blocks: Vec<String> = cut.iter().map(|block| (block + 1).to_string()).collect();
    let (what, whose) = if blocks.len() == 1 { ("block", "its") } else { ("the blocks", "their") };
    let text = format!(
        "A pause or a boot cut {what} {}: {whose} runs are further apart in time than those of other blocks.",
        blocks.join(", ")
    );
    warning("cut-blocks", text)
}

/// ln(value) of every good run of the first metric less its cell's mean, in run order, with the cell.
fn residuals<'p>(declared: &Declared<'_>, values: &Values<'p>) -> Vec<(&'p str, f64)> {
    let Some(metric) = declared.metrics.first().map(|metric| metric.metric.name.as_str()) else { return Vec::new() };
    let log = |point: &Point| point.measures.get(metric).copied().filter(|v| *v > 0.0 && v.is_finite()).map(libm::log);
    let means: BTreeMap<&str, f64> = declared
        .cells
        .iter()
        .filter_map(|cell| {
            let logs: Vec<f64> =
                values.blocks().filter_map(|block| values.good(block, &cell.label).and_then(log)).collect();
            Some((cell.label.as_str(), summary::mean(&logs)?))
        })
        .collect();
    let residual = |point: &'p Point| {
        let cell = point.planned.cell.as_str();
        Some((cell, log(point)? - means.get(cell)?))
    };
    let good = values.in_run_order().into_iter().filter(|point| point.outcome == Outcome::Ok);
    good.filter_map(residual).collect()
}

/// From this share of all CPU time on, which others had in user mode while runs went on, it is told. Ours.
const OTHERS_AT_WORK: f64 = 0.1;

/// The gate looks at who waits for memory and disks, and not at who computes.
fn others_at_work(declared: &Declared<'_>, values: &Values<'_>) -> Option<Warning> {
    let mean = |label: &str| summary::mean(&values.of_cell(label, OTHERS_SHARE));
    let cells = declared.cells.iter().filter_map(|cell| Some((cell.label.as_str(), mean(&cell.label)?)));
    let shares: Vec<(&str, f64)> = cells.collect();
    let most = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    if most < OTHERS_AT_WORK {
        return None;
    }
    let of = |(label, share): &(&str, f64)| format!("{:.0} % under `{label}`", share * 100.0);
    let named: Vec<String> = shares.iter().take(MOST_NAMED).map(of).collect();
    let text = format!(
        "Programs other than the job took a part of this host's CPU time while runs went on: {}. The answer is that of a host so shared.",
        named.join(", ")
    );
    warning("others-at-work", text)
}

/// Runs far from their cell, counted by cell.
fn outliers(declared: &Declared<'_>, placed: &[(&str, f64)], residuals: &[f64]) -> Option<Warning> {
    doubts::outliers(residuals, |places| {
        let of = |cell: &str, all: &mut dyn Iterator<Item = &str>| all.filter(|one| *one == cell).count();
        let far = |cell: &str| of(cell, &mut places.iter().map(|place| placed[*place].0));
        let all = |cell: &str| of(cell, &mut placed.iter().map(|(cell, _)| *cell));
        let cells = declared.cells.iter().map(|cell| cell.label.as_str());
        let told = cells.filter(|cell| far(cell) > 0);
        told.map(|cell| format!("{} of {} in '{cell}'", far(cell), all(cell))).collect()
    })
}

fn bimodal(declared: &Declared<'_>, values: &Values<'_>) -> Option<Warning> {
    let metric = &declared.metrics.first()?.metric.name;
    let logs = |label: &str| {
        let positive = values.of_cell(label, metric).into_iter().filter(|value| *value > 0.0);
        positive.map(libm::log).collect()
    };
    let cells = declared.cells.iter().map(|cell| (cell.label.as_str(), logs(&cell.label)));
    doubts::bimodal(cells, declared.plan.design.seed, &|_| None)
}
