//! The opposite error: huge pages are off and translations cost much. Only the processor can tell.

use super::super::huge_faults::huge;
use super::super::rule::{Step, To};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "tlb-bound",
    title: "Bound by translations",
    meaning: "The processor spends much of its time looking up translations, since memory is on small pages. Huge pages \
              would spare most of that.",
    thresholds: &[
        Threshold::above("pipeline slots lost to loads that miss the TLB", 0.10, Fraction)
            .documented("tma_dtlb_load, tools/perf/pmu-events/arch/x86/icelake/icl-metrics.json (6.12)"),
        Threshold::above("pipeline slots lost to stores that miss the TLB", 0.05, Fraction)
            .documented("tma_dtlb_store, tools/perf/pmu-events/arch/x86/icelake/icl-metrics.json (6.12)"),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[],
    tiers: &[Tier::Hardware],
    rivals: &[],
    changes: &[
        Step::set("thp.enabled", To::First(&["madvise"]), "programs that ask get huge pages")
            .from(&["never"])
            .after_restart(),
        Step::set("jvm.UseTransparentHugePages", To::First(&["true"]), "a JVM asks for huge pages for its heap")
            .when("where memory that asks for them gets them", |look, _| huge(look).asked),
    ],
    counterindications: &["Huge pages can bring compaction storms and bloat: prove it on the job."],
    docs: &["Documentation/admin-guide/mm/transhuge.rst"],
    judge,
};

/// Recordings hold no counters of the processor yet, so this is open, always, and says how to find out.
fn judge(case: &Case<'_>) -> Verdict {
    let thp = case.look.settings.value("thp.enabled").unwrap_or("not known");
    let why = format!(
        "recordings hold no counters of the processor; thp.enabled is {thp}: pagewise doctor measures what page walks cost \
         here, and pagewise prove decides"
    );
    Verdict::NotDecided {
        missing: vec![Missing { what: "TLB misses".to_owned(), why }],
        needs_seconds: None,
        evidence: Vec::new(),
    }
}
