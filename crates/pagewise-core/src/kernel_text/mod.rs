//! Text of kernel files to numbers, a file per kernel file. The host reads the files, an import gets them from people: there is
//! one understanding of each.

pub mod buddyinfo;
pub mod meminfo;
pub mod psi;
pub mod stat;
pub mod visit;
pub mod vmstat;
