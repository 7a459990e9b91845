//! Real input, bent: bytes flipped, cut, doubled, spliced with other input, lines exchanged, and words put in that formats
//! are made of.

/// splitmix64 (Steele, Lea and Flood 2014): small, and its whole state is the seed that is printed.
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Also the dictionary of libFuzzer: `fuzz/words.dict` is made of it.
pub(super) const WORDS: [&str; 70] = [
    "\0",
    "\r",
    "\n\n",
    "\t",
    ",",
    ".",
    "-1",
    "99999999999999999999",
    "18446744073709551615",
    "9223372036854775808",
    "1e308",
    "1e-400",
    "NaN",
    "inf",
    "0x",
    "%",
    ":",
    "24:60:60",
    "00:00:00",
    "23:59:59",
    "12:00:00 AM",
    "13:00:00 PM",
    "9999-99-99",
    "2038-01-19",
    "Average:",
    "LINUX RESTART",
    "Linux 1 (h) \t01/01/70",
    "#Date Time",
    "### RECORD 1 >>> x <<< (99999999999.9) ###",
    "# MEMORY SUMMARY",
    "all",
    "CPU",
    "INTR",
    "(",
    ")",
    "[",
    "] ",
    "+0x",
    "ffffffffffffffff ",
    "PerfTop: [99999999Hz x] (all, 9 CPUs)",
    "é",
    "\u{1b}[",
    "100.0%",
    "[[factors]]\n",
    "[live]\n",
    "levels = []\n",
    "'''",
    "\"\"\"",
    "{\"line\":\"writing\",\"write\":0}\n",
    "{\"line\":\"closed\",\"how\":\"undone\"}\n",
    "\"coupled\":[",
    "thp.enabled=",
    "cgroup[/]",
    "\\,",
    "max",
    "zram:1G",
    "aged(90%)",
    "Node 0, zone   Normal",
    "pages free ",
    "cpu0 ",
    "field:unsigned long x;\toffset:8;\tsize:8;\tsigned:0;",
    "print fmt: \"\", __print_flags(REC->x, \"|\", {1 << A, \"a\"}",
    "7f0010 20 name",
    "_ZN",
    "[Times: user=",
    " sys=",
    ", real=",
    " User=",
    "s Sys=",
    "s Real=",
];

/// One of the inputs, with one to twelve changes. Of no input it makes one out of nothing.
#[must_use]
pub fn bend(random: &mut Random, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = inputs.get(random.below(inputs.len())).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(12) {
        let at = random.below(bytes.len() + 1);
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => {
                let word = WORDS[random.below(WORDS.len())].as_bytes();
                bytes.splice(at..at, word.iter().copied());
            }
            3 => {
                let end = (at + random.below(80)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + random.below(400)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            5 => {
                let other = inputs.get(random.below(inputs.len())).map(Vec::as_slice).unwrap_or_default();
                let from = random.below(other.len() + 1);
                let piece = other[from..(from + random.below(2000)).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            6 => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let (a, b) = (random.below(lines.len()), random.below(lines.len()));
                if !lines.is_empty() {
                    lines.swap(a, b);
                }
                bytes = lines.concat();
            }
            _ if at < bytes.len() => bytes[at] = random.next() as u8,
            _ => {}
        }
    }
    bytes
}

/// The words as libFuzzer's dictionary has them: a line each, in quotes, with every byte that is not plain as `\xHH`.
#[cfg(test)]
pub(super) fn dictionary() -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' || byte == b' ';
    let escaped = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("\\x{byte:02X}") };
    WORDS.iter().map(|word| format!("\"{}\"\n", word.bytes().map(escaped).collect::<String>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_input_again_and_another_gives_another() {
        let inputs = vec![b"one\ntwo\nthree\n".to_vec(), b"four".to_vec()];
        let many = |seed| {
            let mut random = Random(seed);
            (0..50).map(|_| bend(&mut random, &inputs)).collect::<Vec<_>>()
        };
        assert_eq!(many(7), many(7));
        assert_ne!(many(7), many(8));
        assert!(many(7).iter().filter(|bytes| !inputs.contains(bytes)).count() > 40);
        let _ = bend(&mut Random(1), &[]);
    }

    #[test]
    fn the_dictionary_of_libfuzzer_is_made_of_the_words() {
        let file = super::super::folder().join("words.dict");
        if std::env::var_os("PAGEWISE_BLESS").is_some() {
            std::fs::create_dir_all(super::super::folder()).unwrap();
            std::fs::write(&file, dictionary()).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(written, dictionary(), "PAGEWISE_BLESS=1 writes {}", file.display());
        assert!(written.contains("\"\\x1B[\"\n") && written.contains("\"\\x22\\x22\\x22\"\n"), "{written}");
    }
}
