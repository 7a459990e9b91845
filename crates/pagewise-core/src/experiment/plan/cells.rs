//! The cells of a plan: the combinations of levels that run, each with the one policy its levels add up to.

use super::Plan;
use crate::tunable::policy::{Policy, PolicyError, Setting};
use crate::tunable::{self, CostClass};
use indexmap::IndexMap;

/// Between the level names of a label.
pub const SEPARATOR: &str = "·";

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its levels' names in the order of the factors, joined by [`SEPARATOR`]. With one factor the level's own name.
    pub label: String,
    /// Factor name to level name, in the order of the factors.
    pub levels: IndexMap<String, String>,
    /// What its levels set, put together in the order of the factors.
    pub policy: Policy,
}

impl Cell {
    /// Whether the cell has this level of this factor.
    #[must_use]
    pub fn has(&self, factor: &str, level: &str) -> bool {
        self.levels.get(factor).is_some_and(|own| own == level)
    }
}

/// The cells that run, in the order of the plan: the last factor changes fastest. Zipped factors move together, excluded
/// combinations are left out.
///
/// # Errors
/// When a level's policy is malformed. What else can be wrong with a plan is the business of [`super::check`]; here it
/// only makes fewer cells.
pub fn cells(plan: &Plan) -> Result<Vec<Cell>, PolicyError> {
    let mut combinations: Vec<IndexMap<String, String>> = vec![IndexMap::new()];
    for factor in &plan.factors {
        let mut longer = Vec::with_capacity(combinations.len() * factor.levels.len());
        for combination in &combinations {
            let zipped = zipped_level(plan, &factor.name, combination);
            for level in factor.levels.keys().filter(|level| zipped.is_none_or(|fixed| fixed == *level)) {
                let mut next = combination.clone();
                next.insert(factor.name.clone(), level.clone());
                longer.push(next);
            }
        }
        combinations = longer;
    }
    combinations.retain(|levels| !is_excluded(plan, levels));
    combinations.into_iter().map(|levels| cell(plan, levels)).collect()
}

/// How many combinations there are before anything is excluded. Says so without making them.
#[must_use]
pub fn combinations(plan: &Plan) -> u128 {
    let follows = |name: &str| {
        let group = plan.zip.iter().find(|group| group.iter().any(|member| member == name));
        group.is_some_and(|group| {
            let first = plan.factors.iter().find(|factor| group.contains(&factor.name));
            first.is_some_and(|first| first.name != name)
        })
    };
    let free = plan.factors.iter().filter(|factor| !follows(&factor.name));
    free.map(|factor| factor.levels.len() as u128).fold(1, u128::saturating_mul)
}

/// The level that a factor must have because one it is zipped with has been chosen.
fn zipped_level<'c>(plan: &Plan, factor: &str, chosen: &'c IndexMap<String, String>) -> Option<&'c String> {
    let group = plan.zip.iter().find(|group| group.iter().any(|member| member == factor))?;
    group.iter().find_map(|member| chosen.get(member))
}

fn is_excluded(plan: &Plan, levels: &IndexMap<String, String>) -> bool {
    plan.excludes.iter().any(|exclude| {
        let meets = |(factor, wanted): (&String, &super::Levels)| {
            levels.get(factor).is_some_and(|level| wanted.names().any(|name| name == level))
        };
        !exclude.conditions.is_empty() && exclude.conditions.iter().all(meets)
    })
}

fn cell(plan: &Plan, levels: IndexMap<String, String>) -> Result<Cell, PolicyError> {
    let mut settings: Vec<Setting> = Vec::new();
    for (factor, level) in &levels {
        let text = plan.factor(factor).and_then(|factor| factor.levels.get(level));
        // A policy file is opened by the host crate before a plan comes here.
        settings.extend(text.map_or("now", String::as_str).parse::<Policy>()?.settings);
    }
    if let Some(text) = &plan.everywhere {
        let mut rest = text.parse::<Policy>()?.settings;
        rest.retain(|setting| settings.iter().all(|own| own.tunable != setting.tunable));
        settings.splice(0..0, rest);
    }
    let names: Vec<&str> = levels.values().map(String::as_str).collect();
    Ok(Cell { label: names.join(SEPARATOR), levels, policy: Policy { name: None, settings } })
}

/// The one spelling of a tunable's name that counts; a name that is none stays as it is.
pub(super) fn canonical_name(name: &str) -> String {
    tunable::find(name).map_or_else(|_| name.to_owned(), |found| found.name)
}

/// What of this cell's settings takes a boot.
#[must_use]
pub fn boot_settings(policy: &Policy) -> Vec<&Setting> {
    policy.settings.iter().filter(|setting| setting.tunable.descriptor.cost == CostClass::Boot).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn labels(text: &str) -> Vec<String> {
        let plan = source::read(&format!("name = 'x'\n{text}"), "x.toml").unwrap_or_else(|error| panic!("{error}"));
        cells(&plan).unwrap().into_iter().map(|cell| cell.label).collect()
    }

    const FACTORS: &str = "[workload]\nname = 'command'\nrun = ['true']\n\
        [[factor]]\nname = 'swap'\nlevels.off = 'env.SWAP=off'\nlevels.on = 'env.SWAP=on'\n\
        [[factor]]\nname = 'load'\nlevels.low = 'env.LOAD=1'\nlevels.high = 'env.LOAD=2'\n";

    #[test]
    fn cells_are_every_combination_in_the_order_written() {
        assert_eq!(labels(FACTORS), ["off·low", "off·high", "on·low", "on·high"]);
    }

    #[test]
    fn zipped_factors_take_the_level_of_the_same_name() {
        let heap = "[[factor]]\nname = 'heap'\nlevels.on = 'env.HEAP=22'\nlevels.off = 'env.HEAP=20'\n";
        let zipped = labels(&format!("zip = [['swap', 'heap']]\n{FACTORS}{heap}"));
        assert_eq!(zipped, ["off·low·off", "off·high·off", "on·low·on", "on·high·on"]);
    }

    #[test]
    fn excluded_combinations_do_not_run() {
        let exclude = "[[exclude]]\nwhere.swap = 'off'\nwhere.load = ['high']\n";
        assert_eq!(labels(&format!("{FACTORS}{exclude}")), ["off·low", "on·low", "on·high"]);
    }

    #[test]
    fn a_cell_sets_what_its_levels_set() {
        let plan = source::read(&format!("name = 'x'\n{FACTORS}"), "x.toml").unwrap();
        assert_eq!(cells(&plan).unwrap()[3].policy.to_string(), "env.SWAP=on,env.LOAD=2");
        assert_eq!(combinations(&plan), 4);
        let everywhere = format!("name = 'x'\neverywhere = 'vm.swappiness=1,env.LOAD=9'\n{FACTORS}");
        let plan = source::read(&everywhere, "x.toml").unwrap();
        assert_eq!(cells(&plan).unwrap()[3].policy.to_string(), "vm.swappiness=1,env.SWAP=on,env.LOAD=2");
    }
}
