//! How a claim is put to R: expressions with the data written into them, one R process for all claims of a test.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fmt::Write as _;
use std::process::Command;

/// An R expression of one or more numbers, and what they must be.
pub(crate) struct Claim {
    pub(crate) expression: String,
    pub(crate) ours: Vec<f64>,
    /// How far apart the two may be, relative to R's number.
    pub(crate) tolerance: f64,
}

impl Claim {
    pub(crate) fn new(expression: String, ours: Vec<f64>) -> Claim {
        Claim { expression, ours, tolerance: 1e-9 }
    }

    pub(crate) fn within(self, tolerance: f64) -> Claim {
        Claim { tolerance, ..self }
    }
}

/// R must print every number of every claim. What both sides call absent is written as NaN.
pub(crate) fn assert_r_agrees(claims: &[Claim]) {
    assert_r_agrees_with("", claims);
}

/// As [`assert_r_agrees`], after a preamble of R.
pub(crate) fn assert_r_agrees_with(preamble: &str, claims: &[Claim]) {
    let mut script = format!("options(warn = -1)\n{preamble}\n");
    for claim in claims {
        writeln!(script, "cat(sprintf('%.17g', {}), sep='\\n'); cat('\\nend\\n')", claim.expression).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.R");
    std::fs::write(&file, script).unwrap();
    let output = Command::new("Rscript").arg("--vanilla").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut answers = printed.split("end\n");
    for claim in claims {
        let answer = answers.next().unwrap_or_default();
        // R's NA stands for NaN here.
        let theirs: Vec<f64> =
            answer.split_whitespace().map(|number| number.parse::<f64>().unwrap_or(f64::NAN)).collect();
        assert_eq!(claim.ours.len(), theirs.len(), "{} printed {theirs:?}, we have {:?}", claim.expression, claim.ours);
        for (ours, theirs) in claim.ours.iter().zip(&theirs) {
            let near = (ours - theirs).abs() <= claim.tolerance * theirs.abs().max(1e-300);
            let same = ours == theirs || (ours.is_nan() && theirs.is_nan());
            assert!(near || same, "ours {ours:e}, R {theirs:e}, among {:?}: {}", claim.ours, claim.expression);
        }
    }
}

pub(crate) struct Draw(ChaCha20Rng);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(ChaCha20Rng::seed_from_u64(seed))
    }

    /// Between 0 and 1, without either.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A whole number from 0 to `largest`.
    pub(crate) fn up_to(&mut self, largest: u32) -> u32 {
        (self.unit() * f64::from(largest + 1)) as u32
    }

    /// Bell-shaped about zero, with a deviation of one.
    pub(crate) fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    pub(crate) fn bells(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.bell()).collect()
    }
}

/// The values bit by bit: R's reading of decimals is not rounded correctly, which tells where a spread is tiny.
pub(crate) fn r_vector(values: &[f64]) -> String {
    let listed: Vec<String> = values.iter().map(|value| r_number(*value)).collect();
    format!("c({})", listed.join(","))
}

fn r_number(value: f64) -> String {
    let bits = value.to_bits();
    let (sign, exponent, mantissa) = (if value < 0.0 { "-" } else { "" }, bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    if value == 0.0 {
        return "0".into();
    }
    assert!(exponent > 0 && value.is_finite(), "{value:e} is not for R");
    format!("{sign}0x1.{mantissa:013x}p{}", exponent as i64 - 1023)
}
