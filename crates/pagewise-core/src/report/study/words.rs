//! The sentences around a study's numbers: the outcome of several claims in one, how alpha is shared, how it was done.

use super::frame::Group;
use crate::comparison::rule::{Conclusion, HELD_BACK, OUTCOMES};
use crate::experiment::analysis::Interval;
use crate::experiment::analysis::{Analysis, Comparison};
use crate::experiment::plan::{OrderKind, Plan, StoppingRule};
use crate::experiment::stopping::spent_in_words;
use crate::report::number;
use crate::report::printable::printable;
pub(super) use crate::report::words::listed;

/// Decided ones first.
const WORDS: [Conclusion; 4] =
    [Conclusion::Worse, Conclusion::Better, Conclusion::Equivalent, Conclusion::Inconclusive];

/// How many comparisons have which conclusion, those that occur.
pub(super) fn counts<'c>(comparisons: impl Iterator<Item = &'c Comparison> + Clone) -> Vec<(Conclusion, usize)> {
    let count = |word| comparisons.clone().filter(|one| one.conclusion == word).count();
    WORDS.into_iter().map(|word| (word, count(word))).filter(|(_, count)| *count > 0).collect()
}

/// `worse in 1 of 2, equivalent in 1 of 2`; of a single comparison the word alone.
pub(super) fn verdicts(group: &Group<'_>) -> String {
    let total = group.members.len();
    if let [only] = group.members.as_slice() {
        return verdict(only.comparison);
    }
    let counted = counts(group.members.iter().map(|placed| placed.comparison));
    counted.iter().map(|(word, count)| format!("{} in {count} of {total}", word.word())).collect::<Vec<_>>().join(", ")
}

/// The word, with what is special about it.
pub(super) fn verdict(comparison: &Comparison) -> String {
    let word = comparison.conclusion.word();
    match (comparison.decided_by.as_str(), comparison.real_but_below_margin) {
        (OUTCOMES | HELD_BACK, _) => format!("{word} (failures)"),
        (_, true) => format!("{word} (real)"),
        _ => word.to_owned(),
    }
}

/// `t test p 0.012 with 8 degrees of freedom; randomisation p 0.016, smallest possible 0.0039`, or in an open-ended trial
/// `evidence 83 to 1 against no change; p 0.012, which holds after every block`. Empty without an estimate.
pub(super) fn tests(comparison: &Comparison) -> String {
    let Some(effect) = &comparison.effect else { return String::new() };
    if let Some(evidence) = effect.evidence {
        // Beyond that no digit means anything.
        const OVERWHELMING: f64 = 1e6;
        let evidence = match evidence {
            OVERWHELMING.. => "more than 1,000,000".to_owned(),
            evidence => number::significant(evidence, 3),
        };
        let p = number::p_value(effect.p);
        return format!("evidence {evidence} to 1 against no change; p {p}, which holds after every block");
    }
    let mut said =
        format!("t test p {} with {} degrees of freedom", number::p_value(effect.p), number::count(effect.df));
    if let (Some(p), Some(smallest)) = (effect.randomisation_p, effect.smallest_randomisation_p) {
        let (p, smallest) = (number::p_value(p), number::p_value(smallest));
        said.push_str(&format!("; randomisation p {p}, smallest possible {smallest}"));
    }
    said
}

/// `Of 6 primary comparisons of wall, 1 is worse, 2 are equivalent and 3 inconclusive.`
pub(super) fn outcome(claims: &[&Comparison], metric: &str) -> String {
    let said: Vec<String> = counts(claims.iter().copied())
        .iter()
        .enumerate()
        .map(|(place, (word, count))| {
            let verb = match (place, count) {
                (0, 1) => "is ",
                (0, _) => "are ",
                _ => "",
            };
            format!("{count} {verb}{}", word.word())
        })
        .collect();
    format!("Of {} primary comparisons of {}, {}.", claims.len(), printable(metric), listed(&said))
}

/// What the intervals of a study are: `interval`, or `sequence` where they hold after every block at once.
pub(super) fn kind(study: &Analysis) -> &'static str {
    if study.sequence.is_some() { "sequence" } else { "interval" }
}

/// `95 %`; a level that is shared gets the digits it needs.
pub(super) fn confidence(alpha: f64) -> String {
    let text = format!("{:.2}", (1.0 - alpha) * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `−9.6 to −5.4 %`.
pub(super) fn span(interval: Interval) -> String {
    let (low, high) = (number::change(interval.low), number::change(interval.high));
    match low.strip_suffix(" %") {
        Some(low) if high.ends_with(" %") => format!("{low} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// At which analysis the trial ended, or where it stands. `None` for a fixed number of blocks.
pub(super) fn ended(study: &Analysis, plan: &Plan) -> Option<String> {
    match study.rule {
        StoppingRule::Fixed => return None,
        StoppingRule::OpenEnded => return Some(ended_open(study)),
        StoppingRule::ObrienFleming | StoppingRule::Pocock => {}
    }
    let planned = plan.stopping.interim_analyses(study.blocks_planned);
    let Some(last) = study.interim_analyses.last() else {
        let first = planned.first().copied().unwrap_or(study.blocks_planned);
        return Some(format!(
            "No analysis has been made: by the {} rule the first is due after {first} complete blocks, and nothing is judged \
             before.",
            rule(study.rule)
        ));
    };
    let place = planned
        .iter()
        .position(|blocks| *blocks == last.blocks)
        .map_or(study.interim_analyses.len(), |place| place + 1);
    let analysis =
        format!("analysis {place} of {} ({} of {} blocks)", planned.len(), last.blocks, study.blocks_planned);
    let because = printable(&last.because);
    let spent = format!("Alpha spent: {}", spent_in_words(last.spent.unwrap_or(0.0), study.alpha));
    let intervals = "Every interval of a claim is the repeated one of this analysis: it is wider, because it allows for the \
                     analyses before";
    Some(match (last.stop, last.blocks < study.blocks_planned) {
        (true, true) => format!("Stopped early, at {analysis}: {because}. {spent}. {intervals}."),
        (true, false) => format!("Ended at {analysis}: {because}. {spent}. {intervals}."),
        (false, _) => format!("Not over. This is {analysis}: {because}. {spent}. {intervals}."),
    })
}

/// Where an open-ended trial ended, or stands, and what its intervals are.
fn ended_open(study: &Analysis) -> String {
    let most = study.blocks_planned;
    let Some(last) = study.interim_analyses.last() else {
        return format!(
            "Not analysed yet: an open-ended comparison is analysed after every complete block from the fourth on, {most} at \
             most."
        );
    };
    let because = printable(&last.because);
    let ended = match (last.stop, last.blocks < most) {
        (true, true) => format!("Ended after {} blocks of at most {most}: {because}", last.blocks),
        (true, false) => format!("Ended after the last of its {most} blocks: {because}"),
        (false, _) => format!("Not over. This is after {} blocks of at most {most}: {because}", last.blocks),
    };
    format!(
        "{ended}. It was analysed after every block, and every interval here is of a confidence sequence: the intervals after \
         all blocks hold together, so that analysing, and ending when something was decided, adds no false alarms. They are \
         wider than those of a trial whose end was planned."
    )
}

fn rule(rule: StoppingRule) -> &'static str {
    match rule {
        StoppingRule::Fixed => "fixed",
        StoppingRule::OpenEnded => "open-ended",
        StoppingRule::ObrienFleming => "O'Brien-Fleming",
        StoppingRule::Pocock => "Pocock",
    }
}

/// How the claims share alpha.
pub(super) fn claims_note(study: &Analysis, claims: usize) -> String {
    let confidence = confidence(study.alpha);
    let alpha = study.alpha;
    match (claims, study.rule) {
        (0, _) => {
            "The plan declares no primary contrast, so nothing here is a claim of the trial. Every comparison stands \
                   alone and none is adjusted for their number."
                .to_owned()
        }
        (1, StoppingRule::Fixed) => {
            format!("One claim was declared: it has all of alpha, and its interval is at {confidence}.")
        }
        (claims, StoppingRule::Fixed) => format!(
            "Simultaneous intervals: the {claims} claims share alpha = {alpha}. With a probability of {confidence} no \
             interval of an unchanged comparison excludes no change, however many there are. An interval excludes no \
             change exactly when its p after Holm's correction is below {alpha}."
        ),
        (1, StoppingRule::OpenEnded) => format!(
            "A confidence sequence: the one claim has all of alpha = {alpha}. With a probability of {confidence} its intervals \
             after all blocks cover the truth together, however many blocks there are."
        ),
        (claims, StoppingRule::OpenEnded) => format!(
            "Simultaneous confidence sequences: the {claims} claims share alpha = {alpha} equally. With a probability of \
             {confidence} the intervals of all of them after all blocks cover the truth together, however many blocks there are."
        ),
        (1, spending) => format!(
            "Repeated intervals: the one claim spends alpha = {alpha} over the analyses ({}), so that analysing early adds no \
             false alarms.",
            rule(spending)
        ),
        (claims, spending) => format!(
            "Simultaneous and repeated intervals: the {claims} claims share alpha = {alpha} equally, and each spends its \
             part over the analyses ({}), so that neither their number nor analysing early adds false alarms.",
            rule(spending)
        ),
    }
}

/// What the other comparisons are worth.
pub(super) fn others_note(study: &Analysis, count: usize) -> String {
    let at_most = if study.sequence.is_some() { "at most " } else { "" };
    let (each, questions) = match count {
        1 => ("this one".to_owned(), "it as a question"),
        count => (format!("each of these {count}"), "them as questions"),
    };
    format!(
        "Not adjusted for their number: {each} stands alone at {}, and looks changed {at_most}{} of the time when nothing \
         is. Take {questions} for the next trial.",
        confidence(study.alpha),
        number::percent(study.alpha)
    )
}

/// A reader who divides the means must know why the quotient is another number.
pub(super) const MEANS_NOTE: &str = "Means are of all good runs. The change is the mean ratio inside blocks, of those blocks \
                                     in which every run it needs is good: what differs between blocks cancels, and the \
                                     quotient of the means can be another number.";

/// What counters can say.
pub(super) const COUNTERS_NOTE: &str = "Growth of /proc/vmstat during a run, whole host. q is the share of false entries to \
                                        expect in a list down to this line (Benjamini and Hochberg, within one comparison). \
                                        A counter that differs is a trace, not yet a cause.";

/// How the numbers were made, for a reader who knows no statistics.
pub(super) fn method(study: &Analysis, claims: usize) -> Vec<String> {
    let alpha = study.alpha;
    let margins: Vec<String> = study
        .metrics
        .iter()
        .map(|metric| format!("±{} for {}", number::percent(metric.margin), printable(&metric.metric.name)))
        .collect();
    let order = match study.order {
        OrderKind::Pairs => {
            "The two cells ran in adjacent pairs, each order as often as the other, in a random sequence drawn from the seed \
             before the first run. The ratio is the crossover estimate on logarithms: what running second costs is removed."
        }
        OrderKind::Blocks | OrderKind::Auto => {
            "Every block holds each cell once, in an order drawn at random from the seed before the first run; cells that \
             need another boot are grouped, and boots have a random order of their own."
        }
        OrderKind::Williams => {
            "Blocks are rows of Williams squares, drawn at random: over a square every cell follows every other equally \
             often, so what a run leaves to the next weighs on all alike."
        }
        OrderKind::Complete => {
            "All points ran in one random order. Blocks only number the repetitions, so a drift of the host adds noise, but \
             no bias."
        }
        OrderKind::Nested => {
            "Cells ran one after the other. Every difference between cells is also one between early and late: no interval \
             here allows for that."
        }
    };
    let interval = if study.sequence.is_some() { "a confidence sequence" } else { "the t interval" };
    let mut said = vec![
        order.to_owned(),
        format!(
            "In each block the mean logarithm of the base's runs is taken from that of the judged level's. These differences are \
             independent of each other whether a level was switched live or by a boot, so {interval} over them is right for \
             both. A block that lacks a run is left out of the comparisons that need it."
        ),
        format!(
            "Verdict: failures are compared first (Fisher's exact test). Then: equivalent when the interval at twice the \
             comparison's share of alpha lies inside the margin ({}); better or worse when the interval at that share \
             excludes no change; inconclusive otherwise. A level that fails more often is never called better.",
            listed(&margins)
        ),
    ];
    if study.rule == StoppingRule::Fixed && claims > 1 {
        said.push(format!(
            "Holm: the smallest of the {claims} p-values is multiplied by {claims}, the next by {}, and so on; what stays \
             below {alpha} is claimed. Intervals are at alpha / {claims}, except those of claims that Holm makes in a later \
             step, which get the alpha of their step.",
            claims - 1
        ));
    }
    if let Some(sequence) = &study.sequence {
        said.push(format!(
            "Confidence sequence: the evidence against a value is the likelihood ratio of the t statistics so far, averaged over \
             normal effects of variance {} in squared standard deviations of a block's difference, so that intervals are \
             shortest at {} blocks. When the value is true it ever reaches 1 / alpha with probability of at most alpha. The \
             interval holds the values whose evidence is less; it is exact for normal noise of unknown size (Lindon, Ham, \
             Tingley and Bojinov).",
            number::significant(sequence.effect_variance, 3),
            sequence.shortest_at
        ));
        said.push(
            "Failures are compared after every block, too: after n blocks at a claim's share of alpha over n (n + 1), which \
             adds up to that share over all blocks there can be. What stands beside a claim (counters, stall times, \
             functions) has plain intervals, which do not allow for the analyses before."
                .to_owned(),
        );
        return said;
    }
    if study.rule != StoppingRule::Fixed {
        said.push(
            "Interim analyses: a spending function says how much of alpha may be used by the time a share of the blocks is in (Lan and \
             DeMets). The boundary of an analysis follows from the exact distribution of t statistics of the analyses so far."
                .to_owned(),
        );
    }
    said.push(
        format!(
            "The randomisation p asks how often the same runs would look this different if only the drawn order had changed. It \
             cannot be smaller than the number of possible orders allows. What decides is {}.",
            crate::report::words::WHICH_TEST_DECIDES
        ),
    );
    said
}
