//! A study beside the plan it came from: which contrast a comparison belongs to, and which cells it holds for.

use super::Report;
use crate::experiment::analysis::{Comparison, ContrastInCell, JudgedMetric, asked};
use crate::experiment::plan::Contrast;
use crate::experiment::plan::cells::{Cell, cells};
use crate::report::printable::printable;

/// The tunable whose values say what state memory was in.
const MEMORY_STATE: &str = "memory_state";

/// A report with what its plan says about every comparison.
pub(super) struct Frame<'r> {
    pub(super) report: &'r Report,
    cells: Vec<Cell>,
    asked: Vec<ContrastInCell>,
}

/// A comparison with what was asked.
#[derive(Clone, Copy)]
pub(super) struct PlacedComparison<'r> {
    pub(super) comparison: &'r Comparison,
    /// `None` when the plan no longer asks for it.
    pub(super) asked: Option<&'r ContrastInCell>,
}

/// The comparisons of one contrast on one metric.
pub(super) struct Group<'r> {
    pub(super) first: PlacedComparison<'r>,
    pub(super) members: Vec<PlacedComparison<'r>>,
}

impl<'r> Frame<'r> {
    pub(super) fn of(report: &'r Report) -> Frame<'r> {
        // A plan whose cells cannot be made was never run; without them the report says less, and stays right.
        let cells = cells(&report.plan).unwrap_or_default();
        let asked = asked(&report.plan, &cells);
        Frame { report, cells, asked }
    }

    /// Every comparison in the order of the plan.
    pub(super) fn placed(&self) -> Vec<PlacedComparison<'_>> {
        let metric =
            |asked: &ContrastInCell| self.report.plan.metrics.get(asked.metric).map(|metric| metric.name.as_str());
        let placed = |(place, comparison): (usize, &'r Comparison)| {
            let fits =
                |asked: &&ContrastInCell| asked.name == comparison.name && metric(asked) == Some(&comparison.metric);
            let asked = self.asked.get(place).filter(fits);
            PlacedComparison { comparison, asked }
        };
        self.report.analysis.comparisons.iter().enumerate().map(placed).collect()
    }

    /// Comparisons that are wanted, those of a contrast and a metric together.
    pub(super) fn groups(&self, wanted: impl Fn(&Comparison) -> bool) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for placed in self.placed().into_iter().filter(|placed| wanted(placed.comparison)) {
            let of_group = |group: &&mut Group<'_>| self.together(&group.first, &placed);
            match groups.iter_mut().find(of_group) {
                Some(group) => group.members.push(placed),
                None => groups.push(Group { first: placed, members: vec![placed] }),
            }
        }
        groups
    }

    fn together(&self, one: &PlacedComparison<'_>, other: &PlacedComparison<'_>) -> bool {
        let key = |placed: &PlacedComparison<'_>| {
            let c = placed.comparison;
            let by: Vec<&String> = c.by.keys().collect();
            let contrast = placed.asked.map(|asked| asked.contrast);
            (contrast, format!("{:?}", (&c.factor, &c.a, &c.b, &c.interaction, by, &c.metric)))
        };
        key(one) == key(other)
    }

    /// The metric the trial is for.
    pub(super) fn first_metric(&self) -> &str {
        self.report.analysis.metrics.first().map_or("", |metric| &metric.metric.name)
    }

    /// The metric of a comparison.
    pub(super) fn metric(&self, comparison: &Comparison) -> Option<&JudgedMetric> {
        self.report.analysis.metrics.iter().find(|metric| metric.metric.name == comparison.metric)
    }

    pub(super) fn contrast(&self, placed: &PlacedComparison<'_>) -> Option<&Contrast> {
        self.report.plan.contrasts.get(placed.asked?.contrast)
    }

    /// What a comparison holds for beside the levels it is compared at: what is averaged, what moves along, and the state
    /// memory was in. Empty when there is nothing to say.
    pub(super) fn holds(&self, placed: &PlacedComparison<'_>) -> String {
        let (Some(asked), Some(contrast)) = (placed.asked, self.contrast(placed)) else { return String::new() };
        let of_sign = |sign: f64| -> Vec<&Cell> {
            let labels = || asked.groups.iter().filter(|(own, _)| *own == sign).flat_map(|(_, labels)| labels);
            self.cells.iter().filter(|cell| labels().any(|label| *label == cell.label)).collect()
        };
        let (base, judged) = (of_sign(-1.0), of_sign(1.0));
        let interacting = contrast.interaction.as_ref().map(|other| other.factor.as_str());
        let mut said = Vec::new();
        for factor in &self.report.plan.factors {
            let named = factor.name == contrast.factor || interacting == Some(factor.name.as_str());
            if named || placed.comparison.by.contains_key(&factor.name) {
                continue;
            }
            let of_base = levels(&base, &factor.name);
            let of_judged = levels(&judged, &factor.name);
            let text = match (of_base.as_slice(), of_judged.as_slice()) {
                (one, other) if one != other => {
                    format!("{} moves along ({} → {})", factor.name, of_base.join(", "), of_judged.join(", "))
                }
                ([only], _) => format!("{} is {only}", factor.name),
                (several, _) => format!("averaged over {} ({})", factor.name, several.join(", ")),
            };
            said.push(text);
        }
        said.extend(self.memory_state(base.iter().chain(&judged).copied()));
        printable(&said.join("; "))
    }

    fn memory_state<'c>(&self, cells: impl Iterator<Item = &'c Cell>) -> Option<String> {
        let state = |cell: &'c Cell| {
            let setting = cell.policy.settings.iter().rfind(|setting| setting.tunable.name == MEMORY_STATE);
            setting.map(|setting| &setting.value)
        };
        let states = distinct(cells.filter_map(state));
        (!states.is_empty()).then(|| format!("{} memory", states.join(" and ")))
    }
}

/// The levels of a factor that these cells have.
fn levels<'c>(cells: &[&'c Cell], factor: &str) -> Vec<&'c str> {
    distinct(cells.iter().filter_map(|cell| cell.levels.get(factor)))
}

/// Each once, in the order of the first.
fn distinct<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<&'t str> {
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        if !seen.contains(&text.as_str()) {
            seen.push(text);
        }
    }
    seen
}
