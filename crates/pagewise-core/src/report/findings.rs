//! A diagnosis on a terminal: what was found, the costliest first, with the change to try; then what was not there and
//! what could not be told. Readable at 80 columns, without colour and without UTF-8.

use super::command_line::command_line;
use super::number::significant;
use super::printable::{ascii, printable};
use super::text::{BOLD, Style, WARNING, wrap};
use super::words::listed;
use crate::finding::answer::Answer;
use crate::finding::document::{
    Activity, CommandRan, Compare, Diagnosis, Evidence, Finding, Link, MissingView, NotDecided, ObservedView,
    OriginView, Participant, Quantity, RuledOut, Severity, Stretch, Tier,
};
use crate::finding::proposal::{ActsOn, Command, Proposal, ProposedSetting};
use crate::finding::words;
use crate::recording::CachedFile;
use crate::spark::conf::argument;
use crate::unit::Bytes;
use unicode_width::UnicodeWidthStr;

/// The diagnosis as text, ending in a newline. Of a listing, which lacks most of what rules ask for, it says in a line what
/// could not be decided.
#[must_use]
pub fn text(diagnosis: &Diagnosis, style: Style) -> String {
    page(diagnosis, style, !diagnosis.observed.tools.is_empty())
}

/// The same with what each rule that did not decide lacks.
#[must_use]
pub fn text_in_full(diagnosis: &Diagnosis, style: Style) -> String {
    page(diagnosis, style, false)
}

/// The same for a screen that shows what the host does already.
#[must_use]
pub fn text_of_screen(diagnosis: &Diagnosis, style: Style) -> String {
    let observed = ObservedView { activity: Activity::default(), ..diagnosis.observed.clone() };
    text(&Diagnosis { observed, ..diagnosis.clone() }, style)
}

fn page(diagnosis: &Diagnosis, style: Style, is_brief: bool) -> String {
    let mut page = Page { style, out: String::new() };
    page.head(diagnosis);
    if !is_brief || diagnosis.findings.is_empty() {
        page.activity(diagnosis);
    }
    page.overview(&diagnosis.findings);
    for (place, finding) in diagnosis.findings.iter().enumerate() {
        page.finding(place + 1, finding);
    }
    for note in &diagnosis.notes {
        page.line("");
        page.note(note);
    }
    if is_brief {
        page.undecided_of_tools(diagnosis);
    } else {
        page.undecided(&diagnosis.not_decided);
    }
    page.not_found(diagnosis);
    page.observed(&diagnosis.observed);
    page.end()
}

/// What makes the numbers less true than they look, with the notes on them, and what was not seen, each with its reason. `None`: nothing.
#[must_use]
pub fn caveats(diagnosis: Option<&Diagnosis>, unseen: &[(String, String)], style: Style) -> Option<String> {
    let caveat = diagnosis.and_then(|diagnosis| diagnosis.findings.iter().find(|finding| finding.is_caveat()));
    let notes = diagnosis.map_or(&[][..], |diagnosis| &diagnosis.notes);
    if caveat.is_none() && notes.is_empty() && unseen.is_empty() {
        return None;
    }
    let mut page = Page { style, out: String::new() };
    if let Some(caveat) = caveat {
        page.line(&style.paint(BOLD, &caveat.title));
        page.paragraph(&caveat.summary, 3);
        page.paragraph(&caveat.meaning, 3);
        page.evidence(&caveat.evidence);
    }
    for (place, note) in notes.iter().enumerate() {
        if place > 0 || caveat.is_some() {
            page.line("");
        }
        page.note(note);
    }
    if !unseen.is_empty() {
        if caveat.is_some() || !notes.is_empty() {
            page.line("");
        }
        page.line(&style.paint(BOLD, "Not seen"));
        for (what, why) in unseen {
            page.out.push_str(&wrap(&printable(&format!("{what}: {why}")), page.columns(), "  - ", "    "));
        }
    }
    Some(page.end())
}

/// When a finding held, as the end of a sentence: `since …, still going at the end`. `None`: it is of the recording as a whole.
pub(super) fn when(finding: &Finding) -> Option<String> {
    let held = finding.held.as_ref()?;
    let (first, last) = held.stretches.first().zip(held.stretches.last())?;
    let count = held.stretches.len() as u64 + held.more_stretches;
    let (from, to) = (first.from.as_deref(), last.to.as_deref());
    // Without a clock there is what passed since the beginning.
    let since = match from {
        Some(from) => format!(" since {from}"),
        None if first.from_seconds > 0.0 => format!(" from {} after the beginning", words::passed(first.from_seconds)),
        None => String::new(),
    };
    let between =
        from.zip(to).map_or_else(|| since.clone(), |(from, to)| format!(" from {from} to {}", short(to, from)));
    let (time, end) = match held.at_end {
        Answer::Yes if count == 1 && since.is_empty() => (String::new(), "all the time".to_owned()),
        Answer::Yes => (since, "still going at the end".to_owned()),
        Answer::No => {
            let ago = words::passed(held.ended_seconds_ago.unwrap_or(0.0));
            (between, format!("ended {ago} before the end"))
        }
        Answer::Unknown => (between, "not seen after that".to_owned()),
    };
    let mut said: Vec<String> = Vec::new();
    match count {
        1 => said.extend((!time.is_empty()).then(|| time.trim_start().to_owned())),
        2..=NAMED_STRETCHES if held.more_stretches == 0 => {
            said.push(format!("in {count} stretches: {}", each(&held.stretches)));
        }
        _ => said.push(format!("in {count} stretches{time}")),
    }
    said.push(end);
    Some(said.join(", "))
}

/// As many stretches are named one by one.
const NAMED_STRETCHES: u64 = 3;

/// `10:51:29 to 10:53:00 and 11:02:10 to 11:04:00`, or by what passed since the beginning.
fn each(stretches: &[Stretch]) -> String {
    let before = |at: usize| stretches[..at].last().and_then(|before| before.to.as_deref());
    let one = |(at, stretch): (usize, &Stretch)| match (stretch.from.as_deref(), stretch.to.as_deref()) {
        (Some(from), Some(to)) => {
            let begins = before(at).map_or_else(|| from.to_owned(), |before| short(from, before).to_owned());
            format!("{begins} to {}", short(to, from))
        }
        _ => format!("{} to {}", words::passed(stretch.from_seconds), words::passed(stretch.to_seconds)),
    };
    let all = listed(&stretches.iter().enumerate().map(one).collect::<Vec<_>>());
    let has_clock = stretches.iter().any(|stretch| stretch.from.is_some());
    if has_clock { all } else { format!("{all} after the beginning") }
}

/// As many open files in the page cache are named; JSON has all.
const MOST_FILES: usize = 4;

/// `6.2 GiB of /data/part-0 (java 4711)`.
fn in_cache(file: &CachedFile) -> String {
    format!("{} of {} ({} {})", Bytes(file.bytes), printable(&file.path), printable(&file.process), file.pid)
}

/// An instant without its date, where that is the other's.
fn short<'a>(instant: &'a str, other: &str) -> &'a str {
    match (instant.split_once('T'), other.split_once('T')) {
        (Some((date, time)), Some((other, _))) if date == other => time,
        _ => instant,
    }
}

/// What could not be decided and what it would take, in a line of two or three names; `None` when everything was.
#[must_use]
pub fn undecided_in_short(open: &[NotDecided]) -> Option<String> {
    // Those for which time alone would do, by how much they need.
    let mut by_time: Vec<(f64, Vec<&str>)> = Vec::new();
    let mut others = Vec::new();
    for rule in open {
        match rule.needs_seconds.filter(|_| rule.missing.is_empty()) {
            Some(seconds) => match by_time.iter_mut().find(|(other, _)| *other == seconds) {
                Some((_, ids)) => ids.push(&rule.id),
                None => by_time.push((seconds, vec![&rule.id])),
            },
            None => others.push(rule.id.as_str()),
        }
    }
    by_time.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut said: Vec<String> = Vec::new();
    for (seconds, ids) in by_time {
        let verb = if ids.len() == 1 { "needs" } else { "need" };
        said.push(format!("{} {verb} {}", some_of(&ids), words::seconds(seconds)));
    }
    if !others.is_empty() {
        let verb = if others.len() == 1 { "lacks" } else { "lack" };
        said.push(format!("{} {verb} evidence", some_of(&others)));
    }
    (!said.is_empty()).then(|| format!("not decided: {}", said.join("; ")))
}

fn some_of(ids: &[&str]) -> String {
    match ids {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        [one, more @ ..] => format!("{one} and {} more", more.len()),
    }
}

/// Kernel, CPUs and memory, as far as they are known.
fn host(observed: &ObservedView) -> Vec<String> {
    let kernel = observed.kernel.as_deref().map(|kernel| format!("kernel {kernel}"));
    let cpus = observed.cpus.map(|cpus| format!("{cpus:.0} CPUs"));
    kernel
        .into_iter()
        .chain(cpus)
        .chain(observed.memory_bytes.map(|memory| format!("{} of memory", words::bytes(memory))))
        .collect()
}

/// The evidence of a listing in a few words.
fn from_what(observed: &ObservedView) -> String {
    const PROFILES: [&str; 3] = ["perf-top", "perf-script", "folded"];
    let tools: Vec<&str> = observed.tools.iter().map(String::as_str).filter(|tool| !PROFILES.contains(tool)).collect();
    let tools = tools.join(" and ");
    let mut parts: Vec<String> = Vec::new();
    match (observed.samples, tools.as_str()) {
        (0, _) | (_, "") => {}
        (1, tools) => parts.push(format!("one reading of {tools}")),
        (_, tools) => parts.push(format!("{} of {tools}", words::seconds(observed.seconds))),
    }
    if observed.tiers.iter().any(|tier| tier.tier == Tier::Stacks && tier.recorded) {
        let samples = observed
            .profile_samples
            .map_or_else(String::new, |samples| format!(" of {} samples", significant(samples as f64, 3)));
        parts.push(format!("a profile{samples}"));
    }
    if parts.is_empty() { "what was given".to_owned() } else { parts.join(" and ") }
}

/// What a rule made of its evidence: what held, what did not and what was missing. `None`: there is no such rule.
#[must_use]
pub fn explained(diagnosis: &Diagnosis, id: &str, style: Style) -> Option<String> {
    let mut page = Page { style, out: String::new() };
    let nothing: &[MissingView] = &[];
    let (title, outcome, evidence, missing, seconds) =
        if let Some(one) = diagnosis.findings.iter().find(|one| one.id == id) {
            let sure = format!("found, with {} confidence", one.confidence.word());
            (&one.title, sure, &one.evidence, one.missing.as_slice(), None)
        } else if let Some(one) = diagnosis.not_found.iter().find(|one| one.id == id) {
            (&one.title, "not found".to_owned(), &one.because, nothing, None)
        } else {
            let one = diagnosis.not_decided.iter().find(|one| one.id == id)?;
            (&one.title, "not decided".to_owned(), &one.evidence, one.missing.as_slice(), one.needs_seconds)
        };
    page.line(&style.paint(BOLD, &format!("{title} ({id}): {outcome}")));
    let known = || evidence.iter().filter(|line| line.value.is_some());
    page.list("Holds", known().filter(|line| line.holds == Some(true)).map(evidence_words));
    page.list("Does not hold", known().filter(|line| line.holds == Some(false)).map(evidence_words));
    page.list("Seen beside", known().filter(|line| line.holds.is_none()).map(evidence_words));
    let wait = seconds.map(|seconds| format!("time: it takes a recording of {}", words::seconds(seconds)));
    let missing = missing.iter().map(|missing| format!("{} ({})", missing.what, missing.why));
    page.list("Missing", wait.into_iter().chain(missing));
    Some(page.end())
}

struct Page {
    style: Style,
    out: String,
}

/// Evidence in the text; JSON has all.
const MOST_EVIDENCE: usize = 9;

/// Waiting for disks below this part of all CPU time is not worth a word.
const NOTEWORTHY_WAIT: f64 = 0.05;

/// Columns of the labels.
const LABEL: usize = 15;

/// Seconds of CPU time of which the kernel clock's ticks tell a share.
const LEAST_CPU: f64 = 0.1;

impl Page {
    fn note(&mut self, note: &str) {
        self.paragraph(&format!("Note: {note}"), 0);
    }

    /// All of it, as the terminal takes it.
    fn end(self) -> String {
        if self.style.unicode { self.out } else { ascii(&self.out) }
    }

    fn columns(&self) -> usize {
        usize::from(self.style.width.clamp(40, 100))
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn paragraph(&mut self, text: &str, indent: usize) {
        let blanks = " ".repeat(indent);
        self.out.push_str(&wrap(&printable(text), self.columns(), &blanks, &blanks));
    }

    /// A label in a column of its own and words beside it.
    fn labelled(&mut self, label: &str, text: &str) {
        let first = format!("   {label}{}", " ".repeat(LABEL.saturating_sub(label.width()).max(1)));
        self.out.push_str(&wrap(&printable(text), self.columns(), &first, &" ".repeat(LABEL + 3)));
    }

    /// What a setting is and becomes, or two commands: never broken inside, since a path that is cut is no path. Where both
    /// together are too long, each has a line.
    fn value(&mut self, label: &str, from: &str, to: &str) {
        let (from, to) = (printable(from), printable(to));
        let room = self.columns().saturating_sub(LABEL + 3);
        let lines =
            if from.width() + to.width() <= room { vec![from + &to] } else { vec![from, to.trim_start().to_owned()] };
        for (place, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
            let label = if place == 0 { label } else { "" };
            self.line(&format!("   {label}{}{line}", " ".repeat(LABEL.saturating_sub(label.width()).max(1))));
        }
    }

    /// A heading and a line for each; nothing where there is none.
    fn list(&mut self, heading: &str, lines: impl Iterator<Item = String>) {
        let mut lines = lines.peekable();
        if lines.peek().is_none() {
            return;
        }
        self.heading(heading);
        for line in lines {
            self.out.push_str(&wrap(&printable(&line), self.columns(), "  - ", "    "));
        }
    }

    fn heading(&mut self, text: &str) {
        self.out.push('\n');
        let painted = self.style.paint(BOLD, text);
        self.line(&painted);
    }

    fn head(&mut self, diagnosis: &Diagnosis) {
        let (found, open) = (diagnosis.findings.len(), diagnosis.not_decided.len());
        let word = match found {
            0 if open == 0 => "Nothing found.".to_owned(),
            0 => "Nothing found in what could be decided.".to_owned(),
            1 if diagnosis.findings[0].is_caveat() => {
                "Nothing found in what could be decided, and a caveat.".to_owned()
            }
            1 => "1 finding.".to_owned(),
            n => format!("{n} findings."),
        };
        let painted = if found == 0 { self.style.paint(BOLD, &word) } else { self.style.paint(WARNING, &word) };
        self.line(&painted);
        let observed = &diagnosis.observed;
        if !observed.tools.is_empty() {
            self.head_of_listing(diagnosis);
            return;
        }
        let when = observed.from.as_deref().map_or_else(String::new, |from| format!(" from {from}"));
        let is_sampled = observed.tiers.iter().any(|tier| tier.tier == Tier::Counters);
        let mut said = vec![if is_sampled {
            format!(
                "Observed {} for {}{when}: {} samples",
                observed.subject,
                words::seconds(observed.seconds),
                observed.samples
            )
        } else {
            format!("Observed {}", observed.subject)
        }];
        said.extend(host(observed));
        self.paragraph(&format!("{}.", said.join(", ")), 0);
        if let Some(command) = &observed.command {
            self.command(command);
        }
    }

    /// What the command itself had, among all that is on the host.
    fn command(&mut self, command: &CommandRan) {
        let CommandRan { status, succeeded, seconds, user_seconds, system_seconds, .. } = command;
        if !succeeded {
            let text = format!("The command ended with {status}: what is said here is of a run that failed.");
            let painted = self.style.paint(WARNING, &text);
            self.paragraph(&painted, 0);
        }
        let cpu = user_seconds + system_seconds;
        let share = system_seconds / cpu;
        let part = if cpu >= LEAST_CPU { format!(" ({} of it)", words::percent(share)) } else { String::new() };
        let faults = match (command.minor_faults, command.major_faults) {
            (minor, 0) => format!("{} page faults", words::number(minor as f64)),
            (minor, major) => {
                let all = words::number((minor + major) as f64);
                format!("{all} page faults, {} of them with I/O", words::number(major as f64))
            }
        };
        self.paragraph(
            &format!(
                "The command itself took {}: {} of CPU time, the kernel's part {}{part}; {faults}.",
                words::seconds(*seconds),
                words::seconds(cpu),
                words::seconds(*system_seconds),
            ),
            0,
        );
    }

    /// What was decided, from what: `From 47 s of vmstat and a profile of 381,000 samples: compaction-storm.`
    fn head_of_listing(&mut self, diagnosis: &Diagnosis) {
        let observed = &diagnosis.observed;
        let found: Vec<&str> = diagnosis
            .findings
            .iter()
            .filter(|finding| !finding.is_caveat())
            .map(|finding| finding.id.as_str())
            .collect();
        let found =
            if found.is_empty() { "nothing that names trouble with memory".to_owned() } else { found.join(", ") };
        self.paragraph(&format!("From {}: {found}.", from_what(observed)), 0);
        let of = host(observed);
        let of = if of.is_empty() { String::new() } else { format!(": {}", of.join(", ")) };
        self.paragraph(&format!("{}{of}.", observed.subject), 0);
    }

    /// What the host did, whatever was found.
    fn activity(&mut self, diagnosis: &Diagnosis) {
        let Activity { busy_share, kernel_share, iowait_share, kernel_work, programs, .. } =
            &diagnosis.observed.activity;
        let mut cpus: Vec<String> = Vec::new();
        cpus.extend(busy_share.map(|share| format!("{} busy", words::percent(share))));
        let busy = busy_share.is_some_and(|share| share > 0.0);
        cpus.extend(
            kernel_share.filter(|_| busy).map(|share| format!("{} of that in the kernel", words::percent(share))),
        );
        let waits = iowait_share.filter(|share| *share >= NOTEWORTHY_WAIT);
        cpus.extend(waits.map(|share| format!("{} idle for want of a disk", words::percent(share))));
        let mut said = cpus.join(", ");
        if !kernel_work.is_empty() {
            let work: Vec<String> =
                kernel_work.iter().map(|work| format!("{} {}", work.what, words::percent(work.share))).collect();
            let begins = if said.is_empty() { "" } else { "; " };
            said.push_str(&format!("{begins}of all samples {}", work.join(", ")));
        }
        let is_mostly_kernel = busy_share.zip(*kernel_share).is_some_and(|(busy, kernel)| busy * kernel >= 0.5);
        if is_mostly_kernel && diagnosis.findings.is_empty() {
            said.push_str(". None of it counts as trouble with memory");
        }
        let Activity { free_bytes, page_cache_bytes, scanned_pages, cached_files, .. } = &diagnosis.observed.activity;
        let mut memory: Vec<String> = Vec::new();
        memory.extend(free_bytes.map(|bytes| format!("{} free", words::bytes(bytes))));
        memory.extend(page_cache_bytes.map(|bytes| format!("{} in the page cache", words::bytes(bytes))));
        memory
            .extend(scanned_pages.map(|pages| format!("{} pages a second scanned to free more", words::number(pages))));
        if !said.is_empty() || !memory.is_empty() || !programs.is_empty() {
            self.line("");
        }
        let files: Vec<String> = cached_files.iter().take(MOST_FILES).map(in_cache).collect();
        let lines = [
            ("CPUs", said),
            ("Busiest", who(programs)),
            ("Memory", memory.join(", ")),
            ("Cached files", files.join(", ")),
        ];
        for (label, text) in lines {
            if !text.is_empty() {
                self.labelled(label, &text);
            }
        }
    }

    /// A line for each of several findings: how severe, what, and what to try first.
    fn overview(&mut self, findings: &[Finding]) {
        if findings.len() < 2 {
            return;
        }
        self.line("");
        for (place, finding) in findings.iter().enumerate() {
            let first = finding.change.as_ref().and_then(|change| {
                let setting = change.settings.first()?;
                let (from, to) = arrow(change.scope, setting);
                Some(format!(": {}{}", printable(&from), printable(&to)))
            });
            let number = format!("{:>3}. ", place + 1);
            let text = format!("{:<7}{} ({})", finding.severity.word(), finding.title, finding.id);
            let blanks = " ".repeat(number.width() + 7);
            // A setting that does not fit beside its finding stands below it, whole.
            let first = first.unwrap_or_default();
            if number.width() + text.width() + first.width() <= self.columns() {
                self.line(&format!("{number}{}{first}", printable(&text)));
            } else {
                self.out.push_str(&wrap(&printable(&text), self.columns(), &number, &blanks));
                if !first.is_empty() {
                    self.line(&format!("{blanks}{}", first.trim_start_matches(": ")));
                }
            }
        }
    }

    fn finding(&mut self, place: usize, finding: &Finding) {
        self.out.push('\n');
        let title = format!("{place}. {}", finding.title);
        let id = format!("({})", finding.id);
        let painted = self.style.paint(colour_of(finding.severity), &title);
        self.line(&format!("{painted} {id}"));
        let tiers: Vec<&str> = finding.tiers.iter().map(|tier| tier.word()).collect();
        let mut sure = format!("severity {}, confidence {}", finding.severity.word(), finding.confidence.word());
        if !tiers.is_empty() {
            sure.push_str(&format!(" ({})", tiers.join(" and ")));
        }
        if let Some(when) = when(finding) {
            sure.push_str(&format!(", {when}"));
        }
        self.paragraph(&sure, 3);
        self.paragraph(&finding.summary, 3);
        self.paragraph(&finding.meaning, 3);
        if !finding.who.is_empty() {
            self.labelled("Who", &who(&finding.who));
        }
        if !finding.follows_from.is_empty() {
            self.labelled("Follows from", &causes(&finding.follows_from));
        }
        if !finding.leads_to.is_empty() {
            self.labelled("Leads to", &effects(&finding.leads_to));
        }
        if let Some(command) = &finding.decide {
            // Never broken: it is there to be copied.
            self.line(&format!("   Decide it{}{}", " ".repeat(LABEL - "Decide it".len()), printable(command)));
        }
        match &finding.change {
            Some(change) => self.change("Try first", change),
            None => self.labelled("Try first", "nothing: there is no setting here that would help"),
        }
        for (place, change) in finding.alternatives.iter().enumerate() {
            self.change(if place == 0 { "If not enough" } else { "" }, change);
        }
        if let Some(change) = finding.change.as_ref().filter(|change| !change.verify.is_empty()) {
            self.commands("Prove it", &change.verify);
        }
        for (place, text) in finding.counterindications.iter().enumerate() {
            self.labelled(if place == 0 { "Watch out" } else { "" }, text);
        }
        self.evidence(&finding.evidence);
        if !finding.ruled_out.is_empty() {
            self.labelled("Not the cause", &ruled_out(&finding.ruled_out));
        }
        if !finding.missing.is_empty() {
            let missing: Vec<String> =
                finding.missing.iter().map(|missing| format!("{} ({})", missing.what, missing.why)).collect();
            self.labelled("Not seen", &missing.join("; "));
        }
        if !finding.docs.is_empty() {
            self.labelled("Read", &finding.docs.join("; "));
        }
    }

    fn change(&mut self, label: &str, change: &Proposal) {
        if change.settings.is_empty() {
            self.labelled(label, &words::sentence(&change.words));
            self.commands("", change.apply.as_slice());
            return;
        }
        for (place, setting) in change.settings.iter().enumerate() {
            let (from, to) = arrow(change.scope, setting);
            let from = if place == 0 { from } else { format!("and {from}") };
            self.value(if place == 0 { label } else { "" }, &from, &to);
        }
        let mut effect = format!("{}. Takes effect {}", words::sentence(&change.words), change.takes_effect.words());
        if !change.coupled.is_empty() {
            effect.push_str(&format!("; moves {} along", change.coupled.join(", ")));
        }
        self.labelled("", &effect);
        if let (Some(apply), Some(undo)) = (&change.apply, &change.undo) {
            self.value("", &command_line(apply), &format!("    undo: {}", command_line(undo)));
        }
    }

    /// Commands are never wrapped: they are there to be copied.
    fn commands(&mut self, label: &str, commands: &[Command]) {
        for (place, command) in commands.iter().enumerate() {
            let label = if place == 0 { label } else { "" };
            let line = format!(
                "   {label}{}{}",
                " ".repeat(LABEL.saturating_sub(label.width())),
                printable(&command_line(command))
            );
            self.line(&line);
        }
    }

    fn evidence(&mut self, evidence: &[Evidence]) {
        for (place, line) in evidence.iter().filter(|line| line.value.is_some()).take(MOST_EVIDENCE).enumerate() {
            self.labelled(if place == 0 { "Evidence" } else { "" }, &evidence_words(line));
        }
    }

    fn undecided(&mut self, open: &[NotDecided]) {
        if open.is_empty() {
            return;
        }
        self.heading("Not decided");
        // What lacks the same for the same reason stands together.
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for rule in open {
            let why = why_open(rule);
            match groups.iter_mut().find(|(other, _)| *other == why) {
                Some((_, ids)) => ids.push(&rule.id),
                None => groups.push((why, vec![&rule.id])),
            }
        }
        for (why, ids) in groups {
            let text = printable(&format!("{}: {why}", ids.join(", ")));
            self.out.push_str(&wrap(&text, self.columns(), "  - ", "    "));
        }
    }

    fn undecided_of_tools(&mut self, diagnosis: &Diagnosis) {
        let open = &diagnosis.not_decided;
        if open.is_empty() {
            return;
        }
        self.heading("Not decided");
        let decided = diagnosis.findings.len() + diagnosis.not_found.len();
        let tools = diagnosis.observed.tools.join(" and ");
        let (by_time, others): (Vec<&NotDecided>, Vec<&NotDecided>) =
            open.iter().partition(|rule| rule.needs_seconds.is_some() && rule.missing.is_empty());
        let mut text = format!("{tools} can decide {} of {}", decided + by_time.len(), decided + open.len());
        for rule in by_time {
            let needs = words::seconds(rule.needs_seconds.unwrap_or_default());
            text.push_str(&format!("; {} needs a recording of {needs}", rule.id));
        }
        if !others.is_empty() {
            let ids: Vec<&str> = others.iter().map(|rule| rule.id.as_str()).collect();
            text.push_str(&format!(
                "; these need pagewise record: {}. With -v: what each of them lacks",
                ids.join(", ")
            ));
            // As the parser of /proc calls itself.
            if !diagnosis.observed.tools.iter().any(|tool| tool == "proc") {
                text.push_str(
                    ". Where it cannot run, two dated readings of /proc/vmstat and /proc/meminfo decide more",
                );
            }
        }
        self.paragraph(&format!("{text}."), 2);
    }

    fn not_found(&mut self, diagnosis: &Diagnosis) {
        if diagnosis.not_found.is_empty() {
            return;
        }
        self.heading("Not found");
        let ids: Vec<&str> = diagnosis.not_found.iter().map(|rule| rule.id.as_str()).collect();
        self.paragraph(&ids.join(", "), 2);
    }

    fn observed(&mut self, observed: &ObservedView) {
        self.heading("Observed");
        for tier in &observed.tiers {
            self.labelled(tier.tier.word(), &tier.words);
        }
        let origins = "documented: by the kernel or a vendor; ours: proposed by Pagewise (docs/reference/findings.md)";
        self.labelled("thresholds", origins);
    }
}

fn colour_of(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "1;31",
        Severity::Medium => WARNING,
        Severity::Low => BOLD,
    }
}

/// `of the CPU time in the kernel: tar, pid 7 (61 %), cat, pid 8 (30 %)`; who takes part in several things, in each.
pub(super) fn who(who: &[Participant]) -> String {
    let one = |who: &Participant| {
        let name = if who.name.is_empty() { "?" } else { who.name.as_str() };
        let pid = who.pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
        let share = who.share.map_or_else(String::new, |share| format!(" ({})", words::percent(share)));
        format!("{name}{pid}{share}")
    };
    let mut groups: Vec<(&str, bool, Vec<String>)> = Vec::new();
    for part in who {
        match groups.iter_mut().find(|(of, ..)| *of == part.of) {
            Some((.., named)) => named.push(one(part)),
            None => groups.push((&part.of, part.share.is_some(), vec![one(part)])),
        }
    }
    let said = groups.into_iter().map(|(of, is_part, named)| match (of, is_part) {
        ("", _) => named.join(", "),
        (of, true) => format!("of the {of}: {}", named.join(", ")),
        (of, false) => format!("{of} {}", named.join(", ")),
    });
    said.collect::<Vec<String>>().join("; ")
}

/// What a change does to one setting, as two halves of a line: `vm.dirty: 16 MiB` and ` → 4.7 GiB`. Sizes are for reading; the
/// command has them exactly.
pub(super) fn arrow(scope: ActsOn, setting: &ProposedSetting) -> (String, String) {
    let tunable = setting.tunable.as_str();
    let to = readable(tunable, &setting.to);
    match setting.from.as_deref() {
        _ if scope == ActsOn::Job => (format!("{tunable}={to}"), String::new()),
        _ if scope == ActsOn::Application => (argument(tunable, &setting.to), String::new()),
        Some(from) => (format!("{tunable}: {}", readable(tunable, from)), format!(" → {to}")),
        None => (tunable.to_owned(), format!(" → {to}")),
    }
}

/// A value with its sizes in the units people say them in.
fn readable(tunable: &str, value: &str) -> String {
    const SIZES: [&str; 4] = ["vm.dirty", "vm.dirty_background", "vm.overcommit_limit", "swap"];
    let unit = match tunable {
        name if name.ends_with("kbytes") => 1024,
        name if SIZES.contains(&name) || name.contains("].memory.") => 1,
        _ => return value.to_owned(),
    };
    let mut text = String::new();
    // Within an area of swap a size stands between other words; numbers in a path are no sizes.
    let (sizes, path) = value.split_once('@').map_or((value, None), |(sizes, path)| (sizes, Some(path)));
    for (place, part) in sizes.split(':').enumerate() {
        let size = part.parse::<u64>().ok().and_then(|size| size.checked_mul(unit)).filter(|bytes| *bytes >= 1 << 20);
        if place > 0 {
            text.push(':');
        }
        text.push_str(&size.map_or_else(|| part.to_owned(), |bytes| Bytes(bytes).to_string()));
    }
    match path {
        Some(path) => format!("{text}@{path}"),
        None => text,
    }
}

pub(super) fn causes(links: &[Link]) -> String {
    let one = |link: &Link| format!("{} ({})", link.id, link.why);
    links.iter().map(one).collect::<Vec<String>>().join("; ")
}

pub(super) fn effects(links: &[Link]) -> String {
    links.iter().map(|link| link.id.as_str()).collect::<Vec<&str>>().join(", ")
}

pub(super) fn ruled_out(rules: &[RuledOut]) -> String {
    let one = |rule: &RuledOut| {
        let why = rule.because.iter().find(|line| line.value.is_some()).map(short_words);
        why.map_or_else(|| rule.id.clone(), |why| format!("{} ({why})", rule.id))
    };
    rules.iter().map(one).collect::<Vec<String>>().join(", ")
}

fn value_words(value: Option<f64>, unit: Quantity) -> String {
    value.map_or_else(|| "not known".to_owned(), |value| words::quantity(value, unit))
}

fn short_words(line: &Evidence) -> String {
    let value = value_words(line.value, line.unit);
    // Rounded it may look like the threshold that it misses, or meets.
    let side =
        line.value.zip(line.threshold).filter(|(value, threshold)| value != threshold).and_then(|(of, threshold)| {
            (value == words::quantity(threshold, line.unit)).then_some(if of < threshold {
                "just below "
            } else {
                "just above "
            })
        });
    format!("{}: {}{value}", line.name, side.unwrap_or_default())
}

/// `time in which some task waited for I/O: 1.7 % (threshold from 5.0 %, ours: not met) [psi_io.some_total]`.
pub(super) fn evidence_words(line: &Evidence) -> String {
    let mut text = short_words(line);
    if let (Some(threshold), Some(compare)) = (line.threshold, line.compare) {
        let sign = match compare {
            Compare::AtLeast => "from",
            Compare::Above => "above",
            Compare::Below => "below",
        };
        let origin = match &line.origin {
            Some(OriginView::Documented(_)) => "documented",
            _ => "ours",
        };
        let met = if line.holds == Some(false) { ": not met" } else { "" };
        text.push_str(&format!(" (threshold {sign} {}, {origin}{met})", words::quantity(threshold, line.unit)));
    }
    text.push_str(&format!(" [{}]", line.source));
    text
}

fn why_open(rule: &NotDecided) -> String {
    let mut reasons: Vec<String> = Vec::new();
    reasons.extend(rule.needs_seconds.map(|seconds| format!("needs a recording of {}", words::seconds(seconds))));
    reasons.extend(rule.missing.iter().take(3).map(|missing| format!("{} ({})", missing.what, missing.why)));
    if rule.missing.len() > 3 {
        reasons.push(format!("and {} more", rule.missing.len() - 3));
    }
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::document::{MissingView, Occurrence};

    /// Stretches are of instants, or where there is no clock of the seconds after the beginning.
    fn held(stretches: &[(&str, &str)], at_end: Answer, ended_seconds_ago: Option<f64>) -> Option<String> {
        let seconds = |text: &str| text.parse::<f64>().ok();
        let instant = |text: &str| seconds(text).is_none().then(|| text.to_owned());
        let stretch = |(from, to): &(&str, &str)| Stretch {
            from: instant(from),
            to: instant(to),
            from_seconds: seconds(from).unwrap_or(0.0),
            to_seconds: seconds(to).unwrap_or(1.0),
        };
        let stretches = stretches.iter().map(stretch).collect();
        when(&Finding {
            held: Some(Occurrence { stretches, more_stretches: 0, at_end, ended_seconds_ago }),
            ..a_finding()
        })
    }

    #[test]
    fn what_rounds_to_its_threshold_says_on_which_side_it_is() {
        let line = |value: f64| Evidence {
            name: "stolen".to_owned(),
            source: "stat".to_owned(),
            value: Some(value),
            unit: Quantity::Fraction,
            threshold: Some(0.1),
            compare: Some(Compare::AtLeast),
            origin: None,
            holds: Some(value >= 0.1),
        };
        assert_eq!(
            evidence_words(&line(0.0997)),
            "stolen: just below 10 % (threshold from 10 %, ours: not met) [stat]"
        );
        assert_eq!(evidence_words(&line(0.1003)), "stolen: just above 10 % (threshold from 10 %, ours) [stat]");
        assert_eq!(evidence_words(&line(0.1)), "stolen: 10 % (threshold from 10 %, ours) [stat]");
        assert_eq!(evidence_words(&line(0.2)), "stolen: 20 % (threshold from 10 %, ours) [stat]");
    }

    fn a_finding() -> Finding {
        Finding {
            id: String::new(),
            title: String::new(),
            summary: String::new(),
            marks: Vec::new(),
            meaning: String::new(),
            severity: Severity::Low,
            cost: crate::finding::Cost::default(),
            confidence: crate::finding::Confidence::Low,
            tiers: Vec::new(),
            since: None,
            held: None,
            seconds: 0.0,
            of_seconds: 0.0,
            who: Vec::new(),
            follows_from: Vec::new(),
            leads_to: Vec::new(),
            evidence: Vec::new(),
            missing: Vec::new(),
            ruled_out: Vec::new(),
            decide: None,
            change: None,
            alternatives: Vec::new(),
            counterindications: Vec::new(),
            docs: Vec::new(),
        }
    }

    #[test]
    fn since_when_and_until_when_is_said_in_as_few_words_as_it_takes() {
        let morning = ("2026-01-01T00:03:20Z", "2026-01-01T00:05:00Z");
        let night = ("2026-01-01T23:00:00Z", "2026-01-02T00:10:00Z");
        let said = |stretches: &[(&str, &str)], at_end, ago| held(stretches, at_end, ago).unwrap();
        let since = "since 2026-01-01T00:03:20Z, still going at the end";
        assert_eq!(said(&[morning], Answer::Yes, None), since);
        let over = "from 2026-01-01T00:03:20Z to 00:05:00Z, ended 4 min before the end";
        assert_eq!(said(&[morning], Answer::No, Some(240.0)), over);
        let both = "in 2 stretches: 2026-01-01T00:03:20Z to 00:05:00Z and 23:00:00Z to 2026-01-02T00:10:00Z, not seen after that";
        assert_eq!(said(&[morning, night], Answer::Unknown, Some(9.0)), both);
        assert_eq!(said(&[("03:20:00", "03:30:00")], Answer::Yes, None), "since 03:20:00, still going at the end");
        // Where there is no clock.
        assert_eq!(said(&[("0", "9")], Answer::Yes, None), "all the time");
        assert_eq!(said(&[("20", "90")], Answer::Yes, None), "from 20 s after the beginning, still going at the end");
        assert_eq!(said(&[("0", "9")], Answer::No, Some(40.0)), "ended 40 s before the end");
        let later = "from 20 s after the beginning, ended 40 s before the end";
        assert_eq!(said(&[("20", "90")], Answer::No, Some(40.0)), later);
        let two = "in 2 stretches: 0 s to 9 s and 20 s to 30 s after the beginning, still going at the end";
        assert_eq!(said(&[("0", "9"), ("20", "30")], Answer::Yes, None), two);
        let four = [("0", "9"), ("20", "30"), ("40", "50"), ("60", "70")];
        assert_eq!(said(&four, Answer::Yes, None), "in 4 stretches, still going at the end");
        assert_eq!(when(&a_finding()), None);
    }

    #[test]
    fn caveats_stand_with_what_was_not_seen_and_why() {
        let style = Style { color: false, width: 80, unicode: true };
        assert_eq!(caveats(None, &[], style), None);
        let unseen = [("stalls".to_owned(), "not permitted; run as root".to_owned())];
        let text = caveats(None, &unseen, style).unwrap();
        assert_eq!(text, "Not seen\n  - stalls: not permitted; run as root\n");
        let committed = include_str!("../../../../recordings/6.18.44-fc-v657/memcg-limit-thrash-severe.diagnose.json");
        let mut noted: Diagnosis = serde_json::from_str(committed).unwrap();
        noted.findings.clear();
        noted.notes = vec!["ticks of the clock, not time".to_owned()];
        assert_eq!(caveats(Some(&noted), &[], style).unwrap(), "Note: ticks of the clock, not time\n");
        let both = caveats(Some(&noted), &unseen, style).unwrap();
        assert!(both.starts_with("Note: ticks of the clock, not time\n\nNot seen\n"), "{both}");
    }

    #[test]
    fn sizes_are_for_reading_and_what_is_no_size_stays() {
        for (tunable, value, wanted) in [
            ("vm.dirty", "16777216", "16 MiB"),
            ("vm.dirty", "20%", "20%"),
            ("vm.min_free_kbytes", "67584", "66 MiB"),
            ("swap", "file:2147483648@/var/2147483648.swap", "file:2 GiB@/var/2147483648.swap"),
            ("swap", "zram:6442450944", "zram:6 GiB"),
            ("swap", "off", "off"),
            ("cgroup[/a].memory.high", "1610612736", "1.5 GiB"),
            ("vm.swappiness", "100000000", "100000000"),
        ] {
            assert_eq!(readable(tunable, value), wanted, "{tunable}");
        }
    }

    #[test]
    fn who_takes_part_is_told_by_what_it_is_a_part_of() {
        let part =
            |name: &str, pid, share, of: &str| Participant { name: name.to_owned(), pid, share, of: of.to_owned() };
        let both = [
            part("/job", None, None, "control group"),
            part("tar", Some(7), Some(0.61), "CPU time"),
            part("cat", Some(8), Some(0.3), "CPU time"),
        ];
        assert_eq!(who(&both), "control group /job; of the CPU time: tar, pid 7 (61 %), cat, pid 8 (30 %)");
        assert_eq!(who(&[part("x", None, Some(1.0), "time")]), "of the time: x (100 %)");
    }

    #[test]
    fn what_is_open_is_told_in_a_line_by_what_it_takes() {
        let rule = |id: &str, needs_seconds, lacks: bool| {
            let missing = MissingView { what: "x".to_owned(), why: "y".to_owned() };
            let missing = if lacks { vec![missing] } else { Vec::new() };
            let (id, title) = (id.to_owned(), String::new());
            NotDecided { id, title, missing, needs_seconds, evidence: Vec::new() }
        };
        assert_eq!(undecided_in_short(&[]), None);
        let open = [
            rule("slow", Some(600.0), false),
            rule("a", Some(60.0), false),
            rule("b", Some(60.0), false),
            rule("tlb", Some(60.0), true),
        ];
        let said = undecided_in_short(&open).unwrap();
        assert_eq!(said, "not decided: a and b need 60 s; slow needs 10m00s; tlb lacks evidence");
        let many = [rule("a", None, true), rule("b", None, true), rule("c", None, false)];
        assert_eq!(undecided_in_short(&many).unwrap(), "not decided: a and 2 more lack evidence");
    }
}
