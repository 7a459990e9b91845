//! Where the multi-generational LRU can be switched on: a condition that several rules share.

use super::prelude::*;

/// In words that follow "only".
pub(super) const WHERE: &str = "where it is off: on some processors it shows fewer bits than all when it is on";

/// Its first bit is the switch of the whole; the others need features of the processor.
pub(super) fn is_off(observed: &Observed, _: &Hits) -> bool {
    let Some(value) = observed.settings.value("mglru.enabled") else { return true };
    let bits = value.trim().trim_start_matches("0x");
    u64::from_str_radix(bits, 16).is_ok_and(|bits| bits & 1 == 0)
}
