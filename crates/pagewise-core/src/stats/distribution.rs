//! Upper tails of chi-square and F, for tests that count squares.
//!
//! On `libm` for the reason given in [`super::student_t`].

use super::incomplete_beta;

/// P(X > `x`) for chi-square with `df` degrees of freedom. 1 at zero and below.
///
/// The regularised incomplete gamma function Q(df/2, x/2): below its mean by the series DLMF 8.11.4, above by the
/// continued fraction DLMF 8.9.2.
#[must_use]
pub fn chi_square_upper(x: f64, df: f64) -> f64 {
    let (a, x) = (df / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let log_front = a * libm::log(x) - x - libm::lgamma(a);
    if x < a + 1.0 { 1.0 - libm::exp(log_front) * below_mean(a, x) } else { libm::exp(log_front) * above_mean(a, x) }
}

/// More terms than any argument in use needs.
const MOST_TERMS: u32 = 100_000;

fn below_mean(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for n in 1..MOST_TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term <= sum * 1e-17 {
            break;
        }
    }
    sum
}

/// Evaluated by the modified Lentz method.
fn above_mean(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep_off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut b = x + 1.0 - a;
    let mut numerator = 1.0 / TINY;
    let mut denominator = 1.0 / keep_off_zero(b);
    let mut fraction = denominator;
    for n in 1..MOST_TERMS {
        let n = f64::from(n);
        let coefficient = -n * (n - a);
        b += 2.0;
        denominator = 1.0 / keep_off_zero(coefficient * denominator + b);
        numerator = keep_off_zero(b + coefficient / numerator);
        let change = denominator * numerator;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// P(F > `f`) with `df1` degrees of freedom above the line and `df2` below. 1 at zero and below.
#[must_use]
pub fn f_upper(f: f64, df1: f64, df2: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    let (a, b) = (df2 / 2.0, df1 / 2.0);
    let (below, above) = (df2 / (df2 + df1 * f), df1 * f / (df2 + df1 * f));
    // Beyond the range of a float no probability is left.
    if above.is_nan() { 0.0 } else { incomplete_beta::regularised(a, b, incomplete_beta::ln_beta(a, b), below, above) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::student_t;
    use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

    #[test]
    fn tails_agree_with_statrs() {
        for df in [1.0, 2.0, 5.0, 10.0, 33.0, 150.0] {
            let reference = ChiSquared::new(df).unwrap();
            for x in [0.1, 0.9, 3.0, 10.0, 40.0, 160.0] {
                let (found, wanted) = (chi_square_upper(x, df), reference.sf(x));
                assert!((found - wanted).abs() <= 1e-9 * wanted + 1e-15, "{x} at {df}: {found} {wanted}");
            }
            for df2 in [1.0, 4.0, 21.0, 300.0] {
                let reference = FisherSnedecor::new(df, df2).unwrap();
                for f in [0.01, 0.4, 1.0, 2.5, 20.0] {
                    let (found, wanted) = (f_upper(f, df, df2), reference.sf(f));
                    assert!((found - wanted).abs() <= 1e-9 * wanted + 1e-13, "{f} at {df}, {df2}: {found} {wanted}");
                }
            }
        }
    }

    #[test]
    fn the_square_of_t_is_f() {
        for (t, df) in [(0.3, 2.0), (2.1, 9.0), (14.0, 30.5)] {
            let (f, t) = (f_upper(t * t, 1.0, df), student_t::two_sided_p(t, df));
            assert!((f / t - 1.0).abs() < 1e-12, "{f} {t}");
        }
    }

    #[test]
    fn nothing_is_certain_and_everything_impossible() {
        assert_eq!((chi_square_upper(0.0, 3.0), f_upper(0.0, 3.0, 4.0)), (1.0, 1.0));
        assert_eq!((chi_square_upper(1e9, 3.0), f_upper(f64::INFINITY, 3.0, 4.0)), (0.0, 0.0));
    }
}
