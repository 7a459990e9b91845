//! `pagewise hugepages` on processes that run: what the kernel says they hold before and after, and what is refused.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{host_lock, requires};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn hugepages(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.arg("hugepages").args(args).stdin(Stdio::null());
    command
}

fn told(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A process with a text of 64 MiB on small pages. It ends with the test; a line makes it say the checksum of its text, `exec` makes it another program.
struct Holder {
    child: Child,
    answers: BufReader<ChildStdout>,
    asks: ChildStdin,
}

const HELD: u64 = 64 << 20;

impl Holder {
    fn start() -> Holder {
        Holder::of("$some x 1024")
    }

    /// With another text, made of 64 KiB of random bytes.
    fn of(text: &str) -> Holder {
        let script = r#"$| = 1; srand(7); my $some = join("", map { chr(int(rand(256))) } 1 .. 65536); my $text = TEXT;
            print "ready\n"; while (<STDIN>) { exec("sleep", "60") if /exec/; print unpack("%32C*", $text), "\n" }"#;
        let mut command = Command::new("perl");
        command.args(["-e", &script.replace("TEXT", text)]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let asks = child.stdin.take().unwrap();
        let mut holder = Holder { answers: BufReader::new(child.stdout.take().unwrap()), child, asks };
        assert_eq!(holder.answer(), "ready");
        assert!(
            holder.huge() < HELD / 2,
            "this host gives huge pages unasked (thp.enabled=always): set it to madvise for this test"
        );
        holder
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn checksum(&mut self) -> String {
        writeln!(self.asks, "sum").unwrap();
        self.answer()
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// What the kernel says.
    fn huge(&self) -> u64 {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id())).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("AnonHugePages:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_a_process_holds_lies_on_huge_pages_afterwards_and_is_the_same() {
    requires!(root);
    // Nobody else may change what the host gives unasked.
    let _lock = host_lock();
    let mut holder = Holder::start();
    let (sum, before) = (holder.checksum(), holder.huge());

    let output = hugepages(&["--json", "--pid", &holder.pid(), "--dry-run"]).output().unwrap();
    let dry: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(dry["after"].is_null() && dry["made"].is_null(), "{dry}");
    assert_eq!(holder.huge(), before, "nothing is touched");
    let planned = dry["planned"]["blocks"].as_u64().unwrap();

    let output = hugepages(&["--json", "--pid", &holder.pid()]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let grown = holder.huge() - before;
    assert_eq!(made["made"]["blocks"].as_u64().unwrap() * (2 << 20), grown, "by the kernel's own count: {made}");
    assert!(grown >= HELD * 8 / 10 && planned * (2 << 20) >= grown, "{grown} of {HELD}: {made}");
    assert!(made["after"]["huge"].as_u64().unwrap() >= grown, "{made}");
    assert_eq!(holder.checksum(), sum);

    let again = hugepages(&["--pid", &holder.pid()]).output().unwrap();
    let page = String::from_utf8(again.stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("Made huge: 0 B of"), "what is huge stays huge: {page}");
}

#[test]
fn who_holds_memory_on_small_pages_is_listed() {
    requires!(root);
    let _lock = host_lock();
    let holder = Holder::start();
    let output = hugepages(&["--list", "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let pid: u64 = holder.pid().parse().unwrap();
    let ours = found["candidates"].as_array().unwrap().iter().find(|one| one["pid"] == pid).expect("it is listed");
    let (small, huge) = (ours["small"].as_u64().unwrap(), ours["huge"].as_u64().unwrap());
    assert!(small + huge >= HELD && small > HELD / 2 && huge == holder.huge(), "{ours}");
    assert_eq!(ours["command"], "perl");
    let page = String::from_utf8(hugepages(&["--list"]).output().unwrap().stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 80) && page.contains("--dry-run"), "{page}");
    for wrong in [&["--list", "--pid", "1"][..], &["--list", "--dry-run"], &[]] {
        assert_eq!(hugepages(wrong).output().unwrap().status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn how_much_of_what_is_huge_is_zero_is_read_and_said() {
    requires!(root);
    let _lock = host_lock();
    let zero_in = |text: &str| {
        let holder = Holder::of(text);
        assert!(hugepages(&["--pid", &holder.pid()]).output().unwrap().status.success());
        let output = hugepages(&["--json", "--pid", &holder.pid(), "--dry-run"]).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let words = hugepages(&["--pid", &holder.pid(), "--dry-run"]).output().unwrap();
        (told["zero"].clone(), String::from_utf8(words.stdout).unwrap())
    };
    let (some, words) = zero_in(r#"($some . "\0" x 65536) x 512"#);
    if some.is_null() {
        // Before Linux 6.7 it is not told which pages are huge.
        return;
    }
    // Of 32 small pages of the text 15 are zero throughout, and other memory of the program is not.
    let share = some["share"].as_f64().unwrap();
    assert!((0.38..=0.51).contains(&share) && some["read"] == some["of"], "{some}");
    assert!(words.contains("Of what lies on huge pages") && words.contains("is zero"), "{words}");
    let none = zero_in("$some x 1024").0;
    assert!(none["share"].as_f64().unwrap() < 0.02, "{none}");
}

#[test]
fn what_the_budget_does_not_hold_and_what_lies_elsewhere_is_left() {
    requires!(root);
    let _lock = host_lock();
    let holder = Holder::start();
    let before = holder.huge();
    let none = hugepages(&["--json", "--pid", &holder.pid(), "--budget", "0"]).output().unwrap();
    let none: Value = serde_json::from_slice(&none.stdout).unwrap();
    assert_eq!(none["planned"]["blocks"], 0, "{none}");
    assert!(none["planned"]["left_out"].to_string().contains("beyond-budget"), "{none}");
    let elsewhere = hugepages(&["--json", "--pid", &holder.pid(), "--at-least", "1T"]).output().unwrap();
    let elsewhere: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
    assert_eq!((&elsewhere["mappings"], holder.huge()), (&Value::from(0), before));
}

#[test]
fn a_program_that_begins_another_and_one_that_ends_are_left_alone() {
    requires!(root);
    let _lock = host_lock();
    let mut holder = Holder::start();
    let slow = ["--pid", &holder.pid(), "--rate", "4/s"];
    let begun = hugepages(&slow).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(2));
    writeln!(holder.asks, "exec").unwrap();
    let output = begun.wait_with_output().unwrap();
    let (code, error) = told(&output);
    assert!(code == Some(5) && error.contains("began another program"), "{code:?} {error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("Made huge:"), "what was made is said: {output:?}");

    let holder = Holder::start();
    let slow = ["--pid", &holder.pid(), "--rate", "4/s"];
    let begun = hugepages(&slow).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(2));
    drop(holder);
    let output = begun.wait_with_output().unwrap();
    let (code, error) = told(&output);
    assert!(code == Some(5) && error.contains("the process ended"), "{code:?} {error}");
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(made["made"]["blocks"].as_u64().unwrap() > 1 && made["after"].is_null(), "{made}");
    assert_eq!(made["made"]["ended_early"], "process-ended");
}

#[test]
fn a_rate_that_is_not_reached_is_said_with_the_reason() {
    requires!(root);
    let _lock = host_lock();
    let holder = Holder::start();
    let output = hugepages(&["--pid", &holder.pid(), "--rate", "4000/s"]).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    let made: f64 = page.split(" at ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap();
    assert_eq!(made < 3_500.0, page.contains("fewer than the 4000 of --rate"), "{page}");
}

#[test]
fn ctrl_c_ends_between_two_pages_and_says_what_was_made() {
    requires!(root);
    let _lock = host_lock();
    let holder = Holder::start();
    let slow = ["--json", "--pid", &holder.pid(), "--rate", "8/s"];
    let begun = hugepages(&slow).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(2));
    let pid = rustix::process::Pid::from_raw(begun.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let since = Instant::now();
    let output = begun.wait_with_output().unwrap();
    assert!(since.elapsed() < Duration::from_secs(2));
    assert_eq!(output.status.code(), Some(130));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["made"]["ended_early"], "interrupted");
    assert_eq!(told["made"]["blocks"].as_u64().unwrap() * (2 << 20), holder.huge(), "{told}");
}

#[test]
fn what_cannot_be_had_is_refused_in_a_line_and_nothing_is_touched() {
    requires!(root);
    let _lock = host_lock();
    let holder = Holder::start();
    let pid = holder.pid();
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let file = text.lines().find(|line| line.ends_with("perl")).and_then(|line| line.split(' ').next()).unwrap();
    for (args, code, says) in [
        (&["--pid", "0"][..], 2, "no process 0"),
        (&["--pid", "-1"], 2, "-1"),
        (&["--pid", "4194305"], 2, "no process 4194305"),
        (&["--pid", "2"], 3, "no memory of its own"),
        (&["--pid", &pid, "--range", file], 3, "nothing in the range can lie on huge pages"),
        (&["--pid", &pid, "--range", "1000-2000"], 3, "nothing in the range"),
        (&["--pid", &pid, "--range", "2000-1000"], 2, "two hexadecimal addresses"),
        (&["--pid", &pid, "--rate", "0"], 2, "adaptive"),
        (&["--pid", &pid, "--rate", "fast"], 2, "adaptive"),
        (&["--pid", &pid, "--min-present", "200%"], 2, "--min-present"),
        (&["--pid", &pid, "--dry-run", "--watch"], 2, "--watch"),
    ] {
        let (found, error) = told(&hugepages(args).output().unwrap());
        assert!(found == Some(code) && error.contains(says), "{args:?}: {found:?} {error}");
        assert!(error.lines().count() < 8, "{error}");
    }
    // Another user's, and one's own without the right.
    for (who, says) in [(["--reuid=65534", "--clear-groups"], "Run as root"), (["--bounding-set", "-all"], "")] {
        let output = Command::new("setpriv")
            .args(who)
            .args(["--inh-caps", "-all"])
            .arg(assert_cmd::cargo::cargo_bin("pagewise"))
            .args(["hugepages", "--pid", &pid])
            .output()
            .unwrap();
        let (code, error) = told(&output);
        assert!(code == Some(3) && error.contains(says) && error.contains("root"), "{who:?}: {code:?} {error}");
    }
    assert_eq!(holder.huge(), 0);
}

#[test]
fn what_was_made_huge_can_be_split_where_the_kernel_has_a_file_for_it() {
    requires!(root);
    let _lock = host_lock();
    let mut holder = Holder::start();
    let sum = holder.checksum();
    let made = hugepages(&["--pid", &holder.pid()]).output().unwrap();
    assert!(made.status.success() && holder.huge() > 0, "{made:?}");
    // The file system stays in a mount namespace of its own.
    let script = "[ -e /sys/kernel/debug/split_huge_pages ] || mount -t debugfs none /sys/kernel/debug && \
                  exec \"$0\" --json hugepages --split --pid \"$1\"";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(assert_cmd::cargo::cargo_bin("pagewise"))
        .arg(holder.pid())
        .output()
        .unwrap();
    let (code, error) = told(&output);
    if code == Some(3) && (error.contains("which is not there") || error.contains("locked down")) {
        // Not shown on such a host.
        assert!(holder.huge() > 0);
        return;
    }
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(holder.huge(), 0);
    assert_eq!(holder.checksum(), sum);
}

/// A JVM with 200 MB of old objects and a young array of 40 MB or so.
const JVM: &str = "import java.util.*;
public class Holds {
    public static void main(String[] arguments) throws Exception {
        List<byte[]> old = new ArrayList<>();
        for (int i = 0; i < 200_000; i++) old.add(new byte[984]);
        System.gc();
        List<byte[]> young = new ArrayList<>();
        for (int i = 0; i < 40_000; i++) young.add(new byte[984]);
        System.out.println(\"ready\");
        System.in.read();
        System.out.println(old.size() + young.size());
    }
}";

struct JvmHolder {
    holder: Holder,
    /// Its source; gone after it.
    _desk: tempfile::TempDir,
}

impl JvmHolder {
    fn start(java: &str, collector: &str) -> JvmHolder {
        let desk = tempfile::tempdir().unwrap();
        fs::write(desk.path().join("Holds.java"), JVM).unwrap();
        let mut command = Command::new(java);
        command.args(["-Xms600m", "-Xmx600m", "-Xmn160m", "-XX:-UseTransparentHugePages", collector, "Holds.java"]);
        command.current_dir(desk.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let asks = child.stdin.take().unwrap();
        let mut holder = Holder { answers: BufReader::new(child.stdout.take().unwrap()), child, asks };
        assert_eq!(holder.answer(), "ready", "{collector}");
        JvmHolder { holder, _desk: desk }
    }
}

#[test]
fn the_old_generation_of_a_jvm_alone_is_made_huge() {
    requires!(root, java, javac);
    let _lock = host_lock();
    let newer = ["/usr/lib/jvm/temurin-25-jdk-amd64/bin/java", "/usr/lib/jvm/java-25-openjdk-amd64/bin/java"];
    for java in newer.into_iter().filter(|java| fs::exists(java).unwrap()).chain(["java"]) {
        for collector in ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC"] {
            let mut jvm = JvmHolder::start(java, collector);
            let output = hugepages(&["--json", "--pid", &jvm.holder.pid(), "--heap", "old"]).output().unwrap();
            assert!(output.status.success(), "{java} {collector}: {output:?}");
            let told: Value = serde_json::from_slice(&output.stdout).unwrap();
            let huge = jvm.holder.huge();
            assert!((180 << 20..=230 << 20).contains(&huge), "{java} {collector}: {huge} of 200 MB old: {told}");
            writeln!(jvm.holder.asks).unwrap();
            assert_eq!(jvm.holder.answer(), "240000", "{java} {collector}");
        }
    }
    let jvm = JvmHolder::start("java", "-XX:+UseZGC");
    let (code, error) = told(&hugepages(&["--pid", &jvm.holder.pid(), "--heap", "old"]).output().unwrap());
    assert_eq!(code, Some(3), "{error}");
    let holder = Holder::start();
    let (code, error) = told(&hugepages(&["--pid", &holder.pid(), "--heap", "old"]).output().unwrap());
    assert!(code == Some(3) && error.contains("no HotSpot JVM"), "{error}");
}
