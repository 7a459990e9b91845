//! Runs the user's program and puts the time before every line it prints, so that steps can be timed by their lines.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Between time and line.
pub const AFTER_TIME: char = '\t';

/// Runs it, and gives its exit code; of a program that was killed 128 and the signal, as a shell has it.
pub(super) fn run(argv: &[String]) -> io::Result<u8> {
    let [program, arguments @ ..] = argv else { return Err(io::Error::other("there is no command")) };
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("cannot run '{}': {error}", argv.join(" "))))?;
    if let Some(output) = child.stdout.take() {
        let mut lines = BufReader::new(output);
        let mut out = io::stdout().lock();
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            write!(out, "{:.6}{AFTER_TIME}", began.elapsed().as_secs_f64())?;
            out.write_all(&line)?;
            line.clear();
        }
    }
    let status = child.wait()?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
