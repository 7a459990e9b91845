//! What runs first inside a guest: lays overlays over the host's folders, mounts the data disk, keeps a pulse, and then does its task.

use super::disk::DATA;
use super::{LabError, SHARED};
use rustix::mount::{MountFlags, mount, mount_bind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the agent shows that the guest is alive, and where.
pub const PULSE: Duration = Duration::from_secs(2);
/// The file of the pulse, in the shared folder.
pub const PULSE_FILE: &str = "pulse";

/// The file that says what a guest is to do, in the shared folder.
pub const TASK_FILE: &str = "task.json";

/// What a guest is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The host's variables, which every command in the guest has.
    pub env: BTreeMap<String, String>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Where the kernel's modules lie, below the host's files; the guest sees them by their usual name.
    pub modules: Option<PathBuf>,
    /// Folders of the data disk and where they belong; `None` where there is no disk.
    pub data: Option<BTreeMap<String, PathBuf>>,
    /// Folders of the host that the guest may write, by the path that they have there.
    pub shares: Vec<PathBuf>,
    /// What is then done.
    pub what: GuestWork,
}

/// What is done in a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GuestWork {
    /// A command runs.
    Command(Vec<String>),
    /// Whatever the caller of the agent makes of it.
    Other(serde_json::Value),
}

impl Task {
    /// One in the place and with the variables of this process.
    #[must_use]
    pub fn here(modules: Option<PathBuf>, data: Option<BTreeMap<String, PathBuf>>, what: GuestWork) -> Task {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Task { env: std::env::vars().collect(), cwd, modules, data, shares: Vec::new(), what }
    }

    /// With folders of the host that the guest may write.
    #[must_use]
    pub fn sharing(self, shares: &[PathBuf]) -> Task {
        Task { shares: shares.to_vec(), ..self }
    }

    /// The words that a guest's init runs to do what lies in the shared folder.
    ///
    /// # Errors
    /// When this program has no path.
    pub fn script() -> Result<String, LabError> {
        let program = std::env::current_exe().map_err(LabError::file("find", "/proc/self/exe"))?;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let words = [format!("{}/{name}", super::PROGRAM), "__guest".to_owned(), format!("{SHARED}/{TASK_FILE}")];
        shlex::try_join(words.iter().map(String::as_str))
            .map(|words| format!("exec {words}"))
            .map_err(|error| LabError::Usage(format!("{}: {error}", program.display())))
    }

    /// Reads what a guest is to do. Inside the guest.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(file: &Path) -> Result<Task, LabError> {
        let bytes = fs::read(file).map_err(LabError::file("read", file))?;
        serde_json::from_slice(&bytes).map_err(|error| LabError::Step(format!("{}: {error}", file.display())))
    }

    /// Puts it where a guest finds it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, shared: &Path) -> Result<(), LabError> {
        let file = shared.join(TASK_FILE);
        let bytes = serde_json::to_vec(self).map_err(|error| LabError::Step(error.to_string()))?;
        fs::write(&file, bytes).map_err(LabError::file("write", &file))
    }
}

/// Makes the guest what its task expects. Only inside a guest: it mounts over the root.
///
/// # Errors
/// When it cannot be made so.
pub fn arrange(task: &Task) -> Result<(), LabError> {
    if std::process::id() == 1 || !Path::new("/dev/virtio-ports").exists() || !Path::new(SHARED).exists() {
        return Err(LabError::Usage("this is no guest of pagewise lab".to_owned()));
    }
    keep_pulse();
    // Every program that asks for its own address finds this one without a network.
    let _ = fs::write("/proc/sys/kernel/hostname", "localhost");
    // The kernel kills whatever needs the memory, not who would tell of it.
    let _ = fs::write("/proc/self/oom_score_adj", "-1000");
    fs::create_dir_all(HOST).map_err(LabError::file("create", HOST))?;
    // Without what init has mounted over it: the host's own /tmp and /var.
    mount_bind("/", HOST).map_err(|error| LabError::file("mount", HOST)(error.into()))?;
    load_modules(task.modules.as_deref(), task.data.is_some());
    let writes = match &task.data {
        Some(_) => mount_data()?,
        None => PathBuf::from("/run/pagewise/writes"),
    };
    lay_overlays(&writes)?;
    link_modules(task.modules.as_deref());
    for (folder, target) in task.data.iter().flatten() {
        let from = Path::new(DISK).join(folder);
        fs::create_dir_all(&from).map_err(LabError::file("create", &from))?;
        fs::create_dir_all(target).map_err(LabError::file("create", target))?;
        mount_bind(&from, target).map_err(|error| LabError::file("mount", target)(error.into()))?;
    }
    for (number, folder) in task.shares.iter().enumerate() {
        mount_bind(share(number), folder).map_err(|error| LabError::file("share", folder)(error.into()))?;
    }
    // A run's own group needs the controller; the first group that has processes of its own may not pass it on.
    let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
    Ok(())
}

/// Folders of Pagewise's cache that must lie on a guest's own disk: an overlay holds neither a swap file nor a file system's image.
pub fn folders_on_disk(cache: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    ["runs", "restore", "swap"].into_iter().map(|name| (name.to_owned(), cache.join(name)))
}

/// Where the host's files are, without anything over them.
const HOST: &str = "/run/pagewise/host";

/// The kernel's modules by the path they have below the host's files, which nothing covers.
fn below_host(modules: Option<&Path>) -> Option<PathBuf> {
    Some(Path::new(HOST).join(modules?.strip_prefix("/").ok()?))
}

/// Whether the guest has a disk, by the number of such devices (`VIRTIO_ID_BLOCK` of `include/uapi/linux/virtio_ids.h`).
fn has_disk() -> bool {
    let devices = fs::read_dir("/sys/bus/virtio/devices").into_iter().flatten().filter_map(Result::ok);
    let is_disk = |device: fs::DirEntry| {
        fs::read_to_string(device.path().join("device")).is_ok_and(|number| number.trim() == "0x0002")
    };
    devices.into_iter().any(is_disk)
}

/// Loads what the agent itself needs and no more, since each module takes an emulated processor some tenths of a second: from where the modules really lie: the guest's own link to them leads through folders that init
/// has covered, or could not be made at all in a root without `/lib/modules`.
fn load_modules(modules: Option<&Path>, mounts_data: bool) {
    let mut command = Command::new("modprobe");
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").arg("--all");
    // Above lib/modules/RELEASE.
    if let Some(tree) = below_host(modules).and_then(|modules| modules.ancestors().nth(3).map(Path::to_owned)) {
        command.arg("--dirname").arg(tree);
    }
    // Built in, or missed where it matters.
    command.arg("overlay").args(has_disk().then_some("virtio_blk")).args(mounts_data.then_some("ext4"));
    let _ = command.output();
}

/// Has the modules found where every kernel's are looked for.
fn link_modules(modules: Option<&Path>) {
    let Ok(release) = fs::read_to_string("/proc/sys/kernel/osrelease") else { return };
    let usual = Path::new("/lib/modules").join(release.trim());
    if usual.join("modules.dep").exists() {
        return;
    }
    let Some(modules) = below_host(modules) else { return };
    // What cannot be linked is missed by the first who needs a module.
    let _ = fs::create_dir_all("/lib/modules");
    let _ = fs::remove_file(&usual);
    let _ = std::os::unix::fs::symlink(modules, &usual);
}

/// Where a shared folder is before it has its own path.
pub(super) fn share(number: usize) -> String {
    format!("/run/pagewise/share{number}")
}

/// Where the data disk is.
const DISK: &str = "/run/pagewise/disk";

/// Mounts the disk of [`DATA`] and gives the folder on it that takes the guest's writes.
fn mount_data() -> Result<PathBuf, LabError> {
    const WAIT: Duration = Duration::from_secs(20);
    let since = Instant::now();
    let device = loop {
        let disks = fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok);
        let found = disks
            .map(|entry| entry.path())
            .find(|path| fs::read_to_string(path.join("serial")).is_ok_and(|serial| serial.trim() == DATA));
        if let Some(name) = found.and_then(|path| Some(path.file_name()?.to_owned())) {
            break Path::new("/dev").join(name);
        }
        if since.elapsed() > WAIT {
            return Err(LabError::Step("the guest has no data disk: its kernel has no virtio_blk".to_owned()));
        }
        // It comes a moment after its driver.
        thread::sleep(Duration::from_millis(20));
    };
    fs::create_dir_all(DISK).map_err(LabError::file("create", DISK))?;
    mount(&device, DISK, "ext4", MountFlags::NOATIME, None)
        .map_err(|error| LabError::file("mount", &device)(error.into()))?;
    Ok(Path::new(DISK).join("writes"))
}

/// Writes to any folder of the host's go to `writes`. A kernel without overlays leaves them read-only.
fn lay_overlays(writes: &Path) -> Result<(), LabError> {
    const KERNELS: [&str; 4] = ["proc", "sys", "dev", "run"];
    let below = Path::new(HOST);
    let tops = fs::read_dir(below).map_err(LabError::file("read", below))?.filter_map(Result::ok);
    let tops = tops.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for name in tops.filter_map(|entry| entry.file_name().into_string().ok()) {
        if KERNELS.contains(&name.as_str()) || name.contains([':', ',', '\\']) {
            continue;
        }
        let (upper, work) = (writes.join(&name).join("upper"), writes.join(&name).join("work"));
        for folder in [&upper, &work] {
            fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
        }
        let lower = below.join(&name);
        let options = |extra: &str| {
            format!("{extra}lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display())
        };
        let target = Path::new("/").join(&name);
        let lay = |extra: &str| {
            let options = CString::new(options(extra)).map_err(io::Error::from)?;
            mount("overlay", &target, "overlay", MountFlags::empty(), Some(options.as_c_str())).map_err(io::Error::from)
        };
        // An old kernel does not know the option that keeps one over a file system without stable numbers quiet.
        if let Err(error) = lay("xino=off,").or_else(|_| lay("")) {
            tracing::warn!("{} stays read-only in this guest: {error}", target.display());
        }
    }
    Ok(())
}

/// A thread that writes a number every [`PULSE`]; the first at once.
fn keep_pulse() {
    let beat = || {
        let file = Path::new(SHARED).join(PULSE_FILE);
        for beat in 0u64.. {
            let _ = fs::write(&file, beat.to_string());
            thread::sleep(PULSE);
        }
    };
    let _ = thread::Builder::new().name("pulse".to_owned()).spawn(beat);
}

/// Runs this program again, with the variables and in the place of the task.
///
/// # Errors
/// When it has no path.
pub fn run_self(task: &Task, words: &[&str]) -> Result<u8, LabError> {
    let program = std::env::current_exe().map_err(LabError::file("find", "/proc/self/exe"))?;
    let mut argv = vec![program.display().to_string()];
    argv.extend(words.iter().map(|word| (*word).to_owned()));
    Ok(start(task, &argv, Stdio::inherit()))
}

/// Runs a command with the variables and in the place of its task, and gives its status as a shell has it. Its standard input is empty: the
/// guest's own never ends.
#[must_use]
pub fn run(task: &Task, argv: &[String]) -> u8 {
    start(task, argv, Stdio::null())
}

fn start(task: &Task, argv: &[String], input: Stdio) -> u8 {
    let Some((program, arguments)) = argv.split_first() else { return 0 };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&task.env).stdin(input);
    if task.cwd.is_dir() {
        command.current_dir(&task.cwd);
    }
    let status = match command.spawn().and_then(|mut child| {
        // Ours says that nobody may kill it for memory; a child has that from us.
        let _ = fs::write(format!("/proc/{}/oom_score_adj", child.id()), "0");
        child.wait()
    }) {
        Ok(status) => status,
        Err(error) => {
            tracing::warn!("cannot run '{program}' in the guest: {error}");
            return if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        }
    };
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(255) & 0xff).unwrap_or(255)
}
