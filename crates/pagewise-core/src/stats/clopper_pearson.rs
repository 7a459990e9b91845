//! Interval of a share by so many of so many.
//!
//! Exact: it covers the true share at least as often as it says, at any number of trials. Source: C. Clopper, E. Pearson,
//! Biometrika 26 (1934), 404–413; the same as the interval of R's `binom.test`.

use super::incomplete_beta::{ln_beta, regularised};

/// Lowest and highest share that `hits` of `trials` are compatible with at that confidence; all shares when nothing was tried.
#[must_use]
pub fn interval(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let hits = hits.min(trials);
    let tail = (1.0 - confidence) / 2.0;
    let (yes, no) = (hits as f64, (trials - hits) as f64);
    // P(at least `hits`) = I_p(hits, misses + 1); P(at most `hits`) = 1 − I_p(hits + 1, misses).
    let low = if hits == 0 { 0.0 } else { quantile(yes, no + 1.0, tail) };
    let high = if hits == trials { 1.0 } else { quantile(yes + 1.0, no, 1.0 - tail) };
    (low, high)
}

/// The x at which I_x(a, b) is `p`, by halving: it rises with x.
fn quantile(a: f64, b: f64, p: f64) -> f64 {
    let scale = ln_beta(a, b);
    let (mut low, mut high) = (0.0, 1.0);
    // Each step gives a binary digit.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if regularised(a, b, scale, middle, 1.0 - middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `binom.test(x, n)$conf.int` of R 4.2.2.
    #[test]
    fn it_is_the_interval_of_r() {
        for ((hits, trials), wanted) in [
            ((0, 45), (0.0, 0.078_705_100_41)),
            ((66, 66), (0.945_641_152_8, 1.0)),
            ((7, 20), (0.153_909_204_785, 0.592_188_534_533)),
            ((682, 925), (0.707_668_264_1, 0.765_406_558_2)),
        ] {
            let (low, high) = interval(hits, trials, 0.95);
            assert!((low - wanted.0).abs() < 1e-9 && (high - wanted.1).abs() < 1e-9, "{hits}/{trials}: {low} {high}");
        }
        assert_eq!(interval(0, 0, 0.95), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn hits_and_misses_mirror_each_other(hits in 0u64..300, misses in 0u64..300) {
            let (low, high) = interval(hits, hits + misses, 0.9);
            let (mirrored_high, mirrored_low) = interval(misses, hits + misses, 0.9);
            prop_assert!((low - (1.0 - mirrored_low)).abs() < 1e-9 && (high - (1.0 - mirrored_high)).abs() < 1e-9);
            prop_assert!(low <= high);
        }
    }
}
