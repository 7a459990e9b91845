//! The tables of `docs/method/posted-listings.md`.

use super::Ailment;
use super::judge::{JudgedCase, Outcome};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Both halves, by outcome; then what was not named, case by case, of the half that rules were fitted to. Cases of the other half are
/// counted only: whoever looks at them fits to them.
#[must_use]
pub fn tables(judged: &[JudgedCase]) -> String {
    let mut text = String::new();
    let halves = [("fitting", true), ("test", false)];
    let _ = writeln!(text, "## What came of them\n");
    let _ = writeln!(text, "| half | kind | cases | {} |", Outcome::ALL.map(Outcome::words).join(" | "));
    let _ = writeln!(text, "| --- | --- | --- |{}", " --- |".repeat(Outcome::ALL.len()));
    for (name, is_for_fitting) in halves {
        let half: Vec<&JudgedCase> = judged.iter().filter(|one| one.case.is_for_fitting() == is_for_fitting).collect();
        for (words, kind) in
            [("trouble", Ailment::Trouble), ("healthy", Ailment::Healthy), ("not memory", Ailment::NotMemory)]
        {
            let of_kind = || half.iter().filter(|one| one.case.kind == kind);
            let counts = Outcome::ALL.map(|outcome| of_kind().filter(|one| one.outcome == outcome).count());
            let cells = counts.map(|count| if count == 0 { "–".to_owned() } else { count.to_string() });
            let _ = writeln!(text, "| {name} | {words} | {} | {} |", of_kind().count(), cells.join(" | "));
        }
    }
    let mut by_tool: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for one in judged {
        for tool in one.case.tools() {
            by_tool.entry(tool).or_default()[usize::from(!one.case.is_for_fitting())] += 1;
        }
    }
    let _ = writeln!(text, "\n## Of which tools\n\n| tool | fitting | test |\n| --- | --- | --- |");
    for (tool, [fitting, test]) in by_tool {
        let _ = writeln!(text, "| {tool} | {fitting} | {test} |");
    }
    let _ = writeln!(text, "\n## The half that rules were fitted to\n");
    let _ =
        writeln!(text, "| case | kind | outcome | found | would have been right |\n| --- | --- | --- | --- | --- |");
    for one in judged.iter().filter(|one| one.case.is_for_fitting()) {
        let list = |ids: &[String]| if ids.is_empty() { "–".to_owned() } else { ids.join(", ") };
        let kind = match one.case.kind {
            Ailment::Trouble => "trouble",
            Ailment::Healthy => "healthy",
            Ailment::NotMemory => "not memory",
        };
        let (name, outcome) = (&one.case.name, one.outcome.words());
        let _ = writeln!(text, "| {name} | {kind} | {outcome} | {} | {} |", list(&one.found), list(&one.case.expect));
    }
    text
}
