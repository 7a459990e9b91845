//! `pagewise record -o FILE.pgw [-- COMMAND]`: what the kernel says about memory while a command runs, or for a while,
//! in one file.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::process::{self, Command, Interrupt, Limits, Output, Status, Stopped, Watch};
use pagewise_host::record::{Options, RecordError, Recorder, Summary, Tracing, WALK_EVERY};
use pagewise_host::root::Root;
use pagewise_host::source::cgroup::{self, Group};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Record what the kernel says about memory to a file
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RecordArgs {
    /// The file; never overwritten
    #[arg(short, long = "output", value_name = "FILE.pgw")]
    output: PathBuf,
    /// Samples a second, 0.01 to 20
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    hz: f64,
    /// How long, such as 60s or 10m; a COMMAND that runs longer goes on, unrecorded [default: until Ctrl-C, or as long
    /// as COMMAND runs]
    #[arg(long = "for", value_name = "TIME")]
    length: Option<Seconds>,
    /// Record the memory files of this control group, too; may be given several times
    #[arg(long, value_name = "PATH")]
    cgroup: Vec<String>,
    /// Remove the oldest samples when the file gets larger than this, such as 100M
    #[arg(long, value_name = "SIZE")]
    size_cap: Option<Bytes>,
    /// Also where CPUs are: stacks of the kernel and of programs, HZ times a second and CPU, 1 to 1000 [19 if none is given]
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "19")]
    stacks: Option<u32>,
    /// Also how long tasks are held up by reclaim, compaction, throttling and dirty pages
    #[arg(long)]
    stalls: bool,
    /// Stacks (99 times a second unless --stacks says otherwise) and stalls for 20 s when there is trouble: tasks waiting
    /// for memory, or 30 % system time
    #[arg(long)]
    flight: bool,
    /// Also how much of their time CPUs look up translations, by counters of the processor where it has any
    #[arg(long)]
    tlb: bool,
    /// How often all processes are read, to keep those that use most CPU time and memory; 0 for never [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = walk_every)]
    processes: Option<WalkEvery>,
    /// Keep the names of kernel threads and of COMMAND's processes only
    #[arg(long)]
    redact: bool,
    /// Record while this runs
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const AFTER_HELP: &str = "Exit status: that of COMMAND (128 + signal if one ended it), 125 when recording fails before \
                          it runs, 126 or 127 when it cannot be run or found. Without COMMAND as for every verb: 5 when \
                          the disk ended the recording, or somebody took its file away, 130 when Ctrl-C ended it before its time.\n\n\
                          Examples:\n  pagewise record -o idle.pgw --for 60s\n  pagewise record -o sort.pgw --stacks --stalls -- sort big.txt\n  \
                          pagewise record -o start.pgw --hz 20 --for 30s -- ./server\n  \
                          pagewise record -o host.pgw --flight --size-cap 500M";

/// `None` for never.
#[derive(Clone, Copy, Debug)]
struct WalkEvery(Option<Duration>);

fn walk_every(text: &str) -> Result<WalkEvery, String> {
    if text.trim() == "0" {
        return Ok(WalkEvery(None));
    }
    let every = text.parse::<Seconds>().map_err(|error| format!("{error}; 0 for never"))?;
    let beat = Duration::try_from_secs_f64(every.0).map_err(|error| error.to_string())?;
    Ok(WalkEvery(Some(beat).filter(|beat| !beat.is_zero())))
}

/// How often it is checked whether the disk has ended the recording. Ctrl-C needs no check.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// How often it is checked whether to stop the command. Every check wakes a CPU, and that is most of what recording costs.
const CHECK_COMMAND_EVERY: Duration = Duration::from_millis(500);

/// What `--json` prints.
#[derive(Serialize)]
struct RecordReport<'a> {
    schema: &'static str,
    file: &'a Path,
    complete: bool,
    /// Why it ended before its time.
    ended: Option<&'a str>,
    samples: u64,
    /// How long samples were taken, and how long the end took: names of functions, and the disk.
    seconds: f64,
    closing_seconds: f64,
    late: u64,
    gaps: u64,
    own_cpu_seconds: f64,
    /// Own CPU time as a part of the time recorded, of one core.
    own_cpu_fraction: f64,
    bytes: u64,
}

pub(crate) fn run(args: &RecordArgs, global: &Global) -> Result<ExitCode, Failure> {
    if args.command.is_empty() {
        record(args, global)
    } else {
        record_command(args, global).map_err(Failure::around_command)
    }
}

fn start(args: &RecordArgs, global: &Global) -> Result<(Recorder, Instant), Failure> {
    let root = global.root();
    let tracing = Tracing {
        stacks: args.stacks,
        stalls: args.stalls,
        flight: args.flight,
        is_redacted: args.redact,
        files: true,
        with_command: !args.command.is_empty(),
        ..Tracing::default()
    };
    let started = Instant::now();
    let options = Options {
        hz: args.hz,
        size_cap: args.size_cap.map(|cap| cap.0),
        groups: groups(args, &root)?,
        tracing,
        walk_every: args.processes.map_or(Some(WALK_EVERY), |every| every.0),
        tlb: args.tlb,
        ..Options::default()
    };
    let recorder = Recorder::start(&root, &args.output, &options)?;
    for (what, why) in recorder.refused() {
        output::note(&format!("not recorded ({what}): {why}"));
    }
    Ok((recorder, started))
}

/// What a recording came to, and how long it took.
struct Finished {
    summary: Summary,
    sampled: Duration,
    closing: Duration,
}

fn finish(recorder: Recorder, started: Instant) -> Result<Finished, Failure> {
    let sampled = started.elapsed();
    let summary = progress::finish(recorder)?;
    Ok(Finished { summary, sampled, closing: started.elapsed() - sampled })
}

/// Those that were asked for, and the one a command inherits from us.
fn groups(args: &RecordArgs, root: &Root) -> Result<Vec<Group>, Failure> {
    let asked: Result<Vec<Group>, _> = args.cgroup.iter().map(|path| cgroup::find(root, path)).collect();
    let mut groups = asked.map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if !args.command.is_empty() {
        groups.extend(cgroup::own(root));
    }
    let mut seen = BTreeSet::new();
    groups.retain(|group| seen.insert(group.path.clone()));
    Ok(groups)
}

/// For a while, or until Ctrl-C: which is then how it is meant to end.
fn record(args: &RecordArgs, global: &Global) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let (recorder, started) = start(args, global)?;
    if args.length.is_none() {
        output::note(&format!("recording to {}; Ctrl-C ends it", args.output.display()));
    }
    let length = args.length.map(|length| length.0);
    let left = || length.map_or(f64::INFINITY, |length| length - started.elapsed().as_secs_f64());
    while left() > 0.0 && !interrupt.is_set() && !recorder.has_ended() {
        interrupt.wait(CHECK_EVERY.min(Duration::try_from_secs_f64(left()).unwrap_or(CHECK_EVERY)));
    }
    let is_cut = interrupt.is_set() && length.is_some();
    let finished = finish(recorder, started)?;
    tell(args, global, &finished);
    match finished.summary.ended {
        Some(reason) => Err(Failure::Partial(anyhow!("the recording ended early: {reason}"))),
        None if is_cut => Err(Failure::Interrupted(anyhow!("interrupted; what was recorded until then is complete"))),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// While a command runs. Its status is ours, also when the disk ends the recording: a job must not fail for that.
fn record_command(args: &RecordArgs, global: &Global) -> Result<ExitCode, Failure> {
    let program = args.command.first().map(String::as_str).unwrap_or_default();
    process::find_program(program)?;
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let (recorder, started) = start(args, global)?;
    let command = Command { argv: args.command.clone(), output: Output::Inherit, ..Command::default() };
    let limits = Limits { interrupt: Some(&interrupt), ..Limits::default() };
    let mut recording = Recording { args, started, recorder: Some(recorder), finished: None };
    let ended = process::run(&[command], limits, &mut recording);
    recording.end();
    let finished = recording.finished.transpose()?.ok_or_else(|| Failure::from(RecordError::Panicked))?;
    tell(args, global, &finished);
    if let Some(reason) = &finished.summary.ended {
        output::note(&format!("the recording ended early: {reason}"));
    }
    let ended = ended?;
    if ended.stopped == Some(Stopped::Interrupted) {
        return Err(Failure::Interrupted(anyhow!("interrupted; the command was stopped, the recording is complete")));
    }
    Ok(match ended.commands.first().map(|command| command.status) {
        Some(Status::Exited(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Some(Status::Signalled(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(255)),
        None => ExitCode::FAILURE,
    })
}

/// What runs beside a command, which may go on longer.
struct Recording<'a> {
    args: &'a RecordArgs,
    started: Instant,
    recorder: Option<Recorder>,
    finished: Option<Result<Finished, Failure>>,
}

impl Recording<'_> {
    /// `None`: as long as the command runs.
    fn left(&self) -> Option<Duration> {
        let length = Duration::try_from_secs_f64(self.args.length?.0).unwrap_or(Duration::MAX);
        self.recorder.as_ref().map(|_| length.saturating_sub(self.started.elapsed()))
    }

    fn end(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            self.finished = Some(finish(recorder, self.started));
        }
    }
}

impl Watch for Recording<'_> {
    fn tick(&mut self, _running: &[u32]) -> bool {
        if self.left().is_some_and(|left| left.is_zero()) {
            self.end();
            output::note(&format!("{} is closed; the command goes on", self.args.output.display()));
        }
        true
    }

    fn period(&self) -> Duration {
        self.left().map_or(CHECK_COMMAND_EVERY, |left| left.min(CHECK_COMMAND_EVERY))
    }
}

/// `1 gap (zswap: missing)`.
fn gaps_in_words(gaps: u64, first: &[String]) -> String {
    let counted = output::counted(gaps, "gap");
    if first.is_empty() {
        return counted;
    }
    let more = if gaps > first.len() as u64 { ", …" } else { "" };
    format!("{counted} ({}{more})", first.join(", "))
}

fn tell(args: &RecordArgs, global: &Global, finished: &Finished) {
    let Finished { summary, sampled, closing } = finished;
    let elapsed = sampled.as_secs_f64();
    let fraction = if elapsed > 0.0 { summary.own_cpu_seconds / elapsed } else { 0.0 };
    if global.json {
        output::json(&RecordReport {
            schema: "pagewise.record/1",
            file: &args.output,
            complete: summary.ended.is_none(),
            ended: summary.ended.as_deref(),
            samples: summary.samples,
            seconds: elapsed,
            closing_seconds: closing.as_secs_f64(),
            late: summary.late,
            gaps: summary.gaps,
            own_cpu_seconds: summary.own_cpu_seconds,
            own_cpu_fraction: fraction,
            bytes: summary.bytes,
        });
        return;
    }
    // Less than that nobody has waited for.
    let closing = Some(closing.as_secs_f64()).filter(|closing| *closing >= 0.5);
    let closing = closing.map(|closing| format!(", closed in {}", Seconds(closing))).unwrap_or_default();
    output::note(&format!(
        "{} samples in {}{closing} to {} ({} bytes); {} late, {}; recording took {:.3} % of one core",
        summary.samples,
        Seconds(elapsed),
        args.output.display(),
        summary.bytes,
        summary.late,
        gaps_in_words(summary.gaps, &summary.first_gaps),
        fraction * 100.0,
    ));
    output::note(&format!("now: pagewise diagnose {}", output::quoted(&args.output.display().to_string())));
}
