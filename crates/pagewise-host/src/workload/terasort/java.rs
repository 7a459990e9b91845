//! Which Java runs Hadoop. Hadoop 3.3 runs on 8, 11 and 17; a newer one that happens to stand first in PATH is passed
//! over with the reason.

use super::super::WorkloadError;
use std::fs;
use std::path::{Path, PathBuf};

/// Versions that work, the best first.
const SUITABLE: [u32; 3] = [17, 11, 8];

/// A Java installation that Hadoop runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Java {
    /// Its home folder.
    pub home: PathBuf,
    /// 8, 11 or 17.
    pub version: u32,
}

/// Where Java may be.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `JAVA_HOME`.
    pub java_home: Option<PathBuf>,
    /// Folders whose sub-folders are Java homes, such as `/usr/lib/jvm`.
    pub collections: Vec<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
}

impl Places {
    /// Of this machine and environment.
    #[must_use]
    pub fn here() -> Self {
        Places {
            java_home: std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
            collections: vec!["/usr/lib/jvm".into()],
            path: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
        }
    }
}

impl Java {
    /// `JAVA_HOME` when it is suitable, else the best of the collections, else `java` in `PATH`.
    ///
    /// # Errors
    /// When none is suitable: says which were seen and what to install.
    pub fn find(places: &Places) -> Result<Java, WorkloadError> {
        let mut seen = Vec::new();
        let mut suitable = |home: PathBuf| match version_of(&home) {
            Some(version) if SUITABLE.contains(&version) => Some(Java { home, version }),
            Some(version) => {
                seen.push(format!("Java {version} in {}", home.display()));
                None
            }
            None => None,
        };
        if let Some(java) = places.java_home.clone().and_then(&mut suitable) {
            return Ok(java);
        }
        let mut found: Vec<Java> =
            places.collections.iter().flat_map(|dir| homes_in(dir)).filter_map(&mut suitable).collect();
        found.sort_by_key(|java| SUITABLE.iter().position(|version| *version == java.version));
        if let Some(best) = found.into_iter().next() {
            return Ok(best);
        }
        let in_path = places.path.iter().filter_map(|dir| fs::canonicalize(dir.join("java")).ok());
        let homes = in_path.filter_map(|java| java.parent()?.parent().map(Path::to_path_buf));
        homes.into_iter().find_map(&mut suitable).ok_or_else(|| none_suitable(seen))
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> String {
        self.home.join("bin/java").display().to_string()
    }

    /// What Hadoop needs beside its class path: it looks into `java.lang` by reflection, which modules forbid from 17.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        if self.version < 9 {
            return Vec::new();
        }
        vec!["--add-opens".to_owned(), "java.base/java.lang=ALL-UNNAMED".to_owned()]
    }
}

fn none_suitable(mut seen: Vec<String>) -> WorkloadError {
    seen.sort();
    seen.dedup();
    let seen = if seen.is_empty() { "none was found".to_owned() } else { format!("found only {}", seen.join(", ")) };
    WorkloadError::Missing(format!(
        "no Java that Hadoop runs on: looked in JAVA_HOME, /usr/lib/jvm and PATH, {seen}. Hadoop 3.3 needs Java 8, 11 \
         or 17; newer ones took away the security manager that it still calls. Install one (Debian, Ubuntu: apt \
         install openjdk-17-jre-headless) or set JAVA_HOME"
    ))
}

fn homes_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut homes: Vec<PathBuf> =
        entries.filter_map(Result::ok).filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect();
    homes.sort();
    homes.dedup();
    // Java 8's own home holds the runtime in `jre`.
    homes.into_iter().filter(|home| home.join("bin/java").is_file()).collect()
}

/// From the `release` file that every Java since 7 carries: 17 for `17.0.15`, 8 for `1.8.0_402`.
fn version_of(home: &Path) -> Option<u32> {
    if !home.join("bin/java").is_file() {
        return None;
    }
    let release = fs::read_to_string(home.join("release")).ok()?;
    let value = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim().trim_matches('"');
    let mut parts = value.split(['.', '_', '-', '+']).filter_map(|part| part.parse().ok());
    match parts.next()? {
        1 => parts.next(),
        major => Some(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(dir: &Path, name: &str, version: &str) -> PathBuf {
        let home = dir.join(name);
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::write(home.join("bin/java"), "").unwrap();
        fs::write(home.join("release"), format!("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"{version}\"\n")).unwrap();
        fs::canonicalize(home).unwrap()
    }

    #[test]
    fn java_home_wins_when_hadoop_runs_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let eight = install(dir.path(), "eight", "1.8.0_402");
        install(dir.path(), "seventeen", "17.0.15");
        let places = Places { java_home: Some(eight.clone()), collections: vec![dir.path().into()], path: vec![] };
        let java = Java::find(&places).unwrap();
        assert_eq!(java, Java { home: eight, version: 8 });
        assert!(java.options().is_empty(), "Java 8 does not know --add-opens");
    }

    #[test]
    fn a_java_home_that_is_too_new_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let new = install(dir.path(), "a-new", "25.0.3");
        let old = install(dir.path(), "b-old", "11.0.2");
        let best = install(dir.path(), "c-best", "17");
        let places = Places { java_home: Some(new), collections: vec![dir.path().into()], path: vec![old.join("bin")] };
        assert_eq!(Java::find(&places).unwrap(), Java { home: best, version: 17 });
    }

    #[test]
    fn only_a_java_that_is_too_new_is_refused_with_the_reason_and_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let new = install(dir.path(), "new", "25.0.3");
        let error = Java::find(&Places { java_home: None, collections: vec![], path: vec![new.join("bin")] });
        let text = error.unwrap_err().to_string();
        assert!(text.contains("Java 25") && text.contains("openjdk-17-jre-headless"), "{text}");
    }
}
