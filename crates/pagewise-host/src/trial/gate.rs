//! The state gate before a point: the host must be in the state the comparison assumes, or the point does not count.

use crate::process::{Interrupt, Interrupted};
use crate::root::Root;
use crate::source::{cpu, meminfo, psi};
use pagewise_core::experiment::plan::Design;
use pagewise_core::unit::Bytes;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// How long the pressure totals and the stolen time are watched.
const WINDOW: Duration = Duration::from_secs(1);
/// How long the gate waits before it gives a point up.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// After how long it says what it waits for: what is over sooner nobody misses.
const SAID_AFTER: Duration = Duration::from_secs(3);
/// Memory that has been freer for so long stays so: who held it has ended, and no wait brings that back.
const STAYS_FREER: Duration = Duration::from_secs(10);

/// What the gate remembers between points.
#[derive(Debug)]
pub struct Gate {
    /// By level: a policy such as `vm.nr_hugepages` takes memory by itself.
    first_unheld: BTreeMap<String, u64>,
    /// A run from which the hypervisor takes a larger share of the CPU time does not count.
    steal_limit: f64,
    /// Pressure totals may grow by this share of the time watched.
    pressure_limit: f64,
    /// Memory that nobody holds may differ from that before the first point of the same level by this share.
    memory_drift_limit: f64,
}

/// How the gate decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Run.
    Open,
    /// Run, and hold later points against the memory that there is now: more than before the first point, for this reason.
    OpenWithMore(String),
    /// The host did not come to rest; the reason names the check that failed last.
    GivenUp(String),
}

impl Gate {
    /// One that has seen no point, with the limits of a plan.
    #[must_use]
    pub fn new(design: &Design) -> Self {
        let Design { steal_limit, pressure_limit, memory_drift_limit, .. } = *design;
        Gate { first_unheld: BTreeMap::new(), steal_limit, pressure_limit, memory_drift_limit }
    }

    /// Waits until pressure is low, the hypervisor leaves this host its CPUs, and as much memory is free or in caches as before the first
    /// point under `level`. `also` is checked each time and says what else is not as it must be. `tell` is told once what a longer wait is for.
    ///
    /// # Errors
    /// [`Interrupted`] on Ctrl-C.
    pub fn wait(
        &mut self,
        level: &str,
        root: &Root,
        interrupt: &Interrupt,
        also: &mut dyn FnMut() -> Option<String>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Decision, Interrupted> {
        self.wait_at_most(level, root, interrupt, also, tell, PATIENCE)
    }

    fn wait_at_most(
        &mut self,
        level: &str,
        root: &Root,
        interrupt: &Interrupt,
        also: &mut dyn FnMut() -> Option<String>,
        tell: &mut dyn FnMut(&str),
        patience: Duration,
    ) -> Result<Decision, Interrupted> {
        let since = Instant::now();
        let mut is_told = false;
        let mut freer_since = None;
        loop {
            let objection = match also() {
                Some(objection) => {
                    sleep(Duration::from_millis(200), interrupt)?;
                    Some(GateReason::Waits(objection))
                }
                None => match self.pressure_or_steal(root, interrupt)? {
                    Some(objection) => Some(GateReason::Waits(objection)),
                    None => self.memory(level, root),
                },
            };
            match objection {
                None => return Ok(Decision::Open),
                Some(GateReason::Freer(reason)) => {
                    let stays = patience.min(STAYS_FREER);
                    if freer_since.get_or_insert_with(Instant::now).elapsed() >= stays {
                        self.first_unheld.clear();
                        self.memory(level, root);
                        return Ok(Decision::OpenWithMore(reason));
                    }
                }
                Some(GateReason::Waits(reason)) => {
                    freer_since = None;
                    if since.elapsed() >= patience {
                        return Ok(Decision::GivenUp(reason));
                    }
                    if since.elapsed() >= SAID_AFTER && !is_told {
                        tell(&reason);
                        is_told = true;
                    }
                }
            }
        }
    }

    /// A host without PSI cannot be asked for pressure; `doctor` says so, and the gate then rests on the rest.
    fn pressure_or_steal(&self, root: &Root, interrupt: &Interrupt) -> Result<Option<String>, Interrupted> {
        let totals =
            || -> Option<[f64; 2]> { Some([psi::read(root, "memory").ok()?.some, psi::read(root, "io").ok()?.some]) };
        let (before, cpu_before) = (totals(), cpu::read(root));
        let watched_from = Instant::now();
        sleep(WINDOW, interrupt)?;
        let watched = watched_from.elapsed().as_secs_f64();
        let after = totals();
        let stolen = cpu_before.ok().zip(cpu::read(root).ok()).map(|(before, after)| after.since(before).steal_share());
        if let Some(stolen) = stolen.filter(|share| *share > self.steal_limit) {
            return Ok(Some(format!(
                "the hypervisor took {:.0} % of the CPU time of the last second (limit {:.0} %, --steal-limit)",
                stolen * 100.0,
                self.steal_limit * 100.0
            )));
        }
        let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
        let objection =
            ["memory", "I/O"].iter().zip(before.iter().zip(after)).find_map(|(resource, (before, after))| {
                let share = (after - before) / watched;
                (share >= self.pressure_limit).then(|| {
                    format!(
                        "tasks still waited for {resource} {:.1} % of the last second (limit {} %, --pressure-limit)",
                        share * 100.0,
                        self.pressure_limit * 100.0
                    )
                })
            });
        Ok(objection)
    }

    fn memory(&mut self, level: &str, root: &Root) -> Option<GateReason> {
        let now = meminfo::unheld(&meminfo::read(root).ok()?)?;
        let first = *self.first_unheld.entry(level.to_owned()).or_insert(now);
        let share = (now as f64 - first as f64) / first as f64;
        if share > self.memory_drift_limit {
            return Some(GateReason::Freer(format!(
                "{} of memory are free or in caches, {} before the first run under the same policy: what held the difference then has ended",
                Bytes(now),
                Bytes(first)
            )));
        }
        (share < -self.memory_drift_limit).then(|| {
            GateReason::Waits(format!(
                "{} of memory are free or in caches, {:.1} % less than the {} before the first run under the same policy (limit {} %, --memory-drift-limit); \
                 what has taken it since must end",
                Bytes(now),
                -share * 100.0,
                Bytes(first),
                self.memory_drift_limit * 100.0
            ))
        })
    }
}

/// Why a point may not run yet.
enum GateReason {
    /// What a wait may end.
    Waits(String),
    /// More memory than before the first point, which no wait takes away again.
    Freer(String),
}

/// Sleeps in short steps so that Ctrl-C is heard.
///
/// # Errors
/// [`Interrupted`] on Ctrl-C.
pub fn sleep(length: Duration, interrupt: &Interrupt) -> Result<(), Interrupted> {
    let until = Instant::now() + length;
    loop {
        interrupt.check()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn host(available_kb: u64, memory_total_us: u64) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        set(&tree, available_kb, memory_total_us);
        tree
    }

    fn set(tree: &tempfile::TempDir, available_kb: u64, memory_total_us: u64) {
        fs::create_dir_all(tree.path().join("proc/pressure")).unwrap();
        fs::write(tree.path().join("proc/meminfo"), format!("MemAvailable: {available_kb} kB\n")).unwrap();
        for resource in ["memory", "io"] {
            let text = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={memory_total_us}\n");
            fs::write(tree.path().join("proc/pressure").join(resource), text).unwrap();
        }
    }

    #[test]
    fn a_quiet_host_opens_the_gate() {
        let tree = host(1000, 5);
        let decision = Gate::new(&Design::default()).wait(
            "a",
            &Root::at(tree.path()),
            &Interrupt::default(),
            &mut || None,
            &mut |_| {},
        );
        assert_eq!(decision, Ok(Decision::Open));
    }

    #[test]
    fn memory_that_does_not_come_back_closes_it() {
        let tree = host(1000, 5);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let mut gate = Gate::new(&Design::default());
        gate.wait("a", &root, &interrupt, &mut || None, &mut |_| {}).unwrap();
        set(&tree, 940, 5);
        let decision = gate.wait_at_most("a", &root, &interrupt, &mut || None, &mut |_| {}, Duration::ZERO).unwrap();
        assert!(
            matches!(&decision, Decision::GivenUp(why) if why.starts_with("940 KiB of memory are free or in caches, 6.0 % less than the 1000 KiB")),
            "{decision:?}"
        );
    }

    #[test]
    fn how_much_memory_may_drift_is_up_to_the_plan() {
        let tree = host(1000, 5);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let mut gate = Gate::new(&Design { memory_drift_limit: 0.1, ..Design::default() });
        let mut decide = |available| {
            set(&tree, available, 5);
            gate.wait_at_most("a", &root, &interrupt, &mut || None, &mut |_| {}, Duration::ZERO).unwrap()
        };
        assert_eq!([decide(1000), decide(940), decide(1060)], [Decision::Open, Decision::Open, Decision::Open]);
        let closed = decide(880);
        assert!(matches!(&closed, Decision::GivenUp(why) if why.contains("(limit 10 %, ")), "{closed:?}");
    }

    #[test]
    fn memory_that_became_freer_is_said_and_later_points_are_held_against_it() {
        let tree = host(100, 5);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let mut gate = Gate::new(&Design::default());
        let mut decide = |available, level| {
            set(&tree, available, 5);
            gate.wait_at_most(level, &root, &interrupt, &mut || None, &mut |_| {}, Duration::ZERO).unwrap()
        };
        assert_eq!([decide(100, "a"), decide(90, "b")], [Decision::Open, Decision::Open]);
        let freer = decide(200, "a");
        let why = "200 KiB of memory are free or in caches, 100 KiB before the first run under the same policy";
        assert!(matches!(&freer, Decision::OpenWithMore(said) if said.starts_with(why)), "{freer:?}");
        assert_eq!(decide(190, "b"), Decision::Open, "the other level is not held against a host that is gone");
        let short = decide(150, "a");
        assert!(matches!(&short, Decision::GivenUp(why) if why.contains("25.0 % less than the 200 KiB")), "{short:?}");
    }

    #[test]
    fn a_wait_says_once_and_within_five_seconds_what_it_is_for() {
        let tree = host(1000, 5);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let (since, mut told) = (Instant::now(), Vec::new());
        let mut tell = |reason: &str| told.push((reason.to_owned(), since.elapsed()));
        let mut busy = || Some("it is busy".to_owned());
        let patience = Duration::from_secs(5);
        Gate::new(&Design::default()).wait_at_most("a", &root, &interrupt, &mut busy, &mut tell, patience).unwrap();
        let [(reason, after)] = told.as_slice() else { panic!("{told:?}") };
        assert!(reason == "it is busy" && *after < patience, "{told:?}");
    }

    #[test]
    fn memory_that_a_policy_takes_is_compared_with_its_own_level() {
        let tree = host(1000, 5);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let mut gate = Gate::new(&Design::default());
        for (available, level) in [(1000, "a"), (800, "b"), (1000, "a"), (800, "b")] {
            set(&tree, available, 5);
            let decision =
                gate.wait_at_most(level, &root, &interrupt, &mut || None, &mut |_| {}, Duration::ZERO).unwrap();
            assert_eq!(decision, Decision::Open, "{available} under {level}");
        }
    }

    #[test]
    fn a_host_under_pressure_closes_it() {
        let tree = host(1000, 0);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let rising = tree.path().join("proc/pressure/memory");
        let mover = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            fs::write(rising, "some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n").unwrap();
        });
        let decision = Gate::new(&Design::default())
            .wait_at_most("a", &root, &interrupt, &mut || None, &mut |_| {}, Duration::ZERO)
            .unwrap();
        mover.join().unwrap();
        assert!(matches!(decision, Decision::GivenUp(reason) if reason.contains("waited for memory")));
    }

    #[test]
    fn a_hypervisor_that_takes_the_cpus_closes_it_where_the_plan_would_not_let_the_run_count() {
        let tree = host(1000, 0);
        let (root, interrupt) = (Root::at(tree.path()), Interrupt::default());
        let stat = tree.path().join("proc/stat");
        let decide = |steal_limit| {
            fs::write(&stat, "cpu 1000 0 0 1000 0 0 0 0 0 0\n").unwrap();
            let later = stat.clone();
            let mover = thread::spawn(move || {
                thread::sleep(Duration::from_millis(300));
                fs::write(later, "cpu 1100 0 0 1060 0 0 0 40 0 0\n").unwrap();
            });
            let mut gate = Gate::new(&Design { steal_limit, ..Design::default() });
            let decision =
                gate.wait_at_most("a", &root, &interrupt, &mut || None, &mut |_| {}, Duration::ZERO).unwrap();
            mover.join().unwrap();
            decision
        };
        let why = "the hypervisor took 20 % of the CPU time of the last second (limit 10 %, --steal-limit)";
        assert_eq!(decide(0.1), Decision::GivenUp(why.to_owned()));
        assert_eq!(decide(0.3), Decision::Open);
    }

    #[test]
    fn ctrl_c_is_heard_while_waiting() {
        let tree = host(1000, 0);
        let interrupt = Interrupt::default();
        interrupt.set();
        assert_eq!(
            Gate::new(&Design::default()).wait("a", &Root::at(tree.path()), &interrupt, &mut || None, &mut |_| {}),
            Err(Interrupted)
        );
    }
}
