//! What the change journal promises, on a fake host: a policy is undone in full whatever ends its process, what is
//! someone else's is left, and a journal that cannot be written stops a change before it begins.

use pagewise_core::change::line::{CloseReason, Outcome};
use pagewise_core::change::replay::UndoReason;
use pagewise_core::tunable::{Tunable, find};
use pagewise_host::root::Root;
use pagewise_host::tunable::change::{Change, ChangeError, HostLock, Journal, Lease, Phase, UndoReport};
use pagewise_host::tunable::journal::own_identity;
use pagewise_host::tunable::{HostSetting, Resolved, read, write};
use pagewise_testkit::{FakeHost, HostUnchanged, host_lock, requires};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn tunable(name: &str) -> Tunable {
    find(name).expect("a tunable")
}

struct Host {
    tree: FakeHost,
    state: tempfile::TempDir,
}

impl Host {
    fn new() -> Host {
        Host { tree: FakeHost::modern(), state: tempfile::tempdir().expect("a temporary folder") }
    }

    fn journal(&self) -> Journal {
        Journal::open(self.state.path(), &self.tree.root()).expect("a boot id in the tree")
    }

    fn sysctl(&self, name: &str) -> String {
        self.tree.text(&format!("/proc/sys/vm/{name}"))
    }

    fn edit(&self, name: &str, value: &str) {
        self.tree.write(&format!("/proc/sys/vm/{name}"), value);
    }

    fn apply(&self, settings: &[(&str, &str)], lease: Lease) -> Result<Change, ChangeError> {
        let journal = self.journal();
        let lock = journal.lock("test")?;
        journal.apply(&lock, &resolved(settings), "the policy", lease, &mut |_| {})
    }

    fn recover(&self) -> Vec<UndoReport> {
        let journal = self.journal();
        let lock = journal.lock("test").expect("free");
        journal.recover(&lock).expect("a whole journal")
    }

    fn journal_file(&self) -> PathBuf {
        self.journal().path(1)
    }

    fn journal_text(&self) -> String {
        std::fs::read_to_string(self.journal_file()).expect("a journal")
    }

    fn rewrite_journal(&self, text: &str) {
        std::fs::write(self.journal_file(), text).expect("a file of ours");
    }
}

/// What a policy resolves to, made by hand so that values the grammar would refuse can be tried too.
fn resolved(settings: &[(&str, &str)]) -> Resolved {
    let setting = |(name, value): &(&str, &str)| HostSetting {
        tunable: tunable(name),
        value: (*value).to_owned(),
        coupled: Vec::new(),
    };
    Resolved { host: settings.iter().map(setting).collect(), ..Resolved::default() }
}

const POLICY: [(&str, &str); 2] = [("vm.swappiness", "1"), ("vm.vfs_cache_pressure", "50")];

#[test]
fn a_policy_is_in_force_until_it_is_undone() {
    let host = Host::new();
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let mut phases = Vec::new();
    let change = journal
        .apply(&lock, &resolved(&POLICY), "p", Lease::Owner, &mut |phase| phases.push(phase))
        .expect("nothing stands in the way");
    assert_eq!((host.sysctl("swappiness"), host.sysctl("vfs_cache_pressure")), ("1".into(), "50".into()));
    assert_eq!(phases.first(), Some(&Phase::Journalled));
    assert_eq!(phases.last(), Some(&Phase::Applied));
    let applied: Vec<_> = change.applied().iter().map(|a| (a.before.as_str(), a.after.as_str())).collect();
    assert_eq!(applied, [("60", "1"), ("100", "50")]);
    assert!(change.drift().is_empty());
    let report = change.undo(&lock).expect("nothing stands in the way");
    assert_eq!(report.closed, Some(CloseReason::Undone));
    assert_eq!((host.sysctl("swappiness"), host.sysctl("vfs_cache_pressure")), ("60".into(), "100".into()));
    assert!(journal.open_sets().expect("readable").is_empty());
}

#[test]
fn a_captured_tree_is_changed_while_another_run_has_this_host() {
    let _lock = host_lock();
    let (state, live) = (tempfile::tempdir().expect("a temporary folder"), Root::live());
    let this_host = Journal::open(state.path(), &live).expect("a boot id").lock("test");
    let _this_host = this_host.expect("free");
    let (one, two) = (Host::new(), Host::new());
    for host in [&one, &two] {
        drop(host.apply(&POLICY, Lease::None).expect("it has a lock of its own"));
        assert_eq!(host.sysctl("swappiness"), "1");
    }
}

#[test]
fn a_run_that_sets_nothing_on_the_host_goes_on_beside_one_that_does() {
    requires!(root);
    let _lock = host_lock();
    let [one, two] = [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a temporary folder"));
    let [one, two] = [&one, &two].map(|state| Journal::open(state.path(), &Root::live()).expect("a boot id"));
    let host = one.lock("trial").expect("free");
    let jobs_only = two.lock_journal("prove").expect("a journal of its own");
    let change = two.apply(&jobs_only, &resolved(&POLICY), "p", Lease::Owner, &mut |_| {});
    let refused = change.expect_err("the host is taken").to_string();
    assert!(refused.contains("another run changes it (pagewise trial"), "{refused}");
    drop(host);
    jobs_only.cover(&Root::live()).expect("free now");
}

#[test]
fn a_policy_that_sets_nothing_on_the_host_writes_no_journal() {
    let host = Host::new();
    let change = host.apply(&[], Lease::Owner).expect("nothing to do");
    assert!(change.id().is_none() && change.applied().is_empty() && change.drift().is_empty());
    assert!(!host.state.path().join("changes").exists());
}

#[test]
fn a_run_that_returns_early_leaves_nothing_behind() {
    let host = Host::new();
    drop(host.apply(&POLICY, Lease::Owner).expect("nothing stands in the way"));
    assert_eq!(host.sysctl("swappiness"), "60");
}

#[test]
fn a_change_that_was_set_to_stay_stays() {
    let host = Host::new();
    drop(host.apply(&POLICY, Lease::None).expect("nothing stands in the way"));
    assert_eq!(host.recover(), []);
    assert_eq!(host.sysctl("swappiness"), "1");
}

#[test]
fn someone_elses_edit_shows_as_drift_and_is_left_by_the_undo() {
    let host = Host::new();
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let change = journal.apply(&lock, &resolved(&POLICY), "p", Lease::Owner, &mut |_| {}).expect("applied");
    host.edit("swappiness", "77");
    let drift: Vec<String> = change.drift().iter().map(ToString::to_string).collect();
    assert_eq!(drift, ["vm.swappiness is '77', not '1'"]);
    let report = change.undo(&lock).expect("leaving it is no failure");
    assert_eq!(report.foreign().collect::<Vec<_>>(), [("vm.swappiness", "77")]);
    assert_eq!((host.sysctl("swappiness"), host.sysctl("vfs_cache_pressure")), ("77".into(), "100".into()));
}

#[test]
fn a_setting_that_cannot_be_written_half_way_undoes_those_before_it() {
    let host = Host::new();
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let file = host.tree.root().path("/proc/sys/vm/vfs_cache_pressure");
    let mut vanish = |phase| {
        if phase == Phase::BeforeWrite(1) {
            std::fs::remove_file(&file).expect("a file of ours");
        }
    };
    let error = journal.apply(&lock, &resolved(&POLICY), "p", Lease::None, &mut vanish).expect_err("it vanished");
    assert!(error.to_string().contains("vfs_cache_pressure"), "{error}");
    assert_eq!(host.sysctl("swappiness"), "60");
    assert!(journal.open_sets().expect("readable").is_empty());
}

#[test]
fn the_next_run_undoes_what_a_killed_one_left_at_any_line() {
    for lines in 0..=5 {
        let host = Host::new();
        drop(host.apply(&POLICY, Lease::None).expect("nothing stands in the way"));
        let whole: String = host.journal_text().split_inclusive('\n').take(lines).collect();
        host.rewrite_journal(&format!("{whole}{{\"line\":\"wri"));
        // What has no line was not written yet when the process died.
        if lines < 2 {
            host.edit("swappiness", "60");
        }
        if lines < 4 {
            host.edit("vfs_cache_pressure", "100");
        }
        let reports = host.recover();
        assert_eq!(
            reports.iter().filter_map(|r| r.why).collect::<Vec<_>>(),
            vec![UndoReason::HalfApplied; lines.min(1)]
        );
        assert_eq!((host.sysctl("swappiness"), host.sysctl("vfs_cache_pressure")), ("60".into(), "100".into()));
        assert_eq!(host.recover(), [], "nothing is left to do");
    }
}

#[test]
fn a_change_of_a_process_that_is_gone_is_undone_and_one_of_a_living_process_is_not() {
    let host = Host::new();
    std::mem::forget(host.apply(&POLICY, Lease::Owner).expect("nothing stands in the way"));
    assert_eq!(host.recover(), []);
    let own = format!("\"start_time\":{}", own_identity().start_time);
    host.rewrite_journal(&host.journal_text().replace(&own, "\"start_time\":1"));
    assert_eq!(host.recover()[0].why, Some(UndoReason::OwnerDied));
    assert_eq!(host.sysctl("swappiness"), "60");
}

#[test]
fn a_change_that_nobody_confirms_is_undone_and_a_confirmed_one_stays() {
    let host = Host::new();
    let soon = Journal::deadline(Duration::from_millis(30));
    host.apply(&[POLICY[0]], soon).expect("nothing stands in the way");
    let later = Journal::deadline(Duration::from_secs(3600));
    host.apply(&[POLICY[1]], later).expect("another tunable");
    let journal = host.journal();
    journal.confirm(&journal.lock("test").expect("free"), 2).expect("in time");
    std::thread::sleep(Duration::from_millis(40));
    assert_eq!(host.recover()[0].why, Some(UndoReason::NotConfirmed));
    assert_eq!((host.sysctl("swappiness"), host.sysctl("vfs_cache_pressure")), ("60".into(), "50".into()));
    assert!(journal.confirm(&journal.lock("test").expect("free"), 1).is_err(), "too late");
}

#[test]
fn nothing_is_built_on_a_change_that_may_be_undone_at_any_moment() {
    let host = Host::new();
    host.apply(&[POLICY[0]], Journal::deadline(Duration::from_secs(3600))).expect("nothing stands in the way");
    let same_tunable = host.apply(&[("vm.swappiness", "10")], Lease::None).expect_err("it waits");
    assert!(matches!(same_tunable, ChangeError::AwaitsConfirmation { id: 1, .. }), "{same_tunable}");
    let a_run = host.apply(&[POLICY[1]], Lease::Owner).expect_err("the host would change under it");
    assert!(matches!(a_run, ChangeError::AwaitsConfirmation { .. }), "{a_run}");
    host.apply(&[POLICY[1]], Lease::None).expect("another tunable may be set");
}

#[test]
fn changes_on_top_of_each_other_unwind_from_the_top() {
    let host = Host::new();
    host.apply(&[("vm.swappiness", "10")], Lease::None).expect("nothing stands in the way");
    host.apply(&[("vm.swappiness", "20")], Lease::None).expect("nothing stands in the way");
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let error = journal.undo(&lock, 1, &mut |_| {}).expect_err("2 stands on it");
    assert!(matches!(error, ChangeError::LiesUnder { id: 1, later: 2 }), "{error}");
    journal.undo(&lock, 2, &mut |_| {}).expect("the top");
    assert_eq!(host.sysctl("swappiness"), "10");
    journal.undo(&lock, 1, &mut |_| {}).expect("the top now");
    assert_eq!(host.sysctl("swappiness"), "60");
    let error = journal.undo(&lock, 1, &mut |_| {}).expect_err("closed");
    assert!(matches!(error, ChangeError::Closed { .. }), "{error}");
}

#[test]
fn values_of_another_boot_are_never_replayed() {
    let host = Host::new();
    host.apply(&POLICY, Lease::None).expect("nothing stands in the way");
    host.tree.write("/proc/sys/kernel/random/boot_id", "another-boot\n");
    let reports = host.recover();
    assert_eq!(reports[0].closed, Some(CloseReason::OtherBoot));
    assert_eq!(host.sysctl("swappiness"), "1", "this boot's value, whatever it is");
}

#[test]
fn files_that_outlive_a_boot_are_removed_with_it() {
    let host = Host::new();
    host.apply(&POLICY, Lease::None).expect("nothing stands in the way");
    let artefact = host.state.path().join("swapfile");
    std::fs::write(&artefact, "swap").expect("a file of ours");
    let named = format!("\"target\":\"1\",\"artefacts\":[\"{}\"]", artefact.display());
    host.rewrite_journal(&host.journal_text().replace("\"target\":\"1\"", &named));
    host.tree.write("/proc/sys/kernel/random/boot_id", "another-boot\n");
    host.recover();
    assert!(!artefact.exists());
}

#[test]
fn a_damaged_journal_is_named_with_the_line_and_stops_what_would_write() {
    let host = Host::new();
    host.apply(&POLICY, Lease::None).expect("nothing stands in the way");
    host.rewrite_journal(&host.journal_text().replacen("\"writing\"", "\"wrXting\"", 1));
    let told = host.apply(&POLICY, Lease::None).expect_err("no way back can be promised").to_string();
    assert!(told.contains("000001.jsonl") && told.contains("line 2"), "{told}");
}

#[test]
fn the_journal_keeps_the_newest_hundred_closed_changes() {
    let host = Host::new();
    for _ in 0..103 {
        drop(host.apply(&[POLICY[0]], Lease::Owner).expect("nothing stands in the way"));
    }
    host.recover();
    let ids: Vec<u64> = host.journal().list().expect("readable").iter().map(|entry| entry.id).collect();
    assert_eq!(ids, (4..=103).collect::<Vec<_>>());
}

#[test]
fn a_restore_that_fails_is_told_and_tried_again_by_the_next_run() {
    let host = Host::new();
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let change = journal.apply(&lock, &resolved(&POLICY), "p", Lease::Owner, &mut |_| {}).expect("applied");
    let file = host.tree.root().path("/proc/sys/vm/swappiness");
    std::fs::remove_file(&file).expect("a file of ours");
    std::fs::create_dir(&file).expect("a folder in its place cannot be read");
    let error = change.undo(&lock).expect_err("it cannot be restored").to_string();
    assert!(error.contains("change 1") && error.contains("vm.swappiness"), "{error}");
    assert_eq!(host.sysctl("vfs_cache_pressure"), "100", "the other one was");
    std::fs::remove_dir(&file).expect("a folder of ours");
    std::fs::write(&file, "1\n").expect("a file of ours");
    let reports = journal.recover(&lock).expect("a whole journal");
    assert!(matches!(reports[0].settings[0].outcome, Outcome::Restored), "{reports:?}");
    assert_eq!(host.sysctl("swappiness"), "60");
}

const OFTEN: &str = "vm.watermark_scale_factor";

fn open_for_often(journal: &Journal, lock: &HostLock, names: &[&str]) -> Result<Change, ChangeError> {
    let tunables: Vec<Tunable> = names.iter().map(|name| tunable(name)).collect();
    journal.open_for_often(lock, &tunables, "a guard", Lease::Owner, &mut |_| {})
}

#[test]
fn hundreds_of_writes_cost_no_line_of_the_journal_and_no_room_and_are_put_back() {
    let host = Host::new();
    let before = host.sysctl("watermark_scale_factor");
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let mut change = open_for_often(&journal, &lock, &[OFTEN]).expect("nothing stands in the way");
    assert_eq!(host.sysctl("watermark_scale_factor"), before, "opening writes nothing");
    let notes = host.journal_file().with_extension("notes");
    let room = || std::fs::metadata(&notes).expect("beside the journal").len();
    let (lines, room_before) = (host.journal_text(), room());
    for turn in 0..500 {
        let value = (20 + turn % 300).to_string();
        change.write_again(&lock, &tunable(OFTEN), &value).expect("nobody else is there");
        assert_eq!(host.sysctl("watermark_scale_factor"), value);
    }
    assert_eq!((host.journal_text(), room()), (lines, room_before));
    assert!(change.drift().is_empty(), "what it left is what it wrote last");
    let report = change.undo(&lock).expect("nothing stands in the way");
    assert_eq!(report.closed, Some(CloseReason::Undone));
    assert_eq!(host.sysctl("watermark_scale_factor"), before);
}

#[test]
fn what_someone_else_sets_between_two_writes_is_not_written_again_and_left() {
    let host = Host::new();
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let mut change = open_for_often(&journal, &lock, &[OFTEN, "vm.swappiness"]).expect("nothing stands in the way");
    for value in ["50", "60"] {
        change.write_again(&lock, &tunable(OFTEN), value).expect("nobody else is there");
    }
    // One of the values that were ours before.
    host.edit("watermark_scale_factor", "50");
    let refused = change.write_again(&lock, &tunable(OFTEN), "70").expect_err("it is theirs");
    assert!(matches!(refused, ChangeError::Foreign(_)), "{refused}");
    assert!(refused.to_string().contains("vm.watermark_scale_factor is '50', not '60'"), "{refused}");
    change.write_again(&lock, &tunable("vm.swappiness"), "10").expect("the other is ours still");
    let report = change.undo(&lock).expect("leaving it is no failure");
    assert_eq!(report.foreign().collect::<Vec<_>>(), [(OFTEN, "50")]);
    assert_eq!((host.sysctl("watermark_scale_factor"), host.sysctl("swappiness")), ("50".into(), "60".into()));
}

#[test]
fn only_what_was_opened_is_written_often_and_only_within_its_limits() {
    let host = Host::new();
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let mut change = open_for_often(&journal, &lock, &[OFTEN]).expect("nothing stands in the way");
    let mut refused = |name: &str, value: &str| change.write_again(&lock, &tunable(name), value).expect_err("refused");
    assert!(matches!(refused("vm.swappiness", "10"), ChangeError::NotOften { .. }));
    assert!(refused(OFTEN, "5000").to_string().contains("1 to 3000"));
    assert!(refused(OFTEN, "much").to_string().contains("not a whole number"));
    change.write_again(&lock, &tunable(OFTEN), "3000").expect("within");
    let swap = open_for_often(&journal, &lock, &["swap"]).expect_err("never under what runs");
    assert!(swap.to_string().starts_with("swap cannot be written often: it moves all"), "{swap}");
}

#[test]
fn a_set_with_notes_that_are_lost_is_undone_in_full() {
    let host = Host::new();
    let before = host.sysctl("watermark_scale_factor");
    let journal = host.journal();
    let lock = journal.lock("test").expect("free");
    let mut change = open_for_often(&journal, &lock, &[OFTEN]).expect("nothing stands in the way");
    change.write_again(&lock, &tunable(OFTEN), "50").expect("nobody else is there");
    std::mem::forget(change);
    std::fs::remove_file(host.journal_file().with_extension("notes")).expect("a file of ours");
    let reports = journal.undo_owned(&lock, own_identity()).expect("a whole journal");
    assert!(matches!(reports[0].settings[0].outcome, Outcome::Restored), "{reports:?}");
    assert_eq!(host.sysctl("watermark_scale_factor"), before);
}

/// Set in the process that [`killed_with_sigkill_while_it_writes_often_the_value_is_back`] kills: its state folder.
const WRITES_OFTEN: &str = "PAGEWISE_TEST_WRITES_OFTEN";

/// Writes on this host until it is killed, and says so once it wrote some hundred times.
fn write_until_killed(state: &Path) {
    let journal = Journal::open(state, &Root::live()).expect("a boot id");
    let lock = journal.lock("test").expect("free");
    let mut change = open_for_often(&journal, &lock, &[OFTEN]).expect("nothing stands in the way");
    for turn in 0.. {
        let value = (20 + turn % 200).to_string();
        change.write_again(&lock, &tunable(OFTEN), &value).expect("nobody else is there");
        if turn == 300 {
            std::fs::write(state.join("ready"), "").expect("a file of ours");
        }
    }
}

#[test]
fn killed_with_sigkill_while_it_writes_often_the_value_is_back() {
    if let Some(state) = std::env::var_os(WRITES_OFTEN) {
        write_until_killed(Path::new(&state));
        return;
    }
    requires!(root, sysctl);
    let host_lock = host_lock();
    let _unchanged = HostUnchanged::watch(&host_lock);
    let _put_back = PutBack::of(&[OFTEN]);
    let live = Root::live();
    let before = read(&live, &tunable(OFTEN)).expect("readable");
    // This test, whichever binary and module it is in.
    let name = "killed_with_sigkill_while_it_writes_often_the_value_is_back";
    let module = module_path!().split_once("::").map_or(String::new(), |(_, module)| format!("{module}::"));
    for round in 0..12u64 {
        let state = tempfile::tempdir().expect("a temporary folder");
        let mut writer = Command::new(std::env::current_exe().expect("this binary"))
            .args([&format!("{module}{name}"), "--exact", "--nocapture"])
            .env(WRITES_OFTEN, state.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !state.path().join("ready").exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A write takes a fraction of a millisecond: each round stops at another place of it.
        std::thread::sleep(Duration::from_micros(137 * round));
        writer.kill().expect("it lives");
        writer.wait().expect("it ends");
        assert!(state.path().join("ready").exists(), "it wrote hundreds of times");
        let journal = Journal::open(state.path(), &live).expect("a boot id");
        let lock = journal.lock("test").expect("free");
        // What a watcher does, and what the next verb that writes does.
        let owner = journal.open_sets().expect("readable")[0].begin.owner;
        let undone = if round % 2 == 0 { journal.undo_owned(&lock, owner) } else { journal.recover(&lock) };
        let reports = undone.expect("a whole journal");
        assert_eq!(reports.len(), 1);
        assert_eq!((reports[0].closed, reports[0].foreign().count()), (Some(CloseReason::Undone), 0), "{reports:?}");
        assert_eq!(read(&live, &tunable(OFTEN)).expect("readable"), before, "round {round}: {reports:?}");
    }
}

/// This machine's own settings, put back at the end also of a test that fails.
struct PutBack(Vec<(&'static str, String)>);

impl PutBack {
    fn of(tunables: &[&'static str]) -> PutBack {
        let value = |name: &&'static str| (*name, read(&Root::live(), &tunable(name)).expect("readable"));
        PutBack(tunables.iter().map(value).collect())
    }
}

impl Drop for PutBack {
    fn drop(&mut self) {
        for (name, value) in &self.0 {
            let _ = write(&Root::live(), &tunable(name), value);
        }
    }
}

#[test]
fn a_value_the_kernel_refuses_half_way_leaves_this_host_as_it_was() {
    requires!(root, thp, sysctl);
    let host_lock = host_lock();
    let _unchanged = HostUnchanged::watch(&host_lock);
    let _put_back = PutBack::of(&["vm.swappiness", "thp.defrag", "vm.page-cluster"]);
    let state = tempfile::tempdir().expect("a temporary folder");
    let journal = Journal::open(state.path(), &Root::live()).expect("a boot id");
    let lock = journal.lock("test").expect("free");
    // Made by hand: the grammar would not let such a value through to the kernel.
    let policy = resolved(&[("thp.defrag", "defer"), ("vm.page-cluster", "7"), ("vm.swappiness", "9999")]);
    let error = journal.apply(&lock, &policy, "p", Lease::None, &mut |_| {}).expect_err("swappiness is at most 200");
    assert!(error.to_string().contains("vm.swappiness"), "{error}");
    assert!(journal.open_sets().expect("readable").is_empty());
}

#[test]
fn what_the_kernel_moves_along_with_thp_is_held_on_this_host() {
    requires!(root, thp, sysctl);
    let host_lock = host_lock();
    let _unchanged = HostUnchanged::watch(&host_lock);
    let _put_back = PutBack::of(&["thp.enabled", "vm.min_free_kbytes"]);
    let live = Root::live();
    // khugepaged raises min_free_kbytes to its recommendation when it starts, and never lowers it
    // (mm/khugepaged.c, set_recommended_min_free_kbytes).
    write(&live, &tunable("thp.enabled"), "never").expect("root may");
    write(&live, &tunable("vm.min_free_kbytes"), "40000").expect("root may");
    let state = tempfile::tempdir().expect("a temporary folder");
    let journal = Journal::open(state.path(), &live).expect("a boot id");
    let lock = journal.lock("test").expect("free");
    let mut policy = resolved(&[("thp.enabled", "always")]);
    policy.host[0].coupled = vec![tunable("vm.min_free_kbytes")];
    let change = journal.apply(&lock, &policy, "p", Lease::Owner, &mut |_| {}).expect("nothing stands in the way");
    let applied = change.applied().to_vec();
    let held = read(&live, &tunable("vm.min_free_kbytes")).expect("readable");
    change.undo(&lock).expect("nothing stands in the way");
    assert_eq!(held, "40000");
    let moved = applied.iter().find(|setting| setting.tunable == "vm.min_free_kbytes").expect("the kernel moved it");
    assert_eq!((moved.requested.as_deref(), moved.after.as_str()), (None, "40000"));
    assert_eq!(read(&live, &tunable("vm.min_free_kbytes")).expect("readable"), "40000");
    assert_eq!(read(&live, &tunable("thp.enabled")).expect("readable"), "never");
}
