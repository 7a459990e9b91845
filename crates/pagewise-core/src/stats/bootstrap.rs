//! The bootstrap: an interval for any statistic, from resamples of the data themselves.
//!
//! BCa, which corrects the percentiles for the bias of the statistic (z₀) and for a spread that changes with its value
//! (the acceleration a). Sources: Efron, J. Am. Statist. Ass. 82 (1987), 171–185; for a of several samples, and for
//! interpolation between replicates on the normal scale, Davison and Hinkley, "Bootstrap Methods and their Application"
//! (1997), sections 5.3.2 and 5.2.1, which is also what R's `boot.ci(type = "bca")` does.

use super::normal;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Resamples unless asked otherwise. With one less than a round number the usual percentiles are replicates; with ten
/// thousand the ends of a 95 % interval seldom move by more than a fiftieth of its width from seed to seed.
pub const RESAMPLES: u32 = 9_999;

/// A statistic and its BCa interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bca {
    /// The statistic of the data as they are.
    pub estimate: f64,
    /// Low end of the 1 − alpha interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
    /// Resamples it rests on.
    pub resamples: u32,
}

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    /// How often; [`RESAMPLES`] unless there is a reason.
    pub resamples: u32,
    /// Seed of the ChaCha20 generator; the same seed gives the same bytes everywhere.
    pub seed: u64,
}

/// The interval of any statistic of one sample.
///
/// `None` with fewer than two values, with a statistic that is not finite for some resample, when the resamples all lie
/// on one side of the estimate (as for constant data), and for an alpha outside 0 to 1.
pub fn one_sample(values: &[f64], statistic: impl Fn(&[f64]) -> f64, alpha: f64, with: Resampling) -> Option<Bca> {
    bca(&[values], |samples| statistic(&samples[0]), alpha, with)
}

/// The interval of any statistic of two independent samples, each resampled by itself. `None` as in [`one_sample`].
pub fn two_samples(
    a: &[f64],
    b: &[f64],
    statistic: impl Fn(&[f64], &[f64]) -> f64,
    alpha: f64,
    with: Resampling,
) -> Option<Bca> {
    bca(&[a, b], |samples| statistic(&samples[0], &samples[1]), alpha, with)
}

/// The interval of mean(b) − mean(a). `None` as in [`one_sample`].
#[must_use]
pub fn mean_difference(a: &[f64], b: &[f64], alpha: f64, with: Resampling) -> Option<Bca> {
    two_samples(a, b, |a, b| mean(b) - mean(a), alpha, with)
}

/// The interval of mean(b) / mean(a). `None` as in [`one_sample`].
#[must_use]
pub fn mean_ratio(a: &[f64], b: &[f64], alpha: f64, with: Resampling) -> Option<Bca> {
    two_samples(a, b, |a, b| mean(b) / mean(a), alpha, with)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn bca(samples: &[&[f64]], statistic: impl Fn(&[Vec<f64>]) -> f64, alpha: f64, with: Resampling) -> Option<Bca> {
    if samples.iter().any(|sample| sample.len() < 2) {
        return None;
    }
    let estimate = statistic(&owned(samples));
    let replicates = replicates(samples, &statistic, with);
    let (low, high) = interval(estimate, &replicates, &influence(samples, &statistic), alpha)?;
    Some(Bca { estimate, low, high, resamples: with.resamples })
}

fn owned(samples: &[&[f64]]) -> Vec<Vec<f64>> {
    samples.iter().map(|sample| sample.to_vec()).collect()
}

fn replicates(samples: &[&[f64]], statistic: impl Fn(&[Vec<f64>]) -> f64, with: Resampling) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(with.seed);
    let mut resample = owned(samples);
    let mut draw = || {
        for (slots, sample) in resample.iter_mut().zip(samples) {
            // The high word of a product is uniform to one part in 2^64 / n.
            let mut any = || sample[((u128::from(rng.next_u64()) * sample.len() as u128) >> 64) as usize];
            slots.fill_with(&mut any);
        }
        statistic(&resample)
    };
    (0..with.resamples).map(|_| draw()).collect()
}

/// How much each value moves the statistic, from leaving it out; in units in which values of samples of different sizes
/// count alike.
fn influence(samples: &[&[f64]], statistic: impl Fn(&[Vec<f64>]) -> f64) -> Vec<f64> {
    let mut influence = Vec::new();
    let mut shortened = owned(samples);
    for (which, sample) in samples.iter().enumerate() {
        let n = sample.len() as f64;
        let without = |left_out: usize| -> Vec<f64> { [&sample[..left_out], &sample[left_out + 1..]].concat() };
        let of_rest: Vec<f64> = (0..sample.len())
            .map(|left_out| {
                shortened[which] = without(left_out);
                statistic(&shortened)
            })
            .collect();
        shortened[which] = sample.to_vec();
        let centre = mean(&of_rest);
        influence.extend(of_rest.iter().map(|value| (n - 1.0) * (centre - value) / n));
    }
    influence
}

/// The BCa interval from replicates in any order and from the influence of every value on the statistic, for resampling
/// done elsewhere.
///
/// `None` with a number that is not finite, without influence, when the replicates all lie on one side of the estimate,
/// and for an alpha outside 0 to 1.
#[must_use]
pub fn interval(estimate: f64, replicates: &[f64], influence: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if !(alpha > 0.0 && alpha < 1.0 && estimate.is_finite() && finite(replicates) && finite(influence)) {
        return None;
    }
    let bias = normal::quantile(share_below(estimate, replicates));
    let acceleration = acceleration(influence)?;
    if !bias.is_finite() {
        return None;
    }
    let mut sorted = replicates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let end = |tail: f64| {
        let shifted = bias + normal::quantile(tail);
        percentile(&sorted, normal::cdf(bias + shifted / (1.0 - acceleration * shifted)))
    };
    Some((end(alpha / 2.0), end(1.0 - alpha / 2.0)))
}

/// A replicate that equals the estimate counts half. Data of few digits have many such, which rounding scatters to
/// either side: the answer would hang on it (`boot.ci` lets it).
fn share_below(estimate: f64, replicates: &[f64]) -> f64 {
    let farthest = replicates.iter().fold(0.0, |farthest: f64, replicate| farthest.max((replicate - estimate).abs()));
    let rounding = 1e-10 * farthest;
    let halves: u32 = replicates
        .iter()
        .map(|replicate| match replicate - estimate {
            distance if distance.abs() <= rounding => 1,
            distance if distance < 0.0 => 2,
            _ => 0,
        })
        .sum();
    f64::from(halves) / (2.0 * replicates.len() as f64)
}

/// Σ l³ / (6 (Σ l²)^(3/2)).
fn acceleration(influence: &[f64]) -> Option<f64> {
    // In units of the largest, so that no power leaves the range of a float.
    let largest = influence.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in influence.iter().map(|value| value / largest) {
        squares += value * value;
        cubes += value * value * value;
    }
    let acceleration = cubes / (6.0 * squares * squares.sqrt());
    acceleration.is_finite().then_some(acceleration)
}

/// Between two replicates interpolated as if they were normal; beyond the first or last it is that one.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let count = sorted.len();
    let place = (count + 1) as f64 * share;
    let below = place.floor();
    if below < 1.0 {
        return sorted[0];
    }
    if below >= count as f64 {
        return sorted[count - 1];
    }
    let (low, high) = (sorted[below as usize - 1], sorted[below as usize]);
    let z_at = |place: f64| normal::quantile(place / (count + 1) as f64);
    if place == below {
        return low;
    }
    low + (normal::quantile(share) - z_at(below)) / (z_at(below + 1.0) - z_at(below)) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::welch;

    const A: [f64; 10] = [12.1, 9.8, 11.4, 10.0, 30.2, 10.7, 11.1, 12.9, 9.9, 10.4];
    const B: [f64; 8] = [14.0, 13.1, 15.8, 12.2, 13.7, 14.9, 13.3, 12.8];
    const WITH: Resampling = Resampling { resamples: RESAMPLES, seed: 7 };

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_a_close_one() {
        let found = mean_difference(&A, &B, 0.05, WITH).unwrap();
        assert_eq!(mean_difference(&A, &B, 0.05, WITH), Some(found));
        let other = mean_difference(&A, &B, 0.05, Resampling { seed: 8, ..WITH }).unwrap();
        let width = found.high - found.low;
        assert!(other != found);
        assert!((other.low - found.low).abs() < width / 20.0 && (other.high - found.high).abs() < width / 20.0);
    }

    #[test]
    fn well_behaved_data_have_nearly_the_interval_of_the_t_test() {
        let even = |n: i32, from: f64| (0..n).map(|i| from + f64::from(i)).collect::<Vec<f64>>();
        let (a, b) = (even(40, 0.0), even(40, 9.0));
        let (found, t) = (mean_difference(&a, &b, 0.05, WITH).unwrap(), welch::test(&b, &a, 0.05).unwrap());
        let width = t.ci_high - t.ci_low;
        assert!((found.low - t.ci_low).abs() < width / 20.0 && (found.high - t.ci_high).abs() < width / 20.0);
    }

    #[test]
    fn a_long_tail_stretches_the_interval_on_its_side() {
        let found = one_sample(&A, mean, 0.05, WITH).unwrap();
        assert!(found.high - found.estimate > 1.5 * (found.estimate - found.low), "{found:?}");
    }

    #[test]
    fn a_scale_leaves_a_ratio_alone_and_a_shift_moves_a_difference() {
        let found = mean_ratio(&A, &B, 0.05, WITH).unwrap();
        let scaled = mean_ratio(&A.map(|v| v * 4.0), &B.map(|v| v * 4.0), 0.05, WITH).unwrap();
        assert_eq!(found, scaled);
        let shifted = mean_difference(&A, &B.map(|v| v + 64.0), 0.05, WITH).unwrap();
        let plain = mean_difference(&A, &B, 0.05, WITH).unwrap();
        assert!((shifted.low - plain.low - 64.0).abs() < 1e-9 && (shifted.high - plain.high - 64.0).abs() < 1e-9);
    }

    #[test]
    fn the_median_percentile_of_unbiased_replicates_is_their_middle() {
        let replicates: Vec<f64> = (1..=99).map(f64::from).collect();
        // Half of the replicates lie below 50.5, and opposite influences leave no acceleration.
        let (low, high) = interval(50.4, &replicates, &[-1.0, 1.0], 0.1).unwrap();
        assert!((low - 5.0).abs() < 0.5 && (high - 95.0).abs() < 0.5, "{low} {high}");
    }

    #[test]
    fn constant_data_have_no_interval() {
        assert_eq!(one_sample(&[2.0; 9], mean, 0.05, WITH), None);
        assert_eq!(one_sample(&[2.0], mean, 0.05, WITH), None);
        assert_eq!(mean_ratio(&[0.0, 0.0, 0.0], &B, 0.05, WITH), None);
        assert_eq!(one_sample(&A, mean, 0.0, WITH), None);
        assert_eq!(one_sample(&A, mean, 0.05, Resampling { resamples: 0, seed: 1 }), None);
    }
}
