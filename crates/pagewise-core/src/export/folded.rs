//! Folded stacks: `comm;outermost;…;innermost count` a line, as flame graph tools read them.
//!
//! Functions and commands are named by strangers: `;` becomes `:`, control characters a space. Kernel functions end in
//! `_[k]`, as flame graph tools colour them.

use super::Selection;
use crate::recording::Profile;
use std::collections::BTreeMap;
use std::fmt::Write;

/// All samples of the selection, equal stacks as one line, in alphabetical order.
#[must_use]
pub fn write(profile: &Profile, selection: &Selection) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for sample in profile.samples.iter().filter(|sample| selection.overlaps(sample)) {
        let frames: Vec<u32> = profile.stacks.walk(sample.stack).collect();
        let mut line = safe(if sample.comm.is_empty() { "[unknown]" } else { &sample.comm });
        for frame in frames.iter().rev().filter_map(|frame| profile.stacks.frames().get(*frame as usize)) {
            line.push(';');
            line.push_str(&safe(if frame.name.is_empty() { "[unknown]" } else { &frame.name }));
            if frame.is_kernel() {
                line.push_str("_[k]");
            }
        }
        let count = lines.entry(line).or_default();
        *count = count.saturating_add(sample.count);
    }
    let mut out = String::new();
    for (line, count) in lines {
        let _ = writeln!(out, "{line} {count}");
    }
    out
}

fn safe(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == ';' {
                ':'
            } else if c.is_control() {
                ' '
            } else {
                c
            }
        })
        .collect()
}
