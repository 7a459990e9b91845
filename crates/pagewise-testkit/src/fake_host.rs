//! Fake host trees: what old, new and half-equipped kernels show under `/proc` and `/sys`, for tests through
//! `Root::at` or `--root`.

use pagewise_host::root::Root;
use std::path::Path;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const OLD_REDHAT_THP: &str = "/sys/kernel/mm/redhat_transparent_hugepage";

/// A process of a fake tree, in the units of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of proc_pid_stat(5)")]
pub struct FakeProcess {
    pub pid: u32,
    pub parent: u32,
    pub comm: &'static [u8],
    pub is_kernel_thread: bool,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub user: u64,
    pub system: u64,
    pub started: u64,
    pub resident_pages: u64,
}

impl Default for FakeProcess {
    fn default() -> Self {
        FakeProcess {
            pid: 1,
            parent: 0,
            comm: b"init",
            is_kernel_thread: false,
            minor_faults: 0,
            major_faults: 0,
            user: 0,
            system: 0,
            started: 0,
            resident_pages: 0,
        }
    }
}

impl FakeProcess {
    /// Its `stat`, as a kernel prints it.
    #[must_use]
    pub fn stat(&self) -> Vec<u8> {
        let FakeProcess { pid, parent, minor_faults, major_faults, user, system, started, resident_pages, .. } = self;
        let flags = if self.is_kernel_thread { 0x0020_8040 } else { 0x0040_0000 };
        let mut text = format!("{pid} (").into_bytes();
        text.extend_from_slice(self.comm);
        let numbers = format!(
            ") S {parent} {pid} {pid} 0 -1 {flags} {minor_faults} 0 {major_faults} 0 {user} {system} 0 0 20 0 3 0 {started} \
             900000 {resident_pages} 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        text.extend_from_slice(numbers.as_bytes());
        text
    }
}

/// A tree in a temporary folder, which goes away with it.
#[derive(Debug)]
pub struct FakeHost {
    folder: tempfile::TempDir,
}

impl Default for FakeHost {
    fn default() -> Self {
        FakeHost::empty()
    }
}

impl FakeHost {
    /// No file at all.
    ///
    /// # Panics
    /// When no temporary folder can be made; so do all others here when a file cannot be written.
    #[must_use]
    pub fn empty() -> Self {
        FakeHost { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A tree of files as `scripts/capture-host` printed them on a host.
    ///
    /// # Panics
    /// When the text has something before the first path.
    #[must_use]
    pub fn captured(text: &str) -> Self {
        let host = FakeHost::empty();
        let mut path = None;
        let mut file = String::new();
        let end = |path: Option<&str>, file: &mut String| {
            // A line of its own divides a file from the next path.
            let text = std::mem::take(file);
            match path {
                Some(path) => host.write(path, text.strip_suffix('\n').unwrap_or(&text)),
                None => assert!(text.is_empty(), "this is of no file: {text}"),
            }
        };
        for line in text.lines() {
            match line.strip_prefix("==> /").and_then(|rest| rest.strip_suffix(" <==")) {
                Some(next) => {
                    end(path.as_deref(), &mut file);
                    path = Some(format!("/{next}"));
                }
                None => {
                    file.push_str(line);
                    file.push('\n');
                }
            }
        }
        end(path.as_deref(), &mut file);
        host
    }

    /// The tree, as the code under test takes it. Unit tests inside pagewise-host itself write `Root::at(fake.path())`:
    /// they are compiled against another copy of the type.
    #[must_use]
    pub fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    /// The folder, for `--root`.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds or replaces a file by its absolute path in the tree.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    /// Removes a file or a folder with all below it.
    #[must_use]
    pub fn without(self, path: &str) -> Self {
        let full = self.root().path(path);
        let removed = if full.is_dir() { std::fs::remove_dir_all(&full) } else { std::fs::remove_file(&full) };
        removed.unwrap_or_else(|e| panic!("cannot remove {path} from the fake host: {e}"));
        self
    }

    /// What stands in a file now, trimmed.
    #[must_use]
    pub fn text(&self, path: &str) -> String {
        self.root().read(path).unwrap_or_else(|e| panic!("{e}")).trim().to_owned()
    }

    /// Adds a process.
    #[must_use]
    pub fn process(self, process: &FakeProcess) -> Self {
        self.write_process(process);
        self
    }

    /// Writes a process of a tree that is already in use, in place of the one with its number.
    pub fn write_process(&self, process: &FakeProcess) {
        self.write_bytes(&format!("/proc/{}/stat", process.pid), &process.stat());
    }

    /// Writes a file of a tree that is already in use.
    pub fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    fn write_bytes(&self, path: &str, text: &[u8]) {
        let full = self.root().path(path);
        let folder = full.parent().expect("a file in a folder");
        std::fs::create_dir_all(folder).unwrap_or_else(|e| panic!("cannot create {}: {e}", folder.display()));
        std::fs::write(&full, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", full.display()));
    }

    /// A folder with a program in it that can be found and started.
    #[must_use]
    pub fn program(self, path: &str, script: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        self.write(path, script);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.root().path(path), mode).expect("a file of ours");
        self
    }

    /// THP with these two values selected, and the khugepaged settings at their defaults.
    #[must_use]
    pub fn thp(self, enabled: &str, defrag: &str) -> Self {
        self.thp_switches(THP, enabled, defrag)
            .file(&format!("{THP}/use_zero_page"), "1\n")
            .file(&format!("{THP}/hpage_pmd_size"), "2097152\n")
            .file(&format!("{THP}/shmem_enabled"), "always within_size advise [never] deny force\n")
            .file(&format!("{THP}/khugepaged/max_ptes_swap"), "64\n")
            .file(&format!("{THP}/khugepaged/max_ptes_shared"), "256\n")
    }

    fn thp_switches(self, folder: &str, enabled: &str, defrag: &str) -> Self {
        let enabled = bracketed(&["always", "madvise", "never"], enabled);
        let defrag = bracketed(&["always", "defer", "defer+madvise", "madvise", "never"], defrag);
        self.file(&format!("{folder}/enabled"), &enabled)
            .file(&format!("{folder}/defrag"), &defrag)
            .file(&format!("{folder}/khugepaged/defrag"), "1\n")
            .file(&format!("{folder}/khugepaged/pages_to_scan"), "4096\n")
            .file(&format!("{folder}/khugepaged/scan_sleep_millisecs"), "10000\n")
            .file(&format!("{folder}/khugepaged/alloc_sleep_millisecs"), "60000\n")
            .file(&format!("{folder}/khugepaged/max_ptes_none"), "511\n")
    }

    /// One THP size below 2 MiB, in KiB, with its own setting.
    #[must_use]
    pub fn mthp(self, kib: u32, enabled: &str) -> Self {
        let text = bracketed(&["always", "inherit", "madvise", "never"], enabled);
        self.file(&format!("{THP}/hugepages-{kib}kB/enabled"), &text)
    }

    /// Memory, in KiB.
    #[must_use]
    pub fn meminfo(self, total_kib: u64, available_kib: u64, swap_kib: u64) -> Self {
        let text = format!(
            "MemTotal:       {total_kib} kB\nMemFree:        {available_kib} kB\nMemAvailable:   {available_kib} kB\n\
             SwapTotal:      {swap_kib} kB\nSwapFree:       {swap_kib} kB\nHugePages_Total:       0\n\
             Hugepagesize:       2048 kB\n"
        );
        self.file("/proc/meminfo", &text)
    }

    /// One sysctl by its own name, such as `vm.swappiness`.
    #[must_use]
    pub fn sysctl(self, name: &str, value: &str) -> Self {
        self.file(&format!("/proc/sys/{}", name.replace('.', "/")), &format!("{value}\n"))
    }

    /// Kernel release, CPU and command line, a disk, no swap, and the sysctls that every kernel since 2.6.32 has.
    #[must_use]
    pub fn kernel(self, release: &str) -> Self {
        let host = self
            .file("/proc/sys/kernel/osrelease", &format!("{release}\n"))
            .file("/proc/sys/kernel/random/boot_id", "6f1c9a52-7d0e-4c55-9f0c-2b1c7a1f3f10\n")
            .file("/proc/cmdline", "ro root=/dev/sda1 quiet\n")
            .file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fake CPU\n\nprocessor\t: 1\nmodel name\t: Fake CPU\n")
            .file("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
            .file("/proc/vmstat", "nr_free_pages 100000\npgscan_direct 0\n")
            .file("/proc/self/status", "Name:\tpagewise\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n")
            .file("/sys/block/sda/queue/read_ahead_kb", "128\n")
            .file("/sys/block/sda/queue/rotational", "1\n");
        let defaults = [
            ("swappiness", "60"),
            ("page-cluster", "3"),
            ("min_free_kbytes", "67584"),
            ("dirty_ratio", "20"),
            ("dirty_bytes", "0"),
            ("dirty_background_ratio", "10"),
            ("dirty_background_bytes", "0"),
            ("vfs_cache_pressure", "100"),
            ("overcommit_memory", "0"),
            ("overcommit_ratio", "50"),
            ("zone_reclaim_mode", "0"),
            ("nr_hugepages", "0"),
            ("max_map_count", "65530"),
        ];
        defaults.into_iter().fold(host, |host, (name, value)| host.sysctl(&format!("vm.{name}"), value))
    }

    /// Red Hat Enterprise Linux 6: kernel 2.6.32, THP under Red Hat's own path, cgroup v1, no pressure information.
    #[must_use]
    pub fn rhel6() -> Self {
        FakeHost::empty()
            .kernel("2.6.32-754.35.1.el6.x86_64")
            .meminfo(16_331_000, 12_000_000, 8_388_604)
            .file(&format!("{OLD_REDHAT_THP}/enabled"), "[always] madvise never\n")
            .file(&format!("{OLD_REDHAT_THP}/defrag"), "[always] madvise never\n")
            .file(&format!("{OLD_REDHAT_THP}/khugepaged/defrag"), "[yes] no\n")
            .file(&format!("{OLD_REDHAT_THP}/khugepaged/pages_to_scan"), "4096\n")
            .file(&format!("{OLD_REDHAT_THP}/khugepaged/scan_sleep_millisecs"), "10000\n")
            .file(&format!("{OLD_REDHAT_THP}/khugepaged/alloc_sleep_millisecs"), "60000\n")
            .file(&format!("{OLD_REDHAT_THP}/khugepaged/max_ptes_none"), "511\n")
            .file("/proc/self/cgroup", "2:memory:/\n1:cpu:/\n")
            .file(
                "/proc/self/mountinfo",
                "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                 31 20 0:27 / /cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                 32 20 0:28 / /cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n",
            )
            .file("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 8388604 0 -1\n")
            .file("/proc/self/status", "Name:\tpagewise\nUid:\t0\t0\t0\t0\nCapEff:\tffffffffffffffff\n")
            .file("/cgroup/memory/memory.limit_in_bytes", "9223372036854775807\n")
            .file("/cgroup/memory/memory.usage_in_bytes", "1073741824\n")
    }

    /// Linux 5.10 with only the unified hierarchy and no MGLRU, as Debian 11 ships it; the shell in a user session.
    #[must_use]
    pub fn debian11() -> Self {
        FakeHost::empty()
            .kernel("5.10.0-30-amd64")
            .meminfo(16_331_000, 12_000_000, 0)
            .thp("madvise", "madvise")
            .sysctl("vm.watermark_scale_factor", "10")
            .sysctl("vm.watermark_boost_factor", "15000")
            .sysctl("vm.compaction_proactiveness", "20")
            .sysctl("kernel.numa_balancing", "0")
            .sysctl("kernel.perf_event_paranoid", "3")
            .unified("/user.slice/user-0.slice/session-1.scope", "cpuset cpu io memory pids")
    }

    /// A recent kernel (6.12) with everything: the unified hierarchy, MGLRU, DAMON, pressure, sizes of THP, reclaim.
    #[must_use]
    pub fn modern() -> Self {
        FakeHost::empty()
            .kernel("6.12.0-1-amd64")
            .meminfo(65_536_000, 60_000_000, 0)
            .thp("madvise", "madvise")
            .mthp(16, "never")
            .mthp(64, "never")
            .mthp(2048, "inherit")
            .file(&format!("{THP}/shrink_underused"), "1\n")
            .file("/sys/kernel/mm/lru_gen/enabled", "0x0007\n")
            .file("/sys/kernel/mm/lru_gen/min_ttl_ms", "0\n")
            .file("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n")
            .file("/sys/module/damon_reclaim/parameters/enabled", "N\n")
            .sysctl("vm.watermark_scale_factor", "10")
            .sysctl("vm.watermark_boost_factor", "15000")
            .sysctl("vm.compaction_proactiveness", "20")
            .sysctl("kernel.numa_balancing", "0")
            .sysctl("kernel.perf_event_paranoid", "2")
            .unified("/system.slice/batch.service", "cpuset cpu io memory hugetlb pids")
            .file("/sys/fs/cgroup/system.slice/batch.service/memory.reclaim", "")
            .file("/sys/devices/system/node/node0/compact", "")
    }

    /// The unified hierarchy with this process in `own`, and pressure information.
    #[must_use]
    pub fn unified(self, own: &str, controllers: &str) -> Self {
        let pressure =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let top = "/sys/fs/cgroup";
        self.file("/proc/self/cgroup", &format!("0::{own}\n"))
            .file(
                "/proc/self/mountinfo",
                "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                 31 20 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
            )
            .file(&format!("{top}/cgroup.controllers"), &format!("{controllers}\n"))
            .file(&format!("{top}{own}/cgroup.controllers"), &format!("{controllers}\n"))
            .file(&format!("{top}{own}/cgroup.subtree_control"), "\n")
            .file(&format!("{top}{own}/cgroup.procs"), "100\n101\n")
            .file(&format!("{top}{own}/memory.current"), "1073741824\n")
            .file(&format!("{top}{own}/memory.max"), "max\n")
            .file(&format!("{top}{own}/memory.high"), "max\n")
            .file("/proc/pressure/memory", pressure)
            .file("/proc/pressure/cpu", pressure)
            .file("/proc/pressure/io", pressure)
    }

    /// Linux 6.18 in a container host's shape: memory on v1, the unified hierarchy beside it with `hugetlb` alone.
    #[must_use]
    pub fn hybrid() -> Self {
        let pressure =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        FakeHost::empty()
            .kernel("6.18.0")
            .meminfo(24_683_000, 24_000_000, 0)
            .thp("madvise", "madvise")
            .mthp(16, "never")
            .mthp(64, "never")
            .mthp(2048, "inherit")
            .sysctl("vm.watermark_scale_factor", "10")
            .sysctl("vm.watermark_boost_factor", "15000")
            .sysctl("vm.compaction_proactiveness", "20")
            .sysctl("vm.defrag_mode", "0")
            .sysctl("kernel.perf_event_paranoid", "2")
            .file("/proc/pressure/memory", pressure)
            .file("/proc/pressure/cpu", pressure)
            .file("/proc/pressure/io", pressure)
            .file("/sys/devices/system/node/node0/reclaim", "")
            .file("/sys/devices/system/node/node0/compact", "")
            .file("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n")
            .file("/proc/self/status", "Name:\tpagewise\nUid:\t0\t0\t0\t0\nCapEff:\t000001fffeffffff\n")
            .file("/proc/self/cgroup", "4:memory:/batch\n1:cpu:/\n0::/\n")
            .file(
                "/proc/self/mountinfo",
                "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                 30 20 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                 31 30 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                 33 30 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                 32 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
            )
            .file("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n")
            .file("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "9223372036854771712\n")
            .file("/sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "1073741824\n")
            .file("/sys/fs/cgroup/memory/batch/cgroup.procs", "100\n")
    }
}

/// The kernel's way to show a choice: every value, the selected one in brackets.
fn bracketed(values: &[&str], selected: &str) -> String {
    assert!(values.contains(&selected), "'{selected}' is none of {values:?}");
    let shown: Vec<String> = values
        .iter()
        .map(|value| if *value == selected { format!("[{value}]") } else { (*value).to_owned() })
        .collect();
    format!("{}\n", shown.join(" "))
}
