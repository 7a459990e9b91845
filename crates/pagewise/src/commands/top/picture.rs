//! The screen of `top` as a function of what was seen: a row per line of the timeline, then the functions.

use super::{Seen, Window};
use pagewise_core::report::Style as Wanted;
use pagewise_core::report::printable::{ascii, printable};
use pagewise_core::report::recording::columns::fit;
use pagewise_core::report::recording::lines::LineUnit;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use std::collections::HashMap;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The smallest screen that says something.
const SMALLEST: (u16, u16) = (48, 8);

const LABEL: usize = 20;
const VALUE: usize = 8;

/// Everything the picture is a function of.
pub(super) struct Picture<'a> {
    pub(super) seen: &'a Seen,
    pub(super) window: Window,
    pub(super) is_following: bool,
    pub(super) help: bool,
    pub(super) wanted: Wanted,
}

/// The whole screen, a line for each row.
pub(super) fn page(picture: &Picture, width: u16, height: u16) -> Vec<Line<'static>> {
    if width < SMALLEST.0 || height < SMALLEST.1 {
        let (wide, high) = SMALLEST;
        return vec![Line::raw(cut(&format!("needs {wide} x {high} characters"), width.into(), true))];
    }
    let (width, height) = (usize::from(width), usize::from(height));
    let mut lines = if picture.help { help() } else { all(picture, width, height - 1) };
    lines.truncate(height - 1);
    lines.resize(height - 1, Line::default());
    let keys = if picture.help { "q quit   ? back" } else { "q quit   ? help   <- -> time   + - zoom   Home End" };
    lines.push(faint(picture.wanted, cut(keys, width, picture.wanted.unicode)));
    lines
}

fn all(picture: &Picture, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines = vec![head(picture, width)];
    // Findings go here, above everything else, once a recording is judged as it is looked at.
    let functions = functions(picture, width);
    let room =
        if functions.is_empty() { height - 1 } else { (height - 1).saturating_sub(functions.len().min(height / 2)) };
    let chart = width - LABEL - VALUE - 2;
    for (row, line) in picture.seen.lines.iter().enumerate().take(room) {
        let spark = spark(picture, row, chart);
        let now = picture.seen.values.get(picture.window.last).and_then(|values| values.get(row).copied().flatten());
        let now = now.map_or_else(|| "-".to_owned(), |value| with_unit(value, line.unit));
        lines.push(Line::from(vec![
            Span::raw(format!("{:<LABEL$} ", cut(line.label, LABEL, picture.wanted.unicode))),
            tinted(picture.wanted, spark, Color::Cyan),
            Span::raw(format!(" {now:>VALUE$}")),
        ]));
    }
    lines.extend(functions);
    lines
}

fn with_unit(value: f64, unit: LineUnit) -> String {
    let text = fit(value, unit, 5);
    match unit {
        LineUnit::Share => format!("{text} %"),
        LineUnit::Bytes | LineUnit::Count => text,
        _ => format!("{text}/s"),
    }
}

fn head(picture: &Picture, width: usize) -> Line<'static> {
    let Picture { seen, window, wanted, .. } = picture;
    let time = |at: usize| {
        let wall = seen.at.get(at).map_or(0, |(_, wall)| *wall);
        let instant = jiff::Timestamp::from_nanosecond(wall).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        instant.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
    };
    let times = match seen.at.len() {
        0 => String::new(),
        _ => format!("{} to {}", time(window.first()), time(window.last)),
    };
    let follows = if seen.is_live && !picture.is_following { " (End: now)" } else { "" };
    let right = format!("{times}{follows}");
    let name = cut(&seen.title, width.saturating_sub(right.width() + 2), wanted.unicode);
    let space = " ".repeat(width.saturating_sub(name.width() + right.width()));
    let style = if wanted.color { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
    Line::from(vec![Span::styled(name, style), Span::raw(space), Span::raw(right)])
}

/// The largest value under each character, against the largest on the screen. What is not known is a dot, not a zero.
fn spark(picture: &Picture, row: usize, chart: usize) -> String {
    const RICH: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const PLAIN: [char; 8] = ['_', '_', '-', '-', '=', '=', '#', '#'];
    let (levels, unknown) = if picture.wanted.unicode { (RICH, '·') } else { (PLAIN, '?') };
    let Window { last, .. } = picture.window;
    let first = picture.window.first();
    let count = (last + 1).saturating_sub(first).min(picture.seen.values.len());
    let used = count.min(chart);
    let value = |at: usize| picture.seen.values.get(at).and_then(|values| values.get(row).copied().flatten());
    let largest_of = |from: usize, to: usize| (from..to).filter_map(value).reduce(f64::max);
    let largest = largest_of(first, first + count).unwrap_or(0.0);
    let character = |place: usize| {
        let (from, to) =
            (first + place * count / used, first + ((place + 1) * count / used).max(place * count / used + 1));
        match largest_of(from, to) {
            None => unknown,
            Some(value) if largest > 0.0 && value > 0.0 => levels[((value / largest * 7.999) as usize).min(7)],
            Some(_) => levels[0],
        }
    };
    let drawn: String = (0..used).map(character).collect();
    // The newest stands at the right edge.
    format!("{}{drawn}", " ".repeat(chart - used))
}

/// The functions that were seen most between the two ends of the screen, the kernel's part above them.
fn functions(picture: &Picture, width: usize) -> Vec<Line<'static>> {
    let Some(profile) = &picture.seen.profile else {
        return vec![Line::default(), faint(picture.wanted, "no stacks were recorded".to_owned())]
            .into_iter()
            .filter(|_| !picture.seen.is_live)
            .collect();
    };
    let at = |index: usize| picture.seen.at.get(index).map_or(0, |(at, _)| *at);
    let (from, to) = (at(picture.window.first()), at(picture.window.last));
    let first = profile.samples.partition_point(|sample| sample.to < from);
    let mut counts: HashMap<u32, u64> = HashMap::new();
    for sample in profile.samples[first..].iter().take_while(|sample| sample.from <= to) {
        if let Some((_, frame)) = profile.stacks.node(sample.stack) {
            *counts.entry(frame).or_insert(0) += sample.count;
        }
    }
    let total: u64 = counts.values().sum();
    let frame = |number: u32| profile.stacks.frames().get(number as usize);
    let of_kernel: u64 = counts
        .iter()
        .filter(|(number, _)| frame(**number).is_some_and(|frame| frame.is_kernel()))
        .map(|(_, n)| n)
        .sum();
    let part = |count: u64| count as f64 * 100.0 / total.max(1) as f64;
    let unicode = picture.wanted.unicode;
    let said = format!("samples      %  function  (kernel: {:.1} % of {total} samples)", part(of_kernel));
    let mut rows = vec![Line::default(), faint(picture.wanted, cut(&said, width, unicode))];
    let mut counts: Vec<(u32, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(number, count)| (std::cmp::Reverse(*count), *number));
    for (number, count) in counts.into_iter().take(100) {
        let Some(frame) = frame(number) else { continue };
        let text = format!("{count:>7} {:>6.2}  {}  {}", part(count), printable(&frame.name), printable(&frame.module));
        let line = cut(&text, width, unicode);
        rows.push(if frame.is_kernel() {
            Line::from(tinted(picture.wanted, line, Color::Yellow))
        } else {
            Line::raw(line)
        });
    }
    rows
}

fn help() -> Vec<Line<'static>> {
    [
        "q, Esc, Ctrl-C    leave",
        "?, h              this page, and back",
        "left, right       earlier, later, by a tenth of the screen",
        "Home, End         the beginning, the end (of a host: now)",
        "+, up / -, down   closer / farther",
        "",
        "Each row: the largest value under each character, as a part of the largest",
        "on the screen; at the right the value at the right edge.",
        "A dot is a value that is not known. It is not zero.",
    ]
    .map(Line::raw)
    .to_vec()
}

fn tinted(wanted: Wanted, text: String, color: Color) -> Span<'static> {
    if wanted.color { Span::styled(text, Style::new().fg(color)) } else { Span::raw(text) }
}

fn faint(wanted: Wanted, text: String) -> Line<'static> {
    let style = if wanted.color { Style::new().add_modifier(Modifier::DIM) } else { Style::new() };
    Line::styled(text, style)
}

/// What others wrote, in at most so many columns, unable to steer the terminal.
fn cut(text: &str, columns: usize, unicode: bool) -> String {
    let text = printable(text);
    let (text, more) = if unicode { (text, "…") } else { (ascii(&text), "~") };
    if text.width() <= columns {
        return text;
    }
    let mut line = String::new();
    let mut used = more.width();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        line.push(c);
    }
    line.push_str(more);
    line
}
