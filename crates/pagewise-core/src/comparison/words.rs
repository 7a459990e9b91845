//! Comparisons and numbers as sentences say them.

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

fn p_digits(p: f64) -> String {
    match p {
        p if p < 0.001 => format!("{p:.4}"),
        p if p < 0.1 => format!("{p:.3}"),
        p if p > 0.995 => "1".to_owned(),
        p => format!("{p:.2}"),
    }
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
        for (p, text) in [(0.03125, "0.031"), (0.00052, "0.0005"), (0.41, "0.41"), (0.997, "1"), (1.0, "1")] {
            assert_eq!((p_value(p), short_p_value(p)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!((p_value(1e-9).as_str(), short_p_value(0.0).as_str()), ("0.0001 or less", "<0.0001"));
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
