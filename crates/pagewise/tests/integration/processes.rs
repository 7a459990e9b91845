//! The processes of a recording from outside: a real job on the real host, names that are left out, a recorder that is killed
//! in the middle of a walk, and a `/proc` that hides others.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::{GapReason, ProcessRow, Recorded, Walk};
use pagewise_host::store::recording::Recording;
use pagewise_testkit::fake_host::FakeProcess;
use pagewise_testkit::{FakeHost, host_lock, requires};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `tail` holds what `head` gave it for as long as `sleep` does not read it.
const JOB: &str = "head -c 200000000 /dev/zero | tail -c 190000000 | sleep 4";

fn pagewise(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

fn record(folder: &Path, args: &[&str]) -> Recording {
    let output = pagewise(folder, &["record", "-o", "a.pgw"]).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Recording::open(&folder.join("a.pgw")).unwrap()
}

fn walks(recording: &Recording) -> Vec<Walk> {
    recording.walks().unwrap().expect("it was recorded")
}

fn rows(walks: &[Walk]) -> impl Iterator<Item = &ProcessRow> {
    walks.iter().flat_map(|walk| &walk.rows)
}

#[test]
fn a_job_is_seen_with_its_memory_and_what_it_used() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path(), &["--", "sh", "-c", JOB]);
    let walks = walks(&recording);
    assert!(walks.len() >= 4, "at the start, closer together in the first seconds, and at the end: {}", walks.len());
    assert!(walks.iter().all(|walk| walk.from < walk.to && walk.processes > 3 && walk.rows.len() <= 30));
    assert!(walks.windows(2).all(|pair| pair[0].to <= pair[1].from));
    let largest = rows(&walks).filter(|row| row.name() == "tail").max_by_key(|row| row.resident).expect("the job");
    assert!(largest.resident > 150_000_000 && largest.threads == 1, "{largest:?}");
    assert!(largest.used.minor_faults > 50 && largest.started > walks[0].from - 1_000_000_000, "{largest:?}");
    // It started after the first walk, so all it used is known.
    assert!(rows(&walks).filter(|row| row.pid == largest.pid).all(|row| row.grown.is_some()));
    assert_eq!(recording.gaps().iter().find(|gap| gap.source.as_deref() == Some("processes")), None);
    let own = recording.series().iter().find(|series| series.name == "walker_cpu").expect("what a walk costs");
    let last = recording.blocks().map(Result::unwrap).last().unwrap().values(own).last().unwrap().1;
    assert!((1..1_000_000).contains(&last), "{last} µs");

    let export = ["export", "a.pgw", "--to", "csv", "--series", "processes.resident"];
    let csv = String::from_utf8(pagewise(folder.path(), &export).output().unwrap().stdout).unwrap();
    assert!(csv.lines().skip(1).all(|line| line.contains(",processes.resident,\"pid=")), "{csv}");
    assert!(csv.contains(",comm=tail\",bytes,gauge,"), "{csv}");
    assert!(pagewise(folder.path(), &["report", "a.pgw", "-o", "a.html"]).status().unwrap().success());
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    let (_, table) = page.split_once("<h2>Processes</h2>").expect("the table of processes");
    assert!(table.split("</section>").next().unwrap().contains("<bdi>tail</bdi>"));
}

#[test]
fn what_is_not_asked_for_is_not_recorded_and_times_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path(), &["--processes", "0", "--for", "1s"]);
    assert_eq!(recording.walks().unwrap(), None);
    for (time, says) in [("10ms", "from 1 s to 3600 s"), ("2h", "from 1 s to 3600 s"), ("30", "0 for never")] {
        let args = ["record", "-o", "b.pgw", "--for", "1s", "--processes", time];
        let output = pagewise(folder.path(), &args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(says), "{time}: {error}");
    }
}

#[test]
fn redacted_it_names_kernel_threads_and_the_jobs_processes_alone() {
    let folder = tempfile::tempdir().unwrap();
    // This very test is somebody else's process, and a large one.
    let own = std::fs::read_to_string("/proc/self/comm").unwrap().trim().to_owned();
    let open = record(folder.path(), &["--for", "2s"]);
    assert!(rows(&walks(&open)).any(|row| !is_kernel_thread(row) && row.name() != "pagewise"));
    std::fs::remove_file(folder.path().join("a.pgw")).unwrap();
    let recording = record(folder.path(), &["--redact", "--", "sh", "-c", JOB]);
    let walks = walks(&recording);
    assert!(rows(&walks).any(|row| row.name() == "tail"));
    for row in rows(&walks) {
        let name = row.name();
        let is_of_job = ["pagewise", "sh", "head", "tail", "sleep"].contains(&&*name);
        assert!(name != own && (is_of_job || is_kernel_thread(row)), "{name}");
    }
}

/// Nothing else that runs is without memory of its own.
fn is_kernel_thread(row: &ProcessRow) -> bool {
    row.resident == 0
}

/// A file that is not there until somebody writes into it holds the walk up in the middle.
#[test]
fn killed_in_the_middle_of_a_walk_the_recording_has_whole_walks_and_all_ticks() {
    let folder = tempfile::tempdir().unwrap();
    let job = |pid| FakeProcess { pid, parent: 1, comm: b"job", resident_pages: 100, ..FakeProcess::default() };
    let host = FakeHost::modern().process(&job(100)).process(&job(101)).process(&job(102));
    let root = host.path().to_str().unwrap().to_owned();
    let args = ["record", "--root", &root, "-o", "a.pgw", "--hz", "20", "--for", "1h", "--processes", "1s"];
    let mut child = pagewise(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    let file = folder.path().join("a.pgw");
    let deadline = Instant::now() + Duration::from_secs(30);
    let wait = || {
        assert!(Instant::now() < deadline, "it took too long");
        std::thread::sleep(Duration::from_millis(20));
    };
    while Recording::open(&file).and_then(|recording| recording.walks()).ok().flatten().is_none_or(|w| w.is_empty()) {
        wait();
    }
    let (stat, pipe) = (host.root().path("/proc/101/stat"), host.root().path("/proc/101/pipe"));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::fs::rename(&pipe, &stat).unwrap();
    // A pipe can be opened for writing without waiting only once somebody reads it: then the walk is there.
    let held = loop {
        match rustix::fs::open(&stat, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Ok(held) => break held,
            Err(_) => wait(),
        }
    };
    // Longer than the writer needs to write all that came before, and a tick in each twentieth of a second of it.
    let stuck = boottime();
    std::thread::sleep(Duration::from_secs(6));
    child.kill().unwrap();
    child.wait().unwrap();
    drop(held);
    let recording = Recording::open(&file).unwrap();
    let walks = walks(&recording);
    assert!(!walks.is_empty() && walks.iter().all(|walk| walk.to < stuck));
    assert!(walks.iter().all(|walk| walk.processes == 3 && walk.rows.len() == 3), "{walks:?}");
    let ticks = recording.blocks().map(Result::unwrap).flat_map(|block| block.ticks);
    let after = ticks.filter(|tick| tick.begin > stuck).count();
    assert!(after > 10, "only {after} ticks came while the walk was held up");
}

fn boottime() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn a_proc_that_hides_the_processes_of_others_is_a_gap_that_says_so() {
    requires!(root);
    let _host = host_lock();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    // The binary may lie where nobody else may go. The mount goes with the namespace, which has numbers of its own.
    let binary = folder.path().join("pagewise");
    std::fs::copy(Command::cargo_bin("pagewise").unwrap().get_program(), &binary).unwrap();
    let script = "mount -t proc -o hidepid=2 proc /proc && \
                  setpriv --reuid=65534 --regid=65534 --clear-groups ./pagewise record -o a.pgw --for 1s";
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "sh", "-c", script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let recording = Recording::open(&folder.path().join("a.pgw")).unwrap();
    let gap = recording.gaps().iter().find(|gap| gap.source.as_deref() == Some("processes.others")).unwrap();
    assert_eq!(gap.reason, GapReason::Missing);
    assert!(gap.detail.contains("hidepid"), "{}", gap.detail);
    assert!(rows(&walks(&recording)).all(|row| row.name() == "pagewise"));
}
