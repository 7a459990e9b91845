//! Which processes use most: walks over all of them on a thread of their own, so that thousands of processes delay no tick.
//!
//! Of each process `/proc/PID/stat` is read, once, and nothing else. It takes no lock of the process's memory (`do_task_stat`
//! in `fs/proc/array.c`), so a walk waits for nobody who waits for that lock; `smaps` and `maps` would. Where there are so many
//! processes that walks would cost a noticeable part of a CPU, they are further apart.

use super::rings::{MOST_WAITING, SECOND};
use super::{ABANDON, Event, RUN, Shared, open_gap};
use crate::clock;
use crate::root::Root;
use crate::source::process::{self, Stat};
use pagewise_core::recording::{Gap, GapReason, ProcessRow, ProcessUsage, UsageGrowth, Walk};
use rustix::fs::{Dir, Mode, OFlags, open, openat};
use rustix::io::{Errno, read, retry_on_intr};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// The name under which gaps of walks are told.
pub(super) const SOURCE: &str = "processes";

/// The same for single processes that cannot be read.
const OTHERS: &str = "processes.others";

/// So many lead by each measure and are kept.
const LEADING: usize = 10;

/// The same where walks are further apart than was asked for.
const BEAT: &str = "processes.beat";

/// `stat` has some 50 numbers and a name of 15 bytes: the kernel gives all of it at once.
const LONGEST_STAT: usize = 4096;

/// Walks take no more than one part in so many of a CPU: a walk over ten thousand processes takes a tenth of a second.
const ONE_PART_IN: u32 = 100;

/// The time from the first walk to the second. It doubles until it is what was asked for: a job of ten seconds is seen, too.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// What one walk has to remember of a process for the next.
#[derive(Clone, Copy, Debug)]
struct PreviousWalk {
    started: u64,
    used: ProcessUsage,
    resident: u64,
}

/// Why some could not be read, by the first of them.
#[derive(Debug)]
struct UnreadProcesses {
    reason: GapReason,
    first: String,
    count: u64,
}

/// Walks, and knows what the walk before saw.
#[derive(Debug)]
pub(super) struct Walker {
    root: Root,
    is_redacted: bool,
    /// Nanoseconds of a clock tick, bytes of a page.
    tick: u64,
    page: u64,
    before: HashMap<u32, PreviousWalk>,
    /// When the walk before began; before the first one, when the recording did.
    walked: u64,
    /// Gaps without an end.
    is_blind: bool,
    is_partly_blind: bool,
    is_held_back: bool,
}

impl Walker {
    pub(super) fn new(root: &Root, is_redacted: bool) -> Walker {
        Walker {
            root: root.clone(),
            is_redacted,
            tick: SECOND / rustix::param::clock_ticks_per_second().max(1),
            page: rustix::param::page_size() as u64,
            before: HashMap::new(),
            walked: clock::boot(),
            is_blind: false,
            is_partly_blind: false,
            is_held_back: false,
        }
    }

    /// Walks now, then at the beat that was asked for, and once more when the recording is finished.
    pub(super) fn run(mut self, beat: Duration, shared: &Shared, cpu: &AtomicU64, events: &Sender<Event>) {
        let mut pause = FIRST_PAUSE.min(beat);
        loop {
            let stop = shared.stop.load(Ordering::Acquire);
            if stop == ABANDON || shared.ended.load(Ordering::Acquire) {
                return;
            }
            let has_room = shared.waiting.load(Ordering::Acquire) < MOST_WAITING;
            let before = clock::thread_cpu();
            let rows = self.tell(has_room, events);
            shared.waiting.fetch_add(rows as i64, Ordering::AcqRel);
            let own = clock::thread_cpu();
            let wait = self.held_back(pause, Duration::from_nanos(own.saturating_sub(before)), events);
            cpu.store(own, Ordering::Release);
            shared.walker_cpu.store(own, Ordering::Release);
            if stop != RUN {
                return;
            }
            pause = (pause * 2).min(beat);
            clock::park(wait, || shared.stop.load(Ordering::Acquire) == RUN && !shared.ended.load(Ordering::Acquire));
        }
    }

    /// A walk, told to the writer. Without room it is lost: the disk takes nothing. Gives how many rows are on their way.
    fn tell(&mut self, has_room: bool, events: &Sender<Event>) -> usize {
        let begun = clock::boot();
        let (folder, pids) = match self.list() {
            Ok(listed) => listed,
            Err(error) => {
                if !self.is_blind {
                    let reason = if error == Errno::NOENT { GapReason::Missing } else { GapReason::Unreadable };
                    let detail = format!("cannot list {}: {}", self.root.path("/proc").display(), said(error));
                    let _ = events.send(Event::Gap(open_gap(begun, SOURCE, reason, detail)));
                }
                self.is_blind = true;
                return 0;
            }
        };
        if std::mem::take(&mut self.is_blind) {
            let _ = events.send(Event::GapEnds(SOURCE.to_owned(), begun));
        }
        let (stats, unread) = read_all(&folder, &pids);
        self.tell_unread(begun, pids.contains(&1), stats.len(), unread, events);
        let to = clock::boot();
        let walk = self.walk(begun, to, stats);
        let rows = walk.rows.len();
        if !has_room {
            let detail = "a walk was dropped: the disk took nothing".to_owned();
            let (source, reason) = (Some(SOURCE.to_owned()), GapReason::WriterBehind);
            let gap = Gap { from: begun, to: Some(to), source, reason, ticks: None, detail };
            let _ = events.send(Event::Gap(gap));
            return 0;
        }
        let _ = events.send(Event::Walks(vec![walk]));
        rows
    }

    /// The time to the next walk: what is due, or what keeps walks within their part of a CPU.
    fn held_back(&mut self, pause: Duration, cost: Duration, events: &Sender<Event>) -> Duration {
        let least = cost * ONE_PART_IN;
        if least > pause && !self.is_held_back {
            self.is_held_back = true;
            let detail = format!(
                "a walk over {} processes took {} ms of CPU: walks are as far apart as keeps them within 1 % of one",
                self.before.len(),
                cost.as_millis(),
            );
            let _ = events.send(Event::Gap(open_gap(clock::boot(), BEAT, GapReason::Thinned, detail)));
        } else if least <= pause && std::mem::take(&mut self.is_held_back) {
            let _ = events.send(Event::GapEnds(BEAT.to_owned(), clock::boot()));
        }
        pause.max(least)
    }

    /// The folder, through which all files are opened without a walk along their paths, and the numbers in it.
    fn list(&self) -> rustix::io::Result<(OwnedFd, Vec<u32>)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(self.root.path("/proc"), flags, Mode::empty())?;
        let mut pids = Vec::with_capacity(self.before.len() + 64);
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            pids.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
        pids.sort_unstable();
        Ok((folder, pids))
    }

    fn tell_unread(
        &mut self,
        now: u64,
        sees_first: bool,
        read: usize,
        unread: Option<UnreadProcesses>,
        events: &Sender<Event>,
    ) {
        // A mount with hidepid=2 does not list other people's processes; process 1 is there in every PID namespace.
        let hidden = (self.root.is_live() && !sees_first && unread.is_none()).then(|| UnreadProcesses {
            reason: GapReason::Missing,
            first: "process 1 is not listed: /proc hides the processes of others (hidepid); run as root".to_owned(),
            count: 0,
        });
        match unread.or(hidden) {
            Some(unread) if !self.is_partly_blind => {
                self.is_partly_blind = true;
                let detail = match unread.count {
                    0 => unread.first,
                    count => format!("{count} of {} processes: {}", count + read as u64, unread.first),
                };
                let _ = events.send(Event::Gap(open_gap(now, OTHERS, unread.reason, detail)));
            }
            None if self.is_partly_blind => {
                self.is_partly_blind = false;
                let _ = events.send(Event::GapEnds(OTHERS.to_owned(), now));
            }
            _ => {}
        }
    }

    /// What was read, against the walk before.
    fn walk(&mut self, from: u64, to: u64, stats: Vec<(u32, Stat)>) -> Walk {
        let processes = stats.len() as u64;
        let of_all = stats.iter().map(|(pid, stat)| (*pid, (stat.parent, stat.started)));
        let family: Family = if self.is_redacted { of_all.collect() } else { Family::new() };
        let mut now = HashMap::with_capacity(stats.len());
        let mut rows = Vec::with_capacity(stats.len());
        for (pid, stat) in stats {
            let shows = !self.is_redacted || stat.is_kernel_thread || is_ours(pid, &family);
            let row = self.row(pid, stat);
            now.insert(pid, PreviousWalk { started: row.started, used: row.used, resident: row.resident });
            if shows {
                rows.push(row);
            }
        }
        self.before = now;
        self.walked = from;
        Walk { from, to, processes, rows: leading(rows) }
    }

    fn row(&self, pid: u32, stat: Stat) -> ProcessRow {
        let used = ProcessUsage {
            user: stat.user.saturating_mul(self.tick),
            system: stat.system.saturating_mul(self.tick),
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
        };
        let (started, resident) = (stat.started.saturating_mul(self.tick), stat.resident.saturating_mul(self.page));
        let before = self.before.get(&pid).filter(|before| before.started == started);
        let grown = match before {
            Some(before) => {
                Some(UsageGrowth { used: used.since(&before.used), resident: difference(resident, before.resident) })
            }
            // It started since: all it has is new. Its start is rounded down to a tick.
            None if started.saturating_add(self.tick) >= self.walked => {
                Some(UsageGrowth { used, resident: difference(resident, 0) })
            }
            None => None,
        };
        let Stat { comm, state, threads, .. } = stat;
        ProcessRow { pid, started, comm, state, threads, resident, used, grown }
    }
}

/// One that ends while we walk is not there any more, which is no error.
fn read_all(folder: &OwnedFd, pids: &[u32]) -> (Vec<(u32, Stat)>, Option<UnreadProcesses>) {
    let mut stats = Vec::with_capacity(pids.len());
    let mut unread: Option<UnreadProcesses> = None;
    let mut path = String::new();
    let mut text = [0; LONGEST_STAT];
    for pid in pids {
        path.clear();
        let _ = write!(path, "{pid}/stat");
        let error = match read_stat(folder, &path, &mut text) {
            Ok(length) => match process::parse_stat(&text[..length]) {
                Some(stat) => {
                    stats.push((*pid, stat));
                    continue;
                }
                None => None,
            },
            // It ended before its file was opened, or read.
            Err(Errno::NOENT | Errno::SRCH) => continue,
            Err(error) => Some(error),
        };
        unread.get_or_insert_with(|| UnreadProcesses::first(&path, error)).count += 1;
    }
    (stats, unread)
}

fn read_stat(folder: &OwnedFd, path: &str, text: &mut [u8]) -> rustix::io::Result<usize> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = retry_on_intr(|| openat(folder, path, flags, Mode::empty()))?;
    retry_on_intr(|| read(&file, &mut *text))
}

impl UnreadProcesses {
    fn first(path: &str, error: Option<Errno>) -> UnreadProcesses {
        let (reason, first) = match error {
            Some(error) => (GapReason::Unreadable, format!("cannot read /proc/{path}: {}", said(error))),
            None => (GapReason::NotUnderstood, format!("/proc/{path} does not look as it should")),
        };
        UnreadProcesses { reason, first, count: 0 }
    }
}

/// In the words of the standard library.
fn said(error: Errno) -> std::io::Error {
    error.into()
}

fn difference(now: u64, before: u64) -> i64 {
    let bounded = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    bounded(now) - bounded(before)
}

/// Parent and start of each process.
type Family = HashMap<u32, (u32, u64)>;

/// Whether it is our process or descends from it. One whose parent ended meanwhile is not known to.
fn is_ours(pid: u32, family: &Family) -> bool {
    const MOST_GENERATIONS: usize = 64;
    let (mut at, mut child_started) = (pid, u64::MAX);
    for _ in 0..MOST_GENERATIONS {
        if at == std::process::id() {
            return true;
        }
        match family.get(&at) {
            // A parent that is younger is another process, which got the number in the middle of the walk.
            Some((parent, started)) if *started <= child_started => (at, child_started) = (*parent, *started),
            _ => return false,
        }
    }
    false
}

/// Those that lead by one of the measures, by number.
fn leading(rows: Vec<ProcessRow>) -> Vec<ProcessRow> {
    const MEASURES: [fn(&ProcessRow) -> u64; 3] = [
        |row| row.grown.map_or(0, |grown| grown.used.cpu()),
        |row| row.resident,
        |row| row.grown.map_or(0, |grown| grown.used.major_faults),
    ];
    let mut leads = vec![false; rows.len()];
    for measure in MEASURES {
        let mut order: Vec<usize> = (0..rows.len()).filter(|place| measure(&rows[*place]) > 0).collect();
        order.sort_by_key(|place| (Reverse(measure(&rows[*place])), rows[*place].pid));
        order.iter().take(LEADING).for_each(|place| leads[*place] = true);
    }
    let mut kept: Vec<ProcessRow> =
        rows.into_iter().zip(leads).filter(|(_, leads)| *leads).map(|(row, _)| row).collect();
    kept.sort_by_key(|row| row.pid);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;
    use pagewise_testkit::fake_host::FakeProcess;
    use std::sync::mpsc;

    struct Walking {
        host: FakeHost,
        walker: Walker,
        events: Sender<Event>,
        told: mpsc::Receiver<Event>,
    }

    type Told = (Vec<(String, GapReason, String)>, Vec<String>, Option<Walk>);

    impl Walking {
        fn over(host: FakeHost, is_redacted: bool) -> Walking {
            let (events, told) = mpsc::channel();
            let walker = Walker::new(&Root::at(host.path()), is_redacted);
            Walking { host, walker, events, told }
        }

        /// Gaps by reason and detail, the sources whose gap ended, and the walk.
        fn walk(&mut self) -> Told {
            self.walker.tell(true, &self.events);
            let (mut gaps, mut ends, mut walks) = (Vec::new(), Vec::new(), Vec::new());
            for event in self.told.try_iter() {
                match event {
                    Event::Gap(gap) => gaps.push((gap.source.unwrap(), gap.reason, gap.detail)),
                    Event::GapEnds(source, _) => ends.push(source),
                    Event::Walks(told) => walks.extend(told),
                    _ => panic!("a walk tells nothing else"),
                }
            }
            (gaps, ends, walks.pop())
        }

        fn rows(&mut self) -> Vec<ProcessRow> {
            let (gaps, _, walk) = self.walk();
            assert_eq!(gaps, []);
            walk.unwrap().rows
        }
    }

    fn job(pid: u32) -> FakeProcess {
        FakeProcess { pid, parent: 1, comm: b"job", started: 500, resident_pages: 100, ..FakeProcess::default() }
    }

    fn tick() -> u64 {
        SECOND / rustix::param::clock_ticks_per_second()
    }

    #[test]
    fn the_first_walk_knows_no_growth_and_the_second_what_became_more() {
        let mut walking = Walking::over(FakeHost::empty().process(&FakeProcess { user: 900, ..job(7) }), false);
        let rows = walking.rows();
        assert_eq!((rows.len(), rows[0].grown), (1, None));
        assert_eq!((rows[0].started, rows[0].used.user), (500 * tick(), 900 * tick()));
        walking.host.write_process(&FakeProcess {
            user: 950,
            system: 3,
            major_faults: 8,
            resident_pages: 90,
            ..job(7)
        });
        let row = walking.rows().remove(0);
        let grown = row.grown.unwrap();
        assert_eq!((grown.used.user, grown.used.system, grown.used.major_faults), (50 * tick(), 3 * tick(), 8));
        assert_eq!(grown.resident, -10 * rustix::param::page_size() as i64);
        assert_eq!(row.resident, 90 * rustix::param::page_size() as u64);
    }

    #[test]
    fn a_number_that_was_used_again_is_a_new_process_and_what_it_used_is_all_new() {
        let mut walking = Walking::over(FakeHost::empty().process(&FakeProcess { user: 900, ..job(7) }), false);
        walking.rows();
        // Later than any instant of this boot: it started after the walk before.
        let young = FakeProcess { started: u64::MAX / SECOND, user: 5, comm: b"young", ..job(7) };
        walking.host.write_process(&young);
        let row = walking.rows().remove(0);
        assert_eq!((row.name().as_ref(), row.grown.unwrap().used.user), ("young", 5 * tick()));
        // The same of one that was quicker than the first walk.
        let mut first = Walking::over(FakeHost::empty().process(&young), false);
        assert_eq!(first.rows()[0].grown.unwrap().used.user, 5 * tick());
        // One that was there before and was not seen says nothing about when it used what it used.
        walking.host.write_process(&FakeProcess { user: 77, ..job(8) });
        assert_eq!(walking.rows().iter().find(|row| row.pid == 8).unwrap().grown, None);
    }

    #[test]
    fn ten_lead_by_each_measure_and_one_that_leads_in_nothing_is_left_out() {
        let mut host = FakeHost::empty();
        for pid in 100..200 {
            host = host.process(&FakeProcess { resident_pages: u64::from(pid), ..job(pid) });
        }
        let mut walking = Walking::over(host, false);
        let pids = |rows: &[ProcessRow]| rows.iter().map(|row| row.pid).collect::<Vec<u32>>();
        assert_eq!(pids(&walking.rows()), (190..200).collect::<Vec<u32>>());
        for pid in 100..130 {
            let used = FakeProcess { resident_pages: u64::from(pid), ..job(pid) };
            let used = if pid < 115 { FakeProcess { user: u64::from(pid), ..used } } else { used };
            walking.host.write_process(&FakeProcess { major_faults: u64::from(pid / 125), ..used });
        }
        let expected: Vec<u32> = (105..115).chain(125..130).chain(190..200).collect();
        assert_eq!(pids(&walking.rows()), expected);
    }

    #[test]
    fn what_vanished_is_no_error_and_what_cannot_be_read_is_a_gap_until_it_can() {
        let host = FakeHost::empty().process(&job(7)).file("/proc/8/stat", "no stat").file("/proc/9/comm", "gone");
        let mut walking = Walking::over(host, false);
        let (gaps, ends, walk) = walking.walk();
        let walk = walk.unwrap();
        assert_eq!((walk.processes, walk.rows.len(), ends.len()), (1, 1, 0));
        assert!(walk.from < walk.to);
        let [(source, reason, detail)] = &gaps[..] else { panic!("{gaps:?}") };
        assert_eq!((source.as_str(), reason), ("processes.others", &GapReason::NotUnderstood));
        assert!(detail.contains("1 of 2") && detail.contains("/proc/8/stat"), "{detail}");
        assert_eq!(walking.walk().0, [], "said once");
        walking.host.write_process(&job(8));
        let (gaps, ends, walk) = walking.walk();
        assert_eq!((gaps, ends, walk.unwrap().processes), (vec![], vec!["processes.others".to_owned()], 2));
    }

    #[test]
    fn what_may_not_be_read_is_counted_and_the_first_of_it_named() {
        // To read a folder is refused to everybody, root included.
        let host = FakeHost::empty().process(&job(7)).file("/proc/8/stat/x", "").file("/proc/9/stat/x", "");
        let (gaps, _, walk) = Walking::over(host, false).walk();
        assert_eq!(walk.unwrap().processes, 1);
        let [(source, reason, detail)] = &gaps[..] else { panic!("{gaps:?}") };
        assert_eq!((source.as_str(), reason), ("processes.others", &GapReason::Unreadable));
        assert!(detail.starts_with("2 of 3 processes: cannot read /proc/8/stat: "), "{detail}");
    }

    #[test]
    fn walks_that_cost_much_are_further_apart_and_it_is_said_once() {
        let (events, told) = mpsc::channel();
        let mut walker = Walker::new(&Root::at("/nowhere"), false);
        let millis = Duration::from_millis;
        let beat = Duration::from_secs(30);
        assert_eq!(walker.held_back(beat, millis(3), &events), beat, "a host with a hundred processes");
        assert_eq!(walker.held_back(beat, millis(100), &events), beat, "one with ten thousand");
        assert_eq!(told.try_iter().count(), 0);
        assert_eq!(walker.held_back(beat, millis(900), &events), millis(90_000), "one with a hundred thousand");
        assert_eq!(walker.held_back(beat, millis(1000), &events), millis(100_000));
        let Ok(Event::Gap(gap)) = told.try_recv() else { panic!("it is told") };
        assert_eq!((gap.source.as_deref(), gap.reason, gap.to), (Some("processes.beat"), GapReason::Thinned, None));
        assert!(gap.detail.contains("900 ms") && told.try_recv().is_err(), "{}", gap.detail);
        assert_eq!(walker.held_back(beat, millis(3), &events), beat);
        assert!(matches!(told.try_recv(), Ok(Event::GapEnds(source, _)) if source == "processes.beat"));
    }

    #[test]
    fn a_host_without_proc_is_a_gap_with_the_reason() {
        let mut walking = Walking::over(FakeHost::empty(), false);
        let (gaps, _, walk) = walking.walk();
        assert!(walk.is_none());
        assert_eq!((gaps.len(), &gaps[0].1), (1, &GapReason::Missing));
        assert!(gaps[0].2.contains("/proc"), "{}", gaps[0].2);
        assert_eq!(walking.walk().0, []);
        walking.host.write_process(&job(7));
        let (_, ends, walk) = walking.walk();
        assert_eq!((ends, walk.unwrap().rows.len()), (vec!["processes".to_owned()], 1));
    }

    #[test]
    fn redacted_it_keeps_kernel_threads_and_what_we_started() {
        let own = std::process::id();
        let host = FakeHost::empty()
            .process(&FakeProcess { comm: b"secret", ..job(own + 1) })
            .process(&FakeProcess { comm: b"pagewise", ..job(own) })
            .process(&FakeProcess { comm: b"sh", parent: own, ..job(own + 2) })
            .process(&FakeProcess { comm: b"sort", parent: own + 2, ..job(own + 3) })
            .process(&FakeProcess { comm: b"of a secret", parent: own + 1, ..job(own + 4) })
            .process(&FakeProcess { comm: b"kswapd0", parent: 2, is_kernel_thread: true, ..job(49) });
        let mut walking = Walking::over(host, true);
        let (_, _, walk) = walking.walk();
        let walk = walk.unwrap();
        let mut names: Vec<_> = walk.rows.iter().map(|row| row.name().into_owned()).collect();
        names.sort();
        assert_eq!((names, walk.processes), (["kswapd0", "pagewise", "sh", "sort"].map(String::from).to_vec(), 6));
    }

    #[test]
    fn a_number_that_one_of_ours_took_over_in_the_middle_of_a_walk_makes_nobody_ours() {
        let own = std::process::id();
        // 7 was read as a child of somebody's 8, which ended; then we started another 8.
        let host = FakeHost::empty()
            .process(&FakeProcess { comm: b"pagewise", ..job(own) })
            .process(&FakeProcess { comm: b"secret", parent: own + 8, started: 600, ..job(own + 7) })
            .process(&FakeProcess { comm: b"sort", parent: own, started: 700, ..job(own + 8) });
        let (_, _, walk) = Walking::over(host, true).walk();
        let names: Vec<_> = walk.unwrap().rows.iter().map(|row| row.name().into_owned()).collect();
        assert_eq!(names, ["pagewise", "sort"]);
    }

    #[test]
    fn a_name_of_any_bytes_is_kept_as_it_is() {
        let comm: &[u8] = b"a) R 1 (\x1b[2J\xff\n";
        let mut walking = Walking::over(FakeHost::empty().process(&FakeProcess { comm, ..job(7) }), false);
        assert_eq!(walking.rows()[0].comm, comm);
    }
}
