//! Recordings with the counters of old kernels, made from `/proc/vmstat` as people sent it to mailing lists and into
//! documents. Only the names and the proportions of the numbers are theirs: each total grows by the same part of itself.

use crate::RecordingBuilder;

/// An old kernel, by what its `/proc/vmstat` has.
#[derive(Clone, Copy, Debug)]
pub struct OldKernel {
    /// Its version.
    pub version: &'static str,
    /// The file.
    pub vmstat: &'static str,
    /// In so many seconds each total grows by as much again.
    pub seconds: u64,
}

/// One per set of names that reclaim has had before 4.8.
pub const OLD_KERNELS: [OldKernel; 3] = [
    // Richard Davies, "Over-eager swapping", linux-mm, 2012-04-23, on 3.2.2. 3.3 is the last kernel with `kswapd_steal`, and
    // Red Hat's 2.6.32 writes the same names (the list of LDMS for such hosts has them one by one).
    OldKernel { version: "2.6.32", vmstat: include_str!("old_kernels/2.6.32.txt"), seconds: 100_000 },
    // Eric Wong, "ppoll() stuck on POLLIN while TCP peer is sending", linux-mm, 2013-01-08, on 3.8-rc2. 3.10 has these names
    // but for `kswapd_skip_congestion_wait` (include/linux/vm_event_item.h).
    OldKernel { version: "3.10", vmstat: include_str!("old_kernels/3.10.txt"), seconds: 1_000 },
    // A desktop, in somebody's public notes on the files of /proc; no kernel before 4.1 nor after 4.4 has these names.
    OldKernel { version: "4.4", vmstat: include_str!("old_kernels/4.4.txt"), seconds: 10_000 },
];

impl OldKernel {
    /// A total of that name in the listing; 0 where there is none.
    #[must_use]
    pub fn total(&self, name: &str) -> u64 {
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        self.vmstat.lines().find_map(value).unwrap_or(0)
    }

    /// What it grows by in a second.
    #[must_use]
    pub fn rate(&self, name: &str) -> f64 {
        self.total(name) as f64 / self.seconds as f64
    }

    /// A host of 4 CPUs with that kernel, for so many seconds.
    #[must_use]
    pub fn recording(&self, seconds: u32) -> RecordingBuilder {
        let mut made = RecordingBuilder::new(seconds).about("kernel", self.version).cpu(4, 0.40, 0.05);
        made = made.gib("MemTotal", 16.0).gib("MemFree", 1.0);
        for (name, value) in self.vmstat.lines().filter_map(|line| line.split_once(' ')) {
            let value: u64 = value.parse().unwrap_or_else(|_| panic!("{name} has the value '{value}'"));
            let in_time = self.seconds;
            made = if name.starts_with("nr_") {
                made.level("vmstat", name, "", move |_| value as f64)
            } else {
                made.total("vmstat", name, "", move |at| Some(value + (value as f64 * at / in_time as f64) as u64))
            };
        }
        made
    }
}
