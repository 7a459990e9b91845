//! The trail of a stream: which parts of a file are in memory, in which order they came, and which of them nobody will want soon.
//!
//! A file is scanned in stretches of some MiB. A stretch that was not in memory and now is has come; a file whose stretches come one after
//! the other is streamed, and the last to come is the stream's head. What is taken first lies right behind the head: the stream has gone past it, a
//! round through the whole file is the longest way until it is wanted again, and its pages are still warm. Taking the oldest instead, as
//! the kernel's lists do, gives a stream that goes around no hit at all.
//!
//! A stretch that comes back before the stream can have gone round to it was wanted by somebody else, and counts as come back.

use super::SECOND;

/// No more stretches than this, however long the file is.
const MOST: u64 = 1024;

/// No stretch is shorter: what is checked of each is at its begin, and has to stand for all of it.
const SHORTEST: u64 = 8 << 20;

/// Stretches begin and end at whole huge pages, so that no large folio lies across.
pub const ALIGNED: u64 = 2 << 20;

/// The last stretches behind the head are left alone: the stream is still at work there, and what reads behind it, too.
const LEFT_BEHIND: usize = 2;

/// So many stretches must have come lately, and this part of them in order, before a file counts as streamed.
const LEAST_CAME: f64 = 3.0;
const IN_ORDER: f64 = 0.8;

/// Fewer stretches than this may have come and gone between two scans.
const PASSED_OVER: usize = 8;

/// So many stretches ahead of the head that were not in memory are checked to see how far it went since a moment ago.
const SCANNED_AHEAD: usize = 4;

/// A stream that did not go on for so long may be elsewhere.
const QUIET: u64 = SECOND;

/// What came counts half as much after about so long.
const FADES: f64 = 10.0 * SECOND as f64;

/// A stretch of the file.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    is_here: bool,
    /// The look at which it came.
    came_at: u64,
    /// It was taken, and the stream's own way leads to it again only once it has gone so many stretches in all.
    due: Option<u64>,
}

/// Where bytes can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeableRange {
    /// The stretch.
    pub stretch: usize,
    /// Its first byte.
    pub from: u64,
    /// How long it is; the last one may end behind the file's end.
    pub length: u64,
}

/// What of one file is in memory.
#[derive(Clone, Debug)]
pub struct Trail {
    stretches: Vec<Stretch>,
    stretch: u64,
    head: Option<usize>,
    /// Stretches that the head has gone, and when it went on last.
    gone: u64,
    moved: u64,
    /// What came lately, and how much of it in order.
    came: f64,
    in_order: f64,
    /// The scan of all of it before, and this one, of whatever kind.
    before: Option<u64>,
    now: u64,
    is_streamed: bool,
    came_back: u64,
}

impl Trail {
    /// Of a file of that length, which was not scanned yet.
    #[must_use]
    pub fn of(length: u64) -> Trail {
        let stretch = length.div_ceil(MOST).max(SHORTEST).next_multiple_of(ALIGNED);
        Trail {
            stretches: vec![Stretch::default(); length.div_ceil(stretch).max(1) as usize],
            stretch,
            head: None,
            gone: 0,
            moved: 0,
            came: 0.0,
            in_order: 0.0,
            before: None,
            now: 0,
            is_streamed: false,
            came_back: 0,
        }
    }

    /// Where to check whether a stretch is in memory: the first byte of each.
    pub fn places(&self) -> impl Iterator<Item = u64> + use<> {
        let stretch = self.stretch;
        (0..self.stretches.len() as u64).map(move |index| index * stretch)
    }

    /// What was seen at each of these places, all of them in their order.
    pub fn scan(&mut self, at: u64, mut is_here: impl FnMut(u64) -> bool) {
        let is_first = self.before.is_none();
        self.begin_scan(at);
        for (index, stretch) in self.stretches.iter_mut().enumerate() {
            let here = is_here(index as u64 * self.stretch);
            if here && !stretch.is_here {
                stretch.came_at = if is_first { 0 } else { at };
            }
            stretch.is_here = here;
        }
        if !is_first {
            self.follow();
        }
        self.before = Some(at);
    }

    /// How far a stream went since a moment ago: only the places right ahead of its head are checked. Of all others it is believed that
    /// they are as they were. Nothing where no head is known.
    pub fn scan_ahead(&mut self, at: u64, mut is_here: impl FnMut(u64) -> bool) {
        let Some(head) = self.head.filter(|_| self.is_streamed) else { return };
        self.begin_scan(at);
        let count = self.stretches.len();
        let mut missing = 0;
        for index in (1..count).map(|distance| (head + distance) % count) {
            // The stream passes over what it finds in memory.
            let stretch = &mut self.stretches[index];
            if stretch.is_here {
                continue;
            }
            if is_here(index as u64 * self.stretch) {
                (stretch.is_here, stretch.came_at) = (true, at);
            } else {
                missing += 1;
            }
            if missing >= SCANNED_AHEAD {
                break;
            }
        }
        // What others did since the last scan of all of it is seen by the next one: `before` stays that.
        self.follow();
    }

    /// What came before this scan fades.
    fn begin_scan(&mut self, at: u64) {
        let since = at.saturating_sub(self.now);
        let faded = if self.before.is_none() { 0.0 } else { libm::exp2(-(since as f64) / FADES) };
        (self.came, self.in_order) = (self.came * faded, self.in_order * faded);
        self.now = at;
    }

    /// Goes through what came at this scan.
    fn follow(&mut self) {
        let count = self.stretches.len();
        let before = self.before.unwrap_or(0);
        let now = self.now;
        let is_new = |stretch: &Stretch| stretch.is_here && stretch.came_at == now;
        let ahead = |index: usize| self.head.map_or(0, |head| (index + count - head) % count);
        // What was there before it got so far it passes over, however much that is; what was not there would have come.
        let missing_before = |first: usize| {
            let between = (1..ahead(first)).map(|distance| &self.stretches[(first + count - distance) % count]);
            between.filter(|stretch| !stretch.is_here || is_new(stretch)).count()
        };
        let (mut came, mut in_order, mut nearest) = (0, 0, None);
        // What came lies in rows; each ends where a reader is.
        for first in 0..count {
            let previous = &self.stretches[(first + count - 1) % count];
            if !is_new(&self.stretches[first]) || is_new(previous) {
                continue;
            }
            let length = (1..count).find(|more| !is_new(&self.stretches[(first + more) % count])).unwrap_or(count);
            let goes_on = previous.is_here && (ahead(first) == 1 || previous.came_at >= before.max(1));
            came += length;
            in_order += length - usize::from(!goes_on);
            if nearest.is_none_or(|(nearest, _)| ahead(first) < ahead(nearest)) {
                nearest = Some((first, (first + length - 1) % count));
            }
        }
        // Another reader's row is far away; it is the stream's own only once the stream no longer is where it was.
        let is_quiet = now.saturating_sub(self.moved) > QUIET;
        if let Some((first, last)) = nearest
            && (self.head.is_none() || is_quiet || ahead(first) <= count / 8 || missing_before(first) < PASSED_OVER)
        {
            // What it passes over may have been in memory, and did not come: before the row, and between this and the next one.
            let last = self.goes_on_to(last, now);
            self.gone += ahead(last) as u64;
            (self.head, self.moved) = (Some(last), now);
        }
        let so_far = self.gone + LEFT_BEHIND as u64;
        let dues = self.stretches.iter_mut().filter(|stretch| is_new(stretch)).filter_map(|stretch| stretch.due.take());
        let back = dues.filter(|due| so_far < *due).count() as u64;
        self.came += came as f64;
        self.in_order += in_order as f64;
        self.came_back += back * self.stretch;
        // As long as little comes, it stays what it was: a stream may meet what is in memory for minutes.
        if self.came >= LEAST_CAME {
            self.is_streamed = self.in_order >= IN_ORDER * self.came && self.head.is_some();
        }
    }

    /// The end of the last row that came at this scan and that the stream can have reached from the end of this one over what was in memory, no more
    /// than an eighth of the file at a time.
    fn goes_on_to(&self, last: usize, now: u64) -> usize {
        let count = self.stretches.len();
        let mut reached = 0;
        for distance in 1..count {
            let stretch = &self.stretches[(last + distance) % count];
            if !stretch.is_here || distance - reached > (count / 8).max(PASSED_OVER) {
                break;
            }
            if stretch.came_at == now {
                reached = distance;
            }
        }
        (last + reached) % count
    }

    /// Whether what comes, comes one after the other.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// The stretch that is to be taken next: the nearest behind the head, but for the last ones. `None` where the file is not
    /// streamed or nothing of it is left.
    #[must_use]
    pub fn next(&self) -> Option<TakeableRange> {
        let head = self.head.filter(|_| self.is_streamed())?;
        let count = self.stretches.len();
        let behind = (LEFT_BEHIND..count.saturating_sub(1)).map(|distance| (head + count - distance) % count);
        let stretch = behind.into_iter().find(|index| self.stretches[*index].is_here)?;
        Some(TakeableRange { stretch, from: stretch as u64 * self.stretch, length: self.stretch })
    }

    /// Bytes that could be taken, those of the last stretches behind the head left alone.
    #[must_use]
    pub fn behind(&self) -> u64 {
        if !self.is_streamed() {
            return 0;
        }
        let here = self.stretches.iter().filter(|stretch| stretch.is_here).count();
        here.saturating_sub(LEFT_BEHIND) as u64 * self.stretch
    }

    /// All of a stretch was taken, or could not be: it is not offered again before it has come anew.
    pub fn took(&mut self, stretch: usize) {
        let count = self.stretches.len();
        let head = self.head.unwrap_or(stretch);
        let ahead = (stretch + count - head) % count;
        let one = &mut self.stretches[stretch];
        one.is_here = false;
        one.due = Some(self.gone + ahead as u64);
    }

    /// Total bytes that came back sooner than the stream itself can have come to them again.
    #[must_use]
    pub fn came_back(&self) -> u64 {
        self.came_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A file of 64 stretches and what of it is in memory, as a set of stretches.
    struct File {
        here: [bool; 64],
        trail: Trail,
        at: u64,
    }

    impl File {
        fn new() -> File {
            File { here: [false; 64], trail: Trail::of(64 * SHORTEST), at: SECOND }
        }

        fn scan(&mut self) {
            self.at += SECOND / 5;
            let here = self.here;
            self.trail.scan(self.at, |place| here[(place / SHORTEST) as usize]);
        }

        /// These stretches come, a scan after every second one.
        fn reads(&mut self, stretches: impl Iterator<Item = usize>) {
            for (number, stretch) in stretches.enumerate() {
                self.here[stretch % 64] = true;
                if number % 2 == 1 {
                    self.scan();
                }
            }
        }

        fn take(&mut self) -> Option<usize> {
            let take = self.trail.next()?;
            self.here[take.stretch] = false;
            self.trail.took(take.stretch);
            Some(take.stretch)
        }
    }

    #[test]
    fn what_is_taken_lies_right_behind_the_stream_and_goes_back_from_there() {
        let mut file = File::new();
        file.scan();
        assert_eq!(file.take(), None, "nothing is known yet");
        file.reads(10..30);
        assert!(file.trail.is_streamed());
        assert_eq!(file.trail.behind(), 18 * SHORTEST);
        assert_eq!([file.take(), file.take(), file.take()], [Some(27), Some(26), Some(25)]);
        assert_eq!(file.trail.behind(), 15 * SHORTEST);
        file.reads(30..34);
        assert_eq!([file.take(), file.take()], [Some(31), Some(30)], "29 and 28 were left alone then");
    }

    #[test]
    fn a_stream_that_goes_around_is_followed_over_the_end_and_nothing_comes_back() {
        let mut file = File::new();
        file.scan();
        for round in 0..3 {
            for stretch in (0..64).step_by(2) {
                file.reads((round * 64 + stretch)..(round * 64 + stretch + 2));
                file.take();
                file.take();
            }
        }
        assert!(file.trail.is_streamed());
        assert_eq!(file.trail.came_back(), 0);
        assert!(file.here.iter().filter(|here| **here).count() < 16, "what it left behind was taken");
    }

    #[test]
    fn a_fast_stream_passes_over_what_is_in_memory_between_two_scans_and_nothing_came_back() {
        let mut file = File::new();
        (30..60).for_each(|stretch| file.here[stretch] = true);
        file.scan();
        file.reads(0..30);
        // All that it left is taken, up to what it will meet next.
        while file.take() != Some(0) {}
        // Half the file further at the next scan.
        file.reads([60, 61, 62, 63, 0, 1, 2, 3].into_iter());
        assert_eq!((file.trail.head, file.trail.came_back()), (Some(3), 0));
    }

    #[test]
    fn a_stream_that_goes_over_what_is_left_of_an_earlier_round_is_where_it_came_to_after_that() {
        let mut file = File::new();
        file.scan();
        file.reads(0..64);
        while file.take() != Some(16) {}
        for taken in [12, 13] {
            file.here[taken] = false;
            file.trail.took(taken);
        }
        // Between two scans it comes to these four, and finds 14 and 15 in memory.
        [12, 13, 16, 17].into_iter().for_each(|stretch| file.here[stretch] = true);
        file.scan();
        assert_eq!((file.trail.head, file.trail.came_back()), (Some(17), 0));
    }

    #[test]
    fn a_scan_ahead_sees_how_far_the_stream_went_and_asks_a_few_places_only() {
        let mut file = File::new();
        file.here[31] = true;
        file.scan();
        file.reads(10..30);
        while file.take() != Some(10) {}
        // It goes on by three, passing over one that was there; another reader's stretch is far away.
        [30, 32, 33, 5].into_iter().for_each(|stretch| file.here[stretch] = true);
        file.at += SECOND / 200;
        let (here, mut asked) = (file.here, 0);
        file.trail.scan_ahead(file.at, |place| {
            asked += 1;
            here[(place / SHORTEST) as usize]
        });
        assert_eq!((file.trail.head, asked, file.trail.came_back()), (Some(33), 3 + SCANNED_AHEAD, 0));
        assert_eq!([file.take(), file.take()], [Some(31), Some(30)]);
        // What it did not ask is seen by the next scan of all.
        file.scan();
        assert!(file.trail.stretches[5].is_here && file.trail.is_streamed());
        let mut unknown = Trail::of(64 * SHORTEST);
        unknown.scan_ahead(SECOND, |_| unreachable!("nobody is known to be anywhere"));
    }

    #[test]
    fn two_streams_of_one_file_stay_streams_however_often_it_is_looked_ahead_of_one() {
        let mut file = File::new();
        file.scan();
        for step in 0..12 {
            // One goes by two stretches, the other, far away, by one.
            [2 * step, 2 * step + 1, 40 + step].into_iter().for_each(|stretch| file.here[stretch % 64] = true);
            for _ in 0..4 {
                file.at += SECOND / 200;
                let here = file.here;
                file.trail.scan_ahead(file.at, |place| here[(place / SHORTEST) as usize]);
            }
            file.scan();
            assert!(step < 4 || file.trail.is_streamed(), "{step}");
        }
    }

    #[test]
    fn random_reads_are_no_stream() {
        let mut file = File::new();
        file.scan();
        file.reads((0..40).map(|number| number * 37));
        assert!(!file.trail.is_streamed());
        assert_eq!(file.take(), None);
    }

    #[test]
    fn a_file_that_is_all_there_is_no_stream() {
        let mut file = File::new();
        file.here = [true; 64];
        (0..10).for_each(|_| file.scan());
        assert_eq!(file.take(), None);
    }

    #[test]
    fn what_another_reader_wants_again_has_come_back() {
        let mut file = File::new();
        file.scan();
        file.reads(0..20);
        let taken: Vec<usize> = (0..6).filter_map(|_| file.take()).collect();
        assert_eq!(taken, [17, 16, 15, 14, 13, 12]);
        file.reads([12, 13, 20, 21].into_iter());
        assert_eq!(file.trail.came_back(), 2 * SHORTEST);
    }

    #[test]
    fn a_long_file_has_longer_stretches_and_a_short_one_a_single_one() {
        let long = Trail::of(4096 * GIB);
        assert_eq!(long.stretches.len(), 1024);
        assert_eq!(long.stretch % ALIGNED, 0);
        let mut short = Trail::of(1);
        short.scan(SECOND, |_| true);
        short.scan(2 * SECOND, |_| true);
        assert_eq!(short.next(), None);
        assert_eq!(short.places().collect::<Vec<_>>(), [0]);
    }
}
