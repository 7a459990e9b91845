//! Tails and quantiles.

use super::claim::{Claim, assert_r_agrees};
use pagewise_core::stats::{distribution, noncentral_t, normal, student_t};
use pagewise_testkit::oracles::two_sample_power;
use pagewise_testkit::requires;

#[test]
fn tails_and_quantiles_are_r_s() {
    requires!(r);
    let mut claims = Vec::new();
    for z in [-37.0, -8.0, -2.5, -0.4, 0.0, 0.7, 3.0, 9.0, 30.0] {
        claims.push(Claim::new(
            format!("c(pnorm({z}), pnorm({z}, lower.tail = FALSE))"),
            vec![normal::cdf(z), normal::upper(z)],
        ));
    }
    for p in [1e-300, 1e-40, 1e-9, 0.01, 0.2, 0.4999, 0.6, 0.99, 0.999_999_9] {
        claims.push(Claim::new(format!("qnorm({p})"), vec![normal::quantile(p)]));
    }
    for (x, df) in [(0.01, 1.0), (3.0, 1.0), (9.0, 4.0), (30.0, 10.0), (200.0, 20.0), (900.0, 1000.0), (600.0, 1.0)] {
        claims.push(Claim::new(
            format!("pchisq({x}, {df}, lower.tail = FALSE)"),
            vec![distribution::chi_square_upper(x, df)],
        ));
    }
    for (f, df1, df2) in [(0.1, 1.0, 4.0), (2.0, 3.0, 17.5), (50.0, 2.0, 300.0), (1.1, 40.0, 2000.0)] {
        claims.push(Claim::new(
            format!("pf({f}, {df1}, {df2}, lower.tail = FALSE)"),
            vec![distribution::f_upper(f, df1, df2)],
        ));
    }
    for t in [1e10, 1e37, 1e38, 3e38] {
        claims.push(Claim::new(format!("2 * pt(-{t:e}, 8)"), vec![student_t::two_sided_p(t, 8.0)]));
    }
    for df in [1.0, 1.37, 9.4, 17.538, 250.7, 4e5] {
        for t in [1e-8, 0.2, 2.1, 30.0, 1e4, 1e100] {
            claims.push(Claim::new(format!("2 * pt(-{t:e}, {df})"), vec![student_t::two_sided_p(t, df)]));
        }
        for alpha in [0.9, 0.1, 0.05, 0.000_1, 1e-12] {
            claims.push(Claim::new(
                format!("qt({alpha} / 2, {df}, lower.tail = FALSE)"),
                vec![student_t::critical_value(alpha, df)],
            ));
        }
        for (t, delta) in [(0.5, 0.2), (2.0, 3.0), (5.0, 1.0), (-1.0, 0.5)] {
            // R's own is good to about this.
            let claim = Claim::new(
                format!("pt({t}, {df}, ncp = {delta}, lower.tail = FALSE)"),
                vec![noncentral_t::upper(t, df, delta)],
            );
            claims.push(claim.within(1e-7));
        }
    }
    assert_r_agrees(&claims);
}

#[test]
fn the_power_of_two_samples_is_power_t_test_s() {
    requires!(r);
    let mut claims = Vec::new();
    for (n, sd, delta) in [(2.0, 1.0, 3.0), (3.0, 0.02, 0.02), (10.0, 1.0, 1.325), (20.0, 1.0, 1.0), (500.0, 9.0, 1.0)]
    {
        for alpha in [0.001, 0.05, 0.2] {
            let found = two_sample_power::power(n, sd, delta, alpha).unwrap();
            let expression = format!("power.t.test(n = {n}, delta = {delta}, sd = {sd}, sig.level = {alpha})$power");
            claims.push(Claim::new(expression, vec![found]).within(1e-8));
        }
    }
    for (sd, delta, alpha, power) in
        [(1.0, 1.0, 0.05, 0.9), (0.03, 0.02, 0.05, 0.8), (5.0, 1.0, 0.01, 0.95), (1.0, 2.5, 0.05, 0.5)]
    {
        let needed = two_sample_power::n_needed(sd, delta, alpha, power).unwrap();
        let seen = two_sample_power::detectable(12.0, sd, alpha, power).unwrap();
        let rest = format!("sd = {sd}, sig.level = {alpha}, power = {power}, tol = 1e-10");
        claims.push(
            Claim::new(
                format!("c(power.t.test(delta = {delta}, {rest})$n, power.t.test(n = 12, {rest})$delta)"),
                vec![needed, seen],
            )
            .within(1e-6),
        );
    }
    assert_r_agrees(&claims);
}
