//! Tests of what `sar.rs` reads.

use super::super::tests::{all_near, near, recording, timed, values};
use super::super::{kinds_in, parse};
use super::*;
use crate::import::Imported;
use crate::recording::Recorded;

const IOSTAT: &str = include_str!("../../../../../recordings/imports/sar-iostat.txt");
const MPSTAT: &str = include_str!("../../../../../recordings/imports/sar-mpstat.txt");

fn sar(text: &str) -> Imported {
    recording(&[(Kind::Sar, text)])
}

fn says(imported: &Imported, text: &str) -> bool {
    imported.marks().unwrap().iter().any(|mark| mark.text.contains(text))
}

fn is_understood(imported: &Imported) -> bool {
    imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood)
}

#[test]
fn clocks_of_china_japan_and_korea_are_clocks() {
    let hour = 3600 * SECOND;
    for (head, times, average) in [
        ("2017年06月18日", ["22時50分01秒", "23時00分01秒", "23時10分01秒"], "平均値:"),
        ("2017年06月18日", ["午後10時50分01秒", "午後11時00分01秒", "午後11時10分01秒"], "平均値:"),
        ("2017年06月18日", ["22时50分01秒", "23时00分01秒", "23时10分01秒"], "平均时间:"),
        ("06/18/2017", ["下午 10:50:01", "下午 11:00:01", "下午 11:10:01"], "平均值："),
        ("06/18/2017", ["10:50:01 下午", "11:00:01 下午", "11:10:01 下午"], "Average:"),
        ("2017년 06월 18일", ["22시 50분 01초", "23시 00분 01초", "23시 10분 01초"], "평균값:"),
        ("18.06.2017", ["22.50.01", "23.00.01", "23.10.01"], "Keskiarvo:"),
        ("18/06/17", ["22:50:01", "23:00:01", "23:10:01"], "Moyenne :"),
        ("2017-06-18", ["22:50:01", "23:00:01", "23:10:01"], "Durchschn.:"),
        ("06/18/2017", ["10:50:01 PM", "11:00:01 PM", "11:10:01 PM"], "Summary:"),
    ] {
        let text = format!(
            "Linux 3.10.0-514.el7.x86_64 (host) \t{head} \t_x86_64_\t(16 CPU)\n\n\
             {}        CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
             {}        all      1,50      0,00     20,25     30,00      0,00     48,25\n\
             {}        all      1,50      0,00     20,25     40,00      0,00     38,25\n\
             {average}        all      1,50      0,00     20,25     35,00      0,00     43,25\n",
            times[0], times[1], times[2]
        );
        let imported = sar(&text);
        assert!(is_understood(&imported), "{head} {times:?}: {:?}", imported.gaps());
        let waits = timed(&imported, SOURCE, "cpu_iowait_percent", "");
        assert!(near(waits[0].1, 0.3) && near(waits[1].1, 0.4) && waits.len() == 2, "{head} {times:?}");
        assert_eq!(waits[0].0.cast_signed(), 23 * hour + SECOND, "{head} {times:?}");
        assert_eq!(imported.about("import.zero"), Some("2017-06-18T00:00:00Z"), "{head}");
        assert_eq!((imported.about("kernel"), imported.about("cpus")), (Some("3.10.0-514.el7.x86_64"), Some("16")));
    }
}

#[test]
fn old_versions_have_memory_and_swap_in_a_table_and_interrupts_beside_shares() {
    let text = "Linux 2.4.21-4.ELsmp (host) \t02/03/15\n\n\
                00:00:01          CPU     %user     %nice   %system     %idle\n\
                00:10:00          all      1.04      0.00      2.07     96.89\n\n\
                00:00:01      kbmemfree kbmemused  %memused kbmemshrd kbbuffers  kbcached kbswpfree kbswpused  %swpused\n\
                00:10:00         21436   4071564     99.48         0    101164   2984536   2096472       644      0.03\n\n\
                00:00:01      cswch/s\n\
                00:10:00       814.21\n\n\
                00:00:01         INTR    intr/s\n\
                00:10:00          sum    512.25\n\n\
                00:00:01          tps      rtps      wtps   bread/s   bwrtn/s\n\
                00:10:00        17.40      2.20     15.20     64.00    200.00\n\n\
                00:00:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n\
                00:10:00            3       180      2.04      1.07      0.50         7\n";
    let imported = sar(text);
    assert!(is_understood(&imported), "{:?}", imported.gaps());
    assert!(all_near(&values(&imported, SOURCE, "cpu_system_percent"), &[0.0207]));
    assert_eq!(values(&imported, "meminfo", "SwapFree"), [2_096_472.0 * 1024.0]);
    assert!(all_near(&values(&imported, SOURCE, "context_switches_per_second"), &[814.21]), "a table of one column");
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [512.25]);
    assert_eq!(values(&imported, SOURCE, "disk_read_per_second"), [64.0 * 512.0], "sectors");
    assert_eq!(values(&imported, SOURCE, "disk_written_per_second"), [200.0 * 512.0]);
    assert_eq!(values(&imported, SOURCE, "procs_running"), [3.0]);
    assert_eq!(values(&imported, SOURCE, "procs_blocked"), [7.0]);
    assert_eq!(imported.ticks(), 1);
}

#[test]
fn disks_of_sar_and_how_busy_the_busiest_is() {
    let text = "12:00:01 AM       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util\n\
                12:10:01 AM       sda    100.00      0.00   2000.00     20.00      5.00     50.50      9.00     99.80\n\
                12:10:01 AM      sda1      1.00      0.00   1000.00     20.00      5.00     50.50      9.00      1.00\n\
                12:10:01 AM       sdb      2.00      8.00     16.00     12.00      0.00      1.00      1.00      0.20\n\
                12:20:01 AM       sda     90.00      0.00   1000.00     20.00      5.00     40.00      9.00     98.00\n\
                Average:          sda     95.00      0.00   1500.00     20.00      5.00     45.25      9.00     98.90\n";
    let imported = sar(text);
    assert!(all_near(&values(&imported, SOURCE, "disk_busiest_percent"), &[0.998, 0.98]));
    let waits = values(&imported, SOURCE, "disk_busiest_wait");
    assert!(near(waits[0], 0.0505) && near(waits[1], 0.04), "{waits:?}");
    assert_eq!(values(&imported, SOURCE, "disk_written_per_second")[0], 2016.0 * 512.0, "no partition twice");
    assert_eq!(timed(&imported, SOURCE, "disk_busy_percent", "disk=sdb").len(), 1);
    assert_eq!(imported.ticks(), 2);
}

#[test]
fn only_averages_count_as_one_stretch_and_it_is_said() {
    let text = "12:00:01 AM       CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
                Average:          all      8.00      0.00     12.00     60.00      0.00     20.00\n\n\
                12:00:01 AM  pswpin/s pswpout/s\n\
                Average:         3.00      7.00\n";
    let imported = sar(text);
    assert_eq!(imported.ticks(), 1);
    assert!(all_near(&values(&imported, SOURCE, "cpu_iowait_percent"), &[0.6]));
    assert_eq!(values(&imported, SOURCE, "pswpout_per_second"), [7.0]);
    assert!(says(&imported, "only averages are in it"));
    let problem = parse(Kind::Sar, "Average: all 8.00 0.00 12.00 60.00 0.00 20.00\n", &Assumed::default()).unwrap_err();
    assert!(problem.what.contains("only averages are in it"), "{problem}");
}

#[test]
fn single_cpus_stand_for_the_host_where_all_of_them_are_there() {
    let head = |cpus: u32| {
        format!(
            "Linux 2.6.32-504.el6.x86_64 (host) \t03/02/15 \t_x86_64_\t({cpus} CPU)\n\n\
             12:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
             12:10:01          0     10.00      0.00     50.00      0.00      0.00     40.00\n\
             12:10:01          1     20.00      0.00     70.00      0.00      0.00     10.00\n"
        )
    };
    let imported = sar(&head(2));
    assert!(all_near(&values(&imported, SOURCE, "cpu_system_percent"), &[0.60]));
    assert!(all_near(&values(&imported, SOURCE, "cpu_busy_percent"), &[0.75]));
    let problem = parse(Kind::Sar, &head(16), &Assumed::default()).unwrap_err();
    assert!(problem.what.contains("CPU 0, 1 stands alone"), "{problem}");
}

#[test]
fn mpstat_and_iostat_are_read_by_the_same_code() {
    let mpstat = sar(MPSTAT);
    assert!(is_understood(&mpstat), "{:?}", mpstat.gaps());
    assert_eq!(mpstat.ticks(), 3, "no averages");
    assert!(near(values(&mpstat, SOURCE, "cpu_nice_percent")[0], 0.4924));
    assert!(near(values(&mpstat, SOURCE, "cpu_busy_percent")[0], 0.0303 + 0.4924 + 0.0278));
    let iostat = sar(IOSTAT);
    assert!(is_understood(&iostat), "{:?}", iostat.gaps());
    assert_eq!(iostat.ticks(), 3);
    assert!(all_near(&values(&iostat, SOURCE, "cpu_iowait_percent"), &[0.0076, 0.0101]), "the first is since boot");
    assert!(near(values(&iostat, SOURCE, "disk_busiest_percent")[0], 0.0240));
    let wait = values(&iostat, SOURCE, "disk_busiest_wait")[0];
    assert!((wait - (0.13 * 30.5 + 0.21 * 94.5) / 125.0 / 1000.0).abs() < 1e-6, "{wait}");
    assert_eq!(values(&iostat, SOURCE, "disk_read_per_second")[0], 462.0 * 1024.0);
    let at = timed(&iostat, SOURCE, "cpu_iowait_percent", "");
    assert_eq!(at[0].0.cast_signed(), (18 * 3600 + 16 * 60 + 6) * SECOND);
    assert_eq!("iostat".parse(), Ok(Kind::Sar));
    assert_eq!("mpstat".parse(), Ok(Kind::Sar));
}

#[test]
fn old_iostat_without_times_is_drawn_by_its_interval() {
    let text = "avg-cpu:  %user   %nice    %sys %iowait   %idle\n           \
                2.10    0.00    6.40   85.20    6.30\n\n\
                Device:    rrqm/s wrqm/s   r/s   w/s  rsec/s  wsec/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util\n\
                sda          0.00 401.00  2.00 190.00   16.00 4800.00     8.00  2400.00    25.08    98.00  510.20   5.20  99.90\n";
    let imported = sar(text);
    assert!(is_understood(&imported), "{:?}", imported.gaps());
    assert!(all_near(&values(&imported, SOURCE, "cpu_iowait_percent"), &[0.852]));
    assert!(all_near(&values(&imported, SOURCE, "disk_busiest_percent"), &[0.999]));
    assert!(all_near(&values(&imported, SOURCE, "disk_busiest_wait"), &[0.5102]));
    assert!(says(&imported, "its rows have no time"));
}

#[test]
fn page_faults_of_processes_are_added_up() {
    let text = "03:43:08 PM       PID  minflt/s  majflt/s     VSZ    RSS   %MEM  Command\n\
                03:46:08 PM      1754    100.00      3.00  137396  19028   0.92  nm-applet\n\
                03:46:08 PM      1800     20.00      0.50  137396  19028   0.92  java\n\
                03:49:08 PM      1754      7.00      0.00  137660  19260   0.94  nm-applet\n";
    assert_eq!(super::super::kinds_in(text), [Kind::Sar]);
    let imported = sar(text);
    let of = |name| values(&imported, SOURCE, tools::of_sar(name).unwrap().name);
    assert_eq!((of("fault/s"), of("majflt/s")), (vec![123.5, 7.0], vec![3.5, 0.0]));
}

#[test]
fn processes_of_pidstat_are_no_shares_of_the_host() {
    let text = "Linux 4.4.0 (host) \t06/18/17 \t_x86_64_\t(2 CPU)\n\n\
                10:00:00      UID       PID    %usr %system  %guest    %CPU   CPU  Command\n\
                10:00:01        0       123   10.00   80.00    0.00   90.00     1  java\n";
    let problem = parse(Kind::Sar, text, &Assumed::default()).unwrap_err();
    assert!(problem.what.contains("processes only"), "{problem}");
    let thread = text.replace("java", "kswapd0");
    let imported = sar(&thread);
    assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0")[0].1, 0.9));
    assert!(values(&imported, SOURCE, "cpu_system_percent").is_empty());
}

#[test]
fn headings_and_rows_that_a_mailer_broke_are_put_together() {
    let text = "# sar -B\n04:00:00 PM  pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s\n\
                pgscank/s pgscand/s pgsteal/s    %vmeff\n\
                04:10:03 PM   6266.09  28821.33   4392.91      0.65 266336.28\n\
                8464619.82      0.00   7756.98      0.09\n\
                04:20:05 PM   6894.44  33790.76  12713.86      1.86 271167.36\n\
                Average:      6894.44  33790.76  12713.86      1.86 271167.36\n\
                1.00      0.00   7756.98      0.09\n";
    let imported = sar(text);
    assert!(all_near(&values(&imported, SOURCE, "pgscank_per_second"), &[8_464_619.82]));
    assert!(near(values(&imported, SOURCE, "reclaim_efficiency_percent")[0], 0.0009));
    let gap = imported.gaps().iter().find(|gap| gap.reason == GapReason::NotUnderstood).unwrap();
    assert!(gap.detail.contains("1 line of") && gap.detail.contains("line 6"), "half a row is none: {}", gap.detail);
}

#[test]
fn tables_of_averages_beside_tables_of_rows_count_too() {
    let text = "12:00:01 AM  pswpin/s pswpout/s\n12:10:01 AM      3.00      7.00\n12:20:01 AM      4.00      8.00\n\n\
                12:00:01 AM       CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
                Average:          all      8.00      0.00     12.00     60.00      0.00     20.00 <<--\n";
    let imported = sar(text);
    assert!(all_near(&values(&imported, SOURCE, "pswpout_per_second"), &[7.0, 8.0]));
    assert!(all_near(&values(&imported, SOURCE, "cpu_iowait_percent"), &[0.6]));
    assert_eq!(imported.ticks(), 2);
    let twice = "# before\nAverage:     CPU    %usr   %nice    %sys %iowait   %idle\n\
                 Average:     all   23.00    0.00   57.00    0.00   20.00\n# after\n\
                 Average:     CPU    %usr   %nice    %sys %iowait   %idle\n\
                 Average:     all   25.00    0.00   49.00    0.00   26.00\n";
    assert!(all_near(&values(&sar(twice), SOURCE, "cpu_system_percent"), &[0.57, 0.49]));
}

#[test]
fn averages_that_ran_over_are_no_numbers() {
    let text = "15:50:00    kbmemfree kbmemused  %memused kbmemshrd kbbuffers  kbcached kbswpfree kbswpused  %swpused\n\
                Average:        14025   6159259     99.77         0     16786   4682172  10386017 -10299677    4962552.26\n";
    let imported = sar(text);
    assert_eq!(values(&imported, "meminfo", "MemFree"), [14_025.0 * 1024.0]);
    assert!(
        values(&imported, SOURCE, "swap_used").is_empty() && values(&imported, SOURCE, "swap_used_percent").is_empty()
    );
}

#[test]
fn numbers_with_thousands_apart_are_no_numbers() {
    let text =
        "12:00:01        pswpin/s pswpout/s\n12:10:01        1.234,50      7,00\n12:20:01        1,00      2,00\n";
    let imported = sar(text);
    assert_eq!(values(&imported, SOURCE, "pswpin_per_second"), [1.0]);
    assert!(!is_understood(&imported));
}

#[test]
fn tables_of_sadf_are_those_of_sar() {
    let text = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n\
                db1;600;2022-03-14 10:00:01 UTC;-1;1.00;0.00;20.00;30.00;0.00;49.00\n\
                db1;600;2022-03-14 10:00:01 UTC;0;1.00;0.00;99.00;0.00;0.00;0.00\n\
                db1;-1;2022-03-14 10:05:00 UTC;LINUX-RESTART\t(8 CPU)\n\
                db1;600;2022-03-14 10:10:01 UTC;-1;1.00;0.00;21.00;30.00;0.00;48.00\n\
                db1;600;2022-03-14 10:20:01 UTC;-1;1.00;0.00\n\
                # hostname;interval;timestamp;pgpgin/s;pgpgout/s;fault/s;majflt/s;pgfree/s;pgscank/s;pgscand/s;pgsteal/s;%vmeff\n\
                db1;600;2022-03-14 10:00:01 UTC;5,00;6,00;1,00;0,00;9,00;150000,00;98000,00;30000,00;12,00\n\
                # hostname;interval;timestamp;IFACE;rxpck/s\n\
                db1;600;2022-03-14 10:00:01 UTC;eth0;5.00\n";
    assert_eq!(kinds_in(text), [Kind::Sar]);
    let imported = sar(text);
    assert!(all_near(&values(&imported, SOURCE, "cpu_system_percent"), &[0.20, 0.21]));
    assert_eq!(values(&imported, SOURCE, "pgscand_per_second"), [98_000.0]);
    assert_eq!(imported.about("import.zero"), Some("2022-03-14T00:00:00Z"));
    assert!(says(&imported, "started again"));
    let gap = imported.gaps().iter().find(|gap| gap.reason == GapReason::NotUnderstood).unwrap();
    assert!(gap.detail.contains("1 line of") && gap.detail.contains("line 6"), "{}", gap.detail);
    let epoch =
        "# hostname;interval;timestamp;pswpin/s;pswpout/s\ndb1;60;1647252001;3.00;7.00\ndb1;60;1647252061;4.00;8.00\n";
    assert_eq!(values(&sar(epoch), SOURCE, "pswpout_per_second"), [7.0, 8.0]);
}

#[test]
fn tables_that_lost_their_times_are_drawn_one_after_another() {
    let text = "CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
                all      1.00      0.00     20.00     30.00      0.00     49.00\n\
                all      1.00      0.00     21.00     30.00      0.00     48.00\n";
    let imported = sar(text);
    assert!(all_near(&values(&imported, SOURCE, "cpu_system_percent"), &[0.2, 0.21]));
}

#[test]
fn headers_of_sysstat_are_known_from_those_of_others() {
    for line in [
        "Linux 3.10.0-514.el7.x86_64 (host)  03/02/15  _x86_64_ (16 CPU)",
        "12:00:01 AM       CPU     %user     %nice   %system   %iowait    %steal     %idle",
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
        "午後10時50分01秒  pgpgin/s pgpgout/s   fault/s  majflt/s",
    ] {
        assert_eq!(kinds_in(line), [Kind::Sar], "{line}");
    }
    for line in [
        "Linux host 5.4.0 #1 SMP (Debian) x86_64 GNU/Linux",
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st",
        "12:00:01 all 1.00 2.00",
        "",
    ] {
        assert!(!kinds_in(line).contains(&Kind::Sar), "{line}");
    }
}
