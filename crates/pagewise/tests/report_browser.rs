//! The HTML report in a real browser: nothing on the console, nothing wider than the window, light and dark.
//!
//! `PAGEWISE_SCREENSHOTS=DIR` keeps the screenshots, for eyes.

use pagewise_core::report::{html, study};
use pagewise_testkit::{reports, requires, studies};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A desk and a phone, in CSS pixels.
const WINDOWS: [(u32, u32); 2] = [(1280, 2600), (390, 5200)];

/// Chromium on a loaded two-core host, by far.
const PATIENCE: Duration = Duration::from_secs(90);

/// A window of Chromium is at least 500 pixels wide, so a phone is a frame in it.
const FRAME: &str =
    "<!doctype html><style>body{margin:0}iframe{border:0;display:block;width:WIDTHpx;height:HEIGHTpx}</style>
<iframe src='page.html' onload='
const view = this.contentWindow, page = this.contentDocument, root = page.documentElement;
const wide = [...page.querySelectorAll(`body *:not(svg *)`)]
  .filter(e => e.getBoundingClientRect().right > view.innerWidth + 1)
  .map(e => `${e.tagName}.${e.className}`).slice(0, 5).join(` `);
document.body.dataset.found = `inner=${view.innerWidth} scroll=${root.scrollWidth} wide=[${wide}]`;
'></iframe>";

/// Every report of two arms and of a matrix with its name, as HTML.
fn pages() -> Vec<(String, String)> {
    let pairs = reports::all().into_iter().map(|(name, report)| (name.to_owned(), html(&report).unwrap()));
    let matrices =
        studies::all().into_iter().map(|(name, report)| (format!("study-{name}"), study::html(&report).unwrap()));
    pairs.chain(matrices).collect()
}

struct Visit {
    /// What the frame found out about the page.
    found: String,
    console: Vec<String>,
}

/// Opens a page headless in a frame of the window's size. `extra` says what to make of it: a screenshot or the DOM.
fn visit(folder: &Path, name: &str, page: &str, window: (u32, u32), dark: bool, extra: &str) -> Visit {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("page.html"), page).unwrap();
    let file = folder.join("frame.html");
    fs::write(&file, FRAME.replace("WIDTH", &window.0.to_string()).replace("HEIGHT", &window.1.to_string())).unwrap();
    let (out, err) = (folder.join("out"), folder.join("err"));
    let mut browser = Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"])
        .arg("--allow-file-access-from-files")
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={},{}", window.0, window.1))
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(extra)
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap())
        .spawn()
        .expect("chromium starts");
    let started = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("chromium did not end within {PATIENCE:?} on {name}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = fs::read_to_string(&err).unwrap();
    let dom = fs::read_to_string(&out).unwrap();
    let found = dom.split_once("data-found=\"").and_then(|(_, rest)| rest.split('"').next());
    Visit {
        found: found.unwrap_or_default().to_owned(),
        console: log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
    }
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
