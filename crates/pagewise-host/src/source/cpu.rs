//! The first line of `/proc/stat`: where the CPUs' time went since boot, in clock ticks.

use super::{SourceError, format_error};
use crate::root::Root;

const PATH: &str = "/proc/stat";

/// CPU time since boot, in ticks of `USER_HZ`. Only differences and their ratios mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user mode, niced included.
    pub user: u64,
    /// In the kernel, interrupts not included.
    pub system: u64,
    /// Serving interrupts.
    pub interrupts: u64,
    /// Idle, waiting for I/O included.
    pub idle: u64,
    /// Taken by the hypervisor for other guests.
    pub steal: u64,
}

impl CpuTimes {
    /// Growth since `before`. The kernel may step idle and iowait back by a tick (proc(5)); that counts as none.
    #[must_use]
    pub fn since(self, before: CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            interrupts: self.interrupts.saturating_sub(before.interrupts),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    /// System share of busy time: Δsystem / (Δuser + Δnice + Δsystem). `None` when nothing ran.
    #[must_use]
    pub fn system_share(self) -> Option<f64> {
        let busy = self.user + self.system;
        (busy > 0).then(|| self.system as f64 / busy as f64)
    }

    /// System share of all time, idle and stolen included. `None` when no time passed.
    #[must_use]
    pub fn system_share_of_all(self) -> Option<f64> {
        let all = self.user + self.system + self.interrupts + self.idle + self.steal;
        (all > 0).then(|| self.system as f64 / all as f64)
    }

    /// Stolen share of all time.
    #[must_use]
    pub fn steal_share(self) -> f64 {
        let all = self.user + self.system + self.interrupts + self.idle + self.steal;
        if all == 0 { 0.0 } else { self.steal as f64 / all as f64 }
    }
}

/// Reads it.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<CpuTimes, SourceError> {
    parse(&root.read(PATH)?)
}

/// See [`read`].
///
/// # Errors
/// When there is no `cpu` line of at least four numbers.
pub fn parse(text: &str) -> Result<CpuTimes, SourceError> {
    let line = text.lines().find(|line| line.starts_with("cpu ")).ok_or_else(|| format_error(PATH, "no 'cpu' line"))?;
    let field: Vec<u64> = line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    if field.len() < 4 {
        return Err(format_error(PATH, format!("'{line}' has fewer than four numbers")));
    }
    let at = |index: usize| field.get(index).copied().unwrap_or(0);
    Ok(CpuTimes { user: at(0) + at(1), system: at(2), interrupts: at(5) + at(6), idle: at(3) + at(4), steal: at(7) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_come_from_differences() {
        let before = parse("cpu  10 0 10 100 0 0 0 0 0 0\n").unwrap();
        let after = parse("cpu  30 10 40 140 0 0 0 0 0 0\n").unwrap();
        assert_eq!(after.since(before).system_share(), Some(0.5));
        assert_eq!(before.since(after).system_share(), None);
        assert!(parse("cpu0 1 2 3 4").is_err());
    }
}
