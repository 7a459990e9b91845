//! Figures of the documents, as SVG: drawn from the committed results like the tables beside them.

use std::fmt::Write as _;

/// An estimate with its interval, in parts: 0.05 is +5 %.
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Drawn in the colour of what the figure is about.
    pub(crate) is_ours: bool,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 58.0;
const ROW: f64 = 22.0;
const BOTTOM: f64 = 44.0;
const OURS: &str = "#0b6bcb";
const OTHERS: &str = "#3c4043";

/// Rows with their intervals below each other, a line at nothing, and one where ours stands.
pub(crate) fn intervals(title: &str, subtitle: &str, axis: &str, rows: &[Row]) -> String {
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let bounds = rows.iter().fold((0.0_f64, 0.0_f64), |(low, high), row| (low.min(row.low), high.max(row.high)));
    // Whole steps of 10 %.
    let (low, high) = ((bounds.0 * 10.0).floor() / 10.0, (bounds.1 * 10.0).ceil() / 10.0);
    let x = |value: f64| LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let bottom = height - BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"20\" font-size=\"14\" font-weight=\"600\" fill=\"#202124\">{title}</text>\n\
         <text x=\"12\" y=\"38\" fill=\"#5f6368\">{subtitle}</text>\n"
    );
    let steps = ((high - low) * 10.0).round() as i32;
    for step in 0..=steps {
        let value = low + f64::from(step) / 10.0;
        let is_nothing = value.abs() < 1e-9;
        let (colour, percent) = (if is_nothing { "#5f6368" } else { "#e8eaed" }, (value * 100.0).round());
        let label = if is_nothing { "0".to_owned() } else { format!("{percent:+.0} %").replace('-', "−") };
        let _ = writeln!(
            svg,
            "<line x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{bottom}\" stroke=\"{colour}\"/>\
             <text x=\"{0:.1}\" y=\"{1}\" text-anchor=\"middle\" fill=\"#5f6368\">{label}</text>",
            x(value),
            bottom + 16.0
        );
    }
    if let Some(row) = rows.iter().find(|row| row.is_ours) {
        let at = x(row.value);
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"{OURS}\" stroke-dasharray=\"4 3\"/>"
        );
    }
    for (place, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        let colour = if row.is_ours { OURS } else { OTHERS };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{colour}\">{}</text>\
             <line x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>",
            LEFT - 10.0,
            y + 4.0,
            row.label,
            x(row.low),
            x(row.high),
            x(row.value)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#5f6368\">{axis}</text>\n</svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        height - 8.0
    );
    svg
}
