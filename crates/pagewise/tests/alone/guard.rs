//! The guard on this host, beside a real stream: it takes page cache before kswapd does, costs what it says, and leaves nothing
//! behind when it is killed.

use crate::committed;
use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn pagewise(desk: &TempDir) -> Command {
    // What takes long is run from the release build.
    let mut command = match std::env::var_os("PAGEWISE_BINARY") {
        Some(program) => Command::new(program),
        None => Command::cargo_bin("pagewise").unwrap(),
    };
    command.args(["--state-dir", "state", "--cache-dir", "cache"]).current_dir(desk.path()).stdin(Stdio::null());
    command
}

/// A stencil beside a stream that fills memory, ended with the test.
struct Stream(Child);

impl Stream {
    fn start(desk: &TempDir, access: &str) -> Stream {
        Stream::of(desk, &["steps=20000", "folios=small", &format!("access={access}"), "rate=400M", "available=4G"])
    }

    fn of(desk: &TempDir, args: &[&str]) -> Stream {
        let mut command = pagewise(desk);
        command
            .args(["workload", "jitter", "run", "victim=stencil", "stream=buffered", "warmup=1", "probe=off"])
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut stream = Stream(command.spawn().unwrap());
        let began = Instant::now();
        while !is_running("\"stencil\"") {
            // As long as the workload itself has patience: memory that a hypervisor took back comes at ten seconds a GiB on a bad day.
            assert!(began.elapsed() < Duration::from_secs(400), "the stream did not become steady");
            assert!(stream.0.try_wait().unwrap().is_none(), "the stream ended before it was steady");
            thread::sleep(Duration::from_millis(100));
        }
        stream
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let began = Instant::now();
        while is_running("__jitter") && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The command line of every process.
fn command_lines() -> impl Iterator<Item = String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.map(|one| fs::read_to_string(one.path().join("cmdline")).unwrap_or_default())
}

fn is_running(word: &str) -> bool {
    command_lines().any(|line| line.contains("__jitter") && line.contains(word))
}

fn counter(name: &str) -> u64 {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap();
    let value = vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0)
}

fn guarded(desk: &TempDir, args: &[&str]) -> Value {
    let output = pagewise(desk).args(["--json", "guard"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!((0.0..told["seconds"].as_f64().unwrap()).contains(&told["kswapd"].as_f64().unwrap()), "{told}");
    told["domains"][0].clone()
}

#[test]
fn it_takes_what_a_stream_leaves_and_nothing_once_it_is_gone() {
    requires!(root, node_reclaim);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let swapped_out = counter("pswpout");

    let stream = Stream::start(&desk, "read");
    let advised = guarded(&desk, &["advise", "--for", "4s"]);
    assert_eq!(advised["taken"], 0, "{advised}");
    let streams = advised["streams"].as_array().unwrap();
    assert!(
        streams.iter().any(|who| who["path"].as_str().unwrap().starts_with('/')),
        "it tells who streams: {advised}"
    );
    let before = counter("pgsteal_proactive");
    let done = guarded(&desk, &["run", "--for", "12s"]);
    let taken = done["taken"].as_f64().unwrap();
    // 400 MB/s come in; it begins late, and the kernel is watched at it first.
    assert!(taken > 1e9, "{done}");
    let behind = done["taken_behind_streams"].as_f64().unwrap();
    assert!(behind > 0.8 * taken, "the stream has one file, and goes through it in order: {done}");
    let reclaimed = (counter("pgsteal_proactive") - before) as f64 * 4096.0;
    assert!(reclaimed >= (taken - behind) * 0.9, "the kernel counted less: {done}");
    assert!(done["cpu"].as_f64().unwrap() < 0.6 * done["seconds"].as_f64().unwrap(), "beyond its cap: {done}");

    let mut killed =
        pagewise(&desk).args(["guard", "run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_secs(3));
    killed.kill().unwrap();
    killed.wait().unwrap();
    drop(stream);

    // The middle one of three in a row: time for which a hypervisor lets this CPU stand still is counted as the guard's, and for a minute
    // what the stream held may keep the hypervisor busy.
    let mut of_a_core: Vec<f64> = Vec::new();
    loop {
        let rest = guarded(&desk, &["run", "--for", "5s"]);
        let of = |name: &str| rest[name].as_f64().unwrap();
        assert!(of("taken") == 0.0 && of("asked") == 0.0, "{rest}");
        assert!(of("samples") <= of("seconds") + 3.0, "it looks once a second: {rest}");
        of_a_core.push(of("cpu") / of("seconds"));
        if let Some(last_three) = of_a_core.last_chunk::<3>() {
            let mut sorted = *last_three;
            sorted.sort_by(f64::total_cmp);
            if sorted[1] < 0.005 {
                break;
            }
        }
        assert!(of_a_core.len() < 12, "of a core at rest: {of_a_core:?}");
    }
    assert_eq!(counter("pswpout"), swapped_out);
}

/// What the kernel had to do in so many seconds.
#[derive(Debug, Serialize, Deserialize)]
struct Kernel {
    seconds: f64,
    kswapd_runs: u64,
    direct_reclaims: u64,
    bytes_read: u64,
}

impl Kernel {
    fn during(seconds: f64, each: &mut dyn FnMut()) -> Kernel {
        let totals = || {
            let direct =
                ["dma", "dma32", "normal", "movable"].iter().map(|zone| counter(&format!("allocstall_{zone}")));
            [counter("pageoutrun"), direct.sum(), counter("pgpgin") << 10]
        };
        let (began, before) = (Instant::now(), totals());
        while began.elapsed().as_secs_f64() < seconds {
            thread::sleep(Duration::from_secs(1));
            each();
        }
        let [kswapd_runs, direct_reclaims, bytes_read] =
            std::array::from_fn(|place| totals()[place].saturating_sub(before[place]));
        Kernel { seconds: began.elapsed().as_secs_f64(), kswapd_runs, direct_reclaims, bytes_read }
    }
}

/// What a guard holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Holds {
    resident_kib: u64,
    files: usize,
    /// Page faults so far, of all its threads.
    faults: u64,
}

impl Holds {
    fn of(pid: u32) -> Holds {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next());
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name: state, parent, group, session, terminal, its group, flags, then minor faults.
        let faults = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(7));
        Holds {
            resident_kib: resident.and_then(|number| number.parse().ok()).unwrap_or_default(),
            files: fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count),
            faults: faults.and_then(|number| number.parse().ok()).unwrap_or_default(),
        }
    }
}

/// What is kept in `bench/long/guard-hour.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Hour {
    date: String,
    stream: Vec<String>,
    alone_before: Kernel,
    guarded: Kernel,
    alone_after: Kernel,
    guard: Value,
    /// Once it had begun, at its end, and the most in between, read once a second.
    holds_first: Holds,
    holds_last: Holds,
    holds_most: Holds,
    swapped_out: u64,
}

/// Two minutes of the kernel alone, the guard for as many minutes as are asked for, two minutes of the kernel alone.
#[test]
fn a_guard_that_runs_for_long_grows_nowhere_and_the_kernel_has_little_to_do() {
    requires!(root, node_reclaim);
    let Some(minutes) = std::env::var("PAGEWISE_GUARD_MINUTES").ok().and_then(|text| text.parse::<u32>().ok()) else {
        let kept: Hour = committed::read("guard-hour.json", "test-hour");
        return judge(&kept);
    };
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let args = ["steps=1000000", "ranks=all-but-one", "folios=small", "access=read", "rate=600M", "available=4G"];
    let alone = if minutes < 10 { 20.0 } else { 120.0 };
    let swapped_out = counter("pswpout");

    let stream = Stream::of(&desk, &args);
    let alone_before = Kernel::during(alone, &mut || {});
    let seconds = 60 * minutes;
    let mut command = pagewise(&desk);
    command.args(["--json", "guard", "run", "--for", &format!("{}s", seconds + 10)]);
    let guard = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    thread::sleep(Duration::from_secs(5));
    let (mut holds_last, mut holds_most) = (Holds::of(guard.id()), Holds::default());
    let holds_first = holds_last;
    let guarded = Kernel::during(f64::from(seconds), &mut || {
        holds_last = Holds::of(guard.id());
        holds_most.resident_kib = holds_most.resident_kib.max(holds_last.resident_kib);
        holds_most.files = holds_most.files.max(holds_last.files);
        holds_most.faults = holds_last.faults;
    });
    let output = guard.wait_with_output().unwrap();
    assert!(output.status.success());
    let guard = serde_json::from_slice::<Value>(&output.stdout).unwrap()["domains"][0].clone();
    let alone_after = Kernel::during(alone, &mut || {});
    drop(stream);
    let hour = Hour {
        date: committed::today(),
        stream: args.map(str::to_owned).to_vec(),
        alone_before,
        guarded,
        alone_after,
        guard,
        holds_first,
        holds_last,
        holds_most,
        swapped_out: counter("pswpout") - swapped_out,
    };
    committed::write("guard-hour.json", &hour);
    judge(&hour);
}

fn judge(hour: &Hour) {
    let Hour { guarded, guard, holds_first, holds_last, holds_most, .. } = hour;
    let a_minute = |kernel: &Kernel| (kernel.kswapd_runs + kernel.direct_reclaims) as f64 * 60.0 / kernel.seconds;
    let alone = (a_minute(&hour.alone_before) + a_minute(&hour.alone_after)) / 2.0;
    // Where it finds that every GiB costs more with it than without, it leaves memory to the kernel, which is no worse then.
    let with = a_minute(guarded);
    assert!(with <= alone, "the kernel reclaimed {with} times a minute, {alone} without: {hour:#?}");
    let of = |name: &str| guard[name].as_f64().unwrap();
    let explained: f64 = ["left_to_kernel", "for_blocks", "while_watching", "woken_late"].map(of).iter().sum();
    let unexplained = (of("too_late") - explained) * 60.0 / of("seconds");
    assert!(unexplained < 0.05 * alone, "{unexplained} times a minute nobody knows why: {hour:#?}");
    assert!(holds_last.resident_kib <= holds_first.resident_kib + 64, "it grew: {hour:#?}");
    assert!(holds_most.resident_kib <= holds_first.resident_kib + 1024, "{hour:#?}");
    assert!(holds_most.files <= holds_first.files + 4, "{hour:#?}");
    assert!(of("cpu") < 0.6 * of("seconds"), "{hour:#?}");
    assert_eq!(hour.swapped_out, 0);
}

#[test]
fn what_a_stream_maps_is_taken_only_when_the_kernel_finds_it_old() {
    requires!(root, node_reclaim);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let stream = Stream::start(&desk, "mmap");
    let swapped_out = counter("pswpout");
    let faults_in = |during: &dyn Fn() -> Value| {
        let before = counter("pgmajfault");
        (during(), counter("pgmajfault") - before)
    };
    let (_, alone) = faults_in(&|| {
        thread::sleep(Duration::from_secs(10));
        Value::Null
    });
    let (done, guarded) = faults_in(&|| self::guarded(&desk, &["run", "--for", "10s"]));
    assert_eq!(done["taken_behind_streams"], 0, "no file is taken from that is mapped: {done}");
    assert!(guarded <= 2 * alone + 200, "{guarded} major faults beside it, {alone} before: {done}");
    assert!(done["cpu"].as_f64().unwrap() < 0.6 * done["seconds"].as_f64().unwrap(), "beyond its cap: {done}");
    assert_eq!(counter("pswpout"), swapped_out);
    drop(stream);
}

/// Processes that hold a guard.
fn holders() -> usize {
    command_lines().filter(|line| line.starts_with("pagewise\0__keep\0guard\0")).count()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(90), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn as_a_level_of_a_trial_it_is_there_in_its_own_runs_and_ends_with_whoever_held_it() {
    requires!(root, node_reclaim);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let counts = "grep -lzx __k[e]ep /proc/[0-9]*/cmdline 2>/dev/null | wc -l >> $COUNTS";
    let proves = |args: &[&str], job: &[&str]| {
        let mut command = pagewise(&desk);
        // Of a run of 20 ms one stolen tick is a quarter.
        command.args(["prove", "--warmup", "0", "--steal-limit", "100%"]).args(args).arg("--").args(job);
        command
    };
    let counted = |level: &str| {
        let text = fs::read_to_string(desk.path().join(level)).unwrap_or_default();
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let with_file =
        ["--a", "guard=off,env.COUNTS=../off", "--b", "guard=on(batch=0.5s),env.COUNTS=../on", "--pairs", "4"];
    let at = desk.path().to_string_lossy().into_owned();
    let with_file: Vec<String> = with_file.iter().map(|word| word.replace("..", &at)).collect();
    let with_file: Vec<&str> = with_file.iter().map(String::as_str).collect();
    let proved = proves(&with_file, &["sh", "-c", counts]).output().unwrap();
    assert!(proved.status.success(), "{}:\n{}", proved.status, String::from_utf8_lossy(&proved.stderr));
    // Four runs of each; on a host that others use some are run again.
    for (level, wanted) in [("off", "0"), ("on", "1")] {
        let holders = counted(level);
        assert!(holders.len() >= 4 && holders.iter().all(|count| count == wanted), "{level}: {holders:?}");
    }
    assert_eq!(holders(), 0);

    let args = ["--aa", "guard=on", "--pairs", "4", "--name", "killed"];
    let mut killed = proves(&args, &["sleep", "30"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("no guard was held", || holders() == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    until("the guard outlived its trial", || holders() == 0);
}

/// A cgroup with a limit below ours (version 1), and a process that streams a file in it; both gone with the test.
struct LimitedStream {
    folder: PathBuf,
    reader: Option<Child>,
}

const LIMIT: u64 = 512 << 20;

impl LimitedStream {
    /// `None` where memory cgroups are of version 2, or none can be made.
    fn start(desk: &TempDir, name: &str) -> Option<LimitedStream> {
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = membership.lines().find_map(|line| line.split_once(":memory:")).map(|(_, path)| path.to_owned())?;
        let folder = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/')).join(name);
        fs::create_dir(&folder).ok()?;
        let mut limited = LimitedStream { folder, reader: None };
        fs::write(limited.folder.join("memory.limit_in_bytes"), LIMIT.to_string()).ok()?;
        let file = desk.path().join("stream");
        File::create(&file).unwrap().set_len(16 << 30).unwrap();
        // Some 600 MiB a second: who takes it rests after every eighth.
        let script = "echo $$ > \"$1/cgroup.procs\"; while :; do cat \"$2\"; done | \
                      while dd bs=1M count=8 iflag=fullblock of=/dev/null 2>/dev/null; do sleep 0.01; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "stream"]).arg(&limited.folder).arg(&file).stdin(Stdio::null());
        limited.reader = Some(shell.spawn().unwrap());
        Some(limited)
    }

    fn limit_met(&self) -> u64 {
        fs::read_to_string(self.folder.join("memory.failcnt")).unwrap().trim().parse().unwrap()
    }

    fn usage(&self) -> u64 {
        fs::read_to_string(self.folder.join("memory.usage_in_bytes")).unwrap().trim().parse().unwrap()
    }
}

impl Drop for LimitedStream {
    fn drop(&mut self) {
        let began = Instant::now();
        let processes = || fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        while !processes().is_empty() && began.elapsed() < Duration::from_secs(10) {
            let pids = processes();
            for pid in pids.lines().filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?)) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            let _ = self.reader.as_mut().map(Child::wait);
        }
        while fs::remove_dir(&self.folder).is_err() && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_cgroup_is_kept_away_from_its_limit_and_the_guard_says_so_to_who_asks() {
    requires!(root, node_reclaim);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir_in("/var/tmp").unwrap();
    let name = format!("pagewise-test-{}", std::process::id());
    let Some(stream) = LimitedStream::start(&desk, &name) else { return };
    until("the stream did not fill its cgroup", || stream.usage() > LIMIT - (16 << 20));
    let met_in = |time: u64| {
        let before = stream.limit_met();
        thread::sleep(Duration::from_secs(time));
        stream.limit_met() - before
    };
    let unguarded = met_in(5);
    assert!(unguarded > 100, "it meets its limit: {unguarded}");

    // Whatever its file is called.
    let (asked, other_name) = (pagewise(&desk), desk.path().join("keeper"));
    std::os::unix::fs::symlink(asked.get_program(), &other_name).unwrap();
    let mut command = Command::new(other_name);
    command.args(asked.get_args()).args(["guard", "run", "--cgroup", &name]).current_dir(desk.path());
    let mut guard = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = guard.id();
    let status = || -> Value {
        let output = pagewise(&desk).args(["--json", "guard", "status"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of_guard = |status: &Value| -> Value {
        let guards = status["guards"].as_array().unwrap();
        guards.iter().find(|one| one["pid"] == pid).cloned().unwrap_or_default()
    };
    let taken = |status: &Value| of_guard(status)["domains"][0]["done"]["taken"].as_u64().unwrap_or(0);
    until("nothing was taken", || taken(&status()) > 256 << 20);
    let guarded = met_in(5);
    // One that was left to the kernel for half a second meanwhile is no failure.
    assert!(guarded < unguarded / 2, "{guarded} times after {unguarded}");
    let told = of_guard(&status());
    let domain = &told["domains"][0];
    assert!(domain["domain"]["cgroup"].as_str().is_some_and(|path| path.ends_with(&name)), "{told}");
    assert!(domain["streams"].to_string().contains("/stream"), "{told}");

    drop(stream);
    until("a cgroup that is gone is still told of", || of_guard(&status())["domains"] == Value::Array(Vec::new()));
    assert!(guard.try_wait().unwrap().is_none(), "it waits for the next");
    guard.kill().unwrap();
    guard.wait().unwrap();
    assert_eq!(of_guard(&status()), Value::Null);
}

#[test]
fn a_cgroup_that_comes_and_goes_a_thousand_times_is_survived() {
    requires!(root);
    let desk = tempfile::tempdir_in("/var/tmp").unwrap();
    let name = format!("pagewise-test-{}-", std::process::id());
    let Some(first) = LimitedStream::start(&desk, &format!("{name}first")) else { return };
    let parent = first.folder.parent().unwrap().to_owned();
    let mut guard = pagewise(&desk)
        .args(["guard", "run", "--cgroup", &format!("{name}*")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let open = || fs::read_dir(format!("/proc/{}/fd", guard.id())).map_or(0, Iterator::count);
    until("the guard did not begin", || open() > 3);
    for turn in 0..1000 {
        let folder = parent.join(format!("{name}{turn}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("memory.limit_in_bytes"), "64M").unwrap();
        if turn % 100 == 0 {
            thread::sleep(Duration::from_millis(1100));
        }
        fs::remove_dir(&folder).unwrap();
    }
    let with_all = open();
    until("files of cgroups that are gone stay open", || open() <= with_all.min(40));
    assert!(guard.try_wait().unwrap().is_none(), "it ended");
    guard.kill().unwrap();
    guard.wait().unwrap();
}
