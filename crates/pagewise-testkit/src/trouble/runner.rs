//! Induces and records: a generator under its settings, then the real recorder beside it, then what the kernel's counters
//! prove, written into the recording.

use super::proof::{ProofResult, Snapshot, is_boosted};
use super::{Severity, Trouble, stage};
use pagewise_core::experiment::plan::Design;
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::trial::gate::{Decision, Gate};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the generators find the program under test.
pub(super) const PAGEWISE: &str = "PAGEWISE_TROUBLE_BINARY";

/// How long settings, set-up and the undo of both may take beside the recording.
const PATIENCE: Duration = Duration::from_secs(240);

/// How long a generator that has been told to stop may take; what it leaves then is swept up.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

/// What was made is not recorded to its end, and everything is put back.
const INTERRUPTED: &str = "interrupted";

/// Key of `meta` under which a recording says what it is of.
pub const META: &str = "trouble";

/// What else `pagewise record` takes, where it can: stacks and stalls, without the names of anybody's processes.
pub const ALL_EVIDENCE: [&str; 4] = ["--stacks", "19", "--stalls", "--redact"];

/// Makes recordings.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The program under test.
    pub pagewise: PathBuf,
    /// The command that calls [`super::make_what_is_asked`].
    pub maker: Vec<OsString>,
    /// Where its change journal lies; its own place by default.
    pub state_dir: Option<PathBuf>,
    /// A name for this host that says nothing about it.
    pub host: String,
    /// More arguments of `pagewise record`.
    pub record_args: Vec<String>,
    /// Where a recording grows, as [`GROWS`] in a folder of its own, before it is brought to its place: there may be a folder that a guest
    /// shares with its host, which does not do for recording.
    pub temporary: PathBuf,
}

/// Name of a recording that grows.
pub const GROWS: &str = "made.pgw";

/// What a recording is of: the truth that its findings are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The finding that must be made, or the healthy load.
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// Nothing was wrong.
    pub healthy: bool,
    /// What it did, in numbers.
    pub does: String,
    /// The settings it was made under.
    pub policy: String,
    /// The host's name.
    pub host: String,
    /// The day, UTC.
    pub day: String,
    /// Whether the kernel's counters show that it happened. Always, for a healthy load.
    pub made: bool,
    /// What they show.
    pub proof: Vec<ProofResult>,
}

/// Copies a file to its place, where it is whole or not there.
fn bring(made: &Path, file: &Path) -> std::io::Result<()> {
    let part = file.with_extension("part");
    let brought = fs::copy(made, &part).and_then(|_| fs::rename(&part, file));
    if brought.is_err() {
        let _ = fs::remove_file(&part);
    }
    brought
}

impl Runner {
    /// Makes one and records it to `file`, `seconds` long (as long as its rule asks for, by default). An interrupt ends both
    /// at once.
    ///
    /// # Errors
    /// In words; the host is as it was, and there is no file.
    pub fn record(
        &self,
        trouble: &Trouble,
        severity: Severity,
        seconds: Option<u32>,
        file: &Path,
        interrupt: &Interrupt,
    ) -> Result<Label, String> {
        let seconds = seconds.unwrap_or(trouble.seconds);
        stage::sweep();
        let folder = tempfile::tempdir_in(&self.temporary).map_err(|error| error.to_string())?;
        let says = folder.path().join("says");
        let made = folder.path().join(GROWS);
        let process = self.start(trouble, severity, seconds, &says)?;
        let mut maker = Maker { process, holds: !trouble.dose(severity).policy.is_empty() };
        let ready = maker.wait_until_ready(&says, interrupt);
        let outcome = ready.and_then(|()| self.diagnose(trouble, seconds, &made, interrupt));
        let outcome = outcome.and_then(|proof| maker.end(&says, interrupt).map(|()| proof));
        // One that nobody waits for any longer is stopped.
        drop(maker);
        stage::sweep();
        let label = outcome.map(|proof| self.label(trouble, severity, proof));
        let label = label?;
        write_label(&made, &label)?;
        bring(&made, file).map_err(|error| format!("cannot bring the recording to {}: {error}", file.display()))?;
        Ok(label)
    }

    /// Makes one that lasts at least `seconds`, and calls `meanwhile` once it is there. Gives what that gave, and what the
    /// kernel's counters show of the trouble in the time it took.
    ///
    /// # Errors
    /// In words, when it could not be made or did not last; the host is as it was.
    pub fn during<T>(
        &self,
        trouble: &Trouble,
        seconds: u32,
        meanwhile: impl FnOnce() -> Result<T, String>,
    ) -> Result<(T, Vec<ProofResult>), String> {
        stage::sweep();
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let says = folder.path().join("says");
        let holds = !trouble.dose(Severity::Mild).policy.is_empty();
        let mut maker = Maker { process: self.start(trouble, Severity::Mild, seconds, &says)?, holds };
        let never = Interrupt::default();
        let outcome = maker.wait_until_ready(&says, &never).and_then(|()| {
            let before = Snapshot::take();
            let given = meanwhile()?;
            let after = Snapshot::take();
            let shown = trouble.proof.iter().map(|proof| proof.between(&before, &after)).collect();
            // One that ended before was not there all the while.
            let is_there = matches!(maker.process.try_wait(), Ok(None));
            if is_there { Ok((given, shown)) } else { Err(failure(&says, "it ended too early")) }
        });
        let ended = maker.end(&says, &never);
        stage::sweep();
        outcome.and_then(|given| ended.map(|()| given))
    }

    fn start(&self, trouble: &Trouble, severity: Severity, seconds: u32, says: &Path) -> Result<Child, String> {
        let policy = trouble.dose(severity).policy;
        let mut command = match (policy, self.maker.split_first()) {
            (_, None) => return Err("no command makes trouble".to_owned()),
            ("", Some((program, arguments))) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            (policy, Some(_)) => {
                let mut command = self.pagewise();
                command.args(["__hold", policy, "--"]).args(&self.maker);
                command
            }
        };
        command.env(stage::ASKED, format!("{},{severity},{seconds}", trouble.id)).env(stage::SAYS, says);
        command.env(PAGEWISE, &self.pagewise).stdin(Stdio::null()).stdout(Stdio::null());
        // Errors go to a file: nobody reads a pipe meanwhile.
        let errors = fs::File::create(says.with_extension("errors")).map_err(|error| error.to_string())?;
        command.stderr(errors).spawn().map_err(|error| format!("cannot start {command:?}: {error}"))
    }

    fn pagewise(&self) -> Command {
        let mut command = Command::new(&self.pagewise);
        if let Some(folder) = &self.state_dir {
            command.arg("--state-dir").arg(folder);
        }
        command
    }

    fn diagnose(
        &self,
        trouble: &Trouble,
        seconds: u32,
        file: &Path,
        interrupt: &Interrupt,
    ) -> Result<Vec<ProofResult>, String> {
        let before = Snapshot::take();
        let mut command = self.pagewise();
        command.args(["record", "--for", &format!("{seconds}s"), "-o"]).arg(file).args(&self.record_args);
        let mut recorder = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let mut boosted = (0, 0);
        while !interrupt.is_set() && recorder.try_wait().map_err(|error| error.to_string())?.is_none() {
            boosted = (boosted.0 + u32::from(is_boosted()), boosted.1 + 1);
            interrupt.wait(Duration::from_millis(250));
        }
        if interrupt.is_set() {
            // It may have had the same Ctrl-C.
            tell(&recorder, rustix::process::Signal::INT);
            recorder.wait().map_err(|error| error.to_string())?;
            return Err(INTERRUPTED.to_owned());
        }
        let output = recorder.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("recording failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let after = Snapshot::take().with_boosts(boosted);
        Ok(trouble.proof.iter().map(|proof| proof.between(&before, &after)).collect())
    }

    fn label(&self, trouble: &Trouble, severity: Severity, proof: Vec<ProofResult>) -> Label {
        let dose = trouble.dose(severity);
        Label {
            id: trouble.id.to_owned(),
            severity,
            healthy: trouble.is_healthy(),
            does: dose.does.to_owned(),
            policy: dose.policy.to_owned(),
            host: self.host.clone(),
            day: today(),
            made: proof.iter().all(|shown| shown.holds),
            proof,
        }
    }
}

/// The generator's process, or the one that holds its settings.
struct Maker {
    process: Child,
    /// It is the one that holds settings.
    holds: bool,
}

impl Maker {
    fn wait_until_ready(&mut self, says: &Path, interrupt: &Interrupt) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if interrupt.is_set() {
                return Err(INTERRUPTED.to_owned());
            }
            let said = fs::read_to_string(says).unwrap_or_default();
            if said.lines().any(|line| line == stage::READY) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(failure(says, &format!("it ended with {status} before it was ready")));
            }
            if Instant::now() > deadline {
                return Err(failure(says, "it did not come to be ready"));
            }
            interrupt.wait(Duration::from_millis(50));
        }
    }

    /// Waits for its end: it ends by itself, and what it held is put back by then.
    fn end(&mut self, says: &Path, interrupt: &Interrupt) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.process.try_wait().map_err(|error| error.to_string())? {
                _ if interrupt.is_set() => return Err(INTERRUPTED.to_owned()),
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(failure(says, &format!("it ended with {status}"))),
                None if Instant::now() > deadline => return Err(failure(says, "it did not end")),
                None => interrupt.wait(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            // Asked, the holder puts everything back; and its watcher does when it has to be killed.
            tell(&self.process, rustix::process::Signal::TERM);
            let deadline = Instant::now() + if self.holds { PATIENCE } else { STOPS_WITHIN };
            while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

fn tell(process: &Child, signal: rustix::process::Signal) {
    if let Some(pid) = i32::try_from(process.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // Nobody has waited for it, so the number is still its own.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn failure(says: &Path, what: &str) -> String {
    let errors = fs::read_to_string(says.with_extension("errors")).unwrap_or_default();
    let said = fs::read_to_string(says).unwrap_or_default();
    let words: Vec<&str> =
        said.lines().filter(|line| *line != stage::READY).chain(errors.lines()).map(str::trim).collect();
    if words.is_empty() { what.to_owned() } else { format!("{what}: {}", words.join("; ")) }
}

fn write_label(file: &Path, label: &Label) -> Result<(), String> {
    let text = serde_json::to_string(label).map_err(|error| error.to_string())?;
    let database = rusqlite::Connection::open(file).map_err(|error| error.to_string())?;
    let written = database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", [META, &text]);
    written.map(|_| ()).map_err(|error| format!("cannot label {}: {error}", file.display()))
}

/// The recordings of a folder, in the order of their names.
///
/// # Errors
/// In words, when the folder cannot be read.
pub fn recordings(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "pgw"));
    files.sort();
    Ok(files)
}

/// What a recording is of.
///
/// # Errors
/// In words, when it is no recording or has no label.
pub fn label(file: &Path) -> Result<Label, String> {
    label_and_kernel(file).map(|(label, _)| label)
}

/// What a recording is of, and the release of the kernel it was made on, where it says so.
///
/// # Errors
/// See [`label`].
pub fn label_and_kernel(file: &Path) -> Result<(Label, Option<String>), String> {
    let recording = pagewise_host::store::recording::Recording::open(file).map_err(|error| error.to_string())?;
    let text = recording.meta().get(META).ok_or_else(|| format!("{} does not say what it is of", file.display()))?;
    let label = serde_json::from_str(text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((label, recording.meta().get("kernel").cloned()))
}

/// Today, UTC.
#[must_use]
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// A name for this host, with its kernel, that says nothing about it.
#[must_use]
pub fn name_of_this_host() -> String {
    let root = Root::live();
    let machine = root.read("/etc/machine-id").unwrap_or_default();
    let facts = pagewise_host::facts::kernel::host_facts(&root, None);
    // A few pages more or less are there at every boot.
    let gibibytes = facts.memory_bytes.map(|bytes| (bytes + (1 << 29)) >> 30);
    let seed = format!("{}{:?}{:?}{gibibytes:?}{:?}", machine.trim(), facts.kernel, facts.cpu_model, facts.cpus);
    blake3::hash(seed.as_bytes()).to_hex()[..6].to_owned()
}

/// A whole session: every pathology at every severity, and the healthy loads.
#[derive(Clone, Debug)]
pub struct Session {
    /// How each is made.
    pub runner: Runner,
    /// Where the recordings go. Those that are there already are not made again.
    pub out: PathBuf,
    /// What to make; empty: everything.
    pub only: Vec<String>,
    /// The severities to make; empty: all.
    pub severities: Vec<Severity>,
    /// Overrides each one's own length, for a try.
    pub seconds: Option<u32>,
    /// No new one is begun after this long.
    pub budget: Duration,
    /// Does not wait for the host to come to rest: for a try on a busy host.
    pub at_once: bool,
}

impl Session {
    /// What is to be made, the severest of all first: a session that is cut short has the most telling ones. Healthy loads
    /// come between severe and milder ones.
    fn plan(&self) -> Vec<(&'static Trouble, Severity)> {
        let of = |list: &'static [Trouble], severity: Severity| {
            list.iter().filter(move |trouble| trouble.severities().contains(&severity)).map(move |t| (t, severity))
        };
        let mut plan: Vec<_> = of(super::TROUBLES, Severity::Severe).collect();
        plan.extend(of(super::HEALTHY, Severity::Mild));
        plan.extend(of(super::TROUBLES, Severity::Middle));
        plan.extend(of(super::TROUBLES, Severity::Mild));
        plan.retain(|(trouble, severity)| {
            (self.only.is_empty() || self.only.iter().any(|id| id == trouble.id))
                && (self.severities.is_empty() || trouble.is_healthy() || self.severities.contains(severity))
        });
        plan
    }

    fn file(&self, trouble: &Trouble, severity: Severity, day: &str) -> PathBuf {
        let severity = if trouble.is_healthy() { "healthy".to_owned() } else { severity.to_string() };
        self.out.join(format!("{}_{day}_{}_{severity}.pgw", self.runner.host, trouble.id))
    }

    /// A recording of this host, of whatever day, in which it really happened.
    fn is_there(&self, trouble: &Trouble, severity: Severity) -> bool {
        let name = |day: &str| self.file(trouble, severity, day).file_name().map(|name| name.to_os_string());
        let entries = fs::read_dir(&self.out).into_iter().flatten().flatten();
        let of_this_host = entries.filter(|entry| {
            let own = entry.file_name().to_string_lossy().into_owned();
            let day = own.split('_').nth(1).unwrap_or_default();
            name(day) == Some(entry.file_name())
        });
        of_this_host.map(|entry| label(&entry.path())).any(|label| label.is_ok_and(|label| label.made))
    }

    /// Makes what is not there yet and tells `tell` a line for each. Returns whether all is there that can be.
    ///
    /// # Errors
    /// In words, when the folder cannot be made or it was interrupted.
    pub fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<bool, String> {
        fs::create_dir_all(&self.out).map_err(|error| format!("cannot make {}: {error}", self.out.display()))?;
        let interrupt = Interrupt::on_signals().map_err(|error| error.to_string())?;
        let begun = Instant::now();
        let (mut gate, mut whole) = (Gate::new(&Design::default()), true);
        for (trouble, severity) in self.plan() {
            let name = format!("{} {}", trouble.id, if trouble.is_healthy() { "" } else { severity.of(WORDS) });
            let name = name.trim();
            if self.is_there(trouble, severity) {
                tell(&format!("{name}: is there"));
                continue;
            }
            if let Some(why) = trouble.unmet() {
                tell(&format!("{name}: cannot be made here: {why}"));
                continue;
            }
            if begun.elapsed() > self.budget {
                tell("the time is up; the same command goes on from here");
                return Ok(false);
            }
            let rest = match self.at_once {
                true => Decision::Open,
                false => gate
                    .wait("trouble", &Root::live(), &interrupt, &mut || None, &mut |_| {})
                    .map_err(|e| e.to_string())?,
            };
            if let Decision::GivenUp(why) = rest {
                tell(&format!("{name}: the host did not come to rest: {why}"));
                if trouble.is_healthy() {
                    whole = false;
                    continue;
                }
            }
            let file = self.file(trouble, severity, &today());
            // One of today in which it did not happen.
            let _ = fs::remove_file(&file);
            match self.runner.record(trouble, severity, self.seconds, &file, &interrupt) {
                Ok(label) => tell(&format!("{name}: {}", words(&label))),
                Err(_) if interrupt.is_set() => tell(&format!("{name}: interrupted, and put back")),
                Err(error) => {
                    whole = false;
                    tell(&format!("{name}: FAILED: {error}"));
                }
            }
            interrupt.check().map_err(|error| error.to_string())?;
        }
        Ok(whole)
    }
}

const WORDS: [&str; 3] = ["mild", "middle", "severe"];

fn words(label: &Label) -> String {
    let shown: Vec<String> = label
        .proof
        .iter()
        .map(|shown| {
            let value = shown.value.map_or("not told".to_owned(), |value| format!("{value:.3}"));
            format!("{} {value}{}", shown.what, if shown.holds { "" } else { " (too little)" })
        })
        .collect();
    format!("{}{}", if label.made { "made; " } else { "NOT MADE; " }, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(out: &Path) -> Session {
        let runner = Runner {
            pagewise: "pagewise".into(),
            maker: vec!["trouble".into()],
            state_dir: None,
            host: "h1".to_owned(),
            record_args: Vec::new(),
            temporary: std::env::temp_dir(),
        };
        let (only, severities) = (Vec::new(), Vec::new());
        let (seconds, budget, at_once) = (None, Duration::from_secs(1), false);
        Session { runner, out: out.to_owned(), only, severities, seconds, budget, at_once }
    }

    #[test]
    fn the_severest_come_first_and_nothing_comes_twice() {
        let folder = tempfile::tempdir().unwrap();
        let plan = session(folder.path()).plan();
        assert_eq!(plan.len(), super::super::TROUBLES.len() * 3 + super::super::HEALTHY.len());
        assert!(plan[..super::super::TROUBLES.len()].iter().all(|(_, severity)| *severity == Severity::Severe));
        let names: std::collections::BTreeSet<_> = plan.iter().map(|(t, s)| (t.id, *s as usize)).collect();
        assert_eq!(names.len(), plan.len());
    }

    #[test]
    fn what_is_there_is_not_made_again_on_another_day_but_on_another_host() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(folder.path());
        let trouble = super::super::find("swap-thrash").unwrap();
        assert!(!session.is_there(trouble, Severity::Mild));
        let file = session.file(trouble, Severity::Mild, "2026-11-20");
        let write = |made: bool| {
            let options = pagewise_host::record::Options::default();
            let _ = fs::remove_file(&file);
            pagewise_host::record::Recorder::start(&Root::live(), &file, &options).unwrap().finish().unwrap();
            let proof = Vec::new();
            let label = Label { made, ..session.runner.label(trouble, Severity::Mild, proof) };
            write_label(&file, &label).unwrap();
        };
        write(false);
        assert!(!session.is_there(trouble, Severity::Mild), "one in which it did not happen is made again");
        write(true);
        assert!(session.is_there(trouble, Severity::Mild));
        assert!(!session.is_there(trouble, Severity::Severe));
        session.runner.host = "h2".to_owned();
        assert!(!session.is_there(trouble, Severity::Mild));
    }
}
