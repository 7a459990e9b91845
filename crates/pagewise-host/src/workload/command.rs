//! The user's own command as a workload: what is timed, and the commands around it.

use super::{JobSettings, RunContext, Surroundings, Verification, Workload, WorkloadError, java};
use crate::process::{self, Command, Ended, Interrupt};
use crate::progress::Progress;
use pagewise_core::experiment::plan;
use pagewise_core::spelling::did_you_mean;
use pagewise_core::tunable::jvm;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The variable that tells the commands where the restored data are.
pub const DATA_VARIABLE: &str = "PAGEWISE_DATA";

/// Argument vectors; an empty one means there is nothing to do in that step.
pub struct CommandWorkload {
    run: Vec<String>,
    prepare: Vec<String>,
    verify: Vec<String>,
    clean: Vec<String>,
    data: Option<PathBuf>,
    /// Of the `java` that the command starts, once they were asked for.
    java_flags: OnceCell<BTreeSet<String>>,
    interrupt: Interrupt,
}

impl CommandWorkload {
    /// The commands a plan declares.
    ///
    /// # Errors
    /// When there is no command to time, or an argument stands beside it.
    pub fn from_plan(declared: &plan::Workload, around: Surroundings) -> Result<Self, WorkloadError> {
        if declared.run.is_empty() {
            return Err(WorkloadError::Usage(
                "the workload 'command' has no command to time; give it with run = [\"program\", \"argument\"], or \
                 after -- on the command line"
                    .to_owned(),
            ));
        }
        if let Some(name) = declared.args.keys().next() {
            return Err(no_arguments(name));
        }
        Ok(CommandWorkload {
            run: declared.run.clone(),
            prepare: declared.prepare.clone(),
            verify: declared.verify.clone(),
            clean: declared.clean.clone(),
            // What cannot be made absolute (the current folder is gone) fails where it is used.
            data: around.data.map(|folder| std::path::absolute(&folder).unwrap_or(folder)),
            java_flags: OnceCell::new(),
            interrupt: around.interrupt,
        })
    }

    fn step(&self, argv: &[String], run: &RunContext) -> Result<Ended, WorkloadError> {
        let command = Command { argv: argv.to_vec(), env: environment(run), ..Command::default() };
        let ended = process::run_step(&command, &self.interrupt, &mut || {})?;
        self.interrupt.check()?;
        Ok(ended)
    }
}

/// The policy's variables, and where the restored data are.
fn environment(run: &RunContext) -> BTreeMap<String, String> {
    let mut environment = run.job.environment();
    let data = run.data.as_ref().map(|folder| (DATA_VARIABLE.to_owned(), folder.to_string_lossy().into_owned()));
    environment.extend(data);
    environment
}

/// Variables that HotSpot and its launcher read after the one that carries a policy.
const AFTER_TOOL_OPTIONS: [&str; 2] = ["JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

fn overridden(option: &str, word: &str, place: &str) -> WorkloadError {
    WorkloadError::Usage(format!(
        "{place} has {word}, which the JVM reads after the policy's {option}: the policy would change nothing. Take {word} out of {place}; what \
         both arms shall have goes into both policies"
    ))
}

fn no_arguments(name: &str) -> WorkloadError {
    WorkloadError::Usage(format!(
        "a command has no workload argument '{name}': only built-in workloads have; pass it in the command itself, or \
         as a variable with env.NAME=VALUE"
    ))
}

fn failed(step: &str, argv: &[String], ended: &Ended) -> String {
    format!("the {step} command '{}' ended with {}: {}", argv.join(" "), ended.status, ended.last_words())
}

impl Workload for CommandWorkload {
    fn describe(&self) -> String {
        self.run.join(" ")
    }

    fn is_builtin(&self) -> bool {
        false
    }

    fn check_job(&self, job: &JobSettings) -> Result<(), WorkloadError> {
        if let Some(name) = job.workload_args.keys().next() {
            return Err(no_arguments(name));
        }
        let java = jvm::java_command(&self.run);
        let words = java.as_deref().map(|words| jvm::options_and_rest(words).0).unwrap_or_default();
        if let Some((option, word)) = jvm::overridden(&job.java_options, &words) {
            return Err(overridden(option, word, "the command"));
        }
        let program = java.as_ref().and_then(|words| words.first());
        let asks = !job.java_options.is_empty() && !words.contains(&jvm::IGNORES_UNKNOWN);
        if let Some(program) = program.filter(|_| asks) {
            let known = self.java_flags.get_or_init(|| java::flags(program, &self.interrupt));
            if let Some(flag) = jvm::unknown_flag(&job.java_options, known) {
                let meant = did_you_mean(flag, known.iter().map(String::as_str));
                return Err(WorkloadError::Usage(format!("{program} has no flag {flag}{meant}")));
            }
        }
        for name in AFTER_TOOL_OPTIONS {
            let text = job.env.get(name).cloned().or_else(|| std::env::var(name).ok()).unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            if let Some((option, word)) = jvm::overridden(&job.java_options, &words) {
                return Err(overridden(option, word, name));
            }
        }
        Ok(())
    }

    fn prepare_trial(&mut self, _progress: &dyn Progress) -> Result<(), WorkloadError> {
        let commands = [&self.run, &self.prepare, &self.verify, &self.clean];
        let programs = commands.into_iter().filter_map(|argv| argv.first());
        for program in programs {
            process::find_program(program)?;
        }
        Ok(())
    }

    fn data_source(&self) -> Option<PathBuf> {
        self.data.clone()
    }

    fn prepare_run(&mut self, run: &RunContext) -> Result<Vec<Command>, WorkloadError> {
        self.check_job(&run.job)?;
        if !self.prepare.is_empty() {
            let ended = self.step(&self.prepare, run)?;
            if !ended.status.is_success() {
                return Err(WorkloadError::Step(failed("prepare", &self.prepare, &ended)));
            }
        }
        Ok(vec![Command { argv: self.run.clone(), env: environment(run), ..Command::default() }])
    }

    fn verify_run(&mut self, run: &RunContext) -> Result<Verification, WorkloadError> {
        if self.verify.is_empty() {
            return Ok(Verification::NotChecked);
        }
        let ended = self.step(&self.verify, run)?;
        Ok(if ended.status.is_success() {
            Verification::Right
        } else {
            Verification::Wrong(failed("verify", &self.verify, &ended))
        })
    }

    /// Runs to its end even after Ctrl-C: it is what puts the user's things away.
    fn clean_run(&mut self, run: &RunContext) -> Result<(), WorkloadError> {
        if self.clean.is_empty() {
            return Ok(());
        }
        let command = Command { argv: self.clean.clone(), env: environment(run), ..Command::default() };
        let ended = process::run_step(&command, &Interrupt::default(), &mut || {})?;
        if !ended.status.is_success() {
            return Err(WorkloadError::Step(failed("clean", &self.clean, &ended)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn workload(prepare: &str, verify: &str) -> CommandWorkload {
        let declared = plan::Workload {
            name: "command".to_owned(),
            run: words("sleep 0"),
            prepare: words(prepare),
            verify: words(verify),
            clean: vec![],
            args: BTreeMap::new(),
        };
        let mut around = Surroundings::new("/nonexistent", Interrupt::default());
        around.data = Some("/data".into());
        CommandWorkload::from_plan(&declared, around).unwrap()
    }

    fn context() -> RunContext {
        RunContext::new("/nonexistent", JobSettings::default())
    }

    #[test]
    fn a_failing_verify_command_makes_the_run_wrong_and_says_which_it_was() {
        let verdict = workload("", "false").verify_run(&context()).unwrap();
        assert!(matches!(&verdict, Verification::Wrong(why) if why.contains("'false'")), "{verdict:?}");
        assert_eq!(workload("", "true").verify_run(&context()).unwrap(), Verification::Right);
        assert_eq!(workload("", "").verify_run(&context()).unwrap(), Verification::NotChecked);
    }

    #[test]
    fn a_failing_prepare_command_stops_the_run() {
        assert!(matches!(workload("false", "").prepare_run(&context()), Err(WorkloadError::Step(_))));
        assert_eq!(workload("true", "").prepare_run(&context()).unwrap()[0].argv, words("sleep 0"));
    }

    #[test]
    fn an_argument_a_command_cannot_have_is_refused_before_the_first_run() {
        let mut job = JobSettings::default();
        job.workload_args.insert("rows".to_owned(), "5".to_owned());
        assert!(workload("", "").check_job(&job).is_err());
    }

    #[test]
    fn every_step_finds_the_restored_data_and_none_of_them_a_folder_that_is_not_restored() {
        let mut run = context();
        assert!(!workload("", "").prepare_run(&run).unwrap()[0].env.contains_key(DATA_VARIABLE));
        run.data = Some("/restored/data".into());
        let mut job = workload("", "");
        job.verify = ["sh", "-c", "test \"$PAGEWISE_DATA\" = /restored/data"].map(str::to_owned).to_vec();
        assert_eq!(job.prepare_run(&run).unwrap()[0].env[DATA_VARIABLE], "/restored/data");
        assert_eq!(job.verify_run(&run).unwrap(), Verification::Right);
        assert_eq!(job.data_source(), Some("/data".into()));
    }

    #[test]
    fn the_job_sees_the_variables_of_the_policy() {
        let mut run = context();
        run.job.env.insert("COLOUR".to_owned(), "green".to_owned());
        assert_eq!(workload("", "").prepare_run(&run).unwrap()[0].env["COLOUR"], "green");
    }
}
