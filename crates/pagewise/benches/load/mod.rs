//! CPUs kept busy while something is measured, by processes that end with the benchmark, however it ends.

use std::process::{Child, Command, Stdio};

/// A loop of a shell: user time.
pub(crate) const LOOP: &str = "while :; do :; done";

/// Ends its processes when dropped; the kernel ends them when the benchmark is killed.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    /// A process for each CPU, running these scripts in turn.
    pub(crate) fn start(cpus: usize, scripts: &[&str]) -> Busy {
        let start = |script: &str| {
            Command::new("setpriv")
                .args(["--pdeathsig", "KILL", "sh", "-c", script])
                .stdin(Stdio::null())
                .spawn()
                .expect("setpriv of util-linux")
        };
        Busy((0..cpus).map(|cpu| start(scripts[cpu % scripts.len()])).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
