//! Real listings with the values they must give, and bent ones.

use super::*;
use crate::recording::{GapReason, RawUnit, Recorded};

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
    timed(imported, source, name, "").into_iter().map(|(_, value)| value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.0005
}

const GIB: f64 = (1u64 << 30) as f64;

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
        assert_eq!(imported.about("import.dated"), Some("no"));
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
    assert_eq!(verbose.about("import.dated"), Some("yes"));
    assert_eq!(verbose.ticks(), 3);
    assert_eq!(values(&verbose, SOURCE, "cpu_busy_percent"), [0.98, 0.99, 0.98]);
    assert_eq!(values(&verbose, SOURCE, "cpu_system_percent"), [0.04, 0.10, 0.03]);
    assert_eq!(values(&verbose, "meminfo", "MemFree")[0], 21_242.0 * 1_048_576.0);
    assert_eq!(values(&verbose, SOURCE, "pgfault_per_second"), [7901.0, 829.0, 576.0]);
    assert_eq!(values(&verbose, SOURCE, "pgpgin_per_second"), [0.0, 0.0, 6805.0 * 1024.0]);
    assert_eq!(values(&verbose, "meminfo", "SwapFree"), [0.0; 3], "the second Free is swap");
    let not: Vec<_> = verbose.gaps().iter().filter(|gap| gap.reason.word() == "not_imported").collect();
    assert!(not[0].detail.contains("tables DISK SUMMARY, MEMORY FRAGMENTATION"), "{}", not[0].detail);
    assert!(verbose.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", verbose.gaps());
    let plot = recording(&[(Kind::Collectl, COLLECTL_PLOT)]);
    assert_eq!(values(&plot, SOURCE, "cpu_busy_percent"), [0.99, 0.99, 1.0]);
    assert_eq!(values(&plot, "meminfo", "MemFree")[0], 21_995_912.0 * 1024.0);
    assert_eq!(timed(&plot, SOURCE, "interrupts_per_second", "")[0].0 % 1_000_000_000, 3_000_000);
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
    assert_eq!(imported.about("import.dated"), Some("yes"));
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
    let mib = recording(&[(Kind::Vmstat, VMSTAT_MIB)]);
    assert!(values(&mib, "meminfo", "MemFree").is_empty() && values(&mib, SOURCE, "page_cache").is_empty());
    assert_eq!(values(&mib, SOURCE, "pgpgin_per_second"), [1136.0 * 1024.0], "the rest stays");
    let gap = mib.gaps().iter().find(|gap| gap.reason.word() == "unit_unknown").unwrap();
    assert!(gap.detail.contains("line 3 has 21242") && gap.detail.contains("vmstat_unit=M"), "{}", gap.detail);
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
    assert!(shares("1 0 0 400 4 8 0 0 0 0 9 9 5 5 79 1").is_empty(), "its shares lack ten");
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
    let said = "not imported of sar: tables BUS idvendor, DEV tps, FAN rpm, dentunusd file-nr, totsck tcpsck";
    assert!(left.detail.ends_with(said), "{}", left.detail);
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
