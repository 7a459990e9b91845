//! What the log of a JVM says of its collections, for the two rules that read it.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

/// All of them together, in seconds.
pub(super) struct Collections {
    pub(super) user: f64,
    pub(super) system: f64,
    /// How long they took.
    pub(super) elapsed: f64,
}

impl Collections {
    /// `None`: there is no such log.
    pub(super) fn of(observed: &Observed) -> Option<Collections> {
        Some(Collections {
            user: observed.growth(&signal::COLLECTION_USER)?,
            system: observed.growth(&signal::COLLECTION_SYSTEM)?,
            elapsed: observed.growth(&signal::COLLECTION_ELAPSED)?,
        })
    }
}

/// The heap of the JVM whose log it is.
struct Heap {
    /// In bytes, before its first collection and after its last one.
    first: f64,
    last: f64,
    /// Whether the kernel had given all of it before the program began; `None`: the log does not say.
    is_touched: Option<bool>,
    /// Whether it asks for transparent huge pages.
    asks: Option<bool>,
}

impl Heap {
    fn of(observed: &Observed) -> Option<Heap> {
        let ends = observed.each_ends(&signal::HEAP);
        let [(_, first, last)] = ends.as_slice() else { return None };
        let flag = |name: &str| observed.settings.value(name).map(|value| value == "true");
        Some(Heap {
            first: *first,
            last: *last,
            is_touched: flag("jvm.AlwaysPreTouch"),
            asks: flag("jvm.UseTransparentHugePages"),
        })
    }

    /// Whether it grew by much: a quarter and more. Ours.
    fn grew(&self) -> bool {
        self.last >= 1.25 * self.first
    }

    /// What the kernel did for it while the program ran, in a sentence; empty where that was nothing.
    fn sentence(&self) -> String {
        let size = match self.grew() {
            true => format!("The heap grew from {} to {}", words::bytes(self.first), words::bytes(self.last)),
            false if self.is_touched == Some(false) => {
                format!("The heap of {} was not touched before the program began", words::bytes(self.last))
            }
            false => return String::new(),
        };
        let pages = match self.asks {
            Some(false) => {
                ", and asks for no huge pages: a page fault for each 4 KiB of it, unless thp.enabled is always"
            }
            Some(true) => ", and asks for huge pages, each of which is found and zeroed at a page fault",
            None => "",
        };
        format!(" {size}{pages}.")
    }
}

/// A heap that has all its memory from the start takes none from the kernel later.
pub(super) const WHOLE_HEAP: Step = Step::set(
    "jvm.AlwaysPreTouch",
    SettingTarget::First(&["true"]),
    "the heap gets all its memory before the program begins, which then starts later",
)
.with(&[("jvm.Xms", SettingTarget::Worked(largest_heap, "as large as the heap may become"))])
.when("where the log of a JVM says that its heap grew, or was not touched before", |observed, _| {
    Heap::of(observed).is_some_and(|heap| heap.is_touched == Some(false) || heap.grew())
});

fn largest_heap(observed: &Observed) -> Option<String> {
    let told = observed.settings.value("jvm.Xmx").map(str::to_owned);
    told.or_else(|| Some(format!("{}M", (Heap::of(observed)?.last / f64::from(1 << 20)).ceil())))
}

/// What both thresholds make of them, unless one of the findings that `explain` it is there. `None`: one does not hold, and a log that is well
/// says nothing of the rest of the host.
pub(super) fn found(
    case: &Case<'_>,
    explain: &[&str],
    weighed: [(Answer, Evidence); 2],
    tell: impl FnOnce(&mut Draft),
) -> Option<Verdict> {
    if weighed.iter().any(|(answer, _)| *answer != Answer::Yes) {
        return None;
    }
    if let Some(id) = case.found.iter().find(|id| explain.contains(id)) {
        return Some(Verdict::explained_by(id));
    }
    let observed = case.observed;
    let mut symptom = case.lasting_hits(Hits::always(Answer::Yes, case.windows().count));
    symptom.evidence = weighed.into_iter().map(|(_, line)| line).collect();
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.confidence = Some(Confidence::Low);
        draft.at_least = Some(Severity::Medium);
        tell(draft);
        if let Some(heap) = Heap::of(observed) {
            const SOURCE: &str = "import heap";
            draft.evidence.push(said(SOURCE, "heap before the first collection", Some(heap.first), Bytes));
            draft.evidence.push(said(SOURCE, "heap after the last one", Some(heap.last), Bytes));
            draft.summary.push_str(&heap.sentence());
        }
    }))
}
