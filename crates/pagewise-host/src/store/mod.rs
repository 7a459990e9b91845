//! What is kept on disk: trial bundles and recordings.

pub mod bundle;
pub mod holder;
pub mod recording;
