//! What a trial does next, from its order and the points so far. Pure, so that a kill at any moment changes nothing but
//! what is left to do.

use super::order::Order;
use super::plan::{Invalidation, OrderKind};
use super::point::{Outcome, PlannedPoint, Point};
use std::collections::BTreeMap;

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run this point, as this attempt.
    Run(PlannedPoint, u32),
    /// Every point has a result.
    Done,
}

/// The first point of the order that has no result yet. Only `invalid` points are run again.
#[must_use]
pub fn next(order: &Order, points: &[Point]) -> Next {
    let mut attempts: BTreeMap<u32, u32> = BTreeMap::new();
    let mut has_result: BTreeMap<u32, bool> = BTreeMap::new();
    for point in points {
        let attempt = attempts.entry(point.planned.index).or_default();
        *attempt = (*attempt).max(point.attempt);
        *has_result.entry(point.planned.index).or_default() |= point.outcome != Outcome::Invalid;
    }
    let open = order.points.iter().find(|planned| !has_result.get(&planned.index).copied().unwrap_or(false));
    match open {
        Some(planned) => Next::Run(planned.clone(), attempts.get(&planned.index).copied().unwrap_or(0) + 1),
        None => Next::Done,
    }
}

/// Why a run that ended well is no result by the rules the plan declares; `None` when it is one. A number that the run does
/// not have decides nothing.
#[must_use]
pub fn invalidated_by(rules: &[Invalidation], point: &Point) -> Option<String> {
    if point.outcome != Outcome::Ok {
        return None;
    }
    rules.iter().find_map(|rule| {
        let counter = || point.counters.get(&rule.number).map(|growth| *growth as f64);
        let value = point.measures.get(&rule.number).copied().or_else(counter)?;
        let crossed = |limit: Option<f64>, word: &str, is: bool| {
            limit.filter(|_| is).map(|limit| format!("{} is {value}, {word} {limit}: {}", rule.number, rule.because))
        };
        crossed(rule.above, "above", rule.above.is_some_and(|limit| value > limit))
            .or_else(|| crossed(rule.below, "below", rule.below.is_some_and(|limit| value < limit)))
    })
}

/// Points whose pair a pause has cut: they are `ok`, their partner has no result. A pair is two *adjacent* runs, so both
/// must be run again when the trial goes on. A run that failed is a result for good: it is never run again, and its pair
/// gives no estimate anyway. Gives index and attempt of each point to run again.
#[must_use]
pub fn cut_pairs(order: &Order, points: &[Point]) -> Vec<(u32, u32)> {
    // Only pairs are adjacent by design. `auto` stands in bundles of versions that knew pairs alone.
    if !matches!(order.kind, OrderKind::Pairs | OrderKind::Auto) {
        return Vec::new();
    }
    let results: Vec<&Point> = points.iter().filter(|point| point.outcome != Outcome::Invalid).collect();
    let has_result = |index: u32| results.iter().any(|point| point.planned.index == index);
    // Where each half has a boot of its own, the boot between them is the design's.
    let is_adjacent = |point: &PlannedPoint, other: &PlannedPoint| {
        other.block == point.block && other.index != point.index && other.boot == point.boot
    };
    let partner_is_open = |point: &Point| {
        let mut partners = order.points.iter().filter(|other| is_adjacent(&point.planned, other));
        point.planned.block.is_some() && partners.any(|other| !has_result(other.index))
    };
    let cut = results.iter().filter(|point| point.outcome == Outcome::Ok && partner_is_open(point));
    cut.map(|point| (point.planned.index, point.attempt)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        let point = |index: u32, block: Option<u32>| PlannedPoint {
            index,
            block,
            position: index % 2,
            boot: None,
            cell: "x".into(),
        };
        Order {
            seed: 1,
            kind: OrderKind::Pairs,
            points: vec![point(0, None), point(1, None), point(2, Some(0)), point(3, Some(0))],
        }
    }

    fn result(index: u32, attempt: u32, outcome: Outcome) -> Point {
        Point {
            planned: order().points[index as usize].clone(),
            attempt,
            outcome,
            reason: None,
            started_at: String::new(),
            measures: BTreeMap::new(),
            absent: BTreeMap::new(),
            custom_units: BTreeMap::new(),
            counters: BTreeMap::new(),
            applied: Vec::new(),
            boot_id: String::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn points_run_in_order_and_only_invalid_ones_again() {
        let mut points = Vec::new();
        assert!(matches!(next(&order(), &points), Next::Run(p, 1) if p.index == 0));
        points.push(result(0, 1, Outcome::Failed));
        points.push(result(1, 1, Outcome::Invalid));
        assert!(matches!(next(&order(), &points), Next::Run(p, 2) if p.index == 1));
        points.push(result(1, 2, Outcome::Ok));
        points.push(result(2, 1, Outcome::Oom));
        points.push(result(3, 1, Outcome::Ok));
        assert_eq!(next(&order(), &points), Next::Done);
    }

    #[test]
    fn a_declared_rule_makes_a_good_run_invalid_and_leaves_a_failed_one_a_result() {
        let rule = Invalidation {
            number: "oom_kill".into(),
            above: Some(0.0),
            below: None,
            because: "someone else ran out of memory".into(),
        };
        let mut point = result(2, 1, Outcome::Ok);
        assert_eq!(
            invalidated_by(std::slice::from_ref(&rule), &point),
            None,
            "a number that is absent decides nothing"
        );
        point.counters.insert("oom_kill".into(), 1);
        let reason = invalidated_by(std::slice::from_ref(&rule), &point).unwrap();
        assert_eq!(reason, "oom_kill is 1, above 0: someone else ran out of memory");
        point.outcome = Outcome::Oom;
        assert_eq!(invalidated_by(&[rule], &point), None);
    }

    #[test]
    fn a_pair_that_a_pause_cut_is_run_again_as_a_whole() {
        let warm = [result(0, 1, Outcome::Ok)];
        assert!(cut_pairs(&order(), &warm).is_empty(), "warm-up points are no pair");
        let half = [result(2, 1, Outcome::Invalid), result(2, 2, Outcome::Ok)];
        assert_eq!(cut_pairs(&order(), &half), vec![(2, 2)]);
        let failed = [result(2, 1, Outcome::Oom)];
        assert!(cut_pairs(&order(), &failed).is_empty(), "a failure is never run again");
        let whole = [result(2, 1, Outcome::Ok), result(3, 1, Outcome::Timeout)];
        assert!(cut_pairs(&order(), &whole).is_empty());
    }

    #[test]
    fn a_pair_whose_halves_have_boots_of_their_own_is_not_cut_by_the_boot_between_them() {
        let half = result(2, 1, Outcome::Ok);
        let with_boots = |first: u32, second: u32| {
            let mut order = order();
            order.points[2].boot = Some(first);
            order.points[3].boot = Some(second);
            let point = Point { planned: order.points[2].clone(), ..half.clone() };
            cut_pairs(&order, &[point])
        };
        assert!(with_boots(0, 1).is_empty());
        assert_eq!(with_boots(1, 1), vec![(2, 1)], "both in one boot are adjacent");
    }
}
