//! The ring between the sampler and the writer: fixed, allocated before the first tick, locked in memory, and without a
//! lock that the one could hold while the other waits.
//!
//! The writer will stall exactly when memory is short and the disk busy, which is when samples matter. The sampler then
//! goes on until the ring is full, and says from when to when it was.

use crate::sys::lock_memory;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Rows of a few hundred bytes: half an hour at 1 Hz, some minutes at 20 Hz.
const WORDS: usize = (1 << 20) / 8;

/// One thread puts, one thread takes.
#[derive(Debug)]
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// Words ever put.
    head: AtomicUsize,
    /// Words ever taken.
    tail: AtomicUsize,
}

impl Ring {
    /// Also says whether the memory could be locked.
    pub(super) fn new() -> (Ring, io::Result<()>) {
        Ring::with_words(WORDS)
    }

    fn with_words(words: usize) -> (Ring, io::Result<()>) {
        let words: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        let locked = lock_memory::lock(&words);
        (Ring { words, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }, locked)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.words[index % self.words.len()]
    }

    /// Puts a frame; `false` when there is no room for it. Only the sampler calls it.
    pub(super) fn put(&self, frame: &[u8]) -> bool {
        let needed = 1 + frame.len().div_ceil(8);
        let head = self.head.load(Ordering::Relaxed);
        // Acquire: what the writer took is out before it is written over.
        let used = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        if needed > self.words.len() - used {
            return false;
        }
        self.word(head).store(frame.len() as u64, Ordering::Relaxed);
        for (index, chunk) in frame.chunks(8).enumerate() {
            let mut bytes = [0u8; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.word(head.wrapping_add(1 + index)).store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        // Release: the frame is whole before it is seen.
        self.head.store(head.wrapping_add(needed), Ordering::Release);
        true
    }

    /// Takes the oldest frame. Only the writer calls it.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let tail = self.tail.load(Ordering::Relaxed);
        if self.head.load(Ordering::Acquire) == tail {
            return None;
        }
        let length = self.word(tail).load(Ordering::Relaxed) as usize;
        let words = length.div_ceil(8);
        let mut frame = Vec::with_capacity(words * 8);
        for index in 0..words {
            let word = self.word(tail.wrapping_add(1 + index)).load(Ordering::Relaxed);
            frame.extend_from_slice(&word.to_le_bytes());
        }
        frame.truncate(length);
        self.tail.store(tail.wrapping_add(1 + words), Ordering::Release);
        Some(frame)
    }

    /// More than half full: the writer should not sleep on.
    pub(super) fn is_filling(&self) -> bool {
        let used = self.head.load(Ordering::Relaxed).wrapping_sub(self.tail.load(Ordering::Relaxed));
        used > self.words.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_full_ring_refuses_and_what_was_put_before_is_whole() {
        let (ring, _) = Ring::with_words(8);
        assert!(ring.put(&[1; 17]) && ring.put(&[2; 9]));
        assert!(!ring.put(&[3; 9]), "seven of eight words are in use");
        assert!(ring.is_filling());
        assert_eq!(ring.take(), Some(vec![1; 17]));
        assert!(ring.put(&[3; 9]));
        assert_eq!((ring.take(), ring.take(), ring.take()), (Some(vec![2; 9]), Some(vec![3; 9]), None));
    }

    #[test]
    fn frames_cross_threads_whole_and_in_order() {
        let ring = Arc::new(Ring::with_words(64).0);
        let sampler = Arc::clone(&ring);
        let putting = thread::spawn(move || {
            for number in 0..20_000u32 {
                let frame = vec![number as u8; (number % 97) as usize];
                while !sampler.put(&frame) {
                    thread::yield_now();
                }
            }
        });
        for number in 0..20_000u32 {
            let frame = loop {
                match ring.take() {
                    Some(frame) => break frame,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(frame, vec![number as u8; (number % 97) as usize]);
        }
        putting.join().unwrap();
        assert_eq!(ring.take(), None);
    }
}
