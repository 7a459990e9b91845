//! A node as the law sees it, from `/proc/zoneinfo`, `/proc/vmstat` and `/proc/stat`. The files stay open, and a reading
//! allocates nothing while their shape stays as it was.

use super::GuardError;
use crate::root::Root;
use crate::source::polled::{NewColumn, Polled};
use crate::source::{cpu, vmstat, zoneinfo};
use pagewise_core::guard::SECOND;
use pagewise_core::guard::sample::{Domain, Sample, Zone};

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
}

/// Columns of a zone in `/proc/zoneinfo`.
#[derive(Debug)]
struct ZoneColumns {
    free: u32,
    low: u32,
    high: u32,
    managed: u32,
    protection: Vec<u32>,
}

/// Columns of a node there; before 4.8 these were of its zones, and are summed.
#[derive(Debug)]
struct NodeColumns {
    file: Vec<u32>,
    shared: Vec<u32>,
    inactive_file: Vec<u32>,
    dirty: Vec<u32>,
    anonymous: Vec<u32>,
    kernel: Vec<u32>,
    came_back: Vec<u32>,
}

/// Columns of `/proc/vmstat` and `/proc/stat`.
#[derive(Debug)]
struct HostColumns {
    stolen_file: Vec<u32>,
    stolen_anonymous: Vec<u32>,
    proactive: Vec<u32>,
    too_late: Vec<u32>,
    direct: Vec<u32>,
    system: Vec<u32>,
}

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
        let of_node = NodeColumns::find(&columns, node);
        let of_host = HostColumns::find(&vmstat.columns().take_new(), &stat.columns().take_new());
        let zones = vec![Zone::default(); of_zones.len()];
        let page = rustix::param::page_size() as u64;
        let tick = SECOND / rustix::param::clock_ticks_per_second().max(1);
        let cpus = cpu::online(root).len().max(1) as u64;
        Ok(Reading { zoneinfo, vmstat, stat, buffer, of_zones, zones, of_node, of_host, page, tick, cpus })
    }

    /// The node now.
    ///
    /// # Errors
    /// When a file cannot be read any more.
    pub fn sample(&mut self, at: u64) -> Result<Sample<'_>, GuardError> {
        self.zoneinfo.read(&mut self.buffer)?;
        self.vmstat.read(&mut self.buffer)?;
        self.stat.read(&mut self.buffer)?;
        let page = self.page;
        let node = &self.zoneinfo.columns().values;
        let (mut high, mut size) = (0, 0);
        for (zone, columns) in self.zones.iter_mut().zip(&self.of_zones) {
            let of = |column: u32| node[column as usize] * page;
            *zone = Zone {
                free: of(columns.free),
                low: of(columns.low),
                protection: columns.protection.iter().map(|column| of(*column)).max().unwrap_or(0),
                drift: drift(node[columns.managed as usize], page, self.cpus),
            };
            high += of(columns.high);
            size += of(columns.managed);
        }
        let sum = |values: &[u64], columns: &[u32]| columns.iter().map(|column| values[*column as usize]).sum::<u64>();
        let of_node = &self.of_node;
        let shared = sum(node, &of_node.shared) * page;
        let file = (sum(node, &of_node.file) * page).saturating_sub(shared);
        let inactive_file = sum(node, &of_node.inactive_file) * page;
        let dirty = sum(node, &of_node.dirty) * page;
        let anonymous = sum(node, &of_node.anonymous) * page + shared;
        let kernel = sum(node, &of_node.kernel) * page;
        let came_back = sum(node, &of_node.came_back) * page;
        let host = &self.vmstat.columns().values;
        let of_host = &self.of_host;
        let system_cpu = sum(&self.stat.columns().values, &of_host.system) * self.tick;
        Ok(Sample {
            at,
            domain: Domain::Node { size },
            zones: &self.zones,
            high,
            file,
            inactive_file,
            dirty,
            anonymous,
            kernel,
            stolen_file: sum(host, &of_host.stolen_file) * page,
            stolen_anonymous: sum(host, &of_host.stolen_anonymous) * page,
            came_back,
            too_late: sum(host, &of_host.too_late),
            system_cpu,
        })
    }

    /// Bytes that reclaim on request took since boot, as of the last reading; where the kernel does not count them apart, all
    /// that reclaim took.
    #[must_use]
    pub fn taken(&mut self) -> u64 {
        let columns = match self.of_host.proactive.as_slice() {
            [] => &self.of_host.stolen_file,
            some => some,
        };
        let host = &self.vmstat.columns().values;
        columns.iter().map(|column| host[*column as usize]).sum::<u64>() * self.page
    }

    /// Times an application had to reclaim by itself since boot, as of the last reading.
    #[must_use]
    pub fn direct(&mut self) -> u64 {
        let host = &self.vmstat.columns().values;
        self.of_host.direct.iter().map(|column| host[*column as usize]).sum()
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
        let find = |name: &str| {
            columns.iter().find(|column| column.name == name && column.labels == labels).map(|column| column.column)
        };
        let from = format!("{labels},");
        let protection = columns.iter().filter(|one| one.name == "protection" && one.labels.starts_with(&from));
        Some(ZoneColumns {
            free: find("free")?,
            low: find("low")?,
            high: find("high")?,
            managed: find("managed")?,
            protection: protection.map(|column| column.column).collect(),
        })
    };
    names.iter().filter_map(of_zone).collect()
}

impl NodeColumns {
    fn find(columns: &[NewColumn], node: u32) -> NodeColumns {
        let (whole, part) = (format!("node={node}"), format!("node={node},"));
        let is_here = |column: &&NewColumn| column.labels == whole || column.labels.starts_with(&part);
        let all = |names: &[&str]| {
            let named = columns.iter().filter(is_here).filter(|column| names.contains(&column.name.as_str()));
            named.map(|column| column.column).collect::<Vec<u32>>()
        };
        NodeColumns {
            file: all(&["nr_file_pages"]),
            shared: all(&["nr_shmem"]),
            inactive_file: all(&["nr_inactive_file"]),
            dirty: all(&["nr_dirty", "nr_writeback"]),
            anonymous: all(&["nr_anon_pages"]),
            kernel: all(&["nr_slab_unreclaimable", "nr_kernel_stack", "nr_page_table_pages"]),
            came_back: all(&["workingset_activate_file", "workingset_restore_file", "workingset_activate"]),
        }
    }
}

impl HostColumns {
    fn find(vmstat: &[NewColumn], stat: &[NewColumn]) -> HostColumns {
        let all = |is: &dyn Fn(&str) -> bool| {
            vmstat.iter().filter(|column| is(&column.name)).map(|column| column.column).collect::<Vec<u32>>()
        };
        let stolen_file = match all(&|name| name == "pgsteal_file") {
            // Before 5.9 reclaim did not say of what.
            none if none.is_empty() => {
                all(&|name| name.starts_with("pgsteal_kswapd") || name.starts_with("pgsteal_direct"))
            }
            some => some,
        };
        HostColumns {
            stolen_file,
            stolen_anonymous: all(&|name| name == "pgsteal_anon"),
            proactive: all(&|name| name == "pgsteal_proactive"),
            too_late: all(&|name| name == "pageoutrun" || name.starts_with("allocstall")),
            direct: all(&|name| name.starts_with("allocstall")),
            system: stat
                .iter()
                .filter(|one| one.name == "system" && one.labels.is_empty())
                .map(|one| one.column)
                .collect(),
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
