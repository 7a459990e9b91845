//! Nothing leaks: whichever process of Pagewise is killed, and whenever, the host ends as it was.
//!
//! On the real host with real tunables. 50 kills in a normal run; 200 with `PAGEWISE_LONG=1`. The seed is printed;
//! `PAGEWISE_SEED` repeats it. The histogram at the end says in which phase the kills really came, by the journal.

use pagewise_core::change::replay::{self, ChangeSet, Stage};
use pagewise_core::tunable::find;
use pagewise_host::root::Root;
use pagewise_host::source::process;
use pagewise_host::tunable;
use pagewise_host::tunable::change::Journal;
use pagewise_testkit::kills::{Dice, Values, all_tunables, differences};
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PAGEWISE: &str = env!("CARGO_BIN_EXE_pagewise");

/// Several tunables at once; the first one moves `vm.min_free_kbytes` along.
const POLICY: &str = "thp.enabled=never,thp.defrag=defer,vm.swappiness=43,vm.watermark_scale_factor=23,vm.dirty=17%";

/// What the survivor of a kill is given to restore the host.
const SURVIVOR_WITHIN: Duration = Duration::from_secs(2);

/// A job is known to the watcher this long after it was started.
const ANNOUNCED_AFTER: Duration = Duration::from_millis(50);

/// When the kill is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aim {
    Journalled,
    HalfApplied,
    Running,
    Restoring,
    WatcherDead,
}

const AIMS: [Aim; 5] = [Aim::Journalled, Aim::HalfApplied, Aim::Running, Aim::Restoring, Aim::WatcherDead];

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Owner,
    Both,
    Watcher,
    /// Ctrl-C.
    OwnerInterrupted,
}

impl Aim {
    /// Pauses that hold the phase open long enough to be hit.
    fn pauses(self) -> &'static str {
        match self {
            Aim::Journalled => "journalled:200",
            Aim::HalfApplied => "before-write:30,after-write:30",
            Aim::Restoring => "before-restore:30,after-restore:30",
            Aim::Running | Aim::WatcherDead => "",
        }
    }

    /// How long after the phase began the kill may come, in milliseconds.
    fn spread(self, verb: Verb) -> u64 {
        match self {
            Aim::Journalled => 120,
            Aim::HalfApplied | Aim::Restoring => 220,
            // The state gate alone takes a second.
            Aim::Running if verb == Verb::Prove => 2500,
            Aim::Running | Aim::WatcherDead => 150,
        }
    }

    fn has_begun(self, set: &ChangeSet) -> bool {
        match self {
            Aim::Journalled => true,
            Aim::HalfApplied => set.stages.iter().any(|stage| *stage != Stage::Planned),
            Aim::Running | Aim::WatcherDead => set.applied,
            Aim::Restoring => set.is_undoing(),
        }
    }
}

/// The phase a journal tells of. The undo lines of a survivor come after the phase the owner died in, so what counts is
/// read right before the kill, and for the phases before `applied` afterwards, too.
fn phase_of(set: &ChangeSet) -> Aim {
    if set.is_undoing() {
        Aim::Restoring
    } else if set.applied {
        Aim::Running
    } else if set.stages.iter().any(|stage| *stage != Stage::Planned) {
        Aim::HalfApplied
    } else {
        Aim::Journalled
    }
}

/// The verb that owns the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    /// Applies, runs, undoes: the smallest owner.
    Hold,
    /// What users run.
    Prove,
}

/// One owner under a state folder of its own.
struct Run {
    state: PathBuf,
    /// Removes the state folder in the end, when it is the run's own.
    folder: Option<tempfile::TempDir>,
    owner: Child,
    /// How long its job sleeps: a number that only this run's job has on its command line.
    mark: String,
}

impl Run {
    fn start(verb: Verb, aim: Aim, number: u64) -> Run {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut run = Run::start_in(folder.path(), verb, aim, number);
        run.folder = Some(folder);
        run
    }

    fn start_in(state: &Path, verb: Verb, aim: Aim, number: u64) -> Run {
        // A job that forks: its second process is not the one that dies with its parent by itself.
        let seconds = if aim == Aim::Restoring { "0.02" } else { "30.0" };
        let mark = format!("{seconds}{:07}{number:04}", std::process::id());
        let job = format!("sleep {mark} & wait");
        let owner = Command::new(PAGEWISE)
            .args(verb.arguments())
            .args(["--", "sh", "-c", &job])
            .current_dir(state)
            .env("PAGEWISE_STATE_DIR", state)
            .env("PAGEWISE_CACHE_DIR", state.join("cache"))
            .env(pagewise_host::test_pause::VARIABLE, aim.pauses())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pagewise starts");
        Run { state: state.to_owned(), folder: None, owner, mark }
    }

    /// The newest change set; `prove` makes one per run.
    fn set(&self) -> Option<ChangeSet> {
        let folder = std::fs::read_dir(self.state.join("changes")).ok()?;
        let newest = folder.filter_map(|entry| Some(entry.ok()?.path())).max()?;
        replay::replay(&std::fs::read(newest).ok()?).expect("a journal is never damaged").set
    }

    fn is_all_closed(&self) -> bool {
        let journal = Journal::open(&self.state, &Root::live()).expect("a boot id");
        journal.open_sets().expect("a journal is never damaged").is_empty()
    }

    fn wait_for(&mut self, aim: Aim) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.set().is_some_and(|set| aim.has_begun(&set)) {
            assert!(Instant::now() < deadline, "{aim:?} never began");
            let ended = self.owner.try_wait().expect("our child");
            assert!(ended.is_none(), "the owner ended before {aim:?}: {ended:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The watcher, as long as the owner lives and has one.
    fn watcher(&self) -> Option<u32> {
        let is_ours = |pid: &u32| {
            parent(*pid) == Some(self.owner.id()) && command_line(*pid).contains("__watch") && is_alive(*pid)
        };
        process::pids(&Root::live()).into_iter().find(is_ours)
    }

    /// Whoever still runs of the job.
    fn job(&self) -> Vec<u32> {
        let is_ours = |pid: &u32| command_line(*pid).contains(&self.mark) && *pid != self.owner.id();
        process::pids(&Root::live()).into_iter().filter(|pid| is_alive(*pid)).filter(is_ours).collect()
    }

    /// The next verb that writes.
    fn next_writing_verb(&self) -> Output {
        pagewise(&self.state, &["revert", "--stale"])
    }
}

impl Verb {
    fn arguments(self) -> Vec<String> {
        let words: &[&str] = match self {
            Verb::Hold => &["__hold", POLICY],
            Verb::Prove => &["prove", "--name", "killed", "--pairs", "4", "--b", "b:vm.swappiness=44", "--a"],
        };
        let policy = (self == Verb::Prove).then(|| format!("a:{POLICY}"));
        words.iter().map(|word| (*word).to_owned()).chain(policy).collect()
    }
}

/// A test that fails must not leave the host changed either.
impl Drop for Run {
    fn drop(&mut self) {
        let watcher = self.watcher();
        let _ = self.owner.kill();
        let _ = self.owner.wait();
        watcher.into_iter().chain(self.job()).for_each(kill);
        if std::thread::panicking() {
            let reverted = pagewise(&self.state, &["revert", "--all"]);
            let journal = std::fs::read_to_string(self.state.join("changes/000001.jsonl"));
            let told = format!("{}\n{}", String::from_utf8_lossy(&reverted.stderr), journal.unwrap_or_default());
            let _ = std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes());
        }
    }
}

fn pagewise(state: &Path, arguments: &[&str]) -> Output {
    let run = Command::new(PAGEWISE).args(arguments).env("PAGEWISE_STATE_DIR", state).stdin(Stdio::null()).output();
    run.expect("pagewise starts")
}

fn parent(pid: u32) -> Option<u32> {
    let stat = Root::live().read(&format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn command_line(pid: u32) -> String {
    Root::live().read(&format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

fn is_alive(pid: u32) -> bool {
    process::start_time(&Root::live(), pid).is_some()
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    // It may have ended by itself a moment ago.
    let _ = rustix::process::kill_process(pid, signal);
}

fn kill(pid: u32) {
    signal(pid, rustix::process::Signal::KILL);
}

fn wait_until(within: Duration, what: &dyn Fn() -> bool) -> bool {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    what()
}

/// One kill. Returns the phase in which it came and, when a survivor restored the host, how long that took.
fn kill_once(
    verb: Verb,
    aim: Aim,
    victim: Victim,
    number: u64,
    dice: &mut Dice,
    before: &Values,
) -> (Aim, Option<Duration>) {
    let mut run = Run::start(verb, aim, number);
    run.wait_for(aim);
    let watcher = run.watcher().expect("nothing is written before the watcher watches");
    if aim == Aim::WatcherDead {
        kill(watcher);
        assert!(wait_until(SURVIVOR_WITHIN, &|| !is_alive(watcher)), "SIGKILL ends it");
    }
    std::thread::sleep(Duration::from_millis(dice.below(aim.spread(verb))));
    // What the job starts in the very moment it is started itself, its owner has not announced yet.
    let job_is_announced = aim == Aim::Running && {
        let runs = !run.job().is_empty();
        std::thread::sleep(ANNOUNCED_AFTER);
        runs
    };
    let seen = run.set().map(|set| phase_of(&set)).expect("it has begun");
    let phase = if aim == Aim::WatcherDead { Aim::WatcherDead } else { seen };
    let respawned = run.watcher();
    let killed_at = Instant::now();
    match victim {
        Victim::Owner => kill(run.owner.id()),
        Victim::Both => {
            kill(run.owner.id());
            respawned.into_iter().for_each(kill);
        }
        Victim::Watcher => {
            respawned.into_iter().for_each(kill);
            std::thread::sleep(Duration::from_millis(dice.below(200)));
            signal(run.owner.id(), rustix::process::Signal::INT);
        }
        Victim::OwnerInterrupted => signal(run.owner.id(), rustix::process::Signal::INT),
    }
    run.owner.wait().expect("our child");
    let context = format!("kill {number}: {victim:?} of {verb:?} in {phase:?} (aimed at {aim:?})");
    let survivor_restores = match victim {
        Victim::Owner => respawned.is_some(),
        Victim::Both => false,
        Victim::Watcher | Victim::OwnerInterrupted => true,
    };
    let is_as_before = || differences(before, &all_tunables()).is_empty();
    let mut took = None;
    if survivor_restores {
        // Ctrl-C lets the test's own pauses go on; a killed owner's watcher has none.
        let within = if victim == Victim::Owner { SURVIVOR_WITHIN } else { Duration::from_secs(10) };
        let restored = wait_until(within, &is_as_before);
        took = Some(killed_at.elapsed());
        assert!(restored, "{context}: the survivor did not restore\n{}", differences(before, &all_tunables()));
        if victim != Victim::Owner || job_is_announced {
            let gone = wait_until(SURVIVOR_WITHIN, &|| run.job().is_empty());
            assert!(gone, "{context}: the job outlived its run: {:?}", run.job());
        }
    }
    // Nobody was left to end the job's second process.
    run.job().into_iter().for_each(kill);
    let next = run.next_writing_verb();
    assert!(next.status.success(), "{context}: {}", String::from_utf8_lossy(&next.stderr));
    let left = differences(before, &all_tunables());
    assert!(left.is_empty(), "{context}: the next verb that writes did not restore\n{left}");
    assert!(run.is_all_closed(), "{context}: a change set is not closed");
    let watchers_end = wait_until(SURVIVOR_WITHIN, &|| respawned.is_none_or(|pid| !is_alive(pid)));
    assert!(watchers_end, "{context}: its watcher is still there");
    (phase, took)
}

#[test]
fn a_kill_at_any_moment_leaves_the_host_as_it_was() {
    requires!(root, thp, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let long = std::env::var_os("PAGEWISE_LONG").is_some();
    let seed = std::env::var("PAGEWISE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        u64::from(std::process::id())
            ^ u64::from(rustix::process::getppid().map_or(0, |p| p.as_raw_nonzero().get() as u32)) << 32
    });
    let mut dice = Dice(seed);
    let before = all_tunables();
    let (kills, each) = if long { (200, 20) } else { (50, 5) };
    let mut histogram: BTreeMap<Aim, u32> = BTreeMap::new();
    let mut slowest = Duration::ZERO;
    let mut done = 0;
    // Aimed in turn, and on until each phase was really hit often enough; one that cannot be hit fails by the limit.
    while done < kills || AIMS.iter().any(|aim| histogram.get(aim).is_none_or(|hits| *hits < each)) {
        assert!(done < 2 * kills, "after {done} kills (seed {seed}) some phase was hit too rarely: {histogram:?}");
        let aim = AIMS[(done % AIMS.len() as u64) as usize];
        let victims: &[Victim] = if aim == Aim::WatcherDead {
            &[Victim::Owner, Victim::Both, Victim::OwnerInterrupted]
        } else {
            &[Victim::Owner, Victim::Owner, Victim::Both, Victim::Watcher, Victim::OwnerInterrupted]
        };
        let victim = victims[dice.below(victims.len() as u64) as usize];
        let verb = if done % 2 == 0 { Verb::Hold } else { Verb::Prove };
        let (phase, took) = kill_once(verb, aim, victim, done, &mut dice, &before);
        *histogram.entry(phase).or_default() += 1;
        if victim == Victim::Owner {
            slowest = slowest.max(took.unwrap_or_default());
        }
        done += 1;
    }
    let mut report = format!("nothing leaked in {done} kills (seed {seed}); by phase:\n");
    for (phase, hits) in &histogram {
        let _ = writeln!(report, "  {:<12} {hits:>4}", format!("{phase:?}"));
    }
    let _ = write!(report, "slowest restore by a surviving watcher: {:.0} ms", slowest.as_secs_f64() * 1e3);
    // Past the harness, which would keep what a test that passes prints.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{report}\n").as_bytes());
    if let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") {
        let hits: BTreeMap<String, u32> = histogram.iter().map(|(phase, hits)| (format!("{phase:?}"), *hits)).collect();
        let result = serde_json::json!({
            "claim": "nothing leaks", "kills": done, "seed": seed, "phases": hits,
            "slowest_restore_by_watcher_seconds": slowest.as_secs_f64(),
            "kernel": Root::live().read("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        });
        let path = PathBuf::from(folder).join("nothing-leaks.json");
        std::fs::write(&path, format!("{result:#}\n")).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

#[test]
fn a_colleagues_edit_before_the_kill_is_left_and_reported() {
    requires!(root, thp, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let before = all_tunables();
    let mut run = Run::start(Verb::Hold, Aim::Running, 0);
    run.wait_for(Aim::Running);
    let watcher = run.watcher().expect("a watcher");
    let swappiness = find("vm.swappiness").expect("a tunable");
    tunable::write(&Root::live(), &swappiness, "77").expect("root may");
    kill(run.owner.id());
    kill(watcher);
    run.owner.wait().expect("our child");
    run.job().into_iter().for_each(kill);
    let told = run.next_writing_verb();
    let left = tunable::read(&Root::live(), &swappiness).expect("readable");
    tunable::write(&Root::live(), &swappiness, &before["vm.swappiness"]).expect("root may");
    assert_eq!(left, "77");
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("vm.swappiness was changed by someone else since and is left at 77"), "{told}");
    assert_eq!(differences(&before, &all_tunables()), "");
}

/// A tmpfs of 64 KiB as the state folder, gone again at the end.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> SmallDisk {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = ["-t", "tmpfs", "-o", "size=64k", "pagewise-test"];
        let mounted = Command::new("mount").args(options).arg(folder.path()).status().expect("mount runs");
        assert!(mounted.success(), "root may mount a tmpfs");
        SmallDisk(folder)
    }

    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.path().join("filling")).expect("an empty disk");
        while std::io::Write::write_all(&mut file, &[1; 512]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_stops_a_change_before_it_begins_and_never_an_undo() {
    requires!(root, thp, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let before = all_tunables();
    let disk = SmallDisk::mount();
    let state = disk.0.path();

    let set = pagewise(state, &["set", POLICY]);
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    disk.fill();
    let reverted = pagewise(state, &["revert"]);
    assert!(reverted.status.success(), "{}", String::from_utf8_lossy(&reverted.stderr));
    assert_eq!(differences(&before, &all_tunables()), "");

    let refused = pagewise(state, &["set", POLICY]);
    assert_eq!(refused.status.code(), Some(3));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("No space left") && told.contains(&state.display().to_string()), "{told}");
    assert_eq!(differences(&before, &all_tunables()), "");
}

#[test]
fn a_disk_that_fills_up_at_any_moment_of_a_change_leaves_the_host_as_it_was() {
    requires!(root, thp, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let before = all_tunables();
    for aim in [Aim::Journalled, Aim::HalfApplied, Aim::Running, Aim::Restoring] {
        let disk = SmallDisk::mount();
        let mut run = Run::start_in(disk.0.path(), Verb::Hold, aim, 1);
        run.wait_for(aim);
        disk.fill();
        if aim != Aim::Restoring {
            std::thread::sleep(Duration::from_millis(600));
            signal(run.owner.id(), rustix::process::Signal::INT);
        }
        run.owner.wait().expect("our child");
        assert_eq!(differences(&before, &all_tunables()), "", "the disk filled up in {aim:?}");
    }
}

#[test]
fn a_state_folder_that_cannot_be_written_is_refused_before_the_host_is_touched() {
    requires!(root, thp, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let disk = SmallDisk::mount();
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0.path()).status().expect("mount runs");
    assert!(remounted.success());
    let refused = pagewise(disk.0.path(), &["set", POLICY]);
    assert_eq!(refused.status.code(), Some(3));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("Read-only file system") && told.contains("nothing was changed"), "{told}");
}
