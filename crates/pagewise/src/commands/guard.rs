//! `pagewise guard run | advise | simulate`: page cache taken back before kswapd has to, decided without being done, or tried on a
//! model with a clock of its own.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use pagewise_core::guard::SECOND;
use pagewise_core::guard::asked::{Asked, OutOfRange};
use pagewise_core::guard::law::{Law, Learnt, Mode, Settings as LawSettings};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::simulate::{self, Model, Nobody, Ran};
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::guard::Streamer;
use pagewise_host::guard::running::{self, Done, Guarded, Told};
use pagewise_host::process::Interrupt;
use serde::Serialize;
use std::process::ExitCode;
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
    #[arg(long, default_value = "100ms", value_name = "TIME")]
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
struct Report {
    schema: &'static str,
    nodes: Vec<OfGuardedNode>,
}

#[derive(Serialize)]
struct OfGuardedNode {
    node: u32,
    #[serde(flatten)]
    done: Done,
    mode: Option<Mode>,
    learnt: Option<Learnt>,
}

impl RunArgs {
    fn asked(&self) -> Result<Asked, Failure> {
        let bytes = |given: Option<Bytes>| given.map_or(0, |Bytes(bytes)| bytes);
        let asked = match self.law {
            WhichLaw::Guard => {
                Asked::Guard(LawSettings { cpu_cap: self.cpu_cap, batch: self.batch.0, ..LawSettings::default() })
            }
            WhichLaw::Paper => Asked::Paper { threshold: bytes(self.threshold), amount: bytes(self.amount) },
        };
        asked.check().map_err(out_of_range)
    }
}

fn guard(args: &RunArgs, global: &Global, acts: bool) -> Result<ExitCode, Failure> {
    let asked = args.asked()?;
    let root = global.root();
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let opened = match args.node.as_slice() {
        [] => Guarded::every(&root, asked, acts),
        some => some.iter().map(|node| Guarded::open(&root, *node, asked, acts)).collect(),
    };
    let opened = opened.map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if let Err(error) = running::stay_in_memory() {
        output::note(&format!(
            "note: its memory cannot be locked ({error}): where memory is short it may have to wait itself"
        ));
    }
    output::note(&format!("{} {} node(s); Ctrl-C ends it", if acts { "guarding" } else { "watching" }, opened.len()));
    let at_most = args.at_most.map(|time| (time.0 * SECOND as f64) as u64);
    let nodes = running::all(opened, &interrupt, |mut guarded| {
        let mut node = OfNode { node: guarded.node, last: None, unsaid: 0, mode: None, learnt: None };
        let done = guarded.run(at_most, &interrupt, &mut |told| node.tell(told))?;
        Ok(OfGuardedNode { node: node.node, done, mode: node.mode, learnt: node.learnt })
    });
    let nodes = nodes.map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    if global.json {
        output::json(&Report { schema: "pagewise.guard/1", nodes });
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
    fn tell(&mut self, told: Told<'_>) {
        let (mode, learnt) = match told {
            Told::Does(mode, learnt) => (mode, learnt),
            Told::Streams(Streamer { pid, command, path }) => {
                let now = jiff::Zoned::now().strftime("%H:%M:%S");
                return output::note(&format!("{now} node {}: {command} ({pid}) streams {path}", self.node));
            }
        };
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

fn summary(one: &OfGuardedNode) -> String {
    let done = &one.done;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!(
        "node {}: {:.1} s; took {:.0} MiB, {:.0} of them behind streams, in {} slices with {:.2} s of CPU ({:.1} % of a core); the longest slice {:.1} ms, the latest \
         look {:.1} ms late. kswapd woke or an application had to reclaim {} times, applications {} times.",
        one.node,
        done.seconds,
        mib(done.taken),
        mib(done.taken_behind_streams),
        done.slices,
        done.cpu,
        100.0 * done.cpu / done.seconds.max(1e-9),
        done.longest_slice * 1e3,
        done.latest * 1e3,
        done.too_late,
        done.direct
    )
}

fn out_of_range(error: OutOfRange) -> Failure {
    let option = match error {
        OutOfRange::CpuCap => "--cpu-cap",
        OutOfRange::Batch => "--batch",
        OutOfRange::Bytes => "--threshold, --amount",
    };
    Failure::Usage(anyhow!("{option}: {error}"))
}

fn simulate(asked: &SimulateArgs, global: &Global) -> Result<ExitCode, Failure> {
    let model = model(asked)?;
    let settings = LawSettings { cpu_cap: asked.cpu_cap, ..LawSettings::default() };
    Asked::Guard(settings).check().map_err(out_of_range)?;
    let mut law = Law::new(settings);
    let fixed = |every: u64| Paper::new(model.size / 100, model.size / 50, every);
    let laws = vec![
        Row { law: "the kernel alone", ran: simulate::run(&model, &mut Nobody) },
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
