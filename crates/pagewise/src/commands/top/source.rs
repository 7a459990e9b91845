//! Where what is shown comes from: this host, sample by sample, or a recording that was read.

mod unseen;

use super::TopArgs;
use super::view::{KEPT, SeenTimelines, View};
use crate::failure::Failure;
use crate::global::Global;
use anyhow::anyhow;
use pagewise_core::recording::{Profile, Recorded, Series};
use pagewise_core::report::recording::meter::{Meter, each_tick};
use pagewise_host::following::judge::{Reader, StretchVerdict};
use pagewise_host::following::{Following, Sample};
use pagewise_host::record::RecordError;
use pagewise_host::record::kept::Keeping;
use pagewise_host::store::recording::Recording;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What is seen beside the numbers.
#[derive(Debug)]
pub(super) struct Traced<'a> {
    /// Where CPUs were. `None`: not recorded, and the first of the others says why.
    pub(super) profile: Option<&'a Profile>,
    /// What is not seen, and why.
    pub(super) unseen: Vec<(String, String)>,
}

pub(super) enum Source {
    Host(Box<Host>),
    File(Box<File>),
}

/// This host.
pub(super) struct Host {
    following: Following,
    /// Said where stacks are not recorded, unless the kernel says why.
    no_stacks: &'static str,
}

/// A recording.
pub(super) struct File {
    profile: Option<Arc<Profile>>,
    unseen: Vec<(String, String)>,
    reader: Reader,
}

impl Source {
    pub(super) fn of_host(args: &TopArgs, global: &Global) -> Result<(Source, SeenTimelines), Failure> {
        let root = global.root();
        let (stacks, no_stacks) = match args.stacks {
            _ if global.root.is_some() => (None, "a captured tree has no CPUs to sample"),
            0 => (None, "not recorded, as --stacks 0 asks for"),
            hz => (Some(hz), "not recorded"),
        };
        let stalls = global.root.is_none() && !args.no_stalls;
        let keeping = Keeping { hz: args.hz, stacks, stalls, most: KEPT, wanted: Series::is_wanted, only: None };
        let mut seen = SeenTimelines::new("this host".to_owned(), true);
        let mut following = Following::start(&root, keeping, seen.lines.clone()).map_err(|error| match error {
            RecordError::StackRate(_) => Failure::Usage(anyhow!("{error}, or 0 for none")),
            error => error.into(),
        })?;
        if let Some(sample) = following.newest() {
            seen.take(sample);
        }
        let host = Host { following, no_stacks };
        Ok((Source::Host(Box::new(host)), seen))
    }

    pub(super) fn of_recording(file: &Path) -> Result<(Source, SeenTimelines), Failure> {
        let recording = Recording::open(file)?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let mut seen = SeenTimelines::new(name, false);
        read(&recording, &mut seen)?;
        if seen.at.is_empty() {
            return Err(Failure::Partial(anyhow!("{} has no sample", file.display())));
        }
        let profile = recording.profile()?.map(Arc::new);
        let no_stacks = unseen::why(recording.gaps(), unseen::STACKS).map_or_else(
            || "no stacks were recorded; 'pagewise record --stacks' takes them".to_owned(),
            |why| format!("no stacks were recorded: {why}"),
        );
        let unseen = unseen::list(recording.gaps(), profile.is_none().then_some(&no_stacks));
        let subject = file.display().to_string();
        let reader = Reader::start(recording, profile.clone(), subject).map_err(|error| {
            Failure::NotPossible(anyhow!("cannot start a thread to read {}: {error}", file.display()))
        })?;
        Ok((Source::File(Box::new(File { profile, unseen, reader })), seen))
    }

    /// Takes what is due. Gives whether there is anything new to show.
    pub(super) fn step(&mut self, seen: &mut SeenTimelines, view: &mut View) -> bool {
        match self {
            Source::Host(host) => host.step(seen, view),
            Source::File(file) => view.of_findings(seen).is_some_and(|stretch| file.reader.ask(stretch)),
        }
    }

    /// How long until something is due.
    pub(super) fn due_in(&self) -> Duration {
        match self {
            Source::Host(host) => host.following.due_in(),
            Source::File(_) => Duration::MAX,
        }
    }

    pub(super) fn traced(&self) -> Traced<'_> {
        match self {
            Source::Host(host) => {
                let kept = host.following.kept();
                let profile = kept.stacks();
                let why = kept.why_not(unseen::STACKS).unwrap_or(host.no_stacks);
                Traced { profile, unseen: unseen::list(kept.gaps(), profile.is_none().then_some(why)) }
            }
            Source::File(file) => Traced { profile: file.profile.as_deref(), unseen: file.unseen.clone() },
        }
    }

    pub(super) fn stacks_cpu(&self) -> Duration {
        match self {
            Source::Host(host) => host.following.kept().stacks_cpu(),
            Source::File(_) => Duration::ZERO,
        }
    }

    pub(super) fn judged(&self) -> Option<&StretchVerdict> {
        match self {
            Source::Host(host) => host.following.judged(),
            Source::File(file) => file.reader.judged(),
        }
    }

    /// Whether the rules are being asked.
    pub(super) fn is_judging(&self) -> bool {
        matches!(self, Source::File(file) if file.reader.is_busy())
    }

    /// What has ended that must not.
    pub(super) fn broken(&self) -> Option<&'static str> {
        match self {
            Source::Host(host) => {
                host.following.kept().has_broken().then_some("a thread that looks at stacks or stalls")
            }
            Source::File(file) => file.reader.has_ended().then_some("the thread that asks the rules"),
        }
    }
}

/// The values of the timelines at each tick.
pub(super) fn read<R: Recorded>(recording: &R, seen: &mut SeenTimelines) -> Result<(), R::Error> {
    let page_size = recording.about("page_size").and_then(|size| size.parse().ok()).unwrap_or(4096.0);
    let mut meter = Meter::new(seen.lines.clone(), recording.series(), page_size);
    for block in recording.blocks() {
        each_tick(&block?, &mut meter, |tick, values| {
            seen.at.push((tick.begin, i128::from(tick.begin) + i128::from(tick.wall_offset)));
            seen.values.push(values.clone());
        });
    }
    Ok(())
}

impl Host {
    fn step(&mut self, seen: &mut SeenTimelines, view: &mut View) -> bool {
        let sample = self.following.step();
        let mut is_new = sample.is_some();
        if let Some(sample) = sample {
            seen.take(sample);
            let gone = seen.at.len().saturating_sub(KEPT);
            seen.at.drain(..gone);
            seen.values.drain(..gone);
            view.grown(seen, gone);
        }
        if let Some(stretch) = view.of_findings(seen) {
            is_new |= self.following.judge(stretch, view.is_following, &seen.title);
        }
        is_new
    }
}

impl SeenTimelines {
    fn take(&mut self, sample: Sample) {
        self.at.push((sample.at, sample.wall));
        self.values.push(sample.values);
    }
}
