//! More to run than there are CPUs: no matter of memory, and easily taken for one beside a stream.

use super::prelude::*;

/// Part of the time in which some task waited for a CPU. Ours.
const WAITED: f64 = 0.5;

/// Part of all CPU time that was used. Ours.
const BUSY: f64 = 0.95;

/// That tasks wait for CPUs, which is no finding of memory management and keeps nobody from looking for one.
pub(in super::super) fn note(observed: &Observed) -> Option<String> {
    let mean = |track: Track, least: f64| track.mean_of_all(&observed.windows).filter(|part| *part >= least);
    let waited = mean(observed.rate(&signal::PSI_CPU_SOME), WAITED)?;
    let busy = mean(observed.busy_share(), BUSY)?;
    Some(format!(
        "There is more to run than CPUs: some task waited for one {} of the time, and {} of their time was used. What a job loses to its \
         neighbours' CPU time no setting of memory management gives back; nice -n 19 for those that may wait does, or cpu.weight of their cgroup.",
        words::percent(waited),
        words::percent(busy)
    ))
}
