//! The only place where `unsafe` is allowed: narrow functions over system calls that no safe library offers.
#![allow(unsafe_code)]

pub mod allocator;
pub mod child;
pub mod deadline;
pub mod file_mapping;
pub mod lock_memory;
pub mod loop_device;
pub mod mapping;
pub mod page_cache;
pub mod perf_event;
pub mod perf_ring;
pub mod process_memory;
pub mod session;
pub mod swap;
pub mod thp_disable;
