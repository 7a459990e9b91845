//! `pagewise record --stacks --stalls --flight` on this kernel: functions are found by name, real stalls are seen, what is
//! refused is a gap with a reason, and a kill loses seconds.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::{Frame, GapReason, Profile, Recorded, StackSample, StallKind};
use pagewise_host::cgroup::{self, Version};
use pagewise_host::root::Root;
use pagewise_host::store::recording::Recording;
use pagewise_testkit::{host_lock, requires};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn record(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(["record", "-o", "a.pgw"]).args(args).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn recording(folder: &Path) -> Recording {
    Recording::open(&folder.join("a.pgw")).unwrap()
}

fn profile(folder: &Path) -> Profile {
    recording(folder).profile().unwrap().expect("it was recorded")
}

/// The innermost frame and all frames of a sample.
fn frames<'a>(profile: &'a Profile, sample: &StackSample) -> Vec<&'a Frame> {
    profile.stacks.walk(sample.stack).map(|frame| &profile.stacks.frames()[frame as usize]).collect()
}

fn count(profile: &Profile, fits: impl Fn(&StackSample, &[&Frame]) -> bool) -> u64 {
    profile.samples.iter().filter(|sample| fits(sample, &frames(profile, sample))).map(|sample| sample.count).sum()
}

/// Runs for a second of CPU time of its own, when another test starts it for that.
#[test]
fn a_child_that_spins() {
    if std::env::var_os("PAGEWISE_TEST_SPINS").is_some() {
        spins_in_a_named_function();
    }
}

#[inline(never)]
fn spins_in_a_named_function() {
    let own = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    while own().tv_sec < 1 {
        // No calls inside: without optimisation anything else is a function of its own.
        let (mut left, mut mixed) = (20_000_000u64, 1u64);
        while left > 0 {
            mixed ^= mixed << 13;
            mixed ^= mixed >> 7;
            left -= 1;
        }
        std::hint::black_box(mixed);
    }
}

#[test]
fn a_busy_function_of_a_program_is_found_by_its_name() {
    requires!(perf_host);
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let command = ["--stacks", "199", "--", this.to_str().unwrap(), "--exact", "stacks::a_child_that_spins"];
    let status =
        record(folder.path(), &command).env("PAGEWISE_TEST_SPINS", "1").stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    let profile = profile(folder.path());
    assert!(profile.event.is_some() && profile.hz == Some(199.0));
    let module = this.file_name().unwrap().to_string_lossy();
    let of_child = count(&profile, |_, frames| frames.iter().any(|frame| frame.module == module));
    let named =
        count(&profile, |_, frames| frames.iter().any(|frame| frame.name.contains("spins_in_a_named_function")));
    assert!(of_child >= 60, "{of_child} samples of a second of CPU time at 199 Hz");
    assert!(named * 2 >= of_child, "{named} of {of_child} have the function in their stack");
    let by_thread = count(&profile, |sample, _| sample.pid.is_some() && sample.comm.starts_with("stacks::a_child"));
    assert!(by_thread * 2 >= of_child, "{by_thread} have the name of the test's thread");
    assert!(profile.samples.iter().all(|sample| sample.to - sample.from == 1_000_000_000));
}

#[test]
fn a_program_that_works_in_the_kernel_shows_functions_of_the_kernel() {
    requires!(perf_host, kernel_symbols);
    let folder = tempfile::tempdir().unwrap();
    let command = ["--stacks", "199", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=60000"];
    assert!(record(folder.path(), &command).status().unwrap().success());
    let profile = profile(folder.path());
    let of_dd = count(&profile, |sample, _| sample.comm == "dd");
    let read = count(&profile, |sample, frames| {
        sample.comm == "dd" && frames.iter().any(|frame| frame.is_kernel() && frame.name.contains("read"))
    });
    assert!(of_dd > 20 && read * 2 >= of_dd, "{read} of {of_dd} are in a read");
    let gaps = recording(folder.path()).gaps().to_vec();
    assert!(gaps.iter().all(|gap| gap.source.as_deref() != Some("symbols")), "{gaps:?}");
}

/// A loop in machine code that this program writes into memory, as a runtime does, and tells the name of. It runs for some
/// seconds: the name is read while it does.
const COMPILED: &str = r#"
import ctypes, mmap, os, sys
memory = mmap.mmap(-1, 4096, prot=7)
memory.write(b"\xb9\xff\xff\xff\x7f\xff\xc9\x75\xfc\xc3")
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
path = f"/tmp/perf-{os.getpid()}.map"
with open(path, "w") as map: map.write(f"{address:x} 1000 LSpinner;::forever\n")
try:
    for _ in range(int(sys.argv[1])): ctypes.CFUNCTYPE(None)(address)()
finally: os.unlink(path)
"#;

#[test]
fn what_a_runtime_compiled_has_the_name_it_tells() {
    requires!(perf_host, python);
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    // Names are read beside what is recorded: a recorder that others leave no CPU, or whose programs have much to be read first, comes to it
    // when a short one has ended.
    let named = |times: &str| {
        let folder = tempfile::tempdir().unwrap();
        let command = ["--stacks", "199", "--", "python3", "-c", COMPILED, times];
        assert!(record(folder.path(), &command).status().unwrap().success());
        let profile = profile(folder.path());
        count(&profile, |_, frames| frames.iter().any(|f| f.name == "LSpinner;::forever" && f.module == "[jit]"))
    };
    let mut counts = Vec::new();
    assert!(
        ["4", "8", "16"].into_iter().any(|times| {
            counts.push(named(times));
            counts.last() > Some(&20)
        }),
        "{counts:?}"
    );
}

#[test]
fn a_flight_recorder_that_sees_no_trouble_has_looked_at_nothing() {
    requires!(perf_host, tracepoints);
    let folder = tempfile::tempdir().unwrap();
    assert!(record(folder.path(), &["--flight", "--for", "1s"]).status().unwrap().success());
    let recording = recording(folder.path());
    for source in ["stacks", "stalls"] {
        let of: Vec<_> = recording.gaps().iter().filter(|gap| gap.source.as_deref() == Some(source)).collect();
        let waits = of.first().is_some_and(|gap| gap.reason == GapReason::Waiting);
        assert!(waits, "{source}: {of:?}");
    }
}

#[test]
fn a_flight_recorder_records_more_once_there_is_trouble_and_says_why() {
    requires!(perf_host, tracepoints);
    let folder = tempfile::tempdir().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get();
    // System time on every CPU for longer than the five seconds it is watched over, and most of it whoever else is busy here.
    let busy = "exec timeout 13 dd if=/dev/zero of=/dev/null bs=1M";
    let mut busy: Vec<_> =
        (0..4 * cpus).map(|_| Command::new("sh").args(["-c", busy]).stderr(Stdio::null()).spawn().unwrap()).collect();
    assert!(record(folder.path(), &["--flight", "--for", "14s"]).status().unwrap().success());
    busy.iter_mut().for_each(|busy| drop(busy.wait()));
    let recording = recording(folder.path());
    let marks = recording.marks().unwrap();
    let mark = marks.iter().find(|mark| mark.source == "flight").expect("a mark with the reason");
    assert!(mark.text.contains("system time") || mark.text.contains("waited for memory"), "{}", mark.text);
    let profile = profile(folder.path());
    assert!(profile.hz == Some(99.0) && !profile.samples.is_empty());
    assert!(profile.samples.iter().all(|sample| sample.to > mark.ts), "nothing was recorded before");
    let waited = recording.gaps().iter().find(|gap| gap.source.as_deref() == Some("stacks")).unwrap();
    assert!(waited.to.is_some_and(|to| to >= mark.ts), "the gap ends when looking begins: {waited:?}");
}

/// A memory cgroup of a few MiB, removed when dropped.
struct Small(std::path::PathBuf);

impl Small {
    fn new() -> Small {
        let own = cgroup::parent_of_children(&Root::live()).unwrap();
        let folder = Path::new(&own.folder).join(format!("pagewise-test-stalls-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let limit = if own.version == Version::V1 { "memory.limit_in_bytes" } else { "memory.max" };
        let small = Small(folder);
        std::fs::write(small.0.join(limit), (24 << 20).to_string()).unwrap();
        small
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_program_that_outgrows_its_cgroup_is_held_up_by_reclaim() {
    requires!(root, memory_cgroup, tracepoints);
    let _host = host_lock();
    let small = Small::new();
    let folder = tempfile::tempdir().unwrap();
    let script = format!("echo $$ > {}/cgroup.procs; exec dd if=/dev/zero of=fill bs=1M count=200", small.0.display());
    let args = ["--stalls", "--stacks", "19", "--", "sh", "-c", &script];
    assert!(record(folder.path(), &args).status().unwrap().success());
    let recording = recording(folder.path());
    let stalls = recording.stalls().unwrap().expect("it was recorded");
    let of_dd: Vec<_> = stalls.iter().filter(|row| row.kind == StallKind::CgroupReclaim && row.comm == "dd").collect();
    assert!(!of_dd.is_empty(), "{:?} {:?}", recording.gaps(), stalls.iter().map(|row| row.kind).collect::<Vec<_>>());
    assert!(
        of_dd.iter().all(|row| row.order.is_some() && row.durations.total() > 0 && row.to - row.from == 1_000_000_000)
    );
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("pagewise"), "nothing was mounted");
}

#[test]
fn a_killed_recorder_leaves_its_stacks_but_for_five_seconds() {
    requires!(perf_host);
    let folder = tempfile::tempdir().unwrap();
    let mut spins = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut recorder = record(folder.path(), &["--stacks", "99", "--stalls"]).spawn().unwrap();
    // Until the names of the kernel's functions have been read, which takes a busy host a while.
    let deadline = Instant::now() + Duration::from_secs(60);
    let has_samples = || {
        let opened = Recording::open(&folder.path().join("a.pgw")).ok();
        opened.and_then(|open| open.profile().ok().flatten()).is_some_and(|profile| !profile.samples.is_empty())
    };
    while !has_samples() {
        assert!(Instant::now() < deadline, "no samples for a minute");
        std::thread::sleep(Duration::from_millis(200));
    }
    std::thread::sleep(Duration::from_secs(5));
    recorder.kill().unwrap();
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let killed = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    recorder.wait().unwrap();
    spins.kill().unwrap();
    spins.wait().unwrap();
    let profile = profile(folder.path());
    let last = profile.samples.iter().map(|sample| sample.to).max().expect("samples");
    assert!(killed.saturating_sub(last) <= 5_000_000_000, "lost {} ms", (killed - last) / 1_000_000);
    assert!(recording(folder.path()).stalls().unwrap().is_some());
}

#[test]
fn an_ordinary_user_gets_the_commands_own_stacks_or_the_reason() {
    requires!(root, setpriv);
    let folder = tempfile::tempdir().unwrap();
    let pagewise = folder.path().join("pagewise");
    std::fs::copy(Command::cargo_bin("pagewise").unwrap().get_program(), &pagewise).unwrap();
    let permissions = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
    std::fs::set_permissions(folder.path(), permissions).unwrap();
    let args = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"];
    let mut command = Command::new("setpriv");
    command.args(args).arg(&pagewise).args(["record", "-o", "a.pgw", "--stacks", "99", "--stalls", "--"]);
    // Outside the kernel, which is all an ordinary user may see.
    command.args(["sh", "-c", "n=0; while [ $n -lt 1000000 ]; do n=$((n + 1)); done"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let recording = recording(folder.path());
    for gap in recording.gaps().iter().filter(|gap| gap.reason == GapReason::Missing) {
        let source = gap.source.as_deref().unwrap_or_default();
        if source.starts_with("stacks") || source.starts_with("stalls") {
            assert!(told.contains(&format!("not recorded ({source}): {}", gap.detail)), "{source} is refused: {told}");
        }
    }
    let gap = |source: &str| recording.gaps().iter().find(|gap| gap.source.as_deref() == Some(source));
    let stalls = gap("stalls").expect("tracepoints are not for everyone");
    assert!(stalls.detail.contains("root"), "{}", stalls.detail);
    assert!(recording.stalls().unwrap().is_none());
    let refused = gap("stacks").or(gap("stacks.others"));
    match (refused, recording.profile().unwrap()) {
        (Some(gap), None) => assert!(gap.detail.contains("CAP_PERFMON"), "{}", gap.detail),
        (Some(gap), Some(profile)) => {
            assert!(gap.detail.contains("of the command only"), "{}", gap.detail);
            assert!(count(&profile, |sample, _| sample.comm == "sh") > 0);
            assert!(count(&profile, |sample, _| sample.comm.starts_with("record-")) == 0, "we are not the command");
        }
        // kernel.perf_event_paranoid is -1 here.
        (None, profile) => assert!(profile.is_some()),
    }
}

#[test]
fn redacted_nobody_elses_names_are_in_the_file() {
    requires!(perf_host);
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secretname");
    std::fs::copy("/bin/sh", &secret).unwrap();
    let mut other = Command::new(&secret).args(["-c", "while :; do :; done"]).spawn().unwrap();
    let args = ["--stacks", "199", "--redact", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=6000"];
    let status = record(folder.path(), &args).status().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(status.success());
    let profile = profile(folder.path());
    assert!(count(&profile, |sample, _| sample.comm == "dd") > 0, "the command's own");
    assert!(count(&profile, |sample, _| sample.pid.is_none()) > 0, "somebody else was seen");
    let file = std::fs::read(folder.path().join("a.pgw")).unwrap();
    assert!(!file.windows(10).any(|bytes| bytes == b"secretname"));
}
