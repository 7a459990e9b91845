//! The machine side on a real host and on made-up ones.

mod booted_host;
mod boots;
mod change_journal;
mod guards;
mod reclaim_guard;
mod restore;
mod terasort;
mod tunables;
