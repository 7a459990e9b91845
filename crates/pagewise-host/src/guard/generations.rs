//! The generations of MGLRU as a way to take page cache: `/sys/kernel/debug/lru_gen` (since 6.1, `mm/vmscan.c`, `run_cmd`) lists, for each cgroup and
//! node, how many pages each generation has, and evicts up to a generation with a swappiness of its own. With 0 it takes of files alone, also where the
//! host could swap and `memory.reclaim` does not know that word (5.19 to 6.8).
//!
//! The two youngest generations are never evicted. Where no older one has pages a new one is begun, as kswapd would do.

use super::GuardError;
use super::back_end::ask;
use super::domain::DomainName;
use crate::facts::reclaim::{GENERATIONS as PATH, by_generations};
use crate::root::Root;
use pagewise_core::guard::MILLISECOND;
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The list of a host with a thousand cgroups; what is beyond is not taken from.
const ROOM: usize = 512 << 10;
const MOST_GROUPS: usize = 2048;

/// Generations that the kernel keeps (`MIN_NR_GENS`, `include/linux/mmzone.h`, 6.12).
const KEPT: u64 = 2;

/// The list is read anew so often, and where what it had is taken.
const READ_EVERY: u64 = 100 * MILLISECOND;

/// Of how many cgroups pages are asked for in one request.
const MOST_ASKED: usize = 4;

/// What a cgroup has on the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Generations {
    cgroup: u64,
    youngest: u64,
    /// Pages of files in generations that may be evicted, and in the older of the two that are kept.
    evictable: u64,
    next: u64,
}

/// Reclaims from one node.
#[derive(Debug)]
pub(super) struct GenerationsFile {
    file: File,
    node: u32,
    page: u64,
    text: Vec<u8>,
    groups: Vec<Generations>,
    read_at: u64,
}

impl GenerationsFile {
    /// Opens it, where generations are what the kernel reclaims by, and it may be written.
    ///
    /// # Errors
    /// Why it is of no use.
    pub(super) fn open(root: &Root, node: u32) -> Result<GenerationsFile, GuardError> {
        let cannot = |why: String| GuardError::NoBackEnd { domain: DomainName::Node(node), why };
        if !by_generations(root) {
            return Err(cannot("the kernel does not reclaim by generations".to_owned()));
        }
        let file = File::options().read(true).write(true).open(root.path(PATH));
        let file = file.map_err(|error| {
            cannot(format!("{PATH}: {error}; kernels have it since 6.1, where debugfs is mounted and not locked down"))
        })?;
        let page = rustix::param::page_size() as u64;
        let (text, groups) = (vec![0; ROOM], Vec::with_capacity(MOST_GROUPS));
        let mut found = GenerationsFile { file, node, page, text, groups, read_at: 0 };
        found.read().map_err(|error| cannot(format!("{PATH}: {error}")))?;
        if found.groups.is_empty() {
            return Err(cannot(format!("{PATH} lists no generations of this node")));
        }
        Ok(found)
    }

    /// Asks for so many bytes of page cache; `false` where less was to be had. Allocates nothing.
    ///
    /// # Errors
    /// What says that the file is of no use.
    pub(super) fn reclaim(&mut self, at: u64, bytes: u64) -> Result<bool, Errno> {
        let mut left = bytes.div_ceil(self.page);
        let known: u64 = self.groups.iter().take(MOST_ASKED).map(|group| group.evictable).sum();
        if known < left || at.saturating_sub(self.read_at) >= READ_EVERY {
            self.read().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            self.read_at = at;
        }
        for index in 0..MOST_ASKED.min(self.groups.len()) {
            let group = self.groups[index];
            let pages = left.min(group.evictable);
            if pages > 0 && self.evict(&group, pages)? {
                left -= pages;
                self.groups[index].evictable -= pages;
            }
        }
        // Nothing is old enough: what is youngest now becomes older, for the next request.
        if left > 0 {
            let of_next = self.groups.iter().max_by_key(|group| group.next).filter(|group| group.next >= left);
            if let Some(group) = of_next.copied() {
                self.begin_generation(&group)?;
            }
        }
        Ok(left == 0)
    }

    /// Reads how many pages the generations have, the cgroup with the most that may be evicted first.
    fn read(&mut self) -> std::io::Result<()> {
        let mut length = 0;
        while length < self.text.len() {
            match self.file.read_at(&mut self.text[length..], length as u64)? {
                0 => break,
                read => length += read,
            }
        }
        listed(&self.text[..length], self.node, &mut self.groups);
        self.groups.sort_unstable_by_key(|group| std::cmp::Reverse(group.evictable));
        Ok(())
    }

    /// `- memcg_id node_id min_gen_nr swappiness nr_to_reclaim`.
    fn evict(&self, group: &Generations, pages: u64) -> Result<bool, Errno> {
        let Some(oldest_kept) = group.youngest.checked_sub(KEPT) else { return Ok(false) };
        self.command(format_args!("- {} {} {oldest_kept} 0 {pages}\n", group.cgroup, self.node))
    }

    /// `+ memcg_id node_id max_gen_nr can_swap force_scan`: a generation more, without looking through all page tables for it.
    fn begin_generation(&self, group: &Generations) -> Result<bool, Errno> {
        self.command(format_args!("+ {} {} {} 0 0\n", group.cgroup, self.node, group.youngest))
    }

    /// `false` where the cgroup is gone, or its generations are others by now.
    fn command(&self, words: std::fmt::Arguments<'_>) -> Result<bool, Errno> {
        match ask(&self.file, words) {
            Err(Errno::INVAL | Errno::NOENT | Errno::RANGE | Errno::EXIST) => Ok(false),
            answer => answer,
        }
    }
}

/// Takes the generations of a node out of the list: `memcg ID PATH`, `node ID`, and a line for each generation, the oldest first, of its number, its age in
/// milliseconds, and its anonymous and file pages. Allocates nothing beyond the room there is.
fn listed(text: &[u8], node: u32, groups: &mut Vec<Generations>) {
    groups.clear();
    let (mut cgroup, mut is_node) = (None, false);
    let mut now: Option<Generations> = None;
    // The pages of the last two generations: of those nothing is taken.
    let mut last = [0_u64; KEPT as usize];
    let keep = |group: Option<Generations>, last: [u64; 2], groups: &mut Vec<Generations>| {
        if let Some(group) = group.filter(|_| groups.len() < groups.capacity()) {
            groups.push(Generations { next: last[0], ..group });
        }
    };
    for line in text.split(|byte| *byte == b'\n') {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        match first {
            b"memcg" => {
                keep(now.take(), last, groups);
                (cgroup, is_node) = (number(second), false);
            }
            b"node" => {
                keep(now.take(), last, groups);
                is_node = number(second) == Some(u64::from(node));
                last = [0; 2];
            }
            _ => {
                let (Some(cgroup), Some(youngest), true) = (cgroup, number(first), is_node) else { continue };
                let (_, Some(file)) = (words.next(), words.next().and_then(number)) else { continue };
                let group = now.get_or_insert(Generations { cgroup, ..Generations::default() });
                group.evictable += last[0];
                group.youngest = youngest;
                last = [last[1], file];
            }
        }
    }
    keep(now, last, groups);
}

/// A mark may follow it.
fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&word[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 6.12 prints it.
    const LISTED: &str = "memcg     1 /\n node     0\n          4      90012        120        4000 \n          5      60010          0        \
                          2000 \n          6      30000          7         300 \n          7         10          9          50 \n node     1\n          0          1          0    \
                          99 \nmemcg    52 /system.slice/job.service\n node     0\n          0         10          1          70 \n          1          5          1          60 \n";

    #[test]
    fn what_may_be_evicted_is_all_but_the_two_youngest_generations() {
        let mut groups = Vec::with_capacity(8);
        listed(LISTED.as_bytes(), 0, &mut groups);
        let first = Generations { cgroup: 1, youngest: 7, evictable: 6000, next: 300 };
        let second = Generations { cgroup: 52, youngest: 1, evictable: 0, next: 70 };
        assert_eq!(groups, [first, second]);
        listed(LISTED.as_bytes(), 1, &mut groups);
        assert_eq!(groups, [Generations { cgroup: 1, youngest: 0, evictable: 0, next: 0 }]);
    }

    #[test]
    fn more_cgroups_than_there_is_room_for_are_left_out_and_nonsense_is_nothing() {
        let mut groups = Vec::with_capacity(1);
        listed(LISTED.as_bytes(), 0, &mut groups);
        assert_eq!((groups.len(), groups.capacity()), (1, 1));
        for text in ["", "memcg\nnode\n1 2 3 4\n", "memcg x /\n node 0\n 1 2 3 4\n", "memcg 1 /\n node 0\n a b c d\n"] {
            listed(text.as_bytes(), 0, &mut groups);
            assert!(groups.is_empty(), "{text:?}");
        }
    }
}
