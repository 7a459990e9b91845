//! Hartigan's dip: do the values fall into two heaps?
//!
//! The dip is the largest distance between the empirical distribution and the closest distribution with one mode. A mean
//! says little about an arm that is sometimes fast and sometimes slow. Source: J. A. and P. M. Hartigan, Ann. Statist.
//! 13 (1985), 70–84. Its p-value is simulated under the uniform distribution, the least favourable with one mode.

use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

/// Samples drawn at most for a p-value.
const MOST_SAMPLES: u32 = 2_500;

/// Samples with a larger dip after which the answer is "no evidence" and drawing stops.
const ENOUGH_LARGER: u32 = 25;

/// The dip of values in any order, between 1/(2n) and 1/4. `None` without values.
#[must_use]
pub fn dip(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { None } else { Some(dip_of_sorted(&sorted)) }
}

/// Simulated p-value of "one mode" for a dip of `n` values.
///
/// Draws until 25 samples have a dip as large, at most 2,500 times, which keeps the p-value valid and spends time only
/// where it may be small (Besag and Clifford, Biometrika 78 (1991), 301–304).
#[must_use]
pub fn p_value(dip: f64, n: usize, rng: &mut ChaCha20Rng) -> f64 {
    let mut larger = 0;
    let mut sample = vec![0.0; n];
    for drawn in 1..=MOST_SAMPLES {
        sample.fill_with(|| (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64);
        sample.sort_by(f64::total_cmp);
        larger += u32::from(dip_of_sorted(&sample) >= dip);
        if larger == ENOUGH_LARGER {
            return f64::from(larger) / f64::from(drawn);
        }
    }
    f64::from(larger + 1) / f64::from(MOST_SAMPLES + 1)
}

/// Narrows the interval that holds the mode, as the paper does: left of it the closest distribution is the greatest
/// convex minorant of the empirical one, right of it the least concave majorant. Distances are in steps of 1/n; the
/// empirical distribution jumps from i to i + 1 at value i, hence the added one.
fn dip_of_sorted(x: &[f64]) -> f64 {
    let (mut low, mut high) = (0, x.len() - 1);
    let mut largest = 1.0_f64;
    loop {
        let minorant = hull(x, low, high, Side::Below);
        let majorant = hull(x, low, high, Side::Above);
        let (gap, next_low, next_high) = widest_gap(x, &minorant, &majorant);
        if gap <= largest {
            break;
        }
        for left in minorant.windows(2).filter(|ends| ends[1] <= next_low) {
            largest = (left[0]..=left[1]).map(|i| i as f64 - line(x, left, i) + 1.0).fold(largest, f64::max);
        }
        for right in majorant.windows(2).filter(|ends| ends[0] >= next_high) {
            largest = (right[0]..=right[1]).map(|i| line(x, right, i) - i as f64 + 1.0).fold(largest, f64::max);
        }
        if (next_low, next_high) == (low, high) {
            break;
        }
        (low, high) = (next_low, next_high);
    }
    largest / (2.0 * x.len() as f64)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below,
    Above,
}

/// Indices of the vertices of the convex hull of the points (x[i], i), below or above.
fn hull(x: &[f64], low: usize, high: usize, side: Side) -> Vec<usize> {
    let mut vertices: Vec<usize> = Vec::with_capacity(high - low + 1);
    for next in low..=high {
        while let [.., before, last] = vertices[..] {
            let to_last = (last - before) as f64 * (x[next] - x[before]);
            let to_next = (next - before) as f64 * (x[last] - x[before]);
            let keeps = if side == Side::Below { to_last < to_next } else { to_last > to_next };
            if keeps {
                break;
            }
            vertices.pop();
        }
        vertices.push(next);
    }
    vertices
}

/// Height of the line between two vertices at x[i].
fn line(x: &[f64], ends: &[usize], i: usize) -> f64 {
    let (from, to) = (ends[0], ends[1]);
    let width = x[to] - x[from];
    if width <= 0.0 {
        return from as f64;
    }
    from as f64 + (to - from) as f64 * ((x[i] - x[from]) / width)
}

/// Where the two hulls are farthest apart, and the interval between the vertex there and the other hull's next vertex.
fn widest_gap(x: &[f64], minorant: &[usize], majorant: &[usize]) -> (f64, usize, usize) {
    let ends = (minorant[0], minorant[minorant.len() - 1]);
    let mut widest = (1.0, ends.0, ends.1);
    for segment in majorant.windows(2) {
        for vertex in minorant.iter().filter(|vertex| segment[0] <= **vertex && **vertex < segment[1]) {
            let gap = line(x, segment, *vertex) - *vertex as f64 + 1.0;
            if gap > widest.0 {
                widest = (gap, *vertex, segment[1]);
            }
        }
    }
    for segment in minorant.windows(2) {
        for vertex in majorant.iter().filter(|vertex| segment[0] < **vertex && **vertex <= segment[1]) {
            let gap = *vertex as f64 - line(x, segment, *vertex) + 1.0;
            if gap > widest.0 {
                widest = (gap, segment[0], *vertex);
            }
        }
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::SeedableRng;

    #[test]
    fn evenly_spaced_values_have_the_smallest_dip() {
        let even: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(dip(&even), Some(1.0 / 40.0));
    }

    #[test]
    fn two_tight_heaps_have_the_largest_dip() {
        let heaps: Vec<f64> = (0..10).map(|i| f64::from(i / 5) + 1e-9 * f64::from(i % 5)).collect();
        let found = dip(&heaps).unwrap();
        assert!((found - 0.25).abs() < 1e-6, "{found}");
        assert!(p_value(found, 10, &mut ChaCha20Rng::seed_from_u64(1)) < 0.01);
    }

    #[test]
    fn one_heap_is_not_taken_for_two() {
        let heap = [9.1, 9.6, 9.8, 9.9, 10.0, 10.05, 10.1, 10.3, 10.5, 11.2];
        let found = dip(&heap).unwrap();
        assert!(p_value(found, heap.len(), &mut ChaCha20Rng::seed_from_u64(1)) > 0.2);
    }

    #[test]
    fn dips_of_uniform_samples_have_the_published_quantiles() {
        // Median and upper 5 % point from the table of one million simulations in the R package diptest 0.76.
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for (n, median, upper) in [(10, 0.097_782, 0.139_611), (20, 0.073_344, 0.105_130), (50, 0.048_851, 0.070_274)] {
            let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let dips: Vec<f64> =
                (0..20_000).map(|_| dip(&(0..n).map(|_| uniform()).collect::<Vec<f64>>()).unwrap()).collect();
            let share_above = |point: f64| dips.iter().filter(|dip| **dip > point).count() as f64 / 20_000.0;
            assert!((share_above(median) - 0.5).abs() < 0.0125, "n {n}: {} above the median", share_above(median));
            assert!((share_above(upper) - 0.05).abs() < 0.006, "n {n}: {} above the 5 % point", share_above(upper));
        }
    }

    proptest! {
        #[test]
        fn the_dip_keeps_its_bounds_and_ignores_scale(values in prop::collection::vec(-1e3f64..1e3, 2..30)) {
            let found = dip(&values).unwrap();
            let n = values.len() as f64;
            prop_assert!(found >= 0.5 / n - 1e-12 && found <= 0.25 + 0.5 / n, "{found}");
            let mirrored: Vec<f64> = values.iter().map(|v| 7.0 - 2.0 * v).collect();
            prop_assert!((dip(&mirrored).unwrap() - found).abs() < 1e-9);
        }
    }
}
