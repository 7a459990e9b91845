//! Trials as this program's verbs run them: what was typed becomes a library's session, and what that tells becomes words.

mod boots;
pub(crate) mod dry_run;
mod told;

pub(crate) use boots::Ended;

use crate::failure::Failure;
use crate::global::{CACHE_VARIABLE, Global, STATE_VARIABLE};
use crate::output;
use crate::settings::Settings;
use anyhow::anyhow;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::lint::Lint;
use pagewise_core::tunable::policy::Policy;
use pagewise_core::unit::Seconds;
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial::session::{self, HeldHost, RestLimits, Start, Wait, Words, bundle_path};
use pagewise_host::tunable::Places;
use pagewise_host::workload;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use told::TerminalProgress;

/// What the user typed: a message about going on names that verb, and no option of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Prove,
    Trial,
}

impl Verb {
    /// What is typed to go on with a bundle, before its name.
    fn resume(self) -> &'static str {
        match self {
            Verb::Prove => "pagewise prove --resume",
            Verb::Trial => "pagewise trial resume",
        }
    }

    fn words(self) -> Words {
        let holder = match self {
            Verb::Prove => "prove",
            Verb::Trial => "trial",
        };
        Words { holder, live_holder: "prove --live", data: "--data DIR" }
    }
}

/// Where the seed of an order that is only shown came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seed {
    /// It was given, or stands in the plan: this is the order that runs.
    Given,
    /// It is drawn when the trial begins: this order is an example.
    Drawn,
}

impl Seed {
    pub(crate) fn in_words(self, seed: u64) -> String {
        match self {
            Seed::Given => format!("seed {seed}"),
            Seed::Drawn => format!(
                "an example with seed {seed}: the seed is drawn when the trial begins, and recorded; --seed {seed} runs this order"
            ),
        }
    }
}

/// What every trial of this process shares.
pub(crate) struct Session {
    verb: Verb,
    places: Places,
    named: workload::Places,
    data: Option<PathBuf>,
    wait: Wait,
    /// Options that going on with a trial needs as well.
    options: Options,
    interrupt: Interrupt,
    told: TerminalProgress,
}

/// Options that were typed and that the next command on the same bundle needs as well.
struct Options {
    /// What the job works with.
    job: Vec<String>,
    /// Where Pagewise keeps what is its own.
    places: Vec<String>,
}

impl Session {
    pub(crate) fn open(global: &Global, verb: Verb, typed: &workload::Places) -> Result<Session, Failure> {
        let settings = Settings::resolve(global)?;
        let interrupt = Interrupt::on_signals()
            .map_err(|error| Failure::NotPossible(anyhow!("cannot take over Ctrl-C: {error}")))?;
        let places = Places { state: settings.state_dir, cache: settings.cache_dir };
        let options = Options::typed(global, typed);
        let told = TerminalProgress::new(verb.resume(), options.words());
        let named = typed.clone().or(&settings.places);
        Ok(Session { verb, places, named, data: None, wait: Wait::No, options, interrupt, told })
    }

    /// The folder whose contents come back before every run of a command.
    pub(crate) fn with_data(self, data: Option<PathBuf>) -> Session {
        Session { data, ..self }
    }

    /// How long to wait for another run that has the host, as `--wait[=TIME]` is read.
    pub(crate) fn waiting(self, given: Option<Option<Seconds>>) -> Session {
        let wait = match given {
            None => Wait::No,
            Some(None) => Wait::Forever,
            Some(Some(time)) => Wait::For(time),
        };
        Session { wait, ..self }
    }

    fn here(&self) -> session::Session<'_> {
        session::Session {
            root: Root::live(),
            places: self.places.clone(),
            named: self.named.clone(),
            data: self.data.clone(),
            wait: self.wait,
            interrupt: self.interrupt.clone(),
            words: self.verb.words(),
            audience: &self.told,
        }
    }

    /// Options of a command that repeats the trial, beside its plan: the folders its job works with, absolute.
    pub(crate) fn repeat_options(&self) -> Vec<String> {
        let data = self.data.as_deref().map(|data| ["--data".to_owned(), absolute(data)]);
        data.into_iter().flatten().chain(self.options.job.iter().cloned()).collect()
    }

    /// Takes the host for a new trial, before anything of it is read.
    pub(crate) fn hold_for(&self, plan: &Plan) -> Result<HeldHost, Failure> {
        self.here().hold_for(plan).map_err(|error| self.told.failure(error, &bundle_path(plan)))
    }

    /// Everything that can be known to be wrong before anything runs; what is odd but allowed comes back as notes.
    pub(crate) fn check(&self, plan: &Plan, same_on_purpose: bool) -> Result<Vec<String>, Failure> {
        Ok(self.here().check(plan, same_on_purpose)?)
    }

    /// What of a plan cannot be had on this host, is too large for it, or changes nothing on it.
    pub(crate) fn lints(&self, plan: &Plan) -> Vec<Lint> {
        self.here().lints(plan)
    }

    /// Names of numbers that no run on this host will have, as far as anybody knows.
    pub(crate) fn unknown_numbers(&self, plan: &Plan) -> Vec<String> {
        self.here().unknown_numbers(plan)
    }

    /// Whether the kernel that runs takes a policy, or anything else of this host stands in its way.
    pub(crate) fn can_have(&self, policy: &Policy) -> bool {
        self.here().can_have(policy)
    }

    /// What is wrong with a plan's workload on any host.
    pub(crate) fn wrong_workload(&self, plan: &Plan) -> Option<String> {
        self.here().wrong_workload(plan)
    }

    /// What would be run and changed, in words.
    pub(crate) fn describe(
        &self,
        global: &Global,
        plan: &Plan,
        seed: Seed,
        notes: &[String],
    ) -> Result<ExitCode, Failure> {
        let preview = self.here().preview(plan)?;
        if global.json {
            let takes = plan.live.as_ref().map(|live| live.takes(preview.order.points.len()).0);
            dry_run::tell(plan, &preview.order, notes, takes);
        } else {
            let text = dry_run::in_words(plan, &preview, seed, notes);
            output::data(&output::wrapped(&text, output::columns(), 2));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Runs a new trial to its end, or until something stops it.
    pub(crate) fn start(&self, held: HeldHost, plan: Plan, start: Start<'_>) -> Result<Bundle, Failure> {
        let path = bundle_path(&plan);
        self.here().start(held, plan, start).map_err(|error| self.told.failure(error, &path))
    }

    /// Runs what is left of an interrupted trial.
    pub(crate) fn resume(&self, path: &Path, limits: RestLimits) -> Result<Bundle, Failure> {
        self.here().resume(path, limits).map_err(|error| self.told.failure(error, path))
    }
}

/// As text, for a command or a bundle.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

impl Options {
    fn words(&self) -> Vec<String> {
        self.job.iter().chain(&self.places).cloned().collect()
    }

    /// What a variable says it will say to the next command, too.
    fn typed(global: &Global, named: &workload::Places) -> Options {
        let typed = |option: &str, value: Option<&Path>, variable: &str| -> Vec<String> {
            let is_from_variable = |value: &Path| env::var_os(variable).is_some_and(|text| text == *value.as_os_str());
            let value = value.filter(|value| !is_from_variable(value));
            value.map(|value| vec![option.to_owned(), absolute(value)]).unwrap_or_default()
        };
        let state = typed("--state-dir", global.state_dir.as_deref(), STATE_VARIABLE);
        let cache = typed("--cache-dir", global.cache_dir.as_deref(), CACHE_VARIABLE);
        let job =
            workload::places().filter_map(|place| Some((place, named.path(place.name)?))).flat_map(|(place, named)| {
                let named = if place.is_here { absolute(named) } else { named.display().to_string() };
                [format!("--{}", place.name), named]
            });
        Options { job: job.collect(), places: [state, cache].concat() }
    }
}
