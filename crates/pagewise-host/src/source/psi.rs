//! `/proc/pressure/{memory,io,cpu}`: how long tasks waited for a resource, since boot.

use super::visit::{Each, Number};
use super::{SourceError, format_error};
use crate::root::Root;
pub use pagewise_core::kernel_text::psi::visit;

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
