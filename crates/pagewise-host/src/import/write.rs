//! An import as a recording file, which every other verb reads.

use crate::store::recording::{Batch, CLOCK, RecordingError, StackRows, TickRow, Writer, stacks};
use pagewise_core::import::Imported;
use pagewise_core::recording::tick::{Reading, SourceRow, TickEncoder};
use pagewise_core::recording::{Profile, Recorded, StackId};
use std::path::Path;

/// Writes it. The file is never overwritten. Gives its size in bytes.
///
/// # Errors
/// When there is a file of that name, or it cannot be written.
pub fn write(imported: &Imported, path: &Path) -> Result<u64, RecordingError> {
    let sources: Vec<&str> = std::iter::once(CLOCK).chain(imported.sources()).collect();
    let meta: Vec<(String, String)> =
        imported.all_about().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut writer = Writer::create(path, &sources, &meta, None)?;
    match fill(&mut writer, imported, sources.len()) {
        Ok(()) => writer.finish(&[]),
        Err(error) => {
            writer.abandon(&error.to_string());
            Err(error)
        }
    }
}

fn fill(writer: &mut Writer, imported: &Imported, sources: usize) -> Result<(), RecordingError> {
    let Ok(settings) = imported.settings();
    let Ok(marks) = imported.marks();
    let Ok(profile) = imported.profile();
    writer.write(Batch {
        series: imported.series().to_vec(),
        gaps: imported.gaps().to_vec(),
        settings: settings.into_iter().map(|one| (one.ts, one.path, one.value, "start")).collect(),
        marks: marks.into_iter().map(|mark| (mark.ts, "import", mark.text)).collect(),
        meta: profile.as_ref().map(stacks_meta).unwrap_or_default(),
        stacks: profile.map(rows_of),
        ..Batch::default()
    })?;
    let mut encoder = TickEncoder::new(sources);
    for block in imported.blocks() {
        let Ok(block) = block;
        let rows: Vec<Vec<Option<SourceRow>>> = block.sources.iter().map(|source| source.data.rows()).collect();
        let mut ticks = Vec::with_capacity(block.ticks.len());
        for (index, tick) in block.ticks.iter().enumerate() {
            let mut row = Vec::new();
            encoder.begin();
            let clock = [tick.begin, tick.late.cast_unsigned(), tick.wall_offset.cast_unsigned()];
            encoder.section(&mut row, Some(Reading { took: 0, values: &clock, present: &[true; 3] }));
            for source in &rows {
                let Some(read) = &source[index] else {
                    encoder.section(&mut row, None);
                    continue;
                };
                let values: Vec<u64> = read.values.iter().map(|value| value.unwrap_or(0)).collect();
                let present: Vec<bool> = read.values.iter().map(Option::is_some).collect();
                encoder.section(&mut row, Some(Reading { took: read.took, values: &values, present: &present }));
            }
            ticks.push(TickRow { ts: tick.begin, wall_offset: tick.wall_offset, row });
        }
        writer.write(Batch { ticks, ..Batch::default() })?;
    }
    Ok(())
}

fn rows_of(profile: Profile) -> StackRows {
    let nodes = (0..profile.stacks.len()).filter_map(|id| profile.stacks.node(StackId(id as u32)));
    StackRows { nodes: nodes.collect(), frames: profile.stacks.frames().to_vec(), samples: profile.samples }
}

fn stacks_meta(profile: &Profile) -> Vec<(&'static str, String)> {
    let event = profile.event.as_ref().map(|event| (stacks::EVENT, event.word().to_owned()));
    let hz = profile.hz.map(|hz| (stacks::HZ, hz.to_string()));
    event.into_iter().chain(hz).chain([(stacks::LOST, profile.lost.to_string())]).collect()
}
