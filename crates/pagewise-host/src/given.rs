//! Files that a user names and that are read as a whole or line by line: bounded, so that `/dev/zero` ends in an error and a
//! named pipe that nobody writes to does not wait for ever.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More than any plan or policy that somebody wrote, or had written.
const LONGEST_TEXT: u64 = 16 << 20;

/// More than any line of a table.
const LONGEST_LINE: usize = 16 << 20;

/// Opens what may be read to its end: a regular file, or a pipe that a shell holds open (`<(…)`, `/dev/stdin`).
///
/// # Errors
/// When it cannot be opened, or is something that has no end or may never begin.
pub fn open(path: &Path) -> io::Result<File> {
    let refused = |what: &str| Err(io::Error::other(format!("it is {what} and no regular file")));
    // Opening a pipe that nobody writes to would wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty())?;
    let of_shell = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") || path == Path::new("/dev/stdin");
    match FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode) {
        FileType::RegularFile => Ok(File::from(opened)),
        FileType::Fifo | FileType::CharacterDevice if of_shell => {
            rustix::fs::fcntl_setfl(&opened, OFlags::empty())?;
            Ok(File::from(opened))
        }
        FileType::Directory => refused("a folder"),
        FileType::Fifo => refused("a named pipe"),
        FileType::Socket => refused("a socket"),
        _ => refused("a device"),
    }
}

/// The whole text of a short file.
///
/// # Errors
/// When it cannot be read, is no UTF-8, or is no short file.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(LONGEST_TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_TEXT {
        return Err(io::Error::other(format!("it is longer than {} MiB", LONGEST_TEXT >> 20)));
    }
    Ok(text)
}

/// Reads on until a line is too long to be one.
#[derive(Debug)]
pub struct Lines<R> {
    inner: R,
    since_newline: usize,
}

impl<R: Read> Lines<R> {
    /// Of what `inner` gives.
    pub fn of(inner: R) -> Self {
        Lines { inner, since_newline: 0 }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.since_newline = match buffer[..got].iter().rposition(|byte| *byte == b'\n') {
            Some(at) => got - at - 1,
            None => self.since_newline + got,
        };
        if self.since_newline > LONGEST_LINE {
            return Err(io::Error::other(format!(
                "it has a line of more than {} MiB, so it is no table",
                LONGEST_LINE >> 20
            )));
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, Instant};

    #[test]
    fn what_has_no_end_or_no_beginning_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let begun = Instant::now();
        for (path, said) in [
            (pipe.as_path(), "a named pipe"),
            (folder.path(), "a folder"),
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/null"), "a device"),
        ] {
            let error = text(path).unwrap_err().to_string();
            assert!(error.contains(said), "{}: {error}", path.display());
        }
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(text(&folder.path().join("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_text_is_short_and_a_table_has_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.toml");
        fs::write(&file, "name = 'x'\n").unwrap();
        assert_eq!(text(&file).unwrap(), "name = 'x'\n");
        File::create(&file).unwrap().set_len(LONGEST_TEXT + 1).unwrap();
        assert!(text(&file).unwrap_err().to_string().contains("longer than 16 MiB"));

        let mut nothing = Vec::new();
        let endless = Lines::of(io::repeat(b'x')).read_to_end(&mut nothing).unwrap_err();
        assert!(endless.to_string().contains("no table"), "{endless}");
        let rows = b"a,b\n".repeat(LONGEST_LINE / 2);
        assert_eq!(Lines::of(rows.as_slice()).read_to_end(&mut Vec::new()).unwrap(), rows.len());
    }
}
