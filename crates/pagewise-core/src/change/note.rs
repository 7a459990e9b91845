//! Notes: how far a setting that is written often has got, in a few bytes beside the journal that are written over and over.
//!
//! A line per write would let the journal grow for as long as a guard runs, and flushing each to disk would cost more than the write.
//! Neither is needed: what must survive a crash of the host, the values before, is in the journal's first line; a note must survive
//! no more than a kill, and a killed process loses nothing that the kernel has. A crash ends the boot, whose values are never
//! replayed.
//!
//! Each setting has two slots that take turns, so that a note cut short leaves the one before it whole.

use super::line::CoupledReading;
use serde::{Deserialize, Serialize};

/// How far a setting that is written often has got: what [`super::line::Line::Writing`] and `Written` say of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Index into [`super::line::Begin::writes`].
    pub write: usize,
    /// How far.
    pub progress: Progress,
}

/// How far one write of many has got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// About to be written: until it is read back, whatever is found counts as ours.
    Writing,
    /// Written and read back.
    Written {
        /// The value the kernel holds.
        read_back: String,
        /// The coupled tunables, after what the kernel moved was put back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coupled: Vec<CoupledReading>,
    },
}

/// What the notes say of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastNote {
    /// Nothing was noted yet: it stands as the journal says.
    None,
    /// The last note.
    Progress(Progress),
    /// There is no telling.
    Lost,
}

/// Bytes of a slot. A value of a kernel file is at most a few words.
pub const SLOT: usize = 1024;

/// Which slot each note goes to. Only the process that made the change set writes notes.
#[derive(Clone, Debug)]
pub struct Notes {
    /// Notes made so far, by setting.
    made: Vec<u64>,
}

/// A note that its slot cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its note takes {0} bytes and {SLOT} are set aside; a value this long cannot be written often")]
pub struct TooLong(usize);

impl Notes {
    /// Notes of a change set with this many settings, none made yet.
    #[must_use]
    pub fn new(settings: usize) -> Notes {
        Notes { made: vec![0; settings] }
    }

    /// Bytes of their file, which are set aside before the first.
    #[must_use]
    pub fn size(settings: usize) -> usize {
        settings * 2 * SLOT
    }

    /// Where the next note goes, and its bytes. It counts once it is whole.
    ///
    /// # Errors
    /// When it is too long.
    pub fn next(&mut self, note: &Note) -> Result<(usize, [u8; SLOT]), TooLong> {
        let json = serde_json::to_string(&note.progress).unwrap_or_default();
        let made = self.made.get(note.write).copied().unwrap_or(0) + 1;
        let text = format!("{made} {:016x} {json}\n", fingerprint(made, &json));
        let mut slot = [b' '; SLOT];
        slot.get_mut(..text.len()).ok_or(TooLong(text.len()))?.copy_from_slice(text.as_bytes());
        if let Some(count) = self.made.get_mut(note.write) {
            *count = made;
        }
        Ok((slot_of(note.write, made), slot))
    }

    /// What the bytes of their file say of a setting.
    #[must_use]
    pub fn last(bytes: &[u8], write: usize) -> LastNote {
        let slot = |turn| bytes.get(slot_of(write, turn)..slot_of(write, turn) + SLOT);
        let (Some(even), Some(odd)) = (slot(0), slot(1)) else { return LastNote::Lost };
        let whole = [even, odd].into_iter().filter_map(read).max_by_key(|(made, _)| *made);
        let untouched = |slot: &[u8]| slot.iter().all(|byte| *byte == 0);
        match whole {
            Some((_, progress)) => LastNote::Progress(progress),
            // The first note goes to the odd slot. Cut short, it was followed by no write.
            None if untouched(even) => LastNote::None,
            None => LastNote::Lost,
        }
    }
}

fn slot_of(write: usize, turn: u64) -> usize {
    (write * 2 + usize::from(turn % 2 == 1)) * SLOT
}

/// A slot that holds a whole note: how many were made until then, and what it says.
fn read(slot: &[u8]) -> Option<(u64, Progress)> {
    let line = slot.split(|byte| *byte == b'\n').next().filter(|line| line.len() < slot.len())?;
    let text = std::str::from_utf8(line).ok()?;
    let (made, rest) = text.split_once(' ')?;
    let (print, json) = rest.split_once(' ')?;
    let made: u64 = made.parse().ok()?;
    let is_whole = u64::from_str_radix(print, 16) == Ok(fingerprint(made, json));
    Some((made, serde_json::from_str(json).ok().filter(|_| is_whole)?))
}

/// Tells a whole note from one that stops in what an older one left. FNV-1a, 64 bits (draft-eastlake-fnv).
fn fingerprint(made: u64, json: &str) -> u64 {
    let bytes = made.to_le_bytes().into_iter().chain(json.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: &str) -> Progress {
        Progress::Written { read_back: value.to_owned(), coupled: Vec::new() }
    }

    fn put(bytes: &mut [u8], notes: &mut Notes, progress: &Progress, torn_after: usize) {
        let (at, slot) = notes.next(&Note { write: 1, progress: progress.clone() }).expect("short enough");
        bytes[at..at + torn_after].copy_from_slice(&slot[..torn_after]);
    }

    #[test]
    fn the_last_whole_note_counts_wherever_the_next_one_is_cut_short() {
        let steps = [Progress::Writing, written("50"), Progress::Writing, written("10000"), Progress::Writing];
        for torn in 0..steps.len() {
            for torn_after in 0..SLOT {
                let (mut bytes, mut notes) = (vec![0; Notes::size(2)], Notes::new(2));
                for step in &steps[..torn] {
                    put(&mut bytes, &mut notes, step, SLOT);
                }
                let before = torn.checked_sub(1).map_or(LastNote::None, |last| LastNote::Progress(steps[last].clone()));
                put(&mut bytes, &mut notes, &steps[torn], torn_after);
                let last = Notes::last(&bytes, 1);
                assert!(
                    last == before || last == LastNote::Progress(steps[torn].clone()),
                    "{torn} after {torn_after}: {last:?}"
                );
                assert_eq!(Notes::last(&bytes, 0), LastNote::None, "another setting's");
            }
        }
    }

    #[test]
    fn notes_that_are_not_there_or_are_none_are_lost() {
        assert_eq!(Notes::last(&[], 0), LastNote::Lost);
        assert_eq!(Notes::last(&[b'x'; 2 * SLOT], 0), LastNote::Lost);
        assert_eq!(Notes::last(&[0; 2 * SLOT], 0), LastNote::None);
    }

    #[test]
    fn a_value_that_its_slot_cannot_take_is_refused_and_leaves_the_notes_as_they_are() {
        let (mut bytes, mut notes) = (vec![0; Notes::size(2)], Notes::new(2));
        put(&mut bytes, &mut notes, &written("5"), SLOT);
        let long = Note { write: 1, progress: written(&"9".repeat(SLOT)) };
        assert!(notes.next(&long).unwrap_err().to_string().contains("cannot be written often"));
        put(&mut bytes, &mut notes, &written("6"), SLOT);
        assert_eq!(Notes::last(&bytes, 1), LastNote::Progress(written("6")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000), write in 0usize..3) {
            let _ = Notes::last(&bytes, write);
        }
    }
}
