//! What a plan is told before it runs: shipped plans, weaknesses, errors with their place.

use pagewise_core::experiment::point::Outcome;
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial::invalid::Invalid;
use pagewise_host::tunable::lock;
use pagewise_testkit::Terminal;
use pagewise_testkit::said::unwrapped;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PAGEWISE: &str = env!("CARGO_BIN_EXE_pagewise");

fn check(arguments: &[&str]) -> Output {
    let run = Command::new(PAGEWISE).args(["trial", "check"]).args(arguments).stdin(Stdio::null()).output();
    run.expect("pagewise starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_published_matrix_warns_and_the_corrected_ones_are_clean() {
    let published = check(&["terasort-mglru-as-published", "--elsewhere"]);
    assert!(published.status.success());
    let said_of_it = said(&published);
    for weakness in ["nested-order", "levels-differ-in-more", "too-few-boots"] {
        assert!(said_of_it.contains(weakness), "{weakness}: {said_of_it}");
    }
    let one_line = unwrapped(&said_of_it);
    assert!(one_line.contains("differ in swap and in workload.heap"), "the confound is named: {one_line}");
    let strict = check(&["terasort-mglru-as-published", "--elsewhere", "--strict"]);
    assert_eq!(strict.status.code(), Some(2), "{}", told(&strict));
    for clean in ["terasort-mglru", "terasort-mglru-2cpu", "terasort-thp"] {
        let output = check(&[clean, "--elsewhere", "--strict"]);
        assert!(output.status.success(), "{clean}: {}{}", said(&output), told(&output));
        assert!(said(&output).contains("no weakness found"));
    }
}

#[test]
fn the_plans_keep_the_reports_options_and_ratios() {
    let full = said(&check(&["terasort-mglru", "--elsewhere", "--json"]));
    let full: serde_json::Value = serde_json::from_str(&full).expect("JSON");
    let job = &full["plan"]["workload"];
    assert_eq!((job["jobs"].as_u64(), job["rows"].as_u64()), (Some(12), Some(100_000_000)));
    assert_eq!(full["forecast"]["cells"], 12);
    assert_eq!(full["forecast"]["comparisons"].as_array().map(Vec::len), Some(15));
    let small = said(&check(&["terasort-mglru-2cpu", "--elsewhere", "--json"]));
    let small: serde_json::Value = serde_json::from_str(&small).expect("JSON");
    // Rows for each byte of memory: 12 jobs of 100 million on 256 GB, one job on 24.
    let rows = small["plan"]["workload"]["rows"].as_f64().expect("rows");
    assert!((rows / 24.0 / (1.2e9 / 256.0) - 1.0).abs() < 0.001, "{rows}");
}

#[test]
fn a_wrong_plan_is_told_with_file_line_and_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = folder.path().join("wrong.toml");
    let text = "name = \"x\"\n[workload]\nname = \"command\"\nrun = [\"true\"]\n[[factor]]\nname = \"thp\"\n\
                levels.a = \"thp.enabled=never\"\nlevels.b = \"thp.enabeld=always\"\n";
    fs::write(&plan, text).expect("room");
    let output = check(&[&plan.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("wrong.toml:8:12: "), "{}", told(&output));
    assert!(told(&output).contains("did you mean thp.enabled?"), "{}", told(&output));
    let missing = check(&["no-such-plan"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(told(&missing).contains("terasort-thp"), "the plans that ship are named: {}", told(&missing));
}

#[test]
fn every_line_of_a_check_fits_80_columns() {
    for plan in ["terasort-mglru", "terasort-mglru-as-published", "terasort-thp"] {
        for line in said(&check(&[plan, "--elsewhere"])).lines() {
            assert!(line.chars().count() <= 80, "{plan}: {line}");
        }
    }
}

#[test]
fn a_pilot_s_scatter_says_what_the_trial_can_find() {
    let with = said(&check(&["terasort-thp", "--elsewhere", "--cv", "3%"]));
    assert!(with.contains("% or more") && !with.contains("not known"), "{with}");
}

/// Where results are kept.
fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results")
}

/// A copy of a committed bundle: to read a database may leave files beside it. The name is part of what the reports say.
fn copied(name: &str) -> (tempfile::TempDir, PathBuf) {
    let from = results().join(name);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join(from.file_name().expect("a name"));
    fs::create_dir(&to).expect("room");
    for entry in fs::read_dir(&from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let path = entry.expect("readable").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("room");
    }
    (folder, to)
}

fn verify(bundle: &Path) -> Output {
    let run = Command::new(PAGEWISE).args(["trial", "verify", "--json"]).arg(bundle).stdin(Stdio::null()).output();
    run.expect("pagewise starts")
}

#[test]
fn each_committed_bundle_comes_out_again_byte_for_byte() {
    let is_bundle = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "trial");
    let entries =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let bundles: Vec<PathBuf> = entries(results()).flat_map(entries).filter(is_bundle).collect();
    assert!(bundles.len() >= 9, "{bundles:?}");
    for name in bundles {
        let name = name.strip_prefix(results()).expect("below it");
        let (_folder, bundle) = copied(&name.to_string_lossy());
        let name = name.display();
        // A live proof has neither a table of runs nor a script.
        let all = ["analysis.json", "report.md", "report.html", "points.csv", "analysis.R"];
        let files = if bundle.join("analysis.R").exists() { &all[..] } else { &all[..3] };
        let verified = verify(&bundle);
        assert!(verified.status.success(), "{name}: {}", told(&verified));
        let json: serde_json::Value = serde_json::from_slice(&verified.stdout).expect("JSON");
        let same: Vec<&str> =
            json["same"].as_array().expect("a list").iter().filter_map(|name| name.as_str()).collect();
        assert_eq!(json["schema"], "pagewise.verify/1");
        for file in files {
            assert!(same.contains(file), "{name}: {file} is not among {same:?}");
        }
        assert_eq!(json["different"], serde_json::json!([]));

        // And the check can fail.
        let report = bundle.join("report.md");
        let edited = fs::read_to_string(&report).expect("a report").replacen("# ", "# a ", 1);
        fs::write(&report, edited).expect("room");
        let found_out = verify(&bundle);
        assert_eq!(found_out.status.code(), Some(4));
        assert!(told(&found_out).contains("report.md is not what the analysis gives"), "{}", told(&found_out));
    }
}

#[test]
fn the_page_of_the_storm_says_what_its_reports_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let page = read("docs/guide/live-storm.md");
    let (storm, healthy) =
        (read("bench/results/live/storm.trial/report.md"), read("bench/results/live/healthy.trial/report.md"));
    // As the report says it, with the names of its columns left out.
    let rows = [
        (&storm, "| host_minor_faults | 3,809 | 678,101 | ×182 | ×147 to ×224 |"),
        (&storm, "| psi_memory_some | 4.724 s | 47.1 ms | −99.0 % | −99.3 % to −98.7 % |"),
        (&storm, "| compact_stalls | 10,548 | 0 | — | — |"),
        (&storm, "| thp_faults | 257 |"),
        (&storm, "95 % interval: 0.9787 to 0.9848 (−2.1 % to −1.5 %)"),
        (&healthy, "| +3.5 % | −7.2 % to +15.4 % |"),
        (&healthy, "95 % interval: 0.9986 to 1.003 (−0.14 % to +0.28 %)"),
    ];
    for (report, row) in rows {
        assert!(report.contains(row), "{row} is in no report");
        let numbers = row.split(['|', ' ', '(', ')']).filter(|word| word.contains(|c: char| c.is_ascii_digit()));
        for number in numbers.filter(|number| *number != "95" && !number.starts_with("0.9") && *number != "1.003") {
            assert!(page.contains(number), "{number} of '{row}' is not on the page");
        }
    }
}

#[test]
fn a_bundle_that_is_there_is_not_overwritten_and_the_message_names_the_verb_that_goes_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
                [[factor]]\nname = 'mode'\nlevels.one = 'env.MODE=1'\nlevels.two = 'env.MODE=2'\n\
                [[contrast]]\nfactor = 'mode'\na = 'one'\nb = 'two'\nprimary = true\n";
    fs::write(folder.path().join("plan.toml"), plan).expect("room");
    fs::create_dir(folder.path().join("x.trial")).expect("room");
    let refused = Command::new(PAGEWISE)
        .args(["trial", "run", "plan.toml", "--state-dir", "state", "--cache-dir", "cache"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("pagewise starts");
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    // The whole command, with the folders that were named.
    let folders = folder.path().canonicalize().expect("a folder");
    let folders = folders.display();
    let command = format!(
        "go on with it:\n  pagewise trial resume x.trial --state-dir {folders}/state --cache-dir {folders}/cache"
    );
    assert!(told(&refused).contains(&command), "{}", told(&refused));
    assert!(!told(&refused).contains("--resume"), "an option of another verb: {}", told(&refused));
}

/// A plan of a command in a folder of its own, and what the binary says of it there.
struct Desk(tempfile::TempDir);

/// Two cells in four pairs.
const PLAN: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
    [[factor]]\nname = 'mode'\nlevels.one = 'env.MODE=1'\nlevels.two = 'env.MODE=2'\n\
    [[contrast]]\nfactor = 'mode'\na = 'one'\nb = 'two'\nprimary = true\n\
    [design]\nblocks = 4\nwarmup = 0\n";

impl Desk {
    fn with(plan: &str) -> Desk {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("plan.toml"), plan).expect("room");
        Desk(folder)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PAGEWISE);
        command.arg("trial").args(words).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("PAGEWISE_STATE_DIR", self.0.path().join("state"));
        command.env("PAGEWISE_CACHE_DIR", self.0.path().join("cache"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("pagewise starts")
    }

    fn check(&self, more: &[&str]) -> Output {
        self.run(&[&["check", "plan.toml"], more].concat())
    }
}

#[test]
fn what_can_never_work_is_an_error_at_its_line_and_what_this_host_lacks_stands_first() {
    let wrong = |from: &str, to: &str, place: &str, why: &str| {
        for verb in ["check", "run"] {
            let output = Desk::with(&PLAN.replace(from, to)).run(&[verb, "plan.toml"]);
            assert_eq!(output.status.code(), Some(2), "{verb} {to}: {}{}", said(&output), told(&output));
            let found = unwrapped(&told(&output));
            assert!(found.contains(&format!("plan.toml:{place}: ")) && found.contains(why), "{verb} {to}: {found}");
        }
    };
    wrong("'command'", "'terasrot'", "3:8", "there is no workload 'terasrot'");
    wrong("run = ['true']", "", "2:1", "no command to time");
    wrong("env.MODE=2", "thp.enabled=nevr", "8:14", "did you mean never?");
    wrong("[design]", "[metric]\nname = 'regex:('\n[design]", "15:8", "no regular expression");
    wrong("blocks = 4", "blocks = 'four'", "15:10", "design.blocks = 'four': it takes a whole number");
    wrong("blocks = 4", "block = 4", "15:1", "did you mean blocks?");

    // With enough blocks to reach alpha, so that nothing else is told.
    let here = |plan: &str| {
        let output = Desk::with(&plan.replace("blocks = 4", "blocks = 12")).check(&[]);
        assert!(output.status.success(), "{}", told(&output));
        unwrapped(&said(&output))
    };
    let misspelt = here(&PLAN.replace("'true'", "'no-such-program-here'"));
    let first = "as it is this plan cannot run on this host not-possible-here: the job's command cannot start: cannot run \
                 'no-such-program-here': no such command";
    assert!(misspelt.starts_with(first), "{misspelt}");
    assert!(misspelt.contains("no weakness found beside what stands above"), "{misspelt}");
    let without_data = here(&format!("{PLAN}[data]\nrestore = 'copy'\n"));
    assert!(without_data.starts_with("as it is this plan cannot run on this host"), "{without_data}");
    assert!(without_data.contains("no --data DIR names what comes back"), "{without_data}");
    let plan = PLAN.replace("'true'", "'no-such-program-here'").replace("blocks = 4", "blocks = 12");
    let elsewhere = Desk::with(&plan).check(&["--elsewhere"]);
    assert!(
        said(&elsewhere).contains("no weakness found") && !said(&elsewhere).contains("cannot run"),
        "{elsewhere:?}"
    );
}

#[test]
fn a_number_that_nobody_knows_is_told_before_a_run_with_what_was_meant() {
    let more = "[[metric]]\nname = 'wall'\n[[metric]]\nname = 'minor_fault'\n\
                [[invalidate]]\nnumber = 'pgmajfaults'\nabove = 0\nbecause = 'x'\n";
    let output = Desk::with(&format!("{PLAN}{more}")).check(&[]);
    let found = unwrapped(&said(&output));
    assert!(found.contains("unknown-number: there is no measure 'minor_fault'; did you mean minor_faults?"), "{found}");
    assert!(found.contains("is called 'pgmajfaults'; did you mean pgmajfault?"), "{found}");
}

#[test]
fn a_share_without_its_sign_is_refused_with_the_right_way_to_write_it() {
    let desk = Desk::with(PLAN);
    for (option, why) in [("--cv=3", "write it like 3%"), ("--cv=300%", "not between 0 % and 100 %")] {
        let refused = desk.check(&[option]);
        assert_eq!(refused.status.code(), Some(2), "{option}");
        assert!(told(&refused).contains(why), "{option}: {}", told(&refused));
    }
    assert!(said(&desk.check(&["--cv", "3%"])).contains("% or more"));
}

#[test]
fn an_order_that_is_only_an_example_says_so() {
    let desk = Desk::with(PLAN);
    let example = unwrapped(&said(&desk.check(&[])));
    assert!(
        example.contains("order: pairs, an example with seed 0: the seed is drawn when the trial begins"),
        "{example}"
    );
    let dry = unwrapped(&said(&desk.run(&["run", "plan.toml", "--dry-run"])));
    assert!(dry.contains("order, an example with seed ") && dry.contains("runs this order"), "{dry}");
    let given = unwrapped(&said(&desk.run(&["run", "plan.toml", "--dry-run", "--seed", "7"])));
    assert!(given.contains("order, seed 7: "), "{given}");
    let planned = Desk::with(&PLAN.replace("warmup = 0", "warmup = 0\nseed = 5"));
    assert!(said(&planned.check(&[])).contains("order: pairs, seed 5\n"));
    let json: serde_json::Value = serde_json::from_slice(&desk.check(&["--json"]).stdout).expect("JSON");
    assert_eq!(json["is_example"], true);
}

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
}

fn wait_until(within: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} after {within:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_trial_goes_on_with_the_data_it_began_with_and_a_complete_one_says_that_it_is() {
    let spoil = "['sh', '-c', 'rm $PAGEWISE_DATA/input; sleep 0.3']";
    let plan = format!("{PLAN}[data]\nrestore = 'copy'\n").replace("['true']", spoil);
    let desk = Desk::with(&plan);
    fs::create_dir(desk.0.path().join("data")).expect("an empty folder");
    fs::write(desk.0.path().join("data/input"), "what every run needs\n").expect("room");
    let bundle = desk.0.path().join("x.trial");
    let mut running = desk.command(&["run", "plan.toml", "--data", "data"]);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pagewise starts");
    let results = || {
        let points = Bundle::open(&bundle).and_then(|bundle| bundle.points()).unwrap_or_default();
        points.iter().filter(|point| point.outcome == Outcome::Ok).count()
    };
    wait_until(Duration::from_secs(120), "no run has ended", || results() > 0);
    interrupt(&running);
    let stopped = running.wait_with_output().expect("it ends");
    assert_eq!(stopped.status.code(), Some(130), "{}", told(&stopped));
    assert!(
        told(&stopped).contains("stopping: ending the job, then putting settings and data back"),
        "{}",
        told(&stopped)
    );
    let go_on = "go on with:\n  pagewise trial resume x.trial\n";
    assert!(told(&stopped).contains(go_on), "the whole command: {}", told(&stopped));

    // From anywhere, and without naming the data again.
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let resume = || {
        let mut command = desk.command(&["resume"]);
        command.arg(&bundle).current_dir(elsewhere.path()).output().expect("pagewise starts")
    };
    let ended = resume();
    assert!(ended.status.success(), "{}", told(&ended));
    assert_eq!(results(), 8, "every run has its result");
    let again = resume();
    assert!(again.status.success(), "{}", told(&again));
    assert!(told(&again).contains("is complete: nothing is left to run"), "{}", told(&again));
    let report = fs::read_to_string(bundle.join("report.md")).expect("a report");
    let data = desk.0.path().canonicalize().expect("a folder").join("data");
    assert!(
        report.contains("pagewise trial run plan.toml --name x --seed ")
            && report.contains(&format!(" --data {}", data.display())),
        "{report}"
    );
}

#[test]
fn what_no_run_reports_is_told_after_the_first_in_the_status_and_in_the_report() {
    let more = "[[metric]]\nname = 'wall'\n[[metric]]\nname = 'rat'\n\
                [[contrast]]\nfactor = 'mode'\na = 'two'\nb = 'one'\n";
    let report = r#"['sh', '-c', 'echo "{\"name\":\"rate\",\"value\":5}" >> $PAGEWISE_METRICS']"#;
    let desk = Desk::with(&format!("{PLAN}{more}").replace("['true']", report));
    let ran = desk.run(&["run", "plan.toml"]);
    assert!(ran.status.success(), "{}", told(&ran));
    let missing = "No run had the metric 'rat'; did you mean rate?";
    assert_eq!(told(&ran).matches(missing).count(), 1, "once, after the first run: {}", told(&ran));
    assert!(unwrapped(&said(&ran)).contains(missing), "{}", said(&ran));
    assert!(said(&desk.run(&["status", "x.trial"])).contains(missing));
    assert!(desk.run(&["verify", "x.trial"]).status.success());
}

#[test]
fn a_host_that_another_run_has_is_told_first_and_waited_for_when_asked() {
    let desk = Desk::with(PLAN);
    let state = desk.0.path().join("state");
    let other = lock::acquire(&state, "test").expect("free");
    let refused = desk.run(&["run", "plan.toml"]);
    assert_eq!(refused.status.code(), Some(3), "{}", told(&refused));
    assert!(told(&refused).starts_with("pagewise: this host is taken"), "before any note: {}", told(&refused));
    assert!(told(&refused).contains("--wait waits until it ends"), "{}", told(&refused));
    let begun = Instant::now();
    let in_vain = desk.run(&["run", "plan.toml", "--wait=1s"]);
    assert_eq!(in_vain.status.code(), Some(3), "{}", told(&in_vain));
    assert!(begun.elapsed() >= Duration::from_secs(1) && told(&in_vain).contains("did not end while"), "{in_vain:?}");
    assert!(told(&in_vain).contains("waiting until another run ends (pagewise test, pid "), "{}", told(&in_vain));
    let mut waiting = desk.command(&["run", "plan.toml", "--wait"]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pagewise starts");
    std::thread::sleep(Duration::from_secs(1));
    assert!(!desk.0.path().join("x.trial").exists(), "it waits");
    drop(other);
    let ran = waiting.wait_with_output().expect("it ends");
    assert!(ran.status.success(), "{}", told(&ran));
}

#[test]
fn on_a_terminal_that_does_not_say_its_size_a_trial_shows_how_far_it_is_as_on_one_of_80_columns() {
    let desk = Desk::with(&PLAN.replace("['true']", "['sleep', '3']"));
    let path = |name: &str| desk.0.path().join(name).display().to_string();
    let plan = path("plan.toml");
    // The bundle is made in the current folder, and a terminal has none of its own.
    let args = ["--chdir", &desk.0.path().display().to_string(), PAGEWISE, "trial", "run", &plan];
    let folders = [("PAGEWISE_STATE_DIR", path("state")), ("PAGEWISE_CACHE_DIR", path("cache"))];
    let folders = folders.each_ref().map(|(name, value)| (*name, value.as_str()));
    let terminal = Terminal::start(Path::new("/usr/bin/env"), &args, &folders, (0, 0));
    let screen = terminal.wait_for(Duration::from_secs(120), "how far it is", |screen| screen.contains("1/8"));
    assert!(!screen.contains("0/0") && screen.contains("pair 1 · "), "{screen}");
    // Ctrl-C.
    terminal.press("\u{3}");
    let screen =
        terminal.wait_for(Duration::from_secs(2), "an answer to Ctrl-C", |screen| screen.contains("stopping:"));
    assert!(screen.contains("putting settings and data back"), "{screen}");
    assert_eq!(terminal.wait().code, Some(130));
}

#[test]
fn messages_are_as_wide_as_the_terminal_and_no_wider() {
    let terminal = Terminal::start(Path::new(PAGEWISE), &["trial", "check", "no-such-plan"], &[], (50, 24));
    let left = terminal.wait();
    assert_eq!(left.code, Some(2));
    let text = String::from_utf8_lossy(&left.bytes).replace('\r', "");
    assert!(text.lines().count() > 2 && text.contains("\n  "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
    assert!(unwrapped(&text).contains("cannot read the plan no-such-plan"), "{text}");
}

#[test]
fn the_guide_names_every_measure_of_a_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/trial.md");
    let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    for measure in pagewise_core::metric::MEASURES.iter() {
        assert!(page.contains(&format!("`{}`", measure.name)), "{} is not in the guide", measure.name);
    }
}

#[test]
fn the_guide_names_every_reason_for_which_a_run_is_invalid() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/trial.md");
    let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    for reason in Invalid::ALL {
        assert!(page.contains(&format!("\n| {}", reason.in_guide())), "{reason:?} is not in the guide");
    }
}

/// Six pairs in which the second level always fails.
const FAILS: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['sh', '-c', 'test $MODE = 1']\n\
    [[factor]]\nname = 'mode'\nlevels.one = 'env.MODE=1'\nlevels.two = 'env.MODE=2'\n\
    [[contrast]]\nfactor = 'mode'\na = 'one'\nb = 'two'\nprimary = true\n\
    [design]\nblocks = 6\nwarmup = 0\n[recording]\nhz = 0\n";

#[test]
fn a_level_that_fails_every_time_is_a_result_and_the_good_runs_of_the_other_are_told() {
    let desk = Desk::with(FAILS);
    let ran = desk.run(&["run", "plan.toml"]);
    assert_eq!(ran.status.code(), Some(0), "{}{}", said(&ran), told(&ran));
    assert!(unwrapped(&said(&ran)).contains("6 of 6 runs of `two` ended badly"), "{}", said(&ran));
    assert!(!told(&ran).contains("nothing to compare"), "{}", told(&ran));
    let analysis = fs::read_to_string(desk.0.path().join("x.trial/analysis.json")).expect("an analysis");
    let analysis: serde_json::Value = serde_json::from_str(&analysis).expect("JSON");
    assert_eq!(
        (analysis["comparisons"][0]["a_values"]["n"].as_u64(), analysis["comparisons"][0]["b_values"]["n"].as_u64()),
        (Some(6), Some(0))
    );
    assert!(analysis["comparisons"][0]["a_values"]["mean"].is_f64(), "{}", analysis["comparisons"][0]["a_values"]);

    // As a matrix, too.
    let more = format!("{FAILS}[[metric]]\nname = 'wall'\n[[metric]]\nname = 'user'\n");
    let matrix = Desk::with(&more).run(&["run", "plan.toml"]);
    assert_eq!(matrix.status.code(), Some(0), "{}{}", said(&matrix), told(&matrix));
    // Where nothing is decided it stays an error.
    let none = Desk::with(&FAILS.replace("test $MODE = 1", "exit 1").replace("= 6", "= 4")).run(&["run", "plan.toml"]);
    assert_eq!(none.status.code(), Some(3), "{}{}", said(&none), told(&none));
}

#[test]
fn a_bundle_of_an_older_analysis_is_told_from_one_that_was_edited() {
    let desk = Desk::with(PLAN);
    let ran = desk.run(&["run", "plan.toml"]);
    assert!(ran.status.success(), "{}", told(&ran));
    let path = desk.0.path().join("x.trial/analysis.json");
    let written = fs::read_to_string(&path).expect("an analysis");
    let schema = "pagewise.analysis/3";
    assert!(written.contains(schema) && written.contains("\"version\": 2"), "{written}");
    let older = written.replace(schema, "pagewise.analysis/1").replace("\"version\": 2", "\"version\": 1");
    fs::write(&path, older).expect("it is written");
    let verified = desk.run(&["verify", "x.trial"]);
    let message = unwrapped(&told(&verified));
    assert_eq!(verified.status.code(), Some(4), "{message}");
    for part in [
        "analysis.json is not what the analysis gives",
        "written by an older version of the analysis (pagewise.analysis/1, version 1; this one is pagewise.analysis/3, version 2)",
        "Its points are whole: 'pagewise report' and 'pagewise trial analyze' analyse them as this version does",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // What it tells to do works.
    assert!(desk.run(&["analyze", "x.trial"]).status.success());
    fs::write(&path, written.replace("\"alpha\"", "\"beta\"")).expect("it is written");
    let edited = unwrapped(&told(&desk.run(&["verify", "x.trial"])));
    assert!(edited.contains("It was edited") && !edited.contains("older version"), "{edited}");
}

#[test]
fn a_plan_of_two_levels_has_every_rendition_and_tells_the_next_how_long_it_takes() {
    let desk = Desk::with(&PLAN.replace("primary = true\n", ""));
    let ran = desk.run(&["run", "plan.toml"]);
    assert!(ran.status.success(), "{}", told(&ran));
    let written = |format: &str| {
        let output = desk.run(&["analyze", "x.trial", "--format", format]);
        assert!(output.status.success(), "{format}: {}", told(&output));
        said(&output)
    };
    assert!(written("latex").contains("\\begin{"));
    assert!(written("text72").lines().all(|line| line.chars().count() <= 72));
    assert!(written("r").contains("stopifnot") || written("r").contains("<-"));
    let csv = written("csv");
    assert_eq!(csv.lines().filter(|line| line.contains(",ok")).count(), 8, "a row for each run: {csv}");
    assert_eq!(fs::read_to_string(desk.0.path().join("x.trial/points.csv")).expect("a table"), csv);
    let verified = desk.run(&["verify", "x.trial"]);
    assert!(verified.status.success() && said(&verified).contains("points.csv"), "{}", told(&verified));

    // What the plan supposes gives way to what was seen: the gate alone takes a second before each run.
    fs::write(desk.0.path().join("plan.toml"), format!("{PLAN}[cost]\nrun = '1h'\n")).expect("room");
    let plain = unwrapped(&said(&desk.check(&[])));
    assert!(plain.contains("at least 8h00m in all (around each run only a second is counted"), "{plain}");
    let output = desk.check(&["--pilot", "x.trial"]);
    let pilot = unwrapped(&said(&output));
    let about = pilot.split("about ").nth(1).and_then(|rest| rest.split(" s in all").next());
    let seconds: f64 = about.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{pilot}{}", told(&output)));
    assert!((8.0..60.0).contains(&seconds) && seconds.fract() == 0.0, "{pilot}");
}

#[test]
fn a_metric_that_the_first_good_run_does_not_give_ends_the_trial_there() {
    let metric = "[metric]\nname = 'regex:score=([0-9]+)'\n";
    let desk = Desk::with(&format!("{PLAN}{metric}"));
    let ran = desk.run(&["run", "plan.toml"]);
    assert_eq!(ran.status.code(), Some(2), "{}", told(&ran));
    let said = unwrapped(&told(&ran));
    assert!(said.contains("the first run under '") && said.contains("gave no regex:score=([0-9]+)"), "{said}");
    assert!(said.contains("the job's output has nothing that matches score=([0-9]+)"), "{said}");
    let points = Bundle::open(&desk.0.path().join("x.trial")).and_then(|bundle| bundle.points()).expect("a bundle");
    // A busy host may make tries invalid; they are of the same run.
    let runs: BTreeSet<u32> = points.iter().map(|point| point.planned.index).collect();
    let good = points.iter().filter(|point| point.outcome == Outcome::Ok).count();
    assert_eq!((runs.len(), good), (1, 1), "no other run was begun: {points:?}");
}

#[test]
fn a_slip_in_the_name_of_a_bundle_or_a_plan_is_told_as_what_it_is() {
    let desk = Desk::with(PLAN);
    let refused = |words: &[&str]| {
        let output = desk.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", told(&output));
        told(&output)
    };
    for verb in ["resume", "status", "analyze"] {
        let absent = refused(&[verb, "nothere.trial"]);
        assert!(absent.contains("there is no nothere.trial; give the folder of a trial"), "{absent}");
        let plan = refused(&[verb, "plan.toml"]);
        assert!(plan.contains("plan.toml is a plan; start it with:\n  pagewise trial run plan.toml"), "{plan}");
    }
    let shipped = refused(&["check", "terasort-tph"]);
    assert!(shipped.contains("did you mean terasort-thp?"), "{shipped}");
    let made = desk.0.path().join("x.trial");
    fs::create_dir(&made).expect("room");
    fs::write(made.join("points.sqlite"), "").expect("room");
    assert!(refused(&["resume", "x"]).contains("there is no x; did you mean x.trial?"));
    let bundle = refused(&["check", "x.trial"]);
    assert!(
        bundle.contains("x.trial is the bundle of a trial that has begun, not a plan")
            && bundle.contains("pagewise trial status x.trial"),
        "{bundle}"
    );
}

#[test]
fn a_kernel_that_is_not_installed_here_is_told_before_anything_runs() {
    let plan =
        PLAN.replace("mode", "kernel").replace("env.MODE=1", "kernel=9.99.0").replace("env.MODE=2", "kernel=9.98.0");
    let desk = Desk::with(&plan);
    let missing = "'one' of 'kernel' needs kernel 9.99.0, which is not installed here";
    let checked = unwrapped(&said(&desk.check(&[])));
    assert!(checked.contains(&format!("not-possible-here: {missing}")), "{checked}");
    let dry = desk.run(&["run", "plan.toml", "--dry-run"]);
    assert!(unwrapped(&said(&dry)).contains(missing), "{}{}", said(&dry), told(&dry));
    assert!(!said(&desk.check(&["--elsewhere"])).contains("not installed"));
}

#[test]
fn who_looks_at_a_trial_is_told_whether_anybody_runs_it() {
    let desk = Desk::with(&PLAN.replace("['true']", "['sleep', '20']"));
    let mut running = desk.command(&["run", "plan.toml"]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pagewise starts");
    let status = || said(&desk.run(&["status", "x.trial"]));
    wait_until(Duration::from_secs(60), "no run has begun", || status().contains("1 running"));
    assert!(!status().contains("nobody"), "{}", status());
    let refused = told(&desk.run(&["analyze", "x.trial"]));
    assert!(unwrapped(&refused).contains("It is being run now; how far it is says: pagewise trial status x.trial"));
    assert!(!refused.contains("resume"), "{refused}");
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    wait_until(Duration::from_secs(30), "the bundle is held", || status().contains("nobody runs it here"));
    let left = status();
    assert!(left.contains("go on with:\n  pagewise trial resume x.trial"), "{left}");
    assert!(left.contains("1 cut off while running") && left.contains("(cut off while running)"), "{left}");
    let refused = told(&desk.run(&["analyze", "x.trial"]));
    assert!(refused.contains("pagewise trial resume x.trial"), "{refused}");
}
