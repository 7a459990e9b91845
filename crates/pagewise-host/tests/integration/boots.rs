//! A trial over a factor that needs a boot: whole plots, a stop that names what to boot, and no run under another kernel. The
//! engine is the real one; host, kernel and boots are scripted.

use pagewise_core::experiment::order::draw;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::{Plan, source};
use pagewise_core::experiment::point::{Boot, Outcome, PlannedPoint, Point, Record};
use pagewise_core::report::facts::HostFacts;
use pagewise_host::store::bundle::{Bundle, State};
use pagewise_host::trial::engine::{self, Booting, Observer, PointRunner, PointStage, Starting, TrialError};
use pagewise_testkit::scripted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const PLAN: &str = r#"
name = "boots"
[workload]
name = "command"
run = ["true"]
[[factor]]
name = "kernel"
levels.old = "kernel=6.1.0-old"
levels.new = "kernel=6.12.0-new"
[[factor]]
name = "swappiness"
levels.low = "vm.swappiness=1"
levels.high = "vm.swappiness=60"
[design]
blocks = 3
warmup = 0
seed = 4
[[contrast]]
factor = "kernel"
a = "old"
b = "new"
by = ["swappiness"]
primary = true
"#;

/// A host under one kernel, in one boot.
struct Booted {
    kernel: &'static str,
    boot_id: String,
    /// Cell to the kernel it needs.
    kernels: BTreeMap<String, String>,
    ran: Vec<PlannedPoint>,
    /// How often it booted itself; `None` where only the user can boot.
    own_boots: Option<u32>,
}

impl PointRunner for Booted {
    fn boot_needed(&self, planned: &PlannedPoint) -> Option<Boot> {
        let wanted = &self.kernels[&planned.cell];
        let settings = || [("kernel".to_owned(), wanted.clone())].into();
        (wanted != self.kernel).then(|| Boot { settings: settings() })
    }

    fn boot(&mut self, planned: &PlannedPoint, _boot: &Boot) -> Result<Booting, TrialError> {
        let Some(own_boots) = &mut self.own_boots else { return Ok(Booting::ByTheUser) };
        *own_boots += 1;
        self.boot_id = format!("own boot {own_boots}");
        self.kernel = if self.kernels[&planned.cell] == NEW { NEW } else { OLD };
        Ok(Booting::Done)
    }

    fn run_point(
        &mut self,
        planned: &PlannedPoint,
        attempt: u32,
        starting: Starting<'_>,
    ) -> Result<Record, TrialError> {
        starting(PointStage::Starts)?;
        self.ran.push(planned.clone());
        let scripted = scripted::point(planned, Outcome::Ok, 10.0);
        let point = Point { attempt, boot_id: self.boot_id.clone(), ..scripted };
        Ok(Record { point, vmstat_before: BTreeMap::new(), vmstat_after: BTreeMap::new() })
    }

    fn host(&self) -> HostFacts {
        HostFacts { kernel: Some(self.kernel.to_owned()), ..HostFacts::default() }
    }

    fn instant(&self) -> (String, String) {
        ("2026-01-01T00:00:00Z".to_owned(), self.boot_id.clone())
    }
}

/// Watches nothing.
struct Nobody;

impl Observer for Nobody {
    fn starting(&mut self, _planned: &PlannedPoint, _attempt: u32, _done: usize, _total: usize) {}
    fn ended(&mut self, _point: &Point, _done: usize, _total: usize) {}
}

const OLD: &str = "6.1.0-old";
const NEW: &str = "6.12.0-new";

struct Trial {
    folder: tempfile::TempDir,
    kernels: BTreeMap<String, String>,
    boots: u32,
}

impl Trial {
    fn new() -> Trial {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let plan: Plan = source::read(PLAN, "boots.toml").unwrap_or_else(|error| panic!("{error}"));
        let frozen = scripted::frozen(draw(&plan).expect("a plan that can be ordered"));
        let kernel = |policy: &str| if policy.contains(NEW) { NEW.to_owned() } else { OLD.to_owned() };
        let cells = cells(&plan).expect("policies that can be read");
        let kernels = cells.iter().map(|cell| (cell.label.clone(), kernel(&cell.policy.to_string()))).collect();
        drop(Bundle::create(&folder.path().join("boots.trial"), &plan, frozen).expect("an empty folder"));
        Trial { folder, kernels, boots: 0 }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("boots.trial")
    }

    /// Boots a kernel and goes on with the trial there. Gives the points that ran, and how the session ended.
    fn boot(&mut self, kernel: &'static str) -> (Vec<PlannedPoint>, Result<(), TrialError>) {
        self.boots += 1;
        let boot_id = format!("boot-{}", self.boots);
        let mut runner = Booted { kernel, boot_id, kernels: self.kernels.clone(), ran: Vec::new(), own_boots: None };
        let mut bundle = Bundle::open_to_resume(&self.path()).expect("nobody else runs it");
        engine::close_pause(&bundle).expect("a whole bundle");
        let ended = engine::run(&mut bundle, &mut runner, &mut Nobody);
        (runner.ran, ended)
    }

    /// What the last stop asked for, in words.
    fn needed(&self, ended: &Result<(), TrialError>) -> String {
        let Err(TrialError::NeedsBoot { needs, .. }) = ended else { panic!("it did not stop for a boot: {ended:?}") };
        needs.to_string()
    }

    fn bundle(&self) -> Bundle {
        Bundle::open(&self.path()).expect("a whole bundle")
    }

    /// The kernel a point of the order needs.
    fn kernel_of(&self, index: usize) -> &'static str {
        let cell = self.bundle().frozen().order.points[index].cell.clone();
        if self.kernels[&cell] == NEW { NEW } else { OLD }
    }
}

fn other(kernel: &str) -> &'static str {
    if kernel == NEW { OLD } else { NEW }
}

#[test]
fn a_trial_stops_for_each_boot_names_it_and_goes_on_after_it() {
    let mut trial = Trial::new();
    let order = trial.bundle().frozen().order.clone();
    let mut kernel = trial.kernel_of(0);
    let mut ran: Vec<u32> = Vec::new();
    loop {
        let (points, ended) = trial.boot(kernel);
        assert!(!points.is_empty(), "a boot that was asked for runs something");
        assert!(points.iter().all(|point| trial.kernels[&point.cell] == kernel), "nothing runs under another kernel");
        ran.extend(points.iter().map(|point| point.index));
        let Err(error) = &ended else { break };
        let told = error.to_string();
        let next = trial.kernel_of(ran.len());
        // Two plots of one kernel in a row are two boots all the same.
        let needs =
            if next == kernel { "a boot of its own, of the same kernel".to_owned() } else { format!("kernel={next}") };
        assert!(told.contains(&format!("needs {needs};")), "{told}");
        let states = trial.bundle().states().expect("readable");
        let waiting = states.into_iter().find(|point| point.state == State::Armed).expect("a point that waits");
        assert_eq!(waiting.reason, Some(needs), "status can say what it waits for");
        assert_eq!(waiting.index, ran.len() as u32, "the next point of the order, and no other");
        kernel = next;
    }
    assert_eq!(trial.boots, 6, "a boot for each whole plot");
    let hosts = trial.bundle().hosts().expect("readable");
    let kernels: Vec<&str> = hosts.iter().filter_map(|facts| facts.kernel.as_deref()).collect();
    let booted: Vec<&str> = (0..6).map(|plot| trial.kernel_of(2 * plot)).collect();
    assert_eq!(kernels, booted, "the host of each boot, in the order of the boots");
    assert_eq!(ran, (0..12).collect::<Vec<u32>>(), "every point once, in the order drawn");
    assert!(
        trial.bundle().points().expect("readable").iter().all(|point| point.attempt == 1),
        "a boot costs no attempt"
    );
    // A whole plot is what one boot runs of a block: both cells of its kernel, and every block has both kernels.
    let plots: BTreeSet<_> = order.points.iter().map(|point| (point.block, &trial.kernels[&point.cell])).collect();
    assert_eq!(plots.len(), 6);
    let mut of_all: BTreeSet<String> = BTreeSet::new();
    for (block, kernel) in plots {
        let boots: BTreeSet<String> = trial
            .bundle()
            .points()
            .expect("readable")
            .into_iter()
            .filter(|point| point.planned.block == block && &trial.kernels[&point.planned.cell] == kernel)
            .map(|point| point.boot_id)
            .collect();
        assert_eq!(boots.len(), 1, "block {block:?} under {kernel} ran in one boot: {boots:?}");
        of_all.extend(boots);
    }
    assert_eq!(of_all.len(), 6, "and in no other plot's");
}

#[test]
fn a_runner_that_boots_by_itself_runs_the_whole_trial_in_one_go() {
    let trial = Trial::new();
    let kernels = trial.kernels.clone();
    let mut runner = Booted {
        kernel: trial.kernel_of(0),
        boot_id: "first".to_owned(),
        kernels,
        ran: Vec::new(),
        own_boots: Some(0),
    };
    let mut bundle = Bundle::open_to_resume(&trial.path()).expect("nobody else runs it");
    engine::run(&mut bundle, &mut runner, &mut Nobody).expect("no boot is left to the user");
    assert_eq!(runner.own_boots, Some(5), "one for each whole plot but the first, whose kernel ran");
    let boots: BTreeSet<String> = bundle.points().expect("readable").into_iter().map(|point| point.boot_id).collect();
    assert_eq!((runner.ran.len(), boots.len()), (12, 6));
}

#[test]
fn under_the_wrong_kernel_nothing_runs_and_nothing_is_lost() {
    let mut trial = Trial::new();
    let first = trial.kernel_of(0);
    let (ran, ended) = trial.boot(other(first));
    assert!(ran.is_empty());
    assert_eq!(trial.needed(&ended), format!("kernel={first}"));
    // Booted wrongly once more: it says so again, and counts nothing.
    let (ran, ended) = trial.boot(other(first));
    assert!(ran.is_empty());
    assert_eq!(trial.needed(&ended), format!("kernel={first}"));
    let (ran, ended) = trial.boot(first);
    assert_eq!(ran.len(), 2, "both cells of the first plot");
    assert_eq!(trial.needed(&ended), format!("kernel={}", other(first)));
    // A boot of the same kernel again is not the one that is needed.
    let (ran, ended) = trial.boot(first);
    assert!(ran.is_empty());
    assert_eq!(trial.needed(&ended), format!("kernel={}", other(first)));
    let states = trial.bundle().states().expect("readable");
    assert!(states.iter().all(|state| state.attempt == 1 && state.state != State::Invalid), "{states:?}");
}

#[test]
fn a_run_that_needed_a_boot_is_booted_until_its_job_starts_and_a_kill_there_costs_only_that_attempt() {
    let mut trial = Trial::new();
    let first = trial.kernel_of(0);
    let bundle = Bundle::open_to_resume(&trial.path()).expect("nobody else runs it");
    let planned = bundle.frozen().order.points[0].clone();
    assert!(planned.boot.is_some(), "a point of a whole plot knows its boot");
    bundle.begin(&planned, 1, "2026-01-01T00:00:00Z", "boot-0").expect("room");
    assert_eq!(bundle.states().expect("readable")[0].state, State::Booted);
    // Killed here: the host crashed while the point was made ready.
    drop(bundle);
    let (ran, ended) = trial.boot(first);
    assert_eq!(ran[0], planned, "it runs again");
    trial.needed(&ended);
    let attempts: Vec<(u32, Outcome)> = trial
        .bundle()
        .points()
        .expect("readable")
        .iter()
        .filter(|point| point.planned.index == planned.index)
        .map(|point| (point.attempt, point.outcome))
        .collect();
    assert_eq!(attempts, [(1, Outcome::Invalid), (2, Outcome::Ok)]);
}
