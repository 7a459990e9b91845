//! Fisher's exact test on a two by two table: does one arm fail more often than the other?
//!
//! Exact because failures are few: any approximation for large counts would be wrong exactly where it matters. Two-sided
//! by the usual rule, the sum of all tables no more likely than the one seen (R's `fisher.test` does the same).

/// Two-sided p-value of `a_bad` of `a_total` against `b_bad` of `b_total`. 1 when nothing or everything failed.
///
/// A count above its total is taken as the total.
#[must_use]
pub fn two_sided_p(a_bad: u32, a_total: u32, b_bad: u32, b_total: u32) -> f64 {
    let (a_bad, b_bad) = (a_bad.min(a_total), b_bad.min(b_total));
    let all_bad = u64::from(a_bad) + u64::from(b_bad);
    let (a_total, b_total) = (u64::from(a_total), u64::from(b_total));
    // Logarithm of the number of ways to get `k` of all bad results in a, with the margins held.
    let log_ways = |k: u64| log_binomial(a_total, k) + log_binomial(b_total, all_bad - k);
    // Tables that are as likely as the one seen must not be lost to rounding; R uses the same tolerance.
    let no_more_likely = log_ways(u64::from(a_bad)) + 1e-7;
    let (lowest, highest) = (all_bad.saturating_sub(b_total), all_bad.min(a_total));
    let log_total = log_binomial(a_total + b_total, all_bad);
    let p: f64 = (lowest..=highest)
        .map(log_ways)
        .filter(|ways| *ways <= no_more_likely)
        .map(|ways| libm::exp(ways - log_total))
        .sum();
    p.min(1.0)
}

fn log_binomial(n: u64, k: u64) -> f64 {
    let log_factorial = |n: u64| libm::lgamma(n as f64 + 1.0);
    log_factorial(n) - log_factorial(k) - log_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lady_tasting_tea_has_34_in_70() {
        let p = two_sided_p(3, 4, 1, 4);
        assert!((p - 34.0 / 70.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn four_failures_of_ten_against_none_do_not_reach_five_percent_and_five_do() {
        assert!(two_sided_p(0, 10, 4, 10) > 0.05);
        let five = two_sided_p(0, 10, 5, 10);
        assert!((five - 2.0 * 252.0 / 15504.0).abs() < 1e-12, "{five}");
    }

    #[test]
    fn nothing_failed_and_nothing_ran_are_no_evidence() {
        assert_eq!(two_sided_p(0, 10, 0, 10), 1.0);
        assert_eq!(two_sided_p(0, 0, 0, 0), 1.0);
        assert_eq!(two_sided_p(3, 3, 0, 0), 1.0);
    }
}
