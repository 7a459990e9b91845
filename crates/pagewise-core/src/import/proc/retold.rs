//! Numbers of the kernel's files as other tools print them: `vmstat -s`, `numastat`, `kmem -i` of crash, earlyoom, nohang, mem2log, and tables
//! that set two readings or several lines side by side.

use super::super::listing::MOST_KIB;
use super::super::words::{decimal, scaled};
use super::files::{is_meminfo, is_number, is_size, is_vmstat};

const MEMINFO: &str = "/proc/meminfo";
const VMSTAT: &str = "/proc/vmstat";

/// What `numastat` prints a line for, with a number for each node, and the names that `/proc/vmstat` has for it (`mm/vmstat.c`,
/// 6.12, `vmstat_text`; `drivers/base/node.c`, `node_read_numastat`).
const NUMASTAT: [(&str, &str); 6] = [
    ("numa_hit", "numa_hit"),
    ("numa_miss", "numa_miss"),
    ("numa_foreign", "numa_foreign"),
    ("interleave_hit", "numa_interleave"),
    ("local_node", "numa_local"),
    ("other_node", "numa_other"),
];

/// What `vmstat -s` calls numbers of these files (procps-ng 4.0.4, `sum_format`). What it calls pages paged in are KiB.
const SUMMARY: [(&str, &str, &str); 12] = [
    ("K total memory", MEMINFO, "MemTotal"),
    ("K active memory", MEMINFO, "Active"),
    ("K inactive memory", MEMINFO, "Inactive"),
    ("K free memory", MEMINFO, "MemFree"),
    ("K buffer memory", MEMINFO, "Buffers"),
    ("K swap cache", MEMINFO, "Cached"),
    ("K total swap", MEMINFO, "SwapTotal"),
    ("K free swap", MEMINFO, "SwapFree"),
    ("pages paged in", VMSTAT, "pgpgin"),
    ("pages paged out", VMSTAT, "pgpgout"),
    ("pages swapped in", VMSTAT, "pswpin"),
    ("pages swapped out", VMSTAT, "pswpout"),
];

/// The parts of all CPU time as it prints them, in the order of `/proc/stat`. Old versions end before the last.
pub(super) const SUMMARY_OF_CPU: [&str; 8] = [
    "non-nice user cpu ticks",
    "nice user cpu ticks",
    "system cpu ticks",
    "idle cpu ticks",
    "IO-wait cpu ticks",
    "IRQ cpu ticks",
    "softirq cpu ticks",
    "stolen cpu ticks",
];

/// What `kmem -i` of crash prints of a dump, and what `/proc/meminfo` calls it (crash 8, `dump_kmeminfo`): pages, the same with a unit, a share.
const OF_CRASH: [(&str, &str); 10] = [
    ("TOTAL MEM", "MemTotal"),
    ("FREE", "MemFree"),
    ("BUFFERS", "Buffers"),
    ("CACHED", "Cached"),
    ("SLAB", "Slab"),
    ("TOTAL HUGE", "Hugetlb"),
    ("TOTAL SWAP", "SwapTotal"),
    ("SWAP FREE", "SwapFree"),
    ("COMMIT LIMIT", "CommitLimit"),
    ("COMMITTED", "Committed_AS"),
];

/// The path of a file, and a line as it would stand there.
pub(super) type OfFile = (&'static str, String);

/// A line of such a tool, as the files themselves have it.
pub(super) fn as_in_files(text: &str, words: &[&str]) -> Option<Vec<OfFile>> {
    let of_meminfo = |(name, kib): (&'static str, u64)| (MEMINFO, format!("{name}: {kib} kB"));
    let sizes = of_crash(text).map(|one| vec![one]).or_else(|| of_earlyoom(text).map(Vec::from));
    if let Some(sizes) = sizes.or_else(|| of_mem2log(text)) {
        return Some(sizes.into_iter().map(of_meminfo).collect());
    }
    if let Some((pressure, sizes)) = of_nohang(text) {
        let pressure = ("/proc/pressure/memory", format!("some avg10={pressure}"));
        return Some([pressure].into_iter().chain(sizes.into_iter().map(of_meminfo)).collect());
    }
    if let Some((value, place)) = of_summary(text, &SUMMARY.map(|(printed, ..)| printed)) {
        let (_, path, name) = SUMMARY[place];
        let line = if path == MEMINFO { format!("{name}: {value} kB") } else { format!("{name} {value}") };
        return Some(vec![(path, line)]);
    }
    of_numastat(words).or_else(|| of_two_columns(words)).map(|pair| vec![(VMSTAT, pair)])
}

/// `MemTotal: 528235648 kB    MemFree: 20002732 kB`: lines of meminfo that somebody set side by side.
pub(super) fn side_by_side(words: &[&str]) -> Option<Vec<String>> {
    let mut cells: Vec<Vec<&str>> = Vec::new();
    for word in words {
        match cells.last_mut() {
            _ if word.ends_with(':') => cells.push(vec![word]),
            Some(cell) => cell.push(word),
            None => return None,
        }
    }
    let is_table =
        cells.len() >= 2 && cells.iter().all(|cell| is_size(cell)) && cells.iter().any(|cell| is_meminfo(cell[0]));
    is_table.then(|| cells.iter().map(|cell| cell.join(" ")).collect())
}

/// `    TOTAL MEM  16432119      62.7 GB         ----`: the name in `/proc/meminfo`, and KiB.
fn of_crash(text: &str) -> Option<(&'static str, u64)> {
    let text = text.trim();
    let (printed, name) = OF_CRASH.iter().find(|(printed, _)| {
        text.strip_prefix(printed)
            .is_some_and(|rest| rest.starts_with(' ') && rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    })?;
    let words: Vec<&str> = text[printed.len()..].split_whitespace().collect();
    // Nothing has no unit.
    if matches!(words.as_slice(), ["0", "0", "----"] | ["0", "0", "0%", ..]) {
        return Some((*name, 0));
    }
    let [_pages, size, unit, ..] = words.as_slice() else { return None };
    let is_share = matches!(&words[3..], ["----"]) || words.get(3).is_some_and(|share| share.ends_with('%'));
    let scale = match *unit {
        "KB" => 1.0,
        "MB" => 1024.0,
        "GB" => 1_048_576.0,
        "TB" => 1_073_741_824.0,
        _ => return None,
    };
    let kib = scaled(size, scale).filter(|kib| is_share && *kib <= MOST_KIB);
    kib.map(|kib| (*name, kib))
}

/// `mem avail:   343 of  7832 MiB ( 4.38%), swap free:  188 of 2047 MiB ( 9.19%)`: names in `/proc/meminfo`, and KiB.
fn of_earlyoom(text: &str) -> Option<[(&'static str, u64); 3]> {
    let (_, rest) = text.split_once("mem avail:")?;
    let (memory, swap) = rest.split_once("swap free:")?;
    let sizes = |text: &str| -> Option<(u64, u64)> {
        let words: Vec<&str> = text.split_whitespace().take(4).collect();
        let [free, "of", all, "MiB"] = words.as_slice() else { return None };
        let kib = |word: &str| scaled(word, 1024.0).filter(|kib| *kib <= MOST_KIB);
        Some((kib(free)?, kib(all)?))
    };
    // What it calls all of memory is, in newer versions, what programs have and could have.
    let ((available, _), (free, swap)) = (sizes(memory)?, sizes(swap)?);
    Some([("MemAvailable", available), ("SwapTotal", swap), ("SwapFree", free)])
}

/// `PSI mem some avg10:  55.25 | MemAvail:    0 M,  0.0 % | SwapFree: 424 M,  57.9 %` of nohang: pressure in percent, names in `/proc/meminfo` and KiB.
/// How much there is in all follows from what is left and its share.
fn of_nohang(text: &str) -> Option<(String, Vec<(&'static str, u64)>)> {
    let (pressure, rest) = text.split_once("avg10:")?.1.split_once('|')?;
    let cells = [("MemAvail:", "MemAvailable", "MemTotal"), ("SwapFree:", "SwapFree", "SwapTotal")];
    let mut sizes = Vec::new();
    for (printed, left, all) in cells {
        let Some((_, cell)) = rest.split_once(printed) else { continue };
        let words: Vec<&str> = cell.split_whitespace().take(4).collect();
        let [mib, "M,", percent, "%"] = words.as_slice() else { return None };
        let kib = scaled(mib, 1024.0).filter(|kib| *kib <= MOST_KIB)?;
        sizes.push((left, kib));
        let share = decimal(percent).filter(|share| (1.0..=100.0).contains(share));
        sizes.extend(share.map(|share| (all, (kib as f64 * 100.0 / share) as u64)));
    }
    let pressure = pressure.trim();
    (decimal(pressure).is_some() && !sizes.is_empty()).then(|| (pressure.to_owned(), sizes))
}

/// `MA=33=0% MF=111 A=9060 F=105 AF=13 IF=91 D=0 C=105 SF=58696 SU=0` and `MemTotal: 9782.7, SwapTotal: 58696.3` of mem2log, in MiB: names in
/// `/proc/meminfo`, and KiB.
fn of_mem2log(text: &str) -> Option<Vec<(&'static str, u64)>> {
    const NAMES: [(&str, &str); 7] = [
        ("MA", "MemAvailable"),
        ("MF", "MemFree"),
        ("A", "AnonPages"),
        ("AF", "Active(file)"),
        ("IF", "Inactive(file)"),
        ("D", "Dirty"),
        ("SF", "SwapFree"),
    ];
    let kib = |word: &str| scaled(word, 1024.0).filter(|kib| *kib <= MOST_KIB);
    let text = text.trim();
    if let Some((memory, swap)) = text.strip_prefix("MemTotal: ").and_then(|rest| rest.split_once(", SwapTotal: ")) {
        return Some(vec![("MemTotal", kib(memory)?), ("SwapTotal", kib(swap)?)]);
    }
    let words: Vec<(&str, &str)> = text.split_whitespace().map(|word| word.split_once('=')).collect::<Option<_>>()?;
    let has = |name: &str| words.iter().any(|(own, _)| *own == name);
    if !["MA", "MF", "SF"].into_iter().all(has) {
        return None;
    }
    let mut sizes = Vec::new();
    for (own, value) in &words {
        if let Some((_, name)) = NAMES.iter().find(|(printed, _)| printed == own) {
            sizes.push((*name, kib(value.split('=').next()?)?));
        }
    }
    let of = |name: &str| words.iter().find(|(own, _)| *own == name).and_then(|(_, value)| kib(value));
    // Its file pages are all of them, buffers included.
    sizes.extend(of("F").into_iter().flat_map(|files| [("Cached", files), ("Buffers", 0)]));
    sizes.extend(of("SF").zip(of("SU")).map(|(free, used)| ("SwapTotal", free + used)));
    Some(sizes)
}

/// `223456789 pages swapped in`: the number, and which of these it is.
pub(super) fn of_summary(text: &str, names: &[&str]) -> Option<(u64, usize)> {
    let (number, name) = text.trim().split_once(' ')?;
    let place = names.iter().position(|printed| *printed == name.trim())?;
    Some((number.parse().ok()?, place))
}

/// A line of `numastat`, as `/proc/vmstat` has the sum of its nodes. In lines of one number they are of that file itself. With `-c` and `-n` the names
/// have capitals, the numbers are MB, and the last one is the sum.
fn of_numastat(words: &[&str]) -> Option<String> {
    /// Pages of 4 KiB; for the part that missed it does not matter.
    const PAGES_OF_MB: f64 = 256.0;
    let (own, numbers) = words.split_first().filter(|(_, numbers)| !numbers.is_empty())?;
    let of_mb = NUMASTAT.iter().find(|(printed, _)| printed != own && own.eq_ignore_ascii_case(printed));
    if let Some((_, name)) = of_mb.filter(|_| numbers.len() > 1) {
        let numbers: Option<Vec<f64>> = numbers.iter().map(|word| word.parse().ok()).collect();
        let sum = numbers?.last().copied().filter(|sum| (0.0..1e12).contains(sum))?;
        return Some(format!("{name} {}", (sum * PAGES_OF_MB) as u64));
    }
    let (printed, name) = NUMASTAT.iter().find(|(printed, _)| printed == own)?;
    let add = |sum: Option<u64>, word: &&str| sum?.checked_add(word.parse::<u64>().ok()?);
    let sum = numbers.iter().fold(Some(0), add)?;
    (numbers.len() > 1 || printed != name).then(|| format!("{name} {sum}"))
}

/// `allocstall_normal  263210  190763  -72447  -28.00`, `*pswpin  1486615  512238`: two totals of one counter side by side, of two kernels or before and
/// after a change. The first, as a line of `/proc/vmstat`: which of the two is the host that is asked about nobody can tell from the table.
fn of_two_columns(words: &[&str]) -> Option<String> {
    let [name, one, other, rest @ ..] = words else { return None };
    let name = name.trim_start_matches('*');
    let are_numbers = [one, other].iter().all(|word| is_number(word));
    // Behind them stand their difference and their ratio.
    let is_table = are_numbers && rest.len() <= 2 && rest.iter().all(|word| word.parse::<f64>().is_ok());
    (is_table && is_vmstat(name) && !name.ends_with("_total")).then(|| format!("{name} {one}"))
}
