//! When a finding held: since when, until when, and whether it still does.

use super::asking::{ask, found, must_find};
use super::parts::{part, swapping};
use pagewise_core::finding::{Answer, Finding};
use pagewise_testkit::RecordingBuilder;
use pagewise_testkit::recordings::START;

const SECOND: u64 = 1_000_000_000;

/// Swapping during these seconds of so many.
fn trouble(seconds: u32, during: &'static [(f64, f64)]) -> RecordingBuilder {
    swapping(seconds, move |at| during.iter().any(|(from, to)| (*from..*to).contains(&at)))
}

fn stretches(finding: &Finding) -> Vec<(f64, f64)> {
    let held = finding.held.as_ref().unwrap();
    held.stretches.iter().map(|stretch| (stretch.from_seconds, stretch.to_seconds)).collect()
}

#[test]
fn trouble_that_is_over_says_how_long_ago_it_ended() {
    let finding = must_find(&trouble(700, &[(200.0, 300.0)]), "swap-thrash");
    let held = finding.held.as_ref().unwrap();
    assert_eq!(stretches(&finding), [(200.0, 300.0)]);
    assert_eq!((held.at_end, held.ended_seconds_ago, held.more_stretches), (Answer::No, Some(400.0), 0));
    let stretch = &held.stretches[0];
    let instants = (stretch.from.as_deref(), stretch.to.as_deref());
    assert_eq!(instants, (Some("2026-01-01T00:03:20Z"), Some("2026-01-01T00:05:00Z")));
    assert_eq!(finding.since, stretch.from);
}

#[test]
fn what_had_not_ended_when_one_stopped_looking_still_goes_on() {
    let recording = trouble(700, &[(200.0, 300.0)]);
    // As who travels back to that instant sees it.
    for (to, at_end, ended) in [(290, Answer::Yes, None), (300, Answer::Yes, None), (330, Answer::No, Some(30.0))] {
        let diagnosis = ask(&part(&recording, START, START + to * SECOND));
        let held = found(&diagnosis, "swap-thrash").unwrap().held.as_ref().unwrap();
        // Windows are added up in seconds.
        let seconds_ago = held.ended_seconds_ago.map(f64::round);
        assert_eq!((held.at_end, seconds_ago), (at_end, ended), "at {to} s");
    }
}

#[test]
fn each_stretch_is_told_and_together_they_are_the_time_it_held() {
    let finding = must_find(&trouble(500, &[(50.0, 100.0), (200.0, 210.0), (300.0, 400.0)]), "swap-thrash");
    assert_eq!(stretches(&finding), [(50.0, 100.0), (200.0, 210.0), (300.0, 400.0)]);
    assert_eq!(finding.seconds, stretches(&finding).iter().map(|(from, to)| to - from).sum::<f64>());
    assert_eq!(finding.since.as_deref(), Some("2026-01-01T00:05:00Z"), "the longest");
}

#[test]
fn an_end_that_nobody_saw_is_not_one() {
    let unseen = |at: f64| (at < 300.0).then_some(1_000 + at as u64 * 2_000);
    let names = ["pswpin", "pswpout", "workingset_refault_anon"];
    let recording =
        names.iter().fold(trouble(400, &[(0.0, 400.0)]), |made, name| made.total("vmstat", name, "", unseen));
    let finding = must_find(&recording, "swap-thrash");
    let held = finding.held.as_ref().unwrap();
    assert_eq!(stretches(&finding), [(0.0, 300.0)]);
    assert_eq!((held.at_end, held.ended_seconds_ago), (Answer::Unknown, Some(100.0)));
}

#[test]
fn what_was_judged_for_the_whole_recording_has_no_time_of_its_own() {
    let killed =
        trouble(60, &[]).gib("MemFree", 0.5).counter("vmstat", "oom_kill", "", |at| if at < 10.0 { 1.0 } else { 0.0 });
    let finding = must_find(&killed, "oom-risk");
    assert_eq!((finding.held, finding.since), (None, None));
    let short = must_find(&RecordingBuilder::healthy(1), "measurement-caveat");
    assert_eq!((short.held, short.since, short.marks), (None, None, vec!["few samples".to_owned()]));
}
