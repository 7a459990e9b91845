//! The command that runs a program on Spark: the programs compiled against the distribution, and Spark's own launcher asked
//! for the JVM's command line, so that every version gets the options it needs and the timed process is that JVM alone.

use super::super::java::{self, Java};
use super::super::partial::PartialDir;
use super::super::{RunContext, WorkloadError, absolute};
use super::arguments::Arguments;
use super::distribution::Distribution;
use crate::process::{self, Command, Ended, Interrupt};
use crate::progress::Progress;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The programs, by their file's name.
const SOURCES: &[(&str, &str)] = &[
    ("Job.java", include_str!("../../../../../jvm/spark-workloads/pagewise/spark/Job.java")),
    ("KMeans.java", include_str!("../../../../../jvm/spark-workloads/pagewise/spark/KMeans.java")),
    ("Logistic.java", include_str!("../../../../../jvm/spark-workloads/pagewise/spark/Logistic.java")),
    ("Micro.java", include_str!("../../../../../jvm/spark-workloads/pagewise/spark/Micro.java")),
    ("PageRank.java", include_str!("../../../../../jvm/spark-workloads/pagewise/spark/PageRank.java")),
    ("SplitMix64.java", include_str!("../../../../../jvm/spark-workloads/pagewise/spark/SplitMix64.java")),
];

/// What a run leaves in its scratch folder.
pub(super) const RESULT: &str = "result.tsv";
/// The folder of the JVMs' own logs of their collections.
pub(super) const COLLECTIONS: &str = "collections";

/// A Spark with the programs compiled for it.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) spark: Distribution,
    java: Java,
    programs: PathBuf,
}

impl Ready {
    /// The programs for this Spark, from the cache or compiled.
    pub(super) fn with(
        spark: Distribution,
        java: Java,
        cache: &Path,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Ready, WorkloadError> {
        let mut hasher = blake3::Hasher::new();
        SOURCES.iter().for_each(|(_, text)| {
            hasher.update(text.as_bytes());
        });
        let hash = hasher.finalize().to_hex();
        let folder = cache.join(format!("spark/programs/{}-{}-{}", spark.scala, spark.version, &hash[..16]));
        let programs = folder.join("programs.jar");
        if !programs.is_file() {
            let partial = PartialDir::create(&folder, interrupt)?;
            if !programs.is_file() {
                compile(&spark, &java, partial.path(), interrupt, progress)?;
                partial.keep_inner("jar")?;
            }
        }
        Ok(Ready { spark, java, programs })
    }

    /// What is timed: one JVM with the driver in it, and with a local master the executor, too.
    pub(super) fn command(
        &self,
        class: &str,
        arguments: &Arguments,
        run: &RunContext,
        interrupt: &Interrupt,
    ) -> Result<Command, WorkloadError> {
        let scratch = absolute(&run.scratch);
        let home = self.home_of_run(&scratch)?;
        for folder in [COLLECTIONS, "local"] {
            let folder = scratch.join(folder);
            fs::create_dir_all(&folder).map_err(WorkloadError::file("create", folder))?;
        }
        let mut own = BTreeMap::from([
            ("SPARK_HOME", home.display().to_string()),
            ("SPARK_SCALA_VERSION", self.spark.scala.clone()),
            ("SPARK_LOCAL_DIRS", scratch.join("local").display().to_string()),
            ("JAVA_HOME", self.java.home.display().to_string()),
        ]);
        if std::env::var_os("SPARK_LOCAL_IP").is_none() {
            // A host whose name does not resolve would stop Spark; nothing here leaves the host.
            own.insert("SPARK_LOCAL_IP", "127.0.0.1".to_owned());
        }
        let own: BTreeMap<String, String> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let environment: BTreeMap<String, String> = run.job.env.clone().into_iter().chain(own.clone()).collect();
        let mut argv = vec![self.java.program(), "-cp".to_owned(), self.spark.class_path()];
        argv.extend(["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"].map(str::to_owned));
        for (name, value) in arguments.confs_for(&run.job.java_options) {
            argv.extend(["--conf".to_owned(), format!("{name}={value}")]);
        }
        argv.extend(["--class".to_owned(), class.to_owned(), self.programs.display().to_string()]);
        argv.extend(arguments.own.iter().map(|(name, value)| format!("{name}={value}")));
        argv.push(format!("result={}", scratch.join(RESULT).display()));
        let launcher = Command { argv, env: environment, dir: Some(scratch.clone()), ..Command::default() };
        let ended = process::run_step(&launcher, interrupt, &mut || {})?;
        succeeded(&ended, "Spark's launcher")?;
        let argv = command_line(&ended.stdout).ok_or_else(|| {
            WorkloadError::Step(format!("Spark's launcher gave no command line: {}", java::reason(&ended)))
        })?;
        let mut job = run.job.clone();
        // By the variable, because it reaches every JVM.
        job.java_options = vec![format!("-Xlog:gc:file={}:uptime,tags:filecount=0", log_of(&scratch))];
        let mut env = job.environment();
        env.extend(own);
        Ok(Command { argv, env, dir: Some(scratch), ..Command::default() })
    }

    /// The distribution as the run sees it: `local-cluster` writes to `work/` in `SPARK_HOME`, which is the user's.
    fn home_of_run(&self, scratch: &Path) -> Result<PathBuf, WorkloadError> {
        let home = scratch.join("spark-home");
        fs::create_dir_all(&home).map_err(WorkloadError::file("create", &home))?;
        let theirs = absolute(&self.spark.home);
        let entries = fs::read_dir(&theirs).map_err(WorkloadError::file("list", &theirs))?;
        for entry in entries.filter_map(Result::ok).filter(|entry| entry.file_name() != "work") {
            let link = home.join(entry.file_name());
            match symlink(entry.path(), &link) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(WorkloadError::file("link", link)(error));
                }
                _ => {}
            }
        }
        Ok(home)
    }
}

/// The log of a JVM, `%p` being its number.
fn log_of(scratch: &Path) -> String {
    scratch.join(COLLECTIONS).join("%p.log").display().to_string()
}

/// Puts `jar/programs.jar` into `folder`.
fn compile(
    spark: &Distribution,
    java: &Java,
    folder: &Path,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<(), WorkloadError> {
    let (sources, classes, jar) = (folder.join("sources"), folder.join("classes"), folder.join("jar"));
    for made in [&sources, &classes, &jar] {
        fs::create_dir(made).map_err(WorkloadError::file("create", made))?;
    }
    let mut argv: Vec<String> =
        [java.tool("javac").as_str(), "--release", "17", "-proc:none", "-nowarn", "-cp"].map(str::to_owned).to_vec();
    argv.extend([spark.class_path(), "-d".to_owned(), classes.display().to_string()]);
    for (name, text) in SOURCES {
        let path = sources.join(name);
        fs::write(&path, text).map_err(WorkloadError::file("write", &path))?;
        argv.push(path.display().to_string());
    }
    let packed = jar.join("programs.jar").display().to_string();
    let classes = classes.display().to_string();
    let jar =
        [java.tool("jar").as_str(), "--create", "--file", &packed, "-C", &classes, "."].map(str::to_owned).to_vec();
    for (argv, what) in [(argv, "javac"), (jar, "jar")] {
        let command = Command { argv, ..Command::default() };
        let ended = process::run_step(&command, interrupt, &mut || progress.stage("compiling for this Spark", None))?;
        interrupt.check()?;
        succeeded(&ended, what)?;
    }
    Ok(())
}

fn succeeded(ended: &Ended, what: &str) -> Result<(), WorkloadError> {
    if ended.status.is_success() {
        return Ok(());
    }
    Err(WorkloadError::Step(format!("{what} ended with {}: {}", ended.status, java::reason(ended))))
}

/// What `bin/spark-class` makes of the launcher's output: words, each ended by NUL, behind a line with NUL alone, which 3.2 and
/// earlier did not write.
fn command_line(text: &str) -> Option<Vec<String>> {
    let words = text.split_once("\0\n").map_or(text, |(_, words)| words).strip_suffix('\0')?;
    Some(words.split('\0').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_words_are_those_behind_its_first_line() {
        let words = Some(vec!["java".to_owned(), "-cp".to_owned(), "a b".to_owned()]);
        assert_eq!(command_line("\0\njava\0-cp\0a b\0"), words);
        assert_eq!(command_line("a warning\n\0\njava\0-cp\0a b\0"), words);
        assert_eq!(command_line("java\0-cp\0a b\0"), words);
        assert_eq!(command_line("Error: no main class"), None);
    }
}
