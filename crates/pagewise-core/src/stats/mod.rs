//! Estimates, tests and intervals: a readable file per method, with the source of its formula.
//!
//! Everything here takes numbers and returns numbers. What the numbers are (logarithms of times, growth of a counter)
//! and what follows from them is decided in [`crate::experiment::analysis`]. Sums run in a fixed order and
//! transcendental functions come from `libm`, so that the same input gives the same bytes on every host.

pub mod autocorrelation;
pub mod benjamini_hochberg;
pub mod blocked;
pub mod bootstrap;
pub mod carry_over;
pub mod change_points;
pub mod clopper_pearson;
pub mod confidence_sequence;
pub mod contrast;
pub mod crossover;
pub mod dip;
pub mod distribution;
pub mod e_divisive;
pub mod equivalence;
pub mod fisher_exact;
pub mod hedges_g;
pub mod hodges_lehmann;
pub mod holm;
mod incomplete_beta;
pub mod leave_one_out;
pub mod mann_whitney;
pub mod mixed_model;
pub mod noncentral_t;
pub mod normal;
#[cfg(test)]
mod normal_draws;
pub mod outliers;
pub mod paired;
pub mod paired_ratio;
pub mod percent;
pub mod power;
pub mod randomisation;
mod rank_distribution;
pub mod shapiro_wilk;
pub mod simultaneous;
pub mod spending;
pub mod stratified;
pub mod student_t;
pub mod summary;
pub mod trend;
pub mod welch;
