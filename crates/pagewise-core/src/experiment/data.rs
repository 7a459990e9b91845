//! The data of a trial: how they are put back before every point, and the manifest that says what they must be.
//!
//! A job that sorts, compacts or appends leaves its data and its disk other than it found them, and the next point would
//! pay for it. What lies in the folder is therefore declared once, as a list of hashes, and held against every copy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How the data come back before a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Restore {
    /// A block-exact image on a loop device: the same bytes in the same blocks before every point. Needs root.
    Image,
    /// Files that share their blocks until one is written: XFS and btrfs.
    Reflink,
    /// Files written anew. Needs nothing, and is the least alike from point to point.
    Copy,
    /// The data under a fresh writable layer (overlayfs). Needs root.
    Overlay,
    /// Nothing is put back.
    #[default]
    None,
}

impl Restore {
    /// As in a plan.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Restore::Image => "image",
            Restore::Reflink => "reflink",
            Restore::Copy => "copy",
            Restore::Overlay => "overlay",
            Restore::None => "none",
        }
    }
}

impl fmt::Display for Restore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The plan's `[data]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    /// How the data come back before a point.
    pub restore: Restore,
    /// Size of the file system that `image` makes, such as `20G`: room for the data and for what the job writes beside
    /// them. By default four times the data and 256 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

impl From<Restore> for Data {
    fn from(restore: Restore) -> Self {
        Data { restore, size: None }
    }
}

/// The smallest image: below this ext4 has no journal, and would be another file system than the one to be measured
/// (`mke2fs`, `ext2fs_default_journal_size`, e2fsprogs 1.47: none below 2048 blocks; 4 KiB blocks and room to work).
pub const SMALLEST_IMAGE: u64 = 64 << 20;

/// Images are whole mebibytes, so that every read and write of one can pass the page cache.
pub const IMAGE_STEP: u64 = 1 << 20;

/// What the image has beside four times the data.
const ROOM: u64 = 256 << 20;

/// A `[data]` that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The size is no size.
    #[error("data.size = \"{text}\" is no size; write a number with K, M, G or T, such as \"20G\"")]
    NoSize {
        /// As written.
        text: String,
    },
    /// The image would not hold the data.
    #[error(
        "data.size = \"{text}\" is less than the {least} MiB that the data and the file system's own records take; leave it \
         out, or give more"
    )]
    TooSmall {
        /// As written.
        text: String,
        /// The least that would do, MiB.
        least: u64,
    },
    /// A size beside a method that makes no file system.
    #[error(
        "data.size is for restore = \"image\" alone: {method} takes what the job writes from the disk; leave size out"
    )]
    SizeWithoutImage {
        /// The method.
        method: Restore,
    },
}

impl Data {
    /// Bytes of the image that is to hold `data_bytes` of files in `entries` files and folders.
    ///
    /// # Errors
    /// For a size that is none, or too small.
    pub fn image_bytes(&self, data_bytes: u64, entries: u64) -> Result<u64, DataError> {
        // A block is 4 KiB; every entry wastes up to one and needs an inode.
        let held = data_bytes.saturating_add(entries.saturating_mul(4096 + 512));
        let Some(text) = &self.size else {
            return Ok(whole(held.saturating_mul(4).saturating_add(ROOM)));
        };
        if self.restore != Restore::Image {
            return Err(DataError::SizeWithoutImage { method: self.restore });
        }
        let bytes = size(text).ok_or_else(|| DataError::NoSize { text: text.clone() })?;
        // Inode tables and journal of ext4 take up to a sixteenth.
        let least = whole(held.saturating_add(held / 8)).max(SMALLEST_IMAGE);
        if bytes < least {
            return Err(DataError::TooSmall { text: text.clone(), least: least / IMAGE_STEP });
        }
        Ok(whole(bytes))
    }
}

fn whole(bytes: u64) -> u64 {
    bytes.max(SMALLEST_IMAGE).div_ceil(IMAGE_STEP).saturating_mul(IMAGE_STEP)
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        _ => (text, 0),
    };
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is never followed.
    Link,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Folder => "folder",
            Kind::Link => "link",
        }
    }
}

/// One entry of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file, or of a link's target; 0 for a folder.
    pub length: u64,
    /// BLAKE3 of a file's bytes or of a link's target, hexadecimal; `None` for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// Permission bits with set-id and sticky bits (`st_mode & 07777`); 0 for a link, whose bits mean nothing.
    pub mode: u32,
}

/// Every file, folder and link of a folder with what it must be. Owners, times and extended attributes are not part of
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// By path below the folder as [`path_text`] writes it; the folder itself is [`ITSELF`].
    pub entries: BTreeMap<String, Entry>,
}

/// The manifest's own folder. It does not sort first: ` ` and `-` come before it.
pub const ITSELF: &str = ".";

/// Identifies the text that [`Manifest::hash`] hashes.
const HASHED: &str = "pagewise.manifest/1\n";

impl Manifest {
    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entries.values().filter(|entry| entry.kind == Kind::File).map(|entry| entry.length).sum()
    }

    /// BLAKE3 over the whole, hexadecimal: two folders with the same hash hold the same.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(HASHED.as_bytes());
        for (path, entry) in &self.entries {
            let Entry { kind, length, blake3, mode } = entry;
            let content = blake3.as_deref().unwrap_or("-");
            // The path comes last and has no line break in its written form, so no two entries share a line.
            hasher.update(format!("{} {mode:o} {length} {content} {path}\n", kind.word()).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Where `found` is not what this manifest says, in the order of the paths.
    #[must_use]
    pub fn differences(&self, found: &Manifest) -> Vec<Difference> {
        let mut differences = Vec::new();
        for (path, wanted) in &self.entries {
            let what = match found.entries.get(path) {
                None => Some(EntryDifference::Missing),
                Some(entry) => what_differs(wanted, entry),
            };
            differences.extend(what.map(|what| Difference { path: path.clone(), what }));
        }
        let extra = found.entries.keys().filter(|path| !self.entries.contains_key(*path));
        differences.extend(extra.map(|path| Difference { path: path.clone(), what: EntryDifference::Extra }));
        differences.sort_by(|a, b| a.path.cmp(&b.path));
        differences
    }
}

fn what_differs(wanted: &Entry, found: &Entry) -> Option<EntryDifference> {
    if wanted.kind != found.kind {
        return Some(EntryDifference::Kind { wanted: wanted.kind, found: found.kind });
    }
    if wanted.length != found.length {
        return Some(EntryDifference::Length { wanted: wanted.length, found: found.length });
    }
    if wanted.blake3 != found.blake3 {
        return Some(EntryDifference::Content);
    }
    (wanted.mode != found.mode).then_some(EntryDifference::Mode { wanted: wanted.mode, found: found.mode })
}

/// One entry that is not what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its path as [`path_text`] writes it.
    pub path: String,
    /// What is other.
    pub what: EntryDifference,
}

/// In what an entry differs. The first of these that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDifference {
    /// It is not there.
    Missing,
    /// The manifest does not have it.
    Extra,
    /// A folder is a file, say.
    Kind {
        /// By the manifest.
        wanted: Kind,
        /// There.
        found: Kind,
    },
    /// Its length in bytes.
    Length {
        /// By the manifest.
        wanted: u64,
        /// There.
        found: u64,
    },
    /// Its bytes, at the same length.
    Content,
    /// Its permission bits.
    Mode {
        /// By the manifest.
        wanted: u32,
        /// There.
        found: u32,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match self.what {
            EntryDifference::Missing => write!(f, "{path} is missing"),
            EntryDifference::Extra => write!(f, "{path} does not belong there"),
            EntryDifference::Kind { wanted, found } => {
                write!(f, "{path} is a {}, not a {}", found.word(), wanted.word())
            }
            EntryDifference::Length { wanted, found } => write!(f, "{path} has {found} bytes, not {wanted}"),
            EntryDifference::Content => write!(f, "{path} has other bytes"),
            EntryDifference::Mode { wanted, found } => write!(f, "{path} has mode {found:o}, not {wanted:o}"),
        }
    }
}

/// How many differences are named before the rest is counted.
const NAMED: usize = 3;

/// The first differences by name, and how many more there are.
#[must_use]
pub fn in_words(differences: &[Difference]) -> String {
    let named: Vec<String> = differences.iter().take(NAMED).map(Difference::to_string).collect();
    let more = differences.len().saturating_sub(NAMED);
    let rest = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{rest}", named.join("; "))
}

/// A path as text that has no line break and can be read back: what is not printable UTF-8 and the backslash itself are
/// written as `\xNN`, a byte each.
#[must_use]
pub fn path_text(path: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || character == '\\' {
                let mut buffer = [0; 4];
                for byte in character.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(text, "\\x{byte:02x}");
                }
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The path that [`path_text`] wrote. `None` for a text it cannot have written.
#[must_use]
pub fn path_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let digits = rest.get(at..at + 4)?.strip_prefix("\\x")?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[at + 4..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(content: &str) -> Entry {
        let blake3 = Some(blake3::hash(content.as_bytes()).to_hex().to_string());
        Entry { kind: Kind::File, length: content.len() as u64, blake3, mode: 0o644 }
    }

    fn manifest(files: &[(&str, &str)]) -> Manifest {
        Manifest { entries: files.iter().map(|(path, content)| ((*path).to_owned(), file(content))).collect() }
    }

    #[test]
    fn the_table_of_a_plan_is_read_and_nothing_is_restored_unless_it_says_so() {
        let data: Data = toml::from_str("restore = \"image\"\nsize = \"20G\"").unwrap();
        assert_eq!(data, Data { restore: Restore::Image, size: Some("20G".to_owned()) });
        assert_eq!(toml::from_str::<Data>("").unwrap().restore, Restore::None);
        assert!(toml::from_str::<Data>("restore = \"zfs\"").is_err());
        assert!(toml::from_str::<Data>("method = \"image\"").is_err());
    }

    #[test]
    fn an_image_has_room_for_the_data_three_times_more_and_is_whole_mebibytes() {
        let data = Data::from(Restore::Image);
        let bytes = data.image_bytes(1_000_000_001, 5).unwrap();
        assert!(bytes > 4_000_000_000 && bytes.is_multiple_of(IMAGE_STEP), "{bytes}");
        let sized = |size: &str| Data { size: Some(size.to_owned()), ..Data::from(Restore::Image) };
        assert_eq!(sized("2_000M").image_bytes(1_000_000_000, 5), Ok(2000 << 20));
        assert!(matches!(sized("900M").image_bytes(1_000_000_000, 5), Err(DataError::TooSmall { .. })));
        for wrong in ["", "G", "-1G", "2X", "99999999999999T", "ä"] {
            assert!(matches!(sized(wrong).image_bytes(0, 0), Err(DataError::NoSize { .. })), "{wrong}");
        }
        let beside_copy = Data { restore: Restore::Copy, ..sized("1G") };
        assert!(matches!(beside_copy.image_bytes(0, 0), Err(DataError::SizeWithoutImage { .. })));
        assert!(data.image_bytes(u64::MAX, u64::MAX).is_ok(), "no overflow");
    }

    #[test]
    fn each_kind_of_difference_is_named_with_the_file() {
        let wanted = manifest(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")]);
        let mut found = manifest(&[("a", "1"), ("b", "22"), ("c", "x"), ("d", "4"), ("f", "")]);
        found.entries.get_mut("d").unwrap().mode = 0o600;
        let said: Vec<String> = wanted.differences(&found).iter().map(Difference::to_string).collect();
        let expected = [
            "b has 2 bytes, not 1",
            "c has other bytes",
            "d has mode 600, not 644",
            "e is missing",
            "f does not belong there",
        ];
        assert_eq!(said, expected);
        assert!(in_words(&wanted.differences(&found)).ends_with("d has mode 600, not 644; and 2 more"));
        assert_eq!(wanted.differences(&wanted), []);
        found.entries.insert("a".to_owned(), Entry { kind: Kind::Link, length: 1, blake3: None, mode: 0 });
        assert_eq!(wanted.differences(&found)[0].to_string(), "a is a link, not a file");
    }

    #[test]
    fn the_hash_over_the_whole_moves_with_every_part_of_an_entry() {
        let base = manifest(&[("a", "1"), ("b", "2")]);
        let mut seen = vec![base.hash()];
        let edits: [fn(&mut Manifest); 5] = [
            |m| drop(m.entries.remove("b")),
            |m| m.entries.get_mut("b").unwrap().mode = 0o600,
            |m| m.entries.get_mut("b").unwrap().length = 7,
            |m| m.entries.get_mut("b").unwrap().kind = Kind::Folder,
            |m| m.entries.get_mut("b").unwrap().blake3 = None,
        ];
        for edit in edits {
            let mut other = base.clone();
            edit(&mut other);
            assert!(!seen.contains(&other.hash()));
            seen.push(other.hash());
        }
    }

    proptest! {
        #[test]
        fn any_path_is_one_line_and_reads_back(path in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = path_text(&path);
            prop_assert!(!text.contains(char::is_control));
            prop_assert_eq!(path_bytes(&text), Some(path));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,30}") {
            let _ = path_bytes(&text);
            let _ = path_bytes(&format!("{text}\\x{text}"));
        }

        #[test]
        fn two_manifests_differ_exactly_when_their_hashes_do(
            a in proptest::collection::btree_map("[a-c]", "[01]{0,1}", 0..3),
            b in proptest::collection::btree_map("[a-c]", "[01]{0,1}", 0..3),
        ) {
            let of = |files: &BTreeMap<String, String>| Manifest {
                entries: files.iter().map(|(path, content)| (path.clone(), file(content))).collect(),
            };
            let (a, b) = (of(&a), of(&b));
            prop_assert_eq!(a.hash() == b.hash(), a.differences(&b).is_empty());
        }
    }
}
