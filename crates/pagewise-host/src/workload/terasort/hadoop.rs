//! Which Hadoop runs the job, and where its configuration sends it.

use super::super::WorkloadError;
use super::fetch;
use std::fs;
use std::path::{Path, PathBuf};

/// A Hadoop that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hadoop {
    /// Such as `3.3.6`.
    pub version: String,
    /// What Java's `-cp` takes.
    pub class_path: String,
    /// The jar with TeraSort in it.
    pub examples: PathBuf,
    /// The `hadoop` command, when there is one.
    pub launcher: Option<PathBuf>,
    /// Its configuration folder, when there is one.
    pub conf: Option<PathBuf>,
}

/// Where Hadoop may be, in the order tried.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `--hadoop`.
    pub flag: Option<PathBuf>,
    /// `HADOOP_HOME`.
    pub hadoop_home: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// Pagewise's cache.
    pub cache: PathBuf,
    /// `HADOOP_CONF_DIR`.
    pub conf: Option<PathBuf>,
}

impl Places {
    /// Of this environment.
    #[must_use]
    pub fn here(flag: Option<PathBuf>, cache: PathBuf) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Places {
            flag,
            hadoop_home: variable("HADOOP_HOME"),
            path: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
            cache,
            conf: variable("HADOOP_CONF_DIR"),
        }
    }
}

impl Hadoop {
    /// The first of `--hadoop`, `HADOOP_HOME`, `PATH`, the cache. A place the user named is not passed over.
    ///
    /// # Errors
    /// When a named place holds no Hadoop, nothing is found, or the cached files are damaged.
    pub fn find(places: &Places) -> Result<Hadoop, WorkloadError> {
        let named = [(&places.flag, "--hadoop"), (&places.hadoop_home, "HADOOP_HOME")];
        let named = named.into_iter().find_map(|(home, by)| Some((home.as_ref()?, by)));
        if let Some((home, by)) = named {
            return Hadoop::in_home(home, places.conf.as_deref()).ok_or_else(|| {
                WorkloadError::Missing(format!(
                    "no Hadoop in {} (named by {by}): there is no share/hadoop/common/hadoop-common-VERSION.jar with \
                     share/hadoop/mapreduce/hadoop-mapreduce-examples-VERSION.jar; name the folder a Hadoop release \
                     was unpacked to",
                    home.display()
                ))
            });
        }
        if let Some(found) = places.path.iter().find_map(|dir| Hadoop::in_path(dir, places.conf.as_deref())) {
            return Ok(found);
        }
        Hadoop::in_cache(&places.cache)
    }

    fn in_path(dir: &Path, conf: Option<&Path>) -> Option<Hadoop> {
        let launcher = fs::canonicalize(dir.join("hadoop")).ok()?;
        Hadoop::in_home(launcher.parent()?.parent()?, conf)
    }

    fn in_home(home: &Path, conf: Option<&Path>) -> Option<Hadoop> {
        let share = home.join("share/hadoop");
        let version = versioned_jar(&share.join("common"), "hadoop-common-")?.1;
        let examples = versioned_jar(&share.join("mapreduce"), "hadoop-mapreduce-examples-")?.0;
        let class_path: Vec<String> = ["common", "common/lib", "hdfs", "hdfs/lib", "mapreduce", "yarn", "yarn/lib"]
            .iter()
            .map(|part| share.join(part).join("*").display().to_string())
            .collect();
        let launcher = Some(home.join("bin/hadoop")).filter(|launcher| launcher.is_file());
        let conf = conf.map(Path::to_path_buf).or_else(|| Some(home.join("etc/hadoop")).filter(|dir| dir.is_dir()));
        Some(Hadoop { version, class_path: class_path.join(":"), examples, launcher, conf })
    }

    fn in_cache(cache: &Path) -> Result<Hadoop, WorkloadError> {
        let dir = fetch::dir(cache);
        if !dir.is_dir() {
            return Err(WorkloadError::Missing(format!(
                "no Hadoop found: tried --hadoop, HADOOP_HOME, PATH and {}. Bring it with: pagewise workload \
                 terasort fetch",
                dir.display()
            )));
        }
        if let Some(fault) = fetch::faults(cache).first() {
            return Err(WorkloadError::Missing(format!(
                "the cached Hadoop cannot be used: {fault}. Bring it anew with: pagewise workload terasort fetch"
            )));
        }
        Ok(Hadoop {
            version: fetch::VERSION.to_owned(),
            class_path: dir.join("*").display().to_string(),
            examples: dir.join(format!("hadoop-mapreduce-examples-{}.jar", fetch::VERSION)),
            launcher: None,
            conf: None,
        })
    }

    /// Which framework the user's configuration names, and whether it is on this machine.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        Cluster::from_files(&self.setting("mapred-site.xml"), &self.setting("yarn-site.xml"), &self.setting("workers"))
    }

    /// Whether its default file system is this host's.
    #[must_use]
    pub fn has_local_files(&self) -> bool {
        property(&self.setting("core-site.xml"), "fs.defaultFS").is_none_or(|system| system.starts_with("file:"))
    }

    /// A file of its configuration; empty when there is none.
    fn setting(&self, file: &str) -> String {
        let text = self.conf.as_ref().and_then(|conf| fs::read_to_string(conf.join(file)).ok());
        text.unwrap_or_default()
    }
}

/// Where the user's own Hadoop runs its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cluster {
    /// Inside the client's JVM.
    InClient,
    /// On YARN, all of it on this machine.
    YarnHere,
    /// On YARN, on other machines for this reason.
    Elsewhere(String),
}

impl Cluster {
    fn from_files(mapred: &str, yarn: &str, workers: &str) -> Cluster {
        let framework = property(mapred, "mapreduce.framework.name").unwrap_or_else(|| "local".to_owned());
        if framework == "local" {
            return Cluster::InClient;
        }
        let resource_manager = ["yarn.resourcemanager.hostname", "yarn.resourcemanager.address"]
            .into_iter()
            .find_map(|name| property(yarn, name));
        let host = resource_manager.as_deref().map(|address| address.split(':').next().unwrap_or(address));
        if let Some(host) = host.filter(|host| !is_here(host)) {
            return Cluster::Elsewhere(format!("its tasks run on {framework}, managed by {host}"));
        }
        let worker =
            workers.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#') && !is_here(line));
        match worker {
            Some(worker) => {
                Cluster::Elsewhere(format!("its tasks run on {framework}, with {worker} among the workers"))
            }
            None => Cluster::YarnHere,
        }
    }
}

fn is_here(host: &str) -> bool {
    const NAMES: [&str; 4] = ["localhost", "127.0.0.1", "0.0.0.0", "::1"];
    NAMES.contains(&host) || rustix::system::uname().nodename().to_str().is_ok_and(|own| own == host)
}

/// The value of a property in one of Hadoop's XML files: `<name>N</name> … <value>V</value>`.
fn property(xml: &str, name: &str) -> Option<String> {
    let between = |text: &str, open: &str, close: &str| {
        let start = text.find(open)? + open.len();
        let end = text[start..].find(close)? + start;
        Some(text[start..end].trim().to_owned())
    };
    let blocks = xml.split("<property>").skip(1).map(|block| block.split("</property>").next().unwrap_or(block));
    let values = blocks
        .filter(|block| between(block, "<name>", "</name>").as_deref() == Some(name))
        .filter_map(|block| between(block, "<value>", "</value>"));
    values.last()
}

/// The jar `PREFIXversion.jar` in `dir`, with its version. Not `…-tests.jar`, not `…-sources.jar`.
fn versioned_jar(dir: &Path, prefix: &str) -> Option<(PathBuf, String)> {
    let entries = fs::read_dir(dir).ok()?;
    let mut jars: Vec<(PathBuf, String)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.strip_suffix(".jar")?.to_owned();
            let plain = !["tests", "sources", "javadoc"].iter().any(|kind| version.ends_with(kind));
            (plain && version.starts_with(|c: char| c.is_ascii_digit())).then(|| (entry.path(), version))
        })
        .collect();
    jars.sort();
    jars.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(dir: &Path, version: &str) {
        for (folder, jar) in [("common", "hadoop-common"), ("mapreduce", "hadoop-mapreduce-examples")] {
            let folder = dir.join("share/hadoop").join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{jar}-{version}.jar")), "").unwrap();
            fs::write(folder.join(format!("{jar}-{version}-tests.jar")), "").unwrap();
        }
        fs::create_dir_all(dir.join("bin")).unwrap();
        fs::write(dir.join("bin/hadoop"), "").unwrap();
    }

    #[test]
    fn the_flag_wins_over_hadoop_home_and_that_over_path() {
        let dirs: Vec<_> = ["3.3.1", "3.3.4", "3.4.0"]
            .into_iter()
            .map(|version| {
                let dir = tempfile::tempdir().unwrap();
                release(dir.path(), version);
                dir
            })
            .collect();
        let mut places = Places {
            flag: Some(dirs[0].path().into()),
            hadoop_home: Some(dirs[1].path().into()),
            path: vec!["/nonexistent".into(), dirs[2].path().join("bin")],
            ..Places::default()
        };
        assert_eq!(Hadoop::find(&places).unwrap().version, "3.3.1");
        places.flag = None;
        assert_eq!(Hadoop::find(&places).unwrap().version, "3.3.4");
        places.hadoop_home = None;
        assert_eq!(Hadoop::find(&places).unwrap().version, "3.4.0");
        places.path.clear();
        assert!(Hadoop::find(&places).unwrap_err().to_string().contains("terasort fetch"));
    }

    #[test]
    fn a_named_folder_without_hadoop_is_not_passed_over() {
        let places = Places { flag: Some("/nonexistent".into()), ..Places::default() };
        assert!(Hadoop::find(&places).unwrap_err().to_string().contains("--hadoop"));
    }

    #[test]
    fn a_resource_manager_or_a_worker_on_another_machine_is_a_cluster_elsewhere() {
        let set = |name: &str, value: &str| {
            format!(
                "<configuration><property>\n<name>{name}</name>\n<value> {value} </value></property></configuration>"
            )
        };
        let yarn = set("mapreduce.framework.name", "yarn");
        assert_eq!(Cluster::from_files("", "", ""), Cluster::InClient);
        assert_eq!(Cluster::from_files(&yarn, "", "localhost\n"), Cluster::YarnHere);
        let far = Cluster::from_files(&yarn, &set("yarn.resourcemanager.address", "rm1.example:8032"), "");
        assert!(matches!(far, Cluster::Elsewhere(why) if why.contains("rm1.example")));
        let spread = Cluster::from_files(&yarn, "", "localhost\nnode7.example\n");
        assert!(matches!(spread, Cluster::Elsewhere(why) if why.contains("node7.example")));
    }
}
