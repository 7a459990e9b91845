//! Apache Hadoop's own TeraSort: rows from TeraGen, sorted by one or more jobs at once, every output checked by
//! TeraValidate for its order and for the checksum of the input.
//!
//! By default each job is one JVM with Hadoop's local job runner, which needs nothing installed but Java. With
//! `mode=hadoop` the user's own `hadoop` runs it, on the cluster it is configured for.

mod arguments;
mod fetch;
pub(super) mod found;
mod hadoop;
mod input;
mod scale;
mod tools;

pub use arguments::{Arguments, Mode};
pub use hadoop::{Hadoop, Places as HadoopPlaces};
pub use scale::{Concurrency, Condition, ROW_BYTES, Sizes, seed_scaled};

use super::java::{self, Java, JavaNeeds};
use super::partial;
use super::{
    BuiltIn, JobSettings, OwnStep, Place, RunContext, Surroundings, Verification, Workload, WorkloadError, absolute,
};
use crate::facts::programs;
use crate::process::{Command, Ended, Interrupt, JobEnded};
use crate::progress::Progress;
use crate::root::Root;
use crate::source::meminfo;
use hadoop::Cluster;
use input::Input;
use pagewise_core::experiment::own_measure::OwnMeasure;
use pagewise_core::experiment::plan;
use pagewise_core::metric::Direction;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tools::{Call, Launch, Tool, Tools};

/// What there is to say of TeraSort before it runs.
pub const BUILT_IN: BuiltIn = BuiltIn {
    name: "terasort",
    about: "Apache Hadoop's own TeraSort, each output checked by TeraValidate",
    arguments: arguments::ARGUMENTS,
    options: &[
        Place {
            name: "hadoop",
            about: "Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]",
            is_here: true,
        },
        Place {
            name: "cluster-dir",
            about: "Where TeraSort's data lie in a cluster's file system, for mode=hadoop [default: pagewise]",
            is_here: false,
        },
    ],
    measures: &[OwnMeasure {
        name: JOB_WALL_MEAN,
        unit: "seconds",
        direction: Direction::Lower,
        meaning: "mean of the jobs' own times from start to exit, each by CLOCK_MONOTONIC; of one job its wall time",
    }],
    steps: &[OwnStep { name: "fetch", about: "Bring Hadoop into the cache, by a list with checksums", run: fetched }],
    right: "in order, with the checksum of the input",
    examples: &["terasort fetch", "terasort run rows=2000000 map_tasks=2", "terasort verify rows=2000000 map_tasks=2"],
    takes_command: false,
    from_plan: |declared, around| Ok(Box::new(Terasort::from_plan(declared, around)?)),
};

/// Of jobs that run at once, which is what published benchmarks of several jobs give: `wall` is the time of the last one alone.
const JOB_WALL_MEAN: &str = "job_wall_mean";

/// The Java that Hadoop's local mode runs on.
pub const JAVA: JavaNeeds = JavaNeeds {
    what: "Hadoop",
    versions: &[17, 11, 8],
    why: "Hadoop 3.3 needs Java 8, 11 or 17; newer ones took away the security manager that it still calls",
    package: "openjdk-17-jre-headless",
    program: None,
};

/// Where TeraSort's data lie in a cluster unless the user says so.
const CLUSTER_DIR: &str = "pagewise";

/// Brings Hadoop into the cache, unless it is there and whole. Gives the folder.
///
/// # Errors
/// When Maven is missing or fails, or what it brought is not what the committed list says.
pub fn fetch_hadoop(around: &Surroundings, progress: &dyn Progress) -> Result<PathBuf, WorkloadError> {
    fetch::fetch(&around.cache_dir, &around.interrupt, progress)
}

fn fetched(around: &Surroundings, progress: &dyn Progress) -> Result<String, WorkloadError> {
    let folder = fetch_hadoop(around, progress)?;
    Ok(format!("Hadoop {} is in {}", fetch::VERSION, folder.display()))
}

/// TeraSort with its arguments, and once prepared with its tools and its input.
pub struct Terasort {
    arguments: Arguments,
    cache_dir: PathBuf,
    hadoop: Option<PathBuf>,
    cluster_dir: String,
    interrupt: Interrupt,
    cpus: u32,
    ready: Option<Ready>,
}

struct Ready {
    tools: Tools,
    input: Input,
}

impl Terasort {
    /// With the arguments a plan declares.
    ///
    /// # Errors
    /// For an unknown argument or a value that cannot be.
    pub fn from_plan(declared: &plan::Workload, around: Surroundings) -> Result<Self, WorkloadError> {
        let mut arguments = Arguments::default();
        for (name, text) in super::as_typed(declared) {
            arguments = arguments.with(name, &text)?;
        }
        Ok(Terasort::new(arguments, around))
    }

    /// With these arguments.
    #[must_use]
    pub fn new(arguments: Arguments, around: Surroundings) -> Self {
        let cluster_dir = around.places.get("cluster-dir").map(|dir| dir.to_string_lossy().into_owned());
        Terasort {
            arguments,
            // The jobs start in folders of their own, where a relative path would lead astray.
            cache_dir: absolute(&around.cache_dir),
            hadoop: around.places.path("hadoop").map(absolute),
            cluster_dir: cluster_dir.unwrap_or_else(|| CLUSTER_DIR.to_owned()),
            interrupt: around.interrupt,
            cpus: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
            ready: None,
        }
    }

    fn tools(&self) -> Result<Tools, WorkloadError> {
        let cache = &self.cache_dir;
        let hadoop = Hadoop::find(&HadoopPlaces::here(self.hadoop.clone(), cache.clone()))?;
        let interrupt = self.interrupt.clone();
        if self.arguments.mode == Mode::Local {
            return Tools::in_process(hadoop, Java::choose(&programs::jvms(&Root::live()), &JAVA)?, cache, interrupt);
        }
        let Some(program) = hadoop.launcher.clone() else {
            return Err(WorkloadError::Missing(
                "mode=hadoop needs your own Hadoop with its bin/hadoop: name its folder with --hadoop or HADOOP_HOME. \
                 The files Pagewise fetches run in mode=local only"
                    .to_owned(),
            ));
        };
        let cluster = hadoop.cluster();
        Ok(Tools { hadoop, launch: Launch::Launcher { program, cluster }, interrupt })
    }

    /// The cluster behind `mode=hadoop`; nothing in local mode, or before Hadoop is found.
    fn cluster(&self) -> Option<Cluster> {
        if self.arguments.mode == Mode::Local {
            return None;
        }
        let launch = match &self.ready {
            Some(ready) => ready.tools.launch.clone(),
            None => self.tools().ok()?.launch,
        };
        match launch {
            Launch::Launcher { cluster, .. } => Some(cluster),
            Launch::InProcess { .. } => None,
        }
    }

    /// Whether jobs run in JVMs of their own on this host, so that heap, task maxima and JVM flags act.
    fn is_in_client(&self) -> bool {
        self.cluster().is_none_or(|cluster| cluster == Cluster::InClient)
    }

    /// The arguments of one run: the declared ones, and over them the policy's.
    fn arguments_for(&self, job: &JobSettings) -> Result<Arguments, WorkloadError> {
        for fixed in ["rows", "mode"] {
            if job.workload_args.contains_key(fixed) {
                return Err(WorkloadError::Usage(format!(
                    "a policy cannot set workload.{fixed}: every run of a trial sorts the same rows in the same place; \
                     give {fixed} as an argument of the workload"
                )));
            }
        }
        let apply = |arguments: Arguments, (name, value): (&String, &String)| arguments.with(name, value);
        let arguments = job.workload_args.iter().try_fold(self.arguments.clone(), apply)?;
        if !self.is_in_client() {
            refuse_in_cluster(&arguments, job)?;
        }
        if arguments.mode == Mode::Local {
            refuse_launcher_variables(job)?;
        }
        Ok(arguments)
    }

    fn ready(&self) -> Result<&Ready, WorkloadError> {
        self.ready
            .as_ref()
            .ok_or_else(|| WorkloadError::Step("TeraSort was not prepared before its first run".to_owned()))
    }

    fn sort_call<'a>(
        &self,
        ready: &Ready,
        run: &RunContext,
        arguments: &Arguments,
        output: String,
        tmp: &'a Path,
    ) -> Call<'a> {
        let sizes = arguments.sizes(self.cpus);
        let policy_sets_heap =
            run.job.java_options.iter().any(|o| o.starts_with("-Xmx") || o.starts_with("-XX:MaxHeapSize="));
        Call {
            tool: Tool::Sort,
            options: sort_options(&sizes, &arguments.options, self.is_in_client()),
            arguments: vec![self.input_of(ready, run), output],
            // What stands on the command line wins over JAVA_TOOL_OPTIONS, and the policy must win over us.
            heap: (!policy_sets_heap).then_some(sizes.heap),
            tmp,
            environment: run.job.environment(),
        }
    }

    /// The rows a run reads: the restored ones where there are such.
    fn input_of(&self, ready: &Ready, run: &RunContext) -> String {
        match self.restored(run) {
            Some(data) => data.join(input::ROWS).display().to_string(),
            None => ready.input.folder.clone(),
        }
    }

    /// The data restored for this run. Rows in a cluster's file system are not ours to restore.
    fn restored(&self, run: &RunContext) -> Option<PathBuf> {
        run.data.as_deref().filter(|_| self.arguments.mode == Mode::Local).map(absolute)
    }

    /// Where a run writes: beside the restored data, so that the disk under every output and every spill is the same
    /// from run to run as well; else in its scratch folder.
    fn work(&self, run: &RunContext) -> PathBuf {
        self.restored(run).map_or_else(|| absolute(&run.scratch), |data| data.join("run"))
    }

    /// Job `index`'s own folder: its `hadoop.tmp.dir`, and where it starts.
    fn tmp(&self, run: &RunContext, index: u32) -> PathBuf {
        self.work(run).join(format!("tmp{index}"))
    }

    /// Where job `index` writes its rows, or below the user's folder in the cluster.
    fn output(&self, run: &RunContext, kind: &str, index: u32) -> String {
        match self.arguments.mode {
            Mode::Local => self.work(run).join(format!("{kind}{index}")).display().to_string(),
            Mode::Hadoop => {
                let scratch = absolute(&run.scratch);
                let name = blake3::hash(scratch.as_os_str().as_encoded_bytes()).to_hex();
                format!("{}/terasort/run-{}/{kind}{index}", self.cluster_dir, &name[..12])
            }
        }
    }
}

/// How often the client asks whether its job has ended, in milliseconds. Hadoop's own 1,000 (`Job.java`,
/// `PROGRESS_MONITOR_POLL_INTERVAL_KEY`) would round every wall time up to whole seconds: of a run of four seconds a
/// difference of 20 % could vanish, and any noise with it.
const COMPLETION_POLL: u32 = 10;

/// Every `-D` of a sort: the report's, then what makes them act, then the user's over all.
fn sort_options(sizes: &Sizes, chosen: &BTreeMap<String, String>, in_client: bool) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> =
        scale::options(sizes).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut set = |name: &str, value: String| options.push((name.to_owned(), value));
    // Without a number of reduces there is one, and a maximum of reduce tasks at once does nothing.
    set("mapreduce.job.reduces", sizes.reduce_tasks.to_string());
    set("mapreduce.client.progressmonitor.pollinterval", COMPLETION_POLL.to_string());
    if in_client {
        if let Some(bytes) = scale::split_size(sizes.rows, sizes.map_tasks) {
            set("mapreduce.input.fileinputformat.split.maxsize", bytes.to_string());
        }
    } else {
        options.retain(|(name, _)| !name.starts_with("mapreduce.local."));
        let mut set = |name: &str, value: String| options.push((name.to_owned(), value));
        set("mapreduce.job.running.map.limit", sizes.map_tasks.to_string());
        set("mapreduce.job.running.reduce.limit", sizes.reduce_tasks.to_string());
    }
    options.retain(|(name, _)| !chosen.contains_key(name));
    options.extend(chosen.iter().map(|(name, value)| (name.clone(), value.clone())));
    options
}

/// In a cluster the tasks' JVMs are started by it, not by us.
fn refuse_in_cluster(arguments: &Arguments, job: &JobSettings) -> Result<(), WorkloadError> {
    let refuse = |what: &str, instead: &str| {
        Err(WorkloadError::Usage(format!("{what} acts on the client alone when the tasks run on YARN; {instead}")))
    };
    if arguments.heap.is_some() {
        return refuse("heap", "set mapreduce.map.java.opts and mapreduce.reduce.java.opts as arguments instead");
    }
    if let Some(name) = arguments.options.keys().find(|name| name.starts_with("mapreduce.local.")) {
        return refuse(name, "use map_tasks and reduce_tasks, which limit the running tasks there");
    }
    if !job.java_options.is_empty() {
        return refuse("jvm.*", "set mapreduce.map.java.opts and mapreduce.reduce.java.opts as workload.* instead");
    }
    if !job.env.is_empty() {
        return refuse("env.*", "set mapreduce.map.env and mapreduce.reduce.env as workload.* instead");
    }
    Ok(())
}

/// Variables that only Hadoop's launcher script reads: in process they would do nothing, silently.
fn refuse_launcher_variables(job: &JobSettings) -> Result<(), WorkloadError> {
    const READ_BY_LAUNCHER: [(&str, &str); 7] = [
        ("HADOOP_HEAPSIZE_MAX", "workload.heap=SIZE"),
        ("HADOOP_HEAPSIZE_MIN", "jvm.Xms=SIZE"),
        ("HADOOP_HEAPSIZE", "workload.heap=SIZE"),
        ("HADOOP_OPTS", "jvm.FLAG=VALUE"),
        ("HADOOP_CLIENT_OPTS", "jvm.FLAG=VALUE"),
        ("HADOOP_ROOT_LOGGER", "nothing: warnings and errors are shown"),
        ("HADOOP_CONF_DIR", "Hadoop options by name, such as workload.io.file.buffer.size=65536"),
    ];
    for (name, instead) in READ_BY_LAUNCHER {
        if job.env.contains_key(name) {
            return Err(WorkloadError::Usage(format!(
                "env.{name} does nothing in mode=local: only the hadoop launcher reads it, and the jobs are started \
                 without it; use {instead}"
            )));
        }
    }
    Ok(())
}

impl Workload for Terasort {
    fn describe(&self) -> String {
        let Sizes { rows, jobs, map_tasks, reduce_tasks, heap } = self.arguments.sizes(self.cpus);
        let jobs = if jobs == 1 { String::new() } else { format!(" in each of {jobs} jobs at once") };
        let heap = if self.is_in_client() { format!(", heap {} MiB", heap >> 20) } else { String::new() };
        format!("terasort, {} rows{jobs}, {map_tasks} map and {reduce_tasks} reduce tasks{heap}", thousands(rows))
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn runs_elsewhere(&self) -> Option<String> {
        match self.cluster()? {
            Cluster::Elsewhere(why) => Some(format!(
                "a policy for this host does not reach the job: {why}. Compare job-scope settings (workload.*), or run \
                 with mode=local on the host itself"
            )),
            Cluster::InClient | Cluster::YarnHere => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        let sizes = self.arguments.sizes(self.cpus);
        let memory = meminfo::read(&Root::live())
            .ok()
            .and_then(|meminfo| Some(Memory { total: *meminfo.get("MemTotal")?, swap: *meminfo.get("SwapTotal")? }));
        notes(&self.arguments, &sizes, self.is_in_client(), memory)
    }

    fn check_job(&self, job: &JobSettings) -> Result<(), WorkloadError> {
        self.arguments_for(job).map(|_| ())
    }

    fn prepare_trial(&mut self, progress: &dyn Progress) -> Result<(), WorkloadError> {
        progress.stage("looking for Java and Hadoop", None);
        let tools = self.tools()?;
        if let Launch::Launcher { cluster, .. } = &tools.launch
            && *cluster != Cluster::InClient
        {
            refuse_in_cluster(&self.arguments, &JobSettings::default())?;
        }
        if tools.hadoop.has_local_files() {
            let folder = absolute(Path::new(&self.cluster_dir));
            self.cluster_dir = folder.display().to_string();
        }
        let Arguments { rows, jobs, .. } = self.arguments;
        let input = input::prepare(&tools, &self.cache_dir, &self.cluster_dir, rows, jobs, progress)?;
        self.ready = Some(Ready { tools, input });
        Ok(())
    }

    /// The rows, with the record of their checksums.
    fn data_source(&self) -> Option<PathBuf> {
        self.ready.as_ref().and_then(|ready| ready.input.home.clone())
    }

    fn prepare_run(&mut self, run: &RunContext) -> Result<Vec<Command>, WorkloadError> {
        let arguments = self.arguments_for(&run.job)?;
        let ready = self.ready()?;
        if arguments.mode == Mode::Local {
            let bytes = input::space_of_jobs(arguments.rows.saturating_mul(ROW_BYTES), arguments.jobs);
            match self.restored(run) {
                Some(_) => input::room_beside_data(&self.work(run), bytes, arguments.rows)?,
                None => input::room(&run.scratch, bytes, arguments.rows)?,
            }
        }
        let command = |index: u32| {
            let output = self.output(run, "sorted", index);
            ready.tools.command(self.sort_call(ready, run, &arguments, output, &self.tmp(run, index)))
        };
        (0..arguments.jobs).map(command).collect()
    }

    fn failure_reason(&self, ended: &Ended) -> String {
        java::reason(ended)
    }

    fn measures(&self) -> &'static [OwnMeasure] {
        BUILT_IN.measures
    }

    fn measure(&self, name: &str, _run: &RunContext, ended: &JobEnded) -> Result<f64, String> {
        match name {
            JOB_WALL_MEAN if !ended.commands.is_empty() => {
                Ok(ended.commands.iter().map(|job| job.wall).sum::<f64>() / ended.commands.len() as f64)
            }
            JOB_WALL_MEAN => Err("no job was started".to_owned()),
            other => Err(format!("TeraSort does not measure {other}")),
        }
    }

    fn verify_run(&mut self, run: &RunContext) -> Result<Verification, WorkloadError> {
        let jobs = self.arguments_for(&run.job)?.jobs;
        let ready = self.ready()?;
        for index in 0..jobs {
            let (sorted, report) = (self.output(run, "sorted", index), self.output(run, "validated", index));
            let tmp = self.tmp(run, index);
            if let Some(why) = fault_of(ready, &sorted, &report, &tmp)? {
                return Ok(Verification::Wrong(format!("job {} of {jobs}: {why}", index + 1)));
            }
        }
        Ok(Verification::Right)
    }

    fn clean_run(&mut self, run: &RunContext) -> Result<(), WorkloadError> {
        let jobs = self.arguments_for(&run.job)?.jobs;
        let ready = self.ready()?;
        for index in 0..jobs {
            partial::remove(&self.tmp(run, index))?;
            ready.tools.remove(&self.output(run, "sorted", index))?;
            ready.tools.remove(&self.output(run, "validated", index))?;
        }
        Ok(())
    }

    /// The kept input of every number of rows.
    fn forget(&mut self) -> Result<Option<PathBuf>, WorkloadError> {
        let folder = self.cache_dir.join("terasort");
        partial::remove(&folder)?;
        Ok(Some(folder))
    }
}

/// What is wrong with one sorted output. One JVM: TeraValidate gives order and checksum at once.
fn fault_of(ready: &Ready, sorted: &str, report: &str, tmp: &Path) -> Result<Option<String>, WorkloadError> {
    ready.tools.remove(report)?;
    let arguments = vec![sorted.to_owned(), report.to_owned()];
    let ended = ready.tools.run(Tool::Validate, vec![], arguments, tmp, &mut || {})?;
    if !ended.status.is_success() {
        // TeraValidate ends so for rows out of order, too, once it has written which; its own failures have no report.
        let why = java::reason(&ended);
        if let Some(fault) = ready.tools.read_parts(report).ok().and_then(|text| fault_in(&text, &ready.input.checksum))
        {
            return Ok(Some(fault));
        }
        // The file system under it found damaged, cut or missing data: the output is wrong, not the check.
        let damage = ["ChecksumException", "EOFException", "InvalidInputException", "FileNotFoundException"];
        if damage.iter().any(|name| ended.stderr.contains(name)) {
            return Ok(Some(format!("the output in {sorted} is damaged or not there: {why}")));
        }
        return Err(WorkloadError::Step(format!("TeraValidate of {sorted} ended with {}: {why}", ended.status)));
    }
    Ok(fault_in(&ready.tools.read_parts(report)?, &ready.input.checksum))
}

/// TeraValidate writes `checksum SUM`, and `error WHAT` or a row's key for whatever is out of order.
fn fault_in(report: &str, wanted: &str) -> Option<String> {
    let lines = || report.lines().map(|line| line.split_once('\t').unwrap_or((line, "")));
    if let Some((kind, what)) = lines().find(|(kind, _)| *kind != "checksum") {
        return Some(format!("TeraValidate found rows out of order: {kind} {what}"));
    }
    match lines().find(|(kind, _)| *kind == "checksum") {
        Some((_, sum)) if sum.trim() == wanted => None,
        Some((_, sum)) => Some(format!(
            "the checksum of the sorted rows is {}, that of the input {wanted}: rows were lost, doubled or changed",
            sum.trim()
        )),
        None => Some("TeraValidate reported no checksum".to_owned()),
    }
}

/// The host's memory and swap space, bytes.
#[derive(Clone, Copy)]
struct Memory {
    total: u64,
    swap: u64,
}

fn notes(arguments: &Arguments, sizes: &Sizes, in_client: bool, memory: Option<Memory>) -> Vec<String> {
    let mut notes = Vec::new();
    let heaps = sizes.heap.saturating_mul(u64::from(sizes.jobs));
    if in_client
        && let Some(memory) = memory
        && heaps > memory.total.saturating_add(memory.swap)
    {
        notes.push(format!(
            "the heaps may grow to {:.1} GiB together, memory and swap are {:.1} GiB: jobs may be killed",
            gib(heaps),
            gib(memory.total.saturating_add(memory.swap))
        ));
    }
    if in_client && arguments.heap.is_none() && sizes.heap == scale::SMALLEST_HEAP {
        notes.push(format!(
            "heap: {} rows would get less than the {} MiB a job needs, so heap and data are not in the report's ratio",
            thousands(sizes.rows),
            sizes.heap >> 20
        ));
    }
    if in_client
        && arguments.map_tasks.is_some()
        && let Some(bytes) = scale::split_size(sizes.rows, sizes.map_tasks)
    {
        notes.push(format!(
            "map_tasks={}: the input has fewer splits of 32 MiB than that, so it is cut every {bytes} bytes",
            sizes.map_tasks
        ));
    }
    let without_effect: &[&str] = if in_client {
        &["mapreduce.job.heap.memory-mb.ratio", "mapreduce.job.running.map.limit", "mapreduce.job.running.reduce.limit"]
    } else {
        &[]
    };
    for name in without_effect.iter().filter(|name| arguments.options.contains_key(**name)) {
        notes.push(format!("{name} does nothing in Hadoop's local job runner: there are no containers"));
    }
    notes
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1_u64 << 30) as f64
}

/// 1000000 as `1,000,000`.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Status;

    fn terasort(pairs: &[(&str, &str)]) -> Terasort {
        let apply = |arguments: Arguments, (name, value): &(&str, &str)| arguments.with(name, value).unwrap();
        let arguments = pairs.iter().fold(Arguments::default(), apply);
        Terasort { cpus: 2, ..Terasort::new(arguments, Surroundings::new("/nonexistent", Interrupt::default())) }
    }

    fn job(args: &[(&str, &str)]) -> JobSettings {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        JobSettings { workload_args: args.iter().map(pair).collect(), ..JobSettings::default() }
    }

    #[test]
    fn a_policy_may_not_change_the_rows_between_runs() {
        assert!(terasort(&[]).check_job(&job(&[("rows", "5")])).is_err());
        assert!(terasort(&[]).check_job(&job(&[("map_tasks", "4"), ("heap", "300M")])).is_ok());
        assert!(terasort(&[]).check_job(&job(&[("tasks", "4")])).is_err());
    }

    #[test]
    fn a_variable_that_only_the_launcher_reads_is_refused_in_process() {
        let mut settings = job(&[]);
        settings.env.insert("HADOOP_HEAPSIZE_MAX".to_owned(), "20G".to_owned());
        let error = terasort(&[]).check_job(&settings).unwrap_err().to_string();
        assert!(error.contains("workload.heap"), "{error}");
    }

    #[test]
    fn reduce_tasks_set_the_number_of_reduces_and_the_users_options_win() {
        let sizes = terasort(&[("map_tasks", "2"), ("reduce_tasks", "3")]).arguments.sizes(2);
        let chosen = BTreeMap::from([("io.file.buffer.size".to_owned(), "1234".to_owned())]);
        let options = sort_options(&sizes, &chosen, true);
        let values = |name: &str| -> Vec<&str> {
            options.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
        };
        assert_eq!(values("mapreduce.job.reduces"), ["3"]);
        assert_eq!(
            values("mapreduce.client.progressmonitor.pollinterval"),
            ["10"],
            "wall times would be whole seconds"
        );
        assert_eq!(values("io.file.buffer.size"), ["1234"]);
    }

    #[test]
    fn local_task_maxima_become_limits_of_running_tasks_in_a_cluster() {
        let options = sort_options(&terasort(&[]).arguments.sizes(2), &BTreeMap::new(), false);
        assert!(options.iter().all(|(name, _)| !name.starts_with("mapreduce.local.")));
        assert!(options.iter().any(|(name, value)| name == "mapreduce.job.running.map.limit" && value == "2"));
        let with_heap = terasort(&[("heap", "1G")]).arguments;
        assert!(refuse_in_cluster(&with_heap, &JobSettings::default()).is_err());
    }

    #[test]
    fn a_report_of_teravalidate_is_read_for_order_and_checksum() {
        assert_eq!(fault_in("checksum\t7a12\n", "7a12"), None);
        assert!(fault_in("checksum\t7a13\n", "7a12").unwrap().contains("7a13"));
        assert!(fault_in("error\tmisorder in part-r-00000\nchecksum\t7a12\n", "7a12").unwrap().contains("misorder"));
        assert!(fault_in("", "7a12").is_some());
    }

    #[test]
    fn what_was_set_right_or_does_nothing_is_said() {
        let said = |pairs: &[(&str, &str)]| {
            let arguments = terasort(pairs).arguments;
            let memory = Memory { total: 8 << 30, swap: 1 << 30 };
            notes(&arguments, &arguments.sizes(2), true, Some(memory)).join("\n")
        };
        assert_eq!(said(&[]), "");
        assert!(said(&[("map_tasks", "8")]).contains("fewer splits"));
        assert!(said(&[("rows", "20_000")]).contains("ratio"));
        assert!(said(&[("jobs", "2"), ("heap", "5G")]).contains("10.0 GiB"));
        assert!(said(&[("mapreduce.job.heap.memory-mb.ratio", "0.8")]).contains("does nothing"));
    }

    #[test]
    fn the_mean_of_the_jobs_own_times_is_a_measure() {
        let ended = |walls: &[f64]| {
            let job = |wall: &f64| Ended {
                status: Status::Exited(0),
                wall: *wall,
                user: 0.0,
                system: 0.0,
                minor_faults: 0,
                major_faults: 0,
                voluntary_switches: 0,
                involuntary_switches: 0,
                stdout: String::new(),
                stderr: String::new(),
            };
            let commands = walls.iter().map(job).collect();
            JobEnded { wall: 9.5, noticed_late: 0.0, commands, stopped: None }
        };
        let workload = terasort(&[("jobs", "3")]);
        let names: Vec<&str> = workload.measures().iter().map(|measure| measure.name).collect();
        assert_eq!(names, ["job_wall_mean"]);
        let run = RunContext::new("/nonexistent", JobSettings::default());
        assert_eq!(workload.measure("job_wall_mean", &run, &ended(&[6.0, 7.0, 9.5])), Ok(7.5));
        assert!(workload.measure("job_wall_mean", &run, &ended(&[])).is_err());
    }

    #[test]
    fn the_size_is_in_the_description() {
        let text = terasort(&[("rows", "2_000_000"), ("jobs", "2"), ("heap", "1G")]).describe();
        assert_eq!(text, "terasort, 2,000,000 rows in each of 2 jobs at once, 1 map and 1 reduce tasks, heap 1024 MiB");
    }
}
