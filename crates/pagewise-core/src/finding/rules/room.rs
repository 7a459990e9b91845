//! Whether the host had memory in no use while something within it was short: then a control group's limit is what is
//! short, and nothing that gives the host more room helps.

use super::prelude::*;

/// The part of memory that has to be in no use. Ours: global reclaim leaves some percent (`mm/page_alloc.c`,
/// `__setup_per_zone_wmarks`).
pub(super) const ROOM: f64 = 0.25;

/// Bytes in no use on average where it hits, where that is much.
pub(super) fn free(look: &Look, hits: &Hits) -> Option<f64> {
    let free = look.level(&signal::MEM_FREE).mean(hits, &look.windows)?;
    look.memory().is_some_and(|memory| free >= ROOM * memory).then_some(free)
}

/// The same over the whole look.
pub(super) fn is_ample(look: &Look) -> bool {
    free(look, &Hits::default()).is_some()
}
