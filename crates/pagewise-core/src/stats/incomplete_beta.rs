//! The regularised incomplete beta function I_x(a, b), from which the tails of t and F follow.

/// ln B(a, b).
pub(super) fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    // Two large logarithms would lose the digits of their difference; below this they are small enough.
    const LARGE: f64 = 100.0;
    if large < LARGE {
        return libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    }
    // ln Γ(large + small) − ln Γ(large) by Stirling's series (DLMF 5.11.1), the large parts cancelled by hand.
    let remainder = |z: f64| (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * z * z)) / (z * z)) / z;
    let sum = large + small;
    let growth = (large - 0.5) * libm::log1p(small / large) + small * (libm::log(sum) - 1.0);
    libm::lgamma(small) - growth - (remainder(sum) - remainder(large))
}

/// I_x(a, b). `y` is 1 − x, handed in because the caller has it without rounding; `ln_beta` is [`ln_beta`] of a and b,
/// handed in because one pair is asked for many x.
pub(super) fn regularised(a: f64, b: f64, ln_beta: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    // The fraction converges fast on this side of the mean; the other side is its complement (DLMF 8.17.4).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - below_mean(b, a, ln_beta, y, x);
    }
    below_mean(a, b, ln_beta, x, y)
}

/// DLMF 8.17.22, its continued fraction evaluated by the modified Lentz method.
fn below_mean(a: f64, b: f64, ln_beta: f64, x: f64, y: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MOST_TERMS: u32 = 10_000;
    let keep_off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let log_front = a * libm::log(x) + b * libm::log(y) - ln_beta;
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

    #[test]
    fn the_series_for_large_arguments_meets_the_plain_formula() {
        for (a, b) in [(100.5, 0.5), (150.0, 3.0), (0.5, 120.0), (130.0, 170.0)] {
            let plain = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
            assert!((ln_beta(a, b) - plain).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn the_two_sides_of_the_mean_add_up_to_one() {
        for (a, b, x) in [(0.5, 3.0, 0.2), (9.0, 0.5, 0.9), (40.0, 70.0, 0.37)] {
            let ln_beta = ln_beta(a, b);
            let sum = regularised(a, b, ln_beta, x, 1.0 - x) + regularised(b, a, ln_beta, 1.0 - x, x);
            assert!((sum - 1.0).abs() < 1e-14, "{a} {b} {x}: {sum}");
        }
    }
}
