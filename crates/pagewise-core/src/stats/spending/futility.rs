//! Whether going on can still decide anything: conditional power.
//!
//! The final statistic is what is in plus an independent normal increment. Its chance to cross the last boundary is
//! computed under the smallest effect that matters, in the direction that suits the data better; the chance to end
//! equivalent is computed under no effect. When neither reaches [`HOPELESS`], stopping saves points at next to no cost.
//! The rule does not bind: boundaries are computed as if it did not exist, so ignoring it raises no false alarms and
//! following it can only lower them. Source: Jennison and Turnbull, "Group Sequential Methods" (2000), section 10.2;
//! Lan and Wittes, Biometrics 44 (1988), 579–585. Noise is taken as this analysis knows it, which with few blocks is
//! roughly.

use super::Boundary;
use crate::stats::normal;

/// Below this chance of a conclusion a trial is hopeless.
pub const HOPELESS: f64 = 0.1;

/// What an analysis knows, and what it will be held against at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Estimate of the effect at this analysis.
    pub estimate: f64,
    /// Its standard error, above 0.
    pub standard_error: f64,
    /// Share of the planned information that is in, above 0 and at most 1.
    pub fraction: f64,
}

/// What an analysis says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The boundary is crossed: stop, the effect is shown.
    Stop,
    /// Neither an effect nor equivalence is within reach: stopping is advised, going on is allowed.
    Hopeless,
    /// Go on.
    Continue,
}

/// What to do after an analysis with this two-sided p-value and these chances of a conclusion at the end.
///
/// `equivalence` is `None` where the trial has no margin. A chance that is no number keeps the trial going.
#[must_use]
pub fn decide(boundary: &Boundary, p: f64, effect: f64, equivalence: Option<f64>) -> Decision {
    if boundary.stops(p) {
        return Decision::Stop;
    }
    let hopeless = |chance: f64| chance < HOPELESS;
    if boundary.fraction < 1.0 && hopeless(effect) && equivalence.is_none_or(hopeless) {
        return Decision::Hopeless;
    }
    Decision::Continue
}

impl Outlook {
    /// Chance that the last analysis, with this critical value, shows an effect if it is as small as may matter.
    #[must_use]
    pub fn conditional_power(&self, smallest_effect: f64, critical: f64) -> f64 {
        let effect = smallest_effect.abs();
        let power = |effect: f64| {
            let (mean, sd) = self.final_z(effect);
            beyond((critical - mean) / sd) + beyond((critical + mean) / sd)
        };
        power(effect).max(power(-effect))
    }

    /// Chance that the last analysis's interval of so many standard errors lies inside the margin, if there is no effect.
    #[must_use]
    pub fn equivalence_power(&self, margin: (f64, f64), critical: f64) -> f64 {
        let (mean, sd) = self.final_z(0.0);
        let final_error = self.standard_error * self.fraction.sqrt();
        let (low, high) = (margin.0 / final_error + critical, margin.1 / final_error - critical);
        if low >= high {
            return 0.0;
        }
        (beyond((low - mean) / sd) - beyond((high - mean) / sd)).max(0.0)
    }

    /// Mean and standard deviation of the final statistic, given this analysis and a true effect.
    fn final_z(&self, effect: f64) -> (f64, f64) {
        let t = self.fraction.clamp(0.0, 1.0);
        let so_far = self.estimate / self.standard_error * t.sqrt();
        let to_come = effect / (self.standard_error * t.sqrt()) * (1.0 - t);
        (so_far + to_come, (1.0 - t).sqrt())
    }
}

/// P(Z ≥ z), and a certainty when nothing is left to come: z is then 0/0 only on the boundary itself.
fn beyond(z: f64) -> f64 {
    if z.is_nan() { f64::NAN } else { normal::upper(z) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(fraction: f64) -> Boundary {
        Boundary { fraction, spent: 0.01, nominal_p: 0.01, critical_z: 2.576, critical_t: 3.0 }
    }

    #[test]
    fn conditional_power_is_the_textbook_s() {
        // Half way at z = 1.5 with a design effect of z 3.24 at the end: P(Z ≥ (1.96 − 1.0607 − 1.62) / √0.5) = 0.8459.
        let outlook = Outlook { estimate: 1.5, standard_error: 1.0, fraction: 0.5 };
        let effect = 3.24 * 0.5_f64.sqrt();
        let found = outlook.conditional_power(effect, 1.96);
        assert!((found - 0.8459).abs() < 2e-4, "{found}");
    }

    #[test]
    fn a_flat_start_is_hopeless_for_an_effect_and_good_for_equivalence() {
        let outlook = Outlook { estimate: 0.0, standard_error: 0.01, fraction: 0.8 };
        let effect = outlook.conditional_power(0.005, 2.0);
        let equivalence = outlook.equivalence_power((-0.05, 0.05), 1.645);
        assert!(effect < HOPELESS && equivalence > 0.9, "{effect} {equivalence}");
        assert_eq!(decide(&boundary(0.8), 1.0, effect, Some(equivalence)), Decision::Continue);
        assert_eq!(decide(&boundary(0.8), 1.0, effect, Some(0.01)), Decision::Hopeless);
        assert_eq!(decide(&boundary(0.8), 1.0, effect, None), Decision::Hopeless);
        assert_eq!(decide(&boundary(1.0), 1.0, effect, None), Decision::Continue);
        assert_eq!(decide(&boundary(0.8), 0.01, effect, None), Decision::Stop);
    }

    #[test]
    fn too_much_noise_rules_equivalence_out() {
        let outlook = Outlook { estimate: 0.0, standard_error: 0.05, fraction: 0.4 };
        assert_eq!(outlook.equivalence_power((-0.02, 0.02), 1.8), 0.0);
    }

    #[test]
    fn both_directions_count_alike() {
        let at = |estimate| Outlook { estimate, standard_error: 0.3, fraction: 0.6 }.conditional_power(0.5, 2.1);
        assert_eq!(at(0.2), at(-0.2));
    }

    #[test]
    fn numbers_that_are_none_advise_nothing() {
        let outlook = Outlook { estimate: f64::NAN, standard_error: 0.0, fraction: 0.5 };
        let power = outlook.conditional_power(0.1, 2.0);
        assert_eq!(decide(&boundary(0.5), f64::NAN, power, None), Decision::Continue);
    }
}
