//! Change points as tests: where a series differs before and after by more than chance, at a declared level (E-divisive).
//!
//! Two stretches side by side, of m and n values, differ by the energy distance of their values,
//!
//! Q = mn/(m+n) · (2·mean|x − y| − mean|x − x′| − mean|y − y′|),
//!
//! which no choice of level, spread or shape is needed for. Of all such pairs of stretches that begin where a segment begins the
//! one with the largest Q says where the segment changes; the second stretch may end before the segment does, so that a change
//! back does not hide the change. Whether it is chance is asked of the same series with the values of each segment in random
//! order: the p-value is the share of orders whose largest Q is as large. While a change is found at the level, the segments are
//! searched again. A series without any change is called changed with probability of at most the level, whatever its values are
//! distributed like; p-values of later changes hold for each step by itself.
//!
//! Sources: Matteson and James, J. Am. Statist. Assoc. 109 (2014), 334–345, with their α = 1; Székely and Rizzo, "Energy
//! statistics", J. Statist. Plan. Infer. 143 (2013), 1249–1272. Drawing stops as soon as a p-value cannot be small any more
//! (Besag and Clifford, Biometrika 78 (1991), 301–304).

use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

/// How changes are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Values a segment has at least; 2 or more.
    pub fewest: usize,
    /// The p-value at or below which a change counts.
    pub level: f64,
    /// Random orders each change is held against. A p-value cannot be below one over one more than these.
    pub orders: u32,
}

/// Where a series changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub at: usize,
    /// Q: by how much both sides differ, in the unit of the values, times their number.
    pub statistic: f64,
    /// Share of orders, the series' own among them, in which chance finds as much.
    pub p: f64,
}

/// The changes of a series, in its order. Empty when there is none, a value is no finite number, or two segments have no room.
#[must_use]
pub fn changes(values: &[f64], search: &Search, rng: &mut ChaCha20Rng) -> Vec<ChangePoint> {
    let fewest = search.fewest.max(2);
    if values.len() < 2 * fewest || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut splitter = Splitter::new(fewest, values.len());
    let mut bounds = vec![0, values.len()];
    let mut found: Vec<ChangePoint> = Vec::new();
    while let Some((statistic, at)) = splitter.best(values, &bounds) {
        let Some(p) = p_value(values, &bounds, statistic, search, &mut splitter, rng) else { break };
        found.push(ChangePoint { at, statistic, p });
        bounds.push(at);
        bounds.sort_unstable();
    }
    found.sort_by_key(|change| change.at);
    found
}

/// The share of orders whose largest statistic is as large; `None` as soon as it is certain to be above the level.
fn p_value(
    values: &[f64],
    bounds: &[usize],
    statistic: f64,
    search: &Search,
    splitter: &mut Splitter,
    rng: &mut ChaCha20Rng,
) -> Option<f64> {
    let all = f64::from(search.orders) + 1.0;
    // So many orders, the series' own among them, may be as large; a product such as 0.01 · 500 may round below its value.
    let allowed = libm::floor(search.level * all + 1e-9) as u32;
    // Sums in another order differ by rounding; equal ones count as equally large.
    let threshold = statistic * (1.0 - 1e-10);
    let mut shuffled = values.to_vec();
    let mut as_large = 1;
    for _ in 0..search.orders {
        for bound in bounds.windows(2) {
            shuffle(&mut shuffled[bound[0]..bound[1]], rng);
        }
        let largest = splitter.best(&shuffled, bounds).map_or(0.0, |(largest, _)| largest);
        as_large += u32::from(largest >= threshold);
        if as_large > allowed {
            return None;
        }
    }
    (as_large <= allowed).then(|| f64::from(as_large) / all)
}

/// Fisher and Yates. A multiplication maps 64 random bits to an index; its bias is below 2⁻⁴⁰ for any series that fits a trial.
fn shuffle(values: &mut [f64], rng: &mut ChaCha20Rng) {
    for last in (1..values.len()).rev() {
        let chosen = ((u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        values.swap(last, chosen);
    }
}

/// Finds the best place to split a segment, without allocating for each order that is tried.
struct Splitter {
    fewest: usize,
    /// Row k: sums of the distances of value k from the first 0, 1, … k values of its segment.
    distances: Vec<f64>,
    /// 1/n.
    inverse: Vec<f64>,
}

impl Splitter {
    fn new(fewest: usize, longest: usize) -> Splitter {
        let inverse = std::iter::once(0.0).chain((1..=longest).map(|n| 1.0 / n as f64)).collect();
        Splitter { fewest, distances: Vec::new(), inverse }
    }

    /// The largest statistic over all segments, and the place where its second stretch begins. `None` without room for two.
    fn best(&mut self, values: &[f64], bounds: &[usize]) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for bound in bounds.windows(2) {
            let Some((statistic, at)) = self.best_in(&values[bound[0]..bound[1]]) else { continue };
            if best.is_none_or(|(largest, _)| statistic > largest) {
                best = Some((statistic, bound[0] + at));
            }
        }
        best
    }

    fn best_in(&mut self, segment: &[f64]) -> Option<(f64, usize)> {
        let count = segment.len();
        if count < 2 * self.fewest {
            return None;
        }
        self.measure(segment);
        let row = |k: usize| k * (k + 1) / 2;
        let mut best: Option<(f64, usize)> = None;
        // Sums of distances within the first stretch, between both, and within the second.
        let mut within_first: f64 = (0..self.fewest).map(|k| self.distances[row(k) + k]).sum();
        for at in self.fewest..=count - self.fewest {
            let (mut between, mut within_second) = (0.0, 0.0);
            let of_first = within_first * self.inverse[at - 1];
            for k in at..count {
                let to_first = self.distances[row(k) + at];
                between += to_first;
                within_second += self.distances[row(k) + k] - to_first;
                let (m, n) = (at as f64, (k + 1 - at) as f64);
                if k + 1 - at < self.fewest {
                    continue;
                }
                let inside = of_first * n + within_second * self.inverse[k - at] * m;
                let statistic = 2.0 * (between - inside) * self.inverse[k + 1];
                if best.is_none_or(|(largest, _)| statistic > largest) {
                    best = Some((statistic, at));
                }
            }
            within_first += self.distances[row(at) + at];
        }
        best
    }

    /// Fills the rows of [`Splitter::distances`]; row k has k + 1 entries.
    fn measure(&mut self, segment: &[f64]) {
        self.distances.clear();
        for (k, value) in segment.iter().enumerate() {
            let mut sum = 0.0;
            self.distances.push(sum);
            for before in &segment[..k] {
                sum += (value - before).abs();
                self.distances.push(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal_draws::NormalDraws;
    use proptest::prelude::*;
    use rand_core::SeedableRng;

    const SEARCH: Search = Search { fewest: 6, level: 0.01, orders: 499 };

    fn places(values: &[f64]) -> Vec<usize> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        changes(values, &SEARCH, &mut rng).iter().map(|change| change.at).collect()
    }

    /// The definition, mean by mean.
    fn statistic(x: &[f64], y: &[f64]) -> f64 {
        let mean = |one: &[f64], other: &[f64]| {
            let all = one.iter().flat_map(|a| other.iter().map(move |b| (a - b).abs()));
            all.sum::<f64>()
        };
        let (m, n) = (x.len() as f64, y.len() as f64);
        let energy = 2.0 * mean(x, y) / (m * n) - mean(x, x) / (m * (m - 1.0)) - mean(y, y) / (n * (n - 1.0));
        m * n / (m + n) * energy
    }

    fn best_by_definition(values: &[f64], fewest: usize) -> f64 {
        let mut largest = f64::NEG_INFINITY;
        for at in fewest..=values.len() - fewest {
            for end in at + fewest..=values.len() {
                largest = largest.max(statistic(&values[..at], &values[at..end]));
            }
        }
        largest
    }

    /// Every order of some values.
    fn orders(values: &[f64]) -> Vec<Vec<f64>> {
        let Some((last, rest)) = values.split_last() else { return vec![Vec::new()] };
        let insert = |order: Vec<f64>| {
            (0..=order.len()).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, *last);
                longer
            })
        };
        orders(rest).into_iter().flat_map(insert).collect()
    }

    #[test]
    fn a_jump_is_found_where_it_is_and_back_again() {
        let mut draw = NormalDraws::new(1);
        let series = [draw.normals(15, 10.0, 0.2), draw.normals(25, 11.0, 0.2), draw.normals(12, 10.0, 0.2)].concat();
        assert_eq!(places(&series), [15, 40]);
        let found = changes(&series, &SEARCH, &mut ChaCha20Rng::seed_from_u64(1));
        assert!(found.iter().all(|change| change.p <= 0.01 && change.p >= 1.0 / 500.0), "{found:?}");
    }

    #[test]
    fn a_change_of_spread_alone_is_found() {
        let mut draw = NormalDraws::new(2);
        let series = [draw.normals(50, 10.0, 0.1), draw.normals(50, 10.0, 1.0)].concat();
        let found = places(&series);
        assert!(found.len() == 1 && found[0].abs_diff(50) <= 5, "{found:?}");
    }

    #[test]
    fn noise_alone_is_called_changed_as_often_as_declared() {
        // 2,000 series; a rate of 5 % stays below the bound with probability 0.999. Exponential values: no bell curve is needed.
        const SERIES: u32 = 2000;
        let search = Search { fewest: 3, level: 0.05, orders: 99 };
        let bound = 0.05 + 3.09 * (0.05 * 0.95 / f64::from(SERIES)).sqrt();
        for skewed in [false, true] {
            let mut draw = NormalDraws::new(3);
            let changed = (0..SERIES)
                .filter(|_| {
                    let mut series = draw.normals(24, 5.0, 1.0);
                    if skewed {
                        series.iter_mut().for_each(|value| *value = libm::exp(*value));
                    }
                    !changes(&series, &search, &mut draw.0).is_empty()
                })
                .count();
            let rate = changed as f64 / f64::from(SERIES);
            assert!(rate <= bound, "skewed {skewed}: {rate}");
            assert!(rate >= 0.03, "a test that never rejects would pass the bound, too: {rate}");
        }
    }

    #[test]
    fn a_sample_of_orders_agrees_with_all_of_them() {
        let values = [1.0, 1.3, 0.9, 1.2, 2.1, 1.9, 2.2, 2.05];
        let fewest = 2;
        let observed = best_by_definition(&values, fewest);
        let all = orders(&values);
        assert_eq!(all.len(), 40_320);
        let as_large = all.iter().filter(|order| best_by_definition(order, fewest) >= observed - 1e-12).count();
        let exact = as_large as f64 / all.len() as f64;
        assert!((0.005..0.1).contains(&exact), "{exact}");
        let search = Search { fewest, level: 0.5, orders: 9999 };
        let found = changes(&values, &search, &mut ChaCha20Rng::seed_from_u64(4));
        let first = found.iter().find(|change| change.at == 4).expect("the jump");
        assert!((first.statistic - observed).abs() < 1e-12, "{first:?}, {observed}");
        assert!((first.p - exact).abs() < 4.0 * (exact * (1.0 - exact) / 1e4).sqrt() + 1e-4, "{first:?}, {exact}");
    }

    #[test]
    fn values_that_are_all_the_same_do_not_change() {
        assert_eq!(places(&[3.0; 40]), Vec::<usize>::new());
    }

    #[test]
    fn what_is_no_series_or_has_no_room_for_two_segments_has_no_changes() {
        assert_eq!(places(&[]), Vec::<usize>::new());
        assert_eq!(places(&[1.0; 11]), Vec::<usize>::new());
        let mut series = [vec![1.0; 20], vec![9.0; 20]].concat();
        assert_eq!(places(&series), [20]);
        series[3] = f64::NAN;
        assert_eq!(places(&series), Vec::<usize>::new());
    }

    #[test]
    fn too_few_orders_for_the_level_find_nothing() {
        let series = [vec![1.0; 20], vec![9.0; 20]].concat();
        let found = |orders: u32| changes(&series, &Search { orders, ..SEARCH }, &mut ChaCha20Rng::seed_from_u64(1));
        // One in 99 is more than 1 %.
        assert!(found(98).is_empty() && found(99).len() == 1);
    }

    proptest! {
        #[test]
        fn the_search_misses_nothing(values in prop::collection::vec(-3.0..3.0_f64, 6..24), fewest in 2usize..4) {
            let found = Splitter::new(fewest, values.len()).best(&values, &[0, values.len()]).unwrap();
            let wanted = best_by_definition(&values, fewest);
            prop_assert!((found.0 - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found:?} {wanted}");
        }

        #[test]
        fn shift_scale_and_mirror_do_not_matter(
            values in prop::collection::vec(-64i32..64, 12..40),
            step in 0i32..200,
            at in 0usize..40,
        ) {
            // Whole numbers and powers of two are exact.
            let series: Vec<f64> =
                values.iter().enumerate().map(|(k, v)| f64::from(*v + if k >= at { step } else { 0 })).collect();
            let moved: Vec<f64> = series.iter().map(|value| -8.0 * value + 1024.0).collect();
            let found = |series: &[f64]| changes(series, &SEARCH, &mut ChaCha20Rng::seed_from_u64(9));
            let (one, other) = (found(&series), found(&moved));
            prop_assert_eq!(one.len(), other.len());
            for (one, other) in one.iter().zip(&other) {
                prop_assert_eq!((one.at, one.p), (other.at, other.p));
                prop_assert!((8.0 * one.statistic - other.statistic).abs() <= 1e-9 * other.statistic.abs());
            }
        }
    }
}
