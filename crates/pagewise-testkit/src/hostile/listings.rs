//! Files of other tools, as an import reads them.

use pagewise_core::export::{Selection, csv, folded, openmetrics, parquet, pprof, source_tables};
use pagewise_core::finding::{self, Observed};
use pagewise_core::import::{Assumed, Imported, Kind, kinds_in, merge, parse};
use pagewise_core::recording::Recorded;
use pagewise_core::report::{Style, findings};
use pagewise_host::import::{KindFile, open};
use std::fs;
use std::path::{Component, Path, PathBuf};

pub(super) fn collectl(bytes: &[u8]) {
    one(Kind::Collectl, bytes);
}

pub(super) fn sar(bytes: &[u8]) {
    one(Kind::Sar, bytes);
}

pub(super) fn nmon(bytes: &[u8]) {
    one(Kind::Nmon, bytes);
}

pub(super) fn atop(bytes: &[u8]) {
    one(Kind::Atop, bytes);
}

pub(super) fn top(bytes: &[u8]) {
    one(Kind::Top, bytes);
}

pub(super) fn vmstat(bytes: &[u8]) {
    one(Kind::Vmstat, bytes);
}

pub(super) fn perf_script(bytes: &[u8]) {
    one(Kind::PerfScript, bytes);
}

pub(super) fn perf_top(bytes: &[u8]) {
    one(Kind::PerfTop, bytes);
}

pub(super) fn perf_stat(bytes: &[u8]) {
    one(Kind::PerfStat, bytes);
}

pub(super) fn gc_log(bytes: &[u8]) {
    one(Kind::GcLog, bytes);
}

pub(super) fn trace_events(bytes: &[u8]) {
    one(Kind::TraceEvents, bytes);
}

pub(super) fn folded(bytes: &[u8]) {
    one(Kind::Folded, bytes);
}

pub(super) fn proc(bytes: &[u8]) {
    one(Kind::Proc, bytes);
}

pub(super) fn node_exporter(bytes: &[u8]) {
    one(Kind::NodeExporter, bytes);
}

pub(super) fn kernel_log(bytes: &[u8]) {
    one(Kind::KernelLog, bytes);
}

pub(super) fn dstat(bytes: &[u8]) {
    one(Kind::Dstat, bytes);
}

pub(super) fn free(bytes: &[u8]) {
    one(Kind::Free, bytes);
}

pub(super) fn slab(bytes: &[u8]) {
    one(Kind::Slab, bytes);
}

/// Alone and together with itself: two listings of a time are merged.
fn one(kind: Kind, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let assumed = Assumed::default();
    let _ = kinds_in(&text);
    match parse(kind, &text, &assumed) {
        Ok(listing) => use_all(&merge(vec![("a".into(), listing.clone()), ("b".into(), listing)], &assumed)),
        Err(problem) => assert!(!problem.remedy.is_empty(), "{problem:?}"),
    }
}

/// Reads everything there is, judges it, and writes it in every format.
fn use_all(imported: &Imported) {
    let selection = Selection::default();
    for block in imported.blocks() {
        let Ok(block) = block;
        assert!(block.ticks.windows(2).all(|pair| pair[0].begin < pair[1].begin), "ticks are in order");
        for series in imported.series() {
            let _ = block.values(series).count();
        }
    }
    let Ok(_) = csv::write(imported, &selection);
    let Ok(text) = openmetrics::write(imported, &selection);
    assert!(text.ends_with("# EOF\n"));
    let Ok(tables) = source_tables(imported, &selection);
    for table in &tables {
        parquet::write(table, &[], &|page| Ok(page.to_vec())).expect("a table of whole columns");
    }
    let Ok(profile) = imported.profile();
    if let Some(profile) = profile {
        let _ = folded::write(&profile, &selection);
        let _ = pprof::encode(&profile, &selection, None);
    }
    let Ok(observed) = Observed::of(imported);
    let diagnosis = finding::diagnose(&observed, "hostile");
    let said = findings::text(&diagnosis, Style::default());
    assert!(!said.contains('\u{1b}'), "no name steers a terminal");
}

pub(super) fn samples(beginning: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports");
    let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning));
    let mut files: Vec<PathBuf> = files.filter(is_of).collect();
    files.sort();
    files.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// A line that begins so is followed by the path of a file, and the file by the next such line.
const FILE: &[u8] = b"=== ";

/// Files of a report in one text, written into a folder of their own. Paths that lead out of it, and names that are taken by
/// a folder, are left out.
pub(super) fn sosreport(bytes: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    for (path, content) in files(bytes) {
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let path = folder.path().join(&path);
        let made = is_inside && path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok());
        if made {
            let _ = fs::write(path, content);
        }
    }
    let file = KindFile { kind: Some(Kind::Sosreport), path: folder.path().to_owned() };
    if let Ok(imported) = open(&[file], &Assumed::default()) {
        use_all(&imported);
    }
}

/// Up to a dozen of them.
fn files(bytes: &[u8]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let count = files.len();
        match (line.strip_prefix(FILE), files.last_mut()) {
            (Some(_), _) if count >= 12 => break,
            (Some(path), _) => {
                let path = String::from_utf8_lossy(path).trim().trim_start_matches('/').replace('\0', "");
                files.push((PathBuf::from(path), Vec::new()));
            }
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => {}
        }
    }
    files
}

/// What no kernel of today writes stands beside what one wrote.
pub(super) fn kernel_logs() -> Vec<Vec<u8>> {
    const OTHERS: &str = "Sep 20 16:12:36 h kernel: [1000.100000] java invoked oom-killer: gfp_mask=0x201da, order=0\n\
        Mem-Info:\nactive_anon:182187 inactive_anon:82354 isolated_anon:370\n free:9000 slab_reclaimable:2144 slab_unreclaimable:11443\n\
        Node 0 Normal free:16456kB min:16484kB low:20604kB high:24724kB active_file:0kB managed:990028kB\n\
        Normal: 2*4kB (UE) 1*8kB 0*16kB 0*32kB 0*64kB 1*128kB 0*256kB = 144kB\nFree swap  = 12kB\n524288 pages RAM\n\
        Out of memory: Kill process 77 (java) score 900 or sacrifice child\nKilled process 78 (node) total-vm:1kB\n\
        [85531.010995] sh: page allocation failure: order:4, mode:0x2040d0\n[85531.010996] x: page allocation stalls for 10056ms, order:0, mode:0x1\n\
        __alloc_pages: 0-order allocation failed (gfp=0x1d2/0) from c012b9b2\nVM: killing process xinetd\n\
        [93164.858068] INFO: task java:328 blocked for more than 120 seconds.\n[93164.862110] Call Trace:\n[93164.862125]  __schedule+0x2e3/0x740\n\
        [93164.862162]  shrink_page_list+0x7a8/0xbb0\n[93164.9] watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [java:1234]\n";
    samples("kernel-log").into_iter().chain([OTHERS.as_bytes().to_vec()]).collect()
}

pub(super) fn sosreports() -> Vec<Vec<u8>> {
    const REPORT: &str = "=== proc/vmstat\nnr_free_pages 1000\npgfault 5\nallocstall_normal 7\n\
        === proc/meminfo\nMemTotal:       24683520 kB\nMemFree: 100 kB\n\
        === proc/buddyinfo\nNode 0, zone   Normal      1      2      3\n\
        === proc/swaps\nFilename Type Size Used Priority\n/dev/sda2 partition 1020 4 -2\n\
        === proc/pressure/memory\nsome avg10=0.00 avg60=0.00 avg300=0.00 total=7\n\
        === sys/kernel/mm/transparent_hugepage/enabled\n[always] madvise never\n\
        === sos_commands/kernel/sysctl_-a\nvm.swappiness = 10\nvm.zone_reclaim_mode = 1\n\
        === date\nSat Nov 21 17:26:49 UTC 2026\n\
        === uname\nLinux h 6.12.0 #1 SMP x86_64 GNU/Linux\n";
    vec![REPORT.as_bytes().to_vec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_taken_apart_into_its_files_and_none_lies_outside() {
        let found = files(b"lost\n=== proc/a\none\ntwo\n=== /../b\nthree\n");
        assert_eq!(found[0], (PathBuf::from("proc/a"), b"one\ntwo\n".to_vec()));
        assert_eq!(found[1], (PathBuf::from("../b"), b"three\n".to_vec()));
        sosreport(b"=== /../../outside-of-it\nx\n");
        assert!(!std::env::temp_dir().join("outside-of-it").exists());
        let [report] = sosreports().try_into().expect("one report");
        assert_eq!(files(&report).len(), 9);
    }
}
