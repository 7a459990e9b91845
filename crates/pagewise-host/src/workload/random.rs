//! The numbers that the programs' data are made of, so that a result can be reckoned without a program.

/// The output function of SplitMix64 (Steele, Lea and Flood 2014), as `SplitMix64.java` has it: the `number`-th of this seed.
pub(super) fn mixed(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The 53 upper bits as a share of one.
pub(super) fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first three of seed 1234567, as other implementations' test data have them.
        assert_eq!(
            [0, 1, 2].map(|number| mixed(1_234_567, number)),
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert!((share(u64::MAX) - 1.0).abs() < 1e-15 && share(0) == 0.0);
    }
}
