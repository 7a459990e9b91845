//! Functions of the kernel, from `/proc/kallsyms`.

use super::Name;
use crate::root::Root;
use pagewise_core::recording::stack::KERNEL;
use std::io::{BufRead, BufReader};

/// No function is longer. Addresses that lie further behind one belong to code that has no name here, such as what BPF
/// compiles.
const LONGEST_FUNCTION: u64 = 64 << 10;

/// All functions by address.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Address, where the name begins, which module.
    functions: Vec<(u64, u32, u16)>,
    names: String,
    /// As the file has it, and as it is shown.
    modules: Vec<(String, String)>,
}

impl Kernel {
    /// Reads them.
    ///
    /// # Errors
    /// The reason and the remedy when names are hidden or the file is not there.
    pub(super) fn read(root: &Root) -> Result<Kernel, String> {
        const PATH: &str = "/proc/kallsyms";
        let file = root.open(PATH).map_err(|error| format!("cannot read {PATH}: {}", error.source))?;
        let kernel = Kernel::parse(BufReader::with_capacity(1 << 16, file));
        if kernel.functions.is_empty() {
            return Err(format!(
                "{PATH} shows no addresses, so functions of the kernel have none but their address: run as root with \
                 kernel.kptr_restrict at 0 or 1"
            ));
        }
        Ok(kernel)
    }

    pub(super) fn parse(mut lines: impl BufRead) -> Kernel {
        let mut kernel = Kernel { modules: vec![(String::new(), KERNEL.to_owned())], ..Kernel::default() };
        let mut line = Vec::with_capacity(256);
        loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(1..) => kernel.line(&line),
                _ => break,
            }
        }
        // Of several names for one address the first in the file stays.
        kernel.functions.sort_by_key(|(address, _, _)| *address);
        kernel.functions.dedup_by_key(|(address, _, _)| *address);
        kernel.functions.shrink_to_fit();
        kernel.names.shrink_to_fit();
        kernel
    }

    /// Of a hundred thousand lines most are read for this alone, so they stay bytes until one is a function's.
    fn line(&mut self, line: &[u8]) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let digits = words.next().and_then(|word| std::str::from_utf8(word).ok());
        let is_code = matches!(words.next(), Some(b"t" | b"T" | b"w" | b"W"));
        let (Some(name), true) = (words.next(), is_code) else { return };
        let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).filter(|address| *address != 0);
        let (Some(address), Ok(at)) = (address, u32::try_from(self.names.len())) else { return };
        let module = words.next().map_or(0, |module| self.module(&String::from_utf8_lossy(module)));
        self.names.push_str(&String::from_utf8_lossy(name));
        self.names.push('\n');
        self.functions.push((address, at, module));
    }

    /// `[ext4]` of the file is `[ext4.ko]` here, as in perf's listings.
    fn module(&mut self, bracketed: &str) -> u16 {
        // Modules stand together, so the last one is nearly always it.
        let known = self.modules.iter().rposition(|(known, _)| known == bracketed);
        let found = known.unwrap_or_else(|| {
            let plain = bracketed.trim_matches(['[', ']']);
            let shown = if plain == "bpf" { "[kernel.bpf]".to_owned() } else { format!("[{plain}.ko]") };
            self.modules.push((bracketed.to_owned(), shown));
            self.modules.len() - 1
        });
        u16::try_from(found).unwrap_or(0)
    }

    pub(super) fn find(&self, address: u64) -> Option<Name<'_>> {
        let before = self.functions.partition_point(|(start, _, _)| *start <= address).checked_sub(1)?;
        let (start, at, module) = self.functions[before];
        let name = self.names.get(at as usize..)?.split('\n').next()?;
        let (_, module) = self.modules.get(usize::from(module))?;
        (address - start < LONGEST_FUNCTION).then_some(Name { name, module })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _stext\nffffffff81000000 T startup_64\nffffffff81001000 t compact_zone\n\
                        ffffffff81009000 D jiffies\nffffffffc0000000 t ext4_map_blocks\t[ext4]\n\
                        ffffffffc0100000 t bpf_prog_1\t[bpf]\nnonsense\n";

    fn find(address: u64) -> Option<(String, String)> {
        let kernel = Kernel::parse(TEXT.as_bytes());
        kernel.find(address).map(|found| (found.name.to_owned(), found.module.to_owned()))
    }

    #[test]
    fn an_address_belongs_to_the_function_before_it() {
        let is = |name: &str, module: &str| Some((name.to_owned(), module.to_owned()));
        assert_eq!(find(0xffff_ffff_8100_0010), is("_stext", KERNEL), "the first of two names");
        assert_eq!(find(0xffff_ffff_8100_1fff), is("compact_zone", KERNEL));
        assert_eq!(find(0xffff_ffff_8100_9001), is("compact_zone", KERNEL), "data is no function");
        assert_eq!(find(0xffff_ffff_c000_0040), is("ext4_map_blocks", "[ext4.ko]"));
        assert_eq!(find(0xffff_ffff_c010_0000), is("bpf_prog_1", "[kernel.bpf]"));
        assert_eq!(find(0xffff_ffff_c020_0000), None, "far behind the last");
        assert_eq!(find(5), None);
    }

    #[test]
    fn hidden_addresses_are_said_to_be_hidden() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/kallsyms"), "0000000000000000 T _stext\n".repeat(3)).unwrap();
        let why = Kernel::read(&Root::at(folder.path())).unwrap_err();
        assert!(why.contains("kernel.kptr_restrict"), "{why}");
    }
}
