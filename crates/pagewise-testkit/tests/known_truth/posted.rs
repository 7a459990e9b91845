//! What listings of other people are called: the bounds that `docs/method/posted-listings.md` publishes hold, and the page shows what
//! the rules of today say.

use pagewise_testkit::posted::{Ailment, JudgedCase, Outcome, cases, judge, page};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Each case is judged once for all tests.
fn judged() -> &'static [JudgedCase] {
    static JUDGED: OnceLock<Vec<JudgedCase>> = OnceLock::new();
    JUDGED.get_or_init(|| {
        let all = cases(&root().join("recordings/posted")).expect("cases that can be read");
        all.into_iter().map(judge).collect()
    })
}

fn count(is_for_fitting: bool, kind: impl Fn(Ailment) -> bool, outcome: impl Fn(Outcome) -> bool) -> usize {
    let is_it =
        |one: &&JudgedCase| one.case.is_for_fitting() == is_for_fitting && kind(one.case.kind) && outcome(one.outcome);
    judged().iter().filter(is_it).count()
}

#[test]
fn there_are_many_of_both_halves_and_of_many_tools() {
    let of = |half, is_trouble| count(half, |kind| (kind == Ailment::Trouble) == is_trouble, |_| true);
    for is_trouble in [true, false] {
        let (fitting, test) = (of(true, is_trouble), of(false, is_trouble));
        assert!(fitting + test >= 80 && test >= 20, "{fitting} and {test}");
    }
    let mut tools: Vec<&str> = judged().iter().flat_map(|one| one.case.tools()).collect();
    tools.sort_unstable();
    tools.dedup();
    assert!(tools.len() >= 8, "{tools:?}");
    let known = |id: &String| pagewise_core::finding::rules::ALL.iter().any(|rule| rule.id == id);
    for one in judged() {
        assert!(one.case.expect.iter().all(known), "{}", one.case.name);
        assert!(!one.case.source.is_empty() && !one.case.cause.is_empty(), "{}", one.case.name);
    }
}

#[test]
fn hosts_that_are_well_are_left_alone_in_all_but_one_of_fifty() {
    let alarms = |half| count(half, |kind| kind != Ailment::Trouble, |outcome| outcome == Outcome::FalseAlarm);
    let well = |half| count(half, |kind| kind != Ailment::Trouble, |_| true);
    let (all, of) = (alarms(true) + alarms(false), well(true) + well(false));
    assert!(all * 50 <= of, "{all} of {of}");
}

#[test]
fn the_page_of_posted_listings_in_the_reference_shows_what_comes_of_them() {
    const BEGIN: &str = "<!-- tables: begin -->\n";
    const END: &str = "<!-- tables: end -->\n";
    let file = root().join("docs/method/posted-listings.md");
    let text = fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", page::tables(judged()));
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, &wanted).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == wanted,
        "docs/method/posted-listings.md is out of date; `make docs` writes it"
    );
}
