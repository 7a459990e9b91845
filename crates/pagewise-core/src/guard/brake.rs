//! Holds the guard back where what it took comes back: then it was no stream's cache but somebody's working set.
//!
//! Refaults alone do not tell: a file that is read over and over refaults with every page (seen once on 6.18, without a committed result: 42 million refaults and 11.9 million
//! activations after a run of repeated streams). Activations and restores do; where the kernel reclaims by generations (MGLRU) restores alone, since every early
//! refault of a stream counts as an activation there. They are of what the kernel evicted, for itself or because the guard
//! asked it to, and count by the guard's part in that; what the guard took out of files is told by their trails.

use super::{MILLISECOND, SECOND};

/// What a batch took is watched for so long.
const WATCHED: u64 = 2 * SECOND;

/// More than this part of it came back: less is to be taken at a time.
const HURTS: f64 = 0.05;

/// More than this, twice in a row: the guard stands down.
const HURTS_MUCH: f64 = 0.20;

/// So little for so long: more may be taken at a time again.
const HARMLESS: f64 = 0.01;
const HARMLESS_FOR: u64 = 10 * SECOND;

/// Least to have taken before a part of it means anything.
const LEAST: u64 = 16 << 20;

/// How a batch turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// Nothing to say yet, or nothing to change.
    Neither,
    /// Some came back: take less.
    Hurt,
    /// Much came back, twice in a row: leave it alone.
    HurtMuch,
    /// Nothing came back for long: more may be taken.
    Harmless,
}

/// Totals of what came back, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct CameBack {
    /// Of what was taken out of streamed files, before the stream can have come to it again.
    pub of_files: u64,
    /// Of what the kernel evicted, whoever asked it to.
    pub of_evicted: u64,
    /// What the kernel evicted.
    pub evicted: u64,
}

/// Watches what comes back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brake {
    /// Since when, and what had come back until then.
    watching: Option<(u64, CameBack)>,
    /// What was taken since, out of files and by asking the kernel.
    taken_of_files: u64,
    taken_by_kernel: u64,
    hurt_much: u32,
    harmless_since: Option<u64>,
}

impl Brake {
    /// So many bytes were taken, so many of them out of files.
    pub fn taken(&mut self, bytes: u64, of_files: u64) {
        self.taken_of_files = self.taken_of_files.saturating_add(of_files);
        self.taken_by_kernel = self.taken_by_kernel.saturating_add(bytes.saturating_sub(of_files));
    }

    /// Looks whether they came back.
    pub fn observe(&mut self, at: u64, came_back: CameBack) -> BatchOutcome {
        let Some((since, before)) = self.watching else {
            self.watching = Some((at, came_back));
            return BatchOutcome::Neither;
        };
        if at.saturating_sub(since) < WATCHED {
            return BatchOutcome::Neither;
        }
        let (of_files, by_kernel) = (self.taken_of_files, self.taken_by_kernel);
        self.watching = Some((at, came_back));
        (self.taken_of_files, self.taken_by_kernel) = (0, 0);
        let taken = of_files.saturating_add(by_kernel);
        if taken < LEAST {
            return BatchOutcome::Neither;
        }
        // What the kernel evicted for itself comes back, too, and nobody can tell which is which.
        let evicted = came_back.evicted.saturating_sub(before.evicted).max(by_kernel).max(1);
        let ours = by_kernel as f64 / evicted as f64;
        let back = came_back.of_files.saturating_sub(before.of_files) as f64
            + came_back.of_evicted.saturating_sub(before.of_evicted) as f64 * ours;
        let part = back / taken as f64;
        self.hurt_much = if part > HURTS_MUCH { self.hurt_much + 1 } else { 0 };
        if part > HARMLESS {
            self.harmless_since = None;
        }
        if self.hurt_much >= 2 {
            self.hurt_much = 0;
            return BatchOutcome::HurtMuch;
        }
        if part > HURTS {
            return BatchOutcome::Hurt;
        }
        let since = *self.harmless_since.get_or_insert(at);
        if part <= HARMLESS && at.saturating_sub(since) + MILLISECOND >= HARMLESS_FOR {
            self.harmless_since = Some(at);
            return BatchOutcome::Harmless;
        }
        BatchOutcome::Neither
    }

    /// Forgets, after a time without samples.
    pub fn forget(&mut self) {
        *self = Brake::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: u64 = 100 << 20;

    /// What is said every two seconds, taking 100 MiB each time, `of_files` or by asking the kernel, of which these parts come back.
    /// Meanwhile the kernel evicts so much for itself, and all of that comes back.
    fn said_of(parts: &[f64], of_files: bool, evicts: u64) -> Vec<BatchOutcome> {
        let mut brake = Brake::default();
        let mut total = CameBack::default();
        brake.observe(0, total);
        let each = parts.iter().enumerate().map(|(index, part)| {
            brake.taken(TAKEN, if of_files { TAKEN } else { 0 });
            let back = (part * TAKEN as f64) as u64;
            total.of_files += if of_files { back } else { 0 };
            total.evicted += evicts + if of_files { 0 } else { TAKEN };
            total.of_evicted += evicts + if of_files { 0 } else { back };
            brake.observe((index as u64 + 1) * WATCHED, total)
        });
        each.collect()
    }

    fn said(parts: &[f64]) -> Vec<BatchOutcome> {
        let by_kernel = said_of(parts, false, 0);
        assert_eq!(by_kernel, said_of(parts, true, 0), "however it was taken");
        by_kernel
    }

    #[test]
    fn what_the_kernel_evicts_for_itself_and_needs_again_is_not_held_against_what_was_taken_out_of_files() {
        assert_eq!(said_of(&[0.0; 6], true, 10 * TAKEN).last(), Some(&BatchOutcome::Harmless));
        assert_eq!(said_of(&[0.5, 0.5], true, 10 * TAKEN), [BatchOutcome::Hurt, BatchOutcome::HurtMuch]);
        // Asked of the kernel nobody can tell, and the brake holds.
        assert_eq!(said_of(&[0.0, 0.0], false, 10 * TAKEN), [BatchOutcome::Hurt, BatchOutcome::HurtMuch]);
    }

    #[test]
    fn what_comes_back_brakes_and_what_does_not_lets_go() {
        assert_eq!(said(&[0.0, 0.1]), [BatchOutcome::Neither, BatchOutcome::Hurt]);
        assert_eq!(said(&[0.5, 0.5]), [BatchOutcome::Hurt, BatchOutcome::HurtMuch]);
        assert_eq!(said(&[0.5, 0.0, 0.5]), [BatchOutcome::Hurt, BatchOutcome::Neither, BatchOutcome::Hurt]);
        assert_eq!(said(&[0.0; 6]).last(), Some(&BatchOutcome::Harmless));
    }

    #[test]
    fn nothing_taken_says_nothing() {
        let mut brake = Brake::default();
        brake.observe(0, CameBack::default());
        let much = CameBack { of_files: 1 << 40, of_evicted: 1 << 40, evicted: 1 << 40 };
        assert_eq!(brake.observe(WATCHED, much), BatchOutcome::Neither);
    }
}
