//! Functions of a program or library, from the symbol tables of its ELF file.

use super::Found;
use object::read::ReadCache;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::fs::File;

/// A file with more functions than this (a browser's has half a million) is cut: tables must not eat the host's memory.
const MOST_FUNCTIONS: usize = 1 << 20;
const MOST_BYTES_OF_NAMES: usize = 48 << 20;

/// The functions of one file.
#[derive(Debug, Default)]
pub(super) struct Elf {
    /// Where parts of the file are meant to be: offset in the file, length, address.
    loads: Vec<(u64, u64, u64)>,
    /// Address, length (0: up to the next one), where the name begins.
    functions: Vec<(u64, u32, u32)>,
    names: String,
}

impl Elf {
    /// Reads them. `None` when the file is no ELF file.
    pub(super) fn read(file: File) -> Option<Elf> {
        let cache = ReadCache::new(file);
        Some(Elf::of(&object::File::parse(&cache).ok()?))
    }

    /// The same of an image in memory.
    pub(super) fn parse(bytes: &[u8]) -> Option<Elf> {
        Some(Elf::of(&object::File::parse(bytes).ok()?))
    }

    fn of<'d>(file: &object::File<'d, impl object::ReadRef<'d>>) -> Elf {
        let mut elf = Elf::default();
        for segment in file.segments() {
            let (offset, length) = segment.file_range();
            elf.loads.push((offset, length, segment.address()));
        }
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
                continue;
            }
            let (Ok(name), Ok(at)) = (symbol.name_bytes(), u32::try_from(elf.names.len())) else { continue };
            if name.is_empty() || elf.functions.len() >= MOST_FUNCTIONS || elf.names.len() > MOST_BYTES_OF_NAMES {
                continue;
            }
            let name = &name[..name.len().min(super::LONGEST_NAME)];
            elf.names.push_str(&String::from_utf8_lossy(name));
            elf.names.push('\0');
            elf.functions.push((symbol.address(), u32::try_from(symbol.size()).unwrap_or(u32::MAX), at));
        }
        // Of several names for one address the one that says its length comes first, then the first in the file.
        elf.functions.sort_by_key(|(address, length, _)| (*address, *length == 0));
        elf.functions.dedup_by_key(|(address, _, _)| *address);
        elf.functions.shrink_to_fit();
        elf.names.shrink_to_fit();
        elf
    }

    /// The function at that place of the file.
    pub(super) fn find(&self, offset: u64) -> Found<'_> {
        let load =
            self.loads.iter().find(|(start, length, _)| offset.checked_sub(*start).is_some_and(|at| at < *length));
        let Some((start, _, address)) = load else { return Found::Address(offset) };
        let address = (offset - start).wrapping_add(*address);
        let before = self.functions.partition_point(|(start, _, _)| *start <= address).checked_sub(1);
        let name = before.and_then(|before| {
            let (start, length, at) = self.functions[before];
            let is_within = length == 0 || address - start < u64::from(length);
            self.names.get(at as usize..).filter(|_| is_within)?.split('\0').next()
        });
        name.map_or(Found::Address(address), Found::Name)
    }

    /// About the memory it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        self.names.len() + self.functions.len() * size_of::<(u64, u32, u32)>() + 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_functions_are_found_in_our_own_file() {
        let path = std::env::current_exe().unwrap();
        let elf = Elf::read(File::open(path).unwrap()).unwrap();
        let (address, _, at) = *elf
            .functions
            .iter()
            .find(|(_, length, at)| *length > 4 && elf.names[*at as usize..].contains("our_own_functions_are_found"))
            .unwrap();
        let (start, _, load) =
            elf.loads.iter().find(|(_, length, load)| (*load..load + length).contains(&address)).unwrap();
        let offset = address - load + start;
        let name = elf.names[at as usize..].split('\0').next().unwrap();
        assert_eq!(elf.find(offset + 3), Found::Name(name));
    }

    #[test]
    fn what_is_no_elf_file_has_none() {
        assert!(Elf::parse(b"#!/bin/sh\n").is_none());
        assert!(Elf::parse(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0xff, 0xff]).is_none());
        assert_eq!(Elf::default().find(7), Found::Address(7));
    }
}
