//! A block-exact image: an ext4 file system in a file, whose working copy has the same bytes at the same places on the
//! host's disk before every point.
//!
//! The master is made once: a file system is made, mounted, filled, held against the manifest and unmounted; then each
//! mebibyte of the image is hashed. A working copy whose mebibytes have these hashes is the master, and so are the files
//! in it; no file has to be read through the mount, which stays as cold as after a boot. Only what a job changed is
//! written again, in place.

use super::error::RestoreError;
use super::manifest;
use super::mounts;
use super::tree::{self, CopyMethod};
use super::uncached::{Buffer, CHUNK, Uncached};
use super::{Driver, PlacedCopy, RestoreContext, RestorePaths};
use crate::facts::programs;
use crate::process::{self, Command, Interrupt};
use crate::root::Root;
use crate::sys::loop_device::LoopDevice;
use pagewise_core::experiment::data::Restore;
use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The working copy's name; it stays from point to point, so that its blocks do.
pub(super) const WORKING: &str = "image";

/// The data's folder in the file system, beside the `lost+found` of every ext4.
const DATA: &str = "data";

const MAKES_EXT4: &str = "mkfs.ext4";

/// Not always on `PATH`, but always there.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// What is known of a master, in the file beside it. Written last: a master without it does not count.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Of the data in it.
    manifest: String,
    /// Of the image.
    bytes: u64,
    /// BLAKE3 of each mebibyte, hexadecimal.
    chunks: Vec<String>,
    /// BLAKE3 over all of the above, so that a damaged record is not believed.
    seal: String,
}

impl Record {
    fn new(manifest: &str, bytes: u64, chunks: Vec<String>) -> Record {
        let seal = Record::seal(manifest, bytes, &chunks);
        Record { manifest: manifest.to_owned(), bytes, chunks, seal }
    }

    fn seal(manifest: &str, bytes: u64, chunks: &[String]) -> String {
        blake3::hash(format!("{manifest} {bytes} {}", chunks.concat()).as_bytes()).to_hex().to_string()
    }

    fn is_whole(&self) -> bool {
        self.seal == Record::seal(&self.manifest, self.bytes, &self.chunks)
            && self.chunks.len() as u64 == self.bytes / CHUNK as u64
    }
}

/// The driver.
#[derive(Debug)]
pub(super) struct Image {
    master: PathBuf,
    record_path: PathBuf,
    record: Record,
}

impl Image {
    /// Takes the master of these data and this size, or makes it. `bytes` is a multiple of [`CHUNK`].
    pub(super) fn open(on: &RestorePaths, bytes: u64, doing: RestoreContext<'_>) -> Result<Image, RestoreError> {
        may_mount(Restore::Image)?;
        let name = format!("{}-{bytes}", &on.hash[..32]);
        let master = on.workspace.masters().join(format!("{name}.image"));
        let record_path = on.workspace.masters().join(format!("{name}.json"));
        on.workspace.keep_masters(Some(&name))?;
        if let Some(record) = kept(&master, &record_path, &on.hash, bytes) {
            on.workspace.has_room(bytes, "the working image")?;
            return Ok(Image { master, record_path, record });
        }
        // Inode tables and journal take up to a sixteenth of the size.
        let master_bytes = on.manifest.bytes() + bytes / 16 + (64 << 20);
        on.workspace.has_room(bytes.saturating_add(master_bytes), "the image and its working copy")?;
        let record = build(on, bytes, &master, &record_path, doing)?;
        Ok(Image { master, record_path, record })
    }

    /// Makes the working copy equal to the master. Reads all of it once, and what had to be written a second time.
    fn make_equal(&self, working: &Path, doing: RestoreContext<'_>) -> Result<(), RestoreError> {
        let is_new = !is_of_size(working, self.record.bytes);
        if is_new {
            tree::remove(working)?;
            reserve(working, self.record.bytes)?;
        }
        let failed = |error| RestoreError::file("write", working)(error);
        let mut copy = Uncached::open(working, OpenOptions::new().read(true).write(true)).map_err(failed)?;
        let mut master = Uncached::open(&self.master, OpenOptions::new().read(true))
            .map_err(RestoreError::file("read", &self.master))?;
        let bytes = self.record.bytes;
        let mut buffer = Buffer::new();
        let mut written = Vec::new();
        let offsets = || (0_u64..).step_by(CHUNK).zip(&self.record.chunks);
        for (offset, wanted) in offsets() {
            doing.stage("restoring the data", Some(offset as f64 / bytes as f64))?;
            let chunk = buffer.chunk();
            if !is_new {
                copy.read_at(chunk, offset, bytes).map_err(RestoreError::file("read", working))?;
                if is_chunk(chunk, wanted) {
                    continue;
                }
            }
            master.read_at(chunk, offset, bytes).map_err(RestoreError::file("read", &self.master))?;
            if !is_chunk(chunk, wanted) {
                return Err(self.damaged_master(offset));
            }
            copy.write_at(chunk, offset).map_err(failed)?;
            written.push((offset, wanted));
        }
        copy.file().sync_all().map_err(failed)?;
        for (offset, wanted) in written {
            doing.stage("checking the restored data", Some(offset as f64 / bytes as f64))?;
            let chunk = buffer.chunk();
            copy.read_at(chunk, offset, bytes).map_err(RestoreError::file("read", working))?;
            if !is_chunk(chunk, wanted) {
                return Err(self.unfaithful_disk(working, offset));
            }
        }
        copy.forget();
        master.forget();
        Ok(())
    }

    /// A master that cannot be trusted counts no longer: the next trial makes a new one.
    fn damaged_master(&self, offset: u64) -> RestoreError {
        let _ = fs::remove_file(&self.record_path);
        self.named(&self.master, offset, "run it again: the image is then made anew from the data")
    }

    fn unfaithful_disk(&self, working: &Path, offset: u64) -> RestoreError {
        self.named(working, offset, "the disk does not give back what was written to it; look at its health")
    }

    fn named(&self, image: &Path, offset: u64, remedy: &'static str) -> RestoreError {
        let place = format!("between byte {offset} and byte {}", offset + CHUNK as u64);
        RestoreError::Damaged { path: image.to_path_buf(), place, remedy }
    }

    /// Says which files a damaged image has wrong, where it can still be mounted.
    fn explain(&self, error: RestoreError, on: &RestorePaths, doing: RestoreContext<'_>) -> RestoreError {
        let RestoreError::Damaged { path, remedy, .. } = &error else { return error };
        let found = mounted(on, path, Access::ReadWithoutJournal)
            .and_then(|folder| manifest::measure(&folder, "looking for the damage", doing));
        let _ = on.workspace.unmount();
        match found.map(|measured| on.manifest.differences(&measured.manifest)) {
            Ok(differences) if !differences.is_empty() => {
                let what = format!("the image {} is damaged", path.display());
                RestoreError::Differs { what, differences, remedy }
            }
            _ => error,
        }
    }
}

impl Driver for Image {
    fn place(&mut self, on: &RestorePaths, doing: RestoreContext<'_>) -> Result<PlacedCopy, RestoreError> {
        let working = on.workspace.place(WORKING);
        self.make_equal(&working, doing).map_err(|error| self.explain(error, on, doing))?;
        let folder = mounted(on, &working, Access::Write)?;
        let mut notes = Vec::new();
        if let Some(number) = mounts::loops_on(&Root::live(), &working).first()
            && Root::live().read(&format!("/sys/block/loop{number}/loop/dio")).is_ok_and(|dio| dio.trim() == "0")
        {
            notes.push(
                "the file system of the copies has no direct I/O for the loop device: what the job reads and writes is in \
                 the page cache twice"
                    .to_owned(),
            );
        }
        Ok(PlacedCopy { folder, is_verified: true, notes })
    }

    fn keeps(&self) -> Option<&'static str> {
        Some(WORKING)
    }
}

fn is_chunk(bytes: &[u8], wanted: &str) -> bool {
    blake3::hash(bytes).to_hex().as_str() == wanted
}

fn is_of_size(path: &Path, bytes: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file() && data.len() == bytes)
}

/// The record of a master that can be used.
fn kept(master: &Path, record_path: &Path, hash: &str, bytes: u64) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs::read(record_path).ok()?).ok()?;
    let fits = record.is_whole() && record.manifest == hash && record.bytes == bytes && is_of_size(master, bytes);
    fits.then_some(record)
}

/// A file with all its blocks given by the file system now: they stay where they are as long as the file does.
fn reserve(path: &Path, bytes: u64) -> Result<(), RestoreError> {
    let failed = |error| RestoreError::file("reserve space for", path)(error);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        // Writing it whole, which comes next, gives it its blocks just as well.
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes).map_err(failed),
        Err(errno) => {
            let _ = fs::remove_file(path);
            Err(failed(errno.into()))
        }
        Ok(()) => Ok(()),
    }
}

fn build(
    on: &RestorePaths,
    bytes: u64,
    master: &Path,
    record_path: &Path,
    doing: RestoreContext<'_>,
) -> Result<Record, RestoreError> {
    let partial = master.with_extension("partial");
    let built = fill(on, bytes, &partial, doing).map_err(|error| full_below(on, &partial, error));
    let unmounted = on.workspace.unmount();
    let record = built.and(unmounted).and_then(|()| hash_chunks(&partial, &on.hash, bytes, doing));
    let record = record.inspect_err(|_| drop(tree::remove(&partial)))?;
    let renamed =
        fs::set_permissions(&partial, Permissions::from_mode(0o400)).and_then(|()| fs::rename(&partial, master));
    renamed.map_err(RestoreError::file("put in place", master))?;
    write_record(&record, record_path)?;
    Ok(record)
}

/// The image's own file system only sees an I/O error when the disk below it is full.
fn full_below(on: &RestorePaths, image: &Path, error: RestoreError) -> RestoreError {
    let is_other = matches!(error, RestoreError::Interrupted(_) | RestoreError::Full { .. });
    if is_other || on.workspace.free_bytes().is_ok_and(|free| free > CHUNK as u64) {
        return error;
    }
    RestoreError::file("fill the image", image)(io::ErrorKind::StorageFull.into())
}

/// Makes the file system, fills it, and holds what came into it against the manifest.
fn fill(on: &RestorePaths, bytes: u64, partial: &Path, doing: RestoreContext<'_>) -> Result<(), RestoreError> {
    tree::remove(partial)?;
    let failed = |error| RestoreError::file("create", partial)(error);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial).map_err(failed)?;
    file.set_len(bytes).map_err(failed)?;
    drop(file);
    make_ext4(partial, &on.hash, doing)?;
    let folder = mounted(on, partial, Access::Fill)?;
    tree::copy(&on.manifest, &on.source, &folder, CopyMethod::Writing, doing)?;
    on.workspace.unmount()?;
    let folder = mounted(on, partial, Access::Read)?;
    on.verify(&folder, "checking the image", doing)?;
    on.workspace.unmount()
}

/// With everything a mount would do later done now (`lazy_*_init=0`: else a kernel thread writes inode tables while a job
/// is timed), no blocks kept back for root, and ids that follow from the data.
fn make_ext4(image: &Path, hash: &str, doing: RestoreContext<'_>) -> Result<(), RestoreError> {
    let digits = |at: usize, n: usize| &hash[at..at + n];
    let id = format!("{}-{}-4{}-8{}-{}", digits(0, 8), digits(8, 4), digits(12, 3), digits(15, 3), digits(18, 12));
    let program = programs::find(&Root::live(), MAKES_EXT4)
        .or_else(|| SYSTEM_FOLDERS.iter().map(|folder| Path::new(folder).join(MAKES_EXT4)).find(|path| path.is_file()));
    let Some(program) = program else {
        return Err(RestoreError::Step(format!(
            "restore = \"image\" needs {MAKES_EXT4}: install it (Debian, Ubuntu: apt install e2fsprogs), or use restore = \
             \"copy\""
        )));
    };
    let options = format!("lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={id}");
    let arguments = ["-q", "-F", "-b", "4096", "-m", "0", "-U", &id, "-E", &options];
    let mut argv = vec![program.display().to_string()];
    argv.extend(arguments.map(str::to_owned));
    argv.push(image.display().to_string());
    let command = Command { argv, ..Command::default() };
    // Short, and a half-made file system is of no use: it runs to its end.
    let ended = process::run_step(&command, &Interrupt::default(), &mut || {})
        .map_err(|error| RestoreError::Step(error.to_string()))?;
    doing.check()?;
    if ended.status.is_success() {
        return Ok(());
    }
    let (status, words) = (ended.status, ended.last_words());
    if words.contains("No space left") {
        return Err(RestoreError::file("make a file system in", image)(io::ErrorKind::StorageFull.into()));
    }
    Err(RestoreError::Step(format!("{MAKES_EXT4} of {} ended with {status}: {words}", image.display())))
}

fn hash_chunks(image: &Path, hash: &str, bytes: u64, doing: RestoreContext<'_>) -> Result<Record, RestoreError> {
    let failed = |error| RestoreError::file("read", image)(error);
    let mut file = Uncached::open(image, OpenOptions::new().read(true).write(true)).map_err(failed)?;
    file.file().sync_all().map_err(failed)?;
    let mut buffer = Buffer::new();
    let mut chunks = Vec::new();
    for offset in (0..bytes).step_by(CHUNK) {
        doing.stage("hashing the image", Some(offset as f64 / bytes as f64))?;
        let chunk = buffer.chunk();
        file.read_at(chunk, offset, bytes).map_err(failed)?;
        chunks.push(blake3::hash(chunk).to_hex().to_string());
    }
    file.forget();
    Ok(Record::new(hash, bytes, chunks))
}

fn write_record(record: &Record, path: &Path) -> Result<(), RestoreError> {
    let partial = path.with_extension("json.partial");
    let text = serde_json::to_vec(record).map_err(|error| RestoreError::Step(error.to_string()))?;
    let write = || -> io::Result<()> {
        let mut file = File::create(&partial)?;
        io::Write::write_all(&mut file, &text)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(RestoreError::file("write", path))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// To be filled: the data's folder is not there yet.
    Fill,
    Write,
    Read,
    /// Of an image that may be damaged: nothing is replayed into it.
    ReadWithoutJournal,
}

/// Mounts an image. Gives the data's folder. When we are killed at any moment here, the loop device goes by itself.
fn mounted(on: &RestorePaths, image: &Path, access: Access) -> Result<PathBuf, RestoreError> {
    let reads_only = matches!(access, Access::Read | Access::ReadWithoutJournal);
    let backing = OpenOptions::new().read(true).write(!reads_only).open(image);
    let backing = backing.map_err(RestoreError::file("open", image))?;
    let device = LoopDevice::attach(&backing, reads_only).map_err(|error| no_loop_device(image, error))?;
    let point = on.workspace.mount_point()?;
    let mut flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOATIME;
    if reads_only {
        flags |= MountFlags::RDONLY;
    }
    let options = if access == Access::ReadWithoutJournal { c"noload" } else { c"" };
    rustix::mount::mount(device.path(), &point, "ext4", flags, options)
        .map_err(RestoreError::errno("mount the image", image))?;
    Ok(point.join(DATA))
}

fn no_loop_device(image: &Path, error: io::Error) -> RestoreError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => RestoreError::Unsupported {
            method: Restore::Image,
            folder: image.to_path_buf(),
            why: format!("no loop device can be had ({error}), as in most containers"),
            remedy: "run on the host itself, or use restore = \"copy\"",
        },
        _ => RestoreError::file("attach a loop device to", image)(error),
    }
}

/// Mounting takes CAP_SYS_ADMIN.
pub(super) fn may_mount(method: Restore) -> Result<(), RestoreError> {
    use crate::facts::privilege::Privilege;
    match Privilege::of_self(&Root::live()) {
        Some(privilege) if privilege.has("CAP_SYS_ADMIN") => Ok(()),
        _ => Err(RestoreError::NotPermitted { method, right: "root with CAP_SYS_ADMIN, to mount" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore::workspace::Workspace;
    use pagewise_testkit::{host_lock, requires};

    struct Silent;
    impl crate::progress::Progress for Silent {
        fn stage(&self, _what: &str, _done: Option<f64>) {}
    }

    fn ground(dir: &Path, doing: RestoreContext<'_>) -> RestorePaths {
        let source = dir.join("source");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("rows"), vec![7; 3_000_000]).unwrap();
        let manifest = manifest::measure(&source, "", doing).unwrap().manifest;
        let hash = manifest.hash();
        RestorePaths { source, manifest, hash, workspace: Workspace::open(&dir.join("copies")).unwrap() }
    }

    fn hash_of(path: &Path) -> blake3::Hash {
        blake3::hash(&fs::read(path).unwrap())
    }

    /// Where the file's blocks are on the disk.
    fn blocks(path: &Path) -> Vec<String> {
        let said = std::process::Command::new("filefrag").arg("-v").arg(path).output().unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        let extents = text.lines().filter(|line| line.contains("..")).map(|line| {
            // Number, logical, physical, length; flags such as `unwritten` are not a place.
            line.split(':').take(4).collect::<Vec<_>>().join(":")
        });
        let extents: Vec<String> = extents.collect();
        assert!(!extents.is_empty(), "{text}");
        extents
    }

    #[test]
    fn the_working_image_is_the_master_byte_for_byte_and_stays_in_its_blocks_whatever_a_job_did() {
        requires!(root, loop_device, ext4_tools);
        let _lock = host_lock();
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/../../target").unwrap();
        let (progress, interrupt) = (Silent, Interrupt::default());
        let doing = RestoreContext { progress: &progress, interrupt: &interrupt };
        let on = ground(dir.path(), doing);
        let mut image = Image::open(&on, 64 << 20, doing).unwrap();
        let working = on.workspace.place(WORKING);
        let mut places = Vec::new();
        for _ in 0..3 {
            image.make_equal(&working, doing).unwrap();
            assert_eq!(hash_of(&working), hash_of(&image.master), "before it is mounted");
            places.push(blocks(&working));
            let folder = image.place(&on, doing).unwrap().folder;
            fs::write(folder.join("rows"), vec![9; 5_000_000]).unwrap();
            fs::create_dir(folder.join("output")).unwrap();
            on.workspace.unmount().unwrap();
            assert_ne!(hash_of(&working), hash_of(&image.master), "the job's traces are there to be removed");
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        on.workspace.discard(None).unwrap();
    }

    #[test]
    fn a_record_with_another_hash_in_it_is_not_believed() {
        let record = Record::new("m", 2 << 20, vec!["a".into(), "b".into()]);
        assert!(record.is_whole());
        let other =
            Record { chunks: vec!["a".into(), "c".into()], ..Record::new("m", 2 << 20, vec!["a".into(), "b".into()]) };
        assert!(!other.is_whole());
        assert!(!Record::new("m", 3 << 20, vec!["a".into(), "b".into()]).is_whole(), "a mebibyte without a hash");
    }
}
