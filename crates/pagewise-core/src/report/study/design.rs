//! How a study ran, in lines: what was declared, what its levels set, when it was analysed.

use super::Report;
use super::words::{confidence, listed};
use crate::experiment::analysis::CarryOver;
use crate::experiment::plan::{Factor, OrderKind, StoppingRule};
use crate::report::content::{Line, better, job, line, page_cache, warm_memory};
use crate::report::number;
use crate::report::printable::printable;
use crate::unit::Seconds;

pub(super) fn design(report: &Report) -> Vec<Line> {
    let (study, plan) = (&report.analysis, &report.plan);
    let metrics: Vec<String> = study
        .metrics
        .iter()
        .map(|metric| {
            let direction = better(metric.metric.direction);
            format!(
                "{} ({direction} is better, margin ±{})",
                printable(&metric.metric.name),
                number::percent(metric.margin)
            )
        })
        .collect();
    let mut lines = vec![line("job", job(&plan.workload)), line("metrics", listed(&metrics))];
    lines.push(line("cells", study.cells.len().to_string()));
    lines.push(line("blocks", blocks(report)));
    lines.push(line("order", order(report)));
    lines.extend(study.carry_over.as_ref().map(|carried| line("carry-over", carry_over(carried))));
    lines.push(line("ends", ends(report)));
    lines.push(line("alpha", study.alpha.to_string()));
    lines.push(line("page cache", page_cache(plan.design.drop_caches)));
    lines.extend(warm_memory(&plan.design));
    lines.push(line("time limit", format!("{} a run", Seconds(plan.design.timeout_seconds))));
    for rule in &plan.invalidations {
        let bound =
            |word: &str, bound: Option<f64>| bound.map(|bound| format!("{word} {}", number::significant(bound, 4)));
        let bounds: Vec<String> =
            [bound("above", rule.above), bound("below", rule.below)].into_iter().flatten().collect();
        lines.push(line(
            "invalid if",
            printable(&format!("{} is {}: {}", rule.number, bounds.join(" or "), rule.because)),
        ));
    }
    lines
}

fn blocks(report: &Report) -> String {
    let study = &report.analysis;
    let warmup = match report.plan.design.warmup {
        0 => "no warm-up".to_owned(),
        1 => "1 warm-up run of each cell".to_owned(),
        runs => format!("{runs} warm-up runs of each cell"),
    };
    let planned = if study.sequence.is_some() { "at most" } else { "planned" };
    format!("{} {planned}, {} complete, after {warmup}", study.blocks_planned, study.blocks_complete)
}

fn order(report: &Report) -> String {
    let study = &report.analysis;
    let kind = match study.order {
        OrderKind::Auto | OrderKind::Blocks => "random complete blocks",
        OrderKind::Pairs => "random balanced pairs",
        OrderKind::Williams => "Williams squares",
        OrderKind::Complete => "complete randomisation",
        OrderKind::Nested => "nested loops, not randomised",
    };
    let boots = study.points.iter().filter_map(|point| point.boot).max().map(|last| last + 1);
    let boots = boots.map_or_else(String::new, |boots| format!(", {boots} boots as whole plots"));
    format!("{kind}{boots}, drawn from seed {}", study.seed)
}

fn carry_over(carried: &CarryOver) -> String {
    let percent = |share: f64| {
        let text = format!("{:.0}", share * 100.0);
        text.strip_prefix('-').map_or_else(|| text.clone(), |size| format!("−{size}"))
    };
    let (low, high) = (percent(carried.interval.low), percent(carried.interval.high));
    // A share that could be all of the effect or its opposite is not known.
    if carried.interval.low < -1.0 && carried.interval.high > 1.0 {
        return format!("not seen: cells differ too little to tell what they leave behind ({} runs)", carried.runs);
    }
    format!(
        "{} % of the previous cell's effect ({} interval: {low} to {high} %; {} runs)",
        percent(carried.share),
        confidence(carried.level),
        carried.runs
    )
}

fn ends(report: &Report) -> String {
    let (study, plan) = (&report.analysis, &report.plan);
    if study.rule == StoppingRule::Fixed {
        return "after the planned blocks; not analysed before".to_owned();
    }
    if let Some(sequence) = &study.sequence {
        return format!(
            "open-ended: analysed after every block, over when every claim is decided, after {} blocks at the latest; \
             confidence sequence, shortest at {} blocks",
            study.blocks_planned, sequence.shortest_at
        );
    }
    let analyses: Vec<String> =
        plan.stopping.interim_analyses(study.blocks_planned).iter().map(u32::to_string).collect();
    let futility = if plan.stopping.futility { ", also when the margin is out of reach" } else { "" };
    format!("{} analyses after {} blocks{futility}", study.rule.word(), listed(&analyses))
}

/// What the levels of a factor set: `off: swap=off`.
pub(super) fn levels(report: &Report) -> Vec<Line> {
    let of_factor = |factor: &Factor| {
        let levels: Vec<String> =
            factor.levels.iter().map(|(level, policy)| printable(&format!("{level}: {policy}"))).collect();
        line(printable(&factor.name), levels.join("; "))
    };
    report.plan.factors.iter().map(of_factor).collect()
}
