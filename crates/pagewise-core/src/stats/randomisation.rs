//! The randomisation test: how often an order drawn from the same design shows as large an effect by chance.
//!
//! Under the sharp null hypothesis a level changes nothing in any run, so every value would have been the same at its
//! place in time whatever the order. The order is then redrawn from the very design it came from. This holds with
//! drift, with outliers and without any distribution. Sources: R. A. Fisher, "The Design of Experiments" (1935), ch. 3;
//! for the added one in a sample of orders, Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), 39.

/// Designs with at most this many orders are enumerated; C(20, 10) = 184,756 fits.
pub const MOST_ENUMERATED: f64 = 200_000.0;

/// Orders that are drawn when there are too many to enumerate.
pub const SAMPLE: u32 = 20_000;

/// What the test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Randomisation {
    /// Two-sided p-value.
    pub p: f64,
    /// The smallest p-value that this design could have given.
    pub smallest_p: f64,
    /// Whether every order was tried.
    pub exact: bool,
}

/// A pair at its place in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedPair {
    /// Second value minus first value; `None` for a pair without two values, which keeps its place in the design.
    pub second_minus_first: Option<f64>,
    /// Whether a ran first. Not read for a pair without values.
    pub a_first: bool,
}

/// Tests that the levels change nothing, with the absolute crossover effect as the statistic.
///
/// `pairs` are all planned pairs in run order, including those without values: the order is redrawn for all of them,
/// because that is how it was drawn. `draw` redraws one order, `true` for a first. Orders in which every complete pair
/// runs the same way round give no effect and are left out. `None` when the order that was run is such a one.
pub fn test(pairs: &[PlacedPair], mut draw: impl FnMut() -> Vec<bool>) -> Option<Randomisation> {
    let observed_order: Vec<bool> = pairs.iter().map(|pair| pair.a_first).collect();
    let values = Values::of(pairs);
    let observed = values.effect_of(&observed_order)?;
    let threshold = observed - values.rounding();
    let smallest_of_design = smallest_p(pairs.len(), values.complete);

    if orders_in_design(pairs.len()) <= MOST_ENUMERATED {
        let mut tally = Tally { threshold, as_large: 0, estimable: 0 };
        let half = pairs.len() / 2;
        values.enumerate(&mut tally, Branch { place: 0, ab_left: half, ba_left: pairs.len() - half, sum: 0.0, ab: 0 });
        if pairs.len() % 2 == 1 {
            let (ab_left, ba_left) = (half + 1, half);
            values.enumerate(&mut tally, Branch { place: 0, ab_left, ba_left, sum: 0.0, ab: 0 });
        }
        let p = f64::from(tally.as_large) / f64::from(tally.estimable.max(1));
        return Some(Randomisation { p: p.max(smallest_of_design), smallest_p: smallest_of_design, exact: true });
    }

    let mut tally = Tally { threshold, as_large: 0, estimable: 0 };
    for _ in 0..SAMPLE {
        tally.add(values.effect_of(&draw()));
    }
    // The order that was run is one of those that could have been drawn: it is counted, too.
    let counted = f64::from(tally.estimable + 1);
    let smallest_p = smallest_of_design.max(1.0 / counted);
    Some(Randomisation { p: (f64::from(tally.as_large + 1) / counted).max(smallest_p), smallest_p, exact: false })
}

/// The values at their places, and what does not change from order to order.
struct Values {
    at_place: Vec<Option<f64>>,
    complete: usize,
    sum: f64,
}

/// How many orders showed an effect, and how many of those one at least as large as the observed.
struct Tally {
    threshold: f64,
    as_large: u32,
    estimable: u32,
}

/// An order that is fixed up to `place`.
#[derive(Clone, Copy)]
struct Branch {
    place: usize,
    ab_left: usize,
    ba_left: usize,
    /// Sum of the values of complete AB pairs so far.
    sum: f64,
    /// How many those are.
    ab: usize,
}

impl Tally {
    fn add(&mut self, effect: Option<f64>) {
        let Some(effect) = effect else { return };
        self.estimable += 1;
        self.as_large += u32::from(effect >= self.threshold);
    }
}

impl Values {
    fn of(pairs: &[PlacedPair]) -> Values {
        let at_place: Vec<Option<f64>> = pairs.iter().map(|pair| pair.second_minus_first).collect();
        let complete = at_place.iter().flatten().count();
        let sum = at_place.iter().flatten().sum();
        Values { at_place, complete, sum }
    }

    /// Two orders that mirror each other have the same effect; summed in different order they differ by rounding.
    fn rounding(&self) -> f64 {
        1e-10 * self.at_place.iter().flatten().fold(0.0, |largest: f64, value| largest.max(value.abs()))
    }

    fn effect_of(&self, order: &[bool]) -> Option<f64> {
        let mut sum = 0.0;
        let mut ab = 0;
        for (value, a_first) in self.at_place.iter().zip(order) {
            if let (Some(value), true) = (value, *a_first) {
                sum += value;
                ab += 1;
            }
        }
        self.effect(sum, ab)
    }

    /// |mean of AB − mean of BA| / 2: in a BA pair second minus first is a minus b.
    fn effect(&self, sum_ab: f64, ab: usize) -> Option<f64> {
        let ba = self.complete - ab;
        if ab == 0 || ba == 0 {
            return None;
        }
        Some(((sum_ab / ab as f64 - (self.sum - sum_ab) / ba as f64) / 2.0).abs())
    }

    fn enumerate(&self, tally: &mut Tally, at: Branch) {
        let Some(value) = self.at_place.get(at.place) else {
            return tally.add(self.effect(at.sum, at.ab));
        };
        if at.ab_left > 0 {
            let (sum, ab) = value.map_or((at.sum, at.ab), |value| (at.sum + value, at.ab + 1));
            self.enumerate(tally, Branch { place: at.place + 1, ab_left: at.ab_left - 1, sum, ab, ..at });
        }
        if at.ba_left > 0 {
            self.enumerate(tally, Branch { place: at.place + 1, ba_left: at.ba_left - 1, ..at });
        }
    }
}

/// How many pairs may be AB in a balanced design: half of them, or either neighbour of half for an odd number.
fn numbers_of_ab(pairs: usize) -> impl Iterator<Item = usize> + Clone {
    pairs / 2..=pairs.div_ceil(2)
}

fn orders_in_design(pairs: usize) -> f64 {
    numbers_of_ab(pairs).map(|ab| binomial(pairs, ab)).sum()
}

/// The fewest pairs with which the test can reach `alpha`, all of them complete.
#[must_use]
pub fn fewest_pairs(alpha: f64) -> usize {
    // The count of orders doubles with every pair or two; no usable alpha needs more pairs than this.
    const ENOUGH: usize = 1000;
    (2..ENOUGH).find(|pairs| smallest_p(*pairs, *pairs) <= alpha).unwrap_or(ENOUGH)
}

/// The smallest p that so many blocks can reach, all of them complete: the sign of each block's difference is a coin, and the mirror image of
/// all is as extreme.
#[must_use]
pub fn smallest_p_of_blocks(blocks: u32) -> f64 {
    2.0 / libm::exp2(f64::from(blocks))
}

/// The fewest blocks with which that reaches `alpha`.
#[must_use]
pub fn fewest_blocks(alpha: f64) -> usize {
    libm::ceil(1.0 - libm::log2(alpha)) as usize
}

/// The smallest p that a design of so many pairs can reach, all of them complete. 1 below two pairs.
#[must_use]
pub fn smallest_attainable_p(pairs: usize) -> f64 {
    if pairs < 2 { 1.0 } else { smallest_p(pairs, pairs) }
}

/// The p-value of data as extreme as they come. The mirror image of an order has the same effect, hence the 2; pairs
/// without values multiply the orders that look alike.
fn smallest_p(planned: usize, complete: usize) -> f64 {
    let without_values = planned - complete;
    // Orders of the whole design that put one given set of `ab` complete pairs in the order AB.
    let alike = |ab: usize| -> f64 {
        numbers_of_ab(planned).filter_map(|all| all.checked_sub(ab)).map(|rest| binomial(without_values, rest)).sum()
    };
    let estimable: f64 = (1..complete).map(|ab| binomial(complete, ab) * alike(ab)).sum();
    let fewest = (1..complete).map(alike).filter(|orders| *orders > 0.0).fold(f64::INFINITY, f64::min);
    let smallest = 2.0 * fewest / estimable;
    // Beyond a thousand pairs the counts leave the range of a float; nothing then stands in the way of a small p.
    if smallest.is_nan() { 0.0 } else { smallest.min(1.0) }
}

fn binomial(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k.min(n - k)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(values: &[f64], order: &str) -> Vec<PlacedPair> {
        let at = |(value, letter): (&f64, char)| PlacedPair {
            second_minus_first: if value.is_nan() { None } else { Some(*value) },
            a_first: letter == 'A',
        };
        values.iter().zip(order.chars()).map(at).collect()
    }

    fn never() -> Vec<bool> {
        panic!("a small design is enumerated, not sampled")
    }

    #[test]
    fn the_most_extreme_order_of_six_has_two_in_six() {
        let found = test(&placed(&[3.0, 2.0, -2.0, -4.0], "AABB"), never).unwrap();
        assert_eq!((found.p, found.smallest_p, found.exact), (2.0 / 6.0, 2.0 / 6.0, true));
    }

    #[test]
    fn ten_pairs_can_reach_two_in_252() {
        let values = [5.0, 6.0, 7.0, 8.0, 9.0, -5.0, -6.0, -7.0, -8.0, -9.0];
        let found = test(&placed(&values, "AAAAABBBBB"), never).unwrap();
        assert_eq!((found.p, found.smallest_p), (2.0 / 252.0, 2.0 / 252.0));
    }

    #[test]
    fn five_percent_takes_seven_pairs() {
        assert_eq!(fewest_pairs(0.05), 7);
        // Three pairs have 3 + 3 orders, as many as four pairs have.
        assert_eq!(fewest_pairs(0.34), 3);
    }

    #[test]
    fn an_odd_number_of_pairs_draws_either_imbalance() {
        // Five pairs: C(5,2) + C(5,3) = 20 orders, the most extreme one and its mirror image.
        let found = test(&placed(&[3.0, 3.1, -3.0, -3.1, -3.2], "AABBB"), never).unwrap();
        assert_eq!((found.p, found.smallest_p), (0.1, 0.1));
    }

    #[test]
    fn pairs_without_values_keep_their_place_in_the_design() {
        // Of the six orders of four pairs, two put both complete pairs the same way round and show nothing.
        let found = test(&placed(&[1.0, f64::NAN, -1.0, f64::NAN], "ABBA"), never).unwrap();
        assert_eq!((found.p, found.smallest_p), (1.0, 1.0));
        assert_eq!(test(&placed(&[1.0, f64::NAN, -1.0, f64::NAN], "ABAB"), never), None);
    }

    #[test]
    fn equal_values_are_no_evidence() {
        let found = test(&placed(&[0.5; 6], "ABABAB"), never).unwrap();
        assert_eq!(found.p, 1.0);
    }

    #[test]
    fn a_sample_counts_the_order_that_was_run() {
        let values: Vec<f64> = (0..24).map(|i| if i % 2 == 0 { 10.0 } else { -10.0 }).collect();
        let other: Vec<bool> = (0..24).map(|i| i < 12).collect();
        let found = test(&placed(&values, &"AB".repeat(12)), || other.clone()).unwrap();
        assert_eq!((found.p, found.exact), (1.0 / 20_001.0, false));
    }
}
