//! Which version of control groups a host has: `memory.high` and `memory.low` are of version 2 alone.

use super::prelude::*;

/// In words that follow "only".
pub(super) const WHERE: &str = "with version 2 of control groups";

/// No where version 1 is seen to do the counting, or the kernel is older than version 2 (4.5).
pub(super) fn have_v2(look: &Look, _: &Hits) -> bool {
    let has_v1 = look.has(&signal::CGROUP_FAILCNT) && !look.has(&signal::CGROUP_HIGH);
    !has_v1 && look.settings.release().is_none_or(|release| release >= (4, 5, 0))
}

/// The other case.
pub(super) fn have_v1(look: &Look, hits: &Hits) -> bool {
    !have_v2(look, hits)
}
