//! Recordings: the file as a whole, and what its tables hold.

use pagewise_core::export::{Selection, csv, folded, openmetrics, pprof};
use pagewise_core::finding::{self, Observed};
use pagewise_core::import::{Assumed, Kind};
use pagewise_core::recording::segment;
use pagewise_core::recording::tick::{Reading, SourceRow, TickDecoder, TickEncoder};
use pagewise_core::recording::{Block, Recorded, SourceBlock};
use pagewise_host::import::{KindFile, open, write};
use pagewise_host::store::recording::Recording;
use std::fs;
use std::path::Path;

pub(super) fn file(bytes: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("a.pgw");
    if fs::write(&path, bytes).is_err() {
        return;
    }
    let Ok(recording) = Recording::open(&path) else { return };
    let _ = (recording.settings(), recording.marks(), recording.ticks(), recording.stalls(), recording.walks());
    for block in recording.blocks().flatten() {
        for series in recording.series() {
            let _ = block.values(series).count();
        }
    }
    let _ = csv::write(&recording, &Selection::default());
    let _ = openmetrics::write(&recording, &Selection::default());
    if let Ok(Some(profile)) = recording.profile() {
        let _ = folded::write(&profile, &Selection::default());
        let _ = pprof::encode(&profile, &Selection::default(), None);
    }
    if let Ok(observed) = Observed::of(&recording) {
        let _ = finding::diagnose(&observed, "hostile");
    }
}

pub(super) fn files() -> Vec<Vec<u8>> {
    let imports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports");
    let named = |kind: Kind, name: &str| KindFile { kind: Some(kind), path: imports.join(name) };
    let listings = [
        named(Kind::Collectl, "collectl-thp-on.txt"),
        named(Kind::Sar, "sar-iso.txt"),
        named(Kind::PerfScript, "perf-script.txt"),
    ];
    let made = tempfile::tempdir().ok().and_then(|folder| {
        let path = folder.path().join("a.pgw");
        write(&open(&listings, &Assumed::default()).ok()?, &path).ok()?;
        fs::read(&path).ok()
    });
    made.into_iter().collect()
}

/// A segment, and rows of one recording, each after its length in two bytes.
pub(super) fn rows(bytes: &[u8]) {
    if let Ok(segment) = segment::decode(bytes) {
        let readings = segment.took.iter().flatten().count();
        for column in &segment.columns {
            let _ = (0..=readings).filter_map(|reading| column.at(reading)).fold(0u64, u64::wrapping_add);
        }
        let _ = Block { sources: vec![SourceBlock { source: String::new(), data: segment }], ..Block::default() };
    }
    let mut decoder = TickDecoder::new();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (row, after) = after.split_at(length);
        let _ = decoder.decode(row);
        rest = after;
    }
}

pub(super) fn encoded() -> Vec<Vec<u8>> {
    let values = |tick: u64| (0..40).map(move |column| column * 1_000 + tick * (column % 7)).collect::<Vec<u64>>();
    let row = |tick: u64| SourceRow { took: 12, values: values(tick).into_iter().map(Some).collect() };
    let segment: Vec<Option<SourceRow>> = (0..30).map(|tick| (tick % 11 != 5).then(|| row(tick))).collect();
    let mut encoder = TickEncoder::new(2);
    let mut all = Vec::new();
    for tick in 0..70 {
        let mut out = Vec::new();
        encoder.begin();
        let (now, present) = (values(tick), [tick % 5 != 0; 40]);
        encoder.section(&mut out, Some(Reading { took: 3, values: &now, present: &present }));
        encoder
            .section(&mut out, (tick % 3 == 0).then_some(Reading { took: 1, values: &now[..4], present: &[true; 4] }));
        all.extend((out.len() as u16).to_le_bytes());
        all.extend(out);
    }
    vec![segment::encode(&segment), all]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordingBuilder;

    #[test]
    fn samples_are_what_the_codecs_read() {
        let [segment, rows] = encoded().try_into().expect("two samples");
        assert_eq!(segment::decode(&segment).unwrap().columns.len(), 40);
        let length = usize::from(u16::from_le_bytes([rows[0], rows[1]]));
        assert_eq!(TickDecoder::new().decode(&rows[2..2 + length]).unwrap().len(), 2);
        let whole = files();
        assert_eq!(whole.len(), 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pgw");
        fs::write(&path, &whole[0]).unwrap();
        assert!(Recording::open(&path).unwrap().ticks().unwrap() > 10);
        // What is judged is judged alike, made up or not.
        let Ok(observed) = Observed::of(&RecordingBuilder::healthy(20));
        assert!(finding::diagnose(&observed, "made up").findings.is_empty());
    }
}
