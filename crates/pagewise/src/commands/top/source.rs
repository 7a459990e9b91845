//! Where what is shown comes from: this host, sample by sample, or a recording that was read.

mod unseen;

use super::TopArgs;
use super::judge::{Judged, Reader, judged};
use super::view::{KEPT, Seen, View};
use crate::commands::diagnose;
use crate::failure::Failure;
use crate::global::Global;
use anyhow::anyhow;
use pagewise_core::finding::{Options, signal};
use pagewise_core::recording::{Profile, Recorded};
use pagewise_core::report::recording::meter::{Input, Meter, each_tick};
use pagewise_host::record::kept::{Keeping, Kept};
use pagewise_host::store::recording::Recording;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the rules are asked about a host.
const JUDGE_EVERY: Duration = Duration::from_secs(10);

/// What is seen beside the numbers.
#[derive(Debug)]
pub(super) struct Looked<'a> {
    /// Where CPUs were. `None`: nobody looked, and the first of the others says why.
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
    kept: Kept,
    meter: Meter,
    page_size: f64,
    options: Options,
    /// Said where nobody looks at stacks, unless the kernel says why.
    no_stacks: &'static str,
    judged: Option<Judged>,
    /// That was of a stretch that stands still.
    stood_still: bool,
    judge_at: Instant,
}

/// A recording.
pub(super) struct File {
    profile: Option<Arc<Profile>>,
    unseen: Vec<(String, String)>,
    reader: Reader,
}

impl Source {
    pub(super) fn of_host(args: &TopArgs, global: &Global) -> Result<(Source, Seen), Failure> {
        let root = global.root();
        let (stacks, no_stacks) = match args.stacks {
            _ if global.root.is_some() => (None, "a captured tree has no CPUs to look at"),
            0 => (None, "not looked at, as --stacks 0 asks for"),
            hz => (Some(hz), "not looked at"),
        };
        let stalls = global.root.is_none() && !args.no_stalls;
        let keeping = Keeping { hz: args.hz, stacks, stalls, most: KEPT, wanted: signal::is_wanted };
        let kept = Kept::start(&root, keeping)?;
        let page_size = rustix::param::page_size() as f64;
        let mut seen = Seen::new("this host".to_owned(), true);
        let meter = Meter::new(seen.lines.clone(), kept.series(), page_size);
        let judge_at = Instant::now() + JUDGE_EVERY;
        let options = diagnose::options();
        let (judged, stood_still) = (None, false);
        let mut host = Host { kept, meter, page_size, options, no_stacks, judged, stood_still, judge_at };
        host.measure(&mut seen);
        Ok((Source::Host(Box::new(host)), seen))
    }

    pub(super) fn of_recording(file: &Path) -> Result<(Source, Seen), Failure> {
        let recording = Recording::open(file)?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let mut seen = Seen::new(name, false);
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
        let (subject, options) = (file.display().to_string(), diagnose::options());
        let reader = Reader::start(recording, profile.clone(), subject, options).map_err(|error| {
            Failure::NotPossible(anyhow!("cannot start a thread to read {}: {error}", file.display()))
        })?;
        Ok((Source::File(Box::new(File { profile, unseen, reader })), seen))
    }

    /// Takes what is due. Gives whether there is anything new to show.
    pub(super) fn step(&mut self, seen: &mut Seen, view: &mut View) -> bool {
        match self {
            Source::Host(host) => host.step(seen, view),
            Source::File(file) => view.of_findings(seen).is_some_and(|stretch| file.reader.ask(stretch)),
        }
    }

    /// How long until something is due.
    pub(super) fn due_in(&self) -> Duration {
        match self {
            Source::Host(host) => host.kept.due_in(),
            Source::File(_) => Duration::MAX,
        }
    }

    pub(super) fn looked(&self) -> Looked<'_> {
        match self {
            Source::Host(host) => {
                let profile = host.kept.stacks();
                let why = host.kept.why_not(unseen::STACKS).unwrap_or(host.no_stacks);
                Looked { profile, unseen: unseen::list(host.kept.gaps(), profile.is_none().then_some(why)) }
            }
            Source::File(file) => Looked { profile: file.profile.as_deref(), unseen: file.unseen.clone() },
        }
    }

    pub(super) fn stacks_cpu(&self) -> Duration {
        match self {
            Source::Host(host) => host.kept.stacks_cpu(),
            Source::File(_) => Duration::ZERO,
        }
    }

    pub(super) fn judged(&self) -> Option<&Judged> {
        match self {
            Source::Host(host) => host.judged.as_ref(),
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
            Source::Host(host) => host.kept.has_broken().then_some("a thread that looks at stacks or stalls"),
            Source::File(file) => file.reader.has_ended().then_some("the thread that asks the rules"),
        }
    }
}

/// The values of the timelines at each tick.
pub(super) fn read<R: Recorded>(recording: &R, seen: &mut Seen) -> Result<(), R::Error> {
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
    fn step(&mut self, seen: &mut Seen, view: &mut View) -> bool {
        let mut is_new = false;
        if self.kept.due_in().is_zero() {
            if self.kept.sample() {
                // A number came up: growth is known again at the next sample.
                self.meter = Meter::new(seen.lines.clone(), self.kept.series(), self.page_size);
            }
            self.measure(seen);
            let gone = seen.at.len().saturating_sub(KEPT);
            seen.at.drain(..gone);
            seen.values.drain(..gone);
            view.grown(seen, gone);
            is_new = true;
        }
        if let Some(stretch) = view.of_findings(seen)
            && self.is_due(stretch, view.is_following)
        {
            self.judge_at = Instant::now() + JUDGE_EVERY;
            self.stood_still = !view.is_following;
            let (from, to) = stretch;
            self.judged = Some(judged(&self.kept.part(from, to), stretch, &seen.title, self.options));
            is_new = true;
        }
        is_new
    }

    /// A stretch that stands still is asked about once.
    fn is_due(&self, stretch: (u64, u64), is_following: bool) -> bool {
        if is_following {
            return self.stood_still || Instant::now() >= self.judge_at;
        }
        self.judged.as_ref().is_none_or(|judged| judged.stretch != stretch)
    }

    fn measure(&mut self, seen: &mut Seen) {
        let Some(tick) = self.kept.newest() else { return };
        let value = |input: &Input| self.kept.value(&input.source, input.column);
        let values: Vec<Option<u64>> = self.meter.inputs().iter().map(value).collect();
        let mut out = Vec::new();
        self.meter.take(tick.begin, &values, &mut out);
        seen.at.push((tick.begin, i128::from(tick.begin) + i128::from(tick.wall_offset)));
        seen.values.push(out);
    }
}
