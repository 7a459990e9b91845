//! Blocks on a scripted host: a clock that jumps, kernel files that say what the script wants.

use super::*;
use crate::root::Root;
use pagewise_core::experiment::plan::STEAL_LIMIT;
use pagewise_core::report::facts::HostFacts;
use std::cell::Cell;
use std::fs;

/// What happens on the scripted host, by its clock.
#[derive(Default)]
struct Script {
    /// The job ends then.
    job_ends: Option<f64>,
    /// Someone changes a setting in this stretch.
    foreign: Option<(f64, f64)>,
    /// Someone changes another setting in this stretch.
    other: Option<(f64, f64)>,
    /// Share of the CPU that the kernel takes, by cell; a quarter unless told otherwise.
    system: Option<fn(&str) -> f64>,
    /// The user's metric.
    metric: Option<Result<f64, String>>,
    /// OOM kills from then on.
    oom_from: Option<f64>,
    /// Time passes this much faster than asked: the host stalls.
    stall: f64,
    /// Nothing runs.
    idle: bool,
}

struct Scripted {
    tree: tempfile::TempDir,
    now: Cell<f64>,
    cell: String,
    script: Script,
    /// CPU ticks so far: user, system.
    cpu: (f64, f64),
    log: Vec<String>,
    switches: Vec<(f64, String)>,
}

impl Scripted {
    fn new(script: Script) -> Scripted {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("proc/pressure")).unwrap();
        let (now, cell, cpu) = (Cell::new(0.0), String::new(), (0.0, 0.0));
        Scripted { tree, now, cell, script, cpu, log: Vec::new(), switches: Vec::new() }
    }
}

impl LiveHost for Scripted {
    fn switch(&mut self, cell: &str) -> Result<Vec<AppliedSetting>, TrialError> {
        if self.cell != cell {
            self.switches.push((self.now.get(), cell.to_owned()));
            self.cell = cell.to_owned();
        }
        Ok(Vec::new())
    }

    fn foreign(&mut self) -> Option<String> {
        let (from, until) = self.script.foreign?;
        (from..until).contains(&self.now.get()).then(|| "changed by someone else: x".to_owned())
    }

    fn settings_differ(&mut self, _: &str) -> Option<String> {
        self.script
            .other
            .filter(|(from, until)| (*from..*until).contains(&self.now.get()))
            .map(|_| "it is not as it was".to_owned())
    }

    fn settings_changed(&mut self) -> Option<String> {
        self.script.other.filter(|(_, until)| self.now.get() >= *until).map(|_| "it was put back".to_owned())
    }

    fn totals(&mut self, _: bool) -> Totals {
        let (user, system) = self.cpu;
        let idle = if self.script.idle { (self.now.get() * 1e4) as u64 } else { 0 };
        let write = |path: &str, text: String| fs::write(self.tree.path().join(path), text).unwrap();
        write("proc/stat", format!("cpu {} 0 {} {idle} 0 0 0 0 0 0\n", user as u64, system as u64));
        let kills = u64::from(self.script.oom_from.is_some_and(|from| self.now.get() >= from));
        let events = (self.now.get() * 100.0) as u64;
        write("proc/vmstat", format!("pgfault {events}\npgmajfault 0\ncompact_stall {events}\noom_kill {kills}\n"));
        write("proc/pressure/memory", format!("some avg10=0.00 total={}\nfull avg10=0.00 total=0\n", events * 1000));
        Totals::read_often(&Root::at(self.tree.path()))
    }

    fn clock(&self) -> f64 {
        self.now.get()
    }

    fn pause(&mut self, seconds: f64) -> Result<(), TrialError> {
        let seconds = seconds * self.script.stall.max(1.0);
        self.now.set(self.now.get() + seconds);
        let share = self.script.system.map_or(0.25, |share| share(&self.cell));
        let ticks = if self.script.idle { 0.0 } else { seconds * 1e4 };
        self.cpu.0 += ticks * (1.0 - share);
        self.cpu.1 += ticks * share;
        Ok(())
    }

    fn job_ended(&mut self) -> Option<String> {
        self.script
            .job_ends
            .filter(|end| self.now.get() >= *end)
            .map(|_| "the command ended with exit status 0".to_owned())
    }

    fn metric_begins(&mut self) {}

    fn metric_ends(&mut self, _: f64) -> Option<Result<f64, String>> {
        self.script.metric.clone()
    }

    fn mark(&mut self, text: &str) {
        self.log.push(format!("{:.0} {text}", self.now.get()));
    }

    fn facts(&self) -> HostFacts {
        HostFacts::default()
    }

    fn instant(&self) -> (String, String) {
        (format!("t{:.0}", self.now.get()), "boot".to_owned())
    }
}

fn live(stop_if: Option<&str>) -> Live {
    Live {
        block_seconds: 10.0,
        settle_seconds: 1.0,
        washout_seconds: 4.0,
        stop_if: stop_if.map(str::to_owned),
        pid: None,
        short_lived: false,
    }
}

fn planned(index: u32, cell: &str) -> PlannedPoint {
    PlannedPoint { index, block: Some(index / 2), position: index % 2, boot: None, cell: cell.to_owned() }
}

fn blocks(script: Script, stop_if: Option<&str>, metric: &str) -> Blocks<Scripted> {
    Blocks::new(Scripted::new(script), &live(stop_if), metric, STEAL_LIMIT)
}

fn run(blocks: &mut Blocks<Scripted>, index: u32, cell: &str) -> Result<Record, TrialError> {
    blocks.run_point(&planned(index, cell), 1, &mut |_| Ok(()))
}

#[test]
fn every_block_waits_and_only_a_real_switch_writes() {
    let mut blocks = blocks(Script { ..Script::default() }, None, "system_share");
    for (index, cell) in ["a", "b", "b", "a"].into_iter().enumerate() {
        let record = run(&mut blocks, index as u32, cell).unwrap();
        assert_eq!(record.point.outcome, Outcome::Ok, "{:?}", record.point.reason);
    }
    let switches: Vec<(u32, &str)> =
        blocks.host.switches.iter().map(|(at, to)| (at.round() as u32, to.as_str())).collect();
    assert_eq!(switches, [(0, "a"), (15, "b"), (45, "a")]);
    let begins: Vec<&String> = blocks.host.log.iter().filter(|line| line.contains("begin")).collect();
    assert_eq!(begins.len(), 4);
    assert_eq!(begins[2], "35 begin: block 1 of pair 2, attempt 1, b", "a block of the same policy waits as long");
}

#[test]
fn a_block_has_the_signals_of_its_own_stretch_and_of_its_halves() {
    let by_cell = |cell: &str| if cell == "b" { 0.5 } else { 0.1 };
    let mut blocks = blocks(Script { system: Some(by_cell), ..Script::default() }, None, "system_share");
    run(&mut blocks, 0, "a").unwrap();
    let point = run(&mut blocks, 1, "b").unwrap().point;
    let close = |name: &str, wanted: f64| {
        let found = point.measures.get(name).unwrap_or_else(|| panic!("{name} is absent: {:?}", point.absent));
        assert!((found - wanted).abs() < 0.02 * wanted, "{name} is {found}, not {wanted}");
    };
    close("system_share", 0.5);
    close("system_share (second half)", 0.5);
    close("compact_stalls", 1000.0);
    close("host_minor_faults", 1000.0);
    close("psi_memory_some", 1.0);
    assert!(point.absent["thp_faults"].contains("does not count"), "absent with its reason, not zero");
    assert_eq!(point.started_at, "t20", "a block starts after its waiting");
}

#[test]
fn what_others_set_meanwhile_is_told_of_the_block_and_the_block_counts() {
    let mut blocks = blocks(Script { other: Some((17.0, 25.0)), ..Script::default() }, None, "system_share");
    assert_eq!(run(&mut blocks, 0, "a").unwrap().point.warnings, []);
    let point = run(&mut blocks, 1, "b").unwrap().point;
    let texts: Vec<&str> = point.warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert_eq!(texts, ["When it began, it is not as it was.", "Read it with care: it was put back."]);
    assert_eq!(point.outcome, Outcome::Ok);
}

#[test]
fn a_block_that_a_stalled_host_made_longer_counts_no_more_for_that() {
    let mut blocks = blocks(Script { stall: 40.0, ..Script::default() }, None, "system_share");
    let point = run(&mut blocks, 0, "a").unwrap().point;
    let stalls = point.measures["compact_stalls"];
    assert!((stalls - 1000.0).abs() < 20.0, "{stalls} in ten seconds");
}

#[test]
fn the_end_of_the_job_ends_the_proof() {
    let mut blocks = blocks(Script { job_ends: Some(22.0), ..Script::default() }, None, "system_share");
    run(&mut blocks, 0, "a").unwrap();
    let Err(TrialError::EndedEarly(ended)) = run(&mut blocks, 1, "b") else { panic!("it went on") };
    assert_eq!((ended.by, ended.at.as_str()), (EndedBy::Job, "t22"));
    assert!(
        matches!(run(&mut blocks, 1, "b"), Err(TrialError::EndedEarly(_))),
        "nothing is switched for a job that is gone"
    );
}

#[test]
fn a_bound_ends_the_proof_after_a_whole_window_and_not_before() {
    let by_cell = |cell: &str| if cell == "b" { 0.99 } else { 0.1 };
    let mut blocks =
        blocks(Script { system: Some(by_cell), ..Script::default() }, Some("system_share>0.9"), "system_share");
    run(&mut blocks, 0, "a").unwrap();
    let switched = blocks.host.clock();
    let Err(TrialError::EndedEarly(ended)) = run(&mut blocks, 1, "b") else { panic!("it went on") };
    let after = blocks.host.clock() - switched;
    assert!((4.0..7.0).contains(&after), "{after} s after the switch");
    assert_eq!(ended.by, EndedBy::Bound);
    assert!(ended.reason.contains("--stop-if is system_share>0.9"), "{}", ended.reason);
}

#[test]
fn the_first_foreign_change_ends_the_proof_wherever_it_falls_and_nothing_is_written_over_it() {
    for (from, switches) in [(0.0, 1), (3.0, 1), (8.0, 1), (13.9, 1), (14.5, 1), (15.5, 2)] {
        // Seen within a second, also when it goes again.
        let script = Script { foreign: Some((from, from + 1.1)), ..Script::default() };
        let mut blocks = blocks(script, None, "system_share");
        let ended = run(&mut blocks, 0, "a").and_then(|_| run(&mut blocks, 1, "b"));
        let Err(TrialError::EndedEarly(ended)) = ended else { panic!("changed at {from}, it went on") };
        assert_eq!((ended.by, ended.reason.as_str()), (EndedBy::ForeignChange, "changed by someone else: x"));
        let before = usize::from(from == 0.0);
        assert_eq!(blocks.host.switches.len() + before, switches, "changed at {from}");
    }
}

#[test]
fn a_kill_for_lack_of_memory_is_a_result_of_its_policy() {
    let mut blocks = blocks(Script { oom_from: Some(7.0), ..Script::default() }, None, "system_share");
    assert_eq!(run(&mut blocks, 0, "a").unwrap().point.outcome, Outcome::Oom);
}

#[test]
fn a_metric_of_the_users_own_is_kept_and_one_that_fails_ends_the_proof_in_its_first_block() {
    let mut own = blocks(Script { metric: Some(Ok(42.0)), ..Script::default() }, None, "./rate");
    let point = run(&mut own, 0, "a").unwrap().point;
    assert_eq!(point.measures["./rate"], 42.0);
    assert!(point.measures.contains_key("system_share"), "signals are taken whatever the metric");
    own.host.script.metric = Some(Err("it printed nothing".to_owned()));
    assert_eq!(run(&mut own, 1, "b").unwrap().point.absent["./rate"], "it printed nothing");
    assert!(matches!(run(&mut own, 0, "a"), Err(TrialError::NoLiveMetric { why, .. }) if why == "it printed nothing"));
}

#[test]
fn a_block_in_which_nothing_ran_has_no_share_of_what_ran_and_does_not_end_the_proof() {
    let mut idle = blocks(Script { idle: true, ..Script::default() }, None, "system_share");
    let point = run(&mut idle, 0, "a").unwrap().point;
    assert_eq!(point.absent["system_share"], NOTHING_RAN);
    assert_eq!(point.measures["system_share_of_all"], 0.0);
}
