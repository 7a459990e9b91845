//! Almost all that may be promised is promised: the next allocation may fail.
//!
//! Only address space is taken, so nothing runs out on this host, and the promise is so large that a per cent of it is room
//! enough for everybody else. Real shortage of the whole host is not made: it would end in the OOM killer.

use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::root::Root;
use pagewise_host::source::meminfo;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "oom-risk",
    what: "vm.overcommit_memory is 2 with a limit of 256 GiB, and a process maps almost all of it without using it",
    doses: &[
        Dose { does: "95.5 % of the limit", policy: POLICY },
        Dose { does: "97 % of the limit", policy: POLICY },
        Dose { does: "98.5 % of the limit", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::PartOf("Committed_AS", "CommitLimit", 0.95)],
    make,
};

const POLICY: &str = "vm.overcommit_limit=256G,vm.overcommit_memory=2";

const PIECE: usize = 512 << 20;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let part = severity.of([0.955, 0.97, 0.985]);
    let mut promised: Vec<Vec<u8>> = Vec::new();
    while stage.goes_on() && committed()? < part {
        let mut piece = Vec::new();
        piece.try_reserve_exact(PIECE).map_err(io::Error::other)?;
        promised.push(piece);
    }
    stage.stay();
    drop(promised);
    Ok(())
}

fn committed() -> io::Result<f64> {
    let memory = meminfo::read(&Root::live()).map_err(io::Error::other)?;
    let get = |name: &str| memory.get(name).map(|bytes| *bytes as f64);
    let part = get("Committed_AS").zip(get("CommitLimit")).map(|(committed, limit)| committed / limit);
    part.ok_or_else(|| io::Error::other("/proc/meminfo tells no CommitLimit"))
}
