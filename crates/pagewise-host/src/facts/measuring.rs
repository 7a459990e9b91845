//! What can be measured: pressure and its triggers, perf events, tracepoints, names of kernel functions, the processor's
//! counters. What a "no" takes from a recording stands with its reason.

use super::{ANOTHER_HOST, Setting, kernel};
use crate::root::Root;
use crate::source::tracefs::Tracefs;
use crate::sys::perf_event::{Event, OpenEvent, SampleFields, SampledTasks, Scope, try_open};
use pagewise_core::report::doctor::{Area, Capability};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

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
            ("perf.symbols", "kernel functions"),
            ("perf.pmu", "processor counters"),
        ];
        list.extend(asked_live.map(|(id, what)| Capability::unknown(AREA, id, what, ANOTHER_HOST, "")));
        return list;
    }
    list.extend([triggers(root), own_events(root), host_events(root)]);
    list.extend([tracepoints(root), symbols(root), counters(root)]);
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
        Err(error) => refused(root, id, what, &error, 2),
    }
}

fn host_events(root: &Root) -> Capability {
    let (id, what) = ("perf.host", "events, whole host");
    match try_open(Event::CpuClock, Scope::WholeCpu) {
        Ok(()) => Capability::yes(AREA, id, what, "sampling by clock, the kernel included"),
        Err(error) => refused(root, id, what, &error, 0),
    }
}

/// `level`: the highest kernel.perf_event_paranoid at which an ordinary user gets it (admin-guide/sysctl/kernel.rst, 6.12).
fn refused(root: &Root, id: &str, what: &str, error: &io::Error, level: i32) -> Capability {
    if error.raw_os_error() == Some(libc::ENOSYS) {
        let why = "perf_event_open is not known: kernel without CONFIG_PERF_EVENTS, or a system call filter";
        return Capability::no(AREA, id, what, why, "run outside the container");
    }
    let now = root.read(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
    let why = format!("{}; perf_event_paranoid is {now}", super::plain(error));
    let remedy = format!("run as root or with CAP_PERFMON; or: sysctl kernel.perf_event_paranoid={level}");
    Capability::no(AREA, id, what, why, &remedy)
}

/// Where tracefs is mounted, if it is.
const TRACEFS: &str = "/sys/kernel/tracing";

/// One of those that stalls are made of.
const RECLAIM_EVENT: &str = "vmscan/mm_vmscan_direct_reclaim_begin";

/// Stalls (tier 2) come from tracepoints, whose numbers and fields are files in tracefs. The recorder reads them without a
/// mount where there is none, and so does this.
fn tracepoints(root: &Root) -> Capability {
    let (id, what) = ("perf.tracepoints", "tracepoints");
    let tracefs = match Tracefs::open(root) {
        Ok(tracefs) => tracefs,
        Err(error) => return no_tracefs(root, id, what, &error),
    };
    let number = match tracefs.tracepoint(RECLAIM_EVENT) {
        Ok(tracepoint) => tracepoint.id,
        Err(error) => {
            let why = format!("record --stalls needs {RECLAIM_EVENT}, which cannot be read: {}", super::plain(&error));
            return Capability::no(AREA, id, what, why, "run as root, on a kernel with tracepoints");
        }
    };
    // As the recorder opens it: fields of events take more rights than their number.
    let fields = SampleFields::Fields { with_names: false };
    match OpenEvent::new(Event::Tracepoint(number), SampledTasks::All, 0, fields, 1).map(drop) {
        Ok(()) if root.exists(&format!("{TRACEFS}/events")) => {
            Capability::yes(AREA, id, what, format!("for record --stalls, through {TRACEFS}"))
        }
        Ok(()) => Capability::yes(AREA, id, what, "for record --stalls; tracefs is not mounted and need not be"),
        Err(error) => refused(root, id, what, &error, -1),
    }
}

fn no_tracefs(root: &Root, id: &str, what: &str, error: &io::Error) -> Capability {
    const MOUNT: &str = "run as root; or, as root: mount -t tracefs tracefs /sys/kernel/tracing";
    let listed = std::fs::read_dir(root.path(TRACEFS));
    let (why, remedy) = match listed {
        Err(hidden) if hidden.kind() == io::ErrorKind::PermissionDenied => {
            ("record --stalls needs tracefs, which root alone may read".to_owned(), "run as root")
        }
        _ => {
            let refused = super::plain(error);
            (format!("record --stalls needs tracefs: not mounted, and not ours to mount ({refused})"), MOUNT)
        }
    };
    Capability::no(AREA, id, what, why, remedy)
}

const KPTR: &str = "/proc/sys/kernel/kptr_restrict";

/// Whether stacks show functions of the kernel by name.
fn symbols(root: &Root) -> Capability {
    let (id, what) = ("perf.symbols", "kernel functions");
    let shown = File::open(root.path("/proc/kallsyms")).map(|file| shows_addresses(BufReader::new(file)));
    match shown {
        Ok(true) => Capability::yes(AREA, id, what, "by name in stacks"),
        Ok(false) => {
            let level = root.read(KPTR).map_or("unknown".to_owned(), |text| text.trim().to_owned());
            // At 0 the kernel shows them to whoever may profile it (kernel/ksyms_common.c kallsyms_show_value, 6.12).
            let (reason, remedy) = match level.as_str() {
                "0" => (
                    "with kernel.kptr_restrict at 0 only who may profile the kernel sees them".to_owned(),
                    "run as root; or: sysctl kernel.perf_event_paranoid=1",
                ),
                _ => (format!("kernel.kptr_restrict is {level}"), "run as root with kernel.kptr_restrict at 0 or 1"),
            };
            let why = format!("addresses in stacks: /proc/kallsyms hides them ({reason})");
            Capability::no(AREA, id, what, why, remedy)
        }
        Err(error) => {
            let why = format!("addresses in stacks: /proc/kallsyms cannot be read: {}", super::plain(&error));
            Capability::no(AREA, id, what, why, "run as root, on a kernel with CONFIG_KALLSYMS")
        }
    }
}

/// The first function tells: data that is numbered per CPU begins at 0, and every address reads 0 where they are hidden.
fn shows_addresses(lines: impl BufRead) -> bool {
    let mut functions = lines.lines().map_while(Result::ok).filter(|line| {
        let kind = line.split_whitespace().nth(1);
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case("t"))
    });
    functions.next().is_some_and(|line| line.bytes().take_while(|byte| *byte != b' ').any(|byte| byte != b'0'))
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
        (Err(error), _) => refused(root, id, what, &error, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_when_the_first_function_has_one() {
        let shown =
            "0000000000000000 A fixed_percpu_data\n0000000000001000 A cpu_debug_store\nffffffff81000000 T _stext\n";
        assert!(shows_addresses(shown.as_bytes()));
        let hidden = "0000000000000000 A fixed_percpu_data\n0000000000000000 T _stext\n0000000000000000 t x\t[ext4]\n";
        assert!(!shows_addresses(hidden.as_bytes()));
        assert!(!shows_addresses(&b"ffffffff81000000 D jiffies\n\xff\xfe\n"[..]), "no function at all");
    }

    #[test]
    fn what_stalls_need_and_how_to_get_it_is_told_without_tracefs() {
        let denied = io::Error::from_raw_os_error(libc::EPERM);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = Root::at(folder.path());
        let without = no_tracefs(&root, "id", "what", &denied);
        assert!(without.why_not.is_some_and(|why| why.contains("--stalls") && why.contains("not mounted")));
        assert!(without.remedy.is_some_and(|remedy| remedy.contains("mount -t tracefs")));
    }

    #[test]
    fn a_refusal_names_the_level_that_would_do() {
        let denied = io::Error::from_raw_os_error(libc::EACCES);
        let root = Root::at("/nowhere");
        let remedy = |level| refused(&root, "id", "what", &denied, level).remedy.unwrap_or_default();
        assert!(remedy(-1).ends_with("kernel.perf_event_paranoid=-1") && remedy(2).contains("CAP_PERFMON"));
    }
}
