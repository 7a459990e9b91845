//! The same numbers as a recording has, read now and kept nowhere: for those who watch.
//!
//! Only the files that are asked for are opened, and they stay open.

use crate::clock;
use crate::root::Root;
use crate::source::polled::{BUFFER, Polled};
use crate::source::{NUMBER_FILES, NumberFiles, TEXT_FILES, TextFile};
use pagewise_core::counter::describe;
use pagewise_core::recording::Series;
use std::collections::BTreeSet;

/// Kernel files that are read when somebody asks.
#[derive(Debug)]
pub struct Live {
    sources: Vec<Source>,
    series: Vec<Series>,
    missing: Vec<(String, String)>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Source {
    name: &'static str,
    polled: Polled,
    /// Whether the last reading gave numbers.
    is_read: bool,
}

impl Live {
    /// Opens these sources, as a recording names them, and reads them once so that their series are known.
    #[must_use]
    pub fn open(root: &Root, wanted: &BTreeSet<&str>) -> Live {
        let mut live = Live { sources: Vec::new(), series: Vec::new(), missing: Vec::new(), buffer: vec![0; BUFFER] };
        for TextFile { source, path, parse, .. } in TEXT_FILES.iter().filter(|file| wanted.contains(file.source)) {
            live.take(source, Polled::text(root, path, *parse).map_err(|error| error.to_string()));
        }
        for NumberFiles { source, find, none, .. } in NUMBER_FILES.iter().filter(|file| wanted.contains(file.source)) {
            live.take(source, Polled::number_files(root, find(root)).ok_or_else(|| (*none).to_owned()));
        }
        live.read();
        live
    }

    fn take(&mut self, name: &'static str, polled: Result<Polled, String>) {
        match polled {
            Ok(polled) => self.sources.push(Source { name, polled, is_read: false }),
            Err(why) => self.missing.push((name.to_owned(), why)),
        }
    }

    /// Reads them now. Gives CLOCK_BOOTTIME in nanoseconds right before the first, and whether a number was seen that was
    /// not there before.
    pub fn read(&mut self) -> (u64, bool) {
        let begin = clock::boot();
        let before = self.series.len();
        for source in &mut self.sources {
            source.is_read = source.polled.read(&mut self.buffer).is_ok();
            if !source.is_read {
                continue;
            }
            let name = source.name;
            for new in source.polled.columns().take_new() {
                let (unit, kind) = describe(name, &new.name, new.says_kib);
                self.series.push(Series {
                    source: name.to_owned(),
                    column: new.column,
                    name: new.name,
                    labels: new.labels,
                    unit: Some(unit),
                    kind,
                    first_seen: begin,
                });
            }
        }
        (begin, self.series.len() != before)
    }

    /// Every series seen so far.
    #[must_use]
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Sources this host does not have, and why.
    #[must_use]
    pub fn missing(&self) -> &[(String, String)] {
        &self.missing
    }

    /// What a column had at the last reading; `None` when it was not there.
    pub fn value(&mut self, source: &str, column: u32) -> Option<u64> {
        let source = self.sources.iter_mut().find(|one| one.name == source && one.is_read)?;
        let columns = source.polled.columns();
        let column = column as usize;
        columns.present.get(column).copied().filter(|present| *present)?;
        columns.values.get(column).copied()
    }
}
