//! Judges listings that people posted: a line a case, and how many of each outcome.
//!
//!     posted FOLDER [NAME]

use pagewise_core::report::Style;
use pagewise_core::report::findings;
use pagewise_testkit::posted::{Outcome, cases, judge};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

fn main() -> io::Result<()> {
    // Whoever reads only the first lines has what they wanted.
    match tell(&mut io::stdout().lock()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        told => told,
    }
}

fn tell(out: &mut impl Write) -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or_else(|| io::Error::other("usage: posted FOLDER [NAME]"))?;
    let name = words.next().unwrap_or_default();
    let cases = cases(Path::new(&folder)).map_err(io::Error::other)?;
    let mut counts: BTreeMap<(String, Outcome), usize> = BTreeMap::new();
    for case in cases.into_iter().filter(|case| case.name.contains(&name)) {
        let judged = judge(case);
        let (case, outcome) = (&judged.case, judged.outcome);
        *counts.entry((format!("{:?}", case.kind), outcome)).or_default() += 1;
        writeln!(out, "{:18} {:50} found {:?} expected {:?}", outcome.words(), case.name, judged.found, case.expect)?;
        for why in &judged.left_out {
            writeln!(out, "{:18}   left out: {why}", "")?;
        }
        if let Some(diagnosis) = judged.diagnosis.as_ref().filter(|_| !name.is_empty()) {
            write!(out, "{}", findings::text(diagnosis, Style::default()))?;
            for id in judged.case.expect.iter().chain(&judged.found) {
                if let Some(text) = findings::explained(diagnosis, id, Style::default()) {
                    writeln!(out, "{text}")?;
                }
            }
        }
    }
    for ((kind, outcome), count) in counts {
        writeln!(out, "{kind:10} {:18} {count}", outcome.words())?;
    }
    Ok(())
}
