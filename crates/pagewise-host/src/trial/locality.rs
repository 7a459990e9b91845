//! Whether a command runs its work on this host. A policy that changes this host proves nothing about a job that a
//! remote Spark master or YARN runs elsewhere, so such a pair is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads a file of the user's; a map in tests.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The reason why `argv` runs its work elsewhere, when it does as far as can be told from its words and configuration.
#[must_use]
pub fn runs_elsewhere(argv: &[String], env: &BTreeMap<String, String>, read: ReadFile<'_>) -> Option<String> {
    let program = argv.iter().find_map(|word| {
        let name = Path::new(word).file_name()?.to_str()?;
        let known = ["spark-submit", "spark-sql", "spark-shell", "pyspark", "spark-class", "hadoop", "yarn", "mapred"];
        known.contains(&name).then_some(name)
    })?;
    if program == "yarn" && argv.iter().any(|word| word == "jar") {
        return Some("'yarn jar' runs its work on the cluster's nodes".to_owned());
    }
    if matches!(program, "hadoop" | "mapred" | "yarn") { hadoop(argv, env, read) } else { spark(argv, env, read) }
}

fn spark(argv: &[String], env: &BTreeMap<String, String>, read: ReadFile<'_>) -> Option<String> {
    let master = spark_master_in_words(argv).or_else(|| env.get("MASTER").cloned()).or_else(|| {
        let conf = env.get("SPARK_CONF_DIR").map(PathBuf::from);
        let conf = conf.or_else(|| env.get("SPARK_HOME").map(|home| Path::new(home).join("conf")))?;
        let text = read(&conf.join("spark-defaults.conf"))?;
        text.lines().find_map(|line| {
            let (key, value) = line.trim().split_once(|c: char| c.is_whitespace() || c == '=')?;
            (key == "spark.master").then(|| value.trim().trim_start_matches('=').trim().to_owned())
        })
    })?;
    let here =
        master.starts_with("local") || ["spark://localhost", "spark://127."].iter().any(|p| master.starts_with(p));
    (!here).then(|| format!("Spark's master is '{master}', so its executors run elsewhere"))
}

fn spark_master_in_words(argv: &[String]) -> Option<String> {
    let mut found = None;
    for (position, word) in argv.iter().enumerate() {
        let next = argv.get(position + 1);
        if let Some(master) = word.strip_prefix("--master=") {
            found = Some(master.to_owned());
        } else if word == "--master" {
            found = next.cloned();
        } else if let Some(setting) = if word == "--conf" || word == "-c" { next } else { None }
            && let Some(master) = setting.strip_prefix("spark.master=")
        {
            found = Some(master.to_owned());
        }
    }
    found
}

fn hadoop(argv: &[String], env: &BTreeMap<String, String>, read: ReadFile<'_>) -> Option<String> {
    let in_words = argv.iter().enumerate().find_map(|(position, word)| {
        let setting = match word.strip_prefix("-D") {
            Some("") => argv.get(position + 1)?.as_str(),
            Some(setting) => setting,
            None => return None,
        };
        setting.strip_prefix("mapreduce.framework.name=").map(str::to_owned)
    });
    let framework = in_words.or_else(|| {
        let conf = env.get("HADOOP_CONF_DIR").map(PathBuf::from);
        let conf = conf.or_else(|| env.get("HADOOP_HOME").map(|home| Path::new(home).join("etc/hadoop")))?;
        property(&read(&conf.join("mapred-site.xml"))?, "mapreduce.framework.name")
    })?;
    (framework != "local")
        .then(|| format!("Hadoop's mapreduce.framework.name is '{framework}', so its tasks run elsewhere"))
}

/// The value of a property in Hadoop's XML configuration.
fn property(xml: &str, name: &str) -> Option<String> {
    let after = xml.split_once(&format!("<name>{name}</name>"))?.1;
    let value = after.split_once("<value>")?.1.split_once("</value>")?.0;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elsewhere(line: &str, env: &[(&str, &str)], files: &[(&str, &str)]) -> Option<String> {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let read = |path: &Path| files.iter().find(|(p, _)| Path::new(p) == path).map(|(_, text)| (*text).to_owned());
        runs_elsewhere(&argv, &env, &read)
    }

    #[test]
    fn a_remote_spark_master_is_seen_in_words_and_in_defaults() {
        assert!(elsewhere("spark-submit --master yarn job.jar", &[], &[]).is_some());
        assert!(
            elsewhere("/opt/spark/bin/spark-submit --conf spark.master=spark://head:7077 job.jar", &[], &[]).is_some()
        );
        assert!(elsewhere("spark-submit --master local[4] job.jar", &[], &[]).is_none());
        assert!(elsewhere("spark-submit job.jar", &[], &[]).is_none());
        let defaults = [("/s/conf/spark-defaults.conf", "# x\nspark.master   k8s://https://api\n")];
        assert!(elsewhere("spark-submit job.jar", &[("SPARK_HOME", "/s")], &defaults).is_some());
    }

    #[test]
    fn yarn_is_seen_in_words_and_in_mapred_site() {
        assert!(elsewhere("yarn jar x.jar", &[], &[]).is_some());
        assert!(elsewhere("hadoop jar x.jar -Dmapreduce.framework.name=yarn", &[], &[]).is_some());
        let site = "<configuration><property><name>mapreduce.framework.name</name> <value>yarn</value></property></configuration>";
        assert!(elsewhere("hadoop jar x.jar", &[("HADOOP_CONF_DIR", "/c")], &[("/c/mapred-site.xml", site)]).is_some());
        assert!(elsewhere("hadoop jar x.jar", &[], &[]).is_none());
    }

    #[test]
    fn other_commands_run_here() {
        assert!(elsewhere("sleep 1", &[], &[]).is_none());
        assert!(elsewhere("sort --master yarn", &[], &[]).is_none());
    }
}
