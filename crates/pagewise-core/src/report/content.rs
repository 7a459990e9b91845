//! What a report says, as words and tables. Text, Markdown and HTML lay the same content out.

use super::command_line::{COMMAND_WIDTH, in_lines, shell_line};
use super::facts::HostFacts;
use super::functions::{self, Functions};
use super::number;
use super::printable::printable;
use super::two_arms::{Arm, TwoArms};
use super::words;
use crate::comparison::estimate::FALSE_DISCOVERY_RATE;
use crate::experiment::analysis::{CounterContrast, Effect, Interval, MeasureContrast, POWER, PointMark};
use crate::experiment::live::{Live, WHATEVER_RUNS};
use crate::experiment::plan::{Design, DropCaches, Workload};
use crate::experiment::point::Outcome;
use crate::metric::Direction;
use crate::stats::power::MOST_PAIRS;
use crate::unit::{Bytes, Seconds};
use serde::Serialize;

/// As many counters as people read; the JSON has all.
const MOST_COUNTERS: usize = 15;

/// As many functions as people read; the JSON has all that stand out.
const MOST_FUNCTIONS: usize = 15;

/// As many unhappy runs as are told one by one.
const MOST_INCIDENTS: usize = 12;

/// The whole report in words.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Content {
    pub(super) name: String,
    pub(super) verdict: Verdict,
    /// The few numbers one looks for first.
    pub(super) headline: Vec<Line>,
    pub(super) arms: Table,
    pub(super) effect: Vec<Line>,
    pub(super) incidents: Vec<String>,
    pub(super) measures: Table,
    pub(super) measures_note: String,
    pub(super) counters: Table,
    pub(super) counters_note: String,
    /// Where runs kept stacks.
    pub(super) functions: Option<Functions>,
    pub(super) warnings: Vec<Warning>,
    pub(super) notes: Vec<String>,
    pub(super) design: Vec<Line>,
    pub(super) host: Vec<Line>,
    pub(super) commands: Vec<String>,
    pub(super) method: Vec<String>,
    pub(super) origin: String,
}

/// The conclusion.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) word: String,
    /// The word in lower case, for a style.
    pub(super) tone: String,
    pub(super) sentence: String,
    /// Its first sentence in pieces: every second one stood between backticks and is a name.
    pub(super) first: Vec<String>,
    /// What follows it, likewise.
    pub(super) rest: Vec<String>,
    pub(super) meaning: String,
}

/// A table: the first column names the row.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// The same without one column.
    pub(super) fn without(&self, column: usize) -> Table {
        let keep = |cells: &Vec<String>| {
            cells.iter().enumerate().filter(|(n, _)| *n != column).map(|(_, cell)| cell.clone()).collect::<Vec<_>>()
        };
        Table { head: keep(&self.head), rows: self.rows.iter().map(keep).collect() }
    }
}

/// A name and its value.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) label: String,
    pub(super) value: String,
}

/// A warning with its remedy.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Warning {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) remedy: String,
}

pub(super) fn line(label: impl Into<String>, value: impl Into<String>) -> Line {
    Line { label: label.into(), value: value.into() }
}

impl Content {
    pub(super) fn of(two: &TwoArms<'_>) -> Content {
        let report = two.report;
        Content {
            name: printable(&two.analysis.name),
            verdict: verdict(two),
            headline: headline(two),
            arms: arms(two),
            effect: effect(two),
            incidents: incidents(two),
            measures: measures(two),
            measures_note: measures_note(two),
            counters: counters(two),
            counters_note: counters_note(two),
            functions: functions_of(two),
            warnings: warnings(two),
            notes: report.notes.iter().map(|note| printable(note)).collect(),
            design: design(two),
            host: hosts(&report.hosts),
            commands: report.commands.iter().map(|command| in_lines(&printable(command), COMMAND_WIDTH)).collect(),
            method: words::method(two)
                .into_iter()
                .chain(report.plan.live.as_ref().map(words::live_method))
                .chain(two.one.stacks.as_ref().map(|_| functions::METHOD.to_owned()))
                .collect(),
            origin: format!(
                "Pagewise {}, analysis version {}, from {}, run {}.",
                printable(&report.pagewise),
                two.analysis.version,
                printable(&report.bundle),
                printable(&report.created)
            ),
        }
    }

    /// The same with every text changed by `change`, commands excepted: they are copied to a shell.
    pub(super) fn map(mut self, change: impl Fn(&str) -> String) -> Content {
        let apply = |text: &mut String| *text = change(text);
        let lines = [&mut self.headline, &mut self.effect, &mut self.design, &mut self.host];
        for line in lines.into_iter().flatten() {
            apply(&mut line.label);
            apply(&mut line.value);
        }
        for table in [&mut self.arms, &mut self.measures, &mut self.counters] {
            table.head.iter_mut().chain(table.rows.iter_mut().flatten()).for_each(apply);
        }
        let verdict = &mut self.verdict;
        for list in [&mut self.incidents, &mut self.notes, &mut self.method, &mut verdict.first, &mut verdict.rest] {
            list.iter_mut().for_each(apply);
        }
        for warning in &mut self.warnings {
            [&mut warning.id, &mut warning.text, &mut warning.remedy].into_iter().for_each(apply);
        }
        if let Some(functions) = &mut self.functions {
            functions.map(&change);
        }
        let single = [
            &mut self.name,
            &mut verdict.word,
            &mut verdict.sentence,
            &mut verdict.meaning,
            &mut self.measures_note,
            &mut self.counters_note,
            &mut self.origin,
        ];
        single.into_iter().for_each(apply);
        self
    }
}

/// `A: never`, or just `A` when the level is called so.
pub(super) fn arm_name(letter: &str, arm: &Arm<'_>) -> String {
    if arm.level.eq_ignore_ascii_case(letter) {
        letter.to_owned()
    } else {
        format!("{letter}: {}", printable(arm.level))
    }
}

pub(super) fn interval_of_ratio(interval: Interval) -> String {
    format!("{} to {}", number::significant(interval.low, 4), number::significant(interval.high, 4))
}

/// A ratio and its interval as the changes they are, all in one unit.
fn as_changes(ratio: f64, interval: Interval) -> (String, String) {
    let [ratio, low, high] = number::changes([ratio, interval.low, interval.high]);
    (ratio, format!("{low} to {high}"))
}

fn verdict(two: &TwoArms<'_>) -> Verdict {
    let has_runs = two.one.outcomes.a_total + two.one.outcomes.b_total > 0;
    let word = if has_runs { words::verdict_word(two.one.conclusion) } else { "Nothing measured" };
    let sentence = with_emulation(printable(&two.one.sentence), &two.report.hosts);
    let (first, rest) = first_sentence(pieces(&sentence));
    Verdict {
        word: word.to_owned(),
        tone: words::verdict_word(two.one.conclusion).to_lowercase(),
        first,
        rest,
        sentence,
        meaning: words::verdict_meaning(two),
    }
}

/// What a reader must know of emulated processors before any number of time.
pub(super) fn with_emulation(sentence: String, hosts: &[HostFacts]) -> String {
    if !hosts.iter().any(|host| host.emulated == Some(true)) {
        return sentence;
    }
    let end = if sentence.ends_with('.') { "" } else { "." };
    format!(
        "{sentence}{end} The processor was emulated (TCG): times compare with each other only; read first what the kernels counted."
    )
}

/// A sentence whose backticks do not match, because a name holds one, is one piece.
pub(super) fn pieces(sentence: &str) -> Vec<String> {
    if sentence.matches('`').count() % 2 == 1 {
        return vec![sentence.to_owned()];
    }
    sentence.split('`').map(str::to_owned).collect()
}

/// Cuts after the first full stop that a space follows, outside of names.
pub(super) fn first_sentence(mut pieces: Vec<String>) -> (Vec<String>, Vec<String>) {
    let Some(cut) = pieces.iter().step_by(2).position(|piece| piece.contains(". ")) else {
        return (pieces, Vec::new());
    };
    let mut rest = pieces.split_off(2 * cut);
    if let Some((end, start)) = rest[0].split_once(". ").map(|(end, start)| (format!("{end}."), start.to_owned())) {
        pieces.push(end);
        rest[0] = start;
    }
    (pieces, rest)
}

fn outcomes(arm: &Arm<'_>) -> String {
    let known = Outcome::ALL.iter().filter_map(|outcome| {
        let word = outcome.word();
        arm.outcomes.get(word).filter(|count| **count > 0).map(|count| format!("{count} {word}"))
    });
    let text = known.collect::<Vec<_>>().join(", ");
    if text.is_empty() { number::NONE.to_owned() } else { text }
}

fn policy(arm: &Arm<'_>) -> String {
    match arm.policy.trim() {
        "" | "now" => "now (host left as it was)".to_owned(),
        policy => printable(policy),
    }
}

fn arms(two: &TwoArms<'_>) -> Table {
    let (a, b) = (&two.a, &two.b);
    let unit = &printable(two.unit());
    let value = |value: Option<f64>| value.map_or(number::NONE.to_owned(), |v| number::with_unit(v, unit));
    let row = |label: &str, a: String, b: String| vec![label.to_owned(), a, b];
    let metric = printable(&two.metric.metric.name);
    Table {
        head: vec![String::new(), arm_name("A", a), arm_name("B", b)],
        rows: vec![
            row("policy", policy(a), policy(b)),
            row("outcomes", outcomes(a), outcomes(b)),
            row("n", a.values.n.to_string(), b.values.n.to_string()),
            row(&format!("{metric}, mean"), value(a.values.mean), value(b.values.mean)),
            row("median", value(a.values.median), value(b.values.median)),
            row("SD", value(a.values.sd), value(b.values.sd)),
        ],
    }
}

fn headline(two: &TwoArms<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(effect) = &two.one.effect {
        let (change, interval) = as_changes(effect.ratio, effect.interval);
        lines.push(line("B against A", change));
        let confidence = number::percent(1.0 - two.analysis.alpha);
        lines.push(line(format!("{confidence} interval"), interval));
        lines.extend(effect.randomisation_p.map(|p| line("randomisation p", number::p_value(p))));
    }
    lines.push(line("complete pairs", format!("{} of {}", two.one.blocks, two.analysis.blocks_planned)));
    let bad = two.one.outcomes.a_bad + two.one.outcomes.b_bad;
    if bad > 0 {
        lines.push(line("ended badly", format!("A {}, B {}", two.one.outcomes.a_bad, two.one.outcomes.b_bad)));
    }
    lines
}

fn effect(two: &TwoArms<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    match (&two.one.effect, &two.one.no_effect_because) {
        (Some(effect), _) => lines.extend(effect_lines(two, effect)),
        (None, Some(reason)) => lines.push(line("ratio B / A", format!("none: {}", printable(reason)))),
        (None, None) => lines.push(line("ratio B / A", "none")),
    }
    lines.push(line("complete pairs", format!("{} of {}", two.one.blocks, two.analysis.blocks_planned)));
    lines.extend(failures(two));
    if let Some(pairs) = two.one.blocks_needed {
        lines.push(line("pairs needed", {
            let mut sizes = vec![(pairs, two.metric.margin)];
            sizes.extend(two.one.blocks_needed_for.iter().map(|one| (one.blocks, one.difference)));
            let pair = seconds_of_a_pair(two);
            let sizes = sizes.into_iter().map(|(pairs, difference)| {
                // As many or more have no time.
                let time = pair.filter(|_| pairs < MOST_PAIRS).map(|pair| about(pair * f64::from(pairs)));
                // What lies between two runs, waits for the host among it, may be longer than they are.
                let of = if two.report.plan.live.is_some() { "" } else { " of runs alone" };
                let time = time.map_or_else(String::new, |time| format!(" ({time}{of})"));
                let more = if pairs < MOST_PAIRS { "" } else { "more than " };
                format!(
                    "{more}{}{time} to find a difference of {}",
                    number::count(f64::from(pairs)),
                    number::percent(difference)
                )
            });
            format!("of a new trial with {} power: {}", number::percent(POWER), sizes.collect::<Vec<_>>().join(", "))
        }));
    }
    lines
}

/// What a pair took here, at least: two blocks of a live proof with their waits, or two runs without what lies between them. `None` where
/// runs have no time.
fn seconds_of_a_pair(two: &TwoArms<'_>) -> Option<f64> {
    if let Some(live) = &two.report.plan.live {
        return Some(live.takes(2).0);
    }
    if two.metric.metric.name == "wall" {
        return Some(two.a.values.mean? + two.b.values.mean?);
    }
    let wall = two.one.measures.iter().find(|measure| measure.name == "wall")?;
    Some(wall.a_mean + wall.b_mean)
}

/// A time that somebody plans with.
fn about(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("about {seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("about {:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("about {:.0} h", seconds / 3600.0),
        seconds => format!("about {:.0} days", seconds / 86_400.0),
    }
}

fn effect_lines(two: &TwoArms<'_>, effect: &Effect) -> Vec<Line> {
    let (change, interval) = as_changes(effect.ratio, effect.interval);
    let mut lines = vec![
        line("ratio B / A", format!("{} ({change})", number::significant(effect.ratio, 4))),
        line(
            format!("{} interval", number::percent(1.0 - two.analysis.alpha)),
            format!("{} ({interval})", interval_of_ratio(effect.interval)),
        ),
        line(
            format!("{} interval", number::percent(1.0 - 2.0 * two.analysis.alpha)),
            format!(
                "{}; must lie in ±{} to be equivalent",
                interval_of_ratio(effect.interval_equivalence),
                number::percent(two.metric.margin)
            ),
        ),
        line("p (t test)", format!("{}, {} degrees of freedom", number::p_value(effect.p), number::count(effect.df))),
    ];
    if let (Some(p), Some(smallest)) = (effect.randomisation_p, effect.smallest_randomisation_p) {
        let is_exact = effect.randomisation_exact == Some(true);
        let orders = if is_exact { "every possible order" } else { "a seeded sample of orders" };
        let said = format!("{} over {orders}; smallest attainable {}", number::p_value(p), number::p_value(smallest));
        lines.push(line("p (randomisation)", said));
        lines.push(line("what decides", words::WHICH_TEST_DECIDES));
    }
    lines.extend(
        effect
            .period_ratio
            .map(|ratio| line("running second", format!("{} against running first in a pair", number::change(ratio)))),
    );
    lines
}

fn failures(two: &TwoArms<'_>) -> Option<Line> {
    let test = &two.one.outcomes;
    if test.a_bad == 0 && test.b_bad == 0 {
        return None;
    }
    let value = format!(
        "A {} of {}, B {} of {}; Fisher's exact p {}",
        test.a_bad,
        test.a_total,
        test.b_bad,
        test.b_total,
        number::p_value(test.p)
    );
    Some(line("ended badly", value))
}

fn incidents(two: &TwoArms<'_>) -> Vec<String> {
    let unhappy: Vec<_> = two.analysis.points.iter().filter(|point| point.outcome != Outcome::Ok).collect();
    let mut told: Vec<String> = unhappy
        .iter()
        .take(MOST_INCIDENTS)
        .map(|point| {
            let place = match point.block {
                Some(block) => format!("pair {}", block + 1),
                None => "warm-up".to_owned(),
            };
            let attempt = if point.attempt > 1 { format!(", attempt {}", point.attempt) } else { String::new() };
            let reason = point.reason.as_deref().map_or(String::new(), |reason| format!(": {}", printable(reason)));
            let arm = two.arm_of(point).to_uppercase();
            format!("run {} ({place}, {arm}{attempt}) {}{reason}", point.index + 1, point.outcome.word())
        })
        .collect();
    if unhappy.len() > MOST_INCIDENTS {
        told.push(format!("and {} more; the bundle has them all", unhappy.len() - MOST_INCIDENTS));
    }
    told
}

/// A reader who divides the means must know why the quotient is another number.
const MEASURES_NOTE: &str = "The means are of the runs; the change from A to B is the mean ratio within pairs, as for the \
                             metric above. A few large runs move the means more than the ratio. A dash: a value is zero. Shares of CPU time, \
                             what disks moved, psi_…, unusable_… and the rows from host_minor_faults on are of the whole host, and \
                             not of the job alone.";

/// What is to be known of the measures, and which of them changed: where the metric decides nothing they are what the trial has shown.
fn measures_note(two: &TwoArms<'_>) -> String {
    let changed = |measure: &&MeasureContrast| {
        measure.name != two.metric.metric.name && measure.interval.as_ref().is_some_and(Interval::excludes_one)
    };
    let all = two.one.measures.len();
    let names: Vec<String> = two.one.measures.iter().filter(changed).map(|measure| printable(&measure.name)).collect();
    if names.is_empty() {
        return MEASURES_NOTE.to_owned();
    }
    format!(
        "Changed: {}. Each by its own interval, which excludes no change; of {all} measures {} may do so by chance. {MEASURES_NOTE}",
        names.join(", "),
        (all as f64 * two.analysis.alpha).ceil()
    )
}

fn measures(two: &TwoArms<'_>) -> Table {
    let confidence = number::percent(1.0 - two.analysis.alpha);
    let head = ["measure, mean of", "A", "B", "change", &format!("{confidence} interval")];
    Table { head: head.map(str::to_owned).to_vec(), rows: two.one.measures.iter().map(measure_row).collect() }
}

fn measure_row(measure: &MeasureContrast) -> Vec<String> {
    let unit = printable(&measure.unit);
    let none = || number::NONE.to_owned();
    let (change, interval) = match (measure.ratio, measure.interval) {
        (Some(ratio), Some(interval)) => as_changes(ratio, interval),
        (ratio, _) => (ratio.map_or_else(none, number::change), none()),
    };
    vec![
        printable(&measure.name),
        number::with_unit(measure.a_mean, &unit),
        number::with_unit(measure.b_mean, &unit),
        change,
        interval,
    ]
}

fn counters(two: &TwoArms<'_>) -> Table {
    let confidence = number::percent(1.0 - two.analysis.alpha);
    let head = ["counter, per run", "A", "B", "B − A", &format!("{confidence} interval of B − A"), "q"];
    Table {
        head: head.map(str::to_owned).to_vec(),
        rows: two.one.counters.iter().take(MOST_COUNTERS).map(counter_row).collect(),
    }
}

pub(super) fn counter_row(counter: &CounterContrast) -> Vec<String> {
    vec![
        printable(&counter.name),
        number::count(counter.a_mean),
        number::count(counter.b_mean),
        number::signed_count(counter.difference),
        format!("{} to {}", number::signed_count(counter.interval.low), number::signed_count(counter.interval.high)),
        number::p_value(counter.q),
    ]
}

fn counters_note(two: &TwoArms<'_>) -> String {
    let compared = two.one.counters_compared;
    match two.one.counters.len() {
        0 if compared == 0 => "No kernel counter was compared.".to_owned(),
        0 => none_stands_out(compared),
        found if found > MOST_COUNTERS => {
            format!("{MOST_COUNTERS} of {found} listed; {compared} counters were compared. The JSON has all.")
        }
        found if found as u32 == compared => format!("{compared} counters were compared; all are listed."),
        _ => format!("{compared} counters were compared; those not listed differ less or not at all."),
    }
}

/// Where counters were compared and none is listed. Measures have intervals each by itself: one of them can differ where no counter does.
pub(super) fn none_stands_out(compared: u32) -> String {
    let rate = number::percent(FALSE_DISCOVERY_RATE);
    format!(
        "None of the {compared} kernel counters compared stands out: they are judged together, at a false discovery rate of {rate}, \
         and measures each by itself."
    )
}

fn functions_of(two: &TwoArms<'_>) -> Option<Functions> {
    let stacks = two.one.stacks.as_ref()?;
    Some(Functions::of(stacks, ("A", "B"), "pairs", two.analysis.alpha, MOST_FUNCTIONS))
}

fn warnings(two: &TwoArms<'_>) -> Vec<Warning> {
    let warning = |warning: &crate::experiment::analysis::Warning| Warning {
        id: printable(&warning.id),
        text: printable(&warning.text),
        remedy: super::remedy::remedy(&warning.id).to_owned(),
    };
    two.analysis.warnings.iter().map(warning).collect()
}

fn design(two: &TwoArms<'_>) -> Vec<Line> {
    let plan = &two.report.plan;
    let design = &plan.design;
    if let Some(live) = &plan.live {
        return live_design(two, live);
    }
    let mut lines = vec![
        line("job", job(&plan.workload)),
        line(
            "metric",
            format!("{}, {} is better", printable(&plan.metric().name), better(two.metric.metric.direction)),
        ),
        line("pairs", format!("{}, after {}", design.blocks, warmup(design.warmup))),
        line("order", format!("drawn from seed {}", two.analysis.seed)),
        line("page cache", page_cache(design.drop_caches)),
    ];
    lines.extend(warm_memory(design));
    lines.push(line("time limit", format!("{} a run", Seconds(design.timeout_seconds))));
    lines
}

/// How a proof on a host that went on working ran.
fn live_design(two: &TwoArms<'_>, live: &Live) -> Vec<Line> {
    let plan = &two.report.plan;
    let what = match live.pid {
        Some(pid) => format!("whatever ran on this host, while process {pid} did"),
        None if plan.workload.name == WHATEVER_RUNS => "whatever ran on this host".to_owned(),
        None => format!("{}, running all the time", job(&plan.workload)),
    };
    let mut lines = vec![
        line("live, on", what),
        line(
            "metric",
            format!("{} of a block, {} is better", printable(&plan.metric().name), better(two.metric.metric.direction)),
        ),
        line("pairs", format!("{} of adjacent blocks, after {}", plan.design.blocks, warmup(plan.design.warmup))),
        line(
            "each block",
            format!(
                "{} s to settle, {} s to wash out, then {} s measured",
                live.settle_seconds, live.washout_seconds, live.block_seconds
            ),
        ),
        line("order", format!("drawn from seed {}", two.analysis.seed)),
    ];
    lines.extend(live.stop_if.as_deref().map(|bound| line("stop if", printable(bound))));
    lines
}

/// What happens to the page cache before a run.
pub(super) fn page_cache(drop: DropCaches) -> &'static str {
    match drop {
        DropCaches::Auto => "dropped for built-in workloads only",
        DropCaches::Yes => "dropped before every run",
        DropCaches::No => "left alone",
    }
}

/// What is touched of free memory before a run.
pub(super) fn warm_memory(design: &Design) -> Option<Line> {
    let most = design.warm_memory_bytes();
    (most > 0).then(|| line("memory", format!("up to {} of what is free touched before every run", Bytes(most))))
}

fn warmup(runs: u32) -> String {
    match runs {
        0 => "no warm-up".to_owned(),
        1 => "1 warm-up run of each arm".to_owned(),
        runs => format!("{runs} warm-up runs of each arm"),
    }
}

pub(super) fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    }
}

/// What runs at every point, as one could type it.
pub(super) fn job(workload: &Workload) -> String {
    if !workload.run.is_empty() {
        return printable(&shell_line(&workload.run));
    }
    let args =
        workload.args.iter().map(|(name, value)| format!("{}={}", printable(name), printable(&value.to_string())));
    let args = args.collect::<Vec<_>>().join(", ");
    if args.is_empty() { printable(&workload.name) } else { format!("{} ({args})", printable(&workload.name)) }
}

/// The host; where a boot had something else, by boot.
pub(super) fn hosts(boots: &[HostFacts]) -> Vec<Line> {
    let each: Vec<[(&str, Option<String>); 12]> = boots.iter().map(host).collect();
    let Some(first) = each.first() else { return Vec::new() };
    let told = first.iter().enumerate().filter_map(|(at, (label, value))| {
        let is_one = each.iter().all(|facts| facts[at].1 == *value);
        let value = if is_one { value.clone()? } else { by_boot(each.iter().map(|facts| facts[at].1.as_deref())) };
        Some(line(*label, printable(&value)))
    });
    told.collect()
}

/// `6.1.0 (boots 1, 3); 6.12.0 (boot 2)`.
fn by_boot<'v>(values: impl Iterator<Item = Option<&'v str>>) -> String {
    let mut known: Vec<(&str, Vec<String>)> = Vec::new();
    for (boot, value) in values.enumerate() {
        let (value, boot) = (value.unwrap_or("unknown"), (boot + 1).to_string());
        match known.iter_mut().find(|(one, _)| *one == value) {
            Some((_, boots)) => boots.push(boot),
            None => known.push((value, vec![boot])),
        }
    }
    // Where every point has a boot of its own, there are hundreds; the table of points has each.
    const SHOWN: usize = 6;
    let said = known.iter().map(|(value, boots)| {
        let word = if boots.len() == 1 { "boot" } else { "boots" };
        let more = boots.len().saturating_sub(SHOWN);
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{value} ({word} {}{and_more})", boots[..boots.len() - more].join(", "))
    });
    said.collect::<Vec<String>>().join("; ")
}

/// Labels and values of a boot; `None` is not known.
fn host(facts: &HostFacts) -> [(&'static str, Option<String>); 12] {
    let size = |bytes: Option<u64>| bytes.map(|bytes| number::with_unit(bytes as f64, "bytes"));
    let swap = facts
        .swap_bytes
        .map(|bytes| if bytes == 0 { "none".to_owned() } else { number::with_unit(bytes as f64, "bytes") });
    let cpu = match (&facts.cpu_model, facts.cpus) {
        (Some(model), Some(cpus)) => Some(format!("{model}, {cpus} logical CPUs")),
        (Some(model), None) => Some(model.clone()),
        (None, cpus) => cpus.map(|cpus| format!("{cpus} logical CPUs")),
    };
    let machine = facts.virtual_machine.map(|is_virtual| {
        let words = match (is_virtual, facts.free_page_reporting) {
            _ if facts.emulated == Some(true) => "virtual, its processor emulated (TCG)",
            (true, Some(true)) => "virtual, gives free memory back (free page reporting)",
            (true, _) => "virtual",
            (false, _) => "no hypervisor seen",
        };
        words.to_owned()
    });
    [
        ("kernel", facts.kernel.clone()),
        (
            "its config",
            facts.kernel_config.as_ref().map(|hash| format!("BLAKE3 {}…", hash.chars().take(12).collect::<String>())),
        ),
        ("CPU", cpu),
        ("machine", machine),
        ("memory", size(facts.memory_bytes)),
        ("page size", size(facts.page_bytes)),
        ("swap", swap),
        ("THP enabled", facts.thp_enabled.clone()),
        ("THP defrag", facts.thp_defrag.clone()),
        ("cgroup", facts.cgroup.clone()),
        ("disk", facts.disk_kind.clone()),
        ("JVM", facts.jvm.clone()),
    ]
}

/// Every run as a row, for readers who do not see the figures.
pub(super) fn runs(two: &TwoArms<'_>) -> Table {
    let unit = printable(two.unit());
    let row = |point: &PointMark| {
        vec![
            (point.index + 1).to_string(),
            point.block.map_or("warm-up".to_owned(), |block| (block + 1).to_string()),
            two.arm_of(point).to_uppercase(),
            point.attempt.to_string(),
            point.outcome.word().to_owned(),
            two.value(point).map_or(number::NONE.to_owned(), |value| number::with_unit(value, &unit)),
            point.reason.as_deref().map_or(String::new(), printable),
        ]
    };
    let head = ["run", "pair", "arm", "attempt", "outcome", &printable(&two.metric.metric.name), "reason"];
    Table { head: head.map(str::to_owned).to_vec(), rows: two.analysis.points.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(sentence: &str) -> (String, String) {
        let (first, rest) = first_sentence(pieces(sentence));
        (first.join("|"), rest.join("|"))
    }

    #[test]
    fn what_differs_between_boots_is_said_by_boot_and_the_rest_once() {
        let boot = |kernel: &str, jvm: Option<&str>| HostFacts {
            kernel: Some(kernel.to_owned()),
            cpus: Some(2),
            jvm: jvm.map(str::to_owned),
            ..HostFacts::default()
        };
        let boots = [boot("6.1.0", Some("17")), boot("6.12.0", Some("17")), boot("6.1.0", None)];
        let told: Vec<String> = hosts(&boots).iter().map(|line| format!("{}: {}", line.label, line.value)).collect();
        let wanted = [
            "kernel: 6.1.0 (boots 1, 3); 6.12.0 (boot 2)",
            "CPU: 2 logical CPUs",
            "JVM: 17 (boots 1, 2); unknown (boot 3)",
        ];
        assert_eq!(told, wanted);
        let one: Vec<String> =
            hosts(&boots[..1]).iter().map(|line| format!("{}: {}", line.label, line.value)).collect();
        assert_eq!(one, ["kernel: 6.1.0", "CPU: 2 logical CPUs", "JVM: 17"]);
        assert!(hosts(&[]).is_empty());
    }

    #[test]
    fn the_first_sentence_ends_outside_of_names_and_numbers() {
        let expected = ("|b. c| is 4.1 % lower.".to_owned(), "|a| took longer.".to_owned());
        assert_eq!(split("`b. c` is 4.1 % lower. `a` took longer."), expected);
        assert_eq!(split("one sentence."), ("one sentence.".to_owned(), String::new()));
    }
}
