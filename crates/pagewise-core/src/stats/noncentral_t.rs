//! The noncentral t distribution: what a t statistic looks like when there is an effect.
//!
//! It has no closed form: T = (Z + δ) / S with S² = χ²/df (Johnson and Kotz, "Continuous Univariate Distributions 2",
//! ch. 31). Its tail is the mean of a normal tail over the density of S, or the mean of a tail of S over the density of
//! Z. Both are integrated by the trapezoid rule, which for a smooth integrand that falls off on both sides converges as
//! fast as any; which of the two depends on whose tail is the blunter one.

use super::{distribution, normal};

/// P(T > t) with `df` degrees of freedom and noncentrality `delta`, to about 1e-13; what is nearer to 0 or 1 may be that.
#[must_use]
pub fn upper(t: f64, df: f64, delta: f64) -> f64 {
    const FAR: f64 = 30.0;
    if delta < -FAR {
        return 1.0 - upper(-t, df, -delta);
    }
    // Beyond any doubt: S would have to be ten times its usual size, or Z nine deviations away.
    if delta > 10.0 * (1.0 + t.abs()) {
        return 1.0;
    }
    if delta > FAR && delta > 3.0 * (2.0 * df).sqrt() {
        return over_z(t, df, delta);
    }
    over_s(t, df, delta)
}

/// Over v = ln S. The normal tail falls where t · S is near δ, and there its slope in v is about δ.
fn over_s(t: f64, df: f64, delta: f64) -> f64 {
    // Half of this step changes no digit.
    let step = (0.2 / (2.0 * df).sqrt()).min(0.1 / (1.0 + delta.abs()));
    // ln of the density of v, up to a constant: its maximum is 0 at v = 0.
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

/// Over Z, for a δ so large that Z + δ is positive; t is, too, because it is of the size of δ.
fn over_z(t: f64, df: f64, delta: f64) -> f64 {
    const STEP: f64 = 0.25;
    const STEPS_TO_THE_END: i32 = 36;
    let (mut mass, mut above) = (0.0, 0.0);
    for place in -STEPS_TO_THE_END..=STEPS_TO_THE_END {
        let z = STEP * f64::from(place);
        let weight = libm::exp(-z * z / 2.0);
        let largest = ((z + delta) / t).max(0.0);
        mass += weight;
        above += weight * (1.0 - distribution::chi_square_upper(df * largest * largest, df));
    }
    // Of a negative t every Z + δ is above, whatever S.
    if t <= 0.0 { 1.0 } else { above / mass }
}

/// The noncentrality with which a t as large as this one has probability `p`.
///
/// On the scale of normal quantiles that probability is almost a straight line in the noncentrality, so that the secant
/// gets there in a few steps.
#[must_use]
pub fn noncentrality(t: f64, df: f64, p: f64) -> f64 {
    const MOST_STEPS: u32 = 60;
    let wanted = normal::quantile(p);
    let slope = 1.0 / (1.0 + t * t / (2.0 * df)).sqrt();
    let miss = |delta: f64| normal::quantile(upper(t, df, delta)) - wanted;
    let (mut before, mut delta) = (t, t + wanted / slope);
    let mut miss_before = miss(before);
    for _ in 0..MOST_STEPS {
        let missed = miss(delta);
        let next = delta - missed * (delta - before) / (missed - miss_before);
        if !next.is_finite() || (next - delta).abs() <= 1e-11 * (1.0 + delta.abs()) {
            break;
        }
        (before, miss_before, delta) = (delta, missed, next);
    }
    delta
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
        for (t, df, delta) in [(2.0, 3.0, 1.5), (-1.0, 18.0, 4.0), (25.0, 9.0, 20.0), (40.0, 9.0, 33.0)] {
            let sum = upper(t, df, delta) + upper(-t, df, -delta);
            assert!((sum - 1.0).abs() < 1e-13, "{sum}");
        }
    }

    #[test]
    fn integrating_over_either_variable_gives_the_same() {
        for (t, df, delta) in [(31.0, 2.0, 31.0), (60.0, 5.0, 40.0), (35.0, 50.0, 32.0), (50.0, 18.0, 70.0)] {
            let (found, wanted) = (over_z(t, df, delta), over_s(t, df, delta));
            assert!((found - wanted).abs() < 1e-12, "t {t}, df {df}, delta {delta}: {found} {wanted}");
        }
    }

    #[test]
    fn an_endless_effect_leaves_only_the_spread_of_s() {
        for (ratio, df) in [(0.7, 18.0_f64), (1.2, 3.0), (1.0, 40.0)] {
            let wanted = 1.0 - distribution::chi_square_upper(df * ratio * ratio, df);
            assert!((upper(1e9, df, 1e9 * ratio) - wanted).abs() < 1e-9);
        }
    }
}
