//! Whether the host had memory in no use while something within it was short: then a control group's limit is what is
//! short, and nothing that gives the host more room helps.

use super::prelude::*;

/// The part of memory that has to be in no use. Ours: global reclaim leaves some percent (`mm/page_alloc.c`,
/// `__setup_per_zone_wmarks`).
pub(super) const ROOM: f64 = 0.25;

/// Bytes in no use on average where it hits, where that is much.
pub(super) fn free(observed: &Observed, hits: &Hits) -> Option<f64> {
    let free = observed.level(&signal::MEM_FREE).mean(hits, &observed.windows)?;
    observed.memory().is_some_and(|memory| free >= ROOM * memory).then_some(free)
}

/// The same over the whole recording.
pub(super) fn is_ample(observed: &Observed) -> bool {
    free(observed, &Hits::default()).is_some()
}

/// What is free lies for the most part in areas that are kept for large contiguous blocks (CMA): who needs memory that cannot be moved must not take
/// any of it, and nor must the kernel itself. A sentence, and the line of evidence.
pub(super) fn for_contiguous_blocks(observed: &Observed) -> Option<(String, Evidence)> {
    const MOST: f64 = 0.5;
    let mean = |signal| observed.level(signal).mean_of_all(&observed.windows);
    let (free, kept) = (mean(&signal::MEM_FREE)?, mean(&signal::CMA_FREE)?);
    let line =
        said("meminfo CmaFree", "of what is free, kept for contiguous blocks", Some(kept / free.max(1.0)), Fraction);
    let text = format!(
        " Of {} that were free, {} lie in areas that are kept for contiguous blocks (CMA), which the kernel's own data must not take.",
        words::bytes(free),
        words::bytes(kept)
    );
    (kept >= MOST * free).then_some((text, line))
}
