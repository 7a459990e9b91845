//! A program that is in the kernel because it asks to be: system calls without memory management and without locks in them.
//! That is its work and nothing memory settings change, whatever share of the CPU it takes.

use super::super::families::ENOUGH_SAMPLES;
use super::prelude::*;

/// What would make it something else. Reading ahead and waiting for file data are a part of reading.
const NOT: [Family; 18] = [
    Family::LockSpin,
    Family::Compaction,
    Family::Kcompactd,
    Family::Reclaim,
    Family::Kswapd,
    Family::CgroupReclaim,
    Family::HugeZero,
    Family::HugeFault,
    Family::HugeCopy,
    Family::SmallCopy,
    Family::Khugepaged,
    Family::Swap,
    Family::DirtyBalance,
    Family::Numa,
    Family::Shootdown,
    Family::ChangeMap,
    Family::MmapLock,
    Family::Memory,
];

/// Name of the threshold in the rule that asks.
pub(super) const PART: &str = "of what the kernel does, plain system calls";

/// Title and meaning of the finding then.
pub(super) const WORK: (&str, &str) = (
    "A program is busy with system calls",
    "The kernel uses much of the CPU because a program asks it to. Hardly any of it is in memory management or waits for \
     locks: it is the program's own work, and no memory setting changes it.",
);

/// What shows it, and whose calls they are. `None`: it is not so, or stacks do not say.
pub(super) fn plain(case: &Case<'_>, hits: &Hits) -> Option<(Evidence, Vec<Participant>)> {
    let profile = case.observed.profile.as_ref()?;
    let counts = profile.counts(Family::SystemCall, &NOT, hits, case.windows());
    let share = (counts.kernel >= ENOUGH_SAMPLES).then(|| counts.family as f64 / counts.kernel as f64);
    let (answer, evidence) = case.whole(PART, "stacks: system calls", share);
    (answer == Answer::Yes).then(|| (evidence, case.who(Family::SystemCall, &NOT, hits)))
}

/// `PID 4711 (rsync) is busy with system calls`, where one process makes most of them.
pub(super) fn sentence(who: &[Participant]) -> String {
    let most = who.first().filter(|who| who.share.is_some_and(|share| share >= 0.5));
    match most.map(|who| (who.pid, who.name.as_str())) {
        Some((Some(pid), name)) => format!("PID {pid} ({name}) is busy with system calls"),
        Some((None, _)) => "A process is busy with system calls".to_owned(),
        None => "Programs are busy with system calls".to_owned(),
    }
}
