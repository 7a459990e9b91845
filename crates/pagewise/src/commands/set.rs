//! `pagewise set`: applies a policy to this host and leaves it there, with the way back written down first.

use super::changes;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::settings::Settings;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::report::changes::{ChangeView, ChangesReport, SCHEMA, SettingView, State, text};
use pagewise_core::tunable::policy::Policy;
use pagewise_core::unit::Seconds;
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::tunable::change::{ChangeError, HostLock, Journal, Lease};
use pagewise_host::tunable::{self, HostSetting, Places, Resolved, watcher};
use std::process::ExitCode;
use std::time::Duration;

/// Apply a policy to this host, with the way back written down first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SetArgs {
    /// TUNABLE=VALUE[,TUNABLE=VALUE…], or @FILE.toml
    #[arg(required_unless_present = "confirm")]
    policy: Option<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Undo it after this long unless it is confirmed, such as 5m
    #[arg(long, value_name = "TIME")]
    confirm_within: Option<String>,
    /// Keep change ID, which waits for confirmation
    #[arg(long, value_name = "ID", conflicts_with_all = ["policy", "confirm_within"])]
    confirm: Option<u64>,
}

const EXAMPLES: &str = "Examples:\n  pagewise set vm.swappiness=10,thp.defrag=madvise\n  pagewise set --confirm-within 5m \
                        thp.enabled=never\n  pagewise set --confirm 3\n\nIt lasts until `pagewise revert`, or the next \
                        boot.";

pub(crate) fn run(args: &SetArgs, global: &Global) -> Result<ExitCode, Failure> {
    let host = Host::of(global, "set")?;
    if let Some(id) = args.confirm {
        return confirm(id, args.dry_run, &host);
    }
    let policy = tunable::load_policy(args.policy.as_deref().unwrap_or_default())?;
    let lease = lease(args.confirm_within.as_deref())?;
    let resolved = host.resolve(&policy)?;
    if resolved.host.is_empty() {
        output::note("the policy sets nothing on this host, so there is nothing to do");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(told) = tunable::out_of_reach(&host.root, &resolved) {
        output::note(&format!("note: {told}"));
    }
    if args.dry_run {
        return dry_run(&host, &policy, &resolved.host, global);
    }
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let lock = host.journal.lock("set")?;
    changes::tell_recovered(&host.journal.recover(&lock)?);
    let (resolved, standing) = host.without_standing(resolved)?;
    for setting in &standing {
        output::note(&format!("{} is {} already", setting.tunable, setting.value));
    }
    if resolved.host.is_empty() {
        if global.json {
            output::json(&ChangesReport { schema: SCHEMA.to_owned(), dry_run: false, changes: Vec::new() });
        }
        return Ok(ExitCode::SUCCESS);
    }
    apply(&host, &lock, &policy, &resolved, lease, &interrupt, global)
}

/// What the verbs that write need of this host.
pub(crate) struct Host {
    pub(crate) root: Root,
    pub(crate) places: Places,
    pub(crate) journal: Journal,
}

impl Host {
    /// # Errors
    /// For a captured tree: it is there to be read.
    pub(crate) fn of(global: &Global, verb: &str) -> Result<Host, Failure> {
        if let Some(folder) = &global.root {
            let what =
                format!("cannot {verb} anything under --root {}: a captured tree is only read", folder.display());
            return Err(Failure::Usage(anyhow!("{what}; leave --root out to change this machine")));
        }
        let settings = Settings::resolve(global)?;
        let root = global.root();
        let journal = Journal::open(&settings.state_dir, &root)?;
        Ok(Host { root, places: Places { state: settings.state_dir, cache: settings.cache_dir }, journal })
    }

    /// Resolves a policy for a host that keeps it. What acts on a job alone is refused with the reason.
    ///
    /// # Errors
    /// When it does, or cannot be had here.
    pub(crate) fn resolve(&self, policy: &Policy) -> Result<Resolved, Failure> {
        for setting in &policy.settings {
            if setting.tunable.is_for_job() {
                let (name, value) = (&setting.name, &setting.value);
                return Err(Failure::Usage(anyhow!(
                    "cannot set {name}: it acts on a job that Pagewise starts, and this host keeps no value of it; compare \
                     it with: pagewise prove --a now --b {name}={value} -- COMMAND"
                )));
            }
        }
        let resolved = tunable::resolve(&self.root, &self.places, policy)?;
        if let Some(setting) = resolved.boot.first() {
            let (name, value) = (&setting.tunable.name, &setting.value);
            return Err(Failure::Usage(anyhow!(
                "cannot set {name}: it takes a boot; see it in a virtual machine with: pagewise lab boot {value}; or make it a level \
                 of a trial, which boots it (docs/guide/lab.md)"
            )));
        }
        Ok(resolved)
    }

    /// Parts the settings that stand already from those to write.
    fn without_standing(&self, mut resolved: Resolved) -> Result<(Resolved, Vec<HostSetting>), Failure> {
        let mut standing = Vec::new();
        let mut to_write = Vec::new();
        for setting in resolved.host {
            let now = tunable::read(&self.root, &setting.tunable)?;
            if setting.tunable.same(&now, &setting.value) { standing.push(setting) } else { to_write.push(setting) }
        }
        resolved.host = to_write;
        Ok((resolved, standing))
    }
}

fn lease(confirm_within: Option<&str>) -> Result<Lease, Failure> {
    let Some(text) = confirm_within else { return Ok(Lease::None) };
    let wanted: Seconds = text.parse().map_err(|error| Failure::Usage(anyhow!("--confirm-within: {error}")))?;
    let after = Duration::try_from_secs_f64(wanted.0).map_err(|error| Failure::Usage(anyhow!(error)))?;
    if after < Duration::from_secs(1) {
        return Err(Failure::Usage(anyhow!("--confirm-within {text}: nobody confirms within less than a second")));
    }
    Ok(Journal::deadline(after))
}

fn confirm(id: u64, dry_run: bool, host: &Host) -> Result<ExitCode, Failure> {
    if dry_run {
        let set = host.journal.open_set(id, "confirm")?;
        output::note(&format!("would keep change {id} ({})", set.begin.policy));
        return Ok(ExitCode::SUCCESS);
    }
    // Writes a line and no setting: a confirmation must not be late because another run has the host.
    let lock = host.journal.lock_journal("set")?;
    host.journal.confirm(&lock, id)?;
    changes::tell_recovered(&host.journal.recover(&lock)?);
    output::note(&format!("change {id} stays until `pagewise revert {id}`"));
    Ok(ExitCode::SUCCESS)
}

fn dry_run(host: &Host, policy: &Policy, settings: &[HostSetting], global: &Global) -> Result<ExitCode, Failure> {
    changes::note_pending(global);
    let mut views = Vec::new();
    for setting in settings {
        let now = tunable::read(&host.root, &setting.tunable)?;
        views.push(SettingView {
            tunable: setting.tunable.name.clone(),
            before: now.clone(),
            target: setting.value.clone(),
            now: Some(now),
            outcome: None,
            coupled: Vec::new(),
        });
        for coupled in &setting.coupled {
            let value = tunable::read(&host.root, coupled)?;
            output::note(&format!("{} may move {coupled}: it would be held at {value}", setting.tunable));
        }
    }
    let change = ChangeView {
        id: None,
        state: State::Planned,
        state_words: "nothing was changed; this is what would be set".to_owned(),
        created: None,
        owner_pid: None,
        policy: policy.to_string(),
        settings: views,
    };
    show(&ChangesReport { schema: SCHEMA.to_owned(), dry_run: true, changes: vec![change] }, global);
    Ok(ExitCode::SUCCESS)
}

fn apply(
    host: &Host,
    lock: &HostLock,
    policy: &Policy,
    resolved: &Resolved,
    lease: Lease,
    interrupt: &Interrupt,
    global: &Global,
) -> Result<ExitCode, Failure> {
    let waits = matches!(lease, Lease::Deadline { .. });
    let change = host.journal.apply(lock, resolved, &policy.to_string(), lease, &mut |_| {})?;
    let id = change.id().unwrap_or(0);
    if interrupt.is_set() {
        change.undo(lock)?;
        return Err(Failure::Interrupted(anyhow!("interrupted; everything was put back")));
    }
    if waits && let Err(error) = watcher::start_for_deadline(host.journal.state(), &host.root, id) {
        change.undo(lock)?;
        return Err(ChangeError::Watcher(error).into());
    }
    let set = host.journal.open_set(id, "show")?;
    let view = changes::view(&host.journal, &set);
    show(&ChangesReport { schema: SCHEMA.to_owned(), dry_run: false, changes: vec![view] }, global);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show(report: &ChangesReport, global: &Global) {
    if global.json {
        output::json(report);
    } else if !report.changes.is_empty() {
        output::data(&text(report));
    }
}
