//! What is looked for in every sample: normality, two heaps, dependence.

use super::claim::{Claim, Draw, assert_r_agrees, r_vector};
use pagewise_core::stats::{autocorrelation, dip, shapiro_wilk};
use pagewise_testkit::requires;

#[test]
fn shapiro_and_wilk_s_p_is_shapiro_test_s() {
    requires!(r);
    let mut draw = Draw::new(21);
    let claims: Vec<Claim> = (0..200)
        .map(|data_set| {
            let n = [3, 4, 5, 6, 7, 10, 11, 12, 20, 50, 300, 5000][data_set % 12];
            let mut values = draw.bells(n);
            let bend: fn(f64) -> f64 = match data_set % 5 {
                0 => |value| value * value * value,
                1 => |value| (2.0 * value).round(),
                2 => |value| 1e6 + value,
                3 => |value| value.abs(),
                _ => |value| value * 1e-40,
            };
            values.iter_mut().for_each(|value| *value = bend(*value));
            let p = shapiro_wilk::p(&values).unwrap_or(f64::NAN);
            let expression = format!("tryCatch(shapiro.test({})$p.value, error = function(e) NaN)", r_vector(&values));
            Claim::new(expression, vec![p]).within(1e-8)
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn the_dip_is_diptest_s() {
    requires!(r, r_packages);
    let mut draw = Draw::new(22);
    let claims: Vec<Claim> = (0..300)
        .map(|data_set| {
            let mut values = draw.bells(2 + data_set % 60);
            for (i, value) in values.iter_mut().enumerate() {
                match data_set % 4 {
                    0 => *value = (2.0 * *value).round(),
                    1 => *value += if i % 2 == 0 { 5.0 } else { 0.0 },
                    2 => *value = *value * *value * *value,
                    _ => {}
                }
            }
            Claim::new(format!("diptest::dip({})", r_vector(&values)), vec![dip::dip(&values).unwrap()])
        })
        .collect();
    assert_r_agrees(&claims);
}

#[test]
fn dependence_is_acf_s() {
    requires!(r);
    let mut draw = Draw::new(23);
    let claims: Vec<Claim> = (0..60)
        .map(|data_set| {
            let mut values = draw.bells(4 + data_set);
            for i in 1..values.len() {
                values[i] += [0.0, 0.5, 0.95][data_set % 3] * values[i - 1];
            }
            let x = r_vector(&values);
            Claim::new(format!("acf({x}, plot = FALSE)$acf[2]"), vec![autocorrelation::lag_one(&values).unwrap()])
        })
        .collect();
    assert_r_agrees(&claims);
}
