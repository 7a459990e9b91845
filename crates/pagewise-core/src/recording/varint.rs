//! The bytes both codecs are made of: numbers in groups of seven bits, differences folded so that small ones of either
//! sign are short, and a reader that never reads past the end.

/// Bytes that are not what a codec wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// They end in the middle of something.
    #[error("the data end too early")]
    CutShort,
    /// A number is longer than 64 bits.
    #[error("a number is longer than 64 bits")]
    TooLong,
    /// A row builds on an earlier one that is not there.
    #[error("a row builds on an earlier row that is missing")]
    NoKey,
    /// It claims to hold more than any recording does; decoding it would only fill memory.
    #[error("it claims {columns} columns of {ticks} ticks, which no recording has")]
    TooLarge {
        /// Columns it claims.
        columns: u64,
        /// Ticks it claims.
        ticks: u64,
    },
    /// A mark that this version does not know.
    #[error("it holds the mark {0:#04x}, which this version does not know")]
    UnknownMark(u8),
    /// Bytes follow after the end.
    #[error("{0} bytes follow after its end")]
    Trailing(usize),
}

/// Appends a number, least significant group first (LEB128).
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends what has to be added to `before` to get `now`, modulo 2^64: a counter that wraps costs no more than any other.
pub(super) fn put_difference(out: &mut Vec<u8>, before: u64, now: u64) {
    put(out, fold(now.wrapping_sub(before) as i64));
}

/// 0, -1, 1, -2, 2, … become 0, 1, 2, 3, 4, …
fn fold(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

fn unfold(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

/// One bit per flag, lowest first; the last byte is filled up with zeros.
pub(super) fn put_bits(out: &mut Vec<u8>, flags: impl Iterator<Item = bool>) {
    let mut byte = 0u8;
    let mut used = 0;
    for flag in flags {
        byte |= u8::from(flag) << used;
        used += 1;
        if used == 8 {
            out.push(byte);
            (byte, used) = (0, 0);
        }
    }
    if used > 0 {
        out.push(byte);
    }
}

/// Takes what was put, in the same order.
#[derive(Debug)]
pub(super) struct VarintReader<'a>(pub(super) &'a [u8]);

impl<'a> VarintReader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, CodecError> {
        let (first, rest) = self.0.split_first().ok_or(CodecError::CutShort)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, CodecError> {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            let group = u64::from(byte & 0x7f);
            if shift == 63 && group > 1 {
                return Err(CodecError::TooLong);
            }
            number |= group << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(CodecError::TooLong)
    }

    pub(super) fn difference(&mut self, before: u64) -> Result<u64, CodecError> {
        Ok(before.wrapping_add(unfold(self.number()?) as u64))
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CodecError::CutShort)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn bits(&mut self, count: usize) -> Result<Bits<'a>, CodecError> {
        Ok(Bits(self.bytes(count.div_ceil(8))?))
    }

    pub(super) fn end(self) -> Result<(), CodecError> {
        if self.0.is_empty() { Ok(()) } else { Err(CodecError::Trailing(self.0.len())) }
    }
}

/// Flags as [`put_bits`] wrote them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a>(&'a [u8]);

impl Bits<'_> {
    pub(super) fn at(&self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_differences_come_back(number: u64, before: u64, flags in prop::collection::vec(any::<bool>(), 0..40)) {
            let mut out = Vec::new();
            put(&mut out, number);
            put_difference(&mut out, before, number);
            put_bits(&mut out, flags.iter().copied());
            let mut take = VarintReader(&out);
            prop_assert_eq!(take.number(), Ok(number));
            prop_assert_eq!(take.difference(before), Ok(number));
            let bits = take.bits(flags.len()).unwrap();
            prop_assert!(flags.iter().enumerate().all(|(index, flag)| bits.at(index) == *flag));
            prop_assert_eq!(take.end(), Ok(()));
        }
    }

    #[test]
    fn a_small_step_either_way_is_one_byte() {
        for (before, now) in [(0, 0), (5, 68), (68, 5), (u64::MAX, 3), (3, u64::MAX)] {
            let mut out = Vec::new();
            put_difference(&mut out, before, now);
            assert_eq!(out.len(), 1, "{before} to {now}");
        }
    }

    #[test]
    fn an_endless_number_is_refused() {
        assert_eq!(VarintReader(&[0xff; 12]).number(), Err(CodecError::TooLong));
        assert_eq!(VarintReader(&[0x80; 3]).number(), Err(CodecError::CutShort));
    }
}
