//! The figures of a study as positions: percentages across, pixels down, as in the figures of two arms. A row of a figure
//! is a drawing of its own beside its name, so that long names wrap and every row shares one axis.

mod blocks;
mod lanes;
mod levels;
mod ratio_axis;
mod rows;

pub(super) use blocks::BlockDots;
pub(super) use lanes::CellLanes;
pub(super) use levels::{LevelPanel, level_panels};
pub(super) use rows::IntervalRows;
