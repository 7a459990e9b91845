//! What was not recorded beside the numbers, and why: from the gaps that did not end.

use pagewise_core::recording::{Gap, GapReason};

/// The source of gaps in where CPUs were.
pub(super) const STACKS: &str = "stacks";

/// Why a source is not recorded, as far as that is known.
pub(super) fn why<'a>(gaps: &'a [Gap], source: &str) -> Option<&'a str> {
    let is_it = |gap: &&Gap| gap.source.as_deref() == Some(source) && !gap.detail.is_empty();
    gaps.iter().find(is_it).map(|gap| gap.detail.as_str())
}

/// What is not seen with the reason; what has the same reason stands together. `no_functions`: why it was not recorded where
/// CPUs were.
pub(super) fn list(gaps: &[Gap], no_functions: Option<impl AsRef<str>>) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let functions = no_functions.map(|why| ("functions".to_owned(), why.as_ref().to_owned()));
    let open = gaps.iter().filter(|gap| gap.to.is_none() && gap.reason != GapReason::Waiting);
    let others = open.filter_map(|gap| Some((words(gap.source.as_deref()?)?, gap.detail.clone())));
    for (what, why) in functions.into_iter().chain(others) {
        match list.iter_mut().find(|(_, other)| *other == why) {
            Some((all, _)) => all.push_str(&format!(", {what}")),
            None => list.push((what, why)),
        }
    }
    list
}

/// What a source of gaps is about, where it is no kernel file: those show as dots in their own rows.
fn words(source: &str) -> Option<String> {
    match source.split_once('.') {
        None if source == "stalls" => Some("stalls".to_owned()),
        None if source == "symbols" => Some("names of functions".to_owned()),
        Some(("stalls", kind)) => Some(format!("stalls by {}", kind.replace('_', " "))),
        Some((STACKS, "others")) => Some("functions of others".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(source: &str, to: Option<u64>, detail: &str) -> Gap {
        let (source, detail) = (Some(source.to_owned()), detail.to_owned());
        Gap { from: 0, to, source, reason: GapReason::Missing, ticks: None, detail }
    }

    #[test]
    fn what_is_refused_for_one_reason_stands_together_and_kernel_files_are_left_out() {
        let gaps = [
            gap("stalls", None, "not permitted"),
            gap("psi_memory", None, "not there"),
            gap("stacks", None, "not permitted"),
            gap("stalls.direct_reclaim", None, "this kernel has no such tracepoint"),
            gap("stalls", Some(7), "events were lost"),
        ];
        let listed = list(&gaps, why(&gaps, STACKS));
        let listed: Vec<(&str, &str)> = listed.iter().map(|(what, why)| (what.as_str(), why.as_str())).collect();
        let no_tracepoint = ("stalls by direct reclaim", "this kernel has no such tracepoint");
        assert_eq!(listed, [("functions, stalls", "not permitted"), no_tracepoint]);
        assert!(list(&gaps[1..3], None::<&str>).is_empty());
    }
}
