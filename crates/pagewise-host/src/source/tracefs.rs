//! tracefs, `events/GROUP/NAME/{id,format}`: the number of a tracepoint, where its fields lie, and the kernel's words for
//! their values. Fields are found by name, never by kernel version: such changes are backported.
//!
//! Where tracefs is not mounted, it is mounted nowhere for a moment: a mount that is attached to no folder is seen by
//! nobody else and goes with its descriptor.

use crate::root::Root;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

/// Where it is usually mounted: in its own place, or where debugfs shows it.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A file larger than this is no format.
const LARGEST: u64 = 1 << 20;

/// Access to the files of tracepoints.
#[derive(Debug)]
pub struct Tracefs {
    folder: OwnedFd,
}

impl Tracefs {
    /// Opens it where it is mounted, else mounts it for ourselves alone.
    ///
    /// # Errors
    /// When it is neither mounted nor ours to mount (needs CAP_SYS_ADMIN and Linux 5.2).
    pub fn open(root: &Root) -> io::Result<Tracefs> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut refused = None;
        for path in MOUNTED {
            let opened = rustix::fs::open(root.path(path), flags, Mode::empty());
            match opened.and_then(|folder| openat(&folder, "events", flags, Mode::empty())) {
                Ok(folder) => return Ok(Tracefs { folder }),
                Err(error @ (rustix::io::Errno::ACCESS | rustix::io::Errno::PERM)) => refused = Some(error),
                Err(_) => {}
            }
        }
        if !root.is_live() {
            return Err(refused.unwrap_or(rustix::io::Errno::NOENT).into());
        }
        let detached = || -> rustix::io::Result<OwnedFd> {
            let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
            openat(&mount, "events", flags, Mode::empty())
        };
        detached().map(|folder| Tracefs { folder }).map_err(|error| refused.unwrap_or(error).into())
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let opened = openat(&self.folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = String::new();
        File::from(opened).take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    }

    /// A tracepoint, as `vmscan/mm_vmscan_throttled`.
    ///
    /// # Errors
    /// When this kernel has none of that name, or its files are not as they should be.
    pub fn tracepoint(&self, name: &str) -> io::Result<Tracepoint> {
        let not = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {what}"));
        let id = self.read(&format!("{name}/id"))?.trim().parse().map_err(|_| not("its id is no number"))?;
        let format = Format::parse(&self.read(&format!("{name}/format"))?);
        Ok(Tracepoint { id, format })
    }
}

/// One tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its number in this boot.
    pub id: u64,
    /// Its fields.
    pub format: Format,
}

/// Where a field lies in the bytes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    offset: usize,
    size: usize,
    is_signed: bool,
}

impl Field {
    /// Its value; sizes other than 1, 2, 4 and 8 bytes have none, nor do bytes that end before it.
    #[must_use]
    pub fn value(&self, event: &[u8]) -> Option<i64> {
        let bytes = event.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match *bytes {
            [a] => i64::from(a),
            [a, b] => i64::from(u16::from_ne_bytes([a, b])),
            [a, b, c, d] if self.is_signed => i64::from(i32::from_ne_bytes([a, b, c, d])),
            [a, b, c, d] => i64::from(u32::from_ne_bytes([a, b, c, d])),
            _ => i64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }
}

/// The kernel's words for the values of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<(i64, String)>);

impl Words {
    /// The word; the number where it has none.
    #[must_use]
    pub fn of(&self, value: i64) -> String {
        let found = self.0.iter().find(|(known, _)| *known == value);
        found.map_or_else(|| value.to_string(), |(_, word)| word.clone())
    }
}

/// What a `format` file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    fields: Vec<Field>,
    print: String,
}

impl Format {
    /// Fields it does not understand are left out: who needs one of them finds it missing.
    #[must_use]
    pub fn parse(text: &str) -> Format {
        let fields = text.lines().filter_map(|line| field(line.trim().strip_prefix("field:")?)).collect();
        let print = text.lines().find_map(|line| line.strip_prefix("print fmt:")).unwrap_or_default().to_owned();
        Format { fields, print }
    }

    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The words for its values, from `__print_symbolic` or `__print_flags` of the line that prints the event. Flags whose
    /// value is written as `1 << NAME` count from bit 0 in their order there.
    #[must_use]
    pub fn words(&self, field: &str) -> Words {
        let call = ["__print_symbolic(REC->", "__print_flags(REC->"].into_iter().find_map(|call| {
            let at = self.print.find(&format!("{call}{field},"))?;
            Some(&self.print[at + call.len() + field.len() + 1..])
        });
        let mut words = Vec::new();
        let mut rest = call.unwrap_or_default();
        while let Some(open) = rest.find('{') {
            // The end of the call comes before the next pair: what follows is another field's.
            if rest[..open].contains(") :") || rest[..open].contains("REC->") {
                break;
            }
            let Some(close) = rest.find('}').filter(|close| *close > open) else { break };
            let pair = rest[open + 1..close].split_once(", \"").or_else(|| rest[open + 1..close].split_once(",\""));
            if let Some((value, word)) = pair {
                let position = 1i64.checked_shl(words.len() as u32).unwrap_or(0);
                words.push((number(value).unwrap_or(position), word.trim_end().trim_end_matches('"').to_owned()));
            }
            rest = &rest[close + 1..];
        }
        Words(words)
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declared = parts.next()?;
    let name = declared.rsplit([' ', '*']).next()?.split('[').next()?;
    let (mut offset, mut size, mut is_signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            Some(("signed", value)) => is_signed = value == "1",
            _ => {}
        }
    }
    Some(Field { name: name.to_owned(), offset: offset?, size: size?, is_signed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THROTTLED: &str = "name: mm_vmscan_throttled
ID: 533
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:int usec_delayed;\toffset:16;\tsize:4;\tsigned:1;
\tfield:char bdi[32];\toffset:24;\tsize:32;\tsigned:0;
\tfield:struct mm_struct * mm;\toffset:56;\tsize:8;\tsigned:0;

print fmt: \"reason=%s\", (REC->reason) ? __print_flags(REC->reason, \"|\", {(1 << VMSCAN_THROTTLE_WRITEBACK), \"VMSCAN_THROTTLE_WRITEBACK\"}, {(1 << VMSCAN_THROTTLE_ISOLATED), \"VMSCAN_THROTTLE_ISOLATED\"} ) : \"VMSCAN_THROTTLE_NONE\"
";

    #[test]
    fn fields_are_found_by_name_and_read_with_their_sign() {
        let format = Format::parse(THROTTLED);
        let mut event = vec![0u8; 64];
        event[16..20].copy_from_slice(&(-5i32).to_ne_bytes());
        event[56..64].copy_from_slice(&9u64.to_ne_bytes());
        assert_eq!(format.field("usec_delayed").unwrap().value(&event), Some(-5));
        assert_eq!(format.field("mm").unwrap().value(&event), Some(9));
        assert_eq!(format.field("bdi").unwrap().value(&event), None, "32 bytes are no number");
        assert_eq!(format.field("usec_delayed").unwrap().value(&event[..18]), None, "cut");
        assert!(format.field("usec_timeout").is_none());
    }

    #[test]
    fn values_have_the_kernels_words() {
        let words = Format::parse(THROTTLED).words("reason");
        assert_eq!((words.of(2), words.of(1)), ("VMSCAN_THROTTLE_ISOLATED".into(), "VMSCAN_THROTTLE_WRITEBACK".into()));
        assert_eq!(words.of(64), "64", "a bit this kernel has no word for");
        let symbolic = "print fmt: \"mode=%s status=%s\", REC->sync ? \"sync\" : \"async\", \
                        __print_symbolic(REC->status, {1, \"skipped\"}, {7, \"contended\"}), REC->x, \
                        __print_symbolic(REC->y, {3, \"no\"})";
        let words = Format::parse(symbolic).words("status");
        assert_eq!((words.of(7), words.of(3)), ("contended".into(), "3".into()));
        assert_eq!(Format::parse(symbolic).words("mode"), Words::default());
    }

    proptest! {
        #[test]
        fn any_text_is_a_format_without_a_panic(text in "(field:|print fmt:|[a-z\\[\\]{}();:, <0-9\"\\n>-]|__print_symbolic\\(REC->a,){0,60}") {
            let format = Format::parse(&text);
            let _ = format.words("a").of(1);
            format.fields.iter().for_each(|field| _ = field.value(&[0; 16]));
        }
    }
}
