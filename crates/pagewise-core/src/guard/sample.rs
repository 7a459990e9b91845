//! What the law is shown of a domain at one instant.

/// What is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A memory node with so many bytes.
    Node {
        /// Bytes of all its zones.
        size: u64,
    },
    /// A cgroup that may hold so many bytes. It has no kswapd: at the limit its own threads reclaim.
    Cgroup {
        /// `memory.high` or `memory.max`, the lower.
        limit: u64,
    },
}

impl Domain {
    /// Bytes it can hold.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Domain::Node { size } | Domain::Cgroup { limit: size } => size,
        }
    }
}

/// A zone of a node, in bytes (`/proc/zoneinfo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Free.
    pub free: u64,
    /// Low watermark as the kernel compares with it: with its boost (`mm/page_alloc.c`, `wmark_pages`, 6.12).
    pub low: u64,
    /// What the zone keeps back from allocations that could be met by a higher one (`lowmem_reserve`).
    pub protection: u64,
    /// By how much the counter may lag behind the CPUs' own: vm stats threshold × CPUs.
    pub drift: u64,
}

impl Zone {
    /// What can be taken from it before kswapd wakes.
    #[must_use]
    pub fn headroom(&self) -> u64 {
        self.free.saturating_sub(self.low + self.protection + self.drift)
    }
}

/// A domain at one instant. Totals are since boot and never fall but where the kernel starts them anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'z> {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub at: u64,
    /// Which domain, and how large.
    pub domain: Domain,
    /// Its zones; of a cgroup one, with limit less usage as free memory.
    pub zones: &'z [Zone],
    /// Sum of the zones' high watermarks, bytes. 0 of a cgroup.
    pub high: u64,
    /// Page cache that is no shared memory, bytes.
    pub file: u64,
    /// Page cache on the inactive list, bytes.
    pub inactive_file: u64,
    /// Page cache that streams have gone past in their own files, as of the last scan of these, bytes.
    pub behind_streams: u64,
    /// Dirty page cache and what is under writeback, bytes.
    pub dirty: u64,
    /// Anonymous and shared memory, bytes.
    pub anonymous: u64,
    /// Slab that cannot be reclaimed and page tables, bytes.
    pub kernel: u64,
    /// Total bytes of page cache that reclaim took (`pgsteal_file`).
    pub stolen_file: u64,
    /// Of these, total bytes that were taken out of streamed files, which no counter of the kernel's has.
    pub taken_of_files: u64,
    /// Total bytes of anonymous memory that reclaim took (`pgsteal_anon`).
    pub stolen_anonymous: u64,
    /// Total pages that came back soon after the kernel had evicted them, on its own or asked to, in bytes (`workingset_activate_file`,
    /// `workingset_restore_file`). What was taken out of a file leaves the kernel nothing to know it by (`__remove_mapping` in
    /// `mm/vmscan.c`, 6.12: no shadow unless reclaimed), and is never among them.
    pub came_back: u64,
    /// Total bytes taken out of streamed files that came back before the stream can have.
    pub came_back_of_files: u64,
    /// Total times kswapd was woken or an application had to reclaim by itself (`pageoutrun`, `allocstall`).
    pub too_late: u64,
    /// Total CPU nanoseconds the host spent in the kernel, the guard's among them.
    pub system_cpu: u64,
    /// Of those who stream, where they are known.
    pub streams: Option<Streams>,
}

/// Totals of the processes that stream. They begin anew where these are no longer the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Changes with the processes.
    pub of: u64,
    /// When they were read, on the clock of [`Sample::at`].
    pub at: u64,
    /// CPU nanoseconds in the kernel, with those of kswapd and of the guard.
    pub cpu: u64,
    /// Bytes they read.
    pub read: u64,
}

impl Sample<'_> {
    /// Bytes until somebody else reclaims: those of each zone, since an allocation goes on to the next zone where one is short, and no
    /// zone lends below its own watermark (`get_page_from_freelist`).
    #[must_use]
    pub fn headroom(&self) -> u64 {
        self.zones.iter().map(Zone::headroom).sum()
    }

    /// Total bytes of page cache that ever came in, as far as growth and reclaim tell: what was truncated in between is not seen.
    #[must_use]
    pub fn file_came_in(&self) -> u64 {
        self.file.saturating_add(self.stolen_file)
    }

    /// The same of all other memory, as far as it was not unmapped in between.
    #[must_use]
    pub fn other_came_in(&self) -> u64 {
        self.anonymous.saturating_add(self.stolen_anonymous).saturating_add(self.kernel)
    }

    /// Free bytes, watermarks or not.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.zones.iter().map(|zone| zone.free).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_of_one_zone_does_not_hide_that_another_is_short() {
        let short = Zone { free: 90, low: 100, ..Zone::default() };
        let kept_back = Zone { free: 3_000, low: 200, protection: 2_700, drift: 0 };
        assert_eq!((short.headroom(), kept_back.headroom()), (0, 100));
    }
}

/// A sample for the tests of this module's neighbours.
#[cfg(test)]
pub(super) mod tests_only {
    use super::*;

    static ZONES: [Zone; 1] = [Zone { free: 400 << 20, low: 80 << 20, protection: 0, drift: 0 }];

    /// A node of 24 GiB with a full cache, on which nothing happens.
    pub(in super::super) fn still() -> Sample<'static> {
        Sample {
            at: 1_000_000_000,
            domain: Domain::Node { size: 24 << 30 },
            zones: &ZONES,
            high: 100 << 20,
            file: 5 << 30,
            inactive_file: 4 << 30,
            behind_streams: 0,
            dirty: 0,
            anonymous: 17 << 30,
            kernel: 1 << 30,
            stolen_file: 0,
            stolen_anonymous: 0,
            taken_of_files: 0,
            came_back: 0,
            came_back_of_files: 0,
            too_late: 0,
            system_cpu: 0,
            streams: None,
        }
    }
}
