//! A comparison without a planned end, run for real: it is analysed after every block, survives a pause, ends when it is decided,
//! and says in every form which intervals it has.

use pagewise_core::experiment::stopping::InterimAnalysis;
use pagewise_host::store::bundle::Bundle;
use pagewise_testkit::said::{is_given_up, unwrapped};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PAGEWISE: &str = env!("CARGO_BIN_EXE_pagewise");

/// A job whose number scatters by some percent and is twice as large at the other level. A run whose number is above what the file `allowed` says
/// waits: the pause comes after the fourth block, however busy the host is.
const PLAN: &str = r#"
name = "open"
[workload]
name = "command"
run = ["sh", "job.sh"]
[metric]
name = "regex:score=([0-9]+)"
[[factor]]
name = "size"
levels.small = "env.V=10"
levels.large = "env.V=20"
[design]
blocks = 30
warmup = 0
seed = 3
pressure_limit = 1.0
steal_limit = 1.0
[stopping]
rule = "open-ended"
shortest_at = 6
[[contrast]]
factor = "size"
a = "small"
b = "large"
primary = true
"#;

const JOB: &str = r#"
cd FOLDER
echo run >> runs
run=$(wc -l < runs)
until [ "$run" -le "$(cat allowed)" ]; do sleep 0.02; done
echo score=$((V * 100 + $(od -An -N1 -tu1 /dev/urandom)))
"#;

struct Trial(TempDir);

impl Trial {
    fn new() -> Trial {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_str().expect("a plain path");
        fs::write(folder.path().join("job.sh"), JOB.replace("FOLDER", path)).expect("room");
        let plan = PLAN.replace("job.sh", &format!("{path}/job.sh"));
        fs::write(folder.path().join("plan.toml"), plan).expect("room");
        let trial = Trial(folder);
        trial.allow(8);
        trial
    }

    /// So many runs may go on.
    fn allow(&self, runs: usize) {
        let written = self.0.path().join("written");
        fs::write(&written, runs.to_string()).expect("room");
        fs::rename(written, self.0.path().join("allowed")).expect("the same folder");
    }

    /// How many have begun.
    fn begun(&self) -> usize {
        fs::read_to_string(self.0.path().join("runs")).unwrap_or_default().lines().count()
    }

    fn bundle(&self) -> PathBuf {
        self.0.path().join("open.trial")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PAGEWISE);
        command.arg("trial").args(words).args(["--state-dir", "state", "--cache-dir", "cache"]);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("pagewise starts")
    }

    /// What it says, on one line; it must succeed.
    fn said(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {err}{out}");
        unwrapped(&out)
    }

    fn analyses(&self) -> Vec<InterimAnalysis> {
        Bundle::open(&self.bundle()).and_then(|bundle| bundle.interim_analyses()).unwrap_or_default()
    }
}

#[test]
fn it_is_analysed_after_every_block_survives_a_pause_and_ends_when_it_is_decided() {
    let trial = Trial::new();
    let checked = trial.said(&["check", "plan.toml"]);
    assert!(checked.contains("open-ended: ends as soon as every claim is decided, after 5 blocks"), "{checked}");

    let said = trial.0.path().join("said");
    let start = |words: &[&str]| {
        let stderr = fs::File::create(&said).expect("room");
        trial.command(words).stdout(Stdio::null()).stderr(stderr).spawn().expect("pagewise starts")
    };
    let mut first = start(&["run", "plan.toml"]);
    // Other tests are no reason to wait or to repeat a run, but for those that the plan has no limit for.
    let deadline = Instant::now() + Duration::from_secs(600);
    let mut allowed = 8;
    loop {
        let begun = trial.begun();
        // The bundle may be in use for a moment.
        let reads = if begun > allowed { 10 } else { 1 };
        let is_analysed = (0..reads).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !trial.analyses().is_empty()
        });
        if is_analysed {
            break;
        }
        // A run that did not count was repeated: without an analysis a ninth belongs to the fourth block, too.
        if begun > allowed {
            allowed = begun;
            trial.allow(allowed);
        }
        assert!(Instant::now() < deadline, "no analysis is made");
        if first.try_wait().expect("our child").is_some() {
            // A host so busy that no try of a run counts is given up on, and the trial can go on.
            let said = fs::read_to_string(&said).unwrap_or_default();
            assert!(is_given_up(&said), "it ended before its first analysis: {said}");
            first = start(&["resume", "open.trial"]);
        }
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(first.id()).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(first.wait().expect("our child").code(), Some(130));
    trial.allow(1_000_000);
    let before = trial.analyses();
    assert!(before.iter().all(|analysis| !analysis.stop), "it ended too soon for a pause: {before:?}");

    let status = trial.said(&["status", "open.trial"]);
    assert!(status.contains("analysed after every block, the last time after 4: not every"), "{status}");
    let early = trial.said(&["analyze", "open.trial"]);
    assert!(early.contains("Not over. This is after 4 blocks of at most 30"), "{early}");

    let ended = trial.said(&["resume", "open.trial"]);
    let analyses = trial.analyses();
    let last = analyses.last().expect("an analysis");
    assert_eq!(analyses[..before.len()], before, "what was analysed before the pause stands");
    assert_eq!(
        analyses.iter().map(|analysis| analysis.blocks).collect::<Vec<_>>(),
        (4..=last.blocks).collect::<Vec<_>>()
    );
    assert!(last.stop && last.blocks < 30, "{last:?}");
    assert!(ended.contains("`large` is worse than `small`") && ended.contains("95 % confidence sequence"), "{ended}");
    assert!(ended.contains(&format!("Ended after {} blocks of at most 30", last.blocks)), "{ended}");

    let study: Value = serde_json::from_slice(&fs::read(trial.bundle().join("analysis.json")).unwrap()).unwrap();
    assert_eq!((&study["rule"], &study["blocks_complete"]), (&"open-ended".into(), &last.blocks.into()));
    assert_eq!(study["sequence"]["shortest_at"], 6);
    let low = study["comparisons"][0]["effect"]["interval"]["low"].as_f64().unwrap();
    assert!((1.0..2.0).contains(&low), "{low}");
    for (file, words) in [
        ("report.md", "95 % sequence"),
        ("report.html", "Every interval is of a confidence sequence"),
        ("analysis.R", "intervals are of a confidence sequence"),
    ] {
        let text = fs::read_to_string(trial.bundle().join(file)).unwrap().replace('\u{a0}', " ");
        assert!(text.contains(words), "{file} does not say which intervals it has");
    }
    assert!(trial.said(&["verify", "open.trial"]).contains("come out again byte for byte"));
    // What has ended stays ended.
    trial.said(&["resume", "open.trial"]);
    assert_eq!(trial.analyses(), analyses);
}
