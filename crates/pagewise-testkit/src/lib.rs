//! What the tests share: marks for what a test needs, one lock on the host, a check that it is left as found, fake
//! host trees, and a scripted runner with known truth, and the reports of its trials. Never shipped.

pub mod browser;

pub mod fake_host;

pub mod host_lock;

pub mod hostile;

pub mod kills;

pub mod lateness;

pub mod layers;

pub mod made_up_day;
pub mod old_kernels;
pub mod oracles;
pub mod posted;
pub mod recordings;

pub mod reports;

pub mod requires;

pub mod said;
pub mod scripted;

pub mod stacked;

pub mod studies;

pub mod terminal;

pub mod trouble;

pub use fake_host::FakeHost;
pub use host_lock::{HostUnchanged, host_lock};
pub use lateness::Lateness;
pub use made_up_day::MadeUpDay;
pub use old_kernels::{OLD_KERNELS, OldKernel};
pub use recordings::RecordingBuilder;
pub use terminal::Terminal;
