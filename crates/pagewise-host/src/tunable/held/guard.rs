//! A guard as a setting: a process that takes page cache back before the kernel has to, for as long as the setting is wanted.

use super::super::TunableError;
use super::Holder;
use super::process::Holding;
use crate::guard::GuardError;
use crate::guard::running::{self, Guards};
use crate::process::Interrupt;
use crate::root::Root;
use pagewise_core::tunable::Tunable;
use pagewise_core::tunable::guard::{NAME, parse};
use std::time::Duration;

/// How often the end of those whose setting it is is looked for.
const TICK: Duration = Duration::from_millis(200);

/// Keeps a guard at work.
pub(super) struct Guard;

impl Holder for Guard {
    fn name(&self) -> &'static str {
        NAME
    }

    fn can_be_had(&self, root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError> {
        let missing = |why: String| TunableError::Missing { tunable: tunable.name.clone(), why };
        match parse(value).map_err(missing)? {
            Some(asked) => Guards::open(root, &asked, &[], true).map(drop).map_err(|error| missing(error.to_string())),
            None => Ok(()),
        }
    }

    fn hold(&self, value: &str, holding: &mut Holding) -> Result<(), String> {
        let asked = parse(value)?.ok_or("no guard is to be held")?;
        let guards = Guards::open(&Root::live(), &asked, &[], true).map_err(|error| error.to_string())?;
        if let Err(error) = running::stay_in_memory() {
            tracing::debug!("its memory cannot be locked: {error}");
        }
        holding.in_force()?;
        let over = Interrupt::default();
        let guarded = std::thread::scope(|scope| {
            let at_work = scope.spawn(|| guards.run(None, &over, &|_, _| {}));
            while !at_work.is_finished() && !holding.is_over_within(Some(TICK)) {}
            over.set();
            at_work.join().unwrap_or_else(|_| Err(GuardError::Lacks("the guard ended by itself".to_owned())))
        });
        guarded.map(drop).map_err(|error| error.to_string())
    }
}
