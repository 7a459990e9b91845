//! What an analysis says of trials made up to show one thing each: verdicts, sentences, warnings, symmetries.

use pagewise_core::experiment::analysis::{self, Analysis, AnalysisError, Comparison, Conclusion, Effect};
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{AppliedSetting, Outcome, Point};
use pagewise_core::metric::Direction;
use pagewise_testkit::scripted::{World, point, true_world, two_level_plan};
use proptest::prelude::*;

/// A trial whose walls are given by pair and level (`true` for b), the order drawn as always.
fn trial(pairs: u32, wall: impl Fn(u32, bool) -> f64) -> (Plan, Vec<Point>) {
    let plan = two_level_plan(pairs, 11);
    let order = order::draw(&plan).unwrap();
    let run = |planned: &_| -> Point {
        let mut run = point(planned, Outcome::Ok, 1.0);
        let wall = wall(run.planned.block.unwrap_or(0), run.planned.cell == "b");
        run.measures.insert("wall".to_owned(), wall);
        run
    };
    let points = order.points.iter().map(run).collect();
    (plan, points)
}

/// Scatter without chance: five pairs in a row have mean zero.
fn wobble(pair: u32) -> f64 {
    [0.0, 0.02, -0.01, 0.01, -0.02][pair as usize % 5]
}

/// A trial whose only comparison is that of the two levels.
struct OneComparison {
    analysis: Analysis,
    one: Comparison,
}

impl OneComparison {
    fn effect(&self) -> &Effect {
        self.one.effect.as_ref().unwrap()
    }
}

fn analyze(plan: &Plan, points: &[Point]) -> Result<OneComparison, AnalysisError> {
    // Where a contrast names what is not there, no order can be drawn; that of the untouched plan does.
    let order = order::draw(plan).or_else(|_| order::draw(&two_level_plan(plan.design.blocks, 11))).unwrap();
    let analysis = analysis::analyze(plan, &order, points, &[])?;
    let [one] = analysis.comparisons.as_slice() else { panic!("a trial of two levels has one comparison") };
    Ok(OneComparison { one: one.clone(), analysis })
}

fn analysis((plan, points): &(Plan, Vec<Point>)) -> OneComparison {
    analyze(plan, points).unwrap()
}

fn warning<'a>(found: &'a OneComparison, id: &str) -> Option<&'a str> {
    found.analysis.warnings.iter().find(|warning| warning.id == id).map(|warning| warning.text.as_str())
}

#[test]
fn what_a_runner_says_of_runs_is_told_once_with_the_runs() {
    let (plan, mut points) = trial(8, |pair, _| 10.0 + wobble(pair));
    let say = |points: &mut [Point], runs: &[usize], id: &str, text: &str| {
        for run in runs {
            let warning = pagewise_core::comparison::found::Warning { id: id.to_owned(), text: text.to_owned() };
            points[*run].warnings.push(warning);
        }
    };
    let before = analyze(&plan, &points).unwrap();
    say(&mut points, &[3], "no-jvm", "No JVM took it.");
    say(&mut points, &[0, 2, 4, 6, 8, 10], "recording-ended", "The disk was full.");
    let after = analyze(&plan, &points).unwrap();
    assert_eq!(warning(&after, "no-jvm"), Some("Of run 4: No JVM took it."));
    let many = "Of runs 1, 3, 5, 7 and 2 more: The disk was full.";
    assert_eq!(warning(&after, "recording-ended"), Some(many));
    assert_eq!(after.one, before.one, "a warning never changes a number or a verdict");
    for (run, text) in [(1, "A went."), (2, "B went."), (3, "A went."), (5, "C went."), (6, "D went."), (7, "E went.")]
    {
        say(&mut points, &[run], "settings-changed", text);
    }
    let texts = "Of runs 2 and 4: A went. Of run 3: B went. Of run 6: C went. Of 2 more runs something like it.";
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "settings-changed"), Some(texts));
}

#[test]
fn levels_that_nothing_gave_an_occasion_to_act_are_not_passed_over() {
    let (mut plan, mut points) = trial(10, |pair, _| 10.0 + wobble(pair));
    policies(
        &mut plan,
        "vm.swappiness=1,vm.watermark_scale_factor=10",
        "vm.swappiness=100,vm.watermark_scale_factor=200",
    );
    let told = |plan: &Plan, points: &[Point]| {
        let found = analyze(plan, points).unwrap();
        let told = found.analysis.warnings.into_iter().filter(|warning| warning.id == "nothing-to-act-on");
        told.map(|warning| warning.text).collect::<Vec<_>>()
    };
    assert_eq!(told(&plan, &points), [""; 0], "a kernel that counts none of it");
    for point in &mut points {
        point.counters = [("pswpin", 0), ("pswpout", 0), ("pgscan_kswapd_normal", 64)]
            .map(|(name, grown)| (name.to_owned(), grown))
            .into();
    }
    let texts = told(&plan, &points);
    assert_eq!(texts.len(), 1, "memory was reclaimed: {texts:?}");
    assert!(
        texts[0].starts_with("vm.swappiness had next to nothing to act on: in none of 20 runs was anything swapped."),
        "{texts:?}"
    );
    points[4].counters.insert("pswpout".to_owned(), 1);
    assert!(told(&plan, &points)[0].contains("in only 1 of 20 runs"));
    for point in points.iter_mut().take(5) {
        point.counters.insert("pswpin".to_owned(), 9);
    }
    assert_eq!(told(&plan, &points), [""; 0], "a quarter of the runs swapped");
}

fn fail(point: &mut Point, outcome: Outcome) {
    point.outcome = outcome;
    point.reason = Some(format!("made to end as {}", outcome.word()));
}

fn runs_of<'p>(points: &'p mut [Point], level: &'p str) -> impl Iterator<Item = &'p mut Point> {
    points.iter_mut().filter(move |point| point.planned.cell == level && !point.planned.is_warmup())
}

fn applied(tunable: &str, before: &str, requested: Option<&str>, after: &str) -> AppliedSetting {
    let [tunable, before, after] = [tunable, before, after].map(str::to_owned);
    AppliedSetting { tunable, before, requested: requested.map(str::to_owned), after }
}

fn policies(plan: &mut Plan, a: &str, b: &str) {
    plan.factors[0].levels.insert("a".to_owned(), a.to_owned());
    plan.factors[0].levels.insert("b".to_owned(), b.to_owned());
}

#[test]
fn a_faster_level_is_better_and_the_sentence_says_by_how_much() {
    let found = analysis(&trial(10, |pair, b| if b { 9.2 + wobble(pair) * 9.2 } else { 10.0 }));
    assert_eq!(found.one.conclusion, Conclusion::Better);
    assert_eq!(found.one.decided_by, "effect");
    assert_eq!(
        found.one.sentence,
        "`b` is better than `a`: wall is 8.0 % lower (95 % interval 7.0 to 9.1 % lower, n = 10 pairs)."
    );
    assert_eq!((found.one.a_values.n, found.one.a_values.mean, found.one.a_values.sd), (10, Some(10.0), Some(0.0)));
}

#[test]
fn the_same_numbers_are_worse_where_higher_is_better() {
    let (mut plan, points) = trial(10, |pair, b| if b { 9.2 + wobble(pair) * 9.2 } else { 10.0 });
    plan.metrics[0].direction = Direction::Higher;
    assert_eq!(analyze(&plan, &points).unwrap().one.conclusion, Conclusion::Worse);
}

#[test]
fn no_difference_in_quiet_data_is_equivalence() {
    let found = analysis(&trial(10, |pair, b| if b { 10.0 + wobble(pair) } else { 10.0 }));
    assert_eq!(found.one.conclusion, Conclusion::Equivalent);
    assert!(!found.one.real_but_below_margin);
    assert_eq!(
        found.one.sentence,
        "`b` and `a` are equivalent: wall differs by less than 2 % (90 % interval 0.1 % lower to 0.1 % higher, \
         n = 10 pairs)."
    );
}

#[test]
fn a_small_certain_difference_is_real_but_below_the_margin() {
    let found = analysis(&trial(10, |pair, b| if b { 10.1 + wobble(pair) } else { 10.0 }));
    assert_eq!(found.one.conclusion, Conclusion::Equivalent);
    assert!(found.one.real_but_below_margin);
    assert!(found.one.sentence.contains("There is a real difference, but below your margin: wall is 1.0 % higher"));
}

#[test]
fn noise_leaves_it_open_and_says_what_a_new_trial_needs() {
    let found = analysis(&trial(10, |pair, b| if b { 10.0 + 40.0 * wobble(pair) } else { 10.0 }));
    assert_eq!(found.one.conclusion, Conclusion::Inconclusive);
    assert_eq!(found.one.decided_by, "none");
    let needed = found.one.blocks_needed.unwrap();
    assert!(found.one.sentence.starts_with("Not told apart: wall under `b` is "), "{}", found.one.sentence);
    let new_trial = format!("A new trial needs {needed} pairs to see a difference of 2 % nine times in ten");
    let larger: Vec<_> = found.one.blocks_needed_for.iter().map(|one| (one.difference, one.blocks)).collect();
    let [(five, for_five), (ten, for_ten)] = larger[..] else { panic!("{larger:?}") };
    assert!((five, ten) == (0.05, 0.1) && needed > for_five && for_five > for_ten, "{larger:?}");
    let same = found.one.detectable.unwrap();
    assert!(same > 0.02, "ten pairs left 2 % open: {same}");
    let told =
        format!("{new_trial}, {for_five} for 5 %, {for_ten} for 10 %. As many as here see {:.1} %.", same * 100.0);
    assert!(found.one.sentence.ends_with(&told), "{}", found.one.sentence);
    assert!(warning(&found, "noise-against-margin").is_some());
}

#[test]
fn an_arm_that_dies_significantly_more_often_is_worse_however_fast_it_is() {
    let (plan, mut points) = trial(10, |pair, b| if b { 5.0 + wobble(pair) } else { 10.0 });
    runs_of(&mut points, "b").take(5).for_each(|point| fail(point, Outcome::Oom));
    runs_of(&mut points, "b").skip(5).take(1).for_each(|point| fail(point, Outcome::Timeout));
    let found = analyze(&plan, &points).unwrap();
    assert_eq!((found.one.conclusion, found.one.decided_by.as_str()), (Conclusion::Worse, "outcomes"));
    assert_eq!(
        found.one.sentence,
        "`b` is worse than `a`: 6 of 10 runs of `b` ended badly (5 oom, 1 timeout), against 0 of 10 of `a` (Fisher's \
         exact test, p = 0.011). Failures are compared before times."
    );
    assert_eq!((found.one.blocks, found.analysis.cells[1].outcomes["oom"]), (4, 5));
}

#[test]
fn one_failure_more_is_enough_to_never_be_called_better_or_equivalent() {
    for wall_of_b in [5.0, 10.0] {
        let (plan, mut points) = trial(10, |pair, b| if b { wall_of_b + wobble(pair) } else { 10.0 });
        runs_of(&mut points, "b").take(1).for_each(|point| fail(point, Outcome::Wrong));
        let found = analyze(&plan, &points).unwrap();
        assert_eq!(found.one.conclusion, Conclusion::Inconclusive);
        assert!(found.one.sentence.contains("1 of 10 runs of `b` ended badly (1 wrong)"), "{}", found.one.sentence);
        assert!(warning(&found, "incomplete-pairs").is_some_and(|text| text.starts_with("1 of 10 pairs")));
    }
}

#[test]
fn the_level_that_fails_more_can_still_be_worse() {
    let (plan, mut points) = trial(10, |pair, b| if b { 20.0 + wobble(pair) } else { 10.0 });
    runs_of(&mut points, "b").take(1).for_each(|point| fail(point, Outcome::Failed));
    assert_eq!(analyze(&plan, &points).unwrap().one.conclusion, Conclusion::Worse);
}

#[test]
fn failures_in_the_warm_up_are_no_results() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    points.iter_mut().filter(|point| point.planned.is_warmup()).for_each(|point| fail(point, Outcome::Oom));
    let found = analyze(&plan, &points).unwrap();
    assert_eq!((found.one.outcomes.a_bad, found.one.outcomes.b_bad, found.one.outcomes.a_total), (0, 0, 10));
    assert_eq!(found.one.conclusion, Conclusion::Better);
}

#[test]
fn an_invalid_run_is_shown_and_its_repetition_counts() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    let place = points.iter().position(|point| !point.planned.is_warmup()).unwrap();
    let mut first_try = points[place].clone();
    fail(&mut first_try, Outcome::Invalid);
    first_try.measures.insert("wall".to_owned(), 500.0);
    points[place].attempt = 2;
    points.push(first_try);
    let found = analyze(&plan, &points).unwrap();
    assert_eq!((found.one.blocks, found.one.conclusion), (10, Conclusion::Better));
    assert_eq!(
        warning(&found, "attempts-replaced"),
        Some("One run was invalid and does not count: made to end as invalid.")
    );
    assert_eq!(found.analysis.points.iter().filter(|mark| mark.outcome == Outcome::Invalid).count(), 1);
}

#[test]
fn a_run_that_is_only_ever_invalid_leaves_its_pair_out() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    runs_of(&mut points, "a").take(1).for_each(|point| fail(point, Outcome::Invalid));
    let found = analyze(&plan, &points).unwrap();
    assert_eq!((found.one.blocks, found.one.outcomes.a_total, found.one.outcomes.a_bad), (9, 9, 0));
    assert_eq!(found.one.conclusion, Conclusion::Better);
}

#[test]
fn too_few_complete_pairs_are_a_verdict_with_a_reason() {
    let (plan, mut points) = trial(4, |_, b| if b { 9.0 } else { 10.0 });
    points.retain(|point| point.planned.block.is_none_or(|block| block < 2));
    let found = analyze(&plan, &points).unwrap();
    assert_eq!((found.one.effect.is_none(), found.one.conclusion), (true, Conclusion::Inconclusive));
    assert_eq!(
        found.one.sentence,
        "No verdict: too few pairs are complete for an estimate: 2, and it takes at least 3 (4 were planned)."
    );
    assert!(analyze(&plan, &[]).unwrap().one.no_effect_because.is_some());
}

#[test]
fn values_at_or_below_zero_have_no_ratio() {
    let found = analysis(&trial(10, |pair, b| if b && pair == 3 { 0.0 } else { 10.0 }));
    assert!(found.one.effect.is_none() && warning(&found, "not-positive").is_some());
    assert!(found.one.sentence.starts_with("No verdict: wall has a value of 0"), "{}", found.one.sentence);
}

#[test]
fn a_run_without_the_metric_is_not_a_zero() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    runs_of(&mut points, "b").take(1).for_each(|point| point.measures.clear());
    let found = analyze(&plan, &points).unwrap();
    assert_eq!((found.one.blocks, found.one.b_values.n), (9, 9));
    assert!(
        warning(&found, "incomplete-pairs").is_some_and(|text| text.contains("In 1 of them wall was not measured"))
    );
}

#[test]
fn one_pair_that_decides_is_named() {
    let found = analysis(&trial(10, |pair, b| match (pair, b) {
        (4, true) => 16.0,
        (_, true) => 9.7 + wobble(pair),
        _ => 10.0,
    }));
    assert_eq!(found.one.conclusion, Conclusion::Inconclusive);
    assert_eq!(warning(&found, "one-point-decides"), Some("Without pair 5 the verdict would be better."));
}

#[test]
fn drift_is_noticed_and_does_not_move_the_estimate() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    for point in &mut points {
        let growth = 1.01_f64.powi(point.planned.index as i32);
        point.measures.entry("wall".to_owned()).and_modify(|wall| *wall *= growth);
    }
    let found = analyze(&plan, &points).unwrap();
    assert!(warning(&found, "drift").is_some_and(|text| text.contains("+20.8 %")), "{:?}", found.analysis.warnings);
    let ratio = found.effect().ratio;
    assert!((ratio - 0.9).abs() < 0.002, "{ratio}");
}

#[test]
fn steady_runs_raise_no_alarm() {
    let found = analysis(&trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 + wobble(pair + 2) }));
    assert_eq!(found.analysis.warnings, []);
}

#[test]
fn an_arm_in_two_heaps_is_called_bimodal() {
    let heap = |pair: u32| if pair.is_multiple_of(2) { 8.0 } else { 12.0 };
    let found =
        analysis(&trial(20, |pair, b| if b { heap(pair) + wobble(pair) } else { 10.0 + f64::from(pair) * 0.01 }));
    let text = warning(&found, "bimodal").unwrap_or_else(|| panic!("{:?}", found.analysis.warnings));
    assert!(text.contains("`b` (p = ") && !text.contains("`a`"), "{text}");
}

#[test]
fn four_pairs_allow_too_few_orders() {
    let found = analysis(&trial(4, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 }));
    assert!(
        warning(&found, "few-sequences").is_some_and(|text| text.contains("p = 0.33") && text.contains("Run 7 pairs"))
    );
    assert_eq!(found.effect().smallest_randomisation_p, Some(2.0 / 6.0));
}

#[test]
fn two_levels_that_read_back_the_same_compare_nothing() {
    let (mut plan, mut points) = trial(10, |pair, b| if b { 10.0 + wobble(pair) } else { 10.0 });
    policies(&mut plan, "now", "thp.enabled=madvise");
    for point in runs_of(&mut points, "b") {
        point.applied.push(applied("thp.enabled", "madvise", Some("madvise"), "madvise"));
    }
    let found = analyze(&plan, &points).unwrap();
    assert!(warning(&found, "policy-changes-nothing").is_some_and(|text| text.contains("thp.enabled")));
    // The same policy twice asks for the noise of the host and is meant to change nothing.
    policies(&mut plan, "thp.enabled=madvise", "thp.enabled=madvise");
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "policy-changes-nothing"), None);
    // What leaves nothing to read back may be what differs.
    policies(&mut plan, "now", "thp.enabled=madvise,env.THREADS=2");
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "policy-changes-nothing"), None);
}

#[test]
fn what_the_kernel_moved_by_itself_is_named() {
    let (mut plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    policies(&mut plan, "now", "thp.enabled=always");
    for point in runs_of(&mut points, "b") {
        point.applied.push(applied("thp.enabled", "never", Some("always"), "always"));
        point.applied.push(applied("vm.min_free_kbytes", "8192", None, "67584"));
    }
    let found = analyze(&plan, &points).unwrap();
    let text = warning(&found, "levels-differ-in-more").unwrap();
    assert!(text.contains("vm.min_free_kbytes (8192 under `a`, 67584 under `b`)"), "{text}");
    assert_eq!(warning(&found, "policy-changes-nothing"), None);
    plan.factors[0].also.push("vm.min_free_kbytes".to_owned());
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "levels-differ-in-more"), None);
}

#[test]
fn counters_that_differ_are_listed_most_significant_first_and_noise_is_not() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    for point in &mut points {
        let b = i64::from(point.planned.cell == "b");
        let index = i64::from(point.planned.index);
        let counters = [
            ("compact_stall", 5 + b * 40 + index % 3),
            ("thp_fault_alloc", b * 512),
            ("pgfault", 100_000 + (index * 7919) % 1000),
            ("nr_free_pages", b * 1_000_000),
            ("swap_ra", 0),
        ];
        point.counters = counters.into_iter().map(|(name, growth)| (name.to_owned(), growth)).collect();
    }
    let found = analyze(&plan, &points).unwrap();
    let names: Vec<&str> = found.one.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["thp_fault_alloc", "compact_stall"]);
    assert_eq!(found.one.counters_compared, 3, "a level is no counter, and what never moved is not compared");
    assert_eq!(
        (found.one.counters[0].a_mean, found.one.counters[0].b_mean, found.one.counters[0].difference),
        (0.0, 512.0, 512.0)
    );
}

#[test]
fn other_measures_and_the_user_s_own_are_compared_where_every_pair_has_them() {
    let (plan, mut points) = trial(10, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 });
    for point in &mut points {
        let b = point.planned.cell == "b";
        point.measures.insert("user".to_owned(), if b { 3.0 } else { 2.0 });
        point.measures.insert("major_faults".to_owned(), if b { 4.0 } else { 0.0 });
        point.measures.insert("rows_per_s".to_owned(), if b { 50.0 } else { 100.0 });
        point.custom_units.insert("rows_per_s".to_owned(), "rows/s".to_owned());
        if point.planned.index == 5 {
            continue;
        }
        point.measures.insert("cgroup_peak".to_owned(), 1e9);
    }
    let found = analyze(&plan, &points).unwrap();
    let listed: Vec<(&str, &str, Option<f64>)> = found
        .one
        .measures
        .iter()
        .map(|m| (m.name.as_str(), m.unit.as_str(), m.ratio.map(|r| (r * 1e6).round() / 1e6)))
        .collect();
    assert_eq!(
        listed,
        [("user", "seconds", Some(1.5)), ("major_faults", "count", None), ("rows_per_s", "rows/s", Some(0.5))]
    );
}

#[test]
fn a_plan_that_cannot_be_judged_is_refused_with_the_reason() {
    let (plan, points) = trial(4, |_, _| 10.0);
    let refusal = |change: fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        analyze(&plan, &points).err().unwrap()
    };
    assert_eq!(
        refusal(|plan| plan.contrasts[0].b = "c".to_owned()),
        AnalysisError::Unknown { what: "level", name: "c".to_owned() }
    );
    assert!(matches!(refusal(|plan| plan.metrics[0].smallest_effect = "wide".to_owned()), AnalysisError::BadNumber(_)));
    assert!(matches!(refusal(|plan| plan.metrics[0].smallest_effect = "2".to_owned()), AnalysisError::BadNumber(_)));
    assert!(matches!(refusal(|plan| plan.design.alpha = 0.5), AnalysisError::BadNumber(_)));
    assert!(matches!(refusal(|plan| plan.design.alpha = f64::NAN), AnalysisError::BadNumber(_)));
}

/// A simulated trial that may end any way.
fn any_trial() -> impl Strategy<Value = (Plan, Vec<Point>)> {
    (4u32..24, any::<u64>(), 0.001f64..0.2, 0.7f64..1.4, 0.0f64..0.3, 0.0f64..0.3).prop_map(
        |(pairs, seed, sd, ratio, oom_a, oom_b)| {
            let plan = two_level_plan(pairs, seed);
            let order = order::draw(&plan).unwrap();
            let world = World { sd, ratio, oom: (oom_a, oom_b), ..World::default() };
            let points = true_world(&plan, &order, &world, seed ^ 1);
            (plan, points)
        },
    )
}

fn flipped(conclusion: Conclusion) -> Conclusion {
    match conclusion {
        Conclusion::Better => Conclusion::Worse,
        Conclusion::Worse => Conclusion::Better,
        same => same,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn swapping_the_levels_turns_ratio_and_verdict_over((plan, points) in any_trial()) {
        let mut swapped = plan.clone();
        swapped.contrasts[0].a = plan.contrasts[0].b.clone();
        swapped.contrasts[0].b = plan.contrasts[0].a.clone();
        let (one, other) = (analyze(&plan, &points).unwrap(), analyze(&swapped, &points).unwrap());
        prop_assert_eq!(one.one.conclusion, flipped(other.one.conclusion));
        prop_assert_eq!(one.one.effect.is_some(), other.one.effect.is_some());
        if let (Some(one), Some(other)) = (one.one.effect, other.one.effect) {
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-12);
            prop_assert!((one.interval.low * other.interval.high - 1.0).abs() < 1e-12);
            prop_assert!((one.p - other.p).abs() < 1e-12);
            prop_assert!((one.period_ratio.unwrap() - other.period_ratio.unwrap()).abs() < 1e-12);
            prop_assert_eq!(one.randomisation_p, other.randomisation_p);
        }
    }

    #[test]
    fn another_unit_leaves_ratio_and_verdict((plan, points) in any_trial(), factor in 1e-3f64..1e3) {
        let mut scaled = points.clone();
        for point in &mut scaled {
            point.measures.entry("wall".to_owned()).and_modify(|wall| *wall *= factor);
        }
        let (one, other) = (analyze(&plan, &points).unwrap(), analyze(&plan, &scaled).unwrap());
        prop_assert_eq!(one.one.conclusion, other.one.conclusion);
        if let (Some(one), Some(other)) = (one.one.effect, other.one.effect) {
            prop_assert!((one.ratio / other.ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.p - other.p).abs() < 1e-9);
        }
    }

    #[test]
    fn the_same_points_in_any_order_give_the_same_bytes((plan, points) in any_trial(), turn in 0usize..40) {
        let mut turned = points.clone();
        let by = turn % points.len();
        turned.rotate_left(by);
        turned.reverse();
        let bytes = |points: &[Point]| serde_json::to_vec(&analyze(&plan, points).unwrap().analysis).unwrap();
        prop_assert_eq!(bytes(&points), bytes(&turned));
    }

    #[test]
    fn p_values_keep_their_bounds((plan, points) in any_trial()) {
        let found = analyze(&plan, &points).unwrap();
        if let Some(effect) = found.one.effect {
            // Where every complete pair ran the same way round there is no effect to redraw.
            if let (Some(smallest), Some(p)) = (effect.smallest_randomisation_p, effect.randomisation_p) {
                prop_assert!(smallest > 0.0 && smallest <= p && p <= 1.0);
            }
            prop_assert!((0.0..=1.0).contains(&effect.p));
            prop_assert!(effect.interval.low <= effect.ratio && effect.ratio <= effect.interval.high);
        }
    }
}

#[test]
fn a_host_that_someone_changed_between_runs_is_not_passed_over() {
    let (plan, mut points) = trial(6, |pair, _| 10.0 + wobble(pair));
    let found_before = |points: &mut [Point], level: &str, early: &str, late: &str| {
        for (run, point) in runs_of(points, level).enumerate() {
            let before = if run < 4 { early } else { late };
            point.applied = vec![applied("vm.swappiness", before, Some("10"), "10")];
        }
    };
    found_before(&mut points, "b", "60", "60");
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "host-changed"), None);
    found_before(&mut points, "b", "60", "1");
    let found = analyze(&plan, &points).unwrap();
    let text = warning(&found, "host-changed").unwrap();
    assert!(text.contains("vm.swappiness (1 and 60 under `a`)"), "{text}");
    // Both levels set it: what the host had in between reaches no run.
    found_before(&mut points, "a", "60", "1");
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "host-changed"), None);
}

#[test]
fn others_that_compute_while_runs_go_on_are_told() {
    let (plan, mut points) = trial(6, |pair, _| 10.0 + wobble(pair));
    let put = |points: &mut [Point], level: &str, share: f64| {
        for point in runs_of(points, level) {
            point.measures.insert("others_share".to_owned(), share);
        }
    };
    put(&mut points, "a", 0.04);
    put(&mut points, "b", 0.06);
    assert_eq!(warning(&analyze(&plan, &points).unwrap(), "others-at-work"), None);
    put(&mut points, "b", 0.31);
    let found = analyze(&plan, &points).unwrap();
    let text = warning(&found, "others-at-work").unwrap();
    assert!(text.contains("4 % under `a`, 31 % under `b`"), "{text}");
}

#[test]
fn what_matrices_hear_trials_of_two_levels_hear_too() {
    let (plan, mut points) = trial(20, |pair, b| if b { 9.0 + wobble(pair) } else { 10.0 + wobble(pair + 2) });
    for point in points.iter_mut().filter(|point| point.planned.index > 25) {
        point.measures.entry("wall".to_owned()).and_modify(|wall| *wall *= 1.3);
    }
    let found = analyze(&plan, &points).unwrap();
    assert!(warning(&found, "change-point").is_some(), "{:?}", found.analysis.warnings);
    assert!(warning(&found, "autocorrelation").is_some(), "{:?}", found.analysis.warnings);

    let (plan, points) = trial(10, |pair, b| match (pair, b) {
        (3, true) => 14.0,
        (_, true) => 9.0 + wobble(pair),
        _ => 10.0 + wobble(pair + 2),
    });
    assert!(warning(&analyze(&plan, &points).unwrap(), "outliers").is_some_and(|text| text.contains("1 of 10 in 'b'")));
}

#[test]
fn a_trial_without_a_contrast_makes_no_claim_and_says_so() {
    let (mut plan, points) = trial(6, |pair, _| 10.0 + wobble(pair));
    let order = order::draw(&plan).unwrap();
    plan.contrasts.clear();
    let found = analysis::analyze(&plan, &order, &points, &[]).unwrap();
    assert_eq!(found.comparisons, []);
    assert!(found.warnings.iter().any(|warning| warning.id == "no-contrast"), "{:?}", found.warnings);
}
