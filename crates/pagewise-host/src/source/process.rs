//! `/proc/PID`: what a process is and uses, its memory, and the session it belongs to.

use crate::root::Root;

/// Memory that only this process explains: Σ of these over processes counts no file page, and shared memory once per
/// process that has it mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnonymousMemory {
    /// `RssAnon` in bytes.
    pub anon: u64,
    /// `RssShmem` in bytes.
    pub shmem: u64,
    /// `VmSize` in bytes: the address space.
    pub mapped: u64,
    /// `PPid`.
    pub parent: u32,
}

impl AnonymousMemory {
    /// Whether this may be its parent's memory seen twice: that of a child that was forked and has not yet started its program. Threads of the
    /// parent go on meanwhile, so a 64th may differ.
    #[must_use]
    pub fn is_like(&self, parent: &AnonymousMemory) -> bool {
        let near = |a: u64, b: u64| a.abs_diff(b) <= b / 64;
        self.anon > 0 && near(self.mapped, parent.mapped) && near(self.anon, parent.anon)
    }
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
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let parent = text.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    let (anon, shmem, mapped) = (bytes("RssAnon:")?, bytes("RssShmem:")?, bytes("VmSize:")?);
    Some(AnonymousMemory { anon, shmem, mapped, parent })
}

/// The name of a process or a thread, by its folder (`/proc/PID`, `/proc/PID/task/TID`). Empty when it is gone.
#[must_use]
pub fn name(root: &Root, folder: &str) -> String {
    root.read(&format!("{folder}/comm")).unwrap_or_default().trim_end().to_owned()
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

/// CPU seconds of a thread, from its `schedstat`: the first number, in nanoseconds. `None` when it is gone.
#[must_use]
pub fn ran(root: &Root, schedstat: &str) -> Option<f64> {
    Some(root.read(schedstat).ok()?.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

/// What `/proc/PID/stat` says of a process, as the kernel counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its name, as its author gave it.
    pub comm: Vec<u8>,
    /// What it does: `R`, `S`, `D`, `Z`, …
    pub state: char,
    /// The process that started it, or took it over.
    pub parent: u32,
    /// Whether it is one of the kernel's own.
    pub is_kernel_thread: bool,
    /// Page faults without a disk.
    pub minor_faults: u64,
    /// Page faults with one.
    pub major_faults: u64,
    /// CPU time in the program, in clock ticks.
    pub user: u64,
    /// CPU time in the kernel, in clock ticks.
    pub system: u64,
    /// Its threads.
    pub threads: u32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
    /// Resident pages.
    pub resident: u64,
}

/// See [`Stat`]; `None` when it is no such text. The name may hold anything, also parentheses, line ends and bytes that are no
/// UTF-8: it ends at the last parenthesis (`proc_pid_stat(5)`).
#[must_use]
pub fn parse_stat(text: &[u8]) -> Option<Stat> {
    /// `PF_KTHREAD` of `include/linux/sched.h`.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let begin = text.iter().position(|byte| *byte == b'(')?;
    let end = text.iter().rposition(|byte| *byte == b')').filter(|end| *end > begin)?;
    let mut fields = std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace();
    // Fields are numbered from 1, and the first behind the name is the third. They are asked for in their order.
    let mut next = 3;
    let mut field = |number: usize| {
        let skipped = number - next;
        next = number + 1;
        fields.nth(skipped)
    };
    let state = field(3)?.chars().next()?;
    let parent = field(4)?.parse().ok()?;
    let mut number = |at: usize| field(at)?.parse::<u64>().ok();
    Some(Stat {
        comm: text[begin + 1..end].to_vec(),
        state,
        parent,
        is_kernel_thread: number(9)? & KERNEL_THREAD != 0,
        minor_faults: number(10)?,
        major_faults: number(12)?,
        user: number(14)?,
        system: number(15)?,
        threads: u32::try_from(number(20)?).ok()?,
        started: number(22)?,
        resident: number(24)?,
    })
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
    fn a_stat_is_read_by_the_numbers_of_its_fields_whatever_the_name() {
        let numbers: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let mut text = b"7 (a) \n\xc3 (b) S ".to_vec();
        text.extend(numbers.join(" ").as_bytes());
        let stat = parse_stat(&text).unwrap();
        assert_eq!((stat.comm.as_slice(), stat.state, stat.parent), (&b"a) \n\xc3 (b"[..], 'S', 4));
        assert_eq!((stat.minor_faults, stat.major_faults, stat.user, stat.system), (10, 12, 14, 15));
        assert_eq!((stat.threads, stat.started, stat.resident, stat.is_kernel_thread), (20, 22, 24, false));
        let kernel = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 2 0 0 20 0 1 0 3 0 0 18446744073709551615";
        assert!(parse_stat(kernel).unwrap().is_kernel_thread);
        for cut in 0..kernel.len() - 30 {
            assert_eq!(parse_stat(&kernel[..cut]), None, "{cut}");
        }
        assert_eq!(parse_stat(b")("), None);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_session() {
        assert_eq!(parse_session("12 (a) b (c) S 1 12 7 0 -1 4"), Some(7));
        assert_eq!(parse_session("12"), None);
    }

    #[test]
    fn a_child_that_lies_in_its_parents_memory_is_like_it() {
        let of = |anon, mapped| AnonymousMemory { anon, shmem: 0, mapped, parent: 1 };
        assert!(of(1 << 30, 4 << 30).is_like(&of(1 << 30, 4 << 30)));
        assert!(of((1 << 30) + (2 << 20), 4 << 30).is_like(&of(1 << 30, 4 << 30)));
        assert!(!of(1 << 29, 4 << 30).is_like(&of(1 << 30, 4 << 30)));
        assert!(!of(1 << 30, 2 << 30).is_like(&of(1 << 30, 4 << 30)));
        assert!(!of(0, 0).is_like(&of(0, 0)));
    }

    #[test]
    fn file_pages_are_not_counted() {
        let text = "Name:\tx\nPPid:\t12\nVmSize:\t 100 kB\nVmRSS:\t  30 kB\nRssAnon:\t      10 kB\nRssFile:\t      15 kB\n\
                    RssShmem:\t       5 kB\n";
        let wanted = AnonymousMemory { anon: 10_240, shmem: 5_120, mapped: 102_400, parent: 12 };
        assert_eq!(parse_status(text), Some(wanted));
        assert_eq!(parse_status("Name:\tkthreadd\n"), None);
    }
}
