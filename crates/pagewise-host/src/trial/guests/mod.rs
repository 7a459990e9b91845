//! Points in guests: [`runner`] boots and asks on the host, [`serve`] answers inside. Both speak the lines of this file.

pub mod runner;
pub mod serve;

use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{PlannedPoint, Record};
use pagewise_core::report::facts::HostFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a guest is to serve points of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Points {
    /// The frozen plan.
    pub plan: Plan,
    /// Where its change journal is kept.
    pub state: PathBuf,
    /// Where generated data and jars are.
    pub cache: PathBuf,
    /// The places the user named.
    pub named: BTreeMap<String, PathBuf>,
    /// The data of a command.
    pub data: Option<PathBuf>,
}

/// A line from the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HostMessage {
    /// Run this point.
    Run {
        /// The point.
        planned: PlannedPoint,
        /// The attempt.
        attempt: u32,
    },
}

/// A line from a guest. A point ends with a record or a failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// The workload is prepared; points can be asked for.
    Ready {
        /// The boot.
        boot_id: String,
        /// The machine in it.
        host: Box<HostFacts>,
    },
    /// The guest is not at rest, for this reason.
    Waits(String),
    /// The job is about to start.
    Starts,
    /// What the point gave.
    Record(Box<Record>),
    /// Why points cannot be run in it.
    Failed(String),
}

/// Moves every file of a folder into another, also over a border of file systems. What cannot be moved costs no point.
fn move_files(from: &Path, to: &Path) {
    for file in fs::read_dir(from).into_iter().flatten().filter_map(Result::ok) {
        let moved = fs::create_dir_all(to)
            .and_then(|()| fs::copy(file.path(), to.join(file.file_name())))
            .and_then(|_| fs::remove_file(file.path()));
        if let Err(error) = moved {
            tracing::warn!("{} stays where it is: {error}", file.path().display());
        }
    }
}

/// Lines begin with this: whatever else writes to the guest's standard output is not taken for one.
const MARK: &str = "pagewise-point ";
