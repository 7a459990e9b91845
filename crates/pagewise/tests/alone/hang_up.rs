//! What fills the screen ends with its terminal, and with SIGTERM whatever was pressed; what records goes on where that was
//! asked for.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::Terminal;
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longer than any step takes, also on a host that is busy.
const SOON: Duration = Duration::from_secs(60);

/// What was promised to whoever closes a terminal.
const WITHIN: Duration = Duration::from_secs(2);

fn pagewise() -> String {
    Command::cargo_bin("pagewise").unwrap().get_program().to_str().unwrap().to_owned()
}

/// A copy of a committed bundle: to read a database may leave files beside it.
fn bundle() -> (tempfile::TempDir, PathBuf) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/live/healthy.trial");
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().to_owned();
    (folder, path)
}

/// Started as `nohup` starts a program: closing the terminal sends it a signal that it does not see.
fn started(args: &[&str], is_deaf: bool) -> Terminal {
    let pagewise = pagewise();
    let script = if is_deaf { "trap '' HUP; exec \"$@\"" } else { "exec \"$@\"" };
    let terminal = Terminal::start(
        Path::new("/bin/sh"),
        &[&["-c", script, "sh", pagewise.as_str()], args].concat(),
        &[],
        (80, 24),
    );
    terminal.wait_for(SOON, "the first picture", |screen| screen.contains("q quit"));
    terminal
}

#[test]
fn top_and_a_watched_status_end_when_their_terminal_is_closed() {
    let (_folder, bundle) = bundle();
    let status = ["trial", "status", "--watch", bundle.to_str().unwrap()];
    let verbs: [&[&str]; 2] = [&["top", "--stacks", "0"], &status];
    for args in verbs {
        for is_deaf in [false, true] {
            let code = started(args, is_deaf).hang_up(WITHIN);
            assert_eq!(code, Some(130), "{args:?}, SIGHUP ignored: {is_deaf}");
        }
    }
}

#[test]
fn sigterm_ends_them_also_in_the_middle_of_a_key_and_the_terminal_is_as_it_was() {
    let (_folder, bundle) = bundle();
    let status = ["trial", "status", "--watch", bundle.to_str().unwrap()];
    let verbs: [&[&str]; 2] = [&["top", "--stacks", "0"], &status];
    for args in verbs {
        let terminal = started(args, true);
        // What no key sends alone: its end may be on its way, or never come.
        terminal.press("\u{1b}[");
        std::thread::sleep(Duration::from_millis(200));
        let asked = std::time::Instant::now();
        terminal.signal(Signal::TERM);
        let left = terminal.wait();
        assert!(asked.elapsed() < WITHIN, "{args:?} took {:?}", asked.elapsed());
        assert_eq!(left.code, Some(130), "{}", left.screen);
        assert!(left.is_restored(), "{left:?}");
    }
}

#[test]
fn a_recording_under_nohup_goes_on_when_the_terminal_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    // Whoever runs the tests may be under nohup, and a shell cannot take that back.
    let with_default = "exec env --default-signal=HUP \"$@\"";
    for (script, is_whole) in [("trap '' HUP; exec \"$@\"", true), (with_default, false)] {
        let file = folder.path().join(format!("{is_whole}.pgw"));
        let mut record = Command::new("/bin/sh");
        record.args(["-c", script, "sh"]).arg(pagewise()).args(["record", "--for", "4s", "-o"]).arg(&file);
        let mut record = record.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let has_begun = || file.exists();
        for _ in 0..600 {
            if has_begun() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(has_begun(), "the recording never began");
        let pid = rustix::process::Pid::from_child(&record);
        rustix::process::kill_process(pid, Signal::HUP).unwrap();
        let ended = record.wait().unwrap();
        assert_eq!(ended.code(), Some(if is_whole { 0 } else { 130 }), "signal {:?}", ended.signal());
    }
}
