//! What the cells of a trial really ran with, from the values that were read back: whether they differ in what was asked, in more
//! than was asked, and whether someone else changed the host meanwhile.

use super::compare::Estimated;
use super::values::Values;
use super::{Declared, Warning};
use crate::comparison::doubts::warning;
use crate::experiment::plan::cells::Cell;
use crate::experiment::point::{AppliedSetting, Outcome, Point};
use std::collections::{BTreeMap, BTreeSet};

type Texts<'p> = BTreeSet<&'p str>;

/// What the results of each cell read back, by tunable.
pub(super) struct ReadBack<'p> {
    /// Cell and tunable to the values that its runs had.
    written: BTreeMap<(&'p str, &'p str), Texts<'p>>,
    /// Values found before a write, whichever cell wrote, in each boot that the order names.
    before: BTreeMap<&'p str, BTreeMap<Option<u32>, Texts<'p>>>,
}

impl<'p> ReadBack<'p> {
    fn of(values: &Values<'p>, wanted: impl Fn(&AppliedSetting) -> bool) -> ReadBack<'p> {
        let mut read = ReadBack { written: BTreeMap::new(), before: BTreeMap::new() };
        let is_result = |point: &&&'p Point| !point.planned.is_warmup() && point.outcome != Outcome::Invalid;
        for point in values.points.iter().filter(is_result) {
            for setting in point.applied.iter().filter(|setting| wanted(setting)) {
                read.written.entry((&point.planned.cell, &setting.tunable)).or_default().insert(&setting.after);
                let before = read.before.entry(&setting.tunable).or_default();
                before.entry(point.planned.boot).or_default().insert(&setting.before);
            }
        }
        read
    }

    fn tunables(&self) -> impl Iterator<Item = &'p str> {
        self.before.keys().copied()
    }

    fn is_written(&self, cell: &str, tunable: &str) -> bool {
        self.written.contains_key(&(cell, tunable))
    }

    /// Values a tunable had in these cells. A cell that does not write it runs with what the others found before their writes.
    fn values<'c>(&self, cells: impl IntoIterator<Item = &'c str>, tunable: &str) -> Texts<'p> {
        let mut found = Texts::new();
        for cell in cells {
            match self.written.get(&(cell, tunable)) {
                Some(written) => found.extend(written),
                None => found.extend(self.before.get(tunable).into_iter().flat_map(BTreeMap::values).flatten()),
            }
        }
        found
    }
}

/// Two cells that were meant to differ and ran with the same values throughout.
pub(super) fn policy_changes_nothing(declared: &Declared<'_>, values: &Values<'_>) -> Option<Warning> {
    let requested = ReadBack::of(values, |setting| setting.requested.is_some());
    let tunables: Vec<&str> = requested.tunables().collect();
    // A setting that leaves no value to read, such as an environment variable, may be what differs.
    let is_read = |cell: &Cell| cell.policy.settings.iter().all(|one| tunables.contains(&one.tunable.name.as_str()));
    let ran = |cell: &Cell| values.in_run_order().iter().any(|point| point.planned.cell == cell.label);
    let known: Vec<&Cell> = declared.cells.iter().filter(|cell| is_read(cell) && ran(cell)).collect();
    let same = |one: &Cell, other: &Cell| {
        let of = |cell: &Cell, tunable| requested.values([cell.label.as_str()], tunable);
        tunables.iter().all(|tunable| of(one, tunable) == of(other, tunable))
    };
    // The same policy in two cells is a question about noise: nothing is meant to change.
    let mut pairs = known.iter().enumerate().flat_map(|(at, one)| known[..at].iter().map(move |other| (*other, *one)));
    let (first, second) = pairs.find(|(one, other)| one.policy != other.policy && same(one, other))?;
    let named = first.policy.settings.iter().chain(&second.policy.settings).map(|one| one.tunable.name.as_str());
    let named: BTreeSet<&str> = named.collect();
    let text = format!(
        "`{}` and `{}` ran with the same values of {}, so the host gave nothing to compare.",
        first.label,
        second.label,
        named.into_iter().collect::<Vec<_>>().join(", ")
    );
    warning("policy-changes-nothing", text)
}

/// What the kernel moved beside what was asked, and in one level of a claim only. What a plan itself moves along is told by its
/// lint.
pub(super) fn levels_differ_in_more(
    declared: &Declared<'_>,
    values: &Values<'_>,
    comparisons: &[Estimated],
) -> Vec<Warning> {
    let coupled = ReadBack::of(values, |setting| setting.requested.is_none());
    let requested = ReadBack::of(values, |setting| setting.requested.is_some());
    let also = |name: &str| declared.plan.factors.iter().any(|factor| factor.also.iter().any(|also| also == name));
    let on_purpose = |name: &str| also(name) || requested.tunables().any(|tunable| tunable == name);
    let listed = |values: &Texts<'_>| values.iter().copied().collect::<Vec<_>>().join(" or ");
    let mut told: Vec<Warning> = Vec::new();
    for one in comparisons.iter().filter(|one| one.asked.primary && one.asked.groups.len() == 2) {
        let contrast = &declared.plan.contrasts[one.asked.contrast];
        let of = |sign, name| coupled.values(one.cells_of(sign).iter().map(String::as_str), name);
        let differing: Vec<String> = coupled
            .tunables()
            .filter(|name| !on_purpose(name))
            .map(|name| (name, of(-1.0, name), of(1.0, name)))
            .filter(|(_, a, b)| a != b)
            .map(|(name, a, b)| {
                let (a, b) = (listed(&a), listed(&b));
                format!("{name} ({a} under `{}`, {b} under `{}`)", contrast.a, contrast.b)
            })
            .collect();
        if differing.is_empty() {
            continue;
        }
        let text = format!(
            "The kernel moved more than was asked: {}. The effect is that of all of it together; set it in both levels to \
             tell them apart.",
            differing.join(", ")
        );
        told.extend(warning("levels-differ-in-more", text).filter(|new| !told.contains(new)));
    }
    told
}

/// A cell that leaves a tunable alone runs with what the host has. When others found several values before their writes in one
/// boot, someone changed the host between runs, and that cell's runs are of several kinds.
pub(super) fn host_changed(declared: &Declared<'_>, values: &Values<'_>) -> Option<Warning> {
    let read = ReadBack::of(values, |_| true);
    let found_several = |name: &&str| read.before[name].values().any(|found| found.len() > 1);
    let changed: Vec<String> = read
        .tunables()
        .filter(found_several)
        .filter_map(|name| {
            let bystanders = declared.cells.iter().filter(|cell| !read.is_written(&cell.label, name));
            let bystanders: Vec<String> = bystanders.map(|cell| format!("`{}`", cell.label)).collect();
            let found: Texts<'_> = read.before[name].values().flatten().copied().collect();
            let found: Vec<&str> = found.into_iter().collect();
            (!bystanders.is_empty())
                .then(|| format!("{name} ({} under {})", found.join(" and "), bystanders.join(", ")))
        })
        .collect();
    if changed.is_empty() {
        return None;
    }
    let text = format!(
        "Someone changed this host during the trial, between two runs: {}. The runs of that level do not belong together.",
        changed.join(", ")
    );
    warning("host-changed", text)
}
