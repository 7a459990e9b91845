//! Everything a person sees goes through here: data on stdout, the rest on stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::failure::Failure;
use std::io::{self, IsTerminal, Write};

/// Log lines on stderr: warnings always, more with `-v`, or as `PAGEWISE_LOG` says.
pub(crate) fn init_logging(verbose: u8) {
    use tracing_subscriber::EnvFilter;
    let default = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("PAGEWISE_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .try_init();
}

/// Data, on stdout. A reader that went away (`| head`) ends us quietly, as it does other tools.
pub(crate) fn data(text: &str) {
    let mut out = io::stdout().lock();
    let written =
        out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    if written.and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// A JSON document, on stdout.
pub(crate) fn json(value: &impl serde::Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => data(&text),
        Err(error) => note(&format!("cannot write JSON: {error}")),
    }
}

/// A line for the person who watches, on stderr.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A failure with its whole chain of causes, on stderr.
pub(crate) fn failure(failure: &Failure) {
    let mut err = io::stderr().lock();
    let cause = failure.cause();
    let _ = writeln!(err, "pagewise: {cause}");
    for (depth, reason) in cause.chain().skip(1).enumerate() {
        let _ = writeln!(err, "{}because {reason}", "  ".repeat(depth + 1));
    }
}

/// Whether a person watches stderr, so that a progress line may be redrawn.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}
