//! Disks of guests: raw images with the host's cache off, made from folders without a mount, and overlays over them.

use super::LabError;
use crate::free_space::free_space;
use crate::process::{self, Command, Interrupt};
use crate::progress::{NoProgress, Progress};
use pagewise_core::unit::Bytes;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A disk of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its image.
    pub path: PathBuf,
    /// `raw` or `qcow2`.
    pub format: &'static str,
    /// By what the guest knows it; at most 20 characters.
    pub serial: String,
}

impl Disk {
    /// A raw image, or a block device, that a user named.
    ///
    /// # Errors
    /// When it cannot be one.
    pub fn named(path: &Path, number: usize) -> Result<Disk, LabError> {
        let about = fs::metadata(path).map_err(LabError::file("open", path))?;
        if about.is_dir() {
            return Err(LabError::Usage(format!(
                "{} is a folder; a disk is a raw image or a block device",
                path.display()
            )));
        }
        use std::os::unix::fs::FileTypeExt;
        let is_disk = about.file_type().is_block_device() || (about.is_file() && about.len() >= 512);
        if !is_disk {
            return Err(LabError::Usage(format!(
                "{} is neither a block device nor a file of 512 bytes or more",
                path.display()
            )));
        }
        File::options().read(true).write(true).open(path).map_err(LabError::file("open", path))?;
        let path = std::path::absolute(path).map_err(LabError::file("find", path))?;
        Ok(Disk { path, format: "raw", serial: format!("pagewise-{number}") })
    }

    /// QEMU's words for it. A comma in a path is doubled, as QEMU wants it.
    pub(super) fn options(&self, number: usize) -> Vec<String> {
        let path = self.path.display().to_string().replace(',', ",,");
        // By default QEMU stops a guest whose disk has no room on the host, which looks like one that hangs.
        let errors = "werror=report,rerror=report";
        let drive =
            format!("if=none,id=pagewise{number},file={path},format={},cache={},{errors}", self.format, self.cache());
        let device = format!("virtio-blk-pci,drive=pagewise{number},serial={}", self.serial);
        vec!["-drive".to_owned(), drive, "-device".to_owned(), device]
    }

    /// Without the host's page cache, where its file system can do that: a second cache below the guest's would hide what
    /// the guest's own reclaim costs.
    fn cache(&self) -> &'static str {
        use rustix::fs::{Mode, OFlags, open};
        match open(&self.path, OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()) {
            Ok(_) => "none",
            Err(_) => "writeback",
        }
    }
}

/// A raw image with an ext4 file system of this size that holds copies of `folders`, each under its name.
///
/// # Errors
/// When there is no room, or `mkfs.ext4` is missing or fails.
pub fn make_image(
    image: &Path,
    size: Bytes,
    folders: &[(&str, PathBuf)],
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<(), LabError> {
    let tree = image.with_extension("tree");
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir_all(&tree).map_err(LabError::file("create", &tree))?;
    room_for(image, folders)?;
    let made = lay_out(&tree, folders).and_then(|()| {
        let file = File::create(image).map_err(LabError::file("create", image))?;
        file.set_len(size.0).map_err(LabError::file("size", image))?;
        let argv = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-d"].map(str::to_owned);
        let mut argv = argv.to_vec();
        argv.extend([tree.display().to_string(), image.display().to_string()]);
        step(argv, "making the guests' disk", interrupt, progress)
    });
    let _ = fs::remove_dir_all(&tree);
    made
}

/// An empty disk in an owner's folder, which the agent of its guest mounts.
///
/// # Errors
/// As [`make_image`].
pub fn scratch(folder: &Path, size: Bytes, interrupt: &Interrupt, progress: &dyn Progress) -> Result<Disk, LabError> {
    const LEAST: Bytes = Bytes(64 << 20);
    if size < LEAST {
        return Err(LabError::Usage(format!("a disk of {size} holds nothing; give --scratch {LEAST} or more")));
    }
    let path = folder.join("scratch.raw");
    make_image(&path, size, &[], interrupt, progress)?;
    Ok(Disk { path, format: "raw", serial: DATA.to_owned() })
}

/// Whether the data, and what guests write at least, have room beside the image. An image itself takes only what is written to it.
fn room_for(image: &Path, folders: &[(&str, PathBuf)]) -> Result<(), LabError> {
    const LEAST: u64 = 256 << 20;
    let needed = folders.iter().map(|(_, folder)| bytes_in(folder)).sum::<u64>() + LEAST;
    let parent = image.parent().unwrap_or(Path::new("/"));
    let Ok(free) = free_space(parent) else { return Ok(()) };
    if free >= needed {
        return Ok(());
    }
    Err(LabError::Missing(format!(
        "the guests' disk needs {} in {}, and {} are free there. Make room, or choose another folder with --cache-dir",
        Bytes(needed),
        parent.display(),
        Bytes(free)
    )))
}

fn bytes_in(folder: &Path) -> u64 {
    let Ok(about) = fs::symlink_metadata(folder) else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| bytes_in(&entry.path())).sum()
}

/// A tree with every folder under its name: `mkfs.ext4 -d` takes one, and follows no symbolic link.
fn lay_out(tree: &Path, folders: &[(&str, PathBuf)]) -> Result<(), LabError> {
    for (name, folder) in folders {
        let target = tree.join(name);
        copy(folder, &target).map_err(LabError::file("copy", folder))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let about = fs::symlink_metadata(from)?;
    if about.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if !about.is_dir() {
        // A hard link costs nothing; over a border of file systems it is a copy.
        return fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop));
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// A fresh overlay over an image, which itself is never written.
///
/// # Errors
/// When `qemu-img` is missing or fails.
pub fn overlay(image: &Path, at: &Path, interrupt: &Interrupt) -> Result<Disk, LabError> {
    overlay_of(image, "raw", at, DATA, interrupt)
}

/// The same over an image of this format, known by this serial number.
///
/// # Errors
/// When `qemu-img` is missing or fails.
pub(super) fn overlay_of(
    image: &Path,
    format: &str,
    at: &Path,
    serial: &str,
    interrupt: &Interrupt,
) -> Result<Disk, LabError> {
    let _ = fs::remove_file(at);
    let mut argv: Vec<String> =
        ["qemu-img", "create", "-q", "-f", "qcow2", "-F", format, "-b"].map(str::to_owned).to_vec();
    argv.extend([image.display().to_string(), at.display().to_string()]);
    step(argv, "", interrupt, &NoProgress)?;
    Ok(Disk { path: at.to_owned(), format: "qcow2", serial: serial.to_owned() })
}

/// By what a guest knows the disk that its agent mounts.
pub const DATA: &str = "pagewise-data";

fn step(argv: Vec<String>, what: &str, interrupt: &Interrupt, progress: &dyn Progress) -> Result<(), LabError> {
    let mut command = Command { argv, ..Command::default() };
    command.env.insert("PATH".to_owned(), super::path_of_root());
    let ended = process::run_step(&command, interrupt, &mut || progress.stage(what, None)).map_err(|error| {
        LabError::Missing(format!(
            "{error}. Guests' disks need qemu-img and mkfs.ext4 (Debian, Ubuntu: apt install qemu-utils e2fsprogs)"
        ))
    })?;
    interrupt.check()?;
    if ended.status.is_success() {
        return Ok(());
    }
    Err(LabError::Step(format!("{} failed: {}: {}", command.argv[0], ended.status, ended.last_lines())))
}
