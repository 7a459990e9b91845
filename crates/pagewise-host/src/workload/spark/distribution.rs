//! Which Spark runs the job: the user's own, else a whole distribution from a locked list, which pip brings.

use super::super::WorkloadError;
use super::super::java::JavaNeeds;
use super::super::kept::{KeptFile, hash_files, sha256};
use super::super::partial::{PartialDir, remove};
use crate::process::{self, Command, Ended, Interrupt};
use crate::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};

const LOCK: &str = include_str!("../../../../../jvm/spark-workloads/distributions.lock");

/// Which of the list is meant when nobody says.
pub(super) const DEFAULT_VERSION: &str = "4.3.0";

/// The jars as they were unpacked.
const MANIFEST: &str = "jars.json";

/// A Spark that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The folder with `jars/` and `bin/`.
    pub home: PathBuf,
    /// Such as `4.3.0`.
    pub version: String,
    /// The Scala it was built for, such as `2.13`.
    pub scala: String,
}

/// The versions of the list.
fn versions() -> impl Iterator<Item = (&'static str, &'static str)> {
    LOCK.lines().filter_map(|line| {
        let (sum, package) = line.split_once("  ").filter(|_| !line.starts_with('#'))?;
        Some((sum, package.split_once("==")?.1))
    })
}

/// The SHA-256 of the archive that holds this version.
///
/// # Errors
/// [`WorkloadError::Usage`] for a version that the list does not have.
pub(super) fn checksum(version: &str) -> Result<&'static str, WorkloadError> {
    versions().find(|(_, listed)| *listed == version).map(|(sum, _)| sum).ok_or_else(|| {
        let listed: Vec<&str> = versions().map(|(_, version)| version).collect();
        WorkloadError::Usage(format!(
            "Pagewise does not fetch Spark {version}; it knows {}. Another one: unpack it, and name its folder with --spark \
             or SPARK_HOME",
            listed.join(" and ")
        ))
    })
}

/// Where a version of the list lies in the cache.
fn cached(cache: &Path, version: &str) -> PathBuf {
    cache.join(format!("spark-{version}"))
}

/// `SPARK_HOME`, which says nothing about another host.
pub(super) fn spark_home() -> Option<PathBuf> {
    std::env::var_os("SPARK_HOME").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The word of the step that brings a version.
fn fetch_word(version: &str) -> String {
    if version == DEFAULT_VERSION { "fetch".to_owned() } else { format!("fetch-{version}") }
}

impl Distribution {
    /// The first of `--spark`, `SPARK_HOME`, the cache. A place the user named is not passed over, and neither is a version
    /// that was asked for.
    ///
    /// # Errors
    /// When the named place holds no Spark, or one of another version than asked for, or the cached one is missing or damaged.
    pub fn find(
        flag: Option<&Path>,
        cache: &Path,
        version: Option<&str>,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<Distribution, WorkloadError> {
        let named = flag.map(|home| (home.to_path_buf(), "--spark"));
        let named = named.or_else(|| Some((spark_home()?, "SPARK_HOME")));
        if let Some((home, by)) = named {
            let found = Distribution::in_home(&home).ok_or_else(|| {
                WorkloadError::Missing(format!(
                    "no Spark in {} (named by {by}): there is no jars/spark-core_SCALA-VERSION.jar; name the folder a Spark \
                     release was unpacked to",
                    home.display()
                ))
            })?;
            return match version {
                Some(version) if version != found.version => Err(WorkloadError::Usage(format!(
                    "version={version} was asked for, and {by} names Spark {} in {}; leave one of them out",
                    found.version,
                    home.display()
                ))),
                _ => Ok(found),
            };
        }
        let version = version.unwrap_or(DEFAULT_VERSION);
        checksum(version)?;
        let home = cached(cache, version);
        let bring = format!("pagewise workload spark:micro {}", fetch_word(version));
        if !home.is_dir() {
            return Err(WorkloadError::Missing(format!(
                "no Spark found: tried --spark, SPARK_HOME and {}. Bring it with: {bring}",
                home.display()
            )));
        }
        if let Some(fault) = fault(&home, interrupt, progress)? {
            return Err(WorkloadError::Missing(format!(
                "the cached Spark cannot be used: {fault}. Bring it anew with: {bring}"
            )));
        }
        Distribution::in_home(&home).ok_or_else(|| {
            WorkloadError::Missing(format!("no spark-core in {}. Bring it with: {bring}", home.display()))
        })
    }

    /// One that was fetched into this cache, the default version before others; not whether it is undamaged, which takes seconds.
    pub(super) fn fetched(cache: &Path) -> Option<Distribution> {
        let is_default = |version: &&str| *version == DEFAULT_VERSION;
        let others = versions().map(|(_, version)| version).filter(|version| !is_default(version));
        let homes = std::iter::once(DEFAULT_VERSION).chain(others).map(|version| cached(cache, version));
        homes.filter(|home| home.join(MANIFEST).is_file()).find_map(|home| Distribution::in_home(&home))
    }

    /// The one in this folder, by the name of its core jar.
    #[must_use]
    pub fn in_home(home: &Path) -> Option<Distribution> {
        let entries = fs::read_dir(home.join("jars")).ok()?;
        entries.filter_map(Result::ok).find_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let (scala, version) = name.strip_prefix("spark-core_")?.strip_suffix(".jar")?.split_once('-')?;
            Some(Distribution { home: home.to_path_buf(), version: version.to_owned(), scala: scala.to_owned() })
        })
    }

    /// What Java takes as the path to all of its classes.
    pub(super) fn class_path(&self) -> String {
        self.home.join("jars/*").display().to_string()
    }

    /// The Java it runs on, by its release notes: 25 from 4.2 on, 21 from 4.0 on.
    pub(super) fn java(&self) -> JavaNeeds {
        let mut parts = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let (versions, why): (&[u32], _) = match (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) {
            (..4, _) => (&[17], "Spark 3 needs Java 17 here"),
            (4, ..2) => (&[17, 21], "Spark 4.0 and 4.1 need Java 17 or 21"),
            _ => (&[17, 21, 25], "Spark 4.2 and later need Java 17, 21 or 25"),
        };
        JavaNeeds { what: "Spark", versions, why, package: "openjdk-17-jdk-headless", program: Some("javac") }
    }
}

/// What is wrong with a distribution of the cache.
fn fault(home: &Path, interrupt: &Interrupt, progress: &dyn Progress) -> Result<Option<String>, WorkloadError> {
    let path = home.join(MANIFEST);
    let kept = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Vec<KeptFile>>(&text).ok());
    let Some(kept) = kept else { return Ok(Some(format!("{} is missing or damaged", path.display()))) };
    let found = hash_files(&home.join("jars"), interrupt, progress)?;
    let changed = kept.iter().find(|file| !found.contains(file)).or(found.iter().find(|file| !kept.contains(file)));
    Ok(changed.map(|file| format!("{} is not as it was fetched", home.join("jars").join(&file.name).display())))
}

/// Brings a version of the list into the cache, unless it is there and whole.
///
/// # Errors
/// When pip or tar is missing or fails, or what was brought is not what the list says.
pub(super) fn fetch(
    cache: &Path,
    version: &str,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<PathBuf, WorkloadError> {
    let wanted = checksum(version)?;
    let target = cached(cache, version);
    let is_whole = || Ok::<bool, WorkloadError>(target.is_dir() && fault(&target, interrupt, progress)?.is_none());
    if is_whole()? {
        return Ok(target);
    }
    let partial = PartialDir::create(&target, interrupt)?;
    if is_whole()? {
        // Another process brought it while we waited for our turn.
        return Ok(target);
    }
    let requirement = partial.path().join("requirement.txt");
    fs::write(&requirement, format!("pyspark=={version} --hash=sha256:{wanted}\n"))
        .map_err(WorkloadError::file("write", &requirement))?;
    let archives = partial.path().join("archives");
    let what = format!("fetching Spark {version} with pip (about 450 MB)");
    let argv = ["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes"];
    let mut argv: Vec<String> = argv.map(str::to_owned).to_vec();
    argv.extend(["--dest".to_owned(), archives.display().to_string()]);
    argv.extend(["--requirement".to_owned(), requirement.display().to_string()]);
    step(argv, &what, version, interrupt, progress)?;
    let archive = archives.join(format!("pyspark-{version}.tar.gz"));
    let sum = sha256(&archive).map_err(WorkloadError::file("read", &archive))?;
    if sum != wanted {
        return Err(WorkloadError::Step(format!(
            "pip brought an archive of Spark {version} whose SHA-256 is {sum}, and the list wants {wanted}; nothing was kept. \
             The package index pip uses serves another file"
        )));
    }
    let home = partial.path().join("home");
    fs::create_dir(&home).map_err(WorkloadError::file("create", &home))?;
    let mut argv: Vec<String> =
        ["tar", "--extract", "--gzip", "--no-same-owner", "--strip-components=2", "--file"].map(str::to_owned).to_vec();
    argv.extend([archive.display().to_string(), "--directory".to_owned(), home.display().to_string()]);
    argv.push(format!("pyspark-{version}/deps"));
    step(argv, &format!("unpacking Spark {version}"), version, interrupt, progress)?;
    let jars = hash_files(&home.join("jars"), interrupt, progress)?;
    let manifest = home.join(MANIFEST);
    let text = serde_json::to_string_pretty(&jars)
        .map_err(|error| WorkloadError::Step(format!("cannot write the list {}: {error}", manifest.display())))?;
    fs::write(&manifest, text).map_err(WorkloadError::file("write", &manifest))?;
    remove(&archives)?;
    partial.keep_inner("home")?;
    Ok(target)
}

fn step(
    argv: Vec<String>,
    what: &str,
    version: &str,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<(), WorkloadError> {
    let command = Command { argv, ..Command::default() };
    let remedy = "Or unpack a Spark release and name it with --spark DIR or SPARK_HOME";
    let ended: Ended = process::run_step(&command, interrupt, &mut || progress.stage(what, None)).map_err(|error| {
        WorkloadError::Missing(format!(
            "cannot fetch Spark {version}: {error}. pip and tar bring it: install them (Debian, Ubuntu: apt install \
             python3-pip tar). {remedy}"
        ))
    })?;
    interrupt.check()?;
    if ended.status.is_success() {
        return Ok(());
    }
    Err(WorkloadError::Step(format!(
        "cannot fetch Spark {version}: {} ended with {}: {}. It needs Python's pip (Debian, Ubuntu: apt install \
         python3-pip) and a network. {remedy}",
        command.argv[0],
        ended.status,
        why(&ended.stderr).unwrap_or_else(|| ended.last_words())
    )))
}

/// What went wrong of a network, which pip says while it tries again and again, and at its end only that it found nothing.
fn why(stderr: &str) -> Option<String> {
    const SHOWN: usize = 300;
    let line = stderr.lines().rev().find(|line| {
        ["SSLError", "CERTIFICATE", "ProxyError", "ConnectionError", "TimeoutError"]
            .iter()
            .any(|word| line.contains(word))
    })?;
    // Its last words repeat the address that it asked for.
    let told = line.split_once("broken by ").map_or(line, |(_, told)| told);
    Some(told.trim().chars().take(SHOWN).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;

    fn find(home: &Path, version: Option<&str>) -> Result<Distribution, WorkloadError> {
        Distribution::find(Some(home), Path::new("/nonexistent"), version, &Interrupt::default(), &NoProgress)
    }

    #[test]
    fn pip_s_reason_is_found_above_its_last_line() {
        let said = "WARNING: Retrying (Retry(total=0)) after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: \
                    CERTIFICATE_VERIFY_FAILED] certificate verify failed'))': /simple/pyspark/\nERROR: Could not find a version that satisfies \
                    the requirement\nERROR: No matching distribution found for pyspark";
        assert!(
            why(said).is_some_and(|told| told.starts_with("'SSLError(") && told.contains("CERTIFICATE_VERIFY_FAILED"))
        );
        assert_eq!(why("ERROR: No matching distribution found for pyspark==9.9.9"), None);
    }

    #[test]
    fn every_version_of_the_list_has_a_whole_checksum_and_the_default_is_one() {
        assert_eq!(versions().count(), LOCK.lines().filter(|line| !line.starts_with('#')).count());
        assert!(versions().all(|(sum, _)| sum.len() == 64));
        assert!(checksum(DEFAULT_VERSION).is_ok());
        assert!(checksum("1.0").unwrap_err().to_string().contains("4.2.0 and 4.3.0"));
    }

    #[test]
    fn a_named_folder_is_taken_for_the_version_its_jar_says_or_refused() {
        let home = tempfile::tempdir().unwrap();
        assert!(find(home.path(), None).unwrap_err().to_string().contains("named by --spark"));
        fs::create_dir(home.path().join("jars")).unwrap();
        fs::write(home.path().join("jars/spark-core_2.12-3.5.6.jar"), "").unwrap();
        let found = find(home.path(), Some("3.5.6")).unwrap();
        assert_eq!((found.version.as_str(), found.scala.as_str()), ("3.5.6", "2.12"));
        assert_eq!(found.java().versions, [17]);
        assert!(find(home.path(), Some("4.3.0")).unwrap_err().to_string().contains("leave one of them out"));
    }

    #[test]
    fn a_jar_that_changed_in_the_cache_is_named() {
        let home = tempfile::tempdir().unwrap();
        let jars = home.path().join("jars");
        fs::create_dir_all(jars.join("folder")).unwrap();
        fs::write(jars.join("a.jar"), "a").unwrap();
        let kept = hash_files(&jars, &Interrupt::default(), &NoProgress).unwrap();
        fs::write(home.path().join(MANIFEST), serde_json::to_string(&kept).unwrap()).unwrap();
        let fault = || fault(home.path(), &Interrupt::default(), &NoProgress).unwrap();
        assert_eq!(fault(), None);
        fs::write(jars.join("a.jar"), "b").unwrap();
        assert!(fault().unwrap().contains("a.jar is not as it was fetched"));
    }
}
