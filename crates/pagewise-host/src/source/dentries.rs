//! `/proc/sys/fs/dentry-state`: how many names of files the kernel keeps, and how many of them are of files that do not exist.

use super::visit::{Visit, plain};

/// The file.
pub const PATH: &str = "/proc/sys/fs/dentry-state";

/// `nr_dentry nr_unused age_limit want_pages nr_negative dummy` on one line (`Documentation/admin-guide/sysctl/fs.rst`). The
/// age and what is wanted are constants; before 5.0 `nr_negative` is one, too, and reads 0.
///
/// # Errors
/// When it is no such line.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    let bad = || format!("'{}' is not six numbers", text.trim_end());
    let field = |rest: &'t str| rest.split_once('\t').ok_or_else(bad);
    let (all, rest) = field(text)?;
    let (unused, constants) = field(rest)?;
    let (_, rest) = field(constants)?;
    let (_, rest) = field(rest)?;
    let (negative, end) = field(rest)?;
    if !end.ends_with('\n') || end.trim().is_empty() {
        return Err(bad());
    }
    to.number(plain("nr_dentry", all)?);
    to.number(plain("nr_unused", unused)?);
    to.skip(&constants[..constants.len() - rest.len()]);
    to.number(plain("nr_negative", negative)?);
    to.skip(end);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::visit::{Each, Number};
    use super::*;

    fn numbers(text: &str) -> Result<Vec<(String, u64)>, String> {
        let mut all = Vec::new();
        visit(text, &mut Each(|number: Number<'_, '_>| all.push((number.name.to_owned(), number.value))))?;
        Ok(all)
    }

    #[test]
    fn names_are_counted_and_constants_left_out() {
        let found = numbers("1203432\t1113217\t45\t0\t803122\t0\n").unwrap();
        let wanted = [("nr_dentry", 1_203_432), ("nr_unused", 1_113_217), ("nr_negative", 803_122)];
        assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn a_line_that_is_cut_is_an_error() {
        let whole = "12\t11\t45\t0\t3\t0\n";
        assert!((0..whole.len()).all(|cut| numbers(&whole[..cut]).is_err()));
        assert!(numbers("12\t11\t45\t0\tx\t0\n").is_err());
    }
}
