//! Block devices.

use super::descriptor::{Descriptor, Key};
use super::grammar::Grammar::Integer;

/// The kernel keeps whole pages and rounds down without a word (`block/blk-sysfs.c` queue_ra_store, 6.12).
pub const READ_AHEAD_PAGE_KIB: u64 = 4;

pub(super) const ALL: &[Descriptor] = &[Descriptor::live(
    "block[DEVICE].read_ahead_kb",
    &["/sys/block/{key}/queue/read_ahead_kb"],
    Integer { min: 0, max: 1 << 20, step: READ_AHEAD_PAGE_KIB },
    "2.6.13; block/blk-sysfs.c queue_ra_store",
    "KiB read ahead of a sequential reader; also how large the pages of its cache can become",
)
.keyed(Key::Device)
.switched_for_new(0.0, 5.0, "a file takes it when it is opened; one that is open keeps what it has")];
