//! Tests of what `proc.rs` reads.

use super::super::tests::{recording, timed, values, with};
use super::super::{Imported, parse};
use super::*;
use crate::counter::Kind as Moves;
use crate::recording::{Recorded, WallClock};

const TWICE: &str = include_str!("../../../../../recordings/imports/proc-twice.txt");
const ZZZ: &str = include_str!("../../../../../recordings/imports/proc-zzz.txt");

fn read(text: &str) -> Imported {
    recording(&[(Kind::Proc, text)])
}

fn retold(line: &str) -> Option<Vec<retold::OfFile>> {
    retold::as_in_files(line, &line.split_whitespace().collect::<Vec<&str>>())
}

fn gap<'a>(imported: &'a Imported, word: &str) -> &'a str {
    imported.gaps().iter().find(|gap| gap.reason.word() == word).map_or("", |gap| gap.detail.as_str())
}

#[test]
fn a_container_s_numbers_beside_the_host_s_are_left_out() {
    let of = |active: &str| {
        let text = format!(
            "MemTotal:        4194304 kB\nMemFree:         2716972 kB\nCached:          1009692 kB\nActive:         {active} kB\n\
             Inactive:        320956 kB\nSlab:                  0 kB\nSUnreclaim:     12660380 kB\n"
        );
        read(&text)
    };
    let mixed = of("27635424");
    assert!(values(&mixed, "meminfo", "MemTotal").is_empty() && values(&mixed, "meminfo", "Cached").is_empty());
    assert_eq!(values(&mixed, "meminfo", "Active").len(), 1);
    assert!(mixed.marks().unwrap().iter().any(|mark| mark.text.contains("a container's (lxcfs)")));
    assert_eq!(values(&of("900000"), "meminfo", "MemTotal").len(), 1);
}

#[test]
fn free_blocks_by_kind_are_added_up_and_blocks_of_all_kinds_are_none_of_them() {
    let text = "Page block order: 9\nPages per block:  512\n\nFree pages count per migrate type at order       0      1      2      3      4      5\n\
                Node    0, zone   Normal, type    Unmovable     11      9      4      1      0      0\n\
                Node    0, zone   Normal, type      Movable      4      1  >100000    0      0      7\n\n\
                Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic      Isolate      CMA\n\
                Node 0, zone   Normal          123         4567          89            1            0      2\n";
    assert_eq!(super::super::kinds_in(text), [Kind::Proc]);
    let imported = read(text);
    let of = |order: u32| {
        let labels = format!("node=0,zone=Normal,order={order}");
        timed(&imported, "buddyinfo", "free_blocks", &labels).iter().map(|one| one.1).collect::<Vec<f64>>()
    };
    assert_eq!([of(0), of(2), of(5)], [vec![15.0], vec![100_004.0], vec![7.0]]);
    assert_eq!(gap(&imported, "not_understood"), "");
}

#[test]
fn what_crash_says_of_a_dump_is_what_meminfo_would() {
    let text = "crash> kmem -i\n                 PAGES        TOTAL      PERCENTAGE\n    TOTAL MEM  16432119      62.7 GB         ----\n\
                \u{20}        FREE    132119     516.1 MB    0% of TOTAL MEM\n         SLAB   9999999      38.1 GB   60% of TOTAL MEM\n\
                \u{20}  TOTAL SWAP   1048575         4 GB         ----\n    SWAP FREE         0            0    0% of TOTAL SWAP\n";
    let imported = read(text);
    let is = |name: &str, mib: f64| (values(&imported, "meminfo", name)[0] / f64::from(1 << 20) - mib).abs() < 0.01;
    assert!(
        is("MemTotal", 62.7 * 1024.0) && is("MemFree", 516.1) && is("Slab", 38.1 * 1024.0) && is("SwapTotal", 4096.0)
    );
    assert_eq!(values(&imported, "meminfo", "SwapFree"), [0.0]);
    assert_eq!(retold("FREE HIGH 12 1 MB 0% of TOTAL HIGH"), None);
}

#[test]
fn what_earlyoom_prints_of_memory_is_that() {
    let text = "earlyoom[9]: mem avail:   343 of  7832 MiB ( 4.38%), swap free:  188 of 2047 MiB ( 9.19%)\n\
                earlyoom[9]: mem avail:    43 of  7832 MiB ( 0.55%), swap free:    0 of 2047 MiB ( 0.00%)\n";
    assert_eq!(super::super::kinds_in(text), [Kind::Proc]);
    let imported = read(text);
    let mib = |name: &str| {
        values(&imported, "meminfo", name).iter().map(|bytes| bytes / f64::from(1 << 20)).collect::<Vec<f64>>()
    };
    assert_eq!(
        (mib("MemAvailable"), mib("SwapFree"), mib("SwapTotal")),
        (vec![343.0, 43.0], vec![188.0, 0.0], vec![2047.0; 2])
    );
}

#[test]
fn pressure_with_its_file_in_front_is_read_however_much_of_it_is_there() {
    let text =
        "/proc/pressure/io:      some avg10=2.56\n/proc/pressure/memory:  some avg10=40.00        full avg10=12.50\n";
    let imported = read(text);
    let of = |name: &str| values(&imported, SOURCE, name).first().copied();
    assert_eq!((of("psi_memory_some_avg10_percent"), of("psi_memory_full_avg10_percent")), (Some(0.40), Some(0.125)));
}

#[test]
fn two_snapshots_with_dates_are_totals_as_in_a_recording() {
    let imported = read(TWICE);
    assert_eq!((imported.ticks(), imported.wall_clock()), (2, WallClock::Date));
    let faults = timed(&imported, "vmstat", "pgfault", "");
    assert_eq!(faults.iter().map(|(_, value)| *value as u64).collect::<Vec<_>>(), [68_928_870, 69_610_712]);
    assert!((faults[1].0 - faults[0].0) / 1_000_000_000 >= 8);
    let series = |source: &str, name: &str| {
        imported.series().iter().find(|one| one.source == source && one.name == name).map(|one| one.kind)
    };
    assert_eq!(series("vmstat", "pgfault"), Some(Moves::Counter));
    assert_eq!(series("vmstat", "nr_free_pages"), Some(Moves::Gauge));
    assert_eq!(series("psi_memory", "full_total"), Some(Moves::Counter));
    assert_eq!(values(&imported, "meminfo", "MemFree"), [15_564_988.0 * 1024.0, 14_376_784.0 * 1024.0]);
    assert_eq!(values(&imported, "meminfo", "HugePages_Total").len(), 2);
    assert!(imported.gaps().iter().all(|gap| gap.source.as_deref() == Some("settings")), "{:?}", imported.gaps());
}

#[test]
fn levels_of_a_collector_at_each_of_its_times() {
    let imported = read(ZZZ);
    assert_eq!((imported.ticks(), values(&imported, "meminfo", "MemTotal").len()), (3, 3));
    assert_eq!(imported.about("import.interval_seconds"), Some("2"));
}

#[test]
fn one_snapshot_gives_levels_and_what_was_since_the_start_and_says_why_no_rates() {
    let imported =
        read("$ egrep 'compact|nr_free' /proc/vmstat\nnr_free_pages 1000\ncompact_stall 5\ncompact_fail 2\n");
    assert_eq!(values(&imported, "vmstat", "nr_free_pages").len(), 1);
    assert_eq!(values(&imported, "vmstat", "compact_stall"), [5.0]);
    assert!(gap(&imported, "one_instant").contains("2 totals of vmstat at one instant"));
}

#[test]
fn of_two_totals_side_by_side_the_first_is_a_reading() {
    let text = "                 A          B      delta   ratio(%)\n allocstall_normal     263210     190763     -72447     -28.00\n\
                *pswpin                     1486615   512238\n allocstall_total  264674 191220 -73454 -28.00\n";
    let imported = read(text);
    assert_eq!(values(&imported, "vmstat", "allocstall_normal"), [263_210.0]);
    assert_eq!(values(&imported, "vmstat", "pswpin"), [1_486_615.0]);
    assert!(values(&imported, "vmstat", "allocstall_total").is_empty());
    assert!(!recognises("nr_free_pages 1 2 3 4 5"));
}

#[test]
fn files_of_a_loop_that_were_grepped_have_their_time_in_their_names() {
    let text = "meminfo.1365194085:MemFree:  664920 kB\nvmstat.1365194085:pgscan_kswapd_normal 10444\n\
                vmstat.1365194089:pgscan_kswapd_normal 80621\nmeminfo.1365194089:MemFree:  822968 kB\n";
    let imported = read(text);
    let scanned = timed(&imported, "vmstat", "pgscan_kswapd_normal", "");
    assert_eq!(scanned[1].0 - scanned[0].0, 4_000_000_000);
    assert_eq!(scanned.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [10_444.0, 80_621.0]);
    assert_eq!(values(&imported, "meminfo", "MemFree").len(), 2);
    assert!(!recognises("error.log:1365194085 something") && !recognises("at 10:1365194085"));
}

#[test]
fn a_time_between_that_nobody_said_is_asked_for_and_one_that_was_said_is_used() {
    let two = "pgfault 10\nnr_free_pages 5\npgfault 70\nnr_free_pages 6\n";
    let unknown = read(two);
    assert_eq!(values(&unknown, "vmstat", "pgfault"), [60.0]);
    assert_eq!(values(&unknown, "vmstat", "nr_free_pages").len(), 2);
    assert!(gap(&unknown, "no_time").contains("--about interval=60s"), "{:?}", unknown.gaps());
    let mut assumed = Assumed::default();
    assumed.about("interval", "60s").unwrap();
    for imported in
        [with(&[(Kind::Proc, two)], &assumed), read(&format!("$ cat /proc/vmstat; sleep 60; cat /proc/vmstat\n{two}"))]
    {
        let faults = timed(&imported, "vmstat", "pgfault", "");
        assert_eq!(faults, [(faults[0].0, 10.0), (faults[0].0 + 60_000_000_000, 70.0)]);
    }
}

#[test]
fn files_are_told_apart_by_their_names_and_their_form() {
    let text = "==> /proc/pressure/io <==\nsome avg10=0.00 avg60=0.00 avg300=0.00 total=7\n\n\
                ==> /proc/buddyinfo <==\nNode 0, zone   Normal   3574   2413   2019   1340   1422    977    666    410    260    192   4112\n\
                ==> /proc/stat <==\ncpu  30 10 40 140 0 0 0 0 0 0\ncpu0 30 10 40 140 0 0 0 0 0 0\nprocs_blocked 3\n\
                /proc/meminfo:MemFree:   12 kB\n/proc/vmstat:nr_dirty 9\nLinux h 2.6.32-220.el6.x86_64 #1 SMP\n\
                $ cat /proc/pressure/{memory,cpu}\n\
                some avg10=0.00 avg60=0.00 avg300=0.00 total=8\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n\
                some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
    let again = text.replace("total=7", "total=17").replace("total=8", "total=18").replace("total=9", "total=19");
    let imported = read(&format!("Sat Mar  1 00:00:00 UTC 2014\n{text}Sat Mar  1 00:01:00 UTC 2014\n{again}"));
    let micro = |source: &str, name: &str| -> Vec<i64> {
        values(&imported, source, name).iter().map(|seconds| (seconds * 1e6).round() as i64).collect()
    };
    assert_eq!(micro("psi_io", "some_total"), [7, 17]);
    assert_eq!((micro("psi_memory", "some_total"), micro("psi_cpu", "some_total")), (vec![8, 18], vec![9, 19]));
    assert_eq!(micro("psi_memory", "full_total"), [1, 1]);
    assert_eq!(timed(&imported, "buddyinfo", "free_blocks", "node=0,zone=Normal,order=10")[0].1, 4112.0);
    assert_eq!(values(&imported, "stat", "procs_blocked"), [3.0, 3.0]);
    assert_eq!(values(&imported, "stat", "user").len(), 2);
    assert_eq!(values(&imported, "meminfo", "MemFree"), [12.0 * 1024.0; 2]);
    assert_eq!(values(&imported, "vmstat", "nr_dirty").len(), 2);
    assert_eq!(imported.about("kernel"), Some("2.6.32-220.el6.x86_64"));
}

#[test]
fn nodes_are_read_as_three_tools_print_them() {
    for text in [
        "$ numactl --hardware\navailable: 2 nodes (0-1)\nnode 0 size: 32733 MB\nnode 0 free: 95 MB\nnode 1 size: 32768 MB\nnode 1 free: 20123 MB\n",
        "Per-node system memory usage (in MBs):\n                          Node 0          Node 1           Total\n\
         MemTotal                32733.00        32768.00        65501.00\nMemFree                    95.00        20123.00        20218.00\n",
        "$ cat /sys/devices/system/node/node*/meminfo\nNode 0 MemTotal:       33518592 kB\nNode 0 MemFree:           97280 kB\n\
         Node 1 MemTotal:       33554432 kB\nNode 1 MemFree:           20605952 kB\n",
    ] {
        let imported = read(text);
        let of = |name: &str, node: u32| timed(&imported, SOURCE, name, &format!("node={node}"))[0].1;
        assert_eq!(of("node_free", 0), 95.0 * f64::from(1 << 20), "{text}");
        assert_eq!(of("node_total", 1), 32_768.0 * f64::from(1 << 20), "{text}");
    }
    assert_eq!(of_nodes(&["MemFree", "95.11", "20123.90", "12.00"]), []);
}

#[test]
fn the_totals_of_vmstat_are_those_of_the_kernel() {
    const ONCE: &str = "     16304788 K total memory\n       200000 K free memory\n      8388604 K total swap\n        88604 K free swap\n     \
                        12345678 non-nice user cpu ticks\n         1234 nice user cpu ticks\n     23456789 system cpu ticks\n    \
                        345678901 idle cpu ticks\n     12345678 IO-wait cpu ticks\n            0 IRQ cpu ticks\n        12345 softirq \
                        cpu ticks\n   1234567890 pages paged in\n    223456789 pages swapped in\n      1234567 forks\n";
    assert_eq!(super::super::kinds_in(ONCE), [Kind::Proc]);
    let once = read(ONCE);
    assert_eq!(values(&once, "meminfo", "MemTotal"), [16_304_788.0 * 1024.0]);
    let again = ONCE.replace("223456789 pages", "223466789 pages").replace("23456789 system", "23456889 system");
    let twice = read(&format!("Sat Nov 21 17:26:49 UTC 2026\n{ONCE}Sat Nov 21 17:26:59 UTC 2026\n{again}"));
    let swapped = values(&twice, "vmstat", "pswpin");
    assert_eq!(swapped.last().zip(swapped.first()).map(|(last, first)| last - first), Some(10_000.0));
    assert_eq!(values(&twice, "stat", "system").len(), 2);
}

#[test]
fn the_name_of_a_file_says_what_its_text_does_not() {
    const LINES: &str = "some avg10=70.24 avg60=68.52 avg300=69.91 total=3559632828\n";
    assert_eq!(command_of("memory.txt", LINES).as_deref(), Some("$ cat /proc/pressure/memory"));
    assert_eq!(command_of("pressure-io", LINES).as_deref(), Some("$ cat /proc/pressure/io"));
    assert_eq!(command_of("memory.pressure", LINES).as_deref(), Some("$ cat memory.pressure"));
    assert_eq!(command_of("memory.stat.txt", "anon 12\npgfault 7\n").as_deref(), Some("$ cat memory.stat"));
    assert_eq!(command_of("post.txt", LINES), None);
    assert_eq!(command_of("memory.txt", "total used free\n"), None);
    let named = format!("==> /proc/pressure/cpu <==\n{LINES}");
    assert_eq!(command_of("memory.txt", &named), None);
    let imported = read(&format!("$ cat /proc/pressure/memory\n{LINES}"));
    assert_eq!(values(&imported, "import", "psi_memory_some_avg60_percent"), [0.6852]);
}

#[test]
fn one_reading_of_pressure_has_its_averages_wherever_the_shell_stands() {
    for text in [
        "/proc/pressure # cat io\nsome avg10=7.00 avg60=7.00 avg300=7.00 total=1\n/proc/pressure # cat memory\n\
         some avg10=2.00 avg60=61.50 avg300=9.00 total=2\nfull avg10=1.00 avg60=30.25 avg300=3.00 total=2\n",
        "----- Output from /proc/pressure/memory -----\nsome avg10=2.00 avg60=61.50 avg300=9.00\n\
         full avg10=1.00 avg60=30.25 avg300=3.00\n",
    ] {
        let imported = read(text);
        assert_eq!(values(&imported, "import", "psi_memory_some_avg60_percent"), [0.615], "{text}");
        assert_eq!(values(&imported, "import", "psi_memory_full_avg60_percent"), [0.3025], "{text}");
    }
}

#[test]
fn files_of_a_control_group_are_its_own_and_not_the_host_s() {
    let text = "$ cat /sys/fs/cgroup/memory/job/memory.stat\ncache 100\npgfault 5\ntotal_cache 7\n\
                $ cat /sys/fs/cgroup/memory/job/memory.limit_in_bytes\n1073741824\n\
                /sys/fs/cgroup/memory/job/memory.usage_in_bytes:1073700864\n";
    let imported = read(text);
    let of = |source: &str, name: &str| timed(&imported, source, name, "cgroup=/job");
    assert_eq!(of("cgroup_memory", "limit_in_bytes")[0].1, 1_073_741_824.0);
    assert_eq!(of("cgroup_memory", "usage_in_bytes")[0].1, 1_073_700_864.0);
    assert_eq!(of("cgroup_stat", "total_cache")[0].1, 7.0);
    assert!(values(&imported, "vmstat", "pgfault").is_empty());
    let here = read("[root@h job]# cat memory.current\n77\n");
    assert_eq!(timed(&here, "cgroup_memory", "current", "cgroup=not told")[0].1, 77.0);
    // Told by its first line, in prose.
    let told = read(
        "the limit is used up:\ncache 0\nrss 0\npgfault 5\nhierarchical_memory_limit 157286400\ntotal_rss 7\n\npgfault 9\n",
    );
    let of = |name: &str| timed(&told, "cgroup_stat", name, "cgroup=not told")[0].1;
    assert_eq!((of("hierarchical_memory_limit"), of("total_rss"), of("pgfault")), (157_286_400.0, 7.0, 5.0));
}

#[test]
fn controllers_have_their_groups_whatever_stands_between_them() {
    let imported = read("#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t2\t18\t1\nmemory  4  64734  1\n");
    let of = |name: &str| timed(&imported, "controllers", "groups", &format!("controller={name}"))[0].1;
    assert_eq!((of("cpuset"), of("memory")), (18.0, 64_734.0));
    assert!(recognises("pids\t6\t18\t1") && !recognises("a 6 18 1"));
}

#[test]
fn zones_have_their_watermarks_and_are_not_taken_for_the_host() {
    let zone = |free: u32| {
        format!(
            "Node 0, zone   Normal\n  pages free     {free}\n        boost    0\n        min      33\n        low      41\n        high     49\n\
             nr_free_pages {free}\n  pagesets\n    cpu: 0\n              count: 7\n              high:  378\n              batch: 63\n  vm stats threshold: 12\n\
             node_unreclaimable:  0\n  start_pfn:           1\n"
        )
    };
    let text = format!(
        "{}nr_free_pages 77\npgfault 5\nSat Mar  1 00:01:00 UTC 2014\n{}nr_free_pages 78\npgfault 9\n",
        zone(1000),
        zone(900)
    );
    let imported = read(&format!("Sat Mar  1 00:00:00 UTC 2014\n{text}"));
    let of = |name: &str| -> Vec<f64> {
        timed(&imported, "zoneinfo", name, "node=0,zone=Normal").into_iter().map(|(_, value)| value).collect()
    };
    let levels = [of("free"), of("high"), of("boost")];
    assert_eq!(levels.map(|of| of.len()), [2, 2, 2]);
    assert_eq!(values(&imported, "vmstat", "nr_free_pages").len(), 2);
    let named = read(&format!("$ cat /proc/zoneinfo\n{}", zone(5)));
    assert_eq!(timed(&named, "zoneinfo", "low", "node=0,zone=Normal").len(), 1);
    assert!(recognises("Node 0, zone   Normal"));
}

#[test]
fn numbers_of_files_that_look_alike_are_not_taken_for_those_of_the_host() {
    for text in [
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
        "Name:   java\nVmPeak:   100 kB\nThreads: 7\n",
        "$ cat /proc/77/smaps\nShmem:  8 kB\nDirty: 8 kB\n",
    ] {
        let problem = parse(Kind::Proc, text, &Assumed::default()).unwrap_err().to_string();
        assert!(problem.contains("it holds no number of a kernel file"), "{text}: {problem}");
    }
    let sources =
        |text: &str| -> Vec<String> { read(text).series().iter().map(|series| series.source.clone()).collect() };
    assert_eq!(sources("Node 0 MemTotal:   100 kB\n"), [SOURCE], "a node is not the host");
    let of_group = sources("cache 100\nrss 7\npgfault 8\npgmajfault 9\n");
    assert!(of_group.iter().all(|source| source == "cgroup_stat"), "nor is a control group: {of_group:?}");
}

#[test]
fn lines_of_meminfo_side_by_side_and_what_daemons_print() {
    let text = "> > MemTotal:       528235648 kB    MemFree:        20002732 kB\n\
                > > Active(anon):      10976 kB     Inactive(anon):   890908 kB\n\
                > > HugePages_Total:       0        HugePages_Free:        0\n";
    assert_eq!(super::super::kinds_in(text), [Kind::Proc]);
    let imported = recording(&[(Kind::Proc, text)]);
    assert_eq!(values(&imported, "meminfo", "MemFree"), [20_002_732.0 * 1024.0]);
    assert_eq!(values(&imported, "meminfo", "Inactive(anon)"), [890_908.0 * 1024.0]);
    assert!(side_by_side(&["Name:", "java", "Pid:", "7"]).is_none());
    assert!(side_by_side(&["MemFree:", "7", "kB"]).is_none());

    let text = "MemTotal: 9782.7, SwapTotal: 58696.3\n\
                MA=7367=75% MF=7424 A=1653 F=147 AF=40 IF=106 D=0 C=146 SF=58696 SU=0\n\
                MA=0=0% MF=110 A=9174 F=1 AF=1 IF=0 D=0 C=1 SF=58696 SU=0\n";
    assert_eq!(super::super::kinds_in(text), [Kind::Proc]);
    let imported = recording(&[(Kind::Proc, text)]);
    assert_eq!(values(&imported, "meminfo", "Cached"), [147.0 * 1_048_576.0, 1_048_576.0]);
    assert_eq!(values(&imported, "meminfo", "MemAvailable"), [7367.0 * 1_048_576.0, 0.0]);

    let line = "PSI mem some avg10:  55.25 | MemAvail:    0 M,  0.0 % | SwapFree: 424 M,  50.0 %";
    let of = |path, line: &str| (path, line.to_owned());
    let sizes =
        ["MemAvailable: 0 kB", "SwapFree: 434176 kB", "SwapTotal: 868352 kB"].map(|line| of("/proc/meminfo", line));
    let pressure = of("/proc/pressure/memory", "some avg10=55.25");
    assert_eq!(retold(line), Some([vec![pressure], sizes.into()].concat()));
    assert_eq!(retold("avg10: 1 | MemAvail: x M, 1 %"), None);
    let commented = " *    /proc/pressure # cat memory\n *    some avg10=1.00 avg60=0.00 avg300=0.00 total=29705314\n";
    let imported = recording(&[(Kind::Proc, commented)]);
    assert_eq!(values(&imported, "psi_memory", "some_total").len(), 1);
}
