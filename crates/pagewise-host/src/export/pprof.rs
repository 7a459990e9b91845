//! pprof, gzipped as its readers expect it.

use super::{Chosen, ExportError, Format, Holds, Make, gzip};
use pagewise_core::export::pprof;

pub(super) const FORMAT: Format =
    Format { word: "pprof", about: "a gzipped profile.proto", holds: Holds::Stacks, make: Make::File(make) };

fn make(chosen: &Chosen<'_>) -> Result<Vec<u8>, ExportError> {
    let plain = pprof::encode(&chosen.stacks()?, chosen.selection, chosen.wall_zero());
    gzip(&plain).map_err(ExportError::making(chosen))
}
