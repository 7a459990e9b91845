//! Recordings that are capped, damaged, foreign, newer, or hostile.

use super::*;
use pagewise_core::recording::tick::{Reading, TickEncoder};
use pagewise_core::recording::{GapReason, Kind, RawUnit, Recorded, Series};
use proptest::prelude::*;
use rusqlite::Connection;
use std::fs;

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
    let newer = "CREATE TABLE stack (id INTEGER PRIMARY KEY, parent INTEGER); ALTER TABLE mark ADD COLUMN colour TEXT;
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
        making.writer.abandon("for a test");
        fs::read(&path).unwrap()
    })
}
