//! The level at which the interval of each of several comparisons is built, so that intervals and Holm's decisions never
//! disagree.
//!
//! Bonferroni's intervals, all at alpha / m, cover all m truths at once with probability 1 − alpha (Dunn, J. Am. Statist.
//! Ass. 56 (1961), 52–64). Holm's test claims more than they show: a comparison that falls only in a later step has a
//! Bonferroni interval that still covers zero. Exact simultaneous regions for Holm's test exist, but show nothing of
//! such a comparison except that it is not zero (Guilbaud, Biom. J. 50 (2008), 678–692; Strassburger and Bretz, Statist.
//! Med. 27 (2008), 4914–4927). Hence the simplest rule that agrees always: alpha / m for every comparison, except those
//! that Holm claims in a later step, which get the alpha of their step.
//!
//! What that guarantees: an interval excludes zero exactly when Holm claims; no interval of an unchanged comparison
//! excludes zero, with probability 1 − alpha for all of them together; all intervals at alpha / m cover their truths
//! together with probability 1 − alpha; and every interval by itself covers its truth with probability 1 − alpha or
//! more. What it does not: joint coverage of the later steps' intervals beyond the side of zero they lie on.

/// The alpha of each comparison's interval, in the order of `p_values`, for a family-wise level `alpha`.
///
/// The p-value and the interval of a comparison must be of one test: the interval at level p then ends at zero.
#[must_use]
pub fn levels(p_values: &[f64], alpha: f64) -> Vec<f64> {
    let mut smallest_first: Vec<usize> = (0..p_values.len()).collect();
    smallest_first.sort_by(|i, j| p_values[*i].total_cmp(&p_values[*j]));
    let bonferroni = alpha / p_values.len().max(1) as f64;
    let mut levels = vec![bonferroni; p_values.len()];
    for (claimed, index) in smallest_first.into_iter().enumerate() {
        let of_step = alpha / (p_values.len() - claimed) as f64;
        let claims = p_values[index] < of_step;
        if !claims {
            break;
        }
        if p_values[index] >= bonferroni {
            levels[index] = of_step;
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{holm, welch};
    use proptest::prelude::*;

    #[test]
    fn only_a_claim_of_a_later_step_leaves_bonferroni_s_level() {
        // Steps at 0.0125, 0.0167, 0.025 and 0.05: the third p is above 0.0125, yet claimed.
        let found = levels(&[0.001, 0.3, 0.02, 0.01], 0.05);
        assert_eq!(found, [0.0125, 0.0125, 0.025, 0.0125]);
    }

    #[test]
    fn without_a_claim_before_it_a_small_p_is_no_claim() {
        assert_eq!(levels(&[0.02, 0.02, 0.02], 0.05), [0.05 / 3.0; 3]);
        assert_eq!(levels(&[0.04], 0.05), [0.05]);
        assert!(levels(&[], 0.05).is_empty());
    }

    proptest! {
        #[test]
        fn intervals_and_decisions_never_disagree(
            samples in prop::collection::vec(prop::collection::vec(-1.0f64..1.6, 6), 2..12),
            alpha in 0.01f64..0.3,
        ) {
            let base = [-0.9, -0.4, -0.1, 0.2, 0.5, 0.8];
            let p: Vec<f64> = samples.iter().map(|b| welch::test(&base, b, alpha).unwrap().p).collect();
            for ((b, level), holm_p) in samples.iter().zip(levels(&p, alpha)).zip(holm::adjusted(&p)) {
                let interval = welch::test(&base, b, level).unwrap();
                prop_assert_eq!(interval.ci_low > 0.0 || interval.ci_high < 0.0, holm_p < alpha);
            }
        }
    }
}
