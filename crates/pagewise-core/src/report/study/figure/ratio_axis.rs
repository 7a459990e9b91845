//! A logarithmic axis of ratios whose ticks read as changes in percent: a halving is as far from nothing as a doubling.

use crate::report::figure::Tick;
use crate::report::figure::axis::Axis;
use crate::report::figure::interval::short_change;

/// Beyond this quotient of its ends an axis shows factors instead of percents.
const WIDE: f64 = 3.0;

/// Round factors for wide axes.
const FACTORS: [f64; 19] =
    [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// Where logarithms of ratios stand, in percent across.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatioAxis(Axis);

impl RatioAxis {
    /// Holds all these logarithms and no change, with some room. `None` without a span.
    pub(super) fn around(logs: impl Iterator<Item = f64>) -> Option<RatioAxis> {
        let (low, high) = logs
            .filter(|log| log.is_finite())
            .fold((0.0_f64, 0.0_f64), |(low, high), log| (low.min(log), high.max(log)));
        let room = (high - low) * 0.06;
        (room > 0.0).then_some(RatioAxis(Axis { low: low - room, high: high + room, start: 1.0, end: 99.0 }))
    }

    pub(super) fn at(&self, log: f64) -> f64 {
        self.0.at(log)
    }

    pub(super) fn holds(&self, log: f64) -> bool {
        self.0.low <= log && log <= self.0.high
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        let (low, high) = (libm::exp(self.0.low), libm::exp(self.0.high));
        let tick = |ratio: f64, label: String| Tick { at: self.at(libm::log(ratio)), label };
        if high / low < WIDE {
            let changes = Axis { low: low - 1.0, high: high - 1.0, start: 0.0, end: 1.0 }.ticks(6);
            let label = |change: f64| if change.abs() < 1e-9 { "0".to_owned() } else { short_change(change) };
            return changes.into_iter().map(|change| tick(1.0 + change, label(change))).collect();
        }
        let label = |factor: f64| match factor {
            1.0 => "0".to_owned(),
            factor if factor < 1.0 => short_change(factor - 1.0),
            factor => format!("×{factor}"),
        };
        let inside = FACTORS.into_iter().filter(|factor| (low..=high).contains(factor));
        let ticks: Vec<Tick> = inside.map(|factor| tick(factor, label(factor))).collect();
        let step = ticks.len().div_ceil(6).max(1);
        ticks.into_iter().step_by(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_percents_on_a_narrow_axis_and_factors_on_a_wide_one() {
        let labels = |ends: [f64; 2]| -> Vec<String> {
            let axis = RatioAxis::around(ends.into_iter()).unwrap();
            axis.ticks().into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(labels([-0.02, 0.11]), ["0", "+5 %", "+10 %"]);
        assert_eq!(labels([-2.3, 2.3]), ["−90 %", "−50 %", "×2", "×10"]);
        assert!(RatioAxis::around([0.0].into_iter()).is_none());
    }
}
