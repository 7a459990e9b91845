//! Who streams, and through which file: looked for by a thread of its own as long as the guard is armed, since the loop neither allocates
//! nor waits for a file system.
//!
//! A process that reads much has the file open. It is opened once more by its descriptor (`/proc/PID/fd`), for looking
//! (`cachestat`) and for advice (`fadvise`) alone: nothing is read from it. As long as that lasts its file system cannot be unmounted, so it is let go
//! as soon as its process reads no more, or closes it. A stream that goes around meets what is in memory for a while, and fills nothing then: that is not its end.

use super::back_end::Way;
use super::of_cgroup::{self, CgroupFile};
use crate::cgroup;
use crate::clock;
use crate::root::Root;
use crate::source::open_files::{self, Key, key_of};
use crate::source::polled::NumberFile;
use crate::source::{guard_threads, kernel_threads, process};
use crate::sys::page_cache;
use pagewise_core::guard::SECOND;
use pagewise_core::guard::sample::Streams;
use pagewise_core::guard::trail::Trail;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How often it is looked for while the guard is armed, how often it is asked what those who were found pay, and how long the thread sleeps while the guard is
/// not armed.
const EVERY: Duration = Duration::from_millis(500);
const PAYS_EVERY: Duration = Duration::from_millis(100);
const ASLEEP: Duration = Duration::from_secs(3600);

/// Enough to list processes and files; all of it is locked in memory.
const STACK: usize = 512 << 10;

/// A process that read little in so many rounds in a row is at its end, or gone.
const QUIET_ROUNDS: u32 = 6;

/// Who reads less in a second is no streamer.
const LEAST_READ: f64 = (32 << 20) as f64;

/// No shorter file is a stream that fills memory.
const LEAST_FILE: u64 = 64 << 20;

/// No more processes and files are watched.
const MOST_PROCESSES: usize = 4;
pub(super) const MOST_FILES: usize = 8;

/// A file that a process reads.
#[derive(Debug)]
pub(super) struct StreamedFile {
    pub(super) who: Streamer,
    pub(super) file: File,
    pub(super) trail: Trail,
    key: Key,
}

/// Who streams, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streamer {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// The file.
    pub path: String,
}

/// Who reads most of all that is read.
#[derive(Debug)]
pub(super) struct Leader {
    pub(super) who: Streamer,
    /// `memory.reclaim` of its cgroup, where it has one of its own.
    pub(super) cgroup: Option<Way>,
}

/// A cgroup whose programs read this part of all that is read explains what fills memory.
const EXPLAINS: f64 = 0.6;

/// What the loop and the thread that searches share.
#[derive(Debug, Default)]
struct Shared {
    wanted: AtomicBool,
    over: AtomicBool,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    /// Found, and not yet taken over by the loop.
    found: Vec<StreamedFile>,
    /// All that were found and not let go.
    held: Vec<HeldFile>,
    /// Who reads most now, where the loop does not know it yet: `Some(None)` where nobody does.
    leader: Option<Option<Leader>>,
    /// That one's process.
    leads: Option<u32>,
    /// What their processes and those who reclaim for them had used at the last round.
    streams: Option<Streams>,
    /// Total bytes that the processes of the cgroup have read since they are watched, where they are.
    read_within: u64,
}

#[derive(Debug)]
struct HeldFile {
    key: Key,
    pid: u32,
    /// The process's descriptor of it.
    link: String,
    /// Looks in a row in which its process read little.
    quiet: u32,
}

impl Shared {
    /// What nobody took over: as long as it is open, its file system cannot be unmounted.
    fn let_found_go(&self) {
        let mut files = self.files();
        let found = std::mem::take(&mut files.found);
        files.held.retain(|held| !found.iter().any(|one| one.key == held.key));
    }

    /// Whoever panicked with it left nothing half done.
    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The search, as the loop has it. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Search {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Search {
    /// Begins it. `None` where it cannot be told what of a file is in memory, or a thread cannot be had.
    /// `within` is the folder of a cgroup whose processes alone are watched.
    pub(super) fn start(root: &Root, within: Option<String>) -> Option<Search> {
        if !Search::can_be_had(root) {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let for_search = Arc::clone(&shared);
        // Not waited for at the end: a file system that hangs must not keep the guard from ending.
        let named = thread::Builder::new().name("pagewise-search".to_owned()).stack_size(STACK);
        let started = named.spawn(move || search(&Root::live(), within.as_deref(), &for_search)).ok()?;
        Some(Search { shared, thread: started.thread().clone() })
    }

    /// Whether it is told to this user what of a file is in memory, whosever it is.
    pub(super) fn can_be_had(root: &Root) -> bool {
        root.is_live() && page_cache::can_be_asked()
    }

    /// Whether it is to search. Allocates nothing.
    pub(super) fn want(&self, wanted: bool) {
        if self.shared.wanted.swap(wanted, Ordering::Relaxed) != wanted && wanted {
            self.thread.unpark();
        }
    }

    /// Moves what was found into `files`, as far as there is room, and says what those who stream have used. Waits for nothing and allocates
    /// nothing.
    pub(super) fn adopt(&self, files: &mut Vec<StreamedFile>, streams: &mut Option<Streams>, read_within: &mut u64) {
        let Ok(mut shared) = self.shared.files.try_lock() else { return };
        (*streams, *read_within) = (shared.streams, shared.read_within);
        while files.len() < files.capacity() {
            match shared.found.pop() {
                Some(one) => files.push(one),
                None => return,
            }
        }
    }

    /// Takes over who reads most of all that is read; whether that is another one. Waits for nothing and allocates nothing.
    pub(super) fn adopt_leader(&self, leader: &mut Option<Leader>) -> bool {
        let Ok(mut shared) = self.shared.files.try_lock() else { return false };
        let Some(now) = shared.leader.take() else { return false };
        *leader = now;
        true
    }

    /// Whether its process reads no more. Waits for nothing: who cannot be told of now is told of later.
    pub(super) fn is_quiet(&self, streamed: &StreamedFile) -> bool {
        let Ok(shared) = self.shared.files.try_lock() else { return false };
        shared.held.iter().any(|held| held.key == streamed.key && held.quiet >= QUIET_ROUNDS)
    }

    /// A file is let go; it may be found again.
    pub(super) fn let_go(&self, streamed: StreamedFile) {
        self.shared.files().held.retain(|held| held.key != streamed.key);
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

fn search(root: &Root, within: Option<&str>, shared: &Shared) {
    let mut read_before: HashMap<u32, u64> = HashMap::new();
    let mut searched: Option<Instant> = None;
    let mut paying = StreamCosts::default();
    let mut within_read = WithinRead::default();
    let mut leads: Option<Leads> = None;
    while !shared.over.load(Ordering::Relaxed) {
        let is_wanted = shared.wanted.load(Ordering::Relaxed);
        if !is_wanted {
            shared.let_found_go();
        }
        if !is_wanted && shared.files().held.is_empty() {
            (searched, read_before, within_read) = (None, HashMap::new(), WithinRead::default());
            if leads.take().is_some() {
                let mut files = shared.files();
                (files.leads, files.leader) = (None, Some(None));
            }
            thread::park_timeout(ASLEEP);
            continue;
        }
        paying.check(root, shared);
        if let Some(folder) = within {
            shared.files().read_within += within_read.grew(root, folder);
        }
        if searched.is_some_and(|since| since.elapsed() < EVERY) {
            thread::park_timeout(PAYS_EVERY);
            continue;
        }
        let pids = match within {
            Some(folder) => of_cgroup::members(root, folder).unwrap_or_default(),
            None => kernel_threads::programs(root),
        };
        let read: HashMap<u32, u64> = pids.into_iter().filter_map(|pid| Some((pid, bytes_read(root, pid)?))).collect();
        if let Some(since) = searched {
            let seconds = since.elapsed().as_secs_f64();
            let readers = readers(&read, &read_before, seconds);
            // Asked of file systems, which may hang, while nobody waits for what is shared.
            let links: Vec<(Key, String)> =
                shared.files().held.iter().map(|held| (held.key, held.link.clone())).collect();
            let open: Vec<Key> =
                links.into_iter().filter(|(key, link)| key_of(link) == Some(*key)).map(|(key, _)| key).collect();
            for held in &mut shared.files().held {
                held.quiet = match open.contains(&held.key) {
                    // Closed by its process, and perhaps deleted: held any longer it would keep its blocks.
                    false => QUIET_ROUNDS,
                    true if readers.contains(&held.pid) => 0,
                    true => held.quiet + 1,
                };
            }
            // A cgroup that is guarded has its own file for the rest.
            if within.is_none() {
                let now = leading(root, &readers, &read, &read_before);
                // One that rests leads on: it is expected back.
                if let Some(now) = now.filter(|now| !leads.as_ref().is_some_and(|leads| leads.is_same(now))) {
                    let leader = now.leader(root);
                    let mut files = shared.files();
                    (files.leads, files.leader) = (Some(now.pid), Some(Some(leader)));
                    drop(files);
                    leads = Some(now);
                }
            }
            for pid in readers.into_iter().take(if is_wanted { MOST_PROCESSES } else { 0 }) {
                keep_open_files(root, pid, shared);
            }
        }
        (searched, read_before) = (Some(Instant::now()), read);
    }
}

/// Follows what the processes of a cgroup read, however short they live.
#[derive(Default)]
struct WithinRead(Option<HashMap<u32, u64>>);

impl WithinRead {
    /// Bytes since the last round. Of a process that is new all it read.
    fn grew(&mut self, root: &Root, folder: &str) -> u64 {
        let pids = of_cgroup::members(root, folder).unwrap_or_default();
        let now: HashMap<u32, u64> = pids.into_iter().filter_map(|pid| Some((pid, bytes_read(root, pid)?))).collect();
        let before = self.0.replace(now);
        let (Some(before), Some(now)) = (before, &self.0) else { return 0 };
        now.iter().map(|(pid, read)| read.saturating_sub(before.get(pid).copied().unwrap_or(0))).sum()
    }
}

/// Follows what those who stream pay.
#[derive(Default)]
struct StreamCosts {
    pids: Vec<u32>,
    of: u64,
    /// Where the time of kswapd is read; which threads these are is looked up when the streams change.
    kswapd: Vec<NumberFile>,
}

impl StreamCosts {
    fn check(&mut self, root: &Root, shared: &Shared) {
        let mut pids: Vec<u32> = {
            let files = shared.files();
            files.held.iter().map(|held| held.pid).chain(files.leads).collect()
        };
        pids.sort_unstable();
        pids.dedup();
        if pids != self.pids {
            (self.pids, self.of) = (pids, self.of + 1);
            self.kswapd = kernel_threads::kswapd_files(root);
        }
        if self.pids.is_empty() {
            shared.files().streams = None;
            return;
        }
        let tick = SECOND / rustix::param::clock_ticks_per_second().max(1);
        let in_kernel = |pid: &u32| {
            let stat = root.read(&format!("/proc/{pid}/stat")).ok()?;
            Some(process::parse_stat(stat.as_bytes())?.system * tick)
        };
        let used: Option<u64> = self.pids.iter().map(in_kernel).sum();
        let of_guard = guard_threads::cpu_of(root, std::process::id());
        let for_them = ((kernel_threads::cpu_of(root, &self.kswapd) + of_guard) * SECOND as f64) as u64;
        let read: Option<u64> = self.pids.iter().map(|pid| bytes_read(root, *pid)).sum();
        let (of, at) = (self.of, clock::awake());
        shared.files().streams = used.zip(read).map(|(cpu, read)| Streams { of, at, cpu: cpu + for_them, read });
    }
}

/// Bytes a process has read, by calls (`rchar`) or from disks.
fn bytes_read(root: &Root, pid: u32) -> Option<u64> {
    let text = root.read(&format!("/proc/{pid}/io")).ok()?;
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(of("rchar:")?.max(of("read_bytes:").unwrap_or(0)))
}

/// Those that read most, the first first.
fn readers(now: &HashMap<u32, u64>, before: &HashMap<u32, u64>, seconds: f64) -> Vec<u32> {
    let grown = now.iter().filter_map(|(pid, read)| Some((read.saturating_sub(*before.get(pid)?), *pid)));
    let mut most: Vec<(u64, u32)> = grown.filter(|(grown, _)| *grown as f64 >= LEAST_READ * seconds).collect();
    most.sort_unstable_by(|one, other| other.cmp(one));
    most.into_iter().map(|(_, pid)| pid).collect()
}

/// The cgroup whose programs read most of all that is read, and which of them does.
#[derive(Debug)]
struct Leads {
    pid: u32,
    /// Its folder and version; `None` where it cannot be told, or is the one of everything.
    cgroup: Option<(String, cgroup::Version)>,
}

impl Leads {
    /// The programs of a cgroup may come and go.
    fn is_same(&self, other: &Leads) -> bool {
        self.cgroup == other.cgroup && (self.cgroup.is_some() || self.pid == other.pid)
    }

    fn leader(&self, root: &Root) -> Leader {
        let command = process::name(root, &format!("/proc/{}", self.pid));
        let way = self.cgroup.as_ref().and_then(|(folder, version)| CgroupFile::open(root, folder, *version).ok());
        let path = match &self.cgroup {
            Some((folder, _)) => format!("many files, or parts of files ({folder})"),
            None => "many files, or parts of files".to_owned(),
        };
        Leader { who: Streamer { pid: self.pid, command, path }, cgroup: way.map(Way::of_cgroup) }
    }
}

/// `readers` are those that read most, the first first.
fn leading(root: &Root, readers: &[u32], now: &HashMap<u32, u64>, before: &HashMap<u32, u64>) -> Option<Leads> {
    let grown = |pid: &u32| Some(now.get(pid)?.saturating_sub(*before.get(pid)?));
    let all: u64 = now.keys().filter_map(grown).sum();
    let mut by_cgroup: HashMap<Option<(String, cgroup::Version)>, (u64, u32)> = HashMap::new();
    for pid in readers.iter().take(MOST_PROCESSES) {
        let own = cgroup::memory_cgroup_of(root, *pid).ok().flatten();
        by_cgroup.entry(own).or_insert((0, *pid)).0 += grown(pid).unwrap_or(0);
    }
    let (cgroup, (read, pid)) = by_cgroup.into_iter().max_by_key(|(_, (read, _))| *read)?;
    (read as f64 >= EXPLAINS * all as f64).then_some(Leads { pid, cgroup })
}

/// Puts down every file that a process has open and that may be its stream.
fn keep_open_files(root: &Root, pid: u32, shared: &Shared) {
    for open in open_files::of_process(root, pid, LEAST_FILE) {
        {
            let files = shared.files();
            if files.held.len() >= MOST_FILES || files.held.iter().any(|held| held.key == open.key) {
                continue;
            }
        }
        let Some(file) = open.open().filter(|file| page_cache::cached_in(file, 0, 4096).is_ok()) else { continue };
        let command = process::name(root, &format!("/proc/{pid}"));
        let who = Streamer { pid, command, path: open.path.to_string_lossy().into_owned() };
        let mut files = shared.files();
        files.held.push(HeldFile { key: open.key, pid, link: open.link, quiet: 0 });
        files.found.push(StreamedFile { who, file, trail: Trail::of(open.length), key: open.key });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn those_that_read_most_come_first_and_few_bytes_are_no_stream() {
        let before = HashMap::from([(1, 0), (2, 100 << 20), (3, 0), (4, 0)]);
        let now = HashMap::from([(1, 40 << 20), (2, 400 << 20), (3, 1 << 20), (5, 900 << 20)]);
        assert_eq!(readers(&now, &before, 1.0), [2, 1], "of a new process it is not known how fast it reads");
    }

    #[test]
    fn a_cgroup_whose_programs_read_most_of_all_leads_whoever_of_them_does() {
        let host = pagewise_testkit::FakeHost::empty();
        host.write("/proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        host.write("/sys/fs/cgroup/cgroup.controllers", "memory\n");
        for (pid, path) in [(1, "/copy"), (2, "/copy"), (3, "/"), (4, "/other")] {
            host.write(&format!("/proc/{pid}/cgroup"), &format!("0::{path}\n"));
            host.write(&format!("/proc/{pid}/comm"), "rsync\n");
        }
        let root = Root::at(host.path());
        let leads = |read: [(u32, u64); 4]| {
            let now = HashMap::from(read.map(|(pid, mib)| (pid, mib << 20)));
            let before = HashMap::from(read.map(|(pid, _)| (pid, 0)));
            leading(&root, &readers(&now, &before, 1.0), &now, &before)
        };
        let copy = leads([(1, 400), (2, 300), (3, 300), (4, 0)]).unwrap();
        let folder = ("/sys/fs/cgroup/copy".to_owned(), cgroup::Version::V2);
        assert_eq!((copy.pid, copy.cgroup.as_ref()), (1, Some(&folder)));
        let other = leads([(1, 300), (2, 900), (3, 0), (4, 100)]).unwrap();
        assert!(copy.is_same(&other), "its programs may come and go");
        let of_everything = leads([(1, 100), (2, 0), (3, 900), (4, 0)]).unwrap();
        assert_eq!((of_everything.pid, of_everything.cgroup.as_ref()), (3, None), "all are in the one at the top");
        assert!(!copy.is_same(&of_everything));
        assert!(leads([(1, 400), (2, 0), (3, 300), (4, 300)]).is_none(), "nobody reads most of it");
        let leader = copy.leader(&root);
        assert!(leader.cgroup.is_none(), "it has no memory.reclaim");
        assert_eq!(leader.who.command, "rsync");
    }

    #[test]
    fn the_file_of_a_process_that_reads_is_found_and_of_one_that_stopped_let_go() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("stream");
        File::create(&path).unwrap().set_len(LEAST_FILE).unwrap();
        let Some(search) = Search::start(&Root::live(), None) else { return };
        search.want(true);
        let mut files: Vec<StreamedFile> = Vec::with_capacity(MOST_FILES);
        let began = Instant::now();
        let mut buffer = vec![0; 1 << 20];
        let ours = std::process::id();
        while !files.iter().any(|one| one.who.pid == ours && one.who.path.ends_with("stream")) {
            assert!(began.elapsed() < Duration::from_secs(30), "{files:?}");
            let mut file = File::open(&path).unwrap();
            while file.read(&mut buffer).unwrap() > 0 {}
            search.adopt(&mut files, &mut None, &mut 0);
            files.retain(|one| one.who.pid == ours);
        }
        let key = files[0].key;
        search.want(false);
        let began = Instant::now();
        while !search.is_quiet(&files[0]) {
            assert!(began.elapsed() < Duration::from_secs(30), "it no longer reads");
            thread::sleep(Duration::from_millis(50));
        }
        search.let_go(files.swap_remove(0));
        assert!(!search.shared.files().held.iter().any(|held| held.key == key));
    }
}
