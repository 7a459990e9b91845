//! Spark and huge pages: what to configure ([`conf`]), what is configured wrong ([`check`]), and which policy a finished job
//! lets one expect something of ([`advise`]).
//!
//! [`event_log`] folds Spark's own log of a job into what the rules ask for; [`judged`] puts what they found into the form of a
//! diagnosis.

pub mod advise;
pub mod check;
pub mod conf;
pub mod event_log;
pub mod java_options;
mod judged;
pub mod version;

pub use conf::{ConfRequest, Configuration, Placement};
pub use event_log::EventLog;
pub use java_options::JavaOptions;
pub use version::Version;

/// The class that `spark.plugins` names.
pub const PLUGIN: &str = "pagewise.spark.PagewisePlugin";

/// The jar that has it, as the build calls it.
pub const PLUGIN_JAR: &str = "spark-plugin-0.1.0.jar";

/// The part of the heap that young memory may take, so that it never comes down to where what is cached lies. The plugin's
/// `Placer.YOUNG_SHARE`; a test holds them together.
pub const YOUNG_SHARE: f64 = 0.4;

/// A size as Spark writes it: `20g`, `512m`, `4096k`, and a bare number in `unit` bytes (`JavaUtils.byteStringAs`).
#[must_use]
pub fn spark_size(text: &str, unit: u64) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, suffix) = lower.split_at(digits);
    let factor = match suffix {
        "" => unit,
        "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A size as Spark and Java both read it, with the largest suffix that leaves a whole number: `20g`, `1536m`.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    crate::unit::Bytes(bytes).as_typed().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_spark_reads_them_and_written_as_java_reads_them() {
        for (text, bytes) in [("20g", 20 << 30), ("512", 512 << 20), ("4MB", 4 << 20), (" 7k ", 7 << 10), ("9b", 9)] {
            assert_eq!(spark_size(text, 1 << 20), Some(bytes), "{text}");
        }
        for text in ["", "g", "-1g", "1.5g", "99999999999999999t", "1x"] {
            assert_eq!(spark_size(text, 1), None, "{text}");
        }
        assert_eq!((size_text(20 << 30).as_str(), size_text(1536 << 20).as_str()), ("20g", "1536m"));
    }
}
