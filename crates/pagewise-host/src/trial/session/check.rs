//! What can be known of a plan on this host before anything runs: what cannot work is an error, what is odd a note, what is weak
//! a lint.

use super::{Session, SessionError};
use crate::facts::{kernel, reclaim};
use crate::free_space::free_space;
use crate::guard::status::{self, Running};
use crate::process::find_program;
use crate::source::{meminfo, swaps, vmstat};
use crate::trial::engine::TrialError;
use crate::trial::live::job::Job;
use crate::trial::live::metric::told_of_log;
use crate::trial::locality::runs_elsewhere;
use crate::tunable::{self, Resolved, held};
use crate::workload::{self, Surroundings, Workload, WorkloadError};
use pagewise_core::experiment::data::Restore;
use pagewise_core::experiment::live::Live;
use pagewise_core::experiment::live::metric::LiveMetric;
use pagewise_core::experiment::live::switching::{self, SwitchedTunable};
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::lint::{self, Lint};
use pagewise_core::experiment::plan::{Factor, Plan, numbers};
use pagewise_core::tunable::policy::{Policy, Setting};
use pagewise_core::unit::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

impl Session<'_> {
    /// Everything that can be known to be wrong before anything runs; what is odd but allowed comes back as notes.
    pub fn check(&self, plan: &Plan, same_on_purpose: bool) -> Result<Vec<String>, SessionError> {
        if let Some(live) = &plan.live {
            return self.check_live(plan, live, same_on_purpose);
        }
        let job = self.workload(plan)?;
        if let Some(guests) = plan.guests().filter(|_| self.runs_in_guests(plan)) {
            // What a guest's kernel can be set to is known once it runs.
            return self.check_guests(plan, &guests);
        }
        let mut touches_host = None;
        for cell in cells(plan)? {
            let resolved = tunable::resolve(&self.root, &self.places, &cell.policy)?;
            job.check_job(&resolved.job)?;
            if !resolved.host.is_empty() && touches_host.is_none() {
                touches_host = Some(cell.label);
            }
        }
        let read = |path: &Path| fs::read_to_string(path).ok();
        let env: BTreeMap<String, String> = env::vars().collect();
        let elsewhere = job.runs_elsewhere().or_else(|| runs_elsewhere(&plan.workload.run, &env, &read));
        if let (Some(reason), Some(cell)) = (elsewhere, touches_host) {
            return Err(SessionError::Elsewhere { cell, reason });
        }
        find_programs(plan)?;
        let mut notes = self.kernels_not_here(plan);
        notes.extend(self.notes_of_any(plan, same_on_purpose));
        Ok(notes)
    }

    /// What is to be known of a plan on this host, whether it starts jobs or switches under one.
    fn notes_of_any(&self, plan: &Plan, same_on_purpose: bool) -> Vec<String> {
        let mut notes = self.guards_beside();
        notes.extend(guard_may_little(plan, || reclaim::guard_lacks(&self.root)));
        notes.extend(no_swap(plan, self.has_no_swap()));
        notes.extend(cold_huge_pages(plan, kernel::free_page_reporting(&self.root)));
        notes.extend(no_spark_configuration(plan));
        notes.extend(self.levels_out_of_reach(plan));
        if !same_on_purpose {
            notes.extend(self.levels_that_change_nothing(plan));
        }
        notes
    }

    fn has_no_swap(&self) -> bool {
        self.root.read(swaps::PATH).is_ok_and(|text| swaps::lines(&text).next().is_none())
    }

    /// A guard that somebody else started takes page cache in every run: no arm is without it.
    fn guards_beside(&self) -> Vec<String> {
        let note = |Running { pid, command, .. }: &Running| {
            if held::is_kept_by(command) {
                return format!(
                    "another trial switches a guard on and off on this host ({command}, process {pid}): nobody knows in which runs of this one. Let that \
                     one end first"
                );
            }
            format!("a guard runs on this host, in the runs of every arm alike: {command} (process {pid})")
        };
        status::running(&self.root).iter().filter(|guard| guard.acts()).map(note).collect()
    }

    /// What of a plan cannot be had on this host, is too large for it, or changes nothing on it.
    pub fn lints(&self, plan: &Plan) -> Vec<Lint> {
        let lint = |id: &str, text: String| Lint { id: id.to_owned(), text };
        let impossible = |text: String| lint("not-possible-here", text);
        if let Some(guests) = plan.guests().filter(|_| self.runs_in_guests(plan)) {
            let wrong = self.check_guests(plan, &guests).err().map(|error| error.to_string());
            let wrong = wrong.or_else(|| self.workload(plan).err().map(|error| error.to_string()));
            return wrong.into_iter().map(impossible).collect();
        }
        let mut found = Vec::new();
        if let Some(Err(error)) = plan.everywhere.as_deref().map(|text| self.resolve(text)) {
            found.push(impossible(format!("'everywhere' cannot be had on this host: {error}")));
        }
        for factor in &plan.factors {
            for (level, text) in &factor.levels {
                if let Err(error) = self.resolve(text) {
                    found.push(impossible(format!(
                        "'{level}' of '{}' cannot be had on this host: {error}",
                        factor.name
                    )));
                }
            }
        }
        found.extend(self.kernels_not_here(plan).into_iter().map(impossible));
        for (step, argv) in commands(plan) {
            if let Some(Err(error)) = argv.first().map(|program| find_program(program)) {
                found.push(impossible(format!("the job's {step} cannot start: {error}")));
            }
        }
        for factor in &plan.factors {
            let changes_nothing = |text: &String| self.resolve(text).is_ok_and(|found| self.changes_nothing(&found));
            let same: Vec<String> = factor
                .levels
                .iter()
                .filter(|(_, text)| changes_nothing(text))
                .map(|(level, _)| format!("'{level}'"))
                .collect();
            // One level may well be what the host has; a second one makes two levels the same.
            if same.len() > 1 {
                let text =
                    format!("{} of '{}' change nothing here: they are the same", same.join(" and "), factor.name);
                found.push(lint("changes-nothing", text));
            }
        }
        found.extend(self.levels_out_of_reach(plan).into_iter().map(|text| lint("out-of-reach", text)));
        let bytes = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Bytes>().ok());
        let memory = meminfo::read(&self.root).ok().and_then(|read| read.get("MemTotal").copied());
        if let (Some(needed), Some(here)) = (bytes(&plan.cost.memory), memory)
            && needed.0 > here
        {
            let text = format!("a run needs {needed} of memory, and this host has {}", Bytes(here));
            found.push(lint("too-large-here", text));
        }
        if let (Some(needed), Some(free)) = (bytes(&plan.cost.disk), free_space(&self.places.cache).ok().map(Bytes))
            && needed > free
        {
            let text = format!("a run needs {needed} on disk, and {} has {free} free", self.places.cache.display());
            found.push(lint("too-large-here", text));
        }
        // What is wrong with the workload itself is an error, and told before.
        let needs_data = plan.data.restore != Restore::None && plan.workload.name == "command" && self.data.is_none();
        if needs_data && plan.live.is_none() {
            found.push(impossible(format!(
                "data.restore is \"{}\", and no {} names what comes back",
                plan.data.restore, self.words.data
            )));
        }
        if let Err(error) = self.workload(plan)
            && plan.live.is_none()
        {
            found.push(impossible(error.to_string()));
        }
        found.extend(self.unknown(plan));
        found
    }

    /// Names of numbers that no run on this host will have, as far as anybody knows.
    fn unknown(&self, plan: &Plan) -> Vec<Lint> {
        let counters: Option<BTreeSet<String>> = vmstat::read(&self.root).ok().map(|read| read.into_keys().collect());
        numbers::lints(plan, workload::measures_of(&plan.workload), counters.as_ref())
    }

    /// The same in words.
    pub fn unknown_numbers(&self, plan: &Plan) -> Vec<String> {
        self.unknown(plan).into_iter().map(|lint| format!("{}: {}", lint.id, lint.text)).collect()
    }

    /// Whether the kernel that runs takes a policy, or anything else of this host stands in its way.
    pub fn can_have(&self, policy: &Policy) -> bool {
        tunable::resolve(&self.root, &self.places, policy).is_ok()
    }

    /// What is wrong with a plan's workload on any host: there is none of that name, or it has no such argument.
    pub fn wrong_workload(&self, plan: &Plan) -> Option<String> {
        let error = self.workload(plan).err().filter(|_| plan.live.is_none())?;
        matches!(error, WorkloadError::Usage(_)).then(|| error.to_string())
    }

    fn levels_that_change_nothing(&self, plan: &Plan) -> Vec<String> {
        let levels = plan.factors.iter().flat_map(|factor| &factor.levels);
        let nothing = |(level, text): (&String, &String)| {
            let resolved = self.resolve(text).ok()?;
            (text != "now" && self.changes_nothing(&resolved))
                .then(|| format!("'{level}' is what this host has already, so it changes nothing here"))
        };
        levels.filter_map(nothing).collect()
    }

    /// Levels whose kernel is not installed here, as far as that can be seen.
    fn kernels_not_here(&self, plan: &Plan) -> Vec<String> {
        let levels = plan.factors.iter().flat_map(|factor| factor.levels.iter().map(move |level| (factor, level)));
        let missing = |(factor, (level, text)): (&Factor, (&String, &String))| {
            let resolved = self.resolve(text).ok()?;
            let kernel = tunable::boot::not_installed(&self.root, &resolved)?;
            Some(format!(
                "'{level}' of '{}' needs kernel {kernel}, which is not installed here: neither /boot nor /lib/modules has it. \
                 Install it, or write it as uname -r prints it; one that is kept elsewhere is not seen",
                factor.name
            ))
        };
        levels.filter_map(missing).collect()
    }

    /// What levels set on the host and a job started here would not go by. Each thing once.
    fn levels_out_of_reach(&self, plan: &Plan) -> Vec<String> {
        let levels = plan.factors.iter().flat_map(|factor| factor.levels.values());
        let texts: BTreeSet<String> = levels
            .chain(&plan.everywhere)
            .filter_map(|text| tunable::out_of_reach(&self.root, &self.resolve(text).ok()?))
            .collect();
        texts.into_iter().collect()
    }

    fn resolve(&self, policy: &str) -> Result<Resolved, SessionError> {
        let policy = tunable::load_policy(policy)?;
        Ok(tunable::resolve(&self.root, &self.places, &policy)?)
    }

    fn changes_nothing(&self, resolved: &Resolved) -> bool {
        let job = &resolved.job;
        let nothing_for_the_job = job == &workload::JobSettings::default();
        // The kernel that runs is a level like any other: the other levels of its factor need a boot.
        nothing_for_the_job
            && resolved.boot.is_empty()
            && resolved.host.iter().all(|setting| setting.is_in_force(&self.root))
    }

    pub(super) fn workload(&self, plan: &Plan) -> Result<Box<dyn Workload>, WorkloadError> {
        let mut around = Surroundings::new(&self.places.cache, self.interrupt.clone());
        around.places.clone_from(&self.named);
        around.data.clone_from(&self.data);
        workload::from_plan(&plan.workload, around)
    }

    /// Everything that can be known to be wrong with a live plan before anything runs; what is odd but allowed comes back as notes.
    fn check_live(&self, plan: &Plan, live: &Live, same_on_purpose: bool) -> Result<Vec<String>, SessionError> {
        if let Some((key, why)) = live.problems().into_iter().next() {
            return Err(SessionError::Live { key, why });
        }
        let metric = LiveMetric::parse(plan.metric().place())?;
        let told = told_of_log(&metric, !plan.workload.run.is_empty())
            .map_err(|why| SessionError::Trial(TrialError::NoLiveMetric { metric: plan.metric().name.clone(), why }))?;
        if let Some(pid) = live.pid {
            Job::process(&self.root, pid).map_err(SessionError::Trial)?;
        }
        let policies: Vec<Policy> = cells(plan)?.into_iter().map(|cell| cell.policy).collect();
        let switched = switching::tunables(&policies, live.short_lived)?;
        for policy in &policies {
            tunable::resolve(&self.root, &self.places, policy)?;
        }
        find_programs(plan)?;
        let read = |path: &Path| fs::read_to_string(path).ok();
        let env: BTreeMap<String, String> = env::vars().collect();
        if let Some(reason) = runs_elsewhere(&plan.workload.run, &env, &read) {
            return Err(SessionError::LiveElsewhere { reason });
        }
        let mut notes: Vec<String> = switched.iter().map(|one| note_of(one, live)).collect();
        notes.extend(told);
        notes.extend(self.notes_of_any(plan, same_on_purpose));
        Ok(notes)
    }
}

/// Why a tunable is waited for, for the report.
fn note_of(one: &SwitchedTunable, live: &Live) -> String {
    let wait = one.wait;
    let (settle, washout) = (live.settle_seconds, live.washout_seconds);
    let mut note = format!("{}: {}", one.tunable, wait.reason);
    if settle + washout < wait.settle + wait.washout {
        note.push_str(&format!(
            "; {} s of waiting were asked for, and as far as we know it takes {} s",
            settle + washout,
            wait.settle + wait.washout
        ));
    }
    if one.new_only {
        note.push_str("; the plan says that what runs is made of processes that end within a block");
    }
    note
}

/// The commands of a job with what each is for. Empty for a built-in workload.
fn commands(plan: &Plan) -> [(&'static str, &[String]); 4] {
    let job = &plan.workload;
    [
        ("command", job.run.as_slice()),
        ("prepare command", job.prepare.as_slice()),
        ("verify command", job.verify.as_slice()),
        ("clean command", job.clean.as_slice()),
    ]
}

/// That each of them can start.
fn find_programs(plan: &Plan) -> Result<(), SessionError> {
    for (_, argv) in commands(plan) {
        argv.first().map(|program| find_program(program)).transpose()?;
    }
    Ok(())
}

/// The policies of a plan as texts: of every level, and what holds everywhere.
fn policies_of(plan: &Plan) -> impl Iterator<Item = &String> {
    plan.factors.iter().flat_map(|factor| factor.levels.values()).chain(&plan.everywhere)
}

/// What levels set.
fn settings_of<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<Setting> {
    let policies = texts.filter_map(|text| text.parse::<Policy>().ok());
    policies.flat_map(|policy| policy.settings).collect()
}

/// A guard that may do little gives little back, which is no measure of a guard. `lacks` says what it lacks.
fn guard_may_little(plan: &Plan, lacks: impl FnOnce() -> Option<String>) -> Option<String> {
    let guards = settings_of(policies_of(plan)).iter().any(|setting| setting.name == "guard" && setting.value != "off");
    guards.then(lacks).flatten().map(|lacks| format!("of a guard that may do little this says little: {lacks}"))
}

/// Levels that differ in when to swap, on a host that has nothing to swap to and gets nothing from any level.
fn no_swap(plan: &Plan, has_none: bool) -> Vec<String> {
    if !has_none || settings_of(policies_of(plan)).iter().any(|setting| setting.name == "swap") {
        return Vec::new();
    }
    let note = |factor: &Factor| {
        let mut names = settings_of(factor.levels.values()).into_iter().map(|setting| setting.name);
        let when = names.find(|name| name.ends_with("swappiness"))?;
        Some(format!(
            "this host has no swap, so {when} has next to nothing to act on: memory of programs cannot leave RAM. Levels of '{}' may \
             set swap as well: swap=zram:4G,{when}=…",
            factor.name
        ))
    };
    plan.factors.iter().filter_map(note).collect()
}

/// Where free memory goes back to the hypervisor it goes in whole huge pages, so levels differ in how much cold memory they touch.
fn cold_huge_pages(plan: &Plan, free_page_reporting: Option<bool>) -> Vec<String> {
    let note = |factor: &Factor| {
        let policies: Vec<Policy> = factor.levels.values().filter_map(|text| text.parse().ok()).collect();
        let (first, others) = policies.split_first()?;
        let differing: BTreeSet<String> = others.iter().flat_map(|other| lint::differing(first, other)).collect();
        let by_spark = || spark_configurations(factor.levels.values()).any(|folder| asks_for_huge_pages(&folder));
        let decides = |name: &&str| makes_huge_pages(name) || *name == SPARK_CONF_DIR && by_spark();
        let names: Vec<&str> = differing.iter().map(String::as_str).filter(decides).collect();
        (!names.is_empty()).then(|| {
            format!(
                "free memory goes back to the hypervisor here, in blocks of 2 MiB (free page reporting), and costs several times as \
                 much to touch again. Levels of '{}' differ in huge pages ({}), so they differ in how much of that they meet, too: \
                 an early part of a run says more of this virtual machine than a late one. --warm-memory 8G touches what is free before every \
                 run (in a plan: warm_memory in [design])",
                factor.name,
                names.join(", ")
            )
        })
    };
    let is_cold = free_page_reporting == Some(true) && plan.design.warm_memory_bytes() == 0;
    let factors = plan.factors.iter().filter(|_| is_cold);
    factors.filter_map(note).collect()
}

const SPARK_CONF_DIR: &str = "env.SPARK_CONF_DIR";

/// The folders that levels name for Spark's configuration.
fn spark_configurations<'l>(levels: impl Iterator<Item = &'l String>) -> impl Iterator<Item = PathBuf> {
    let settings = settings_of(levels).into_iter().filter(|setting| setting.name == SPARK_CONF_DIR);
    settings.map(|setting| PathBuf::from(setting.value))
}

/// Whether such a configuration decides which memory comes in huge pages.
fn asks_for_huge_pages(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join("spark-defaults.conf")).unwrap_or_default();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.any(|line| line.starts_with("spark.pagewise.policy") || line.contains("UseTransparentHugePages"))
}

/// Spark that finds no folder of its configuration begins without one and says nothing.
fn no_spark_configuration(plan: &Plan) -> Vec<String> {
    let absent: BTreeSet<PathBuf> = spark_configurations(policies_of(plan)).filter(|folder| !folder.is_dir()).collect();
    let note = |folder: PathBuf| {
        format!(
            "there is no folder {} here for SPARK_CONF_DIR: Spark takes its defaults then, and says nothing; pagewise spark conf --into makes one",
            folder.display()
        )
    };
    absent.into_iter().map(note).collect()
}

/// Whether a tunable decides which memory comes in huge pages.
fn makes_huge_pages(name: &str) -> bool {
    let families = ["thp.", "khugepaged.", "mthp[", "workload.spark.pagewise."];
    let others = [
        "process.thp",
        "jvm.UseTransparentHugePages",
        "jvm.UseLargePages",
        "vm.nr_hugepages",
        "vm.nr_overcommit_hugepages",
    ];
    families.iter().any(|family| name.starts_with(family)) || others.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::experiment::plan::{Design, source};

    fn plan(a: &str, b: &str) -> Plan {
        let text = format!(
            "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[[metric]]\nname = 'wall'\n[[factor]]\nname = 'pages'\n\
             levels.a = '{a}'\nlevels.b = '{b}'\n[[contrast]]\nfactor = 'pages'\na = 'a'\nb = 'b'\n"
        );
        source::read(&text, "plan.toml").unwrap()
    }

    #[test]
    fn when_to_swap_is_noted_where_there_is_no_swap() {
        let when = plan("vm.swappiness=1", "vm.swappiness=60");
        let notes = no_swap(&when, true);
        assert!(notes.len() == 1 && notes[0].contains("no swap, so vm.swappiness"), "{notes:?}");
        assert_eq!(no_swap(&when, false), [""; 0]);
        assert_eq!(no_swap(&plan("vm.swappiness=1", "swap=zram:1G,vm.swappiness=60"), true), [""; 0]);
        assert_eq!(no_swap(&plan("thp.enabled=never", "thp.enabled=always"), true), [""; 0]);
    }

    #[test]
    fn a_configuration_of_spark_counts_by_what_it_holds_and_one_that_is_not_there_is_noted() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str, text: &str| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("spark-defaults.conf"), text).unwrap();
            format!("env.SPARK_CONF_DIR={}", folder.display())
        };
        let none = folder("none", "spark.driver.memory 1g\n");
        let other = folder("other", "spark.driver.memory 2g\n# spark.pagewise.policy storage\n");
        let storage = folder("storage", "spark.pagewise.policy storage\n");
        let notes = cold_huge_pages(&plan(&none, &storage), Some(true));
        assert!(notes.len() == 1 && notes[0].contains("(env.SPARK_CONF_DIR)"), "{notes:?}");
        assert_eq!(cold_huge_pages(&plan(&none, &other), Some(true)), [""; 0]);
        assert_eq!(no_spark_configuration(&plan(&none, &storage)), [""; 0]);
        let notes = no_spark_configuration(&plan(&none, "env.SPARK_CONF_DIR=/nowhere/at/all"));
        assert!(notes.len() == 1 && notes[0].contains("no folder /nowhere/at/all"), "{notes:?}");
    }

    #[test]
    fn levels_of_huge_pages_are_noted_where_free_memory_goes_back() {
        let thp = plan("thp.enabled=never,vm.swappiness=1", "thp.enabled=always,vm.swappiness=1");
        let notes = cold_huge_pages(&thp, Some(true));
        assert!(notes.len() == 1 && notes[0].contains("(thp.enabled)"), "{notes:?}");
        assert_eq!(cold_huge_pages(&thp, Some(false)), [""; 0]);
        assert_eq!(cold_huge_pages(&thp, None), [""; 0]);
        let warm = Plan { design: Design { warm_memory: Some("8G".to_owned()), ..thp.design.clone() }, ..thp.clone() };
        assert_eq!(cold_huge_pages(&warm, Some(true)), [""; 0]);
        let same = plan("thp.enabled=always,vm.swappiness=1", "thp.enabled=always,vm.swappiness=60");
        assert_eq!(cold_huge_pages(&same, Some(true)), [""; 0]);
    }
}
