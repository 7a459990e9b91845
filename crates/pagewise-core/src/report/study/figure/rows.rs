//! The interval plot: a row per comparison of the first metric, all on one axis, the margin as a band.

use super::ratio_axis::RatioAxis;
use crate::experiment::analysis::{Comparison, Effect};
use crate::metric::Direction;
use crate::report::figure::{Tick, round};
use crate::report::number;
use crate::report::printable::printable;
use crate::report::study::content::{heading, place};
use crate::report::study::frame::{Frame, Group};
use crate::report::study::words::{confidence, span, verdict};
use serde::Serialize;

/// An interval so many times as wide as the median one is cut: it would hide all others.
const WIDEST: f64 = 6.0;

/// The interval plot.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct IntervalRows {
    pub(in crate::report::study) groups: Vec<RowGroup>,
    pub(in crate::report::study) ticks: Vec<Tick>,
    pub(in crate::report::study) margin_low: f64,
    pub(in crate::report::study) margin_width: f64,
    pub(in crate::report::study) margin: String,
    pub(in crate::report::study) none: f64,
    pub(in crate::report::study) low_end: &'static str,
    pub(in crate::report::study) high_end: &'static str,
    /// Whether any interval is cut.
    pub(in crate::report::study) is_cut: bool,
}

/// The rows of a contrast.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct RowGroup {
    pub(in crate::report::study) heading: String,
    pub(in crate::report::study) primary: bool,
    pub(in crate::report::study) rows: Vec<Row>,
}

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct Row {
    pub(in crate::report::study) name: String,
    pub(in crate::report::study) word: String,
    pub(in crate::report::study) tone: String,
    /// Its numbers; why there are none.
    pub(in crate::report::study) value: String,
    pub(in crate::report::study) bar: Option<Bar>,
}

/// An interval on the axis.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct Bar {
    pub(in crate::report::study) low: f64,
    pub(in crate::report::study) high: f64,
    /// The interval that must lie inside the margin to be equivalent.
    pub(in crate::report::study) inner_low: f64,
    pub(in crate::report::study) inner_high: f64,
    /// `None` outside of the axis.
    pub(in crate::report::study) estimate: Option<f64>,
    pub(in crate::report::study) cut_low: bool,
    pub(in crate::report::study) cut_high: bool,
}

impl IntervalRows {
    /// `None` when nothing was estimated.
    pub(in crate::report::study) fn of(frame: &Frame<'_>) -> Option<IntervalRows> {
        let metric = frame.report.analysis.metrics.first()?;
        let groups = frame.groups(|one| one.metric == metric.metric.name);
        let effects = |wanted: &dyn Fn(&Comparison) -> bool| -> Vec<&Effect> {
            let members = groups.iter().flat_map(|group| &group.members).map(|placed| placed.comparison);
            members.filter(|one| wanted(one)).filter_map(|one| one.effect.as_ref()).collect()
        };
        // Claims set the scale; what is no claim may be far off, and is cut.
        let claims = effects(&|one| one.primary || one.interaction.is_some());
        let setting = if claims.is_empty() { effects(&|_| true) } else { claims };
        let margin = libm::log1p(metric.margin);
        let axis = axis(&setting, margin)?;
        let (low_end, high_end) = match metric.metric.direction {
            Direction::Lower => ("lower (better)", "higher (worse)"),
            Direction::Higher => ("lower (worse)", "higher (better)"),
        };
        let groups: Vec<RowGroup> = groups.iter().map(|group| row_group(&axis, group)).collect();
        let cut = |row: &Row| row.bar.as_ref().is_some_and(|bar| bar.cut_low || bar.cut_high);
        Some(IntervalRows {
            is_cut: groups.iter().flat_map(|group| &group.rows).any(cut),
            groups,
            ticks: axis.ticks(),
            margin_low: axis.at(-margin),
            margin_width: round(axis.at(margin) - axis.at(-margin)),
            margin: format!("±{}", number::percent(metric.margin)),
            none: axis.at(0.0),
            low_end,
            high_end,
        })
    }
}

fn axis(effects: &[&Effect], margin: f64) -> Option<RatioAxis> {
    let half = |effect: &&Effect| (libm::log(effect.interval.high) - libm::log(effect.interval.low)) / 2.0;
    let mut widths: Vec<f64> = effects.iter().map(half).filter(|width| width.is_finite()).collect();
    widths.sort_by(f64::total_cmp);
    let reach = widths.get(widths.len() / 2).map_or(f64::INFINITY, |median| (WIDEST * median).max(margin));
    let ends = effects.iter().flat_map(|effect| {
        let half = half(effect).min(reach);
        [effect.log_ratio - half, effect.log_ratio + half]
    });
    if effects.is_empty() {
        return None;
    }
    RatioAxis::around(ends.chain([-margin, margin]))
}

fn row_group(axis: &RatioAxis, group: &Group<'_>) -> RowGroup {
    RowGroup {
        heading: heading(&group.first),
        primary: group.first.comparison.primary,
        rows: group.members.iter().map(|placed| row(axis, placed.comparison)).collect(),
    }
}

fn row(axis: &RatioAxis, one: &Comparison) -> Row {
    let place = place(one);
    let value = match (&one.effect, &one.no_effect_because) {
        (Some(effect), _) => {
            format!("{} ({} at {})", number::change(effect.ratio), span(effect.interval), confidence(one.level))
        }
        (None, Some(why)) => printable(why),
        (None, None) => "no estimate".to_owned(),
    };
    Row {
        name: if place.is_empty() { "overall".to_owned() } else { place },
        word: verdict(one),
        tone: one.conclusion.word().to_owned(),
        // A line must not begin with a percent sign.
        value: value.replace(" %", "\u{a0}%"),
        bar: one.effect.as_ref().map(|effect| bar(axis, effect)),
    }
}

fn bar(axis: &RatioAxis, effect: &Effect) -> Bar {
    let (low, high) = (libm::log(effect.interval.low), libm::log(effect.interval.high));
    let inner = effect.interval_equivalence;
    Bar {
        low: axis.at(low),
        high: axis.at(high),
        inner_low: axis.at(libm::log(inner.low)),
        inner_high: axis.at(libm::log(inner.high)),
        estimate: axis.holds(effect.log_ratio).then(|| axis.at(effect.log_ratio)),
        cut_low: !axis.holds(low),
        cut_high: !axis.holds(high),
    }
}
