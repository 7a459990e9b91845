//! What the rules found, a line each; and the whole text with what to try, to scroll through.

use super::picture::Picture;
use super::view::Text;
use crate::screen::Pen;
use pagewise_core::finding::{Answer, Diagnosis, Finding, Severity, words};
use pagewise_core::report::{Style as Wanted, findings};
use pagewise_host::following::judge::StretchVerdict;
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
        let when = if picture.seen.is_live { "the first verdict is after 10 s" } else { "the recording is being read" };
        return vec![pen.faint(&format!("findings: {when}"))];
    };
    let diagnosis = match &judged.said {
        Ok(diagnosis) => diagnosis,
        Err(why) => return vec![pen.warn(&format!("findings: {why}"))],
    };
    let mut lines = found(judged, diagnosis, picture, pen, most);
    if picture.is_judging {
        // They are of the stretch before; the new ones come in a moment.
        lines.iter_mut().for_each(|line| *line = pen.faint(&line.to_string()));
    }
    let undecided = findings::undecided_in_short(&diagnosis.not_decided).filter(|_| room >= WITH_UNDECIDED);
    lines.extend(undecided.map(|said| pen.faint(&said)));
    lines
}

fn found(
    judged: &StretchVerdict,
    diagnosis: &Diagnosis,
    picture: &Picture,
    pen: &Pen,
    most: usize,
) -> Vec<Line<'static>> {
    // What there is to say of the measuring stands in the head.
    let all: Vec<&Finding> = diagnosis.findings.iter().filter(|finding| !finding.is_caveat()).collect();
    if all.is_empty() {
        let long = words::seconds(diagnosis.observed.seconds);
        let when = if picture.view.is_following { format!("in the last {long}") } else { format!("in these {long}") };
        return vec![pen.faint(&format!("findings: none {when}"))];
    }
    // Where there is no room for all, the last line says how many more there are.
    let shown = if all.len() > most { most.saturating_sub(1).max(1) } else { all.len() };
    let more = all.len() - shown;
    let row = |finding: &&Finding| line(finding, ended(finding, judged, picture), pen);
    let mut lines: Vec<Line> = all.iter().take(shown).map(row).collect();
    if more > 0 && most > 1 {
        lines.push(pen.faint(&format!("{:<6} {:<ID$} d shows {more} more, and what to try", "", "")));
    }
    lines
}

/// How long ago it ended, by the clock of the screen's right edge: of a host that is followed that is now.
fn ended(finding: &Finding, judged: &StretchVerdict, picture: &Picture) -> Option<String> {
    let held = finding.held.as_ref()?;
    let before_judged = held.ended_seconds_ago?;
    let now = picture.seen.at.get(picture.view.window.last)?.0;
    let since_judged = now.saturating_sub(judged.stretch.1) as f64 * 1e-9;
    let ago = words::passed(before_judged + since_judged);
    let what = if held.at_end == Answer::Unknown { "last seen" } else { "ended" };
    let before = if picture.view.is_following { "ago" } else { "earlier" };
    Some(format!("{what} {ago} {before}. "))
}

/// What is over has no colour: it is not what to look at first.
fn line(finding: &Finding, ended: Option<String>, pen: &Pen) -> Line<'static> {
    let severity = finding.severity.word();
    let name = match pen.width >= WITH_COLUMNS {
        true => format!("{severity:<6} {:<ID$} ", finding.id),
        false => format!("{severity} {}: ", finding.id),
    };
    let name = pen.cut(&name, pen.width);
    let color = if ended.is_some() { Color::Reset } else { color(finding.severity) };
    let text = format!("{}{}", ended.unwrap_or_default(), finding.summary);
    let text = pen.cut(&text, pen.width.saturating_sub(name.chars().count()));
    Line::from(vec![pen.tinted(name, color), Span::raw(text)])
}

fn color(severity: Severity) -> Color {
    match severity {
        Severity::High => Color::Red,
        Severity::Medium => Color::Yellow,
        Severity::Low => Color::Reset,
    }
}

/// What the measuring lacks, for the head of the screen: the longest words first.
pub(super) fn marks(judged: Option<&StretchVerdict>) -> Vec<String> {
    let diagnosis = judged.and_then(|judged| judged.said.as_ref().ok());
    let caveat = diagnosis.and_then(|diagnosis| diagnosis.findings.iter().find(|finding| finding.is_caveat()));
    let Some(caveat) = caveat else { return Vec::new() };
    let count = caveat.marks.len();
    let caveats = if count == 1 { "caveat" } else { "caveats" };
    vec![format!("{caveats}: {} (c)", caveat.marks.join(", ")), format!("{count} {caveats} (c)"), caveats.to_owned()]
}

/// A text in full, cut into lines of the screen. Commands are too long to be wrapped between words: they go on below.
fn text(of: Text, judged: Option<&StretchVerdict>, unseen: &[(String, String)], pen: &Pen) -> Vec<String> {
    let width = u16::try_from(pen.width).unwrap_or(u16::MAX);
    let style = Wanted { color: false, width, unicode: pen.wanted.unicode };
    let said = judged.map(|judged| judged.said.as_ref());
    let text = match (of, said) {
        (Text::Findings, Some(Ok(diagnosis))) => findings::text_of_screen(diagnosis, style),
        (Text::Findings, Some(Err(why))) => return pen.wrapped(why),
        (Text::Caveats, said) if said.is_some() || !unseen.is_empty() => {
            let none = || "Nothing here makes the numbers less true than they look.".to_owned();
            findings::caveats(said.and_then(Result::ok), unseen, style).unwrap_or_else(none)
        }
        (_, _) => "Nothing has been judged yet.".to_owned(),
    };
    text.lines().flat_map(|line| pen.broken(line)).collect()
}

/// A text from one line on, in so many rows.
pub(super) fn page(picture: &Picture, pen: &Pen, of: Text, from: usize, rows: usize) -> Vec<Line<'static>> {
    let text = text(of, picture.judged, &picture.traced.unseen, pen);
    let from = from.min(text.len().saturating_sub(rows));
    text[from..].iter().take(rows).map(|line| pen.line(line)).collect()
}

/// The line at the top of the screen when the last one is at its bottom.
pub(super) fn last_line(
    of: Text,
    judged: Option<&StretchVerdict>,
    unseen: &[(String, String)],
    wanted: Wanted,
    size: (u16, u16),
) -> usize {
    let pen = Pen { wanted, width: size.0.into() };
    text(of, judged, unseen, &pen).len().saturating_sub(usize::from(size.1.saturating_sub(1)))
}
