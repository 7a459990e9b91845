//! A sosreport, unpacked: kernel files and command outputs of one instant. Its levels and settings are taken; its totals
//! are not, since one instant says nothing of how fast they grow.

use crate::root::Root;
use crate::source::visit::Each;
use crate::source::{TEXT_FILES, TextFile};
use crate::tunable;
use pagewise_core::counter::{self, describe};
use pagewise_core::import::{Kind, Listing, ListingClock, Problem, of_sysctl, utc_instant};
use pagewise_core::recording::GapReason;
use std::path::Path;

/// Output of `date`, and of `sysctl -a`, by the names that versions of sos gave them.
const DATES: [&str; 3] = ["/date", "/sos_commands/date/date", "/sos_commands/general/date"];
const SYSCTLS: [&str; 2] = ["/sos_commands/kernel/sysctl_-a", "/sos_commands/kernel/sysctl_a"];

pub(super) fn read(folder: &Path) -> Result<Listing, Problem> {
    let wrong = |what: &str, remedy: &str| Problem { line: None, what: what.to_owned(), remedy: remedy.to_owned() };
    if !folder.is_dir() {
        return Err(wrong("it is no folder", "unpack the archive with `tar xf` and give the folder it makes"));
    }
    let root = Root::at(folder);
    let instant = DATES.iter().find_map(|path| utc_instant(root.read(path).ok()?.lines().next()?));
    let clock = match instant {
        Some((_, true)) => ListingClock::Utc,
        Some((_, false)) => ListingClock::Local,
        None => ListingClock::Foreign,
    };
    let at = instant.map_or(0, |(at, _)| at);
    let mut listing = Listing::new(Kind::Sosreport, clock);
    if instant.is_none() {
        listing.note("sosreport: it has no file 'date' that could be read; when it was taken is not known");
    }
    let mut found = 0;
    for &TextFile { source, path, parse, .. } in TEXT_FILES {
        let text = match root.read(path) {
            Ok(text) => text,
            Err(error) => {
                // A report holds what its plugins copied. What it lacks the host may well have had.
                let (reason, detail) = if error.is_missing() {
                    let detail =
                        format!("the report has no copy of {path}, which does not say that the host had no such file");
                    (GapReason::Other("not_in_report".to_owned()), detail)
                } else {
                    (GapReason::Unreadable, error.to_string())
                };
                listing.gap(Some(source), reason, detail);
                continue;
            }
        };
        let (mut levels, mut totals) = (Vec::new(), 0);
        let mut each = Each(|number: crate::source::visit::Number<'_, '_>| {
            let (unit, kind) = describe(source, number.name, number.says_kib);
            if kind == counter::Kind::Counter {
                totals += 1;
                return;
            }
            let labels: Vec<String> = number.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            levels.push((number.name.to_owned(), labels.join(","), unit, number.value));
        });
        if let Err(what) = parse(&text, &mut each) {
            listing.gap(Some(source), GapReason::NotUnderstood, format!("{path}: {what}"));
            continue;
        }
        found += 1;
        for (name, labels, unit, value) in levels {
            let column = listing.column(source, &name, &labels, unit);
            listing.put(at, column, value)?;
        }
        if totals > 0 {
            let detail = format!("{path}: {totals} totals of one instant say nothing of rates and were left out");
            listing.gap(Some(source), GapReason::Other("one_instant".to_owned()), detail);
        }
    }
    found += settings(&root, &mut listing);
    if let Some(kernel) = kernel(&root) {
        listing.about("kernel", kernel);
    }
    if found == 0 {
        return Err(wrong(
            "it has neither proc/vmstat, proc/meminfo nor any setting",
            "give the folder that has proc/ and sos_commands/ in it",
        ));
    }
    Ok(listing)
}

/// Tunables as they were, and sysctls that only the output of a command has. Gives how many.
fn settings(root: &Root, listing: &mut Listing) -> usize {
    let mut known = Vec::new();
    for listed in tunable::list(root) {
        if let Some(Ok(value)) = listed.value {
            known.push(listed.name.clone());
            listing.setting(listed.name, Some(value));
        }
    }
    let Some(text) = SYSCTLS.iter().find_map(|path| root.read(path).ok()) else { return known.len() };
    for line in text.lines() {
        let Some((name, value)) = of_sysctl(line) else { continue };
        if !known.iter().any(|other| other == name) {
            known.push(name.to_owned());
            listing.setting(name, Some(value.to_owned()));
        }
    }
    known.len()
}

/// `Linux version 6.1.0-18-amd64 (…)`, or the third word of `uname -a`.
fn kernel(root: &Root) -> Option<String> {
    let version = root.read("/proc/version").ok().and_then(|text| text.split_whitespace().nth(2).map(str::to_owned));
    version.or_else(|| {
        let uname = ["/uname", "/sos_commands/kernel/uname_-a"].iter().find_map(|path| root.read(path).ok())?;
        uname.split_whitespace().nth(2).map(str::to_owned)
    })
}
