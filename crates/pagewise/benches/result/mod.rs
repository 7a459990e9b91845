//! Where a benchmark's result goes: `bench/results/<name>/<date>-<commit>.json`, and what stands beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    output.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Writes one file of a result and says so; `ending` is `json`, `R`, ….
pub(crate) fn save(name: &str, ending: &str, text: &str) {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results").join(name);
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let file = format!("{date}-{}.{ending}", commit());
    match fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(&file), text)) {
        Ok(()) => println!("written to bench/results/{name}/{file}"),
        Err(error) => eprintln!("cannot write {}: {error}", folder.join(&file).display()),
    }
}
