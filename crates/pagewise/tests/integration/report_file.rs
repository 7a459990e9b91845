//! `report -o`: nothing is lost for a report, neither what it is made of nor anybody's file.

use assert_cmd::Command;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

fn pagewise(folder: &Path, args: &[&str]) -> std::process::Output {
    Command::cargo_bin("pagewise").unwrap().current_dir(folder).args(args).output().unwrap()
}

/// A folder with two recordings.
fn recordings() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pgw", "b.pgw"] {
        let recorded = pagewise(folder.path(), &["record", "-o", name, "--hz", "20", "--for", "1s"]);
        assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    }
    folder
}

#[test]
fn what_is_there_already_stays_as_it_was() {
    let folder = recordings();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("notes.html"), "<p>mine</p>").unwrap();
    fs::hard_link(path("a.pgw"), path("hard.html")).unwrap();
    symlink("notes.html", path("link.html")).unwrap();
    symlink("nowhere.html", path("dangling.html")).unwrap();
    fs::create_dir(path("folder.html")).unwrap();
    let fifo = path("fifo.html");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    for (args, said) in [
        (&["a.pgw", "-o", "a.pgw"][..], "is what the report is made of"),
        (&["a.pgw", "-o", "hard.html"], "is what the report is made of"),
        (&["a.pgw", "--against", "b.pgw", "-o", "b.pgw"], "is what the report is made of"),
        (&["a.pgw", "-o", "b.pgw"], "is no page that pagewise wrote"),
        (&["a.pgw", "-o", "notes.html"], "is no page that pagewise wrote"),
        (&["a.pgw", "-o", "link.html"], "is a symbolic link"),
        (&["a.pgw", "-o", "dangling.html"], "is a symbolic link"),
        (&["a.pgw", "-o", "folder.html"], "is no page that pagewise wrote"),
        (&["a.pgw", "-o", "fifo.html"], "is no page that pagewise wrote"),
    ] {
        let before = [fs::read(path("a.pgw")).unwrap(), fs::read(path("b.pgw")).unwrap()];
        let refused = pagewise(folder.path(), &[&["report"], args].concat());
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(said) && told.contains("give another file with --output"), "{args:?}: {told}");
        assert_eq!(before, [fs::read(path("a.pgw")).unwrap(), fs::read(path("b.pgw")).unwrap()], "{args:?}");
    }
    assert_eq!(fs::read_to_string(path("notes.html")).unwrap(), "<p>mine</p>");
    assert!(!path("nowhere.html").exists());
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("pagewise-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_older_page_of_ours_is_replaced_whole_and_a_new_one_has_the_rights_of_any_new_file() {
    let folder = recordings();
    let path = |name: &str| folder.path().join(name);
    for recording in ["a.pgw", "b.pgw"] {
        let written = pagewise(folder.path(), &["report", recording, "-o", "page.html"]);
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        let page = fs::read_to_string(path("page.html")).unwrap();
        assert!(page.contains(&format!("<title>{recording}")), "{}", &page[..1000]);
    }
    fs::write(path("plain"), "").unwrap();
    assert_eq!(fs::metadata(path("page.html")).unwrap().mode(), fs::metadata(path("plain")).unwrap().mode());
}
