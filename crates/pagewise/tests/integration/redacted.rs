//! What `record --redact` promises, held against names that were planted: none of them is in the file, in any export of it, on its
//! page or in what is found in it. The same recording without `--redact` has them, so they can be found.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::Recorded;
use pagewise_host::cgroup;
use pagewise_host::root::Root;
use pagewise_host::store::recording::Recording;
use pagewise_testkit::fake_host::FakeProcess;
use pagewise_testkit::{FakeHost, host_lock, requires};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Everything that is planted has this in its name.
const PLANTED: &str = "planted";

/// Numbers of processes that are somebody's.
const NUMBERS: [&str; 2] = ["3434343434", "3535353535"];

fn pagewise(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

fn has(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// All that can be made of a recording, and the file itself.
fn everything_of(folder: &Path, file: &str) -> Vec<(String, Vec<u8>)> {
    let said = |args: &[&str]| {
        let output = pagewise(folder, args).output().unwrap();
        // A recording without stacks has nothing for those who want stacks.
        let is_empty = String::from_utf8_lossy(&output.stderr).contains("has no stacks");
        assert!(output.status.success() || is_empty, "{args:?}: {output:?}");
        (args.join(" "), [output.stdout, output.stderr].concat())
    };
    let mut all = vec![(file.to_owned(), fs::read(folder.join(file)).unwrap())];
    for format in ["csv", "openmetrics", "folded", "pprof", "firefox"] {
        all.push(said(&["export", file, "--to", format]));
    }
    let tables = folder.join("tables");
    all.push(said(&["export", file, "--to", "parquet", "-o", "tables"]));
    for table in fs::read_dir(&tables).unwrap().map(|entry| entry.unwrap().path()) {
        all.push((table.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&table).unwrap()));
    }
    fs::remove_dir_all(&tables).unwrap();
    all.push(said(&["report", file]));
    all.push(said(&["watch", file, "--json"]));
    all.push(said(&["diagnose", file, "--json"]));
    all
}

/// What a recording says in words.
fn texts_of(recording: &Recording) -> String {
    let settings = recording.settings().unwrap().into_iter().map(|setting| format!("{setting:?}"));
    let marks = recording.marks().unwrap().into_iter().map(|mark| format!("{mark:?}"));
    let gaps = recording.gaps().iter().map(|gap| format!("{gap:?}"));
    let series = recording.series().iter().map(|series| format!("{series:?}"));
    let meta = recording.meta().iter().map(|pair| format!("{pair:?}"));
    settings.chain(marks).chain(gaps).chain(series).chain(meta).collect::<Vec<_>>().join("\n")
}

/// A host with a name of somebody's in every place that a recording looks at.
fn tree() -> FakeHost {
    let job = |pid, comm| FakeProcess { pid, parent: 1, comm, resident_pages: 90_000, ..FakeProcess::default() };
    FakeHost::modern()
        .unified("/user.slice/planted-user.service", "memory")
        .file("/sys/fs/cgroup/planted.slice/memory.stat", "anon 4096\nfile 8192\n")
        .file("/sys/fs/cgroup/planted.slice/memory.events", "low 0\nhigh 5\nmax 0\noom 0\noom_kill 0\n")
        .file("/sys/fs/cgroup/planted.slice/memory.pressure", "nonsense\n")
        .file("/sys/fs/cgroup/planted.slice/memory.max", "4096000\n")
        .file("/proc/swaps", &swaps("/home/planted-home/swap\\040file"))
        .process(&job(3_434_343_434, b"planted-job"))
        .file("/proc/3535353535/stat", "3535353535 no stat of planted")
        .process(&FakeProcess { is_kernel_thread: true, ..job(49, b"kswapd0") })
}

fn swaps(file: &str) -> String {
    format!("Filename Type Size Used Priority\n/dev/vdb partition 8388604 0 -2\n{file} file 1048572 12 -3\n")
}

/// Records the tree through a folder that is planted, too, while somebody changes the swap files.
fn record_tree(folder: &Path, file: &str, args: &[&str]) -> Recording {
    let host = tree();
    let link = folder.join("planted-tree");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(host.path(), &link).unwrap();
    let link = link.display().to_string();
    let base = ["--root", &link, "record", "-o", file, "--hz", "20", "--for", "2s", "--cgroup", "/planted.slice"];
    let mut child = pagewise(folder, &base).args(args).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(900));
    host.write("/proc/swaps", &swaps("/home/planted-later"));
    assert!(child.wait().unwrap().success());
    Recording::open(&folder.join(file)).unwrap()
}

#[test]
fn of_a_host_full_of_names_a_redacted_recording_tells_none() {
    let folder = tempfile::tempdir().unwrap();
    let open = record_tree(folder.path(), "open.pgw", &[]);
    let told = texts_of(&open);
    for place in [
        "cgroup_stat[/planted.slice]",
        "cgroup=/planted.slice",
        "cgroup[/user.slice/planted-user.service].memory.max",
        "/home/planted-home/swap",
        "/home/planted-later",
        "planted-tree/proc/buddyinfo",
        "/proc/3535353535/stat",
    ] {
        assert!(told.contains(place), "{place} is planted in vain: {told}");
    }
    let bytes = fs::read(folder.path().join("open.pgw")).unwrap();
    assert!(has(&bytes, "planted-job"), "the process is planted in vain");

    let hidden = record_tree(folder.path(), "a.pgw", &["--redact"]);
    assert_eq!(hidden.meta().get("redacted").map(String::as_str), Some("1"));
    let told = texts_of(&hidden);
    for instead in [
        "cgroup_stat[group-1]",
        "cgroup=group-1",
        "cgroup[group-2].memory.max",
        "@/swap-1",
        "@/swap-2",
        "@/dev/vdb",
        "cannot read /proc/buddyinfo",
        "/proc/PID/stat",
    ] {
        assert!(told.contains(instead), "{instead} is not told: {told}");
    }
    for (what, bytes) in everything_of(folder.path(), "a.pgw") {
        for word in [PLANTED].into_iter().chain(NUMBERS) {
            assert!(!has(&bytes, word), "{what} tells of {word}");
        }
    }
    let names: BTreeSet<String> = hidden
        .walks()
        .unwrap()
        .unwrap()
        .iter()
        .flat_map(|walk| walk.rows.iter().map(|row| row.name().into_owned()))
        .collect();
    assert_eq!(names, BTreeSet::from(["kswapd0".to_owned()]), "the kernel's own threads keep their names");
    let numbers = |recording: &Recording| {
        let series = recording.series().iter();
        series.map(|series| (series.name.clone(), series.column)).collect::<BTreeSet<_>>()
    };
    assert_eq!(numbers(&hidden), numbers(&open), "every number is there all the same");
}

/// A control group of this test's own, and a process of somebody's in it. Both go with it.
struct Somebody {
    group: PathBuf,
    process: Child,
}

impl Somebody {
    fn new(folder: &Path) -> Somebody {
        let root = Root::live();
        let parent = cgroup::parent_of_children(&root).unwrap();
        let group = root.path(&parent.folder).join(format!("pagewise-test-{PLANTED}-{}", std::process::id()));
        fs::create_dir(&group).unwrap();
        let program = folder.join("planted-busy");
        fs::copy("/bin/sh", &program).unwrap();
        let process = Command::new(&program).args(["-c", "while :; do :; done"]).spawn().unwrap();
        fs::write(group.join("cgroup.procs"), process.id().to_string()).unwrap();
        Somebody { group, process }
    }
}

impl Drop for Somebody {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // The last process of a group is gone a moment after it was waited for.
        for _ in 0..50 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn on_this_host_neither_stacks_nor_stalls_nor_control_groups_tell_whose_they_are() {
    requires!(root, memory_cgroup, perf_host);
    let _host = host_lock();
    let folder = tempfile::tempdir().unwrap();
    let somebody = Somebody::new(folder.path());
    let record = |file: &str, redact: &str| {
        // In the group of somebody, which COMMAND inherits and the recording therefore holds.
        let script = format!(
            "echo $$ > \"$1/cgroup.procs\" && exec \"$0\" record -o {file} --stacks 199 --stalls {redact} -- \
             dd if=/dev/zero of=/dev/null bs=1M count=4000"
        );
        let binary = Command::cargo_bin("pagewise").unwrap();
        let output = Command::new("sh")
            .args(["-c", &script])
            .arg(binary.get_program())
            .arg(&somebody.group)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Recording::open(&folder.path().join(file)).unwrap()
    };
    let open = record("open.pgw", "");
    assert!(open.profile().unwrap().unwrap().samples.iter().any(|sample| sample.comm == "planted-busy"));
    assert!(texts_of(&open).contains(&format!("pagewise-test-{PLANTED}")), "the group is planted in vain");
    let hidden = record("a.pgw", "--redact");
    let profile = hidden.profile().unwrap().unwrap();
    assert!(profile.samples.iter().any(|sample| sample.comm == "dd"), "the command's own");
    assert!(profile.samples.iter().any(|sample| sample.pid.is_none()), "somebody else was seen");
    assert!(hidden.series().iter().any(|series| series.labels == "cgroup=group-1"), "{:?}", hidden.series());
    for (what, bytes) in everything_of(folder.path(), "a.pgw") {
        assert!(!has(&bytes, PLANTED), "{what} tells of {PLANTED}");
    }
}
