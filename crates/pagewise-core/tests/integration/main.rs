//! Core seen from outside, and the rules its sources hold.

mod outliers;
mod study;
