//! `pagewise guard simulate`: what the guard's law would do to a node under a stream, on a model with a clock of its own.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use pagewise_core::guard::SECOND;
use pagewise_core::guard::law::{Law, Learnt, Mode, Settings, Why};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::simulate::{self, Model, Nobody, Ran};
use pagewise_core::unit::{Bytes, Seconds};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Try the guard's law, loops with a fixed period, and the kernel alone on a model of a node
    Simulate(SimulateArgs),
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
    let What::Simulate(asked) = &args.what;
    let model = model(asked)?;
    let mut law = Law::new(Settings { cpu_cap: asked.cpu_cap, ..Settings::default() });
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
    if !(asked.cost.0 > 0.0) {
        return Err(wrong("--cost: freeing takes some time; write it like 98ms"));
    }
    if !(1.0..=86_400.0).contains(&asked.duration.0) {
        return Err(wrong("--duration: from 1s to a day"));
    }
    if !(asked.cpu_cap > 0.0 && asked.cpu_cap <= 64.0) {
        return Err(wrong("--cpu-cap: cores, such as 0.5"));
    }
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
    text.push_str(&format!("\nThe guard: {}", said(report.mode, &report.learnt)));
    output::wrapped(&text, 79, 0)
}

/// What it was doing at the end, in words.
fn said(mode: Mode, learnt: &Learnt) -> String {
    match mode {
        Mode::Watching => "nothing that calls for it streams.".to_owned(),
        Mode::Armed | Mode::Reclaiming => {
            format!("at work, in batches of {:.1} s of fill.", learnt.seconds_held)
        }
        Mode::Leaving { because: Why::Infeasible { cores } } => format!(
            "stands down: this fill needs {cores:.2} cores to be freed in time, more than it may use. Limit the streamer \
             (memory.high of its cgroup), have it read with RWF_DONTCACHE, or give it larger folios (read_ahead_kb)."
        ),
        Mode::Leaving { because: Why::Dearer { by } } => format!(
            "stands down: every GiB that comes in costs {:.0} % more kernel time with it than without. The hypervisor takes back \
             what it frees.",
            by * 100.0
        ),
        Mode::Leaving { because } => format!("leaves the node to the kernel ({because:?})."),
    }
}
