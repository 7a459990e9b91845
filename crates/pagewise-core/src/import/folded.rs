//! Collapsed stacks, as flame graphs are made of: `command;outermost;…;innermost 123` in each line; stacks of bpftrace and BCC, a function
//! in each line; and the flame graphs themselves, as pictures.
//!
//! Written by `stackcollapse-perf.pl` and its kin, by BCC's `profile -f`, by async-profiler, and by our own export. What a
//! frame belongs to may stand behind it: `_[k]` the kernel, `_[j]` generated code, `_[i]` inlined there.

use super::counted_stack::CountedStack;
use super::flame_graph::{self, FlameGraph};
use super::kernel_names::{self, idle_pid, is_kernel_thread};
use super::listing::{Listing, ListingClock};
use super::perf_row::{is_module, module_of};
use super::stack_blocks::{self, StackBlocks};
use super::words::{self, quoted};
use super::{Kind, Parser, Problem};
use crate::kernel_text::functions::without_suffix;
use crate::recording::stack::KERNEL;
use crate::recording::{Frame, Profile, StackId, StackSample, Stacks};
use std::collections::BTreeMap;

const REMEDY: &str = "give collapsed stacks, such as `perf script | stackcollapse-perf.pl --kernel` prints them";

/// As deep as a stack of perf script can be.
const DEEPEST: usize = 2048;

/// No profile has more distinct stacks.
const MOST_STACKS: usize = 1 << 22;

/// Where threads go to sleep: what most stacks of an off-CPU profile end with.
const SLEEPING: [&str; 8] = [
    "finish_task_switch",
    "__schedule",
    "schedule",
    "schedule_timeout",
    "schedule_hrtimeout_range",
    "io_schedule",
    "__switch_to",
    "do_nanosleep",
];

#[derive(Debug)]
pub(super) struct Folded {
    listing: Listing,
    stacks: Stacks,
    /// Some frame is said to be the kernel's: then those that are not said to be are none of its.
    is_marked: bool,
    /// By process, command and stack.
    seen: BTreeMap<(Option<u32>, String, StackId), u64>,
    total: u64,
    /// Of that, in stacks that end where a thread goes to sleep.
    asleep: u64,
    /// Lines with two counts.
    doubled: usize,
    /// Stacks without a count, each of one sample.
    uncounted: usize,
    lines: usize,
    /// Stacks with a function in each line, of tools that count.
    blocks: StackBlocks,
    has_blocks: bool,
    graph: FlameGraph,
}

impl Folded {
    pub(super) fn new() -> Folded {
        Folded {
            listing: Listing::new(Kind::Folded, ListingClock::None),
            stacks: Stacks::default(),
            is_marked: false,
            seen: BTreeMap::new(),
            total: 0,
            asleep: 0,
            doubled: 0,
            uncounted: 0,
            lines: 0,
            blocks: StackBlocks::default(),
            has_blocks: false,
            graph: FlameGraph::default(),
        }
    }

    fn take_block(&mut self, stack: CountedStack) -> Result<(), Problem> {
        self.lines += 1;
        self.has_blocks = true;
        self.add(stack, false)
    }

    fn add(&mut self, stack: CountedStack, waits: bool) -> Result<(), Problem> {
        let CountedStack { frames, comm, pid, count } = stack;
        let is_asleep = waits || frames.iter().take(2).any(|frame| SLEEPING.contains(&without_suffix(&frame.name)));
        let stack = self.stacks.of(frames.into_iter());
        if self.stacks.len() > MOST_STACKS {
            return Err(Problem::of_file(
                format!("it has more than {MOST_STACKS} different stacks"),
                "give the stacks of a shorter stretch of time",
            ));
        }
        if let Some(stack) = stack {
            self.total = self.total.saturating_add(count);
            self.asleep = self.asleep.saturating_add(if is_asleep { count } else { 0 });
            let seen = self.seen.entry((pid, comm, stack)).or_default();
            *seen = seen.saturating_add(count);
        }
        Ok(())
    }
}

impl Folded {
    /// A stack with its outermost part first, which may be a command.
    fn path(&mut self, mut parts: Vec<&str>, count: u64, waits: bool) -> Result<(), Problem> {
        self.lines += 1;
        let (pid, comm) = if is_command(parts[0]) { command(parts.remove(0)) } else { (None, "") };
        // BCC's `profile -d` sets kernel and user stacks apart so.
        let divided = parts.iter().position(|part| *part == "-" || *part == "--");
        parts.truncate(parts.len().min(DEEPEST));
        let mut frames: Vec<Frame> = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate().filter(|(at, _)| Some(*at) != divided) {
            let (mut frame, is_said) = frame(part);
            if divided.is_some_and(|divided| at > divided) {
                KERNEL.clone_into(&mut frame.module);
            }
            self.is_marked |= is_said && frame.is_kernel();
            frames.push(frame);
        }
        frames.reverse();
        if frames.is_empty() {
            frames.push(Frame { name: "[unknown]".to_owned(), module: String::new() });
        }
        self.add(CountedStack { frames, comm: comm.to_owned(), pid, count }, waits)
    }

    /// The stacks of a flame graph.
    fn take_graph(&mut self) -> Result<(), Problem> {
        let graph = std::mem::take(&mut self.graph);
        if let Some(unit) = graph.other_unit() {
            return Err(Problem::of_file(
                format!("it is a flame graph of {}, not of samples of where CPUs were", quoted(unit)),
                "give the flame graph of `perf record -a -g`",
            ));
        }
        if graph.is_cut() {
            self.listing
                .note("folded: the flame graph has more boxes than are read; their samples stay with their callers");
        }
        let stacks = graph.stacks();
        let is_inner = |name: &&str| {
            let (frame, _) = frame(name);
            kernel_names::is_kernel(&frame.name)
                && !kernel_names::is_entry(&frame.name)
                && !is_kernel_thread(&frame.name)
        };
        let (mut inner, mut all) = (0u64, 0u64);
        for (path, count) in stacks.each() {
            all = all.saturating_add(count);
            inner = inner.saturating_add(if path.first().is_some_and(is_inner) { count } else { 0 });
        }
        if inner.saturating_mul(2) > all {
            return Err(Problem::of_file(
                "it is a flame graph that begins with the innermost functions (--reverse)",
                "give the one that begins with commands",
            ));
        }
        for (path, count) in stacks.each() {
            self.path(path, count, false)?;
        }
        Ok(())
    }
}

/// The count behind a stack, and the stack.
fn counted(line: &str) -> Option<(&str, u64)> {
    let (stack, count) = line.rsplit_once(char::is_whitespace)?;
    let is_whole = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    count.parse().ok().filter(|count| is_whole && *count <= 1 << 53).map(|count| (stack.trim_end(), count))
}

/// Whether a line is a stack without a count, one for each sample: several functions, one of which only the kernel has.
fn is_uncounted(text: &str) -> bool {
    /// Fewer may be a list of anything.
    const FEWEST: usize = 4;
    let parts = || text.split(';').map(str::trim);
    let is_name = |part: &str| {
        let is_plain = !part.is_empty() && !part.contains(char::is_whitespace);
        is_plain && !part.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-'))
    };
    let is_inner = |part: &str| part.contains('_') && kernel_names::is_kernel(part);
    parts().count() >= FEWEST && parts().all(is_name) && parts().any(is_inner)
}

/// Whether a line is a stack of several frames, with a count or without.
pub(super) fn recognises(line: &str) -> bool {
    let text = line.trim();
    stack_blocks::recognises(text)
        || is_uncounted(text)
        || flame_graph::recognises(text)
        || counted(line)
            .is_some_and(|(stack, _)| stack.matches(';').count() >= 2 && !stack.contains("; ") && !stack.contains("  "))
}

/// A frame with what is said about it; whether more than its name is.
fn frame(text: &str) -> (Frame, bool) {
    let text = text.trim();
    let of = |name: &str, module: &str| (Frame { name: name.to_owned(), module: module.to_owned() }, true);
    for (mark, module) in [("_[k]", KERNEL), ("_[j]", "[jit]"), ("_[i]", "[jit]"), ("_[w]", KERNEL)] {
        if let Some(name) = text.strip_suffix(mark) {
            return of(name, module);
        }
    }
    // `[kernel.kallsyms]` or `[libc.so.6]`: a function that could not be named.
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(inside) = inside.map(|inside| inside.trim_start_matches('[').trim_end_matches(']')) {
        let module = if inside.starts_with("kernel") || inside.starts_with("guest.kernel") {
            KERNEL.to_owned()
        } else if inside == "unknown" {
            String::new()
        } else {
            module_of(inside, false)
        };
        return (Frame { name: "[unknown]".to_owned(), module }, true);
    }
    // `[kernel.kallsyms]`f`, `libc.so.6`f+0x12` of DTrace's kin; `f ([kernel.kallsyms])`, `f [kernel]`.
    let (module, name) = match text.split_once('`') {
        Some((module, name)) if !module.is_empty() && !name.is_empty() => (module, name),
        _ => match text.rsplit_once(' ') {
            Some((name, module)) if is_module(module.trim_start_matches('(').trim_end_matches(')')) => {
                (module.trim_start_matches('(').trim_end_matches(')'), name)
            }
            _ => ("", text),
        },
    };
    let name = match name.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    };
    if module.is_empty() {
        (Frame { name: name.to_owned(), module: String::new() }, false)
    } else {
        of(name, &module_of(module, false))
    }
}

/// Whether the outermost part of a stack is a command. Profilers of single programs write none.
fn is_command(first: &str) -> bool {
    let is_outermost =
        matches!(first, "main" | "_start" | "start_thread" | "clone" | "clone3" | "all" | "thread_native_entry");
    let is_function =
        first.contains(['(', '`', '<']) || first.contains("::") || first.contains("_[") || first.contains(".");
    let is_address = first.starts_with("0x") || first.starts_with('[');
    !is_outermost && !is_function && !is_address && !kernel_names::is_entry(first) && !first.contains("__libc_start")
}

/// `java-1234`, `java-1234/1240` of `--pid` and `--tid`, `java`.
fn command(text: &str) -> (Option<u32>, &str) {
    let Some((comm, pid)) = text.rsplit_once('-') else { return (None, text) };
    if pid == "?" || pid == "?/?" {
        return (None, comm);
    }
    let pid = pid.split('/').next().unwrap_or(pid);
    let is_number = pid.len() > 1 && pid.bytes().all(|byte| byte.is_ascii_digit());
    // A kworker's own name may end so.
    let pid = pid.parse().ok().filter(|_| is_number && !comm.is_empty());
    if pid.is_some() { (pid, comm) } else { (None, text) }
}

impl Parser for Folded {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        if text.starts_with('#') || !text.is_empty() && self.graph.line(text) {
            return Ok(());
        }
        let taken = self.blocks.line(text);
        taken.stack.map_or(Ok(()), |stack| self.take_block(stack))?;
        if taken.is_part || text.is_empty() {
            return Ok(());
        }
        // Another map of bpftrace is no stack.
        let counted_stack = counted(text);
        let of_stack = counted_stack.filter(|(path, _)| !path.is_empty() && !text.starts_with('@'));
        let of_stack = of_stack.or_else(|| is_uncounted(text).then_some((text, 1)));
        self.uncounted += usize::from(counted_stack.is_none() && of_stack.is_some());
        let Some((path, count)) = of_stack else {
            self.listing.reject(number, line);
            return Ok(());
        };
        let parts: Vec<&str> = path.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
        // A line of a table is no stack: a stack of one frame alone is nobody's call.
        let is_prose = parts.len() < 2 && path.contains(char::is_whitespace);
        if is_prose || parts.is_empty() || (parts.len() < 2 && self.lines == 0) {
            self.listing.reject(number, line);
            return Ok(());
        }
        self.doubled += usize::from(counted(path).is_some());
        self.path(parts, count, path.ends_with("_[w]"))
    }

    fn is_whole(&self, line: &str, before: &str) -> bool {
        line.trim_end().ends_with("</svg>") || words::is_as_long(line, before) || words::is_whole_function(line)
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.take_graph()?;
        self.blocks.finish().map_or(Ok(()), |stack| self.take_block(stack))?;
        if self.seen.is_empty() || self.total == 0 {
            return Err(self.listing.nothing("collapsed stack with a count", REMEDY));
        }
        if self.doubled == self.lines {
            return Err(Problem::of_file(
                "each of its stacks has two counts: it is the difference of two profiles",
                "give the collapsed stacks of one of them",
            ));
        }
        // Programs that compute may be switched out too; where nearly all is asleep, sleeping is what was measured.
        if self.asleep.saturating_mul(5) > self.total.saturating_mul(4) {
            return Err(Problem::of_file(
                "it shows how long threads slept and where (off-CPU), not where the time of CPUs went",
                "give the stacks of `perf record -a -g`, collapsed",
            ));
        }
        // Newer versions of stackcollapse-perf.pl count periods: a timer's are all of one length.
        let period = self.seen.values().fold(0, |divisor, count| common_divisor(divisor, *count));
        let period = if period >= 1000 && !self.has_blocks { period } else { 1 };
        let samples = self.total / period;
        if samples / self.seen.len() as u64 > 10_000 {
            self.listing.note(
                "folded: its counts are no samples; shares are what they say, and how many samples it was is not known",
            );
        } else {
            self.listing.about("import.samples", samples.to_string());
            self.listing.note(match period {
                _ if self.uncounted == self.lines => {
                    "folded: stacks without a count are taken as one sample each".to_owned()
                }
                1 => "folded: counts are taken as samples".to_owned(),
                period => format!("folded: all counts are multiples of {period}, which is taken as one sample"),
            });
        }
        let mut stacks = Stacks::default();
        let mut samples = Vec::with_capacity(self.seen.len());
        for ((pid, comm, stack), count) in std::mem::take(&mut self.seen) {
            let frame = |number: u32| self.stacks.frames().get(number as usize).cloned();
            let mut frames: Vec<Frame> = self.stacks.walk(stack).filter_map(frame).collect();
            if !self.is_marked {
                kernel_names::mark(&mut frames, is_kernel_thread(&comm));
            }
            let pid = idle_pid(&comm, frames.first().map_or("", |frame| frame.name.as_str()), pid);
            let mut stack = None;
            for frame in frames.into_iter().rev() {
                let number = stacks.frame(frame);
                stack = stacks.push(stack, number);
            }
            let count = count / period;
            samples.extend(stack.map(|stack| StackSample { from: 0, to: 1, cpu: None, pid, comm, stack, count }));
        }
        self.listing.profile = Some(Profile { event: None, hz: None, samples, stacks, lost: 0 });
        Ok(self.listing.close())
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Assumed, parse};

    /// Command, frames from the outermost with `*` at those of the kernel, count.
    fn stacks(text: &str) -> Vec<(String, String, u64)> {
        let profile = parse(Kind::Folded, text, &Assumed::default()).unwrap().profile.unwrap();
        let named = |number: u32| {
            let frame = &profile.stacks.frames()[number as usize];
            format!("{}{}", frame.name, if frame.is_kernel() { "*" } else { "" })
        };
        let of = |sample: &StackSample| {
            let mut names: Vec<String> = profile.stacks.walk(sample.stack).map(named).collect();
            names.reverse();
            (sample.comm.clone(), names.join(";"), sample.count)
        };
        profile.samples.iter().map(of).collect()
    }

    #[track_caller]
    fn is(line: &str, comm: &str, frames: &str, count: u64) {
        assert_eq!(stacks(&format!("{line}\n")), [(comm.to_owned(), frames.to_owned(), count)], "{line}");
    }

    #[test]
    fn a_flame_graph_has_the_stacks_that_it_was_drawn_from() {
        let picture = include_str!("../../../../recordings/imports/flame-graph.svg");
        let drawn_from = include_str!("../../../../recordings/imports/folded-kernel.txt");
        assert_eq!(crate::import::kinds_in(picture), [Kind::Folded]);
        // The picture does not say which functions are the kernel's.
        let sorted = |text: &str| {
            let plain = |(comm, names, count): (String, String, u64)| (comm, names.replace('*', ""), count);
            let mut all: Vec<_> = stacks(text).into_iter().map(plain).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(picture), sorted(drawn_from));
        let in_kernel = |text: &str| stacks(text).iter().filter(|(_, names, _)| names.ends_with('*')).count();
        assert_eq!(in_kernel(picture), in_kernel(drawn_from));
        let listing = parse(Kind::Folded, picture, &Assumed::default()).unwrap();
        assert!(listing.gaps.is_empty(), "{:?}", listing.gaps);
    }

    #[test]
    fn flame_graphs_of_something_else_and_from_the_inside_are_refused() {
        let boxes = |base: &str, inner: &str, unit: &str| {
            format!(
                "<svg>\n<title>all (9 {unit}, 100%)</title><rect x=\"0\" y=\"40\" width=\"90\" />\n\
                 <title>{base} (9 {unit}, 100%)</title><rect x=\"0\" y=\"24\" width=\"90\" />\n\
                 <title>{inner} (5 {unit}, 55.56%)</title><rect x=\"0\" y=\"8\" width=\"50\" />\n</svg>\n"
            )
        };
        let problem = |text: &str| parse(Kind::Folded, text, &Assumed::default()).unwrap_err().what;
        assert!(problem(&boxes("bash", "xmalloc", "bytes")).contains("a flame graph of bytes"));
        assert!(problem(&boxes("shrink_lruvec", "shrink_node", "samples")).contains("innermost functions"));
        assert_eq!(
            stacks(&boxes("java", "shrink_node", "samples")),
            [("java".to_owned(), "[unknown]".to_owned(), 4), ("java".to_owned(), "shrink_node*".to_owned(), 5)]
        );
    }

    #[test]
    fn a_map_of_bpftrace_has_a_stack_in_each_key() {
        let text = "Attaching 1 probe...\n@[\n    shrink_lruvec+1913\n    try_to_free_mem_cgroup_pages+311\n    asm_exc_page_fault+34\n, java]: 53\n\
                    @[\n    do_idle+12\n]: 7\n@counts: 12\n";
        let all =
            [("", "do_idle*", 7), ("java", "asm_exc_page_fault*;try_to_free_mem_cgroup_pages*;shrink_lruvec*", 53)];
        let mut seen = stacks(text);
        seen.sort();
        assert_eq!(seen, all.map(|(comm, names, count)| (comm.to_owned(), names.to_owned(), count)));
    }

    #[test]
    fn a_stack_has_a_command_frames_and_a_count() {
        is("java;main;f(int, long) 12", "java", "main;f(int, long)", 12);
        is("my job;write;entry_SYSCALL_64;odd_name 3", "my job", "write;entry_SYSCALL_64*;odd_name*", 3);
        is("java-1234/1240;main;clear_page_erms_[k] 3", "java", "main;clear_page_erms*", 3);
        is("dd-?;main;f 3", "dd", "main;f", 3);
        is("main;run;memcpy 3", "", "main;run;memcpy", 3);
        is("java;run_[j];Foo::bar_[i];[libc.so.6] 3", "java", "run;Foo::bar;[unknown]", 3);
        is("x;main;-;odd;compact_zone 3", "x", "main;odd*;compact_zone*", 3);
        is("x;libc.so.6`main+0x12;[kernel.kallsyms]`odd+0x1 3", "x", "main;odd*", 3);
        is("kswapd0;ret_from_fork;kthread;kswapd;odd 3", "kswapd0", "ret_from_fork*;kthread*;kswapd*;odd*", 3);
    }

    #[test]
    fn a_stack_without_a_count_is_one_sample() {
        let text = "cadvisor;[cadvisor];do_syscall_64;vfs_read;mem_cgroup_iter\n";
        let in_kernel = "[unknown];do_syscall_64*;vfs_read*;mem_cgroup_iter*".to_owned();
        assert_eq!(stacks(&text.repeat(3)), [("cadvisor".to_owned(), in_kernel, 3)]);
        assert!(recognises(text));
        // Tables whose cells are set apart so, and programs.
        assert!(!recognises("host;600;2019-01-01 00:10:00 UTC;-1;0.53;0.00"));
        assert!(!recognises("a;b;c;d") && !recognises("int i; do_syscall_64(); for(;;);"));
    }

    #[test]
    fn where_kernel_functions_are_marked_no_other_is_one() {
        let text = "a;main;rcu_read 2\nb;main;do_syscall_64_[k];x_[k] 2\n";
        assert_eq!(stacks(text)[0].1, "main;rcu_read");
    }

    #[test]
    fn periods_of_a_timer_are_counted_as_samples() {
        let text = "a;main;f 4008016\na;main;g 2004008\n";
        assert_eq!(stacks(text).iter().map(|stack| stack.2).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn what_is_no_time_of_a_cpu_is_refused_with_its_reason() {
        let problem = |text: &str| parse(Kind::Folded, text, &Assumed::default()).unwrap_err().to_string();
        let off = "a;main;read;schedule;finish_task_switch 900000\na;main;f 5\n";
        assert!(problem(off).contains("off-CPU"), "{}", problem(off));
        assert!(problem("a;main;f 12 15\na;main;g 3 4\n").contains("difference of two"));
        assert!(problem("some prose 12\n").contains("it holds no collapsed stack"));
        assert!(problem("a;main;f 1.5\n").contains("it holds no collapsed stack"));
    }
}
