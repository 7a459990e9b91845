//! Screens of made recordings, at the sizes terminals have.

use super::cost::Shares;
use super::source::{Traced, read};
use super::view::{Key, Text, Window};
use super::*;
use crate::screen::draw;
use pagewise_core::finding::Diagnosis;
use pagewise_core::recording::{Part, Profile, Recorded, SamplingEvent};
use pagewise_host::following::judge::{Reader, StretchVerdict, judged};
use pagewise_testkit::{MadeUpDay, RecordingBuilder};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use ratatui::text::Line;
use std::convert::Infallible;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

const PLAIN: Wanted = Wanted { color: false, width: 80, unicode: true };

/// A recording that is shown.
struct ShownRecording {
    seen: SeenTimelines,
    view: View,
    profile: Result<Profile, String>,
    /// What is not seen beside functions.
    unseen: Vec<(String, String)>,
    judged: Option<StretchVerdict>,
    cost: Option<Shares>,
    wanted: Wanted,
}

impl ShownRecording {
    fn of<R: Recorded<Error = Infallible>>(recording: &R) -> ShownRecording {
        let mut seen = SeenTimelines::new("job.pgw".to_owned(), false);
        let Ok(()) = read(recording, &mut seen);
        let Ok(profile) = recording.profile();
        let profile = profile.ok_or_else(|| "no stacks were recorded".to_owned());
        let view = View::of(&seen);
        let mut shown =
            ShownRecording { seen, view, profile, unseen: Vec::new(), judged: None, cost: None, wanted: PLAIN };
        shown.judge(recording);
        shown
    }

    /// As a host that is followed.
    fn live(mut self) -> ShownRecording {
        self.seen.is_live = true;
        self.seen.title = "this host".to_owned();
        self.view = View::of(&self.seen);
        self.cost = Some(Shares { all: 0.0031, stacks: 0.002 });
        self
    }

    fn judge<R: Recorded<Error = Infallible>>(&mut self, recording: &R) {
        let (from, to) = self.view.of_findings(&self.seen).unwrap();
        let part = Part::new(recording, from, to, self.profile.as_ref().ok().map(|profile| profile.part(from, to)));
        self.judged = Some(judged(&part, (from, to), "job.pgw"));
    }

    fn found(&self) -> Vec<&str> {
        let diagnosis: &Diagnosis = self.judged.as_ref().unwrap().said.as_ref().unwrap();
        diagnosis.findings.iter().map(|finding| finding.id.as_str()).collect()
    }

    fn traced(&self) -> Traced<'_> {
        let functions = self.profile.as_ref().err().map(|why| ("functions".to_owned(), why.clone()));
        let unseen = functions.into_iter().chain(self.unseen.clone()).collect();
        Traced { profile: self.profile.as_ref().ok(), unseen }
    }

    fn page(&self, size: (u16, u16)) -> Vec<Line<'static>> {
        let picture = Picture {
            seen: &self.seen,
            view: &self.view,
            traced: self.traced(),
            judged: self.judged.as_ref(),
            is_judging: false,
            cost: self.cost,
            wanted: self.wanted,
            zone: &jiff::tz::TimeZone::UTC,
        };
        picture::page(&picture, size.0, size.1)
    }

    fn terminal(&self, size: (u16, u16)) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        let page = self.page(size);
        terminal.draw(|frame| draw(frame, &page)).unwrap();
        terminal
    }

    fn screen(&self, size: (u16, u16)) -> String {
        self.terminal(size).backend().to_string()
    }

    fn lines(&self, size: (u16, u16)) -> Vec<String> {
        self.page(size).iter().map(ToString::to_string).collect()
    }
}

/// A storm that takes most of the CPUs, with programs beside it.
fn storm() -> RecordingBuilder {
    let fault = ["asm_exc_page_fault", "do_huge_pmd_anonymous_page", "__alloc_pages_direct_compact", "compact_zone"];
    let with = |leaf: &'static str| [&fault[..], &[leaf]].concat();
    RecordingBuilder::healthy(240)
        .cpu(4, 0.28, 0.60)
        .counter("vmstat", "compact_stall", "", |at| if at < 60.0 { 0.0 } else { 30.0 + at / 10.0 })
        .counter("vmstat", "compact_fail", "", |at| if at < 60.0 { 0.0 } else { 28.0 })
        .counter("vmstat", "compact_free_scanned", "", |_| 4e6)
        .counter("vmstat", "thp_fault_fallback", "", |at| (at % 30.0) * 3.0)
        .counter("vmstat", "pswpout", "", |at| if (100.0..110.0).contains(&at) { 900.0 } else { 0.0 })
        .counter("psi_memory", "some_total", "", |_| 380_000.0)
        .level("meminfo", "MemFree", "", |at| 6.0 * 1024.0 * 1024.0 - at * 9_000.0)
        // What is no longer free is in some account.
        .level("meminfo", "AnonPages", "", |at| 4.0 * 1024.0 * 1024.0 + at * 9_000.0)
        .setting("thp.enabled", "always")
        .setting("thp.defrag", "always")
        .sampled_by(SamplingEvent::CpuClock)
        .stack("java", Some(4711), &with("_raw_spin_unlock_irqrestore"), 5_210)
        .stack("java", Some(4711), &with("isolate_freepages_block"), 2_402)
        .stack("java", Some(4711), &["asm_exc_page_fault", "clear_page_erms"], 911)
        .stack("java", Some(4711), &["[jit]!org.apache.hadoop.util.QuickSort.sortInternal"], 2_950)
        .stack("java", Some(4711), &["libc.so.6!__memcpy_avx_unaligned_erms"], 1_120)
        .stack("kcompactd0", Some(40), &["kcompactd", "compact_zone", "get_pfnblock_flags_mask"], 644)
        .stack("sort", Some(99), &["sort!compare", "libstdc++.so.6.0.30!std::__cxx11::basic_string<char>::compare"], 77)
}

#[test]
fn a_storm_in_a_recording() {
    let shown = ShownRecording::of(&storm());
    for size in [(80, 24), (120, 40), (40, 10)] {
        insta::assert_snapshot!(format!("storm_{}x{}", size.0, size.1), shown.screen(size));
    }
    let ascii = ShownRecording { wanted: Wanted { unicode: false, ..PLAIN }, ..shown };
    let screen = ascii.screen((80, 24));
    assert!(screen.is_ascii(), "{screen}");
    insta::assert_snapshot!("storm_ascii", screen);
}

#[test]
fn a_host_that_is_followed() {
    let shown = ShownRecording::of(&storm()).live();
    for size in [(80, 24), (120, 40)] {
        insta::assert_snapshot!(format!("host_{}x{}", size.0, size.1), shown.screen(size));
    }
}

#[test]
fn a_healthy_host_without_the_right_to_record_stacks_has_everything_else() {
    let mut shown = ShownRecording::of(&RecordingBuilder::healthy(45)).live();
    let why = "not permitted (kernel.perf_event_paranoid is 2); run as root or with CAP_PERFMON, or set it to -1";
    shown.profile = Err(why.to_owned());
    let screen = shown.screen((80, 24));
    // Whole, on as many lines as it takes.
    let words = screen.replace('"', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("functions: {why}")), "{screen}");
    insta::assert_snapshot!("host_refused", screen);
}

#[test]
fn a_host_that_was_just_begun_says_when_the_first_verdict_is() {
    let mut shown = ShownRecording::of(&RecordingBuilder::healthy(2)).live();
    shown.judged = None;
    shown.profile = Ok(Profile { event: Some(SamplingEvent::Cycles), hz: Some(19.0), ..Profile::default() });
    insta::assert_snapshot!("host_begun", shown.screen((80, 24)));
}

#[test]
fn the_findings_in_full_and_the_help() {
    let mut shown = ShownRecording::of(&storm());
    shown.view.press(Key::Findings, &shown.seen, 24);
    insta::assert_snapshot!("findings_80x24", shown.screen((80, 24)));
    let last = findings::last_line(Text::Findings, shown.judged.as_ref(), &[], PLAIN, (80, 24));
    shown.view.page = Page::Text { of: Text::Findings, from: usize::MAX };
    let end = shown.lines((80, 24));
    assert!(end[22].ends_with("(docs/reference/findings.md)"), "the end of the text stands at the bottom: {end:#?}");
    shown.view.page = Page::Text { of: Text::Findings, from: last };
    assert_eq!(shown.lines((80, 24)), end);
    shown.view.press(Key::Help, &shown.seen, 24);
    insta::assert_snapshot!("help_80x24", shown.screen((80, 24)));
}

#[test]
fn every_size_is_filled_and_never_overflows_whatever_names_there_are() {
    let mut shown = ShownRecording::of(&MadeUpDay::of(600, 5_000));
    shown.seen.title = format!("wide 大 {}\u{1b}]0;x\u{7}\u{202e}", "大 ".repeat(80));
    for live in [false, true] {
        shown.cost = live.then_some(Shares { all: 12.0, stacks: 7.5 });
        let text = |of| Page::Text { of, from: 3 };
        for page in [Page::Main, text(Text::Findings), text(Text::Caveats), Page::Help] {
            shown.view.page = page;
            for size in [(1, 1), (3, 2), (36, 6), (40, 10), (59, 12), (80, 24), (120, 50), (300, 100)] {
                let lines = shown.lines(size);
                assert!(lines.len() <= usize::from(size.1), "{size:?}");
                for line in &lines {
                    assert!(line.width() <= usize::from(size.0), "{size:?} {line:?}");
                    assert!(
                        !line.contains(|c: char| c.is_control() || c == '\u{202e}'),
                        "{line:?} steers the terminal"
                    );
                }
                if size.0 >= 36 && size.1 >= 6 {
                    assert_eq!(lines.len(), usize::from(size.1));
                    assert!(lines.last().is_some_and(|line| line.starts_with('q')), "{lines:#?}");
                }
                shown.screen(size);
            }
        }
    }
    shown.view.page = Page::Main;
    assert!(shown.lines((35, 24))[0].contains("needs 36 x 6"));
}

#[test]
fn functions_and_findings_are_those_of_the_time_on_the_screen() {
    let day = MadeUpDay::of(600, 5_000);
    let mut shown = ShownRecording::of(&day);
    let count = shown.seen.at.len();
    let at = |second: u64| shown.seen.at.partition_point(|(at, _)| *at < shown.seen.at[0].0 + second * 1_000_000_000);
    let (storm, calm) = (at(352), at(60));
    assert!(storm < count);
    shown.view.window = Window { last: storm, span: 45 };
    shown.judge(&day);
    let during = shown.lines((100, 40));
    let row = |lines: &[String], label: &str| lines.iter().find(|line| line.starts_with(label)).unwrap().clone();
    assert!(!row(&during, "direct compactions").ends_with(" 0/s"), "{during:#?}");
    assert!(during.iter().any(|line| line.contains("[k] _raw_spin_unlock_irqrestore")), "{during:#?}");
    assert!(shown.found().contains(&"compaction-storm"), "{:?}", shown.found());
    shown.view.window = Window { last: calm, span: 45 };
    shown.judge(&day);
    let before = shown.lines((100, 40));
    assert!(row(&before, "direct compactions").ends_with(" 0/s"), "{before:#?}");
    assert!(!before.iter().any(|line| line.contains("_raw_spin_unlock_irqrestore")), "{before:#?}");
    assert!(before.iter().any(|line| line.contains("[.] org.apache.hadoop")), "{before:#?}");
    assert!(!shown.found().contains(&"compaction-storm"), "{:?}", shown.found());
}

/// Swapping from 120 s to 200 s of 400.
fn swapping() -> RecordingBuilder {
    let busy = |at: f64| if (120.0..200.0).contains(&at) { 2_000.0 } else { 0.0 };
    RecordingBuilder::healthy(400)
        .counter("vmstat", "pswpin", "", busy)
        .counter("vmstat", "pswpout", "", busy)
        .counter("vmstat", "workingset_refault_anon", "", busy)
        .counter("psi_memory", "some_total", "", move |at| busy(at) * 200.0)
}

#[test]
fn what_is_over_says_since_when_by_the_clock_of_the_right_edge() {
    let recording = swapping();
    let mut shown = ShownRecording::of(&recording).live();
    shown.judge(&recording);
    let line = |shown: &ShownRecording| {
        let lines = shown.lines((80, 24));
        lines.iter().find(|line| line.contains("swap-thrash")).unwrap_or_else(|| panic!("{lines:#?}")).clone()
    };
    assert!(line(&shown).contains("swap-thrash             ended 3 min ago. "), "{}", line(&shown));
    // Rules are asked every ten seconds, and the clock goes on between.
    let (newest, values) = (*shown.seen.at.last().unwrap(), shown.seen.values.last().unwrap().clone());
    shown.seen.at.push((newest.0 + 40_000_000_000, newest.1 + 40_000_000_000));
    shown.seen.values.push(values);
    shown.view.grown(&shown.seen, 0);
    assert!(line(&shown).contains("ended 4 min ago. "), "{}", line(&shown));
    // Whoever goes back sees what was so at that time.
    shown.view.is_following = false;
    for (last, said) in [(190, None), (260, Some("ended 60 s earlier. ")), (399, Some("ended 3 min earlier. "))] {
        shown.view.window = Window { last, span: last + 1 };
        shown.judge(&recording);
        let line = line(&shown);
        assert_eq!(said.is_some_and(|said| line.contains(said)), line.contains("ended"), "at {last} s: {line}");
        assert_eq!(said.is_some(), line.contains("ended"), "at {last} s: {line}");
    }
}

#[test]
fn a_caveat_is_a_mark_in_the_head_and_its_words_are_a_key_away() {
    let mut shown = ShownRecording::of(&storm().counter("stat", "steal", "", |_| 100.0));
    let lines = shown.lines((80, 24));
    assert!(lines[0].contains("job.pgw  caveat: CPU time stolen (c)"), "{}", lines[0]);
    assert!(!lines.iter().any(|line| line.contains("measurement-caveat")), "{lines:#?}");
    assert!(shown.lines((50, 12))[0].contains("  1 caveat (c)  "), "{}", shown.lines((50, 12))[0]);
    assert!(shown.lines((40, 10))[0].starts_with("job.pgw  caveat  "), "{}", shown.lines((40, 10))[0]);
    assert!(shown.found().contains(&"measurement-caveat"));
    shown.unseen = vec![("stalls".to_owned(), "tracepoints cannot be read; run as root".to_owned())];
    shown.view.press(Key::Caveats, &shown.seen, 24);
    insta::assert_snapshot!("caveats_80x24", shown.screen((80, 24)));
    // A timer is all that a guest has: no caveat of this measurement.
    for without in [RecordingBuilder::healthy(60), storm()] {
        assert!(!ShownRecording::of(&without).lines((80, 24))[0].contains("caveat"));
    }
}

#[test]
fn what_is_not_seen_beside_functions_stands_on_one_line() {
    let mut shown = ShownRecording::of(&storm()).live();
    shown.unseen = vec![
        ("stalls".to_owned(), "tracepoints cannot be read; run as root".to_owned()),
        ("names of functions".to_owned(), "hidden, and ".repeat(30)),
    ];
    let lines = shown.lines((80, 24));
    let said: Vec<&String> = lines.iter().filter(|line| line.contains("not seen")).collect();
    assert_eq!(said.len(), 1, "{lines:#?}");
    assert!(said[0].starts_with("not seen (c shows all): stalls: tracepoints cannot be read; run as root; names"));
}

#[test]
fn a_short_recording_fills_the_chart_and_a_host_fills_it_as_time_passes() {
    let chart = |shown: &ShownRecording| {
        let lines = shown.lines((80, 24));
        let line = lines.iter().find(|line| line.starts_with("free memory")).unwrap();
        line.chars().skip(22).take(49).collect::<String>()
    };
    for seconds in [2, 13, 300] {
        let chart = chart(&ShownRecording::of(&RecordingBuilder::healthy(seconds)));
        assert!(!chart.contains(' '), "{seconds} s: {chart}");
    }
    let half = chart(&ShownRecording::of(&RecordingBuilder::healthy(59)).live());
    assert_eq!(half.trim_start().chars().count(), 25, "60 of 120 samples: {half}");
    let first = chart(&ShownRecording::of(&RecordingBuilder::healthy(0)).live());
    assert_eq!(first.trim_start().chars().count(), 1, "{first}");
}

#[test]
fn the_newest_question_about_a_recording_is_answered() {
    let recording = MadeUpDay::of(600, 5_000);
    let shown = ShownRecording::of(&recording);
    let profile = Some(Arc::new(shown.profile.clone().unwrap()));
    let whole = shown.view.of_findings(&shown.seen).unwrap();
    let mut reader = Reader::start(recording, profile, "job.pgw".to_owned()).unwrap();
    assert!(!reader.is_busy() && reader.judged().is_none());
    for to in (whole.0..whole.1).step_by(100_000_000_000) {
        reader.ask((whole.0, to));
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while reader.is_busy() || reader.judged().is_none_or(|judged| judged.stretch != whole) {
        assert!(Instant::now() < deadline && !reader.has_ended());
        reader.ask(whole);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(reader.judged().unwrap().said, shown.judged.unwrap().said);
    assert!(!reader.ask(whole), "nothing new");
}

#[test]
fn what_is_not_known_is_a_dot_and_a_dash() {
    let mut shown = ShownRecording::of(&MadeUpDay::of(600, 500));
    shown.seen.values.iter_mut().for_each(|values| values[2] = None);
    shown.view.window = Window { last: 99, span: 100 };
    let lines = shown.lines((80, 24));
    let free = lines.iter().find(|line| line.starts_with("free")).unwrap();
    assert!(free.ends_with(" -") && free.contains("···") && !free.contains('▁'), "{free}");
}

#[test]
fn colour_says_nothing_that_words_do_not() {
    let plain = ShownRecording::of(&storm());
    let cells = |shown: &ShownRecording| shown.terminal((80, 24)).backend().buffer().content().to_vec();
    assert!(cells(&plain).iter().all(|cell| cell.fg == Color::Reset && cell.modifier.is_empty()));
    let (before, coloured) =
        (plain.screen((80, 24)), ShownRecording { wanted: Wanted { color: true, ..PLAIN }, ..plain });
    assert_eq!(coloured.screen((80, 24)), before);
    assert!(cells(&coloured).iter().any(|cell| cell.fg == Color::Yellow));
}
