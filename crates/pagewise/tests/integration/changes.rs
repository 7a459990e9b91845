//! `set`, `changes` and `revert` as a user sees them, on the real host with a state folder of the test's own.

use pagewise_testkit::{HostUnchanged, host_lock, requires};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

struct User {
    state: tempfile::TempDir,
}

impl User {
    fn new() -> User {
        User { state: tempfile::tempdir().expect("a temporary folder") }
    }

    fn runs(&self, arguments: &[&str]) -> Ended {
        let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
            .args(arguments)
            .env("PAGEWISE_STATE_DIR", self.state.path())
            .stdin(Stdio::null())
            .output()
            .expect("pagewise starts");
        Ended(run)
    }

    /// A run under another swappiness, which is in force when this returns.
    fn holds(&self, value: &str, seconds: &str) -> Child {
        let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
            .args(["__hold", &format!("vm.swappiness={value}"), "--", "sleep", seconds])
            .env("PAGEWISE_STATE_DIR", self.state.path())
            .spawn()
            .expect("pagewise starts");
        assert!(within(10, || swappiness() == value), "it is never in force");
        run
    }
}

/// Whatever the test did not revert itself.
impl Drop for User {
    fn drop(&mut self) {
        self.runs(&["revert", "--all"]);
    }
}

struct Ended(Output);

impl Ended {
    fn code(&self) -> Option<i32> {
        self.0.status.code()
    }
    fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }
    fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", self.out(), self.err()))
    }
}

fn swappiness() -> String {
    std::fs::read_to_string("/proc/sys/vm/swappiness").expect("readable").trim().to_owned()
}

fn within(seconds: u64, mut wanted: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !wanted() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn kill(pid: u32) {
    signal(pid, rustix::process::Signal::KILL);
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    let _ = rustix::process::kill_process(pid, signal);
}

/// Two values that are not there now.
fn others() -> [String; 2] {
    let now: u32 = swappiness().parse().expect("a number");
    [(now + 1) % 100, (now + 2) % 100].map(|value| value.to_string())
}

#[test]
fn a_config_file_that_cannot_be_read_is_told_with_the_way_to_another() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // What root cannot read either: another user's file would be refused to others only.
    std::fs::create_dir_all(folder.path().join("pagewise/config.toml")).expect("a folder");
    let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
        .args(["revert", "--dry-run"])
        .env("XDG_CONFIG_HOME", folder.path())
        .env("PAGEWISE_STATE_DIR", folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("pagewise starts");
    let told = Ended(run);
    assert_eq!(told.code(), Some(2), "{}", told.err());
    assert!(
        told.err().contains("cannot read the config file") && told.err().contains("XDG_CONFIG_HOME"),
        "{}",
        told.err()
    );
}

#[test]
fn what_is_set_is_listed_and_comes_back_on_revert() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (user, before, [value, _]) = (User::new(), swappiness(), others());
    let policy = format!("vm.swappiness={value}");
    assert_eq!(user.runs(&["set", &policy, "--dry-run"]).code(), Some(0));
    assert_eq!(swappiness(), before, "a dry run writes nothing");
    assert_eq!(user.runs(&["set", &policy]).code(), Some(0));
    assert_eq!(swappiness(), value);
    let again = user.runs(&["set", &policy]);
    assert!(again.err().contains(&format!("vm.swappiness is {value} already")), "{}", again.err());
    let listed = user.runs(&["changes", "--json"]).json();
    assert_eq!(listed["schema"], "pagewise.changes/1");
    assert_eq!(listed["changes"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["changes"][0]["settings"][0]["before"], before.as_str());
    let reverted = user.runs(&["revert"]);
    assert!(reverted.out().contains("change 1: undone"), "{}", reverted.out());
    assert_eq!(swappiness(), before);
    assert!(user.runs(&["changes"]).out().is_empty());
    assert!(user.runs(&["changes", "--all"]).out().contains("change 1: undone"));
    assert!(user.runs(&["revert"]).err().contains("nothing to revert"));
}

#[test]
fn the_printed_shell_lines_put_the_host_back_without_pagewise() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (user, before, [value, _]) = (User::new(), swappiness(), others());
    user.runs(&["set", &format!("vm.swappiness={value}")]);
    let lines = user.runs(&["revert", "--print"]).out();
    assert_eq!(swappiness(), value, "printing undoes nothing");
    let status = Command::new("sh").args(["-eu", "-c", &lines]).status().expect("sh starts");
    assert!(status.success(), "{lines}");
    assert_eq!(swappiness(), before);
}

#[test]
fn a_change_that_nobody_confirms_goes_by_itself_and_a_confirmed_one_stays() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (user, before, [value, other]) = (User::new(), swappiness(), others());
    assert_eq!(user.runs(&["set", &format!("vm.swappiness={value}"), "--confirm-within", "1s"]).code(), Some(0));
    let deadline = Instant::now() + Duration::from_secs(4);
    while swappiness() != before && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(swappiness(), before);
    assert_eq!(user.runs(&["set", &format!("vm.swappiness={other}"), "--confirm-within", "2s"]).code(), Some(0));
    let in_the_way = user.runs(&["set", &format!("vm.swappiness={value}")]);
    assert_eq!(in_the_way.code(), Some(4), "{}", in_the_way.err());
    assert!(in_the_way.err().contains("pagewise set --confirm 2"), "{}", in_the_way.err());
    assert_eq!(user.runs(&["set", "--confirm", "2"]).code(), Some(0));
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(swappiness(), other);
}

#[test]
fn a_lower_change_is_not_pulled_from_under_a_later_one() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (user, [value, other]) = (User::new(), others());
    user.runs(&["set", &format!("vm.swappiness={value}")]);
    user.runs(&["set", &format!("vm.swappiness={other}")]);
    let refused = user.runs(&["revert", "1"]);
    assert_eq!(refused.code(), Some(4));
    assert!(refused.err().contains("`pagewise revert 2` first"), "{}", refused.err());
    let all = user.runs(&["revert", "--all"]);
    assert_eq!(all.code(), Some(0), "{}", all.err());
}

#[test]
fn a_run_in_progress_is_named_with_verb_and_pid() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (user, [value, _]) = (User::new(), others());
    let mut run = user.holds(&value, "1");
    let refused = user.runs(&["set", "vm.swappiness=1"]);
    assert_eq!(refused.code(), Some(3));
    assert!(refused.err().contains(&format!("pagewise hold, pid {}", run.id())), "{}", refused.err());
    assert!(user.runs(&["changes"]).out().contains("ends with the run of pid"));
    assert!(run.wait().expect("our child").success());
}

#[test]
fn a_run_with_another_state_folder_is_refused_too_and_told_whose_host_it_is() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (first, second, [value, other]) = (User::new(), User::new(), others());
    let mut run = first.holds(&value, "1.5");
    for verb in [["set", &format!("vm.swappiness={other}")].as_slice(), &["revert", "--all"]] {
        let refused = second.runs(verb);
        assert_eq!(refused.code(), Some(3), "{verb:?}: {}", refused.err());
        let who = format!("pagewise hold, pid {}, with the state folder {}", run.id(), first.state.path().display());
        assert!(refused.err().contains(&who), "{verb:?}: {}", refused.err());
        assert_eq!(swappiness(), value);
    }
    assert_eq!(second.runs(&["changes"]).code(), Some(0), "who only reads needs no lock");
    assert!(run.wait().expect("our child").success());
    assert_eq!(second.runs(&["set", &format!("vm.swappiness={other}")]).code(), Some(0), "free again");
    assert_eq!(swappiness(), other);
}

#[test]
fn a_kill_frees_the_host_and_the_next_run_first_undoes_what_it_left_in_another_state_folder() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let (first, second, before, [value, other]) = (User::new(), User::new(), swappiness(), others());
    let mut run = first.holds(&value, "30");
    let root = pagewise_host::root::Root::live();
    let children = pagewise_host::source::process::pids(&root).into_iter().filter(|pid| {
        let stat = root.read(&format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(run.id())
    });
    // The run stands still while its watcher is killed, so that neither sees the end of the other and restores; then the
    // job goes, which would sleep on.
    let (watchers, jobs): (Vec<u32>, Vec<u32>) =
        children.partition(|pid| root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("__watch"));
    assert_eq!(watchers.len(), 1, "{watchers:?}");
    signal(run.id(), rustix::process::Signal::STOP);
    watchers.iter().chain(&jobs).for_each(|pid| kill(*pid));
    kill(run.id());
    run.wait().expect("our child");
    assert_eq!(swappiness(), value, "nobody was left to restore it");
    let set = second.runs(&["set", &format!("vm.swappiness={other}")]);
    assert_eq!(set.code(), Some(0), "{}", set.err());
    assert!(set.err().contains("undone what a killed run left"), "{}", set.err());
    assert_eq!(second.runs(&["revert"]).code(), Some(0));
    assert_eq!(swappiness(), before, "and not what the killed run had set");
}

#[test]
fn what_cannot_be_set_on_a_host_is_refused_with_the_reason() {
    requires!(root, sysctl);
    let user = User::new();
    for (arguments, code, words) in [
        (["set", "env.A=1"].as_slice(), 2, "pagewise prove"),
        (&["set", "vm.swapiness=1"], 2, "did you mean vm.swappiness"),
        (&["set", "vm.swappiness=often"], 2, "vm.swappiness"),
        (&["set", "@/no/such/file.toml"], 2, "/no/such/file.toml"),
        (&["set", "--root", "/", "vm.swappiness=1"], 2, "captured tree"),
        (&["set", "vm.swappiness=1", "--confirm-within", "soon"], 2, "90s, 4m30s"),
        (&["set", "--confirm", "9"], 3, "no change 9"),
        (&["revert", "9"], 3, "no change 9"),
    ] {
        let told = user.runs(arguments);
        assert_eq!(told.code(), Some(code), "{arguments:?}: {}", told.err());
        assert!(told.err().contains(words), "{arguments:?}: {}", told.err());
    }
    assert!(!Path::new(&user.state.path().join("changes")).exists(), "nothing was begun");
}
