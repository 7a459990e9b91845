//! The Cholesky factor of a small symmetric matrix: solve, invert, log determinant.
//!
//! Plain loops: a model has at most some dozens of coefficients. Source: Golub and Van Loan, "Matrix Computations", 4.2.

/// A lower triangle L with L Lᵀ the matrix.
pub(in crate::stats) struct Cholesky {
    lower: Vec<Vec<f64>>,
}

/// A pivot below this share of its diagonal is rounding: the column depends on those before.
const DEPENDENT: f64 = 1e-10;

impl Cholesky {
    /// Factors a matrix; the error is the first column that depends on those before it.
    pub(in crate::stats) fn of(matrix: &[Vec<f64>]) -> Result<Cholesky, usize> {
        let size = matrix.len();
        let mut lower = vec![vec![0.0; size]; size];
        for j in 0..size {
            for i in j..size {
                let inner: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                let left = matrix[i][j] - inner;
                if i > j {
                    lower[i][j] = left / lower[j][j];
                } else if left > DEPENDENT * matrix[j][j] {
                    lower[j][j] = left.sqrt();
                } else {
                    return Err(j);
                }
            }
        }
        Ok(Cholesky { lower })
    }

    pub(in crate::stats) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let size = self.lower.len();
        let mut x = right.to_vec();
        for i in 0..size {
            let inner: f64 = (0..i).map(|k| self.lower[i][k] * x[k]).sum();
            x[i] = (x[i] - inner) / self.lower[i][i];
        }
        for i in (0..size).rev() {
            let inner: f64 = (i + 1..size).map(|k| self.lower[k][i] * x[k]).sum();
            x[i] = (x[i] - inner) / self.lower[i][i];
        }
        x
    }

    pub(in crate::stats) fn inverse(&self) -> Vec<Vec<f64>> {
        let size = self.lower.len();
        let unit = |i: usize| (0..size).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
        (0..size).map(|i| self.solve(&unit(i))).collect()
    }

    pub(in crate::stats) fn log_determinant(&self) -> f64 {
        (0..self.lower.len()).map(|i| 2.0 * libm::log(self.lower[i][i])).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_solves_and_inverts() {
        let matrix = vec![vec![4.0, 2.0, 0.6], vec![2.0, 5.0, 1.0], vec![0.6, 1.0, 3.0]];
        let factor = Cholesky::of(&matrix).unwrap();
        let x = factor.solve(&[1.0, 2.0, 3.0]);
        let inverse = factor.inverse();
        for i in 0..3 {
            let back: f64 = (0..3).map(|j| matrix[i][j] * x[j]).sum();
            assert!((back - (i as f64 + 1.0)).abs() < 1e-14);
            let one: f64 = (0..3).map(|j| matrix[i][j] * inverse[j][i]).sum();
            assert!((one - 1.0).abs() < 1e-14);
        }
        let determinant: f64 = 4.0 * (15.0 - 1.0) - 2.0 * (6.0 - 0.6) + 0.6 * (2.0 - 3.0);
        assert!((factor.log_determinant() - libm::log(determinant)).abs() < 1e-14);
    }

    #[test]
    fn a_dependent_column_is_named() {
        let matrix = vec![vec![1.0, 1.0, 2.0], vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 5.0]];
        assert_eq!(Cholesky::of(&matrix).err(), Some(2));
        assert_eq!(Cholesky::of(&[vec![f64::NAN]]).err(), Some(0));
    }
}
