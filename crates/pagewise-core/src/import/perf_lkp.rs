//! Profiles in mails of the kernel test robot (LKP): a line for each function or chain of callers, with its share under two kernels or
//! more side by side. The last of them counts, which is the kernel that the mail is about.
//!
//! `perf-profile.self` is what a function has itself, `perf-profile.children` what it has with all that it calls, and
//! `perf-profile.calltrace` the same of one way to be called; until 2016 `func` stood for the first, and nothing for the last.

use super::kernel_names;
use super::perf_row::Row;
use super::words::scaled;
use crate::recording::Frame;
use crate::recording::stack::KERNEL;
use std::collections::BTreeMap;

/// More functions are not kept.
const MOST_FUNCTIONS: usize = 1 << 16;

/// What lines say of a function, in hundredths of a percent.
#[derive(Debug, Default)]
struct Function {
    own: u64,
    with_callees: u64,
    /// The same, added up over the ways to be called.
    by_ways: u64,
    is_kernel: bool,
    number: usize,
}

/// The profile of a mail.
#[derive(Debug, Default)]
pub(super) struct Lkp {
    functions: BTreeMap<String, Function>,
    event: Option<String>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Own,
    WithCallees,
    OfAWay,
}

/// A line in its parts: of which event, what it is about, and its functions, the innermost first.
struct Line<'l> {
    event: &'l str,
    of: Share,
    names: Vec<String>,
    share: u64,
}

/// `57.73 ±  3%  perf-profile.calltrace.cycles-pp.shrink_lruvec.shrink_node…`.
fn line_of(text: &str) -> Option<Line<'_>> {
    let mut words = text.split_whitespace().rev();
    let name = words.next()?.strip_prefix("perf-profile.")?;
    let is_event = |word: &str| word.starts_with("cycles") || word.starts_with("cpu-c");
    let (kind, rest) = name.split_once('.')?;
    let (of, event, names) = match kind {
        _ if is_event(kind) => (Share::OfAWay, kind, rest),
        "self" | "func" | "children" | "calltrace" => {
            let (event, names) = rest.split_once('.').filter(|(event, _)| is_event(event))?;
            let of = match kind {
                "children" => Share::WithCallees,
                "calltrace" => Share::OfAWay,
                _ => Share::Own,
            };
            (of, event, names)
        }
        _ => return None,
    };
    // How far its runs were apart stands behind the share.
    let share = words.find(|word| !word.ends_with('%') && !matches!(*word, "±" | "+-"))?;
    let share = scaled(share, 100.0).filter(|share| *share <= 10_100)?;
    let names = match of {
        Share::OfAWay => functions(names),
        Share::Own | Share::WithCallees => vec![names.to_owned()],
    };
    Some(Line { event, of, names, share })
}

/// The functions of a chain. A compiler puts a point into the names of what it took apart: `shrink_node.isra.0`.
fn functions(chain: &str) -> Vec<String> {
    const PARTS: [&str; 5] = ["isra", "constprop", "part", "cold", "llvm"];
    let mut names: Vec<String> = Vec::new();
    for part in chain.split('.') {
        let goes_on = PARTS.contains(&part) || part.bytes().all(|byte| byte.is_ascii_digit());
        match names.last_mut().filter(|_| goes_on) {
            Some(name) => {
                name.push('.');
                name.push_str(part);
            }
            None => names.push(part.to_owned()),
        }
    }
    names
}

/// Whether a line is of such a profile.
pub(super) fn recognises(text: &str) -> bool {
    line_of(text).is_some()
}

impl Lkp {
    /// Takes a line. `false`: it is none.
    pub(super) fn line(&mut self, number: usize, text: &str) -> bool {
        let Some(Line { event, of, names, share }) = line_of(text) else { return false };
        // How exact the samples were is no event of its own: `cycles-pp`.
        self.event.get_or_insert_with(|| event.trim_end_matches('p').trim_end_matches('-').to_owned());
        let mut frames: Vec<Frame> = names.into_iter().map(|name| Frame { name, module: String::new() }).collect();
        kernel_names::mark(&mut frames, false);
        let [innermost, ..] = frames.as_slice() else { return false };
        let is_kernel = innermost.is_kernel() || kernel_names::is_kernel(&innermost.name);
        if self.functions.len() >= MOST_FUNCTIONS && !self.functions.contains_key(&innermost.name) {
            return true;
        }
        let function = self.functions.entry(innermost.name.clone()).or_default();
        function.is_kernel |= is_kernel;
        function.number = number;
        match of {
            Share::Own => function.own = share,
            Share::WithCallees => function.with_callees = share,
            Share::OfAWay => function.by_ways = function.by_ways.saturating_add(share),
        }
        true
    }

    /// The event that was sampled, and a row for each function with the line that names it.
    pub(super) fn rows(self) -> (Option<String>, Vec<(usize, Row)>) {
        let row = |(name, function): (String, Function)| {
            let with_callees = function.with_callees.max(function.by_ways.min(10_000));
            let row = Row {
                share: function.own,
                children: Some(with_callees.max(function.own)),
                name,
                module: if function.is_kernel { KERNEL.to_owned() } else { String::new() },
                is_sure: true,
                ..Row::default()
            };
            (function.number, row)
        };
        (self.event, self.functions.into_iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, kinds_in};
    use crate::import::tests::recording;
    use crate::recording::Recorded;
    use crate::recording::stack::CALLEES;

    const MAIL: &str = "\
        >      12.53 ± 16%     +45.2       57.73 ±  3%  perf-profile.calltrace.cycles-pp.shrink_lruvec.shrink_node.do_try_to_free_pages.try_to_free_pages\n\
        >       0.00            +3.4        3.41 ±  9%  perf-profile.calltrace.cycles-pp.shrink_lruvec.shrink_node.isra.0.balance_pgdat.kswapd\n\
        >      10.10           -10.1        0.00        perf-profile.children.cycles-pp.clear_page_erms\n\
        >      20.10            +9.9       30.00 ± 12%  perf-profile.children.cycles-pp.native_queued_spin_lock_slowpath\n\
        >      20.10            +9.5       29.60        perf-profile.self.cycles-pp.native_queued_spin_lock_slowpath\n\
        >       1.00            +1.0        2.00        perf-profile.self.cycles-pp.do_access\n";

    #[test]
    fn functions_count_with_the_share_that_they_have_under_the_last_kernel() {
        assert_eq!(kinds_in(MAIL), [Kind::PerfTop]);
        let imported = recording(&[(Kind::PerfTop, MAIL)]);
        let callees = imported.about(CALLEES).unwrap();
        assert!(callees.contains("6114\tshrink_lruvec"), "both ways to it: {callees}");
        assert!(callees.contains("3000\tnative_queued_spin_lock_slowpath"), "{callees}");
        assert!(!callees.contains("do_access"), "a program's: {callees}");
        let profile = imported.profile().unwrap().unwrap();
        let counts: u64 = profile.samples.iter().map(|sample| sample.count).sum();
        assert_eq!(counts, 10_000, "what is not listed counts, too");
        assert!(profile.samples.iter().any(|sample| sample.count == 2_960));
    }

    #[test]
    fn names_keep_the_points_that_a_compiler_gave_them() {
        assert_eq!(
            super::functions("shrink_node.isra.0.balance_pgdat.constprop.1.kswapd"),
            ["shrink_node.isra.0", "balance_pgdat.constprop.1", "kswapd"]
        );
    }

    #[test]
    fn other_lines_of_such_a_mail_are_none() {
        for line in [
            "     14352 ±  4%     -86.2%       1983 ±  2%  vm-scalability.median",
            "perf-profile.self.cycles-pp.clear_page_erms",
            "  1.0  2.0  perf-profile.self.instructions.clear_page_erms",
            "  1.0  -2.0%  perf-profile.",
        ] {
            assert!(!super::recognises(line), "{line}");
        }
    }
}
