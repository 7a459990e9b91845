//! Prometheus text of `node_exporter`: a scrape of `/metrics`, or several one after the other.
//!
//! Names are of node_exporter 1.8 and of those before 0.16, which had no units in them (`node_memory_MemFree`, `node_cpu`).
//! Behind them stand the kernel's own numbers, so they go under the kernel's names, in its units. A scrape says itself when
//! it was (`node_time_seconds`), where that collector was not switched off.

use super::listing::Listing;
use super::merge::Assumed;
use super::snapshots::{KernelNumber, Snapshots};
use super::times::{SECOND, Stamp};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::{Kind as Moves, describe};
use crate::recording::{GapReason, RawUnit};
use std::collections::BTreeSet;

const REMEDY: &str = "give what `curl -s http://HOST:9100/metrics` prints, best several times";

/// A sample of the exposition format.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
    /// Nanoseconds since 1970.
    at: Option<i64>,
}

impl Sample<'_> {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(own, _)| *own == key).map(|(_, value)| value.as_str())
    }
}

/// `name{key="value",…} value [timestamp]`.
fn sample(line: &str) -> Option<Sample<'_>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let end = line.find(|c: char| !is_name(c))?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    // Behind `#` OpenMetrics has exemplars.
    let mut words = rest.split('#').next()?.split_whitespace();
    let value = number(words.next()?)?;
    let at = match words.next() {
        Some(word) => Some(timestamp(word)?),
        None => None,
    };
    words.next().is_none().then_some(Sample { name, labels, value, at })
}

/// What stands between braces, and what follows them.
fn labels(text: &str) -> Option<(Vec<(&str, String)>, &str)> {
    const MOST: usize = 64;
    let (mut labels, mut rest) = (Vec::new(), text.trim_start());
    loop {
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (key, behind) = rest.split_once('=')?;
        let behind = behind.trim_start().strip_prefix('"')?;
        let mut value = String::new();
        let mut chars = behind.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.push((key.trim(), value));
        rest = behind[end + 1..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        if labels.len() > MOST {
            return None;
        }
    }
}

/// Decimals with or without an exponent; `NaN` and `+Inf` are numbers here, too.
fn number(word: &str) -> Option<f64> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let is_special = matches!(word.trim_start_matches(['+', '-']), "NaN" | "Inf");
    word.parse::<f64>().ok().filter(|_| is_plain || is_special)
}

/// Milliseconds since 1970, or in OpenMetrics seconds.
fn timestamp(word: &str) -> Option<i64> {
    /// As seconds it is the year 5138.
    const MOST_SECONDS: f64 = 1e11;
    let value = number(word).filter(|value| *value >= 0.0 && *value < 8e12)?;
    let seconds = if value < MOST_SECONDS { value } else { value / 1000.0 };
    // Nanoseconds of later than the year 2262 do not fit.
    ((seconds * 1000.0).round() as i64).checked_mul(SECOND / 1000)
}

/// The kernel's name, unit and what to multiply by.
#[derive(Clone, Debug, PartialEq)]
struct Meaning {
    source: &'static str,
    name: String,
    labels: String,
    unit: RawUnit,
    moves: Moves,
    scale: f64,
    /// The time of a CPU, of which there is also the sum of all.
    is_of_cpu: bool,
}

fn meaning(sample: &Sample<'_>) -> Option<Meaning> {
    let plain = |source: &'static str, name: &str| {
        let (unit, moves) = describe(source, name, false);
        Meaning { source, name: name.to_owned(), labels: String::new(), unit, moves, scale: 1.0, is_of_cpu: false }
    };
    let own = sample.name.strip_prefix("node_")?;
    // Of single nodes.
    if own.starts_with("memory_numa_") {
        return None;
    }
    if let Some(name) = own.strip_prefix("memory_") {
        return Some(of_meminfo(name));
    }
    if let Some(name) = own.strip_prefix("vmstat_") {
        return Some(plain("vmstat", name));
    }
    if let Some(name) = own.strip_prefix("pressure_") {
        let (source, name) = match name {
            "memory_waiting_seconds_total" => ("psi_memory", "some_total"),
            "memory_stalled_seconds_total" => ("psi_memory", "full_total"),
            "io_waiting_seconds_total" => ("psi_io", "some_total"),
            "io_stalled_seconds_total" => ("psi_io", "full_total"),
            "cpu_waiting_seconds_total" => ("psi_cpu", "some_total"),
            _ => return None,
        };
        return Some(Meaning { scale: 1e6, ..plain(source, name) });
    }
    if matches!(own, "cpu_seconds_total" | "cpu") {
        let (mode, cpu) = (sample.label("mode")?, sample.label("cpu")?);
        const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
        let mode = MODES.into_iter().find(|known| *known == mode)?;
        let labels = format!("cpu={}", cpu.strip_prefix("cpu").unwrap_or(cpu));
        return Some(Meaning { labels, scale: 100.0, is_of_cpu: true, ..plain("stat", mode) });
    }
    if matches!(own, "buddyinfo_blocks" | "buddyinfo_count") {
        let (node, zone, order) = (sample.label("node")?, sample.label("zone")?, sample.label("size")?);
        let labels = format!("node={node},zone={zone},order={order}");
        return Some(Meaning { labels, ..plain("buddyinfo", "free_blocks") });
    }
    let name = match own {
        "context_switches_total" | "context_switches" => "ctxt",
        "intr_total" | "intr" => "intr",
        "forks_total" | "forks" => "processes",
        "procs_running" => "procs_running",
        "procs_blocked" => "procs_blocked",
        _ => return None,
    };
    Some(plain("stat", name))
}

/// meminfo's names: parentheses became `_`, and since 0.16 `_bytes` says the unit that all but counts have.
fn of_meminfo(name: &str) -> Meaning {
    let counts = matches!(name, "HugePages_Total" | "HugePages_Free" | "HugePages_Rsvd" | "HugePages_Surp");
    let name = name.strip_suffix("_bytes").unwrap_or(name);
    let name = match name.rsplit_once('_') {
        Some((before @ ("Active" | "Inactive"), of @ ("anon" | "file"))) => format!("{before}({of})"),
        _ => name.to_owned(),
    };
    let (unit, moves) = describe("meminfo", &name, !counts);
    let scale = if unit == RawUnit::KiB { 1.0 / 1024.0 } else { 1.0 };
    Meaning { source: "meminfo", name, labels: String::new(), unit, moves, scale, is_of_cpu: false }
}

/// A whole number of the kernel's unit.
fn whole(value: f64) -> Option<u64> {
    // Beyond 2^53 the exporter itself had lost digits; what is no number was none in the kernel.
    const MOST: f64 = 9e18;
    value.is_finite().then(|| value.round()).filter(|value| (0.0..MOST).contains(value)).map(|value| value as u64)
}

#[derive(Debug)]
pub(super) struct NodeExporter {
    snapshots: Snapshots,
    /// The host whose numbers are taken, where samples say of which they are.
    instance: Option<String>,
    others: BTreeSet<String>,
    families_left: BTreeSet<String>,
}

impl NodeExporter {
    pub(super) fn new(assumed: &Assumed) -> NodeExporter {
        NodeExporter {
            snapshots: Snapshots::new(Kind::NodeExporter, assumed.interval),
            instance: None,
            others: BTreeSet::new(),
            families_left: BTreeSet::new(),
        }
    }

    /// Whether a sample is of the host that came first: the numbers of two are not to be mixed.
    fn is_of_host(&mut self, sample: &Sample<'_>) -> bool {
        let Some(instance) = sample.label("instance") else { return true };
        let first = self.instance.get_or_insert_with(|| instance.to_owned());
        let is_it = first == instance;
        if !is_it && self.others.len() < 200 {
            self.others.insert(super::words::quoted(instance));
        }
        is_it
    }

    fn take(&mut self, sample: &Sample<'_>, number: usize, line: &str) -> Result<(), Problem> {
        if matches!(sample.name, "node_time_seconds" | "node_time") {
            if let Some(milliseconds) = whole(sample.value * 1000.0).filter(|ms| *ms < 4_000_000_000_000)
                && sample.at.is_none()
            {
                self.snapshots.own_time(milliseconds as i64 * (SECOND / 1000));
            }
            return Ok(());
        }
        if let Some(release) = sample.label("release").filter(|_| sample.name == "node_uname_info") {
            self.snapshots.listing.about("kernel", release);
            return Ok(());
        }
        let Some(meaning) = meaning(sample) else {
            let family: Vec<&str> = sample.name.split('_').take(2).collect();
            if sample.name.starts_with("node_") && self.families_left.len() < 200 {
                self.families_left.insert(super::words::quoted(&family.join("_")));
            }
            return Ok(());
        };
        let Some(value) = whole(sample.value * meaning.scale) else {
            // What an exporter cannot read it may write as NaN.
            if !sample.value.is_nan() {
                self.snapshots.listing.reject(number, line);
            }
            return Ok(());
        };
        let Meaning { source, name, labels, unit, moves, .. } = &meaning;
        let taken = KernelNumber { source, name, labels, unit: *unit, moves: *moves, value };
        self.snapshots.put(&taken, sample.at, number)?;
        if meaning.is_of_cpu {
            self.snapshots.add(&KernelNumber { labels: "", ..taken }, sample.at)?;
        }
        Ok(())
    }
}

/// Whether a line is a sample of node_exporter that is understood.
pub(super) fn recognises(line: &str) -> bool {
    line.trim_start().starts_with("node_") && sample(line.trim()).is_some_and(|sample| meaning(&sample).is_some())
}

impl Parser for NodeExporter {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        let is_comment = ["# HELP ", "# TYPE ", "# UNIT ", "# EOF"].iter().any(|beginning| text.starts_with(beginning));
        if text.is_empty() || is_comment {
            return Ok(());
        }
        if let Some(sample) = sample(text) {
            if self.is_of_host(&sample) {
                return self.take(&sample, number, line);
            }
        } else if let Some((stamp, _)) = Stamp::of_line(text) {
            self.snapshots.stamp(stamp);
        } else if text.contains("metrics") || text.contains("sleep ") {
            // The command that fetched it.
            self.snapshots.pause(text);
        } else {
            self.snapshots.listing.reject(number, line);
        }
        Ok(())
    }

    /// Any digit at the end may be the first of several.
    fn is_whole(&self, line: &str, _: &str) -> bool {
        line.trim() == "# EOF"
    }

    fn finish(self: Box<Self>) -> Result<Listing, Problem> {
        let NodeExporter { snapshots, instance, others, families_left } = *self;
        let nothing = snapshots.listing.nothing("sample of node_exporter's memory, vmstat, pressure or cpu", REMEDY);
        let left = super::words::left_out(Kind::NodeExporter, &families_left, &BTreeSet::new());
        let mut listing = snapshots.finish()?.ok_or(nothing)?;
        if let Some(detail) = left {
            listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        if let Some(first) = instance.filter(|_| !others.is_empty()) {
            let others: Vec<String> = others.into_iter().take(5).collect();
            let detail = format!("only the host {first} was taken; {} were left out", others.join(", "));
            listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{recording, timed, values};
    use super::super::{Imported, parse};
    use super::*;
    use crate::recording::{Recorded, WallClock};

    const TWO: &str = include_str!("../../../../recordings/imports/node-exporter-two.txt");

    fn read(text: &str) -> Imported {
        recording(&[(Kind::NodeExporter, text)])
    }

    #[test]
    fn two_scrapes_say_themselves_when_they_were() {
        let imported = read(TWO);
        assert_eq!((imported.ticks(), imported.about("kernel")), (2, Some("6.18.44-fc-v669")));
        assert_eq!(imported.wall_clock(), WallClock::Date);
        let faults = timed(&imported, "vmstat", "pgfault", "");
        assert!(faults.len() == 2 && faults[1].1 > faults[0].1 && faults[1].0 - faults[0].0 > 5_000_000_000);
        let free = values(&imported, "meminfo", "MemFree");
        assert!(free.len() == 2 && free[0] % 4096.0 == 0.0 && free[0] > 1e9, "{free:?}");
        let system = values(&imported, "stat", "system");
        let one = timed(&imported, "stat", "system", "cpu=0");
        assert!(system[0] > one[0].1 && system[1] >= system[0], "the sum of all CPUs");
        assert_eq!(values(&imported, "psi_memory", "full_total").len(), 2);
        assert!(
            imported.series().iter().any(|one| one.source == "buddyinfo" && one.labels == "node=0,zone=Normal,order=9")
        );
    }

    #[test]
    fn old_names_without_units_and_numbers_of_every_form() {
        let text = "node_memory_MemFree 1.2e+09\nnode_memory_Active_anon 4096\nnode_memory_HugePages_Total 3\n\
                    node_cpu{cpu=\"cpu0\",mode=\"system\"} 12.5\nnode_cpu{cpu=\"cpu1\",mode=\"system\"} 2.5\n\
                    node_memory_Dirty_bytes NaN\nnode_memory_Slab_bytes +Inf\nnode_procs_blocked 2\nnode_load1 3.5\n\
                    node_uname_info{machine=\"x\",release=\"3.10.0-1127.el7.x86_64\",version=\"a \\\"b\\\" } c\"} 1\n# EOF\n";
        let imported = read(&format!("{text}{}", text.replace("12.5", "13.5")));
        assert_eq!(values(&imported, "meminfo", "MemFree"), [1_200_000_000.0; 2]);
        assert_eq!(values(&imported, "meminfo", "Active(anon)"), [4096.0; 2]);
        assert_eq!(values(&imported, "meminfo", "HugePages_Total"), [3.0; 2]);
        assert_eq!(values(&imported, "stat", "procs_blocked"), [2.0; 2]);
        assert!(values(&imported, "meminfo", "Dirty").is_empty() && values(&imported, "meminfo", "Slab").is_empty());
        assert_eq!(imported.about("kernel"), Some("3.10.0-1127.el7.x86_64"));
        assert_eq!(values(&imported, "stat", "system"), [1.0], "what was between, of a time that is not known");
        assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "no_time"));
        let dated = format!("2015-03-02 14:03:21\n{text}2015-03-02 14:04:21\n{}", text.replace("12.5", "13.5"));
        assert_eq!(values(&read(&dated), "stat", "system"), [15.0, 16.0]);
    }

    #[test]
    fn samples_with_instants_need_no_order() {
        let text = "node_vmstat_pgfault 10 1425305001000\nnode_vmstat_pgfault 70 1425305061000\n\
                    node_vmstat_pswpin{instance=\"a:9100\"} 1 1425305001\nnode_vmstat_pswpin{instance=\"a:9100\"} 4 1425305061\n\
                    node_vmstat_pswpin{instance=\"b:9100\"} 900 1425305061\n";
        let imported = read(text);
        let faults = timed(&imported, "vmstat", "pgfault", "");
        assert_eq!((faults[0].1, faults[1].1, faults[1].0 - faults[0].0), (10.0, 70.0, 60_000_000_000));
        assert_eq!(values(&imported, "vmstat", "pswpin"), [1.0, 4.0]);
        assert!(imported.gaps().iter().any(|gap| gap.detail.contains("only the host a:9100")), "{:?}", imported.gaps());
    }

    #[test]
    fn metrics_of_others_are_nothing_of_ours() {
        let text = "go_goroutines 8\nnode_disk_io_now{device=\"sda\"} 0\nnode_memory_numa_MemFree{node=\"0\"} 7\n";
        let problem = parse(Kind::NodeExporter, text, &Assumed::default()).unwrap_err().to_string();
        assert!(problem.contains("it holds no sample of node_exporter"), "{problem}");
        for bent in
            ["node_x{a=\"b 1", "node_x{a=\"\\", "node_x 1 2 3", "node_x one", "1node 1", "node_x{} 1e5x", "{} 1"]
        {
            assert_eq!(sample(bent), None, "{bent}");
        }
        assert_eq!(sample("node_x 1 # {trace=\"a\"} 0.5").map(|sample| sample.value), Some(1.0));
    }
}
