//! Stacks with a function in each line, the innermost first: keys of bpftrace's maps (`@[kstack, comm] = count()`, or `hist()`), and
//! what BCC's `profile` and `offcputime` print.

use super::counted_stack::CountedStack;
use super::words::is_number;
use crate::recording::Frame;

/// As deep as a stack of perf script can be.
const DEEPEST: usize = 2048;

/// What came of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// A stack that is whole now.
    pub(super) stack: Option<CountedStack>,
    /// The line is a part of one.
    pub(super) is_part: bool,
}

impl Taken {
    const PART: Taken = Taken { stack: None, is_part: true };

    fn whole(stack: CountedStack) -> Taken {
        Taken { stack: Some(stack).filter(|stack| !stack.frames.is_empty() && stack.count > 0), is_part: true }
    }
}

/// Takes lines until a stack is whole.
#[derive(Debug, Default)]
pub(super) struct StackBlocks {
    /// Functions of a key of bpftrace.
    key: Option<Vec<Frame>>,
    /// A key whose values are a histogram.
    histogram: Option<CountedStack>,
    /// Functions that may be those of a stack of BCC.
    loose: Vec<Frame>,
    /// A stack of BCC whose count comes next.
    uncounted: Option<CountedStack>,
}

impl StackBlocks {
    pub(super) fn line(&mut self, text: &str) -> Taken {
        if let Some(histogram) = &mut self.histogram
            && let Some(count) = bucket(text)
        {
            histogram.count = histogram.count.saturating_add(count);
            return Taken::PART;
        }
        let before = self.finish();
        let taken = self.taken(text);
        Taken { stack: before.or(taken.stack), is_part: taken.is_part }
    }

    /// The last one, whose end only the end of the file tells.
    pub(super) fn finish(&mut self) -> Option<CountedStack> {
        self.histogram.take().filter(|histogram| histogram.count > 0)
    }

    fn taken(&mut self, text: &str) -> Taken {
        if begins_key(text) {
            self.key = Some(Vec::new());
            return Taken::PART;
        }
        if let Some(frames) = &mut self.key {
            let Some((comm, value)) = ends_key(text) else {
                // Between stacks of the kernel and of the program.
                keep(frames, text.trim_start_matches(','));
                return Taken::PART;
            };
            let frames = self.key.take().unwrap_or_default();
            let stack = CountedStack { pid: None, comm: comm.to_owned(), frames, count: value.unwrap_or(0) };
            if value.is_some() {
                return Taken::whole(stack);
            }
            self.histogram = Some(stack);
            return Taken::PART;
        }
        if let Some(stack) = self.uncounted.take() {
            return match text.parse() {
                Ok(count) if is_number(text) => Taken::whole(CountedStack { count, ..stack }),
                _ => Taken::default(),
            };
        }
        if let Some((comm, pid)) = owner(text) {
            let frames = std::mem::take(&mut self.loose);
            self.uncounted = Some(CountedStack { pid: Some(pid), comm: comm.to_owned(), frames, count: 0 });
            return Taken::PART;
        }
        if text == "--" && !self.loose.is_empty() {
            return Taken::PART;
        }
        if is_function(text) {
            keep(&mut self.loose, text);
            return Taken::PART;
        }
        self.loose.clear();
        Taken::default()
    }
}

/// A function without its offset; BCC's older versions print it as Python has it, `b'schedule'`.
fn keep(frames: &mut Vec<Frame>, text: &str) {
    let name = text.trim();
    let name = name.strip_prefix("b'").and_then(|rest| rest.strip_suffix('\'')).unwrap_or(name);
    let name = name.rsplit_once('+').map_or(name, |(name, _)| name);
    if !name.is_empty() && frames.len() < DEEPEST {
        frames.push(Frame { name: name.to_owned(), module: String::new() });
    }
}

/// Whether a line is a function and nothing else.
fn is_function(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '['));
    begins && !text.contains([';', ':', '=', '|', '%']) && !text.contains(char::is_whitespace)
}

/// `-                fio (1464)`: whose a stack of BCC is.
fn owner(text: &str) -> Option<(&str, u32)> {
    let (comm, pid) = text.strip_prefix("-        ")?.trim_start().strip_suffix(')')?.rsplit_once(" (")?;
    pid.parse().ok().map(|pid| (comm, pid))
}

/// `@[`, `@stacks[`: where bpftrace begins to print a key that is a stack.
fn begins_key(text: &str) -> bool {
    let name = text.strip_prefix('@').and_then(|rest| rest.strip_suffix('['));
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// `]: 12`, `, java]: 12`: where such a key ends, with the command that is a part of it, and its count; a histogram begins in the next
/// line.
fn ends_key(text: &str) -> Option<(&str, Option<u64>)> {
    let (key, value) = text.rsplit_once("]:")?;
    let comm = if key.is_empty() { "" } else { key.strip_prefix(',')?.trim() };
    // A number is a process.
    let comm = if comm.bytes().all(|byte| byte.is_ascii_digit()) { "" } else { comm };
    match value.trim() {
        "" => Some((comm, None)),
        count => count.parse().ok().filter(|count| *count <= 1 << 53).map(|count| (comm, Some(count))),
    }
}

/// `[2, 4)    30 |@@@   |`, `[1]   12 |@ |`, `(..., 0)  3 |@|`: how many are in it.
fn bucket(text: &str) -> Option<u64> {
    let (range, rest) = text.split_at(text.find([')', ']'])? + 1);
    let (count, bar) = rest.trim_start().split_once(char::is_whitespace)?;
    let is_one = range.starts_with(['[', '(']) && bar.trim_start().starts_with('|') && bar.ends_with('|');
    count.parse().ok().filter(|_| is_one)
}

/// Whether a line is of such a stack and of nothing else.
pub(super) fn recognises(text: &str) -> bool {
    begins_key(text)
        || text.starts_with([']', ',']) && ends_key(text).is_some_and(|(_, count)| count.is_some())
        || owner(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(text: &str) -> Vec<String> {
        let mut blocks = StackBlocks::default();
        let mut all: Vec<CountedStack> = text.lines().filter_map(|line| blocks.line(line.trim()).stack).collect();
        all.extend(blocks.finish());
        let of = |one: &CountedStack| {
            let pid = one.pid.map_or_else(String::new, |pid| pid.to_string());
            let names: Vec<&str> = one.frames.iter().map(|frame| frame.name.as_str()).collect();
            format!("{} {pid} {} {}", one.comm, names.join(";"), one.count)
        };
        all.iter().map(of).collect()
    }

    #[test]
    fn a_key_of_bpftrace_is_a_stack_and_its_value_a_count_or_a_histogram() {
        let text = "Attaching 1 probe...\n@[\n  shrink_lruvec+1913\n  asm_exc_page_fault+34\n, java]: 53\n@s[\n  do_idle+12\n]: 7\n@n: 12\n\
                    @stats[\n  rmqueue+1060\n  el0_da+60\n]:\n[2, 4)   1 |@   |\n[4, 8)  30 |@@@@|\n\n@[\n  do_idle+12\n]:\n[1]  2 |@|\n";
        let all = ["java  shrink_lruvec;asm_exc_page_fault 53", "  do_idle 7", "  rmqueue;el0_da 31", "  do_idle 2"];
        assert_eq!(stacks(text), all);
        for line in ["@[", "@stacks[", "]: 5354", ", java]: 3"] {
            assert!(recognises(line), "{line}");
        }
        for line in ["@fast: 1989223", "a]: 3", "]:", "[2, 4)   1 |@   |"] {
            assert!(!recognises(line), "{line}");
        }
    }

    #[test]
    fn a_stack_of_bcc_has_its_owner_and_its_count_below() {
        let text = "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n\n    b'finish_task_switch'\n    \
                    b'schedule'\n    --\n    main\n    -                gunicorn: worke (39421)\n        403347\n\n    do_idle+0x12\n    \
                    -                swapper/0 (0)\n        7\nnoise\n    -                x (1)\n    not a count\n";
        assert_eq!(
            stacks(text),
            ["gunicorn: worke 39421 finish_task_switch;schedule;main 403347", "swapper/0 0 do_idle 7"]
        );
        assert!(recognises("-                fio (1464)") && !recognises("-   12.31%  java  [k] f (1)"));
    }
}
