//! How well ticks keep their time: how many of those that were planned began within a bound, and how late the others were.

use pagewise_core::recording::{GapReason, Recorded};

/// What became of the planned ticks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lateness {
    /// Of each tick that was taken, in milliseconds, the smallest first.
    late: Vec<f64>,
    /// Ticks that nobody took.
    missed: u64,
}

impl Lateness {
    /// Of ticks, in milliseconds, and the number of those that were missed.
    #[must_use]
    pub fn of(late: impl IntoIterator<Item = f64>, missed: u64) -> Lateness {
        let mut late: Vec<f64> = late.into_iter().collect();
        late.sort_by(f64::total_cmp);
        Lateness { late, missed }
    }

    /// Of a recording. Its first sample is taken when it starts and its last when it ends: nobody planned these.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_recording<R: Recorded>(recording: &R) -> Result<Lateness, R::Error> {
        let mut late = Vec::new();
        for block in recording.blocks() {
            late.extend(block?.ticks.iter().map(|tick| tick.late as f64 / 1e3));
        }
        late.pop();
        let is_ours = |reason: &GapReason| matches!(reason, GapReason::Late | GapReason::WriterBehind);
        let gaps = recording.gaps().iter().filter(|gap| gap.source.is_none() && is_ours(&gap.reason));
        Ok(Lateness::of(late.into_iter().skip(1), gaps.filter_map(|gap| gap.ticks).sum()))
    }

    /// How many were planned.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.late.len() as u64 + self.missed
    }

    /// How many nobody took.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The part of those planned that began no later than that. `None` where none was planned.
    #[must_use]
    pub fn share_within(&self, milliseconds: f64) -> Option<f64> {
        let within = self.late.iter().filter(|late| **late <= milliseconds).count();
        (self.planned() > 0).then(|| within as f64 / self.planned() as f64)
    }

    /// The lateness that this part of the planned ticks did not exceed, by rank. `None` where that one was missed, or none
    /// was planned.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let rank = (part * self.planned() as f64).ceil().max(1.0) as usize;
        self.late.get(rank - 1).copied()
    }

    /// The latest that was taken.
    #[must_use]
    pub fn most(&self) -> Option<f64> {
        self.late.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordingBuilder;
    use crate::recordings::START;
    use pagewise_core::recording::Gap;

    #[test]
    fn a_tick_that_nobody_took_is_late_however_long_one_waits() {
        let ticks = Lateness::of([3.0, 1.0, 60.0, 2.0, 50.0], 5);
        assert_eq!((ticks.planned(), ticks.missed()), (10, 5));
        assert_eq!(ticks.share_within(50.0), Some(0.4));
        assert_eq!(ticks.share_within(1e9), Some(0.5));
        assert_eq!((ticks.quantile(0.2), ticks.quantile(0.5), ticks.quantile(0.51)), (Some(2.0), Some(60.0), None));
        assert_eq!(ticks.most(), Some(60.0));
        let none = Lateness::default();
        assert_eq!((none.share_within(1.0), none.quantile(0.5), none.most()), (None, None, None));
    }

    #[test]
    fn a_recordings_ends_are_not_planned_and_its_gaps_are() {
        let gap = |reason, source: Option<&str>| Gap {
            from: START,
            to: Some(START + 1),
            source: source.map(str::to_owned),
            reason,
            ticks: Some(7),
            detail: String::new(),
        };
        let made = RecordingBuilder::healthy(9)
            .gap(gap(GapReason::Late, None))
            .gap(gap(GapReason::WriterBehind, None))
            .gap(gap(GapReason::Suspended, None))
            .gap(gap(GapReason::Late, Some("vmstat")));
        let Ok(ticks) = Lateness::of_recording(&made);
        assert_eq!((ticks.planned(), ticks.missed()), (8 + 14, 14), "ten samples, of which eight were planned");
        assert_eq!(ticks.share_within(0.0), Some(8.0 / 22.0));
    }
}
