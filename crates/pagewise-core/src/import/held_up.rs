//! Tasks that the kernel found held up for long, with the functions they were in: hung tasks (`kernel/hung_task.c`), soft lockups
//! (`kernel/watchdog.c`), and allocations that said how long they stall (`mm/page_alloc.c`, 4.10 to 4.14). And tasks whose stack somebody
//! asked for: SysRq-t and -w (`kernel/sched/core.c`, `sched_show_task`), `/proc/PID/stack`, or a trace whose head was cut off.
//!
//! Only those in memory management are of interest: one that waits for a disk, a journal or a lock is somebody else's.

use super::listing::Listing;
use super::times::SECOND;
use super::words::is_number;
use crate::kernel_text::functions::{Family, families_of, within_a_move};
use crate::kernel_text::purpose::{Purpose, asks_for, within};
use crate::recording::{Durations, GapReason, StallKind, StallRow};
use std::collections::{BTreeMap, BTreeSet};

/// A task and the functions it was in.
#[derive(Clone, Debug, Default)]
struct Task {
    at: i64,
    comm: String,
    pid: u32,
    /// For so long; `None`: its stack was printed, and nothing says for how long it had been there.
    seconds: Option<u64>,
    order: Option<u8>,
    /// It had a CPU all the while.
    is_on_cpu: bool,
    /// What is surely of its stack, and what only lies there (`?`).
    sure: Vec<String>,
    unsure: Vec<String>,
    lines: usize,
}

/// Lines of a trace: registers and modules may stand before its functions.
const MOST_LINES: usize = 200;

/// No more of them are kept.
const MOST_TASKS: usize = 10_000;

/// Instants that are drawn within a stall.
const STEP: i64 = 10 * SECOND;

/// No task is held up longer, in seconds: a month.
const LONGEST: u64 = 31 * 86_400;

/// Tasks of a log.
#[derive(Debug, Default)]
pub(super) struct HeldUp {
    open: Option<Task>,
    rows: Vec<(i64, i64, StallRow)>,
    /// Until when a task was told before, and in what.
    told: BTreeMap<u32, i64>,
    /// How many were in nothing of memory management.
    pub(super) others: usize,
    /// Since something else began whose traces are of no task that waits: a warning, an oops, an allocation that failed.
    in_other: bool,
}

/// How a stall of such a task ended: it was seen, and no more.
pub(crate) const SEEN: &str = "seen";

/// The same: it never left the CPU.
pub(crate) const ON_CPU: &str = "on_cpu";

/// Waiting until nobody reads a piece of a process's map any more (`mm/mmap_lock.c`, 6.18; before 6.16 `include/linux/mm.h`).
const LOCKS_OF_A_PIECE: [&str; 3] = ["__vma_start_write", "vma_start_write", "__vma_enter_locked"];

/// The head of such a report: who, and for how many seconds.
pub(super) fn head(text: &str) -> Option<(&str, u32, u64)> {
    if let Some(rest) = text.strip_prefix("INFO: task ") {
        let (who, behind) = rest.split_once(" blocked for more than ")?;
        let (comm, pid) = who.rsplit_once(':')?;
        let seconds = behind.split_whitespace().next()?.parse().ok()?;
        return Some((comm, pid.parse().ok()?, seconds));
    }
    soft_lockup(text)
}

/// `watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [java:1234]`: who had a CPU for so many seconds and never left the kernel.
pub(super) fn soft_lockup(text: &str) -> Option<(&str, u32, u64)> {
    // `NMI watchdog: ` before 4.15.
    let rest = text.strip_prefix("NMI ").unwrap_or(text);
    let rest = rest.strip_prefix("watchdog: ").unwrap_or(rest).strip_prefix("BUG: soft lockup")?;
    let (_, behind) = rest.split_once(" stuck for ")?;
    let (seconds, behind) = behind.split_once('s')?;
    let (comm, pid) = behind.rsplit_once(']')?.0.split_once('[')?.1.rsplit_once(':')?;
    Some((comm, pid.parse().ok()?, seconds.parse().ok()?))
}

/// Begins the report of a CPU that RCU waits for (`kernel/rcu/tree_stall.h`): `rcu: INFO: rcu_sched self-detected stall on CPU`.
pub(super) fn is_rcu_stall(text: &str) -> bool {
    let text = text.strip_prefix("rcu: ").unwrap_or(text);
    text.starts_with("INFO: rcu") && text.contains("detected stall")
}

/// Whom such a report shows on a CPU: `kswapd1         R  running task …` below `Task dump for CPU 1:`, or `CPU: 1 PID: 86 Comm: kswapd1 Not
/// tainted …`.
pub(super) fn on_cpu(text: &str) -> Option<String> {
    if let Some((_, rest)) = text.split_once(" Comm: ") {
        return rest.split_whitespace().next().map(str::to_owned);
    }
    let runs = text.contains(" R  running task") || text.contains("state:R");
    listed(text).map(|(comm, _)| comm).filter(|_| runs)
}

/// `java: page allocation stalls for 10056ms, order:0, mode:…`: who, for how many milliseconds, order.
pub(super) fn allocation_stall(text: &str) -> Option<(&str, u64, u8)> {
    let (comm, rest) = text.split_once(": page allocation stalls for ")?;
    let (milliseconds, rest) = rest.split_once("ms, order:")?;
    let order = rest.split(',').next()?.trim();
    Some((comm, milliseconds.parse().ok()?, order.parse().ok().filter(|order| *order < 64)?))
}

/// `PID: 287  TASK: ffff976801890000  CPU: 20  COMMAND: "java"`, above a stack of `bt` in crash: who.
fn of_crash(text: &str) -> Option<(String, u32)> {
    let (pid, rest) = text.trim_start().strip_prefix("PID:")?.trim_start().split_once(char::is_whitespace)?;
    let (_, comm) = rest.split_once("COMMAND:").filter(|(before, _)| before.contains("TASK:"))?;
    Some((comm.trim().trim_matches('"').to_owned(), pid.parse().ok()?))
}

/// ` #2 [ffffbd6c40b3f538] shrink_lruvec+670 at ffffffffbb244d1e`: its function.
fn function_of_crash(text: &str) -> Option<&str> {
    let (number, rest) = text.trim_start().strip_prefix('#')?.split_once(" [")?;
    let (address, rest) = rest.split_once("] ")?;
    let is_frame = is_number(number.trim()) && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = rest.split_whitespace().next()?.split('+').next()?;
    Some(name).filter(|name| is_frame && !name.is_empty())
}

/// A task in a list of them: `task:java  state:D stack:0 pid:7 ppid:1 flags:0x0` (5.10 and later); `java  D    0   7   1 0x0` (4.14 to
/// 5.9), and before with an address, or `running task`, behind the state: who.
pub(super) fn listed(text: &str) -> Option<(String, u32)> {
    if let Some(task) = of_crash(text) {
        return Some(task);
    }
    if let Some(rest) = text.strip_prefix("task:") {
        let (comm, behind) = rest.split_once(" state:").or_else(|| rest.split_once("state:"))?;
        let pid = behind.split_once("pid:")?.1.split_whitespace().next()?;
        return Some((comm.trim().to_owned(), pid.parse().ok()?));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if let Some(task) = listed_before_2_6_25(&words) {
        return Some(task);
    }
    let [before @ .., stack, pid, parent, flags] = words.as_slice() else { return None };
    if !flags.starts_with("0x") || ![stack, pid, parent].into_iter().all(|word| is_number(word)) {
        return None;
    }
    let is_address = |word: &str| word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let before = match before {
        [before @ .., "running", "task"] | [before @ .., "running"] => before,
        [before @ .., place] if is_address(place) => before,
        before => before,
    };
    let [comm @ .., state] = before else { return None };
    (is_state(state) && !comm.is_empty()).then(|| Some((comm.join(" "), pid.parse().ok()?)))?
}

fn is_state(word: &str) -> bool {
    matches!(word, "R" | "S" | "D" | "T" | "t" | "I" | "K" | "W" | "P" | "X" | "Z")
}

/// `smbd          D 0fa6a450     0 11693  11511` (2.6.24), and before with its youngest child, its siblings and whether it is a thread of the kernel:
/// `fusexmp_fh_no D 40045401     0   527    493           533   495 (NOTLB)`: who.
fn listed_before_2_6_25(words: &[&str]) -> Option<(String, u32)> {
    let words = match words {
        [words @ .., "(NOTLB)" | "(L-TLB)"] => words,
        words => words,
    };
    let is_address = |word: &str| matches!(word.len(), 8 | 16) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let at = words.windows(2).position(|pair| is_state(pair[0]) && (is_address(pair[1]) || pair[1] == "current"))?;
    let (comm, numbers) = (&words[..at], &words[at + 2..]);
    let are_numbers = (3..=6).contains(&numbers.len()) && numbers.iter().all(|word| is_number(word));
    (are_numbers && !comm.is_empty()).then(|| Some((comm.join(" "), numbers[1].parse().ok()?)))?
}

/// A function of a trace with nothing else in its line: `[<ffffffff810c22fd>] ? pageout+0x130/0x232 [module]`.
pub(super) fn is_of_trace(text: &str) -> bool {
    let mut words =
        text.split_whitespace().filter(|word| *word != "?" && !(word.starts_with("[<") && word.ends_with(">]")));
    let is_module = |word: &str| word.starts_with('[') && word.ends_with(']');
    match (words.next(), words.next(), words.next()) {
        (Some(name), behind, None) => functions(name).len() == 1 && behind.is_none_or(is_module),
        _ => false,
    }
}

/// A report of something else, whose traces say where that happened.
fn is_other(text: &str) -> bool {
    const BEGINNINGS: [&str; 16] = [
        "WARNING:",
        "BUG:",
        "Oops",
        "general protection",
        "kernel BUG at",
        "INFO: ",
        "Kernel panic",
        "UBSAN",
        "KASAN",
        "KFENCE",
        "divide error",
        "Unable to handle",
        "rcu: ",
        "possible ",
        "inconsistent ",
        "unreferenced object",
    ];
    const INSIDE: [&str; 4] =
        ["invoked oom-killer", ": page allocation failure", "NMI backtrace", "------------[ cut here"];
    BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || INSIDE.iter().any(|part| text.contains(part))
}

impl HeldUp {
    /// A line; whether it is of such a report.
    pub(super) fn line(&mut self, at: i64, text: &str) -> bool {
        if let Some((comm, pid, seconds)) = head(text) {
            self.finish_one();
            self.in_other = false;
            let (comm, seconds, is_on_cpu) = (comm.to_owned(), Some(seconds), soft_lockup(text).is_some());
            self.open = Some(Task { at, comm, pid, seconds, is_on_cpu, ..Task::default() });
            return true;
        }
        if let Some((comm, pid)) = listed(text) {
            // A report of a hung task goes on with the same line as a list.
            let is_told = |task: &Task| task.pid == pid && task.sure.is_empty() && task.unsure.is_empty();
            if self.open.as_ref().is_some_and(is_told) {
                return true;
            }
            self.finish_one();
            self.in_other = false;
            self.open = Some(Task { at, comm, pid, ..Task::default() });
            return true;
        }
        // What was asked for by hand begins anew.
        if text.starts_with("sysrq: ") || text.starts_with("SysRq : ") {
            self.finish_one();
            self.in_other = false;
            return false;
        }
        if is_other(text) {
            self.finish_one();
            self.in_other = true;
            return false;
        }
        if self.open.is_none() && !self.in_other && is_of_trace(text) {
            self.open = Some(Task { at, ..Task::default() });
        }
        if let Some((comm, milliseconds, order)) = allocation_stall(text) {
            self.finish_one();
            // Nobody waits for the huge pages of khugepaged; for single pages, everybody may.
            if comm == "khugepaged" && order > 0 {
                return true;
            }
            let kind = StallKind::DirectReclaim;
            self.push(at, kind, comm, 0, milliseconds.saturating_mul(1_000_000), Some(order));
            return true;
        }
        let Some(task) = &mut self.open else { return false };
        task.lines += 1;
        let is_of_registers = text.starts_with("RIP:") || text.starts_with("RSP:") || text.starts_with("pc :");
        let found = functions(text);
        let has_any = !task.sure.is_empty() || !task.unsure.is_empty();
        // crash puts places in the source in a line of their own, which a mail program breaks anywhere.
        let is_place = text.starts_with('(') || text.contains(".c:") || text.starts_with("by) ");
        let goes_on = text.is_empty() || text.starts_with(['<', '=']) || is_of_registers || is_place;
        if task.lines > MOST_LINES || (has_any && found.is_empty() && !goes_on && !is_between(text)) {
            self.finish_one();
            return false;
        }
        let is_unsure = text.split_whitespace().any(|word| word == "?");
        let is_of_trace = !found.is_empty() || has_any;
        let to = if is_unsure { &mut task.unsure } else { &mut task.sure };
        to.extend(found.into_iter().map(str::to_owned));
        is_of_trace
    }

    fn finish_one(&mut self) {
        let Some(task) = self.open.take() else { return };
        // Kernels that cannot unwind mark all they find.
        let names = if task.sure.is_empty() { &task.unsure } else { &task.sure };
        match kind_of(&task.comm, names) {
            Some(kind) => {
                let purpose = purpose_of(names);
                // It takes some time to be drawn.
                let length = task.seconds.unwrap_or(1).min(LONGEST).saturating_mul(SECOND as u64);
                let is_seen = task.seconds.is_none();
                let Task { at, comm, pid, order, is_on_cpu, .. } = task;
                let is_new = self.push(at, kind, &comm, pid, length, order);
                if let Some((.., row)) = self.rows.last_mut().filter(|_| is_new) {
                    row.purpose = purpose;
                    if is_seen {
                        SEEN.clone_into(&mut row.outcome);
                    } else if is_on_cpu {
                        ON_CPU.clone_into(&mut row.outcome);
                    }
                }
            }
            None if task.seconds.is_some() => self.others += 1,
            None => {}
        }
    }

    /// Whether it was not told before.
    fn push(&mut self, at: i64, kind: StallKind, comm: &str, pid: u32, length: u64, order: Option<u8>) -> bool {
        if self.rows.len() >= MOST_TASKS {
            return false;
        }
        let length = i64::try_from(length.min(LONGEST * SECOND as u64)).unwrap_or(0);
        // It is told again while it stays so, with the same length or with all of it.
        let before = self.told.get(&pid).copied().filter(|_| pid != 0).unwrap_or(i64::MIN);
        let from = at.saturating_sub(length).max(before);
        if from >= at {
            return false;
        }
        self.told.insert(pid, at);
        let mut durations = Durations::default();
        durations.add((at - from).cast_unsigned(), 1);
        let (comm, outcome) = (comm.to_owned(), String::new());
        let row = StallRow { from: 0, to: 0, kind, pid, comm, order, purpose: None, outcome, durations };
        self.rows.push((from, at, row));
        true
    }

    /// All of them into a listing, with gaps where the log tells nothing. Gives the instants that are worth a row.
    pub(super) fn put(mut self, listing: &mut Listing) -> BTreeSet<i64> {
        const MOST_INSTANTS: usize = 20_000;
        self.finish_one();
        let mut instants = BTreeSet::new();
        if self.rows.is_empty() {
            return instants;
        }
        for kind in StallKind::all() {
            // A stack that was printed says nothing of the time around it.
            let is_timed = |row: &StallRow| row.kind == kind && row.outcome != SEEN;
            let mut stretches: Vec<(i64, i64)> =
                self.rows.iter().filter(|(.., row)| is_timed(row)).map(|(from, to, _)| (*from, *to)).collect();
            stretches.sort_unstable();
            let source = format!("stalls.{}", kind.word());
            let mut gap = |from, to| {
                let reason = GapReason::Other("only_long".to_owned());
                let detail = "a log of the kernel tells only of tasks that were held up for very long";
                listing.gap_between(Some(from), to, Some(&source), reason, detail);
            };
            let mut seen_until = i64::MIN / 4;
            for (from, to) in stretches {
                if from > seen_until {
                    gap(seen_until, Some(from));
                }
                seen_until = seen_until.max(to);
            }
            gap(seen_until, None);
        }
        for (from, to, _) in &self.rows {
            instants.extend([*from, *to]);
            let mut at = *from;
            while at < *to && instants.len() < MOST_INSTANTS {
                instants.insert(at);
                at += STEP;
            }
        }
        listing.stalls = self.rows;
        instants
    }
}

/// What may stand between functions of a trace: `Call Trace:`, addresses, registers, `</TASK>`.
fn is_between(text: &str) -> bool {
    let is_hex = |word: &str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let text = text.trim_end().strip_suffix("Call Trace:").unwrap_or(text);
    text.to_ascii_lowercase().starts_with("call trace")
        || text.split_whitespace().all(|word| is_hex(word.trim_matches(['[', ']', '<', '>', '(', ')', '?', ':'])))
}

/// Names in a line of a trace: `[<ffffffff816a3e1d>] ? dump_stack+0x19/0x1b [module]`, `(schedule+0x1/0x2) from …`,
/// `schedule from io_schedule+0x3c/0x60`.
fn functions(text: &str) -> Vec<&str> {
    if let Some(name) = function_of_crash(text) {
        return vec![name];
    }
    let name = |word: &'_ str| -> Option<usize> {
        let at = word.find("+0x")?;
        let rest = &word[at + 3..];
        let (offset, size) = rest.split_once("/0x")?;
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (at > 0 && is_hex(offset) && is_hex(size)).then_some(at)
    };
    let words = text.split_whitespace().map(|word| word.trim_matches(['(', ')', ',']));
    words
        .filter_map(|word| {
            let word = word.rsplit_once(':').map_or(word, |(_, word)| word);
            Some(word[..name(word)?].trim_start_matches('.'))
        })
        .collect()
}

/// What a task asks memory for, by the functions it was in, the innermost first.
fn purpose_of(names: &[String]) -> Option<Purpose> {
    names.iter().rev().fold(None, |outer, name| within(outer, asks_for(name)))
}

/// What held a task up, by the functions it was in. `None`: nothing of memory management, or a thread of it at its own work,
/// which holds up nobody by itself.
fn kind_of(comm: &str, names: &[String]) -> Option<StallKind> {
    let mut sets: Vec<u64> = names.iter().map(|name| families_of(name, false)).collect();
    if sets.iter().any(|set| set & Family::Migration.bit() != 0) {
        sets.iter_mut().for_each(|set| *set = within_a_move(*set));
    }
    let has = |family: Family, not: Family| sets.iter().any(|set| set & family.bit() != 0 && set & not.bit() == 0);
    let is_in = |family: Family| sets.iter().any(|set| set & family.bit() != 0);
    let is_thread = |names: &[&str]| names.iter().any(|name| comm.starts_with(name));
    // Who writes back works out the limits, too.
    if is_in(Family::DirtyBalance) && names.iter().any(|name| name.starts_with("balance_dirty")) {
        return Some(StallKind::DirtyBalance);
    }
    // At its group's limit a fault waits until somebody was killed (3.12 and later; before, within the allocation).
    let waits_for_room =
        |name: &String| name.starts_with("mem_cgroup_oom_synchronize") || name.starts_with("mem_cgroup_handle_oom");
    if is_in(Family::CgroupReclaim) || names.iter().any(waits_for_room) {
        return Some(StallKind::CgroupReclaim);
    }
    if is_thread(&["kswapd", "kcompactd", "khugepaged"]) || is_in(Family::Kswapd) || is_in(Family::Kcompactd) {
        return None;
    }
    // Who waits for one page that is being moved does not move pages itself.
    let waits_for_one = is_in(Family::MigrationWait);
    if has(Family::Compaction, Family::Migration) && !waits_for_one {
        return Some(StallKind::Compaction);
    }
    // Caches of the kernel are asked to give back by hand, too.
    if has(Family::Reclaim, Family::SlabShrink) {
        return Some(StallKind::DirectReclaim);
    }
    // Compressed memory may hold a file system, and swapoff brings all back by hand.
    let is_other = |name: &String| ["zram_", "zs_", "lzo1x_", "unuse_"].iter().any(|begin| name.starts_with(begin));
    let in_swap = |(set, name): (&u64, &String)| set & Family::Swap.bit() != 0 && !is_other(name);
    if !waits_for_one && sets.iter().zip(names).any(in_swap) && !names.iter().any(|name| name.starts_with("unuse_")) {
        return Some(StallKind::SwapIn);
    }
    if names.iter().any(|name| LOCKS_OF_A_PIECE.contains(&name.as_str())) {
        return Some(StallKind::MapLock);
    }
    // Innermost first: the lock's own functions, and then whoever takes it.
    let is_of_lock = |set: &u64| set & Family::MmapLock.bit() != 0 && set & Family::MapUse.bit() == 0;
    let taker = sets.iter().rposition(is_of_lock).map(|lock| lock + 1).filter(|taker| *taker < sets.len())?;
    // `exit_mm` has no frame of its own where it is compiled into its only caller, which takes no other such lock by itself.
    let is_of_map = sets[taker] & Family::MapUse.bit() != 0 || names[taker] == "do_exit";
    is_of_map.then_some(StallKind::MapLock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_trace_are_read_on_every_machine() {
        assert_eq!(functions("[<ffffffff816a3e1d>] ? dump_stack+0x19/0x1b"), ["dump_stack"]);
        assert_eq!(
            functions("jbd2_journal_commit_transaction+0x301/0x18e0 [jbd2]"),
            ["jbd2_journal_commit_transaction"]
        );
        assert_eq!(
            functions("[<c0123>] (schedule+0x1/0x2) from [<c0456>] (io_schedule+0x3/0x4)"),
            ["schedule", "io_schedule"]
        );
        assert_eq!(
            functions("[c000000001] [c00000002] .try_to_free_pages+0x1/0x2 (unreliable)"),
            ["try_to_free_pages"]
        );
        assert_eq!(functions("RIP: 0010:compact_zone+0x12/0x30"), ["compact_zone"]);
        assert_eq!(functions("#2 [ffffbd6c40b3f538] shrink_lruvec+670 at ffffffffbb244d1e"), ["shrink_lruvec"]);
        assert_eq!(functions("#12 [ffff8801b2f5be70] vfs_read at ffffffff811816dc"), ["vfs_read"]);
        assert!(functions("ffff8804347f7c20 0000000000000046").is_empty() && functions("a+0x/0x b+1").is_empty());
    }

    #[test]
    fn heads_say_who_and_how_long() {
        assert_eq!(
            head("INFO: task kworker/u32:13:732 blocked for more than 122 seconds."),
            Some(("kworker/u32:13", 732, 122))
        );
        assert_eq!(head("watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [java:1234]"), Some(("java", 1234, 23)));
        assert!(head("NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [java:4242]").is_some());
        assert_eq!(head("BUG: soft lockup - CPU#0 stuck for 67s! [kswapd0:35]"), Some(("kswapd0", 35, 67)));
        assert_eq!(head("INFO: task x:1 is fine"), None);
        assert_eq!(
            allocation_stall("java: page allocation stalls for 10056ms, order:0, mode:0x1"),
            Some(("java", 10056, 0))
        );
    }

    #[test]
    fn huge_pages_that_khugepaged_waits_for_hold_up_nobody() {
        for (line, rows) in [
            ("khugepaged: page allocation stalls for 10273ms, order:10, mode:0x4340ca(__GFP_IO)", 0),
            ("khugepaged: page allocation stalls for 224236ms, order:0, mode:0x4740ca(__GFP_IO)", 1),
            ("java: page allocation stalls for 10273ms, order:9, mode:0x4340ca(__GFP_IO)", 1),
        ] {
            let mut held_up = HeldUp::default();
            assert!(held_up.line(100 * SECOND, line), "{line}");
            assert_eq!(held_up.rows.len(), rows, "{line}");
        }
    }

    #[test]
    fn tasks_in_a_list_and_traces_without_a_head_are_told_from_other_lines() {
        let listed = |text: &str| super::listed(text).map(|(comm, pid)| format!("{comm} {pid}"));
        for (text, who) in [
            ("s2disk          D ffff88011fd93100     0  3323   3261 0x00000000", Some("s2disk 3323")),
            (
                "task:kworker/0:1     state:D stack:    0 pid:  190 ppid:     2 flags:0x00004000",
                Some("kworker/0:1 190"),
            ),
            ("java  D 0000000000000000  0  7  1 0x0", Some("java 7")),
            ("java            D    0   3323   3261 0x00000000", Some("java 3323")),
            ("java            R  running task        0  3323   3261 0x00000008", Some("java 3323")),
            ("Web Content     S    0   3323   3261 0x00000000", Some("Web Content 3323")),
            ("PID: 287    TASK: ffff976801890000  CPU: 20  COMMAND: \"kworker/u96:35\"", Some("kworker/u96:35 287")),
            ("procs -----------memory---------- ---swap--", None),
            ("smbd          D 0fa6a450     0 11693  11511", Some("smbd 11693")),
            ("fusexmp_fh_no D 40045401     0   527    493           533   495 (NOTLB)", Some("fusexmp_fh_no 527")),
            ("init          S 00000000     0     1      0     2       (NOTLB)", Some("init 1")),
            ("pdflush       D ffff810037d61d08     0   168     19           169   167 (L-TLB)", Some("pdflush 168")),
            ("java  S 12345678  7", None),
            ("root  S 20261129 10 20 thirty", None),
            ("java  Q  0  7  1 0x0", None),
            ("  task                        PC stack   pid father", None),
            ("Node 0 DMA free:1 0 2 3 4 5", None),
        ] {
            assert_eq!(listed(text).as_deref(), who, "{text}");
        }
        for line in
            ["[<0>] balance_dirty_pages+0x724/0x905", "? zpl_putpage+0x22/0x2d [zfs]", "shrink_node+0x9f1/0xcb0"]
        {
            assert!(is_of_trace(line), "{line}");
        }
        for line in [
            "RIP: 0010:f+0x1/0x2",
            "f+0x1/0x2 and g+0x1/0x2",
            "[<0>] 0xffffffffffffffff",
            "clear_page_erms+0x7 ([kernel.kallsyms])",
        ] {
            assert!(!is_of_trace(line), "{line}");
        }
    }

    #[test]
    fn only_memory_management_counts() {
        let of = |comm: &str, names: &[&str]| {
            kind_of(comm, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            of("java", &["schedule", "shrink_inactive_list", "try_to_free_pages"]),
            Some(StallKind::DirectReclaim)
        );
        assert_eq!(
            of("java", &["try_to_unmap_one", "try_to_unmap", "shrink_page_list", "shrink_node"]),
            Some(StallKind::DirectReclaim)
        );
        assert_eq!(
            of("java", &["schedule", "shrink_zone", "try_to_free_mem_cgroup_pages"]),
            Some(StallKind::CgroupReclaim)
        );
        assert_eq!(
            of("apache2", &["mem_cgroup_oom_synchronize", "pagefault_out_of_memory", "mm_fault_error"]),
            Some(StallKind::CgroupReclaim)
        );
        assert_eq!(of("dd", &["io_schedule_timeout", "balance_dirty_pages"]), Some(StallKind::DirtyBalance));
        assert_eq!(of("java", &["migrate_pages", "compact_zone"]), Some(StallKind::Compaction));
        assert_eq!(of("java", &["io_schedule", "swap_readpage", "do_swap_page"]), Some(StallKind::SwapIn));
        for names in [
            &[
                "schedule",
                "rwsem_down_read_failed",
                "call_rwsem_down_read_failed",
                "down_read",
                "proc_pid_cmdline_read",
            ][..],
            &["rwsem_down_failed_common", "rwsem_down_read_failed", "call_rwsem_down_read_failed", "access_process_vm"],
            &["schedule", "rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff", "do_syscall_64"],
            &["schedule", "rwsem_down_read_slowpath", "down_read", "do_user_addr_fault", "exc_page_fault"],
            &[
                "schedule",
                "rwsem_down_read_failed",
                "call_rwsem_down_read_failed",
                "down_read",
                "do_exit",
                "do_group_exit",
            ],
            &["schedule", "rwsem_down_write_slowpath", "down_write_killable", "dump_vma_snapshot", "do_coredump"],
            &["schedule", "__vma_start_write", "__split_vma", "vms_gather_munmap_vmas", "do_vmi_munmap"],
        ] {
            assert_eq!(of("ps", names), Some(StallKind::MapLock), "{names:?}");
        }
        for names in [
            &["schedule", "rwsem_down_read_failed", "down_read", "xfs_ilock", "xfs_file_read_iter", "sys_read"][..],
            &["schedule", "rwsem_down_write_slowpath", "down_write", "lock_rename", "do_renameat2"],
            &["schedule", "rwsem_down_read_slowpath", "down_read", "exit_signals", "do_exit", "do_group_exit"],
            &["schedule", "rwsem_down_read_slowpath", "down_read"],
            &["schedule", "jbd2_journal_commit_transaction", "kjournald2"],
            &["io_schedule", "wait_on_page_bit", "filemap_fault"],
            &["schedule", "drop_slab", "shrink_slab"],
            &["io_schedule", "migration_entry_wait_on_locked", "do_swap_page_none"],
            &["schedule_preempt_disabled", "__mutex_lock", "do_unlinkat"],
            &["on_each_cpu_mask", "ptep_clear_flush", "try_to_unmap_one", "try_to_unmap", "migrate_pages"],
            &[],
        ] {
            assert_eq!(of("java", names), None, "{names:?}");
        }
        assert_eq!(of("kswapd0", &["schedule", "shrink_inactive_list", "balance_pgdat", "kswapd"]), None);
    }
}
