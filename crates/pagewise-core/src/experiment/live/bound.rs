//! When a live proof stops for the sake of what runs: bounds on the host's signals, `--stop-if`.
//!
//! A share is compared as it is. What is counted, or timed, is compared per second: `psi_memory_full>0.5` is crossed when
//! every task waits for memory half of the time.

use super::metric::{self, SIGNALS};
use crate::metric::Unit;
use crate::unit::Fraction;
use std::fmt;
use std::str::FromStr;

/// Seconds over which signals are judged: long enough that one burst does not end a proof, short enough to spare the job.
pub const WINDOW: f64 = 5.0;

/// The share of the CPUs' time that must be busy before a share *of the busy time* is judged. On an idle host the kernel's own
/// housekeeping is most of the little there is.
pub const BUSY_ENOUGH: f64 = 0.10;

/// One bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Which signal.
    pub signal: &'static str,
    /// Crossed above the limit, else below it.
    pub above: bool,
    /// The limit, per second for what is counted or timed.
    pub limit: f64,
}

/// Bounds of which any one ends the proof.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StopIf(Vec<Bound>);

/// A text is no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no bound: {why}; write SIGNAL>NUMBER, such as system_share>0.9 or psi_memory_full>50%, several with commas"
)]
pub struct BoundError {
    /// As written.
    pub text: String,
    /// What is wrong.
    pub why: String,
}

impl FromStr for StopIf {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        text.split(',').map(one).collect::<Result<_, _>>().map(StopIf)
    }
}

fn one(text: &str) -> Result<Bound, BoundError> {
    let error = |why: String| BoundError { text: text.trim().to_owned(), why };
    let at = text.find(['>', '<']).ok_or_else(|| error("it has neither > nor <".to_owned()))?;
    let (name, above) = (text[..at].trim(), text[at..].starts_with('>'));
    let signal = metric::signal(name)
        .ok_or_else(|| error(format!("there is no signal '{name}'; there are: {}", SIGNALS.join(", "))))?;
    let number = text[at + 1..].trim();
    // A percentage of a count would mean nothing.
    let is_share = matches!(signal.unit, Unit::Fraction | Unit::Seconds);
    let limit = match number.parse::<f64>() {
        Ok(limit) => Some(limit),
        Err(_) if is_share => number.parse().ok().map(|Fraction(limit)| limit),
        Err(_) => None,
    };
    match limit.filter(|limit| limit.is_finite() && *limit >= 0.0) {
        None => Err(error(format!("'{number}' is no limit"))),
        Some(limit) if is_share && above && limit >= 1.0 => {
            Err(error(format!("{name} never goes above {number}: it is a share, 0 to 1")))
        }
        Some(limit) => Ok(Bound { signal: signal.name, above, limit }),
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.signal, if self.above { '>' } else { '<' }, self.limit)
    }
}

impl StopIf {
    /// The bounds.
    #[must_use]
    pub fn bounds(&self) -> &[Bound] {
        &self.0
    }

    /// Which bound is crossed, in words with its number. `grown` gives what a signal came to over `seconds`; one that is
    /// absent crosses nothing.
    #[must_use]
    pub fn crossed(&self, seconds: f64, grown: impl Fn(&str) -> Option<f64>) -> Option<String> {
        self.0.iter().find_map(|bound| {
            let unit = metric::signal(bound.signal)?.unit;
            let value = grown(bound.signal)? / if unit == Unit::Fraction { 1.0 } else { seconds };
            let is_crossed = if bound.above { value > bound.limit } else { value < bound.limit };
            let per_second = if unit == Unit::Fraction { "" } else { " a second" };
            is_crossed.then(|| {
                format!(
                    "{} was {value:.3}{per_second} over the last {seconds:.0} s, and --stop-if is {bound}",
                    bound.signal
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(text: &str) -> StopIf {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_share_is_compared_as_it_is_and_the_rest_per_second() {
        let bound = stop("system_share>0.9");
        assert_eq!(bound.crossed(5.0, |_| Some(0.9)), None, "at the limit is not above it");
        let words = bound.crossed(5.0, |_| Some(0.93)).unwrap();
        assert_eq!(words, "system_share was 0.930 over the last 5 s, and --stop-if is system_share>0.9");
        assert_eq!(stop("psi_memory_full>50%").crossed(5.0, |_| Some(2.4)), None);
        assert!(stop("psi_memory_full>50%").crossed(5.0, |_| Some(2.6)).is_some());
        assert!(
            stop("thp_faults<10").crossed(5.0, |_| Some(40.0)).is_some_and(|words| words.contains("8.000 a second"))
        );
    }

    #[test]
    fn any_of_several_is_enough_and_an_absent_signal_crosses_nothing() {
        let bounds = stop("system_share > 0.9, compact_stalls > 100");
        assert_eq!(bounds.bounds().len(), 2);
        let only_stalls = |name: &str| (name == "compact_stalls").then_some(5000.0);
        assert!(bounds.crossed(5.0, only_stalls).is_some_and(|words| words.starts_with("compact_stalls")));
        assert_eq!(bounds.crossed(5.0, |_| None), None);
    }

    #[test]
    fn what_is_no_bound_is_refused_with_its_reason() {
        for (text, wanted) in [
            ("", "neither > nor <"),
            ("system_share", "neither > nor <"),
            ("load>3", "there is no signal 'load'"),
            ("wall>3", "there is no signal 'wall'"),
            ("system_share>lots", "'lots' is no limit"),
            ("system_share>90", "never goes above 90"),
            ("compact_stalls>50%", "'50%' is no limit"),
            ("system_share>0.9,", "neither > nor <"),
            ("system_share>-1", "no limit"),
            ("system_share>NaN", "no limit"),
        ] {
            let error = text.parse::<StopIf>().expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
