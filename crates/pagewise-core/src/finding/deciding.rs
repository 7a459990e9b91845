//! The one command that would decide what a listing leaves open, on the kernel it is of. Where nothing may be installed, it is one that
//! every distribution has.
//!
//! A line names since which kernel its files or events are there; of several for one finding the first that fits counts. Where
//! the release is not known the oldest way is told.

use super::observed::Observed;

type Release = (u32, u32, u32);

/// A command for a finding.
struct Decides {
    rule: &'static str,
    /// From this release on.
    since: Release,
    command: &'static str,
}

const fn decides(rule: &'static str, since: Release, command: &'static str) -> Decides {
    Decides { rule, since, command }
}

/// perf is of 2.6.31; before it there was the kernel's own profile (`profile=2` at boot, readprofile(8)).
const PERF: Release = (2, 6, 31);
const ANY: Release = (0, 0, 0);
const STACKS: &str = "perf record -a -g -- sleep 10 && perf report --stdio | head -200";

const DECIDES: &[Decides] = &[
    // mm/vmstat.c: compact_* since 2.6.35, thp_* since 2.6.38, both in Red Hat's 2.6.32.
    decides("compaction-storm", PERF, STACKS),
    decides("compaction-storm", ANY, "for i in 1 2; do date; grep -E 'compact|thp' /proc/vmstat; sleep 10; done"),
    decides("compaction-stalls", PERF, STACKS),
    decides("thp-fault-cost", PERF, STACKS),
    decides(
        "khugepaged-burn",
        ANY,
        "for i in 1 2; do date; cat /proc/$(pgrep -x khugepaged)/stat; grep thp_ /proc/vmstat; sleep 60; done",
    ),
    decides(
        "kswapd-saturation",
        ANY,
        "for i in 1 2; do date; grep -E 'pgscan|pgsteal|allocstall' /proc/vmstat; ps -C kswapd0,kswapd1 -o comm,time; sleep 10; done",
    ),
    decides("direct-reclaim-stalls", (2, 6, 36), "perf stat -a -e vmscan:mm_vmscan_direct_reclaim_begin -- sleep 10"),
    decides(
        "direct-reclaim-stalls",
        ANY,
        "for i in 1 2; do date; grep -E 'allocstall|pgscan|pgsteal' /proc/vmstat; sleep 10; done",
    ),
    decides(
        "memcg-limit-thrash",
        (4, 5, 0),
        "grep -H . $(find /sys/fs/cgroup -name memory.events -o -name memory.failcnt) | grep -v ' 0$'",
    ),
    decides(
        "memcg-limit-thrash",
        ANY,
        "grep -H . $(find /sys/fs/cgroup /cgroup -name memory.failcnt 2>/dev/null) | grep -v ':0$'",
    ),
    // fs/proc/task_mmu.c: VmSwap since 2.6.34.
    decides("swap-thrash", (2, 6, 34), "vmstat 1 60; grep VmSwap /proc/[0-9]*/status | sort -n -k 2 | tail"),
    decides("swap-thrash", ANY, "vmstat 1 60; ps axo rss,vsz,comm --sort -rss | head"),
    decides(
        "fragmentation",
        ANY,
        "cat /proc/buddyinfo; for i in 1 2; do date; grep -E 'compact|thp_fault' /proc/vmstat; sleep 10; done",
    ),
    // mm/workingset.c is of 3.15.
    decides(
        "page-cache-thrash",
        (3, 15, 0),
        "for i in 1 2; do date; grep -E 'workingset|pgpgin' /proc/vmstat; sleep 10; done",
    ),
    decides(
        "dirty-throttling",
        ANY,
        "for i in 1 2 3; do grep -E 'nr_dirty|nr_writeback|pgpgout' /proc/vmstat; sleep 1; done; sysctl -a 2>/dev/null | grep dirty",
    ),
    decides("slab-bloat", ANY, "slabtop -o -s c | head -20; grep -E 'Slab|SReclaimable|SUnreclaim' /proc/meminfo"),
    decides("numa-imbalance", ANY, "numastat -m; for i in 1 2; do date; grep numa_ /proc/vmstat; sleep 10; done"),
    // mm/compaction.c: kcompactd is of 4.6.
    decides(
        "kcompactd-burn",
        (4, 6, 0),
        "for i in 1 2; do date; ps -eo comm,time | grep kcompactd; grep compact_daemon /proc/vmstat; sleep 60; done",
    ),
    decides("fork-cow-thp", PERF, STACKS),
    decides("mmap-lock-contention", PERF, STACKS),
    decides("fault-churn", PERF, STACKS),
    decides(
        "fault-churn",
        ANY,
        "for i in 1 2; do date; grep AnonPages /proc/meminfo; grep -E 'pgfault|pgfree' /proc/vmstat; sleep 10; done",
    ),
    decides("tlb-shootdowns", PERF, STACKS),
    decides("tlb-shootdowns", ANY, "for i in 1 2; do date; grep TLB /proc/interrupts; sleep 10; done"),
    decides("oom-risk", ANY, "dmesg | grep -iE 'out of memory|oom' | tail; ps axo rss,comm --sort -rss | head"),
    decides("hugetlb-waste", ANY, "grep Huge /proc/meminfo; sysctl vm.nr_hugepages"),
    // kernel/sched/psi.c is of 4.20.
    decides(
        "unexplained-memory-stalls",
        (4, 20, 0),
        "for i in 1 2; do date; cat /proc/pressure/memory; grep -E 'pgscan|pgsteal|workingset|pswp|compact' /proc/vmstat; sleep 10; done",
    ),
    decides("unexplained-system-time", PERF, STACKS),
    decides("unexplained-system-time", ANY, "readprofile | sort -n -r | head -40"),
];

/// The command for a finding of a listing. `None`: this kernel has nothing that a command could show, or the finding says it all.
pub(super) fn command(rule: &str, observed: &Observed) -> Option<&'static str> {
    let release = observed.settings.release();
    let is_there = |line: &Decides| release.map_or(line.since <= PERF, |release| release >= line.since);
    // Whoever has a profile lacks counters.
    let is_new = |line: &Decides| line.command != STACKS || observed.profile.is_none();
    let mut lines = DECIDES.iter().filter(|line| line.rule == rule && is_there(line));
    lines.find(|line| is_new(line)).map(|line| line.command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;

    #[test]
    fn each_line_is_of_a_rule_and_older_kernels_come_after_newer_ones() {
        for line in DECIDES {
            assert!(rules::ALL.iter().any(|rule| rule.id == line.rule), "{}", line.rule);
        }
        for pair in DECIDES.windows(2).filter(|pair| pair[0].rule == pair[1].rule) {
            assert!(pair[0].since > pair[1].since, "{}", pair[0].rule);
        }
    }

    #[test]
    fn no_command_is_younger_than_the_kernel() {
        let unknown = Observed::default();
        assert_eq!(command("compaction-storm", &unknown), Some(STACKS));
        assert!(command("direct-reclaim-stalls", &unknown).is_some_and(|command| command.contains("allocstall")));
        assert_eq!(command("page-cache-thrash", &unknown), None);
    }
}
