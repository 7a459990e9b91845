//! A node as the law sees it, from `/proc/zoneinfo`, `/proc/vmstat` and `/proc/stat`. The files stay open, and a reading
//! allocates nothing while their shape stays as it was.

use super::GuardError;
use crate::facts::reclaim::by_generations;
use crate::root::Root;
use crate::source::polled::{NewColumn, Polled};
use crate::source::{cpu, vmstat, zoneinfo};
use pagewise_core::counter::{self, Quantity};
use pagewise_core::guard::sample::{Domain, Sample, Streams, Zone};
use pagewise_core::guard::{MILLISECOND, SECOND};

/// Reads one node.
#[derive(Debug)]
pub struct Reading {
    zoneinfo: Polled,
    vmstat: Polled,
    stat: Polled,
    buffer: Vec<u8>,
    of_zones: Vec<ZoneColumns>,
    zones: Vec<Zone>,
    of_node: NodeColumns,
    of_host: HostColumns,
    page: u64,
    tick: u64,
    cpus: u64,
    stat_due: u64,
    of_files: OfFiles,
}

/// What the kernel's counters do not say of streamed files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfFiles {
    /// Total bytes that were taken out of them.
    pub(super) taken: u64,
    /// Total bytes of these that came back.
    pub(super) came_back: u64,
    /// Bytes that could be taken out of them.
    pub(super) behind: u64,
    /// What those who stream paid.
    pub(super) streams: Option<Streams>,
    /// Total bytes that the processes of a cgroup have read while they were watched.
    pub(super) read_within: u64,
}

/// Columns of a zone in `/proc/zoneinfo`.
#[derive(Debug)]
struct ZoneColumns {
    free: Sum,
    low: Sum,
    high: Sum,
    managed: Sum,
    protection: Vec<u32>,
}

/// Columns of a node there; before 4.8 these were of its zones, and are summed.
#[derive(Debug)]
struct NodeColumns {
    file: Sum,
    shared: Sum,
    inactive_file: Sum,
    dirty: Sum,
    anonymous: Sum,
    kernel: Sum,
    came_back: Sum,
}

/// Columns of `/proc/vmstat` and `/proc/stat`.
#[derive(Debug)]
struct HostColumns {
    stolen_file: Sum,
    stolen_anonymous: Sum,
    stolen_of_host: Sum,
    proactive: Sum,
    kswapd: Sum,
    direct: Sum,
    compactions: Sum,
    system: Sum,
}

/// Bytes that reclaim took, by who counts them: totals since boot, or since a cgroup was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReclaimedBytes {
    /// On request, where the kernel counts that apart (6.15).
    pub(super) on_request: Option<u64>,
    /// In control groups, at their limits and by `memory.reclaim`.
    pub(super) in_groups: u64,
    /// Of files, whoever wanted it.
    pub(super) of_files: u64,
}

impl ReclaimedBytes {
    /// What was taken since then, by the counter that has what was asked for in this way.
    pub(super) fn since(self, then: ReclaimedBytes, counted: Counted) -> u64 {
        let (now, then) = match (counted, self.on_request, then.on_request) {
            (Counted::InGroups, ..) => (self.in_groups, then.in_groups),
            (Counted::OnRequest, Some(now), Some(then)) => (now, then),
            (Counted::OnRequest | Counted::OfFiles, ..) => (self.of_files, then.of_files),
        };
        now.saturating_sub(then)
    }
}

/// Which counter has what a way of asking for page cache gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// That of requests; where there is none, that of files.
    OnRequest,
    /// What control groups lost.
    InGroups,
    /// What reclaim took of files.
    OfFiles,
}

/// What applications had to do themselves to get memory: totals since boot, or since a cgroup was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Times they had to reclaim, or met the limit of their cgroup.
    pub direct: u64,
    /// Times they had to compact memory. Who wants one page never does.
    pub compactions: u64,
}

impl Stalls {
    /// Those since then.
    #[must_use]
    pub fn since(self, then: Stalls) -> Stalls {
        Stalls {
            direct: self.direct.saturating_sub(then.direct),
            compactions: self.compactions.saturating_sub(then.compactions),
        }
    }
}

/// The columns that a quantity of the catalogue is made of, each with how often it counts.
#[derive(Debug)]
pub(super) struct Sum(Vec<(u32, i64)>);

impl Sum {
    pub(super) fn of(quantity: &Quantity, columns: &[&NewColumn]) -> Sum {
        let numbers = columns.iter().map(|column| (quantity.source, column.name.as_str(), column.labels.as_str()));
        let parts = quantity.parts(numbers);
        Sum(parts.iter().map(|part| (columns[part.at].column, part.weight as i64)).collect())
    }

    fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn of_values(&self, values: &[u64]) -> u64 {
        let sum: i64 = self.0.iter().map(|(column, weight)| weight * values[*column as usize] as i64).sum();
        sum.max(0) as u64
    }
}

/// `/proc/stat` has a number for every interrupt line, and counts CPU time in hundredths of a second: it is read no more often.
const STAT_EVERY: u64 = 20 * MILLISECOND;

impl Reading {
    /// Opens the files and finds the node's numbers in them.
    ///
    /// # Errors
    /// When a file is missing, or the node is.
    pub fn open(root: &Root, node: u32) -> Result<Reading, GuardError> {
        let mut zoneinfo = Polled::text(root, zoneinfo::PATH, zoneinfo::visit)?;
        let mut vmstat = Polled::text(root, vmstat::PATH, vmstat::visit)?;
        let mut stat = Polled::text(root, cpu::PATH, cpu::visit)?;
        let mut buffer = vec![0; 64 << 10];
        for source in [&mut zoneinfo, &mut vmstat, &mut stat] {
            source.read(&mut buffer)?;
        }
        let columns = zoneinfo.columns().take_new();
        let of_zones = zones(&columns, node);
        if of_zones.is_empty() {
            return Err(GuardError::Lacks(format!("/proc/zoneinfo has no node {node} with memory")));
        }
        let came_back = if by_generations(root) { &counter::NODE_RESTORED } else { &counter::NODE_CAME_BACK };
        let of_node = NodeColumns::find(&columns, node, came_back);
        let of_host = HostColumns::find(&vmstat.columns().take_new(), &stat.columns().take_new());
        let zones = vec![Zone::default(); of_zones.len()];
        let page = rustix::param::page_size() as u64;
        let tick = SECOND / rustix::param::clock_ticks_per_second().max(1);
        let cpus = cpu::online(root).len().max(1) as u64;
        Ok(Reading {
            zoneinfo,
            vmstat,
            stat,
            buffer,
            of_zones,
            zones,
            of_node,
            of_host,
            page,
            tick,
            cpus,
            stat_due: 0,
            of_files: OfFiles::default(),
        })
    }

    /// The node now.
    ///
    /// # Errors
    /// When a file cannot be read any more.
    pub fn sample(&mut self, at: u64) -> Result<Sample<'_>, GuardError> {
        self.zoneinfo.read(&mut self.buffer)?;
        self.vmstat.read(&mut self.buffer)?;
        if at >= self.stat_due {
            self.stat.read(&mut self.buffer)?;
            self.stat_due = at + STAT_EVERY;
        }
        let page = self.page;
        let node = &self.zoneinfo.columns().values;
        let (mut high, mut size) = (0, 0);
        for (zone, columns) in self.zones.iter_mut().zip(&self.of_zones) {
            let of = |sum: &Sum| sum.of_values(node) * page;
            *zone = Zone {
                free: of(&columns.free),
                low: of(&columns.low),
                protection: columns.protection.iter().map(|column| node[*column as usize] * page).max().unwrap_or(0),
                drift: drift(columns.managed.of_values(node), page, self.cpus),
            };
            high += of(&columns.high);
            size += of(&columns.managed);
        }
        let bytes = |sum: &Sum| sum.of_values(node) * page;
        let of_node = &self.of_node;
        let shared = bytes(&of_node.shared);
        let file = bytes(&of_node.file).saturating_sub(shared);
        let inactive_file = bytes(&of_node.inactive_file);
        let dirty = bytes(&of_node.dirty);
        let anonymous = bytes(&of_node.anonymous) + shared;
        let kernel = bytes(&of_node.kernel);
        let came_back = bytes(&of_node.came_back);
        let host = &self.vmstat.columns().values;
        let of_host = &self.of_host;
        let system_cpu = of_host.system.of_values(&self.stat.columns().values) * self.tick;
        Ok(Sample {
            at,
            domain: Domain::Node { size },
            zones: &self.zones,
            high,
            file,
            inactive_file,
            behind_streams: self.of_files.behind,
            dirty,
            anonymous,
            kernel,
            stolen_file: of_host.stolen_file.of_values(host) * page + self.of_files.taken,
            stolen_anonymous: of_host.stolen_anonymous.of_values(host) * page,
            taken_of_files: self.of_files.taken,
            came_back,
            came_back_of_files: self.of_files.came_back,
            too_late: of_host.kswapd.of_values(host) + of_host.direct.of_values(host),
            system_cpu,
            streams: self.of_files.streams,
        })
    }

    /// What is to be in samples of streamed files from now on.
    pub(super) fn count_files(&mut self, of_files: OfFiles) {
        self.of_files = of_files;
    }

    /// Reads again what [`Reading::stolen`] and [`Reading::stalls`] say, and nothing else.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn read_counters(&mut self) -> Result<(), GuardError> {
        Ok(self.vmstat.read(&mut self.buffer)?)
    }

    /// What reclaim took since boot, as of the last reading.
    pub(super) fn stolen(&mut self) -> ReclaimedBytes {
        let HostColumns { proactive, stolen_of_host, stolen_file, stolen_anonymous, .. } = &self.of_host;
        let values = &self.vmstat.columns().values;
        let bytes = |sum: &Sum| sum.of_values(values) * self.page;
        let of_files = bytes(stolen_file);
        ReclaimedBytes {
            on_request: proactive.is_known().then(|| bytes(proactive)),
            in_groups: (of_files + bytes(stolen_anonymous)).saturating_sub(bytes(stolen_of_host)),
            of_files,
        }
    }

    /// What applications had to do themselves since boot, as of the last reading.
    #[must_use]
    pub fn stalls(&mut self) -> Stalls {
        let values = &self.vmstat.columns().values;
        Stalls {
            direct: self.of_host.direct.of_values(values),
            compactions: self.of_host.compactions.of_values(values),
        }
    }
}

/// The nodes that have memory.
#[must_use]
pub fn nodes(root: &Root) -> Vec<u32> {
    let listed =
        root.read("/sys/devices/system/node/has_memory").map(|list| cpu::parse_list(&list)).unwrap_or_default();
    if listed.is_empty() { vec![0] } else { listed }
}

/// By how much a zone's free pages may lag behind the CPUs' own counts: the stat threshold of every CPU (`mm/vmstat.c`,
/// `calculate_normal_threshold`, 6.12).
fn drift(managed: u64, page: u64, cpus: u64) -> u64 {
    let bits = |number: u64| u64::from(u64::BITS - number.leading_zeros());
    let threshold = (2 * bits(cpus) * (1 + bits((managed * page) >> 27))).min(125);
    threshold * cpus * page
}

/// The zones of a node that have memory.
fn zones(columns: &[NewColumn], node: u32) -> Vec<ZoneColumns> {
    let begin = format!("node={node},zone=");
    let mut names: Vec<&str> = Vec::new();
    for name in columns.iter().filter_map(|column| column.labels.strip_prefix(&begin)) {
        let name = name.split(',').next().unwrap_or(name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_zone = |zone: &&str| {
        let labels = format!("{begin}{zone}");
        let own: Vec<&NewColumn> = columns.iter().filter(|column| column.labels == labels).collect();
        let find = |quantity: &Quantity| Some(Sum::of(quantity, &own)).filter(Sum::is_known);
        let from = format!("{labels},");
        let protects = |one: &&NewColumn| one.name == counter::ZONE_PROTECTION.base() && one.labels.starts_with(&from);
        Some(ZoneColumns {
            free: find(&counter::ZONE_FREE)?,
            low: find(&counter::ZONE_LOW)?,
            high: find(&counter::ZONE_HIGH)?,
            managed: find(&counter::ZONE_MANAGED)?,
            protection: columns.iter().filter(protects).map(|column| column.column).collect(),
        })
    };
    names.iter().filter_map(of_zone).collect()
}

impl NodeColumns {
    fn find(columns: &[NewColumn], node: u32, came_back: &Quantity) -> NodeColumns {
        let (whole, part) = (format!("node={node}"), format!("node={node},"));
        let is_here = |column: &&NewColumn| column.labels == whole || column.labels.starts_with(&part);
        let here: Vec<&NewColumn> = columns.iter().filter(is_here).collect();
        let sum = |quantity: &Quantity| Sum::of(quantity, &here);
        NodeColumns {
            file: sum(&counter::NODE_FILE),
            shared: sum(&counter::NODE_SHARED),
            inactive_file: sum(&counter::NODE_INACTIVE_FILE),
            dirty: sum(&counter::NODE_DIRTY),
            anonymous: sum(&counter::NODE_ANON),
            kernel: sum(&counter::NODE_KERNEL),
            came_back: sum(came_back),
        }
    }
}

impl HostColumns {
    fn find(vmstat: &[NewColumn], stat: &[NewColumn]) -> HostColumns {
        let (vmstat, stat): (Vec<&NewColumn>, Vec<&NewColumn>) = (vmstat.iter().collect(), stat.iter().collect());
        HostColumns {
            stolen_file: Sum::of(&counter::STEAL_FILE, &vmstat),
            stolen_anonymous: Sum::of(&counter::STEAL_ANON, &vmstat),
            stolen_of_host: Sum::of(&counter::STEAL_OF_HOST, &vmstat),
            proactive: Sum::of(&counter::STEAL_PROACTIVE, &vmstat),
            kswapd: Sum::of(&counter::KSWAPD_RUNS, &vmstat),
            direct: Sum::of(&counter::ALLOCSTALL, &vmstat),
            compactions: Sum::of(&counter::COMPACT_STALL, &vmstat),
            system: Sum::of(&counter::CPU_SYSTEM, &stat),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::meminfo;

    #[test]
    fn the_node_of_this_host_is_what_meminfo_says() {
        let root = Root::live();
        let meminfo = meminfo::read(&root).unwrap();
        let mut reading = Reading::open(&root, 0).unwrap();
        let sample = reading.sample(SECOND).unwrap();
        let close = |found: u64, name: &str| {
            let wanted = meminfo[name];
            assert!(found.abs_diff(wanted) < (256 << 20) + wanted / 5, "{name}: {found} and {wanted}");
        };
        close(sample.free(), "MemFree");
        close(sample.inactive_file, "Inactive(file)");
        close(sample.anonymous, "AnonPages");
        assert!(sample.headroom() < sample.free() && sample.high > 0 && sample.system_cpu > 0, "{sample:?}");
        assert!(sample.domain.size() > 256 << 20);
    }

    #[test]
    fn a_node_that_is_not_there_is_an_error() {
        let error = Reading::open(&Root::live(), 4711).unwrap_err().to_string();
        assert!(error.contains("no node 4711"), "{error}");
    }
}
