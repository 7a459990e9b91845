//! Text of kernel files to numbers, a file per kernel file. The host reads the files, an import gets them from people: there is
//! one understanding of each; and what the kernel's functions are for.

pub mod buddyinfo;
pub mod config;
pub mod controllers;
pub mod functions;
pub mod meminfo;
pub mod psi;
pub mod purpose;
pub mod stat;
pub mod visit;
pub mod vmstat;
pub mod zoneinfo;
