//! The noncentral t distribution: what a t statistic looks like when there is an effect.
//!
//! It has no closed form: T = (Z + δ) / S with S² = χ²/df, so its tail is the mean of a normal tail over the density of
//! S (Johnson and Kotz, "Continuous Univariate Distributions 2", ch. 31), which is integrated here by the trapezoid rule
//! over v = ln S, where the integrand is smooth and falls off on both sides.

use super::normal;

/// P(T > t) with `df` degrees of freedom and noncentrality `delta`.
#[must_use]
pub fn upper(t: f64, df: f64, delta: f64) -> f64 {
    // Beyond any doubt: the estimate is further from t than any noise reaches.
    if delta - t > 1e4 * (1.0 + t.abs()) {
        return 1.0;
    }
    // Fine against both the width of the density and the width of the normal step. The rule's error falls as
    // exp(−c / step): a quarter of this step changes no digit.
    let step = (0.2 / (2.0 * df).sqrt()).min(0.1 / (1.0 + delta.abs().max(t.abs())));
    // ln of the density of v = ln S, up to a constant: its maximum is 0 at v = 0.
    let log_density = |v: f64| df * (v - libm::expm1(2.0 * v) / 2.0);
    let mut mass = 0.0;
    let mut above = 0.0;
    let mut add = |v: f64| -> bool {
        let weight = libm::exp(log_density(v));
        mass += weight;
        above += weight * normal::upper(t * libm::exp(v) - delta);
        weight > 1e-18
    };
    add(0.0);
    for direction in [-1.0, 1.0] {
        let mut steps = 1.0;
        while add(direction * steps * step) {
            steps += 1.0;
        }
    }
    above / mass
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::student_t;

    #[test]
    fn without_an_effect_it_is_student_s_t() {
        for df in [1.0, 2.0, 5.5, 18.0, 400.0] {
            for t in [-3.0, 0.0, 0.7, 2.1, 9.0] {
                let (found, wanted) = (upper(t, df, 0.0), student_t::upper(t, df));
                assert!((found - wanted).abs() < 1e-13, "t {t}, df {df}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn the_tails_of_an_effect_and_of_its_mirror_image_add_up_to_one() {
        for (t, df, delta) in [(2.0, 3.0, 1.5), (-1.0, 18.0, 4.0), (25.0, 9.0, 20.0)] {
            let sum = upper(t, df, delta) + upper(-t, df, -delta);
            assert!((sum - 1.0).abs() < 1e-13, "{sum}");
        }
    }
}
