//! What a report may say about the host. An allow-list: no command line, host name, mount table or foreign process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host as far as it matters to a result. Every field that could not be read is absent with its reason elsewhere
/// (`doctor`), never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Kernel release, as `uname -r`.
    pub kernel: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Logical CPUs online.
    pub cpus: Option<u32>,
    /// Memory in bytes (`MemTotal`).
    pub memory_bytes: Option<u64>,
    /// Base page size in bytes.
    pub page_bytes: Option<u64>,
    /// Selected value of THP `enabled`.
    pub thp_enabled: Option<String>,
    /// Selected value of THP `defrag`.
    pub thp_defrag: Option<String>,
    /// Swap in bytes.
    pub swap_bytes: Option<u64>,
    /// `v1`, `v2` or `hybrid`.
    pub cgroup: Option<String>,
    /// Kind of the disk under the data folder: `ssd`, `rotational`, `virtual`.
    pub disk_kind: Option<String>,
    /// JVM version line.
    pub jvm: Option<String>,
    /// Whether a hypervisor is seen.
    pub virtual_machine: Option<bool>,
    /// Whether free memory goes back to the hypervisor (free page reporting of a virtio balloon): touching it again costs more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_page_reporting: Option<bool>,
    /// Whether its processor is emulated: its times compare with each other alone. Known of guests that Pagewise booted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<bool>,
    /// BLAKE3 of the kernel's configuration. Known of guests that Pagewise booted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_config: Option<String>,
    /// Version of Pagewise.
    pub pagewise: String,
}
