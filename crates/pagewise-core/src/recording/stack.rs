//! Where CPUs were: stacks of functions, counted per slice of time, process and CPU.
//!
//! Stacks share their roots, so they are kept as a tree: a node is a function called from its parent. A system-wide
//! profile of many hours has tens of thousands of nodes and a row per slice, process and node that was seen.

use std::collections::HashMap;

/// A function, as far as it could be named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name, demangled where it was mangled. `0x…` where no symbol was found. Bytes of the program's author: not safe
    /// to print as they are.
    pub name: String,
    /// What it belongs to: [`KERNEL`], the name of an executable or library, `[jit]`, `[vdso]`, or nothing.
    pub module: String,
}

/// Fewer samples say nothing: at a hundred, a share of 20 % is known within 8 points.
pub const ENOUGH_SAMPLES: u64 = 100;

/// The name under which samples of functions that another tool did not list are counted.
pub const NOT_LISTED: &str = "[not listed]";

/// Under which key of what is known about a recording an import keeps what functions took with all that they call, where a report
/// lists that and no callers: lines of hundredths of a percent, function and command, with a tab between.
pub const CALLEES: &str = "import.with_callees";

/// The module of kernel functions, as perf writes it.
pub const KERNEL: &str = "[kernel.kallsyms]";

/// Rates at which stacks can be kept, in samples a second and CPU.
pub const RATES: std::ops::RangeInclusive<u32> = 1..=1000;

impl Frame {
    /// Whether it runs in the kernel: its own text or that of a module.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.module.starts_with("[kernel") || self.module.ends_with(".ko]")
    }
}

/// A stack: a node of the tree and all above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    parent: Option<StackId>,
    frame: u32,
}

/// The tree of all stacks of a recording. Numbers of frames and stacks are given in order of appearance and stay.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    nodes: Vec<Node>,
    frame_numbers: HashMap<Frame, u32>,
    node_numbers: HashMap<Node, StackId>,
}

impl Stacks {
    /// The number of a frame, new if it was not seen before.
    pub fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(number) = self.frame_numbers.get(&frame) {
            return *number;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.frame_numbers.insert(frame, number);
        number
    }

    /// The stack of a frame called from `parent` (`None`: the outermost). `None` when the frame or the parent is unknown:
    /// parents always come first, so a tree read from a file cannot have a ring.
    pub fn push(&mut self, parent: Option<StackId>, frame: u32) -> Option<StackId> {
        let is_known = parent.is_none_or(|parent| (parent.0 as usize) < self.nodes.len());
        if !is_known || frame as usize >= self.frames.len() {
            return None;
        }
        let node = Node { parent, frame };
        let next = StackId(self.nodes.len() as u32);
        let id = *self.node_numbers.entry(node).or_insert(next);
        if id == next {
            self.nodes.push(node);
        }
        Some(id)
    }

    /// The stack of these frames, the innermost first. `None`: there is none.
    pub fn of(&mut self, frames: impl DoubleEndedIterator<Item = Frame>) -> Option<StackId> {
        let mut stack = None;
        for frame in frames.rev() {
            let frame = self.frame(frame);
            stack = self.push(stack, frame);
        }
        stack
    }

    /// All frames, by number.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// How many stacks there are; their numbers are `0..len`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Parent and number of the innermost frame.
    #[must_use]
    pub fn node(&self, id: StackId) -> Option<(Option<StackId>, u32)> {
        self.nodes.get(id.0 as usize).map(|node| (node.parent, node.frame))
    }

    /// A stack of another tree, in this one. `None` when the other does not have it.
    pub fn take_from(&mut self, other: &Stacks, id: StackId) -> Option<StackId> {
        let frames: Vec<u32> = other.walk(id).collect();
        let mut at = None;
        for number in frames.into_iter().rev() {
            let frame = self.frame(other.frames.get(number as usize)?.clone());
            at = self.push(at, frame);
        }
        at
    }

    /// Numbers of the frames of a stack, the innermost first.
    pub fn walk(&self, id: StackId) -> impl Iterator<Item = u32> {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next?.0 as usize)?;
            next = node.parent;
            Some(node.frame)
        })
    }
}

/// What each node of a tree has with all below it, from what it has itself. `parent` gives the place of a node's parent, which
/// comes before it.
#[must_use]
pub fn with_callees(mut own: Vec<u64>, parent: impl Fn(usize) -> Option<usize>) -> Vec<u64> {
    for node in (0..own.len()).rev() {
        if let Some(parent) = parent(node) {
            own[parent] = own[parent].saturating_add(own[node]);
        }
    }
    own
}

/// What interrupted CPUs to see where they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SamplingEvent {
    /// Cycles of the processor, counted by hardware: also sees code that runs with interrupts off.
    Cycles,
    /// A timer of the kernel (`cpu-clock`): code with interrupts off is charged to where they are allowed again.
    CpuClock,
    /// An event of another tool or of a newer version, in its own word.
    Other(String),
}

impl SamplingEvent {
    /// As the recording file writes it.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            SamplingEvent::Cycles => "cycles",
            SamplingEvent::CpuClock => "cpu-clock",
            SamplingEvent::Other(word) => word,
        }
    }

    /// Whether its samples are spread as the time of CPUs is: not page faults, misses or switches.
    #[must_use]
    pub fn shows_cpu_time(&self) -> bool {
        matches!(
            self.word(),
            "cycles" | "cpu-clock" | "task-clock" | "ref-cycles" | "bus-cycles" | "cycles-ct" | "cycles-t" | "ibs_op"
        )
    }

    /// The event of that word.
    #[must_use]
    pub fn from_word(word: &str) -> SamplingEvent {
        match word {
            "cycles" => SamplingEvent::Cycles,
            "cpu-clock" => SamplingEvent::CpuClock,
            other => SamplingEvent::Other(other.to_owned()),
        }
    }
}

/// How often one stack was seen in one slice of time, on one CPU, in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSample {
    /// Beginning of the slice, CLOCK_BOOTTIME in nanoseconds.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// The CPU; `None` where it is not known (an import).
    pub cpu: Option<u32>,
    /// Process id (`tgid`); 0 for the idle task, `None` where it is not known.
    pub pid: Option<u32>,
    /// Name of the thread. Not safe to print as it is.
    pub comm: String,
    /// The stack.
    pub stack: StackId,
    /// How often.
    pub count: u64,
}

/// All stacks of a recording.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What interrupted the CPUs. `None`: not known.
    pub event: Option<SamplingEvent>,
    /// Samples a second and CPU; `None` where it is not known.
    pub hz: Option<f64>,
    /// The tree.
    pub stacks: Stacks,
    /// In order of `from`.
    pub samples: Vec<StackSample>,
    /// Samples the kernel says it lost.
    pub lost: u64,
}

impl Profile {
    /// The samples of slices that lie in a stretch of time, at least in part.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &StackSample> {
        let begun = self.samples.iter().take_while(move |sample| sample.from <= to);
        begun.filter(move |sample| sample.to > from || sample.from >= from)
    }

    /// The same as a profile of its own, with the stacks that were seen in it and no others. When samples were lost is not
    /// known: they count as spread like those that were not.
    #[must_use]
    pub fn part(&self, from: u64, to: u64) -> Profile {
        let mut part = Profile { event: self.event.clone(), hz: self.hz, ..Profile::default() };
        let mut moved: HashMap<StackId, Option<StackId>> = HashMap::new();
        for sample in self.between(from, to) {
            let stacks = &mut part.stacks;
            let stack = *moved.entry(sample.stack).or_insert_with(|| stacks.take_from(&self.stacks, sample.stack));
            part.samples.extend(stack.map(|stack| StackSample { stack, ..sample.clone() }));
        }
        let count = |samples: &[StackSample]| samples.iter().map(|sample| u128::from(sample.count)).sum::<u128>();
        let (of_part, all) = (count(&part.samples), count(&self.samples));
        part.lost = u64::try_from(u128::from(self.lost) * of_part / all.max(1)).unwrap_or(self.lost);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str) -> Frame {
        Frame { name: name.to_owned(), module: KERNEL.to_owned() }
    }

    #[test]
    fn stacks_share_their_roots() {
        let mut stacks = Stacks::default();
        let [main, alloc, compact] = ["main", "alloc", "compact"].map(|name| stacks.frame(frame(name)));
        let root = stacks.push(None, main);
        let leaf = stacks.push(root, alloc).and_then(|parent| stacks.push(Some(parent), compact)).unwrap();
        assert_eq!(stacks.push(None, main), root, "the same stack again");
        assert_eq!(stacks.len(), 3);
        assert_eq!(stacks.walk(leaf).collect::<Vec<_>>(), [compact, alloc, main]);
    }

    #[test]
    fn a_part_has_the_samples_of_its_time_and_their_stacks_alone() {
        let mut profile = Profile { lost: 30, ..Profile::default() };
        for (at, name) in [(0, "early"), (10, "late"), (20, "last")] {
            let [main, leaf] = ["main", name].map(|name| profile.stacks.frame(frame(name)));
            let root = profile.stacks.push(None, main);
            let stack = profile.stacks.push(root, leaf).unwrap();
            let comm = name.to_owned();
            profile.samples.push(StackSample { from: at, to: at + 10, cpu: None, pid: None, comm, stack, count: 5 });
        }
        let part = profile.part(12, 20);
        let frames_of = |sample: &StackSample| -> Vec<Frame> {
            part.stacks.walk(sample.stack).map(|number| part.stacks.frames()[number as usize].clone()).collect()
        };
        let seen: Vec<Vec<Frame>> = part.samples.iter().map(frames_of).collect();
        assert_eq!(seen, [[frame("late"), frame("main")], [frame("last"), frame("main")]]);
        assert_eq!((part.stacks.len(), part.lost), (3, 20));
        let whole = profile.part(0, u64::MAX);
        assert_eq!((&whole.samples, whole.lost), (&profile.samples, 30));
        assert_eq!(profile.part(31, 40).samples, []);
    }

    #[test]
    fn what_is_not_there_is_refused_and_walks_nowhere() {
        let mut stacks = Stacks::default();
        assert_eq!(stacks.push(None, 0), None);
        let main = stacks.frame(frame("main"));
        assert_eq!(stacks.push(Some(StackId(0)), main), None, "a parent comes first");
        assert_eq!(stacks.walk(StackId(9)).count(), 0);
    }
}
