//! The same switches in plain shell.

use super::{area, header, in_use, plan, zram};
use crate::root::Root;
use crate::tunable::shell::quoted;
use pagewise_core::tunable::swap::{Area, Kind, parse};
use std::path::Path;

pub(super) fn shell_lines(root: &Root, value: &str) -> Vec<String> {
    let (Ok(wanted), Ok(now)) = (parse(value), in_use(root)) else {
        return vec!["# swap: /proc/swaps cannot be read".to_owned()];
    };
    let plan = plan(&now, &wanted);
    let mut lines: Vec<String> = plan.on_first.iter().flat_map(|area| on(root, area)).collect();
    lines.extend(plan.off.iter().flat_map(|in_use| off(root, &in_use.area)));
    lines.extend(plan.on_last.iter().flat_map(|area| on(root, area)));
    lines
}

fn on(root: &Root, area: &Area) -> Vec<String> {
    let path = quoted(&area.path);
    let swapon = match area.priority {
        Some(priority) => format!("swapon -p {priority} "),
        None => "swapon ".to_owned(),
    };
    match &area.kind {
        Kind::Zram(algorithm) => zram_on(root, area, algorithm.as_deref(), &swapon),
        Kind::File if area::is_named_by_us(area) => {
            let folder = Path::new(&area.path).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
            vec![
                format!("mkdir -p {}", quoted(&folder)),
                format!("rm -f {path} && fallocate -l {} {path} && chmod 600 {path}", area.bytes),
                format!("mkswap -L {} {path} && {swapon}{path}", header::OURS),
            ]
        }
        Kind::File | Kind::Partition => vec![format!("{swapon}{path}")],
    }
}

fn zram_on(root: &Root, area: &Area, algorithm: Option<&str>, swapon: &str) -> Vec<String> {
    let known = zram::number(&area.path).filter(|_| root.exists(&area.path));
    if known.is_some() && header::label(&root.path(&area.path)).is_some() {
        return vec![format!("{swapon}{}", quoted(&area.path))];
    }
    let (first, device, label) = match known {
        Some(device) => (format!("n={device}"), "zram$n", header::OURS),
        None => ("n=$(cat /sys/class/zram-control/hot_add)".to_owned(), "zram$n", header::OURS_ADDED),
    };
    let mut lines = vec![first];
    lines.extend(algorithm.map(|name| format!("echo {} > /sys/block/{device}/comp_algorithm", quoted(name))));
    lines.push(format!("echo {} > /sys/block/{device}/disksize", area.bytes));
    lines.push(format!("mkswap -L {label} /dev/{device} && {swapon}/dev/{device}"));
    lines
}

fn off(root: &Root, area: &Area) -> Vec<String> {
    let path = quoted(&area.path);
    let mut lines = vec![format!("swapoff {path}")];
    let label = if root.is_live() { header::label(Path::new(&area.path)) } else { None };
    match (&area.kind, label.as_deref(), zram::number(&area.path)) {
        (Kind::File, Some(header::OURS), _) if area::is_named_by_us(area) => lines.push(format!("rm -f {path}")),
        (_, Some(header::OURS), Some(device)) => lines.push(format!("echo 1 > /sys/block/zram{device}/reset")),
        (_, Some(header::OURS_ADDED), Some(device)) => {
            lines.push(format!("echo 1 > /sys/block/zram{device}/reset"));
            lines.push(format!("echo {device} > /sys/class/zram-control/hot_remove"));
        }
        _ => {}
    }
    lines
}
