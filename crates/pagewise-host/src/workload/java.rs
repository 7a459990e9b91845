//! Which Java runs a workload's programs: one that happens to be the default and does not suit is passed over with the reason.
//! And sizes as Java writes them.

use super::WorkloadError;
use crate::facts::programs::Jvm;
use crate::process::{self, Command, Ended, Interrupt};
use pagewise_core::tunable::jvm;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a workload needs of Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JavaNeeds {
    /// What runs on it, such as `Hadoop 3.3`.
    pub what: &'static str,
    /// Versions that work, the best first.
    pub versions: &'static [u32],
    /// Why no others do: a sentence without its full stop.
    pub why: &'static str,
    /// The package that brings one, in Debian and Ubuntu.
    pub package: &'static str,
    /// A program of `bin/` that must be there beside `java`.
    pub program: Option<&'static str>,
}

/// The flags that a JVM has, those for its own developers among them. Empty where it does not tell: another JVM than HotSpot, or none at all.
pub fn flags(program: &str, interrupt: &Interrupt) -> BTreeSet<String> {
    let ask =
        ["-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions", "-XX:+PrintFlagsFinal", "-version"];
    // What stands in these is for the job.
    let without = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
    let command = Command {
        argv: [program].into_iter().chain(ask).map(str::to_owned).collect(),
        env: without.map(|name| (name.to_owned(), String::new())).into_iter().collect::<BTreeMap<_, _>>(),
        ..Command::default()
    };
    let ended = process::run_step(&command, interrupt, &mut || {});
    ended.map(|ended| jvm::flags_of(&ended.stdout)).unwrap_or_default()
}

/// A Java installation that suits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Java {
    /// Its home folder.
    pub home: PathBuf,
    /// Such as 17.
    pub version: u32,
}

impl Java {
    /// Of the JVMs of a host (see [`crate::facts::programs::jvms`]): the default one when it is suitable, else the best.
    ///
    /// # Errors
    /// When none is suitable: says which were seen and what to install.
    pub fn choose(jvms: &[Jvm], needs: &JavaNeeds) -> Result<Java, WorkloadError> {
        let place = |version: u32| needs.versions.iter().position(|suitable| *suitable == version);
        let has_program = |jvm: &Jvm| needs.program.is_none_or(|name| jvm.home.join("bin").join(name).is_file());
        let best = jvms
            .iter()
            .filter(|jvm| has_program(jvm))
            .filter_map(|jvm| {
                let version = major(jvm.version.as_deref()?)?;
                let place = place(version)?;
                // JAVA_HOME stands before PATH, and both before what is merely installed.
                Some((
                    !jvm.is_default,
                    if jvm.is_default { 0 } else { place },
                    Java { home: jvm.home.clone(), version },
                ))
            })
            .min_by_key(|(is_other, place, _)| (*is_other, *place));
        best.map(|(_, _, java)| java).ok_or_else(|| none_suitable(jvms, needs))
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> String {
        self.tool("java")
    }

    /// A program of its `bin/`.
    #[must_use]
    pub fn tool(&self, name: &str) -> String {
        self.home.join("bin").join(name).display().to_string()
    }

    /// What Hadoop's programs need beside their class path: they look into `java.lang` by reflection, which modules forbid from 17.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        if self.version < 9 {
            return Vec::new();
        }
        vec!["--add-opens".to_owned(), "java.base/java.lang=ALL-UNNAMED".to_owned()]
    }
}

fn none_suitable(jvms: &[Jvm], needs: &JavaNeeds) -> WorkloadError {
    let JavaNeeds { what, why, package, program, .. } = needs;
    let in_words = |jvm: &Jvm| {
        format!("{} in {}", jvm.version.as_deref().unwrap_or("one without a release file"), Path::display(&jvm.home))
    };
    let seen: Vec<String> = jvms.iter().map(in_words).collect();
    let seen = if seen.is_empty() { "none was found".to_owned() } else { format!("found only {}", seen.join(", ")) };
    let with = program.map(|name| format!(" with its {name}")).unwrap_or_default();
    WorkloadError::Missing(format!(
        "no Java{with} that {what} runs on: looked in JAVA_HOME, PATH and the usual folders, {seen}. {why}. Install one \
         (Debian, Ubuntu: apt install {package}) or set JAVA_HOME"
    ))
}

/// Bytes of `512M` or `20G`, as Java writes a size; `_` may part its digits.
pub(in crate::workload) fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The line that says why a Java program failed: the exception or the last warning, not the frames below it.
pub(in crate::workload) fn reason(ended: &Ended) -> String {
    let says_why = |line: &&str| {
        let line = line.trim_start();
        let is_frame = line.starts_with("at ") || line.starts_with("... ");
        !is_frame && (line.contains("Exception") || line.contains("Error"))
    };
    // A JVM that does not start says why, and then twice that it does not.
    let started: Vec<&str> =
        ended.stderr.lines().take_while(|line| !line.contains("Could not create the Java Virtual Machine")).collect();
    if started.len() < ended.stderr.lines().count()
        && let Some(why) = started.iter().rev().find(|line| !line.trim().is_empty())
    {
        return why.trim().chars().take(400).collect();
    }
    // Full memory is named wherever it stands: what follows it is its consequence.
    let memory = ended.stderr.lines().find(|line| line.contains("OutOfMemoryError"));
    let last = memory.or_else(|| ended.stderr.lines().rev().find(says_why));
    last.map_or_else(|| ended.last_words(), |line| line.trim().chars().take(400).collect())
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

    const HADOOP: JavaNeeds = JavaNeeds {
        what: "Hadoop 3.3",
        versions: &[17, 11, 8],
        why: "It needs Java 8, 11 or 17",
        package: "openjdk-17-jre-headless",
        program: None,
    };

    fn jvm(version: &str, is_default: bool) -> Jvm {
        let home = PathBuf::from(format!("/jvm/{version}"));
        Jvm { home, version: Some(version.to_owned()), vendor: None, is_default }
    }

    fn chosen(jvms: &[Jvm]) -> u32 {
        Java::choose(jvms, &HADOOP).unwrap().version
    }

    #[test]
    fn the_default_java_wins_when_hadoop_runs_on_it() {
        let jvms = [jvm("1.8.0_402", true), jvm("17.0.15", false)];
        assert_eq!(chosen(&jvms), 8);
        assert!(Java::choose(&jvms, &HADOOP).unwrap().options().is_empty(), "Java 8 does not know --add-opens");
    }

    #[test]
    fn java_home_wins_over_the_path() {
        assert_eq!(chosen(&[jvm("11.0.2", true), jvm("17.0.15", true)]), 11);
    }

    #[test]
    fn a_default_java_that_is_too_new_is_passed_over_for_the_best() {
        assert_eq!(chosen(&[jvm("25.0.3", true), jvm("11.0.2", false), jvm("17", false)]), 17);
    }

    #[test]
    fn only_a_java_that_is_too_new_is_refused_with_the_reason_and_the_remedy() {
        let text = Java::choose(&[jvm("25.0.3", true)], &HADOOP).unwrap_err().to_string();
        assert!(text.contains("25.0.3 in /jvm") && text.contains("openjdk-17-jre-headless"), "{text}");
        assert!(Java::choose(&[], &HADOOP).unwrap_err().to_string().contains("none was found"));
    }
}
