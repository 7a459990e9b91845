//! A live proof: the host goes on working, and its policy is switched under it, block by block.
//!
//! [`block`] is one block over a host that tests can script; [`host`] is this host; [`metric`] asks the user's number, [`job`]
//! follows the command or process the proof is about.

pub mod block;
pub mod host;
pub mod job;
pub mod metric;

pub use block::Blocks;
pub use host::HereLive;
