//! `pagewise report`: the same bundle gives the same bytes, in every format.

use assert_cmd::Command;
use pagewise_core::experiment::point::Record;
use pagewise_core::experiment::{order, point::Outcome};
use pagewise_host::store::bundle::{Bundle, Frozen};
use pagewise_testkit::reports;
use pagewise_testkit::scripted::{World, true_world, two_level_plan};
use std::collections::BTreeMap;
use std::path::Path;

/// A bundle of a scripted trial, as `prove` leaves it.
fn bundle(folder: &Path) {
    let plan = two_level_plan(6, 3);
    let order = order::draw(&plan).unwrap();
    let points = true_world(&plan, &order, &World { ratio: 0.9, ..World::default() }, 5);
    let frozen = Frozen {
        pagewise: "0.1.0".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        order,
        repeat: vec!["pagewise prove --a env.LEVEL=a --b env.LEVEL=b -- true".to_owned()],
        notes: Vec::new(),
        data: None,
        bundle: None,
        data_folder: None,
    };
    let mut bundle = Bundle::create(&folder.join("scripted.trial"), &plan, frozen).unwrap();
    bundle.keep_host("boot", &reports::better().hosts[0]).unwrap();
    for point in points {
        assert_eq!(point.outcome, Outcome::Ok);
        bundle.begin(&point.planned, point.attempt, &point.started_at, &point.boot_id).unwrap();
        let record = Record { point, vmstat_before: BTreeMap::new(), vmstat_after: BTreeMap::new() };
        bundle.finish(&record).unwrap();
    }
}

fn pagewise(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).arg("report").args(args);
    command
}

fn stdout(folder: &Path, args: &[&str]) -> String {
    String::from_utf8(pagewise(folder, args).assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn a_bundle_gives_the_same_bytes_in_every_format_wherever_it_lies() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    bundle(one.path());
    bundle(two.path());
    for format in ["text", "markdown", "html", "json"] {
        let args = ["scripted.trial", "--format", format];
        let said = stdout(one.path(), &args);
        assert!(said.len() > 500, "{format}: {said}");
        assert_eq!(said, stdout(two.path(), &args), "{format}");
    }
    assert!(stdout(one.path(), &["scripted.trial"]).starts_with("BETTER\n"));
    assert_eq!(
        stdout(one.path(), &["scripted.trial", "--json"]),
        stdout(one.path(), &["scripted.trial", "--format", "json"])
    );
}

#[test]
fn the_ending_of_the_file_says_the_format() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    for (file, begins) in
        [("r.html", "<!doctype html>"), ("r.md", "# scripted\n"), ("r.json", "{\n"), ("r.txt", "BETTER\n")]
    {
        assert_eq!(stdout(folder.path(), &["scripted.trial", "-o", file]), "");
        let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(written.trim_start().starts_with(begins), "{file}: {}", &written[..40]);
    }
}

#[test]
fn what_cannot_be_reported_is_said_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    for (args, code, said) in [
        (&["absent.trial"][..], 2, "cannot read absent.trial"),
        (&["scripted.trial", "-o", "report.pdf"], 2, "use .html, .md, .json or .txt"),
        (&["scripted.trial", "--json", "--format", "html"], 2, "two formats"),
        (&["scripted.trial", "-o", "no/such/folder/r.html"], 3, "give another file with --output"),
    ] {
        let output = pagewise(folder.path(), args).assert().code(code).get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(said), "{args:?}: {stderr}");
    }
}

#[test]
fn reporting_leaves_the_bundle_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path().join("scripted.trial")).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    stdout(folder.path(), &["scripted.trial", "--format", "html"]);
    assert_eq!(before, names());
}

#[test]
fn a_page_of_two_recordings_says_whose_findings_they_are_and_sets_the_kinds_apart() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/6.18.44-fc-v657");
    let page = stdout(&recordings, &["dirty-throttling-severe.pgw", "--against", "idle.pgw"]);
    let (a, b) = page.split_once("What was found in <span class=\"tag b\">B</span>").expect("both have a part");
    assert!(a.contains("What was found in <span class=\"tag a\">A</span> <bdi>dirty-throttling-severe.pgw</bdi>"));
    assert!(a.contains("<code>dirty-throttling</code>") && !b.contains("<code>dirty-throttling</code>"));
    assert!(b.contains("<bdi>idle.pgw</bdi>") && b.contains("<b>Nothing found</b>"));
    let found = a.split_once("<code>dirty-throttling</code>").unwrap().1;
    for label in ["Who", "Try first", "Prove it", "Watch out", "Evidence"] {
        assert!(found.contains(&format!("<dt>{label}</dt>")), "{label}");
    }
    assert!(found.contains("<pre class=\"copy\"><code>pagewise set vm.dirty="), "a line to copy");
    assert!(found.contains("<pre class=\"copy\"><code>pagewise revert</code>"), "and one that takes it back");
    assert!(found.contains("vm.dirty: 16 MiB → "), "sizes are for reading");
    assert!(a.contains("<details open>"), "the first is open");
}
