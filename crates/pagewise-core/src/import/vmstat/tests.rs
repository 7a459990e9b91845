//! Tests of what `vmstat.rs` reads.

use super::super::tests::{recording, timed, values, with};
use super::super::{Imported, parse};
use super::*;
use crate::recording::Recorded;

const ZZZ: &str = include_str!("../../../../../recordings/imports/vmstat-zzz.txt");
const COMMANDS: &str = include_str!("../../../../../recordings/imports/vmstat-commands.txt");
const IN_FRONT: &str = include_str!("../../../../../recordings/imports/vmstat-clock-in-front.txt");

const HEADER: &str = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n";

/// A row with that many interrupts.
fn row(interrupts: u64) -> String {
    format!(" 1  0      0  40000    400   8000    0    0     1     2 {interrupts}    9  5  5 90  0\n")
}

fn rows(interrupts: &[u64]) -> String {
    interrupts.iter().map(|number| row(*number)).collect()
}

fn read(text: &str) -> Imported {
    recording(&[(Kind::Vmstat, text)])
}

fn interrupts(text: &str) -> Vec<f64> {
    values(&read(text), SOURCE, "interrupts_per_second")
}

fn says(imported: &Imported, text: &str) -> bool {
    imported.marks().unwrap().iter().any(|mark| mark.text.contains(text))
}

/// Between instants, in seconds.
fn steps(imported: &Imported, name: &str) -> Vec<f64> {
    let at = timed(imported, SOURCE, name, "");
    at.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e9).collect()
}

#[test]
fn each_run_has_its_own_interval_and_its_own_averages_since_boot() {
    let imported = read(COMMANDS);
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [638.0, 956.0, 672.0, 642.0]);
    assert_eq!(steps(&imported, "interrupts_per_second"), [1.0, 3.0, 2.0]);
    assert_eq!(values(&imported, "meminfo", "MemFree").len(), 6, "levels of the first rows count");
    assert_eq!(imported.gaps().iter().filter(|gap| gap.reason.word() == "since_boot").count(), 2);
}

#[test]
fn a_collector_says_when_its_runs_were() {
    let imported = read(ZZZ);
    assert_eq!(imported.about("import.zero"), Some("2026-11-24T00:00:00Z"));
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [877.0, 658.0, 647.0, 677.0, 960.0, 841.0]);
    let free = timed(&imported, "meminfo", "MemFree", "");
    assert_eq!((free.len(), free[3].0 - free[0].0), (9, 4_000_000_000));
    assert!(imported.gaps().iter().all(|gap| gap.source.is_some()), "no holes: {:?}", imported.gaps());
    let exa = format!(
        "# Collection Command: /usr/bin/vmstat   5  2\nzzz <06/19/2024 10:15:40> Count:1\n{HEADER}{}\
         zzz <06/19/2024 10:15:45> Count:2\n{HEADER}{}",
        rows(&[1, 70]),
        rows(&[1, 80])
    );
    assert_eq!(interrupts(&exa), [70.0, 80.0]);
}

#[test]
fn a_clock_in_front_of_rows_is_theirs() {
    let imported = read(IN_FRONT);
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [704.0, 714.0]);
    assert_eq!(steps(&imported, "interrupts_per_second"), [1.0]);
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    for (first, second) in [
        ("14:03:21", "14:03:26"),
        ("[14:03:21]", "[14:03:26]"),
        ("2015-03-02T14:03:21", "2015-03-02T14:03:26"),
        ("Mon Mar 2 14:03:21 2015 |", "Mon Mar 2 14:03:26 2015 |"),
        ("1425305001", "1425305006"),
        ("1425305001.5:", "1425305006.5:"),
    ] {
        let text = format!("{HEADER}{first} {}{first} {}{second} {}", row(1), row(2), row(3));
        let imported = read(&text);
        let at = timed(&imported, SOURCE, "interrupts_per_second", "");
        assert_eq!(at.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [2.0, 3.0], "{first}");
        assert!((at[1].0 - at[0].0).abs_diff(5_000_000_000) < 10, "{first}");
    }
}

#[test]
fn a_header_that_repeats_begins_no_run_and_one_after_prose_does() {
    let many = rows(&[1, 2, 3, 4, 5, 6]);
    assert_eq!(interrupts(&format!("{HEADER}{many}{HEADER}{}", rows(&[7, 8]))), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(interrupts(&format!("{HEADER}{}{HEADER}{}", rows(&[1, 70]), rows(&[90, 80]))), [70.0, 90.0, 80.0]);
    for between in ["\n", "Then it got worse:\n", "Sat Mar  1 00:00:00 CET 2014\n", "[root@h ~]# vmstat -n 2\n"] {
        let text = format!("{HEADER}{many}{between}{HEADER}{}", rows(&[70, 80]));
        assert_eq!(interrupts(&text), [2.0, 3.0, 4.0, 5.0, 6.0, 80.0], "{between}");
    }
    let cron = format!("{HEADER}{}", rows(&[101, 70]));
    assert_eq!(interrupts(&cron.repeat(3)), [70.0; 3], "runs without anything between begin alike");
    let shown = interrupts(&format!("{HEADER}{}[snip]\n{}", rows(&[1, 2]), rows(&[3])));
    assert_eq!(shown, [2.0, 3.0], "prose alone ends no run");
    assert_eq!(interrupts(&format!("$ vmstat -y 1 2\n{HEADER}{}", rows(&[5, 6]))), [5.0, 6.0]);
}

#[test]
fn old_and_new_columns() {
    let of_2_4 = "   procs                      memory      swap          io     system      cpu\n \
                   r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id\n \
                   1  0  0  16508   3260  11924 162296   0   1     7    10  103    28   1   0  99\n \
                   2  1  0  16508   3260  11924 162296   0   0     0    48  123    61  60  38   2\n";
    let imported = read(of_2_4);
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [123.0]);
    assert_eq!(values(&imported, SOURCE, "procs_blocked"), [0.0, 1.0]);
    assert_eq!(values(&imported, SOURCE, "cpu_system_percent"), [0.38]);
    assert!(imported.gaps().iter().all(|gap| gap.reason.word() != "not_imported"));
    let guests = format!("{} st gu\n{} 0 0\n{} 0 0\n", HEADER.trim_end(), row(1).trim_end(), row(2).trim_end());
    assert_eq!(interrupts(&guests), [2.0]);
}

#[test]
fn lines_that_a_mail_program_broke_are_joined() {
    let broken = "procs -----------memory---------- ---swap-- -----io---- -system--\n------cpu-----\n \
                  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id\nwa st\n \
                  1  0      0  40000    400   8000    0    0     1     2  77    9  5  5 90\n0  0\n \
                  1  0      0  40000    400   8000    0    0     1     2  78    9  5  5 80\n10  0\n";
    let imported = read(broken);
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [78.0]);
    assert_eq!(values(&imported, SOURCE, "cpu_iowait_percent"), [0.10]);
    assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
}

#[test]
fn rows_of_a_monitor_that_writes_how_long_it_runs_are_rows() {
    let row = |at: u32, us: u32| {
        format!(
            " 13413065{at}.6713   1.8109   2.0003 --  1  0  0 16050784  11448 104056  0  0  376  0  209  526  {us}  0  {}  1  0\n",
            99 - us
        )
    };
    let text: String = [82, 84, 86].iter().map(|at| row(*at, 5)).collect();
    assert!(recognises(&row(82, 5)) && !recognises("1.0 2.0 3.0 -- and so on"));
    let imported = read(&text);
    assert_eq!(imported.about("import.interval_seconds"), Some("2"));
    assert_eq!(values(&imported, SOURCE, "cpu_user_percent"), [0.05, 0.05]);
}

#[test]
fn columns_that_somebody_left_out_are_not_missed() {
    let text = "r  b     free    buff    cache     bi   bo    in   cs    us  sy  id\n\
                1  2   120000    8000   400000      5 9000  1200  800    10  50  40\n\
                1  2   120004    8000   400000      5 9000  1200  800    10  60  30\n";
    assert!(recognises(text.lines().next().unwrap()));
    let imported = read(text);
    assert_eq!(values(&imported, "meminfo", "MemFree").last(), Some(&(120_004.0 * 1024.0)));
    assert_eq!(values(&imported, SOURCE, "cpu_system_percent").last(), Some(&0.60));
}

#[test]
fn a_header_that_was_cut_at_its_end_is_one() {
    let text = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n\
                \x20 0  2 1843536 1634512      0   4188   54   13  2524   666    2    1  1  1 89  9  0\n\
                \x20 1 11 1845916 1640724      0    388 2700 4816 221880  4879 14409 170721  4  3 63 30  0\n";
    assert_eq!(values(&read(text), SOURCE, "cpu_system_percent").last(), Some(&0.03));
}

#[test]
fn without_a_header_the_usual_columns_are_taken_when_the_shares_add_up() {
    let imported = read(&rows(&[1, 2, 3]));
    assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [2.0, 3.0]);
    assert!(says(&imported, "no header stands above line 1; its 16 columns"));
    let of_2_4 = " 0  0  0  49400   4584  15024 181276   0   0     0     0  128    1   0   0 100\n \
                  1  0  1  49400   3056  13964 185372   0   0  7096    30 3616   894   3  30  67\n";
    assert_eq!(values(&read(of_2_4), SOURCE, "cpu_system_percent"), [0.30], "the first row fits two headers");
    let broken = rows(&[1, 2]).replace("  5  5 90  0", "  5  5\n90  0");
    assert_eq!(interrupts(&broken), [2.0]);
    let wrong = format!("{}{}", rows(&[1, 2]), row(3).replace(" 90 ", " 60 "));
    assert!(parse(Kind::Vmstat, &wrong, &Assumed::default()).is_err(), "one row that cannot be refuses all");
}

#[test]
fn shares_with_a_sign_and_thousands_with_a_comma_are_no_rows() {
    for bent in [row(2).replace(" 90 ", " 90% "), row(2).replace("40000", "40,000"), row(2).replace(" 90 ", " -90 ")] {
        let imported = read(&format!("{HEADER}{}{bent}{}", row(1), row(3)));
        assert_eq!(values(&imported, SOURCE, "interrupts_per_second"), [3.0], "{bent}");
        assert!(imported.gaps().iter().any(|gap| gap.reason == GapReason::NotUnderstood), "{bent}");
    }
}

#[test]
fn a_single_row_gives_its_levels_and_its_averages_since_boot() {
    let imported = read(&format!("{HEADER}{}", row(1)));
    assert_eq!(values(&imported, "meminfo", "MemFree"), [40000.0 * 1024.0]);
    assert_eq!(interrupts(&format!("{HEADER}{}", row(1))), [1.0]);
    assert!(says(&imported, "its only row has averages since boot"), "{:?}", imported.marks());
}

#[test]
fn the_unit_of_a_run_is_that_of_its_command() {
    let text = format!(
        "$ vmstat -S M 1\n{HEADER}{}\n$ vmstat 1\n{HEADER}{}",
        rows(&[1, 2]).replace("40000", "   39"),
        rows(&[1, 2])
    );
    let free = values(&read(&text), "meminfo", "MemFree");
    assert_eq!(free, [39.0 * 1_048_576.0, 39.0 * 1_048_576.0, 40000.0 * 1024.0, 40000.0 * 1024.0]);
    let loops = format!("$ while date; do vmstat 1 1 -S M; done\n{HEADER}{}", row(1));
    assert_eq!(values(&read(&loops), "meminfo", "MemFree"), [40000.0 * 1_048_576.0]);
    let mut assumed = Assumed::default();
    assumed.about("interval", "5s").unwrap();
    let imported = with(&[(Kind::Vmstat, &format!("{HEADER}{}", rows(&[1, 2, 3])))], &assumed);
    assert_eq!(steps(&imported, "interrupts_per_second"), [5.0]);
}

#[test]
fn a_listing_of_another_system_is_told_so() {
    let aix = "kthr    memory              page              faults        cpu\n\
               r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa\n\
               1  1 197167 477552   0   0   0   7   21   0 106 1114 451  0  0 99  0\n";
    let problem = parse(Kind::Vmstat, aix, &Assumed::default()).unwrap_err().to_string();
    assert!(problem.contains("another system than Linux"), "{problem}");
}
