//! What is kept on disk: trial bundles.

pub mod bundle;
