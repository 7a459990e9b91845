//! Names of perf's events, whatever stands behind them, and which of them show where the time of CPUs goes.

use crate::recording::SamplingEvent;

/// Without its modifiers, and cycles by one name: `cpu-clock:pppH` is `cpu-clock`, `cpu_core/cycles/P` and `cpu-cycles` are
/// `cycles`, `sched:sched_switch` stays.
pub(super) fn event_name(word: &str) -> String {
    let name = word.trim_end_matches(':');
    let name = match name.rsplit_once(':') {
        Some((name, modifiers)) if modifiers.bytes().all(|byte| b"ukhGHpPSDWIeb".contains(&byte)) => name,
        _ => name,
    };
    // `PMU/EVENT,term/modifiers`: the units of hybrid processors and of ARM have names of their own.
    let inside = name.split_once('/').and_then(|(_, rest)| rest.split_once('/')).map(|(event, _)| event);
    let inside = inside.and_then(|event| event.split(',').next());
    match inside.unwrap_or(name) {
        "cycles" | "cpu-cycles" | "cpu_cycles" => "cycles".to_owned(),
        _ => name.to_owned(),
    }
}

/// Whether its samples are spread as the time of CPUs is. `name` as [`event_name`] gives it.
pub(super) fn shows_cpu_time(name: &str) -> bool {
    SamplingEvent::from_word(name).shows_cpu_time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_one_name_whatever_was_asked_of_it() {
        for (word, name) in [
            ("cycles:ppp", "cycles"),
            ("cycles:P", "cycles"),
            ("cpu-cycles:pppH", "cycles"),
            ("cpu_core/cycles/P", "cycles"),
            ("cpu/cycles,period=1000/pp", "cycles"),
            ("armv8_pmuv3_0/cpu_cycles/", "cycles"),
            ("cpu-clock:pppH:", "cpu-clock"),
            ("sched:sched_switch:", "sched:sched_switch"),
            ("cpu/mem-loads,ldlat=30/P", "cpu/mem-loads,ldlat=30/P"),
            ("cache-misses", "cache-misses"),
            ("", ""),
        ] {
            assert_eq!(event_name(word), name);
        }
        assert!(shows_cpu_time(&event_name("task-clock:u")) && !shows_cpu_time("page-faults"));
    }
}
