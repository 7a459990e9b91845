//! Estimates, tests and power against R on random data: every number to 1e-9 of itself, unless a claim says otherwise.
//!
//! R is handed expressions with the data written into them and prints their values; nothing is stored that could age.

mod claim;
mod distributions;
mod health;
mod pairs;
mod resampling;
mod strata;
mod two_samples;
