//! Whether a trouble was really made, by the kernel's own counters at both ends of its recording.

use pagewise_host::root::Root;
use pagewise_host::source::{meminfo, vmstat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// What the kernel must show.
#[derive(Clone, Copy, Debug)]
pub enum Proof {
    /// A total of `/proc/vmstat` (all that begin so, when it ends with `*`) grows at least so fast, per second.
    Grows(&'static str, f64),
    /// One total over another is at least this.
    Over(&'static str, &'static str, f64),
    /// A total stands still, at most this per second.
    Stands(&'static str, f64),
    /// One total grows by at most this part of another.
    Hardly(&'static str, &'static str, f64),
    /// A line of `/proc/meminfo` is at the end at least this part of all memory.
    Part(&'static str, f64),
    /// One line of `/proc/meminfo` is at the end at least this part of another.
    PartOf(&'static str, &'static str, f64),
    /// A level of `/proc/vmstat` is at the end at least this part of another.
    Level(&'static str, &'static str, f64),
    /// A kernel thread took at least this part of one core.
    Thread(&'static str, f64),
    /// The kernel's part of the CPU time that was not idle.
    SystemShare(f64),
    /// Free memory that no huge page can use, as a part of free memory.
    Unusable(f64),
    /// The part of looks in which a zone's watermark was raised.
    Boosted(f64),
}

/// One proof, carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProofResult {
    /// What was observed.
    pub what: String,
    /// What it was; `None` where this kernel does not say.
    pub value: Option<f64>,
    /// What it had to be.
    pub wanted: f64,
    /// Whether it was.
    pub holds: bool,
}

/// The counters at an instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    vmstat: BTreeMap<String, i64>,
    meminfo: BTreeMap<String, u64>,
    /// CPU ticks of kernel threads by name without its number.
    threads: BTreeMap<String, u64>,
    /// User (with nice) and system ticks of the host.
    cpu: Option<(u64, u64)>,
    unusable: Option<f64>,
    /// Looks in which a watermark was raised, and all looks: see [`Snapshot::looked`].
    boosted: Option<(u32, u32)>,
}

impl Snapshot {
    /// Now. What cannot be read is missing, and so is what rests on it.
    #[must_use]
    pub fn take() -> Snapshot {
        let root = Root::live();
        let blocks = pagewise_host::source::buddyinfo::read(&root).ok();
        Snapshot {
            at: Instant::now(),
            vmstat: vmstat::read(&root).unwrap_or_default(),
            meminfo: meminfo::read(&root).unwrap_or_default(),
            threads: threads(&root),
            cpu: cpu(&root),
            unusable: blocks.and_then(|blocks| {
                let nodes = pagewise_host::source::buddyinfo::nodes(&blocks);
                pagewise_host::source::buddyinfo::lowest_unusable(&nodes)
            }),
            boosted: None,
        }
    }

    /// With what was seen of raised watermarks on the way: (hits, checks).
    #[must_use]
    pub fn with_boosts(self, boosted: (u32, u32)) -> Snapshot {
        Snapshot { boosted: Some(boosted), ..self }
    }

    fn total(&self, name: &str) -> Option<i64> {
        let Some(prefix) = name.strip_suffix('*') else { return self.vmstat.get(name).copied() };
        let all: Vec<i64> =
            self.vmstat.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| *value).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }

    fn meminfo(&self, name: &str) -> Option<f64> {
        self.meminfo.get(name).map(|value| *value as f64)
    }
}

impl Proof {
    /// Whether it holds between two instants.
    #[must_use]
    pub fn between(self, before: &Snapshot, after: &Snapshot) -> ProofResult {
        let seconds = after.at.duration_since(before.at).as_secs_f64().max(0.001);
        let growth = |name: &str| Some(after.total(name)?.wrapping_sub(before.total(name)?) as f64);
        let rate = |name: &str| growth(name).map(|growth| growth / seconds);
        let (what, value, wanted) = match self {
            Proof::Grows(name, wanted) => (format!("{name} per second"), rate(name), wanted),
            Proof::Stands(name, most) => {
                let value = rate(name);
                let holds = value.is_some_and(|value| value <= most);
                return ProofResult { what: format!("{name} per second, at most"), value, wanted: most, holds };
            }
            Proof::Hardly(name, by, most) => {
                let value = growth(name).zip(growth(by)).map(|(name, by)| name / by.max(1.0));
                let holds = value.is_some_and(|value| value <= most);
                return ProofResult { what: format!("{name} / {by}, at most"), value, wanted: most, holds };
            }
            Proof::Over(name, by, wanted) => {
                let value = growth(name).zip(growth(by)).map(|(name, by)| name / by.max(1.0));
                (format!("{name} / {by}"), value, wanted)
            }
            Proof::Part(name, wanted) => {
                let value = after.meminfo(name).zip(after.meminfo("MemTotal")).map(|(name, all)| name / all);
                (format!("{name} / MemTotal"), value, wanted)
            }
            Proof::PartOf(name, of, wanted) => {
                let value = after.meminfo(name).zip(after.meminfo(of)).map(|(name, of)| name / of.max(1.0));
                (format!("{name} / {of}"), value, wanted)
            }
            Proof::Level(name, of, wanted) => {
                let value = after.total(name).zip(after.total(of)).map(|(name, of)| name as f64 / (of as f64).max(1.0));
                (format!("{name} / {of}"), value, wanted)
            }
            Proof::Thread(name, wanted) => {
                let ticks = after.threads.get(name).zip(before.threads.get(name));
                let hertz = rustix::param::clock_ticks_per_second() as f64;
                let value = ticks.map(|(after, before)| after.saturating_sub(*before) as f64 / hertz / seconds);
                (format!("{name}, of one core"), value, wanted)
            }
            Proof::SystemShare(wanted) => {
                let value = after.cpu.zip(before.cpu).map(|(after, before)| {
                    let (user, system) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
                    system as f64 / ((user + system) as f64).max(1.0)
                });
                ("system time / CPU time".to_owned(), value, wanted)
            }
            Proof::Boosted(wanted) => {
                let value = after.boosted.map(|(hits, checks)| f64::from(hits) / f64::from(checks.max(1)));
                ("checks with a raised watermark".to_owned(), value, wanted)
            }
            Proof::Unusable(wanted) => ("free memory of no use for huge pages".to_owned(), after.unusable, wanted),
        };
        ProofResult { what, value, wanted, holds: value.is_some_and(|value| value >= wanted) }
    }
}

/// Whether any zone's watermark is raised now. A kernel that does not say so (before 6.1) raises none that can be seen.
#[must_use]
pub(super) fn is_boosted() -> bool {
    let text = Root::live().read(pagewise_host::source::zoneinfo::PATH).unwrap_or_default();
    text.lines().any(|line| line.trim().strip_prefix("boost").is_some_and(|pages| pages.trim() != "0"))
}

/// Kernel threads have no memory: `VmSize` is missing, and their names are known.
fn threads(root: &Root) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for pid in root.list("/proc").unwrap_or_default().iter().filter(|name| name.parse::<u32>().is_ok()) {
        let Ok(stat) = root.read(&format!("/proc/{pid}/stat")) else { continue };
        if let Some((name, ticks)) = kernel_thread(&stat) {
            *all.entry(name.to_owned()).or_insert(0) += ticks;
        }
    }
    all
}

/// Name without number, and CPU ticks, of a line of `/proc/PID/stat` (`man 5 proc`: utime and stime are fields 14, 15).
fn kernel_thread(stat: &str) -> Option<(&'static str, u64)> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let known = ["kswapd", "kcompactd", "khugepaged"];
    let known = known.into_iter().find(|known| name.trim_end_matches(|c: char| c.is_ascii_digit()) == *known)?;
    let mut fields = rest.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some((known, ticks))
}

fn cpu(root: &Root) -> Option<(u64, u64)> {
    let text = root.read("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    Some((fields.first()? + fields.get(1)?, *fields.get(2)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn snapshot(at: Instant, vmstat: &[(&str, i64)]) -> Snapshot {
        Snapshot {
            at,
            vmstat: vmstat.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            meminfo: BTreeMap::from([("MemTotal".to_owned(), 1000), ("Mlocked".to_owned(), 600)]),
            threads: BTreeMap::new(),
            cpu: None,
            unusable: None,
            boosted: None,
        }
    }

    #[test]
    fn growth_is_per_second_and_a_star_sums_all_that_begin_so() {
        let begun = Instant::now();
        let before = snapshot(begun, &[("allocstall_dma", 1), ("allocstall_normal", 10)]);
        let after = snapshot(begun + Duration::from_secs(10), &[("allocstall_dma", 11), ("allocstall_normal", 50)]);
        let shown = Proof::Grows("allocstall_*", 5.0).between(&before, &after);
        assert_eq!((shown.value, shown.holds), (Some(5.0), true));
        assert!(Proof::Stands("allocstall_dma", 1.0).between(&before, &after).holds);
        assert!(!Proof::Stands("allocstall_dma", 0.5).between(&before, &after).holds);
        assert_eq!(Proof::Over("allocstall_normal", "allocstall_dma", 4.0).between(&before, &after).value, Some(4.0));
        assert!(Proof::Part("Mlocked", 0.5).between(&before, &after).holds);
    }

    #[test]
    fn what_the_kernel_does_not_say_proves_nothing() {
        let begun = Instant::now();
        let (before, after) = (snapshot(begun, &[]), snapshot(begun + Duration::from_secs(1), &[]));
        for proof in [Proof::Grows("pswpin", 0.0), Proof::Thread("kswapd", 0.0), Proof::SystemShare(0.0)] {
            let shown = proof.between(&before, &after);
            assert_eq!((shown.value, shown.holds), (None, false), "{proof:?}");
        }
    }

    #[test]
    fn a_kernel_thread_is_known_by_its_name_and_a_process_of_that_name_with_more_is_not() {
        let line = |name: &str| format!("7 ({name}) S 2 0 0 0 -1 2129984 0 0 0 0 12 30 0 0 20 0 1 0 10 0 0");
        assert_eq!(kernel_thread(&line("kswapd0")), Some(("kswapd", 42)));
        assert_eq!(kernel_thread(&line("khugepaged")), Some(("khugepaged", 42)));
        assert_eq!(kernel_thread(&line("kswapd0) S (x")), None);
        assert_eq!(kernel_thread(&line("bash")), None);
    }
}
