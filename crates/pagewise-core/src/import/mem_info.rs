//! What the kernel writes of memory when an allocation fails, when it kills a process, or when SysRq-m asks it (`show_mem`,
//! 2.4 to 6.x: `lib/show_mem.c`, `mm/page_alloc.c`, `mm/show_mem.c`): levels as `/proc/meminfo` has them, zones as `/proc/zoneinfo`, free blocks as `/proc/buddyinfo`.

use super::listing::{Listing, MOST_KIB};
use super::{Problem, SOURCE};
use crate::kernel_text::visit::INDEX;
use crate::recording::RawUnit;
use std::collections::BTreeMap;

/// Counts of pages, and what meminfo calls them.
const PAGES: [(&str, &str); 18] = [
    ("active_anon", "Active(anon)"),
    ("inactive_anon", "Inactive(anon)"),
    ("active_file", "Active(file)"),
    ("inactive_file", "Inactive(file)"),
    ("active", "Active"),
    ("inactive", "Inactive"),
    ("unevictable", "Unevictable"),
    ("dirty", "Dirty"),
    ("writeback", "Writeback"),
    ("slab", "Slab"),
    ("slab_reclaimable", "SReclaimable"),
    ("slab_unreclaimable", "SUnreclaim"),
    ("mapped", "Mapped"),
    ("shmem", "Shmem"),
    ("pagetables", "PageTables"),
    ("sec_pagetables", "SecPageTables"),
    ("free", "MemFree"),
    ("free_cma", "CmaFree"),
];

/// Others that stand beside them.
const OTHERS: [&str; 8] = [
    "isolated_anon",
    "isolated_file",
    "unstable",
    "bounce",
    "free_pcp",
    "kernel_misc_reclaimable",
    "inactive_dirty",
    "inactive_clean",
];

/// What a zone's line says, and what zoneinfo calls it.
const OF_ZONE: [(&str, &str); 9] = [
    ("free", "free"),
    ("boost", "boost"),
    ("min", "min"),
    ("low", "low"),
    ("high", "high"),
    ("present", "present"),
    ("managed", "managed"),
    ("active_file", "nr_zone_active_file"),
    ("inactive_file", "nr_zone_inactive_file"),
];

/// As kernels name them.
const ZONES: [&str; 6] = ["DMA", "DMA32", "Normal", "HighMem", "Movable", "Device"];

/// No host has more nodes that anybody asks for.
const MOST_NODES: usize = 64;

/// A block of such lines.
#[derive(Clone, Debug, Default)]
pub(super) struct MemInfo {
    /// When it began, and in which line.
    pub(super) at: i64,
    /// In pages, by meminfo's names.
    pages: BTreeMap<&'static str, u64>,
    /// In KiB.
    kib: BTreeMap<&'static str, u64>,
    ram: Option<u64>,
    reserved: Option<u64>,
    page_cache: Option<u64>,
    swap_cache: Option<u64>,
    /// In KiB, of all nodes together.
    of_nodes: BTreeMap<&'static str, u64>,
    /// KiB, by `node=…,zone=…` and zoneinfo's name.
    zones: BTreeMap<(String, &'static str), u64>,
    /// Free blocks by order.
    blocks: BTreeMap<String, Vec<u64>>,
    /// KiB of a base page, where free blocks tell it.
    page_kib: Option<u64>,
    /// Huge pages of each size in KiB, all and free.
    huge: BTreeMap<u64, (u64, u64)>,
    /// What the last line was of: a mailer may have broken it.
    last: Option<String>,
    /// Free blocks whose line was broken, as far as they have come.
    open: Option<String>,
    /// Nodes and zones of which the kernel says that it found nothing to free, however often it scanned (`all_unreclaimable? yes`, to 4.20), and
    /// those of which it says the contrary.
    given_up: BTreeMap<String, bool>,
    /// Pages of a zone that were scanned since one of it was freed (to 4.11).
    scanned: BTreeMap<String, u64>,
}

/// A zone all of whose pages were scanned so often since one was freed has nothing to free (`zone_reclaimable`, `mm/vmscan.c`, 3.4), whether the kernel
/// has come to say so or not.
const IN_VAIN: u64 = 6;

/// No line of free blocks is longer.
const LONGEST_BLOCKS: usize = 1000;

/// `all_unreclaimable? yes`, anywhere in a line.
fn gives_up(text: &str) -> Option<bool> {
    let (_, rest) = text.split_once("all_unreclaimable? ")?;
    match rest.split_whitespace().next()? {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// `Node 0 active_anon:107048kB inactive_anon:380kB …` of a node as a whole (4.8 and later).
fn node_line(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let ["Node", node, first] = words.as_slice() else { return None };
    (number(node).is_some() && first.starts_with("active_anon:")).then(|| format!("node={node}"))
}

/// `inactive_file:316728kB unevictable:0kB …`: the rest of such a line that a mailer broke.
fn rest_of_line(text: &str) -> Option<BTreeMap<&'static str, u64>> {
    let mut values = BTreeMap::new();
    let mut known = 0;
    for word in text.split_whitespace() {
        let pair =
            word.split_once(':').and_then(|(name, size)| Some((name, size.strip_suffix("kB").and_then(number)?)));
        match pair {
            Some((name, kib)) => {
                known += 1;
                if let Some((_, name)) = OF_ZONE.iter().find(|(own, _)| *own == name) {
                    values.entry(*name).or_insert(kib);
                }
            }
            None if word.ends_with("kB") || matches!(word, "all_unreclaimable?" | "yes" | "no") => {}
            None if word.starts_with("pages_scanned:") || word.ends_with(':') => {}
            None => return None,
        }
    }
    (known >= 2 || gives_up(text).is_some()).then_some(values)
}

/// Whether a line begins a block.
pub(super) fn begins(text: &str) -> bool {
    text.eq_ignore_ascii_case("mem-info:")
}

/// Whether it is of such a block and of nothing else.
pub(super) fn recognises(text: &str) -> bool {
    begins(text)
        || pairs(text).is_some_and(|pairs| pairs.len() >= 2)
        || zone_line(text).is_some_and(|(_, values)| values.contains_key("min"))
        || buddies(text).is_some()
        || begins_blocks(text)
}

impl MemInfo {
    pub(super) fn beginning(at: i64) -> MemInfo {
        MemInfo { at, ..MemInfo::default() }
    }

    /// Takes a line. `Some(false)`: what it says is there already, so it begins the next block. `None`: it is none.
    pub(super) fn line(&mut self, text: &str) -> Option<bool> {
        if let Some(open) = self.open.take().filter(|_| goes_on(text)) {
            let joined = format!("{open} {}", text.trim());
            if joined.contains('=') {
                return self.line(&joined);
            }
            self.open = Some(joined).filter(|joined| joined.len() < LONGEST_BLOCKS);
            return Some(true);
        }
        if let Some(node) = node_line(text) {
            let is_new = !self.given_up.contains_key(&node);
            self.note_what_is_left(&node, text);
            for word in text.split_whitespace().filter(|_| is_new) {
                let Some((name, size)) = word.split_once(':') else { continue };
                let known = PAGES.iter().find(|(own, _)| *own == name);
                if let (Some((_, name)), Some(kib)) = (known, size.strip_suffix("kB").and_then(number)) {
                    let sum = self.of_nodes.entry(name).or_default();
                    *sum = sum.saturating_add(kib);
                }
            }
            self.last = Some(node);
            return Some(is_new);
        }
        if let Some(pairs) = pairs(text) {
            let is_new = pairs.iter().all(|(name, _)| !self.pages.contains_key(name));
            if is_new {
                self.pages.extend(pairs);
            }
            return Some(is_new);
        }
        if let Some((labels, values)) = zone_line(text) {
            self.note_what_is_left(&labels, text);
            self.last = Some(labels.clone());
            let is_new = !self.zones.contains_key(&(labels.clone(), "free")) || !values.contains_key("free");
            if is_new && self.zones.len() < MOST_NODES * ZONES.len() * OF_ZONE.len() {
                self.zones.extend(values.into_iter().map(|(name, value)| ((labels.clone(), name), value)));
            }
            return Some(is_new);
        }
        if let (Some(labels), Some(values)) = (self.last.clone(), rest_of_line(text)) {
            self.note_what_is_left(&labels, text);
            if labels.contains("zone=") && self.zones.len() < MOST_NODES * ZONES.len() * OF_ZONE.len() {
                for (name, value) in values {
                    self.zones.entry((labels.clone(), name)).or_insert(value);
                }
            }
            return Some(true);
        }
        if begins_blocks(text) {
            self.open = Some(text.trim().to_owned());
            return Some(true);
        }
        if let Some(found) = buddies(text) {
            let is_new = !self.blocks.contains_key(&found.labels);
            if is_new && self.blocks.len() < MOST_NODES * ZONES.len() {
                self.page_kib = self.page_kib.or(Some(found.page_kib));
                self.blocks.insert(found.labels, found.blocks);
            }
            return Some(is_new);
        }
        self.rest(text)
    }

    fn note_what_is_left(&mut self, labels: &str, text: &str) {
        if let Some(is) = gives_up(text)
            && self.given_up.len() < MOST_NODES * ZONES.len()
        {
            self.given_up.insert(labels.to_owned(), is);
        }
        let scanned = text.split_whitespace().find_map(|word| number(word.strip_prefix("pages_scanned:")?));
        if let Some(pages) = scanned.filter(|_| self.scanned.len() < MOST_NODES * ZONES.len()) {
            self.scanned.entry(labels.to_owned()).or_insert(pages);
        }
    }

    /// Whether nothing was left to free on the host: on a node as a whole, or in the zone that is largest. Small zones have often nothing to free.
    fn has_nothing_to_free(&self) -> Option<bool> {
        let nodes: Vec<bool> =
            self.given_up.iter().filter(|(labels, _)| !labels.contains("zone=")).map(|(_, is)| *is).collect();
        if !nodes.is_empty() {
            return Some(nodes.iter().all(|is| *is));
        }
        let sizes = self.zones.iter().filter(|((_, name), _)| *name == "present");
        let ((largest, _), kib) = sizes.max_by_key(|(_, kib)| **kib)?;
        let pages = kib / self.page_kib.unwrap_or(4);
        let in_vain = self.scanned.get(largest).is_some_and(|scanned| scanned / IN_VAIN >= pages.max(1));
        if in_vain { Some(true) } else { self.given_up.get(largest).copied() }
    }

    fn rest(&mut self, text: &str) -> Option<bool> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let kib = |word: &str| word.strip_suffix("kB").and_then(number);
        match words.as_slice() {
            ["Free", "swap", "=", size] | ["Free", "swap:", size] => {
                self.kib.entry("SwapFree").or_insert(kib(size)?);
            }
            ["Total", "swap", "=", size] => {
                self.kib.entry("SwapTotal").or_insert(kib(size)?);
            }
            ["Free", "pages:", size, ..] => {
                self.kib.entry("MemFree").or_insert(kib(size)?);
            }
            [pages, "pages", "RAM"] | [pages, "pages", "of", "RAM"] => self.ram = self.ram.or(Some(number(pages)?)),
            [pages, "pages", "reserved"] | [pages, "reserved", "pages"] => {
                self.reserved = self.reserved.or(Some(number(pages)?));
            }
            [pages, "total", "pagecache", "pages"] => self.page_cache = self.page_cache.or(Some(number(pages)?)),
            [pages, "pages", "in", "swap", "cache"] => self.swap_cache = self.swap_cache.or(Some(number(pages)?)),
            ["Node", _, rest @ ..] if rest.iter().any(|word| word.starts_with("hugepages_total=")) => {
                self.huge(rest)?
            }
            rest if rest.first().is_some_and(|word| word.starts_with("hugepages_total=")) => self.huge(rest)?,
            _ => return None,
        }
        Some(true)
    }

    /// `hugepages_total=8 hugepages_free=2 hugepages_surp=0 hugepages_size=2048kB`, once a node and size.
    fn huge(&mut self, words: &[&str]) -> Option<()> {
        let of = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let size = number(of("hugepages_size")?.strip_suffix("kB")?)?;
        let (total, free) = (number(of("hugepages_total")?)?, number(of("hugepages_free")?)?);
        let sum = self.huge.entry(size).or_default();
        *sum = (sum.0.saturating_add(total), sum.1.saturating_add(free));
        Some(())
    }

    /// All of it, as levels.
    ///
    /// # Errors
    /// When there are more numbers than can be taken.
    pub(super) fn put(mut self, listing: &mut Listing) -> Result<(), Problem> {
        let page = self.page_kib.unwrap_or(4);
        let at = self.at;
        if let Some(is) = self.has_nothing_to_free() {
            let column = listing.column(SOURCE, "nothing_to_free", "", RawUnit::Count);
            listing.put(at, column, u64::from(is))?;
        }
        for (name, pages) in std::mem::take(&mut self.pages) {
            self.kib.entry(name).or_insert(pages.saturating_mul(page));
        }
        if let (Some(soft), Some(hard)) = (self.kib.get("SReclaimable"), self.kib.get("SUnreclaim")) {
            let slab = soft.saturating_add(*hard);
            self.kib.entry("Slab").or_insert(slab);
        }
        if let Some(ram) = self.ram.filter(|ram| *ram > 0) {
            let managed = ram.saturating_sub(self.reserved.unwrap_or(0));
            self.kib.insert("MemTotal", managed.saturating_mul(page));
        }
        self.add_lists();
        if let Some(swap_cache) = self.swap_cache {
            self.kib.insert("SwapCached", swap_cache.saturating_mul(page));
        }
        // What was torn or edited does not become memory.
        let total = self.kib.get("MemTotal").copied().unwrap_or(u64::MAX >> 1);
        for (name, kib) in &self.kib {
            let is_possible = name.starts_with("Swap") || *kib <= total;
            if is_possible && *kib <= MOST_KIB {
                let column = listing.column("meminfo", name, "", RawUnit::KiB);
                listing.put(at, column, *kib)?;
            }
        }
        // The kernel counts what is in swap, too, as a part of it.
        if let Some(cache) = self.page_cache {
            let kib = cache.saturating_sub(self.swap_cache.unwrap_or(0)).saturating_mul(page);
            if kib <= total {
                let column = listing.column(SOURCE, "page_cache", "", RawUnit::KiB);
                listing.put(at, column, kib)?;
            }
        }
        for ((labels, name), kib) in &self.zones {
            let column = listing.column("zoneinfo", name, labels, RawUnit::Pages);
            listing.put(at, column, kib / page)?;
        }
        for (labels, blocks) in &self.blocks {
            listing.put_free_blocks(at, labels, blocks)?;
        }
        let mut used = self.huge.into_iter().filter(|(_, (total, _))| *total > 0);
        // Which of several sizes meminfo counts is not said.
        if let (Some((size, (total, free))), None) = (used.next(), used.next()) {
            let of = [
                ("HugePages_Total", total, RawUnit::Count),
                ("HugePages_Free", free, RawUnit::Count),
                ("Hugepagesize", size, RawUnit::KiB),
            ];
            for (name, value, unit) in of {
                let column = listing.column("meminfo", name, "", unit);
                listing.put(at, column, value)?;
            }
        }
        Ok(())
    }

    /// What the rest of the report says where its lines of pages were cut off: those of nodes; the lists of anonymous and of file pages together,
    /// as `/proc/meminfo` has them; and the size of memory by its zones, where its last lines are missing.
    fn add_lists(&mut self) {
        for (name, kib) in std::mem::take(&mut self.of_nodes) {
            self.kib.entry(name).or_insert(kib);
        }
        for (name, parts) in
            [("Active", ["Active(anon)", "Active(file)"]), ("Inactive", ["Inactive(anon)", "Inactive(file)"])]
        {
            let sum = parts.iter().map(|part| self.kib.get(part).copied()).sum::<Option<u64>>();
            if let Some(sum) = sum {
                self.kib.entry(name).or_insert(sum);
            }
        }
        let of = |wanted| self.zones.iter().filter(move |((_, name), _)| *name == wanted).map(|(_, kib)| *kib);
        let zones = if of("managed").next().is_some() { of("managed").sum::<u64>() } else { of("present").sum() };
        let parts = ["Active", "Inactive", "Unevictable", "Slab", "MemFree", "PageTables"];
        let counted: u64 = parts.iter().filter_map(|part| self.kib.get(part)).sum();
        // A report may be cut between two of its zones.
        if zones > counted {
            self.kib.entry("MemTotal").or_insert(zones);
        }
    }

    /// Whether anything is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
            && self.kib.is_empty()
            && self.zones.is_empty()
            && self.blocks.is_empty()
            && self.ram.is_none()
    }
}

/// `active_anon:1859030 inactive_anon:329765 isolated_anon:0`, `Active:5 inactive:6 free:7`, `( Active: 5, inactive: 6, free: 7 )`:
/// counts of pages by meminfo's names. `None`: it is no such line.
fn pairs(text: &str) -> Option<Vec<(&'static str, u64)>> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "(),".contains(c)).filter(|word| !word.is_empty()).take(24) {
        // 2.4 has a blank behind the colon.
        match words.last_mut() {
            Some(last) if last.ends_with(':') => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    let mut known = Vec::new();
    let mut is_any = false;
    for word in &words {
        let (name, digits) = word.split_once(':')?;
        let value = number(digits)?;
        let name = name.to_ascii_lowercase();
        match PAGES.iter().find(|(own, _)| *own == name) {
            Some((_, meminfo)) => known.push((*meminfo, value)),
            None if OTHERS.contains(&name.as_str()) => {}
            None => return None,
        }
        is_any = true;
    }
    is_any.then_some(known)
}

/// `Node 0 Normal` or `Normal`: labels as the recorder has them.
fn labels(words: &[&str]) -> Option<String> {
    let (node, zone) = match words {
        ["Node", node, zone] => (number(node)?, *zone),
        [zone] => (0, *zone),
        _ => return None,
    };
    ZONES.contains(&zone).then(|| format!("node={node},zone={zone}"))
}

/// `Node 0 Normal free:16456kB min:16484kB low:20604kB …`: KiB by zoneinfo's names.
fn zone_line(text: &str) -> Option<(String, BTreeMap<&'static str, u64>)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let first = words.iter().take(4).position(|word| word.starts_with("free:"))?;
    let labels = labels(&words[..first])?;
    let mut values = BTreeMap::new();
    for word in &words[first..] {
        let Some((name, size)) = word.split_once(':') else { continue };
        let known = OF_ZONE.iter().find(|(own, _)| *own == name);
        if let (Some((_, name)), Some(kib)) = (known, size.strip_suffix("kB").and_then(number)) {
            values.entry(*name).or_insert(kib);
        }
    }
    values.contains_key("free").then_some((labels, values))
}

struct Buddies {
    labels: String,
    page_kib: u64,
    blocks: Vec<u64>,
}

/// `DMA: 4452*4kB (UC) 4382*8kB (UC)`, broken before its sum.
fn begins_blocks(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(':') else { return false };
    let is_zone = labels(&name.split_whitespace().collect::<Vec<&str>>()).is_some();
    is_zone && !rest.contains('=') && rest.split_whitespace().next().is_some_and(is_blocks)
}

/// `4452*4kB`.
fn is_blocks(word: &str) -> bool {
    word.strip_suffix("kB")
        .and_then(|word| word.split_once('*'))
        .is_some_and(|(count, size)| number(count).is_some() && number(size).is_some())
}

/// More blocks, or their sum.
fn goes_on(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| is_blocks(word) || matches!(word, "=") || word.starts_with('('))
}

/// `Node 0 Normal: 271*4kB (UE) 186*8kB … = 16508kB`. One that does not add up, or was cut, is none.
fn buddies(text: &str) -> Option<Buddies> {
    let (name, rest) = text.split_once(':')?;
    let labels = labels(&name.split_whitespace().collect::<Vec<&str>>())?;
    // A mailer may have put a blank in.
    let rest = rest.replace(" kB", "kB");
    let (list, total) = rest.split_once('=')?;
    let total = number(total.trim().strip_suffix("kB")?)?;
    let (mut blocks, mut page_kib, mut sum) = (Vec::new(), 0u64, 0u64);
    for word in list.split_whitespace().filter(|word| !word.starts_with('(')) {
        let (count, size) = word.split_once('*')?;
        let (count, size) = (number(count)?, number(size.strip_suffix("kB")?)?);
        if blocks.is_empty() {
            page_kib = size;
        }
        let is_next = blocks.len() < INDEX.len() && size == page_kib.checked_shl(blocks.len() as u32)?;
        sum = sum.checked_add(count.checked_mul(size)?)?;
        is_next.then(|| blocks.push(count))?;
    }
    let is_plausible = (6..=20).contains(&blocks.len()) && (1..=1024).contains(&page_kib) && sum == total;
    is_plausible.then_some(Buddies { labels, page_kib, blocks })
}

fn number(word: &str) -> Option<u64> {
    word.parse().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))
}
