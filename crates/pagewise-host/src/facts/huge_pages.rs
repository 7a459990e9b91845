//! Transparent huge pages: the switches, sizes below 2 MiB, khugepaged, per process; and the hugetlb pool.

use super::{Setting, kernel, selected, selected_of};
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability};

const AREA: Area = Area::HugePages;
const NO_THP: &str = "this kernel was built without it (CONFIG_TRANSPARENT_HUGEPAGE)";
const OTHER_KERNEL: &str = "boot a kernel that has it, such as Debian's";

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    let folder = kernel::thp_folder(root).unwrap_or("/sys/kernel/mm/transparent_hugepage");
    vec![
        switch(root, folder, "enabled", "THP enabled").compares("THP"),
        switch(root, folder, "defrag", "THP defrag").compares("THP defrag"),
        khugepaged(root, folder).compares("khugepaged"),
        sizes(root, folder).compares("THP sizes"),
        per_process(root).compares("THP per process"),
        hugetlb(root).compares("hugetlb pool"),
    ]
}

fn switch(root: &Root, folder: &str, name: &str, what: &str) -> Capability {
    let (id, path) = (format!("thp.{name}"), format!("{folder}/{name}"));
    let setting = Setting { area: AREA, id: &id, what, path: &path, absent: why_absent(root), remedy: OTHER_KERNEL };
    setting.ask(root, selected_of)
}

fn khugepaged(root: &Root, folder: &str) -> Capability {
    let path = format!("{folder}/khugepaged/max_ptes_none");
    let setting = Setting {
        area: AREA,
        id: "thp.khugepaged",
        what: "khugepaged",
        path: &path,
        absent: why_absent(root),
        remedy: OTHER_KERNEL,
    };
    setting.ask(root, |none| {
        let sleep = root.read(&format!("{folder}/khugepaged/scan_sleep_millisecs")).unwrap_or_default();
        match sleep.trim() {
            "" => format!("max_ptes_none {none}"),
            sleep => format!("max_ptes_none {none}, scans every {sleep} ms"),
        }
    })
}

/// One file may be missing where the others are.
fn why_absent(root: &Root) -> &'static str {
    if kernel::thp_folder(root).is_some() { "this kernel's THP has no such file" } else { NO_THP }
}

/// `hugepages-64kB` and so on. A size set to `always` ignores the host's `enabled`; that is worth a word.
fn sizes(root: &Root, folder: &str) -> Capability {
    let (id, what) = ("thp.sizes", "THP sizes (mTHP)");
    let mut by_value: Vec<(String, Vec<u64>)> = Vec::new();
    let names = root.list(folder).unwrap_or_default();
    let kib = |name: &str| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    let enabled = |size: u64| format!("{folder}/hugepages-{size}kB/enabled");
    let mut sizes: Vec<u64> = names.iter().filter_map(|name| kib(name)).collect();
    // The smallest size serves shared memory alone and has no `enabled`.
    sizes.retain(|size| root.exists(&enabled(*size)));
    sizes.sort_unstable();
    for size in &sizes {
        let text = root.read(&enabled(*size)).unwrap_or_default();
        let value = selected(&text).to_owned();
        match by_value.iter_mut().find(|(known, _)| *known == value) {
            Some((_, sizes)) => sizes.push(*size),
            None => by_value.push((value, vec![*size])),
        }
    }
    let Some(first) = sizes.first() else {
        if !super::shows(root, "/sys/kernel/mm") && kernel::is_older_than(root, 6, 8) != Some(true) {
            return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "");
        }
        let why = match kernel::is_older_than(root, 6, 8) {
            Some(false) => "the kernel shows no size below its THP folder",
            _ => "needs Linux 6.8 or later",
        };
        return Capability::no(AREA, id, what, why, OTHER_KERNEL);
    };
    let shown: Vec<String> = by_value.iter().map(|(value, sizes)| format!("{value}: {}", size_list(sizes))).collect();
    let found = Capability::yes(AREA, id, what, shown.join("; "));
    super::limited_if_read_only(found, root, &enabled(*first))
}

/// `16, 32, 64 KiB`; more than three as a range, which the powers of two between fill.
fn size_list(kib: &[u64]) -> String {
    match kib {
        [first, .., last] if kib.len() > 3 => format!("{first} to {last} KiB ({} sizes)", kib.len()),
        few => format!("{} KiB", few.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// `PR_SET_THP_DISABLE`: 3.15; except where advised: 6.18 (`kernel/sys.c`).
fn per_process(root: &Root) -> Capability {
    let (id, what) = ("process.thp", "THP per process");
    if !root.is_live() {
        return Capability::unknown(AREA, id, what, super::ANOTHER_HOST, "");
    }
    match crate::sys::thp_disable::except_advised_is_known() {
        Ok(true) => Capability::yes(AREA, id, what, "never, or only where advised (prctl)"),
        Ok(false) => Capability::yes(AREA, id, what, "never (prctl); only where advised: Linux 6.18 and later"),
        Err(error) => Capability::no(AREA, id, what, format!("prctl(PR_SET_THP_DISABLE): {error}"), OTHER_KERNEL),
    }
}

fn hugetlb(root: &Root) -> Capability {
    let setting = Setting {
        area: AREA,
        id: "vm.nr_hugepages",
        what: "hugetlb pool",
        path: "/proc/sys/vm/nr_hugepages",
        absent: "this kernel was built without it (CONFIG_HUGETLB_PAGE)",
        remedy: OTHER_KERNEL,
    };
    setting.ask(root, |pages| match pages {
        "0" => "empty".to_owned(),
        pages => format!("{pages} pages of the default size"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sizes_are_told_as_a_range() {
        assert_eq!(size_list(&[16, 64]), "16, 64 KiB");
        assert_eq!(size_list(&[8, 16, 32, 64, 128]), "8 to 128 KiB (5 sizes)");
    }
}
