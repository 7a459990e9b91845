//! What a table of caches alone says, where nobody knows how much memory there is.

use super::super::super::observed::label;
use super::super::prelude::*;
use super::{is_reclaimed, largest};

const SOURCE: &str = "import slab_cache";

/// A table of fewer caches was picked by somebody.
const LEAST_OF_A_TABLE: usize = 4;

/// Title and meaning where caches are not large, or not known to be, and hold next to nothing.
const ROOM: (&str, &str) = (
    "Kernel caches are nearly all room",
    "The kernel's caches of small objects hold pages of which next to nothing is in use: objects were freed, and one that stays keeps its \
     page, or the pages are not given back.",
);

/// `kmalloc-1024`, `size-8192`: what any part of the kernel asks for by size, which may be for anything. Where they are most of all caches,
/// somebody keeps what it asked for.
fn is_general(cache: &str) -> bool {
    !is_reclaimed(cache) && ["kmalloc-", "size-"].iter().any(|beginning| cache.starts_with(beginning))
}

/// A cache of objects of one kind that the kernel does not give back.
fn is_of_one_kind(cache: &str) -> bool {
    !is_reclaimed(cache) && !is_general(cache)
}

/// The caches of a listing by name, in bytes.
struct CacheTable<'o> {
    caches: Vec<(&'o str, Track)>,
    windows: usize,
}

impl<'o> CacheTable<'o> {
    fn of(observed: &'o Observed) -> CacheTable<'o> {
        let each = observed.each_level(&signal::SLAB_CACHES).into_iter();
        let caches = each.filter_map(|(labels, bytes)| Some((label(labels, "cache")?, bytes))).collect();
        CacheTable { caches, windows: observed.windows.count }
    }

    fn fold(&self, is_one: impl Fn(&str) -> bool, with: impl Fn(&Track, &Track) -> Track) -> Track {
        let those = self.caches.iter().filter(|(name, _)| is_one(name));
        those.fold(Track::constant(0.0, self.windows), |all, (_, bytes)| with(&all, bytes))
    }

    fn sum(&self, is_one: impl Fn(&str) -> bool) -> Track {
        self.fold(is_one, Track::plus)
    }

    fn largest(&self, is_one: impl Fn(&str) -> bool) -> Track {
        self.fold(is_one, |most, bytes| most.with(bytes, |a, b| Some(a.max(b))))
    }
}

/// In all caches together, or in those that are listed, what no object takes.
fn unused(observed: &Observed, all: &Track) -> Track {
    if observed.has(&signal::IMPORTED_SLAB_ACTIVE) {
        let active = observed.level(&signal::IMPORTED_SLAB_ACTIVE);
        return all.with(&active, |all, active| Some((all - active).max(0.0)));
    }
    let each = observed.each_level(&signal::SLAB_CACHES_UNUSED);
    each.iter().fold(Track::constant(0.0, observed.windows.count), |sum, (_, bytes)| sum.plus(bytes))
}

/// A cache that nothing reclaims and that grew most from the first reading to the last: its name, and both sizes. What is cut off by
/// somebody who looks for a leak is often one cache, printed again and again.
fn most_grown(observed: &Observed) -> Option<(&str, f64, f64)> {
    let each = observed.each_ends(&signal::SLAB_CACHES).into_iter();
    let named = each.filter_map(|(labels, first, last)| Some((label(labels, "cache")?, first, last)));
    let kept = named.filter(|(name, ..)| !is_reclaimed(name));
    kept.max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))
}

/// `None`: memory's size is known, or there is no such table.
pub(super) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let windows = case.windows();
    let table = CacheTable::of(observed);
    let has_sum = observed.has(&signal::IMPORTED_SLAB);
    if observed.memory().is_some() || (table.caches.is_empty() && !has_sum) {
        return None;
    }
    let always = |holds: bool| Hits::always(Answer::of(Some(holds)), windows.count);
    let is_a_table = always(table.caches.len() >= LEAST_OF_A_TABLE || has_sum);
    let sum = if has_sum { observed.level(&signal::IMPORTED_SLAB) } else { table.sum(|_| true) };

    let kept = table.sum(|name| !is_reclaimed(name));
    let part = case.clause("of all caches, those that nothing reclaims", SOURCE, kept.share_of(&sum));
    let most = case.clause("caches that nothing reclaims, where memory's size is not known", SOURCE, kept);
    let name = "a cache that nothing reclaims, where memory's size is not known";
    let one = case.clause(name, SOURCE, table.largest(|name| !is_reclaimed(name)));
    let name = "general caches of the kernel, where memory's size is not known";
    let general = case.clause(name, SOURCE, table.sum(is_general));

    let of_one_kind = table.largest(is_of_one_kind);
    let name = "of all caches, the largest of one kind of object that nothing reclaims";
    let part_of_one = case.clause(name, SOURCE, of_one_kind.share_of(&sum));
    let name = "a cache of one kind of object that nothing reclaims, where it is most of a table";
    let of_one_kind = case.clause(name, SOURCE, of_one_kind);
    let is_of_one_kind = of_one_kind.hits.and(&part_of_one.hits).and(&is_a_table);

    let room = unused(observed, &sum);
    let part_of_room = room.share_of(&sum);
    let name = "of all caches, room of objects that are gone, where they are nearly all";
    let nearly_all = case.clause(name, SOURCE, part_of_room.clone());
    let name = "in caches, room of objects that are gone, where they are nearly all";
    let large_enough = case.clause(name, SOURCE, room.clone());
    let is_nearly_all = nearly_all.hits.and(&large_enough.hits).and(&is_a_table);
    let is_only_room = is_nearly_all.answers.contains(&Answer::Yes);
    let hollow = case.clause("of all caches, room of objects that are gone", SOURCE, part_of_room);
    let name = "in caches, room of objects that are gone, where memory's size is not known";
    let room = case.clause(name, SOURCE, room);
    let is_hollow = room.hits.and(&hollow.hits).or(&is_nearly_all);

    let grown = most_grown(observed);
    let name = "a cache that nothing reclaims, times what it was at first";
    let (times, times_line) = case.whole(name, SOURCE, grown.map(|(_, first, last)| last / first));
    let by = grown.map(|(_, first, last)| last - first);
    let (much, by_line) = case.whole("what it grew by meanwhile", SOURCE, by);
    // A service that starts has caches grow from one reading to the next.
    let grows = times.and(much) == Answer::Yes && observed.ticks >= 3;

    let sum = case.clause("all caches, where memory's size is not known", SOURCE, sum);
    let is_much = general.hits.or(&most.hits).and(&part.hits).or(&one.hits).or(&sum.hits);
    let mut symptom = case.standing_hits(is_much.or(&is_hollow).or(&is_of_one_kind).or(&always(grows)));
    let hits = symptom.hits.clone();
    let of_room = if is_only_room { [&large_enough, &nearly_all] } else { [&room, &hollow] };
    let clauses = [&one, &general, &most, &part, &of_one_kind, &part_of_one, &sum].into_iter().chain(of_room);
    symptom.evidence = clauses.map(|clause| clause.evidence(&hits, windows)).collect();
    symptom.evidence.extend(grows.then_some([times_line, by_line]).into_iter().flatten());
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        if is_only_room {
            draft.other = Some(ROOM);
        }
        let bytes = |clause: &Clause| clause.value(&hits, windows).map_or_else(|| "much".to_owned(), words::bytes);
        draft.summary = format!("The kernel's caches hold {}.", bytes(&sum));
        let holds = |clause: &Clause| clause.evidence(&hits, windows).holds == Some(true);
        let is_one_large = holds(&one) || holds(&general) || is_of_one_kind.answers.contains(&Answer::Yes);
        let caches = largest(observed, &hits);
        if let Some((name, size)) = caches.iter().find(|(name, _)| is_one_large && !is_reclaimed(name)) {
            draft.summary.push_str(&format!(" {} of it is {name}, which nothing gives back.", words::bytes(*size)));
        }
        if is_hollow.answers.contains(&Answer::Yes) {
            draft.summary.push_str(&format!(
                " {} of it is room of objects that are gone: a slab is given back only when no object is left in it.",
                bytes(&room)
            ));
        }
        if let Some((name, first, last)) = grown.filter(|_| grows) {
            let [first, last] = [first, last].map(words::bytes);
            let growth = format!(" {name}, which nothing gives back, grew from {first} to {last} meanwhile.");
            draft.summary.push_str(&growth);
        }
        let line = |(name, bytes): &(String, f64)| said(SOURCE, &format!("cache {name}"), Some(*bytes), Bytes);
        draft.evidence.extend(caches.iter().map(line));
        draft.missing.push(observed.missing(&signal::MEM_TOTAL));
    })
}
