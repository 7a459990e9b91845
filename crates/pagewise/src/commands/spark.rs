//! `pagewise spark conf`: the configuration that puts a policy for Spark's memory into effect.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use pagewise_core::spark::configuration::{self, Configuration, Job, Policy};
use pagewise_core::spark::version::Version;
use pagewise_core::unit::Bytes;
use pagewise_host::facts::{kernel, programs};
use pagewise_host::root::Root;
use pagewise_host::workload::spark::Distribution;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Put the storage or execution memory of Spark on huge pages
#[derive(Args, Debug)]
pub(crate) struct SparkArgs {
    #[command(subcommand)]
    verb: SparkVerb,
}

#[derive(Subcommand, Debug)]
enum SparkVerb {
    Conf(ConfArgs),
}

/// Print the configuration for a policy, for this Spark, this Java and this host
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
struct ConfArgs {
    /// What is to lie on huge pages; entire is the JVM's own option for the whole heap
    #[arg(long, value_enum)]
    policy: PolicyName,
    /// The heap of each executor, or with --local of the driver
    #[arg(long, value_name = "SIZE")]
    heap: Bytes,
    /// Of Spark: a version, or the folder it lies in; SPARK_HOME unless said otherwise
    #[arg(long, value_name = "VERSION|DIR")]
    spark: Option<String>,
    /// Of the executors' Java: a version, or its home; the one a job gets here unless said otherwise
    #[arg(long, value_name = "VERSION|DIR")]
    jdk: Option<String>,
    /// The driver computes (local mode): its heap and its options are meant
    #[arg(long)]
    local: bool,
    /// Whether the plugin places memory, or only reports where it lies
    #[arg(long, value_enum, default_value = "enforce")]
    mode: Mode,
    /// The plugin's jar, as Spark is to find it
    #[arg(long, value_name = "FILE", default_value = "spark-plugin-0.1.0.jar")]
    jar: String,
    /// As options of spark-submit, or as lines of spark-defaults.conf
    #[arg(long, value_enum, default_value = "submit")]
    format: Format,
}

const AFTER_HELP: &str = "The same heap and young memory stand in every policy, so that two of them can be compared. Whether it pays only your job can \
                          say:\n\n  pagewise prove --a env.POLICY=none --b env.POLICY=storage -- \\\n    sh -c 'spark-submit … --conf \
                          spark.pagewise.policy=$POLICY job.jar'\n\n\
                          Examples:\n  pagewise spark conf --policy storage --heap 20g\n  \
                          pagewise spark conf --policy both --heap 4g --local --spark 4.3.0 --jdk 25.0.3\n  \
                          pagewise spark conf --policy storage --heap 20g --format properties >> spark-defaults.conf";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyName {
    None,
    Storage,
    Execution,
    Both,
    Entire,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Policy {
        match name {
            PolicyName::None => Policy::None,
            PolicyName::Storage => Policy::Storage,
            PolicyName::Execution => Policy::Execution,
            PolicyName::Both => Policy::Both,
            PolicyName::Entire => Policy::Entire,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Enforce,
    Observe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Submit,
    Properties,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    schema: &'static str,
    spark: String,
    java: String,
    #[serde(flatten)]
    configuration: &'a Configuration,
}

pub(crate) fn run(args: &SparkArgs, global: &Global) -> Result<ExitCode, Failure> {
    match &args.verb {
        SparkVerb::Conf(args) => conf(args, global),
    }
}

fn conf(args: &ConfArgs, global: &Global) -> Result<ExitCode, Failure> {
    let root = Root::live();
    let job = Job {
        policy: args.policy.into(),
        enforce: args.mode == Mode::Enforce,
        spark: spark(args.spark.as_deref())?,
        java: java(&root, args.jdk.as_deref())?,
        heap: args.heap,
        is_local: args.local,
        jar: args.jar.clone(),
        thp_enabled: kernel::host_facts(&root, None).thp_enabled,
    };
    let found = configuration::of(&job).map_err(|why| Failure::Usage(anyhow!(why)))?;
    if global.json {
        output::json(&Printed {
            schema: "pagewise.spark-conf/1",
            spark: job.spark.to_string(),
            java: job.java.to_string(),
            configuration: &found,
        });
        return Ok(ExitCode::SUCCESS);
    }
    let text = match args.format {
        Format::Submit => as_options(&found)?,
        Format::Properties => {
            found.settings.iter().map(|setting| format!("{} {}\n", setting.name, setting.value)).collect()
        }
    };
    output::data(text.trim_end());
    for caution in &found.cautions {
        output::note(&format!("{}: {}", caution.id, caution.text));
    }
    Ok(ExitCode::SUCCESS)
}

/// Lines that a shell takes as one command's words.
fn as_options(found: &Configuration) -> Result<String, Failure> {
    let words = found.settings.iter().map(|setting| {
        let word = format!("{}={}", setting.name, setting.value);
        // An equals sign inside a word is one to every shell; shlex would quote for it.
        if word.chars().all(|c| c.is_ascii_alphanumeric() || "=._-/:,+".contains(c)) {
            return Ok(format!("--conf {word}"));
        }
        shlex::try_quote(&word).map(|quoted| format!("--conf {quoted}")).map_err(|error| Failure::Usage(anyhow!(error)))
    });
    Ok(words.collect::<Result<Vec<String>, Failure>>()?.join(" \\\n"))
}

/// What was said, else the one in `SPARK_HOME`.
fn spark(said: Option<&str>) -> Result<Version, Failure> {
    let home = match said {
        Some(text) if !Path::new(text).is_dir() => {
            return text.parse().map_err(|why: String| Failure::Usage(anyhow!("--spark: {why}, and no folder")));
        }
        Some(folder) => PathBuf::from(folder),
        None => std::env::var_os("SPARK_HOME").map(PathBuf::from).ok_or_else(|| {
            Failure::Usage(anyhow!("which Spark? Name its version (--spark 4.3.0), its folder, or set SPARK_HOME"))
        })?,
    };
    let found = Distribution::in_home(&home).ok_or_else(|| {
        Failure::NotPossible(anyhow!("no Spark in {}: there is no jars/spark-core_SCALA-VERSION.jar", home.display()))
    })?;
    found.version.parse().map_err(|why: String| Failure::NotPossible(anyhow!(why)))
}

/// What was said, else the Java that a job gets here.
fn java(root: &Root, said: Option<&str>) -> Result<Version, Failure> {
    let text = match said {
        Some(text) if !Path::new(text).is_dir() => text.to_owned(),
        Some(folder) => programs::version_of(Path::new(folder)).ok_or_else(|| {
            Failure::NotPossible(anyhow!(
                "{folder} has no file 'release' that says which Java it is: name the version, such as --jdk 17"
            ))
        })?,
        None => {
            let default = programs::jvms(root).into_iter().find(|jvm| jvm.is_default);
            default.and_then(|jvm| jvm.version).ok_or_else(|| {
                Failure::NotPossible(anyhow!("no Java in JAVA_HOME or PATH: name the executors', such as --jdk 17"))
            })?
        }
    };
    text.parse().map_err(|why: String| Failure::Usage(anyhow!("--jdk: {why}, and no folder")))
}
