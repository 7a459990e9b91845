//! What kswapd and direct reclaim did on kernels that named it otherwise: the same in `watch`, on the page and in findings.

use super::asking::must_find;
use pagewise_core::recording::Recorded;
use pagewise_core::report::recording::meter::{Meter, each_tick};
use pagewise_core::report::recording::{columns, lines, view};
use pagewise_testkit::{OLD_KERNELS, OldKernel, RecordingBuilder};

/// What each kernel counted: scanned by kswapd and directly, freed by kswapd and directly, direct reclaims.
const IDS: [&str; 5] = ["scan_kswapd", "scan_direct", "steal_kswapd", "steal_direct", "allocstall"];

fn sum(kernel: &OldKernel, names: [&str; 4]) -> f64 {
    names.into_iter().map(|name| kernel.rate(name)).sum()
}

/// Worked out by hand from the listing, zone by zone.
fn expected(kernel: &OldKernel) -> [f64; 5] {
    let zones = |of: &str| ["dma", "dma32", "normal", "movable"].map(|zone| format!("{of}_{zone}"));
    let all = |of: &str| sum(kernel, zones(of).each_ref().map(String::as_str));
    let (kswapd, direct) = match kernel.version {
        "2.6.32" => (kernel.rate("kswapd_steal"), all("pgsteal") - kernel.rate("kswapd_steal")),
        _ => (all("pgsteal_kswapd"), all("pgsteal_direct")),
    };
    [all("pgscan_kswapd"), all("pgscan_direct"), kswapd, direct, kernel.rate("allocstall")]
}

/// Means of lines over a recording, by the meter that `watch`, `top` and the page have.
fn means(recording: &RecordingBuilder, ids: &[&str]) -> Vec<Option<f64>> {
    let lines = ids.iter().map(|id| lines::find(id).unwrap()).collect();
    let mut meter = Meter::new(lines, recording.series(), 4096.0);
    let mut sums = vec![(0.0, 0u32); ids.len()];
    for block in recording.blocks() {
        let Ok(block) = block;
        each_tick(&block, &mut meter, |_, values| {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = value.map_or(*sum, |value| (sum.0 + value, sum.1 + 1));
            }
        });
    }
    sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect()
}

fn near(seen: f64, expected: f64) -> bool {
    (seen - expected).abs() <= expected.abs() * 0.02 + 0.05
}

#[test]
fn the_listings_have_reclaim_of_both_kinds() {
    for kernel in &OLD_KERNELS {
        assert!(expected(kernel).iter().all(|rate| *rate > 0.0), "{}: {:?}", kernel.version, expected(kernel));
    }
}

#[test]
fn watch_and_top_show_what_kswapd_and_programs_scanned_and_freed() {
    for kernel in &OLD_KERNELS {
        let recording = kernel.recording(60);
        let seen = means(&recording, &IDS);
        for ((id, seen), expected) in IDS.iter().zip(seen).zip(expected(kernel)) {
            assert!(seen.is_some_and(|seen| near(seen, expected)), "{} {id}: {seen:?}, {expected}", kernel.version);
        }
        let columns = columns::named("kswp,drct,stall,cmp,migr").unwrap();
        let ids: Vec<&str> = columns.iter().map(|column| column.line.id).collect();
        let row = columns::row("12:00:00", &columns, &means(&recording, &ids));
        assert!(!row.contains('-'), "{}: every column is known: {row}", kernel.version);
    }
}

#[test]
fn the_page_of_a_recording_draws_them() {
    for kernel in &OLD_KERNELS {
        let view = view("old.pgw", &kernel.recording(60));
        for id in IDS {
            let at = lines::lines().position(|line| line.id == id).unwrap();
            let drawn = view.timeline.lines[at].as_ref().expect("a line that is there");
            let most = drawn.mean.0.iter().flatten().copied().fold(0.0, f64::max);
            assert!(most > 0.0, "{} {id}", kernel.version);
        }
    }
}

#[test]
fn the_finding_speaks_of_the_same_numbers() {
    for kernel in &OLD_KERNELS {
        let finding = must_find(&kernel.recording(120), "direct-reclaim-stalls");
        let [.., kswapd, direct, stalls] = expected(kernel);
        let said = |name: &str| finding.evidence.iter().find(|one| one.name == name).and_then(|one| one.value);
        let often = said("allocations that had to reclaim");
        assert!(often.is_some_and(|often| near(often, stalls)), "{}: {often:?}, {stalls}", kernel.version);
        let part = said("freed by programs themselves");
        let expected = direct / (direct + kswapd);
        assert!(part.is_some_and(|part| near(part, expected)), "{}: {part:?}, {expected}", kernel.version);
    }
}
