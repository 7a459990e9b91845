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
    use crate::stats::benjamini_hochberg;
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

    /// `p.adjust`'s help page: 50 p-values after `set.seed(123)`, in rising order.
    const OF_R_S_HELP_PAGE: [f64; 50] = [
        2.35405351e-7,
        2.10159024e-5,
        2.57684187e-5,
        9.81478332e-5,
        0.000105260959,
        0.000124148073,
        0.000132598802,
        0.000156850331,
        0.000225455733,
        0.000379538031,
        0.000611494315,
        0.00161395373,
        0.00330242962,
        0.00353834178,
        0.00523699658,
        0.00683190893,
        0.00705922566,
        0.0088051286,
        0.00940103984,
        0.0112979808,
        0.0211501681,
        0.049227364,
        0.0605329775,
        0.0626223947,
        0.0739515289,
        0.0828110328,
        0.0863333128,
        0.119065433,
        0.189079625,
        0.205849378,
        0.220921372,
        0.285600043,
        0.304889487,
        0.4660682,
        0.483080935,
        0.49217546,
        0.531945286,
        0.575155046,
        0.578319462,
        0.618589434,
        0.636362005,
        0.644858724,
        0.655841439,
        0.6885884,
        0.718986362,
        0.817953853,
        0.827448657,
        0.897129976,
        0.911867952,
        0.943789022,
    ];

    /// Three decimals, as printed there.
    fn printed(adjusted: &[f64]) -> Vec<String> {
        adjusted.iter().map(|p| format!("{p:.3}")).collect()
    }

    #[test]
    fn the_example_of_r_s_help_page_comes_out_as_printed_there() {
        let holm = printed(&adjusted(&OF_R_S_HELP_PAGE));
        let first = [
            "0.000", "0.001", "0.001", "0.005", "0.005", "0.006", "0.006", "0.007", "0.009", "0.016", "0.024", "0.063",
            "0.125", "0.131", "0.189", "0.239", "0.240", "0.291", "0.301", "0.350", "0.635",
        ];
        assert_eq!(holm[..first.len()], first);
        assert!(holm[first.len()..].iter().all(|p| p == "1.000"));
        let false_discovery_rates = printed(&benjamini_hochberg::adjusted(&OF_R_S_HELP_PAGE));
        let wanted = [
            "0.000", "0.000", "0.000", "0.001", "0.001", "0.001", "0.001", "0.001", "0.001", "0.002", "0.003", "0.007",
            "0.013", "0.013", "0.017", "0.021", "0.021", "0.024", "0.025", "0.028", "0.050", "0.112", "0.130", "0.130",
            "0.148", "0.159", "0.160", "0.213", "0.326", "0.343", "0.356", "0.446", "0.462", "0.684", "0.684", "0.684",
            "0.719", "0.741", "0.741", "0.763", "0.763", "0.763", "0.763", "0.782", "0.799", "0.880", "0.880", "0.930",
            "0.930", "0.944",
        ];
        assert_eq!(false_discovery_rates, wanted);
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
