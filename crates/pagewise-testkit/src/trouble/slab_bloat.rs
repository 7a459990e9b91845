//! Names are asked for that do not exist, and the kernel remembers each.

use super::memory::Places;
use super::stage::{LEFT, cpus, folder, total};
use super::{Dose, Proof, Severity, Stage, Trouble};
use pagewise_host::root::Root;
use pagewise_host::source::meminfo;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(super) const TROUBLE: Trouble = Trouble {
    id: "slab-bloat",
    what: "files with random names of 240 letters are asked for in an empty folder until their negative entries fill a part \
           of memory",
    doses: &[
        Dose { does: "reclaimable slab is 12 % of memory and grows by 2,000 names a second", policy: "" },
        Dose { does: "reclaimable slab is 20 % of memory and grows by 20,000 names a second", policy: "" },
        Dose { does: "reclaimable slab is 30 % of memory and grows by 50,000 names a second", policy: "" },
    ],
    seconds: 33,
    needs: &[],
    proof: &[Proof::Part("SReclaimable", 0.1), Proof::Grows("nr_slab_reclaimable", 100.0)],
    make,
};

/// The folder goes at the end, and the kernel's memory of its names with it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let folder = Folder(folder().join(format!("{LEFT}{}", std::process::id())));
    std::fs::create_dir(&folder.0)?;
    let until = (total()? as f64 * severity.of([0.12, 0.20, 0.30])) as u64;
    let full = AtomicBool::new(false);
    let seeds = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..cpus() {
            scope.spawn(|| {
                let mut places = Places::from(seeds.fetch_add(1, Ordering::Relaxed));
                while stage.goes_on() && !full.load(Ordering::Relaxed) {
                    ask(&folder.0, &mut places, 20_000);
                    full.fetch_or(reclaimable() >= until, Ordering::Relaxed);
                }
            });
        }
    });
    stage.ready();
    let mut places = Places::from(seeds.load(Ordering::Relaxed));
    while stage.goes_on() {
        ask(&folder.0, &mut places, severity.of([200, 2_000, 5_000]));
        stage.pause(std::time::Duration::from_millis(100));
    }
    Ok(())
}

fn ask(folder: &Path, places: &mut Places, names: u32) {
    let padding = "x".repeat(220);
    for _ in 0..names {
        let _ = std::fs::symlink_metadata(folder.join(format!("{:020}{padding}", places.below(usize::MAX))));
    }
}

fn reclaimable() -> u64 {
    meminfo::read(&Root::live()).ok().and_then(|memory| memory.get("SReclaimable").copied()).unwrap_or(u64::MAX)
}
