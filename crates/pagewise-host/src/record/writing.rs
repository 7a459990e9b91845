//! The writer's thread: from the ring to the file, in batches, until the sampler has ended or the disk is full.

use super::redaction::Redaction;
use super::ring::Ring;
use super::sampler::FRAME_HEAD;
use super::{ABANDON, Event, Shared};
use crate::clock;
use crate::store::recording::{Batch, TickRow, Writer};
use pagewise_core::recording::Gap;
use pagewise_core::report::printable::without_error_numbers;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

/// A batch every so often, in nanoseconds: a little less than four seconds, so that a tick that comes early by the precision
/// of the clock still brings it, and with the time a commit takes within the five that a killed recording may lose.
pub(super) const BATCH_EVERY: u64 = 3_950_000_000;

/// Were the sampler stuck in a kernel file, what came before would still be written.
const AT_LATEST: Duration = Duration::from_millis(4500);

/// How the file ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) bytes: u64,
    pub(super) ended: Option<String>,
}

/// Writes until there is nothing more to come.
pub(super) fn run(
    mut writer: Writer,
    mut redaction: Redaction,
    ring: &Ring,
    events: &Receiver<Event>,
    shared: &Shared,
) -> Outcome {
    loop {
        // Asked before the ring is emptied: what the sampler put before it ended is then in this batch.
        let is_last = shared.ended.load(Ordering::Acquire);
        let mut batch = drain(ring, events);
        redaction.apply(&mut batch);
        let rows = batch.stacks.as_ref().map_or(0, |rows| rows.samples.len())
            + batch.stalls.as_ref().map_or(0, Vec::len)
            + batch.walks.iter().flatten().map(|walk| walk.rows.len()).sum::<usize>();
        let written = writer.write(batch);
        shared.waiting.fetch_sub(rows as i64, Ordering::AcqRel);
        if let Err(error) = written {
            shared.ended.store(true, Ordering::Release);
            let reason = error.to_string();
            let bytes = writer.abandon(&redaction.words(&reason));
            tell_cpu(shared);
            return Outcome { bytes, ended: Some(reason) };
        }
        tell_cpu(shared);
        if is_last {
            return finish(writer, shared);
        }
        thread::park_timeout(AT_LATEST);
    }
}

fn finish(writer: Writer, shared: &Shared) -> Outcome {
    if shared.stop.load(Ordering::Acquire) == ABANDON {
        let reason = "the recorder was given up before it was told to finish".to_owned();
        return Outcome { bytes: writer.abandon(&reason), ended: Some(reason) };
    }
    if let Err(error) = writer.check_place() {
        let reason = error.to_string();
        return Outcome { bytes: writer.abandon(&reason), ended: Some(reason) };
    }
    let others = [&shared.sampler_cpu, &shared.lookers_cpu].map(|cpu| cpu.load(Ordering::Acquire));
    let own_cpu = others[0] + others[1] + clock::thread_cpu();
    let path = writer.path().to_owned();
    let outcome = match writer.finish(&[("own_cpu_us".to_owned(), (own_cpu / 1000).to_string())]) {
        Ok(bytes) => Outcome { bytes, ended: None },
        Err(error) => {
            let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            Outcome { bytes, ended: Some(error.to_string()) }
        }
    };
    tell_cpu(shared);
    outcome
}

fn tell_cpu(shared: &Shared) {
    shared.writer_cpu.store(clock::thread_cpu(), Ordering::Release);
}

/// Rows first, then what was told: a series is told before its first row is put, so none can be missing.
pub(super) fn drain(ring: &Ring, events: &Receiver<Event>) -> Batch {
    let mut batch = Batch::default();
    while let Some(frame) = ring.take() {
        let number = |at: usize| frame.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        if let (Some(ts), Some(wall_offset)) = (number(0), number(8)) {
            batch.ticks.push(TickRow { ts, wall_offset: wall_offset as i64, row: frame[FRAME_HEAD..].to_vec() });
        }
    }
    hear(&mut batch, events);
    batch
}

/// Puts what was told into a batch.
pub(super) fn hear(batch: &mut Batch, events: &Receiver<Event>) {
    while let Ok(event) = events.try_recv() {
        match event {
            Event::Series(series) => batch.series.push(series),
            Event::Gap(gap) => batch.gaps.push(Gap { detail: without_error_numbers(&gap.detail), ..gap }),
            Event::GapEnds(source, to) => batch.gap_ends.push((source, to)),
            Event::Setting(ts, name, value) => batch.settings.push((ts, name, value, "seen")),
            Event::Mark(ts, source, text) => batch.marks.push((ts, source, text)),
            Event::Meta(key, value) => batch.meta.push((key, value)),
            Event::Stacks(rows) => batch.stack_rows().extend(rows),
            Event::Stalls(rows) => batch.stall_rows().extend(rows),
            Event::Walks(walks) => batch.walks().extend(walks),
        }
    }
}
