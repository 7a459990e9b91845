//! Hadoop as `doctor` tells of it: found as the workload finds it, so that both say the same.

use super::hadoop::{Hadoop, Places};
use crate::facts::NOT_CAPTURED;
use crate::facts::programs::{are_shown, folders, found_in};
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability};
use std::path::Path;

const AREA: Area = Area::Programs;

/// What `doctor` says of it. `configured` is the one that settings name, `cache` the folder that holds Pagewise's own.
pub(in crate::workload) fn capability(root: &Root, configured: Option<&Path>, cache: Option<&Path>) -> Capability {
    let (id, what) = ("hadoop", "Hadoop");
    let cache = cache.map_or_else(|| root.path("/var/cache/pagewise"), Path::to_owned);
    let places = if root.is_live() {
        Places::here(configured.map(Path::to_owned), cache)
    } else {
        Places { path: folders(root), cache: root.path("/var/cache/pagewise"), ..Places::default() }
    };
    match Hadoop::find(&places) {
        Ok(found) if found.launcher.is_none() => {
            Capability::yes(AREA, id, what, format!("{} in Pagewise's cache, local mode", found.version))
        }
        Ok(found) => {
            let launcher = found.launcher.as_deref().unwrap_or(&found.examples);
            Capability::yes(AREA, id, what, found_in(root, Some(found.version.clone()), launcher))
        }
        Err(_) if !are_shown(root) => Capability::unknown(AREA, id, what, NOT_CAPTURED, ""),
        Err(error) if places.flag.is_some() || places.hadoop_home.is_some() => {
            Capability::no(AREA, id, what, error.to_string(), "correct that setting, or leave it out")
        }
        Err(_) => {
            let why = "not configured, not in HADOOP_HOME or on the search path, not whole in the cache";
            Capability::no(AREA, id, what, why, "run: pagewise workload terasort fetch")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::report::doctor::State;
    use pagewise_testkit::FakeHost;

    #[test]
    fn a_half_fetched_hadoop_in_the_cache_is_not_one_that_can_run() {
        let fake = FakeHost::empty()
            .file("/usr/bin/true", "")
            .file("/var/cache/pagewise/hadoop-3.3.6.lock", "")
            .file("/var/cache/pagewise/hadoop-3.3.6/hadoop-client-api-3.3.6.jar", "not a jar");
        let hadoop = capability(&Root::at(fake.path()), None, None);
        assert_eq!(hadoop.state, State::No);
        assert!(hadoop.remedy.as_deref().is_some_and(|remedy| remedy.contains("terasort fetch")), "{hadoop:?}");
    }
}
