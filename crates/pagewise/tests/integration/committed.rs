//! Results of the long runs in `bench/long/`: one way to write and to read them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/long").join(name)
}

/// The result of that name, which `make TARGET` writes.
pub(crate) fn read<T: DeserializeOwned>(name: &str, target: &str) -> T {
    let bytes = fs::read(file(name)).unwrap_or_else(|error| panic!("{name}: {error}; make {target} writes it"));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Where results are to be kept.
pub(crate) fn write(name: &str, found: &impl Serialize) {
    if std::env::var_os("PAGEWISE_RECORD_DIR").is_some() {
        fs::write(file(name), serde_json::to_string_pretty(found).unwrap() + "\n").expect("a result");
    }
}

/// The day, UTC.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
