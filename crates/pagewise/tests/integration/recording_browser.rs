//! The page of a recording in a real browser: a day with a million stack samples fits its bound, hostile names break
//! nothing, nothing is written to the console, and nothing is wider than the window.
//!
//! `PAGEWISE_SCREENSHOTS=DIR` keeps the screenshots and the pages, for eyes. How long the day takes to open is measured by
//! `benches/page.rs`: on a host that others use, a bound on time says nothing.

use pagewise_core::report::recording::html::{FindingInWords, Item, Row};
use pagewise_core::report::recording::{self, View};
use pagewise_testkit::browser::{visit, visit_with};
use pagewise_testkit::made_up_day::HOSTILE;
use pagewise_testkit::{MadeUpDay, requires};
use std::fs;
use std::path::{Path, PathBuf};

/// A desk and a phone, in CSS pixels.
const WINDOWS: [(u32, u32); 2] = [(1280, 3000), (400, 6400)];

fn hour() -> View {
    recording::view("hour.pgw", &MadeUpDay::of(3600, 20_000))
}

fn kept() -> Option<PathBuf> {
    let folder = std::env::var_os("PAGEWISE_SCREENSHOTS").map(PathBuf::from)?;
    fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

/// The page with a few lines that run after its own script and leave what they found in the title of the frame's body.
fn asked(page: &str, question: &str) -> String {
    let nonce = page.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    page.replace("</body>", &format!("<script nonce=\"{nonce}\">{question}</script></body>"))
}

fn check(folder: &Path, name: &str, page: &str) {
    for window in WINDOWS {
        let seen = visit(folder, name, page, window, false, "--dump-dom");
        let wanted = format!("inner={0} scroll={0} wide=[]", window.0);
        assert_eq!(seen.found, wanted, "{name}: {:?}", seen.console);
        assert!(seen.console.is_empty(), "{name}: {:?}", seen.console);
    }
}

#[test]
fn one_recording_and_two_beside_each_other_are_drawn_without_a_word_on_the_console() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (hour(), recording::view("other.pgw", &MadeUpDay::of(900, 5_000)));
    let finding = FindingInWords {
        id: "compaction-storm".into(),
        title: "Compaction takes 66 % of all CPU time".into(),
        tone: "severe".into(),
        of: 0,
        text: vec![HOSTILE[0].into(), "x".repeat(300)],
        rows: vec![
            Row {
                label: "Try first".into(),
                items: vec![Item {
                    text: Some(HOSTILE[0].into()),
                    command: Some(format!("pagewise set thp.defrag={}", "y".repeat(300))),
                    undo: Some("pagewise revert".into()),
                }],
            },
            Row { label: "Evidence".into(), items: vec![Item::words("a".repeat(200)), Item::words("b".into())] },
        ],
    };
    let other = FindingInWords { of: 1, ..finding.clone() };
    let clean = FindingInWords { of: 1, ..FindingInWords::note("nothing-found", "Nothing found", "25 things".into()) };
    check(folder.path(), "one", &recording::html(&a, None, &[finding.clone(), finding.clone()]).unwrap());
    check(folder.path(), "two", &recording::html(&a, Some(&b), &[finding.clone(), other]).unwrap());
    check(folder.path(), "one-clean", &recording::html(&a, Some(&b), &[finding, clean]).unwrap());
}

#[test]
fn hostile_names_are_shown_as_text_and_run_nothing() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let page = recording::html(&recording::view(HOSTILE[0], &MadeUpDay::of(600, 5_000)), None, &[]).unwrap();
    let question = "const root = document.documentElement; const text = document.body.textContent;
        const seen = [root.dataset.ready !== undefined, document.querySelectorAll('img').length, text.includes('onerror=console.log(1)'),
            document.querySelectorAll('#functions tbody tr').length > 10, document.querySelectorAll('#flame-chart g.frame').length > 10].join(' ');
        if (seen !== 'true 0 true true true') console.log('found ' + seen);";
    let seen = visit(folder.path(), "hostile", &asked(&page, question), WINDOWS[0], false, "--dump-dom");
    assert!(seen.console.is_empty(), "{:?}", seen.console);
}

#[test]
fn brushing_by_keys_changes_the_numbers_and_the_flame_graph() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let page = recording::html(&hour(), None, &[]).unwrap();
    let question = "const kernel = () => document.getElementById('flame-said').textContent;
        const before = kernel(), numbers = document.getElementById('counters').textContent;
        const [from, to] = document.querySelectorAll('.stretch.a input');
        from.value = 510; from.dispatchEvent(new Event('input')); to.value = 590; to.dispatchEvent(new Event('input'));
        setTimeout(() => {
          if (kernel() === before) console.log('the flame graph is as it was: ' + before);
          if (document.getElementById('counters').textContent === numbers) console.log('the numbers are as they were');
          const part = Number(kernel().match(/Kernel: ([0-9.]+)/)[1]);
          if (!(part > 60)) console.log('the storm is not in the stretch: ' + kernel());
          document.getElementById('flame-chart').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }));
          document.getElementById('flame-chart').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }));
          if (!document.querySelector('g.here')) console.log('no function is marked');
          document.getElementById('flame-chart').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
          [...document.querySelectorAll('#stretches button')].find((one) => one.textContent.startsWith('Compare')).click();
          setTimeout(() => {
            if (!kernel().includes('in B')) console.log('no difference is drawn: ' + kernel());
            console.log('came to the end');
          }, 200);
        }, 200);";
    let page = asked(&page, question);
    let wait = ["--virtual-time-budget=5000", "--dump-dom"];
    let seen = visit_with(folder.path(), "keys", &page, WINDOWS[0], false, &wait);
    assert!(seen.console.len() == 1 && seen.console[0].contains("came to the end"), "{:?}", seen.console);
}

#[test]
fn a_day_with_a_million_stack_samples_fits_its_bound() {
    let page = recording::html(&recording::view("day.pgw", &MadeUpDay::whole()), None, &[]).unwrap();
    assert!(page.len() <= 15 << 20, "{} bytes", page.len());
    if let Some(folder) = kept() {
        fs::write(folder.join("day.html"), &page).unwrap();
    }
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let seen = visit(folder.path(), "day", &page, WINDOWS[0], false, "--dump-dom");
    assert!(seen.console.is_empty(), "{:?}", seen.console);
}

#[test]
fn the_page_loads_nothing_and_names_every_licence() {
    let page = recording::html(&hour(), None, &[]).unwrap();
    let markup: String =
        page.split("<script").map(|part| part.split_once("</script>").map_or(part, |(_, rest)| rest)).collect();
    // What a name says stands there escaped, so a tag is a tag.
    for way in ["<link", "<img", "<iframe", "<object", "@import", "url("] {
        assert!(!markup.contains(way), "{way} loads something");
    }
    assert!(!page.contains("<script src"));
    assert!(page.contains("default-src 'none'"));
    for licence in ["Leon Sorokin", "Mike Bostock", "Robert Penner", "Apache License"] {
        assert!(markup.contains(licence), "{licence}");
    }
}

#[test]
fn the_page_follows_the_readers_colours() {
    requires!(chromium);
    let folder = tempfile::tempdir().unwrap();
    let page = recording::html(&hour(), None, &[]).unwrap();
    for window in WINDOWS {
        let files = [false, true].map(|dark| {
            let name = format!("recording-{}-{}.png", window.0, if dark { "dark" } else { "light" });
            let file = kept().unwrap_or_else(|| folder.path().to_owned()).join(name);
            let argument = format!("--screenshot={}", file.display());
            let seen = visit(folder.path(), "colours", &page, window, dark, &argument);
            assert!(seen.console.is_empty(), "{:?}", seen.console);
            fs::read(file).expect("a screenshot")
        });
        assert_ne!(files[0], files[1], "light and dark look the same");
    }
}
