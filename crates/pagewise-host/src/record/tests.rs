//! Recordings of this host and of made-up ones.

use super::*;
use crate::store::recording::Recording;
use pagewise_core::recording::{Block, Recorded};
use std::fs;
use std::time::{Duration, Instant};

fn fast() -> Options {
    Options { hz: 20.0, ..Options::default() }
}

fn blocks(recording: &Recording) -> Vec<Block> {
    recording.blocks().collect::<Result<_, _>>().unwrap()
}

fn find<'a>(recording: &'a Recording, source: &str, name: &str) -> &'a Series {
    let found = recording.series().iter().find(|series| series.source == source && series.name == name);
    found.unwrap_or_else(|| panic!("no {source}.{name}"))
}

fn values(recording: &Recording, source: &str, name: &str) -> Vec<u64> {
    let series = find(recording, source, name);
    blocks(recording)
        .iter()
        .flat_map(|block| block.values(series).map(|(_, value)| value).collect::<Vec<_>>())
        .collect()
}

struct Host {
    folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Host {
        let host = Host { folder: tempfile::tempdir().unwrap() };
        host.set("/proc/vmstat", "nr_free_pages 5\npgfault 10\n");
        host.set("/proc/meminfo", "MemTotal:       16331000 kB\nMemFree: 7 kB\n");
        host.set("/proc/sys/kernel/osrelease", "6.12.0\n");
        host.set("/proc/sys/vm/swappiness", "60\n");
        host
    }

    fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("a.pgw")
    }

    /// The recorder keeps the file open, so it must stay the same file.
    fn set(&self, path: &str, text: &str) {
        let full = self.root().path(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(&full, text).unwrap();
    }
}

fn companions_of(file: &Path) -> Vec<String> {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let listed = fs::read_dir(file.parent().unwrap()).unwrap();
    let names = listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|other| other.starts_with(&name) && *other != name).collect()
}

#[test]
fn a_point_shorter_than_a_tick_has_its_first_and_its_last_sample() {
    let host = Host::new();
    let recorder = Recorder::start(&host.root(), &host.file(), &Options::default()).unwrap();
    host.set("/proc/vmstat", "nr_free_pages 4\npgfault 99\n");
    recorder.mark("half way");
    let summary = recorder.finish().unwrap();
    assert_eq!((summary.samples, summary.ended.as_deref()), (2, None));
    let recording = Recording::open(&host.file()).unwrap();
    assert!(recording.is_complete());
    assert_eq!(values(&recording, "vmstat", "pgfault"), [10, 99]);
    assert_eq!(values(&recording, "vmstat", "nr_free_pages"), [5, 4]);
    assert_eq!(find(&recording, "meminfo", "MemFree").unit, Some(pagewise_core::recording::RawUnit::KiB));
    assert_eq!(recording.marks().unwrap()[0].text, "half way");
    let settings = recording.settings().unwrap();
    assert!(settings.iter().any(|setting| setting.path == "vm.swappiness" && setting.value.as_deref() == Some("60")));
    assert_eq!(summary.bytes, fs::metadata(host.file()).unwrap().len());
    assert_eq!(companions_of(&host.file()), Vec::<String>::new(), "a clean end leaves one file");
}

#[test]
fn files_read_at_a_slower_beat_are_in_the_last_sample_and_not_made_up_in_between() {
    let host = Host::new();
    let buddy = |free: u32| format!("Node 0, zone   Normal   {free}      2      1 \n");
    host.set("/proc/buddyinfo", &buddy(3));
    host.set("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/swpin", "4\n");
    let recorder = Recorder::start(&host.root(), &host.file(), &fast()).unwrap();
    thread::sleep(Duration::from_millis(300));
    host.set("/proc/buddyinfo", &buddy(9));
    host.set("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/swpin", "6\n");
    assert!(recorder.finish().unwrap().samples > 3);
    let recording = Recording::open(&host.file()).unwrap();
    assert_eq!(values(&recording, "buddyinfo", "free_blocks"), [3, 9]);
    assert_eq!(values(&recording, "thp", "swpin"), [4, 6]);
    assert_eq!(find(&recording, "thp", "swpin").labels, "size=64kB");
}

#[test]
fn a_file_this_kernel_lacks_is_a_gap_with_the_reason_and_no_zeros() {
    let host = Host::new();
    Recorder::start(&host.root(), &host.file(), &fast()).unwrap().finish().unwrap();
    let recording = Recording::open(&host.file()).unwrap();
    let gap = recording.gaps().iter().find(|gap| gap.source.as_deref() == Some("psi_memory")).unwrap();
    assert_eq!((&gap.reason, gap.to), (&GapReason::Missing, None));
    assert!(gap.detail.contains("/proc/pressure/memory"), "{}", gap.detail);
    assert!(recording.series().iter().all(|series| series.source != "psi_memory"));
}

#[test]
fn a_file_that_cannot_be_understood_for_a_while_is_a_gap_with_both_ends() {
    let host = Host::new();
    let recorder = Recorder::start(&host.root(), &host.file(), &fast()).unwrap();
    host.set("/proc/vmstat", "nr_free_pa");
    thread::sleep(Duration::from_millis(200));
    host.set("/proc/vmstat", "nr_free_pages 8\npgfault 20\n");
    thread::sleep(Duration::from_millis(200));
    recorder.finish().unwrap();
    let recording = Recording::open(&host.file()).unwrap();
    let gap = recording.gaps().iter().find(|gap| gap.source.as_deref() == Some("vmstat")).unwrap();
    assert_eq!(gap.reason, GapReason::NotUnderstood);
    assert!(gap.to.unwrap() > gap.from);
    let seen = values(&recording, "vmstat", "pgfault");
    assert!(seen.len() >= 2 && !seen.contains(&0), "{seen:?}");
    assert!((seen.len() as u64) < recording.ticks().unwrap(), "ticks in the gap have no value");
}

#[test]
fn counters_that_appear_vanish_and_are_reset_are_kept_as_they_were() {
    let host = Host::new();
    let recorder = Recorder::start(&host.root(), &host.file(), &fast()).unwrap();
    for text in ["pgfault 3\nnew 18446744073709551615\n", "pgfault 4\n", "nr_free_pages 1\npgfault 5\nnew 2\n"] {
        host.set("/proc/vmstat", text);
        thread::sleep(Duration::from_millis(150));
    }
    recorder.finish().unwrap();
    let recording = Recording::open(&host.file()).unwrap();
    let mut seen = values(&recording, "vmstat", "new");
    seen.dedup();
    assert_eq!(seen, [u64::MAX, 2]);
    assert_eq!(pagewise_core::recording::series::growth(seen[0], seen[1]), Some(3), "it passed 2^64");
    let mut seen = values(&recording, "vmstat", "pgfault");
    seen.dedup();
    assert_eq!(seen, [10, 3, 4, 5]);
    assert_eq!(pagewise_core::recording::series::growth(seen[0], seen[1]), None, "it was reset");
    let mut seen = values(&recording, "vmstat", "nr_free_pages");
    seen.dedup();
    assert_eq!(seen, [5, 1]);
}

#[test]
fn a_setting_that_somebody_changes_is_seen() {
    let host = Host::new();
    let recorder = Recorder::start(&host.root(), &host.file(), &fast()).unwrap();
    host.set("/proc/sys/vm/swappiness", "1\n");
    recorder.finish().unwrap();
    let settings = Recording::open(&host.file()).unwrap().settings().unwrap();
    let seen: Vec<_> = settings.iter().filter(|setting| setting.path == "vm.swappiness").collect();
    assert_eq!(
        seen.iter().map(|s| (s.value.as_deref(), s.by.as_str())).collect::<Vec<_>>(),
        [(Some("60"), "start"), (Some("1"), "seen")]
    );
}

#[test]
fn a_source_that_is_slow_to_read_makes_late_ticks_and_counted_gaps() {
    fn dawdle<'t>(_: &'t str, _: &mut dyn crate::source::visit::Visit<'t>) -> Result<(), String> {
        thread::sleep(Duration::from_millis(170));
        Ok(())
    }
    let host = Host::new();
    host.set("/proc/slow", "");
    let polled = Polled::text(&host.root(), "/proc/slow", dawdle).map_err(|error| error.to_string());
    let sources = vec![OpenedSource { name: "vmstat".to_owned(), polled, pace: sampler::pace(Pace::EveryTick) }];
    let recorder = Recorder::start_with(&host.root(), &host.file(), &fast(), sources).unwrap();
    thread::sleep(Duration::from_millis(900));
    let summary = recorder.finish().unwrap();
    let recording = Recording::open(&host.file()).unwrap();
    let missed: u64 =
        recording.gaps().iter().filter(|gap| gap.reason == GapReason::Late).filter_map(|gap| gap.ticks).sum();
    assert!(missed >= 6, "{:?}", recording.gaps());
    let block = &blocks(&recording)[0];
    assert_eq!(block.ticks.len() as u64, summary.samples);
    let took: Vec<u32> = block
        .sources
        .iter()
        .find(|block| block.source == "vmstat")
        .unwrap()
        .data
        .took
        .iter()
        .flatten()
        .copied()
        .collect();
    assert!(took.iter().all(|took| *took >= 170_000), "the time of acquisition is known: {took:?}");
    let grid: Vec<u64> = block.ticks.windows(2).map(|pair| pair[1].begin - pair[0].begin).collect();
    assert!(grid.iter().all(|step| *step >= 40_000_000), "no tick is made up: {grid:?}");
}

#[test]
fn a_full_ring_is_a_gap_and_the_row_after_it_builds_on_nothing_lost() {
    let host = Host::new();
    let (ring, _) = Ring::new();
    let ring = Arc::new(ring);
    let (events, received) = mpsc::channel();
    let shared = Arc::new(Shared::default());
    let names: Vec<&str> = [CLOCK].into_iter().chain(TEXT_FILES.iter().map(|file| file.source)).collect();
    let names = [&names[..], &NUMBER_FILES.iter().map(|files| files.source).collect::<Vec<_>>(), &[OWN]].concat();
    let writer = Writer::create(&host.file(), &names, &[], None).unwrap();
    let schedule = Schedule::new(clock::boot(), 1);
    let mut sampler = Sampler::new(
        open_sources(&host.root(), &[], None),
        Settings::open(&host.root()),
        schedule,
        Arc::clone(&ring),
        events,
        Arc::clone(&shared),
    );
    let mut taken = 0;
    // Nobody takes anything out: the ring fills.
    while ring.put(&[0; 4096]) || ring.put(&[]) {
        taken += 1;
    }
    for _ in 0..5 {
        sampler.first();
    }
    for _ in 0..taken {
        ring.take();
    }
    for count in 0..3 {
        host.set("/proc/vmstat", &format!("nr_free_pages 5\npgfault {}\n", 100 + count));
        sampler.first();
    }
    shared.ended.store(true, Ordering::Release);
    assert_eq!(writing::run(writer, Redaction::default(), &ring, &received, &shared).ended, None);
    let recording = Recording::open(&host.file()).unwrap();
    let gap = recording.gaps().iter().find(|gap| gap.reason == GapReason::WriterBehind).unwrap();
    assert!(gap.ticks >= Some(5), "{gap:?}");
    let seen = values(&recording, "vmstat", "pgfault");
    assert_eq!(seen.last(), Some(&102));
}

#[test]
fn what_is_recorded_of_this_host_is_what_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.pgw");
    let read = |name: &str| crate::source::vmstat::read(&Root::live()).unwrap()[name] as u64;
    let before = read("pgfault");
    let started = Instant::now();
    let recorder = Recorder::start(&Root::live(), &file, &fast()).unwrap();
    let after_start = read("pgfault");
    while started.elapsed() < Duration::from_millis(1500) {
        thread::sleep(Duration::from_millis(20));
    }
    let before_end = read("pgfault");
    let summary = recorder.finish().unwrap();
    let after = read("pgfault");
    let recording = Recording::open(&file).unwrap();
    let seen = values(&recording, "vmstat", "pgfault");
    assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]), "a counter only grows");
    assert!((before..=after_start).contains(&seen[0]) && (before_end..=after).contains(seen.last().unwrap()));
    assert_eq!(seen.len() as u64, summary.samples);
    let total = crate::source::meminfo::read(&Root::live()).unwrap()["MemTotal"];
    assert!(values(&recording, "meminfo", "MemTotal").iter().all(|kib| kib * 1024 == total));
    let text = Root::live().read("/proc/vmstat").unwrap();
    let recorded = recording.series().iter().filter(|series| series.source == "vmstat").count();
    assert_eq!(recorded, text.lines().count(), "vmstat in full");
    // Both clocks of the anchor, and the tick's own, tell the same time.
    let tick = blocks(&recording)[0].ticks[0];
    let wall = tick.begin as i64 + tick.wall_offset;
    let now = jiff::Timestamp::now().as_nanosecond() as i64;
    assert!((0..60_000_000_000).contains(&(now - wall)), "{wall} against {now}");
    assert!(summary.own_cpu_seconds > 0.0 && summary.own_cpu_seconds < 1.5);
}

#[test]
fn starting_costs_little() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&Root::live(), &folder.path().join("a.pgw"), &Options::default()).unwrap();
    let cost = recorder.start_cpu;
    recorder.finish().unwrap();
    // 20 ms are allowed for the release build; this one is not optimised.
    assert!(cost < 100_000_000, "{} µs", cost / 1000);
}

#[test]
fn an_existing_file_is_refused_and_left_as_it_is() {
    let host = Host::new();
    fs::write(host.file(), "mine").unwrap();
    let error = Recorder::start(&host.root(), &host.file(), &fast()).unwrap_err();
    assert!(matches!(error, RecordError::File(RecordingError::Exists(_))), "{error}");
    assert_eq!(fs::read_to_string(host.file()).unwrap(), "mine");
    fs::remove_file(host.file()).unwrap();
    let left = host.folder.path().join("a.pgw-wal");
    fs::write(&left, "of another recording").unwrap();
    assert!(Recorder::start(&host.root(), &host.file(), &fast()).is_err());
    assert!(left.exists() && !host.file().exists());
}

#[test]
fn a_rate_that_cannot_be_held_is_refused() {
    let host = Host::new();
    for hz in [0.0, -1.0, 21.0, f64::NAN, f64::INFINITY] {
        let options = Options { hz, ..Options::default() };
        assert!(matches!(Recorder::start(&host.root(), &host.file(), &options), Err(RecordError::Rate(_))), "{hz}");
    }
    assert!(!host.file().exists());
}

#[test]
fn dropped_without_an_end_it_can_be_read_and_says_so() {
    let host = Host::new();
    drop(Recorder::start(&host.root(), &host.file(), &fast()).unwrap());
    let recording = Recording::open(&host.file()).unwrap();
    assert!(!recording.is_complete());
    assert!(recording.meta()["ended"].contains("given up"));
    assert_eq!(values(&recording, "vmstat", "pgfault")[0], 10);
}

#[test]
fn two_recorders_side_by_side_do_not_meet() {
    let (a, b) = (Host::new(), Host::new());
    b.set("/proc/vmstat", "pgfault 77\n");
    let first = Recorder::start(&a.root(), &a.file(), &fast()).unwrap();
    let second = Recorder::start(&b.root(), &b.file(), &fast()).unwrap();
    thread::sleep(Duration::from_millis(150));
    assert!(first.finish().unwrap().samples >= 2 && second.finish().unwrap().samples >= 2);
    assert!(values(&Recording::open(&a.file()).unwrap(), "vmstat", "pgfault").iter().all(|value| *value == 10));
    assert!(values(&Recording::open(&b.file()).unwrap(), "vmstat", "pgfault").iter().all(|value| *value == 77));
}

#[test]
fn a_recording_is_read_while_it_grows() {
    let host = Host::new();
    let recorder = Recorder::start(&host.root(), &host.file(), &fast()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let early = loop {
        let recording = Recording::open(&host.file()).unwrap();
        let count = recording.ticks().unwrap();
        assert!(!recording.is_complete());
        assert_eq!(blocks(&recording).iter().map(|block| block.ticks.len() as u64).sum::<u64>(), count);
        if count > 20 {
            break count;
        }
        assert!(Instant::now() < deadline, "only {count} ticks");
        thread::sleep(Duration::from_millis(100));
    };
    let summary = recorder.finish().unwrap();
    let recording = Recording::open(&host.file()).unwrap();
    assert!(recording.is_complete() && recording.ticks().unwrap() == summary.samples && summary.samples >= early);
    assert_eq!(companions_of(&host.file()), Vec::<String>::new());
}

#[test]
fn a_callers_pairs_are_kept_beside_our_own() {
    let host = Host::new();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let meta = vec![pair("point", "7"), pair("complete", "1"), pair("kernel", "theirs"), pair("point", "8")];
    let options = Options { meta, ..fast() };
    drop(Recorder::start(&host.root(), &host.file(), &options).unwrap());
    let recording = Recording::open(&host.file()).unwrap();
    assert_eq!((recording.meta()["point"].as_str(), recording.meta()["kernel"].as_str()), ("7", "6.12.0"));
    assert!(!recording.is_complete());
}

#[test]
fn the_processes_of_this_host_are_walked_over_at_their_own_beat_and_once_more_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.pgw");
    let options = Options { walk_every: Some(Duration::from_secs(1)), ..fast() };
    let recorder = Recorder::start(&Root::live(), &file, &options).unwrap();
    let started = Instant::now();
    let mut work = 0u64;
    while started.elapsed() < Duration::from_millis(1500) {
        work = std::hint::black_box(work.wrapping_mul(31) + 7);
    }
    recorder.finish().unwrap();
    let recording = Recording::open(&file).unwrap();
    let walks = recording.walks().unwrap().unwrap();
    assert!(walks.len() >= 3, "at the start, after a second, at the end: {walks:?}");
    let own = walks.iter().flat_map(|walk| &walk.rows).filter(|row| row.pid == std::process::id());
    let used = |row: &pagewise_core::recording::ProcessRow| row.grown.map_or(0, |grown| grown.used.cpu());
    let own = own.max_by_key(|row| used(row)).expect("few processes use more CPU than this one");
    let stat = process::parse_stat(&fs::read("/proc/self/stat").unwrap()).unwrap();
    assert_eq!((&own.comm, own.started / 10_000_000), (&stat.comm, stat.started));
    assert!((100_000_000..100_000_000_000).contains(&used(own)), "{own:?}");
    let pages = stat.resident * rustix::param::page_size() as u64;
    assert!(own.resident > pages / 4 && own.resident < pages * 4, "{} against {pages}", own.resident);
    let cost = values(&recording, OWN, "walker_cpu");
    assert!(cost.windows(2).all(|pair| pair[0] <= pair[1]) && *cost.last().unwrap() > 0, "{cost:?}");
}

#[test]
fn nobody_walks_where_nobody_shall_and_a_beat_out_of_range_is_refused() {
    let host = Host::new();
    let walk_every = |every| Options { walk_every: every, ..fast() };
    for beat in [Duration::ZERO, Duration::from_millis(999), Duration::from_secs(3601)] {
        let refused = Recorder::start(&host.root(), &host.file(), &walk_every(Some(beat)));
        assert!(matches!(refused, Err(RecordError::WalkEvery(_))), "{beat:?}");
    }
    assert!(!host.file().exists());
    Recorder::start(&host.root(), &host.file(), &walk_every(None)).unwrap().finish().unwrap();
    assert_eq!(Recording::open(&host.file()).unwrap().walks().unwrap(), None);
}
