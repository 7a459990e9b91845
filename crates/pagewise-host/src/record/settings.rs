//! Settings during a recording: every tunable this host has at the start, and each change that is seen later.

use crate::root::Root;
use crate::source::swaps;
use crate::tunable;
use pagewise_core::tunable::Tunable;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// How often they are read, in nanoseconds. All at once: a kernel path that was not used for a while is slow the first
/// time, and a part of them at every tick paid for that at every tick.
pub(crate) const EVERY: u64 = 10_000_000_000;

/// A tunable whose files are kept open. Only when their bytes change is the value read again the long way.
#[derive(Debug)]
struct Watched {
    tunable: Tunable,
    value: Option<String>,
    files: Vec<(File, u64)>,
}

/// A setting that has another value than when it was read last. No value: it cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) now: Option<String>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Settings {
    root: Root,
    watched: Vec<Watched>,
}

impl Settings {
    /// Reads all of them now.
    pub(crate) fn open(root: &Root) -> Settings {
        let watched = tunable::values(root).into_iter().map(|valued| {
            let opened = valued.files.iter().filter_map(|(path, text)| {
                let file = root.open(path).ok()?;
                Some((file, fingerprint(text.as_bytes(), path == swaps::PATH)))
            });
            Watched { tunable: valued.tunable, files: opened.collect(), value: Some(valued.value) }
        });
        Settings { root: root.clone(), watched: watched.collect() }
    }

    /// For those who look at none.
    pub(super) fn none(root: &Root) -> Settings {
        Settings { root: root.clone(), watched: Vec::new() }
    }

    /// Name and value of each.
    pub(crate) fn snapshot(&self) -> Vec<(String, Option<String>)> {
        self.watched.iter().map(|watched| (watched.tunable.name.clone(), watched.value.clone())).collect()
    }

    /// Looks at each, and gives those that changed.
    pub(crate) fn changes(&mut self) -> Vec<Changed> {
        let mut changed = Vec::new();
        for watched in &mut self.watched {
            let is_swap = watched.tunable.name == "swap";
            let mut differs = false;
            for (file, seen) in &mut watched.files {
                let now = fingerprint_of(file, is_swap);
                differs |= now != *seen;
                *seen = now;
            }
            if !differs {
                continue;
            }
            let value = tunable::read(&self.root, &watched.tunable).ok();
            if value != watched.value {
                let before = std::mem::replace(&mut watched.value, value.clone());
                changed.push(Changed { name: watched.tunable.name.clone(), before, now: value });
            }
        }
        changed
    }
}

/// So much of a file is compared.
const COMPARED: usize = 4096;

/// A file that cannot be read has one, too.
fn fingerprint_of(file: &File, names_only: bool) -> u64 {
    let mut buffer = [0u8; COMPARED];
    let length = file.read_at(&mut buffer, 0).unwrap_or(0);
    fingerprint(&buffer[..length], names_only)
}

/// Tells texts apart; no more. How much of a swap area is in use is no setting: only the names of areas are compared.
fn fingerprint(text: &[u8], names_only: bool) -> u64 {
    let text = &text[..text.len().min(COMPARED)];
    // FNV-1a.
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325u64;
    if !names_only {
        return text.iter().fold(start, add);
    }
    let first_word = |line: &[u8]| line.iter().take_while(|byte| !byte.is_ascii_whitespace()).fold(start, add);
    text.split(|byte| *byte == b'\n').fold(start, |hash, line| hash.rotate_left(5) ^ first_word(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (tempfile::TempDir, Root) {
        Root::of_files(&[
            ("/proc/sys/vm/swappiness", "60\n"),
            ("/proc/sys/kernel/osrelease", "6.12.0\n"),
            ("/proc/meminfo", "MemTotal: 4000000 kB\n"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1020 4 -2\n"),
        ])
    }

    fn changed(name: &str, before: &str, now: &str) -> Changed {
        Changed { name: name.to_owned(), before: Some(before.to_owned()), now: Some(now.to_owned()) }
    }

    fn value(settings: &[(String, Option<String>)], name: &str) -> Option<String> {
        settings.iter().find(|(other, _)| other == name).and_then(|(_, value)| value.clone())
    }

    #[test]
    fn a_change_is_seen_once_and_by_its_new_value() {
        let (_folder, root) = host();
        let mut settings = Settings::open(&root);
        assert_eq!(value(&settings.snapshot(), "vm.swappiness").as_deref(), Some("60"));
        assert_eq!(value(&settings.snapshot(), "thp.enabled").as_deref(), Some("madvise"));
        assert_eq!(settings.changes(), []);
        std::fs::write(root.path("/proc/sys/vm/swappiness"), "1\n").unwrap();
        assert_eq!(settings.changes(), [changed("vm.swappiness", "60", "1")]);
        assert_eq!(settings.changes(), []);
    }

    #[test]
    fn swap_in_use_is_no_change_and_another_area_is() {
        let (_folder, root) = host();
        let mut settings = Settings::open(&root);
        let before = value(&settings.snapshot(), "swap");
        let head = "Filename Type Size Used Priority\n";
        std::fs::write(root.path("/proc/swaps"), format!("{head}/dev/sda2 partition 1020 900 -2\n")).unwrap();
        assert_eq!(settings.changes(), []);
        std::fs::write(root.path("/proc/swaps"), head).unwrap();
        assert_eq!(settings.changes(), [Changed { before, ..changed("swap", "", "off") }]);
    }
}
