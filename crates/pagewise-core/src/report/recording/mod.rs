//! A recording as one HTML file: what was found, timelines, flame graph, comparison, settings, gaps and what it cost.
//!
//! [`lines`] says what is drawn, [`meter`] turns recorded numbers into it, [`decimate`] makes any length fit a page,
//! [`flame`] does the same for stacks, [`functions`] lists their ends, [`sections`] holds what is said in words and tables (of
//! processes in `processes`), and [`mod@html`] lays it out.
//! Each recording is read once, block by block.

pub mod columns;
pub mod decimate;
pub mod flame;
pub mod functions;
pub mod html;
pub mod lines;
pub mod meter;
mod processes;
mod said;
pub mod sections;
mod stalled;

pub use html::html;
pub use said::said;

use crate::recording::{Block, Recorded};
use decimate::{Decimator, Timeline};
use flame::Flame;
use lines::{Line, LineSource};
use meter::{Meter, each_tick};
use sections::Sections;
use stalled::Stalled;
use std::fmt::Display;

/// Most troubles that are told of one recording.
const MOST_TROUBLES: usize = 5;

/// A recording, ready for a page.
#[derive(Clone, Debug)]
pub struct View {
    /// The lines of [`lines::lines`], decimated.
    pub timeline: Timeline,
    /// When the first tick was, in seconds since 1970.
    pub wall: f64,
    /// From the first tick to the last, in seconds.
    pub length: f64,
    /// Where CPUs were, if that was recorded.
    pub flame: Option<Flame>,
    /// Everything in words and tables.
    pub sections: Sections,
}

/// Reads a recording, named `name` on the page. What is damaged is said on the page; what stands before it is shown.
pub fn view<R: Recorded>(name: &str, recording: &R) -> View
where
    R::Error: Display,
{
    let mut troubles = Vec::new();
    let mut or_trouble = |error: R::Error| {
        // A file that is damaged in many places says enough with the first few.
        if troubles.len() < MOST_TROUBLES {
            troubles.push(error.to_string());
        }
    };
    let stalls = recording.stalls().map_err(&mut or_trouble).ok().flatten();
    let walks = recording.walks().map_err(&mut or_trouble).ok().flatten();
    let profile = recording.profile().map_err(&mut or_trouble).ok().flatten();
    let settings = recording.settings().map_err(&mut or_trouble).unwrap_or_default();
    let marks = recording.marks().map_err(&mut or_trouble).unwrap_or_default();

    let all: Vec<&'static Line> = lines::lines().collect();
    let page_size = recording.about("page_size").and_then(|size| size.parse().ok()).unwrap_or(4096.0);
    let mut meter = Meter::new(all, recording.series(), page_size);
    let breaks = recording.gaps().iter().filter(|gap| gap.source.is_none());
    let mut decimator =
        Decimator::new(meter.lines().len(), breaks.filter_map(|gap| Some((gap.from, gap.to?))).collect());
    let mut stalled = Stalled::new(stalls.as_deref(), recording.gaps());
    let mut seen = Extent::default();
    for block in recording.blocks() {
        match block {
            Ok(block) => read(&block, &mut meter, &mut stalled, &mut decimator, &mut seen),
            Err(error) => or_trouble(error),
        }
    }
    let origin = seen.first.or(profile.as_ref().and_then(|profile| profile.samples.first().map(|one| one.from)));
    let origin = origin.unwrap_or(0);
    let offset = seen.wall_offset.or_else(|| recording.about("anchor_wall_offset_ns")?.parse().ok()).unwrap_or(0);
    let timeline = decimator.finish(origin);
    let flame = profile.as_ref().and_then(|profile| flame::flame(profile, origin));
    let sections = Sections::of(sections::Material {
        name,
        recording,
        timeline: &timeline,
        flame: flame.as_ref(),
        stalls: stalls.as_deref(),
        walks: walks.as_deref(),
        settings,
        marks,
        troubles,
        origin,
        last: seen.last.unwrap_or(origin),
        offset,
        ticks: seen.ticks,
    });
    View {
        wall: ((i128::from(origin) + i128::from(offset)) / 1_000_000) as f64 / 1e3,
        length: (seen.last.unwrap_or(origin) - origin) as f64 * 1e-9,
        timeline,
        flame,
        sections,
    }
}

#[derive(Default)]
struct Extent {
    first: Option<u64>,
    last: Option<u64>,
    wall_offset: Option<i64>,
    ticks: u64,
}

fn read(block: &Block, meter: &mut Meter, stalled: &mut Stalled, into: &mut Decimator, seen: &mut Extent) {
    let place =
        |line: &&'static Line| if let LineSource::Stalled(kind) = line.reads { Stalled::place(kind) } else { None };
    let places: Vec<Option<usize>> = meter.lines().iter().map(place).collect();
    each_tick(block, meter, |tick, values| {
        // A recording that was tampered with may run backwards.
        if seen.last.is_some_and(|last| tick.begin <= last) {
            return;
        }
        let held_up = stalled.at(tick.begin);
        for (value, place) in values.iter_mut().zip(&places) {
            if let (Some(place), Some(held_up)) = (place, &held_up) {
                *value = Some(held_up[*place]);
            }
        }
        into.push(tick.begin, values);
        seen.first.get_or_insert(tick.begin);
        seen.wall_offset.get_or_insert(tick.wall_offset);
        seen.last = Some(tick.begin);
        seen.ticks += 1;
    });
}
