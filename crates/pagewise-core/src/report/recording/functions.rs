//! The functions CPUs were in during a stretch of time, the most first, and the kernel's share: what `top` lists.

use crate::recording::{Frame, Profile};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Functions and how often CPUs were in them. CPUs that were idle do not count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Functions<'a> {
    /// All samples.
    pub samples: u64,
    /// Of those, how many were in the kernel.
    pub kernel: u64,
    /// Each function with its samples; those seen equally often in the order in which they were first seen.
    pub rows: Vec<(&'a Frame, u64)>,
    /// Each process by name and number with its samples, the most first.
    pub programs: Vec<(&'a str, u32, u64)>,
}

impl<'a> Functions<'a> {
    /// Those of a stretch, CLOCK_BOOTTIME in nanoseconds.
    #[must_use]
    pub fn of(profile: &'a Profile, from: u64, to: u64) -> Functions<'a> {
        let mut counts: HashMap<u32, u64> = HashMap::new();
        let mut by: HashMap<(&str, u32), u64> = HashMap::new();
        // The idle task is process 0.
        for sample in profile.between(from, to).filter(|sample| sample.pid != Some(0)) {
            if let Some((_, frame)) = profile.stacks.node(sample.stack) {
                let count = counts.entry(frame).or_default();
                *count = count.saturating_add(sample.count);
                if let Some(pid) = sample.pid {
                    let count = by.entry((&sample.comm, pid)).or_default();
                    *count = count.saturating_add(sample.count);
                }
            }
        }
        let mut programs: Vec<(&str, u32, u64)> =
            by.into_iter().map(|((comm, pid), count)| (comm, pid, count)).collect();
        programs.sort_unstable_by_key(|(comm, pid, count)| (Reverse(*count), *pid, *comm));
        let mut counts: Vec<(u32, u64)> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|(number, count)| (Reverse(*count), *number));
        let frame = |(number, count): (u32, u64)| Some((profile.stacks.frames().get(number as usize)?, count));
        let rows: Vec<(&Frame, u64)> = counts.into_iter().filter_map(frame).collect();
        let samples = sum(rows.iter().map(|(_, count)| *count));
        let kernel = sum(rows.iter().filter(|(frame, _)| frame.is_kernel()).map(|(_, count)| *count));
        Functions { samples, kernel, rows, programs }
    }

    /// Who was seen most in code that a runtime compiled and did not name: name and process, and the samples of all of it.
    #[must_use]
    pub fn without_names(profile: &'a Profile, from: u64, to: u64) -> Option<(&'a str, u32, u64)> {
        let is_compiled = |frame: &Frame| frame.module == "[jit]" && frame.name == "[unknown]";
        let mut by: HashMap<(&str, u32), u64> = HashMap::new();
        for sample in profile.between(from, to) {
            let frame = profile.stacks.node(sample.stack).and_then(|(_, at)| profile.stacks.frames().get(at as usize));
            if let (Some(frame), Some(pid)) = (frame, sample.pid)
                && is_compiled(frame)
            {
                let count = by.entry((&sample.comm, pid)).or_default();
                *count = count.saturating_add(sample.count);
            }
        }
        let all = sum(by.values().copied());
        let most = by.into_iter().max_by_key(|((comm, pid), count)| (*count, Reverse(*pid), Reverse(*comm)));
        most.map(|((comm, pid), _)| (comm, pid, all))
    }

    /// So many samples as a part of all, 0 to 1.
    #[must_use]
    pub fn share(&self, samples: u64) -> f64 {
        samples as f64 / self.samples.max(1) as f64
    }
}

fn sum(mut counts: impl Iterator<Item = u64>) -> u64 {
    counts.try_fold(0, u64::checked_add).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::stack::KERNEL;
    use crate::recording::{StackId, StackSample};

    #[test]
    fn functions_of_a_stretch_are_counted_and_idle_cpus_are_not() {
        let mut profile = Profile::default();
        let mut push = |name: &str, module: &str| -> StackId {
            let frame = profile.stacks.frame(Frame { name: name.to_owned(), module: module.to_owned() });
            profile.stacks.push(None, frame).unwrap()
        };
        let [scan, run, idle] = [("shrink_node", KERNEL), ("run", "job"), ("halt", KERNEL)].map(|(a, b)| push(a, b));
        for (from, pid, stack, count) in [(0, 7, run, 50), (10, 0, idle, 90), (10, 7, scan, 3), (20, 7, run, 1)] {
            let (pid, comm) = (Some(pid), String::new());
            profile.samples.push(StackSample { from, to: from + 10, cpu: None, pid, comm, stack, count });
        }
        let functions = Functions::of(&profile, 10, 20);
        let names: Vec<(&str, u64)> =
            functions.rows.iter().map(|(frame, count)| (frame.name.as_str(), *count)).collect();
        assert_eq!(names, [("shrink_node", 3), ("run", 1)]);
        assert_eq!((functions.samples, functions.kernel, functions.share(functions.kernel)), (4, 3, 0.75));
        assert_eq!(functions.programs, [("", 7, 4)]);
        assert_eq!(Functions::of(&profile, 100, 200), Functions::default());
        assert_eq!(Functions::without_names(&profile, 0, 200), None);

        let compiled = profile.stacks.frame(Frame { name: "[unknown]".to_owned(), module: "[jit]".to_owned() });
        let stack = profile.stacks.push(None, compiled).unwrap();
        for (pid, comm, count) in [(9, "java", 5), (11, "node", 2)] {
            let (pid, comm) = (Some(pid), comm.to_owned());
            profile.samples.push(StackSample { from: 20, to: 30, cpu: None, pid, comm, stack, count });
        }
        assert_eq!(Functions::without_names(&profile, 10, 40), Some(("java", 9, 7)));
    }
}
