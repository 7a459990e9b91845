//! Taking page cache back before the kernel has to: a step that several rules share.

use super::super::rule::Step;
use super::prelude::*;
use super::threads;

/// Where what is freed is file data that streams through memory.
pub(super) const GUARD: Step = Step::guard(
    "takes page cache back from what streams through it before the kernel has to; it changes no setting and ends with Ctrl-C \
     (pagewise guard advise says first what it would take, and from whom)",
)
.when("where what is freed is page cache, or disks move as much, and little of it goes to swap", is_a_stream);

/// Of what is freed, what disks moved meanwhile. Ours.
const STREAMED: f64 = 0.5;

/// Of what is freed, page cache. A file that comes by the network, or that has holes, is read from no disk. Ours.
const OF_FILES: f64 = 0.9;

/// Of what is freed, what went to swap. Ours.
const SWAPPED: f64 = 0.1;

/// Bytes freed a second, by whomever.
fn freed(observed: &Observed) -> Track {
    observed
        .rate(&signal::STEAL_KSWAPD)
        .plus(&observed.rate(&signal::STEAL_DIRECT))
        .map(|pages| pages * observed.page_size)
}

/// Whether files pass through memory: what is freed is nearly all page cache, or disks move as much as is freed (kernels before 5.8 do not
/// tell the two apart), and little of it goes to swap.
pub(super) fn is_a_stream(observed: &Observed, hits: &Hits) -> bool {
    let freed = freed(observed);
    let moved = observed.rate(&signal::PAGE_IN).plus(&observed.rate(&signal::PAGE_OUT).or_zero());
    let bytes = |signal| observed.rate(signal).map(|pages| pages * observed.page_size);
    let swapped = bytes(&signal::SWAP_OUT).or_zero();
    let of_freed = |what: &Track| what.per(&freed).mean(hits, &observed.windows);
    let is_of_files = of_freed(&bytes(&signal::STEAL_ANON)).is_some_and(|part| part <= 1.0 - OF_FILES);
    (is_of_files || of_freed(&moved).is_some_and(|part| part >= STREAMED))
        && of_freed(&swapped).is_none_or(|part| part < SWAPPED)
}

/// Bytes freed a second from which a stream is told of although nothing shows that anybody waits for it. Ours.
const TOLD_FROM: f64 = 50e6;

/// That files stream through memory, where that is no finding: kswapd has its work, and whether a job beside it pays is not in its counters.
pub(in super::super) fn note(observed: &Observed) -> Option<String> {
    let always = Hits::always(Answer::Yes, observed.windows.count);
    let freed = freed(observed).mean_of_all(&observed.windows).filter(|bytes| *bytes >= TOLD_FROM)?;
    if observed.is_import || !is_a_stream(observed, &always) {
        return None;
    }
    let of_core = threads::busiest(observed, "kswapd").mean_of_all(&observed.windows);
    Some(format!(
        "Files stream through memory: the kernel took back {} of page cache a second{}. That is its work, and whether a \
         job beside the stream pays for it none of these numbers says. While the job runs, pagewise guard advise names the stream, and \
         pagewise guard prove --pid PID says how much of that a guard would spare it.",
        words::bytes(freed),
        of_core.map_or_else(String::new, |part| format!(", and kswapd used {} of a core", words::percent(part))),
    ))
}
