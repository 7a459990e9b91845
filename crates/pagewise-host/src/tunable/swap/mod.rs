//! The host's swap areas: read, made, switched and removed.

mod area;
mod header;
mod script;
mod zram;

use super::held::HoldLimit;
use super::kind::Kind;
use super::{Places, TunableError};
use crate::facts::privilege::Privilege;
use crate::root::Root;
use crate::source::{meminfo, swaps};
use pagewise_core::tunable::swap::{self, Area, FILE_PREFIX, Kind as AreaKind, SMALLEST_AREA, parse, text, unescape};
use pagewise_core::tunable::{Tunable, ValueError};
use pagewise_core::unit::Bytes;
use std::path::{Path, PathBuf};

/// The kind of the one tunable `swap`.
pub(super) struct HostSwap;

impl Kind for HostSwap {
    fn read(&self, root: &Root, _: &Tunable) -> Result<String, TunableError> {
        read(root)
    }

    fn write(&self, root: &Root, _: &Tunable, value: &str, _: HoldLimit) -> Result<(), TunableError> {
        write(root, value)
    }

    fn resolve(&self, root: &Root, places: &Places, _: &Tunable, value: &str) -> Result<String, TunableError> {
        resolve(root, places, value)
    }

    fn shell_lines(&self, root: &Root, _: &Tunable, value: &str) -> Vec<String> {
        script::shell_lines(root, value)
    }

    fn artefacts(&self, value: &str) -> Vec<PathBuf> {
        artefacts(value)
    }

    fn sweep(&self, root: &Root, _: &Tunable) {
        sweep(root);
    }
}

/// An area in use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InUse {
    area: Area,
    /// Bytes that are swapped out to it.
    used: u64,
}

fn read(root: &Root) -> Result<String, TunableError> {
    let areas: Vec<Area> = in_use(root)?.into_iter().map(|in_use| in_use.area).collect();
    Ok(text(&areas))
}

/// Areas in use, the highest priority first. Among equal ones the kernel's order stands.
fn in_use(root: &Root) -> Result<Vec<InUse>, TunableError> {
    let text = root.read(swaps::PATH).map_err(|error| TunableError::access("swap", "read", error))?;
    let mut areas = swaps::lines(&text)
        .map(|line| {
            let line = line.map_err(|line| unreadable(root, line))?;
            area_in_use(root, &line).ok_or_else(|| unreadable(root, line.name))
        })
        .collect::<Result<Vec<_>, _>>()?;
    areas.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    Ok(areas.into_iter().map(|(_, in_use)| in_use).collect())
}

/// The size in the file leaves the header page out (`mm/swapfile.c` swap_show, 6.12).
fn area_in_use(root: &Root, line: &swaps::Line<'_>) -> Option<(i64, InUse)> {
    let path = unescape(line.name);
    let bytes = line.size_kib()?.checked_mul(1024)?.checked_add(page_size(root))?;
    let kind = match (line.kind, zram::number(&path)) {
        (_, Some(device)) => AreaKind::Zram(zram::algorithm(root, device)),
        ("file", None) => AreaKind::File,
        _ => AreaKind::Partition,
    };
    let bytes = if kind == AreaKind::File { size_as_made(&path, bytes) } else { bytes };
    let priority = line.priority()?;
    // A negative one was given by the kernel, in the order of switching on.
    let chosen = u16::try_from(priority).ok();
    let used = line.used_kib()?.checked_mul(1024)?;
    Some((priority, InUse { area: Area { kind, bytes, path, priority: chosen }, used }))
}

/// A file system with blocks smaller than a page may leave blocks that make no whole page in a row; the kernel passes over them
/// (`generic_swapfile_activate`, `mm/page_io.c`, 6.12), and the area is a little smaller than its file. A file of ours says in its name
/// what it was made with.
fn size_as_made(path: &str, bytes: u64) -> u64 {
    const PASSED_OVER_AT_MOST: u64 = 100;
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let made =
        name.strip_prefix(FILE_PREFIX).and_then(|rest| rest.strip_suffix(".swap")).and_then(|made| made.parse().ok());
    made.filter(|made: &u64| (bytes..=bytes.saturating_add(made / PASSED_OVER_AT_MOST)).contains(made)).unwrap_or(bytes)
}

fn page_size(root: &Root) -> u64 {
    if root.is_live() { rustix::param::page_size() as u64 } else { 4096 }
}

fn unreadable(root: &Root, line: &str) -> TunableError {
    TunableError::Unreadable {
        tunable: "swap".to_owned(),
        path: root.path(swaps::PATH),
        found: line.chars().take(80).collect(),
        why: "Filename, Type, Size, Used and Priority are expected".to_owned(),
    }
}

/// Checks a user's value, and says which file a swap file will be.
fn resolve(root: &Root, places: &Places, value: &str) -> Result<String, TunableError> {
    let now = read(root)?;
    if swap::same(&now, value) {
        return Ok(now);
    }
    may_switch(root)?;
    let wrong = |why: String| {
        let allowed = pagewise_core::tunable::Grammar::Swap.allowed();
        TunableError::value("swap", value, ValueError { why, allowed })
    };
    let folder = existing_path(&places.cache).join("swap");
    let mut areas = parse(value).map_err(wrong)?;
    for area in &mut areas {
        if !area.path.is_empty() || area.kind == AreaKind::Partition {
            return Err(wrong("Pagewise chooses the file or device; only areas that are in use now have one".into()));
        }
        if area.bytes < SMALLEST_AREA || area.bytes % page_size(root) != 0 {
            return Err(wrong(format!("{} bytes are less than 1M or not whole pages", area.bytes)));
        }
        match &area.kind {
            AreaKind::Zram(algorithm) => zram::can_be_made(root, area.bytes, algorithm.as_deref(), value)?,
            _ => {
                area::has_room(&folder, area.bytes, value)?;
                area.path = folder.join(format!("{FILE_PREFIX}{}.swap", area.bytes)).display().to_string();
            }
        }
    }
    let resolved = text(&areas);
    parse(&resolved).map_err(|why| wrong(format!("two files of one size cannot be told apart ({why})")))?;
    fits_into_memory(root, &plan(&in_use(root)?, &areas).off, value)?;
    Ok(resolved)
}

fn may_switch(root: &Root) -> Result<(), TunableError> {
    match Privilege::of_self(root) {
        Some(privilege) if privilege.has("CAP_SYS_ADMIN") => Ok(()),
        _ => Err(TunableError::NotPermitted {
            tunable: "swap".to_owned(),
            action: "switch",
            path: root.path(swaps::PATH),
            source: std::io::Error::from(std::io::ErrorKind::PermissionDenied),
            remedy: "run as root with CAP_SYS_ADMIN",
        }),
    }
}

/// The folder as the kernel will name it: without symbolic links, as far as it exists.
fn existing_path(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for ancestor in folder.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = folder.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Joining an empty rest would add a slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    folder
}

/// What leads from the areas in use to those wanted.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// Switched on before anything is switched off, so that what is swapped out has somewhere to go.
    on_first: Vec<Area>,
    off: Vec<InUse>,
    on_last: Vec<Area>,
}

/// The kernel gives an area without a priority the lowest so far. So those areas keep their place only as long as
/// nothing new has to come before them; the rest is switched off and on again in order.
fn plan(now: &[InUse], wanted: &[Area]) -> Plan {
    let mut kept = vec![false; now.len()];
    let mut on = Vec::new();
    let mut in_order = true;
    let mut next_automatic = 0;
    for area in wanted {
        let found = now.iter().enumerate().position(|(i, in_use)| !kept[i] && in_use.area.is(area));
        let stays = match (found, area.priority) {
            (Some(_), Some(_)) => true,
            (Some(index), None) => in_order && index >= next_automatic,
            (None, _) => false,
        };
        match found {
            Some(index) if stays => {
                kept[index] = true;
                if area.priority.is_none() {
                    next_automatic = index + 1;
                }
            }
            _ => {
                in_order = in_order && area.priority.is_some();
                on.push(area.clone());
            }
        }
    }
    let off: Vec<InUse> = now.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|(in_use, _)| in_use.clone()).collect();
    let occupied = |area: &Area| off.iter().any(|in_use| !area.path.is_empty() && in_use.area.path == area.path);
    let free = on.iter().position(occupied).unwrap_or(on.len());
    let on_last = on.split_off(free);
    Plan { on_first: on, off, on_last }
}

/// Left free beside what comes back from swap: enough for the host to go on while it does. Our own figure.
const SPARE_SHARE: f64 = 0.02;

fn fits_into_memory(root: &Root, off: &[InUse], value: &str) -> Result<(), TunableError> {
    let used: u64 = off.iter().map(|in_use| in_use.used).sum();
    if used == 0 {
        return Ok(());
    }
    let memory = meminfo::read(root).unwrap_or_default();
    let total = memory.get("MemTotal").copied().unwrap_or(0);
    let available = meminfo::available(&memory).unwrap_or(0);
    let needed = used.saturating_add((total as f64 * SPARE_SHARE) as u64);
    if available >= needed {
        return Ok(());
    }
    Err(TunableError::Unsafe {
        tunable: "swap".to_owned(),
        value: value.to_owned(),
        why: format!(
            "{} are swapped out and would have to fit into {} of available memory with {} to spare; end jobs or wait, \
             then try again",
            Bytes(used),
            Bytes(available),
            Bytes(needed - used)
        ),
    })
}

fn write(root: &Root, value: &str) -> Result<(), TunableError> {
    if !root.is_live() {
        return Err(TunableError::Unsafe {
            tunable: "swap".to_owned(),
            value: value.to_owned(),
            why: "this is another host's captured tree; leave --root out".to_owned(),
        });
    }
    let wanted = parse(value).map_err(|why| {
        let allowed = pagewise_core::tunable::Grammar::Swap.allowed();
        TunableError::value("swap", value, ValueError { why, allowed })
    })?;
    let now = in_use(root)?;
    zram::remove_leftovers(root, &now);
    let plan = plan(&now, &wanted);
    fits_into_memory(root, &plan.off, value)?;
    for area in &plan.on_first {
        area::switch_on(root, area, value)?;
    }
    for in_use in &plan.off {
        area::switch_off(root, &in_use.area, value)?;
    }
    for area in &plan.on_last {
        area::switch_on(root, area, value)?;
    }
    Ok(())
}

/// Only for this machine: a captured tree has no devices.
fn sweep(root: &Root) {
    if let (true, Ok(now)) = (root.is_live(), in_use(root)) {
        zram::remove_leftovers(root, &now);
    }
}

/// Swap files of ours in a value.
fn artefacts(value: &str) -> Vec<PathBuf> {
    let areas = parse(value).unwrap_or_default();
    areas.iter().filter(|area| area::is_named_by_us(area)).map(|area| PathBuf::from(&area.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(text: &str) -> Area {
        parse(text).expect("a swap value").remove(0)
    }

    fn using(texts: &[&str]) -> Vec<InUse> {
        texts.iter().map(|text| InUse { area: area(text), used: 0 }).collect()
    }

    fn wanted(texts: &[&str]) -> Vec<Area> {
        texts.iter().map(|text| area(text)).collect()
    }

    #[test]
    fn a_file_of_ours_has_the_size_it_was_made_with_where_the_kernel_passed_over_some_blocks() {
        let made = |path: &str, bytes| size_as_made(path, bytes);
        assert_eq!(made("/c/swap/pagewise-67108864.swap", 67_088_384), 67_108_864, "as on ext4 with blocks of 1 KiB");
        assert_eq!(made("/c/swap/pagewise-67108864.swap", 33_554_432), 33_554_432, "half of it is another area");
        assert_eq!(made("/c/swap/pagewise-67108864.swap", 67_108_864), 67_108_864);
        assert_eq!(made("/c/swapfile", 67_088_384), 67_088_384, "whose size nobody told us");
    }

    #[test]
    fn nothing_is_switched_when_the_areas_are_those_wanted() {
        let plan = plan(&using(&["file:1M@/a,prio=5", "file:1M@/b"]), &wanted(&["file:1M@/a,prio=5", "file:1M@/b"]));
        assert_eq!(plan, Plan { on_first: vec![], off: vec![], on_last: vec![] });
    }

    #[test]
    fn the_new_area_comes_before_the_old_one_goes() {
        let plan = plan(&using(&["file:1M@/old"]), &wanted(&["file:2M@/new"]));
        assert_eq!(plan.on_first, wanted(&["file:2M@/new"]));
        assert_eq!(plan.off, using(&["file:1M@/old"]));
        assert!(plan.on_last.is_empty());
    }

    #[test]
    fn an_area_that_must_come_first_makes_the_later_ones_go_and_come_back() {
        let plan = plan(&using(&["file:1M@/b"]), &wanted(&["file:1M@/a", "file:1M@/b"]));
        assert_eq!(plan.on_first, wanted(&["file:1M@/a"]));
        assert_eq!(plan.off, using(&["file:1M@/b"]));
        assert_eq!(plan.on_last, wanted(&["file:1M@/b"]));
    }

    #[test]
    fn two_areas_in_the_wrong_order_are_put_right() {
        let plan = plan(&using(&["file:1M@/a", "file:1M@/b"]), &wanted(&["file:1M@/b", "file:1M@/a"]));
        assert_eq!(plan.off, using(&["file:1M@/a"]));
        assert_eq!(plan.on_last, wanted(&["file:1M@/a"]));
    }

    #[test]
    fn another_priority_of_the_same_file_takes_it_off_first() {
        let plan = plan(&using(&["file:1M@/a"]), &wanted(&["file:1M@/a,prio=7"]));
        assert!(plan.on_first.is_empty());
        assert_eq!(plan.on_last, wanted(&["file:1M@/a,prio=7"]));
    }

    #[test]
    fn what_is_read_can_be_told_from_a_priority_the_kernel_gave() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = Root::at(folder.path());
        std::fs::create_dir_all(folder.path().join("proc")).expect("a folder");
        let swaps =
            "Filename Type Size Used Priority\n/dev/sda2 partition 8388604 0 -2\n/swap\\040file file 1020 4 5\n";
        std::fs::write(folder.path().join("proc/swaps"), swaps).expect("a file");
        assert_eq!(read(&root).expect("a value"), "file:1048576@/swap\\040file,prio=5+partition:8589934592@/dev/sda2");
    }
}
