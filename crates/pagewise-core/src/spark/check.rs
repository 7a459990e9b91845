//! What is configured wrong about Spark's memory and huge pages, of a JVM that runs or of a finished job.

use super::event_log::{EventLog, Plugin};
use super::java_options::{JavaOptions, NATIVE_ACCESS};
use super::judged::{
    self, Draft, Rule, Verdict, advice, held, host_setting, lacks, line, nothing, observed, seen, spark_setting,
};
use super::version::{self, Version};
use super::{PLUGIN, conf, size_text, spark_size};
use crate::finding::document::{Compare, Confidence, Diagnosis, Quantity, Severity, Tier};
use crate::finding::words;
use crate::unit::Bytes;
use std::collections::BTreeMap;

/// What there is to judge. What is `None` is not known, and what needs it is not decided.
#[derive(Clone, Debug, Default)]
pub struct CheckedJvm {
    /// What was observed, for people.
    pub subject: String,
    /// Of Spark.
    pub spark: Option<Version>,
    /// Of Java.
    pub java: Option<Version>,
    /// Spark's configuration.
    pub conf: Option<BTreeMap<String, String>>,
    /// Options of the JVM that computes, complete.
    pub options: JavaOptions,
    /// Whether that is an executor in a JVM of its own; else it is the driver.
    pub is_executor: bool,
    /// Its largest heap, bytes.
    pub max_heap: Option<u64>,
    /// Of a process that runs.
    pub live: Option<Live>,
    /// Of a job that left a log.
    pub log: Option<EventLog>,
}

impl CheckedJvm {
    /// What a finished job's log says of the JVMs that computed.
    #[must_use]
    pub fn of_log(subject: String, log: EventLog) -> CheckedJvm {
        let role = if log.is_local() { "driver" } else { "executor" };
        let line = |name: &str| JavaOptions::parse(log.property(&format!("spark.{role}.{name}")).unwrap_or(""));
        CheckedJvm {
            subject,
            spark: log.spark,
            java: log.java,
            conf: (!log.properties.is_empty()).then(|| log.properties.clone()),
            options: line("defaultJavaOptions").then(line("extraJavaOptions")),
            is_executor: !log.is_local(),
            max_heap: log.heap(),
            live: None,
            log: Some(log),
        }
    }
}

/// What a JVM that runs shows, and its host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// What its threads say of its collector.
    pub collector: Option<Collector>,
    /// CPUs it may use, by its affinity and its control group's quota.
    pub cpus: Option<f64>,
    /// Memory of the host, bytes.
    pub memory: Option<u64>,
    /// `transparent_hugepage/enabled`.
    pub thp: Option<String>,
    /// `transparent_hugepage/shmem_enabled`.
    pub shmem: Option<String>,
    /// The least limit of its control groups, bytes; `None` where nothing limits it.
    pub limit: Option<u64>,
    /// Anonymous memory in mappings of 64 MiB and more: in memory, and of that on huge pages, bytes. `None`: it may not be read.
    pub mapped: Option<(u64, u64)>,
    /// Whether the plugin's thread is there.
    pub has_plugin: bool,
}

/// A collector of HotSpot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// `-XX:+UseSerialGC`.
    Serial,
    /// `-XX:+UseParallelGC`.
    Parallel,
    /// `-XX:+UseG1GC`.
    G1,
    /// `-XX:+UseZGC`.
    Z,
    /// `-XX:+UseShenandoahGC`.
    Shenandoah,
}

impl Collector {
    const FLAGS: [(Collector, &'static str); 5] = [
        (Collector::Serial, "UseSerialGC"),
        (Collector::Parallel, "UseParallelGC"),
        (Collector::G1, "UseG1GC"),
        (Collector::Z, "UseZGC"),
        (Collector::Shenandoah, "UseShenandoahGC"),
    ];

    /// The one that is asked for.
    fn asked(options: &JavaOptions) -> Option<Collector> {
        Collector::FLAGS.into_iter().find(|(_, flag)| options.is_on(flag)).map(|(collector, _)| collector)
    }

    /// By the names of a JVM's threads, as the kernel has them, cut after 15 bytes. Serial has none of its own.
    #[must_use]
    pub fn of_threads(names: &[String]) -> Option<Collector> {
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        let is_java = has("VM Thread");
        Some(match () {
            () if has("G1 ") => Collector::G1,
            () if has("ZDriver") || has("ZDirector") || has("XDriver") => Collector::Z,
            () if has("Shenandoah") => Collector::Shenandoah,
            () if has("GC Thread") || has("ParGC") => Collector::Parallel,
            () if is_java => Collector::Serial,
            () => return None,
        })
    }
}

/// HotSpot takes a machine with fewer CPUs, or less memory, for a client and chooses Serial (`os::is_server_class_machine`: two
/// processors, and 2 GB less 256 MB).
const SERVER_CPUS: f64 = 2.0;
const SERVER_MEMORY: u64 = 1792 << 20;

/// A header of an array, which makes one of 2^k bytes miss a region of G1 (SPARK-37593).
const HEADER: u64 = 16;

const RULES: &[Rule<CheckedJvm>] = &[
    Rule {
        id: "heap-grows",
        title: "The heap begins smaller than it may become",
        meaning: "G1 maps memory anew when the heap grows, and what was advised before is lost with it: what is cached later lies on small \
                  pages. Spark sets the largest size alone.",
        source: "docs/design/0029-spark-plugin.md; HotSpot os::commit_memory (17, 21, 25)",
        judge: heap_grows,
    },
    Rule {
        id: "jdk-25-flag",
        title: "This JDK's flag for huge pages does nothing",
        meaning: "In the first release of JDK 25 a G1 heap gets no advice from -XX:+UseTransparentHugePages.",
        source: "JDK-8366434, a regression of JDK-8345655",
        judge: jdk_25_flag,
    },
    Rule {
        id: "spark-and-java",
        title: "This Spark is not for this Java",
        meaning: "What is not released together is not tested together: before 25.0.3 objects that are pinned can be moved (JDK-8377811).",
        source: "Spark's release documents; SPARK-56815, SPARK-56843",
        judge: spark_and_java,
    },
    Rule {
        id: "serial-by-accident",
        title: "The JVM collects with one thread",
        meaning: "With fewer than 2 CPUs, or less than 1792 MB of memory, a JVM takes itself for a client and collects with the Serial \
                  collector. An executor with one core in a container gets it without anybody asking.",
        source: "HotSpot os::is_server_class_machine (17, 21, 25)",
        judge: serial_by_accident,
    },
    Rule {
        id: "flag-against-host",
        title: "The JVM's flag and the host's mode contradict each other",
        meaning: "-XX:UseTransparentHugePages only advises; whether advice counts, or is needed, is the host's to say.",
        source: "Documentation/admin-guide/mm/transhuge.rst; JDK-8319969",
        judge: flag_against_host,
    },
    Rule {
        id: "flag-without-effect",
        title: "Huge pages were asked for and are not there",
        meaning: "Memory that is mapped with advice and lies on small pages all the same was refused them, or was touched before.",
        source: "Documentation/filesystems/proc.rst (smaps, AnonHugePages)",
        judge: flag_without_effect,
    },
    Rule {
        id: "zgc-shmem",
        title: "ZGC's heap is shared memory, and that gets no huge pages",
        meaning: "ZGC maps its heap from a file in memory. The kernel asks another file whether that may be huge.",
        source: "Documentation/admin-guide/mm/transhuge.rst (shmem_enabled)",
        judge: zgc_shmem,
    },
    Rule {
        id: "container-too-small",
        title: "The container is smaller than what may be used in it",
        meaning: "Heap, memory outside the heap, and what the JVM itself needs add up; huge pages are charged whole. The kernel kills what \
                  goes beyond the limit.",
        source: "spark.executor.memoryOverhead in Spark's configuration; apache/spark issue 57530",
        judge: container_too_small,
    },
    Rule {
        id: "pretouch-with-plugin",
        title: "The heap is touched before it is advised",
        meaning: "-XX:+AlwaysPreTouch puts all of it on small pages before the plugin can say what is to be huge.",
        source: "docs/guide/spark-plugin.md",
        judge: pretouch_with_plugin,
    },
    Rule {
        id: "whole-heap-and-a-part",
        title: "The whole heap is huge, and the plugin is to place a part",
        meaning: "-XX:+UseTransparentHugePages advises the heap as a whole: the policy of the plugin then changes nothing in it.",
        source: "docs/guide/spark-plugin.md",
        judge: whole_heap_and_a_part,
    },
    Rule {
        id: "chunk-misses-region",
        title: "Serialized blocks take twice their memory",
        meaning: "Spark keeps a serialized block in arrays of 1 MiB. With its header of 16 bytes such an array misses a region of G1 and \
                  takes one more, or a region twice its size.",
        source: "MemoryStore (Spark 3.5 to 4.3), spark.storage.unrollMemoryThreshold; SPARK-37593 does this for Tungsten's pages alone",
        judge: chunk_misses_region,
    },
    Rule {
        id: "broadcast-misses-region",
        title: "Pieces of broadcasts take more than their memory",
        meaning: "A broadcast lies in arrays of 4 MiB. With its header of 16 bytes such an array misses a region of G1 and takes one more, \
                  or a region twice its size.",
        source: "TorrentBroadcast (Spark 3.5 to 4.3), spark.broadcast.blockSize; SPARK-37593",
        judge: broadcast_misses_region,
    },
    Rule {
        id: "page-misses-region",
        title: "Tungsten's pages take more than their memory",
        meaning: "Spark leaves 16 bytes for the header out of a page whose size it chooses; one that is given in \
                  spark.buffer.pageSize is taken as it is.",
        source: "MemoryManager.pageSizeBytes (Spark 3.5 to 4.3); SPARK-37593",
        judge: page_misses_region,
    },
    Rule {
        id: "cached-never-read",
        title: "Data are cached and never read again",
        meaning: "What is cached and not read again takes memory, and under the policy storage huge pages, from what is.",
        source: "Miyazato and Yamada, section 5.3",
        judge: cached_never_read,
    },
    Rule {
        id: "plugin-setting",
        title: "A setting of the plugin is not known to it",
        meaning: "The plugin says so once in the executor's log and leaves Spark as it is.",
        source: "docs/guide/spark-plugin.md",
        judge: plugin_setting,
    },
    Rule {
        id: "plugin-observes",
        title: "The plugin is there and only observes",
        meaning: "Unless spark.pagewise.mode=enforce and a policy are given, nothing is placed.",
        source: "docs/guide/spark-plugin.md",
        judge: plugin_observes,
    },
    Rule {
        id: "plugin-surprised",
        title: "The plugin met what it did not expect",
        meaning: "Something could not be placed. The executor's log says what, once each.",
        source: "docs/guide/spark-plugin.md",
        judge: plugin_surprised,
    },
    Rule {
        id: "native-access",
        title: "Java warns of native code",
        meaning: "From 24 on Java warns of native code that nobody permitted, and a later one refuses it.",
        source: "JEP 472; JavaModuleOptions of Spark 4.1",
        judge: native_access,
    },
    Rule {
        id: "young-unbounded",
        title: "Young memory may come down to what is cached",
        meaning: "G1 lets young memory take 60 % of the heap, by turns what was cached before and is huge; MaxNewSize keeps them apart.",
        source: "docs/design/0029-spark-plugin.md",
        judge: young_unbounded,
    },
];

/// Asks every rule.
#[must_use]
pub fn diagnose(seen: &CheckedJvm) -> Diagnosis {
    let tier = if seen.live.is_some() { Tier::Configuration } else { Tier::Log };
    let seconds = seen.log.as_ref().and_then(EventLog::seconds).unwrap_or(0.0);
    let version = |name: &str, version: Option<Version>| {
        version.map_or_else(|| format!("{name} of an unknown version"), |version| format!("{name} {version}"))
    };
    let kind = if seen.is_executor { "executors in JVMs of their own" } else { "the driver computes, too" };
    let mut parts = vec![version("Spark", seen.spark), version("Java", seen.java), kind.to_owned()];
    parts.extend(seen.max_heap.map(|heap| format!("heap {}", Bytes(heap))));
    let notes = seen.log.as_ref().map(log_notes).unwrap_or_default();
    let mut diagnosis =
        judged::diagnosis(RULES, seen, observed(&seen.subject, seconds, tier, parts.join(", ")), notes, tier);
    diagnosis.notes.extend(together(&diagnosis, &seen.options_name()));
    diagnosis
}

/// Each finding's line has the user's options with its own change: of several only one line with all of it does.
fn together(diagnosis: &Diagnosis, name: &str) -> Option<String> {
    let settings =
        diagnosis.findings.iter().filter_map(|finding| finding.change.as_ref()).flat_map(|change| &change.settings);
    let options: Vec<JavaOptions> =
        settings.filter(|setting| setting.tunable == name).map(|setting| JavaOptions::parse(&setting.to)).collect();
    let all = options.iter().skip(1).fold(options.first()?.clone(), |all, one| all.joined(one));
    (options.len() > 1).then(|| {
        format!(
            "{} findings change {name}. What all of them add, in one line: {}",
            options.len(),
            line(name, &all.text())
        )
    })
}

/// What came of the plugin's policy, by its own reports.
fn placed(plugin: &Plugin) -> String {
    let enforces = plugin.mode.eq_ignore_ascii_case("enforce");
    let what = if enforces { "was in force" } else { "was observed and not enforced" };
    let parts: Vec<String> = plugin
        .placed()
        .map(|(part, resident, huge)| format!("{} of {} of {part}", Bytes(huge), Bytes(resident)))
        .collect();
    let on_huge_pages = match parts.is_empty() {
        true => "no memory was seen, so nothing of it on huge pages".to_owned(),
        false => format!("on huge pages, when each part was largest: {}", parts.join(", ")),
    };
    format!("the policy {} {what} ({}): {on_huge_pages}", plugin.policy, counted(plugin.reports, "report"))
}

/// What the plugin reported, and what makes a log less than whole.
pub(super) fn log_notes(log: &EventLog) -> Vec<String> {
    let mut notes: Vec<String> = log.plugin.iter().map(placed).collect();
    if log.ended.is_none() {
        notes.push(
            "the log has no end: the job was killed, or still runs. What is said holds for the part that is there"
                .to_owned(),
        );
    }
    if log.is_cut {
        notes.push("its last line ends in the middle and was left out".to_owned());
    }
    if log.unreadable > 0 {
        notes.push(format!("{} of its lines are no events and were left out", log.unreadable));
    }
    if log.is_more_than_kept {
        notes.push(
            "it has more jobs, data or blocks than are kept in memory here: the first ones are judged".to_owned(),
        );
    }
    notes
}

impl CheckedJvm {
    fn conf(&self, name: &str) -> Option<&str> {
        self.conf.as_ref()?.get(name).map(String::as_str)
    }

    fn role(&self) -> &'static str {
        if self.is_executor { "executor" } else { "driver" }
    }

    fn options_name(&self) -> String {
        format!("spark.{}.extraJavaOptions", self.role())
    }

    /// The user's options with one more, as a setting of Spark's.
    fn with_option(&self, word: &str, instead_of: &[&str], words: &str) -> crate::finding::proposal::Proposal {
        let name = self.options_name();
        let from = self.conf(&name).map(|text| JavaOptions::parse(text).own());
        let own = from
            .clone()
            .unwrap_or_else(|| if self.live.is_some() { JavaOptions::default() } else { self.options.own() });
        let change =
            spark_setting(&name, from.map(|from| from.text()).as_deref(), &own.with(word, instead_of).text(), words);
        if self.conf.is_none() { advice(&format!("{words}: add {word} to {name}")) } else { change }
    }

    fn without_option(&self, prefixes: &[&str], words: &str) -> crate::finding::proposal::Proposal {
        self.with_option("", prefixes, words)
    }

    /// Whether the plugin is loaded; `None` where that cannot be told.
    fn has_plugin(&self) -> Option<bool> {
        let by_conf = self
            .conf
            .as_ref()
            .map(|_| self.conf("spark.plugins").unwrap_or("").split(',').any(|name| name.trim() == PLUGIN));
        let by_thread = self.live.as_ref().map(|live| live.has_plugin);
        let by_log = self.log.as_ref().and_then(|log| log.plugin.as_ref()).map(|_| true);
        let all = [by_conf, by_thread, by_log];
        if all.contains(&Some(true)) { Some(true) } else { all.into_iter().flatten().next() }
    }

    fn policy(&self) -> Option<String> {
        let reported = self.log.as_ref().and_then(|log| log.plugin.as_ref()).map(|plugin| plugin.policy.clone());
        reported.or_else(|| self.conf("spark.pagewise.policy").map(|word| word.trim().to_ascii_lowercase()))
    }

    /// `Some(true)`: the plugin is to place a part of the heap, and not both.
    fn places_a_part(&self) -> Option<bool> {
        Some(self.has_plugin()? && matches!(self.policy().as_deref(), Some("storage" | "execution")))
    }

    fn collector(&self) -> Option<Collector> {
        self.live.as_ref().and_then(|live| live.collector).or_else(|| Collector::asked(&self.options))
    }

    /// Bytes of a region of G1, where it is G1: 1/2048 of the heap, rounded up to a power of two from 1 to 32 MiB
    /// (`HeapRegionBounds`). Without a flag G1 is taken for granted where nothing speaks against it.
    fn region(&self) -> Option<u64> {
        if self.collector().is_some_and(|collector| collector != Collector::G1) {
            return None;
        }
        if let Some(size) =
            self.options.value("G1HeapRegionSize").and_then(|text| spark_size(text, 1)).filter(|size| *size > 0)
        {
            return Some(size.checked_next_power_of_two()?.clamp(1 << 20, 512 << 20));
        }
        let average = self.max_heap?.saturating_add(self.options.initial_heap().unwrap_or(self.max_heap?)) / 2;
        Some((average / 2048).max(1).checked_next_power_of_two()?.clamp(1 << 20, 32 << 20))
    }
}

const NO_CONF: &str = "the command line of an executor does not have Spark's configuration; --event-log has it";
const NO_HOST: &str = "an event log does not have it; look at a JVM that runs, with --pid";

fn heap_grows(of: &CheckedJvm) -> Verdict {
    let Some(most) = of.max_heap else {
        return lacks("the largest heap", "neither -Xmx nor Spark's memory setting was seen");
    };
    let least = of.options.smallest_heap();
    if least.is_some_and(|least| least >= most) {
        return Verdict::NotFound(vec![seen("-Xms", least.unwrap_or(0) as f64, Quantity::Bytes, "JVM options")]);
    }
    let wants = of.has_plugin() == Some(true) || of.options.is_on("UseTransparentHugePages");
    let severity = if wants { Severity::Medium } else { Severity::Low };
    let begins = least.map_or_else(|| "-Xms is not given".to_owned(), |least| format!("-Xms is {}", Bytes(least)));
    let word = format!("-Xms{}", size_text(most));
    let fixed = of.with_option(&word, &["-Xms", "-XX:InitialHeapSize="], "the heap has its whole size from the start");
    Draft::new(severity, format!("{begins}, and the heap may grow to {}.", Bytes(most))).change(fixed).found()
}

fn jdk_25_flag(of: &CheckedJvm) -> Verdict {
    match of.java {
        None => lacks("the version of Java", "neither the log nor the JVM's release file has it"),
        Some(java) if version::has_broken_huge_pages(java) && of.options.is_on("UseTransparentHugePages") => {
            Draft::new(Severity::High, format!("Java is {java}, and -XX:+UseTransparentHugePages is given."))
                .change(advice("take JDK 25.0.3 or later, or JDK 21 or 17"))
                .found()
        }
        Some(_) => nothing(),
    }
}

fn spark_and_java(of: &CheckedJvm) -> Verdict {
    let (Some(spark), Some(java)) = (of.spark, of.java) else {
        return lacks("the versions of Spark and Java", "not both of them were seen");
    };
    let Some(why) = version::mismatch(spark, java) else { return nothing() };
    let better = match (spark.major, spark.minor) {
        (3, _) => "run it on JDK 17",
        (4, 0 | 1) => "run it on JDK 21 or 17, or take Spark 4.2 or later for JDK 25",
        _ => "run it on JDK 25.0.3 or later, 21 or 17",
    };
    Draft::new(Severity::Medium, format!("{why}.")).change(advice(better)).found()
}

fn serial_by_accident(of: &CheckedJvm) -> Verdict {
    if let Some(asked) = Collector::asked(&of.options) {
        // Who asks for it wants it.
        return if asked == Collector::Serial { nothing() } else { Verdict::NotFound(Vec::new()) };
    }
    let fixed = || of.with_option("-XX:+UseG1GC", &[], "the collector is G1 whatever the JVM takes its machine for");
    if let Some(live) = &of.live {
        let cpus = live.cpus.map(|cpus| seen("CPUs it may use", cpus, Quantity::Number, "affinity and cpu.max"));
        return match live.collector {
            None => lacks("the collector", "the JVM's threads cannot be read"),
            Some(Collector::Serial) => {
                let of_cpus = live.cpus.map_or_else(String::new, |cpus| format!(", on {} CPUs", words::number(cpus)));
                Draft::new(Severity::High, format!("It collects with Serial{of_cpus}, and no option asks for that."))
                    .shown(cpus.map(|cpus| held(cpus, Compare::Below, SERVER_CPUS)))
                    .change(fixed())
                    .found()
            }
            Some(_) => Verdict::NotFound(cpus.into_iter().collect()),
        };
    }
    let is_kubernetes = of.conf("spark.master").is_some_and(|master| master.starts_with("k8s://"));
    let limit = of.conf("spark.kubernetes.executor.limit.cores").and_then(cores);
    if is_kubernetes && limit.is_some_and(|cores| cores <= 1.0) {
        let cores = limit.unwrap_or(1.0);
        let said = format!("Executors are limited to {} CPUs, and no option names a collector.", words::number(cores));
        return Draft::new(Severity::High, said).change(fixed()).found();
    }
    let container = container_of_conf(of).filter(|_| is_kubernetes);
    if let Some(bytes) = container.filter(|bytes| *bytes < SERVER_MEMORY) {
        let said = format!("Executors have containers of {}, and no option names a collector.", Bytes(bytes));
        return Draft::new(Severity::High, said).change(fixed()).found();
    }
    lacks("the CPUs and the memory that the JVM saw", NO_HOST)
}

/// `500m` is half a CPU.
fn cores(text: &str) -> Option<f64> {
    match text.strip_suffix('m') {
        Some(milli) => milli.parse::<f64>().ok().map(|milli| milli / 1e3),
        None => text.parse().ok(),
    }
}

fn flag_against_host(of: &CheckedJvm) -> Verdict {
    let Some(live) = &of.live else { return lacks("the host's thp.enabled", NO_HOST) };
    let Some(thp) = live.thp.as_deref() else { return lacks("the host's thp.enabled", "it cannot be read") };
    let flag = of.options.flag("UseTransparentHugePages");
    let to_madvise = |words: &str| host_setting("thp.enabled", thp, "madvise", words);
    match (flag, thp) {
        (Some(true), "never") => {
            Draft::new(Severity::Medium, "-XX:+UseTransparentHugePages is given, and thp.enabled is never.".to_owned())
                .change(to_madvise("advice counts, and nobody else gets huge pages"))
                .found()
        }
        (Some(true), "always") if of.java.is_some_and(|java| java.major >= 25) => {
            let said = "-XX:+UseTransparentHugePages is given, and thp.enabled is always: from 25 on the JVM then advises nothing, and with \
                        thp.defrag=madvise no fault waits for a huge page.";
            Draft::new(Severity::Low, said.to_owned()).change(to_madvise("the JVM advises its heap again")).found()
        }
        (None | Some(false), "always") if of.has_plugin() == Some(true) => {
            let said = "thp.enabled is always: what the plugin's policy leaves out is kept small by it, and without the plugin all memory is huge, so \
                        that a comparison shows little.";
            Draft::new(Severity::Low, said.to_owned()).change(to_madvise("only what is advised is huge")).found()
        }
        (Some(false), "always") => {
            let said = "-XX:-UseTransparentHugePages is given, and thp.enabled is always: the heap lies on huge pages all the same.";
            Draft::new(Severity::Low, said.to_owned()).change(to_madvise("only what is advised is huge")).found()
        }
        _ => nothing(),
    }
}

/// Memory that is large enough to tell, and the part of it that is next to nothing.
const ENOUGH: u64 = 256 << 20;
const NEXT_TO_NOTHING: f64 = 0.05;

fn flag_without_effect(of: &CheckedJvm) -> Verdict {
    let Some(live) = &of.live else { return lacks("the JVM's memory map", NO_HOST) };
    let Some((resident, huge)) = live.mapped else {
        return lacks("the JVM's memory map", "it may not be read: run it as root");
    };
    let wants = of.options.is_on("UseTransparentHugePages") || of.policy().as_deref() == Some("both");
    let is_z = of.collector() == Some(Collector::Z);
    if !wants || is_z || resident < ENOUGH {
        return nothing();
    }
    let share =
        seen("on huge pages", huge as f64 / resident as f64, Quantity::Fraction, "smaps, mappings of 64 MiB and more");
    let share = held(share, Compare::Below, NEXT_TO_NOTHING);
    if share.holds != Some(true) {
        return Verdict::NotFound(vec![share]);
    }
    let said = format!("Of {} in large mappings {} lie on huge pages.", Bytes(resident), Bytes(huge));
    Draft::new(Severity::Medium, said)
        .sure(Confidence::Medium)
        .shown([share])
        .change(advice(
            "look why: pagewise diagnose; pagewise hugepages --pid with its number puts what is there on huge pages",
        ))
        .found()
}

fn zgc_shmem(of: &CheckedJvm) -> Verdict {
    if of.collector() != Some(Collector::Z) {
        return nothing();
    }
    let wants = of.options.is_on("UseTransparentHugePages") || of.has_plugin() == Some(true);
    let Some(live) = &of.live else { return lacks("the host's thp.shmem_enabled", NO_HOST) };
    match live.shmem.as_deref() {
        _ if !wants => nothing(),
        None => lacks("the host's thp.shmem_enabled", "it cannot be read"),
        Some("advise" | "always" | "within_size" | "force") => nothing(),
        Some(mode) => Draft::new(Severity::Medium, format!("The collector is ZGC, and thp.shmem_enabled is {mode}."))
            .change(host_setting("thp.shmem_enabled", mode, "advise", "shared memory that is advised may be huge"))
            .found(),
    }
}

/// What the JVM and Spark themselves need beside the heap and what is asked for: a tenth, 384 MiB at least
/// (`spark.executor.memoryOverheadFactor`, `minMemoryOverhead`).
fn overhead(of: &CheckedJvm, heap: u64) -> u64 {
    let given = of.conf("spark.executor.memoryOverhead").and_then(|text| spark_size(text, 1 << 20));
    given.unwrap_or_else(|| overhead_by_default(of, heap))
}

fn overhead_by_default(of: &CheckedJvm, heap: u64) -> u64 {
    let factor =
        of.conf("spark.executor.memoryOverheadFactor").and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.1);
    ((heap as f64 * factor) as u64).max(384 << 20)
}

fn off_heap(of: &CheckedJvm) -> u64 {
    let is_on = of.conf("spark.memory.offHeap.enabled") == Some("true");
    of.conf("spark.memory.offHeap.size").filter(|_| is_on).and_then(|text| spark_size(text, 1)).unwrap_or(0)
}

/// What YARN and Kubernetes are asked for, bytes.
fn container_of_conf(of: &CheckedJvm) -> Option<u64> {
    let heap = of.max_heap?;
    let python = of.conf("spark.executor.pyspark.memory").and_then(|text| spark_size(text, 1 << 20)).unwrap_or(0);
    Some(heap.saturating_add(overhead(of, heap)).saturating_add(off_heap(of)).saturating_add(python))
}

fn container_too_small(of: &CheckedJvm) -> Verdict {
    let Some(heap) = of.max_heap else {
        return lacks("the largest heap", "neither -Xmx nor Spark's memory setting was seen");
    };
    let needs = heap.saturating_add(overhead_by_default(of, heap)).saturating_add(off_heap(of));
    if let Some(live) = &of.live {
        let Some(limit) = live.limit else { return nothing() };
        let room = seen("limit of its control group", limit as f64, Quantity::Bytes, "memory.max");
        if limit >= needs {
            return Verdict::NotFound(vec![room]);
        }
        let said =
            format!("The limit is {}; heap, memory outside it and overhead take {}.", Bytes(limit), Bytes(needs));
        let severity = if limit <= heap { Severity::High } else { Severity::Medium };
        return Draft::new(severity, said).shown([room]).change(advice(&larger_container(of, limit, needs))).found();
    }
    let master = of.conf("spark.master").unwrap_or("");
    if !(master.starts_with("yarn") || master.starts_with("k8s://")) {
        return lacks("the limit of the container", NO_HOST);
    }
    let Some(container) = container_of_conf(of) else { return lacks("the size of the container", NO_CONF) };
    let resident = of.log.as_ref().map_or(0, |log| log.peaks.resident);
    let given = overhead(of, heap);
    if given < overhead_by_default(of, heap) {
        let wanted = overhead_by_default(of, heap);
        let said = format!(
            "The overhead is {}, where {} is usual for a heap of {}.",
            Bytes(given),
            Bytes(wanted),
            Bytes(heap)
        );
        let fixed = spark_setting(
            "spark.executor.memoryOverhead",
            of.conf("spark.executor.memoryOverhead"),
            &format!("{}m", wanted.div_ceil(1 << 20)),
            "what the JVM needs beside its heap has room",
        );
        return Draft::new(Severity::Medium, said).change(fixed).found();
    }
    if resident == 0 {
        return lacks("what executors took", "set spark.executor.processTreeMetrics.enabled=true for the next run");
    }
    let share = seen(
        "of the container was resident",
        resident as f64 / container as f64,
        Quantity::Fraction,
        "ProcessTreeJVMRSSMemory",
    );
    let share = held(share, Compare::AtLeast, 0.95);
    if share.holds != Some(true) {
        return Verdict::NotFound(vec![share]);
    }
    let wanted = given.saturating_add(resident.saturating_sub(container)).saturating_add(given / 2);
    let fixed = spark_setting(
        "spark.executor.memoryOverhead",
        of.conf("spark.executor.memoryOverhead"),
        &format!("{}m", wanted.div_ceil(1 << 20)),
        "the kernel has no reason to kill it",
    );
    let said = format!("An executor took {} of its {}.", Bytes(resident), Bytes(container));
    Draft::new(Severity::High, said).shown([share]).change(fixed).found()
}

fn larger_container(of: &CheckedJvm, limit: u64, needs: u64) -> String {
    let less = limit.saturating_sub(needs.saturating_sub(of.max_heap.unwrap_or(0))) >> 20;
    format!(
        "give the container {}, or take a heap of at most {less} MiB: {}",
        Bytes(needs),
        line(&format!("spark.{}.memory", of.role()), &format!("{less}m"))
    )
}

fn pretouch_with_plugin(of: &CheckedJvm) -> Verdict {
    match of.has_plugin() {
        None => lacks("whether the plugin is loaded", NO_CONF),
        Some(true) if of.options.is_on("AlwaysPreTouch") => {
            let fixed = of.without_option(&["-XX:+AlwaysPreTouch"], "the plugin touches what is to be huge itself");
            Draft::new(Severity::High, "The plugin is loaded, and -XX:+AlwaysPreTouch is given.".to_owned())
                .change(fixed)
                .found()
        }
        Some(_) => nothing(),
    }
}

fn whole_heap_and_a_part(of: &CheckedJvm) -> Verdict {
    match of.places_a_part() {
        None => lacks("whether the plugin is loaded", NO_CONF),
        Some(true) if of.options.is_on("UseTransparentHugePages") => {
            let policy = of.policy().unwrap_or_default();
            let fixed = of.without_option(&["-XX:+UseTransparentHugePages"], "the plugin alone advises");
            let said = format!("spark.pagewise.policy is {policy}, and -XX:+UseTransparentHugePages is given.");
            Draft::new(Severity::High, said).change(fixed).found()
        }
        Some(_) => nothing(),
    }
}

/// What an array of so many bytes takes of a heap with such regions: from half a region on it has regions of its own.
fn taken(bytes: u64, region: u64) -> u64 {
    let object = bytes.saturating_add(HEADER);
    if object > region / 2 { object.div_ceil(region).saturating_mul(region) } else { object }
}

/// From which on it is worth a line: half as much again.
const WASTES: f64 = 1.5;

fn misses(array: u64, region: u64) -> Option<f64> {
    let times = taken(array, region) as f64 / array.max(1) as f64;
    // Nothing is gained where 16 bytes less take as much.
    let gains = taken(array.saturating_sub(HEADER), region) < taken(array, region);
    (times >= WASTES && gains).then_some(times)
}

fn said_of(array: u64, region: u64, times: f64) -> String {
    format!("With regions of {} each array of {} takes {times:.1} times its size.", Bytes(region), Bytes(array))
}

fn no_region(of: &CheckedJvm) -> Verdict {
    match of.collector() {
        Some(collector) if collector != Collector::G1 => nothing(),
        _ => lacks("the size of G1's regions", "the largest heap is not known"),
    }
}

fn chunk_misses_region(of: &CheckedJvm) -> Verdict {
    let Some(log) = &of.log else { return lacks("how data are cached", "only an event log has it: --event-log") };
    let serialized: Vec<_> = log.made().filter(|(_, cached)| cached.is_serialized).collect();
    let Some((id, cached)) = serialized.first() else { return nothing() };
    let Some(region) = of.region() else { return no_region(of) };
    let name = "spark.storage.unrollMemoryThreshold";
    let chunk = of.conf(name).and_then(|text| spark_size(text, 1)).unwrap_or(1 << 20);
    let Some(times) = misses(chunk, region) else { return nothing() };
    let fixed = spark_setting(
        name,
        of.conf(name),
        &(chunk - HEADER).to_string(),
        "an array and its header fill a region exactly",
    );
    let others = if serialized.len() > 1 { format!(" and {} more", serialized.len() - 1) } else { String::new() };
    let said = format!("RDD {id} ({}){others} is cached serialized. {}", cached.name, said_of(chunk, region, times));
    Draft::new(Severity::High, said).change(fixed).found()
}

fn broadcast_misses_region(of: &CheckedJvm) -> Verdict {
    let Some(log) = &of.log else { return lacks("the sizes of broadcasts", "only an event log has it: --event-log") };
    if !log.has_blocks {
        return lacks("the sizes of broadcasts", "set spark.eventLog.logBlockUpdates.enabled=true for the next run");
    }
    let Some(region) = of.region() else { return no_region(of) };
    let name = "spark.broadcast.blockSize";
    let piece = of.conf(name).and_then(|text| spark_size(text, 1 << 10)).unwrap_or(4 << 20);
    let count = log.broadcast_pieces.get(&piece).copied().unwrap_or(0);
    let pieces = seen("pieces of the full size", count as f64, Quantity::Number, "SparkListenerBlockUpdated");
    let Some(times) = misses(piece, region).filter(|_| count > 0) else { return Verdict::NotFound(vec![pieces]) };
    let to = format!("{}k", (piece >> 10).saturating_sub(1));
    let fixed = spark_setting(name, of.conf(name), &to, "a piece and its header fit the regions");
    let severity = if count >= 64 { Severity::Medium } else { Severity::Low };
    let said = format!("{} were stored. {}", counted(count, "whole piece"), said_of(piece, region, times));
    Draft::new(severity, said).shown([pieces]).change(fixed).found()
}

fn page_misses_region(of: &CheckedJvm) -> Verdict {
    let name = "spark.buffer.pageSize";
    let Some(_) = &of.conf else { return lacks("spark.buffer.pageSize", NO_CONF) };
    let given = of.conf(name).and_then(|text| spark_size(text, 1));
    let Some(page) = given.filter(|_| of.conf("spark.memory.offHeap.enabled") != Some("true")) else {
        return nothing();
    };
    let Some(region) = of.region() else { return no_region(of) };
    let Some(times) = misses(page, region) else { return nothing() };
    let fixed = spark_setting(
        name,
        of.conf(name),
        &(page - HEADER).to_string(),
        "a page and its header fill its regions exactly",
    );
    Draft::new(Severity::Medium, said_of(page, region, times)).change(fixed).found()
}

fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

fn cached_never_read(of: &CheckedJvm) -> Verdict {
    let Some(log) = &of.log else {
        return lacks("what was read of the cache", "only an event log has it: --event-log");
    };
    let made: Vec<_> = log.made().collect();
    if made.is_empty() {
        return nothing();
    }
    let idle: Vec<_> = made.iter().filter(|(_, cached)| cached.reads == 0).collect();
    let part = seen(
        "of cached data were never read again",
        idle.len() as f64 / made.len() as f64,
        Quantity::Fraction,
        "RDD Info of stages",
    );
    let Some((id, first)) = idle.iter().max_by_key(|(id, cached)| (cached.bytes, std::cmp::Reverse(**id))) else {
        return Verdict::NotFound(vec![part]);
    };
    let sizes: u64 = idle.iter().map(|(_, cached)| cached.bytes).sum();
    let all: u64 = made.iter().map(|(_, cached)| cached.bytes).sum();
    let is_large = log.has_blocks && sizes as f64 >= 0.25 * all as f64 && sizes >= 64 << 20;
    let of_bytes = if log.has_blocks { format!(", {} in all", Bytes(sizes)) } else { String::new() };
    let said = format!(
        "{} of {} cached RDDs were read by no stage after the one that made them{of_bytes}; the first to look at is RDD {id} ({}).",
        idle.len(),
        made.len(),
        first.name
    );
    let draft = Draft::new(if is_large { Severity::Medium } else { Severity::Low }, said)
        .shown([part])
        .change(advice("leave out persist() or cache() for it; in a loop cache every few dozen rounds, if it only shortens recomputing"))
        .watch("Actions on SQL's cached tables may read them without an RDD of their own in the log's stages");
    draft.sure(if log.has_blocks { Confidence::High } else { Confidence::Medium }).found()
}

/// What the plugin's settings are called behind [`PREFIX`], and the words that each can be; none where it is a number.
const SETTINGS: [(&str, &[&str]); 6] = [
    ("policy", &["none", "storage", "execution", "both"]),
    ("mode", &["observe", "enforce"]),
    ("pretenure", SWITCH),
    ("window", &[]),
    ("collapsesPerSecond", &[]),
    ("reserved", SWITCH),
];
const SWITCH: &[&str] = &["off", "on"];
const PREFIX: &str = "spark.pagewise.";

fn plugin_setting(of: &CheckedJvm) -> Verdict {
    let Some(conf) = &of.conf else { return lacks("Spark's configuration", NO_CONF) };
    let mut ours = conf.keys().filter_map(|name| name.strip_prefix(PREFIX));
    let names = SETTINGS.map(|(name, _)| name);
    let Some(wrong) = ours.find(|name| !names.contains(name)) else { return plugin_value(of) };
    let meant = crate::spelling::nearest(wrong, names);
    let known = names.map(|name| format!("{PREFIX}{name}")).join(", ");
    let fixed = match meant {
        Some(meant) => spark_setting(
            &format!("{PREFIX}{meant}"),
            None,
            conf.get(&format!("{PREFIX}{wrong}")).map_or("", String::as_str),
            &format!("it stands instead of {PREFIX}{wrong}"),
        ),
        None => advice(&format!("there are {known}")),
    };
    Draft::new(Severity::High, format!("{PREFIX}{wrong} is given.")).change(fixed).found()
}

/// The first of its words that is set to something the plugin does not know.
fn unknown_value(of: &CheckedJvm) -> Option<(String, &'static [&'static str], &str)> {
    SETTINGS.into_iter().filter(|(_, words)| !words.is_empty()).find_map(|(name, words)| {
        let name = format!("{PREFIX}{name}");
        let value = of.conf(&name)?.trim();
        (!words.iter().any(|one| one.eq_ignore_ascii_case(value))).then_some((name, words, value))
    })
}

fn plugin_value(of: &CheckedJvm) -> Verdict {
    let Some((name, known, value)) = unknown_value(of) else { return nothing() };
    let fixed = match crate::spelling::nearest(value, known.iter().copied()) {
        Some(meant) => spark_setting(&name, Some(value), meant, "the plugin knows it"),
        None => advice(&format!("{name} can be {}", known.join(", "))),
    };
    let said = format!("{name} is {value}; it can be {}.", known.join(", "));
    Draft::new(Severity::High, said).change(fixed).found()
}

fn plugin_observes(of: &CheckedJvm) -> Verdict {
    if unknown_value(of).is_some() {
        // That is said, and what follows from it is not known.
        return nothing();
    }
    match of.has_plugin() {
        None => return lacks("whether the plugin is loaded", NO_CONF),
        Some(false) => return nothing(),
        Some(true) => {}
    }
    let reported = of.log.as_ref().and_then(|log| log.plugin.as_ref());
    let mode = reported.map(|plugin| plugin.mode.as_str()).or_else(|| of.conf("spark.pagewise.mode")).map(str::trim);
    if of.conf.is_none() && mode.is_none() {
        return lacks("spark.pagewise.mode", NO_CONF);
    }
    let is_told = |name| of.conf(name).is_some();
    if of.live.is_some() && reported.is_none() && !(is_told("spark.pagewise.policy") && is_told("spark.pagewise.mode"))
    {
        return lacks(
            "what Spark's own files set of spark.pagewise",
            "a command line does not have it: --event-log, or the executor's log",
        );
    }
    let policy = of.policy().unwrap_or_else(|| "none".to_owned());
    if policy == "none" {
        let fixed = spark_setting("spark.pagewise.policy", None, "storage", "what is cached is to lie on huge pages");
        return Draft::new(Severity::Low, "The plugin is loaded without a policy.".to_owned()).change(fixed).found();
    }
    if mode.is_some_and(|mode| mode.eq_ignore_ascii_case("enforce")) {
        return nothing();
    }
    let fixed = spark_setting("spark.pagewise.mode", of.conf("spark.pagewise.mode"), "enforce", "memory is placed");
    let said =
        format!("spark.pagewise.policy is {policy}, and spark.pagewise.mode is {}.", mode.unwrap_or("not given"));
    Draft::new(Severity::Medium, said).change(fixed).found()
}

fn plugin_surprised(of: &CheckedJvm) -> Verdict {
    let Some(log) = &of.log else { return lacks("the plugin's reports", "only an event log has them: --event-log") };
    let Some(plugin) = &log.plugin else { return nothing() };
    let count =
        seen("surprises of an executor, at most", plugin.surprises as f64, Quantity::Number, "pagewise.spark.Report");
    if plugin.surprises == 0 {
        return Verdict::NotFound(vec![count]);
    }
    let said =
        format!("It met {} and says which in the log of the {}.", counted(plugin.surprises, "surprise"), of.role());
    Draft::new(Severity::Low, said)
        .shown([count])
        .change(advice("search that log for PagewisePlugin; the other findings here may already say it"))
        .found()
}

fn native_access(of: &CheckedJvm) -> Verdict {
    let Some(java) = of.java else {
        return lacks("the version of Java", "neither the log nor the JVM's release file has it");
    };
    if !version::wants_native_access(java) || of.options.has(NATIVE_ACCESS) || of.has_plugin() == Some(false) {
        return nothing();
    }
    match (of.has_plugin(), of.spark) {
        (None, _) => lacks("whether the plugin is loaded", NO_CONF),
        (_, Some(spark)) if version::gives_native_access(spark) => nothing(),
        _ => {
            let fixed = of.with_option(NATIVE_ACCESS, &[], "Java permits what the plugin asks of the kernel");
            let said = format!("Java is {java}, the plugin is loaded, and {NATIVE_ACCESS} is not given.");
            Draft::new(Severity::Medium, said).change(fixed).found()
        }
    }
}

fn young_unbounded(of: &CheckedJvm) -> Verdict {
    match of.places_a_part() {
        None => return lacks("whether the plugin is loaded", NO_CONF),
        Some(false) => return nothing(),
        Some(true) => {}
    }
    let Some(heap) = of.max_heap else {
        return lacks("the largest heap", "neither -Xmx nor Spark's memory setting was seen");
    };
    if of.collector().is_some_and(|collector| collector != Collector::G1) {
        return nothing();
    }
    let most = conf::max_young(heap);
    match of.options.max_young() {
        Some(young) if young <= most.saturating_add(heap / 100) => nothing(),
        young => {
            let given = young.map_or_else(
                || "-XX:MaxNewSize is not given".to_owned(),
                |young| format!("young memory may take {}", Bytes(young)),
            );
            let word = format!("-XX:MaxNewSize={}", size_text(most));
            let fixed = of.with_option(
                &word,
                &["-Xmn", "-XX:MaxNewSize="],
                "two fifths of the heap, and what is cached stays apart",
            );
            Draft::new(Severity::Medium, format!("{given}, and the heap may have {}.", Bytes(heap)))
                .change(fixed)
                .found()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = 1 << 30;

    fn seen(options: &str, conf: &[(&str, &str)]) -> CheckedJvm {
        let conf = conf.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        CheckedJvm {
            spark: Some(Version::of(4, 0, 1)),
            java: Some(Version::of(17, 0, 15)),
            conf: Some(conf),
            options: JavaOptions::parse(options),
            max_heap: Some(2 * G),
            log: Some(EventLog::default()),
            ..CheckedJvm::default()
        }
    }

    fn live(of: CheckedJvm) -> CheckedJvm {
        let live = Live { collector: Some(Collector::G1), thp: Some("madvise".to_owned()), ..Live::default() };
        CheckedJvm { live: Some(live), log: None, ..of }
    }

    fn found(of: &CheckedJvm) -> Vec<String> {
        diagnose(of).findings.into_iter().map(|finding| finding.id).collect()
    }

    fn fixed(of: &CheckedJvm, id: &str) -> String {
        let finding = diagnose(of).findings.into_iter().find(|finding| finding.id == id).unwrap();
        finding.change.unwrap().settings[0].to.clone()
    }

    const PLUGGED: [(&str, &str); 3] =
        [("spark.plugins", PLUGIN), ("spark.pagewise.policy", "storage"), ("spark.pagewise.mode", "enforce")];
    const GOOD: &str = "-Xms2g -XX:MaxNewSize=819m";

    #[test]
    fn the_plugins_settings_are_those_that_the_plugin_reads() {
        let plugin = include_str!("../../../../jvm/spark-plugin/src/main/java/pagewise/spark/Settings.java");
        let between = |text: &'static str, begin: &str, end: &str| {
            text.split_once(begin)?.1.split_once(end).map(|(between, _)| between)
        };
        let constants: Vec<(&str, &str)> = plugin
            .lines()
            .filter_map(|line| {
                Some((between(line, "static final String ", " = ")?, between(line, "PREFIX + \"", "\"")?))
            })
            .collect();
        let choices = |constant: &str| {
            let call = format!("choice(given, {constant}, List.of(");
            let words = between(plugin, &call, ")").unwrap_or_default();
            words.split(", ").map(|word| word.trim_matches('"')).filter(|word| !word.is_empty()).collect()
        };
        let read: Vec<(&str, Vec<&str>)> =
            constants.iter().map(|(constant, name)| (*name, choices(constant))).collect();
        let known: Vec<(&str, Vec<&str>)> = SETTINGS.iter().map(|(name, words)| (*name, words.to_vec())).collect();
        assert_eq!(known, read);
        assert_eq!(found(&seen(GOOD, &[PLUGGED.as_slice(), &[("spark.pagewise.reserved", "on")]].concat())), [""; 0]);
        let pretenure = [PLUGGED.as_slice(), &[("spark.pagewise.pretenure", "yes")]].concat();
        assert_eq!(found(&seen(GOOD, &pretenure)), ["plugin-setting"]);
    }

    #[test]
    fn what_is_as_it_should_be_is_not_found() {
        assert_eq!(found(&seen(GOOD, &PLUGGED)), Vec::<String>::new());
        assert_eq!(found(&live(seen(GOOD, &PLUGGED))), Vec::<String>::new());
    }

    #[test]
    fn options_are_judged_and_the_line_keeps_the_users_own() {
        let own = [("spark.driver.extraJavaOptions", "-Da=b -Xms1g --add-opens=java.base/java.io=ALL-UNNAMED")];
        assert_eq!(fixed(&seen("-Xms1g", &own), "heap-grows"), "-Da=b -Xms2g");
        assert_eq!(found(&seen("-XX:InitialHeapSize=2g", &[])), ["heap-grows"], "it may shrink");
        let pretouch = seen(&format!("{GOOD} -XX:+AlwaysPreTouch"), &PLUGGED);
        assert_eq!(found(&pretouch), ["pretouch-with-plugin"]);
        assert_eq!(found(&seen(&format!("{GOOD} -XX:+UseTransparentHugePages"), &PLUGGED)), ["whole-heap-and-a-part"]);
        assert_eq!(found(&seen("-Xms2g", &PLUGGED)), ["young-unbounded"]);
        let both = diagnose(&seen("", &PLUGGED));
        assert!(both.notes.iter().any(|note| note.contains("-Xms2g -XX:MaxNewSize=819m")), "{:?}", both.notes);
    }

    #[test]
    fn versions_are_judged() {
        let ga = Some(Version::of(25, 0, 0));
        let flag = CheckedJvm {
            java: ga,
            spark: Some(Version::of(4, 2, 0)),
            ..seen("-Xms2g -XX:+UseTransparentHugePages", &[])
        };
        assert_eq!(found(&flag), ["jdk-25-flag", "spark-and-java"]);
        let warned = CheckedJvm { java: Some(Version::of(24, 0, 1)), spark: None, ..seen(GOOD, &PLUGGED) };
        assert_eq!(found(&warned), ["native-access"]);
        assert_eq!(
            found(&CheckedJvm { spark: Some(Version::of(5, 0, 0)), ..warned }),
            Vec::<String>::new(),
            "Spark gives it"
        );
    }

    #[test]
    fn the_plugin_has_to_be_told_and_spelt() {
        assert_eq!(found(&seen(GOOD, &PLUGGED[..2])), ["plugin-observes"]);
        let of_files = diagnose(&live(seen(GOOD, &PLUGGED[..2])));
        assert!(of_files.findings.is_empty(), "spark-defaults.conf may have what a command line has not");
        let policy = [&PLUGGED[..2], &[("spark.pagewise.policy", "storag")]].concat();
        let policy = seen(GOOD, &policy);
        assert_eq!(
            (found(&policy), fixed(&policy, "plugin-setting").as_str()),
            (vec!["plugin-setting".to_owned()], "storage")
        );
        let misspelt = [&PLUGGED[..], &[("spark.pagewise.windw", "64m")]].concat();
        let misspelt = seen(GOOD, &misspelt);
        assert_eq!(
            (found(&misspelt), fixed(&misspelt, "plugin-setting").as_str()),
            (vec!["plugin-setting".to_owned()], "64m")
        );
    }

    #[test]
    fn a_jvm_is_held_against_its_host() {
        let on = |change: &dyn Fn(&mut Live), options: &str| {
            let mut of = live(seen(options, &[]));
            change(of.live.as_mut().unwrap());
            found(&of)
        };
        let flag = "-Xms2g -XX:+UseTransparentHugePages";
        assert_eq!(on(&|live| live.thp = Some("never".to_owned()), flag), ["flag-against-host"]);
        assert_eq!(
            on(&|live| live.thp = Some("always".to_owned()), "-Xms2g -XX:-UseTransparentHugePages"),
            ["flag-against-host"]
        );
        assert_eq!(on(&|live| live.mapped = Some((G, G / 100)), flag), ["flag-without-effect"]);
        assert_eq!(on(&|live| live.mapped = Some((G, G / 2)), flag), Vec::<String>::new());
        assert_eq!(on(&|live| live.collector = Some(Collector::Serial), "-Xms2g"), ["serial-by-accident"]);
        assert_eq!(
            on(&|live| live.collector = Some(Collector::Serial), "-Xms2g -XX:+UseSerialGC"),
            Vec::<String>::new()
        );
        assert_eq!(on(&|live| live.limit = Some(2 * G), "-Xms2g"), ["container-too-small"]);
        let z = |live: &mut Live| (live.collector, live.shmem) = (Some(Collector::Z), Some("never".to_owned()));
        assert_eq!(on(&z, "-Xms2g -XX:+UseZGC -XX:+UseTransparentHugePages"), ["zgc-shmem"]);
    }

    #[test]
    fn containers_of_a_log_are_judged_by_what_was_asked_for() {
        let cluster = [
            ("spark.master", "k8s://x"),
            ("spark.executor.memoryOverhead", "100m"),
            ("spark.kubernetes.executor.limit.cores", "1"),
        ];
        let of = CheckedJvm { is_executor: true, ..seen("-Xms2g", &cluster) };
        assert_eq!(found(&of), ["serial-by-accident", "container-too-small"]);
        assert_eq!(fixed(&of, "container-too-small"), "384m");
    }

    #[test]
    fn arrays_that_miss_a_region_by_their_header_are_found_where_less_would_do() {
        let mut of = seen("-Xms2g", &[]);
        let log = of.log.as_mut().unwrap();
        log.cached.insert(
            1,
            super::super::event_log::Cached { made: 1, reads: 1, is_serialized: true, ..Default::default() },
        );
        assert_eq!(fixed(&of, "chunk-misses-region"), "1048560");
        of.max_heap = Some(8 * G);
        of.options = JavaOptions::parse("-Xms8g");
        assert_eq!(found(&of), Vec::<String>::new(), "with regions of 4 MiB a chunk is no humongous one");
        let log = of.log.as_mut().unwrap();
        log.has_blocks = true;
        log.broadcast_pieces.insert(4 << 20, 3);
        assert_eq!(fixed(&of, "broadcast-misses-region"), "4095k");
        let page = seen("-Xms2g", &[("spark.buffer.pageSize", "1m")]);
        assert_eq!(fixed(&page, "page-misses-region"), "1048560");
    }

    #[test]
    fn what_is_cached_and_never_read_is_named() {
        let mut of = seen("-Xms2g", &[]);
        of.log.as_mut().unwrap().cached.insert(7, super::super::event_log::Cached { made: 1, ..Default::default() });
        assert_eq!(found(&of), ["cached-never-read"]);
    }
}
