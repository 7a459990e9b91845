//! CSV: plain text for every tool.

use super::{ExportError, ExportSelection, Exporter, Format, FormatContent};
use pagewise_core::export::csv;

pub(super) const FORMAT: Format = Format {
    word: "csv",
    about: "a line per value",
    holds: FormatContent::SeriesAndProcesses,
    make: Exporter::File(make),
};

fn make(chosen: &ExportSelection<'_>) -> Result<Vec<u8>, ExportError> {
    Ok(csv::write(chosen.recording, chosen.selection)?.into_bytes())
}
