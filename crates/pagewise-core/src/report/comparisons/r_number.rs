//! Numbers as R prints them: so many significant digits at most, as few as say the same, fixed or scientific by width.
//!
//! What `format()` and `print()` of R 4 do with a numeric vector (`formatReal` and `scientific` in `src/main/format.c`):
//! every number needs as many significant digits as it has after rounding to `digits`; the vector gets the decimals of
//! the one that needs most, one width, and fixed notation unless scientific is narrower (`scipen` 0).
//!
//! R rounds in 80-bit arithmetic, we round the exact binary value. The two differ only for a number closer than 2^-64 of
//! itself to a tie, which no double that is not itself a tie comes near at 15 digits or fewer.

use std::fmt::Write;

/// `.Machine$double.eps`: p-values below it are printed as an upper bound.
const EPSILON: f64 = f64::EPSILON;

/// `format(values, digits = digits)`: every number at the same width, padded on the left.
#[must_use]
pub fn format(values: &[f64], digits: usize) -> Vec<String> {
    let shapes: Vec<Shape> =
        values.iter().filter(|value| value.is_finite()).map(|value| Shape::of(*value, digits)).collect();
    let notation = Notation::of(&shapes);
    let texts: Vec<String> = values.iter().map(|value| notation.write(*value)).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0).max(notation.width);
    texts.iter().map(|text| format!("{text:>width$}")).collect()
}

/// One number.
#[must_use]
pub fn format_one(value: f64, digits: usize) -> String {
    format(&[value], digits).concat()
}

/// `format.pval(p, digits = digits)` of one p-value: `1.229e-06`, `< 2.2e-16`.
#[must_use]
pub fn p_value(p: f64, digits: usize) -> String {
    if p.is_nan() {
        return "NA".to_owned();
    }
    if p < EPSILON {
        let digits = digits.saturating_sub(2).max(1);
        let space = if digits == 1 { "" } else { " " };
        return format!("<{space}{}", format_one(EPSILON, digits));
    }
    format_one(p, digits)
}

/// R's `KP_MAX`: no more decimals than this in fixed notation.
const MOST_POWER: i32 = 22;

/// What a number needs.
#[derive(Clone, Copy, Debug)]
struct Shape {
    negative: bool,
    /// Power of ten of the first digit after rounding.
    exponent: i32,
    /// Significant digits without trailing zeros, 1 at least.
    significant: i32,
    /// Rounding to `digits` in scientific notation lifts the number to the next power of ten, and fixed notation, which
    /// keeps whole digits, would not.
    rounding_widens: bool,
}

impl Shape {
    fn of(value: f64, digits: usize) -> Shape {
        let negative = value < 0.0;
        if value == 0.0 {
            return Shape { negative: false, exponent: 0, significant: 1, rounding_widens: false };
        }
        let size = value.abs();
        let rounded = format!("{size:.*e}", digits.clamp(1, 15) - 1);
        let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let significant = mantissa.trim_end_matches('0').chars().filter(char::is_ascii_digit).count().max(1) as i32;
        // Half a unit of the last digit that fixed notation would show.
        let fuzz = 0.5 / libm::pow(10.0, f64::from((digits as i32 - exponent).clamp(0, MOST_POWER)));
        let widened = libm::pow(10.0, f64::from(exponent)) - fuzz;
        let rounding_widens = exponent > 0 && exponent <= MOST_POWER && size < widened;
        Shape { negative, exponent, significant, rounding_widens }
    }

    /// Digits before the point in fixed notation; zero or negative for a number below one.
    fn whole(self) -> i32 {
        self.exponent + 1 - i32::from(self.rounding_widens)
    }

    /// Digits after it.
    fn decimals(self) -> i32 {
        (self.significant - self.whole()).clamp(0, MOST_POWER)
    }

    /// Sign and digits before the point.
    fn left(self) -> i32 {
        self.whole().max(1) + i32::from(self.negative)
    }
}

/// How a vector is written.
#[derive(Clone, Copy, Debug)]
struct Notation {
    is_fixed: bool,
    decimals: usize,
    /// Room for a sign wherever one number has one.
    width: usize,
}

impl Notation {
    fn of(shapes: &[Shape]) -> Notation {
        let most = |of: fn(&Shape) -> i32| shapes.iter().map(of).max().unwrap_or(0);
        let decimals = most(|shape| shape.decimals());
        let fixed_width = most(|shape| shape.left()) + decimals + i32::from(decimals > 0);
        let significant = most(|shape| shape.significant);
        // R asks for three figures from 1e-99 down.
        let long_exponent = shapes.iter().any(|shape| shape.exponent >= 100 || shape.exponent <= -99);
        let exponent_width = if long_exponent { 5 } else { 4 };
        let mantissa_width = if significant > 1 { significant + 1 } else { significant };
        let scientific_width = most(|shape| i32::from(shape.negative)) + mantissa_width + exponent_width;
        let is_fixed = fixed_width <= scientific_width;
        let decimals = if is_fixed { decimals } else { significant - 1 };
        let width = if is_fixed { fixed_width } else { scientific_width };
        Notation { is_fixed, decimals: decimals.max(0) as usize, width: width.max(0) as usize }
    }

    fn write(self, value: f64) -> String {
        if value.is_nan() {
            return "NaN".to_owned();
        }
        if value.is_infinite() {
            return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
        }
        // R has no negative zero in print.
        let value = if value == 0.0 { 0.0 } else { value };
        let decimals = self.decimals;
        if self.is_fixed { format!("{value:.decimals$}") } else { with_c_exponent(&format!("{value:.decimals$e}")) }
    }
}

/// `1.5e-6` as C's printf writes it: `1.5e-06`.
fn with_c_exponent(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, figures) = exponent.strip_prefix('-').map_or(('+', exponent), |figures| ('-', figures));
    let mut out = mantissa.to_owned();
    let _ = write!(out, "e{sign}{figures:0>2}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_dropped_when_they_say_nothing() {
        for (value, digits, text) in [
            (1.667_71, 5, "1.6677"),
            (7.204, 5, "7.204"),
            (12.320_04, 5, "12.32"),
            (0.022_900_3, 5, "0.0229"),
            (0.0, 7, "0"),
            (-0.0, 7, "0"),
            (100_000.0, 7, "1e+05"),
            (123_456.0, 7, "123456"),
            (0.0001, 7, "1e-04"),
            (0.000_123_4, 7, "0.0001234"),
            (1e-300, 7, "1e-300"),
            (-1.5e120, 7, "-1.5e+120"),
        ] {
            assert_eq!(format_one(value, digits), text);
        }
    }

    #[test]
    fn a_vector_shares_its_decimals_and_its_width() {
        assert_eq!(format(&[-3.604_752_9, 26.806_753], 7), ["-3.604753", "26.806753"]);
        assert_eq!(format(&[9.640_196_9, 25.677_803], 7), [" 9.640197", "25.677803"]);
        assert_eq!(format(&[740.78, 733.421], 7), ["740.780", "733.421"]);
    }

    #[test]
    fn p_values_below_the_machine_s_epsilon_are_bounds() {
        assert_eq!(p_value(1.2288e-6, 4), "1.229e-06");
        assert_eq!(p_value(0.002_335_9, 4), "0.002336");
        assert_eq!(p_value(0.000_215_31, 4), "0.0002153");
        assert_eq!(p_value(1e-17, 4), "< 2.2e-16");
        assert_eq!(p_value(0.0, 4), "< 2.2e-16");
    }
}
