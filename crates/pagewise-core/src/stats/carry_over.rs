//! What one run leaves to the next: the share of the effect of the cell before that reaches a run.
//!
//! The model is value = block + place in the block + effect of its cell + λ · effect of the cell before. It is not linear, since
//! λ multiplies what is estimated as well. So it is fitted without λ first; what the fit leaves is then held against the fitted
//! effect of the cell before, freed of blocks, places and cells. That regressor is made of what was fitted, and what was fitted
//! is independent of what is left; so without carry-over the t statistic of λ has Student's distribution exactly, with normal
//! noise of any size, also where cells hardly differ. Then nothing can be carried over that could be seen, and the interval is
//! wide.
//!
//! Cells that lose a share of themselves to what follows are fitted a little too small, each by about λ/k of its effect in a
//! Williams square of k cells, and λ leans away from zero by as much.
//!
//! Sources: Tukey, Biometrics 5 (1949), 232–242 and Milliken and Graybill, J. Am. Statist. Assoc. 65 (1970), 797–807 for the
//! test; Williams, Austral. J. Scient. Res. A 2 (1949), 149–168 for the design; Jones and Kenward, "Design and Analysis of
//! Cross-Over Trials" (2014), ch. 4 for the model.

use super::contrast::Contrast;
use super::mixed_model::cholesky::Cholesky;

/// More cells than this are not fitted: the time grows with their cube.
pub const MOST_CELLS: usize = 32;

/// A run, for the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its block; any numbers, equal for runs of one block.
    pub block: usize,
    /// Its place in the block, from 0.
    pub place: usize,
    /// Its cell, from 0.
    pub cell: usize,
    /// The cell that ran right before. `None` where nothing did, or nobody knows what.
    pub before: Option<usize>,
    /// What it gave; of times the logarithm.
    pub value: f64,
}

/// λ with its precision. `None` when a value is no finite number, cells are too few or too many, or runs do not tell places, cells
/// and the cell before apart.
#[must_use]
pub fn estimate(runs: &[Run]) -> Option<Contrast> {
    if runs.iter().any(|run| !run.value.is_finite()) {
        return None;
    }
    let cells = runs.iter().map(|run| run.cell + 1).max().unwrap_or(0);
    let places = runs.iter().map(|run| run.place + 1).max().unwrap_or(0);
    if !(2..=MOST_CELLS).contains(&cells) || places > MOST_CELLS {
        return None;
    }
    let blocks = Blocks::of(runs);
    let is = |yes: bool| f64::from(u8::from(yes));
    let column = |of: &dyn Fn(&Run) -> f64| blocks.centred(runs.iter().map(of).collect());
    // The first cell and the first place are the base of the others.
    let mut columns: Vec<Vec<f64>> = (1..cells).map(|cell| column(&|run| is(run.cell == cell))).collect();
    columns.extend((1..places).map(|place| column(&|run| is(run.place == place))));
    let fit = Fit::of(&columns)?;

    let value = column(&|run| run.value);
    let (coefficients, left) = fit.apply(&value);
    let effects: Vec<f64> = std::iter::once(0.0).chain(coefficients[..cells - 1].iter().copied()).collect();
    let mean = effects.iter().sum::<f64>() / cells as f64;
    // Nothing before: the mean effect, which tells nothing.
    let before = column(&|run| run.before.and_then(|cell| effects.get(cell)).map_or(0.0, |effect| effect - mean));
    let (_, carried) = fit.apply(&before);

    let df = runs.len() as f64 - blocks.count as f64 - columns.len() as f64 - 1.0;
    let (information, total) = (dot(&carried, &carried), dot(&left, &left));
    let share = dot(&carried, &left) / information;
    let rest = (total - share * share * information).max(0.0);
    // What is left of either by rounding alone says nothing.
    let is_told_apart = information > 1e-10 * dot(&before, &before) && rest > 1e-20 * dot(&value, &value);
    let usable = df >= 1.0 && share.is_finite() && is_told_apart;
    usable.then(|| Contrast::new(share, (rest / df / information).sqrt(), df))
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The block of each run, counted from 0.
struct Blocks {
    of_run: Vec<usize>,
    count: usize,
}

impl Blocks {
    fn of(runs: &[Run]) -> Blocks {
        let mut known: Vec<usize> = runs.iter().map(|run| run.block).collect();
        known.sort_unstable();
        known.dedup();
        let of_run = runs.iter().map(|run| known.partition_point(|block| *block < run.block)).collect();
        Blocks { of_run, count: known.len() }
    }

    /// Less the mean of its block: with every column so treated, blocks need no columns of their own.
    fn centred(&self, mut values: Vec<f64>) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.count];
        for (block, value) in self.of_run.iter().zip(&values) {
            sums[*block] = (sums[*block].0 + value, sums[*block].1 + 1.0);
        }
        for (block, value) in self.of_run.iter().zip(&mut values) {
            let (sum, count) = sums[*block];
            *value -= sum / count;
        }
        values
    }
}

/// Least squares on some columns.
struct Fit<'c> {
    columns: &'c [Vec<f64>],
    factor: Cholesky,
}

impl<'c> Fit<'c> {
    fn of(columns: &'c [Vec<f64>]) -> Option<Fit<'c>> {
        let products: Vec<Vec<f64>> =
            columns.iter().map(|one| columns.iter().map(|other| dot(one, other)).collect()).collect();
        Some(Fit { columns, factor: Cholesky::of(&products).ok()? })
    }

    /// Coefficients, and what the fit leaves.
    fn apply(&self, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let right: Vec<f64> = self.columns.iter().map(|column| dot(column, values)).collect();
        let coefficients = self.factor.solve(&right);
        let mut left = values.to_vec();
        for (column, coefficient) in self.columns.iter().zip(&coefficients) {
            left.iter_mut().zip(column).for_each(|(left, column)| *left -= coefficient * column);
        }
        (coefficients, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    /// Rows of a Williams square of four.
    const SQUARE: [[usize; 4]; 4] = [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]];

    /// Three squares, rows in random order, in a world where this share is carried over.
    fn trial(rng: &mut ChaCha20Rng, effects: [f64; 4], share: f64, sd: f64) -> Vec<Run> {
        let mut normal = || normal::quantile(((rng.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64);
        let mut rows: Vec<([usize; 4], f64)> = (0..12).map(|row| (SQUARE[row % 4], normal())).collect();
        rows.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (mut runs, mut before) = (Vec::new(), None);
        for (block, (row, level)) in rows.into_iter().enumerate() {
            for (place, cell) in row.into_iter().enumerate() {
                let carried = before.map_or(0.0, |cell: usize| share * effects[cell]);
                let value = level + 0.1 * place as f64 + effects[cell] + carried + sd * normal();
                runs.push(Run { block, place, cell, before, value });
                before = Some(cell);
            }
        }
        runs
    }

    const EFFECTS: [f64; 4] = [0.0, 2.0, 4.0, 6.0];

    #[test]
    fn what_is_carried_over_is_found_and_leans_away_from_zero_by_little() {
        for share in [0.3, -0.2] {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let found: Vec<f64> =
                (0..300).map(|_| estimate(&trial(&mut rng, EFFECTS, share, 1.0)).unwrap().estimate).collect();
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            let leaning = share / (1.0 - share / 4.0);
            assert!((mean - leaning).abs() < 0.02, "{share}: {mean}, {leaning}");
        }
    }

    #[test]
    fn without_carry_over_it_is_seen_as_often_as_declared_whether_cells_differ_or_not() {
        const TRIALS: u32 = 2000;
        for effects in [EFFECTS, [0.0; 4]] {
            let mut rng = ChaCha20Rng::seed_from_u64(2);
            let seen = (0..TRIALS).filter(|_| estimate(&trial(&mut rng, effects, 0.0, 1.0)).unwrap().p <= 0.05).count();
            let rate = seen as f64 / f64::from(TRIALS);
            let error = (0.05_f64 * 0.95 / f64::from(TRIALS)).sqrt();
            assert!((rate - 0.05).abs() < 3.3 * error, "{effects:?}: {rate}");
        }
    }

    #[test]
    fn what_runs_have_in_common_does_not_matter() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let runs = trial(&mut rng, EFFECTS, 0.2, 1.0);
        let found = estimate(&runs).unwrap();
        assert_eq!(found.df, 48.0 - 12.0 - 6.0 - 1.0);
        let moved: Vec<Run> = runs
            .iter()
            .map(|run| Run { value: 8.0 * run.value + (run.block * 32 + run.place * 64) as f64, ..*run })
            .collect();
        let other = estimate(&moved).unwrap();
        assert!((found.estimate - other.estimate).abs() < 1e-9 && (found.p - other.p).abs() < 1e-9);
        let renamed: Vec<Run> = runs.iter().map(|run| Run { block: 100 - run.block, ..*run }).collect();
        assert!((estimate(&renamed).unwrap().estimate - found.estimate).abs() < 1e-9);
    }

    #[test]
    fn runs_that_are_lost_cost_precision_alone() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let mut runs = trial(&mut rng, EFFECTS, 0.3, 0.1);
        let whole = estimate(&runs).unwrap();
        runs.remove(20);
        runs.remove(7);
        let cut = estimate(&runs).unwrap();
        assert_eq!(cut.df, whole.df - 2.0);
        assert!((cut.estimate - whole.estimate).abs() < 0.02);
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_told() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let runs = trial(&mut rng, EFFECTS, 0.0, 1.0);
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&runs[..4]), None);
        assert_eq!(estimate(&runs.iter().map(|run| Run { before: None, ..*run }).collect::<Vec<_>>()), None);
        assert_eq!(estimate(&runs.iter().map(|run| Run { cell: 0, ..*run }).collect::<Vec<_>>()), None);
        assert_eq!(estimate(&runs.iter().map(|run| Run { value: 3.0, ..*run }).collect::<Vec<_>>()), None);
        let mut wrong = runs;
        wrong[3].value = f64::NAN;
        assert_eq!(estimate(&wrong), None);
    }
}
