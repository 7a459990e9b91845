//! What the kernel tells, and what programs leave for those that name addresses.

use pagewise_host::source::perf_record::{Layout, records};
use pagewise_host::source::tracefs::Format;
use pagewise_host::source::visit::Each;
use pagewise_host::source::{TEXT_FILES, buddyinfo, cpu, diskstats, meminfo, process, psi, swaps, vmstat, zoneinfo};

/// Every parser reads every text: none may rely on being given its own file.
pub(super) fn files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for file in TEXT_FILES {
        let mut numbers = 0u64;
        let _ = (file.parse)(&text, &mut Each(|_: pagewise_host::source::visit::Number<'_, '_>| numbers += 1));
    }
    let _ = (vmstat::parse(&text), meminfo::parse(&text), psi::parse(&text, "/proc/pressure/memory"));
    if let Ok(zones) = buddyinfo::parse(&text) {
        let nodes = buddyinfo::nodes(&zones);
        let _ = (nodes.len(), buddyinfo::lowest_unusable(&nodes));
    }
    if let Ok(times) = cpu::parse(&text) {
        let _ = (times.since(times).busy_share(), times.system_share(), times.busy_share(), times.steal_share());
    }
    let _ = (diskstats::sum(&text, |_| true), zoneinfo::parse_cpu_lists(&text));
    for line in swaps::lines(&text).flatten() {
        let _ = (line.size_kib(), line.used_kib(), line.priority());
    }
    let _ = (process::parse_status(&text), process::parse_session(&text), process::parse_start_time(&text));
    let _ = process::parse_stat(bytes);
    let format = Format::parse(&text);
    for name in ["x", "common_type", "order"] {
        let words = format.words(name);
        let value = format.field(name).and_then(|field| field.value(bytes));
        let _ = words.of(value.unwrap_or(i64::MIN));
    }
}

pub(super) fn file_samples() -> Vec<Vec<u8>> {
    const FILES: [&str; 12] = [
        "nr_free_pages 1000\nnr_dirty -3\npgfault 5\nallocstall_normal 7\nthp_fault_alloc 9\n",
        "MemTotal:       24683520 kB\nMemFree: 100 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n",
        "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5 1 2\nctxt 9\nbtime 1\nprocesses 3\n",
        "Node 0, zone   Normal\n  per-node stats\n      nr_inactive_anon 5\n  pages free     9\n        boost    0\n        min \
         1\n        low      2\n        high     3\n        managed  99\n        protection: (0, 1)\n      nr_free_pages \
         9\n  pagesets\n    cpu: 0\n              count:    1\n              high:     2\n              batch:    3\n",
        "Node 0, zone      DMA      1      1      0\nNode 0, zone   Normal      1      2      3\n",
        "some avg10=0.12 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda2\\040x partition 1020 4 -2\n/swap file 8 0 5\n",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t12\t1\nmemory\t4\t48211\t1\nnet_cls\t0\t1\t1\n",
        "254 0 vda 10 0 100 1 20 0 200 1 0 1 1\n254 1 vda1 10 0 100 1 20 0 200 1 0 1 1\n",
        "9 (kswapd0) (x)) S 2 0 0 0 -1 2360384 0 0 0 0 1 2 0 0 20 0 1 0 55 0 0 18446744073709551615 0 0 0 0 0 0 0\n",
        "Name:\tjava\nVmRSS:\t 100 kB\nRssAnon:\t 90 kB\nVmSwap:\t 1 kB\nThreads:\t5\n",
        "name: x\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int \
         order;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"order=%d %s\", REC->order, __print_symbolic(REC->x, {0, \
         \"none\"}, {0x1, \"some\"})\n",
    ];
    FILES.map(|text| text.as_bytes().to_vec()).to_vec()
}

pub(super) fn ring(bytes: &[u8]) {
    for layout in [Layout::Stacks, Layout::Fields] {
        let _ = records(bytes, layout).flatten().count();
    }
}

/// Records as the kernel lays them out (`enum perf_event_type`, `include/uapi/linux/perf_event.h`, 6.12).
pub(super) fn rings() -> Vec<Vec<u8>> {
    let record = |kind: u32, misc: u16, body: &[u8]| {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(((body.len() + 8) as u16).to_ne_bytes());
        bytes.extend(body);
        bytes
    };
    let numbers = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
    // Process and thread, the instant, the CPU.
    let who = numbers(&[(7 << 32) | 7, 1_000, 1]);
    let stack = numbers(&[4, -128i64 as u64, 0xffff_ffff_8100_0000, -512i64 as u64, 0x7f00_1000]);
    let name = [&numbers(&[(7 << 32) | 7])[..], b"java\0\0\0\0", &who].concat();
    let mapping = numbers(&[(7 << 32) | 7, 0x7f00_0000, 0x1000, 0, (1 << 32) | 254, 42, 0, 0]);
    let mapped = [&mapping[..], b"/usr/lib/libc.so.6\0\0\0\0\0\0", &who].concat();
    let fields = [&who[..], &8u32.to_ne_bytes(), &[1, 0, 0, 0, 9, 0, 0, 0]].concat();
    let stacks = [
        record(9, 1, &[who.clone(), stack].concat()),
        record(3, 1 << 13, &name),
        record(10, 2, &mapped),
        record(7, 0, &[numbers(&[7, 7, 1]), who.clone()].concat()),
        record(4, 0, &[numbers(&[7, 7, 1]), who].concat()),
        record(2, 0, &numbers(&[1, 5])),
        record(13, 0, &numbers(&[5])),
        record(5, 0, &[]),
    ];
    vec![stacks.concat(), record(9, 1, &fields)]
}

/// The first eight bytes say at which address something is looked for.
pub(super) fn symbols(bytes: &[u8]) {
    let (place, file) =
        bytes.split_first_chunk::<8>().map_or((0, bytes), |(place, file)| (u64::from_le_bytes(*place), file));
    pagewise_host::read_symbols(file, place);
    pagewise_host::read_symbols(file, place % 4096);
}

pub(super) fn symbol_files() -> Vec<Vec<u8>> {
    let at = |place: u64, file: &[u8]| [&place.to_le_bytes()[..], file].concat();
    vec![
        at(0x1008, &program()),
        at(0x7f0015, b"7f0010 20 Lold;::sort\n0x10 8 early\nbad\n"),
        at(0xffff_ffff_8100_0010, b"ffffffff81000000 T _text\nffffffff81000010 t work\t[ext4]\n0000000000000000 A zero\n"),
        at(0x55d0_0000, b"55d00000-55d01000 r-xp 00001000 fe:00 42   /usr/bin/x (deleted)\n7fff0000-7fff1000 r-xp 0 00:00 0 [vdso]\n"),
        at(0, b"_ZNSt6vectorIiSaIiEE9push_backEOi"),
        at(0, b"_RNvCs1234_7mycrate3foo"),
    ]
}

/// A program of 64 bits with a symbol table of one function and its name.
fn program() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, if cfg!(target_endian = "little") { 1 } else { 2 }]);
    bytes[40..48].copy_from_slice(&64u64.to_ne_bytes());
    bytes[60..62].copy_from_slice(&2u16.to_ne_bytes());
    for (kind, at, size) in [(2u32, 192u64, 24u64), (3, 216, 6)] {
        let mut section = [0; 64];
        section[4..8].copy_from_slice(&kind.to_ne_bytes());
        section[24..32].copy_from_slice(&at.to_ne_bytes());
        section[32..40].copy_from_slice(&size.to_ne_bytes());
        section[40..44].copy_from_slice(&1u32.to_ne_bytes());
        bytes.extend(section);
    }
    bytes.extend([1, 0, 0, 0, 2, 0, 1, 0]);
    bytes.extend(0x1000u64.to_ne_bytes());
    bytes.extend(0x20u64.to_ne_bytes());
    bytes.extend(b"\0work\0");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_host::source::perf_record::Record;

    #[test]
    fn samples_are_what_the_kernel_writes() {
        let [stacks, fields] = rings().try_into().expect("two pieces");
        let read: Vec<_> = records(&stacks, Layout::Stacks).collect();
        assert_eq!(read.len(), 8);
        assert!(read.iter().all(Option::is_some), "{read:?}");
        assert!(matches!(read[0], Some(Record::Stack { .. })) && matches!(read[2], Some(Record::Mapped { .. })));
        assert!(matches!(records(&fields, Layout::Fields).next(), Some(Some(Record::Fields { .. }))));
        let of_whom = |text: &[u8]| {
            TEXT_FILES
                .iter()
                .filter(|file| {
                    let text = std::str::from_utf8(text).unwrap();
                    let mut numbers = 0;
                    let mut each = Each(|_: pagewise_host::source::visit::Number<'_, '_>| numbers += 1);
                    (file.parse)(text, &mut each).is_ok() && numbers > 1
                })
                .count()
        };
        let understood = file_samples().iter().take(8).filter(|text| of_whom(text) > 0).count();
        assert_eq!(understood, 8, "each of the first is a file of its own");
    }
}
