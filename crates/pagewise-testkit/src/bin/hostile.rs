//! Parsers and hostile input, for `scripts/fuzz` and for whoever looks into what it found. For development; never shipped.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use clap::Parser;
use pagewise_testkit::hostile::{TARGETS, Target, find, summary};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Parsers of what others write, and input for them
#[derive(Parser)]
enum Cli {
    /// Their names, one a line
    Targets,
    /// Writes real input of one into a folder
    Seeds {
        /// Which
        target: String,
        /// The folder; it is made
        folder: PathBuf,
    },
    /// Has one read files, as libFuzzer would: what it found is looked into with this
    Read {
        /// Which
        target: String,
        /// The files
        files: Vec<PathBuf>,
    },
    /// The JSON of a run, from the lines that scripts/fuzz wrote
    Summary {
        /// The file with the lines
        lines: PathBuf,
        /// The day
        #[arg(long)]
        date: String,
        /// The commit
        #[arg(long)]
        commit: String,
        /// The compiler
        #[arg(long)]
        rustc: String,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), String> {
    match cli {
        Cli::Targets => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        Cli::Seeds { target, folder } => {
            fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            for (number, sample) in (named(&target)?.samples)().into_iter().enumerate() {
                let file = folder.join(format!("sample-{number}"));
                fs::write(&file, sample).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            }
        }
        Cli::Read { target, files } => {
            let target = named(&target)?;
            for file in files {
                let bytes = fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
                (target.run)(&bytes);
                println!("{}: read without trouble", file.display());
            }
        }
        Cli::Summary { lines, date, commit, rustc } => {
            let text =
                fs::read_to_string(&lines).map_err(|error| format!("cannot read {}: {error}", lines.display()))?;
            print!("{}", summary(&text, &date, &commit, &rustc)?);
        }
    }
    Ok(())
}

fn named(name: &str) -> Result<&'static Target, String> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("there is no target '{name}'; there are {}", names.join(", "))
    })
}
