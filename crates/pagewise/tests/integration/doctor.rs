//! `pagewise doctor` as a user sees it: on this host, as root and not, and on captured trees of other hosts.

use assert_cmd::Command;
use pagewise_testkit::{FakeHost, HostUnchanged, host_lock, requires};
use serde_json::Value;
use std::path::Path;

fn pagewise() -> Command {
    Command::cargo_bin("pagewise").expect("the binary of this crate")
}

fn text_of(command: &mut Command) -> String {
    let output = command.assert().success().get_output().clone();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nothing to complain about");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn text(tree: &Path) -> String {
    text_of(pagewise().arg("doctor").arg("--root").arg(tree))
}

fn json(tree: &Path) -> Value {
    let text = text_of(pagewise().args(["doctor", "--json"]).arg("--root").arg(tree));
    serde_json::from_str(&text).expect("JSON")
}

/// A field of the capability with this id.
fn field<'a>(report: &'a Value, id: &str, field: &str) -> &'a str {
    let all = report["capabilities"].as_array().expect("a list");
    let one = all.iter().find(|capability| capability["id"] == id).unwrap_or_else(|| panic!("no capability {id}"));
    one[field].as_str().unwrap_or("")
}

fn words<'a>(report: &'a Value, list: &str) -> Vec<&'a str> {
    report["comparable"][list].as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

fn assert_fits_80_columns(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

/// Every "no", "limited" and "unknown" carries its reason.
fn assert_reasons(report: &Value) {
    for capability in report["capabilities"].as_array().expect("a list") {
        if capability["state"] != "yes" {
            assert!(capability["why_not"].as_str().is_some_and(|why| !why.is_empty()), "{capability}");
        }
    }
}

#[test]
fn red_hat_6_is_read_through_its_own_thp_path_and_what_it_lacks_is_told_with_the_version() {
    let host = FakeHost::rhel6();
    let report = json(host.path());
    assert_eq!(report["schema"], "pagewise.doctor/1");
    assert_eq!(report["facts"]["thp_enabled"], "always");
    assert_eq!(field(&report, "thp.enabled", "value"), "always (or madvise, never)");
    assert_eq!(field(&report, "thp.sizes", "why_not"), "needs Linux 6.8 or later");
    assert_eq!(field(&report, "mglru", "why_not"), "needs Linux 6.1 or later");
    assert_eq!(field(&report, "psi", "state"), "no");
    assert!(field(&report, "cgroup.versions", "value").starts_with("v1: memory"));
    assert!(words(&report, "yes").contains(&"THP"));
    assert!(words(&report, "no").contains(&"MGLRU"));
    assert_reasons(&report);
    assert_fits_80_columns(&text(host.path()));
}

#[test]
fn linux_5_10_on_the_unified_hierarchy_lacks_mglru_and_sizes_but_not_thp() {
    let report = json(FakeHost::debian11().path());
    assert_eq!(report["facts"]["cgroup"], "v2");
    assert_eq!(field(&report, "mglru", "state"), "no");
    assert_eq!(field(&report, "reclaim.cgroup", "why_not"), "needs Linux 5.19 or later");
    assert!(field(&report, "vm.compaction", "value").contains("this kernel has no defrag_mode"));
    assert_eq!(field(&report, "thp.defrag", "state"), "yes");
    assert_reasons(&report);
}

#[test]
fn on_a_hybrid_6_18_memory_sits_on_v1_and_cgroup_reclaim_is_therefore_no() {
    let report = json(FakeHost::hybrid().path());
    assert_eq!(report["facts"]["cgroup"], "hybrid");
    assert_eq!(field(&report, "cgroup.versions", "value"), "hybrid; v1: memory, cpu; v2: hugetlb");
    assert!(field(&report, "reclaim.cgroup", "why_not").contains("on v1"));
    assert_eq!(field(&report, "reclaim.node", "state"), "yes");
    assert!(field(&report, "mglru", "why_not").contains("CONFIG_LRU_GEN"), "new enough, so built without it");
    assert_reasons(&report);
}

#[test]
fn what_only_a_system_call_can_tell_is_not_asked_of_another_hosts_tree() {
    let report = json(FakeHost::modern().path());
    for id in ["process.thp", "perf.own", "perf.symbols", "perf.pmu", "psi.trigger", "privilege"] {
        assert_eq!(field(&report, id, "state"), "unknown", "{id}");
        assert_eq!(field(&report, id, "why_not"), "not asked: another host's tree", "{id}");
    }
    assert_eq!(report["walk_cost"], Value::Null);
    assert!(report["walk_cost_absent"].as_str().is_some_and(|why| why.contains("another host")));
}

#[test]
fn an_empty_tree_gives_an_answer_in_which_nothing_is_guessed() {
    let report = json(FakeHost::empty().path());
    assert_eq!(report["facts"]["kernel"], Value::Null);
    assert_eq!(report["facts"]["memory_bytes"], Value::Null);
    assert_eq!(words(&report, "no"), Vec::<&str>::new());
    let asked = report["capabilities"].as_array().expect("a list").iter().filter(|c| c["id"] != "job");
    for capability in asked {
        assert_eq!(capability["state"], "unknown", "an empty tree tells nothing, yet: {capability}");
    }
    assert_reasons(&report);
}

#[test]
fn a_root_that_is_not_there_is_a_usage_error_that_says_so() {
    let output = pagewise().args(["doctor", "--root", "/no/such/tree"]).assert().code(2).get_output().clone();
    assert!(String::from_utf8_lossy(&output.stderr).contains("--root /no/such/tree is not a folder"));
}

#[test]
fn this_host_is_asked_without_a_trace_and_fits_80_columns() {
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let text = text_of(pagewise().arg("doctor"));
    assert_fits_80_columns(&text);
    for heading in ["Huge pages", "Control groups", "What a page walk costs", "Can compare:"] {
        assert!(text.contains(heading), "{text}");
    }
    let report = text_of(pagewise().args(["doctor", "--json", "--no-walk-cost"]));
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_reasons(&report);
    assert_eq!(report["walk_cost_absent"], "left out by --no-walk-cost");
}

#[test]
fn an_ordinary_user_gets_the_same_questions_with_run_as_root_as_remedy() {
    requires!(root, setpriv);
    let binary = assert_cmd::cargo::cargo_bin("pagewise");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The build tree may lie where another user may not look.
    let copy = folder.path().join("pagewise");
    std::fs::copy(binary, &copy).expect("a copy of the binary");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("a folder of ours");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    let output = command.args(["doctor", "--json", "--no-walk-cost"]).env_remove("HOME").assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_reasons(&report);
    assert_eq!(field(&report, "privilege.user", "state"), "limited");
    assert_eq!(field(&report, "swap.file", "state"), "no");
    if !field(&report, "thp.enabled", "value").is_empty() {
        assert_eq!(field(&report, "thp.enabled", "state"), "limited");
        assert_eq!(field(&report, "thp.enabled", "remedy"), "run as root");
    }
    assert!(!words(&report, "yes").contains(&"THP"));
    // Raw tracepoints are not for everyone, wherever tracefs is: what that takes, and what helps, is told.
    if field(&report, "perf.tracepoints", "state") == "no" {
        let why = field(&report, "perf.tracepoints", "why_not");
        assert!(why.contains("--stalls") || why.contains("perf_event_paranoid"), "{why}");
        assert!(field(&report, "perf.tracepoints", "remedy").contains("root"));
    }
    if field(&report, "perf.symbols", "state") == "no" {
        assert!(field(&report, "perf.symbols", "why_not").contains("kptr_restrict"));
    }
}

/// What `doctor` says of tracepoints where nothing is mounted at either of tracefs's places.
fn without_tracefs(as_whom: &str) -> Value {
    // In a namespace of its own: nothing has to be unmounted, whatever happens.
    let script = format!(
        "for place in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs -o mode=755 none $place || exit; done; \
         {as_whom} \"$0\" doctor --json --no-walk-cost"
    );
    let binary = assert_cmd::cargo::cargo_bin("pagewise");
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).arg(binary).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

#[test]
fn tracefs_that_is_not_mounted_is_no_loss_to_root_and_told_to_who_may_not_mount_it() {
    requires!(root, setpriv, tracepoints);
    let _lock = host_lock();
    let report = without_tracefs("");
    assert_eq!(field(&report, "perf.tracepoints", "state"), "yes");
    assert!(field(&report, "perf.tracepoints", "value").contains("need not be"));
    let report = without_tracefs("setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin");
    assert_eq!(field(&report, "perf.tracepoints", "state"), "no");
    assert!(field(&report, "perf.tracepoints", "why_not").contains("not mounted"));
    assert!(field(&report, "perf.tracepoints", "remedy").contains("mount -t tracefs"));
}
