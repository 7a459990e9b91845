//! Tracepoints that tell when a task is held up in memory management: the recorder reads them, and an import reads what others
//! traced of them. Names and fields: `include/trace/events/{vmscan,compaction,huge_memory,writeback}.h` (6.12).

use super::StallKind;

/// What an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A stall of that kind begins on this thread.
    Begin(StallKind),
    /// It ends.
    End(StallKind),
    /// The order of the compaction that begins next on this thread.
    Order,
    /// The whole stall, with how long it took or will take.
    Whole(StallKind),
}

/// One tracepoint: its name, what it tells, and the fields it is of no use without.
#[derive(Clone, Copy, Debug)]
pub struct StallEvent {
    /// `group/name`, as below `events` in tracefs.
    pub name: &'static str,
    /// What it tells.
    pub role: Role,
    /// The field with the order of the allocation.
    pub order: Option<&'static str>,
    /// The field with how it ended.
    pub outcome: Option<&'static str>,
    /// The field with how long it was, and nanoseconds in its unit.
    pub duration: Option<(&'static str, u64)>,
}

const fn event(name: &'static str, role: Role) -> StallEvent {
    StallEvent { name, role, order: None, outcome: None, duration: None }
}

/// All of them.
pub static STALL_EVENTS: [StallEvent; 10] = [
    StallEvent {
        order: Some("order"),
        ..event("vmscan/mm_vmscan_direct_reclaim_begin", Role::Begin(StallKind::DirectReclaim))
    },
    event("vmscan/mm_vmscan_direct_reclaim_end", Role::End(StallKind::DirectReclaim)),
    StallEvent {
        order: Some("order"),
        ..event("vmscan/mm_vmscan_memcg_reclaim_begin", Role::Begin(StallKind::CgroupReclaim))
    },
    event("vmscan/mm_vmscan_memcg_reclaim_end", Role::End(StallKind::CgroupReclaim)),
    StallEvent {
        outcome: Some("reason"),
        duration: Some(("usec_delayed", 1_000)),
        ..event("vmscan/mm_vmscan_throttled", Role::Whole(StallKind::Throttled))
    },
    StallEvent { order: Some("order"), ..event("compaction/mm_compaction_try_to_compact_pages", Role::Order) },
    event("compaction/mm_compaction_begin", Role::Begin(StallKind::Compaction)),
    StallEvent { outcome: Some("status"), ..event("compaction/mm_compaction_end", Role::End(StallKind::Compaction)) },
    StallEvent {
        outcome: Some("status"),
        ..event("huge_memory/mm_collapse_huge_page", Role::Whole(StallKind::Collapse))
    },
    StallEvent {
        duration: Some(("pause", 1_000_000)),
        ..event("writeback/balance_dirty_pages", Role::Whole(StallKind::DirtyBalance))
    },
];

/// What a stall is by the thread that it holds up: kcompactd's compaction, and that of kswapd before 4.6, holds up nobody.
#[must_use]
pub fn of_thread(kind: StallKind, comm: &str) -> StallKind {
    let is_background = comm.starts_with("kcompactd") || comm.starts_with("kswapd");
    if kind == StallKind::Compaction && is_background { StallKind::BackgroundCompaction } else { kind }
}
