//! Plans: read from a file, or one of those that ship with Pagewise, by its name.

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use anyhow::anyhow;
use pagewise_core::experiment::plan::source::{self, Place, PlanError, Step};
use pagewise_core::experiment::plan::{Plan, check};
use pagewise_core::spelling::did_you_mean;
use pagewise_host::{given, tunable};
use std::path::Path;

/// Name and text of every plan that ships with Pagewise.
pub(crate) const SHIPPED: &[(&str, &str)] = &[
    ("guard", include_str!("../../../plans/guard.toml")),
    ("jitter", include_str!("../../../plans/jitter.toml")),
    ("jitter-map", include_str!("../../../plans/jitter-map.toml")),
    ("terasort-mglru", include_str!("../../../plans/terasort-mglru.toml")),
    ("terasort-mglru-2cpu", include_str!("../../../plans/terasort-mglru-2cpu.toml")),
    ("terasort-mglru-as-published", include_str!("../../../plans/terasort-mglru-as-published.toml")),
    ("terasort-mglru-guest", include_str!("../../../plans/terasort-mglru-guest.toml")),
    ("terasort-storm", include_str!("../../../plans/terasort-storm.toml")),
    ("terasort-swap-2cpu", include_str!("../../../plans/terasort-swap-2cpu.toml")),
    ("terasort-thp", include_str!("../../../plans/terasort-thp.toml")),
];

/// A plan and where it came from.
pub(crate) struct Loaded {
    pub(crate) plan: Plan,
    /// Whether its text names a seed.
    pub(crate) has_seed: bool,
    text: String,
    /// As it was given; a plan that ships and was given by its name, with `.toml`.
    file: String,
}

impl Loaded {
    /// What it is called in a command that runs it anywhere: its name, where it is the text of a plan that ships, else its file.
    pub(crate) fn name(&self) -> String {
        let shipped = SHIPPED.iter().find(|(_, text)| *text == self.text);
        shipped.map_or_else(|| self.file.clone(), |(name, _)| (*name).to_owned())
    }

    /// Holds the plan to what only this program knows of jobs and kernels: the first thing that can never work is an error at its
    /// line. A word that no kernel up to now has is taken for a slip, unless the plan is for this host and its kernel has it.
    ///
    /// # Errors
    /// With file, line and column.
    pub(crate) fn hold_to(&self, session: &Session, is_for_here: bool) -> Result<(), Failure> {
        if let Some(why) = session.wrong_workload(&self.plan) {
            let named = |key: &&String| why.contains(&format!("'{key}'"));
            let key = self.plan.workload.args.keys().find(named).map_or("name", String::as_str);
            return Err(self.wrong_at(["workload".into(), key.into()], why));
        }
        for (policy, problem) in check::unheard_of(&self.plan) {
            if !(is_for_here && session.can_have(&policy)) {
                return Err(wrong(source::at(&self.text, &self.file, &problem.place, problem.why)));
            }
        }
        Ok(())
    }

    fn wrong_at<const N: usize>(&self, steps: [Step; N], why: String) -> Failure {
        wrong(source::at(&self.text, &self.file, &Place::of(steps), why))
    }
}

fn wrong(error: PlanError) -> Failure {
    Failure::Usage(anyhow::Error::new(error))
}

/// Reads a plan from a file, or a shipped one by its name.
///
/// # Errors
/// When there is none, or it is wrong: with file, line and column.
pub(crate) fn load(name: &str) -> Result<Loaded, Failure> {
    let (file, text) = match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        // A file of that name in this folder is what the user sees, and wins.
        Some((shipped, text)) if !Path::new(name).is_file() => (format!("{shipped}.toml"), (*text).to_owned()),
        _ => (name.to_owned(), read(name)?),
    };
    let mut plan = source::read(&text, &file).map_err(wrong)?;
    if open_policy_files(&mut plan, &text, &file)? {
        let again = toml::to_string_pretty(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        plan = source::read(&again, &file).map_err(wrong)?;
    }
    let table: Option<toml::Table> = text.parse().ok();
    let seed = table.as_ref().and_then(|table| table.get("design")?.get("seed"));
    Ok(Loaded { plan, has_seed: seed.is_some(), text, file })
}

fn read(name: &str) -> Result<String, Failure> {
    given::text(Path::new(name)).map_err(|error| {
        if Path::new(name).join("points.sqlite").is_file() {
            return of_a_bundle(name);
        }
        let shipped: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        Failure::Usage(anyhow!(
            "cannot read the plan {name}: {error}{}; give a file, or one of those that ship: {}",
            did_you_mean(name, shipped.iter().copied()),
            shipped.join(", ")
        ))
    })
}

/// A bundle holds the plan of its trial, which is not to be begun a second time by accident.
fn of_a_bundle(name: &str) -> Failure {
    let quoted = output::quoted(name);
    Failure::Usage(anyhow!(
        "{name} is the bundle of a trial that has begun, not a plan; how far it is says:\n  pagewise trial status \
         {quoted}\nits plan, to check it or to begin anew, is {}",
        Path::new(name).join("plan.toml").display()
    ))
}

/// Levels written as `@FILE.toml` take that file's settings, so that the frozen plan needs nothing else. Says whether any did.
fn open_policy_files(plan: &mut Plan, text: &str, file: &str) -> Result<bool, Failure> {
    let mut any = false;
    for (index, factor) in plan.factors.iter_mut().enumerate() {
        for (level, policy) in factor.levels.iter_mut().filter(|(_, policy)| policy.starts_with('@')) {
            let read = tunable::load_policy(policy).map_err(|error| {
                let place = Place::of(["factor".into(), index.into(), "levels".into(), level.as_str().into()]);
                Failure::Usage(anyhow::Error::new(source::at(text, file, &place, error.to_string())))
            })?;
            *policy = pagewise_core::tunable::policy::Policy { name: None, ..read }.to_string();
            any = true;
        }
    }
    Ok(any)
}
