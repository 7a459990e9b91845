//! What restored data promise, on real file systems: nothing a job does to its copy reaches the next point or the data
//! themselves, wrong data are named and never run on, and whoever is killed leaves no mount, loop device or half file.

#![allow(clippy::print_stdout, reason = "the child, a process of its own, speaks to the test on its standard output")]

use pagewise_core::experiment::data::{Data, Restore};
use pagewise_host::process::Interrupt;
use pagewise_host::progress::{NoProgress, Progress};
use pagewise_host::restore::{Dataset, RestoreError, Restored, auto_for, remove_leftovers};
use pagewise_host::root::Root;
use pagewise_host::sys::page_cache;
use pagewise_testkit::{host_lock, requires};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An image no larger than it must be, for tests that make many.
fn small(method: Restore) -> Data {
    Data { restore: method, size: (method == Restore::Image).then(|| "80M".to_owned()) }
}

/// Does something when a stage begins.
struct At<'a>(&'static str, &'a dyn Fn());
impl Progress for At<'_> {
    fn stage(&self, what: &str, _done: Option<f64>) {
        if what.starts_with(self.0) {
            (self.1)();
        }
    }
}

/// A folder with data and a workspace in it. In the end nothing may be mounted or attached below.
struct Place {
    folder: PathBuf,
    // Goes last.
    _dir: Option<tempfile::TempDir>,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let folder = fs::canonicalize(dir.path()).unwrap();
        Place { folder, _dir: Some(dir) }.filled()
    }

    fn on(disk: &Disk) -> Place {
        Place { folder: disk.point.clone(), _dir: None }.filled()
    }

    fn filled(self) -> Place {
        fill(&self.source());
        self
    }

    fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    fn workspace(&self) -> PathBuf {
        self.folder.join("copies: a,b")
    }

    fn open(&self, method: Restore) -> Result<Dataset, RestoreError> {
        self.open_as(&small(method), &NoProgress)
    }

    fn open_as(&self, data: &Data, progress: &dyn Progress) -> Result<Dataset, RestoreError> {
        Dataset::open(data, &self.source(), &self.workspace(), progress, &Interrupt::default())
    }

    /// Names in the workspace below masters and work.
    fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = ["masters", "work"]
            .iter()
            .flat_map(|folder| fs::read_dir(self.workspace().join(folder)).into_iter().flatten().flatten())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let left = mounted_or_attached_below(&self.workspace());
        if !left.is_empty() {
            let _ = remove_leftovers(&Root::live(), &self.workspace());
        }
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}

fn mounted_or_attached_below(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap().replace("\\040", " ");
    let mut left: Vec<String> = mounts.lines().filter(|line| line.contains(&*folder)).map(str::to_owned).collect();
    for entry in fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if backing.starts_with(&*folder) {
            left.push(format!("{}: {backing}", entry.path().display()));
        }
    }
    left
}

/// Files of every kind and name that a folder of data can hold.
fn fill(source: &Path) {
    fs::create_dir_all(source.join("deep/er/est")).unwrap();
    fs::write(source.join("rows"), noise(3 << 20)).unwrap();
    fs::write(source.join("deep/er/part"), noise(100_003)).unwrap();
    fs::write(source.join("empty"), "").unwrap();
    for name in [&b"line\nbreak"[..], b"\xff\xfe not UTF-8", b" -rf * \"'$(x)\\", b"..."] {
        fs::write(source.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let mut sparse = File::create(source.join("sparse")).unwrap();
    sparse.seek(SeekFrom::Start(5_000_000)).unwrap();
    sparse.write_all(b"after the hole").unwrap();
    sparse.set_len(9_000_001).unwrap();
    symlink("rows", source.join("link")).unwrap();
    symlink("/etc/passwd", source.join("out")).unwrap();
    symlink("..", source.join("deep/up")).unwrap();
    symlink("nowhere", source.join("dangling")).unwrap();
    fs::write(source.join("read only"), "a").unwrap();
    fs::set_permissions(source.join("read only"), Permissions::from_mode(0o400)).unwrap();
    fs::set_permissions(source.join("deep/er/est"), Permissions::from_mode(0o1770)).unwrap();
    fs::set_permissions(source, Permissions::from_mode(0o750)).unwrap();
}

/// Bytes without a pattern (splitmix64).
fn noise(length: usize) -> Vec<u8> {
    let mut state = length as u64;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (state ^ (state >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb).to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(length).collect()
}

type Snapshot = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Mode and content by path, by other means than the code under test.
fn snapshot(folder: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        let data = fs::symlink_metadata(&path).unwrap();
        let content = if data.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if data.is_symlink() {
            fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), (data.mode(), content));
    }
    found
}

/// What jobs do.
fn spoil(folder: &Path) {
    fs::remove_file(folder.join("empty")).unwrap();
    fs::write(folder.join("rows"), "sorted").unwrap();
    File::options().append(true).open(folder.join("deep/er/part")).unwrap().write_all(b"more").unwrap();
    fs::rename(folder.join("deep/er"), folder.join("renamed")).unwrap();
    fs::rename(folder.join("sparse"), folder.join("renamed/est/sparse")).unwrap();
    fs::set_permissions(folder.join("read only"), Permissions::from_mode(0o777)).unwrap();
    fs::remove_file(folder.join("link")).unwrap();
    fs::create_dir(folder.join("link")).unwrap();
    fs::create_dir_all(folder.join("output/tmp")).unwrap();
    fs::write(folder.join("output/part-r-00000"), noise(1 << 20)).unwrap();
    fs::set_permissions(folder.join("output"), Permissions::from_mode(0o0)).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
}

fn restore(dataset: &mut Dataset) -> Restored {
    dataset.restore(&NoProgress, &Interrupt::default()).unwrap()
}

fn nothing_a_job_does_survives(place: &Place, method: Restore) {
    let as_declared = snapshot(&place.source());
    let mut dataset = place.open(method).unwrap();
    for point in 0..3 {
        let restored = restore(&mut dataset);
        assert_eq!((restored.method, restored.verified.as_str()), (method, dataset.manifest().hash().as_str()));
        assert!(snapshot(&restored.folder) == as_declared, "{method}: the copy of point {point}");
        let allocated = fs::metadata(restored.folder.join("sparse")).unwrap().blocks() * 512;
        assert!(allocated < 9_000_000, "{method}: holes stay holes, {allocated} bytes are allocated");
        spoil(&restored.folder);
        assert!(snapshot(&place.source()) == as_declared, "{method}: the data after point {point}");
    }
    dataset.release().unwrap();
    dataset.release().unwrap();
    assert_eq!(mounted_or_attached_below(&place.workspace()), Vec::<String>::new());
    let again = restore(&mut dataset);
    assert!(snapshot(&again.folder) == as_declared, "{method}: restored again after a release");
    drop(dataset);
    assert!(!again.folder.exists(), "{method}: dropped, nothing of the copy stays");
}

#[test]
fn nothing_a_job_does_to_a_plain_copy_survives_and_the_copy_comes_with_a_warning() {
    let place = Place::new();
    nothing_a_job_does_survives(&place, Restore::Copy);
    let mut dataset = place.open(Restore::Copy).unwrap();
    assert!(restore(&mut dataset).notes[0].contains("page cache"));
}

#[test]
fn nothing_a_job_does_to_an_overlay_survives() {
    requires!(root);
    let _lock = host_lock();
    nothing_a_job_does_survives(&Place::new(), Restore::Overlay);
}

#[test]
fn nothing_a_job_does_to_an_image_survives() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    nothing_a_job_does_survives(&Place::new(), Restore::Image);
}

/// A file system in a file, or in memory; unmounted in the end.
struct Disk {
    point: PathBuf,
    _dir: tempfile::TempDir,
}

impl Disk {
    fn made_by(mkfs: &[&str], mebibytes: u64) -> Disk {
        Disk::mounted(|dir, point| {
            let file = dir.join("disk");
            File::create(&file).unwrap().set_len(mebibytes << 20).unwrap();
            let made = Command::new(mkfs[0]).args(&mkfs[1..]).arg(&file).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            run(Command::new("mount").args(["-o", "loop"]).arg(&file).arg(point));
        })
    }

    fn in_memory(options: &str) -> Disk {
        Disk::mounted(|_, point| run(Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(point)))
    }

    fn mounted(mount: impl FnOnce(&Path, &Path)) -> Disk {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = fs::canonicalize(dir.path()).unwrap().join("mounted");
        fs::create_dir(&point).unwrap();
        mount(dir.path(), &point);
        Disk { point, _dir: dir }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run(Command::new("umount").arg(&self.point));
    }
}

fn run(command: &mut Command) {
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

fn reflinks_hold_on(disk: &Disk) {
    let place = Place::on(disk);
    assert_eq!(auto_for(&place.workspace()).0, Restore::Reflink);
    nothing_a_job_does_survives(&place, Restore::Reflink);
    assert!(place.left().is_empty(), "the blocks are those of the data: {:?}", place.left());
    drop(place);

    // The data elsewhere: one copy here, and its blocks are shared.
    let elsewhere = Place::new();
    let workspace = disk.point.join("copies");
    let open = || {
        let data = Data::from(Restore::Reflink);
        Dataset::open(&data, &elsewhere.source(), &workspace, &NoProgress, &Interrupt::default())
    };
    let as_declared = snapshot(&elsewhere.source());
    let mut dataset = open().unwrap();
    for _ in 0..2 {
        let restored = restore(&mut dataset);
        assert!(snapshot(&restored.folder) == as_declared);
        spoil(&restored.folder);
    }
    drop(dataset);
    let tree = fs::read_dir(workspace.join("masters")).unwrap().next().unwrap().unwrap().path();
    flip_byte(&tree.join("deep/er/part"), 5000);
    let error = open().unwrap().restore(&NoProgress, &Interrupt::default()).unwrap_err().to_string();
    assert!(error.contains("deep/er/part has other bytes"), "{error}");
    drop(elsewhere);
}

#[test]
fn reflinks_hold_on_xfs() {
    requires!(root, loop_device, xfs_tools);
    let _lock = host_lock();
    reflinks_hold_on(&Disk::made_by(&["mkfs.xfs", "-q", "-m", "reflink=1"], 400));
}

#[test]
fn reflinks_hold_on_btrfs() {
    requires!(root, loop_device, btrfs_tools);
    let _lock = host_lock();
    reflinks_hold_on(&Disk::made_by(&["mkfs.btrfs", "-q"], 400));
}

#[test]
fn reflinks_are_refused_with_the_reason_where_blocks_cannot_be_shared() {
    requires!(root);
    let _lock = host_lock();
    let disk = Disk::in_memory("size=64m");
    let place = Place::on(&disk);
    let error = place.open(Restore::Reflink).unwrap_err();
    assert!(matches!(error, RestoreError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("cannot share blocks"), "{error}");
    let (method, why) = auto_for(&place.workspace());
    assert_eq!(method, Restore::Copy, "{why}");
}

#[test]
fn on_ext4_an_image_is_what_suits_and_the_reason_is_said() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let disk = Disk::made_by(&["mkfs.ext4", "-q"], 64);
    let (method, why) = auto_for(&disk.point.join("not/there/yet"));
    assert!(method == Restore::Image && why.contains("ext4"), "{method}: {why}");
    let left: Vec<_> = fs::read_dir(&disk.point).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lost+found"], "trying leaves nothing");
}

fn flip_byte(path: &Path, at: u64) {
    let mode = fs::metadata(path).unwrap().permissions();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
    file.sync_all().unwrap();
    fs::set_permissions(path, mode).unwrap();
}

fn only(folder: &Path, extension: &str) -> PathBuf {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Where a file's bytes lie in an image.
fn place_in(image: &Path, needle: &[u8]) -> u64 {
    let bytes = fs::read(image).unwrap();
    bytes.windows(needle.len()).position(|window| window == needle).unwrap() as u64
}

#[test]
fn a_flipped_byte_in_the_master_image_is_named_with_its_file_and_the_next_trial_makes_a_new_image() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    drop(place.open(Restore::Image).unwrap());
    let masters = place.workspace().join("masters");
    let master = only(&masters, "image");
    let rows = fs::read(place.source().join("rows")).unwrap();
    flip_byte(&master, place_in(&master, &rows[4096..4160]));
    let mut dataset = place.open(Restore::Image).unwrap();
    let error = dataset.restore(&NoProgress, &Interrupt::default()).unwrap_err();
    assert!(error.to_string().contains("rows has other bytes"), "{error}");
    assert!(error.to_string().contains("anew"), "{error}");
    assert_eq!(mounted_or_attached_below(&place.workspace()), Vec::<String>::new(), "nothing to run on by mistake");
    drop(dataset);

    let mut dataset = place.open(Restore::Image).unwrap();
    assert!(snapshot(&restore(&mut dataset).folder) == snapshot(&place.source()));
    drop(dataset);

    // Where no file lies: the group descriptors.
    flip_byte(&master, 4096 + 40);
    let mut dataset = place.open(Restore::Image).unwrap();
    let error = dataset.restore(&NoProgress, &Interrupt::default()).unwrap_err().to_string();
    assert!(error.contains("is wrong between byte 0") || error.contains("is damaged"), "{error}");
    drop(dataset);
    drop(place.open(Restore::Image).unwrap());
    let whole = fs::metadata(&master).unwrap().ino();

    // A damaged record is not believed, a whole one is.
    drop(place.open(Restore::Image).unwrap());
    assert_eq!(fs::metadata(&master).unwrap().ino(), whole, "a whole master is used again");
    let record = only(&masters, "json");
    let text = fs::read_to_string(&record).unwrap();
    let damaged = if text.contains("\"chunks\":[\"0") {
        text.replacen("[\"0", "[\"1", 1)
    } else {
        text.replacen(":[\"", ":[\"0", 1)
    };
    fs::write(&record, damaged).unwrap();
    drop(place.open(Restore::Image).unwrap());
    assert_ne!(fs::metadata(&master).unwrap().ino(), whole, "and made anew when its record is damaged");
}

#[test]
fn data_that_change_during_a_trial_are_found_and_named() {
    requires!(root);
    let _lock = host_lock();
    for method in [Restore::Copy, Restore::Overlay] {
        let place = Place::new();
        let mut dataset = place.open(method).unwrap();
        restore(&mut dataset);
        flip_byte(&place.source().join("rows"), 1_234_567);
        let error = dataset.restore(&NoProgress, &Interrupt::default()).unwrap_err().to_string();
        assert!(error.contains("rows has other bytes") && error.contains("nothing is run"), "{method}: {error}");
        let work: Vec<_> = fs::read_dir(place.workspace().join("work")).unwrap().collect();
        assert!(work.is_empty(), "{method}: no wrong copy stays");
        flip_byte(&place.source().join("rows"), 1_234_567);
        restore(&mut dataset);
        fs::write(place.source().join("new"), "").unwrap();
        // A copy has what the manifest lists; under an overlay everything is seen.
        let again = dataset.restore(&NoProgress, &Interrupt::default());
        assert_eq!(again.is_ok(), method == Restore::Copy, "{method}: {again:?}");
    }
}

#[test]
fn restored_bytes_are_not_in_the_page_cache() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    for method in [Restore::Image, Restore::Copy, Restore::Overlay] {
        let place = Place::new();
        let mut dataset = place.open(method).unwrap();
        let restored = restore(&mut dataset);
        for file in ["rows", "deep/er/part"] {
            let file = File::open(restored.folder.join(file)).unwrap();
            if let Ok(cached) = page_cache::cached(&file) {
                assert!(cached < 64 << 10, "{method}: {cached} bytes are cached");
            }
        }
    }
}

#[test]
fn what_a_job_reads_from_an_image_is_cached_once_or_a_note_says_that_it_is_cached_twice() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    let mut dataset = place.open(Restore::Image).unwrap();
    let restored = restore(&mut dataset);
    fs::read(restored.folder.join("rows")).unwrap();
    let image = File::open(place.workspace().join("work/image")).unwrap();
    let Ok(cached) = page_cache::cached(&image) else { return };
    let is_said = restored.notes.iter().any(|note| note.contains("twice"));
    assert_eq!(cached > 1 << 20, is_said, "{cached} bytes of the image are cached, notes: {:?}", restored.notes);
}

#[test]
fn a_size_for_the_image_is_kept_to_and_one_that_is_too_small_is_refused() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    let sized = |size: &str| Data { size: Some(size.to_owned()), ..Data::from(Restore::Image) };
    let mut dataset = place.open_as(&sized("100M"), &NoProgress).unwrap();
    let folder = restore(&mut dataset).folder;
    let room = rustix::fs::statvfs(&folder).unwrap();
    let bytes = room.f_blocks * room.f_frsize;
    assert!((60 << 20..100 << 20).contains(&bytes), "{bytes}");
    drop(dataset);
    assert!(place.open_as(&sized("10M"), &NoProgress).is_err());
    assert!(place.open_as(&Data { size: Some("1G".into()), ..Data::from(Restore::Copy) }, &NoProgress).is_err());
    drop(place.open_as(&sized("120M"), &NoProgress).unwrap());
    only(&place.workspace().join("masters"), "image");
}

#[test]
fn too_little_room_is_refused_with_numbers_before_anything_is_written() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    for method in [Restore::Image, Restore::Copy] {
        let disk = Disk::in_memory("size=70m");
        let opened =
            Dataset::open(&method.into(), &place.source(), &disk.point.join("c"), &NoProgress, &Interrupt::default());
        let error = opened.unwrap_err();
        assert!(matches!(error, RestoreError::NoRoom { needed, free, .. } if needed > free), "{method}: {error}");
        assert!(error.to_string().contains("MB are free"), "{error}");
    }
}

#[test]
fn a_disk_that_fills_up_leaves_nothing_half_made() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    let sized = Data { size: Some("64M".to_owned()), ..Data::from(Restore::Image) };
    for (data, stage) in [(&sized, "copying"), (&Data::from(Restore::Copy), "copying")] {
        let disk = Disk::in_memory("size=300m");
        let workspace = disk.point.join("c");
        let filler = disk.point.join("filler");
        let fill = || {
            let mut file = File::options().create(true).append(true).open(&filler).unwrap();
            while file.write_all(&[1; 1 << 16]).is_ok() {}
        };
        let filling = At(stage, &fill);
        let opened = Dataset::open(data, &place.source(), &workspace, &filling, &Interrupt::default());
        let error = opened.and_then(|mut dataset| dataset.restore(&filling, &Interrupt::default()).map(drop));
        let error = error.unwrap_err();
        assert_eq!(mounted_or_attached_below(&workspace), Vec::<String>::new(), "{error}");
        for folder in ["masters", "work"] {
            let left: Vec<_> = fs::read_dir(workspace.join(folder)).unwrap().collect();
            assert!(left.is_empty(), "{}: {left:?} after: {error}", data.restore);
        }
        assert!(matches!(error, RestoreError::Full { .. }), "{error}");
        fs::remove_file(&filler).unwrap();
        let mut dataset = Dataset::open(data, &place.source(), &workspace, &NoProgress, &Interrupt::default()).unwrap();
        assert!(snapshot(&restore(&mut dataset).folder) == snapshot(&place.source()), "once there is room again");
    }
}

#[test]
fn an_interrupted_build_or_restore_leaves_nothing_half_made() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    let stages = ["hashing the data", "copying", "checking the image", "hashing the image"];
    for stage in stages {
        let interrupt = Interrupt::default();
        let set = || interrupt.set();
        let opened =
            Dataset::open(&small(Restore::Image), &place.source(), &place.workspace(), &At(stage, &set), &interrupt);
        assert!(matches!(opened, Err(RestoreError::Interrupted(_))), "{stage}");
        assert_eq!(place.left(), Vec::<String>::new(), "{stage}");
    }
    let mut dataset = place.open(Restore::Image).unwrap();
    let interrupt = Interrupt::default();
    let set = || interrupt.set();
    let cut = dataset.restore(&At("restoring", &set), &interrupt);
    assert!(matches!(cut, Err(RestoreError::Interrupted(_))), "{cut:?}");
    assert!(snapshot(&restore(&mut dataset).folder) == snapshot(&place.source()));
}

#[test]
fn what_is_no_file_folder_or_link_is_refused_by_name() {
    let place = Place::new();
    run(Command::new("mkfifo").arg(place.source().join("pipe")));
    let error = place.open(Restore::Copy).unwrap_err().to_string();
    assert!(error.contains("pipe is a named pipe"), "{error}");
}

#[test]
fn data_and_copies_may_not_lie_one_inside_the_other() {
    let place = Place::new();
    for (source, workspace) in [("source", "source/copies"), ("copies", "."), ("source", "source")] {
        fs::create_dir_all(place.folder.join("copies")).unwrap();
        let (source, workspace) = (place.folder.join(source), place.folder.join(workspace));
        let opened = Dataset::open(&Restore::Copy.into(), &source, &workspace, &NoProgress, &Interrupt::default());
        assert!(matches!(opened, Err(RestoreError::Usage(_))), "{source:?} {workspace:?}");
    }
    assert!(!place.source().join("copies").exists());
}

#[test]
fn two_workspaces_stand_side_by_side_and_one_workspace_has_one_owner() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let (one, two) = (Place::new(), Place::new());
    let (mut a, mut b) = (one.open(Restore::Image).unwrap(), two.open(Restore::Image).unwrap());
    let (in_a, in_b) = (restore(&mut a).folder, restore(&mut b).folder);
    spoil(&in_a);
    assert!(snapshot(&in_b) == snapshot(&two.source()));
    assert!(matches!(one.open(Restore::Image), Err(RestoreError::InUse { .. })));
    let left = remove_leftovers(&Root::live(), &one.workspace());
    assert!(left.in_use && left.removed.is_empty() && in_a.exists(), "{left:?}");
    drop(a);
    assert!(remove_leftovers(&Root::live(), &one.workspace()).is_clean());
    assert!(snapshot(&in_b) == snapshot(&two.source()));
}

#[test]
fn a_copy_that_a_process_still_uses_is_not_thrown_away_and_the_process_is_named() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let place = Place::new();
    let mut dataset = place.open(Restore::Image).unwrap();
    let folder = restore(&mut dataset).folder;
    let mut job = Command::new("sleep").arg("1000").current_dir(&folder).spawn().unwrap();
    let refused = dataset.restore(&NoProgress, &Interrupt::default());
    let (pid, _) = (job.id(), job.kill().and_then(|()| job.wait()).unwrap());
    let error = refused.unwrap_err();
    assert!(matches!(error, RestoreError::Busy { .. }), "{error}");
    assert!(error.to_string().contains(&format!("{pid} sleep")), "{error}");
    assert!(snapshot(&restore(&mut dataset).folder) == snapshot(&place.source()));
}

#[test]
fn leftovers_are_looked_for_below_the_workspace_alone() {
    requires!(root);
    let _lock = host_lock();
    let place = Place::new();
    drop(place.open(Restore::Copy).unwrap());
    // A sibling whose name begins the same, and a folder that was never a workspace.
    let never = Place::new();
    fs::create_dir_all(never.workspace().join("work")).unwrap();
    fs::write(never.workspace().join("work/mine"), "").unwrap();
    let sibling = place.workspace().join("work-two");
    fs::create_dir(&sibling).unwrap();
    run(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&sibling));
    fs::create_dir(place.workspace().join("work/mounted")).unwrap();
    let inside = place.workspace().join("work/mounted");
    run(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&inside));
    let left = remove_leftovers(&Root::live(), &place.workspace());
    let nothing = remove_leftovers(&Root::live(), &never.workspace());
    let still = mounted_or_attached_below(&place.workspace());
    run(Command::new("umount").arg(&sibling));
    assert!(left.is_clean() && !left.removed.is_empty(), "{left:?}");
    assert!(still.len() == 1 && still[0].contains("work-two"), "{still:?}");
    assert!(nothing == Default::default() && never.workspace().join("work/mine").exists());
    assert!(remove_leftovers(&Root::live(), &place.workspace()).removed.is_empty());
    assert!(remove_leftovers(&Root::live(), Path::new("/nonexistent")).is_clean());
}

// --- a process of its own that is killed, or has no rights ---

const ROLE: &str = "PAGEWISE_RESTORE_TEST_ROLE";
const PLACE: &str = "PAGEWISE_RESTORE_TEST_PLACE";

/// This test binary again, as the process that restores.
fn child(role: &str, folder: &Path, before: &[&str]) -> Child {
    let own = std::env::current_exe().unwrap();
    let mut argv: Vec<&OsStr> = before.iter().map(OsStr::new).collect();
    argv.push(own.as_os_str());
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).args(["--exact", "restore::plays_its_role_when_started_as_a_child", "--nocapture"]);
    command.env(ROLE, role).env(PLACE, folder).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

#[test]
fn plays_its_role_when_started_as_a_child() {
    let (Ok(role), Some(folder)) = (std::env::var(ROLE), std::env::var_os(PLACE)) else { return };
    let place = Place { folder: folder.into(), _dir: None };
    match role.as_str() {
        "nobody" => as_nobody(&place),
        method => restores_for_ever(&place, if method == "image" { Restore::Image } else { Restore::Overlay }),
    }
}

/// Says each stage on standard output before it begins.
struct Telling;
impl Progress for Telling {
    fn stage(&self, what: &str, _done: Option<f64>) {
        println!("stage {what}");
    }
}

fn restores_for_ever(place: &Place, method: Restore) {
    loop {
        let mut dataset = place.open_as(&small(method), &Telling).unwrap();
        for _ in 0..2 {
            let restored = dataset.restore(&Telling, &Interrupt::default()).unwrap();
            println!("stage running");
            spoil(&restored.folder);
        }
        println!("stage releasing");
        dataset.release().unwrap();
        drop(dataset);
        let _ = fs::remove_dir_all(place.workspace().join("masters"));
    }
}

fn killed_in(method: &str, stage: &str, delay: Duration) {
    let place = Place::new();
    let as_declared = snapshot(&place.source());
    let mut child = child(method, &place.folder, &[]);
    // Kept open: a child that can no longer speak would end by itself, in order.
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let wanted = format!("stage {stage}");
    let reached = said.by_ref().lines().map_while(Result::ok).any(|line| line.contains(&wanted));
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(reached, "{method} never came to '{stage}'");
    let began = Instant::now();
    let mut left = remove_leftovers(&Root::live(), &place.workspace());
    // A program that it had started ends a moment after it.
    while left.in_use && began.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(20));
        left = remove_leftovers(&Root::live(), &place.workspace());
    }
    assert!(left.is_clean() && began.elapsed() < Duration::from_secs(2), "{stage}: {left:?} {:?}", began.elapsed());
    assert_eq!(mounted_or_attached_below(&place.workspace()), Vec::<String>::new(), "{stage}");
    let half: Vec<String> =
        place.left().into_iter().filter(|name| !name.ends_with(".image") && !name.ends_with(".json")).collect();
    assert!(half.is_empty(), "{stage}: {half:?}");
    let method = if method == "image" { Restore::Image } else { Restore::Overlay };
    let mut dataset = place.open(method).unwrap();
    assert!(snapshot(&restore(&mut dataset).folder) == as_declared, "{stage}: the next restore");
    assert!(snapshot(&place.source()) == as_declared, "{stage}: the data");
}

#[test]
fn whoever_is_killed_at_whatever_stage_leaves_nothing_and_the_next_restore_is_right() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let stages = [
        "hashing the data",
        "copying",
        "checking the image",
        "hashing the image",
        "restoring",
        "checking the restored",
        "running",
        "releasing",
    ];
    for (number, stage) in stages.into_iter().enumerate() {
        // The moment within the stage differs from stage to stage, and the kill may well hit the next one.
        for delay in [0, 1 + 7 * number as u64] {
            killed_in("image", stage, Duration::from_millis(delay));
        }
    }
    for stage in ["checking the restored", "running", "releasing"] {
        killed_in("overlay", stage, Duration::from_millis(2));
    }
}

fn as_nobody(place: &Place) {
    let error = place.open(Restore::Image).unwrap_err();
    assert!(matches!(error, RestoreError::NotPermitted { .. }), "{error}");
    assert!(error.to_string().contains("copy"), "the remedy is named: {error}");
    assert!(matches!(place.open(Restore::Overlay), Err(RestoreError::NotPermitted { .. })));
    nothing_a_job_does_survives(place, Restore::Copy);
    fs::set_permissions(place.source().join("rows"), Permissions::from_mode(0o0)).unwrap();
    let error = place.open(Restore::Copy).unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("rows") && error.contains("root"), "{error}");
    fs::set_permissions(place.source().join("rows"), Permissions::from_mode(0o600)).unwrap();
    println!("nobody is done");
}

#[test]
fn without_root_copies_work_images_are_refused_with_the_remedy_and_an_unreadable_file_is_named() {
    requires!(root, setpriv);
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let folder = dir.path().join("place");
    fill(&folder.join("source"));
    // The binary where nobody may start it.
    let own = dir.path().join("test-binary");
    fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    run(Command::new("chown").args(["-hR", "65534:65534"]).arg(&folder));
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]).arg(&own);
    command.args(["--exact", "restore::plays_its_role_when_started_as_a_child", "--nocapture"]);
    let ended = command.env(ROLE, "nobody").env(PLACE, &folder).current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("nobody is done"), "{said}");
}
