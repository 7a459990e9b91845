//! Each rule on recordings made of the kernel's documented behaviour: one that must fire, healthy ones that must not, and
//! ones that lack evidence and must say so.

mod asking;
mod blame;
mod by_import;
mod compaction_storm;
mod fault_churn;
mod kernel_paths;
mod listings_of_2012;
mod memory_held;
mod nothing_panics;
mod old_kernels;
mod others;
mod parts;
mod steps;
mod tlb_shootdowns;
mod together;
mod when;
