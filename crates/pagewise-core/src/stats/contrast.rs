//! An estimated difference of any design, with standard error, degrees of freedom and what follows from them.

use super::student_t;

/// An estimate with its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// In the unit of the values.
    pub estimate: f64,
    /// Above 0 unless the contrast is of nothing.
    pub standard_error: f64,
    /// Degrees of freedom, whole or Satterthwaite's.
    pub df: f64,
    /// Estimate over standard error.
    pub t: f64,
    /// Two-sided p-value of the hypothesis that it is zero.
    pub p: f64,
}

impl Contrast {
    /// From an estimate and its precision.
    #[must_use]
    pub fn new(estimate: f64, standard_error: f64, df: f64) -> Contrast {
        let t = if estimate == 0.0 { 0.0 } else { estimate / standard_error };
        let p = if t == 0.0 { 1.0 } else { student_t::two_sided_p(t, df) };
        Contrast { estimate, standard_error, df, t, p }
    }

    /// Interval that covers the truth with probability 1 − `alpha`, low end first.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half_width = student_t::critical_value(alpha, self.df) * self.standard_error;
        (self.estimate - half_width, self.estimate + half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_excludes_zero_exactly_when_p_is_below_alpha() {
        for estimate in [0.0, 0.5, 2.1, 2.3, 4.0, -3.0] {
            let contrast = Contrast::new(estimate, 1.0, 8.0);
            let (low, high) = contrast.interval(0.05);
            assert_eq!(low > 0.0 || high < 0.0, contrast.p < 0.05, "{estimate}");
        }
    }

    #[test]
    fn without_noise_nothing_is_nothing_and_something_certain() {
        assert_eq!(Contrast::new(0.0, 0.0, 4.0).p, 1.0);
        assert_eq!(Contrast::new(1.0, 0.0, 4.0).p, 0.0);
    }
}
