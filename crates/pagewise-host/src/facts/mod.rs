//! What this host has and allows: probed, never guessed. A file per area; what cannot be asked is unknown, not "no".

pub mod cgroup;

pub mod privilege;

pub mod programs;
