//! What a trial tells of its way, in words for a person.

use crate::output;
use crate::progress::live::LiveProgress;
use crate::progress::{StepProgress, TrialProgress};
use pagewise_core::experiment::live::{Ended, EndedBy};
use pagewise_core::experiment::plan::Plan;
use pagewise_host::process::Interrupt;
use pagewise_host::progress::Progress;
use pagewise_host::trial::session::audience::{Audience, Note, Points};
use std::path::Path;

/// A person at the other end of stderr.
pub(super) struct Told {
    /// What is typed to go on with a bundle, before its name.
    resume: &'static str,
    /// Options that going on needs as well.
    options: Vec<String>,
}

impl Told {
    pub(super) fn new(resume: &'static str, options: Vec<String>) -> Told {
        Told { resume, options }
    }

    /// The whole command that goes on with a bundle.
    pub(super) fn go_on(&self, bundle: &Path) -> String {
        let bundle = bundle.display().to_string();
        let options = self.options.iter().map(String::as_str);
        let quoted = shlex::try_join([bundle.as_str()].into_iter().chain(options)).unwrap_or(bundle.clone());
        format!("{} {quoted}", self.resume)
    }

    fn words(&self, note: &Note<'_>) -> String {
        match note {
            Note::Undone { id, policy } => format!("first undone what an earlier run left: change {id} ('{policy}')"),
            Note::Kept(told) => (*told).to_owned(),
            Note::WaitingFor(who) => format!("waiting until another run ends ({who}) …"),
            Note::Odd(told) => format!("note: {told}"),
            Note::SizingRun(level) => format!("warm-up to size the trial: {level} …"),
            Note::Complete(path) => format!("{} is complete: nothing is left to run", path.display()),
            Note::Over(ended) => format!("this proof is over: {}; start a new one to go on", ended.reason),
            Note::EndedEarly(ended) => ended_early(ended),
            Note::RecordingEnded(why) => format!("the recording ended before the proof did: {why}"),
            Note::NotPutAway(why) => format!("the restored data were not put away: {why}"),
            Note::Moved(path) => {
                let path = path.display();
                format!("{path} was removed or moved while its trial ran; what is complete is where it went")
            }
            Note::CanGoOn(bundle) => format!("what is complete is kept; go on with:\n  {}", self.go_on(bundle)),
        }
    }
}

fn ended_early(ended: &Ended) -> String {
    let left = match ended.by {
        EndedBy::ForeignChange => "that is left as it is, and all else is as it was",
        EndedBy::Job | EndedBy::Bound => "this host is as it was",
    };
    format!("ended early: {}; {left}", ended.reason)
}

impl Audience for Told {
    fn note(&self, note: Note<'_>) {
        output::note(&self.words(&note));
    }

    fn step(&self) -> Box<dyn Progress + '_> {
        Box::new(StepProgress::new())
    }

    fn points(&self, plan: &Plan, interrupt: &Interrupt) -> Box<dyn Points + '_> {
        match &plan.live {
            Some(live) => Box::new(LiveProgress::new(live, &plan.metric().name, interrupt)),
            None => Box::new(TrialProgress::new(if plan.is_two_arms() { "pair" } else { "block" }, interrupt)),
        }
    }
}
