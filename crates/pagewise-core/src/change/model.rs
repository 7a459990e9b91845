//! The code that applies and undoes, run on a model host that loses power at any step while a colleague edits values.

use super::apply::ApplyError;
use super::line::{BEFORE as SCHEMA_BEFORE, Begin, Lease, Line, Outcome, Owner, SCHEMA, Value, Write};
use super::note::{Note, Notes};
use super::often::write_again;
use super::replay::{ChangeSet, HostNow, UndoDue, UndoReason, replay};
use super::{Machine, Phase, apply, undo};
use crate::tunable::{Tunable, find};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const M: &str = "thp.enabled";
const N: &str = "thp.defrag";
const C: &str = "vm.min_free_kbytes";
const X: &str = "vm.swappiness";
const Y: &str = "vm.page-cluster";
const NAMES: [&str; 5] = [M, N, C, X, Y];

/// On the model host writing one of two moves a third, as writing `thp.enabled` does on a real one.
fn moved_along(tunable: &str) -> Option<&'static str> {
    matches!(tunable, M | N).then_some(C)
}

fn tunable(name: &str) -> Tunable {
    find(name).expect("a tunable")
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
    /// The file of notes beside the journal, once something is written often.
    notes: Option<(Notes, Vec<u8>)>,
    /// Steps (writes, lines and notes) done in this life.
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
        self.apply_writes(writes).map(drop)
    }

    fn apply_writes(&mut self, writes: Vec<Write>) -> Result<ChangeSet, String> {
        let begin = begin(apply::in_writing_order(writes));
        let settings = begin.writes.len();
        if begin.writes.iter().any(|write| write.often) {
            self.notes = Some((Notes::new(settings), vec![0; Notes::size(settings)]));
        }
        self.record(&Line::Begin(Box::new(begin.clone()))).map_err(|e| e.to_string())?;
        let mut set = ChangeSet::new(begin)?;
        if let Err(error) = apply::apply(&mut set, self) {
            undo::undo(&mut set, self);
            return Err(error.to_string());
        }
        Ok(set)
    }

    /// Opens a change set for these to be written often. Nothing is written yet.
    fn open_for_often(&mut self, names: &[&str]) -> Result<ChangeSet, String> {
        let often = |name: &&str| Write { often: true, ..self.plan(name, &self.values[*name].clone()) };
        self.apply_writes(names.iter().map(often).collect())
    }

    fn write_often(&mut self, set: &mut ChangeSet, name: &str, value: &str) -> Result<(), ApplyError<Broken>> {
        let write = set.begin.writes.iter().position(|write| write.tunable.name == name).expect("it is one of them");
        write_again(set, write, value, self)
    }

    fn plan(&self, name: &str, target: &str) -> Write {
        let value = |name: &str| Value { tunable: tunable(name), value: self.values[name].clone() };
        Write {
            tunable: tunable(name),
            before: self.values[name].clone(),
            target: target.to_owned(),
            coupled: moved_along(name).map(value).into_iter().collect(),
            artefacts: Vec::new(),
            often: false,
        }
    }

    /// What the next verb that writes does first.
    fn recover(&mut self) -> Option<undo::UndoOutcome<Broken>> {
        let replayed = replay(&self.journal).unwrap_or_else(|damage| panic!("{damage}\n{}", self.text()));
        self.journal.truncate(replayed.whole_bytes);
        let mut set = replayed.set?;
        if set.has_notes() {
            set.take_notes(self.notes.as_ref().map(|(_, bytes)| bytes.as_slice()));
        }
        match set.due(&HostNow { boot_id: "boot", owner_lives: false, boottime_ms: 0 }) {
            UndoDue::Nothing => None,
            UndoDue::Undo(_) => Some(undo::undo(&mut set, self)),
            UndoDue::CloseOtherBoot => panic!("same boot"),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.journal).into_owned()
    }
}

impl Machine for Model {
    type Error = Broken;
    fn read(&mut self, tunable: &Tunable) -> Result<String, Broken> {
        if self.is_dead() {
            return Err(Broken::NoPower);
        }
        if self.gone == Some(tunable.name.as_str()) {
            return Err(Broken::Gone);
        }
        Ok(self.values[&tunable.name].clone())
    }
    fn write(&mut self, tunable: &Tunable, value: &str) -> Result<(), Broken> {
        self.step()?;
        if self.refuses.as_ref().is_some_and(|(name, refused)| *name == tunable.name && refused == value) {
            return Err(Broken::Refused);
        }
        self.kernel_write(&tunable.name, value);
        Ok(())
    }
    fn note(&mut self, note: &Note) -> Result<(), Broken> {
        let alive = self.step();
        let (notes, bytes) = self.notes.as_mut().expect("opened for it");
        let (at, slot) = notes.next(note).expect("short values");
        let written = match (&alive, self.dies_at) {
            (Ok(()), _) => slot.len(),
            (Err(_), Some((_, torn))) if !self.tore => torn.min(slot.len() - 1),
            _ => 0,
        };
        bytes[at..at + written].copy_from_slice(&slot[..written]);
        self.tore = alive.is_err();
        alive
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

const BEFORE: [(&str, &str); 5] = [(M, "m0"), (N, "n0"), (C, "c0"), (X, "x0"), (Y, "y0")];
const POLICY: [(&str, &str); 4] = [(C, "c1"), (M, "m1"), (N, "n1"), (X, "x1")];

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
    host.apply(&[(M, "m1")]).expect("nothing stands in the way");
    assert_eq!(host.values[C], "c0", "held while the change is in force");
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
    host.refuses = Some((X, "x1".to_owned()));
    assert_eq!(host.apply(&POLICY), Err("invalid argument".to_owned()));
    assert_eq!(host.values, before);
    assert!(host.recover().is_none(), "{}", host.text());
}

#[test]
fn a_colleagues_edit_is_left_and_reported() {
    let mut host = Model::new(&BEFORE);
    host.apply(&POLICY).expect("nothing stands in the way");
    host.edit(X, "theirs");
    let undone = host.recover().expect("the owner is dead");
    assert_eq!(host.values[X], "theirs");
    assert_eq!(host.values[M], "m0");
    let x = undone.settings.iter().find(|s| s.tunable.name == X).expect("reported");
    assert_eq!(x.outcome, Outcome::Foreign { found: "theirs".to_owned() });
}

#[test]
fn a_colleagues_edit_of_a_coupled_tunable_survives_the_restore_that_moves_it() {
    let mut host = Model::new(&BEFORE);
    host.apply(&[(M, "m1")]).expect("nothing stands in the way");
    host.edit(C, "theirs");
    let undone = host.recover().expect("the owner is dead");
    assert_eq!((host.values[M].as_str(), host.values[C].as_str()), ("m0", "theirs"));
    assert_eq!(undone.settings[0].coupled[0].outcome, Outcome::Foreign { found: "theirs".to_owned() });
}

#[test]
fn power_lost_while_restoring_does_not_lose_a_colleagues_edit_of_a_coupled_tunable() {
    for dies_at in 0..6 {
        let mut host = Model::new(&BEFORE);
        host.apply(&[(M, "m1")]).expect("nothing stands in the way");
        host.edit(C, "theirs");
        host.next_life(Some((dies_at, 0)), Vec::new());
        host.recover();
        host.next_life(None, Vec::new());
        host.recover();
        let ends = (host.values[M].as_str(), host.values[C].as_str());
        assert_eq!(ends, ("m0", "theirs"), "died at step {dies_at}:\n{}", host.text());
    }
}

#[test]
fn what_was_written_last_is_undone_first() {
    let mut host = Model::new(&BEFORE);
    host.apply(&POLICY).expect("nothing stands in the way");
    let undone = host.recover().expect("the owner is dead");
    let order: Vec<&str> = undone.settings.iter().map(|setting| setting.tunable.name.as_str()).collect();
    assert_eq!(order, [C, X, N, M], "and c, which m and n move along, was written last");
}

#[test]
fn a_restore_that_fails_is_tried_again_and_a_thing_that_is_gone_is_not() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    host.apply(&POLICY).expect("nothing stands in the way");
    host.refuses = Some((X, "x0".to_owned()));
    let undone = host.recover().expect("the owner is dead");
    assert!(!undone.closed);
    host.refuses = None;
    assert!(host.recover().expect("still open").closed);
    assert_eq!(host.values, before);

    let mut host = Model::new(&BEFORE);
    host.apply(&[(X, "x1")]).expect("nothing stands in the way");
    host.gone = Some(X);
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
    let now = |boot_id, owner_lives, boottime_ms| HostNow { boot_id, owner_lives, boottime_ms };
    assert_eq!(set.due(&now("boot", true, 0)), UndoDue::Nothing);
    assert_eq!(set.due(&now("boot", false, 0)), UndoDue::Undo(UndoReason::OwnerDied));
    assert_eq!(set.due(&now("later", true, 0)), UndoDue::CloseOtherBoot);
    set.begin.lease = Lease::None;
    assert_eq!(set.due(&now("boot", false, 0)), UndoDue::Nothing);
    set.begin.lease = Lease::Deadline { at: String::new(), boottime_ms: 100 };
    assert_eq!(set.due(&now("boot", false, 99)), UndoDue::Nothing);
    assert_eq!(set.due(&now("boot", false, 100)), UndoDue::Undo(UndoReason::NotConfirmed));
    set.push(&Line::Confirmed).expect("may be confirmed");
    assert_eq!(set.due(&now("boot", false, 100)), UndoDue::Nothing);
    set.applied = false;
    assert_eq!(set.due(&now("boot", true, 0)), UndoDue::Undo(UndoReason::HalfApplied));
}

#[test]
fn a_journal_of_the_format_before_is_undone() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    host.apply(&POLICY).expect("nothing stands in the way");
    host.journal = host.text().replace(SCHEMA, SCHEMA_BEFORE).into_bytes();
    assert!(host.recover().expect("the owner is dead").closed);
    assert_eq!(host.values, before);
}

#[test]
fn what_is_written_often_stands_in_two_lines_for_all_writes_and_is_put_back() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    let mut set = host.open_for_often(&[X, M]).expect("nothing stands in the way");
    assert_eq!(host.values, before, "opening writes nothing");
    let lines = host.text();
    for turn in 0..300 {
        host.write_often(&mut set, X, &format!("ours{turn}")).expect("nobody else is there");
        host.write_often(&mut set, M, &format!("ours{turn}")).expect("nobody else is there");
        assert_eq!((host.values[X].as_str(), host.values[C].as_str()), (format!("ours{turn}").as_str(), "c0"));
    }
    assert_eq!(host.text(), lines, "no line for any of 600 writes");
    assert_eq!(host.notes.as_ref().map(|(_, bytes)| bytes.len()), Some(Notes::size(2)));
    assert!(host.recover().expect("the owner is dead").closed);
    assert_eq!(host.values, before);
}

/// A life that writes often until it is over, then undoes what it did if it still can.
fn often(host: &mut Model, turns: usize) {
    let Ok(mut set) = host.open_for_often(&[M, X]) else { return };
    for turn in 0..turns {
        let name = [X, M][turn % 2];
        if host.write_often(&mut set, name, &format!("ours{turn}")).is_err() {
            break;
        }
    }
    undo::undo(&mut set, host);
}

#[test]
fn power_lost_at_any_step_of_writing_often_and_of_its_undo_leaves_nothing_behind() {
    let mut crashes = 0;
    for torn in [0, 1, 30, usize::MAX] {
        for dies_at in 0.. {
            let mut host = Model::new(&BEFORE);
            let before = host.values.clone();
            host.next_life(Some((dies_at, torn)), Vec::new());
            often(&mut host, 6);
            let whole = !host.is_dead();
            for undo_dies_at in 0..8 {
                let mut host = host.clone();
                host.next_life(Some((undo_dies_at, torn)), Vec::new());
                host.recover();
                host.next_life(None, Vec::new());
                host.recover();
                assert_eq!(host.values, before, "died at {dies_at} and {undo_dies_at}, torn {torn}:\n{}", host.text());
                crashes += 1;
            }
            if whole {
                break;
            }
        }
    }
    assert!(crashes > 500, "only {crashes} crashes were tried");
}

#[test]
fn what_someone_else_changes_between_two_writes_is_theirs_and_not_written_any_more() {
    for theirs in [X, C] {
        let mut host = Model::new(&BEFORE);
        let mut set = host.open_for_often(&[X, M]).expect("nothing stands in the way");
        let writes = if theirs == X { X } else { M };
        host.write_often(&mut set, writes, "ours1").expect("nobody else is there");
        host.edit(theirs, "theirs");
        for value in ["ours2", "ours3"] {
            let refused = host.write_often(&mut set, writes, value).expect_err("it is theirs");
            assert!(
                matches!(&refused, ApplyError::Foreign { tunable, found, .. }
                if tunable.name == theirs && found == "theirs"),
                "{refused}"
            );
        }
        let undone = host.recover().expect("the owner is dead");
        assert!(undone.closed && host.values[theirs] == "theirs", "{undone:?}");
        assert_eq!(host.values[M], "m0", "what is ours is put back");
    }
}

#[test]
fn a_value_that_someone_else_gives_in_the_range_of_ours_is_theirs_all_the_same() {
    let mut host = Model::new(&BEFORE);
    let mut set = host.open_for_often(&[X]).expect("nothing stands in the way");
    for value in ["10", "20", "30"] {
        host.write_often(&mut set, X, value).expect("nobody else is there");
    }
    host.edit(X, "20");
    let undone = host.recover().expect("the owner is dead");
    assert_eq!(undone.settings[0].outcome, Outcome::Foreign { found: "20".to_owned() });
}

#[test]
fn a_value_that_the_kernel_refuses_leaves_the_setting_to_be_written_again() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    let mut set = host.open_for_often(&[X]).expect("nothing stands in the way");
    host.refuses = Some((X, "9999".to_owned()));
    host.write_often(&mut set, X, "50").expect("taken");
    let refused = host.write_often(&mut set, X, "9999").expect_err("too much");
    assert!(matches!(refused, ApplyError::Step(Broken::Refused)), "{refused}");
    host.write_often(&mut set, X, "60").expect("taken");
    host.recover();
    assert_eq!(host.values, before);
}

#[test]
fn notes_that_are_gone_make_the_value_count_as_ours() {
    let mut host = Model::new(&BEFORE);
    let before = host.values.clone();
    let mut set = host.open_for_often(&[X]).expect("nothing stands in the way");
    host.write_often(&mut set, X, "50").expect("nobody else is there");
    host.notes = None;
    host.recover();
    assert_eq!(host.values, before);
}

#[test]
fn only_what_was_opened_for_it_is_written_often() {
    let mut host = Model::new(&BEFORE);
    let writes = vec![host.plan(X, "x1")];
    let mut set = host.apply_writes(writes).expect("nothing stands in the way");
    assert!(matches!(host.write_often(&mut set, X, "x2"), Err(ApplyError::Rules(_))));
    assert_eq!(host.values[X], "x1");
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
            .map(|name| (*name, if equal_now { before[*name].clone() } else { before[*name].replace('0', "1") }))
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
    fn whatever_happens_while_it_is_written_often_a_value_ends_as_before_or_as_a_colleague_left_it(
        chosen in proptest::sample::subsequence(NAMES.to_vec(), 1..=5).prop_shuffle(),
        writes in proptest::collection::vec((0usize..5, 0u8..6), 0..12),
        first in (0usize..80, 0usize..200),
        lives in proptest::collection::vec((0usize..20, 0usize..200), 0..4),
        all_edits in proptest::collection::vec(edits(), 5),
    ) {
        let mut host = Model::new(&BEFORE);
        let before = host.values.clone();
        let mut all_edits = all_edits.into_iter();
        host.next_life(Some(first), all_edits.next().unwrap_or_default());
        if let Ok(mut set) = host.open_for_often(&chosen) {
            for (name, value) in writes {
                // What is someone else's is refused, and the others are written on.
                let _ = host.write_often(&mut set, chosen[name % chosen.len()], &format!("ours{value}"));
            }
        }
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
