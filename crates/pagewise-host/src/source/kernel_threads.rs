//! CPU time of the kernel's own memory threads: kswapd and kcompactd of each node, khugepaged; and who is none of its threads.

use super::polled::NumberFile;
use super::process;
use crate::root::Root;
use std::collections::HashSet;

/// They begin like this (`mm/vmscan.c`, `mm/compaction.c`, `mm/khugepaged.c`).
const NAMES: [&str; 3] = ["kswapd", "kcompactd", "khugepaged"];

/// kthreadd: every kernel thread is its child.
const KTHREADD: u32 = 2;

/// `schedstat` of each: its first number is the time it ran, in nanoseconds. `/proc/PID/stat` counts in hundredths of a
/// second, and a thread that is woken often for less than that may never be seen in it.
#[must_use]
pub fn number_files(root: &Root) -> Vec<NumberFile> {
    let mut files: Vec<NumberFile> = candidates(root)
        .into_iter()
        .filter_map(|pid| {
            let name = root.read(&format!("/proc/{pid}/comm")).ok()?;
            let name = name.trim();
            let is_one = NAMES.iter().any(|begin| {
                name.strip_prefix(begin).is_some_and(|node| node.bytes().all(|byte| byte.is_ascii_digit()))
            });
            // A program may call itself so, too; it has a command line.
            let is_kernel = || root.read(&format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty());
            (is_one && is_kernel()).then(|| NumberFile {
                path: format!("/proc/{pid}/schedstat"),
                name: "cpu".to_owned(),
                labels: format!("thread={name}"),
            })
        })
        .collect();
    files.sort_by(|a, b| a.labels.cmp(&b.labels));
    files
}

/// Kernel threads where the kernel lists them, else every process.
fn candidates(root: &Root) -> Vec<u32> {
    listed(root).unwrap_or_else(|| process::pids(root))
}

/// `None` on a kernel without CONFIG_PROC_CHILDREN.
fn listed(root: &Root) -> Option<Vec<u32>> {
    let children = root.read(&format!("/proc/{KTHREADD}/task/{KTHREADD}/children")).ok()?;
    Some(children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// CPU seconds of every kswapd since boot.
#[must_use]
pub fn kswapd_cpu(root: &Root) -> f64 {
    cpu_of(root, &kswapd_files(root))
}

/// Where the time of every kswapd is read.
#[must_use]
pub fn kswapd_files(root: &Root) -> Vec<NumberFile> {
    number_files(root).into_iter().filter(|file| file.labels.starts_with("thread=kswapd")).collect()
}

/// CPU seconds since boot of those threads that are still there.
#[must_use]
pub fn cpu_of(root: &Root, threads: &[NumberFile]) -> f64 {
    threads.iter().filter_map(|file| process::ran(root, &file.path)).sum()
}

/// All processes but the kernel's threads, which are most of those on many hosts; all where it does not list them. In a
/// container the process of that number is somebody's, and so are its children.
#[must_use]
pub fn programs(root: &Root) -> Vec<u32> {
    let mut pids = process::pids(root);
    let stat = root.read(&format!("/proc/{KTHREADD}/stat")).unwrap_or_default();
    if process::parse_stat(stat.as_bytes()).is_some_and(|stat| stat.is_kernel_thread) {
        let threads: HashSet<u32> = listed(root).unwrap_or_default().into_iter().collect();
        pids.retain(|pid| !threads.contains(pid));
    }
    pids
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;
    use pagewise_testkit::fake_host::FakeProcess;
    use std::fs;

    fn host(processes: &[(u32, &str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (pid, name, command_line) in processes {
            let path = root.path(&format!("/proc/{pid}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("comm"), format!("{name}\n")).unwrap();
            fs::write(path.join("cmdline"), command_line).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn a_thread_per_node_and_no_program_that_bears_its_name() {
        let (_folder, root) = host(&[
            (50, "kswapd1", ""),
            (49, "kswapd0", ""),
            (51, "khugepaged", ""),
            (52, "kswapd_helper", ""),
            (900, "kswapd0", "/bin/kswapd0"),
        ]);
        let labels: Vec<String> = number_files(&root).into_iter().map(|file| file.labels).collect();
        assert_eq!(labels, ["thread=khugepaged", "thread=kswapd0", "thread=kswapd1"]);
    }

    #[test]
    fn programs_are_those_that_are_no_threads_of_the_kernel() {
        let process = |pid, is_kernel_thread| FakeProcess { pid, is_kernel_thread, ..FakeProcess::default() };
        let host = FakeHost::empty().process(&process(2, true)).process(&process(9, true)).process(&process(77, false));
        assert_eq!(programs(&Root::at(host.path())), [2, 77, 9], "not listed: all, as the folder has them");
        let host = host.file("/proc/2/task/2/children", "9 10 ");
        assert_eq!(programs(&Root::at(host.path())), [2, 77]);
        let container = host.process(&process(2, false));
        assert_eq!(programs(&Root::at(container.path())), [2, 77, 9], "children of somebody's");
    }

    #[test]
    fn where_the_kernel_lists_its_threads_no_other_process_is_looked_at() {
        let (_folder, root) = host(&[(49, "kswapd0", ""), (50, "kcompactd0", "")]);
        let tasks = root.path("/proc/2/task/2");
        fs::create_dir_all(&tasks).unwrap();
        fs::write(tasks.join("children"), "50 ").unwrap();
        let paths: Vec<String> = number_files(&root).into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["/proc/50/schedstat"]);
    }
}
