//! What a host did over a recording, whatever was found: a host whose CPUs are all busy is told with what, also where none of it is
//! trouble with memory.

use super::document::{Activity, Participant, Work};
use super::families::ENOUGH_SAMPLES;
use super::observed::{Hits, Observed};
use super::processes::RankedBy;
use super::signal;

/// Work of the kernel below this part of the samples is not listed.
const LEAST_SHARE: f64 = 0.02;
/// As many kinds of work as are listed.
const MOST_WORK: usize = 3;

/// The means of it all.
pub(super) fn of(observed: &Observed) -> Activity {
    let windows = &observed.windows;
    let iowait = observed.waiting_share();
    Activity {
        busy_share: observed.busy_share().mean_of_all(windows),
        kernel_share: observed.system_share().mean_of_all(windows),
        iowait_share: iowait.mean_of_all(windows),
        kernel_work: kernel_work(observed),
        programs: programs(observed),
        free_bytes: observed.level(&signal::MEM_FREE).mean_of_all(windows),
        page_cache_bytes: observed.level(&signal::PAGE_CACHE).mean_of_all(windows),
        cached_files: observed.cached_files.clone(),
        scanned_pages: observed.rate(&signal::SCANNED).mean_of_all(windows),
    }
}

fn kernel_work(observed: &Observed) -> Vec<Work> {
    // Leaves of a profile without callers say where CPUs were, and not what for.
    let profile = observed.profile.as_ref().filter(|profile| !profile.is_flat());
    let Some(profile) = profile.filter(|profile| profile.samples_in_all() >= ENOUGH_SAMPLES) else { return Vec::new() };
    let known = profile.kernel_work().into_iter().filter(|(_, share)| *share >= LEAST_SHARE);
    let words = |(family, share): (Option<super::families::Family>, f64)| Work {
        what: family.map_or("other work", |family| family.words()).to_owned(),
        share,
    };
    known.map(words).take(MOST_WORK).collect()
}

fn programs(observed: &Observed) -> Vec<Participant> {
    let enough = observed.profile.as_ref().filter(|profile| profile.samples_in_all() >= ENOUGH_SAMPLES);
    let shares = match (enough, &observed.processes) {
        (Some(profile), _) => profile.busiest(),
        (None, Some(processes)) => processes.leaders(RankedBy::CpuTime, &Hits::default(), &observed.windows, None).0,
        (None, None) => Vec::new(),
    };
    shares.into_iter().map(|share| observed.participant(share, "CPU time")).collect()
}
