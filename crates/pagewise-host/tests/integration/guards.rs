//! What a plan's `[[invalidate]]` rules do to a run that ended well: it is kept, is no result, and runs again. The engine is the
//! real one; the job and the kernel's counters are scripted.

use pagewise_core::experiment::order::draw;
use pagewise_core::experiment::plan::source;
use pagewise_core::experiment::point::{Outcome, PlannedPoint, Point, Record};
use pagewise_core::report::facts::HostFacts;
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial::engine::{self, Observer, PointRunner, PointStage, Starting, TrialError};
use pagewise_testkit::scripted;
use std::collections::BTreeMap;
use std::path::PathBuf;

const PLAN: &str = r#"
name = "guarded"
[workload]
name = "command"
run = ["true"]
[[factor]]
name = "mode"
levels.one = "env.MODE=1"
levels.two = "env.MODE=2"
[design]
blocks = 4
warmup = 0
seed = 4
[[contrast]]
factor = "mode"
a = "one"
b = "two"
primary = true
[[invalidate]]
number = "oom_kill"
above = 0
because = "a neighbour lost a process"
[[invalidate]]
number = "wall"
above = 100
because = "the host was asleep"
"#;

/// The third run loses a process of the host, the fifth takes too long; every other is as it should be.
#[derive(Default)]
struct Scripted {
    runs: u32,
    /// What the bundle said, to somebody else, while the first run waited and when its job was about to start.
    seen: Vec<Option<String>>,
    bundle: Option<PathBuf>,
}

impl Scripted {
    fn sample(&mut self) {
        let Some(path) = &self.bundle else { return };
        let states = Bundle::open(path).and_then(|bundle| bundle.states()).expect("a bundle that is run can be read");
        self.seen.push(states[0].reason.clone());
    }
}

impl PointRunner for Scripted {
    fn run_point(
        &mut self,
        planned: &PlannedPoint,
        attempt: u32,
        starting: Starting<'_>,
    ) -> Result<Record, TrialError> {
        if self.runs == 0 {
            starting(PointStage::Waits("memory is short"))?;
            self.sample();
        }
        starting(PointStage::Starts)?;
        if self.runs == 0 {
            self.sample();
        }
        self.runs += 1;
        let wall = if self.runs == 5 { 1000.0 } else { 10.0 };
        let point = Point { attempt, ..scripted::point(planned, Outcome::Ok, wall) };
        let kills = |after: bool| i64::from(self.runs >= 3 && (self.runs > 3 || after));
        // A level that moves is no counter that grows.
        let vmstat = |after: bool| {
            BTreeMap::from([("oom_kill".to_owned(), kills(after)), ("nr_free_pages".to_owned(), i64::from(after))])
        };
        Ok(Record { point, vmstat_before: vmstat(false), vmstat_after: vmstat(true) })
    }

    fn host(&self) -> HostFacts {
        HostFacts::default()
    }

    fn instant(&self) -> (String, String) {
        ("2026-01-01T00:00:00Z".to_owned(), "boot".to_owned())
    }
}

/// Watches nothing.
struct Nobody;

impl Observer for Nobody {
    fn starting(&mut self, _planned: &PlannedPoint, _attempt: u32, _done: usize, _total: usize) {}
    fn ended(&mut self, _point: &Point, _done: usize, _total: usize) {}
}

#[test]
fn a_run_that_a_guard_finds_wrong_runs_again_whether_it_guards_a_measure_or_a_counter_of_the_kernel() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = source::read(PLAN, "guards.toml").unwrap_or_else(|error| panic!("{error}"));
    let frozen = scripted::frozen(draw(&plan).expect("a plan that can be ordered"));
    let path = folder.path().join("guarded.trial");
    let mut bundle = Bundle::create(&path, &plan, frozen).expect("an empty folder");
    let mut runner = Scripted { bundle: Some(path.clone()), ..Scripted::default() };
    engine::run(&mut bundle, &mut runner, &mut Nobody).expect("nothing stops it");
    assert_eq!(runner.seen, [Some("the host: memory is short".to_owned()), None], "as long as it waits");

    let points = Bundle::open(&path).and_then(|bundle| bundle.points()).expect("a whole bundle");
    let invalid: Vec<(u32, u32, &str)> = points
        .iter()
        .filter(|point| point.outcome == Outcome::Invalid)
        .map(|point| (point.planned.index, point.attempt, point.reason.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        invalid,
        [
            (2, 1, "oom_kill is 1, above 0: a neighbour lost a process"),
            (3, 1, "wall is 1000, above 100: the host was asleep"),
        ]
    );
    assert_eq!(points.iter().filter(|point| point.outcome == Outcome::Ok).count(), 8, "each of them ran again");
    assert!(points.iter().all(|point| !point.counters.contains_key("nr_free_pages")));
}
