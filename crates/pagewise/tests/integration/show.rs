//! `pagewise show` as a user sees it: on this host and on captured trees.

use assert_cmd::Command;
use pagewise_testkit::FakeHost;
use serde_json::Value;

fn show(host: &FakeHost, args: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("pagewise").expect("the binary");
    command.arg("--root").arg(host.path()).arg("show").args(args).output().expect("it runs")
}

fn text(output: &std::process::Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn an_old_hosts_tree_is_shown_with_its_own_values_in_80_columns() {
    let table = text(&show(&FakeHost::rhel6(), &[]));
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let row =
        |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{table}"));
    assert!(row("thp.enabled").contains("always"));
    assert!(row("swap ").contains("partition"));
    assert!(!table.contains("mglru.enabled"), "what the host lacks is left out:\n{table}");
}

#[test]
fn all_lists_what_is_lacking_with_the_reason_and_what_is_for_jobs() {
    let output = show(&FakeHost::rhel6(), &["--all", "--json"]);
    let report: Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!(report["schema"], "pagewise.tunables/1");
    let entries = report["tunables"].as_array().expect("a list");
    let find = |name: &str| entries.iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(find("mglru.enabled")["value"], Value::Null);
    assert!(find("mglru.enabled")["why_absent"].as_str().is_some_and(|why| why.contains("lru_gen")));
    assert_eq!(find("thp.enabled")["coupled"][0], "vm.min_free_kbytes");
    assert_eq!(find("env.NAME")["scope"], "job");
}

#[test]
fn one_name_gives_everything_there_is_to_say() {
    let said = text(&show(&FakeHost::modern(), &["vm.min_free_kbytes"]));
    for part in ["67584", "5 % of memory", "always; mm/page_alloc.c"] {
        assert!(said.contains(part), "no '{part}' in:\n{said}");
    }
}

#[test]
fn a_pattern_and_a_family_choose_several() {
    let sizes = text(&show(&FakeHost::modern(), &["mthp[*].enabled"]));
    assert!(sizes.contains("mthp[16k].enabled") && sizes.contains("mthp[2048k].enabled"), "{sizes}");
    let family = text(&show(&FakeHost::modern(), &["khugepaged"]));
    assert!(family.contains("khugepaged.max_ptes_none") && !family.contains("thp.enabled "), "{family}");
}

#[test]
fn an_unknown_name_is_a_usage_error_with_the_name_that_was_meant() {
    let output = show(&FakeHost::modern(), &["thp.enable"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean thp.enabled"));
    assert!(output.stdout.is_empty());
}

#[test]
fn an_empty_tree_and_a_wrong_folder_are_told_apart() {
    assert!(show(&FakeHost::empty(), &[]).status.success());
    let mut command = Command::cargo_bin("pagewise").expect("the binary");
    let output = command.args(["--root", "/no/such/folder", "show"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn this_host_is_shown_without_a_right_to_change_it() {
    let mut command = Command::cargo_bin("pagewise").expect("the binary");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = command.arg("--state-dir").arg(folder.path()).args(["show", "--json"]).output().expect("it runs");
    let report: Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert!(report["tunables"].as_array().is_some_and(|list| list.iter().any(|t| t["name"] == "vm.swappiness")));
}
