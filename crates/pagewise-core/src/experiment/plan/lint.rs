//! What a careful experimenter would not do. A lint is a warning: the trial can be run, but its answer would be less than
//! it seems.

use super::cells::{Cell, canonical_name, cells};
use super::check::cost_of;
use super::{Contrast, Factor, OrderKind, Plan, StoppingRule};
use crate::comparison::words::p_value;
use crate::stats::randomisation;
use crate::tunable::CostClass;
use crate::tunable::policy::{Policy, Setting};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A weakness of a plan, with a stable id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lint {
    /// Which one: `levels-differ-in-more`, `duplicate-cells`, `unused-cell`, `no-contrast`, `no-primary`, `too-few-boots`,
    /// `cannot-reach-alpha`, `nested-order`, `unknown-number`, `turned-round`; from a host also `changes-nothing`, `out-of-reach`,
    /// `not-possible-here`, `too-large-here`.
    pub id: String,
    /// What it means here and what would be better.
    pub text: String,
}

fn lint(id: &str, text: String) -> Lint {
    Lint { id: id.to_owned(), text }
}

/// Every weakness that shows without a host, in the order of the plan.
#[must_use]
pub fn lints(plan: &Plan) -> Vec<Lint> {
    let cells = cells(plan).unwrap_or_default();
    let mut found = Vec::new();
    found.extend(nested_order(plan));
    found.extend(plan.contrasts.iter().filter_map(|contrast| differ_in_more(plan, contrast)));
    found.extend(duplicates(&cells));
    found.extend(unused(plan, &cells));
    found.extend(no_primary(plan));
    found.extend(too_few_boots(plan));
    found.extend(cannot_reach_alpha(plan, &cells));
    found.dedup();
    found
}

fn nested_order(plan: &Plan) -> Option<Lint> {
    (plan.design.order == OrderKind::Nested).then(|| {
        let text = "order = \"nested\" runs cell after cell, so that every difference between cells is also one between \
                    early and late: under a drift of 2 SD such a trial calls a difference where there is none more often \
                    than not. Leave `order` away"
            .to_owned();
        lint("nested-order", text)
    })
}

/// The confound of the seed: a heap that changes together with swap.
fn differ_in_more(plan: &Plan, contrast: &Contrast) -> Option<Lint> {
    let factor = plan.factor(&contrast.factor)?;
    let moving: Vec<&Factor> = plan.factors.iter().filter(|other| moves_along(plan, factor, other)).collect();
    let policy_at = |level: &str| -> Option<Policy> {
        let mut settings = Vec::new();
        for factor in &moving {
            settings.extend(factor.levels.get(level)?.parse::<Policy>().ok()?.settings);
        }
        Some(Policy { name: None, settings })
    };
    let (a, b) = (policy_at(&contrast.a)?, policy_at(&contrast.b)?);
    let declared: BTreeSet<String> =
        moving.iter().flat_map(|factor| &factor.also).map(|name| canonical_name(name)).collect();
    let differing = differing(&a, &b);
    let undeclared: Vec<&String> = differing.iter().filter(|name| !declared.contains(*name)).collect();
    if undeclared.len() < 2 {
        return None;
    }
    let names: Vec<&str> = undeclared.iter().map(|name| name.as_str()).collect();
    let text = format!(
        "'{}' and '{}' of '{}' differ in {}: whichever of them makes a difference, this trial cannot tell. Make them \
         factors of their own, or list what belongs together in `also`",
        contrast.a,
        contrast.b,
        contrast.factor,
        names.join(" and in ")
    );
    Some(lint("levels-differ-in-more", text))
}

fn moves_along(plan: &Plan, factor: &Factor, other: &Factor) -> bool {
    let together = |group: &Vec<String>| group.contains(&factor.name) && group.contains(&other.name);
    other.name == factor.name || plan.zip.iter().any(together)
}

/// Tunables, by their canonical names, that two policies set differently, or that only one sets.
#[must_use]
pub fn differing(a: &Policy, b: &Policy) -> Vec<String> {
    let (a, b) = (canonical(a), canonical(b));
    let mut names: Vec<String> = Vec::new();
    for (name, value) in a.iter().chain(&b) {
        let same = a.contains(&(name.clone(), value.clone())) && b.contains(&(name.clone(), value.clone()));
        if !same && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Names and values in the one spelling that counts.
fn canonical(policy: &Policy) -> Vec<(String, String)> {
    let one = |setting: &Setting| {
        (setting.tunable.name.clone(), setting.canonical().unwrap_or_else(|_| setting.value.clone()))
    };
    policy.settings.iter().map(one).collect()
}

fn duplicates(cells: &[Cell]) -> Vec<Lint> {
    let key = |cell: &Cell| -> BTreeSet<(String, String)> { canonical(&cell.policy).into_iter().collect() };
    let mut found = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        if let Some(first) = cells[..index].iter().find(|first| key(first) == key(cell)) {
            let text = format!(
                "the cells '{}' and '{}' set the same: a difference between them is noise",
                first.label, cell.label
            );
            found.push(lint("duplicate-cells", text));
        }
    }
    found
}

fn unused(plan: &Plan, cells: &[Cell]) -> Vec<Lint> {
    if plan.contrasts.is_empty() {
        let text = "no [[contrast]] is declared, so nothing is compared; what is compared only afterwards is no test";
        return vec![lint("no-contrast", text.to_owned())];
    }
    let is_used = |cell: &Cell| {
        plan.contrasts.iter().any(|contrast| {
            let in_contrast = cell.has(&contrast.factor, &contrast.a) || cell.has(&contrast.factor, &contrast.b);
            let in_interaction = contrast.interaction.as_ref().is_none_or(|interaction| {
                cell.has(&interaction.factor, &interaction.a) || cell.has(&interaction.factor, &interaction.b)
            });
            in_contrast && in_interaction
        })
    };
    let unused: Vec<&str> = cells.iter().filter(|cell| !is_used(cell)).map(|cell| cell.label.as_str()).collect();
    if unused.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "no contrast uses {}: {} runs whose time is spent for nothing. Exclude them, or declare what they are for",
        unused.iter().map(|label| format!("'{label}'")).collect::<Vec<_>>().join(", "),
        unused.len() * plan.design.blocks as usize
    );
    vec![lint("unused-cell", text)]
}

/// A trial of two levels that asks one thing is for that thing; any other has to say what it is for.
fn no_primary(plan: &Plan) -> Option<Lint> {
    let is_silent = !plan.contrasts.is_empty() && plan.contrasts.iter().all(|contrast| !contrast.primary);
    (is_silent && !plan.is_two_arms()).then(|| {
        let text =
            "no contrast is primary, so the trial makes no claim: nothing it sees is adjusted for the number of \
                    comparisons, and no analysis ends it early. Write primary = true in the [[contrast]] that it is for"
                .to_owned();
        lint("no-primary", text)
    })
}

/// With fewer boots a level's boots may all be odd ones. Our own bound, that of the pairs.
const FEWEST_BOOTS: u32 = 4;

fn too_few_boots(plan: &Plan) -> Option<Lint> {
    let is_boot =
        |contrast: &&Contrast| plan.factor(&contrast.factor).is_some_and(|factor| cost_of(factor) == CostClass::Boot);
    let contrast = plan.contrasts.iter().find(is_boot)?;
    let nested = plan.design.order == OrderKind::Nested;
    let boots = if nested { 1 } else { plan.design.blocks };
    (boots < FEWEST_BOOTS).then(|| {
        let text = format!(
            "a claim about '{}' rests on {boots} boot{} of each level, and boots differ by themselves (memory layout, \
             page colouring, device ageing): use {FEWEST_BOOTS} blocks or more",
            contrast.factor,
            if boots == 1 { "" } else { "s" }
        );
        lint("too-few-boots", text)
    })
}

/// The smallest p that the randomisation test over the design can reach, against what a primary comparison must reach.
/// So few blocks that the randomisation test has no say, whatever their values will be.
#[must_use]
pub fn cannot_reach_alpha(plan: &Plan, cells: &[Cell]) -> Option<Lint> {
    let blocks = plan.design.blocks;
    // An open-ended trial has no randomisation test: none allows for an analysis after every block.
    if plan.stopping.rule == StoppingRule::OpenEnded {
        return None;
    }
    let primaries = plan.claims();
    let needed = plan.design.alpha / primaries.max(1) as f64;
    // For pairs the orders are balanced, and fewer.
    let (what, smallest, fewest) = if cells.len() == 2 {
        ("pairs", randomisation::smallest_attainable_p(blocks as usize), randomisation::fewest_pairs(needed))
    } else {
        ("blocks", randomisation::smallest_p_of_blocks(blocks), randomisation::fewest_blocks(needed))
    };
    (smallest > needed).then(|| {
        let text = format!(
            "with {blocks} {what} the randomisation test cannot go below p = {}, and {} at alpha = {}: the \
             verdict rests on the t interval alone, which assumes normal noise. From {fewest} {what} on it has a say",
            p_value(smallest),
            if primaries > 1 {
                format!("{primaries} primary comparisons share alpha, the first of them needs {}", p_value(needed))
            } else {
                "it must".to_owned()
            },
            plan.design.alpha
        );
        lint("cannot-reach-alpha", text)
    })
}

/// How many comparisons a contrast makes: one for each combination of the levels it compares one by one.
#[must_use]
pub fn comparisons_of(contrast: &Contrast, cells: &[Cell]) -> usize {
    let key = |cell: &Cell| -> Vec<String> {
        contrast.by.iter().filter_map(|factor| cell.levels.get(factor).cloned()).collect()
    };
    cells.iter().map(key).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn ids(text: &str) -> Vec<(String, String)> {
        let plan = source::read(text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
        lints(&plan).into_iter().map(|lint| (lint.id, lint.text)).collect()
    }

    const HEAD: &str = "[workload]\nname = 'command'\nrun = ['true']\n";
    const CONTRAST: &str = "[[contrast]]\nfactor = 'swap'\na = 'off'\nb = 'on'\n";

    #[test]
    fn the_heap_that_changes_with_swap_is_named() {
        let confounded = format!(
            "name = 'x'\n{HEAD}[[factor]]\nname = 'swap'\nlevels.off = 'swap=off,env.HADOOP_HEAPSIZE_MAX=20G'\n\
             levels.on = 'swap=file:64G,env.HADOOP_HEAPSIZE_MAX=22G'\n{CONTRAST}"
        );
        let found = ids(&confounded);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "levels-differ-in-more");
        assert!(found[0].1.contains("swap and in env.HADOOP_HEAPSIZE_MAX"), "{}", found[0].1);
        let declared = confounded.replace("name = 'swap'\n", "name = 'swap'\nalso = ['env.HADOOP_HEAPSIZE_MAX']\n");
        assert_eq!(ids(&declared), vec![]);
    }

    #[test]
    fn a_confound_by_zip_is_one_too() {
        let zipped = format!(
            "name = 'x'\nzip = [['swap', 'heap']]\n{HEAD}[[factor]]\nname = 'swap'\nlevels.off = 'swap=off'\n\
             levels.on = 'swap=file:64G'\n[[factor]]\nname = 'heap'\nlevels.off = 'env.H=20'\nlevels.on = 'env.H=22'\n{CONTRAST}"
        );
        assert_eq!(ids(&zipped)[0].0, "levels-differ-in-more");
    }

    #[test]
    fn cells_without_a_use_or_twice_are_told() {
        let twice = format!(
            "name = 'x'\n{HEAD}[[factor]]\nname = 'swap'\nlevels.off = 'env.A=1,env.B=2'\nlevels.on = 'env.B=2,env.A=1'\n\
             levels.rest = 'env.A=3'\n{CONTRAST}"
        );
        let found: Vec<String> = ids(&twice).into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, ["duplicate-cells", "unused-cell", "no-primary"]);
    }

    #[test]
    fn a_trial_that_claims_nothing_is_told_unless_it_can_be_for_one_thing_only() {
        let factor = |name: &str| {
            format!("[[factor]]\nname = '{name}'\nlevels.off = 'env.{name}=1'\nlevels.on = 'env.{name}=2'\n")
        };
        let two_arms = format!("name = 'x'\n{HEAD}{}{CONTRAST}", factor("swap"));
        assert_eq!(ids(&two_arms), vec![]);
        let matrix = format!("name = 'x'\n{HEAD}{}{}{CONTRAST}", factor("swap"), factor("load"));
        assert_eq!(ids(&matrix)[0].0, "no-primary");
        assert_eq!(ids(&format!("{matrix}primary = true\n")), vec![]);
    }

    #[test]
    fn few_blocks_and_many_claims_are_told() {
        let many = |blocks: u32| {
            format!(
                "name = 'x'\n{HEAD}[[factor]]\nname = 'swap'\nlevels.off = 'env.A=1'\nlevels.on = 'env.A=2'\n\
                 [[factor]]\nname = 'load'\nlevels.low = 'env.L=1'\nlevels.high = 'env.L=2'\n[design]\nblocks = {blocks}\n\
                 {CONTRAST}by = ['load']\nprimary = true\n"
            )
        };
        let (id, text) = ids(&many(6)).remove(0);
        assert_eq!(id, "cannot-reach-alpha");
        assert!(text.contains("cannot go below p = 0.031") && text.contains("the first of them needs 0.025"), "{text}");
        assert_eq!(ids(&many(10)), vec![]);
    }

    #[test]
    fn nested_loops_are_told() {
        let nested = format!(
            "name = 'x'\n{HEAD}[design]\norder = 'nested'\n[[factor]]\nname = 'swap'\nlevels.off = 'env.A=1'\nlevels.on = 'env.A=2'\n{CONTRAST}"
        );
        assert_eq!(ids(&nested)[0].0, "nested-order");
    }
}
