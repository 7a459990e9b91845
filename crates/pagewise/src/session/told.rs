//! What a trial tells of its way, in words for a person.

use crate::failure::Failure;
use crate::output;
use crate::progress::live::LiveProgress;
use crate::progress::{StepProgress, TrialProgress};
use anyhow::anyhow;
use pagewise_core::experiment::live::{Ended, EndedBy, RUN_BY_RUN};
use pagewise_core::experiment::plan::Plan;
use pagewise_host::process::Interrupt;
use pagewise_host::progress::Progress;
use pagewise_host::store::bundle::BundleError;
use pagewise_host::trial::engine::TrialError;
use pagewise_host::trial::session::SessionError;
use pagewise_host::trial::session::audience::{Audience, Note, Points};
use std::path::Path;

/// A person at the other end of stderr.
pub(super) struct TerminalProgress {
    /// What is typed to go on with a bundle, before its name.
    resume: &'static str,
    /// Options that going on needs as well.
    options: Vec<String>,
}

impl TerminalProgress {
    pub(super) fn new(resume: &'static str, options: Vec<String>) -> TerminalProgress {
        TerminalProgress { resume, options }
    }

    /// The whole command that goes on with a bundle.
    fn go_on(&self, bundle: &Path) -> String {
        let bundle = bundle.display().to_string();
        let options = self.options.iter().map(String::as_str);
        format!("{} {}", self.resume, output::command_line([bundle.as_str()].into_iter().chain(options)))
    }

    /// A failure whose remedy is to go on with a bundle says how.
    pub(super) fn failure(&self, error: SessionError, bundle: &Path) -> Failure {
        match error {
            SessionError::Trial(TrialError::Bundle(error @ BundleError::Exists(_))) => {
                Failure::Usage(anyhow!("{error}, or go on with it:\n  {}", self.go_on(bundle)))
            }
            SessionError::Trial(error @ TrialError::NeedsBoot { .. }) => {
                Failure::NotPossible(anyhow!("{error}, then go on with:\n  {}", self.go_on(bundle)))
            }
            other => other.into(),
        }
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
            Note::CanGoOn { bundle, has_cut_pair } => format!(
                "what is complete is kept{}; go on with:\n  {}\nor see what it says so far:\n  pagewise report {}",
                if *has_cut_pair {
                    ". The last run lacks the other of its pair; both will run, one right after the other"
                } else {
                    ""
                },
                self.go_on(bundle),
                output::quoted(&bundle.display().to_string())
            ),
        }
    }
}

fn ended_early(ended: &Ended) -> String {
    let left = match ended.by {
        EndedBy::ForeignChange => "that is left as it is, and all else is as it was",
        EndedBy::Job | EndedBy::Bound => "this host is as it was",
    };
    let advice = if ended.by == EndedBy::Job { format!(". {RUN_BY_RUN}") } else { String::new() };
    format!("ended early: {}; {left}{advice}", ended.reason)
}

impl Audience for TerminalProgress {
    fn note(&self, note: Note<'_>) {
        output::note(&self.words(&note));
    }

    fn step(&self) -> Box<dyn Progress + '_> {
        Box::new(StepProgress::new())
    }

    fn points(&self, plan: &Plan, interrupt: &Interrupt) -> Box<dyn Points + '_> {
        match &plan.live {
            Some(live) => Box::new(LiveProgress::new(live, &plan.metric().name, interrupt)),
            None => Box::new(TrialProgress::new(
                if plan.is_two_arms() { "pair" } else { "block" },
                &plan.metric().name,
                interrupt,
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::experiment::point::Boot;

    fn told_of(error: SessionError) -> String {
        let options = vec!["--hadoop".to_owned(), "/opt/my hadoop".to_owned()];
        let told = TerminalProgress::new("pagewise trial resume", options);
        told.failure(error, Path::new("boots.trial")).cause().to_string()
    }

    #[test]
    fn what_must_be_booted_comes_with_the_command_that_goes_on_after_it() {
        let needs = Boot { settings: [("kernel".to_owned(), "6.12.0".to_owned())].into() };
        let told = told_of(TrialError::NeedsBoot { index: 1, cell: "new".to_owned(), needs }.into());
        assert!(told.contains("point 2 (new) needs kernel=6.12.0; boot it, then go on with:\n"), "{told}");
        assert!(told.ends_with("  pagewise trial resume boots.trial --hadoop '/opt/my hadoop'"), "{told}");
    }

    #[test]
    fn a_bundle_that_is_there_already_can_be_gone_on_with() {
        let told = told_of(BundleError::Exists("boots.trial".into()).into());
        assert!(told.contains("or go on with it:\n  pagewise trial resume boots.trial"), "{told}");
    }
}
