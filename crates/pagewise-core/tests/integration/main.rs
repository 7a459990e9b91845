//! Core seen from outside, and the rules its sources hold.

mod module_order;
mod outliers;
mod study;
