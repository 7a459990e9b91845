//! Estimates, tests and intervals: a readable file per method, with the source of its formula.
//!
//! Everything here takes numbers and returns numbers. What the numbers are (logarithms of times, growth of a counter)
//! and what follows from them is decided in [`crate::experiment::analysis`]. Sums run in a fixed order and
//! transcendental functions come from `libm`, so that the same input gives the same bytes on every host.

pub mod benjamini_hochberg;
pub mod crossover;
pub mod dip;
pub mod equivalence;
pub mod fisher_exact;
pub mod holm;
mod incomplete_beta;
pub mod leave_one_out;
pub mod normal;
pub mod outliers;
pub mod percent;
pub mod power;
pub mod randomisation;
pub mod simultaneous;
pub mod student_t;
pub mod summary;
pub mod trend;
pub mod welch;
