//! The allocation probe: 2 MiB mapped, touched and unmapped every 20 ms, each timed. A process that waits for reclaim in its page
//! faults shows here, whatever it computes.

use super::spoken::{self, Readiness};
use crate::sys::mapping::{Mapping, PageAdvice};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

const BYTES: usize = 2 << 20;
const EVERY: Duration = Duration::from_millis(20);

/// More than any run needs: an hour of them.
const MOST: usize = 180_000;

/// What it found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probed {
    /// Seconds of each allocation, in their order.
    pub latencies: Vec<f64>,
}

/// One allocation in single pages, in seconds.
fn once() -> io::Result<f64> {
    let began = Instant::now();
    let mut memory = Mapping::new(BYTES, 4096, PageAdvice::Base)?;
    memory.bytes().chunks_mut(4096).for_each(|page| page[0] = 1);
    drop(memory);
    Ok(began.elapsed().as_secs_f64())
}

pub(super) fn beside() -> io::Result<()> {
    let spoken = Readiness::listen()?;
    let mut probed = Probed { latencies: Vec::with_capacity(MOST) };
    spoken::ready()?;
    while !spoken.is_over() {
        if spoken.begins() {
            probed.latencies.clear();
        }
        let latency = once()?;
        if probed.latencies.len() < MOST {
            probed.latencies.push(latency);
        }
        thread::sleep(EVERY);
    }
    spoken::answer(&probed)
}

pub(super) fn victim(steps: u32) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for step in 1..=steps {
        writeln!(out, "step {step} {:.9}", once()?)?;
        thread::sleep(EVERY);
    }
    out.flush()
}
