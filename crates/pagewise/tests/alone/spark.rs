//! Workloads on a real Spark: what a run measures, what a wrong result gets, and that executors of their own are held, too.

use assert_cmd::Command;
use pagewise_testkit::requires;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

fn pagewise(words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.env_remove("HADOOP_HOME").env_remove("SPARK_HOME").args(words);
    command
}

/// The distribution in the cache that all tests share, brought there once.
fn shared() -> PathBuf {
    let output = pagewise(&["workload", "spark:micro", "fetch"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let folder = said.lines().find_map(|line| line.split_once("Spark 4.3.0 is in ")).map(|(_, folder)| folder.trim());
    PathBuf::from(folder.unwrap_or_else(|| panic!("{said}")))
}

/// A step of a workload, with a cache of its own for programs and scratch.
fn step(cache: &Path, spark: &Path, words: &[&str]) -> Command {
    let mut command = pagewise(&["workload"]);
    command.env("PAGEWISE_CACHE_DIR", cache).args(words).arg("--spark").arg(spark);
    command
}

fn measured(cache: &Path, spark: &Path, words: &[&str]) -> serde_json::Value {
    let output = step(cache, spark, words).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What lies in a folder; nothing in one that does not exist.
fn names_in(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn micro_caches_visits_and_measures_and_a_changed_sum_is_found() {
    requires!(javac, pip);
    let (cache, spark) = (tempfile::tempdir().unwrap(), shared());
    let arguments = ["objects=4000", "passes=3", "touch=7", "order=random"];
    let words = |step| [&["spark:micro", step][..], &arguments].concat();
    let report = measured(cache.path(), &spark, &words("run"));
    let measures = &report["measures"];
    let cached = measures["cached_bytes"].as_f64().unwrap();
    assert!((4000.0 * 4096.0..4000.0 * 4200.0).contains(&cached), "{report}");
    let (median, sum) = (&measures["iteration_wall_median"], &measures["iteration_wall_sum"]);
    assert!(median.as_f64().unwrap() > 0.0 && sum.as_f64().unwrap() > median.as_f64().unwrap(), "{report}");
    let tasks = measures["iteration_cpu_median"].as_f64().unwrap();
    let most = 1.1 * median.as_f64().unwrap() * std::thread::available_parallelism().unwrap().get() as f64;
    assert!(tasks > 0.0 && tasks < most, "more CPU time than there was: {report}");
    assert!(measures["gc_pauses"].as_f64().unwrap() > 0.0, "Spark's start alone collects: {report}");
    assert_eq!(measures["shuffled_bytes"], 0.0);
    step(cache.path(), &spark, &words("verify")).assert().success();

    let result = cache.path().join("spark/micro/by-hand/result.tsv");
    let text = fs::read_to_string(&result).unwrap();
    let one = text.lines().rfind(|line| line.starts_with("iteration_sum\t")).unwrap();
    let (before, behind) = text.rsplit_once(one).unwrap();
    fs::write(&result, format!("{before}iteration_sum\t1{behind}")).unwrap();
    let output = step(cache.path(), &spark, &words("verify")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("pass 3 summed 1,"), "{said}");
}

#[test]
fn kmeans_finds_the_centres_its_points_were_made_around() {
    requires!(javac, pip);
    let (cache, spark) = (tempfile::tempdir().unwrap(), shared());
    let arguments = ["points=20000", "iterations=2", "clusters=5"];
    let words = |step| [&["spark:kmeans", step][..], &arguments].concat();
    let report = measured(cache.path(), &spark, &words("run"));
    assert!(report["measures"]["cached_bytes"].as_f64().unwrap() > 20_000.0 * 20.0 * 8.0, "{report}");
    assert!(report["measures"]["shuffled_bytes"].as_f64().unwrap() > 0.0, "sums of clusters are shuffled: {report}");
    step(cache.path(), &spark, &words("verify")).assert().success();
}

#[test]
fn logistic_takes_the_steps_of_its_points_and_a_changed_weight_is_found() {
    requires!(javac, pip);
    let (cache, spark) = (tempfile::tempdir().unwrap(), shared());
    let arguments = ["points=20000", "dimensions=10", "iterations=3", "heap=512m"];
    let words = |step| [&["spark:logistic", step][..], &arguments].concat();
    let report = measured(cache.path(), &spark, &words("run"));
    assert!(report["measures"]["cached_bytes"].as_f64().unwrap() > 20_000.0 * 10.0 * 8.0, "{report}");
    assert!(report["measures"]["shuffled_bytes"].as_f64().unwrap() > 0.0, "sums of gradients are shuffled: {report}");
    step(cache.path(), &spark, &words("verify")).assert().success();

    let result = cache.path().join("spark/logistic/by-hand/result.tsv");
    let text = fs::read_to_string(&result).unwrap();
    let (before, weights) = text.rsplit_once("weights\t").unwrap();
    let (first, behind) = weights.split_once(' ').unwrap();
    let changed = first.parse::<f64>().unwrap() + 1e-6;
    fs::write(&result, format!("{before}weights\t{changed} {behind}")).unwrap();
    let output = step(cache.path(), &spark, &words("verify")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("weight 1 after step 3 is"), "{said}");
}

#[test]
fn pagerank_gives_the_ranks_of_its_graph_and_a_changed_one_is_found() {
    requires!(javac, pip);
    let (cache, spark) = (tempfile::tempdir().unwrap(), shared());
    let arguments = ["vertices=5000", "degree=4", "iterations=3", "partitions=3", "heap=512m"];
    let words = |step| [&["spark:pagerank", step][..], &arguments].concat();
    let report = measured(cache.path(), &spark, &words("run"));
    let measures = &report["measures"];
    // Of an edge the numbers of its ends and its weight, of a vertex its number and its rank.
    assert!(measures["cached_bytes"].as_f64().unwrap() > 20_000.0 * 16.0 + 5000.0 * 16.0, "{report}");
    assert!(measures["shuffled_bytes"].as_f64().unwrap() > 3.0 * 5000.0 * 8.0, "ranks are shuffled: {report}");
    let (median, sum) = (&measures["iteration_wall_median"], &measures["iteration_wall_sum"]);
    assert!(median.as_f64().unwrap() > 0.0 && sum.as_f64().unwrap() > 2.0 * median.as_f64().unwrap(), "{report}");
    step(cache.path(), &spark, &words("verify")).assert().success();

    let result = cache.path().join("spark/pagerank/by-hand/result.tsv");
    let text = fs::read_to_string(&result).unwrap();
    let (before, sums) = text.rsplit_once("sums\t").unwrap();
    let (first, behind) = sums.split_once(' ').unwrap();
    let changed = first.parse::<f64>().unwrap() * (1.0 + 1e-6);
    fs::write(&result, format!("{before}sums\t{changed} {behind}")).unwrap();
    let output = step(cache.path(), &spark, &words("verify")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("the weighted sum of ranks 0 to 4 is"), "{said}");
}

#[test]
fn executors_in_jvms_of_their_own_give_the_same_sum_and_their_pauses_count() {
    requires!(javac, pip);
    let (cache, spark) = (tempfile::tempdir().unwrap(), shared());
    // Workers write to `work/` in SPARK_HOME, which Spark itself may have made there before.
    let entries = || [spark.clone(), spark.join("work")].map(|folder| names_in(&folder));
    let before = entries();
    let arguments =
        ["objects=2000", "passes=2", "order=cached", "touch=1", "heap=512m", "master=local-cluster[2,1,512]"];
    let words = |step| [&["spark:micro", step][..], &arguments].concat();
    measured(cache.path(), &spark, &words("run"));
    step(cache.path(), &spark, &words("verify")).assert().success();
    let scratch = cache.path().join("spark/micro/by-hand");
    let logs: Vec<_> = fs::read_dir(scratch.join("collections")).unwrap().map(|log| log.unwrap().path()).collect();
    let is_pause = |line: &str| line.contains("Pause ");
    let paused = logs.iter().filter(|log| fs::read_to_string(log).unwrap().lines().any(is_pause)).count();
    // At the end Spark sometimes starts an executor anew that has just been told to end.
    assert!(paused >= 3, "the driver's and two executors': {paused} of {logs:?}");
    assert!(!names_in(&scratch.join("spark-home/work")).is_empty(), "the workers' folder is the run's own");
    assert_eq!(entries(), before, "the distribution stays as it is");
}

#[test]
fn more_objects_than_fit_are_no_run_but_said() {
    requires!(javac, pip);
    let (cache, spark) = (tempfile::tempdir().unwrap(), shared());
    let words = ["spark:micro", "run", "objects=100000", "passes=1", "heap=512m"];
    let output = step(cache.path(), &spark, &words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("give it more heap, or fewer data"), "{said}");
}

#[test]
fn without_spark_the_message_says_how_to_bring_it_and_a_wrong_home_is_named() {
    requires!(javac);
    let cache = tempfile::tempdir().unwrap();
    let said = |command: &mut Command| {
        let output = command.env("PAGEWISE_CACHE_DIR", cache.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let prepare = ["workload", "spark:micro", "prepare"];
    assert!(said(&mut pagewise(&prepare)).contains("pagewise workload spark:micro fetch"));
    assert!(said(pagewise(&prepare).env("SPARK_HOME", "/nonexistent")).contains("named by SPARK_HOME"));
    let mut fetch = pagewise(&["workload", "spark:micro", "fetch"]);
    assert!(said(fetch.env("PATH", "/nonexistent")).contains("apt install python3-pip"));
}

#[test]
fn what_spark_conf_prints_runs_and_nothing_is_found_wrong_with_it() {
    requires!(javac, pip, spark_plugin);
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jvm/spark-plugin/target/spark-plugin-0.1.0.jar");
    let (cache, spark, logs) = (tempfile::tempdir().unwrap(), shared(), tempfile::tempdir().unwrap());
    let jar = plugin.canonicalize().unwrap().display().to_string();
    let printed =
        pagewise(&["spark", "conf", "--policy", "storage", "--heap", "1g", "--jar", &jar, "--json", "--spark"])
            .arg(&spark)
            .output()
            .unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    let mut words = vec![
        "spark:micro".to_owned(),
        "run".to_owned(),
        "objects=20000".to_owned(),
        "passes=3".to_owned(),
        "heap=1g".to_owned(),
    ];
    for setting in printed["settings"].as_array().unwrap() {
        let (name, value) = (setting["name"].as_str().unwrap(), setting["value"].as_str().unwrap());
        // The workload names the heap itself.
        if name != "spark.driver.memory" {
            words.push(format!("{name}={value}"));
        }
    }
    words.push("spark.eventLog.enabled=true".to_owned());
    words.push(format!("spark.eventLog.dir=file:{}", logs.path().display()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    measured(cache.path(), &spark, &words);
    let log = fs::read_dir(logs.path()).unwrap().next().unwrap().unwrap().path().display().to_string();
    let checked = pagewise(&["spark", "check", "--event-log", &log, "--json"]).output().unwrap();
    let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(checked["findings"], serde_json::json!([]), "{checked}");
}
