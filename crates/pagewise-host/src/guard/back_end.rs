//! What takes page cache back. [`super::files`] takes what streams have gone past; for the rest there is `memory.reclaim` of the streamer's cgroup, of the
//! one that is guarded, or of all together ([`super::of_cgroup`]), the node's `reclaim` file
//! (since 6.17, `mm/vmscan.c`, `reclaim_store`), and MGLRU's generations ([`super::generations`]). They are told to leave anonymous memory alone (`swappiness=0`), leave nothing behind, and what they answer says little (the node's file refuses
//! everything with `EAGAIN`): what counts is what the counters say. A way that gives nothing makes room for the next.

use super::GuardError;
use super::domain::{DomainName, Limited};
use super::files::StreamedFiles;
use super::generations::GenerationsFile;
use super::of_cgroup::CgroupFile;
use super::reading::{Counted, nodes};
use crate::cgroup::memory_mount;
use crate::root::Root;
use crate::sys::deadline;
use pagewise_core::guard::SECOND;
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
    ask(file, format_args!("{bytes}{words}"))
}

/// Writes words to a file that reclaims; answers as [`request`] does.
///
/// # Errors
/// As there.
pub(super) fn ask(file: &File, words: std::fmt::Arguments<'_>) -> Result<bool, Errno> {
    let mut text = [0_u8; 96];
    let length = {
        let mut left = &mut text[..];
        let whole = left.len();
        let _ = left.write_fmt(words);
        whole - left.len()
    };
    match deadline::within(LONGEST_REQUEST, || rustix::io::write(file, &text[..length])) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR | Errno::BUSY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A way to ask for page cache, with what came of it lately.
#[derive(Debug)]
pub(super) struct Way {
    file: RequestFile,
    in_vain: u32,
    rests_until: u64,
    rest: u64,
}

/// The file that takes a request.
#[derive(Debug)]
enum RequestFile {
    Node(NodeFile),
    Cgroup(CgroupFile),
    Generations(GenerationsFile),
}

/// A request that gave less than this part was in vain; after so many in a row another way is taken, and this one tried again after a while, each
/// time twice as long.
const NEXT_TO_NOTHING: u64 = 8;
const MOST_IN_VAIN: u32 = 3;
const SHORTEST_REST: u64 = 10 * SECOND;
const LONGEST_REST: u64 = 640 * SECOND;

impl Way {
    fn of(file: RequestFile) -> Way {
        Way { file, in_vain: 0, rests_until: 0, rest: SHORTEST_REST }
    }

    /// `memory.reclaim` of a cgroup.
    pub(super) fn of_cgroup(file: CgroupFile) -> Way {
        Way::of(RequestFile::Cgroup(file))
    }

    fn reclaim(&mut self, at: u64, bytes: u64) -> Result<bool, Errno> {
        match &mut self.file {
            RequestFile::Node(file) => file.reclaim(bytes),
            RequestFile::Cgroup(file) => file.reclaim(bytes),
            RequestFile::Generations(file) => file.reclaim(at, bytes),
        }
    }

    /// What it is, in words.
    fn words(&self) -> &'static str {
        match &self.file {
            RequestFile::Node(_) => "the node's reclaim file",
            RequestFile::Cgroup(_) => "memory.reclaim",
            RequestFile::Generations(_) => "the generations of MGLRU",
        }
    }

    fn counted(&self) -> Counted {
        match &self.file {
            RequestFile::Node(_) => Counted::OnRequest,
            RequestFile::Cgroup(_) => Counted::InGroups,
            RequestFile::Generations(_) => Counted::OfFiles,
        }
    }

    /// Whether it is worth asking.
    fn is_ready(&self, at: u64) -> bool {
        at >= self.rests_until
    }

    /// What a request gave, by the kernel's counters.
    fn gave(&mut self, at: u64, asked: u64, freed: u64) {
        if freed >= asked / NEXT_TO_NOTHING {
            (self.in_vain, self.rest) = (0, SHORTEST_REST);
            return;
        }
        self.in_vain += 1;
        if self.in_vain >= MOST_IN_VAIN {
            self.rests(at);
        }
    }

    fn rests(&mut self, at: u64) {
        (self.in_vain, self.rests_until) = (0, at + self.rest);
        self.rest = (2 * self.rest).min(LONGEST_REST);
    }
}

/// What takes page cache back from a domain: first what streams have gone past in their own files, then the cgroup of whoever streams, then the
/// domain's own files.
#[derive(Debug)]
pub(super) struct BackEnds {
    own: Vec<Way>,
}

/// Who was asked for what the streams' files did not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecondRequest {
    StreamsCgroup,
    Own(usize),
}

/// What came of a slice, but for what the counters say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Whether the kernel says that it got all that was asked for.
    pub(super) granted: bool,
    /// Which counter has what was taken otherwise than out of files; `None` where nobody was asked.
    pub(super) counted: Option<Counted>,
    asked: Option<(SecondRequest, u64)>,
}

impl Answer {
    pub(super) fn is_of_streams_cgroup(&self) -> bool {
        matches!(self.asked, Some((SecondRequest::StreamsCgroup, _)))
    }
}

impl BackEnds {
    /// Those of a node that work here; the streams' own files only where they are wanted.
    ///
    /// # Errors
    /// Where none does.
    pub(super) fn of_node(root: &Root, node: u32, has_files: bool) -> Result<BackEnds, GuardError> {
        let ways = [
            NodeFile::open(root, node).map(|file| Way::of(RequestFile::Node(file))),
            of_all(root, node),
            GenerationsFile::open(root, node).map(|file| Way::of(RequestFile::Generations(file))),
        ];
        let (own, refused): (Vec<_>, Vec<_>) = ways.into_iter().partition(Result::is_ok);
        if own.is_empty() && !has_files {
            let whys = refused.into_iter().filter_map(Result::err).map(|error| match error {
                GuardError::NoBackEnd { why, .. } => why,
                error => error.to_string(),
            });
            let why = whys.collect::<Vec<String>>().join("; ");
            return Err(GuardError::NoBackEnd { domain: DomainName::Node(node), why });
        }
        Ok(BackEnds { own: own.into_iter().flatten().collect() })
    }

    /// Those of a cgroup: files are those that its own processes stream.
    ///
    /// # Errors
    /// Where none does.
    pub(super) fn of_cgroup(root: &Root, group: &Limited, has_files: bool) -> Result<BackEnds, GuardError> {
        match CgroupFile::open(root, &group.folder, group.version) {
            Err(why) if !has_files => {
                Err(GuardError::NoBackEnd { domain: DomainName::Cgroup(group.path.clone()), why })
            }
            of_cgroup => Ok(BackEnds { own: of_cgroup.ok().map(Way::of_cgroup).into_iter().collect() }),
        }
    }

    /// What the rest is asked of, the first first, where streams leave too little behind them.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static str> {
        self.own.iter().map(Way::words)
    }

    /// Takes so many bytes. What files on request gave is in the kernel's counters ([`BackEnds::gave`] wants to know it), what came out of files in
    /// [`StreamedFiles::taken`].
    ///
    /// # Errors
    /// What is no such answer, of the only way there is.
    pub(super) fn reclaim(
        &mut self,
        mut files: Option<&mut StreamedFiles>,
        at: u64,
        bytes: u64,
    ) -> Result<Answer, Errno> {
        let of_files = files.as_deref_mut().map_or(0, |files| files.take(at, bytes));
        if of_files >= bytes / 2 {
            return Ok(Answer { granted: true, counted: None, asked: None });
        }
        // Little is left where the stream has gone past: the rest comes from anywhere.
        let left = bytes - of_files;
        let is_only = self.own.len() == 1;
        let streams_cgroup = files.and_then(StreamedFiles::streams_cgroup).filter(|way| way.is_ready(at));
        let (asked, way) = match streams_cgroup {
            Some(way) => (SecondRequest::StreamsCgroup, way),
            None => {
                let ready = self.own.iter().position(|way| way.is_ready(at)).unwrap_or(0);
                let Some(way) = self.own.get_mut(ready) else {
                    return Ok(Answer { granted: false, counted: None, asked: None });
                };
                (SecondRequest::Own(ready), way)
            }
        };
        let granted = match way.reclaim(at, left) {
            // The cgroup is gone, or a file refuses for good where there are others.
            Err(_) if asked == SecondRequest::StreamsCgroup || !is_only => {
                way.rests(at);
                false
            }
            answer => answer?,
        };
        Ok(Answer { granted, counted: Some(way.counted()), asked: Some((asked, left)) })
    }

    /// What that gave beside what came out of files, by the counters: a way that gives nothing makes room for the next.
    pub(super) fn gave(&mut self, files: Option<&mut StreamedFiles>, at: u64, answer: &Answer, freed: u64) {
        let Some((asked, bytes)) = answer.asked else { return };
        let way = match asked {
            SecondRequest::StreamsCgroup => files.and_then(StreamedFiles::streams_cgroup),
            SecondRequest::Own(position) => self.own.get_mut(position),
        };
        if let Some(way) = way {
            way.gave(at, bytes, freed);
        }
    }
}

/// `memory.reclaim` of all cgroups together (version 2, since 5.19). It takes from all nodes alike, so it is of use where there is one.
fn of_all(root: &Root, node: u32) -> Result<Way, GuardError> {
    let cannot = |why: String| GuardError::NoBackEnd { domain: DomainName::Node(node), why };
    if nodes(root).len() > 1 {
        return Err(cannot("memory.reclaim of all cgroups does not keep to one node".to_owned()));
    }
    let mount = memory_mount(root).map_err(cannot)?;
    CgroupFile::open(root, &mount.folder, mount.version).map(Way::of_cgroup).map_err(cannot)
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

    /// A file that takes requests, and none of them gives anything.
    fn way() -> Way {
        let file = File::options().write(true).open("/dev/null").unwrap();
        Way::of(RequestFile::Node(NodeFile { file }))
    }

    #[test]
    fn a_way_that_gives_nothing_makes_room_for_the_next_and_is_tried_again_later() {
        let mut back_ends = BackEnds { own: vec![way(), way()] };
        let mut asks = |at: u64, freed: u64| {
            let answer = back_ends.reclaim(None, at, 1 << 20).unwrap();
            assert_eq!(answer.counted, Some(Counted::OnRequest));
            back_ends.gave(None, at, &answer, freed);
            answer.asked.unwrap().0
        };
        let first: Vec<SecondRequest> = (0..3).map(|at| asks(at, 4096)).collect();
        assert_eq!(first, [SecondRequest::Own(0); 3], "a little is nothing, and one slice says little");
        assert_eq!(asks(3, 1 << 20), SecondRequest::Own(1));
        assert_eq!(asks(2 + SHORTEST_REST, 1 << 20), SecondRequest::Own(0), "it is tried again");
        assert_eq!(asks(3 + SHORTEST_REST, 1 << 20), SecondRequest::Own(0), "and kept where it gives");
    }

    #[test]
    fn where_nothing_gives_the_first_is_asked_and_the_law_decides() {
        let mut back_ends = BackEnds { own: vec![way()] };
        for at in 0..10 {
            let answer = back_ends.reclaim(None, at, 1 << 20).unwrap();
            assert_eq!(answer.asked, Some((SecondRequest::Own(0), 1 << 20)));
            back_ends.gave(None, at, &answer, 0);
        }
        let nobody = BackEnds { own: Vec::new() }.reclaim(None, 0, 1 << 20).unwrap();
        assert!(!nobody.granted && nobody.asked.is_none() && nobody.counted.is_none());
    }

    #[test]
    fn the_file_of_this_host_does_as_it_should() {
        pagewise_testkit::requires!(root, node_reclaim);
        let back_end = NodeFile::open(&Root::live(), 0).unwrap();
        assert!(back_end.reclaim(4096).is_ok());
    }
}
