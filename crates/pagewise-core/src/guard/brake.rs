//! Holds the guard back where what it took comes back: then it was no stream's cache but somebody's working set.
//!
//! Refaults alone do not tell: a file that is read over and over refaults with every page (seen once on 6.18, without a committed result: 42 million refaults and 11.9 million
//! activations after a run of repeated streams). Activations and restores do.

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
pub enum Turned {
    /// Nothing to say yet, or nothing to change.
    Neither,
    /// Some came back: take less.
    Hurt,
    /// Much came back, twice in a row: leave it alone.
    HurtMuch,
    /// Nothing came back for long: more may be taken.
    Harmless,
}

/// Watches what comes back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brake {
    /// Since when, what had come back until then, and what was taken since.
    watching: Option<(u64, u64)>,
    taken: u64,
    hurt_much: u32,
    harmless_since: Option<u64>,
}

impl Brake {
    /// So many bytes were taken.
    pub fn taken(&mut self, bytes: u64) {
        self.taken += bytes;
    }

    /// Looks whether they came back.
    pub fn look(&mut self, at: u64, came_back: u64) -> Turned {
        let Some((since, before)) = self.watching else {
            self.watching = Some((at, came_back));
            return Turned::Neither;
        };
        if at.saturating_sub(since) < WATCHED {
            return Turned::Neither;
        }
        let (taken, back) = (self.taken, came_back.saturating_sub(before));
        self.watching = Some((at, came_back));
        self.taken = 0;
        if taken < LEAST {
            return Turned::Neither;
        }
        let part = back as f64 / taken as f64;
        self.hurt_much = if part > HURTS_MUCH { self.hurt_much + 1 } else { 0 };
        if part > HARMLESS {
            self.harmless_since = None;
        }
        if self.hurt_much >= 2 {
            self.hurt_much = 0;
            return Turned::HurtMuch;
        }
        if part > HURTS {
            return Turned::Hurt;
        }
        let since = *self.harmless_since.get_or_insert(at);
        if part <= HARMLESS && at.saturating_sub(since) + MILLISECOND >= HARMLESS_FOR {
            self.harmless_since = Some(at);
            return Turned::Harmless;
        }
        Turned::Neither
    }

    /// Forgets, after a time in which nobody looked.
    pub fn forget(&mut self) {
        *self = Brake::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said every two seconds, taking 100 MiB each time of which these parts come back.
    fn said(parts: &[f64]) -> Vec<Turned> {
        let mut brake = Brake::default();
        brake.look(0, 0);
        let mut back = 0.0;
        let each = parts.iter().enumerate().map(|(index, part)| {
            brake.taken(100 << 20);
            back += part * f64::from(100 << 20);
            brake.look((index as u64 + 1) * WATCHED, back as u64)
        });
        each.collect()
    }

    #[test]
    fn what_comes_back_brakes_and_what_does_not_lets_go() {
        assert_eq!(said(&[0.0, 0.1]), [Turned::Neither, Turned::Hurt]);
        assert_eq!(said(&[0.5, 0.5]), [Turned::Hurt, Turned::HurtMuch]);
        assert_eq!(said(&[0.5, 0.0, 0.5]), [Turned::Hurt, Turned::Neither, Turned::Hurt]);
        assert_eq!(said(&[0.0; 6]).last(), Some(&Turned::Harmless));
    }

    #[test]
    fn nothing_taken_says_nothing() {
        let mut brake = Brake::default();
        brake.look(0, 0);
        assert_eq!(brake.look(WATCHED, 1 << 40), Turned::Neither);
    }
}
