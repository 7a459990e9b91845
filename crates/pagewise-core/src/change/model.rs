//! The code that applies and undoes, run on a model host that loses power at any step while a colleague edits values.

use super::line::{Begin, Lease, Line, Outcome, Owner, SCHEMA, Value, Write};
use super::replay::{ChangeSet, Due, Now, Why, replay};
use super::{Machine, Phase, apply, undo};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Writing `m` or `n` moves `c`, as writing `thp.enabled` moves `vm.min_free_kbytes`.
const NAMES: [&str; 5] = ["m", "n", "c", "x", "y"];

fn moved_along(tunable: &str) -> Option<&'static str> {
    matches!(tunable, "m" | "n").then_some("c")
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
enum Broken {
    #[error("no power")]
    NoPower,
    #[error("invalid argument")]
    Refused,
    #[error("no such disk")]
    Gone,
}

#[derive(Clone, Debug)]
struct Edit {
    at_step: usize,
    tunable: &'static str,
    value: String,
}

#[derive(Clone, Debug, Default)]
struct Model {
    values: BTreeMap<String, String>,
    journal: Vec<u8>,
    /// Steps (writes and lines) done in this life.
    steps: usize,
    /// The life ends at this step; a line in that step is torn after this many bytes.
    dies_at: Option<(usize, usize)>,
    /// The line in that step is torn; nothing is written after it.
    tore: bool,
    edits: Vec<Edit>,
    /// Values that someone else gave a tunable, directly or through a coupling.
    foreign: BTreeMap<String, BTreeSet<String>>,
    refuses: Option<(&'static str, String)>,
    gone: Option<&'static str>,
}

impl Model {
    fn new(values: &[(&str, &str)]) -> Self {
        let values = values.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Model { values, ..Model::default() }
    }

    fn kernel_write(&mut self, tunable: &str, value: &str) {
        self.values.insert(tunable.to_owned(), value.to_owned());
        if let Some(along) = moved_along(tunable) {
            self.values.insert(along.to_owned(), format!("moved by {tunable}={value}"));
        }
    }

    /// One step of this life; colleagues edit before it. `Err` once power is lost.
    fn step(&mut self) -> Result<(), Broken> {
        let step = self.steps;
        let (now, later) = std::mem::take(&mut self.edits).into_iter().partition(|e| e.at_step == step);
        self.edits = later;
        let now: Vec<Edit> = now;
        now.iter().for_each(|edit| self.edit(edit.tunable, &edit.value));
        let alive = self.dies_at.is_none_or(|(step, _)| self.steps < step);
        if alive {
            self.steps += 1;
        }
        if alive { Ok(()) } else { Err(Broken::NoPower) }
    }

    fn edit(&mut self, tunable: &str, value: &str) {
        self.kernel_write(tunable, value);
        for name in std::iter::once(tunable).chain(moved_along(tunable)) {
            let seen = self.values[name].clone();
            self.foreign.entry(name.to_owned()).or_default().insert(seen);
        }
    }

    fn next_life(&mut self, dies_at: Option<(usize, usize)>, edits: Vec<Edit>) {
        self.steps = 0;
        self.tore = false;
        self.dies_at = dies_at;
        self.edits = edits;
    }

    fn is_dead(&self) -> bool {
        self.dies_at.is_some_and(|(step, _)| self.steps >= step)
    }

    fn apply(&mut self, targets: &[(&str, &str)]) -> Result<(), String> {
        let writes = targets.iter().map(|(tunable, target)| self.plan(tunable, target)).collect();
        let begin = begin(apply::in_writing_order(writes));
        self.record(&Line::Begin(Box::new(begin.clone()))).map_err(|e| e.to_string())?;
        let mut set = ChangeSet::new(begin)?;
        let applied = apply::apply(&mut set, self).map_err(|e| e.to_string());
        if applied.is_err() {
            undo::undo(&mut set, self);
        }
        applied
    }

    fn plan(&self, tunable: &str, target: &str) -> Write {
        let value = |name: &str| Value { tunable: name.to_owned(), value: self.values[name].clone() };
        Write {
            tunable: tunable.to_owned(),
            before: self.values[tunable].clone(),
            target: target.to_owned(),
            coupled: moved_along(tunable).map(value).into_iter().collect(),
            artefacts: Vec::new(),
        }
    }

    /// What the next verb that writes does first.
    fn recover(&mut self) -> Option<undo::Undone<Broken>> {
        let replayed = replay(&self.journal).unwrap_or_else(|damage| panic!("{damage}\n{}", self.text()));
        self.journal.truncate(replayed.whole_bytes);
        let mut set = replayed.set?;
        match set.due(&Now { boot_id: "boot", owner_lives: false, boottime_ms: 0 }) {
            Due::Nothing => None,
            Due::Undo(_) => Some(undo::undo(&mut set, self)),
            Due::CloseOtherBoot => panic!("same boot"),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.journal).into_owned()
    }
}

impl Machine for Model {
    type Error = Broken;
    fn read(&mut self, tunable: &str) -> Result<String, Broken> {
        if self.is_dead() {
            return Err(Broken::NoPower);
        }
        if self.gone == Some(tunable) {
            return Err(Broken::Gone);
        }
        Ok(self.values[tunable].clone())
    }
    fn write(&mut self, tunable: &str, value: &str) -> Result<(), Broken> {
        self.step()?;
        if self.refuses.as_ref().is_some_and(|(name, refused)| *name == tunable && refused == value) {
            return Err(Broken::Refused);
        }
        self.kernel_write(tunable, value);
        Ok(())
    }
    fn same(&self, _tunable: &str, a: &str, b: &str) -> bool {
        a == b
    }
    fn record(&mut self, line: &Line) -> Result<(), Broken> {
        let mut bytes = serde_json::to_vec(line).expect("a line is JSON");
        bytes.push(b'\n');
        let alive = self.step();
        match (&alive, self.dies_at) {
            (Ok(()), _) => self.journal.extend(&bytes),
            (Err(_), Some((_, torn))) if !self.tore => self.journal.extend(&bytes[..torn.min(bytes.len() - 1)]),
            _ => {}
        }
        self.tore = alive.is_err();
        alive
    }
    fn remove(&mut self, _artefact: &str) -> Result<(), Broken> {
        self.step()
    }
    fn is_gone(&self, error: &Broken) -> bool {
        *error == Broken::Gone
    }
    fn reached(&mut self, _phase: Phase) {}
}

fn begin(writes: Vec<Write>) -> Begin {
    Begin {
        schema: SCHEMA.to_owned(),
        id: 1,
        created: "2026-11-20T00:00:00Z".to_owned(),
        boot_id: "boot".to_owned(),
        kernel: "6.18".to_owned(),
        version: "0".to_owned(),
        owner: Owner { pid: 7, start_time: 70 },
        lease: Lease::Owner,
        policy: "p".to_owned(),
        writes,
    }
}

const BEFORE: [(&str, &str); 5] = [("m", "m0"), ("n", "n0"), ("c", "c0"), ("x", "x0"), ("y", "y0")];
const POLICY: [(&str, &str); 4] = [("c", "c1"), ("m", "m1"), ("n", "n1"), ("x", "x1")];

#[test]
fn a_policy_is_applied_in_full_and_undone_in_full() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    host.apply(&POLICY).expect("nothing stands in the way");
    for (tunable, value) in POLICY {
        assert_eq!(host.values[tunable], value);
    }
    let undone = host.recover().expect("the owner is dead");
    assert!(undone.closed);
    assert_eq!(host.values, before);
    assert!(host.recover().is_none(), "closed is closed");
}

#[test]
fn what_the_kernel_moves_along_is_held_and_put_back() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    host.apply(&[("m", "m1")]).expect("nothing stands in the way");
    assert_eq!(host.values["c"], "c0", "held while the change is in force");
    host.recover();
    assert_eq!(host.values, before);
}

#[test]
fn power_lost_at_any_step_of_apply_and_of_undo_leaves_nothing_behind() {
    let mut crashes = 0;
    for torn in [0, 1, 9, usize::MAX] {
        for apply_dies_at in 0.. {
            let mut host = Model::new(&BEFORE);
            let before = host.values.clone();
            host.next_life(Some((apply_dies_at, torn)), Vec::new());
            let _ = host.apply(&POLICY);
            let whole_apply = !host.is_dead();
            for undo_dies_at in 0.. {
                let mut host = host.clone();
                host.next_life(Some((undo_dies_at, torn)), Vec::new());
                host.recover();
                let whole_undo = !host.is_dead();
                host.next_life(None, Vec::new());
                host.recover();
                assert_eq!(
                    host.values,
                    before,
                    "apply died at {apply_dies_at}, undo at {undo_dies_at}:\n{}",
                    host.text()
                );
                crashes += 1;
                if whole_undo {
                    break;
                }
            }
            if whole_apply {
                break;
            }
        }
    }
    assert!(crashes > 500, "only {crashes} crashes were tried");
}

#[test]
fn a_write_the_kernel_refuses_half_way_is_undone_before_the_error_is_told() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    host.refuses = Some(("x", "x1".to_owned()));
    assert_eq!(host.apply(&POLICY), Err("invalid argument".to_owned()));
    assert_eq!(host.values, before);
    assert!(host.recover().is_none(), "{}", host.text());
}

#[test]
fn a_colleagues_edit_is_left_and_reported() {
    let mut host = Model::new(&BEFORE);
    host.apply(&POLICY).expect("nothing stands in the way");
    host.edit("x", "theirs");
    let undone = host.recover().expect("the owner is dead");
    assert_eq!(host.values["x"], "theirs");
    assert_eq!(host.values["m"], "m0");
    let x = undone.settings.iter().find(|s| s.tunable == "x").expect("reported");
    assert_eq!(x.outcome, Outcome::Foreign { found: "theirs".to_owned() });
}

#[test]
fn a_colleagues_edit_of_a_coupled_tunable_survives_the_restore_that_moves_it() {
    let mut host = Model::new(&BEFORE);
    host.apply(&[("m", "m1")]).expect("nothing stands in the way");
    host.edit("c", "theirs");
    let undone = host.recover().expect("the owner is dead");
    assert_eq!((host.values["m"].as_str(), host.values["c"].as_str()), ("m0", "theirs"));
    assert_eq!(undone.settings[0].coupled[0].outcome, Outcome::Foreign { found: "theirs".to_owned() });
}

#[test]
fn power_lost_while_restoring_does_not_lose_a_colleagues_edit_of_a_coupled_tunable() {
    for dies_at in 0..6 {
        let mut host = Model::new(&BEFORE);
        host.apply(&[("m", "m1")]).expect("nothing stands in the way");
        host.edit("c", "theirs");
        host.next_life(Some((dies_at, 0)), Vec::new());
        host.recover();
        host.next_life(None, Vec::new());
        host.recover();
        let ends = (host.values["m"].as_str(), host.values["c"].as_str());
        assert_eq!(ends, ("m0", "theirs"), "died at step {dies_at}:\n{}", host.text());
    }
}

#[test]
fn what_was_written_last_is_undone_first() {
    let mut host = Model::new(&BEFORE);
    host.apply(&POLICY).expect("nothing stands in the way");
    let undone = host.recover().expect("the owner is dead");
    let order: Vec<&str> = undone.settings.iter().map(|setting| setting.tunable.as_str()).collect();
    assert_eq!(order, ["c", "x", "n", "m"], "and c, which m and n move along, was written last");
}

#[test]
fn a_restore_that_fails_is_tried_again_and_a_thing_that_is_gone_is_not() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    host.apply(&POLICY).expect("nothing stands in the way");
    host.refuses = Some(("x", "x0".to_owned()));
    let undone = host.recover().expect("the owner is dead");
    assert!(!undone.closed);
    host.refuses = None;
    assert!(host.recover().expect("still open").closed);
    assert_eq!(host.values, before);

    let mut host = Model::new(&BEFORE);
    host.apply(&[("x", "x1")]).expect("nothing stands in the way");
    host.gone = Some("x");
    let undone = host.recover().expect("the owner is dead");
    assert!(undone.closed);
    assert_eq!(undone.settings[0].outcome, Outcome::Gone);
}

#[test]
fn a_journal_with_a_line_out_of_place_is_damaged_and_says_where() {
    let mut host = Model::new(&BEFORE);
    host.apply(&POLICY).expect("nothing stands in the way");
    let lines: Vec<&str> = std::str::from_utf8(&host.journal).expect("text").lines().collect();
    let swapped = [lines[0], lines[2], lines[1], ""].join("\n");
    assert_eq!(replay(swapped.as_bytes()).expect_err("'written' before 'writing'").line, 2);
    let cut_in_the_middle = format!("{}\n{}\n{}\n", lines[0], &lines[1][..9], lines[2]);
    assert_eq!(replay(cut_in_the_middle.as_bytes()).expect_err("not JSON").line, 2);
    assert_eq!(replay(b"{}\n").expect_err("no begin").line, 1);
    let other = host.text().replace(SCHEMA, "pagewise.change-set/9");
    assert!(replay(other.as_bytes()).expect_err("another format").why.contains("pagewise.change-set/9"));
}

#[test]
fn what_is_due_follows_boot_lease_and_progress() {
    let mut host = Model::new(&BEFORE);
    host.apply(&POLICY).expect("nothing stands in the way");
    let mut set = replay(&host.journal).expect("whole").set.expect("begun");
    let now = |boot_id, owner_lives, boottime_ms| Now { boot_id, owner_lives, boottime_ms };
    assert_eq!(set.due(&now("boot", true, 0)), Due::Nothing);
    assert_eq!(set.due(&now("boot", false, 0)), Due::Undo(Why::OwnerDied));
    assert_eq!(set.due(&now("later", true, 0)), Due::CloseOtherBoot);
    set.begin.lease = Lease::None;
    assert_eq!(set.due(&now("boot", false, 0)), Due::Nothing);
    set.begin.lease = Lease::Deadline { at: String::new(), boottime_ms: 100 };
    assert_eq!(set.due(&now("boot", false, 99)), Due::Nothing);
    assert_eq!(set.due(&now("boot", false, 100)), Due::Undo(Why::NotConfirmed));
    set.push(&Line::Confirmed).expect("may be confirmed");
    assert_eq!(set.due(&now("boot", false, 100)), Due::Nothing);
    set.applied = false;
    assert_eq!(set.due(&now("boot", true, 0)), Due::Undo(Why::HalfApplied));
}

fn edits() -> impl proptest::strategy::Strategy<Value = Vec<Edit>> {
    let edit = (0usize..30, 0..NAMES.len(), 0u8..3).prop_map(|(at_step, name, value)| Edit {
        at_step,
        tunable: NAMES[name],
        value: format!("theirs{value}"),
    });
    proptest::collection::vec(edit, 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn whatever_happens_a_value_ends_as_before_or_as_a_colleague_left_it(
        chosen in proptest::sample::subsequence(NAMES.to_vec(), 1..=5).prop_shuffle(),
        equal_now: bool,
        first in (0usize..40, 0usize..200),
        lives in proptest::collection::vec((0usize..20, 0usize..200), 0..4),
        all_edits in proptest::collection::vec(edits(), 5),
    ) {
        let mut host = Model::new(&BEFORE);
        let before = host.values.clone();
        let targets: Vec<(&str, String)> = chosen
            .iter()
            .map(|name| (*name, if equal_now { format!("{name}0") } else { format!("{name}1") }))
            .collect();
        let targets: Vec<(&str, &str)> = targets.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let mut all_edits = all_edits.into_iter();
        host.next_life(Some(first), all_edits.next().unwrap_or_default());
        let _ = host.apply(&targets);
        for life in lives {
            host.next_life(Some(life), all_edits.next().unwrap_or_default());
            host.recover();
        }
        host.next_life(None, Vec::new());
        if let Some(undone) = host.recover() {
            prop_assert!(undone.closed, "{undone:?}");
        }
        for (tunable, value) in &host.values {
            let theirs = host.foreign.get(tunable).is_some_and(|seen| seen.contains(value));
            prop_assert!(theirs || *value == before[tunable], "{tunable} ends as {value}\n{}", host.text());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = replay(&bytes);
    }
}
