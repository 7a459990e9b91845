//! The report for a pull request or a mail: the content of the terminal's, as GitHub Flavored Markdown.

use super::Report;
use super::content::{Content, Line, Table};
use super::figure::interval_drawing;
use super::functions::Functions;
use super::two_arms::TwoArms;
use std::fmt::Write;

/// The report as Markdown, ending in a newline.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let Some(two) = TwoArms::of(report) else { return super::study::markdown(report) };
    let content = Content::of(&two);
    let mut out = String::new();
    let mut put = |text: String| out.push_str(&text);
    put(format!("# {}\n\n", escape(&content.name)));
    put(format!("**{}.** {}\n\n", content.verdict.word, sentence(&content.verdict.first)));
    if !content.verdict.rest.is_empty() {
        put(format!("{}\n\n", sentence(&content.verdict.rest)));
    }
    put(format!("{}\n\n", escape(&content.verdict.meaning)));
    put(table(&content.arms, ":---"));
    put(lines(&content.effect));
    let drawing = interval_drawing(&two, 80, true);
    if !drawing.is_empty() {
        put(format!("```text\n{drawing}```\n\n"));
    }
    put(list("Runs that did not end well", content.incidents.iter().map(|text| escape(text))));
    let warning = |w: &super::content::Warning| {
        format!("**{}**: {} *To do:* {}", escape(&w.id), escape(&w.text), escape(&w.remedy))
    };
    put(list("Warnings", content.warnings.iter().map(warning)));
    if !content.measures.rows.is_empty() {
        put("## Other measures\n\n".to_owned());
        put(table(&content.measures, "---:"));
        put(format!("{}\n\n", escape(&content.measures_note)));
    }
    put("## What differed in the kernel (whole host)\n\n".to_owned());
    if !content.counters.rows.is_empty() {
        put(table(&content.counters, "---:"));
    }
    put(format!("{}\n\n", escape(&content.counters_note)));
    if let Some(one) = &content.functions {
        put(format!("## Where CPUs were\n\n{}", functions(one)));
    }
    put(list("Notes", content.notes.iter().map(|text| escape(text))));
    put(format!("## How it ran\n\n{}", lines(&content.design)));
    put(format!("## Host\n\n{}", lines(&content.host)));
    if !content.commands.is_empty() {
        put(format!("## To repeat\n\n{}\n", fenced(&content.commands)));
    }
    put(format!("{}\n", escape(&content.origin)));
    out
}

/// Names of levels as code. A piece holds no backtick, so none can end its own.
pub(super) fn sentence(pieces: &[String]) -> String {
    let piece = |(number, text): (usize, &String)| match number % 2 {
        1 if !text.is_empty() => format!("`{text}`"),
        _ => escape(text),
    };
    pieces.iter().enumerate().map(piece).collect()
}

pub(super) fn table(table: &Table, alignment: &str) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| escape(c)).collect::<Vec<_>>().join(" | "));
    let mut out = row(&table.head);
    let rule = (0..table.head.len()).map(|column| if column == 0 { ":---" } else { alignment });
    out.push_str(&format!("| {} |\n", rule.collect::<Vec<_>>().join(" | ")));
    for cells in &table.rows {
        out.push_str(&row(cells));
    }
    out.push('\n');
    out
}

/// Functions that differ between two arms.
pub(super) fn functions(functions: &Functions) -> String {
    let listed = if functions.table.rows.is_empty() { String::new() } else { table(&functions.table, "---:") };
    format!("{}\n\n{listed}{}\n\n", escape(&functions.said), escape(&functions.note))
}

pub(super) fn lines(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "- {}: {}", escape(&line.label), escape(&line.value));
    }
    out.push('\n');
    out
}

pub(super) fn list(heading: &str, items: impl Iterator<Item = String>) -> String {
    let items = items.map(|item| format!("- {item}\n")).collect::<String>();
    if items.is_empty() { items } else { format!("## {heading}\n\n{items}\n") }
}

/// A code block whose fence is longer than any run of backticks in it.
pub(super) fn fenced(commands: &[String]) -> String {
    let longest = commands.iter().flat_map(|c| c.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{}\n{fence}\n", commands.join("\n"))
}

/// Text in which nothing is markup. Names of levels and messages of commands are anyone's.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            // Between letters it is no emphasis, and names of counters stay readable in a mail.
            '_' if out.ends_with(char::is_alphanumeric) => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_markup() {
        assert_eq!(escape("a|b <img> *x* `y`"), r"a\|b &lt;img> \*x\* \`y\`");
    }

    #[test]
    fn a_command_cannot_close_its_block() {
        let block = fenced(&["echo ```` ".to_owned()]);
        assert!(block.starts_with("`````sh\n"), "{block}");
    }
}
