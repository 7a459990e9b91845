//! A stack and how often it was seen, as tools print it that count before they print.

use crate::recording::Frame;

/// A stack and how often it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CountedStack {
    /// The innermost first.
    pub(super) frames: Vec<Frame>,
    pub(super) comm: String,
    pub(super) pid: Option<u32>,
    pub(super) count: u64,
}
