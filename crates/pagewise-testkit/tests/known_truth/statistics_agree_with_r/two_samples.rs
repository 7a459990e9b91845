//! Two independent samples, and paired differences: tests, intervals, effect sizes and adjustments.

use super::claim::{Claim, Draw, assert_r_agrees, assert_r_agrees_with, r_vector};
use pagewise_core::stats::{equivalence, hedges_g, hodges_lehmann, holm, mann_whitney, percent, welch};
use pagewise_testkit::requires;

/// Random samples of 2 to 12 values (a few of 30 to 70) of every awkward kind.
fn data_sets(seed: u64, count: u32) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut draw = Draw::new(seed);
    let data_set = |kind: u32| {
        let size = |draw: &mut Draw| (if kind % 17 == 16 { 30 + draw.up_to(40) } else { 2 + draw.up_to(10) }) as usize;
        let (m, n) = (size(&mut draw), size(&mut draw));
        let shift = draw.bell();
        let (mut a, mut b) = (draw.bells(m), draw.bells(n));
        b.iter_mut().for_each(|value| *value += shift);
        let bend: fn(f64) -> f64 = match kind % 7 {
            // Ties.
            0 => |value| (2.0 * value).round(),
            // A few values far out.
            1 => |value| value * value * value * value * value,
            // A tiny spread about a huge mean.
            2 => |value| 1e9 + value * 1e-3,
            3 => |value| 750.0 + 10.0 * value,
            4 => |value| value * 1e-70,
            5 => |value| value * 1e70,
            _ => |value| value,
        };
        a.iter_mut().chain(&mut b).for_each(|value| *value = bend(*value));
        (a, b)
    };
    (0..count).map(data_set).collect()
}

fn t_test(a: &[f64], b: &[f64]) -> String {
    format!(
        "tryCatch({{ r <- t.test({}, {}); c(r$statistic, r$parameter, r$p.value, r$conf.int, r$estimate) }}, \
         error = function(e) rep(NaN, 7))",
        r_vector(a),
        r_vector(b)
    )
}

#[test]
fn welch_s_test_is_t_test_on_300_data_sets() {
    requires!(r);
    let of_none = vec![f64::NAN; 7];
    let claims: Vec<Claim> = data_sets(11, 300)
        .iter()
        .map(|(a, b)| {
            let ours = welch::test(a, b, 0.05).map_or(of_none.clone(), |found| {
                vec![found.t, found.df, found.p, found.ci_low, found.ci_high, found.mean_a, found.mean_b]
            });
            Claim::new(t_test(a, b), ours)
        })
        .collect();
    let untested = claims.iter().filter(|claim| claim.ours[0].is_nan()).count();
    assert!(untested < 10, "{untested} data sets gave no test");
    assert_r_agrees(&claims);
}

#[test]
fn scales_at_which_r_overflows_have_the_numbers_of_the_same_data_in_other_units() {
    requires!(r);
    let mut claims = Vec::new();
    for (a, b) in data_sets(12, 60).iter().filter(|(a, _)| a.iter().all(|v| v.abs() < 1e12 && v.abs() > 1e-12)) {
        for scale in [1e-300, 1e300] {
            let scaled = |values: &[f64]| values.iter().map(|value| value * scale).collect::<Vec<f64>>();
            let Some(found) = welch::test(&scaled(a), &scaled(b), 0.05) else { continue };
            let in_unit = [found.ci_low, found.ci_high, found.mean_a, found.mean_b].map(|value| value / scale);
            // Scaling by a power of ten rounds every value anew.
            claims.push(Claim::new(t_test(a, b), [&[found.t, found.df, found.p], &in_unit[..]].concat()).within(1e-3));
        }
    }
    assert!(claims.len() > 40);
    assert_r_agrees(&claims);
}

#[test]
fn p_values_down_to_the_smallest_floats_are_r_s() {
    requires!(r);
    let claims: Vec<Claim> = [1e3, 1e9, 1e12, 1e14]
        .into_iter()
        .flat_map(|factor| {
            [3, 8, 25].map(|n| {
                let mut draw = Draw::new(13);
                let a: Vec<f64> = draw.bells(n).iter().map(|v| v / factor).collect();
                let b: Vec<f64> = draw.bells(n).iter().map(|v| 1.0 + v / factor).collect();
                let p = welch::test(&a, &b, 0.05).map_or(f64::NAN, |found| found.p);
                Claim::new(
                    format!("tryCatch(t.test({}, {})$p.value, error = function(e) NaN)", r_vector(&a), r_vector(&b)),
                    vec![p],
                )
            })
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn percentages_equivalence_and_hedges_g_are_those_of_r_s_primitives() {
    requires!(r);
    let preamble = "
        fieller <- function(a, b) {
          va <- var(a) / length(a); vb <- var(b) / length(b); q <- qt(0.975, t.test(a, b)$parameter)
          A <- mean(a)^2 - q^2 * va; B <- mean(a) * mean(b); C <- mean(b)^2 - q^2 * vb
          if (A <= 0) c(NaN, NaN) else (B + c(-1, 1) * sqrt(B^2 - A * C)) / A
        }
        logs <- function(a, b, margin) {
          r <- t.test(log(b), log(a)); s <- t.test(log(b), log(a), conf.level = 0.9)
          high <- t.test(log(b), log(a), mu = log(1 + margin), alternative = 'less')$p.value
          low <- t.test(log(b), log(a), mu = -log(1 + margin), alternative = 'greater')$p.value
          c(exp(r$estimate[[1]] - r$estimate[[2]]), exp(r$conf.int), r$p.value, r$stderr, r$parameter,
            max(low, high), exp(s$conf.int))
        }
        seed <- function(a, b) {
          r <- t.test(a, b); p <- r$conf.int * 100 / r$estimate[1]
          if ((p[1] > 0 && p[2] < 0) || (p[1] < 0 && p[2] > 0)) c(NaN, NaN) else c(-p[2], -p[1])
        }
        hedges <- function(a, b, low, high) {
          df <- length(a) + length(b) - 2; n <- sqrt(length(a) * length(b) / (length(a) + length(b)))
          s <- sqrt((sum((a - mean(a))^2) + sum((b - mean(b))^2)) / df); d <- (mean(b) - mean(a)) / s
          j <- gamma(df / 2) / (sqrt(df / 2) * gamma((df - 1) / 2))
          c(d * j, pt(d * n, df, ncp = low / j * n, lower.tail = FALSE),
            pt(d * n, df, ncp = high / j * n, lower.tail = FALSE))
        }";
    let mut claims = Vec::new();
    let mut draw = Draw::new(14);
    for data_set in 0_u32..80 {
        let spread = [0.001, 0.02, 0.3, 2.0][data_set as usize % 4];
        let mut values = |n: usize| draw.bells(n).iter().map(|v| 10.0 + spread * v).collect::<Vec<f64>>();
        let (a, mut b) = (values(2 + data_set as usize % 11), values(3 + data_set as usize % 7));
        b.iter_mut().for_each(|value| *value += spread * f64::from(data_set % 5));
        let arms = format!("{}, {}", r_vector(&a), r_vector(&b));
        let nan = || vec![f64::NAN; 2];
        let fieller = percent::fieller(&a, &b, 0.05).map_or_else(nan, |(low, high)| vec![1.0 + low, 1.0 + high]);
        claims.push(Claim::new(format!("fieller({arms})"), fieller));
        let seed = percent::as_r_prints(&welch::test(&a, &b, 0.05).unwrap());
        claims.push(Claim::new(format!("seed({arms})"), seed.map_or_else(nan, |(low, high)| vec![low, high])));
        if a.iter().chain(&b).all(|value| *value > 0.0) {
            let (ratio, tost) =
                (percent::log_ratio(&a, &b, 0.05).unwrap(), equivalence::tost(&a, &b, 0.02, 0.05).unwrap());
            let ours = vec![
                ratio.ratio,
                ratio.low,
                ratio.high,
                ratio.p,
                ratio.standard_error,
                ratio.df,
                tost.p,
                tost.low,
                tost.high,
            ];
            claims.push(Claim::new(format!("logs({arms}, 0.02)"), ours));
        }
        let found = hedges_g::g(&a, &b).unwrap();
        let expression = format!("hedges({arms}, {:e}, {:e})", found.ci_low, found.ci_high);
        claims.push(Claim::new(expression, vec![found.g, 0.025, 0.975]).within(1e-7));
    }
    assert_r_agrees_with(preamble, &claims);
}

fn has_ties(values: impl Iterator<Item = f64>) -> bool {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).any(|two| two[0] == two[1])
}

#[test]
fn rank_tests_and_their_intervals_are_wilcox_test_s() {
    requires!(r);
    let mut claims = Vec::new();
    let (mut exact, mut approximate) = (0, 0);
    for (a, b) in data_sets(15, 300) {
        let arms = format!("{}, {}", r_vector(&a), r_vector(&b));
        let tied = has_ties(a.iter().chain(&b).copied());
        if !tied && a.len().max(b.len()) < 50 {
            exact += 1;
            let (found, shift) =
                (mann_whitney::test(&a, &b).unwrap(), hodges_lehmann::two_sample(&a, &b, 0.05).unwrap());
            assert!(found.exact);
            claims.push(Claim::new(
                format!(
                    "{{ r <- wilcox.test({arms}, exact = TRUE, conf.int = TRUE); \
                     c(r$statistic, r$p.value, r$estimate, r$conf.int) }}"
                ),
                vec![found.u, found.p, -shift.shift, -shift.ci_high, -shift.ci_low],
            ));
        }
        let all_equal = a.iter().chain(&b).all(|value| *value == a[0]);
        if !all_equal {
            approximate += 1;
            let found = mann_whitney::approximate(&a, &b).unwrap();
            claims.push(Claim::new(
                format!("{{ r <- wilcox.test({arms}, exact = FALSE); c(r$statistic, r$p.value) }}"),
                vec![found.u, found.p],
            ));
        }
    }
    assert!(exact > 150 && approximate > 250, "{exact} {approximate}");
    assert_r_agrees(&claims);
}

#[test]
fn approximate_intervals_are_where_wilcox_test_s_search_ends() {
    requires!(r);
    let mut draw = Draw::new(16);
    let claims: Vec<Claim> = (0..24)
        .map(|data_set| {
            let (m, n) = (8 + 4 * data_set, 60 - data_set);
            let coarse = data_set % 3 == 0;
            let mut values = |n: usize| {
                let round = |v: &f64| if coarse { (4.0 * v).round() } else { *v };
                draw.bells(n).iter().map(round).collect::<Vec<f64>>()
            };
            let (a, b) = (values(m), values(n));
            let found = hodges_lehmann::approximate(&a, &b, 0.05).unwrap();
            // A hundred is added so that an end of zero has a scale.
            Claim::new(
                format!(
                    "100 + wilcox.test({}, {}, exact = FALSE, conf.int = TRUE, tol.root = 1e-12)$conf.int",
                    r_vector(&a),
                    r_vector(&b)
                ),
                vec![100.0 - found.ci_high, 100.0 - found.ci_low],
            )
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn signed_ranks_are_wilcox_test_s() {
    requires!(r);
    let mut draw = Draw::new(17);
    let mut claims = Vec::new();
    for data_set in 0..80 {
        let shift = draw.bell() / 2.0;
        let plain: Vec<f64> = draw.bells(1 + data_set % 48).iter().map(|v| v + shift).collect();
        let found = hodges_lehmann::signed_rank(&plain, 0.05).unwrap();
        assert!(found.exact);
        claims.push(Claim::new(
            format!(
                "{{ r <- wilcox.test({}, exact = TRUE, conf.int = TRUE); \
                 c(r$statistic, r$p.value, r$estimate, r$conf.int) }}",
                r_vector(&plain)
            ),
            vec![found.v, found.p, found.shift.shift, found.shift.ci_low, found.shift.ci_high],
        ));
        let mut tied: Vec<f64> = draw.bells(15 + data_set % 60).iter().map(|v| (3.0 * v + shift).round()).collect();
        // Nine differences that are not zero, and two of them alike, so that none of these is counted out.
        tied.extend([5.0, 5.0, 6.0, -7.0, 8.0, 9.0, -10.0, 11.0, 12.0]);
        let found = hodges_lehmann::signed_rank(&tied, 0.05).unwrap();
        assert!(!found.exact);
        claims.push(Claim::new(
            format!("{{ r <- wilcox.test({}, exact = FALSE); c(r$statistic, r$p.value) }}", r_vector(&tied)),
            vec![found.v, found.p],
        ));
    }
    assert_r_agrees(&claims);
}

#[test]
fn holm_s_p_values_are_p_adjust_s() {
    requires!(r);
    let mut draw = Draw::new(18);
    let claims: Vec<Claim> = [1, 2, 3, 12, 12, 200]
        .into_iter()
        .map(|count| {
            let p: Vec<f64> = (0..count).map(|i| if i % 5 == 4 { 0.01 } else { draw.unit().powi(4) }).collect();
            Claim::new(format!("p.adjust({}, 'holm')", r_vector(&p)), holm::adjusted(&p))
        })
        .collect();
    assert_r_agrees(&claims);
}
