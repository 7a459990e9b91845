//! Real listings with the values they must give, and bent ones.

use super::*;
use crate::recording::{GapReason, RawUnit, Recorded, WallClock};

const THP_OFF: &str = include_str!("../../../../recordings/imports/collectl-thp-off.txt");
const THP_ON: &str = include_str!("../../../../recordings/imports/collectl-thp-on.txt");
const PERF_TOP: &str = include_str!("../../../../recordings/imports/perf-top-thp-on.txt");
const COLLECTL_VERBOSE: &str = include_str!("../../../../recordings/imports/collectl-verbose.txt");
const COLLECTL_PLOT: &str = include_str!("../../../../recordings/imports/collectl-plot.txt");
const COLLECTL_BRIEF: &str = include_str!("../../../../recordings/imports/collectl-brief.txt");
const SAR_ISO: &str = include_str!("../../../../recordings/imports/sar-iso.txt");
const SAR_C: &str = include_str!("../../../../recordings/imports/sar-c-locale.txt");
const SAR_COMMA: &str = include_str!("../../../../recordings/imports/sar-comma-12h.txt");
const VMSTAT: &str = include_str!("../../../../recordings/imports/vmstat-t.txt");
const VMSTAT_MIB: &str = include_str!("../../../../recordings/imports/vmstat-wide-m.txt");
const VMSTAT_ACTIVE: &str = include_str!("../../../../recordings/imports/vmstat-a.txt");
const PERF_SCRIPT: &str = include_str!("../../../../recordings/imports/perf-script.txt");
const PERF_SCRIPT_HEADER: &str = include_str!("../../../../recordings/imports/perf-script-header.txt");
const REPORT_CALLERS: &str = include_str!("../../../../recordings/imports/perf-report-callers.txt");
const REPORT_FROM_OUTSIDE: &str = include_str!("../../../../recordings/imports/perf-report-from-outside.txt");
const REPORT_FRACTAL: &str = include_str!("../../../../recordings/imports/perf-report-fractal.txt");
const REPORT_FLAT: &str = include_str!("../../../../recordings/imports/perf-report-flat.txt");
const REPORT_FOLDED: &str = include_str!("../../../../recordings/imports/perf-report-folded.txt");
const REPORT_CHILDREN: &str = include_str!("../../../../recordings/imports/perf-report-children.txt");
const REPORT_CHILDREN_FOLDED: &str = include_str!("../../../../recordings/imports/perf-report-children-folded.txt");
const REPORT_HIERARCHY: &str = include_str!("../../../../recordings/imports/perf-report-hierarchy.txt");
const REPORT_TWO_EVENTS: &str = include_str!("../../../../recordings/imports/perf-report-two-events.txt");
const FOLDED_KERNEL: &str = include_str!("../../../../recordings/imports/folded-kernel.txt");
const FOLDED_PLAIN: &str = include_str!("../../../../recordings/imports/folded-plain.txt");
const PERF_SCRIPT_UNTIMED: &str = include_str!("../../../../recordings/imports/perf-script-untimed.txt");

pub(super) fn listing(kind: Kind, text: &str) -> Listing {
    parse(kind, text, &Assumed::default()).unwrap()
}

pub(super) fn recording(files: &[(Kind, &str)]) -> Imported {
    with(files, &Assumed::default())
}

pub(super) fn with(files: &[(Kind, &str)], assumed: &Assumed) -> Imported {
    let parsed = files.iter().map(|(kind, text)| (format!("{kind}.txt"), parse(*kind, text, assumed).unwrap()));
    merge(parsed.collect(), assumed)
}

/// Instants and values of a series, in its unit.
pub(super) fn timed(imported: &Imported, source: &str, name: &str, labels: &str) -> Vec<(u64, f64)> {
    let is_it =
        |series: &&crate::recording::Series| series.source == source && series.name == name && series.labels == labels;
    let Some(series) = imported.series().iter().find(is_it) else { return Vec::new() };
    let scale = series.unit.unwrap().scale().1;
    let mut all = Vec::new();
    for block in imported.blocks() {
        let block = block.unwrap();
        all.extend(block.values(series).map(|(tick, value)| (tick.begin, value as i64 as f64 * scale)));
    }
    all
}

pub(super) fn values(imported: &Imported, source: &str, name: &str) -> Vec<f64> {
    labelled(imported, source, name, "")
}

fn labelled(imported: &Imported, source: &str, name: &str, labels: &str) -> Vec<f64> {
    timed(imported, source, name, labels).into_iter().map(|(_, value)| value).collect()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.0005
}

pub(super) fn all_near(values: &[f64], expected: &[f64]) -> bool {
    values.len() == expected.len() && values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
}

const GIB: f64 = (1u64 << 30) as f64;

#[test]
fn a_slip_in_what_is_told_about_a_listing_is_refused_and_a_key_of_ones_own_is_kept() {
    let mut assumed = Assumed::default();
    let told = assumed.about("kernal", "6.1").unwrap_err().to_string();
    assert_eq!(told, "kernal=6.1: no such key means anything; did you mean kernel?");
    assumed.about("rack", "b12").unwrap();
    assumed.about("kernel", "6.1").unwrap();
}

#[test]
fn the_listings_of_2012_give_their_published_means() {
    for (text, busy, system, share) in [(THP_OFF, 0.760, 0.051, 0.067), (THP_ON, 0.943, 0.665, 0.705)] {
        let imported = recording(&[(Kind::Collectl, text)]);
        assert_eq!(imported.ticks(), 22);
        let (all, own) =
            (values(&imported, SOURCE, "cpu_busy_percent"), values(&imported, SOURCE, "cpu_system_percent"));
        assert!(near(mean(&all), busy) || (mean(&all) - busy).abs() < 0.001, "{}", mean(&all));
        assert!((mean(&own) - system).abs() < 0.001, "{}", mean(&own));
        assert!((mean(&own) / mean(&all) - share).abs() < 0.001, "{}", mean(&own) / mean(&all));
        assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood));
        assert_eq!(imported.about("import.interval_seconds"), Some("2"));
        assert_eq!(imported.wall_clock(), WallClock::TimeOfDay);
    }
    let on = recording(&[(Kind::Collectl, THP_ON)]);
    let free = timed(&on, "meminfo", "MemFree", "");
    assert_eq!(free[0], (((10 * 60 + 51) * 60 + 31) * 1_000_000_000, 24.0 * GIB), "instants read as times of day");
    assert_eq!(mean(&values(&on, SOURCE, "interrupts_per_second")).round(), 50_100.0);
    assert_eq!(mean(&values(&on, SOURCE, "context_switches_per_second")).round(), 32_149.0);
    assert_eq!(values(&on, "meminfo", "Slab")[0], 536.0 * 1024.0 * 1024.0);
}

#[test]
fn the_profile_of_2012_keeps_its_shares_and_lies_over_the_listing() {
    let imported = recording(&[(Kind::Collectl, THP_ON), (Kind::PerfTop, PERF_TOP)]);
    let profile = imported.profile().unwrap().unwrap();
    let total: u64 = profile.samples.iter().map(|sample| sample.count).sum();
    let of = |name: &str| {
        let frame = profile.stacks.frames().iter().position(|frame| frame.name == name).unwrap() as u32;
        let is_it = |sample: &&crate::recording::StackSample| profile.stacks.walk(sample.stack).any(|one| one == frame);
        profile.samples.iter().filter(is_it).map(|sample| sample.count).sum::<u64>()
    };
    assert_eq!(of("_spin_lock_irq"), 223_182);
    assert!((of("_spin_lock_irq") as f64 / total as f64 - 0.938).abs() < 0.0005);
    assert!((of("compaction_alloc") as f64 / total as f64 - 0.014).abs() < 0.0005);
    assert_eq!(of("ParallelTaskTerminator::offer_termination(TerminatorTerminator*)"), 596);
    assert!(profile.stacks.frames().iter().find(|frame| frame.name == "compact_zone").unwrap().is_kernel());
    assert_eq!((profile.event.as_ref().map(|event| event.word()), profile.hz), (Some("cycles"), Some(1000.0)));
    assert_eq!(imported.about("cpus"), Some("16"));
    let (first, last) = (profile.samples[0].from, profile.samples[0].to);
    let ticks: Vec<u64> = timed(&imported, "meminfo", "MemFree", "").iter().map(|(at, _)| *at).collect();
    assert_eq!((first, last), (ticks[0], ticks[21]));
    assert!(imported.marks().unwrap().iter().any(|mark| mark.text.contains("has no clock")));
}

#[test]
fn both_listings_of_2012_are_one_recording_with_a_hole() {
    let imported = recording(&[(Kind::Collectl, THP_OFF), (Kind::Collectl, THP_ON)]);
    assert_eq!(values(&imported, "meminfo", "MemFree").len(), 44, "one series goes on");
    let blocks: Vec<_> = imported.blocks().map(Result::unwrap).collect();
    assert_eq!(blocks[0].ticks.len(), 44);
    assert_eq!(imported.series().iter().filter(|series| series.name == "MemFree").count(), 1);
}

#[test]
fn a_host_that_is_gone_has_the_settings_one_says_it_had() {
    let mut assumed = Assumed::default();
    assumed.about("kernel", "2.6.32-220").unwrap();
    assumed.about("date", "2012-06-18").unwrap();
    assumed.setting("thp.enabled", "always");
    let imported = with(&[(Kind::Collectl, THP_ON)], &assumed);
    assert_eq!(imported.about("kernel"), Some("2.6.32-220"));
    assert_eq!(imported.about("import.zero"), Some("2012-06-18T00:00:00Z"));
    let settings = imported.settings().unwrap();
    assert_eq!((settings[0].path.as_str(), settings[0].value.as_deref()), ("thp.enabled", Some("always")));
    assert_eq!(imported.blocks().next().unwrap().unwrap().ticks[0].wall_offset, 1_339_977_600_000_000_000);
    for (key, value) in
        [("date", "18.6.2012"), ("utc_offset", "far"), ("interval", "0s"), ("vmstat_unit", "G"), ("A b", "1")]
    {
        assert!(assumed.about(key, value).is_err(), "{key}={value}");
    }
}

#[test]
fn collectl_in_its_other_formats() {
    let brief = recording(&[(Kind::Collectl, COLLECTL_BRIEF)]);
    assert_eq!(values(&brief, SOURCE, "cpu_system_percent"), [0.05, 0.05, 0.13, 0.13]);
    assert_eq!(values(&brief, "meminfo", "Inactive")[3], 964.0 * 1_048_576.0);
    let verbose = recording(&[(Kind::Collectl, COLLECTL_VERBOSE)]);
    assert_eq!(verbose.wall_clock(), WallClock::Date);
    assert_eq!(verbose.ticks(), 3);
    assert_eq!(values(&verbose, SOURCE, "cpu_busy_percent"), [0.98, 0.99, 0.98]);
    assert_eq!(values(&verbose, SOURCE, "cpu_system_percent"), [0.04, 0.10, 0.03]);
    assert_eq!(values(&verbose, "meminfo", "MemFree")[0], 21_242.0 * 1_048_576.0);
    assert_eq!(values(&verbose, SOURCE, "pgfault_per_second"), [7901.0, 829.0, 576.0]);
    assert_eq!(values(&verbose, SOURCE, "pgpgin_per_second"), [0.0, 0.0, 6805.0 * 1024.0]);
    assert_eq!(values(&verbose, "meminfo", "SwapFree"), [0.0; 3], "the second Free is swap");
    assert_eq!(labelled(&verbose, "buddyinfo", "free_blocks", "node=0,zone=Normal,order=0")[0], 8238.0);
    assert_eq!(labelled(&verbose, "buddyinfo", "free_blocks", "node=0,zone=DMA32,order=10")[0], 719.0);
    let not: Vec<_> = verbose.gaps().iter().filter(|gap| gap.reason.word() == "not_imported").collect();
    assert!(not.iter().all(|gap| !gap.detail.contains("tables")), "{not:?}");
    assert!(verbose.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", verbose.gaps());
    let banner = "# SubSys:     cdmn Options:  Interval: 1 NumCPUs: 4 [HYPER] NumBud: 0 Flags: i\n# Kernel:     4.9.0-14-amd64  Memory: 15404688 kB\n";
    let told = recording(&[(Kind::Collectl, &format!("{banner}{COLLECTL_PLOT}"))]);
    assert_eq!((told.about("kernel"), told.about("cpus")), (Some("4.9.0-14-amd64"), Some("4")));
    let plot = recording(&[(Kind::Collectl, COLLECTL_PLOT)]);
    assert_eq!(values(&plot, SOURCE, "cpu_busy_percent"), [0.99, 0.99, 1.0]);
    assert_eq!(values(&plot, "meminfo", "MemFree")[0], 21_995_912.0 * 1024.0);
    assert_eq!(timed(&plot, SOURCE, "interrupts_per_second", "")[0].0 % 1_000_000_000, 3_000_000);
}

#[test]
fn collectl_without_records_has_its_tables_side_by_side() {
    let text = "\
# CPU SUMMARY (INTR, CTXSW & PROC /sec)
# User  Nice   Sys  Wait   IRQ  Soft Steal  Idle  CPUs  Intr  Ctxsw  Proc  RunQ   Run   Avg1  Avg5 Avg15 RunTot BlkTot
     3     0    93     0     0     1     0     3    32  100K   200K    10   12    40  45.10 40.00 33.00     40      0
     3     0    91     0     0     1     0     5    32  100K   200K    10   12    40  45.10 40.00 33.00     40      0
# SINGLE CPU STATISTICS
#   Cpu  User Nice  Sys Wait IRQ  Soft Steal Idle
      0     3    0   93    0    0     0     0    4
# MEMORY FRAGMENTATION SUMMARY (4K pages)
#     1Pg    2Pgs    4Pgs    8Pgs   16Pgs   32Pgs   64Pgs  128Pgs  256Pgs  512Pgs 1024Pgs
   120000   80000   30000    2000      10       0       0       0       0       0       0
   120001   80000   30000    2000      10       0       0       0       0       0       0
";
    let imported = recording(&[(Kind::Collectl, text)]);
    assert_eq!(imported.ticks(), 2);
    assert!(all_near(&values(&imported, SOURCE, "cpu_system_percent"), &[0.94, 0.92]), "no single CPU");
    assert_eq!(labelled(&imported, "buddyinfo", "free_blocks", "node=all,zone=all,order=0"), [120_000.0, 120_001.0]);
    assert_eq!(labelled(&imported, "buddyinfo", "free_blocks", "node=all,zone=all,order=4"), [10.0, 10.0]);
}

#[test]
fn collectls_free_blocks_are_those_of_zones_or_letters_for_all_of_them() {
    let zones = "\
# MEMORY FRAGMENTATION (4K pages)
#         Node    Zone        1       2       4       8      16      32      64     128     256     512    1024
16:13:33     0     DMA        5       5       3       4       2       4       3       1       0       0       0
16:13:33     0  Normal      651      47      19      10       1       1       1       1       0       1       0
16:13:34     0     DMA        5       5       3       4       2       4       3       1       0       0       0
16:13:34     0  Normal      652      47      19      10       1       1       1       1       0       1       0
";
    let imported = recording(&[(Kind::Collectl, zones)]);
    assert_eq!(imported.ticks(), 2);
    assert_eq!(labelled(&imported, "buddyinfo", "free_blocks", "node=0,zone=Normal,order=0"), [651.0, 652.0]);
    let brief = "\
#Time     cpu sys inter  ctxsw Free Buff Cach Inac Slab  Map    Fragments
16:44:46    0   0  1029    146  23M 178M   6G   5G 461M 234M  smka9576040
16:44:47    0   0  1020    136  24M 178M   6G   5G 461M 234M  t!ka9576040
";
    let imported = recording(&[(Kind::Collectl, brief)]);
    let of = |order: u32| labelled(&imported, "buddyinfo", "free_blocks", &format!("node=all,zone=all,order={order}"));
    assert_eq!([of(0), of(1), of(2), of(3), of(4)], [[1000.0], [400.0], [200.0], [10.0], [9.0]]);
    assert_eq!(values(&imported, "meminfo", "MemFree").len(), 2, "a word that is none leaves the rest of its row");
    let alone =
        recording(&[(Kind::Collectl, "#\n#Time        Fragments\n16:24:13   qmji9576040\n16:24:14   rmji9576040\n")]);
    assert_eq!(labelled(&alone, "buddyinfo", "free_blocks", "node=all,zone=all,order=0"), [800.0, 900.0]);
}

#[test]
fn of_collectls_processes_the_kernels_threads_are_enough() {
    let text = "\
### RECORD    1 >>> node17 <<< (1339672981.001) (Thu Jun 14 10:23:01 2012) ###

# PROCESS SUMMARY (counters are /sec)
# PID  User     PR  PPID THRD S   VSZ   RSS CP  SysT  UsrT Pct  AccuTime  RKB  WKB MajF MinF Command
  157  root     20     2    0 R     0     0  3  9.90  0.00  99   12:33:01    0    0    0    0 kswapd0
 4711  hdfs     20     1  120 S    8G    4G  1  3.50  0.20 370  101:22:01    0  120    0  900 java
";
    let imported = recording(&[(Kind::Collectl, text)]);
    assert!(all_near(&labelled(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0"), &[0.99]));
    let programs: String =
        text.lines().filter(|line| !line.contains("kswapd0")).map(|line| format!("{line}\n")).collect();
    let problem = parse(Kind::Collectl, &programs, &Assumed::default()).unwrap_err();
    assert!(problem.what.contains("processes only"), "{problem}");
}

#[test]
fn collectls_single_disks_stand_at_the_clock_in_front_of_them() {
    let text = "#                   <---------reads---------------><---------writes--------------><--------averages--------> Pct\n\
                #Time     Name       KBytes Merged  IOs Size  Wait  KBytes Merged  IOs Size  Wait  RWSize  QLen  Wait SvcTim Util\n\
                13:06:00 sda              4      0    1    4     0   17995      0  127  142     8     141     3     8      2   30\n\
                13:06:00 sdb              0      0    0    0     0       5      0    1    5     1       5     0     1      1   10\n\
                13:06:10 sda              2      0    0    7     0   16087      0  129  125     6     124     3     6      1   25\n";
    assert_eq!(kinds_in(text.lines().nth(1).unwrap()), [Kind::Collectl]);
    let imported = recording(&[(Kind::Collectl, text)]);
    assert_eq!(values(&imported, SOURCE, "disk_written_per_second"), [18_000.0 * 1024.0, 16_087.0 * 1024.0]);
    assert_eq!(values(&imported, SOURCE, "disk_busiest_percent"), [0.30, 0.25]);
}

#[test]
fn collectls_lines_that_a_mail_program_broke_are_whole_again() {
    let band = "#<--------CPU--------><-----------Memory----------><----------InfiniBand---------->\n";
    let header = ["#cpu sys inter  ctxsw free buff cach inac slab  map   KBin  pktIn  KBOut ", "pktOut Errs\n"];
    let rows = [["   1   0   847   1273   1G 264M   3G 594M   1G 234M      2     29      ", "2     29 123242\n"]; 2];
    let text = |between: &str| {
        let rows: String = rows.iter().map(|row| row.join(between)).collect();
        format!("{band}{}{rows}", header.join(between))
    };
    let (broken, whole) = (recording(&[(Kind::Collectl, &text("\n"))]), recording(&[(Kind::Collectl, &text(""))]));
    for (source, name) in [(SOURCE, "context_switches_per_second"), ("meminfo", "MemFree")] {
        assert_eq!(values(&broken, source, name), values(&whole, source, name), "{name}");
        assert_eq!(values(&broken, source, name).len(), 2, "{name}");
    }
    // What somebody wrote below a header is no part of it.
    let said = format!("{band}{}then it began\n{}", header.concat(), rows[0].concat());
    assert_eq!(values(&recording(&[(Kind::Collectl, &said)]), "meminfo", "MemFree").len(), 1);
}

#[test]
fn sar_says_the_same_in_every_locale() {
    let iso = recording(&[(Kind::Sar, SAR_ISO)]);
    let comma = recording(&[(Kind::Sar, SAR_COMMA)]);
    assert_eq!(iso.about("kernel"), Some("6.18.44-fc-v669"));
    assert_eq!((iso.about("cpus"), iso.ticks()), (Some("2"), 3));
    for (source, name) in iso.series().iter().map(|series| (series.source.as_str(), series.name.as_str())) {
        assert_eq!(timed(&iso, source, name, ""), timed(&comma, source, name, ""), "{source}.{name}");
    }
    assert_eq!(iso.about("import.zero"), comma.about("import.zero"));
    assert!(values(&iso, SOURCE, "cpu_busy_percent").iter().zip([0.9456, 1.0, 1.0]).all(|(a, b)| near(*a, b)));
    assert!(near(values(&iso, SOURCE, "context_switches_per_second")[1], 559.41));
    assert!(near(values(&iso, SOURCE, "pgfault_per_second")[1], 3924.75));
    assert_eq!(values(&iso, SOURCE, "pgpgin_per_second"), [3104.0 * 1024.0, 0.0, 892.0 * 1024.0]);
    assert_eq!(values(&iso, "meminfo", "MemFree")[0], 21_773_468.0 * 1024.0);
    assert_eq!(values(&iso, SOURCE, "psi_memory_some_percent"), [0.0; 3]);
    assert_eq!(values(&iso, SOURCE, "pgscand_per_second").len(), 3, "no average among them");
    assert_eq!(recording(&[(Kind::Sar, SAR_C)]).about("import.zero"), Some("2026-11-21T00:00:00Z"));
}

#[test]
fn what_uptime_says_above_a_listing_is_no_screen_of_top() {
    let text = " 10:41:22 up 5 days, 21:08,  1 user,  load average: 38.02, 31.77, 20.10\n\
                Linux 2.6.18-92.el5 (host) \t06/18/2008\n\n\
                10:41:23     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
                10:41:24     all     10.00      0.00     60.00      0.00      0.00     30.00\n";
    assert_eq!(kinds_in(text), [Kind::Sar]);
    let old = "  9:56am  up 27 days, 14:35,  3 users,  load average: 2.31, 2.17, 1.24\n\
               98 processes: 95 sleeping, 2 running, 1 zombie, 0 stopped\n\
               CPU states:  1.2% user, 45.4% system,  0.0% nice, 53.4% idle\n";
    assert_eq!(kinds_in(old), [Kind::Top]);
}

#[test]
fn a_restart_a_new_day_and_other_items_in_sar() {
    let text = "Linux 2.6.32-220.el6.x86_64 (host) \t06/18/12 \t_x86_64_\t(16 CPU)\n\n\
                11:40:01 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
                11:50:01 PM     all     10.00      0.00     60.00      0.00      0.00     30.00\n\
                11:50:01 PM       0     99.00      0.00      1.00      0.00      0.00      0.00\n\
                12:00:01 AM     all     11.00      0.00     61.00      0.00      0.00     28.00\n\n\
                12:05:00 AM       LINUX RESTART\n\n\
                11:40:01 PM  pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff\n\
                11:50:01 PM      1.00      2.00      3.00      4.00      5.00      6.00      7.00      8.00      9.00\n\
                12:00:01 AM      1.00      2.00      3.00      4.00      5.00      6.00      7.25      8.00      9.00\n\
                Average:         1.00      2.00      3.00      4.00      5.00      6.00    777.00      8.00      9.00\n";
    let imported = recording(&[(Kind::Sar, text)]);
    assert_eq!(imported.ticks(), 2, "sections share their instants");
    assert_eq!(values(&imported, SOURCE, "cpu_system_percent"), [0.60, 0.61]);
    assert!(near(values(&imported, SOURCE, "pgscand_per_second")[1], 7.25));
    let at = timed(&imported, SOURCE, "cpu_busy_percent", "");
    assert_eq!(at[1].0 - at[0].0, 600_000_000_000, "midnight passed");
    assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "restart"));
    assert_eq!(imported.gaps().iter().filter(|gap| gap.reason == GapReason::NotUnderstood).count(), 0);
}

#[test]
fn vmstat_loses_the_rates_since_boot_and_keeps_its_levels() {
    let imported = recording(&[(Kind::Vmstat, VMSTAT)]);
    assert_eq!(imported.wall_clock(), WallClock::Date);
    assert_eq!(values(&imported, "meminfo", "MemFree"), [21_794_168.0 * 1024.0; 3]);
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [834.0, 564.0]);
    assert!(values(&imported, SOURCE, "cpu_busy_percent").iter().zip([0.95, 1.01]).all(|(a, b)| near(*a, b)));
    assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "since_boot"));
    let mut assumed = Assumed::default();
    assumed.about("vmstat_unit", "M").unwrap();
    let wide = with(&[(Kind::Vmstat, VMSTAT_MIB)], &assumed);
    assert_eq!(values(&wide, "meminfo", "MemFree")[0], 21_242.0 * 1_048_576.0);
    assert_eq!(values(&wide, SOURCE, "pgpgin_per_second"), [1136.0 * 1024.0]);
    let with_command = format!("$ vmstat -w -S M -t 1 2\n{VMSTAT_MIB}");
    assert_eq!(values(&recording(&[(Kind::Vmstat, &with_command)]), "meminfo", "MemFree")[0], 21_242.0 * 1_048_576.0);
    let active = recording(&[(Kind::Vmstat, VMSTAT_ACTIVE)]);
    assert_eq!(values(&active, "meminfo", "Active"), [491_364.0 * 1024.0; 2]);
    assert!(active.marks().unwrap().iter().any(|mark| mark.text.contains("1 s apart")));
}

#[test]
fn a_unit_of_vmstat_that_nobody_said_is_told_and_one_that_cannot_be_is_refused() {
    let said = |imported: &Imported, text: &str| imported.marks().unwrap().iter().any(|mark| mark.text.contains(text));
    let kib = recording(&[(Kind::Vmstat, VMSTAT)]);
    assert!(said(&kib, "sizes of memory are taken as KiB; --about vmstat_unit=M"));
    // Too small for KiB of a host, and no whole pages: only MiB can be meant.
    let mib = recording(&[(Kind::Vmstat, VMSTAT_MIB)]);
    assert_eq!(values(&mib, "meminfo", "MemFree")[0], 21_242.0 * 1_048_576.0);
    assert!(said(&mib, "taken as MiB: line 3 has 21242") && said(&mib, "vmstat_unit=m"));
    let thousands = "r b swpd free buff cache si so bi bo in cs us sy id wa st\n\
                     1 0 0 21753001 18512 10491364 0 0 1 1 1 1 1 1 98 0 0\n\
                     1 0 0 21753001 18512 10491364 0 0 1136 1 1 1 1 1 98 0 0\n";
    let thousands = recording(&[(Kind::Vmstat, thousands)]);
    assert!(values(&thousands, "meminfo", "MemFree").is_empty() && values(&thousands, SOURCE, "page_cache").is_empty());
    assert_eq!(values(&thousands, SOURCE, "pgpgin_per_second"), [1136.0 * 1024.0], "the rest stays");
    let gap = thousands.gaps().iter().find(|gap| gap.reason.word() == "unit_unknown").unwrap();
    assert!(gap.detail.contains("has 21753001") && gap.detail.contains("vmstat_unit=M"), "{}", gap.detail);
    let of = |sizes: &[[u64; 3]]| {
        let rows: String = sizes
            .iter()
            .map(|[free, buff, cache]| format!("1 0 0 {free} {buff} {cache} 0 0 1 1 1 1 1 1 98 0 0\n"))
            .collect();
        recording(&[(Kind::Vmstat, &format!("r b swpd free buff cache si so bi bo in cs us sy id wa st\n{rows}"))])
    };
    // Pages cut to units of 1000 bytes, as -S k has them.
    let pages = [[531_001_u64, 4_519, 2_561_361], [530_003, 4_519, 2_561_398], [529_777, 4_521, 2_561_400]];
    let in_thousands = of(&pages.map(|row| row.map(|pages| pages * 4096 / 1000)));
    assert!(said(&in_thousands, "taken as units of 1000 bytes"), "{:?}", in_thousands.gaps());
    let free = values(&in_thousands, "meminfo", "MemFree")[0];
    assert!((free - 531_001.0 * 4096.0).abs() <= 1024.0, "{free}");
    // One size of many that somebody wrote by hand.
    let mut rows = [[2_124_004_u64, 18_076, 10_245_444]; 5];
    rows[3][1] = 18_075;
    let by_hand = of(&rows);
    assert!(said(&by_hand, "taken as KiB, as 14 of 15 say"));
    assert_eq!(values(&by_hand, "meminfo", "MemFree")[0], 2_124_004.0 * 1024.0);
    let mut assumed = Assumed::default();
    assumed.about("vmstat_unit", "M").unwrap();
    let known = with(&[(Kind::Vmstat, VMSTAT_MIB)], &assumed);
    assert!(known.gaps().iter().all(|gap| gap.reason.word() != "unit_unknown") && !said(&known, "taken as KiB"));
}

#[test]
fn perf_script_gives_stacks_with_what_it_was_told_to_print() {
    let imported = recording(&[(Kind::PerfScript, PERF_SCRIPT)]);
    let profile = imported.profile().unwrap().unwrap();
    let total: u64 = profile.samples.iter().map(|sample| sample.count).sum();
    assert_eq!(total, PERF_SCRIPT.matches(" cpu-clock:").count() as u64);
    assert_eq!((profile.event.clone(), profile.hz), (Some(crate::recording::SamplingEvent::CpuClock), Some(99.0)));
    let deepest = profile.samples.iter().max_by_key(|sample| profile.stacks.walk(sample.stack).count()).unwrap();
    let names: Vec<&str> =
        profile.stacks.walk(deepest.stack).map(|frame| profile.stacks.frames()[frame as usize].name.as_str()).collect();
    assert_eq!(names.first(), Some(&"copy_mc_enhanced_fast_string"));
    assert_eq!(names.last(), Some(&"_dl_start_user"));
    assert_eq!((deepest.comm.as_str(), deepest.cpu, deepest.pid), ("dd", Some(1), None));
    let header = recording(&[(Kind::PerfScript, PERF_SCRIPT_HEADER)]);
    let profile = header.profile().unwrap().unwrap();
    assert_eq!((profile.hz, header.about("kernel")), (Some(99.0), Some("6.18.44-fc-v669")));
    assert_eq!(profile.samples[0].pid, Some(9178));
    assert!(profile.samples.iter().all(|sample| sample.to - sample.from == 1_000_000_000));
    let untimed = recording(&[(Kind::Collectl, THP_ON), (Kind::PerfScript, PERF_SCRIPT_UNTIMED)]);
    let profile = untimed.profile().unwrap().unwrap();
    assert_eq!(profile.samples.iter().map(|sample| sample.count).sum::<u64>(), total);
    assert_eq!(profile.samples[0].to - profile.samples[0].from, 42_000_000_000);
}

/// Of the samples of a command, how many have a function in their stack.
fn samples_with(profile: &crate::recording::Profile, comm: &str, name: &str) -> u64 {
    let is_it = |number: u32| profile.stacks.frames()[number as usize].name == name;
    let has_it = |sample: &&crate::recording::StackSample| {
        (comm.is_empty() || sample.comm == comm) && profile.stacks.walk(sample.stack).any(is_it)
    };
    profile.samples.iter().filter(has_it).map(|sample| sample.count).sum()
}

fn profile(kind: Kind, text: &str) -> crate::recording::Profile {
    listing(kind, text).profile.unwrap()
}

#[test]
fn every_drawing_of_a_call_graph_gives_the_same_stacks() {
    // Of 651 samples, from the stacks themselves. Rows and branches below 0.8 and 0.5 % are not drawn.
    let truth = profile(Kind::Folded, FOLDED_PLAIN);
    assert_eq!(truth.samples.iter().map(|sample| sample.count).sum::<u64>(), 128);
    let drawn = [
        ("callers", REPORT_CALLERS),
        ("from outside", REPORT_FROM_OUTSIDE),
        ("fractal", REPORT_FRACTAL),
        ("flat", REPORT_FLAT),
        ("folded", REPORT_FOLDED),
        ("children, folded", REPORT_CHILDREN_FOLDED),
    ];
    for (how, text) in drawn {
        let seen = profile(Kind::PerfTop, text);
        let total: u64 = seen.samples.iter().map(|sample| sample.count).sum();
        assert!(total.abs_diff(651) <= 3, "{how}: {total}");
        for (comm, name) in [
            ("dd", "shmem_write_end"),
            ("dd", "generic_perform_write"),
            ("dd", "do_syscall_64"),
            ("cat", "do_syscall_64"),
        ] {
            let (all, some) = (samples_with(&truth, comm, name), samples_with(&seen, comm, name));
            assert!(some <= all && some * 10 >= all * 6, "{how}: {name} of {comm} is {some} of {all}");
        }
        // One of its samples is in a function that is too small to be listed.
        assert!((26..=27).contains(&samples_with(&seen, "dd", "shmem_write_end")), "{how}");
        let is_kernel = |name: &str| {
            let frames = seen.stacks.frames().iter().filter(|frame| frame.name == name);
            frames.map(crate::recording::Frame::is_kernel).collect::<Vec<_>>()
        };
        assert_eq!((is_kernel("ksys_write"), is_kernel("__GI___libc_write")), (vec![true], vec![false]), "{how}");
    }
}

#[test]
fn with_children_what_functions_have_themselves_counts_and_their_callers_are_found() {
    let seen = profile(Kind::PerfTop, REPORT_CHILDREN);
    let of = |name: &str| samples_with(&seen, "python3", name);
    let flat: u64 = seen.samples.iter().filter(|sample| sample.comm == "python3").map(|sample| sample.count).sum();
    assert!(of("shmem_get_folio_gfp") >= 1859 && of("shmem_get_folio_gfp") <= flat, "{}", of("shmem_get_folio_gfp"));
    assert!(of("handle_mm_fault") >= 1800, "{} is called by it", of("handle_mm_fault"));
    assert_eq!(seen.samples.iter().map(|sample| sample.count).sum::<u64>(), 10_000);
}

#[test]
fn paths_that_end_in_a_program_with_next_to_nothing_of_its_own_show_callers() {
    let rows =
        ["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "unmap_region", "release_pages", "_raw_spin_lock_irqsave"];
    let mut text = "# Samples: 1M of event 'cycles:pp'\n#\n# Children      Self  Shared Object       Symbol\n#\n    \
                    97.45%     0.03%  libc-2.24.so        [.] munmap\n97.43% munmap\n"
        .to_owned();
    for (place, name) in rows.iter().enumerate() {
        let names: Vec<&str> = rows[..=place].iter().rev().copied().collect();
        let path = names.join(";");
        let (share, own) = (96.4 - place as f64 * 0.8, if place == 4 { 92.62 } else { 0.05 });
        text.push_str(&format!(
            "    {share:.2}%    {own:5.2}%  [kernel.kallsyms]   [k] {name}\n{:.2}% {path};munmap\n",
            share - 0.7
        ));
        if place < 2 {
            text.push_str(&format!("0.66% {path};mmap64\n"));
        }
    }
    let seen = profile(Kind::PerfTop, &text);
    let below = |name: &str| samples_with(&seen, "", name);
    assert!(
        below("release_pages") >= 9262 && below("munmap") >= 9200,
        "{} {}",
        below("release_pages"),
        below("munmap")
    );
}

#[test]
fn the_way_of_a_system_call_tells_which_end_of_a_single_drawing_is_outside() {
    let inward = ["__mmap", "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_mmap_pgoff", "vm_mmap_pgoff"];
    let outward: Vec<&str> = inward.iter().rev().copied().collect();
    let text = |row: &str, path: &str| {
        format!(
            "# Children      Self  Shared Object       Symbol\n    96.60%     0.19%  [kernel.kallsyms]   [k] {row}\n72.46% {path}\n"
        )
    };
    let by_callers = text("down_write_killable", &format!("down_write_killable;{}", outward.join(";")));
    let seen = profile(Kind::PerfTop, &by_callers);
    assert_eq!(samples_with(&seen, "", "__mmap"), 7246);
    assert!(seen.stacks.frames().iter().any(|frame| frame.name == "vm_mmap_pgoff" && frame.is_kernel()));
}

#[test]
fn levels_below_each_other_are_functions_with_command_and_module() {
    let seen = profile(Kind::PerfTop, REPORT_HIERARCHY);
    assert_eq!(
        (samples_with(&seen, "python3", "clear_page_erms"), samples_with(&seen, "dd", "shmem_write_end")),
        (737, 399)
    );
    let frame = |name: &str| seen.stacks.frames().iter().find(|frame| frame.name == name).unwrap().module.clone();
    assert_eq!(
        (frame("mmap_ass_subscript").as_str(), frame("_copy_to_iter").as_str()),
        ("mmap.cpython-311-x86_64-linux-gnu.so", crate::recording::stack::KERNEL)
    );
    assert_eq!(seen.samples.iter().map(|sample| sample.count).sum::<u64>(), 10_000);
}

#[test]
fn of_several_events_the_one_of_cpu_time_is_taken_and_the_choice_is_told() {
    let imported = recording(&[(Kind::PerfTop, REPORT_TWO_EVENTS)]);
    let seen = imported.profile().unwrap().unwrap();
    assert_eq!((seen.event.clone().unwrap().word(), imported.about("import.samples")), ("cpu-clock", Some("305")));
    assert_eq!((samples_with(&seen, "", "shmem_get_folio_gfp"), samples_with(&seen, "", "find_variable")), (2098, 0));
    assert!(
        imported.marks().unwrap().iter().any(|mark| mark.text.contains("of 2 tables, number 2 of cpu-clock is taken"))
    );
    let gap = imported.gaps().iter().find(|gap| gap.reason.word() == "not_imported").unwrap();
    assert!(gap.detail.contains("page-faults (5 functions)"), "{}", gap.detail);
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    let faults = REPORT_TWO_EVENTS.split("# Samples: 305").next().unwrap();
    let only = recording(&[(Kind::PerfTop, faults)]);
    assert!(only.gaps().iter().any(|gap| gap.reason.word() == "other_event"));
}

#[test]
fn a_mail_of_2015_says_who_waits_for_the_lock() {
    let text = "> \n>     96.50%    postmaster  [kernel.kallsyms]         [k] _spin_lock_irq\n\
                >               |\n>               --- _spin_lock_irq\n>                  |\n\
                >                  |--99.87%-- compact_zone\n>                  |          compact_zone_order\n\
                >                  |          try_to_compact_pages\n>                  |          __alloc_pages_nodemask\n\
                >                  |          alloc_pages_vma\n>                  |          do_huge_pmd_anonymous_page\n\
                >                  |          handle_mm_fault\n>                  |          __do_page_fault\n\
                >                  |          do_page_fault\n>                  |          page_fault\n\
                >                  |          0x631d98\n>                   --0.13%-- [...]\n\nThat specific profile is old.\n";
    for text in [text.to_owned(), text.replace("> ", "&gt; "), text.replace("> ", ">> "), text.replace("> ", "> > ")] {
        let seen = profile(Kind::PerfTop, &text);
        assert_eq!(
            (samples_with(&seen, "postmaster", "_spin_lock_irq"), samples_with(&seen, "postmaster", "compact_zone")),
            (9650, 9637)
        );
        let frames: Vec<_> =
            seen.stacks.frames().iter().filter(|frame| !frame.is_kernel()).map(|f| f.name.as_str()).collect();
        assert_eq!(frames, ["0x631d98", "[not listed]"]);
    }
}

#[test]
fn rows_that_a_mail_broke_are_whole_again_and_prose_is_no_row() {
    let text = "The profile is 20% slower:\n\n    59.20%  java             [kernel.kallsyms]\n[k] _spin_lock_irqsave\n\
                    7.10%\njava             [kernel.kallsyms]    [k] compact_zone\n\
                    3.00%  java  libjvm.so  [.]\nG1::work(int)\n\n75% better\n";
    let seen = profile(Kind::PerfTop, text);
    let names: Vec<(&str, u64)> = seen
        .samples
        .iter()
        .map(|sample| {
            let frame = seen.stacks.walk(sample.stack).next().unwrap();
            (seen.stacks.frames()[frame as usize].name.as_str(), sample.count)
        })
        .collect();
    assert_eq!(
        names,
        [("_spin_lock_irqsave", 5920), ("compact_zone", 710), ("G1::work(int)", 300), ("[not listed]", 3070)]
    );
}

#[test]
fn banners_that_a_mail_broke_and_the_screen_of_2_6_31_are_read() {
    let broken = ">    PerfTop:    3716 irqs/sec  kernel:92.9%  exact: 99.1% lost: 68/68\n> drop: 0/0 [4000Hz cycles],  (all, 12 CPUs)\n\
                  > -----------\n>\n>     47.53%  [kernel]                 [k] compaction_alloc\n\
                  >     38.88%  [kernel]                 [k] __pageblock_pfn_to_page\n";
    let imported = recording(&[(Kind::PerfTop, broken)]);
    let seen = imported.profile().unwrap().unwrap();
    assert_eq!(
        (seen.event.clone().unwrap().word(), seen.hz, imported.about("cpus")),
        ("cycles", Some(4000.0), Some("12"))
    );
    assert_eq!(samples_with(&seen, "", "compaction_alloc"), 4753);
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    let old = "   PerfTop:     864 irqs/sec  kernel:99.7% [100000 cycles],  (all, 8\nCPUs)\n---------\n\n\
               \x20             samples    pcnt         RIP          kernel function\n    ______     _______   _____   ________________   _______________\n\n\
               \x20             3235.00 - 75.1% - ffffffff814afb21 : _spin_lock\n\
               \x20              165.00 -  3.8% - ffffffffa01cbc39 : rpc_sleep_on  [sunrpc]\n";
    let imported = recording(&[(Kind::PerfTop, old)]);
    let seen = imported.profile().unwrap().unwrap();
    assert_eq!((samples_with(&seen, "", "_spin_lock"), samples_with(&seen, "", "rpc_sleep_on")), (3235, 165));
    assert_eq!((imported.about("cpus"), imported.about("import.samples")), (Some("8"), Some("4308")));
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
}

#[test]
fn shares_and_names_alone_are_a_profile() {
    let seen = profile(Kind::PerfTop, "  59.2% _spin_lock_irqsave\n   3.1% memcpy\n  12.3% clear_page_c_e\n");
    assert_eq!((samples_with(&seen, "", "_spin_lock_irqsave"), samples_with(&seen, "", "memcpy")), (5920, 310));
    let kernel: Vec<bool> = seen.stacks.frames().iter().map(crate::recording::Frame::is_kernel).collect();
    assert_eq!(kernel, [true, false, true, false]);
}

#[test]
fn a_screen_with_opened_rows_has_their_callers() {
    let text = "Samples: 381K of event 'cycles:ppp', Event count (approx.): 91928276543\n\
                \x20 Children      Self  Command  Shared Object      Symbol\n\
                -   93.20%    90.00%  java     [kernel.kallsyms]  [k] _raw_spin_lock\n   - 93.00% _raw_spin_lock\n\
                \x20     - 80.00% compact_zone\n           try_to_compact_pages\n         - page_fault\n              0x7f1234\n\
                \x20     + 12.00% rmqueue_bulk\n+    2.00%     2.00%  java     libjvm.so          [.] SpinPause\n\
                \nPress '?' for help on key bindings\n";
    let imported = recording(&[(Kind::PerfTop, text)]);
    let seen = imported.profile().unwrap().unwrap();
    assert_eq!(imported.about("import.samples"), Some("381000"));
    assert_eq!((samples_with(&seen, "java", "_raw_spin_lock"), samples_with(&seen, "java", "SpinPause")), (9000, 200));
    let compacting = samples_with(&seen, "java", "compact_zone");
    assert!((7700..7760).contains(&compacting), "{compacting}");
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
}

#[test]
fn a_profile_without_what_it_takes_says_which_column_is_missing() {
    let problem = |text: &str| parse(Kind::PerfTop, text, &Assumed::default()).unwrap_err().to_string();
    let said = problem(
        "# Overhead  Command  Shared Object\n# ........  .......  .............\n    50.00%  java     libjvm.so\n",
    );
    assert!(said.contains("no column of functions (Symbol)") && said.contains("Command, Shared Object"), "{said}");
    let said = problem("# Children  Command  Symbol\n    90.00%  java  [.] main\n    80.00%  java  [.] run\n");
    assert!(said.contains("(Self)") && said.contains("add up to 170 %"), "{said}");
}

#[test]
fn a_drawing_that_cannot_be_costs_callers_and_no_samples() {
    let text = REPORT_CALLERS.replace("            ---shmem_get_folio_gfp", "|--99.00%--x\n|--98.00%--y\n");
    let (bent, whole) = (profile(Kind::PerfTop, &text), profile(Kind::PerfTop, REPORT_CALLERS));
    let own = |profile: &crate::recording::Profile| {
        let is_it = |sample: &&crate::recording::StackSample| {
            let leaf = profile.stacks.walk(sample.stack).next().unwrap();
            sample.comm == "python3" && profile.stacks.frames()[leaf as usize].name == "shmem_get_folio_gfp"
        };
        profile.samples.iter().filter(is_it).map(|sample| sample.count).sum::<u64>()
    };
    assert_eq!((own(&bent), own(&whole)), (121, 121));
    assert!(samples_with(&bent, "", "shmem_fault") < samples_with(&whole, "", "shmem_fault"));
    let all = |profile: &crate::recording::Profile| profile.samples.iter().map(|sample| sample.count).sum::<u64>();
    assert_eq!(all(&bent), all(&whole));
}

#[test]
fn collapsed_stacks_say_the_same_with_and_without_marks_of_the_kernel() {
    let (marked, plain) = (recording(&[(Kind::Folded, FOLDED_KERNEL)]), recording(&[(Kind::Folded, FOLDED_PLAIN)]));
    assert_eq!(marked.about("import.samples"), Some("128"));
    let kernel = |imported: &Imported| {
        let profile = imported.profile().unwrap().unwrap();
        let mut names: Vec<String> =
            profile.stacks.frames().iter().filter(|frame| frame.is_kernel()).map(|frame| frame.name.clone()).collect();
        names.sort();
        (names, profile.samples.iter().map(|sample| sample.count).sum::<u64>())
    };
    assert_eq!(kernel(&marked), kernel(&plain));
}

#[test]
fn perf_script_is_read_as_it_is_pasted() {
    let whole = profile(Kind::PerfScript, PERF_SCRIPT);
    let all = |profile: &crate::recording::Profile| profile.samples.iter().map(|sample| sample.count).sum::<u64>();
    let lines: Vec<&str> = PERF_SCRIPT.lines().collect();
    let quoted: String = lines.iter().map(|line| format!("> {line}\n")).collect();
    let without_blank: String = lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    let at_margin: String = lines.iter().map(|line| format!("{}\n", line.trim_start())).collect();
    for (how, text) in [("quoted", quoted), ("without blank lines", without_blank), ("at the margin", at_margin)] {
        let seen = profile(Kind::PerfScript, &text);
        assert_eq!((all(&seen), seen.stacks.len()), (all(&whole), whole.stacks.len()), "{how}");
    }
    let stacks: String =
        lines.iter().filter(|line| !line.contains(" cpu-clock:")).map(|line| format!("{line}\n")).collect();
    let seen = profile(Kind::PerfScript, &stacks);
    assert_eq!(all(&seen), all(&whole), "stacks alone, without commands");
    let named = "dd\n\tffffffff815ee25c clear_page_erms+0x7\n([kernel.kallsyms])\n\t 7f2012345678 main (/bin/dd)\n\n";
    let seen = profile(Kind::PerfScript, named);
    assert_eq!((samples_with(&seen, "dd", "clear_page_erms"), seen.stacks.frames()[1].is_kernel()), (1, true));
    let two = "dd 1 [000] 1.5: page-faults: \n\t7f2012345678 main (/bin/dd)\n\ndd 1 [000] 1.6: cycles:P: \n\t7f2012345678 f (/bin/dd)\n";
    let imported = recording(&[(Kind::PerfScript, two)]);
    let seen = imported.profile().unwrap().unwrap();
    assert_eq!((all(&seen), samples_with(&seen, "dd", "f"), seen.event.unwrap().word()), (1, 1, "cycles"));
    assert!(imported.gaps().iter().any(|gap| gap.detail.contains("page-faults (1 samples)")));
}

#[test]
fn newer_perf_top_and_perf_report_list_shares() {
    let text = "\u{1b}[H\u{1b}[2J   PerfTop: 10 irqs/sec  kernel:50.0%  exact:  0.0% lost: 0/0 drop: 0/0 [4000Hz cpu-clock:ppp],  (all, 2 CPUs)\n\
                -----\n\n    62.50%  [kernel]       [k] compact_zone\n     7.25%  libjvm.so      [.] G1::work(unsigned int)\n";
    let imported = recording(&[(Kind::PerfTop, text)]);
    let profile = imported.profile().unwrap().unwrap();
    assert_eq!(profile.samples.iter().map(|sample| sample.count).collect::<Vec<_>>(), [6250, 725, 3025]);
    assert_eq!((profile.hz, profile.stacks.frames()[1].name.as_str()), (Some(4000.0), "G1::work(unsigned int)"));
    let report = "# Samples: 1K of event 'cycles'\n#\n# Children      Self  Command  Shared Object      Symbol\n# ........\n#\n\
                  \n    90.00%    60.00%  java     [kernel.kallsyms]  [k] compact_zone\n            |\n            |--45%--a\n\
                  \n    40.00%    40.00%  my job   libc.so.6          [.] memcpy\n";
    let imported = recording(&[(Kind::PerfTop, report)]);
    let profile = imported.profile().unwrap().unwrap();
    assert_eq!(profile.samples.iter().map(|sample| sample.count).collect::<Vec<_>>(), [6000, 4000]);
    assert_eq!((profile.samples[1].comm.as_str(), profile.event.unwrap().word()), ("my job", "cycles"));
}

#[test]
fn what_is_not_understood_is_an_error_with_a_remedy_or_a_gap_with_its_line() {
    for kind in Kind::all().filter(|kind| *kind != Kind::Sosreport) {
        for text in ["", "\n\n", "hello\nworld\n", "\0\0\0\n", "#\n#\n", "1\n2\n3\n"] {
            let problem = parse(kind, text, &Assumed::default()).unwrap_err().to_string();
            assert!(problem.contains("it holds no") && problem.contains("; give "), "{kind}: {problem}");
        }
    }
    let bent = THP_ON.replace("10:51:35   59  58", "10:51:35   59").replace("10:51:37   54", "10:51:37   xx");
    let imported = recording(&[(Kind::Collectl, &bent)]);
    assert_eq!(imported.ticks(), 20);
    let gap = imported.gaps().iter().find(|gap| gap.reason == GapReason::NotUnderstood).unwrap();
    assert!(gap.detail.contains("2 lines") && gap.detail.contains("line 7"), "{}", gap.detail);
    let cut = &THP_ON[..THP_ON.len() - 4];
    let imported = recording(&[(Kind::Collectl, cut)]);
    assert_eq!(imported.ticks(), 21, "half a number would be a wrong one");
    assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "cut"));
}

#[test]
fn a_last_line_without_its_end_counts_where_no_digit_of_it_can_be_missing() {
    let is_cut = |imported: &Imported| imported.gaps().iter().any(|gap| gap.reason.word() == "cut");
    for (kind, text) in
        [(Kind::Collectl, THP_ON), (Kind::Vmstat, VMSTAT), (Kind::Vmstat, VMSTAT_ACTIVE), (Kind::PerfTop, PERF_TOP)]
    {
        let (whole, pasted) = (listing(kind, text), listing(kind, text.trim_end_matches('\n')));
        assert_eq!(whole.rows(), pasted.rows(), "{kind}");
        assert!(!is_cut(&recording(&[(kind, text.trim_end_matches('\n'))])), "{kind}");
        let cut = recording(&[(kind, &text[..text.len() - 5])]);
        assert!(kind == Kind::PerfTop || is_cut(&cut), "{kind}");
    }
    let two = "r b swpd free buff cache si so bi bo in cs us sy id wa\n1 0 0 400 4 8 0 0 0 0 9 9 5 5 90 0\n";
    let shares =
        |last: &str| values(&recording(&[(Kind::Vmstat, &format!("{two}{last}"))]), SOURCE, "cpu_iowait_percent");
    assert_eq!(shares("1 0 0 400 4 8 0 0 0 0 9 9 5 5 79 11"), [0.11]);
    assert_eq!(
        shares("1 0 0 400 4 8 0 0 0 0 9 9 5 5 79 1"),
        [0.0],
        "its shares lack ten: the row before it is the only one"
    );
}

#[test]
fn the_kind_of_each_listing_is_found_from_its_lines() {
    for (kind, text) in [
        (Kind::Collectl, THP_ON),
        (Kind::Collectl, COLLECTL_VERBOSE),
        (Kind::Collectl, COLLECTL_PLOT),
        (Kind::Collectl, COLLECTL_BRIEF),
        (Kind::Sar, SAR_ISO),
        (Kind::Sar, SAR_C),
        (Kind::Sar, SAR_COMMA),
        (Kind::Vmstat, VMSTAT),
        (Kind::Vmstat, VMSTAT_MIB),
        (Kind::Vmstat, VMSTAT_ACTIVE),
        (Kind::PerfScript, PERF_SCRIPT),
        (Kind::PerfScript, PERF_SCRIPT_HEADER),
        (Kind::PerfScript, PERF_SCRIPT_UNTIMED),
        (Kind::Proc, include_str!("../../../../recordings/imports/proc-twice.txt")),
        (Kind::Proc, include_str!("../../../../recordings/imports/proc-zzz.txt")),
        (Kind::NodeExporter, include_str!("../../../../recordings/imports/node-exporter-two.txt")),
    ] {
        assert_eq!(kinds_in(text), [kind], "{}", text.lines().next().unwrap_or_default());
    }
    assert!(kinds_in(PERF_TOP).contains(&Kind::PerfTop));
    assert_eq!(kinds_in(&format!("we see this:\n\n{VMSTAT}\nand\n{PERF_TOP}"))[0], Kind::Vmstat);
    assert!(kinds_in("hello\nworld 1 2 3\n10:00 in the morning: vmstat shows nothing\n").is_empty());
    let told: Vec<Kind> = RECOGNISED.iter().map(|(kind, _)| *kind).collect();
    assert!(Kind::all().all(|kind| kind == Kind::Sosreport || told.contains(&kind)), "every kind can be found");
}

#[test]
fn lines_may_end_as_on_windows() {
    for (kind, text) in
        [(Kind::Collectl, THP_ON), (Kind::Sar, SAR_ISO), (Kind::Vmstat, VMSTAT), (Kind::PerfTop, PERF_TOP)]
    {
        let (unix, windows) = (listing(kind, text), listing(kind, &text.replace('\n', "\r\n")));
        assert_eq!(unix.rows(), windows.rows(), "{kind}");
        assert_eq!(unix.series().collect::<Vec<_>>(), windows.series().collect::<Vec<_>>());
    }
    let timed = recording(&[(Kind::PerfScript, &PERF_SCRIPT.replace('\n', "\r\n"))]);
    let unix = recording(&[(Kind::PerfScript, PERF_SCRIPT)]);
    assert_eq!(timed.profile().unwrap().unwrap().samples, unix.profile().unwrap().unwrap().samples);
}

#[test]
fn two_files_with_the_same_series_at_the_same_time_are_told_apart() {
    let imported = recording(&[(Kind::Sar, SAR_ISO), (Kind::Vmstat, VMSTAT)]);
    let free: Vec<&str> =
        imported.series().iter().filter(|series| series.name == "MemFree").map(|s| s.labels.as_str()).collect();
    assert_eq!(free, ["", "file=2"]);
    assert_eq!(timed(&imported, "meminfo", "MemFree", "file=2").len(), 3);
    let units: Vec<_> = imported.series().iter().filter(|s| s.name == "cpu_busy_percent").map(|s| s.unit).collect();
    assert_eq!(units, [Some(RawUnit::PercentHundredths), Some(RawUnit::Percent)]);
}

#[test]
fn a_thousand_rows_of_one_second_and_absurd_numbers_stay_bounded() {
    let row = "10:51:31  99  81 51547  14961  24G 326M  53G  51G 536M  15G \n";
    let head: String = THP_ON.lines().take(4).map(|line| format!("{line}\n")).collect();
    let imported = recording(&[(Kind::Collectl, &(head.clone() + &row.repeat(1000)))]);
    assert_eq!(imported.ticks(), 1000);
    let absurd = row.replace("24G", "99999999999P").replace("51547", "-7");
    assert!(parse(Kind::Collectl, &(head + &absurd), &Assumed::default()).is_err());
}

#[test]
fn tables_of_sar_that_are_not_imported_are_no_holes_in_time_and_no_rows_of_others() {
    let at = |rows: &str| -> String {
        (1..=30)
            .map(|second| rows.lines().map(|row| format!("12:00:{second:02} {row}\n")).collect::<String>())
            .collect()
    };
    let mut text = "Linux 6.1.0 (host) \t2026-11-21 \t_x86_64_\t(2 CPU)\n".to_owned();
    for (header, rows) in [
        (
            "CPU %user %nice %system %iowait %steal %idle",
            "all 10.00 0.00 20.00 0.00 0.00 70.00\n0 10.00 0.00 20.00 0.00 0.00 70.00",
        ),
        ("proc/s cswch/s", "1.00 900.00"),
        ("dentunusd file-nr inode-nr pty-nr", "1000 2000 3000 4"),
        ("totsck tcpsck udpsck rawsck ip-frag tcp-tw", "100 20 30 0 0 5"),
        ("INTR all CPU0 CPU1", "sum 500.00 250.00 250.00\n7 1.00 1.00 0.00"),
        ("DEV tps rkB/s wkB/s %util", "sda 1.00 2.00 3.00 0.10\nsdb 1.00 2.00 3.00 0.10"),
        ("FAN rpm drpm DEVICE", "1 2000.00 10.00 nct6775-isa 0290"),
        ("BUS idvendor idprod maxpower manufact product", "1 1d6b 2 0 Linux 6.1 xhci-hcd xHCI Host"),
        ("pswpin/s pswpout/s", "7.00 9.00"),
    ] {
        text.push_str(&format!("\n12:00:00 {header}\n{}", at(rows)));
    }
    let imported = recording(&[(Kind::Sar, &text)]);
    assert_eq!(imported.ticks(), 30);
    assert_eq!(values(&imported, SOURCE, "context_switches_per_second"), [900.0; 30]);
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [500.0; 30]);
    assert_eq!(values(&imported, SOURCE, "pswpout_per_second"), [9.0; 30]);
    assert!(imported.gaps().iter().all(|gap| gap.source.is_some()), "no time is lost: {:?}", imported.gaps());
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    let left = imported.gaps().iter().find(|gap| gap.reason.word() == "not_imported").unwrap();
    let said = "not imported of sar: tables BUS idvendor, FAN rpm, dentunusd file-nr, totsck tcpsck; columns tps";
    assert!(left.detail.ends_with(said), "{}", left.detail);
    assert_eq!(values(&imported, SOURCE, "disk_written_per_second"), [6.0 * 1024.0; 30], "both disks");
}

#[test]
fn lines_that_are_not_understood_and_a_cut_one_are_no_holes_in_time() {
    let bent = THP_ON.replace("10:51:35   59  58", "10:51:35   59");
    let imported = recording(&[(Kind::Collectl, &bent[..bent.len() - 4])]);
    for word in ["not_understood", "cut"] {
        let gap = imported.gaps().iter().find(|gap| gap.reason.word() == word).unwrap();
        assert_eq!(gap.source.as_deref(), Some(SOURCE), "{word}");
    }
}

#[test]
fn a_column_of_samples_without_any_leaves_the_shares() {
    let seen = profile(
        Kind::PerfTop,
        "    11.37%     0.00%             0  dd       [kernel.kallsyms]     [k] f\n    5.00%  3.00%  0  dd  [kernel.kallsyms]  [k] g\n",
    );
    assert_eq!((samples_with(&seen, "dd", "f"), samples_with(&seen, "dd", "g")), (0, 300));
}

#[test]
fn a_table_of_opreport_is_one_of_functions() {
    let text = "CPU: CPU with timer interrupt, speed 0 MHz (estimated)\nProfiling through timer interrupt\n\
                samples  %        app name                 symbol name\n\
                87849    60.0000  vmlinux                  shrink_zone\n\
                24749    16.9000  squid                    clientReadRequest\n\
                2106      1.4000  e1000                    (no symbols)\n";
    assert_eq!(kinds_in(text), [Kind::PerfTop]);
    let seen = profile(Kind::PerfTop, text);
    let of = |name: &str| seen.stacks.frames().iter().find(|frame| frame.name == name).unwrap();
    assert!(of("shrink_zone").is_kernel() && !of("clientReadRequest").is_kernel());
    let shares: u64 = seen.samples.iter().map(|sample| sample.count).sum();
    assert!(shares >= 87_849 + 24_749 + 2_106);
    for text in [
        "vma      samples  %        symbol name\nc0106ff4 9134179  33.7261     shrink_zone\nc01b2f30 1        1.8e-04  vsnprintf\n",
        "samples  %        symbol name  image name\n9134179  33.7261     shrink_zone  vmlinux\n",
    ] {
        let seen = profile(Kind::PerfTop, text);
        assert!(seen.stacks.frames().iter().any(|frame| frame.name == "shrink_zone" && frame.is_kernel()), "{text}");
    }
    let of_a_program = "samples  %        app name  symbol name\n9134179  33.7261     mydb  compact_range\n";
    let seen = profile(Kind::PerfTop, of_a_program);
    assert!(seen.stacks.frames().iter().all(|frame| frame.name != "compact_range" || !frame.is_kernel()));
}
