//! Which version of control groups a host has: `memory.high` and `memory.low` are of version 2 alone.

use super::prelude::*;

/// In words that follow "only".
pub(super) const WHERE: &str = "with version 2 of control groups";

/// No where version 1 is seen to do the counting, or the kernel is older than version 2 (4.5).
pub(super) fn have_v2(observed: &Observed, _: &Hits) -> bool {
    let has_v1 = observed.has(&signal::CGROUP_FAILCNT) && !observed.has(&signal::CGROUP_HIGH);
    !has_v1 && observed.settings.release().is_none_or(|release| release >= (4, 5, 0))
}

/// The other case.
pub(super) fn have_v1(observed: &Observed, hits: &Hits) -> bool {
    !have_v2(observed, hits)
}
