//! The study on a terminal: verdicts first.

use super::StudyReport;
use crate::report::Style;

/// The report as text, ending in a newline.
#[must_use]
pub fn text(report: &StudyReport, _style: Style) -> String {
    let mut out = String::new();
    for comparison in &report.study.comparisons {
        let mark = if comparison.primary { "*" } else { " " };
        out.push_str(&format!("{mark} {} [{}]\n  {}\n", comparison.name, comparison.metric, comparison.sentence));
    }
    for warning in &report.study.warnings {
        out.push_str(&format!("warning ({}): {}\n", warning.id, warning.text));
    }
    out
}
