//! `pagewise guard run | advise | simulate`: page cache taken back before kswapd has to, decided without being done, or tried on a
//! model with a clock of its own.

use super::prove::{self, ProveArgs};
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use pagewise_core::guard::SECOND;
use pagewise_core::guard::asked::{AskedLaw, GuardRequest, OutOfRange};
use pagewise_core::guard::law::{Law, Learnt, Mode, Settings as LawSettings};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::simulate::{self, Model, NoGuard, SimulationOutcome};
use pagewise_core::tunable::guard;
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::facts::reclaim;
use pagewise_host::guard::running::{self, GuardMessage, GuardSummary, Guards};
use pagewise_host::guard::status::{self, OfDomain, Running};
use pagewise_host::guard::{DomainName, Streamer};
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::source::{guard_threads, kernel_threads};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    what: GuardCommand,
}

#[derive(Subcommand, Debug)]
enum GuardCommand {
    /// Take page cache back before kswapd wakes, as long as a stream fills memory
    Run(RunArgs),
    /// Decide what `run` would do, and do nothing
    Advise(RunArgs),
    /// Prove what a guard gives, on whatever runs: blocks of time with and without it, in random order
    #[command(after_help = PROVE_EXAMPLES)]
    Prove(GuardProve),
    /// Say who guards this host, and what that does now
    Status,
    /// Try the guard's law, loops with a fixed period, and the kernel alone on a model of a node
    Simulate(SimulateArgs),
}

/// `prove --live` between no guard and one.
#[derive(Debug)]
struct GuardProve(Box<ProveArgs>);

const PROVE_EXAMPLES: &str = "Examples:
  pagewise guard prove --budget 30m \\
      --metric 'regex:took=([0-9.]+):/var/log/job.log'
  pagewise guard prove --pid 4711 --block 30s --pairs 8
  pagewise guard prove --b 'guard=on(cap=0.25)' -- ./job";

impl GuardProve {
    /// What a proof of a guard leaves no choice of, or has no use for.
    const HIDDEN: [&'static str; 12] = [
        "a",
        "live",
        "short_lived",
        "timeout",
        "pressure_limit",
        "memory_drift_limit",
        "drop_caches",
        "warm_memory",
        "workload",
        "prepare",
        "verify",
        "clean",
    ];

    /// Of whose defaults a live proof has others.
    const SAID_OTHERWISE: [(&'static str, &'static str); 5] = [
        ("b", "The guard that is judged [default: guard=on]"),
        ("pairs", "Pairs of blocks, one with the guard and one without; with --budget at most so many [default: 8]"),
        ("budget", "As many pairs as fit into this time"),
        ("warmup", "Unanalysed blocks of each first [default: 0]"),
        (
            "metric",
            "What is compared: a signal of the host (system_share, psi_memory_full, allocation stalls, …), a command that prints a \
             number when a block ends, rate:COMMAND for a counter, or regex:PATTERN:FILE for the lines a log grew by, such as \
             the times of your job's steps [default: system_share]",
        ),
    ];
}

impl Args for GuardProve {
    fn augment_args(command: clap::Command) -> clap::Command {
        let command = ProveArgs::augment_args(command);
        let command = Self::HIDDEN.into_iter().fold(command, |command, arg| command.mut_arg(arg, |arg| arg.hide(true)));
        let say = |command: clap::Command, (arg, help): (&'static str, &'static str)| {
            command.mut_arg(arg, |arg| arg.help(help))
        };
        Self::SAID_OTHERWISE.into_iter().fold(command, say)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GuardProve {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let args = ProveArgs::from_arg_matches(matches)?;
        Ok(GuardProve(Box::new(args.of_held(&setting(guard::OFF), &setting("on")))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A policy of a guard alone.
fn setting(value: &str) -> String {
    format!("{}={value}", guard::NAME)
}

#[derive(Args, Debug)]
struct RunArgs {
    /// The memory node; every node with memory by default
    #[arg(long, value_name = "N")]
    node: Vec<u32>,
    /// Guard cgroups that have a limit instead, as they come and go: of this path within the memory hierarchy (/yarn/*), or
    /// without a slash of this name (pod*)
    #[arg(long, value_name = "PATTERN", conflicts_with = "node")]
    cgroup: Option<String>,
    /// CPUs that the guard may run on, such as 0,8-11
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Most of a core that the guard of a node, or of a cgroup, may use, over ten seconds
    #[arg(long, default_value_t = 0.5, value_name = "CORES")]
    cpu_cap: f64,
    /// A batch holds so many seconds of fill [default: 100ms; of a node whose free memory goes back to a hypervisor 5ms]
    #[arg(long, value_name = "TIME")]
    batch: Option<Seconds>,
    /// End after so long
    #[arg(long = "for", value_name = "TIME")]
    at_most: Option<Seconds>,
    /// The guard's own law, or the published mechanism with its two numbers
    #[arg(long, value_enum, default_value_t = WhichLaw::Guard)]
    law: WhichLaw,
    /// With --law paper: free memory below which it frees
    #[arg(long, value_name = "BYTES", required_if_eq("law", "paper"))]
    threshold: Option<Bytes>,
    /// With --law paper: what it frees at once
    #[arg(long, value_name = "BYTES", required_if_eq("law", "paper"))]
    amount: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum WhichLaw {
    Guard,
    Paper,
}

#[derive(Args, Debug)]
struct SimulateArgs {
    /// Memory of the node
    #[arg(long, default_value = "24G", value_name = "BYTES")]
    size: Bytes,
    /// What streams in, each second
    #[arg(long, default_value = "1.3G", value_name = "BYTES")]
    fill: Bytes,
    /// CPU time to free a GiB; `guard run` says what it is on your host
    #[arg(long, default_value = "98ms", value_name = "TIME")]
    cost: Seconds,
    /// CPU time to touch a GiB that a hypervisor took back because it was free, where one does
    #[arg(long, value_name = "TIME")]
    reporting: Option<Seconds>,
    /// How long
    #[arg(long, default_value = "60s", value_name = "TIME")]
    duration: Seconds,
    /// Most of a core the guard may use
    #[arg(long, default_value_t = 0.5, value_name = "CORES")]
    cpu_cap: f64,
    /// Of bursts and late wake-ups
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// What `simulate --json` prints.
#[derive(Serialize)]
struct Simulated {
    schema: &'static str,
    laws: Vec<Row>,
    /// What the guard was doing at the end.
    mode: Mode,
    /// What it had learnt.
    learnt: Learnt,
}

#[derive(Serialize)]
struct Row {
    law: &'static str,
    #[serde(flatten)]
    ran: SimulationOutcome,
}

pub(crate) fn run(args: &GuardArgs, global: &Global) -> Result<ExitCode, Failure> {
    match &args.what {
        GuardCommand::Run(asked) => run_guard(asked, global, true),
        GuardCommand::Advise(asked) => run_guard(asked, global, false),
        GuardCommand::Prove(GuardProve(asked)) => prove::run(asked, global),
        GuardCommand::Status => show_status(global),
        GuardCommand::Simulate(asked) => simulate(asked, global),
    }
}

/// What `run --json` prints at its end.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    /// How long it ran, and the CPU time of every kswapd meanwhile; seconds.
    seconds: f64,
    kswapd: f64,
    domains: Vec<Guarded>,
}

#[derive(Serialize)]
struct Guarded {
    domain: DomainName,
    #[serde(flatten)]
    done: GuardSummary,
    mode: Option<Mode>,
    learnt: Option<Learnt>,
    /// Who streamed, as far as was seen.
    streams: Vec<Streamer>,
}

impl RunArgs {
    fn asked(&self) -> Result<GuardRequest, Failure> {
        let bytes = |given: Option<Bytes>| given.map_or(0, |Bytes(bytes)| bytes);
        let law = match self.law {
            WhichLaw::Guard => {
                let batch = self.batch.map(|Seconds(batch)| batch);
                AskedLaw::Guard(LawSettings { cpu_cap: self.cpu_cap, batch, ..LawSettings::default() })
            }
            WhichLaw::Paper => AskedLaw::Paper { threshold: bytes(self.threshold), amount: bytes(self.amount) },
        };
        GuardRequest { law, cgroups: self.cgroup.clone() }.check().map_err(out_of_range)
    }
}

/// Another guard that acts on one of these nodes, by pid.
fn beside(root: &Root, guarded: &Guards) -> Option<u32> {
    let is_one = |of: &OfDomain| of.acts && guarded.guards(&of.domain);
    let guards = status::running(root);
    let there = guards.iter().find(|other| other.domains.as_ref().is_some_and(|all| all.iter().any(is_one)));
    there.map(|other| other.pid)
}

fn run_guard(args: &RunArgs, global: &Global, acts: bool) -> Result<ExitCode, Failure> {
    let asked = args.asked()?;
    let root = global.root();
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if let Some(cpus) = &args.cpus {
        // Threads take this over from the one that starts them.
        running::stay_on(cpus).map_err(|why| Failure::Usage(anyhow!("--cpus {cpus}: {why}")))?;
    }
    guard_threads::name_this_process();
    let guards = Guards::open(&root, &asked, &args.node, acts).map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if let Err(error) = running::stay_in_memory() {
        output::note(&format!(
            "note: its memory cannot be locked ({error}): where memory is short it may have to wait itself"
        ));
    }
    if acts && let Some(lacks) = reclaim::guard_lacks(&root) {
        output::note(&format!("note: {lacks}"));
    }
    if acts && let Some(other) = beside(&root, &guards) {
        output::note(&format!(
            "note: a guard is at work there already (pid {other}): two take from each other's batches, and neither learns what it does; end one \
             (pagewise guard status)"
        ));
    }
    if guards.free_goes_back() && matches!(asked.law, AskedLaw::Guard(_)) {
        output::note(
            "note: free memory goes back to the hypervisor here (free page reporting), and whoever touches it again waits: the guard keeps \
             less free for that, and a proof has to say whether the slowest steps gain, too (docs/method/guard.md)",
        );
    }
    output::note(&format!("{} {}; Ctrl-C ends it", if acts { "guarding" } else { "watching" }, guards.words()));
    let takes_from = guards.takes_from();
    if !takes_from.is_empty() {
        output::note(&format!("it takes {}", takes_from.join(", then from ")));
    }
    let at_most = args.at_most.map(|time| (time.0 * SECOND as f64) as u64);
    let said: Mutex<BTreeMap<DomainName, DomainMessages>> = Mutex::default();
    let tell = |domain: &DomainName, told: GuardMessage<'_>| {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(told, GuardMessage::Gone) {
            said.remove(domain);
            return;
        }
        match said.get_mut(domain) {
            Some(known) => known.tell(domain, told),
            None => said.entry(domain.clone()).or_default().tell(domain, told),
        }
    };
    let kswapd = kernel_threads::kswapd_files(&root);
    let (used, began) = (kernel_threads::cpu_of(&root, &kswapd), Instant::now());
    let done = guards.run(at_most, &interrupt, &tell).map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let (kswapd, seconds) = (kernel_threads::cpu_of(&root, &kswapd) - used, began.elapsed().as_secs_f64());
    let mut said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    let domain = |(domain, done): (DomainName, GuardSummary)| {
        let DomainMessages { mode, learnt, streams, .. } = said.remove(&domain).unwrap_or_default();
        Guarded { domain, done, mode, learnt, streams }
    };
    let domains: Vec<Guarded> = done.into_iter().map(domain).collect();
    if let Some(pattern) = args.cgroup.as_ref().filter(|_| domains.is_empty()) {
        output::note(&format!("no cgroup of the pattern {pattern} had a limit meanwhile: nothing was guarded"));
    }
    if global.json {
        output::json(&Report { schema: "pagewise.guard/2", seconds, kswapd, domains });
    } else {
        domains.iter().for_each(|one| output::data(&output::wrapped(&summary(one, acts), 79, 2)));
        if domains.iter().any(|one| matches!(one.domain, DomainName::Node(_))) {
            let direct = domains.iter().map(|one| one.done.direct).sum();
            output::data(&output::wrapped(&of_kswapd(kswapd, seconds, direct, acts), 79, 2));
        }
        let streams: Vec<String> = domains.iter().flat_map(|one| one.streams.iter().map(streamed)).collect();
        if !streams.is_empty() {
            output::data(&output::wrapped(&format!("{}. {ADVICE}", streams.join("; ")), 79, 2));
        }
        let helps = if acts { "helps" } else { "would help" };
        output::note(&format!("whether it {helps} a program here: pagewise guard prove --pid PID"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What whoever owns a stream can do, which spares its neighbours more than anybody else can (`docs/method/guard.md`).
const ADVICE: &str = "If a stream is yours, it can spare the others more than a guard does: nice -n 19, or a cgroup with a memory.high of its own \
                      (systemd-run -p MemoryHigh=1G); larger read-ahead, for larger folios are cheaper to take back; in its code RWF_DONTCACHE (Linux \
                      6.14), or POSIX_FADV_DONTNEED behind itself. The guide: docs/guide/stream-beside-a-job.md";

fn streamed(Streamer { pid, command, path }: &Streamer) -> String {
    format!("{command} ({pid}) streams {path}")
}

/// No more streams are kept in mind.
const MOST_STREAMS: usize = 16;

/// What was said of a domain, at most a line in five seconds.
#[derive(Default)]
struct DomainMessages {
    last: Option<Instant>,
    unsaid: u32,
    mode: Option<Mode>,
    learnt: Option<Learnt>,
    streams: Vec<Streamer>,
}

impl DomainMessages {
    fn tell(&mut self, domain: &DomainName, told: GuardMessage<'_>) {
        let now = || jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        let (mode, learnt) = match told {
            GuardMessage::Does(mode, learnt) => (mode, learnt),
            GuardMessage::Streams(who) => {
                if self.streams.len() < MOST_STREAMS && !self.streams.contains(who) {
                    self.streams.push(who.clone());
                }
                return output::note(&format!("{} {domain}: {}", now(), streamed(who)));
            }
            GuardMessage::Gone => return,
            GuardMessage::Cannot(error) => return output::note(&format!("{} {error}", now())),
        };
        (self.mode, self.learnt) = (Some(mode), learnt);
        if let Some(line) = self.line(Instant::now(), mode, learnt.as_ref()) {
            output::note(&format!("{} {domain}: {line}", now()));
        }
    }

    /// What is said of it now; `None` so soon after the last line.
    fn line(&mut self, now: Instant, mode: Mode, learnt: Option<&Learnt>) -> Option<String> {
        if self.last.is_some_and(|last| now.duration_since(last) < Duration::from_secs(5)) {
            self.unsaid += 1;
            return None;
        }
        let unsaid = match std::mem::take(&mut self.unsaid) {
            0 => String::new(),
            changes => format!(" ({changes} changes since the last line)"),
        };
        self.last = Some(now);
        Some(format!("{}{unsaid}", said(mode, learnt)))
    }
}

/// What a guard did, or, where it does not act, would have done.
fn summary(Guarded { domain, done, learnt, .. }: &Guarded, acts: bool) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let met = match domain {
        DomainName::Node(_) => format!(
            "the kernel had to reclaim {} times{}, and in {} of them an application waited for it",
            done.too_late,
            explained(done),
            done.direct
        ),
        DomainName::Cgroup(_) => format!("its limit was met {} times{}", done.too_late, explained(done)),
    };
    let core = 100.0 * done.cpu / done.seconds.max(1e-9);
    if !acts {
        return format!(
            "{domain}: {:.1} s; a guard would have taken memory in {} slices. Sampling took {:.2} s of CPU ({core:.1} % of a core). \
             Meanwhile {met}.",
            done.seconds, done.slices, done.cpu
        );
    }
    let of_cgroup = match done.taken_of_streams_cgroup {
        0 => String::new(),
        bytes => format!(" and {:.0} from the cgroup of who streams", mib(bytes)),
    };
    format!(
        "{domain}: {:.1} s; took {:.0} MiB, {:.0} of them behind streams{of_cgroup}, in {} slices with {:.2} s of CPU ({core:.1} % of a core); the \
         longest slice {:.1} ms, the latest sample {:.1} ms late. Meanwhile {met}.{}",
        done.seconds,
        mib(done.taken),
        mib(done.taken_behind_streams),
        done.slices,
        done.cpu,
        done.longest_slice * 1e3,
        done.latest * 1e3,
        learnt.as_ref().and_then(filling).unwrap_or_default(),
    )
}

/// Below this part of a core kswapd costs nobody anything that could be told. Ours.
const LITTLE_OF_KSWAPD: f64 = 0.005;

/// What the kernel did by itself, and, without a guard, whether there is anything for one to do.
fn of_kswapd(used: f64, seconds: f64, direct: u64, acts: bool) -> String {
    let core = used / seconds.max(1e-9);
    let said = format!("kswapd used {used:.2} s of CPU meanwhile ({:.1} % of a core)", core * 100.0);
    match (acts, core < LITTLE_OF_KSWAPD && direct == 0) {
        (true, _) => format!("{said}."),
        (false, true) => {
            format!(
                "{said}, and no program reclaimed by itself: a guard of this host would have had nothing to give back."
            )
        }
        (false, false) => {
            format!("{said}. A guard does that work before it is due; what a program gains by it only a proof can say.")
        }
    }
}

/// Why the guard was too late, as far as that is known: ` (12 while it left memory to the kernel, 3 when it was woken late)`.
fn explained(done: &GuardSummary) -> String {
    let each = [
        (done.left_to_kernel, "while it left memory to the kernel"),
        (done.for_blocks, "for pages in a row, which compaction makes"),
        (done.while_watching, "before it knew of a stream"),
        (done.woken_late, "when it was woken late or a slice was held up"),
    ];
    let said: Vec<String> =
        each.iter().filter(|(times, _)| *times > 0).map(|(times, when)| format!("{times} {when}")).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

/// What memory that came in cost with the guard and without, where both were seen.
fn filling(learnt: &Learnt) -> Option<String> {
    let (with, without) = learnt.filling_with.zip(learnt.filling_without)?;
    Some(format!(
        " A GiB that came in took {with:.2} s of kernel time with it, and {without:.2} s where the kernel reclaimed."
    ))
}

/// What `status --json` prints.
#[derive(Serialize)]
struct StatusReport {
    schema: &'static str,
    guards: Vec<Running>,
}

fn show_status(global: &Global) -> Result<ExitCode, Failure> {
    let guards = status::running(&global.root());
    if global.json {
        output::json(&StatusReport { schema: "pagewise.guard-status/1", guards });
        return Ok(ExitCode::SUCCESS);
    }
    if guards.is_empty() {
        output::data("No guard runs on this host.");
    }
    for Running { pid, command, domains } in &guards {
        output::data(&output::wrapped(&format!("{pid}: {command}"), 79, 4));
        match domains {
            None => output::data("  What it does may be read by its own user, and by root."),
            Some(domains) if domains.is_empty() => output::data("  It guards nothing yet."),
            Some(domains) => domains.iter().for_each(|one| output::data(&output::wrapped(&of_domain(one), 79, 4))),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn of_domain(one: &OfDomain) -> String {
    let done = &one.done;
    let streams = match one.streams.as_slice() {
        [] => String::new(),
        some => {
            format!(" {}.", some.iter().map(streamed).collect::<Vec<_>>().join("; "))
        }
    };
    format!(
        "  {}, {}{}: {}. For {:.0} s: {:.0} MiB taken with {:.2} s of CPU, the kernel still reclaimed {} times.{streams}",
        one.domain,
        one.asked,
        if one.acts { "" } else { " (advises only)" },
        said(one.mode, one.learnt.as_ref()),
        done.seconds,
        done.taken as f64 / f64::from(1 << 20),
        done.cpu,
        done.too_late
    )
}

fn out_of_range(error: OutOfRange) -> Failure {
    let option = match error {
        OutOfRange::CpuCap => "--cpu-cap",
        OutOfRange::Batch => "--batch",
        OutOfRange::Bytes => "--threshold, --amount",
        OutOfRange::Cgroups => "--cgroup",
    };
    Failure::Usage(anyhow!("{option}: {error}"))
}

fn simulate(asked: &SimulateArgs, global: &Global) -> Result<ExitCode, Failure> {
    let model = model(asked)?;
    let settings = LawSettings { cpu_cap: asked.cpu_cap, ..LawSettings::default() };
    GuardRequest { law: AskedLaw::Guard(settings), cgroups: None }.check().map_err(out_of_range)?;
    let mut law = Law::new(settings);
    if model.reporting.is_some() {
        law = law.where_free_goes_back();
    }
    let fixed = |every: u64| Paper::new(model.size / 100, model.size / 50, every);
    let laws = vec![
        Row { law: "the kernel alone", ran: simulate::run(&model, &mut NoGuard) },
        Row { law: "below 1 %, free 2 %, every second", ran: simulate::run(&model, &mut fixed(SECOND)) },
        Row { law: "the same every 100 ms", ran: simulate::run(&model, &mut fixed(SECOND / 10)) },
        Row { law: "the guard", ran: simulate::run(&model, &mut law) },
    ];
    let report = Simulated { schema: "pagewise.guard-simulation/1", laws, mode: law.mode(), learnt: law.learnt() };
    if global.json {
        output::json(&report);
    } else {
        output::data(&table(asked, &report));
    }
    Ok(ExitCode::SUCCESS)
}

fn model(asked: &SimulateArgs) -> Result<Model, Failure> {
    let wrong = |what: &str| Failure::Usage(anyhow!("{what}"));
    let (Bytes(size), Bytes(fill)) = (asked.size, asked.fill);
    if size < 256 << 20 {
        return Err(wrong("--size: a node of less than 256 MiB has no room for a batch"));
    }
    if asked.cost.0.is_nan() || asked.cost.0 <= 0.0 {
        return Err(wrong("--cost: freeing takes some time; write it like 98ms"));
    }
    if !(1.0..=86_400.0).contains(&asked.duration.0) {
        return Err(wrong("--duration: from 1s to a day"));
    }
    let per_byte = |time: Seconds| time.0 * SECOND as f64 / f64::from(1 << 30);
    Ok(Model {
        reporting: asked.reporting.map(per_byte),
        seconds: asked.duration.0 as u64,
        seed: asked.seed,
        ..Model::of(size, fill as f64, asked.cost.0 * 1000.0)
    })
}

fn table(asked: &SimulateArgs, report: &Simulated) -> String {
    let mut text = format!(
        "A model, not a measurement: {} of memory, {} a second streaming in, {:.0} ms of CPU to free a GiB.\n\n\
         {:<36}{:>9}{:>8}{:>8}{:>9}{:>9}\n",
        asked.size,
        asked.fill,
        asked.cost.0 * 1000.0,
        "",
        "crossed",
        "guard",
        "kswapd",
        "all",
        "free"
    );
    text.push_str(&format!("{:<36}{:>9}{:>8}{:>8}{:>9}{:>9}\n", "", "low mark", "core", "core", "s/GiB", "MiB"));
    for Row { law, ran } in &report.laws {
        text.push_str(&format!(
            "{law:<36}{:>9}{:>7.1}%{:>7.1}%{:>9.3}{:>9.0}\n",
            ran.crossings,
            ran.guard_cpu * 100.0,
            ran.kswapd_cpu * 100.0,
            ran.cpu_per_gib,
            ran.held_free / f64::from(1 << 20)
        ));
    }
    text.push_str(&format!("\nThe guard: {}.", said(report.mode, Some(&report.learnt))));
    output::wrapped(&text, 79, 0)
}

/// What it is doing, in words.
fn said(mode: Mode, learnt: Option<&Learnt>) -> String {
    match (mode, learnt) {
        (Mode::Watching, _) => "watches: nothing fills memory so fast that it would act".to_owned(),
        (Mode::Armed | Mode::Reclaiming, Some(learnt)) => {
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            let freeing = learnt.freeing.map(|seconds| format!(", freeing a GiB takes {:.0} ms", seconds * 1e3));
            format!(
                "at work, in batches of {:.0} ms of fill ({:.0} MiB/s fill memory{})",
                learnt.seconds_held * 1e3,
                mib(learnt.fill),
                freeing.unwrap_or_default()
            )
        }
        (Mode::Armed | Mode::Reclaiming, None) => "at work".to_owned(),
        (Mode::Leaving { because }, _) => format!("leaves memory to the kernel: {}", because.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_filling_cost_is_said_where_both_were_seen() {
        let seen = |with, without| Learnt {
            fill: 1e9,
            freeing: Some(0.02),
            filling_with: with,
            filling_without: without,
            lateness: 0.0,
            seconds_held: 0.1,
        };
        let both = " A GiB that came in took 0.31 s of kernel time with it, and 0.45 s where the kernel reclaimed.";
        assert_eq!(filling(&seen(Some(0.312), Some(0.448))).as_deref(), Some(both));
        assert_eq!(filling(&seen(Some(0.312), None)), None);
        assert_eq!(of_kswapd(0.004, 60.0, 0, true), "kswapd used 0.00 s of CPU meanwhile (0.0 % of a core).");
        assert!(of_kswapd(0.004, 60.0, 0, false).ends_with("nothing to give back."));
        for (used, direct) in [(3.1, 0), (0.004, 2)] {
            assert!(of_kswapd(used, 60.0, direct, false).ends_with("only a proof can say."));
        }
        assert_eq!(explained(&GuardSummary { too_late: 4, ..GuardSummary::default() }), "");
        let done =
            GuardSummary { too_late: 16, left_to_kernel: 12, for_blocks: 1, woken_late: 3, ..GuardSummary::default() };
        let why = " (12 while it left memory to the kernel, 1 for pages in a row, which compaction makes, 3 when it was woken late or \
                   a slice was held up)";
        assert_eq!(explained(&done), why);
    }

    #[test]
    fn a_line_in_five_seconds_is_the_most_that_is_said_of_a_domain() {
        let (mut said, began) = (DomainMessages::default(), Instant::now());
        let mut lines = Vec::new();
        for change in 0..1000 {
            let mode = if change % 2 == 0 { Mode::Armed } else { Mode::Watching };
            lines.extend(said.line(began + Duration::from_millis(20 * change), mode, None));
        }
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[3].contains("249 changes"), "{lines:?}");
    }
}
