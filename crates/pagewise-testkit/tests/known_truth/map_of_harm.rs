//! `docs/method/jitter.md` shows the committed trials of the map of harm: where reclaim costs a program something beside a stream;
//! `docs/method/guard.md` those with a guard: what of that it gives back, and what else does; `docs/method/spark-policies.md` those of Spark on huge pages.

use crate::figure;
use pagewise_core::comparison::found::{BlockDifference, Comparison, Interval, MeasureContrast, Summary};
use pagewise_core::experiment::analysis::Analysis;
use pagewise_core::stats::paired_ratio;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The committed trials of a folder, by the names of their files.
fn named(folder: &str) -> Vec<(String, Analysis)> {
    let entries = fs::read_dir(root().join("bench/results").join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let name = |file: &PathBuf| file.file_stem().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|file| (name(file), serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())).collect()
}

/// The same, without the names of their files.
fn analyses(folder: &str) -> Vec<Analysis> {
    named(folder).into_iter().map(|(_, analysis)| analysis).collect()
}

/// `+2.4 % (−0.3 to +5.2)`.
fn percent(comparison: &Comparison) -> String {
    comparison
        .effect
        .as_ref()
        .map_or_else(|| "–".to_owned(), |effect| with_interval(effect.ratio, effect.interval_alone))
}

fn with_interval(ratio: f64, Interval { low, high }: Interval) -> String {
    let of = |ratio: f64| match format!("{:+.1}", (ratio - 1.0) * 100.0) {
        // What is rounded away has no sign.
        nothing if &nothing[1..] == "0.0" => "0.0".to_owned(),
        change => change.replace('-', "−"),
    };
    format!("{} % ({} to {})", of(ratio), of(low), of(high))
}

fn measure<'c>(comparison: &'c Comparison, name: &str) -> Option<&'c MeasureContrast> {
    comparison.measures.iter().find(|measure| measure.name == name)
}

/// A row for each victim, rate and size of folios.
fn map_of_harm() -> String {
    let mut text = String::from(
        "| victim | rate | folios | steps together | 99th step | n | streams, s/GiB: same misses, buffered | kswapd, s/GiB |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for analysis in analyses("map-of-harm") {
        let of = |metric: &'static str| analysis.comparisons.iter().filter(move |one| one.metric == metric);
        for (sum, p99) in of("step_sum").zip(of("step_p99")) {
            assert_eq!(sum.by, p99.by);
            let streams = measure(sum, "stream_cpu")
                .map_or_else(|| "–".to_owned(), |one| format!("{:.2}, {:.2}", one.a_mean, one.b_mean));
            let kswapd = measure(sum, "kswapd_cpu").map_or_else(|| "–".to_owned(), |one| format!("{:.2}", one.b_mean));
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {streams} | {kswapd} |\n",
                analysis.name.replace('-', " "),
                sum.by.get("rate").map_or("", String::as_str),
                sum.by.get("folios").map_or("", String::as_str),
                percent(sum),
                percent(p99),
                sum.blocks
            ));
        }
    }
    text
}

/// b against a in one metric.
fn contrast<'a>(analysis: &'a Analysis, a: &str, b: &str, metric: &str) -> Option<&'a Comparison> {
    analysis.comparisons.iter().find(|one| one.a == a && one.b == b && one.metric == metric)
}

/// The losses of two arms against `same-misses`, block by block.
fn losses(kernel: &Comparison, guarded: &Comparison) -> Vec<(f64, f64)> {
    let loss = |difference: f64| difference.exp() - 1.0;
    let same = |block: u32| guarded.differences.iter().find(|one| one.block == block);
    let both = |one: &BlockDifference| Some((loss(one.difference), loss(same(one.block)?.difference)));
    kernel.differences.iter().filter_map(both).collect()
}

/// Rows of a trial: one for each metric and guard.
fn of_guards(analysis: &Analysis) -> String {
    let mut text = String::new();
    for metric in ["step_sum", "step_p99", "alloc_p99"] {
        let Some(kernel) = contrast(analysis, "same-misses", "buffered", metric) else { continue };
        for arm in ["guard", "large-batches", "node-file"] {
            let Some(guarded) = contrast(analysis, "same-misses", arm, metric) else { continue };
            let against = contrast(analysis, "buffered", arm, metric).map_or_else(|| "–".to_owned(), percent);
            let removed = paired_ratio::of(&losses(kernel, guarded), 0.05).map_or_else(
                || "–".to_owned(),
                |left| {
                    let part = |left: f64| format!("{:.0}", (1.0 - left) * 100.0).replace('-', "−");
                    format!("{} % ({} to {})", part(left.ratio), part(left.high), part(left.low))
                },
            );
            // Measures of a run stand beside the first metric.
            let cpu = |one: &Comparison| cpu_for_each_gib(one).map(|[_, cpu]| cpu);
            let cpu =
                cpu(kernel).zip(cpu(guarded)).map_or_else(String::new, |(before, after)| format!("{before} → {after}"));
            let rate = |one: &Comparison| measure(one, "stream_rate").map(|one| one.b_mean / 1e9);
            let got = rate(kernel)
                .zip(rate(guarded))
                .filter(|_| !cpu.is_empty())
                .map_or_else(String::new, |(before, after)| format!("{before:.2} → {after:.2}"));
            text.push_str(&format!(
                "| {} | {metric} | {arm} | {} | {} | {against} | {removed} | {} | {got} | {cpu} |\n",
                analysis.name.replace('-', " "),
                percent(kernel),
                percent(guarded),
                guarded.blocks,
            ));
        }
    }
    text
}

fn guards() -> String {
    let head = "| cell | metric | arm | buffered against same misses | arm against same misses | arm against buffered | removed | n | \
                the stream, GB/s: buffered → arm | CPU, s/GiB: stream + kswapd + guard, buffered → arm |\n\
                | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    std::iter::once(head.to_owned()).chain(analyses("guard").iter().map(of_guards)).collect()
}

/// What a GiB of the stream costs in CPU seconds, for each level: the stream itself, kswapd, the guard.
fn cpu_for_each_gib(one: &Comparison) -> Option<[String; 2]> {
    let [stream, kswapd, guard] = ["stream_cpu", "kswapd_cpu", "guard_cpu"].map(|name| measure(one, name));
    let [stream, kswapd, guard] = [stream?, kswapd?, guard?];
    let sum = |of: fn(&MeasureContrast) -> f64| format!("{:.3} + {:.3} + {:.3}", of(stream), of(kswapd), of(guard));
    Some([sum(|one| one.a_mean), sum(|one| one.b_mean)])
}

/// A row for each arm of the published measure: what a stream costs against none.
fn published() -> String {
    let mut text = String::from(
        "| arm | steps together against idle | median step | 99th percentile of a step | what the stream got, MB/s | n | \
         CPU, s/GiB: stream + kswapd + guard |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for analysis in analyses("guard-published") {
        for steps in analysis.comparisons.iter().filter(|one| one.a == "idle" && one.metric == "step_sum") {
            let arm = steps.b.as_str();
            // What there is of a stream stands in a comparison of two arms that have one: of which side it is.
            let beside = |metric| match arm {
                "buffered" => contrast(&analysis, "buffered", "guard", metric).map(|one| (one, 0)),
                _ => contrast(&analysis, "buffered", arm, metric).map(|one| (one, 1)),
            };
            let rate = beside("stream_rate").and_then(|(one, side)| [&one.a_values, &one.b_values][side].mean);
            let cpu = beside("step_sum").and_then(|(one, side)| cpu_for_each_gib(one).map(|cpu| cpu[side].clone()));
            text.push_str(&format!(
                "| {arm} | {} | {} | {} | {} | {} | {} |\n",
                percent(steps),
                percent_of(&analysis, "idle", arm, "step_p50"),
                percent_of(&analysis, "idle", arm, "step_p99"),
                rate.map_or_else(|| "–".to_owned(), |rate| format!("{:.0}", rate / 1e6)),
                steps.blocks,
                cpu.unwrap_or_else(|| "–".to_owned()),
            ));
        }
    }
    text
}

/// A row for each cell and pair of arms that differ in how much the guard takes at a time, or in whether there is one.
fn batches() -> String {
    let mut text = String::from(
        "| cell | arms | steps together | the stream's CPU for each GiB | n | CPU, s/GiB: stream + kswapd + guard |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for (name, analysis) in named("guard-batch") {
        for steps in analysis.comparisons.iter().filter(|one| one.metric == "step_sum") {
            let stream = measure(steps, "stream_cpu").and_then(|one| Some(with_interval(one.ratio?, one.interval?)));
            let stream = stream.unwrap_or_else(|| "–".to_owned());
            let cpu = cpu_for_each_gib(steps).map_or_else(|| "–".to_owned(), |[a, b]| format!("{a} → {b}"));
            text.push_str(&format!(
                "| {} | {} → {} | {} | {stream} | {} | {cpu} |\n",
                name.replace('-', " "),
                steps.a,
                steps.b,
                percent(steps),
                steps.blocks,
            ));
        }
    }
    text
}

/// A row for each cell in which it was asked whether anybody beside a guard is worse off.
fn no_harm() -> String {
    let mut text = String::from(
        "| cell | steps together, with the guard | what the stream got | hits of the hot file: without, with | n | \
         CPU, s/GiB: stream + kswapd + guard, without → with |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for (name, analysis) in named("guard-no-harm") {
        let of = |metric| contrast(&analysis, "without", "with", metric);
        let (Some(steps), Some(hits)) = (of("step_sum"), of("hot_hits")) else { continue };
        let mean =
            |values: &Summary| values.mean.map_or_else(|| "–".to_owned(), |mean| format!("{:.2} %", mean * 100.0));
        let cpu =
            cpu_for_each_gib(steps).map_or_else(|| "–".to_owned(), |[without, with]| format!("{without} → {with}"));
        text.push_str(&format!(
            "| {} | {} | {} | {}, {} | {} | {cpu} |\n",
            name.replace('-', " "),
            percent(steps),
            percent_of(&analysis, "without", "with", "stream_rate"),
            mean(&hits.a_values),
            mean(&hits.b_values),
            steps.blocks,
        ));
    }
    text
}

/// A row for each arm of a trial that compares the guard with what else there is.
fn guard_arms() -> String {
    let mut text = String::from(
        "| arm | steps together against same misses | 99th percentile of an allocation | what the stream got | the guard against it: steps | n | \
         CPU, s/GiB: stream + kswapd + guard or other |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for analysis in analyses("guard-arms") {
        let of_steps = analysis.comparisons.iter().filter(|one| one.a == "same-misses" && one.metric == "step_sum");
        for steps in of_steps {
            let arm = steps.b.as_str();
            let cpu = |name| measure(steps, name).map(|found| found.b_mean);
            let others = cpu("guard_cpu").unwrap_or(0.0) + cpu("reclaimer_cpu").unwrap_or(0.0);
            let cpu = cpu("stream_cpu").zip(cpu("kswapd_cpu"));
            text.push_str(&format!(
                "| {arm} | {} | {} | {} | {} | {} | {} |\n",
                percent(steps),
                percent_of(&analysis, "same-misses", arm, "alloc_p99"),
                percent_of(&analysis, "same-misses", arm, "stream_rate"),
                percent_of(&analysis, arm, "guard", "step_sum"),
                steps.blocks,
                cpu.map_or_else(
                    || "–".to_owned(),
                    |(stream, kswapd)| format!("{stream:.3} + {kswapd:.3} + {others:.3}")
                ),
            ));
        }
    }
    text
}

/// The same as a figure: what each arm leaves of the loss.
fn figure_of_arms() -> String {
    let analyses = analyses("guard-arms");
    let of_steps = analyses.iter().flat_map(|analysis| &analysis.comparisons);
    let of_steps = of_steps.filter(|one| one.a == "same-misses" && one.metric == "step_sum");
    let row = |one: &Comparison| {
        let effect = one.effect.as_ref()?;
        Some(figure::Row {
            label: one.b.clone(),
            value: effect.ratio - 1.0,
            low: effect.interval_alone.low - 1.0,
            high: effect.interval_alone.high - 1.0,
            is_ours: one.b == "guard",
        })
    };
    let rows: Vec<figure::Row> = of_steps.filter_map(row).collect();
    figure::intervals(
        "A program beside a stream: what each remedy leaves of the loss",
        "time of all steps against the same misses without reclaim, 95 % intervals; dashed: the guard",
        "slower than with the same misses and no reclaim",
        &rows,
    )
}

/// b against a in one metric, or a dash where a trial has no such contrast.
fn percent_of(analysis: &Analysis, a: &str, b: &str, metric: &str) -> String {
    contrast(analysis, a, b, metric).map_or_else(|| "–".to_owned(), percent)
}

/// A row for each workload and metric under policies for Spark's memory.
fn spark_policies() -> String {
    let policies = ["entire", "storage", "execution", "both", "pretenure"];
    let mut text = format!(
        "| workload | metric | {} | storage against entire | n |\n| --- | --- |{}\n",
        policies.join(" | "),
        " --- |".repeat(policies.len() + 2)
    );
    for (file, analysis) in named("spark-policies") {
        let Some(primary) = analysis.comparisons.iter().find(|one| one.a == "none") else { continue };
        for metric in &analysis.metrics {
            let against_none: Vec<String> =
                policies.iter().map(|policy| percent_of(&analysis, "none", policy, &metric.metric.name)).collect();
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} |\n",
                file.replace('-', " "),
                metric.metric.name,
                against_none.join(" | "),
                percent_of(&analysis, "entire", "storage", &metric.metric.name),
                primary.blocks,
            ));
        }
    }
    text
}

/// A figure of the paper: which, its workload, the change of time that it gives for everything and for a part of memory on huge pages, and the trials
/// here that ask the same.
struct PaperFigure(u32, &'static str, [&'static str; 2], &'static [&'static str]);

/// Figures 6 to 9 of the paper that `docs/method/spark-policies.md` names.
const PAPER_FIGURES: [PaperFigure; 4] = [
    PaperFigure(6, "microbenchmark", ["−5 %", "−12 %"], &["cached-1", "random-64"]),
    PaperFigure(7, "PageRank", ["−12 %", "−1 %"], &["pagerank"]),
    PaperFigure(8, "KMeans", ["−5 %", "−3 %"], &["kmeans"]),
    PaperFigure(9, "LogisticRegression", ["0 %", "−6 %"], &["logistic"]),
];

/// The paper's figures beside the trials here that ask the same.
fn spark_and_the_paper() -> String {
    let policies = ["entire", "storage", "execution"];
    let mut text = String::from(
        "| figure | workload | entire, paper | entire | partial, paper | storage | execution | of |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let trials = named("spark-policies");
    for PaperFigure(figure, workload, [entire, partial], files) in PAPER_FIGURES {
        for (file, analysis) in trials.iter().filter(|(file, _)| files.contains(&file.as_str())) {
            for (metric, of) in [("wall", "the job"), ("iteration_wall_median", "an iteration")] {
                let [all, storage, execution] = policies.map(|policy| percent_of(analysis, "none", policy, metric));
                let which = if files.len() > 1 { format!(", {}", file.replace('-', " ")) } else { String::new() };
                text.push_str(&format!(
                    "| {figure} | {workload}{which} | {entire} | {all} | {partial} | {storage} | {execution} | {of} |\n"
                ));
            }
        }
    }
    text
}

/// A row for each metric of a job with and without a plugin that only observes.
fn spark_observing() -> String {
    let mut text = String::from("| metric | with the plugin against without | n |\n| --- | --- | --- |\n");
    for analysis in analyses("spark-policies") {
        for one in analysis.comparisons.iter().filter(|one| one.a == "without" && one.b == "observe") {
            text.push_str(&format!("| {} | {} | {} |\n", one.metric, percent(one), one.blocks));
        }
    }
    text
}

/// Holds a file to what the committed results say.
fn file_shows(name: &str, wanted: &str) {
    let file = root().join(name);
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, wanted).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == wanted, "{name} is out of date; `make docs` writes it again");
}

/// Holds what stands between two marks of a page to what the committed results say.
fn page_shows(name: &str, mark: &str, table: &str) {
    let (begin, end) = (format!("<!-- {mark}: begin -->\n"), format!("<!-- {mark}: end -->\n"));
    let page = fs::read_to_string(root().join(name)).unwrap();
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    let wanted = format!("{before}{begin}\n{table}\n{end}{after}");
    file_shows(name, &wanted);
}

#[test]
fn the_map_of_harm_in_the_reference_shows_the_committed_trials() {
    page_shows("docs/method/jitter.md", "map", &map_of_harm());
}

#[test]
fn what_guards_give_back_in_the_reference_is_that_of_the_committed_trials() {
    page_shows("docs/method/guard.md", "guard", &guards());
    page_shows("docs/method/guard.md", "no-harm", &no_harm());
    page_shows("docs/method/guard.md", "batches", &batches());
    page_shows("docs/method/guard.md", "published", &published());
    page_shows("docs/method/guard.md", "arms", &guard_arms());
    file_shows("docs/method/guard-arms.svg", &figure_of_arms());
}

#[test]
fn what_policies_do_to_spark_in_the_reference_is_that_of_the_committed_trials() {
    page_shows("docs/method/spark-policies.md", "paper", &spark_and_the_paper());
    page_shows("docs/method/spark-policies.md", "policies", &spark_policies());
    page_shows("docs/method/spark-policies.md", "observing", &spark_observing());
}
