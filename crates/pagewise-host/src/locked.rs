//! A file that this process has locked for itself.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

/// A lock by `flock`, which the kernel gives back when its holder dies, however it dies.
///
/// Dropped, it is given back at once, not when the last descriptor of the open file is closed: a child that another thread has
/// forked shares the open file until it has become its command, and the next who asks would meet a lock that nobody holds.
#[derive(Debug)]
#[must_use = "the lock is given back when this is dropped"]
pub struct Locked(File);

impl Locked {
    /// Takes the lock of an open file, without waiting. `None` where another has it.
    ///
    /// # Errors
    /// When the file system knows no locks.
    pub fn now(file: &File) -> io::Result<Option<Locked>> {
        use rustix::fs::{FlockOperation, flock};
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Locked(file.try_clone()?))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same, tried again and again for so long.
    ///
    /// # Errors
    /// As there.
    pub fn within(file: &File, time: Duration) -> io::Result<Option<Locked>> {
        let began = Instant::now();
        loop {
            match Locked::now(file)? {
                None if began.elapsed() < time => thread::sleep(time / 100),
                answer => return Ok(answer),
            }
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.0.as_fd(), rustix::fs::FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_back_while_another_descriptor_of_the_open_file_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = File::create(&path).unwrap();
        // As a child that was forked a moment ago has it.
        let _inherited = file.try_clone().unwrap();
        let lock = Locked::now(&file).unwrap();
        assert!(lock.is_some());
        let other = File::open(&path).unwrap();
        assert!(Locked::now(&other).unwrap().is_none());
        drop(lock);
        assert!(Locked::now(&other).unwrap().is_some());
    }
}
