//! What to do about each warning of a trial.

/// What to do about a warning, by its id. Ids are stable, so an unknown one comes from a newer analysis.
pub(super) fn remedy(id: &str) -> &'static str {
    match id {
        "incomplete-blocks" => {
            "If the trial was cut short, 'pagewise trial resume' completes it. What is complete is judged fairly, with wider \
             intervals."
        }
        "attempts-replaced" => {
            "Replaced runs are drawn in the run order. If they fall on one side, find out what disturbed it: replacing its \
             runs may favour it."
        }
        "cut-blocks" => {
            "Look at those blocks among the differences block by block. If they stand apart, repeat the trial without a \
             pause, or with fewer cells, so that a block takes less time."
        }
        "policy-changes-nothing" => {
            "Choose levels that differ from what the host already has; 'pagewise show' says what can act here."
        }
        "nothing-to-act-on" => {
            "Repeat it with what the setting is for: a larger job, or less memory for it (cgroup[job].memory.max in every level), and swap where the \
             setting is about swap."
        }
        "drift" => {
            "Find its cause (temperature, a filling disk, another job), and repeat on a quiet host or with more warm-up. \
             Estimates inside pairs and blocks stay right while the drift is slow against a block."
        }
        "change-point" => {
            "See what began or ended then (the recordings of the runs on both sides show it), and leave out what shares the \
             host. Only the pair or block that it falls into suffers."
        }
        "autocorrelation" => {
            "Look for what lasts longer than a run (page cache, a thermal limit, a background job). Restore data and state \
             before every point, or let the host settle for longer."
        }
        "carry-over" => {
            "Find what outlives a run (page cache, written-back data, heat, fragmented memory): restore data and state before \
             every point, or let the host settle for longer. Complete randomisation finds the whole effect, at the price of \
             drift."
        }
        "outliers" => {
            "Look at those runs and their recordings before anything else. Never drop them: plan an [[invalidate]] rule for \
             the cause before the next trial."
        }
        "direction" => "Look at the metric, and run the analysis again with the direction that is right.",
        "bimodal" => {
            "Look for what switches between the heaps (placement, cache, frequency) in the run order, and fix it or make it \
             a factor."
        }
        "tests-disagree" => {
            "Trust neither alone. Look at the points, and repeat with more pairs or blocks before you act."
        }
        "nested-order" => "Leave `order` out of the plan and run it again: no analysis can undo this order.",
        "levels-differ-in-more" => {
            "The effect belongs to all of these settings together. To name one, compare levels that differ in it alone."
        }
        "duplicate-cells" => "Give the cells different settings, or exclude one of them.",
        "no-contrast" => "Declare a [[contrast]] and run a new trial; use this one to choose it.",
        "no-primary" => "Declare the [[contrast]] that the trial is for as primary, before the next one.",
        "no-such-number" => {
            "Check the name against those a run reports (`pagewise trial check` knows them), and that the job writes it to \
             $PAGEWISE_METRICS. This trial cannot say anything about it."
        }
        "incomplete-pairs" => {
            "A pair has a ratio when both its runs ended well and have the metric. Read the outcomes first; then resume \
             what is missing, see that the host comes to rest before each run (--pressure-limit), that the job ends \
             well, and that every run reports the metric."
        }
        "one-point-decides" => "Look at those runs. Repeat the trial with another seed before you act on the verdict.",
        "noise-against-margin" => {
            "Plan more pairs or blocks, a longer job or a quieter host; or accept a wider margin."
        }
        "host-changed" => {
            "Repeat the trial on a host that nobody and nothing else tunes; see 'pagewise doctor' for who may."
        }
        "recording-ended" | "not-recorded" => {
            "Free room where the bundle lies, or run as root; the numbers of these runs hold without their recordings."
        }
        "cgroup-not-recorded" => "See 'pagewise doctor' for why; the numbers of these runs hold without it.",
        "waited-for-host" => {
            "End what else runs here, or give runs more time to end well. These runs count: the host was as much at rest as this trial asks when they began."
        }
        "since-resumed" => {
            "Both arms of a pair run after the pause or before it, so the comparison stands; whether it is still the one you meant is yours to judge."
        }
        "memory-freer" => {
            "See which program ended then. Later runs are held against the memory there was from then on; if the verdict rests \
             on the runs before, repeat the trial on the host as it is now."
        }
        "others-at-work" => {
            "pagewise diagnose names the busiest programs of this host. End them and repeat the trial; or, where they always run, see that both levels had the same of it."
        }
        "settings-changed" => {
            "The runs named here count all the same, so the verdict is partly that of the host as others set it. See who tunes this host (a service, or another trial), end it and repeat the trial; or set in \
             every level what changed, and Pagewise holds it."
        }
        "memory-mended" => {
            "Compare unusable_index_after across the levels: what a level's own compaction mends is its doing; where a neighbour \
             gave memory back, end it and repeat."
        }
        "memory-not-warm" => {
            "End what holds memory, or ask for less with --warm-memory (in a plan: warm_memory in [design])."
        }
        "cache-not-dropped" => {
            "Run as root, or plan with drop_caches = \"no\" so that every run finds what the last one left."
        }
        "no-jvm" => "Have the job start its JVM with the variables it is given, or compare something else than jvm.*.",
        "few-sequences" => "The randomisation test cannot give a small p here. Plan more pairs or blocks.",
        "ended-early" => {
            "Repeat the proof with another seed when the cause is gone; do not add these pairs to the new ones."
        }
        "still-changing" => {
            "Repeat with a longer --washout, or longer blocks, until both halves of a block say the same."
        }
        "not-positive" => "A ratio needs values above zero. Choose another metric, or check what the job reports.",
        "unused-cell" => "Exclude it, or declare the contrast it is for, before the next trial.",
        "too-few-boots" => "Plan more blocks: each brings another boot of every level.",
        "cannot-reach-alpha" => {
            "Plan more blocks or fewer primary comparisons. Until then a verdict rests on the t interval alone."
        }
        _ => "See the method pages of this version of Pagewise.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids that a source file writes: what stands as the first argument of `call`.
    fn ids<'s>(source: &'s str, call: &str) -> Vec<&'s str> {
        let before_tests = source.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = before_tests.split(call).skip(1);
        calls.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
    }

    #[test]
    fn every_warning_of_a_trial_and_every_lint_of_its_plan_has_a_remedy() {
        let sources = [
            include_str!("../comparison/doubts.rs"),
            include_str!("../comparison/host_change.rs"),
            include_str!("../experiment/analysis/warnings.rs"),
            include_str!("../experiment/analysis/occasion.rs"),
            include_str!("../experiment/analysis/read_back.rs"),
            include_str!("../experiment/analysis/live.rs"),
        ];
        let warnings: Vec<&str> = sources.into_iter().flat_map(|source| ids(source, "warning(")).collect();
        let of_runners = ids(include_str!("../../../pagewise-host/src/trial/runner.rs"), "self.tell(");
        assert!(of_runners.len() >= 4, "{of_runners:?}");
        let lints = ids(include_str!("../experiment/plan/lint.rs"), "lint(");
        assert!(
            warnings.len() >= 18 && lints.len() >= 7,
            "the sources are written differently now: {warnings:?} {lints:?}"
        );
        let unknown = remedy("no such id");
        for id in warnings.into_iter().chain(of_runners).chain(lints) {
            assert_ne!(remedy(id), unknown, "'{id}' has no remedy");
        }
    }
}
