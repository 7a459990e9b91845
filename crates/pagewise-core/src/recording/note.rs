//! What stands beside the numbers of a recording: settings and their changes, and notes in time.

/// A setting, when it was seen to have that value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// CLOCK_BOOTTIME in nanoseconds.
    pub ts: u64,
    /// Name of the tunable.
    pub path: String,
    /// Its value; `None` when it could not be read.
    pub value: Option<String>,
    /// `start` for the snapshot at the beginning, `seen` for a change noticed later.
    pub by: String,
}

/// The key under which a recording keeps whether free memory went back to a hypervisor: `1` or `0`, and nothing where that is not known.
pub const FREE_PAGE_REPORTING: &str = "free_page_reporting";

/// A note in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// CLOCK_BOOTTIME in nanoseconds.
    pub ts: u64,
    /// Who made it.
    pub source: String,
    /// What it says.
    pub text: String,
}
