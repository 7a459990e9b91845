//! Listings that other people printed and posted, each with what those in the thread settled on: what rules make of evidence that
//! nobody made for them.
//!
//! A folder of `recordings/posted/` is a case: the files as they were posted, and `case.toml` with source and cause. [`judge()`] reads
//! them as `diagnose --import auto:FILE` does and says what came of it; [`page`] sums it up. Cases of one thread are all for
//! fitting or all for the test, by a hash of its name, drawn before the first rule was changed for them.

pub mod judge;
pub mod page;

pub use judge::{JudgedCase, Outcome, judge};

use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// What ailed the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ailment {
    /// Memory management.
    Trouble,
    /// Nothing.
    Healthy,
    /// Something else: the program itself, a disk, the network, a lock, the hypervisor.
    NotMemory,
}

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// Rules were changed after looking at it.
    Fitting,
    /// Nobody who changed a rule looked at it.
    Test,
}

/// A file of a case.
#[derive(Clone, Debug, Deserialize)]
pub struct Posted {
    /// Its name in the folder of the case.
    pub name: String,
    /// What printed it.
    pub tool: String,
}

/// What people posted, and what they came to.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Name of the folder.
    #[serde(skip)]
    pub name: String,
    /// Where the files lie.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Where it was posted.
    pub source: String,
    /// The thread, page or file it is from.
    pub thread: String,
    /// Drawn by a hash of the thread.
    pub half: Half,
    /// Release of the kernel, empty where it was not said.
    #[serde(default)]
    pub kernel: String,
    /// What ailed the host.
    pub kind: Ailment,
    /// What people settled on.
    pub cause: String,
    /// Whether they did; otherwise it is our reading of what they posted.
    #[serde(default)]
    pub settled: bool,
    /// Ids of findings that name the cause or its direct symptom. Any of them will do.
    #[serde(default)]
    pub expect: Vec<String>,
    /// What was posted.
    #[serde(rename = "file")]
    pub files: Vec<Posted>,
}

impl Case {
    /// Whether it is in the half that rules were fitted to.
    #[must_use]
    pub fn is_for_fitting(&self) -> bool {
        self.half == Half::Fitting
    }

    /// The tools whose output it has, once each.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = Vec::new();
        for file in &self.files {
            if !tools.contains(&file.tool.as_str()) {
                tools.push(&file.tool);
            }
        }
        tools
    }
}

/// All cases of a folder, by name.
///
/// # Errors
/// When a case cannot be read: which, and why.
pub fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("case.toml").is_file());
    folders.sort();
    folders.into_iter().map(case).collect()
}

fn case(folder: PathBuf) -> Result<Case, String> {
    let file = folder.join("case.toml");
    let failed = |error: String| format!("cannot read {}: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
    let case: Case = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(Case { name, folder, ..case })
}
