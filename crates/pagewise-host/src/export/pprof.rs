//! pprof, gzipped as its readers expect it.

use super::{ExportError, ExportSelection, Exporter, Format, FormatContent, gzip};
use pagewise_core::export::pprof;

pub(super) const FORMAT: Format = Format {
    word: "pprof",
    about: "a gzipped profile.proto",
    holds: FormatContent::Stacks,
    make: Exporter::File(make),
};

fn make(chosen: &ExportSelection<'_>) -> Result<Vec<u8>, ExportError> {
    let plain = pprof::encode(&chosen.stacks()?, chosen.selection, chosen.wall_zero());
    gzip(&plain).map_err(ExportError::making(chosen))
}
