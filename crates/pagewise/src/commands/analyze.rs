//! `pagewise analyze FILE.csv`: statistics on anyone's raw points. Reads a table and touches nothing else.

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::comparison::analysis::{Comparisons, analyze};
use pagewise_core::comparison::question::{Contrast, Counters, Question, split_names};
use pagewise_core::comparison::rule::Rule;
use pagewise_core::comparison::table::{Delimiter, Table};
use pagewise_core::metric::Direction;
use pagewise_core::report::comparisons;
use pagewise_core::unit::{self, Fraction};
use pagewise_host::given::{self, Lines};
use std::io::{self, Read};
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
    /// What separates the fields: a character, or comma, semicolon, tab, space or pipe [default: as the header says]
    #[arg(long, value_name = "DELIMITER")]
    delimiter: Option<Delimiter>,
    /// Which way is better: lower or higher
    #[arg(long, value_name = "WAY", default_value = "lower")]
    direction: Direction,
    /// Smaller differences do not matter
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = unit::share)]
    margin: Fraction,
    /// Significance level, 0.05 or 5%; intervals are at 1 − ALPHA
    #[arg(long, value_name = "ALPHA", default_value = "0.05", value_parser = unit::significance)]
    alpha: f64,
    /// How to write it [default: table]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Compare these columns of numbers, too, or all
    #[arg(long, value_name = "COLUMN,…|all")]
    counters: Option<String>,
    /// Add a BCa bootstrap interval from so many resamples
    #[arg(long, value_name = "RESAMPLES", num_args = 0..=1, default_missing_value = "10000", require_equals = true,
          value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    bootstrap: Option<u32>,
    /// Seed of what is resampled
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "Examples:\n  \
    pagewise analyze points.csv --value seconds --compare kernel=baseline,patched\n  \
    pagewise analyze points.csv --value seconds --compare kernel=baseline,patched --by swap,concurrency --format text72\n  \
    pagewise analyze points.csv --value seconds --compare kernel=baseline,patched --compare swap=off,on \
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
        let Some(value) = self.value.as_deref().filter(|_| !self.compare.is_empty()) else {
            return Err(self.incomplete());
        };
        let names = |list: &Option<String>| -> Vec<String> {
            list.as_deref().map(split_names).unwrap_or_default().into_iter().filter(|name| !name.is_empty()).collect()
        };
        let counters = match self.counters.as_deref() {
            None => Counters::None,
            Some("all") => Counters::All,
            Some(_) => Counters::Named(names(&self.counters)),
        };
        let Fraction(margin) = self.margin;
        let question = Question {
            rule: Rule { margin, alpha: self.alpha, direction: self.direction },
            counters,
            resamples: self.bootstrap,
            seed: self.seed,
            ..Question::new(value, self.compare.clone(), names(&self.by))
        };
        question.check()?;
        Ok(question)
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
