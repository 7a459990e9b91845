//! What can be set: names, values, policies, and a descriptor per tunable.

pub mod policy;
