//! What can be measured: pressure and its triggers, perf events, tracepoints, the processor's counters.

use super::{ANOTHER_HOST, Setting, kernel};
use crate::root::Root;
use crate::sys::perf_event::{Event, Scope, try_open};
use pagewise_core::report::doctor::{Area, Capability};
use std::io::{self, Write};

const AREA: Area = Area::Measuring;
const PRESSURE: &str = "/proc/pressure/memory";

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    let mut list = vec![pressure(root)];
    if !root.is_live() {
        let asked_live = [
            ("psi.trigger", "pressure triggers"),
            ("perf.own", "events, own job"),
            ("perf.host", "events, whole host"),
            ("perf.tracepoints", "tracepoints"),
            ("perf.pmu", "processor counters"),
        ];
        list.extend(asked_live.map(|(id, what)| Capability::unknown(AREA, id, what, ANOTHER_HOST, "")));
        return list;
    }
    list.extend([triggers(root), own_events(root), host_events(root), tracepoints(root), counters(root)]);
    list
}

fn pressure(root: &Root) -> Capability {
    let (absent, remedy) = match kernel::is_older_than(root, 4, 20) {
        Some(true) => ("needs Linux 4.20 or later", "boot a kernel that has it, such as Debian's"),
        _ => ("this kernel was built or booted without it (CONFIG_PSI)", "boot with psi=1 on the command line"),
    };
    let setting = Setting { area: AREA, id: "psi", what: "pressure (PSI)", path: PRESSURE, absent, remedy };
    match root.read(PRESSURE) {
        Ok(text) => {
            let total = text.lines().find_map(|line| line.strip_prefix("some ")?.rsplit_once("total=")).map(|(_, t)| t);
            let seconds =
                total.and_then(|total| total.trim().parse::<f64>().ok()).map(|microseconds| microseconds / 1e6);
            let value = seconds.map_or(String::new(), |s| format!("memory: {s:.1} s stalled since boot"));
            Capability::yes(AREA, "psi", setting.what, value)
        }
        // With psi=0 the file is there and says that it is not supported.
        Err(error) if error.source.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            Capability::no(AREA, "psi", setting.what, "built in, switched off at boot", setting.remedy)
        }
        Err(error) => setting.absent(root, &error),
    }
}

/// Windows to try, in microseconds: any window up to 10 s needs CAP_SYS_RESOURCE, multiples of 2 s do not
/// (`kernel/sched/psi.c`, 6.18). The stall asked for is a tenth of the window.
const WINDOWS: [(u64, &str); 2] = [(1_000_000, "1 s"), (2_000_000, "2 s")];

/// Registers triggers and lets them go: closing the file removes them.
fn triggers(root: &Root) -> Capability {
    let (id, what) = ("psi.trigger", "pressure triggers");
    let [short, long] = WINDOWS.map(|(window, _)| try_trigger(root, window));
    match (short, long) {
        (Ok(()), _) => Capability::yes(AREA, id, what, "any window of 500 ms to 10 s"),
        (Err(_), Ok(())) => Capability::yes(AREA, id, what, "windows that are multiples of 2 s only").with(
            pagewise_core::report::doctor::State::Limited,
            "shorter ones need CAP_SYS_RESOURCE",
            "run with that capability; Pagewise does with 2 s",
        ),
        (Err(_), Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            Capability::no(AREA, id, what, "no pressure information here", "boot with psi=1 on the command line")
        }
        (Err(_), Err(error)) => {
            Capability::no(AREA, id, what, format!("registering one failed: {}", super::plain(&error)), "run as root")
        }
    }
}

fn try_trigger(root: &Root, window: u64) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(root.path(PRESSURE))?;
    file.write_all(format!("some {} {window}\0", window / 10).as_bytes())
}

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

fn own_events(root: &Root) -> Capability {
    let (id, what) = ("perf.own", "events, own job");
    match try_open(Event::CpuClock, Scope::OwnUserCode) {
        Ok(()) => Capability::yes(AREA, id, what, "sampling by clock (perf_event_open)"),
        Err(error) => refused(root, id, what, &error),
    }
}

fn host_events(root: &Root) -> Capability {
    let (id, what) = ("perf.host", "events, whole host");
    match try_open(Event::CpuClock, Scope::WholeCpu) {
        Ok(()) => Capability::yes(AREA, id, what, "sampling by clock, the kernel included"),
        Err(error) => refused(root, id, what, &error),
    }
}

fn refused(root: &Root, id: &str, what: &str, error: &io::Error) -> Capability {
    if error.raw_os_error() == Some(libc::ENOSYS) {
        let why = "perf_event_open is not known: kernel without CONFIG_PERF_EVENTS, or a system call filter";
        return Capability::no(AREA, id, what, why, "run outside the container");
    }
    let level = root.read(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
    let why = format!("{}; perf_event_paranoid is {level}", super::plain(error));
    Capability::no(AREA, id, what, why, "run as root or with CAP_PERFMON")
}

/// tracefs in its own place, or where debugfs shows it.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const RECLAIM_EVENT: &str = "events/vmscan/mm_vmscan_direct_reclaim_begin/id";

fn tracepoints(root: &Root) -> Capability {
    let (id, what) = ("perf.tracepoints", "tracepoints");
    let mut refusal = None;
    for folder in TRACEFS {
        match root.read(&format!("{folder}/{RECLAIM_EVENT}")) {
            Ok(text) => return open_tracepoint(root, id, what, folder, &text),
            Err(error) if error.is_not_permitted() => refusal = Some(error),
            Err(_) => {}
        }
    }
    match refusal {
        Some(error) => Capability::no(AREA, id, what, error.to_string(), "run as root"),
        None => {
            let why = "tracefs is not mounted, so events have no numbers";
            Capability::no(AREA, id, what, why, "as root: mount -t tracefs tracefs /sys/kernel/tracing")
        }
    }
}

fn open_tracepoint(root: &Root, id: &str, what: &str, folder: &str, number: &str) -> Capability {
    let Ok(number) = number.trim().parse() else {
        return Capability::unknown(AREA, id, what, format!("{folder}/{RECLAIM_EVENT} holds no number"), "");
    };
    match try_open(Event::Tracepoint(number), Scope::WholeCpu) {
        Ok(()) => Capability::yes(AREA, id, what, format!("vmscan and others through {folder}")),
        Err(error) => refused(root, id, what, &error),
    }
}

/// Cycles first: a processor that has them may still not count TLB misses.
fn counters(root: &Root) -> Capability {
    let (id, what) = ("perf.pmu", "processor counters");
    match (try_open(Event::Cycles, Scope::OwnUserCode), try_open(Event::DtlbLoadMisses, Scope::OwnUserCode)) {
        (Ok(()), Ok(())) => Capability::yes(AREA, id, what, "cycles and TLB misses"),
        (Ok(()), Err(_)) => Capability::yes(AREA, id, what, "cycles, no TLB misses"),
        (Err(error), _) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV)) => {
            let why = "no hardware events: virtual machines often get none";
            let remedy = "ask for an instance type with a virtual PMU; until then the walk cost below stands in";
            Capability::no(AREA, id, what, why, remedy)
        }
        (Err(error), _) => refused(root, id, what, &error),
    }
}
