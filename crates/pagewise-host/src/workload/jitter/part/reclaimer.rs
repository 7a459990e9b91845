//! Others who make room beside a stream, as administrators do it: what a guard is compared with.

use super::own_cpu;
use super::spoken::{self, Readiness};
use crate::root::Root;
use crate::source::meminfo;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

/// It acts so often.
const EVERY: Duration = Duration::from_secs(1);

/// It is steady after so many times.
const STEADY_AFTER: u32 = 3;

/// Of all memory, what has to be free for [`Reclaimer::OnceASecond`] to do nothing, and what it makes free.
const FREE_ENOUGH: f64 = 0.04;
const FREE_AFTER: f64 = 0.08;

/// Of a stop, it is heard of within this time.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// What it does once a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reclaimer {
    /// Drops every clean page of every cache: `vm.drop_caches=1`.
    DropCaches,
    /// Looks at `MemFree`, and asks each node's `reclaim` file (since Linux 6.17) for what is missing.
    OnceASecond,
}

/// What it cost from "begin" to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reclaimed {
    /// CPU seconds.
    pub cpu: f64,
}

impl Reclaimer {
    pub(super) fn run(self) -> io::Result<()> {
        let spoken = Readiness::listen()?;
        let files = self.files()?;
        let (mut before, mut times) = (own_cpu(), 0);
        while !spoken.is_over() {
            let next = Instant::now() + EVERY;
            self.act(&files)?;
            times += 1;
            if times == STEADY_AFTER {
                spoken::ready()?;
            }
            loop {
                if spoken.begins() {
                    before = own_cpu();
                }
                let left = next.saturating_duration_since(Instant::now());
                if spoken.is_over() || left.is_zero() {
                    break;
                }
                thread::sleep(CHECK_EVERY.min(left));
            }
        }
        spoken::answer(&Reclaimed { cpu: own_cpu() - before })
    }

    /// The files it writes to.
    fn files(self) -> io::Result<Vec<File>> {
        let open = |path: &str| {
            let file = File::options().write(true).open(path);
            file.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
        };
        match self {
            Reclaimer::DropCaches => Ok(vec![open("/proc/sys/vm/drop_caches")?]),
            Reclaimer::OnceASecond => {
                let folders = fs::read_dir("/sys/devices/system/node")?.flatten().map(|entry| entry.path());
                let files = folders.map(|folder| folder.join("reclaim")).filter(|file| file.exists());
                let files: Vec<File> = files.map(|file| open(&file.to_string_lossy())).collect::<Result<_, _>>()?;
                if files.is_empty() {
                    Err(io::Error::other("no node has a reclaim file; kernels have it since 6.17"))
                } else {
                    Ok(files)
                }
            }
        }
    }

    fn act(self, files: &[File]) -> io::Result<()> {
        match self {
            // At another place than the first the kernel takes nothing (`kernel.sysctl_writes_strict`).
            Reclaimer::DropCaches => files.iter().try_for_each(|file| file.write_all_at(b"1", 0)),
            Reclaimer::OnceASecond => {
                let meminfo = meminfo::read(&Root::live()).map_err(io::Error::other)?;
                let bytes = |field: &str| meminfo.get(field).map_or(0.0, |bytes| *bytes as f64);
                let (total, free) = (bytes("MemTotal"), bytes("MemFree"));
                if free >= total * FREE_ENOUGH {
                    return Ok(());
                }
                let asked = format!("{:.0} swappiness=0", (total * FREE_AFTER - free) / files.len() as f64);
                // The kernel says that it got less with an error, as it says everything.
                files.iter().for_each(|mut file| drop(file.write(asked.as_bytes())));
                Ok(())
            }
        }
    }
}
