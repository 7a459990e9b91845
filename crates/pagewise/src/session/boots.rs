//! Trials that boot this host by themselves: what is typed becomes a unit that types it again, and what ends becomes a boot or a report.

use super::{Session, Start, absolute};
use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use pagewise_core::experiment::boots::{ATTEMPTS, BootsEnd};
use pagewise_core::experiment::plan::Plan;
use pagewise_host::root::Root;
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial::boots::{self, BootedHost, BootsError, ResumeUnit};
use pagewise_host::trial::engine::TrialError;
use pagewise_host::trial::session::{HeldHost, RestLimits, SessionError, bundle_path};
use std::env;
use std::path::{Path, PathBuf};

/// How a session of such a trial ended well.
pub(crate) enum Ended {
    /// Every point has its result. What is left is the boot of the kernel that ran when the trial began, where another one runs.
    Complete(Box<Bundle>, Option<Box<DefaultKernel>>),
    /// The host boots the next point's kernel.
    GoesDown,
}

/// The way back to the kernel that the host boots when it is told nothing.
pub(crate) struct DefaultKernel {
    host: BootedHost,
    release: String,
}

impl DefaultKernel {
    pub(crate) fn boot(&self) -> Result<(), Failure> {
        output::note(&format!("this host boots Linux {} again now", self.release));
        Ok(self.host.reboot()?)
    }
}

impl Session {
    /// Holds a plan against this host and its boot loader, before anything is changed.
    pub(crate) fn booted_host(&self, plan: &Plan, bundle: &Path) -> Result<BootedHost, Failure> {
        let (host, notes) = BootedHost::check(&Root::live(), plan, self.goes_on(bundle)?, &self.interrupt)?;
        notes.iter().for_each(|note| output::note(&format!("note: {note}")));
        Ok(host)
    }

    /// As [`Session::start`], and boots what its points need.
    pub(crate) fn start_booting(
        &self,
        held: HeldHost,
        plan: Plan,
        start: Start<'_>,
        host: BootedHost,
    ) -> Result<Ended, Failure> {
        let path = bundle_path(&plan);
        let outcome = self.here().start(held, plan, start);
        self.after(host, &path, outcome)
    }

    /// As [`Session::resume`], and boots what its points need.
    pub(crate) fn resume_booting(&self, path: &Path, limits: RestLimits) -> Result<Ended, Failure> {
        let bundle = Bundle::open_to_resume(path)?;
        let plan = bundle.plan().clone();
        let host = match self.booted_host(&plan, path) {
            Ok(host) => host,
            Err(failure) => {
                // What stands in the way now will at the next boot.
                boots::abandon(&Root::live(), &bundle, &self.goes_on(path)?, &failure.cause().to_string())?;
                return Err(failure);
            }
        };
        host.arrive(&bundle)?;
        drop(bundle);
        let outcome = self.here().resume(path, limits);
        self.after(host, path, outcome)
    }

    fn after(&self, host: BootedHost, path: &Path, outcome: Result<Bundle, SessionError>) -> Result<Ended, Failure> {
        let error = match outcome {
            Ok(bundle) => {
                let home =
                    host.close(&bundle, BootsEnd::Complete)?.map(|release| Box::new(DefaultKernel { host, release }));
                return Ok(Ended::Complete(Box::new(bundle), home));
            }
            // Another process has the trial or the host: nothing of it is ours to end.
            Err(
                error @ (SessionError::Trial(TrialError::Bundle(_)) | SessionError::Held(_) | SessionError::HeldOn(_)),
            ) => {
                return Err(self.told.failure(error, path));
            }
            // It did not begin.
            Err(error) if !path.join("points.sqlite").exists() => return Err(self.told.failure(error, path)),
            Err(error) => error,
        };
        let bundle = Bundle::open_to_resume(path)?;
        let failure = match error {
            SessionError::Trial(TrialError::NeedsBoot { index, cell, needs }) => {
                match host.arm(&bundle, index, &cell, &needs) {
                    Ok(armed) => {
                        let asked = &armed.asked;
                        output::note(&format!(
                            "run {} ({cell}) needs Linux {}: this host boots it now (try {} of {ATTEMPTS}), and goes on with the trial by itself",
                            index + 1,
                            asked.release,
                            asked.attempt
                        ));
                        host.reboot()?;
                        return Ok(Ended::GoesDown);
                    }
                    Err(error) => Failure::from(error),
                }
            }
            SessionError::Trial(TrialError::Interrupted) if host.is_going_down() => {
                output::note("this host is going down; the trial goes on by itself after its next boot");
                return Ok(Ended::GoesDown);
            }
            error => self.told.failure(error, path),
        };
        let home = host.close(&bundle, BootsEnd::Stopped(failure.cause().to_string()))?;
        drop(bundle);
        match home {
            Some(release) if matches!(failure, Failure::Interrupted(_)) => {
                output::note(&format!("the trial boots nothing any more; the next boot is of Linux {release} again"));
            }
            Some(release) => {
                output::note(&failure.cause().to_string());
                DefaultKernel { host, release }.boot()?;
            }
            None => {}
        }
        Err(failure)
    }

    /// The command that goes on with a bundle, as a unit starts it: with absolute paths, and with the variables that choose programs.
    fn goes_on(&self, bundle: &Path) -> Result<ResumeUnit, Failure> {
        const VARIABLES: [&str; 6] = ["PATH", "HOME", "LANG", "JAVA_HOME", "HADOOP_HOME", "SPARK_HOME"];
        let impossible =
            |what: &str, error: std::io::Error| Failure::NotPossible(anyhow!("cannot find {what}: {error}"));
        let program = env::current_exe().map_err(|error| impossible("this program", error))?;
        let folder = env::current_dir().map_err(|error| impossible("the current folder", error))?;
        let bundle = PathBuf::from(absolute(bundle));
        let program = program.display().to_string();
        // At a boot the unit that closes the journal of the last one may have the host for a moment.
        let words = [&program, "trial", "resume", "--boot", "--wait=10m"].map(str::to_owned);
        let mut argv: Vec<String> = words.into_iter().chain(self.options.words()).collect();
        if let Some(data) = &self.data {
            argv.extend(["--data".to_owned(), absolute(data)]);
        }
        argv.extend(["--".to_owned(), bundle.display().to_string()]);
        let is_ours = |name: &str| VARIABLES.contains(&name) || name.starts_with("PAGEWISE_");
        let variables = env::vars().filter(|(name, value)| is_ours(name) && !value.contains('\n')).collect();
        Ok(ResumeUnit { bundle, argv, folder, variables })
    }
}

impl From<BootsError> for Failure {
    fn from(error: BootsError) -> Self {
        match error {
            BootsError::NothingToBoot { .. } => Failure::Usage(error.into()),
            BootsError::Bundle(error) => error.into(),
            other => Failure::NotPossible(other.into()),
        }
    }
}
