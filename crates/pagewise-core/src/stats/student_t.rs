//! Student's t: tail probabilities and critical values.
//!
//! Written on `libm` rather than taken from a library that calls the platform's `log` and `exp`: the C library picks
//! other variants of those on other processors, and an analysis must give the same bytes everywhere. The tests hold
//! it against `statrs` and against R.

/// P(|T| ≥ |t|) with `df` degrees of freedom: the two-sided p-value.
///
/// The identity with the regularised incomplete beta function is DLMF 8.17 with x = df / (df + t²).
#[must_use]
pub fn two_sided_p(t: f64, df: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))
}

/// The t with P(|T| ≥ t) = `alpha`: half the width of a 1 − alpha interval in standard errors.
///
/// The tail probability is convex in t > 0, so Newton's steps from 0 approach the answer from below and never pass it;
/// the first step that does not move up is the last.
#[must_use]
pub fn critical_value(alpha: f64, df: f64) -> f64 {
    if alpha >= 1.0 {
        return 0.0;
    }
    // A step multiplies a far t by at least 1 + 1/df, so this bound is reached only by an alpha of 0.
    const MOST_STEPS: u32 = 2000;
    let mut t = 0.0;
    for _ in 0..MOST_STEPS {
        let next = t + (two_sided_p(t, df) - alpha) / (2.0 * density(t, df));
        if next.is_nan() || next <= t {
            break;
        }
        t = next;
    }
    t
}

/// Probability density at t.
fn density(t: f64, df: f64) -> f64 {
    let log_constant =
        libm::lgamma((df + 1.0) / 2.0) - libm::lgamma(df / 2.0) - libm::log(df * std::f64::consts::PI) / 2.0;
    libm::exp(log_constant - (df + 1.0) / 2.0 * libm::log1p(t * t / df))
}

/// Regularised incomplete beta function I_x(a, b); `y` is 1 − x, handed in because the caller has it without rounding.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    // The fraction converges fast on this side of the mean; the other side is its complement (DLMF 8.17.4).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta_below_mean(b, a, y, x);
    }
    incomplete_beta_below_mean(a, b, x, y)
}

/// DLMF 8.17.22, its continued fraction evaluated by the modified Lentz method.
fn incomplete_beta_below_mean(a: f64, b: f64, x: f64, y: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MOST_TERMS: u32 = 10_000;
    let keep_off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log(y);
    let mut numerator = 1.0;
    let mut denominator = 1.0 / keep_off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominator;
    for term in 1..MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            denominator = 1.0 / keep_off_zero(1.0 + coefficient * denominator);
            numerator = keep_off_zero(1.0 + coefficient / numerator);
            change = numerator * denominator;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    libm::exp(log_front) * fraction / a
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
    fn no_difference_has_p_one_and_an_endless_one_p_zero() {
        assert_eq!(two_sided_p(0.0, 8.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 8.0), 0.0);
    }
}
