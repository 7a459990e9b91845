//! What guards of ours cost this host: the CPU time of their threads, whoever started them.

use super::kernel_threads;
use crate::root::Root;

/// What a thread that guards is called. The kernel keeps 15 characters.
pub const NAME: &str = "pagewise-guard";

/// What the names of our processes begin with.
const OURS: &str = "pagewise";

/// CPU seconds of every such thread since it began.
#[must_use]
pub fn cpu(root: &Root) -> f64 {
    let called = |path: &str| root.read(&format!("{path}/comm")).unwrap_or_default();
    let ours = kernel_threads::programs(root).into_iter().map(|pid| format!("/proc/{pid}"));
    let threads = ours.filter(|path| called(path).starts_with(OURS)).flat_map(|path| {
        let tasks = root.list(&format!("{path}/task")).unwrap_or_default();
        tasks.into_iter().map(move |task| format!("{path}/task/{task}"))
    });
    let ran = |path: String| {
        let schedstat = root.read(&format!("{path}/schedstat")).ok()?;
        schedstat.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter(|path| called(path).trim_end() == NAME).filter_map(ran).sum::<f64>() * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    #[test]
    fn the_time_of_a_thread_by_that_name_is_counted_and_no_other() {
        let works = |name: &str| {
            let work = || {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(60) {
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
