//! A piece of a process's memory that one huge page would hold, and whether it is worth one.

use super::mapping::WhyNotHuge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// As much memory as a huge page holds, at an address where one can lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first address.
    pub start: u64,
    /// Bytes of it that the process has touched and that are in memory.
    pub present: u64,
    /// Bytes of it that are swapped out.
    pub swapped: u64,
    /// It lies on a huge page already.
    pub is_huge: bool,
}

/// What makes a block worth it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockCriteria {
    /// Bytes a huge page holds.
    pub huge_size: u64,
    /// The part of it, from 0 to 1, that must be present. What is not is filled with zeroes, and so becomes memory in vain.
    pub least_present: f64,
    /// No more bytes than this are made huge.
    pub room: u64,
}

/// Why a block stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// Nothing of it is in memory.
    Untouched,
    /// Less of it is than was asked for.
    TooLittlePresent,
    /// Some of it is swapped out, and would have to be read back.
    SwappedOut,
    /// The budget is used up.
    BeyondBudget,
}

/// Blocks that were left out for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// How many.
    pub blocks: u64,
    /// Bytes of memory that they would take beyond what they hold, if they were made huge.
    pub would_add: u64,
}

/// Bytes of memory by what they lie on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryByBacking {
    /// On huge pages.
    pub huge: u64,
    /// On small pages.
    pub small: u64,
    /// Swapped out.
    pub swapped: u64,
    /// Mapped, and never touched or given back.
    pub untouched: u64,
}

impl MemoryByBacking {
    /// What these blocks hold.
    #[must_use]
    pub fn by(blocks: &[Block], huge_size: u64) -> MemoryByBacking {
        let mut held = MemoryByBacking::default();
        for block in blocks {
            if block.is_huge {
                held.huge += huge_size;
            } else {
                held.small += block.present;
                held.swapped += block.swapped;
                held.untouched += huge_size.saturating_sub(block.present).saturating_sub(block.swapped);
            }
        }
        held
    }
}

/// Which blocks are to be made huge, in this order, and what stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Those that hold most first; of those that hold as much, by address.
    pub blocks: Vec<Block>,
    /// The others that are not huge already.
    pub left_out: BTreeMap<LeftOut, Count>,
}

impl Plan {
    /// Of all blocks those that are worth it.
    #[must_use]
    pub fn of(blocks: &[Block], wanted: &BlockCriteria) -> Plan {
        let mut plan = Plan::default();
        for block in blocks.iter().filter(|block| !block.is_huge) {
            match block.worth(wanted) {
                Ok(()) => plan.blocks.push(*block),
                Err(why) => plan.leave_out(why, block, wanted.huge_size),
            }
        }
        plan.blocks.sort_by_key(|block| (std::cmp::Reverse(block.present), block.start));
        let most = usize::try_from(wanted.room / wanted.huge_size.max(1)).unwrap_or(usize::MAX);
        for block in plan.blocks.split_off(most.min(plan.blocks.len())) {
            plan.leave_out(LeftOut::BeyondBudget, &block, wanted.huge_size);
        }
        plan
    }

    fn leave_out(&mut self, why: LeftOut, block: &Block, huge_size: u64) {
        let count = self.left_out.entry(why).or_default();
        count.blocks += 1;
        count.would_add += huge_size.saturating_sub(block.present);
    }

    /// Bytes of memory that the plan takes beyond what is held.
    #[must_use]
    pub fn adds(&self, huge_size: u64) -> u64 {
        self.blocks.iter().map(|block| huge_size.saturating_sub(block.present)).sum()
    }
}

impl Block {
    /// Whether it is worth a huge page; else why not.
    ///
    /// # Errors
    /// The first reason that holds.
    pub fn worth(&self, wanted: &BlockCriteria) -> Result<(), LeftOut> {
        if self.swapped > 0 {
            return Err(LeftOut::SwappedOut);
        }
        if self.present == 0 {
            return Err(LeftOut::Untouched);
        }
        if (self.present as f64) < wanted.least_present * wanted.huge_size as f64 {
            return Err(LeftOut::TooLittlePresent);
        }
        Ok(())
    }
}

/// Mappings that were passed over, by the reason: how many, and what of them is in memory.
pub type PassedOver = BTreeMap<WhyNotHuge, SkippedMappings>;

/// Mappings that were passed over for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedMappings {
    /// How many.
    pub mappings: u64,
    /// Bytes of them in memory.
    pub resident: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HUGE: u64 = 2 << 20;

    fn block(number: u64, present: u64) -> Block {
        Block { start: number * HUGE, present, swapped: 0, is_huge: false }
    }

    #[test]
    fn what_is_full_comes_first_and_what_is_half_empty_is_left_with_what_it_would_add() {
        let full = block(7, HUGE);
        let nearly = block(1, HUGE - 4096);
        let half = block(2, HUGE / 2);
        let swapped = Block { swapped: 4096, ..block(3, HUGE - 4096) };
        let huge = Block { is_huge: true, ..block(4, HUGE) };
        let all = [nearly, half, swapped, huge, block(5, 0), full];
        let wanted = BlockCriteria { huge_size: HUGE, least_present: 0.9, room: u64::MAX };
        let plan = Plan::of(&all, &wanted);
        assert_eq!(plan.blocks, [full, nearly]);
        assert_eq!(plan.adds(HUGE), 4096);
        assert_eq!(plan.left_out[&LeftOut::TooLittlePresent], Count { blocks: 1, would_add: HUGE / 2 });
        assert_eq!(plan.left_out[&LeftOut::SwappedOut].blocks, 1);
        assert_eq!(plan.left_out[&LeftOut::Untouched], Count { blocks: 1, would_add: HUGE });

        let plan = Plan::of(&all, &BlockCriteria { room: HUGE + 1, ..wanted });
        assert_eq!(plan.blocks, [full]);
        assert_eq!(plan.left_out[&LeftOut::BeyondBudget], Count { blocks: 1, would_add: 4096 });
        let held = MemoryByBacking::by(&all, HUGE);
        assert_eq!((held.huge, held.swapped), (HUGE, 4096));
        assert_eq!(held.huge + held.small + held.swapped + held.untouched, 6 * HUGE);
    }

    proptest! {
        #[test]
        fn every_block_is_planned_left_out_or_huge_and_the_room_holds(
            pages in proptest::collection::vec((0_u64..=512, 0_u64..3, any::<bool>()), 0..50),
            least in 0.0_f64..1.0,
            room in 0_u64..100,
        ) {
            let of = |(number, (present, swapped, is_huge)): (usize, &(u64, u64, bool))| {
                let swapped = (*swapped).min(512 - present) * 4096;
                Block { start: number as u64 * HUGE, present: present * 4096, swapped, is_huge: *is_huge && *present == 512 }
            };
            let blocks: Vec<Block> = pages.iter().enumerate().map(of).collect();
            let plan = Plan::of(&blocks, &BlockCriteria { huge_size: HUGE, least_present: least, room: room * HUGE });
            let huge = blocks.iter().filter(|block| block.is_huge).count();
            let left: u64 = plan.left_out.values().map(|count| count.blocks).sum();
            prop_assert_eq!(plan.blocks.len() + huge + left as usize, blocks.len());
            prop_assert!(plan.blocks.len() as u64 <= room);
            prop_assert!(plan.blocks.iter().all(|block| block.present > 0 && block.swapped == 0));
        }
    }
}
