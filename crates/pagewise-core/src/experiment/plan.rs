//! The declared comparison: workload, metrics, factors and their levels, design, contrasts.
//!
//! A plan is TOML for people and is frozen (its text hashed) before the first point runs. `prove` writes the same plan
//! with one factor of two levels, so that there is one engine. [`source`] reads a plan and says where it is wrong,
//! [`cells`] are the combinations of levels that run, [`check`] holds what no trial can be run with, [`lint`] what a
//! careful experimenter would not do, [`forecast`] what it will cost and what it can find, [`numbers`] which of the numbers it
//! asks for there are, [`lab`] the guests that points run in, [`open_ended`] what a comparison without a planned end is judged by.

pub mod cells;
pub mod check;
pub mod forecast;
pub mod lab;
pub mod lint;
mod misread;
pub mod numbers;
pub mod open_ended;
pub mod source;

use super::data::Data;
use super::live::Live;
use super::number_pattern::{self, NumberPattern};
use crate::metric::{self, Direction};
use crate::unit::Bytes;
use indexmap::IndexMap;
use lab::Lab;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Identifies a plan in JSON.
pub const SCHEMA: &str = "pagewise.plan/1";

/// What is compared, how often, in which design, and how it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The trial's name; its bundle is `NAME.trial`.
    pub name: String,
    /// Groups of factors that move together: factors of one group have the same level names, and a cell takes the same
    /// name from all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zip: Vec<Vec<String>>,
    /// What every cell sets unless its levels set it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub everywhere: Option<String>,
    /// What runs at every point.
    pub workload: Workload,
    /// What is compared, one table or several. The first is the one the trial is for.
    #[serde(rename = "metric", default = "default_metrics", deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany<Metric>")]
    pub metrics: Vec<Metric>,
    /// What differs between points.
    #[serde(rename = "factor")]
    pub factors: Vec<Factor>,
    /// Combinations that do not run.
    #[serde(rename = "exclude", default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<Exclude>,
    /// How often and in which order.
    #[serde(default)]
    pub design: Design,
    /// Which levels are held against each other.
    #[serde(rename = "contrast", default)]
    pub contrasts: Vec<Contrast>,
    /// When the trial ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stopping: Stopping,
    /// How the data come back before every point.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data: Data,
    /// When a run that ended well is no result all the same.
    #[serde(rename = "invalidate", default, skip_serializing_if = "Vec::is_empty")]
    pub invalidations: Vec<Invalidation>,
    /// What a run and what surrounds it are expected to take; for forecasts alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: Cost,
    /// What is recorded while a point runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recording: Recording,
    /// Blocks of time on a host that goes on working instead of runs of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// The virtual machines in which points run instead of on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<Lab>,
}

impl Plan {
    /// A plan of this name and job that compares nothing yet: wall time, the default design, no factors.
    #[must_use]
    pub fn new(name: impl Into<String>, workload: Workload) -> Plan {
        Plan {
            name: name.into(),
            zip: Vec::new(),
            everywhere: None,
            workload,
            metrics: default_metrics(),
            factors: Vec::new(),
            excludes: Vec::new(),
            design: Design::default(),
            contrasts: Vec::new(),
            stopping: Stopping::default(),
            data: Data::default(),
            invalidations: Vec::new(),
            cost: Cost::default(),
            recording: Recording::default(),
            live: None,
            lab: None,
        }
    }

    /// The metric the trial is for. A plan that was read has at least one; one built in code must.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metrics[0]
    }

    /// The factor of this name.
    #[must_use]
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// One factor of two levels, one metric, one plain contrast, a fixed number of pairs: what `prove` asks, and what its
    /// report is made for.
    #[must_use]
    pub fn is_two_arms(&self) -> bool {
        let one_factor = matches!(self.factors.as_slice(), [factor] if factor.levels.len() == 2);
        let plain = |contrast: &Contrast| contrast.interaction.is_none();
        one_factor
            && self.metrics.len() == 1
            && matches!(self.contrasts.as_slice(), [contrast] if plain(contrast))
            && self.stopping.rule == StoppingRule::Fixed
            && matches!(self.design.order, OrderKind::Auto | OrderKind::Pairs)
    }
}

/// One table or a list of tables, as TOML writes `[metric]` and `[[metric]]`. For the schema alone.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// Reads it by what it sees, not by trying one after the other: an error then names the key it is about.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Metric>, D::Error> {
    struct Metrics;
    impl<'de> Visitor<'de> for Metrics {
        type Value = Vec<Metric>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Metric>, A::Error> {
            Metric::deserialize(MapAccessDeserializer::new(map)).map(|metric| vec![metric])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<Metric>, A::Error> {
            let metrics = Vec::deserialize(SeqAccessDeserializer::new(list))?;
            Ok(if metrics.is_empty() { default_metrics() } else { metrics })
        }
    }
    from.deserialize_any(Metrics)
}

fn default_metrics() -> Vec<Metric> {
    vec![Metric::default()]
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The job of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// A built-in workload (`terasort`) or `command`.
    pub name: String,
    /// For `command`: the argument vector that is timed. Never passed to a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// For `command`: runs before every point, untimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// For `command`: runs after every point; a non-zero exit makes the point `wrong`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// For `command`: runs after every point whatever it gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clean: Vec<String>,
    /// Arguments of a built-in workload, such as `rows = 1_000_000`.
    #[serde(flatten)]
    pub args: BTreeMap<String, serde_json::Value>,
}

impl Workload {
    /// The user's own command.
    #[must_use]
    pub fn command(run: Vec<String>) -> Workload {
        Workload { run, ..Workload::built_in("command", BTreeMap::new()) }
    }

    /// A workload that ships with Pagewise.
    #[must_use]
    pub fn built_in(name: &str, args: BTreeMap<String, serde_json::Value>) -> Workload {
        let none = Vec::new;
        Workload { name: name.to_owned(), run: none(), prepare: none(), verify: none(), clean: none(), args }
    }
}

/// How the place of a metric begins that has a name beside it.
const FOUND_BY: [&str; 2] = ["regex:", "rate:"];

/// The number that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// A measure of a run, a name from `$PAGEWISE_METRICS`, or `regex:PATTERN` on the job's output. Any name where `from` says where
    /// the number is found.
    #[serde(default = "Metric::default_name")]
    pub name: String,
    /// Where the number is found, when its name does not say: `regex:PATTERN` on the job's output; in a live proof
    /// `regex:PATTERN:FILE` or `rate:COMMAND`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Which way is better.
    #[serde(default)]
    pub direction: Direction,
    /// The equivalence margin: a difference smaller than this does not matter. A percentage, such as `2%`.
    #[serde(default = "Metric::default_smallest_effect")]
    pub smallest_effect: String,
}

impl Metric {
    /// Name and place of a metric as a command line has them: `wall`, `regex:PATTERN`, `score=regex:PATTERN`, `done=rate:COMMAND`.
    #[must_use]
    pub fn named(text: &str) -> (String, Option<String>) {
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.-".contains(c));
        match text.split_once('=') {
            Some((name, from)) if is_name(name) && FOUND_BY.iter().any(|begin| from.starts_with(begin)) => {
                (name.to_owned(), Some(from.to_owned()))
            }
            _ => (text.to_owned(), None),
        }
    }

    /// What says where its number is found: `from`, or else its name.
    #[must_use]
    pub fn place(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.name)
    }

    /// What is wrong with its name or with where its number is found, and whether the `name` or the `from` is. What a live proof reads is
    /// [`super::live::metric::LiveMetric`]'s to judge.
    #[must_use]
    pub fn problem(&self, is_live: bool) -> Option<(&'static str, String)> {
        let has_place = self.from.is_some();
        if has_place && metric::find(&self.name).is_some() {
            let why = format!("'{}' is a measure of every run; call what a pattern finds something else", self.name);
            return Some(("name", why));
        }
        if is_live {
            return None;
        }
        let why = match number_pattern::of_metric(self.place()) {
            Some(pattern) => NumberPattern::parse(pattern).err()?.to_string(),
            None if has_place => "write it like \"regex:score=([0-9.]+)\"; only a live proof knows another, and what a job reports has its name alone".to_owned(),
            None => return None,
        };
        Some((if has_place { "from" } else { "name" }, why))
    }

    /// As a command line has it; what [`Metric::named`] reads.
    #[must_use]
    pub fn as_asked(&self) -> String {
        self.from.iter().fold(self.name.clone(), |name, from| format!("{name}={from}"))
    }

    fn default_name() -> String {
        "wall".to_owned()
    }
    fn default_smallest_effect() -> String {
        "2%".to_owned()
    }
}

impl Default for Metric {
    fn default() -> Self {
        Metric {
            name: Self::default_name(),
            from: None,
            direction: Direction::Lower,
            smallest_effect: Self::default_smallest_effect(),
        }
    }
}

/// One thing that differs between points, with its levels as policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Tunables that its levels may move beside the first, on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Level name to policy text (`now` or `TUNABLE=VALUE,…`), in the order tables show them.
    pub levels: IndexMap<String, String>,
}

/// Cells that are left out: those that have one of the named levels in every named factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exclude {
    /// Factor name to level name, or to a list of them.
    #[serde(rename = "where")]
    pub conditions: BTreeMap<String, Levels>,
}

/// One level or several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Levels {
    /// This one.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Levels, D::Error> {
        struct OneOrAny;
        impl<'de> Visitor<'de> for OneOrAny {
            type Value = Levels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, level: &str) -> Result<Levels, E> {
                Ok(Levels::One(level.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Levels, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Levels::Any)
            }
        }
        from.deserialize_any(OneOrAny)
    }
}

impl Levels {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        match self {
            Levels::One(level) => std::slice::from_ref(level).iter(),
            Levels::Any(levels) => levels.iter(),
        }
        .map(String::as_str)
    }
}

/// In which order points run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrderKind {
    /// Pairs for two cells, random complete blocks for more; boots are whole plots in either case.
    #[default]
    Auto,
    /// Adjacent pairs, AB and BA balanced and in random sequence. Two cells.
    Pairs,
    /// Random complete blocks: every block holds each cell once, in random order.
    Blocks,
    /// Williams squares: over a square every cell follows every other cell equally often.
    Williams,
    /// Complete randomisation: blocks are forgotten.
    Complete,
    /// Cell after cell, as nested loops run. Confounds every difference with time; only to show that it does.
    Nested,
}

impl OrderKind {
    /// The word in plans and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            OrderKind::Auto => "auto",
            OrderKind::Pairs => "pairs",
            OrderKind::Blocks => "blocks",
            OrderKind::Williams => "williams",
            OrderKind::Complete => "complete",
            OrderKind::Nested => "nested",
        }
    }
}

/// What happens to the page cache before a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DropCaches {
    /// Drop for built-in workloads, leave alone for a command.
    #[default]
    Auto,
    /// Always drop; needs root.
    Yes,
    /// Never drop.
    No,
}

/// How many blocks, from which seed, with which limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// Blocks; with two cells a block is a pair.
    pub blocks: u32,
    /// In which order points run.
    #[serde(skip_serializing_if = "is_default")]
    pub order: OrderKind,
    /// The seed the order is drawn from.
    pub seed: u64,
    /// Unanalysed runs of each cell before the first block.
    pub warmup: u32,
    /// A run longer than this is stopped and counts as `timeout`.
    pub timeout_seconds: f64,
    /// The page cache before a point.
    pub drop_caches: DropCaches,
    /// Free memory that is touched before each point, at most: "8G". Where free memory goes back to a hypervisor, what is touched first
    /// costs several times as much, and which level meets how much of that is chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_memory: Option<String>,
    /// Significance level of the verdict.
    pub alpha: f64,
    /// A run is invalid where the hypervisor took more than this share of the CPU time meanwhile. A host whose neighbours never
    /// rest needs more than the 0.1 that holds without it: pairs are compared with each other, and both pay.
    #[serde(skip_serializing_if = "is_usual_steal_limit")]
    pub steal_limit: f64,
    /// A run waits until tasks of the host waited for memory, and for I/O, less than this share of a second. A host that is never at rest, and a
    /// job that needs no disk, needs more than the 0.01 that holds without it.
    #[serde(skip_serializing_if = "is_usual_pressure_limit")]
    pub pressure_limit: f64,
    /// A run waits until memory that is free or in caches is as much as before the first run of its cell, but for this share of it. A host
    /// beside whose job others come and go needs more than the 0.05 that holds without it.
    #[serde(skip_serializing_if = "is_usual_memory_drift_limit")]
    pub memory_drift_limit: f64,
}

/// Where free memory and caches differ by more from the first run of a cell, its runs are not of one host (our own bound).
pub const MEMORY_DRIFT_LIMIT: f64 = 0.05;

/// Where tasks wait longer than this share of a second, something is at work that a run would meet (our own bound).
pub const PRESSURE_LIMIT: f64 = 0.01;

/// More stolen CPU time than this and a run says more about other guests than about this host (our own bound).
pub const STEAL_LIMIT: f64 = 0.1;

impl Design {
    /// How many bytes of free memory are touched before each point; 0 where none are.
    #[must_use]
    pub fn warm_memory_bytes(&self) -> u64 {
        self.warm_memory.as_ref().and_then(|text| text.parse::<Bytes>().ok()).map_or(0, |bytes| bytes.0)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_usual_steal_limit(limit: &f64) -> bool {
    *limit == STEAL_LIMIT
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_usual_pressure_limit(limit: &f64) -> bool {
    *limit == PRESSURE_LIMIT
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_usual_memory_drift_limit(limit: &f64) -> bool {
    *limit == MEMORY_DRIFT_LIMIT
}

impl Default for Design {
    fn default() -> Self {
        Design {
            blocks: 10,
            order: OrderKind::Auto,
            seed: 0,
            warmup: 1,
            timeout_seconds: 600.0,
            drop_caches: DropCaches::Auto,
            warm_memory: None,
            alpha: 0.05,
            steal_limit: STEAL_LIMIT,
            pressure_limit: PRESSURE_LIMIT,
            memory_drift_limit: MEMORY_DRIFT_LIMIT,
        }
    }
}

/// Two levels of a factor held against each other: `b` relative to `a`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contrast {
    /// The factor.
    pub factor: String,
    /// The level that is the base.
    pub a: String,
    /// The level that is judged.
    pub b: String,
    /// Factors whose levels are compared one by one. Over all others the contrast is an average.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// How the contrast itself differs between two levels of another factor: "helps only when swap is on" is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<Interaction>,
    /// Whether the trial's claim rests on it.
    #[serde(default)]
    pub primary: bool,
}

/// Between which levels of another factor a contrast is compared with itself: its ratio under `b` relative to that under
/// `a`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interaction {
    /// The other factor.
    pub factor: String,
    /// The level that is the base.
    pub a: String,
    /// The level that is judged.
    pub b: String,
}

/// Which rule ends the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppingRule {
    /// After the declared blocks; nothing is analysed before.
    #[default]
    Fixed,
    /// Analyses that spend alpha late: Lan and DeMets with a spending function like O'Brien and Fleming's.
    ObrienFleming,
    /// Analyses that spend alpha evenly: Lan and DeMets with a spending function like Pocock's.
    Pocock,
    /// An analysis after every complete block, by a confidence sequence: for a comparison whose end nobody can plan. The trial ends
    /// when every primary comparison is decided, or after the blocks of the design.
    OpenEnded,
}

impl StoppingRule {
    /// The word in plans and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            StoppingRule::Fixed => "fixed",
            StoppingRule::ObrienFleming => "obrien-fleming",
            StoppingRule::Pocock => "pocock",
            StoppingRule::OpenEnded => "open-ended",
        }
    }
}

/// When the trial ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stopping {
    /// By which rule.
    #[serde(default)]
    pub rule: StoppingRule,
    /// After how many complete blocks to analyse, rising; the last is `design.blocks`. Empty with a spending rule: at 40, 60, 80
    /// and 100 % of the blocks. An open-ended comparison is analysed after every block and declares none.
    // `looks` in plans of earlier versions.
    #[serde(default, alias = "looks", skip_serializing_if = "Vec::is_empty")]
    pub interim_analyses: Vec<u32>,
    /// With `open-ended`: at how many blocks intervals are to be as short as they can be. Half of `design.blocks` unless said
    /// otherwise; whatever it is, intervals hold at every number of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_at: Option<u32>,
    /// Also stop when the declared smallest effect can hardly be found any more (conditional power below 10 %).
    #[serde(default)]
    pub futility: bool,
}

impl Stopping {
    /// After how many complete blocks of `blocks` to analyse.
    #[must_use]
    pub fn interim_analyses(&self, blocks: u32) -> Vec<u32> {
        match self.rule {
            StoppingRule::Fixed => return vec![blocks],
            StoppingRule::OpenEnded => return (super::order::FEWEST_PAIRS.min(blocks)..=blocks).collect(),
            StoppingRule::ObrienFleming | StoppingRule::Pocock => {}
        }
        if !self.interim_analyses.is_empty() {
            return self.interim_analyses.clone();
        }
        let mut analyses: Vec<u32> =
            [4, 6, 8, 10].iter().map(|tenths| (u64::from(blocks) * tenths).div_ceil(10) as u32).collect();
        analyses.retain(|analysis| *analysis >= super::order::FEWEST_PAIRS.min(blocks));
        analyses.dedup();
        analyses
    }
}

/// A run that ended well and is no result all the same, because something outside the comparison went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invalidation {
    /// A measure of the run, or the growth of a counter of `/proc/vmstat`.
    pub number: String,
    /// Invalid above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// Invalid below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Why, for the report.
    pub because: String,
}

/// What a run and what surrounds it are expected to take. Texts with a unit: `20m`, `90s`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cost {
    /// A run of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Everything around a run but boots: restored data, the gate, verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<String>,
    /// A boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Scatter of a run: its standard deviation as a share of its mean, such as `3%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv: Option<String>,
    /// Bytes that a run needs on disk beside its data, such as `12G`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Memory that a run needs, such as `22G`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// What is recorded while a point runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Recording {
    /// Samples of the kernel's memory files a second; 0 records nothing.
    pub hz: f64,
    /// Also where CPUs are: stacks so many times a second and CPU, 1 to 1000; 0 keeps none.
    #[serde(skip_serializing_if = "is_default")]
    pub stacks: u32,
    /// Also how long tasks are held up by reclaim, compaction, throttling and dirty pages.
    #[serde(skip_serializing_if = "is_default")]
    pub stalls: bool,
    /// Also the memory files of the job's own control group.
    #[serde(skip_serializing_if = "is_default")]
    pub cgroup: bool,
}

impl Default for Recording {
    fn default() -> Self {
        Recording { hz: 1.0, ..Recording::nothing() }
    }
}

impl Recording {
    /// No recording at all.
    #[must_use]
    pub fn nothing() -> Recording {
        Recording { hz: 0.0, stacks: 0, stalls: false, cgroup: false }
    }

    /// Whether there is a recording of stacks to compare.
    #[must_use]
    pub fn keeps_stacks(&self) -> bool {
        self.hz > 0.0 && self.stacks > 0
    }

    /// What is recorded beside the kernel's memory files: `stacks 49 times a second and CPU`. Empty for nothing.
    #[must_use]
    pub fn beside_numbers(&self) -> Vec<String> {
        let stacks = (self.stacks > 0).then(|| format!("stacks {} times a second and CPU", self.stacks));
        let stalls = self.stalls.then(|| "stalls".to_owned());
        let cgroup = self.cgroup.then(|| "the job's cgroup".to_owned());
        stacks.into_iter().chain(stalls).chain(cgroup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_asked_for_by_name_and_by_where_its_number_is_found() {
        for (asked, name, from) in [
            ("wall", "wall", None),
            ("regex:score=([0-9]+)", "regex:score=([0-9]+)", None),
            ("score=regex:score=([0-9]+)", "score", Some("regex:score=([0-9]+)")),
            ("done=rate:./done --all", "done", Some("rate:./done --all")),
            ("./p99 --of=regex:x", "./p99 --of=regex:x", None),
            ("V=1 ./p99", "V=1 ./p99", None),
            ("=regex:x", "=regex:x", None),
        ] {
            let (named, found) = Metric::named(asked);
            assert_eq!((named.as_str(), found.as_deref()), (name, from), "{asked}");
            let metric = Metric { name: named, from: found, ..Metric::default() };
            assert_eq!((metric.as_asked().as_str(), metric.place()), (asked, from.unwrap_or(name)));
        }
    }
}
