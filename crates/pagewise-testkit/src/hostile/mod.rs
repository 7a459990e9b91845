//! Input that nobody meant well: every parser of what others write, as one function of bytes each. None may panic, run
//! without end, or fail without saying what to do.
//!
//! `tests/known_truth/hostile_input.rs` feeds them bent samples and the inputs that were kept; `fuzz/` builds them with libFuzzer, and
//! `scripts/fuzz` runs that. A new parser is a line in [`TARGETS`].

mod bend;
mod corpus;
mod kernel;
mod listings;
mod recordings;
mod summary;
mod texts;

pub use bend::{Random, bend};
pub use corpus::{folder, kept};
pub use summary::summary;

/// A parser that is fed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of its folder, and of its test.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Reads bytes and uses what comes of it.
    pub run: fn(&[u8]),
    /// Real ones, which it must understand.
    pub samples: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "collectl",
        reads: "listings of collectl",
        run: listings::collectl,
        samples: || listings::samples("collectl"),
    },
    Target { name: "sar", reads: "listings of sar", run: listings::sar, samples: || listings::samples("sar") },
    Target { name: "nmon", reads: "files of nmon", run: listings::nmon, samples: || listings::samples("nmon") },
    Target { name: "atop", reads: "screens of atop", run: listings::atop, samples: || listings::samples("atop") },
    Target { name: "top", reads: "screens of top", run: listings::top, samples: || listings::samples("top") },
    Target {
        name: "vmstat",
        reads: "listings of vmstat",
        run: listings::vmstat,
        samples: || listings::samples("vmstat"),
    },
    Target {
        name: "perf_script",
        reads: "output of perf script",
        run: listings::perf_script,
        samples: || listings::samples("perf-script"),
    },
    Target {
        name: "perf_top",
        reads: "output of perf top",
        run: listings::perf_top,
        samples: || listings::samples("perf-top"),
    },
    Target {
        name: "perf_report",
        reads: "output of perf report with call graphs",
        run: listings::perf_top,
        samples: || listings::samples("perf-report"),
    },
    Target {
        name: "perf_stat",
        reads: "output of perf stat",
        run: listings::perf_stat,
        samples: || listings::samples("perf-stat"),
    },
    Target {
        name: "folded",
        reads: "collapsed stacks",
        run: listings::folded,
        samples: || listings::samples("folded"),
    },
    Target {
        name: "proc",
        reads: "text of files below /proc",
        run: listings::proc,
        samples: || listings::samples("proc"),
    },
    Target {
        name: "node_exporter",
        reads: "scrapes of node_exporter",
        run: listings::node_exporter,
        samples: || listings::samples("node-exporter"),
    },
    Target { name: "kernel_log", reads: "the kernel's log", run: listings::kernel_log, samples: listings::kernel_logs },
    Target { name: "dstat", reads: "listings of dstat", run: listings::dstat, samples: || listings::samples("dstat") },
    Target { name: "free", reads: "what free prints", run: listings::free, samples: || listings::samples("free") },
    Target { name: "slab", reads: "slabtop and slabinfo", run: listings::slab, samples: || listings::samples("slab") },
    Target {
        name: "gc_log",
        reads: "what a JVM logs of its collections",
        run: listings::gc_log,
        samples: || listings::samples("gc-log"),
    },
    Target {
        name: "trace_events",
        reads: "tracepoints as text",
        run: listings::trace_events,
        samples: || listings::samples("trace-events"),
    },
    Target {
        name: "sosreport",
        reads: "an unpacked sosreport, its files one after the other",
        run: listings::sosreport,
        samples: listings::sosreports,
    },
    Target { name: "recording", reads: "a recording's file", run: recordings::file, samples: recordings::files },
    Target {
        name: "rows",
        reads: "rows and segments inside a recording",
        run: recordings::rows,
        samples: recordings::encoded,
    },
    Target { name: "event_log", reads: "event logs of Spark", run: texts::event_log, samples: texts::event_logs },
    Target { name: "plan", reads: "plans of trials", run: texts::plan, samples: texts::plans },
    Target {
        name: "policy",
        reads: "policies, names and values of tunables, metrics of a live proof",
        run: texts::policy,
        samples: texts::policies,
    },
    Target { name: "table", reads: "tables of anybody's measurements", run: texts::table, samples: texts::tables },
    Target { name: "journal", reads: "the journal of changes", run: texts::journal, samples: texts::journals },
    Target {
        name: "kernel_files",
        reads: "files of /proc and tracefs",
        run: kernel::files,
        samples: kernel::file_samples,
    },
    Target {
        name: "perf_ring",
        reads: "records of the kernel's ring of perf events",
        run: kernel::ring,
        samples: kernel::rings,
    },
    Target {
        name: "boot_loader",
        reads: "menus and environment blocks of boot loaders",
        run: texts::boot_loader,
        samples: texts::boot_loaders,
    },
    Target {
        name: "symbols",
        reads: "programs, perf maps, /proc/kallsyms, /proc/PID/maps, mangled names",
        run: kernel::symbols,
        samples: kernel::symbol_files,
    },
];

/// The one of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
