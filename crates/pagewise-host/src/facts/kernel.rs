//! The host in a few facts, by the allow-list of `HostFacts`, and comparing kernel releases.

use super::{programs, selected};
use crate::cgroup;
use crate::root::Root;
use pagewise_core::kernel_text::config::version;
use pagewise_core::report::facts::HostFacts;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The facts a report may show. `data_folder` is where the job's files are, for the kind of disk below it.
#[must_use]
pub fn host_facts(root: &Root, data_folder: Option<&Path>) -> HostFacts {
    let meminfo = root.read("/proc/meminfo").unwrap_or_default();
    let cpuinfo = root.read("/proc/cpuinfo").unwrap_or_default();
    HostFacts {
        kernel: release(root),
        cpu_model: cpu_field(&cpuinfo, "model name").map(str::to_owned),
        cpus: Some(cpuinfo.lines().filter(|line| line.starts_with("processor")).count())
            .filter(|count| *count > 0)
            .and_then(|count| u32::try_from(count).ok()),
        memory_bytes: meminfo_bytes(&meminfo, "MemTotal"),
        page_bytes: root.is_live().then(|| rustix::param::page_size() as u64),
        thp_enabled: thp_file(root, "enabled"),
        thp_defrag: thp_file(root, "defrag"),
        swap_bytes: meminfo_bytes(&meminfo, "SwapTotal"),
        cgroup: cgroup::versions(root),
        disk_kind: data_folder.filter(|_| root.is_live()).and_then(|folder| disk_kind(root, folder)),
        jvm: programs::default_jvm(root),
        virtual_machine: is_virtual_machine(root, &cpuinfo),
        free_page_reporting: free_page_reporting(root),
        emulated: None,
        kernel_config: None,
        pagewise: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Kernel release, as `uname -r`.
#[must_use]
pub fn release(root: &Root) -> Option<String> {
    root.read("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Whether the kernel is older than `major.minor`; `None` when its release is not known. Distributions port features
/// back, so this only words a reason: whether a feature is there is asked of its file.
#[must_use]
pub fn is_older_than(root: &Root, major: u32, minor: u32) -> Option<bool> {
    Some(version(&release(root)?)? < (major, minor))
}

/// Why a feature of Linux `major.minor` is missing: the kernel is older, or was built without it.
pub(super) fn missing_since(root: &Root, major: u32, minor: u32, option: &str) -> String {
    match is_older_than(root, major, minor) {
        Some(true) => format!("needs Linux {major}.{minor} or later"),
        _ => format!("this kernel was built without it ({option})"),
    }
}

/// THP's folder: the usual one, or Red Hat's on kernel 2.6.32.
#[must_use]
pub fn thp_folder(root: &Root) -> Option<&'static str> {
    ["/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/redhat_transparent_hugepage"]
        .into_iter()
        .find(|folder| root.exists(folder))
}

fn thp_file(root: &Root, name: &str) -> Option<String> {
    let text = root.read(&format!("{}/{name}", thp_folder(root)?)).ok()?;
    Some(selected(&text).to_owned())
}

/// A size of `/proc/meminfo`, in bytes.
pub(super) fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

fn cpu_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == name).then_some(value.trim())
    })
}

/// On x86 the processor says so (`hypervisor` among its flags, which a hypervisor sets). Elsewhere it is not known.
fn is_virtual_machine(root: &Root, cpuinfo: &str) -> Option<bool> {
    if root.exists("/sys/hypervisor/type") {
        return Some(true);
    }
    cpu_field(cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// Whether this guest gives free memory back to its hypervisor, which then has to bring it in again when it is touched. A virtio
/// balloon has it as its feature 5 (`VIRTIO_BALLOON_F_REPORTING`, `include/uapi/linux/virtio_balloon.h`, since 5.7); with
/// another balloon or none it is not known.
#[must_use]
pub fn free_page_reporting(root: &Root) -> Option<bool> {
    let folder = "/sys/bus/virtio/devices";
    let read = |device: &str, file: &str| root.read(&format!("{folder}/{device}/{file}")).unwrap_or_default();
    let devices = root.list(folder).ok()?;
    let balloon = devices.iter().find(|device| read(device, "device").trim() == "0x0005")?;
    read(balloon, "features").chars().nth(5).map(|feature| feature == '1')
}

/// `ssd`, `rotational` or `virtual`: a paravirtual disk does not tell what is below it.
fn disk_kind(root: &Root, folder: &Path) -> Option<String> {
    let device = std::fs::metadata(folder).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let block = std::fs::canonicalize(root.path(&format!("/sys/dev/block/{major}:{minor}"))).ok()?;
    let disk = if block.join("partition").exists() { block.parent()?.to_owned() } else { block };
    let name = disk.file_name()?.to_string_lossy().into_owned();
    if ["vd", "xvd"].iter().any(|prefix| name.starts_with(prefix)) {
        return Some("virtual".to_owned());
    }
    let rotational = std::fs::read_to_string(disk.join("queue/rotational")).ok()?;
    Some(if rotational.trim() == "1" { "rotational" } else { "ssd" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    #[test]
    fn releases_compare_as_numbers_and_an_unknown_one_is_not_old() {
        let fake = FakeHost::rhel6();
        let root = Root::at(fake.path());
        assert_eq!(is_older_than(&root, 2, 7), Some(true));
        assert_eq!(is_older_than(&root, 2, 6), Some(false));
        let fake = FakeHost::empty().file("/proc/sys/kernel/osrelease", "6.10-rc1\n");
        assert_eq!(is_older_than(&Root::at(fake.path()), 6, 9), Some(false));
        assert_eq!(is_older_than(&Root::at(FakeHost::empty().path()), 6, 9), None);
    }

    #[test]
    fn a_balloon_says_whether_free_memory_goes_back() {
        let with = |features: &str| {
            let fake = FakeHost::empty()
                .file("/sys/bus/virtio/devices/virtio0/device", "0x0002\n")
                .file("/sys/bus/virtio/devices/virtio0/features", "1111111111\n")
                .file("/sys/bus/virtio/devices/virtio1/device", "0x0005\n")
                .file("/sys/bus/virtio/devices/virtio1/features", features);
            free_page_reporting(&Root::at(fake.path()))
        };
        assert_eq!(with("0110010100\n"), Some(true));
        assert_eq!(with("0110000100\n"), Some(false));
        assert_eq!(with(""), None);
        assert_eq!(free_page_reporting(&Root::at(FakeHost::modern().path())), None);
    }

    #[test]
    fn facts_of_an_old_host_come_from_its_own_paths_and_what_is_not_there_is_absent() {
        let fake = FakeHost::rhel6();
        let facts = host_facts(&Root::at(fake.path()), None);
        assert_eq!(facts.thp_enabled.as_deref(), Some("always"));
        assert_eq!(facts.memory_bytes, Some(16_331_000 * 1024));
        assert_eq!(facts.cgroup.as_deref(), Some("v1"));
        assert_eq!(facts.cpus, Some(2));
        assert_eq!(facts.virtual_machine, None, "the fake CPU has no flags");
        assert_eq!(host_facts(&Root::at(FakeHost::empty().path()), None).memory_bytes, None);
    }
}
