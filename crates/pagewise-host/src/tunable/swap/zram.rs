//! Compressed memory as a swap area.
//!
//! A device of ours carries a label in its swap header, so that one left by a killed run is known as ours and one that
//! somebody else set up is never reset.

use super::area::{file_error, on, refused};
use super::{InUse, header};
use crate::root::Root;
use crate::source::meminfo;
use crate::tunable::TunableError;
use pagewise_core::tunable::swap::Area;
use pagewise_core::tunable::{ValueError, listed};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HOT_ADD: &str = "/sys/class/zram-control/hot_add";
const HOT_REMOVE: &str = "/sys/class/zram-control/hot_remove";

/// The number of the device behind a path.
pub(super) fn number(path: &str) -> Option<u32> {
    path.strip_prefix("/dev/zram")?.parse().ok()
}

fn attribute(device: u32, name: &str) -> String {
    format!("/sys/block/zram{device}/{name}")
}

fn node(device: u32) -> PathBuf {
    PathBuf::from(format!("/dev/zram{device}"))
}

/// The compression algorithm of a device.
pub(super) fn algorithm(root: &Root, device: u32) -> Option<String> {
    let text = root.read(&attribute(device, "comp_algorithm")).ok()?;
    listed(&text).map(|choice| choice.selected.to_owned())
}

/// Bytes a device is set up for; 0 when it is not.
fn disk_size(root: &Root, device: u32) -> u64 {
    root.read(&attribute(device, "disksize")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn devices(root: &Root) -> Vec<u32> {
    let names = root.list("/sys/block").unwrap_or_default();
    names.iter().filter_map(|name| name.strip_prefix("zram")?.parse().ok()).collect()
}

/// Checks what can be checked without making a device.
pub(super) fn can_be_made(root: &Root, bytes: u64, algorithm: Option<&str>, value: &str) -> Result<(), TunableError> {
    let unused = devices(root).into_iter().find(|device| disk_size(root, *device) == 0);
    if unused.is_none() && !root.exists(HOT_ADD) {
        return Err(TunableError::Missing {
            tunable: "swap".to_owned(),
            why: format!(
                "zram is not there, or its devices are in use ({}); try: modprobe zram",
                root.path(HOT_ADD).display()
            ),
        });
    }
    let total = meminfo::read(root).ok().and_then(|memory| memory.get("MemTotal").copied()).unwrap_or(u64::MAX);
    if bytes > total {
        return Err(TunableError::Ceiling {
            tunable: "swap".to_owned(),
            value: value.to_owned(),
            ceiling: total,
            reason: "what does not compress takes as much memory as it would free",
        });
    }
    match (algorithm, devices(root).first()) {
        (Some(algorithm), Some(device)) => offers(root, *device, algorithm, value),
        _ => Ok(()),
    }
}

fn offers(root: &Root, device: u32, algorithm: &str, value: &str) -> Result<(), TunableError> {
    let text = root.read(&attribute(device, "comp_algorithm")).unwrap_or_default();
    match listed(&text) {
        Some(choice) if !choice.values.contains(&algorithm) => Err(TunableError::value(
            "swap",
            value,
            ValueError {
                why: format!("this kernel does not compress with {algorithm}"),
                allowed: choice.values.join(" "),
            },
        )),
        _ => Ok(()),
    }
}

/// Switches an area on: the device it had when it is still set up, else one that is set up for it.
pub(super) fn switch_on(root: &Root, area: &Area, algorithm: Option<&str>, value: &str) -> Result<(), TunableError> {
    if let Some(device) = number(&area.path) {
        let is_set_up = disk_size(root, device) == area.bytes && header::label(&node(device)).is_some();
        if is_set_up {
            return on(&node(device), area.priority, value);
        }
    }
    let (device, added) = take(root, number(&area.path), value)?;
    let made = set_up(root, device, area.bytes, algorithm, added, value)
        .and_then(|()| on(&node(device), area.priority, value));
    made.inspect_err(|_| {
        // The first error tells what happened.
        let _ = remove(root, &node(device), added);
    })
}

/// A device that is not set up: the one asked for, else a new one, else any. And whether it was added for this.
fn take(root: &Root, asked_for: Option<u32>, value: &str) -> Result<(u32, bool), TunableError> {
    let unused = |device: &u32| root.exists(&attribute(*device, "disksize")) && disk_size(root, *device) == 0;
    if let Some(device) = asked_for.filter(unused) {
        return Ok((device, false));
    }
    match root.read(HOT_ADD) {
        Ok(text) => match text.trim().parse() {
            Ok(device) => Ok((device, true)),
            Err(_) => Err(missing(format!("{HOT_ADD} answered '{}' instead of a number", text.trim()))),
        },
        Err(error) => match devices(root).into_iter().find(unused) {
            Some(device) => Ok((device, false)),
            None => Err(refused("add a device through", &error.path, value, error.source)),
        },
    }
}

fn missing(why: String) -> TunableError {
    TunableError::Missing { tunable: "swap".to_owned(), why }
}

fn set_up(
    root: &Root,
    device: u32,
    bytes: u64,
    algorithm: Option<&str>,
    added: bool,
    value: &str,
) -> Result<(), TunableError> {
    let write = |name: &str, text: &str| {
        let written = root.write(&attribute(device, name), text);
        written.map_err(|error| refused(&error.action, &error.path, value, error.source))
    };
    if let Some(algorithm) = algorithm {
        write("comp_algorithm", algorithm)?;
    }
    write("disksize", &bytes.to_string())?;
    let path = node(device);
    let label = if added { header::OURS_ADDED } else { header::OURS };
    let written = open_when_there(&path).and_then(|file| header::write(root, &file, bytes, label));
    written.map_err(|source| file_error("write the header of", &path, source))
}

/// The device's node is made by the kernel at once, or by udev a moment later.
fn open_when_there(path: &Path) -> io::Result<File> {
    const TRIES: u32 = 40;
    for _ in 0..TRIES {
        match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::thread::sleep(Duration::from_millis(25)),
            opened => return opened,
        }
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}

/// Gives the memory back, and the device when it was added.
pub(super) fn remove(root: &Root, path: &Path, added: bool) -> Result<(), TunableError> {
    let Some(device) = path.to_str().and_then(number) else { return Ok(()) };
    // Whoever looks at new devices, such as udev's prober, holds it open for a moment.
    const TRIES: u32 = 40;
    let mut last = Ok(());
    for _ in 0..TRIES {
        last = root
            .write(&attribute(device, "reset"), "1")
            .and_then(|()| if added { root.write(HOT_REMOVE, &device.to_string()) } else { Ok(()) });
        match &last {
            Err(error) if error.source.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(Duration::from_millis(25));
            }
            _ => break,
        }
    }
    last.map_err(|error| file_error(&error.action, &error.path, error.source))
}

/// Resets devices that a killed run of ours set up and that are not in use.
pub(super) fn remove_leftovers(root: &Root, now: &[InUse]) {
    for device in devices(root) {
        let path = node(device);
        let in_use = now.iter().any(|in_use| Path::new(&in_use.area.path) == path);
        if in_use || disk_size(root, device) == 0 || !header::is_ours(&path) {
            continue;
        }
        let added = header::label(&path).as_deref() == Some(header::OURS_ADDED);
        if let Err(error) = remove(root, &path, added) {
            tracing::warn!("a zram device of an earlier run stays: {error}");
        }
    }
}
