//! The guard's loop works where memory is short, so after its start it must not ask for any: an allocator that counts reads nothing in its thread.

use pagewise_core::guard::SECOND;
use pagewise_core::guard::asked::GuardRequest;
use pagewise_host::guard::running::{GuardMessage, Guards};
use pagewise_host::guard::status;
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's, and a count of what a thread asks of it while it wants that.
struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.with(Cell::get) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Guards every node for some seconds, and counts what its thread allocates between its first word and its last.
fn allocations(asked: &str, acts: bool) -> (u64, u64) {
    let asked: GuardRequest = asked.parse().unwrap();
    let guards = Guards::open(&Root::live(), &asked, &[0], acts).unwrap();
    ALLOCATIONS.store(0, Ordering::Relaxed);
    let words = AtomicU64::new(0);
    let tell = |_: &_, told: GuardMessage<'_>| {
        if matches!(told, GuardMessage::Does(..)) {
            words.fetch_add(1, Ordering::Relaxed);
            COUNTS.set(true);
        }
    };
    let done = guards.run(Some(4 * SECOND), &Interrupt::default(), &tell).unwrap();
    assert!(words.load(Ordering::Relaxed) >= 2 && done[0].1.samples > 3);
    (ALLOCATIONS.load(Ordering::Relaxed), done[0].1.slices)
}

#[test]
fn after_its_start_the_loop_allocates_nothing() {
    // What ends a run, and hands over what was done, is behind the last word, and is a handful.
    let of_ending = 8;
    let counted = {
        COUNTS.set(true);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        drop(std::hint::black_box(vec![1_u8; 4096]));
        COUNTS.set(false);
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    assert!(counted >= 1, "the count does not count");
    let (idle, _) = allocations("on", false);
    assert!(idle <= of_ending, "{idle} allocations while nothing streams");

    pagewise_testkit::requires!(root, node_reclaim);
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("stream");
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let over = AtomicBool::new(false);
    let (busy, slices) = thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = vec![0; 1 << 20];
            while !over.load(Ordering::Relaxed) {
                let mut file = File::open(&path).unwrap();
                while file.read(&mut buffer).unwrap() > 0 && !over.load(Ordering::Relaxed) {
                    thread::sleep(std::time::Duration::from_millis(2));
                }
                let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
            }
        });
        // Below any threshold, a megabyte at a time: as many slices as there are looks.
        let found = allocations("paper(threshold=1T+amount=1M)", true);
        over.store(true, Ordering::Relaxed);
        found
    });
    assert!(slices > 10, "{slices} slices");
    assert!(busy <= of_ending, "{busy} allocations in {slices} slices");
    // Nothing of it is told of once it is over; the process lives on.
    let own = status::running(&Root::live()).into_iter().find(|one| one.pid == std::process::id());
    assert_eq!(own, None);
}
