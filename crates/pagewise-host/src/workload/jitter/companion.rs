//! A process that goes on beside the timed commands: started in its own session and cgroup, ends with us whatever happens.

use super::super::WorkloadError;
use super::part::Part;
use crate::process::Interrupt;
use crate::sys::child::{self, ChildSetup};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a wait looks for Ctrl-C.
const POLL_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// It answers within this time, or is ended.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// What the program calls itself, as first word of the command line.
const PROGRAM: &str = "pagewise";

#[derive(Debug)]
pub(super) struct Companion {
    /// What it is, for messages.
    what: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: Option<ChildStderr>,
}

impl Companion {
    /// Starts a part, charged to the cgroup of that folder from its first page on.
    pub(super) fn start(what: &'static str, part: &Part, cgroup: Option<&Path>) -> Result<Companion, WorkloadError> {
        let cannot = |error: io::Error| WorkloadError::Step(format!("{what} cannot be started: {error}"));
        let argv = part.argv();
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).arg0(PROGRAM);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let procs = cgroup.map(|folder| File::options().write(true).open(folder.join("cgroup.procs")));
        let cgroup_procs = procs.transpose().map_err(cannot)?.map(Into::into);
        child::arrange(&mut command, ChildSetup { cgroup_procs, thp: None, parent: std::process::id() });
        let mut child = command.spawn().map_err(cannot)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| cannot(io::Error::other("it has no pipes")))?;
        let errors = child.stderr.take();
        Ok(Companion { what, child, input: Some(input), output: BufReader::new(output), errors })
    }

    /// Waits until it is steady.
    pub(super) fn ready(&mut self, interrupt: &Interrupt, within: Duration) -> Result<(), WorkloadError> {
        let began = Instant::now();
        loop {
            interrupt.check()?;
            let mut waits = [PollFd::new(self.output.get_ref(), PollFlags::IN)];
            match poll(&mut waits, Some(&POLL_EVERY)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(self.failed(&io::Error::from(error).to_string())),
            }
            if began.elapsed() > within {
                return Err(self.failed(&format!("it was not steady within {} s", within.as_secs())));
            }
        }
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(_) if line.trim_end() == "ready" => Ok(()),
            _ => {
                let said = self.last_words();
                Err(self.failed(&said))
            }
        }
    }

    /// Its count begins now.
    pub(super) fn begin(&mut self) -> Result<(), WorkloadError> {
        let told = self.input.as_mut().map_or(Ok(()), |input| input.write_all(b"begin\n"));
        told.map_err(|_| {
            let said = self.last_words();
            self.failed(&said)
        })
    }

    /// Ends it, and gives what it counted.
    pub(super) fn end<T: serde::de::DeserializeOwned>(mut self) -> Result<T, WorkloadError> {
        drop(self.input.take());
        let mut answer = Vec::new();
        let until = Instant::now() + ENDS_WITHIN;
        let whole = loop {
            let mut waits = [PollFd::new(self.output.get_ref(), PollFlags::IN)];
            let is_there = poll(&mut waits, Some(&POLL_EVERY)).unwrap_or(0) > 0;
            if !is_there && Instant::now() < until {
                continue;
            }
            match self.output.fill_buf() {
                Ok([]) | Err(_) => break is_there,
                Ok(_) if !is_there => break false,
                Ok(some) => {
                    answer.extend_from_slice(some);
                    let length = some.len();
                    self.output.consume(length);
                }
            }
        };
        match serde_json::from_slice(&answer) {
            Ok(counted) if whole => Ok(counted),
            _ => {
                let said = self.last_words();
                Err(self.failed(&said))
            }
        }
    }

    /// Whether it still runs.
    pub(super) fn check(&mut self) -> Result<(), WorkloadError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => {
                let said = self.last_words();
                Err(self.failed(&said))
            }
        }
    }

    fn failed(&self, why: &str) -> WorkloadError {
        WorkloadError::Step(format!("{} beside the job did not go on: {why}", self.what))
    }

    /// What a process said that has ended or is ended now.
    fn last_words(&mut self) -> String {
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(mut errors) = self.errors.take() {
            let _ = errors.read_to_string(&mut said);
        }
        match said.trim().lines().last() {
            Some(line) => line.to_owned(),
            None => "it ended without a word".to_owned(),
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
