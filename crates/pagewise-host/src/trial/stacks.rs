//! The stacks that the runs of a trial kept, from the recordings in its bundle.
//!
//! A run has a recording of its own. The blocks of a live proof are stretches of one recording, between marks. Reasons name no
//! path: reports are the same wherever a bundle lies.

use super::recordings::{FOLDER, live_file, point_file};
use crate::store::bundle::Bundle;
use crate::store::recording::{Recording, RecordingError};
use pagewise_core::experiment::live::{Instant, mark};
use pagewise_core::experiment::point::Point;
use pagewise_core::experiment::stacks::{RunStacks, StacksOfRuns};
use pagewise_core::recording::{Mark, Profile, Recorded};
use std::path::Path;

/// Reads the stacks of these runs, one recording after the other. Why one has none is kept with it.
#[must_use]
pub fn kept(bundle: &Bundle, points: &[&Point]) -> StacksOfRuns {
    let folder = bundle.path().join(FOLDER);
    let mut kept = StacksOfRuns::default();
    if bundle.plan().live.is_some() {
        of_blocks(&folder, points, &mut kept);
        return kept;
    }
    for point in points {
        match OpenedRecording::open(&point_file(&folder, point.planned.index, point.attempt)) {
            Ok(opened) => kept.add(point, opened.seen(None, opened.seconds)),
            Err(why) => kept.miss(point, &why),
        }
    }
    kept
}

fn of_blocks(folder: &Path, points: &[&Point], kept: &mut StacksOfRuns) {
    let mut left: Vec<&Point> = points.to_vec();
    let mut why = NOT_THERE.to_owned();
    for file in (1..).map(|part| live_file(folder, part)).take_while(|file| file.exists()) {
        let opened = match OpenedRecording::open(&file) {
            Ok(opened) => opened,
            Err(reason) => {
                why = reason;
                continue;
            }
        };
        left.retain(|point| {
            let Some(block) = between_marks(&opened.marks, point) else { return true };
            match whole_slices(&opened.profile, block) {
                Some((from, to)) => kept.add(point, opened.seen(Some((from, to)), (to - from) as f64 * 1e-9)),
                None => kept.miss(point, "its block is shorter than the slices in which stacks are counted"),
            }
            false
        });
    }
    left.iter().for_each(|point| kept.miss(point, &why));
}

const NOT_THERE: &str = "its recording is not in the bundle";

/// What is needed of a recording.
struct OpenedRecording {
    profile: Profile,
    marks: Vec<Mark>,
    seconds: f64,
    recorder: Option<f64>,
}

impl OpenedRecording {
    fn open(file: &Path) -> Result<OpenedRecording, String> {
        if !file.exists() {
            return Err(NOT_THERE.to_owned());
        }
        let recording = Recording::open(file).map_err(without_path)?;
        let profile = recording.profile().map_err(without_path)?.ok_or_else(|| not_recorded(&recording))?;
        let marks = recording.marks().map_err(without_path)?;
        let number = |key: &str| recording.about(key).and_then(|text| text.parse::<u64>().ok());
        let last = recording.blocks().filter_map(Result::ok).filter_map(|block| Some(block.ticks.last()?.begin)).last();
        let length = last.zip(number("anchor_boottime_ns")).map_or(0, |(last, first)| last.saturating_sub(first));
        let seconds = length as f64 * 1e-9;
        let own = number("own_cpu_us").filter(|_| seconds > 0.0);
        Ok(OpenedRecording { profile, marks, seconds, recorder: own.map(|own| own as f64 * 1e-6 / seconds) })
    }

    fn seen(&self, stretch: Option<(u64, u64)>, seconds: f64) -> RunStacks<'_> {
        RunStacks { profile: &self.profile, stretch, seconds, recorder: self.recorder }
    }
}

fn without_path(error: RecordingError) -> String {
    match error {
        RecordingError::Damaged { what, .. } => format!("its recording is damaged: {what}"),
        RecordingError::Newer { found, .. } => format!("its recording has format {found}, of a newer pagewise"),
        _ => "its recording cannot be read".to_owned(),
    }
}

/// Why there are no stacks although they were asked for.
fn not_recorded(recording: &Recording) -> String {
    let told = recording.gaps().iter().find(|gap| gap.source.as_deref() == Some("stacks"));
    told.map_or_else(|| "its recording has no stacks".to_owned(), |gap| gap.detail.clone())
}

/// When a block was measured, by the marks at its ends.
fn between_marks(marks: &[Mark], point: &Point) -> Option<(u64, u64)> {
    let of = |instant| mark(instant, &point.planned, point.attempt);
    let (begins, ends) = (of(Instant::Begin), of(Instant::End));
    let from = marks.iter().position(|mark| mark.text == begins)?;
    let to = marks[from..].iter().find(|mark| mark.text == ends)?;
    Some((marks[from].ts, to.ts))
}

/// The slices of stacks that lie whole in a stretch: a slice at its end may be of the other policy already. `None`: there is
/// none.
fn whole_slices(profile: &Profile, (from, to): (u64, u64)) -> Option<(u64, u64)> {
    let first = profile.samples.first()?;
    let length = first.to.checked_sub(first.from).filter(|length| *length > 0)?;
    let phase = first.from % length;
    // The first edge of a slice at that instant or later. Instants in a file have 63 bits, so nothing here overflows.
    let edge = |at: u64| at + (phase + length - at % length) % length;
    let (begin, end) = (edge(from), edge(to + 1).checked_sub(length)?);
    (end > begin).then_some((begin, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::recording::StackSample;
    use pagewise_core::recording::stack::StackId;

    fn profile(first: u64, length: u64) -> Profile {
        let sample = StackSample {
            from: first,
            to: first + length,
            cpu: None,
            pid: None,
            comm: String::new(),
            stack: StackId(0),
            count: 1,
        };
        Profile { samples: vec![sample], ..Profile::default() }
    }

    #[test]
    fn only_slices_that_lie_whole_in_a_block_are_its_own() {
        let slices = |first, stretch| whole_slices(&profile(first, 10), stretch);
        assert_eq!(slices(100, (100, 130)), Some((100, 130)), "edges at both ends");
        assert_eq!(slices(100, (101, 139)), Some((110, 130)));
        assert_eq!(slices(103, (101, 139)), Some((103, 133)), "slices need not begin at a round instant");
        assert_eq!(slices(100, (101, 119)), None, "no whole slice");
        assert_eq!(whole_slices(&Profile::default(), (0, 100)), None, "nothing was seen at all");
    }
}
