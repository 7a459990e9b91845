//! The written files, read by readers of others where there are some.

use super::*;
use crate::import::{KindFile, open, write};
use pagewise_core::import::Assumed;
use std::io::Read;

fn recording(folder: &Path) -> PathBuf {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports");
    let file = |kind: &str, name: &str| format!("{kind}:{}", samples.join(name).display()).parse::<KindFile>().unwrap();
    let files = [file("collectl", "collectl-thp-on.txt"), file("perf-script", "perf-script.txt")];
    let path = folder.join("a.pgw");
    write(&open(&files, &Assumed::default()).unwrap(), &path).unwrap();
    path
}

fn format(word: &str) -> Format {
    word.parse().unwrap()
}

fn exported(path: &Path, word: &str) -> Vec<u8> {
    let mut out = Vec::new();
    export(path, format(word), &Selection::default(), None, &mut out).unwrap();
    out
}

#[test]
fn a_recording_goes_to_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let csv = String::from_utf8(exported(&path, "csv")).unwrap();
    assert_eq!(csv.lines().count(), 22 * 10 + 1);
    assert!(csv.lines().nth(1).unwrap().starts_with(",0,"), "a listing without a date has no RFC 3339 time: {csv}");
    assert!(String::from_utf8(exported(&path, "openmetrics")).unwrap().ends_with("# EOF\n"));
    assert!(String::from_utf8(exported(&path, "folded")).unwrap().contains("read_zero_[k] "));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(exported(&path, "pprof").as_slice()).read_to_end(&mut plain).unwrap();
    assert!(plain.windows(9).any(|window| window == b"read_zero"));
    let firefox: serde_json::Value = serde_json::from_slice(&exported(&path, "firefox")).unwrap();
    let thread = &firefox["threads"][0];
    let weights: u64 = thread["samples"]["weight"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    let total: u64 = crate::store::recording::Recording::open(&path)
        .unwrap()
        .profile()
        .unwrap()
        .unwrap()
        .samples
        .iter()
        .filter(|sample| sample.comm == thread["name"].as_str().unwrap())
        .map(|sample| sample.count)
        .sum();
    assert_eq!(weights, total);
    assert!(firefox["meta"]["preprocessedProfileVersion"].as_u64().unwrap() > 40);
}

#[test]
fn parquet_is_a_file_per_source_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let to = folder.path().join("out");
    let selection = Selection::default();
    let files = export(&path, format("parquet"), &selection, Some(&to), &mut io::sink()).unwrap();
    let names: Vec<String> =
        files.iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["import.parquet", "meminfo.parquet"]);
    let again = export(&path, format("parquet"), &selection, Some(&to), &mut io::sink()).unwrap_err();
    assert!(matches!(again, ExportError::Exists(_)), "{again}");
    let csv = folder.path().join("a.csv");
    export(&path, format("csv"), &selection, Some(&csv), &mut io::sink()).unwrap();
    assert!(export(&path, format("csv"), &selection, Some(&csv), &mut io::sink()).is_err());
    let none = Selection { series: vec!["nothing.*".into()], ..Selection::default() };
    assert!(matches!(export(&path, format("csv"), &none, None, &mut io::sink()), Err(ExportError::NoSeries(_))));
}

#[test]
fn processes_are_series_of_their_own_whatever_their_names() {
    use crate::store::recording::{Batch, CLOCK, Writer};
    use pagewise_core::recording::{ProcessRow, ProcessUsage, Walk};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let meta = [("anchor_wall_offset_ns".to_owned(), "1700000000000000000".to_owned())];
    let mut writer = Writer::create(&path, &[CLOCK], &meta, None).unwrap();
    let row = |comm: &[u8], user: u64| ProcessRow {
        pid: 7,
        started: 1_230_000_000,
        comm: comm.to_vec(),
        state: 'R',
        threads: 2,
        resident: 8192,
        used: ProcessUsage { user, ..ProcessUsage::default() },
        grown: None,
    };
    let walk = |from: u64, rows| Walk { from, to: from + 1, processes: 9, rows };
    let second = 1_000_000_000;
    let walks =
        vec![walk(5 * second, vec![row(b"sh", 0)]), walk(6 * second, vec![row(b"a,b=\"\n\xff", 1_500_000_000)])];
    writer.write(Batch { walks: Some(walks), ..Batch::default() }).unwrap();
    writer.finish(&[]).unwrap();
    let exported = |word: &str, series: &str| {
        let (mut out, selection) = (Vec::new(), Selection { series: vec![series.to_owned()], ..Selection::default() });
        export(&path, format(word), &selection, None, &mut out).map(|_| String::from_utf8(out).unwrap())
    };
    assert_eq!(
        exported("csv", "processes.user").unwrap().lines().skip(1).collect::<Vec<_>>(),
        [
            "2023-11-14T22:13:26Z,1,processes.user,\"pid=7,started=1.23,comm=a;b:\"\" \u{fffd}\",seconds,counter,1.5",
            "2023-11-14T22:13:25Z,0,processes.user,\"pid=7,started=1.23,comm=sh\",seconds,counter,0",
        ]
    );
    let metrics = exported("openmetrics", "resident").unwrap();
    assert!(metrics.contains(
        "pagewise_processes_resident_bytes{pid=\"7\",started=\"1.23\",comm=\"sh\"} 8192 1700000005.000000000"
    ));
    assert!(metrics.contains("comm=\"a;b:\\\" \u{fffd}\""), "{metrics}");
    assert!(matches!(exported("csv", "processes.smell"), Err(ExportError::NoSeries(_))));
    assert!(matches!(exported("parquet", "processes.*"), Err(ExportError::NoSeries(_))));
}
