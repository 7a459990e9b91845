//! What a run on Spark left: what its program wrote, and the pauses that its JVMs logged.

use std::fs;
use std::path::Path;

/// The lines of a result, `name<TAB>value`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    lines: Vec<(String, String)>,
}

impl Outcome {
    /// Of this file.
    ///
    /// # Errors
    /// The reason, in words, when it is not there or has another form.
    pub(super) fn read(path: &Path) -> Result<Outcome, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("there is no result {}: {error}", path.display()))?;
        Outcome::parse(&text).ok_or_else(|| format!("{} is no result of a program", path.display()))
    }

    pub(super) fn parse(text: &str) -> Option<Outcome> {
        let line = |line: &str| line.split_once('\t').map(|(name, value)| (name.to_owned(), value.to_owned()));
        text.lines().map(line).collect::<Option<Vec<_>>>().map(|lines| Outcome { lines })
    }

    /// Every value of this name, in the order written. Those that are no numbers are left out.
    pub(super) fn all<T: std::str::FromStr>(&self, name: &str) -> Vec<T> {
        self.lines.iter().filter(|(known, _)| known == name).filter_map(|(_, value)| value.parse().ok()).collect()
    }

    /// The last value of this name.
    ///
    /// # Errors
    /// The reason, in words, when there is none.
    pub(super) fn last(&self, name: &str) -> Result<f64, String> {
        self.all(name).last().copied().ok_or_else(|| format!("the program gave no {name}"))
    }
}

/// The numbers of a value that has several, up to the first word that is none.
pub(super) fn numbers(value: &str) -> Vec<f64> {
    value.split(' ').map_while(|word| word.parse().ok()).collect()
}

/// Seconds of every pause that the JVMs of a run logged into this folder.
///
/// # Errors
/// The reason, in words, when no JVM logged there.
pub(super) fn pauses(folder: &Path) -> Result<Vec<f64>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    if paths.is_empty() {
        return Err(format!("no JVM logged its collections in {}", folder.display()));
    }
    let mut all = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        all.extend(text.lines().filter_map(pause));
    }
    Ok(all)
}

/// Seconds of `[1.234s][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 102M->20M(256M) 12.345ms`.
fn pause(line: &str) -> Option<f64> {
    let (_, words) = line.split_once("GC(")?.1.split_once(") ")?;
    words.strip_prefix("Pause ")?.rsplit(' ').next()?.strip_suffix("ms")?.parse::<f64>().ok().map(|ms| ms / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_told_from_what_goes_on_beside_the_program() {
        let log = "[0.012s][gc] Using G1\n\
                   [1.0s][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 102M->20M(256M) 12.500ms\n\
                   [1.1s][gc] GC(1) Concurrent Mark Cycle\n\
                   [1.2s][gc] GC(1) Pause Remark 30M->30M(256M) 1.500ms\n\
                   [1.3s][gc] GC(1) Concurrent Mark Cycle 250.000ms\n";
        assert_eq!(log.lines().filter_map(pause).collect::<Vec<f64>>(), [0.0125, 0.0015]);
    }

    #[test]
    fn a_result_has_every_value_of_a_name_in_its_order() {
        let outcome = Outcome::parse("iteration_wall\t0.5\niteration_wall\t0.25\ncached_bytes\t12\n").unwrap();
        assert_eq!(outcome.all::<f64>("iteration_wall"), [0.5, 0.25]);
        assert_eq!(outcome.last("cached_bytes"), Ok(12.0));
        assert!(outcome.last("shuffled_bytes").is_err());
        assert_eq!(Outcome::parse("no tabulator"), None);
    }
}
