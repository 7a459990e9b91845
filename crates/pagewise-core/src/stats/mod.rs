//! Estimates, tests and intervals: a readable file per method, with the source of its formula.
//!
//! Everything here takes numbers and returns numbers. What the numbers are (logarithms of times, growth of a counter)
//! and what follows from them is decided in [`crate::experiment::analysis`]. Sums run in a fixed order and
//! transcendental functions come from `libm`, so that the same input gives the same bytes on every host.

pub mod benjamini_hochberg;
pub mod crossover;
pub mod dip;
pub mod fisher_exact;
pub mod leave_one_out;
pub mod normal;
pub mod power;
pub mod randomisation;
pub mod spending;
pub mod student_t;
pub mod summary;
pub mod trend;
