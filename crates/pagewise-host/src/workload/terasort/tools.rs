//! TeraGen, TeraSort, TeraValidate and TeraChecksum as commands, and the files they leave, on this host or in a cluster.

use super::super::WorkloadError;
use super::super::java::{self, Java};
use super::super::partial;
use super::hadoop::{Cluster, Hadoop};
use crate::process::{self, Command, Ended, Interrupt};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One of Hadoop's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Gen,
    Sort,
    Validate,
    Checksum,
}

impl Tool {
    fn class(self) -> &'static str {
        match self {
            Tool::Gen => "org.apache.hadoop.examples.terasort.TeraGen",
            Tool::Sort => "org.apache.hadoop.examples.terasort.TeraSort",
            Tool::Validate => "org.apache.hadoop.examples.terasort.TeraValidate",
            Tool::Checksum => "org.apache.hadoop.examples.terasort.TeraChecksum",
        }
    }

    /// Its name for `hadoop jar EXAMPLES NAME` (`ExampleDriver`), which does not know TeraChecksum.
    fn name_in_jar(self) -> Option<&'static str> {
        match self {
            Tool::Gen => Some("teragen"),
            Tool::Sort => Some("terasort"),
            Tool::Validate => Some("teravalidate"),
            Tool::Checksum => None,
        }
    }
}

/// Warnings go to standard error. Three of them say on every host what does not matter here: that Hadoop's optional
/// native library and the metrics configuration are not there.
const LOG4J: &str = "\
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%p %c{1}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.org.apache.hadoop.metrics2.impl=ERROR
";

/// The heap of the untimed programs: they stream.
const UNTIMED_HEAP: u64 = 512 << 20;

/// How Hadoop's programs are started.
#[derive(Clone, Debug)]
pub(super) enum Launch {
    /// One JVM with everything in it, local file system, local job runner.
    InProcess { java: Java, log4j: PathBuf },
    /// The user's own `hadoop`.
    Launcher { program: PathBuf, cluster: Cluster },
}

/// Hadoop's programs, ready to be started.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) hadoop: Hadoop,
    pub(super) launch: Launch,
    pub(super) interrupt: Interrupt,
}

/// A timed or untimed call of a program.
pub(super) struct Call<'a> {
    pub(super) tool: Tool,
    pub(super) options: Vec<(String, String)>,
    pub(super) arguments: Vec<String>,
    /// Largest heap in bytes; `None` leaves it to what stands in `environment`.
    pub(super) heap: Option<u64>,
    /// The job's own folder: its `hadoop.tmp.dir`, and where it starts. The local job runner links `_partition.lst` into
    /// the current folder and reads it there, so that jobs must not share one.
    pub(super) tmp: &'a Path,
    pub(super) environment: BTreeMap<String, String>,
}

impl Tools {
    pub(super) fn in_process(
        hadoop: Hadoop,
        java: Java,
        cache: &Path,
        interrupt: Interrupt,
    ) -> Result<Self, WorkloadError> {
        let dir = cache.join("terasort");
        fs::create_dir_all(&dir).map_err(WorkloadError::file("create", &dir))?;
        let log4j = dir.join("log4j.properties");
        if fs::read_to_string(&log4j).ok().as_deref() != Some(LOG4J) {
            let fresh = dir.join(format!("log4j.properties.{}", std::process::id()));
            fs::write(&fresh, LOG4J).map_err(WorkloadError::file("write", &fresh))?;
            fs::rename(&fresh, &log4j).map_err(WorkloadError::file("write", &log4j))?;
        }
        Ok(Tools { hadoop, launch: Launch::InProcess { java, log4j }, interrupt })
    }

    /// The command, with its folder made.
    pub(super) fn command(&self, call: Call<'_>) -> Result<Command, WorkloadError> {
        fs::create_dir_all(call.tmp).map_err(WorkloadError::file("create", call.tmp))?;
        let mut environment = call.environment;
        let mut options = call.options;
        let mut argv = match &self.launch {
            Launch::InProcess { java, log4j } => {
                options.splice(0..0, own_folder(call.tmp));
                options.insert(0, ("mapreduce.framework.name".to_owned(), "local".to_owned()));
                options.insert(0, ("fs.defaultFS".to_owned(), "file:///".to_owned()));
                let mut argv = vec![java.program()];
                argv.extend(java.options());
                argv.extend(call.heap.map(|bytes| format!("-Xmx{}m", bytes >> 20)));
                argv.push(format!("-Dlog4j.configuration=file:{}", log4j.display()));
                argv.extend(["-cp".to_owned(), self.hadoop.class_path.clone(), call.tool.class().to_owned()]);
                argv
            }
            Launch::Launcher { program, cluster } => {
                environment.entry("HADOOP_ROOT_LOGGER".to_owned()).or_insert_with(|| "WARN,console".to_owned());
                if let (Cluster::InClient, Some(bytes)) = (cluster, call.heap) {
                    environment.insert("HADOOP_HEAPSIZE_MAX".to_owned(), format!("{}M", bytes >> 20));
                    options.splice(0..0, own_folder(call.tmp));
                }
                let program = program.display().to_string();
                let examples = self.hadoop.examples.display().to_string();
                match call.tool.name_in_jar() {
                    Some(name) => vec![program, "jar".to_owned(), examples, name.to_owned()],
                    None => {
                        let before = std::env::var("HADOOP_CLASSPATH").into_iter().filter(|path| !path.is_empty());
                        let class_path: Vec<String> = before.chain([examples]).collect();
                        environment.insert("HADOOP_CLASSPATH".to_owned(), class_path.join(":"));
                        vec![program, call.tool.class().to_owned()]
                    }
                }
            }
        };
        argv.extend(options.into_iter().map(|(name, value)| format!("-D{name}={value}")));
        argv.extend(call.arguments);
        Ok(Command { argv, env: environment, dir: Some(call.tmp.to_path_buf()), ..Command::default() })
    }

    /// Runs a program untimed.
    pub(super) fn run(
        &self,
        tool: Tool,
        options: Vec<(String, String)>,
        arguments: Vec<String>,
        tmp: &Path,
        tick: &mut dyn FnMut(),
    ) -> Result<Ended, WorkloadError> {
        let heap = Some(UNTIMED_HEAP);
        let call = Call { tool, options, arguments, heap, tmp, environment: BTreeMap::new() };
        let ended = process::run_step(&self.command(call)?, &self.interrupt, tick)?;
        self.interrupt.check()?;
        Ok(ended)
    }

    /// The text of a result folder's `part-*` files.
    pub(super) fn read_parts(&self, folder: &str) -> Result<String, WorkloadError> {
        let Launch::Launcher { .. } = self.launch else { return read_local_parts(Path::new(folder)) };
        let ended = self.file_system(&["-cat", &format!("{folder}/part-*")])?;
        succeeded(&ended, &format!("hadoop fs -cat {folder}/part-*"))?;
        Ok(ended.stdout)
    }

    /// Removes a folder; one that is not there is fine.
    pub(super) fn remove(&self, folder: &str) -> Result<(), WorkloadError> {
        let Launch::Launcher { .. } = self.launch else { return partial::remove(Path::new(folder)) };
        let ended = self.file_system(&["-rm", "-r", "-f", "-skipTrash", folder])?;
        succeeded(&ended, &format!("hadoop fs -rm -r {folder}"))
    }

    /// `hadoop fs …`. Runs to its end even after Ctrl-C: it is short, and it is what puts things away.
    pub(super) fn file_system(&self, arguments: &[&str]) -> Result<Ended, WorkloadError> {
        let Launch::Launcher { program, .. } = &self.launch else {
            return Err(WorkloadError::Usage("hadoop fs is for mode=hadoop".to_owned()));
        };
        let mut argv = vec![program.display().to_string(), "fs".to_owned()];
        argv.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let command = Command { argv, ..Command::default() };
        Ok(process::run_step(&command, &Interrupt::default(), &mut || {})?)
    }
}

/// What keeps a job's scratch files in its own folder. The local job runner's staging area does not follow
/// `hadoop.tmp.dir`: by default it is `/tmp/hadoop/mapred/staging` for all users of the host (`LocalJobRunner`, 3.3.6).
fn own_folder(tmp: &Path) -> [(String, String); 2] {
    [
        ("hadoop.tmp.dir".to_owned(), tmp.display().to_string()),
        ("mapreduce.jobtracker.staging.root.dir".to_owned(), tmp.join("staging").display().to_string()),
    ]
}

pub(super) fn succeeded(ended: &Ended, what: &str) -> Result<(), WorkloadError> {
    if ended.status.is_success() {
        return Ok(());
    }
    Err(WorkloadError::Step(format!("{what} ended with {}: {}", ended.status, java::reason(ended))))
}

fn read_local_parts(folder: &Path) -> Result<String, WorkloadError> {
    let entries = fs::read_dir(folder).map_err(WorkloadError::file("list", folder))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("part-")));
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).map_err(WorkloadError::file("read", path)));
    texts.collect()
}
