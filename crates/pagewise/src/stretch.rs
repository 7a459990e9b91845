//! `--from` and `--until`: a stretch of a recording.

use crate::failure::Failure;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::recording::Recorded;
use pagewise_core::recording::block::Tick;
use pagewise_core::unit::Seconds;
use pagewise_host::export::ExportError;
use pagewise_host::store::recording::Recording;

/// Which part of a recording is meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StretchArgs {
    /// From this long after the beginning, such as 90s, or from an instant such as 2026-11-21T17:30:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// Two instants as the recording counts them; where one is absent, its beginning or its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Option<u64>,
    pub(crate) until: Option<u64>,
}

impl StretchArgs {
    /// Whether anything less than the whole is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    /// The instants meant.
    ///
    /// # Errors
    /// When one is no time, or no sample lies between them: a result of nothing would pass for a quiet host.
    pub(crate) fn of(&self, recording: &Recording) -> Result<Stretch, Failure> {
        let first = recording.blocks().next().transpose().map_err(ExportError::Recording)?;
        let first = first.as_ref().and_then(|block| block.ticks.first());
        let instant =
            |option: &str, text: &Option<String>| text.as_deref().map(|text| instant(first, option, text)).transpose();
        let stretch = Stretch { from: instant("--from", &self.from)?, until: instant("--until", &self.until)? };
        if let (Some(first), Some((last, _))) = (first, recording.last_tick().map_err(ExportError::Recording)?) {
            has_samples(stretch, first.begin, last)?;
        }
        Ok(stretch)
    }
}

fn has_samples(Stretch { from, until }: Stretch, first: u64, last: u64) -> Result<(), Failure> {
    let length = Seconds(last.saturating_sub(first) as f64 * 1e-9);
    let wrong = |what: &str| Err(Failure::Usage(anyhow!("{what}; its samples span {length}")));
    match (from, until) {
        (Some(from), _) if from > last => wrong("--from is after the last sample of the recording"),
        (_, Some(until)) if until < first => wrong("--until is before the first sample of the recording"),
        (Some(from), Some(until)) if from > until => wrong("--from is after --until"),
        _ => Ok(()),
    }
}

/// A time after the beginning, or an instant of the wall clock, as the recording counts.
fn instant(tick: Option<&Tick>, option: &str, text: &str) -> Result<u64, Failure> {
    let wrong = || Failure::Usage(anyhow!("{option} {text}: write 90s, 10m, or 2026-11-21T17:30:00Z"));
    if let Ok(after) = text.parse::<Seconds>() {
        let nanoseconds = (after.0 * 1e9).min(9e18) as u64;
        return Ok(tick.map_or(0, |tick| tick.begin).saturating_add(nanoseconds));
    }
    let at: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    let offset = tick.map_or(0, |tick| tick.wall_offset);
    let at = at.as_nanosecond() - i128::from(offset);
    Ok(u64::try_from(at.max(0)).unwrap_or(u64::MAX))
}
