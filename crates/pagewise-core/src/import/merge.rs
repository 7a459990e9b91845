//! Several listings on one time line, as a recording in memory.
//!
//! Instants of a recording count from a zero: here midnight of the first day, so that they can be read as times of day.

use super::Kind;
use super::listing::{ListedSeries, Listing, ListingClock, count};
use super::readings;
use super::snapshots::ONE_INSTANT;
use super::times::{DAY, SECOND, day, time_of_day};
use super::vmstat::unit_of;
use crate::recording::block::Tick;
use crate::recording::segment::Segment;
use crate::recording::{
    Block, Column, Gap, GapReason, Kind as SeriesKind, Mark, Profile, RawUnit, Recorded, Series, Setting, SourceBlock,
    StallRow, Walk, WallClock,
};
use crate::spelling::did_you_mean;
use crate::tunable::is_for_job;
use crate::unit::Seconds;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

/// Ticks of a block.
const BLOCK: usize = 300;

/// A stretch without rows is a gap when it is longer than this many of the usual intervals.
pub(crate) const HOLE: u64 = 3;

/// The reason of a file that was not read.
const LEFT_OUT: &str = "left_out";

/// What the caller knows and the files do not say.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    /// Midnight of the first day, for listings without a date.
    date: Option<i64>,
    /// How far local time is ahead of UTC.
    utc_offset: Option<i64>,
    /// Between rows without a time.
    pub(super) interval: Option<i64>,
    /// Bytes of vmstat's memory unit.
    pub(super) vmstat_unit: Option<f64>,
    /// About the whole, such as `kernel`.
    about: BTreeMap<String, String>,
    settings: Vec<(String, Option<String>)>,
}

/// A key or a value that nothing can be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}={value}: {why}")]
pub struct UnknownAssumption {
    key: String,
    value: String,
    why: String,
}

/// Keys that mean something to the import or to the diagnosis.
const KNOWN: [&str; 7] = ["date", "utc_offset", "interval", "vmstat_unit", "kernel", "cpus", "page_size"];

impl Assumed {
    /// `KEY=VALUE` about the whole: `date`, `utc_offset`, `interval` and `vmstat_unit` change how files are read, any other
    /// key is kept in the recording.
    ///
    /// # Errors
    /// When a key has other letters than a to z, digits, `_`, `-` and `.`, or is a slip of one that means something, or when one
    /// of the four has a value that is none.
    pub fn about(&mut self, key: &str, value: &str) -> Result<(), UnknownAssumption> {
        let wrong = |why: &str| UnknownAssumption { key: key.to_owned(), value: value.to_owned(), why: why.to_owned() };
        match key {
            "date" => {
                let date = day(value).filter(|_| value.len() == 10 && value.as_bytes()[4] == b'-');
                self.date = Some(date.ok_or_else(|| wrong("a date is written 2012-06-18"))?.midnight);
            }
            "utc_offset" => {
                let (sign, clock) = match value.strip_prefix('-') {
                    Some(clock) => (-1, clock),
                    None => (1, value.strip_prefix('+').unwrap_or(value)),
                };
                let offset = time_of_day(clock, None).filter(|offset| *offset <= 14 * 3600 * SECOND);
                self.utc_offset = Some(sign * offset.ok_or_else(|| wrong("an offset is written +02:00"))?);
            }
            "interval" => {
                let length = value.parse::<Seconds>().ok().filter(|length| (1e-3..=86_400.0).contains(&length.0));
                let length = length.ok_or_else(|| wrong("an interval is written 2s, and lies between 1ms and 24h"))?;
                self.interval = Some((length.0 * SECOND as f64) as i64);
            }
            "vmstat_unit" => {
                self.vmstat_unit = Some(unit_of(value).ok_or_else(|| wrong("vmstat's units are k, K, m and M"))?);
            }
            other => {
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
                if other.is_empty() || !other.bytes().all(is_plain) || other.starts_with("import.") {
                    return Err(wrong("a key is made of a-z, 0-9, '_', '-' and '.', and 'import.' is taken"));
                }
                let meant = did_you_mean(other, KNOWN);
                if !meant.is_empty() && !KNOWN.contains(&other) {
                    return Err(wrong(&format!("no such key means anything{meant}")));
                }
                self.about.insert(other.to_owned(), value.to_owned());
            }
        }
        Ok(())
    }

    /// A setting that the host had.
    pub fn setting(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.settings.push((name.into(), Some(value.into())));
    }
}

/// Imported files as a recording in memory.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    series: Vec<Series>,
    gaps: Vec<Gap>,
    about: BTreeMap<String, String>,
    settings: Vec<Setting>,
    marks: Vec<Mark>,
    profile: Option<Profile>,
    stalls: Vec<StallRow>,
    ticks: Vec<Tick>,
    sources: Vec<SourceColumns>,
}

#[derive(Clone, Debug, Default)]
struct SourceColumns {
    name: String,
    /// Per column and tick.
    columns: Vec<Vec<Option<u64>>>,
    read: Vec<bool>,
}

impl Imported {
    /// Everything that is said about the whole.
    #[must_use]
    pub fn all_about(&self) -> &BTreeMap<String, String> {
        &self.about
    }

    /// Names of the sources.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name.as_str())
    }

    /// A file that was not read, and why. It is kept as a gap, so that nobody takes what it would have said for absent.
    pub fn leave_out(&mut self, why: impl Into<String>) {
        self.gaps.push(Gap {
            from: self.ticks.first().map_or(0, |tick| tick.begin),
            to: None,
            source: Some(super::SOURCE.to_owned()),
            reason: GapReason::Other(LEFT_OUT.to_owned()),
            ticks: None,
            detail: why.into(),
        });
    }

    /// Why files were left out.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        self.gaps.iter().filter(|gap| gap.reason.word() == LEFT_OUT).map(|gap| gap.detail.as_str())
    }

    /// Number of instants.
    #[must_use]
    pub fn ticks(&self) -> usize {
        self.ticks.len()
    }
}

/// A listing and where it stands on the time line.
struct PlacedListing {
    listing: Listing,
    name: String,
    /// Added to its instants. `None`: it has no clock, and holds for the whole.
    offset: Option<i64>,
}

/// Lays listings on one time line. Each comes with the name of its file.
#[must_use]
pub fn merge(listings: Vec<(String, Listing)>, assumed: &Assumed) -> Imported {
    let mut imported = Imported::default();
    let listings = readings::join(listings, assumed.interval);
    let (placed, clock, notes) = place(listings, assumed);
    let is_dated = clock == WallClock::Date;
    let ends = placed.iter().filter_map(|one| {
        let (from, to) = one.listing.stretch()?;
        Some((from.saturating_add(one.offset?), to.saturating_add(one.offset?)))
    });
    let stretch = ends.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
    let whole = stretch.unwrap_or((0, SECOND));
    let zero = whole.0.div_euclid(DAY).saturating_mul(DAY);
    let line = Line { zero, from: whole.0, to: whole.1.max(whole.0 + 1) };
    imported.notes_about(&placed, assumed, clock, zero);
    let is_known = stretch.is_some();
    if !is_known {
        imported.marks.push(line.mark(None, "no file has a clock: the profile is drawn as one second"));
    }
    imported.marks.extend(notes.into_iter().map(|text| line.mark(None, &text)));
    imported.take_rows(&placed, &line, if is_dated { zero } else { 0 });
    for one in placed {
        imported.take_rest(one, &line);
    }
    imported.forget_instants();
    for (name, value) in &assumed.settings {
        // Whoever asks knows better than what stands in a text.
        imported.settings.retain(|told| told.path != *name);
        imported.settings.push(Setting {
            ts: line.ts(line.from),
            path: name.clone(),
            value: value.clone(),
            by: "start".to_owned(),
        });
    }
    if imported.settings.iter().all(|told| is_for_job(&told.path)) {
        imported.gaps.push(line.gap("settings", "no file holds settings; --setting thp.enabled=always says one"));
    }
    imported.gaps.sort_by_key(|gap| (gap.from, gap.to));
    imported.marks.sort_by_key(|mark| mark.ts);
    imported
}

/// The time line: instants from `from` to `to`, counted from `zero`.
struct Line {
    zero: i64,
    from: i64,
    to: i64,
}

impl Line {
    fn ts(&self, at: i64) -> u64 {
        at.saturating_sub(self.zero).max(0).cast_unsigned()
    }

    fn mark(&self, at: Option<i64>, text: &str) -> Mark {
        Mark { ts: self.ts(at.unwrap_or(self.from)), source: "import".to_owned(), text: text.to_owned() }
    }

    fn gap(&self, source: &str, detail: &str) -> Gap {
        Gap {
            from: self.ts(self.from),
            to: None,
            source: Some(source.to_owned()),
            reason: GapReason::Missing,
            ticks: None,
            detail: detail.to_owned(),
        }
    }
}

/// Whether a listing is one reading that is laid beside others by nothing but the belief that they are of one time: a screen of top beside a
/// vmstat without a clock.
fn is_reading_beside(one: &PlacedListing, placed: &[PlacedListing]) -> bool {
    let has_clock = |listing: &Listing| !matches!(listing.clock, ListingClock::Foreign | ListingClock::None);
    let others = || placed.iter().filter(|other| !std::ptr::eq(*other, one) && other.listing.rows.len() > 1);
    let is_laid = !has_clock(&one.listing) || others().all(|other| !has_clock(&other.listing));
    one.listing.rows.len() == 1 && is_laid && others().next().is_some()
}

/// Whether a column is an amount of memory at an instant.
fn is_size(column: &ListedSeries) -> bool {
    column.kind == SeriesKind::Gauge && matches!(column.unit, RawUnit::KiB | RawUnit::Pages | RawUnit::Bytes)
}

/// Where each listing begins. Those with a wall clock go by it; the others begin where these begin.
fn place(listings: Vec<(String, Listing)>, assumed: &Assumed) -> (Vec<PlacedListing>, WallClock, Vec<String>) {
    let ahead = assumed.utc_offset.unwrap_or(0);
    let mut notes = Vec::new();
    let has = |clock| listings.iter().any(|(_, listing)| listing.clock == clock);
    if has(ListingClock::Local) && assumed.utc_offset.is_none() {
        notes.push("local times are taken as UTC; --about utc_offset=+02:00 says how far they are ahead".to_owned());
    }
    let dated = |listing: &Listing| matches!(listing.clock, ListingClock::Utc | ListingClock::Local);
    let first_date = listings.iter().filter(|(_, listing)| dated(listing)).find_map(|(_, listing)| {
        let (from, _) = listing.stretch()?;
        Some(from.div_euclid(DAY) * DAY)
    });
    let date = assumed.date.or(first_date);
    let is_dated =
        has(ListingClock::Utc) || has(ListingClock::Local) || (date.is_some() && has(ListingClock::TimeOfDay));
    let offset_of = |listing: &Listing| match listing.clock {
        ListingClock::Utc => Some(0),
        ListingClock::Local => Some(-ahead),
        ListingClock::TimeOfDay if is_dated => Some(date.unwrap_or(0).saturating_sub(ahead)),
        ListingClock::TimeOfDay => Some(0),
        ListingClock::Foreign | ListingClock::None => None,
    };
    let reference = listings.iter().filter_map(|(_, listing)| {
        let offset = offset_of(listing)?;
        Some(listing.stretch()?.0.saturating_add(offset))
    });
    let reference = reference.min();
    let mut placed = Vec::with_capacity(listings.len());
    for (name, listing) in listings {
        let own = listing.stretch().map(|(from, _)| from);
        let offset = match (listing.clock, offset_of(&listing)) {
            (_, Some(offset)) => Some(offset),
            (ListingClock::Foreign, None) => match (reference, own) {
                (Some(reference), Some(own)) => {
                    notes.push(format!(
                        "{name}: its clock has no known relation to that of the others; its beginning is laid on theirs"
                    ));
                    Some(reference.saturating_sub(own))
                }
                (None, Some(own)) => Some(own.saturating_neg()),
                (_, None) => None,
            },
            _ => {
                if reference.is_some() {
                    notes.push(format!(
                        "{name}: it has no clock and is taken to hold for the whole stretch of the others"
                    ));
                }
                None
            }
        };
        placed.push(PlacedListing { listing, name, offset });
    }
    let clock = match reference {
        Some(_) if is_dated => WallClock::Date,
        Some(_) => WallClock::TimeOfDay,
        None => WallClock::None,
    };
    (placed, clock, notes)
}

impl Imported {
    fn notes_about(&mut self, placed: &[PlacedListing], assumed: &Assumed, clock: WallClock, zero: i64) {
        let is_dated = clock == WallClock::Date;
        for one in placed {
            for (key, value) in &one.listing.about {
                self.about
                    .entry(key.clone())
                    .and_modify(|known| {
                        if key.starts_with("import.") && !known.contains(value.as_str()) {
                            *known = format!("{known}; {value}");
                        }
                    })
                    .or_insert_with(|| value.clone());
            }
        }
        self.about.extend(assumed.about.clone());
        let files: Vec<String> = placed.iter().map(|one| format!("{}:{}", one.listing.kind, one.name)).collect();
        self.about.insert("import.files".to_owned(), files.join(", "));
        let (key, word) = clock.said();
        self.about.insert(key.to_owned(), word.to_owned());
        self.about.insert("anchor_boottime_ns".to_owned(), "0".to_owned());
        self.about.insert("anchor_wall_offset_ns".to_owned(), if is_dated { zero } else { 0 }.to_string());
        if is_dated && let Ok(started) = jiff::Timestamp::from_nanosecond(i128::from(zero)) {
            self.about.insert("import.zero".to_owned(), started.to_string());
        }
    }

    /// Every row of every listing.
    fn take_rows(&mut self, placed: &[PlacedListing], line: &Line, wall_offset: i64) {
        let mut instants = BTreeSet::new();
        for one in placed {
            let Some(offset) = one.offset else { continue };
            instants.extend(one.listing.rows.keys().map(|at| at.saturating_add(offset)));
        }
        let instants: Vec<i64> = instants.into_iter().collect();
        let tick = |at: &i64| Tick { begin: line.ts(*at), late: 0, wall_offset };
        self.ticks = instants.iter().map(tick).collect();
        let mut places: HashMap<(&str, String, String), (usize, usize, RawUnit)> = HashMap::new();
        let mut spread: Vec<(usize, usize, u64)> = Vec::new();
        for (file, one) in placed.iter().enumerate() {
            let Some(offset) = one.offset else { continue };
            let targets = self.columns_of(one, file, &mut places, offset, &instants, line);
            for (at, values) in &one.listing.rows {
                let Ok(tick) = instants.binary_search(&at.saturating_add(offset)) else { continue };
                for (column, value) in values {
                    let Some((source, place)) = targets.get(*column as usize).copied() else { continue };
                    let source = &mut self.sources[source];
                    source.columns[place][tick] = Some(*value);
                    source.read[tick] = true;
                }
            }
            if is_reading_beside(one, placed) {
                let of_sizes = one.listing.rows.values().flatten().filter_map(|(column, value)| {
                    let (source, place) = targets.get(*column as usize).copied()?;
                    is_size(one.listing.columns.get(*column as usize)?).then_some((source, place, *value))
                });
                spread.extend(of_sizes);
                let text = format!(
                    "{}: it is one reading; its sizes are taken to hold for the stretch of the others",
                    one.name
                );
                self.marks.push(line.mark(None, &text));
            }
            self.holes(one, offset, line);
        }
        for (source, place, value) in spread {
            let source = &mut self.sources[source];
            let column = &mut source.columns[place];
            // Where another file goes on with the series, that one knows better.
            if column.iter().flatten().count() == 1 {
                column.fill(Some(value));
                source.read.fill(true);
            }
        }
        let intervals: Vec<u64> = self.ticks.windows(2).map(|pair| pair[1].begin - pair[0].begin).collect();
        if let Some(usual) = median(intervals).filter(|usual| *usual > 0) {
            let hz = (SECOND as f64 / usual as f64 * 1e6).round() / 1e6;
            self.about.insert("hz".to_owned(), hz.to_string());
            self.about.insert("import.interval_seconds".to_owned(), (usual as f64 / SECOND as f64).to_string());
        }
    }

    /// Where each column of a listing goes. A second file that gives the same series over the same stretch, or in
    /// another unit, is told apart by a label, so that nothing is overwritten.
    fn columns_of<'p>(
        &mut self,
        one: &'p PlacedListing,
        file: usize,
        places: &mut HashMap<(&'p str, String, String), (usize, usize, RawUnit)>,
        offset: i64,
        instants: &[i64],
        line: &Line,
    ) -> Vec<(usize, usize)> {
        let own = one.listing.stretch().map(|(from, to)| (from.saturating_add(offset), to.saturating_add(offset)));
        let mut targets = Vec::with_capacity(one.listing.columns.len());
        for listed in &one.listing.columns {
            let key = (listed.source, listed.name.clone(), listed.labels.clone());
            let known = places.get(&key).copied().filter(|(source, place, unit)| {
                let values = &self.sources[*source].columns[*place];
                let (from, to) = own.unwrap_or((0, 0));
                let first = instants.partition_point(|at| *at < from);
                let behind = instants.partition_point(|at| *at <= to);
                *unit == listed.unit && values[first..behind].iter().all(Option::is_none)
            });
            if let Some((source, place, _)) = known {
                targets.push((source, place));
                continue;
            }
            let is_taken = places.contains_key(&key);
            let labels = match (is_taken, listed.labels.as_str()) {
                (false, labels) => labels.to_owned(),
                (true, "") => format!("file={}", file + 1),
                (true, labels) => format!("{labels},file={}", file + 1),
            };
            let ticks = instants.len();
            let source = self.sources.iter().position(|source| source.name == listed.source).unwrap_or_else(|| {
                let name = listed.source.to_owned();
                self.sources.push(SourceColumns { name, columns: Vec::new(), read: vec![false; ticks] });
                self.sources.len() - 1
            });
            let place = self.sources[source].columns.len();
            self.sources[source].columns.push(vec![None; ticks]);
            self.series.push(Series {
                source: listed.source.to_owned(),
                column: place as u32,
                name: listed.name.clone(),
                labels,
                unit: Some(listed.unit),
                kind: listed.kind,
                first_seen: line.ts(own.map_or(line.from, |(from, _)| from)),
            });
            if !is_taken {
                places.insert(key, (source, place, listed.unit));
            }
            targets.push((source, place));
        }
        targets
    }

    /// Stretches between two rows of a file that are much longer than usual.
    fn holes(&mut self, one: &PlacedListing, offset: i64, line: &Line) {
        const MOST: usize = 1000;
        // What is written when something happens has no rows to miss.
        if matches!(one.listing.kind, Kind::GcLog | Kind::KernelLog) {
            return;
        }
        let instants: Vec<i64> = one.listing.rows.keys().copied().collect();
        let lengths: Vec<u64> = instants.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
        let Some(usual) = median(lengths) else { return };
        let holes = instants.windows(2).filter(|pair| pair[1].abs_diff(pair[0]) > usual.saturating_mul(HOLE));
        for pair in holes.take(MOST) {
            let length = pair[1].abs_diff(pair[0]);
            self.gaps.push(Gap {
                from: line.ts(pair[0].saturating_add(offset)),
                to: Some(line.ts(pair[1].saturating_add(offset))),
                source: None,
                reason: GapReason::Missing,
                ticks: (length / usual.max(1)).checked_sub(1),
                detail: format!("{} has no row in between", one.name),
            });
        }
    }

    /// Totals that one file has at one instant are a rate where another file has them at another.
    fn forget_instants(&mut self) {
        let is_read_again = |source: &SourceColumns| {
            let counters =
                self.series.iter().filter(|one| one.source == source.name && one.kind == SeriesKind::Counter);
            counters
                .filter_map(|one| source.columns.get(one.column as usize))
                .any(|column| column.iter().flatten().count() > 1)
        };
        let again: Vec<&str> =
            self.sources.iter().filter(|source| is_read_again(source)).map(|source| source.name.as_str()).collect();
        let is_of_again = |gap: &Gap| gap.source.as_deref().is_some_and(|source| again.contains(&source));
        self.gaps.retain(|gap| gap.reason.word() != ONE_INSTANT || !is_of_again(gap));
    }

    /// Profile, gaps, marks and settings of a listing.
    fn take_rest(&mut self, one: PlacedListing, line: &Line) {
        let offset = one.offset.unwrap_or(0);
        let moved = |at: i64| at.saturating_add(offset);
        let named = |text: &str| format!("{}: {text}", one.name);
        for gap in &one.listing.gaps {
            self.gaps.push(Gap {
                from: line.ts(gap.from.map_or(line.from, moved)),
                to: gap.to.map(|to| line.ts(moved(to))),
                source: gap.source.clone(),
                reason: gap.reason.clone(),
                ticks: None,
                detail: named(&gap.detail),
            });
        }
        for (at, text) in &one.listing.marks {
            self.marks.push(line.mark(at.map(moved), &named(text)));
        }
        for (name, value) in one.listing.settings {
            // The text of several tools in one file tells its settings to each of them.
            if self.settings.iter().any(|known| known.path == name) {
                continue;
            }
            self.settings.push(Setting { ts: line.ts(line.from), path: name, value, by: "start".to_owned() });
        }
        let stalls = one.listing.stalls.into_iter();
        self.stalls.extend(stalls.map(|(from, to, row)| StallRow {
            from: line.ts(moved(from)),
            to: line.ts(moved(to)),
            ..row
        }));
        if let Some(profile) = one.listing.profile {
            self.take_profile(profile, one.offset, &one.name, line);
        }
    }

    fn take_profile(&mut self, mut profile: Profile, offset: Option<i64>, name: &str, line: &Line) {
        let moved = |at: u64| line.ts(i64::try_from(at).unwrap_or(i64::MAX).saturating_add(offset.unwrap_or(0)));
        for sample in &mut profile.samples {
            (sample.from, sample.to) = match offset {
                Some(_) => (moved(sample.from), moved(sample.to)),
                None => (line.ts(line.from), line.ts(line.to)),
            };
        }
        let Some(mine) = &mut self.profile else {
            profile.samples.sort_by_key(|sample| sample.from);
            self.profile = Some(profile);
            return;
        };
        if mine.event != profile.event || mine.hz != profile.hz {
            let text = format!(
                "{name}: {} of another event or rate than the profile before; its counts are not comparable and are left out",
                count(profile.samples.len(), "row")
            );
            self.marks.push(line.mark(None, &text));
            return;
        }
        // Parents come first, so one pass gives every stack its new number.
        let mut numbers = Vec::with_capacity(profile.stacks.len());
        for id in 0..profile.stacks.len() {
            let node = profile.stacks.node(crate::recording::StackId(id as u32));
            let number = node.and_then(|(parent, frame)| {
                let frame = mine.stacks.frame(profile.stacks.frames().get(frame as usize)?.clone());
                let parent = match parent {
                    None => None,
                    Some(parent) => Some((*numbers.get(parent.0 as usize)?)?),
                };
                mine.stacks.push(parent, frame)
            });
            numbers.push(number);
        }
        for sample in profile.samples {
            if let Some(stack) = numbers.get(sample.stack.0 as usize).copied().flatten() {
                mine.samples.push(crate::recording::StackSample { stack, ..sample });
            }
        }
        mine.samples.sort_by_key(|sample| sample.from);
        mine.lost = mine.lost.saturating_add(profile.lost);
    }
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

impl Recorded for Imported {
    type Error = Infallible;

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, Infallible>> {
        (0..self.ticks.len()).step_by(BLOCK).map(|first| {
            let behind = (first + BLOCK).min(self.ticks.len());
            let sources = self.sources.iter().map(|source| {
                let read = &source.read[first..behind];
                let column = |column: &Vec<Option<u64>>| {
                    let values = column[first..behind].iter().zip(read);
                    Column::AtTimes(values.filter(|(_, read)| **read).map(|(value, _)| *value).collect())
                };
                let data = Segment {
                    took: read.iter().map(|read| read.then_some(0)).collect(),
                    columns: source.columns.iter().map(column).collect(),
                };
                SourceBlock { source: source.name.clone(), data }
            });
            Ok(Block { first: first as u64, ticks: self.ticks[first..behind].to_vec(), sources: sources.collect() })
        })
    }

    fn about(&self, key: &str) -> Option<&str> {
        self.about.get(key).map(String::as_str)
    }

    fn settings(&self) -> Result<Vec<Setting>, Infallible> {
        Ok(self.settings.clone())
    }

    fn marks(&self) -> Result<Vec<Mark>, Infallible> {
        Ok(self.marks.clone())
    }

    fn profile(&self) -> Result<Option<Profile>, Infallible> {
        Ok(self.profile.clone())
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, Infallible> {
        // Where nobody was held up for long nobody recorded it.
        Ok((!self.stalls.is_empty()).then(|| self.stalls.clone()))
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, Infallible> {
        Ok(None)
    }
}
