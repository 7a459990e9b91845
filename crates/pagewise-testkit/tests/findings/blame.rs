//! What is blamed where several things look alike, how much, and what is said to try first.

use crate::asking::{ask, found, must_find, must_not_find, steps};
use pagewise_core::finding::{Confidence, Severity};
use pagewise_core::recording::{SamplingEvent, StallKind};
use pagewise_testkit::RecordingBuilder;
use pagewise_testkit::recordings::EachSecond;

fn healthy() -> RecordingBuilder {
    RecordingBuilder::healthy(120)
}

/// A disk that writes so many KiB a second for writers that are held back at these limits, in pages.
fn writers(background: f64, limit: f64, kib_per_second: f64) -> RecordingBuilder {
    healthy()
        .level("vmstat", "nr_dirty_background_threshold", "", move |_| background)
        .level("vmstat", "nr_dirty_threshold", "", move |_| limit)
        .level("vmstat", "nr_dirty", "", move |_| (background + limit) / 2.0 * 0.98)
        .counter("vmstat", "pgpgout", "", move |_| kib_per_second)
        .counter("psi_io", "some_total", "", |_| 860_000.0)
}

#[test]
fn writers_at_limits_below_what_the_disk_writes_get_higher_limits_and_the_limit_itself_first() {
    let low = writers(2048.0, 4096.0, 1_600_000.0).setting("vm.dirty", "16777216");
    let finding = must_find(&low.setting("vm.dirty_background", "8388608"), "dirty-throttling");
    let all = steps(&finding);
    assert_eq!(all, ["vm.dirty=3436183552"], "a fifth of 16 GiB: where writing begins is held to half of the limit");
    let change = finding.change.expect("a change");
    assert!(change.words.contains("the limit is less than it writes in a second"), "{}", change.words);
    assert!(finding.summary.contains("less than the disk writes in a second"), "{}", finding.summary);
}

#[test]
fn writers_at_limits_far_above_what_the_disk_writes_get_lower_ones() {
    let finding = must_find(&writers(250_000.0, 500_000.0, 100_000.0), "dirty-throttling");
    let all = steps(&finding);
    assert!(all[0].starts_with("vm.dirty_background=") && all[1].starts_with("vm.dirty="), "{all:?}");
    let bytes: f64 = all[1]["vm.dirty=".len()..].parse().expect("bytes");
    assert!(bytes < 500_000.0 * 4096.0, "{all:?}");
    assert!(finding.summary.contains("what the disk writes in 20 s"), "{}", finding.summary);
    let enough = must_find(&writers(50_000.0, 200_000.0, 200_000.0), "dirty-throttling");
    assert!(steps(&enough).is_empty(), "four seconds are neither: {:?}", steps(&enough));
}
