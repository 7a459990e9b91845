//! How much of the memory on huge pages is zero: memory that the program never wrote, or wrote zeroes to, and would not hold on small
//! pages. It is estimated from some of the huge pages.

use crate::stats::{student_t, summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An estimate, from the huge pages that were read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZeroInHuge {
    /// Huge pages that were read.
    pub read: u64,
    /// Of so many.
    pub of: u64,
    /// The part of their small pages that is zero throughout, from 0 to 1.
    pub share: f64,
    /// The 95 % interval of that part in all of them: Student's t over huge pages, with the correction for a finite number of them (Cochran,
    /// Sampling Techniques, 1977, 2.6).
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Of the part of each huge page that was read. `None`: fewer than two of more than one were read.
#[must_use]
pub fn estimate(shares: &[f64], of: u64) -> Option<ZeroInHuge> {
    let read = shares.len() as u64;
    let of = of.max(read);
    let share = summary::mean(shares)?;
    let half = if read == of {
        0.0
    } else {
        let spread = summary::standard_deviation(shares)?;
        let unread = 1.0 - read as f64 / of as f64;
        student_t::critical_value(0.05, read as f64 - 1.0) * spread * libm::sqrt(unread / read as f64)
    };
    Some(ZeroInHuge { read, of, share, low: (share - half).max(0.0), high: (share + half).min(1.0) })
}

/// Which of so many are read: at most so many, evenly spread.
pub fn chosen(of: usize, most: usize) -> impl Iterator<Item = usize> {
    let read = of.min(most);
    (0..read).map(move |place| (2 * place + 1) * of / (2 * read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_were_read_leave_no_doubt_and_a_few_leave_some() {
        let all = estimate(&[0.0, 0.5, 1.0], 3).unwrap();
        assert_eq!((all.share, all.low, all.high), (0.5, 0.5, 0.5));
        let some = estimate(&[0.4, 0.5, 0.6], 1000).unwrap();
        // sd 0.1, t(0.975, 2) = 4.3027: half a width of 0.248.
        assert!((some.share - 0.5).abs() < 1e-12 && (some.high - some.low - 0.496).abs() < 0.002, "{some:?}");
        assert!(estimate(&[], 5).is_none() && estimate(&[0.5], 5).is_none());
        assert_eq!(estimate(&[0.5], 1).map(|one| one.share), Some(0.5));
    }

    #[test]
    fn those_that_are_read_are_spread_over_all() {
        assert_eq!(chosen(3, 9).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(chosen(100, 4).collect::<Vec<_>>(), [12, 37, 62, 87]);
        assert_eq!(chosen(0, 4).count(), 0);
    }
}
