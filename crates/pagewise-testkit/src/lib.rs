//! What the tests share: marks for what a test needs, one lock on the host, a check that it is left as found, and fake
//! host trees. Never shipped.

pub mod fake_host;

pub mod host_lock;

pub mod requires;

pub use fake_host::FakeHost;
pub use host_lock::{HostUnchanged, host_lock};
