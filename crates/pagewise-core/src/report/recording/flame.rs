//! The stacks of a recording as a page needs them: one tree, and per slice of time how often each node was seen, so that
//! any stretch is a sum.
//!
//! A page of a million samples must stay small and quick. So stacks that were hardly seen end at the caller that was
//! seen more, slices are as long as it takes, and the page adds up numbers, never samples.

use crate::recording::stack::with_callees;
use crate::recording::{Profile, StackId};
pub use crate::report::flame_tree::{Function, Side};
use crate::report::flame_tree::{MOST_COUNTS, MOST_NODES, ends_at, function, heaviest, shown, steps};
use crate::report::printable::printable;
use serde::Serialize;
use std::collections::HashMap;

/// Most slices at first; a slice of a day is then a minute long.
const MOST_SLICES: u64 = 1_440;

/// The stacks of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flame {
    /// What interrupted the CPUs, as the recording says it.
    pub event: Option<String>,
    /// Samples a second and CPU.
    pub hz: Option<f64>,
    /// Samples the kernel lost.
    pub lost: u64,
    /// Samples in all.
    pub total: u64,
    /// Stacks (of the recording's) that end at a caller because they were seen too seldom.
    pub folded: usize,
    /// Functions by number.
    pub functions: Vec<Function>,
    /// For each node its parent's number plus one, and 0 for a root. Parents come first; roots are names of threads.
    pub parents: Vec<usize>,
    /// For each node its function.
    pub frames: Vec<usize>,
    /// Length of a slice in seconds.
    pub slice: f64,
    /// When the first slice begins, in seconds after the first tick; negative when it was before.
    pub from: f64,
    /// For each slice, in turn: how many nodes to go on, how often that node itself was seen.
    pub slices: Vec<Vec<u64>>,
}

/// The tree under construction: a root per thread name, below it the recording's own tree.
#[derive(Default)]
struct Tree<'a> {
    comms: HashMap<&'a str, u32>,
    names: Vec<&'a str>,
    numbers: HashMap<(u32, Option<StackId>), usize>,
    /// Parent, thread name, and stack of the recording (`None`: the root).
    nodes: Vec<(Option<usize>, u32, Option<StackId>)>,
}

impl<'a> Tree<'a> {
    fn comm(&mut self, comm: &'a str) -> u32 {
        let next = self.names.len() as u32;
        let names = &mut self.names;
        *self.comms.entry(comm).or_insert_with(|| {
            names.push(comm);
            next
        })
    }

    fn node(&mut self, profile: &Profile, comm: u32, stack: StackId) -> usize {
        if let Some(found) = self.numbers.get(&(comm, Some(stack))) {
            return *found;
        }
        // From the stack up to the first node that is there, then down again.
        let mut missing = Vec::new();
        let mut next = Some(stack);
        while let Some(id) = next.filter(|id| !self.numbers.contains_key(&(comm, Some(*id)))) {
            missing.push(id);
            next = profile.stacks.node(id).and_then(|(parent, _)| parent);
        }
        let mut parent = self.add(None, comm, None);
        if let Some(id) = next {
            parent = self.add(Some(parent), comm, Some(id));
        }
        for id in missing.into_iter().rev() {
            parent = self.add(Some(parent), comm, Some(id));
        }
        parent
    }

    fn add(&mut self, parent: Option<usize>, comm: u32, stack: Option<StackId>) -> usize {
        let nodes = &mut self.nodes;
        *self.numbers.entry((comm, stack)).or_insert_with(|| {
            nodes.push((parent, comm, stack));
            nodes.len() - 1
        })
    }
}

/// The stacks of a profile, for a page whose first tick is at `origin` (nanoseconds). `None` without samples.
#[must_use]
pub fn flame(profile: &Profile, origin: u64) -> Option<Flame> {
    let first = profile.samples.iter().map(|sample| sample.from).min()?;
    let last = profile.samples.iter().map(|sample| sample.to.max(sample.from)).max()?;
    let longest = profile.samples.iter().map(|sample| sample.to.saturating_sub(sample.from)).max().unwrap_or(0);
    let mut width = longest.max(1_000_000).max(last.saturating_sub(first) / MOST_SLICES + 1);

    let mut tree = Tree::default();
    let mut counts: Vec<(u64, usize, u64)> = Vec::with_capacity(profile.samples.len());
    for sample in profile.samples.iter().filter(|sample| sample.count > 0) {
        let comm = tree.comm(&sample.comm);
        let node = tree.node(profile, comm, sample.stack);
        counts.push(((sample.from - first) / width, node, sample.count));
    }
    let total = counts.iter().fold(0u64, |sum, (_, _, count)| sum.saturating_add(*count));

    let parents: Vec<Option<usize>> = tree.nodes.iter().map(|(parent, _, _)| *parent).collect();
    let mut seen = vec![0u64; parents.len()];
    counts.iter().for_each(|(_, node, count)| seen[*node] = seen[*node].saturating_add(*count));
    let kept = heaviest(&parents, &with_callees(seen, |node| parents[node]), 0, MOST_NODES);
    // A thread that was hardly seen has no caller to end at.
    let number_of: Vec<usize> = ends_at(&parents, &kept).into_iter().map(|place| place.unwrap_or(0)).collect();
    counts.iter_mut().for_each(|(_, node, _)| *node = number_of[*node]);
    loop {
        merge(&mut counts);
        if counts.len() <= MOST_COUNTS {
            break;
        }
        width = width.saturating_mul(2);
        counts.iter_mut().for_each(|(slice, _, _)| *slice /= 2);
    }

    let mut functions = Vec::new();
    let mut function_numbers: HashMap<(bool, u32), usize> = HashMap::new();
    let frames = kept.iter().map(|node| {
        let (_, comm, stack) = tree.nodes[*node];
        let key = match stack {
            None => (true, comm),
            Some(stack) => (false, profile.stacks.node(stack).map_or(0, |(_, frame)| frame)),
        };
        *function_numbers.entry(key).or_insert_with(|| {
            functions.push(match stack {
                None => Function { name: shown(tree.names[comm as usize]), module: String::new(), side: Side::Process },
                Some(_) => function(&profile.stacks, key.1),
            });
            functions.len() - 1
        })
    });
    let frames: Vec<usize> = frames.collect();
    let parents = kept.iter().map(|node| parents[*node].map_or(0, |parent| number_of[parent] + 1)).collect();
    Some(Flame {
        event: profile.event.as_ref().map(|event| printable(event.word())),
        hz: profile.hz.filter(|hz| hz.is_finite()),
        lost: profile.lost,
        total,
        folded: tree.nodes.len() - kept.len(),
        functions,
        parents,
        frames,
        slice: width as f64 * 1e-9,
        from: (first as f64 - origin as f64) * 1e-9,
        slices: slices(&counts),
    })
}

fn merge(counts: &mut Vec<(u64, usize, u64)>) {
    counts.sort_unstable_by_key(|(slice, node, _)| (*slice, *node));
    counts.dedup_by(|later, first| {
        let is_same = (later.0, later.1) == (first.0, first.1);
        if is_same {
            first.2 = first.2.saturating_add(later.2);
        }
        is_same
    });
}

fn slices(counts: &[(u64, usize, u64)]) -> Vec<Vec<u64>> {
    let length = counts.last().map_or(0, |(slice, _, _)| *slice as usize + 1);
    let mut slices = vec![Vec::new(); length];
    for of_slice in counts.chunk_by(|one, next| one.0 == next.0) {
        slices[of_slice[0].0 as usize] = steps(of_slice.iter().map(|(_, node, count)| (*node, *count)));
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::stack::KERNEL;
    use crate::recording::{Frame, StackSample};
    use crate::report::flame_tree::DEEPEST;

    fn frame(name: &str) -> Frame {
        Frame { name: name.to_owned(), module: KERNEL.to_owned() }
    }

    fn sample(from: u64, comm: &str, stack: StackId, count: u64) -> StackSample {
        let (from, to) = (from * 1_000_000_000, (from + 1) * 1_000_000_000);
        StackSample { from, to, cpu: Some(0), pid: Some(1), comm: comm.to_owned(), stack, count }
    }

    /// Own counts of all slices, by name of the function.
    fn own(flame: &Flame) -> HashMap<String, u64> {
        let mut own = HashMap::new();
        for slice in &flame.slices {
            let mut node = 0;
            for pair in slice.chunks(2) {
                node += pair[0] as usize;
                *own.entry(flame.functions[flame.frames[node]].name.clone()).or_insert(0) += pair[1];
            }
        }
        own
    }

    #[test]
    fn a_stretch_is_a_sum_of_slices_under_the_names_of_threads() {
        let mut profile = Profile::default();
        let [entry, reclaim] = ["entry", "reclaim"].map(|name| profile.stacks.frame(frame(name)));
        let root = profile.stacks.push(None, entry).unwrap();
        let leaf = profile.stacks.push(Some(root), reclaim).unwrap();
        profile.samples = vec![sample(5, "java", leaf, 3), sample(5, "java", root, 1), sample(7, "kswapd0", leaf, 4)];
        let flame = flame(&profile, 4_000_000_000).unwrap();
        assert_eq!((flame.total, flame.from, flame.slice, flame.slices.len()), (8, 1.0, 1.0, 3));
        assert!(flame.slices[1].is_empty());
        let names: Vec<&str> = flame.frames.iter().map(|at| flame.functions[*at].name.as_str()).collect();
        assert_eq!(names, ["java", "entry", "reclaim", "kswapd0", "entry", "reclaim"]);
        assert_eq!(flame.parents, [0, 1, 2, 0, 4, 5]);
        assert_eq!(own(&flame)["reclaim"], 7);
    }

    #[test]
    fn rare_stacks_end_at_their_caller_and_no_sample_is_lost() {
        let mut profile = Profile::default();
        let main = profile.stacks.frame(frame("main"));
        let root = profile.stacks.push(None, main).unwrap();
        for number in 0..30_000u64 {
            let child = profile.stacks.frame(frame(&format!("f{number}")));
            let child = profile.stacks.push(Some(root), child).unwrap();
            profile.samples.push(sample(number % 60, "java", child, if number == 29_999 { 100 } else { 1 }));
        }
        let flame = flame(&profile, 0).unwrap();
        assert_eq!((flame.parents.len(), flame.folded), (MOST_NODES, 30_002 - MOST_NODES));
        let own = own(&flame);
        assert_eq!(own.values().sum::<u64>(), flame.total);
        assert_eq!((own["f29999"], own["main"]), (100, flame.folded as u64));
    }

    #[test]
    fn a_stack_thousands_deep_is_cut_and_a_day_has_slices_of_a_minute() {
        let mut profile = Profile::default();
        let again = profile.stacks.frame(frame("again"));
        let mut stack = profile.stacks.push(None, again).unwrap();
        for _ in 0..20_000 {
            stack = profile.stacks.push(Some(stack), again).unwrap();
        }
        profile.samples = vec![sample(0, "deep", stack, 1), sample(86_399, "deep", stack, 1)];
        let flame = flame(&profile, 0).unwrap();
        assert_eq!(flame.parents.len(), DEEPEST + 1);
        assert!(flame.slices.len() as u64 <= MOST_SLICES + 1 && flame.slice >= 60.0, "{}", flame.slice);
    }
}
