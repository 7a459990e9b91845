//! Names for addresses: functions of the kernel, of programs and libraries, and of what a runtime compiled.
//!
//! Everything here reads what other people's processes say about themselves. A file of theirs may be a pipe, endless, or not
//! what it was: it is opened without waiting, only if it is a file, checked against what the kernel said was mapped, and
//! read up to a bound.

mod elf;
mod kernel;
mod perf_map;
mod process;

use crate::root::Root;
use crate::source::perf_record::Mapped;
use elf::{Elf, Image};
use kernel::Kernel;
use pagewise_core::recording::stack::KERNEL;
use pagewise_core::recording::{Frame, Stacks};
use perf_map::PerfMap;
use process::{FileKey, Processes, Range};
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A name is cut here, in bytes: those of C++ templates can be longer than the rest of a recording.
const LONGEST_NAME: usize = 1024;

/// Memory of the symbol tables of all programs together, and their number, each with an open file; those not used for
/// longest go.
const MOST_BYTES: usize = 64 << 20;
const MOST_TABLES: usize = 256;

/// Frames that are remembered by address.
const MOST_FRAMES: usize = 1 << 18;

/// A map of compiled functions that is larger is not read.
const LARGEST_PERF_MAP: u64 = 64 << 20;

/// Processes whose maps are kept.
const MOST_COMPILED: usize = 256;

/// Processes of which it is known that they run the files whose tables are here.
const MOST_CHECKED: usize = 16_384;

/// How often it is checked whether a runtime compiled more.
const CHECK_AGAIN: Duration = Duration::from_secs(5);

/// The same while there is none: a runtime may write it a moment after its first function ran.
const CHECK_FOR_ONE: Duration = Duration::from_millis(500);

/// The module of what a runtime compiled, and of a page the kernel lends to each process.
const JIT: &str = "[jit]";
const VDSO: &str = "[vdso]";
const UNKNOWN: &str = "[unknown]";

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name<'a> {
    name: &'a str,
    module: &'a str,
}

/// What stands at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SymbolLookup {
    Name(String),
    /// No symbol; the address in the file's own counting.
    Address(u64),
}

#[derive(Debug)]
struct Table {
    elf: Option<Elf>,
    /// Tells tables apart in the memory of frames.
    number: u32,
    used: u64,
    /// The file when it was read. `None`: it could not be opened, or is none.
    state: Option<State>,
}

/// Size and time of a file: a new one can have the number of one that was removed, or be written in its place.
type State = (u64, i64, i64);

fn state_of(metadata: &std::fs::Metadata) -> State {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

#[derive(Debug)]
struct Compiled {
    map: PerfMap,
    checked: Instant,
    /// The file when it was read.
    state: Option<State>,
}

/// Names frames, and remembers what it has read. Everything is bounded.
#[derive(Debug)]
pub(crate) struct Symbols {
    root: Root,
    /// `None` until first asked.
    kernel: Option<Result<Kernel, String>>,
    is_hidden_told: bool,
    processes: Processes,
    tables: HashMap<Arc<FileKey>, Table>,
    /// By process: tables of which it was seen that they are of the file it has mapped.
    checked: HashMap<u32, Vec<u32>>,
    compiled: HashMap<u32, Compiled>,
    kernel_frames: HashMap<u64, u32>,
    user_frames: HashMap<(u32, u64), u32>,
    /// Grows with each table that is used.
    clock: u64,
    next_table: u32,
    /// Nothing is read any more: what is not known yet stays without a name, and is counted.
    is_late: bool,
    unnamed: u64,
}

impl Symbols {
    pub(crate) fn new(root: &Root) -> Symbols {
        Symbols {
            root: root.clone(),
            kernel: None,
            is_hidden_told: false,
            processes: Processes::default(),
            tables: HashMap::new(),
            checked: HashMap::new(),
            compiled: HashMap::new(),
            kernel_frames: HashMap::new(),
            user_frames: HashMap::new(),
            clock: 0,
            next_table: 0,
            is_late: false,
            unnamed: 0,
        }
    }

    /// Whoever waits for names has waited long enough.
    pub(crate) fn hurry(&mut self) {
        self.is_late = true;
    }

    /// Frames that stayed without a name for that, since this was asked last.
    pub(crate) fn newly_unnamed(&mut self) -> u64 {
        std::mem::take(&mut self.unnamed)
    }

    /// Why functions of the kernel have no names, once.
    pub(crate) fn newly_hidden(&mut self) -> Option<String> {
        match &self.kernel {
            Some(Err(why)) if !self.is_hidden_told => {
                self.is_hidden_told = true;
                Some(why.clone())
            }
            _ => None,
        }
    }

    pub(crate) fn mapped(&mut self, mapped: &Mapped<'_>) {
        self.processes.mapped(mapped);
    }

    pub(crate) fn started(&mut self, pid: u32, parent: u32) {
        self.processes.started(pid, parent);
    }

    pub(crate) fn replaced(&mut self, pid: u32) {
        self.processes.replaced(pid);
        self.checked.remove(&pid);
        self.compiled.remove(&pid);
    }

    pub(crate) fn ended(&mut self, pid: u32) {
        self.processes.ended(pid);
        self.checked.remove(&pid);
        self.compiled.remove(&pid);
    }

    /// The frame of an address in the kernel.
    pub(crate) fn kernel_frame(&mut self, stacks: &mut Stacks, address: u64) -> u32 {
        if let Some(known) = self.kernel_frames.get(&address) {
            return *known;
        }
        if self.is_late && self.kernel.is_none() {
            self.unnamed += 1;
            return stacks.frame(Frame { name: hex(address), module: KERNEL.to_owned() });
        }
        let root = &self.root;
        let kernel = self.kernel.get_or_insert_with(|| Kernel::read(root));
        let found = kernel.as_ref().ok().and_then(|kernel| kernel.find(address));
        let (name, module) =
            found.map_or_else(|| (hex(address), KERNEL), |found| (found.name.to_owned(), found.module));
        let frame = stacks.frame(Frame { name, module: module.to_owned() });
        if self.kernel_frames.len() >= MOST_FRAMES {
            self.kernel_frames.clear();
        }
        self.kernel_frames.insert(address, frame);
        frame
    }

    /// The frame of an address in a process. `None`: there is no code, so the stack cannot be followed further.
    pub(crate) fn user_frame(&mut self, stacks: &mut Stacks, pid: u32, address: u64) -> Option<u32> {
        let range = self.processes.find(&self.root, pid, address)?;
        let offset = (address - range.start).saturating_add(range.offset);
        let is_file = range.file.path.starts_with('/') && range.file.inode != 0;
        if self.is_late {
            return Some(self.known_frame(stacks, &range, offset, is_file));
        }
        if !is_file && range.file.path != VDSO {
            let name = self.compiled_name(pid, address).unwrap_or_else(|| UNKNOWN.to_owned());
            return Some(stacks.frame(Frame { name, module: JIT.to_owned() }));
        }
        let number = self.table(pid, &range);
        if let Some(known) = self.user_frames.get(&(number, offset)) {
            return Some(*known);
        }
        let elf = self.tables.get(&range.file).and_then(|table| table.elf.as_ref());
        // The page of the kernel is an image from its first byte on, wherever it lies.
        let place = if range.file.path == VDSO { address - range.start } else { offset };
        let name = match elf.map(|elf| elf.find(place)) {
            Some(SymbolLookup::Name(name)) => demangled(&name),
            Some(SymbolLookup::Address(address)) => hex(address),
            None => {
                // A runtime may compile into memory that it shares under the name of a file. What it has not told it may tell later on, so neither
                // is kept.
                let compiled = self.compiled_name(pid, address).map(|name| (name, JIT.to_owned()));
                let (name, module) = compiled.unwrap_or_else(|| (hex(offset), module_of(&range.file.path)));
                return Some(stacks.frame(Frame { name, module }));
            }
        };
        let frame = stacks.frame(Frame { name, module: module_of(&range.file.path) });
        if self.user_frames.len() >= MOST_FRAMES {
            self.user_frames.clear();
        }
        self.user_frames.insert((number, offset), frame);
        Some(frame)
    }

    /// The frame as far as that is known without reading anything.
    fn known_frame(&mut self, stacks: &mut Stacks, range: &Range, offset: u64, is_file: bool) -> u32 {
        let table = self.tables.get(&range.file).map(|table| table.number);
        if let Some(known) = table.and_then(|number| self.user_frames.get(&(number, offset))) {
            return *known;
        }
        self.unnamed += 1;
        let (name, module) =
            if is_file { (hex(offset), module_of(&range.file.path)) } else { (UNKNOWN.to_owned(), JIT.to_owned()) };
        stacks.frame(Frame { name, module })
    }

    /// What the runtime of that process says lies there. An address that was compiled means nothing later on, so it is not
    /// kept.
    fn compiled_name(&mut self, pid: u32, address: u64) -> Option<String> {
        let compiled = self.compiled.get(&pid);
        let is_due = |compiled: &Compiled| {
            compiled.checked.elapsed() >= if compiled.state.is_some() { CHECK_AGAIN } else { CHECK_FOR_ONE }
        };
        if compiled.is_none_or(is_due) {
            if self.compiled.len() >= MOST_COMPILED {
                self.compiled.clear();
            }
            let before = self.compiled.remove(&pid);
            self.compiled.insert(pid, read_perf_map(&self.root, pid, before));
        }
        self.compiled.get(&pid).and_then(|compiled| compiled.map.find(address)).map(demangled)
    }

    /// The number of a file's table, which is read if it is not there, or no longer of that file.
    fn table(&mut self, pid: u32, range: &Range) -> u32 {
        self.clock += 1;
        if let Some(number) = self.known_table(pid, range) {
            return number;
        }
        let (elf, state) = if range.file.path == VDSO {
            (own_vdso().and_then(|bytes| Elf::read(Image::Bytes(bytes))), None)
        } else {
            match open_mapped(&self.root, pid, range) {
                Some((file, metadata)) => (Elf::read(Image::File(file)), Some(state_of(&metadata))),
                None => (None, None),
            }
        };
        let size = |table: &Table| table.elf.as_ref().map_or(256, Elf::size);
        let mut left = self.tables.values().map(size).sum::<usize>() + elf.as_ref().map_or(0, Elf::size);
        while left > MOST_BYTES || self.tables.len() >= MOST_TABLES {
            let Some(oldest) = self.tables.iter().min_by_key(|(_, table)| table.used).map(|(key, _)| Arc::clone(key))
            else {
                break;
            };
            left -= self.tables.remove(&oldest).as_ref().map_or(0, size);
        }
        self.next_table += 1;
        let table = Table { elf, number: self.next_table, used: self.clock, state };
        self.tables.insert(Arc::clone(&range.file), table);
        self.check(pid, self.next_table);
        self.next_table
    }

    /// The table that is there, if it is of the file that the process has mapped. That is checked once for each process;
    /// of one that has gone it cannot be.
    fn known_table(&mut self, pid: u32, range: &Range) -> Option<u32> {
        let table = self.tables.get_mut(&range.file)?;
        table.used = self.clock;
        let (number, state) = (table.number, table.state);
        if self.checked.get(&pid).is_some_and(|checked| checked.contains(&number)) {
            return Some(number);
        }
        let now = state.and_then(|_| open_mapped(&self.root, pid, range)).map(|(_, metadata)| state_of(&metadata));
        if now.is_some() && now != state {
            return None;
        }
        self.check(pid, number);
        Some(number)
    }

    fn check(&mut self, pid: u32, number: u32) {
        if self.checked.len() >= MOST_CHECKED {
            self.checked.clear();
        }
        let checked = self.checked.entry(pid).or_default();
        if checked.len() >= MOST_TABLES {
            checked.clear();
        }
        checked.push(number);
    }
}

/// Reads bytes as each kind of file that names come from, and asks what is at that place. For tests with hostile input.
pub fn read_anything(bytes: &[u8], place: u64) {
    if let Some(elf) = Elf::read(elf::Image::Bytes(bytes.to_vec())) {
        let _ = (elf.find(place), elf.size());
    }
    let _ = PerfMap::parse(bytes).find(place);
    let _ = Kernel::parse(bytes).find(place);
    let text = String::from_utf8_lossy(bytes);
    let _ = Processes::default().parse(&text);
    let _ = demangled(text.trim());
}

fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// The file's own name.
fn module_of(path: &str) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path).chars().take(255).collect()
}

/// Opens without waiting for a pipe's other end, and only what is a file.
fn open_file(root: &Root, path: &str) -> Option<(File, std::fs::Metadata)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = if root.is_live() {
        File::from(rustix::fs::open(root.path(path), flags, Mode::empty()).ok()?)
    } else {
        root.open(path).ok()?
    };
    let metadata = file.metadata().ok()?;
    metadata.is_file().then_some((file, metadata))
}

/// The file that is mapped there: by the mapping itself, which works for files that were removed; else by its path as the
/// process sees it, or as we do where the process is gone, provided that it is the same file.
fn open_mapped(root: &Root, pid: u32, range: &Range) -> Option<(File, std::fs::Metadata)> {
    let mapping = format!("/proc/{pid}/map_files/{:x}-{:x}", range.start, range.end);
    if let Some((file, metadata)) = open_file(root, &mapping)
        && metadata.ino() == range.file.inode
    {
        return Some((file, metadata));
    }
    let paths = [format!("/proc/{pid}/root{}", range.file.path), range.file.path.clone()];
    let mut opened = paths.iter().filter_map(|path| open_file(root, path));
    opened.find(|(_, metadata)| metadata.ino() == range.file.inode)
}

/// The kernel lends every process the same page, so ours will do.
fn own_vdso() -> Option<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with(VDSO))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = vec![0; usize::try_from(end.checked_sub(start)?).ok()?.min(1 << 20)];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// The map in the process's own `/tmp`, under the number it has itself. Only its owner or root may have written it.
fn read_perf_map(root: &Root, pid: u32, before: Option<Compiled>) -> Compiled {
    let checked = Instant::now();
    let status = root.read(&format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::split_whitespace);
    let own_pid = field("NSpid:").and_then(Iterator::last).unwrap_or_default();
    let owner: Option<u32> = field("Uid:").and_then(|mut ids| ids.nth(1)).and_then(|id| id.parse().ok());
    let path = format!("/proc/{pid}/root/tmp/perf-{own_pid}.map");
    let opened = open_file(root, &path).filter(|(_, metadata)| {
        let is_theirs = metadata.uid() == 0 || Some(metadata.uid()) == owner;
        is_theirs && metadata.len() <= LARGEST_PERF_MAP
    });
    let state = opened.as_ref().map(|(_, metadata)| state_of(metadata));
    match (before, opened) {
        (Some(before), _) if before.state == state => Compiled { checked, ..before },
        (_, Some((file, _))) => {
            let mut text = Vec::new();
            let _ = file.take(LARGEST_PERF_MAP).read_to_end(&mut text);
            Compiled { map: PerfMap::parse(&text), checked, state }
        }
        (before, None) => Compiled { map: before.map(|before| before.map).unwrap_or_default(), checked, state },
    }
}

/// Takes so many bytes and then refuses: a short mangled name can stand for gigabytes.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut room = LONGEST_NAME.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        self.0.push_str(&text[..room]);
        Err(fmt::Error)
    }
}

/// The name as it stood in the source, of Rust and C++; others as they are.
fn demangled(name: &str) -> String {
    let mut out = Bounded(String::new());
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let _ = write!(out, "{rust:#}");
    } else if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        let options = cpp_demangle::DemangleOptions::default().recursion_limit(64);
        let _ = symbol.structured_demangle(&mut out, &options);
    }
    if out.0.is_empty() {
        let _ = out.write_str(name);
    }
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_shown_as_they_stood_in_the_source() {
        assert_eq!(demangled("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"), "core::ptr::drop_in_place");
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangled("_ZN9Collector4markEPv"), "Collector::mark(void*)");
        assert_eq!(demangled("memcpy@@GLIBC_2.14"), "memcpy@@GLIBC_2.14");
        assert_eq!(demangled("_Z"), "_Z");
    }

    #[test]
    fn a_name_that_stands_for_gigabytes_is_cut() {
        let doubling = format!("_Z3fooI{}EvT_", "St4pairIS_S_E".repeat(60));
        assert!(demangled(&doubling).len() <= LONGEST_NAME);
        assert_eq!(demangled(&"x".repeat(5000)).len(), LONGEST_NAME);
    }

    fn own() -> u32 {
        std::process::id()
    }

    #[inline(never)]
    fn a_function_of_ours() -> usize {
        std::hint::black_box(a_function_of_ours as *const () as usize)
    }

    #[test]
    fn our_own_function_is_named_with_its_file() {
        let (mut symbols, mut stacks) = (Symbols::new(&Root::live()), Stacks::default());
        let frame = symbols.user_frame(&mut stacks, own(), a_function_of_ours() as u64).unwrap();
        let frame = &stacks.frames()[frame as usize];
        assert!(frame.name.ends_with("a_function_of_ours"), "{frame:?}");
        assert!(frame.module.starts_with("pagewise_host"), "{frame:?}");
        assert_eq!(symbols.user_frame(&mut stacks, own(), 8), None, "nothing lies there");
    }

    #[inline(never)]
    fn another_function_of_ours() -> usize {
        std::hint::black_box(another_function_of_ours as *const () as usize) ^ 1
    }

    #[test]
    fn once_it_is_late_what_is_known_keeps_its_name_and_nothing_more_is_read() {
        let (mut symbols, mut stacks) = (Symbols::new(&Root::live()), Stacks::default());
        let known = symbols.user_frame(&mut stacks, own(), a_function_of_ours() as u64).unwrap();
        symbols.hurry();
        assert_eq!(symbols.user_frame(&mut stacks, own(), a_function_of_ours() as u64), Some(known));
        assert_eq!(symbols.newly_unnamed(), 0);
        let other = (another_function_of_ours() ^ 1) as u64;
        let frame = symbols.user_frame(&mut stacks, own(), other).unwrap();
        let frame = &stacks.frames()[frame as usize];
        assert!(frame.name.starts_with("0x") && frame.module.starts_with("pagewise_host"), "{frame:?}");
        let kernel = symbols.kernel_frame(&mut stacks, 0xffff_ffff_8100_0000);
        assert_eq!(stacks.frames()[kernel as usize].name, "0xffffffff81000000");
        assert_eq!((symbols.newly_unnamed(), symbols.newly_unnamed()), (2, 0));
    }

    #[test]
    fn a_file_that_another_one_took_the_place_of_is_read_again_for_who_runs_that() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let file = root.path("/lib/x.so");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "one").unwrap();
        let inode = std::fs::metadata(&file).unwrap().ino();
        let key = Arc::new(FileKey { device: (0, 0), inode, path: "/lib/x.so".to_owned() });
        let range = Range { start: 0x1000, end: 0x2000, offset: 0, file: key };
        let mut symbols = Symbols::new(&root);
        assert_eq!((symbols.table(7, &range), symbols.table(8, &range), symbols.table(7, &range)), (1, 1, 1));
        std::fs::write(&file, "another").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().ino(), inode, "its number says nothing");
        assert_eq!(symbols.table(7, &range), 1, "it was checked");
        assert_eq!((symbols.table(9, &range), symbols.table(9, &range)), (2, 2));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(symbols.table(10, &range), 2, "what cannot be asked is taken for what it says");
        symbols.ended(9);
        assert!(!symbols.checked.contains_key(&9));
    }

    #[test]
    fn a_pipe_in_the_place_of_a_map_does_not_stop_us() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(root.path("/proc/7/root/tmp")).unwrap();
        std::fs::write(root.path("/proc/7/status"), "Uid:\t0\t0\t0\t0\nNSpid:\t7\t3\n").unwrap();
        std::fs::write(root.path("/proc/7/maps"), "1000-2000 rwxp 00000000 00:00 0 \n").unwrap();
        let pipe = root.path("/proc/7/root/tmp/perf-3.map");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let (mut symbols, mut stacks) = (Symbols::new(&root), Stacks::default());
        let named = |symbols: &mut Symbols, stacks: &mut Stacks| {
            let frame = symbols.user_frame(stacks, 7, 0x1234).unwrap();
            stacks.frames()[frame as usize].name.clone()
        };
        assert_eq!(named(&mut symbols, &mut stacks), UNKNOWN);
        std::fs::remove_file(&pipe).unwrap();
        std::fs::write(&pipe, "1200 100 Main::run\n").unwrap();
        // A runtime wrote it late.
        std::thread::sleep(CHECK_FOR_ONE);
        assert_eq!(named(&mut symbols, &mut stacks), "Main::run");
    }

    proptest! {
        #[test]
        fn no_name_is_too_long_or_makes_it_panic(name in "(_Z|_R|_ZN|[0-9A-Za-z_$.]|\\PC){0,80}") {
            prop_assert!(demangled(&name).len() <= LONGEST_NAME.max(name.len()));
        }
    }
}
