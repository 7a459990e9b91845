//! `pagewise record` from outside: what it leaves, what it returns, and what is left when it is killed or the disk is full.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::{Block, Recorded};
use pagewise_host::store::recording::Recording;
use pagewise_testkit::{host_lock, requires};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn record(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(["record", "-o", "a.pgw"]).args(args).stdin(Stdio::null());
    command
}

fn boottime() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn blocks(recording: &Recording) -> Vec<Block> {
    recording.blocks().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_command_is_recorded_and_its_status_and_output_come_through() {
    let folder = tempfile::tempdir().unwrap();
    let output = record(folder.path(), &["--json", "--", "sh", "-c", "echo said >&2; exit 7"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&output.stderr).contains("said"));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((summary["schema"].as_str(), summary["samples"].as_u64()), (Some("pagewise.record/1"), Some(2)));
    assert_eq!((summary["complete"].as_bool(), summary["ended"].is_null()), (Some(true), true));
    assert!(Recording::open(&folder.path().join("a.pgw")).unwrap().is_complete());
}

#[test]
fn what_goes_wrong_before_the_command_runs_has_a_shells_codes() {
    let folder = tempfile::tempdir().unwrap();
    let code = |args: &[&str]| record(folder.path(), args).output().unwrap().status.code();
    assert_eq!(code(&["--", "no-such-command-here"]), Some(127));
    assert_eq!(code(&["--", "/etc/passwd"]), Some(126));
    assert!(!folder.path().join("a.pgw").exists(), "no file for a command that cannot run");
    std::fs::write(folder.path().join("a.pgw"), "mine").unwrap();
    assert_eq!(code(&["--", "true"]), Some(125));
    assert_eq!(code(&["--for", "1s"]), Some(2));
    assert_eq!(std::fs::read_to_string(folder.path().join("a.pgw")).unwrap(), "mine");
}

#[test]
fn the_first_while_of_a_command_is_recorded_and_the_command_goes_on_to_its_own_end() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--json", "--for", "1s", "--", "sh", "-c", "sleep 4; echo late > late; exit 7"];
    let output = record(folder.path(), &args).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("a.pgw is closed; the command goes on"), "{told}");
    assert!(folder.path().join("late").exists());
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!((1.0..3.5).contains(&seconds), "{seconds} s were recorded");
    assert!(summary["complete"] == true && summary["closing_seconds"].is_f64(), "{summary}");
    let blocks = blocks(&Recording::open(&folder.path().join("a.pgw")).unwrap());
    let (first, last) = (blocks[0].ticks[0].begin, blocks.last().unwrap().ticks.last().unwrap().begin);
    assert!(last - first < 3_500_000_000, "{} ms", (last - first) / 1_000_000);
    // One that ends first ends the recording, too.
    std::fs::remove_file(folder.path().join("a.pgw")).unwrap();
    let begun = Instant::now();
    assert_eq!(record(folder.path(), &["--for", "1h", "--", "true"]).status().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_cap_that_no_recording_fits_below_is_refused_with_the_smallest_that_will_do() {
    let folder = tempfile::tempdir().unwrap();
    let capped = |cap: &str| {
        let output = record(folder.path(), &["--size-cap", cap, "--for", "1s"]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = capped("10K");
    assert_eq!(code, Some(2), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left of it");
    let least = told.split("--size-cap ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a size");
    let (code, told) = capped(least);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn a_command_that_a_signal_ended_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(record(folder.path(), &["--", "sh", "-c", "kill -TERM $$"]).output().unwrap().status.code(), Some(143));
}

#[test]
fn ctrl_c_ends_a_recording_cleanly() {
    for (args, code) in [(&[][..], 0), (&["--for", "1h"][..], 130), (&["--", "sleep", "100"][..], 130)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = record(folder.path(), args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while Recording::open(&folder.path().join("a.pgw")).and_then(|r| r.ticks()).unwrap_or(0) == 0 {
            assert!(Instant::now() < deadline, "it never began");
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
        assert!(Recording::open(&folder.path().join("a.pgw")).unwrap().is_complete());
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
        assert_eq!(files, ["a.pgw"], "one file is left");
    }
}

/// Milliseconds from which on a kill is one of a recording that has begun, and they are counted from then.
const BEGUN: u64 = 400;

/// Milliseconds after which a segment is closed on a host that is not busy.
const A_SEGMENT: u64 = 16_500;

/// Twelve kills, from the first milliseconds to after several batches. At 20 Hz a segment is closed after 15 s; one kill
/// comes later than that.
#[test]
fn a_killed_recording_can_be_read_and_lacks_at_most_five_seconds() {
    let waits = [5, 20, 60, 150, 400, 700, 1100, 1900, 2300, 3100, 4700, A_SEGMENT];
    let runs: Vec<_> = waits
        .into_iter()
        .map(|wait| {
            std::thread::spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let args = ["--hz", "20", "--for", "1h"];
                let mut child = record(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
                let file = folder.path().join("a.pgw");
                // How long it takes to begin is the host's affair; what counts is what is kept from then on.
                let begins = if wait >= BEGUN { 1_200 } else { 0 };
                for _ in 0..begins {
                    if Recording::open(&file).is_ok() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                std::thread::sleep(Duration::from_millis(wait));
                // On a busy host a segment is closed later.
                let checks = if wait >= A_SEGMENT { 200 } else { 0 };
                for _ in 0..checks {
                    if Recording::open(&file).is_ok_and(|recording| blocks(&recording).len() >= 2) {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(200));
                }
                child.kill().unwrap();
                child.wait().unwrap();
                let killed = boottime();
                check_killed(&file, wait, killed);
            })
        })
        .collect();
    let failed = runs.into_iter().filter_map(|run| run.join().err()).count();
    assert_eq!(failed, 0, "recordings that were lost");
}

fn check_killed(file: &Path, wait: u64, killed: u64) {
    let recording = match Recording::open(file) {
        Ok(recording) => recording,
        // Killed before the file was made, or before its tables were: nothing had been recorded.
        Err(error) => {
            assert!(wait < BEGUN, "{wait} ms after it began: {error}");
            return;
        }
    };
    assert!(!recording.is_complete());
    let blocks = blocks(&recording);
    let Some(last) = blocks.last().and_then(|block| block.ticks.last()) else {
        assert!(wait < 2300, "no tick after {wait} ms");
        return;
    };
    let lost = killed - last.begin;
    assert!(lost <= 5_000_000_000, "killed after {wait} ms it lost {} ms", lost / 1_000_000);
    let numbered: u64 = blocks.iter().map(|block| block.ticks.len() as u64).sum();
    assert_eq!(numbered, recording.ticks().unwrap());
    if wait >= A_SEGMENT {
        assert!(blocks.len() >= 2, "a closed segment and what came after");
    }
    let pgfault = recording.series().iter().find(|series| series.name == "pgfault").expect("its series are there, too");
    let seen: Vec<u64> = blocks.iter().flat_map(|block| block.values(pgfault).map(|(_, value)| value)).collect();
    assert!(seen.len() as u64 == numbered && seen.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn a_full_disk_ends_the_recording_with_a_reason_and_not_the_job() {
    requires!(root);
    let _host = host_lock();
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    // In a namespace of its own: nothing has to be unmounted, whatever happens. What is sampled is on the disk within 2.3 s.
    let script = "mount -t tmpfs -o size=400k none disk && cd disk && \
                  \"$0\" record --json --hz 20 -o a.pgw -- \
                  sh -c 'sleep 3; head -c 10000000 /dev/zero > fill; sleep 5; exit 3' \
                  > ../summary; code=$?; rm -f fill; cp a.pgw* .. ; exit $code";
    let binary = Command::cargo_bin("pagewise").unwrap();
    let status = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(binary.get_program())
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3), "the job's own status");
    let summary: Value = serde_json::from_slice(&std::fs::read(folder.path().join("summary")).unwrap()).unwrap();
    assert!(summary["ended"].as_str().is_some_and(|reason| reason.contains("full")), "{summary}");
    assert_eq!(summary["complete"], false);
    let recording = Recording::open(&folder.path().join("a.pgw")).unwrap();
    assert!(!recording.is_complete());
    assert!(!blocks(&recording).is_empty(), "what was written before can be read");
}
