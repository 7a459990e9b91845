//! Values far from the rest, by the median and the median distance from it, which an outlier cannot move.
//!
//! The modified z-score 0.6745 (x − median) / MAD beyond 3.5. Source: Iglewicz and Hoaglin, "How to Detect and Handle
//! Outliers", ASQC (1993), section 3.3. To be flagged, never to be dropped: a slow run is a result.

use super::summary;

/// A normal distribution's median distance from its median is this many standard deviations.
const MEDIAN_DISTANCE_OF_NORMAL: f64 = 0.6745;

/// The score beyond which the authors call a value an outlier.
const FAR: f64 = 3.5;

/// Fewer values than this have no rest to be far from.
const FEWEST: usize = 5;

/// Places of the values that lie far from the rest, in their order. None when half of the values are the same.
#[must_use]
pub fn places(values: &[f64]) -> Vec<usize> {
    let Some(middle) = summary::median(values).filter(|_| values.len() >= FEWEST) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let Some(usual) = summary::median(&distances).filter(|usual| *usual > 0.0) else { return Vec::new() };
    let is_far = |distance: &f64| MEDIAN_DISTANCE_OF_NORMAL * distance / usual > FAR;
    distances.iter().enumerate().filter(|(_, distance)| is_far(distance)).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_value_is_named_and_does_not_hide_another() {
        assert_eq!(places(&[10.0, 10.2, 9.9, 10.1, 99.0, 10.0, 98.0]), [4, 6]);
        assert!(places(&[10.0, 10.2, 9.9, 10.1, 10.3, 9.8]).is_empty());
    }

    #[test]
    fn few_values_and_equal_values_have_no_outliers() {
        assert!(places(&[1.0, 1.0, 1.0, 100.0]).is_empty());
        assert!(places(&[5.0, 5.0, 5.0, 5.0, 5.0, 9.0]).is_empty());
    }
}
