//! What people read of a trial: the terminal's and the Markdown report against golden files, and what no report may do.

use pagewise_core::report::{Style, html, markdown, text};
use pagewise_testkit::said::unwrapped;
use pagewise_testkit::{reports, studies};

#[test]
fn the_terminal_report_reads_as_its_golden_file() {
    for (name, report) in reports::all() {
        insta::assert_snapshot!(format!("text-{name}"), text(&report, Style::default()));
    }
}

#[test]
fn the_markdown_report_reads_as_its_golden_file() {
    for (name, report) in reports::all() {
        insta::assert_snapshot!(format!("markdown-{name}"), markdown(&report));
    }
}

#[test]
fn without_utf_8_the_terminal_report_is_ascii() {
    for (name, report) in reports::all() {
        let text = text(&report, Style { unicode: false, ..Style::default() });
        assert!(text.is_ascii(), "{name}: {:?}", text.lines().find(|line| !line.is_ascii()));
    }
    insta::assert_snapshot!(
        "text-better-ascii",
        text(&reports::better(), Style { unicode: false, ..Style::default() })
    );
}

#[test]
fn the_terminal_report_fits_80_columns_except_for_commands_to_copy() {
    for (name, report) in reports::all() {
        for line in text(&report, Style::default()).lines() {
            let is_command = report.commands.iter().any(|command| line.trim() == command);
            assert!(is_command || line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn colour_adds_escape_sequences_and_nothing_else() {
    let report = reports::inconclusive();
    let colourful = text(&report, Style { color: true, ..Style::default() });
    let plain =
        ["\u{1b}[1m", "\u{1b}[1;33m", "\u{1b}[0m"].iter().fold(colourful.clone(), |t, code| t.replace(code, ""));
    assert_ne!(colourful, plain);
    assert_eq!(plain, text(&report, Style::default()));
}

#[test]
fn no_name_reaches_terminal_or_page_as_control_character_or_markup() {
    let report = reports::hostile();
    let page = html(&report).unwrap();
    for (kind, bytes) in
        [("text", text(&report, Style::default())), ("markdown", markdown(&report)), ("html", page.clone())]
    {
        let bad = bytes.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{kind}");
    }
    for element in ["<script", "<img", "<iframe", "<a ", "<b>rows", "<i>rows", "onerror=\""] {
        assert!(!page.contains(element), "{element} came through");
    }
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let (one, two) = (reports::better(), reports::better());
    assert_eq!(html(&one).unwrap(), html(&two).unwrap());
    assert_eq!(text(&one, Style::default()), text(&two, Style::default()));
    assert_eq!(markdown(&one), markdown(&two));
}

#[test]
fn the_page_names_no_address_to_load_from() {
    // The page of runs that kept stacks has scripts in it: the next test reads it.
    for (name, report) in reports::all().into_iter().filter(|(name, _)| !["hostile", "stacked"].contains(name)) {
        let page = html(&report).unwrap();
        for word in ["http://", "https://", "src=", "url(", "@import", "<link", "<script"] {
            assert!(!page.contains(word), "{name}: {word}");
        }
    }
}

/// A page without its scripts.
fn markup(page: &str) -> String {
    page.split("<script").map(|part| part.split_once("</script>").map_or(part, |(_, rest)| rest)).collect()
}

#[test]
fn the_page_of_runs_that_kept_stacks_loads_nothing_and_names_every_licence() {
    for page in [html(&reports::stacked()).unwrap(), html(&studies::stacked()).unwrap()] {
        let markup = markup(&page);
        for way in ["<link", "<img", "<iframe", "<object", "@import", "url(", "onerror=\""] {
            assert!(!markup.contains(way), "{way} loads something");
        }
        assert!(page.contains("default-src 'none'") && page.contains("script-src 'nonce-"));
        assert!(!page.contains("<script src"));
        for licence in ["Mike Bostock", "Robert Penner", "Apache License"] {
            assert!(markup.contains(licence), "{licence}");
        }
        assert!(!page.contains("uPlot"), "what draws timelines is not needed here");
    }
}

#[test]
fn functions_that_differ_are_told_in_every_form_and_hostile_names_are_only_text() {
    let report = reports::stacked();
    let page = html(&report).unwrap();
    for (kind, said) in
        [("text", text(&report, Style::default())), ("markdown", markdown(&report)), ("html", markup(&page))]
    {
        let words = unwrapped(&said);
        assert!(words.contains("compact_zone") || words.contains("compact\\_zone"), "{kind}: {words}");
        assert!(words.contains("10 pairs; a share is of the samples of a run, and a run is one observation"), "{kind}");
        let bad = said.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{kind}");
    }
    assert!(!markup(&page).contains("<img") && !page.contains("<script>"));
}
