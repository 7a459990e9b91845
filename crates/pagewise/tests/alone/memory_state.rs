//! Memory is aged and put back on the real host, whoever is killed.

use pagewise_core::change::replay::ChangeSet;
use pagewise_host::root::Root;
use pagewise_host::source::{buddyinfo, meminfo, process};
use pagewise_host::tunable::change::Journal;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use rustix::process::{Pid, Signal};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PAGEWISE: &str = env!("CARGO_BIN_EXE_pagewise");

fn pagewise(state: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PAGEWISE);
    command.arg("--state-dir").arg(state).args(arguments).output().expect("pagewise runs")
}

fn done(state: &Path, arguments: &[&str]) -> String {
    let output = pagewise(state, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn now(state: &Path) -> String {
    let shown = done(state, &["show", "memory_state", "--json"]);
    let word = |state: &&str| shown.contains(&format!("\"{state}\""));
    ["fresh", "aged(30%)", "aged(50%)", "aged(95%)"].into_iter().find(word).unwrap_or(&shown).to_owned()
}

fn index() -> f64 {
    buddyinfo::unusable_index(&Root::live()).expect("/proc/buddyinfo")
}

fn available() -> f64 {
    let memory = meminfo::read(&Root::live()).expect("/proc/meminfo");
    meminfo::available(&memory).expect("MemAvailable") as f64
}

/// Processes that hold aged memory, dead ones that nobody waited for left out.
fn holders() -> Vec<u32> {
    let root = Root::live();
    let is_holder = |pid: &u32| {
        let line = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with("pagewise\0__keep\0memory_state\0") && process::start_time(&root, *pid).is_some()
    };
    process::pids(&root).into_iter().filter(is_holder).collect()
}

fn within(seconds: u64, mut wanted: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < deadline {
        if wanted() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    wanted()
}

fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("not 0");
    rustix::process::kill_process(pid, signal).expect("it lives");
}

fn sets(state: &Path) -> Vec<ChangeSet> {
    let journal = Journal::open(state, &Root::live()).expect("a journal");
    journal.list().expect("readable").into_iter().filter_map(|entry| entry.set.ok().flatten()).collect()
}

fn is_closed(state: &Path) -> bool {
    sets(state).iter().all(|set| set.closed.is_some())
}

/// Undoes and ends what a failed assertion would leave behind.
struct PutBack<'a>(&'a Path);

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        let _ = pagewise(self.0, &["revert", "--all"]);
    }
}

#[test]
fn memory_is_aged_to_the_figure_and_put_back() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let state = tempfile::tempdir().expect("a temporary folder");
    let _put_back = PutBack(state.path());
    let before = available();

    done(state.path(), &["set", "memory_state=aged(50%)"]);
    let (reached, read) = (index(), now(state.path()));
    assert!(reached >= 0.5, "only {reached}");
    assert_eq!(read, "aged(50%)");
    let first = holders();
    assert_eq!(first.len(), 1);
    let score = Root::live().read(&format!("/proc/{}/oom_score_adj", first[0])).expect("it lives");
    assert_eq!(score.trim(), "1000", "the OOM killer must take it first");
    let again = done(state.path(), &["set", "memory_state=aged(50%)"]);
    assert!(again.is_empty() && holders() == first, "the same value was set again: {again}");

    done(state.path(), &["set", "memory_state=aged(95%)"]);
    let higher = index();
    assert!(higher >= 0.95, "only {higher}");
    assert_eq!(now(state.path()), "aged(95%)");
    assert_eq!(holders().len(), 1);
    // What waits in per-CPU lists does not count as free: up to an eighth of memory, for up to half a minute.
    let held = || 1.0 - available() / before;
    assert!(within(40, || held() < 0.10), "{} of what was available is gone", held());

    done(state.path(), &["revert", "--all"]);
    assert_eq!(now(state.path()), "fresh");
    assert_eq!(holders(), [0; 0]);
    assert!(within(40, || index() < higher - 0.05), "from {higher} it came back to {} only", index());
    assert!(within(40, || available() > before * 0.93), "{before} were available, {} are", available());
}

fn hold(state: &Path, policy: &str) -> Child {
    let mut command = Command::new(PAGEWISE);
    command.arg("--state-dir").arg(state).args(["__hold", policy, "--", "sleep", "60"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pagewise runs")
}

#[test]
fn when_the_owner_is_killed_the_watcher_ends_the_holder() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let state = tempfile::tempdir().expect("a temporary folder");
    let _put_back = PutBack(state.path());
    for half_way in [true, false] {
        let mut owner = hold(state.path(), "memory_state=aged(30%)");
        assert!(within(10, || !holders().is_empty()), "no holder was started");
        assert!(half_way || within(30, || sets(state.path()).iter().any(|set| set.applied)), "it was never applied");
        owner.kill().expect("it lives");
        owner.wait().expect("it ends");
        assert!(within(5, || holders().is_empty()), "{:?} still hold", holders());
        assert_eq!(now(state.path()), "fresh");
        assert!(within(5, || is_closed(state.path())), "the change is still open");
    }
}

#[test]
fn a_holder_ends_with_its_owner_also_when_the_watcher_is_killed_with_it() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let state = tempfile::tempdir().expect("a temporary folder");
    let _put_back = PutBack(state.path());
    let mut owner = hold(state.path(), "memory_state=aged(30%)");
    assert!(within(40, || sets(state.path()).iter().any(|set| set.applied)), "it was never applied");
    assert_eq!(holders().len(), 1);
    let root = Root::live();
    let parent = |pid: u32| {
        let stat = root.read(&format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok())
    };
    // The watcher and the job, which would sleep on: nobody is left to end it.
    let others = || -> Vec<u32> {
        let children = process::pids(&root).into_iter().filter(|pid| parent(*pid) == Some(owner.id()));
        children.filter(|pid| !holders().contains(pid)).collect()
    };
    // The job starts when everything is applied.
    let began = within(10, || others().len() == 2);
    let others = others();
    if !began {
        owner.kill().expect("it lives");
        panic!("{others:?} are not the watcher and the job");
    }
    // Held fast, so that they cannot act before it is their turn.
    others.iter().for_each(|pid| signal(*pid, Signal::STOP));
    owner.kill().expect("it lives");
    owner.wait().expect("it ends");
    others.into_iter().for_each(kill);
    assert!(within(5, || holders().is_empty()), "{:?} still hold", holders());
    assert!(!is_closed(state.path()), "nobody was left to close it");
    done(state.path(), &["set", "memory_state=fresh"]);
    assert!(is_closed(state.path()), "the next verb that writes closes it");
}

#[test]
fn a_holder_that_is_killed_is_told_as_someone_elses_change() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let state = tempfile::tempdir().expect("a temporary folder");
    let _put_back = PutBack(state.path());
    done(state.path(), &["set", "memory_state=aged(30%)"]);
    for pid in holders() {
        kill(pid);
    }
    assert!(within(5, || holders().is_empty()));
    assert_eq!(now(state.path()), "fresh");
    done(state.path(), &["revert"]);
    assert!(is_closed(state.path()));
}

#[test]
fn an_ordinary_user_is_told_to_be_root() {
    requires!(not_root);
    let state = tempfile::tempdir().expect("a temporary folder");
    let output = pagewise(state.path(), &["set", "memory_state=aged(30%)"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("root"), "{told}");
}
