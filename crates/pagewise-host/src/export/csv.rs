//! CSV: plain text for every tool.

use super::{Chosen, ExportError, Format, Holds, Make};
use pagewise_core::export::csv;

pub(super) const FORMAT: Format =
    Format { word: "csv", about: "a line per value", holds: Holds::SeriesAndProcesses, make: Make::File(make) };

fn make(chosen: &Chosen<'_>) -> Result<Vec<u8>, ExportError> {
    Ok(csv::write(chosen.recording, chosen.selection)?.into_bytes())
}
