//! What a live proof is about: whatever runs on the host, a process that runs already, or a command of ours.

use crate::process::{self, Command, Interrupt, JobEnded, Limits, ProcessError, Watch};
use crate::root::Root;
use crate::source::process::start_time;
use crate::trial::engine::TrialError;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// The job of a live proof.
#[derive(Debug)]
pub enum Job {
    /// Whatever runs: it has no end.
    Whatever,
    /// A process of somebody's, told from a later one with the same pid by when it started.
    Process(u32, u64),
    /// A command of ours.
    Command(Box<Running>),
}

/// A command that runs beside the proof.
#[derive(Debug)]
pub struct Running {
    stop: Interrupt,
    pids: Receiver<Vec<u32>>,
    first: Option<Vec<u32>>,
    thread: Option<JoinHandle<Result<JobEnded, ProcessError>>>,
    ended: Option<String>,
}

/// Tells of the pids whenever they change.
struct Announce {
    to: Sender<Vec<u32>>,
    last: Option<Vec<u32>>,
}

impl Watch for Announce {
    fn tick(&mut self, running: &[u32]) -> bool {
        if self.last.as_deref() != Some(running) {
            self.last = Some(running.to_vec());
            let _ = self.to.send(running.to_vec());
        }
        true
    }
}

impl Job {
    /// Follows a process that runs.
    ///
    /// # Errors
    /// When there is none.
    pub fn process(root: &Root, pid: u32) -> Result<Job, TrialError> {
        start_time(root, pid).map(|start| Job::Process(pid, start)).ok_or(TrialError::NoProcess(pid))
    }

    /// Starts a command. It ends with [`Job::stop`], or with this process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(argv: &[String], cgroup: Option<&Path>) -> Result<Job, TrialError> {
        let command = Command { argv: argv.to_vec(), ..Command::default() };
        let (stop, cgroup) = (Interrupt::default(), cgroup.map(Path::to_owned));
        let (to, pids) = mpsc::channel();
        let heard = stop.clone();
        // The command dies with the thread that starts it (PR_SET_PDEATHSIG), so the same thread waits for it.
        let body = move || {
            let limits = Limits { interrupt: Some(&heard), cgroup: cgroup.as_deref(), ..Limits::default() };
            process::run(&[command], limits, &mut Announce { to, last: None })
        };
        let failed = |source| ProcessError::Start { program: argv.first().cloned().unwrap_or_default(), source };
        let thread = thread::Builder::new().name("live-job".to_owned()).spawn(body).map_err(failed)?;
        let mut running = Running { stop, pids, first: None, thread: Some(thread), ended: None };
        // Either it runs, or the thread has an error to tell.
        running.first = running.pids.recv().ok();
        if running.first.is_none()
            && let Some(Ok(Err(error))) = running.thread.take().map(JoinHandle::join)
        {
            return Err(error.into());
        }
        Ok(Job::Command(Box::new(running)))
    }

    /// The command's process ids, when they changed since the last call.
    pub fn changed_pids(&mut self) -> Option<Vec<u32>> {
        let Job::Command(running) = self else { return None };
        running.pids.try_iter().last().or_else(|| running.first.take())
    }

    /// How it ended, once it has.
    pub fn ended(&mut self, root: &Root) -> Option<String> {
        match self {
            Job::Whatever => None,
            Job::Process(pid, start) => {
                (start_time(root, *pid) != Some(*start)).then(|| format!("process {pid} (--pid) has ended"))
            }
            Job::Command(running) => running.ended(),
        }
    }

    /// Ends a command of ours; leaves everything else alone.
    pub fn stop(&mut self) {
        let Job::Command(running) = self else { return };
        running.stop.set();
        if let Some(thread) = running.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Running {
    fn ended(&mut self) -> Option<String> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            let told = match self.thread.take().map(JoinHandle::join) {
                Some(Ok(Ok(job))) => how(&job),
                Some(Ok(Err(error))) => error.to_string(),
                _ => "the command could not be followed any longer".to_owned(),
            };
            self.ended = Some(told);
        }
        self.ended.clone()
    }
}

fn how(job: &JobEnded) -> String {
    let Some(command) = job.commands.first() else { return "the command ended".to_owned() };
    let words = if command.status.is_success() { String::new() } else { format!(": {}", command.last_words()) };
    format!("the command ended with {} after {:.0} s{words}", command.status, job.wall)
}

impl Drop for Job {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_is_followed_to_its_end_and_its_last_words_are_kept() {
        let root = Root::live();
        let mut job = Job::start(&argv(&["sh", "-c", "sleep 0.3; echo no more disk >&2; exit 3"]), None).unwrap();
        assert_eq!(job.changed_pids().map(|pids| pids.len()), Some(1));
        assert_eq!(job.ended(&root), None);
        let since = Instant::now();
        while job.ended(&root).is_none() && since.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(20));
        }
        let told = job.ended(&root).unwrap();
        assert!(told.contains("exit status 3") && told.contains("no more disk"), "{told}");
    }

    #[test]
    fn a_command_does_not_outlive_its_proof() {
        let mut job = Job::start(&argv(&["sleep", "600"]), None).unwrap();
        let pid = job.changed_pids().unwrap()[0];
        drop(job);
        assert_eq!(start_time(&Root::live(), pid), None);
    }

    #[test]
    fn what_is_not_there_is_said_at_once() {
        assert!(matches!(Job::start(&argv(&["/nonexistent/job"]), None), Err(TrialError::Process(_))));
        assert!(matches!(Job::process(&Root::live(), 4_194_303), Err(TrialError::NoProcess(_))));
        assert_eq!(Job::process(&Root::live(), std::process::id()).unwrap().ended(&Root::live()), None);
    }
}
