//! What a part that goes on beside the victim is told, and what it answers: it says "ready" when it is steady; "begin" starts its
//! count; when its standard input ends it says in a line of JSON what it counted, and ends.

use serde::Serialize;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const OVER: u8 = 2;

/// How far it is.
#[derive(Clone, Debug)]
pub(super) struct Readiness(Arc<AtomicU8>);

impl Readiness {
    /// Listens to standard input from now on.
    pub(super) fn listen() -> io::Result<Readiness> {
        let state = Arc::new(AtomicU8::new(WAITING));
        let told = Arc::clone(&state);
        thread::Builder::new().name("listen".to_owned()).stack_size(64 << 10).spawn(move || {
            for line in io::stdin().lock().lines() {
                match line {
                    Ok(line) if line == "begin" => told.store(BEGUN, Ordering::Release),
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
            told.store(OVER, Ordering::Release);
        })?;
        Ok(Readiness(state))
    }

    /// Whether its count is to begin now; says so once.
    pub(super) fn begins(&self) -> bool {
        self.0.compare_exchange(BEGUN, WAITING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether it is to end.
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == OVER
    }
}

/// It is steady.
pub(super) fn ready() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()
}

/// What it counted.
pub(super) fn answer(counted: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(counted)?)?;
    out.flush()
}
