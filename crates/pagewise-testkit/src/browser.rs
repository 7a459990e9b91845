//! A page opened in a real Chromium, headless, in a frame of the wanted size: what it found out about itself, and what it
//! wrote to the console.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Chromium on a loaded two-core host, by far.
const PATIENCE: Duration = Duration::from_secs(90);

/// A window of Chromium is at least 500 pixels wide, so a phone is a frame in it.
const FRAME: &str =
    "<!doctype html><style>body{margin:0}iframe{border:0;display:block;width:WIDTHpx;height:HEIGHTpx}</style>
<iframe src='page.html' onload='
const view = this.contentWindow, page = this.contentDocument, root = page.documentElement;
const wide = [...page.querySelectorAll(`body *:not(svg *):not(.wide *)`)]
  .filter(e => e.getBoundingClientRect().right > view.innerWidth + 1)
  .map(e => `${e.tagName}.${e.className}`).slice(0, 5).join(` `);
document.body.dataset.found = `inner=${view.innerWidth} scroll=${root.scrollWidth} wide=[${wide}]`;
'></iframe>";

/// What came of it.
pub struct Visit {
    /// What the frame found out about the page.
    pub found: String,
    /// What the page said.
    pub console: Vec<String>,
}

/// Opens a page headless in a frame of the window's size. `extra` says what to make of it: a screenshot or the DOM.
pub fn visit(folder: &Path, name: &str, page: &str, window: (u32, u32), dark: bool, extra: &str) -> Visit {
    visit_with(folder, name, page, window, dark, &[extra])
}

/// The same with several arguments, such as time to let pass.
pub fn visit_with(folder: &Path, name: &str, page: &str, window: (u32, u32), dark: bool, extra: &[&str]) -> Visit {
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
        .args(extra)
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
