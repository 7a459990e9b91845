//! A program that forks and then copies huge pages at every write.

use super::super::rule::{Step, To};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "fork-cow-thp",
    title: "Fork copies huge pages",
    meaning: "A program forked, and each write to memory it shares with the child now copies or splits a huge page instead \
              of 4 KiB. Databases that save a snapshot from a child (Redis) stall at such times.",
    thresholds: &[Threshold::at_least("samples copying or splitting huge pages", 0.05, Fraction)],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[],
    tiers: &[Tier::Stacks],
    rivals: &["compaction-storm", "thp-fault-cost"],
    changes: &[
        Step::set("process.thp", To::First(&["never"]), "this program alone gets no huge pages"),
        Step::set("thp.enabled", To::First(&["madvise"]), "only programs that ask get huge pages")
            .from(&["always"])
            .after_restart(),
    ],
    counterindications: &["Huge pages that are split in reclaim look alike: see who does it."],
    docs: &["https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency/"],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let look = case.look;
    let all = Hits::always(Answer::Yes, case.windows().count);
    let not = [Family::Reclaim, Family::Khugepaged, Family::Compaction];
    let stacks = case.stacks("samples copying or splitting huge pages", Family::HugeCopy, &not, &all);
    let share = stacks.share;
    let symptom = case.lasting_hits(all);
    case.decide(symptom, vec![stacks]).found(|draft| {
        draft.cost.cpu_share =
            share.zip(look.system_share_of_all().mean_of_all(case.windows())).map(|(part, all)| part.min(all));
        draft.summary =
            format!("{} of the samples copied or split huge pages at writes.", words::percent(share.unwrap_or(0.0)));
    })
}
