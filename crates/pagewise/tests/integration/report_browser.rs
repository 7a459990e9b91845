//! The HTML report in a real browser: nothing on the console, nothing wider than the window, light and dark.
//!
//! `PAGEWISE_SCREENSHOTS=DIR` keeps the screenshots, for eyes.

use pagewise_core::report::html;
use pagewise_testkit::browser::visit;
use pagewise_testkit::{reports, requires, studies};
use std::fs;
use std::path::{Path, PathBuf};

/// A desk and a phone, in CSS pixels.
const WINDOWS: [(u32, u32); 2] = [(1280, 2600), (390, 5200)];

/// Every report of two arms and of a matrix with its name, as HTML.
fn pages() -> Vec<(String, String)> {
    let pairs = reports::all().into_iter().map(|(name, report)| (name.to_owned(), html(&report).unwrap()));
    let matrices = studies::all().into_iter().map(|(name, report)| (format!("study-{name}"), html(&report).unwrap()));
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
    let shown = |name: &str| kept_all || ["better", "study-swap", "stacked"].contains(&name);
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

/// The page with a few lines that run after its own scripts.
fn asked(page: &str, question: &str) -> String {
    let nonce = page.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    page.replace("</body>", &format!("<script nonce=\"{nonce}\">{question}</script></body>"))
}

const WAIT: [&str; 2] = ["--virtual-time-budget=3000", "--dump-dom"];

#[test]
fn what_changed_between_the_arms_is_drawn_and_read_by_keys() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let question = "const said = () => document.getElementById('flame-said').textContent;
        const chart = document.getElementById('flame-chart');
        const key = (key) => chart.dispatchEvent(new KeyboardEvent('keydown', { key }));
        if (chart.querySelectorAll('g.frame').length < 10) console.log('nothing is drawn');
        if (!/1\\.\\d+ in A \\(always\\), 1\\.\\d+ in B \\(never\\)/.test(said())) console.log('no arms: ' + said());
        key('ArrowUp'); key('ArrowUp'); key('ArrowUp');
        const detail = document.getElementById('flame-detail').textContent;
        if (!/: A .* CPUs \\(.*, B .* CPUs \\(.*, [+−].* CPUs$/.test(detail)) console.log('no change is told: ' + detail);
        key('Enter'); key('Escape');
        const rows = [...document.querySelectorAll('#functions tbody tr')].map((row) => row.textContent).join(' ');
        if (!rows.includes('clear_page_erms')) console.log('the table lacks what changed: ' + rows);
        document.querySelector('#flame-tools button').click();
        if (document.querySelector('#flame-tools button').getAttribute('aria-pressed') !== 'true') console.log('A is not chosen');
        if (document.querySelector('#flame-tools input[type=checkbox]')) console.log('there are no threads to tell');
        if (document.querySelectorAll('img').length) console.log('a name became markup');
        console.log('came to the end');";
    let page = asked(&html(&reports::stacked()).unwrap(), question);
    let seen = pagewise_testkit::browser::visit_with(folder.path(), "keys", &page, WINDOWS[0], false, &WAIT);
    assert!(seen.console.len() == 1 && seen.console[0].contains("came to the end"), "{:?}", seen.console);
}

#[test]
fn every_claim_of_a_matrix_has_its_flame_graph() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let question = "const said = () => document.getElementById('flame-said').textContent;
        const choice = document.querySelector('#flame-tools select');
        const names = [...choice.options].map((option) => option.textContent).join('; ');
        if (names !== 'swap: off → on, concurrency low; swap: off → on, concurrency high') console.log('not the claims: ' + names);
        const first = said();
        choice.value = '1'; choice.dispatchEvent(new Event('change'));
        if (said() === first) console.log('the other claim looks the same: ' + first);
        if (document.querySelectorAll('#flame-chart g.frame').length < 10) console.log('nothing is drawn');
        console.log('came to the end');";
    let page = asked(&html(&studies::stacked()).unwrap(), question);
    let seen = pagewise_testkit::browser::visit_with(folder.path(), "claims", &page, WINDOWS[0], false, &WAIT);
    assert!(seen.console.len() == 1 && seen.console[0].contains("came to the end"), "{:?}", seen.console);
}
