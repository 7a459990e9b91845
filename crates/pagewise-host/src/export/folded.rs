//! Folded stacks, for flame graph tools.

use super::{ExportError, ExportSelection, Exporter, Format, FormatContent};
use pagewise_core::export::folded;

pub(super) const FORMAT: Format =
    Format { word: "folded", about: "a line per stack", holds: FormatContent::Stacks, make: Exporter::File(make) };

fn make(chosen: &ExportSelection<'_>) -> Result<Vec<u8>, ExportError> {
    Ok(folded::write(&chosen.stacks()?, chosen.selection).into_bytes())
}
