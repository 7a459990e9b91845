//! Pagewise finds what Linux memory management costs a data job, fixes it, and proves the fix.

mod cli;
mod commands;
mod failure;
mod global;
mod output;
mod places;
mod plans;
mod progress;
mod rendering;
mod report_file;
mod screen;
mod session;
mod settings;
mod stretch;

use clap::Parser;
use clap::error::ContextKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli.with_environment(),
        Err(mut error) => {
            // Of an option that there is not, it would say how to give it to a command as a word of its own.
            error.remove(ContextKind::Suggested);
            let usage_error = error.use_stderr();
            if let Err(error) = error.print()
                && !usage_error
            {
                output::not_written(&error);
            }
            return if usage_error { ExitCode::from(failure::Failure::USAGE_EXIT) } else { ExitCode::SUCCESS };
        }
    };
    output::init_logging(cli.global.verbose);
    match cli.verb.run(&cli.global) {
        Ok(code) => code,
        Err(failure) => {
            output::failure(&failure);
            failure.exit_code()
        }
    }
}
