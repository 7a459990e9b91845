//! The bootstrap against R's package boot.

use super::claim::{Claim, Draw, assert_r_agrees_with, r_vector};
use pagewise_core::stats::bootstrap::{self, Resampling};
use pagewise_testkit::requires;

#[test]
fn the_bca_interval_of_given_replicates_is_boot_ci_s() {
    requires!(r, r_packages);
    let preamble = "library(boot)
        any <- function(R) boot(1:9, function(d, i) mean(d[i]), R = R)
        bca <- function(t0, t, L, conf) boot.ci(any(length(t)), type = 'bca', conf = conf, t0 = t0, t = t, L = L)$bca[4:5]";
    let mut draw = Draw::new(31);
    let claims: Vec<Claim> = (0..40)
        .map(|data_set| {
            let skew = f64::from(data_set % 4) / 4.0;
            let mut bent = |n: usize| draw.bells(n).iter().map(|v| v + skew * v * v).collect::<Vec<f64>>();
            let (replicates, influence) = (bent(199 + 100 * (data_set as usize % 5)), bent(10));
            let estimate = skew * 0.7;
            let alpha = [0.05, 0.1, 0.2][data_set as usize % 3];
            let (low, high) = bootstrap::interval(estimate, &replicates, &influence, alpha).unwrap();
            let (t, l) = (r_vector(&replicates), r_vector(&influence));
            Claim::new(format!("bca({estimate}, {t}, {l}, {})", 1.0 - alpha), vec![low, high])
        })
        .collect();
    assert_r_agrees_with(preamble, &claims);
}

#[test]
fn resampled_here_and_by_boot_the_ends_differ_by_less_than_a_twentieth_of_the_width() {
    requires!(r, r_packages);
    // Between two runs of 9,999 an end differs by about a hundredth of the width: a twentieth is never met by chance.
    let preamble = "library(boot); set.seed(1)
        width <- function(s) function(low, high, a, b) {
          arm <- rep(1:2, c(length(a), length(b)))
          o <- boot(c(a, b), function(d, i) s(d[i][arm[i] == 1], d[i][arm[i] == 2]), R = 9999, strata = arm)
          ends <- boot.ci(o, type = 'bca', L = usual(o))$bca[4:5]
          as.numeric(all(abs(ends - c(low, high)) < diff(ends) / 20))
        }
        usual <- function(o) empinf(data = o$data, statistic = o$statistic, strata = o$strata, stype = 'i', type = 'jack')
        difference <- width(function(a, b) mean(b) - mean(a)); ratio <- width(function(a, b) mean(b) / mean(a))";
    let mut draw = Draw::new(32);
    let mut claims = Vec::new();
    for data_set in 0..3_u64 {
        let mut long_tailed = || draw.bells(12).iter().map(|v| 10.0 + skewed(*v)).collect::<Vec<f64>>();
        let (a, b) = (long_tailed(), long_tailed());
        let with = Resampling { resamples: bootstrap::RESAMPLES, seed: data_set };
        let difference = bootstrap::mean_difference(&a, &b, 0.05, with).unwrap();
        let ratio = bootstrap::mean_ratio(&a, &b, 0.05, with).unwrap();
        for (name, found) in [("difference", difference), ("ratio", ratio)] {
            let arms = format!("{}, {}", r_vector(&a), r_vector(&b));
            claims.push(Claim::new(format!("{name}({:e}, {:e}, {arms})", found.low, found.high), vec![1.0]));
        }
    }
    assert_r_agrees_with(preamble, &claims);
}

/// Skewed to the right, as times are.
fn skewed(value: f64) -> f64 {
    (1.0 + value / 4.0).powi(4)
}
