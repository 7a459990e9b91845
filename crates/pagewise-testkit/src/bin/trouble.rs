//! Makes trouble with memory on this very host, records it, and asks what was found. For development; never shipped.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use clap::{Parser, Subcommand};
use pagewise_testkit::trouble::runner::{self, ALL_EVIDENCE, Runner, Session, name_of_this_host, today};
use pagewise_testkit::trouble::{HEALTHY, Severity, TROUBLES, judge, make_what_is_asked};
use pagewise_testkit::{HostUnchanged, host_lock};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Make trouble with memory on this host, record it, and ask what is found
#[derive(Parser)]
struct Cli {
    /// The program under test [default: beside this one]
    #[arg(long, global = true, env = "PAGEWISE")]
    pagewise: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// What can be made here
    List,
    /// Make and record; what is there already is not made again
    Record {
        /// Everything
        #[arg(long, conflicts_with = "only")]
        all: bool,
        /// These alone
        #[arg(long, value_delimiter = ',', required_unless_present = "all")]
        only: Vec<String>,
        /// These severities alone
        #[arg(long, value_delimiter = ',')]
        severity: Vec<Severity>,
        /// Where the recordings go
        #[arg(long)]
        out: PathBuf,
        /// Begin no new one after this long; the same command goes on
        #[arg(long, default_value_t = 25)]
        minutes: u64,
        /// Shorter or longer than its rule asks for, for a try
        #[arg(long)]
        seconds: Option<u32>,
        /// Do not wait for the host to come to rest: a try, whose figures mean nothing
        #[arg(long)]
        at_once: bool,
        /// A name for this host that says nothing about it [default: made of its facts]
        #[arg(long)]
        host: Option<String>,
        /// Other arguments of `pagewise record` than --stacks 19 --stalls --redact, such as --hz 1 for counters alone
        #[arg(last = true)]
        record_args: Vec<String>,
    },
    /// Ask what is found in a folder of recordings
    Judge {
        /// The folder
        folder: PathBuf,
        /// Where <date>-<commit>.json goes, such as bench/results/pathologies
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Copy small recordings to commit: those of a severity, and the healthy ones
    Keep {
        /// The folder
        folder: PathBuf,
        /// Such as recordings
        #[arg(long)]
        to: PathBuf,
        /// Which
        #[arg(long, default_value = "severe")]
        severity: Severity,
    },
}

/// A committed recording is at most so large, in bytes.
const LARGEST_KEPT: u64 = 200_000;

fn main() -> ExitCode {
    let outcome = match make_what_is_asked() {
        Ok(false) => run(Cli::parse()),
        Ok(true) => Ok(true),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<bool, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let pagewise = cli.pagewise.unwrap_or_else(|| own.with_file_name("pagewise"));
    match cli.verb {
        Verb::List => {
            list();
            Ok(true)
        }
        Verb::Record { only, severity, out, minutes, seconds, at_once, host, record_args, .. } => {
            if let Some(unknown) = only.iter().find(|id| pagewise_testkit::trouble::find(id).is_none()) {
                return Err(format!("there is no trouble '{unknown}'; `trouble list` names all"));
            }
            let all = ALL_EVIDENCE.map(str::to_owned).to_vec();
            let record_args = if record_args.is_empty() { all } else { record_args };
            let runner = Runner {
                pagewise,
                maker: vec![own.into_os_string()],
                state_dir: None,
                host: host.unwrap_or_else(name_of_this_host),
                record_args,
                temporary: std::env::temp_dir(),
            };
            let budget = Duration::from_secs(minutes * 60);
            let session = Session { runner, out, only, severities: severity, seconds, budget, at_once };
            let lock = host_lock();
            let unchanged = HostUnchanged::watch(&lock);
            let outcome = session.run(&mut |line| println!("{line}"));
            let differences = unchanged.differences();
            std::mem::forget(unchanged);
            println!("{}", if differences.is_empty() { "the host is as it was" } else { "THE HOST WAS LEFT CHANGED:" });
            differences.iter().for_each(|difference| println!("  {difference}"));
            Ok(outcome? && differences.is_empty())
        }
        Verb::Judge { folder, out } => judged(&pagewise, &folder, out.as_deref()),
        Verb::Keep { folder, to, severity } => keep(&folder, &to, severity),
    }
}

fn list() {
    for trouble in TROUBLES.iter().chain(HEALTHY) {
        println!("{} ({} s): {}", trouble.id, trouble.seconds, trouble.what);
        for dose in trouble.doses {
            println!("    {}{}{}", dose.does, if dose.policy.is_empty() { "" } else { "; " }, dose.policy);
        }
        if let Some(why) = trouble.unmet() {
            println!("    cannot be made here: {why}");
        }
    }
}

fn judged(pagewise: &Path, folder: &Path, out: Option<&Path>) -> Result<bool, String> {
    let rows = judge::folder(pagewise, folder)?;
    for row in &rows {
        let found: Vec<String> = row.found.iter().map(|(id, confidence)| format!("{id} ({confidence})")).collect();
        let mark = match (row.label.healthy, row.label.made, row.is_found()) {
            (true, ..) => {
                if row.beside().next().is_none() {
                    "silent"
                } else {
                    "FALSE ALARM"
                }
            }
            (_, false, _) => "not made",
            (_, _, true) => "found",
            _ if row.not_decided.contains(&row.label.id) => "NOT DECIDED",
            _ => "MISSED",
        };
        println!("{mark:12} {} {}: {}", row.label.id, row.label.severity, found.join(", "));
    }
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().map_err(|e| e.to_string())?;
    let result = judge::Result {
        schema: "pagewise.pathologies/1".to_owned(),
        commit: String::from_utf8_lossy(&commit.stdout).trim().to_owned(),
        date: today(),
        rows,
    };
    let missed = judge::missed(&result.rows);
    if !missed.is_empty() {
        println!("severe and missed: {}", missed.join(", "));
    }
    if let Some(out) = out {
        std::fs::create_dir_all(out).map_err(|error| error.to_string())?;
        let file = out.join(format!("{}-{}.json", result.date, result.commit));
        let text = serde_json::to_string_pretty(&result).map_err(|error| error.to_string())? + "\n";
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        println!("written to {}; `make docs` brings it into docs/method/pathologies.md", file.display());
    }
    Ok(missed.is_empty())
}

fn keep(folder: &Path, to: &Path, severity: Severity) -> Result<bool, String> {
    let mut kept = std::collections::BTreeSet::new();
    for file in runner::recordings(folder)? {
        let (label, kernel) = runner::label_and_kernel(&file)?;
        if !label.made || (!label.healthy && label.severity != severity) {
            continue;
        }
        let kernel = kernel.ok_or_else(|| format!("{} does not say on which kernel", file.display()))?;
        let name = if label.healthy { label.id.clone() } else { format!("{}-{}", label.id, label.severity) };
        let size = std::fs::metadata(&file).map_err(|error| error.to_string())?.len();
        if size > LARGEST_KEPT {
            println!("{name}: {size} bytes are too many to commit");
            continue;
        }
        let place = to.join(kernel).join(format!("{name}.pgw"));
        if !kept.insert(place.clone()) {
            println!("{name}: there is one already; {} is left", file.display());
            continue;
        }
        std::fs::create_dir_all(place.parent().unwrap_or(to)).map_err(|error| error.to_string())?;
        std::fs::copy(&file, &place).map_err(|error| format!("cannot copy to {}: {error}", place.display()))?;
    }
    Ok(true)
}
