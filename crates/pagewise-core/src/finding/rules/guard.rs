//! Taking page cache back before the kernel has to: a step that several rules share.

use super::super::rule::Step;
use super::prelude::*;

/// Where what is freed is file data that streams through memory.
pub(super) const GUARD: Step = Step::guard(
    "takes page cache back from what streams through it before the kernel has to; it changes no setting and ends with Ctrl-C \
     (pagewise guard advise says first what it would take, and from whom)",
)
.when("where disks move as much as is freed, and little of it is swap", is_a_stream);

/// Of what is freed, what disks moved meanwhile. Ours.
const STREAMED: f64 = 0.5;

/// Of what is freed, what went to swap. Ours.
const SWAPPED: f64 = 0.1;

pub(super) fn is_a_stream(look: &Look, hits: &Hits) -> bool {
    let freed =
        look.rate(&signal::STEAL_KSWAPD).plus(&look.rate(&signal::STEAL_DIRECT)).map(|pages| pages * look.page_size);
    let moved = look.rate(&signal::PAGE_IN).plus(&look.rate(&signal::PAGE_OUT).or_zero());
    let swapped = look.rate(&signal::SWAP_OUT).map(|pages| pages * look.page_size).or_zero();
    let of_freed = |what: &Track| what.per(&freed).mean(hits, &look.windows);
    of_freed(&moved).is_some_and(|part| part >= STREAMED) && of_freed(&swapped).is_none_or(|part| part < SWAPPED)
}
