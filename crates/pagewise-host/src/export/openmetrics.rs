//! OpenMetrics, for Prometheus and what reads its text.

use super::{Chosen, ExportError, Format, Holds, Make};
use pagewise_core::export::openmetrics;

pub(super) const FORMAT: Format = Format {
    word: "openmetrics",
    about: "text with timestamps",
    holds: Holds::SeriesAndProcesses,
    make: Make::File(make),
};

fn make(chosen: &Chosen<'_>) -> Result<Vec<u8>, ExportError> {
    Ok(openmetrics::write(chosen.recording, chosen.selection)?.into_bytes())
}
