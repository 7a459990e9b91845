//! How often a trial is told that its host changed when it did not, and how often when it did; and the same of what one run
//! leaves to the next.
//!
//! The series are noise of a known kind with a known jump; the trials are scripted and go through the analysis that real trials
//! use. Seeds are fixed. `PAGEWISE_LONG` runs ten times as many; the figures go into `$PAGEWISE_RECORD_DIR/host-changes` when that
//! is set. `PAGEWISE_BLESS` writes the table of `docs/method/change-points.md` from the committed figures.

use pagewise_core::experiment::analysis::{Analysis, analyze};
use pagewise_core::experiment::order::draw;
use pagewise_core::experiment::plan::{Plan, source};
use pagewise_core::experiment::point::Point;
use pagewise_core::stats::change_points::{self, Change};
use pagewise_core::stats::e_divisive::{self, Search};
use pagewise_core::stats::normal;
use pagewise_testkit::scripted::{Noise, World, true_world};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What the health of a study asks of every trial.
const LEVEL: f64 = 0.01;
const SEARCH: Search = Search { fewest: 6, level: LEVEL, orders: 499 };

fn count() -> u32 {
    if std::env::var_os("PAGEWISE_LONG").is_some() { 20_000 } else { 2000 }
}

struct Draw(ChaCha20Rng);

impl Draw {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    fn normal(&mut self) -> f64 {
        normal::quantile(self.uniform())
    }

    /// Student's t with 3 degrees of freedom, of standard deviation 1.
    fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal()).map(|z| z * z).sum();
        self.normal() / squares.sqrt()
    }
}

/// One line of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    series: String,
    /// Shares of series in which the method finds a change of the level or the spread.
    pelt: f64,
    e_divisive: f64,
    /// Both, as a study asks.
    both: f64,
}

#[derive(Serialize, Deserialize)]
struct Record {
    series: u32,
    level: f64,
    rows: Vec<Row>,
}

fn row(name: &str, seed: u64, mut series: impl FnMut(&mut Draw) -> Vec<f64>) -> Row {
    let mut draw = Draw(ChaCha20Rng::seed_from_u64(seed));
    let (mut pelt, mut tested, mut both) = (0, 0, 0);
    for one in 0..count() {
        let values = series(&mut draw);
        let cut = |change| change_points::segments(&values, change).len() > 1;
        let alarm = cut(Change::Mean) || cut(Change::MeanAndVariance);
        let mut rng = ChaCha20Rng::seed_from_u64((seed << 32) + u64::from(one));
        let found = !e_divisive::changes(&values, &SEARCH, &mut rng).is_empty();
        (pelt, tested, both) = (pelt + u32::from(alarm), tested + u32::from(found), both + u32::from(alarm && found));
    }
    let share = |found: u32| f64::from(found) / f64::from(count());
    Row { series: name.to_owned(), pelt: share(pelt), e_divisive: share(tested), both: share(both) }
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let normals = |count: usize| move |draw: &mut Draw| (0..count).map(|_| draw.normal()).collect::<Vec<f64>>();
    let heavy = |count: usize| move |draw: &mut Draw| (0..count).map(|_| draw.heavy()).collect::<Vec<f64>>();
    // The first half, then the second with another level or spread.
    let jump = |by: f64, times: f64| {
        move |draw: &mut Draw| {
            (0..48).map(|run| if run < 24 { draw.normal() } else { by + times * draw.normal() }).collect::<Vec<f64>>()
        }
    };
    let drift = |by: f64| {
        move |draw: &mut Draw| (0..48).map(|run| by * f64::from(run) / 47.0 + draw.normal()).collect::<Vec<f64>>()
    };
    let rows = vec![
        row("20 values of noise", 1, normals(20)),
        row("48 values of noise", 2, normals(48)),
        row("100 values of noise", 3, normals(100)),
        row("48 values with heavy tails", 4, heavy(48)),
        row("48 values, a jump of 1 SD in the middle", 5, jump(1.0, 1.0)),
        row("48 values, a jump of 1.5 SD in the middle", 6, jump(1.5, 1.0)),
        row("48 values, a jump of 2 SD in the middle", 7, jump(2.0, 1.0)),
        row("48 values, three times the spread from the middle on", 8, jump(0.0, 3.0)),
        row("48 values, a drift of 2 SD", 9, drift(2.0)),
    ];
    record(&rows);
    rows
});

fn find(series: &str) -> &'static Row {
    TABLE.iter().find(|row| row.series == series).unwrap()
}

/// What a rate of exactly `rate` stays below with probability 0.999.
fn bound(rate: f64, of: u32) -> f64 {
    rate + 3.09 * (rate * (1.0 - rate) / f64::from(of)).sqrt()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Prints the table and keeps it where a record is made.
#[expect(clippy::print_stdout, reason = "the figures are what this file is run for")]
fn record(rows: &[Row]) {
    println!("{} series each\n{}", count(), table(rows));
    let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") else { return };
    let record = Record { series: count(), level: LEVEL, rows: rows.to_vec() };
    let folder = root().join(folder).join("host-changes");
    std::fs::create_dir_all(&folder).unwrap();
    let json = serde_json::to_string_pretty(&record).unwrap();
    std::fs::write(folder.join("rates.json"), format!("{json}\n")).unwrap();
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from("| series | PELT | E-divisive, 1 % | both, as told |\n| --- | --- | --- | --- |\n");
    for row in rows {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let (pelt, tested, both) = (percent(row.pelt), percent(row.e_divisive), percent(row.both));
        let _ = writeln!(text, "| {} | {pelt} | {tested} | {both} |", row.series);
    }
    text
}

#[test]
fn the_test_holds_its_level_on_noise_of_any_kind_and_the_alarm_does_not() {
    for series in ["20 values of noise", "48 values of noise", "100 values of noise", "48 values with heavy tails"] {
        let row = find(series);
        assert!(row.e_divisive <= bound(LEVEL, count()), "{row:?}");
        assert!(row.both <= row.e_divisive.min(row.pelt), "{row:?}");
    }
    assert!(find("20 values of noise").pelt > 5.0 * LEVEL, "{:?}", find("20 values of noise"));
    assert!(find("48 values with heavy tails").pelt > 5.0 * LEVEL, "{:?}", find("48 values with heavy tails"));
}

#[test]
fn jumps_are_found_and_the_alarm_before_the_test_costs_little() {
    let (large, wide) =
        (find("48 values, a jump of 2 SD in the middle"), find("48 values, three times the spread from the middle on"));
    assert!(large.e_divisive > 0.98 && large.both > 0.95, "{large:?}");
    // Distances between values hardly see a change of spread alone in so few; docs/method/change-points.md says so.
    assert!(wide.both > 5.0 * LEVEL, "{wide:?}");
}

/// Four cells in twelve blocks.
fn plan(order: &str) -> Plan {
    let text = format!(
        "name = 'host'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 12\norder = '{order}'\nwarmup = 0\n\
         [[factor]]\nname = 'level'\nlevels.a = 'env.LEVEL=a'\nlevels.x = 'env.LEVEL=x'\nlevels.y = 'env.LEVEL=y'\n\
         levels.b = 'env.LEVEL=b'\n[[contrast]]\nfactor = 'level'\na = 'a'\nb = 'b'\nprimary = true\n"
    );
    source::read(&text, "host.toml").unwrap()
}

fn study(plan: &Plan, world: &World, seed: u64, change: impl Fn(&mut Point)) -> Analysis {
    let mut plan = plan.clone();
    plan.design.seed = seed;
    let order = draw(&plan).unwrap();
    let mut points = true_world(&plan, &order, world, seed.wrapping_add(1 << 40));
    points.iter_mut().for_each(change);
    analyze(&plan, &order, &points, &[]).unwrap()
}

/// Trials that are told of it.
fn told(id: &str, trials: u32, plan: &Plan, world: &World, change: impl Fn(&mut Point)) -> u32 {
    let is_told = |seed: &u32| {
        let study = study(plan, world, u64::from(*seed), &change);
        study.warnings.iter().any(|warning| warning.id == id)
    };
    (0..trials).filter(is_told).count() as u32
}

#[test]
fn a_trial_on_a_still_host_is_hardly_ever_told_that_it_changed_and_one_on_a_host_that_did_is() {
    const TRIALS: u32 = 400;
    let (plan, sd) = (plan("blocks"), 0.02);
    for noise in [Noise::Normal, Noise::HeavyTails] {
        let still = World { sd, noise, ratio: 1.2, bystander_ratio: 1.1, ..World::default() };
        let false_alarms = told("change-point", TRIALS, &plan, &still, |_| ());
        assert!(f64::from(false_alarms) <= bound(LEVEL, TRIALS) * f64::from(TRIALS), "{noise:?}: {false_alarms}");
    }
    let still = World { sd, ..World::default() };
    let slower = |point: &mut Point| {
        if point.planned.index >= 24 {
            *point.measures.get_mut("wall").unwrap() *= (2.5 * sd).exp();
        }
    };
    let found = told("change-point", 100, &plan, &still, slower);
    assert!(found >= 90, "{found} of 100");
    let said =
        study(&plan, &still, 1, slower).warnings.into_iter().find(|warning| warning.id == "change-point").unwrap();
    assert!(
        said.text.contains("from good run 2") && said.text.contains("E-divisive, p = 0.002 in a test at 0.01"),
        "{said:?}"
    );
}

#[test]
fn what_a_run_leaves_to_the_next_is_told_of_williams_squares_and_only_where_it_is() {
    const TRIALS: u32 = 400;
    let plan = plan("williams");
    let clean = World { sd: 0.02, ratio: 1.3, bystander_ratio: 1.15, ..World::default() };
    let false_alarms = told("carry-over", TRIALS, &plan, &clean, |_| ());
    assert!(f64::from(false_alarms) <= bound(LEVEL, TRIALS) * f64::from(TRIALS), "{false_alarms}");
    let carrying = World { carry_over: 0.3, ..clean };
    let found = told("carry-over", 100, &plan, &carrying, |_| ());
    assert!(found >= 95, "{found} of 100");
    let shares: Vec<f64> =
        (0..100).map(|seed| study(&plan, &carrying, seed, |_| ()).carry_over.unwrap().share).collect();
    let mean = shares.iter().sum::<f64>() / 100.0;
    assert!((0.29..0.36).contains(&mean), "a little above the truth: {mean}");
    assert_eq!(study(&self::plan("blocks"), &carrying, 1, |_| ()).carry_over, None);
    // Of cells that hardly differ nothing can be seen, and that is said.
    let alike = study(&plan, &World { sd: 0.02, carry_over: 0.3, ..World::default() }, 1, |_| ()).carry_over.unwrap();
    assert!(alike.interval.low < -1.0 || alike.interval.high > 1.0, "{alike:?}");
}

const BEGIN: &str = "<!-- tables: begin -->\n";
const END: &str = "<!-- tables: end -->\n";

#[test]
fn the_page_of_change_points_in_the_reference_shows_the_committed_figures() {
    let file = root().join("docs/method/change-points.md");
    let figures = std::fs::read_to_string(root().join("bench/long/host-changes/rates.json")).unwrap();
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
        "docs/method/change-points.md does not show bench/long/host-changes; `make docs` writes it again"
    );
}
