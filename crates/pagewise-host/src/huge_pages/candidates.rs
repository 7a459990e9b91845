//! Which processes hold memory that huge pages could be made of.

use crate::root::Root;
use crate::source::{kernel_threads, meminfo, process};
use serde::Serialize;

/// A process with anonymous memory on small pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// Bytes of its anonymous memory on small pages.
    pub small: u64,
    /// And on huge ones.
    pub huge: u64,
}

/// All of them, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Candidates {
    /// The processes.
    pub candidates: Vec<Candidate>,
    /// Processes whose memory may not be read.
    pub not_read: u64,
}

/// Looks through all processes. Memory of another user's may be read by root alone; a kernel before 4.14 has no sums, and then none is read.
#[must_use]
pub fn list(root: &Root, huge_size: u64) -> Candidates {
    let mut found = Candidates::default();
    // Whoever looks is none of them.
    let ours = root.is_live().then(std::process::id);
    for pid in kernel_threads::programs(root).into_iter().filter(|pid| Some(*pid) != ours) {
        let folder = format!("/proc/{pid}");
        // The first line says where it lies.
        let sums = root.read(&format!("{folder}/smaps_rollup"));
        let Some(sums) = sums.ok().and_then(|text| meminfo::parse(text.split_once('\n')?.1).ok()) else {
            // One that is gone meanwhile has no name either, and a thread of the kernel no memory.
            found.not_read += u64::from(root.read(&format!("{folder}/cmdline")).is_ok_and(|line| !line.is_empty()));
            continue;
        };
        let of = |name: &str| sums.get(name).copied().unwrap_or(0);
        let huge = of("AnonHugePages");
        let small = of("Anonymous").saturating_sub(huge);
        if small >= huge_size {
            found.candidates.push(Candidate { pid, command: process::name(root, &folder), small, huge });
        }
    }
    found.candidates.sort_by_key(|one| (std::cmp::Reverse(one.small), one.pid));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    #[test]
    fn who_holds_most_on_small_pages_stands_first_and_who_may_not_be_read_is_counted() {
        let process = |fake: FakeHost, pid: u32, name: &str, kib: Option<(u64, u64)>| {
            let fake = fake.file(&format!("/proc/{pid}/comm"), &format!("{name}\n"));
            let fake = fake.file(&format!("/proc/{pid}/cmdline"), &format!("{name}\0"));
            match kib {
                Some((anonymous, huge)) => fake.file(
                    &format!("/proc/{pid}/smaps_rollup"),
                    &format!(
                        "5566-7ffe ---p 00000000 00:00 0    [rollup]\nRss: 9 kB\nAnonymous:  {anonymous} kB\nAnonHugePages: {huge} kB\n"
                    ),
                ),
                None => fake,
            }
        };
        let fake = process(FakeHost::modern(), 70, "java", Some((10_000, 4_096)));
        let fake = process(fake, 71, "python3", Some((90_000, 0)));
        let fake = process(fake, 72, "small", Some((1_000, 0)));
        let fake = process(process(fake, 73, "all huge", Some((4_096, 4_096))), 74, "secret", None);
        let found = list(&Root::at(fake.path()), 2 << 20);
        let seen: Vec<(u32, &str, u64, u64)> = found
            .candidates
            .iter()
            .map(|one| (one.pid, one.command.as_str(), one.small >> 10, one.huge >> 10))
            .collect();
        assert_eq!(seen, [(71, "python3", 90_000, 0), (70, "java", 5_904, 4_096)]);
        assert_eq!(found.not_read, 1);
    }
}
