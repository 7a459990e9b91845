//! What freeing costs, and what filling costs once it was freed.
//!
//! The second cannot be seen where the guard works. On a virtual machine with free page reporting, or under a balloon, blocks of 2 MiB that
//! stay free for about two seconds go back to the host, and touching them again costs some 0.85 s of CPU per GiB instead of 0.2 (measured on
//! Linux 6.18, `page_reporting_order` 9). A guard that frees early and much makes the job half as slow again, while kswapd sleeps and no
//! allocation stalls. What tells is the kernel time of the whole host for each GiB that came in: with the guard's batches against without.

use super::SECOND;

/// Weight of the newest slice.
const NEWEST: f64 = 0.3;

/// Nanoseconds of CPU for a byte freed, before anything is known: 300 ms/GiB, what small folios of many files cost.
const AT_FIRST: f64 = 0.3e9 / (1 << 30) as f64;

/// What freeing costs: learnt from every slice.
#[derive(Clone, Copy, Debug)]
pub struct Freeing {
    per_byte: f64,
    is_known: bool,
}

impl Default for Freeing {
    fn default() -> Self {
        Freeing { per_byte: AT_FIRST, is_known: false }
    }
}

impl Freeing {
    /// A slice took so long.
    pub fn learn(&mut self, freed: u64, nanoseconds: u64) {
        if freed == 0 {
            return;
        }
        let now = nanoseconds as f64 / freed as f64;
        self.per_byte = if self.is_known { self.per_byte + NEWEST * (now - self.per_byte) } else { now };
        self.is_known = true;
    }

    /// Nanoseconds for a byte.
    #[must_use]
    pub fn per_byte(&self) -> f64 {
        self.per_byte
    }

    /// Whether any slice was learnt from.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Bytes that can be freed in so many nanoseconds.
    #[must_use]
    pub fn within(&self, nanoseconds: u64) -> u64 {
        (nanoseconds as f64 / self.per_byte.max(1e-3)) as u64
    }
}

/// Kernel time of the host for each byte that came in, looked at over so long.
const WINDOW: u64 = SECOND;

/// Less than this coming in says nothing.
const LEAST: u64 = 64 << 20;

/// Dearer by this part with the guard than without: it harms.
const HARMS: f64 = 0.15;

/// So many windows in a row.
const IN_A_ROW: u32 = 3;

/// Who reclaimed in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The guard alone.
    Guard,
    /// kswapd or the applications.
    Kernel,
    /// Both, or nobody.
    Neither,
}

/// What filling costs, with the guard and without.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filling {
    began: Option<(u64, u64, u64)>,
    without: Option<f64>,
    with: Option<f64>,
    dearer: u32,
}

impl Filling {
    /// Looks on: totals of kernel time (without the guard's own) and of bytes that came in, and who reclaimed since the last look. `true`: for some
    /// time it has been dearer with the guard than without.
    pub fn look(&mut self, at: u64, system_cpu: u64, filled: u64, by: By) -> bool {
        let Some((since, cpu, bytes)) = self.began else {
            self.began = Some((at, system_cpu, filled));
            return false;
        };
        if at.saturating_sub(since) < WINDOW {
            return false;
        }
        self.began = Some((at, system_cpu, filled));
        let came = filled.saturating_sub(bytes);
        if came < LEAST || by == By::Neither {
            return false;
        }
        let now = system_cpu.saturating_sub(cpu) as f64 / came as f64;
        let side = if by == By::Guard { &mut self.with } else { &mut self.without };
        *side = Some(side.map_or(now, |before| before + NEWEST * (now - before)));
        let is_dearer = self.with.zip(self.without).is_some_and(|(with, without)| with > without * (1.0 + HARMS));
        self.dearer = if by == By::Guard && is_dearer { self.dearer + 1 } else { 0 };
        self.dearer >= IN_A_ROW
    }

    /// Whether it is known what filling costs where the kernel reclaims.
    #[must_use]
    pub fn knows_without(&self) -> bool {
        self.without.is_some()
    }

    /// Nanoseconds of kernel time for a byte: with the guard, and without.
    #[must_use]
    pub fn known(&self) -> (Option<f64>, Option<f64>) {
        (self.with, self.without)
    }

    /// Forgets what was learnt with the guard, where it works otherwise from now on.
    pub fn starts_anew(&mut self) {
        (self.with, self.dearer) = (None, 0);
    }

    /// Forgets the window that nobody looked through.
    pub fn forget(&mut self) {
        self.began = None;
        self.dearer = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freeing_is_learnt_from_slices() {
        let mut freeing = Freeing::default();
        freeing.learn(1 << 30, 6_000_000);
        assert_eq!(freeing.within(3_000_000), 1 << 29);
        freeing.learn(0, 5);
        freeing.learn(1 << 30, 106_000_000);
        assert!((freeing.per_byte() * f64::from(1 << 30) - 36e6).abs() < 1.0);
    }

    #[test]
    fn filling_that_is_dearer_with_the_guard_is_told_after_three_windows() {
        let mut filling = Filling::default();
        let (mut at, mut cpu, mut filled) = (0, 0, 0);
        let mut window = |filling: &mut Filling, per_gib: u64, by| {
            (at, cpu, filled) = (at + WINDOW, cpu + per_gib, filled + (1 << 30));
            filling.look(at, cpu, filled, by)
        };
        filling.look(0, 0, 0, By::Kernel);
        assert!(!window(&mut filling, 200_000_000, By::Kernel));
        // As dear with the guard as without: for ever.
        assert!((0..10).all(|_| !window(&mut filling, 210_000_000, By::Guard)));
        filling.starts_anew();
        let told: Vec<bool> = (0..4).map(|_| window(&mut filling, 850_000_000, By::Guard)).collect();
        assert_eq!(told, [false, false, true, true]);
    }
}
