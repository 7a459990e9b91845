//! Which policy a finished job lets one expect something of, and what its program could do for it.
//!
//! The reasons are those of Miyazato and Yamada, "Applying Hugepages to In-memory Distributed Processing Frameworks", section
//! 5.3: much cached and often read again speaks for storage, much shuffled for execution. The thresholds are ours. Nothing here
//! is a promise: the line below each says how to find out.

use super::Placement;
use super::check::log_notes;
use super::event_log::{Cached, EventLog};
use super::judged::{self, Draft, Rule, Verdict, advice, held, lacks, nothing, observed, seen};
use crate::finding::document::{Compare, Confidence, Diagnosis, Evidence, Quantity, Severity, Tier};
use crate::finding::proposal::{Command, Proposal};
use crate::finding::words;
use crate::tunable::policy::{Policy, Setting};
use crate::unit::Bytes;

/// A job with the heap of a JVM that computed.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its log.
    pub log: EventLog,
    /// Bytes.
    pub heap: u64,
}

const SOURCE: &str = "Miyazato and Yamada, section 5.3; docs/guide/spark-advice.md";

/// Of all executors' heaps, from which on cached or shuffled data are many.
const MANY: f64 = 0.1;
/// Times that cached data are read again, from which on it is often.
const OFTEN: f64 = 2.0;
/// One amount of traffic is small beside the other.
const BESIDE: f64 = 0.1;
/// Seconds of a job that is short: the JVM's own start and its compiler are a good part.
const SHORT: f64 = 60.0;
/// Of task time in collections.
const COLLECTS: f64 = 0.1;
/// Of task time on a CPU, below which a job waits for disks and networks.
const COMPUTES: f64 = 0.5;
/// Shuffles, from which on they are many, and bytes of one that is small.
const SHUFFLES: usize = 10;
const SMALL_SHUFFLE: u64 = 64 << 20;
/// RDDs cached one after the other, from which on a loop is behind it.
const ROUNDS: usize = 4;

const RULES: &[Rule<Job>] = &[
    Rule {
        id: "policy-to-try",
        title: "The policy to try first",
        meaning: "Huge pages save walks through page tables where much memory is visited again and again; elsewhere they only take memory. \
                  What comes of it only a trial on your job can tell.",
        source: SOURCE,
        judge: policy,
    },
    Rule {
        id: "cache-more-rarely",
        title: "A loop caches in every round",
        meaning: "What is cached only so that less is computed again after a loss, and is not read again and again, takes storage memory and \
                  its huge pages. Caching every few dozen rounds does for that.",
        source: SOURCE,
        judge: cache_more_rarely,
    },
    Rule {
        id: "one-long-execution",
        title: "The job is short",
        meaning: "Memory is faulted in and code compiled at the beginning of every application; huge pages give back later. One long execution \
                  in place of many short ones has more of it.",
        source: SOURCE,
        judge: one_long_execution,
    },
    Rule {
        id: "fewer-larger-shuffles",
        title: "Many small shuffles",
        meaning: "Each shuffle builds its maps anew. Few large ones visit large maps often, which is where huge pages save; many small ones make \
                  for fragmentation.",
        source: SOURCE,
        judge: fewer_larger_shuffles,
    },
    Rule {
        id: "collections-take-time",
        title: "Collections take a good part of the time",
        meaning: "Old memory that is huge is faulted in and cleared inside a pause, unless somebody touches it before: the plugin does under \
                  storage, the JVM's own flag does not.",
        source: "docs/design/0029-spark-plugin.md",
        judge: collections,
    },
    Rule {
        id: "waits-more-than-it-computes",
        title: "Tasks wait more than they compute",
        meaning: "Huge pages shorten no wait for a disk or a network: expect little of any policy.",
        source: SOURCE,
        judge: waits,
    },
];

/// Asks every rule.
#[must_use]
pub fn diagnose(job: &Job, subject: &str) -> Diagnosis {
    let log = &job.log;
    let named = log.name.as_deref().map_or_else(String::new, |name| format!("\"{name}\", "));
    let version = log.spark.map_or_else(|| "an unknown Spark".to_owned(), |version| format!("Spark {version}"));
    let count = |count: usize, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let said = format!(
        "{named}{version}: {}, {}, {} on {} of {} each",
        count(log.jobs.len(), "Spark job"),
        count(log.tasks.count as usize, "task"),
        words::seconds(log.tasks.run as f64 / 1e3),
        count(heaps(log) as usize, "heap"),
        Bytes(job.heap)
    );
    let observed = observed(subject, log.seconds().unwrap_or(0.0), Tier::Log, said);
    judged::diagnosis(RULES, job, observed, log_notes(log), Tier::Log)
}

/// JVMs that computed.
fn heaps(log: &EventLog) -> u64 {
    log.executors.keys().filter(|id| log.is_local() || *id != "driver").count().max(1) as u64
}

const NO_BLOCKS: &str =
    "set spark.eventLog.logBlockUpdates.enabled=true for the next run (or spark.eventLog.logStageExecutorMetrics=true)";

fn policy(job: &Job) -> Verdict {
    let log = &job.log;
    if log.tasks.count == 0 {
        return lacks("tasks that ended", "the log has none");
    }
    let memory = (job.heap.max(1) as f64) * heaps(log) as f64;
    let tasks = &log.tasks;
    let shuffled = tasks.shuffle_written.saturating_add(tasks.shuffle_read).saturating_add(tasks.spilled) as f64;
    let made: Vec<&Cached> = log.made().map(|(_, cached)| cached).collect();
    let in_heap: Vec<&&Cached> = made.iter().filter(|cached| !cached.is_off_heap).collect();
    let cached = match log.cached_bytes() {
        Some((bytes, from)) => Some((bytes as f64, from)),
        None if made.is_empty() => Some((0.0, "RDD Info of stages: nothing is cached")),
        None => None,
    };
    let reads = reads(&made);
    let mut evidence = vec![
        held(
            seen("reads of cached data, after the first", reads, Quantity::Number, "RDD Info of stages"),
            Compare::AtLeast,
            OFTEN,
        ),
        seen("shuffled and spilled", shuffled, Quantity::Bytes, "Task Metrics"),
        seen("of task time in collections", share(tasks.collecting, tasks.run), Quantity::Fraction, "Task Metrics"),
    ];
    let Some((bytes, from)) = cached else {
        // Without sizes only what is clear without them is said.
        if shuffled > 0.0 || reads < OFTEN {
            return lacks("how much was cached", NO_BLOCKS);
        }
        let said = format!(
            "Cached data are read {} times again and nothing is shuffled. How much that is, the log does not have.",
            words::number(reads)
        );
        let draft = Draft::new(Severity::Medium, said).sure(Confidence::Low).shown(evidence);
        return draft
            .change(trial(job, Placement::Storage, "what is cached lies on huge pages, what tasks work with does not"))
            .found();
    };
    let cached_share = bytes / memory;
    evidence.insert(
        0,
        held(seen("of the heaps was cached at once", cached_share, Quantity::Fraction, from), Compare::AtLeast, MANY),
    );
    let shuffle_share = shuffled / memory;
    evidence.push(held(
        seen("shuffled, beside the heaps", shuffle_share, Quantity::Fraction, "Task Metrics"),
        Compare::AtLeast,
        MANY,
    ));
    let visited = bytes * reads;
    let caches = cached_share >= MANY && reads >= OFTEN && !in_heap.is_empty();
    let shuffles = shuffle_share >= MANY;
    let cached_words = format!(
        "{} were cached at once, {} of the heaps, and read {} times again; {} were shuffled or spilled.",
        Bytes(bytes as u64),
        words::percent(cached_share),
        words::number(reads),
        Bytes(shuffled as u64)
    );
    let (placement, why) = match (caches, shuffles) {
        (true, false) => (Placement::Storage, "what is cached lies on huge pages, what tasks work with does not"),
        (true, true) if shuffled <= BESIDE * visited => {
            (Placement::Storage, "what is shuffled is little beside what is read of the cache")
        }
        (true, true) => (Placement::Both, "the cache is read often, and as much and more is shuffled"),
        (false, true) => {
            (Placement::Execution, "what tasks work with lies on huge pages; of the cache too little is read again")
        }
        (false, false) => {
            let draft = Draft::new(Severity::Low, cached_words).sure(Confidence::Medium).shown(evidence);
            return draft
                .change(advice(
                    "none: neither is much beside the heaps. A smaller heap or more data come before huge pages",
                ))
                .found();
        }
    };
    let mut draft = Draft::new(Severity::Medium, cached_words)
        .sure(Confidence::Medium)
        .shown(evidence)
        .change(trial(job, placement, why));
    if placement == Placement::Execution {
        draft = draft.watch("With many shuffles storage made a job 14 % slower in that study (GBT), and the whole heap huge 13 % faster");
    }
    draft.watch("Memory: watch anon_peak, --metric anon_peak; in that study policies took up to 17 GB more").found()
}

/// How often a cached RDD was read again; where sizes are known, by the byte.
fn reads(made: &[&Cached]) -> f64 {
    let weight = |cached: &Cached| if made.iter().any(|cached| cached.bytes > 0) { cached.bytes as f64 } else { 1.0 };
    let all: f64 = made.iter().map(|cached| weight(cached)).sum();
    let read: f64 = made.iter().map(|cached| weight(cached) * cached.reads as f64).sum();
    if all > 0.0 { read / all } else { 0.0 }
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

/// What decides: two folders with a configuration each, and a trial between them.
fn trial(job: &Job, placement: Placement, why: &str) -> Proposal {
    let executors = !job.log.is_local();
    // A file that is not there keeps Spark from starting.
    let mut jars = job.log.property("spark.jars").unwrap_or_default().split(',').map(str::trim);
    let jar = jars.find(|jar| jar.rsplit('/').next().is_some_and(|name| name.starts_with("spark-plugin")));
    let jar = jar.map(|jar| jar.strip_prefix("file:").unwrap_or(jar).to_owned()).filter(|jar| !jar.contains("://"));
    let conf = |placement: Placement, against: Option<Placement>| Command::SparkConf {
        placement: placement.word().to_owned(),
        against: against.map(|against| against.word().to_owned()),
        jar: jar.clone().filter(|_| placement != Placement::None),
        spark: job.log.spark.map(|version| version.to_string()),
        jdk: job.log.java.map(|version| version.to_string()),
        heap: job.heap,
        executors,
        into: placement.word().to_owned(),
    };
    let arm = |placement: Placement| Policy {
        name: None,
        settings: Setting::new("env.SPARK_CONF_DIR", placement.word()).ok().into_iter().collect(),
    };
    let prove = Command::Prove { a: arm(Placement::None), b: arm(placement), live: false, job: Vec::new() };
    let property = |name: &str| job.log.property(name);
    let is_in_force = property("spark.pagewise.policy") == Some(placement.word())
        && property("spark.pagewise.mode") == Some("enforce");
    let setting = if is_in_force {
        advice(&format!(
            "keep spark.pagewise.policy={}, which this job ran with: {why}; a trial against none tells what it gives",
            placement.word()
        ))
    } else {
        judged::spark_setting("spark.pagewise.policy", property("spark.pagewise.policy"), placement.word(), why)
    };
    Proposal { verify: vec![conf(Placement::None, Some(placement)), conf(placement, None), prove], ..setting }
}

fn cache_more_rarely(job: &Job) -> Verdict {
    let made: Vec<&Cached> = job.log.made().map(|(_, cached)| cached).collect();
    let once: Vec<&&Cached> = made.iter().filter(|cached| cached.reads <= 1).collect();
    let count = held(
        seen("RDDs cached and read at most once", once.len() as f64, Quantity::Number, "RDD Info of stages"),
        Compare::AtLeast,
        ROUNDS as f64,
    );
    if once.len() < ROUNDS {
        return Verdict::NotFound(vec![count]);
    }
    let bytes: u64 = once.iter().map(|cached| cached.bytes).sum();
    let sizes = if job.log.has_blocks { format!(", {} in all", Bytes(bytes)) } else { String::new() };
    let said = format!("{} of {} cached RDDs are read at most once{sizes}.", once.len(), made.len());
    Draft::new(Severity::Low, said)
        .sure(Confidence::Medium)
        .shown([count])
        .change(advice("cache every few dozen rounds of the loop instead of every round, and what is read in each of them once, before it"))
        .watch("MLlib and GraphX cache by themselves in their loops; there only checkpointInterval and the like are yours")
        .found()
}

fn one_long_execution(job: &Job) -> Verdict {
    let Some(seconds) = job.log.seconds() else {
        return lacks("how long the application ran", "the log has no beginning");
    };
    let length = held(
        seen("length of the application", seconds, Quantity::Seconds, "SparkListenerApplicationEnd"),
        Compare::Below,
        SHORT,
    );
    if length.holds != Some(true) {
        return Verdict::NotFound(vec![length]);
    }
    if job.log.ended.is_none() {
        return lacks("how long the application ran", "the log has no end");
    }
    let mut said = format!("The application ran for {}.", words::seconds(seconds));
    if let Some(median) = median(&job.log.jobs) {
        said.push_str(&format!(
            " Half of its {} jobs took less than {}.",
            job.log.jobs.len(),
            words::seconds(median / 1e3)
        ));
    }
    Draft::new(Severity::Low, said)
        .shown([length])
        .change(advice("run what belongs together as one application instead of many short ones; give a trial more data or more rounds"))
        .found()
}

fn median(lengths: &[u64]) -> Option<f64> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map(|middle| *middle as f64)
}

fn fewer_larger_shuffles(job: &Job) -> Verdict {
    let sizes: Vec<u64> = job.log.shuffles.values().copied().collect();
    let count = held(
        seen("stages that wrote a shuffle", sizes.len() as f64, Quantity::Number, "Task Metrics"),
        Compare::AtLeast,
        SHUFFLES as f64,
    );
    let Some(middle) = median(&sizes).filter(|_| sizes.len() >= SHUFFLES) else {
        return Verdict::NotFound(vec![count]);
    };
    let size = held(
        seen("written by half of them, at most", middle, Quantity::Bytes, "Task Metrics"),
        Compare::Below,
        SMALL_SHUFFLE as f64,
    );
    if size.holds != Some(true) {
        return Verdict::NotFound(vec![count, size]);
    }
    let said = format!("{} stages wrote shuffles, half of them less than {}.", sizes.len(), Bytes(middle as u64));
    Draft::new(Severity::Low, said)
        .sure(Confidence::Medium)
        .shown([count, size])
        .change(advice(
            "shuffle as much as can be at one time: aggregate before joining, partition once and keep the partitioner",
        ))
        .found()
}

fn collections(job: &Job) -> Verdict {
    if job.log.tasks.run == 0 {
        return lacks("how long tasks ran", "the log has none that ended");
    }
    let part: Evidence = seen(
        "of task time in collections",
        share(job.log.tasks.collecting, job.log.tasks.run),
        Quantity::Fraction,
        "Task Metrics",
    );
    let part = held(part, Compare::AtLeast, COLLECTS);
    if part.holds != Some(true) {
        return Verdict::NotFound(vec![part]);
    }
    let tasks = &job.log.tasks;
    let said = format!(
        "Of {} of task time {} went into collections.",
        words::seconds(tasks.run as f64 / 1e3),
        words::seconds(tasks.collecting as f64 / 1e3)
    );
    Draft::new(Severity::Medium, said)
        .shown([part])
        .change(advice("give the heap room first; then hold storage against entire rather than against none"))
        .found()
}

fn waits(job: &Job) -> Verdict {
    let tasks = &job.log.tasks;
    if tasks.run == 0 || tasks.cpu == 0 {
        return lacks("the CPU time of tasks", "no task of the log has it");
    }
    let part = seen(
        "of task time on a CPU",
        tasks.cpu as f64 / 1e6 / tasks.run as f64,
        Quantity::Fraction,
        "Executor CPU Time",
    );
    let part = held(part, Compare::Below, COMPUTES);
    if part.holds != Some(true) {
        return Verdict::NotFound(vec![part]);
    }
    if job.log.seconds().is_some_and(|seconds| seconds < SHORT) {
        // Compiling and loading classes are on other threads than the task's.
        return nothing();
    }
    let said = format!("Tasks were on a CPU for {} of their time.", words::percent(part.value.unwrap_or(0.0)));
    Draft::new(Severity::Low, said)
        .sure(Confidence::Medium)
        .shown([part])
        .change(advice("look at disks and networks first: pagewise diagnose"))
        .found()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(cached: u64, reads: u64, shuffled: u64) -> Job {
        let mut log = EventLog { has_blocks: true, ..EventLog::default() };
        let at = |id: u64, bytes: u64| {
            format!(
                "{{\"Event\":\"SparkListenerBlockUpdated\",\"Block Updated Info\":{{\"Block Manager ID\":{{\"Executor ID\":\"driver\"}},\
                     \"Block ID\":\"rdd_{id}_0\",\"Memory Size\":{bytes}}}}}"
            )
        };
        log.line(at(1, cached).as_bytes());
        assert_eq!(log.unreadable, 0);
        if let Some(rdd) = log.cached.get_mut(&1) {
            (rdd.made, rdd.reads) = (1, reads);
        }
        (log.tasks.count, log.tasks.run, log.tasks.cpu, log.tasks.shuffle_written) = (8, 1000, 900_000_000, shuffled);
        Job { log, heap: 1 << 30 }
    }

    fn tried(job: &Job) -> Option<String> {
        let finding = diagnose(job, "a test").findings.into_iter().find(|finding| finding.id == "policy-to-try")?;
        finding.change?.settings.first().map(|setting| setting.to.clone())
    }

    #[test]
    fn the_policy_follows_from_what_is_read_again_and_what_is_shuffled() {
        let (much, little) = (400 << 20, 8 << 20);
        assert_eq!(tried(&job(much, 10, little)).as_deref(), Some("storage"));
        assert_eq!(tried(&job(little, 10, much)).as_deref(), Some("execution"));
        assert_eq!(tried(&job(much, 1, much)).as_deref(), Some("execution"), "read once is not read often");
        assert_eq!(tried(&job(much, 3, much)).as_deref(), Some("both"));
        assert_eq!(tried(&job(little, 10, little)), None);
    }

    #[test]
    fn without_sizes_it_says_what_is_missing_instead_of_guessing() {
        let mut without = job(400 << 20, 10, 1 << 30);
        without.log.has_blocks = false;
        let open = diagnose(&without, "a test").not_decided;
        assert!(
            open.iter().any(|rule| rule.id == "policy-to-try" && rule.missing[0].why.contains("logBlockUpdates")),
            "{open:?}"
        );
    }

    #[test]
    fn loops_short_jobs_small_shuffles_and_collections_are_named() {
        let mut of = job(400 << 20, 1, 0);
        for id in 10..14 {
            of.log.cached.insert(id, Cached { made: 1, reads: 1, ..Cached::default() });
        }
        for stage in 0..10 {
            of.log.shuffles.insert(stage, 1000);
        }
        (of.log.began, of.log.ended, of.log.tasks.collecting) = (Some(0), Some(5000), 300);
        let found: Vec<String> = diagnose(&of, "a test").findings.into_iter().map(|finding| finding.id).collect();
        for id in ["cache-more-rarely", "one-long-execution", "fewer-larger-shuffles", "collections-take-time"] {
            assert!(found.iter().any(|one| one == id), "{id}: {found:?}");
        }
        of.log.ended = Some(200_000);
        of.log.tasks.cpu = 1_000_000;
        assert!(diagnose(&of, "a test").findings.iter().any(|finding| finding.id == "waits-more-than-it-computes"));
    }
}
