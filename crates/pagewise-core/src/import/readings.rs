//! Readings of a host in files of their own, none of which says when it was: they were taken in the order in which they are given.

use super::listing::{ListedGap, Listing, ListingClock};
use super::snapshots::{NO_TIME, ONE_INSTANT};
use super::times::SECOND;
use super::{Kind, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::GapReason;
use std::collections::BTreeSet;

/// Lays what is another reading of the same behind the one before it. With `interval` between the two, what the kernel counts gives a rate.
pub(super) fn join(listings: Vec<(String, Listing)>, interval: Option<i64>) -> Vec<(String, Listing)> {
    let mut joined: Vec<(String, Listing)> = Vec::with_capacity(listings.len());
    for (name, listing) in listings {
        match joined.iter_mut().find(|(_, before)| is_read_again(before, &listing)) {
            Some((before, first)) => {
                append(first, &listing, interval);
                *before = format!("{before}, {}:{name}", listing.kind);
            }
            None => joined.push((name, listing)),
        }
    }
    joined
}

/// Whether a listing has a number that the one before it has, and neither has a clock.
fn is_read_again(before: &Listing, listing: &Listing) -> bool {
    let is_of_snapshots = matches!(listing.kind, Kind::Proc | Kind::NodeExporter | Kind::Free | Kind::Slab);
    let is_like = before.kind == listing.kind
        && [before, listing].iter().all(|one| one.clock == ListingClock::Foreign && one.profile.is_none());
    is_of_snapshots && is_like && listing.columns.iter().any(|column| before.columns.contains(column))
}

fn append(before: &mut Listing, listing: &Listing, interval: Option<i64>) {
    let counted = |one: &Listing| -> BTreeSet<u32> {
        let columns = one.rows.values().flatten().map(|(column, _)| *column);
        columns.filter(|column| one.columns[*column as usize].kind == Moves::Counter).collect()
    };
    let known = counted(before);
    let columns: Vec<u32> = listing
        .columns
        .iter()
        .map(|one| before.column_of(one.source, &one.name, &one.labels, one.unit, one.kind))
        .collect();
    let again: Vec<u32> = counted(listing)
        .into_iter()
        .map(|column| columns[column as usize])
        .filter(|column| known.contains(column))
        .collect();
    let behind = before.rows.last_key_value().map_or(0, |(at, _)| at.saturating_add(interval.unwrap_or(SECOND)));
    let first = listing.rows.first_key_value().map_or(0, |(at, _)| *at);
    for (at, row) in &listing.rows {
        let at = at.saturating_sub(first).saturating_add(behind);
        before.touch(at);
        for (column, value) in row {
            // More numbers than can be held were too many in one of them already.
            let _ = before.put(at, columns[*column as usize], *value);
        }
    }
    before.marks.extend(listing.marks.iter().cloned());
    before.gaps.extend(listing.gaps.iter().cloned());
    for (key, value) in &listing.about {
        before.about.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let is_word = |gap: &ListedGap, word: &str| gap.reason.word() == word;
    before.gaps.retain(|gap| !is_word(gap, ONE_INSTANT));
    if interval.is_none() && !again.is_empty() {
        before.leave_out(&again);
        before.gaps.retain(|gap| !is_word(gap, NO_TIME));
        let detail = "the time between the readings is not known, and so what the kernel counted between them gives no rates; say it with \
                      --about interval=60s, or put a line with the date above each reading";
        before.gap(Some(SOURCE), GapReason::Other(NO_TIME.to_owned()), detail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{recording, timed, values, with};
    use super::super::{Assumed, Kind};
    use crate::recording::Recorded;

    const FIRST: &str = "pgfault 10\nnr_free_pages 5\n";
    const SECOND: &str = "pgfault 70\nnr_free_pages 6\n";
    const SIZES: &str = "MemTotal: 100 kB\nMemFree: 50 kB\n";

    #[test]
    fn two_files_of_the_same_are_two_readings_and_give_rates_where_the_time_between_is_said() {
        let files = [(Kind::Proc, FIRST), (Kind::Proc, SECOND)];
        let unknown = recording(&files);
        assert_eq!(values(&unknown, "vmstat", "nr_free_pages").len(), 2);
        assert!(values(&unknown, "vmstat", "pgfault").is_empty());
        let gap = unknown.gaps().iter().find(|gap| gap.reason.word() == "no_time").unwrap();
        assert!(gap.detail.contains("--about interval=60s") && gap.source.is_some(), "{gap:?}");
        let mut assumed = Assumed::default();
        assumed.about("interval", "60s").unwrap();
        let known = with(&files, &assumed);
        let faults = timed(&known, "vmstat", "pgfault", "");
        assert_eq!(faults, [(faults[0].0, 10.0), (faults[0].0 + 60_000_000_000, 70.0)]);
        assert!(known.gaps().iter().all(|gap| !["no_time", "one_instant"].contains(&gap.reason.word())));
        assert_eq!(known.about("import.files"), Some("proc:proc.txt, proc:proc.txt"));
    }

    #[test]
    fn files_that_share_no_number_are_one_reading_and_dated_ones_keep_their_time() {
        let one = recording(&[(Kind::Proc, FIRST), (Kind::Proc, SIZES)]);
        assert_eq!((one.ticks(), values(&one, "vmstat", "pgfault")), (1, vec![10.0]));
        let dated = |hour: u32, text: &str| format!("Mon Jun 18 {hour}:00:00 UTC 2012\n{text}");
        let two = recording(&[(Kind::Proc, &dated(10, FIRST)), (Kind::Proc, &dated(11, SECOND))]);
        let faults = timed(&two, "vmstat", "pgfault", "");
        assert_eq!(faults[1].0 - faults[0].0, 3_600_000_000_000);
    }
}
