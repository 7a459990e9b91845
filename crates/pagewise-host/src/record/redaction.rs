//! What a recording that is handed on must not tell: paths of control groups and of swap files, where things lie on this
//! host, numbers of other people's processes.
//!
//! Every word passes here on its way to the file. What belongs to a process (names, stacks) never gets as far: whose it is
//! can be told only where it is seen.

use crate::root::Root;
use crate::store::recording::Batch;
use pagewise_core::recording::Frame;
use pagewise_core::tunable::swap;
use std::cmp::Reverse;
use std::path::Path;

/// The module that stands for what BPF compiled.
const BPF: &str = "[kernel.bpf]";

/// Paths below these are the kernel's own names.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What stands for something, by the order in which it was seen, is the same in the whole recording.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    is_on: bool,
    groups: Vec<String>,
    areas: Vec<String>,
    /// Text that tells where something lies, and what to say instead; the longest first.
    places: Vec<(String, String)>,
}

impl Redaction {
    /// Leaves everything as it is, unless `is_on`.
    pub(super) fn new(is_on: bool, root: &Root, file: &Path) -> Redaction {
        let mut redaction = Redaction { is_on, ..Redaction::default() };
        redaction.hide(file.display().to_string(), "the recording");
        if !root.is_live() {
            redaction.hide(root.path("/").display().to_string(), "/");
        }
        redaction
    }

    fn hide(&mut self, text: String, instead: &str) {
        self.places.push((text, instead.to_owned()));
        self.places.sort_by_key(|(text, _)| Reverse(text.len()));
    }

    /// A source, or a setting, which may bear the path of a control group: `cgroup_stat[/user.slice/a.service]`,
    /// `cgroup[/user.slice/a.service].memory.max`.
    pub(super) fn name(&mut self, name: &str) -> String {
        let kind = name.split_once('[').map_or("", |(kind, _)| kind);
        let rest = name.rsplit_once(']').map_or("", |(_, rest)| rest);
        let path = name.get(kind.len() + 1..(name.len() - rest.len()).saturating_sub(1));
        match path.filter(|_| self.is_on && kind.starts_with("cgroup")) {
            Some(path) => format!("{kind}[{}]{rest}", self.group(path)),
            None => name.to_owned(),
        }
    }

    /// The whole hierarchy is the same on every host.
    fn group(&mut self, path: &str) -> String {
        if path == "/" {
            return path.to_owned();
        }
        let (number, is_new) = number_of(&mut self.groups, path);
        let name = format!("group-{number}");
        if is_new {
            self.hide(path.to_owned(), &format!("/{name}"));
        }
        name
    }

    /// Devices are called by the kernel, files by people.
    fn area(&mut self, path: &str) -> String {
        let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if path.is_empty() || path.strip_prefix("/dev/").is_some_and(is_plain) {
            return path.to_owned();
        }
        let (number, is_new) = number_of(&mut self.areas, path);
        let name = format!("/swap-{number}");
        if is_new {
            self.hide(path.to_owned(), &name);
        }
        name
    }

    fn labels(&mut self, labels: &str) -> String {
        // A path may hold a comma, and this label stands alone.
        if let Some(path) = labels.strip_prefix("area=") {
            return format!("area={}", self.area(&swap::unescape(path)));
        }
        let label = |pair: &str| match pair.split_once('=') {
            Some(("cgroup", path)) => format!("cgroup={}", self.group(&path.replace("\\054", ","))),
            _ => pair.to_owned(),
        };
        labels.split(',').map(label).collect::<Vec<_>>().join(",")
    }

    fn value(&mut self, setting: &str, value: &str) -> Option<String> {
        if setting != "swap" {
            return Some(self.words(value));
        }
        let mut areas = swap::parse(value).ok()?;
        for area in &mut areas {
            area.path = self.area(&area.path);
        }
        Some(swap::text(&areas))
    }

    /// A sentence, which may say where something lies or which process it was.
    pub(super) fn words(&self, text: &str) -> String {
        if !self.is_on {
            return text.to_owned();
        }
        let known = self.places.iter().fold(text.to_owned(), |text, (place, instead)| replaced(&text, place, instead));
        without_paths(&known)
    }

    /// What is about to be written.
    pub(super) fn apply(&mut self, batch: &mut Batch) {
        if !self.is_on {
            return;
        }
        for series in &mut batch.series {
            series.source = self.name(&series.source);
            series.labels = self.labels(&series.labels);
        }
        for (_, path, value, _) in &mut batch.settings {
            *value = value.as_deref().and_then(|value| self.value(path, value));
            *path = self.name(path);
        }
        for gap in &mut batch.gaps {
            gap.source = gap.source.as_deref().map(|source| self.name(source));
            gap.detail = self.words(&gap.detail);
        }
        for (source, _) in &mut batch.gap_ends {
            *source = self.name(source);
        }
        batch.marks.iter_mut().for_each(|(_, _, text)| *text = self.words(text));
        batch.meta.iter_mut().for_each(|(_, value)| *value = self.words(value));
        batch.stacks.iter_mut().flat_map(|rows| &mut rows.frames).for_each(without_a_name);
    }
}

/// From 1, and whether it is a new one.
fn number_of(known: &mut Vec<String>, path: &str) -> (usize, bool) {
    match known.iter().position(|other| other == path) {
        Some(place) => (place + 1, false),
        None => {
            known.push(path.to_owned());
            (known.len(), true)
        }
    }
}

/// Only where it stands for itself: a file may have a name as short as `a`.
fn replaced(text: &str, place: &str, instead: &str) -> String {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (begins, ends) = (is_of_word(place.chars().next()), is_of_word(place.chars().next_back()));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(place).filter(|_| !place.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + place.len()..]);
        out.push_str(before);
        let is_part = (begins && is_of_word(out.chars().next_back())) || (ends && is_of_word(after.chars().next()));
        out.push_str(if is_part { place } else { instead });
        rest = after;
    }
    out + rest
}

/// Paths of files that are not the kernel's, and the numbers in those of processes.
fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, path) = rest.split_at(at);
        out.push_str(before);
        let length = path.find(|c: char| c.is_whitespace() || ":;,'\")]".contains(c)).unwrap_or(path.len());
        let (path, after) = path.split_at(length);
        let is_path = path.len() > 1 && !out.chars().next_back().is_some_and(|c| c.is_alphanumeric());
        let is_ours = path.starts_with("/group-") || path.starts_with("/swap-");
        if !is_path || is_ours {
            out.push_str(path);
        } else if OF_THE_KERNEL.iter().any(|folder| path == *folder || path.starts_with(&format!("{folder}/"))) {
            out.push_str(&without_numbers(path));
        } else {
            out.push_str("(a path)");
        }
        rest = after;
    }
    out + rest
}

/// `/proc/4711/stat` as `/proc/PID/stat`.
fn without_numbers(path: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = path.split('/').map(|part| if path.starts_with("/proc/") && is_number(part) { "PID" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// A BPF program is known to the kernel as `bpf_prog_TAG_NAME`: the tag is made of its instructions, the name its author's.
fn without_a_name(frame: &mut Frame) {
    const TAG: usize = 16;
    if frame.module != BPF {
        return;
    }
    let is_tag = |tag: &&str| tag.len() == TAG && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    let tag = frame.name.strip_prefix("bpf_prog_").map(|rest| rest.get(..TAG).filter(is_tag).unwrap_or("unknown"));
    if let Some(tag) = tag {
        frame.name = format!("bpf_prog_{tag}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::recording::StackRows;
    use pagewise_core::recording::{Gap, GapReason, Kind, Series};

    fn on() -> Redaction {
        Redaction::new(true, &Root::at("/home/alice/tree"), Path::new("runs/alice.pgw"))
    }

    #[test]
    fn a_control_group_has_another_name_and_the_same_everywhere() {
        let mut redaction = on();
        assert_eq!(redaction.name("cgroup_stat[/user.slice/alice.service]"), "cgroup_stat[group-1]");
        assert_eq!(redaction.name("cgroup_memory[/b]"), "cgroup_memory[group-2]");
        assert_eq!(redaction.name("cgroup[/user.slice/alice.service].memory.max"), "cgroup[group-1].memory.max");
        assert_eq!(redaction.labels("cgroup=/user.slice/alice.service,node=0"), "cgroup=group-1,node=0");
        assert_eq!(redaction.labels("cgroup=/c\\054d"), "cgroup=group-3");
        assert_eq!(redaction.name("cgroup[/c,d].memory.max"), "cgroup[group-3].memory.max");
        for kept in
            ["cgroup[/].memory.max", "vmstat", "mthp[64k].enabled", "cgroup]x[", "block[sda].read_ahead_kb", "["]
        {
            assert_eq!(redaction.name(kept), kept);
        }
        let why = "cannot read /sys/fs/cgroup/user.slice/alice.service/memory.stat: no such file";
        assert_eq!(redaction.words(why), "cannot read /sys/fs/cgroup/group-1/memory.stat: no such file");
    }

    #[test]
    fn a_swap_file_has_a_number_and_a_device_keeps_its_name() {
        let mut redaction = on();
        assert_eq!(redaction.labels("area=/home/al\\040ice,x/swap"), "area=/swap-1");
        assert_eq!(redaction.labels("area=/dev/zram0"), "area=/dev/zram0");
        assert_eq!(redaction.labels("area=/dev/mapper/alice-swap"), "area=/swap-2");
        let value = "zram:4096:lz4@/dev/zram0,prio=5+file:8192@/home/al\\040ice\\054x/swap";
        let told = redaction.value("swap", value).unwrap();
        assert_eq!(told, "zram:4096:lz4@/dev/zram0,prio=5+file:8192@/swap-1");
        assert!(swap::parse(&told).is_ok(), "still a value that rules can read");
        assert_eq!(redaction.value("swap", "off").as_deref(), Some("off"));
        assert_eq!(redaction.value("swap", "/home/alice"), None, "what is not understood is not told");
    }

    #[test]
    fn sentences_tell_no_place_and_no_process() {
        let redaction = on();
        for (text, wanted) in [
            ("cannot read /home/alice/tree/proc/pressure/memory: gone", "cannot read /proc/pressure/memory: gone"),
            (
                "3 of 9 processes: cannot read /proc/4711/task/4712/stat",
                "3 of 9 processes: cannot read /proc/PID/task/PID/stat",
            ),
            ("cannot write to runs/alice.pgw: full", "cannot write to the recording: full"),
            ("runs/alice.pgw-wal is in the way", "the recording-wal is in the way"),
            ("'/home/bob/x' and (/srv/y)", "'(a path)' and ((a path))"),
            ("1/2 of it, 3 / 4, and/or /proc/sys/vm/swappiness", "1/2 of it, 3 / 4, and/or /proc/sys/vm/swappiness"),
        ] {
            assert_eq!(redaction.words(text), wanted);
        }
        let short = Redaction::new(true, &Root::live(), Path::new("a"));
        assert_eq!(
            short.words("cannot write to a: a disk was taken away"),
            "cannot write to the recording: the recording disk was taken away"
        );
    }

    #[test]
    fn everything_that_is_written_is_gone_over() {
        let series = Series {
            source: "cgroup_stat[/alice]".into(),
            column: 0,
            name: "anon".into(),
            labels: "cgroup=/alice".into(),
            unit: None,
            kind: Kind::Gauge,
            first_seen: 0,
        };
        let gap = Gap {
            from: 0,
            to: None,
            source: Some("cgroup_stat[/alice]".into()),
            reason: GapReason::Unreadable,
            ticks: None,
            detail: "/home/alice".into(),
        };
        let frame = |name: &str, module: &str| Frame { name: name.into(), module: module.into() };
        let frames = vec![
            frame("bpf_prog_6deef7357e7b4530_alice", BPF),
            frame("bpf_prog_alice", BPF),
            frame("bpf_trampoline_1", BPF),
            frame("alice_main", "alice"),
        ];
        let mut batch = Batch {
            series: vec![series],
            gaps: vec![gap],
            gap_ends: vec![("cgroup_stat[/alice]".into(), 1)],
            settings: vec![
                (0, "cgroup[/alice].memory.max".into(), Some("max".into()), "start"),
                (0, "swap".into(), Some("file:4096@/alice".into()), "start"),
            ],
            marks: vec![(0, "caller", "see /home/alice".into())],
            meta: vec![("ended", "cannot write to runs/alice.pgw".into())],
            stacks: Some(StackRows { frames, ..StackRows::default() }),
            ..Batch::default()
        };
        let untouched = format!("{batch:?}");
        Redaction::new(false, &Root::live(), Path::new("a")).apply(&mut batch);
        assert_eq!(format!("{batch:?}"), untouched, "only when it is asked for");
        on().apply(&mut batch);
        let names: Vec<&str> = batch.stacks.iter().flat_map(|rows| &rows.frames).map(|frame| &*frame.name).collect();
        assert_eq!(names, ["bpf_prog_6deef7357e7b4530", "bpf_prog_unknown", "bpf_trampoline_1", "alice_main"]);
        batch.stacks = None;
        let told = format!("{batch:?}");
        assert!(!told.contains("alice"), "{told}");
        assert_eq!(
            (batch.series[0].source.as_str(), batch.gap_ends[0].0.as_str()),
            ("cgroup_stat[group-1]", "cgroup_stat[group-1]")
        );
    }
}
