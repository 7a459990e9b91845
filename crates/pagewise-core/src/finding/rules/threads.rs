//! CPU time of one of the kernel's own threads: by its account where it is recorded, else by stacks.

use super::super::case::{Lasting, TierAnswer};
use super::super::observed::label;
use super::prelude::*;

/// What a thread takes.
pub(super) struct ThreadTime {
    symptom: Lasting,
    mechanisms: Vec<TierAnswer>,
    /// The busiest such thread, as a part of one core.
    pub(super) cores: Option<f64>,
}

impl ThreadTime {
    pub(super) fn decide(self, case: &Case<'_>) -> Verdict {
        case.decide(self.symptom, self.mechanisms)
    }

    pub(super) fn hits(&self) -> &Hits {
        &self.symptom.hits
    }
}

/// The busiest of the threads whose name begins so, window by window. `kswapd` has one for each node.
pub(super) fn busiest(observed: &Observed, start: &str) -> Track {
    let all = observed.each_rate(&signal::KERNEL_THREAD_CPU);
    let name = |labels: &str| label(labels, "thread").or_else(|| label(labels, "comm")).unwrap_or(labels).to_owned();
    let mine: Vec<Track> =
        all.into_iter().filter(|(labels, _)| name(labels).starts_with(start)).map(|(_, track)| track).collect();
    if mine.is_empty() {
        let missing = Missing { what: format!("CPU time of {start}"), why: "it is not in the recording".to_owned() };
        return Track::unknown(observed.windows.count, missing);
    }
    let at = |track: &Track, window: usize| track.values().get(window).copied().flatten();
    let all = |window: usize| mine.iter().map(|track| at(track, window)).collect::<Option<Vec<f64>>>();
    let value = |window: usize| all(window)?.into_iter().reduce(f64::max);
    Track::new((0..observed.windows.count).map(value).collect(), None)
}

/// Whether the thread takes so much of a core, and whether stacks say so, too. Where its CPU time is not recorded, stacks
/// alone decide: their share of all CPU, times the CPUs that were busy, is the share of a core.
pub(super) fn cpu(
    case: &Case<'_>,
    of_core: &'static str,
    thread: &'static str,
    of_samples: &'static str,
    family: Family,
) -> ThreadTime {
    let observed = case.observed;
    let clause = case.clause(of_core, &format!("threads {thread}"), busiest(observed, thread));
    let mut symptom = case.lasting(&[&clause]);
    let stacks = case.stacks(of_samples, family, &[], &symptom.hits);
    let mut cores = clause.value(&symptom.hits, case.windows());
    if cores.is_some() || stacks.share.is_none() {
        let counters = case.counters(&[&clause], &symptom.hits);
        symptom.evidence.clear();
        return ThreadTime { symptom, mechanisms: vec![counters, stacks], cores };
    }
    cores = stacks.share.zip(observed.busy().mean_of_all(case.windows())).map(|(share, busy)| share * busy);
    let (answer, evidence) = case.whole(of_core, &format!("stacks of {thread}"), cores);
    let mut symptom = case.lasting_hits(Hits::always(answer, case.windows().count));
    symptom.evidence = vec![evidence];
    symptom.hits.missing = clause.track.missing().to_vec();
    ThreadTime { symptom, mechanisms: vec![stacks], cores }
}
