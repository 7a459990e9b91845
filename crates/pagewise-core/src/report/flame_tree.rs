//! What every flame graph needs: functions with their colours, and which nodes of a tree a page can hold.
//!
//! A tree is a list of nodes, each with the place of its parent, which comes before it.

use crate::recording::Stacks;
use crate::report::printable::printable;
use serde::Serialize;

/// Most nodes of a tree on a page.
pub(super) const MOST_NODES: usize = 20_000;

/// Most numbers that say how often nodes were seen: some 6 MB of a page.
pub(super) const MOST_COUNTS: usize = 1_000_000;

/// Deeper calls are charged to the caller at this depth.
pub(super) const DEEPEST: usize = 256;

/// Longest name of a function in characters. Templates can have names of many kilobytes.
const LONGEST_NAME: usize = 200;

/// What a function belongs to, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The kernel.
    #[serde(rename = "k")]
    Kernel,
    /// A program or library.
    #[serde(rename = "u")]
    User,
    /// Compiled at run time.
    #[serde(rename = "j")]
    Jit,
    /// No function: a thread's name, at the root.
    #[serde(rename = "p")]
    Process,
}

/// A function of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its name, safe to print.
    pub name: String,
    /// What it belongs to, safe to print.
    pub module: String,
    /// Its colour.
    pub side: Side,
}

/// A name that is safe to print and no longer than a line.
pub(super) fn shown(name: &str) -> String {
    let mut characters = name.chars();
    let mut short: String = characters.by_ref().take(LONGEST_NAME).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    printable(&short)
}

/// The function of that number.
pub(super) fn function(stacks: &Stacks, number: u32) -> Function {
    match stacks.frames().get(number as usize) {
        None => Function { name: "?".to_owned(), module: String::new(), side: Side::User },
        Some(frame) => {
            let side = match frame.module.as_str() {
                _ if frame.is_kernel() => Side::Kernel,
                "[jit]" => Side::Jit,
                _ => Side::User,
            };
            Function { name: shown(&frame.name), module: shown(&frame.module), side }
        }
    }
}

/// Up to `most` nodes that weigh most, and at least `least`, in their order. No child may weigh more than its parent: then
/// everything above a node that is kept is kept, too.
pub(super) fn heaviest(parents: &[Option<usize>], weight: &[u64], least: u64, most: usize) -> Vec<usize> {
    let mut depth = vec![0usize; parents.len()];
    for node in 0..parents.len() {
        depth[node] = parents[node].map_or(0, |parent| depth[parent] + 1);
    }
    let is_kept = |node: &usize| depth[*node] <= DEEPEST && weight[*node] >= least;
    let mut kept: Vec<usize> = (0..parents.len()).filter(is_kept).collect();
    kept.sort_by_key(|node| (std::cmp::Reverse(weight[*node]), *node));
    kept.truncate(most);
    kept.sort_unstable();
    kept
}

/// For each node its place among those that are kept, or that of the nearest caller that is. `None`: no caller is.
pub(super) fn ends_at(parents: &[Option<usize>], kept: &[usize]) -> Vec<Option<usize>> {
    let mut at = vec![None; parents.len()];
    kept.iter().enumerate().for_each(|(place, node)| at[*node] = Some(place));
    for node in 0..parents.len() {
        if at[node].is_none() {
            at[node] = parents[node].and_then(|parent| at[parent]);
        }
    }
    at
}

/// Numbers of nodes, rising, in the form that is shortest to write: in turn, how many nodes to go on, and the number there.
pub(super) fn steps(counts: impl IntoIterator<Item = (usize, u64)>) -> Vec<u64> {
    let mut before = 0;
    let step = |(node, count): (usize, u64)| {
        let step = (node - before) as u64;
        before = node;
        [step, count]
    };
    counts.into_iter().flat_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::stack::with_callees;

    #[test]
    fn a_name_cannot_be_longer_than_a_line_or_hide() {
        assert_eq!(shown(&"x".repeat(5000)).chars().count(), LONGEST_NAME + 1);
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn what_is_left_out_ends_at_the_nearest_caller_that_is_kept() {
        // main calls a and b, a calls c; another root is seen too seldom.
        let parents = [None, Some(0), Some(0), Some(1), None];
        let weight = with_callees(vec![1, 0, 5, 2, 1], |node| parents[node]);
        assert_eq!(weight, [8, 2, 5, 2, 1]);
        let kept = heaviest(&parents, &weight, 3, 9);
        assert_eq!(kept, [0, 2]);
        assert_eq!(ends_at(&parents, &kept), [Some(0), Some(0), Some(1), Some(0), None]);
        assert_eq!(heaviest(&parents, &weight, 0, 2), [0, 2]);
    }

    #[test]
    fn steps_lead_from_node_to_node() {
        assert_eq!(steps([(2, 7), (3, 1), (9, 4)]), [2, 7, 1, 1, 6, 4]);
    }
}
