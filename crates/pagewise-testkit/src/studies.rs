//! Reports of scripted trials of a matrix, one for each thing that can come out, for tests of what people are shown.

use crate::reports::{facts, stacked_cpus};
use crate::scripted::point;
use pagewise_core::experiment::analysis::analyze;
use pagewise_core::experiment::order::{Order, draw};
use pagewise_core::experiment::plan::{Plan, source};
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::experiment::stopping;
use pagewise_core::report::Report;

/// Every report below with its name.
#[must_use]
pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("swap", swap()),
        ("seed", seed()),
        ("pairs", pairs()),
        ("stopped", stopped()),
        ("open-ended", open_ended()),
        ("carried", carried()),
        ("memory", memory()),
        ("hostile", hostile()),
        ("stacked", stacked()),
    ]
}

const SWAP: &str = r#"
name = "terasort-swap"
[workload]
name = "terasort"
rows = 2_000_000
[[metric]]
name = "wall"
[[metric]]
name = "system_share"
[[factor]]
name = "swap"
levels.off = "swap=off"
levels.on = "swap=file:8G"
[[factor]]
name = "concurrency"
also = ["workload.reduce_tasks"]
levels.low = "workload.map_tasks=1,workload.reduce_tasks=1"
levels.high = "workload.map_tasks=4,workload.reduce_tasks=4"
[design]
blocks = 10
warmup = 1
seed = 5
[[invalidate]]
number = "psi_io_some"
above = 30
because = "another job used the disk"
[[contrast]]
factor = "swap"
a = "off"
b = "on"
by = ["concurrency"]
primary = true
[[contrast]]
factor = "swap"
a = "off"
b = "on"
interaction = { factor = "concurrency", a = "low", b = "high" }
[[contrast]]
factor = "concurrency"
a = "low"
b = "high"
"#;

/// Four cells: swap costs under high load alone. A run that ran out of memory, one that failed, one that was replaced.
#[must_use]
pub fn swap() -> Report {
    let plan = plan(SWAP);
    let order = order(&plan);
    let mut points = points(&order, |planned| {
        let high = planned.cell.ends_with("high");
        let slow = if planned.cell == "on·high" { 1.11 } else { 1.0 };
        if high { 95.0 * slow } else { 78.0 }
    });
    end_badly(&mut points, "on·high", 3, Outcome::Oom, "killed by the kernel: memory.events oom_kill rose by 1");
    end_badly(&mut points, "off·low", 6, Outcome::Failed, "exit status 1");
    replace(&mut points, 22, "another process changed vm.swappiness from 60 to 10 while the run was under way");
    report(plan, &order, &points, &[])
}

/// The first matrix with runs that kept stacks: two claims, each with a flame graph. The run that failed keeps its block out.
#[must_use]
pub fn stacked() -> Report {
    let plan = plan(&format!("{SWAP}[recording]\nstacks = 49\n"));
    let order = order(&plan);
    let mut points = points(&order, |planned| if planned.cell == "on·high" { 33.0 } else { 30.0 });
    end_badly(&mut points, "off·low", 6, Outcome::Failed, "exit status 1");
    report(plan, &order, &points, &[])
}

/// The seed's matrix: kernels, swap and concurrency in twelve cells, twelve primary comparisons, boots as whole plots. One
/// cell never ended well, so two comparisons have no data.
#[must_use]
pub fn seed() -> Report {
    let Seed { plan, order, mut points } = seeds_points();
    for block in 0..plan.design.blocks {
        end_badly(&mut points, "patched·off·high", block, Outcome::Timeout, "did not end within 10 minutes");
    }
    report(plan, &order, &points, &[])
}

struct Seed {
    plan: Plan,
    order: Order,
    points: Vec<Point>,
}

fn seeds_points() -> Seed {
    let text = r#"
name = "terasort-mglru"
[workload]
name = "command"
run = ["run_terasort.sh"]
[[metric]]
name = "wall"
[[factor]]
name = "kernel"
levels.baseline = "kernel=5.15.0-baseline"
levels.patched = "kernel=5.15.0-mglru"
[[factor]]
name = "swap"
levels.off = "swap=off"
levels.on = "swap=file:64G"
[[factor]]
name = "concurrency"
levels.low = "env.TASKS=2"
levels.medium = "env.TASKS=4"
levels.high = "env.TASKS=8"
[design]
blocks = 10
warmup = 0
seed = 7
[[contrast]]
factor = "kernel"
a = "baseline"
b = "patched"
by = ["swap", "concurrency"]
primary = true
[[contrast]]
factor = "swap"
a = "off"
b = "on"
by = ["kernel", "concurrency"]
primary = true
"#;
    let plan = plan(text);
    let order = order(&plan);
    let points = points(&order, |planned| {
        let mut parts = planned.cell.split('·');
        let (kernel, swap, load) = (parts.next(), parts.next(), parts.next());
        match (kernel, swap, load) {
            (_, Some("off"), Some("low")) => 752.0,
            (_, Some("on"), Some("low")) => 737.0,
            (Some("patched"), Some("on"), Some("medium")) => 843.0,
            (_, _, Some("medium")) => 911.0,
            (Some("baseline"), Some("on"), _) => 1042.0,
            (Some("patched"), Some("on"), _) => 991.0,
            _ => 925.0,
        }
    });
    Seed { plan, order, points }
}

/// Reports that are rare, for what computes their numbers again: failures that end a sequential trial, claims estimated by
/// different methods, values as large as a float holds.
#[must_use]
pub fn rare() -> Vec<(&'static str, Report)> {
    vec![("failing", failing()), ("mixed", mixed()), ("huge", huge())]
}

/// Swap fails under high load in all but the last two of the blocks there are when the trial ends.
fn failing() -> Report {
    let plan = plan(&format!("{SWAP}[stopping]\nrule = \"obrien-fleming\"\n"));
    let order = order(&plan);
    let mut all = points(&order, |_| 95.0);
    for block in 2..plan.design.blocks {
        end_badly(&mut all, "on·high", block, Outcome::Failed, "exit status 1");
    }
    analysed(plan, &order, &all)
}

/// The seed's matrix with a few runs lost, on a host where each boot has a speed of its own: those claims need the mixed model.
fn mixed() -> Report {
    let Seed { plan, order, mut points } = seeds_points();
    for point in &mut points {
        let boot = f64::from(point.planned.boot.unwrap_or(0) % 7);
        point.measures.entry("wall".to_owned()).and_modify(|wall| *wall *= 1.0 + 0.02 * boot);
    }
    for block in [1, 4] {
        end_badly(&mut points, "patched·on·high", block, Outcome::Failed, "exit status 1");
    }
    report(plan, &order, &points, &[])
}

/// Values whose squares no float holds.
fn huge() -> Report {
    let plan = plan(SWAP);
    let order = order(&plan);
    let points = points(&order, |planned| if planned.cell == "on·high" { 9e305 } else { 1e301 });
    report(plan, &order, &points, &[])
}

/// Two cells in pairs: the crossover estimate. One pair has lost a run.
#[must_use]
pub fn pairs() -> Report {
    let text = r#"
name = "thp-pairs"
[workload]
name = "command"
run = ["hadoop-job", "--rows", "1000000", "/data/input one"]
[[metric]]
name = "wall"
[[metric]]
name = "anon_peak"
direction = "lower"
smallest_effect = "5%"
[[factor]]
name = "thp"
levels.never = "thp.enabled=never"
levels.always = "thp.enabled=always"
[design]
blocks = 11
seed = 3
[[contrast]]
factor = "thp"
a = "never"
b = "always"
primary = true
"#;
    let plan = plan(text);
    let order = order(&plan);
    let mut points = points(&order, |planned| {
        let second = if planned.position == 1 { 1.02 } else { 1.0 };
        second * if planned.cell == "always" { 58.2 } else { 61.4 }
    });
    end_badly(&mut points, "always", 4, Outcome::Failed, "exit status 137");
    report(plan, &order, &points, &[])
}

/// A sequential trial that ended before its last analysis.
#[must_use]
pub fn stopped() -> Report {
    stopped_by(&format!("{SWAP}[stopping]\nrule = \"obrien-fleming\"\n"))
}

/// Swap costs a sixth under high load and nothing under low load; the trial ends when its rule says so.
fn stopped_by(text: &str) -> Report {
    let plan = plan(text);
    let order = order(&plan);
    let all = points(&order, |planned| if planned.cell == "on·high" { 111.0 } else { 95.0 });
    analysed(plan, &order, &all)
}

/// The report of a trial that is analysed as its plan says, until it ends.
fn analysed(plan: Plan, order: &Order, all: &[Point]) -> Report {
    let until = |blocks: u32| -> Vec<Point> {
        all.iter().filter(|point| point.planned.block.is_none_or(|block| block < blocks)).cloned().collect()
    };
    let mut analyses = Vec::new();
    for blocks in plan.stopping.interim_analyses(plan.design.blocks) {
        let analysis = stopping::interim_analysis(&plan, order, &until(blocks), blocks, &analyses);
        let stop = analysis.stop;
        analyses.push(analysis);
        if stop {
            return report(plan, order, &until(blocks), &analyses);
        }
    }
    report(plan, order, all, &analyses)
}

/// The same without a planned end: analysed after every block.
#[must_use]
pub fn open_ended() -> Report {
    let text = SWAP.replace("blocks = 10", "blocks = 40");
    stopped_by(&format!("{text}[stopping]\nrule = \"open-ended\"\nshortest_at = 12\n"))
}

/// Four cells in Williams squares on a host that carries a part of each run over to the next.
#[must_use]
pub fn carried() -> Report {
    let plan = plan(&SWAP.replace("blocks = 10", "blocks = 8\norder = \"williams\""));
    let order = order(&plan);
    let effect = |cell: &str| match cell {
        "off·high" => 0.2_f64,
        "on·low" => 0.1,
        "on·high" => 0.4,
        _ => 0.0,
    };
    let points = points(&order, |planned| {
        let before = planned.index.checked_sub(1).map_or("", |before| order.points[before as usize].cell.as_str());
        80.0 * (effect(&planned.cell) + 0.3 * effect(before)).exp()
    });
    report(plan, &order, &points, &[])
}

/// The question whether huge pages cost or save, on fresh and on aged memory. Levels with names that are too long.
#[must_use]
pub fn memory() -> Report {
    let text = r#"
name = "terasort-thp-on-fresh-and-on-aged-memory"
[workload]
name = "terasort"
rows = 2_000_000
[[metric]]
name = "system_share"
[[metric]]
name = "wall"
[[factor]]
name = "transparent huge pages and their defragmentation"
levels.now = "now"
levels."without defragmentation at fault time" = "thp.defrag=never"
levels.off = "thp.enabled=never"
[[factor]]
name = "memory"
levels.fresh = "memory_state=fresh"
levels.aged = "memory_state=aged(90%)"
[design]
blocks = 6
warmup = 1
seed = 11
[[contrast]]
factor = "transparent huge pages and their defragmentation"
a = "now"
b = "off"
by = ["memory"]
primary = true
[[contrast]]
factor = "transparent huge pages and their defragmentation"
a = "now"
b = "without defragmentation at fault time"
primary = true
[[contrast]]
factor = "transparent huge pages and their defragmentation"
a = "now"
b = "off"
interaction = { factor = "memory", a = "fresh", b = "aged" }
"#;
    let plan = plan(text);
    let order = order(&plan);
    let mut points = points(&order, |planned| {
        let aged = if planned.cell.ends_with("aged") { 1.15 } else { 1.0 };
        let off = if planned.cell.starts_with("off") { 0.93 } else { 1.0 };
        45.0 * if planned.cell.starts_with("off") { off } else { aged }
    });
    // Two complete blocks are lost for one cell; a trial that was cut short.
    points.retain(|point| point.planned.block != Some(5));
    report(plan, &order, &points, &[])
}

/// Names that are markup, commands, escape sequences, direction marks, or far too long.
#[must_use]
pub fn hostile() -> Report {
    let text = r#"
name = "x"
[workload]
name = "command"
run = ["sh", "-c", "echo '</code><script>1</script>' $(x)"]
[[metric]]
name = "wall"
[[factor]]
name = "one"
levels.p = "env.ONE=1"
levels.q = "env.ONE=2"
[[factor]]
name = "two"
levels.r = "env.TWO=1"
levels.s = "env.TWO=2"
[design]
blocks = 6
warmup = 0
seed = 2
[[contrast]]
factor = "one"
a = "p"
b = "q"
by = ["two"]
primary = true
[[contrast]]
factor = "one"
a = "p"
b = "q"
interaction = { factor = "two", a = "r", b = "s" }
"#;
    let long = "verylongname".repeat(12);
    let names = [
        ("one", "\\input{/etc/passwd}% & $x$ <b>one</b>"),
        ("two", long.as_str()),
        ("p", "<script>console.log('level')</script>\"'>"),
        ("q", "\u{1b}[2J`|*x*|\u{202e}drow\n# {{ 7*7 }} {% raw %} \"); stop(\"q"),
        ("r", "r, \"quoted\""),
        ("s", "</svg><img src=x onerror=alert(1)>"),
    ];
    let renamed = |name: &str| names.iter().find(|(own, _)| *own == name).map_or(name, |(_, new)| *new).to_owned();
    let mut plan = plan(text);
    plan.name = "</title><img src=x onerror=alert(1)>".to_owned();
    plan.metrics[0].name = "<b>rows</b>\"\\".to_owned();
    for factor in &mut plan.factors {
        factor.name = renamed(&factor.name);
        factor.levels = factor.levels.iter().map(|(level, policy)| (renamed(level), policy.clone())).collect();
    }
    for contrast in &mut plan.contrasts {
        for name in [&mut contrast.factor, &mut contrast.a, &mut contrast.b].into_iter().chain(&mut contrast.by) {
            *name = renamed(name);
        }
        if let Some(other) = &mut contrast.interaction {
            for name in [&mut other.factor, &mut other.a, &mut other.b] {
                *name = renamed(name);
            }
        }
    }
    let order = order(&plan);
    let mut points = points(&order, |planned| if planned.cell.contains("drow") { 6e6 } else { 5e6 });
    let metric = plan.metrics[0].name.clone();
    for point in &mut points {
        let value = point.measures.remove("wall").unwrap_or_default();
        point.measures.insert(metric.clone(), value);
        point.custom_units.insert(metric.clone(), "<i>rows</i>/s".to_owned());
    }
    points[5].outcome = Outcome::Failed;
    points[5].reason = Some("</svg><script>console.log('reason')</script>\u{1b}]0;title\u{7}".to_owned());
    let mut report = report(plan, &order, &points, &[]);
    report.commands = vec!["pagewise trial run '<script>' -- sh -c '```; rm -rf'".to_owned()];
    report.notes = vec!["note with <a href=\"https://example.invalid/\">a link</a> and |pipes|".to_owned()];
    report.hosts[0].jvm = Some("<iframe src=\"https://example.invalid/\"></iframe>".to_owned());
    report
}

fn plan(text: &str) -> Plan {
    source::read(text, "scripted.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn order(plan: &Plan) -> Order {
    draw(plan).expect("the plan has enough blocks")
}

/// Runs of the given length, scattered by a percent, with a slow drift, and what was seen beside them.
fn points(order: &Order, seconds: impl Fn(&pagewise_core::experiment::point::PlannedPoint) -> f64) -> Vec<Point> {
    let run = |planned: &pagewise_core::experiment::point::PlannedPoint| {
        let (one, two) = (scatter(planned.index, 1), scatter(planned.index, 2));
        let block = f64::from(planned.block.unwrap_or(0) * 7 % 5);
        let wall = seconds(planned) * (1.0 + 0.02 * (one - 0.5) + 0.004 * block);
        let mut point = point(planned, Outcome::Ok, wall);
        let stalled = (wall - 60.0).max(1.0) * (0.3 + 0.01 * two);
        point.measures.extend(
            [
                ("system_share", (0.12 + 0.0004 * (wall % 17.0)) * (0.98 + 0.04 * two)),
                ("anon_peak", (3.2 + 0.01 * two) * 1_073_741_824.0),
                ("psi_memory_some", stalled),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let counters = [
            ("pgfault", 2200.0 * wall),
            ("pswpout", 910.0 * (wall - 94.0).max(0.0)),
            ("allocstall_movable", 3.0 * stalled),
            ("compact_stall", 90.0 + 10.0 * two),
        ];
        point.counters.extend(counters.map(|(name, value)| (name.to_owned(), value.round() as i64)));
        point
    };
    order.points.iter().map(run).collect()
}

/// A number between 0 and 1 that a point always has.
fn scatter(index: u32, kind: u64) -> f64 {
    let mixed = (u64::from(index) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(kind << 40);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / f64::from(1u32 << 24)
}

fn end_badly(points: &mut [Point], cell: &str, block: u32, outcome: Outcome, reason: &str) {
    for point in points.iter_mut().filter(|p| p.planned.cell == cell && p.planned.block == Some(block)) {
        point.outcome = outcome;
        point.reason = Some(reason.to_owned());
        point.measures.remove("wall");
    }
}

/// Puts an invalid first attempt before the point at `at`.
fn replace(points: &mut Vec<Point>, at: usize, reason: &str) {
    let mut first = points[at].clone();
    first.outcome = Outcome::Invalid;
    first.reason = Some(reason.to_owned());
    points[at].attempt = 2;
    points.insert(at, first);
}

fn report(plan: Plan, order: &Order, points: &[Point], analyses: &[stopping::InterimAnalysis]) -> Report {
    let mut analysis = analyze(&plan, order, points, analyses).expect("the plan's numbers can be used");
    let cpus = stacked_cpus(&plan, order, points, analyses);
    for (comparison, contrast) in analysis.comparisons.iter_mut().zip(cpus.contrasts) {
        comparison.stacks = contrast;
    }
    Report {
        analysis,
        hosts: vec![facts()],
        commands: vec![
            "pagewise workload terasort prepare --rows 2000000".to_owned(),
            format!("pagewise trial run {}.toml", plan.name),
        ],
        notes: vec!["Swap is off: runs that need more memory are killed instead of slowed.".to_owned()],
        flames: cpus.flames,
        bundle: format!("{}.trial", plan.name),
        created: "2026-01-01T00:00:00Z".to_owned(),
        pagewise: "0.1.0".to_owned(),
        plan,
    }
}
