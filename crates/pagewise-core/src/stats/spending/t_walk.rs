//! The joint distribution of t statistics over analyses, exact for normal errors of unknown variance.
//!
//! Write an analysis's data as residuals w of the model without the effect: N = df + 1 independent normal errors. The score
//! is S = Σ cᵢ wᵢ with information I = Σ cᵢ², and V = Σ wᵢ². The t statistic is a function of the cosine r = S / √(I
//! V): t² = df r² / (1 − r²). Without an effect the direction of w is uniform on the sphere and independent of its
//! length (Basu's theorem), so r alone carries everything the past says about the next analysis: a Markov chain on one
//! number. With m new residuals and information growing from I to I′,
//!
//! r′ √I′ = r √I cos ψ + c √(I′ − I) sin ψ,
//!
//! where cos² ψ is Beta(N/2, m/2), the share of the old residuals in V, and c is a coordinate of a uniform point on the
//! sphere in m dimensions. The probability is integrated exactly over one of ψ and c, numerically over the other and
//! over r; a rate of false alarms is right to 0.01 of a percent. The decomposition is that of recursive residuals:
//! Brown, Durbin and Evans, J. R. Statist. Soc. B 37 (1975), 149–163; the recursion over analyses is that of Armitage,
//! McPherson and Rowe, J. R. Statist. Soc. A 132 (1969), 235–244, with r in place of S.

use crate::stats::student_t;
use std::f64::consts::{FRAC_PI_2, PI};

/// Cells of |r| within the continuation region. The test doubles them.
const CELLS: usize = 160;

/// Points of ψ where it is integrated numerically.
const ANGLES: usize = 64;

/// Points of a table of a distribution function.
const POINTS: usize = 2048;

/// Without an effect, |r| of the trials that go on.
pub(super) struct TWalk {
    cells: usize,
    information: f64,
    df: f64,
    /// |r| at the analysis before, each with its probability; empty at the first analysis.
    before: Vec<(f64, f64)>,
    /// From the analysis before to this one; `None` at the first analysis.
    step: Option<Step>,
    /// Critical |r| of this analysis, once it is decided.
    continue_within: Option<f64>,
}

impl TWalk {
    pub(super) fn start() -> TWalk {
        TWalk::with_cells(CELLS)
    }

    fn with_cells(cells: usize) -> TWalk {
        TWalk { cells, information: 0.0, df: 0.0, before: Vec::new(), step: None, continue_within: None }
    }

    pub(super) fn go_to(&mut self, information: f64, df: f64) {
        if let Some(bound) = self.continue_within.take() {
            self.before = self.masses(bound);
            self.step = Some(Step::new(self.information, information, self.df + 1.0, df - self.df));
        }
        self.information = information;
        self.df = df;
    }

    pub(super) fn continue_below(&mut self, nominal_p: f64) {
        self.continue_within = Some(critical_cosine(nominal_p, self.df));
    }

    pub(super) fn crossing(&self, nominal_p: f64) -> f64 {
        if nominal_p <= 0.0 {
            return 0.0;
        }
        match &self.step {
            None => nominal_p,
            Some(step) => {
                let bound = critical_cosine(nominal_p, self.df);
                self.before.iter().map(|(cosine, mass)| mass * step.beyond(*cosine, &[bound])[0]).sum()
            }
        }
    }

    /// |r| below the bound at the edges of cells, each with the probability that stands for its surroundings.
    fn masses(&self, bound: f64) -> Vec<(f64, f64)> {
        // Cells of equal angle are finer near 1, where the density of few residuals rises steeply.
        let at_angle = |part: f64| libm::sin(libm::asin(bound) * part / self.cells as f64);
        let edges: Vec<f64> = (0..=self.cells).map(|edge| at_angle(edge as f64)).collect();
        let mut beyond = vec![0.0; edges.len()];
        match &self.step {
            None => beyond = edges.iter().map(|edge| student_t::two_sided_p(t_of(*edge, self.df), self.df)).collect(),
            Some(step) => {
                for (cosine, mass) in &self.before {
                    for (sum, share) in beyond.iter_mut().zip(step.beyond(*cosine, &edges)) {
                        *sum += mass * share;
                    }
                }
            }
        }
        let mut masses = vec![0.0; edges.len()];
        for first in (0..self.cells).step_by(2) {
            let (f0, f1, f2) = (beyond[first], beyond[first + 1], beyond[first + 2]);
            // ∫ φ dF with φ and F parabolas through three edges, as weights of φ; F falls, hence the signs.
            masses[first] += f0 / 2.0 - f1 * 2.0 / 3.0 + f2 / 6.0;
            masses[first + 1] += (f0 - f2) * 2.0 / 3.0;
            masses[first + 2] += -f0 / 6.0 + f1 * 2.0 / 3.0 - f2 / 2.0;
        }
        edges.into_iter().zip(masses).collect()
    }
}

fn critical_cosine(nominal_p: f64, df: f64) -> f64 {
    if nominal_p <= 0.0 {
        return 1.0;
    }
    let t = student_t::critical_value(nominal_p, df);
    t / (df + t * t).sqrt()
}

fn t_of(cosine: f64, df: f64) -> f64 {
    (df * cosine * cosine / (1.0 - cosine * cosine)).sqrt()
}

/// The way from one analysis to the next.
struct Step {
    root_before: f64,
    root_new: f64,
    root_after: f64,
    mixture: Mixture,
}

/// How the two sources of chance are integrated. With one new residual c is ±1 and ψ is integrated exactly; with more,
/// c is integrated exactly and ψ numerically, which stays smooth when many residuals pin ψ down.
enum Mixture {
    OneNew { below_angle: Table },
    MoreNew { angles: Vec<(f64, f64, f64)>, below_polar: Table },
}

impl Step {
    /// From `residuals` residuals to `new` more.
    fn new(before: f64, after: f64, residuals: f64, new: f64) -> Step {
        let mixture = if new < 2.0 {
            Mixture::OneNew { below_angle: Table::new(FRAC_PI_2, residuals - 1.0, 0.0) }
        } else {
            Mixture::MoreNew { angles: angles(residuals, new), below_polar: Table::new(PI, 0.0, new - 2.0) }
        };
        Step { root_before: before.sqrt(), root_new: (after - before).sqrt(), root_after: after.sqrt(), mixture }
    }

    /// P(|r′| ≥ edge) from a given r ≥ 0, for each edge.
    fn beyond(&self, cosine: f64, edges: &[f64]) -> Vec<f64> {
        let along = cosine * self.root_before;
        let at = |edge: &f64| match &self.mixture {
            Mixture::OneNew { below_angle } => self.beyond_with_one_new(below_angle, along, edge * self.root_after),
            Mixture::MoreNew { angles, below_polar } => {
                let edge = edge * self.root_after;
                let beyond = |(cos, sin, weight): &(f64, f64, f64)| {
                    let (middle, reach) = (along * cos, self.root_new * sin);
                    weight
                        * (1.0 - share_below(below_polar, (edge - middle) / reach)
                            + share_below(below_polar, (-edge - middle) / reach))
                };
                angles.iter().map(beyond).sum()
            }
        };
        edges.iter().map(at).collect()
    }

    /// P(|r √I cos ψ ± √ΔI sin ψ| ≥ edge): one cosine of height √(r² I + ΔI), shifted one way or the other.
    fn beyond_with_one_new(&self, below: &Table, along: f64, edge: f64) -> f64 {
        let height = libm::hypot(along, self.root_new);
        if edge >= height {
            return 0.0;
        }
        let half = libm::acos(edge / height);
        let beyond = |shift: f64| {
            let above = below.at(shift + half) - below.at(shift - half);
            above + 1.0 - below.at(shift + PI - half) + below.at(shift - PI + half)
        };
        let shift = libm::atan2(self.root_new, along);
        f64::midpoint(beyond(shift), beyond(-shift))
    }
}

/// P(c ≤ x), with c the cosine of the tabled polar angle.
fn share_below(polar: &Table, x: f64) -> f64 {
    if x <= -1.0 {
        0.0
    } else if x >= 1.0 {
        1.0
    } else {
        1.0 - polar.at(libm::acos(x))
    }
}

/// Cosine and sine of ψ with their probabilities, over the range that holds all but nothing of it.
fn angles(residuals: f64, new: f64) -> Vec<(f64, f64, f64)> {
    let peak = libm::atan2((new - 1.0).sqrt(), (residuals - 1.0).sqrt());
    let reach = 9.0 / (2.0 * (residuals + new)).sqrt();
    let (low, high) = ((peak - reach).max(0.0), (peak + reach).min(FRAC_PI_2));
    let at = |index: usize| low + (high - low) * (index as f64 + 0.5) / ANGLES as f64;
    let log_density = |psi: f64| log_density(psi, residuals - 1.0, new - 1.0);
    let at_peak = log_density(peak);
    let weights: Vec<f64> = (0..ANGLES).map(|index| libm::exp(log_density(at(index)) - at_peak)).collect();
    let sum: f64 = weights.iter().sum();
    weights
        .iter()
        .enumerate()
        .map(|(index, weight)| (libm::cos(at(index)), libm::sin(at(index)), weight / sum))
        .collect()
}

/// Logarithm of cosᵃ sinᵇ, which keeps large powers within the range of a float.
fn log_density(angle: f64, a: f64, b: f64) -> f64 {
    let log_power = |base: f64, power: f64| if power > 0.0 { power * libm::log(base.max(0.0)) } else { 0.0 };
    log_power(libm::cos(angle), a) + log_power(libm::sin(angle), b)
}

/// Distribution function of an angle in [0, end] with density cosᵃ sinᵇ, tabled by Simpson's rule.
struct Table {
    end: f64,
    /// Probability below each point, and its slope per step of the table.
    points: Vec<(f64, f64)>,
}

impl Table {
    fn new(end: f64, a: f64, b: f64) -> Table {
        let width = end / POINTS as f64;
        let density = |angle: f64| libm::exp(log_density(angle, a, b));
        let mut points = Vec::with_capacity(POINTS + 1);
        let mut sum = 0.0;
        points.push((0.0, density(0.0)));
        for index in 0..POINTS {
            let left = width * index as f64;
            let right = density(left + width);
            sum += (points[index].1 + 4.0 * density(left + width / 2.0) + right) / 6.0;
            points.push((sum, right));
        }
        for (below, slope) in &mut points {
            *below /= sum;
            *slope /= sum;
        }
        Table { end, points }
    }

    /// By cubic interpolation: a straight line would be too coarse for the tails of many residuals.
    fn at(&self, angle: f64) -> f64 {
        let place = angle / self.end * POINTS as f64;
        if place <= 0.0 {
            return 0.0;
        }
        let index = place as usize;
        let (Some((left, left_slope)), Some((right, right_slope))) =
            (self.points.get(index), self.points.get(index + 1))
        else {
            return 1.0;
        };
        let t = place - index as f64;
        let rise = right - left;
        let (bend_left, bend_right) = (left_slope - rise, rise - right_slope);
        left + t * (rise + (1.0 - t) * (bend_left * (1.0 - t) + bend_right * t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_many_cells_change_nothing_that_matters() {
        let rate = |cells: usize| -> f64 {
            let mut walk = TWalk::with_cells(cells);
            let mut sum = 0.0;
            for blocks in [3.0, 4.0, 6.0, 10.0] {
                walk.go_to(blocks, blocks - 1.0);
                sum += walk.crossing(0.02);
                walk.continue_below(0.02);
            }
            sum
        };
        let (coarse, fine) = (rate(CELLS), rate(2 * CELLS));
        assert!((coarse - fine).abs() < 5e-5, "{coarse} {fine}");
    }

    #[test]
    fn without_a_stop_the_next_analysis_is_a_t_test_of_its_own() {
        for (information, df) in [(5.0, 4.0), (6.0, 5.0), (7.0, 6.0), (10.0, 9.0), (80.0, 79.0), (9.0, 24.0)] {
            let mut walk = TWalk::start();
            walk.go_to(4.0, 3.0);
            walk.continue_below(0.0);
            walk.go_to(information, df);
            for p in [0.2, 0.05, 0.005] {
                let found = walk.crossing(p);
                assert!((found / p - 1.0).abs() < 5e-3, "{df}: {found} for {p}");
            }
        }
    }
}
