//! Everything a person sees goes through here: data on stdout, the rest on stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::failure::Failure;
use anyhow::anyhow;
use pagewise_core::report::Style;
use pagewise_core::report::printable::without_error_numbers;
use pagewise_core::unit::Seconds;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use unicode_width::UnicodeWidthStr;

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
        .with_writer(|| LogLines)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .try_init();
}

/// Log lines, broken between words as everything else on stderr is. An event comes in one piece.
struct LogLines;

impl Write for LogLines {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        note(String::from_utf8_lossy(event).trim_end());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A word of a command line as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

/// A command line as a shell takes it.
pub(crate) fn command_line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Data, on stdout. What cannot be written there ends us: nobody may take half of it for all.
pub(crate) fn data(text: &str) {
    let mut out = io::stdout().lock();
    let written =
        out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    if let Err(error) = written.and_then(|()| out.flush()) {
        not_written(&error);
    }
}

/// The end, after stdout took no more. A reader that went away (`| head`) ends us quietly, as it does other tools.
pub(crate) fn not_written(error: &io::Error) -> ! {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    let reason = Failure::NotPossible(anyhow!("cannot write to standard output: {error}"));
    failure(&reason);
    std::process::exit(reason.code().into());
}

/// A JSON document, on stdout.
pub(crate) fn json(value: &impl serde::Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => data(&text),
        Err(error) => not_written(&io::Error::from(error)),
    }
}

/// A line for the person who watches, on stderr.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", for_stderr(text));
}

/// Unable to steer the terminal, and as wide as it is. What goes to a file stays on one line, where it can be searched.
pub(crate) fn for_stderr(text: &str) -> String {
    let text = unable_to_steer(&without_error_numbers(text));
    if is_watched() { wrapped(&text, columns_of(io::stderr()), 2) } else { text }
}

/// How many columns text on stdout may have.
pub(crate) fn columns() -> usize {
    columns_of(io::stdout())
}

/// How many columns text on stderr may have.
pub(crate) fn columns_of_stderr() -> usize {
    columns_of(io::stderr())
}

/// Those of the terminal, 100 at most; 80 where there is none, and where it does not say.
fn columns_of(stream: impl AsFd + IsTerminal) -> usize {
    const MOST: u16 = 100;
    let said = if stream.is_terminal() { rustix::termios::tcgetwinsize(stream).ok() } else { None };
    usize::from(said.map(|size| size.ws_col).filter(|columns| *columns > 0).unwrap_or(80).min(MOST))
}

/// A text in lines of at most so many columns, divided between words; what goes on is set in by `hang` more than its line begins.
/// A word that is longer is divided after its commas, as a policy has them, or stays whole; a command to copy, a line that begins
/// with it, always does.
pub(crate) fn wrapped(text: &str, columns: usize, hang: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, columns, hang)).collect::<Vec<_>>().join("\n")
}

/// `1 block`, `2 blocks`.
pub(crate) fn counted(count: impl Into<u64>, one: &str) -> String {
    let count = count.into();
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A time as it is foretold, or told while it passes: no parts of a second.
pub(crate) fn about(seconds: f64) -> String {
    match seconds.round() {
        whole if whole < 1.0 && seconds > 0.0 => "1 s".to_owned(),
        whole @ ..60.0 => format!("{whole:.0} s"),
        // Seconds prints these with two decimals.
        whole @ ..100.0 => format!("1m{:02.0}s", whole - 60.0),
        whole => Seconds(whole).to_string(),
    }
}

fn wrapped_line(line: &str, columns: usize, hang: usize) -> String {
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    if line.width() <= columns || body.starts_with("pagewise ") {
        return line.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let room = columns.saturating_sub(indent + hang);
    for word in body.split(' ') {
        let pieces: Vec<&str> =
            if word.width() > room { word.split_inclusive(',').collect() } else { Vec::from([word]) };
        for (place, piece) in pieces.into_iter().enumerate() {
            let gap = if place == 0 { " " } else { "" };
            match lines.last_mut() {
                Some(last) if last.width() + gap.len() + piece.width() <= columns => {
                    last.push_str(gap);
                    last.push_str(piece);
                }
                Some(_) => lines.push(format!("{}{piece}", " ".repeat(indent + hang))),
                None => lines.push(format!("{}{piece}", " ".repeat(indent))),
            }
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// A failure with its whole chain of causes, on stderr.
pub(crate) fn failure(failure: &Failure) {
    let mut err = io::stderr().lock();
    let cause = failure.cause();
    let mut said = cause.to_string();
    let _ = writeln!(err, "{}", for_stderr(&format!("pagewise: {said}")));
    // Many messages name their cause themselves: only what is new is said.
    let mut depth = 0;
    for reason in cause.chain().skip(1).map(ToString::to_string) {
        if said.contains(&reason) {
            continue;
        }
        depth += 1;
        let _ = writeln!(err, "{}", for_stderr(&format!("{}because {reason}", "  ".repeat(depth))));
        said = reason;
    }
}

/// Messages quote what was typed, files and what jobs say: none of it may move the cursor or hide a line.
fn unable_to_steer(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' { line.extend(c.escape_unicode()) } else { line.push(c) }
    }
    line
}

/// Whether a person watches stderr, so that a progress line may be redrawn.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// How stdout wants text: colour only where a person reads it and did not refuse it, never wider than 100 columns.
pub(crate) fn style(color: &str) -> Style {
    let is_terminal = io::stdout().is_terminal();
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = match color {
        "always" => true,
        "never" => false,
        _ => is_terminal && !refused,
    };
    let columns =
        if is_terminal { rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col) } else { None };
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    // A pipe or a file gets Unicode; a terminal that says it is something else gets ASCII.
    let unicode =
        !is_terminal || locale.is_none_or(|locale| locale.to_ascii_uppercase().replace('-', "").contains("UTF8"));
    Style { color, width: columns.filter(|columns| *columns > 0).unwrap_or(80), unicode }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_divided_between_words_goes_on_set_in_and_loses_no_word() {
        let text = format!("  note: {}", "word ".repeat(40));
        let out = wrapped(text.trim_end(), 80, 2);
        assert!(out.lines().all(|line| line.width() <= 80), "{out}");
        assert_eq!(out.split_whitespace().count(), 41);
        assert!(out.lines().nth(1).is_some_and(|line| line.starts_with("    word")), "{out}");
        assert_eq!(wrapped("one  two three\n  four five six", 10, 2), "one  two\n  three\n  four\n    five\n    six");
    }

    #[test]
    fn a_policy_that_is_longer_than_a_line_is_divided_after_its_commas() {
        let policy = "kernel=5.15.0,swap=file:64G,workload.heap=22G,workload.map_tasks=2,workload.reduce_tasks=2";
        let out = wrapped(&format!("  baseline·on·low: {policy}"), 60, 2);
        assert!(out.lines().all(|line| line.width() <= 60), "{out}");
        assert!(out.lines().rev().skip(1).all(|line| line.ends_with(',') || line.ends_with(':')), "{out}");
        assert_eq!(out.replace("\n    ", "").trim(), format!("baseline·on·low: {policy}"));
        assert_eq!(wrapped("a b,c", 4, 0), "a\nb,c", "a word that fits a line stays whole");
    }

    #[test]
    fn a_time_that_is_foretold_has_no_parts_of_a_second() {
        for (seconds, said) in
            [(0.0, "0 s"), (0.2, "1 s"), (23.01, "23 s"), (59.7, "1m00s"), (84.2, "1m24s"), (3725.0, "1h02m")]
        {
            assert_eq!(about(seconds), said);
        }
    }

    #[test]
    fn a_word_and_a_command_to_copy_stay_whole() {
        let long = "x".repeat(90);
        assert_eq!(wrapped(&format!("see {long} there"), 20, 2), format!("see\n  {long}\n  there"));
        let command = format!("go on with:\n  pagewise trial resume {long} --hadoop {long}");
        assert_eq!(wrapped(&command, 80, 2), command);
        assert!(wrapped(&format!("pagewise: {}", "word ".repeat(30)), 80, 2).lines().count() > 1);
    }
}
