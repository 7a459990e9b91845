//! The statistics of a trial of pairs.

use super::claim::{Claim, Draw, assert_r_agrees, r_vector};
use pagewise_core::stats::crossover::{self, PairDifference};
use pagewise_core::stats::{benjamini_hochberg, fisher_exact, paired, power, student_t, trend};
use pagewise_testkit::requires;

#[test]
fn the_crossover_estimate_is_r_s_linear_model_of_difference_on_order() {
    requires!(r);
    let mut draw = Draw::new(1);
    let claims: Vec<Claim> = (0..20)
        .map(|data_set| {
            let pairs: Vec<PairDifference> = (0..4 + data_set)
                .map(|pair| PairDifference { a_first: pair % 3 != 1, difference: draw.unit() - 0.3 })
                .collect();
            let found = crossover::estimate(&pairs).unwrap();
            let (low, high) = found.interval(0.05);
            let (low_90, high_90) = found.interval(0.1);
            let difference: Vec<f64> = pairs.iter().map(|pair| pair.difference).collect();
            let order: Vec<f64> = pairs.iter().map(|pair| if pair.a_first { 1.0 } else { -1.0 }).collect();
            Claim::new(
                format!(
                    "{{ m <- lm({} ~ o, data.frame(o = {})); s <- summary(m); c(coef(m)[[1]], coef(m)[[2]], \
                     s$coefficients[1, 2], s$sigma, s$df[2], s$coefficients[1, 4], confint(m)[1, ], \
                     confint(m, level = 0.9)[1, ]) }}",
                    r_vector(&difference),
                    r_vector(&order)
                ),
                vec![
                    found.effect,
                    found.period,
                    found.standard_error,
                    found.residual_sd,
                    found.df,
                    found.p(),
                    low,
                    high,
                    low_90,
                    high_90,
                ],
            )
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn differences_within_blocks_are_r_s_one_sample_t_test() {
    requires!(r);
    let mut draw = Draw::new(31);
    let claims: Vec<Claim> = (0..60)
        .map(|data_set| {
            let scale = 10f64.powi(data_set % 13 - 6);
            let differences: Vec<f64> =
                draw.bells(2 + data_set as usize % 20).iter().map(|d| (d + 0.5) * scale).collect();
            let found = paired::test(&differences, 0.05).unwrap();
            Claim::new(
                format!(
                    "{{ t <- t.test({}); c(t$estimate, t$conf.int, t$p.value, t$parameter) }}",
                    r_vector(&differences)
                ),
                vec![found.difference, found.low, found.high, found.p, found.df],
            )
            // The ends of an interval may lie near zero.
            .within(1e-7)
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn student_s_t_is_r_s() {
    requires!(r);
    let mut claims = Vec::new();
    for df in [1.0, 2.0, 3.0, 8.0, 17.0, 98.0, 9998.0] {
        for t in [1e-3, 0.3, 1.0, 2.3, 7.0, 40.0] {
            claims.push(Claim::new(format!("2 * pt(-{t}, {df})"), vec![student_t::two_sided_p(t, df)]));
        }
        for alpha in [0.5, 0.1, 0.05, 0.01, 1e-5] {
            claims.push(Claim::new(
                format!("qt({alpha} / 2, {df}, lower.tail = FALSE)"),
                vec![student_t::critical_value(alpha, df)],
            ));
        }
    }
    assert_r_agrees(&claims);
}

#[test]
fn fisher_s_exact_test_is_r_s() {
    requires!(r);
    let mut draw = Draw::new(2);
    let claims: Vec<Claim> = (0..60)
        .map(|table| {
            let largest = if table < 40 { 20 } else { 300 };
            let (a_total, b_total) = (1 + draw.up_to(largest), 1 + draw.up_to(largest));
            let (a_bad, b_bad) = (draw.up_to(a_total), draw.up_to(b_total));
            let cells = format!("{a_bad}, {}, {b_bad}, {}", a_total - a_bad, b_total - b_bad);
            Claim::new(
                format!("fisher.test(matrix(c({cells}), 2))$p.value"),
                vec![fisher_exact::two_sided_p(a_bad, a_total, b_bad, b_total)],
            )
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn false_discovery_rates_are_r_s() {
    requires!(r);
    let mut draw = Draw::new(3);
    let claims: Vec<Claim> = [1, 2, 7, 150]
        .into_iter()
        .map(|count| {
            let p: Vec<f64> = (0..count).map(|_| draw.unit().powi(3)).collect();
            Claim::new(format!("p.adjust({}, 'BH')", r_vector(&p)), benjamini_hochberg::adjusted(&p))
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn power_is_that_of_r_s_two_sample_t_test() {
    requires!(r);
    let mut claims = Vec::new();
    for (pairs, sd, effect) in
        [(4, 0.02, 0.02), (10, 0.028, 0.03), (20, 0.05, 0.02), (60, 0.05, 0.02), (400, 0.1, 0.02)]
    {
        // Half the difference of two means of n/2: twice the effect against the same spread.
        claims.push(Claim::new(
            format!("power.t.test(n = {}, delta = {}, sd = {sd})$power", pairs / 2, 2.0 * effect),
            vec![power::crossover_power(pairs, sd, effect, 0.05)],
        ));
    }
    for (sd, effect) in [(0.02, 0.02), (0.05, 0.02), (0.1, 0.02), (0.03, 0.05)] {
        let needed = power::pairs_needed(sd, effect, 0.05, 0.9, 4).unwrap();
        let power = |n: u32| {
            let (ab, ba) = (n / 2, n - n / 2);
            format!(
                "pt(qt(0.975, {n} - 2), {n} - 2, {effect} / ({sd} / 2 * sqrt(1 / {ab} + 1 / {ba})), lower.tail = FALSE)"
            )
        };
        claims.push(Claim::new(format!("c({} >= 0.9, {} < 0.9)", power(needed), power(needed - 1)), vec![1.0, 1.0]));
    }
    assert_r_agrees(&claims);
}

#[test]
fn the_trend_test_is_r_s_exact_rank_correlation_with_time() {
    requires!(r);
    let mut draw = Draw::new(4);
    let claims: Vec<Claim> = [5, 8, 20, 40, 49]
        .into_iter()
        .map(|count| {
            let values: Vec<f64> = (0..count).map(|i| draw.unit() + f64::from(i) * 0.01).collect();
            Claim::new(
                format!("cor.test(1:{count}, {}, method = 'kendall', exact = TRUE)$p.value", r_vector(&values)),
                vec![trend::mann_kendall_p(&values)],
            )
        })
        .collect();
    assert_r_agrees(&claims);
}
