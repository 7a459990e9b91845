//! Event logs as Spark leaves them: one file, or a folder `eventlog_v2_…` with a file per stretch (since 4.0 the default); plain
//! or compressed; of a job that has ended or not. Lines are read one by one, so that a log of any size takes little memory.

use crate::given;
use crate::progress::Progress;
use pagewise_core::spark::EventLog;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// More than any event that counts here has; plans of SQL can be as long.
const LONGEST_LINE: usize = 64 << 20;
/// Of a frame's window, as a power of two: what Spark's levels of zstd use, and what `zstd` takes unless asked (128 MiB).
const WINDOW: u32 = 27;
const TOLD_AFTER: Duration = Duration::from_secs(2);
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventLogError {
    /// The file or folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is compressed in a way that is not read here.
    #[error(
        "{} is compressed with {codec}, which is not read here. Run the job with spark.eventLog.compression.codec=zstd (Spark's default \
         since 3.0) or spark.eventLog.compress=false", path.display()
    )]
    Codec {
        /// Which file.
        path: PathBuf,
        /// How.
        codec: String,
    },
    /// It is no event log.
    #[error("{} is no event log of Spark: {why}", path.display())]
    None {
        /// What was named.
        path: PathBuf,
        /// Why it is none.
        why: String,
    },
}

/// Reads it from its first line to its last.
///
/// # Errors
/// When it cannot be read, or has no event.
pub fn read(path: &Path, progress: &dyn Progress) -> Result<EventLog, EventLogError> {
    let files = files(path)?;
    let size = |file: &PathBuf| fs::metadata(file).map_or(0, |metadata| metadata.len());
    let mut reading = Reading {
        log: EventLog::default(),
        begun: Instant::now(),
        told: Instant::now(),
        all: files.iter().map(size).sum::<u64>().max(1),
        done: 0,
        progress,
    };
    for file in &files {
        reading.file(file)?;
    }
    if reading.log.events == 0 {
        let why = "it has no line that is an event ({\"Event\":\"SparkListener…\"})".to_owned();
        return Err(EventLogError::None { path: path.to_path_buf(), why });
    }
    Ok(reading.log)
}

/// Of a folder the stretches in their order, from the last that was compacted on: that stands for all before it.
fn files(path: &Path) -> Result<Vec<PathBuf>, EventLogError> {
    let failed = |error| EventLogError::File { path: path.to_path_buf(), error };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut stretches: Vec<(u64, bool, PathBuf)> = Vec::new();
    let mut others = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name
            .strip_prefix("events_")
            .and_then(|rest| rest.split_once('_'))
            .and_then(|(number, _)| number.parse().ok());
        match number {
            Some(number) => stretches.push((number, name.ends_with(".compact"), entry.path())),
            None if !name.starts_with('.') && !name.starts_with("appstatus_") => others.push(name),
            None => {}
        }
    }
    stretches.sort();
    if let Some(last) = stretches.iter().rposition(|(_, is_compact, _)| *is_compact) {
        stretches.drain(..last);
    }
    if stretches.is_empty() {
        others.sort();
        let why = match others.first() {
            Some(first) => format!("the folder has no file events_1_…; name one of what is in it, such as {first}"),
            None => "the folder is empty".to_owned(),
        };
        return Err(EventLogError::None { path: path.to_path_buf(), why });
    }
    Ok(stretches.into_iter().map(|(.., path)| path).collect())
}

struct Reading<'a> {
    log: EventLog,
    begun: Instant,
    told: Instant,
    /// Bytes of all files, and of them those that were read.
    all: u64,
    done: u64,
    progress: &'a dyn Progress,
}

impl Reading<'_> {
    fn file(&mut self, path: &Path) -> Result<(), EventLogError> {
        let failed = |error| EventLogError::File { path: path.to_path_buf(), error };
        let mut file = given::open(path).map_err(failed)?;
        let mut first = Vec::with_capacity(MAGIC.len());
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut first).map_err(failed)?;
        let is_zstd = first == MAGIC;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.trim_end_matches(".compact").trim_end_matches(".inprogress");
        let codec =
            Path::new(name).extension().and_then(OsStr::to_str).filter(|end| ["lz4", "lzf", "snappy"].contains(end));
        if let Some(codec) = codec.filter(|_| first.first() != Some(&b'{')) {
            return Err(EventLogError::Codec { path: path.to_path_buf(), codec: codec.to_owned() });
        }
        let counted = CountedReader { file, count: 0 };
        let whole = io::Cursor::new(first).chain(counted);
        if is_zstd {
            let mut decoder = zstd::Decoder::new(whole).map_err(failed)?;
            decoder.window_log_max(WINDOW).map_err(failed)?;
            self.lines(BufReader::with_capacity(1 << 16, decoder), path, |decoder| {
                decoder.get_ref().get_ref().get_ref().get_ref().1.count
            })
        } else {
            self.lines(BufReader::with_capacity(1 << 16, whole), path, |whole| whole.get_ref().get_ref().1.count)
        }
    }

    fn lines<R: BufRead>(&mut self, mut text: R, path: &Path, count: impl Fn(&R) -> u64) -> Result<(), EventLogError> {
        let mut line: Vec<u8> = Vec::new();
        let mut is_too_long = false;
        loop {
            let part = match text.fill_buf() {
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A frame without its end: the job was killed while it wrote, or still runs.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => &[],
                Err(error) => return Err(EventLogError::File { path: path.to_path_buf(), error }),
            };
            let newline = part.iter().position(|byte| *byte == b'\n');
            let (taken, is_end) = (newline.map_or(part.len(), |at| at + 1), part.is_empty());
            is_too_long |= line.len() + taken > LONGEST_LINE;
            if !is_too_long {
                line.extend_from_slice(&part[..taken]);
            }
            text.consume(taken);
            if newline.is_some() || is_end {
                if std::mem::take(&mut is_too_long) {
                    self.log.passed_over();
                } else {
                    self.log.line(&line);
                }
                line.clear();
                self.tell(path, count(&text));
            }
            if is_end {
                self.done += count(&text);
                return Ok(());
            }
        }
    }

    fn tell(&mut self, path: &Path, count: u64) {
        let now = Instant::now();
        if now - self.begun >= TOLD_AFTER && now - self.told >= Duration::from_millis(500) {
            self.told = now;
            let done = (self.done + count) as f64 / self.all as f64;
            self.progress.stage(&format!("reading {}", path.display()), Some(done.min(1.0)));
        }
    }
}

/// Says how much of a file was read.
struct CountedReader {
    file: File,
    count: u64,
}

impl Read for CountedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read(buffer)?;
        self.count += got as u64;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;
    use std::io::Write;

    const START: &str = "{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"4.1.3\"}\n";
    const END: &str = "{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":7}\n";

    #[test]
    fn stretches_are_read_in_their_order_from_the_last_compacted_one_on() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("events_10_a", END), ("events_2_a.compact", START), ("events_1_a", "nonsense\n"), ("appstatus_a", "")]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let log = read(folder.path(), &NoProgress).unwrap();
        assert_eq!((log.events, log.unreadable, log.ended), (2, 0, Some(7)));
    }

    #[test]
    fn a_frame_that_ends_early_gives_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.zstd.inprogress");
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.write_all(START.as_bytes()).unwrap();
        encoder.flush().unwrap();
        fs::write(&path, encoder.get_ref()).unwrap();
        let log = read(&path, &NoProgress).unwrap();
        assert_eq!((log.events, log.ended), (1, None));
    }

    #[test]
    fn what_is_no_log_or_of_another_codec_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let said = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            read(&path, &NoProgress).unwrap_err().to_string()
        };
        assert!(said("app.lz4", b"LZ4Block").contains("codec=zstd"));
        assert!(said("app", b"hello\nworld").contains("no line that is an event"));
        assert!(read(&folder.path().join("none"), &NoProgress).unwrap_err().to_string().contains("cannot read"));
        let empty = tempfile::tempdir().unwrap();
        assert!(read(empty.path(), &NoProgress).unwrap_err().to_string().contains("empty"));
    }
}
