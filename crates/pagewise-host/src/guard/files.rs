//! Page cache from where a stream has gone past, in its own file: `fadvise(DONTNEED)` on what lies behind its head. No list is scanned for
//! it, nothing of another process is touched, and it needs nothing that an old kernel lacks: what of a file is in memory is told by `cachestat` from 6.5 on, and by `mincore`
//! before.

use super::back_end::Way;
use super::reading::OfFiles;
use super::streamers::{Leader, MOST_FILES, Search, StreamedFile, Streamer};
use crate::root::Root;
use crate::sys::page_cache;
use pagewise_core::guard::sample::Streams;
use pagewise_core::guard::trail::ALIGNED;
use pagewise_core::guard::{MILLISECOND, SECOND};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::num::NonZeroU64;

/// How often the files are scanned for what is in memory.
const SCAN_EVERY: u64 = 200 * MILLISECOND;

/// And how soon it is checked again how far streams went, where what was seen is taken, and more is wanted.
const SCAN_AGAIN: u64 = 5 * MILLISECOND;

/// A cgroup's search is kept for so long after it was last wanted.
const SEARCH_KEPT: u64 = 10 * SECOND;

/// How often it is asked who streams, and what that cost them.
const ADOPTS_EVERY: u64 = 100 * MILLISECOND;

/// Of each stretch so many bytes are checked.
const PROBE: u64 = 64 << 10;

/// What is taken in one call, so that a time for a slice can be kept: whole huge pages, since of a large folio nothing is dropped unless all of it is asked
/// for (`mapping_try_invalidate`, `mm/truncate.c`, 6.12).
const PIECE: u64 = 8 << 20;

/// Less than this part of a piece means that the kernel keeps it: it is mapped, dirty, or in use. Where that is so again and
/// again, the call makes every CPU empty its lists each time, and the file is left alone.
const KEPT: f64 = 0.5;
const MOST_KEPT: u32 = 3;

/// Who reads most is told of once its files did not give what was wanted so often: a trail has to be seen for a second before it is known.
const TOLD_AFTER: u32 = 50;

/// For so long; then it is tried again.
const LEFT_ALONE: u64 = 10 * SECOND;

/// The files of streams.
#[derive(Debug)]
pub(super) struct StreamedFiles {
    search: Option<Search>,
    /// The folder of a cgroup whose processes alone are watched.
    within: Option<String>,
    /// When somebody was last to be looked for.
    wanted: u64,
    files: Vec<OneFile>,
    /// Taken over, and not yet scanned.
    new: Vec<StreamedFile>,
    adopted: u64,
    scanned: u64,
    scanned_ahead: u64,
    taken: u64,
    came_back: u64,
    /// What could be taken, as of the last scan, less what was taken since.
    behind: u64,
    streams: Option<Streams>,
    /// Who reads most of all that is read, and how often its files' trails gave too little.
    leader: Option<Leader>,
    fell_short: u32,
    /// Total bytes that the cgroup's processes read while they were watched, and what of them the present search counted.
    read_within: u64,
    read_by_search: u64,
}

#[derive(Debug)]
struct OneFile {
    streamed: StreamedFile,
    /// Of which stretch the end is taken already, and how much is left of it.
    begun: Option<(usize, u64)>,
    kept: u32,
    /// Since when it is left alone.
    left_alone: Option<u64>,
    came_back: u64,
}

impl StreamedFiles {
    /// Ready to be asked. `None` where it cannot be told what of a file is in memory.
    /// `within` is the folder of a cgroup whose processes alone are watched.
    pub(super) fn open(root: &Root, within: Option<String>) -> Option<StreamedFiles> {
        if !Search::can_be_had(root) {
            return None;
        }
        let (files, new) = (Vec::with_capacity(MOST_FILES), Vec::with_capacity(MOST_FILES));
        Some(StreamedFiles {
            // A node's loop allocates nothing once it runs; of a thousand cgroups few stream at a time, and each search is a thread.
            search: if within.is_none() { Some(Search::start(root, None)?) } else { None },
            within,
            wanted: 0,
            files,
            new,
            adopted: 0,
            scanned: 0,
            scanned_ahead: 0,
            taken: 0,
            came_back: 0,
            behind: 0,
            streams: None,
            leader: None,
            fell_short: 0,
            read_within: 0,
            read_by_search: 0,
        })
    }

    /// Looks on, and lets those go whose process reads no more. New ones are looked for while something streams, and told of.
    pub(super) fn follow(&mut self, at: u64, is_armed: bool, tell: &mut dyn FnMut(&Streamer)) {
        if is_armed {
            self.wanted = at;
        }
        if self.within.is_some() {
            let is_used = is_armed || !self.files.is_empty() || at.saturating_sub(self.wanted) < SEARCH_KEPT;
            match &self.search {
                None if is_armed => {
                    (self.search, self.read_by_search) = (Search::start(&Root::live(), self.within.clone()), 0);
                }
                Some(_) if !is_used => self.search = None,
                _ => {}
            }
        }
        let Some(search) = &self.search else { return };
        search.want(is_armed);
        if !is_armed && self.files.is_empty() || at.saturating_sub(self.adopted) < ADOPTS_EVERY {
            return;
        }
        self.adopted = at;
        let before = self.read_by_search;
        search.adopt(&mut self.new, &mut self.streams, &mut self.read_by_search);
        self.read_within += self.read_by_search.saturating_sub(before);
        if search.adopt_leader(&mut self.leader) {
            self.fell_short = 0;
        }
        self.tell_of_leader(tell);
        while let Some(streamed) = self.new.pop() {
            self.files.push(OneFile { streamed, begun: None, kept: 0, left_alone: None, came_back: 0 });
        }
        if at.saturating_sub(self.scanned) < SCAN_EVERY {
            return;
        }
        self.scan(at, tell);
        let mut index = 0;
        while let (Some(one), Some(search)) = (self.files.get(index), &self.search) {
            if search.is_quiet(&one.streamed) {
                search.let_go(self.files.swap_remove(index).streamed);
            } else {
                index += 1;
            }
        }
    }

    /// Whose files these are, as far as they are known to stream.
    pub(super) fn streamers(&self) -> impl Iterator<Item = &Streamer> + Clone {
        let files = self.files.iter().filter(|one| one.streamed.trail.is_streamed()).map(|one| &one.streamed.who);
        files.chain(self.leader.iter().filter(|_| self.fell_short > TOLD_AFTER).map(|leader| &leader.who))
    }

    /// Who reads most is told of where its trails do not give what is wanted: it reads many files, or not from their begin to their end.
    fn tell_of_leader(&mut self, tell: &mut dyn FnMut(&Streamer)) {
        let Some(leader) = &self.leader else { return };
        let is_known = self.files.iter().any(|one| {
            one.streamed.who.pid == leader.who.pid && one.streamed.trail.is_streamed() && one.kept < MOST_KEPT
        });
        if is_known {
            self.fell_short = 0;
        } else if self.fell_short == TOLD_AFTER {
            self.fell_short += 1;
            tell(&leader.who);
        }
    }

    /// `memory.reclaim` of the cgroup of whoever reads most, where it has one, for what the trails did not give.
    pub(super) fn streams_cgroup(&mut self) -> Option<&mut Way> {
        self.leader.as_mut()?.cgroup.as_mut()
    }

    /// Looks what of the files is in memory now.
    fn scan(&mut self, at: u64, tell: &mut dyn FnMut(&Streamer)) {
        self.scanned = at;
        for one in &mut self.files {
            if one.kept >= MOST_KEPT && at.saturating_sub(*one.left_alone.get_or_insert(at)) >= LEFT_ALONE {
                (one.kept, one.left_alone) = (0, None);
            }
            let was_streamed = one.streamed.trail.is_streamed();
            let StreamedFile { file, trail, .. } = &mut one.streamed;
            trail.scan(at, is_in_memory(file));
            if !was_streamed && trail.is_streamed() {
                tell(&one.streamed.who);
            }
        }
        self.count();
    }

    /// What a scan says of all files together.
    fn count(&mut self) {
        for one in &mut self.files {
            let came_back = one.streamed.trail.came_back();
            self.came_back += came_back.saturating_sub(one.came_back);
            one.came_back = came_back;
        }
        let can_be_taken = self.files.iter().filter(|one| one.kept < MOST_KEPT);
        self.behind = can_be_taken.map(|one| one.streamed.trail.behind()).sum();
    }

    /// Looks how far the streams went since.
    fn scan_ahead(&mut self, at: u64) {
        self.scanned_ahead = at;
        for one in &mut self.files {
            let StreamedFile { file, trail, .. } = &mut one.streamed;
            trail.scan_ahead(at, is_in_memory(file));
        }
        self.count();
    }

    /// Takes up to so many bytes; gives those that are really gone.
    pub(super) fn take(&mut self, at: u64, bytes: u64) -> u64 {
        let mut taken = self.take_known(bytes);
        // The stream has gone on since the last scan.
        if taken < bytes / 2 && at.saturating_sub(self.scanned.max(self.scanned_ahead)) >= SCAN_AGAIN {
            self.scan_ahead(at);
            taken += self.take_known(bytes - taken);
        }
        if taken < bytes / 2 && self.fell_short < TOLD_AFTER {
            self.fell_short += 1;
        }
        taken
    }

    fn take_known(&mut self, bytes: u64) -> u64 {
        let mut taken = 0;
        for one in &mut self.files {
            while taken < bytes {
                match one.take(bytes - taken) {
                    Some(gone) => taken += gone,
                    None => break,
                }
            }
        }
        self.taken += taken;
        self.behind = self.behind.saturating_sub(taken);
        taken
    }

    /// Total bytes it took, which no counter of the kernel's has.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// All that samples need.
    pub(super) fn counted(&self) -> OfFiles {
        let StreamedFiles { taken, came_back, behind, streams, read_within, .. } = *self;
        OfFiles { taken, came_back, behind, streams, read_within }
    }
}

/// Whether what begins at a place of a file is in memory.
fn is_in_memory(file: &File) -> impl FnMut(u64) -> bool + use<'_> {
    |place| page_cache::cached_in(file, place, PROBE).is_ok_and(|cached| cached > 0)
}

impl OneFile {
    /// Takes the next piece, from its end: as long as the begin of a stretch is there, all of it that is left is known to be.
    /// `None` where there is nothing to take.
    fn take(&mut self, at_most: u64) -> Option<u64> {
        if self.kept >= MOST_KEPT {
            return None;
        }
        let next = self.streamed.trail.next()?;
        let left = match self.begun {
            Some((stretch, left)) if stretch == next.stretch => left,
            _ => next.length,
        };
        let piece = PIECE.min(at_most.next_multiple_of(ALIGNED)).min(left);
        let from = next.from + left - piece;
        let cached = |from| page_cache::cached_in(&self.streamed.file, from, piece).unwrap_or(0);
        let before = cached(from);
        if before > 0 {
            let _ = fadvise(&self.streamed.file, from, NonZeroU64::new(piece), Advice::DontNeed);
        }
        let gone = before.saturating_sub(cached(from));
        let is_kept = (gone as f64) < KEPT * before as f64;
        self.kept = if is_kept { self.kept + 1 } else { self.kept.saturating_sub(u32::from(gone > 0)) };
        if left == piece || is_kept {
            self.streamed.trail.took(next.stretch);
            self.begun = None;
        } else {
            self.begun = Some((next.stretch, left - piece));
        }
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::{Duration, Instant};

    #[test]
    fn what_this_process_streamed_is_taken_behind_it_and_not_at_its_head() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("stream");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let Some(mut files) = StreamedFiles::open(&Root::live(), None) else { return };
        let (mut read, mut told) = (File::open(&path).unwrap(), Vec::new());
        let (began, mut buffer, mut at) = (Instant::now(), vec![0; 1 << 20], 0_u64);
        let mut position = 0_u64;
        while !told.iter().any(|path: &String| path.ends_with("/stream")) {
            assert!(began.elapsed() < Duration::from_secs(60), "it was not found");
            if position > 900 << 20 {
                page_cache_dropped(&read);
                (read, position) = (File::open(&path).unwrap(), 0);
            }
            for _ in 0..8 {
                position += read.read(&mut buffer).unwrap() as u64;
            }
            std::thread::sleep(Duration::from_millis(20));
            at = began.elapsed().as_nanos() as u64 + SECOND;
            files.follow(at, true, &mut |who| told.push(who.path.clone()));
        }
        files.files.retain(|one| one.streamed.who.path.ends_with("/stream"));
        let before = page_cache::cached(&read).unwrap();
        let taken = files.take(at, 24 << 20);
        assert!(taken >= 8 << 20, "{taken}");
        assert!(before - page_cache::cached(&read).unwrap() >= taken);
        let head = position.saturating_sub(8 << 20);
        assert!(page_cache::cached_in(&read, head, 4 << 20).unwrap() > 0, "the head stays");
        let quiet = Instant::now();
        while !files.files.is_empty() {
            assert!(quiet.elapsed() < Duration::from_secs(30), "a file that nobody reads is held");
            std::thread::sleep(Duration::from_millis(50));
            files.follow(at + SECOND + quiet.elapsed().as_nanos() as u64, false, &mut |_| {});
        }
    }

    fn page_cache_dropped(file: &File) {
        fadvise(file, 0, None, Advice::DontNeed).unwrap();
    }
}
