//! Marks for what a test needs beyond a Linux machine. What is missing skips the test aloud, or fails it where the
//! set-up promised it.
//!
//! `requires!(root, swap)` at the top of a test prints `SKIP <test>: <reason>`, appends it to `$PAGEWISE_SKIP_LOG`, and
//! returns. `PAGEWISE_REQUIRE=root,qemu` turns the skip into a failure for the needs it lists.

use std::io::Write;

/// Ends the test early, aloud, when something it needs is not here. Each need is a function of
/// [`need`](crate::requires::need).
#[macro_export]
macro_rules! requires {
    ($($need:ident),+ $(,)?) => {{
        fn here() {}
        let test = ::std::any::type_name_of_val(&here).trim_end_matches("::here");
        $(
            if let Err(reason) = $crate::requires::need::$need() {
                $crate::requires::skip(test, stringify!($need), &reason);
                return;
            }
        )+
    }};
}

/// Reports a skipped test.
///
/// # Panics
/// When `PAGEWISE_REQUIRE` lists the need, or lists a name that is no need at all.
pub fn skip(test: &str, need: &str, reason: &str) {
    let promised = std::env::var("PAGEWISE_REQUIRE").unwrap_or_default();
    match is_promised(&promised, need) {
        Ok(true) => panic!("{test} needs '{need}', which PAGEWISE_REQUIRE promises: {reason}"),
        Ok(false) => {}
        Err(unknown) => panic!("PAGEWISE_REQUIRE lists '{unknown}', which no test can need; known: {NEEDS:?}"),
    }
    let line = format!("SKIP {test}: {reason}");
    say(&line);
    if let Some(log) = std::env::var_os("PAGEWISE_SKIP_LOG") {
        append(std::path::Path::new(&log), &line);
    }
}

fn is_promised(promised: &str, need: &str) -> Result<bool, String> {
    let names = || promised.split(',').map(str::trim).filter(|name| !name.is_empty());
    match names().find(|name| !NEEDS.contains(name)) {
        Some(unknown) => Err(unknown.to_owned()),
        None => Ok(names().any(|name| name == need)),
    }
}

/// A line past the test harness's capture, so that it is seen in a passing run.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// One write per line, so that test binaries that run side by side do not mix theirs.
fn append(log: &std::path::Path, line: &str) {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(log);
    let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|e| panic!("cannot append to {}, named by PAGEWISE_SKIP_LOG: {e}", log.display()));
}

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident => $check:expr;)+) => {
        /// The names that `requires!` and `PAGEWISE_REQUIRE` know.
        pub const NEEDS: &[&str] = &[$(stringify!($name)),+];

        /// A function per need: `Ok` when it is met here, else the reason. Built on the probes of `pagewise doctor`.
        #[allow(clippy::missing_errors_doc)]
        pub mod need {
            #[allow(unused_imports)]
            use super::check::*;
            $($(#[$doc])* pub fn $name() -> Result<(), String> { $check })+
        }
    };
}

needs! {
    /// Effective user id 0.
    root => super_user();
    /// Not root, for what an ordinary user sees.
    not_root => if super_user().is_ok() { Err("this test is for an ordinary user".into()) } else { Ok(()) };
    /// Swap areas can be switched on and off.
    swap => capability("CAP_SYS_ADMIN").and_then(|()| file("/proc/swaps"));
    /// A zram device, or the control file that makes one.
    zram => capability("CAP_SYS_ADMIN").and_then(|()| any_file(&["/sys/class/zram-control", "/sys/block/zram0"]));
    /// THP settings can be written.
    thp => writable("/sys/kernel/mm/transparent_hugepage/enabled");
    /// THP sizes below 2 MiB have settings of their own.
    mthp => writable("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled");
    /// The multi-generational LRU.
    mglru => writable("/sys/kernel/mm/lru_gen/enabled");
    /// `vm.*` can be written.
    sysctl => writable("/proc/sys/vm/swappiness");
    /// Reclaim on one node through sysfs.
    node_reclaim => writable("/sys/devices/system/node/node0/reclaim");
    /// A child of our own memory cgroup can be made, v1 or v2.
    memory_cgroup => pagewise_host::cgroup::try_child(&live()).map(|_| ());
    /// A child of our own memory cgroup can be made, and it is v1.
    memory_cgroup_v1 => memory_cgroup_of(pagewise_host::cgroup::Version::V1);
    /// A child of our own memory cgroup can be made, and it is v2.
    memory_cgroup_v2 => memory_cgroup_of(pagewise_host::cgroup::Version::V2);
    /// Pressure stall information.
    psi => file("/proc/pressure/memory");
    /// Perf events of the whole host.
    perf_host => perf_host_events();
    /// Addresses of the kernel's functions are shown.
    kernel_symbols => shown_symbols();
    /// Tracepoints of the whole host, for root.
    tracepoints => super_user().and_then(|()| perf_host_events());
    /// Python.
    python => program("python3", "python3");
    /// Loop devices can be attached.
    loop_device => capability("CAP_SYS_ADMIN").and_then(|()| file("/dev/loop-control"));
    /// The tools that make an ext4 file system and say where a file's blocks are.
    ext4_tools => program("mkfs.ext4", "e2fsprogs").and_then(|()| program("filefrag", "e2fsprogs"));
    /// The tool that makes an XFS file system.
    xfs_tools => program("mkfs.xfs", "xfsprogs");
    /// The tool that makes a btrfs file system.
    btrfs_tools => program("mkfs.btrfs", "btrfs-progs");
    /// R, to check statistics against.
    r => program("Rscript", "r-base-core");
    /// R's packages lmerTest, diptest and boot.
    r_packages => r_packages_installed();
    /// LaTeX with the package that its tables are set in.
    latex => latex_installed();
    /// A browser, to look at reports with.
    chromium => program("chromium", "chromium");
    /// A JVM.
    java => program("java", "openjdk-17-jre-headless");
    /// A Java compiler.
    javac => program("javac", "openjdk-17-jdk-headless");
    /// A JDK 25, which the tests of `jvm/placement` look for themselves.
    jdk25 => any_file(&["/usr/lib/jvm/temurin-25-jdk-amd64/release", "/usr/lib/jvm/java-25-openjdk-amd64/release"]);
    /// Python's installer of packages, which brings Spark.
    pip => program("pip3", "python3-pip");
    /// Maven.
    maven => program("mvn", "maven");
    /// The Spark plugin's jar, which `make test` builds.
    spark_plugin => built_plugin();
    /// Hadoop's jars in the cache, put there by `pagewise workload terasort fetch`.
    hadoop_cache => hadoop_jars();
    /// A machine emulator.
    qemu => program("qemu-system-x86_64", "qemu-system-x86");
    /// What shares a folder with a guest by virtiofs: of QEMU's package, later of one of its own.
    virtiofsd => any_file(&["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"]);
    /// Another benchmark runner to compare with.
    hyperfine => program("hyperfine", "hyperfine");
    /// A process that forks and goes on writing.
    perl => program("perl", "perl-base");
    /// A compiler at work is a healthy load.
    cargo => program("cargo", "cargo");
    /// A copy of a large tree is a healthy load.
    tar => program("tar", "tar");
    /// The tool that runs a command as another user.
    setpriv => program("setpriv", "util-linux");
}

mod check {
    //! What the needs are made of.
    use pagewise_host::cgroup;
    use pagewise_host::facts::{privilege::Privilege, programs};
    use pagewise_host::root::Root;
    use pagewise_host::workload::terasort::{Hadoop, HadoopPlaces};
    use std::path::{Path, PathBuf};

    pub(super) fn live() -> Root {
        Root::live()
    }

    pub(super) fn super_user() -> Result<(), String> {
        match Privilege::of_self(&live()) {
            Some(privilege) if privilege.is_root() => Ok(()),
            _ => Err("needs root".into()),
        }
    }

    pub(super) fn capability(name: &str) -> Result<(), String> {
        match Privilege::of_self(&live()) {
            Some(privilege) if privilege.has(name) => Ok(()),
            _ => Err(format!("needs {name}")),
        }
    }

    pub(super) fn file(path: &str) -> Result<(), String> {
        if live().exists(path) { Ok(()) } else { Err(format!("{path} is not here")) }
    }

    pub(super) fn any_file(paths: &[&str]) -> Result<(), String> {
        if paths.iter().any(|path| live().exists(path)) { Ok(()) } else { Err(format!("none of {paths:?} is here")) }
    }

    /// By permission, not by user id: a container's root often has a read-only `/sys`.
    pub(super) fn writable(path: &str) -> Result<(), String> {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(|e| format!("{path} cannot be written: {e}"))
    }

    pub(super) fn program(name: &str, package: &str) -> Result<(), String> {
        let found = programs::find(&live(), name);
        found.map(|_| ()).ok_or_else(|| format!("{name} is not on PATH (Debian package {package})"))
    }

    /// Asked of R itself: Debian, CRAN and a user's own library keep packages in different folders.
    pub(super) fn r_packages_installed() -> Result<(), String> {
        program("Rscript", "r-base-core")?;
        let is_missing = |package: &str| {
            let probe = format!("quit(status = !requireNamespace('{package}', quietly = TRUE))");
            let asked = std::process::Command::new("Rscript").args(["--vanilla", "-e", &probe]).output();
            !asked.is_ok_and(|asked| asked.status.success())
        };
        match ["lmerTest", "diptest", "boot"].into_iter().find(|package| is_missing(package)) {
            None => Ok(()),
            Some(package) => {
                Err(format!("R has no package {package} (Debian package r-cran-{})", package.to_lowercase()))
            }
        }
    }

    pub(super) fn latex_installed() -> Result<(), String> {
        program("pdflatex", "texlive-latex-base")?;
        let asked = std::process::Command::new("kpsewhich").arg("booktabs.sty").output();
        match asked.is_ok_and(|asked| asked.status.success()) {
            true => Ok(()),
            false => Err("LaTeX has no package booktabs (Debian package texlive-latex-recommended)".into()),
        }
    }

    pub(super) fn memory_cgroup_of(version: cgroup::Version) -> Result<(), String> {
        let own = cgroup::try_child(&live())?;
        if own.version == version { Ok(()) } else { Err(format!("the memory controller is on {:?}", own.version)) }
    }

    pub(super) fn perf_host_events() -> Result<(), String> {
        use pagewise_host::sys::perf_event::{Event, Scope, try_open};
        try_open(Event::CpuClock, Scope::WholeCpu).map_err(|error| format!("no perf events of the whole host: {error}"))
    }

    pub(super) fn shown_symbols() -> Result<(), String> {
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let first = symbols.split(' ').next().unwrap_or_default();
        if first.trim_start_matches('0').is_empty() { Err("kernel.kptr_restrict hides them".into()) } else { Ok(()) }
    }

    pub(super) fn built_plugin() -> Result<(), String> {
        let jar = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jvm/spark-plugin/target/spark-plugin-0.1.0.jar");
        jar.is_file()
            .then_some(())
            .ok_or_else(|| "the plugin's jar is not built: mvn -f jvm/pom.xml -DskipTests package".to_owned())
    }

    pub(super) fn hadoop_jars() -> Result<(), String> {
        let places = HadoopPlaces { cache: cache_folder(), ..HadoopPlaces::default() };
        Hadoop::find(&places).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Where the binary keeps generated data by default.
    fn cache_folder() -> PathBuf {
        if let Some(folder) = std::env::var_os("PAGEWISE_CACHE_DIR") {
            return PathBuf::from(folder);
        }
        if super_user().is_ok() {
            return PathBuf::from("/var/cache/pagewise");
        }
        match std::env::var_os("XDG_CACHE_HOME") {
            Some(folder) => PathBuf::from(folder).join("pagewise"),
            None => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/pagewise"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promised_need_fails_and_another_skips() {
        assert_eq!(is_promised("root, qemu", "qemu"), Ok(true));
        assert_eq!(is_promised("root", "qemu"), Ok(false));
        assert_eq!(is_promised("", "qemu"), Ok(false));
    }

    #[test]
    fn a_promise_with_a_typing_error_is_refused_rather_than_ignored() {
        assert_eq!(is_promised("root,quemu", "root"), Err("quemu".to_owned()));
    }

    #[test]
    fn a_met_need_goes_on_and_an_unmet_one_ends_the_test() {
        let mut reached = 0;
        fn as_root(reached: &mut u32) {
            crate::requires!(root);
            *reached += 1;
        }
        as_root(&mut reached);
        assert_eq!(reached == 1, need::root().is_ok());
    }

    #[test]
    fn one_is_either_root_or_not() {
        assert_ne!(need::root().is_ok(), need::not_root().is_ok());
    }

    #[test]
    fn a_skip_is_one_line_in_the_log_with_the_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("skips");
        append(&log, "SKIP a: needs root");
        append(&log, "SKIP b: needs qemu");
        assert_eq!(std::fs::read_to_string(&log).expect("the log"), "SKIP a: needs root\nSKIP b: needs qemu\n");
    }
}
