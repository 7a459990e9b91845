//! The screen of `top` as a function of what was seen: what was found, a row per line of the timeline, then the functions.

use super::cost::Shares;
use super::source::Traced;
use super::view::{Page, SeenTimelines, Text, View, Window};
use super::{findings, functions};
use crate::screen::Pen;
use pagewise_core::report::Style as Wanted;
use pagewise_core::report::recording::columns::fit;
use pagewise_core::report::recording::lines::LineUnit;
use pagewise_host::following::judge::StretchVerdict;
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// The smallest screen that says something.
const SMALLEST: (u16, u16) = (36, 6);

/// Narrower screens cut the labels of the timelines.
const WITH_LABELS: usize = 64;

/// Lower screens have no empty line.
const WITH_AIR: usize = 22;

const VALUE: usize = 8;

/// What is left of the name of host or recording, at least, beside the caveats.
const NAME: usize = 9;

/// A recording that is longer shows days, too: in nanoseconds.
const DAY: i128 = 86_400_000_000_000;

/// Everything the picture is a function of.
pub(super) struct Picture<'a> {
    pub(super) seen: &'a SeenTimelines,
    pub(super) view: &'a View,
    pub(super) traced: Traced<'a>,
    pub(super) judged: Option<&'a StretchVerdict>,
    /// The rules are being asked about what is on the screen.
    pub(super) is_judging: bool,
    pub(super) cost: Option<Shares>,
    pub(super) wanted: Wanted,
    /// Whose clock is shown.
    pub(super) zone: &'a jiff::tz::TimeZone,
}

/// The whole screen, a line for each row.
pub(super) fn page(picture: &Picture, width: u16, height: u16) -> Vec<Line<'static>> {
    let pen = Pen { wanted: picture.wanted, width: usize::from(width) };
    if width < SMALLEST.0 || height < SMALLEST.1 {
        let (wide, high) = SMALLEST;
        return vec![pen.line(&format!("needs {wide} x {high} characters"))];
    }
    let rows = usize::from(height) - 1;
    let mut lines = match picture.view.page {
        Page::Main => body(picture, &pen, rows),
        Page::Help => help(&pen),
        Page::Text { of, from } => findings::page(picture, &pen, of, from, rows),
    };
    lines.truncate(rows);
    lines.resize(rows, Line::default());
    lines.push(foot(picture, &pen));
    lines
}

/// What was found first, since it says what to look at; the rest is shared by timelines and functions.
fn body(picture: &Picture, pen: &Pen, rows: usize) -> Vec<Line<'static>> {
    let mut lines = vec![head(picture, pen)];
    let most = match rows {
        ..10 => 1,
        10..20 => 2,
        20..32 => 4,
        _ => 7,
    };
    lines.extend(findings::lines(picture, pen, most, rows));
    let room = rows.saturating_sub(lines.len());
    let air = usize::from(rows >= WITH_AIR);
    let timelines = picture.seen.lines.len();
    // Half each, and to the one what the other has no use for.
    let for_functions = (room / 2).max(room.saturating_sub(timelines + air));
    let functions = functions::lines(picture, pen, for_functions.saturating_sub(air));
    let air = if functions.is_empty() { 0 } else { air };
    for row in 0..timelines.min(room.saturating_sub(functions.len() + air)) {
        lines.push(timeline(picture, pen, row));
    }
    lines.extend((0..air).map(|_| Line::default()));
    lines.extend(functions);
    lines
}

fn timeline(picture: &Picture, pen: &Pen, row: usize) -> Line<'static> {
    let label = if pen.width < WITH_LABELS { 14 } else { 21 };
    let chart = pen.width.saturating_sub(label + VALUE + 2);
    let (line, name) = (picture.seen.lines[row], picture.seen.labels[row]);
    let at = picture.view.window.last;
    let now = picture.seen.values.get(at).and_then(|values| values.get(row).copied().flatten());
    let now = now.map_or_else(|| "-".to_owned(), |value| with_unit(value, line.unit));
    Line::from(vec![
        Span::raw(format!("{} ", pen.padded(name, label))),
        pen.tinted(spark(picture, row, chart), Color::Cyan),
        Span::raw(format!(" {now:>VALUE$}")),
    ])
}

fn with_unit(value: f64, unit: LineUnit) -> String {
    let text = fit(value, unit, 5);
    match unit {
        LineUnit::Share => format!("{text} %"),
        LineUnit::Bytes | LineUnit::Count => text,
        _ => format!("{text}/s"),
    }
}

fn head(picture: &Picture, pen: &Pen) -> Line<'static> {
    let Picture { seen, view, .. } = picture;
    let length = seen.at.first().zip(seen.at.last()).map_or(0, |(first, last)| last.1 - first.1);
    let format = if length > DAY { "%m-%d %H:%M:%S" } else { "%H:%M:%S" };
    let time = |at: usize| {
        let wall = seen.at.get(at).map_or(0, |(_, wall)| *wall);
        let instant = jiff::Timestamp::from_nanosecond(wall).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        instant.to_zoned(picture.zone.clone()).strftime(format).to_string()
    };
    let times = match seen.at.len() {
        0 => String::new(),
        _ => format!("{} to {}", time(view.window.first()), time(view.window.last)),
    };
    let follows = if seen.is_live && !view.is_following { " (End: now)" } else { "" };
    let right = pen.cut(&format!("{times}{follows}"), pen.width);
    let left = pen.width.saturating_sub(right.width() + 2);
    let marks = findings::marks(picture.judged);
    let mark = marks.into_iter().find(|mark| mark.width() + NAME + 2 <= left).map(|mark| format!("  {mark}"));
    let mark = mark.unwrap_or_default();
    let name = pen.cut(&seen.title, left.saturating_sub(mark.width()));
    let space = " ".repeat(pen.width.saturating_sub(name.width() + mark.width() + right.width()));
    Line::from(vec![pen.bold(name), Span::raw(mark), Span::raw(space), Span::raw(right)])
}

/// The largest value under each character, against the largest on the screen. What is not known is a dot, not a zero.
fn spark(picture: &Picture, row: usize, chart: usize) -> String {
    const RICH: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const PLAIN: [char; 8] = ['_', '_', '-', '-', '=', '=', '#', '#'];
    let (levels, unknown) = if picture.wanted.unicode { (RICH, '·') } else { (PLAIN, '?') };
    let window @ Window { last, span } = picture.view.window;
    let first = window.first();
    let count = (last + 1).saturating_sub(first).min(picture.seen.values.len());
    // As much of the chart as of the time it is for has passed.
    let used = (chart * count).div_ceil(span.max(1)).min(chart);
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

/// The keys, and what the screen itself costs: the longest words that fit.
fn foot(picture: &Picture, pen: &Pen) -> Line<'static> {
    const MAIN: [&str; 3] =
        ["q quit  ? help  d findings  <- -> time  + -", "q quit  ? help  d findings", "q ? d <- -> + -"];
    const HELP: [&str; 3] = ["q quit  ? back", "q ?", "q"];
    const FINDINGS: [&str; 3] = ["q quit  d back  up, down, PgUp, PgDn, Home, End", "q quit  d back  up, down", "q d"];
    const CAVEATS: [&str; 3] = ["q quit  c back  up, down, PgUp, PgDn, Home, End", "q quit  c back  up, down", "q c"];
    let keys = match picture.view.page {
        Page::Main => MAIN,
        Page::Help => HELP,
        Page::Text { of: Text::Findings, .. } => FINDINGS,
        Page::Text { of: Text::Caveats, .. } => CAVEATS,
    };
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let costs = picture.cost.map_or_else(
        || [const { String::new() }; 3],
        |cost| {
            let (all, stacks) = (percent(cost.all), percent(cost.stacks));
            let stacks = if cost.stacks > 0.0 { format!(", stacks {stacks}") } else { String::new() };
            [format!("own: {all} % of a core{stacks}"), format!("own: {all} %{stacks}"), format!("own: {all} %")]
        },
    );
    // Rather fewer keys than no word of what it costs; help has all keys.
    let pairs = keys.iter().flat_map(|keys| costs.iter().map(move |cost| (*keys, cost)));
    let fitting = pairs.clone().find(|(keys, cost)| keys.len() + cost.len() + 2 <= pen.width);
    let (keys, cost) = fitting.or(pairs.last()).map_or(("", ""), |(keys, cost)| (keys, cost.as_str()));
    let space = " ".repeat(pen.width.saturating_sub(keys.len() + cost.len()));
    pen.faint(&format!("{keys}{space}{cost}"))
}

fn help(pen: &Pen) -> Vec<Line<'static>> {
    [
        "q, Ctrl-C            leave; Esc goes back, then leaves",
        "d, Enter             the findings in full, with what to try; and back",
        "c                    caveats, and what is not seen and why; and back",
        "left, right          earlier, later, by a tenth of the screen",
        "PgUp, PgDn           earlier, later, by a screen",
        "Home, End            the beginning, the end (of a host: now)",
        "+, up / -, down      half as much time on the screen / twice as much",
        "?, h                 this page, and back",
        "",
        "Timelines: the largest value under each character, as a part of the",
        "largest on the screen; at the right the value at the right edge.",
        "A dot is a value that is not known. It is not zero.",
        "",
        "Functions: [k] in the kernel, [.] in programs. Of a host that is followed",
        "those of the last 30 s, and findings of the last 5 minutes; else both are",
        "of the time on the screen, and what ended did so before its right edge.",
        "Idle CPUs do not count.",
        "",
        "own: CPU time of this screen over the last 30 s, as a part of one core.",
    ]
    .iter()
    .map(|line| pen.line(line))
    .collect()
}
