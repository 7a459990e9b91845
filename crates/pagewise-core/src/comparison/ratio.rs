//! A ratio of two levels as sentences say it.

/// From here on a change is said as a multiple, as tables say it.
pub(crate) const TENFOLD: f64 = 10.0;

/// "7.4 % lower", "12.3 times as high".
pub(crate) fn change(ratio: f64) -> String {
    if ratio >= TENFOLD {
        return format!("{} times as high", multiple(ratio));
    }
    let (percent, word) = side_of_one(ratio);
    if percent == 0.0 {
        return "the same".to_owned();
    }
    format!("{percent:.*} % {word}", decimals(&[percent]))
}

/// How far a ratio is from one, in percent, and on which side.
pub(crate) fn side_of_one(ratio: f64) -> (f64, &'static str) {
    if ratio < 1.0 { ((1.0 - ratio) * 100.0, "lower") } else { ((ratio - 1.0) * 100.0, "higher") }
}

/// Enough digits after the point that no end of an interval is rounded to zero, one at least, four at most.
pub(crate) fn decimals(percents: &[f64]) -> usize {
    let smallest = percents.iter().copied().filter(|percent| *percent > 0.0).fold(f64::INFINITY, f64::min);
    match smallest {
        s if s >= 0.05 => 1,
        s if s >= 0.005 => 2,
        s if s >= 0.0005 => 3,
        _ => 4,
    }
}

/// `12.0`, `971,883`: three digits, or all whole ones.
pub(crate) fn multiple(ratio: f64) -> String {
    if ratio < 0.0005 {
        return "0".to_owned();
    }
    let decimals = (2 - libm::floor(libm::log10(ratio)) as i32).clamp(0, 3) as usize;
    let text = format!("{ratio:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.len();
    let grouped = whole.chars().enumerate().flat_map(|(place, digit)| {
        let comma = (place > 0 && (digits - place) % 3 == 0).then_some(',');
        comma.into_iter().chain([digit])
    });
    format!("{}{fraction}", grouped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_read_as_people_say_them() {
        for (ratio, words) in [
            (0.926, "7.4 % lower"),
            (1.05, "5.0 % higher"),
            (2.31, "131.0 % higher"),
            (12.31, "12.3 times as high"),
            (54.2, "54.2 times as high"),
            (1.0, "the same"),
            (1.0002, "0.02 % higher"),
        ] {
            assert_eq!(change(ratio), words);
        }
    }

    #[test]
    fn what_is_tenfold_and_more_is_a_multiple() {
        for (ratio, text) in [
            (12.04, "12.0"),
            (107.3, "107"),
            (971_883.146, "971,883"),
            (9_999.7, "10,000"),
            (0.001, "0.001"),
            (1e-7, "0"),
        ] {
            assert_eq!(multiple(ratio), text);
        }
    }
}
