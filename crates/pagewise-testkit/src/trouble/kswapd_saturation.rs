//! Streams through a full page cache of pages that many mappings share: kswapd has to unmap each everywhere before it can free it.

use super::streams::{Reader, full_cache};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::file_mapping::FileMapping;
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "kswapd-saturation",
    what: "memory is taken until 4.5 GiB are available, and a stream has a file of holes of 64 GiB brought into the page cache that \
           is left, in single pages without copying them (POSIX_FADV_RANDOM, sendfile to /dev/null), and maps what it brought in \
           several times over (MADV_POPULATE_READ); vm.watermark_scale_factor is 200, so that kswapd has room to fall behind",
    doses: &[
        Dose { does: "one stream, mapped twice", policy: POLICY },
        Dose { does: "two streams, mapped twice, that give way to kswapd", policy: POLICY },
        Dose { does: "three streams, mapped twice, that give way to kswapd", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::Grows("pgscan_kswapd", 10_000.0), Proof::Thread("kswapd", 0.8)],
    make,
};

const POLICY: &str = "vm.watermark_scale_factor=200";

const FILE: usize = 64 << 30;

/// Brought in and mapped at a time.
const STEP: usize = 32 << 20;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    full_cache(stage, |file| {
        let (streams, mappings) = severity.of([(1, 2), (2, 2), (3, 2)]);
        if streams > 1 {
            // Else kswapd gets its part of the CPUs alone, and the streams reclaim for themselves. Where the kernel groups tasks
            // by session, their nice value counts among themselves only.
            let _ = std::fs::write("/proc/self/autogroup", "19");
        }
        let mappings: Vec<FileMapping> =
            (0..mappings).map(|_| FileMapping::of(file, FILE)).collect::<io::Result<_>>()?;
        let streams: Vec<_> = (0..streams)
            .map(|index| {
                let begin = FILE / streams / STEP * STEP * index;
                let mut reader = Reader::of(file, 0, FILE as u64);
                reader.start_at(begin as u64);
                Mutex::new((reader, begin))
            })
            .collect();
        stage.work(streams.len(), 100, |index| {
            let Ok(mut stream) = streams[index].lock() else { return Ok(()) };
            let (reader, at) = &mut *stream;
            reader.fill(stage, STEP as u64)?;
            for mapping in &mappings {
                mapping.bring_in(*at, STEP)?;
            }
            *at = (*at + STEP) % FILE;
            Ok(())
        })
    })
}
