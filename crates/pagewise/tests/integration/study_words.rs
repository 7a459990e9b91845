//! What people read of a trial of a matrix: every rendition against golden files, and what none of them may do.

use pagewise_core::comparison::analysis::analyze;
use pagewise_core::comparison::found::Comparison;
use pagewise_core::comparison::question::{Contrast, Question};
use pagewise_core::comparison::table::Table;
use pagewise_core::report::study::{csv, latex, r_script, text72};
use pagewise_core::report::{Report, Style, html, markdown, text};
use pagewise_testkit::said::unwrapped;
use pagewise_testkit::studies;

/// Every rendition with its name.
fn renditions(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("text", text(report, Style::default())),
        ("markdown", markdown(report)),
        ("latex", latex(report)),
        ("text72", text72(report)),
        ("html", html(report).unwrap()),
        ("r", r_script(report)),
        ("csv", csv(report)),
    ]
}

#[test]
fn every_rendition_reads_as_its_golden_file() {
    for (kind, text) in renditions(&studies::swap()) {
        insta::assert_snapshot!(format!("{kind}-swap"), text);
    }
}

#[test]
fn the_terminal_report_of_every_study_reads_as_its_golden_file() {
    for (name, report) in studies::all().into_iter().filter(|(name, _)| *name != "swap") {
        insta::assert_snapshot!(format!("text-{name}"), text(&report, Style::default()));
    }
}

#[test]
fn the_mail_of_the_seed_s_matrix_has_its_two_tables() {
    insta::assert_snapshot!("text72-seed", text72(&studies::seed()));
}

#[test]
fn no_line_of_a_mail_is_longer_than_72_columns_and_all_of_it_is_ascii() {
    for (name, report) in studies::all() {
        let mail = text72(&report);
        assert!(mail.starts_with("TLDR\n"), "{name}");
        assert!(mail.is_ascii(), "{name}: {:?}", mail.lines().find(|line| !line.is_ascii()));
        assert_eq!(mail.lines().find(|line| line.len() > 72), None, "{name}");
    }
}

#[test]
fn the_terminal_report_fits_its_columns_except_for_commands_to_copy() {
    for (name, report) in studies::all() {
        for width in [60, 80, 100] {
            for line in text(&report, Style { width, ..Style::default() }).lines() {
                let is_command = report.commands.iter().any(|command| line.trim() == command);
                assert!(is_command || line.chars().count() <= usize::from(width), "{name}: {line}");
            }
        }
    }
}

#[test]
fn without_utf_8_the_terminal_report_is_ascii() {
    for (name, report) in studies::all() {
        let text = text(&report, Style { unicode: false, ..Style::default() });
        assert!(text.is_ascii(), "{name}: {:?}", text.lines().find(|line| !line.is_ascii()));
    }
}

#[test]
fn colour_adds_escape_sequences_and_nothing_else() {
    for (name, report) in studies::all() {
        let colourful = text(&report, Style { color: true, ..Style::default() });
        let codes = ["[1m", "[1;33m", "[1;32m", "[1;31m", "[1;36m", "[0m"];
        let plain = codes.iter().fold(colourful.clone(), |text, code| text.replace(&format!("\u{1b}{code}"), ""));
        assert_ne!(colourful, plain, "{name}");
        assert_eq!(plain, text(&report, Style::default()), "{name}");
    }
}

#[test]
fn a_trial_that_stopped_early_says_at_which_analysis_and_whose_interval_it_is() {
    let report = studies::stopped();
    for (kind, said) in renditions(&report).into_iter().filter(|(kind, _)| !matches!(*kind, "r" | "csv")) {
        let words = unwrapped(&said);
        assert!(words.contains("Stopped early, at analysis 3 of 4 (8 of 10 blocks)"), "{kind}");
        assert!(words.contains("repeated one of this analysis"), "{kind}");
    }
}

#[test]
fn an_open_ended_trial_says_in_every_form_that_its_intervals_are_a_confidence_sequence() {
    let report = studies::open_ended();
    let blocks = report.analysis.interim_analyses.last().unwrap().blocks;
    for (kind, said) in renditions(&report).into_iter().filter(|(kind, _)| *kind != "csv") {
        let words = unwrapped(&said.replace('\u{a0}', " "));
        assert!(words.contains("confidence sequence"), "{kind}");
        assert!(kind == "r" || words.contains(&format!("Ended after {blocks} blocks of at most 40")), "{kind}");
        assert!(!words.contains("t test p") && !words.contains("repeated"), "{kind}: nothing else stands beside it");
    }
    let rows = text(&report, Style::default()).matches("equivalent").count();
    assert!(
        rows > 0 && report.analysis.interim_analyses.len() as u32 == blocks - 3,
        "an analysis after every block is kept"
    );
}

#[test]
fn what_runs_leave_to_the_next_is_told_with_its_interval() {
    for (kind, said) in renditions(&studies::carried()).into_iter().filter(|(kind, _)| !matches!(*kind, "r" | "csv")) {
        let words = unwrapped(&said.replace('\u{a0}', " "));
        assert!(words.contains("What a run leaves to the next is seen: +3"), "{kind}: {words}");
    }
    assert!(markdown(&studies::carried()).contains("of the previous cell's effect"));
}

#[test]
fn verdicts_name_the_memory_they_hold_for() {
    let said = markdown(&studies::memory());
    assert!(said.contains("Holds for: fresh memory."), "{said}");
    assert!(said.contains("averaged over memory (fresh, aged); fresh and aged(90%) memory"), "{said}");
}

#[test]
fn no_name_reaches_terminal_or_page_as_control_character_or_markup() {
    let report = studies::hostile();
    for (kind, bytes) in renditions(&report).into_iter().filter(|(kind, _)| *kind != "csv") {
        let bad = bytes.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{kind}");
    }
    let page = html(&report).unwrap();
    for element in ["<script", "<img", "<iframe", "<a ", "<b>", "<i>", "onerror=\""] {
        assert!(!page.contains(element) || element == "<b>" && !page.contains("<b>rows"), "{element} came through");
    }
    assert!(!latex(&report).contains("\\input"), "a name became a command");
}

#[test]
fn every_environment_of_the_latex_is_closed_and_every_row_has_its_columns() {
    for (name, report) in studies::all() {
        let written = latex(&report);
        let count = |what: &str| written.matches(what).count();
        for environment in ["table", "tabular"] {
            let (begun, ended) = (format!("\\begin{{{environment}}}"), format!("\\end{{{environment}}}"));
            assert!(count(&begun) > 0 && count(&begun) == count(&ended), "{name}: {environment}");
        }
        let mut columns = 0;
        for line in written.lines() {
            if let Some(spec) = line.trim().strip_prefix("\\begin{tabular}{") {
                columns = spec.trim_end_matches('}').len();
            }
            if let Some(row) = line.strip_suffix(" \\\\").filter(|row| row.starts_with("    ")) {
                assert_eq!(row.matches(" & ").count() + 1, columns, "{name}: {row}");
            }
        }
        let unescaped = |c: char| written.replace(&format!("\\{c}"), "").matches(c).count();
        assert_eq!(unescaped('{'), unescaped('}'), "{name}");
    }
}

#[test]
fn analyze_reads_the_csv_and_finds_the_good_runs_of_the_trial() {
    let report = studies::swap();
    let contrast = Contrast { factor: "swap".to_owned(), a: "off".to_owned(), b: "on".to_owned() };
    let question = Question::new("wall", vec![contrast], vec!["concurrency".to_owned()]);
    let table = Table::read(csv(&report).as_bytes(), "study.csv", &question).unwrap();
    let found = analyze(&table, &question).unwrap();
    assert_eq!(found.comparisons.len(), 2);
    for ours in report.analysis.comparisons.iter().filter(|one| one.primary) {
        let same = |one: &&Comparison| one.by.get("concurrency") == ours.by.get("concurrency");
        let theirs = found.comparisons.iter().find(same).unwrap();
        assert_eq!((theirs.a_values.n, theirs.b_values.n), (ours.a_values.n, ours.b_values.n));
        let close = |one: Option<f64>, other: Option<f64>| (one.unwrap() - other.unwrap()).abs() < 1e-9;
        assert!(close(theirs.a_values.mean, ours.a_values.mean) && close(theirs.b_values.mean, ours.b_values.mean));
    }
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    for ((name, one), (_, two)) in studies::all().iter().zip(studies::all()) {
        assert_eq!(renditions(one), renditions(&two), "{name}");
    }
}

#[test]
fn the_page_names_no_address_to_load_from() {
    // That of runs that kept stacks has scripts in it; `report_words.rs` reads it.
    for (name, report) in studies::all().into_iter().filter(|(name, _)| !["hostile", "stacked"].contains(name)) {
        let page = html(&report).unwrap();
        for word in ["http://", "https://", "src=", "url(", "@import", "<link", "<script"] {
            assert!(!page.contains(word), "{name}: {word}");
        }
    }
}
