//! libFuzzer on one parser; `PAGEWISE_FUZZ_TARGET` says which. Built and run by `scripts/fuzz`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pagewise_testkit::hostile::{Target, find};
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("PAGEWISE_FUZZ_TARGET").unwrap_or_default();
    find(&name).unwrap_or_else(|| panic!("PAGEWISE_FUZZ_TARGET is '{name}', which is no target"))
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
