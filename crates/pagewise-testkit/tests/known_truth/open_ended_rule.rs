//! What an open-ended comparison promises, counted over scripted trials: false alarms with an analysis after every block to the end,
//! what it finds, and after how many blocks it ends.
//!
//! Plans are read, orders drawn and analyses made by the code that real trials use; only host and job are scripted. Seeds are fixed.
//! `PAGEWISE_LONG` runs ten times as many trials; the figures go into `$PAGEWISE_RECORD_DIR/open-ended` when that is set.
//! `PAGEWISE_BLESS` writes the table of `docs/method/confidence-sequence.md` from the committed figures.

use pagewise_core::comparison::rule::Conclusion;
use pagewise_core::experiment::order::{Order, draw};
use pagewise_core::experiment::plan::{Plan, source};
use pagewise_core::experiment::point::Point;
use pagewise_core::experiment::{analysis, stopping};
use pagewise_core::stats::crossover::{self, PairDifference};
use pagewise_testkit::scripted::{Noise, World, true_world};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const ALPHA: f64 = 0.05;
/// Blocks at which a trial ends anyhow, and those its intervals are shortest at.
const BLOCKS: u32 = 40;
const SHORTEST_AT: u32 = 20;
/// Scatter of a run's ln(wall); that of the difference inside a pair is √2 as large.
const SD: f64 = 0.02;

/// Trials of a scenario.
fn count() -> u32 {
    if std::env::var_os("PAGEWISE_LONG").is_some() { 10_000 } else { 1000 }
}

struct Scenario {
    name: &'static str,
    world: World,
    /// The margin in standard deviations of a pair's difference.
    margin_in_sd: f64,
}

/// The size of an effect whose logarithm is so many standard deviations of a pair's difference.
fn ratio(in_sd: f64) -> f64 {
    (in_sd * SD * std::f64::consts::SQRT_2).exp()
}

/// Too small a margin for anything to be equivalent in so few blocks.
const NO_MARGIN: f64 = 0.01;

fn scenarios() -> Vec<Scenario> {
    let still = World { sd: SD, ..World::default() };
    let of = |name, world, margin_in_sd| Scenario { name, world, margin_in_sd };
    vec![
        of("no effect", still, NO_MARGIN),
        of("no effect, heavy tails", World { noise: Noise::HeavyTails, ..still }, NO_MARGIN),
        of("no effect, drift of 4 SD", World { drift_in_sd: 4.0, ..still }, NO_MARGIN),
        of("effect of 0.5 SD", World { ratio: ratio(0.5), ..still }, NO_MARGIN),
        of("effect of 1 SD", World { ratio: ratio(1.0), ..still }, NO_MARGIN),
        of("effect of 2 SD", World { ratio: ratio(2.0), ..still }, NO_MARGIN),
        of("no effect, margin of 1 SD", still, 1.0),
        of("effect as large as the margin of 1 SD", World { ratio: ratio(1.0), ..still }, 1.0),
        of("both fail three times in ten", World { oom: (0.3, 0.3), ..still }, NO_MARGIN),
        of("b always fails", World { oom: (0.0, 1.0), ..still }, NO_MARGIN),
    ]
}

fn plan(scenario: &Scenario) -> Plan {
    let margin = (ratio(scenario.margin_in_sd) - 1.0) * 100.0;
    let text = format!(
        "name = 'open'\n[workload]\nname = 'command'\nrun = ['true']\n[metric]\nsmallest_effect = '{margin}%'\n\
         [design]\nblocks = {BLOCKS}\nwarmup = 0\n[stopping]\nrule = 'open-ended'\nshortest_at = {SHORTEST_AT}\n\
         [[factor]]\nname = 'level'\nlevels.a = 'env.LEVEL=a'\nlevels.b = 'env.LEVEL=b'\n\
         [[contrast]]\nfactor = 'level'\na = 'a'\nb = 'b'\nprimary = true\n"
    );
    source::read(&text, "open.toml").unwrap()
}

/// What became of one trial.
struct Ended {
    conclusion: Conclusion,
    blocks: u32,
    /// Whether the interval at the end covers the truth; `None` without an interval.
    covers: Option<bool>,
    /// Whether a plain t interval, analysed after the same blocks, ever excluded no difference.
    plain_ever: bool,
}

fn trial(scenario: &Scenario, seed: u64) -> Ended {
    let mut plan = plan(scenario);
    plan.design.seed = seed;
    let order = draw(&plan).unwrap();
    let points = true_world(&plan, &order, &scenario.world, seed.wrapping_add(1 << 40));
    let mut analyses = Vec::new();
    for blocks in plan.stopping.interim_analyses(BLOCKS) {
        let analysis = stopping::interim_analysis(&plan, &order, &points, blocks, &analyses);
        let stop = analysis.stop;
        analyses.push(analysis);
        if stop {
            break;
        }
    }
    let last = analyses.last().unwrap();
    let truth = scenario.world.ratio;
    let covers = {
        // The rest of a study (counters, health) is not needed for each of thousands of trials.
        let study = analysis::analyze(&without_first_metric(&plan), &order, &points, &analyses).unwrap();
        let of_wall = study.comparisons.iter().find(|one| one.metric == "wall").unwrap();
        of_wall.effect.as_ref().map(|effect| effect.interval.low <= truth && truth <= effect.interval.high)
    };
    let (conclusion, blocks) = (last.comparisons[0].conclusion, last.blocks);
    Ended { conclusion, blocks, covers, plain_ever: plain_ever(&order, &points) }
}

/// The same with a first metric that no run has: a study checks its first metric for two heaps, which simulates thousands of
/// samples. The claim moves to that metric, so wall stands alone, at all of alpha, as the one claim did.
fn without_first_metric(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let first = plan.metrics[0].clone();
    plan.metrics.insert(0, pagewise_core::experiment::plan::Metric { name: "cpu".to_owned(), ..first });
    plan
}

/// Peeking: a plain t interval at 5 % after each of the blocks that an open-ended trial is analysed after.
fn plain_ever(order: &Order, points: &[Point]) -> bool {
    let wall = |block: u32, cell: &str| {
        let is_it = |point: &&Point| point.planned.block == Some(block) && point.planned.cell == cell;
        points.iter().find(is_it).and_then(|point| {
            let is_ok = point.outcome == pagewise_core::experiment::point::Outcome::Ok;
            is_ok.then(|| (point.measures["wall"].ln(), point.planned.position))
        })
    };
    let blocks = order.points.iter().filter_map(|point| point.block).max().unwrap_or(0);
    let mut pairs = Vec::new();
    for block in 0..=blocks {
        if let (Some((a, place)), Some((b, _))) = (wall(block, "a"), wall(block, "b")) {
            pairs.push(PairDifference { a_first: place == 0, difference: b - a });
        }
        let estimate = crossover::estimate(&pairs);
        if block >= 3 && estimate.is_ok_and(|estimate| estimate.p() <= ALPHA) {
            return true;
        }
    }
    false
}

/// One line of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    scenario: String,
    /// Shares of trials that end better or worse, and equivalent.
    different: f64,
    equivalent: f64,
    /// Blocks run, the mean.
    blocks: f64,
    /// Share of the intervals at the end that cover the truth; `None` where no trial has one.
    covered: Option<f64>,
    /// Share of trials in which a plain interval taken as often excludes no difference at some block.
    plain: f64,
}

/// What is committed.
#[derive(Serialize, Deserialize)]
struct Record {
    trials: u32,
    alpha: f64,
    most_blocks: u32,
    shortest_at: u32,
    rows: Vec<Row>,
}

fn row(scenario: &Scenario, first_seed: u64) -> Row {
    let ended: Vec<Ended> = (0..count()).map(|one| trial(scenario, first_seed + u64::from(one))).collect();
    let share = |is: &dyn Fn(&Ended) -> bool| ended.iter().filter(|one| is(one)).count() as f64 / f64::from(count());
    let known: Vec<bool> = ended.iter().filter_map(|one| one.covers).collect();
    let covered = known.iter().filter(|covers| **covers).count() as f64 / known.len().max(1) as f64;
    Row {
        scenario: scenario.name.to_owned(),
        different: share(&|one| matches!(one.conclusion, Conclusion::Better | Conclusion::Worse)),
        equivalent: share(&|one| one.conclusion == Conclusion::Equivalent),
        blocks: ended.iter().map(|one| f64::from(one.blocks)).sum::<f64>() / f64::from(count()),
        covered: (!known.is_empty()).then_some(covered),
        plain: share(&|one| one.plain_ever),
    }
}

/// All rows; computed once, by as many threads as there are CPUs.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let scenarios = scenarios();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut rows = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(place) else { return rows };
            rows.push((place, row(scenario, place as u64 * 1_000_000)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows: Vec<(usize, Row)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    rows.sort_by_key(|(place, _)| *place);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    record(&rows);
    rows
});

fn find(scenario: &str) -> &'static Row {
    TABLE.iter().find(|row| row.scenario == scenario).unwrap()
}

/// What a rate of exactly `rate` stays below with probability 0.999.
fn bound(rate: f64) -> f64 {
    rate + 3.09 * (rate * (1.0 - rate) / f64::from(count())).sqrt()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Prints the table and keeps it where a record is made.
#[expect(clippy::print_stdout, reason = "the figures are what this file is run for")]
fn record(rows: &[Row]) {
    println!("{} trials each\n{}", count(), table(rows));
    let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") else { return };
    let record =
        Record { trials: count(), alpha: ALPHA, most_blocks: BLOCKS, shortest_at: SHORTEST_AT, rows: rows.to_vec() };
    let folder = root().join(folder).join("open-ended");
    std::fs::create_dir_all(&folder).unwrap();
    let json = serde_json::to_string_pretty(&record).unwrap();
    std::fs::write(folder.join("rule.json"), format!("{json}\n")).unwrap();
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| host and job | better or worse | equivalent | blocks run | covered | a plain interval, taken as often |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let covered = row.covered.map_or_else(|| "–".to_owned(), percent);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.1} | {covered} | {} |",
            row.scenario,
            percent(row.different),
            percent(row.equivalent),
            row.blocks,
            percent(row.plain)
        );
    }
    text
}

#[test]
fn an_analysis_after_every_block_to_the_end_makes_no_more_false_alarms_than_declared() {
    for scenario in ["no effect", "no effect, heavy tails", "no effect, drift of 4 SD"] {
        let row = find(scenario);
        assert!(row.different <= bound(ALPHA), "{row:?}");
        assert!(row.equivalent == 0.0 && row.blocks > 35.0, "these trials go on to the end: {row:?}");
        assert!(row.covered.unwrap() >= 1.0 - bound(ALPHA), "{row:?}");
    }
}

#[test]
fn a_plain_interval_looked_at_as_often_is_far_over() {
    assert!(find("no effect").plain >= 4.0 * ALPHA, "{:?}", find("no effect"));
    assert!(find("no effect, heavy tails").plain >= 2.0 * ALPHA, "{:?}", find("no effect, heavy tails"));
}

#[test]
fn what_is_there_is_found_the_sooner_the_larger_it_is() {
    let [half, one, two] = ["effect of 0.5 SD", "effect of 1 SD", "effect of 2 SD"].map(find);
    assert!(half.different >= 0.4 && one.different >= 0.97 && two.different >= 0.999, "{half:?} {one:?} {two:?}");
    assert!(two.blocks < 11.0 && two.blocks < one.blocks && one.blocks < half.blocks, "{half:?} {one:?} {two:?}");
    for row in [half, one, two] {
        assert!(row.covered.unwrap() >= 1.0 - bound(ALPHA), "{row:?}");
    }
}

#[test]
fn equivalence_is_found_where_it_is_and_not_at_the_margin() {
    let (inside, at) = (find("no effect, margin of 1 SD"), find("effect as large as the margin of 1 SD"));
    assert!(inside.equivalent >= 0.9 && inside.blocks < 30.0, "{inside:?}");
    assert!(at.equivalent <= bound(ALPHA), "{at:?}");
}

#[test]
fn failures_are_compared_after_every_block_without_false_alarms() {
    let (both, one) = (find("both fail three times in ten"), find("b always fails"));
    assert!(both.different <= bound(2.0 * ALPHA), "failures and times have a level each: {both:?}");
    assert_eq!((one.different, one.blocks), (1.0, 7.0));
}

const BEGIN: &str = "<!-- tables: begin -->\n";
const END: &str = "<!-- tables: end -->\n";

#[test]
fn the_page_of_the_confidence_sequence_in_the_reference_shows_the_committed_figures() {
    let file = root().join("docs/method/confidence-sequence.md");
    let figures = std::fs::read_to_string(root().join("bench/long/open-ended/rule.json")).unwrap();
    let record: Record = serde_json::from_str(&figures).unwrap();
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", table(&record.rows));
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(
        page == wanted,
        "docs/method/confidence-sequence.md does not show bench/long/open-ended; `make docs` writes it again"
    );
}
