//! `/proc/cgroups`: how many control groups each controller of version 1 has. Those that were removed and are still kept count, which
//! the folders do not show.

use super::visit::{Visit, labelled};

/// The controllers of version 1 that limit or account (`include/linux/cgroup_subsys.h`, 2.6.24 to 6.12).
pub const NAMES: [&str; 14] = [
    "cpuset",
    "cpu",
    "cpuacct",
    "blkio",
    "memory",
    "devices",
    "freezer",
    "net_cls",
    "perf_event",
    "net_prio",
    "hugetlb",
    "pids",
    "rdma",
    "misc",
];

/// `#subsys_name hierarchy num_cgroups enabled`, a line for each controller (`kernel/cgroup/cgroup-v1.c`, 6.12,
/// `proc_cgroupstats_show`). One without a hierarchy of its own, 0, is not in use by version 1: what it counts is not its own.
///
/// # Errors
/// When a line is not as this file has them.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.split_inclusive('\n').filter(|line| !line.starts_with('#')) {
        let bad = || format!("line '{}' is not 'name hierarchy groups enabled'", line.trim_end());
        let (name, rest) = line.split_once('\t').ok_or_else(bad)?;
        let (hierarchy, counted) = rest.split_once('\t').ok_or_else(bad)?;
        let (groups, enabled) = counted.split_once('\t').ok_or_else(bad)?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if name.is_empty() || !is_number(hierarchy) || !enabled.strip_suffix('\n').is_some_and(is_number) {
            return Err(bad());
        }
        to.skip(&rest[..=hierarchy.len()]);
        if hierarchy == "0" {
            to.skip(&counted[..=groups.len()]);
        } else {
            to.number(labelled("groups", &[("controller", name)], groups)?);
        }
        to.skip(enabled);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::visit::{Each, Number};
    use super::*;

    const TEXT: &str =
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t12\t1\nmemory\t4\t48211\t1\nnet_cls\t0\t1\t1\n";

    fn numbers(text: &str) -> Result<Vec<(String, u64)>, String> {
        let mut all = Vec::new();
        visit(text, &mut Each(|number: Number<'_, '_>| all.push((number.labels[0].1.to_owned(), number.value))))?;
        Ok(all)
    }

    #[test]
    fn groups_of_controllers_with_a_hierarchy_are_counted() {
        let wanted = [("cpuset", 12), ("memory", 48_211)];
        assert_eq!(numbers(TEXT).unwrap(), wanted.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(numbers("#subsys_name\thierarchy\tnum_cgroups\tenabled\n"), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_is_cut_is_an_error() {
        let line = "memory\t4\t48211\t1\n";
        assert!((1..line.len()).all(|cut| numbers(&line[..cut]).is_err()));
        assert!(numbers("memory\t4\tmany\t1\n").is_err());
    }
}
