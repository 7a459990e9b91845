//! Spark as `doctor` tells of it: found as the workloads find it, so that both say the same.

use super::distribution::{Distribution, spark_home};
use crate::facts::NOT_CAPTURED;
use crate::facts::programs::{are_shown, find, found_in};
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability};
use std::path::{Path, PathBuf};

const AREA: Area = Area::Programs;

/// What `doctor` says of it. `configured` is the one that settings name, `cache` the folder that holds Pagewise's own; both are of this
/// host.
pub(in crate::workload) fn capability(root: &Root, configured: Option<&Path>, cache: Option<&Path>) -> Capability {
    let named = configured.map(|home| (home.to_owned(), "the setting 'spark'"));
    let named = named.or_else(|| Some((spark_home()?, "SPARK_HOME")));
    let cache = cache.filter(|_| root.is_live()).map_or_else(|| root.path("/var/cache/pagewise"), Path::to_owned);
    found(root, named.filter(|_| root.is_live()), &cache)
}

/// `named`: its folder, and what names it.
fn found(root: &Root, named: Option<(PathBuf, &str)>, cache: &Path) -> Capability {
    let (id, what) = ("spark", "Spark");
    if let Some((home, by)) = named {
        return match Distribution::in_home(&home) {
            Some(found) => Capability::yes(AREA, id, what, found_in(root, Some(found.version), &home)),
            None => {
                let why = format!("{by} names {}, and no jars/spark-core_SCALA-VERSION.jar is there", home.display());
                Capability::no(AREA, id, what, why, "correct that setting, or leave it out")
            }
        };
    }
    let fetched = Distribution::fetched(cache).map(|found| format!("{} in Pagewise's cache", found.version));
    let installed = installed(root).map(|found| {
        let shown = root.shown(&found.home);
        format!("{} in {shown} (workloads take it with SPARK_HOME={shown})", found.version)
    });
    let there: Vec<String> = fetched.into_iter().chain(installed).collect();
    if !there.is_empty() {
        return Capability::yes(AREA, id, what, there.join("; "));
    }
    if !are_shown(root) {
        return Capability::unknown(AREA, id, what, NOT_CAPTURED, "");
    }
    let why = "not configured, not in SPARK_HOME or on the search path, not in the cache";
    Capability::no(AREA, id, what, why, "run: pagewise workload spark:micro fetch")
}

/// The one whose `spark-submit` is on the search path.
#[must_use]
pub fn installed(root: &Root) -> Option<Distribution> {
    let program = std::fs::canonicalize(find(root, "spark-submit")?).ok()?;
    let prefix = program.parent()?.parent()?;
    Distribution::in_home(prefix).or_else(|| of_pip(prefix))
}

/// The one that pip installed, whose programs lie apart from the rest.
fn of_pip(prefix: &Path) -> Option<Distribution> {
    let pythons = std::fs::read_dir(prefix.join("lib")).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let pythons =
        pythons.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons
        .flat_map(|python| ["site-packages", "dist-packages"].map(|packages| python.join(packages).join("pyspark")))
        .find_map(|home| Distribution::in_home(&home))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::report::doctor::State;
    use pagewise_testkit::FakeHost;

    fn said(fake: &FakeHost, named: Option<&Path>) -> Capability {
        let named = named.map(|home| (home.to_owned(), "SPARK_HOME"));
        found(&Root::at(fake.path()), named, &fake.path().join("var/cache/pagewise"))
    }

    #[test]
    fn one_in_the_cache_and_one_on_the_search_path_are_both_told() {
        let fake = FakeHost::empty()
            .file("/var/cache/pagewise/spark-4.3.0/jars.json", "[]")
            .file("/var/cache/pagewise/spark-4.3.0/jars/spark-core_2.13-4.3.0.jar", "")
            .program("/opt/spark/bin/spark-submit", "")
            .file("/opt/spark/jars/spark-core_2.13-4.0.1.jar", "");
        std::fs::create_dir_all(fake.path().join("usr/bin")).expect("a folder");
        std::os::unix::fs::symlink("../../opt/spark/bin/spark-submit", fake.path().join("usr/bin/spark-submit"))
            .expect("a link");
        let value = said(&fake, None).value.expect("both are there");
        assert!(value.starts_with("4.3.0 in Pagewise's cache; 4.0.1 in "), "{value}");
        let named = said(&fake, Some(&fake.path().join("opt/spark")));
        assert!(named.value.is_some_and(|value| value.starts_with("4.0.1 in ")), "what was named comes alone");
    }

    #[test]
    fn one_that_pip_installed_is_found() {
        let fake = FakeHost::empty()
            .program("/usr/bin/spark-submit", "")
            .file("/usr/lib/python3/dist-packages/other/x", "")
            .file("/usr/lib/python3.11/site-packages/pyspark/jars/spark-core_2.13-4.0.1.jar", "");
        let value = said(&fake, None).value.expect("it is there");
        assert!(value.starts_with("4.0.1 in /usr/lib/python3.11/site-packages/pyspark "), "{value}");
    }

    #[test]
    fn a_folder_without_spark_and_a_half_fetched_one_are_none() {
        let fake = FakeHost::empty()
            .file("/usr/bin/true", "")
            .file("/var/cache/pagewise/spark-4.3.0.lock", "")
            .file("/var/cache/pagewise/spark-4.3.0/jars/spark-core_2.13-4.3.0.jar", "");
        let spark = said(&fake, None);
        assert_eq!(spark.state, State::No);
        assert!(spark.remedy.as_deref().is_some_and(|remedy| remedy.contains("spark:micro fetch")), "{spark:?}");
        let named = said(&fake, Some(Path::new("/nowhere")));
        assert!(named.why_not.as_deref().is_some_and(|why| why.contains("/nowhere")), "{named:?}");
    }
}
