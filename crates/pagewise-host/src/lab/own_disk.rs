//! Guests that boot from a disk of their own, by their own boot loader: what `image` made, or any disk that boots by itself. What they
//! write goes to an overlay, and is gone with them; a reboot of theirs is one, and keeps it.

use super::accelerator::{self, Accelerator, QEMU};
use super::disk::{self, Disk};
use super::guest::{RunningGuest, Watched};
use super::{LabError, LockedFolder, kernels, text};
use crate::process::Interrupt;
use pagewise_core::unit::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a machine may take from its start, or a reboot, until it shows itself. Ours: systemd takes 40 to 120 s under emulation.
fn patience(accelerator: Accelerator) -> Duration {
    Duration::from_secs(if accelerator == Accelerator::Kvm { 120 } else { 600 })
}

/// Whether a file is a disk that boots by itself: an overlay of QEMU's, or one with a partition table and no kernel's header.
#[must_use]
pub fn is_one(path: &Path) -> bool {
    let mut sector = [0; 0x210];
    let read = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut sector)).is_ok();
    let has_partition = sector[0x1be..0x1fe].chunks_exact(16).any(|entry| entry[4] != 0);
    let is_raw = sector[0x1fe..0x200] == [0x55, 0xaa] && &sector[0x202..0x206] != b"HdrS" && has_partition;
    read && (is_raw || format(&sector) == "qcow2")
}

fn format(sector: &[u8]) -> &'static str {
    if sector.starts_with(b"QFI\xfb") { "qcow2" } else { "raw" }
}

/// A machine that is to be started from its disk.
#[derive(Clone, Debug)]
pub struct OwnDisk {
    /// The disk, which is not written.
    pub image: PathBuf,
    /// Its memory.
    pub memory: Bytes,
    /// Its processors.
    pub cpus: u32,
    /// Further disks, which it may write.
    pub disks: Vec<Disk>,
    /// What it runs at every boot, until that ends by itself. Only a machine that `image` made knows of it.
    pub command: Vec<String>,
}

/// What runs a machine here, found out by trying with a kernel that is at hand.
///
/// # Errors
/// When QEMU is not here.
pub fn accelerator(cache: &Path, interrupt: &Interrupt) -> Result<Accelerator, LabError> {
    match kernels::list(cache).first() {
        Some((_, kernel)) => accelerator::find(kernel, cache, interrupt),
        // Without a kernel nothing can be tried, and emulation always runs.
        None => Ok(Accelerator::Emulation),
    }
}

/// Starts one.
///
/// # Errors
/// When its disk cannot be used, or QEMU not be started.
pub fn start(
    own: &OwnDisk,
    folder: &LockedFolder,
    accelerator: Accelerator,
    interrupt: &Interrupt,
) -> Result<RunningGuest, LabError> {
    let image = std::path::absolute(&own.image).map_err(LabError::file("find", &own.image))?;
    let mut sector = [0; 4];
    File::open(&image).and_then(|mut file| file.read_exact(&mut sector)).map_err(LabError::file("read", &image))?;
    let overlay =
        disk::overlay_of(&image, format(&sector), &folder.path().join("root.qcow2"), "pagewise-root", interrupt)?;
    let place = |name: &str| folder.path().join(name);
    let (console, status, pulse, command) = (place("console"), place("status"), place("pulse"), place("command"));
    let words = shlex::try_join(own.command.iter().map(String::as_str))
        .map_err(|error| LabError::Usage(format!("the command cannot be passed on: {error}")))?;
    std::fs::write(&command, format!("exec {words}\n")).map_err(LabError::file("write", &command))?;
    let mut argv = machine(accelerator, own.memory, own.cpus);
    let file = |path: &Path| text(path).map(|path| path.replace(',', ",,"));
    argv.extend(["-serial".to_owned(), format!("file:{}", file(&console)?)]);
    argv.extend(["-fw_cfg".to_owned(), format!("name=opt/pagewise/command,file={}", file(&command)?)]);
    argv.extend(["-device".to_owned(), "virtio-serial-pci".to_owned()]);
    let ports = [
        ("out", "stdio,id=out,signal=off".to_owned()),
        ("status", format!("file,id=status,path={}", file(&status)?)),
        ("pulse", format!("file,id=pulse,path={}", file(&pulse)?)),
    ];
    for (name, character_device) in ports {
        argv.extend(["-chardev".to_owned(), character_device]);
        argv.extend(["-device".to_owned(), format!("virtserialport,chardev={name},name=pagewise.{name}")]);
    }
    let disks = [&overlay].into_iter().chain(&own.disks).enumerate();
    argv.extend(disks.flat_map(|(number, disk)| disk.options(number)));
    RunningGuest::start_watched(Watched {
        argv,
        console,
        status,
        pulse,
        what: format!("the disk {}", own.image.display()),
        patience: patience(accelerator),
        // A reboot is silent as long as a boot.
        silence: patience(accelerator),
    })
}

/// QEMU with a machine that has nothing in it yet.
pub(super) fn machine(accelerator: Accelerator, memory: Bytes, cpus: u32) -> Vec<String> {
    let (memory, cpus) = (format!("{}M", memory.0 >> 20), cpus.to_string());
    let words = [QEMU, "-machine", "q35", "-m", &memory, "-smp", &cpus, "-display", "none"];
    let options = accelerator.options();
    let mut argv: Vec<String> = words.iter().chain(options.as_flattened()).map(|word| (*word).to_owned()).collect();
    argv.extend(["-nodefaults", "-no-user-config", "-device", "virtio-rng-pci"].map(str::to_owned));
    argv
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_disk_is_told_from_a_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[(usize, &[u8])]| {
            let mut content = vec![0; 1024];
            for (at, bytes) in bytes {
                content[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let signature: (usize, &[u8]) = (0x1fe, &[0x55, 0xaa]);
        assert!(is_one(&file("disk", &[signature, (0x1c2, &[0x83])])));
        assert!(is_one(&file("overlay", &[(0, b"QFI\xfb")])));
        assert!(!is_one(&file("kernel", &[signature, (0x1c2, &[0x83]), (0x202, b"HdrS")])));
        assert!(!is_one(&file("without a partition", &[signature])) && !is_one(&file("empty", &[])));
        assert!(!is_one(folder.path()) && !is_one(Path::new("/nonexistent")));
    }
}
