//! Drift over a trial: is there a trend (Mann and Kendall), and how steep is it (Theil and Sen)?
//!
//! Ranks and medians, so that one slow run is not taken for a trend. Sources: Mann, Econometrica 13 (1945), 245–259;
//! Kendall, "Rank Correlation Methods" (1948); Theil (1950); Sen, J. Am. Statist. Ass. 63 (1968), 1379–1389.

use super::{normal, summary};
use std::cmp::Ordering;

/// Up to here, and without ties, the null distribution is counted out rather than approximated.
const MOST_EXACT: usize = 50;

/// Two-sided p-value of "no trend" for values in time order.
#[must_use]
pub fn mann_kendall_p(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 3 {
        return 1.0;
    }
    let mut rises_less_falls = 0i64;
    let mut tied_pairs = 0u32;
    for (later, value) in values.iter().enumerate() {
        for earlier in &values[..later] {
            match value.partial_cmp(earlier) {
                Some(Ordering::Greater) => rises_less_falls += 1,
                Some(Ordering::Less) => rises_less_falls -= 1,
                _ => tied_pairs += 1,
            }
        }
    }
    if tied_pairs == 0 && n <= MOST_EXACT {
        exact_p(n, rises_less_falls.unsigned_abs() as usize)
    } else {
        approximate_p(values, rises_less_falls)
    }
}

/// The number of inversions of a random permutation has the distribution of Σ uniform{0..i}; S = most − 2 · inversions.
fn exact_p(n: usize, distance: usize) -> f64 {
    let most = n * (n - 1) / 2;
    let fewest = (most - distance.min(most)) / 2;
    let tail: f64 = inversion_probabilities(n)[..=fewest].iter().sum();
    if distance == 0 { 1.0 } else { (2.0 * tail).min(1.0) }
}

/// Probability of each number of inversions, from 0, in a random permutation of `n` values.
fn inversion_probabilities(n: usize) -> Vec<f64> {
    let mut probability = vec![0.0; n * (n - 1) / 2 + 1];
    probability[0] = 1.0;
    for length in 2..=n {
        let so_far = probability.clone();
        for (inversions, slot) in probability.iter_mut().enumerate() {
            let from = inversions.saturating_sub(length - 1);
            *slot = so_far[from..=inversions].iter().sum::<f64>() / length as f64;
        }
    }
    probability
}

/// Normal approximation with the variance corrected for ties and S moved one towards zero for continuity.
fn approximate_p(values: &[f64], rises_less_falls: i64) -> f64 {
    let variance = (weight(values.len()) - tied_weight(values)) / 18.0;
    if variance <= 0.0 || rises_less_falls == 0 {
        return 1.0;
    }
    let z = (rises_less_falls.unsigned_abs() as f64 - 1.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

/// n (n − 1) (2n + 5), of which the variance of S is made.
fn weight(n: usize) -> f64 {
    let n = n as f64;
    n * (n - 1.0) * (2.0 * n + 5.0)
}

/// The weights of the groups of equal values.
fn tied_weight(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|x, y| x == y).map(|group| weight(group.len())).sum()
}

/// Median of the slopes between all two points `(x, y)`, in y per x. `None` when no two points differ in x.
#[must_use]
pub fn theil_sen_slope(points: &[(f64, f64)]) -> Option<f64> {
    summary::median(&slopes(points))
}

/// Theil and Sen's slope with its interval, in y per x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Median of the slopes between all two points.
    pub slope: f64,
    /// Low end of an interval that covers the slope with probability 1 − alpha or more.
    pub low: f64,
    /// High end of that interval.
    pub high: f64,
}

/// The slope and the interval of slopes that Mann and Kendall's test accepts: a trend of any other slope, once taken
/// away, leaves one behind.
///
/// The ends are slopes between two points, too; their ranks come from the null distribution of Kendall's S, counted out
/// up to 50 points with different x, and approximated otherwise. `None` when the points are too few for an interval at
/// `alpha` (below 5 for 0.05), with a value that is not finite, or with an alpha outside 0 to 1.
#[must_use]
pub fn theil_sen(points: &[(f64, f64)], alpha: f64) -> Option<Slope> {
    if points.len() < 3 || !(alpha > 0.0 && alpha < 1.0) || points.iter().any(|(x, y)| !(x - y).is_finite()) {
        return None;
    }
    let mut slopes = slopes(points);
    slopes.sort_by(f64::total_cmp);
    let x: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    let outside = slopes_outside(&x, slopes.len(), alpha)?;
    let found = Slope {
        slope: summary::median(&slopes)?,
        low: *slopes.get(outside)?,
        high: *slopes.get(slopes.len().checked_sub(outside + 1)?)?,
    };
    (found.low <= found.high && found.low.is_finite() && found.high.is_finite()).then_some(found)
}

/// How many of the ordered slopes lie outside the interval at each end. `None` when even all of them are no interval.
fn slopes_outside(x: &[f64], slopes: usize, alpha: f64) -> Option<usize> {
    let n = x.len();
    let untied = slopes == n * (n - 1) / 2;
    if untied && n <= MOST_EXACT {
        // As many as leave each tail at most alpha / 2: P(inversions ≤ outside).
        let mut tail = 0.0;
        let fits = inversion_probabilities(n).into_iter().take_while(|probability| {
            tail += probability;
            tail <= alpha / 2.0
        });
        return fits.count().checked_sub(1);
    }
    // Sen's equation 2.6: ranks half of C = z √Var S away from the middle.
    let deviation = ((weight(n) - tied_weight(x)) / 18.0).sqrt();
    let c = -normal::quantile(alpha / 2.0) * deviation;
    let outside = ((slopes as f64 - c) / 2.0).floor() - 1.0;
    (outside >= 0.0).then_some(outside as usize)
}

fn slopes(points: &[(f64, f64)]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for (later, (x, y)) in points.iter().enumerate() {
        slopes.extend(points[..later].iter().filter(|(x0, _)| x0 != x).map(|(x0, y0)| (y - y0) / (x - x0)));
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_rising_values_have_two_in_120() {
        let p = mann_kendall_p(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((p - 2.0 / 120.0).abs() < 1e-15, "{p}");
    }

    #[test]
    fn the_exact_tail_and_the_approximation_meet() {
        let rising = |i: usize| i as f64 + 12.0 * ((i * 7) % 5) as f64;
        let fifty: Vec<f64> = (0..50).map(|i| rising(i) + i as f64 * 1e-6).collect();
        let exact = mann_kendall_p(&fifty);
        let approximate = {
            let s: i64 = (0..50)
                .flat_map(|j| (0..j).map(move |i| (i, j)))
                .map(|(i, j)| if fifty[j] > fifty[i] { 1 } else { -1 })
                .sum();
            approximate_p(&fifty, s)
        };
        assert!((exact - approximate).abs() < 0.002, "{exact} {approximate}");
    }

    #[test]
    fn values_that_are_all_equal_have_no_trend() {
        assert_eq!(mann_kendall_p(&[2.0; 12]), 1.0);
    }

    #[test]
    fn one_wild_point_does_not_move_the_slope() {
        let mut points: Vec<(f64, f64)> = (0..11).map(|i| (f64::from(i), 0.5 * f64::from(i))).collect();
        points[10].1 = 1000.0;
        assert_eq!(theil_sen_slope(&points), Some(0.5));
        assert_eq!(theil_sen_slope(&points[..1]), None);
    }

    #[test]
    fn the_interval_of_the_slope_holds_zero_exactly_when_there_is_no_trend() {
        let wave = |i: usize| ((i * 7) % 11) as f64 + 1e-3 * i as f64;
        for n in [6, 9, 20, 40] {
            for steepness in [-0.9, -0.3, 0.0, 0.1, 0.2, 0.5, 1.4] {
                let values: Vec<f64> = (0..n).map(|i| wave(i) + steepness * i as f64).collect();
                let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
                let found = theil_sen(&points, 0.05).unwrap();
                assert!(found.low <= found.slope && found.slope <= found.high);
                let excludes = found.low > 0.0 || found.high < 0.0;
                assert_eq!(excludes, mann_kendall_p(&values) <= 0.05, "n {n}, steepness {steepness}: {found:?}");
            }
        }
    }

    #[test]
    fn too_few_points_have_no_interval() {
        let line = |n: i32| (0..n).map(|i| (f64::from(i), f64::from(i))).collect::<Vec<_>>();
        assert_eq!(theil_sen(&line(4), 0.05), None);
        assert_eq!(theil_sen(&line(5), 0.05), Some(Slope { slope: 1.0, low: 1.0, high: 1.0 }));
        assert_eq!(theil_sen(&[(1.0, 1.0); 9], 0.05), None);
        assert_eq!(theil_sen(&[(1.0, f64::NAN); 9], 0.05), None);
    }
}
