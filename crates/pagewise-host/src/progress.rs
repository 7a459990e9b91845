//! How far something is that takes its time, told to whoever shows it.

/// Where anything that takes longer than two seconds says how far it is.
pub trait Progress {
    /// `what` is being done; `done` of 1 so far, when that can be told.
    fn stage(&self, what: &str, done: Option<f64>);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _: &str, _: Option<f64>) {}
}
