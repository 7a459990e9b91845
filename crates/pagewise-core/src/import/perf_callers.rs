//! Rows of a profile and the drawings below them, as stacks.
//!
//! What a function has of its own stands in its row, and that is what its stacks have together: a drawing only tells who
//! called it. What a drawing does not tell, or cannot be understood, stays with the function alone.

use super::counted_stack::CountedStack;
use super::kernel_names::{self, is_kernel_thread};
use super::perf_graph::{Graph, GraphPath, Reading};
use super::perf_top::Entry;
use crate::kernel_text::functions::{Family, families_of};
use crate::recording::Frame;
use std::collections::{HashMap, HashSet};

/// All stacks of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct TableStacks {
    pub(super) stacks: Vec<CountedStack>,
    /// How much there was, listed or not.
    pub(super) total: u64,
    /// Counts are samples, and no hundredths of a percent.
    pub(super) is_of_samples: bool,
    pub(super) notes: Vec<String>,
}

/// Hundredths of a percent.
const WHOLE: u64 = 10_000;

/// Each of some hundred rows was rounded; more than this is no rounding.
const TOO_MUCH: u64 = 10_500;

/// Which end a drawing begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// With the function of the row, and goes on with who called it.
    Callee,
    /// With the outermost function.
    Caller,
}

/// Stacks of rows. `children_only`: the table has no shares of functions themselves.
///
/// # Errors
/// When there are only shares that overlap.
pub(super) fn stacks_of(entries: &[Entry], children_only: bool) -> Result<TableStacks, String> {
    let reading = reading_of(entries);
    let modules = modules_of(entries);
    let has_children = entries.iter().any(|entry| entry.row.children.is_some());
    let sum = entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.row.share));
    if children_only || (!has_children && sum > TOO_MUCH) {
        return of_children(entries, reading, &modules, sum);
    }
    let has_samples = |entry: &Entry| entry.row.samples.is_some_and(|samples| samples > 0);
    let is_of_samples = entries.iter().all(|entry| entry.row.samples.is_some()) && entries.iter().any(has_samples);
    let order = if has_children { order_of(entries) } else { Order::Callee };
    // One row that was cut out with its callers: all of it, with what it calls, came from them.
    let is_cut_out = order == Order::Callee && entries.len() == 1 && !entries[0].graph.is_empty();
    let count = |entry: &Entry| match entry.row.children.filter(|_| is_cut_out) {
        _ if is_of_samples => entry.row.samples.unwrap_or(0),
        Some(children) => entry.row.share.max(children),
        None => entry.row.share,
    };
    let outer =
        if has_children && order == Order::Caller { ways_from_outside(entries, reading) } else { HashMap::new() };
    let mut stacks = Vec::with_capacity(entries.len());
    for entry in entries.iter().filter(|entry| count(entry) > 0) {
        let ways = match (has_children, order) {
            (true, Order::Caller) => {
                // Ways were measured in hundredths of a percent, as the function's own share.
                let found = outer.get(&(entry.row.comm.as_str(), entry.row.name.as_str()));
                let found = found.map_or(&[][..], Vec::as_slice);
                let all = found.iter().map(|way| way.part).sum::<f64>().max(entry.row.share as f64).max(1.0);
                found.iter().map(|way| GraphPath { names: way.names.clone(), part: way.part / all }).collect()
            }
            (true, Order::Callee) => callers(entry, reading, whole(entry)),
            (false, _) => callers(entry, reading, entry.row.share),
        };
        add(&mut stacks, entry, ways, count(entry), &modules);
    }
    if has_children && order == Order::Caller && !is_of_samples && sum < WHOLE / 2 {
        add_undrawn(&mut stacks, entries, reading, &modules, WHOLE - sum);
    }
    // The largest share is printed with the smallest relative error.
    let total = match entries.iter().max_by_key(|entry| entry.row.share) {
        Some(largest) if is_of_samples && largest.row.share > 0 => {
            (count(largest) as f64 * WHOLE as f64 / largest.row.share as f64).round() as u64
        }
        // There are no shares: what is listed is all that is known.
        _ if is_of_samples => entries.iter().map(count).fold(0, u64::saturating_add),
        _ => WHOLE,
    };
    Ok(TableStacks { stacks, total, is_of_samples, notes: Vec::new() })
}

impl TableStacks {
    /// What is left where shares overlap: that something was seen, and not where.
    pub(super) fn overlapping(why: String) -> TableStacks {
        TableStacks { stacks: Vec::new(), total: WHOLE, is_of_samples: false, notes: vec![format!("perf: {why}")] }
    }
}

/// Adds a function's count, spread over the ways that lead to it. Names of ways begin with the function.
fn add(
    stacks: &mut Vec<CountedStack>,
    entry: &Entry,
    ways: Vec<GraphPath>,
    count: u64,
    modules: &HashMap<&str, Option<&str>>,
) {
    let row = &entry.row;
    let mut stack = |frames: Vec<Frame>, count: u64| {
        if count > 0 {
            stacks.push(CountedStack { frames, comm: row.comm.clone(), pid: row.pid, count });
        }
    };
    let mut flat = vec![row.frame()];
    if let Some(caller) = &row.caller {
        flat.push(frame(caller, modules));
        kernel_names::mark(&mut flat, row.frame().is_kernel());
    }
    let (mut given, mut until, mut sum) = (0, 0.0, Vec::with_capacity(ways.len()));
    for way in &ways {
        until += way.part;
        let next = ((count as f64 * until).round() as u64).clamp(given, count);
        sum.push(next - given);
        given = next;
    }
    // What rounding left over is no other way.
    if let Some(largest) = (0..sum.len()).max_by_key(|at| sum[*at])
        && (count - given).saturating_mul(50) < count
    {
        sum[largest] += count - given;
        given = count;
    }
    for (way, count) in ways.into_iter().zip(sum) {
        let mut frames = vec![row.frame()];
        frames.extend(way.names.iter().skip(1).map(|name| frame(name, modules)));
        // The kernel is called by programs, and calls none.
        if row.module.is_empty() || row.frame().is_kernel() {
            kernel_names::mark(&mut frames, row.frame().is_kernel() || is_kernel_thread(&row.comm));
        }
        stack(if frames.len() > 1 { frames } else { flat.clone() }, count);
    }
    stack(flat, count - given);
}

fn frame(name: &str, modules: &HashMap<&str, Option<&str>>) -> Frame {
    let module = modules.get(name).copied().flatten().unwrap_or("");
    Frame { name: name.to_owned(), module: module.to_owned() }
}

/// What rows say about the modules of functions. `None` where two say different things.
fn modules_of(entries: &[Entry]) -> HashMap<&str, Option<&str>> {
    let mut modules: HashMap<&str, Option<&str>> = HashMap::new();
    for row in entries.iter().map(|entry| &entry.row) {
        let module = row.module.as_str();
        modules
            .entry(&row.name)
            .and_modify(|known| *known = known.filter(|known| *known == module))
            .or_insert(Some(module));
    }
    modules
}

/// Shares of all drawings of a file are of one kind: the one that more of them can be.
fn reading_of(entries: &[Entry]) -> Reading {
    let drawn = || entries.iter().filter(|entry| !entry.graph.is_empty());
    let fits = |reading| drawn().filter(|entry| entry.graph.fits(reading, whole(entry))).count();
    let (absolute, relative) = (fits(Reading::Absolute), fits(Reading::Relative));
    let is_old = drawn().any(|entry| entry.graph.is_old());
    if relative > absolute || (relative == absolute && is_old) { Reading::Relative } else { Reading::Absolute }
}

/// What a drawing is of.
fn whole(entry: &Entry) -> u64 {
    entry.row.children.unwrap_or(entry.row.share)
}

/// Whether two names are of one function: a row may be too narrow for the whole name.
fn is_same(row: &str, drawn: &str) -> bool {
    row == drawn || (row.len() >= 20 && drawn.starts_with(row))
}

/// Ways from the function of a row outwards. What does not begin or end with it is none, unless it is nowhere in the drawing: then that
/// was drawn or cut out without it.
fn callers(entry: &Entry, reading: Reading, share: u64) -> Vec<GraphPath> {
    let name = entry.row.name.as_str();
    let Some(mut ways) = entry.graph.ways(reading, share) else { return Vec::new() };
    if !ways.iter().flat_map(|way| &way.names).any(|drawn| is_same(name, drawn)) {
        let entries = |names: &mut dyn Iterator<Item = &str>| names.filter(|name| kernel_names::is_entry(name)).count();
        let begins_outside = entries(&mut entry.graph.first()) > entries(&mut entry.graph.last());
        for way in ways.iter_mut().filter(|way| !way.names.is_empty()) {
            if begins_outside {
                way.names.reverse();
            }
            way.names.insert(0, name.to_owned());
        }
        return ways;
    }
    if entry.graph.first().next().is_none() || !entry.graph.first().all(|first| is_same(name, first)) {
        ways.iter_mut().for_each(|way| way.names.reverse());
    }
    ways.retain(|way| way.names.first().is_some_and(|first| is_same(name, first)));
    ways
}

/// With Children, a drawing shows who was called (perf from 4.5) or who called. Told by what drawings end with: functions
/// that have samples of their own, or those that have none; where they are not listed, by where programs and the kernel begin.
fn order_of(entries: &[Entry]) -> Order {
    let mut own: HashMap<&str, (u64, u64)> = HashMap::new();
    for row in entries.iter().map(|entry| &entry.row) {
        let (share, children) = own.entry(&row.name).or_default();
        *share = share.saturating_add(row.share);
        *children = children.saturating_add(row.children.unwrap_or(0));
    }
    let is_outermost = |name: &str| {
        kernel_names::is_entry(name)
            || matches!(name, "main" | "_start" | "start_thread" | "thread_start" | "clone" | "clone3")
            || name.starts_with("__clone")
            || name.starts_with("__libc_start")
    };
    let mut vote = 0i64;
    for entry in entries {
        for name in entry.graph.last() {
            vote += match own.get(name) {
                _ if is_outermost(name) => -2,
                Some((share, children)) if share.saturating_mul(2) >= *children => 1,
                // Next to none: `munmap` of a program, below all of it.
                Some((share, children)) if share.saturating_mul(50) <= *children => -1,
                _ => 0,
            };
        }
        for (upper, lower) in entry.graph.steps() {
            vote += match (depth_of_call(upper), depth_of_call(lower)) {
                (Some(upper), Some(lower)) => 2 * (lower - upper).signum(),
                _ => 0,
            };
        }
        // In a drawing of itself either order begins with it.
        let others = entry.graph.first().filter(|name| !is_same(&entry.row.name, name));
        vote += others.filter(|name| is_outermost(name)).count() as i64;
        // Who calls nobody, and has something drawn below, was called by that.
        let row = &entry.row;
        let is_leaf = row.share.saturating_mul(10) >= row.children.unwrap_or(0).saturating_mul(9) && row.share > 0;
        let is_first = entry.graph.first().next().is_some_and(|first| is_same(&row.name, first));
        let has_more = entry.graph.last().any(|last| !is_same(&row.name, last));
        vote -= if is_leaf && is_first && has_more { 3 } else { 0 };
    }
    let is_old = entries.iter().any(|entry| entry.graph.is_old());
    if vote > 0 || (vote == 0 && !is_old) { Order::Caller } else { Order::Callee }
}

/// How deep a function is in the way of a system call into the kernel: `entry_SYSCALL_64_after_hwframe`, `do_syscall_64`, `__x64_sys_mmap`.
fn depth_of_call(name: &str) -> Option<i64> {
    const BEGINNINGS: [(&str, i64); 13] = [
        ("entry_SYSCALL", 0),
        ("entry_INT80", 0),
        ("el0_sync", 0),
        ("el0t_64_sync", 0),
        ("system_call", 0),
        ("do_syscall_64", 1),
        ("do_el0_svc", 1),
        ("el0_svc", 1),
        ("__x64_sys_", 2),
        ("__arm64_sys_", 2),
        ("__se_sys_", 3),
        ("ksys_", 3),
        ("SyS_", 2),
    ];
    BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, depth)| *depth)
}

/// Rows whose drawings hold those of all others: first those that are in no other, then what none of these has.
fn outermost(entries: &[Entry]) -> Vec<&Entry> {
    let key = |entry: &'_ Entry, name: &'_ str| (entry.row.comm.clone(), name.to_owned());
    let below = |entry: &Entry| entry.graph.behind_first().map(|name| key(entry, name)).collect::<Vec<_>>();
    let drawn: Vec<&Entry> = entries.iter().filter(|entry| !entry.graph.is_empty()).collect();
    let all: HashSet<(String, String)> = drawn.iter().flat_map(|entry| below(entry)).collect();
    let is_first = |entry: &&Entry| !all.contains(&key(entry, &entry.row.name));
    let (mut taken, others): (Vec<&Entry>, Vec<&Entry>) = drawn.into_iter().partition(is_first);
    let mut inside: HashSet<(String, String)> = taken.iter().flat_map(|entry| below(entry)).collect();
    for entry in others {
        if !inside.contains(&key(entry, &entry.row.name)) {
            inside.extend(below(entry));
            taken.push(entry);
        }
    }
    taken
}

/// Ways inwards from the outermost functions that have a row, by command and the function they end with; `part` in
/// hundredths of a percent.
fn ways_from_outside(entries: &[Entry], reading: Reading) -> HashMap<(&str, &str), Vec<GraphPath>> {
    let names: HashSet<&str> = entries.iter().map(|entry| entry.row.name.as_str()).collect();
    let mut found: HashMap<(&str, &str), Vec<GraphPath>> = HashMap::new();
    for entry in outermost(entries) {
        let comm = entry.row.comm.as_str();
        let Some(ways) = entry.graph.ways(reading, whole(entry)) else { continue };
        for mut way in ways {
            let Some(last) = way.names.last() else { continue };
            let Some(last) = names.get(last.as_str()).copied() else { continue };
            way.names.reverse();
            way.part *= whole(entry) as f64;
            found.entry((comm, last)).or_default().push(way);
        }
    }
    found
}

/// The stack of a way that begins with the outermost function. `in_kernel`: it is known to end in the kernel.
fn inwards(
    entry: &Entry,
    way: &GraphPath,
    count: u64,
    in_kernel: bool,
    modules: &HashMap<&str, Option<&str>>,
) -> CountedStack {
    let row = &entry.row;
    let mut frames: Vec<Frame> = way.names.iter().rev().map(|name| frame(name, modules)).collect();
    kernel_names::mark(&mut frames, in_kernel || is_kernel_thread(&row.comm));
    CountedStack { frames, comm: row.comm.clone(), pid: row.pid, count }
}

/// Of a table that was cut after its first rows: what its drawings end with has no row, and all that it has is its own, as far as anybody
/// can see. At most `left` of it.
fn add_undrawn(
    stacks: &mut Vec<CountedStack>,
    entries: &[Entry],
    reading: Reading,
    modules: &HashMap<&str, Option<&str>>,
    mut left: u64,
) {
    let names: HashSet<&str> = entries.iter().map(|entry| entry.row.name.as_str()).collect();
    for entry in outermost(entries) {
        for way in entry.graph.ways(reading, whole(entry)).unwrap_or_default() {
            let count = (way.part * whole(entry) as f64).round() as u64;
            if count > left || way.names.last().is_none_or(|last| names.contains(last.as_str())) {
                continue;
            }
            left -= count;
            stacks.push(inwards(entry, &way, count, entry.row.frame().is_kernel(), modules));
        }
    }
}

/// Only shares of functions with all they call: they overlap, and what each has of its own is in the drawings alone.
fn of_children(
    entries: &[Entry],
    reading: Reading,
    modules: &HashMap<&str, Option<&str>>,
    sum: u64,
) -> Result<TableStacks, String> {
    const NOTE: &str = "perf: it has no column of what functions have themselves (Self), only of what they have with all they \
                        call (Children)";
    let mut seen = TableStacks { total: WHOLE, ..TableStacks::default() };
    if order_of_children(entries) == Order::Caller {
        for entry in outermost(entries) {
            let row = &entry.row;
            let Some(ways) = entry.graph.ways(reading, row.share) else { continue };
            for way in ways {
                let count = (way.part * row.share as f64).round() as u64;
                let in_kernel = way.names.last().is_some_and(|last| frame(last, modules).is_kernel());
                seen.stacks.push(inwards(entry, &way, count, in_kernel, modules));
            }
        }
    }
    let drawn = seen.stacks.iter().fold(0u64, |sum, stack| sum.saturating_add(stack.count));
    if drawn > 0 && drawn <= TOO_MUCH {
        seen.notes.push(format!("{NOTE}; what they have themselves is taken from its call graphs"));
        return Ok(seen);
    }
    if sum > TOO_MUCH {
        return Err(format!(
            "it lists functions with all that they call (Children) and not what they have themselves (Self): its shares \
             overlap, and add up to {} %",
            sum / 100
        ));
    }
    seen.notes.push(NOTE.to_owned());
    seen.stacks.clear();
    for entry in entries {
        add(&mut seen.stacks, entry, Vec::new(), entry.row.share, modules);
    }
    Ok(seen)
}

/// As [`order_of`], where no row says what functions have themselves: the drawing of the largest begins with it either way.
fn order_of_children(entries: &[Entry]) -> Order {
    let ends = |graph: &Graph| graph.last().filter(|name| kernel_names::is_entry(name)).count();
    let begins = |graph: &Graph| graph.first().filter(|name| kernel_names::is_entry(name)).count();
    let (ends, begins) = entries.iter().fold((0, 0), |(all_ends, all_begins), entry| {
        (all_ends + ends(&entry.graph), all_begins + begins(&entry.graph))
    });
    let is_old = entries.iter().any(|entry| entry.graph.is_old());
    // Who waits for a lock calls nobody: what is drawn below is who called.
    let is_wait = |name: &str| families_of(name, false) & Family::LockSpin.bit() != 0;
    let are_waits = entries.iter().all(|entry| is_wait(&entry.row.name));
    if entries.iter().any(|entry| entry.graph.has_own) {
        Order::Caller
    } else if are_waits {
        Order::Callee
    } else if begins > ends || (begins == ends && !is_old) {
        Order::Caller
    } else {
        Order::Callee
    }
}
