//! Normal values from a seed, for tests.

use super::normal;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

pub(super) struct NormalDraws(pub(super) ChaCha20Rng);

impl NormalDraws {
    pub(super) fn new(seed: u64) -> NormalDraws {
        NormalDraws(ChaCha20Rng::seed_from_u64(seed))
    }

    pub(super) fn normals(&mut self, count: usize, mean: f64, sd: f64) -> Vec<f64> {
        let mut unit = || ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64;
        (0..count).map(|_| mean + sd * normal::quantile(unit())).collect()
    }
}
