//! Findings of the same time are told as what they are to each other.

use super::asking::{ask, found};
use pagewise_core::finding::{Diagnosis, Finding};
use pagewise_core::report::{Style, findings};
use pagewise_testkit::RecordingBuilder;

/// kswapd at its end, and programs that reclaim while `reclaims` says so.
fn saturated(reclaims: fn(f64) -> bool) -> RecordingBuilder {
    RecordingBuilder::healthy(120)
        .counter("threads", "cpu", "thread=kswapd0", |_| 97.0)
        .counter("vmstat", "pgscan_kswapd", "", |_| 90_000.0)
        .counter("vmstat", "pgsteal_kswapd", "", |_| 9_000.0)
        .counter("vmstat", "allocstall_normal", "", move |at| if reclaims(at) { 20.0 } else { 0.0 })
        .counter("vmstat", "pgsteal_direct", "", move |at| if reclaims(at) { 5_000.0 } else { 0.0 })
        .counter("psi_memory", "some_total", "", |_| 100_000.0)
}

fn both(diagnosis: &Diagnosis) -> (&Finding, &Finding) {
    let one = |id: &str| found(diagnosis, id).unwrap_or_else(|| panic!("{id}: {diagnosis:#?}"));
    (one("kswapd-saturation"), one("direct-reclaim-stalls"))
}

#[test]
fn programs_that_reclaim_because_kswapd_cannot_are_told_as_a_consequence() {
    let diagnosis = ask(&saturated(|_| true));
    let (cause, effect) = both(&diagnosis);
    assert_eq!(effect.follows_from.len(), 1);
    assert_eq!((effect.follows_from[0].id.as_str(), effect.leads_to.len()), ("kswapd-saturation", 0));
    assert_eq!((cause.leads_to[0].id.as_str(), cause.follows_from.len()), ("direct-reclaim-stalls", 0));
    assert_eq!(cause.severity, effect.severity);
    let ids: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids[..2], ["kswapd-saturation", "direct-reclaim-stalls"], "the cause comes first");
    let text = findings::text(&diagnosis, Style::default());
    assert!(text.contains("Follows from   kswapd-saturation (kswapd cannot keep up"), "{text}");
    assert!(text.contains("Leads to       direct-reclaim-stalls"), "{text}");
}

#[test]
fn what_was_at_another_time_is_not_related() {
    // kswapd is at its end in the last third alone, programs reclaim in the first.
    let apart =
        saturated(|at| at < 40.0).counter("threads", "cpu", "thread=kswapd0", |at| if at > 80.0 { 97.0 } else { 1.0 });
    let diagnosis = ask(&apart);
    let (cause, effect) = both(&diagnosis);
    assert!(effect.follows_from.is_empty() && cause.leads_to.is_empty(), "{diagnosis:#?}");
}

#[test]
fn a_chain_is_told_link_by_link_and_a_finding_alone_has_none() {
    let chain = saturated(|_| true)
        .counter("vmstat", "workingset_refault_file", "", |_| 5_000.0)
        .counter("vmstat", "pgsteal_kswapd", "", |_| 5_000.0)
        .counter("vmstat", "pgpgin", "", |_| 40_000.0)
        .counter("psi_io", "some_total", "", |_| 300_000.0)
        .gib("MemFree", 0.3)
        .gib("Unevictable", 10.0);
    let diagnosis = ask(&chain);
    let from = |id: &str| {
        let links = &found(&diagnosis, id).unwrap_or_else(|| panic!("{id}: {diagnosis:#?}")).follows_from;
        links.iter().map(|link| link.id.as_str()).collect::<Vec<&str>>()
    };
    assert_eq!(from("unevictable-memory"), Vec::<&str>::new());
    assert_eq!(from("page-cache-thrash"), ["unevictable-memory"]);
    assert_eq!(from("kswapd-saturation"), ["page-cache-thrash"]);
    assert_eq!(from("direct-reclaim-stalls"), ["kswapd-saturation", "page-cache-thrash"]);
    let alone = ask(&RecordingBuilder::healthy(120).gib("Unevictable", 10.0));
    assert!(alone.findings.iter().all(|finding| finding.follows_from.is_empty() && finding.leads_to.is_empty()));
}
