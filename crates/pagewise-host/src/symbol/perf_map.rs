//! Functions that a runtime compiled while it ran and tells in `/tmp/perf-PID.map`: a line each, start and length in
//! hexadecimal digits, then the name. Java writes it with `-XX:+DumpPerfMapAtExit` or `jcmd PID Compiler.perfmap`, Node
//! with `--perf-basic-prof`.

/// The functions of one process.
#[derive(Debug, Default)]
pub(super) struct PerfMap {
    /// Start, end, where the name begins and how long it is.
    functions: Vec<(u64, u64, u32, u32)>,
    names: String,
}

/// More lines than this are not read.
const MOST: usize = 1 << 20;

impl PerfMap {
    pub(super) fn parse(text: &[u8]) -> PerfMap {
        let mut map = PerfMap::default();
        for line in text.split(|byte| *byte == b'\n').take(MOST) {
            let line = String::from_utf8_lossy(line);
            let mut words = line.splitn(3, ' ');
            let mut number =
                || words.next().and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
            let (Some(start), Some(length)) = (number(), number()) else { continue };
            let name: String = words.next().unwrap_or_default().trim_end().chars().take(super::LONGEST_NAME).collect();
            let (Ok(at), false) = (u32::try_from(map.names.len()), name.is_empty()) else { continue };
            map.functions.push((start, start.saturating_add(length), at, name.len() as u32));
            map.names.push_str(&name);
        }
        // Stable: of two at one address the one that was written later, which replaced the other, comes last.
        map.functions.sort_by_key(|(start, ..)| *start);
        map
    }

    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let before = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (_, end, at, length) = self.functions[before];
        self.names.get(at as usize..(at + length) as usize).filter(|_| address < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_function_at_an_address_is_the_one() {
        let map = PerfMap::parse(
            b"7f0010 20 Lold;::sort\n7f0010 20 Ljava/util/Arrays;::sort(int[] a)\n0x10 8 early\nbad\n9 9\n",
        );
        assert_eq!(map.find(0x7f_0015), Some("Ljava/util/Arrays;::sort(int[] a)"));
        assert_eq!((map.find(0x7f_0030), map.find(0x17), map.find(0xf)), (None, Some("early"), None));
    }
}
