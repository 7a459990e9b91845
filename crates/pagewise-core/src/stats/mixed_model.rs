//! A linear model whose errors share a random intercept within groups, by restricted maximum likelihood (REML).
//!
//! For designs whose balance was lost: y = Xβ + (group intercept) + ε, for example with boots as the groups of the runs
//! made under them and blocks among the fixed columns. With λ the variance of intercepts over that of errors, the
//! covariance of a group of m runs has a closed inverse, I − λ/(1 + λm) 11ᵀ, so everything comes from sums within
//! groups and one small matrix per λ. The deviance is minimised over λ alone, with exact derivatives. Sources:
//! Harville, J. Am. Statist. Assoc. 72 (1977), 320–338; Bates, Mächler, Bolker and Walker, J. Statist. Softw. 67
//! (2015), 1; degrees of freedom of contrasts after Satterthwaite as in Kuznetsova, Brockhoff and Christensen,
//! "lmerTest", J. Statist. Softw. 82 (2017), 13.
//!
//! When the estimate of the intercepts' variance is zero, a contrast has the standard error and the residual degrees of
//! freedom of ordinary least squares. lme4 calls this fit singular and lmerTest gives the same numbers. It takes runs
//! of one group for independent; where groups are whole plots of a balanced design, the closed form that tests hold it
//! against (`split_plot` of the testkit's oracles) keeps the strata apart.

pub(super) mod cholesky;

use super::contrast::Contrast;
use cholesky::Cholesky;

/// What a fit needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design<'a> {
    /// A value per run.
    pub response: &'a [f64],
    /// A column per coefficient, each with a value per run.
    pub columns: &'a [Vec<f64>],
    /// The group of each run; any numbers, equal for runs of one group.
    pub groups: &'a [usize],
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Columns or groups of another length than the response.
    #[error("{what} has {found} values for {runs} runs; give one per run")]
    Length {
        /// Which input.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Runs.
        runs: usize,
    },
    /// A value that is no finite number.
    #[error("run {run} has a value that is not a finite number; leave the run out")]
    NotFinite {
        /// Index of the run, from 0.
        run: usize,
    },
    /// Nothing is left to estimate the noise from.
    #[error("{runs} runs are too few for {coefficients} coefficients and two variances; add runs or drop columns")]
    TooFewRuns {
        /// Runs.
        runs: usize,
        /// Columns.
        coefficients: usize,
    },
    /// A column is a combination of those before it.
    #[error("column {column} is a combination of the columns before it; drop it")]
    DependentColumn {
        /// Index of the column, from 0.
        column: usize,
    },
    /// The columns explain every value exactly.
    #[error("the columns explain every value exactly, so there is no noise to judge by")]
    NoNoise,
    /// The intercepts explain everything the columns leave, or cannot be told from the errors.
    #[error(
        "the groups' intercepts cannot be told from the errors: it takes groups of several runs that differ within"
    )]
    NotIdentified,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Estimates of the columns' coefficients.
    pub coefficients: Vec<f64>,
    /// Variance of the groups' intercepts; 0 when the data show none.
    pub group_variance: f64,
    /// Variance of the errors.
    pub error_variance: f64,
    /// Runs − columns.
    pub residual_df: f64,
    /// −2 log restricted likelihood, with its constants, as lme4 prints it.
    pub deviance: f64,
    /// (Xᵀ W X)⁻¹ at the estimate: the coefficients' covariance over the error variance.
    unscaled: Vec<Vec<f64>>,
    /// Its derivative by λ.
    unscaled_slope: Vec<Vec<f64>>,
    /// Covariance of the estimates of λ and of the error variance; `None` on the boundary λ = 0.
    variance_of_variances: Option<[[f64; 2]; 2]>,
}

impl Fit {
    /// The combination of coefficients with these weights. `None` unless there is a finite weight for each.
    #[must_use]
    pub fn contrast(&self, weights: &[f64]) -> Option<Contrast> {
        if weights.len() != self.coefficients.len() || weights.iter().any(|weight| !weight.is_finite()) {
            return None;
        }
        let estimate = dot(weights, &self.coefficients);
        let form = quadratic(&self.unscaled, weights);
        let df = match self.variance_of_variances {
            None => self.residual_df,
            Some(covariance) => {
                // Gradient of the contrast's variance, φ · form(λ), by λ and φ.
                let slope = [self.error_variance * quadratic(&self.unscaled_slope, weights), form];
                let spread: f64 = (0..2).map(|i| slope[i] * dot(&covariance[i], &slope)).sum();
                2.0 * (self.error_variance * form) * (self.error_variance * form) / spread
            }
        };
        Some(Contrast::new(estimate, (self.error_variance * form).sqrt(), df))
    }
}

/// Fits the model.
///
/// # Errors
/// When the data cannot carry the model; see [`ModelError`].
pub fn fit(design: &Design) -> Result<Fit, ModelError> {
    check(design)?;
    let sums = Sums::of(design);
    let at_zero = sums.at(0.0)?;
    let scale: f64 = design.response.iter().map(|value| value * value).sum();
    // Rounding leaves a residual of about this share even where there is none.
    const ROUNDING: f64 = 1e-22;
    if at_zero.residual <= ROUNDING * scale {
        return Err(ModelError::NoNoise);
    }
    let at = sums.best(at_zero)?;
    Ok(sums.finish(&at))
}

fn check(design: &Design) -> Result<(), ModelError> {
    let runs = design.response.len();
    let length = |what, found| if found == runs { Ok(()) } else { Err(ModelError::Length { what, found, runs }) };
    length("the list of groups", design.groups.len())?;
    for column in design.columns {
        length("a column", column.len())?;
    }
    let finite = |run: &usize| design.columns.iter().all(|column| column[*run].is_finite());
    if let Some(run) = (0..runs).find(|run| !design.response[*run].is_finite() || !finite(run)) {
        return Err(ModelError::NotFinite { run });
    }
    if runs < design.columns.len() + 2 || design.columns.is_empty() {
        return Err(ModelError::TooFewRuns { runs, coefficients: design.columns.len() });
    }
    Ok(())
}

/// All that the data contribute: sums over runs, and sums within each group.
///
/// Columns are scaled to unit length first, so that a step of milliseconds beside one of gigabytes costs no digits.
struct Sums {
    df: f64,
    lengths: Vec<f64>,
    /// XᵀX, Xᵀy.
    xx: Vec<Vec<f64>>,
    xy: Vec<f64>,
    /// The least-squares residuals' own sum of squares needs the data again: columns and response, scaled.
    columns: Vec<Vec<f64>>,
    response: Vec<f64>,
    groups: Vec<Group>,
}

struct Group {
    members: Vec<usize>,
    /// Sum of the rows of X, and of y.
    x: Vec<f64>,
    y: f64,
}

/// The model at one λ.
struct AtRatio {
    ratio: f64,
    beta: Vec<f64>,
    inverse: Vec<Vec<f64>>,
    log_determinant: f64,
    /// Weighted residual sum of squares.
    residual: f64,
    /// Sum of the residuals in each group.
    group_residuals: Vec<f64>,
}

impl Sums {
    fn of(design: &Design) -> Sums {
        let length = |column: &Vec<f64>| {
            let length = dot(column, column).sqrt();
            if length > 0.0 { length } else { 1.0 }
        };
        let lengths: Vec<f64> = design.columns.iter().map(length).collect();
        let columns: Vec<Vec<f64>> = design
            .columns
            .iter()
            .zip(&lengths)
            .map(|(column, length)| column.iter().map(|value| value / length).collect())
            .collect();
        let mut groups: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
        for (run, group) in design.groups.iter().enumerate() {
            groups.entry(*group).or_default().push(run);
        }
        let response = design.response.to_vec();
        let over = |values: &[f64], members: &[usize]| members.iter().map(|run| values[*run]).sum::<f64>();
        let group = |members: Vec<usize>| Group {
            x: columns.iter().map(|column| over(column, &members)).collect(),
            y: over(&response, &members),
            members,
        };
        Sums {
            df: (response.len() - columns.len()) as f64,
            lengths,
            xx: columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect(),
            xy: columns.iter().map(|column| dot(column, &response)).collect(),
            groups: groups.into_values().map(group).collect(),
            columns,
            response,
        }
    }

    /// Solves the weighted normal equations.
    fn at(&self, ratio: f64) -> Result<AtRatio, ModelError> {
        let mut xx = self.xx.clone();
        let mut xy = self.xy.clone();
        for group in &self.groups {
            let weight = ratio / (1.0 + ratio * group.size());
            add_outer(&mut xx, -weight, &group.x);
            for (sum, x) in xy.iter_mut().zip(&group.x) {
                *sum -= weight * x * group.y;
            }
        }
        let factor = Cholesky::of(&xx).map_err(|column| ModelError::DependentColumn { column })?;
        let beta = factor.solve(&xy);
        let residuals: Vec<f64> = (0..self.response.len())
            .map(|run| self.response[run] - (0..beta.len()).map(|i| beta[i] * self.columns[i][run]).sum::<f64>())
            .collect();
        let group_residuals: Vec<f64> =
            self.groups.iter().map(|group| group.members.iter().map(|run| residuals[*run]).sum()).collect();
        let shrunk = |(group, sum): (&Group, &f64)| ratio / (1.0 + ratio * group.size()) * sum * sum;
        let residual = dot(&residuals, &residuals) - self.groups.iter().zip(&group_residuals).map(shrunk).sum::<f64>();
        Ok(AtRatio {
            ratio,
            beta,
            inverse: factor.inverse(),
            log_determinant: factor.log_determinant(),
            residual,
            group_residuals,
        })
    }

    /// −2 log restricted likelihood with the error variance profiled out, without constants.
    fn deviance(&self, at: &AtRatio) -> f64 {
        let groups: f64 = self.groups.iter().map(|group| libm::log1p(at.ratio * group.size())).sum();
        self.df * libm::log(at.residual) + groups + at.log_determinant
    }

    /// Derivative of the profiled deviance by λ.
    fn slope(&self, at: &AtRatio) -> f64 {
        self.group_slope(at) + self.df * self.residual_slope(at) / at.residual
    }

    /// Derivative of the two log determinants.
    fn group_slope(&self, at: &AtRatio) -> f64 {
        let term = |group: &Group| {
            let shrink = 1.0 + at.ratio * group.size();
            group.size() / shrink - quadratic(&at.inverse, &group.x) / (shrink * shrink)
        };
        self.groups.iter().map(term).sum()
    }

    /// Derivative of the weighted residual sum of squares; β̂ minimises it, so only the weights move.
    fn residual_slope(&self, at: &AtRatio) -> f64 {
        let term = |(group, sum): (&Group, &f64)| {
            let shrink = 1.0 + at.ratio * group.size();
            -sum * sum / (shrink * shrink)
        };
        self.groups.iter().zip(&at.group_residuals).map(term).sum()
    }

    /// The λ with the smallest deviance: a scan over ten decades either way, then bisection of the slope to the last
    /// digit.
    fn best(&self, at_zero: AtRatio) -> Result<AtRatio, ModelError> {
        const DECADES: i32 = 8;
        const STEPS_PER_DECADE: i32 = 6;
        let ratio = |step: i32| libm::pow(10.0, f64::from(step) / f64::from(STEPS_PER_DECADE));
        let mut best = (self.deviance(&at_zero), None);
        for step in -DECADES * STEPS_PER_DECADE..=DECADES * STEPS_PER_DECADE {
            let deviance = self.deviance(&self.at(ratio(step))?);
            if deviance < best.0 {
                best = (deviance, Some(step));
            }
        }
        let Some(step) = best.1 else { return Ok(at_zero) };
        if step == DECADES * STEPS_PER_DECADE {
            return Err(ModelError::NotIdentified);
        }
        let (mut low, mut high) = (libm::log(ratio(step - 1)), libm::log(ratio(step + 1)));
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.slope(&self.at(libm::exp(middle))?) < 0.0 { low = middle } else { high = middle }
        }
        // A minimum below the smallest ratio that was scanned is the boundary itself.
        let smallest = ratio(-DECADES * STEPS_PER_DECADE);
        let found = libm::exp(f64::midpoint(low, high));
        if found <= smallest { Ok(at_zero) } else { self.at(found) }
    }

    fn finish(&self, at: &AtRatio) -> Fit {
        let error_variance = at.residual / self.df;
        let scaled = |matrix: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let entry = |i: usize, j: usize| matrix[i][j] / (self.lengths[i] * self.lengths[j]);
            (0..matrix.len()).map(|i| (0..matrix.len()).map(|j| entry(i, j)).collect()).collect()
        };
        let scaling: f64 = self.lengths.iter().map(|length| 2.0 * libm::log(*length)).sum();
        let constants = self.df * (libm::log(2.0 * std::f64::consts::PI / self.df) + 1.0);
        Fit {
            coefficients: at.beta.iter().zip(&self.lengths).map(|(beta, length)| beta / length).collect(),
            group_variance: at.ratio * error_variance,
            error_variance,
            residual_df: self.df,
            deviance: self.deviance(at) + scaling + constants,
            unscaled: scaled(&at.inverse),
            unscaled_slope: scaled(&self.inverse_slope(at)),
            variance_of_variances: self.variance_of_variances(at),
        }
    }

    /// d(M⁻¹)/dλ = −M⁻¹ M′ M⁻¹ with M = XᵀWX and M′ = −Σ s sᵀ / (1 + λm)².
    fn inverse_slope(&self, at: &AtRatio) -> Vec<Vec<f64>> {
        let size = at.beta.len();
        let mut slope = vec![vec![0.0; size]; size];
        for group in &self.groups {
            let shrink = 1.0 + at.ratio * group.size();
            add_outer(&mut slope, 1.0 / (shrink * shrink), &times(&at.inverse, &group.x));
        }
        slope
    }

    /// Twice the inverse of the deviance's second derivatives by λ and φ, the error variance.
    ///
    /// The deviance is (n − p) ln φ + Σ ln(1 + λm) + ln |M| + r(λ)/φ. On the boundary it has no such curvature: `None`.
    fn variance_of_variances(&self, at: &AtRatio) -> Option<[[f64; 2]; 2]> {
        if at.ratio == 0.0 {
            return None;
        }
        let size = at.beta.len();
        let mut first = vec![vec![0.0; size]; size];
        let (mut determinants, mut residual) = (0.0, 0.0);
        let mut pull = vec![0.0; size];
        for (group, sum) in self.groups.iter().zip(&at.group_residuals) {
            let m = group.size();
            let shrink = 1.0 + at.ratio * m;
            add_outer(&mut first, -1.0 / (shrink * shrink), &group.x);
            let bend = 2.0 * m / (shrink * shrink * shrink);
            determinants += -m * m / (shrink * shrink) + bend * quadratic(&at.inverse, &group.x);
            residual += bend * sum * sum;
            for (pull, x) in pull.iter_mut().zip(&group.x) {
                *pull -= x * sum / (shrink * shrink);
            }
        }
        let moved: Vec<Vec<f64>> = first.iter().map(|row| times(&at.inverse, row)).collect();
        let trace: f64 = (0..size).map(|i| (0..size).map(|j| moved[i][j] * moved[j][i]).sum::<f64>()).sum();
        let phi = at.residual / self.df;
        // The coefficients follow λ, which takes away part of the residual's curvature.
        let ratio_ratio = determinants - trace + (residual - 2.0 * quadratic(&at.inverse, &pull)) / phi;
        let ratio_phi = -self.residual_slope(at) / (phi * phi);
        let phi_phi = self.df / (phi * phi);
        let determinant = ratio_ratio * phi_phi - ratio_phi * ratio_phi;
        let over = 2.0 / determinant;
        Some([[over * phi_phi, -over * ratio_phi], [-over * ratio_phi, over * ratio_ratio]])
    }
}

impl Group {
    fn size(&self) -> f64 {
        self.members.len() as f64
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}

fn quadratic(matrix: &[Vec<f64>], vector: &[f64]) -> f64 {
    dot(vector, &times(matrix, vector))
}

/// matrix += weight · v vᵀ.
fn add_outer(matrix: &mut [Vec<f64>], weight: f64, vector: &[f64]) {
    for (row, a) in matrix.iter_mut().zip(vector) {
        for (entry, b) in row.iter_mut().zip(vector) {
            *entry += weight * a * b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn design<'a>(response: &'a [f64], columns: &'a [Vec<f64>], groups: &'a [usize]) -> Design<'a> {
        Design { response, columns, groups }
    }

    /// Five groups of two runs, one per arm.
    const RESPONSE: [f64; 10] = [9.1, 10.4, 12.0, 12.9, 7.7, 9.3, 10.2, 11.1, 8.8, 10.5];
    const GROUPS: [usize; 10] = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4];

    fn columns() -> Vec<Vec<f64>> {
        vec![vec![1.0; 10], (0..10).map(|run| f64::from(run % 2)).collect()]
    }

    #[test]
    fn pairs_as_groups_are_the_paired_t_test() {
        let columns = columns();
        let fit = fit(&design(&RESPONSE, &columns, &GROUPS)).unwrap();
        let found = fit.contrast(&[0.0, 1.0]).unwrap();
        let differences: Vec<f64> = RESPONSE.chunks(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = differences.iter().sum::<f64>() / 5.0;
        let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 4.0;
        assert!((found.estimate - mean).abs() < 1e-12);
        assert!((found.standard_error - (variance / 5.0).sqrt()).abs() < 1e-9, "{found:?}");
        assert!((found.df - 4.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn groups_without_a_spread_of_their_own_leave_least_squares() {
        // Every group has the same mean: its spread is below what the errors alone would make.
        let response = [1.0, 2.0, 2.1, 0.9, 0.8, 2.2, 1.9, 1.1];
        let columns = vec![vec![1.0; 8], vec![0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]];
        let found = fit(&design(&response, &columns, &[0, 0, 1, 1, 2, 2, 3, 3])).unwrap();
        assert_eq!((found.group_variance, found.residual_df), (0.0, 6.0));
        assert_eq!(found.contrast(&[0.0, 1.0]).unwrap().df, 6.0);
    }

    #[test]
    fn what_cannot_be_fitted_is_refused_with_the_reason() {
        let columns = columns();
        let refused = |response: &[f64], columns: &[Vec<f64>], groups: &[usize]| {
            fit(&design(response, columns, groups)).unwrap_err()
        };
        let mut broken = RESPONSE;
        broken[3] = f64::NAN;
        assert_eq!(refused(&broken, &columns, &GROUPS), ModelError::NotFinite { run: 3 });
        assert!(matches!(refused(&RESPONSE[..9], &columns, &GROUPS), ModelError::Length { found: 10, runs: 9, .. }));
        assert!(matches!(refused(&[], &[], &[]), ModelError::TooFewRuns { runs: 0, .. }));
        assert!(matches!(refused(&[1.0], &[vec![1.0]], &[0]), ModelError::TooFewRuns { runs: 1, .. }));
        let twice = [columns[0].clone(), columns[1].clone(), columns[1].iter().map(|x| 2.0 * x).collect()];
        assert_eq!(refused(&RESPONSE, &twice, &GROUPS), ModelError::DependentColumn { column: 2 });
        let exact: Vec<f64> = columns[1].iter().map(|x| 3.0 + 0.1 * x).collect();
        assert_eq!(refused(&exact, &columns, &GROUPS), ModelError::NoNoise);
        let by_group: Vec<f64> = GROUPS.iter().map(|group| (*group as f64).sqrt()).collect();
        assert_eq!(refused(&by_group, &columns, &GROUPS), ModelError::NotIdentified);
    }

    #[test]
    fn a_contrast_needs_a_finite_weight_per_coefficient() {
        let columns = columns();
        let fit = fit(&design(&RESPONSE, &columns, &GROUPS)).unwrap();
        assert_eq!((fit.contrast(&[1.0]), fit.contrast(&[f64::NAN, 1.0])), (None, None));
    }

    proptest! {
        #[test]
        fn scale_shift_and_the_order_of_runs_do_not_matter(
            response in prop::collection::vec(-5.0..5.0_f64, 10),
            scale in 1e-3..1e6_f64,
            shift in -100.0..100.0_f64,
            turn in 0usize..10,
        ) {
            let columns = columns();
            let Ok(before) = fit(&design(&response, &columns, &GROUPS)) else { return Ok(()) };
            let before = before.contrast(&[0.0, 1.0]).unwrap();
            let mut moved: Vec<f64> = response.iter().map(|value| (value + shift) * scale).collect();
            let (mut turned, mut groups) = (columns.clone(), GROUPS.map(|group| 90 - group));
            moved.rotate_left(turn);
            groups.rotate_left(turn);
            turned.iter_mut().for_each(|column| column.rotate_left(turn));
            let after = fit(&design(&moved, &turned, &groups)).unwrap().contrast(&[0.0, 1.0]).unwrap();
            let error_ratio: f64 = after.standard_error / scale / before.standard_error;
            prop_assert!((error_ratio - 1.0).abs() < 1e-5);
            prop_assert!((after.estimate / scale - before.estimate).abs() < 1e-6);
            prop_assert!((after.df / before.df - 1.0).abs() < 1e-4, "{} {}", after.df, before.df);
        }
    }
}
