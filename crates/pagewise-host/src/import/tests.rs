//! Files as they are given: written and read again, of the wrong kind, bent, endless; and a folder of sos.

use super::*;
use crate::store::recording::Recording;
use pagewise_core::recording::Recorded;
use pagewise_core::recording::{Block, GapReason};
use std::fs;
use std::path::Path;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports")
}

fn file(kind: Kind, name: &str) -> KindFile {
    KindFile { kind: Some(kind), path: samples().join(name) }
}

fn error(kind: &str, path: &Path) -> String {
    let file: KindFile = format!("{kind}:{}", path.display()).parse().unwrap();
    open(&[file], &Assumed::default()).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_what_was_imported() {
    let files = [
        file(Kind::Collectl, "collectl-thp-off.txt"),
        file(Kind::Collectl, "collectl-thp-on.txt"),
        file(Kind::PerfTop, "perf-top-thp-on.txt"),
    ];
    let mut assumed = Assumed::default();
    assumed.about("kernel", "2.6.32-220").unwrap();
    assumed.setting("thp.enabled", "always");
    let imported = open(&files, &assumed).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("2012.pgw");
    write(&imported, &path).unwrap();
    let read = Recording::open(&path).unwrap();
    assert!(read.is_complete());
    let mut series = imported.series().to_vec();
    series.sort_by(|a, b| (&a.source, a.column).cmp(&(&b.source, b.column)));
    assert_eq!(read.series(), series);
    let values = |blocks: Vec<Block>| -> Vec<(u64, i64, Vec<u64>)> {
        let all = blocks.iter().flat_map(|block| {
            series.iter().flat_map(|one| {
                block.values(one).map(|(tick, value)| (tick.begin, tick.wall_offset, vec![value])).collect::<Vec<_>>()
            })
        });
        all.collect()
    };
    let (a, b) = (imported.blocks().map(Result::unwrap).collect(), read.blocks().map(Result::unwrap).collect());
    assert_eq!(values(a), values(b));
    assert_eq!((read.settings().unwrap(), read.about("kernel")), (imported.settings().unwrap(), Some("2.6.32-220")));
    assert_eq!(read.marks().unwrap(), imported.marks().unwrap());
    assert_eq!(read.gaps(), imported.gaps());
    let (mine, theirs) = (imported.profile().unwrap().unwrap(), read.profile().unwrap().unwrap());
    assert_eq!((mine.samples, mine.event, mine.hz), (theirs.samples, theirs.event, theirs.hz));
    assert_eq!(mine.stacks.frames(), theirs.stacks.frames());
    assert!(matches!(write(&imported, &path), Err(RecordingError::Exists(_))));
}

#[test]
fn the_command_line_names_kind_and_file() {
    let read = |text: &str| text.parse::<KindFile>().map(|file| (file.kind, file.path.display().to_string()));
    assert_eq!(read("perf-script:a:b.txt"), Ok((Some(Kind::PerfScript), "a:b.txt".to_owned())));
    for (text, path) in
        [("a.txt", "a.txt"), ("auto:a.txt", "a.txt"), ("auto:sar:a", "sar:a"), ("14:03.txt", "14:03.txt")]
    {
        assert_eq!(read(text), Ok((None, path.to_owned())), "{text}");
    }
    for text in ["", "sar:", "sar", "auto", "auto:"] {
        assert!(read(text).unwrap_err().contains("is not KIND:FILE"), "{text}");
    }
    let file: KindFile = "sarr:none.txt".parse().unwrap();
    let error = open(&[file], &Assumed::default()).unwrap_err().to_string();
    assert!(error.contains("no such file") && error.contains("'sarr' is no kind"), "{error}");
}

#[test]
fn a_flame_graph_may_be_one_long_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.svg");
    let leaf = |at: u32| {
        format!(
            "<g><title>f{at} (1 samples, 0.05%)</title><rect x=\"0%\" y=\"64\" width=\"1%\" fg:x=\"{at}\" fg:w=\"1\"/><text>f{at}</text></g>"
        )
    };
    let base = |name: &str, y: u32| {
        format!(
            "<g><title>{name} (2,000 samples, 100%)</title><rect x=\"0%\" y=\"{y}\" width=\"100%\" fg:x=\"0\" fg:w=\"2000\"/></g>"
        )
    };
    let leaves: String = (0..2000).map(leaf).collect();
    fs::write(&path, format!("<?xml version=\"1.0\"?><svg>{}{}{leaves}</svg>", base("all", 96), base("java", 80)))
        .unwrap();
    let file: KindFile = format!("auto:{}", path.display()).parse().unwrap();
    let imported = open(&[file], &Assumed::default()).unwrap();
    let profile = imported.profile().unwrap().unwrap();
    assert_eq!(profile.samples.len(), 2000);
    assert!(profile.samples.iter().all(|sample| sample.comm == "java" && sample.count == 1));
}

#[test]
fn a_file_of_another_kind_is_told_what_to_do_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for (bytes, says) in [
        (&b"\x1f\x8b\x08\0"[..], "gunzip"),
        (b"PERFILE2....", "perf script -i"),
        (b"\x96\xd5\0\0", "sar -f"),
        (b"\xff\xfea\0", "iconv"),
        (b"\xfd7zXZ\0", "tar xf"),
        (b"", "it holds no row of sar"),
        (b"\0\0\0\0\n\0\0\n", "it holds no row of sar"),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = error("sar", &path);
        assert!(error.contains(says) && error.contains(&path.display().to_string()), "{error}");
    }
    fs::write(&path, "x".repeat(70_000)).unwrap();
    assert!(error("sar", &path).contains("line 1: it is longer than"), "{}", error("sar", &path));
    assert!(error("sar", Path::new("/dev/zero")).contains("device"));
    assert!(error("sar", folder.path()).contains("folder"));
    assert!(error("sar", &folder.path().join("none")).contains("cannot read"));
    assert!(error("sosreport", &path).contains("unpack"));
    assert!(error("sosreport", folder.path()).contains("proc/vmstat"));
}

#[test]
fn a_sosreport_gives_levels_and_settings_and_says_why_no_rates() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/vmstat", "nr_free_pages 1000\npgfault 5\nallocstall_normal 7\n"),
        ("proc/meminfo", "MemTotal:       24683520 kB\nMemFree: 100 kB\n"),
        ("proc/buddyinfo", "Node 0, zone   Normal      1      2      3\n"),
        ("proc/version", "Linux version 5.14.0-427.el9.x86_64 (mock@x) #1 SMP\n"),
        ("proc/sys/vm/swappiness", "10\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("sos_commands/kernel/sysctl_-a", "vm.swappiness = 10\nvm.zone_reclaim_mode = 1\nnet.x = 1\nbad line\n"),
        ("date", "Sat Nov 21 17:26:49 UTC 2026\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let file = KindFile { kind: Some(Kind::Sosreport), path: folder.path().to_owned() };
    let imported = open(&[file], &Assumed::default()).unwrap();
    assert_eq!((imported.ticks(), imported.about("kernel")), (1, Some("5.14.0-427.el9.x86_64")));
    assert_eq!(imported.about("import.zero"), Some("2026-11-21T00:00:00Z"));
    let names: Vec<&str> = imported.series().iter().map(|series| series.name.as_str()).collect();
    assert!(names.contains(&"nr_free_pages") && names.contains(&"MemFree") && !names.contains(&"pgfault"), "{names:?}");
    let setting = |name: &str| {
        let settings = imported.settings().unwrap();
        settings.into_iter().find(|setting| setting.path == name).and_then(|setting| setting.value)
    };
    assert_eq!(setting("thp.enabled").as_deref(), Some("always"));
    assert_eq!(setting("vm.swappiness").as_deref(), Some("10"));
    assert_eq!(setting("vm.zone_reclaim_mode").as_deref(), Some("1"));
    assert_eq!(setting("net.x"), None);
    let gap = |word: &str| imported.gaps().iter().find(|gap| gap.reason.word() == word).map(|gap| gap.detail.clone());
    assert!(gap("one_instant").unwrap().contains("2 totals"));
    let psi = imported.gaps().iter().find(|gap| gap.source.as_deref() == Some("psi_memory")).unwrap();
    assert_eq!(psi.reason.word(), "not_in_report", "what was not copied was not off");
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::Missing), "{:?}", imported.gaps());
}

#[test]
fn a_report_without_pressure_is_not_said_to_have_it_off() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("proc")).unwrap();
    fs::write(folder.path().join("proc/meminfo"), "MemTotal:       24683520 kB\nMemFree: 100 kB\n").unwrap();
    let file = KindFile { kind: None, path: folder.path().to_owned() };
    let imported = open(&[file], &Assumed::default()).unwrap();
    let Ok(observed) = pagewise_core::finding::Observed::of(&imported);
    let diagnosis = pagewise_core::finding::diagnose(&observed, "a report");
    let said = pagewise_core::report::findings::text_in_full(&diagnosis, pagewise_core::report::Style::default());
    assert!(!said.contains("PSI) is off") && !said.contains("PSI off"), "{said}");
}

fn auto(path: &Path) -> Result<Imported, ImportError> {
    open(&[KindFile { kind: None, path: path.to_owned() }], &Assumed::default())
}

#[test]
fn one_bad_file_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("notes.txt");
    fs::write(&bad, "hello\nworld\n").unwrap();
    let files = [
        KindFile { kind: Some(Kind::Sar), path: bad.clone() },
        file(Kind::Vmstat, "vmstat-t.txt"),
        KindFile { kind: None, path: bad.clone() },
        KindFile { kind: None, path: folder.path().join("none.txt") },
    ];
    let imported = open(&files, &Assumed::default()).unwrap();
    assert_eq!(imported.ticks(), 3);
    let left: Vec<&str> = imported.left_out().collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left[0].contains("as sar: it holds no row") && left[1].contains("no line of it is known"), "{left:?}");
    assert!(left[2].contains("cannot read") && left[2].contains("none.txt"), "{left:?}");
    let error = open(&[files[0].clone(), files[2].clone()], &Assumed::default()).unwrap_err().to_string();
    assert!(error.contains("nothing could be imported") && error.contains("as sar"), "{error}");
}

#[test]
fn a_pasted_thread_gives_each_of_its_listings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("thread.txt");
    let part = |name: &str| fs::read_to_string(samples().join(name)).unwrap();
    fs::write(&path, format!("We see this:\n\n{}\nand then\n\n{}", part("vmstat-t.txt"), part("perf-top-thp-on.txt")))
        .unwrap();
    let imported = auto(&path).unwrap();
    assert_eq!(imported.ticks(), 3);
    assert!(imported.profile().unwrap().is_some());
    assert!(imported.about("import.files").unwrap().contains("vmstat:thread.txt"));
}

#[test]
fn a_folder_of_a_collector_is_read_in_one_go() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive");
    for name in ["oswvmstat", "oswmeminfo", "oswps", "a/b/c/d"] {
        fs::create_dir_all(archive.join(name)).unwrap();
    }
    let part = |name: &str| fs::read(samples().join(name)).unwrap();
    fs::write(archive.join("oswvmstat/h_vmstat_24.11.26.1800.dat"), part("vmstat-zzz.txt")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&part("proc-zzz.txt")).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(archive.join("oswmeminfo/h_meminfo_24.11.26.1800.dat.gz"), &packed).unwrap();
    fs::write(archive.join("oswmeminfo/h_meminfo_24.11.26.1900.dat.gz"), &packed[..packed.len() / 2]).unwrap();
    for hour in 0..5 {
        fs::write(archive.join(format!("oswps/h_ps_{hour}.dat")), "zzz ***Sat Mar 1 00:00:00 CET 2014\nPID COMMAND\n")
            .unwrap();
    }
    fs::write(archive.join("oswvmstat/h_vmstat_24.11.26.1900.dat.bz2"), b"BZh91AY&SY").unwrap();
    fs::write(archive.join("a/b/c/d/too-deep.txt"), part("vmstat-t.txt")).unwrap();
    std::os::unix::fs::symlink(&archive, archive.join("loop")).unwrap();
    let imported = auto(folder.path()).unwrap();
    let names: Vec<&str> = imported.series().iter().map(|series| series.name.as_str()).collect();
    assert!(names.contains(&"interrupts_per_second") && names.contains(&"MemTotal"), "{names:?}");
    assert_eq!(imported.ticks(), 12);
    let left: Vec<&str> = imported.left_out().collect();
    let told = |text: &str| left.iter().any(|why| why.contains(text));
    assert!(told("5 files of") && told("and 2 more"), "the same wrong with many is told once: {left:?}");
    assert!(told("bunzip2") && told("cannot be unpacked"), "{left:?}");
    let empty = tempfile::tempdir().unwrap();
    assert!(auto(empty.path()).unwrap_err().to_string().contains("the folder has no file"));
}

#[test]
fn a_sosreport_with_pipes_and_links_out_of_it_ends_and_quotes_nothing_of_this_host() {
    use rustix::fs::{CWD, Mode, mkfifoat};
    let folder = tempfile::tempdir().unwrap();
    let vm = folder.path().join("proc/sys/vm");
    fs::create_dir_all(&vm).unwrap();
    fs::write(vm.join("overcommit_memory"), "1\n").unwrap();
    mkfifoat(CWD, folder.path().join("proc/vmstat"), Mode::RUSR | Mode::WUSR).unwrap();
    mkfifoat(CWD, vm.join("zone_reclaim_mode"), Mode::RUSR | Mode::WUSR).unwrap();
    for (target, link) in [
        ("/proc/meminfo", "proc/meminfo"),
        ("/dev/zero", "proc/stat"),
        ("/proc/version", "proc/version"),
        ("/proc/sys/vm/swappiness", "proc/sys/vm/swappiness"),
    ] {
        std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
    }
    let file = KindFile { kind: Some(Kind::Sosreport), path: folder.path().to_owned() };
    let imported = open(&[file], &Assumed::default()).unwrap();
    let settings: Vec<String> = imported.settings().unwrap().into_iter().map(|setting| setting.path).collect();
    assert_eq!(settings, ["vm.overcommit_memory"]);
    assert_eq!((imported.series().len(), imported.about("kernel")), (0, None));
    let told = |source: &str| {
        let gap = imported.gaps().iter().find(|gap| gap.source.as_deref() == Some(source)).unwrap();
        assert_eq!(gap.reason, GapReason::Unreadable, "{source}");
        gap.detail.clone()
    };
    assert!(told("vmstat").contains("it is a pipe"), "{}", told("vmstat"));
    assert!(told("meminfo").contains("it leads out of the tree"), "{}", told("meminfo"));
    assert!(told("stat").contains("it leads out of the tree"), "{}", told("stat"));
}
