//! A cgroup as the law sees it, and its own way to take page cache back. It has no kswapd: where it meets its limit, its own threads reclaim. How
//! near it is, is one number (`memory.current`, `memory.usage_in_bytes`); what fills it stands in `memory.stat`, which costs the kernel a
//! summing up over all CPUs and is read more seldom.

use super::GuardError;
use super::back_end::request;
use super::domain::{Limited, is_group, limit};
use super::reading::{OfFiles, ReclaimedBytes, Stalls, Sum};
use crate::cgroup::Version;
use crate::facts::reclaim::by_generations;
use crate::root::{FileError, Root};
use crate::source::polled::{NewColumn, NumberFile, Polled};
use crate::source::{cpu, swaps, vmstat};
use pagewise_core::counter;
use pagewise_core::guard::MILLISECOND;
use pagewise_core::guard::sample::{Domain, Sample, Zone};
use rustix::io::Errno;
use std::fs::File;

/// How often what fills the group is read, and its limit.
const STAT_EVERY: u64 = 50 * MILLISECOND;
const LIMIT_EVERY: u64 = 1000 * MILLISECOND;

/// Less than this part of what the group may hold is little.
const SHORT: u64 = 16;

/// Every CPU charges so many pages at a time (`MEMCG_CHARGE_BATCH`, `mm/memcontrol.c`, 6.12).
const CHARGED_AHEAD: u64 = 64;

/// Reads one cgroup.
#[derive(Debug)]
pub(super) struct CgroupReading {
    root: Root,
    group: Limited,
    limit: u64,
    limit_due: u64,
    usage: Polled,
    stat: Polled,
    stat_due: u64,
    events: Polled,
    late: Vec<u32>,
    sums: Sums,
    zone: [Zone; 1],
    buffer: Vec<u8>,
    page: u64,
    drift: u64,
    of_files: OfFiles,
    came_in: CameIn,
    is_short: bool,
}

/// What came in, where the kernel does not say what it took from the group: version 1 counts folios that left it, not pages
/// (`mem_cgroup_charge_statistics`, `mm/memcontrol-v1.c`, 6.12), so growth that reclaim hides cannot be seen there. What its processes read
/// stands in for it.
#[derive(Clone, Copy, Debug, Default)]
struct CameIn {
    /// Page cache at the first sample.
    file: Option<u64>,
    stolen: u64,
}

impl CameIn {
    /// Page cache that must have left the group, if all that was read came in.
    fn stolen(&mut self, read: u64, file: u64) -> u64 {
        let grown = file.saturating_sub(*self.file.get_or_insert(file));
        self.stolen = self.stolen.max(read.saturating_sub(grown));
        self.stolen
    }
}

#[derive(Debug)]
struct Sums {
    file: Sum,
    shared: Sum,
    inactive_file: Sum,
    dirty: Sum,
    anonymous: Sum,
    kernel: Sum,
    came_back: Sum,
    stolen: Sum,
}

impl CgroupReading {
    /// Opens its files.
    ///
    /// # Errors
    /// When one is missing, as where the group is gone, or has no limit any more.
    pub(super) fn open(root: &Root, group: &Limited) -> Result<CgroupReading, GuardError> {
        let lacks = |what: &str| GuardError::Lacks(format!("cgroup {} has no {what}", group.path));
        let path = |file: &str| format!("{}/{file}", group.folder);
        let one = |file: &str, name: &str| {
            let file = NumberFile { path: path(file), name: name.to_owned(), labels: String::new() };
            Polled::number_files(root, vec![file])
        };
        let (usage, mut events, met) = match group.version {
            Version::V1 => {
                let failed = one("memory.failcnt", "failcnt").ok_or_else(|| lacks("memory.failcnt"))?;
                (one("memory.usage_in_bytes", "usage"), failed, &["failcnt"][..])
            }
            Version::V2 => {
                let events = Polled::text(root, &path("memory.events"), vmstat::visit)?;
                (one("memory.current", "usage"), events, &["high", "max"][..])
            }
        };
        let label = format!("cgroup={}", group.path);
        let mut stat = Polled::labelled_text(root, &path("memory.stat"), vmstat::visit, label)?;
        let mut buffer = vec![0; 16 << 10];
        stat.read(&mut buffer)?;
        events.read(&mut buffer)?;
        let columns = stat.columns().take_new();
        let columns: Vec<&NewColumn> = columns.iter().collect();
        let met = |column: &NewColumn| met.contains(&column.name.as_str()).then_some(column.column);
        let late = events.columns().take_new().iter().filter_map(met).collect();
        let came_back = if by_generations(root) { &counter::CGROUP_RESTORED } else { &counter::CGROUP_CAME_BACK };
        let page = rustix::param::page_size() as u64;
        let cpus = cpu::online(root).len().max(1) as u64;
        Ok(CgroupReading {
            limit: limit(root, &group.folder, group.version).ok_or_else(|| lacks("limit"))?,
            root: root.clone(),
            group: group.clone(),
            limit_due: 0,
            usage: usage.ok_or_else(|| lacks("usage"))?,
            stat,
            stat_due: 0,
            events,
            late,
            sums: Sums {
                file: Sum::of(&counter::CGROUP_FILE, &columns),
                shared: Sum::of(&counter::CGROUP_SHARED, &columns),
                inactive_file: Sum::of(&counter::CGROUP_INACTIVE_FILE, &columns),
                dirty: Sum::of(&counter::CGROUP_DIRTY, &columns),
                anonymous: Sum::of(&counter::CGROUP_ANON, &columns),
                kernel: Sum::of(&counter::CGROUP_KERNEL, &columns),
                came_back: Sum::of(came_back, &columns),
                stolen: Sum::of(&counter::CGROUP_STOLEN, &columns),
            },
            zone: [Zone::default()],
            buffer,
            page,
            drift: CHARGED_AHEAD * page * cpus,
            of_files: OfFiles::default(),
            came_in: CameIn::default(),
            is_short: false,
        })
    }

    /// The group now.
    ///
    /// # Errors
    /// When it is gone, or has no limit any more.
    pub(super) fn sample(&mut self, at: u64) -> Result<Sample<'_>, GuardError> {
        if at >= self.limit_due {
            self.limit_due = at + LIMIT_EVERY;
            let gone = || GuardError::Lacks(format!("cgroup {} has no limit any more", self.group.path));
            self.limit = limit(&self.root, &self.group.folder, self.group.version).ok_or_else(gone)?;
        }
        self.usage.read(&mut self.buffer)?;
        let usage = self.usage.columns().values.first().copied().unwrap_or(0);
        if at >= self.stat_due {
            self.stat_due = at + STAT_EVERY;
            self.stat.read(&mut self.buffer)?;
            self.events.read(&mut self.buffer)?;
        }
        self.zone[0] = Zone { free: self.limit.saturating_sub(usage), drift: self.drift, ..Zone::default() };
        let too_late = self.stalls().direct;
        self.is_short = self.zone[0].headroom() < self.limit / SHORT;
        let stat = &self.stat.columns().values;
        let of = |sum: &Sum| sum.of_values(stat);
        let file = of(&self.sums.file).saturating_sub(of(&self.sums.shared));
        let stolen_file = match self.group.version {
            Version::V1 => self.came_in.stolen(self.of_files.read_within, file),
            // What `fadvise` took is in no counter.
            Version::V2 => of(&self.sums.stolen) * self.page + self.of_files.taken,
        };
        Ok(Sample {
            at,
            domain: Domain::Cgroup { limit: self.limit },
            zones: &self.zone,
            high: 0,
            file,
            inactive_file: of(&self.sums.inactive_file),
            behind_streams: self.of_files.behind,
            dirty: of(&self.sums.dirty),
            anonymous: of(&self.sums.anonymous) + of(&self.sums.shared),
            kernel: of(&self.sums.kernel),
            stolen_file,
            stolen_anonymous: 0,
            taken_of_files: self.of_files.taken,
            came_back: of(&self.sums.came_back) * self.page,
            came_back_of_files: self.of_files.came_back,
            too_late,
            system_cpu: 0,
            streams: self.of_files.streams,
        })
    }

    /// Whether those who stream must be looked for before it is known that anybody does: little is left, and the kernel does not say what
    /// fills the rest.
    pub(super) fn asks_for_streams(&self) -> bool {
        self.is_short && self.group.version == Version::V1
    }

    pub(super) fn count_files(&mut self, of_files: OfFiles) {
        self.of_files = of_files;
    }

    /// Reads again what [`CgroupReading::stolen`] and [`CgroupReading::stalls`] say: version 1 has nothing of the one in its `memory.stat`.
    pub(super) fn read_counters(&mut self) -> Result<(), GuardError> {
        if self.group.version == Version::V2 {
            self.stat.read(&mut self.buffer)?;
        }
        Ok(self.events.read(&mut self.buffer)?)
    }

    /// What reclaim took since the group was made, as of the last reading: its counter has that of the group alone.
    pub(super) fn stolen(&mut self) -> ReclaimedBytes {
        let all = match self.group.version {
            Version::V1 => 0,
            Version::V2 => self.sums.stolen.of_values(&self.stat.columns().values) * self.page,
        };
        ReclaimedBytes { on_request: Some(all), in_groups: all, of_files: all }
    }

    /// Times it met its limit, as of the last reading. Compaction is the host's, and no group's.
    pub(super) fn stalls(&mut self) -> Stalls {
        let values = &self.events.columns().values;
        Stalls { direct: self.late.iter().map(|column| values[*column as usize]).sum(), compactions: 0 }
    }
}

/// `memory.reclaim` of a cgroup (version 2, since 5.19), told to leave anonymous memory alone: `swappiness=0` where the kernel knows that word.
#[derive(Debug)]
pub(super) struct CgroupFile {
    file: File,
    words: &'static str,
}

impl CgroupFile {
    /// Opens it, and tries its words. Without `swappiness=` it could swap, and is used only where there is nothing to swap to.
    ///
    /// # Errors
    /// Why it is of no use, as a sentence.
    pub(super) fn open(root: &Root, folder: &str, version: Version) -> Result<CgroupFile, String> {
        if version == Version::V1 {
            return Err("cgroups of version 1 have no memory.reclaim".to_owned());
        }
        let path = format!("{folder}/memory.reclaim");
        let file = root.open_to_write(&path).map_err(|error| format!("{path}: {error}; kernels have it since 5.19"))?;
        let knows = |words| request(&file, 0, words) == Ok(true);
        if knows(" swappiness=0") {
            return Ok(CgroupFile { file, words: " swappiness=0" });
        }
        // Its first line is a heading.
        if root.read(swaps::PATH).map_or(true, |text| text.lines().count() > 1) {
            return Err(format!("{path} does not know swappiness=0, and this host could swap"));
        }
        if knows("") { Ok(CgroupFile { file, words: "" }) } else { Err(format!("{path} takes no request")) }
    }

    /// As that of a node.
    pub(super) fn reclaim(&self, bytes: u64) -> Result<bool, Errno> {
        request(&self.file, bytes, self.words)
    }
}

/// The processes of a group and of those below it.
pub(super) fn members(root: &Root, folder: &str) -> Result<Vec<u32>, FileError> {
    let mut pids = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed = root.read(&format!("{folder}/cgroup.procs"))?;
        pids.extend(listed.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
        let below = root.list(&folder).unwrap_or_default().into_iter().map(|name| format!("{folder}/{name}"));
        folders.extend(below.filter(|below| is_group(root, below)));
    }
    Ok(pids)
}
