//! Trouble that is really made on this host is found in a real recording of it, by the real program; a host at rest stays
//! silent. In a short run the cheapest at their severest; with `PAGEWISE_LONG` all of them.
//!
//! The program that makes trouble is this test itself, asked by a variable of its environment (`made_when_asked`).
#![allow(clippy::print_stderr, reason = "what was skipped is said")]

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::finding::rules;
use pagewise_host::process::Interrupt;
use pagewise_host::store::recording::Recording;
use pagewise_testkit::trouble::runner::{ALL_EVIDENCE, GROWS, Runner};
use pagewise_testkit::trouble::{HEALTHY, Severity, TROUBLES, Trouble, find, judge, make_what_is_asked};
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What a short run makes: no disk, little set-up and one window of the rules is enough.
const CHEAPEST: [&str; 3] = ["compaction-storm", "oom-risk", "unexplained-system-time"];

/// One window of ten seconds, and what recording loses at its ends.
const SHORT: u32 = 13;

fn is_long() -> bool {
    std::env::var_os("PAGEWISE_LONG").is_some()
}

/// Only ever does something in a process that the others start.
#[test]
fn made_when_asked() {
    make_what_is_asked().unwrap();
}

fn runner(state: &Path) -> Runner {
    let own = std::env::current_exe().unwrap();
    Runner {
        pagewise: PathBuf::from(Command::cargo_bin("pagewise").unwrap().get_program()),
        maker: vec![own.into(), "really_found::made_when_asked".into(), "--exact".into(), "--nocapture".into()],
        state_dir: Some(state.to_owned()),
        host: "test".to_owned(),
        record_args: ALL_EVIDENCE.map(str::to_owned).to_vec(),
        temporary: state.parent().unwrap().to_owned(),
    }
}

/// How often a trouble is made that was not made, by its own proof, or whose recording says itself that it is not of this trouble alone
/// (`measurement-caveat`): a hypervisor that brings memory in late, or a neighbour, may take the time it has. Any other is judged once.
const ATTEMPTS: u32 = 3;

/// `Err` with what is wrong, in words.
fn check(trouble: &Trouble, severity: Severity, seconds: Option<u32>) -> Result<(), String> {
    if let Some(why) = trouble.unmet() {
        eprintln!("SKIP {}: {why}", trouble.id);
        return Ok(());
    }
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let folder = tempfile::tempdir().unwrap();
        let runner = runner(&folder.path().join("state"));
        let file = folder.path().join("a.pgw");
        let label = runner.record(trouble, severity, seconds, &file, &Interrupt::default())?;
        let row = judge::one(&runner.pagewise, &file)?;
        let beside: Vec<&str> = row.beside().collect();
        match (trouble.is_healthy(), row.is_found()) {
            (true, _) if beside.is_empty() => return Ok(()),
            (true, _) => return Err(format!("{}: nothing is wrong, but it says {beside:?}", trouble.id)),
            (false, true) => return Ok(()),
            (false, false) => {
                last = format!(
                    "{} {severity} was {}, and not found, but {beside:?}; undecided {:?}; proof {:?}; against it {:?}",
                    trouble.id,
                    if label.made { "made" } else { "not made" },
                    row.not_decided,
                    label.proof,
                    row.against,
                );
                if label.made && !row.found.contains_key(judge::NO_ALARM) {
                    return Err(last);
                }
            }
        }
    }
    Err(format!("{last}, in {ATTEMPTS} attempts"))
}

#[test]
fn the_cheapest_troubles_at_their_severest_are_made_and_found() {
    requires!(root, sysctl, thp);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let wrong: Vec<String> =
        CHEAPEST.iter().filter_map(|id| check(find(id).unwrap(), Severity::Severe, Some(SHORT)).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a recording that grows in a folder of this one has a sample.
fn is_recorded(temporary: &Path) -> bool {
    let folders = fs::read_dir(temporary).into_iter().flatten().flatten();
    let ticks = |folder: fs::DirEntry| Recording::open(&folder.path().join(GROWS))?.ticks();
    folders.map(ticks).any(|ticks| ticks.unwrap_or(0) > 0)
}

/// Trouble under settings and with a child of its own, and trouble without either.
#[test]
fn ctrl_c_ends_the_making_at_once_and_puts_everything_back() {
    requires!(root, sysctl, thp, perl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    for id in ["fork-cow-thp", "unexplained-system-time"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.pgw");
        let grows = tempfile::tempdir().unwrap();
        let runner = Runner { temporary: grows.path().to_owned(), ..runner(&folder.path().join("state")) };
        let interrupt = Interrupt::default();
        let (outcome, pressed) = std::thread::scope(|scope| {
            let presser = scope.spawn(|| {
                let deadline = Instant::now() + Duration::from_secs(60);
                while !is_recorded(grows.path()) {
                    assert!(Instant::now() < deadline, "{id} was never recorded");
                    std::thread::sleep(Duration::from_millis(50));
                }
                interrupt.set();
                Instant::now()
            });
            let outcome = runner.record(find(id).unwrap(), Severity::Severe, Some(60), &file, &interrupt);
            (outcome, presser.join().unwrap())
        });
        let took = pressed.elapsed();
        assert!(outcome.as_ref().is_err_and(|error| error.contains("interrupted")), "{id}: {outcome:?}");
        assert!(took < Duration::from_secs(6), "{id} took {took:?} to end");
        assert!(!file.exists(), "{id} left a recording");
        assert_eq!(fs::read_dir(grows.path()).unwrap().count(), 0, "{id} left a part of one");
    }
}

#[test]
fn a_host_at_rest_stays_silent() {
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let seconds = if is_long() { 60 } else { 22 };
    assert_eq!(check(find("idle").unwrap(), Severity::Mild, Some(seconds)), Ok(()));
}

#[test]
fn every_trouble_is_made_and_found_at_its_severest_and_every_healthy_load_is_silent() {
    if !is_long() {
        return;
    }
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let all = TROUBLES.iter().map(|trouble| (trouble, Severity::Severe));
    let all = all.chain(HEALTHY.iter().map(|load| (load, Severity::Mild)));
    // A rule that looks for longer than its trouble is usually made for is not decided before.
    let seconds = |trouble: &Trouble| {
        let rule = rules::ALL.iter().find(|rule| rule.id == trouble.id && !rule.may_be_shorter);
        rule.map(|rule| rule.lasts as u32 + 10).filter(|seconds| *seconds > trouble.seconds)
    };
    let wrong: Vec<String> =
        all.filter_map(|(trouble, severity)| check(trouble, severity, seconds(trouble)).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
