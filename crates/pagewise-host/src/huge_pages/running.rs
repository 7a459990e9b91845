//! Huge pages made in a process, at its pace.

use super::process::{Process, Refused};
use super::{HugePagesError, ProcessChange, hotspot};
use crate::process::Interrupt;
use crate::progress::Progress;
use crate::root::Root;
use crate::source::meminfo;
use crate::sys::mapping::{Mapping as OwnMapping, PageAdvice};
use pagewise_core::huge_pages::block::{Block, BlockCriteria, MemoryByBacking, PassedOver, Plan};
use pagewise_core::huge_pages::mapping::Mapping;
use pagewise_core::huge_pages::pace::{NextStep, Pace, StretchProgress};
use pagewise_core::huge_pages::zero::{self, ZeroInHuge};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

/// Which of its memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HugePagesRequest {
    /// What of it.
    pub parts: Parts,
    /// Only mappings of at least so many bytes.
    pub at_least: u64,
    /// The part of a huge page that must be present, 0 to 1.
    pub least_present: f64,
    /// All processes of the host together may have so many bytes on huge pages.
    pub budget: Option<u64>,
}

/// Parts of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Between these addresses; everywhere where there are none.
    Ranges(Vec<(u64, u64)>),
    /// The old generation of a HotSpot JVM, where it lies at each round.
    OldOfJvm,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::Ranges(Vec::new())
    }
}

/// What a process holds, and what is to be done about it.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Mappings in which huge pages can be made.
    pub mappings: u64,
    /// What they hold.
    pub held: MemoryByBacking,
    /// Piece by piece.
    pub blocks: Vec<Block>,
    /// What is to be made huge, and what is not.
    pub plan: Plan,
    /// Mappings in which none can be made.
    pub passed_over: PassedOver,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CollapseOutcome {
    /// Blocks that lie on a huge page now.
    pub blocks: u64,
    /// Bytes of memory that this took beyond what they held.
    pub added: u64,
    /// Blocks that the kernel refused, by the reason.
    pub refused: BTreeMap<Refused, u64>,
    /// Seconds that it took, rests included.
    pub seconds: f64,
    /// Of them, seconds in which pages were made.
    pub seconds_at_work: f64,
    /// The part of its progress that the process kept while pages were made; null for one that was idle.
    pub progress_kept: Option<f64>,
    /// Longest time one of them took, seconds.
    pub longest: f64,
    /// Why it ended before all were asked for.
    pub ended_early: Option<EndedEarly>,
}

/// Why not all blocks were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedEarly {
    /// Ctrl-C.
    Interrupted,
    /// The kernel found no huge page so often that it has none.
    NoHugePages,
    /// The kernel refused all of the first so often that it is not possible in this process.
    NotPossible,
    /// Little memory is available on the host.
    MemoryShort,
    /// The process ended.
    ProcessEnded,
    /// The process began another program.
    ProcessBeganAnother,
}

impl From<ProcessChange> for EndedEarly {
    fn from(became: ProcessChange) -> EndedEarly {
        match became {
            ProcessChange::Over => EndedEarly::ProcessEnded,
            ProcessChange::AnotherProgram => EndedEarly::ProcessBeganAnother,
        }
    }
}

/// So many refusals one after the other mean that no other will work.
const IN_A_ROW: u32 = 32;

/// Of the host's memory so much stays available.
const STAYS_AVAILABLE: f64 = 0.02;

/// Bytes that a huge page holds here.
///
/// # Errors
/// On a kernel without them.
pub fn huge_size(root: &Root) -> Result<u64, HugePagesError> {
    let path = root.path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    let text = std::fs::read_to_string(&path).map_err(|_| {
        HugePagesError::Unsupported(format!(
            "this kernel has no transparent huge pages: there is no {}",
            path.display()
        ))
    })?;
    let size = text.trim().parse().ok().filter(|size: &u64| size.is_power_of_two());
    size.ok_or_else(|| HugePagesError::Unsupported(format!("{} says '{}'", path.display(), text.trim())))
}

/// Looks at all that a process holds.
///
/// # Errors
/// When it is gone or may not be read.
pub fn survey(process: &Process, huge_size: u64, asked: &HugePagesRequest) -> Result<Survey, HugePagesError> {
    let mut found = Survey::default();
    let mappings = process.mappings()?;
    let ranges = match &asked.parts {
        Parts::Ranges(ranges) => ranges.clone(),
        Parts::OldOfJvm => hotspot::old_memory(&Root::live(), process.pid, &mappings).map_err(|why| {
            HugePagesError::Unsupported(format!("process {} ({}): {why}", process.pid, process.command))
        })?,
    };
    let is_all = ranges.is_empty() && asked.parts != Parts::OldOfJvm;
    for mapping in mappings {
        for mapping in if is_all { vec![mapping] } else { within(&mapping, &ranges) } {
            if mapping.end - mapping.start < asked.at_least {
                continue;
            }
            match mapping.fits(huge_size) {
                Ok(()) => {
                    found.mappings += 1;
                    found.blocks.extend(process.blocks(&mapping)?);
                }
                Err(why) => {
                    let passed = found.passed_over.entry(why).or_default();
                    passed.mappings += 1;
                    passed.resident += mapping.resident;
                }
            }
        }
    }
    let on_huge = || meminfo::read(&Root::live()).ok()?.get("AnonHugePages").copied();
    let room = asked.budget.map_or(u64::MAX, |budget| budget.saturating_sub(on_huge().unwrap_or(0)));
    let wanted = BlockCriteria { huge_size, least_present: asked.least_present, room };
    found.held = MemoryByBacking::by(&found.blocks, huge_size);
    found.plan = Plan::of(&found.blocks, &wanted);
    Ok(found)
}

/// The parts of a mapping that lie in the ranges.
fn within(mapping: &Mapping, ranges: &[(u64, u64)]) -> Vec<Mapping> {
    let part = |(start, end): &(u64, u64)| {
        let (start, end) = (mapping.start.max(*start), mapping.end.min(*end));
        (start < end).then(|| Mapping { start, end, ..mapping.clone() })
    };
    ranges.iter().filter_map(part).collect()
}

/// So many huge pages are read to tell how much of all is zero: half a GiB.
const MOST_READ: usize = 256;

/// How much of the memory that lies on huge pages is zero, from some of them. What is read is compared with zero, and kept nowhere. `None`: there
/// are too few, or the kernel does not tell which these are (before 6.7).
///
/// # Errors
/// When the process is gone, or its memory may not be read.
pub fn zero(process: &Process, blocks: &[Block]) -> Result<Option<ZeroInHuge>, HugePagesError> {
    let huge: Vec<u64> = blocks.iter().filter(|block| block.is_huge).map(|block| block.start).collect();
    if huge.is_empty() {
        return Ok(None);
    }
    let shares = process.zero_in(zero::chosen(huge.len(), MOST_READ).map(|place| huge[place]))?;
    Ok(zero::estimate(&shares, huge.len() as u64))
}

/// Makes what was planned. A process that ends, or begins another program, ends it early.
///
/// # Errors
/// When the right is missing. What was made by then stays.
pub fn make(
    process: &Process,
    plan: &Plan,
    huge_size: u64,
    pace: &mut Pace,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<CollapseOutcome, HugePagesError> {
    let mut made = CollapseOutcome::default();
    let began = Instant::now();
    match make_planned(&mut made, process, plan, huge_size, pace, interrupt, progress) {
        Err(HugePagesError::Changed(_, became)) => made.ended_early = Some(became.into()),
        other => other?,
    }
    made.seconds = began.elapsed().as_secs_f64();
    made.progress_kept = pace.kept();
    Ok(made)
}

fn make_planned(
    made: &mut CollapseOutcome,
    process: &Process,
    plan: &Plan,
    huge_size: u64,
    pace: &mut Pace,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<(), HugePagesError> {
    let mut left = plan.blocks.iter();
    let mut refused_in_a_row = 0;
    while !left.as_slice().is_empty() && made.ended_early.is_none() {
        let (stretch, user, before) = (Instant::now(), process.user_time()?, made.blocks);
        match pace.now() {
            NextStep::Rest(seconds) => interrupt.wait(Duration::from_secs_f64(seconds)),
            NextStep::Work { rate, seconds } => {
                let mut asked: u32 = 0;
                // A process that ends in a stretch leaves what was made in it, with its time.
                let earlier = made.seconds_at_work;
                while stretch.elapsed().as_secs_f64() < seconds && !interrupt.is_set() {
                    let Some(block) = left.next() else { break };
                    touch_one(huge_size);
                    let at = Instant::now();
                    match process.collapse(block)? {
                        Ok(()) => {
                            made.blocks += 1;
                            made.added += huge_size.saturating_sub(block.present);
                            refused_in_a_row = 0;
                        }
                        Err(why) => {
                            *made.refused.entry(why).or_default() += 1;
                            refused_in_a_row += u32::from(why != Refused::Changed);
                            if refused_in_a_row >= IN_A_ROW {
                                made.ended_early = Some(match why {
                                    Refused::NotPossible => EndedEarly::NotPossible,
                                    _ => EndedEarly::NoHugePages,
                                });
                                break;
                            }
                        }
                    }
                    made.longest = made.longest.max(at.elapsed().as_secs_f64());
                    made.seconds_at_work = earlier + stretch.elapsed().as_secs_f64();
                    asked += 1;
                    let due = Duration::from_secs_f64(f64::from(asked) / rate);
                    interrupt.wait(due.saturating_sub(stretch.elapsed()));
                }
                made.seconds_at_work = earlier + stretch.elapsed().as_secs_f64();
            }
        }
        let seen = StretchProgress {
            seconds: stretch.elapsed().as_secs_f64(),
            user: process.user_time()? - user,
            made: made.blocks - before,
        };
        pace.after(seen);
        let done = plan.blocks.len() - left.as_slice().len();
        progress.stage("making huge pages", Some(done as f64 / plan.blocks.len() as f64));
        if interrupt.is_set() && !left.as_slice().is_empty() {
            made.ended_early = made.ended_early.or(Some(EndedEarly::Interrupted));
        }
        if is_memory_short() {
            made.ended_early = made.ended_early.or(Some(EndedEarly::MemoryShort));
        }
    }
    Ok(())
}

/// The file that splits huge pages (5.11, `mm/huge_memory.c`, `split_huge_pages_write`).
const SPLITS: &str = "/sys/kernel/debug/split_huge_pages";

/// Splits the huge pages of these blocks into small ones again. What they hold stays, and no memory is given back by it alone. The kernel tells of each range only that
/// it went through it: what was split is what a new survey does not find huge any more.
///
/// # Errors
/// Where the kernel's file is not there or may not be written, and when the process is gone.
pub fn split(process: &Process, blocks: &[Block], huge_size: u64) -> Result<(), HugePagesError> {
    let io = |error| HugePagesError::Io { what: SPLITS.to_owned(), error };
    let mut file = File::options().write(true).open(SPLITS).map_err(|error| match error.kind() {
        ErrorKind::NotFound => HugePagesError::Unsupported(format!(
            "huge pages of a running process are split by {SPLITS} alone, which is not there: mount debugfs (mount -t debugfs none \
             /sys/kernel/debug); kernels have it since 5.11, with CONFIG_DEBUG_FS"
        )),
        ErrorKind::PermissionDenied => HugePagesError::Unsupported(format!(
            "{SPLITS} may not be written ({error}): root alone may, and nobody where the kernel is locked down"
        )),
        _ => io(error),
    })?;
    let mut huge = blocks.iter().filter(|block| block.is_huge).map(|block| block.start).peekable();
    while let Some(start) = huge.next() {
        let mut end = start + huge_size;
        while huge.next_if_eq(&end).is_some() {
            end += huge_size;
        }
        process.is_as_it_was(start)?;
        file.write_all(format!("{},{start:#x},{end:#x}", process.pid).as_bytes()).map_err(io)?;
    }
    Ok(())
}

/// Has a huge page of our own filled by the kernel, and gives it back: the next one that this CPU is given is most likely that one. A page that was not used for
/// long is dear to touch first, above all in a virtual machine whose host took it back; this way it is not the process that waits for it.
fn touch_one(huge_size: u64) {
    if let Ok(mut page) = OwnMapping::new(huge_size as usize, huge_size as usize, PageAdvice::Huge) {
        page.bytes()[0] = 1;
    }
}

fn is_memory_short() -> bool {
    let Ok(all) = meminfo::read(&Root::live()) else { return false };
    meminfo::available(&all)
        .zip(all.get("MemTotal"))
        .is_some_and(|(available, total)| (available as f64) < STAYS_AVAILABLE * *total as f64)
}
