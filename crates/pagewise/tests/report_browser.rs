//! The HTML report in a real browser: nothing on the console, nothing wider than the window, light and dark.
//!
//! `PAGEWISE_SCREENSHOTS=DIR` keeps the screenshots, for eyes.

mod browser;

use browser::visit;
use pagewise_core::report::{html, study};
use pagewise_testkit::{reports, requires, studies};
use std::fs;
use std::path::{Path, PathBuf};

/// A desk and a phone, in CSS pixels.
const WINDOWS: [(u32, u32); 2] = [(1280, 2600), (390, 5200)];

/// Every report of two arms and of a matrix with its name, as HTML.
fn pages() -> Vec<(String, String)> {
    let pairs = reports::all().into_iter().map(|(name, report)| (name.to_owned(), html(&report).unwrap()));
    let matrices =
        studies::all().into_iter().map(|(name, report)| (format!("study-{name}"), study::html(&report).unwrap()));
    pairs.chain(matrices).collect()
}

fn screenshot(folder: &Path, name: &str) -> (PathBuf, String) {
    let kept = std::env::var_os("PAGEWISE_SCREENSHOTS").map(PathBuf::from);
    if let Some(folder) = &kept {
        fs::create_dir_all(folder).unwrap();
    }
    let file = kept.unwrap_or_else(|| folder.to_owned()).join(format!("{name}.png"));
    let argument = format!("--screenshot={}", file.display());
    (file, argument)
}

#[test]
fn no_report_writes_to_the_console_or_is_wider_than_its_window() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    for (name, page) in pages() {
        for window in WINDOWS {
            let seen = visit(folder.path(), &name, &page, window, false, "--dump-dom");
            assert_eq!(seen.found, format!("inner={0} scroll={0} wide=[]", window.0), "{name}");
            assert!(seen.console.is_empty(), "{name}: {:?}", seen.console);
        }
    }
}

#[test]
fn the_page_follows_the_readers_colours() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let kept_all = std::env::var_os("PAGEWISE_SCREENSHOTS").is_some();
    let shown = |name: &str| kept_all || name == "better" || name == "study-swap";
    for (name, page) in pages().into_iter().filter(|(name, _)| shown(name)) {
        for window in WINDOWS {
            let mut files = Vec::new();
            for dark in [false, true] {
                let name = format!("{name}-{}-{}", window.0, if dark { "dark" } else { "light" });
                let (file, argument) = screenshot(folder.path(), &name);
                let seen = visit(folder.path(), &name, &page, window, dark, &argument);
                assert!(seen.console.is_empty(), "{name}: {:?}", seen.console);
                files.push(fs::read(file).expect("a screenshot"));
            }
            assert_ne!(files[0], files[1], "{name}: light and dark look the same");
        }
    }
}

#[test]
fn a_page_that_writes_to_the_console_is_caught() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let page = "<!doctype html><title>loud</title><script>console.log('heard')</script>";
    let seen = visit(folder.path(), "loud", page, WINDOWS[0], false, "--dump-dom");
    assert!(seen.console.iter().any(|line| line.contains("heard")), "{:?}", seen.console);
}

#[test]
fn a_page_wider_than_its_window_is_caught() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let page = html(&reports::better()).unwrap().replace("</main>", "<div style='width:900px'>wide</div></main>");
    let seen = visit(folder.path(), "wide", &page, WINDOWS[1], false, "--dump-dom");
    assert!(seen.found.starts_with("inner=390") && !seen.found.contains("wide=[]"), "{:?}", seen.found);
}
