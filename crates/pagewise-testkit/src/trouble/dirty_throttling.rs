//! Writers that are faster than what may be dirty.

use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::os::unix::fs::FileExt;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "dirty-throttling",
    what: "little may be dirty, and writers write their file of 1 GiB over and over",
    doses: &[
        Dose { does: "one writer, 96 MiB may be dirty", policy: "vm.dirty=96M,vm.dirty_background=48M" },
        Dose { does: "two writers, 48 MiB may be dirty", policy: "vm.dirty=48M,vm.dirty_background=24M" },
        Dose { does: "four writers, 16 MiB may be dirty", policy: "vm.dirty=16M,vm.dirty_background=8M" },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::Grows("nr_dirtied", 1_000.0)],
    make,
};

const FILE: u64 = 1 << 30;
const CHUNK: u64 = 4 << 20;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let files = (0..severity.of([1, 2, 4])).map(|_| stage.file()).collect::<io::Result<Vec<_>>>()?;
    let chunk = vec![1u8; CHUNK as usize];
    stage.work(files.len(), 100, |index| {
        for at in (0..FILE).step_by(CHUNK as usize).take_while(|_| stage.goes_on()) {
            files[index].write_all_at(&chunk, at)?;
        }
        Ok(())
    })
}
