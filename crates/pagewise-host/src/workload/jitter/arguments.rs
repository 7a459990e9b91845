//! The arguments of the workload: who is disturbed, by which stream, on how much memory.

use super::super::{Argument, WorkloadError};
use super::part::reclaimer::Reclaimer;
use super::part::stream::{Access, ReadMode};
use pagewise_core::unit::Bytes;

/// Who is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// LAMMPS, a molecular dynamics code: ranks that wait for each other at every step and allocate little.
    Lammps,
    /// A five-point stencil that allocates its temporaries anew in every step, as codes with automatic arrays do.
    Stencil,
    /// The allocation probe alone: a step is one allocation.
    Probe,
    /// A JVM whose heap grows by the same amount in every step.
    Jvm,
    /// A burst of short-lived processes in every step.
    Burst,
    /// The user's own program.
    Command,
}

/// Where the stream's page cache is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamCgroup {
    /// A cgroup of its own without a limit, beside the victim's.
    Own,
    /// The victim's, so that a limit on it is met by both.
    Victims,
}

/// What was asked for, complete with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Who is disturbed.
    pub victim: Victim,
    /// Ranks of the victim: `None` for one on every CPU.
    pub ranks: Ranks,
    /// Steps of a built-in victim.
    pub steps: Option<u32>,
    /// With [`Victim::Command`]: what a line of its output looks like that ends a step.
    pub step_regex: Option<String>,
    /// How the stream goes through the page cache; `None` for no stream at all.
    pub stream: Option<ReadMode>,
    /// By which calls it does so.
    pub access: Access,
    /// How many streams share the rate.
    pub streams: u32,
    /// Bytes a second of all streams; `None` as fast as they can.
    pub rate: Option<u64>,
    /// Whether the cache is filled in folios of one page.
    pub small_folios: bool,
    /// Whether the files have their blocks on the disk. Files of holes need none, and no disk decides how fast they are.
    pub on_disk: bool,
    /// Memory left available before the stream begins; `None` as much as the host has.
    pub available: Option<u64>,
    /// Whether the allocation probe runs beside the victim.
    pub probe: bool,
    /// Bytes of a file that another program beside the victim reads again and again.
    pub hot_file: Option<u64>,
    /// Seconds from a steady state to the start of the victim.
    pub warmup: u32,
    /// Where the stream's cache is charged.
    pub stream_cgroup: StreamCgroup,
    /// Nice value of the streams, 0 to 19.
    pub stream_nice: u32,
    /// Who else makes room beside them.
    pub reclaimer: Option<Reclaimer>,
}

/// On how many CPUs the victim runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// On each.
    All,
    /// One stays free for the stream and the kernel's threads.
    AllButOne,
    /// So many.
    Exactly(u32),
}

impl Ranks {
    /// On a host of `cpus` CPUs.
    #[must_use]
    pub fn count(self, cpus: u32) -> u32 {
        match self {
            Ranks::All => cpus,
            Ranks::AllButOne => cpus.saturating_sub(1).max(1),
            Ranks::Exactly(ranks) => ranks,
        }
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments {
            victim: Victim::Lammps,
            ranks: Ranks::All,
            steps: None,
            step_regex: None,
            stream: Some(ReadMode::Buffered),
            access: Access::Read,
            streams: 1,
            rate: None,
            small_folios: false,
            on_disk: false,
            available: None,
            probe: true,
            hot_file: None,
            warmup: 5,
            stream_cgroup: StreamCgroup::Own,
            stream_nice: 0,
            reclaimer: None,
        }
    }
}

/// Less is no room for a victim and a stream.
const LEAST_AVAILABLE: u64 = 512 << 20;

const fn argument(name: &'static str, default: &'static str, about: &'static str) -> Argument {
    Argument { name, default, about }
}

/// For people who ask.
pub(super) const ARGUMENTS: &[Argument] = &[
    argument(
        "victim",
        "lammps",
        "who is disturbed: lammps, stencil (allocates in every step), probe, jvm (a heap that grows), burst (processes that \
         start), command (the plan's run = [...])",
    ),
    argument("ranks", "all", "CPUs the victim runs on: all, all-but-one, or a number"),
    argument("steps", "600 (probe 300; stencil, jvm, burst 200)", "steps of a built-in victim"),
    argument(
        "step_regex",
        "none",
        "with victim=command: what a line looks like that ends a step; a group in it is the step's seconds, without one the \
         time between such lines counts",
    ),
    argument(
        "stream",
        "buffered",
        "idle (none), cached (a file that stays in memory: the copy alone), direct (O_DIRECT), same-misses (it discards behind \
         itself: every miss, no reclaim), dontcache (RWF_DONTCACHE), buffered (a file of 2.1 times the memory available)",
    ),
    argument("access", "read", "how it streams: read, mmap, write, small-files"),
    argument("streams", "1", "streams that share the rate"),
    argument("rate", "free", "bytes a second of all streams, such as 600M; free is as fast as they can"),
    argument(
        "folios",
        "large",
        "small has the cache filled in single pages, as on kernels and file systems without large folios",
    ),
    argument("disk", "no", "yes gives the files blocks on the disk; else they are holes, and no disk decides"),
    argument("available", "what the host has", "memory left free or in caches; a ballast holds the rest, such as 6G"),
    argument("probe", "on", "an allocation probe beside the victim: 2 MiB mapped, touched and unmapped every 20 ms"),
    argument(
        "hot_file",
        "none",
        "bytes of a file that another program reads beside the victim, each part once in ten seconds, such as 512M: how much of it stays \
         in memory",
    ),
    argument("warmup", "5", "seconds from the first page that is reclaimed to the start of the victim"),
    argument(
        "stream_cgroup",
        "own",
        "victims charges the stream to the victim's cgroup, so that cgroup[job].memory.max is met by both",
    ),
    argument(
        "stream_nice",
        "0",
        "nice value of the streams, and of their sessions where the scheduler groups by session: 0 to 19",
    ),
    argument(
        "reclaimer",
        "none",
        "who else makes room, once a second: drop-caches (vm.drop_caches=1), once-a-second (with less than 4 % of memory free, what \
         makes 8 % is asked of the nodes' reclaim files)",
    ),
];

/// What a policy may set: which stream there is. Victim and memory are the same at every point of a trial.
const OF_A_LEVEL: [&str; 9] =
    ["stream", "access", "streams", "rate", "folios", "disk", "stream_cgroup", "stream_nice", "reclaimer"];

impl Arguments {
    /// These arguments with `name` set to `value`, as a policy does it.
    ///
    /// # Errors
    /// As [`Arguments::with`], and for what must not differ between the points of a trial.
    pub fn of_level(self, name: &str, value: &str) -> Result<Self, WorkloadError> {
        if !OF_A_LEVEL.contains(&name) && ARGUMENTS.iter().any(|argument| argument.name == name) {
            return Err(WorkloadError::Usage(format!(
                "a policy cannot set workload.{name}: victim and memory are the same at every point of a trial; a policy can set {}",
                OF_A_LEVEL.join(", ")
            )));
        }
        self.with(name, value)
    }

    /// These arguments with `name` set to `value`.
    ///
    /// # Errors
    /// [`WorkloadError::Usage`] for an unknown name or a value that cannot be.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, WorkloadError> {
        let yes_or_no = |words: [&str; 2]| match value {
            "true" => Ok(true),
            "false" => Ok(false),
            word if word == words[0] => Ok(true),
            word if word == words[1] => Ok(false),
            _ => Err(bad(name, value, &words.join(" or "))),
        };
        match name {
            "victim" => {
                self.victim = match value {
                    "lammps" => Victim::Lammps,
                    "stencil" => Victim::Stencil,
                    "probe" => Victim::Probe,
                    "jvm" => Victim::Jvm,
                    "burst" => Victim::Burst,
                    "command" => Victim::Command,
                    _ => return Err(bad(name, value, "lammps, stencil, probe, jvm, burst or command")),
                }
            }
            "ranks" => {
                self.ranks = match value {
                    "all" => Ranks::All,
                    "all-but-one" => Ranks::AllButOne,
                    number => Ranks::Exactly(count(name, number, 1_024)?),
                }
            }
            "steps" => self.steps = Some(count(name, value, 1_000_000)?),
            "step_regex" => {
                regex_lite::Regex::new(value)
                    .map_err(|error| WorkloadError::Usage(format!("step_regex '{value}' cannot be read: {error}")))?;
                self.step_regex = Some(value.to_owned());
            }
            "stream" => {
                self.stream = match value {
                    "idle" => None,
                    "cached" => Some(ReadMode::Cached),
                    "direct" => Some(ReadMode::Direct),
                    "same-misses" => Some(ReadMode::SameMisses),
                    "dontcache" => Some(ReadMode::DontCache),
                    "buffered" => Some(ReadMode::Buffered),
                    _ => return Err(bad(name, value, "idle, cached, direct, same-misses, dontcache or buffered")),
                }
            }
            "access" => {
                self.access = match value {
                    "read" => Access::Read,
                    "mmap" => Access::Mmap,
                    "write" => Access::Write,
                    "small-files" => Access::SmallFiles,
                    _ => return Err(bad(name, value, "read, mmap, write or small-files")),
                }
            }
            "streams" => self.streams = count(name, value, 64)?,
            "rate" => self.rate = if value == "free" { None } else { Some(bytes(name, value)?) },
            "folios" => self.small_folios = yes_or_no(["small", "large"])?,
            "disk" => self.on_disk = yes_or_no(["yes", "no"])?,
            "available" => {
                let available = bytes(name, value)?;
                if available < LEAST_AVAILABLE {
                    return Err(bad(name, value, "512M or more: with less the victim itself may be killed"));
                }
                self.available = Some(available);
            }
            "probe" => self.probe = yes_or_no(["on", "off"])?,
            "hot_file" => self.hot_file = if value == "none" { None } else { Some(bytes(name, value)?) },
            "warmup" => self.warmup = value.parse().map_err(|_| bad(name, value, "a number of seconds"))?,
            "stream_cgroup" => {
                self.stream_cgroup = match value {
                    "own" => StreamCgroup::Own,
                    "victims" => StreamCgroup::Victims,
                    _ => return Err(bad(name, value, "own or victims")),
                }
            }
            "stream_nice" => {
                self.stream_nice = match value.parse() {
                    Ok(nice @ 0..=19) => nice,
                    _ => return Err(bad(name, value, "a whole number from 0 to 19")),
                }
            }
            "reclaimer" => {
                self.reclaimer = match value {
                    "none" => None,
                    "drop-caches" => Some(Reclaimer::DropCaches),
                    "once-a-second" => Some(Reclaimer::OnceASecond),
                    _ => return Err(bad(name, value, "none, drop-caches or once-a-second")),
                }
            }
            _ => {
                let names: Vec<&str> = ARGUMENTS.iter().map(|argument| argument.name).collect();
                return Err(WorkloadError::Usage(format!(
                    "jitter has no argument '{name}'; it has {}",
                    names.join(", ")
                )));
            }
        }
        Ok(self)
    }

    /// What is wrong with them together.
    ///
    /// # Errors
    /// [`WorkloadError::Usage`].
    pub fn check(&self) -> Result<(), WorkloadError> {
        let wrong = match (self.stream, self.access) {
            (
                Some(ReadMode::Direct | ReadMode::DontCache | ReadMode::SameMisses),
                Access::Mmap | Access::SmallFiles,
            ) => "direct, dontcache and same-misses are ways to read or write one file; use access=read or write",
            (Some(ReadMode::DontCache), Access::Write) | (Some(ReadMode::Cached), Access::Write) => {
                "a write has no such control; use stream=buffered, direct or same-misses"
            }
            _ => return Ok(()),
        };
        Err(WorkloadError::Usage(wrong.to_owned()))
    }

    /// Steps of the victim.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.steps.unwrap_or(match self.victim {
            Victim::Stencil | Victim::Jvm | Victim::Burst => 200,
            Victim::Probe => 300,
            _ => 600,
        })
    }
}

fn bad(name: &str, value: &str, wanted: &str) -> WorkloadError {
    WorkloadError::Usage(format!("{name} cannot be '{value}'; write {wanted}"))
}

fn count(name: &str, value: &str, most: u32) -> Result<u32, WorkloadError> {
    let number = value.replace('_', "").parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| bad(name, value, &format!("a whole number from 1 to {most}")))
}

fn bytes(name: &str, value: &str) -> Result<u64, WorkloadError> {
    let Bytes(bytes) = value.parse().map_err(|error| WorkloadError::Usage(format!("{name}: {error}")))?;
    if bytes == 0 { Err(bad(name, value, "more than nothing")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_may_change_the_stream_and_not_the_victim() {
        let arguments = Arguments::default().of_level("rate", "600M").unwrap().of_level("folios", "small").unwrap();
        assert_eq!((arguments.rate, arguments.small_folios), (Some(600 << 20), true));
        let refused = arguments.of_level("available", "6G").unwrap_err().to_string();
        assert!(refused.contains("cannot set workload.available"), "{refused}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (name, value, says) in [
            ("victim", "wrf", "lammps, stencil"),
            ("stream", "fast", "same-misses"),
            ("rate", "0", "more than nothing"),
            ("available", "100M", "512M or more"),
            ("ranks", "0", "from 1"),
            ("colour", "red", "has no argument 'colour'; it has victim"),
            ("step_regex", "(", "cannot be read"),
            ("stream_nice", "20", "from 0 to 19"),
            ("reclaimer", "cron", "none, drop-caches or once-a-second"),
        ] {
            let error = Arguments::default().with(name, value).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(
            Arguments::default().with("stream", "direct").unwrap().with("access", "mmap").unwrap().check().is_err()
        );
    }
}
