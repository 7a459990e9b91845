//! `/proc/stat`: where the CPUs' time went since boot, in clock ticks, and how much happened; and which CPUs run.

use super::visit::{Each, Number};
use super::{SourceError, format_error};
use crate::root::Root;
use pagewise_core::kernel_text::stat::FIELDS;
pub use pagewise_core::kernel_text::stat::visit;

/// The file.
pub const PATH: &str = "/proc/stat";

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
    /// How many CPUs there were.
    pub cpus: u64,
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
            cpus: self.cpus,
        }
    }

    fn all(self) -> u64 {
        [self.user, self.system, self.interrupts, self.idle, self.steal].into_iter().fold(0, u64::saturating_add)
    }

    /// System share of busy time: Δsystem / (Δuser + Δnice + Δsystem). `None` when nothing ran.
    #[must_use]
    pub fn system_share(self) -> Option<f64> {
        let busy = self.user.saturating_add(self.system);
        (busy > 0).then(|| self.system as f64 / busy as f64)
    }

    /// System share of all time, idle and stolen included. `None` when no time passed.
    #[must_use]
    pub fn system_share_of_all(self) -> Option<f64> {
        let all = self.all();
        (all > 0).then(|| self.system as f64 / all as f64)
    }

    /// Share of all time in which programs ran in user mode, but for `seconds` of one of them. `None` when no time passed.
    #[must_use]
    pub fn user_share_beside(self, seconds: f64) -> Option<f64> {
        let own = seconds * rustix::param::clock_ticks_per_second() as f64;
        let all = self.all();
        (all > 0).then(|| (self.user as f64 - own).max(0.0) / all as f64)
    }

    /// Share of all time in which user or kernel code ran. `None` when no time passed.
    #[must_use]
    pub fn busy_share(self) -> Option<f64> {
        let all = self.all();
        (all > 0).then(|| self.user.saturating_add(self.system) as f64 / all as f64)
    }

    /// Stolen share of all time.
    #[must_use]
    pub fn steal_share(self) -> f64 {
        let all = self.all();
        if all == 0 { 0.0 } else { self.steal as f64 / all as f64 }
    }

    /// The share that was stolen for certain. A CPU adds what was taken from it when its next tick comes
    /// (`steal_account_process_time`, kernel/sched/cputime.c, 6.12): as much as a tick of each may be of the time before, and
    /// of 20 ms that is all of it.
    #[must_use]
    pub fn steal_share_at_least(self) -> f64 {
        CpuTimes { steal: self.steal.saturating_sub(self.cpus), ..self }.steal_share()
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
    let mut field: Vec<u64> = Vec::with_capacity(FIELDS.len());
    let mut cpus = 0;
    let mut each = Each(|number: Number<'_, '_>| {
        if number.labels.is_empty() && FIELDS.contains(&number.name) {
            field.push(number.value);
        }
        cpus += u64::from(!number.labels.is_empty() && number.name == FIELDS[0]);
    });
    visit(text, &mut each).map_err(|what| format_error(PATH, what))?;
    if field.len() < 4 {
        return Err(format_error(PATH, "no 'cpu' line of at least four numbers"));
    }
    let at = |index: usize| field.get(index).copied().unwrap_or(0);
    // A file of another host may hold any number.
    let sum = |one: usize, other: usize| at(one).saturating_add(at(other));
    Ok(CpuTimes { user: sum(0, 1), system: at(2), interrupts: sum(5, 6), idle: sum(3, 4), steal: at(7), cpus })
}

/// CPUs that run, from a list such as `0-3,8`.
#[must_use]
pub fn online(root: &Root) -> Vec<u32> {
    let text = root.read("/sys/devices/system/cpu/online").unwrap_or_else(|_| "0".to_owned());
    parse_list(&text)
}

/// The numbers of a list such as `0-3,8`.
pub(crate) fn parse_list(text: &str) -> Vec<u32> {
    /// More CPUs than any kernel can be built for.
    const MOST: u32 = 8192;
    let ranges = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?.min(MOST))
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_is_ranges_and_numbers() {
        assert_eq!(parse_list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(parse_list(""), Vec::<u32>::new());
        assert_eq!(parse_list("3-1,x,5"), [5]);
    }

    #[test]
    fn shares_come_from_differences() {
        let before = parse("cpu  10 0 10 100 0 0 0 0 0 0\n").unwrap();
        let after = parse("cpu  30 10 40 140 0 0 0 0 0 0\n").unwrap();
        assert_eq!(after.since(before).system_share(), Some(0.5));
        assert_eq!(before.since(after).system_share(), None);
        assert!(parse("cpu0 1 2 3 4").is_err());
    }

    #[test]
    fn what_a_tick_may_hold_of_the_time_before_is_not_stolen_for_certain() {
        let at = |idle: u64, steal: u64| {
            parse(&format!("cpu  0 0 0 {idle} 0 0 0 {steal}\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n")).unwrap()
        };
        let shares = |idle: u64, steal: u64| {
            let since = at(100 + idle, 50 + steal).since(at(100, 50));
            (since.steal_share(), since.steal_share_at_least())
        };
        assert_eq!(shares(2, 2), (0.5, 0.0));
        assert_eq!(shares(98, 102), (0.51, 100.0 / 198.0));
    }

    #[test]
    fn each_cpu_and_each_kind_of_soft_interrupt_is_told_apart() {
        let text = "cpu  9 1 2 3 4 5 6 7 8 9\ncpu0 1 1 2 3 4 5 6 7 8 9\nintr 50 1 2 3\nctxt 6\nbtime 7\nprocesses 8\n\
                    procs_running 2\nprocs_blocked 1\nsoftirq 70 1 2 3 4 5 6 7 8 9 10\n";
        let mut seen = Vec::new();
        let mut each = Each(|number: Number<'_, '_>| {
            let label = number.labels.first().map_or("", |(_, value)| value);
            seen.push(format!("{} {label} {}", number.name, number.value));
        });
        visit(text, &mut each).unwrap();
        for wanted in [
            "user  9",
            "softirq  6",
            "user 0 1",
            "guest_nice 0 9",
            "intr  50",
            "softirqs  70",
            "softirqs rcu 10",
            "procs_blocked  1",
        ] {
            assert!(seen.iter().any(|one| one == wanted), "no {wanted} in {seen:?}");
        }
        assert_eq!(seen.len(), 20 + 6 + 11);
        assert_eq!(parse(text).unwrap().interrupts, 5 + 6);
    }

    #[test]
    fn a_kernel_with_fewer_columns_or_more_is_read() {
        assert_eq!(parse("cpu  1 2 3 4 5 6 7\n").unwrap().steal, 0);
        assert_eq!(parse("cpu  1 2 3 4 5 6 7 8 9 10 11 12\n").unwrap().steal, 8);
        assert!(parse("cpu  1 2 3\n").is_err());
    }
}
