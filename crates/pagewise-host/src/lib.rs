//! The machine side of Pagewise: every system call is in this crate.
//!
//! `unsafe` is allowed in `sys` alone, behind narrow functions that say why each is needed and why it is sound.

#![deny(unsafe_code)]

pub mod root;

pub mod sys;

pub mod facts;

pub mod given;

pub mod locked;

pub mod process;

pub mod restore;

pub mod source;

mod symbol;

#[doc(hidden)]
pub use symbol::read_anything as read_symbols;

pub mod workload;

pub mod store;

pub mod record;

pub mod import;

pub mod export;

pub mod trial;

pub mod tunable;
