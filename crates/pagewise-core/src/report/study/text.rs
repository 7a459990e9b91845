//! The study on a terminal: verdicts first. Readable at 80 columns, without colour and without UTF-8.

use super::Report;
use super::content::{Content, Contrast};
use crate::report::Style;
use crate::report::content::Table;
use crate::report::printable::ascii;
use crate::report::text::{Page, colour_of};
use comfy_table::CellAlignment;
use unicode_width::UnicodeWidthStr;

/// The report as text, ending in a newline.
#[must_use]
pub(in crate::report) fn text(report: &Report, style: Style) -> String {
    let content = Content::of(report);
    let content = if style.unicode { content } else { content.map(ascii) };
    let mut page = Page { style, out: String::new() };
    outcome(&mut page, &content);
    page.heading("What the trial found");
    content.claims.iter().for_each(|one| contrast(&mut page, one));
    page.paragraph(&content.claims_note, 2, 2);
    if !content.interactions.is_empty() {
        page.heading("Interactions (not adjusted)");
        content.interactions.iter().for_each(|one| contrast(&mut page, one));
    }
    page.warnings(&content.warnings);
    page.list("Runs that did not end well", &content.incidents);
    for section in &content.cells {
        page.heading(&format!("Cells: {}", section.heading));
        table(&mut page, &section.table, 2);
    }
    page.paragraph(&content.means_note, 2, 2);
    for section in &content.others {
        page.heading(&format!("Not claims: {}", section.heading));
        table(&mut page, &section.table, 1);
    }
    if !content.others_note.is_empty() {
        page.out.push('\n');
        page.paragraph(&content.others_note, 2, 2);
    }
    explained(&mut page, &content);
    if !content.interim_analyses.rows.is_empty() {
        page.heading("Interim analyses");
        table(&mut page, &content.interim_analyses, 0);
    }
    page.list("Notes", &content.notes);
    page.heading("How it ran");
    page.lines(&content.design);
    page.heading("What the levels set");
    page.lines(&content.levels);
    page.heading("Host");
    page.lines(&content.host);
    page.list("How the numbers were made", &content.method);
    page.commands(&content.commands);
    page.out.push('\n');
    page.paragraph(&content.origin, 0, 0);
    page.out
}

fn outcome(page: &mut Page, content: &Content) {
    let said = |count: &super::content::Count| {
        let word = count.word.to_uppercase();
        let text = count.count.map_or(word.clone(), |count| format!("{count} {word}"));
        page.style.paint(colour_of(&count.tone), &text)
    };
    let words: Vec<String> = content.outcome.counts.iter().map(said).collect();
    page.out.push_str(&words.join(", "));
    page.out.push('\n');
    page.paragraph(&content.outcome.sentence, 0, 0);
    if let Some(ended) = &content.ended {
        page.paragraph(ended, 0, 0);
    }
}

fn contrast(page: &mut Page, contrast: &Contrast) {
    page.paragraph(&format!("{} - {}", contrast.heading, contrast.verdicts), 2, 4);
    for said in &contrast.said {
        let place = if said.place.is_empty() { String::new() } else { format!(" ({})", said.place) };
        let plain = format!("{}{place}", said.word.to_uppercase());
        let before = page.out.len();
        page.paragraph(&plain, 4, 6);
        // Painted after it is laid out: escape sequences have no width.
        let laid = page.out.split_off(before);
        let word = said.word.to_uppercase();
        page.out.push_str(&laid.replacen(&word, &page.style.paint(colour_of(&said.tone), &word), 1));
        page.paragraph(&said.sentence, 6, 6);
        if !said.holds.is_empty() {
            page.paragraph(&format!("Holds for: {}.", said.holds), 6, 6);
        }
        if !said.tests.is_empty() {
            page.paragraph(&format!("{}.", said.tests), 6, 6);
        }
    }
    page.out.push('\n');
    let fitting = fitting(page, &contrast.table, &contrast.spared);
    table(page, &fitting, contrast.names);
    page.out.push('\n');
}

fn explained(page: &mut Page, content: &Content) {
    if content.explained.is_empty() {
        return;
    }
    page.heading("What else differed");
    for one in &content.explained {
        page.paragraph(&one.heading, 2, 4);
        if let Some(stall) = &one.stall {
            page.paragraph(stall, 4, 4);
        }
        if !one.table.rows.is_empty() {
            table(page, &one.table, 1);
        }
        page.paragraph(&one.note, 4, 4);
        if let Some(functions) = &one.functions {
            page.out.push('\n');
            page.functions(functions, 4);
        }
        page.out.push('\n');
    }
    page.paragraph(&content.counters_note, 2, 2);
}

/// The table without as many of the columns it can spare as the page is too narrow for.
fn fitting(page: &Page, table: &Table, spared: &[String]) -> Table {
    let mut table = table.clone();
    for name in spared {
        let width = |column: usize| {
            let cells = table.rows.iter().filter_map(|row| row.get(column)).chain(table.head.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let wanted: usize = (0..table.head.len()).map(|column| width(column) + 2).sum();
        let Some(column) = table.head.iter().rposition(|own| own == name).filter(|column| *column > 0) else {
            continue;
        };
        if wanted + 1 > page.style.columns() {
            table = table.without(column);
        }
    }
    table
}

/// Names to the left, numbers to the right, and what a column of words says to the left again.
fn table(page: &mut Page, table: &Table, names: usize) {
    let is_words = |name: &str| matches!(name, "verdict" | "decision" | "comparison" | "outcomes" | "outcome");
    let alignment = |(place, name): (usize, &String)| {
        if place < names || is_words(name) { CellAlignment::Left } else { CellAlignment::Right }
    };
    let alignments: Vec<CellAlignment> = table.head.iter().enumerate().map(alignment).collect();
    page.table(table, &alignments);
}
