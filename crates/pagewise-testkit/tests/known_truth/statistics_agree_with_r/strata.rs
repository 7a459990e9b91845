//! The difference of two samples within strata, and the balance of the strata.

use super::claim::{Claim, Draw, assert_r_agrees_with, r_vector};
use pagewise_core::stats::stratified::{self, Stratum};
use pagewise_testkit::requires;

#[test]
fn the_difference_within_strata_is_that_of_lm_and_the_balance_that_of_its_coefficients() {
    requires!(r);
    let preamble = "
        within <- function(y, g, s) {
          m <- lm(y ~ 0 + factor(s) + g); found <- summary(m)$coefficients['g', ]
          e <- coef(m)[paste0('factor(s)', s)]
          away <- mean(e[g == 1]) - mean(e[g == 0]); error <- sqrt(var(e) * (1 / sum(g == 1) + 1 / sum(g == 0)))
          c(found[1:2], m$df.residual, confint(m, 'g'), 2 * pnorm(-abs(away) / error))
        }";
    let mut draw = Draw::new(21);
    let claims: Vec<Claim> = (0..60)
        .filter_map(|case| {
            let strata_count = 2 + case % 5;
            let mut strata: Vec<Stratum> = vec![Stratum::default(); strata_count as usize];
            let (mut y, mut g, mut s) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..12 + case % 30 {
                let stratum = draw.up_to(strata_count - 1);
                // The higher the stratum, the more often b.
                let is_b = draw.unit() < f64::from(stratum + 1) / f64::from(strata_count + 1);
                let value = 100.0 + 3.0 * f64::from(stratum) + if is_b { 1.0 } else { 0.0 } + draw.bell();
                let (a, b) = &mut strata[stratum as usize];
                if is_b {
                    b.push(value)
                } else {
                    a.push(value)
                }
                y.push(value);
                g.push(f64::from(u8::from(is_b)));
                s.push(f64::from(stratum));
            }
            let found = stratified::difference(&strata)?;
            let (low, high) = found.interval(0.05);
            let expression = format!("within({}, {}, {})", r_vector(&y), r_vector(&g), r_vector(&s));
            let ours = vec![found.difference, found.standard_error, found.df, low, high, found.balance_p];
            // An end of the interval, or the balance, may be near zero.
            Some(Claim::new(expression, ours).within(1e-6))
        })
        .collect();
    assert!(claims.len() > 50, "{}", claims.len());
    assert_r_agrees_with(preamble, &claims);
}
