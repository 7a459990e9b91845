//! What tests that kill Pagewise share: dice that can be thrown again, and every tunable before and after.

use pagewise_core::tunable::find;
use pagewise_host::root::Root;
use pagewise_host::tunable;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A small generator (splitmix64: Steele, Lea and Flood, OOPSLA 2014), so that a run can be repeated from its seed.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number from 0 up to, but not including, `bound`; 0 when that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

/// Tunable to value.
pub type Values = BTreeMap<String, String>;

/// Every tunable of this host that can be read.
#[must_use]
pub fn all_tunables() -> Values {
    let listed = tunable::list(&Root::live()).into_iter();
    listed.filter_map(|listed| Some((listed.name, listed.value?.ok()?))).collect()
}

/// A line for each tunable that is not what it was; empty when all are.
#[must_use]
pub fn differences(before: &Values, after: &Values) -> String {
    let mut text = String::new();
    for (name, value) in before {
        let now = after.get(name).map_or("absent", String::as_str);
        let is_as_before = find(name).map_or(value == now, |tunable| tunable.same(value, now));
        if !is_as_before {
            let _ = writeln!(text, "  {name}: was {value}, is {now}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_numbers() {
        let throws = |seed| (0..4).map(|_| Dice(seed).below(6)).collect::<Vec<_>>();
        assert_eq!(throws(7), throws(7));
        let mut dice = Dice(7);
        let many: std::collections::BTreeSet<u64> = (0..200).map(|_| dice.below(6)).collect();
        assert_eq!(many, (0..6).collect());
        assert_eq!(dice.below(0), 0);
    }

    #[test]
    fn a_value_that_differs_and_one_that_is_gone_are_told_and_another_spelling_is_not() {
        let values = |pairs: &[(&str, &str)]| -> Values {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let before = values(&[("vm.swappiness", "60"), ("vm.page-cluster", "3")]);
        assert_eq!(differences(&before, &before), "");
        let told = differences(&before, &values(&[("vm.swappiness", "1")]));
        assert!(
            told.contains("vm.swappiness: was 60, is 1") && told.contains("vm.page-cluster: was 3, is absent"),
            "{told}"
        );
    }
}
