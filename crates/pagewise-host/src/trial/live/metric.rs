//! The user's number of a block: what a command prints, how a counter grew, or what a log says.

use crate::process::{Command, Interrupt, Limits, Watch, find_program, run};
use pagewise_core::experiment::live::metric::{LiveMetric, SIGNALS, mean_of, printed_number, whole_lines};
use pagewise_core::experiment::number_pattern::NumberPattern;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A command that takes longer than this is stopped, in seconds: the next switch waits for it.
const COMMAND_WITHIN: f64 = 10.0;

/// A log that grows by more in a block is not read: a number a line would be thousands a second.
const MOST_GROWN: u64 = 64 << 20;

/// A metric that can be asked.
#[derive(Debug)]
pub enum BlockMetric {
    /// The runner has it already.
    Signal,
    /// A command prints it.
    Command(Vec<String>),
    /// A command prints a counter; what it was when the block began.
    Rate(Vec<String>, Result<f64, String>),
    /// A pattern in a log; where the log ended when the block began.
    Log(NumberPattern, PathBuf, LogEnd),
}

/// Where a log ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// Device and inode; another file of the same name was rotated in.
    file: Option<(u64, u64)>,
    bytes: u64,
    /// Its last line was not whole.
    inside_a_line: bool,
}

impl BlockMetric {
    /// Makes a metric ready, and shows that it gives a number before anything is changed: a command is run once, a log opened. With
    /// `job_to_come` neither may be able to before the job runs; then only what can be known is checked.
    ///
    /// # Errors
    /// Why it gives none, in words.
    pub fn ready(metric: &LiveMetric, job_to_come: bool, interrupt: &Interrupt) -> Result<BlockMetric, String> {
        match metric {
            LiveMetric::Signal(_) => Ok(BlockMetric::Signal),
            LiveMetric::Command(argv) => {
                check(argv, job_to_come, interrupt)?;
                Ok(BlockMetric::Command(argv.clone()))
            }
            LiveMetric::Rate(argv) => {
                check(argv, job_to_come, interrupt)?;
                Ok(BlockMetric::Rate(argv.clone(), Err("no block has begun".to_owned())))
            }
            LiveMetric::Log { pattern, file } => {
                let end = log_end_yet(Path::new(file), job_to_come)?;
                Ok(BlockMetric::Log(compiled(pattern)?, PathBuf::from(file), end))
            }
        }
    }

    /// A block begins.
    pub fn begin(&mut self, interrupt: &Interrupt) {
        match self {
            BlockMetric::Signal | BlockMetric::Command(_) => {}
            BlockMetric::Rate(argv, before) => *before = number(argv, None, interrupt),
            // A log that is away for a moment, because it is being rotated, begins anew.
            BlockMetric::Log(_, file, end) => *end = log_end(file).unwrap_or_default(),
        }
    }

    /// The block ended after `seconds`. `None` when the metric is a signal.
    pub fn end(&mut self, seconds: f64, interrupt: &Interrupt) -> Option<Result<f64, String>> {
        match self {
            BlockMetric::Signal => None,
            BlockMetric::Command(argv) => Some(number(argv, Some(seconds), interrupt)),
            BlockMetric::Rate(argv, before) => Some(rate(before, number(argv, Some(seconds), interrupt), seconds)),
            BlockMetric::Log(pattern, file, end) => Some(in_log(pattern, file, *end)),
        }
    }
}

fn rate(before: &Result<f64, String>, after: Result<f64, String>, seconds: f64) -> Result<f64, String> {
    let (before, after) = (before.clone()?, after?);
    if after < before {
        return Err(format!("the counter fell from {before} to {after}: it was started anew"));
    }
    Ok((after - before) / seconds)
}

fn check(argv: &[String], job_to_come: bool, interrupt: &Interrupt) -> Result<(), String> {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    find_program(program).map_err(|error| {
        let could_be_a_name = argv.len() == 1 && !program.contains('/');
        let signals =
            if could_be_a_name { format!("; nor is it a signal: {}", SIGNALS.join(", ")) } else { String::new() };
        format!("{error}{signals}")
    })?;
    if job_to_come { Ok(()) } else { number(argv, None, interrupt).map(drop) }
}

struct Unwatched;

impl Watch for Unwatched {
    fn tick(&mut self, _: &[u32]) -> bool {
        true
    }
}

/// Runs the command and reads the number it prints. It is told how long the block was, never which policy is in force.
fn number(argv: &[String], seconds: Option<f64>, interrupt: &Interrupt) -> Result<f64, String> {
    let mut command = Command { argv: argv.to_vec(), ..Command::default() };
    if let Some(seconds) = seconds {
        command.env.insert("PAGEWISE_BLOCK_SECONDS".to_owned(), format!("{seconds:.6}"));
    }
    let limits = Limits { timeout: Some(COMMAND_WITHIN), interrupt: Some(interrupt), ..Limits::default() };
    let ended = run(&[command], limits, &mut Unwatched).map_err(|error| error.to_string())?;
    if ended.stopped.is_some() {
        return Err(format!("the metric's command was stopped after {COMMAND_WITHIN} s"));
    }
    let ended = ended.commands.first().ok_or("the metric's command did not run")?;
    if !ended.status.is_success() {
        return Err(format!("the metric's command ended with {}: {}", ended.status, ended.last_words()));
    }
    printed_number(&ended.stdout).map_err(|why| format!("of the metric's command: {why}"))
}

/// What a pattern finds in a log before a proof begins: so can be seen whether it is the number that was meant. `None`: the metric is no log, or
/// the job to come has yet to make it.
///
/// # Errors
/// Why the log gives none, as [`BlockMetric::ready`] says it.
pub fn told_of_log(metric: &LiveMetric, job_to_come: bool) -> Result<Option<String>, String> {
    const LAST: u64 = 1 << 18;
    const LONGEST: usize = 60;
    let LiveMetric::Log { pattern, file } = metric else { return Ok(None) };
    let end = log_end_yet(Path::new(file), job_to_come)?;
    if end.file.is_none() {
        return Ok(None);
    }
    let from = end.bytes.saturating_sub(LAST);
    let told = |error: std::io::Error| format!("cannot read {file}: {error}");
    let text = File::open(file).and_then(|open| text_from(open, from, LAST)).map_err(told)?;
    let pattern = compiled(pattern)?;
    let number = |line| numbers(&pattern, line).next();
    let last = whole_lines(&text, from > 0).lines().rev().find_map(|line| Some((line.trim(), number(line)?)));
    Ok(Some(match last {
        Some((line, number)) => {
            let shown: String = line.chars().take(LONGEST).collect();
            format!(
                "the metric's pattern finds {number} in the last line of {file} that it matches: {}",
                shown.escape_debug()
            )
        }
        None => format!("no line of {file} has a number that the metric's pattern matches so far"),
    }))
}

fn compiled(pattern: &str) -> Result<NumberPattern, String> {
    NumberPattern::parse(pattern).map_err(|error| error.to_string())
}

/// Numbers in a line.
fn numbers(pattern: &NumberPattern, line: &str) -> impl Iterator<Item = f64> {
    pattern.matches(line).filter_map(|found| found.parse::<f64>().ok()).filter(|number| number.is_finite())
}

/// What stands behind a place of a file, so many bytes of it at most.
fn text_from(mut open: File, from: u64, most: u64) -> std::io::Result<String> {
    open.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    open.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The same where a job to come may make the file.
fn log_end_yet(file: &Path, job_to_come: bool) -> Result<LogEnd, String> {
    match log_end(file) {
        Err(_) if job_to_come && !file.exists() => Ok(LogEnd::default()),
        end => end,
    }
}

fn log_end(file: &Path) -> Result<LogEnd, String> {
    let told = |error: std::io::Error| format!("cannot read {}: {error}", file.display());
    let found = std::fs::metadata(file).map_err(told)?;
    if !found.is_file() {
        return Err(format!("{} is no plain file; a metric reads what is appended to one", file.display()));
    }
    let mut open = File::open(file).map_err(told)?;
    let bytes = found.len();
    let mut last = [b'\n'];
    if bytes > 0 {
        open.seek(SeekFrom::Start(bytes - 1)).and_then(|_| open.read(&mut last)).map_err(told)?;
    }
    Ok(LogEnd { file: Some((found.dev(), found.ino())), bytes, inside_a_line: last[0] != b'\n' })
}

fn in_log(pattern: &NumberPattern, file: &Path, then: LogEnd) -> Result<f64, String> {
    let told = |error: std::io::Error| format!("cannot read {}: {error}", file.display());
    let open = File::open(file).map_err(told)?;
    let found = open.metadata().map_err(told)?;
    let is_same = then.file == Some((found.dev(), found.ino())) && found.len() >= then.bytes;
    // A log that was rotated or cut begins anew; what the old one still got is lost to the block.
    let (from, inside) = if is_same { (then.bytes, then.inside_a_line) } else { (0, false) };
    let grown = found.len() - from;
    if grown > MOST_GROWN {
        return Err(format!("{} grew by {grown} bytes in this block, more than {MOST_GROWN}", file.display()));
    }
    let text = text_from(open, from, grown).map_err(told)?;
    let numbers: Vec<f64> = whole_lines(&text, inside).lines().flat_map(|line| numbers(pattern, line)).collect();
    mean_of(&numbers, &file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn asked(text: &str) -> Result<BlockMetric, String> {
        BlockMetric::ready(&LiveMetric::parse(text).unwrap(), false, &Interrupt::default())
    }

    fn append(file: &Path, text: &str) {
        let mut open = File::options().append(true).create(true).open(file).unwrap();
        open.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_block_has_the_mean_of_the_lines_its_log_grew_by() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("job.log");
        append(&log, "took=100\ntook=10");
        let mut metric = asked(&format!("regex:took=([0-9.]+):{}", log.display())).unwrap();
        let none = Interrupt::default();
        metric.begin(&none);
        append(&log, "0\ntook=1\nother\ntook=2.5 took=4\ntook=9");
        assert_eq!(metric.end(1.0, &none), Some(Ok(2.5)), "neither the line begun before nor the one still written");
        metric.begin(&none);
        append(&log, "9\n");
        assert!(metric.end(1.0, &none).unwrap().unwrap_err().contains("no line"));
    }

    #[test]
    fn what_a_pattern_finds_is_shown_before_anything_runs() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("job.log");
        let metric = |pattern: &str| LiveMetric::parse(&format!("regex:{pattern}:{}", log.display())).unwrap();
        let told = |pattern: &str| told_of_log(&metric(pattern), true).unwrap();
        assert_eq!(told("step ([0-9.]+)"), None, "it is not there yet");
        assert!(
            told_of_log(&metric("step ([0-9.]+)"), false).unwrap_err().contains("cannot read"),
            "nobody will make it"
        );
        append(&log, "step 54 0.2178 s\nstep 55 0.3277 s\nstep 56 0.");
        assert!(told("step ([0-9.]+)").unwrap().contains("finds 55 in the last line"), "{:?}", told("step ([0-9.]+)"));
        let right = told("step .* ([0-9.]+) s").unwrap();
        assert!(right.contains("finds 0.3277") && right.ends_with("step 55 0.3277 s"), "{right}");
        assert!(told("took=([0-9.]+)").unwrap().starts_with("no line of"));
        assert_eq!(told_of_log(&LiveMetric::Signal("system_share"), false), Ok(None));
    }

    #[test]
    fn a_rotated_log_is_read_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("job.log");
        append(&log, "took=100\n");
        let mut metric = asked(&format!("regex:took=([0-9.]+):{}", log.display())).unwrap();
        metric.begin(&Interrupt::default());
        std::fs::rename(&log, folder.path().join("job.log.1")).unwrap();
        append(&log, "took=3\n");
        assert_eq!(metric.end(1.0, &Interrupt::default()), Some(Ok(3.0)));
    }

    #[test]
    fn a_counter_gives_its_growth_per_second() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("n");
        std::fs::write(&file, "100\n").unwrap();
        let mut metric = asked(&format!("rate:cat {}", file.display())).unwrap();
        metric.begin(&Interrupt::default());
        std::fs::write(&file, "150\n").unwrap();
        assert_eq!(metric.end(10.0, &Interrupt::default()), Some(Ok(5.0)));
        metric.begin(&Interrupt::default());
        std::fs::write(&file, "1\n").unwrap();
        assert!(metric.end(10.0, &Interrupt::default()).unwrap().unwrap_err().contains("started anew"));
    }

    #[test]
    fn a_metric_that_gives_no_number_is_found_out_before_anything_is_changed() {
        for (text, wanted) in [
            ("sytem_share", "no such command"),
            ("sytem_share", "nor is it a signal: system_share"),
            ("echo twelve", "'twelve', which is no number"),
            ("false", "exit status 1"),
            ("rate:/nonexistent/x", "no such command"),
            ("regex:a=([0-9]+):/nonexistent/log", "cannot read /nonexistent/log"),
            ("regex:a=([0-9]+):/dev/null", "no plain file"),
        ] {
            let error = asked(text).expect_err(text);
            assert!(error.contains(wanted), "{text}: {error}");
        }
        let later = LiveMetric::parse("regex:a=([0-9]+):/nonexistent/log").unwrap();
        assert!(BlockMetric::ready(&later, true, &Interrupt::default()).is_ok(), "the job may make it");
    }
}
