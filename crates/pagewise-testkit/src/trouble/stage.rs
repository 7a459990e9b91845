//! Where trouble is made: bounded in time and in memory, with things that go away by themselves.

use super::Severity;
use pagewise_host::cgroup::{self, MemoryCgroup, Version};
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::source::meminfo;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// `ID,SEVERITY,SECONDS`: what to make.
pub(super) const ASKED: &str = "PAGEWISE_TROUBLE";

/// The file into which a generator says that it is ready, or what went wrong.
pub(super) const SAYS: &str = "PAGEWISE_TROUBLE_SAYS";

/// What the file says once the trouble is there.
pub(super) const READY: &str = "ready";

/// Set-up may take this long: a virtual machine gets memory from its host at first touch, at some 200 MiB/s.
const SET_UP_WITHIN: Duration = Duration::from_secs(170);

/// A generator stops when less than this is available; shortage is not what most of them are about.
pub(super) const LEAST_AVAILABLE: u64 = 3 << 30;

/// For those that are about it.
const LEAST_WHEN_SHORT: u64 = 3 << 29;

/// Below this the generator ends on the spot: the host must not come near its OOM killer.
const EMERGENCY: u64 = 1 << 30;

const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Names of what a killed generator may leave begin so, with its pid behind.
pub(super) const LEFT: &str = "pagewise-trouble-";

/// Bounds of one trouble.
#[derive(Clone, Debug)]
pub struct Stage {
    seconds: u32,
    opened: Instant,
    /// Milliseconds after `opened` at which it ends.
    ends: Arc<AtomicU64>,
    least: Arc<AtomicU64>,
    /// Ctrl-C, or the runner, which has been told to stop.
    interrupt: Interrupt,
}

pub(super) fn parse(asked: &str) -> Result<(&str, Severity, u32), String> {
    let wrong = || format!("{ASKED}={asked} is not ID,SEVERITY,SECONDS");
    let mut parts = asked.split(',');
    let (id, severity) = (parts.next().ok_or_else(wrong)?, parts.next().ok_or_else(wrong)?.parse()?);
    let seconds = parts.next().and_then(|seconds| seconds.parse().ok()).ok_or_else(wrong)?;
    Ok((id, severity, seconds))
}

impl Stage {
    /// Opens it for a trouble that lasts `seconds` once it is ready, unless it is interrupted, and watches memory from now on.
    ///
    /// # Errors
    /// When available memory cannot be read.
    pub(super) fn open(seconds: u32, interrupt: Interrupt) -> io::Result<Stage> {
        let within = SET_UP_WITHIN.as_millis() as u64;
        let stage = Stage {
            seconds,
            opened: Instant::now(),
            ends: Arc::new(AtomicU64::new(within)),
            least: Arc::new(AtomicU64::new(LEAST_AVAILABLE)),
            interrupt,
        };
        available()?;
        let watched = stage.clone();
        std::thread::spawn(move || watched.watch());
        Ok(stage)
    }

    fn watch(&self) {
        loop {
            let left = available().unwrap_or(0);
            if left < EMERGENCY {
                say(&format!("only {} MiB were available, so it ended at once", left >> 20));
                std::process::exit(3);
            }
            if left < self.least.load(Ordering::Relaxed) && self.goes_on() {
                say(&format!("only {} MiB were available, so it stopped", left >> 20));
                self.ends.store(0, Ordering::Relaxed);
            }
            std::thread::sleep(CHECK_EVERY);
        }
    }

    /// Shortage is the point of this one: half as much must stay available.
    pub fn is_about_shortage(&self) {
        self.least.store(LEAST_WHEN_SHORT, Ordering::Relaxed);
    }

    /// The trouble is there: recording may begin. It ends `seconds` and a little later.
    pub fn ready(&self) {
        let margin = Duration::from_secs(u64::from(self.seconds) + 3);
        if self.goes_on() {
            self.ends.store((self.opened.elapsed() + margin).as_millis() as u64, Ordering::Relaxed);
            say(READY);
        }
    }

    /// How long the trouble lasts once it is ready.
    #[must_use]
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Until the time is up, or memory is, or somebody stops it.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !self.interrupt.is_set() && (self.opened.elapsed().as_millis() as u64) < self.ends.load(Ordering::Relaxed)
    }

    /// Waits, but not beyond the end.
    pub fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        while self.goes_on() && Instant::now() < until {
            std::thread::sleep(until.saturating_duration_since(Instant::now()).min(CHECK_EVERY));
        }
    }

    /// Ready, and nothing more to do than to stay.
    pub fn stay(&self) {
        self.ready();
        while self.goes_on() {
            std::thread::sleep(CHECK_EVERY);
        }
    }

    /// Says that it is ready and does `step` over and over in that many threads, each at work for `percent` of the time.
    ///
    /// # Errors
    /// The first step that failed before the end.
    pub fn work(&self, threads: usize, percent: u32, step: impl Fn(usize) -> io::Result<()> + Sync) -> io::Result<()> {
        self.ready();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|index| {
                    let step = &step;
                    scope.spawn(move || {
                        while self.goes_on() {
                            let begun = Instant::now();
                            match step(index) {
                                // It was cut short because the time is up, as it should be.
                                Err(_) if !self.goes_on() => break,
                                outcome => outcome?,
                            }
                            if percent < 100 {
                                self.pause(begun.elapsed() * (100 - percent) / percent.max(1));
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
        })
    }

    /// A file without a name on a disk: it goes with the process.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn file(&self) -> io::Result<File> {
        tempfile::tempfile_in(folder())
    }

    pub(super) fn failed(&self, why: &str) -> String {
        say(why);
        why.to_owned()
    }
}

/// On a disk, unlike many a `/tmp`.
pub(super) fn folder() -> PathBuf {
    PathBuf::from("/var/tmp")
}

fn say(words: &str) {
    if let Some(file) = std::env::var_os(SAYS) {
        use std::io::Write;
        let opened = fs::OpenOptions::new().create(true).append(true).open(file);
        let _ = opened.and_then(|mut file| writeln!(file, "{words}"));
    }
}

/// Bytes that could be had without swapping.
pub(super) fn available() -> io::Result<u64> {
    let memory = meminfo::read(&Root::live()).map_err(io::Error::other)?;
    meminfo::available(&memory).ok_or_else(|| io::Error::other("/proc/meminfo does not tell what is available"))
}

/// All memory of the host in bytes.
pub(super) fn total() -> io::Result<u64> {
    let memory = meminfo::read(&Root::live()).map_err(io::Error::other)?;
    memory.get("MemTotal").copied().ok_or_else(|| io::Error::other("/proc/meminfo does not tell MemTotal"))
}

/// CPUs this process may use.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A memory cgroup of our own with this process in it; on drop the process goes back and the group is removed.
#[derive(Debug)]
pub(super) struct Cgroup {
    home: PathBuf,
    own: PathBuf,
}

impl Cgroup {
    /// Moves this process into a child of its memory cgroup with that limit in bytes.
    pub(super) fn enter(limit: u64) -> io::Result<Cgroup> {
        let parent = parent()?;
        let file = if parent.version == Version::V1 { "memory.limit_in_bytes" } else { "memory.max" };
        Cgroup::with(&parent, file, &limit.to_string())
    }

    /// Where each group has a swappiness of its own (version 1), moves this process into one that has the host's.
    pub(super) fn with_swappiness_of_host() -> io::Result<Option<Cgroup>> {
        let parent = parent()?;
        if parent.version != Version::V1 {
            return Ok(None);
        }
        let host = fs::read_to_string("/proc/sys/vm/swappiness")?;
        Cgroup::with(&parent, "memory.swappiness", host.trim()).map(Some)
    }

    fn with(parent: &MemoryCgroup, file: &str, value: &str) -> io::Result<Cgroup> {
        let root = Root::live();
        let home = cgroup::own_memory_cgroup(&root).map_err(io::Error::other)?;
        let own = root.path(&parent.folder).join(format!("{LEFT}{}", std::process::id()));
        fs::create_dir(&own)?;
        let cgroup = Cgroup { home: root.path(&home.folder), own };
        fs::write(cgroup.own.join(file), value)?;
        fs::write(cgroup.own.join("cgroup.procs"), "0")?;
        Ok(cgroup)
    }
}

/// The memory cgroup below which ours are made.
fn parent() -> io::Result<MemoryCgroup> {
    cgroup::parent_of_children(&Root::live()).map_err(io::Error::other)
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::write(self.home.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.own);
    }
}

/// Removes what generators left that were killed. Those of living processes stay.
pub(super) fn sweep() {
    let mut places = vec![folder()];
    if let Ok(parent) = parent() {
        places.push(Root::live().path(&parent.folder));
    }
    for entry in places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(LEFT).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read_and_nonsense_refused() {
        assert_eq!(parse("swap-thrash,mild,20"), Ok(("swap-thrash", Severity::Mild, 20)));
        for nonsense in ["", "swap-thrash", "swap-thrash,bad,20", "swap-thrash,mild", "swap-thrash,mild,long"] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_stage_ends_by_itself_and_all_its_workers_with_it() {
        let stage = Stage::open(0, Interrupt::default()).unwrap();
        stage.ends.store(0, Ordering::Relaxed);
        assert!(!stage.goes_on());
        let begun = Instant::now();
        stage.pause(Duration::from_secs(60));
        stage.work(2, 100, |_| Ok(())).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_stage_that_is_interrupted_ends_in_the_middle_of_its_work() {
        let interrupt = Interrupt::default();
        let stage = Stage::open(60, interrupt.clone()).unwrap();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                interrupt.set();
            });
            let step = |_| {
                std::thread::sleep(Duration::from_millis(10));
                Ok(())
            };
            stage.work(2, 1, step).unwrap();
            stage.stay();
        });
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
