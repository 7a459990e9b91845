//! A burst of short-lived processes in every step: each fork, exec and exit allocates and frees page tables, stacks and the pages
//! of a program.

use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

/// So many processes start at once, in so many steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Steps.
    pub steps: u32,
    /// Processes in a step.
    pub processes: u32,
}

impl Burst {
    pub(super) fn run(&self) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for step in 1..=self.steps {
            let began = Instant::now();
            let start = || Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
            let mut children = (0..self.processes).map(|_| start()).collect::<io::Result<Vec<_>>>()?;
            for child in &mut children {
                child.wait()?;
            }
            writeln!(out, "step {step} {:.9}", began.elapsed().as_secs_f64())?;
        }
        out.flush()
    }
}
