//! Made-up hosts that are watched.

use super::*;
use pagewise_core::recording::{GapReason, Kind};
use std::fs;

struct Host {
    folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Host {
        let host = Host { folder: tempfile::tempdir().unwrap() };
        host.faults(10);
        host.set("/proc/meminfo", "MemTotal:       16331000 kB\nMemFree: 7 kB\n");
        host.set("/proc/sys/kernel/osrelease", "6.12.0\n");
        host.set("/proc/sys/vm/swappiness", "60\n");
        host
    }

    fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    /// The file stays open, so it must stay the same file.
    fn set(&self, path: &str, text: &str) {
        let full = self.root().path(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(&full, text).unwrap();
    }

    fn faults(&self, count: u64) {
        self.set("/proc/vmstat", &format!("nr_free_pages 5\npgfault {count:09}\n"));
    }

    fn watched(&self, most: usize, wanted: fn(&Series) -> bool) -> WatchedHost {
        WatchedHost::start(&self.root(), Keeping { hz: 20.0, stacks: None, stalls: false, most, wanted, only: None })
            .unwrap()
    }
}

fn series<'a>(kept: &'a WatchedHost, name: &str) -> &'a Series {
    kept.series().iter().find(|series| series.name == name).unwrap()
}

fn values(kept: &WatchedHost, name: &str) -> Vec<u64> {
    let series = series(kept, name);
    let of_block = |block: Block| block.values(series).map(|(_, value)| value).collect::<Vec<_>>();
    kept.blocks().flat_map(|block| of_block(block.unwrap())).collect()
}

#[test]
fn what_is_wanted_is_kept_and_the_newest_of_everything_is_known() {
    let host = Host::new();
    let mut kept = host.watched(3600, |series| series.name == "pgfault");
    host.faults(50);
    kept.sample();
    host.faults(51);
    kept.sample();
    assert_eq!(values(&kept, "pgfault"), [10, 50, 51]);
    assert_eq!(values(&kept, "MemFree"), Vec::<u64>::new());
    let newest = |name: &str| {
        let series = series(&kept, name);
        kept.value(&series.source, series.column)
    };
    assert_eq!((newest("pgfault"), newest("MemFree"), newest("nr_free_pages")), (Some(51), Some(7), Some(5)));
    assert_eq!((kept.value("vmstat", 77), kept.value("nothing", 0)), (None, None));
    assert_eq!(series(&kept, "pgfault").kind, Kind::Counter);
    assert_eq!(kept.about("kernel"), Some("6.12.0"));
    let Ok(settings) = kept.settings();
    let swappiness = settings.iter().find(|setting| setting.path == "vm.swappiness").unwrap();
    assert_eq!(swappiness.value.as_deref(), Some("60"));
    assert!(kept.why_not("psi_memory").is_some_and(|why| why.contains("/proc/pressure/memory")));
    assert!(kept.stacks().is_none() && kept.why_not("stacks").is_none(), "nobody asked for stacks");
}

#[test]
fn what_is_older_is_forgotten_and_the_rest_stays_whole() {
    let host = Host::new();
    let mut kept = host.watched(100, |_| true);
    for count in 0..400 {
        host.faults(1000 + count);
        kept.sample();
        let ticks: usize = kept.blocks().map(|block| block.unwrap().ticks.len()).sum();
        assert!(ticks >= 100.min(count as usize) && ticks <= 100 + 2 * numbers::BLOCK, "{ticks} after {count}");
    }
    let faults = values(&kept, "pgfault");
    assert_eq!(faults.last(), Some(&1399));
    assert!(faults.windows(2).all(|pair| pair[1] == pair[0] + 1), "{faults:?}");
    let firsts: Vec<u64> = kept.blocks().map(|block| block.unwrap().first).collect();
    assert!(firsts.windows(2).all(|pair| pair[1] == pair[0] + numbers::BLOCK as u64), "{firsts:?}");
    // A stretch of it is the same numbers.
    let block = kept.blocks().nth(1).unwrap().unwrap();
    let (from, to) = (block.ticks[5].begin, block.ticks[9].begin);
    let part = kept.part(from, to);
    let of_part: Vec<Block> = part.blocks().map(Result::unwrap).collect();
    let pgfault = series(&kept, "pgfault");
    let seen: Vec<u64> = of_part.iter().flat_map(|block| block.values(pgfault).map(|(_, value)| value)).collect();
    let all: Vec<u64> = block.values(pgfault).map(|(_, value)| value).collect();
    assert_eq!(seen, all[5..=9]);
}

#[test]
fn rates_beyond_reason_are_refused() {
    let host = Host::new();
    let keeping = || Keeping { hz: 1.0, stacks: None, stalls: false, most: 10, wanted: |_| true, only: None };
    let start =
        |keeping| WatchedHost::start(&host.root(), keeping).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(start(Keeping { hz: 200.0, ..keeping() }).contains("200 samples a second"));
    assert!(start(Keeping { stacks: Some(9999), ..keeping() }).contains("9999 times a second"));
}

#[test]
fn a_gap_that_ended_is_no_reason_any_more() {
    let host = Host::new();
    let mut kept = host.watched(10, |_| true);
    let to = Some(kept.newest().unwrap().begin);
    let (source, detail) = (Some("stacks".to_owned()), "for a while".to_owned());
    kept.gaps.push(Gap { from: 0, to, source, reason: GapReason::Lost, ticks: None, detail });
    assert_eq!(kept.why_not("stacks"), None);
    for _ in 0..200 {
        kept.sample();
    }
    assert!(kept.gaps().iter().all(|gap| gap.to.is_none()), "it is as old as what was forgotten");
}
