//! What guards of this host do now, for whoever asks: each keeps it in a file that exists in its memory alone (`memfd`), which is read through
//! `/proc/PID/fd` and is gone with its process, however that ends.

use super::running::GuardSummary;
use super::{DomainName, Streamer};
use crate::root::Root;
use crate::source::guard_threads::{NAME, is_ours};
use crate::source::process;
use pagewise_core::guard::law::{Learnt, Mode};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, pwrite};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Bytes for each node or cgroup, and the most of them that are told of.
const ROOM: usize = 4096;
const MOST_DOMAINS: usize = 256;

/// Who reads while it is written may see half of either; so often it is read again.
const TRIES: u32 = 5;

/// What a guard does on one node or cgroup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfDomain {
    /// Which node or cgroup.
    pub domain: DomainName,
    /// Which guard, as a setting has it: `on(batch=0.2s)`.
    pub asked: String,
    /// Whether it acts; else it only decides.
    pub acts: bool,
    /// What it is doing.
    pub mode: Mode,
    /// What it has learnt.
    pub learnt: Option<Learnt>,
    /// What it did since its start.
    pub done: GuardSummary,
    /// Who streams, as far as that is known.
    pub streams: Vec<Streamer>,
}

/// The same, before it is written: nothing of it is copied.
#[derive(Serialize)]
struct StatusNow<'n, S: Serialize> {
    domain: &'n DomainName,
    asked: &'n str,
    acts: bool,
    mode: Mode,
    learnt: Option<Learnt>,
    done: &'n GuardSummary,
    streams: S,
}

/// A list of which only the items exist.
struct Listed<I>(I);

impl<'s, I: Iterator<Item = &'s Streamer> + Clone> Serialize for Listed<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.0.clone().try_for_each(|one| list.serialize_element(one))?;
        list.end()
    }
}

/// The file of a process.
#[derive(Debug)]
pub struct StatusFile {
    file: OwnedFd,
}

impl StatusFile {
    /// A new one.
    ///
    /// # Errors
    /// Where the kernel has no such files (before 3.17), or gives none.
    pub fn new() -> Result<StatusFile, Errno> {
        Ok(StatusFile { file: memfd_create(NAME, MemfdFlags::CLOEXEC)? })
    }

    /// The place of the guard in this position.
    ///
    /// # Errors
    /// As for the file.
    pub fn place(&self, position: usize) -> Result<StatusSlot, Errno> {
        if position >= MOST_DOMAINS {
            return Err(Errno::NOSPC);
        }
        let file = self.file.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
        let place = StatusSlot { file, position, text: vec![b'\n'; ROOM] };
        // Its memory is had now, and not when memory is short.
        place.put()?;
        Ok(place)
    }
}

/// Where one guard writes what it does.
#[derive(Debug)]
pub struct StatusSlot {
    file: OwnedFd,
    position: usize,
    text: Vec<u8>,
}

impl Drop for StatusSlot {
    /// What is guarded no more is told of no more.
    fn drop(&mut self) {
        self.text.fill(b'\n');
        let _ = self.put();
    }
}

/// What is the same as long as a guard runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardIdentity<'w> {
    pub(super) domain: &'w DomainName,
    pub(super) asked: &'w str,
    pub(super) acts: bool,
}

impl StatusSlot {
    /// Writes it. Allocates nothing; what cannot be written is not told.
    pub(super) fn write<'s>(
        &mut self,
        who: GuardIdentity<'_>,
        (mode, learnt): (Mode, Option<Learnt>),
        done: &GuardSummary,
        streams: impl Iterator<Item = &'s Streamer> + Clone,
    ) {
        let GuardIdentity { domain, asked, acts } = who;
        let streams = Listed(streams);
        if self.fits(&StatusNow { domain, asked, acts, mode, learnt, done, streams }) || {
            // The names of files can be long.
            let none = Listed(std::iter::empty());
            self.fits(&StatusNow { domain, asked, acts, mode, learnt, done, streams: none })
        } {
            let _ = self.put();
        }
    }

    /// Which of the board's it is.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    fn put(&self) -> Result<(), Errno> {
        pwrite(&self.file, &self.text, (self.position * ROOM) as u64).map(drop)
    }

    fn fits(&mut self, now: &impl Serialize) -> bool {
        let mut rest = self.text.as_mut_slice();
        if serde_json::to_writer(&mut rest, now).is_err() {
            return false;
        }
        rest.fill(b'\n');
        true
    }
}

/// A process that guards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Running {
    /// The process.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Each node or cgroup that it guards. `None` where its file may not be read: it is another user's.
    pub domains: Option<Vec<OfDomain>>,
}

impl Running {
    /// Whether it takes anything: one that only advises does not. One that cannot be asked may.
    #[must_use]
    pub fn acts(&self) -> bool {
        self.domains.as_ref().is_none_or(|domains| domains.iter().any(|domain| domain.acts))
    }
}

/// Every guard of this host, by pid.
#[must_use]
pub fn running(root: &Root) -> Vec<Running> {
    let named = format!("/memfd:{NAME} (deleted)");
    let guard = |pid: u32| {
        let folder = format!("/proc/{pid}/fd");
        if !is_ours(root, pid) {
            return None;
        }
        let command =
            root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ").trim_end().to_owned();
        let Ok(listed) = root.list(&folder) else {
            let tasks = root.list(&format!("/proc/{pid}/task")).unwrap_or_default();
            let guards = |task: &String| process::name(root, &format!("/proc/{pid}/task/{task}")) == NAME;
            return tasks.iter().any(guards).then_some(Running { pid, command, domains: None });
        };
        let is_board = |link: &String| fs::read_link(root.path(link)).is_ok_and(|to| to.to_string_lossy() == named);
        let board = listed.into_iter().map(|descriptor| format!("{folder}/{descriptor}")).find(is_board)?;
        Some(Running { pid, command, domains: fs::File::open(root.path(&board)).ok().and_then(|file| read(&file)) })
    };
    process::pids(root).into_iter().filter_map(guard).collect()
}

fn read(file: &File) -> Option<Vec<OfDomain>> {
    let nodes = file.metadata().ok()?.len() as usize / ROOM;
    (0..nodes.min(MOST_DOMAINS))
        .map(|position| read_one(file, position))
        .filter(|one| !matches!(one, Some(None)))
        .map(Option::flatten)
        .collect()
}

/// `None` of a text that cannot be read; `Some(None)` of one that was not written yet.
#[expect(clippy::option_option, reason = "not written yet is no fault")]
fn read_one(file: &File, position: usize) -> Option<Option<OfDomain>> {
    let mut text = vec![0; ROOM];
    for _ in 0..TRIES {
        file.read_exact_at(&mut text, (position * ROOM) as u64).ok()?;
        let written = text.trim_ascii();
        if written.is_empty() {
            return Some(None);
        }
        if let Ok(one) = serde_json::from_slice(written) {
            return Some(Some(one));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guard_writes_is_read_from_outside_and_long_names_are_left_out() {
        let board = StatusFile::new().unwrap();
        let mut places: Vec<StatusSlot> = (0..2).map(|position| board.place(position).unwrap()).collect();
        let file = File::from(board.file.try_clone().unwrap());
        assert_eq!(read(&file), Some(Vec::new()), "nothing was written yet");
        let streamer = |path: String| Streamer { pid: 7, command: "dd".to_owned(), path };
        let done = GuardSummary { slices: 3, seconds: 1.5, ..GuardSummary::default() };
        let streams = [streamer("/data/\u{e9}\n\"".to_owned()), streamer("/data/b".to_owned())];
        let domain = DomainName::Cgroup("/yarn/c1".to_owned());
        let who = GuardIdentity { domain: &domain, asked: "on", acts: true };
        places[1].write(who, (Mode::Armed, None), &done, streams.iter());
        let found = read(&file).unwrap();
        assert_eq!(
            (found.len(), &found[0].domain, &found[0].streams[..], found[0].done),
            (1, &domain, &streams[..], done)
        );
        let long = [streamer("x".repeat(5_000))];
        places[1].write(who, (Mode::Watching, None), &done, long.iter());
        let found = read(&file).unwrap();
        assert_eq!((found[0].mode, found[0].streams.len()), (Mode::Watching, 0));
    }
}
