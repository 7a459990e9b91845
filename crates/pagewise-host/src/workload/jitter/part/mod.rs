//! What runs in processes of its own: streams, ballast, probe and the built-in victims. Each is this same program under a hidden
//! verb, told what it is by one word of JSON.

pub mod ballast;
pub mod burst;
pub mod hot_file;
mod pace;
pub mod probe;
pub mod reclaimer;
mod spoken;
pub mod stamp;
pub mod stencil;
pub mod stream;

use crate::clock;
use serde::{Deserialize, Serialize};
use std::io;

/// The hidden verb.
pub const VERB: &str = "__jitter";

/// What a process is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Holds memory so that others find less of it.
    Ballast(ballast::Ballast),
    /// Streams through the page cache.
    Stream(stream::Stream),
    /// Reads a file of its own again and again.
    HotFile(hot_file::HotFile),
    /// Makes room beside a stream.
    Reclaimer(reclaimer::Reclaimer),
    /// Allocates beside the victim.
    Probe,
    /// The same as a victim, for so many steps.
    ProbeVictim(u32),
    /// A stencil with temporaries.
    Stencil(stencil::Stencil),
    /// Starts processes.
    Burst(burst::Burst),
    /// The user's program, with a time before each line it prints.
    Stamp(Vec<String>),
}

impl Part {
    /// Its command line.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        let word = serde_json::to_string(self).expect("plain values become JSON");
        vec!["/proc/self/exe".to_owned(), VERB.to_owned(), word]
    }
}

/// Runs a part to its end and gives its exit code.
///
/// # Errors
/// When the word is none of ours, or it cannot go on.
pub fn run(word: &str) -> io::Result<u8> {
    let part = serde_json::from_str(word)
        .map_err(|error| io::Error::other(format!("{VERB} is for Pagewise itself: {error}")))?;
    match part {
        Part::Ballast(ballast) => ballast.run(),
        Part::Stream(stream) => stream.run(),
        Part::HotFile(file) => file.run(),
        Part::Reclaimer(reclaimer) => reclaimer.run(),
        Part::Probe => probe::beside(),
        Part::ProbeVictim(steps) => probe::victim(steps),
        Part::Stencil(stencil) => stencil.run(),
        Part::Burst(burst) => burst.run(),
        Part::Stamp(argv) => return stamp::run(&argv),
    }?;
    Ok(0)
}

/// CPU seconds of this process.
fn own_cpu() -> f64 {
    clock::process_cpu() as f64 * 1e-9
}
