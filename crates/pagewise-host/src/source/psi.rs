//! `/proc/pressure/{memory,io,cpu}`: how long tasks waited for a resource, since boot.

use super::visit::{Each, Number, Visit, plain};
use super::{SourceError, format_error};
use crate::root::Root;

/// Totals in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// At least one task waited.
    pub some: f64,
    /// Every task that could run waited. Kernels before 5.13 have no such line for `cpu`.
    pub full: Option<f64>,
}

/// Reads the totals of one resource: `memory`, `io` or `cpu`.
///
/// # Errors
/// When the kernel has no PSI, or it is switched off (`psi=1` on its command line switches it on).
pub fn read(root: &Root, resource: &str) -> Result<Pressure, SourceError> {
    let path = format!("/proc/pressure/{resource}");
    parse(&root.read(&path)?, &path)
}

/// See [`read`].
///
/// # Errors
/// When there is no `some` line with a total.
pub fn parse(text: &str, path: &str) -> Result<Pressure, SourceError> {
    let (mut some, mut full) = (None, None);
    let mut each = Each(|number: Number<'_, '_>| {
        let seconds = number.value as f64 * 1e-6;
        *(if number.name == "some_total" { &mut some } else { &mut full }) = Some(seconds);
    });
    visit(text, &mut each).map_err(|what| format_error(path, what))?;
    let some = some.ok_or_else(|| format_error(path, "no 'some' line with total="))?;
    Ok(Pressure { some, full })
}

/// The totals in µs as `some_total` and `full_total`. The averages follow from them and are left out.
///
/// # Errors
/// When a total is no number.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.lines() {
        let name = match line.split(' ').next() {
            Some("some") => "some_total",
            Some("full") => "full_total",
            _ => continue,
        };
        let Some(at) = line.find(" total=") else { continue };
        let (averages, digits) = line.split_at(at + " total=".len());
        to.skip(&averages[4..]);
        to.number(plain(name, digits.trim_end())?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_microseconds_in_the_file_and_seconds_here() {
        let text =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
        assert_eq!(parse(text, "x").unwrap(), Pressure { some: 2.5, full: Some(1e-6) });
        assert_eq!(parse("some avg10=0.00 total=0\n", "x").unwrap().full, None);
        assert!(parse("", "x").is_err());
    }
}
