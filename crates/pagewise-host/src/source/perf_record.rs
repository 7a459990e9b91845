//! Records of perf events, as the kernel writes them into a ring (`enum perf_event_type`, `include/uapi/linux/perf_event.h`):
//! bytes in, values out. The layout is that of events opened by `sys::perf_event::Opened`.

/// Numbers in a stack that are no addresses but say whose addresses follow.
const CONTEXT_KERNEL: u64 = -128i64 as u64;
const CONTEXT_USER: u64 = -512i64 as u64;
const CONTEXT_LOWEST: u64 = -4095i64 as u64;

/// Thread, instant and CPU of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleId {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// CLOCK_MONOTONIC in nanoseconds.
    pub time: u64,
    /// The CPU.
    pub cpu: u32,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A stack: addresses in the kernel, then in the program, the innermost first.
    Stack {
        /// Whose.
        who: SampleId,
        /// In the kernel.
        kernel: Vec<u64>,
        /// In the program.
        user: Vec<u64>,
    },
    /// A tracepoint with its fields, which begin with its number.
    Fields {
        /// Whose.
        who: SampleId,
        /// As its `format` file says.
        fields: &'a [u8],
    },
    /// Code was mapped.
    Mapped {
        /// By whom.
        who: SampleId,
        /// What.
        mapped: Mapped<'a>,
    },
    /// A thread has another name.
    Named {
        /// Which.
        who: SampleId,
        /// Its name.
        comm: &'a [u8],
        /// Because it runs another program now.
        is_exec: bool,
    },
    /// A process or thread was started.
    Started {
        /// The new one.
        who: SampleId,
        /// Process and thread that started it.
        parent: (u32, u32),
    },
    /// A thread ended.
    Ended {
        /// Which.
        who: SampleId,
    },
    /// So many records found no room in the ring.
    Lost(u64),
    /// Sampling was paused (or goes on) because it took too much time.
    Throttled,
    /// Something that is not read.
    Other,
}

/// A range of addresses that holds a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped<'a> {
    /// The process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// Device and file number; 0 where there is no file.
    pub device: (u32, u32),
    /// See `device`.
    pub inode: u64,
    /// Path of the file or a name in brackets.
    pub path: &'a [u8],
}

/// Whether samples hold stacks or fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `TID | TIME | CPU | CALLCHAIN`.
    Stacks,
    /// `TID | TIME | CPU | RAW`.
    Fields,
}

/// Reads numbers one after the other.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_ne_bytes)
    }

    fn who(&mut self) -> Option<SampleId> {
        let (pid, tid, time, cpu) = (self.u32()?, self.u32()?, self.u64()?, self.u32()?);
        self.u32()?;
        Some(SampleId { pid, tid, time, cpu })
    }

    /// Up to the first NUL.
    fn text(&self) -> &'a [u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// `sample_id_all`: thread, time and CPU stand at the end of each record that is no sample.
const TRAILER: usize = 24;
const HEADER: usize = 8;

/// All records of a piece of a ring that begins and ends between two of them. What is cut or makes no sense ends it, as the
/// last item `None`.
pub fn records(mut bytes: &[u8], layout: Layout) -> impl Iterator<Item = Option<Record<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let one = split(bytes).and_then(|(kind, misc, body, rest)| {
            bytes = rest;
            record(kind, misc, body, layout)
        });
        if one.is_none() {
            bytes = &[];
        }
        Some(one)
    })
}

fn split(bytes: &[u8]) -> Option<(u32, u16, &[u8], &[u8])> {
    let mut head = Cursor(bytes.get(..HEADER)?);
    let kind = head.u32()?;
    let misc = head.take(2)?.try_into().ok().map(u16::from_ne_bytes)?;
    let size = head.take(2)?.try_into().ok().map(u16::from_ne_bytes)?;
    let body = bytes.get(HEADER..usize::from(size))?;
    Some((kind, misc, body, &bytes[usize::from(size)..]))
}

fn record(kind: u32, misc: u16, body: &[u8], layout: Layout) -> Option<Record<'_>> {
    const COMM_EXEC: u16 = 1 << 13;
    const MMAP_BUILD_ID: u16 = 1 << 14;
    let trailer = || {
        let at = body.len().checked_sub(TRAILER)?;
        Some((Cursor(&body[..at]), Cursor(&body[at..]).who()?))
    };
    Some(match kind {
        // LOST: id and number. LOST_SAMPLES: number.
        2 => Record::Lost(Cursor(body.get(8..)?).u64()?),
        13 => Record::Lost(Cursor(body).u64()?),
        3 => {
            let (mut body, who) = trailer()?;
            body.take(8)?;
            Record::Named { who, comm: body.text(), is_exec: misc & COMM_EXEC != 0 }
        }
        4 => Record::Ended { who: trailer()?.1 },
        5 | 6 => Record::Throttled,
        7 => {
            let (mut body, who) = trailer()?;
            let (pid, parent, tid, parent_tid) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
            Record::Started { who: SampleId { pid, tid, ..who }, parent: (parent, parent_tid) }
        }
        9 => sample(body, layout)?,
        10 => {
            let (mut body, who) = trailer()?;
            let pid = body.u32()?;
            body.u32()?;
            let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
            let (device, inode) = ((body.u32()?, body.u32()?), body.u64()?);
            body.take(16)?;
            let (device, inode) = if misc & MMAP_BUILD_ID == 0 { (device, inode) } else { ((0, 0), 0) };
            Record::Mapped { who, mapped: Mapped { pid, start, length, offset, device, inode, path: body.text() } }
        }
        _ => Record::Other,
    })
}

fn sample(body: &[u8], layout: Layout) -> Option<Record<'_>> {
    let mut body = Cursor(body);
    let who = body.who()?;
    if layout == Layout::Fields {
        let size = body.u32()? as usize;
        return Some(Record::Fields { who, fields: body.take(size)? });
    }
    let count = usize::try_from(body.u64()?).ok()?;
    let mut addresses = Cursor(body.take(count.checked_mul(8)?)?);
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    let mut context = 0;
    while let Some(address) = addresses.u64() {
        match (address, context) {
            (address, _) if address >= CONTEXT_LOWEST => context = address,
            (address, CONTEXT_KERNEL) => kernel.push(address),
            (address, CONTEXT_USER) => user.push(address),
            _ => {}
        }
    }
    Some(Record::Stack { who, kernel, user })
}

/// Records as the kernel would write them, for tests.
#[cfg(test)]
pub(crate) mod made_up {
    use super::*;

    fn bytes(who: SampleId) -> Vec<u8> {
        let mut bytes = [who.pid.to_ne_bytes(), who.tid.to_ne_bytes()].concat();
        bytes.extend(who.time.to_ne_bytes());
        bytes.extend(u64::from(who.cpu).to_ne_bytes());
        bytes
    }

    pub(crate) fn frame(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(((body.len() + HEADER) as u16).to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    pub(crate) fn stack(who: SampleId, kernel: &[u64], user: &[u64]) -> Vec<u8> {
        let all: Vec<u64> = [&[CONTEXT_KERNEL], kernel, &[CONTEXT_USER], user].concat();
        let mut body = bytes(who);
        body.extend((all.len() as u64).to_ne_bytes());
        all.iter().for_each(|address| body.extend(address.to_ne_bytes()));
        frame(9, 0, &body)
    }

    pub(crate) fn fields(who: SampleId, fields: &[u8]) -> Vec<u8> {
        let mut body = bytes(who);
        body.extend((fields.len() as u32).to_ne_bytes());
        body.extend(fields);
        frame(9, 0, &body)
    }

    pub(crate) fn lost(count: u64) -> Vec<u8> {
        frame(2, 0, &[7u64.to_ne_bytes(), count.to_ne_bytes()].concat())
    }

    pub(crate) fn named(who: SampleId, comm: &str, is_exec: bool) -> Vec<u8> {
        let mut body = [who.pid.to_ne_bytes(), who.tid.to_ne_bytes()].concat();
        body.extend(comm.as_bytes());
        body.resize(body.len().next_multiple_of(8) + 8, 0);
        body.extend(bytes(who));
        frame(3, if is_exec { 1 << 13 } else { 0 }, &body)
    }

    pub(crate) fn mapped(who: SampleId, start: u64, length: u64, offset: u64, path: &str) -> Vec<u8> {
        let mut body = [who.pid.to_ne_bytes(), who.tid.to_ne_bytes()].concat();
        [start, length, offset, 8 << 32 | 3, 99].iter().for_each(|word| body.extend(word.to_ne_bytes()));
        body.extend([0; 16]);
        body.extend(path.as_bytes());
        body.resize(body.len().next_multiple_of(8) + 8, 0);
        body.extend(bytes(who));
        frame(10, 0, &body)
    }

    pub(crate) fn started(who: SampleId, parent: u32) -> Vec<u8> {
        let mut body: Vec<u8> = [who.pid, parent, who.tid, parent].iter().flat_map(|word| word.to_ne_bytes()).collect();
        body.extend(who.time.to_ne_bytes());
        body.extend(bytes(who));
        frame(7, 0, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHO: SampleId = SampleId { pid: 70, tid: 71, time: 5_000, cpu: 1 };

    #[test]
    fn each_kind_of_record_is_read_as_it_was_written() {
        let mut ring = made_up::stack(WHO, &[0xffff_ffff_8100_0000], &[0x40_1000, 0x40_2000]);
        ring.extend(made_up::lost(12));
        ring.extend(made_up::named(WHO, "java", true));
        ring.extend(made_up::mapped(WHO, 0x40_0000, 0x3000, 0x1000, "/usr/bin/java"));
        ring.extend(made_up::started(WHO, 60));
        ring.extend(made_up::frame(5, 0, &[0; 48]));
        ring.extend(made_up::frame(77, 0, &[0; 16]));
        let path = b"/usr/bin/java";
        let mapped =
            Mapped { pid: 70, start: 0x40_0000, length: 0x3000, offset: 0x1000, device: (3, 8), inode: 99, path };
        let read: Vec<_> = records(&ring, Layout::Stacks).collect();
        let expected = [
            Record::Stack { who: WHO, kernel: vec![0xffff_ffff_8100_0000], user: vec![0x40_1000, 0x40_2000] },
            Record::Lost(12),
            Record::Named { who: WHO, comm: b"java", is_exec: true },
            Record::Mapped { who: WHO, mapped },
            Record::Started { who: WHO, parent: (60, 60) },
            Record::Throttled,
            Record::Other,
        ];
        assert_eq!(read, expected.map(Some));
        let ring = made_up::fields(WHO, &[1, 2, 3, 4]);
        let read: Vec<_> = records(&ring, Layout::Fields).collect();
        assert_eq!(read, [Some(Record::Fields { who: WHO, fields: &[1, 2, 3, 4] })]);
    }

    #[test]
    fn what_is_cut_ends_the_piece_and_says_so() {
        let mut ring = made_up::lost(1);
        ring.extend(&made_up::stack(WHO, &[1], &[])[..30]);
        assert_eq!(records(&ring, Layout::Stacks).collect::<Vec<_>>(), [Some(Record::Lost(1)), None]);
        let endless = made_up::frame(9, 0, &[[0xffu8; 24], [0xff; 24]].concat());
        assert_eq!(records(&endless, Layout::Stacks).collect::<Vec<_>>(), [None], "2^64 - 1 addresses");
        assert_eq!(records(&[9, 0, 0, 0, 0, 0, 0, 0], Layout::Stacks).collect::<Vec<_>>(), [None], "size 0");
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(
            kinds in prop::collection::vec((0u32..20, any::<u16>(), prop::collection::vec(any::<u8>(), 0..90)), 0..8),
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut ring: Vec<u8> = kinds.iter().flat_map(|(kind, misc, body)| made_up::frame(*kind, *misc, body)).collect();
            ring.extend(tail);
            prop_assert!(records(&ring, Layout::Stacks).count() <= ring.len());
            prop_assert!(records(&ring, Layout::Fields).count() <= ring.len());
        }
    }
}
