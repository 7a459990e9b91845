//! How often the rule for outliers flags something where there is only noise: the figures of `docs/method/outliers.md`.

use pagewise_core::stats::{normal, outliers};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Share of sets of so many normal values in which something is flagged.
fn alarms(values: usize) -> f64 {
    const SETS: usize = 4000;
    let mut rng = ChaCha20Rng::seed_from_u64(values as u64);
    let mut draw = || normal::quantile(((rng.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64);
    let flagged = |_: &usize| {
        let set: Vec<f64> = (0..values).map(|_| draw()).collect();
        !outliers::places(&set).is_empty()
    };
    (0..SETS).filter(flagged).count() as f64 / SETS as f64
}

#[test]
fn noise_is_flagged_as_often_as_the_page_says() {
    // 12 and 9 %, give or take three standard errors of 4,000 sets.
    let (ten, fifty) = (alarms(10), alarms(50));
    assert!((0.105..=0.145).contains(&ten), "of ten values: {ten}");
    assert!((0.075..=0.105).contains(&fifty), "of fifty values: {fifty}");
}
