//! The report on a terminal: the verdict first, then tables. Readable at 80 columns, without colour and without UTF-8.

use super::Report;
use super::content::{Content, Line, Table, Warning};
use super::figure::interval_drawing;
use super::functions::Functions;
use super::printable::ascii;
use super::two_arms::TwoArms;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How the terminal wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Escape sequences for colour and bold.
    pub color: bool,
    /// Columns. Less than 40 is taken as 40, more than 100 as 100.
    pub width: u16,
    /// Letters and lines beyond ASCII.
    pub unicode: bool,
}

impl Default for Style {
    /// What a file or a pipe gets.
    fn default() -> Self {
        Style { color: false, width: 80, unicode: true }
    }
}

impl Style {
    pub(super) fn columns(self) -> usize {
        usize::from(self.width.clamp(40, 100))
    }

    pub(super) fn paint(self, codes: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{codes}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

pub(super) const BOLD: &str = "1";
pub(super) const WARNING: &str = "1;33";

/// How a verdict is painted.
pub(super) fn colour_of(tone: &str) -> &'static str {
    match tone {
        "better" => "1;32",
        "worse" => "1;31",
        "equivalent" => "1;36",
        _ => WARNING,
    }
}

/// The report as text, ending in a newline.
#[must_use]
pub fn text(report: &Report, style: Style) -> String {
    let Some(two) = TwoArms::of(report) else { return super::study::text(report, style) };
    let content = Content::of(&two);
    let content = if style.unicode { content } else { content.map(ascii) };
    let mut page = Page { style, out: String::new() };
    page.verdict(&content);
    page.table(&content.arms, &[CellAlignment::Left; 3]);
    page.out.push('\n');
    page.lines(&content.effect);
    page.drawing(&two);
    page.list("Runs that did not end well", &content.incidents);
    page.warnings(&content.warnings);
    if !content.measures.rows.is_empty() {
        page.heading("Other measures");
        page.table(&content.measures, &NUMBERS);
        page.paragraph(&content.measures_note, 2, 2);
    }
    page.heading("What differed in the kernel (whole host)");
    if !content.counters.rows.is_empty() {
        // The interval says the difference, too, and 80 columns have no room for both.
        page.table(&content.counters.without(DIFFERENCE), &NUMBERS);
    }
    page.paragraph(&content.counters_note, 2, 2);
    if let Some(functions) = &content.functions {
        page.heading("Where CPUs were");
        page.functions(functions, 2);
    }
    page.list("Notes", &content.notes);
    page.heading("How it ran");
    page.lines(&content.design);
    page.heading("Host");
    page.lines(&content.host);
    page.commands(&content.commands);
    page.out.push('\n');
    page.paragraph(&content.origin, 0, 0);
    page.out
}

/// The column of the counters' difference.
const DIFFERENCE: usize = 3;

const NUMBERS: [CellAlignment; 6] = [
    CellAlignment::Left,
    CellAlignment::Right,
    CellAlignment::Right,
    CellAlignment::Right,
    CellAlignment::Right,
    CellAlignment::Right,
];

pub(super) struct Page {
    pub(super) style: Style,
    pub(super) out: String,
}

impl Page {
    fn verdict(&mut self, content: &Content) {
        let colour = colour_of(&content.verdict.tone);
        self.out.push_str(&self.style.paint(colour, &content.verdict.word.to_uppercase()));
        self.out.push('\n');
        self.paragraph(&content.verdict.sentence, 0, 0);
        self.paragraph(&content.verdict.meaning, 0, 0);
        self.out.push('\n');
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.out.push('\n');
        self.out.push_str(&self.style.paint(BOLD, text));
        self.out.push('\n');
    }

    pub(super) fn paragraph(&mut self, text: &str, first: usize, rest: usize) {
        let wrapped = wrap(text, self.style.columns(), &" ".repeat(first), &" ".repeat(rest));
        self.out.push_str(&wrapped);
    }

    pub(super) fn lines(&mut self, lines: &[Line]) {
        let most = self.style.columns() / 3;
        let label_width = lines.iter().map(|line| line.label.width()).filter(|width| *width <= most).max().unwrap_or(0);
        for line in lines {
            if line.label.width() > most {
                // A name that would push its value out of the page has lines of its own.
                self.paragraph(&line.label, 2, 2);
                self.paragraph(&line.value, 6, 6);
                continue;
            }
            let label = format!("  {}{}  ", line.label, " ".repeat(label_width - line.label.width()));
            let rest = " ".repeat(label_width + 4);
            self.out.push_str(&wrap(&line.value, self.style.columns(), &label, &rest));
        }
    }

    pub(super) fn table(&mut self, table: &Table, alignment: &[CellAlignment]) {
        let mut drawn = comfy_table::Table::new();
        drawn
            .load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.style.columns() as u16)
            .set_header(&table.head);
        let widest = |at: usize| {
            let cells = table.rows.iter().filter_map(|row| row.get(at)).chain(table.head.get(at));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..table.head.len()).map(widest).collect();
        let is_too_wide = widths.iter().map(|width| width + 2).sum::<usize>() > self.style.columns();
        let others = widths.len().saturating_sub(1).max(1);
        let room = (self.style.columns().saturating_sub(widths.first().unwrap_or(&0) + 3) / others).saturating_sub(2);
        let drawn_cell = |(at, cell): (usize, &String)| {
            let cell = with_percent_signs(cell);
            if at > 0 && is_too_wide { at_seams(&cell, room) } else { cell }
        };
        let rows: Vec<Vec<String>> =
            table.rows.iter().map(|row| row.iter().enumerate().map(drawn_cell).collect()).collect();
        for (column, alignment) in drawn.column_iter_mut().zip(alignment) {
            column.set_cell_alignment(*alignment);
        }
        // Where it is the heads that are too wide, they are broken between words, and no value is.
        let least = |at: usize| {
            let lines = rows.iter().filter_map(|row| row.get(at)).flat_map(|cell| cell.lines());
            let words = table.head.get(at).into_iter().flat_map(|head| head.split_whitespace());
            lines.chain(words).map(UnicodeWidthStr::width).max().unwrap_or(0) + if at == 0 { 3 } else { 2 }
        };
        let least: Vec<usize> = (0..table.head.len()).map(least).collect();
        if is_too_wide && least.iter().sum::<usize>() <= self.style.columns() {
            for (column, width) in drawn.column_iter_mut().zip(&least).skip(1) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width as u16)));
            }
        }
        for row in &rows {
            drawn.add_row(row);
        }
        if let Some(first) = drawn.column_mut(0) {
            first.set_padding((2, 1));
            // Names that are a word each stay whole, as long as they leave room for what is said of them.
            let mut names = table.rows.iter().filter_map(|row| row.first());
            let are_words = names.all(|name| !name.contains(char::is_whitespace));
            let cells = table.rows.iter().filter_map(|row| row.first()).chain(table.head.first());
            let longest = cells.map(|cell| cell.width()).max().unwrap_or(0);
            if are_words && longest <= self.style.columns() / 2 {
                first.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest as u16 + 3)));
            }
        }
        for (number, line) in drawn.lines().enumerate() {
            let line = line.trim_end().replace(NO_BREAK, " ");
            let line = if number == 0 { self.style.paint(BOLD, &line) } else { line };
            self.out.push_str(&line);
            self.out.push('\n');
        }
    }

    /// Functions that differ between two arms, set in by so many columns.
    pub(super) fn functions(&mut self, functions: &Functions, indent: usize) {
        self.paragraph(&functions.said, indent, indent);
        if !functions.table.rows.is_empty() {
            self.table(&functions.table, &NUMBERS);
        }
        self.paragraph(&functions.note, indent, indent);
    }

    fn drawing(&mut self, two: &TwoArms<'_>) {
        let drawing = interval_drawing(two, self.style.columns(), self.style.unicode);
        if !drawing.is_empty() {
            self.out.push('\n');
            self.out.push_str(&drawing);
        }
    }

    pub(super) fn list(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.heading(heading);
        for item in items {
            self.out.push_str(&wrap(item, self.style.columns(), "  - ", "    "));
        }
    }

    pub(super) fn warnings(&mut self, warnings: &[Warning]) {
        if warnings.is_empty() {
            return;
        }
        self.heading("Warnings");
        for warning in warnings {
            self.out.push_str("  ");
            self.out.push_str(&self.style.paint(WARNING, &warning.id));
            self.out.push('\n');
            self.paragraph(&warning.text, 4, 4);
            self.paragraph(&format!("To do: {}", warning.remedy), 4, 4);
        }
    }

    /// Commands are there to be copied: they are parted only where a shell puts them together again.
    pub(super) fn commands(&mut self, commands: &[String]) {
        if commands.is_empty() {
            return;
        }
        self.heading("To repeat");
        for line in commands.iter().flat_map(|command| command.lines()) {
            self.out.push_str("  ");
            self.out.push_str(&if self.style.unicode { line.to_owned() } else { ascii(line) });
            self.out.push('\n');
        }
    }
}

/// Behind these a word may be broken that is too long for its line.
const SEAMS: [char; 2] = ['=', '/'];

/// A cell whose words are too long for `columns` is broken where they have a seam, as far as they have one.
fn at_seams(cell: &str, columns: usize) -> String {
    let broken = |word: &str| {
        let mut lines = vec![String::new()];
        for piece in word.split_inclusive(SEAMS) {
            let is_full = lines.last().is_some_and(|line| !line.is_empty() && line.width() + piece.width() > columns);
            if is_full {
                lines.push(String::new());
            }
            lines.last_mut().into_iter().for_each(|line| line.push_str(piece));
        }
        lines.join("\n")
    };
    let words = cell.split(' ').map(|word| if word.width() > columns { broken(word) } else { word.to_owned() });
    words.collect::<Vec<String>>().join(" ")
}

/// Breaks `text` at spaces into lines of `columns`; a word longer than a line is broken at its seams, and where it must be.
pub(super) fn wrap(text: &str, columns: usize, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    let mut next = |line: &mut String, empty: &mut bool| {
        out.push_str(line.trim_end());
        out.push('\n');
        *line = rest.to_owned();
        *empty = true;
    };
    for word in with_percent_signs(text).split(' ') {
        if !empty && line.width() + 1 + word.width() > columns {
            next(&mut line, &mut empty);
        }
        if !empty {
            line.push(' ');
        }
        let is_long = rest.width() + word.width() > columns;
        let pieces: Vec<&str> = if is_long { word.split_inclusive(SEAMS).collect() } else { vec![word] };
        for piece in pieces {
            if !empty && line.width() + piece.width() > columns {
                next(&mut line, &mut empty);
            }
            for c in piece.chars() {
                if line.width() + c.width().unwrap_or(0) > columns {
                    next(&mut line, &mut empty);
                }
                line.push(c);
                empty = false;
            }
        }
    }
    next(&mut line, &mut empty);
    out.replace(NO_BREAK, " ")
}

/// A space at which no line is broken; it is printed as any other.
const NO_BREAK: char = '\u{a0}';

/// A number stays with its percent sign.
fn with_percent_signs(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        let text = format!("short words and then {} and the end", "x".repeat(50));
        for line in wrap(&text, 20, "  - ", "    ").lines() {
            assert!(line.width() <= 20, "{line:?}");
        }
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_broken_at_its_seams() {
        let path = "see /sys/kernel/mm/transparent_hugepage/khugepaged/defrag there";
        assert_eq!(
            wrap(path, 30, "", "  "),
            "see\n  /sys/kernel/mm/\n  transparent_hugepage/\n  khugepaged/defrag there\n"
        );
    }

    #[test]
    fn a_cell_is_broken_at_its_seams() {
        assert_eq!(at_seams("jvm.UseTransparentHugePages=false", 31), "jvm.UseTransparentHugePages=\nfalse");
        assert_eq!(at_seams("now (host left as it was)", 12), "now (host left as it was)");
        assert_eq!(at_seams("a=b/c=d/e=f", 4), "a=b/\nc=d/\ne=f");
        assert_eq!(at_seams("1,234,567,890.5", 4), "1,234,567,890.5", "a number has none");
        assert_eq!(at_seams("unbreakable", 4), "unbreakable");
    }

    #[test]
    fn a_number_in_a_cell_keeps_its_percent_sign() {
        let head = ["measure, mean of", "A", "B", "change", "95 % interval"].map(str::to_owned).to_vec();
        let row = ["anon_peak", "1.10 GiB", "1.11 GiB", "+0.60 %", "+0.54 % to +0.65 %"].map(str::to_owned).to_vec();
        for width in [56, 60, 70, 80] {
            let mut page = Page { style: Style { width, ..Style::default() }, out: String::new() };
            page.table(&Table { head: head.clone(), rows: vec![row.clone()] }, &NUMBERS);
            for line in page.out.lines() {
                assert!(line.width() <= usize::from(width) && !line.contains(NO_BREAK), "{line:?}");
                assert!(!line.trim_start().starts_with('%'), "{width} columns:\n{}", page.out);
            }
        }
    }

    #[test]
    fn wrapping_loses_no_letter() {
        let text = "one two three four five six seven eight nine ten";
        let joined = wrap(text, 12, "", "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(joined, text);
    }
}
