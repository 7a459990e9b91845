//! `/proc/cgroups`: how many control groups each controller of version 1 has.

pub use pagewise_core::kernel_text::controllers::visit;

/// The file.
pub const PATH: &str = "/proc/cgroups";
