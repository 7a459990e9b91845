//! Numbers as people read them: three or four significant digits, units that fit, thousands separated.

use crate::comparison::ratio::TENFOLD;
use crate::comparison::words::short_p_value;

/// What stands where there is no value.
pub(super) const NONE: &str = "—";

/// `value` with so many significant digits; whole digits are kept, thousands separated by commas.
pub(super) fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if is_scientific(value) {
        return scientific(value, digits);
    }
    let size = value.abs();
    let decimals = |size: f64| (digits - 1 - libm::floor(libm::log10(size)) as i32).clamp(0, 9);
    let first = decimals(size);
    let scale = libm::pow(10.0, f64::from(first));
    // 9.9996 becomes 10.000 at four digits: count again after rounding.
    let decimals = decimals((size * scale).round() / scale);
    signed_minus(with_separators(&format!("{value:.*}", decimals as usize)))
}

/// Fifteen digits before the point are as unreadable as so many zeros behind it.
fn is_scientific(value: f64) -> bool {
    value != 0.0 && !(1e-4..1e15).contains(&value.abs())
}

fn scientific(value: f64, digits: i32) -> String {
    signed_minus(format!("{value:.*e}", (digits - 1).max(0) as usize))
}

/// Values that stand together, all in one notation: nobody sees that `996,282,180,512,789` is less than `1.000e15`.
pub(super) fn significant_alike<const N: usize>(values: [f64; N], digits: i32) -> [String; N] {
    let all_scientific = values.iter().any(|value| is_scientific(*value));
    values.map(|value| match all_scientific && value.is_finite() && value != 0.0 {
        true => scientific(value, digits),
        false => significant(value, digits),
    })
}

fn signed_minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

fn with_separators(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// A value with its unit. `unit` is a word of [`crate::unit::Unit`] or the user's own; empty for none.
#[must_use]
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "seconds" => seconds(value),
        "bytes" => bytes(value),
        "byte_seconds" => format!("{}·s", bytes(value)),
        "pages" => format!("{} pages", count(value)),
        "count" => count(value),
        "fraction" => format!("{} %", significant(value * 100.0, 3)),
        "" | "custom" => significant(value, 4),
        own => format!("{} {own}", significant(value, 4)),
    }
}

/// The user's own unit; empty for a known one.
pub(super) fn custom_unit(unit: &str) -> &str {
    match unit {
        "seconds" | "bytes" | "byte_seconds" | "pages" | "count" | "fraction" | "custom" => "",
        own => own,
    }
}

/// A round value under an axis: no more decimals than it needs, and no unit of the user's, which may be long.
pub(super) fn tick(value: f64, unit: &str) -> String {
    let text = if custom_unit(unit).is_empty() { with_unit(value, unit) } else { count(value) };
    let (number, rest) = text.find(' ').map_or((text.as_str(), ""), |at| text.split_at(at));
    if !number.contains('.') {
        return text;
    }
    format!("{}{rest}", number.trim_end_matches('0').trim_end_matches('.'))
}

fn seconds(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0 s".to_owned(),
        size if size < 1e-3 => format!("{} µs", significant(value * 1e6, 3)),
        size if size < 0.1 => format!("{} ms", significant(value * 1e3, 3)),
        size if size < 36_000.0 => format!("{} s", significant(value, 4)),
        _ => format!("{} h", significant(value / 3600.0, 4)),
    }
}

fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled, 3), UNITS[unit])
}

/// A number of events per run: whole from 100 on, in millions from a million on.
pub(super) fn count(value: f64) -> String {
    let size = value.abs();
    if size >= 1e9 {
        format!("{} G", significant(value / 1e9, 4))
    } else if size >= 1e6 {
        format!("{} M", significant(value / 1e6, 4))
    } else if size >= 100.0 || value == value.trunc() {
        signed_minus(with_separators(&format!("{value:.0}")))
    } else {
        significant(value, 3)
    }
}

/// The same with a sign in front.
pub(super) fn signed_count(value: f64) -> String {
    if value > 0.0 { format!("+{}", count(value)) } else { count(value) }
}

/// [`significant_alike`] with a sign in front of each.
pub(super) fn signed_alike<const N: usize>(values: [f64; N], digits: i32) -> [String; N] {
    let mut texts = significant_alike(values, digits);
    for (text, value) in texts.iter_mut().zip(values) {
        if value.is_finite() && value > 0.0 {
            text.insert(0, '+');
        }
    }
    texts
}

/// A ratio as the change it is: 0.954 is −4.6 %.
pub(super) fn change(ratio: f64) -> String {
    if ratio.is_finite() && ratio >= TENFOLD { multiple(ratio) } else { percent_change(ratio) }
}

fn multiple(ratio: f64) -> String {
    format!("×{}", significant(ratio, 3))
}

/// Ratios that stand together, such as an estimate and the ends of its interval, as the changes they are and all in one
/// unit: multiples as soon as one of them is tenfold, unless one is negative, which no multiple is.
pub(super) fn changes<const N: usize>(ratios: [f64; N]) -> [String; N] {
    let is_tenfold = ratios.iter().any(|ratio| *ratio >= TENFOLD);
    if is_tenfold && ratios.iter().all(|ratio| ratio.is_finite() && *ratio >= 0.0) {
        return ratios.map(multiple);
    }
    ratios.map(percent_change)
}

fn percent_change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if !percent.is_finite() {
        return NONE.to_owned();
    }
    let decimals = match percent.abs() {
        size if size < 0.995 => 2,
        size if size < 99.5 => 1,
        _ => 0,
    };
    // The end of an interval that is not zero must not read as zero: it decides what is seen to be excluded.
    let is_zero = |text: &str| text.chars().all(|c| !c.is_ascii_digit() || c == '0');
    let text = (decimals..=4).map(|decimals| format!("{percent:+.decimals$}")).find(|text| !is_zero(text));
    match text {
        Some(text) => format!("{} %", signed_minus(with_separators_after_sign(&text))),
        None if percent.abs() < ROUNDING => "0 %".to_owned(),
        None => format!("{} %", signed_minus(format!("{percent:+.1e}"))),
    }
}

/// In percent. A ratio of floats is 1 only to within a few of its last digits of 2e-16.
const ROUNDING: f64 = 1e-12;

fn with_separators_after_sign(text: &str) -> String {
    match text.strip_prefix('+') {
        Some(rest) => format!("+{}", with_separators(rest)),
        None => with_separators(text),
    }
}

/// A fraction as a percentage without a sign: 0.02 is 2 %.
pub(super) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    // 1 − 0.05 is not 0.95 in binary.
    let rounded = (percent * 1e6).round() / 1e6;
    if rounded == rounded.trunc() {
        return format!("{rounded:.0} %");
    }
    // Nothing short of certainty is 100 %.
    let digits = (3..=9).find(|digits| rounded > 100.0 || significant(rounded, *digits).parse() != Ok(100.0));
    format!("{} %", significant(rounded, digits.unwrap_or(9)))
}

/// A p-value: two significant digits, and no false precision below 0.0001.
pub(super) fn p_value(p: f64) -> String {
    if p.is_finite() { short_p_value(p) } else { NONE.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_significant_and_thousands_are_separated() {
        for (value, text) in [
            (58.3214, "58.32"),
            (9.99961, "10.00"),
            (1_234_567.0, "1,234,567"),
            (-0.012345, "−0.01235"),
            (0.0, "0"),
            (999.96, "1,000"),
            (f64::NAN, "—"),
            (5e300, "5.000e300"),
        ] {
            assert_eq!(significant(value, 4), text);
        }
    }

    #[test]
    fn what_stands_together_has_one_notation() {
        assert_eq!(significant_alike([9.9628e14, 1e15], 4), ["9.963e14", "1.000e15"]);
        assert_eq!(significant_alike([0.0, -2e-5, f64::NAN], 3), ["0", "−2.00e-5", "—"]);
        assert_eq!(significant_alike([742.83, 1042.0], 4), ["742.8", "1,042"]);
    }

    #[test]
    fn units_fit_the_size() {
        for (value, unit, text) in [
            (0.0123, "seconds", "12.3 ms"),
            (58.3214, "seconds", "58.32 s"),
            (134.26, "seconds", "134.3 s"),
            (90_000.0, "seconds", "25.00 h"),
            (8.0 * 1024.0 * 1024.0 * 1024.0, "bytes", "8.00 GiB"),
            (3.5 * 1024.0 * 1024.0 * 1024.0, "byte_seconds", "3.50 GiB·s"),
            (0.2534, "fraction", "25.3 %"),
            (3.0, "count", "3"),
            (2.25, "count", "2.25"),
            (234_567.4, "count", "234,567"),
            (12_345_678.0, "count", "12.35 M"),
            (-2_400_000.0, "pages", "−2.400 M pages"),
            (1.5, "rows/s", "1.500 rows/s"),
        ] {
            assert_eq!(with_unit(value, unit), text);
        }
    }

    #[test]
    fn a_ratio_reads_as_a_change() {
        for (ratio, text) in
            [(0.954, "−4.6 %"), (1.0021, "+0.21 %"), (1.0, "0 %"), (2.5, "+150 %"), (12.0, "×12.0"), (f64::NAN, "—")]
                .into_iter()
                .chain([(0.999_97, "−0.003 %"), (1.000_000_001, "+1.0e-7 %"), (1.000_000_000_000_001, "0 %")])
        {
            assert_eq!(change(ratio), text);
        }
    }

    #[test]
    fn what_stands_together_has_one_unit() {
        assert_eq!(changes([1.02, 0.99, 1.05]), ["+2.0 %", "−1.0 %", "+5.0 %"]);
        assert_eq!(changes([100.0, 0.0, 324.0]), ["×100", "×0", "×324"]);
        assert_eq!(changes([4.0, 0.5, 12.0]), ["×4.00", "×0.500", "×12.0"]);
        assert_eq!(changes([12.0, -0.5, 30.0]), ["+1,100 %", "−150 %", "+2,900 %"]);
    }

    #[test]
    fn ticks_have_no_needless_decimals() {
        assert_eq!(tick(62.0, "seconds"), "62 s");
        assert_eq!(tick(62.5, "seconds"), "62.5 s");
        assert_eq!(tick(1000.0, "seconds"), "1,000 s");
        assert_eq!(tick(0.5, "rows/s"), "0.5");
        assert_eq!(tick(5e6, "rows/s"), "5 M");
    }

    #[test]
    fn p_values_claim_no_more_than_they_know() {
        for (p, text) in [(0.000_01, "<0.0001"), (0.00052, "0.0005"), (0.0123, "0.012"), (0.41, "0.41"), (1.0, "1")] {
            assert_eq!(p_value(p), text);
        }
    }

    #[test]
    fn confidence_reads_as_a_whole_percentage() {
        assert_eq!(percent(1.0 - 0.05), "95 %");
        assert_eq!(percent(0.025), "2.50 %");
        assert_eq!(percent(1.0 - 2.0 * 0.05), "90 %");
        assert_eq!(percent(1.0 - 0.0003), "99.97 %");
        assert_eq!(percent(0.999_999), "99.9999 %");
    }
}
