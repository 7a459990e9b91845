//! `pagewise hugepages --pid N`: huge pages made in a process that runs, at a rate that leaves it its progress.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress::StepProgress;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::huge_pages::block::{LeftOut, MemoryByBacking, PassedOver, Plan};
use pagewise_core::huge_pages::mapping::WhyNotHuge;
use pagewise_core::huge_pages::pace::{FASTEST, KEPT, Pace};
use pagewise_core::huge_pages::zero::ZeroInHuge;
use pagewise_core::unit::{Bytes, UnitError, share};
use pagewise_host::huge_pages::HugePagesError;
use pagewise_host::huge_pages::candidates::{self, Candidate, Candidates};
use pagewise_host::huge_pages::process::{Process, Refused};
use pagewise_host::huge_pages::running::{self, CollapseOutcome, EndedEarly, HugePagesRequest, Parts};
use pagewise_host::process::Interrupt;
use pagewise_host::progress::NoProgress;
use serde::Serialize;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

/// Put the memory of a running process on huge pages
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct HugepagesArgs {
    /// The process
    #[arg(long, value_name = "PID", required_unless_present = "list")]
    pid: Option<i32>,
    /// Say which processes hold most memory on small pages instead, and do nothing
    #[arg(long, conflicts_with_all = ["pid", "range", "heap", "at_least", "min_present", "rate", "budget", "dry_run", "watch", "split"])]
    list: bool,
    /// Only memory between these addresses, such as 7f0000000000-7f0040000000; may be repeated
    #[arg(long, value_name = "FROM-TO")]
    range: Vec<Range>,
    /// Of a JVM's heap the old generation alone (HotSpot: G1, Parallel, Serial)
    #[arg(long, value_enum, value_name = "PART", conflicts_with = "range")]
    heap: Option<Heap>,
    /// Only mappings of at least so many bytes
    #[arg(long, default_value = "2M", value_name = "SIZE", value_parser = size_of_mappings)]
    at_least: Bytes,
    /// The part of each huge page that the process must have touched already; the rest becomes memory that it does not use
    #[arg(long, default_value = "90%", value_name = "SHARE", value_parser = share_of_a_page)]
    min_present: f64,
    /// Huge pages a second: adaptive, so that the process keeps nine tenths of its progress, or a number
    #[arg(long, default_value = "adaptive", value_name = "RATE")]
    rate: Rate,
    /// Stop where all processes of the host together hold so much on huge pages
    #[arg(long, value_name = "SIZE")]
    budget: Option<Bytes>,
    /// Say what would be done, and how much of what is huge already is zero, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on: do it again every five seconds, until the process ends or Ctrl-C
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// The opposite: split what lies on huge pages into small ones (debugfs, kernel 5.11 or newer)
    #[arg(long, conflicts_with_all = ["watch", "rate", "budget", "min_present"])]
    split: bool,
}

/// A number without a unit is bytes, and no mapping is smaller than a page: who writes 64 means something else.
fn size_of_mappings(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: UnitError| error.to_string())?;
    if size.0 < rustix::param::page_size() as u64 {
        return Err(format!("{size} is less than a page; write a size with its unit, such as 64K or 2M"));
    }
    Ok(size)
}

const AFTER_HELP: &str = "It needs kernel 6.1 or newer, and root: CAP_SYS_NICE, and the right to read the process's memory. The contents of the memory stay as they are, and no \
                          setting of the host is changed. What was made huge stays so until the process gives it back.\n\n\
                          Examples:\n  pagewise hugepages --list\n  pagewise hugepages --pid 4711 --dry-run\n  \
                          pagewise hugepages --pid 4711 --heap old --at-least 64M\n  \
                          pagewise hugepages --pid 4711 --rate 40/s --budget 16G --watch\n  \
                          pagewise hugepages --pid 4711 --split";

/// How often `--watch` goes on.
const REPEAT_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Range(u64, u64);

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
        let ends = text.split_once('-').and_then(|(from, to)| Some((address(from)?, address(to)?)));
        match ends {
            Some((from, to)) if from < to => Ok(Range(from, to)),
            _ => {
                Err("write two hexadecimal addresses as in /proc/PID/maps, such as 7f0000000000-7f0040000000"
                    .to_owned())
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Heap {
    Old,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rate {
    Adaptive,
    Fixed(f64),
}

impl Rate {
    fn fixed(self) -> Option<f64> {
        match self {
            Rate::Adaptive => None,
            Rate::Fixed(rate) => Some(rate),
        }
    }

    fn pace(self) -> Pace {
        match self {
            Rate::Adaptive => Pace::adaptive(),
            Rate::Fixed(rate) => Pace::fixed(rate),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "adaptive" {
            return Ok(Rate::Adaptive);
        }
        let number = text.strip_suffix("/s").unwrap_or(text).trim().parse::<f64>().ok();
        let fits = number.filter(|rate| *rate > 0.0 && *rate <= FASTEST);
        fits.map(Rate::Fixed)
            .ok_or_else(|| format!("write adaptive, or up to {FASTEST} huge pages a second, such as 40/s"))
    }
}

fn share_of_a_page(text: &str) -> Result<f64, String> {
    share(text).map(|part| part.0)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    pid: i32,
    command: String,
    huge_page: u64,
    /// Mappings in which huge pages can be made.
    mappings: u64,
    before: MemoryByBacking,
    planned: Planned,
    /// Huge pages a second that were asked for; null for an adaptive rate.
    rate: Option<f64>,
    /// Null where nothing was done, and where the process was gone by then.
    after: Option<MemoryByBacking>,
    made: Option<CollapseOutcome>,
    /// How much of what lies on huge pages is zero; null where that was not asked or cannot be told.
    zero: Option<ZeroInHuge>,
    passed_over: PassedOver,
}

#[derive(Serialize)]
struct Planned {
    blocks: u64,
    adds: u64,
    left_out: Vec<LeftOutRow>,
}

#[derive(Serialize)]
struct LeftOutRow {
    why: LeftOut,
    blocks: u64,
    would_add: u64,
}

pub(crate) fn run(args: &HugepagesArgs, global: &Global) -> Result<ExitCode, Failure> {
    let huge_size = running::huge_size(&global.root()).map_err(failure)?;
    let Some(pid) = args.pid else { return list(global, huge_size) };
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let process = Process::open(pid, huge_size).map_err(failure)?;
    let asked = HugePagesRequest {
        parts: if args.heap.is_some() {
            Parts::OldOfJvm
        } else {
            Parts::Ranges(args.range.iter().map(|Range(from, to)| (*from, *to)).collect())
        },
        at_least: args.at_least.0,
        least_present: args.min_present,
        budget: args.budget.map(|Bytes(bytes)| bytes),
    };
    let before = running::survey(&process, huge_size, &asked).map_err(failure)?;
    if before.mappings == 0 && !args.range.is_empty() {
        return Err(Failure::NotPossible(anyhow!(
            "nothing in the range can lie on huge pages{}; see /proc/{pid}/maps",
            passed_over(&before.passed_over).map_or_else(String::new, |words| format!(": {words}"))
        )));
    }
    let mut report = Report {
        schema: "pagewise.hugepages/1",
        pid: process.pid,
        command: process.command.clone(),
        huge_page: huge_size,
        mappings: before.mappings,
        before: before.held,
        planned: planned(&before.plan, huge_size),
        rate: args.rate.fixed(),
        after: None,
        made: None,
        zero: None,
        passed_over: before.passed_over.clone(),
    };
    if args.dry_run {
        report.zero = running::zero(&process, &before.blocks).unwrap_or_else(|error| {
            output::note(&format!("note: how much of what is huge is zero cannot be read: {error}"));
            None
        });
    }
    if args.split {
        report.planned = Planned { blocks: before.held.huge / huge_size, adds: 0, left_out: Vec::new() };
        if !args.dry_run {
            running::split(&process, &before.blocks, huge_size).map_err(failure)?;
            report.after = Some(running::survey(&process, huge_size, &asked).map_err(failure)?.held);
        }
    } else if !args.dry_run {
        let mut pace = args.rate.pace();
        let progress = StepProgress::new();
        let made = running::make(&process, &before.plan, huge_size, &mut pace, &interrupt, &progress);
        drop(progress);
        report.made = Some(made.map_err(failure)?);
        report.after = match running::survey(&process, huge_size, &asked) {
            Ok(after) => Some(after.held),
            // It may also end between the last page and this check.
            Err(HugePagesError::Changed(..) | HugePagesError::NoMemory { .. }) => None,
            Err(error) => return Err(failure(error)),
        };
    }
    if global.json {
        output::json(&report);
    } else {
        output::data(&shown(&report, args.split));
    }
    let ended_early = report.made.as_ref().and_then(|made| made.ended_early);
    match ended_early {
        Some(EndedEarly::Interrupted) => return Err(Failure::Interrupted(anyhow!("interrupted; what was made stays"))),
        Some(why) => return Err(Failure::Partial(anyhow!("not all that was planned was made: {}", ended(why)))),
        None => {}
    }
    if args.watch { watch(&process, huge_size, &asked, args, &interrupt) } else { Ok(ExitCode::SUCCESS) }
}

/// So many processes are shown to a person.
const SHOWN: usize = 10;

/// Which processes could be named.
fn list(global: &Global, huge_size: u64) -> Result<ExitCode, Failure> {
    let found = candidates::list(&global.root(), huge_size);
    if global.json {
        output::json(&ListReport { schema: "pagewise.hugepages-candidates/1", found });
        return Ok(ExitCode::SUCCESS);
    }
    let Candidates { candidates, not_read } = &found;
    let mut text = String::new();
    if !candidates.is_empty() {
        text += &format!("{:>10}{:>16}{:>16}  {}\n", "process", "on small pages", "on huge pages", "command");
    }
    for Candidate { pid, command, small, huge } in candidates.iter().take(SHOWN) {
        let [small, huge] = [small, huge].map(|bytes| Bytes(*bytes).to_string());
        text += &format!("{pid:>10}{small:>16}{huge:>16}  {command}\n");
    }
    let mut say = |sentence: String| text += &format!("\n{}\n", output::wrapped(&sentence, 79, 0));
    match (candidates.first(), candidates.len().saturating_sub(SHOWN)) {
        (None, _) => say(format!("No process that may be read holds {} on small pages.", Bytes(huge_size))),
        (Some(first), more) => {
            if more > 0 {
                say(format!("And {more} more that hold less."));
            }
            say(format!("What can be made huge of it: pagewise hugepages --pid {} --dry-run", first.pid));
        }
    }
    if *not_read > 0 {
        let who = if *not_read == 1 { "One process".to_owned() } else { format!("{not_read} processes") };
        say(format!(
            "{who} could not be read: another user's needs root, the kernel 4.14 or newer, and some hide their memory."
        ));
    }
    output::data(text.trim_matches('\n'));
    Ok(ExitCode::SUCCESS)
}

/// What `--list --json` prints.
#[derive(Serialize)]
struct ListReport {
    schema: &'static str,
    #[serde(flatten)]
    found: Candidates,
}

/// Until the process ends or Ctrl-C: both are a good end.
fn watch(
    process: &Process,
    huge_size: u64,
    asked: &HugePagesRequest,
    args: &HugepagesArgs,
    interrupt: &Interrupt,
) -> Result<ExitCode, Failure> {
    let mut pace = args.rate.pace();
    output::note("again every five seconds; Ctrl-C ends it");
    loop {
        interrupt.wait(REPEAT_EVERY);
        if interrupt.is_set() {
            return Ok(ExitCode::SUCCESS);
        }
        let step = running::survey(process, huge_size, asked).and_then(|found| {
            let made = match found.plan.blocks.is_empty() {
                true => CollapseOutcome::default(),
                false => running::make(process, &found.plan, huge_size, &mut pace, interrupt, &NoProgress)?,
            };
            Ok((found, made))
        });
        match step {
            Err(error @ (HugePagesError::Changed(..) | HugePagesError::NoMemory { .. })) => {
                output::note(&error.to_string());
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => return Err(failure(error)),
            Ok((_, made)) if made.blocks == 0 => {}
            Ok((found, made)) => output::data(&format!(
                "{} made; {} on huge pages, {} on small ones",
                Bytes(made.blocks * huge_size),
                Bytes(found.held.huge + made.blocks * huge_size),
                Bytes(found.held.small.saturating_sub(made.blocks * huge_size - made.added)),
            )),
        }
    }
}

/// Where pages were made at less than nine tenths of the rate that was asked for: why.
fn slower_than(asked: f64, made: &CollapseOutcome) -> Option<String> {
    let tries = made.blocks + made.refused.values().sum::<u64>();
    // The first page needs no wait, and a few say nothing of a rate.
    let (tries, seconds) = (tries.checked_sub(10)? as f64, made.seconds_at_work);
    (tries < 0.9 * asked * seconds).then(|| {
        format!(
            "That is {:.1} pages a second, fewer than the {asked} of --rate; the kernel needed {:.0} ms for the slowest.",
            tries / seconds,
            made.longest * 1000.0
        )
    })
}

fn planned(plan: &Plan, huge_size: u64) -> Planned {
    let row = |(why, count): (&LeftOut, &pagewise_core::huge_pages::block::Count)| LeftOutRow {
        why: *why,
        blocks: count.blocks,
        would_add: count.would_add,
    };
    Planned {
        blocks: plan.blocks.len() as u64,
        adds: plan.adds(huge_size),
        left_out: plan.left_out.iter().map(row).collect(),
    }
}

fn shown(report: &Report, splits: bool) -> String {
    let size = |blocks: u64| Bytes(blocks * report.huge_page);
    let mut text = format!(
        "{} ({}): {} mapping{} that can lie on huge pages of {}\n\n",
        report.command,
        report.pid,
        report.mappings,
        if report.mappings == 1 { "" } else { "s" },
        Bytes(report.huge_page)
    );
    let row = |of: &str, held: &MemoryByBacking| {
        let sizes = [held.huge, held.small, held.swapped, held.untouched].map(|bytes| Bytes(bytes).to_string());
        let cells: String = sizes.iter().map(|size| format!("{size:>16}")).collect();
        format!("  {of:<8}{cells}\n")
    };
    let heads: String =
        ["on huge pages", "on small pages", "swapped out", "untouched"].map(|head| format!("{head:>16}")).concat();
    text += &format!("{:10}{heads}\n", "");
    text += &row("before", &report.before);
    if let Some(after) = &report.after {
        text += &row("after", after);
    }
    text.push('\n');
    let mut say = |sentence: String| text += &(output::wrapped(&sentence, 79, 2) + "\n");
    match (&report.made, &report.after) {
        (None, Some(after)) => {
            let still = after.huge.min(report.before.huge);
            say(format!("Split: {} of {}.", Bytes(report.before.huge - still), Bytes(report.before.huge)));
        }
        (None, None) if splits => say(format!("To be split: {}.", Bytes(report.before.huge))),
        (None, None) => say(format!(
            "To be made huge: {}, which takes {} more memory.",
            size(report.planned.blocks),
            Bytes(report.planned.adds)
        )),
        (Some(made), _) => {
            let rate = made.blocks as f64 / made.seconds_at_work.max(1e-9);
            say(format!(
                "Made huge: {} of {}, in {:.1} s at {rate:.0} pages a second; {} more memory. {}",
                size(made.blocks),
                size(report.planned.blocks),
                made.seconds,
                Bytes(made.added),
                made.progress_kept.map_or_else(
                    || "The process was idle.".to_owned(),
                    |kept| format!("The process kept {:.0} % of its progress meanwhile.", kept * 100.0)
                )
            ));
            if let Some(slower) = report.rate.and_then(|asked| slower_than(asked, made)) {
                say(slower);
            }
            if report.rate.is_none() && made.progress_kept.is_some_and(|kept| kept < KEPT - 0.005) {
                say(format!(
                    "That is less than the {:.0} % that an adaptive rate aims at: it found that out too late, or no rate is slow enough. \
                     --rate {:.0}/s would have gone at half the pace.",
                    KEPT * 100.0,
                    (rate / 2.0).max(1.0)
                ));
            }
            for (why, blocks) in &made.refused {
                say(format!("Refused by the kernel: {}: {}.", size(*blocks), refused(*why)));
            }
        }
    }
    if let Some(zero) = &report.zero {
        let [share, low, high] = [zero.share, zero.low, zero.high].map(|part| format!("{:.0}", part * 100.0));
        let interval = if zero.read == zero.of {
            String::new()
        } else {
            format!(" ({low} to {high}, from {} of {} huge pages)", zero.read, zero.of)
        };
        say(format!(
            "Of what lies on huge pages {share} %{interval} is zero: {} that on small pages might not be held.",
            Bytes((zero.share * report.before.huge as f64) as u64)
        ));
    }
    for row in &report.planned.left_out {
        say(format!(
            "Left as it is: {}: {}; huge, it would take {} more.",
            size(row.blocks),
            left_out(row.why),
            Bytes(row.would_add)
        ));
    }
    if let Some(words) = passed_over(&report.passed_over) {
        say(format!("Passed over: {words}."));
    }
    text
}

fn left_out(why: LeftOut) -> &'static str {
    match why {
        LeftOut::Untouched => "whole huge pages of which nothing was touched",
        LeftOut::TooLittlePresent => "less of it is present than --min-present",
        LeftOut::SwappedOut => "some of it is swapped out",
        LeftOut::BeyondBudget => "beyond the --budget",
    }
}

fn refused(why: Refused) -> &'static str {
    match why {
        Refused::NoHugePage => "no free block of that size was found or could be made",
        Refused::Busy => "in use in a way that forbids it just now; try again",
        Refused::NotPossible => "huge pages are forbidden to the process (prctl PR_SET_THP_DISABLE) or to that memory",
        Refused::Changed => "given back or swapped out meanwhile",
    }
}

fn ended(why: EndedEarly) -> &'static str {
    match why {
        EndedEarly::Interrupted => "interrupted",
        EndedEarly::NoHugePages => {
            "the kernel has no huge page left and can make none; compaction may help (pagewise set vm.compact_memory=1)"
        }
        EndedEarly::NotPossible => refused(Refused::NotPossible),
        EndedEarly::MemoryShort => "less than 2 % of the host's memory is available",
        EndedEarly::ProcessEnded => "the process ended",
        EndedEarly::ProcessBeganAnother => "the process began another program, whose memory is not touched",
    }
}

/// What was passed over and holds memory, with the reasons.
fn passed_over(passed: &PassedOver) -> Option<String> {
    let words = |why: &WhyNotHuge| match why {
        WhyNotHuge::NotAnonymous => "files, shared or write-protected memory",
        WhyNotHuge::Special => "stacks and the kernel's own pages",
        WhyNotHuge::Forbidden => "memory that the process keeps off huge pages",
        WhyNotHuge::TooSmall => "mappings too small for one",
    };
    let held = passed.iter().filter(|(_, passed)| passed.resident > 0);
    let each: Vec<String> = held.map(|(why, passed)| format!("{} of {}", Bytes(passed.resident), words(why))).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

fn failure(error: HugePagesError) -> Failure {
    match error {
        HugePagesError::Gone(_) => Failure::Usage(anyhow!(error)),
        HugePagesError::Changed(..) => Failure::Partial(anyhow!(error)),
        _ => Failure::NotPossible(anyhow!(error)),
    }
}
