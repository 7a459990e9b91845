//! Alpha spending: analysing a trial before its end without raising the rate of false alarms.
//!
//! A spending function says how much of alpha may be used up by the time a given fraction of the information is in. At
//! each analysis the critical p-value is the one that spends exactly the part that has become due, given that no earlier
//! analysis stopped. It depends only on the analyses made so far, never on their number or on the results, so analyses need not
//! be planned one by one and a resumed trial keeps what it has spent. Sources: Lan and DeMets, Biometrika 70 (1983),
//! 659–663; Kim and DeMets, Biometrika 74 (1987), 149–154; Jennison and Turnbull, "Group Sequential Methods" (2000),
//! ch. 7, 9 and 19.
//!
//! Tests are two-sided: half of alpha for each direction, as published boundaries have it. With few degrees of freedom
//! the boundaries come from the exact joint distribution of the t statistics ([`t_walk`]), otherwise from that of the
//! normal ones ([`normal_walk`]). An analysis compares the p-value of its t test with the analysis's nominal p.

pub mod futility;
mod normal_walk;
mod t_walk;

use super::{normal, student_t};
use normal_walk::NormalWalk;
use t_walk::TWalk;

/// How alpha is spent over the information fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Very little early, nearly all of alpha left for the end: 4 − 4 Φ(z₁₋α⁄₄ / √t).
    ObrienFleming,
    /// About the same nominal p at every analysis: α ln(1 + (e − 1) t).
    Pocock,
    /// α t^ρ. An exponent of 1 is close to Pocock, of 3 close to O'Brien-Fleming.
    Power {
        /// ρ, above 0.
        exponent: f64,
    },
}

/// A spending function with the alpha it spends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// How alpha is spent.
    pub rule: Rule,
    /// Two-sided level of the whole trial, between 0 and 1.
    pub alpha: f64,
}

/// How far the trial is at one analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Information, in any unit that is the same for all analyses: the number of blocks, or 1 over the squared standard
    /// error for errors of unit variance.
    pub information: f64,
    /// Share of the planned information, above 0 and at most 1; drives the spending. The analysis that ends a trial for
    /// good may say 1 although blocks were lost: it then spends what is left.
    pub fraction: f64,
    /// Degrees of freedom of the analysis's t test; infinite when the variance is known.
    pub df: f64,
}

/// The boundary at one analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundary {
    /// Share of the planned information.
    pub fraction: f64,
    /// Alpha spent up to and with this analysis.
    pub spent: f64,
    /// The analysis stops the trial when its two-sided p-value is at most this.
    pub nominal_p: f64,
    /// The same boundary for a normal statistic.
    pub critical_z: f64,
    /// The same boundary for this analysis's t statistic: half the width of the repeated interval in standard errors.
    pub critical_t: f64,
}

/// Why there are no boundaries.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SpendingError {
    /// Nothing can be spent.
    #[error("alpha is {alpha}; it must lie between 0 and 1")]
    Alpha {
        /// As given.
        alpha: f64,
    },
    /// Spending would not grow with the information.
    #[error("the spending exponent is {exponent}; it must be above 0")]
    Exponent {
        /// As given.
        exponent: f64,
    },
    /// A fraction outside (0, 1], or information that is no positive number.
    #[error(
        "analysis {analysis} has information {information} and fraction {fraction}; take a number above 0, and at most 1"
    )]
    NotAFraction {
        /// Number of the analysis, from 1.
        analysis: usize,
        /// As given.
        information: f64,
        /// As given.
        fraction: f64,
    },
    /// An analysis without new data.
    #[error("analysis {analysis} has no more information than the one before; leave it out")]
    NoNewInformation {
        /// Number of the analysis, from 1.
        analysis: usize,
    },
    /// Degrees of freedom that no test can have, or that do not grow from analysis to analysis.
    #[error(
        "analysis {analysis} has {df} degrees of freedom; it takes at least 1, and 1 more than the analysis before"
    )]
    DegreesOfFreedom {
        /// Number of the analysis, from 1.
        analysis: usize,
        /// As given.
        df: f64,
    },
}

impl Progress {
    /// An analysis of the paired t test after so many of the planned blocks.
    #[must_use]
    pub fn after_blocks(blocks: u32, planned: u32) -> Progress {
        let (blocks, planned) = (f64::from(blocks), f64::from(planned));
        Progress { information: blocks, fraction: blocks / planned, df: blocks - 1.0 }
    }

    /// The same analysis with the variance taken as known, for the boundaries that textbooks print.
    #[must_use]
    pub fn with_known_variance(self) -> Progress {
        Progress { df: f64::INFINITY, ..self }
    }
}

impl Boundary {
    /// Whether an analysis with this two-sided p-value stops the trial. A p-value that is no number stops nothing.
    #[must_use]
    pub fn stops(&self, p: f64) -> bool {
        p <= self.nominal_p && self.nominal_p > 0.0
    }

    /// The repeated interval: over all analyses together it covers the truth with probability of at least 1 − alpha.
    ///
    /// After a stop the interval of that analysis is the one to report. It is conservative: it allows for analyses that were
    /// not needed. Infinite where nothing may be spent yet.
    #[must_use]
    pub fn interval(&self, estimate: f64, standard_error: f64) -> (f64, f64) {
        let half_width = if self.critical_t.is_infinite() { f64::INFINITY } else { self.critical_t * standard_error };
        (estimate - half_width, estimate + half_width)
    }
}

impl Spending {
    /// Alpha that may be spent by the time this fraction of the information is in.
    #[must_use]
    pub fn spent(&self, fraction: f64) -> f64 {
        let t = fraction.clamp(0.0, 1.0);
        let alpha = self.alpha;
        let spent = match self.rule {
            Rule::ObrienFleming => 4.0 * normal::upper(-normal::quantile(alpha / 4.0) / t.sqrt()),
            Rule::Pocock => alpha * libm::log1p((std::f64::consts::E - 1.0) * t),
            Rule::Power { exponent } => alpha * libm::pow(t, exponent),
        };
        if t >= 1.0 { alpha } else { spent.min(alpha) }
    }

    /// The boundary at each analysis made or planned, in order. An analysis's boundary depends on no later analysis.
    ///
    /// # Errors
    /// When alpha, the rule or an analysis is not one; see [`SpendingError`].
    pub fn boundaries(&self, analyses: &[Progress]) -> Result<Vec<Boundary>, SpendingError> {
        self.check()?;
        let mut walk = Walk::start(analyses)?;
        let mut boundaries: Vec<Boundary> = Vec::with_capacity(analyses.len());
        let mut spent_before = 0.0;
        for at in analyses {
            let spent = self.spent(at.fraction).max(spent_before);
            walk.go_to(at);
            let nominal_p = nominal_p(&walk, spent - spent_before, spent);
            walk.continue_below(nominal_p);
            spent_before = spent;
            boundaries.push(Boundary {
                fraction: at.fraction,
                spent,
                nominal_p,
                critical_z: -normal::quantile(nominal_p / 2.0),
                critical_t: critical_t(nominal_p, at.df),
            });
        }
        Ok(boundaries)
    }

    fn check(&self) -> Result<(), SpendingError> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(SpendingError::Alpha { alpha: self.alpha });
        }
        match self.rule {
            Rule::Power { exponent } if !(exponent > 0.0 && exponent.is_finite()) => {
                Err(SpendingError::Exponent { exponent })
            }
            _ => Ok(()),
        }
    }
}

/// The probability, without an effect, that each analysis is the first whose p-value is at most its nominal p.
///
/// The sum is the rate of false alarms of any rule of this kind, good or bad.
///
/// # Errors
/// When an analysis is not one; see [`SpendingError`].
pub fn first_crossings(analyses: &[Progress], nominal_p: &[f64]) -> Result<Vec<f64>, SpendingError> {
    let mut walk = Walk::start(analyses)?;
    let crossing = |(at, p): (&Progress, &f64)| {
        walk.go_to(at);
        let crossing = walk.crossing(*p);
        walk.continue_below(*p);
        crossing
    };
    Ok(analyses.iter().zip(nominal_p).map(crossing).collect())
}

/// The nominal p that is crossed here for the first time with probability `due`.
///
/// It is at least `due`, since a first crossing is a crossing, and at most all that is spent so far, since a crossing
/// here is a crossing by now.
fn nominal_p(walk: &Walk, due: f64, spent: f64) -> f64 {
    // Below the precision of the integration; spending less than allowed is always valid.
    const TOO_LITTLE: f64 = 1e-12;
    if due < TOO_LITTLE {
        return 0.0;
    }
    let (mut low, mut high) = (libm::log(due), libm::log(spent));
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if walk.crossing(libm::exp(middle)) > due { high = middle } else { low = middle }
    }
    libm::exp(low)
}

fn critical_t(nominal_p: f64, df: f64) -> f64 {
    if nominal_p <= 0.0 {
        f64::INFINITY
    } else if df.is_infinite() {
        -normal::quantile(nominal_p / 2.0)
    } else {
        student_t::critical_value(nominal_p, df)
    }
}

/// Degrees of freedom from which on the joint distribution is the normal one to three digits, and tables of the exact
/// one would get too narrow a peak.
const AS_GOOD_AS_KNOWN: f64 = 1000.0;

/// The statistic on its way from analysis to analysis, among the trials that have not stopped.
enum Walk {
    Normal(NormalWalk),
    T(TWalk),
}

impl Walk {
    fn start(analyses: &[Progress]) -> Result<Walk, SpendingError> {
        let mut before: Option<&Progress> = None;
        for (index, at) in analyses.iter().enumerate() {
            check_analysis(index + 1, at, before)?;
            before = Some(at);
        }
        let known_variance = analyses.first().is_none_or(|at| at.df >= AS_GOOD_AS_KNOWN);
        Ok(if known_variance { Walk::Normal(NormalWalk::start()) } else { Walk::T(TWalk::start()) })
    }

    fn go_to(&mut self, at: &Progress) {
        match self {
            Walk::Normal(walk) => walk.go_to(at.information),
            Walk::T(walk) => walk.go_to(at.information, at.df.floor()),
        }
    }

    /// Probability that the p-value of this analysis is at most `nominal_p` and no earlier analysis stopped.
    fn crossing(&self, nominal_p: f64) -> f64 {
        match self {
            Walk::Normal(walk) => walk.crossing(nominal_p),
            Walk::T(walk) => walk.crossing(nominal_p),
        }
    }

    fn continue_below(&mut self, nominal_p: f64) {
        match self {
            Walk::Normal(walk) => walk.continue_below(nominal_p),
            Walk::T(walk) => walk.continue_below(nominal_p),
        }
    }
}

fn check_analysis(analysis: usize, at: &Progress, before: Option<&Progress>) -> Result<(), SpendingError> {
    let usable = at.information > 0.0 && at.information.is_finite() && at.fraction > 0.0 && at.fraction <= 1.0;
    if !usable {
        return Err(SpendingError::NotAFraction { analysis, information: at.information, fraction: at.fraction });
    }
    let wrong_df = Err(SpendingError::DegreesOfFreedom { analysis, df: at.df });
    if at.df.is_nan() || at.df < 1.0 {
        return wrong_df;
    }
    let Some(before) = before else { return Ok(()) };
    if at.information <= before.information || at.fraction < before.fraction {
        return Err(SpendingError::NoNewInformation { analysis });
    }
    // Walks of known and of estimated variance do not mix; whole degrees are what the t walk steps in.
    if at.df.is_infinite() != before.df.is_infinite() || (at.df.is_finite() && at.df.floor() < before.df.floor() + 1.0)
    {
        return wrong_df;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known_variance(fractions: &[f64]) -> Vec<Progress> {
        fractions.iter().map(|t| Progress { information: *t, fraction: *t, df: f64::INFINITY }).collect()
    }

    fn blocks(analyses: &[u32], planned: u32) -> Vec<Progress> {
        analyses.iter().map(|blocks| Progress::after_blocks(*blocks, planned)).collect()
    }

    fn of(rule: Rule) -> Spending {
        Spending { rule, alpha: 0.05 }
    }

    fn p(boundaries: &[Boundary]) -> Vec<f64> {
        boundaries.iter().map(|boundary| boundary.nominal_p).collect()
    }

    #[track_caller]
    fn assert_z(rule: Rule, fractions: &[f64], wanted: &[f64], precision: f64) {
        let found = of(rule).boundaries(&known_variance(fractions)).unwrap();
        for (boundary, wanted) in found.iter().zip(wanted) {
            assert!((boundary.critical_z - wanted).abs() <= precision, "{rule:?} {fractions:?}: {found:?}");
        }
    }

    #[test]
    fn boundaries_are_the_published_ones() {
        // Five equal analyses: Reboussin, DeMets, Kim and Lan, Controlled Clinical Trials 21 (2000), 190–207, whose
        // program prints four digits, the second a little low: R's integrate() finds 3.357012 there, as we do.
        let fifths = [0.2, 0.4, 0.6, 0.8, 1.0];
        assert_z(Rule::ObrienFleming, &fifths, &[4.8769, 3.3569, 2.6803, 2.2898, 2.0310], 1.2e-4);
        assert_z(Rule::Pocock, &fifths, &[2.438, 2.427, 2.410, 2.397, 2.386], 5.1e-4);
        assert_z(Rule::ObrienFleming, &[0.25, 0.5, 0.75, 1.0], &[4.3326, 2.9631, 2.3590, 2.0141], 5.1e-5);
        assert_z(Rule::ObrienFleming, &[1.0 / 3.0, 2.0 / 3.0, 1.0], &[3.7103, 2.5114, 1.9930], 5.1e-5);
        assert_z(Rule::ObrienFleming, &[0.5, 1.0], &[2.9626, 1.9686], 5.1e-5);
        assert_z(Rule::Pocock, &[0.5, 1.0], &[2.157, 2.201], 5.1e-4);
    }

    #[test]
    fn repeated_tests_at_five_percent_are_wrong_as_often_as_published() {
        // Armitage, McPherson and Rowe (1969), table 2: 0.083 for 2 analyses, 0.142 for 5, 0.193 for 10.
        for (count, wanted) in [(1, 0.05), (2, 0.083), (5, 0.142), (10, 0.193)] {
            let fractions: Vec<f64> = (1..=count).map(|analysis| f64::from(analysis) / f64::from(count)).collect();
            let rate: f64 =
                first_crossings(&known_variance(&fractions), &vec![0.05; fractions.len()]).unwrap().iter().sum();
            assert!((rate - wanted).abs() < 6e-4, "{count} analyses: {rate}");
        }
    }

    #[test]
    fn exactly_alpha_is_spent_however_many_analyses_there_are() {
        for rule in [Rule::ObrienFleming, Rule::Pocock, Rule::Power { exponent: 4.0 }] {
            for analyses in [vec![10], vec![4, 10], vec![4, 6, 8, 10], vec![2, 3, 5, 9, 10], vec![5, 6, 7, 8, 9, 10]] {
                let at = blocks(&analyses, 10);
                for at in [at.clone(), at.iter().map(|at| at.with_known_variance()).collect()] {
                    let found = of(rule).boundaries(&at).unwrap();
                    let spent: f64 = first_crossings(&at, &p(&found)).unwrap().iter().sum();
                    assert!((spent - 0.05).abs() < 2e-5, "{rule:?} {analyses:?}: {spent}");
                    assert_eq!(found.last().unwrap().spent, 0.05);
                }
            }
        }
    }

    #[test]
    fn normal_boundaries_overspend_on_paired_t_tests_and_these_do_not() {
        let at = blocks(&[4, 6, 8, 10], 10);
        let normal: Vec<Progress> = at.iter().map(|at| at.with_known_variance()).collect();
        let plain = p(&of(Rule::ObrienFleming).boundaries(&normal).unwrap());
        let rate: f64 = first_crossings(&at, &plain).unwrap().iter().sum();
        assert!((rate - 0.0545).abs() < 1e-4, "{rate}");
        let exact = p(&of(Rule::ObrienFleming).boundaries(&at).unwrap());
        for (found, wanted) in exact.iter().zip([0.000_788, 0.007_00, 0.020_13, 0.038_41]) {
            assert!((found / wanted - 1.0).abs() < 1e-3, "{exact:?}");
        }
    }

    #[test]
    fn with_many_degrees_of_freedom_the_t_boundaries_become_the_normal_ones() {
        let far = |blocks: u32| Progress { df: 200.0 * f64::from(blocks), ..Progress::after_blocks(blocks, 10) };
        let at: Vec<Progress> = [4, 6, 8, 10].map(far).to_vec();
        let normal: Vec<Progress> = at.iter().map(|at| at.with_known_variance()).collect();
        let t = p(&of(Rule::Pocock).boundaries(&at).unwrap());
        let z = p(&of(Rule::Pocock).boundaries(&normal).unwrap());
        assert!(t.iter().zip(&z).all(|(t, z)| (t / z - 1.0).abs() < 3e-3), "{t:?} {z:?}");
    }

    #[test]
    fn a_boundary_does_not_depend_on_later_ones_and_so_a_resumed_trial_keeps_its_spending() {
        let all = of(Rule::ObrienFleming).boundaries(&blocks(&[4, 5, 8, 10], 10)).unwrap();
        for taken in 1..4 {
            let so_far = of(Rule::ObrienFleming).boundaries(&blocks(&[4, 5, 8, 10][..taken], 10)).unwrap();
            assert_eq!(so_far[..], all[..taken]);
        }
    }

    #[test]
    fn the_unit_of_information_is_free() {
        let at = blocks(&[4, 6, 10], 10);
        let scaled: Vec<Progress> =
            at.iter().map(|at| Progress { information: at.information * 37.0, ..*at }).collect();
        let (found, same) = (of(Rule::Pocock).boundaries(&at).unwrap(), of(Rule::Pocock).boundaries(&scaled).unwrap());
        assert!(found.iter().zip(&same).all(|(a, b)| (a.nominal_p / b.nominal_p - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_trial_that_ends_early_for_good_spends_what_is_left() {
        let mut at = blocks(&[4, 6, 8], 10);
        at[2].fraction = 1.0;
        let found = of(Rule::ObrienFleming).boundaries(&at).unwrap();
        let spent: f64 = first_crossings(&at, &p(&found)).unwrap().iter().sum();
        assert!((spent - 0.05).abs() < 1e-6, "{spent}");
    }

    #[test]
    fn the_interval_excludes_zero_exactly_when_the_analysis_stops() {
        for boundary in of(Rule::ObrienFleming).boundaries(&blocks(&[4, 6, 8, 10], 10)).unwrap() {
            let df = boundary.fraction * 10.0 - 1.0;
            for t in [0.5, 1.9, 2.2, 2.5, 3.0, 4.0, 6.0, 20.0] {
                let (low, high) = boundary.interval(t * 0.3, 0.3);
                assert_eq!(
                    low > 0.0 || high < 0.0,
                    boundary.stops(student_t::two_sided_p(t, df)),
                    "t {t} at {boundary:?}"
                );
            }
        }
    }

    #[test]
    fn an_analysis_too_early_to_spend_anything_never_stops() {
        let found = of(Rule::ObrienFleming).boundaries(&blocks(&[2, 40], 40)).unwrap();
        assert_eq!((found[0].nominal_p, found[0].stops(0.0)), (0.0, false));
        assert_eq!(found[0].interval(1.0, 0.1), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn what_is_no_analysis_is_refused_with_its_number() {
        let refused = |at: &[Progress]| of(Rule::Pocock).boundaries(at).unwrap_err();
        assert_eq!(refused(&blocks(&[4, 4], 10)), SpendingError::NoNewInformation { analysis: 2 });
        assert!(matches!(refused(&blocks(&[4, 12], 10)), SpendingError::NotAFraction { analysis: 2, .. }));
        assert!(matches!(refused(&blocks(&[1, 4], 10)), SpendingError::DegreesOfFreedom { analysis: 1, .. }));
        let mixed = [Progress::after_blocks(4, 10), Progress::after_blocks(6, 10).with_known_variance()];
        assert!(matches!(refused(&mixed), SpendingError::DegreesOfFreedom { analysis: 2, .. }));
        let nan = Progress { information: f64::NAN, fraction: f64::NAN, df: 3.0 };
        assert!(matches!(refused(&[nan]), SpendingError::NotAFraction { analysis: 1, .. }));
        let wrong = Spending { rule: Rule::Pocock, alpha: 1.0 };
        assert_eq!(wrong.boundaries(&[]), Err(SpendingError::Alpha { alpha: 1.0 }));
        assert_eq!(of(Rule::Pocock).boundaries(&[]), Ok(vec![]));
    }
}
