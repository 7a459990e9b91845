//! Recordings that are capped, damaged, foreign, newer, or hostile.

use super::*;
use pagewise_core::kernel_text::purpose::Purpose;
use pagewise_core::recording::stack::KERNEL;
use pagewise_core::recording::tick::{Reading, TickEncoder};
use pagewise_core::recording::{
    Block, Durations, Frame, GapReason, Kind, Part, ProcessRow, ProcessUsage, RawUnit, Recorded, SamplingEvent, Series,
    StackId, StackSample, StallKind, StallRow, UsageGrowth, Walk,
};
use proptest::prelude::*;
use rusqlite::Connection;
use std::fs;
use std::time::{Duration, Instant};

const SECOND: u64 = 1_000_000_000;

fn series() -> Series {
    Series {
        source: "vmstat".into(),
        column: 0,
        name: "pgfault".into(),
        labels: String::new(),
        unit: Some(RawUnit::Count),
        kind: Kind::Counter,
        first_seen: SECOND,
    }
}

/// Writes `ticks` ticks, a batch of ten at a time. All columns but one are noise, as in hardly any file.
struct Making {
    encoder: TickEncoder,
    writer: Writer,
    taken: u64,
}

impl Making {
    fn start(path: &Path, cap: Option<u64>) -> Making {
        let mut writer = Writer::create(path, &[CLOCK, "vmstat"], &[("hz".into(), "1".into())], cap).unwrap();
        writer.write(Batch { series: vec![series()], ..Batch::default() }).unwrap();
        Making { encoder: TickEncoder::new(2), writer, taken: 0 }
    }

    fn row(&mut self) -> TickRow {
        self.taken += 1;
        let ts = self.taken * SECOND;
        let mut row = Vec::new();
        let clock = [ts, 5, 1_700_000_000];
        // splitmix64: nothing to compress.
        let noise = |column: u64| {
            let z = (self.taken * 64 + column).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
        };
        let values: Vec<u64> = (0..40).map(|column| if column == 0 { self.taken } else { noise(column) }).collect();
        self.encoder.begin();
        self.encoder.section(&mut row, Some(Reading { took: 0, values: &clock, present: &[true; 3] }));
        self.encoder.section(&mut row, Some(Reading { took: 9, values: &values, present: &[true; 40] }));
        TickRow { ts, wall_offset: 1_700_000_000, row }
    }

    fn ticks(&mut self, count: usize) -> Result<(), RecordingError> {
        for _ in 0..count / 10 {
            let ticks = (0..10).map(|_| self.row()).collect();
            self.writer.write(Batch { ticks, ..Batch::default() })?;
        }
        Ok(())
    }
}

fn values(recording: &Recording) -> Result<Vec<u64>, RecordingError> {
    let mut all = Vec::new();
    for block in recording.blocks() {
        all.extend(block?.values(&series()).map(|(_, value)| value));
    }
    Ok(all)
}

fn finished(path: &Path, ticks: usize) {
    let mut making = Making::start(path, None);
    making.ticks(ticks).unwrap();
    making.writer.finish(&[]).unwrap();
}

#[test]
fn ticks_are_the_same_before_and_after_they_are_closed_into_segments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, None);
    making.ticks(750).unwrap();
    let open = Recording::open(&path).unwrap();
    assert_eq!(values(&open).unwrap(), (1..=750).collect::<Vec<u64>>());
    assert_eq!((open.ticks().unwrap(), open.blocks().count(), open.is_complete()), (750, 3, false));
    drop(open);
    making.writer.finish(&[("end".into(), "1".into())]).unwrap();
    let closed = Recording::open(&path).unwrap();
    assert_eq!(values(&closed).unwrap(), (1..=750).collect::<Vec<u64>>());
    assert!(closed.is_complete() && closed.meta()["end"] == "1");
    let first = closed.blocks().next().unwrap().unwrap();
    assert_eq!((first.ticks.len(), first.ticks[2].begin, first.ticks[2].late), (300, 3 * SECOND, 5));
}

#[test]
fn a_stretch_is_read_from_the_segments_it_lies_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.pgw");
    let mut making = Making::start(&file, None);
    making.ticks(1000).unwrap();
    let recording = Recording::open(&file).unwrap();
    let firsts = |from: u64, to: u64| -> Vec<u64> {
        recording
            .blocks_between(from * SECOND, to * SECOND)
            .map(|block| block.unwrap().ticks[0].begin / SECOND)
            .collect()
    };
    // The rows that are in no segment yet are always among them.
    assert_eq!(firsts(0, 2000), [1, 301, 601, 901]);
    assert_eq!(firsts(300, 301), [1, 301, 901]);
    assert_eq!(firsts(700, 700), [601, 901]);
    let part = Part::new(&recording, 299 * SECOND, 302 * SECOND, None);
    let values =
        |block: Block| block.values(&series()).map(|(tick, value)| (tick.begin / SECOND, value)).collect::<Vec<_>>();
    let seen: Vec<(u64, u64)> = part.blocks().flat_map(|block| values(block.unwrap())).collect();
    assert_eq!(seen, [(299, 299), (300, 300), (301, 301), (302, 302)]);
}

#[test]
fn a_capped_recording_keeps_its_newest_part_and_says_what_went() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let cap = 600_000;
    let mut making = Making::start(&path, Some(cap));
    making.ticks(3000).unwrap();
    let bytes = making.writer.finish(&[]).unwrap();
    assert!(bytes <= cap, "{bytes}");
    let recording = Recording::open(&path).unwrap();
    let seen = values(&recording).unwrap();
    assert_eq!(seen.last(), Some(&3000));
    assert!(seen[0] > 1 && seen.windows(2).all(|pair| pair[1] == pair[0] + 1), "from {}", seen[0]);
    let gaps: Vec<_> = recording.gaps().iter().filter(|gap| gap.reason == GapReason::Evicted).collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!((gaps[0].from, gaps[0].to, gaps[0].ticks), (SECOND, Some((seen[0] - 1) * SECOND), Some(seen[0] - 1)));
}

#[test]
fn a_cap_that_holds_nothing_ends_the_recording_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, Some(1000));
    let error = making.ticks(700).unwrap_err();
    assert!(matches!(error, RecordingError::CapTooSmall { cap: 1000, .. }), "{error}");
    making.writer.abandon(&error.to_string());
    assert!(Recording::open(&path).unwrap().meta()["ended"].contains("size cap"));
}

#[test]
fn tables_and_columns_of_a_newer_version_are_left_alone_and_a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    finished(&path, 20);
    let database = Connection::open(&path).unwrap();
    let newer = "CREATE TABLE finding (id INTEGER PRIMARY KEY, parent INTEGER); ALTER TABLE mark ADD COLUMN colour TEXT;
                 INSERT INTO mark (ts, source, text, colour) VALUES (1, 'x', 'y', 'red');
                 INSERT INTO segment (source, seq, t0, t1, n, codec, blob) VALUES ('gpu', 0, 0, 0, 20, 'wavelet', x'00');
                 UPDATE series SET unit = 'furlongs';";
    database.execute_batch(newer).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(values(&recording).unwrap().len(), 20);
    assert_eq!((recording.marks().unwrap().len(), recording.series()[0].unit), (1, None));
    drop(recording);
    database.pragma_update(None, "user_version", FORMAT + 1).unwrap();
    drop(database);
    assert!(matches!(Recording::open(&path), Err(RecordingError::Newer { found, .. }) if found == FORMAT + 1));
}

#[test]
fn what_is_no_recording_is_told_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let why = |path: &Path| Recording::open(path).unwrap_err().to_string();
    assert!(why(&path).contains("cannot read"));
    assert!(why(folder.path()).contains("it is no file"));
    fs::write(&path, "").unwrap();
    assert!(why(&path).contains("too short"));
    fs::write(&path, "x".repeat(5000)).unwrap();
    assert!(why(&path).contains("no SQLite database"));
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE meta (key)").unwrap();
    assert!(why(&path).contains("another program"));
    let database = Connection::open(&path).unwrap();
    database.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    drop(database);
    assert!(why(&path).contains("has no table"));
}

#[test]
fn a_view_in_the_place_of_a_table_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    finished(&path, 20);
    let endless = "DROP TABLE gap; CREATE VIEW gap AS WITH RECURSIVE n(t0) AS (SELECT 1 UNION ALL SELECT t0 + 1 FROM n)
                   SELECT t0, t0 AS t1, 'x' AS source, 'late' AS reason, 1 AS ticks, '' AS detail FROM n;";
    Connection::open(&path).unwrap().execute_batch(endless).unwrap();
    assert!(Recording::open(&path).unwrap_err().to_string().contains("no table gap"));
}

#[test]
fn what_no_recording_has_is_refused_before_it_can_run() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (change, what)) in [
        ("CREATE VIEW handy AS SELECT * FROM gap", "view handy"),
        ("CREATE TRIGGER t AFTER DELETE ON tick BEGIN DELETE FROM segment; END", "trigger t"),
        ("CREATE INDEX i ON tick (zeroblob(1000))", "index i"),
        ("CREATE VIRTUAL TABLE found USING fts5(words)", "table found"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.pgw"));
        finished(&path, 20);
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let refused = Recording::open(&path).unwrap_err().to_string();
        assert!(refused.contains("is no recording") && refused.contains(what), "{change}: {refused}");
        let copied = snapshot(&path, &folder.path().join("copy.pgw")).unwrap_err().to_string();
        assert_eq!(copied, refused);
    }
    let path = folder.path().join("more.pgw");
    finished(&path, 20);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE newer (what TEXT UNIQUE)").unwrap();
    assert!(Recording::open(&path).is_ok(), "a table of a newer version, with the index that SQLite makes for it");
}

#[test]
fn a_number_of_ticks_that_is_not_that_of_the_segment_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    for (source, n) in [("clock", i64::MAX), ("clock", -1), ("clock", 299), ("vmstat", 1 << 40)] {
        finished(&path, 700);
        let change = format!("UPDATE segment SET n = {n} WHERE source = '{source}' AND seq = 300");
        assert_eq!(Connection::open(&path).unwrap().execute(&change, []).unwrap(), 1, "{change}");
        let recording = Recording::open(&path).unwrap();
        let says = format!("the segment of {source} at tick 300 says {n} ticks and has 300");
        let read = values(&recording).unwrap_err().to_string();
        assert!(read.contains(&says), "{read}");
        if source == "clock" {
            let counted = recording.ticks().unwrap_err().to_string();
            assert!(counted.contains(&says), "{counted}");
        } else {
            assert_eq!(recording.ticks().unwrap(), 700);
        }
        drop(recording);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_recording_in_a_folder_nobody_can_write_to_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a %41?.pgw");
    finished(&path, 20);
    let database = Connection::open_with_flags(as_uri(&path), rusqlite::OpenFlags::default()).unwrap();
    assert_eq!(database.query_row("SELECT count(*) FROM segment", [], |row| row.get::<_, i64>(0)), Ok(2));
}

fn as_uri(path: &Path) -> String {
    reader::as_it_stands(path)
}

#[test]
fn ticks_before_a_damaged_one_are_still_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    finished(&path, 620);
    let database = Connection::open(&path).unwrap();
    database.execute("UPDATE segment SET blob = x'28b52ffd00' WHERE source = 'vmstat' AND seq = 300", []).unwrap();
    drop(database);
    let recording = Recording::open(&path).unwrap();
    let blocks: Vec<_> = recording.blocks().collect();
    assert!(blocks[0].is_ok() && blocks[2].is_ok());
    let error = blocks[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("vmstat at tick 300"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Any bytes of the file changed, or its end cut off: an error or numbers, never a panic, never without end.
    #[test]
    fn no_damage_makes_reading_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), cut in prop::option::of(any::<prop::sample::Index>())) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pgw");
        let bytes = whole();
        let mut bytes = bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            let cut = cut.index(bytes.len());
            bytes.truncate(cut);
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(recording) = Recording::open(&path) {
            let _ = (recording.settings(), recording.marks(), recording.ticks());
            let _ = (recording.profile(), recording.stalls());
            let _ = values(&recording);
        }
    }
}

/// A recording with both closed segments and open ticks.
fn whole() -> &'static Vec<u8> {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pgw");
        let mut making = Making::start(&path, None);
        making.ticks(340).unwrap();
        making.writer.write(traced(3)).unwrap();
        making.writer.abandon("for a test");
        fs::read(&path).unwrap()
    })
}

/// Two functions, two stacks, and in each of so many slices of a second a sample of either and a stall.
fn traced(slices: u64) -> Batch {
    let mut batch =
        Batch { meta: vec![(stacks::EVENT, "cpu-clock".into()), (stacks::HZ, "19".into())], ..Batch::default() };
    let frame = |name: &str, module: &str| Frame { name: name.into(), module: module.into() };
    let rows = batch.stack_rows();
    rows.frames = vec![frame("main", "job"), frame("compact_zone", KERNEL)];
    rows.nodes = vec![(None, 0), (Some(StackId(0)), 1)];
    rows.samples = (1..=slices).flat_map(|slice| [sample(slice, 0, 5), sample(slice, 1, 2)]).collect();
    *batch.stall_rows() = (1..=slices).map(stall).collect();
    batch
}

fn sample(slice: u64, stack: u32, count: u64) -> StackSample {
    let (from, to) = (slice * SECOND, (slice + 1) * SECOND);
    StackSample { from, to, cpu: Some(1), pid: Some(77), comm: "job".into(), stack: StackId(stack), count }
}

fn stall(slice: u64) -> StallRow {
    let mut durations = Durations::default();
    durations.add(5_000_000, 3);
    StallRow {
        from: slice * SECOND,
        to: (slice + 1) * SECOND,
        kind: StallKind::Compaction,
        pid: 77,
        comm: "job".into(),
        order: Some(9),
        purpose: Some(Purpose::HugePage),
        outcome: "contended".into(),
        durations,
    }
}

#[test]
fn stacks_and_stalls_come_back_as_they_were_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, None);
    making.writer.write(traced(3)).unwrap();
    // A later batch goes on where the first ended: a function and a stack more, under one that is there.
    let mut more = Batch { meta: vec![(stacks::LOST, "4".into())], ..Batch::default() };
    let rows = more.stack_rows();
    rows.frames = vec![Frame { name: "alloc".into(), module: "libc.so.6".into() }];
    rows.nodes = vec![(Some(StackId(1)), 2)];
    rows.samples = vec![sample(4, 2, 1), StackSample { cpu: None, pid: None, ..sample(4, 0, 1) }];
    making.writer.write(more).unwrap();
    making.writer.finish(&[]).unwrap();

    let recording = Recording::open(&path).unwrap();
    let profile = recording.profile().unwrap().unwrap();
    assert_eq!((profile.event, profile.hz, profile.lost), (Some(SamplingEvent::CpuClock), Some(19.0), 4));
    let names: Vec<&str> =
        profile.stacks.walk(StackId(2)).map(|frame| profile.stacks.frames()[frame as usize].name.as_str()).collect();
    assert_eq!(names, ["alloc", "compact_zone", "main"]);
    let mut expected: Vec<StackSample> = traced(3).stacks.unwrap().samples;
    expected.extend([sample(4, 2, 1), StackSample { cpu: None, pid: None, ..sample(4, 0, 1) }]);
    assert_eq!(profile.samples, expected);
    assert_eq!(recording.stalls().unwrap().unwrap(), (1..=3).map(stall).collect::<Vec<_>>());
}

#[test]
fn nobody_looked_is_told_from_nothing_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (without, with) = (folder.path().join("a.pgw"), folder.path().join("b.pgw"));
    finished(&without, 20);
    let recording = Recording::open(&without).unwrap();
    assert!(recording.profile().unwrap().is_none() && recording.stalls().unwrap().is_none());
    let mut making = Making::start(&with, None);
    let mut batch = Batch::default();
    batch.stack_rows();
    batch.stall_rows();
    making.writer.write(batch).unwrap();
    making.writer.finish(&[]).unwrap();
    let recording = Recording::open(&with).unwrap();
    assert_eq!(recording.profile().unwrap().unwrap().samples, []);
    assert_eq!(recording.stalls().unwrap().unwrap(), []);
}

#[test]
fn stacks_and_stalls_of_a_time_that_was_evicted_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, Some(600_000));
    making.writer.write(traced(2999)).unwrap();
    making.ticks(3000).unwrap();
    making.writer.finish(&[]).unwrap();
    let recording = Recording::open(&path).unwrap();
    let gone_until = recording.gaps().iter().find(|gap| gap.reason == GapReason::Evicted).unwrap().to.unwrap();
    let profile = recording.profile().unwrap().unwrap();
    let left = 2 * (3000 - gone_until / SECOND) as usize;
    assert!(profile.samples.iter().all(|sample| sample.to > gone_until));
    assert_eq!(profile.samples.len(), left, "both of every slice that ends later");
    assert_eq!(recording.stalls().unwrap().unwrap().len(), left / 2);
}

#[test]
fn stacks_and_stalls_that_cannot_be_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (change, says)) in [
        ("UPDATE stack SET parent = 1 WHERE id = 0", "comes before its parent"),
        ("UPDATE stack SET parent = 0 WHERE id = 0", "comes before its parent"),
        ("UPDATE stack SET frame = 9 WHERE id = 1", "frame 9, which is not there"),
        ("DELETE FROM stack WHERE id = 1", "stack 1, which is not there"),
        ("DELETE FROM slice WHERE id = 2", "slice 2, which is not there"),
        ("UPDATE slice SET t1 = 0 WHERE id = 2", "ends before it begins"),
        ("UPDATE slice SET t0 = -5", "holds -5"),
        ("UPDATE sample SET n = -1", "holds -1"),
        ("UPDATE sample SET pid = 99999999999", "holds 99999999999"),
        ("UPDATE sample SET comm = x'00'", "comm holds a value of type Blob"),
        ("UPDATE frame SET name = zeroblob(3)", "name holds a value of type Blob"),
        ("DROP TABLE slice", "no table slice"),
        ("UPDATE stall SET buckets = x'80'", "buckets"),
        ("UPDATE stall SET total = -1", "holds -1"),
        ("UPDATE stall SET page_order = 300", "holds 300"),
        ("UPDATE stall SET t1 = 0", "ends before it begins"),
        (
            "DROP TABLE frame; CREATE TABLE frame (id INTEGER PRIMARY KEY, name AS (hex(zeroblob(200000000))), module);
             INSERT INTO frame (id, module) VALUES (0, ''), (1, '')",
            "larger than any",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.pgw"));
        let mut making = Making::start(&path, None);
        making.writer.write(traced(3)).unwrap();
        making.writer.finish(&[]).unwrap();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let recording = Recording::open(&path).unwrap();
        let error = recording.profile().err().or(recording.stalls().err());
        let error = error.unwrap_or_else(|| panic!("{change} was taken"));
        let shown = error.to_string();
        assert!(matches!(error, RecordingError::Damaged { .. }) && shown.contains(says), "{change}: {shown}");
    }
}

#[test]
fn a_stall_of_a_kind_of_a_newer_version_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, None);
    making.writer.write(traced(3)).unwrap();
    making.writer.finish(&[]).unwrap();
    Connection::open(&path).unwrap().execute("UPDATE stall SET kind = 'teleport' WHERE rowid = 2", []).unwrap();
    assert_eq!(Recording::open(&path).unwrap().stalls().unwrap().unwrap().len(), 2);
}

/// Two processes at a time, of which the first walk cannot tell what became more.
fn walk(number: u64) -> Walk {
    let used = |times: u64| ProcessUsage {
        user: times * SECOND,
        system: times * 70,
        minor_faults: times * 1000,
        major_faults: times,
    };
    let row = |pid: u32, comm: &[u8]| ProcessRow {
        pid,
        started: 3 * SECOND,
        comm: comm.to_vec(),
        state: 'D',
        threads: 12,
        resident: (10 - number % 10) << 20,
        used: used(number),
        grown: (number > 1).then(|| UsageGrowth { used: used(1), resident: -(1 << 20) }),
    };
    let from = number * 30 * SECOND;
    Walk { from, to: from + 7, processes: 312, rows: vec![row(77, b"job"), row(78, b"a\xff\n\x00")] }
}

#[test]
fn walks_come_back_as_they_were_given_names_of_any_bytes_included() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, None);
    for number in [1, 2] {
        let mut batch = Batch::default();
        batch.walks().push(walk(number));
        making.writer.write(batch).unwrap();
    }
    making.writer.finish(&[]).unwrap();
    assert_eq!(Recording::open(&path).unwrap().walks().unwrap().unwrap(), [walk(1), walk(2)]);
    let database = Connection::open(&path).unwrap();
    let types: String =
        database.query_row("SELECT group_concat(DISTINCT typeof(comm)) FROM process", [], |row| row.get(0)).unwrap();
    assert_eq!(types, "text,blob", "readers of other languages find text where there is text");
}

#[test]
fn a_recording_without_walks_is_told_from_one_in_which_nobody_led() {
    let folder = tempfile::tempdir().unwrap();
    let (without, with) = (folder.path().join("a.pgw"), folder.path().join("b.pgw"));
    finished(&without, 20);
    assert_eq!(Recording::open(&without).unwrap().walks().unwrap(), None);
    let mut making = Making::start(&with, None);
    let mut batch = Batch::default();
    batch.walks();
    making.writer.write(batch).unwrap();
    making.writer.finish(&[]).unwrap();
    assert_eq!(Recording::open(&with).unwrap().walks().unwrap(), Some(vec![]));
}

#[test]
fn walks_of_a_newer_version_are_read_as_far_as_they_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    with_walks(&path);
    let newer = "ALTER TABLE process ADD COLUMN swapped INTEGER; ALTER TABLE walk ADD COLUMN asked_by TEXT;
                 UPDATE process SET swapped = 5, state = 'sleeping' WHERE pid = 78";
    Connection::open(&path).unwrap().execute_batch(newer).unwrap();
    let walks = Recording::open(&path).unwrap().walks().unwrap().unwrap();
    assert_eq!((walks.len(), walks[0].rows[1].state), (3, 's'));
    // One that is not known makes all that became more unknown.
    Connection::open(&path).unwrap().execute("UPDATE process SET minor_more = NULL", []).unwrap();
    let walks = Recording::open(&path).unwrap().walks().unwrap().unwrap();
    assert!(walks.iter().flat_map(|walk| &walk.rows).all(|row| row.grown.is_none()));
}

fn with_walks(path: &Path) {
    let mut making = Making::start(path, None);
    making.writer.write(Batch { walks: Some((1..=3).map(walk).collect()), ..Batch::default() }).unwrap();
    making.writer.finish(&[]).unwrap();
}

#[test]
fn walks_of_a_time_that_was_evicted_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, Some(600_000));
    making.writer.write(Batch { walks: Some((1..100).map(walk).collect()), ..Batch::default() }).unwrap();
    making.ticks(3000).unwrap();
    making.writer.finish(&[]).unwrap();
    let recording = Recording::open(&path).unwrap();
    let gone_until = recording.gaps().iter().find(|gap| gap.reason == GapReason::Evicted).unwrap().to.unwrap();
    let expected: Vec<Walk> = (1..100).map(walk).filter(|walk| walk.to > gone_until).collect();
    assert!(!expected.is_empty() && expected.len() < 99);
    assert_eq!(recording.walks().unwrap().unwrap(), expected);
}

#[test]
fn walks_that_cannot_be_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (change, says)) in [
        ("DELETE FROM walk WHERE id = 2", "walk 2, which is not there"),
        ("UPDATE walk SET t1 = 0 WHERE id = 2", "ends before it begins"),
        ("UPDATE walk SET t0 = -5", "table walk, column t0 holds -5"),
        ("UPDATE process SET rss = -1", "table process, column rss holds -1"),
        ("UPDATE process SET user_more = -1", "holds -1"),
        ("UPDATE process SET pid = 99999999999", "holds 99999999999"),
        ("UPDATE process SET threads = 'many'", "threads holds a value of type Text"),
        (
            "CREATE TABLE other AS SELECT * FROM process; DROP TABLE process; ALTER TABLE other RENAME TO process;
             UPDATE process SET comm = NULL",
            "comm holds a value of type Null",
        ),
        ("DROP TABLE walk", "no table walk"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.pgw"));
        with_walks(&path);
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let error = Recording::open(&path).unwrap().walks().err().unwrap_or_else(|| panic!("{change} was taken"));
        let shown = error.to_string();
        assert!(matches!(error, RecordingError::Damaged { .. }) && shown.contains(says), "{change}: {shown}");
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A recording whose writer lives, with so many ticks, stacks, stalls and a walk.
fn growing(path: &Path, ticks: usize) -> Making {
    let mut making = Making::start(path, None);
    making.writer.write(traced(3)).unwrap();
    making.writer.write(Batch { walks: Some(vec![walk(1)]), ..Batch::default() }).unwrap();
    making.ticks(ticks).unwrap();
    making
}

/// The same as a kill would leave it.
fn killed(folder: &Path, ticks: usize) -> PathBuf {
    let living = tempfile::tempdir().unwrap();
    let making = growing(&living.path().join("a.pgw"), ticks);
    for name in ["a.pgw", "a.pgw-wal"] {
        fs::copy(living.path().join(name), folder.join(name)).unwrap();
    }
    drop(making);
    folder.join("a.pgw")
}

#[test]
fn a_snapshot_has_all_that_was_written_and_the_recording_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = growing(&path, 740);
    // This process records: it is what `meta` says.
    let own = crate::source::process::start_time(&crate::root::Root::live(), std::process::id()).unwrap();
    let boot = crate::source::boot_id(&crate::root::Root::live()).unwrap();
    let meta = vec![(RECORDER, format!("{} {own}", std::process::id())), ("boot_id", boot)];
    making.writer.write(Batch { meta, ..Batch::default() }).unwrap();
    let now = folder.path().join("now.pgw");
    let taken = snapshot(&path, &now).unwrap();
    assert_eq!((taken.was, taken.samples), (CopiedState::Running, 740));
    let last = |recording: &Recording| recording.last_tick().unwrap().unwrap();
    let wall = |(since_boot, offset): (u64, i64)| i128::from(since_boot) + i128::from(offset);
    let until = wall(last(&Recording::open(&path).unwrap()));
    assert_eq!(taken.until, jiff::Timestamp::from_nanosecond(until).ok().map(|until| format!("{until:.3}")));
    assert_eq!(taken.bytes, fs::metadata(&now).unwrap().len());
    let copy = Recording::open(&now).unwrap();
    assert!(copy.is_complete() && copy.meta()[SNAPSHOT] == taken.taken);
    assert!(taken.taken.parse::<jiff::Timestamp>().is_ok());
    assert_eq!(values(&copy).unwrap(), (1..=740).collect::<Vec<u64>>());
    assert_eq!(copy.walks().unwrap().unwrap(), [walk(1)]);
    assert_eq!(copy.stalls().unwrap().unwrap().len(), 3);
    assert_eq!(copy.profile().unwrap().unwrap().samples.len(), 6);
    let open: i64 = copy.database().query_row("SELECT count(*) FROM tick", [], |row| row.get(0)).unwrap();
    assert_eq!(open, 0, "its last segment is closed");
    assert_eq!(wall(last(&copy)), until, "the same from a segment as from a tick");
    let version: i64 = copy.database().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, i64::from(FORMAT));
    drop(copy);
    assert!(!names_in(folder.path()).iter().any(|name| name.starts_with("now.pgw") && name != "now.pgw"));
    making.ticks(100).unwrap();
    making.writer.finish(&[]).unwrap();
    let whole = Recording::open(&path).unwrap();
    assert_eq!(values(&whole).unwrap().len(), 840);
    assert!(whole.is_complete() && !whole.meta().contains_key(SNAPSHOT));
    drop(whole);
    let again = snapshot(&path, &folder.path().join("again.pgw")).unwrap();
    assert_eq!((again.was, again.samples), (CopiedState::Complete, 840));
}

#[test]
fn a_snapshot_of_a_recording_that_was_killed_is_closed_and_says_how_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let killed = killed(folder.path(), 310);
    let before = fs::read(&killed).unwrap();
    let now = folder.path().join("now.pgw");
    let taken = snapshot(&killed, &now).unwrap();
    assert_eq!((taken.was, taken.samples), (CopiedState::Ended, 310));
    let copy = Recording::open(&now).unwrap();
    assert!(!copy.is_complete() && copy.meta()["ended"].contains("killed"));
    assert_eq!(values(&copy).unwrap().len(), 310);
    assert!(!folder.path().join("now.pgw-wal").exists(), "it needs no companion");
    assert!(fs::read(&killed).unwrap() == before, "what was copied is as it was");
}

#[test]
fn a_recorder_that_is_being_ended_counts_as_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = growing(&path, 20);
    let meta = vec![(RECORDER, "70 4711".to_owned()), ("boot_id", "b".to_owned())];
    making.writer.write(Batch { meta, ..Batch::default() }).unwrap();
    let recording = Recording::open(&path).unwrap();
    let root = crate::root::Root::at(folder.path().join("host"));
    fs::create_dir_all(root.path("/proc/70")).unwrap();
    fs::create_dir_all(root.path("/proc/sys/kernel/random")).unwrap();
    fs::write(root.path("/proc/sys/kernel/random/boot_id"), "b\n").unwrap();
    let host = |state: char, flags: u64, thread: u64, process: u64| {
        let stat = format!("70 (pagewise) {state} 1 70 70 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 4 0 4711 0 0\n");
        fs::write(root.path("/proc/70/stat"), stat).unwrap();
        let status = format!("Name:\tpagewise\nSigPnd:\t{thread:016x}\nShdPnd:\t{process:016x}\n");
        fs::write(root.path("/proc/70/status"), status).unwrap();
        super::snapshot::is_recorder_there(&recording, &root)
    };
    const FORKED: u64 = 0x40;
    assert!(host('S', FORKED, 0, 1 << 14), "a SIGTERM that waits ends nothing yet");
    assert!(!host('Z', FORKED, 0, 0));
    assert!(!host('R', FORKED | 0x4, 0, 0), "it gives its memory back");
    assert!(!host('D', FORKED, 1 << 8, 0) && !host('D', FORKED, 0, 1 << 8), "SIGKILL waits for a disk");
}

#[test]
fn a_snapshot_never_overwrites_and_leaves_nothing_of_one_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let _making = growing(&path, 20);
    let was = names_in(folder.path());
    let to = |name: &str| folder.path().join(name);
    let error = snapshot(&path, &path).unwrap_err();
    assert!(matches!(error, RecordingError::Exists(_)), "{error}");
    fs::write(to("mine"), "mine").unwrap();
    assert!(matches!(snapshot(&path, &to("mine")), Err(RecordingError::Exists(_))));
    std::os::unix::fs::symlink("nowhere", to("link")).unwrap();
    assert!(matches!(snapshot(&path, &to("link")), Err(RecordingError::Exists(_))));
    fs::write(to("new.pgw-wal"), "of another").unwrap();
    assert!(matches!(snapshot(&path, &to("new.pgw")), Err(RecordingError::Exists(_))));
    assert!(matches!(snapshot(&to("mine"), &to("b.pgw")), Err(RecordingError::NotARecording { .. })));
    assert!(matches!(snapshot(&to("absent"), &to("b.pgw")), Err(RecordingError::File { .. })));
    let error = snapshot(&path, &to("no/such/folder.pgw")).unwrap_err();
    assert!(error.to_string().contains("no/such/folder.pgw:"), "{error}");
    assert_eq!(fs::read_to_string(to("mine")).unwrap(), "mine");
    for made in ["mine", "link", "new.pgw-wal"] {
        fs::remove_file(to(made)).unwrap();
    }
    assert_eq!(names_in(folder.path()), was);
}

#[test]
fn a_snapshot_of_damage_says_where_it_is_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let killed = killed(folder.path(), 20);
    for (change, says) in [
        ("DELETE FROM tick WHERE seq = 7", "one after the other"),
        ("UPDATE tick SET row = x'ffff' WHERE seq = 7", "a tick"),
        ("UPDATE tick SET seq = seq + 9223372036854775000 WHERE seq > 7", "one after the other"),
        ("UPDATE tick SET ts = -1 WHERE seq = 7", "holds -1"),
    ] {
        let path = folder.path().join("damaged.pgw");
        Connection::open(&killed).unwrap().execute(&format!("VACUUM INTO '{}'", path.display()), []).unwrap();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let now = folder.path().join("now.pgw");
        let error = snapshot(&path, &now).unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains("damaged.pgw is damaged") && shown.contains(says), "{change}: {shown}");
        assert!(!names_in(folder.path()).iter().any(|name| name.starts_with("now.pgw")), "{change}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_checkpoint_waits_for_no_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let mut making = Making::start(&path, None);
    making.ticks(100).unwrap();
    let reader = Recording::open(&path).unwrap();
    making.ticks(100).unwrap();
    let begun = Instant::now();
    making.writer.checkpoint();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    making.ticks(100).unwrap();
    assert_eq!(reader.ticks().unwrap(), 100, "a reader sees what was there when it came");
    drop(reader);
    making.writer.checkpoint();
    making.writer.finish(&[]).unwrap();
    assert_eq!(values(&Recording::open(&path).unwrap()).unwrap().len(), 300);
}

#[test]
fn a_file_system_without_shared_memory_is_named_and_what_to_do() {
    let code = rusqlite::ffi::SQLITE_IOERR_SHMMAP;
    let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
    let said = RecordingError::Database { action: "create", path: "/net/host.pgw".into(), source }.to_string();
    assert!(said.contains("network file systems: record to a disk of this host"), "{said}");
}
