//! Comparisons for a paper: a `booktabs` table per contrast, every name escaped.

use super::layout::{self, Contrast};
use crate::comparison::analysis::Comparisons;
use std::fmt::Write;

/// What the document around must bring.
pub(in crate::report) const NEEDS: &str = "% Needs \\usepackage{booktabs} in the preamble; UTF-8. A name with other letters than \
                                           Latin ones needs LuaLaTeX or XeLaTeX.\n";

/// Before a `tabular`: with all of its columns a table in the text's own size is wider than the usual page.
pub(in crate::report) const SMALL: &str = "  \\footnotesize\\setlength{\\tabcolsep}{3pt}\n";

/// The comparisons as LaTeX, to be included below `\usepackage{booktabs}`. Ends in a newline.
#[must_use]
pub fn latex(all: &Comparisons) -> String {
    let mut out = NEEDS.to_owned();
    for contrast in layout::contrasts(all) {
        out.push_str(&table(all, &contrast));
    }
    for note in std::iter::once(layout::what_decides(all)).chain(layout::notes(all)).chain(layout::elsewhere(all)) {
        let _ = writeln!(out, "% Note: {note}");
    }
    for warning in layout::warnings(all) {
        // A comment ends with its line, and what is told is on one.
        let place = warning.where_.map_or_else(String::new, |place| format!(" ({place})"));
        let _ = writeln!(out, "% Warning: {}{place}: {}", warning.id, warning.text);
    }
    out
}

fn table(all: &Comparisons, contrast: &Contrast) -> String {
    let rows = layout::rows(all, contrast);
    let last = rows.head.len().saturating_sub(1);
    let columns: String = (0..rows.head.len()).map(|n| if n < rows.names || n == last { 'l' } else { 'r' }).collect();
    let row =
        |cells: &[String]| format!("    {} \\\\\n", cells.iter().map(|c| escape(c)).collect::<Vec<_>>().join(" & "));
    let n = contrast.common_n().map_or_else(String::new, |(a, b)| format!(", n = {a} and {b}"));
    let footnote = layout::footnote(all, contrast).map_or_else(String::new, |text| format!(" {text}"));
    let caption =
        format!("{}: means of {}{n}. {}{footnote}", contrast.title(), layout::value(all), layout::legend(all));
    let mut out = String::from("\\begin{table}\n  \\centering\n");
    let _ = writeln!(out, "  \\caption{{{}}}", escape(&caption));
    out.push_str(SMALL);
    let _ = writeln!(out, "  \\begin{{tabular}}{{{columns}}}\n    \\toprule");
    out.push_str(&row(&rows.head));
    out.push_str("    \\midrule\n");
    rows.rows.iter().for_each(|cells| out.push_str(&row(cells)));
    out.push_str("    \\bottomrule\n  \\end{tabular}\n\\end{table}\n");
    out
}

/// Text in which nothing is a command. A bracket or a star after `\\` would be its argument, so they stand in braces.
pub(in crate::report) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            // By their numbers: `\textquotedbl` is not there in LaTeX's own encoding, and `\textasciigrave` not in old ones.
            '"' => out.push_str("\\char34{}"),
            '`' => out.push_str("\\char96{}"),
            '[' | ']' | '*' => {
                out.push('{');
                out.push(c);
                out.push('}');
            }
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '−' => out.push_str("$-$"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            '—' => out.push_str("---"),
            'µ' => out.push_str("$\\mu$"),
            '→' => out.push_str("$\\to$"),
            '·' => out.push_str("$\\cdot$"),
            // A number stays with its sign.
            '\u{a0}' => out.push('~'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_a_command() {
        assert_eq!(escape(r"\input{x}_1 & 50% #$"), r"\textbackslash{}input\{x\}\_1 \& 50\% \#\$");
        assert_eq!(escape("[2pt]*~^"), r"{[}2pt{]}{*}\textasciitilde{}\textasciicircum{}");
    }
}
