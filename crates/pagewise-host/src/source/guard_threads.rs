//! What guards of ours cost this host: the CPU time of their threads, whoever started them.

use super::{kernel_threads, process};
use crate::root::Root;

/// What a thread that guards is called. The kernel keeps 15 characters.
pub const NAME: &str = "pagewise-guard";

/// What the names of our processes begin with.
const OURS: &str = "pagewise";

/// Whether a process is one of ours, by its name.
#[must_use]
pub fn is_ours(root: &Root, pid: u32) -> bool {
    process::name(root, &format!("/proc/{pid}")).starts_with(OURS)
}

/// Gives this process, whose first thread calls it, the name it is known by, whatever its file is called.
pub fn name_this_process() {
    // It cannot fail for a name this short; a guard of another name would work all the same.
    let _ = rustix::thread::set_name(c"pagewise");
}

/// CPU seconds of every such thread since it began.
#[must_use]
pub fn cpu(root: &Root) -> f64 {
    kernel_threads::programs(root).into_iter().filter(|pid| is_ours(root, *pid)).map(|pid| cpu_of(root, pid)).sum()
}

/// The same of one process.
#[must_use]
pub fn cpu_of(root: &Root, pid: u32) -> f64 {
    let folder = format!("/proc/{pid}/task");
    let threads = root.list(&folder).unwrap_or_default().into_iter().map(|task| format!("{folder}/{task}"));
    let guards = threads.filter(|path| process::name(root, path) == NAME);
    guards.filter_map(|path| process::ran(root, &format!("{path}/schedstat"))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn the_time_of_a_thread_by_that_name_is_counted_and_no_other() {
        let works = |name: &str| {
            let work = || {
                // Time of the thread's own: on a busy machine it gets a part of any other.
                let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
                while used().tv_sec == 0 && used().tv_nsec < 60_000_000 {
                    black_box(());
                }
                cpu(&Root::live())
            };
            std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap().join().unwrap()
        };
        // Test binaries begin with the package's name.
        let before = cpu(&Root::live());
        assert!(works("pagewise-other") - before < 0.03);
        assert!(works(NAME) - before > 0.02);
    }
}
