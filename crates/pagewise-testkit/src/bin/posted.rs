//! Judges listings that people posted: a line a case, and how many of each outcome.
//!
//!     posted FOLDER [NAME]

use pagewise_core::report::Style;
use pagewise_core::report::findings;
use pagewise_testkit::posted::{Outcome, cases, judge};
use std::collections::BTreeMap;
use std::path::Path;

#[allow(clippy::print_stdout, reason = "a tool of the tests")]
fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("usage: posted FOLDER [NAME]")?;
    let name = words.next().unwrap_or_default();
    let mut counts: BTreeMap<(String, Outcome), usize> = BTreeMap::new();
    for case in cases(Path::new(&folder))?.into_iter().filter(|case| case.name.contains(&name)) {
        let judged = judge(case);
        let (case, outcome) = (&judged.case, judged.outcome);
        *counts.entry((format!("{:?}", case.kind), outcome)).or_default() += 1;
        println!("{:18} {:50} found {:?} expected {:?}", outcome.words(), case.name, judged.found, case.expect);
        for why in &judged.left_out {
            println!("{:18}   left out: {why}", "");
        }
        if let Some(diagnosis) = judged.diagnosis.as_ref().filter(|_| !name.is_empty()) {
            print!("{}", findings::text(diagnosis, Style::default()));
            for id in judged.case.expect.iter().chain(&judged.found) {
                if let Some(text) = findings::explained(diagnosis, id, Style::default()) {
                    println!("{text}");
                }
            }
        }
    }
    for ((kind, outcome), count) in counts {
        println!("{kind:10} {:18} {count}", outcome.words());
    }
    Ok(())
}
