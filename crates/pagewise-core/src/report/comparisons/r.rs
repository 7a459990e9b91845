//! Comparisons as R prints `t.test(a, b)`: `print.htest` of R 4 at its default of seven digits.

use super::layout;
use super::r_number::{format, format_one, p_value};
use crate::comparison::analysis::Comparisons;
use crate::comparison::found::Comparison;
use crate::comparison::plain_samples::Welch;
use crate::report::printable::printable;
use std::fmt::Write;

/// R's default of `getOption("digits")`.
const DIGITS: usize = 7;

/// Every comparison as R prints its t test, ending in a newline. One that has no test says why in R's place.
#[must_use]
pub fn r(all: &Comparisons) -> String {
    let mut out = String::new();
    for comparison in &all.comparisons {
        out.push_str("\n\tWelch Two Sample t-test\n\n");
        let _ = writeln!(out, "data:  {}", data(all, comparison));
        match &comparison.in_r().welch {
            Some(welch) => out.push_str(&test(all, comparison, welch)),
            None => {
                let why = comparison.in_r().absent.get("welch").map_or("", String::as_str);
                let _ = writeln!(out, "no test: {}", printable(why));
            }
        }
        out.push('\n');
    }
    out
}

fn data(all: &Comparisons, comparison: &Comparison) -> String {
    let (a, b) = (&comparison.a, &comparison.b);
    let place = layout::place(&comparison.by, &all.by);
    let place = if place.is_empty() { place } else { format!(" where {place}") };
    format!("{}{place}", printable(&format!("{} of {} {a} and {b}", all.value, comparison.factor)))
}

fn test(all: &Comparisons, comparison: &Comparison, welch: &Welch) -> String {
    let p = p_value(welch.p, DIGITS - 3);
    let p = if p.starts_with('<') { format!("p-value {p}") } else { format!("p-value = {p}") };
    let mut out = format!("t = {}, df = {}, {p}\n", format_one(welch.t, DIGITS - 2), format_one(welch.df, DIGITS - 2));
    out.push_str("alternative hypothesis: true difference in means is not equal to 0\n");
    let level = format_one(100.0 * (1.0 - all.alpha), DIGITS);
    let _ = writeln!(out, "{level} percent confidence interval:");
    let _ = writeln!(out, " {}", format(&[welch.ci_low, welch.ci_high], DIGITS).join(" "));
    out.push_str("sample estimates:\n");
    let means = [comparison.a_values.mean, comparison.b_values.mean].map(|mean| mean.unwrap_or(f64::NAN));
    out.push_str(&named(&["mean of x", "mean of y"], &format(&means, DIGITS)));
    out
}

/// A named vector: names above their values, each padded to the widest and followed by a space.
fn named(names: &[&str], values: &[String]) -> String {
    let width = names.iter().map(|name| name.len()).chain(values.iter().map(String::len)).max().unwrap_or(0);
    let names: String = names.iter().map(|name| format!("{name:>width$} ")).collect();
    let values: String = values.iter().map(|value| format!("{value:>width$} ")).collect();
    format!("{names}\n{values}\n")
}
