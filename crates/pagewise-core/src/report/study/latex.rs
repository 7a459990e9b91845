//! The study for a paper: `booktabs` tables, every name escaped, each table an environment of its own.

use super::Report;
use super::content::{Content, Contrast, Section};
use crate::report::comparisons::latex::{NEEDS, SMALL, escape};
use crate::report::content::Table;
use std::fmt::Write;

/// The report as LaTeX, to be included below `\usepackage{booktabs}`. Ends in a newline.
#[must_use]
pub fn latex(report: &Report) -> String {
    let content = Content::of(report);
    let mut out = NEEDS.to_owned();
    let mut paragraph = |text: &str| {
        let _ = writeln!(out, "{}\n", said(text));
    };
    paragraph(&content.outcome.sentence);
    content.ended.iter().for_each(|ended| paragraph(ended));
    for contrast in content.claims.iter().chain(&content.interactions) {
        contrast.said.iter().for_each(|one| paragraph(&with_holds(&one.sentence, &one.holds)));
    }
    for contrast in &content.claims {
        out.push_str(&of_contrast(contrast, &content.claims_note, &content.means_note));
    }
    for contrast in &content.interactions {
        out.push_str(&of_contrast(contrast, "Not adjusted.", ""));
    }
    for section in &content.cells {
        out.push_str(&of_section(section, "Cells", &content.means_note));
    }
    for section in &content.others {
        out.push_str(&of_section(section, "Not claims", &content.others_note));
    }
    for one in &content.explained {
        let caption = format!("What else differed. {}. {}", one.heading, one.stall.clone().unwrap_or_default());
        if one.table.rows.is_empty() {
            let _ = writeln!(out, "{}\n", said(&format!("{caption} {}", one.note)));
        } else {
            out.push_str(&table(&one.table, &format!("{caption} {} {}", one.note, content.counters_note)));
        }
        if let Some(functions) = &one.functions {
            let caption = format!("Where CPUs were. {}. {} {}", one.heading, functions.said, functions.note);
            out.push_str(&match functions.table.rows.is_empty() {
                true => format!("{}\n\n", said(&caption)),
                false => table(&functions.table, &caption),
            });
        }
    }
    if !content.interim_analyses.rows.is_empty() {
        out.push_str(&table(&content.interim_analyses, "Interim analyses of the trial, and what each decided."));
    }
    for text in &content.method {
        let _ = writeln!(out, "{}\n", said(text));
    }
    for warning in &content.warnings {
        // A comment ends with its line, and what is told is on one. No name in it looks like a command.
        let text = warning.text.replace('\\', "\\textbackslash{}");
        let _ = writeln!(out, "% Warning: {}: {text}", warning.id);
    }
    let _ = writeln!(out, "% {}", content.origin);
    out
}

fn with_holds(sentence: &str, holds: &str) -> String {
    if holds.is_empty() { sentence.to_owned() } else { format!("{sentence} Holds for: {holds}.") }
}

/// Prose: names that stand between backticks are quoted as a paper quotes.
fn said(text: &str) -> String {
    let pieces = crate::report::content::pieces(text);
    let piece = |(number, piece): (usize, &String)| match number % 2 {
        1 => format!("\\emph{{{}}}", escape(piece)),
        _ => escape(piece),
    };
    pieces.iter().enumerate().map(piece).collect()
}

fn of_contrast(contrast: &Contrast, note: &str, means: &str) -> String {
    table(&contrast.table, &format!("{}: {}. {note} {means}", contrast.heading, contrast.verdicts))
}

fn of_section(section: &Section, what: &str, note: &str) -> String {
    table(&section.table, &format!("{what}: {}. {note}", section.heading))
}

fn table(table: &Table, caption: &str) -> String {
    let is_words = |name: &String| matches!(name.as_str(), "verdict" | "decision" | "comparison" | "outcomes");
    let columns: String = table
        .head
        .iter()
        .enumerate()
        .map(|(place, name)| if place == 0 || is_words(name) { 'l' } else { 'r' })
        .collect();
    let row =
        |cells: &[String]| format!("    {} \\\\\n", cells.iter().map(|c| escape(c)).collect::<Vec<_>>().join(" & "));
    let mut out = String::from("\\begin{table}\n  \\centering\n");
    let _ = writeln!(out, "  \\caption{{{}}}", said(caption.trim()));
    out.push_str(SMALL);
    let _ = writeln!(out, "  \\begin{{tabular}}{{{columns}}}\n    \\toprule");
    out.push_str(&row(&table.head));
    out.push_str("    \\midrule\n");
    table.rows.iter().for_each(|cells| out.push_str(&row(cells)));
    out.push_str("    \\bottomrule\n  \\end{tabular}\n\\end{table}\n");
    out
}
