//! Kernel files that are read again and again: the file stays open, and nothing is allocated or looked up while its
//! shape stays as it was.
//!
//! The first reading parses the file in full and notes its layout: what stands between the numbers. Each later one walks
//! along the layout, compares what stands between byte by byte, and only converts digits. Where anything differs (a CPU
//! went, a swap area came), the file is parsed in full again and the layout replaced. A number can thus never be taken
//! for its neighbour.

use super::limited_groups::LimitedGroups;
use super::visit::{Number, Parse, Visit};
use super::{SourceError, format_error};
use crate::root::{FileError, Root};
use crate::sys::perf_event::Group;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A number that was not seen before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its position among the numbers of the source.
    pub column: u32,
    /// The kernel's name for it.
    pub name: String,
    /// `label=value,…`, or nothing.
    pub labels: String,
    /// Whether the file writes `kB` behind it.
    pub says_kib: bool,
}

/// A file that begins with a number; what follows it is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberFile {
    /// Where it is.
    pub path: String,
    /// The name of its number.
    pub name: String,
    /// What tells it from others of its name: `size=64kB`, or nothing.
    pub labels: String,
}

/// What the numbers of a source are now.
#[derive(Debug, Default)]
pub struct Columns {
    /// Values, by column.
    pub values: Vec<u64>,
    /// Whether the file had each of them the last time.
    pub present: Vec<bool>,
    /// Whether the last reading differed from the one before. Known of sources of many files only.
    pub changed: bool,
    /// Stands before the labels of every number of this source.
    label: String,
    by_name: HashMap<String, u32>,
    new: Vec<NewColumn>,
}

impl Columns {
    /// Those that were seen for the first time since this was last asked.
    pub fn take_new(&mut self) -> Vec<NewColumn> {
        std::mem::take(&mut self.new)
    }

    /// The column of a number by its name and labels, made where there is none.
    pub(super) fn column_of(&mut self, name: &str, labels: &str) -> u32 {
        self.column(&mut String::new(), name, labels, false)
    }

    /// Sets a number, or that it has no value now. Gives whether it was another before.
    pub(super) fn put(&mut self, column: u32, value: Option<u64>) -> bool {
        let column = column as usize;
        let (present, value) = (value.is_some(), value.unwrap_or(0));
        let differs = self.present[column] != present || self.values[column] != value;
        (self.present[column], self.values[column]) = (present, value);
        differs
    }

    fn column(&mut self, key: &mut String, name: &str, labels: &str, says_kib: bool) -> u32 {
        key.clear();
        let _ = write!(key, "{name}{{{labels}}}");
        if let Some(column) = self.by_name.get(key.as_str()) {
            return *column;
        }
        let column = self.values.len() as u32;
        self.by_name.insert(key.clone(), column);
        self.new.push(NewColumn { column, name: name.to_owned(), labels: labels.to_owned(), says_kib });
        self.values.push(0);
        self.present.push(false);
        column
    }
}

/// Something that gives a row of numbers each time it is read.
#[derive(Debug)]
pub struct Polled {
    columns: Columns,
    from: RowSource,
}

#[derive(Debug)]
enum RowSource {
    Text { path: PathBuf, file: File, parse: Parse, layout: Layout },
    NumberFiles(Vec<(File, u32)>),
    Counters(Vec<Counting>),
    LimitedGroups(LimitedGroups),
}

/// The counters of one CPU, and what they had when they could last be read.
#[derive(Debug)]
struct Counting {
    group: Group,
    values: Vec<u64>,
}

/// Time for which counters of processors were to count, and for which they did: others want them, too.
const COUNTING: [&str; 2] = ["enabled", "running"];

/// Large enough for the files of a host with 32 CPUs; it grows where that is not enough.
pub const BUFFER: usize = 128 << 10;

/// No kernel file that is recorded is larger; a file that never ends is not read for ever.
const LARGEST_FILE: usize = crate::root::LARGEST_FILE as usize;

impl Polled {
    /// Opens a file of text.
    ///
    /// # Errors
    /// When it is missing, or may not be read.
    pub fn text(root: &Root, path: &str, parse: Parse) -> Result<Polled, FileError> {
        Polled::labelled_text(root, path, parse, String::new())
    }

    /// The same for one of several files of a kind: `label` tells its numbers from theirs.
    ///
    /// # Errors
    /// When it is missing, or may not be read.
    pub fn labelled_text(root: &Root, path: &str, parse: Parse, label: String) -> Result<Polled, FileError> {
        let file = root.open(path)?;
        let path = root.path(path);
        let from = RowSource::Text { path, file, parse, layout: Layout::default() };
        Ok(Polled { columns: Columns { label, ..Columns::default() }, from })
    }

    /// Opens many files with a number each as one source. `None` when there is none that can be opened.
    #[must_use]
    pub fn number_files(root: &Root, files: Vec<NumberFile>) -> Option<Polled> {
        let mut columns = Columns::default();
        let mut key = String::new();
        let mut opened = Vec::with_capacity(files.len());
        for NumberFile { path, name, labels } in files {
            if let Ok(file) = root.open(&path) {
                opened.push((file, columns.column(&mut key, &name, &labels, false)));
            }
        }
        (!opened.is_empty()).then_some(Polled { columns, from: RowSource::NumberFiles(opened) })
    }

    /// Counters of processors, a group per CPU with the same events, as one source: of each event the sum over all CPUs under
    /// its name in `names`; then how long they were to count, and did.
    #[must_use]
    pub fn counters(groups: Vec<Group>, names: &[&str]) -> Polled {
        let mut columns = Columns::default();
        let mut key = String::new();
        for name in names.iter().chain(&COUNTING) {
            columns.column(&mut key, name, "", false);
        }
        let counting = |group| Counting { group, values: vec![0; names.len() + COUNTING.len()] };
        Polled { columns, from: RowSource::Counters(groups.into_iter().map(counting).collect()) }
    }

    /// The control groups that have a limit, as one source.
    #[must_use]
    pub fn limited_groups(groups: LimitedGroups) -> Polled {
        Polled { columns: Columns::default(), from: RowSource::LimitedGroups(groups) }
    }

    /// CPU time of threads that work for it, in nanoseconds.
    #[must_use]
    pub fn cost(&self) -> u64 {
        match &self.from {
            RowSource::LimitedGroups(groups) => groups.cost(),
            RowSource::Text { .. } | RowSource::NumberFiles(_) | RowSource::Counters(_) => 0,
        }
    }

    /// What the last successful reading gave.
    pub fn columns(&mut self) -> &mut Columns {
        &mut self.columns
    }

    /// Reads it now. `buffer` is scratch space that readings share.
    ///
    /// # Errors
    /// When it cannot be read or understood; the columns then mean nothing.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        match &mut self.from {
            RowSource::Text { path, file, parse, layout } => {
                let length = read_all(file, buffer).map_err(|source| file_error(path, source))?;
                let text = &buffer[..length];
                if layout.values(text, &mut self.columns.values) {
                    return Ok(());
                }
                let shown = path.display().to_string();
                if text.is_empty() && !self.columns.values.is_empty() {
                    return Err(format_error(&shown, "it is empty and was not before"));
                }
                // Names of swap areas are bytes; all else is ASCII.
                let text = String::from_utf8_lossy(text);
                *layout = Layout::default();
                *layout = noted(&text, *parse, &mut self.columns).map_err(|what| format_error(&shown, what))?;
                Ok(())
            }
            RowSource::NumberFiles(files) => {
                let columns = &mut self.columns;
                columns.changed = false;
                for (file, column) in files {
                    columns.changed |= columns.put(*column, read_number(file));
                }
                Ok(())
            }
            RowSource::Counters(cpus) => {
                let columns = &mut self.columns;
                columns.values.fill(0);
                for cpu in cpus.iter_mut() {
                    // A CPU that has gone offline counts no further; what it had counted stays in the sum.
                    let _ = cpu.group.read(&mut cpu.values);
                    columns.values.iter_mut().zip(&cpu.values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
                }
                let [enabled, running] = [2, 1].map(|from_end| columns.values[columns.values.len() - from_end]);
                if enabled > 0 && running == 0 {
                    let why = "others hold them: end what else counts, or set kernel.nmi_watchdog=0, which takes one";
                    return Err(file_error(Path::new("the counters of the processor"), io::Error::other(why)).into());
                }
                columns.present.fill(true);
                Ok(())
            }
            RowSource::LimitedGroups(groups) => {
                groups.read(&mut self.columns);
                Ok(())
            }
        }
    }
}

fn file_error(path: &Path, source: io::Error) -> FileError {
    FileError { action: "read".to_owned(), path: path.to_owned(), source }
}

/// Reads from the beginning to the end. A kernel file may end a reading anywhere; only an empty one is the end.
fn read_all(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= LARGEST_FILE {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it does not end"));
            }
            buffer.resize((length * 2).max(4096), 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_number(file: &File) -> Option<u64> {
    let mut digits = [0u8; 32];
    let length = file.read_at(&mut digits, 0).ok()?;
    let text = std::str::from_utf8(&digits[..length]).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// What stands in a file beside the numbers that are recorded.
#[derive(Debug, Default)]
struct Layout {
    steps: Vec<Step>,
    literals: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Exactly these bytes of `literals`.
    Literal { start: u32, end: u32 },
    /// Spaces and tabs, then a number for this column.
    Number { column: u32 },
    /// Anything up to and with the `count`-th `delimiter`.
    Skip { delimiter: u8, count: u32 },
}

impl Layout {
    /// Takes the numbers out of a text of just this layout. `false` when it is another; `values` then mean nothing.
    fn values(&self, text: &[u8], values: &mut [u64]) -> bool {
        if self.steps.is_empty() {
            return false;
        }
        let mut at = 0;
        for step in &self.steps {
            match *step {
                Step::Literal { start, end } => {
                    let literal = &self.literals[start as usize..end as usize];
                    if !text[at..].starts_with(literal) {
                        return false;
                    }
                    at += literal.len();
                }
                Step::Number { column } => {
                    let Some((value, length)) = leading_number(&text[at..]) else { return false };
                    values[column as usize] = value;
                    at += length;
                }
                Step::Skip { delimiter, count } => {
                    let mut left = count;
                    while left > 0 {
                        let Some(length) = text[at..].iter().position(|byte| *byte == delimiter) else { return false };
                        at += length + 1;
                        left -= 1;
                    }
                }
            }
        }
        at == text.len()
    }

    fn literal(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let start = self.literals.len() as u32;
            self.literals.extend_from_slice(bytes);
            self.steps.push(Step::Literal { start, end: self.literals.len() as u32 });
        }
    }

    fn skip(&mut self, bytes: &[u8]) {
        let Some(delimiter) = bytes.last().copied() else { return };
        let occurrences = bytes.iter().filter(|byte| **byte == delimiter).count() as u32;
        match self.steps.last_mut() {
            Some(Step::Skip { delimiter: before, count }) if *before == delimiter => *count += occurrences,
            _ => self.steps.push(Step::Skip { delimiter, count: occurrences }),
        }
    }
}

/// A number with the blanks before it, and how long both are.
fn leading_number(text: &[u8]) -> Option<(u64, usize)> {
    let mut at = text.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let is_negative = text[at] == b'-';
    at += usize::from(is_negative);
    let first_digit = at;
    let mut value = 0u64;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        // Up to 19 digits fit whatever they are.
        value = if at - first_digit < 19 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        at += 1;
    }
    let value = if is_negative { value.wrapping_neg() } else { value };
    (at > first_digit).then_some((value, at))
}

/// Parses the text in full, fills the columns, and notes the layout.
fn noted(text: &str, parse: Parse, columns: &mut Columns) -> Result<Layout, String> {
    columns.present.fill(false);
    let mut noting =
        Noting { text, columns, layout: Layout::default(), at: 0, key: String::new(), labels: String::new() };
    parse(text, &mut noting)?;
    let Noting { mut layout, at, .. } = noting;
    layout.literal(&text.as_bytes()[at..]);
    Ok(layout)
}

struct Noting<'a, 't> {
    text: &'t str,
    columns: &'a mut Columns,
    layout: Layout,
    /// How far the text is noted.
    at: usize,
    key: String,
    labels: String,
}

impl<'t> Noting<'_, 't> {
    /// What stands before this part of the text, which must not lie before what was noted already.
    fn before(&mut self, part: &'t str) -> &'t [u8] {
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let between = self.text.as_bytes().get(self.at..start).unwrap_or_default();
        self.at = (start + part.len()).min(self.text.len());
        between
    }
}

impl<'t> Visit<'t> for Noting<'_, 't> {
    fn number(&mut self, number: Number<'_, 't>) {
        self.labels.clone_from(&self.columns.label);
        for (name, value) in number.labels {
            let comma = if self.labels.is_empty() { "" } else { "," };
            let _ = write!(self.labels, "{comma}{name}={value}");
        }
        let column = self.columns.column(&mut self.key, number.name, &self.labels, number.says_kib);
        self.columns.values[column as usize] = number.value;
        self.columns.present[column as usize] = true;
        let between = self.before(number.digits);
        self.layout.literal(between.trim_ascii_end_blanks());
        self.layout.steps.push(Step::Number { column });
    }

    fn skip(&mut self, text: &'t str) {
        let between = self.before(text);
        self.layout.literal(between);
        self.layout.skip(text.as_bytes());
    }
}

/// Numbers are padded on their left, by more or fewer blanks.
trait TrimBlanks {
    fn trim_ascii_end_blanks(&self) -> &[u8];
}

impl TrimBlanks for [u8] {
    fn trim_ascii_end_blanks(&self) -> &[u8] {
        let kept = self.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
        &self[..kept]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TEXT_FILES, TextFile};
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    struct Host {
        folder: tempfile::TempDir,
        path: &'static str,
        polled: Polled,
        buffer: Vec<u8>,
    }

    impl Host {
        fn with(source: &str, text: &str) -> Host {
            let folder = tempfile::tempdir().unwrap();
            let TextFile { path, parse, .. } = *TEXT_FILES.iter().find(|file| file.source == source).unwrap();
            let root = Root::at(folder.path());
            fs::create_dir_all(root.path(path).parent().unwrap()).unwrap();
            fs::write(root.path(path), text).unwrap();
            let polled = Polled::text(&root, path, parse).unwrap();
            Host { folder, path, polled, buffer: vec![0; 64] }
        }

        fn read(&mut self) -> Vec<Option<u64>> {
            self.polled.read(&mut self.buffer).unwrap();
            let columns = self.polled.columns();
            columns.values.iter().zip(&columns.present).map(|(value, present)| present.then_some(*value)).collect()
        }

        fn now(&mut self, text: &str) -> Vec<Option<u64>> {
            fs::write(Root::at(self.folder.path()).path(self.path), text).unwrap();
            self.read()
        }
    }

    fn names(host: &mut Host) -> Vec<String> {
        let new = host.polled.columns().take_new();
        new.into_iter().map(|new| format!("{}{{{}}}", new.name, new.labels)).collect()
    }

    #[test]
    fn numbers_follow_their_name_when_lines_come_and_go() {
        let mut host = Host::with("vmstat", "a 1\nb 2\nc 3\n");
        assert_eq!(host.read(), [Some(1), Some(2), Some(3)]);
        assert_eq!(names(&mut host), ["a{}", "b{}", "c{}"]);
        assert_eq!(host.now("a 10\nb 18446744073709551615\nc 0\n"), [Some(10), Some(u64::MAX), Some(0)]);
        assert_eq!(host.now("a 1\nc 30\nd 4\n"), [Some(1), None, Some(30), Some(4)], "absent is not zero");
        assert_eq!(names(&mut host), ["d{}"]);
        assert_eq!(host.now("a 1\nb 2\nc 3\nd 5\n"), [Some(1), Some(2), Some(3), Some(5)]);
    }

    #[test]
    fn a_cpu_that_goes_offline_does_not_lend_its_numbers_to_the_next() {
        let mut host = Host::with("stat", "cpu  9 9 9 9\ncpu0 1 1 1 1\ncpu1 2 2 2 2\nintr 5 0 7\nctxt 3\n");
        let all = host.read();
        assert_eq!(all.len(), 14);
        let after = host.now("cpu  9 9 9 9\ncpu0 1 1 1 1\ncpu3 4 4 4 4\nintr 6 1 7\nctxt 3\n");
        assert_eq!(after[8..12], [None; 4], "cpu1 is gone");
        assert_eq!(after[14..], [Some(4); 4], "cpu3 has columns of its own");
        assert_eq!(after[12..14], [Some(6), Some(3)]);
    }

    #[test]
    fn parts_that_nobody_wants_may_change_without_a_new_layout() {
        let psi = |avg: &str, total: u32| format!("some avg10={avg} avg60=0.39 avg300=1.15 total={total}\n");
        let mut host = Host::with("psi_memory", &psi("0.04", 7));
        host.read();
        let RowSource::Text { layout, .. } = &host.polled.from else { panic!("a text") };
        let mut values = [0];
        assert!(layout.values(psi("100.00", 19).as_bytes(), &mut values));
        assert_eq!(values, [19]);
        assert!(!layout.values(b"full avg10=0.00 avg60=0.39 avg300=1.15 total=4\n", &mut values));
        assert!(!layout.values(b"some avg10=0.00 avg60=0.39 avg300=1.15 total=4\nmore\n", &mut values));
    }

    #[test]
    fn pressure_of_kernels_with_and_without_a_full_line_for_cpu() {
        let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n";
        // 5.10 has no full line for cpu, 6.1 and later do.
        let mut old = Host::with("psi_cpu", some);
        assert_eq!(old.read(), [Some(11)]);
        let mut new = Host::with("psi_cpu", &format!("{some}full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"));
        assert_eq!(new.read(), [Some(11), Some(0)]);
        assert_eq!(names(&mut new), ["some_total{}", "full_total{}"]);
    }

    #[test]
    fn swap_areas_that_come_and_go_keep_their_columns() {
        let head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        let zram = "/dev/zram0                              partition\t4194300\t\t7\t\t100\n";
        let file = "/swap\\040file                             file\t\t1048572\t\t0\t\t-2\n";
        let mut host = Host::with("swaps", head);
        assert_eq!(host.read(), []);
        assert_eq!(host.now(&format!("{head}{file}")), [Some(1_048_572), Some(0), Some(-2i64 as u64)]);
        let both = host.now(&format!("{head}{zram}{file}"));
        assert_eq!(both[3..], [Some(4_194_300), Some(7), Some(100)]);
        assert_eq!(host.now(&format!("{head}{zram}"))[..3], [None; 3]);
        assert_eq!(names(&mut host)[0], "size{area=/swap\\040file}");
    }

    #[test]
    fn of_a_file_with_several_numbers_the_first_counts_and_a_word_is_no_number() {
        let folder = tempfile::tempdir().unwrap();
        let files = [("schedstat", "123456789012 17 4\n"), ("memory.max", "max\n")].map(|(name, text)| {
            fs::write(folder.path().join(name), text).unwrap();
            NumberFile { path: format!("/{name}"), name: name.to_owned(), labels: String::new() }
        });
        let mut polled = Polled::number_files(&Root::at(folder.path()), files.to_vec()).unwrap();
        polled.read(&mut Vec::new()).unwrap();
        let columns = polled.columns();
        assert_eq!((columns.values[0], columns.present.as_slice()), (123_456_789_012, [true, false].as_slice()));
    }

    #[test]
    fn a_line_cut_in_two_is_an_error_and_the_next_whole_one_is_read() {
        let mut host = Host::with("vmstat", "a 1\nb 2\n");
        host.read();
        fs::write(host.folder.path().join("proc/vmstat"), "a 1\nb").unwrap();
        let error = host.polled.read(&mut host.buffer).unwrap_err().to_string();
        assert!(error.contains("proc/vmstat") && error.contains("'b'"), "{error}");
        assert_eq!(host.now("a 2\nb 3\n"), [Some(2), Some(3)]);
    }

    #[test]
    fn a_file_larger_than_the_buffer_is_read_whole() {
        let text: String = (0..5000).map(|index| format!("counter_{index} {index}\n")).collect();
        let mut host = Host::with("vmstat", &text);
        assert_eq!(host.read().len(), 5000);
        assert_eq!(host.read()[4999], Some(4999));
    }

    #[test]
    fn the_second_reading_of_every_file_of_this_host_follows_the_layout() {
        let mut buffer = vec![0; BUFFER];
        for TextFile { path, parse, .. } in TEXT_FILES {
            let Ok(mut polled) = Polled::text(&Root::live(), path, *parse) else { continue };
            polled.read(&mut buffer).unwrap();
            let RowSource::Text { layout, file, .. } = &polled.from else { panic!("a text") };
            let mut values = polled.columns.values.clone();
            let length = read_all(file, &mut buffer).unwrap();
            assert!(layout.values(&buffer[..length], &mut values), "{path} was parsed in full again");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_gives_what_the_long_way_gives(first in prop::collection::vec((0u8..6, any::<u64>()), 1..8), second in prop::collection::vec((0u8..6, any::<u64>()), 1..8)) {
            let text = |lines: &[(u8, u64)]| lines.iter().map(|(name, value)| format!("n{name} {value}\n")).collect::<String>();
            let mut host = Host::with("vmstat", &text(&first));
            host.read();
            let same_names: Vec<(u8, u64)> = first.iter().zip(second.iter().cycle()).map(|((name, _), (_, value))| (*name, *value)).collect();
            for lines in [&same_names, &second, &first] {
                let values = host.now(&text(lines));
                for (name, _) in lines {
                    let last = lines.iter().rev().find(|(other, _)| other == name).unwrap().1;
                    let column = host.polled.columns.by_name[&format!("n{name}{{}}")] as usize;
                    prop_assert_eq!(values[column], Some(last));
                }
            }
        }
    }
}
