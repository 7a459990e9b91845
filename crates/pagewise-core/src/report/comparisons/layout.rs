//! What all renditions say alike: which comparisons belong together, how a cell is called, what its numbers read.

use crate::comparison::analysis::Comparisons;
use crate::comparison::counters::by_significance;
use crate::comparison::estimate::{Design, FALSE_DISCOVERY_RATE};
use crate::comparison::found::{Comparison, CounterContrast, Warning};
use crate::comparison::plain_samples::{Bca, Percent};
use crate::comparison::rule::{Conclusion, EFFECT, HELD_BACK, OUTCOMES};
use crate::metric::Direction;
use crate::report::number;
use crate::report::printable::printable;
use crate::report::words::{INTERVAL_DECIDES, listed};
use indexmap::IndexMap;

/// As many counters as people read; the JSON has all.
const MOST_COUNTERS: usize = 15;

/// The comparisons of one contrast.
pub(super) struct Contrast<'c> {
    pub(super) factor: &'c str,
    pub(super) a: &'c str,
    pub(super) b: &'c str,
    /// The other factors, in the order asked for.
    pub(super) by: Vec<&'c str>,
    pub(super) cells: Vec<&'c Comparison>,
}

/// Comparisons that follow each other and compare the same levels.
pub(super) fn contrasts(all: &Comparisons) -> Vec<Contrast<'_>> {
    let same =
        |one: &Comparison, other: &Comparison| one.factor == other.factor && one.a == other.a && one.b == other.b;
    let groups = all.comparisons.chunk_by(|one, other| same(one, other));
    groups.filter_map(|cells| Some((cells.first()?, cells))).map(|(first, cells)| of_cells(all, first, cells)).collect()
}

fn of_cells<'c>(all: &'c Comparisons, first: &'c Comparison, cells: &'c [Comparison]) -> Contrast<'c> {
    let mut by: Vec<&str> = Vec::new();
    for name in all.by.iter().filter(|name| first.by.contains_key(*name)) {
        if !by.contains(&name.as_str()) {
            by.push(name);
        }
    }
    Contrast { factor: &first.factor, a: &first.a, b: &first.b, by, cells: cells.iter().collect() }
}

impl Contrast<'_> {
    /// `kernel: patched against baseline`.
    pub(super) fn title(&self) -> String {
        printable(&format!("{}: {} against {}", self.factor, self.b, self.a))
    }

    /// `better in 2 of 6, inconclusive in 4`.
    pub(super) fn verdicts(&self) -> String {
        let total = self.cells.len();
        if let [only] = self.cells.as_slice() {
            return verdict(only);
        }
        let count = |word| self.cells.iter().filter(|cell| cell.conclusion == word).count();
        let words = [Conclusion::Better, Conclusion::Worse, Conclusion::Equivalent, Conclusion::Inconclusive];
        let counted = words.into_iter().map(|word| (word, count(word))).filter(|(_, count)| *count > 0);
        counted.map(|(word, count)| format!("{} in {count} of {total}", word.word())).collect::<Vec<_>>().join(", ")
    }

    /// Levels of the other factors, one string per factor.
    pub(super) fn levels(&self, cell: &Comparison) -> Vec<String> {
        self.by.iter().map(|name| cell.by.get(*name).map_or_else(String::new, |level| printable(level))).collect()
    }

    /// Whether any run of it failed.
    pub(super) fn has_failures(&self) -> bool {
        self.cells.iter().map(|cell| &cell.outcomes).any(|test| test.a_bad + test.b_bad > 0)
    }

    /// The number of values when it is the same everywhere: `n = 10 and 10`.
    pub(super) fn common_n(&self) -> Option<(u32, u32)> {
        let first = self.cells.first().map(|cell| (cell.a_values.n, cell.b_values.n))?;
        self.cells.iter().all(|cell| (cell.a_values.n, cell.b_values.n) == first).then_some(first)
    }
}

/// The table that Markdown, LaTeX and the terminal lay out: head and rows of plain text.
pub(super) struct Rows {
    pub(super) head: Vec<String>,
    /// The first columns are names, the rest numbers; the last is the verdict.
    pub(super) names: usize,
    pub(super) rows: Vec<Vec<String>>,
}

/// Heads of columns that a narrow terminal can do without.
pub(super) const N: &str = "n";
/// See [`N`].
pub(super) const HOLM: &str = "Holm p";
/// How many runs of each level ended badly.
const BAD_RUNS: &str = "bad runs";

impl Rows {
    /// The same without the columns at these places.
    pub(super) fn without(&self, places: &[usize]) -> Rows {
        let kept = |cells: &Vec<String>| {
            let cells = cells.iter().enumerate().filter(|(place, _)| !places.contains(place));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        Rows { head: kept(&self.head), names: self.names, rows: self.rows.iter().map(kept).collect() }
    }

    /// Where the means of the two levels stand: before change, interval, Holm's p and verdict.
    pub(super) fn means(&self) -> [usize; 2] {
        [self.head.len().saturating_sub(6), self.head.len().saturating_sub(5)]
    }
}

pub(super) fn rows(all: &Comparisons, contrast: &Contrast) -> Rows {
    let failures = contrast.has_failures();
    let several_n = contrast.common_n().is_none();
    let mut head: Vec<String> = contrast.by.iter().map(|name| printable(name)).collect();
    let names = head.len();
    head.extend(several_n.then(|| N.to_owned()));
    head.extend(failures.then(|| BAD_RUNS.to_owned()));
    head.extend([printable(contrast.a), printable(contrast.b), "change".to_owned()]);
    head.extend([format!("[{}]", confidence(all)), HOLM.to_owned(), "verdict".to_owned()]);
    let row = |cell: &&Comparison| {
        let mut row = contrast.levels(cell);
        row.extend(several_n.then(|| format!("{}, {}", cell.a_values.n, cell.b_values.n)));
        row.extend(failures.then(|| ended_badly(cell)));
        row.extend(means(cell));
        row.extend(change(cell));
        row.push(cell.in_r().welch_holm_p.map_or(number::NONE.to_owned(), number::p_value));
        row.push(marked(cell));
        row
    };
    Rows { head, names, rows: contrast.cells.iter().map(row).collect() }
}

fn means(cell: &Comparison) -> [String; 2] {
    number::significant_alike([cell.a_values.mean, cell.b_values.mean].map(|mean| mean.unwrap_or(f64::NAN)), 4)
}

/// `0/10, 3/10`.
fn ended_badly(cell: &Comparison) -> String {
    let test = &cell.outcomes;
    format!("{}/{}, {}/{}", test.a_bad, test.a_total, test.b_bad, test.b_total)
}

/// The change and its interval: in percent, as multiples, or as a difference where a percentage says nothing.
fn change(cell: &Comparison) -> [String; 2] {
    if let Some(percent) = &cell.in_r().percent {
        return of_percent(percent);
    }
    match (&cell.in_r().welch, cell.a_values.mean, cell.b_values.mean) {
        (Some(welch), Some(a), Some(b)) => {
            let [difference, low, high] = number::signed_alike([b - a, -welch.ci_high, -welch.ci_low], 4);
            [difference, format!("[{low}, {high}]")]
        }
        _ => [number::NONE.to_owned(), number::NONE.to_owned()],
    }
}

/// Whether the change of any comparison is a difference.
fn has_differences(all: &Comparisons) -> bool {
    all.comparisons.iter().any(|cell| cell.in_r().percent.is_none() && cell.in_r().welch.is_some())
}

/// A change in percent and its interval, both in the unit that fits all three.
fn of_percent(percent: &Percent) -> [String; 2] {
    let ratios = [percent.estimate, percent.low, percent.high].map(|percent| 1.0 + percent / 100.0);
    let [estimate, low, high] = number::changes(ratios);
    [estimate, between(&low, &high)]
}

/// `[−9.6, −5.4]`: in percent the sign of it stands at the change beside it, multiples keep theirs.
fn between(low: &str, high: &str) -> String {
    match (low.strip_suffix(" %"), high.strip_suffix(" %")) {
        (Some(low), Some(high)) => format!("[{low}, {high}]"),
        _ => format!("[{low}, {high}]"),
    }
}

/// The verdict in a row, marked where the interval beside it seems to say something else.
fn marked(cell: &Comparison) -> String {
    let mark = if differs_from_shown(cell) { FOOTNOTE } else { "" };
    format!("{}{mark}", verdict(cell))
}

/// Behind a verdict with a footnote.
const FOOTNOTE: &str = " *";

/// Whether the interval that is shown, of the means, excludes no change and the one the verdict goes by does not, or the
/// other way round.
fn differs_from_shown(cell: &Comparison) -> bool {
    let Some(ratio) = &cell.effect else { return false };
    let (low, high) = match (&cell.in_r().percent, &cell.in_r().welch) {
        (Some(percent), _) => (percent.low, percent.high),
        (None, Some(welch)) => (-welch.ci_high, -welch.ci_low),
        (None, None) => return false,
    };
    let excludes_zero = |low: f64, high: f64| low > 0.0 || high < 0.0;
    let goes_by_it = cell.decided_by == EFFECT && cell.conclusion != Conclusion::Equivalent;
    let is_open = cell.conclusion == Conclusion::Inconclusive && cell.decided_by != HELD_BACK;
    (goes_by_it || is_open)
        && excludes_zero(low, high) != excludes_zero(ratio.interval.low - 1.0, ratio.interval.high - 1.0)
}

/// The intervals that verdicts with a mark go by. `None` where no verdict has one.
pub(super) fn footnote(all: &Comparisons, contrast: &Contrast) -> Option<String> {
    let said = |cell: &&Comparison| {
        let ratio = cell.effect.as_ref().filter(|_| differs_from_shown(cell))?;
        let [low, high] = number::changes([ratio.interval.low, ratio.interval.high]);
        let place = place(&cell.by, &all.by);
        Some(if place.is_empty() { format!("{low} to {high}") } else { format!("{place} {low} to {high}") })
    };
    let each: Vec<String> = contrast.cells.iter().filter_map(said).collect();
    let text = || {
        format!(
            "* The verdict goes by the {} interval of the ratio {}, not by the one shown: {}.",
            confidence(all),
            ratio_words(contrast.cells.iter().copied()),
            each.join("; ")
        )
    };
    (!each.is_empty()).then(text)
}

fn verdict(cell: &Comparison) -> String {
    match (cell.conclusion, cell.decided_by.as_str(), cell.real_but_below_margin) {
        (word, OUTCOMES | HELD_BACK, _) => format!("{} (failures)", word.word()),
        (word, _, true) => format!("{} (real)", word.word()),
        (word, _, _) if word == Conclusion::Inconclusive && cell.effect.is_none() => {
            let lacking = if cell.in_r().welch.is_some() { "no ratio" } else { "no interval" };
            format!("{} ({lacking})", word.word())
        }
        (word, _, _) => word.word().to_owned(),
    }
}

pub(super) fn confidence(all: &Comparisons) -> String {
    number::percent(1.0 - all.alpha)
}

/// `seconds, lower is better`.
pub(super) fn value(all: &Comparisons) -> String {
    let better = match all.direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    };
    format!("{}, {better} is better", printable(&all.value))
}

/// What the columns mean, for whoever reads the table alone.
pub(super) fn legend(all: &Comparisons) -> String {
    let confidence = confidence(all);
    let corrected = match all.comparisons.len() {
        1 => String::new(),
        count => format!(" corrected for the {count} comparisons of this call"),
    };
    let differences = if has_differences(all) {
        " Without % or × it is their difference, second − first, and Welch's interval."
    } else {
        ""
    };
    format!(
        "Change: mean of the second level against that of the first, with Fieller's {confidence} interval.{differences} \
         Verdict: \
         equivalent when the {} interval of the ratio {} lies inside ±{}, else better or worse when its \
         {confidence} interval excludes 1. Holm p: Welch's p{corrected}.{}",
        number::percent(1.0 - 2.0 * all.alpha),
        ratio_words(all.comparisons.iter()),
        number::percent(all.margin),
        failures_rule(all).map_or_else(String::new, |rule| format!(" {rule}"))
    )
}

/// Which estimate decides, and why it and no other: it follows from the design and was settled before the values were seen.
pub(super) fn what_decides(all: &Comparisons) -> String {
    let by = |design| all.comparisons.iter().any(|cell| cell.method == design);
    let estimates = [
        (Design::Pairs, "within pairs, in the order they ran (crossover)"),
        (Design::Blocks, "within blocks"),
        (Design::Independent, "of all values (Welch's, on logarithms)"),
    ];
    let named: Vec<&str> = estimates.into_iter().filter(|(design, _)| by(*design)).map(|(_, words)| words).collect();
    format!("What decides: the t test {}, by its interval. {INTERVAL_DECIDES}", named.join(", or "))
}

/// Of what the ratio is that verdicts go by.
fn ratio_words<'c>(cells: impl Iterator<Item = &'c Comparison>) -> &'static str {
    let within: Vec<bool> = cells.map(|cell| cell.method != Design::Independent).collect();
    if !within.contains(&true) {
        return "of geometric means";
    }
    if within.contains(&false) { "of geometric means, within blocks where there are such," } else { "within blocks" }
}

/// Why a verdict is held back, where one is.
pub(super) fn failures_rule(all: &Comparisons) -> Option<&'static str> {
    let is_held_back = all.comparisons.iter().any(|cell| cell.decided_by == HELD_BACK);
    is_held_back.then_some(
        "Inconclusive (failures): a level that fails more often is never called better or equivalent, whatever its values \
         say.",
    )
}

/// Where a comparison stands: `swap on, concurrency low`.
pub(super) fn place(by: &IndexMap<String, String>, order: &[String]) -> String {
    let mut named: Vec<String> = Vec::new();
    for (name, level) in order.iter().filter_map(|name| by.get_key_value(name)) {
        named.push(printable(&format!("{name} {level}")));
    }
    named.join(", ")
}

/// A warning and where it holds.
pub(super) struct LocatedWarning {
    pub(super) id: String,
    pub(super) text: String,
    /// How many comparisons have it, when there are several: `6 of 12 comparisons, first swap on`.
    pub(super) where_: Option<String>,
}

/// Every kind of warning once, with the text of its first comparison.
pub(super) fn warnings(all: &Comparisons) -> Vec<LocatedWarning> {
    let mut told: Vec<LocatedWarning> = all
        .warnings
        .iter()
        .map(|w| LocatedWarning { id: w.id.clone(), text: printable(&w.text), where_: None })
        .collect();
    let mut ids: Vec<&str> = Vec::new();
    for warning in all.comparisons.iter().flat_map(|comparison| &comparison.warnings) {
        if !ids.contains(&warning.id.as_str()) {
            ids.push(&warning.id);
        }
    }
    for id in ids {
        let having = |comparison: &&Comparison| comparison.warnings.iter().any(|warning| warning.id == id);
        let mut concerned: Vec<&Comparison> = all.comparisons.iter().filter(having).collect();
        // Failures that decided are told before others; the sort is stable.
        let decided = |cell: &Comparison| id == FAILURES && [OUTCOMES, HELD_BACK].contains(&cell.decided_by.as_str());
        concerned.sort_by_key(|cell| !decided(cell));
        let Some((first, warning)) = first_of(&concerned, id) else { continue };
        let deciding: Vec<&Comparison> = concerned.iter().copied().filter(|cell| decided(cell)).collect();
        let where_ =
            (all.comparisons.len() > 1).then(|| where_it_holds(all, first, concerned.len()) + &decides(all, &deciding));
        told.push(LocatedWarning { id: id.to_owned(), text: printable(&warning.text), where_ });
    }
    told
}

/// The warning that may have decided a verdict.
const FAILURES: &str = "fails-more-often";

/// As many places as a warning lists.
const MOST_PLACES: usize = 4;

/// `; it decides load low and load mid`.
fn decides(all: &Comparisons, deciding: &[&Comparison]) -> String {
    let mut places: Vec<String> = deciding.iter().take(MOST_PLACES).map(|cell| place_or_pair(all, cell)).collect();
    if deciding.len() > MOST_PLACES {
        places.push(format!("{} more", deciding.len() - MOST_PLACES));
    }
    if places.is_empty() { String::new() } else { format!("; it decides {}", listed(&places)) }
}

fn first_of<'c>(concerned: &[&'c Comparison], id: &str) -> Option<(&'c Comparison, &'c Warning)> {
    let first = *concerned.first()?;
    Some((first, first.warnings.iter().find(|warning| warning.id == id)?))
}

fn where_it_holds(all: &Comparisons, first: &Comparison, count: usize) -> String {
    let place = place_or_pair(all, first);
    match count {
        1 => place,
        count => format!("{count} of {} comparisons; this is {place}", all.comparisons.len()),
    }
}

/// Where a comparison stands, or what it compares.
fn place_or_pair(all: &Comparisons, cell: &Comparison) -> String {
    let place = place(&cell.by, &all.by);
    if place.is_empty() { printable(&format!("{} {}", cell.factor, cell.b)) } else { place }
}

/// Counters worth a line, and how many were compared.
fn counters(all: &Comparisons) -> Vec<(&Comparison, &CounterContrast)> {
    let of_one = |one| all_counters_of(one).filter(|(_, counter)| counter.q <= FALSE_DISCOVERY_RATE);
    let mut differing: Vec<(&Comparison, &CounterContrast)> = all.comparisons.iter().flat_map(of_one).collect();
    // Stable: what is equally significant stays in the order of comparisons.
    differing.sort_by(|(_, one), (_, other)| by_significance(one, other));
    differing
}

fn all_counters_of(one: &Comparison) -> impl Iterator<Item = (&Comparison, &CounterContrast)> {
    one.counters.iter().map(move |counter| (one, counter))
}

/// How many contrasts of counters were made.
pub(super) fn counters_compared(all: &Comparisons) -> u32 {
    all.comparisons.iter().map(|one| one.counters_compared).sum()
}

pub(super) fn counters_note(all: &Comparisons) -> String {
    let differing = counters(all).len();
    let shown = if differing > MOST_COUNTERS { format!(", the first {MOST_COUNTERS} shown") } else { String::new() };
    format!(
        "{differing} of {} contrasts differ{shown} (false-discovery rate q ≤ {FALSE_DISCOVERY_RATE}, Benjamini and Hochberg). \
         What differs is a trace, not yet a cause.",
        counters_compared(all)
    )
}

/// Head and rows of the counters' table.
pub(super) fn counter_rows(all: &Comparisons) -> (Vec<String>, Vec<Vec<String>>) {
    let mut counters = counters(all);
    counters.truncate(MOST_COUNTERS);
    let several = counters.iter().any(|(one, _)| !one.by.is_empty());
    let mut head = vec!["counter".to_owned()];
    head.extend(several.then(|| "where".to_owned()));
    head.extend(["mean of a", "mean of b", "change", "q"].map(str::to_owned));
    let row = |(one, counter): &(&Comparison, &CounterContrast)| {
        let mut row = vec![printable(&counter.name)];
        row.extend(several.then(|| place(&one.by, &all.by)));
        row.extend([number::count(counter.a_mean), number::count(counter.b_mean)]);
        let difference = || number::signed_count(counter.difference);
        row.push(counter.percent.as_ref().map_or_else(difference, |p| number::change(1.0 + p.estimate / 100.0)));
        row.push(number::p_value(counter.q));
        row
    };
    (head, counters.iter().map(row).collect())
}

/// The numbers of a single comparison that has the page to itself.
pub(super) fn details(all: &Comparisons) -> Vec<(String, String)> {
    let [cell] = all.comparisons.as_slice() else { return Vec::new() };
    let confidence = confidence(all);
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut line = |label: &str, value: Option<String>, field: &str| {
        let none =
            || format!("none: {}", printable(cell.in_r().absent.get(field).map_or("not asked for", String::as_str)));
        lines.push((label.to_owned(), value.unwrap_or_else(none)));
    };
    let digits = |value: f64| number::significant(value, 4);
    let [sd_a, sd_b] =
        number::significant_alike([cell.a_values.sd, cell.b_values.sd].map(|sd| sd.unwrap_or(f64::NAN)), 4);
    line("SD", Some(format!("{sd_a} and {sd_b}")), "");
    // As R has it, first less second; all else is second against first.
    let welch = cell.in_r().welch.as_ref().map(|w| {
        let [low, high] = number::significant_alike([w.ci_low, w.ci_high], 4);
        let of_a = format!("{low} to {high}");
        format!("p {}, t {}, df {}; first − second {of_a}", number::p_value(w.p), digits(w.t), digits(w.df))
    });
    line("Welch", welch, "welch");
    let ratio = cell.in_r().log_ratio.as_ref().map(|ratio| {
        let ends = (digits(libm::exp(ratio.low)), digits(libm::exp(ratio.high)));
        format!("{} ({confidence} interval {} to {})", digits(libm::exp(ratio.estimate)), ends.0, ends.1)
    });
    line("ratio of geometric means", ratio, "log_ratio");
    let tost =
        cell.in_r().tost.as_ref().map(|t| format!("p {} against ±{}", number::p_value(t.p), number::percent(t.margin)));
    line("equivalence (TOST)", tost, "tost");
    let shift = cell.in_r().hodges_lehmann.as_ref();
    let shift = shift.map(|h| match number::percent(h.level) {
        // One value of each: no interval, whatever its ends.
        _ if h.level < 0.5 => format!("{} (no interval: too few values)", digits(h.shift)),
        level => {
            let [shift, low, high] = number::significant_alike([h.shift, h.ci_low, h.ci_high], 4);
            format!("{shift} ({level} interval {low} to {high})")
        }
    });
    line("second − first (Hodges-Lehmann)", shift, "hodges_lehmann");
    let ranks = cell
        .in_r()
        .mann_whitney
        .as_ref()
        .map(|m| format!("p {}, U {}{}", number::p_value(m.p), m.u, if m.exact { ", exact" } else { "" }));
    line("ranks (Mann-Whitney)", ranks, "mann_whitney");
    line("Hedges g", cell.in_r().hedges_g.map(digits), "hedges_g");
    if let Some(blocked) = &cell.in_r().blocked {
        let ends = (digits(libm::exp(blocked.low)), digits(libm::exp(blocked.high)));
        let said = format!(
            "ratio {} ({} to {}), p {}, {} {}",
            digits(libm::exp(blocked.log_ratio)),
            ends.0,
            ends.1,
            number::p_value(blocked.p),
            blocked.blocks,
            if blocked.method == Design::Pairs { "pairs (crossover)" } else { "blocks" }
        );
        line("within blocks", Some(said), "blocked");
    }
    if let Some(bca) = &cell.in_r().bca {
        line("bootstrap (BCa)", Some(format!("{}, {} resamples", resampled(bca), bca.resamples)), "bca");
    }
    lines
}

/// `−3.6 % to +0.5 %`.
fn resampled(bca: &Bca) -> String {
    let [low, high] = number::changes([bca.percent_low, bca.percent_high].map(|percent| 1.0 + percent / 100.0));
    format!("{low} to {high}")
}

/// What else was estimated of each comparison of a contrast: from within blocks, and by the bootstrap. `None` where a single
/// comparison has it among its details, and where there is nothing.
pub(super) fn further(all: &Comparisons, contrast: &Contrast) -> Option<Rows> {
    let has_blocks = contrast.cells.iter().any(|cell| cell.in_r().blocked.is_some());
    let has_bca = contrast.cells.iter().any(|cell| cell.in_r().bca.is_some());
    if all.comparisons.len() == 1 || !(has_blocks || has_bca) {
        return None;
    }
    let none = || number::NONE.to_owned();
    let mut head: Vec<String> = contrast.by.iter().map(|name| printable(name)).collect();
    let names = head.len();
    if has_blocks {
        head.extend(["blocks", "within blocks"].map(str::to_owned));
        head.extend([format!("[{}]", confidence(all)), "p".to_owned()]);
    }
    head.extend(has_bca.then(|| format!("bootstrap {}", confidence(all))));
    let row = |cell: &&Comparison| {
        let mut row = contrast.levels(cell);
        match &cell.in_r().blocked {
            _ if !has_blocks => {}
            None => row.extend([none(), none(), none(), none()]),
            Some(blocked) => {
                let ratios = [blocked.log_ratio, blocked.low, blocked.high].map(libm::exp);
                let [estimate, low, high] = number::changes(ratios);
                row.extend([blocked.blocks.to_string(), estimate, between(&low, &high), number::p_value(blocked.p)]);
            }
        }
        row.extend(has_bca.then(|| cell.in_r().bca.as_ref().map_or_else(none, resampled)));
        row
    };
    Some(Rows { head, names, rows: contrast.cells.iter().map(row).collect() })
}

/// What the further table shows.
pub(super) fn further_title(contrast: &Contrast) -> String {
    let resamples = contrast.cells.iter().find_map(|cell| cell.in_r().bca.as_ref()).map(|bca| bca.resamples);
    let blocks = contrast.cells.iter().any(|cell| cell.in_r().blocked.is_some());
    let mut said = Vec::new();
    said.extend(blocks.then(|| "geometric means from within blocks".to_owned()));
    said.extend(resamples.map(|count| format!("means by bootstrap (BCa, {count} resamples)")));
    format!("The same change otherwise: {}:", said.join("; "))
}

/// Where to find what a rendition has no room for. `None` when there is nothing of it.
pub(super) fn elsewhere(all: &Comparisons) -> Option<String> {
    let mut said = Vec::new();
    let has = |what: fn(&Comparison) -> bool| all.comparisons.iter().any(what);
    said.extend(has(|cell| cell.in_r().blocked.is_some()).then_some("estimates from within blocks"));
    said.extend(has(|cell| cell.in_r().bca.is_some()).then_some("bootstrap intervals"));
    said.extend((counters_compared(all) > 0).then_some("counters"));
    let text = || format!("Not shown here: {}. See --format table, markdown or json.", said.join(", "));
    (!said.is_empty()).then(text)
}

/// How the table was read, made inert.
pub(super) fn notes(all: &Comparisons) -> Vec<String> {
    all.notes.iter().map(|note| printable(&note.text)).collect()
}
