//! Huge pages for a process that runs: what it maps ([`mapping`]), which parts of that are worth a huge page ([`block`]), how fast they
//! may be made without the process losing more of its own time than was allowed ([`pace`]), and how much of what is huge is zero ([`zero`]).

pub mod block;
pub mod mapping;
pub mod pace;
pub mod zero;
