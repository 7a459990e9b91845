//! Student's t: tail probabilities and critical values.
//!
//! Written on `libm` rather than taken from a library that calls the platform's `log` and `exp`: the C library picks
//! other variants of those on other processors, and an analysis must give the same bytes everywhere. The tests hold
//! it against `statrs` and against R.

use super::{incomplete_beta, normal};

/// P(|T| ≥ |t|) with `df` degrees of freedom: the two-sided p-value.
///
/// The identity with the regularised incomplete beta function is DLMF 8.17 with x = df / (df + t²).
#[must_use]
pub fn two_sided_p(t: f64, df: f64) -> f64 {
    Tails::new(df).two_sided_p(t)
}

/// P(T > t): the one-sided p-value.
#[must_use]
pub fn upper(t: f64, df: f64) -> f64 {
    let half = two_sided_p(t, df) / 2.0;
    if t > 0.0 { half } else { 1.0 - half }
}

/// The t with P(|T| ≥ t) = `alpha`: half the width of a 1 − alpha interval in standard errors.
///
/// The tail probability is convex in t > 0, so Newton's steps from below the answer approach it and never pass it; the
/// first step that does not move up is the last. The normal quantile is below the answer, and so is, except for
/// rounding, the first term of the expansion of Cornish and Fisher about it (Abramowitz and Stegun 26.7.5).
#[must_use]
pub fn critical_value(alpha: f64, df: f64) -> f64 {
    if alpha >= 1.0 {
        return 0.0;
    }
    // A step multiplies a far t by at least 1 + 1/df, so this bound is reached only by an alpha of 0.
    const MOST_STEPS: u32 = 2000;
    let tails = Tails::new(df);
    let z = -normal::quantile(alpha / 2.0);
    let expanded = z + z * (1.0 + z * z) / (4.0 * df);
    let mut t = if tails.two_sided_p(expanded) > alpha { expanded } else { z.min(f64::MAX) };
    for _ in 0..MOST_STEPS {
        let next = t + (tails.two_sided_p(t) - alpha) / (2.0 * tails.density(t));
        if next.is_nan() || next <= t {
            break;
        }
        t = next;
    }
    t
}

/// The distribution for one number of degrees of freedom, with what does not depend on t.
struct Tails {
    df: f64,
    /// ln B(df/2, 1/2).
    ln_beta: f64,
}

impl Tails {
    fn new(df: f64) -> Tails {
        Tails { df, ln_beta: incomplete_beta::ln_beta(df / 2.0, 0.5) }
    }

    fn two_sided_p(&self, t: f64) -> f64 {
        let (df, square) = (self.df, t * t);
        if square.is_infinite() {
            // So far out only the first term is left: x^(df/2) / (df/2 · B), and x = df / t².
            let log_x = libm::log(df) - 2.0 * libm::log(t.abs());
            return libm::exp(df / 2.0 * log_x - self.ln_beta) / (df / 2.0);
        }
        incomplete_beta::regularised(df / 2.0, 0.5, self.ln_beta, df / (df + square), square / (df + square))
    }

    /// Probability density at t.
    fn density(&self, t: f64) -> f64 {
        let df = self.df;
        libm::exp(-self.ln_beta - libm::log(df) / 2.0 - (df + 1.0) / 2.0 * libm::log1p(t * t / df))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    #[test]
    fn tails_and_critical_values_agree_with_statrs() {
        for df in [1.0, 2.0, 3.0, 8.0, 18.0, 60.0, 998.0] {
            let reference = StudentsT::new(0.0, 1.0, df).unwrap();
            for t in [0.01, 0.5, 1.0, 2.3, 5.0, 12.0] {
                let wanted = 2.0 * reference.sf(t);
                assert!((two_sided_p(t, df) / wanted - 1.0).abs() < 1e-10, "p of t {t} at df {df}");
            }
            for alpha in [0.2, 0.1, 0.05, 0.01, 0.001] {
                let wanted = reference.inverse_cdf(1.0 - alpha / 2.0);
                let found = critical_value(alpha, df);
                assert!((found / wanted - 1.0).abs() < 1e-9, "t of {alpha} at df {df}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        let p = two_sided_p(1.0, 1.0);
        assert!((p - 0.5).abs() < 1e-15, "{p}");
        let t = critical_value(0.05, 1.0);
        assert!((t - 12.706204736432095).abs() < 1e-9, "{t}");
    }

    #[test]
    fn an_endless_t_keeps_its_tail_where_a_float_can_hold_it() {
        // With one degree of freedom P(|T| ≥ t) is 2 / (π t) far out.
        for t in [1e150, 1e160, 1e300, 1e307] {
            let wanted = 2.0 / std::f64::consts::PI / t;
            assert!((two_sided_p(t, 1.0) / wanted - 1.0).abs() < 1e-12, "{t}");
        }
        let denormal = two_sided_p(1e40, 8.0);
        assert!(denormal > 0.0 && denormal < f64::MIN_POSITIVE, "{denormal:e}");
    }

    #[test]
    fn the_two_sides_share_the_probability() {
        assert_eq!(upper(0.0, 7.0), 0.5);
        assert!((upper(-1.3, 7.0) + upper(1.3, 7.0) - 1.0).abs() < 1e-15);
        assert_eq!(upper(2.0, 7.0), two_sided_p(2.0, 7.0) / 2.0);
    }

    #[test]
    fn no_difference_has_p_one_and_an_endless_one_p_zero() {
        assert_eq!(two_sided_p(0.0, 8.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 8.0), 0.0);
    }
}
