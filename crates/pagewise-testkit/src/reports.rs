//! Reports of scripted trials, one for each thing that can come out, for tests of what people are shown.

use crate::made_up_day::HOSTILE;
use crate::scripted::{World, true_world, two_level_plan};
use crate::stacked::{self, Cpus, Way};
use indexmap::IndexMap;
use pagewise_core::experiment::analysis::analyze;
use pagewise_core::experiment::order::{self, Order};
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_core::experiment::stacks::{self, StackContrast};
use pagewise_core::experiment::stopping::InterimAnalysis;
use pagewise_core::report::Report;
use pagewise_core::report::arms::{Flames, flames};
use pagewise_core::report::facts::HostFacts;

/// Every report below with its name.
#[must_use]
pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("better", better()),
        ("equivalent", equivalent()),
        ("inconclusive", inconclusive()),
        ("out-of-memory", out_of_memory()),
        ("nothing-ended", nothing_ended()),
        ("hostile", hostile()),
        ("stacked", stacked()),
    ]
}

/// Never is faster than always, with traces in the kernel.
#[must_use]
pub fn better() -> Report {
    let plan = plan("terasort-thp", ("always", "thp.enabled=always"), ("never", "thp.enabled=never"), 10);
    let world = World { seconds: 61.4, ratio: 0.943, sd: 0.012, period_ratio: 1.008, ..World::default() };
    report(plan, &world, |_, _| {})
}

/// A difference of half a percent, found with little noise.
#[must_use]
pub fn equivalent() -> Report {
    let plan = plan("swappiness", ("now", "now"), ("low", "vm.swappiness=10"), 16);
    let world = World { seconds: 12.0, ratio: 0.994, sd: 0.004, ..World::default() };
    report(plan, &world, |_, _| {})
}

/// Too much noise, a drift, and two attempts that were replaced.
#[must_use]
pub fn inconclusive() -> Report {
    let plan = plan("noisy-host", ("madvise", "thp.enabled=madvise"), ("always", "thp.enabled=always"), 10);
    let world = World { seconds: 31.0, ratio: 0.985, sd: 0.06, drift_in_sd: 3.0, ..World::default() };
    report(plan, &world, |points, _| {
        replace(points, 7, "another process changed vm.swappiness from 60 to 10 while the run was under way");
        replace(points, 15, "steal time reached 12 % of the run");
    })
}

/// One arm is killed for lack of memory.
#[must_use]
pub fn out_of_memory() -> Report {
    let plan = plan(
        "spark-heap",
        ("roomy", "cgroup[/batch.slice].memory.high=6G"),
        ("tight", "cgroup[/batch.slice].memory.high=3G,vm.swappiness=1"),
        12,
    );
    let world = World { seconds: 240.0, ratio: 0.97, sd: 0.02, oom: (0.0, 0.55), ..World::default() };
    report(plan, &world, |points, _| {
        for point in points.iter_mut().filter(|point| point.outcome == Outcome::Oom) {
            point.measures.remove("wall");
            point.reason = Some("killed by the kernel: memory.events oom_kill rose by 1".to_owned());
        }
    })
}

/// No run of either arm ended well.
#[must_use]
pub fn nothing_ended() -> Report {
    let plan = plan("broken-job", ("a", "now"), ("b", "env.MALLOC_ARENA_MAX=2"), 4);
    report(plan, &World::default(), |points, _| {
        for point in points {
            point.outcome = Outcome::Failed;
            point.reason = Some("exit status 127: 'terasrot' was not found in PATH".to_owned());
            point.measures.clear();
        }
    })
}

/// Runs that kept stacks: memory is compacted under one policy, small pages are cleared under the other. Some functions have
/// names that would break a page.
#[must_use]
pub fn stacked() -> Report {
    let mut plan = plan("terasort-stacks", ("always", "thp.enabled=always"), ("never", "thp.enabled=never"), 10);
    plan.recording.stacks = 49;
    let world = World { seconds: 31.4, ratio: 0.943, sd: 0.012, ..World::default() };
    report(plan, &world, |points, _| {
        replace(points, 7, "another process changed vm.swappiness from 60 to 10 while the run was under way");
    })
}

/// Names that are markup, escape sequences, direction marks, or far too long.
#[must_use]
pub fn hostile() -> Report {
    let script = "<script>console.log('level')</script>\"'>";
    let control = "\u{1b}[2J`|*x*|\u{202e}drow\n# heading {{ 7*7 }} {% raw %}";
    let long = format!("env.X={}", "verylongvalue".repeat(25));
    let mut plan = plan("</title><img src=x onerror=alert(1)>", (script, &long), (control, "env.Y=<b>&amp;</b>"), 6);
    plan.workload.run = vec!["sh".to_owned(), "-c".to_owned(), "echo '</code><script>1</script>' $(x)".to_owned()];
    plan.metrics[0].name = "<b>rows</b>".to_owned();
    let world = World { seconds: 5e6, ratio: 1.5, sd: 0.01, ..World::default() };
    let mut report = report(plan, &world, |points, _| {
        for point in points.iter_mut() {
            if let Some(value) = point.measures.remove("wall") {
                point.measures.insert("<b>rows</b>".to_owned(), value);
            }
            point.custom_units.insert("<b>rows</b>".to_owned(), "<i>rows</i>/s".to_owned());
        }
        points[5].outcome = Outcome::Failed;
        points[5].reason = Some("</svg><script>console.log('reason')</script>\u{1b}]0;title\u{7}".to_owned());
    });
    report.commands = vec!["pagewise prove --a '<script>' -- sh -c '```; rm -rf'".to_owned()];
    report.notes = vec!["note with <a href=\"https://example.invalid/\">a link</a> and |pipes|".to_owned()];
    report.hosts[0].jvm = Some("<iframe src=\"https://example.invalid/\"></iframe>".to_owned());
    report
}

fn plan(name: &str, a: (&str, &str), b: (&str, &str), pairs: u32) -> Plan {
    let mut plan = two_level_plan(pairs, 42);
    plan.name = name.to_owned();
    plan.workload.run = ["hadoop-job", "--rows", "1000000", "/data/input one"].map(str::to_owned).to_vec();
    plan.factors[0].name = "policy".to_owned();
    plan.factors[0].levels = IndexMap::from([a, b].map(|(level, policy)| (level.to_owned(), policy.to_owned())));
    plan.contrasts[0].factor = "policy".to_owned();
    plan.contrasts[0].a = a.0.to_owned();
    plan.contrasts[0].b = b.0.to_owned();
    plan
}

fn report(plan: Plan, world: &World, change: impl Fn(&mut Vec<Point>, &Plan)) -> Report {
    let order = order::draw(&plan).expect("the plan has enough pairs");
    let mut points = true_world(&plan, &order, world, 11);
    for point in &mut points {
        add_what_was_seen(point, point.planned.cell == plan.contrasts[0].b);
    }
    change(&mut points, &plan);
    let mut analysis = analyze(&plan, &order, &points, &[]).expect("the plan's contrast fits its factor");
    let cpus = stacked_cpus(&plan, &order, &points, &[]);
    for (comparison, contrast) in analysis.comparisons.iter_mut().zip(cpus.contrasts) {
        comparison.stacks = contrast;
    }
    Report {
        hosts: vec![facts()],
        commands: vec![
            "pagewise workload terasort prepare --rows 1000000".to_owned(),
            format!("pagewise prove --plan {}.trial/plan.toml", plan.name),
        ],
        notes: vec!["Swap is off: runs that need more memory are killed instead of slowed.".to_owned()],
        flames: cpus.flames,
        bundle: format!("{}.trial", plan.name),
        created: "2026-01-01T00:00:00Z".to_owned(),
        pagewise: "0.1.0".to_owned(),
        analysis,
        plan,
    }
}

/// What recordings of the runs would say.
#[derive(Default)]
pub(crate) struct Stacked {
    pub(crate) contrasts: Vec<Option<StackContrast>>,
    pub(crate) flames: Option<Flames>,
}

/// Stacks of a sort, where the plan keeps any, with a few functions of hostile names.
pub(crate) fn stacked_cpus(plan: &Plan, order: &Order, points: &[Point], analyses: &[InterimAnalysis]) -> Stacked {
    if !plan.recording.keeps_stacks() {
        return Stacked::default();
    }
    let mut cpus = Cpus::of_a_sort();
    cpus.hz = f64::from(plan.recording.stacks);
    cpus.ways.extend(HOSTILE.map(|name| Way {
        frames: vec!["java!start".to_owned(), name.to_owned()],
        a: 0.001,
        b: 0.02,
    }));
    let kept = stacked::kept(plan, order, points, &cpus, 3);
    let contrasts = stacks::compare(plan, order, points, analyses, &kept).expect("the plan's numbers can be used");
    let counted = stacks::counted(plan, order, points, analyses).expect("the plan's numbers can be used");
    Stacked { contrasts, flames: flames(plan, &kept, &counted) }
}

/// Measures and counters that follow the wall time, with differences that a THP policy would make.
fn add_what_was_seen(point: &mut Point, is_b: bool) {
    let wall = point.measures.get("wall").copied().unwrap_or_default();
    let wobble = (wall * 1e4) % 97.0 / 97.0;
    let level = |a: f64, b: f64| if is_b { b } else { a } * (0.97 + 0.06 * wobble);
    let gib = f64::from(1u32 << 30);
    let measures = [
        ("user", wall * level(1.55, 1.57)),
        ("system", wall * level(0.22, 0.12)),
        ("system_share", level(0.121, 0.071)),
        ("anon_peak", level(3.41, 3.02) * gib),
        ("anon_integral", level(3.1, 2.7) * gib * wall),
        ("minor_faults", level(218_000.0, 1_460_000.0)),
        ("major_faults", level(12.0, 12.0)),
        ("disk_read", level(0.98, 0.98) * gib),
        ("disk_written", level(2.1, 2.1) * gib),
        ("psi_memory_some", wall * level(0.031, 0.0)),
    ];
    point.measures.extend(measures.map(|(name, value)| (name.to_owned(), value)));
    let counters = [
        ("pgfault", level(222_000.0, 1_466_000.0)),
        ("pgalloc_normal", level(9.1e7, 9.0e7)),
        ("thp_fault_alloc", level(1430.0, 0.0)),
        ("thp_fault_fallback", level(312.0, 0.0)),
        ("compact_stall", level(281.0, 3.0)),
        ("compact_success", level(190.0, 2.0)),
        ("compact_migrate_scanned", level(2.4e6, 9.0e3)),
        ("pgmigrate_success", level(121_000.0, 420.0)),
        ("allocstall_movable", level(88.0, 41.0)),
        ("workingset_refault_file", level(51_000.0, 44_000.0)),
        ("pgscan_direct", level(410_000.0, 390_000.0)),
        ("pswpout", 0.0),
    ];
    point.counters.extend(counters.map(|(name, value)| (name.to_owned(), value.round() as i64)));
}

/// Puts an invalid first attempt before the point at `at`.
fn replace(points: &mut Vec<Point>, at: usize, reason: &str) {
    let mut first = points[at].clone();
    first.outcome = Outcome::Invalid;
    first.reason = Some(reason.to_owned());
    points[at].attempt = 2;
    points.insert(at, first);
}

/// A host that tells everything.
pub(crate) fn facts() -> HostFacts {
    HostFacts {
        kernel: Some("6.12.0-1-amd64".to_owned()),
        cpu_model: Some("Example CPU @ 2.50GHz".to_owned()),
        cpus: Some(2),
        memory_bytes: Some(8 << 30),
        page_bytes: Some(4096),
        thp_enabled: Some("madvise".to_owned()),
        thp_defrag: Some("madvise".to_owned()),
        swap_bytes: Some(0),
        cgroup: Some("v1".to_owned()),
        disk_kind: Some("virtual".to_owned()),
        jvm: Some("OpenJDK 64-Bit Server VM 17.0.13".to_owned()),
        virtual_machine: Some(true),
        free_page_reporting: None,
        emulated: None,
        kernel_config: None,
        pagewise: "0.1.0".to_owned(),
    }
}
