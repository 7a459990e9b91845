//! A program that fills memory against streams that fill the page cache: it has to free pages itself.

use super::memory::{HUGE, PAGE, touch};
use super::streams::{Reader, full_cache, part};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "direct-reclaim-stalls",
    what: "memory is taken until 4.5 GiB are available, a stream fills the page cache in single pages, and threads map \
           512 MiB, touch every page and unmap; vm.watermark_scale_factor is 1 and vm.min_free_kbytes 16384, so kswapd \
           wakes late and has little room",
    doses: &[
        Dose { does: "one stream, one thread", policy: POLICY },
        Dose { does: "two streams, three threads", policy: POLICY },
        Dose { does: "two streams, eight threads", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::Grows("allocstall_*", 1.0), Proof::Grows("pgsteal_direct", 100.0)],
    make,
};

const POLICY: &str = "vm.watermark_scale_factor=1,vm.min_free_kbytes=16384";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (streams, threads) = severity.of([(1, 1), (2, 3), (2, 8)]);
    // At most 2 GiB at a time, out of what the page cache has.
    let each = severity.of([512usize, 512, 256]) << 20;
    full_cache(stage, |file| {
        let readers: Vec<_> = (0..streams)
            .map(|index| {
                let (begin, end) = part(64 << 30, index, streams);
                Mutex::new(Reader::of(file, begin, end))
            })
            .collect();
        stage.work(streams + threads, 100, |index| match readers.get(index) {
            Some(reader) => reader.lock().map_or(Ok(()), |mut reader| reader.fill(stage, 32 << 20)),
            None => {
                let mut mapping = Mapping::new(each, HUGE, PageAdvice::Base)?;
                mapping
                    .bytes()
                    .chunks_mut(16 << 20)
                    .take_while(|_| stage.goes_on())
                    .for_each(|bytes| touch(bytes, PAGE));
                Ok(())
            }
        })
    })
}
