//! Spark's own words for what decides which of its memory lies on huge pages.

pub mod configuration;
pub mod version;
