//! Mann and Whitney's test (Wilcoxon's rank sum): does a value of a tend to be larger than one of b?
//!
//! Only the order of the values counts, so that neither outliers nor the shape of the noise matter. Source: Mann and
//! Whitney, Ann. Math. Statist. 18 (1947), 50–60. Without ties and below 50 values an arm the p-value is counted out;
//! with ties it is up to 8 values an arm, by the shift algorithm of Streitberg and Röhmel (Statistical Software
//! Newsletter 12 (1986), 10–17). Otherwise it is the normal approximation of R's `wilcox.test(exact = FALSE)`.

use super::normal;
use super::rank_distribution::{Counts, FEWEST_APPROXIMATE, for_each_tie_group};

/// Up to so many values an arm, ties are counted out.
const MOST_WITH_TIES: usize = 8;

/// The statistic and its two-sided p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs of a value of a and one of b in which that of a is larger; a tie counts half. R prints it as W.
    pub u: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Whether the p-value was counted out rather than approximated.
    pub exact: bool,
}

/// Tests that neither arm tends to larger values. `None` without values in both arms, or with one that is no number.
#[must_use]
pub fn test(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    let ranks = Ranks::of(a, b)?;
    let (m, n) = (ranks.m, ranks.n);
    if ranks.tied == 0.0 && m.max(n) < FEWEST_APPROXIMATE {
        // Without ties the doubled sum of ranks is even and U a whole number.
        let u = ranks.doubled_sum / 2 - m * (m + 1) / 2;
        return Some(MannWhitney { u: u as f64, p: Counts::of_two_samples(m, n).two_sided_p(u), exact: true });
    }
    if m.max(n) <= MOST_WITH_TIES {
        return Some(MannWhitney { u: ranks.u(), p: ranks.p_by_shifting(), exact: true });
    }
    Some(ranks.approximate())
}

/// The normal approximation, corrected for ties and continuity, whatever the size of the arms. `None` as in [`test`].
#[must_use]
pub fn approximate(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    Some(Ranks::of(a, b)?.approximate())
}

/// Ranks are doubled, so that the middle rank of a tie is a whole number, too.
struct Ranks {
    m: usize,
    n: usize,
    /// Of every value of both arms.
    doubled: Vec<usize>,
    /// Of the values of a.
    doubled_sum: usize,
    /// Σ t³ − t over the groups of t equal values.
    tied: f64,
}

impl Ranks {
    fn of(a: &[f64], b: &[f64]) -> Option<Ranks> {
        if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
            return None;
        }
        let of_arm = |is_a: bool| move |value: &f64| (*value, is_a);
        let mut values: Vec<(f64, bool)> = a.iter().map(of_arm(true)).chain(b.iter().map(of_arm(false))).collect();
        let mut doubled = Vec::with_capacity(values.len());
        let (mut doubled_sum, mut tied) = (0, 0.0);
        for_each_tie_group(&mut values, |first, last, group| {
            let of_a = group.iter().filter(|(_, is_a)| *is_a).count();
            doubled_sum += of_a * (first + last);
            doubled.extend(std::iter::repeat_n(first + last, group.len()));
            let size = group.len() as f64;
            tied += size * size * size - size;
        });
        Some(Ranks { m: a.len(), n: b.len(), doubled, doubled_sum, tied })
    }

    fn u(&self) -> f64 {
        (self.doubled_sum - self.m * (self.m + 1)) as f64 / 2.0
    }

    /// How often `m` of all ranks, drawn at random, add up to a sum as far from its expectation as the one seen.
    fn p_by_shifting(&self) -> f64 {
        let largest: usize = self.doubled.iter().sum();
        // ways[taken][sum]: adding a value shifts the counts by its rank.
        let mut ways = vec![vec![0_u32; largest + 1]; self.m + 1];
        ways[0][0] = 1;
        let mut so_far = 0;
        for (seen, rank) in self.doubled.iter().enumerate() {
            so_far += rank;
            for taken in (1..=self.m.min(seen + 1)).rev() {
                let (fewer, more) = ways.split_at_mut(taken);
                let without = &fewer[taken - 1][..=so_far - rank];
                more[0][*rank..=so_far].iter_mut().zip(without).for_each(|(ways, shifted)| *ways += shifted);
            }
        }
        let expected = self.m * (self.m + self.n + 1);
        let distance = self.doubled_sum.abs_diff(expected);
        let all: u32 = ways[self.m].iter().sum();
        let as_far = ways[self.m].iter().enumerate().filter(|(sum, _)| sum.abs_diff(expected) >= distance);
        f64::from(as_far.map(|(_, ways)| ways).sum::<u32>()) / f64::from(all)
    }

    fn approximate(&self) -> MannWhitney {
        let (m, n, u) = (self.m as f64, self.n as f64, self.u());
        let distance = (u - m * n / 2.0).abs();
        let variance = m * n / 12.0 * ((m + n + 1.0) - self.tied / ((m + n) * (m + n - 1.0)));
        // R's correction moves U half a step towards its expectation, and not at all where it is there already.
        let p = if variance > 0.0 && distance > 0.0 {
            (2.0 * normal::upper((distance - 0.5) / variance.sqrt())).min(1.0)
        } else {
            1.0
        };
        MannWhitney { u, p, exact: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Placental permeability, from the help page of R's `wilcox.test` (Hollander and Wolfe 1973, p. 69).
    const AT_TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLIER: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn the_permeability_data_of_r_s_help_page_give_w_35() {
        let found = test(&AT_TERM, &EARLIER).unwrap();
        assert_eq!((found.u, format!("{:.4}", found.p), found.exact), (35.0, "0.2544".into(), true));
    }

    #[test]
    fn the_ozone_of_may_and_august_is_r_s_with_its_ties() {
        // airquality$Ozone without the missing values.
        let may = [
            41.0, 36.0, 12.0, 18.0, 28.0, 23.0, 19.0, 8.0, 7.0, 16.0, 11.0, 14.0, 18.0, 14.0, 34.0, 6.0, 30.0, 11.0,
            1.0, 11.0, 4.0, 32.0, 23.0, 45.0, 115.0, 37.0,
        ];
        let august = [
            39.0, 9.0, 16.0, 78.0, 35.0, 66.0, 122.0, 89.0, 110.0, 44.0, 28.0, 65.0, 22.0, 59.0, 23.0, 31.0, 44.0,
            21.0, 9.0, 45.0, 168.0, 73.0, 76.0, 118.0, 84.0, 85.0,
        ];
        let found = test(&may, &august).unwrap();
        assert_eq!((found.u, format!("{:.7}", found.p), found.exact), (127.5, "0.0001208".into(), false));
    }

    #[test]
    fn with_ties_the_p_value_is_that_of_every_way_to_share_out_the_values() {
        for (a, b) in [
            (vec![1.0, 2.0, 2.0, 5.0], vec![2.0, 3.0, 5.0]),
            (vec![4.0, 4.0, 4.0], vec![4.0, 4.0, 9.0, 9.0, 10.0]),
            (vec![1.0; 8], vec![1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 1.0, 7.0]),
            (vec![5.0; 3], vec![5.0; 6]),
        ] {
            let found = test(&a, &b).unwrap();
            assert!(found.exact);
            assert!((found.p - by_enumeration(&a, &b)).abs() < 1e-14, "{a:?} {b:?}: {found:?}");
        }
    }

    /// Straight from the definition: U of every choice of as many values as a has.
    fn by_enumeration(a: &[f64], b: &[f64]) -> f64 {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let u = |choice: u32| -> f64 {
            let of = |chosen: bool| (0..all.len()).filter(move |i| (choice >> i & 1 == 1) == chosen);
            let score = |x: f64, y: f64| {
                if x > y {
                    1.0
                } else if x == y {
                    0.5
                } else {
                    0.0
                }
            };
            of(true).map(|i| of(false).map(|j| score(all[i], all[j])).sum::<f64>()).sum()
        };
        let expected = (a.len() * b.len()) as f64 / 2.0;
        let seen = (u((1 << a.len()) - 1) - expected).abs();
        let (mut as_far, mut choices) = (0.0, 0.0);
        for choice in (0_u32..1 << all.len()).filter(|choice| choice.count_ones() as usize == a.len()) {
            choices += 1.0;
            as_far += f64::from((u(choice) - expected).abs() >= seen);
        }
        as_far / choices
    }

    #[test]
    fn what_has_no_order_has_no_test_and_what_is_all_equal_no_evidence() {
        assert_eq!(test(&[], &[1.0]), None);
        assert_eq!(test(&[f64::NAN], &[1.0]), None);
        assert_eq!(test(&[2.0; 20], &[2.0; 20]).unwrap().p, 1.0);
        assert_eq!(test(&[-0.0; 2], &[0.0; 3]).unwrap().u, 3.0);
        assert_eq!(test(&[1.0], &[f64::INFINITY]).unwrap().p, 1.0);
    }

    fn small() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0u8..12).prop_map(f64::from), 1..6)
    }

    fn any_size() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0u16..200).prop_map(f64::from), 1..60)
    }

    proptest! {
        #[test]
        fn small_samples_agree_with_enumeration(a in small(), b in small()) {
            prop_assert!((test(&a, &b).unwrap().p - by_enumeration(&a, &b)).abs() < 1e-13);
        }

        #[test]
        fn swapping_the_arms_keeps_p_and_turns_u_round(a in any_size(), b in any_size()) {
            let (ab, ba) = (test(&a, &b).unwrap(), test(&b, &a).unwrap());
            prop_assert!((ab.p - ba.p).abs() < 1e-13);
            prop_assert_eq!(ab.u + ba.u, (a.len() * b.len()) as f64);
        }

        #[test]
        fn only_the_order_of_the_values_counts(a in any_size(), b in any_size()) {
            let bent = |values: &[f64]| values.iter().rev().map(|v| v * v * 1e-300).collect::<Vec<f64>>();
            prop_assert_eq!(test(&bent(&a), &bent(&b)), test(&a, &b));
        }
    }
}
