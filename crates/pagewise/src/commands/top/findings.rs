//! What the rules found, a line each; and the whole text with what to try, to scroll through.

use super::judge::Judged;
use super::picture::Picture;
use crate::screen::Pen;
use pagewise_core::finding::{Diagnosis, Finding, Severity, words};
use pagewise_core::report::{Style as Wanted, findings};
use ratatui::style::Color;
use ratatui::text::{Line, Span};

/// The longest id of a rule.
const ID: usize = 23;

/// Narrower screens have no columns.
const WITH_COLUMNS: usize = 60;

/// Lower screens say nothing of what could not be decided.
const WITH_UNDECIDED: usize = 14;

/// At most `most` findings, and what could not be decided where the screen has `room` for that.
pub(super) fn lines(picture: &Picture, pen: &Pen, most: usize, room: usize) -> Vec<Line<'static>> {
    let Some(judged) = picture.judged else {
        let when = if picture.seen.is_live { "the first look is after 10 s" } else { "the recording is being read" };
        return vec![pen.faint(&format!("findings: {when}"))];
    };
    let diagnosis = match &judged.said {
        Ok(diagnosis) => diagnosis,
        Err(why) => return vec![pen.warn(&format!("findings: {why}"))],
    };
    let mut lines = found(diagnosis, picture, pen, most);
    if picture.is_judging {
        // They are of the stretch before; the new ones come in a moment.
        lines.iter_mut().for_each(|line| *line = pen.faint(&line.to_string()));
    }
    let undecided = findings::undecided_in_short(&diagnosis.not_decided).filter(|_| room >= WITH_UNDECIDED);
    lines.extend(undecided.map(|said| pen.faint(&said)));
    lines
}

fn found(diagnosis: &Diagnosis, picture: &Picture, pen: &Pen, most: usize) -> Vec<Line<'static>> {
    let all = &diagnosis.findings;
    if all.is_empty() {
        let long = words::seconds(diagnosis.look.seconds);
        let when = if picture.view.is_following { format!("in the last {long}") } else { format!("in these {long}") };
        return vec![pen.faint(&format!("findings: none {when}"))];
    }
    // Where there is no room for all, the last line says how many more there are.
    let shown = if all.len() > most { most.saturating_sub(1).max(1) } else { all.len() };
    let more = all.len() - shown;
    let mut lines: Vec<Line> = all.iter().take(shown).map(|finding| line(finding, pen)).collect();
    if more > 0 && most > 1 {
        lines.push(pen.faint(&format!("{:<6} {:<ID$} d shows {more} more, and what to try", "", "")));
    }
    lines
}

fn line(finding: &Finding, pen: &Pen) -> Line<'static> {
    let severity = finding.severity.word();
    let name = match pen.width >= WITH_COLUMNS {
        true => format!("{severity:<6} {:<ID$} ", finding.id),
        false => format!("{severity} {}: ", finding.id),
    };
    let name = pen.cut(&name, pen.width);
    let summary = pen.cut(&finding.summary, pen.width.saturating_sub(name.chars().count()));
    Line::from(vec![pen.tinted(name, color(finding.severity)), Span::raw(summary)])
}

fn color(severity: Severity) -> Color {
    match severity {
        Severity::High => Color::Red,
        Severity::Medium => Color::Yellow,
        Severity::Low => Color::Reset,
    }
}

/// The whole text, cut into lines of the screen. Commands are too long to be wrapped between words: they go on below.
fn text(judged: &Judged, pen: &Pen) -> Vec<String> {
    let diagnosis = match &judged.said {
        Ok(diagnosis) => diagnosis,
        Err(why) => return pen.wrapped(why),
    };
    let width = u16::try_from(pen.width).unwrap_or(u16::MAX);
    let style = Wanted { color: false, width, unicode: pen.wanted.unicode };
    let text = findings::text(diagnosis, style);
    text.lines().flat_map(|line| pen.broken(line)).collect()
}

/// The text from one line on, in so many rows.
pub(super) fn page(judged: Option<&Judged>, pen: &Pen, from: usize, rows: usize) -> Vec<Line<'static>> {
    let Some(judged) = judged else { return vec![pen.line("Nothing has been looked at yet.")] };
    let text = text(judged, pen);
    let from = from.min(text.len().saturating_sub(rows));
    text[from..].iter().take(rows).map(|line| pen.line(line)).collect()
}

/// The line at the top of the screen when the last one is at its bottom.
pub(super) fn last_line(judged: &Judged, wanted: Wanted, width: u16, height: u16) -> usize {
    let pen = Pen { wanted, width: width.into() };
    text(judged, &pen).len().saturating_sub(usize::from(height.saturating_sub(1)))
}
