//! OpenMetrics, for Prometheus and what reads its text.

use super::{ExportError, ExportSelection, Exporter, Format, FormatContent};
use pagewise_core::export::openmetrics;

pub(super) const FORMAT: Format = Format {
    word: "openmetrics",
    about: "text with timestamps",
    holds: FormatContent::SeriesAndProcesses,
    make: Exporter::File(make),
};

fn make(chosen: &ExportSelection<'_>) -> Result<Vec<u8>, ExportError> {
    Ok(openmetrics::write(chosen.recording, chosen.selection)?.into_bytes())
}
