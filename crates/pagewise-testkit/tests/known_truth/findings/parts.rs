//! A stretch of a recording is judged as a recording of that stretch would have been.

use super::asking::{ask, found};
use pagewise_core::finding::Tier;
use pagewise_core::recording::{Part, Recorded};
use pagewise_testkit::recordings::START;
use pagewise_testkit::{MadeUpDay, RecordingBuilder};
use std::convert::Infallible;

const SECOND: u64 = 1_000_000_000;

pub(crate) fn part<R: Recorded<Error = Infallible>>(recording: &R, from: u64, to: u64) -> Part<'_, R> {
    let Ok(profile) = recording.profile();
    Part::new(recording, from, to, profile.map(|profile| profile.part(from, to)))
}

/// Trouble in the middle of an otherwise healthy time.
fn swapping_in_the_middle() -> RecordingBuilder {
    swapping(700, |at| (200.0..300.0).contains(&at))
}

/// A healthy time of so many seconds but for those in which it swaps.
pub(crate) fn swapping(seconds: u32, swaps: impl Fn(f64) -> bool + Copy + 'static) -> RecordingBuilder {
    let busy = move |at: f64| if swaps(at) { 2_000.0 } else { 0.0 };
    RecordingBuilder::healthy(seconds)
        .counter("vmstat", "pswpin", "", busy)
        .counter("vmstat", "pswpout", "", busy)
        .counter("vmstat", "workingset_refault_anon", "", busy)
        .counter("psi_memory", "some_total", "", move |at| busy(at) * 200.0)
}

#[test]
fn all_of_a_recording_is_judged_as_the_recording() {
    fn same<R: Recorded<Error = Infallible>>(recording: &R) {
        assert_eq!(ask(&part(recording, 0, u64::MAX)), ask(recording));
    }
    same(&RecordingBuilder::healthy(700));
    same(&RecordingBuilder::new(20));
    same(&swapping_in_the_middle());
    same(&swapping_in_the_middle().without_source("zoneinfo").every(5.0));
    same(&MadeUpDay::of(600, 5_000));
}

#[test]
fn trouble_is_found_in_its_own_time_and_not_beside_it() {
    let recording = swapping_in_the_middle();
    let within = |from: u64, to: u64| ask(&part(&recording, START + from * SECOND, START + to * SECOND));
    assert!(found(&within(200, 300), "swap-thrash").is_some());
    assert!(found(&within(0, 190), "swap-thrash").is_none());
    assert!(found(&within(310, 700), "swap-thrash").is_none());
    let observed = within(240, 280).observed;
    assert_eq!(
        (observed.seconds, observed.samples, observed.from.as_deref()),
        (40.0, 41, Some("2026-01-01T00:04:00Z"))
    );
    assert_eq!(within(900, 1000).observed.samples, 0, "nothing was seen there");
}

#[test]
fn stalls_that_are_known_in_part_are_not_known_at_all() {
    let day = MadeUpDay::of(600, 5_000);
    let recorded = |part: &Part<'_, MadeUpDay>| {
        let tiers = ask(part).observed.tiers.into_iter().map(|tier| (tier.tier, tier.recorded));
        tiers.filter(|(tier, _)| *tier == Tier::Stalls).map(|(_, recorded)| recorded).collect::<Vec<bool>>()
    };
    assert_eq!(recorded(&part(&day, 0, u64::MAX)), [true]);
    assert_eq!(recorded(&part(&day, 0, u64::MAX).without_stalls()), [false]);
}

#[test]
fn settings_are_those_of_that_time() {
    let day = MadeUpDay::of(600, 5_000);
    let value = |from: u64, to: u64| {
        let Ok(settings) = part(&day, from * SECOND, to * SECOND).settings();
        let of_defrag = settings.into_iter().filter(|setting| setting.path == "thp.defrag");
        of_defrag.map(|setting| (setting.value.unwrap(), setting.by)).collect::<Vec<_>>()
    };
    let is = |value: &str, by: &str| (value.to_owned(), by.to_owned());
    // It begins 5000 s after boot, and its storm 300 s after that.
    assert_eq!(value(5_000, 5_299), [is("madvise", "start")]);
    assert_eq!(value(5_290, 5_310), [is("madvise", "start"), is("always", "seen")]);
    assert_eq!(value(5_310, 5_320), [is("always", "start")]);
}
