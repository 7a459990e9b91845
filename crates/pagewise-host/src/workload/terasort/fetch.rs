//! Hadoop from a locked list: Maven resolves the files, and each must have the SHA-256 that was committed with the list.

use super::super::WorkloadError;
use super::super::kept::sha256;
use super::super::partial::PartialDir;
use crate::process::{self, Command, Ended, Interrupt};
use crate::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};

const LOCK: &str = include_str!("../../../../../jvm/terasort/artefacts.lock");
const POM: &str = include_str!("../../../../../jvm/terasort/pom.xml");

/// The version the list holds.
pub(super) const VERSION: &str = "3.3.6";

/// One line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Artefact<'a> {
    sha256: &'a str,
    group: &'a str,
    name: &'a str,
    version: &'a str,
}

impl Artefact<'_> {
    /// Of its file in the cache.
    #[must_use]
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}.jar", self.name, self.version)
    }

    fn coordinates(&self) -> String {
        format!("{}:{}:{}", self.group, self.name, self.version)
    }

    /// What is wrong with its file in `dir`.
    fn fault(&self, dir: &Path) -> Option<String> {
        let path = dir.join(self.file_name());
        match sha256(&path) {
            Ok(sum) if sum == self.sha256 => None,
            Ok(sum) => Some(format!(
                "{} is damaged: its SHA-256 is {}…, the list wants {}…",
                path.display(),
                &sum[..12],
                self.sha256.get(..12).unwrap_or(self.sha256)
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Some(format!("{} is missing", path.display()))
            }
            Err(error) => Some(format!("{} cannot be read: {error}", path.display())),
        }
    }
}

/// The committed list.
#[must_use]
pub(super) fn artefacts() -> Vec<Artefact<'static>> {
    LOCK.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Artefact<'_>> {
    let (sha256, coordinates) = line.split_once("  ").filter(|_| !line.starts_with('#'))?;
    let mut parts = coordinates.split(':');
    Some(Artefact { sha256, group: parts.next()?, name: parts.next()?, version: parts.next()? })
}

/// Where the files lie under the cache.
#[must_use]
pub(super) fn dir(cache: &Path) -> PathBuf {
    cache.join(format!("hadoop-{VERSION}"))
}

/// What is wrong with the cached files; nothing when all are there and whole.
#[must_use]
pub(super) fn faults(cache: &Path) -> Vec<String> {
    let dir = dir(cache);
    artefacts().iter().filter_map(|artefact| artefact.fault(&dir)).collect()
}

/// Brings the files into the cache, unless they are there and whole. Maven takes what it has already from its own
/// repository, without a network.
///
/// # Errors
/// When Maven is missing or fails, or what it brought is not what the list says.
pub(super) fn fetch(cache: &Path, interrupt: &Interrupt, progress: &dyn Progress) -> Result<PathBuf, WorkloadError> {
    let target = dir(cache);
    if faults(cache).is_empty() {
        return Ok(target);
    }
    let partial = PartialDir::create(&target, interrupt)?;
    if faults(cache).is_empty() {
        // Another process brought them while we waited for our turn.
        return Ok(target);
    }
    let pom = partial.path().join("pom.xml");
    fs::write(&pom, POM).map_err(WorkloadError::file("write", &pom))?;
    let jars = partial.path().join("jars");
    let mut ended = maven(&pom, &jars, None, interrupt, progress)?;
    if said(&ended).contains("Could not create local repository") {
        // A user without a home folder, such as a service account: a repository for this once will do.
        let repository = partial.path().join("repository");
        ended = maven(&pom, &jars, Some(&repository), interrupt, progress)?;
    }
    if !ended.status.is_success() {
        return Err(WorkloadError::Step(maven_failed(&ended)));
    }
    let wrong: Vec<(Artefact<'_>, String)> =
        artefacts().into_iter().filter_map(|artefact| Some((artefact, artefact.fault(&jars)?))).collect();
    if let Some((artefact, fault)) = wrong.first() {
        return Err(WorkloadError::Step(format!(
            "Maven brought {}, but {fault}; nothing was kept. Delete {} below Maven's own repository (usually \
             ~/.m2/repository) and fetch again; if it stays, the repository Maven uses serves another file",
            artefact.coordinates(),
            Path::new(&artefact.group.replace('.', "/")).join(artefact.name).join(artefact.version).display()
        )));
    }
    partial.keep_inner("jars")?;
    Ok(target)
}

fn maven(
    pom: &Path,
    jars: &Path,
    repository: Option<&Path>,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<Ended, WorkloadError> {
    let mut argv: Vec<String> = ["mvn", "-B", "-q", "-Dstyle.color=never", "-f"].map(str::to_owned).to_vec();
    argv.push(pom.display().to_string());
    argv.extend(["dependency:copy-dependencies", "-DincludeScope=runtime"].map(str::to_owned));
    argv.push(format!("-DoutputDirectory={}", jars.display()));
    argv.extend(repository.map(|folder| format!("-Dmaven.repo.local={}", folder.display())));
    let command = Command { argv, ..Command::default() };
    let what = format!("fetching Hadoop {VERSION} with Maven (52 MB)");
    let ended = process::run_step(&command, interrupt, &mut || progress.stage(&what, None)).map_err(|error| {
        WorkloadError::Missing(format!(
            "cannot fetch Hadoop {VERSION}: {error}. Maven brings it: install it (Debian, Ubuntu: apt install maven), \
             or unpack a Hadoop release and name it with --hadoop DIR or HADOOP_HOME"
        ))
    })?;
    interrupt.check()?;
    Ok(ended)
}

fn said(ended: &Ended) -> String {
    format!("{}\n{}", ended.stdout, ended.stderr)
}

fn maven_failed(ended: &Ended) -> String {
    let said = said(ended);
    let mut errors = said.lines().filter_map(|line| line.split_once("[ERROR]")).map(|(_, reason)| reason.trim());
    let reason = errors.find(|reason| !reason.is_empty()).map_or_else(|| ended.last_words(), str::to_owned);
    let reason: String = reason.chars().take(400).collect();
    format!(
        "cannot fetch Hadoop {VERSION}: mvn ended with {}: {reason}. Without a network, run it once with one, or name a \
         Hadoop release with --hadoop DIR; behind a proxy or a mirror, set it in ~/.m2/settings.xml",
        ended.status
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_an_artefact_with_a_whole_checksum() {
        let lines = LOCK.lines().filter(|line| !line.starts_with('#')).count();
        let list = artefacts();
        assert_eq!(list.len(), lines);
        assert!(list.iter().all(|artefact| artefact.sha256.len() == 64));
        assert!(list.iter().any(|a| a.name == "hadoop-mapreduce-examples" && a.version == VERSION));
    }

    #[test]
    fn a_damaged_and_a_missing_file_are_told_apart_and_named() {
        let cache = tempfile::tempdir().unwrap();
        let dir = dir(cache.path());
        fs::create_dir_all(&dir).unwrap();
        let first = artefacts()[0];
        fs::write(dir.join(first.file_name()), "not a jar").unwrap();
        let faults = faults(cache.path());
        assert_eq!(faults.len(), artefacts().len());
        assert!(faults[0].contains("damaged") && faults[0].contains(&first.file_name()), "{}", faults[0]);
        assert!(faults[1].contains("missing"), "{}", faults[1]);
    }
}
