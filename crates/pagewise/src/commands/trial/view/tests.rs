//! Pictures of trials as they are kept in real bundles, at the sizes terminals have.

use super::super::status::status;
use super::*;
use crate::screen::draw;
use pagewise_core::comparison::rule::Conclusion;
use pagewise_core::experiment::order::draw as draw_order;
use pagewise_core::experiment::plan::source;
use pagewise_core::experiment::point::{Outcome, Point, Record};
use pagewise_core::experiment::stopping::InterimComparison;
use pagewise_testkit::scripted;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Each run takes 90 seconds.
const STEP: i64 = 90;

struct MadeBundle {
    _folder: TempDir,
    bundle: Bundle,
    clock: i64,
}

impl MadeBundle {
    fn new(name: &str, blocks: u32, levels: [&str; 2], more: &str) -> MadeBundle {
        let text = format!(
            "name = {}\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nwarmup = 1\nblocks = {blocks}\nseed = 7\n\
             {more}\n[[factor]]\nname = 'thp'\nlevels.{} = 'now'\nlevels.{} = 'env.X=1'\n",
            toml::Value::from(name),
            toml::Value::from(levels[0]),
            toml::Value::from(levels[1]),
        );
        let plan = source::read(&text, "x.toml").unwrap();
        let frozen = scripted::frozen(draw_order(&plan).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let bundle = Bundle::create(&folder.path().join("x.trial"), &plan, frozen).unwrap();
        MadeBundle { _folder: folder, bundle, clock: 1_798_761_600 }
    }

    fn start(&self, index: u32, attempt: u32) {
        let planned = self.bundle.frozen().order.points[index as usize].clone();
        let at = jiff::Timestamp::from_second(self.clock).unwrap().to_string();
        self.bundle.begin(&planned, attempt, &at, "boot").unwrap();
        self.bundle.running(&planned, attempt).unwrap();
    }

    fn end(&mut self, index: u32, attempt: u32, outcome: Outcome, reason: Option<&str>) {
        self.start(index, attempt);
        let point = Point {
            planned: self.bundle.frozen().order.points[index as usize].clone(),
            attempt,
            outcome,
            reason: reason.map(str::to_owned),
            started_at: jiff::Timestamp::from_second(self.clock).unwrap().to_string(),
            measures: BTreeMap::from([("wall".to_owned(), 80.0)]),
            absent: BTreeMap::new(),
            custom_units: BTreeMap::new(),
            counters: BTreeMap::new(),
            applied: Vec::new(),
            boot_id: "boot".to_owned(),
            warnings: Vec::new(),
        };
        self.bundle.finish(&Record { point, vmstat_before: BTreeMap::new(), vmstat_after: BTreeMap::new() }).unwrap();
        self.clock += STEP;
    }

    fn all_ok(&mut self, runs: std::ops::Range<u32>) {
        runs.for_each(|index| self.end(index, 1, Outcome::Ok, None));
    }

    /// As seen 20 seconds after the last start, in UTC.
    fn seen(&self, is_run: bool, size: (u16, u16), wanted: Wanted, notice: Option<&str>) -> String {
        let mut status = status(&self.bundle).unwrap();
        status.is_run = Some(is_run);
        self.seen_as(&status, size, wanted, notice)
    }

    fn seen_as(&self, status: &Status, size: (u16, u16), wanted: Wanted, notice: Option<&str>) -> String {
        let now = jiff::Timestamp::from_second(self.clock + 20).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        let picture = Picture { status, bundle: "my.trial", now: &now, notice, help: false, wanted };
        shown(&page(&picture, size.0, size.1), size)
    }
}

fn terminal(page: &[Line], (width, height): (u16, u16)) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, page)).unwrap();
    terminal
}

fn shown(page: &[Line], size: (u16, u16)) -> String {
    assert_eq!(page.len(), usize::from(size.1));
    terminal(page, size).backend().to_string()
}

const PLAIN: Wanted = Wanted { color: false, width: 80, unicode: true };

fn running() -> MadeBundle {
    let mut made = MadeBundle::new("terasort-thp", 8, ["madvise", "always"], "");
    made.all_ok(0..4);
    made.end(4, 1, Outcome::Invalid, Some("another process used 40 % of the CPUs"));
    made.end(4, 2, Outcome::Ok, None);
    made.end(5, 1, Outcome::Oom, Some("the kernel ended it for lack of memory"));
    made.all_ok(6..9);
    made.start(9, 1);
    made
}

#[test]
fn a_running_trial() {
    let made = running();
    for size in [(80, 24), (40, 12), (120, 40)] {
        insta::assert_snapshot!(format!("running_{}x{}", size.0, size.1), made.seen(true, size, PLAIN, None));
    }
    let ascii = made.seen(true, (80, 24), Wanted { unicode: false, ..PLAIN }, None);
    insta::assert_snapshot!("running_ascii", ascii);
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn a_trial_that_nobody_runs_says_how_to_go_on() {
    let seen = running().seen(false, (80, 24), PLAIN, None);
    assert!(seen.contains("pagewise trial resume my.trial") && !seen.contains("ends "), "{seen}");
    insta::assert_snapshot!("interrupted", seen);
}

#[test]
fn a_complete_trial_says_so() {
    let mut made = MadeBundle::new("terasort-thp", 4, ["madvise", "always"], "");
    made.all_ok(0..10);
    insta::assert_snapshot!("complete", made.seen(false, (80, 24), PLAIN, None));
}

#[test]
fn a_sequential_trial_shows_its_analyses_and_the_next() {
    let mut made = MadeBundle::new("terasort-thp", 40, ["madvise", "always"], "[stopping]\nrule = 'obrien-fleming'\n");
    made.all_ok(0..36);
    let comparison = InterimComparison {
        name: "always against madvise".to_owned(),
        nominal_p: 7.6e-4,
        p: Some(0.03),
        conclusion: Conclusion::Inconclusive,
        futile: false,
    };
    let analysis = InterimAnalysis {
        blocks: 16,
        spent: Some(0.0008),
        comparisons: vec![comparison],
        stop: false,
        because: "not every primary comparison is decided".to_owned(),
    };
    made.bundle.keep_interim_analysis(&analysis, "2027-01-01T00:00:00Z").unwrap();
    for size in [(80, 24), (40, 12)] {
        insta::assert_snapshot!(format!("sequential_{}x{}", size.0, size.1), made.seen(true, size, PLAIN, None));
    }
}

#[test]
fn an_open_ended_trial_shows_its_last_analysis_alone() {
    let more = "[stopping]\nrule = 'open-ended'\n\
                [[contrast]]\nfactor = 'thp'\na = 'madvise'\nb = 'always'\nprimary = true";
    let mut made = MadeBundle::new("terasort-thp", 40, ["madvise", "always"], more);
    made.all_ok(0..14);
    for blocks in [4, 5, 6] {
        let comparison = InterimComparison {
            name: "thp: madvise → always".to_owned(),
            nominal_p: 0.05,
            p: Some(0.5 / f64::from(blocks)),
            conclusion: Conclusion::Inconclusive,
            futile: false,
        };
        let analysis = InterimAnalysis {
            blocks,
            spent: None,
            comparisons: vec![comparison],
            stop: false,
            because: "not every primary comparison is decided".to_owned(),
        };
        made.bundle.keep_interim_analysis(&analysis, "2027-01-01T00:00:00Z").unwrap();
    }
    let seen = made.seen(true, (80, 24), PLAIN, None);
    assert!(seen.contains("left at most · ends by ") && !seen.contains("1.00e-1"), "{seen}");
    insta::assert_snapshot!("open_ended_80x24", seen);
}

#[test]
fn names_cannot_steer_the_terminal_nor_push_the_rest_off_it() {
    let long = "wide 大 ".repeat(40);
    let mut made = MadeBundle::new("x", 4, ["a", "b"], "");
    made.all_ok(0..2);
    made.end(2, 1, Outcome::Invalid, Some(&format!("\u{1b}[31m{long}")));
    let mut status = status(&made.bundle).unwrap();
    status.name = format!("evil\u{1b}[2J\u{202e}name\n{long}");
    status.next.as_mut().unwrap().cell = format!("a\u{1b}]0;x\u{7}{long}");
    status.is_run = Some(true);
    for size in [(80, 24), (40, 12), (20, 6), (5, 3), (1, 1)] {
        let seen = made.seen_as(&status, size, PLAIN, Some("it\r\n\u{9b}2J"));
        if size.0 >= 40 {
            assert!(seen.contains("running") && seen.contains("q quit"), "{seen}");
        }
        assert!(!seen.contains(['\u{1b}', '\u{9b}', '\u{7}', '\r', '\u{202e}']), "{seen:?}");
    }
}

#[test]
fn many_runs_show_those_around_the_one_under_way() {
    let mut made = MadeBundle::new("long", 600, ["a", "b"], "");
    made.all_ok(0..1);
    made.clock += 1;
    insta::assert_snapshot!("many_runs", made.seen(true, (40, 12), PLAIN, Some("as of 12:00:00; it cannot be read")));
}

#[test]
fn colour_says_nothing_that_a_letter_does_not() {
    let made = running();
    let colored = Wanted { color: true, ..PLAIN };
    assert_eq!(made.seen(true, (80, 24), colored, None), made.seen(true, (80, 24), PLAIN, None));
    let status = status(&made.bundle).unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    for help in [false, true] {
        let picture = Picture { status: &status, bundle: "b", now: &now, notice: Some("n"), help, wanted: PLAIN };
        let drawn = terminal(&page(&picture, 80, 24), (80, 24));
        let plain = |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.modifier.is_empty();
        assert!(drawn.backend().buffer().content().iter().all(plain));
    }
}

#[test]
fn the_clock_has_the_day_when_it_is_another_one() {
    let now: jiff::Zoned = "2026-03-01T23:00:00[UTC]".parse().unwrap();
    assert_eq!(clock(&now, 1800.0).unwrap(), "23:30");
    assert_eq!(clock(&now, 7200.0).unwrap(), "Mon 01:00");
    assert_eq!(clock(&now, 86_400.0 * 10.0).unwrap(), "2026-03-11 23:00");
    assert_eq!(clock(&now, f64::MAX), None);
    assert_eq!((span(59.0), span(72.0), span(3700.0)), ("59 s".into(), "1m12s".into(), "1h01m".into()));
}

#[test]
fn a_commit_is_noticed_and_what_cannot_be_read_keeps_the_last_picture() {
    let mut made = MadeBundle::new("x", 4, ["a", "b"], "");
    let path = made.bundle.path().to_owned();
    let first = status(&made.bundle).unwrap();
    let mut watched = Watched { path: &path, seen: stamp(&path), status: first, trouble: None };
    made.all_ok(0..1);
    assert_ne!(stamp(&path), watched.seen);
    let now = jiff::Zoned::now();
    watched.refresh(&now);
    assert_eq!((watched.status.done, watched.status.is_run, &watched.trouble), (1, Some(true), &None));
    std::fs::rename(path.join("plan.toml"), path.join("away")).unwrap();
    made.all_ok(1..2);
    watched.refresh(&now);
    assert_eq!(watched.status.done, 1);
    assert!(watched.trouble.as_ref().is_some_and(|why| why.contains("plan.toml")), "{:?}", watched.trouble);
    std::fs::rename(path.join("away"), path.join("plan.toml")).unwrap();
    watched.refresh(&now);
    assert_eq!((watched.status.done, &watched.trouble), (2, &None));
}
