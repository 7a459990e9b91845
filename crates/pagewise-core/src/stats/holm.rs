//! Adjusted p-values that bound the chance of even one false claim among those declared.
//!
//! Holds whatever the dependence between the comparisons, and claims at least as much as dividing alpha by their
//! number. Source: Holm, Scand. J. Statist. 6 (1979), 65–70; the same numbers as R's `p.adjust(p, "holm")`.

/// The adjusted p-value of each p-value, in the same order: claiming everything with one below alpha makes a false claim
/// with probability alpha at most.
#[must_use]
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut smallest_first: Vec<usize> = (0..p_values.len()).collect();
    smallest_first.sort_by(|i, j| p_values[*i].total_cmp(&p_values[*j]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest_so_far = 0.0_f64;
    for (claimed, index) in smallest_first.into_iter().enumerate() {
        let undecided = (p_values.len() - claimed) as f64;
        largest_so_far = largest_so_far.max(p_values[index] * undecided);
        adjusted[index] = largest_so_far.min(1.0);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_p_is_multiplied_by_the_number_still_undecided() {
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, wanted) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - wanted).abs() < 1e-15, "{found} {wanted}");
        }
        assert_eq!(adjusted(&[0.4, 0.9]), [0.8, 0.9]);
        assert_eq!(adjusted(&[0.7, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn one_comparison_needs_no_adjustment() {
        assert_eq!(adjusted(&[0.03]), [0.03]);
        assert!(adjusted(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn an_adjusted_p_lies_between_the_plain_one_and_bonferroni_s(p in prop::collection::vec(0.0f64..=1.0, 1..20)) {
            let m = p.len() as f64;
            for (plain, adjusted) in p.iter().zip(adjusted(&p)) {
                prop_assert!(*plain <= adjusted && adjusted <= (plain * m).min(1.0) * (1.0 + 1e-15));
            }
        }

        #[test]
        fn the_order_of_the_comparisons_does_not_matter(p in prop::collection::vec(0.0f64..=1.0, 1..20)) {
            let reversed: Vec<f64> = p.iter().rev().copied().collect();
            let mut back = adjusted(&reversed);
            back.reverse();
            prop_assert_eq!(back, adjusted(&p));
        }
    }
}
