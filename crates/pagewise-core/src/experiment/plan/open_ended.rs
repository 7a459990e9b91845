//! What a comparison without a planned end is judged by: a confidence sequence, tuned once from the plan.

use super::cells::cells;
use super::check::FEWEST_BLOCKS;
use super::lint::comparisons_of;
use super::{Plan, StoppingRule};
use crate::stats::confidence_sequence::ConfidenceSequence;

impl Plan {
    /// How many comparisons the trial's claims rest on: primary contrasts in every combination of levels they are compared in.
    #[must_use]
    pub fn claims(&self) -> usize {
        let cells = cells(self).unwrap_or_default();
        self.contrasts.iter().filter(|contrast| contrast.primary).map(|contrast| comparisons_of(contrast, &cells)).sum()
    }

    /// At how many blocks the intervals of an open-ended comparison are as short as they can be.
    #[must_use]
    pub fn shortest_at(&self) -> u32 {
        self.stopping.shortest_at.unwrap_or_else(|| self.design.blocks.div_ceil(2).max(FEWEST_BLOCKS))
    }

    /// The sequence of a claim of an open-ended trial; its alpha is the claim's share. `None` by any other rule.
    ///
    /// It follows from the plan alone: tuned to what has been seen it would hold for nothing.
    #[must_use]
    pub fn sequence(&self) -> Option<ConfidenceSequence> {
        (self.stopping.rule == StoppingRule::OpenEnded).then(|| {
            let share = self.design.alpha / self.claims().max(1) as f64;
            ConfidenceSequence::shortest_at(share, self.shortest_at())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn plan(more: &str) -> Plan {
        let text = format!(
            "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
             [[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\nlevels.b = 'env.K=2'\n\
             [[factor]]\nname = 'l'\nlevels.p = 'env.L=1'\nlevels.q = 'env.L=2'\n\
             [[contrast]]\nfactor = 'k'\na = 'a'\nb = 'b'\nby = ['l']\nprimary = true\n{more}"
        );
        source::read(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn claims_share_alpha_and_the_sequence_follows_from_the_plan() {
        let open_ended = plan("[design]\nblocks = 30\n[stopping]\nrule = 'open-ended'\nshortest_at = 12\n");
        assert_eq!(open_ended.claims(), 2);
        assert_eq!(open_ended.sequence(), Some(ConfidenceSequence::shortest_at(0.025, 12)));
        assert_eq!(plan("").sequence(), None);
        assert_eq!(plan("[stopping]\nrule = 'pocock'\n").sequence(), None);
    }

    #[test]
    fn it_is_shortest_in_the_middle_unless_the_plan_says_otherwise() {
        let middle = |blocks: u32| plan(&format!("[design]\nblocks = {blocks}\n[stopping]\nrule = 'open-ended'\n"));
        assert_eq!([3, 4, 9, 40].map(|blocks| middle(blocks).shortest_at()), [3, 3, 5, 20]);
    }

    #[test]
    fn every_block_from_the_fourth_is_analysed_and_says_something_in_time() {
        for blocks in 3..60 {
            let plan = plan(&format!("[design]\nblocks = {blocks}\n[stopping]\nrule = 'open-ended'\n"));
            let analyses = plan.stopping.interim_analyses(blocks);
            assert_eq!(analyses, (blocks.min(4)..=blocks).collect::<Vec<u32>>());
            assert!(plan.sequence().unwrap().fewest(1) <= blocks, "{blocks} blocks say nothing");
        }
    }
}
