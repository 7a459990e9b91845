//! The joint distribution of normal test statistics over analyses, by recursive integration.
//!
//! The score S_k = z_k √I_k is a sum of independent normal increments of variance I_k − I_{k−1}. Its density among the
//! trials that have not stopped is carried from analysis to analysis by numerical integration over the continuation region.
//! Sources: Armitage, McPherson and Rowe, J. R. Statist. Soc. A 132 (1969), 235–244; Jennison and Turnbull, "Group
//! Sequential Methods" (2000), section 19.2.

use crate::stats::normal;

/// Beyond so many standard deviations nothing is left to integrate (a tail of 1e-19).
const REACH: f64 = 9.0;

/// Steps of the grid per standard deviation of the next increment: Simpson's rule is then right to about 1e-8.
const STEPS_PER_SD: f64 = 8.0;

/// Bounds on the number of steps, for regular analyses and for analyses that nearly coincide.
const STEPS: (usize, usize) = (300, 6000);

/// Without an effect, the score of the trials that go on.
pub(super) struct NormalWalk {
    information: f64,
    /// Standard deviation of the last increment.
    step_sd: f64,
    /// Scores at the analysis before, each with its probability; empty before the second analysis.
    before: Vec<(f64, f64)>,
    /// Critical score of this analysis, once it is decided.
    continue_within: Option<f64>,
}

impl NormalWalk {
    pub(super) fn start() -> NormalWalk {
        NormalWalk { information: 0.0, step_sd: 0.0, before: vec![(0.0, 1.0)], continue_within: None }
    }

    pub(super) fn go_to(&mut self, information: f64) {
        let next_sd = (information - self.information).sqrt();
        if let Some(bound) = self.continue_within.take() {
            self.before = self.masses(bound, next_sd);
        }
        self.information = information;
        self.step_sd = next_sd;
    }

    pub(super) fn continue_below(&mut self, nominal_p: f64) {
        self.continue_within = Some(self.critical_score(nominal_p));
    }

    pub(super) fn crossing(&self, nominal_p: f64) -> f64 {
        let bound = self.critical_score(nominal_p);
        if bound.is_infinite() {
            return 0.0;
        }
        let beyond =
            |score: f64| normal::upper((bound - score) / self.step_sd) + normal::upper((bound + score) / self.step_sd);
        self.before.iter().map(|(score, mass)| mass * beyond(*score)).sum()
    }

    fn critical_score(&self, nominal_p: f64) -> f64 {
        -normal::quantile(nominal_p / 2.0) * self.information.sqrt()
    }

    /// The scores of this analysis that go on, on a grid fine enough for the next increment; masses are density times
    /// Simpson's weight.
    fn masses(&self, bound: f64, next_sd: f64) -> Vec<(f64, f64)> {
        let bound = bound.min(REACH * self.information.sqrt());
        let wanted = (2.0 * bound / self.step_sd.min(next_sd) * STEPS_PER_SD).ceil() as usize;
        let steps = wanted.clamp(STEPS.0, STEPS.1).next_multiple_of(2);
        let width = 2.0 * bound / steps as f64;
        let at = |index: usize| {
            let score = width * index as f64 - bound;
            let weight = match index {
                _ if index == 0 || index == steps => 1.0,
                _ if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (score, weight * width / 3.0 * self.density(score))
        };
        (0..=steps).map(at).collect()
    }

    fn density(&self, score: f64) -> f64 {
        let from = self.before.partition_point(|(before, _)| *before < score - REACH * self.step_sd);
        let near = self.before[from..].iter().take_while(|(before, _)| *before <= score + REACH * self.step_sd);
        near.map(|(before, mass)| mass * normal::density((score - before) / self.step_sd) / self.step_sd).sum()
    }
}
