//! `prove` seen from outside: what a user types, what comes back, what is left behind.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_host::store::bundle::{Bundle, State};
use pagewise_testkit::requires;
use pagewise_testkit::said::unwrapped;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder to work in, with state and cache of its own, so that trials in different tests do not wait for each other.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn prove(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("pagewise").unwrap();
        command.arg("prove").args(["--state-dir", "state", "--cache-dir", "cache"]).args(args);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.prove(args).output().unwrap()
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.prove(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn analysis(&self, bundle: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(bundle).join("analysis.json")).unwrap()).unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout: {}\nstderr: {}",
        String::from_utf8_lossy(&output.stdout),
        stderr(output)
    );
}

/// A job whose time is what the policy's `env.T` says.
const SLEEPER: [&str; 4] = ["--", "sh", "-c", "sleep $T"];

fn sleeper<'a>(more: &[&'a str]) -> Vec<&'a str> {
    more.iter().copied().chain(SLEEPER).collect()
}

#[test]
fn a_difference_that_is_there_is_found_and_reported_in_every_form() {
    let desk = Desk::new();
    // Far apart: a neighbour may hold up a run for some tenths of a second.
    let args = ["--a", "short:env.T=0.4", "--b", "long:env.T=1.6", "--pairs", "4", "--warmup", "0", "--name", "x"];
    let output = desk.run(&sleeper(&args));
    assert_exit(&output, 0);
    let text = String::from_utf8_lossy(&output.stdout);
    let narrow = |line: &str| line.chars().count() <= 80 || line.starts_with("  pagewise prove ");
    assert!(text.lines().all(narrow), "wider than 80 columns (a command to paste may be):\n{text}");
    assert!(text.contains("worse"), "{text}");
    let analysis = desk.analysis("x.trial");
    assert_eq!(analysis["schema"], "pagewise.analysis/3");
    assert_eq!(analysis["comparisons"][0]["conclusion"], "worse");
    let interval = &analysis["comparisons"][0]["effect"]["interval"];
    let (low, high) = (interval["low"].as_f64().unwrap(), interval["high"].as_f64().unwrap());
    assert!(low < 4.0 && 3.0 < high, "the ratio of the sleeps is near 4: {low} to {high}");
    for file in ["report.html", "report.md", "plan.toml", "points.sqlite"] {
        assert!(desk.path("x.trial").join(file).metadata().unwrap().len() > 100, "{file}");
    }
    assert!(desk.path("cache/runs").read_dir().unwrap().next().is_none(), "scratch folders are left behind");
}

#[test]
fn json_goes_to_stdout_and_fail_on_sets_the_exit_code() {
    let desk = Desk::new();
    let args =
        ["--a", "env.T=0.4", "--b", "env.T=1.6", "--pairs", "4", "--warmup", "0", "--json", "--fail-on", "worse"];
    let output = desk.run(&sleeper(&args));
    assert_exit(&output, 1);
    let analysis: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(analysis["comparisons"][0]["blocks"], 4);
    // A run that neighbours spoilt is kept and made once more.
    let points = analysis["points"].as_array().unwrap();
    assert_eq!(points.iter().filter(|point| point["outcome"] != "invalid").count(), 8, "{points:?}");
}

#[test]
fn a_metric_of_the_users_own_is_compared() {
    let desk = Desk::new();
    // A tenth of noise: of what never varies nothing is said.
    let script = "R=$V.$(date +%1N); echo \"{\\\"name\\\":\\\"rate\\\",\\\"value\\\":$R,\\\"unit\\\":\\\"MB/s\\\"}\" \
                  >> $PAGEWISE_METRICS; echo score=$R";
    for (metric, name, called) in [
        ("rate", "m", "rate"),
        (r"regex:score=([0-9.]+)", "r", r"regex:score=([0-9.]+)"),
        (r"score=regex:score=([0-9.]+)", "s", "score"),
    ] {
        let output = desk.run(&[
            "--a",
            "env.V=10",
            "--b",
            "env.V=20",
            "--pairs",
            "4",
            "--warmup",
            "0",
            "--metric",
            metric,
            "--direction",
            "higher",
            "--name",
            name,
            "--",
            "sh",
            "-c",
            script,
        ]);
        assert_exit(&output, 0);
        let analysis = desk.analysis(&format!("{name}.trial"));
        assert_eq!(analysis["comparisons"][0]["conclusion"], "better", "{metric}: {analysis}");
        assert_eq!(analysis["comparisons"][0]["metric"], called);
        assert_eq!(analysis["comparisons"][0]["a_values"]["mean"].as_f64().unwrap().floor(), 10.0);
    }
}

/// The first thing a reader of the guide tries.
#[test]
fn the_example_in_java_says_its_rate_and_is_compared_by_it() {
    requires!(javac);
    let desk = Desk::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/CachedLookups.java");
    let compiled = Command::new("javac").arg("-d").arg(desk.path("lookups")).arg(source).output().unwrap();
    assert_exit(&compiled, 0);
    let asked = "--a off:jvm.UseTransparentHugePages=false --b on:jvm.UseTransparentHugePages=true --metric rate --direction \
                 higher --pairs 4 --steal-limit 100% --name rates -- java -Xms64m -Xmx64m -cp lookups CachedLookups 16 0.1";
    let output = desk.run(&asked.split_whitespace().collect::<Vec<_>>());
    assert_exit(&output, 0);
    // Standard error is no terminal here: a line for each run, with what is compared.
    assert!(stderr(&output).contains(" lookups/s"), "{}", stderr(&output));
    let metric = &desk.analysis("rates.trial")["metrics"][0];
    assert_eq!((&metric["unit"], &metric["direction"]), (&"lookups/s".into(), &"higher".into()));
}

#[test]
fn a_job_that_fails_in_one_arm_cannot_win_there() {
    let desk = Desk::new();
    let script = "if [ $BAD = 1 ]; then exit 7; else sleep 0.2; fi";
    let output = desk.run(&[
        "--a",
        "env.BAD=0",
        "--b",
        "env.BAD=1",
        "--pairs",
        "4",
        "--warmup",
        "0",
        "--name",
        "x",
        "--",
        "sh",
        "-c",
        script,
    ]);
    // Not one pair is complete, and yet that is an answer.
    assert_exit(&output, 0);
    let analysis = desk.analysis("x.trial");
    assert_eq!(analysis["comparisons"][0]["conclusion"], "worse", "{analysis}");
    assert_eq!(analysis["comparisons"][0]["decided_by"], "outcomes");
    assert_eq!(analysis["cells"][1]["outcomes"]["failed"], 4);
}

#[test]
fn a_run_that_takes_too_long_and_an_output_that_is_wrong_are_results() {
    let desk = Desk::new();
    let output = desk.run(&sleeper(&[
        "--a",
        "env.T=0.1",
        "--b",
        "env.T=30",
        "--pairs",
        "4",
        "--warmup",
        "0",
        "--timeout",
        "1500ms",
        "--name",
        "late",
    ]));
    assert_exit(&output, 0);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("stopped after 1.50 s (--timeout)"), "{said}");
    assert_eq!(desk.analysis("late.trial")["cells"][1]["outcomes"]["timeout"], 4);
    let output = desk.run(&[
        "--aa",
        "now",
        "--pairs",
        "4",
        "--warmup",
        "0",
        "--verify",
        "test -e never-written",
        "--name",
        "wrong",
        "--",
        "true",
    ]);
    assert_exit(&output, 3);
    assert_eq!(desk.analysis("wrong.trial")["cells"][0]["outcomes"]["wrong"], 4);
}

#[test]
fn prepare_verify_and_clean_run_around_each_run_and_are_not_timed() {
    let desk = Desk::new();
    let output = desk.run(&[
        "--aa",
        "now",
        "--pairs",
        "4",
        "--warmup",
        "0",
        "--name",
        "x",
        "--prepare",
        "sh -c 'echo p >> log; sleep 0.3'",
        "--verify",
        "sh -c 'echo v >> log'",
        "--clean",
        "sh -c 'echo c >> log'",
        "--",
        "sh",
        "-c",
        "echo r >> log",
    ]);
    assert_exit(&output, 0);
    // A run that a busy host made invalid is made again, and what it left is not verified.
    let log = fs::read_to_string(desk.path("log")).unwrap().replace('\n', "").replace("prc", "");
    assert_eq!(log, "prvc".repeat(8));
    let mean = desk.analysis("x.trial")["comparisons"][0]["a_values"]["mean"].as_f64().unwrap();
    assert!(mean < 0.25, "the preparation was timed: {mean}");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let desk = Desk::new();
    let job = ["--", "touch", "ran"];
    let cases: [(&[&str], i32, &str); 12] = [
        (&["--a", "now", "--b", "thp.enabeld=never"], 2, "thp.enabled"),
        (&["--a", "now", "--b", "thp.enabled=sometimes"], 2, "always"),
        (&["--a", "now", "--b", "thp.enabled"], 2, "="),
        (&["--a", "now", "--b", "env.X=1", "--pairs", "3"], 2, "at least 4"),
        (&["--a", "now", "--b", "env.X=1", "--margin", "0%"], 2, "margin"),
        (&["--a", "now", "--b", "env.X=1", "--metric", "regex:("], 2, "regular expression"),
        (&["--a", "now", "--b", "env.X=1", "--metric", "score=regex:("], 2, "regular expression"),
        (&["--a", "now", "--b", "env.X=1", "--metric", "wall=regex:(.)"], 2, "'wall' is a measure of every run"),
        (&["--a", "now", "--b", "env.X=1", "--metric", "done=rate:./x"], 2, "only a live proof"),
        (&["--a", "now", "--b", "@missing.toml"], 2, "missing.toml"),
        (&["--a", "now"], 2, "--b"),
        (&["--a", "now", "--b", "env.X=1", "--name", "../x"], 2, "--name"),
    ];
    for (args, code, words) in cases {
        let all: Vec<&str> = args.iter().chain(&job).copied().collect();
        let output = desk.run(&all);
        assert_exit(&output, code);
        assert!(stderr(&output).contains(words), "{args:?} should speak of {words}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    }
    assert!(!desk.path("ran").exists(), "the job ran");
}

#[test]
fn a_job_that_runs_elsewhere_is_refused_with_a_host_policy() {
    // An ordinary user is refused first, because the policy itself needs root.
    requires!(root);
    let desk = Desk::new();
    let output = desk.run(&["--a", "now", "--b", "vm.swappiness=1", "--", "spark-submit", "--master", "yarn", "x.py"]);
    assert_exit(&output, 3);
    assert!(stderr(&output).contains("yarn") && stderr(&output).contains("elsewhere"), "{}", stderr(&output));
}

#[test]
fn a_missing_command_and_a_failing_one_end_the_trial_at_once() {
    let desk = Desk::new();
    let output = desk.run(&["--aa", "now", "--", "no-such-command-here"]);
    assert_exit(&output, 3);
    assert!(stderr(&output).contains("no-such-command-here"), "{}", stderr(&output));
    let output = desk.run(&["--aa", "now", "--dry-run", "--", "no-such-command-here"]);
    assert_exit(&output, 3);
    let output = desk.run(&["--aa", "now", "--dry-run", "--pairs", "4", "--", "true"]);
    let said = unwrapped(&String::from_utf8_lossy(&output.stdout));
    assert!(said.contains("with 4 pairs the randomisation test cannot go below"), "{said}");
    let breaks = "for line in 1 2 3 why; do echo it broke $line >&2; done; echo bye >&2; exit 9";
    let output = desk.run(&["--aa", "now", "--name", "broken", "--", "sh", "-c", breaks]);
    assert_exit(&output, 3);
    let said = unwrapped(&stderr(&output));
    for words in ["exit status 9", "it broke 3 | it broke why | bye", "failed/0-1.txt"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let kept = std::fs::read_to_string(desk.0.path().join("broken.trial").join("failed/0-1.txt")).unwrap();
    assert!(kept.contains("standard error:\nit broke 1\n"), "{kept}");
    let states = Bundle::open(&desk.path("broken.trial")).and_then(|bundle| bundle.states()).unwrap();
    let begun: Vec<_> = states.into_iter().filter(|point| point.state != State::Planned).collect();
    assert!(
        matches!(&begun[..], [only] if only.state == State::Failed),
        "a failing warm-up must end the trial: {begun:?}"
    );
}

#[test]
fn a_switch_of_the_jvm_that_is_neither_true_nor_false_is_refused_before_anything_runs() {
    let desk = Desk::new();
    let output = desk.run(&["--a", "now", "--b", "jvm.UseTransparentHugePages=on", "--name", "x", "--", "true"]);
    assert_exit(&output, 2);
    assert!(stderr(&output).contains("did you mean true?"), "{}", stderr(&output));
    assert!(!desk.0.path().join("x.trial").exists());
}

#[test]
fn a_flag_that_the_jvm_does_not_know_is_refused_before_anything_runs() {
    let desk = Desk::new();
    let told = |flag: &str, job: &[&str]| {
        let output = desk.run(&[&["--a", "now", "--b", flag, "--dry-run", "--"], job].concat());
        (output.status.code(), unwrapped(&stderr(&output)))
    };
    for job in [&["java", "-version"][..], &["sh", "-c", "java -version"], &["nice", "java", "-version"]] {
        let (code, text) = told("jvm.UseTransparentHugePage=true", job);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            text.contains("java has no flag UseTransparentHugePage; did you mean UseTransparentHugePages?"),
            "{text}"
        );
        let (code, text) = told("jvm.UseTransparentHugePages=true,jvm.Xmx=64M", job);
        assert_eq!(code, Some(0), "{text}");
    }
    let (code, text) =
        told("jvm.UseTransparentHugePage=true", &["java", "-XX:+IgnoreUnrecognizedVMOptions", "-version"]);
    assert_eq!(code, Some(0), "the JVM takes any, as it was told: {text}");
    let (code, text) = told("jvm.UseTransparentHugePage=true", &["true"]);
    assert_eq!(code, Some(0), "nothing is known of what runs: {text}");
}

#[test]
fn an_option_of_the_jvm_that_the_command_has_too_is_refused_because_the_command_wins() {
    let desk = Desk::new();
    let arms = ["--a", "off:jvm.UseTransparentHugePages=false", "--b", "on:jvm.UseTransparentHugePages=true"];
    let told = |job: &[&str]| {
        let output = desk.run(&[&arms[..], &["--dry-run", "--"], job].concat());
        (output.status.code(), stderr(&output))
    };
    let (code, text) = told(&["java", "-XX:-UseTransparentHugePages", "-Xmx600m", "Cache"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("the command has -XX:-UseTransparentHugePages, which the JVM reads after"), "{text}");
    let (code, text) = told(&["sh", "-c", "cd / && exec java -XX:-UseTransparentHugePages Cache"]);
    assert!(code == Some(2) && text.contains("which the JVM reads after"), "in a shell's line, too: {text}");
    // What stands behind the class is the program's own.
    let (code, text) = told(&["java", "Cache", "-XX:-UseTransparentHugePages"]);
    assert!(!text.contains("reads after"), "{code:?} {text}");
}

#[test]
fn a_bundle_is_not_overwritten() {
    let desk = Desk::new();
    let args = ["--aa", "now", "--pairs", "4", "--warmup", "0", "--name", "x", "--", "true"];
    assert_exit(&desk.run(&args), 0);
    let before = fs::read(desk.path("x.trial/points.sqlite")).unwrap();
    // Nobody who asks what would be done wants it done.
    assert_exit(&desk.run(&["--resume", "x.trial", "--dry-run"]), 2);
    let output = desk.run(&args);
    assert_exit(&output, 2);
    assert!(stderr(&output).contains("pagewise prove --resume x.trial"), "{}", stderr(&output));
    assert_eq!(fs::read(desk.path("x.trial/points.sqlite")).unwrap(), before);
}

fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    // Neighbours that write to the disk keep a point waiting for a host at rest, for 60 s and up to three times.
    let deadline = Instant::now() + Duration::from_secs(240);
    while !ready() {
        assert!(Instant::now() < deadline, "waited 240 s for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn an_interrupted_trial_goes_on_without_losing_or_doubling_a_point() {
    for how in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let desk = Desk::new();
        let log = desk.path("log");
        let args = [
            "--aa",
            "now",
            "--pairs",
            "5",
            "--warmup",
            "1",
            // A run that a neighbour of this machine disturbed would be run once more, and rightly.
            "--steal-limit",
            "100%",
            "--name",
            "x",
            "--",
            "sh",
            "-c",
            "echo r >> log; if [ $(wc -l < log) = 4 ]; then sleep 5; else sleep 0.2; fi",
        ];
        let child = desk.spawn(&args);
        wait_for("the fourth run", || lines(&log) == 4);
        signal(&child, how);
        let output = child.wait_with_output().unwrap();
        let mut resume = vec!["--resume", "x.trial"];
        if how == rustix::process::Signal::INT {
            assert_exit(&output, 130);
            let told = stderr(&output);
            assert!(told.contains("pagewise prove --resume x.trial"), "{told}");
            assert!(told.contains("The last run lacks the other of its pair; both will run"), "{told}");
            resume.extend(["--pressure-limit", "50%"]);
        }
        wait_for("the job to end", || lines(&log) == 4);
        let output = desk.run(&resume);
        assert_exit(&output, 0);
        let analysis = desk.analysis("x.trial");
        let since = analysis["warnings"].as_array().unwrap().iter().find(|warning| warning["id"] == "since-resumed");
        let since = since.map(|warning| warning["text"].as_str().unwrap());
        assert_eq!(since.is_some(), resume.len() > 2, "{since:?}");
        let limit = "runs begin under --pressure-limit 50% and not 1%, as was planned";
        assert!(since.is_none_or(|text| text.contains(limit)), "{since:?}");
        assert_eq!(analysis["comparisons"][0]["blocks"], 5);
        // Whoever else is busy here may spoil a run, which then comes once more.
        let is_spoilt =
            |point: &Value| point["reason"].as_str().is_some_and(|why| why.contains("got no CPU when the job ended"));
        let (spoilt, points): (Vec<&Value>, Vec<&Value>) =
            analysis["points"].as_array().unwrap().iter().partition(|point| is_spoilt(point));
        let of_index = |index: u64, ok: bool| {
            points.iter().filter(|p| p["index"] == index && (p["outcome"] == "ok") == ok).count()
        };
        for index in 0..12 {
            assert_eq!(of_index(index, true), 1, "{how:?}: point {index} has not exactly one result");
        }
        // The fourth run is the second of the first pair: it was cut, and its done partner is run again with it.
        assert_eq!(of_index(3, false), 1, "{how:?}: the cut run is kept and shown");
        assert_eq!(of_index(2, false), 1, "{how:?}: its partner is kept and shown");
        assert_eq!(lines(&log), 14 + spoilt.len());
    }
}

#[test]
fn a_run_whose_end_we_did_not_see_is_not_counted() {
    let desk = Desk::new();
    let log = desk.path("log");
    // The third run ends while Pagewise is stopped, however busy this machine is.
    let script =
        "echo r >> log; if [ $(wc -l < log) = 3 ]; then until [ -e stopped ]; do sleep 0.02; done; else sleep 0.1; fi";
    let job = ["--", "sh", "-c", script];
    // The limit is off: a neighbour of this machine must not give the run another reason.
    let args = ["--aa", "now", "--pairs", "4", "--warmup", "0", "--steal-limit", "100%", "--name", "x"];
    let child = desk.spawn(&[&args[..], &job].concat());
    wait_for("the third run", || lines(&log) >= 3);
    signal(&child, rustix::process::Signal::STOP);
    fs::write(desk.path("stopped"), "").unwrap();
    thread::sleep(Duration::from_secs(6));
    signal(&child, rustix::process::Signal::CONT);
    assert_exit(&child.wait_with_output().unwrap(), 0);
    let analysis = desk.analysis("x.trial");
    let points = analysis["points"].as_array().unwrap();
    let seconds_too_long = |point: &Value| {
        let reason = point["reason"].as_str()?.strip_prefix("pagewise itself was stopped")?;
        reason.split_once("may be ")?.1.split_once(' ')?.0.parse::<f64>().ok()
    };
    let stopped = points.iter().filter(|point| seconds_too_long(point).is_some_and(|seconds| seconds > 4.0));
    assert_eq!(stopped.count(), 1, "{points:?}");
    for point in points.iter().filter(|point| point["outcome"] == "ok") {
        let wall = point["values"]["wall"].as_f64().unwrap();
        assert!(wall < 5.0, "the run that ended meanwhile counts with {wall} s");
    }
}

#[test]
fn a_report_does_not_change_when_its_folder_is_renamed() {
    let desk = Desk::new();
    let args = ["--aa", "now", "--pairs", "4", "--warmup", "0", "--name", "x", "--", "sleep", "0.05"];
    assert_exit(&desk.run(&args), 0);
    fs::rename(desk.path("x.trial"), desk.path("y")).unwrap();
    let verify = |folder: &Path, bundle: &str| {
        let mut command = Command::cargo_bin("pagewise").unwrap();
        command.args(["trial", "verify", bundle]).current_dir(folder).output().unwrap()
    };
    assert_exit(&verify(&desk.path("."), "y"), 0);
    assert_exit(&verify(&desk.path("y"), "."), 0);
}

#[test]
fn nothing_of_the_job_survives_ctrl_c() {
    let desk = Desk::new();
    let script = "echo $$ > leader; (sleep 300 & echo $! > child; wait)";
    let child = desk.spawn(&["--aa", "now", "--", "sh", "-c", script]);
    wait_for("the job", || lines(&desk.path("child")) == 1);
    signal(&child, rustix::process::Signal::INT);
    assert_exit(&child.wait_with_output().unwrap(), 130);
    for name in ["leader", "child"] {
        let pid: i32 = fs::read_to_string(desk.path(name)).unwrap().trim().parse().unwrap();
        wait_for("the job's processes to end", || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
    }
}

#[test]
fn a_job_over_its_memory_limit_is_oom_and_never_the_winner() {
    pagewise_testkit::requires!(root, memory_cgroup);
    let desk = Desk::new();
    // Under the limit a part of the job is killed early and the shell covers for it: faster, and exit status 0.
    let script = "head -c 200000000 /dev/zero | tail -c 200000000 | tail -c 1 > /dev/null; sleep 0.2";
    let output = desk.run(&[
        "--a",
        "now",
        "--b",
        "cgroup[job].memory.max=60M",
        "--pairs",
        "4",
        "--warmup",
        "0",
        "--name",
        "x",
        "--",
        "bash",
        "-c",
        &format!("set -o pipefail; {script}"),
    ]);
    let analysis = desk.analysis("x.trial");
    assert_eq!(analysis["cells"][1]["outcomes"]["oom"], 4, "{analysis}\n{}", stderr(&output));
    assert_eq!(analysis["comparisons"][0]["conclusion"], "worse");
}

#[test]
fn dry_run_says_what_would_happen_and_does_nothing() {
    let desk = Desk::new();
    let output = desk.run(&["--a", "now", "--b", "env.X=1", "--dry-run", "--", "touch", "ran"]);
    assert_exit(&output, 0);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("order") && said.contains("of the job alone: env.X=1"), "{said}");
    assert!(!desk.path("ran").exists() && !desk.path("state").exists());
    let output = desk.run(&["--a", "now", "--b", "env.X=1", "--dry-run", "--json", "--", "touch", "ran"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["schema"], "pagewise.dry-run/1");
    let fields = told.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert_eq!(fields, BTreeSet::from(["notes", "order", "plan", "schema", "seconds"]));
    assert_eq!(
        told["order"]["points"].as_array().map(Vec::len),
        Some(2 * 10 + 2),
        "two levels, ten pairs, a warm-up each"
    );
    assert!(fs::read_dir(desk.0.path()).unwrap().next().is_none(), "a dry run leaves nothing behind");
}

#[test]
fn a_number_that_no_trial_can_be_run_with_is_refused_before_an_order_is_drawn() {
    let desk = Desk::new();
    for (option, value) in [
        ("--pairs", "4294967295"),
        ("--warmup", "4294967295"),
        ("--timeout", "0"),
        ("--metric", ""),
        ("--name", "a\u{1b}[2J"),
        ("--name", &"x".repeat(300)),
    ] {
        let output = desk.run(&["--a", "env.T=1", "--b", "env.T=2", option, value, "--", "true"]);
        assert_exit(&output, 2);
        assert!(stderr(&output).contains(option) && !stderr(&output).contains('\u{1b}'), "{}", stderr(&output));
    }
    assert!(desk.0.path().read_dir().unwrap().next().is_none(), "a refused trial leaves nothing behind");
}

#[test]
fn a_metric_that_is_no_number_does_not_cost_the_bundle() {
    let desk = Desk::new();
    let args = ["--a", "env.V=NaN", "--b", "env.V=2", "--pairs", "4", "--warmup", "0", "--name", "x"];
    let job = ["--metric", r"regex:score=(\S+)", "--", "sh", "-c", "echo score=$V"];
    let output = desk.run(&[&args[..], &job[..]].concat());
    assert_exit(&output, 3);
    assert!(stderr(&output).contains("no pair of runs is complete"), "{}", stderr(&output));
    assert_eq!(desk.analysis("x.trial")["cells"][1]["outcomes"]["ok"], 4);
}

#[test]
fn a_metric_that_the_warm_up_does_not_give_ends_the_trial_there() {
    let desk = Desk::new();
    let output = desk.run(&["--a", "env.T=1", "--b", "env.T=2", "--metric", "wal", "--", "true"]);
    assert_exit(&output, 2);
    assert!(stderr(&output).contains("gave no wal") && stderr(&output).contains("--metric"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("pair 1"), "{}", stderr(&output));
}

#[test]
fn a_job_stopped_in_the_middle_of_a_metric_is_a_timeout_and_decides_the_verdict() {
    let desk = Desk::new();
    let script = "printf '{\"name\":\"m\",\"val' >> $PAGEWISE_METRICS; [ $T = 9 ] && exec sleep 9; \
                  echo 'ue\":1}' >> $PAGEWISE_METRICS";
    let args = ["--a", "env.T=0", "--b", "env.T=9", "--pairs", "4", "--warmup", "0", "--timeout", "1s", "--name", "x"];
    let job = ["--fail-on", "worse", "--", "sh", "-c", script];
    let output = desk.run(&[&args[..], &job[..]].concat());
    assert_exit(&output, 1);
    assert_eq!(desk.analysis("x.trial")["cells"][1]["outcomes"]["timeout"], 4);
}

#[test]
fn a_metrics_file_that_is_a_pipe_is_refused_and_not_waited_for() {
    let desk = Desk::new();
    let output = desk.run(&["--a", "env.T=0", "--b", "env.T=9", "--", "sh", "-c", "mkfifo $PAGEWISE_METRICS"]);
    assert_exit(&output, 3);
    assert!(stderr(&output).contains("no plain file"), "{}", stderr(&output));
}

#[test]
fn the_command_that_repeats_a_trial_asks_the_same_question() {
    let desk = Desk::new();
    let job = ["--", "sh", "-c", "echo score=$V"];
    let asked = [
        "--a",
        "slow:env.V=10",
        "--b",
        "fast:env.V=20",
        "--pairs",
        "4",
        "--seed",
        "7",
        "--margin",
        "5%",
        "--metric",
        "score=regex:score=([0-9]+)",
        "--direction",
        "higher",
        "--warmup",
        "0",
        "--timeout",
        "90s",
        "--drop-caches",
        "no",
        "--warm-memory",
        "3M",
    ];
    let name = ["--name", "x"];
    assert_exit(&desk.run(&[&asked[..], &name[..], &job[..]].concat()), 0);
    let report = fs::read_to_string(desk.path("x.trial/report.md")).unwrap();
    assert!(report.contains("up to 3 MiB of what is free touched before every run"), "{report}");
    let (_, command) = report.split_once("```sh\n").unwrap();
    let (command, _) = command.split_once("\n```").unwrap();
    assert!(command.lines().count() > 1 && command.lines().all(|line| line.chars().count() <= 78), "{command}");
    // As a shell puts it together again.
    let script = format!("set -- {command}; for word; do printf '%s\\n' \"$word\"; done");
    let words = Command::new("sh").args(["-c", &script]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    assert_eq!(words.lines().skip(2).collect::<Vec<_>>(), [&asked[..], &job[..]].concat());
}

#[test]
fn a_job_that_kills_us_at_once_leaves_no_cgroup() {
    let desk = Desk::new();
    let mut prove = desk.spawn(&["--a", "env.T=0", "--b", "env.T=9", "--", "sh", "-c", "kill -9 $PPID"]);
    let name = format!("pagewise-{}", prove.id());
    prove.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(3);
    let left = || {
        let found = Command::new("find").args(["/sys/fs/cgroup", "-name", &name]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    while !left().is_empty() {
        assert!(Instant::now() < deadline, "{}", left());
        thread::sleep(Duration::from_millis(50));
    }
}

/// `prove` as an ordinary user without a home, in a folder of the user's with these rights.
fn prove_as_a_stranger(desk: &Desk, rights: u32, args: &[&str]) -> Output {
    use std::os::unix::fs::{PermissionsExt, chown};
    let program = desk.path("pagewise");
    fs::copy(assert_cmd::cargo::cargo_bin("pagewise"), &program).unwrap();
    let here = desk.path("here");
    for folder in [here.clone(), desk.path("state"), desk.path("cache")] {
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(65534), Some(65534)).unwrap();
    }
    fs::set_permissions(desk.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&here, fs::Permissions::from_mode(rights)).unwrap();
    let mut prove = Command::new("setpriv");
    prove.args(["--reuid=65534", "--clear-groups"]).arg(program);
    prove.args(["prove", "--state-dir", "../state", "--cache-dir", "../cache"]).args(args);
    prove.current_dir(here).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).output().unwrap()
}

#[test]
fn folders_given_as_options_are_enough_without_a_home() {
    requires!(root);
    let args = ["--a", "env.T=0", "--b", "env.T=1", "--pairs", "4", "--warmup", "0", "--", "true"];
    assert_exit(&prove_as_a_stranger(&Desk::new(), 0o755, &args), 0);
}

#[test]
fn a_budget_runs_no_more_pairs_than_were_asked_for() {
    requires!(root);
    let args = ["--a", "env.T=0", "--b", "env.T=1", "--pairs", "4", "--budget", "10m", "--", "true"];
    let output = prove_as_a_stranger(&Desk::new(), 0o755, &args);
    assert_exit(&output, 0);
    let said = unwrapped(&String::from_utf8_lossy(&output.stdout));
    assert!(said.contains("4 pairs fit into the budget of 10m") && said.contains("no more were asked for"), "{said}");
}

#[test]
fn a_folder_that_takes_no_bundle_is_found_out_before_the_first_run() {
    requires!(root);
    let desk = Desk::new();
    let args = ["--a", "env.T=0", "--b", "env.T=1", "--budget", "60s", "--", "touch", "../cache/ran"];
    let output = prove_as_a_stranger(&desk, 0o555, &args);
    assert_exit(&output, 3);
    assert!(stderr(&output).contains("cannot create"), "{}", stderr(&output));
    assert!(!desk.path("cache/ran").exists(), "the job ran first");
}
