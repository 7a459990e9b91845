//! Numbers inside the sentences of rules.

use super::document::Quantity;
use crate::spelling::capitalised;
use crate::unit::{Bytes, Seconds};

/// A part of a whole: `71 %`, `4.2 %`.
#[must_use]
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() >= 9.95 || percent == 0.0 {
        format!("{percent:.0} %")
    } else if percent.abs() >= 0.095 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

/// An amount of memory.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    let size = Bytes(bytes.max(0.0) as u64);
    if size.0 >= 10 << 30 { format!("{:.0} GiB", bytes / (1u64 << 30) as f64) } else { size.to_string() }
}

/// A length of time.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if (10.0..600.0).contains(&seconds) { format!("{seconds:.0} s") } else { Seconds(seconds).to_string() }
}

/// Time that has passed since something, in the one unit that matters: `40 s`, `4 min`, `3 h`, `12 days`.
#[must_use]
pub fn passed(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(60.0, "s"), (60.0, "min"), (24.0, "h")];
    let mut value = seconds.max(0.0);
    for (step, unit) in UNITS {
        // A hundred of a unit before the next: `90 s` says more than `2 min`.
        if value < 99.5 {
            return format!("{value:.0} {unit}");
        }
        value /= step;
    }
    format!("{value:.0} days")
}

/// A plain number with three digits or thousands.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 {
        format!("{:.1} M", value / 1e6)
    } else if size >= 1e4 {
        format!("{:.0} k", value / 1e3)
    } else if size >= 99.5 || value == value.trunc() {
        format!("{value:.0}")
    } else if size >= 0.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A text that begins a sentence. Names of settings, sizes and kernel threads stay as they are written.
#[must_use]
pub fn sentence(text: &str) -> String {
    const THREADS: [&str; 3] = ["kswapd", "kcompactd", "khugepaged"];
    let first = text.split([' ', ';', ',']).next().unwrap_or_default();
    if THREADS.contains(&first) || first.contains(['.', '[', '_', '(']) {
        return text.to_owned();
    }
    capitalised(text)
}

/// A value in its unit.
#[must_use]
pub fn quantity(value: f64, unit: Quantity) -> String {
    match unit {
        Quantity::Fraction => percent(value),
        Quantity::PerSecond => format!("{}/s", number(value)),
        Quantity::PagesPerSecond => format!("{} pages/s", number(value)),
        Quantity::BytesPerSecond => format!("{}/s", bytes(value)),
        Quantity::Bytes => bytes(value),
        Quantity::Seconds => seconds(value),
        Quantity::Number => number(value),
    }
}

/// `1 process was killed`, `3 processes were killed`.
#[must_use]
pub fn were_killed(count: f64) -> String {
    let processes = if count == 1.0 { "process was" } else { "processes were" };
    format!("{} {processes} killed", number(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_large_but_for_names() {
        assert_eq!(sentence("nobody waits"), "Nobody waits");
        for name in ["kswapd starts earlier", "mthp[2048k].enabled is always", "vm.dirty is low", ""] {
            assert_eq!(sentence(name), name);
        }
    }

    #[test]
    fn numbers_read_as_people_say_them() {
        assert_eq!(percent(0.705), "70 %");
        assert_eq!(percent(0.051), "5.1 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(bytes(25.4 * (1u64 << 30) as f64), "25 GiB");
        assert_eq!(bytes(326.0 * 1048576.0), "326 MiB");
        assert_eq!(seconds(38.0), "38 s");
        let times = [0.0, 40.0, 99.4, 99.5, 240.0, 5_900.0, 7_200.0, 360_000.0].map(passed);
        assert_eq!(times, ["0 s", "40 s", "99 s", "2 min", "4 min", "98 min", "2 h", "4 days"]);
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(32149.0), "32 k");
        assert_eq!(quantity(12.0, Quantity::PerSecond), "12/s");
    }
}
