//! Adjusted p-values that bound the false-discovery rate over many comparisons.
//!
//! A kernel has more than a hundred counters; without this, five in a hundred would look different by chance. Source:
//! Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995), 289–300.

/// The q-value of each p-value, in the same order: listing everything with q ≤ 0.1 keeps the expected share of false
/// entries at or below 10 %.
#[must_use]
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut largest_first: Vec<usize> = (0..p_values.len()).collect();
    largest_first.sort_by(|i, j| p_values[*j].total_cmp(&p_values[*i]));
    let count = p_values.len() as f64;
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest_so_far = 1.0_f64;
    for (from_top, index) in largest_first.into_iter().enumerate() {
        let rank = count - from_top as f64;
        smallest_so_far = smallest_so_far.min(p_values[index] * count / rank);
        adjusted[index] = smallest_so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_q_is_the_smallest_over_the_larger_p() {
        let q = adjusted(&[0.01, 0.04, 0.03, 0.5]);
        let wanted = [0.04, 0.16 / 3.0, 0.16 / 3.0, 0.5];
        for (found, wanted) in q.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-15, "{q:?}");
        }
    }

    #[test]
    fn one_comparison_needs_no_adjustment() {
        assert_eq!(adjusted(&[0.03]), [0.03]);
        assert!(adjusted(&[]).is_empty());
    }
}
