//! `/proc/PID`: the memory of a process and the session it belongs to.

use crate::root::Root;

/// Memory that only this process explains: Σ of these over processes counts no file page, and shared memory once per
/// process that has it mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnonymousMemory {
    /// `RssAnon` in bytes.
    pub anon: u64,
    /// `RssShmem` in bytes.
    pub shmem: u64,
}

/// Reads it. `None` when the process is gone, is a kernel thread, or the kernel (before 4.5) does not split its RSS.
#[must_use]
pub fn anonymous_memory(root: &Root, pid: u32) -> Option<AnonymousMemory> {
    parse_status(&root.read(&format!("/proc/{pid}/status")).ok()?)
}

/// See [`anonymous_memory`].
#[must_use]
pub fn parse_status(text: &str) -> Option<AnonymousMemory> {
    let bytes = |key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some(AnonymousMemory { anon: bytes("RssAnon:")?, shmem: bytes("RssShmem:")? })
}

/// The session a process belongs to. `None` when it is gone.
#[must_use]
pub fn session(root: &Root, pid: u32) -> Option<u32> {
    parse_session(&root.read(&format!("/proc/{pid}/stat")).ok()?)
}

/// Field 6 of `/proc/PID/stat`. The name before it may hold spaces and parentheses, so fields are counted from its end.
#[must_use]
pub fn parse_session(text: &str) -> Option<u32> {
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_whitespace().nth(3)?.parse().ok()
}

/// When a process started, in clock ticks since boot: what tells it from a later one with the same pid. `None` once it
/// has ended, also while nobody has waited for it yet.
#[must_use]
pub fn start_time(root: &Root, pid: u32) -> Option<u64> {
    parse_start_time(&root.read(&format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of `/proc/PID/stat`, unless field 3 says that the process has ended (`Z` or `X`).
#[must_use]
pub fn parse_start_time(text: &str) -> Option<u64> {
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") { None } else { fields.nth(18)?.parse().ok() }
}

/// All process ids.
#[must_use]
pub fn pids(root: &Root) -> Vec<u32> {
    root.list("/proc").unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_field_22_of_a_process_that_has_not_ended() {
        let numbers: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = |state: &str| format!("7 (a) b (c)) {state} {}", numbers.join(" "));
        assert_eq!(parse_start_time(&stat("S")), Some(22));
        assert_eq!(parse_start_time(&stat("Z")), None);
        assert_eq!(parse_start_time("7 (cut"), None);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_session() {
        assert_eq!(parse_session("12 (a) b (c) S 1 12 7 0 -1 4"), Some(7));
        assert_eq!(parse_session("12"), None);
    }

    #[test]
    fn file_pages_are_not_counted() {
        let text = "Name:\tx\nVmRSS:\t  30 kB\nRssAnon:\t      10 kB\nRssFile:\t      15 kB\nRssShmem:\t       5 kB\n";
        assert_eq!(parse_status(text), Some(AnonymousMemory { anon: 10_240, shmem: 5_120 }));
        assert_eq!(parse_status("Name:\tkthreadd\n"), None);
    }
}
