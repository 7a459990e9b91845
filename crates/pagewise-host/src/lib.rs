//! The machine side of Pagewise: every system call is in this crate.
//!
//! `unsafe` is allowed in `sys` alone, behind narrow functions that say why each is needed and why it is sound. The modules
//! stand in their order: each imports only those before it, which `testkit/tests/known_truth/layers.rs` holds.

#![deny(unsafe_code)]

pub mod sys;

mod clock;

mod free_space;

#[doc(hidden)]
pub mod test_pause;

pub mod progress;

pub mod root;

pub mod given;

pub mod locked;

pub mod cgroup;

pub mod source;

pub mod facts;

pub mod process;

pub mod boot_loader;

pub mod scope;

pub mod workload;

pub mod restore;

pub mod guard;

pub mod huge_pages;

pub mod spark;

pub mod tunable;

mod symbol;

#[doc(hidden)]
pub use symbol::read_anything as read_symbols;

pub mod store;

pub mod record;

pub mod following;

pub mod import;

pub mod export;

pub mod lab;

pub mod trial;
