//! `pagewise spark`: the configuration for huge pages in Spark, what is wrong with the one that runs or ran, and which policy to try.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress::StepProgress;
use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use pagewise_core::finding::{Diagnosis, Severity};
use pagewise_core::report::findings;
use pagewise_core::spark::check::{self, CheckedJvm};
use pagewise_core::spark::{ConfRequest, EventLog, PLUGIN_JAR, Placement, Version, advise, conf};
use pagewise_core::unit::Bytes;
use pagewise_host::facts::programs;
use pagewise_host::source::meminfo;
use pagewise_host::spark::event_log::{self, EventLogError};
use pagewise_host::spark::process;
use pagewise_host::workload::spark::{Distribution, installed};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Configure Spark for huge pages, find what is wrong with its configuration, and say which policy a job should try
#[derive(Args, Debug)]
pub(crate) struct SparkArgs {
    #[command(subcommand)]
    what: SparkCommand,
}

#[derive(Subcommand, Debug)]
enum SparkCommand {
    Conf(ConfArgs),
    Check(CheckArgs),
    Advise(AdviseArgs),
}

/// Print the configuration that puts a part of Spark's memory on huge pages
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  pagewise spark conf --policy storage --heap 20g --executors\n  \
                        pagewise spark conf --policy both --format properties \\\n      >> $SPARK_HOME/conf/spark-defaults.conf")]
struct ConfArgs {
    /// Which memory is to lie on huge pages; entire: the whole heap, by the JVM's own flag
    #[arg(long, value_name = "POLICY", value_parser = ["none", "storage", "execution", "both", "entire"])]
    policy: String,
    /// The policy that it will be compared with: young memory gets the limit that it has there
    #[arg(long, value_name = "POLICY", value_parser = ["none", "storage", "execution", "both", "entire"])]
    against: Option<String>,
    /// Spark's version, or the folder it was unpacked to [default: SPARK_HOME, then spark-submit on the PATH]
    #[arg(long, value_name = "VERSION|DIR", env = "SPARK_HOME")]
    spark: Option<String>,
    /// The JDK's version, or its folder [default: JAVA_HOME, then java on the PATH]
    #[arg(long, value_name = "VERSION|DIR")]
    jdk: Option<String>,
    /// The heap of a JVM that computes
    #[arg(long, default_value = "1g", value_name = "SIZE")]
    heap: Bytes,
    /// Whether the plugin acts, or only reads what lies where
    #[arg(long, default_value = "enforce", value_name = "MODE", value_parser = ["enforce", "observe"])]
    mode: String,
    /// For executors of a cluster; without it for local mode, where the driver computes
    #[arg(long)]
    executors: bool,
    /// Where the plugin's jar lies
    #[arg(long, default_value = PLUGIN_JAR, value_name = "FILE")]
    jar: String,
    /// Options of spark-submit, or lines of spark-defaults.conf
    #[arg(long, default_value = "arguments", value_name = "FORMAT")]
    format: Format,
    /// Write DIR/spark-defaults.conf instead, for SPARK_CONF_DIR
    #[arg(long, value_name = "DIR", conflicts_with = "format")]
    into: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Arguments,
    Properties,
}

/// Find what is wrong with the memory of a Spark job or JVM, with the fixed line
#[derive(Args, Debug)]
#[command(
    after_help = "Nothing is changed. Exit status: 0 done · 1 a finding at or above --fail-on · 2 usage, or a file that is no event \
                        log · 3 not possible here.\n\n\
                        Examples:\n  pagewise spark check --pid 4711\n  \
                        pagewise spark check --event-log /var/log/spark/eventlog_v2_app-1 \\\n      --fail-on medium"
)]
#[command(group(clap::ArgGroup::new("subject").required(true)))]
struct CheckArgs {
    /// The event log of a job: a file, or a folder eventlog_v2_…
    #[arg(long, value_name = "FILE", group = "subject")]
    event_log: Option<PathBuf>,
    /// A JVM that runs: local mode's driver, or an executor
    #[arg(long, value_name = "PID", group = "subject")]
    pid: Option<i32>,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY", value_parser = ["low", "medium", "high"])]
    fail_on: Option<String>,
}

/// Say from the event log of a finished job which policy to try, and why
#[derive(Args, Debug)]
struct AdviseArgs {
    /// The event log of a job: a file, or a folder eventlog_v2_…
    #[arg(long, value_name = "FILE")]
    event_log: PathBuf,
}

pub(crate) fn run(args: &SparkArgs, global: &Global) -> Result<ExitCode, Failure> {
    match &args.what {
        SparkCommand::Conf(args) => print_configuration(args, global),
        SparkCommand::Check(args) => {
            let seen = match (&args.event_log, args.pid) {
                (Some(path), _) => CheckedJvm::of_log(path.display().to_string(), read(path)?),
                (None, Some(pid)) => {
                    process::inspect(&global.root(), pid).map_err(|error| Failure::NotPossible(error.into()))?
                }
                (None, None) => {
                    return Err(Failure::Usage(anyhow!("name a log with --event-log, or a JVM with --pid")));
                }
            };
            Ok(show(&check::diagnose(&seen), args.fail_on.as_deref(), global))
        }
        SparkCommand::Advise(args) => {
            let log = read(&args.event_log)?;
            let heap = log.heap().unwrap_or(1 << 30);
            let subject = args.event_log.display().to_string();
            Ok(show(&advise::diagnose(&advise::Job { log, heap }, &subject), None, global))
        }
    }
}

fn show(diagnosis: &Diagnosis, fail_on: Option<&str>, global: &Global) -> ExitCode {
    if global.json {
        output::json(diagnosis);
    } else {
        let text = if global.verbose > 0 { findings::text_in_full } else { findings::text };
        output::data(&text(diagnosis, output::style(&global.color)));
    }
    let least = [Severity::Low, Severity::Medium, Severity::High].into_iter().find(|one| Some(one.word()) == fail_on);
    let fails = least.is_some_and(|least| diagnosis.findings.iter().any(|finding| finding.severity >= least));
    if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn read(path: &Path) -> Result<EventLog, Failure> {
    let progress = StepProgress::new();
    event_log::read(path, &progress).map_err(|error| match &error {
        EventLogError::File { error: cause, .. } if cause.kind() != std::io::ErrorKind::NotFound => {
            Failure::NotPossible(error.into())
        }
        _ => Failure::Usage(error.into()),
    })
}

fn print_configuration(args: &ConfArgs, global: &Global) -> Result<ExitCode, Failure> {
    let named = |word: &str| Placement::ALL.into_iter().find(|one| one.word() == word);
    let placement = named(&args.policy);
    let placement = placement.ok_or_else(|| Failure::Usage(anyhow!("there is no policy {}", args.policy)))?;
    let root = global.root();
    let thp = root.read("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    let mode = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    let heap = args.heap.0 >> 20 << 20;
    if heap < 64 << 20 {
        return Err(Failure::Usage(anyhow!("a heap of {} is none that Spark starts with: write --heap 1g", args.heap)));
    }
    let asked = ConfRequest {
        placement,
        against: args.against.as_deref().and_then(named),
        spark: match args.spark.as_deref() {
            Some(named) => Some(spark_version(named)?),
            None => installed(&root).and_then(|found| found.version.parse().ok()),
        },
        java: java_version(args.jdk.as_deref(), global)?,
        heap,
        enforces: args.mode == "enforce",
        executors: args.executors,
        jar: args.jar.clone(),
        thp: thp.and_then(mode),
        memory: meminfo::read(&root).ok().and_then(|read| read.get("MemTotal").copied()),
    };
    if let Some(why) = conf::out_of_reach(&asked) {
        return Err(Failure::Usage(anyhow!("--policy {}: {why}", args.policy)));
    }
    let jar = if placement.is_of_plugin() { jar(&args.jar) } else { args.jar.clone() };
    let configuration = conf::configuration(&ConfRequest { jar, ..asked });
    if let Some(folder) = &args.into {
        write(folder, &configuration.properties())?;
        output::note(&format!("written to {}", folder.join("spark-defaults.conf").display()));
    }
    if global.json {
        output::json(&configuration);
    } else if args.into.is_some() {
        configuration.notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    } else if args.format == Format::Properties {
        output::data(&configuration.properties());
    } else {
        output::data(&configuration.arguments());
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the plugin's jar lies, from anywhere: a job seldom starts in the folder that the configuration was written in.
fn jar(named: &str) -> String {
    let found = Some(PathBuf::from(named)).filter(|path| path.exists());
    let found = found.or_else(|| (named == PLUGIN_JAR).then(built_jar).flatten());
    match found.and_then(|path| std::path::absolute(path).ok()) {
        Some(path) => path.display().to_string(),
        None => {
            // A jar of the cluster is not seen from here.
            if !named.contains(':') {
                output::note(&format!(
                    "note: there is no {named} here, and where Spark finds none it does not start (ClassNotFoundException): name it with \
                     --jar FILE, by its full path; mvn -f jvm/pom.xml -DskipTests package makes it in Pagewise's source"
                ));
            }
            named.to_owned()
        }
    }
}

/// The plugin where a checkout builds it: that of this folder, or the one this program was built in.
fn built_jar() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let checkouts = program.iter().flat_map(|program| program.ancestors().skip(1)).chain([Path::new("")]);
    checkouts.map(|folder| folder.join("jvm/spark-plugin/target").join(PLUGIN_JAR)).find(|jar| jar.exists())
}

/// Never over a file that is there: it may be somebody's own.
fn write(folder: &Path, text: &str) -> Result<(), Failure> {
    let path = folder.join("spark-defaults.conf");
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::Usage(anyhow!("{} exists already; name another folder, or remove it", path.display()))
        }
        _ => Failure::NotPossible(anyhow!("cannot write {}: {error}", path.display())),
    };
    fs::create_dir_all(folder).map_err(failed)?;
    fs::File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}

fn spark_version(text: &str) -> Result<Version, Failure> {
    if let Some(found) = Distribution::in_home(Path::new(text)) {
        return found.version.parse().map_err(|error| Failure::Usage(anyhow!("Spark in {text}: {error}")));
    }
    if text.starts_with(|c: char| c.is_ascii_digit())
        && let Ok(version) = text.parse()
    {
        return Ok(version);
    }
    Err(Failure::Usage(anyhow!(
        "--spark {text}: it is no version such as 4.1.3, and no folder with jars/spark-core_SCALA-VERSION.jar"
    )))
}

fn java_version(text: Option<&str>, global: &Global) -> Result<Option<Version>, Failure> {
    let Some(text) = text else {
        let found = programs::jvms(&global.root());
        return Ok(found.first().and_then(|jvm| Version::of_java(jvm.version.as_deref()?).ok()));
    };
    if text.starts_with(|c: char| c.is_ascii_digit())
        && let Ok(version) = Version::of_java(text)
    {
        return Ok(Some(version));
    }
    let release = fs::read_to_string(Path::new(text).join("release")).ok();
    let version = release.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=")));
    let version = version.and_then(|version| Version::of_java(version.trim_matches('"')).ok());
    version.map(Some).ok_or_else(|| {
        Failure::Usage(anyhow!("--jdk {text}: it is no version such as 25.0.3, and no folder with a file release"))
    })
}
