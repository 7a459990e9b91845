//! The pure half of Pagewise: values in, values out.
//!
//! Nothing in this crate opens a file, looks at a clock, starts a process or reads the environment, and randomness
//! comes only from a seed that the caller hands in. `clippy.toml` beside this crate forbids those calls, and
//! `testkit/tests/known_truth/layers.rs` holds the modules to the order below: each imports only those before it.

#![forbid(unsafe_code)]

pub mod unit;

pub mod spelling;

pub mod counter;

pub mod metric;

pub mod kernel_text;

pub mod boot_loader;

pub mod guard;

pub mod tunable;

pub mod recording;

pub mod import;

pub mod export;

pub mod change;

pub mod stats;

pub mod huge_pages;

pub mod finding;

pub mod spark;

pub mod comparison;

pub mod experiment;

pub mod report;
