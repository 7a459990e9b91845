//! Comparisons on a terminal: the verdicts first, then the numbers. Readable at 80 columns, without colour and UTF-8.

use super::layout::{self, Rows};
use crate::comparison::analysis::Comparisons;
use crate::report::Style;
use crate::report::printable::ascii;
use crate::report::text::{BOLD, WARNING, wrap};
use crate::spelling::capitalised;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr;

/// The comparisons as text, ending in a newline.
#[must_use]
pub fn table(all: &Comparisons, style: Style) -> String {
    let mut page = Page { style, out: String::new() };
    for contrast in layout::contrasts(all) {
        page.heading(&contrast.title());
        page.paragraph(&format!("{}.", capitalised(&contrast.verdicts())), 0, 0);
        let n = contrast.common_n().map_or_else(String::new, |(a, b)| format!(", n = {a} and {b}"));
        page.paragraph(&format!("Means of {}{n}:", layout::value(all)), 0, 0);
        let (rows, left_out) = fitting(layout::rows(all, &contrast), style.columns());
        page.table(&rows.head, &rows.rows, rows.names);
        if !left_out.is_empty() {
            page.paragraph(&format!("Left out for width: {left_out}; --format markdown has all columns."), 0, 0);
        }
        layout::footnote(all, &contrast).into_iter().for_each(|text| page.paragraph(&text, 0, 2));
        if let Some(further) = layout::further(all, &contrast) {
            page.out.push('\n');
            page.paragraph(&layout::further_title(&contrast), 0, 0);
            page.table(&further.head, &further.rows, further.names);
        }
        page.out.push('\n');
    }
    let details = layout::details(all);
    page.lines(&details);
    page.paragraph(&layout::legend(all), 0, 0);
    page.paragraph(&layout::what_decides(all), 0, 0);
    page.counters(all);
    page.notes(all);
    page.warnings(all);
    page.out
}

/// A level whose name is longer stands as a letter above its means; the title names it.
const LONGEST_HEAD: usize = 10;

/// The table without what does not fit, and the names of that. Names may be broken into lines, numbers may not.
fn fitting(mut rows: Rows, columns: usize) -> (Rows, String) {
    for (place, letter) in rows.means().into_iter().zip(["first", "second"]) {
        if let Some(head) = rows.head.get_mut(place).filter(|head| head.width() > LONGEST_HEAD) {
            letter.clone_into(head);
        }
    }
    let place_of =
        |what: &str| rows.head.iter().skip(rows.names).position(|head| head == what).map(|at| at + rows.names);
    let spare: Vec<(&str, Vec<usize>)> = vec![
        (layout::N, place_of(layout::N).into_iter().collect()),
        (layout::HOLM, place_of(layout::HOLM).into_iter().collect()),
        ("means", rows.means().to_vec()),
    ];
    let (mut left_out, mut dropped): (Vec<&str>, Vec<usize>) = (Vec::new(), Vec::new());
    for (what, places) in spare.into_iter().filter(|(_, places)| !places.is_empty()) {
        if width(&rows.without(&dropped)) <= columns {
            break;
        }
        left_out.push(what);
        dropped.extend(places);
    }
    (rows.without(&dropped), left_out.join(", "))
}

/// Columns a table takes when no cell is broken.
fn width(rows: &Rows) -> usize {
    let widest = |place: usize| {
        let cells = rows.rows.iter().chain([&rows.head]).filter_map(|cells| cells.get(place));
        cells.map(|cell| cell.width()).max().unwrap_or(0) + padding(place, rows.names)
    };
    (0..rows.head.len()).map(widest).sum()
}

/// Names stand apart; numbers stand to the right and are narrow.
fn padding(place: usize, names: usize) -> usize {
    if place < names { 2 } else { 1 }
}

struct Page {
    style: Style,
    out: String,
}

impl Page {
    fn said(&self, text: &str) -> String {
        if self.style.unicode { text.to_owned() } else { ascii(text) }
    }

    fn heading(&mut self, text: &str) {
        let lines = wrap(&self.said(text), self.style.columns(), "", "");
        for line in lines.lines() {
            self.out.push_str(&self.style.paint(BOLD, line));
            self.out.push('\n');
        }
    }

    fn paragraph(&mut self, text: &str, first: usize, rest: usize) {
        let wrapped = wrap(&self.said(text), self.style.columns(), &" ".repeat(first), &" ".repeat(rest));
        self.out.push_str(&wrapped);
    }

    fn table(&mut self, head: &[String], rows: &[Vec<String>], names: usize) {
        let said = |cells: &[String]| cells.iter().map(|cell| self.said(cell)).collect::<Vec<_>>();
        let mut drawn = Table::new();
        drawn
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.style.columns() as u16)
            .set_header(said(head));
        for row in rows {
            drawn.add_row(said(row));
        }
        let last = head.len().saturating_sub(1);
        for (place, column) in drawn.column_iter_mut().enumerate() {
            let is_number = place >= names && place < last;
            column.set_cell_alignment(if is_number { CellAlignment::Right } else { CellAlignment::Left });
            column.set_padding((0, if place == last { 0 } else { padding(place, names) as u16 }));
            if place >= names {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for (number, line) in drawn.lines().enumerate() {
            let line = line.trim_end();
            self.out.push_str(&if number == 0 { self.style.paint(BOLD, line) } else { line.to_owned() });
            self.out.push('\n');
        }
    }

    fn lines(&mut self, lines: &[(String, String)]) {
        let width = lines.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
        for (label, value) in lines {
            let first = format!("  {label}{}  ", " ".repeat(width - label.width()));
            let text = wrap(&self.said(value), self.style.columns(), &first, &" ".repeat(width + 4));
            self.out.push_str(&text);
        }
        if !lines.is_empty() {
            self.out.push('\n');
        }
    }

    fn counters(&mut self, all: &Comparisons) {
        if layout::counters_compared(all) == 0 {
            return;
        }
        self.out.push('\n');
        self.heading("Counters");
        let (head, rows) = layout::counter_rows(all);
        if !rows.is_empty() {
            let names = head.len().saturating_sub(4);
            self.table(&head, &rows, names);
        }
        self.paragraph(&layout::counters_note(all), 0, 0);
    }

    fn notes(&mut self, all: &Comparisons) {
        let notes = layout::notes(all);
        if notes.is_empty() {
            return;
        }
        self.out.push('\n');
        self.heading("Notes");
        notes.iter().for_each(|note| self.paragraph(note, 2, 4));
    }

    fn warnings(&mut self, all: &Comparisons) {
        let warnings = layout::warnings(all);
        if warnings.is_empty() {
            return;
        }
        self.out.push('\n');
        self.heading("Warnings");
        for warning in warnings {
            let place = warning.where_.map_or_else(String::new, |place| format!(" ({place})"));
            let head = wrap(&self.said(&format!("{}{place}", warning.id)), self.style.columns(), "  ", "    ");
            for line in head.lines() {
                self.out.push_str(&self.style.paint(WARNING, line));
                self.out.push('\n');
            }
            self.paragraph(&warning.text, 4, 4);
        }
    }
}
