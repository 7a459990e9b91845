//! Where the old objects of a HotSpot JVM lie, seen from outside: the structures that libjvm exports for debuggers (`gHotSpotVMStructs`,
//! `src/hotspot/share/runtime/vmStructs.cpp`), read through `/proc/PID/mem`. `jvm/placement` reads the same from within, by the same list of
//! fields. A field that moved is noticed by what the parts of a heap must be to each other; what is stale costs work and no data, since all that
//! is done with an address is advice that keeps what it holds.

use crate::root::Root;
use pagewise_core::huge_pages::mapping::Mapping;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt;

/// The fields that are read, with their spellings by version.
const FIELDS: &str = include_str!("../../../../jvm/placement/src/main/resources/pagewise/placement/hotspot-fields.tsv");

/// No table of a JVM has more entries, no heap more regions, no name more letters.
const MOST_ENTRIES: u64 = 100_000;
const MOST_REGIONS: u64 = 1 << 20;
const LONGEST_NAME: usize = 128;

/// No libjvm is larger.
const LARGEST_LIBRARY: u64 = 1 << 30;

/// From the lowest address that old or humongous objects take to the last, piece by piece, up to where each piece is in use.
///
/// # Errors
/// A sentence: the process is no HotSpot JVM, has a collector without old memory of its own, or a JVM whose fields lie elsewhere.
pub fn old_memory(root: &Root, pid: i32, mappings: &[Mapping]) -> Result<Vec<(u64, u64)>, String> {
    let library = mappings.iter().find(|mapping| mapping.name.ends_with("/libjvm.so"));
    let library = library.ok_or("it is no HotSpot JVM: no libjvm.so is mapped")?;
    let path = root.path(&format!("/proc/{pid}/root{}", library.name));
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(LARGEST_LIBRARY).read_to_end(&mut bytes));
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    let memory = root.path(&format!("/proc/{pid}/mem"));
    let memory = File::open(&memory).map_err(|error| format!("{}: {error}", memory.display()))?;
    let symbols = exported(&bytes).ok_or_else(|| format!("{} is no library that can be read", path.display()))?;
    let jvm = Jvm::open(Memory(memory), &symbols, library.start)?;
    let (old, heap) = jvm.old()?;
    let is_mapped = |address: u64| mappings.iter().any(|mapping| mapping.start <= address && address < mapping.end);
    check(is_mapped(heap.0) && is_mapped(heap.1 - 1), || format!("its heap {:x}-{:x} is not mapped", heap.0, heap.1))?;
    Ok(old)
}

fn check(holds: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{}: its structures are not those of a JVM that is known here", fault())) }
}

/// Names and addresses of the dynamic symbols of a 64-bit little-endian library (`elf.h`).
fn exported(bytes: &[u8]) -> Option<BTreeMap<&[u8], u64>> {
    let number = |at: usize, length: usize| {
        let mut value = [0_u8; 8];
        value[..length].copy_from_slice(bytes.get(at..at.checked_add(length)?)?);
        Some(u64::from_le_bytes(value))
    };
    let part =
        |at: u64, length: u64| bytes.get(usize::try_from(at).ok()?..usize::try_from(at.checked_add(length)?).ok()?);
    if part(0, 6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (sections, size, count) = (number(0x28, 8)? as usize, number(0x3a, 2)? as usize, number(0x3c, 2)? as usize);
    let section = |index: usize| sections.checked_add(index.checked_mul(size)?);
    const DYNAMIC_SYMBOLS: u64 = 11;
    let is_dynamic = |index: &usize| section(*index).and_then(|at| number(at + 4, 4)) == Some(DYNAMIC_SYMBOLS);
    let table = section((0..count).find(is_dynamic)?)?;
    let names = section(number(table + 0x28, 4)? as usize)?;
    let names = part(number(names + 0x18, 8)?, number(names + 0x20, 8)?)?;
    let all = part(number(table + 0x18, 8)?, number(table + 0x20, 8)?)?;
    let (entries, _) = all.as_chunks::<24>();
    let entry = |entry: &[u8; 24]| {
        let name = names.get(u32::from_le_bytes(*entry.first_chunk()?) as usize..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        Some((name, u64::from_le_bytes(*entry[8..].first_chunk()?)))
    };
    Some(entries.iter().filter_map(entry).collect())
}

/// Memory of the process.
struct Memory(File);

impl Memory {
    fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; length];
        let read = self.0.read_exact_at(&mut bytes, address);
        read.map_err(|error| format!("its memory at {address:x} cannot be read: {error}"))?;
        Ok(bytes)
    }

    fn word(&self, address: u64) -> Result<u64, String> {
        let bytes = self.bytes(address, 8)?;
        Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// The text up to its end.
    fn text(&self, address: u64) -> Result<String, String> {
        let mut text = vec![0; LONGEST_NAME];
        // It may be the last of its mapping.
        let length = self.0.read_at(&mut text, address).map_err(|error| format!("a name at {address:x}: {error}"))?;
        let end = text[..length].iter().position(|byte| *byte == 0).unwrap_or(length);
        Ok(String::from_utf8_lossy(&text[..end]).into_owned())
    }
}

/// A JVM whose fields are known.
struct Jvm {
    memory: Memory,
    /// By our names: an offset, the address of a variable, or a constant.
    fields: BTreeMap<&'static str, u64>,
}

/// From the first address to the one after the last.
type Range = (u64, u64);

impl Jvm {
    fn open(memory: Memory, symbols: &BTreeMap<&[u8], u64>, base: u64) -> Result<Jvm, String> {
        let value = |name: &str| {
            let at = symbols.get(name.as_bytes()).ok_or_else(|| format!("libjvm.so does not export {name}"))?;
            memory.word(base.wrapping_add(*at))
        };
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        // Of some 2,000 fields forty are read; most have a type that none of those has.
        let lines = || FIELDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let spellings = || lines().filter_map(|line| line.split('\t').nth(2)).flat_map(|all| all.split(' '));
        let types: BTreeSet<&str> = spellings().filter_map(|name| name.split("::").next()).collect();
        let mut known: BTreeMap<u64, String> = BTreeMap::new();
        let of = |field: &str| value(&format!("gHotSpotVMStructEntry{field}"));
        let (at, stride) = (value("gHotSpotVMStructs")?, of("ArrayStride")?);
        let (typed, named, is_static) = (of("TypeNameOffset")?, of("FieldNameOffset")?, of("IsStaticOffset")?);
        let (offset, address) = (of("OffsetOffset")?, of("AddressOffset")?);
        check((8..=4096).contains(&stride), || format!("entries of {stride} bytes"))?;
        for entry in (0..MOST_ENTRIES).map(|number| at + number * stride) {
            let name = memory.word(entry + typed)?;
            if name == 0 {
                break;
            }
            let kind = match known.entry(name) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(memory.text(name)?),
            };
            if !types.contains(kind.as_str()) {
                continue;
            }
            let is_variable = memory.word(entry + is_static)? as u32 != 0;
            let field = memory.text(memory.word(entry + named)?)?;
            let (what, place) = if is_variable { ("static", address) } else { ("offset", offset) };
            found.entry(format!("{what} {kind}::{field}")).or_insert(memory.word(entry + place)?);
        }
        let of = |field: &str| value(&format!("gHotSpotVMIntConstantEntry{field}"));
        let (at, stride) = (value("gHotSpotVMIntConstants")?, of("ArrayStride")?);
        let (named, number) = (of("NameOffset")?, of("ValueOffset")?);
        check((8..=4096).contains(&stride), || format!("entries of {stride} bytes"))?;
        for entry in (0..MOST_ENTRIES).map(|number| at + number * stride) {
            let name = memory.word(entry + named)?;
            if name == 0 {
                break;
            }
            found
                .entry(format!("constant {}", memory.text(name)?))
                .or_insert(u64::from(memory.word(entry + number)? as u32));
        }
        let field = |line: &'static str| {
            let mut columns = line.split('\t');
            let (name, what, spellings) = (columns.next()?, columns.next()?, columns.next()?);
            let value = spellings.split(' ').find_map(|spelling| found.get(&format!("{what} {spelling}")))?;
            Some((name, *value))
        };
        let fields = lines().filter_map(field).collect();
        Ok(Jvm { memory, fields })
    }

    fn at(&self, name: &str) -> Result<u64, String> {
        self.fields.get(name).copied().ok_or_else(|| format!("this JVM has no {name}"))
    }

    /// A word of a structure.
    fn word(&self, structure: u64, name: &str) -> Result<u64, String> {
        check(structure != 0, || format!("nothing has {name}"))?;
        self.memory.word(structure + self.at(name)?)
    }

    /// What a variable holds; 0 where this JVM has none of that name.
    fn variable(&self, name: &str) -> Result<u64, String> {
        self.at(name).map_or(Ok(0), |address| self.memory.word(address))
    }

    /// Old memory that is in use, and the whole heap.
    fn old(&self) -> Result<(Vec<Range>, Range), String> {
        let heap = self.variable("heap")?;
        let reserved = self.region(heap + self.at("heap.reserved")?)?;
        let old = if self.variable("g1.region_bytes")? != 0 {
            self.of_g1(heap, reserved)?
        } else if self.variable("parallel.old")? != 0 {
            let old = self.variable("parallel.old")?;
            vec![self.space(self.word(old, "parallel.old.space")?, "parallel", reserved)?]
        } else {
            let old = self.word(heap, "serial.old")?;
            vec![self.space(self.word(old, "serial.old.space")?, "serial", reserved)?]
        };
        Ok((old, reserved))
    }

    fn region(&self, memory: u64) -> Result<Range, String> {
        let start = self.word(memory, "memory.start")?;
        let end = self.word(memory, "memory.words")?.checked_mul(8).and_then(|length| start.checked_add(length));
        let end = end.filter(|end| *end > start && start % 4096 == 0);
        end.map(|end| (start, end)).ok_or_else(|| {
            format!("a heap from {start:x} of no length: ZGC and Shenandoah have no old memory of their own")
        })
    }

    /// A space up to where it is in use.
    fn space(&self, space: u64, collector: &str, heap: Range) -> Result<Range, String> {
        let of = |field: &str| self.word(space, &format!("{collector}.space.{field}"));
        let (bottom, top, end) = (of("bottom")?, of("top")?, of("end")?);
        check(heap.0 <= bottom && bottom <= top && top <= end && end <= heap.1 && bottom % 4096 == 0, || {
            format!("an old space {bottom:x}-{end:x}, in use to {top:x}")
        })?;
        Ok((bottom, top))
    }

    fn of_g1(&self, heap: u64, reserved: Range) -> Result<Vec<Range>, String> {
        let size = self.variable("g1.region_bytes")?;
        let table = heap + self.at("g1.manager")? + self.at("g1.table")?;
        let (base, length) = (self.word(table, "g1.table.base")?, self.word(table, "g1.table.length")?);
        check(
            size.is_power_of_two()
                && length <= MOST_REGIONS
                && size.checked_mul(length) == Some(reserved.1 - reserved.0),
            || format!("{length} regions of {size} bytes in a heap {:x}-{:x}", reserved.0, reserved.1),
        )?;
        let (is_old, is_humongous) = (self.at("g1.tag.old_mask")?, self.at("g1.tag.humongous_mask")?);
        // JDK 17 has regions of the archive of classes; later ones call them old.
        let is_archive = self.at("g1.tag.archive_mask").unwrap_or(0);
        let pointers = self.memory.bytes(base, length as usize * 8)?;
        let (pointers, _) = pointers.as_chunks::<8>();
        let mut old: Vec<Range> = Vec::new();
        for (index, pointer) in pointers.iter().enumerate() {
            let region = u64::from_le_bytes(*pointer);
            if region == 0 {
                continue;
            }
            let of = |field: &str| self.word(region, &format!("g1.region.{field}"));
            let (bottom, top, end) = (of("bottom")?, of("top")?, of("end")?);
            check(
                bottom == reserved.0 + index as u64 * size && end == bottom + size && bottom <= top && top <= end,
                || format!("region {index} {bottom:x}-{end:x}, in use to {top:x}"),
            )?;
            let tag =
                u64::from(self.memory.word(region + self.at("g1.region.type")? + self.at("g1.type.tag")?)? as u32);
            let is_wanted = tag & (is_old | is_humongous) != 0 && tag & is_archive == 0;
            match old.last_mut() {
                Some(last) if is_wanted && last.1 == bottom => last.1 = top,
                _ if is_wanted => old.push((bottom, top)),
                _ => {}
            }
            // The last bytes of a full region stay free where no object fits: they lie in a page that is in use.
            if let Some(last) = old.last_mut().filter(|last| last.1 == top) {
                last.1 = top.next_multiple_of(4096);
            }
        }
        Ok(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_list_has_three_columns_and_known_kinds() {
        let lines: Vec<&str> = FIELDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(lines.len() > 40);
        for line in lines {
            let columns: Vec<&str> = line.split('\t').collect();
            assert!(columns.len() == 3 && ["static", "offset", "constant"].contains(&columns[1]), "{line}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_library_holds_is_read_without_a_panic(rest in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut bytes = b"\x7fELF\x02\x01".to_vec();
            bytes.extend(rest);
            let _ = exported(&bytes);
        }
    }
}
