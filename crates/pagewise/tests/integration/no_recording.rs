//! Every verb that reads a recording, given something that is none, is damaged, is newer or is not there: one exit code, the
//! name of the file and the reason, nothing on stdout and nothing left behind.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{Terminal, requires};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What stands for the file in the words of a verb.
const FILE: &str = "FILE";

/// A recording that is whole, beside the one that is not.
const WHOLE: &str = "whole.pgw";

/// Every way in which a verb is given a recording. `top` stands apart: it wants a terminal.
const VERBS: [&[&str]; 14] = [
    &["watch", FILE],
    &["watch", FILE, "--json"],
    &["report", FILE],
    &["report", WHOLE, "--against", FILE],
    &["diagnose", FILE],
    &["diagnose", FILE, "--json"],
    &["diagnose", FILE, "--from", "1s"],
    &["snapshot", FILE, "-o", "copy.pgw"],
    &["export", FILE, "--to", "csv"],
    &["export", FILE, "--to", "csv", "--from", "1s"],
    &["export", FILE, "--to", "parquet", "-o", "tables"],
    &["export", FILE, "--to", "openmetrics"],
    &["export", FILE, "--to", "folded"],
    &["export", FILE, "--to", "pprof", "-o", "stacks.pb.gz"],
];

/// What a user gets to see.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A program in front of the binary, or none.
type Before<'a> = &'a [&'a str];

fn binary() -> PathBuf {
    PathBuf::from(Command::cargo_bin("pagewise").unwrap().get_program())
}

fn run(binary: &Path, before: Before<'_>, folder: &Path, verb: &[&str], file: &str) -> Ended {
    let binary = binary.display().to_string();
    let words = before.iter().copied().chain([binary.as_str()]);
    let mut words = words.chain(verb.iter().map(|word| if *word == FILE { file } else { *word }));
    let mut command = Command::new(words.next().unwrap());
    let output = command.args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn top(binary: &Path, before: Before<'_>, path: &Path) -> (Option<i32>, String) {
    let (binary, path) = (binary.display().to_string(), path.display().to_string());
    let words: Vec<&str> = before.iter().copied().chain([binary.as_str(), "top", path.as_str()]).collect();
    let left = Terminal::start(Path::new(words[0]), &words[1..], &[], (200, 24)).wait();
    assert!(left.is_restored(), "{}", left.screen);
    assert!(!left.bytes.windows(8).any(|bytes| bytes == b"\x1b[?1049h"), "the screen was taken");
    (left.code, left.screen)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn record(folder: &Path) -> Vec<u8> {
    let said = run(&binary(), &[], folder, &["record", "-o", WHOLE, "--hz", "20", "--for", "1s"], "");
    assert_eq!(said.code, Some(0), "{}", said.err);
    fs::read(folder.join(WHOLE)).unwrap()
}

/// The same file with four bytes of its header set, in the order of SQLite's file format.
fn with_number(whole: &[u8], at: usize, number: u32) -> Vec<u8> {
    let mut changed = whole.to_vec();
    changed[at..at + 4].copy_from_slice(&number.to_be_bytes());
    changed
}

#[test]
fn what_is_no_whole_recording_is_a_usage_error_of_every_verb_that_reads_one() {
    /// Offsets of `user_version` and `application_id` in the header of a database (SQLite's documentation of its format).
    const VERSION: usize = 60;
    const APPLICATION: usize = 68;
    let folder = tempfile::tempdir().unwrap();
    let whole = record(folder.path());
    let page = 4096;
    assert!(whole.len() > 8 * page, "{} bytes are too few to cut in many places", whole.len());
    let mut overwritten = whole.clone();
    // The second page maps others, and nobody looks at it who only reads.
    overwritten[2 * page..3 * page].fill(0xff);
    let mut cases: Vec<(String, Vec<u8>)> = vec![
        ("empty.pgw".to_owned(), Vec::new()),
        ("short.pgw".to_owned(), b"not a recording".to_vec()),
        ("text.pgw".to_owned(), b"vmstat 1 2 3\n".repeat(1000)),
        ("newer.pgw".to_owned(), with_number(&whole, VERSION, 2)),
        ("foreign.pgw".to_owned(), with_number(&whole, APPLICATION, 0)),
        ("overwritten.pgw".to_owned(), overwritten),
    ];
    // In its header, within and between pages, and a byte before its end.
    let last = whole.len();
    for cut in [1, 100, 511, 512, 1000, page, page + 1, 3 * page, last / 2, last / 2 + 77, last - page, last - 1] {
        cases.push((format!("cut-at-{cut}.pgw"), whole[..cut].to_vec()));
    }
    for (name, bytes) in &cases {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    fs::create_dir(folder.path().join("folder.pgw")).unwrap();
    let before = names(folder.path());
    let nowhere = ["folder.pgw", "absent.pgw", "no/such/folder.pgw", "text.pgw/below.pgw"];
    for name in cases.iter().map(|(name, _)| name.as_str()).chain(nowhere) {
        for verb in VERBS {
            let said = run(&binary(), &[], folder.path(), verb, name);
            assert_eq!(said.code, Some(2), "{verb:?} of {name}: {}", said.err);
            assert!(said.err.contains(name) && !said.err.contains("panicked"), "{verb:?} of {name}: {}", said.err);
            assert_eq!(said.out, "", "{verb:?} of {name}");
            assert_eq!(names(folder.path()), before, "{verb:?} of {name} left something");
        }
        let (code, screen) = top(&binary(), &[], &folder.path().join(name));
        assert_eq!(code, Some(2), "top of {name}: {screen}");
        assert!(screen.contains(name), "top of {name}: {screen}");
    }
    assert_eq!(names(folder.path()), before);
    for (name, bytes) in &cases {
        assert!(fs::read(folder.path().join(name)).unwrap() == *bytes, "{name} was written to");
    }
}

#[test]
fn the_reason_is_the_one_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let whole = record(folder.path());
    let says = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).unwrap();
        run(&binary(), &[], folder.path(), &["diagnose", FILE], name).err
    };
    for (name, bytes, words) in [
        ("empty.pgw", &[][..], "is no recording: it is too short, or empty"),
        ("text.pgw", &b"text ".repeat(500)[..], "is no recording: it is no SQLite database"),
        ("foreign.pgw", &with_number(&whole, 68, 7), "is no recording: it is the database of another program"),
        ("newer.pgw", &with_number(&whole, 60, 2), "has format 2, and this version reads up to 1"),
        ("cut.pgw", &whole[..whole.len() / 2], "is damaged: it was cut or overwritten"),
    ] {
        let said = says(name, bytes);
        assert!(said.contains(words), "{said}");
    }
    let absent = run(&binary(), &[], folder.path(), &["report", FILE], "absent.trial").err;
    assert!(absent.contains("cannot read absent.trial: No such file"), "{absent}");
}

#[test]
fn what_we_may_not_read_is_not_permitted_whatever_the_verb() {
    requires!(root, setpriv);
    const NOBODY: Before<'static> = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    // The build tree may lie where another user may not look.
    let copy = folder.path().join("pagewise");
    fs::copy(binary(), &copy).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let secret = folder.path().join("secret.pgw");
    fs::copy(folder.path().join(WHOLE), &secret).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    for verb in VERBS {
        let said = run(&copy, NOBODY, folder.path(), verb, "secret.pgw");
        assert_eq!(said.code, Some(3), "{verb:?}: {}", said.err);
        assert!(said.err.contains("cannot read secret.pgw: Permission denied"), "{verb:?}: {}", said.err);
        assert_eq!(said.out, "", "{verb:?}");
    }
    let (code, screen) = top(&copy, NOBODY, &secret);
    assert_eq!(code, Some(3), "{screen}");
    assert!(screen.contains("Permission denied"), "{screen}");
    let whole = run(&copy, NOBODY, folder.path(), &["diagnose", FILE], WHOLE);
    assert_eq!(whole.code, Some(0), "what everybody may read is read: {}", whole.err);
}
