//! `pagewise analyze FILE.csv`: statistics on anyone's raw points. Reads a table and touches nothing else.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::comparison::analysis::{Comparisons, analyze};
use pagewise_core::comparison::question::{Blocks, Contrast, Counters, Question, split_names};
use pagewise_core::comparison::rule::Rule;
use pagewise_core::comparison::table::{Delimiter, Table};
use pagewise_core::metric::Direction;
use pagewise_core::report::comparisons;
use pagewise_core::unit::{self, Fraction};
use pagewise_host::given::{self, Lines};
use pagewise_host::store::bundle::Bundle;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare levels in a table of raw points: tests, intervals and a verdict
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AnalyzeArgs {
    /// CSV with a header and a row per point, or - for stdin. Columns `block`, `order` and `outcome` are used if there,
    /// whatever their case
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// The column that is compared
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Level B of a factor against level A; may be given several times
    #[arg(long, value_name = "FACTOR=A,B")]
    compare: Vec<Contrast>,
    /// Factors whose levels are kept apart (a comparison leaves out its own)
    #[arg(long, value_name = "FACTOR,…")]
    by: Option<String>,
    /// The column that says which runs were made close together, which then decides; or none [default: block, where there is one]
    #[arg(long, value_name = "COLUMN|none")]
    block: Option<String>,
    /// The column that says when each run was made: a number or a time [default: order, where there is one]
    #[arg(long, value_name = "COLUMN")]
    order: Option<String>,
    /// What separates the fields: a character, or comma, semicolon, tab, space or pipe [default: as the header says]
    #[arg(long, value_name = "DELIMITER")]
    delimiter: Option<Delimiter>,
    /// Which way is better: lower or higher
    #[arg(long, value_name = "WAY", default_value = "lower")]
    direction: Direction,
    /// Smaller differences do not matter
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = unit::share, allow_hyphen_values = true)]
    margin: Fraction,
    /// Significance level, 0.05 or 5%; intervals are at 1 − ALPHA
    #[arg(long, value_name = "ALPHA", default_value = "0.05", value_parser = unit::significance)]
    alpha: f64,
    /// How to write it [default: table]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Compare these columns of numbers, too, or all; may be given several times
    #[arg(long, value_name = "COLUMN,…|all")]
    counters: Vec<String>,
    /// Add a BCa bootstrap interval from so many resamples
    #[arg(long, value_name = "RESAMPLES", num_args = 0..=1, default_missing_value = "10000", require_equals = true,
          value_parser = resamples)]
    bootstrap: Option<u32>,
    /// Seed of what is resampled
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// What stands beside the file: a number that `--bootstrap` was to have, or a second file
    #[arg(hide = true, value_name = "MORE")]
    more: Vec<String>,
}

/// From so many resamples on an interval means something, and up to so many nobody waits long.
const RESAMPLES: RangeInclusive<u32> = 100..=1_000_000;

fn resamples(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| RESAMPLES.contains(count));
    count.ok_or_else(|| {
        let (least, most) = (RESAMPLES.start(), RESAMPLES.end());
        format!("'{}' is not a number from {least} to {most}; write it like --bootstrap=2000", text.escape_debug())
    })
}

const EXAMPLES: &str = "Examples:\n  \
    pagewise analyze points.csv --value seconds --compare kernel=baseline,patched\n  \
    pagewise analyze points.csv --value seconds \\\n      \
    --compare kernel=baseline,patched --by swap,concurrency --format text72\n  \
    pagewise analyze points.csv --value seconds \\\n      \
    --compare kernel=baseline,patched --compare swap=off,on \\\n      \
    --by kernel,swap,concurrency --json";

/// What comparisons can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For the terminal
    Table,
    /// Every number, for programs
    Json,
    /// As R prints t.test
    R,
    /// For a pull request
    Markdown,
    /// A booktabs table for a paper
    Latex,
    /// 72 columns for a mailing list
    Text72,
}

pub(crate) fn run(args: &AnalyzeArgs, global: &Global) -> Result<ExitCode, Failure> {
    let format = args.chosen(global)?;
    let question = args.question()?;
    let table = Table::read_delimited(open(&args.file)?, &name(&args.file), &question, args.delimiter)?;
    let found = analyze(&table, &question)?;
    write(&found, format, global);
    Ok(ExitCode::SUCCESS)
}

fn write(found: &Comparisons, format: Format, global: &Global) {
    let text = match format {
        Format::Json => return output::json(found),
        Format::Table => comparisons::table(found, output::style(&global.color)),
        Format::R => comparisons::r(found),
        Format::Markdown => comparisons::markdown(found),
        Format::Latex => comparisons::latex(found),
        Format::Text72 => comparisons::text72(found),
    };
    output::data(&text);
    // Only the table, Markdown, LaTeX and the mail have a place for them.
    if format == Format::R {
        for note in &found.notes {
            output::note(&format!("{}: {}", note.id, note.text));
        }
        for warning in &found.warnings {
            output::note(&format!("{}: {}", warning.id, warning.text));
        }
    }
}

fn name(file: &Path) -> String {
    if file.as_os_str() == "-" { "stdin".to_owned() } else { file.display().to_string() }
}

fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(Lines::of(io::stdin().lock())));
    }
    let opened = given::open(file).map_err(|error| {
        if Bundle::open(file).is_ok() {
            let name = output::quoted(&file.display().to_string());
            return Failure::Usage(anyhow!(
                "{name} is the bundle of a trial: pagewise trial analyze {name} says what that found"
            ));
        }
        let what = format!("cannot read {}; give a CSV file, or - for stdin", file.display());
        Failure::Usage(anyhow::Error::new(error).context(what))
    })?;
    Ok(Box::new(Lines::of(opened)))
}

impl AnalyzeArgs {
    fn chosen(&self, global: &Global) -> Result<Format, Failure> {
        match (self.format, global.json) {
            (Some(format), true) if format != Format::Json => {
                Err(Failure::Usage(anyhow!("--json and --format ask for two formats; give one of them")))
            }
            (_, true) => Ok(Format::Json),
            (format, false) => Ok(format.unwrap_or(Format::Table)),
        }
    }

    fn question(&self) -> Result<Question, Failure> {
        self.has_one_file()?;
        let Some(value) = self.value.as_deref().filter(|_| !self.compare.is_empty()) else {
            return Err(self.incomplete());
        };
        let names = |list: &String| split_names(list).into_iter().filter(|name| !name.is_empty());
        let counters = if self.counters.is_empty() {
            Counters::None
        } else if self.counters.iter().any(|list| list == "all") {
            Counters::All
        } else {
            Counters::Named(self.counters.iter().flat_map(names).collect())
        };
        let by = self.by.iter().flat_map(names).collect();
        let Fraction(margin) = self.margin;
        let question = Question {
            rule: Rule { margin, alpha: self.alpha, direction: self.direction },
            blocks: match self.block.as_deref() {
                None => Blocks::Recognised,
                Some("none") => Blocks::None,
                Some(column) => Blocks::Named(column.to_owned()),
            },
            order: self.order.clone(),
            counters,
            resamples: self.bootstrap,
            seed: self.seed,
            ..Question::new(value, self.compare.clone(), by)
        };
        question.check()?;
        Ok(question)
    }

    fn has_one_file(&self) -> Result<(), Failure> {
        let Some(first) = self.more.first() else { return Ok(()) };
        let file = self.file.display().to_string();
        let is_number = |text: &&String| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = [first, &file].into_iter().find(is_number).filter(|_| self.bootstrap.is_some());
        let remedy = match number {
            Some(number) => format!("for so many resamples write --bootstrap={number}"),
            None => {
                "give one table; to compare files, put their rows into one with a column that tells them apart".into()
            }
        };
        Err(Failure::Usage(anyhow!("'{}' stands beside the table {file}; {remedy}", first.escape_debug())))
    }

    /// What is missing, with the columns to choose from.
    fn incomplete(&self) -> Failure {
        let missing = match (&self.value, self.compare.as_slice()) {
            (None, []) => "--value COLUMN and --compare FACTOR=A,B",
            (None, _) => "--value COLUMN",
            _ => "--compare FACTOR=A,B",
        };
        // A table that cannot be read is the error to be told first.
        let columns =
            open(&self.file).and_then(|source| Ok(Table::columns(source, &name(&self.file), self.delimiter)?));
        let columns = match columns {
            Ok(columns) => columns,
            Err(failure) => return failure,
        };
        let columns: Vec<String> = columns.iter().map(|column| format!("'{column}'")).collect();
        Failure::Usage(anyhow!(
            "{missing} must say what is compared; the columns of {} are {}",
            name(&self.file),
            columns.join(", ")
        ))
    }
}
