//! The command line. The verbs are listed in `commands/mod.rs`, each with its own arguments; those of all are in `global.rs`.

#[cfg(test)]
mod documented;
#[cfg(test)]
mod reference;

use crate::commands::Verb;
use crate::global::Global;
use clap::Parser;

/// Find what Linux memory management costs a data job, fix it, and prove the fix.
#[derive(Parser, Debug)]
#[command(name = "pagewise", version, max_term_width = 80, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// The same with what the environment says of what was not typed.
    pub(crate) fn with_environment(self) -> Cli {
        Cli { global: self.global.with_environment(), ..self }
    }
}

const EXIT_CODES: &str = "Exit status: 0 done · 1 a verdict or finding you asked to fail on · 2 usage: the command line, \
or a file it names, is wrong · 3 not permitted or not possible here · 4 a change was refused or not verified · 5 partial \
data · 130 Ctrl-C";
