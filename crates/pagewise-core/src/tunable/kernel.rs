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
        "the release of the kernel that runs, as uname -r prints it",
    )
    .noting(NOTE)
    .never_switched("takes a boot")
}];

const NOTE: &str =
    "a trial with this factor stops where another kernel must be booted, and goes on with trial resume after that";
