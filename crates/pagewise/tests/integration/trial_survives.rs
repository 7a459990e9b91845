//! Nothing is lost: a trial that is killed again and again, in whatever it is doing, ends with every point run exactly once, every
//! setting and every data set as they should be.
//!
//! On the real host with real tunables, restored data and recordings. 50 kills in a normal run; 200 with `PAGEWISE_LONG=1`, at
//! least 15 in each phase. The seed is printed; `PAGEWISE_SEED` repeats it.

use pagewise_core::change::replay;
use pagewise_core::experiment::point::Outcome;
use pagewise_host::root::Root;
use pagewise_host::source::process;
use pagewise_host::store::bundle::{Bundle, State};
use pagewise_testkit::kills::{Dice, Values, all_tunables, differences};
use pagewise_testkit::said::{is_given_up, unwrapped};
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

const PAGEWISE: &str = env!("CARGO_BIN_EXE_pagewise");

/// What the engine is doing when it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Before the bundle is there, or before its first point.
    Plan,
    /// The data of a point are being put back.
    Restore,
    /// Its policy is being applied, or the gate waits.
    Apply,
    /// Its job runs.
    Run,
    /// Its policy is undone, its recording closed, its result written.
    Record,
    /// Every point has its result.
    Analyse,
}

const PHASES: [Phase; 6] = [Phase::Plan, Phase::Restore, Phase::Apply, Phase::Run, Phase::Record, Phase::Analyse];

/// Its job spoils the data it is given, so that a copy that is not put back is found out.
const PLAN: &str = r#"
name = "killed"
[workload]
name = "command"
run = ["sh", "-c", "cat $PAGEWISE_DATA/input > /dev/null && rm $PAGEWISE_DATA/input && sleep 0.2"]
[[factor]]
name = "swappiness"
levels.low = "vm.swappiness=11"
levels.high = "vm.swappiness=91"
[[factor]]
name = "mode"
levels.one = "env.MODE=1"
levels.two = "env.MODE=2"
[design]
blocks = 3
warmup = 0
seed = 8
[data]
restore = "overlay"
[recording]
hz = 5
[[contrast]]
factor = "swappiness"
a = "low"
b = "high"
primary = true
"#;

/// One trial in a folder of its own.
struct Trial {
    folder: tempfile::TempDir,
    name: String,
}

impl Trial {
    fn new(number: u64) -> Trial {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("data")).expect("an empty folder");
        fs::write(folder.path().join("data/input"), "what every run needs\n").expect("room");
        fs::write(folder.path().join("plan.toml"), PLAN).expect("room");
        Trial { folder, name: format!("killed-{number}") }
    }

    fn bundle(&self) -> PathBuf {
        self.folder.path().join(format!("{}.trial", self.name))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PAGEWISE);
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("PAGEWISE_STATE_DIR", self.folder.path().join("state"))
            .env("PAGEWISE_CACHE_DIR", self.folder.path().join("cache"))
            .stdin(Stdio::null());
        command
    }

    /// `trial run` as long as there is no bundle, `trial resume` from then on.
    fn words(&self) -> Vec<String> {
        let bundle = self.bundle().display().to_string();
        let words: Vec<&str> = if self.bundle().exists() {
            vec!["trial", "resume", &bundle, "--data", "data"]
        } else {
            vec!["trial", "run", "plan.toml", "--name", &self.name, "--data", "data"]
        };
        words.into_iter().map(str::to_owned).collect()
    }

    fn go_on(&self, pauses: &str) -> Child {
        let words = self.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.command(&words);
        let said = fs::File::create(self.said()).expect("room");
        command.env(pagewise_host::test_pause::VARIABLE, pauses).stdout(Stdio::null()).stderr(said);
        command.spawn().expect("pagewise starts")
    }

    /// Of an engine that ended by itself. A busy host may spoil a run as often as the engine bears it.
    fn must_have_ended_well(&self, ended: ExitStatus) {
        let words = self.last_words();
        assert!(ended.success() || is_given_up(&words), "it ended with {ended}. {words}");
    }

    fn last_words(&self) -> String {
        let said = fs::read_to_string(self.said()).unwrap_or_default();
        format!("It has {:?} and said: {}", self.states(), unwrapped(&said))
    }

    /// Where what the engine says goes.
    fn said(&self) -> PathBuf {
        self.folder.path().join("said")
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("pagewise starts")
    }

    fn states(&self) -> Option<Vec<State>> {
        Some(Bundle::open(&self.bundle()).ok()?.states().ok()?.into_iter().map(|point| point.state).collect())
    }

    /// What the newest change set says: applied, being undone.
    fn change(&self) -> Option<(bool, bool, bool)> {
        let folder = fs::read_dir(self.folder.path().join("state/changes")).ok()?;
        let newest = folder.filter_map(|entry| Some(entry.ok()?.path())).max()?;
        let replayed = replay::replay(&fs::read(newest).ok()?).ok()?;
        replayed.set.map(|set| (set.closed.is_none(), set.applied, set.is_undoing()))
    }

    /// Attempts that an earlier kill left under way: until they are closed, what the database shows is not what runs.
    fn leftovers(&self) -> Vec<(u32, u32, bool)> {
        Bundle::open(&self.bundle()).and_then(|bundle| bundle.cut_off()).unwrap_or_default()
    }

    /// Whether every point has its result, so that only the analysis is left.
    fn is_complete(&self) -> bool {
        self.states().is_some_and(|states| has_every_result(&states))
    }

    /// What the engine is doing now. `None` while it cannot be told.
    fn phase(&self, leftovers: &[(u32, u32, bool)]) -> Option<Phase> {
        if !self.bundle().exists() {
            return Some(Phase::Plan);
        }
        let states = self.states()?;
        if !leftovers.is_empty() && self.leftovers() == leftovers {
            return None;
        }
        if has_every_result(&states) {
            return Some(Phase::Analyse);
        }
        if states.contains(&State::Running) {
            let undoing = self.change().is_some_and(|(open, _, undoing)| undoing || !open);
            return Some(if undoing { Phase::Record } else { Phase::Run });
        }
        if states.contains(&State::Armed) {
            let changing = self.change().is_some_and(|(open, _, undoing)| open && !undoing);
            return Some(if changing { Phase::Apply } else { Phase::Restore });
        }
        Some(if states.iter().any(is_result) { Phase::Record } else { Phase::Plan })
    }
}

fn is_result(state: &State) -> bool {
    matches!(state, State::Done | State::Failed)
}

/// Of the plan's three blocks of four.
fn has_every_result(states: &[State]) -> bool {
    states.iter().filter(|state| is_result(state)).count() == 12
}

/// Ends a test whose engine hangs. An engine that waits for a disk that the rest of the machine keeps busy is slow and hangs not: before
/// each of its points it may wait for as long as its gate does.
struct Patience<'a> {
    trial: &'a Trial,
    states: Option<Vec<State>>,
    since: Instant,
}

impl<'a> Patience<'a> {
    /// Longer than the gate waits, for the point that is under way.
    const LONGEST: Duration = Duration::from_secs(90);

    fn with(trial: &'a Trial) -> Patience<'a> {
        Patience { trial, states: None, since: Instant::now() }
    }

    fn check(&mut self, awaited: &str) {
        let states = self.trial.states();
        if states != self.states {
            self.states = states;
            self.since = Instant::now();
        }
        assert!(self.since.elapsed() < Self::LONGEST, "{awaited}: nothing moves. {}", self.trial.last_words());
    }
}

/// Whatever is mounted below a folder.
fn mounts_below(folder: &Path) -> Vec<String> {
    let mounts = Root::live().read("/proc/self/mountinfo").expect("readable");
    let folder = folder.display().to_string();
    mounts.lines().filter(|line| line.contains(&folder)).map(str::to_owned).collect()
}

fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    // It may have ended by itself a moment ago.
    let _ = rustix::process::kill_process(pid, signal);
}

fn watcher_of(owner: u32) -> Option<u32> {
    let root = Root::live();
    let is_ours = |pid: &u32| {
        let stat = root.read(&format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let words = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        parent == Some(owner) && words.contains("__watch")
    };
    process::pids(&root).into_iter().find(is_ours)
}

/// One kill, aimed at a phase; `missed`: how many in a row came after the end of theirs. Gives the phase it came in, or `None` when the
/// trial ended first.
fn kill_once(trial: &Trial, aim: Phase, missed: u32, dice: &mut Dice) -> Option<Phase> {
    // The pauses hold open what is over in a moment: the longer, the more kills were late.
    let held = match aim {
        Phase::Restore => &["data-placed"][..],
        Phase::Apply => &["before-write", "after-write"],
        Phase::Record => &["before-restore", "after-restore"],
        Phase::Analyse => &["analysed"],
        Phase::Plan | Phase::Run => &[],
    };
    let pauses: Vec<String> = held.iter().map(|moment| format!("{moment}:{}", 40 << missed.min(5))).collect();
    let leftovers = trial.leftovers();
    // Some phases are over in less time than it takes to read what a trial is doing: what is known already is not asked.
    let is_complete = trial.is_complete();
    let is_new = !trial.bundle().exists();
    let mut owner = trial.go_on(&pauses.join(","));
    let mut patience = Patience::with(trial);
    let mut seen = match (is_new, is_complete) {
        (true, _) => Some(Phase::Plan),
        (_, true) => Some(Phase::Analyse),
        _ => None,
    };
    while seen != Some(aim) {
        if let Some(ended) = owner.try_wait().expect("our child") {
            trial.must_have_ended_well(ended);
            return None;
        }
        patience.check(&format!("{aim:?} is awaited, {seen:?} was seen last"));
        std::thread::sleep(Duration::from_millis(1));
        seen = trial.phase(&leftovers);
    }
    let spread: u64 = match aim {
        Phase::Run => 150,
        Phase::Plan => 20,
        _ => 40,
    };
    // A host that is through with a phase sooner than that is killed sooner the next time.
    std::thread::sleep(Duration::from_millis(dice.below((spread >> missed.min(5)).max(1))));
    let phase = if is_complete { aim } else { trial.phase(&leftovers).unwrap_or(aim) };
    let watcher = if is_complete { None } else { watcher_of(owner.id()) };
    match dice.below(4) {
        0 => {
            kill(owner.id(), rustix::process::Signal::KILL);
            watcher.into_iter().for_each(|pid| kill(pid, rustix::process::Signal::KILL));
        }
        _ => kill(owner.id(), rustix::process::Signal::KILL),
    }
    let ended = owner.wait().expect("our child");
    if ended.code().is_some() {
        // It was quicker than the signal.
        trial.must_have_ended_well(ended);
        return None;
    }
    Some(phase)
}

/// Brings a trial to its end and holds it to everything that was promised.
fn finish(trial: &Trial, before: &Values, kills: &[Phase]) {
    let context = || format!("after kills in {kills:?} (the seed is printed)");
    let words = trial.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut ended = trial.run(&words);
    for _ in 0..3 {
        if is_given_up(&told(&ended)) {
            ended = trial.run(&words);
        }
    }
    assert!(ended.status.success(), "{}: {}", context(), told(&ended));

    let bundle = Bundle::open(&trial.bundle()).unwrap_or_else(|error| panic!("{}: {error}", context()));
    let points = bundle.points().expect("a bundle that can be read");
    let order = bundle.frozen().order.clone();
    for planned in &order.points {
        let attempts: Vec<_> = points.iter().filter(|point| point.planned.index == planned.index).collect();
        let results = attempts.iter().filter(|point| point.outcome != Outcome::Invalid).count();
        assert_eq!(results, 1, "{}: point {} has {results} results", context(), planned.index);
        let numbers: Vec<u32> = attempts.iter().map(|point| point.attempt).collect();
        assert_eq!(numbers, (1..=attempts.len() as u32).collect::<Vec<_>>(), "{}: attempts are counted", context());
        let last = attempts.last().expect("one result");
        assert_eq!(last.outcome, Outcome::Ok, "{}: {:?}", context(), last.reason);
        for attempt in &attempts[..attempts.len() - 1] {
            let reason = attempt.reason.as_deref().unwrap_or_default();
            // Neighbours of a virtual machine may spoil a run, too; it is run again like any other.
            let is_by_neighbours =
                reason.starts_with("the hypervisor took") || reason.contains("was stopped or got no CPU");
            let is_told = reason.contains("Pagewise ended") || reason == "interrupted" || is_by_neighbours;
            assert!(is_told, "{}: {reason}", context());
        }
        let recording = trial.bundle().join(format!("recordings/{}-{}.pgw", planned.index, last.attempt));
        let recording = pagewise_host::store::recording::Recording::open(&recording);
        assert!(recording.is_ok_and(|recording| recording.is_complete()), "{}: the result's recording", context());
    }
    let killed_in_a_point =
        kills.iter().filter(|phase| matches!(phase, Phase::Apply | Phase::Run | Phase::Restore)).count();
    let invalid = points.iter().filter(|point| point.outcome == Outcome::Invalid).count();
    assert!(invalid >= killed_in_a_point, "{}: {invalid} attempts of {killed_in_a_point} are kept", context());

    assert_eq!(differences(before, &all_tunables()), "", "{}", context());
    assert_eq!(mounts_below(trial.folder.path()), Vec::<String>::new(), "{}", context());
    let input = fs::read_to_string(trial.folder.path().join("data/input")).expect("the data are untouched");
    assert_eq!(input, "what every run needs\n", "{}", context());
    let path = trial.bundle().display().to_string();
    let verified = trial.run(&["trial", "verify", &path]);
    assert!(verified.status.success(), "{}: {}", context(), String::from_utf8_lossy(&verified.stderr));
    let scratch = fs::read_dir(trial.folder.path().join("cache/runs")).map(Iterator::count).unwrap_or(0);
    assert_eq!(scratch, 0, "{}: scratch folders are left", context());
}

#[test]
fn a_trial_that_is_killed_at_any_moment_loses_nothing_and_doubles_nothing() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let long = std::env::var_os("PAGEWISE_LONG").is_some();
    let seed = std::env::var("PAGEWISE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()).wrapping_mul(0x2545_f491_4f6c_dd1d));
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("kills of trials, seed {seed}\n").as_bytes());
    let mut dice = Dice(seed);
    let before = all_tunables();
    let (kills, each) = if long { (200, 15) } else { (50, 4) };
    let mut histogram: BTreeMap<Phase, u32> = BTreeMap::new();
    let (mut trials, mut done, mut tries, mut missed) = (0, 0, 0, 0);
    let mut trial = Trial::new(trials);
    let mut of_this: Vec<Phase> = Vec::new();
    let rare = |histogram: &BTreeMap<Phase, u32>| {
        PHASES.into_iter().find(|phase| histogram.get(phase).is_none_or(|hits| *hits < each))
    };
    while done < kills || rare(&histogram).is_some() {
        assert!(
            tries < 6 * kills,
            "after {done} kills (seed {seed}) some phase was hit too rarely: {histogram:?}; the last {missed} came too late. \
             {}",
            trial.last_words()
        );
        tries += 1;
        let begun = trial.bundle().exists();
        // What can still happen to this trial, the phases that were hit least first.
        let mut aims: Vec<Phase> = match (begun, trial.is_complete()) {
            (_, true) => vec![Phase::Analyse],
            (false, _) => vec![Phase::Plan, Phase::Restore, Phase::Apply, Phase::Run],
            (true, false) => vec![Phase::Restore, Phase::Apply, Phase::Run, Phase::Record, Phase::Analyse],
        };
        aims.sort_by_key(|phase| histogram.get(phase).copied().unwrap_or(0));
        // A kill costs its trial a point or nothing: after so many it has earned its end.
        let aim = aims[0];
        let hit = kill_once(&trial, aim, missed, &mut dice);
        missed = if hit == Some(aim) { 0 } else { missed + 1 };
        if let Some(phase) = hit {
            *histogram.entry(phase).or_default() += 1;
            of_this.push(phase);
            done += 1;
        }
        let enough = of_this.len() >= 12 || of_this.iter().filter(|phase| **phase == Phase::Analyse).count() >= 3;
        if enough {
            finish(&trial, &before, &of_this);
            trials += 1;
            trial = Trial::new(trials);
            of_this.clear();
        }
    }
    finish(&trial, &before, &of_this);
    let mut report = format!("nothing was lost in {done} kills of {} trials (seed {seed}); by phase:\n", trials + 1);
    for (phase, hits) in &histogram {
        let _ = writeln!(report, "  {:<8} {hits:>4}", format!("{phase:?}"));
    }
    // Past the harness, which would keep what a test that passes prints.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), report.as_bytes());
    if let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") {
        let hits: BTreeMap<String, u32> = histogram.iter().map(|(phase, hits)| (format!("{phase:?}"), *hits)).collect();
        let result = serde_json::json!({
            "claim": "a killed trial loses nothing", "kills": done, "trials": trials + 1, "seed": seed, "phases": hits,
            "kernel": Root::live().read("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        });
        let path = PathBuf::from(folder).join("trial-survives.json");
        fs::write(&path, format!("{result:#}\n")).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// A trial stopped in its middle, for what may happen to a bundle while nobody runs it.
fn interrupted() -> Trial {
    let trial = Trial::new(0);
    let mut owner = trial.go_on("");
    let mut patience = Patience::with(&trial);
    while trial.states().is_none_or(|states| states.iter().filter(|state| **state == State::Done).count() < 2) {
        patience.check("two runs are awaited");
        assert!(owner.try_wait().expect("our child").is_none(), "it ended early. {}", trial.last_words());
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(owner.id(), rustix::process::Signal::INT);
    assert_eq!(owner.wait().expect("our child").code(), Some(130));
    trial
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn analyses_before_the_end_edits_and_second_engines_are_refused_and_nothing_is_lost() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let before = all_tunables();
    let trial = interrupted();
    let path = trial.bundle().display().to_string();

    let early = trial.run(&["trial", "analyze", &path]);
    assert_eq!(early.status.code(), Some(3));
    assert!(
        told(&early).contains("of 3 blocks are complete, and the plan's next analysis is after 3"),
        "{}",
        told(&early)
    );
    let status = trial.run(&["trial", "status", &path]);
    assert!(status.status.success(), "{}", told(&status));
    assert!(String::from_utf8_lossy(&status.stdout).contains("of 12 runs done"));

    let mut first = trial.go_on("");
    let mut patience = Patience::with(&trial);
    while trial.states().is_none_or(|states| !states.contains(&State::Running)) {
        patience.check("it must run on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = trial.run(&["trial", "resume", &path, "--data", "data"]);
    assert_eq!(second.status.code(), Some(3), "{}", told(&second));
    assert!(
        told(&second).contains("being run by another pagewise") || told(&second).contains("holds"),
        "{}",
        told(&second)
    );
    kill(first.id(), rustix::process::Signal::INT);
    first.wait().expect("our child");

    let plan = trial.bundle().join("plan.toml");
    let text = fs::read_to_string(&plan).expect("a plan");
    fs::write(&plan, text.replace("vm.swappiness=91", "vm.swappiness=92")).expect("room");
    let edited = trial.run(&["trial", "resume", &path, "--data", "data"]);
    assert_eq!(edited.status.code(), Some(3), "{}", told(&edited));
    assert!(told(&edited).contains("a plan is frozen"), "{}", told(&edited));
    let kept = trial.bundle().join("plan.toml.frozen");
    assert_eq!(fs::read_to_string(&kept).expect("the plan as it was"), text);
    fs::rename(&kept, &plan).expect("a move");

    fs::write(trial.folder.path().join("data/input"), "other data\n").expect("room");
    let other_data = trial.run(&["trial", "resume", &path, "--data", "data"]);
    assert_eq!(other_data.status.code(), Some(3), "{}", told(&other_data));
    assert!(told(&other_data).contains("the data are not those"), "{}", told(&other_data));
    fs::write(trial.folder.path().join("data/input"), "what every run needs\n").expect("room");

    finish(&trial, &before, &[]);
}

#[test]
fn a_journal_that_is_cut_off_in_mid_page_is_told_and_the_file_is_left_alone() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let trial = interrupted();
    let path = trial.bundle().display().to_string();
    let database = trial.bundle().join("points.sqlite");
    let whole = fs::read(&database).expect("a database");
    let cut = &whole[..whole.len() - 2000];
    fs::write(&database, cut).expect("room");
    let refused = trial.run(&["trial", "resume", &path, "--data", "data"]);
    assert_eq!(refused.status.code(), Some(3), "{}", told(&refused));
    assert!(told(&refused).contains(&path), "{}", told(&refused));
    assert_eq!(fs::read(&database).expect("still there").len(), cut.len(), "nothing is thrown away");
    fs::write(&database, &whole).expect("room");
    finish(&trial, &all_tunables(), &[]);
}
