//! The balanced split-plot design in closed form: some levels are switched rarely (boots), others within them.
//!
//! In each block every level of the whole-plot factor gets one whole plot (a boot), and in each whole plot every level
//! of the sub-plot factor is run once. What differs between whole plots is compared with the noise between whole plots,
//! what differs inside them with the smaller noise inside. The strata are never pooled: a whole-plot mean square that
//! happens to come out below the sub-plot one keeps its few degrees of freedom, where REML would declare the boots
//! alike. Sources: Cochran and Cox, "Experimental Designs" (1957), ch. 7; for combined errors Satterthwaite, Biometrics
//! Bulletin 2 (1946), 110–114.

use pagewise_core::stats::contrast::Contrast;
use std::fmt;

/// Values by block, whole-plot level and sub-plot level.
pub type Table = [Vec<Vec<f64>>];

/// The analysis of variance of the two strata, and the means of the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitPlot {
    /// Mean of each cell over the blocks, by whole-plot and sub-plot level.
    pub means: Vec<Vec<f64>>,
    /// Mean square between whole plots, blocks and whole-plot levels removed.
    pub whole_plot: MeanSquare,
    /// Mean square inside whole plots, levels and their interaction removed.
    pub sub_plot: MeanSquare,
    blocks: f64,
}

/// A mean square and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanSquare {
    /// In squared units of the values.
    pub value: f64,
    /// Degrees of freedom.
    pub df: f64,
}

/// Why there is no analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitPlotError {
    /// Some cell is empty or of another size: [`pagewise_core::stats::mixed_model`] takes that.
    NotBalanced {
        /// Index of the block, from 0.
        block: usize,
    },
    /// A stratum has no degree of freedom.
    TooSmall {
        /// Blocks.
        blocks: usize,
        /// Levels of the whole-plot factor.
        whole: usize,
        /// Levels of the sub-plot factor.
        sub: usize,
    },
    /// A value that is no finite number.
    NotFinite {
        /// Index of the block, from 0.
        block: usize,
    },
}

impl fmt::Display for SplitPlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitPlotError::NotBalanced { block } => {
                write!(f, "block {block} has other whole plots or runs than the first; use the mixed model")
            }
            SplitPlotError::TooSmall { blocks, whole, sub } => {
                write!(
                    f,
                    "{blocks} blocks of {whole} whole-plot and {sub} sub-plot levels; it takes at least 2 of each"
                )
            }
            SplitPlotError::NotFinite { block } => {
                write!(f, "block {block} has a value that is not a finite number; use the mixed model without that run")
            }
        }
    }
}

impl std::error::Error for SplitPlotError {}

/// Analyses a complete table.
///
/// # Errors
/// When the table is not balanced, too small, or holds a value that is no number.
pub fn analyze(values: &Table) -> Result<SplitPlot, SplitPlotError> {
    let (blocks, whole) = (values.len(), values.first().map_or(0, Vec::len));
    let sub = values.first().and_then(|block| block.first()).map_or(0, Vec::len);
    let balanced = |block: &Vec<Vec<f64>>| block.len() == whole && block.iter().all(|plot| plot.len() == sub);
    if let Some(block) = values.iter().position(|block| !balanced(block)) {
        return Err(SplitPlotError::NotBalanced { block });
    }
    if let Some(block) = values.iter().position(|block| block.iter().flatten().any(|value| !value.is_finite())) {
        return Err(SplitPlotError::NotFinite { block });
    }
    if blocks < 2 || whole < 2 || sub < 2 {
        return Err(SplitPlotError::TooSmall { blocks, whole, sub });
    }
    let (r, a, b) = (blocks as f64, whole as f64, sub as f64);
    let plot_mean = |block: usize, i: usize| values[block][i].iter().sum::<f64>() / b;
    let means: Vec<Vec<f64>> = (0..whole)
        .map(|i| (0..sub).map(|j| values.iter().map(|block| block[i][j]).sum::<f64>() / r).collect())
        .collect();
    let level_mean = |i: usize| means[i].iter().sum::<f64>() / b;
    let block_mean = |block: usize| (0..whole).map(|i| plot_mean(block, i)).sum::<f64>() / a;
    let grand_mean = (0..whole).map(level_mean).sum::<f64>() / a;
    let (mut between, mut within) = (0.0, 0.0);
    for (block, plots) in values.iter().enumerate() {
        for (i, plot) in plots.iter().enumerate() {
            let rest = plot_mean(block, i) - level_mean(i) - block_mean(block) + grand_mean;
            between += b * rest * rest;
            for (j, value) in plot.iter().enumerate() {
                let rest = (value - plot_mean(block, i)) - (means[i][j] - level_mean(i));
                within += rest * rest;
            }
        }
    }
    let (between_df, within_df) = ((r - 1.0) * (a - 1.0), a * (r - 1.0) * (b - 1.0));
    Ok(SplitPlot {
        means,
        whole_plot: MeanSquare { value: between / between_df, df: between_df },
        sub_plot: MeanSquare { value: within / within_df, df: within_df },
        blocks: r,
    })
}

impl SplitPlot {
    /// A combination of cell means, its weights by whole-plot and sub-plot level. `None` unless there is a weight per
    /// cell and all of them sum to zero.
    ///
    /// The part of the weights that adds up within whole plots meets the whole-plot error, the rest the sub-plot error;
    /// where both meet, as for two whole-plot levels at one sub-plot level, Satterthwaite's formula gives the degrees
    /// of freedom.
    #[must_use]
    pub fn contrast(&self, weights: &[Vec<f64>]) -> Option<Contrast> {
        let fits = weights.len() == self.means.len()
            && weights.iter().zip(&self.means).all(|(weights, means)| weights.len() == means.len());
        let largest = weights.iter().flatten().fold(0.0, |largest: f64, weight| largest.max(weight.abs()));
        let sum: f64 = weights.iter().flatten().sum();
        let is_rounding = |value: f64, of: f64| value.abs() <= 1e-12 * of;
        if !fits || !largest.is_finite() || !is_rounding(sum, largest * 100.0) {
            return None;
        }
        let estimate = weights.iter().flatten().zip(self.means.iter().flatten()).map(|(w, mean)| w * mean).sum();
        let sub = self.means[0].len() as f64;
        let squares: f64 = weights.iter().flatten().map(|weight| weight * weight).sum();
        let row_sum = |row: &Vec<f64>| row.iter().sum::<f64>();
        let between = weights.iter().map(|row| row_sum(row) * row_sum(row)).sum::<f64>() / sub;
        let between = if is_rounding(between, squares) { 0.0 } else { between };
        let within = if is_rounding(squares - between, squares) { 0.0 } else { squares - between };
        let of_whole_plots = between * self.whole_plot.value / self.blocks;
        let of_sub_plots = within * self.sub_plot.value / self.blocks;
        let variance = of_whole_plots + of_sub_plots;
        let df = if within == 0.0 {
            self.whole_plot.df
        } else if between == 0.0 || variance == 0.0 {
            self.sub_plot.df
        } else {
            let part = |variance: f64, df: f64| variance * variance / df;
            variance * variance / (part(of_whole_plots, self.whole_plot.df) + part(of_sub_plots, self.sub_plot.df))
        };
        Some(Contrast::new(estimate, variance.sqrt(), df))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks of two boots of two runs: boot effect 4 between levels, effect 1 inside, noise in each.
    fn table() -> Vec<Vec<Vec<f64>>> {
        vec![vec![vec![10.0, 11.5], vec![14.0, 14.5]], vec![vec![11.0, 11.5], vec![16.0, 17.5]]]
    }

    #[test]
    fn the_strata_are_those_of_the_textbook_formulas() {
        let found = analyze(&table()).unwrap();
        // Plot means 10.75 14.25 11.25 16.75: interaction with blocks (3.5 − 5.5)/4 = ∓0.5, four squares times 2 runs.
        assert_eq!(found.whole_plot, MeanSquare { value: 2.0, df: 1.0 });
        // Inside: half differences 0.75 0.25 0.25 0.75 around means 0.5 0.5: eight squares of 0.25.
        assert_eq!(found.sub_plot, MeanSquare { value: 0.25, df: 2.0 });
    }

    #[test]
    fn each_contrast_meets_its_own_error() {
        let found = analyze(&table()).unwrap();
        let whole = found.contrast(&[vec![-0.5, -0.5], vec![0.5, 0.5]]).unwrap();
        assert_eq!((whole.estimate, whole.standard_error, whole.df), (4.5, 1.0, 1.0));
        let inside = found.contrast(&[vec![-0.5, 0.5], vec![-0.5, 0.5]]).unwrap();
        assert_eq!((inside.estimate, inside.df), (1.0, 2.0));
        assert!((inside.standard_error - 0.125_f64.sqrt()).abs() < 1e-15);
        let interaction = found.contrast(&[vec![1.0, -1.0], vec![-1.0, 1.0]]).unwrap();
        assert_eq!((interaction.estimate, interaction.df), (0.0, 2.0));
        // One whole-plot difference at one sub-plot level: (2 + (2 − 1) · 0.25) / 2 blocks, between 1 and 3 degrees.
        let at_one = found.contrast(&[vec![-1.0, 0.0], vec![1.0, 0.0]]).unwrap();
        assert!((at_one.standard_error - 1.125_f64.sqrt()).abs() < 1e-15 && at_one.df > 1.0 && at_one.df < 3.0);
    }

    #[test]
    fn weights_that_do_not_sum_to_zero_or_do_not_fit_are_no_contrast() {
        let found = analyze(&table()).unwrap();
        assert_eq!(found.contrast(&[vec![1.0, 0.0], vec![0.0, 0.0]]), None);
        assert_eq!(found.contrast(&[vec![1.0, -1.0]]), None);
        assert_eq!(found.contrast(&[vec![f64::NAN, 0.0], vec![0.0, 0.0]]), None);
    }

    #[test]
    fn shift_does_not_matter_and_scale_scales() {
        let weights = [vec![-1.0, 0.0], vec![1.0, 0.0]];
        let before = analyze(&table()).unwrap().contrast(&weights).unwrap();
        let mut moved = table();
        moved.iter_mut().flatten().flatten().for_each(|value| *value = (*value + 100.0) * 8.0);
        moved.swap(0, 1);
        let after = analyze(&moved).unwrap().contrast(&weights).unwrap();
        assert!((after.estimate - 8.0 * before.estimate).abs() < 1e-9 && (after.t - before.t).abs() < 1e-9);
        assert!((after.df - before.df).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_balanced_is_left_to_the_mixed_model() {
        let mut table = table();
        table[1][0].pop();
        assert_eq!(analyze(&table), Err(SplitPlotError::NotBalanced { block: 1 }));
        table[1][0].push(f64::NAN);
        assert_eq!(analyze(&table), Err(SplitPlotError::NotFinite { block: 1 }));
        assert_eq!(analyze(&[]), Err(SplitPlotError::TooSmall { blocks: 0, whole: 0, sub: 0 }));
        assert!(analyze(&table[..1]).is_err());
    }

    #[test]
    fn values_without_noise_are_certain() {
        let table = vec![vec![vec![1.0, 2.0], vec![3.0, 4.0]]; 3];
        let found = analyze(&table).unwrap().contrast(&[vec![-1.0, 1.0], vec![-1.0, 1.0]]).unwrap();
        assert_eq!((found.p, found.df), (0.0, 6.0 - 2.0));
    }
}
