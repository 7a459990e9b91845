//! The only map from what went wrong to an exit code.
//!
//! 0 done · 1 a verdict or finding the caller asked to fail on · 2 usage: the command line, or a file it names, is wrong ·
//! 3 not permitted or not possible here · 4 a change was refused or could not be verified · 5 partial data · 130 Ctrl-C. A
//! verb that runs a command around which something is done returns its status, and 125, 126, 127 for what goes wrong before
//! there is one.

use anyhow::anyhow;
use pagewise_core::comparison::analysis::ComparisonError;
use pagewise_core::comparison::question::QuestionError;
use pagewise_core::comparison::table::TableError;
use pagewise_core::experiment::live::switching::SwitchError;
use pagewise_host::export::ExportError;
use pagewise_host::import::ImportError;
use pagewise_host::lab::LabError;
use pagewise_host::process::{Interrupted, ProcessError};
use pagewise_host::record::RecordError;
use pagewise_host::store::bundle::BundleError;
use pagewise_host::store::recording::RecordingError;
use pagewise_host::trial::engine::TrialError;
use pagewise_host::trial::session::SessionError;
use pagewise_host::tunable::change::ChangeError;
use pagewise_host::tunable::journal::JournalError;
use pagewise_host::tunable::lock::LockError;
use pagewise_host::tunable::watcher::WatcherError;
use pagewise_host::tunable::{LoadError, TunableError};
use pagewise_host::workload::WorkloadError;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Why a verb ended without doing what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or a file the user wrote is wrong.
    Usage(anyhow::Error),
    /// Not permitted, not possible here, no valid point, the gate given up.
    NotPossible(anyhow::Error),
    /// A change was refused or could not be verified.
    Change(anyhow::Error),
    /// The answer rests on less data than was asked for.
    Partial(anyhow::Error),
    /// Ctrl-C.
    Interrupted(anyhow::Error),
    /// Ours, of a verb that otherwise returns the status of the command it runs: 125, or 126 and 127 as a shell has them
    /// for a command that cannot be executed or found.
    AroundCommand(u8, anyhow::Error),
}

impl Failure {
    /// What a wrong command line exits with, also when the parser finds it.
    pub(crate) const USAGE_EXIT: u8 = 2;

    /// For a verb that did what it could and said what it could not change.
    pub(crate) const CHANGE_EXIT: u8 = 4;

    /// What a verb exits with that Ctrl-C ended, and that gave what it had until then.
    pub(crate) const INTERRUPTED_EXIT: u8 = 130;

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => Self::USAGE_EXIT,
            Failure::NotPossible(_) => 3,
            Failure::Change(_) => Self::CHANGE_EXIT,
            Failure::Partial(_) => 5,
            Failure::Interrupted(_) => Self::INTERRUPTED_EXIT,
            Failure::AroundCommand(code, _) => *code,
        }
    }

    /// The same, told by a verb that returns the status of the command it runs.
    pub(crate) fn around_command(self) -> Failure {
        let cause = match self {
            Failure::Interrupted(_) | Failure::AroundCommand(..) => return self,
            Failure::Usage(e) | Failure::NotPossible(e) | Failure::Change(e) | Failure::Partial(e) => e,
        };
        let code = match cause.downcast_ref() {
            Some(ProcessError::NotFound { .. }) => 127,
            Some(ProcessError::NotExecutable { .. }) => 126,
            _ => 125,
        };
        Failure::AroundCommand(code, cause)
    }

    pub(crate) fn cause(&self) -> &anyhow::Error {
        match self {
            Failure::Usage(e)
            | Failure::NotPossible(e)
            | Failure::Change(e)
            | Failure::Partial(e)
            | Failure::Interrupted(e)
            | Failure::AroundCommand(_, e) => e,
        }
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Usage(_) => Failure::Usage(error.into()),
            WorkloadError::Interrupted(_) => Failure::Interrupted(error.into()),
            WorkloadError::Missing(_) | WorkloadError::File { .. } | WorkloadError::Step(_) => {
                Failure::NotPossible(error.into())
            }
        }
    }
}

impl From<ProcessError> for Failure {
    fn from(error: ProcessError) -> Self {
        Failure::NotPossible(error.into())
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Usage(_) => Failure::Usage(error.into()),
            LabError::Interrupted(_) => Failure::Interrupted(error.into()),
            LabError::File { ref source, .. } if source.kind() == ErrorKind::NotFound => Failure::Usage(error.into()),
            LabError::Process(error) => error.into(),
            LabError::Missing(_) | LabError::Step(_) | LabError::Guest { .. } | LabError::File { .. } => {
                Failure::NotPossible(error.into())
            }
        }
    }
}

impl From<TunableError> for Failure {
    fn from(error: TunableError) -> Self {
        if error.is_usage() {
            Failure::Usage(error.into())
        } else if matches!(error, TunableError::Refused { .. }) {
            Failure::Change(error.into())
        } else {
            Failure::NotPossible(error.into())
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Rate(_)
            | RecordError::StackRate(_)
            | RecordError::WalkEvery(_)
            | RecordError::CapTooSmall { .. } => Failure::Usage(error.into()),
            RecordError::File(error) => error.into(),
            RecordError::Thread(_) | RecordError::Panicked => Failure::NotPossible(error.into()),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Wrong { .. }
            | ImportError::Unknown { .. }
            | ImportError::Several { .. }
            | ImportError::Nothing(_) => Failure::Usage(error.into()),
            ImportError::File { ref source, .. } if source.kind() == ErrorKind::NotFound => {
                Failure::Usage(error.into())
            }
            ImportError::File { .. } => Failure::NotPossible(error.into()),
            ImportError::Recording(error) => error.into(),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Exists(_) | ExportError::NoSeries(_) => Failure::Usage(error.into()),
            ExportError::NoStacks(_) | ExportError::File { .. } | ExportError::Made { .. } => {
                Failure::NotPossible(error.into())
            }
            ExportError::Recording(error) => error.into(),
        }
    }
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        if error.is_about_the_file() { Failure::Usage(error.into()) } else { Failure::NotPossible(error.into()) }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Failure::Usage(error.into())
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        Failure::NotPossible(error.into())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Failure::NotPossible(error.into())
    }
}

impl From<WatcherError> for Failure {
    fn from(error: WatcherError) -> Self {
        Failure::NotPossible(error.into())
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Tunable(error) => error.into(),
            ChangeError::Lock(error) => error.into(),
            ChangeError::Journal(error) => error.into(),
            ChangeError::Watcher(error) => error.into(),
            other => Failure::Change(other.into()),
        }
    }
}

impl From<Interrupted> for Failure {
    fn from(error: Interrupted) -> Self {
        Failure::Interrupted(error.into())
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Exists(_)
            | BundleError::Absent(_)
            | BundleError::IsAFile(_)
            | BundleError::NotABundle { .. } => Failure::Usage(error.into()),
            BundleError::File { .. }
            | BundleError::Database { .. }
            | BundleError::Damaged { .. }
            | BundleError::Busy(_) => Failure::NotPossible(error.into()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Trial(error) => error.into(),
            SessionError::Switch(error) => error.into(),
            SessionError::Policy(_)
            | SessionError::Load(_)
            | SessionError::Order(_)
            | SessionError::Metric(_)
            | SessionError::Live { .. }
            | SessionError::Pattern(_)
            | SessionError::NoBudgetInGuests
            | SessionError::NoRestOfLive
            | SessionError::NoData { .. } => Failure::Usage(error.into()),
            SessionError::Held(_) => Failure::NotPossible(anyhow!("{error}. --wait waits until it ends")),
            SessionError::HeldOn(_) => Failure::NotPossible(anyhow!("{error}. It did not end while --wait waited")),
            SessionError::Elsewhere { .. }
            | SessionError::LiveElsewhere { .. }
            | SessionError::OtherHost { .. }
            | SessionError::OtherData { .. }
            | SessionError::BudgetTooSmall { .. }
            | SessionError::Scratch { .. } => Failure::NotPossible(error.into()),
        }
    }
}

impl From<SwitchError> for Failure {
    fn from(error: SwitchError) -> Self {
        Failure::NotPossible(error.into())
    }
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Interrupted => Failure::Interrupted(error.into()),
            TrialError::Bundle(error) => error.into(),
            TrialError::Workload(error) => error.into(),
            TrialError::Process(error) => error.into(),
            TrialError::Tunable(error) => error.into(),
            TrialError::Change(error) => error.into(),
            TrialError::Lab(error) => error.into(),
            // The plan names what its job does not give.
            TrialError::NoMetric { .. } => Failure::Usage(error.into()),
            TrialError::GivenUp { .. }
            | TrialError::NeedsBoot { .. }
            | TrialError::InGuest(_)
            | TrialError::WarmupFailed { .. }
            | TrialError::EndedEarly(_)
            | TrialError::NoLiveMetric { .. }
            | TrialError::NoProcess(_)
            | TrialError::Restore(_)
            | TrialError::Scope(_)
            | TrialError::Source(_)
            | TrialError::File { .. } => Failure::NotPossible(error.into()),
        }
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Failure::Usage(error.into())
    }
}

impl From<QuestionError> for Failure {
    fn from(error: QuestionError) -> Self {
        Failure::Usage(error.into())
    }
}

impl From<ComparisonError> for Failure {
    fn from(error: ComparisonError) -> Self {
        match error {
            ComparisonError::Question(error) => error.into(),
            ComparisonError::TooMany { .. } => Failure::Usage(error.into()),
            ComparisonError::NoValues => Failure::NotPossible(error.into()),
        }
    }
}
