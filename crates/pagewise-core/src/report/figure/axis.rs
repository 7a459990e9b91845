//! A linear scale with ticks at round numbers.

/// Maps values between `low` and `high` to positions between `start` and `end`.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Axis {
    pub(in crate::report) low: f64,
    pub(in crate::report) high: f64,
    pub(in crate::report) start: f64,
    pub(in crate::report) end: f64,
}

impl Axis {
    /// A scale that holds all `values` with some room at both ends. `None` without a finite value.
    pub(in crate::report) fn around(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Option<Axis> {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let room = if high > low { (high - low) * 0.08 } else { (high.abs() * 0.05).max(f64::MIN_POSITIVE) };
        // A measure that is never negative gets no axis that is.
        let below = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
        Some(Axis { low: below, high: high + room, start, end })
    }

    /// Where a value stands; values outside stand at the nearer end.
    pub(in crate::report) fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
        super::round(self.start + share * (self.end - self.start))
    }

    /// Round numbers inside the scale, about `wanted` of them, at least one step apart.
    pub(in crate::report) fn ticks(&self, wanted: u32) -> Vec<f64> {
        let raw = (self.high - self.low) / f64::from(wanted.max(1));
        if !raw.is_finite() || raw <= 0.0 {
            return Vec::new();
        }
        let magnitude = libm::pow(10.0, libm::floor(libm::log10(raw)));
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * magnitude).into_iter().find(|step| *step >= raw * 0.999);
        let step = step.unwrap_or(10.0 * magnitude);
        let first = libm::ceil(self.low / step - 1e-9) as i64;
        let last = libm::floor(self.high / step + 1e-9) as i64;
        (first..=last.min(first.saturating_add(20))).map(|n| n as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis { low: 0.97, high: 3.04, start: 0.0, end: 100.0 };
        assert_eq!(axis.ticks(4), vec![1.0, 2.0, 3.0]);
        let axis = Axis { low: 55.2, high: 61.7, start: 0.0, end: 100.0 };
        assert_eq!(axis.ticks(4), vec![56.0, 58.0, 60.0]);
    }

    #[test]
    fn equal_values_still_have_a_scale() {
        let axis = Axis::around([5.0, 5.0].into_iter(), 0.0, 100.0);
        assert!(axis.is_some_and(|axis| (axis.at(5.0) - 50.0).abs() < 1e-6 && !axis.ticks(4).is_empty()));
        assert!(Axis::around([f64::NAN].into_iter(), 0.0, 1.0).is_none());
    }
}
