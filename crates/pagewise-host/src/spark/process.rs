//! A JVM that runs, as its files in `/proc` show it.

use crate::cgroup;
use crate::root::Root;
use pagewise_core::huge_pages::mapping::of_smaps;
use pagewise_core::spark::check::{CheckedJvm, Collector, Live};
use pagewise_core::spark::{JavaOptions, Version, spark_size};
use pagewise_core::tunable::jvm;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Why it cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// There is no such process.
    #[error("there is no process {0}; jps -l lists JVMs")]
    Gone(i32),
    /// It is no JVM.
    #[error("process {0} is '{1}' and no JVM: it runs no program java; jps -l lists them")]
    NoJvm(i32, String),
}

/// Mappings from this size on are the heap and large pieces outside it.
const LARGE: u64 = 64 << 20;

/// What it shows.
///
/// # Errors
/// When there is none, or it is no JVM.
pub fn inspect(root: &Root, pid: i32) -> Result<CheckedJvm, ProcessError> {
    let read = |name: &str| fs::read(root.path(&format!("/proc/{pid}/{name}"))).ok();
    let line = read("cmdline").ok_or(ProcessError::Gone(pid))?;
    let words = split(&line);
    let threads: Vec<String> = root
        .list(&format!("/proc/{pid}/task"))
        .unwrap_or_default()
        .iter()
        .filter_map(|task| root.read(&format!("/proc/{pid}/task/{task}/comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect();
    let program = words.first().map(String::as_str).unwrap_or_default();
    let is_java = Path::new(program).file_name().is_some_and(|name| name == "java");
    if !is_java && Collector::of_threads(&threads).is_none() {
        return Err(ProcessError::NoJvm(pid, program.chars().take(80).collect()));
    }
    let variable = |name: &str| {
        let all = read("environ").map(|bytes| split(&bytes)).unwrap_or_default();
        all.iter().find_map(|one| one.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    // The order in which the JVM takes them: what stands last wins.
    let tool = JavaOptions::parse(&variable("JAVA_TOOL_OPTIONS").unwrap_or_default());
    let (options, rest) = options(&words);
    let options = tool.then(options).then(JavaOptions::parse(&variable("_JAVA_OPTIONS").unwrap_or_default()));
    let is_executor = rest.first().is_some_and(|class| class.contains("ExecutorBackend"));
    let java = java(root, pid);
    let class_path = words.join(":");
    let who = match (is_executor, is_of_spark(&class_path, &threads)) {
        (true, _) => "a Spark executor",
        (false, true) => "a JVM",
        (false, false) => "a JVM in which nothing of Spark is seen",
    };
    let (limit, quota) = cgroup::limits_of(root, pid);
    let mode = |name: &str| {
        let text = root.read(&format!("/sys/kernel/mm/transparent_hugepage/{name}")).ok()?;
        Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
    };
    let memory = root.read("/proc/meminfo").ok().and_then(|text| kib(&text, "MemTotal"));
    let max_heap = options.max_heap().or_else(|| Some(memory?.min(limit.unwrap_or(u64::MAX)) / 4));
    let live = Live {
        collector: Collector::of_threads(&threads),
        cpus: cpus(root, pid).map(|cpus| quota.map_or(cpus, |quota| quota.min(cpus))).or(quota),
        memory,
        thp: mode("enabled"),
        shmem: mode("shmem_enabled"),
        limit,
        mapped: read("smaps").map(|bytes| mapped(&String::from_utf8_lossy(&bytes))),
        has_plugin: threads.iter().any(|name| name.starts_with("pagewise")),
    };
    Ok(CheckedJvm {
        subject: format!("process {pid} ({who})"),
        spark: spark_version(&class_path),
        java,
        conf: (!is_executor).then(|| conf(&rest)).flatten(),
        options,
        is_executor,
        max_heap,
        live: Some(live),
        log: None,
    })
}

/// By what it was started with, or by the names of Spark's threads, of which the kernel keeps 15 bytes: a program can bring Spark in a jar
/// of its own.
fn is_of_spark(words: &str, threads: &[String]) -> bool {
    const THREADS: [&str; 4] = ["Spark Context C", "driver-heartbea", "executor-heartb", "dispatcher-Bloc"];
    words.contains("org.apache.spark")
        || words.contains("spark-core_")
        || threads.iter().any(|name| THREADS.contains(&name.as_str()))
}

fn split(bytes: &[u8]) -> Vec<String> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The JVM's options, and the class with what it is told.
fn options(words: &[String]) -> (JavaOptions, Vec<String>) {
    let (options, rest) = jvm::options_and_rest(words);
    (JavaOptions::of(options.into_iter().map(str::to_owned).collect()), rest.to_vec())
}

/// What `spark-submit` was told; what stands in its files is not seen. `None` for another program.
fn conf(rest: &[String]) -> Option<BTreeMap<String, String>> {
    if !rest.first()?.contains("org.apache.spark.deploy.SparkSubmit") {
        return None;
    }
    let mut conf = BTreeMap::new();
    for pair in rest.windows(2) {
        match (pair[0].as_str(), pair[1].split_once('=')) {
            ("--conf" | "-c", Some((name, value))) => conf.insert(name.to_owned(), value.to_owned()),
            ("--driver-java-options", _) => conf.insert("spark.driver.extraJavaOptions".to_owned(), pair[1].clone()),
            ("--driver-memory", _) => conf.insert("spark.driver.memory".to_owned(), pair[1].clone()),
            _ => None,
        };
    }
    Some(conf)
}

/// By the release file of the JDK that its program lies in.
fn java(root: &Root, pid: i32) -> Option<Version> {
    let program = fs::read_link(root.path(&format!("/proc/{pid}/exe"))).ok()?;
    let home = program.parent()?.parent()?;
    let release = fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Version::of_java(version.trim_matches('"')).ok()
}

/// By the name of a jar of Spark's on the class path, or of the folder it is in.
fn spark_version(class_path: &str) -> Option<Version> {
    let by_jar = class_path
        .split("spark-core_")
        .nth(1)
        .and_then(|rest| rest.split_once('-')?.1.split(".jar").next()?.parse().ok());
    by_jar.or_else(|| {
        let jars = class_path.split(':').find_map(|part| part.strip_suffix("/jars/*"))?;
        pagewise_version(Path::new(jars))
    })
}

fn pagewise_version(home: &Path) -> Option<Version> {
    crate::workload::spark::Distribution::in_home(home)?.version.parse().ok()
}

fn cpus(root: &Root, pid: i32) -> Option<f64> {
    let status = root.read(&format!("/proc/{pid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let count = |range: &str| match range.trim().split_once('-') {
        Some((from, to)) => Some(to.parse::<u32>().ok()?.checked_sub(from.parse().ok()?)? + 1),
        None => range.trim().parse::<u32>().ok().map(|_| 1),
    };
    list.split(',').map(count).sum::<Option<u32>>().map(f64::from)
}

fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    spark_size(line.trim().strip_suffix("kB")?.trim(), 1 << 10)
}

/// Of large anonymous mappings what is in memory, and what of it on huge pages.
fn mapped(smaps: &str) -> (u64, u64) {
    let mappings = of_smaps(smaps);
    let large = mappings.iter().filter(|mapping| mapping.is_anonymous && mapping.end - mapping.start >= LARGE);
    large.fold((0, 0), |(resident, huge), mapping| (resident + mapping.resident, huge + mapping.huge))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_where_the_class_begins() {
        let words: Vec<String> =
            "java -cp /opt/spark/jars/* -Xmx1g --add-opens java.base/java.io=ALL-UNNAMED -XX:+UseG1GC \
                                  org.apache.spark.deploy.SparkSubmit --conf spark.plugins=a=b --driver-memory 1g -Xms7"
                .split_whitespace()
                .map(str::to_owned)
                .collect();
        let (options, rest) = options(&words);
        assert_eq!((options.max_heap(), options.initial_heap(), options.is_on("UseG1GC")), (Some(1 << 30), None, true));
        assert_eq!(conf(&rest).unwrap()["spark.plugins"], "a=b");
    }

    #[test]
    fn versions_come_from_names_of_jars() {
        assert_eq!(spark_version("/x/spark-core_2.13-4.1.3.jar:/y"), Some(Version::of(4, 1, 3)));
        assert_eq!(spark_version("/x/y.jar"), None);
    }

    #[test]
    fn spark_is_told_from_another_jvm_by_its_classes_or_its_threads() {
        let threads = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        assert!(is_of_spark("java:-cp:/x/jars/*:org.apache.spark.deploy.SparkSubmit", &[]));
        assert!(is_of_spark("java:-jar:job.jar", &threads(&["main", "Spark Context C"])));
        assert!(!is_of_spark("java:-jar:kafka.jar", &threads(&["main", "G1 Conc#0"])));
    }
}
