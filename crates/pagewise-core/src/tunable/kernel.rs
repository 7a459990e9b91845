//! The kernel that runs. It cannot be written, only booted.

use super::descriptor::{CostClass, Descriptor};
use super::grammar::Grammar::Text;

pub(super) const ALL: &[Descriptor] = &[Descriptor {
    cost: CostClass::Boot,
    ..Descriptor::live(
        "kernel",
        &["/proc/sys/kernel/osrelease"],
        Text,
        "2.2; kernel/utsname_sysctl.c",
        "the release of the kernel that runs, as uname -r prints it; or debian:6.12, or the path of an image, which is booted in a guest",
    )
    .noting(NOTE)
    .never_switched("takes a boot")
}];

const NOTE: &str = "a trial with a plain release stops where another kernel must be booted, and goes on with trial resume after that; \
     kernels of Debian and those at a path are booted in virtual machines (docs/guide/lab.md)";
