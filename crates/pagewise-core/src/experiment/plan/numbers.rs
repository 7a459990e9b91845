//! The numbers a plan asks for: its metrics, and those its `[[invalidate]]` rules guard. Before a run: which of them nobody
//! knows. After some runs: which of them no run had.

use super::lint::Lint;
use super::{Metric, Plan};
use crate::experiment::analysis::Warning;
use crate::experiment::number_pattern;
use crate::experiment::own_measure::{self, OwnMeasure};
use crate::experiment::point::{Outcome, Point};
use crate::metric::{self, MEASURES};
use crate::spelling::{did_you_mean, nearest};
use std::collections::BTreeSet;

/// Whoever reports a number of its own writes it there, so that an unknown name may be right.
const UNLESS: &str = "Unless the job itself reports such a number in $PAGEWISE_METRICS";

/// Of every run, and of the workload.
fn measures(own: &[OwnMeasure]) -> impl Iterator<Item = &str> {
    MEASURES.iter().map(|measure| measure.name).chain(own.iter().map(|measure| measure.name))
}

fn is_measure(name: &str, own: &[OwnMeasure]) -> bool {
    measures(own).any(|known| known == name)
}

/// As the end of a sentence.
fn or_stop(meant: String) -> String {
    if meant.is_empty() { ".".to_owned() } else { meant }
}

/// Names that no measure and no counter has, and metrics that are compared the wrong way round. `own` are the measures of the
/// plan's workload. `counters` are the names in `/proc/vmstat` of the host that will run the plan; `None`
/// when it is another one, and then only what looks like a slip is told.
#[must_use]
pub fn lints(plan: &Plan, own: &[OwnMeasure], counters: Option<&BTreeSet<String>>) -> Vec<Lint> {
    // A live proof has numbers of its own, and says itself which.
    if plan.live.is_some() {
        return Vec::new();
    }
    let of_metrics = plan.metrics.iter().filter_map(|metric| unknown_metric(plan, metric, own, counters));
    let of_rules = plan.invalidations.iter().filter_map(|rule| unguarded(plan, &rule.number, own, counters));
    let lint = |text| Lint { id: "unknown-number".to_owned(), text };
    let turned = own_measure::turned_round(plan, own);
    of_metrics.chain(of_rules).map(lint).chain(turned).collect()
}

fn unknown_metric(
    plan: &Plan,
    metric: &Metric,
    own: &[OwnMeasure],
    counters: Option<&BTreeSet<String>>,
) -> Option<String> {
    let name = metric.name.as_str();
    if is_measure(name, own) || number_pattern::of_metric(metric.place()).is_some() {
        return None;
    }
    if counters.is_some_and(|counters| counters.contains(name)) {
        return Some(format!(
            "'{name}' is a counter of the kernel, and a metric is a measure of the run{}: counters stand beside every claim \
             by themselves, and [[invalidate]] takes them",
            nearest(name, measures(own)).map(|meant| format!(", such as {meant}")).unwrap_or_default()
        ));
    }
    let meant = did_you_mean(name, measures(own));
    // What a command reports has any name.
    (!meant.is_empty() || plan.workload.name != "command")
        .then(|| format!("there is no measure '{}'{} {UNLESS}, no run has it", name.escape_debug(), or_stop(meant)))
}

fn unguarded(plan: &Plan, name: &str, own: &[OwnMeasure], counters: Option<&BTreeSet<String>>) -> Option<String> {
    let is_metric = plan.metrics.iter().any(|metric| metric.name == name);
    if is_measure(name, own) || is_metric {
        return None;
    }
    let is_there = counters.is_some_and(|counters| counters.contains(name));
    let shown = name.escape_debug();
    if metric::vmstat_is_level(name) && (is_there || counters.is_none()) {
        return Some(format!("'{shown}' is a level in /proc/vmstat and does not grow: this rule never acts"));
    }
    if is_there {
        return None;
    }
    let known = counters.into_iter().flatten().map(String::as_str).filter(|name| !metric::vmstat_is_level(name));
    let metrics = plan.metrics.iter().map(|metric| metric.name.as_str());
    let meant = did_you_mean(name, known.chain(measures(own)).chain(metrics));
    let here = if counters.is_some() { "no counter of this kernel" } else { "no counter" };
    (!meant.is_empty() || counters.is_some()).then(|| {
        let meant = or_stop(meant);
        format!("no measure of a run and {here} is called '{shown}'{meant} {UNLESS}, this rule never acts")
    })
}

/// What no run had so far, in sentences: a metric without a value, a rule that could not act. Empty before the first good run.
#[must_use]
pub fn missing<'p>(plan: &Plan, points: impl IntoIterator<Item = &'p Point>) -> Vec<String> {
    let measured: Vec<&Point> = points.into_iter().filter(|point| !point.measures.is_empty()).collect();
    let good: Vec<&Point> = measured.iter().copied().filter(|point| point.outcome == Outcome::Ok).collect();
    if good.is_empty() {
        return Vec::new();
    }
    let reported: BTreeSet<&str> =
        measured.iter().flat_map(|point| point.measures.keys()).map(String::as_str).collect();
    let counted: BTreeSet<&str> = measured.iter().flat_map(|point| point.counters.keys()).map(String::as_str).collect();
    let has_none = |metric: &&Metric| !good.iter().any(|point| point.measures.contains_key(&metric.name));
    let of_metrics = plan.metrics.iter().filter(has_none).map(|metric| {
        let name = metric.name.as_str();
        let why = good.iter().find_map(|point| point.absent.get(name)).map(|why| format!(" ({why})"));
        let meant = did_you_mean(name, reported.iter().copied());
        format!("No run had the metric '{}'{}{meant}", name.escape_debug(), why.unwrap_or_default())
    });
    let unguarded = |name: &&str| !reported.contains(name) && !counted.contains(name);
    let of_rules = plan.invalidations.iter().map(|rule| rule.number.as_str()).filter(unguarded).map(|name| {
        let meant = did_you_mean(name, reported.iter().chain(&counted).copied());
        format!("No run had the number '{}', so [[invalidate]] could not act on it{meant}", name.escape_debug())
    });
    of_metrics.chain(of_rules).collect()
}

/// The same as a warning of an analysis: a slip in the plan, or a job that reports less than it was taken to.
#[must_use]
pub fn warning<'p>(plan: &Plan, points: impl IntoIterator<Item = &'p Point>) -> Option<Warning> {
    let told = missing(plan, points).into_iter().map(|text| if text.ends_with('?') { text } else { text + "." });
    let text = told.collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| Warning { id: "no-such-number".to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;
    use crate::experiment::point::PlannedPoint;
    use crate::metric::Direction;
    use std::collections::BTreeMap;

    fn plan(more: &str) -> Plan {
        let text = format!(
            "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\n\
             levels.b = 'env.K=2'\n{more}"
        );
        source::read(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    const OWN: [OwnMeasure; 1] =
        [OwnMeasure { name: "rows_per_second", unit: "rows/s", direction: Direction::Higher, meaning: "rows sorted" }];

    fn told(more: &str) -> Vec<String> {
        let counters = BTreeSet::from(["oom_kill", "pgmajfault", "nr_free_pages"].map(str::to_owned));
        lints(&plan(more), &OWN, Some(&counters)).into_iter().map(|lint| lint.text).collect()
    }

    #[test]
    fn a_slip_in_the_name_of_a_number_is_told_before_a_run_with_what_was_meant() {
        let guard = |name: &str| format!("[[invalidate]]\nnumber = '{name}'\nabove = 0\nbecause = 'x'\n");
        for (more, wanted) in [
            (guard("oom_kills"), "is called 'oom_kills'; did you mean oom_kill? Unless the job itself"),
            (guard("entropy"), "is called 'entropy'. Unless the job itself"),
            (guard("nr_free_pages"), "does not grow"),
            ("[metric]\nname = 'minor_fault'\n".to_owned(), "'minor_fault'; did you mean minor_faults?"),
            ("[metric]\nname = 'pgmajfault'\n".to_owned(), "is a counter of the kernel"),
        ] {
            let found = told(&more);
            assert!(found.len() == 1 && found[0].contains(wanted), "{more}: {found:?}");
        }
        let rate = "[metric]\nname = 'rate'\ndirection = 'higher'\n".to_owned();
        for fine in [guard("oom_kill"), guard("wall"), rate + &guard("rate")] {
            assert_eq!(told(&fine), Vec::<String>::new(), "{fine}");
        }
    }

    #[test]
    fn a_measure_of_the_workload_is_known_and_so_is_which_way_is_better() {
        let metric = |name: &str, more: &str| format!("[metric]\nname = '{name}'\n{more}");
        let higher = "direction = 'higher'\n";
        assert_eq!(told(&metric("rows_per_second", higher)), Vec::<String>::new());
        for (name, more, wanted) in [
            ("rows_per_seconds", higher, "did you mean rows_per_second?"),
            ("rows_per_second", "", "of rows_per_second more is better"),
            ("wall", higher, "of wall less is better"),
            ("throughput", "", "reads like something of which more is better"),
            ("regex:(\\d+) MB/s", "", "reads like something of which more is better"),
        ] {
            let found = told(&metric(name, more));
            assert!(found.len() == 1 && found[0].contains(wanted), "{name}: {found:?}");
        }
    }

    #[test]
    fn of_another_host_only_slips_are_told() {
        let guard = |name: &str| plan(&format!("[[invalidate]]\nnumber = '{name}'\nabove = 0\nbecause = 'x'\n"));
        assert_eq!(lints(&guard("pgscan_of_tomorrow"), &OWN, None), vec![]);
        assert_eq!(lints(&guard("majorfaults"), &OWN, None).len(), 1);
    }

    fn point(outcome: Outcome, measures: &[&str], counters: &[&str]) -> Point {
        Point {
            planned: PlannedPoint { index: 0, block: Some(0), position: 0, boot: None, cell: "a".to_owned() },
            attempt: 1,
            outcome,
            reason: None,
            started_at: String::new(),
            measures: measures.iter().map(|name| ((*name).to_owned(), 1.0)).collect(),
            absent: BTreeMap::new(),
            custom_units: BTreeMap::new(),
            counters: counters.iter().map(|name| ((*name).to_owned(), 1)).collect(),
            applied: Vec::new(),
            boot_id: String::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn what_no_run_had_is_told_once_there_was_one() {
        let plan = plan(
            "[[metric]]\nname = 'wall'\n[[metric]]\nname = 'rat'\n\
             [[invalidate]]\nnumber = 'oom_kills'\nabove = 0\nbecause = 'x'\n",
        );
        assert_eq!(missing(&plan, &[]), Vec::<String>::new());
        assert_eq!(missing(&plan, &[point(Outcome::Failed, &["wall"], &[])]), Vec::<String>::new());
        let told = missing(&plan, &[point(Outcome::Ok, &["wall", "rate"], &["oom_kill"])]);
        assert_eq!(
            told,
            [
                "No run had the metric 'rat'; did you mean rate?",
                "No run had the number 'oom_kills', so [[invalidate]] could not act on it; did you mean oom_kill?"
            ]
        );
        let all = [point(Outcome::Ok, &["wall"], &[]), point(Outcome::Ok, &["wall", "rat"], &["oom_kills"])];
        assert_eq!(missing(&plan, &all), Vec::<String>::new());
        let invalidated =
            [point(Outcome::Ok, &["wall", "rat"], &[]), point(Outcome::Invalid, &["wall"], &["oom_kills"])];
        assert_eq!(missing(&plan, &invalidated), Vec::<String>::new(), "a rule that acted is no rule that could not");
    }
}
