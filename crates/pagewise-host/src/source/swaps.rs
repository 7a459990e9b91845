//! `/proc/swaps`: the swap areas in use.

use super::visit::{Visit, labelled};

/// The file.
pub const PATH: &str = "/proc/swaps";

/// One line: `Filename Type Size Used Priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'t> {
    /// Path of the area, special characters as octal escapes.
    pub name: &'t str,
    /// `file` or `partition`.
    pub kind: &'t str,
    size: &'t str,
    used: &'t str,
    priority: &'t str,
}

impl Line<'_> {
    /// Size in KiB, without the header page.
    #[must_use]
    pub fn size_kib(&self) -> Option<u64> {
        self.size.parse().ok()
    }

    /// In use, in KiB.
    #[must_use]
    pub fn used_kib(&self) -> Option<u64> {
        self.used.parse().ok()
    }

    /// Negative when the kernel gave it.
    #[must_use]
    pub fn priority(&self) -> Option<i64> {
        self.priority.parse().ok()
    }
}

/// The lines after the heading. `Err` holds a line that is none.
pub fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>, &str>> {
    let lines = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let mut fields = line.split_whitespace();
        let mut field = || fields.next().ok_or(line);
        Ok(Line { name: field()?, kind: field()?, size: field()?, used: field()?, priority: field()? })
    })
}

/// `size`, `used` and `priority` with the label `area`.
///
/// # Errors
/// When a line is not as this file has them.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in lines(text) {
        let line = line.map_err(|line| format!("line '{line}' is not 'Filename Type Size Used Priority'"))?;
        let area = [("area", line.name)];
        for (name, digits) in [("size", line.size), ("used", line.used), ("priority", line.priority)] {
            to.number(labelled(name, &area, digits)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_alone_is_no_swap_and_a_cut_line_is_told() {
        assert_eq!(lines("Filename Type Size Used Priority\n").count(), 0);
        // 5.10 separates the columns by tabs, 6.12 pads them with more of them.
        let text = "Filename\tType\n/swap\\040file                             file\t\t1048572\t\t12\t\t-2\n";
        let line = lines(text).next().unwrap().unwrap();
        assert_eq!(
            (line.name, line.size_kib(), line.used_kib(), line.priority()),
            ("/swap\\040file", Some(1_048_572), Some(12), Some(-2))
        );
        assert_eq!(lines("Filename\n/swap file 5\n").next(), Some(Err("/swap file 5")));
    }
}
