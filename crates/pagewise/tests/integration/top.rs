//! `pagewise top` as a person sees it: this host and a recording, keys, sizes, names of others, and the terminal as it was.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::said::unwrapped;
use pagewise_testkit::{Terminal, requires};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longer than any step takes, also on a host that is busy.
const SOON: Duration = Duration::from_secs(60);

fn pagewise() -> PathBuf {
    PathBuf::from(Command::cargo_bin("pagewise").unwrap().get_program())
}

fn top(args: &[&str], size: (u16, u16)) -> Terminal {
    Terminal::start(&pagewise(), &[&["top"], args].concat(), &[], size)
}

/// A program that is ended with the test.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs until it is ended, when another test starts it for that.
#[test]
fn a_child_that_spins() {
    if std::env::var_os("PAGEWISE_TEST_SPINS").is_some() {
        spins_in_a_named_function();
    }
}

#[inline(never)]
fn spins_in_a_named_function() {
    loop {
        // No calls inside: without optimisation anything else is a function of its own.
        let (mut left, mut mixed) = (20_000_000u64, 1u64);
        while left > 0 {
            mixed ^= mixed << 13;
            mixed ^= mixed >> 7;
            left -= 1;
        }
        std::hint::black_box(mixed);
    }
}

#[test]
fn without_a_terminal_the_screen_is_refused_and_watch_is_named() {
    let ended = Command::new(pagewise()).arg("top").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("no terminal") && said.contains("'pagewise watch'"), "{said}");
    assert!(ended.stdout.is_empty());
}

#[test]
fn rates_that_cannot_be_and_files_that_are_none_are_told_before_the_screen_is_taken() {
    for (args, code, words) in [
        (&["--stacks", "5000"][..], 2, "from 1 to 1000, or 0 for none"),
        (&["--hz", "99"], 2, "from 0.01 to 20"),
        (&["/proc/self/status"], 2, "is no recording"),
    ] {
        let left = top(args, (80, 24)).wait();
        assert_eq!(left.code, Some(code), "{}", left.screen);
        // Messages are wrapped at the terminal's width.
        let said = unwrapped(&left.screen);
        assert!(said.contains(words) && left.is_restored(), "{}", left.screen);
        assert!(!left.bytes.windows(8).any(|bytes| bytes == b"\x1b[?1049h"), "the screen was taken");
    }
}

#[test]
fn the_function_a_busy_program_is_in_is_shown_and_the_terminal_is_as_it_was() {
    requires!(perf_host);
    let this = std::env::current_exe().unwrap();
    let mut spins = Command::new(&this);
    spins.args(["--exact", "top::a_child_that_spins", "--nocapture"]).env("PAGEWISE_TEST_SPINS", "1");
    let spins = Busy(spins.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let top = top(&["--stacks", "99"], (120, 40));
    let screen = top.wait_for(SOON, "the busy function", |screen| screen.contains("spins_in_a_named_function"));
    let line = |start: &str| screen.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{screen}"));
    let head = line("CPUs, last ");
    assert!(head.contains("% in the kernel, of ") && head.contains(" at 99 Hz)"), "{head}");
    assert!(head.contains("cycles") || head.contains("cpu-clock"), "{head}");
    let function = screen.lines().find(|line| line.contains("spins_in_a_named_function")).unwrap();
    let module = this.file_name().unwrap().to_string_lossy().chars().take(12).collect::<String>();
    assert!(function.contains(" [.] ") && function.contains(&module), "{function}");
    let words: Vec<&str> = function.split_whitespace().collect();
    assert!(words[0].parse::<u64>().is_ok() && words[1].parse::<f64>().is_ok_and(|share| share > 1.0), "{function}");
    assert!(line("CPU in the kernel").contains(" %"), "{screen}");
    // The name of a function may hold any word of a verdict: the first verdict is there when it is no longer announced.
    let is_judged = |screen: &str| screen.contains("not decided: ") || screen.contains("low ");
    top.wait_for(SOON, "a verdict", |screen| !screen.contains("the first verdict") && is_judged(screen));
    top.wait_for(SOON, "what it costs", |screen| screen.contains("own: ") && screen.contains(", stacks "));
    drop(spins);
    top.press("q");
    let left = top.wait();
    assert_eq!(left.code, Some(0), "{}", left.screen);
    assert!(left.is_restored(), "{left:?}");
    assert!(left.screen.trim().is_empty(), "nothing is left on the screen: {}", left.screen);
}

#[test]
fn ctrl_c_and_a_signal_leave_the_terminal_as_it_was() {
    for by_signal in [false, true] {
        let top = top(&["--stacks", "0"], (80, 24));
        let screen = top.wait_for(SOON, "the whole picture", |screen| screen.contains("q quit"));
        assert!(screen.contains("direct compactions"), "{screen}");
        assert!(screen.contains("functions: not recorded, as --stacks 0 asks for"), "{screen}");
        if by_signal {
            top.signal(Signal::TERM)
        } else {
            top.press("\u{3}")
        }
        let left = top.wait();
        assert_eq!(left.code, Some(if by_signal { 130 } else { 0 }), "{}", left.screen);
        assert!(left.is_restored(), "{left:?}");
        assert_eq!(left.screen.contains("ended by a signal; the terminal is as it was"), by_signal, "{}", left.screen);
    }
}

#[test]
fn a_terminal_that_changes_its_size_is_filled_anew() {
    let top = top(&["--stacks", "0"], (120, 40));
    top.wait_for(SOON, "a large screen", |screen| screen.lines().count() >= 40);
    for (columns, rows) in [(80, 24), (40, 10), (300, 80)] {
        top.resize(columns, rows);
        let foot = |screen: &str| screen.lines().nth(usize::from(rows) - 1).is_some_and(|line| line.starts_with("q "));
        let head = |screen: &str| screen.contains("this host") && screen.contains("CPU busy");
        let screen = top.wait_for(SOON, "its first and its last line", |screen| head(screen) && foot(screen));
        assert!(screen.lines().all(|line| line.chars().count() <= columns.into()), "{screen}");
    }
    top.resize(20, 5);
    top.wait_for(SOON, "what it needs", |screen| screen.starts_with("needs 36 x 6"));
    top.resize(80, 24);
    top.wait_for(SOON, "all again", |screen| screen.contains("CPU busy"));
    top.press("q");
    assert!(top.wait().is_restored());
}

#[test]
fn no_colour_is_written_when_none_is_wanted() {
    let of = |variables: &[(&str, &str)]| {
        let top = Terminal::start(&pagewise(), &["top", "--stacks", "0"], variables, (80, 24));
        top.wait_for(SOON, "the timelines", |screen| screen.contains("direct compactions"));
        top.press("q");
        String::from_utf8_lossy(&top.wait().bytes).into_owned()
    };
    let has_colour = |bytes: &str| bytes.contains("\u{1b}[36m") || bytes.contains("\u{1b}[38;");
    assert!(has_colour(&of(&[])));
    assert!(!has_colour(&of(&[("NO_COLOR", "1")])));
    let ascii = of(&[("LC_ALL", "C")]);
    assert!(ascii.is_ascii(), "{ascii:?}");
}

#[test]
fn what_holds_tasks_up_is_status_line_live_where_it_may_be() {
    requires!(perf_host, tracepoints);
    let status_line = |args: &[&str]| {
        let top = top(args, (100, 60));
        top.wait_for(SOON, "a verdict", |screen| screen.contains("CPU busy") && !screen.contains("the first verdict"));
        top.press("d");
        top.wait_for(SOON, "the findings", |screen| screen.contains("Observed "));
        top.press("\u{1b}[F");
        let screen = top.wait_for(SOON, "the end of the text", |screen| screen.contains("   hardware  "));
        top.press("q");
        assert!(top.wait().is_restored());
        screen.lines().find(|line| line.starts_with("   stalls  ")).unwrap_or_else(|| panic!("{screen}")).to_owned()
    };
    for (args, said) in
        [(&["--stacks", "0"][..], "how long tasks were held up"), (&["--stacks", "0", "--no-stalls"], "not recorded")]
    {
        let line = status_line(args);
        assert!(line.trim_end().ends_with(said), "{args:?}: {line:?}");
    }
}

/// The screen of a committed recording, and the same in `docs/guide/top.md`. PAGEWISE_BLESS writes the guide's.
#[test]
fn the_screen_in_the_guide_is_that_of_the_reference_recording() {
    const NAME: &str = "compaction-storm-severe.pgw";
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = repository.join("recordings/6.18.44-fc-v657").join(NAME);
    let top = Terminal::start(&pagewise(), &["top", file.to_str().unwrap()], &[("TZ", "UTC")], (80, 24));
    let screen = top.wait_for(SOON, "what was found", |screen| screen.contains("high   compaction-storm"));
    top.press("q");
    assert!(top.wait().is_restored());
    // What the screen itself cost is that day's.
    let line = |line: &str| format!("{}\n", line.split(" own: ").next().unwrap_or_default().trim_end());
    let screen: String = screen.lines().map(line).collect();
    let guide = repository.join("docs/guide/top.md");
    let text = std::fs::read_to_string(&guide).unwrap();
    let begin = text.find(&format!("```\n{NAME}")).unwrap() + 4;
    let end = begin + text[begin..].find("```").unwrap();
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        std::fs::write(&guide, format!("{}{screen}{}", &text[..begin], &text[end..])).unwrap();
    } else {
        assert_eq!(text[begin..end], screen, "docs/guide/top.md is out of date; `make docs` writes it again");
    }
}

#[test]
fn names_of_others_cannot_steer_the_terminal() {
    requires!(perf_host);
    let folder = tempfile::tempdir().unwrap();
    let hostile = folder.path().join("\u{1b}]0;gotcha\u{7}\u{1b}[2J大");
    std::fs::copy("/bin/sh", &hostile).unwrap();
    let mut spins = Command::new(&hostile);
    let _spins = Busy(spins.args(["-c", "while :; do :; done"]).spawn().unwrap());
    let top = top(&["--stacks", "99"], (120, 40));
    top.wait_for(SOON, "the module's name", |screen| screen.contains("\\u{1b}]0;gotcha\\u{7}"));
    top.press("q");
    let left = top.wait();
    assert!(!left.bytes.windows(4).any(|bytes| bytes == b"\x1b]0;"), "a name set the title");
    assert!(left.is_restored());
}

#[test]
fn an_ordinary_user_has_everything_but_stacks_and_reads_why() {
    requires!(root, setpriv);
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let is_restricted = paranoid.trim().parse::<i32>().is_ok_and(|level| level >= 0);
    let folder = tempfile::tempdir().unwrap();
    let permissions = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(folder.path(), permissions).unwrap();
    let own = folder.path().join("pagewise");
    std::fs::copy(pagewise(), &own).unwrap();
    let own = own.to_str().unwrap();
    let args =
        ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", own, "top"];
    let top = Terminal::start(Path::new("setpriv"), &args, &[], (80, 24));
    // A screen comes in pieces: the whole of it is what has its last line.
    top.wait_for(SOON, "the timelines and why there are no more", |screen| {
        let text = unwrapped(screen);
        // Where everybody may look at everything, there is nothing to say.
        let is_told = text.contains("functions: not permitted")
            && text.contains("CAP_PERFMON")
            // The remedy is whole.
            && text.contains("or set it to -1")
            && (text.contains(" stalls: ") || text.contains("functions, stalls: "));
        text.contains("direct compactions") && (is_told || !is_restricted)
    });
    top.wait_for(SOON, "a verdict", |screen| !screen.contains("the first verdict"));
    top.press("q");
    let left = top.wait();
    assert_eq!(left.code, Some(0), "{}", left.screen);
    assert!(left.is_restored());
}

#[test]
fn a_recording_is_travelled_through_and_its_findings_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.pgw");
    let mut record = Command::new(pagewise());
    record.args(["record", "--hz", "20", "--for", "4s", "-o"]).arg(&file);
    assert!(record.stderr(Stdio::null()).status().unwrap().success());
    let top = top(&[file.to_str().unwrap()], (80, 24));
    let whole = top.wait_for(SOON, "a verdict", |screen| {
        screen.contains("job.pgw") && !screen.contains("the recording is being read")
    });
    assert!(whole.contains("functions: no stacks were recorded"), "{whole}");
    let times = |screen: &str| screen.lines().next().unwrap_or_default().to_owned();
    let travel = |keys: &str, what: &str, is_there: &dyn Fn(&str) -> bool| {
        top.press(keys);
        times(&top.wait_for(SOON, what, |screen| is_there(&times(screen))))
    };
    let all = times(&whole);
    // Three times closer: half a second of four. Keys are taken in their order: once a later one has been, these have.
    top.press("+++d");
    top.wait_for(SOON, "the findings of half a second", |screen| screen.contains("Observed "));
    top.press("d");
    let end = times(&top.wait_for(SOON, "half a second", |screen| screen.contains("direct compactions")));
    assert!(end != all && end.ends_with(&all[all.len() - 8..]), "{end} of {all}");
    let begin = travel("\u{1b}[H", "the beginning", &|now| now != end);
    travel("\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~", "a later screen", &|now| now != begin);
    travel("\u{1b}[F", "the end", &|now| now == end);
    travel("----", "all of it", &|now| now == all);
    top.press("d");
    let text = top.wait_for(SOON, "the findings", |screen| screen.contains("Observed "));
    assert!(text.contains("job.pgw") && text.contains("d back"), "{text}");
    top.press("\u{1b}[F");
    let has_end = |screen: &str| screen.lines().any(|line| line.starts_with("   hardware"));
    top.wait_for(SOON, "the end of the text", has_end);
    top.press("d");
    top.wait_for(SOON, "the timelines", |screen| screen.contains("direct compactions"));
    top.press("?");
    top.wait_for(SOON, "the help", |screen| screen.contains("PgUp, PgDn"));
    top.press("q");
    let left = top.wait();
    assert_eq!((left.code, left.is_restored()), (Some(0), true), "{left:?}");
}
