//! `pagewise guard simulate`: the law on a model, as its users see it.

use assert_cmd::Command;
use serde_json::Value;

fn simulate(args: &[&str]) -> Value {
    let output =
        Command::cargo_bin("pagewise").unwrap().args(["guard", "simulate", "--json"]).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn of<'a>(report: &'a Value, law: &str) -> &'a Value {
    report["laws"].as_array().unwrap().iter().find(|row| row["law"] == law).unwrap()
}

#[test]
fn the_guard_crosses_less_than_a_loop_and_stands_down_where_it_cannot_keep_up() {
    let feasible = simulate(&["--fill", "1.3G", "--cost", "98ms"]);
    let crossings = |law: &str| of(&feasible, law)["crossings"].as_u64().unwrap();
    assert!(crossings("the kernel alone") > 1_000);
    assert!(crossings("below 1 %, free 2 %, every second") > 10 * crossings("the guard"), "{feasible}");
    assert_eq!(of(&feasible, "the guard")["crossings_later"], 0);

    let infeasible = simulate(&["--fill", "5G", "--cost", "308ms"]);
    assert_eq!(infeasible["mode"]["because"]["why"], "infeasible", "{infeasible}");
    assert!(infeasible["mode"]["because"]["cores"].as_f64().unwrap() > 0.9);
}

#[test]
fn the_same_seed_gives_the_same_and_the_page_fits_a_terminal() {
    assert_eq!(simulate(&["--seed", "7"]), simulate(&["--seed", "7"]));
    let output =
        Command::cargo_bin("pagewise").unwrap().args(["guard", "simulate", "--fill", "5G", "--cost", "308ms"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        text.contains("A model, not a measurement") && text.contains("needs") && text.contains("memory.high"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_option() {
    for (args, says) in [
        (["--size", "1M"], "--size"),
        (["--cost", "0s"], "--cost"),
        (["--duration", "0s"], "--duration"),
        (["--cpu-cap", "0"], "--cpu-cap"),
    ] {
        let output = Command::cargo_bin("pagewise").unwrap().args(["guard", "simulate"]).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{output:?}");
    }
}

fn told(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::cargo_bin("pagewise").unwrap().arg("guard").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_proof_of_a_guard_is_a_live_proof_between_none_and_one() {
    let (_, help, _) = told(&["prove", "--help"]);
    assert!(help.contains("--block") && help.contains("[default: guard=on]"), "{help}");
    for hidden in ["--live ", "--a <", "--workload", "--short-lived", "--verify"] {
        assert!(!help.contains(hidden), "{hidden}\n{help}");
    }
    let (code, _, error) = told(&["prove", "--block", "0s"]);
    assert_eq!(code, Some(2), "{error}");
    let (code, _, error) = told(&["prove", "--b", "guard=perhaps"]);
    assert!(code == Some(2) && error.contains("'perhaps' is no guard"), "{error}");
}

#[test]
fn what_cannot_be_guarded_is_refused_with_the_option() {
    for (args, says) in [
        (&["run", "--cpus", "x"][..], "--cpus x"),
        (&["run", "--cpus", "4095"], "--cpus 4095"),
        (&["run", "--cgroup", ""], "--cgroup"),
        (&["run", "--cgroup", "a", "--node", "0"], "--node"),
        (&["advise", "--batch", "1h"], "--batch"),
    ] {
        let (code, _, error) = told(args);
        assert!(code == Some(2) && error.contains(says), "{args:?}: {error}");
    }
    let (code, _, error) = told(&["advise", "--cgroup", "***", "--for", "1s"]);
    assert!(code == Some(3) && error.contains("is no pattern"), "{error}");
}

#[test]
fn who_does_not_guard_is_not_told_of() {
    let (code, said, _) = told(&["status", "--json"]);
    assert_eq!(code, Some(0));
    let status: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(status["schema"], "pagewise.guard-status/1");
    assert!(status["guards"].as_array().is_some());
}

#[test]
fn root_without_some_capabilities_is_told_what_it_lacks_and_goes_on() {
    pagewise_testkit::requires!(root, node_reclaim);
    for (without, says) in [
        ("-ipc_lock", "its memory cannot be locked"),
        ("-sys_ptrace", "without CAP_SYS_PTRACE"),
        ("-sys_resource,-sys_nice", "guarding node"),
        ("-all", "its memory cannot be locked"),
    ] {
        // Without a limit of its own a process may lock nothing beyond 64 KiB.
        let output = std::process::Command::new("prlimit")
            .args(["--memlock=65536", "setpriv", "--bounding-set", without, "--inh-caps", without])
            .arg(assert_cmd::cargo::cargo_bin("pagewise"))
            .args(["guard", "run", "--for", "1s"])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains(says), "{without}: {told}");
        assert!(told.contains("guarding node 0"), "{without}: {told}");
    }
}
