//! Swap: what is in use, and whether a swap file or zram can be added.

use super::{Setting, kernel, privilege::Privilege};
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability, State};
use pagewise_core::unit::Bytes;

const AREA: Area = Area::Swap;

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    vec![
        in_use(root),
        swappiness(root).compares("swappiness"),
        file(root).compares("swap off and on, swap file"),
        zram(root).compares("zram"),
    ]
}

fn in_use(root: &Root) -> Capability {
    let (id, what) = ("swap", "swap in use");
    let meminfo = root.read("/proc/meminfo").unwrap_or_default();
    match (kernel::meminfo_bytes(&meminfo, "SwapTotal"), kernel::meminfo_bytes(&meminfo, "SwapFree")) {
        (Some(0), _) => Capability::no(AREA, id, what, "none: anonymous memory cannot leave RAM", ""),
        (Some(total), Some(free)) => {
            let used = Bytes(total.saturating_sub(free));
            Capability::yes(AREA, id, what, format!("{} in all, {used} used", Bytes(total)))
        }
        _ => Capability::unknown(AREA, id, what, "/proc/meminfo does not tell SwapTotal", ""),
    }
}

fn swappiness(root: &Root) -> Capability {
    let setting = Setting {
        area: AREA,
        id: "vm.swappiness",
        what: "swappiness",
        path: "/proc/sys/vm/swappiness",
        absent: "the file is missing, as in some containers",
        remedy: "run on the host itself",
    };
    setting.ask(root, |value| format!("{value}, page-cluster {}", page_cluster(root)))
}

fn page_cluster(root: &Root) -> String {
    root.read("/proc/sys/vm/page-cluster").map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

/// Whether swapon and swapoff would be allowed. Not tried: it would change the host.
fn file(root: &Root) -> Capability {
    let (id, what) = ("swap.file", "swap file");
    if !root.exists("/proc/swaps") && !root.is_live() {
        return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "");
    }
    if !root.exists("/proc/swaps") {
        return Capability::no(
            AREA,
            id,
            what,
            "this kernel was built without swap (CONFIG_SWAP)",
            "boot another kernel",
        );
    }
    may_swap(root, id, what, "can be added and removed")
}

fn zram(root: &Root) -> Capability {
    let (id, what) = ("swap.zram", "zram");
    let devices = root.list("/sys/block").unwrap_or_default();
    let device = devices.iter().find(|name| name.starts_with("zram"));
    if device.is_none() && !super::shows(root, "/sys/class/zram-control") {
        return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "");
    }
    if device.is_none() && !root.exists("/sys/class/zram-control") {
        let loadable = release_modules(root).is_some_and(|folder| root.exists(&folder));
        if loadable && root.exists("/proc/modules") {
            let why = "its module is not loaded; whether it exists shows when it is";
            return Capability::unknown(AREA, id, what, why, "run: modprobe zram");
        }
        return Capability::no(AREA, id, what, "this kernel was built without it (CONFIG_ZRAM)", "use a swap file");
    }
    let algorithms = device.and_then(|name| root.read(&format!("/sys/block/{name}/comp_algorithm")).ok());
    let value = algorithms.map_or("available".to_owned(), |text| super::selected_of(text.trim()));
    may_swap(root, id, what, &value)
}

fn release_modules(root: &Root) -> Option<String> {
    kernel::release(root).map(|release| format!("/lib/modules/{release}"))
}

fn may_swap(root: &Root, id: &str, what: &str, value: &str) -> Capability {
    let found = Capability::yes(AREA, id, what, value);
    match Privilege::of_self(root) {
        _ if !root.is_live() => found,
        Some(privilege) if privilege.has("CAP_SYS_ADMIN") => found,
        Some(_) => found.with(State::No, "adding swap needs CAP_SYS_ADMIN", "run as root").without_value(),
        None => found.with(State::Unknown, "our own capabilities could not be read", "").without_value(),
    }
}
