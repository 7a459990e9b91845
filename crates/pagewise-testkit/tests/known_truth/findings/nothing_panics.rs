//! Whatever a recording holds, each rule answers.

use super::asking::ask;
use pagewise_core::finding::{rules, signal};
use pagewise_core::report::{Style, findings};
use pagewise_testkit::RecordingBuilder;
use proptest::prelude::*;

fn name(signal: &signal::Quantity) -> String {
    signal.now.of[0].example()
}

fn labels(signal: &signal::Quantity) -> &'static str {
    match (signal.labelled, signal.source) {
        (false, _) => "",
        (_, "buddyinfo") => "node=0,zone=Normal,order=0",
        (_, "zoneinfo") => "node=0,zone=Normal",
        (_, "thp") => "size=64kB",
        (_, "threads") => "thread=kswapd0",
        _ => "cgroup=/a",
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_numbers_make_a_rule_panic(
        seconds in 0u32..90,
        picked in prop::collection::vec((0usize..signal::ALL.len(), 0usize..6, any::<u64>()), 0..60),
        has_settings in any::<bool>(),
    ) {
        let mut recording = if has_settings { RecordingBuilder::healthy(seconds) } else { RecordingBuilder::new(seconds) };
        for (which, shape, number) in picked {
            let signal = &signal::ALL[which];
            let value = move |at: f64| match shape {
                0 => Some(number),
                1 => Some(u64::MAX),
                2 => Some(number.wrapping_add((at * 1e6) as u64)),
                3 => (!(at as u64).is_multiple_of(3)).then_some(number),
                4 => Some(if at < 20.0 { number } else { at as u64 }),
                _ => None,
            };
            recording = recording.total(signal.source, &name(signal), labels(signal), value);
        }
        let diagnosis = ask(&recording);
        let answered = diagnosis.findings.len() + diagnosis.not_found.len() + diagnosis.not_decided.len();
        prop_assert_eq!(answered, rules::ALL.len());
        let text = findings::text(&diagnosis, Style::default());
        prop_assert!(text.lines().count() > 3);
        serde_json::to_string(&diagnosis).unwrap();
    }
}

#[test]
fn an_empty_recording_leaves_everything_open() {
    let diagnosis = ask(&RecordingBuilder::new(30));
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
}

#[test]
fn names_of_processes_cannot_steer_a_terminal() {
    let hostile = RecordingBuilder::healthy(60)
        .cpu(4, 0.2, 0.7)
        .counter("vmstat", "compact_stall", "", |_| 50.0)
        .stack("a\u{1b}[2Jb\u{202e}", Some(7), &["compact_zone_order", "compact_zone"], 900);
    let text = findings::text(&ask(&hostile), Style::default());
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    assert!(text.contains("\\u{1b}"), "{text}");
}
