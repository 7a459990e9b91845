//! What an allocation is for, by the functions above it in a stack: a large block that has to be made by compaction may be a huge page,
//! and then settings of huge pages help; or it is for something else that they do not touch.

use super::functions::{matches, without_suffix};

/// What memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// A huge page: at a page fault, on request (`madvise`, `hugetlbfs`), or by khugepaged.
    HugePage,
    /// Page cache: large folios of files that are read ahead or written.
    FileData,
    /// Packets, and buffers of network cards.
    Network,
    /// A process or thread that starts: its stack, its table of pages.
    Process,
    /// A device's buffers.
    Device,
    /// Objects and buffers of the kernel's own (`kmalloc`, `kvmalloc`, slab).
    KernelObject,
}

impl Purpose {
    const ALL: [Purpose; 6] = [
        Purpose::HugePage,
        Purpose::FileData,
        Purpose::Network,
        Purpose::Process,
        Purpose::Device,
        Purpose::KernelObject,
    ];

    /// In a file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Purpose::HugePage => "huge_page",
            Purpose::FileData => "file_data",
            Purpose::Network => "network",
            Purpose::Process => "process",
            Purpose::Device => "device",
            Purpose::KernelObject => "kernel_object",
        }
    }

    /// The one of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Purpose> {
        Purpose::ALL.into_iter().find(|purpose| purpose.word() == word)
    }

    /// In a sentence, behind "for".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Purpose::HugePage => "huge pages",
            Purpose::FileData => "data of files",
            Purpose::Network => "the network",
            Purpose::Process => "starting processes and threads",
            Purpose::Device => "buffers of devices",
            Purpose::KernelObject => "buffers and objects of the kernel",
        }
    }

    /// Whether something further out may say it better: of a kernel's buffer, whose it is.
    fn yields_to(self, outer: Purpose) -> bool {
        self == Purpose::KernelObject && matches!(outer, Purpose::Network | Purpose::Process | Purpose::Device)
    }
}

/// Functions that ask, from 2.6.38 to 6.18; `*` stands for any end. None of those that every allocation goes through.
const ASKING: &[(Purpose, &[&str])] = &[
    (
        Purpose::HugePage,
        &[
            // mm/huge_memory.c, mm/memory.c
            "do_huge_pmd_anonymous_page",
            "__do_huge_pmd_anonymous_page",
            "do_huge_pmd_wp_page*",
            "do_huge_zero_wp_pmd*",
            "alloc_hugepage*",
            "vma_alloc_anon_folio_pmd",
            "alloc_anon_folio",
            // mm/shmem.c: what it asks for at a fault without huge pages is single.
            "shmem_alloc_hugepage",
            "shmem_alloc_hugefolio",
            // mm/khugepaged.c
            "collapse_huge_page",
            "collapse_file",
            "alloc_charge_hpage",
            "alloc_charge_folio",
            "khugepaged_alloc_page",
            "khugepaged_prealloc_page",
            "madvise_collapse*",
            // mm/hugetlb.c
            "alloc_fresh_huge_page*",
            "alloc_fresh_hugetlb_folio*",
            "alloc_buddy_huge_page*",
            "__alloc_buddy_huge_page*",
            "alloc_buddy_hugetlb_folio*",
            "alloc_surplus_huge*",
            "alloc_migrate_huge*",
            "alloc_pool_huge*",
            "only_alloc_fresh_hugetlb_folio",
        ],
    ),
    (
        Purpose::FileData,
        &[
            // mm/readahead.c, mm/filemap.c
            "page_cache_ra_*",
            "page_cache_sync_ra",
            "page_cache_async_ra",
            "ra_alloc_folio",
            "__do_page_cache_readahead",
            "ondemand_readahead",
            "filemap_alloc_folio*",
            "__filemap_get_folio*",
            "__page_cache_alloc",
            "pagecache_get_page",
            "grab_cache_page*",
            "find_or_create_page",
            "filemap_create_folio",
            "iomap_get_folio",
        ],
    ),
    (
        Purpose::Network,
        &[
            // net/core/skbuff.c, net/core/sock.c, net/core/page_pool.c
            "__alloc_skb",
            "alloc_skb*",
            "__netdev_alloc_*",
            "netdev_alloc_*",
            "__napi_alloc_*",
            "napi_alloc_*",
            "kmalloc_reserve",
            "pskb_expand_head",
            "skb_copy*",
            "skb_page_frag_refill",
            "sk_page_frag_refill",
            "sock_alloc_send_*",
            "sock_kmalloc",
            "page_pool_*",
            "__page_pool_*",
            "tcp_sendmsg*",
            "tcp_send_rcvq",
            "sk_stream_alloc_skb",
            "tcp_stream_alloc_skb",
        ],
    ),
    (
        Purpose::Process,
        &[
            // kernel/fork.c
            "copy_process",
            "dup_task_struct",
            "alloc_thread_stack_node",
            "alloc_thread_info_node",
            "alloc_task_struct_node",
            "kernel_clone",
            "do_fork",
            "_do_fork",
        ],
    ),
    (
        Purpose::Device,
        &[
            // kernel/dma/, drivers/iommu/, drivers/gpu/drm/ttm/
            "dma_alloc_*",
            "__dma_alloc*",
            "dma_direct_alloc*",
            "__dma_direct_alloc*",
            "dma_generic_alloc_coherent",
            "x86_swiotlb_alloc_coherent",
            "swiotlb_alloc_coherent",
            "iommu_dma_alloc*",
            "__iommu_dma_alloc*",
            "intel_alloc_coherent",
            "sg_build_indirect*",
            "sg_alloc_table*",
            "ttm_pool_alloc*",
            "ttm_pool_alloc_page",
            "ttm_alloc_new_pages",
            "ttm_get_pages",
            "i915_gem_object_get_pages*",
            "shmem_sg_alloc_table",
        ],
    ),
    (
        Purpose::KernelObject,
        &[
            // mm/slub.c, mm/slab.c, mm/slab_common.c, mm/util.c, mm/vmalloc.c
            "new_slab",
            "allocate_slab",
            "alloc_slab_page",
            "___slab_alloc",
            "__slab_alloc*",
            "cache_grow*",
            "cache_alloc_refill",
            "kmem_getpages",
            "kmalloc_order*",
            "kmalloc_large*",
            "__kmalloc_large*",
            "___kmalloc_large*",
            "kvmalloc*",
            "__kvmalloc*",
            "xfs_kvmalloc",
            "xlog_kvmalloc",
            "kmem_alloc_large",
            "__get_free_pages",
            "get_free_pages_noprof",
            "get_zeroed_page*",
            "alloc_pages_exact*",
            "vm_area_alloc_pages",
            "__vmalloc_area_node",
        ],
    ),
];

/// What a function asks memory for. `None`: it does not say.
#[must_use]
pub fn asks_for(name: &str) -> Option<Purpose> {
    let name = without_suffix(name);
    let is_of = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, name));
    ASKING.iter().find(|(_, patterns)| is_of(patterns)).map(|(purpose, _)| *purpose)
}

/// What a stack's allocation is for, once one more function was called in it: what those that called it said, and what it says itself. The
/// innermost that asks decides.
#[must_use]
pub fn within(outer: Option<Purpose>, own: Option<Purpose>) -> Option<Purpose> {
    match (own, outer) {
        (Some(own), Some(outer)) if own.yields_to(outer) => Some(outer),
        (Some(own), _) => Some(own),
        (None, outer) => outer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of functions, the outermost first.
    fn of(names: &[&str]) -> Option<Purpose> {
        names.iter().fold(None, |outer, name| within(outer, asks_for(name)))
    }

    #[test]
    fn the_innermost_that_asks_says_what_for() {
        let inner = ["__alloc_pages_slowpath.constprop.0", "try_to_compact_pages", "compact_zone"];
        let stack = |outer: &[&'static str]| of(&[outer, &inner].concat());
        assert_eq!(stack(&["handle_mm_fault", "do_huge_pmd_anonymous_page"]), Some(Purpose::HugePage));
        assert_eq!(stack(&["do_sendfile", "filemap_get_pages", "page_cache_ra_order"]), Some(Purpose::FileData));
        assert_eq!(stack(&["tcp_sendmsg", "sk_page_frag_refill"]), Some(Purpose::Network));
        assert_eq!(stack(&["__alloc_skb", "kmalloc_reserve", "__kmalloc_large_node"]), Some(Purpose::Network));
        assert_eq!(stack(&["_do_fork", "copy_process", "kmem_cache_alloc", "new_slab"]), Some(Purpose::Process));
        assert_eq!(stack(&["xlog_cil_commit", "kvmalloc_node", "__kmalloc_large_node"]), Some(Purpose::KernelObject));
        // A file system that reads ahead and takes an object for itself meanwhile.
        assert_eq!(stack(&["page_cache_ra_order", "xfs_vm_readahead", "new_slab"]), Some(Purpose::KernelObject));
        assert_eq!(stack(&["handle_mm_fault", "alloc_pages_vma"]), None);
    }
}
