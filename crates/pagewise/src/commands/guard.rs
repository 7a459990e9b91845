//! `pagewise guard run | advise | simulate`: page cache taken back before kswapd has to, decided without being done, or tried on a
//! model with a clock of its own.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use pagewise_core::guard::SECOND;
use pagewise_core::guard::law::{Law, Learnt, Mode, Settings as LawSettings};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::simulate::{self, Model, Nobody, Ran};
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::guard::GuardError;
use pagewise_host::guard::back_end::NodeFile;
use pagewise_host::guard::reading::{self, Reading};
use pagewise_host::guard::running::{self, Done};
use pagewise_host::process::Interrupt;
use serde::Serialize;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Take page cache back before kswapd wakes, as long as a stream fills memory
    Run(RunArgs),
    /// Decide what `run` would do, and do nothing
    Advise(RunArgs),
    /// Try the guard's law, loops with a fixed period, and the kernel alone on a model of a node
    Simulate(SimulateArgs),
}

#[derive(Args, Debug)]
struct RunArgs {
    /// The memory node; every node with memory by default
    #[arg(long, value_name = "N")]
    node: Vec<u32>,
    /// Most of a core that the guard of a node may use, over ten seconds
    #[arg(long, default_value_t = 0.5, value_name = "CORES")]
    cpu_cap: f64,
    /// A batch holds so many seconds of fill
    #[arg(long, default_value = "1s", value_name = "TIME")]
    batch: Seconds,
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
    /// CPU time to free a GiB: some 6ms in large folios, 100ms in single pages, 300ms in small files
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

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
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
    ran: Ran,
}

pub(crate) fn run(args: &GuardArgs, global: &Global) -> Result<ExitCode, Failure> {
    match &args.what {
        What::Run(asked) => guard(asked, global, true),
        What::Advise(asked) => guard(asked, global, false),
        What::Simulate(asked) => simulate(asked, global),
    }
}

/// What `run --json` prints at its end.
#[derive(Serialize)]
struct Guarded {
    schema: &'static str,
    nodes: Vec<GuardedNode>,
}

#[derive(Serialize)]
struct GuardedNode {
    node: u32,
    #[serde(flatten)]
    done: Done,
    mode: Option<Mode>,
    learnt: Option<Learnt>,
}

fn guard(asked: &RunArgs, global: &Global, acts: bool) -> Result<ExitCode, Failure> {
    cap_is_one(asked.cpu_cap)?;
    if !(0.1..=10.0).contains(&asked.batch.0) {
        return Err(Failure::Usage(anyhow!("--batch: from 0.1s to 10s")));
    }
    let root = global.root();
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let nodes = if asked.node.is_empty() { reading::nodes(&root) } else { asked.node.clone() };
    let open = |node: u32| -> Result<_, GuardError> {
        let back_end = if acts { Some(NodeFile::open(&root, node)?) } else { None };
        Ok((node, Reading::open(&root, node)?, back_end))
    };
    let opened = nodes.into_iter().map(open).collect::<Result<Vec<_>, _>>();
    let opened = opened.map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if let Err(error) = running::stay_in_memory() {
        output::note(&format!(
            "note: its memory cannot be locked ({error}): where memory is short it may have to wait itself"
        ));
    }
    output::note(&format!("{} {} node(s); Ctrl-C ends it", if acts { "guarding" } else { "watching" }, opened.len()));
    let each = |(node, mut reading, back_end): (u32, Reading, Option<NodeFile>)| {
        let mut node = OfNode { node, last: None, unsaid: 0, mode: None, learnt: None };
        let at_most = asked.at_most.map(|time| (time.0 * SECOND as f64) as u64);
        let mut tell = |mode, learnt, done: &Done| node.tell(mode, learnt, done);
        let done = match asked.law {
            WhichLaw::Guard => {
                let settings = LawSettings { cpu_cap: asked.cpu_cap, batch: asked.batch.0, ..LawSettings::default() };
                running::run(&mut reading, back_end.as_ref(), &mut Law::new(settings), at_most, &interrupt, &mut tell)
            }
            WhichLaw::Paper => {
                let bytes = |given: Option<Bytes>| given.map_or(0, |Bytes(bytes)| bytes);
                let mut law = Paper::new(bytes(asked.threshold), bytes(asked.amount), SECOND / 100);
                running::run(&mut reading, back_end.as_ref(), &mut law, at_most, &interrupt, &mut tell)
            }
        }?;
        Ok(GuardedNode { node: node.node, done, mode: node.mode, learnt: node.learnt })
    };
    let ran: Result<Vec<GuardedNode>, GuardError> = thread::scope(|scope| {
        let started: Vec<_> = opened.into_iter().map(|one| scope.spawn(|| each(one))).collect();
        started.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let nodes = ran.map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if global.json {
        output::json(&Guarded { schema: "pagewise.guard/1", nodes });
    } else {
        nodes.iter().for_each(|one| output::data(&summary(one)));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is told of a node, at most a line in five seconds.
struct OfNode {
    node: u32,
    last: Option<Instant>,
    unsaid: u32,
    mode: Option<Mode>,
    learnt: Option<Learnt>,
}

impl OfNode {
    fn tell(&mut self, mode: Mode, learnt: Option<Learnt>, _done: &Done) {
        (self.mode, self.learnt) = (Some(mode), learnt);
        if self.last.is_some_and(|last| last.elapsed() < Duration::from_secs(5)) {
            self.unsaid += 1;
            return;
        }
        let unsaid = match std::mem::take(&mut self.unsaid) {
            0 => String::new(),
            changes => format!(" ({changes} changes since the last line)"),
        };
        self.last = Some(Instant::now());
        let now = jiff::Zoned::now().strftime("%H:%M:%S");
        output::note(&format!("{now} node {}: {}{unsaid}", self.node, said(mode, learnt.as_ref())));
    }
}

fn summary(one: &GuardedNode) -> String {
    let done = &one.done;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!(
        "node {}: {:.1} s; took {:.0} MiB in {} slices with {:.2} s of CPU ({:.1} % of a core); the longest slice {:.1} ms, the latest \
         look {:.1} ms late. kswapd woke or an application had to reclaim {} times, applications {} times.",
        one.node,
        done.seconds,
        mib(done.taken),
        done.slices,
        done.cpu,
        100.0 * done.cpu / done.seconds.max(1e-9),
        done.longest_slice * 1e3,
        done.latest * 1e3,
        done.too_late,
        done.direct
    )
}

fn cap_is_one(cpu_cap: f64) -> Result<(), Failure> {
    if cpu_cap > 0.0 && cpu_cap <= 64.0 {
        return Ok(());
    }
    Err(Failure::Usage(anyhow!("--cpu-cap: cores, such as 0.5")))
}

fn simulate(asked: &SimulateArgs, global: &Global) -> Result<ExitCode, Failure> {
    let model = model(asked)?;
    let mut law = Law::new(LawSettings { cpu_cap: asked.cpu_cap, ..LawSettings::default() });
    let fixed = |every: u64| Paper::new(model.size / 100, model.size / 50, every);
    let laws = vec![
        Row { law: "the kernel alone", ran: simulate::run(&model, &mut Nobody) },
        Row { law: "below 1 %, free 2 %, every second", ran: simulate::run(&model, &mut fixed(SECOND)) },
        Row { law: "the same every 100 ms", ran: simulate::run(&model, &mut fixed(SECOND / 10)) },
        Row { law: "the guard", ran: simulate::run(&model, &mut law) },
    ];
    let report = Report { schema: "pagewise.guard-simulation/1", laws, mode: law.mode(), learnt: law.learnt() };
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
    cap_is_one(asked.cpu_cap)?;
    let per_byte = |time: Seconds| time.0 * SECOND as f64 / f64::from(1 << 30);
    Ok(Model {
        reporting: asked.reporting.map(per_byte),
        seconds: asked.duration.0 as u64,
        seed: asked.seed,
        ..Model::of(size, fill as f64, asked.cost.0 * 1000.0)
    })
}

fn table(asked: &SimulateArgs, report: &Report) -> String {
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
        (Mode::Watching, _) => "nothing that calls for it streams".to_owned(),
        (Mode::Armed | Mode::Reclaiming, Some(learnt)) => format!(
            "at work, in batches of {:.1} s of fill ({:.0} MiB/s fill memory, freeing a GiB takes {:.0} ms)",
            learnt.seconds_held,
            learnt.fill / f64::from(1 << 20),
            learnt.freeing * 1e3
        ),
        (Mode::Armed | Mode::Reclaiming, None) => "at work".to_owned(),
        (Mode::Leaving { because }, _) => format!("leaves memory to the kernel: {}", because.words()),
    }
}
