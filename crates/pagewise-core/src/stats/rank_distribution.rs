//! How often chance alone gives each value of a rank statistic, counted in whole numbers.
//!
//! Without ties the counts are coefficients of a product of simple polynomials: for two samples the Gaussian binomial
//! coefficient (Andrews, "The Theory of Partitions" (1976), ch. 3), for signed ranks the product of 1 + x^rank.

/// Samples below this size are counted out, as R does; the largest count, C(98, 49), then fits in 128 bits.
pub(super) const FEWEST_APPROXIMATE: usize = 50;

/// The lower half of a symmetric distribution over 0, 1, … `largest`.
pub(super) struct Counts {
    /// Ways to get each value up to half of `largest`.
    ways: Vec<u128>,
    all: f64,
    pub(super) largest: usize,
}

impl Counts {
    /// Of Mann and Whitney's U for samples of `m` and `n` values, each below [`FEWEST_APPROXIMATE`].
    pub(super) fn of_two_samples(m: usize, n: usize) -> Counts {
        let (m, n, largest) = (m.min(n), m.max(n), m * n);
        let mut ways = vec![0_u128; largest / 2 + 1];
        ways[0] = 1;
        // Times (1 − x^(n+i)) / (1 − x^i). A coefficient may be negative in between, hence the wrapping.
        for i in 1..=m {
            for value in (n + i..ways.len()).rev() {
                ways[value] = ways[value].wrapping_sub(ways[value - n - i]);
            }
            for value in i..ways.len() {
                ways[value] = ways[value].wrapping_add(ways[value - i]);
            }
        }
        let all = (1..=m).fold(1_u128, |product, i| product * (n + i) as u128 / i as u128);
        Counts { ways, all: all as f64, largest }
    }

    /// Of the sum of the positive ranks of `n` differences, below [`FEWEST_APPROXIMATE`].
    pub(super) fn of_signed_ranks(n: usize) -> Counts {
        let largest = n * (n + 1) / 2;
        let mut ways = vec![0_u128; largest / 2 + 1];
        ways[0] = 1;
        for rank in 1..=n {
            for value in (rank..ways.len()).rev() {
                ways[value] += ways[value - rank];
            }
        }
        Counts { ways, all: (1_u128 << n) as f64, largest }
    }

    /// P(at most `value`), or P(at least `value`) where that is the shorter tail; doubled and at most 1.
    pub(super) fn two_sided_p(&self, value: usize) -> f64 {
        let from_end = value.min(self.largest - value);
        let tail: u128 = self.ways[..=from_end].iter().sum();
        (2.0 * (tail as f64 / self.all)).min(1.0)
    }

    /// The rank, from 1, of the ordered differences at which a 1 − `alpha` interval begins, and the confidence that it
    /// really has. The rule of R's `wilcox.test`: the smallest value with P(at most it) ≥ alpha / 2, and 1 if that is 0.
    pub(super) fn interval_rank(&self, alpha: f64) -> (usize, f64) {
        // R's allowance for rounding.
        let wanted = alpha / 2.0 - 10.0 * f64::EPSILON;
        let mut below = 0_u128;
        let mut rank = self.ways.len();
        for (value, ways) in self.ways.iter().enumerate() {
            if (below + ways) as f64 / self.all >= wanted {
                rank = value;
                break;
            }
            below += ways;
        }
        let (rank, below) = if rank == 0 { (1, self.ways[0]) } else { (rank, below) };
        (rank, 1.0 - 2.0 * (below as f64 / self.all))
    }
}

/// Values with their places, in rising order, and equal values joined: `join(from, to, members)` is called for each
/// group of equal values with its first and last rank from 1. The group's middle rank is half the sum of the two.
pub(super) fn for_each_tie_group<T>(values: &mut [(f64, T)], mut join: impl FnMut(usize, usize, &[(f64, T)])) {
    values.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let mut before = 0;
    for group in values.chunk_by(|x, y| x.0 == y.0) {
        join(before + 1, before + group.len(), group);
        before += group.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_every_choice() {
        for (m, n) in [(1, 1), (3, 2), (4, 5), (7, 3)] {
            let counts = Counts::of_two_samples(m, n);
            let mut ways = vec![0_u128; m * n + 1];
            for choice in 0_u32..1 << (m + n) {
                if choice.count_ones() as usize == m {
                    let ranks: usize = (0..m + n).filter(|i| choice >> i & 1 == 1).map(|i| i + 1).sum();
                    ways[ranks - m * (m + 1) / 2] += 1;
                }
            }
            assert_eq!(counts.ways, ways[..=m * n / 2], "{m} {n}");
            assert_eq!(counts.all, ways.iter().sum::<u128>() as f64);
        }
        let counts = Counts::of_signed_ranks(4);
        assert_eq!((counts.ways, counts.all), (vec![1, 1, 1, 2, 2, 2], 16.0));
    }

    #[test]
    fn the_largest_samples_that_are_counted_stay_in_range() {
        let counts = Counts::of_two_samples(49, 49);
        // Half of an odd number of values: the lower half is exactly half of all.
        assert_eq!(counts.two_sided_p(49 * 49 / 2), 1.0);
        assert_eq!(Counts::of_signed_ranks(49).two_sided_p(49 * 50 / 4), 1.0);
    }
}
