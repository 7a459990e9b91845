//! What looking up translations costs: counters of the processor on every CPU, as one source of numbers (tier 3).
//!
//! Cycles of page walks where this processor is known to count them, else data-TLB misses, beside all cycles that were not
//! idle. Each CPU's are one group, so that one number is a part of the other although others want the counters, too.

use super::stacks::refusal;
use crate::root::Root;
use crate::source::cpu;
use crate::source::polled::Polled;
use crate::sys::perf_event::{Event, Group, Scope, try_open};
use std::io;

/// The name of the source.
pub(super) const SOURCE: &str = "pmu";

/// How often they are read, in nanoseconds: a reading interrupts every CPU once. Twice in each window of a finding.
pub(super) const PERIOD: u64 = 4_950_000_000;

/// What the kernel calls the processor's counters.
const MODEL: &str = "/sys/devices/cpu/caps/pmu_name";

/// Cycles in which a page walk for a load, and for a store, is under way: event, mask << 8, threshold << 24. From
/// `tools/perf/pmu-events/arch/x86/*/virtual-memory.json` (6.12): DTLB_LOAD_MISSES.WALK_ACTIVE and
/// DTLB_STORE_MISSES.WALK_ACTIVE, before Skylake WALK_DURATION. Skylake leaves walks of a hypervisor's tables out.
const WALK_CYCLES: [(&str, u64, u64); 6] = [
    ("haswell", 0x1008, 0x1049),
    ("broadwell", 0x1008, 0x1049),
    ("skylake", 0x0100_1008, 0x0100_1049),
    ("icelake", 0x0100_1008, 0x0100_1049),
    ("sapphire_rapids", 0x0100_1012, 0x0100_1013),
    ("granite_rapids", 0x0100_1012, 0x0100_1013),
];

/// Events that are opened together, with the names of their series.
type Choice = (Vec<Event>, Vec<&'static str>);

/// The best first.
fn choices(model: &str) -> Vec<Choice> {
    let known = WALK_CYCLES.iter().find(|(name, ..)| *name == model.trim());
    let walks = known.map(|(_, loads, stores)| {
        (
            vec![Event::Cycles, Event::Raw(*loads), Event::Raw(*stores)],
            vec!["cycles", "load_walk_cycles", "store_walk_cycles"],
        )
    });
    let both = vec![Event::Cycles, Event::DtlbLoadMisses, Event::DtlbStoreMisses];
    let misses = [
        (both, vec!["cycles", "load_misses", "store_misses"]),
        // Some processors tell misses of loads alone.
        (vec![Event::Cycles, Event::DtlbLoadMisses], vec!["cycles", "load_misses"]),
    ];
    walks.into_iter().chain(misses).collect()
}

/// Opens the best that this processor has.
///
/// # Errors
/// The reason and the remedy.
pub(super) fn open(root: &Root) -> Result<Polled, String> {
    if !root.is_live() {
        return Err("a captured tree has no processor that counts".to_owned());
    }
    // Nothing else can be counted where cycles cannot, and only they tell a processor without counters from one without
    // that event.
    try_open(Event::Cycles, Scope::WholeCpu).map_err(|error| why_not(root, &error))?;
    let model = root.read(MODEL).unwrap_or_default();
    let mut refused = None;
    for (events, names) in choices(&model) {
        match on_every_cpu(root, &events) {
            Ok(groups) => return Ok(Polled::counters(groups, &names)),
            Err(error) => refused = Some(error),
        }
    }
    let why = refused.map_or_else(|| "there is no CPU".to_owned(), |error| why_not(root, &error));
    Err(format!("cycles are counted here and TLB misses are not: {why}"))
}

fn on_every_cpu(root: &Root, events: &[Event]) -> io::Result<Vec<Group>> {
    let groups = cpu::online(root).into_iter().map(|cpu| Group::open(events, cpu));
    // One that went offline this very moment counts nothing.
    let groups = groups.filter(|group| group.as_ref().err().and_then(io::Error::raw_os_error) != Some(libc::ENODEV));
    let groups = groups.collect::<io::Result<Vec<Group>>>()?;
    if groups.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(groups) }
}

fn why_not(root: &Root, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "no PMU: there are no counters of the processor, as in most virtual machines; ask for an instance type with a \
             virtual PMU, or measure on bare metal"
                .to_owned()
        }
        _ => refusal(root, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_cycles_are_counted_where_they_are_known_and_misses_elsewhere() {
        let names = |model: &str| choices(model).into_iter().map(|(_, names)| names).collect::<Vec<_>>();
        assert_eq!(names("icelake\n")[0], ["cycles", "load_walk_cycles", "store_walk_cycles"]);
        assert_eq!(choices("icelake\n")[0].0[1], Event::Raw(0x0100_1008), "event 8, mask 10, in at least one cycle");
        for unknown in ["", "generic_arch_v5+\n", "sandybridge"] {
            assert_eq!(names(unknown), [vec!["cycles", "load_misses", "store_misses"], vec!["cycles", "load_misses"]]);
        }
        assert!(choices("skylake").iter().all(|(events, names)| events.len() == names.len()));
    }

    #[test]
    fn this_host_counts_or_says_why_it_does_not() {
        match open(&Root::live()) {
            Ok(mut polled) => {
                polled.read(&mut Vec::new()).expect("counters that run");
                let columns = polled.columns();
                assert!(columns.values[0] > 0 && columns.present.iter().all(|present| *present), "{columns:?}");
            }
            Err(why) => {
                let reasons = ["no PMU", "perf_event_paranoid", "perf_event_open", "TLB misses are not"];
                assert!(reasons.iter().any(|reason| why.contains(reason)), "{why}");
            }
        }
        let why = open(&Root::at("/nowhere")).expect_err("another host");
        assert!(why.contains("captured tree"), "{why}");
    }

    #[test]
    fn a_processor_without_counters_is_told_from_one_that_is_not_ours_to_ask() {
        let why = |number| why_not(&Root::live(), &io::Error::from_raw_os_error(number));
        assert!(why(libc::ENOENT).starts_with("no PMU") && why(libc::EOPNOTSUPP).starts_with("no PMU"));
        assert!(why(libc::EACCES).contains("CAP_PERFMON"), "{}", why(libc::EACCES));
    }
}
