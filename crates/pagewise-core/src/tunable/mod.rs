//! What can be set: names, values, policies, and a descriptor per tunable.
//!
//! A file per kind holds its descriptors; [`KINDS`] is the one list of them. The host crate reads and writes the files
//! that the descriptors name.

mod block;
mod cgroup;
mod descriptor;
mod grammar;
pub mod guard;
mod job;
pub mod jvm;
mod kernel;
mod khugepaged;
pub mod memory_state;
mod mglru;
mod mthp;
mod name;
mod numa;
mod pair;
pub mod policy;
pub mod reference;
pub mod reserve;
pub mod swap;
mod thp;
mod vm;

pub use block::READ_AHEAD_PAGE_KIB;
pub use cgroup::{V1_LIMIT, V2_LIMIT};
pub use descriptor::{Ceiling, CostClass, Descriptor, Key, Scope, Switching, Wait};
pub use grammar::{Choice, Form, Grammar, ValueError, listed};
pub use job::{JobSetting, JobThp};
pub use name::{NameError, Tunable, find, is_for_job};
pub use pair::{Amount, Pair};

/// Every kind of tunable. A new kind is a file with its descriptors and a line here.
pub const KINDS: &[&[Descriptor]] = &[
    thp::ALL,
    khugepaged::ALL,
    mthp::ALL,
    mglru::ALL,
    swap::ALL,
    memory_state::ALL,
    guard::ALL,
    vm::ALL,
    pair::ALL,
    numa::ALL,
    block::ALL,
    cgroup::ALL,
    job::ALL,
    kernel::ALL,
];

/// Every descriptor, kind by kind.
pub fn all() -> impl Iterator<Item = &'static Descriptor> {
    KINDS.iter().flat_map(|kind| kind.iter())
}
