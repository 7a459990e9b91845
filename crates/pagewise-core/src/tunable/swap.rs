//! The host's swap areas as one value, so that what was there can be put back exactly.
//!
//! A user writes `off`, `file:4G`, `zram:4G` or `zram:4G:lz4`. What is read from a host names every area with all that
//! is needed to make it again: `KIND:BYTES[:ALGORITHM]@PATH[,prio=N]`, areas joined by `+`, highest priority first. A
//! priority the kernel gave by itself is left out: it follows from the order.

use super::descriptor::Descriptor;
use super::grammar::Grammar;
use crate::unit::Bytes;

/// Values, for people.
pub(super) const ALLOWED: &str = "off, file:4G, zram:4G, zram:4G:lz4";

/// Begins the name of every swap file Pagewise makes.
pub const FILE_PREFIX: &str = "pagewise-";

/// The first page of an area holds the kernel's header.
pub const SMALLEST_AREA: u64 = 1 << 20;

/// What an area lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A partition or another block device.
    Partition,
    /// Compressed memory, with the algorithm when it is known.
    Zram(Option<String>),
}

/// One swap area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// What it lies on.
    pub kind: Kind,
    /// Size with its header page, in bytes.
    pub bytes: u64,
    /// Its file or device; empty where Pagewise is to choose one.
    pub path: String,
    /// From 0 to 32767 when someone chose it; `None` when the kernel did.
    pub priority: Option<u16>,
}

/// Reads a value of `swap`; no area is `off`.
///
/// # Errors
/// A sentence on what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Area>, String> {
    if text == "off" {
        return Ok(Vec::new());
    }
    let areas = text.split('+').map(parse_area).collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<&str> = areas.iter().map(|area| area.path.as_str()).filter(|path| !path.is_empty()).collect();
    match (1..paths.len()).find(|i| paths[..*i].contains(&paths[*i])) {
        Some(twice) => Err(format!("the area {} stands twice in it", paths[twice])),
        None => Ok(areas),
    }
}

fn parse_area(text: &str) -> Result<Area, String> {
    let (what, place) = text.split_once('@').unwrap_or((text, ""));
    let (path, priority) = match place.split_once(",prio=") {
        Some((path, priority)) => (path, Some(parse_priority(priority)?)),
        None => (place, None),
    };
    let mut parts = what.split(':');
    let (kind, size, algorithm) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let kind = match (kind, algorithm) {
        ("file", None) => Kind::File,
        ("partition", None) => Kind::Partition,
        ("zram", algorithm) => Kind::Zram(algorithm.map(parse_algorithm).transpose()?),
        _ => return Err(format!("'{text}' is not a swap area")),
    };
    let bytes = size.ok_or_else(|| format!("'{text}' has no size"))?.parse::<Bytes>().map_err(|e| e.to_string())?.0;
    if parts.next().is_some() {
        return Err(format!("'{text}' has too many parts"));
    }
    Ok(Area { kind, bytes, path: parse_path(path)?, priority })
}

/// The highest priority the kernel takes (`SWAP_FLAG_PRIO_MASK`, `include/linux/swap.h`, 6.12).
const HIGHEST_PRIORITY: u16 = 32767;

fn parse_priority(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(priority) if priority <= HIGHEST_PRIORITY && !text.starts_with('+') => Ok(priority),
        _ => Err(format!("'{text}' is not a priority from 0 to {HIGHEST_PRIORITY}")),
    }
}

fn parse_algorithm(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_name { Ok(text.to_owned()) } else { Err(format!("'{text}' is not a compression algorithm")) }
}

/// Characters that mean something in a value stand as octal, as in `/proc/swaps`.
fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"\\+,:@".contains(c)
}

fn parse_path(text: &str) -> Result<String, String> {
    let path = unescape(text);
    let is_path = path.is_empty() || (path.starts_with('/') && !path.contains('\0'));
    if is_path { Ok(path) } else { Err(format!("'{path}' is not a full path")) }
}

/// Undoes the octal escapes of `/proc/swaps`, such as `\040` for a space.
#[must_use]
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|_| *first == b'\\').and_then(octal_byte);
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal_byte(digits: &[u8]) -> Option<u8> {
    let value = digits.iter().try_fold(0u32, |value, digit| match digit {
        b'0'..=b'7' => Some(value * 8 + u32::from(digit - b'0')),
        _ => None,
    })?;
    u8::try_from(value).ok()
}

fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if is_plain(c) {
            out.push(c);
            continue;
        }
        let mut buffer = [0; 4];
        for byte in c.encode_utf8(&mut buffer).bytes() {
            out.push_str(&format!("\\{byte:03o}"));
        }
    }
    out
}

/// The text for these areas.
#[must_use]
pub fn text(areas: &[Area]) -> String {
    if areas.is_empty() {
        return "off".to_owned();
    }
    areas.iter().map(Area::to_string).collect::<Vec<_>>().join("+")
}

impl std::fmt::Display for Area {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::File => write!(f, "file:{}", self.bytes)?,
            Kind::Partition => write!(f, "partition:{}", self.bytes)?,
            Kind::Zram(None) => write!(f, "zram:{}", self.bytes)?,
            Kind::Zram(Some(algorithm)) => write!(f, "zram:{}:{algorithm}", self.bytes)?,
        }
        if !self.path.is_empty() || self.priority.is_some() {
            write!(f, "@{}", escape(&self.path))?;
        }
        match self.priority {
            Some(priority) => write!(f, ",prio={priority}"),
            None => Ok(()),
        }
    }
}

pub(super) fn canonical(value: &str) -> Result<String, String> {
    parse(value).map(|areas| text(&areas))
}

/// Whether two values describe the same areas. An area without a path or an algorithm is the same as any of its kind
/// and size: which device zram gets is known only afterwards.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    let (Ok(a), Ok(b)) = (parse(a), parse(b)) else { return a == b };
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.is(b))
}

impl Area {
    /// Whether both describe one area, as far as both say.
    #[must_use]
    pub fn is(&self, other: &Area) -> bool {
        let kinds = match (&self.kind, &other.kind) {
            (Kind::Zram(a), Kind::Zram(b)) => a.is_none() || b.is_none() || a == b,
            (a, b) => a == b,
        };
        let paths = self.path.is_empty() || other.path.is_empty() || self.path == other.path;
        kinds && paths && self.bytes == other.bytes && self.priority == other.priority
    }
}

pub(super) const ALL: &[Descriptor] = &[Descriptor::live(
    "swap",
    &["/proc/swaps"],
    Grammar::Swap,
    "always; mm/swapfile.c, drivers/block/zram",
    "the host's swap areas: none, a file that Pagewise makes, or compressed memory",
)
.never_switched("moves all that is swapped out when it is switched off, which takes minutes and disturbs what runs more than it shows")
.noting(
    "replaces every area of the host; those that were there come back on undo. Switching off is refused when what \
     is swapped out does not fit into memory",
)];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_user_writes_is_read() {
        assert_eq!(parse("off"), Ok(vec![]));
        let file = Area { kind: Kind::File, bytes: 4 << 30, path: String::new(), priority: None };
        assert_eq!(parse("file:4G"), Ok(vec![file]));
        let zram =
            Area { kind: Kind::Zram(Some("lz4".to_owned())), bytes: 1 << 30, path: String::new(), priority: None };
        assert_eq!(parse("zram:1G:lz4"), Ok(vec![zram]));
    }

    #[test]
    fn what_is_no_swap_area_is_refused() {
        for text in ["", "on", "file", "file:", "file:4G:lz4", "zram:4G:l z", "tape:4G", "zram:1G:lz4:x", "file:4G+"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["file:4G@relative", "file:4G@/a,prio=40000", "file:4G@/a,prio=-1", "file:4G@/a+zram:1G@/a"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_device_chosen_later_is_the_same_area() {
        assert!(same("zram:1073741824", "zram:1073741824:lzo-rle@/dev/zram1"));
        assert!(same("file:1G@/swap", "file:1073741824@/swap"));
        assert!(!same("file:1G@/swap", "file:1G@/other"));
        assert!(!same("file:1G@/swap", "file:1G@/swap,prio=5"));
        assert!(!same("off", "zram:1G"));
    }

    #[test]
    fn the_order_of_areas_without_a_priority_is_their_priority() {
        assert!(!same("file:1M@/a+file:1M@/b", "file:1M@/b+file:1M@/a"));
    }

    fn area() -> impl Strategy<Value = Area> {
        let kind = prop_oneof![
            Just(Kind::File),
            Just(Kind::Partition),
            Just(Kind::Zram(None)),
            "[a-z][a-z0-9-]{0,8}".prop_map(|name| Kind::Zram(Some(name))),
        ];
        let path = prop_oneof![Just(String::new()), "/[^\0]{0,20}"];
        (kind, any::<u64>(), path, prop::option::of(0u16..=32767)).prop_map(|(kind, bytes, path, priority)| Area {
            kind,
            bytes,
            path,
            priority,
        })
    }

    proptest! {
        #[test]
        fn areas_survive_their_text_whatever_their_paths_are(areas in prop::collection::vec(area(), 0..3)) {
            let paths: Vec<&String> = areas.iter().map(|a| &a.path).filter(|p| !p.is_empty()).collect();
            prop_assume!((1..paths.len()).all(|i| !paths[..i].contains(&paths[i])));
            prop_assert_eq!(parse(&text(&areas)), Ok(areas));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = parse(&text);
            let _ = unescape(&text);
        }
    }
}
