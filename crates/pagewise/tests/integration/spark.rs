//! `pagewise spark` on logs that real jobs left (`tests/data/spark`), and what it prints against what the plugin takes.

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn spark(words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.env_remove("SPARK_HOME").arg("spark").args(words);
    command
}

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/spark").join(name)
}

fn judged(verb: &str, name: &str) -> Value {
    let path = log(name).display().to_string();
    let output = spark(&[verb, "--event-log", &path, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ids(diagnosis: &Value, of: &str) -> BTreeSet<String> {
    let list = diagnosis[of].as_array().unwrap();
    list.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn real_logs_of_five_versions_give_what_their_jobs_were_started_with() {
    for (name, wanted) in [
        ("micro-3.5.6.zstd", &["heap-grows"][..]),
        ("micro-4.1.3.zstd", &["heap-grows", "plugin-observes", "plugin-surprised", "young-unbounded"]),
        ("kmeans-4.2.0.zstd", &["heap-grows"]),
        ("kmeans-4.0.1.zstd", &["heap-grows"]),
        ("micro-4.3.0.zstd", &["heap-grows"]),
    ] {
        let found = ids(&judged("check", name), "findings");
        // MLlib caches norms of its own, which is its affair.
        let found: BTreeSet<String> = found.into_iter().filter(|id| id != "cached-never-read").collect();
        assert_eq!(found, set(wanted), "{name}");
        let advice = judged("advise", name);
        assert!(ids(&advice, "not_decided").is_empty(), "{name}: these logs have all that is asked for");
        let words = advice["observed"]["tiers"][0]["words"].as_str().unwrap().to_owned();
        assert!(words.contains(name.split(['-', '.']).next().unwrap()), "{words}");
    }
}

#[test]
fn a_severity_that_is_named_fails() {
    let path = log("micro-4.1.3.zstd").display().to_string();
    spark(&["check", "--event-log", &path, "--fail-on", "medium"]).assert().code(1);
    spark(&["check", "--event-log", &path, "--fail-on", "high"]).assert().code(0);
    spark(&["check", "--event-log", "/nonexistent"]).assert().code(2);
    spark(&["check"]).assert().code(2);
}

#[test]
fn what_conf_prints_the_plugin_knows() {
    let settings = include_str!("../../../../jvm/spark-plugin/src/main/java/pagewise/spark/Settings.java");
    let placer = include_str!("../../../../jvm/spark-plugin/src/main/java/pagewise/spark/Placer.java");
    let share = placer.lines().find_map(|line| line.split_once(" SHARE = ")?.1.strip_suffix(';')).unwrap();
    let young = 1.0 - share.parse::<f64>().unwrap();
    assert!((young - pagewise_core::spark::YOUNG_SHARE).abs() < 1e-9, "{share}");
    for policy in ["none", "storage", "execution", "both"] {
        assert!(settings.contains(&format!("\"{policy}\"")), "{policy}");
        let arguments = ["conf", "--policy", policy, "--spark", "4.3.0", "--jdk", "25.0.3", "--format", "properties"];
        let output = spark(&arguments).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        for name in text.lines().filter_map(|line| line.strip_prefix("spark.pagewise.")?.split(' ').next()) {
            assert!(settings.contains(&format!("PREFIX + \"{name}\"")), "{name}");
        }
        assert_eq!(text.contains("spark.plugins pagewise.spark.PagewisePlugin\n"), policy != "none", "{text}");
    }
}

#[test]
fn a_folder_is_written_once_and_a_wrong_version_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("storage").display().to_string();
    let words =
        ["conf", "--policy", "storage", "--spark", "4.1.3", "--jdk", "17.0.15", "--heap", "2g", "--into", &into];
    spark(&words).assert().success();
    let text = std::fs::read_to_string(folder.path().join("storage/spark-defaults.conf")).unwrap();
    assert!(text.contains("spark.driver.extraJavaOptions -Xms2g -XX:MaxNewSize=819m\n"), "{text}");
    spark(&words).assert().code(2);
    spark(&["conf", "--policy", "storage", "--spark", "/nonexistent"]).assert().code(2);
    spark(&["conf", "--policy", "everything"]).assert().code(2);
}
