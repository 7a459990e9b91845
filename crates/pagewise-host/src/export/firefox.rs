//! The Firefox profiler's processed profile: a thread per process and command, a sample per stack and slice with its
//! count as weight. Opened at profiler.firefox.com, which keeps the file in the browser.

use super::{ExportError, ExportSelection, Exporter, Format, FormatContent};
use fxprof_processed_profile::{
    CategoryColor, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Firefox, ReferenceTimestamp,
    SamplingInterval, Timestamp,
};
use pagewise_core::export::Selection;
use pagewise_core::recording::Profile;
use std::collections::BTreeMap;
use std::io;

pub(super) const FORMAT: Format = Format {
    word: "firefox",
    about: "for profiler.firefox.com",
    holds: FormatContent::Stacks,
    make: Exporter::File(make),
};

fn make(chosen: &ExportSelection<'_>) -> Result<Vec<u8>, ExportError> {
    let name = chosen.path.file_name().unwrap_or_default().to_string_lossy();
    encode(&chosen.stacks()?, chosen.selection, chosen.wall_zero(), &name).map_err(ExportError::making(chosen))
}

fn encode(profile: &Profile, selection: &Selection, zero: Option<i64>, name: &str) -> io::Result<Vec<u8>> {
    let taken: Vec<_> = profile.samples.iter().filter(|sample| selection.overlaps(sample)).collect();
    let start = taken.iter().map(|sample| sample.from).min().unwrap_or(0);
    let reference = zero.map_or(0.0, |zero| zero.saturating_add_unsigned(start) as f64 / 1e6);
    let hz = profile.hz.filter(|hz| hz.is_finite() && (1e-3..=1e6).contains(hz)).unwrap_or(1000.0);
    let mut firefox = Firefox::new(
        name,
        ReferenceTimestamp::from_millis_since_unix_epoch(reference),
        SamplingInterval::from_nanos((1e9 / hz) as u64),
    );
    let kernel: CategoryPairHandle = firefox.add_category("Kernel", CategoryColor::Orange).into();
    let user: CategoryPairHandle = firefox.add_category("User", CategoryColor::Yellow).into();
    let at = |ns: u64| Timestamp::from_nanos_since_reference(ns.saturating_sub(start));
    let mut threads = BTreeMap::new();
    for (number, sample) in taken.iter().enumerate() {
        let key = (sample.pid, sample.comm.clone());
        let thread = *threads.entry(key).or_insert_with(|| {
            let comm = if sample.comm.is_empty() { "[unknown]" } else { &sample.comm };
            let process = firefox.add_process(comm, sample.pid.unwrap_or(0), at(start));
            // Threads of one name are one row here; numbers only have to differ.
            let thread = firefox.add_thread(process, number as u32, at(start), true);
            firefox.set_thread_name(thread, comm);
            thread
        });
        let mut frames: Vec<FrameInfo> = Vec::new();
        for frame in profile.stacks.walk(sample.stack) {
            let Some(frame) = profile.stacks.frames().get(frame as usize) else { continue };
            let label = match frame.module.as_str() {
                "" => frame.name.clone(),
                module => format!("{} ({module})", frame.name),
            };
            let category_pair = if frame.is_kernel() { kernel } else { user };
            let label = Frame::Label(firefox.intern_string(&label));
            frames.push(FrameInfo { frame: label, category_pair, flags: FrameFlags::empty() });
        }
        let stack = firefox.intern_stack_frames(thread, frames.into_iter().rev());
        let weight = i32::try_from(sample.count).unwrap_or(i32::MAX);
        firefox.add_sample(thread, at(sample.from), stack, CpuDelta::ZERO, weight);
    }
    serde_json::to_vec(&firefox).map_err(io::Error::other)
}
