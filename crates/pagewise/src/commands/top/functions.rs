//! The functions CPUs were in, as `perf top` lists them: samples, share, kernel or not, name, module; above them the
//! kernel's share and what interrupted the CPUs to look.

use super::picture::Picture;
use crate::screen::Pen;
use pagewise_core::finding::words;
use pagewise_core::recording::Profile;
use pagewise_core::report::printable::printable;
use pagewise_core::report::recording::functions::Functions;
use ratatui::style::Color;
use ratatui::text::Line;

/// Narrower screens have no room for modules.
const WITH_MODULES: usize = 60;

/// Lower screens have no room for the names of the columns.
const WITH_HEADING: usize = 6;

/// What stands before the name of a function.
const BEFORE: usize = 20;

/// At most `room` lines, the head among them.
pub(super) fn lines(picture: &Picture, pen: &Pen, room: usize) -> Vec<Line<'static>> {
    let Some(stretch) = picture.view.of_functions(picture.seen) else { return Vec::new() };
    let mut lines = match picture.traced.profile {
        Some(profile) => table(picture, pen, room, profile, stretch),
        None => reasons(picture, pen),
    };
    lines.truncate(room);
    lines
}

/// Why there are none, and what else is not seen.
fn reasons(picture: &Picture, pen: &Pen) -> Vec<Line<'static>> {
    let mut reasons = picture.traced.unseen.iter().map(|(what, why)| format!("{what}: {why}"));
    // The remedy stands at the end of a reason: it is not cut off.
    let first = reasons.next().map(|reason| pen.wrapped(&reason)).unwrap_or_default();
    first.into_iter().chain(reasons).map(|line| pen.faint(&line)).collect()
}

/// What is not seen beside functions, on one line. A key shows all of it.
fn unseen(picture: &Picture, pen: &Pen) -> Option<Line<'static>> {
    let all: Vec<String> = picture.traced.unseen.iter().map(|(what, why)| format!("{what}: {why}")).collect();
    (!all.is_empty()).then(|| pen.faint(&format!("not seen (c shows all): {}", all.join("; "))))
}

/// A part of the samples from which on it is said whose they are and how they get names.
const MUCH: f64 = 0.05;

/// Code that a runtime compiled has names where the runtime wrote them down (`/tmp/perf-PID.map`).
fn without_names(
    functions: &Functions<'_>,
    profile: &Profile,
    (from, to): (u64, u64),
    pen: &Pen,
) -> Option<Line<'static>> {
    let (comm, pid, samples) = Functions::without_names(profile, from, to)?;
    let share = functions.share(samples);
    let percent = format!("{:.0} %", share * 100.0);
    let said = match comm {
        "java" => format!("[unknown] [jit] {percent} (java): names come by jcmd {pid} Compiler.perfmap"),
        comm => format!("[unknown] [jit] {percent}: most of {}, which wrote no names down", printable(comm)),
    };
    (share >= MUCH).then(|| pen.faint(&pen.cut(&said, pen.width)))
}

/// As many programs are named.
const PROGRAMS: usize = 3;

/// Whose the samples are: `by program: java 4711 62 %, cat 200 14 %`.
fn programs(functions: &Functions<'_>, pen: &Pen) -> Option<Line<'static>> {
    let named =
        functions.programs.iter().take(PROGRAMS).map(|(comm, pid, samples)| {
            format!("{} {pid} {:.0} %", printable(comm), functions.share(*samples) * 100.0)
        });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| Line::from(pen.cut(&format!("by program: {}", named.join(", ")), pen.width)))
}

fn table(picture: &Picture, pen: &Pen, room: usize, profile: &Profile, (from, to): (u64, u64)) -> Vec<Line<'static>> {
    let functions = Functions::of(profile, from, to);
    let seconds = ((to - from) as f64 * 1e-9).round().max(1.0);
    let when = if picture.view.is_following { format!(", last {seconds:.0} s") } else { String::new() };
    let hz = profile.hz.map_or_else(String::new, |hz| format!(" at {} Hz", words::number(hz)));
    let event = profile.event.as_ref().map_or("an unknown event", |event| event.word());
    let by = format!("{event}{hz}");
    let kernel = functions.share(functions.kernel) * 100.0;
    let head = match functions.samples {
        0 => pen.faint(&format!("CPUs{when}: no samples ({by}): idle, or not recorded then")),
        samples => {
            let said = format!("CPUs{when}: {kernel:.1} % in the kernel, of {samples} samples ({by})");
            Line::from(pen.bold(pen.cut(&said, pen.width)))
        }
    };
    let mut lines = vec![head];
    lines.extend(programs(&functions, pen).filter(|_| room > WITH_HEADING));
    lines.extend(unseen(picture, pen).filter(|_| room > WITH_HEADING));
    lines.extend(without_names(&functions, profile, (from, to), pen).filter(|_| room > WITH_HEADING));
    if functions.samples == 0 {
        return lines;
    }
    let (name, module) = widths(pen.width);
    let row = |samples: &str, share: &str, kind: &str, function: &str, of: &str| {
        let name = if module > 0 { pen.padded(function, name) } else { pen.cut(function, name) };
        let of = if module > 0 { format!(" {}", pen.cut(of, module)) } else { String::new() };
        format!("{samples:>7} {share:>6}  {kind:<3} {name}{of}")
    };
    if room > WITH_HEADING {
        lines.push(pen.faint(&row("samples", "%", "", "function", "module")));
    }
    let left = room.saturating_sub(lines.len());
    for (frame, count) in functions.rows.iter().take(left) {
        let kind = if frame.is_kernel() { "[k]" } else { "[.]" };
        let share = format!("{:.2}", functions.share(*count) * 100.0);
        let text = row(&count.to_string(), &share, kind, &frame.name, &frame.module);
        let color = if frame.is_kernel() { Color::Yellow } else { Color::Reset };
        lines.push(Line::from(pen.tinted(pen.cut(text.trim_end(), pen.width), color)));
    }
    lines
}

/// Columns of the function's name, and of its module's.
fn widths(width: usize) -> (usize, usize) {
    let left = width.saturating_sub(BEFORE);
    if width < WITH_MODULES {
        return (left, 0);
    }
    let module = (width / 4).min(32);
    (left.saturating_sub(module + 1), module)
}
