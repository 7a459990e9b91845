//! `pagewise diagnose`: what memory management costs here, by name, with evidence and the smallest change to try.

use crate::commands::import::{StatedFacts, note_left_out};
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress;
use crate::stretch::{Stretch, StretchArgs};
use anyhow::anyhow;
use clap::Args;
use pagewise_core::finding::document::CommandRan;
use pagewise_core::finding::proposal::Command as Asked;
use pagewise_core::finding::{self, Diagnosis, Observed, Severity};
use pagewise_core::recording::{Part, Recorded};
use pagewise_core::report::findings;
use pagewise_core::spelling::nearest;
use pagewise_core::unit::Seconds;
use pagewise_host::import::{self, KindFile};
use pagewise_host::process::{self, Command, Interrupt, Limits, Output, Watch};
use pagewise_host::record::{Options as RecordOptions, Recorder, Tracing};
use pagewise_host::source::{self, cgroup};
use pagewise_host::store::recording::Recording;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Name what memory management costs here, with evidence, and the smallest change to try first
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, override_usage = USAGE)]
pub(crate) struct DiagnoseArgs {
    /// A recording; without one this host is recorded
    #[arg(value_name = "FILE.pgw", conflicts_with_all = ["length", "command", "imports"])]
    file: Option<PathBuf>,
    /// Judge what another tool wrote: a file or a folder, such as listing.txt, perf-top:top.txt or archive/; without KIND, or
    /// with auto:, what wrote it is found from the text; several of them, or given several times, are of one host
    #[arg(long = "import", value_name = "[KIND:]FILE", num_args = 1.., conflicts_with_all = ["length", "command"])]
    imports: Vec<KindFile>,
    #[command(flatten)]
    known: StatedFacts,
    #[command(flatten)]
    stretch: StretchArgs,
    /// How long to record, such as 30s or 5m [default: 30s, or as long as COMMAND runs]
    #[arg(long = "for", value_name = "TIME", conflicts_with = "command")]
    length: Option<Seconds>,
    /// Say what one rule made of the evidence instead: what held, what did not and what was missing; a part of its id is enough
    #[arg(long, value_name = "ID", value_parser = rule_id)]
    explain: Option<String>,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY", value_parser = ["low", "medium", "high"])]
    fail_on: Option<String>,
    /// Observed while this runs
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const USAGE: &str = "pagewise diagnose [OPTIONS] [--for TIME]
       pagewise diagnose [OPTIONS] -- COMMAND...
       pagewise diagnose [OPTIONS] FILE.pgw [--from TIME] [--until TIME]
       pagewise diagnose [OPTIONS] --import [KIND:]FILE...";

const AFTER_HELP: &str = "Nothing is changed. Exit status: 0 done · 1 a finding at or above --fail-on · 2 usage, or a file that \
                          is no whole recording · 3 not possible here · 5 the recording ended early · 130 Ctrl-C, which \
                          has what was seen until then judged.\n\n\
                          Examples:\n  pagewise diagnose\n  pagewise diagnose job.pgw --json\n  \
                          pagewise diagnose night.pgw --from 90m --until 110m\n  \
                          pagewise diagnose --import collectl:listing.txt --import perf-top:top.txt\n  \
                          pagewise diagnose --import thread.txt --import oswbb/archive/\n  \
                          pagewise diagnose --fail-on medium -- ./job";

/// A recording in which every rule that needs no more than three windows can decide.
const DEFAULT_SECONDS: f64 = 30.0;

/// How often it is checked whether the disk has ended the recording. Ctrl-C needs no check.
const CHECK_EVERY: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &DiagnoseArgs, global: &Global) -> Result<ExitCode, Failure> {
    let (diagnosis, is_cut) = match &args.file {
        Some(file) => (of_file(file, &args.stretch)?, false),
        None if args.stretch.is_given() => {
            return Err(Failure::Usage(anyhow!("--from and --until are of a recording: name one, FILE.pgw")));
        }
        None if !args.imports.is_empty() => (of_imports(args)?, false),
        None => of_host(args, global)?,
    };
    if global.json {
        output::json(&diagnosis);
    } else if let Some(id) = &args.explain {
        let text = findings::explained(&diagnosis, id, output::style(&global.color));
        output::data(&text.unwrap_or_default());
    } else {
        let text = if global.verbose > 0 { findings::text_in_full } else { findings::text };
        output::data(&text(&diagnosis, output::style(&global.color)));
    }
    let fails = args.fail_on.as_deref().is_some_and(|word| {
        let least = [Severity::Low, Severity::Medium, Severity::High].into_iter().find(|one| one.word() == word);
        least.is_some_and(|least| diagnosis.findings.iter().any(|finding| finding.severity >= least))
    });
    Ok(match (is_cut, fails) {
        (true, _) => ExitCode::from(Failure::INTERRUPTED_EXIT),
        (_, true) => ExitCode::FAILURE,
        (_, false) => ExitCode::SUCCESS,
    })
}

/// The id of a rule; a part of it is enough where no other has that.
fn rule_id(text: &str) -> Result<String, String> {
    let ids = || finding::rules::ALL.iter().map(|rule| rule.id);
    let meant: Vec<&str> = ids().filter(|id| !text.is_empty() && id.contains(text)).collect();
    match (nearest(text, ids()), meant.as_slice()) {
        _ if meant.contains(&text) => Ok(text.to_owned()),
        (_, [one]) => Ok((*one).to_owned()),
        (_, [_, _, ..]) => Err(format!("several findings have that in their id: {}", meant.join(", "))),
        (Some(meant), []) => Err(format!("there is no such finding; did you mean {meant}?")),
        (None, []) => Err(format!("there is no such finding; ids are {}", ids().collect::<Vec<_>>().join(", "))),
    }
}

fn of_file(file: &Path, stretch: &StretchArgs) -> Result<Diagnosis, Failure> {
    let subject = file.display().to_string();
    if !stretch.is_given() {
        return Ok(diagnosis(&observed(file)?, &subject));
    }
    let recording = Recording::open(file)?;
    let Stretch { from, until } = stretch.of(&recording)?;
    let (from, until) = (from.unwrap_or(0), until.unwrap_or(u64::MAX));
    let profile = recording.profile()?.map(|profile| profile.part(from, until));
    Ok(diagnosis(&Observed::of(&Part::new(&recording, from, until, profile))?, &format!("a part of {subject}")))
}

fn of_imports(args: &DiagnoseArgs) -> Result<Diagnosis, Failure> {
    let imported = import::open(&args.imports, &args.known.assumed()?)?;
    note_left_out(&imported);
    let Ok(observed) = Observed::of(&imported);
    let names: Vec<String> = args.imports.iter().map(|file| file.path.display().to_string()).collect();
    Ok(diagnosis(&observed, &names.join(", ")))
}

/// Records into a file that is gone afterwards, with every kind of evidence that `record` can take. Gives whether Ctrl-C cut it short, too.
fn of_host(args: &DiagnoseArgs, global: &Global) -> Result<(Diagnosis, bool), Failure> {
    let folder = tempfile::Builder::new().prefix("pagewise-diagnose-").tempdir();
    let folder = folder.map_err(|error| Failure::NotPossible(anyhow!("cannot make a folder to record in: {error}")))?;
    let file = folder.path().join("diagnose.pgw");
    let Coverage { command, is_cut } = record(&file, args, global)?;
    if args.command.is_empty() {
        return Ok((diagnosis(&observed(&file)?, "this host"), is_cut));
    }
    let mut found = diagnosis(&observed(&file)?, &args.command.join(" "));
    found.observed.command = command;
    prove_on(&mut found, &args.command);
    let root = global.root();
    let started = |pid: u32| source::process::start_time(&root, pid);
    let own = started(std::process::id());
    // The kernel's threads work for whoever asks, and have no command line.
    let is_program = |pid: u32| root.read(&format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
    not_of_the_command(&mut found, &|pid| started(pid).zip(own).is_some_and(|(its, own)| its < own) && is_program(pid));
    Ok((found, is_cut))
}

/// Has what would decide it run the command that was recorded.
fn prove_on(diagnosis: &mut Diagnosis, command: &[String]) {
    let changes =
        diagnosis.findings.iter_mut().flat_map(|found| found.change.iter_mut().chain(&mut found.alternatives));
    for proof in changes.flat_map(|change| &mut change.verify) {
        if let Asked::Prove { live: false, job, .. } = proof {
            *job = command.to_vec();
        }
    }
}

/// Says of each finding that names programs, all of which had been there before the command, that they are not of it: a host is recorded as
/// a whole, whoever works on it.
fn not_of_the_command(diagnosis: &mut Diagnosis, was_there: &dyn Fn(u32) -> bool) {
    for finding in &mut diagnosis.findings {
        let named: Vec<u32> = finding.who.iter().filter_map(|who| who.pid).collect();
        if !named.is_empty() && named.iter().all(|pid| was_there(*pid)) {
            let (who, is) = match named.len() {
                1 => ("The process named here", "is"),
                _ => ("All processes named here", "are"),
            };
            finding.summary.push_str(&format!(" {who} had been there before the command, and {is} not of it."));
        }
    }
}

/// Samples a second and CPU while a recording lasts: enough to name a cause in ten seconds, and not a round number that would
/// beat with a timer.
const STACKS_HZ: u32 = 49;

/// A recording that Ctrl-C cut shorter than this says nothing. Seconds.
const SHORTEST_SECONDS: f64 = 3.0;

/// What a recording came to, beside its recording.
struct Coverage {
    command: Option<CommandRan>,
    /// Ctrl-C ended it: what was seen until then is judged.
    is_cut: bool,
}

/// The one place that says what a recording records: numbers, stacks and stalls. Where those are refused, the recording says so.
fn record(file: &Path, args: &DiagnoseArgs, global: &Global) -> Result<Coverage, Failure> {
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if let Some(program) = args.command.first() {
        process::find_program(program)?;
    }
    let tracing = Tracing {
        stacks: Some(STACKS_HZ),
        stalls: true,
        files: true,
        with_command: !args.command.is_empty(),
        ..Tracing::default()
    };
    let root = global.root();
    // A control group's own limit is the first thing to suspect of a job that runs in one.
    let groups = cgroup::own(&root).into_iter().collect();
    let options = RecordOptions { groups, tracing, tlb: true, ..RecordOptions::default() };
    let recorder = Recorder::start(&root, file, &options)?;
    let started = Instant::now();
    let ran = if args.command.is_empty() {
        wait(args.length.map_or(DEFAULT_SECONDS, |length| length.0), &interrupt, &recorder);
        Ok(None)
    } else {
        run_command(args, &interrupt)
    };
    let recorded = started.elapsed().as_secs_f64();
    let summary = progress::finish(recorder)?;
    let is_cut = interrupt.is_set();
    if is_cut && recorded < SHORTEST_SECONDS {
        return Err(Failure::Interrupted(anyhow!(
            "interrupted after less than {}: too short to judge",
            Seconds(SHORTEST_SECONDS)
        )));
    }
    if let Some(reason) = summary.ended {
        return Err(Failure::Partial(anyhow!("the recording ended early: {reason}")));
    }
    let command = match ran {
        Err(_) if is_cut => None,
        ran => ran?,
    };
    if is_cut {
        output::note(&format!("ended by Ctrl-C after {}; this is what was seen until then", Seconds(recorded)));
    }
    Ok(Coverage { command, is_cut })
}

fn wait(seconds: f64, interrupt: &Interrupt, recorder: &Recorder) {
    output::note(&format!("recording for {}; Ctrl-C ends it", Seconds(seconds)));
    let started = Instant::now();
    let left = || seconds - started.elapsed().as_secs_f64();
    while left() > 0.0 && !interrupt.is_set() && !recorder.has_ended() {
        interrupt.wait(CHECK_EVERY.min(Duration::try_from_secs_f64(left()).unwrap_or(CHECK_EVERY)));
    }
}

/// What the kernel says of the command, once it has ended. Its status is told, and not passed on: what it cost is what is asked.
fn run_command(args: &DiagnoseArgs, interrupt: &Interrupt) -> Result<Option<CommandRan>, Failure> {
    struct Waiting;
    impl Watch for Waiting {
        fn tick(&mut self, _running: &[u32]) -> bool {
            true
        }
    }
    let command = Command { argv: args.command.clone(), output: Output::Inherit, ..Command::default() };
    let limits = Limits { interrupt: Some(interrupt), ..Limits::default() };
    let ended = process::run(&[command], limits, &mut Waiting)?;
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(ended.commands.first().map(|ended| CommandRan {
        status: ended.status.to_string(),
        succeeded: ended.status.is_success(),
        seconds: ended.wall,
        user_seconds: ended.user,
        system_seconds: ended.system,
        minor_faults: count(ended.minor_faults),
        major_faults: count(ended.major_faults),
    }))
}

fn observed(file: &Path) -> Result<Observed, Failure> {
    Ok(Observed::of(&Recording::open(file)?)?)
}

pub(super) fn diagnosis(observed: &Observed, subject: &str) -> Diagnosis {
    finding::diagnose(observed, subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;
    use pagewise_core::experiment::live::switching;
    use pagewise_core::finding::document::Participant;
    use pagewise_core::report::command_line;
    use pagewise_core::tunable::policy::Policy;
    use pagewise_testkit::RecordingBuilder;

    #[test]
    fn a_part_of_an_id_is_enough_where_it_is_one_s_alone() {
        assert_eq!(rule_id("oom-risk").as_deref(), Ok("oom-risk"));
        assert_eq!(rule_id("khugepaged").as_deref(), Ok("khugepaged-burn"));
        assert_eq!(
            rule_id("swap").unwrap_err(),
            "several findings have that in their id: kswapd-saturation, swap-thrash, swappiness-misuse"
        );
        assert_eq!(rule_id("oom-rsik").unwrap_err(), "there is no such finding; did you mean oom-risk?");
        assert!(rule_id("").unwrap_err().starts_with("there is no such finding; ids are "));
    }

    /// Every recording that makes a rule propose something: each rule's steps are there once.
    fn proposing() -> Vec<RecordingBuilder> {
        let host = || RecordingBuilder::healthy(700);
        vec![
            host()
                .cpu(4, 0.28, 0.60)
                .counter("vmstat", "compact_stall", "", |_| 40.0)
                .counter("vmstat", "allocstall_normal", "", |_| 20.0)
                .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
                .counter("threads", "cpu", "thread=kswapd0", |_| 97.0)
                .counter("threads", "cpu", "thread=kcompactd0", |_| 97.0)
                .counter("threads", "cpu", "thread=khugepaged", |_| 97.0)
                .setting("thp.enabled", "always")
                .setting("thp.defrag", "always"),
            host()
                .gib("MemFree", 0.3)
                .counter("vmstat", "pswpin", "", |_| 2_000.0)
                .counter("vmstat", "pswpout", "", |_| 2_000.0)
                .counter("vmstat", "workingset_refault_anon", "", |_| 1_500.0)
                .counter("vmstat", "workingset_refault_file", "", |_| 5_000.0)
                .counter("vmstat", "pgsteal_kswapd", "", |_| 5_000.0)
                .counter("vmstat", "pgpgout", "", |_| 100_000.0)
                .counter("psi_io", "some_total", "", |_| 500_000.0)
                .level("vmstat", "nr_dirty", "", |_| 480_000.0)
                .setting("vm.swappiness", "150"),
            host()
                .level("meminfo", "HugePages_Total", "", |_| 1024.0)
                .level("meminfo", "HugePages_Free", "", |_| 900.0)
                .setting("vm.nr_hugepages", "1024")
                .setting("thp.enabled", "never")
                .setting("mthp[64k].enabled", "always")
                .gib("SUnreclaim", 3.0),
        ]
    }

    #[test]
    fn what_others_do_on_the_host_is_not_laid_to_the_command() {
        let who = |pid| Participant { name: "cat".to_owned(), pid, share: None, of: String::new() };
        let recording = RecordingBuilder::healthy(700).cpu(4, 0.28, 0.60);
        let Ok(observed) = Observed::of(&recording);
        let mut found = finding::diagnose(&observed, "a test");
        let mut with = |named: &[Option<u32>]| {
            let finding = found.findings.first_mut().expect("one finding");
            finding.summary.clear();
            finding.who = named.iter().map(|pid| who(*pid)).collect();
            not_of_the_command(&mut found, &|pid| pid == 7 || pid == 8);
            found.findings[0].summary.clone()
        };
        assert_eq!(with(&[Some(7)]), " The process named here had been there before the command, and is not of it.");
        assert_eq!(
            with(&[Some(7), Some(8)]),
            " All processes named here had been there before the command, and are not of it."
        );
        assert_eq!(with(&[Some(7), Some(9)]), "");
        assert_eq!(with(&[None]) + &with(&[]), "");
    }

    #[test]
    fn every_line_that_would_prove_a_change_is_one_this_binary_takes() {
        let mut seen = 0;
        for recording in proposing() {
            let Ok(observed) = Observed::of(&recording);
            let diagnosis = finding::diagnose(&observed, "a test");
            for finding in &diagnosis.findings {
                for change in finding.change.iter().chain(&finding.alternatives) {
                    for asked in change.verify.iter().chain(&change.apply) {
                        let line = command_line(asked);
                        let words = shlex::split(&line).unwrap_or_else(|| panic!("{line}"));
                        Cli::try_parse_from(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
                        // A guard has no policy.
                        if matches!(asked, Asked::Guard | Asked::GuardProve) {
                            continue;
                        }
                        let read: Policy = words
                            .iter()
                            .find(|word| word.contains('='))
                            .and_then(|word| word.parse().ok())
                            .unwrap_or_else(|| panic!("{line}"));
                        let (Asked::Set { policy } | Asked::Prove { b: policy, .. }) = asked else { panic!("{line}") };
                        assert_eq!(read, *policy, "{line} is the data");
                        let settings = policy.settings.iter().map(|one| (&one.name, &one.value));
                        assert!(settings.eq(change.settings.iter().map(|one| (&one.tunable, &one.to))), "{line}");
                        if let Asked::Prove { a, b, live: true, .. } = asked {
                            let switched = switching::tunables([a, b], false);
                            assert!(switched.is_ok(), "{line}: {}", switched.unwrap_err());
                        }
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen >= 20, "only {seen} lines were seen");
    }
}
