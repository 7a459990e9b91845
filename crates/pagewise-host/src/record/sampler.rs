//! The sampler's thread: on each tick, every kernel file into one row, and the row into the ring.

use super::ring::Ring;
use super::schedule::{DueTick, Schedule};
use super::settings::{self, Settings};
use super::{Event, FINISH, OpenedSource, RUN, Shared, open_gap, writing};
use crate::clock;
use crate::source::polled::{BUFFER, Polled};
use crate::source::{Pace, SourceError};
use crate::sys::lock_memory;
use pagewise_core::counter::describe;
use pagewise_core::recording::tick::{Reading, TickEncoder};
use pagewise_core::recording::{Gap, GapReason, Series};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread::{self, Thread};
use std::time::Duration;

/// No more often than this a source is read, in nanoseconds; 0: at every tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// After a reading that brought something new.
    pub(super) busy: u64,
    /// After one that did not, where that is known.
    pub(super) calm: u64,
}

/// A little less than what it says, so that a tick that comes early by the precision of the clock is not left out. The
/// statistics of huge pages are 150 files on 6.18, which cost twice as much as all others together and stand still on most
/// hosts.
pub(super) fn pace(pace: Pace) -> Period {
    const SECOND: u64 = 950_000_000;
    const TEN_SECONDS: u64 = 9_950_000_000;
    match pace {
        Pace::EveryTick => Period { busy: 0, calm: 0 },
        Pace::EverySecond => Period { busy: SECOND, calm: SECOND },
        Pace::WhileItChanges => Period { busy: SECOND, calm: TEN_SECONDS },
    }
}

/// Suspended for longer than this between two ticks, the gap is the suspension's.
const SUSPENSION: u64 = 500_000_000;

/// A frame of the ring: the instant, the wall offset, the row.
pub(super) const FRAME_HEAD: usize = 16;

/// What the sampler counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) samples: u64,
    pub(super) late: u64,
    pub(super) gaps: u64,
    /// What the first of them are of, and why.
    pub(super) first_gaps: Vec<String>,
}

/// So many gaps are named at the end.
pub(super) const NAMED_GAPS: usize = 3;

struct Source {
    name: String,
    polled: Option<Polled>,
    pace: Period,
    /// What of it holds now.
    period: u64,
    last_read: Option<u64>,
    has_open_gap: bool,
}

/// Ticks for which the ring had no room.
struct Lost {
    from: u64,
    ticks: u64,
}

pub(super) struct Sampler {
    sources: Vec<Source>,
    settings: Settings,
    /// When the settings are read next.
    settings_due: u64,
    /// When the writer is woken next.
    batch_due: u64,
    schedule: Schedule,
    encoder: TickEncoder,
    ring: Arc<Ring>,
    events: Sender<Event>,
    shared: Arc<Shared>,
    buffer: Vec<u8>,
    frame: Vec<u8>,
    lost: Option<Lost>,
    /// Time this boot was suspended, as of the last tick.
    suspended: u64,
    counts: Counts,
}

impl Sampler {
    pub(super) fn new(
        opened: Vec<OpenedSource>,
        settings: Settings,
        schedule: Schedule,
        ring: Arc<Ring>,
        events: Sender<Event>,
        shared: Arc<Shared>,
    ) -> Self {
        let (buffer, frame) = (vec![0; BUFFER], Vec::with_capacity(BUFFER));
        // Where this is refused the ring was refused, too, and the recording says so.
        let _ = lock_memory::lock(&buffer);
        let mut sampler = Sampler {
            encoder: TickEncoder::new(opened.len() + 2),
            sources: Vec::with_capacity(opened.len()),
            settings,
            settings_due: clock::boot() + settings::EVERY,
            batch_due: clock::boot() + writing::BATCH_EVERY,
            schedule,
            ring,
            events,
            shared,
            buffer,
            frame,
            lost: None,
            suspended: clock::boot().saturating_sub(clock::awake()),
            counts: Counts::default(),
        };
        for OpenedSource { name, polled, pace } in opened {
            let polled = match polled {
                Ok(polled) => Some(polled),
                Err(why) => {
                    sampler.gap(open_gap(clock::boot(), &name, GapReason::Missing, why));
                    None
                }
            };
            let (period, last_read, has_open_gap) = (pace.busy, None, false);
            sampler.sources.push(Source { name, polled, pace, period, last_read, has_open_gap });
        }
        sampler
    }

    fn gap(&mut self, gap: Gap) {
        self.counts.gaps += 1;
        if self.counts.first_gaps.len() < NAMED_GAPS {
            let source = gap.source.as_deref().unwrap_or("all");
            self.counts.first_gaps.push(format!("{source}: {}", gap.reason.word()));
        }
        let _ = self.events.send(Event::Gap(gap));
    }

    /// Takes the first sample, on the thread that starts the recording.
    pub(super) fn first(&mut self) {
        let due = self.schedule.take(clock::boot());
        self.sample(due.planned);
    }

    /// Samples until it is told to stop.
    pub(super) fn run(mut self, writer: &Thread) -> Counts {
        while self.shared.stop.load(Ordering::Acquire) == RUN && !self.shared.ended.load(Ordering::Acquire) {
            let now = clock::boot();
            let wait = self.schedule.wait(now);
            if wait > 0 {
                thread::park_timeout(Duration::from_nanos(wait));
                continue;
            }
            self.tick(now);
            self.wake_writer(writer);
        }
        if self.shared.stop.load(Ordering::Acquire) == FINISH && !self.shared.ended.load(Ordering::Acquire) {
            // The last sample has every source, however short the time since the one before.
            self.sources.iter_mut().for_each(|source| source.last_read = None);
            self.sample(clock::boot());
            self.settings_due = 0;
            self.read_settings();
        }
        self.tell_lost(clock::boot());
        self.note_cost();
        self.counts
    }

    /// How long until the next sample is due, in nanoseconds.
    pub(super) fn wait(&self) -> u64 {
        self.schedule.wait(clock::boot())
    }

    /// Takes the sample that is due.
    pub(super) fn tick(&mut self, now: u64) {
        let due = self.schedule.take(now);
        self.note_missed(due);
        self.sample(due.planned);
        self.read_settings();
        self.note_cost();
    }

    /// What sampling has cost so far, with the threads that work for a source.
    fn note_cost(&self) {
        let of_sources: u64 = self.sources.iter().filter_map(|source| source.polled.as_ref()).map(Polled::cost).sum();
        self.shared.sampler_cpu.store(clock::thread_cpu() + of_sources, Ordering::Release);
    }

    fn note_missed(&mut self, due: DueTick) {
        let suspended = clock::boot().saturating_sub(clock::awake());
        let slept = suspended.saturating_sub(self.suspended);
        self.suspended = suspended;
        if due.missed == 0 {
            return;
        }
        let (reason, detail) = if slept > SUSPENSION {
            (GapReason::Suspended, format!("the machine was suspended for {} ms", slept / 1_000_000))
        } else {
            (GapReason::Late, "the sampler was not given a CPU, or a kernel file took long to read".to_owned())
        };
        let (from, to) = (due.missed_from, Some(due.planned));
        self.gap(Gap { from, to, source: None, reason, ticks: Some(due.missed), detail });
    }

    fn read_settings(&mut self) {
        let now = clock::boot();
        if now < self.settings_due {
            return;
        }
        self.settings_due = now + settings::EVERY;
        for changed in self.settings.changes() {
            let _ = self.events.send(Event::Setting(now, changed.name, changed.now));
        }
    }

    /// Right after a sample, while a CPU is awake and warm: a timer of the writer's own would wake one once more.
    fn wake_writer(&mut self, writer: &Thread) {
        let now = clock::boot();
        if now >= self.batch_due || self.ring.is_filling() {
            self.batch_due = now + writing::BATCH_EVERY;
            writer.unpark();
        }
    }

    fn sample(&mut self, planned: u64) {
        let begin = clock::boot();
        let wall_offset = clock::wall_offset();
        let late = begin.saturating_sub(planned);
        self.frame.clear();
        self.frame.extend_from_slice(&begin.to_le_bytes());
        self.frame.extend_from_slice(&wall_offset.to_le_bytes());
        self.encoder.begin();
        let clock_values = [begin, late / 1000, wall_offset as u64];
        let of_clock = Reading { took: 0, values: &clock_values, present: &[true; 3] };
        self.encoder.section(&mut self.frame, Some(of_clock));
        // The sources are read back to back: the end of one is the beginning of the next.
        let mut before = clock::boot();
        for index in 0..self.sources.len() {
            before = self.read(index, begin, before);
        }
        let micros = |cpu: &std::sync::atomic::AtomicU64| cpu.load(Ordering::Relaxed) / 1000;
        let own = [&self.shared.sampler_cpu, &self.shared.writer_cpu, &self.shared.walker_cpu].map(micros);
        self.encoder.section(&mut self.frame, Some(Reading { took: 0, values: &own, present: &[true; 3] }));
        if self.ring.put(&self.frame) {
            self.counts.samples += 1;
            self.counts.late += u64::from(self.schedule.is_late(planned, begin));
            self.tell_lost(begin);
        } else {
            // What was lost must not be built on.
            self.encoder.restart();
            self.lost.get_or_insert(Lost { from: begin, ticks: 0 }).ticks += 1;
        }
    }

    /// Reads a source if it is its turn, and appends its section. Gives the instant after.
    fn read(&mut self, index: usize, begin: u64, before: u64) -> u64 {
        let source = &mut self.sources[index];
        let is_due = source.last_read.is_none_or(|last| begin.saturating_sub(last) >= source.period);
        let Some(polled) = source.polled.as_mut().filter(|_| is_due) else {
            self.encoder.section(&mut self.frame, None);
            return before;
        };
        source.last_read = Some(begin);
        let outcome = polled.read(&mut self.buffer);
        let after = clock::boot();
        if let Err(error) = outcome {
            self.encoder.section(&mut self.frame, None);
            if !source.has_open_gap {
                source.has_open_gap = true;
                let reason = match error {
                    SourceError::File(_) => GapReason::Unreadable,
                    SourceError::Format { .. } => GapReason::NotUnderstood,
                };
                let gap = open_gap(begin, &source.name, reason, error.to_string());
                self.gap(gap);
            }
            return after;
        }
        if source.has_open_gap {
            source.has_open_gap = false;
            let _ = self.events.send(Event::GapEnds(source.name.clone(), begin));
        }
        let columns = polled.columns();
        source.period = if columns.changed { source.pace.busy } else { source.pace.calm };
        for new in columns.take_new() {
            let (unit, kind) = describe(&source.name, &new.name, new.says_kib);
            // Told before the row is in the ring, so that no row is written before its series.
            let _ = self.events.send(Event::Series(Series {
                source: source.name.clone(),
                column: new.column,
                name: new.name,
                labels: new.labels,
                unit: Some(unit),
                kind,
                first_seen: begin,
            }));
        }
        let took = u32::try_from(after.saturating_sub(before).div_ceil(1000)).unwrap_or(u32::MAX);
        let reading = Reading { took, values: &columns.values, present: &columns.present };
        self.encoder.section(&mut self.frame, Some(reading));
        after
    }

    fn tell_lost(&mut self, now: u64) {
        if let Some(Lost { from, ticks }) = self.lost.take() {
            let detail = "the disk took nothing for so long that the ring between sampler and writer was full";
            let (reason, detail) = (GapReason::WriterBehind, detail.to_owned());
            self.gap(Gap { from, to: Some(now), source: None, reason, ticks: Some(ticks), detail });
        }
    }
}
