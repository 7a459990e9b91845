//! What takes page cache back. [`super::files`] takes what streams have gone past; for the rest there is the cgroup's own `memory.reclaim`
//! ([`super::of_cgroup`]), or the node's `reclaim` file
//! (since 6.17, `mm/vmscan.c`, `reclaim_store`). It is told to leave anonymous memory alone (`swappiness=0`), leaves nothing behind, and answers every refusal with `EAGAIN`: what counts is what the
//! counters say.

use super::GuardError;
use super::domain::{DomainName, Limited};
use super::files::StreamedFiles;
use super::of_cgroup::CgroupFile;
use crate::root::Root;
use crate::sys::deadline;
use rustix::io::Errno;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::time::Duration;

/// Reclaims from one node.
#[derive(Debug)]
pub struct NodeFile {
    file: File,
}

impl NodeFile {
    /// Opens it, and tries whether it knows its words: what makes no sense must be refused, and asking for nothing must not.
    ///
    /// # Errors
    /// When it is missing, may not be written, or does not do as it should.
    pub fn open(root: &Root, node: u32) -> Result<NodeFile, GuardError> {
        let path = root.path(&format!("/sys/devices/system/node/node{node}/reclaim"));
        let cannot = |why: String| GuardError::NoBackEnd { domain: DomainName::Node(node), why };
        let file = File::options().write(true).open(&path);
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                cannot(format!("{} is not there; kernels have it since 6.17", path.display()))
            }
            _ => cannot(format!("{}: {error}", path.display())),
        })?;
        let back_end = NodeFile { file };
        if back_end.write(b"pagewise").is_ok() {
            return Err(cannot(format!("{} takes words that mean nothing", path.display())));
        }
        match back_end.write(b"0 swappiness=0") {
            Ok(()) | Err(Errno::AGAIN) => Ok(back_end),
            Err(error) => Err(cannot(format!("{} refuses swappiness=0: {error}", path.display()))),
        }
    }

    /// Asks for so many bytes; see [`request`].
    ///
    /// # Errors
    /// As there.
    pub fn reclaim(&self, bytes: u64) -> Result<bool, Errno> {
        request(&self.file, bytes, " swappiness=0")
    }

    fn write(&self, words: &[u8]) -> Result<(), Errno> {
        rustix::io::pwrite(self.file.as_fd(), words, 0).map(drop)
    }
}

/// The kernel gets so long for one request, of which a slice asks for what takes some four milliseconds. Reclaim gives up at a signal (`mm/vmscan.c`,
/// `user_proactive_reclaim`); without one it may hang on a writer or a file system for seconds, and the guard with it.
const LONGEST_REQUEST: Duration = Duration::from_millis(250);

/// Asks a file for so many bytes, in words that follow their number. `false`: the kernel says that it got fewer, or that somebody else is at
/// it, or it took too long. Allocates nothing.
///
/// # Errors
/// What is no such answer.
pub(super) fn request(file: &File, bytes: u64, words: &str) -> Result<bool, Errno> {
    let mut text = [0_u8; 40];
    let length = {
        let mut left = &mut text[..];
        let whole = left.len();
        let _ = write!(left, "{bytes}{words}");
        whole - left.len()
    };
    match deadline::within(LONGEST_REQUEST, || rustix::io::write(file, &text[..length])) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR | Errno::BUSY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What takes page cache back from a domain: first what streams have gone past in their own files, then the domain's own file.
#[derive(Debug)]
pub(super) struct BackEnds {
    own: Option<OwnFile>,
}

/// The file of a domain that takes a request.
#[derive(Debug)]
enum OwnFile {
    Node(NodeFile),
    Cgroup(CgroupFile),
}

impl OwnFile {
    fn reclaim(&self, bytes: u64) -> Result<bool, Errno> {
        match self {
            OwnFile::Node(file) => file.reclaim(bytes),
            OwnFile::Cgroup(file) => file.reclaim(bytes),
        }
    }
}

impl BackEnds {
    /// Those of a node that work here; the streams' own files only where they are wanted.
    ///
    /// # Errors
    /// Where none does.
    pub(super) fn of_node(root: &Root, node: u32, has_files: bool) -> Result<BackEnds, GuardError> {
        match NodeFile::open(root, node) {
            Err(error) if !has_files => Err(error),
            of_node => Ok(BackEnds { own: of_node.ok().map(OwnFile::Node) }),
        }
    }

    /// Those of a cgroup: files are those that its own processes stream.
    ///
    /// # Errors
    /// Where none does.
    pub(super) fn of_cgroup(root: &Root, group: &Limited, has_files: bool) -> Result<BackEnds, GuardError> {
        match CgroupFile::open(root, group) {
            Err(why) if !has_files => {
                Err(GuardError::NoBackEnd { domain: DomainName::Cgroup(group.path.clone()), why })
            }
            of_cgroup => Ok(BackEnds { own: of_cgroup.ok().map(OwnFile::Cgroup) }),
        }
    }

    /// Takes so many bytes; `false` where the kernel says that there were fewer. What the domain's file gave is in the kernel's
    /// counters, what came out of files in [`StreamedFiles::taken`].
    ///
    /// # Errors
    /// What is no such answer.
    pub(super) fn reclaim(&self, files: Option<&mut StreamedFiles>, at: u64, bytes: u64) -> Result<bool, Errno> {
        let of_files = files.map_or(0, |files| files.take(at, bytes));
        match &self.own {
            // Little is left where the stream has gone past: the rest comes from anywhere.
            Some(own) if of_files < bytes / 2 => own.reclaim(bytes - of_files),
            _ => Ok(of_files >= bytes / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_not_there_cannot_be_reclaimed_from() {
        let error = NodeFile::open(&Root::live(), 4711).unwrap_err().to_string();
        assert!(error.contains("node 4711 cannot be reclaimed from") && error.contains("since 6.17"), "{error}");
    }

    #[test]
    fn a_request_that_hangs_is_given_up_within_its_deadline() {
        // An eventfd takes a number as eight bytes, and waits while that does not fit.
        let hangs = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
        rustix::io::write(&hangs, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let began = std::time::Instant::now();
        assert_eq!(request(&File::from(hangs), 4096, " by "), Ok(false));
        assert!(began.elapsed() >= LONGEST_REQUEST && began.elapsed() < 20 * LONGEST_REQUEST, "{:?}", began.elapsed());
    }

    #[test]
    fn the_file_of_this_host_does_as_it_should() {
        pagewise_testkit::requires!(root, node_reclaim);
        let back_end = NodeFile::open(&Root::live(), 0).unwrap();
        assert!(back_end.reclaim(4096).is_ok());
    }
}
