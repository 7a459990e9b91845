//! `make install` and `make uninstall`: what lies where, that readers of it have no complaint, and that nothing stays behind. Packages
//! hold the same files; `scripts/test-package` installs one in a pristine system.

use assert_cmd::cargo::cargo_bin;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn make(target: &str, destination: &Path, prefix: &str) -> Output {
    let mut command = Command::new("make");
    command.arg(target).arg(format!("DESTDIR={}", destination.display())).arg(format!("PREFIX={prefix}"));
    command.arg(format!("BINARY={}", cargo_bin("pagewise").display())).current_dir(repository());
    command.env_remove("MAKEFLAGS").stdin(Stdio::null()).output().unwrap()
}

fn installed(prefix: &str) -> TempDir {
    let destination = tempfile::tempdir().unwrap();
    let output = make("install", destination.path(), prefix);
    assert!(output.status.success(), "{}", said(&output));
    destination
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// The words of every verb, those of verbs of a verb included, as `--help` lists them, each with its help.
fn verbs() -> Vec<(Vec<String>, String)> {
    let mut left = vec![Vec::new()];
    let mut found = Vec::new();
    while let Some(words) = left.pop() {
        let output = Command::new(cargo_bin("pagewise")).args(&words).arg("--help").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let listed = help
            .lines()
            .skip_while(|line| *line != "Commands:" && *line != "Workloads:")
            .skip(1)
            .take_while(|line| !line.is_empty());
        for verb in listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            let verb = verb.split_whitespace().next().unwrap().to_owned();
            if verb != "help" {
                left.push([words.clone(), vec![verb]].concat());
            }
        }
        found.push((words, help));
    }
    found
}

/// The long options that a help describes: `-o, --output <FILE>` and `--json`.
fn options(help: &str) -> BTreeSet<String> {
    let is_named = |word: &&str| word.starts_with("--") && word.len() > 2;
    let first = |line: &str| line.split_whitespace().take(2).find(is_named).map(str::to_owned);
    let lines = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let names = lines.filter_map(first);
    names.map(|name| name.split(['=', '[', '<', ',', '.']).next().unwrap().to_owned()).collect()
}

#[test]
fn every_verb_has_a_page_and_every_option_of_its_help_stands_in_it() {
    let destination = installed("/usr");
    let pages = destination.path().join("usr/share/man/man1");
    let verbs = verbs();
    assert!(verbs.len() > 30, "only {} verbs were read", verbs.len());
    for (words, help) in &verbs {
        let name = [&["pagewise".to_owned()][..], words].concat().join("-");
        let page =
            fs::read_to_string(pages.join(format!("{name}.1"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        let page = page.replace("\\-", "-");
        let options = options(help);
        assert!(options.contains("--json") && options.contains("--help"), "{name}: {options:?}");
        for option in options {
            assert!(page.contains(&format!("\\fB{option}\\fR")), "{name}.1 lacks {option}");
        }
    }
    assert_eq!(files(&pages).len(), verbs.len(), "a page for what is no verb");
}

#[test]
fn a_page_of_the_manual_has_what_readers_look_for_and_no_complaint_of_its_reader() {
    let destination = installed("/usr");
    for page in files(&destination.path().join("usr/share/man/man1")) {
        let text = fs::read_to_string(&page).unwrap();
        for heading in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH \"SEE ALSO\""] {
            assert!(text.contains(heading), "{}: {heading}", page.display());
        }
        if !is_here("man") {
            continue;
        }
        let mut man = Command::new("man");
        man.args(["--warnings", "-E", "UTF-8", "-l"]).arg(&page).env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8");
        let output = man.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}: {}", page.display(), said(&output));
    }
}

#[test]
fn completions_are_read_by_the_shells_that_are_here() {
    let destination = installed("/usr");
    let share = destination.path().join("usr/share");
    let completions = [
        ("bash", "bash-completion/completions/pagewise"),
        ("zsh", "zsh/site-functions/_pagewise"),
        ("fish", "fish/vendor_completions.d/pagewise.fish"),
    ];
    for (shell, file) in completions {
        let file = share.join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("walk-cost") && !text.contains("__hold"), "{shell}");
        if is_here(shell) {
            let output = Command::new(shell).arg("-n").arg(&file).output().unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {}", said(&output));
        }
    }
    if is_here("bash") {
        let ask = format!(
            ". {}; COMP_WORDS=(pagewise trial an); COMP_CWORD=2; _pagewise pagewise an trial; echo ${{COMPREPLY[@]}}",
            share.join("bash-completion/completions/pagewise").display()
        );
        let output = Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "analyze", "{}", said(&output));
    }
}

#[test]
fn units_run_the_program_where_it_was_installed_within_bounds_and_none_is_enabled() {
    let destination = installed("/opt/tools");
    let lib = destination.path().join("opt/tools/lib/systemd/system");
    let names: Vec<String> =
        files(&lib).iter().map(|unit| unit.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(
        names,
        ["pagewise-boot.service", "pagewise-guard.service", "pagewise-record.service"],
        "and no link that enables"
    );
    for unit in files(&lib) {
        let text = fs::read_to_string(&unit).unwrap();
        let mut section = "";
        let mut sections = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name;
                sections.push(name);
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{}: {line}", unit.display()));
            assert!(!section.is_empty() && key.chars().all(char::is_alphanumeric) && !value.is_empty(), "{line}");
            if key == "ExecStart" {
                assert!(value.contains("/opt/tools/bin/pagewise "), "{}: {line}", unit.display());
            }
        }
        assert_eq!(sections, ["Unit", "Service", "Install"], "{}", unit.display());
        assert!(!text.contains("/usr/bin/pagewise"), "{}", unit.display());
    }
    let record = fs::read_to_string(lib.join("pagewise-record.service")).unwrap();
    for bound in ["MemoryMax=", "CPUQuota=", "IOWeight=", "--size-cap "] {
        assert!(record.contains(bound), "{bound}");
    }
    let prolog = fs::read_to_string(destination.path().join("opt/tools/share/pagewise/guard/slurm-prolog.sh")).unwrap();
    assert!(prolog.contains("/opt/tools/bin/pagewise guard run"), "{prolog}");
}

#[test]
fn removing_leaves_no_file_and_no_folder_but_those_that_were_there_before() {
    let destination = installed("/usr");
    let again = make("install", destination.path(), "/usr");
    assert!(again.status.success(), "over itself: {}", said(&again));
    assert!(destination.path().join("usr/bin/pagewise").exists());
    let removed = make("uninstall", destination.path(), "/usr");
    assert!(removed.status.success(), "{}", said(&removed));
    assert!(files(destination.path()).is_empty(), "{:?}", files(destination.path()));

    let theirs = destination.path().join("usr/local/bin/theirs");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    fs::write(&theirs, "").unwrap();
    assert!(make("install", destination.path(), "/usr/local").status.success());
    assert!(make("uninstall", destination.path(), "/usr/local").status.success());
    assert!(theirs.exists());
    assert_eq!(files(&destination.path().join("usr/local")).len(), 1);
    let nothing = make("uninstall", destination.path(), "/usr/local");
    assert!(!nothing.status.success() && said(&nothing).contains("nothing was installed"), "{}", said(&nothing));
}

#[test]
fn make_finds_what_was_built_in_another_folder() {
    for (given, says) in [("/tmp/elsewhere", "/tmp/elsewhere/release/pagewise"), ("beside", "/beside/release/pagewise")]
    {
        let mut command = Command::new("make");
        command
            .args(["--dry-run", "--no-print-directory", "demo"])
            .env("CARGO_TARGET_DIR", given)
            .current_dir(repository());
        let output = command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").output().unwrap();
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            lines.lines().last().is_some_and(|line| line.starts_with("scripts/demo") && line.contains(says)),
            "{lines}"
        );
    }
}
