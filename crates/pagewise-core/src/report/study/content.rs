//! What a report of a study says and in which order: claims first, then cells, what is no claim, what else differed,
//! warnings, how it ran. Every rendition lays this out.

use super::Report;
use super::frame::{Frame, Group, PlacedComparison};
use super::{design, tables, words};
use crate::comparison::rule::Conclusion;
use crate::experiment::analysis::{Comparison, Stall};
use crate::experiment::point::Outcome;
use crate::report::command_line::{COMMAND_WIDTH, in_lines};
use crate::report::content::{self, Line, Table, Warning};
use crate::report::functions::{self, Functions};
use crate::report::number;
use crate::report::printable::printable;
use crate::spelling::capitalised;
use serde::Serialize;

/// As many unhappy runs as are told one by one.
const MOST_INCIDENTS: usize = 12;

/// As many counters, and functions, of a claim as are listed when claims are few, and when they are many.
const MOST_COUNTERS: (usize, usize) = (12, 5);

/// So many claims are few.
const FEW_CLAIMS: usize = 2;

/// The whole report in words.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Content {
    pub(super) name: String,
    pub(super) outcome: Summary,
    /// At which analysis it ended, for a trial that may end early.
    pub(super) ended: Option<String>,
    pub(super) claims: Vec<Contrast>,
    pub(super) claims_note: String,
    pub(super) means_note: String,
    pub(super) interactions: Vec<Contrast>,
    /// What every cell gave: a section per metric.
    pub(super) cells: Vec<Section>,
    /// What is compared and no claim: a section per metric.
    pub(super) others: Vec<Section>,
    pub(super) others_note: String,
    pub(super) explained: Vec<Explained>,
    pub(super) counters_note: String,
    pub(super) incidents: Vec<String>,
    pub(super) warnings: Vec<Warning>,
    pub(super) notes: Vec<String>,
    pub(super) interim_analyses: Table,
    pub(super) estimates: Table,
    pub(super) design: Vec<Line>,
    pub(super) levels: Vec<Line>,
    pub(super) host: Vec<Line>,
    pub(super) commands: Vec<String>,
    pub(super) method: Vec<String>,
    pub(super) origin: String,
}

/// What the trial found, in a sentence.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) counts: Vec<Count>,
    pub(super) sentence: String,
    /// Its first sentence in pieces: every second one stood between backticks and is a name.
    pub(super) first: Vec<String>,
    /// What follows it, likewise.
    pub(super) rest: Vec<String>,
}

/// How many claims came out like this.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Count {
    pub(super) word: String,
    /// The word for a style.
    pub(super) tone: String,
    /// Nothing when there is one claim only.
    pub(super) count: Option<usize>,
}

/// A contrast with its comparisons.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Contrast {
    pub(super) heading: String,
    /// `worse in 1 of 2, equivalent in 1 of 2`.
    pub(super) verdicts: String,
    pub(super) said: Vec<ComparisonInWords>,
    pub(super) table: Table,
    /// How many columns are names of levels.
    #[serde(skip)]
    pub(super) names: usize,
    /// Columns that a narrow page can spare, the least needed first.
    #[serde(skip)]
    pub(super) spared: Vec<String>,
}

/// A comparison in words.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ComparisonInWords {
    /// Under which levels; empty for all.
    pub(super) place: String,
    pub(super) word: String,
    pub(super) tone: String,
    pub(super) sentence: String,
    /// The sentence in pieces, as in [`Summary::first`].
    pub(super) pieces: Vec<String>,
    /// What it holds for beside the place.
    pub(super) holds: String,
    /// The p-values of its tests.
    pub(super) tests: String,
}

/// A table with its heading.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) table: Table,
}

/// What else differed between the sides of a claim.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Explained {
    pub(super) heading: String,
    pub(super) stall: Option<String>,
    pub(super) table: Table,
    pub(super) note: String,
    /// Where runs kept stacks.
    pub(super) functions: Option<Functions>,
}

impl Content {
    pub(super) fn of(report: &Report) -> Content {
        let frame = Frame::of(report);
        let study = &report.analysis;
        let claims: Vec<&Comparison> = study.comparisons.iter().filter(|one| one.primary).collect();
        let is_interaction = |one: &Comparison| one.interaction.is_some() && one.metric == frame.first_metric();
        let others = others(&frame, &is_interaction);
        let not_claims = study.comparisons.len() - claims.len();
        Content {
            name: printable(&study.name),
            outcome: outcome(&frame, &claims),
            ended: words::ended(study, &report.plan),
            claims: contrasts(&frame, |one| one.primary),
            claims_note: words::claims_note(study, claims.len()),
            means_note: words::MEANS_NOTE.to_owned(),
            interactions: contrasts(&frame, |one| !one.primary && is_interaction(one)),
            cells: study
                .metrics
                .iter()
                .map(|metric| Section { heading: printable(&metric.metric.name), table: tables::cells(study, metric) })
                .collect(),
            others,
            others_note: if not_claims > 0 { words::others_note(study, not_claims) } else { String::new() },
            explained: explained(&frame, claims.len()),
            counters_note: words::COUNTERS_NOTE.to_owned(),
            incidents: incidents(report),
            warnings: warnings(report),
            notes: report.notes.iter().map(|note| printable(note)).collect(),
            interim_analyses: tables::interim_analyses(study),
            estimates: tables::estimates(study),
            design: design::design(report),
            levels: design::levels(report),
            host: content::hosts(&report.hosts),
            commands: report.commands.iter().map(|command| in_lines(&printable(command), COMMAND_WIDTH)).collect(),
            method: words::method(study, claims.len())
                .into_iter()
                .chain(study.comparisons.iter().any(|one| one.stacks.is_some()).then(|| functions::METHOD.to_owned()))
                .collect(),
            origin: format!(
                "Pagewise {}, analysis version {}, from {}, run {}.",
                printable(&report.pagewise),
                study.version,
                printable(&report.bundle),
                printable(&report.created)
            ),
        }
    }

    /// The same with every text changed by `change`, commands excepted: they are copied to a shell.
    pub(super) fn map(mut self, change: impl Fn(&str) -> String) -> Content {
        let apply = |text: &mut String| *text = change(text);
        let in_table = |table: &mut Table| table.head.iter_mut().chain(table.rows.iter_mut().flatten()).for_each(apply);
        for contrast in self.claims.iter_mut().chain(&mut self.interactions) {
            [&mut contrast.heading, &mut contrast.verdicts].into_iter().for_each(apply);
            in_table(&mut contrast.table);
            contrast.spared.iter_mut().for_each(apply);
            for said in &mut contrast.said {
                said.pieces.iter_mut().for_each(apply);
                let single = [&mut said.place, &mut said.word, &mut said.sentence, &mut said.holds, &mut said.tests];
                single.into_iter().for_each(apply);
            }
        }
        for section in self.cells.iter_mut().chain(&mut self.others) {
            apply(&mut section.heading);
            in_table(&mut section.table);
        }
        for one in &mut self.explained {
            [&mut one.heading, &mut one.note].into_iter().chain(&mut one.stall).for_each(apply);
            in_table(&mut one.table);
            if let Some(functions) = &mut one.functions {
                functions.map(&change);
            }
        }
        [&mut self.interim_analyses, &mut self.estimates].into_iter().for_each(in_table);
        for line in [&mut self.design, &mut self.levels, &mut self.host].into_iter().flatten() {
            [&mut line.label, &mut line.value].into_iter().for_each(apply);
        }
        for warning in &mut self.warnings {
            [&mut warning.id, &mut warning.text, &mut warning.remedy].into_iter().for_each(apply);
        }
        let outcome = &mut self.outcome;
        outcome.counts.iter_mut().map(|count| &mut count.word).for_each(apply);
        let lists = [&mut outcome.first, &mut outcome.rest, &mut self.incidents, &mut self.notes, &mut self.method];
        lists.into_iter().flatten().for_each(apply);
        let single = [
            &mut self.name,
            &mut outcome.sentence,
            &mut self.claims_note,
            &mut self.means_note,
            &mut self.others_note,
            &mut self.counters_note,
            &mut self.origin,
        ];
        single.into_iter().chain(&mut self.ended).for_each(apply);
        self
    }
}

fn outcome(frame: &Frame<'_>, claims: &[&Comparison]) -> Summary {
    let counts = words::counts(claims.iter().copied());
    let sentence = match claims {
        [] => "No primary contrast was declared, so this trial makes no claim. What it saw is below.".to_owned(),
        [only] => printable(&only.sentence),
        several => words::outcome(several, frame.first_metric()),
    };
    let sentence = content::with_emulation(sentence, &frame.report.hosts);
    let (first, rest) = content::first_sentence(content::pieces(&sentence));
    let count = |(word, count): &(Conclusion, usize)| Count {
        word: capitalised(word.word()),
        tone: word.word().to_owned(),
        count: (claims.len() > 1).then_some(*count),
    };
    let counts = if claims.is_empty() {
        vec![Count { word: "No claim".to_owned(), tone: Conclusion::Inconclusive.word().to_owned(), count: None }]
    } else {
        counts.iter().map(count).collect()
    };
    Summary { counts, sentence, first, rest }
}

/// `swap: on against off`.
pub(super) fn heading(placed: &PlacedComparison<'_>) -> String {
    let one = placed.comparison;
    let other = one.interaction.as_ref().map_or_else(String::new, |other| format!(", as {other}"));
    printable(&format!("{}: {} against {}{other}", one.factor, one.b, one.a))
}

/// `swap on, load high`.
pub(super) fn place(one: &Comparison) -> String {
    let levels: Vec<String> = one.by.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    printable(&levels.join(", "))
}

fn contrasts(frame: &Frame<'_>, wanted: impl Fn(&Comparison) -> bool) -> Vec<Contrast> {
    let contrast = |group: &Group<'_>| Contrast {
        heading: heading(&group.first),
        verdicts: words::verdicts(group),
        said: group.members.iter().map(|placed| said(frame, placed)).collect(),
        table: tables::contrast(frame, group),
        names: group.first.comparison.by.len().max(1),
        spared: tables::spared(group),
    };
    frame.groups(wanted).iter().map(contrast).collect()
}

fn said(frame: &Frame<'_>, placed: &PlacedComparison<'_>) -> ComparisonInWords {
    let one = placed.comparison;
    let sentence = printable(&one.sentence);
    ComparisonInWords {
        place: place(one),
        word: capitalised(one.conclusion.word()),
        tone: one.conclusion.word().to_owned(),
        pieces: content::pieces(&sentence),
        sentence,
        holds: frame.holds(placed),
        tests: words::tests(one),
    }
}

fn others(frame: &Frame<'_>, is_interaction: &impl Fn(&Comparison) -> bool) -> Vec<Section> {
    let section = |metric: &crate::experiment::analysis::JudgedMetric| {
        let of_metric = |placed: &PlacedComparison<'_>| {
            let one = placed.comparison;
            one.metric == metric.metric.name && !one.primary && !is_interaction(one)
        };
        let placed: Vec<PlacedComparison<'_>> = frame.placed().into_iter().filter(of_metric).collect();
        let table = tables::others(&placed, &frame.report.analysis);
        (!placed.is_empty()).then(|| Section { heading: printable(&metric.metric.name), table })
    };
    frame.report.analysis.metrics.iter().filter_map(section).collect()
}

fn explained(frame: &Frame<'_>, claims: usize) -> Vec<Explained> {
    // Without claims the first metric's comparisons are what a reader reads first.
    let wanted = |one: &Comparison| one.metric == frame.first_metric() && (one.primary || claims == 0);
    let placed = frame.placed().into_iter().filter(|placed| wanted(placed.comparison));
    placed.filter_map(|placed| explained_of(frame, placed.comparison, claims)).collect()
}

fn explained_of(frame: &Frame<'_>, one: &Comparison, claims: usize) -> Option<Explained> {
    // Nothing that never was is told.
    let is_there = |stall: &&Stall| (stall.stalled_interval.low, stall.stalled_interval.high) != (0.0, 0.0);
    let stall = one.stall.as_ref().filter(is_there).map(stall_sentence);
    if one.counters_compared == 0 && stall.is_none() && one.stacks.is_none() {
        return None;
    }
    let most = if claims <= FEW_CLAIMS { MOST_COUNTERS.0 } else { MOST_COUNTERS.1 };
    let functions = one.stacks.as_ref().map(|stacks| {
        let arms = (printable(&one.a), printable(&one.b));
        Functions::of(stacks, (&arms.0, &arms.1), "blocks", frame.report.analysis.alpha, most)
    });
    let head = [
        "counter, per run".to_owned(),
        printable(&one.a),
        printable(&one.b),
        "difference".to_owned(),
        format!("{} interval", words::confidence(frame.report.analysis.alpha)),
        "q".to_owned(),
    ];
    let table = Table { head: head.to_vec(), rows: one.counters.iter().take(most).map(content::counter_row).collect() };
    let (found, compared) = (one.counters.len(), one.counters_compared);
    let note = match found {
        0 if compared == 0 => "No kernel counter was compared.".to_owned(),
        0 => content::none_stands_out(compared),
        found if found > most => {
            format!("The {most} clearest of those that differ, of {compared} compared; the JSON has more.")
        }
        found => format!("{found} of {compared} kernel counters compared stand out."),
    };
    Some(Explained { heading: printable(&one.name), stall, table, note, functions })
}

/// Association only: what stalls may also be what is slow for another reason.
fn stall_sentence(stall: &Stall) -> String {
    let seconds = |value: f64| {
        let text = number::with_unit(value, "seconds");
        if value > 0.0 { format!("+{text}") } else { text }
    };
    let interval = format!("{} to {}", seconds(stall.stalled_interval.low), seconds(stall.stalled_interval.high));
    let measure = printable(&stall.measure);
    match stall.share {
        Some(share) => format!(
            "{:.0} % of the difference of {} goes with time stalled for memory ({measure}: {}, interval {interval}): \
             association, not cause.",
            share * 100.0,
            seconds(stall.time),
            seconds(stall.stalled)
        ),
        None => format!(
            "Time stalled for memory ({measure}) differs by {} (interval {interval}); the metric itself may not differ, so no \
             share of it is told.",
            seconds(stall.stalled)
        ),
    }
}

fn incidents(report: &Report) -> Vec<String> {
    let unhappy: Vec<_> = report.analysis.points.iter().filter(|point| point.outcome != Outcome::Ok).collect();
    let mut told: Vec<String> = unhappy
        .iter()
        .take(MOST_INCIDENTS)
        .map(|point| {
            let place = point.block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
            let attempt = if point.attempt > 1 { format!(", attempt {}", point.attempt) } else { String::new() };
            let reason = point.reason.as_deref().map_or(String::new(), |reason| format!(": {}", printable(reason)));
            let cell = printable(&point.cell);
            format!("run {} ({place}, {cell}{attempt}) {}{reason}", point.index + 1, point.outcome.word())
        })
        .collect();
    if unhappy.len() > MOST_INCIDENTS {
        told.push(format!("and {} more; the bundle has them all", unhappy.len() - MOST_INCIDENTS));
    }
    told
}

fn warnings(report: &Report) -> Vec<Warning> {
    let warning = |warning: &crate::experiment::analysis::Warning| Warning {
        id: printable(&warning.id),
        text: printable(&warning.text),
        remedy: crate::report::remedy::remedy(&warning.id).to_owned(),
    };
    report.analysis.warnings.iter().map(warning).collect()
}
