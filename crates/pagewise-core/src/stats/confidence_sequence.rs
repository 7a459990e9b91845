//! A confidence sequence: intervals that hold at all times at once, however often one looks and whenever one stops.
//!
//! For open-ended comparisons, where no number of pairs is planned. The evidence against a value θ is the likelihood
//! ratio of "the standardised effect is normal with variance g" against "it is zero", on the t statistics alone, whose
//! joint distribution is free of the unknown spread. It is a martingale that starts at 1 when θ is true, so by Ville's
//! inequality it ever reaches 1/α with probability of at most α. The interval at any time is the set of θ whose
//! evidence is still below 1/α; it is exact for normal data with unknown variance:
//!
//! E = (1 + n g)^(−1/2) · [(1 + t²/ν) / (1 + t²/(ν (1 + n g)))]^((ν + 1)/2).
//!
//! Sources: Lindon, Ham, Tingley and Bojinov, arXiv:2210.08589 (linear models); Wang and Ramdas, arXiv:2310.03722; Lai,
//! Ann. Statist. 4 (1976), 265–280.

use super::{student_t, summary};

/// A sequence of intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceSequence {
    /// The chance that any of the intervals, ever, misses the truth.
    pub alpha: f64,
    /// g: the variance of the effects, in squared standard deviations of an observation, that the sequence is tuned to.
    /// Any value above 0 is valid; small ones make late intervals short, large ones early ones.
    pub effect_variance: f64,
}

impl ConfidenceSequence {
    /// The sequence whose interval after so many observations is shortest.
    #[must_use]
    pub fn shortest_at(alpha: f64, observations: u32) -> ConfidenceSequence {
        let n = f64::from(observations.max(3));
        let at = |log_g: f64| ConfidenceSequence { alpha, effect_variance: libm::exp(log_g) };
        let width = |log_g: f64| at(log_g).critical_t(n - 1.0, n);
        // The width has one minimum; far from it the interval may be infinite on both sides, so a scan brackets it
        // first.
        let scanned = (-160..=100).map(|step| f64::from(step) / 10.0);
        let start = scanned.min_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap_or(0.0);
        let (mut low, mut high) = (start - 0.1, start + 0.1);
        for _ in 0..40 {
            let third = (high - low) / 3.0;
            if width(low + third) < width(high - third) { high -= third } else { low += third }
        }
        at(f64::midpoint(low, high))
    }

    /// The interval of the mean of what is in so far, low end first. `None` without two finite values. Infinite while
    /// there are too few values for any statement.
    #[must_use]
    pub fn interval(&self, values: &[f64]) -> Option<(f64, f64)> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = values.len() as f64;
        let (mean, sd) = (summary::mean(values)?, summary::standard_deviation(values)?);
        Some(self.around(mean, sd / n.sqrt(), n - 1.0, n))
    }

    /// The interval of a coefficient of a linear model: its estimate, standard error, residual degrees of freedom, and
    /// its information, which is the residual variance over the squared standard error (for a mean, the number of
    /// values).
    #[must_use]
    pub fn around(&self, estimate: f64, standard_error: f64, df: f64, information: f64) -> (f64, f64) {
        let critical = self.critical_t(df, information);
        let half_width = if critical.is_infinite() { critical } else { critical * standard_error };
        (estimate - half_width, estimate + half_width)
    }

    /// The evidence against zero: how many times likelier the t statistic has become if there is an effect.
    ///
    /// One over it is a p-value that holds however often one looks: it is at most `alpha` exactly when the interval excludes
    /// zero.
    #[must_use]
    pub fn evidence(&self, t: f64, df: f64, information: f64) -> f64 {
        let spread = 1.0 + information * self.effect_variance;
        let square = t * t;
        // Data without scatter: the limit for t without bound.
        let ratio = if square.is_infinite() {
            libm::log(spread)
        } else {
            libm::log1p(square / df) - libm::log1p(square / (df * spread))
        };
        libm::exp((df + 1.0) / 2.0 * ratio - libm::log(spread) / 2.0)
    }

    /// The two-sided p that a t test must reach here for the interval to exclude zero. 0 while nothing can.
    #[must_use]
    pub fn nominal_p(&self, df: f64, information: f64) -> f64 {
        let critical = self.critical_t(df, information);
        if critical.is_finite() { student_t::two_sided_p(critical, df) } else { 0.0 }
    }

    /// The fewest observations whose interval is finite. `lost_df` of them are taken by what is estimated beside the spread: 1
    /// by the mean alone.
    #[must_use]
    pub fn fewest(&self, lost_df: u32) -> u32 {
        let says_something = |count: &u32| self.critical_t(f64::from(count - lost_df), f64::from(*count)).is_finite();
        // The condition is (1 + n g)^ν > 1/α²: it is met some day, whatever g above 0 is.
        (lost_df + 1..u32::MAX).find(says_something).unwrap_or(u32::MAX)
    }

    /// The |t| at which the evidence is 1/α. Infinite when no t has as much.
    fn critical_t(&self, df: f64, information: f64) -> f64 {
        let spread = 1.0 + information * self.effect_variance;
        // The bracket's value at E = 1/α, less one; solved for t².
        let bracket = libm::expm1(2.0 / (df + 1.0) * (libm::log(spread) / 2.0 - libm::log(self.alpha)));
        let room = 1.0 - (bracket + 1.0) / spread;
        if room > 0.0 { (df * bracket / room).sqrt() } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    fn sequence() -> ConfidenceSequence {
        ConfidenceSequence::shortest_at(0.05, 30)
    }

    #[test]
    fn the_interval_ends_where_the_evidence_is_one_over_alpha() {
        let values = [0.3, -0.1, 0.5, 0.9, 0.2, 0.4, 0.1, 0.7];
        let (low, high) = sequence().interval(&values).unwrap();
        let (mean, sd) = (summary::mean(&values).unwrap(), summary::standard_deviation(&values).unwrap());
        for end in [low, high] {
            let t = (mean - end) / (sd / 8.0_f64.sqrt());
            assert!((sequence().evidence(t, 7.0, 8.0) - 20.0).abs() < 1e-9);
        }
    }

    #[test]
    fn all_intervals_of_a_trial_together_cover_the_truth() {
        const TRIALS: u32 = 4000;
        const LONGEST: usize = 200;
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let mut draw = || normal::quantile(((rng.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64);
        let sequence = sequence();
        let (mut missed, mut fooled) = (0, 0);
        for _ in 0..TRIALS {
            // Running sums: the interval of every length of one long trial.
            let (mut sum, mut squares) = (0.0, 0.0);
            let (mut miss, mut fool) = (false, false);
            for count in 1..=LONGEST {
                let value = draw();
                sum += value;
                squares += value * value;
                let n = count as f64;
                let standard_error = ((squares - sum * sum / n) / (n * (n - 1.0))).sqrt();
                if count < 3 {
                    continue;
                }
                let (low, high) = sequence.around(sum / n, standard_error, n - 1.0, n);
                miss |= low > 0.0 || high < 0.0;
                fool |= student_t::two_sided_p(sum / n / standard_error, n - 1.0) < 0.05;
            }
            missed += u32::from(miss);
            fooled += u32::from(fool);
        }
        let rate = |count: u32| f64::from(count) / f64::from(TRIALS);
        let bound = 0.05 + 3.09 * (0.05 * 0.95 / f64::from(TRIALS)).sqrt();
        assert!(rate(missed) <= bound, "missed in {}", rate(missed));
        assert!(rate(fooled) > 0.3, "plain t intervals fail at this, {}", rate(fooled));
    }

    #[test]
    fn the_price_is_a_wider_interval_that_still_shrinks() {
        let width = |n: f64| sequence().critical_t(n - 1.0, n) / n.sqrt();
        assert!(width(10.0) > width(30.0) && width(30.0) > width(300.0) && width(300.0) > width(30_000.0));
        let price = sequence().critical_t(29.0, 30.0) / student_t::critical_value(0.05, 29.0);
        assert!((1.4..1.6).contains(&price), "{price}");
    }

    #[test]
    fn nothing_is_said_until_some_pairs_are_in() {
        let first = (2..30).find(|n| sequence().critical_t(f64::from(*n) - 1.0, f64::from(*n)).is_finite());
        assert_eq!(first, Some(7));
        assert_eq!(sequence().fewest(1), 7);
        assert_eq!(sequence().nominal_p(5.0, 6.0), 0.0);
        // Where a period effect is estimated, too, there is less to say anything with.
        let early = ConfidenceSequence::shortest_at(0.05, 20);
        assert_eq!((early.fewest(1), early.fewest(2)), (6, 7));
    }

    #[test]
    fn the_p_of_the_test_the_evidence_and_the_interval_agree_on_zero() {
        for n in [7.0, 12.0, 40.0] {
            let (df, critical) = (n - 1.0, sequence().critical_t(n - 1.0, n));
            assert!((sequence().nominal_p(df, n) / student_t::two_sided_p(critical, df) - 1.0).abs() < 1e-12);
            for (t, decides) in [(0.999 * critical, false), (1.001 * critical, true), (f64::INFINITY, true)] {
                assert_eq!(sequence().evidence(t, df, n) >= 20.0, decides, "{t} of {n}");
                assert_eq!(student_t::two_sided_p(t, df) <= sequence().nominal_p(df, n), decides, "{t} of {n}");
                let (low, high) = sequence().around(t.min(1e300), 1.0, df, n);
                assert_eq!(low > 0.0 || high < 0.0, decides, "{t} of {n}");
            }
        }
    }

    #[test]
    fn data_without_scatter_are_the_limit_of_data_with_little() {
        let (exact, nearly) = (sequence().evidence(f64::INFINITY, 9.0, 10.0), sequence().evidence(1e9, 9.0, 10.0));
        assert!((exact / nearly - 1.0).abs() < 1e-9 && exact.is_finite(), "{exact} {nearly}");
    }

    #[test]
    fn the_tuning_is_the_best_there_is() {
        let best = ConfidenceSequence::shortest_at(0.05, 20);
        for factor in [0.5, 0.9, 1.1, 2.0] {
            let other = ConfidenceSequence { effect_variance: best.effect_variance * factor, ..best };
            assert!(best.critical_t(19.0, 20.0) <= other.critical_t(19.0, 20.0) + 1e-12);
        }
    }

    #[test]
    fn shift_and_scale_carry_over() {
        let values = [0.3, -0.1, 0.5, 0.9, 0.2, 0.4, 0.6, -0.2, 0.8, 0.5, 0.0, 0.3];
        let moved = values.map(|value| 8.0 * value - 16.0);
        let ((low, high), (moved_low, moved_high)) =
            (sequence().interval(&values).unwrap(), sequence().interval(&moved).unwrap());
        assert!(low.is_finite());
        assert!((moved_low - (8.0 * low - 16.0)).abs() < 1e-9 && (moved_high - (8.0 * high - 16.0)).abs() < 1e-9);
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(sequence().interval(&[]), None);
        assert_eq!(sequence().interval(&[1.0]), None);
        assert_eq!(sequence().interval(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!(sequence().interval(&[1.0, 2.0]), Some((f64::NEG_INFINITY, f64::INFINITY)));
    }
}
