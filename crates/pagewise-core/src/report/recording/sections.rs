//! What a page says of a recording in words and tables: what it is, what is missing, settings, marks, stalls, own cost.
//!
//! Names and values come from kernels, programs and users: everything goes through `printable` here, and through the
//! templates' escaping after that.

use super::decimate::Timeline;
use super::flame::Flame;
use super::lines::lines;
use super::processes::{ProcessLine, process_lines};
use crate::recording::{Durations, Gap, Mark, Recorded, Setting, StallKind, StallRow, Walk};
use crate::report::number;
use crate::report::printable::printable;
use crate::unit::Seconds;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Longest list of marks, gaps and changes on a page; the recording has all.
const MOST_ROWS: usize = 400;

/// A label and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is about.
    pub label: String,
    /// What it says.
    pub value: String,
}

/// Something at an instant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instant {
    /// Seconds after the first tick.
    pub at: f64,
    /// UTC.
    pub time: String,
    /// What.
    pub text: String,
}

/// A stretch that was not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapRow {
    /// Seconds after the first tick.
    pub from: f64,
    /// The same; `None`: to the end.
    pub to: Option<f64>,
    /// UTC.
    pub time: String,
    /// How long.
    pub length: String,
    /// What was not seen.
    pub source: String,
    /// Whether nothing at all was.
    pub is_all: bool,
    /// Why, in words.
    pub reason: String,
    /// Why exactly.
    pub detail: String,
}

/// A setting through the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingRow {
    /// Its name.
    pub name: String,
    /// Its value at the start.
    pub start: String,
    /// Each change: when (UTC), and to what.
    pub changes: Vec<(String, String)>,
}

/// What held one process up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StallSum {
    /// What held it up.
    pub kind: String,
    /// Which one.
    pub process: String,
    /// How often.
    pub count: String,
    /// How long in all.
    pub total: String,
    /// The 99th percentile, at most.
    pub p99: String,
    /// The longest.
    pub longest: String,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sections {
    /// What the page calls the recording.
    pub name: String,
    /// What is wrong with it.
    pub troubles: Vec<String>,
    /// The few numbers of the head.
    pub headline: Vec<Fact>,
    /// Where and how it was recorded.
    pub facts: Vec<Fact>,
    /// What recording cost.
    pub cost: Vec<Fact>,
    /// What was not seen.
    pub gaps: Vec<GapRow>,
    /// More gaps than are listed.
    pub more_gaps: usize,
    /// Every setting.
    pub settings: Vec<SettingRow>,
    /// Changes of settings in time.
    pub changes: Vec<Instant>,
    /// Notes in time.
    pub marks: Vec<Instant>,
    /// What held whom up, the longest first. `None`: not recorded.
    pub stalls: Option<Vec<StallSum>>,
    /// Processes that used most, the largest first. `None`: not recorded.
    pub processes: Option<Vec<ProcessLine>>,
}

/// What they are made from.
pub(super) struct Material<'a, R> {
    pub(super) name: &'a str,
    pub(super) recording: &'a R,
    pub(super) timeline: &'a Timeline,
    pub(super) flame: Option<&'a Flame>,
    pub(super) stalls: Option<&'a [StallRow]>,
    pub(super) walks: Option<&'a [Walk]>,
    pub(super) settings: Vec<Setting>,
    pub(super) marks: Vec<Mark>,
    pub(super) troubles: Vec<String>,
    pub(super) origin: u64,
    pub(super) last: u64,
    pub(super) offset: i64,
    pub(super) ticks: u64,
}

impl<R> Material<'_, R> {
    fn seconds(&self, at: u64) -> f64 {
        ((at as f64 - self.origin as f64) * 1e-6).round() / 1e3
    }

    fn time(&self, at: u64) -> String {
        utc(i128::from(at) + i128::from(self.offset))
    }
}

/// An instant in nanoseconds since 1970, to the second.
fn utc(at: i128) -> String {
    jiff::Timestamp::from_nanosecond(at)
        .map_or_else(|_| number::NONE.to_owned(), |instant| instant.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

fn fact(label: &str, value: impl Into<String>) -> Fact {
    Fact { label: label.to_owned(), value: value.into() }
}

impl Sections {
    pub(super) fn of<R: Recorded>(material: Material<'_, R>) -> Sections {
        let about = |key: &str| material.recording.about(key).map(printable).filter(|value| !value.is_empty());
        let length = Seconds(material.last.saturating_sub(material.origin) as f64 * 1e-9);
        let is_complete = about("complete").is_none_or(|complete| complete == "1");
        let mut troubles: Vec<String> = material.troubles.iter().map(|text| printable(text)).collect();
        if !is_complete {
            let why = about("ended").unwrap_or_else(|| "it still grew, or its writer was killed".to_owned());
            let most = about("loses_at_most_seconds").unwrap_or_else(|| "5".to_owned());
            troubles.push(format!(
                "The recording did not come to its planned end: {why}. At most its last {most} seconds are missing."
            ));
        }
        let mut headline =
            vec![fact("length", length.to_string()), fact("samples", number::count(material.ticks as f64))];
        let mut facts = vec![
            fact("from", format!("{} UTC", material.time(material.origin))),
            fact("to", format!("{} UTC", material.time(material.last))),
        ];
        let keys = [("kernel", "kernel"), ("hz", "samples a second"), ("pagewise", "recorded by Pagewise")];
        facts.extend(keys.iter().filter_map(|(key, label)| Some(fact(label, about(key)?))));
        if let Some(taken) = about("snapshot") {
            facts.push(fact("a snapshot", format!("taken {taken}; what came later is not in it")));
        }
        match material.flame {
            Some(flame) => {
                headline.push(fact("stack samples", number::count(flame.total as f64)));
                let event = flame.event.clone().unwrap_or_else(|| "unknown".to_owned());
                let hz =
                    flame.hz.map_or(String::new(), |hz| format!(", {} a second and CPU", number::significant(hz, 3)));
                facts.push(fact("stacks by", format!("{event}{hz}")));
                facts.push(fact("stack samples lost", number::count(flame.lost as f64)));
            }
            None => facts.push(fact("stacks", "not recorded")),
        }
        let mut gaps: Vec<&Gap> = material.recording.gaps().iter().collect();
        // Those of everything first, then the longest.
        gaps.sort_by_key(|gap| {
            (gap.source.is_some(), std::cmp::Reverse(gap.to.unwrap_or(u64::MAX).saturating_sub(gap.from)), gap.from)
        });
        let more_gaps = gaps.len().saturating_sub(MOST_ROWS);
        if !gaps.is_empty() {
            headline.push(fact("gaps", gaps.len().to_string()));
        }
        let gaps = gaps.into_iter().take(MOST_ROWS).map(|gap| gap_row(gap, &material)).collect();
        let marks = material.marks.iter().take(MOST_ROWS).map(|mark| Instant {
            at: material.seconds(mark.ts),
            time: material.time(mark.ts),
            text: printable(&mark.text),
        });
        let (settings, changes) = settings(&material);
        Sections {
            name: printable(material.name),
            troubles,
            headline,
            facts,
            cost: cost(&material, about("own_cpu_us"), length.0),
            gaps,
            more_gaps,
            settings,
            changes,
            marks: marks.collect(),
            stalls: material.stalls.map(stall_sums),
            processes: material.walks.map(|walks| process_lines(walks, |at| material.time(at))),
        }
    }
}

fn gap_row<R>(gap: &Gap, material: &Material<'_, R>) -> GapRow {
    use crate::recording::GapReason::{
        Evicted, Late, Lost, Missing, NotUnderstood, Other, Stopped, Suspended, Thinned, Unreadable, Waiting,
        WriterBehind,
    };
    let reason = match &gap.reason {
        Missing => "not on this kernel, or not for us to read".to_owned(),
        Unreadable => "could not be read".to_owned(),
        NotUnderstood => "did not look as it should".to_owned(),
        Late => "the recorder woke up late".to_owned(),
        Suspended => "the machine was suspended".to_owned(),
        WriterBehind => "the disk took nothing".to_owned(),
        Evicted => "removed to stay below the size cap".to_owned(),
        Stopped => "the recording was stopped".to_owned(),
        Lost => "the kernel lost some of it".to_owned(),
        Thinned => "so much that one in several was kept".to_owned(),
        Waiting => "nothing was recorded while there was no trouble".to_owned(),
        Other(word) => printable(word),
    };
    let length = gap
        .to
        .map_or_else(|| "to the end".to_owned(), |to| Seconds(to.saturating_sub(gap.from) as f64 * 1e-9).to_string());
    GapRow {
        from: material.seconds(gap.from),
        to: gap.to.map(|to| material.seconds(to)),
        time: material.time(gap.from),
        length,
        source: gap.source.as_deref().map_or_else(|| "everything".to_owned(), printable),
        is_all: gap.source.is_none(),
        reason,
        detail: printable(&gap.detail),
    }
}

fn settings<R>(material: &Material<'_, R>) -> (Vec<SettingRow>, Vec<Instant>) {
    let mut rows: BTreeMap<&str, SettingRow> = BTreeMap::new();
    let mut changes = Vec::new();
    for setting in &material.settings {
        let value = setting.value.as_deref().map_or_else(|| "not readable".to_owned(), printable);
        let name = printable(&setting.path);
        match rows.get_mut(setting.path.as_str()) {
            None => {
                let row = SettingRow { name, start: value, changes: Vec::new() };
                rows.insert(&setting.path, row);
            }
            Some(row) => {
                if changes.len() < MOST_ROWS {
                    let (at, time) = (material.seconds(setting.ts), material.time(setting.ts));
                    row.changes.push((time.clone(), value.clone()));
                    changes.push(Instant { at, time, text: format!("{name} = {value}") });
                }
            }
        }
    }
    (rows.into_values().collect(), changes)
}

fn cost<R>(material: &Material<'_, R>, own_cpu_us: Option<String>, length: f64) -> Vec<Fact> {
    let mut cost = Vec::new();
    let measured = own_cpu_us.and_then(|us| us.parse::<f64>().ok()).map(|us| us * 1e-6).filter(|_| length > 0.0);
    let at = lines().position(|line| line.id == "own_cpu");
    let of_line = at.and_then(|at| material.timeline.lines.get(at)?.as_ref()).and_then(|values| {
        let weighed = values.mean.0.iter().zip(&material.timeline.ticks);
        let (sum, count) = weighed.fold((0.0, 0.0), |(sum, count), (mean, ticks)| {
            mean.map_or((sum, count), |mean| (sum + mean * f64::from(*ticks), count + f64::from(*ticks)))
        });
        (count > 0.0).then(|| sum / count)
    });
    if let Some(share) = measured.map(|cpu| cpu / length).or(of_line) {
        cost.push(fact("CPU", format!("{} of one core", number::percent(share))));
    }
    if let Some(cpu) = measured {
        cost.push(fact("CPU time", Seconds(cpu).to_string()));
    }
    cost
}

/// What held whom up: a row per kind and name, the longest in all first.
fn stall_sums(rows: &[StallRow]) -> Vec<StallSum> {
    let mut sums: HashMap<(StallKind, &str), Durations> = HashMap::new();
    for row in rows {
        sums.entry((row.kind, &row.comm)).or_default().merge(&row.durations);
    }
    let mut sums: Vec<((StallKind, &str), Durations)> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total().cmp(&a.1.total()).then_with(|| a.0.cmp(&b.0)));
    let time = |nanoseconds: u64| Seconds(nanoseconds as f64 * 1e-9).to_string();
    let sum = |((kind, comm), durations): ((StallKind, &str), Durations)| {
        // Collapses are counted, not timed.
        let is_timed = kind != StallKind::Collapse;
        let timed = |text: String| if is_timed { text } else { number::NONE.to_owned() };
        StallSum {
            kind: kind_words(kind).to_owned(),
            process: printable(comm),
            count: number::count(durations.count() as f64),
            total: timed(time(durations.total())),
            p99: timed(durations.quantile(0.99).map_or_else(|| number::NONE.to_owned(), time)),
            longest: timed(time(durations.longest())),
        }
    };
    sums.into_iter().take(30).map(sum).collect()
}

fn kind_words(kind: StallKind) -> &'static str {
    match kind {
        StallKind::DirectReclaim => "direct reclaim",
        StallKind::CgroupReclaim => "reclaim within a cgroup",
        StallKind::Compaction => "compaction",
        StallKind::BackgroundCompaction => "compaction in the background",
        StallKind::Throttled => "throttled in reclaim",
        StallKind::Collapse => "huge page collapsed",
        StallKind::DirtyBalance => "dirty balancing",
        StallKind::SwapIn => "waiting for swap",
        StallKind::MapLock => "waiting for a map of memory",
    }
}
