//! Folded stacks, for flame graph tools.

use super::{Chosen, ExportError, Format, Holds, Make};
use pagewise_core::export::folded;

pub(super) const FORMAT: Format =
    Format { word: "folded", about: "a line per stack", holds: Holds::Stacks, make: Make::File(make) };

fn make(chosen: &Chosen<'_>) -> Result<Vec<u8>, ExportError> {
    Ok(folded::write(&chosen.stacks()?, chosen.selection).into_bytes())
}
