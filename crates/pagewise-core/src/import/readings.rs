//! Readings of a host in files of their own, none of which says when it was: they were taken in the order in which they are given, unless what the
//! kernel counts says otherwise.

use super::listing::{Listing, ListingClock};
use super::snapshots::{NO_TIME, ONE_INSTANT};
use super::times::SECOND;
use super::{Kind, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::GapReason;
use std::collections::{BTreeMap, BTreeSet};

/// Lays what is another reading of the same behind the one before it. With `interval` between the two, what the kernel counts gives a rate.
pub(super) fn join(listings: Vec<(String, Listing)>, interval: Option<i64>) -> Vec<(String, Listing)> {
    let mut groups: Vec<Vec<(String, Listing)>> = Vec::with_capacity(listings.len());
    for (name, listing) in listings {
        let is_of = |group: &Vec<(String, Listing)>| group.iter().any(|(_, before)| is_read_again(before, &listing));
        match groups.iter_mut().find(|group| is_of(group)) {
            Some(group) => group.push((name, listing)),
            None => groups.push(vec![(name, listing)]),
        }
    }
    groups.into_iter().filter_map(|group| joined(group, interval)).collect()
}

/// Whether a listing has a number that the one before it has, and neither has a clock.
fn is_read_again(before: &Listing, listing: &Listing) -> bool {
    let is_of_snapshots = matches!(listing.kind, Kind::Proc | Kind::NodeExporter | Kind::Free | Kind::Slab);
    let is_like = before.kind == listing.kind
        && [before, listing].iter().all(|one| one.clock == ListingClock::Foreign && one.profile.is_none());
    is_of_snapshots && is_like && listing.columns.iter().any(|column| before.columns.contains(column))
}

/// What the kernel had counted when a listing was read last, by series.
fn totals(listing: &Listing) -> BTreeMap<(&'static str, &str, &str), u64> {
    let values = listing.rows.values().flatten().filter_map(|(column, value)| {
        let column = &listing.columns[*column as usize];
        (column.kind == Moves::Counter)
            .then_some(((column.source, column.name.as_str(), column.labels.as_str()), *value))
    });
    values.collect()
}

/// The readings by time: as they were given, or, where what the kernel counts would fall and does not the other way about, by what it had
/// counted. A folder has `after` before `before`.
fn in_order(group: Vec<(String, Listing)>) -> Vec<(String, Listing)> {
    if group.len() < 2 {
        return group;
    }
    let counted: Vec<BTreeMap<_, u64>> = group.iter().map(|(_, listing)| totals(listing)).collect();
    // No number that both have is smaller in the later one.
    let rises = |order: &[usize]| {
        let is_later = |pair: &[usize]| {
            let later = &counted[pair[1]];
            counted[pair[0]].iter().all(|(series, value)| later.get(series).is_none_or(|then| then >= value))
        };
        order.windows(2).all(is_later)
    };
    let in_all = |series| counted.iter().all(|one| one.contains_key(series));
    let sum = |place: &usize| -> u128 {
        counted[*place].iter().filter(|(series, _)| in_all(series)).map(|(_, value)| u128::from(*value)).sum()
    };
    let given: Vec<usize> = (0..group.len()).collect();
    let mut by_counts = given.clone();
    by_counts.sort_by_cached_key(sum);
    let order = if rises(&given) || !rises(&by_counts) { given } else { by_counts };
    let mut taken: Vec<Option<(String, Listing)>> = group.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| taken[place].take()).collect()
}

/// One listing of all readings.
fn joined(group: Vec<(String, Listing)>, interval: Option<i64>) -> Option<(String, Listing)> {
    let given: Vec<String> = group.iter().map(|(name, _)| name.clone()).collect();
    let mut readings = in_order(group).into_iter();
    let (mut name, mut first) = readings.next()?;
    let mut again = BTreeSet::new();
    let mut names = vec![name.clone()];
    for (other, listing) in readings {
        again.extend(append(&mut first, &listing, interval));
        name = format!("{name}, {}:{other}", listing.kind);
        names.push(other);
    }
    if names != given {
        first.note(format!("what was counted says in which order they were read: {}", names.join(", ")));
    }
    if interval.is_none() && !again.is_empty() {
        keep_growth(&mut first, &again);
        let detail = "the time between the readings is not known, and so what the kernel counted between them gives no rates, and is kept as one \
                      number; say it with --about interval=60s, or put a line with the date above each reading";
        first.gaps.retain(|gap| gap.reason.word() != NO_TIME);
        first.gap(Some(SOURCE), GapReason::Other(NO_TIME.to_owned()), detail);
    }
    Some((name, first))
}

/// In place of what had been counted at each reading, what was from the first to the last. What was set back meanwhile is left out.
pub(super) fn keep_growth(listing: &mut Listing, columns: &BTreeSet<u32>) {
    let mut ends: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (column, value) in listing.rows.values().flatten().filter(|(column, _)| columns.contains(column)) {
        ends.entry(*column).or_insert((*value, *value)).1 = *value;
    }
    listing.leave_out(&columns.iter().copied().collect::<Vec<_>>());
    let Some(last) = listing.rows.last_key_value().map(|(at, _)| *at) else { return };
    for (column, (from, to)) in ends {
        if let Some(growth) = to.checked_sub(from) {
            // There is room for it: the readings had more.
            let _ = listing.put(last, column, growth);
        }
    }
}

/// Lays a reading behind others. Gives what was counted in both.
fn append(before: &mut Listing, listing: &Listing, interval: Option<i64>) -> Vec<u32> {
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
    let again = counted(listing)
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
    before.gaps.retain(|gap| gap.reason.word() != ONE_INSTANT);
    again
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
        // One number: what was counted between them.
        assert_eq!(values(&unknown, "vmstat", "pgfault"), [60.0]);
        let backwards = recording(&[(Kind::Proc, SECOND), (Kind::Proc, FIRST)]);
        assert_eq!(values(&backwards, "vmstat", "pgfault"), [60.0]);
        assert_eq!(values(&backwards, "vmstat", "nr_free_pages"), [5.0, 6.0]);
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
