//! Comparisons and numbers as sentences say them.

use super::found::Comparison;
use crate::stats::power::MOST_PAIRS;
use indexmap::IndexMap;

/// `swap: off → on, load high`.
#[must_use]
pub fn comparison(factor: &str, a: &str, b: &str, by: &IndexMap<String, String>) -> String {
    let levels: String = by.iter().map(|(factor, level)| format!(", {factor} {level}")).collect();
    format!("{factor}: {a} → {b}{levels}")
}

/// A p-value with two significant digits, as far as anyone reads them.
#[must_use]
pub fn p_value(p: f64) -> String {
    if p < SMALLEST_P { "0.0001 or less".to_owned() } else { p_digits(p) }
}

/// The same for a table: `<0.0001`.
#[must_use]
pub fn short_p_value(p: f64) -> String {
    if p < SMALLEST_P { "<0.0001".to_owned() } else { p_digits(p) }
}

/// Below it no digit means anything: no distribution is known so far out.
const SMALLEST_P: f64 = 0.0001;

/// Levels that people hold a p-value against: rounding makes none of them look met, or missed.
const LEVELS: [f64; 5] = [0.001, 0.005, 0.01, 0.05, 0.1];

fn p_digits(p: f64) -> String {
    if p > 0.995 {
        return "1".to_owned();
    }
    let decimals = match p {
        p if p < 0.001 => 4,
        p if p < 0.1 => 3,
        _ => 2,
    };
    let looks_like_a_level = |text: &str| LEVELS.iter().any(|level| text.parse() == Ok(*level));
    let text = |decimals: usize| format!("{p:.decimals$}");
    if LEVELS.contains(&p) {
        return text(decimals);
    }
    (decimals..8).map(text).find(|text| !looks_like_a_level(text)).unwrap_or_else(|| text(decimals))
}

/// A fraction as a percentage without needless zeros: `2 %`, `0.5 %`, `98.33 %`.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let to = if percent < 1.0 { 1e4 } else { 1e2 };
    format!("{} %", (percent * to).round() / to)
}

/// With two significant digits: the noise of a trial is not known better.
fn two_digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 9.95 => 0,
        value if value >= 0.995 => 1,
        value if value >= 0.0995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// What a new trial of another length, and one of the same, would see, as further sentences; nothing where this one left nothing
/// open. `margin` is the difference that matters, `blocks` what the trial's are called.
pub(crate) fn of_new_trial(found: &Comparison, margin: f64, blocks: &str) -> String {
    let Some(needed) = found.blocks_needed else { return String::new() };
    let larger: String =
        found.blocks_needed_for.iter().map(|one| format!(", {} for {}", one.blocks, percent(one.difference))).collect();
    let same = match found.detectable {
        Some(part) if part < 1.0 => format!(" As many as here see {} %.", two_digits(part * 100.0)),
        Some(_) => " As many as here see a doubling at best.".to_owned(),
        None => String::new(),
    };
    let of_fixed_length =
        if found.effect.as_ref().is_some_and(|effect| effect.evidence.is_some()) { "of fixed length " } else { "" };
    if needed >= MOST_PAIRS {
        let instead = larger.strip_prefix(", ").map(|larger| format!("; {larger}")).unwrap_or_default();
        return format!(
            " This noise is too large: even {MOST_PAIRS} {blocks} would not show a difference of {}{instead}.{same}",
            percent(margin)
        );
    }
    format!(
        " A new trial {of_fixed_length}needs {needed} {blocks} to see a difference of {} nine times in ten{larger}.{same}",
        percent(margin)
    )
}

/// A number with three significant digits, or all of its whole ones; huge and tiny ones with a power of ten.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = if size == 0.0 { 0 } else { (2 - libm::floor(libm::log10(size)) as i32).clamp(0, 7) } as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p_value_claims_no_more_than_it_knows() {
        for (p, text) in [
            (0.03125, "0.031"),
            (0.00052, "0.0005"),
            (0.41, "0.41"),
            (0.997, "1"),
            (1.0, "1"),
            (0.05, "0.050"),
            (0.0496, "0.0496"),
            (0.050_04, "0.05004"),
            (0.1004, "0.1004"),
            (0.0996, "0.0996"),
        ] {
            assert_eq!((p_value(p), short_p_value(p)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!((p_value(1e-9).as_str(), short_p_value(0.0).as_str()), ("0.0001 or less", "<0.0001"));
    }

    #[test]
    fn levels_and_margins_have_no_stray_digits() {
        for (fraction, text) in
            [(1.0 - 0.05, "95 %"), (1.0 - 0.1, "90 %"), (1.0 - 0.05 / 3.0, "98.33 %"), (0.02, "2 %"), (0.005, "0.5 %")]
        {
            assert_eq!(percent(fraction), text);
        }
    }

    #[test]
    fn a_number_has_the_digits_that_say_something() {
        for (value, text) in [
            (100.0, "100"),
            (742.83, "743"),
            (12_345.0, "12345"),
            (1.5, "1.5"),
            (0.012_345, "0.0123"),
            (-2.0, "-2"),
            (0.0, "0"),
            (1e-9, "1.00e-9"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
