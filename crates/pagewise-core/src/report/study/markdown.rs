//! The study for a pull request or a mail: the content of the terminal's, as GitHub Flavored Markdown.

use super::Report;
use super::content::{Content, Contrast, Section};
use crate::report::markdown::{escape, fenced, functions, lines, list, sentence, table};
use crate::spelling::capitalised;

/// The report as Markdown, ending in a newline.
#[must_use]
pub(in crate::report) fn markdown(report: &Report) -> String {
    let content = Content::of(report);
    let mut out = String::new();
    let mut put = |text: String| out.push_str(&text);
    put(format!("# {}\n\n", escape(&content.name)));
    put(format!("**{}.** {}\n\n", words(&content), sentence(&content.outcome.first)));
    if !content.outcome.rest.is_empty() {
        put(format!("{}\n\n", sentence(&content.outcome.rest)));
    }
    content.ended.iter().for_each(|ended| put(format!("{}\n\n", escape(ended))));
    put("## What the trial found\n\n".to_owned());
    content.claims.iter().for_each(|one| put(contrast(one)));
    put(format!("{}\n\n", escape(&content.claims_note)));
    if !content.interactions.is_empty() {
        put("## Interactions (not adjusted)\n\n".to_owned());
        content.interactions.iter().for_each(|one| put(contrast(one)));
    }
    let warning = |w: &crate::report::content::Warning| {
        format!("**{}**: {} *To do:* {}", escape(&w.id), escape(&w.text), escape(&w.remedy))
    };
    put(list("Warnings", content.warnings.iter().map(warning)));
    put(list("Runs that did not end well", content.incidents.iter().map(|text| escape(text))));
    put("## Cells\n\n".to_owned());
    content.cells.iter().for_each(|one| put(section(one)));
    put(format!("{}\n\n", escape(&content.means_note)));
    if !content.others_note.is_empty() {
        put(format!("## Not claims\n\n{}\n\n", escape(&content.others_note)));
        content.others.iter().for_each(|one| put(section(one)));
    }
    put(explained(&content));
    if !content.interim_analyses.rows.is_empty() {
        put(format!("## Interim analyses\n\n{}", table(&content.interim_analyses, "---:")));
    }
    put(list("Notes", content.notes.iter().map(|text| escape(text))));
    put(format!("## Estimates in full\n\n{}", table(&content.estimates, "---:")));
    put(format!("## How it ran\n\n{}", lines(&content.design)));
    put(format!("What the levels set:\n\n{}", lines(&content.levels)));
    put(format!("## Host\n\n{}", lines(&content.host)));
    put(list("How the numbers were made", content.method.iter().map(|text| escape(text))));
    if !content.commands.is_empty() {
        put(format!("## To repeat\n\n{}\n", fenced(&content.commands)));
    }
    put(format!("{}\n", escape(&content.origin)));
    out
}

/// `1 worse, 2 equivalent`.
fn words(content: &Content) -> String {
    let said = |(place, count): (usize, &super::content::Count)| match count.count {
        Some(number) => format!("{number} {}", count.word.to_lowercase()),
        None if place == 0 => count.word.clone(),
        None => count.word.to_lowercase(),
    };
    content.outcome.counts.iter().enumerate().map(said).collect::<Vec<_>>().join(", ")
}

fn contrast(contrast: &Contrast) -> String {
    let mut out = format!("### {}\n\n{}:\n\n", escape(&contrast.heading), escape(&capitalised(&contrast.verdicts)));
    for said in &contrast.said {
        let holds = if said.holds.is_empty() { String::new() } else { format!(" Holds for: {}.", escape(&said.holds)) };
        out.push_str(&format!("- **{}.** {}{holds}\n", said.word, sentence(&said.pieces)));
    }
    out.push('\n');
    out.push_str(&table(&contrast.table, "---:"));
    out
}

fn section(section: &Section) -> String {
    format!("### {}\n\n{}", escape(&section.heading), table(&section.table, "---:"))
}

fn explained(content: &Content) -> String {
    if content.explained.is_empty() {
        return String::new();
    }
    let mut out = "## What else differed\n\n".to_owned();
    for one in &content.explained {
        out.push_str(&format!("### {}\n\n", escape(&one.heading)));
        one.stall.iter().for_each(|stall| out.push_str(&format!("{}\n\n", escape(stall))));
        if !one.table.rows.is_empty() {
            out.push_str(&table(&one.table, "---:"));
        }
        out.push_str(&format!("{}\n\n", escape(&one.note)));
        one.functions.iter().for_each(|one| out.push_str(&functions(one)));
    }
    out.push_str(&format!("{}\n\n", escape(&content.counters_note)));
    out
}
