//! Which Java runs Hadoop. Hadoop 3.3 runs on 8, 11 and 17; a newer one that happens to be the default is passed over
//! with the reason.

use super::super::WorkloadError;
use crate::facts::programs::Jvm;
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

impl Java {
    /// Of the JVMs of a host (see [`crate::facts::programs::jvms`]): the default one when it is suitable, else the best.
    ///
    /// # Errors
    /// When none is suitable: says which were seen and what to install.
    pub fn choose(jvms: &[Jvm]) -> Result<Java, WorkloadError> {
        let place = |version: u32| SUITABLE.iter().position(|suitable| *suitable == version);
        let best = jvms
            .iter()
            .filter_map(|jvm| {
                let version = major(jvm.version.as_deref()?)?;
                Some((!jvm.is_default, place(version)?, Java { home: jvm.home.clone(), version }))
            })
            .min_by_key(|(is_other, place, _)| (*is_other, *place));
        best.map(|(_, _, java)| java).ok_or_else(|| none_suitable(jvms))
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

fn none_suitable(jvms: &[Jvm]) -> WorkloadError {
    let in_words = |jvm: &Jvm| {
        format!("{} in {}", jvm.version.as_deref().unwrap_or("one without a release file"), Path::display(&jvm.home))
    };
    let seen: Vec<String> = jvms.iter().map(in_words).collect();
    let seen = if seen.is_empty() { "none was found".to_owned() } else { format!("found only {}", seen.join(", ")) };
    WorkloadError::Missing(format!(
        "no Java that Hadoop runs on: looked in JAVA_HOME, PATH and the usual folders, {seen}. Hadoop 3.3 needs Java 8, \
         11 or 17; newer ones took away the security manager that it still calls. Install one (Debian, Ubuntu: apt \
         install openjdk-17-jre-headless) or set JAVA_HOME"
    ))
}

/// 17 for `17.0.15`, 8 for `1.8.0_402`.
fn major(version: &str) -> Option<u32> {
    let mut parts = version.split(['.', '_', '-', '+']).map_while(|part| part.parse().ok());
    match parts.next()? {
        1 => parts.next(),
        major => Some(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jvm(version: &str, is_default: bool) -> Jvm {
        let home = PathBuf::from(format!("/jvm/{version}"));
        Jvm { home, version: Some(version.to_owned()), vendor: None, is_default }
    }

    fn chosen(jvms: &[Jvm]) -> u32 {
        Java::choose(jvms).unwrap().version
    }

    #[test]
    fn the_default_java_wins_when_hadoop_runs_on_it() {
        let jvms = [jvm("1.8.0_402", true), jvm("17.0.15", false)];
        assert_eq!(chosen(&jvms), 8);
        assert!(Java::choose(&jvms).unwrap().options().is_empty(), "Java 8 does not know --add-opens");
    }

    #[test]
    fn a_default_java_that_is_too_new_is_passed_over_for_the_best() {
        assert_eq!(chosen(&[jvm("25.0.3", true), jvm("11.0.2", false), jvm("17", false)]), 17);
    }

    #[test]
    fn only_a_java_that_is_too_new_is_refused_with_the_reason_and_the_remedy() {
        let text = Java::choose(&[jvm("25.0.3", true)]).unwrap_err().to_string();
        assert!(text.contains("25.0.3 in /jvm") && text.contains("openjdk-17-jre-headless"), "{text}");
        assert!(Java::choose(&[]).unwrap_err().to_string().contains("none was found"));
    }
}
