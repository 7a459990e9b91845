//! Drift over a trial: is there a trend (Mann and Kendall), and how steep is it (Theil and Sen)?
//!
//! Ranks and medians, so that one slow run is not taken for a trend. Sources: Mann, Econometrica 13 (1945), 245–259;
//! Kendall, "Rank Correlation Methods" (1948); Theil (1950); Sen, J. Am. Statist. Ass. 63 (1968), 1379–1389.

use super::summary;
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
    let mut probability = vec![0.0; most + 1];
    probability[0] = 1.0;
    for length in 2..=n {
        let so_far = probability.clone();
        for (inversions, slot) in probability.iter_mut().enumerate() {
            let from = inversions.saturating_sub(length - 1);
            *slot = so_far[from..=inversions].iter().sum::<f64>() / length as f64;
        }
    }
    let fewest = (most - distance.min(most)) / 2;
    let tail: f64 = probability[..=fewest].iter().sum();
    if distance == 0 { 1.0 } else { (2.0 * tail).min(1.0) }
}

/// Normal approximation with the variance corrected for ties and S moved one towards zero for continuity.
fn approximate_p(values: &[f64], rises_less_falls: i64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let weight = |n: usize| (n * (n - 1) * (2 * n + 5)) as f64;
    let tied: f64 = sorted.chunk_by(|x, y| x == y).map(|group| weight(group.len())).sum();
    let variance = (weight(values.len()) - tied) / 18.0;
    if variance <= 0.0 || rises_less_falls == 0 {
        return 1.0;
    }
    let z = (rises_less_falls.unsigned_abs() as f64 - 1.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

/// Median of the slopes between all two points `(x, y)`, in y per x. `None` when no two points differ in x.
#[must_use]
pub fn theil_sen_slope(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (later, (x, y)) in points.iter().enumerate() {
        slopes.extend(points[..later].iter().filter(|(x0, _)| x0 != x).map(|(x0, y0)| (y - y0) / (x - x0)));
    }
    summary::median(&slopes)
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
}
