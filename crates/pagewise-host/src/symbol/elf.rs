//! Functions of a program or library, from the symbol tables of its ELF file (System V gABI, chapters 4 and 5).
//!
//! Only addresses are read at once: half a million names, of which a dozen are asked for, would cost seconds on a busy host.
//! The file stays open for them. It may be anybody's and say anything, so nothing is allocated by a size it claims: tables
//! are read piece by piece, up to a bound. That is also why no library does it, which would map or load them whole.

use super::{LONGEST_NAME, SymbolLookup};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A file with more functions than this (a browser's has half a million) is cut: tables must not eat the host's memory.
const MOST_FUNCTIONS: usize = 1 << 20;
const MOST_SEGMENTS: usize = 256;
const MOST_SECTIONS: usize = 65_536;

/// Bytes read at a time.
const PIECE: usize = 1 << 16;

/// What the file is read from.
#[derive(Debug)]
pub(super) enum Image {
    File(File),
    Bytes(Vec<u8>),
}

impl Image {
    /// As many bytes as there are, up to those asked for.
    fn read(&self, at: u64, into: &mut [u8]) -> usize {
        match self {
            Image::File(file) => {
                let mut done = 0;
                while done < into.len() {
                    match file.read_at(&mut into[done..], at.saturating_add(done as u64)) {
                        Ok(count) if count > 0 => done += count,
                        _ => break,
                    }
                }
                done
            }
            Image::Bytes(bytes) => {
                let from = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let count = from.len().min(into.len());
                into[..count].copy_from_slice(&from[..count]);
                count
            }
        }
    }

    /// Calls `each` with every whole entry of a table, until it ends or has had so many.
    fn entries(&self, at: u64, size: u64, entry: usize, most: usize, mut each: impl FnMut(&[u8])) {
        let mut piece = vec![0; PIECE / entry * entry];
        let (mut at, mut left) = (at, (size / entry as u64).min(most as u64));
        while left > 0 {
            let wanted = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX).saturating_mul(entry));
            let read = self.read(at, &mut piece[..wanted]);
            piece[..read].chunks_exact(entry).for_each(&mut each);
            if read < wanted {
                return;
            }
            at = at.saturating_add(read as u64);
            left -= (read / entry) as u64;
        }
    }
}

/// Where numbers lie in the two classes of files.
struct Layout {
    is_wide: bool,
    segments: usize,
    segment_count: usize,
    sections: usize,
    section_count: usize,
    segment_size: usize,
    /// Offset, address and size of a segment.
    segment: [usize; 3],
    section_size: usize,
    /// Offset, size and link of a section.
    section: [usize; 3],
    symbol_size: usize,
    /// Kind, section, address and size of a symbol.
    symbol: [usize; 4],
}

const NARROW: Layout = Layout {
    is_wide: false,
    segments: 28,
    segment_count: 44,
    sections: 32,
    section_count: 48,
    segment_size: 32,
    segment: [4, 8, 16],
    section_size: 40,
    section: [16, 20, 24],
    symbol_size: 16,
    symbol: [12, 14, 4, 8],
};

const WIDE: Layout = Layout {
    is_wide: true,
    segments: 32,
    segment_count: 56,
    sections: 40,
    section_count: 60,
    segment_size: 56,
    segment: [8, 16, 32],
    section_size: 64,
    section: [24, 32, 40],
    symbol_size: 24,
    symbol: [4, 6, 8, 16],
};

/// A number at a place; 0 where the bytes end before it.
fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; N])
}

fn half(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_ne_bytes(number(bytes, at)))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(number(bytes, at))
}

impl Layout {
    /// An address or offset.
    fn long(&self, bytes: &[u8], at: usize) -> u64 {
        if self.is_wide { u64::from_ne_bytes(number(bytes, at)) } else { u64::from(word(bytes, at)) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function {
    address: u64,
    /// Where its name stands in the file.
    name: u64,
    /// 0: up to the next one.
    length: u32,
}

/// The functions of one file.
#[derive(Debug)]
pub(super) struct Elf {
    image: Image,
    /// Where parts of the file are meant to be: offset in the file, length, address.
    loads: Vec<(u64, u64, u64)>,
    functions: Vec<Function>,
}

impl Elf {
    /// Reads them. `None` when the file is no ELF file of this machine's byte order.
    pub(super) fn read(image: Image) -> Option<Elf> {
        let mut header = [0; 64];
        image.read(0, &mut header);
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        let layout = match header {
            [0x7f, b'E', b'L', b'F', 1, found, ..] if found == order => NARROW,
            [0x7f, b'E', b'L', b'F', 2, found, ..] if found == order => WIDE,
            _ => return None,
        };
        let mut elf = Elf { image, loads: Vec::new(), functions: Vec::new() };
        elf.read_segments(&layout, &header);
        elf.read_functions(&layout, &header);
        Some(elf)
    }

    fn read_segments(&mut self, layout: &Layout, header: &[u8]) {
        const LOAD: u32 = 1;
        let at = layout.long(header, layout.segments);
        let size = (half(header, layout.segment_count) * layout.segment_size) as u64;
        let [offset, address, length] = layout.segment;
        let loads = &mut self.loads;
        self.image.entries(at, size, layout.segment_size, MOST_SEGMENTS, |segment| {
            if word(segment, 0) == LOAD {
                let long = |at| layout.long(segment, at);
                loads.push((long(offset), long(length), long(address)));
            }
        });
    }

    fn read_functions(&mut self, layout: &Layout, header: &[u8]) {
        const SYMBOLS: u32 = 2;
        const DYNAMIC_SYMBOLS: u32 = 11;
        let [offset, size, link] = layout.section;
        let at = layout.long(header, layout.sections);
        let mut sections: Vec<(u32, u64, u64, u32)> = Vec::new();
        let table = (half(header, layout.section_count) * layout.section_size) as u64;
        self.image.entries(at, table, layout.section_size, MOST_SECTIONS, |section| {
            let long = |at| layout.long(section, at);
            sections.push((word(section, 4), long(offset), long(size), word(section, link)));
        });
        for wanted in [SYMBOLS, DYNAMIC_SYMBOLS] {
            let Some((_, at, size, names)) = sections.iter().find(|(kind, ..)| *kind == wanted) else { continue };
            let Some((_, names, ..)) = sections.get(*names as usize) else { continue };
            let room = MOST_FUNCTIONS.saturating_sub(self.functions.len());
            let functions = &mut self.functions;
            // Most symbols are data or belong to other files: several are read for one that counts.
            self.image.entries(*at, *size, layout.symbol_size, room.saturating_mul(4), |symbol| {
                if functions.len() < MOST_FUNCTIONS {
                    functions.extend(function(layout, symbol, *names));
                }
            });
        }
        // Of several names for one address the one that says its length comes first, then that of the larger table.
        self.functions.sort_by_key(|function| (function.address, function.length == 0));
        self.functions.dedup_by_key(|function| function.address);
        self.functions.shrink_to_fit();
    }

    /// What stands at that place of the file.
    pub(super) fn find(&self, offset: u64) -> SymbolLookup {
        let within = |start: u64, length: u64| offset.checked_sub(start).is_some_and(|at| at < length);
        let load = self.loads.iter().find(|(start, length, _)| within(*start, *length));
        let Some((start, _, address)) = load else { return SymbolLookup::Address(offset) };
        let address = (offset - start).wrapping_add(*address);
        let before = self.functions.partition_point(|function| function.address <= address).checked_sub(1);
        let function = before.map(|before| self.functions[before]);
        let function =
            function.filter(|function| function.length == 0 || address - function.address < u64::from(function.length));
        function
            .and_then(|function| self.name(function.name))
            .map_or(SymbolLookup::Address(address), SymbolLookup::Name)
    }

    fn name(&self, at: u64) -> Option<String> {
        let mut bytes = [0; LONGEST_NAME];
        let read = self.image.read(at, &mut bytes);
        let name = bytes[..read].split(|byte| *byte == 0).next().filter(|name| !name.is_empty())?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// About the memory it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        self.functions.len() * size_of::<Function>() + 1024
    }
}

/// A symbol that is a function of this file, `names` being where its table of names begins.
fn function(layout: &Layout, symbol: &[u8], names: u64) -> Option<Function> {
    const FUNCTION: u8 = 2;
    /// One of several, chosen when it is first called.
    const CHOSEN_FUNCTION: u8 = 10;
    let [kind, section, address, length] = layout.symbol;
    let [kind] = number(symbol, kind);
    let is_function = matches!(kind & 0xf, FUNCTION | CHOSEN_FUNCTION) && half(symbol, section) != 0;
    is_function.then(|| Function {
        address: layout.long(symbol, address),
        name: names.saturating_add(u64::from(word(symbol, 0))),
        length: u32::try_from(layout.long(symbol, length)).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own() -> Elf {
        Elf::read(Image::File(File::open(std::env::current_exe().unwrap()).unwrap())).unwrap()
    }

    #[test]
    fn our_own_functions_are_found_in_our_own_file() {
        let elf = own();
        let is_ours =
            |function: &&Function| elf.name(function.name).is_some_and(|name| name.contains("our_own_functions"));
        let function = elf.functions.iter().find(is_ours).unwrap();
        assert!(function.length > 4);
        let covers = |(_, length, load): &&(u64, u64, u64)| (*load..load + length).contains(&function.address);
        let (start, _, load) = elf.loads.iter().find(covers).unwrap();
        let offset = function.address - load + start;
        let name = elf.name(function.name).unwrap();
        assert_eq!(elf.find(offset + 3), SymbolLookup::Name(name.clone()));
        assert_ne!(elf.find(offset + u64::from(function.length)), SymbolLookup::Name(name), "behind its end");
    }

    #[test]
    fn what_is_no_elf_file_has_none() {
        assert!(Elf::read(Image::Bytes(b"#!/bin/sh\n".to_vec())).is_none());
        assert!(Elf::read(Image::Bytes(Vec::new())).is_none());
    }

    /// A file of this machine's order and class with two sections: symbols at 192, which claim to be larger than any disk.
    fn claims(size: u64) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[40..48].copy_from_slice(&64u64.to_ne_bytes());
        bytes[60..62].copy_from_slice(&2u16.to_ne_bytes());
        for (kind, at) in [(2u32, 192u64), (3, 240)] {
            let mut section = [0; 64];
            section[4..8].copy_from_slice(&kind.to_ne_bytes());
            section[24..32].copy_from_slice(&at.to_ne_bytes());
            section[32..40].copy_from_slice(&size.to_ne_bytes());
            section[40..44].copy_from_slice(&1u32.to_ne_bytes());
            bytes.extend(section);
        }
        bytes.extend([1, 0, 0, 0, 2, 0, 1, 0]);
        bytes.extend(0x1000u64.to_ne_bytes());
        bytes.extend(0x20u64.to_ne_bytes());
        bytes.resize(240, 0);
        bytes.extend(b"\0work\0");
        bytes
    }

    #[test]
    fn a_table_that_claims_to_be_endless_is_read_as_far_as_it_goes() {
        for size in [24, u64::MAX, u64::MAX / 2] {
            let elf = Elf::read(Image::Bytes(claims(size))).unwrap();
            let function = elf.functions.iter().find(|function| function.address == 0x1000).unwrap();
            assert_eq!(elf.name(function.name).as_deref(), Some("work"));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            changes in prop::collection::vec((0usize..246, any::<u8>()), 0..60), place in any::<u64>(), cut in 0usize..246,
        ) {
            let mut bytes = claims(48);
            changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
            bytes.truncate(bytes.len() - cut);
            if let Some(elf) = Elf::read(Image::Bytes(bytes)) {
                let _ = (elf.find(place), elf.find(place % 300), elf.size());
            }
        }
    }
}
