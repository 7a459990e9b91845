//! What judges time on a real host: whether a tick is late, a kill is answered within two seconds, a policy really helps, trouble
//! is really found, memory can really be broken up; and what would itself be such a neighbour: a Spark. A neighbour on the same CPUs would decide such a test, so these have a binary of
//! their own, which `scripts/test` runs after all others, a test at a time.

mod arms;
#[path = "../integration/committed.rs"]
mod committed;
mod guard;
mod hang_up;
mod jitter;
mod live;
mod memory_state;
mod nothing_leaks;
mod on_the_real_host;
mod really_found;
mod restored_data_go_with_their_owner;
mod snapshot;
mod spark;
