//! Kernels that could be booted here, as far as the usual places tell.

use super::Resolved;
use crate::root::Root;

/// Where distributions put a kernel's image and its modules, before its release.
const PLACES: [&str; 4] = ["/boot/vmlinuz-", "/boot/vmlinux-", "/lib/modules/", "/usr/lib/modules/"];

/// The kernel a policy must be run under, where it neither runs nor lies in the usual places. A kernel that is kept elsewhere, as
/// that of a virtual machine may be, cannot be seen from here.
#[must_use]
pub fn not_installed<'r>(root: &Root, resolved: &'r Resolved) -> Option<&'r str> {
    let wanted = resolved.boot.iter().find(|setting| setting.tunable.name == "kernel")?.value.as_str();
    let runs = root.read("/proc/sys/kernel/osrelease").is_ok_and(|now| now.trim() == wanted);
    let lies_here = PLACES.iter().any(|place| root.path(&format!("{place}{wanted}")).exists());
    (!runs && !lies_here).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::{Places, resolve};
    use std::fs;

    #[test]
    fn a_kernel_that_runs_or_lies_in_boot_is_here_and_another_one_is_not() {
        let tree = tempfile::tempdir().unwrap();
        for folder in ["proc/sys/kernel", "boot", "lib/modules/6.6.1"] {
            fs::create_dir_all(tree.path().join(folder)).unwrap();
        }
        fs::write(tree.path().join("proc/sys/kernel/osrelease"), "6.12.0\n").unwrap();
        fs::write(tree.path().join("boot/vmlinuz-5.15.0"), "").unwrap();
        let root = Root::at(tree.path());
        let places = Places { state: tree.path().into(), cache: tree.path().into() };
        let missing = |policy: &str| {
            let resolved = resolve(&root, &places, &policy.parse().unwrap()).unwrap();
            not_installed(&root, &resolved).map(str::to_owned)
        };
        for here in ["kernel=6.12.0", "kernel=5.15.0", "kernel=6.6.1", "env.A=1"] {
            assert_eq!(missing(here), None, "{here}");
        }
        assert_eq!(missing("kernel=9.99.0").as_deref(), Some("9.99.0"));
    }

    #[test]
    fn the_kernel_that_runs_is_in_force_and_another_one_is_not() {
        let root = Root::live();
        let runs = root.read("/proc/sys/kernel/osrelease").unwrap();
        let places = Places { state: "/nonexistent".into(), cache: "/nonexistent".into() };
        let in_force = |release: &str| {
            let policy = format!("kernel={release}").parse().unwrap();
            resolve(&root, &places, &policy).unwrap().boot[0].is_in_force(&root)
        };
        assert!(in_force(runs.trim()) && !in_force("9.99.0"));
    }
}
