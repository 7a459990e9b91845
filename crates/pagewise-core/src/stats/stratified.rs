//! The difference between two samples at equal level of a third thing, and whether that thing is spread evenly over both.
//!
//! Each value is its sample's effect plus its stratum's effect plus noise of one variance: R's
//! `lm(value ~ sample + factor(stratum))`. With two samples the estimate is the mean of the differences within strata,
//! weighted by a·b / (a + b) of the counts, and needs no matrix.
//!
//! Balance is judged on what matters: the effects of the strata, as far as they can push the difference. Were the samples
//! drawn at random from all runs, the difference of the mean effects between them would have a variance that is known
//! exactly (Hansen and Bowers, Statist. Sci. 23 (2008), 219–236; of prognostic scores Hansen, Biometrika 95 (2008),
//! 481–488); its distribution is taken as normal.

use super::{normal, student_t, summary};

/// Values of one stratum: those of a, and those of b.
pub type Stratum = (Vec<f64>, Vec<f64>);

/// The difference of two samples within strata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stratified {
    /// b − a at equal stratum, in the unit of the values.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom: values − strata − 1.
    pub df: f64,
    /// Two-sided p-value of a balance as bad as this, were the samples drawn at random. 1 when the strata have no effect.
    pub balance_p: f64,
}

impl Stratified {
    /// The interval of the difference that covers the truth with probability 1 − `alpha`, low end first.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half_width = student_t::critical_value(alpha, self.df) * self.standard_error;
        (self.difference - half_width, self.difference + half_width)
    }
}

/// The difference within strata. `None` when no stratum has values of both samples, when too few values are left to know
/// the noise, and when there is none.
#[must_use]
pub fn difference(strata: &[Stratum]) -> Option<Stratified> {
    let strata: Vec<OfStratum> = strata.iter().filter_map(OfStratum::of).collect();
    let weight: f64 = strata.iter().map(OfStratum::weight).sum();
    let counts = strata.iter().map(|stratum| stratum.a + stratum.b).sum::<f64>();
    let df = counts - strata.len() as f64 - 1.0;
    if weight <= 0.0 || df < 1.0 {
        return None;
    }
    let difference = strata.iter().map(|stratum| stratum.weight() * stratum.difference()).sum::<f64>() / weight;
    let squares: f64 = strata.iter().map(|stratum| stratum.squares_about(difference)).sum();
    let standard_error = (squares / df / weight).sqrt();
    // As for Welch's test: what is smaller than the roundings of the values is no noise.
    let largest = strata.iter().map(|stratum| stratum.mean_a.abs().max(stratum.mean_b.abs())).fold(0.0, f64::max);
    let has_noise = standard_error > 10.0 * f64::EPSILON * largest;
    (has_noise && standard_error.is_finite()).then(|| Stratified {
        difference,
        standard_error,
        df,
        balance_p: balance_p(&strata, difference),
    })
}

/// Two-sided p-value of the strata's effects being spread over the samples as they are.
fn balance_p(strata: &[OfStratum], difference: f64) -> f64 {
    let effects: Vec<f64> = strata.iter().map(|stratum| stratum.effect(difference)).collect();
    let mean_over = |count: fn(&OfStratum) -> f64| {
        let all: f64 = strata.iter().map(count).sum();
        (strata.iter().zip(&effects).map(|(stratum, effect)| count(stratum) * effect).sum::<f64>() / all, all)
    };
    let ((of_a, a), (of_b, b)) = (mean_over(|stratum| stratum.a), mean_over(|stratum| stratum.b));
    let (of_all, all) = mean_over(|stratum| stratum.a + stratum.b);
    let squares: f64 = strata
        .iter()
        .zip(&effects)
        .map(|(stratum, effect)| (stratum.a + stratum.b) * (effect - of_all) * (effect - of_all))
        .sum();
    let standard_error = (squares / (all - 1.0) * (1.0 / a + 1.0 / b)).sqrt();
    // Even strata are even to the last digit of the effects only.
    let rounding = 10.0 * f64::EPSILON * effects.iter().map(|effect| effect.abs()).fold(0.0, f64::max);
    let away = (of_b - of_a).abs();
    if away <= rounding || standard_error <= rounding { 1.0 } else { 2.0 * normal::upper(away / standard_error) }
}

/// What is needed of a stratum. A mean without values is 0 and counts with weight 0.
struct OfStratum {
    a: f64,
    b: f64,
    mean_a: f64,
    mean_b: f64,
    /// Sum of squares of each value about its sample's mean in the stratum.
    squares: f64,
}

impl OfStratum {
    /// `None` for an empty one.
    fn of((a, b): &Stratum) -> Option<OfStratum> {
        if a.is_empty() && b.is_empty() {
            return None;
        }
        let mean = |values: &[f64]| summary::mean(values).unwrap_or(0.0);
        Some(OfStratum {
            a: a.len() as f64,
            b: b.len() as f64,
            mean_a: mean(a),
            mean_b: mean(b),
            squares: summary::sum_of_squares(a) + summary::sum_of_squares(b),
        })
    }

    fn weight(&self) -> f64 {
        self.a * self.b / (self.a + self.b)
    }

    fn difference(&self) -> f64 {
        self.mean_b - self.mean_a
    }

    /// About the model's values: b is `difference` above a.
    fn squares_about(&self, difference: f64) -> f64 {
        let away = self.difference() - difference;
        self.squares + self.weight() * away * away
    }

    /// What the stratum adds to a value, when b adds `difference`.
    fn effect(&self, difference: f64) -> f64 {
        (self.a * self.mean_a + self.b * (self.mean_b - difference)) / (self.a + self.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::paired;
    use proptest::prelude::*;

    fn stratum(a: &[f64], b: &[f64]) -> Stratum {
        (a.to_vec(), b.to_vec())
    }

    #[test]
    fn two_strata_of_different_height_are_taken_apart() {
        // b is 1 above a at each height; a stands high three times of four, b low.
        let strata = [stratum(&[19.9, 20.0, 20.1], &[21.0]), stratum(&[10.0], &[10.9, 11.0, 11.1])];
        let found = difference(&strata).unwrap();
        assert!((found.difference - 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!(found.df, 5.0);
        // Squares about the means are 0.02 + 0.02, and the weights 3/4 each.
        assert!((found.standard_error - (0.04f64 / 5.0 / 1.5).sqrt()).abs() < 1e-12, "{found:?}");
        let (low, high) = found.interval(0.05);
        assert!(low > 0.7 && high < 1.3, "{low} {high}");
    }

    #[test]
    fn with_two_strata_the_balance_is_the_chi_square_test_with_n_less_one() {
        let flat = |n: usize, height: f64| (0..n).map(|i| height + 0.1 * (i % 3) as f64).collect::<Vec<_>>();
        let strata = [(flat(8, 20.0), flat(2, 20.0)), (flat(2, 10.0), flat(8, 10.0))];
        let found = difference(&strata).unwrap();
        // Pearson's statistic of 8, 2 and 2, 8 is 7.2; of n − 1 it is 6.84.
        let wanted = crate::stats::distribution::chi_square_upper(6.84, 1.0);
        assert!((found.balance_p - wanted).abs() < 1e-9, "{} {wanted}", found.balance_p);
        let even = [(flat(5, 20.0), flat(5, 21.0)), (flat(5, 10.0), flat(5, 11.0))];
        assert_eq!(difference(&even).unwrap().balance_p, 1.0);
    }

    #[test]
    fn what_never_meets_has_no_difference() {
        assert_eq!(difference(&[stratum(&[1.0, 2.0], &[]), stratum(&[], &[3.0, 4.0])]), None);
        assert_eq!(difference(&[]), None);
        assert_eq!(difference(&[stratum(&[1.0], &[2.0]), stratum(&[5.0], &[7.0])]).map(|found| found.df), Some(1.0));
        assert_eq!(difference(&[stratum(&[1.0], &[2.0])]), None, "no value is left to know the noise");
        assert_eq!(difference(&[stratum(&[1.0, 1.0], &[2.0, 2.0])]), None, "there is no noise");
    }

    proptest! {
        #[test]
        fn pairs_are_the_paired_test(pairs in prop::collection::vec((-10.0f64..10.0, -10.0f64..10.0), 3..12)) {
            let strata: Vec<Stratum> = pairs.iter().map(|(a, b)| stratum(&[*a], &[*b])).collect();
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
            let (Some(ours), Some(theirs)) = (difference(&strata), paired::test(&differences, 0.05)) else { return Ok(()) };
            prop_assert!((ours.difference - theirs.difference).abs() < 1e-9);
            prop_assert_eq!(ours.df, theirs.df);
            let (low, high) = ours.interval(0.05);
            prop_assert!((low - theirs.low).abs() < 1e-9 * (1.0 + low.abs()), "{} {}", low, theirs.low);
            prop_assert!((high - theirs.high).abs() < 1e-9 * (1.0 + high.abs()));
        }

        #[test]
        fn what_a_stratum_adds_to_all_of_its_values_does_not_matter(
            values in prop::collection::vec(-1.0f64..1.0, 12),
            heights in prop::collection::vec(-50.0f64..50.0, 3),
        ) {
            let strata = |heights: &[f64]| -> Vec<Stratum> {
                let of = |height: f64, values: &[f64]| values.iter().map(|v| v + height).collect::<Vec<f64>>();
                heights.iter().zip(values.chunks(4)).map(|(h, v)| (of(*h, &v[..1]), of(*h, &v[1..]))).collect()
            };
            let (plain, raised) = (difference(&strata(&[0.0; 3])), difference(&strata(&heights)));
            let (Some(plain), Some(raised)) = (plain, raised) else { return Ok(()) };
            prop_assert!((plain.difference - raised.difference).abs() < 1e-10);
            prop_assert!((plain.standard_error - raised.standard_error).abs() < 1e-10);
        }
    }
}
