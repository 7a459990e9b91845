//! What `doctor` found out about a host, as JSON and as a table: what · state · why not · remedy.

use super::facts::HostFacts;
use crate::unit::Bytes;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Name and number of the JSON form.
pub const SCHEMA: &str = "pagewise.doctor/1";

/// Everything `doctor` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// The host in a few lines.
    pub facts: HostFacts,
    /// What was asked of it, most useful first, one area after the other.
    pub capabilities: Vec<Capability>,
    /// What a page walk costs here; absent when it was not measured.
    pub walk_cost: Option<WalkCost>,
    /// Why it was not measured.
    pub walk_cost_absent: Option<String>,
    /// What a trial on this host can vary.
    pub comparable: Comparable,
}

/// What a trial can vary, by the words of the capabilities; the reasons stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparable {
    /// It can.
    pub yes: Vec<String>,
    /// It cannot, here and now.
    pub no: Vec<String>,
    /// It could not be asked.
    pub unknown: Vec<String>,
}

/// One thing this host may have or allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// Stable name for programs, such as `thp.enabled`.
    pub id: String,
    /// Which group it belongs to.
    pub area: Area,
    /// A few words for people.
    pub what: String,
    /// Whether it is there.
    pub state: State,
    /// What was found, when something was.
    pub value: Option<String>,
    /// Why the state is not a plain yes.
    pub why_not: Option<String>,
    /// What would make it one.
    pub remedy: Option<String>,
    /// What a trial can vary where this is there: a word for the summary.
    pub compares: Option<String>,
}

/// Groups of capabilities, in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// Transparent huge pages and the hugetlb pool.
    HugePages,
    /// Watermarks, compaction, MGLRU, DAMON, reclaim on demand, read-ahead.
    Reclaim,
    /// Swap and zram.
    Swap,
    /// Control groups.
    Cgroups,
    /// Others that set the same tunables.
    OtherTuners,
    /// JVMs, Hadoop, Spark.
    Programs,
    /// Pressure, events, counters of the processor.
    Measuring,
    /// User and capabilities.
    Privileges,
    /// Booting other kernels.
    Lab,
}

impl Area {
    /// The heading above the group.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Area::HugePages => "Huge pages",
            Area::Reclaim => "Reclaim, compaction, read-ahead",
            Area::Swap => "Swap",
            Area::Cgroups => "Control groups",
            Area::OtherTuners => "Others that set the same",
            Area::Programs => "Programs",
            Area::Measuring => "Measuring",
            Area::Privileges => "Privileges",
            Area::Lab => "Other kernels",
        }
    }
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is, and can be used.
    Yes,
    /// In part, or to be read but not changed.
    Limited,
    /// It is not.
    No,
    /// It could not be asked. Not the same as no.
    Unknown,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Yes => "yes",
            State::Limited => "limited",
            State::No => "no",
            State::Unknown => "unknown",
        }
    }
}

impl Capability {
    /// It is there, and this was found.
    #[must_use]
    pub fn yes(area: Area, id: &str, what: &str, value: impl Into<String>) -> Self {
        Capability {
            id: id.to_owned(),
            area,
            what: what.to_owned(),
            state: State::Yes,
            value: Some(value.into()).filter(|value| !value.is_empty()),
            why_not: None,
            remedy: None,
            compares: None,
        }
    }

    /// It is not there.
    #[must_use]
    pub fn no(area: Area, id: &str, what: &str, why_not: impl Into<String>, remedy: &str) -> Self {
        Self::yes(area, id, what, "").with(State::No, why_not, remedy)
    }

    /// Whether it is there could not be asked.
    #[must_use]
    pub fn unknown(area: Area, id: &str, what: &str, why_not: impl Into<String>, remedy: &str) -> Self {
        Self::yes(area, id, what, "").with(State::Unknown, why_not, remedy)
    }

    /// Only another state than yes, with its reason and what would help; an empty remedy is none.
    #[must_use]
    pub fn with(mut self, state: State, why_not: impl Into<String>, remedy: &str) -> Self {
        self.state = state;
        self.why_not = Some(why_not.into());
        self.remedy = Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty());
        self
    }

    /// Without what was found, where the reason says it all.
    #[must_use]
    pub fn without_value(mut self) -> Self {
        self.value = None;
        self
    }

    /// What a trial can vary where this is there.
    #[must_use]
    pub fn compares(mut self, word: &str) -> Self {
        self.compares = Some(word.to_owned());
        self
    }

    fn is_there(&self) -> bool {
        self.state == State::Yes
    }
}

/// Latency of dependent random accesses on small and on huge pages, by footprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WalkCost {
    /// Size of the small pages, in bytes.
    pub small_page_bytes: u64,
    /// Size of the huge pages, in bytes.
    pub huge_page_bytes: u64,
    /// A line per footprint, smallest first.
    pub footprints: Vec<FootprintCost>,
    /// Footprints that were left out, with the reason.
    pub left_out: Vec<String>,
    /// CPUs that were not this measurement's but busy, or taken by the hypervisor, on average while it ran. Absent where
    /// `/proc/stat` cannot be read.
    pub others_cpus: Option<f64>,
}

/// One footprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FootprintCost {
    /// Memory that is visited at random, in bytes.
    pub bytes: u64,
    /// Rounds; in each both page sizes are timed, one after the other.
    pub rounds: u32,
    /// Small pages.
    pub small: Latency,
    /// Huge pages.
    pub huge: Latency,
    /// Part of the time that huge pages save, `1 - huge/small`, by round.
    pub saved: Spread,
}

/// Time per access over the rounds, in nanoseconds.
pub type Latency = Spread;

/// A median with the smallest and the largest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Middle.
    pub median: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Of these values; `None` of none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some(Spread { min, median, max })
    }
}

impl WalkCost {
    /// In words: what huge pages saved of what was measured, and what that says nothing about. The references of a nested walk
    /// are those of four levels in guest and host each (Bhargava et al., ASPLOS 2008, section 2).
    #[must_use]
    pub fn verdict(&self, virtual_machine: Option<bool>) -> String {
        // A round in which huge pages lost, beside one in which they won, is noise larger than the effect.
        let noisy: Vec<_> =
            self.footprints.iter().filter(|line| line.saved.min <= 0.0 && line.saved.max >= 0.0).collect();
        let clear = self.footprints.iter().filter(|line| line.saved.min > 0.0);
        let most = clear.max_by(|a, b| a.saved.median.total_cmp(&b.saved.median));
        let percent = |part: f64| format!("{:.0}", part * 100.0);
        let mut said = Vec::new();
        match most {
            None => said.push("No saving by huge pages could be told from noise.".to_owned()),
            Some(most) => {
                said.push(format!(
                    "Huge pages took {} % off the time of random access to {} ({} to {} % by round), the most of what was \
                     measured.",
                    percent(most.saved.median),
                    Bytes(most.bytes),
                    percent(most.saved.min),
                    percent(most.saved.max),
                ));
                if !noisy.is_empty() {
                    let sizes: Vec<_> = noisy.iter().map(|line| Bytes(line.bytes).to_string()).collect();
                    said.push(format!("Of {} nothing can be said: rounds differ in sign.", sizes.join(", ")));
                }
            }
        }
        let is_spread = |line: &FootprintCost| line.saved.max - line.saved.min > LARGE_SPREAD;
        let busy = self.others_cpus.filter(|cpus| *cpus > BUSY_CPUS);
        match (busy, most.is_some_and(is_spread)) {
            (Some(cpus), _) => said.push(format!(
                "Others kept {cpus:.1} CPUs busy meanwhile, which hides what huge pages save: ask again on a quiet host."
            )),
            (None, true) => said.push("Rounds differ much: ask again, and believe what comes back.".to_owned()),
            (None, false) => {}
        }
        let largest = self.footprints.iter().map(|line| line.bytes).max().unwrap_or(0);
        said.push(if largest < LARGEST_FOOTPRINT {
            format!(
                "A job with more memory than {} can save more, and none of that was measured (pagewise doctor --walk-cost \
                 goes up to {}); one that also computes saves less.",
                Bytes(largest),
                Bytes(LARGEST_FOOTPRINT)
            )
        } else {
            "A job with more memory can save more, one that also computes saves less.".to_owned()
        });
        said.push("Only a trial with the job itself tells: see pagewise help prove.".to_owned());
        if virtual_machine == Some(true) {
            said.push(
                "In a virtual machine a page walk may pass through two page tables (nested paging): up to 24 memory \
                 references in place of 4."
                    .to_owned(),
            );
        }
        said.join(" ")
    }
}

/// The largest footprint that a thorough measurement asks for, in bytes.
pub const LARGEST_FOOTPRINT: u64 = 2 << 30;
/// Rounds whose savings lie further apart than this part of the time are said to.
const LARGE_SPREAD: f64 = 0.15;
/// CPUs of others from which on a measurement is said to be disturbed: what an idle host's own services take is less.
const BUSY_CPUS: f64 = 0.2;

/// What a trial can vary where these capabilities hold. A word that several share is told once: a yes anywhere wins,
/// then what is not known.
#[must_use]
pub fn comparable(capabilities: &[Capability]) -> Comparable {
    let mut told: Vec<String> = Vec::new();
    let mut words = |wanted: &dyn Fn(State) -> bool| {
        let first = told.len();
        for capability in capabilities.iter().filter(|capability| wanted(capability.state)) {
            if let Some(word) = capability.compares.clone().filter(|word| !told.contains(word)) {
                told.push(word);
            }
        }
        told[first..].to_vec()
    };
    let yes = words(&|state| state == State::Yes);
    let unknown = words(&|state| state == State::Unknown);
    let no = words(&|state| matches!(state, State::No | State::Limited));
    Comparable { yes, no, unknown }
}

/// Widths of a line: what, state, and the rest of 80 columns with the gaps between.
const WHAT: u16 = 21;
const STATE: u16 = 9;
const LINE: u16 = 79;
const REST: u16 = LINE - 2 - WHAT - STATE;

impl DoctorReport {
    /// For a terminal of 80 columns, without colour.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = paragraph(&headline(&self.facts));
        let header = ["what", "state", "found; why not → what to do"].map(str::to_owned);
        let _ = write!(text, "\n{}", table(&[header]));
        let mut areas: Vec<Area> = self.capabilities.iter().map(|c| c.area).collect();
        areas.sort();
        areas.dedup();
        for area in areas {
            let rows: Vec<[String; 3]> = self.capabilities.iter().filter(|c| c.area == area).map(row).collect();
            let _ = write!(text, "\n{}\n{}", area.title(), table(&rows));
        }
        let _ = write!(text, "\nWhat a page walk costs\n{}", self.walk_text());
        let Comparable { yes, no, unknown } = &self.comparable;
        text.push('\n');
        for (label, words) in [("Can compare:", yes), ("Cannot compare:", no), ("Not known:", unknown)] {
            if !words.is_empty() {
                text.push_str(&hanging(label, &words.join(", ")));
            }
        }
        text
    }

    fn walk_text(&self) -> String {
        let Some(cost) = &self.walk_cost else {
            return paragraph_indented(&format!(
                "Not measured: {}.",
                self.walk_cost_absent.as_deref().unwrap_or("not asked")
            ));
        };
        let mut text = cost.table();
        if self.capabilities.iter().any(|c| c.id == "perf.pmu" && !c.is_there()) {
            let text_above = "No TLB counters can be read here: latency of dependent accesses stands in for them.";
            text.push_str(&paragraph_indented(text_above));
        }
        for left_out in &cost.left_out {
            text.push_str(&paragraph_indented(&format!("Left out: {left_out}.")));
        }
        text.push_str(&paragraph_indented(&cost.verdict(self.facts.virtual_machine)));
        text
    }
}

impl WalkCost {
    /// A line per footprint.
    fn table(&self) -> String {
        let mut text = String::new();
        let sizes = (Bytes(self.small_page_bytes), Bytes(self.huge_page_bytes));
        let columns = (format!("{} pages", sizes.0), format!("{} pages", sizes.1));
        let _ = writeln!(text, "  {:>10}   {:>19}   {:>19}   {:>18}", "footprint", columns.0, columns.1, "saved");
        for line in &self.footprints {
            let nanoseconds = |s: &Spread| format!("{:.1} ns ({:.0}-{:.0})", s.median, s.min, s.max);
            let percent = |part: f64| format!("{:.0}", part * 100.0);
            let saved =
                format!("{}% ({} to {})", percent(line.saved.median), percent(line.saved.min), percent(line.saved.max));
            let _ = writeln!(
                text,
                "  {:>10}   {:>19}   {:>19}   {:>18}",
                Bytes(line.bytes).to_string(),
                nanoseconds(&line.small),
                nanoseconds(&line.huge),
                saved
            );
        }
        text.push_str("  (per dependent random access: median over the rounds, least-most)\n");
        text
    }
}

/// The host in one paragraph.
fn headline(facts: &HostFacts) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut say = |fact: Option<String>| parts.extend(fact);
    say(facts.kernel.as_ref().map(|release| format!("Linux {release}")));
    say(facts.cpus.map(|cpus| format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" })));
    say(facts.cpu_model.clone());
    say(facts.memory_bytes.map(|bytes| format!("{} memory", Bytes(bytes))));
    say(facts.swap_bytes.map(|bytes| if bytes == 0 { "no swap".to_owned() } else { format!("{} swap", Bytes(bytes)) }));
    say(facts.virtual_machine.filter(|virtual_machine| *virtual_machine).map(|_| "virtual machine".to_owned()));
    say(facts
        .free_page_reporting
        .filter(|reports| *reports)
        .map(|_| "free memory goes back to the hypervisor".to_owned()));
    say(facts.disk_kind.as_ref().map(|kind| format!("{kind} disk")));
    parts.join(", ")
}

/// Name, state, and in the third column what was found, or why not and after an arrow what to do.
fn row(capability: &Capability) -> [String; 3] {
    let mut says: Vec<String> = Vec::new();
    match (&capability.value, &capability.why_not) {
        (Some(value), Some(why_not)) => says.push(format!("{value}; {why_not}")),
        (Some(only), None) | (None, Some(only)) => says.push(only.clone()),
        (None, None) => {}
    }
    if let Some(remedy) = &capability.remedy {
        says.push(format!("→ {remedy}"));
    }
    let on_one_line = says.join(" ");
    let fits = on_one_line.chars().count() < usize::from(REST);
    let says = if fits { on_one_line } else { says.join("\n") };
    [capability.what.clone(), capability.state.word().to_owned(), says]
}

fn table(rows: &[[String; 3]]) -> String {
    let widths = [2 + WHAT, STATE, REST];
    columns(rows.iter().map(|[what, state, says]| [format!("  {what}"), state.clone(), says.clone()]), &widths)
}

fn columns<const N: usize>(rows: impl Iterator<Item = [String; N]>, widths: &[u16]) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(widths.iter().sum());
    table.load_style(comfy_table::presets::NOTHING);
    for row in rows {
        table.add_row(row.map(|cell| printable(&cell)));
    }
    table.set_constraints(widths.iter().map(|width| ColumnConstraint::Absolute(Width::Fixed(*width))));
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let mut text: String = table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n");
    if text == "\n" {
        text.clear();
    }
    text
}

/// What comes from files of a foreign tree must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

fn paragraph(text: &str) -> String {
    columns([[text.to_owned()]].into_iter(), &[LINE])
}

fn paragraph_indented(text: &str) -> String {
    columns([[" ".to_owned(), text.to_owned()]].into_iter(), &[2, LINE - 2])
}

fn hanging(label: &str, text: &str) -> String {
    const LABEL: u16 = 17;
    columns([[label.to_owned(), text.to_owned()]].into_iter(), &[LABEL, LINE - LABEL])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> DoctorReport {
        let capabilities = vec![
            Capability::yes(Area::HugePages, "thp.enabled", "THP enabled", "madvise").compares("THP"),
            Capability::no(
                Area::Reclaim,
                "mglru",
                "MGLRU",
                "this kernel was built without it (CONFIG_LRU_GEN), as its missing folder tells",
                "boot another kernel: pagewise lab boot",
            )
            .compares("MGLRU"),
            Capability::unknown(Area::Lab, "kvm", "KVM", "not asked: another host's tree", "").compares("THP"),
        ];
        let comparable = comparable(&capabilities);
        let line = |mib: u64, saved: f64| FootprintCost {
            bytes: mib << 20,
            rounds: 3,
            small: Spread { min: 90.0, median: 100.04, max: 120.0 },
            huge: Spread { min: 50.0, median: 60.0, max: 70.0 },
            saved: Spread { min: saved - 0.1, median: saved, max: saved + 0.1 },
        };
        DoctorReport {
            schema: SCHEMA.to_owned(),
            facts: HostFacts {
                kernel: Some("6.12.0".to_owned()),
                cpus: Some(2),
                memory_bytes: Some(24 << 30),
                swap_bytes: Some(0),
                virtual_machine: Some(true),
                ..HostFacts::default()
            },
            capabilities,
            walk_cost: Some(WalkCost {
                small_page_bytes: 4096,
                huge_page_bytes: 2 << 20,
                footprints: vec![line(4, 0.02), line(512, 0.4)],
                left_out: vec![],
                others_cpus: Some(0.05),
            }),
            walk_cost_absent: None,
            comparable,
        }
    }

    #[test]
    fn every_line_fits_80_columns_and_ends_without_blanks() {
        for line in report().text().lines() {
            assert!(line.chars().count() <= 80, "too long: {line}");
            assert_eq!(line.trim_end(), line);
        }
    }

    #[test]
    fn a_no_carries_its_reason_and_its_remedy() {
        let text = report().text();
        assert!(text.contains("MGLRU"), "{text}");
        assert!(text.contains("this kernel was built without it"), "{text}");
        assert!(text.contains("→ boot another kernel: pagewise lab boot"), "{text}");
    }

    #[test]
    fn text_from_a_foreign_tree_cannot_steer_the_terminal() {
        let mut report = report();
        report.capabilities[0].value = Some("\u{1b}[2Jmadvise".to_owned());
        assert!(!report.text().contains('\u{1b}'));
    }

    #[test]
    fn the_summary_names_each_thing_once_and_a_yes_anywhere_wins() {
        let report = report();
        assert_eq!(report.comparable.yes, ["THP"]);
        assert_eq!(report.comparable.no, ["MGLRU"]);
        assert_eq!(report.comparable.unknown, Vec::<String>::new(), "KVM shares THP's word here");
    }

    #[test]
    fn what_was_measured_is_told_and_no_bound_for_what_was_not() {
        let cost = report().walk_cost.expect("a walk cost");
        let verdict = cost.verdict(Some(true));
        assert!(verdict.contains("40 % off the time of random access to 512 MiB"), "{verdict}");
        assert!(
            verdict.contains("more memory than 512 MiB can save more") && !verdict.contains("at most"),
            "{verdict}"
        );
        assert!(verdict.contains("--walk-cost") && !verdict.contains("Others"), "{verdict}");
        assert!(verdict.contains("nested paging") && !cost.verdict(Some(false)).contains("nested paging"));
    }

    #[test]
    fn after_the_longest_measurement_no_longer_one_is_offered() {
        let mut cost = report().walk_cost.expect("a walk cost");
        cost.footprints[1].bytes = LARGEST_FOOTPRINT;
        assert!(!cost.verdict(None).contains("--walk-cost"), "{}", cost.verdict(None));
    }

    #[test]
    fn a_busy_host_and_rounds_far_apart_are_told() {
        let mut cost = report().walk_cost.expect("a walk cost");
        cost.others_cpus = Some(1.25);
        assert!(cost.verdict(None).contains("Others kept 1.2 CPUs busy"), "{}", cost.verdict(None));
        cost.others_cpus = None;
        cost.footprints[1].saved = Spread { min: 0.1, median: 0.2, max: 0.3 };
        assert!(cost.verdict(None).contains("Rounds differ much"), "{}", cost.verdict(None));
    }

    #[test]
    fn a_saving_that_changes_sign_between_rounds_is_called_noise() {
        let mut cost = report().walk_cost.expect("a walk cost");
        cost.footprints[0].saved.min = -0.1;
        assert!(cost.verdict(None).contains("Of 4 MiB nothing can be said"), "{}", cost.verdict(None));
        cost.footprints.truncate(1);
        assert!(cost.verdict(None).contains("could be told from noise"), "{}", cost.verdict(None));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(Spread::of(&[4.0, 1.0, 3.0, 2.0]), Some(Spread { min: 1.0, median: 2.5, max: 4.0 }));
        assert_eq!(Spread::of(&[]), None);
    }
}
