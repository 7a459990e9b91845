//! The kernels that can be booted here, as JSON and as a table.

use crate::kernel_text::config::MemoryFeatures;
use comfy_table::{Table, presets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies it in JSON.
pub const SCHEMA: &str = "pagewise.kernels/1";

/// What `lab kernels` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelsReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// The kernels.
    pub kernels: Vec<KernelView>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelView {
    /// What `lab boot` and a plan call it by.
    pub name: String,
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// When and how it was built, as `uname -v` prints it.
    pub build: String,
    /// Its image.
    pub image: String,
    /// The BLAKE3 of its configuration; absent where none lies beside it.
    pub config_blake3: Option<String>,
    /// What of memory management it has, as its configuration says; absent where none lies beside it.
    pub features: Option<MemoryFeatures>,
}

impl KernelsReport {
    /// Of these kernels.
    #[must_use]
    pub fn new(kernels: Vec<KernelView>) -> KernelsReport {
        KernelsReport { schema: SCHEMA.to_owned(), kernels }
    }

    /// A line a kernel, within 80 columns.
    #[must_use]
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["kernel", "MGLRU", "DAMON", "node", "cgroup", "mTHP", "PSI"]);
        for kernel in &self.kernels {
            let mut row = vec![kernel.name.clone()];
            match &kernel.features {
                Some(has) => {
                    let all = [has.mglru, has.damon_reclaim, has.node_reclaim, has.cgroup_memory, has.mthp, has.psi];
                    row.extend(all.iter().map(ToString::to_string));
                }
                None => row.extend(std::iter::repeat_n("?".to_owned(), 6)),
            }
            table.add_row(row);
        }
        let lines = table.lines().map(|line| line.trim_end().trim_start_matches(' ').to_owned());
        let mut text = lines.collect::<Vec<_>>().join("\n");
        text.push_str(
            "\n\non · off: there, and off after a boot · –: not in this kernel\n\
             ?: no configuration beside it\n\
             DAMON: reclaim by DAMON · node: a reclaim file for each node\n\
             cgroup: memory on version 2\n",
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_text::config::KernelConfig;

    #[test]
    fn a_kernel_is_a_line_and_what_is_not_known_is_said() {
        let kernel = |name: &str, features| KernelView {
            name: name.to_owned(),
            release: String::new(),
            build: String::new(),
            image: String::new(),
            config_blake3: None,
            features,
        };
        let config = KernelConfig::parse("CONFIG_LRU_GEN=y\nCONFIG_MEMCG=y\nCONFIG_PSI=y\n");
        let known = kernel("debian:6.12.107+deb13", Some(MemoryFeatures::of(&config, (6, 12))));
        let text = KernelsReport::new(vec![known, kernel("./linux", None)]).table();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let words = |row: usize| text.lines().nth(row).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(1), ["debian:6.12.107+deb13", "off", "–", "–", "on", "–", "on"], "{text}");
        assert_eq!(words(2), ["./linux", "?", "?", "?", "?", "?", "?"], "{text}");
    }
}
