//! The lab: kernels that can be booted here, and guests that run them over a view of this host's files.
//!
//! [`kernels`] finds kernels and [`debian`] brings them; [`virtme`] asks virtme-ng what a guest of one is; [`guest`] starts it and
//! watches it to its end. Inside, [`agent`] is what runs first. [`image`] makes a machine with a disk of its own, and [`own_disk`] starts one. `docs/design/0035-lab.md` has the reasons.

pub mod accelerator;
pub mod agent;
pub mod debian;
pub mod disk;
mod error;
pub mod guest;
pub mod image;
pub mod kernels;
mod locked_folder;
pub mod own_disk;
mod virtme;

pub use error::LabError;
pub use locked_folder::LockedFolder;
pub use virtme::{Guest, Machine};

use crate::process::{self, Command, Ended, Interrupt};
use crate::progress::Progress;
use accelerator::Accelerator;
use agent::Task;
use disk::Disk;
use guest::RunningGuest;
use kernels::Kernel;
use std::path::{Path, PathBuf};
use virtme::Virtme;

/// Where the shared folder of a guest is, seen from inside; what it holds comes out of the guest.
pub const SHARED: &str = "/run/pagewise/shared";

/// Where the folder of this program is, seen from inside.
const PROGRAM: &str = "/run/pagewise/bin";

/// The search path with the folders where only root looks: depmod and mkfs.ext4 are there.
fn path_of_root() -> String {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    format!("{path}:/usr/sbin:/sbin")
}

/// A step of a program that root has, in plain words and without a question.
fn run_step(
    argv: Vec<String>,
    dir: Option<&Path>,
    interrupt: &Interrupt,
    tick: &mut dyn FnMut(),
) -> Result<Ended, LabError> {
    let mut command = Command { argv, dir: dir.map(Path::to_owned), ..Command::default() };
    let env = [("PATH", path_of_root()), ("LC_ALL", "C".to_owned()), ("DEBIAN_FRONTEND", "noninteractive".to_owned())];
    command.env.extend(env.map(|(name, value)| (name.to_owned(), value)));
    let ended = process::run_step(&command, interrupt, tick)?;
    interrupt.check()?;
    Ok(ended)
}

/// A path as a word for virtme-ng and QEMU.
fn text(path: &Path) -> Result<String, LabError> {
    let odd = || LabError::Usage(format!("the path {} is no text, which virtme-ng and QEMU need", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(odd)
}

/// What every guest of an owner shares: its folder, virtme-ng, and what runs guests here. Its guests die with it.
#[derive(Debug)]
pub struct Lab {
    cache: PathBuf,
    folder: LockedFolder,
    virtme: Virtme,
}

impl Lab {
    /// Makes a folder of its own and finds virtme-ng, which is brought where it is not installed.
    ///
    /// # Errors
    /// When the folder cannot be made, or virtme-ng cannot be had.
    pub fn open(cache: &Path, interrupt: &Interrupt, progress: &dyn Progress) -> Result<Lab, LabError> {
        let cache = std::path::absolute(cache).map_err(LabError::file("find", cache))?;
        virtme::can_hold_guests(&cache)?;
        let virtme = Virtme::find(&cache, interrupt, progress)?;
        Ok(Lab { folder: LockedFolder::make(&cache)?, virtme, cache })
    }

    /// The folder of its guests.
    #[must_use]
    pub fn folder(&self) -> &LockedFolder {
        &self.folder
    }

    /// What can run a guest with this kernel here, found out by trying.
    ///
    /// # Errors
    /// When QEMU is not here.
    pub fn accelerator(&self, kernel: &Kernel, interrupt: &Interrupt) -> Result<Accelerator, LabError> {
        accelerator::find(kernel, &self.cache, interrupt)
    }

    /// Makes ready what guests with this kernel are started with. It takes seconds, and serves any number of boots.
    ///
    /// # Errors
    /// When this host cannot hold such a guest, or virtme-ng cannot make it.
    pub fn prepare(
        &self,
        kernel: &Kernel,
        machine: &Machine,
        disks: &[Disk],
        interrupt: &Interrupt,
    ) -> Result<PreparedGuest, LabError> {
        let accelerator = self.accelerator(kernel, interrupt)?;
        machine.check()?;
        // Two kernels may have one release.
        let folder =
            self.folder.path().join(blake3::hash(kernel.image.as_os_str().as_encoded_bytes()).to_hex().as_str());
        let script = Task::script()?;
        let guest =
            self.virtme.guest(kernel, (machine, accelerator), disks, (&self.folder, &folder), &script, interrupt)?;
        Ok(PreparedGuest { guest, accelerator, release: kernel.release.clone() })
    }

    /// Boots one, which then does its task.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&self, prepared: &PreparedGuest, task: &Task) -> Result<RunningGuest, LabError> {
        self.folder.clear_shared()?;
        task.write(&self.folder.shared())?;
        RunningGuest::start(&prepared.guest, &self.folder, &prepared.release, prepared.accelerator)
    }
}

/// What a guest is started with, again and again.
#[derive(Clone, Debug)]
pub struct PreparedGuest {
    guest: Guest,
    accelerator: Accelerator,
    release: String,
}

impl PreparedGuest {
    /// What will run it.
    #[must_use]
    pub fn accelerator(&self) -> Accelerator {
        self.accelerator
    }
}
