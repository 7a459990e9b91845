//! The arguments of a workload on Spark: its own, those that all of them have, and Spark's configuration by its names.

use super::super::{Argument, JobSettings, WorkloadError, java, quoted_for_java};
use super::Program;
use std::collections::BTreeMap;

/// What an argument of a program may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A whole number in these bounds.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What was asked for, complete with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// The program's own, numbers without `_`.
    pub(super) own: BTreeMap<String, String>,
    /// The version of Spark, when one was asked for.
    pub(super) version: Option<String>,
    /// Where it runs: `local[N]` or `local-cluster[…]`.
    pub(super) master: String,
    /// Largest heap of each JVM that computes, bytes.
    pub(super) heap: u64,
    /// Spark's configuration, over what the workload sets.
    conf: BTreeMap<String, String>,
}

/// Configuration that the workload needs for itself, and what to write instead.
const RESERVED: [(&str, &str); 6] = [
    ("spark.master", "write master=…"),
    ("spark.app.name", "leave it out"),
    ("spark.local.dir", "leave it out: every run has a folder of its own"),
    ("spark.driver.memory", "write heap=…"),
    ("spark.executor.memory", "write heap=…"),
    ("spark.submit.deployMode", "leave it out"),
];

const fn argument(name: &'static str, default: &'static str, about: &'static str) -> Argument {
    Argument { name, default, about }
}

const fn heap(default: &'static str) -> Argument {
    argument("heap", default, "largest heap of a JVM that computes, at least 512m")
}

/// Arguments that every program has.
pub(super) const VERSION: Argument =
    argument("version", "4.3.0, or that of your own", "Spark's version; several can be fetched");
/// See [`VERSION`].
pub(super) const MASTER: Argument =
    argument("master", "local[*]", "local[N], or local-cluster[WORKERS,CORES,MIB] with JVMs of their own");
/// See [`VERSION`].
pub(super) const HEAP: Argument = heap("1g");
/// See [`VERSION`]: that of programs whose data is to be large.
pub(super) const LARGE_HEAP: Argument = heap("4g");
/// See [`VERSION`].
pub(super) const CONF: Argument =
    argument("a name with a dot", "Spark's own", "Spark's configuration, such as spark.memory.fraction=0.6");

impl Arguments {
    /// The defaults of this program.
    pub(super) fn of(program: &Program) -> Arguments {
        let default = |name: &str| {
            let argument = program.built_in.arguments.iter().find(|argument| argument.name == name);
            argument.map(|argument| argument.default.replace(',', "")).unwrap_or_default()
        };
        let own = program.kinds.iter().map(|(name, _)| ((*name).to_owned(), default(name)));
        Arguments {
            own: own.collect(),
            version: None,
            master: MASTER.default.to_owned(),
            heap: java::bytes(&default("heap")).unwrap_or_default(),
            conf: BTreeMap::new(),
        }
    }

    /// These with `name` set to `value`.
    ///
    /// # Errors
    /// [`WorkloadError::Usage`] for an unknown name or a value that cannot be.
    pub(super) fn with(mut self, program: &Program, name: &str, value: &str) -> Result<Self, WorkloadError> {
        let workload = program.built_in.name;
        let bad = |wanted: &str| WorkloadError::Usage(format!("{workload} cannot have {name}={value}; write {wanted}"));
        if let Some((_, kind)) = program.kinds.iter().find(|(own, _)| *own == name) {
            let value = match kind {
                Kind::Number(least, most) => {
                    let number = value.replace('_', "").parse::<u64>().ok().filter(|n| (least..=most).contains(&n));
                    number.ok_or_else(|| bad(&format!("a whole number from {least} to {most}")))?.to_string()
                }
                Kind::Word(words) => {
                    let word = words.iter().find(|word| **word == value);
                    (*word.ok_or_else(|| bad(&words.join(" or ")))?).to_owned()
                }
            };
            self.own.insert(name.to_owned(), value);
            return Ok(self);
        }
        match name {
            "version" => self.version = Some(value.to_owned()),
            "master" if is_here(value) => self.master = value.to_owned(),
            "master" => {
                return Err(bad(
                    "local[N] or local-cluster[WORKERS,CORES,MIB]: what is compared are settings of this host",
                ));
            }
            "heap" => {
                let heap = java::bytes(value).filter(|bytes| *bytes >= 512 << 20);
                self.heap = heap.ok_or_else(|| bad("a size such as 700m or 4g, at least 512m"))?;
            }
            reserved if RESERVED.iter().any(|(known, _)| *known == reserved) => {
                let instead = RESERVED.iter().find(|(known, _)| *known == reserved).map_or("", |(_, instead)| instead);
                return Err(WorkloadError::Usage(format!("{workload} sets {reserved} itself; {instead}")));
            }
            conf if conf.starts_with("spark.") => {
                self.conf.insert(conf.to_owned(), value.to_owned());
            }
            _ => {
                let own: Vec<&str> = program.kinds.iter().map(|(name, _)| *name).collect();
                return Err(WorkloadError::Usage(format!(
                    "{workload} has no argument '{name}'; it has {}, version, master, heap, or Spark's configuration by its \
                     name (spark.memory.fraction)",
                    own.join(", ")
                )));
            }
        }
        Ok(self)
    }

    /// These with what a policy sets.
    ///
    /// # Errors
    /// [`WorkloadError::Usage`] for what a policy cannot set, too.
    pub(super) fn for_job(&self, program: &Program, job: &JobSettings) -> Result<Arguments, WorkloadError> {
        if job.workload_args.contains_key("version") {
            return Err(WorkloadError::Usage(
                "a policy cannot set workload.version: a trial has one Spark; give version as an argument of the workload"
                    .to_owned(),
            ));
        }
        let sets_heap = |option: &&String| option.starts_with("-Xmx") || option.starts_with("-XX:MaxHeapSize=");
        if let Some(option) = job.java_options.iter().find(sets_heap) {
            return Err(WorkloadError::Usage(format!(
                "{option} by jvm.* is not for Spark's JVMs: it writes their largest heap itself; use workload.heap=…"
            )));
        }
        job.workload_args.iter().try_fold(self.clone(), |all, (name, value)| all.with(program, name, value))
    }

    /// An argument of the program that is a number.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.own.get(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// The CPUs of all executors, where they have JVMs of their own.
    fn executor_cpus(&self) -> Option<u32> {
        let (executors, cpus, _) = cluster(&self.master)?;
        executors.checked_mul(cpus)
    }

    /// Spark's whole configuration, with a policy's options for the JVMs that compute: the driver's, or with executors of their own
    /// theirs. They stand on the command line, because G1 heeds `MaxNewSize` and `NewSize` nowhere else (`FLAG_IS_CMDLINE` in
    /// `src/hotspot/share/gc/g1/g1YoungGenSizer.cpp`, JDK 17).
    pub(super) fn confs_for(&self, java_options: &[String]) -> BTreeMap<String, String> {
        let mut confs = self.confs();
        if !java_options.is_empty() {
            let of = if self.executor_cpus().is_some() { "executor" } else { "driver" };
            // The policy's stand behind the user's and win.
            let options = confs.entry(format!("spark.{of}.extraJavaOptions")).or_default();
            for option in java_options {
                options.push_str(if options.is_empty() { "" } else { " " });
                options.push_str(&quoted_for_java(option));
            }
        }
        confs
    }

    /// Spark's whole configuration but for a policy.
    fn confs(&self) -> BTreeMap<String, String> {
        let heap = format!("{}m", self.heap >> 20);
        let mut confs = BTreeMap::from([
            ("spark.master", self.master.clone()),
            // No port, no thread that serves pages.
            ("spark.ui.enabled", "false".to_owned()),
            ("spark.log.level", "WARN".to_owned()),
        ]);
        if let Some(cpus) = self.executor_cpus() {
            confs.insert("spark.executor.memory", heap);
            // Else the first executor that is there would get all partitions. Spark waits for a share of `cores.max`, and without one for nobody.
            confs.insert("spark.scheduler.minRegisteredResourcesRatio", "1.0".to_owned());
            confs.insert("spark.cores.max", cpus.to_string());
        } else {
            confs.insert("spark.driver.memory", heap);
        }
        let confs = confs.into_iter().map(|(name, value)| (name.to_owned(), value));
        confs.chain(self.conf.clone()).collect()
    }
}

/// `local`, `local[N]`, `local[*]`, `local-cluster[W,C,M]`.
fn is_here(master: &str) -> bool {
    let cores = || inside(master, "local");
    master == "local"
        || cores().is_some_and(|cores| cores == "*" || cores.parse::<u32>().is_ok_and(|n| n > 0))
        || cluster(master).is_some_and(|(executors, cpus, memory)| executors > 0 && cpus > 0 && memory > 0)
}

/// Executors, CPUs of each and MiB of each worker of `local-cluster[W,C,M]`.
fn cluster(master: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = inside(master, "local-cluster")?.split(',').map(|part| part.trim().parse().ok());
    let all = (numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(all)
}

/// What stands in the brackets behind this name.
fn inside<'a>(master: &'a str, name: &str) -> Option<&'a str> {
    master.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::super::micro::PROGRAM;
    use super::super::{kmeans, logistic, pagerank};
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Arguments, WorkloadError> {
        let with = |all: Arguments, (name, value): &(&str, &str)| all.with(&PROGRAM, name, value);
        pairs.iter().try_fold(Arguments::of(&PROGRAM), with)
    }

    #[test]
    fn every_default_is_a_value_that_may_be_given() {
        let small = [&PROGRAM, &kmeans::PROGRAM].map(|program| (program, "1g"));
        let large = [&logistic::PROGRAM, &pagerank::PROGRAM].map(|program| (program, "4g"));
        for (program, heap) in small.into_iter().chain(large) {
            let defaults = Arguments::of(program);
            let own = defaults.own.clone().into_iter();
            for (name, value) in own.chain([("heap".to_owned(), heap.to_owned())]) {
                assert_eq!(defaults.clone().with(program, &name, &value).unwrap(), defaults, "{name}");
            }
        }
    }

    #[test]
    fn a_value_that_cannot_be_is_refused_with_what_can() {
        for (name, value, said) in [
            ("objects", "0", "whole number"),
            ("order", "backwards", "cached or random"),
            ("touch", "4081", "to 4080"),
            ("heap", "1m", "512m"),
            ("master", "yarn", "local-cluster"),
            ("master", "local-cluster[2,1]", "local-cluster"),
            ("master", "local[0]", "local-cluster"),
            ("spark.master", "local", "master="),
            ("spark.driver.memory", "1g", "heap="),
            ("colour", "red", "it has objects"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert!(error.to_string().contains(said), "{name}={value}: {error}");
        }
    }

    #[test]
    fn the_heap_goes_where_the_work_is_and_the_users_configuration_wins() {
        let confs = parse(&[("heap", "2g"), ("spark.ui.enabled", "true")]).unwrap().confs();
        assert_eq!((confs["spark.driver.memory"].as_str(), confs["spark.ui.enabled"].as_str()), ("2048m", "true"));
        let confs = parse(&[("heap", "1g"), ("master", "local-cluster[2,2,2048]")]).unwrap().confs();
        assert_eq!((confs["spark.executor.memory"].as_str(), confs["spark.cores.max"].as_str()), ("1024m", "4"));
        assert!(!confs.contains_key("spark.driver.memory"));
    }

    #[test]
    fn options_of_a_policy_stand_behind_the_users_where_the_work_is() {
        let options = ["-XX:MaxNewSize=2g".to_owned(), "-Da=b c".to_owned()];
        let confs = parse(&[("spark.driver.extraJavaOptions", "-Xint")]).unwrap().confs_for(&options);
        assert_eq!(confs["spark.driver.extraJavaOptions"], "-Xint -XX:MaxNewSize=2g \"-Da=b c\"");
        let confs = parse(&[("master", "local-cluster[2,2,2048]")]).unwrap().confs_for(&options);
        assert_eq!(confs["spark.executor.extraJavaOptions"], "-XX:MaxNewSize=2g \"-Da=b c\"");
        assert!(!confs.contains_key("spark.driver.extraJavaOptions"));
        assert!(!parse(&[]).unwrap().confs_for(&[]).keys().any(|name| name.contains("extraJavaOptions")));
    }

    #[test]
    fn a_policy_sets_confs_and_arguments_but_no_heap_that_spark_would_overrule() {
        let arguments = parse(&[]).unwrap();
        let mut job = JobSettings::default();
        job.workload_args.insert("spark.memory.fraction".to_owned(), "0.7".to_owned());
        job.workload_args.insert("order".to_owned(), "cached".to_owned());
        let given = arguments.for_job(&PROGRAM, &job).unwrap();
        assert_eq!((given.confs()["spark.memory.fraction"].as_str(), given.own["order"].as_str()), ("0.7", "cached"));
        job.java_options.push("-Xmx2g".to_owned());
        assert!(arguments.for_job(&PROGRAM, &job).unwrap_err().to_string().contains("workload.heap"));
    }
}
