//! Comparisons for a pull request or a mail, as GitHub Flavored Markdown.

use super::layout;
use crate::comparison::analysis::Comparisons;
use crate::report::markdown::escape;
use crate::spelling::capitalised;
use std::fmt::Write;

/// The comparisons as Markdown, ending in a newline.
#[must_use]
pub fn markdown(all: &Comparisons) -> String {
    let mut out = String::new();
    for contrast in layout::contrasts(all) {
        let n = contrast.common_n().map_or_else(String::new, |(a, b)| format!(", n = {a} and {b}"));
        let _ = writeln!(out, "## {}\n\n**{}.**", escape(&contrast.title()), capitalised(&contrast.verdicts()));
        let _ = writeln!(out, "\nMeans of {}{n}:\n", escape(&layout::value(all)));
        let rows = layout::rows(all, &contrast);
        out.push_str(&table(&rows.head, &rows.rows, rows.names));
        if let Some(footnote) = layout::footnote(all, &contrast) {
            let _ = writeln!(out, "{}\n", escape(&footnote));
        }
        if let Some(further) = layout::further(all, &contrast) {
            let _ = writeln!(out, "{}\n", escape(&layout::further_title(&contrast)));
            out.push_str(&table(&further.head, &further.rows, further.names));
        }
    }
    let details = layout::details(all);
    for (label, value) in &details {
        let _ = writeln!(out, "- {}: {}", escape(label), escape(value));
    }
    if !details.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{}\n\n{}", escape(&layout::legend(all)), escape(&layout::what_decides(all)));
    if layout::counters_compared(all) > 0 {
        let (head, rows) = layout::counter_rows(all);
        let _ = writeln!(out, "\n## Counters\n");
        if !rows.is_empty() {
            out.push_str(&table(&head, &rows, head.len().saturating_sub(4)));
        }
        let _ = writeln!(out, "{}", escape(&layout::counters_note(all)));
    }
    let notes = layout::notes(all);
    if !notes.is_empty() {
        let _ = writeln!(out, "\n## Notes\n");
    }
    for note in notes {
        let _ = writeln!(out, "- {}", escape(&note));
    }
    let warnings = layout::warnings(all);
    if !warnings.is_empty() {
        let _ = writeln!(out, "\n## Warnings\n");
    }
    for warning in warnings {
        let place = warning.where_.map_or_else(String::new, |place| format!(" ({})", escape(&place)));
        let _ = writeln!(out, "- **{}**{place}: {}", escape(&warning.id), escape(&warning.text));
    }
    out
}

fn table(head: &[String], rows: &[Vec<String>], names: usize) -> String {
    let row =
        |cells: &[String]| format!("| {} |\n", cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" | "));
    let last = head.len().saturating_sub(1);
    let rule = (0..head.len()).map(|place| if place < names || place == last { ":---" } else { "---:" });
    let mut out = row(head);
    let _ = writeln!(out, "| {} |", rule.collect::<Vec<_>>().join(" | "));
    rows.iter().for_each(|cells| out.push_str(&row(cells)));
    out.push('\n');
    out
}
